"""zoo/materialize.py: the rule of the weights, bit for bit."""

import hashlib
import math
import struct

import materialize
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

MASK = (1 << 64) - 1
# Digests of what the rule gave when the zoo's models were exported and calibrated under it.
PUBLISHED = {
    (64,): "dbf0a75ca7920109",
    (96, 200): "1c5ea4b794621f27",
    (64, 3, 7, 7): "85829b686905e6f7",
    (1, 197, 768): "2fcddf6e2af28c82",
}


def element(name, index):
    """One element of the stream in plain integers, as the rule is written."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    z = (h + (index + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return ((z ^ (z >> 31)) >> 40) * 2.0**-24


@pytest.mark.parametrize("name", ["", "conv1.weight", "größe"])
def test_stream_follows_the_rule_across_blocks(name):
    size = 3 * materialize.BLOCK + 5
    u = materialize.uniform(name, size)
    for index in (0, 1, 77, materialize.BLOCK - 1, materialize.BLOCK, 2 * materialize.BLOCK + 9, size - 1):
        assert u[index] == element(name, index)


def test_bits_are_the_ones_published():
    digests = {}
    for shape, dtype in [((64,), "<f4"), ((96, 200), "<f4"), ((64, 3, 7, 7), "<f4"), ((1, 197, 768), "<f2")]:
        data = materialize.values("conv1.weight", list(shape), np.dtype(dtype)).tobytes()
        digests[shape] = hashlib.sha256(data).hexdigest()[:16]
    assert digests == PUBLISHED


@pytest.mark.parametrize("shape, fan", [([8, 32], 4.0), ([8, 3, 5], 15), ([1, 10, 6], 6)])
def test_factor_by_rank(shape, fan):
    assert materialize.fan_in(shape) == fan
    value = materialize.values("w", shape, np.dtype("float32")).flat[0]
    half = struct.unpack("f", struct.pack("f", element("w", 0)))[0] - 0.5
    assert value == np.float32(half) * np.float32(math.sqrt(12 / fan))


def test_model_gets_its_weights(tmp_path):
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[70, 80], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="absent")
    small = helper.make_tensor("b", TensorProto.FLOAT, [80], [0.5] * 80)
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w", "b"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 70])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 80])],
        [weight, small],
    )
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    path = materialize.materialize(tmp_path / "m.onnx", tmp_path / "out")
    loaded = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    assert np.array_equal(loaded["w"], materialize.values("w", [70, 80], np.dtype("float32")))
    assert np.all(loaded["b"] == 0.5)


def test_feeds_by_type():
    def value(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)

    graph = helper.make_graph(
        [],
        "g",
        [
            value("f", TensorProto.FLOAT, [100, 100]),
            value("i", TensorProto.INT64, ["batch", 1000]),
            value("b", TensorProto.BOOL, [10000]),
            value("w", TensorProto.FLOAT, [1]),
        ],
        [],
        [helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])],
    )
    feeds = materialize.inputs(helper.make_model(graph))
    assert set(feeds) == {"f", "i", "b"}
    assert abs(feeds["f"].std() - 1) < 0.02 and np.abs(feeds["f"]).max() < 1.74
    assert feeds["i"].shape == (1, 1000) and feeds["i"].min() >= 0 and feeds["i"].max() == 99
    assert feeds["b"].dtype == bool and abs(feeds["b"].mean() - 0.5) < 0.05
