"""Compiling for a GPU, for which there need not be one: what is chosen, explained and refused."""

import json
import os
import re

import pytest
from program import MODEL, ROOT


@pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="there is a GPU")
def test_cuda_is_compiled_and_explained_without_a_device(folder, kintsugi):
    path = folder / "gpu.kin"
    assert kintsugi("compile", MODEL, "--target", "cuda", "-o", path, "--quiet") == (0, "", "")
    for model, flags in ((MODEL, ("--target", "cuda")), (path, ())):
        code, out, errors = kintsugi("explain", model, *flags, "--json")
        assert (code, errors) == (0, "")
        found = json.loads(out)
        assert found["target"] == "cuda" and found["predicted_ms"] > 0 and found["measured_ms"] is None
        assert "nothing is measured" in found["notes"][0]
        assert all(kernel["predicted_ms"] > 0 and kernel["measured_ms"] is None for kernel in found["kernels"])
        code, out, errors = kintsugi("explain", model, *flags)
        assert code == 0 and "not measured" in out and "nothing is measured" in errors
        code, out, errors = kintsugi("profile", model, *flags)
        assert (code, out) == (5, "") and "there is no NVIDIA driver" in errors


def test_what_a_gpu_lacks_is_told_of_the_node(folder, kintsugi):
    model = folder / "remainder.te"
    model.write_text('input x[i:64] f32\ny[i:64] f32 = rem(x[i], 3)  @"rest"\noutput y\n')
    code, _, errors = kintsugi("compile", model, "--target", "cuda", "-o", folder / "remainder.kin")
    assert code == 3 and "node 'rest': it computes 'fmod', for which --target cuda has no code yet" in errors


THRESHOLD = """input q[8, 512, 64] f16
input k[8, 512, 64] f16
input v[8, 512, 64] f16
s[h:8, i:512, j:512] f32 = sum<f32>[c:64] f32(q[h, i, c]) * f32(k[h, j, c])
x[h:8, i:512, j:512] f32 = cases { 0 < s[h, i, j]: s[h, i, j] * 0.125; else: -inf }
(m[h:8, i:512] f32, z[h:8, i:512] f32) = softmax_stats<f32>[j:512] x[h, i, j]
w[h:8, i:512, j:512] f16 = stored f16(exp(x[h, i, j] - m[h, i]))
o[h:8, i:512, d:64] f32 = sum<f32>[j:512] f32(w[h, i, j]) * f32(v[h, j, d])
y[h:8, i:512, d:64] f32 = o[h, i, d] / z[h, i]
output y
"""


def test_scores_may_hide_themselves(folder, kintsugi):
    model, text = folder / "threshold.te", folder / "threshold.ptx"
    model.write_text(THRESHOLD)
    flags = ("--target", "cuda", "--precision", "f16", "--emit", "asm", "-o", text, "--quiet")
    assert kintsugi("compile", model, *flags) == (0, "", "")
    assert ".visible .entry" in text.read_text()


@pytest.mark.parametrize("model", ["dlrm", "resnet18", "fsrcnn"])
def test_a_gpu_gets_what_its_cost_model_calls_quicker(kintsugi, report, model):
    """And explain tells of what ships."""
    path = ROOT / "zoo" / f"{model}.onnx"
    flags = ["--random-weights", "--target", "cuda", "--precision", "f16"]

    def objective(*more):
        code, plan, errors = kintsugi("compile", path, "--emit", "plan", *flags, *more)
        assert code == 0, errors
        return float(re.search("objective ([^ ]*)", plan)[1])

    found = report("explain", path, *flags, "--no-cache", "--json")
    records = found["decisions"]["records"]
    turned = [each for each in records if each["phase"] == "formats" and "stored in the order" in each["decision"]]
    (choice,) = (record for record in records if record["phase"] == "forms")
    seconds = {name: number["value"] for name, number in choice["numbers"].items()}
    if choice["decision"] != "of parts":  # Those may have formats or not.
        assert bool(turned) == ("row-major" not in choice["decision"])
    assert seconds[choice["decision"]] == min(seconds.values())
    assert objective() == pytest.approx(min(seconds.values()))
    seconds.pop("of parts", None)
    assert objective("--disable", "alternatives") == pytest.approx(min(seconds.values()))
    assert objective("--disable", "alternatives,formats") == pytest.approx(seconds["as rules choose, row-major"])
