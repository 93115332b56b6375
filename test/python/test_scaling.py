"""What long chains, wide nodes and loops of many trips take to compile grows with their size: each of these models of
about a thousand nodes is done within a limit that leaves it several times the room it needs, and gives numpy's answer."""

import resource
import subprocess

import numpy as np
import onnx
import onnx.reference
import pytest
from onnx import TensorProto, helper, numpy_helper
from program import PROGRAM

SECONDS = 20  # Of one processor, for one level of instructions.


class Graph:
    def __init__(self):
        self.nodes, self.inputs, self.constants, self.outputs = [], [], [], []

    def input(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op, inputs, output=None, **attributes):
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output] if isinstance(output, str) else output, **attributes))
        return output

    def save(self, path, outputs):
        graph = helper.make_graph(self.nodes, "g", self.inputs,
                                  [onnx.ValueInfoProto(name=name) for name in outputs], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def chain(links, shape, link, constants=()):
    def build(graph):
        value = graph.input("x", shape)
        graph.input("w", shape)
        for name, constant in constants:
            graph.constant(name, constant)
        for _ in range(links):
            value = link(graph, value)
        return [value]

    return build


def fibonacci(graph):
    before, value = graph.input("x", (8, 8)), graph.input("w", (8, 8))
    for _ in range(1000):
        before, value = value, graph.node("Sub", [value, before])
    return [value]


def residual(graph, value):
    return graph.node("Sub", [value, graph.node("ReduceMax", [value, graph.constant(f"axes{len(graph.nodes)}", [1])], keepdims=1)])


def joined(op, **attributes):
    def build(graph):
        return [graph.node(op, [graph.input(f"x{k}", (2, 3)) for k in range(1000)], **attributes)]

    return build


def split(graph):
    graph.input("x", (2000, 3))
    return graph.node("Split", ["x"], [f"y{k}" for k in range(1000)], axis=0, num_outputs=1000)


def loop(stacks):
    def build(graph):
        graph.input("x", (2, 3))
        body = [helper.make_node("Sub", ["x", "s"], ["next"]), helper.make_node("Identity", ["goes"], ["goes_on"])]
        infos = [helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
                 helper.make_tensor_value_info("next", TensorProto.FLOAT, [2, 3])]
        if stacks:
            body.append(helper.make_node("Identity", ["next"], ["row"]))
            infos.append(helper.make_tensor_value_info("row", TensorProto.FLOAT, [2, 3]))
        inputs = [helper.make_tensor_value_info("trip", TensorProto.INT64, []),
                  helper.make_tensor_value_info("goes", TensorProto.BOOL, []),
                  helper.make_tensor_value_info("s", TensorProto.FLOAT, [2, 3])]
        outputs = ["last", "all"][: 1 + stacks]
        graph.node("Loop", [graph.constant("trips", np.int64(1000)), graph.constant("yes", True), "x"], outputs,
                   body=helper.make_graph(body, "body", inputs, infos))
        return outputs

    return build


rng = np.random.default_rng(3)
MODELS = {
    "squares": chain(1000, (2, 3), lambda g, v: g.node("Mul", [v, v])),
    "doubles": chain(1000, (2, 3), lambda g, v: g.node("Add", [v, v])),
    "differences": chain(1000, (8, 8), lambda g, v: g.node("Sub", ["w", v])),
    "5000 differences": chain(5000, (8, 8), lambda g, v: g.node("Sub", ["w", v])),
    "fibonacci": fibonacci,
    "products": chain(1000, (8, 16), lambda g, v: g.node("MatMul", [v, "m"]),
                      [("m", np.eye(16, dtype=np.float32)[::-1].copy())]),
    "convolutions": chain(1000, (1, 4, 8, 8), lambda g, v: g.node("Conv", [v, "k"], pads=[1, 1, 1, 1]),
                          [("k", (rng.standard_normal((4, 4, 3, 3)) / 6).astype(np.float32))]),
    "transposes": chain(1000, (4, 6, 8), lambda g, v: g.node("Transpose", [v], perm=[1, 2, 0])),
    "residuals": chain(500, (8, 16), residual),
    "concatenation": joined("Concat", axis=0),
    "columns": joined("Concat", axis=1),
    "sum": joined("Sum"),
    "maximum": joined("Max"),
    "split": split,
    "loop": loop(False),
    "loop that stacks": loop(True),
}


def seconds_of(arguments, limit):
    """Of a processor; the system ends what takes more."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr or f"more than {limit} s of a processor"
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("name", MODELS)
def test_compiles_in_bounded_time(name, tmp_path):
    graph = Graph()
    outputs = MODELS[name](graph)
    graph.save(tmp_path / "m.onnx", outputs)
    seconds_of(["compile", tmp_path / "m.onnx", "-o", tmp_path / "m.kin", "--cpu-level", "v3", "--threads", "1"], SECONDS)
    feeds = {}
    for info in graph.inputs:
        shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
        feeds[info.name] = rng.integers(-1, 2, shape).astype(np.float32)
    np.savez(tmp_path / "in.npz", **feeds)
    seconds_of(["run", tmp_path / "m.kin", "--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz"], SECONDS)
    expected = onnx.reference.ReferenceEvaluator(str(tmp_path / "m.onnx")).run(None, feeds)
    with np.load(tmp_path / "out.npz") as results:
        for output, value in zip(outputs, expected):
            scale = max(1, np.nanmax(np.abs(np.where(np.isfinite(value), value, 0)))) if value.size else 1
            # The reference joins what a loop stacks along its first dimension.
            value = np.reshape(value, results[output].shape)
            np.testing.assert_allclose(results[output], value, rtol=0, atol=1e-4 * scale)
