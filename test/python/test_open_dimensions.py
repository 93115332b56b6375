"""One artifact for a range of sizes of an open dimension: what ONNX Runtime says at each size, and what is no such model."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from fuzz_models import generate
from onnx import helper, numpy_helper

package = pytest.importorskip("kintsugi", reason="the package is not built; ./dev build makes it")

pytestmark = pytest.mark.usefixtures("own_cache")

HIGH = 8
SIZES = [1, 3, 5, 8]


def weights(random, *shape):
    return (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)


def saved(path, nodes, constants, inputs, outputs):
    """`inputs` and `outputs`: (name, type, shape), where 'N' is the open dimension."""
    values = [[helper.make_tensor_value_info(*each) for each in ports] for ports in (inputs, outputs)]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "model", *values, tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=outputs.split()[0] + "_of_" + op, **attributes)


def convolutions(path, w):
    nodes = [
        node("Conv", "x w1 b1", "c1", pads=[1, 1, 1, 1]),
        node("Relu", "c1", "r1"),
        node("Conv", "r1 w2", "c2", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("GlobalAveragePool", "c2", "p"),
        node("Flatten", "p", "f"),
        node("Gemm", "f w3", "y", transB=1),
    ]
    constants = {"w1": w(32, 3, 3, 3), "b1": w(32), "w2": w(64, 32, 3, 3), "w3": w(10, 64)}
    saved(path, nodes, constants, [("x", 1, ["N", 3, 30, 30])], [("y", 1, ["N", 10])])


def small_convolutions(path, w):
    """What an emulated GPU has the time for."""
    nodes = [node("Conv", "x w1 b1", "c1", pads=[1, 1, 1, 1]), node("Relu", "c1", "r1"), node("Flatten", "r1", "f")]
    nodes += [node("Gemm", "f w2", "y", transB=1)]
    constants = {"w1": w(8, 3, 3, 3), "b1": w(8), "w2": w(10, 8 * 64)}
    saved(path, nodes, constants, [("x", 1, ["N", 3, 8, 8])], [("y", 1, ["N", 10])])


def long_rows(path, w):
    """A few rows fill any processor's nearest cache, so tiles have no more."""
    saved(path, [node("Softmax", "x", "y", axis=-1)], {}, [("x", 1, ["N", 4096])], [("y", 1, ["N", 4096])])


def perceptron(path, w):
    nodes = [
        node("Gemm", "x w1 b1", "h"),
        node("Relu", "h", "r"),
        node("Gemm", "r w2", "z"),
        node("Softmax", "z", "y", axis=-1),
    ]
    constants = {"w1": w(256, 512), "b1": w(512), "w2": w(512, 100)}
    saved(path, nodes, constants, [("x", 1, ["N", 256])], [("y", 1, ["N", 100])])


def heads_of(x):
    """q2, k2 (transposed) and v2 of an encoder's layer, by head."""
    nodes = []
    for part in "qkv":
        nodes += [
            node("MatMul", f"{x} w{part}", f"{part}0"),
            node("Reshape", f"{part}0 split", f"{part}1"),
            node("Transpose", f"{part}1", f"{part}2", perm=[0, 2, 3, 1] if part == "k" else [0, 2, 1, 3]),
        ]
    return nodes


def joined(x):
    """The normalized y of heads p v2 and what they are added to."""
    return [
        node("MatMul", "p v2", "o"),
        node("Transpose", "o", "o1", perm=[0, 2, 1, 3]),
        node("Reshape", "o1 join", "o2"),
        node("Add", f"o2 {x}", "o3"),
        node("LayerNormalization", "o3 scale", "y"),
    ]


def attention(path, w):
    """An encoder's layer on positions of a table, with the mean of its tokens and their sum with one row for all."""
    length, heads, width, words = 24, 4, 64, 100
    nodes = [node("Gather", "table ids", "e"), node("Add", "e places", "x")]
    nodes += heads_of("x")
    nodes += [
        node("MatMul", "q2 k2", "s"),
        node("Softmax", "s", "p", axis=-1),
        *joined("x"),
        node("ReduceMean", "y", "m", axes=[1], keepdims=0),
        node("ArgMax", "m", "a", axis=1, keepdims=0),
    ]
    constants = {f"w{part}": w(width, width) for part in "qkv"}
    constants |= {"table": w(words, width), "places": w(length, width), "scale": w(width)}
    constants |= {"split": np.array([0, 0, heads, width // heads]), "join": np.array([0, 0, width])}
    outputs = [("y", 1, ["N", length, width]), ("m", 1, ["N", width]), ("a", 7, ["N"])]
    saved(path, nodes, constants, [("ids", 7, ["N", length])], outputs)


def padded_encoder(path, w, batch, length, longest, pooling):
    """An encoder's layer of sentences whose padding is hidden by an input, and what `pooling` makes of their tokens: scores are
    of tokens by tokens."""
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
        node(pooling, "y", "m", axes=[1], keepdims=0),
    ]
    constants = {f"w{part}": w(width, width) for part in "qkv"}
    constants |= {"table": w(words, width), "places": w(longest, width), "scale": w(width), "quarter": np.float32(0.25)}
    constants |= {"split": np.array([0, 0, heads, width // heads]), "join": np.array([0, 0, width])}
    constants |= {"zero": np.array([0]), "middle": np.array([1, 2])}
    outputs = [("y", 1, [batch, length, width]), ("m", 1, [batch, width])]
    saved(path, nodes, constants, [("ids", 7, [batch, length]), ("padding", 1, [batch, length])], outputs)


def lengths(path, w):
    padded_encoder(path, w, 2, "N", 16, "ReduceMax")


def recurrence(path, w):
    """Steps come first, so the open dimension is in the middle."""
    constants = {"w": w(1, 128, 16), "r": w(1, 128, 32), "b": w(1, 256)}
    outputs = [("y", 1, [20, 1, "N", 32]), ("h", 1, [1, "N", 32])]
    saved(path, [node("LSTM", "x w r b", "y h", hidden_size=32)], constants, [("x", 1, [20, "N", 16])], outputs)


def many_rows(path, w):
    """Each step has several rows of one product, and an output has so many rows more."""
    nodes = [node("Reshape", "x rows", "r"), node("MatMul", "r w", "p"), node("Tanh", "p", "y")]
    constants = {"rows": np.array([-1, 48]), "w": w(48, 80)}
    saved(path, nodes, constants, [("x", 1, ["N", 7, 48])], [("y", 1, None)])


def numbered(path, w):
    """What only the size shapes, as an output and beside an input."""
    nodes = [
        node("Shape", "x", "n", start=0, end=1),
        node("Squeeze", "n", "count"),
        node("Range", "zero count one", "numbers"),
        node("Unsqueeze", "numbers one_axis", "rows"),
        node("Cast", "rows", "reals", to=1),
        node("Add", "x reals", "y"),
        node("Concat", "n three", "shape", axis=0),
        node("Expand", "row shape", "z"),
    ]
    constants = {"zero": np.int64(0), "one": np.int64(1), "one_axis": np.array([1]), "three": np.array([3]), "row": w(3)}
    saved(path, nodes, constants, [("x", 1, ["N", 3])], [("numbers", 7, ["N"]), ("y", 1, ["N", 3]), ("z", 1, ["N", 3])])


def batch_mean(path, w):
    """Sums over the open dimension, and numbers that depend on how long it is."""
    nodes = [node("ReduceMean", "x", "m", axes=[0], keepdims=1), node("Sub", "x m", "y")]
    saved(path, nodes, {}, [("x", 1, ["N", 8])], [("y", 1, ["N", 8])])


def mean_of_sizes(path, w):
    """Rows stay apart, but what is added to them is the size."""
    nodes = [node("Shape", "x", "s"), node("Cast", "s", "f", to=1), node("Add", "x f", "y")]
    saved(path, nodes, {}, [("x", 1, ["N", 2])], [("y", 1, ["N", 2])])


def neighbours(path, w):
    nodes = [node("Conv", "x w", "y", pads=[1, 1])]
    saved(path, nodes, {"w": w(4, 4, 3)}, [("x", 1, [1, 4, "N"])], [("y", 1, [1, 4, "N"])])


def transposed(path, w):
    saved(path, [node("Transpose", "x", "t"), node("MatMul", "x t", "y")], {}, [("x", 1, ["N", 8])], [("y", 1, None)])


def made(folder, make):
    random = np.random.default_rng(0)
    path = folder / f"{make.__name__}.onnx"
    make(path, lambda *shape: weights(random, *shape))
    return path


def feeds_of(runtime, size, random):
    return feeds_at(runtime, {"N": size}, random)


def feeds_at(runtime, sizes, random):
    """`sizes`: of the open dimensions, by name."""
    feeds = {}
    for port in runtime.get_inputs():
        shape = [sizes.get(extent, extent) for extent in port.shape]
        is_float = "float" in port.type
        feeds[port.name] = random.standard_normal(shape).astype(np.float32) if is_float else random.integers(0, 100, shape)
    return feeds


def run(kintsugi, folder, artifact, feeds):
    """Outputs by name, or the message of a failure."""
    np.savez(folder / "feeds.npz", **feeds)
    results = folder / "results.npz"
    code, _, errors = kintsugi("run", artifact, "--inputs", folder / "feeds.npz", "--outputs", results, "--quiet")
    return dict(np.load(results)) if code == 0 else errors


def check(results, wanted, about):
    for (name, result), want in zip(results.items(), wanted):
        assert result.shape == want.shape, (about, name)
        if want.dtype.kind in "iub":
            assert (result == want).all(), (about, name)
        else:
            # Elements that are not finite are the same ones.
            finite = np.isfinite(want)
            assert (np.isfinite(result) == finite).all(), (about, name)
            size = np.abs(want[finite]).max(initial=1e-30)
            assert np.abs(result[finite] - want[finite]).max(initial=0) <= 2e-4 * size, (about, name)


MODELS = [convolutions, perceptron, attention, lengths, numbered, batch_mean, recurrence, many_rows]


def dims(ranges):
    return [word for name, (low, high) in ranges.items() for word in ("--dim", f"{name}={low}..{high}")]


def check_ranges(kintsugi, folder, make, ranges, all_sizes, *how):
    """Of an artifact for ranges, each of the sizes, by name."""
    path, artifact = made(folder, make), folder / f"{make.__name__}.kin"
    code, _, errors = kintsugi("compile", path, "-o", artifact, *dims(ranges), "--quiet", *how)
    assert (code, errors) == (0, "")
    runtime = onnxruntime.InferenceSession(path)
    random = np.random.default_rng(1)
    names = [port.name for port in runtime.get_outputs()]
    for sizes in [*all_sizes, *reversed(all_sizes)]:
        feeds = feeds_at(runtime, sizes, random)
        results = run(kintsugi, folder, artifact, feeds)
        assert not isinstance(results, str), results
        check({name: results[name] for name in names}, runtime.run(None, feeds), (make.__name__, how, sizes))


def check_sizes(kintsugi, folder, make, *how):
    check_ranges(kintsugi, folder, make, {"N": (1, HIGH)}, [{"N": size} for size in SIZES], *how)


@pytest.mark.parametrize("make", MODELS)
def test_each_size_is_what_the_model_says(kintsugi, folder, level, make):
    check_sizes(kintsugi, folder, make, "--cpu-level", level)


@pytest.mark.parametrize("make", MODELS)
def test_the_reference_takes_each_size(kintsugi, folder, make):
    check_sizes(kintsugi, folder, make, "--target", "reference")


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("make", [small_convolutions, perceptron, lengths, batch_mean, recurrence, many_rows])
def test_a_gpu_takes_each_size(kintsugi, folder, make):
    check_sizes(kintsugi, folder, make, "--target", "cuda")


@pytest.mark.parametrize(
    "how",
    ["--target cpu", "--target cuda", "--target cuda --precision f16", "--target cpu --precision bf16 --max-error 0.004"],
)
def test_parts_that_are_planned_side_by_side_are_the_same(kintsugi, folder, how):
    path = made(folder, perceptron)
    artifacts = [folder / f"{threads}.kin" for threads in (1, 5)]
    for artifact in artifacts:
        words = *how.split(), "--threads", artifact.stem
        assert kintsugi("compile", path, "-o", artifact, "--dim", "N=1..6", "--quiet", *words)[::2] == (0, "")
    one, five = (artifact.read_bytes() for artifact in artifacts)
    assert one == five


def test_profiles_tell_of_the_plan_of_their_size(kintsugi, folder):
    path, artifact, feeds = made(folder, perceptron), folder / "perceptron.kin", folder / "feeds.npz"
    runtime = onnxruntime.InferenceSession(path)
    assert kintsugi("compile", path, "-o", artifact, "--dim", "N=1..64", "--quiet")[::2] == (0, "")
    operations = {}
    for size in (1, 60, 64):
        np.savez(feeds, **feeds_of(runtime, size, np.random.default_rng(1)))
        for verb in ("bench", "profile"):
            code, text, errors = kintsugi(verb, artifact, "--inputs", feeds, "--seconds", 0.05, "--json", folder / "told.json")
            assert (code, errors) == (0, "")
            told = json.loads((folder / "told.json").read_text())
            least, greatest = told["sizes"]["N"]
            assert least <= size <= greatest and greatest < 2 * max(size, 2)
        assert f"the mean over N={least}" in text
        operations[size] = sum(stage["operations"] for stage in told["stages"])
    assert operations[1] <= operations[64] / 16 and operations[60] <= operations[64]


def test_profiles_count_the_tiles_that_a_size_needs(kintsugi, folder):
    path, artifact, feeds = made(folder, long_rows), folder / "long_rows.kin", folder / "feeds.npz"
    runtime = onnxruntime.InferenceSession(path)
    assert kintsugi("compile", path, "-o", artifact, "--dim", "N=1..1024", "--quiet")[::2] == (0, "")
    told = {}
    for size in (900, 1020):
        np.savez(feeds, **feeds_of(runtime, size, np.random.default_rng(1)))
        how = "--inputs", feeds, "--seconds", 0.05, "--json", folder / "told.json"
        assert kintsugi("profile", artifact, *how)[0] == 0
        told[size] = json.loads((folder / "told.json").read_text())
    assert told[900]["sizes"] == told[1020]["sizes"]
    fewer, more = (sum(stage["operations"] for stage in told[size]["stages"]) for size in (900, 1020))
    assert 0.8 < fewer / more < 0.95


def test_a_size_outside_is_an_error(kintsugi, folder):
    path, artifact = made(folder, perceptron), folder / "perceptron.kin"
    assert kintsugi("compile", path, "-o", artifact, "--dim", "N=2..5", "--quiet")[::2] == (0, "")
    for size in (1, 6):
        message = run(kintsugi, folder, artifact, {"x": np.zeros((size, 256), np.float32)})
        assert f"array 'x' is f32[{size}, 256], the model's input f32[5, 256] or fewer along dimension 0, from 2 on" in message
    assert run(kintsugi, folder, artifact, {"x": np.zeros((2, 256), np.float32)})["y"].shape == (2, 100)


@pytest.mark.parametrize(
    "make, reason",
    [
        (neighbours, "node 'y_of_Conv' mixes what belongs to different steps of it"),
        (transposed, "output 'y' has it twice"),
        (mean_of_sizes, "'s' is something else at the size 1"),
    ],
)
def test_what_mixes_sizes_needs_one(kintsugi, folder, make, reason):
    code, _, errors = kintsugi("compile", made(folder, make), "-o", folder / "no.kin", "--dim", f"N=1..{HIGH}")
    assert code == 3 and reason in errors and "--dim N=N" in errors


@pytest.mark.parametrize(
    "text, reason",
    [
        ("N=3..2", "a range is LOW..HIGH, two integers from 1 on"),
        ("N=0..2", "a range is LOW..HIGH, two integers from 1 on"),
        ("N=1..", "N must be an integer of at least 0"),
        ("M=1..2", "the model has no open dimension of that name"),
    ],
)
def test_what_is_no_range(kintsugi, folder, text, reason):
    code, _, errors = kintsugi("compile", made(folder, perceptron), "-o", folder / "no.kin", "--dim", text)
    assert code == 2 and reason in errors


def test_what_is_of_one_size_takes_no_range(kintsugi, folder):
    path, feeds = made(folder, perceptron), folder / "feeds.npz"
    random = np.random.default_rng(1)
    np.savez(feeds, **feeds_of(onnxruntime.InferenceSession(path), HIGH, random))
    sizes = "--dim", f"N=1..{HIGH}"
    code, _, errors = kintsugi("compare", path, *sizes, "--per-kernel")
    assert code == 2 and "--per-kernel compares kernels of one size; give it one (--dim N=N)" in errors
    code, _, errors = kintsugi("bench", path, *sizes, "--precision", "f16", "--calibrate", feeds)
    assert code == 2 and "its arrays are of one size, and --dim N is a range" in errors


@pytest.mark.parametrize("make", MODELS)
def test_a_session_compiles_once_for_a_range(folder, make):
    path = made(folder, make)
    runtime = onnxruntime.InferenceSession(path)
    session = package.InferenceSession(path, dims={"N": (1, HIGH)}, cache=False)
    assert any("N" in port.shape for port in session.get_inputs())
    random = np.random.default_rng(1)
    for size in SIZES:
        feeds = feeds_of(runtime, size, random)
        names = [port.name for port in runtime.get_outputs()]
        results = session.run(names, feeds)
        check(dict(zip(names, results)), runtime.run(None, feeds), (make.__name__, size))
        binding = session.io_binding()
        for name, array in feeds.items():
            binding.bind_cpu_input(name, array)
        rooms = {name: np.empty_like(result) for name, result in zip(names, results)}
        for name, room in rooms.items():
            binding.bind_output(name) if room.dtype.kind == "i" else binding.bind_output(name, "cpu")
        session.run_with_iobinding(binding)
        for one, other in zip(binding.copy_outputs_to_cpu(), results):
            assert (one == other).all()


def test_a_session_says_which_sizes_there_are(folder):
    session = package.InferenceSession(made(folder, perceptron), dims={"N": "2..5"})
    assert session.get_inputs()[0].shape == ["N", 256] and session.get_outputs()[0].shape == ["N", 100]
    for size in (1, 6):
        with pytest.raises(package.InputError, match=f"dimension 'N' is {size} .*; the artifact takes 2 to 5"):
            session.run(None, {"x": np.zeros((size, 256), np.float32)})
    with pytest.raises(package.InputError, match="the model's is"):
        session.run(None, {"x": np.zeros((3, 255), np.float32)})


def test_a_session_of_a_file_takes_its_sizes(kintsugi, folder):
    artifact = folder / "file.kin"
    assert kintsugi("compile", made(folder, many_rows), "-o", artifact, "--dim", "N=1..4", "--quiet")[::2] == (0, "")
    session = package.InferenceSession(artifact)
    assert session.run(None, {"x": np.zeros((3, 7, 48), np.float32)})[0].shape == (21, 80)
    assert session.report() == {"ranges": {"N": [1, 4]}, "runs": [{"sizes": {"N": 3}, "runs": 1}]}
    with pytest.raises(package.UsageError, match="is an artifact already: .*'N' may be; it takes N from 1 to 4; leave it out"):
        package.InferenceSession(artifact, dims={"N": (1, 2)})


def test_a_session_reports_which_sizes_of_a_range_it_ran(folder):
    session = package.InferenceSession(made(folder, perceptron), dims={"N": (1, 6)})
    for size in (5, 2, 5):
        session.run(None, {"x": np.zeros((size, 256), np.float32)})
    report = session.report()
    runs = [{"sizes": {"N": 2}, "runs": 1}, {"sizes": {"N": 5}, "runs": 2}]
    assert report["ranges"] == {"N": [1, 6]} and report["runs"] == runs
    assert report["seconds"] > 0 and not report["cached"]
    assert str(report).startswith("one artifact for N = 1 to 6, compiled in ") and "N = 5: 2 runs" in str(report)
    assert package.InferenceSession(made(folder, perceptron), dims={"N": (1, 6)}).report()["cached"]


def of_two(path, w):
    """A second dimension is open, too."""
    saved(path, [node("Relu", "x", "y")], {}, [("x", 1, ["N", "M"])], [("y", 1, ["N", "M"])])


@pytest.mark.parametrize(
    "make, sizes, reason",
    [
        (neighbours, (1, HIGH), "node 'y_of_Conv' mixes what belongs to different steps of it"),
        (perceptron, range(2, 9, 2), "serves all sizes from one to another"),
        (perceptron, (0, 2), "from 1 on"),
        (of_two, (1, 4), "dims says nothing of M"),
    ],
)
def test_a_session_reports_why_it_compiles_for_each_size(folder, make, sizes, reason):
    report = package.InferenceSession(made(folder, make), dims={"N": sizes}).report()
    assert reason in report["reason"] and f"compiled for each size: {report['reason']}" in str(report)
    assert package.InferenceSession(made(folder, make)).report()["reason"] is None


def test_names_do_not_decide_what_a_session_does(folder):
    """A node whose name is what the compiler says of another fault."""
    rows = node("Gather", "table place", "row")
    rows.name = "can't be open in one artifact"
    nodes = [node("Shape", "x", "n", start=0, end=1), node("Sub", "n one", "place"), rows, node("Add", "x row", "y")]
    constants = {"table": weights(np.random.default_rng(0), 4, 3), "one": np.array([1])}
    saved(folder / "named.onnx", nodes, constants, [("x", 1, ["N", 3])], [("y", 1, ["N", 3])])
    with pytest.raises(package.InputError, match="is outside .*, at N = 6"):
        package.InferenceSession(folder / "named.onnx", dims={"N": (1, 6)})


def test_an_error_at_a_size_names_it(kintsugi, folder):
    """Four positions, and a window of three steps."""
    table = node("Slice", "table zero n", "rows")
    positions = [node("Shape", "x", "n", start=0, end=1), table, node("Add", "x rows", "y")]
    constants = {"table": weights(np.random.default_rng(0), 4, 3), "zero": np.array([0])}
    saved(folder / "positions.onnx", positions, constants, [("x", 1, ["N", 3])], [("y", 1, ["N", 3])])
    window = [node("MaxPool", "x", "y", kernel_shape=[3])]
    saved(folder / "window.onnx", window, {}, [("x", 1, [1, 2, "N"])], [("y", 1, [1, 2, "M"])])
    for name, sizes, size in (("positions", "1..5", 5), ("window", "1..4", 1)):
        for verb in (["compile", "-o", folder / "no.kin"], ["inspect"]):
            code, _, errors = kintsugi(*verb, folder / f"{name}.onnx", "--dim", f"N={sizes}")
            assert code == 3 and errors.rstrip().endswith(f", at N = {size}")
        with pytest.raises(package.InputError, match=f", at N = {size}"):
            package.InferenceSession(folder / f"{name}.onnx", dims={"N": sizes})


def test_a_session_compiles_for_each_size_where_steps_mix(folder):
    path = made(folder, neighbours)
    runtime = onnxruntime.InferenceSession(path)
    session = package.InferenceSession(path, dims={"N": (1, HIGH)})
    for size in (2, 5):
        x = np.random.default_rng(0).standard_normal((1, 4, size)).astype(np.float32)
        assert np.allclose(session.run(None, {"x": x})[0], runtime.run(None, {"x": x})[0], atol=1e-5)
    assert len(session.report()["specializations"]) == 2


def check_spoiled(session, path, runs):
    """`runs`: sizes by name, each with greater ones that run ahead of it and leave what is no number."""
    runtime = onnxruntime.InferenceSession(path)
    random = np.random.default_rng(1)
    names = [port.name for port in runtime.get_outputs()]
    for sizes, greater in runs:
        for ahead in greater:
            spoiled = feeds_at(runtime, ahead, random)
            for array in spoiled.values():
                if array.dtype == np.float32:
                    array[:] = np.nan
            session.run(None, spoiled)
        feeds = feeds_at(runtime, sizes, random)
        check(dict(zip(names, session.run(names, feeds))), runtime.run(None, feeds), (path, sizes))


@pytest.mark.parametrize("make", [lengths, batch_mean])
def test_what_an_earlier_run_left_is_not_summed(folder, make):
    """NaN wherever a longer run has been."""
    path = made(folder, make)
    session = package.InferenceSession(path, dims={"N": (1, HIGH)}, cache=False)
    check_spoiled(session, path, [({"N": size}, [{"N": HIGH}]) for size in (8, 7, 6, 5, 4, 3, 2, 1)])


def opened(model, size):
    """The model with the first dimension of inputs open where it is `size`."""
    for port in model.graph.input:
        if (dims := port.type.tensor_type.shape.dim) and dims[0].dim_value == size:
            dims[0].dim_param = "N"
    del model.graph.value_info[:]
    for port in model.graph.output:
        port.type.tensor_type.ClearField("shape")
    return model


def sizes_of(graph):
    return {value.shape[0] for value in graph.inputs.values() if value.shape and 2 <= value.shape[0] <= 12}


def check_random(kintsugi, folder, seed):
    """Of a random model what each of its sizes may be: how many of them one artifact could serve."""
    graph = generate.make(generate.program_of(seed))
    served = 0
    for size in sorted(sizes_of(graph[0])) if graph else ():
        path, artifact = folder / "random.onnx", folder / "random.kin"
        onnx.save(opened(graph[0].model(), size), path)
        if kintsugi("compile", path, "-o", artifact, "--dim", f"N=1..{size}", "--quiet")[0] != 0:
            continue
        served += 1
        whole = graph[0].feeds()
        open_inputs = [port.name for port in onnx.load(path).graph.input if "N" in str(port.type)]
        quiet = onnxruntime.SessionOptions()
        quiet.log_severity_level = 4
        runtime = onnxruntime.InferenceSession(path, quiet)
        for part in {1, size - 1, size}:
            feeds = {name: array[:part] if name in open_inputs else array for name, array in whole.items()}
            results = run(kintsugi, folder, artifact, feeds)
            assert isinstance(results, dict), (seed, size, part, results)
            try:
                wanted = runtime.run(list(results), feeds)
            except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument:
                continue  # Graphs in the model say shapes of their own.
            check(results, wanted, (seed, size, part))
    return served


def test_random_models_are_served_right_or_refused(kintsugi, folder):
    served = sum(check_random(kintsugi, folder, seed) for seed in range(40))
    assert served >= 3  # Or nothing was looked at.
