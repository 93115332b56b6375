"""How a model runs depends on the level of the instruction set and on what is disabled; what it says does not."""

import models
import numpy as np
import onnx
import pytest
from attention_model import MASKS, attention
from onnx import TensorProto, helper, numpy_helper
from program import ROOT

SWITCHES = ["fission", "fusion", "formats", "packing", "staging", "winograd", "derivation"]
TOGETHER = "fusion,formats,packing,staging,derivation"
# One by one where that takes seconds: products, gathers, attention and convolutions.
QUICK = ["mmoe", "dlrm", "attention", "resnet18"]
SLOW = ["shufflenet_v2"]
CASES = [(model, disabled) for model in QUICK for disabled in [*SWITCHES, TOGETHER]]
CASES += [(model, TOGETHER) for model in SLOW]


@pytest.fixture(scope="module")
def path(folder):
    """Where a model is: one of the zoo, or a small one with attention."""
    small = folder / "attention.onnx"
    attention(small, tokens=512, heads=2, size=32, mask="sliding", how="gather")
    return lambda name: small if name == "attention" else ROOT / "zoo" / f"{name}.onnx"


@pytest.fixture(scope="module")
def compiled(folder, kintsugi):
    """Compiles a model for all levels into an artifact; gives the outputs by level of this machine, and by name."""

    def outputs(model, *flags, artifact=folder / "another.kin"):
        code, _, errors = kintsugi("compile", model, "--random-weights", "-o", artifact, *flags)
        assert code == 0, errors
        found = {}
        for level in models.levels():
            file = artifact.with_suffix(f".{level}.npz")
            code, _, errors = kintsugi("run", artifact, "--cpu-level", level, "--outputs", file)
            assert code == 0, errors
            with np.load(file) as arrays:
                found[level] = dict(arrays)
        return found

    yield outputs
    (folder / "another.kin").unlink(missing_ok=True)


@pytest.fixture(scope="module")
def usual(folder, path, compiled):
    """A model's artifact with nothing disabled, and its outputs; made once."""
    made = {}

    def of(name):
        if name not in made:
            artifact = folder / f"{name}.kin"
            made[name] = artifact, compiled(path(name), artifact=artifact)
        return made[name]

    yield of
    for artifact, _ in made.values():
        artifact.unlink()


@pytest.mark.parametrize("model", [*QUICK, *SLOW])
def test_answers_do_not_depend_on_the_level(report, usual, model):
    """Metamorphic: AVX2 and AVX-512 code of one artifact say the same, within the error policy."""
    if "v4" not in models.levels():
        pytest.skip("this machine has no AVX-512")
    artifact, _ = usual(model)
    expected = artifact.with_suffix(".v4.npz")
    found = report("compare", artifact, "--cpu-level", "v3", "--expected", expected, "--json")
    assert found["within"] and all(output["max_rel"] <= output["allowed"] for output in found["outputs"])


@pytest.mark.parametrize(("model", "disabled"), CASES)
def test_answers_do_not_depend_on_what_the_compiler_does_without(path, compiled, usual, model, disabled):
    """Metamorphic: fusion, formats, packing and copies change how a model runs, not what it says."""
    _, expected = usual(model)
    for level, outputs in compiled(path(model), "--disable", disabled).items():
        assert outputs.keys() == expected[level].keys()
        for name, found in outputs.items():
            right = expected[level][name]
            assert np.abs(found - right).max() <= 2e-5 * np.abs(right).max(), (level, name)


@pytest.mark.parametrize("mask", MASKS)
def test_answers_do_not_depend_on_whether_masked_tiles_are_skipped(folder, compiled, mask):
    path = folder / f"{mask}.onnx"
    attention(path, tokens=1024, heads=2, size=64, mask=mask, how="split")
    skipped = compiled(path)
    for level, outputs in compiled(path, "--disable", "mask-blocks,skip-masked-blocks").items():
        assert outputs.keys() == skipped[level].keys()
        for name, dense in outputs.items():
            found = skipped[level][name]
            assert not np.array_equal(found, dense), "nothing was skipped"
            assert np.abs(found - dense).max() <= 1e-5 * np.abs(dense).max(), (level, name)


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


def test_layers_compute_the_same_bits_side_by_side_and_in_turn(folder, compiled):
    """Whether they run side by side is up to the machine's prices; on given ones they do in lanes_test.cpp."""
    model = folder / "lstm.onnx"
    stacked_lstm(model, layers=3, hidden=128, steps=43)
    together = compiled(model)
    for level, outputs in compiled(model, "--disable", "merge-scans").items():
        assert len(together[level]) == 9 and outputs.keys() == together[level].keys()
        for name, found in outputs.items():
            assert np.array_equal(together[level][name], found), (level, name)
