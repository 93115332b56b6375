"""--precision: models whose f32 values are stored in fewer bits, compared with the reference on what they say."""

import json
import re
import subprocess
import warnings

import kintsugi
import materialize
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from program import PROGRAM, ROOT

DIGITS = ROOT / "examples/digits/digits.onnx"
SECONDS = 400  # For one command on a machine that is busy.
CAPTURED = dict(capture_output=True, text=True, timeout=SECONDS)


def run(*arguments, code=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == code, done.stderr
    return done.stdout


def report(*arguments):
    return json.loads(run(*arguments, "--json", "--quiet"))


def compare(path, precision, *flags):
    found = report("compare", path, "--random-weights", "--no-cache", "--precision", precision, *flags)
    assert found["within"] and found["precision"] == precision, found
    return found["outputs"]


ZOO = "resnet18 mmoe dlrm fsrcnn efficientvit_b1 lstm_10x100x256 infogan"


@pytest.mark.parametrize("model", ZOO.split())
def test_zoo_in_f16(level, model):
    compare(ROOT / "zoo" / f"{model}.onnx", "f16", "--cpu-level", level)


@pytest.mark.parametrize("model", ["bert_base_128", "masked_encoder_causal_1024"])
def test_large_models_in_f16_against_themselves_in_f32(tmp_path, model):
    """The reference takes minutes for these."""
    path = ROOT / "zoo" / f"{model}.onnx"
    flags = ("--random-weights", "--no-cache", "--quiet")
    run("run", path, *flags, "--outputs", tmp_path / "right.npz")
    found = report("compare", path, *flags[:2], "--precision", "f16", "--expected", tmp_path / "right.npz")
    assert found["within"] and 1e-5 < found["outputs"][0]["max_rel"], found


@pytest.mark.parametrize("model", ["resnet18", "mmoe", "fsrcnn"])
def test_zoo_in_bf16(level, model):
    (output, *_) = compare(ROOT / "zoo" / f"{model}.onnx", "bf16", "--cpu-level", level)
    assert output["max_rel"] > 1e-4 or model == "mmoe", "bf16 rounds"


def amplifier(path, strength):
    """Differences of sums that are nearly equal: relative errors of what they are made from grow by `strength`."""
    random = np.random.default_rng(3)
    w = random.normal(0, 1, (64, 64)).astype(np.float32)
    v = random.normal(0, 1, (64, 64)).astype(np.float32)
    near = (w + v / strength).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("MatMul", ["x", "near"], ["b"]),
        helper.make_node("Clip", ["a", "", "most"], ["clipped"]),  # Or else the difference of the weights would be taken.
        helper.make_node("Sub", ["b", "clipped"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [32, 64]) for name in "xy"]
    most = np.array(1000, np.float32)
    constants = [numpy_helper.from_array(each, name) for each, name in ((w, "w"), (near, "near"), (most, "most"))]
    graph = helper.make_graph(nodes, "amplifier", ports[:1], ports[1:], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def judged(path, *flags):
    """The report of `compare`, whatever its verdict."""
    code = subprocess.run([PROGRAM, "compare", path, "--no-cache", "--json", *map(str, flags)], **CAPTURED)
    assert code.returncode in (0, 1), code.stderr
    return json.loads(code.stdout)


def test_rounding_that_the_model_amplifies_is_a_verdict_of_its_own(tmp_path):
    (calm,) = compare(amplifier(tmp_path / "calm.onnx", 1), "f16")
    assert calm["verdict"] == "inside" and "rounding" not in calm
    path = amplifier(tmp_path / "loud.onnx", 60)
    (loud,) = compare(path, "f16")
    assert loud["verdict"] == "rounding" and loud["max_rel"] > 0.006
    assert loud["allowed"] == pytest.approx(min(1.5 * loud["rounding"], 0.1))
    text = run("compare", path, "--no-cache", "--precision", "f16")
    assert text.splitlines()[-1] == "inside the error policy only by rounding to f16: 'y'"


def test_rounding_excuses_at_most_a_tenth(tmp_path):
    report = judged(amplifier(tmp_path / "wild.onnx", 3000), "--precision", "f16")
    (wild,) = report["outputs"]
    assert report["verdict"] == wild["verdict"] == "outside" and not report["within"]
    assert wild["max_rel"] > 0.1 == wild["allowed"]


def test_max_error_keeps_what_moves_outputs(level, tmp_path):
    path = amplifier(tmp_path / "wild.onnx", 3000)
    narrow = ("--precision", "f16", "--cpu-level", level)
    text = subprocess.run([PROGRAM, "compare", path, "--no-cache", *narrow], **CAPTURED).stderr
    assert "--max-error 0.1 keeps in f32 what moves outputs so far" in text
    bounded = judged(path, *narrow, "--max-error", "0.02")
    assert bounded["verdict"] == "inside" and bounded["outputs"][0]["max_rel"] < 0.01
    note = report("compile", path, "-o", tmp_path / "wild.kin", *narrow, "--max-error", "0.02")["notes"][0]
    assert re.match(r"--max-error 0.02: \d+ of \d+ definitions stay f32; f16 everywhere moved output 'y' by ", note)
    kept = run("explain", path, "--no-cache", "--decisions", *narrow, "--max-error", "0.02")
    assert "rounding it moves the outputs further than --max-error allows" in kept
    session = kintsugi.InferenceSession(str(path), precision="f16", max_error=0.02, cache=False)
    assert session.notes == [note]


def test_rounding_in_f32_is_no_excuse_but_a_measure(tmp_path):
    """What is off by 15 times as much as rounding each value once is outside."""
    path = amplifier(tmp_path / "loud.onnx", 16)
    report = judged(path)
    (loud,) = report["outputs"]
    assert report["verdict"] == "inside" and "rounding" in loud
    assert loud["allowed"] == pytest.approx(15 * loud["rounding"])
    run("run", path, "--no-cache", "--quiet", "--outputs", tmp_path / "right.npz")
    with np.load(tmp_path / "right.npz") as file:
        y = file["y"]
    for share, verdict in ((1.0, "inside"), (1 + 60 * loud["rounding"], "outside")):
        np.savez(tmp_path / "other.npz", y=(y * share).astype(np.float32))
        assert judged(path, "--expected", tmp_path / "other.npz")["verdict"] == verdict


def test_rounding_excuses_nothing_against_a_file(tmp_path):
    path = amplifier(tmp_path / "loud.onnx", 300)
    run("run", path, "--no-cache", "--quiet", "--outputs", tmp_path / "right.npz")
    narrow = ("compare", path, "--no-cache", "--precision", "f16", "--expected", tmp_path / "right.npz")
    assert "OUTSIDE" in run(*narrow, code=1)


def decoder(path, heads=8, groups=2, size=64, tokens=24, hidden=256):
    """A block as Llama has it: RMS norms, grouped queries under a causal mask of the lowest number, a gated product."""
    width = heads * size
    random = np.random.default_rng(7)
    shapes = {
        "wq": (width, width),
        "wk": (width, groups * size),
        "wv": (width, groups * size),
        "wo": (width, width),
        "w1": (width, hidden),
        "w3": (width, hidden),
        "w2": (hidden, width),
    }
    weights = {name: random.normal(0, shape[0] ** -0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    mask = np.triu(np.full((tokens, tokens), np.finfo(np.float32).min, np.float32), 1)
    constants = weights | {
        "mask": mask,
        "two": np.float32(2),
        "eps": np.float32(1e-6),
        "scale": np.float32(size**-0.5),
        "one": np.array([2], np.int64),
        "last": np.array([-1], np.int64),
        "to_heads": np.array([tokens, groups, heads // groups, size], np.int64),
        "to_groups": np.array([tokens, groups, 1, size], np.int64),
        "to_rows": np.array([tokens, width], np.int64),
    }
    nodes = []

    def node(operator, *inputs, **attributes):
        name = f"v{len(nodes)}"
        nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def norm(x):
        mean = node("ReduceMean", node("Pow", x, "two"), "last", keepdims=1)
        return node("Div", x, node("Sqrt", node("Add", mean, "eps")))

    def heads_of(x, weight, shape):
        return node("Transpose", node("Reshape", node("MatMul", x, weight), shape), perm=[1, 2, 0, 3])

    normed = norm("x")
    q, k, v = heads_of(normed, "wq", "to_heads"), heads_of(normed, "wk", "to_groups"), heads_of(normed, "wv", "to_groups")
    scores = node("Mul", node("MatMul", q, node("Transpose", k, perm=[0, 1, 3, 2])), "scale")
    shares = node("Softmax", node("Add", scores, "mask"), axis=-1)
    mixed = node("Reshape", node("Transpose", node("MatMul", shares, v), perm=[2, 0, 1, 3]), "to_rows")
    h = node("Add", "x", node("MatMul", mixed, "wo"))
    gate = node("MatMul", norm(h), "w1")
    gated = node("Mul", node("Mul", gate, node("Sigmoid", gate)), node("MatMul", norm(h), "w3"))
    nodes.append(helper.make_node("Add", [h, node("MatMul", gated, "w2")], ["y"]))
    graph = helper.make_graph(
        nodes,
        "decoder",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [tokens, width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [tokens, width])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


@pytest.mark.parametrize("precision", ["f32", "f16", "bf16"])
def test_decoder(tmp_path, precision):
    (output,) = compare(decoder(tmp_path / "decoder.onnx"), precision)
    assert output["type"] == "f32"
    assert (output["max_rel"] > 1e-5) == (precision != "f32"), "nothing else rounds"


def test_masks_of_the_lowest_number_stay_f32(tmp_path):
    text = run("compile", decoder(tmp_path / "decoder.onnx"), "--precision", "f16", "--emit", "expressions")
    assert "const mask[24, 24] f32" in text and "mask.f16" not in text
    assert "wq.f16[" in text and "= stored f16(wq[" in text


ATTENTION = """
input q[h:8, i:512, d:64] f32
input k[h:8, j:512, d:64] f32
input v[h:8, j:512, d:64] f32
{mask}
s[h:8, i:512, j:512] f32 = sum<f32>[d:64] q[h, i, d] * k[h, j, d]
x[h:8, i:512, j:512] f32 = {scores}
m[h:8, i:512] f32 = max<f32>[j:512] x[h, i, j]
e[h:8, i:512, j:512] f32 = exp(x[h, i, j] - m[h, i])
z[h:8, i:512] f32 = sum<f32>[j:512] e[h, i, j]
p[h:8, i:512, j:512] f32 = e[h, i, j] / z[h, i]
o[h:8, i:512, d:64] f32 = sum<f32>[j:512] p[h, i, j] * v[h, j, d]
output o
"""
# What exporters write: a constant that is added, a choice, and what BERT makes of an input.
ADDED = {
    "mask": "g[i:512, j:512] f32 = cases {{ j <= i: 0; else: {low} }}",
    "scores": "s[h, i, j] * 0.125 + g[i, j]",
}
CHOSEN = {"mask": "", "scores": "cases {{ j <= i: s[h, i, j] * 0.125; else: {low} }}"}
PADDING = {
    "mask": "input seen[j:512] bool\nn[j:512] f32 = (1 - f32(seen[j])) * {low}",
    "scores": "s[h, i, j] * 0.125 + n[j]",
}


@pytest.mark.parametrize("low", [-1e4, -6e4])
@pytest.mark.parametrize("form", [ADDED, CHOSEN, PADDING], ids=["added", "chosen", "padding"])
def test_attention_with_a_finite_mask_is_one_kernel_on_a_gpu(tmp_path, form, low):
    """Old exporters hide by -1e4, which f16 has: where it is stored without a power of two, nothing is a softmax."""
    model = tmp_path / "attention.te"
    model.write_text(ATTENTION.format(**{key: text.format(low=low) for key, text in form.items()}))
    text = run("compile", model, "--emit", "tile", "--target", "cuda", "--precision", "f16")
    assert text.count("streamed = true") == 1, "scores are stored"
    compare(model, "f16")


def test_what_a_gpu_assumes_to_be_finite_is_told(tmp_path):
    model = tmp_path / "attention.te"
    model.write_text(ATTENTION.format(**{key: text.format(low="-inf") for key, text in ADDED.items()}))
    flags = ("-o", tmp_path / "attention.kin", "--target", "cuda", "--precision", "f16")
    (note,) = report("compile", model, *flags)["notes"]
    assert "what masks hide (1); --disable " in note
    named = note.split("--disable ")[1].split(" ")[0]
    assert report("compile", model, *flags, "--disable", named)["notes"] == [], "the note says what to do"


def growing(path, blocks=7):
    """A trunk of images that grows eightfold with each block, far beyond f16's range, and a head that normalizes it."""
    random = np.random.default_rng(5)
    channels, classes = 32, 10
    nodes, constants, trunk = [], {}, "x"
    for k in range(blocks):
        weight = random.standard_normal((channels, channels, 3, 3)) * 11 / np.sqrt(9 * channels)
        constants[f"w{k}"] = weight.astype(np.float32)
        nodes += [
            helper.make_node("Conv", [trunk, f"w{k}"], [f"conv{k}"], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", [f"conv{k}"], [f"relu{k}"]),
            helper.make_node("Add", [trunk, f"relu{k}"], [f"trunk{k}"]),
        ]
        trunk = f"trunk{k}"
    constants |= {
        "gamma": np.ones(channels, np.float32),
        "beta": np.zeros(channels, np.float32),
        "head": random.standard_normal((channels, classes)).astype(np.float32) / 6,
        "axes": np.array([2, 3]),
    }
    nodes += [
        helper.make_node("ReduceMean", [trunk, "axes"], ["mean"], keepdims=0),
        helper.make_node("LayerNormalization", ["mean", "gamma", "beta"], ["normal"], axis=-1),
        helper.make_node("MatMul", ["normal", "head"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "growing",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, channels, 24, 24])],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, classes]),
            helper.make_tensor_value_info(trunk, TensorProto.FLOAT, [1, channels, 24, 24]),
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def test_values_beyond_f16_are_stored_without_a_power_of_two(tmp_path):
    path = growing(tmp_path / "growing.onnx")
    normalized, trunk = compare(path, "f16")
    assert 1e-5 < normalized["max_rel"] < 0.02 and trunk["max_rel"] < 0.02, "f16 rounds, and no more"
    run("run", path, "--precision", "f16", "--outputs", tmp_path / "out.npz", "--quiet")
    with np.load(tmp_path / "out.npz") as out:
        assert np.abs(out[trunk["name"]]).max() > 65504
    report("compare", path, "--no-cache", "--precision", "bf16", "--disable", "storage-scales")
    run("compare", path, "--no-cache", "--precision", "f16", "--disable", "storage-scales", code=1)


LARGE = """input a[64, 128] f32
const w[128, 64] f32 = weights("w")
x[i:64, j:128] f32 = a[i, j] * 3e4
m[i:64, j:64] f32 = sum[k:128] x[i, k] * w[k, j]
"""

SCAN = """input h0[8, 64] f32
(last[8, 64] f32) = scan[3] carry(h0) capture(m) {
  input step[] i64
  input h[8, 64] f32
  input m[64, 64] f32
  p[i:8, j:64] f32 = sum[k:64] h[i, k] * m[k, j]
  n[i:8, j:64] f32 = p[i, j] * 0.00001
  output n
}
output last
"""

CALL = """const v[32, 64] f32 = weights("v")
(t[64, 32] f32, u[64, 32] i64) = call TopK(m) {"k":32}
q[i:64, j:64] f32 = sum[k:32] t[i, k] * v[k, j]
output q
"""

POWERS = """input b[64, 128] f32
e[i:64, j:128] f32 = exp(b[i, j] * 40)
z[i:64, j:128] f32 = log(e[i, j]) + 1
f[i:64, j:128] f32 = 1 + exp(b[i, j] * 8)
f2[i:64, j:128] f32 = f[i, j] * f[i, j]
f4[i:64, j:128] f32 = f2[i, j] * f2[i, j]
f8[i:64, j:128] f32 = f4[i, j] * f4[i, j]
y[i:64, j:128] f32 = 1 / (f8[i, j] * f4[i, j])
output z
output y
"""


# A product in a scan would round what it captures, so that one must be smaller than f16's greatest to be right.
@pytest.mark.parametrize("text", [LARGE.replace("3e4", "3e3") + SCAN, LARGE + CALL, POWERS], ids=["scan", "call", "powers"])
def test_large_values_in_scans_calls_and_powers(tmp_path, text):
    path = tmp_path / "large.te"
    path.write_text(text)
    flags = ("--random-weights", "--no-cache", "--quiet")
    run("run", path, *flags, "--outputs", tmp_path / "right.npz")
    found = report("compare", path, *flags[:2], "--precision", "f16", "--expected", tmp_path / "right.npz")
    assert all(output["max_rel"] < 0.02 for output in found["outputs"]), found


def test_a_model_that_is_too_large_to_be_tried_is_told(tmp_path):
    text = """input a[6000, 6000] f32
input b[6000, 6000] f32
s[i:6000, j:6000] f32 = sum[k:6000] a[i, k] * b[k, j]
output s
"""
    (tmp_path / "large.te").write_text(text)
    for precision, count in (("f16", 1), ("bf16", 0)):
        found = report("compile", tmp_path / "large.te", "-o", tmp_path / "large.kin", "--precision", precision)
        assert len(found["notes"]) == count and all("too large to be tried" in note for note in found["notes"])
        flags = ("--precision", precision, "--max-error", "0.1")
        run("compile", tmp_path / "large.te", "-o", tmp_path / "large.kin", *flags, code=5)


def test_explain_says_which_values_are_divided(tmp_path):
    path = growing(tmp_path / "growing.onnx")
    text = run("explain", path, "--precision", "f16", "--decisions")
    assert "divided by 2 to the power of" in text
    text = run("explain", path, "--precision", "f16", "--decisions", "--disable", "storage-scales")
    assert "divided by 2 to the power of" not in text


def test_artifacts_hold_narrow_weights(tmp_path):
    found = {}
    for precision in ("f32", "f16"):
        path = tmp_path / f"{precision}.kin"
        found[precision] = report("compile", DIGITS, "-o", path, "--cpu-level", "v3", "--precision", precision)
        assert found[precision]["precision"] == precision
        assert report("run", path)["precision"] == precision
    assert found["f16"]["exactness"]["probabilities"]["coarsest"] == "f16"
    assert found["f16"]["constant_bytes"] < 0.75 * found["f32"]["constant_bytes"]


def test_caches_keep_precisions_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("KINTSUGI_CACHE", str(tmp_path))
    outputs = {}
    for precision in ("f32", "f16", "f32"):
        run("run", DIGITS, "--precision", precision, "--outputs", tmp_path / "out.npz", "--quiet")
        with np.load(tmp_path / "out.npz") as out:
            values = out["probabilities"]
        assert outputs.setdefault(precision, values.tobytes()) == values.tobytes()
    assert outputs["f32"] != outputs["f16"]


def test_a_model_in_f16_stays_as_it_is(tmp_path):
    path = tmp_path / "half.te"
    path.write_text(
        "input x[8, 32] f16\nconst k[64, 32] f16 = weights(\"k\")\n"
        "t[n:8, o:64] f16 = sum<f32>[c:32] f32(x[n, c]) * f32(k[o, c])\ny[n:8, o:64] f16 = tanh(t[n, o])\noutput y\n"
    )
    arguments = ("compile", path, "--random-weights", "--emit", "expressions")
    assert run(*arguments, "--precision", "f16") == run(*arguments)


def test_what_a_model_rounds_itself_is_rounded(tmp_path):
    path = tmp_path / "rounded.te"
    path.write_text("input x[4096] f32\ny[i:4096] f32 = f32(f16(x[i] * 0.3)) + x[i] * 0\noutput y\n")
    for precision in ("f32", "f16"):
        run("run", path, "--no-cache", "--precision", precision, "--outputs", tmp_path / "out.npz", "--quiet")
        with np.load(tmp_path / "out.npz") as out:
            y = out["y"]
        assert np.array_equal(y, y.astype(np.float16).astype(np.float32)) and np.abs(y).max() > 0.1


def test_per_kernel():
    found = report("compare", DIGITS, "--per-kernel", "--no-cache", "--precision", "f16")
    assert found["within"] and found["precision"] == "f16"


def pixels_model(path):
    """Sums of products that stay far from the end of f16's range for inputs of about 1, and pass it for pixels."""
    random = np.random.default_rng(5)
    w1 = (np.abs(random.normal(0, 1, (256, 64))) * 8).astype(np.float32)
    w2 = random.normal(0, 1 / 64, (64, 64)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"]),
        helper.make_node("Abs", ["a"], ["c"]),  # Or else the two products would be one.
        helper.make_node("MatMul", ["c", "w2"], ["b"]),
        helper.make_node("Tanh", ["b"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info(*port) for port in (("x", 1, [64, 256]), ("y", 1, [64, 64]))]
    constants = [numpy_helper.from_array(w1, "w1"), numpy_helper.from_array(w2, "w2")]
    graph = helper.make_graph(nodes, "pixels", ports[:1], ports[1:], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    np.savez(path.with_suffix(".npz"), x=random.integers(0, 256, (64, 256)).astype(np.float32))
    return path, path.with_suffix(".npz")


def test_what_is_not_finite_is_said(tmp_path):
    path, pixels = pixels_model(tmp_path / "pixels.onnx")
    flags = ("--no-cache", "--precision", "f16", "--inputs", pixels)
    done = subprocess.run([PROGRAM, "run", path, *flags], **CAPTURED)
    assert done.returncode == 0 and re.search(r"output 'y': \d+ of 4096 elements are not finite; ", done.stderr)
    (note,) = report("run", path, *flags)["notes"]
    assert "--calibrate" in note and "bf16" in note
    assert "notes" not in report("run", path, "--no-cache", "--inputs", pixels)


def test_inputs_of_the_users_own_calibrate(tmp_path):
    path, pixels = pixels_model(tmp_path / "pixels.onnx")
    flags = ("--no-cache", "--precision", "f16", "--calibrate", pixels)
    assert "notes" not in report("run", path, *flags, "--inputs", pixels)
    assert report("compare", path, *flags, "--inputs", pixels)["within"]
    run("compile", path, "--precision", "f16", "--inputs", pixels, "-o", tmp_path / "pixels.kin", "--quiet")
    assert "notes" not in report("run", tmp_path / "pixels.kin", "--inputs", pixels)


SMALL = """
input x[i:64, k:64] f32
const w[j:64, k:64] f32 = weights("w")
{body}output y
"""
# An input past f16's range, whose copy for the product is divided; rows so large that 1 over their deviation is no
# number of f16; activations below f16's least ones. Each with how large its inputs are.
RANGES = {
    "input": (1e6, "t[i:64, j:64] f32 = sum<f32>[k:64] x[i, k] * w[j, k]\ny[i:64, j:64] f32 = tanh(t[i, j] * 1e-6)\n"),
    "deviation": (
        1e7,
        "m[i:64] f32 = sum<f32>[k:64] x[i, k] * x[i, k]\n"
        "d[i:64, z:1] f32 = 1 / sqrt(m[i] * 0.015625)\n"
        "n[i:64, k:64] f32 = x[i, k] * d[i, 0]\n"
        "y[i:64, j:64] f32 = sum<f32>[k:64] n[i, k] * w[j, k]\n",
    ),
    "activations": (
        1,
        "t[i:64, k:64] f32 = x[i, k] * 1e-7\n"
        "u[i:64, k:64] f32 = max(t[i, k], -1e-7)\n"
        "v[i:64, j:64] f32 = sum<f32>[k:64] u[i, k] * w[j, k]\n"
        "y[i:64, j:64] f32 = tanh(v[i, j] * 1e7)\n",
    ),
    "tiny inputs": (1e-7, "t[i:64, j:64] f32 = sum<f32>[k:64] x[i, k] * w[j, k]\ny[i:64, j:64] f32 = t[i, j] * 1e7\n"),
}


@pytest.mark.parametrize("name", RANGES)
def test_what_16_bits_can_not_hold_is_scaled_or_stays(tmp_path, level, name):
    size, body = RANGES[name]
    path, feeds = tmp_path / "ranges.te", tmp_path / "ranges.npz"
    path.write_text(SMALL.format(body=body))
    np.savez(feeds, x=(np.random.default_rng(7).standard_normal((64, 64)) * size).astype(np.float32))
    (output,) = compare(path, "f16", "--cpu-level", level, "--inputs", feeds, "--calibrate", feeds)
    assert output["max_rel"] < 0.01, output


def test_what_is_not_finite_says_nothing_of_the_rest(tmp_path):
    """One NaN among the inputs of a trial; and inputs on which nothing is finite, which is told."""
    path, pixels = pixels_model(tmp_path / "pixels.onnx")
    with np.load(pixels) as arrays:
        x = arrays["x"]
    x[3, 5] = np.nan
    np.savez(tmp_path / "nan.npz", x=x)
    flags = ("--no-cache", "--precision", "f16", "--inputs", pixels)
    assert report("compare", path, *flags, "--calibrate", tmp_path / "nan.npz")["within"]
    np.savez(tmp_path / "nan.npz", x=np.full_like(x, np.nan))
    artifact = tmp_path / "pixels.kin"
    for more, told in ([], "had no finite number"), (["--max-error", 0.01], "'y' are not finite on the inputs"):
        flags = ("--precision", "f16", "--calibrate", tmp_path / "nan.npz", *more)
        assert any(told in note for note in report("compile", path, "-o", artifact, *flags)["notes"])


def test_inputs_that_calibrate_keep_to_what_is_checked(tmp_path):
    feeds = tmp_path / "rows.npz"
    table = helper.make_tensor_value_info("table", 1, [50, 8])
    ids, y = helper.make_tensor_value_info("ids", 7, [4]), helper.make_tensor_value_info("y", 1, [4, 8])
    path = tmp_path / "rows.onnx"
    graph = helper.make_graph([helper.make_node("Gather", ["table", "ids"], ["y"], "rows")], "rows", [table, ids], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    np.savez(feeds, table=np.ones((50, 8), np.float32), ids=np.array([1, 2, 3, 10**12]))
    for flags in (["--precision", "f16"], ["--precision", "bf16", "--max-error", 0.1]):
        command = [PROGRAM, "compile", path, "-o", tmp_path / "rows.kin", "--calibrate", feeds, *map(str, flags)]
        done = subprocess.run(command, **CAPTURED)
        assert done.returncode == 3 and "its index 1000000000000 is outside of -50 to 49" in done.stderr, done.stderr


def test_calibration_is_part_of_what_the_cache_keeps_a_model_under(tmp_path, monkeypatch):
    path, pixels = pixels_model(tmp_path / "pixels.onnx")
    monkeypatch.setenv("KINTSUGI_CACHE", str(tmp_path / "cache"))

    def compiled():
        return report("run", path, "--precision", "f16", "--calibrate", pixels) and report("cache", "ls")["entries"]

    first = len(compiled())
    assert len(compiled()) == first
    np.savez(pixels, x=np.ones((64, 256), np.float32))
    assert len(compiled()) > first


def test_checks_are_made_on_other_inputs_than_choices(tmp_path):
    """With feeds of another seed, four times as large as those that `compare` makes up."""
    for model in ("fsrcnn", "mmoe"):
        path = ROOT / "zoo" / f"{model}.onnx"
        feeds = materialize.inputs(onnx.load(path, load_external_data=False), " again", 4)
        np.savez(tmp_path / "feeds.npz", **feeds)
        flags = ("--random-weights", "--no-cache", "--precision", "f16", "--inputs", tmp_path / "feeds.npz")
        assert report("compare", path, *flags)["within"]


def test_python_warns_of_what_is_not_finite(tmp_path):
    path, pixels = pixels_model(tmp_path / "pixels.onnx")
    with np.load(pixels) as file:
        feeds = dict(file)
    session = kintsugi.InferenceSession(path, precision="f16", cache=False)
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="output 'y': .* of 4096 elements are not finite"):
            session.run(None, feeds)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kintsugi.InferenceSession(path, cache=False).run(None, feeds)
