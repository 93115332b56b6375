"""`kintsugi profile`: the time of each stage and node, the trace of a run, and what is said where there is none."""

import json

import pytest
from program import MODEL


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
