"""bench/: ratios and their mean, the table, and a worker that answers only in its turn."""

import math

import contenders
import cpu
import models
import onnx
import onnx.parser
import pytest

ROWS = {
    "a": {"ms": {"kintsugi": 2.0, "ort": 1.0, "openvino": 4.0}},
    "b": {"ms": {"kintsugi": 8.0, "ort": 1.0}},
    "c": {"ms": {"ort": 1.0, "openvino": 1.0}},
}


def test_summary_takes_models_that_both_ran():
    found = cpu.summary(ROWS, ["ort", "openvino"])
    assert found["ort"]["models"] == 2 and found["openvino"]["models"] == 1
    assert found["ort"]["geometric_mean"] == pytest.approx(4.0)
    assert found["ort"]["worst"] == 8.0 and found["ort"]["worst_model"] == "b"
    assert found["openvino"]["geometric_mean"] == pytest.approx(0.5)


def test_summary_without_any_time():
    assert cpu.summary({"c": ROWS["c"]}, ["ort"]) == {}


def test_line_shows_dashes_and_reasons():
    row = {"ms": {"ort": 1.5}, "compile_s": {}, "failed": {"kintsugi": "compile: exit 3: no such operator"}}
    text = cpu.line("a", row, ["ort"])
    assert text.split("\n")[0].split() == ["a", "-", "1.500", "-", "-", "-"]
    assert "kintsugi: compile: exit 3" in text


def test_who_fails_drops_out_and_the_others_go_on():
    class Steady:
        compile_s = 0.5

        def turn(self, seconds):
            return [3.0, 1.0, 2.0]

    class Failing(Steady):
        turns = 0

        def turn(self, seconds):
            self.turns += 1
            if self.turns == 2:
                raise models.Failure("no memory")
            return [1.0]

    row = dict(ms={}, rounds={}, compile_s={}, failed={})
    failing = Failing()
    options = cpu.parse(["mmoe", "--rounds", "3"])
    cpu.compete({"ort": Steady(), "openvino": failing}, row, options)
    assert row["rounds"] == {"ort": [2.0, 2.0, 2.0]} and row["failed"] == {"openvino": "no memory"}
    assert failing.turns == 2


@pytest.fixture
def model(tmp_path):
    text = '<ir_version: 9, opset_import: ["" : 20]> g (float[4,8] x) => (float[4,8] y) { y = Relu(x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


@pytest.mark.parametrize("keep", [True, False])
def test_worker_times_runs_in_turns(model, keep):
    worker = contenders.Worker("ort", model, 1, keep)
    try:
        first, second = worker.turn(0.01), worker.turn(0.01)
        assert all(len(runs) >= contenders.LEAST_RUNS and min(runs) > 0 for runs in (first, second))
        assert math.isfinite(worker.compile_s) and (worker.process is not None) == keep
    finally:
        worker.close()


@pytest.mark.parametrize("keep", [True, False])
def test_kintsugi_is_timed_as_its_peers_are(model, tmp_path, keep):
    pytest.importorskip("kintsugi", reason="the package is not built; ./dev build makes it")
    contender = contenders.Kintsugi(model, tmp_path, 1, keep, 60)
    try:
        for _ in range(2):
            runs = contender.turn(0.01)
            assert len(runs) >= contenders.LEAST_RUNS and min(runs) > 0
            assert contender.compiled_s < contender.compile_s + 0.01 and (contender.process is not None) == keep
        report = contender.report()
        assert report["kernels"] == 1 and report["predicted_ms"] > 0 and "median_ms" not in report
    finally:
        contender.close()
    assert not contender.artifact.exists()


def test_worker_says_why_it_ended(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"no model")
    worker = contenders.Worker("ort", tmp_path / "m.onnx", 1, True)
    with pytest.raises(models.Failure, match="Error"):
        worker.turn(0.01)
    worker.close()
