"""Recurrent parts beside others: each is taken from the form in which it is quickest, and computes what is written."""

import re
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from program import PROGRAM

TARGETS = {"v3": ["--cpu-level", "v3"], "v4": ["--cpu-level", "v4"], "cuda": ["--target", "cuda"]}


@pytest.fixture(params=TARGETS)
def flags(request):
    """Of each target, whether or not this machine runs its code."""
    return TARGETS[request.param]


@pytest.fixture(params=TARGETS)
def running(request, need_level):
    """Of each target that this machine runs."""
    if request.param == "cuda":
        request.getfixturevalue("gpu")
    else:
        need_level(request.param)
    return TARGETS[request.param]


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Model:
    """Parts that share nothing, on random weights."""

    def __init__(self):
        self.nodes, self.inputs, self.outputs = [], [], []
        self.random = np.random.default_rng(5)
        self.weights = [numpy_helper.from_array(np.array([1]), "axis")]

    def weight(self, name, *shape):
        values = self.random.uniform(-0.1, 0.1, shape).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def input(self, name, *shape):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def recurrent(self, name, operator, layers, steps, batch, size, directions=1):
        """Layers on each other, of which the last one's states and all that it gives out are outputs."""
        gates = {"LSTM": 4, "GRU": 3}[operator]
        x, width = self.input(name, steps, batch, size), size
        for layer in range(layers):
            own = f"{name}{layer}"
            weights = self.weight(f"{own}.w", directions, gates * size, width), self.weight(f"{own}.r", directions, gates * size, size)
            attributes = {"hidden_size": size, **({"direction": "bidirectional"} if directions > 1 else {})}
            self.nodes.append(helper.make_node(operator, [x, *weights], [f"{own}.y", f"{own}.h"], own, **attributes))
            x, width = f"{own}.x", directions * size
            if directions > 1:
                self.nodes.append(helper.make_node("Transpose", [f"{own}.y"], [f"{own}.t"], perm=[0, 2, 1, 3]))
                shape = numpy_helper.from_array(np.array([steps, batch, width]), f"{own}.shape")
                self.weights.append(shape)
                self.nodes.append(helper.make_node("Reshape", [f"{own}.t", shape.name], [x]))
            else:
                self.nodes.append(helper.make_node("Squeeze", [f"{own}.y", "axis"], [x]))
        self.outputs += [x, f"{own}.h"]

    def convolution(self, name, channels, side):
        x = self.input(name, 1, channels, side, side)
        weight = self.weight(f"{name}.w", channels, channels, 3, 3)
        self.nodes.append(helper.make_node("Conv", [x, weight], [f"{name}.out"], name, pads=[1] * 4))
        self.outputs.append(f"{name}.out")

    def save(self, path):
        outputs = [onnx.ValueInfoProto(name=name) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "parts", self.inputs, outputs, self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
        return path


def objective(path, *flags):
    return float(re.search(r"objective (\S+)", run("compile", path, "--emit", "plan", *flags))[1])


def test_each_part_is_taken_from_where_it_is_quickest(flags, tmp_path):
    """No program that does without some rule is quicker; on a GPU, where a step is a launch, layers of many steps are one
    scan and those of few steps are not."""
    model = Model()
    model.recurrent("long", "LSTM", layers=3, steps=40, batch=1, size=64)
    model.recurrent("short", "GRU", layers=2, steps=2, batch=2, size=32)
    model.convolution("image", channels=64, side=28)
    path = model.save(tmp_path / "model.onnx")
    chosen = objective(path, *flags)
    others = {rules: objective(path, *flags, "--disable", rules) for rules in ("merge-scans", "winograd", "alternatives")}
    assert all(chosen <= other * (1 + 1e-6) for other in others.values()), (chosen, others)
    text = run("compile", path, "--emit", "derived", *flags)
    trips = sorted(map(int, re.findall(r"= scan\[(\d+)\]", text)))
    if "cuda" in flags:
        assert chosen < 0.7 * others["merge-scans"] and trips == [2, 2, 42]
    else:
        assert chosen < 0.8 * others["winograd"]


@pytest.mark.parametrize("directions", [1, 2])
def test_they_compute_what_is_written(running, directions, tmp_path):
    model = Model()
    model.recurrent("long", "LSTM", layers=3, steps=21, batch=1, size=32)
    model.recurrent("other", "GRU", layers=2, steps=16, batch=2, size=16, directions=directions)
    model.convolution("image", channels=32, side=14)
    run("compare", model.save(tmp_path / "model.onnx"), *running)
