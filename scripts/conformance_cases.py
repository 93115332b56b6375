"""Writes the official ONNX backend cases to disk, once, in a form that the runner reads quickly.

A case becomes DIR/NAME/model.onnx and, for each of its data sets S, DIR/NAME/S/input_N.pb and
output_N.pb (TensorProto). DIR/cases.json lists the cases with their tolerances and with the inputs whose
values the compiler is given ahead, because the operator needs them as constants.
"""

import hashlib
import json
import pathlib
import shutil
import warnings

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")

# Inputs, by position, that decide the shape of a result or the axes an operator works on. Everything
# else stays an input of the compiled program.
SHAPING_INPUTS = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    "CumProd": (1,),
    "CumSum": (1,),
    "DFT": (1, 2),
    "Dropout": (1, 2),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "Loop": (0,),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1),
    "OneHot": (1,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "ReduceL1": (1,),
    "ReduceL2": (1,),
    "ReduceLogSum": (1,),
    "ReduceLogSumExp": (1,),
    "ReduceMax": (1,),
    "ReduceMean": (1,),
    "ReduceMin": (1,),
    "ReduceProd": (1,),
    "ReduceSum": (1,),
    "ReduceSumSquare": (1,),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "SequenceAt": (1,),
    "SequenceErase": (1,),
    "SequenceInsert": (2,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Squeeze": (1,),
    "Tile": (1, 2),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
}

# What these give depends on the extents of their input alone, never on its elements.
EXTENTS_ONLY = ("SequenceLength", "Shape", "Size")


def graphs_of(node):
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def captured_by(graph):
    """Names that a subgraph takes from outside, in order."""
    known = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    names = []
    for node in graph.node:
        names += [name for name in node.input if name and name not in known]
        names += [name for inner in graphs_of(node) for name in captured_by(inner) if name not in known]
        known |= set(node.output)
    names += [value.name for value in graph.output if value.name not in known]
    return names


def shaping_values(graph):
    """Names of values at shaping positions, in this graph and in those inside its nodes."""
    for node in graph.node:
        for position in SHAPING_INPUTS.get(node.op_type, ()):
            if position < len(node.input) and node.input[position]:
                yield node.input[position]
        for inner in graphs_of(node):
            yield from shaping_values(inner)


def fed_inputs(graph):
    """Inputs without a value in the model; old models list their weights as inputs too."""
    weights = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in weights]


def shaping_inputs(graph):
    """The fed inputs that a shaping value is computed from, in the graph's order."""
    producers = {name: node for node in graph.node for name in node.output if name}
    pending = list(shaping_values(graph))
    reached = set()
    while pending:
        name = pending.pop()
        if name in reached:
            continue
        reached.add(name)
        node = producers.get(name)
        if node is not None and node.op_type not in EXTENTS_ONLY:
            pending += [source for source in node.input if source]
            for inner in graphs_of(node):
                pending += captured_by(inner)
    return [value.name for value in fed_inputs(graph) if value.name in reached]


def untensored(graph):
    """Why the case can't be fed or compared as tensors; None where it can."""
    for role, values in (("input", fed_inputs(graph)), ("output", graph.output)):
        for value in values:
            kind = value.type.WhichOneof("value")
            if kind != "tensor_type":
                return f"{role} '{value.name}' is no tensor but of {kind}"
    return None


def operator_of(case, model, models):
    """The operator that a case is about; for one expanded from a function, that function's."""
    if "_expanded" in case.name:
        origin = models.get(case.name[: case.name.index("_expanded")])
        if origin is not None:
            return f"{origin.graph.node[0].op_type} (expanded)"
    nodes = [node for node in model.graph.node if node.op_type != "Constant"]
    return nodes[0].op_type if nodes else "Constant"


def open_dimensions(infos, tensors):
    """The sizes of dimensions that the model leaves open, as the data has them. One without a name is
    called INPUT.AXIS."""
    sizes = {}
    for info, bytes_ in zip(infos, tensors):
        proto = onnx.TensorProto.FromString(bytes_)
        for axis, dimension in enumerate(info.type.tensor_type.shape.dim):
            if not dimension.HasField("dim_value") and axis < len(proto.dims):
                sizes[dimension.dim_param or f"{info.name}.{axis}"] = proto.dims[axis]
    return sizes


def to_proto(value, name):
    if isinstance(value, onnx.TensorProto):
        return value
    return numpy_helper.from_array(numpy.asarray(value), name)


def data_sets_of(case, graph):
    """For each data set, its input and output tensors as serialized TensorProtos."""
    if case.data_sets is not None:
        for inputs, outputs in case.data_sets:
            yield tuple(
                [to_proto(value, info.name).SerializeToString() for value, info in zip(values, infos)]
                for values, infos in ((inputs, fed_inputs(graph)), (outputs, graph.output))
            )
        return
    for number in range(sum(1 for _ in pathlib.Path(case.model_dir).glob("test_data_set_*"))):
        folder = pathlib.Path(case.model_dir, f"test_data_set_{number}")
        yield tuple(
            [folder.joinpath(f"{role}_{i}.pb").read_bytes() for i in range(len(infos))]
            for role, infos in (("input", fed_inputs(graph)), ("output", graph.output))
        )


def write_case(folder, case, model, operator):
    """Writes one case and returns its entry in the list."""
    folder.mkdir()
    folder.joinpath("model.onnx").write_bytes(model.SerializeToString())
    entry = {
        "name": case.name,
        "kind": case.kind,
        "operator": operator,
        "rtol": case.rtol,
        "atol": case.atol,
        "inputs": [value.name for value in fed_inputs(model.graph)],
        "outputs": [value.name for value in model.graph.output],
        "bind": shaping_inputs(model.graph),
        "dims": {},
        "sets": 0,
    }
    entry["unsupported"] = untensored(model.graph) or ""
    if entry["unsupported"]:
        return entry
    for number, tensors in enumerate(data_sets_of(case, model.graph)):
        data = folder / str(number)
        data.mkdir()
        for role, protos in zip(("input", "output"), tensors):
            for i, proto in enumerate(protos):
                data.joinpath(f"{role}_{i}.pb").write_bytes(proto)
        entry["dims"] |= open_dimensions(fed_inputs(model.graph), tensors[0])
        entry["sets"] += 1
    return entry


def load_cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Cases overflow and divide by zero on purpose.
        cases = [case for kind in KINDS for case in load_model_tests(kind=kind)]
    models = {}
    for case in cases:
        path = pathlib.Path(case.model_dir or "", "model.onnx")
        models[case.name] = case.model if case.model is not None else onnx.load(str(path))
    return cases, models


def stamp():
    return f"{onnx.__version__} {hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()}"


def write_cases(directory):
    """Makes `directory` hold all cases; quick where it does already. Returns the list of them."""
    directory = pathlib.Path(directory)
    mark = directory / "stamp"
    if not (mark.exists() and mark.read_text() == stamp()):
        cases, models = load_cases()
        partial = directory.with_name(directory.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        entries = []
        for case in sorted(cases, key=lambda case: case.name):
            model = models[case.name]
            operator = operator_of(case, model, models)
            entries.append(write_case(partial / case.name, case, model, operator))
        partial.joinpath("cases.json").write_text(json.dumps(entries, indent=1) + "\n")
        partial.joinpath("stamp").write_text(stamp())
        shutil.rmtree(directory, ignore_errors=True)
        partial.rename(directory)
    return json.loads(directory.joinpath("cases.json").read_text())
