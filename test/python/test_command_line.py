"""The reports that docs/command-line.md promises to scripts, from the program itself on the demo's network."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from program import MODEL, ROOT


def test_compile(folder, report):
    found = report("compile", MODEL, "-o", folder / "again.kin", "--json", "--plan", "separate")
    assert found["target"] == "cpu" and found["precision"] == "f32" and found["operators"] == 13
    assert found["launches"] == found["kernels"] >= found["distinct_kernels"] >= 1
    assert found["definitions"] >= found["kernels"] and found["candidates"] >= found["kernels"]
    phases = ["import", "simplify", "derive", "formats", "orchestrate", "link"]
    assert [phase["phase"] for phase in found["phases"]] == phases
    assert found["compile_s"] >= sum(phase["seconds"] for phase in found["phases"])
    assert found["objective_seconds"] > 0 and found["gap"] >= 0 and found["arena_bytes"] > 0
    assert found["exactness"]["probabilities"]["coarsest"] == "f32"
    assert [note for note in found["notes"] if "assumed" not in note] == []


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
    assert "needed_values" not in found


def test_inspect_names_inputs_whose_value_is_needed(kintsugi, report, folder):
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6]), helper.make_tensor_value_info("to", TensorProto.INT64, [2])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph([helper.make_node("Reshape", ["x", "to"], ["y"])], "graph", ports, outputs)
    path = folder / "reshape.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    assert report("inspect", path, "--json")["open_dimensions"] == ["n"]
    found = report("inspect", path, "--dim", "n=2", "--json")
    assert found["needed_values"] == ["to"] and found["inputs"][0]["shape"] == [2, 6] and "definitions" not in found
    code, out, _ = kintsugi("inspect", path, "--dim", "n=2")
    assert code == 0 and "the value of 'to' must be known when compiling: give it with --bind to=FILE.npz" in out
    np.savez(folder / "to.npz", to=np.array([3, 4]))
    assert report("inspect", path, "--dim", "n=2", "--bind", f"to={folder / 'to.npz'}", "--json")["definitions"] > 0


def save_open(path):
    """y = x @ w, of N rows, and as many times two."""
    kinds = [("x", ["N", 6]), ("y", ["N", 2]), ("flat", None)]
    x, *outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in kinds]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Reshape", ["y", "all"], ["flat"])]
    constants = {"w": np.arange(12, dtype=np.float32).reshape(6, 2), "all": np.array([-1])}
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "graph", [x], outputs, tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


def test_inspect_takes_ranges_and_knows_its_dimensions(kintsugi, report, folder):
    path = save_open(folder / "open.onnx")
    found = report("inspect", path, "--dim", "N=1..8", "--json")
    assert [port["shape"] for port in found["inputs"] + found["outputs"]] == [["1..8", 6], ["1..8", 2], ["2..16"]]
    assert "x  f32[1..8, 6]" in kintsugi("inspect", path, "--dim", "N=1..8")[1]
    code, _, errors = kintsugi("inspect", path, "--dim", "M=8")
    assert code == 2 and "--dim M: the model has no open dimension of that name; its open dimensions: N" in errors


def test_feeds_give_open_dimensions_their_sizes(kintsugi, report, folder):
    path, feeds = save_open(folder / "sized.onnx"), folder / "five.npz"
    np.savez(feeds, x=np.ones((5, 6), np.float32))
    shapes = [port["shape"] for port in report("run", path, "--inputs", feeds, "--json")["outputs"]]
    assert shapes == [[5, 2], [10]]
    for verb in (["compare"], ["compare", "--per-kernel"], ["bench", "--seconds", 0], ["profile", "--seconds", 0]):
        assert kintsugi(*verb, path, "--inputs", feeds, "--quiet")[::2] == (0, "")
    code, _, errors = kintsugi("run", path, "--inputs", feeds, "--dim", "N=4")
    assert code == 3 and "array 'x' is f32[5, 6]" in errors


def test_feeds_that_disagree_on_a_size(kintsugi, folder):
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N"]) for name in ("x", "y", "z")]
    graph = helper.make_graph([helper.make_node("Add", ["x", "y"], ["z"])], "graph", ports[:2], ports[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, folder / "add.onnx")
    np.savez(folder / "two.npz", x=np.ones(3, np.float32), y=np.ones(1, np.float32))
    code, _, errors = kintsugi("run", folder / "add.onnx", "--inputs", folder / "two.npz")
    assert code == 3 and "dimension 'N' is 3 (axis 0 of 'x') and 1 (axis 0 of 'y'); it has one size" in errors


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
    solved = [record["numbers"] for record in records if record["phase"] == "orchestrate"]
    solved = [numbers for numbers in solved if "gap" in numbers]
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
        code, _, errors = kintsugi("explain", subject, "--cpu-level", "v4")
        assert code == 0 and (native == "x86-64-v4") == ("nothing is measured" not in errors), errors
    assert report("run", MODEL, "--cpu-level", "native", "--json")["level"] == native
    assert artifact.stat().st_size < lesser.stat().st_size + greater.stat().st_size
