"""Pairs of equal models, as a person writes them and as derived by hand: the search finds the second from the first."""

import json
import re
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from program import PROGRAM

TARGETS = {
    "v3": ["--cpu-level", "v3"],
    "v4": ["--cpu-level", "v4"],
    "cuda": ["--target", "cuda", "--precision", "f16"],
}
MOST = 1.2  # Times what the form derived by hand is predicted to take.


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


random = np.random.default_rng(11)


def weight(*shape):
    return random.normal(0, 1 / np.sqrt(shape[0]), shape).astype(np.float32)


def node(operator, inputs, output, **attributes):
    return helper.make_node(operator, inputs.split(), [output], **attributes)


def model(nodes, inputs, output, **constants):
    """Inputs by name and shape, those named `rows` integers."""

    def port(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.INT64 if name == "rows" else TensorProto.FLOAT, shape)

    held = [numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "pair", [port(*each) for each in inputs.items()], [port("y", output)], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def sums_after_upsampling():
    k, scales = weight(48, 192, 1, 1), np.array([1, 1, 2, 2], np.float32)
    shapes = {"x": [1, 192, 40, 40]}, [1, 48, 80, 80]
    nearest = dict(mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    written = [helper.make_node("Resize", ["x", "", "s"], ["u"], **nearest), node("Conv", "u k", "y")]
    by_hand = [node("Conv", "x k", "c"), helper.make_node("Resize", ["c", "", "s"], ["y"], **nearest)]
    return model(written, *shapes, k=k, s=scales), model(by_hand, *shapes, k=k, s=scales)


def pooling_after_a_convolution_of_one_point():
    k, b = weight(192, 96, 1, 1), weight(192)
    shapes = {"x": [1, 96, 60, 60]}, [1, 192, 20, 20]
    pool = dict(kernel_shape=[3, 3], strides=[3, 3])
    written = [node("Conv", "x k b", "c"), node("AveragePool", "c", "y", **pool)]
    by_hand = [node("AveragePool", "x", "c", **pool), node("Conv", "c k b", "y")]
    return model(written, *shapes, k=k, b=b), model(by_hand, *shapes, k=k, b=b)


def products_without_softmax():
    shapes = {"q": [6, 768, 64], "t": [6, 64, 768], "v": [6, 768, 64]}, [6, 768, 64]
    written = [node("MatMul", "q t", "s"), node("MatMul", "s v", "y")]
    by_hand = [node("MatMul", "t v", "s"), node("MatMul", "q s", "y")]
    return model(written, *shapes), model(by_hand, *shapes)


def a_product_times_a_vector():
    shapes = {"a": [768, 1024], "b": [1024, 512], "x": [512, 1]}, [768, 1]
    written = [node("MatMul", "a b", "s"), node("MatMul", "s x", "y")]
    by_hand = [node("MatMul", "b x", "s"), node("MatMul", "a s", "y")]
    return model(written, *shapes), model(by_hand, *shapes)


def constants_in_a_row():
    a, b, c = weight(384, 1024), weight(1024, 768), weight(768, 256)
    shapes = {"x": [192, 384]}, [192, 256]
    written = [node("MatMul", "x a", "p"), node("MatMul", "p b", "q"), node("MatMul", "q c", "y")]
    return model(written, *shapes, a=a, b=b, c=c), model([node("MatMul", "x m", "y")], *shapes, m=a @ b @ c)


def a_convolution_then_one_of_one_point():
    k, m = weight(192, 32, 3, 3), weight(24, 192, 1, 1)
    shapes = {"x": [1, 32, 48, 48]}, [1, 24, 48, 48]
    written = [node("Conv", "x k", "c", pads=[1] * 4), node("Conv", "c m", "y")]
    whole = np.einsum("oc,cirs->oirs", m[:, :, 0, 0], k)
    return model(written, *shapes, k=k, m=m), model([node("Conv", "x w", "y", pads=[1] * 4)], *shapes, w=whole)


def columns_summed():
    a = weight(640, 1536)
    shapes = {"x": [384, 640]}, [384, 1]
    written = [node("MatMul", "x a", "p"), node("ReduceSum", "p axes", "y", keepdims=1)]
    by_hand = model([node("MatMul", "x s", "y")], *shapes, s=a.sum(1, keepdims=True))
    return model(written, *shapes, a=a, axes=np.array([1])), by_hand


def a_broadcast_operand():
    a, shape = weight(640, 640), np.array([12, 48, 640])
    shapes = {"x": [1, 48, 640]}, [12, 48, 640]
    written = [node("Expand", "x s", "p"), node("MatMul", "p a", "y")]
    by_hand = [node("MatMul", "x a", "p"), node("Expand", "p s", "y")]
    return model(written, *shapes, a=a, s=shape), model(by_hand, *shapes, a=a, s=shape)


def rows_of_a_network():
    a, b = weight(512, 1024), weight(1024, 512)
    shapes = {"x": [768, 512], "rows": [24]}, [24, 512]
    layers = [node("Relu", "p", "h"), node("MatMul", "h b", "q")]
    written = [node("MatMul", "x a", "p"), *layers, node("Gather", "q rows", "y", axis=0)]
    by_hand = [node("Gather", "x rows", "g", axis=0), node("MatMul", "g a", "p"), layers[0], node("MatMul", "h b", "y")]
    return model(written, *shapes, a=a, b=b), model(by_hand, *shapes, a=a, b=b)


def branches_of_one_input():
    k, m, kb, mb = weight(96, 64, 3, 3), weight(96, 64, 1, 1), weight(96), weight(96)
    shapes = {"x": [1, 64, 64, 64]}, [1, 96, 32, 32]
    strides = dict(strides=[2, 2])
    written = [node("Conv", "x k kb", "a", pads=[1] * 4, **strides), node("Conv", "x m mb", "b", **strides)]
    written += [node("Add", "a b", "c"), node("Relu", "c", "y")]
    whole = k.copy()
    whole[:, :, 1, 1] += m[:, :, 0, 0]
    by_hand = [node("Conv", "x k b", "c", pads=[1] * 4, **strides), node("Relu", "c", "y")]
    return model(written, *shapes, k=k, m=m, kb=kb, mb=mb), model(by_hand, *shapes, k=whole, b=kb + mb)


def two_values_times_one_matrix():
    a = weight(640, 640)
    shapes = {"x": [320, 640], "z": [320, 640]}, [320, 640]
    written = [node("MatMul", "x a", "p"), node("MatMul", "z a", "q"), node("Sub", "p q", "y")]
    by_hand = [node("Sub", "x z", "s"), node("MatMul", "s a", "y")]
    return model(written, *shapes, a=a), model(by_hand, *shapes, a=a)


def a_kernel_larger_than_the_image():
    k = weight(48, 48, 15, 15)
    shapes = {"x": [1, 48, 3, 3]}, [1, 48, 3, 3]
    by_hand = model([node("Conv", "x k", "y", pads=[2] * 4)], *shapes, k=k[:, :, 5:10, 5:10])
    return model([node("Conv", "x k", "y", pads=[7] * 4)], *shapes, k=k), by_hand


def a_selection_of_rows():
    at = random.permutation(2048)[:48]
    one_hot = np.zeros((48, 2048), np.float32)
    one_hot[np.arange(48), at] = 1
    shapes = {"x": [2048, 384]}, [48, 384]
    by_hand = model([node("Gather", "x at", "y", axis=0)], *shapes, at=at)
    return model([node("MatMul", "h x", "y")], *shapes, h=one_hot), by_hand


def a_diagonal():
    scales = weight(768)
    shapes = {"x": [96, 768]}, [96, 768]
    written = [node("Relu", "x", "r"), node("MatMul", "r d", "y")]
    by_hand = [node("Relu", "x", "r"), node("Mul", "r s", "y")]
    return model(written, *shapes, d=np.diag(scales)), model(by_hand, *shapes, s=scales)


def blocks_on_a_diagonal():
    blocks, dense = weight(3, 256, 192), np.zeros((768, 576), np.float32)
    for number, block in enumerate(blocks):
        dense[256 * number : 256 * (number + 1), 192 * number : 192 * (number + 1)] = block
    shapes = {"x": [384, 768]}, [384, 576]
    by_hand = [node("Reshape", "x parts", "r"), node("Transpose", "r", "t", perm=[1, 0, 2]), node("MatMul", "t b", "p")]
    by_hand += [node("Transpose", "p", "u", perm=[1, 0, 2]), node("Reshape", "u whole", "y")]
    parts = dict(parts=np.array([384, 3, 256]), whole=np.array([384, 576]))
    return model([node("MatMul", "x d", "y")], *shapes, d=dense), model(by_hand, *shapes, b=blocks, **parts)


def a_transposed_convolution():
    k = weight(128, 64, 4, 4)
    shapes = {"x": [1, 128, 1, 1]}, [1, 64, 4, 4]
    by_hand = [node("Reshape", "x row", "r"), node("MatMul", "r m", "p"), node("Reshape", "p shape", "y")]
    parts = dict(m=k.reshape(128, 1024), row=np.array([1, 128]), shape=np.array([1, 64, 4, 4]))
    return model([node("ConvTranspose", "x k", "y")], *shapes, k=k), model(by_hand, *shapes, **parts)


def a_low_rank_update():
    w, a, b = weight(768, 768), weight(768, 16), weight(16, 768)
    shapes = {"x": [384, 768]}, [384, 768]
    written = [node("MatMul", "x w", "p"), node("MatMul", "x a", "l"), node("MatMul", "l b", "q")]
    written += [node("Mul", "q half", "h"), node("Add", "p h", "y")]
    by_hand = model([node("MatMul", "x m", "y")], *shapes, m=w + a @ b / 2)
    return model(written, *shapes, w=w, a=a, b=b, half=np.float32(0.5)), by_hand


def a_low_rank_update_of_a_layer():
    w, a, b, c = weight(512, 1024), weight(512, 8), weight(8, 1024), weight(1024)
    shapes = {"x": [4, 96, 512]}, [4, 96, 1024]
    written = [node("MatMul", "x w", "p"), node("Add", "p c", "o"), node("MatMul", "x a", "l"), node("MatMul", "l b", "q")]
    written += [node("Add", "o q", "s"), node("Relu", "s", "y")]
    by_hand = [node("MatMul", "x m", "p"), node("Add", "p c", "o"), node("Relu", "o", "y")]
    return model(written, *shapes, w=w, a=a, b=b, c=c), model(by_hand, *shapes, m=w + a @ b, c=c)


def an_adapter_behind_a_layer():
    w, a, b = weight(640, 640), weight(640, 16), weight(16, 640)
    shapes = {"x": [384, 640]}, [384, 640]
    written = [node("MatMul", "x w", "p"), node("MatMul", "p a", "l"), node("MatMul", "l b", "q"), node("Add", "p q", "y")]
    by_hand = model([node("MatMul", "x m", "y")], *shapes, m=w + w @ a @ b)
    return model(written, *shapes, w=w, a=a, b=b), by_hand


def two_low_rank_updates():
    w, a, b, c, d = weight(768, 512), weight(768, 8), weight(8, 512), weight(768, 24), weight(24, 512)
    shapes = {"x": [256, 768]}, [256, 512]
    written = [node("MatMul", "x w", "p"), node("MatMul", "x a", "l"), node("MatMul", "l b", "q"), node("MatMul", "x c", "m")]
    written += [node("MatMul", "m d", "r"), node("Add", "p q", "s"), node("Sub", "s r", "y")]
    by_hand = model([node("MatMul", "x m", "y")], *shapes, m=w + a @ b - c @ d)
    return model(written, *shapes, w=w, a=a, b=b, c=c, d=d), by_hand


def a_centered_input():
    a = weight(768, 512)
    shapes = {"x": [512, 768]}, [512, 512]
    mean = node("ReduceMean", "x axes", "m", keepdims=1)
    written = [mean, node("Sub", "x m", "v"), node("MatMul", "v a", "y")]
    by_hand = model([node("MatMul", "x c", "y")], *shapes, c=a - a.mean(0))
    return model(written, *shapes, a=a, axes=np.array([1])), by_hand


def a_product_that_cancels():
    a = weight(640, 640)
    shapes = {"x": [320, 640], "z": [320, 640]}, [320, 640]
    written = [node("Add", "x z", "s"), node("MatMul", "s a", "p"), node("MatMul", "x a", "q"), node("Sub", "p q", "y")]
    return model(written, *shapes, a=a), model([node("MatMul", "z a", "y")], *shapes, a=a)


def a_few_rows_times_a_chain():
    shapes = {"x": [16, 640], "a": [640, 768], "b": [768, 512], "c": [512, 640]}, [16, 640]
    written = [node("MatMul", "a b", "m"), node("MatMul", "m c", "n"), node("MatMul", "x n", "y")]
    by_hand = [node("MatMul", "x a", "p"), node("MatMul", "p b", "q"), node("MatMul", "q c", "y")]
    return model(written, *shapes), model(by_hand, *shapes)


def sums_over_other_dimensions():
    w = weight(192, 256)
    shapes = {"x": [24, 256, 320]}, [24, 192, 1]
    written = [node("MatMul", "w x", "p"), node("ReduceSum", "p axes", "y", keepdims=1)]
    by_hand = [node("ReduceSum", "x axes", "s", keepdims=1), node("MatMul", "w s", "y")]
    axes = np.array([2])
    return model(written, *shapes, w=w, axes=axes), model(by_hand, *shapes, w=w, axes=axes)


def scales_inside_and_outside_of_a_sum():
    a, d, s = weight(768, 768), weight(768), weight(768)
    shapes = {"x": [384, 768]}, [384, 768]
    written = [node("Mul", "x d", "v"), node("MatMul", "v a", "p"), node("Mul", "p s", "y")]
    by_hand = model([node("MatMul", "x m", "y")], *shapes, m=d[:, None] * a * s)
    return model(written, *shapes, a=a, d=d, s=s), by_hand


def a_mean_of_a_product():
    a = weight(512, 768)
    shapes = {"x": [8, 384, 512]}, [8, 1, 768]
    axes = np.array([1])
    written = [node("MatMul", "x a", "p"), node("ReduceMean", "p axes", "y", keepdims=1)]
    by_hand = [node("ReduceMean", "x axes", "m", keepdims=1), node("MatMul", "m a", "y")]
    return model(written, *shapes, a=a, axes=axes), model(by_hand, *shapes, a=a, axes=axes)


def transposes_between_products():
    a, b = weight(512, 1024), weight(384, 1024)
    shapes = {"x": [640, 512]}, [640, 384]
    written = [node("MatMul", "x a", "p"), node("Transpose", "p", "t"), node("MatMul", "b t", "q"), node("Transpose", "q", "y")]
    return model(written, *shapes, a=a, b=b), model([node("MatMul", "x m", "y")], *shapes, m=a @ b.T)


def a_broadcast_row():
    a, r = weight(512, 768), weight(1, 512)
    shapes = {"x": [768, 512]}, [768, 768]
    written = [node("Add", "x r", "s"), node("MatMul", "s a", "y")]
    by_hand = [node("MatMul", "x a", "p"), node("Add", "p b", "y")]
    return model(written, *shapes, a=a, r=r), model(by_hand, *shapes, a=a, b=r @ a)


def constant_keys():
    k = weight(64, 768)
    shapes = {"q": [6, 768, 64], "v": [6, 768, 64]}, [6, 768, 64]
    written = [node("MatMul", "q k", "s"), node("MatMul", "s v", "y")]
    by_hand = [node("MatMul", "k v", "m"), node("MatMul", "q m", "y")]
    return model(written, *shapes, k=k), model(by_hand, *shapes, k=k)


def a_projection_taken_off():
    u = weight(768, 24)
    shapes = {"x": [512, 768], "z": [512, 768]}, [512, 768]
    written = [node("MatMul", "x u", "p"), node("MatMul", "z u", "q"), node("Add", "p q", "s"), node("MatMul", "s t", "y")]
    by_hand = [node("Add", "x z", "v"), node("MatMul", "v u", "p"), node("MatMul", "p t", "y")]
    return model(written, *shapes, u=u, t=u.T), model(by_hand, *shapes, u=u, t=u.T)


PAIRS = [
    a_low_rank_update,
    a_low_rank_update_of_a_layer,
    an_adapter_behind_a_layer,
    two_low_rank_updates,
    a_centered_input,
    a_product_that_cancels,
    a_few_rows_times_a_chain,
    sums_over_other_dimensions,
    scales_inside_and_outside_of_a_sum,
    a_mean_of_a_product,
    transposes_between_products,
    a_broadcast_row,
    constant_keys,
    a_projection_taken_off,
    a_transposed_convolution,
    a_selection_of_rows,
    a_diagonal,
    blocks_on_a_diagonal,
    sums_after_upsampling,
    pooling_after_a_convolution_of_one_point,
    products_without_softmax,
    a_product_times_a_vector,
    constants_in_a_row,
    a_convolution_then_one_of_one_point,
    columns_summed,
    a_broadcast_operand,
    rows_of_a_network,
    branches_of_one_input,
    two_values_times_one_matrix,
    a_kernel_larger_than_the_image,
]


@pytest.fixture(params=PAIRS, ids=lambda pair: pair.__name__)
def pair(request, tmp_path):
    paths = [tmp_path / "written.onnx", tmp_path / "by_hand.onnx"]
    for path, each in zip(paths, request.param(), strict=True):
        onnx.checker.check_model(each)
        onnx.save(each, path)
    return paths


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_written_takes_what_is_derived_by_hand(pair, target, tmp_path):
    written, by_hand = (
        json.loads(run("compile", each, "-o", tmp_path / "a.kin", *TARGETS[target], "--json"))["objective_seconds"]
        for each in pair
    )
    assert written <= MOST * by_hand


def test_answers_agree(pair, level, tmp_path):
    feeds = {}
    for port in onnx.load(pair[0]).graph.input:
        shape = [each.dim_value for each in port.type.tensor_type.shape.dim]
        isRows = port.type.tensor_type.elem_type == TensorProto.INT64
        feeds[port.name] = random.integers(0, 700, shape) if isRows else random.normal(0, 1, shape).astype(np.float32)
    np.savez(tmp_path / "in.npz", **feeds)
    results = []
    for number, each in enumerate(pair):
        out = tmp_path / f"{number}.npz"
        run("run", each, "--no-cache", "--cpu-level", level, "--inputs", tmp_path / "in.npz", "--outputs", out)
        results.append(np.load(out)["y"])
    np.testing.assert_allclose(results[0], results[1], rtol=2e-3, atol=2e-4 * np.abs(results[1]).max())


def test_transposed_convolutions_are_products_in_16_bits(tmp_path):
    steps = dict(strides=[2, 2], pads=[1] * 4)
    nodes = [node("ConvTranspose", "x k", "a", **steps), node("Relu", "a", "b"), node("ConvTranspose", "b m", "y", **steps)]
    k, m = weight(128, 64, 4, 4), weight(64, 32, 4, 4)
    onnx.save(model(nodes, {"x": [1, 128, 16, 16]}, [1, 32, 64, 64], k=k, m=m), tmp_path / "up.onnx")
    run("compile", tmp_path / "up.onnx", "--emit", "expressions", "-o", tmp_path / "up.te", *TARGETS["cuda"])
    assert re.search(r"^b\[.*\] f16 = ", (tmp_path / "up.te").read_text(), re.M)


@pytest.mark.parametrize("target", [*TARGETS, "cuda f32"])
def test_windows_that_run_backwards_take_what_others_take(target, tmp_path):
    """x[h - r], as mathematics has a convolution, and x[h + r] with the kernel turned."""
    seconds = []
    for place, taps in [("h-r+2, w-s+2", "r, s"), ("h+r, w+s", "2-r, 2-s")]:
        (tmp_path / "model.te").write_text(
            "input x[1, 64, 60, 60] f32\n"
            "k[o:64, c:64, r:3, s:3] f32 = sin(f32(o * c + 2 * r + 3 * s + c * r * s))\n"
            f"y[n:1, o:64, h:58, w:58] f32 = sum<f32>[c:64, r:3, s:3] x[n, c, {place}] * k[o, c, {taps}]\noutput y\n"
        )
        flags = TARGETS.get(target, ["--target", "cuda"])
        found = run("compile", tmp_path / "model.te", "-o", tmp_path / "a.kin", *flags, "--json")
        seconds.append(json.loads(found)["objective_seconds"])
    assert seconds[0] <= 1.02 * seconds[1]
