"""Models whose inputs, weights and outputs are of types that numbers are only kept in: 8-bit and 4-bit floats, integers of
4 and 2 bits. ml_dtypes says what their elements are."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

kintsugi = pytest.importorskip("kintsugi", reason="the package is not built; ./dev build makes it")

FLOATS = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn"]
INTEGERS = ["uint4", "int4", "uint2", "int2"]


def number(kind):
    return helper.np_dtype_to_tensor_dtype(np.dtype(kind))


def model_of(nodes, inputs, outputs, constants=(), opset=25):
    info = lambda values: [helper.make_tensor_value_info(n, number(k), s) for n, (k, s) in values.items()]
    graph = helper.make_graph(nodes, "storage", info(inputs), info(outputs), list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=11).SerializeToString()


def session(model, **keywords):
    return kintsugi.InferenceSession(model, cache=False, **keywords)


def numbers(shape):
    return (np.random.default_rng(1).integers(-40, 40, shape) / 4).astype(np.float32)


@pytest.mark.parametrize("kind", FLOATS + INTEGERS)
def test_what_is_kept_comes_out_and_goes_in(kind):
    """A tensor of an odd number of elements, converted, and moved without being converted."""
    shape = (3, 5)
    there = [helper.make_node("Cast", ["x"], ["y"], to=number(kind)), helper.make_node("Transpose", ["y"], ["t"])]
    x = numbers(shape)
    if kind in INTEGERS:
        limits = ml_dtypes.iinfo(kind)
        x = np.clip(np.trunc(x), int(limits.min), int(limits.max))
    made = session(model_of(there, {"x": ("float32", shape)}, {"y": (kind, shape), "t": (kind, shape[::-1])}))
    y, t = made.run(None, {"x": x})
    right = x.astype(kind)
    if "float8" in kind:
        greatest = np.float32(ml_dtypes.finfo(kind).max)
        right = np.clip(x, -greatest, greatest).astype(kind)
    assert y.dtype == np.dtype(kind) and y.shape == shape and y.tobytes() == right.tobytes()
    assert t.tobytes() == np.ascontiguousarray(right.T).tobytes()
    back = [helper.make_node("Cast", ["y"], ["z"], to=TensorProto.FLOAT)]
    (z,) = session(model_of(back, {"y": (kind, shape)}, {"z": ("float32", shape)})).run(None, {"y": right})
    assert np.array_equal(z, right.astype(np.float32))


@pytest.mark.parametrize("kind", ["int4", "uint4", "float8_e4m3fn", "float4_e2m1fn", "int8"])
def test_weights_of_few_bits_are_multiplied(kind):
    """Blocks of 16 rows of a matrix have a scale, as exporters of language models write it."""
    rng = np.random.default_rng(2)
    weights = rng.integers(0, 7, (64, 48)).astype(np.float32).astype(kind)
    scales = (2.0 ** rng.integers(-3, 1, (4, 48))).astype(np.float32)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=0, block_size=16),
        helper.make_node("MatMul", ["x", "d"], ["y"]),
    ]
    constants = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(scales, "s")]
    model = model_of(nodes, {"x": ("float32", (5, 64))}, {"y": ("float32", (5, 48))}, constants)
    x = rng.normal(size=(5, 64)).astype(np.float32)
    (y,) = session(model).run(None, {"x": x})
    right = x @ (weights.astype(np.float32) * scales.repeat(16, 0))
    assert np.allclose(y, right, rtol=1e-5, atol=1e-5)


def test_what_nothing_computes_in_is_refused_by_name():
    nodes = [helper.make_node("Add", ["x", "x"], ["y"], name="sum")]
    with pytest.raises(kintsugi.InputError, match="sum.*i4 are not computed with; have a Cast"):
        session(model_of(nodes, {"x": ("int4", (4,))}, {"y": ("int4", (4,))}))


def test_arrays_of_other_types_and_rooms_for_packed_elements_are_refused():
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.UINT4)]
    made = session(model_of(nodes, {"x": ("int4", (4,))}, {"y": ("uint4", (4,))}))
    assert [made.get_inputs()[0].type, made.get_outputs()[0].type] == ["tensor(int4)", "tensor(uint4)"]
    with pytest.raises(kintsugi.InputError, match="the model's is int4"):
        made.run(None, {"x": np.zeros(4, np.int8)})
    binding = made.io_binding()
    binding.bind_cpu_input("x", np.array([-1, 2, 3, 4], "int4"))
    binding.bind_output("y")
    made.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0].astype(int).tolist() == [15, 2, 3, 4]


def test_values_of_16_bits_stop_at_conversions():
    """Of a model in f16 what is converted to few bits is what f32 gives: a little off would be a code off."""
    shape = (33, 65)
    nodes = [
        helper.make_node("Mul", ["x", "k"], ["m"]),
        helper.make_node("Cast", ["m"], ["c"], to=TensorProto.FLOAT8E5M2),
        helper.make_node("Cast", ["c"], ["y"], to=TensorProto.FLOAT),
    ]
    constants = [numpy_helper.from_array(np.float32(1.0009765), "k")]
    x = np.random.default_rng(3).normal(size=shape).astype(np.float32)
    model = model_of(nodes, {"x": ("float32", shape)}, {"y": ("float32", shape)}, constants)
    (y,) = session(model, precision="f16").run(None, {"x": x})
    right = (x * np.float32(1.0009765)).astype(ml_dtypes.float8_e5m2).astype(np.float32)
    assert np.mean(y != right) < 0.01
