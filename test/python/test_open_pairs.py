"""One artifact for ranges of sizes of two open dimensions: what ONNX Runtime says at each pair, and what is no such model."""

import itertools

import numpy as np
import onnxruntime
import pytest
from test_open_dimensions import check, heads_of, joined, made, node, package, run, saved

pytestmark = pytest.mark.usefixtures("own_cache")

BATCHES, LENGTHS = 5, 12
PAIRS = [(1, 1), (2, 7), (5, 12), (1, 12), (5, 1), (4, 5), (3, 11)]


def encoder(path, w):
    """Sentences of tokens, padded by an input, with the mean of their tokens."""
    heads, width, words = 4, 64, 100
    nodes = [node("Gather", "table ids", "e"), node("Shape", "ids", "n", start=1, end=2)]
    nodes += [node("Slice", "places zero n", "here"), node("Add", "e here", "x")]
    nodes += heads_of("x")
    nodes += [
        node("MatMul", "q2 k2", "s"),
        node("Mul", "s quarter", "s1"),
        node("Unsqueeze", "padding middle", "hidden"),
        node("Add", "s1 hidden", "s2"),
        node("Softmax", "s2", "p", axis=-1),
        *joined("x"),
        node("ReduceMean", "y", "m", axes=[1], keepdims=0),
    ]
    constants = {f"w{part}": w(width, width) for part in "qkv"}
    constants |= {"table": w(words, width), "places": w(LENGTHS, width), "scale": w(width), "quarter": np.float32(0.25)}
    constants |= {"split": np.array([0, 0, heads, width // heads]), "join": np.array([0, 0, width])}
    constants |= {"zero": np.array([0]), "middle": np.array([1, 2])}
    outputs = [("y", 1, ["B", "S", width]), ("m", 1, ["B", width])]
    saved(path, nodes, constants, [("ids", 7, ["B", "S"]), ("padding", 1, ["B", "S"])], outputs)


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


def mean_of_both(path, w):
    nodes = [node("ReduceMean", "x", "m", axes=[0, 1]), node("Sub", "x m", "y")]
    saved(path, nodes, {}, [("x", 1, ["B", "S", 8])], [("y", 1, ["B", "S", 8])])


def times_both(path, w):
    """What is added is a number of one where the other is the greatest alone."""
    nodes = [node("Shape", "x", "n"), node("ReduceProd", "n", "c", keepdims=0), node("Cast", "c", "f", to=1)]
    nodes += [node("Add", "x f", "y")]
    saved(path, nodes, {}, [("x", 1, ["B", "S"])], [("y", 1, ["B", "S"])])


def flattened(path, w):
    """Rows of all sentences follow each other, so that lengths are apart no more."""
    nodes = [node("Reshape", "x rows", "r"), node("MatMul", "r w", "h"), node("Shape", "x", "n", start=0, end=2)]
    nodes += [node("Concat", "n width", "shape", axis=0), node("Reshape", "h shape", "y")]
    constants = {"rows": np.array([-1, 24]), "w": w(24, 40), "width": np.array([40])}
    saved(path, nodes, constants, [("x", 1, ["B", "S", 24])], [("y", 1, ["B", "S", 40])])


def sized(runtime, batch, length, random):
    feeds = {}
    for port in runtime.get_inputs():
        shape = [{"B": batch, "S": length}.get(extent, extent) for extent in port.shape]
        is_float = "float" in port.type
        feeds[port.name] = random.standard_normal(shape).astype(np.float32) if is_float else random.integers(0, 100, shape)
    return feeds


RANGES = "--dim", f"B=1..{BATCHES}", "--dim", f"S=1..{LENGTHS}"
MODELS = [encoder, perceptron, lengths_first, sums_over_both]


def check_pairs(kintsugi, folder, make, *how):
    path, artifact = made(folder, make), folder / f"{make.__name__}.kin"
    assert kintsugi("compile", path, "-o", artifact, *RANGES, "--quiet", *how)[::2] == (0, "")
    runtime = onnxruntime.InferenceSession(path)
    random = np.random.default_rng(1)
    names = [port.name for port in runtime.get_outputs()]
    for batch, length in [*PAIRS, *reversed(PAIRS)]:  # What lies behind the elements of a run is of others.
        feeds = sized(runtime, batch, length, random)
        results = run(kintsugi, folder, artifact, feeds)
        assert not isinstance(results, str), results
        check({name: results[name] for name in names}, runtime.run(None, feeds), (make.__name__, how, batch, length))


@pytest.mark.parametrize("make", MODELS)
def test_each_pair_is_what_the_model_says(kintsugi, folder, level, make):
    check_pairs(kintsugi, folder, make, "--cpu-level", level)


@pytest.mark.parametrize("make", MODELS)
def test_the_reference_takes_each_pair(kintsugi, folder, make):
    check_pairs(kintsugi, folder, make, "--target", "reference")


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("make", MODELS)
def test_a_gpu_takes_each_pair(kintsugi, folder, make):
    check_pairs(kintsugi, folder, make, "--target", "cuda")


def test_a_session_compiles_once_for_all_pairs(folder):
    path = made(folder, encoder)
    runtime = onnxruntime.InferenceSession(path)
    session = package.InferenceSession(path, dims={"B": (1, BATCHES), "S": f"1..{LENGTHS}"}, cache=False)
    assert [port.shape for port in session.get_inputs()] == [["B", "S"], ["B", "S"]]
    assert [port.shape for port in session.get_outputs()] == [["B", "S", 64], ["B", 64]]
    random = np.random.default_rng(1)
    for batch, length in itertools.product(range(1, BATCHES + 1), range(1, LENGTHS + 1)):
        feeds = sized(runtime, batch, length, random)
        check(dict(zip("ym", session.run(None, feeds))), runtime.run(None, feeds), (batch, length))
    report = session.report()
    assert report["ranges"] == {"B": [1, BATCHES], "S": [1, LENGTHS]} and len(report["runs"]) == BATCHES * LENGTHS
    assert report["runs"][-1] == {"sizes": {"B": BATCHES, "S": LENGTHS}, "runs": 1}
    assert str(report).startswith(f"one artifact for B = 1 to {BATCHES}, S = 1 to {LENGTHS}, compiled in ")


def test_sizes_outside_and_shapes_that_disagree_are_errors(kintsugi, folder):
    session = package.InferenceSession(made(folder, encoder), dims={"B": (2, BATCHES), "S": (3, LENGTHS)})

    def feeds(batch, length, other=None):
        return {"ids": np.zeros((batch, length), np.int64), "padding": np.zeros((batch, other or length), np.float32)}

    session.run(None, feeds(2, 3))
    for batch, length, message in [
        (1, 3, "dimension 'B' is 1 .*; the artifact takes 2 to 5"),
        (6, 3, "dimension 'B' is 6 .*; the artifact takes 2 to 5"),
        (2, 2, "dimension 'S' is 2 .*; the artifact takes 3 to 12"),
        (2, 13, "dimension 'S' is 13 .*; the artifact takes 3 to 12"),
    ]:
        with pytest.raises(package.InputError, match=message):
            session.run(None, feeds(batch, length))
    with pytest.raises(package.InputError, match="input 'padding'"):
        session.run(None, feeds(2, 4, 5))
    artifact = folder / "pairs.kin"
    assert kintsugi("compile", folder / "encoder.onnx", "-o", artifact, *RANGES, "--quiet")[::2] == (0, "")
    message = run(kintsugi, folder, artifact, feeds(2, 13))
    assert "the model's input i64[5, 12] or fewer along dimension 0, from 1 on and 1, from 1 on" in message


@pytest.mark.parametrize(
    "make, reason",
    [
        (mean_of_both, "dimension 'B' can't be open in one artifact: a number depends on it and on 'S'"),
        (times_both, "dimension 'B' can't be open in one artifact"),
    ],
)
def test_what_depends_on_both_together_needs_one_size(kintsugi, folder, make, reason):
    code, _, errors = kintsugi("compile", made(folder, make), "-o", folder / "no.kin", *RANGES)
    assert code == 3 and reason in errors and "--dim B=N" in errors
    session = package.InferenceSession(made(folder, make), dims={"B": (1, 3), "S": (1, 4)})
    x = np.random.default_rng(0).standard_normal((2, 3, 8)[: len(session.get_inputs()[0].shape)]).astype(np.float32)
    runtime = onnxruntime.InferenceSession(folder / f"{make.__name__}.onnx")
    assert np.allclose(session.run(None, {"x": x})[0], runtime.run(None, {"x": x})[0], atol=1e-5)
    assert reason.split(":")[0] in session.report()["reason"]


def test_more_than_two_are_an_error(kintsugi, folder):
    saved(folder / "three.onnx", [node("Relu", "x", "y")], {}, [("x", 1, ["A", "B", "C"])], [("y", 1, ["A", "B", "C"])])
    dims = [word for name in "ABC" for word in ("--dim", f"{name}=1..4")]
    code, _, errors = kintsugi("compile", folder / "three.onnx", "-o", folder / "no.kin", *dims)
    assert code == 2 and "--dim C: 'A' and 'B' are open already; give one of them a size" in errors
    session = package.InferenceSession(folder / "three.onnx", dims={name: (1, 4) for name in "ABC"})
    assert session.run(None, {"x": np.ones((2, 3, 4), np.float32)})[0].shape == (2, 3, 4)
    assert "one artifact serves sizes of two" in session.report()["reason"]
