"""test/fuzz_models: that the generator reaches everything that is imported, and that what is wrong is found and made small.

The random models themselves are a part of .ci/run of their own.
"""

import collections
import json

import pytest
from fuzz_models import configure, generate, regressions, runner, workers
from fuzz_models.draw import Draw
from fuzz_models.graph import Graph
from fuzz_models.maker import BLOCKS, Maker, Unfit
from fuzz_models.reduce import Reducer


@pytest.fixture(scope="module")
def worker():
    if not workers.MODULES.exists():
        pytest.skip("the module kintsugi_fuzz was not built")
    one = workers.Worker()
    yield one
    one.close()


@pytest.fixture(scope="module")
def emulated():
    """A worker whose GPU is emulated."""
    if not (workers.MODULES.parent / "emulator" / "libcuda.so.1").exists():
        pytest.skip("the emulated driver was not built")
    one = workers.Worker(runner.emulator("sm_90a"))
    yield one
    one.close()


def alone(block, seed):
    """What a block makes of nothing but its own inputs, or None."""
    opset = max(block.opset, min(block.last, [13, 17, 18, 20, 23, 24][seed % 6]))
    graph = Graph(opset)
    sizes = {"large": generate.LARGE, "units": generate.UNITS}.get(generate.kind_of(block), generate.SMALL)
    maker = Maker(graph, Draw(seed), *sizes)
    try:
        block.make(maker)
    except Unfit:
        return None
    return graph


def test_every_imported_operator_is_generated(worker):
    made = collections.Counter()
    for block in BLOCKS:
        for seed in range(40):
            graph = alone(block, seed)
            made.update({node.op for node in graph.nodes} if graph else ())
    imported = {name for _, name, _ in worker.about["operators"]}
    assert imported - set(made) == set(), "these operators need a generator under test/fuzz_models/families"


WANTED_IDIOMS = {
    "mask": "all, per head, per batch, both, additive, where, masked fill, from bool, from int, -inf, -10000.0, lowest, "
    "causal, sliding, banded, blocked, padded, random, run, constant",
    "projection": "apart, permuted, split, sliced, gathered, chunked",
    "convolution": "plain, grouped, depthwise, dilated, strided",
    "recurrent": "forward, bidirectional, reverse, stacked",
}


def test_every_idiom_is_generated():
    made = set()
    for block in BLOCKS:
        for seed in range(60):
            graph = alone(block, seed)
            made.update(graph.idioms if graph else ())
    wanted = {f"{family}: {name}" for family, names in WANTED_IDIOMS.items() for name in names.split(", ")}
    assert wanted - made == set()


def test_every_switch_is_drawn(worker):
    """Whatever the compiler lists, a new rule too, is switched off in some models of its targets."""
    rules = worker.about["rules"]
    for target in ("cpu", "cuda"):
        switches = configure.switches_of(rules, target)
        drawn = {name for seed in range(2000) for name in configure.configuration_of(seed, target, switches)["disable"]}
        assert drawn == set(switches) and len(switches) >= 6
    assert {rule["name"] for rule in rules} == {name for target in ("cpu", "cuda") for name in configure.switches_of(rules, target)}


def test_a_program_makes_its_model_again():
    for seed in range(60):
        made = generate.make(generate.program_of(seed))
        if made:
            graph, program = made
            again, _ = generate.make(json.loads(json.dumps(program)))
            assert again.to_json() == graph.to_json()
            assert Graph.from_json(graph.to_json()).to_json() == graph.to_json()


@pytest.mark.parametrize("path", regressions.all_paths(), ids=lambda path: path.stem)
def test_what_was_wrong_once(path, request):
    found = json.loads(path.read_text())
    runs_on = request.getfixturevalue("emulated" if found["configuration"]["target"] == "cuda" else "worker")
    report = runs_on.run({"graph": found["graph"], "configuration": found["configuration"]}, 120)
    assert report["kind"] == "fine", report["text"]


# A block whose model the fault changes, and how many nodes a reduced model may have.
FAULTS = {
    "one-percent": ("attention", 2),
    "dropped-column": ("residual_convolutions", 2),
    "exchanged-slices": ("gated_product", 2),
    "half-precision": ("perceptron", 2),
    "nan": ("reduction", 2),
    "mask-row": ("cross_attention", 4),
    "weight-column": ("transformer_layer", 4),
    "abort": ("convolution", 1),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found_and_made_small(worker, fault):
    name, most = FAULTS[fault]
    wanted = ("crash",) if fault == "abort" else ("mismatch",)
    for seed in range(40):
        program = {"opset": 17, "sizes": list(generate.SMALL), "blocks": [[name, f"{seed}"]], "outputs": "0"}
        made = generate.make(program)
        if made is None:
            continue
        graph, program = made
        ask = lambda g, c: worker.run({"graph": g.to_json(), "configuration": c, "fault": fault, "levels": LEVEL}, 60)
        report = ask(graph, configure.PLAIN)
        if report["kind"] in wanted:
            break
    assert report["kind"] in wanted, f"{fault} was not found: {report}"
    reduced, _, _ = Reducer(ask, 60).reduce(program, graph, configure.PLAIN, report)
    assert len(reduced.nodes) <= most, reduced.to_json()


LEVEL = ["x86-64-v3"]


def test_a_model_that_takes_too_long_is_a_finding(worker):
    graph = Graph(17)
    graph.finish([graph.node("Exp", [graph.input((4,))], (4,))])
    job = {"graph": graph.to_json(), "configuration": configure.PLAIN, "fault": "endless"}
    assert worker.run(job, 3)["kind"] == "hang"
    assert worker.run({**job, "fault": None}, 60)["kind"] == "fine"


def test_the_run_reports_reduces_and_writes(worker, tmp_path, capsys):
    code = runner.main(
        ["--seed", "3", "--count", "3", "--jobs", "1", "--plant", "nan", "--out", str(tmp_path), "--reduce", "20"]
    )
    said = capsys.readouterr().out
    written = sorted(tmp_path.glob("*.json"))
    assert code == 1 and written
    assert "reduced to" in said and f"{len(written)} failures" in said
    assert runner.main(["--replay", *map(str, written), "--jobs", "1"]) == 0, "without the fault the answers are right"


def test_models_run_on_an_emulated_gpu(capsys):
    if not (workers.MODULES.parent / "emulator" / "libcuda.so.1").exists():
        pytest.skip("the emulated driver was not built")
    code = runner.main(
        ["--target", "cuda", "--emulate", "sm_90a", "--seed", "1", "--count", "8", "--jobs", "1", "--out", "", "--reduce", "0"]
    )
    said = capsys.readouterr().out
    assert code == 0 and "code for cuda sm_90a" in said, said
