"""The reports that docs/command-line.md promises to scripts, from the program itself on the demo's network."""

import json
import os
import pathlib
import re
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("KINTSUGI", str(ROOT / "build/bin/kintsugi"))
MODEL = ROOT / "examples/digits/digits.onnx"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("command_line")


@pytest.fixture(scope="module")
def kintsugi(folder):
    """Runs the program with a cache of its own; gives (exit code, output, errors)."""

    def run(*arguments):
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=300,
            env=os.environ | {"KINTSUGI_CACHE": str(folder / "cache")},
        )
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture(scope="module")
def report(kintsugi):
    def run(*arguments):
        code, out, errors = kintsugi(*arguments)
        assert (code, errors) == (0, "")
        return json.loads(out)

    return run


@pytest.fixture(scope="module")
def artifact(folder, report):
    path = folder / "digits.kin"
    found = report("compile", MODEL, "-o", path, "--json")
    assert found["artifact"] == str(path) and path.stat().st_size > found["constant_bytes"] > 0
    return path


def test_compile(folder, report):
    found = report("compile", MODEL, "-o", folder / "again.kin", "--json", "--plan", "separate")
    assert found["target"] == "cpu" and found["precision"] == "f32" and found["operators"] == 13
    assert found["launches"] == found["kernels"] >= found["distinct_kernels"] >= 1
    assert found["definitions"] >= found["kernels"] and found["candidates"] >= found["kernels"]
    assert [phase["phase"] for phase in found["phases"]] == ["import", "simplify", "derive", "formats", "orchestrate", "link"]
    assert found["compile_s"] >= sum(phase["seconds"] for phase in found["phases"])
    assert found["objective_seconds"] > 0 and found["gap"] >= 0 and found["arena_bytes"] > 0
    assert found["exactness"]["probabilities"]["coarsest"] == "f32"
    assert [note for note in found["notes"] if "assumed" not in note] == []


def test_what_is_assumed_to_be_finite_is_told(folder, report, kintsugi):
    """NaN in a value that a mask hides does not reach the output: by design, but the user has to know."""
    model = folder / "assumed.te"
    model.write_text(MASKED_ATTENTION.format(open="i32{c} <= i32{i}", low="-inf"))
    artifact = folder / "assumed.kin"
    (note,) = report("compile", model, "-o", artifact, "--json")["notes"]
    assert note == (
        "values are assumed to be finite: what masks hide (1); --disable skip-masked-blocks computes them as written"
    )
    found = report("explain", model, "--json", "--no-cache")["decisions"]["records"]
    assert [record["decision"] for record in found if "assumed" in record["decision"]] == [note]
    assert report("compile", model, "-o", artifact, "--json", "--disable", "mask-blocks,skip-masked-blocks")["notes"] == []
    code, _, errors = kintsugi("compile", model, "-o", artifact)
    assert code == 0 and errors == f"kintsugi: {note}\n"
    assert kintsugi("compile", model, "-o", artifact, "--quiet") == (0, "", "")


def test_derived_expressions_are_a_model_too(folder, report, kintsugi):
    model, derived = folder / "plain.te", folder / "derived.te"
    model.write_text("input a[u:65536, z:8] f32\nr[z:8] f32 = max[u:65536] a[u, z] + 1\noutput r\n")
    assert kintsugi("compile", model, "--target", "cuda", "--emit", "derived", "-o", derived)[0] == 0
    plain = kintsugi("compile", model, "--target", "cuda", "--emit", "expressions")[1]
    assert derived.read_text().count("max<f32>") == 2 > plain.count("max<f32>")
    feeds = {"a": np.random.default_rng(5).standard_normal((65536, 8)).astype(np.float32)}
    np.savez(folder / "derived.in.npz", **feeds)
    for path in (model, derived):
        report("run", path, "--inputs", folder / "derived.in.npz", "--outputs", folder / "derived.out.npz", "--json")
        np.testing.assert_array_equal(np.load(folder / "derived.out.npz")["r"], feeds["a"].max(axis=0) + 1)


@pytest.mark.parametrize("rows, terms", [(0, 4), (5, 0), (0, 0)])
def test_dimensions_without_elements(folder, kintsugi, rows, terms):
    model, outputs = folder / "nothing.te", folder / "nothing.npz"
    model.write_text(
        f"input x[i:{rows}, k:{terms}] f32\ninput w[j:7, k:{terms}] f32\ninput b[j:7] f32\n"
        f"t[i:{rows}, j:7] f32 = sum<f32>[k:{terms}] x[i, k] * w[j, k]\n"
        f"y[i:{rows}, j:7] f32 = max(t[i, j] + b[j], 0)\noutput y\n"
    )
    for more in ([], ["--plan", "separate"], ["--precision", "f16"]):
        assert kintsugi("run", model, "--outputs", outputs, "--quiet", *more)[0] == 0
        assert np.load(outputs)["y"].shape == (rows, 7)


def test_functions_reach_their_limits(folder, kintsugi, level):
    """Of Gelu: what is left of 1 + erf(x) far below zero is multiplied by x."""
    model, feeds, outputs = folder / "limits.te", folder / "limits.in.npz", folder / "limits.npz"
    model.write_text(
        "input x[i:40] f32\ne[i:40] f32 = x[i] * (1 + erf(x[i]))\nt[i:40] f32 = x[i] * (1 + tanh(x[i]))\n"
        "output e\noutput t\n"
    )
    x = np.repeat(np.float32([-1e30, -200, -10, -np.inf]), 10)
    np.savez(feeds, x=x)
    assert kintsugi("run", model, "--inputs", feeds, "--outputs", outputs, "--quiet", "--cpu-level", level)[0] == 0
    for name in "et":
        result = np.load(outputs)[name]
        assert (result[:30] == 0).all() and np.isnan(result[30:]).all(), result


def test_what_a_gpu_lacks_is_told_of_the_node(folder, kintsugi):
    model = folder / "acos.te"
    model.write_text('input x[i:64] f32\ny[i:64] f32 = acos(x[i])  @"angle"\noutput y\n')
    code, _, errors = kintsugi("compile", model, "--target", "cuda", "-o", folder / "acos.kin")
    assert code == 3 and "node 'angle': it computes 'acos', for which --target cuda has no code yet" in errors


def test_constants_of_derived_expressions_are_named(folder, kintsugi):
    model, derived = folder / "masked.te", folder / "masked.derived.te"
    model.write_text(MASKED_ATTENTION.format(open="i32{c} <= i32{i}", low="-inf"))
    assert kintsugi("compile", model, "--emit", "derived", "-o", derived)[0] == 0
    assert "mask.column[" in derived.read_text()
    code, _, errors = kintsugi("compile", derived, "-o", folder / "masked.kin")
    assert code == 3 and "are not part of the text; compile the model they come from" in errors


def test_bounded_values_need_no_assumption(folder, report):
    """Facts prove that what is made of integers by tanh is finite."""
    model = folder / "bounded.te"
    text = MASKED_ATTENTION.format(open="i32{c} <= i32{i}", low="-inf")
    for name in "qkv":
        text = re.sub(rf"input {name}(.*) f32", rf"input {name}0\1 i32", text)
    made = "".join(f"{n}[h:4, r:256, d:32] f32 = tanh(f32({n}0[h, r, d]))\n" for n in "qkv")
    text = text.replace("s[h:4, i:256, c:256] f32 = ", made + "s[h:4, i:256, c:256] f32 = ", 1)
    model.write_text(text)
    assert report("compile", model, "-o", folder / "bounded.kin", "--json")["notes"] == []
    records = report("explain", model, "--json", "--no-cache")["decisions"]["records"]
    assert any(record["subject"] == "mask of 'x'" for record in records)


def test_equal_compilations_give_equal_bytes(folder, kintsugi, artifact):
    other = folder / "other.kin"
    assert kintsugi("compile", MODEL, "-o", other, "--threads", 1, "--quiet") == (0, "", "")
    assert other.read_bytes() == artifact.read_bytes()


def test_run(folder, report, artifact):
    with np.load(ROOT / "examples/digits/held_out.npz") as held:
        images = held["images"]
    np.savez(folder / "feeds.npz", images=images)
    arguments = ("--inputs", folder / "feeds.npz", "--outputs", folder / "out.npz", "--json")
    (output,) = report("run", artifact, *arguments)["outputs"]
    with np.load(folder / "out.npz") as outputs:
        assert outputs.files == ["probabilities"]
        values = outputs["probabilities"]
    assert output["name"] == "probabilities" and output["type"] == "f32"
    assert output["shape"] == list(values.shape) == [len(images), 10]
    assert output["values"]["max"] == values.max() and output["values"]["finite"] == values.size
    assert np.allclose(values.sum(1), 1, atol=1e-5)


def test_run_gives_the_same_bits_from_model_and_artifact(folder, kintsugi, artifact):
    for model, name in ((MODEL, "model.npz"), (artifact, "artifact.npz")):
        assert kintsugi("run", model, "--outputs", folder / name, "--quiet")[0] == 0
    with np.load(folder / "model.npz") as ours, np.load(folder / "artifact.npz") as theirs:
        assert ours["probabilities"].tobytes() == theirs["probabilities"].tobytes()


def test_bench(folder, kintsugi, artifact):
    for model in (artifact, MODEL):
        path = folder / "bench.json"
        assert kintsugi("bench", model, "--threads", 1, "--seconds", 0.1, "--json", path)[0] == 0
        found = json.loads(path.read_text())
        assert 0 < found["min_ms"] <= found["median_ms"] <= found["p99_ms"] and found["runs"] >= 3
        assert found["kernels"] >= 1 and found["constant_bytes"] > 0 and found["arena_bytes"] > 0
        assert found["machine"]["cores"] >= 1 and found["threads"] == 1 and found["predicted_ms"] > 0
        assert found["compile_s"] is None if model is artifact else found["compile_s"] > 0


def slices(trace, category):
    """By track, in order: (begin, end, name) in whole nanoseconds."""
    found = {}
    for event in trace["traceEvents"]:
        assert event["ph"] in "MX" and isinstance(event["tid"], int) and isinstance(event["pid"], int)
        if event["ph"] == "X" and event["cat"] == category:
            begin = round(event["ts"] * 1000)
            found.setdefault(event["tid"], []).append((begin, begin + round(event["dur"] * 1000), event["name"]))
    return {track: sorted(spans) for track, spans in found.items()}


def test_profile(folder, kintsugi, report, artifact):
    nodes = {node for kernel in report("explain", MODEL, "--json")["kernels"] for node in kernel["nodes"]}
    for model in (artifact, MODEL):
        path, trace = folder / "profile.json", folder / "trace.json"
        code, text, errors = kintsugi("profile", model, "--seconds", 0.2, "--json", path, "--trace", trace)
        assert (code, errors) == (0, "")
        found = json.loads(path.read_text())
        assert found["clock"] == "host" and found["profiled_runs"] >= 5 and found["runs"] >= 3
        stages = found["stages"]
        assert sorted(stage["stage"] for stage in stages) == list(range(len(stages)))
        assert [stage["measured_ms"] for stage in stages] == sorted((s["measured_ms"] for s in stages), reverse=True)
        assert sum(stage["share"] for stage in stages) == pytest.approx(1)
        assert all(stage["launches"] == 1 and stage["predicted_ms"] > 0 and stage["gb_per_s"] > 0 for stage in stages)
        assert max(stage["gflop_per_s"] or 0 for stage in stages) > 0.1
        assert {node["node"] for node in found["nodes"]} == nodes
        total = sum(stage["measured_ms"] for stage in stages)
        assert sum(node["measured_ms"] for node in found["nodes"]) == pytest.approx(total)
        assert found["stages_ms"] == pytest.approx(total)
        assert 0.2 * found["min_ms"] < total < 5 * found["p99_ms"]  # The machine may be busy.
        assert all(node in text for node in nodes) and all(f" {stage['name']} " in text for stage in stages)
        events = json.loads(trace.read_text())
        assert any(event["ph"] == "M" and event["name"] == "process_name" for event in events["traceEvents"])
        outer, inner = slices(events, "stage"), slices(events, "node")
        assert sum(map(len, outer.values())) == len(stages) and inner
        for track, spans in outer.items():
            assert all(before[1] <= after[0] for before, after in zip(spans, spans[1:]))
            for begin, end, name in inner[track]:
                assert name in nodes and any(b <= begin and end <= e for b, e, _ in spans)


def test_profile_says_what_is_wrong(folder, kintsugi, artifact):
    def error(*arguments):
        code, out, errors = kintsugi("profile", *arguments)
        assert out == "" and errors.startswith("kintsugi: ")
        return code, errors

    assert error(artifact, "--seconds", -1) == (2, "kintsugi: --seconds must be from 0 to 86400\n")
    code, errors = error(artifact, "--trace", artifact)
    assert code == 2 and "is the model itself" in errors
    code, errors = error(artifact, "--trace", folder / "x.json", "--json", folder / "x.json")
    assert code == 2 and "name another file for the trace" in errors
    code, errors = error(artifact, "--trace", folder / "no/such/trace.json", "--seconds", 0)
    assert code == 2 and "trace.json" in errors
    code, errors = error(folder / "missing.onnx")
    assert code == 3 and "missing.onnx" in errors


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


def test_compare(folder, kintsugi, report, artifact):
    found = report("compare", MODEL, "--json")
    (output,) = found["outputs"]
    assert found["within"] and found["against"] == "reference"
    assert 0 <= output["max_rel"] <= output["allowed"] and output["cosine"] == pytest.approx(1)
    assert kintsugi("run", artifact, "--outputs", folder / "right.npz")[0] == 0
    found = report("compare", artifact, "--expected", folder / "right.npz", "--json")
    assert found["outputs"][0]["max_abs"] == found["outputs"][0]["ulps"] == 0
    assert found["outputs"][0]["allowed"] == pytest.approx(2 * 6e-7 * output["depth"] ** 0.25)
    with np.load(folder / "right.npz") as right:
        wrong = right["probabilities"].copy()
    wrong[3, 4] += 0.25
    np.savez(folder / "wrong.npz", probabilities=wrong)
    code, out, errors = kintsugi("compare", artifact, "--expected", folder / "wrong.npz", "--json")
    assert code == 1 and errors.startswith("kintsugi: outputs differ by more than the error policy allows")
    (output,) = json.loads(out)["outputs"]
    assert not output["within"] and output["max_abs"] == pytest.approx(0.25) and output["worst_element"] == 34


def test_compare_per_kernel(kintsugi, report, artifact):
    found = report("compare", MODEL, "--per-kernel", "--json")
    kernels = found["kernels"]
    assert found["within"] and len(kernels) == len(report("explain", MODEL, "--json")["kernels"])
    for kernel in kernels:
        assert 0 <= kernel["max_rel"] <= kernel["allowed"] and kernel["nodes"] and kernel["outputs"]
    code, out, _ = kintsugi("compare", MODEL, "--per-kernel")
    assert code == 0 and out.count("  ok\n") == len(kernels) and kernels[0]["name"] in out
    code, _, errors = kintsugi("compare", artifact, "--per-kernel")
    assert code == 2 and "give --per-kernel the model itself" in errors
    assert kintsugi("compare", MODEL, "--per-kernel", "--expected", "right.npz")[0] == 2


def test_inspect(report):
    found = report("inspect", MODEL, "--json")
    assert [port["name"] for port in found["inputs"] + found["outputs"]] == ["images", "probabilities"]
    assert sum(use["count"] for use in found["operators"]) == 13
    assert found["unsupported"] == [] and found["open_dimensions"] == [] and found["opsets"]["ai.onnx"] > 0
    assert found["arithmetic"] > 2 * 449 * (16 * 9 + 32 * 16 * 9) * 64
    assert found["input_bytes"] == 449 * 64 * 4 and found["output_bytes"] == 449 * 10 * 4


def test_explain(report, artifact):
    found = report("explain", artifact, "--json")
    nodes = [node for kernel in found["kernels"] for node in kernel["nodes"]]
    assert len(set(nodes)) == 13 and found["operators"] == 13
    for kernel in found["kernels"]:
        assert kernel["kind"] == "generated" and kernel["launches"] == 1 and kernel["tiles"] >= 1
        assert kernel["bytes"] > 0 and kernel["predicted_ms"] > 0 and kernel["measured_ms"] > 0
        assert kernel["expressions"].count("=") >= 1
    assert found["decisions"] is None


def test_explain_says_why(report, kintsugi):
    """The same decisions whether the model is compiled now or found in the cache, and in the text what matters."""
    decisions = report("explain", MODEL, "--json", "--no-cache")["decisions"]
    assert report("explain", MODEL, "--json")["decisions"] == decisions
    assert report("explain", MODEL, "--json")["decisions"] == decisions
    records, summary = decisions["records"], decisions["summary"]
    assert sum(kind["count"] for kind in summary) == len(records)
    stages = [record for record in records if record["subject"].startswith("stage ")]
    served = {reason for stage in stages for reason in stage["reasons"] if reason.startswith("serves ")}
    assert len(served) == 13
    solved = [record["numbers"] for record in records if record["phase"] == "orchestrate" and "gap" in record["numbers"]]
    assert solved and all(0 < numbers["bound"]["value"] <= numbers["objective"]["value"] for numbers in solved)
    text = kintsugi("explain", MODEL)[1]
    assert "orchestrate:" in text and ", gap 0" in text and "--decisions" in text
    whole = kintsugi("explain", MODEL, "--decisions")[1]
    assert all(f"  {record['subject']}: {record['decision']}\n" in whole for record in records)


def test_explain_of_an_artifact_has_no_decisions(kintsugi, artifact):
    code, out, errors = kintsugi("explain", artifact)
    assert (code, errors) == (0, "") and "An artifact does not say what was decided" in out


def test_explain_takes_no_flag_without_effect(kintsugi):
    code, out, errors = kintsugi("explain", MODEL, "--decisions", "--json")
    assert (code, out) == (2, "") and "--decisions" in errors


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("run", "probabilities  f32[449,10]  min"),
        ("compare", "max rel"),
        ("inspect", "input   images  f32[449, 1, 8, 8]"),
        ("explain", "13 operators became"),
        ("doctor", "vector registers of"),
        ("cache", "files of"),
    ],
)
def test_text_for_people_and_json_for_programs(kintsugi, report, verb, words):
    subject = {"doctor": [], "cache": ["ls"]}.get(verb, [MODEL])
    code, out, errors = kintsugi(verb, *subject)
    assert (code, errors) == (0, "") and words in out
    with pytest.raises(json.JSONDecodeError):
        json.loads(out)
    assert isinstance(report(verb, *subject, "--json"), dict)


def test_doctor(report):
    found = report("doctor", "--json")
    assert found["cores"] >= 1 and found["vectorBits"] in (128, 256, 512)
    assert found["levels"][0]["name"] == "memory" and found["levels"][-1]["bytes"] < found["levels"][0]["bytes"]


def test_doctor_measures_and_forgets(folder, kintsugi, report):
    """What was measured is in use until it is forgotten, cleared or damaged."""
    assumed = report("doctor", "--json")
    assert assumed["measured"] is None and assumed["assumed"]["flopsPerSecond"] == assumed["flopsPerSecond"]

    def measure():
        code, out, errors = kintsugi("doctor", "--measure", "--json")
        if code == 5 and "when the machine is quiet" in errors:
            pytest.skip("the machine is busy")
        assert (code, errors) == (0, "")
        return json.loads(out)

    found = measure()
    level = found["measured"]["levels"][0]
    assert found["assumed"] == assumed["assumed"] and level["level"] == found["level"]
    assert found["flopsPerSecond"] == level["flopsAll"] and found["stageSeconds"] == found["measured"]["stageSeconds"]
    assert found["levels"][0]["bytesPerSecond"] == level["memory"][0]["readOne"]
    assert report("doctor", "--json") == found
    bench = kintsugi("bench", MODEL, "--seconds", 0, "--json", folder / "bench.json")
    assert bench[0] == 0 and json.loads((folder / "bench.json").read_text())["machine"] == found
    assert "doctor --forget" in kintsugi("doctor")[1]
    assert report("doctor", "--forget", "--json") == assumed == report("doctor", "--json")

    measure()
    (kept,) = [path for path in (folder / "cache").rglob("*") if path.is_file() and b"wakeSeconds" in path.read_bytes()]
    kept.write_bytes(kept.read_bytes().replace(b"wakeSeconds", b"wokeSeconds"))
    assert report("doctor", "--json") == assumed
    measure()
    report("cache", "clear", "--json")
    assert report("doctor", "--json") == assumed
    assert kintsugi("doctor", "--measure", "--forget")[0] == 2


def test_cache(folder, report):
    found = report("cache", "ls", "--json")
    assert found["folder"] == str(folder / "cache")
    assert found["bytes"] == sum(entry["bytes"] for entry in found["entries"])
    found = report("cache", "clear", "--json")
    assert found["entries"] == [] and found["bytes"] == 0


def test_levels(folder, kintsugi, report, artifact):
    """One artifact has code for AVX2 and AVX-512, and picks when it is loaded; each can be asked for."""
    native = report("doctor", "--json")["level"]
    both = report("explain", artifact, "--json")
    assert both["levels"] == ["x86-64-v4", "x86-64-v3"] and both["level"] == native
    assert report("run", artifact, "--cpu-level", "v3", "--json")["level"] == "x86-64-v3"
    lesser = folder / "v3.kin"
    assert report("compile", MODEL, "-o", lesser, "--cpu-level", "v3", "--json")["levels"] == ["x86-64-v3"]
    assert report("run", lesser, "--json")["levels"] == ["x86-64-v3"]
    code, _, errors = kintsugi("run", lesser, "--cpu-level", "v4")
    assert code == 2 and "has no code for x86-64-v4; it has code for x86-64-v3" in errors
    greater = folder / "v4.kin"
    assert report("compile", MODEL, "-o", greater, "--cpu-level", "v4", "--json")["levels"] == ["x86-64-v4"]
    for subject in [greater, artifact, MODEL]:
        code, _, errors = kintsugi("run", subject, "--cpu-level", "v4")
        assert code == (0 if native == "x86-64-v4" else 5), errors
    assert report("run", MODEL, "--cpu-level", "native", "--json")["level"] == native
    assert artifact.stat().st_size < lesser.stat().st_size + greater.stat().st_size


@pytest.mark.parametrize("model", ["resnet18", "shufflenet_v2", "mmoe", "segformer_b0"])
def test_answers_do_not_depend_on_the_level(folder, kintsugi, report, model):
    """Metamorphic: AVX2 and AVX-512 code of one artifact say the same, within the error policy."""
    if report("doctor", "--json")["level"] != "x86-64-v4":
        pytest.skip("this machine has no AVX-512")
    artifact, expected = folder / f"{model}.kin", folder / f"{model}.v4.npz"
    assert kintsugi("compile", ROOT / "zoo" / f"{model}.onnx", "--random-weights", "-o", artifact)[0] == 0
    assert kintsugi("run", artifact, "--cpu-level", "v4", "--outputs", expected)[0] == 0
    found = report("compare", artifact, "--cpu-level", "v3", "--expected", expected, "--json")
    assert found["within"] and all(output["max_rel"] <= output["allowed"] for output in found["outputs"])
    artifact.unlink()


@pytest.mark.parametrize("model", ["resnet18", "shufflenet_v2", "mmoe", "segformer_b0"])
def test_answers_do_not_depend_on_what_the_compiler_does_without(folder, kintsugi, level, model):
    """Metamorphic: fusion, formats, packing and copies change how a model runs, not what it says."""
    path = str(ROOT / "zoo" / f"{model}.onnx")

    def outputs(name, *flags):
        file = folder / f"{model}.{name}.npz"
        flags = ("--random-weights", "--no-cache", "--cpu-level", level, *flags)
        code, _, errors = kintsugi("run", path, "--outputs", file, *flags)
        assert code == 0, errors
        with np.load(file) as arrays:
            return {key: arrays[key] for key in arrays}

    expected = outputs("all")
    for ability in ["fission", "fusion", "formats", "packing", "staging", "winograd", "fusion,formats,packing,staging,winograd"]:
        for name, found in outputs(ability, "--disable", ability).items():
            largest = np.abs(expected[name]).max()
            # Of segformer_b0 the answers differ by up to 8e-6.
            assert np.abs(found - expected[name]).max() <= 2e-5 * largest, (ability, name)


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


@pytest.mark.parametrize("model", ["masked_encoder_causal_1024", "masked_encoder_bigbird_1024"])
def test_answers_do_not_depend_on_whether_masked_tiles_are_skipped(folder, kintsugi, level, model):
    path = str(ROOT / "zoo" / f"{model}.onnx")
    outputs = {}
    for name, flags in [("skipped", []), ("dense", ["--disable", "mask-blocks,skip-masked-blocks"])]:
        file = folder / f"{model}.{name}.npz"
        flags = ("--random-weights", "--no-cache", "--cpu-level", level, *flags)
        code, _, errors = kintsugi("run", path, "--outputs", file, *flags)
        assert code == 0, errors
        with np.load(file) as arrays:
            outputs[name] = {key: arrays[key] for key in arrays}
    for name, dense in outputs["dense"].items():
        skipped = outputs["skipped"][name]
        assert not np.array_equal(skipped, dense), "nothing was skipped"
        assert np.abs(skipped - dense).max() <= 1e-5 * np.abs(dense).max()


def stacked_lstm(path, layers, hidden, steps):
    """LSTM layers on each other, all of whose results are outputs, on random weights."""
    random = np.random.default_rng(3)
    nodes, weights, outputs, x = [], [], [], "x"
    for layer in range(layers):
        shapes = {"w": (1, 4 * hidden, hidden), "r": (1, 4 * hidden, hidden), "b": (1, 8 * hidden)}
        for name, shape in shapes.items():
            values = random.uniform(-0.2, 0.2, shape).astype(np.float32)
            weights.append(numpy_helper.from_array(values, f"{name}{layer}"))
        results = [f"y{layer}", f"h{layer}", f"c{layer}"]
        outputs += results
        nodes.append(helper.make_node("LSTM", [x, *(f"{name}{layer}" for name in shapes)], results, hidden_size=hidden))
        x = f"x{layer}"
        nodes.append(helper.make_node("Squeeze", [f"y{layer}", "axis"], [x]))
    weights.append(numpy_helper.from_array(np.array([1]), "axis"))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [steps, 1, hidden])
    graph = helper.make_graph(nodes[:-1], "lstm", [x], [onnx.ValueInfoProto(name=name) for name in outputs], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def test_layers_compute_the_same_bits_side_by_side_and_in_turn(folder, kintsugi, level):
    """Whether they run side by side is up to the machine's prices; on given ones they do in lanes_test.cpp."""
    model = folder / "lstm.onnx"
    stacked_lstm(model, layers=3, hidden=128, steps=43)
    outputs = {}
    for name, flags in [("all", []), ("without", ["--disable", "merge-scans"])]:
        file = folder / f"lstm.{name}.npz"
        flags = ["--no-cache", "--cpu-level", level, *flags]
        code, _, errors = kintsugi("run", model, "--outputs", file, *flags)
        assert code == 0, errors
        with np.load(file) as arrays:
            outputs[name] = {key: arrays[key] for key in arrays}
    assert len(outputs["all"]) == 9
    for name, expected in outputs["without"].items():
        assert np.array_equal(outputs["all"][name], expected), name


MASKED_ATTENTION = """
input q[h:4, i:256, d:32] f32
input k[h:4, c:256, d:32] f32
input v[h:4, c:256, d:32] f32
s[h:4, i:256, c:256] f32 = sum<f32>[d:32] q[h, i, d] * k[h, c, d]
x[h:4, i:256, c:256] f32 = cases {{ {open}: s[h, i, c]; else: {low} }}
m[h:4, i:256] f32 = max<f32>[c:256] x[h, i, c]
e[h:4, i:256, c:256] f32 = exp(x[h, i, c] - m[h, i])
t[h:4, i:256] f32 = sum<f32>[c:256] e[h, i, c]
p[h:4, i:256, c:256] f32 = e[h, i, c] / t[h, i]
w[h:4, i:256, c:256] f32 = cases {{ isnan(p[h, i, c]): 0; else: p[h, i, c] }}
o[h:4, i:256, d:32] f32 = sum<f32>[c:256] w[h, i, c] * v[h, c, d]
y[i:256, z:128] f32 = o[z // 32, i, z % 32]
output y
"""


@pytest.mark.parametrize(
    ("seen", "low"),
    [
        ("i32{c} <= i32{i}", "-inf"),
        ("i32{c // 32} == i32{i // 32}", "-3.4028235e+38"),
        # The first rows see nothing.
        ("i32{c + 40} <= i32{i}", "-inf"),
        ("i32{c + 40} <= i32{i}", "-3.4028235e+38"),
    ],
)
def test_masks_made_of_positions_are_skipped_and_right(folder, kintsugi, level, seen, low):
    """Against the reference target, which computes every element in f64."""
    file = folder / "masked.te"
    file.write_text(MASKED_ATTENTION.format(open=seen, low=low))
    code, out, errors = kintsugi("compare", file, "--no-cache", "--cpu-level", level)
    assert code == 0, out + errors
    code, out, errors = kintsugi("explain", file, "--no-cache", "--decisions")
    assert code == 0, errors
    assert re.search("mask of 'x': blocks of [0-9]+ rows and [0-9]+ columns", out), out
    code, out, errors = kintsugi("explain", file, "--no-cache", "--decisions", "--disable", "mask-blocks,skip-masked-blocks")
    assert code == 0 and "mask of" not in out


def test_processes_share_a_cache(tmp_path):
    """Several first runs at once: each may compile, one artifact stays, and all outputs are alike."""
    environment = os.environ | {"KINTSUGI_CACHE": str(tmp_path / "cache")}
    outputs = [tmp_path / f"{number}.npz" for number in range(5)]
    command = [PROGRAM, "run", str(MODEL), "--quiet", "--outputs"]
    runs = [subprocess.Popen([*command, str(path)], env=environment, stderr=subprocess.PIPE) for path in outputs]
    assert [(run.communicate(timeout=300)[1], run.returncode) for run in runs] == [(b"", 0)] * len(runs)
    assert len({path.read_bytes() for path in outputs}) == 1
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert len(files) == 2 and not any(path.name.startswith(".kintsugi") for path in files)
