"""One artifact for ranges of sizes of two open dimensions: what ONNX Runtime says at each pair, and what is no such model."""

import itertools
import json
import re

import numpy as np
import onnx
import onnxruntime
import pytest
from test_open_dimensions import check_ranges, check_spoiled, dims, made, node, package, padded_encoder, run, saved

pytestmark = pytest.mark.usefixtures("own_cache")

ONE = onnx.helper.make_tensor("one", 1, [1], [1.0])
# Ranges, of which a processor's parts have several sizes of both, and pairs of them.
RANGES, PAIRS = {"B": (5, 20), "S": (7, 40)}, [(5, 7), (13, 23), (20, 40), (5, 40), (20, 7), (16, 39), (6, 8)]
FEW = {"B": (2, 3), "S": (5, 9)}
# The same of a GPU's parts, in runs that an emulator has the time for; fewer of what compiles longest.
ON_GPU, PAIRS_ON_GPU = {"B": (2, 9), "S": (5, 20)}, [(2, 5), (4, 8), (7, 6), (3, 13)]
FEW_ON_GPU, FEW_PAIRS_ON_GPU = {"B": (2, 4), "S": (5, 9)}, [(2, 5), (3, 8), (4, 6)]


def encoder(path, w):
    padded_encoder(path, w, "B", "S", 40, "ReduceMean")


def perceptron(path, w):
    nodes = [node("MatMul", "x w1", "h"), node("Relu", "h", "r"), node("MatMul", "r w2", "y")]
    saved(path, nodes, {"w1": w(48, 96), "w2": w(96, 40)}, [("x", 1, ["B", "S", 48])], [("y", 1, ["B", "S", 40])])


def lengths_first(path, w):
    """The other dimension comes first, as in recurrences, and only one input has each."""
    nodes = [node("MatMul", "x w", "h"), node("Add", "h z", "y"), node("ReduceMax", "y", "m", axes=[0], keepdims=0)]
    ports = [("x", 1, ["S", 1, 16]), ("z", 1, ["B", 32])]
    saved(path, nodes, {"w": w(16, 32)}, ports, [("y", 1, ["S", "B", 32]), ("m", 1, ["B", 32])])


def sums_over_both(path, w):
    nodes = [node("ReduceSum", "x axes", "s"), node("Div", "x s", "y")]
    saved(path, nodes, {"axes": np.array([0, 1])}, [("x", 1, ["B", "S", 8])], [("y", 1, ["B", "S", 8])])


def softmaxes(path, w):
    """Tiles of a kernel are cut along both dimensions."""
    saved(path, [node("Softmax", "x", "y", axis=-1)], {}, [("x", 1, ["B", "S", 256])], [("y", 1, ["B", "S", 256])])


def mean_of_both(path, w):
    nodes = [node("ReduceMean", "x", "m", axes=[0, 1]), node("Sub", "x m", "y")]
    saved(path, nodes, {}, [("x", 1, ["B", "S", 8])], [("y", 1, ["B", "S", 8])])


def times_both(path, w):
    """What is added is a number of one where the other is the greatest alone."""
    nodes = [node("Shape", "x", "n"), node("ReduceProd", "n", "c", keepdims=0), node("Cast", "c", "f", to=1)]
    nodes += [node("Add", "x f", "y")]
    saved(path, nodes, {}, [("x", 1, ["B", "S"])], [("y", 1, ["B", "S"])])


def count_of_both(path, w):
    """A sum over so many rows of all sentences."""
    nodes = [node("Shape", "x", "n"), node("ReduceProd", "n", "c"), node("ConstantOfShape", "c", "ones", value=ONE)]
    nodes += [node("ReduceSum", "ones", "s", keepdims=0), node("Div", "x s", "y")]
    saved(path, nodes, {}, [("x", 1, ["B", "S"])], [("y", 1, ["B", "S"])])


def rows_of_both(path, w):
    """An output that numbers the tokens of all sentences."""
    nodes = [node("Shape", "x", "n"), node("ReduceProd", "n", "c", keepdims=0), node("Range", "zero c one", "r")]
    nodes += [node("Relu", "x", "y")]
    constants = {"zero": np.int64(0), "one": np.int64(1)}
    saved(path, nodes, constants, [("x", 1, ["B", "S"])], [("y", 1, ["B", "S"]), ("r", 7, ["R"])])


def flattened(path, w):
    """Rows of all sentences follow each other, so that lengths are apart no more."""
    nodes = [node("Reshape", "x rows", "r"), node("MatMul", "r w", "h"), node("Shape", "x", "n", start=0, end=2)]
    nodes += [node("Concat", "n width", "shape", axis=0), node("Reshape", "h shape", "y")]
    constants = {"rows": np.array([-1, 24]), "w": w(24, 40), "width": np.array([40])}
    saved(path, nodes, constants, [("x", 1, ["B", "S", 24])], [("y", 1, ["B", "S", 40])])


MODELS = [encoder, perceptron, lengths_first, sums_over_both]


def sizes_of(pairs):
    return [{"B": batch, "S": length} for batch, length in pairs]


def behind_greater(ranges, pairs):
    """Each of the pairs behind runs in which either size, or both, are the greatest."""
    (_, batches), (_, lengths) = ranges.values()
    for batch, length in pairs:
        ahead = itertools.product((batch, batches), (length, lengths))
        yield {"B": batch, "S": length}, sizes_of(ahead)


@pytest.mark.parametrize("make", MODELS)
def test_each_pair_is_what_the_model_says(kintsugi, folder, level, make):
    check_ranges(kintsugi, folder, make, RANGES, sizes_of(PAIRS), "--cpu-level", level)


@pytest.mark.parametrize("make", MODELS)
def test_the_reference_takes_each_pair(kintsugi, folder, make):
    check_ranges(kintsugi, folder, make, RANGES, sizes_of(PAIRS), "--target", "reference")


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("make", MODELS)
def test_a_gpu_takes_each_pair(kintsugi, folder, make):
    ranges, pairs = (FEW_ON_GPU, FEW_PAIRS_ON_GPU) if make is encoder else (ON_GPU, PAIRS_ON_GPU)
    check_ranges(kintsugi, folder, make, ranges, sizes_of(pairs), "--target", "cuda")


def test_a_session_compiles_once_for_all_pairs(folder):
    path = made(folder, encoder)
    session = package.InferenceSession(path, dims={"B": (5, 20), "S": "7..40"}, cache=False)
    assert [port.shape for port in session.get_inputs()] == [["B", "S"], ["B", "S"]]
    assert [port.shape for port in session.get_outputs()] == [["B", "S", 64], ["B", 64]]
    check_spoiled(session, path, behind_greater(RANGES, PAIRS))
    report = session.report()
    assert report["ranges"] == {"B": [5, 20], "S": [7, 40]}
    assert {"sizes": {"B": 13, "S": 23}, "runs": 2} in report["runs"]
    assert str(report).startswith("one artifact for B = 5 to 20, S = 7 to 40, compiled in ")

    def feeds_of(batch, length, other=None):
        return {"ids": np.zeros((batch, length), np.int64), "padding": np.zeros((batch, other or length), np.float32)}

    for batch, length, message in [
        (4, 9, "dimension 'B' is 4 .*; the artifact takes 5 to 20"),
        (5, 6, "dimension 'S' is 6 .*; the artifact takes 7 to 40"),
        (5, 41, "dimension 'S' is 41 .*; the artifact takes 7 to 40"),
    ]:
        with pytest.raises(package.InputError, match=message):
            session.run(None, feeds_of(batch, length))
    with pytest.raises(package.InputError, match="input 'padding'"):
        session.run(None, feeds_of(5, 7, 8))


@pytest.mark.parametrize(
    "make, ranges, pairs",
    [
        (sums_over_both, RANGES, PAIRS),
        (softmaxes, {"B": (9, 16), "S": (33, 64)}, [(16, 50), (13, 64), (10, 34), (9, 33), (12, 49)]),
    ],
)
def test_what_earlier_runs_left_is_nothing(folder, make, ranges, pairs):
    path = made(folder, make)
    session = package.InferenceSession(path, dims=ranges, cache=False)
    check_spoiled(session, path, behind_greater(ranges, pairs))


def test_tiles_are_left_out_along_both(kintsugi, folder):
    artifact = folder / "both.kin"
    ranges = {"B": (9, 16), "S": (33, 64)}
    assert kintsugi("compile", made(folder, softmaxes), "-o", artifact, *dims(ranges), "--quiet")[::2] == (0, "")
    trims = [json.loads(found) for found in re.findall(rb'"trims":\s*(\[.*?\])', artifact.read_bytes(), re.S)]
    assert {0, 1} in [{trim["number"] for trim in each} for each in trims]


def test_sizes_outside_are_errors(kintsugi, folder):
    artifact = folder / "pairs.kin"
    assert kintsugi("compile", made(folder, perceptron), "-o", artifact, *dims(FEW), "--quiet")[::2] == (0, "")
    message = run(kintsugi, folder, artifact, {"x": np.zeros((2, 13, 48), np.float32)})
    assert "the model's input f32[3, 9, 48] or fewer along dimension 0, from 2 on, and along dimension 1, from 5 on" in message


@pytest.mark.parametrize(
    "make, reason",
    [
        (mean_of_both, "dimension 'B' can't be open in one artifact: a number depends on it and on 'S'"),
        (times_both, "dimension 'B' can't be open in one artifact"),
        (count_of_both, "dimension 'B' can't be open in one artifact: 'ones' has an extent that 'S' decides, too"),
        (rows_of_both, "dimension 'B' can't be open in one artifact: 'r' has an extent that 'S' decides, too"),
        (flattened, "dimension 'S' can't be open in one artifact: node 'r_of_Reshape' mixes"),
    ],
)
def test_what_depends_on_both_together_needs_one_size(kintsugi, folder, make, reason):
    code, _, errors = kintsugi("compile", made(folder, make), "-o", folder / "no.kin", *dims(FEW))
    assert code == 3 and reason in errors and "=N)" in errors
    session = package.InferenceSession(made(folder, make), dims={"B": (1, 3), "S": (1, 4)})
    shape = [{"B": 2, "S": 3}.get(extent, extent) for extent in session.get_inputs()[0].shape]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    runtime = onnxruntime.InferenceSession(folder / f"{make.__name__}.onnx")
    assert np.allclose(session.run(None, {"x": x})[0], runtime.run(None, {"x": x})[0], atol=1e-5)
    assert reason.split(":")[0] in session.report()["reason"]


def test_a_range_of_one_size_is_a_size(folder):
    session = package.InferenceSession(made(folder, perceptron), dims={"B": (4, 4), "S": (1, 3)})
    assert session.get_inputs()[0].shape == [4, "S", 48] and session.report()["ranges"] == {"S": [1, 3]}


def test_more_than_two_are_an_error(kintsugi, folder):
    saved(folder / "three.onnx", [node("Relu", "x", "y")], {}, [("x", 1, ["A", "B", "C"])], [("y", 1, ["A", "B", "C"])])
    ranges = {name: (1, 4) for name in "ABC"}
    code, _, errors = kintsugi("compile", folder / "three.onnx", "-o", folder / "no.kin", *dims(ranges))
    assert code == 2 and "--dim C: 'A' and 'B' are open already; give one of them a size" in errors
    session = package.InferenceSession(folder / "three.onnx", dims=ranges)
    assert session.run(None, {"x": np.ones((2, 3, 4), np.float32)})[0].shape == (2, 3, 4)
    assert "one artifact serves sizes of two" in session.report()["reason"]
