"""A model that is to run in parts: its nodes, its weights, and what is known of the values between."""

import os

import numpy
import onnx
from onnx import TensorProto, external_data_helper, helper, inliner, numpy_helper, shape_inference

from .._capi import InputError, UsageError
from .inference import told_by_onnxruntime

# What has more bytes is no shape, position or the like, by whose value it is decided whether a node can be compiled.
_SMALL = 4096
OWN_DOMAINS = ("", "ai.onnx")
_FLOATS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE}


class Model:
    """Without functions, which are inlined, nor `Constant`, which are weights; open dimensions that were given a size have
    it, and inputs that were given a value are weights.

    `nodes` in the file's order; `weights` by name: TensorProto, whose data may be in a file beneath `folder`; `sparse`
    likewise; `folded`: values of nodes that only parts of ours have; `inputs`: ValueInfoProto of what runs are given;
    `outputs`: names; `infos`: ValueInfoProto of values, by name; `open_dimensions`: names of those without a size;
    `external_files`: paths of those that hold data."""

    def __init__(self, path, dims, bind):
        self.folder = os.path.dirname(os.path.abspath(path))
        try:
            self._proto = onnx.load_model(path, load_external_data=False)
            if self._proto.functions:
                self._proto = inliner.inline_local_functions(self._proto)
        except Exception as problem:  # protobuf has errors of its own
            raise InputError(f"{path}: the package onnx can't read it: {problem}") from None
        graph = self._proto.graph
        self.external_files = _external_files(graph, self.folder)
        self.weights = {tensor.name: tensor for tensor in graph.initializer}
        self.sparse = {tensor.values.name: tensor for tensor in graph.sparse_initializer}
        self._bind(bind)
        defaults = self.weights.keys() | self.sparse.keys()
        self.inputs = [info for info in graph.input if info.name not in defaults]
        self._give_sizes(dims)
        self.outputs = [info.name for info in graph.output]
        self.folded, self.infos, self.nodes, self._told = {}, {}, [], None
        for node in graph.node:
            if (tensor := _constant_of(node)) is None:
                self.nodes.append(node)
            else:
                self.weights[tensor.name] = tensor
        self._check_order()
        self._infer()

    def _bind(self, arrays):
        known = {info.name: info for info in self._proto.graph.input}
        for name, array in arrays.items():
            if name not in known:
                raise UsageError(f"bind: the model has no input '{name}'")
            kind = known[name].type.tensor_type
            if kind.elem_type != helper.np_dtype_to_tensor_dtype(array.dtype) or not _fits(array.shape, kind):
                raise InputError(f"bind: the value of '{name}' is {array.dtype}{list(array.shape)}, which the input is not")
            self.weights[name] = numpy_helper.from_array(array, name)

    def _give_sizes(self, dims):
        found = {}  # By name, the places.
        for info in self.inputs:
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                if not dim.HasField("dim_value"):
                    found.setdefault(dim.dim_param or f"{info.name}.{axis}", []).append(dim)
        names = ", ".join(found) or "none"
        for name, size in dims.items():
            if name not in found:
                raise UsageError(f"dims: the model has no open dimension '{name}'; its open dimensions: {names}")
            for dim in found.pop(name):
                dim.dim_value = size
        self.open_dimensions = list(found)
        for info in (*self._proto.graph.output, *self._proto.graph.value_info):
            for dim in info.type.tensor_type.shape.dim:
                if dim.dim_param in dims:
                    dim.dim_value = dims[dim.dim_param]

    def _check_order(self):
        """Nodes read what is defined before them, and names are defined once; all else is checked by who runs nodes."""
        defined = {info.name for info in self.inputs} | self.weights.keys() | self.sparse.keys()
        for node in self.nodes:
            where = f"node '{node.name or ''.join(node.output[:1])}' ({node.op_type})"
            if missing := [name for name in reads(node) if name not in defined]:
                raise InputError(f"{where}: '{missing[0]}' is used, but nothing before it defines it; sort the nodes")
            if twice := [name for name in node.output if name in defined]:
                raise InputError(f"{where}: its output '{twice[0]}' has been defined before; give it a name of its own")
            defined.update(filter(None, node.output))
        if missing := [name for name in self.outputs if name not in defined]:
            raise InputError(f"output '{missing[0]}' is used, but nothing defines it")

    def _infer(self):
        """Finds types and shapes; `Shape` and `Size` of what has a known shape become weights."""
        while True:
            proto, _ = self.skeleton()
            graph = shape_inference.infer_shapes(proto, data_prop=True).graph
            self.infos = {info.name: info for info in (*graph.value_info, *graph.input, *graph.output)}
            self._infer_elsewhere()
            nodes = []
            for node in self.nodes:
                value = self._shape_asked_by(node)
                if value is None:
                    nodes.append(node)
                else:
                    self.weights[node.output[0]] = numpy_helper.from_array(value, node.output[0])
            if len(nodes) == len(self.nodes):
                return
            self.nodes = nodes

    def _infer_elsewhere(self):
        """Of operators that ONNX knows nothing of, and of what is behind them, ONNX Runtime tells types and shapes."""
        made = [name for node in self.nodes for name in node.output if name]
        if all(name in self.infos and self.infos[name].HasField("type") for name in made):
            return
        if self._told is None:
            asked = [name for name in made if name not in self.infos or not has_shape(self.infos[name])]
            outputs = [onnx.ValueInfoProto(name=name) for name in asked]
            proto = self.made_of(self.nodes, self.inputs, outputs, self.weights.values(), self.sparse.values())
            self._told = told_by_onnxruntime(proto, self.folder)
        self.infos |= {name: info for name, info in self._told.items() if has_shape(info) or name not in self.infos}

    def _shape_asked_by(self, node):
        if node.op_type not in ("Shape", "Size") or node.domain not in OWN_DOMAINS:
            return None
        shape = self.shape_of(node.input[0])
        if shape is None:
            return None
        if node.op_type == "Size":
            return numpy.array(numpy.prod(shape, dtype=numpy.int64))
        asked = {attribute.name: attribute.i for attribute in node.attribute}
        return numpy.array(shape[asked.get("start", 0) : asked.get("end", len(shape))], numpy.int64)

    def shape_of(self, name):
        """A list of sizes, or None where one is not known."""
        if name in self.weights:
            return list(self.weights[name].dims)
        if name not in self.infos or not has_shape(self.infos[name]):
            return None
        return [dim.dim_value for dim in self.infos[name].type.tensor_type.shape.dim]

    def known(self):
        """By the name of what they make, the numbers of nodes that give the same in each run: they read weights alone."""
        known = {}
        for number, node in enumerate(self.nodes):
            if all(name in self.weights or name in self.sparse or name in known for name in reads(node)):
                if _is_deterministic(node, self._proto.opset_import):
                    known |= dict.fromkeys(filter(None, node.output), number)
        return known

    def fold(self, values):
        """What known nodes make, in the place of which parts of ours have its value."""
        self.folded |= {name: numpy_helper.from_array(value, name) for name, value in values.items()}
        self._infer()

    def skeleton(self):
        """The model without what weighs (large floats are in a file that there is not), and without nodes whose value is
        folded; and the number here of each node there."""
        numbers = [n for n, node in enumerate(self.nodes) if not any(name in self.folded for name in node.output)]
        weights = [
            _without_data(tensor) if _is_heavy(tensor) else self.embedded(tensor)
            for tensor in (*self.weights.values(), *self.folded.values())
        ]
        nodes = [self.nodes[number] for number in numbers]
        outputs = [self.infos.get(info.name, info) for info in self._proto.graph.output]
        infos = self.infos.values() if self.infos else self._proto.graph.value_info
        ports = set(self.outputs) | {info.name for info in self.inputs}
        infos = [info for info in infos if info.name not in ports]
        return self.made_of(nodes, self.inputs, outputs, weights, self.sparse.values(), infos), numbers

    def embedded(self, tensor):
        """With its data, wherever they are."""
        if not external_data_helper.uses_external_data(tensor):
            return tensor
        copy = TensorProto()
        copy.CopyFrom(tensor)
        try:
            external_data_helper.load_external_data_for_tensor(copy, self.folder)
        except Exception as problem:
            raise InputError(f"initializer '{tensor.name}': its external data can't be read: {problem}") from None
        copy.ClearField("external_data")
        copy.data_location = TensorProto.DEFAULT
        return copy

    def made_of(self, nodes, inputs, outputs, weights, sparse, infos=()):
        """A model of these, with the operator sets of this one."""
        proto = onnx.ModelProto(ir_version=self._proto.ir_version, producer_name="kintsugi")
        proto.opset_import.extend(self._proto.opset_import)
        graph = proto.graph
        graph.name = self._proto.graph.name or "graph"
        graph.node.extend(nodes)
        graph.input.extend(inputs)
        graph.output.extend(outputs)
        graph.initializer.extend(weights)
        graph.sparse_initializer.extend(sparse)
        graph.value_info.extend(infos)
        return proto


def has_shape(info):
    """Whether all sizes are known."""
    shape = info.type.tensor_type.shape
    return info.type.tensor_type.HasField("shape") and all(dim.HasField("dim_value") for dim in shape.dim)


def reads(node):
    """The names that a node and the graphs in it read of the graph that it is in."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        for graph in _graphs_of(attribute):
            names += _captured(graph)
    return list(dict.fromkeys(names))


def _graphs_of(attribute):
    return ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs)


def _external_files(graph, folder):
    """Paths of those that hold data of a graph's tensors and of the graphs' in it."""
    attributes = [attribute for node in graph.node for attribute in node.attribute]
    sparse = [*graph.sparse_initializer, *(attribute.sparse_tensor for attribute in attributes)]
    tensors = [*graph.initializer, *(attribute.t for attribute in attributes)]
    tensors += [part for tensor in sparse for part in (tensor.values, tensor.indices)]
    found = {
        os.path.join(folder, external_data_helper.ExternalDataInfo(tensor).location)
        for tensor in tensors
        if external_data_helper.uses_external_data(tensor)
    }
    return found.union(*(_external_files(inner, folder) for each in attributes for inner in _graphs_of(each)))


def _captured(graph):
    defined = {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    defined |= {tensor.values.name for tensor in graph.sparse_initializer}
    names = []
    for node in graph.node:
        names += [name for name in reads(node) if name not in defined]
        defined.update(node.output)
    return names + [info.name for info in graph.output if info.name not in defined]


def _fits(shape, kind):
    dims = kind.shape.dim
    sizes = [dim.dim_value if dim.HasField("dim_value") else None for dim in dims]
    return not kind.HasField("shape") or (
        len(sizes) == len(shape) and all(size in (None, extent) for size, extent in zip(sizes, shape))
    )


def _constant_of(node):
    """The tensor of a `Constant`; None where it is none, or a list of strings or sparse."""
    if node.op_type != "Constant" or node.domain not in OWN_DOMAINS or len(node.attribute) != 1:
        return None
    attribute = node.attribute[0]
    if attribute.name == "value":
        tensor = TensorProto()
        tensor.CopyFrom(attribute.t)
        tensor.name = node.output[0]
        return tensor
    if attribute.name in ("value_int", "value_ints", "value_float", "value_floats"):
        kind = numpy.int64 if "int" in attribute.name else numpy.float32
        return numpy_helper.from_array(numpy.array(helper.get_attribute_value(attribute), kind), node.output[0])
    return None


def _is_deterministic(node, opsets):
    """As ONNX says of the operator; what it does not know may be anything."""
    version = next((opset.version for opset in opsets if opset.domain == node.domain), 1)
    try:
        schema = onnx.defs.get_schema(node.op_type, version, node.domain)
    except onnx.defs.SchemaError:
        return False
    return schema.node_determinism == onnx.defs.OpSchema.NodeDeterminism.Deterministic


def _is_heavy(tensor):
    return tensor.data_type in _FLOATS and numpy.prod(tensor.dims, dtype=numpy.float64) * 2 > _SMALL


def _without_data(tensor):
    empty = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    empty.data_location = TensorProto.EXTERNAL
    empty.external_data.add(key="location", value="left-out")
    return empty
