"""The error policy: what `compare` and zoo/policy.py allow, and what docs/precision.md says of it."""

import json
import math
import pathlib

import models
import numpy as np
import onnx.parser
import policy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def model(body, inputs="float[1,16,8,8] x", outputs="float[1,?] y"):
    outputs = outputs.replace("?", "n")
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 20]> g ({inputs}) => ({outputs}) {body}')


@pytest.mark.parametrize(
    "body, inputs, k",
    [
        ("{ y = Relu(x) }", "float[1,16,8,8] x", 1),
        ("{ y = Conv(x, w) }", "float[1,16,8,8] x, float[4,16,3,3] w", 144),
        ("{ t = Conv(x, w) y = Conv(t, v) }", "float[1,16,8,8] x, float[4,16,3,3] w, float[2,4,1,1] v", 148),
        ("{ t = Conv<group = 4>(x, w) y = Add(t, x) }", "float[1,16,8,8] x, float[16,4,3,3] w", 36),
        ("{ y = ConvTranspose<strides = [2, 2]>(x, w) }", "float[1,16,8,8] x, float[16,4,4,4] w", 64),
        ("{ y = MatMul(x, w) }", "float[5,70] x, float[70,3] w", 70),
        ("{ y = Gemm<transA = 1>(x, w) }", "float[70,5] x, float[70,3] w", 70),
        ("{ y = Softmax<axis = 1>(x) }", "float[5,70] x", 70),
        ("{ a = Constant<value = int64[2] {2, 3}>() y = ReduceMean(x, a) }", "float[1,16,8,8] x", 64),
        ("{ y = ReduceMax(x) }", "float[1,16,8,8] x", 1),
    ],
)
def test_depth(body, inputs, k):
    assert policy.depth(model(body, inputs)) == {"y": k}


def test_tolerance():
    assert policy.tolerance("float32", 100) == pytest.approx(4e-5)
    assert policy.tolerance("float32", 10**9) == pytest.approx(2e-3)
    assert policy.tolerance("float64", 1) == pytest.approx(2e-14)
    assert policy.tolerance("float16", 1) == pytest.approx(4e-3)
    assert policy.tolerance("int64", 100) == 0 and policy.tolerance("bool", 100) == 0


def published():
    """The table of docs/precision.md: by type, the functions of K that are the limit and the most that it widens to,
    and how many times what rounding costs."""
    lines = (ROOT / "docs/precision.md").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| judged by |"))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[start + 2 : start + 6]]
    names = {"sqrt": math.sqrt, "log2": math.log2, "min": min, "__builtins__": {}}

    def function(text):
        return None if text == "-" else lambda k: eval(text, names | {"K": k})

    return {row[0]: (function(row[1]), row[2], function(row[3])) for row in rows}


def sum_of(tmp_path, type_, k):
    """A model that adds up K terms."""
    path = tmp_path / f"{type_}{k}.te"
    path.write_text(
        f"input x[16, {k}] {type_}\nconst w[{k}, 16] {type_} = weights(\"w\")\n"
        f"y[i:16, j:16] {type_} = sum[k:{k}] x[i, k] * w[k, j]\noutput y\n"
    )
    return path


def judged(path, *flags):
    command = ("compare", path, "--random-weights", "--no-cache", "--json", *flags)
    return json.loads(models.kintsugi(*command, codes=(0, 1)))["outputs"][0]


@pytest.mark.parametrize("type_", ["f64", "f32", "f16", "bf16"])
@pytest.mark.parametrize("k", [1, 48])
def test_the_published_limits_are_those_in_use(tmp_path, type_, k):
    limit, _, _ = published()[type_]
    types = ("f32", ("--precision", type_)) if type_ == "bf16" else (type_, ())
    found = judged(sum_of(tmp_path, types[0], k), *types[1])
    assert found["depth"] == k
    assert found["allowed"] == pytest.approx(limit(k), rel=1e-9)
    assert found["slice_allowed"] == pytest.approx((2 if type_ == "f32" else 4) * limit(k), rel=1e-9)


@pytest.mark.parametrize("k", [1, 100, 10**9])
def test_the_widest_published_limits_are_those_of_other_runtimes(k):
    for type_, dtype in (("f64", "float64"), ("f32", "float32"), ("f16", "float16")):
        limit, _, most = published()[type_]
        assert policy.tolerance(dtype, k) == pytest.approx(2 * (most if type_ == "f32" else limit)(k))


def against(tmp_path, path, change):
    """The verdict on the model's own outputs after a change."""
    models.kintsugi("run", path, "--no-cache", "--quiet", "--outputs", tmp_path / "right.npz")
    with np.load(tmp_path / "right.npz") as file:
        outputs = dict(file)
    change(outputs)
    np.savez(tmp_path / "changed.npz", **outputs)
    return judged(path, "--expected", tmp_path / "changed.npz")["verdict"]


def test_boxes_hide_no_scores(tmp_path):
    path = tmp_path / "detector.te"
    path.write_text(
        "input x[1, 400, 24] f32\n"
        "y[n:1, i:400, j:24] f32 = cases { j < 4: x[n, i, j] * 4000; else: 1 / (1 + exp(-x[n, i, j])) }\n"
        "output y\n"
    )

    def scores(new):
        def change(outputs):
            outputs["y"][:, :, 4:] = new(outputs["y"][:, :, 4:])

        return change

    assert against(tmp_path, path, scores(lambda old: old)) == "inside"
    for wrong in (lambda old: 0.5, lambda old: old * 1.01, lambda old: old[:, :, ::-1]):
        assert against(tmp_path, path, scores(wrong)) == "outside"


def test_a_wrong_row_is_seen(tmp_path):
    path = tmp_path / "rows.te"
    path.write_text("input x[1, 64, 32] f32\ny[n:1, i:64, j:32] f32 = x[n, i, j] * cases { i < 32: 1; else: 100 }\noutput y\n")

    def change(outputs):
        outputs["y"][:, 5, :] *= np.float32(1.00002)

    assert against(tmp_path, path, change) == "outside"


def test_input_types_loosen_nothing(tmp_path):
    path = tmp_path / "half.te"
    path.write_text("input x[8, 64] f16\ninput w[64, 8] bf16\n"
                    "y[i:8, j:8] f32 = sum[k:64] f32(x[i, k]) * f32(w[k, j])\noutput y\n")
    limit, _, _ = published()["f32"]
    assert judged(path)["allowed"] == pytest.approx(limit(64), rel=1e-9)


def test_what_is_nan_throughout_is_said(tmp_path):
    path = tmp_path / "nan.te"
    path.write_text("input x[8] f32\ny[i:8] f32 = sqrt(-1 - abs(x[i]))\nz[i:8] f32 = x[i]\noutput y\noutput z\n")
    report = json.loads(models.kintsugi("compare", path, "--no-cache", "--json"))
    assert report["notes"] == ["output 'y' is NaN throughout, on both sides: nothing was compared"]


def test_difference_is_relative_to_the_largest_magnitude():
    a, b = np.array([1.0, 4.0], np.float32), np.array([1.5, 4.0], np.float32)
    assert policy.difference(a, b) == pytest.approx(0.125)


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (np.zeros(2, np.float32), np.zeros(3, np.float32)),
        (np.zeros(2, np.float32), np.zeros(2, np.float64)),
        (np.array([np.nan, 1]), np.array([1.0, 1])),
        (np.array([1.0, 1]), np.array([np.inf, 1])),
        (np.array([-np.inf, 1]), np.array([np.inf, 1])),
        (np.array([1e-9]), np.array([0.0])),
    ],
)
def test_difference_is_infinite(ours, theirs):
    assert policy.difference(ours, theirs) == math.inf


def test_equal_infinities_and_nans_agree():
    a = np.array([np.inf, -np.inf, np.nan, 2.0])
    assert policy.difference(a, a.copy()) == 0
