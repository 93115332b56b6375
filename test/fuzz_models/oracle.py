"""What is right, and how much rounding alone changes it.

The truth is what the model's expressions say, in double: the interpreter's, or for large models the reference's. How
far right code may be from it is measured: ONNX Runtime runs the model as f32 with noise of some roundings on everything
that the model's type would round, a few times. Where that moves a result, any order of arithmetic may.
"""

import functools
import os

# Operators of the newest set have no release of it to be in; they are functions of older ones.
os.environ.setdefault("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0")

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from . import graph as ir

UNITS = {"f32": 2.0**-24, "f64": 2.0**-53, "f16": 2.0**-11, "bf16": 2.0**-8}
FLOORS = {"f16": 2.0**-24}  # Numbers nearer to zero are zero, or this; those of other types are never met.
ROUNDINGS = 4  # Of noise on each value.
# Operators that subtract numbers of that size inside, where there is no place for noise: their operand's, or 1.
ENDING_IN_ZERO = ["HannWindow", "HammingWindow", "BlackmanWindow"]
CANCELLING = {
    "Gelu": "operand",
    **dict.fromkeys(["Elu", "Celu", "Selu", "Sinh", "Asinh", "Atanh", *ENDING_IN_ZERO], "one"),
}
INTERPRETED = 2_000_000  # Multiply-adds that the interpreter is given.

onnxruntime.set_default_logger_severity(4)


class Refused(Exception):
    """ONNX Runtime does not take the model."""


def unit(configuration):
    """Of what the configuration rounds values to."""
    if configuration["float"] != "f32":
        return UNITS[configuration["float"]]
    return UNITS[configuration["precision"]]


def floor(configuration):
    """What rounding a number near zero may cost."""
    stored = configuration["float"] if configuration["float"] != "f32" else configuration["precision"]
    return FLOORS.get(stored, 1e-37)


def _session(model):
    """One that runs each node as it is, on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


class Noisy:
    """ONNX Runtime's session of a model in f32 whose values are multiplied with inputs of its own."""

    def __init__(self, graph, configuration, grid):
        self.graph = graph
        self.narrow = configuration["float"] == "f16"
        self.shapes = {}
        self.model = self._build(graph.model(configuration["float"], grid, twin=True))
        try:
            self.session = _session(self.model)
        except Exception as error:  # ONNX Runtime's classes have no other base.
            raise Refused(str(error).strip().splitlines()[0][:300]) from None
        self.units = {"float": unit(configuration), "wide": UNITS["f32"]}
        if configuration["float"] == "f64":
            self.units["float"] = UNITS["f32"]

    def _noise(self, name):
        value = self.graph.values[name]
        self.shapes["noise:" + name] = (value.kind, value.shape)
        return "noise:" + name

    def _inner_noise(self, node, name, raw, last):
        """last = raw * noise + size * (noise - 1)"""
        noise, one, share, inner, outer = self._noise(name), *(f"{part}:{name}" for part in ("one", "share", "inner", "outer"))
        size, ends = one, [f"{end}:{name}" for end in ("low", "high")]
        numbers = {one: 1.0, ends[0]: -8.0, ends[1]: 8.0}
        nodes = [
            helper.make_node("Constant", [], [n], value=helper.make_tensor(n, TensorProto.FLOAT, [], [number]))
            for n, number in numbers.items()
        ]
        if CANCELLING[node.op_type] == "operand":
            # No infinity meets a noise of 0; what is larger than this does not cancel.
            size = f"size:{name}"
            nodes.append(helper.make_node("Clip", [node.input[0], *ends], [size]))
        return [
            *nodes,
            helper.make_node("Sub", [noise, one], [share]),
            helper.make_node("Mul", [size, share], [inner]),
            helper.make_node("Mul", [raw, noise], [outer]),
            helper.make_node("Add", [outer, inner], [last]),
        ]

    def _build(self, model):
        graph, seen = model.graph, {}
        constants = [node for node in graph.node if node.output[0] in self.graph.constants]
        made = list(constants)
        rounded = lambda name: name in self.graph.values and self.graph.values[name].kind in ir.IS_FLOAT
        # Inputs too: an operator such as LSTM rounds inside, where there is no place for noise.
        for name, source in [*self.graph.inputs.items(), *self.graph.constants.items()]:
            if rounded(name) and not source.pinned:
                made.append(helper.make_node("Mul", [name, self._noise(name)], ["noisy:" + name]))
                seen[name] = "noisy:" + name
        for node in graph.node[len(constants) :]:
            for place, name in enumerate(node.input):
                node.input[place] = seen.get(name, name)
            after = []
            for place, name in enumerate(node.output):
                if not rounded(name) or self.graph.values[name].exact:
                    continue
                raw, last = "raw:" + name, name
                node.output[place] = raw
                if self.narrow and self.graph.values[name].kind == "float":
                    last = "wide:" + name
                    after.append(helper.make_node("Cast", [last], ["half:" + name], to=TensorProto.FLOAT16))
                    after.append(helper.make_node("Cast", ["half:" + name], [name], to=TensorProto.FLOAT))
                if node.op_type in CANCELLING:
                    after[:0] = self._inner_noise(node, name, raw, last)
                else:
                    after.insert(0, helper.make_node("Mul", [raw, self._noise(name)], [last]))
            made += [node, *after]
        del graph.node[:]
        graph.node.extend(made)
        graph.input.extend(
            helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name, (_, shape) in self.shapes.items()
        )
        return model

    def run(self, feeds, seed=None):
        """The outputs; without a seed without noise."""
        noise, chance = {}, np.random.default_rng(seed)
        for name, (kind, shape) in self.shapes.items():
            noise[name] = np.ones(shape, np.float32)
            if seed is not None:
                # Never above 1: the lowest number of a type stays a number.
                noise[name] -= np.float32(ROUNDINGS * self.units[kind]) * np.asarray(chance.random(shape), np.float32)
        try:
            return self.session.run(None, {**feeds, **noise})
        except Exception as error:
            raise Refused(str(error).strip().splitlines()[0][:300]) from None


def truth(native, path, feeds, work, folder):
    """The outputs in double, or as integers."""
    arrays = [plain(array) for array in feeds.values()]
    if work <= INTERPRETED:
        return native.interpret(path, arrays)
    artifact = f"{folder}/reference.kin"
    native.compile(path, artifact, '{"target": "reference", "threads": 1, "cache": false}')
    loaded = native.Loaded(artifact, "cpu", "")
    results = empty_outputs(loaded)
    results = cut(results, loaded.run(1, arrays, [plain(array) for array in results]))
    return [r.astype(np.int64 if r.dtype.kind in "iub" else np.float64) for r in results]


def cut(arrays, shapes):
    """What a run left in arrays of the bounds that outputs have."""
    return [array.reshape(-1)[: int(np.prod(shape, dtype=np.int64))].reshape(shape) for array, shape in zip(arrays, shapes)]


def plain(array):
    """The memory of an array in a type that NumPy has itself."""
    return array.view(np.uint16) if array.dtype == ir.FLOATS["bf16"] else array


def empty_outputs(loaded):
    """Arrays for the outputs of a loaded model, on cache lines, and filled with what no answer is."""
    results = []
    for _, number, shape in loaded.outputs():
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(number))
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        room = np.full(size + 64, 0x7B, np.uint8)
        start = -room.ctypes.data % 64
        results.append(room[start : start + size].view(dtype).reshape(shape))
    return results


PRODUCTS_OF_BYTES = {"QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger"}


@functools.cache
def _saturates():
    """Whether ONNX Runtime adds products of bytes in pairs to 16 bits here, as it does where a processor has no
    instruction for more (its page on quantization: "U8S8 data format has saturation issue"): 255 * 127 is met twice."""
    scale, zero = helper.make_tensor("scale", TensorProto.FLOAT, [], [1000.0]), helper.make_tensor("zero", TensorProto.UINT8, [], [0])
    signed = helper.make_tensor("signed", TensorProto.INT8, [], [0])
    weights = helper.make_tensor("w", TensorProto.INT8, [8, 4, 1, 1], [127] * 32)
    inputs = ["x", "scale", "zero", "w", "scale", "signed", "scaled", "zero"]
    scaled = helper.make_tensor("scaled", TensorProto.FLOAT, [], [1e9])
    graph = helper.make_graph(
        [helper.make_node("QLinearConv", inputs, ["y"])],
        "saturates",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 4, 4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
        [scale, zero, signed, weights, scaled],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    found = _session(model).run(None, {"x": np.full((1, 4, 4, 4), 255, np.uint8)})[0]
    return bool((found != round(4 * 255 * 127 / 1000)).any())


def saturates(graph):
    """Whether ONNX Runtime's answer is worth nothing: it is not the sum of some products."""
    return any(node.op in PRODUCTS_OF_BYTES for node in graph.nodes) and _saturates()


def third_opinion(graph, configuration, grid, feeds):
    """What ONNX's own evaluator makes of the model in f32, or None where it can't."""
    import onnx.reference

    model = graph.model(configuration["float"], grid, twin=True)
    try:
        with np.errstate(all="ignore"):
            return onnx.reference.ReferenceEvaluator(model).run(None, feeds)
    except Exception:
        return None
