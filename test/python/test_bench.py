"""bench/: ratios and their mean, the table, a worker that answers only in its turn, and who may compete."""

import argparse
import importlib
import json
import math
import os
import pathlib
import queue
import shutil

import attention
import bandwidth
import builds
import compiling
import contenders
import cost
import cpu
import figures
import fission
import kernels
import levels
import limits
import machine
import memory
import models
import numpy as np
import onnx
import onnx.parser
import products
import pytest
import torch_attempt
import torch_compile
import torch_compile_attempt
import torch_models
import places
import torch_trials

ROWS = {
    "a": {"rounds": {"kintsugi": [2.0], "ort": [1.0], "openvino": [4.0]}},
    "b": {"rounds": {"kintsugi": [8.0], "ort": [1.0]}},
    "c": {"rounds": {"ort": [1.0], "openvino": [1.0]}},
}


def test_summary_takes_models_that_both_ran():
    found = cpu.summary(ROWS, ["ort", "openvino"])
    assert found["ort"]["models"] == 2 and found["openvino"]["models"] == 1
    assert found["ort"]["geometric_mean"] == pytest.approx(4.0)
    assert found["ort"]["worst"] == 8.0 and found["ort"]["worst_model"] == "b"
    assert found["openvino"]["geometric_mean"] == pytest.approx(0.5)


def test_summary_without_any_time():
    assert cpu.summary({"c": ROWS["c"]}, ["ort"]) == {}


def test_summary_of_the_best_peer_that_ran():
    apart = {"llama_1b_decode": {"rounds": {"kintsugi": [9.0], "ort": [1.0]}}}
    found = cpu.summary(ROWS | apart, ["ort", "openvino"])["best_over_kintsugi"]
    assert found["models"] == 2 and found["geometric_mean"] == pytest.approx(0.25)
    assert found["worst"] == 0.125 and found["worst_model"] == "b"


def test_what_slows_a_round_slows_both():
    row = {"rounds": {"kintsugi": [1.0, 10.0, 10.0], "ort": [2.0, 20.0, 2.0], "openvino": [9.0, 9.0, 9.0]}}
    assert cpu.ratio(row, "kintsugi", "ort") == 0.5 and cpu.ratio(row, "kintsugi", "torch") is None
    assert cpu.lead(row, ["ort", "openvino"]) == 0.9


def test_line_shows_dashes_and_reasons():
    row = {"ms": {"ort": 1.5}, "compile_s": {}, "failed": {"kintsugi": "compile: exit 3: no such operator"}}
    text = cpu.line("a", row, ["ort"])
    assert text.split("\n")[0].split() == ["a", "-", "1.500", "-", "-", "-", "-"]
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
def test_worker_times_runs_in_turns(model, tmp_path, keep):
    worker = contenders.Worker("ort", model, tmp_path, 1, keep)
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
    worker = contenders.Worker("ort", tmp_path / "m.onnx", tmp_path, 1, True)
    with pytest.raises(models.Failure, match="Error"):
        worker.turn(0.01)
    worker.close()


class Claimant:
    """A contender with these outputs."""

    compile_s = 0.5

    def __init__(self, path, **outputs):
        self.outputs, self.given, self.ended = path, outputs, False

    def start(self):
        np.savez(self.outputs, **self.given)

    def rest(self):
        pass

    def end(self):
        self.ended = True


def test_only_who_computes_the_same_competes(model, tmp_path):
    x = contenders.feeds_of(model)["x"]
    referee = cpu.Referee(model, tmp_path, 1)
    right = np.maximum(x, 0)
    field = {
        "right": Claimant(tmp_path / "right.npz", y=right),
        "wrong": Claimant(tmp_path / "wrong.npz", y=right + np.float32(1e-4)),
        "other": Claimant(tmp_path / "other.npz", z=right),
    }
    row = dict(failed={}, compile_s={})
    cpu.admit(field, row, referee)
    assert row["failed"].keys() == {"wrong", "other"} and "differs from ONNX Runtime" in row["failed"]["wrong"]
    assert row["difference"] == {"right": 0.0} and field["wrong"].ended and not field["right"].ended


@pytest.fixture
def large(tmp_path):
    """A model whose run takes 64 MiB, its output's."""
    text = '<ir_version: 9, opset_import: ["" : 20]> g (float[4096,4096] x) => (float[4096,4096] y) { y = Relu(x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "large.onnx")
    return tmp_path / "large.onnx"


def test_memory_of_a_run_is_seen(large):
    peaks = memory.measure("ort", large, large, memory.parse(["mmoe", "--runs", "2"]))
    found = memory.needs(peaks)
    assert 60 * memory.MIB < found["run"] < 200 * memory.MIB and found["process"] >= peaks["before"] + found["load"]


def test_memory_names_who_fails(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"no model")
    with pytest.raises(models.Failure, match="Error"):
        memory.measure("ort", tmp_path / "m.onnx", tmp_path / "m.onnx", memory.parse(["mmoe"]))


def test_memory_summary():
    needs = {"kintsugi": dict(load=2, run=1, process=8), "ort": dict(load=1, run=4, process=0)}
    found = memory.summary({"a": dict(needs=needs), "b": dict(needs={"ort": needs["ort"]})}, ["ort"])["ort"]
    assert found["run"] == dict(models=1, geometric_mean=0.25, worst=0.25, worst_model="a")
    assert found["load"]["worst"] == 2 and "process" not in found


def test_ranks_share_the_mean_of_equal_values():
    assert cost.ranks([5.0, 1.0, 5.0, 3.0]) == [3.5, 1.0, 3.5, 2.0]
    assert cost.spearman([1, 2, 3, 4], [10, 20, 40, 30]) == pytest.approx(0.8)
    assert cost.spearman([1, 2, 3], [9, 4, 1]) == pytest.approx(-1) and cost.spearman([1, 1], [1, 2]) is None


def test_cost_of_distinct_kernels():
    def kernel(name, predicted, measured, launches=1, kind="generated"):
        return dict(
            **dict(name=name, kind=kind, launches=launches, predicted_ms=predicted, measured_ms=measured),
            **dict(nodes=["n"], tiles=1, bytes=8, expressions="e"),
        )

    def report(times):
        stages = [kernel("k0", 2.0, times[0], 2), kernel("k0", 1.0, times[1]), kernel("k1", 2.0, times[2])]
        return dict(kernels=[*stages, kernel("call", 1.0, 5.0, kind="call")])

    kernels = cost.distinct([report([2.0, 4.0, 2.0]), report([20.0, 40.0, 20.0]), report([4.0, 2.0, 2.0])])
    assert kernels.keys() == {"k0", "k1"} and kernels["k0"]["launches"] == 3
    assert kernels["k0"]["measured_ms"] == 2.0 and kernels["k0"]["predicted_ms"] == 1.0
    row = cost.judge(kernels, 1)
    assert row["spearman"] is None and row["measured_ms"] == 8.0 and row["predicted_ms"] == 5.0
    assert [worst["name"] for worst in row["worst"]] == ["k1"] and row["worst"][0]["ratio"] == pytest.approx(0.625)


def test_cost_tells_which_runs_are_within_and_what_differs():
    def run(measured, predicted):
        return cost.run_of([dict(median_ms=ms, predicted_ms=predicted) for ms in measured])

    assert cost.is_within(run([9.0, 1.14, 1.0], 1.0)) and cost.is_within(run([1.0], 1.14))
    assert not cost.is_within(run([1.16], 1.0)) and not cost.is_within(run([1.0], 1.16))
    small = dict(measured_ms=1.5, predicted_ms=1.0, launches=2)
    kernels = dict(small=small, large=dict(measured_ms=3.0, predicted_ms=6.0, launches=1))
    found = cost.differences(kernels, run([7.0], 8.5))
    assert list(found) == ["large", "small", "beside kernels"] and found["beside kernels"] == pytest.approx(0.5)
    rows = dict(a=run([1.0], 1.0) | dict(spearman=0.5), b=run([2.0], 1.0) | dict(spearman=1.0), c=dict(failed="why"))
    assert cost.overall(rows) == dict(models=2, median=0.75, least=0.5, runs=2, within=1)


def test_compiling_says_what_it_took_and_the_gap(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "CACHE", tmp_path)
    out = tmp_path / "compiling.json"
    assert compiling.main(["mmoe", "--out", str(out)]) == 0
    report = json.loads(out.read_text())
    for row in (rows["mmoe"] for rows in report["targets"].values()):
        assert row["seconds"] > 0 and 20 < row["mib"] < 4096 and 0 <= row["gap"] < 0.01 and row["kernels"] > 0
    assert "(cpu mmoe)" in figures.slowest_compile(report) and "(cuda mmoe)" in figures.slowest_compile(report)
    gaps = dict(a=dict(gap=0.0), b=dict(gap=0.002), c=dict(failed="why"))
    assert figures.widest_gap(dict(targets=dict(cpu=gaps))) == "0.20% (cpu b), 1 failed"
    assert figures.widest_gap(dict(targets=dict(cpu=dict(a=gaps["a"])))) == "0, all optimal (cpu)"
    assert figures.widest_gap(dict(targets=dict(cpu=dict(c=gaps["c"])))) is None
    with pytest.raises(models.Failure, match="can't read"):
        compiling.measure(tmp_path / "none.onnx", "cpu")


def test_levels_are_judged_by_their_own_peaks():
    found = {"v3": dict(rounds=[3.0, 6.0, 3.0], peaks=[1e9, 2e9]), "v4": dict(rounds=[1.0, 2.0, 1.0], peaks=[4e9])}
    row = levels.judged(found, operations=3e6)
    assert row["levels"]["v3"]["ms"] == 3 and row["levels"]["v3"]["share"] == pytest.approx(0.5)
    assert row["levels"]["v4"]["share"] == pytest.approx(0.75) and row["points"] == pytest.approx(-25)
    assert levels.line("a", row).split() == ["a", "3.000", "1.000", "50.0%", "75.0%", "-25.0"]


@pytest.mark.skipif(not any(map(shutil.which, limits.COMPILERS)), reason="clang is not installed")
def test_limits_are_plausible(tmp_path):
    cores = sorted(os.sched_getaffinity(0))
    limit = limits.Limits(tmp_path)
    # A machine that others use too is slow at times, never quick.
    one, two = (max(limit.flops(cores[:n], 0.05) for _ in range(5)) for n in (1, 2))
    assert 1e9 < one < 1e12 and two < 3 * one
    assert 1e8 < limit.copied(1 << 26, cores[:2], 2) < 1e12
    assert 1e8 < limit.read(1 << 26, cores[:2], 2) < 1e12
    with pytest.raises(models.Failure, match="usage"):
        limit.ask("jump")


def test_cores_are_given_back():
    before = os.sched_getaffinity(0)
    with limits.on_cores(sorted(before)[:1]):
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before


def run_text(text, folder, **feeds):
    """The output of a text model in the interpreter's stead, the program itself."""
    artifact = limits.compiled(folder, "model", text)
    np.savez(folder / "feeds.npz", **feeds)
    models.kintsugi("run", artifact, "--inputs", folder / "feeds.npz", "--outputs", folder / "out.npz")
    with np.load(folder / "out.npz") as found:
        return next(iter(found.values()))


needs_program = pytest.mark.skipif(
    not pathlib.Path(os.environ.get("KINTSUGI", models.ROOT / "build/bin/kintsugi")).exists(),
    reason="the program is not built; ./dev build makes it",
)


@needs_program
def test_products_are_products(tmp_path):
    a, b = (np.random.default_rng(seed).random((48, 48), np.float32) for seed in (1, 2))
    np.testing.assert_allclose(run_text(products.text(48, "input"), tmp_path, a=a, b=b), a @ b, rtol=1e-5)
    assert run_text(products.text(48, "weight"), tmp_path, a=a).shape == (48, 48)


@needs_program
@pytest.mark.parametrize("name", bandwidth.KERNELS)
def test_bandwidth_kernels_compute_what_they_say(name, tmp_path):
    rows = 64
    x = np.random.default_rng(0).standard_normal((rows, bandwidth.COLUMNS), np.float32)
    shuffled = x.reshape(-1, bandwidth.GROUPS, bandwidth.CHANNELS // bandwidth.GROUPS, bandwidth.PIXELS)
    half = bandwidth.COLUMNS // 2
    feeds = {"concatenation": dict(a=x[:, :half], b=x[:, half:])}
    feeds["channel_shuffle"] = dict(x=x.reshape(-1, bandwidth.CHANNELS, bandwidth.PIXELS))
    powers = np.exp(x - x.max(1, keepdims=True))
    expected = {
        "softmax": powers / powers.sum(1, keepdims=True),
        "gelu": x * np.vectorize(lambda value: (1 + math.erf(value / math.sqrt(2))) / 2)(x),
        "transpose": x.T,
        "channel_shuffle": shuffled.transpose(0, 2, 1, 3).reshape(-1, bandwidth.CHANNELS, bandwidth.PIXELS),
        "concatenation": x,
        "sums_of_rows": x.sum(1),
        "sums_of_columns": x.sum(0),
    }
    found = run_text(bandwidth.KERNELS[name][0](rows), tmp_path, **feeds.get(name, dict(x=x)))
    assert 4 * x.size + found.nbytes == bandwidth.moved(name, rows)
    if name in expected:
        np.testing.assert_allclose(found, expected[name], rtol=1e-4, atol=1e-4)
    else:
        # The weights are made up: scale and shift are the same for every row.
        normal = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
        scale, shift = np.linalg.lstsq(np.stack([normal[:, 0], np.ones(rows)], 1), found[:, 0], rcond=None)[0]
        np.testing.assert_allclose(found[:, 0], normal[:, 0] * scale + shift, atol=1e-4)


class TestTorch:
    """The modules are the models: they compute the same with the weights taken from the ONNX files."""

    @pytest.fixture(autouse=True)
    def torch(self):
        return pytest.importorskip("torch", reason="torch is a peer of ./dev bench cpu only")

    @pytest.mark.parametrize("name", ["mmoe", "dcgan", "lstm_10x100x256"])
    def test_module_agrees(self, torch, name, tmp_path):
        import torch_modules
        import torch_weights

        model = pathlib.Path(models.with_weights(models.FOLDER / f"{name}.onnx", tmp_path))
        fed = [torch.from_numpy(value) for value in contenders.feeds_of(model).values()]
        module = torch_modules.MODULES[name]().eval()
        torch_weights.give(module, fed, model)
        with torch.no_grad():
            found = module(*fed)
        found = found if isinstance(found, tuple) else (found,)
        claimant = Claimant(tmp_path / "torch.npz", **dict(zip(self.names(model), map(np.asarray, found))))
        claimant.start()
        assert cpu.Referee(model, tmp_path, 1).check(claimant) < 1e-5

    def test_module_of_another_model_is_refused(self, torch, tmp_path):
        import torch_modules
        import torch_weights

        model = pathlib.Path(models.with_weights(models.FOLDER / "mmoe.onnx", tmp_path))
        with pytest.raises(torch_weights.Mismatch):
            torch_weights.give(torch_modules.MODULES["dlrm"](), [torch.zeros(128, 13), torch.zeros(128, 26).int()], model)

    @staticmethod
    def names(model):
        return [output.name for output in onnx.load(model, load_external_data=False).graph.output]


def test_kernels_of_a_gpu_are_whole_models(tmp_path):
    options = kernels.parse(["moves", "--mib", "1"])
    cases = list(kernels.move_cases(options))
    assert len(cases) == 2 * len(bandwidth.KERNELS)
    for name, text, times, size in cases:
        assert text.count("output ") == times
        assert name.endswith("f32") or " f16" in text.split("\n")[0]
        assert 0.9 < size / (2 << 20) < 1.1 or name.startswith("sums")
        kernels.compiled(tmp_path, name, text)


def test_products_of_a_gpu_are_whole_models():
    for _, text, times, (rows, columns, depth), kind in kernels.product_cases():
        assert text.count("output ") == text.count("sum<f32>") == times
        assert f"input a_0[{rows}, {depth}] {kind}" in text and f"w_0[{columns}, {depth}]" in text


@pytest.mark.parametrize("main", [bandwidth.main, kernels.main, attention.main])
def test_names_that_nobody_knows_are_usage_errors(main, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["nosuch"])
    assert ended.value.code == 2 and "'nosuch'; there are " in capsys.readouterr().err


def torch_options(words):
    return torch_trials.parsed(argparse.ArgumentParser(), words, "torch-models.json")


def test_torch_models_are_many_and_their_names_are_one_for_each():
    titles = torch_trials.listed()
    assert len(titles) >= 150 and {title.split()[0] for title in titles} == set(torch_trials.FAMILIES)
    options = torch_options(["--only", "bert,resnet18", "--families", "timm,transformers"])
    assert list(options.titles) == ["transformers bert", *(t for t in titles if t == "timm resnet18")]


@pytest.mark.parametrize("words", [["--only", "nosuch"], ["--families", "nosuch"]])
def test_torch_models_that_nobody_knows(words, capsys):
    with pytest.raises(SystemExit):
        torch_options(words)
    assert "'nosuch'; there are " in capsys.readouterr().err


@needs_program
def test_torch_models_are_judged_by_their_answers(model, tmp_path):
    x = contenders.feeds_of(model)["x"]
    loaded = onnx.load(model)
    (tmp_path / "model.onnx").write_bytes(model.read_bytes())

    def verdict(answer, loaded=loaded):
        return torch_attempt._compared(loaded, {"x": x}, {"y": answer}, tmp_path, 60)

    assert verdict(np.maximum(x, 0))["verdict"] == "right"
    row = verdict(np.maximum(x, 0) + 1)
    assert row["verdict"] == "exporter" and "ONNX Runtime differs from torch" in row["reason"]
    loaded.graph.node[0].op_type = "Nonsense"
    onnx.save(loaded, tmp_path / "model.onnx")
    with pytest.raises(torch_trials.Ended) as ended:
        verdict(x, loaded)
    assert ended.value.args[0] == "refused" and "Nonsense" in ended.value.args[1]


def test_torch_models_are_tried_in_processes_of_their_own(monkeypatch, tmp_path):
    """One that does not end, and one that there is not."""
    monkeypatch.setattr(models, "CACHE", tmp_path)
    monkeypatch.setattr(torch_trials, "GRACE", 0)

    def tried(seconds):
        (free := queue.Queue()).put(places.places(1)[0])
        return torch_trials._tried(torch_attempt.found, ("timm", "nosuch", {}), free, seconds)

    late = tried(0.001)
    assert late["verdict"] == "failed" and "over 0.001 s" in late["reason"] and not list(tmp_path.iterdir())
    pytest.importorskip("timm", reason="timm is what ./dev bench torch-models takes models from")
    row = tried(120)
    assert row["verdict"] == "not made" and "nosuch" in row["reason"]


def test_torch_models_that_end_badly_have_a_row():
    with pytest.raises(torch_trials.Ended) as ended, torch_trials.verdict("exporter"):
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise ValueError("outer") from inner
    assert ended.value.args == ("exporter", "KeyError: 'inner'")
    rows = {"timm a": dict(verdict="right", seconds=1.0), "timm b": dict(verdict="failed", seconds=2.0, reason="why")}
    assert torch_trials.summary(rows)["families"]["timm"] == {"right": 1, "failed": 1}
    assert torch_models.line("timm b", rows["timm b"]).endswith("why")
    rows["timm c"] = dict(verdict="exporter")
    text = figures.right_of_torch(dict(summary=torch_trials.summary(rows)))
    assert text == f"1 of 2 (1 failed); 3 of {len(torch_trials.listed())} were tried"


def test_rows_of_models_side_by_side(tmp_path):
    def measure(path, place):
        if path.stem == "b":
            raise models.Failure("no memory")
        return dict(cores=place.cores)

    rows = dict(places.rows([tmp_path / f"{name}.onnx" for name in "abc"], measure, 2))
    assert rows["b"] == dict(failed="no memory")
    shares = [place.cores for place in places.places(2)]
    assert all(rows[name]["cores"] in shares for name in "ac")


def test_jobs_share_the_cores():
    cores = sorted(os.sched_getaffinity(0))
    apart = places.places(len(cores))
    assert [place.cores for place in apart] == [[core] for core in cores]
    assert all(place.cores == cores for place in places.places(len(cores) + 1))


def test_backends_of_torch_are_compared_where_answers_are_right():
    rows = {
        "timm a": dict(verdict="right", ratio=2.0),
        "timm b": dict(verdict="in parts", ratio=0.5),
        "timm c": dict(verdict="wrong", ratio=9.0),
        "timm d": dict(verdict="right"),
    }
    found = torch_compile.summary(rows)["inductor_over_kintsugi"]
    assert found == dict(models=2, geometric_mean=pytest.approx(1.0), worst=0.5, worst_model="timm b")
    row = dict(verdict="right", seconds=1.0, error=1e-3, allowed=2e-3, milliseconds={"kintsugi": 0.5, "inductor": 1.0})
    assert torch_compile.line("timm a", row).endswith("1.0e-03 of 2.0e-03  kintsugi 0.500  inductor 1.000")


def test_answers_of_torch_are_judged():
    torch = pytest.importorskip("torch", reason="torch is a peer of ./dev bench cpu only")
    exact = torch.tensor([1.0, -2.0, 4.0], dtype=torch.float64)

    def judged(answer, rounding=1e-7, terms=1, precision="f32"):
        return torch_compile_attempt._judged([answer], [exact], rounding, terms, precision, "right")["verdict"]

    assert judged(exact.float()) == "right" and judged(exact.float() * (1 + 1e-5)) == "wrong"
    assert judged(exact.float() * (1 + 1e-5), terms=10**6) == "right"
    assert judged(exact.float() * (1 + 1e-5), rounding=1e-6, terms=100) == "right"
    assert judged(torch.tensor([1.0, torch.nan, 4.0])) == "wrong"
    with pytest.raises(torch_trials.Ended) as ended:
        judged(exact.half(), rounding=0.5, precision="f16")
    assert ended.value.args[0] == "not made"
    with pytest.raises(torch_trials.Ended):
        judged(exact.float()[:2])


def test_readme_has_the_figures_of_the_files():
    figures.main(["--check"])


def test_a_figure_changed_by_hand_is_found(monkeypatch, tmp_path):
    text = figures.README.read_text()
    monkeypatch.setattr(figures, "README", tmp_path / "README.md")
    figures.README.write_text(text.replace(" of 2,024", " of 2,023"))
    with pytest.raises(SystemExit, match="dev figures"):
        figures.main(["--check"])


def test_models_inside_only_by_rounding_are_counted_apart():
    rows = {name: dict(verdict=verdict) for name, verdict in zip("abcd", ("inside", "rounding", "inside", "outside"))}
    assert figures.agreeing(dict(models=rows)) == "2 of 4, and 1 only by rounding"


def test_results_say_of_what_and_when(tmp_path):
    report = machine.report(rounds=3)
    machine.write(report, tmp_path / "folder" / "x.json")
    assert report["rounds"] == 3 and report["date"] and report["command"]
    assert {"commit", "load", "load_at_end", "versions", "processor"} <= report["machine"].keys()


# What is timed is a copy of what was compiled.
PROGRAM = """#!/bin/sh
if [ $1 = compile ]; then
  for word; do [ "$last" = -o ] && out=$word; last=$word; done
  echo made > "$out"
else
  case $2 in *.turn.kin) [ -s $2 ] && echo '{{"median_ms": {ms}, "predicted_ms": 1.0}}' ;; *) exit 1 ;; esac
fi
"""


@pytest.mark.parametrize("now, code", [(2.0, 0), (2.1, 1)])
def test_a_build_that_is_slower_fails(now, code, monkeypatch, tmp_path, capsys):
    programs = {}
    for name, ms in (("before", 2.0), ("now", now)):
        programs[name] = tmp_path / name
        programs[name].write_text(PROGRAM.format(ms=ms))
        programs[name].chmod(0o755)
    monkeypatch.setenv("KINTSUGI", str(programs["now"]))
    words = [str(programs["before"]), "mmoe", "--rounds", "2", "--seconds", "0", "--out", str(tmp_path / "found.json")]
    assert builds.main(words) == code
    assert f"worst {now / 2.0:.3f} (mmoe)" in capsys.readouterr().out


# A run of what is compiled by given flags takes so long.
TIMES = """#!/bin/sh
if [ $1 = rules ]; then
  echo '[{"name": "a", "across_operators": true}, {"name": "b", "across_operators": false}, {"name": "c"}]'
elif [ $1 = compile ]; then
  for word; do [ "$last" = -o ] && out=$word; last=$word; done
  case "$*" in
    *"--no-fission --plan greedy"*) ms=3.0 ;; *--no-fission*) ms=2.5 ;; *"--disable a "*) ms=2.4 ;; *) ms=2.0 ;;
  esac
  echo $ms > "$out"
else
  echo "{\\"median_ms\\": $(cat $2), \\"predicted_ms\\": $(cat $2)}"
fi
"""


def test_fission_is_timed_beside_whole_operators(monkeypatch, tmp_path, capsys):
    program, out = tmp_path / "program", tmp_path / "found.json"
    program.write_text(TIMES)
    program.chmod(0o755)
    monkeypatch.setenv("KINTSUGI", str(program))
    assert fission.main(["mmoe", "dlrm", "--rounds", "2", "--seconds", "0", "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    rounds = {"fission": [2.0, 2.0], "kernels": [2.4, 2.4], "whole": [2.5, 2.5], "greedy": [3.0, 3.0]}
    assert found["models"]["mmoe"]["rounds"] == rounds
    assert found["summary"]["greedy_over_kernels"]["geometric_mean"] == pytest.approx(1.25)
    assert found["summary"]["whole_over_fission"]["geometric_mean"] == pytest.approx(1.25)
    assert found["summary"]["greedy_over_fission"]["geometric_mean"] == pytest.approx(1.5)
    assert found["summary"]["greedy_over_fission"]["models"] == 2 and found["machine"]["commit"]
    assert "greedy over fission: geometric mean 1.500 over 2 models" in capsys.readouterr().out
    assert {path.stem for path in fission.parse([]).paths} == set(fission.KORCH)
    program.write_text("#!/bin/sh\n[ $1 = rules ] && echo '[]'\n")
    assert fission.main(["mmoe", "--out", str(out)]) == 1 and "failed" in json.loads(out.read_text())["models"]["mmoe"]


def test_open_dimensions_that_cost_or_fail_are_defects():
    bench = importlib.import_module("open")
    fine = {"sizes": {1: {"ratio": 1.0}, 8: {"ratio": 1.14}}}
    assert not bench.is_defect(fine, 1.15) and not bench.is_defect({"closed": "it has no batch of 1"}, 1.15)
    assert bench.is_defect(fine, 1.1) and bench.is_defect({"failed": "'y' differs"}, 1.15)


def test_cost_waits_for_the_pace_of_the_tuning(monkeypatch):
    taken = iter([1.0, 1.2, 1.6, 1.3, 1.12])
    probe = cost.Probe.__new__(cost.Probe)
    probe.tuned, probe.now = [], lambda: next(taken)
    monkeypatch.setattr(cost, "PAUSE", 0)
    probe.mark()
    probe.mark()
    assert probe.settled() == pytest.approx(1.12 / 1.1) and next(taken, None) is None
    probe.now = lambda: 2.2
    assert probe.settled() == pytest.approx(2), "it does not wait for ever"


def test_open_allows_16_bits_what_they_cost_the_exact_artifact_too():
    right = np.linspace(1, 2, 8, dtype=np.float32)
    depths, exact = {"y": 4}, {"y": right * np.float32(1.05)}
    asked = []

    def check(factor, precision="f16"):
        ours = {"y": right * np.float32(factor)}
        importlib.import_module("open").check_alike(ours, exact, depths, precision, lambda: asked.append(factor) or {"y": right})

    check(1.05)
    assert asked == [], "alike"
    check(0.94)
    assert asked == [0.94], "another way, and about as far"
    with pytest.raises(models.Failure, match="differs by"):
        check(0.9)
    with pytest.raises(models.Failure, match="differs by"):
        check(0.94, "f32")
    assert asked == [0.94, 0.9]
