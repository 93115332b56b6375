"""The package kintsugi: the same code runs a model through it and through ONNX Runtime, with the same results."""

import concurrent.futures
import ctypes
import functools
import inspect
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import materialize
import ml_dtypes
import models
import numpy as np
import onnx
import onnxruntime
import policy
import pytest
from onnx import TensorProto, helper

kintsugi = pytest.importorskip("kintsugi", reason="the package is not built; ./dev build makes it")

from kintsugi import _dlpack

DIGITS = models.ROOT / "examples/digits/digits.onnx"


pytestmark = pytest.mark.usefixtures("own_cache")


def artifacts(folder):
    return [path for path in folder.rglob("*") if path.is_file() and path.read_bytes()[:8] == b"KINTSUGI"]


def images(session):
    return np.random.default_rng(7).standard_normal(session.get_inputs()[0].shape, np.float32)


def save(folder, inputs, nodes, outputs):
    """A model of opset 21 whose inputs and outputs are (name, type, shape)."""
    ports = [[helper.make_tensor_value_info(*port) for port in side] for side in (inputs, outputs)]
    nodes = [helper.make_node(kind, taken, [made], **attributes) for kind, taken, made, attributes in nodes]
    graph = helper.make_graph(nodes, "graph", *ports)
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


def compared(path, feeds, model=None, **options):
    """Runs a model through both packages by the same code."""
    ours = kintsugi.InferenceSession(path, **options)
    theirs = onnxruntime.InferenceSession(str(model or path), providers=["CPUExecutionProvider"])
    for side in ("get_inputs", "get_outputs"):
        for own, other in zip(getattr(ours, side)(), getattr(theirs, side)(), strict=True):
            assert (own.name, own.type, own.shape) == (other.name, other.type, other.shape)
    depths = policy.depth(onnx.load(path, load_external_data=False))
    names = [port.name for port in theirs.get_outputs()]
    for name, got, expected in zip(names, ours.run(None, feeds), theirs.run(None, feeds), strict=True):
        assert got.dtype == expected.dtype and got.shape == expected.shape
        assert policy.difference(got, expected) <= policy.tolerance(expected.dtype, depths[name])


def test_digits():
    session = kintsugi.InferenceSession(DIGITS)
    compared(DIGITS, {"images": images(session)})


@pytest.mark.parametrize("name", ["mmoe", "resnet18"])
def test_zoo(name):
    (path,) = models.choose([name])
    feeds = materialize.inputs(onnx.load(path, load_external_data=False))
    with models.workspace(name) as folder:
        compared(path, feeds, models.with_weights(path, folder), random_weights=True)


def test_options_as_object_and_as_keywords(own_cache):
    options = kintsugi.SessionOptions()
    options.intra_op_num_threads = 1
    options.cache = False
    before = len(artifacts(own_cache))
    one = kintsugi.InferenceSession(str(DIGITS), options, providers=["CPUExecutionProvider"])
    two = kintsugi.InferenceSession(DIGITS, threads=2, cache=False)
    assert len(artifacts(own_cache)) == before
    x = images(one)
    assert one.run(["probabilities"], {"images": x})[0].tobytes() == two.run(None, {"images": x})[0].tobytes()
    with pytest.raises(AttributeError):
        options.opset = 3


def test_precision():
    options = kintsugi.SessionOptions()
    options.precision = "f16"
    half, also = kintsugi.InferenceSession(DIGITS, options), kintsugi.InferenceSession(DIGITS, precision="f16")
    exact = kintsugi.InferenceSession(DIGITS)
    x = {"images": images(exact)}
    (a,), (b,), (c,) = (session.run(None, x) for session in (half, also, exact))
    assert a.dtype == np.float32 and a.tobytes() == b.tobytes() != c.tobytes()
    assert np.abs(a - c).max() < 1e-2
    with pytest.raises(kintsugi.UsageError, match="use f32, f16 or bf16"):
        kintsugi.InferenceSession(DIGITS, precision="f8")


@pytest.mark.parametrize("cache", [True, False])
def test_notes_tell_what_is_assumed(tmp_path, cache):
    model = tmp_path / "masked.te"
    model.write_text(
        "input q[i:256, d:32] f32\ninput k[c:256, d:32] f32\n"
        "s[i:256, c:256] f32 = sum<f32>[d:32] q[i, d] * k[c, d]\n"
        "x[i:256, c:256] f32 = cases { i32{c} <= i32{i}: s[i, c]; else: -inf }\n"
        "m[i:256] f32 = max<f32>[c:256] x[i, c]\ne[i:256, c:256] f32 = exp(x[i, c] - m[i])\n"
        "t[i:256] f32 = sum<f32>[c:256] e[i, c]\np[i:256, c:256] f32 = e[i, c] / t[i]\n"
        "o[i:256, d:32] f32 = sum<f32>[c:256] p[i, c] * k[c, d]\noutput o\n"
    )
    for _ in range(2):  # The second finds it in the cache.
        notes = kintsugi.InferenceSession(model, cache=cache).notes
        assert any("assumed to be finite" in note for note in notes), notes


def test_open_dimensions_that_are_given_a_size(tmp_path):
    path = save(tmp_path, [("x", 1, ["batch", 3])], [("Relu", ["x"], "y", {})], [("y", 1, ["batch", 3])])
    options = kintsugi.SessionOptions()
    options.add_free_dimension_override_by_name("batch", 5)
    assert kintsugi.InferenceSession(path, options).get_outputs()[0].shape == [5, 3]
    for size in (2, np.int64(2)):
        assert kintsugi.InferenceSession(path, dims={"batch": size}).get_inputs()[0].shape == [2, 3]


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8", "int32", "int64", "bool", "bfloat16"])
def test_types(tmp_path, dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    number = helper.np_dtype_to_tensor_dtype(dtype)
    path = save(tmp_path, [("x", number, [2, 3])], [("Transpose", ["x"], "y", {})], [("y", number, [3, 2])])
    x = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    (y,) = kintsugi.InferenceSession(path).run(None, {"x": x})
    assert y.dtype == dtype and y.tobytes() == x.T.tobytes()


def test_outputs_by_name(tmp_path):
    outputs = [("big", 1, [2]), ("where", 7, [2])]
    nodes = [("ReduceMax", ["x", "axes"], "big", {"keepdims": 0}), ("ArgMax", ["x"], "where", {"axis": 1, "keepdims": 0})]
    nodes.insert(0, ("Constant", [], "axes", {"value_ints": [1]}))
    path = save(tmp_path, [("x", 1, [2, 3])], nodes, outputs)
    session = kintsugi.InferenceSession(path)
    x = np.array([[1, 5, 2], [9, 7, 8]], np.float32)
    where, big = session.run(["where", "big"], {"x": x})
    assert where.tolist() == [1, 0] and big.tolist() == [5, 9]
    for everything in (None, []):
        assert [y.tolist() for y in session.run(everything, {"x": x})] == [[5, 9], [1, 0]]


class Counting:
    """In place of the native session, as no operator that is compiled yet makes shapes of data."""

    def __init__(self, *_):
        pass

    def inputs(self):
        return [("x", 1, [2, 3], False)]

    def outputs(self):
        return [("y", 7, [2, 6], True)]

    def open_dimensions(self):
        return {}

    def run(self, inputs, outputs, order):
        x = np.frombuffer((ctypes.c_float * 6).from_address(inputs[0]), np.float32).reshape(2, 3)
        output = np.frombuffer((ctypes.c_int64 * 12).from_address(outputs[0]), np.int64)
        count = np.count_nonzero(x)
        output[: 2 * count] = np.array(np.nonzero(x)).reshape(-1)
        return [[2, count]]


def test_shapes_that_depend_on_data(monkeypatch):
    monkeypatch.setattr(kintsugi._capi, "Session", Counting)
    session = kintsugi.InferenceSession(DIGITS)
    assert session.get_outputs()[0].shape == [None, None]
    x = np.array([[0, 1, 0], [2, 0, 3]], np.float32)
    assert session.run(None, {"x": x})[0].tolist() == [[0, 1, 1], [1, 0, 2]]
    assert session.run(None, {"x": 0 * x})[0].shape == (2, 0)


def test_feeds_need_not_be_dense_or_writable_or_aligned():
    session = kintsugi.InferenceSession(DIGITS)
    x = images(session)
    expected = session.run(None, {"images": x})[0].tobytes()
    frozen = x.copy()
    frozen.flags.writeable = False
    shifted = np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)
    assert not shifted.flags.aligned
    for feed in (np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2], frozen, shifted):
        assert session.run(None, {"images": feed})[0].tobytes() == expected


@pytest.mark.parametrize("size", [1, 100, 16384, 16385, 100000])
def test_results_are_arrays_of_their_own(tmp_path, size):
    ports = [(name, onnx.TensorProto.FLOAT, [size]) for name in "xy"]
    session = kintsugi.InferenceSession(save(tmp_path, ports[:1], [("Neg", ["x"], "y", {})], ports[1:]))
    x = np.arange(size, dtype=np.float32)

    class Own(np.ndarray):
        pass

    results = [session.run(None, {"x": feed})[0] for feed in (x, x + 1, (x + 2).view(Own), (x + 3).astype(object).astype("f4"))]
    for number, y in enumerate(results):
        np.testing.assert_array_equal(y, -(x + number))
        assert y.flags.writeable and type(y) is np.ndarray
        assert y.nbytes <= 64 << 10 or y.ctypes.data % 64 == 0
    with pytest.raises(kintsugi.InputError, match="is >f4|is float32"):
        session.run(None, {"x": x.astype(">f4")})


def decoder(folder):
    """A step that moves a cache on by one, and looks at both what was in it and what is."""
    f32, i64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
    graph = helper.make_graph(
        [
            helper.make_node("Slice", ["past", "one", "eight", "axis"], ["kept"]),
            helper.make_node("Concat", ["kept", "new"], ["present"], axis=1),
            helper.make_node("MatMul", ["present", "query"], ["scores"]),
            helper.make_node("ReduceSum", ["past", "axis"], ["before"], keepdims=0),
            helper.make_node("Identity", ["query"], ["same"]),
        ],
        "graph",
        [helper.make_tensor_value_info(*port) for port in (("past", f32, [3, 8, 16]), ("new", f32, [3, 1, 16]), ("query", f32, [16, 4]))],
        [
            helper.make_tensor_value_info(*port)
            for port in (("present", f32, [3, 8, 16]), ("scores", f32, [3, 8, 4]), ("before", f32, [3, 16]), ("same", f32, [16, 4]))
        ],
        [onnx.numpy_helper.from_array(np.array([value]), name) for name, value in (("one", 1), ("eight", 8), ("axis", 1))],
    )
    path = folder / "decoder.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


@pytest.mark.parametrize("offset", [0, 1, 16, 100])
def test_outputs_may_be_bound_where_inputs_are(tmp_path, offset):
    session = kintsugi.InferenceSession(decoder(tmp_path), threads=2)
    random = np.random.default_rng(offset)
    memory = random.standard_normal(1000).astype(np.float32)
    past, present = (memory[at : at + 384].reshape(3, 8, 16) for at in (100, 100 + offset))
    scores, query = memory[600:696].reshape(3, 8, 4), memory[650:714].reshape(16, 4)
    same, new = memory[720:784].reshape(16, 4), memory[740:788].reshape(3, 1, 16)
    binding = session.io_binding()
    for name, array in dict(past=past, new=new, query=query).items():
        binding.bind_input(name, array)
    for name, array in dict(present=present, scores=scores, same=same).items():
        binding.bind_output(name, array)
    binding.bind_output("before")
    for _ in range(4):
        memory[600:] = random.standard_normal(400)
        expected = np.concatenate([past[:, 1:], new], axis=1)
        results = expected, expected @ query, query.copy(), past.sum(axis=1)
        session.run_with_iobinding(binding)
        for found, wanted in zip((present, scores, same, binding.get_outputs()[3]), results, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    binding.bind_output("same", memory[600:664].reshape(16, 4))
    with pytest.raises(kintsugi.UsageError, match="output 'same' overlaps output 'scores'"):
        session.run_with_iobinding(binding)


@pytest.mark.parametrize(
    ("names", "feeds", "message"),
    [
        (None, {}, "there is no array for 'images'"),
        (None, {"images": "good", "more": "good"}, "no input 'more'; its inputs: images"),
        (["labels"], {"images": "good"}, "no output 'labels'; its outputs: probabilities"),
        (None, {"images": np.zeros((1, 1, 8, 8), np.float32)}, r"is float32\[1, 1, 8, 8\].*\[449, 1, 8, 8\]"),
        (None, {"images": np.zeros((449, 1, 8, 8))}, "is float64"),
    ],
)
def test_wrong_feeds(names, feeds, message):
    session = kintsugi.InferenceSession(DIGITS)
    feeds = {name: images(session) if isinstance(array, str) else array for name, array in feeds.items()}
    with pytest.raises(kintsugi.InputError, match=message):
        session.run(names, feeds)


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        ("absent.onnx", {}, kintsugi.InputError, "absent.onnx: can't read"),
        (DIGITS, {"threads": -1}, kintsugi.UsageError, "threads"),
        (DIGITS, {"dims": {"batch": 3}}, kintsugi.UsageError, "no open dimension"),
        (DIGITS, {"max_memory": "4GiB"}, kintsugi.UsageError, "must be a number of bytes, at least 1048576"),
        (DIGITS, {"providers": ["TensorrtExecutionProvider"]}, kintsugi.UsageError, "only .*CPUExecutionProvider"),
        (DIGITS, {"device": "cuda:99"}, kintsugi.MachineError, "NVIDIA"),
        (DIGITS, {"device": "tpu"}, kintsugi.UsageError, "tpu"),
        (DIGITS, {"device": 0}, kintsugi.UsageError, "device is int; it takes 'cpu'"),
        (DIGITS, {"providers": "CPUExecutionProvider"}, kintsugi.UsageError, "providers is a list"),
        (DIGITS, {"providers": [("CUDAExecutionProvider", {"device_id": "a"})]}, kintsugi.UsageError, "cuda:a"),
        (DIGITS, {"bind": 5}, kintsugi.UsageError, "bind is int; it takes arrays"),
        (DIGITS, {"calibrate": np.zeros(3)}, kintsugi.UsageError, "calibrate is ndarray; it takes arrays by"),
        (DIGITS, {"dims": 5}, kintsugi.UsageError, "dims is int; it takes sizes"),
        (DIGITS, {"disable": 5}, kintsugi.UsageError, "disable is int; it takes a list"),
        (DIGITS, {"disable": [5]}, kintsugi.UsageError, "--disable 5"),
        (DIGITS, {"plan": "best"}, kintsugi.UsageError, "best"),
        (DIGITS, {"disable": ["no-such-rule"]}, kintsugi.UsageError, "no-such-rule"),
        (DIGITS, {"opset": 3}, TypeError, "no option 'opset'"),
        (b"model", {}, kintsugi.InputError, "^<bytes>: "),
        (b"\xff\xff", {"fallback": "onnxruntime"}, kintsugi.InputError, "^<bytes>: "),
        (onnx.ModelProto(), {}, kintsugi.UsageError, r"protocol buffer: give its SerializeToString\(\)"),
        (5, {}, kintsugi.UsageError, "a model is a path or bytes, and this is int"),
        ("model.onnx\0.kin", {}, kintsugi.UsageError, "zero byte"),
    ],
)
def test_wrong_sessions(model, options, error, message):
    assert issubclass(error, (kintsugi.Error, TypeError))
    with pytest.raises(error, match=message):
        kintsugi.InferenceSession(model, **options)


@pytest.mark.parametrize("cached", [True, False])
def test_models_in_memory(tmp_path, cached):
    models.kintsugi("compile", DIGITS, "-o", tmp_path / "digits.kin", "--quiet")
    expected = kintsugi.InferenceSession(DIGITS)
    x = {"images": images(expected)}
    for path in (DIGITS, tmp_path / "digits.kin"):
        session = kintsugi.InferenceSession(path.read_bytes(), cache=cached)
        assert session.run(None, x)[0].tobytes() == expected.run(None, x)[0].tobytes()


def test_inputs_that_are_known(tmp_path):
    ports = [("x", 1, [2, 3]), ("shape", 7, [2])]
    path = save(tmp_path, ports, [("Reshape", ["x", "shape"], "y", {})], [("y", 1, [None, None])])
    x, shape = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([3, 2])
    np.savez(tmp_path / "shape.npz", shape=shape)
    for value in (shape, [3, 2], str(tmp_path / "shape.npz")):
        session = kintsugi.InferenceSession(path, bind={"shape": np.asarray(value) if isinstance(value, list) else value})
        assert [port.name for port in session.get_inputs()] == ["x"]
        assert np.array_equal(session.run(None, {"x": x})[0], x.reshape(3, 2))


def test_what_is_left_out_changes_no_answer():
    options = kintsugi.SessionOptions()
    options.disable = ["fusion", "derivation"]
    sessions = [kintsugi.InferenceSession(DIGITS, options), kintsugi.InferenceSession(DIGITS, plan="greedy"),
                kintsugi.InferenceSession(DIGITS, disable="formats"), kintsugi.InferenceSession(DIGITS)]
    x = {"images": images(sessions[0])}
    results = [session.run(None, x)[0] for session in sessions]
    for result in results:
        assert np.abs(result - results[-1]).max() < 1e-5


@pytest.mark.parametrize("name", ["file", "allow_pickle", "a/b"])
def test_inputs_that_are_known_have_any_name(name, tmp_path):
    path = save(tmp_path, [(name, 1, (3,)), ("x", 1, (3,))], [("Mul", [name, "x"], "y", {})], [("y", 1, (3,))])
    session = kintsugi.InferenceSession(path, bind={name: np.arange(3, dtype=np.float32)})
    np.testing.assert_array_equal(session.run(None, {"x": np.full(3, 2, np.float32)})[0], [0, 2, 4])


def test_arrays_that_are_bound():
    session = kintsugi.InferenceSession(DIGITS)
    x = images(session)
    (expected,) = session.run(None, {"images": x})
    binding = session.io_binding()
    binding.bind_cpu_input("images", x)
    binding.bind_output("probabilities")
    session.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0].tobytes() == expected.tobytes()
    room = np.zeros_like(expected)
    binding.bind_output("probabilities", room)
    session.run_with_iobinding(binding)
    assert room.tobytes() == expected.tobytes() and binding.get_outputs()[0] is room
    address = np.zeros_like(expected)
    binding.bind_output("probabilities", "cpu", 0, np.float32, expected.shape, address.ctypes.data)
    session.run_with_iobinding(binding)
    assert address.tobytes() == expected.tobytes()
    for wrong in (np.zeros(3, np.float32), np.zeros(expected.shape), expected.T):
        binding.bind_output("probabilities", wrong)
        with pytest.raises(kintsugi.InputError, match="output 'probabilities' is to go to"):
            session.run_with_iobinding(binding)


@pytest.mark.parametrize("cached", [True, False])
def test_paths_need_not_be_utf_8(tmp_path, cached):
    folder = tmp_path / os.fsdecode(b"no\xff utf")
    folder.mkdir()
    ports = [("x", 1, [2])], [("Relu", ["x"], "y", {})], [("y", 1, [2])]
    path = save(folder, *ports)
    for place in (path, str(path)):
        (y,) = kintsugi.InferenceSession(place, cache=cached).run(None, {"x": np.array([-1, 1], np.float32)})
        assert y.tolist() == [0, 1]
    with pytest.raises(kintsugi.InputError, match=r"no\\xff utf/absent.onnx: can't read"):
        kintsugi.InferenceSession(folder / "absent.onnx", cache=cached)


def test_a_damaged_cache_is_as_good_as_none(own_cache):
    kintsugi.InferenceSession(DIGITS)
    found = artifacts(own_cache)
    assert found
    for path in found:
        path.write_bytes(path.read_bytes()[:-100])
    session = kintsugi.InferenceSession(DIGITS)
    compared(DIGITS, {"images": images(session)})


def test_other_threads_run_meanwhile():
    """While a run is under way, another thread of Python gets its turn without Python's taking it away."""
    session = kintsugi.InferenceSession(DIGITS, threads=1)
    x = images(session)
    interval = sys.getswitchinterval()
    seen = False
    try:
        sys.setswitchinterval(100)
        for _ in range(100):
            state = []

            def work(state=state):
                state.append("started")
                session.run(None, {"images": x})
                state.append("done")

            thread = threading.Thread(target=work)
            thread.start()
            while len(state) < 2:
                seen |= state == ["started"]
                time.sleep(0.0005)
            thread.join()
            if seen:
                break
    finally:
        sys.setswitchinterval(interval)
    assert seen


def test_sessions_serve_many_threads():
    session = kintsugi.InferenceSession(DIGITS)
    x = images(session)
    expected = session.run(None, {"images": x})[0].tobytes()
    results = []

    def work():
        for _ in range(5):
            results.append(session.run(None, {"images": x})[0].tobytes())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 20


def test_the_artifact_itself_runs(tmp_path):
    models.kintsugi("compile", DIGITS, "-o", tmp_path / "digits.kin", "--quiet")
    expected = kintsugi.InferenceSession(DIGITS)
    for options in ({}, {"cache": False}):
        session = kintsugi.InferenceSession(pathlib.Path(tmp_path / "digits.kin"), **options)
        x = images(session)
        assert session.run(None, {"images": x})[0].tobytes() == expected.run(None, {"images": x})[0].tobytes()
    with pytest.raises(kintsugi.UsageError, match="is an artifact already"):
        kintsugi.InferenceSession(tmp_path / "digits.kin", random_weights=True)


def children():
    return [int(child) for task in pathlib.Path("/proc/self/task").iterdir() for child in (task / "children").read_text().split()]


@pytest.mark.parametrize("number, error", [(signal.SIGSEGV, kintsugi.Error), (signal.SIGKILL, kintsugi.MachineError)])
def test_a_crash_of_the_compiler_is_an_exception(number, error, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before, found = set(children()), []

    def kill():
        while not found:
            found.extend(set(children()) - before)
            time.sleep(0.01)
        time.sleep(0.2)
        os.kill(found[0], number)

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(error, match=f"signal {int(number)}|was killed") as caught:
        kintsugi.InferenceSession(models.ROOT / "zoo/resnet50.onnx", cache=False, random_weights=True)
    thread.join()
    assert type(caught.value) is error
    reports = list(tmp_path.glob("kintsugi-fault-*/report.txt"))
    assert len(reports) == (error is kintsugi.Error)
    assert all(str(report.parent) in str(caught.value) for report in reports)
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".kintsugi")] == []


def test_compiling_has_limits():
    options = kintsugi.SessionOptions()
    options.timeout = 0.01
    with pytest.raises(kintsugi.MachineError, match="longer than the 0.01 s of --timeout"):
        kintsugi.InferenceSession(DIGITS, options, cache=False)
    with pytest.raises(kintsugi.MachineError, match="--max-memory is 2MiB.*--max-memory is max_memory=BYTES, --threads is"):
        kintsugi.InferenceSession(DIGITS, cache=False, max_memory=2 << 20)


def exponentials(size):
    """A model, as bytes."""
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [size]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "g", ports[:1], ports[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


@pytest.mark.parametrize(
    "names, feeds, message",
    [
        (None, [np.ones(5, np.float32)], "output_names is NoneType, and input_feed list; a run takes"),
        (None, None, "input_feed NoneType"),
        (5, {"x": np.ones(5, np.float32)}, "output_names is int"),
        ("y", {"x": np.ones(5, np.float32)}, r"output_names is a str; give a list of names, \['y'\]"),
        ("yes", {"x": np.ones(5, np.float32)}, r"give a list of names, \['yes'\]"),
    ],
)
def test_runs_of_other_kinds(names, feeds, message):
    session = kintsugi.InferenceSession(exponentials(5))
    for run in (session.run, functools.partial(session.run_async, callback=print)):
        with pytest.raises(kintsugi.UsageError, match=message):
            run(names, feeds)


@pytest.mark.parametrize("in_a_thread", [False, True])
def test_progress_is_told_and_may_end_compiling(in_a_thread):
    class Enough(Exception):
        pass

    def opened(progress):
        make = functools.partial(kintsugi.InferenceSession, exponentials(5), cache=False, progress=progress)
        if not in_a_thread:
            return make()
        with concurrent.futures.ThreadPoolExecutor(1) as threads:
            return threads.submit(make).result()

    def ending(phase, step, steps):
        if phase == "orchestrate":
            raise Enough

    told = []
    opened(lambda *how: told.append(how))
    assert {"import", "orchestrate", "link"} <= {phase for phase, _, _ in told}
    assert all(step <= steps for _, step, steps in told) and any(steps > 0 for _, _, steps in told)
    with pytest.raises(kintsugi.UsageError, match="stopped"):
        opened(lambda phase, step, steps: phase != "orchestrate")
    with pytest.raises(Enough):
        opened(ending)
    with pytest.raises(kintsugi.UsageError, match="progress is str; it takes what is called with a phase"):
        opened("link")


def test_progress_is_told_of_sizes_that_are_met():
    told = []
    options = kintsugi.SessionOptions()
    options.progress = lambda *how: told.append(how)
    for cache in (True, False):
        session = kintsugi.InferenceSession(exponentials("n"), options, cache=cache)
        told.clear()
        session.run(None, {"x": np.ones(3, np.float32)})
        assert "link" in {phase for phase, _, _ in told}


def test_an_interrupt_ends_compiling(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    before, start = set(children()), time.monotonic()
    timer = threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        kintsugi.InferenceSession(models.ROOT / "zoo/resnet50.onnx", cache=False, random_weights=True)
    timer.join()
    assert time.monotonic() - start < 10
    assert set(children()) <= before and list(tmp_path.iterdir()) == []


def test_messages_name_keywords_beside_flags():
    (path,) = models.choose(["gcn"])
    with pytest.raises(kintsugi.InputError, match=r"--random-weights is random_weights=True\)$"):
        kintsugi.InferenceSession(path)


def test_hosts_load_no_code_generator():
    """What is loaded into Python asks the program that compiles; MLIR is in that alone."""
    library = pathlib.Path(kintsugi.__file__).with_name("libkintsugi_compiler.so")
    dynamic = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    assert "libkintsugi_compiler.so.0" in dynamic and "libMLIR" not in dynamic


def public_functions(owner):
    for name, value in vars(owner).items():
        if inspect.isclass(value) and value.__module__.startswith("kintsugi") and not issubclass(value, Exception):
            yield from public_functions(value)
        elif inspect.isfunction(value) and (name == "__init__" or not name.startswith("_")):
            yield value


def test_what_is_public_says_its_types():
    assert pathlib.Path(kintsugi.__file__).with_name("py.typed").exists()
    found = list(public_functions(kintsugi))
    assert kintsugi.InferenceSession.run in found and kintsugi.IOBinding.bind_input in found
    for function in found:
        annotated = set(function.__annotations__) - {"self"}
        assert annotated == {"return", *inspect.signature(function).parameters} - {"self"}, function


def test_memory_in_dlpack_is_dense_and_of_known_types():
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    tensor = _dlpack.tensor_of(array[1:].__dlpack__())
    assert (tensor.address, tensor.type, tensor.shape, tensor.bytes) == (array[1:].ctypes.data, 1, (1, 3, 4), 48)
    for dense in (array[:, :, None], np.zeros((2, 0)), np.full((), 3.0)):
        tensor = _dlpack.tensor_of(dense.__dlpack__())
        assert (tensor.shape, tensor.bytes) == (dense.shape, dense.nbytes)
    for strided in (array.T, array[:, ::2], np.broadcast_to(array[0], (2, 3, 4)).copy()[:, 1:]):
        with pytest.raises(BufferError, match="strides"):
            _dlpack.tensor_of(strided.__dlpack__())
    for dtype in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float64 complex64 complex128".split():
        tensor = _dlpack.tensor_of(np.zeros(3, dtype).__dlpack__())
        assert tensor.type == helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
        _dlpack.tensor_of(None)


def test_what_is_bound_is_read_anew_by_each_run(tmp_path):
    """Runs on what stays where it is are prepared once: elements may change, and so may what is bound."""
    path = save(tmp_path, [("x", 1, [2, 3])], [("Neg", ["x"], "y", {})], [("y", 1, [2, 3])])
    session = kintsugi.InferenceSession(path)
    binding = session.io_binding()
    x, y = np.ones((2, 3), np.float32), np.empty((2, 3), np.float32)
    binding.bind_input("x", x)
    binding.bind_output("y", y)
    for number in range(3):
        x[:] = number + 1
        session.run_with_iobinding(binding)
        assert (y == -number - 1).all() and binding.get_outputs()[0] is y
    assert binding._prepared is not None
    other = np.full((2, 3), 7, np.float32)
    binding.bind_input("x", other)
    session.run_with_iobinding(binding)
    assert (y == -7).all()
    binding.bind_input("x", other.T.copy().T)  # Which has to be made dense in each run.
    for _ in range(2):
        session.run_with_iobinding(binding)
        assert (y == -7).all()
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    first = binding.get_outputs()[0]
    session.run_with_iobinding(binding)
    assert binding.get_outputs()[0] is not first
    binding.clear_binding_inputs()
    with pytest.raises(kintsugi.InputError, match="input 'x' is not bound"):
        session.run_with_iobinding(binding)
