"""./dev bench fallback: where operators are put, what is timed, and what it takes to pass."""

import json
import types

import fallback
import fallback_models
import models
import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

pytest.importorskip("kintsugi", reason="the package is not built; ./dev build makes it")

TEXT = """<ir_version: 9, opset_import: ["" : 20]> g (float[4,8] x) => (float[4,8] y) {
  a = Relu(x)
  b = Neg(a)
  c = Exp(b)
  d = Tanh(c)
  y = Add(d, a)
}"""


@pytest.fixture
def path(tmp_path):
    onnx.save(onnx.parser.parse_model(TEXT), tmp_path / "small.onnx")
    return tmp_path / "small.onnx"


def quick_gelu(x):
    return x / (1 + np.exp(-1.702 * x))


def expected(x, places):
    x = quick_gelu(x) if "begin" in places else x
    a = np.maximum(x, 0)
    y = np.tanh(np.exp(-a)) + a
    return quick_gelu(y) if "end" in places else y


@pytest.mark.parametrize("places", [["begin"], ["end"], ["begin", "end"]])
def test_operators_are_where_they_are_asked_for(places, path, monkeypatch):
    monkeypatch.setattr(fallback_models, "missing", lambda: ["QuickGelu", "Gelu"])
    changed = fallback_models.with_missing(onnx.load(path), places)
    session = onnxruntime.InferenceSession(changed.SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.random.default_rng(0).standard_normal((4, 8), np.float32)
    (y,) = session.run(None, {"x": x})
    np.testing.assert_allclose(y, expected(x, places), rtol=1e-4, atol=1e-5)
    assert session.get_outputs()[0].name == "y"


def test_the_middle_is_inside(path, monkeypatch):
    monkeypatch.setattr(fallback_models, "missing", lambda: ["QuickGelu", "Gelu"])
    nodes = {node.op_type: node for node in fallback_models.with_missing(onnx.load(path), ["middle"]).graph.node}
    assert list(nodes["Gelu"].input) == ["b"] and list(nodes["Exp"].input) == list(nodes["Gelu"].output)


def test_there_has_to_be_something_missing(path, monkeypatch):
    monkeypatch.setattr(fallback_models, "missing", lambda: [])
    with pytest.raises(models.Failure, match="knows all operators"):
        fallback_models.with_missing(onnx.load(path), ["begin"])


def test_what_is_missing_is_what_the_compiler_does_not_list(monkeypatch):
    told = {"operators": [{"domain": "com.microsoft", "name": "FastGelu"}, {"domain": "", "name": "Gelu"}]}
    monkeypatch.setattr(models, "kintsugi", lambda *words: json.dumps(told))
    assert fallback_models.missing() == ["QuickGelu", "Gelu"]


def test_rows(path, monkeypatch):
    """Each place is timed, and what both give is compared. Environment variables that it sets are for what it starts."""
    monkeypatch.setenv("KINTSUGI_CACHE", "of the user's")
    options = types.SimpleNamespace(places=["begin", "all"], threads=1, rounds=2, seconds=0.01)
    rows = dict(fallback.rows(path, options))
    for place, count in (("begin", 1), ("all", 3)):
        row = rows[place]
        assert all(len(times) == 2 and min(times) > 0 for times in row["rounds"].values())
        assert row["ratio"] > 0 and row["difference"] < 1e-5 and row["parts"] >= 1
        assert sum(row["nodes"].values()) >= 5 + count
        assert f"{row['ratio']:.2f}" in fallback.line("small", row)


def answers(folder, name, **arrays):
    np.savez(folder / f"{name}.npz", **arrays)
    return types.SimpleNamespace(outputs=folder / f"{name}.npz")


def test_other_answers_fail(tmp_path):
    ours, theirs = (answers(tmp_path, name, y=np.float32([value])) for name, value in (("ours", 1.1), ("theirs", 1.0)))
    with pytest.raises(models.Failure, match="differs from ONNX Runtime by 1.0e-01"):
        fallback.check(ours, theirs, {"y": 1})
    assert fallback.check(ours, ours, {"y": 1}) == 0


@pytest.mark.parametrize(("row", "code"), [(dict(ratio=1.05), 0), (dict(ratio=1.2), 1), (dict(failed="no memory"), 1)])
def test_what_passes(row, code, tmp_path, monkeypatch, capsys):
    shown = dict(ms=dict(fallback=1.0, ort=1.0), nodes=dict(kintsugi=1, onnxruntime=1), parts=2, difference=0.0)
    monkeypatch.setattr(fallback, "rows", lambda path, options: [("begin", row if "failed" in row else shown | row)])
    monkeypatch.setattr(fallback.arguments, "keep_to", lambda threads: [0])
    assert fallback.main(["mmoe", "--out", str(tmp_path / "out.json")]) == code
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["models"]["mmoe"]["begin"].get("ratio") == row.get("ratio")
    assert "mmoe begin" in capsys.readouterr().out
    assert report["summary"] == {} if "failed" in row else report["summary"]["worst_model"] == "mmoe begin"
