"""Sessions of models with open dimensions, and of those whose shapes depend on inputs' values: they compile for what they
meet, with ONNX Runtime's answers."""

import os
import threading
import time

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

kintsugi = pytest.importorskip("kintsugi", reason="the package is not built; ./dev build makes it")

from kintsugi.once import OnceCache

F32, I64, I4 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT4


pytestmark = pytest.mark.usefixtures("own_cache")


def save(folder, inputs, nodes, outputs, weights=()):
    """Inputs and outputs are (name, type, shape); nodes (operator, inputs, output, attributes)."""
    ports = [[helper.make_tensor_value_info(*port) for port in side] for side in (inputs, outputs)]
    made = [helper.make_node(kind, taken, [given], **attributes) for kind, taken, given, attributes in nodes]
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in dict(weights).items()]
    graph = helper.make_graph(made, "graph", *ports, tensors)
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


def drawn(*shape):
    return np.random.default_rng(shape).standard_normal(shape, np.float32)


def compared(session, path, feeds):
    """A run of a session agrees with ONNX Runtime's."""
    theirs = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for got, expected in zip(session.run(None, feeds), theirs.run(None, feeds), strict=True):
        assert got.dtype == expected.dtype and got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def sizes(session):
    return [each["sizes"] for each in session.report()["specializations"]]


def dense(folder):
    """One open dimension, at the front."""
    nodes = [("MatMul", ["x", "w"], "sums", {}), ("Relu", ["sums"], "y", {})]
    return save(folder, [("x", F32, ["batch", 24])], nodes, [("y", F32, ["batch", 8])], {"w": drawn(24, 8)})


def attention(folder):
    """Two open dimensions that two inputs share."""
    nodes = [(kind, taken, made, {}) for kind, taken, made in (
        ("MatMul", ["x", "wq"], "q"), ("MatMul", ["x", "wk"], "k"), ("MatMul", ["x", "wv"], "v"))]
    nodes += [
        ("Transpose", ["k"], "kt", {"perm": [0, 2, 1]}),
        ("MatMul", ["q", "kt"], "scores", {}),
        ("Add", ["scores", "mask"], "masked", {}),
        ("Softmax", ["masked"], "shares", {"axis": -1}),
        ("MatMul", ["shares", "v"], "y", {}),
    ]
    inputs = [("x", F32, ["batch", "sequence", 16]), ("mask", F32, ["batch", 1, "sequence"])]
    weights = {name: drawn(16, 16) / 4 + number for number, name in enumerate(("wq", "wk", "wv"))}
    return save(folder, inputs, nodes, [("y", F32, ["batch", "sequence", 16])], weights)


def test_open_batch(tmp_path):
    path = dense(tmp_path)
    session = kintsugi.InferenceSession(path)
    theirs = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for side in ("get_inputs", "get_outputs"):
        for own, other in zip(getattr(session, side)(), getattr(theirs, side)(), strict=True):
            assert (own.name, own.type, own.shape) == (other.name, other.type, other.shape)
    for batch in (1, 3, 1, 64, 3):
        compared(session, path, {"x": drawn(batch, 24)})
    report = session.report()
    assert [(each["sizes"], each["runs"]) for each in report["specializations"]] == [
        ({"batch": 1}, 2), ({"batch": 64}, 1), ({"batch": 3}, 2)
    ]
    assert all(each["seconds"] > 0 and not each["cached"] for each in report["specializations"])
    assert report["evictions"] == 0 and report["max_specializations"] == 16
    assert "batch = 64: 1 runs, compiled in" in str(report)
    again = kintsugi.InferenceSession(path)
    again.run(None, {"x": drawn(3, 24)})
    assert [each["cached"] for each in again.report()["specializations"]] == [True]


def test_open_sequence_with_attention(tmp_path):
    path = attention(tmp_path)
    session = kintsugi.InferenceSession(path)
    for batch, sequence in ((1, 7), (2, 33), (3, 1), (1, 7)):
        compared(session, path, {"x": drawn(batch, sequence, 16), "mask": drawn(batch, 1, sequence)})
    assert {"batch": 2, "sequence": 33} in sizes(session) and len(sizes(session)) == 3


def test_one_name_has_one_size(tmp_path):
    session = kintsugi.InferenceSession(attention(tmp_path))
    message = (r"dimension 'sequence' is 5 \(axis 1 of input 'x'\) and 6 \(axis 2 of input 'mask'\); it has one size in a "
               "run")
    with pytest.raises(kintsugi.InputError, match=message):
        session.run(None, {"x": drawn(2, 5, 16), "mask": drawn(2, 1, 6)})
    for wrong in (drawn(2, 5, 15), drawn(2, 5), drawn(2, 5, 16).astype(np.float64)):
        with pytest.raises(kintsugi.InputError, match=r"input 'x' is .*, the model's is float32\[batch, sequence, 16\]"):
            session.run(None, {"x": wrong, "mask": drawn(2, 1, 5)})
    assert sizes(session) == []


def test_dimensions_without_a_name(tmp_path):
    path = save(tmp_path, [("x", F32, [None, 4]), ("z", F32, [None, None])],
                [("MatMul", ["x", "z"], "y", {})], [("y", F32, [None, None])])
    session = kintsugi.InferenceSession(path)
    assert [port.shape for port in session.get_inputs()] == [[None, 4], [None, None]]
    assert session.get_outputs()[0].shape == [None, None]
    for rows, columns in ((2, 3), (5, 1)):
        compared(session, path, {"x": drawn(rows, 4), "z": drawn(4, columns)})
    assert sizes(session)[0] == {"x.0": 2, "z.0": 4, "z.1": 3}
    with pytest.raises(kintsugi.InputError):
        session.run(None, {"x": drawn(2, 4), "z": drawn(3, 3)})


@pytest.mark.parametrize("allowed", [(2, 4), [2, 4], "2..4", range(2, 5), (np.int64(2), np.int64(4))])
def test_ranges(tmp_path, allowed):
    path = dense(tmp_path)
    session = kintsugi.InferenceSession(path, dims={"batch": allowed})
    for batch in (2, 4):
        compared(session, path, {"x": drawn(batch, 24)})
    for batch in (1, 5):
        with pytest.raises(kintsugi.InputError, match=rf"dimension 'batch' is {batch} \(axis 0 of input 'x'\); the artifact takes 2 to 4$"):
            session.run(None, {"x": drawn(batch, 24)})


def test_sizes_and_ranges_together(tmp_path):
    path = attention(tmp_path)
    session = kintsugi.InferenceSession(path, dims={"batch": 2, "sequence": range(8, 65, 8)})
    assert session.get_inputs()[0].shape == [2, "sequence", 16]
    assert session.get_outputs()[0].shape == [2, "sequence", 16]
    compared(session, path, {"x": drawn(2, 16, 16), "mask": drawn(2, 1, 16)})
    with pytest.raises(kintsugi.InputError, match="dims allows 8 to 64 in steps of 8"):
        session.run(None, {"x": drawn(2, 9, 16), "mask": drawn(2, 1, 9)})
    with pytest.raises(kintsugi.InputError, match=r"the model's is float32\[2, sequence, 16\]"):
        session.run(None, {"x": drawn(1, 16, 16), "mask": drawn(2, 1, 16)})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dims": {"depth": (1, 4)}}, kintsugi.UsageError, "no open dimension 'depth'; its open dimensions: batch"),
        ({"dims": {"batch": (4, 1)}}, kintsugi.UsageError, "in which there is no size"),
        ({"dims": {"batch": (-1, 4)}}, kintsugi.UsageError, "in which there is no size of at least 0"),
        ({"dims": {"batch": "1..99999999999999999999"}}, kintsugi.UsageError, "sizes are less than 2.63"),
        ({"dims": {"batch": range(1 << 62, 1 << 70, 3)}}, kintsugi.UsageError, "sizes are less than 2.63"),
        ({"dims": {"batch": "many"}}, kintsugi.UsageError, "'batch' is 'many'; a size is an integer"),
        ({"dims": {"batch": (1, 2, 3)}}, kintsugi.UsageError, "a size is an integer"),
        ({"max_specializations": 0}, kintsugi.UsageError, "max_specializations is 0; it takes an integer, at least 1"),
        ({"device": "cuda:99"}, kintsugi.MachineError, "no NVIDIA device 99"),
    ],
)
def test_wrong_options(tmp_path, options, error, message):
    with pytest.raises(error, match=message):
        kintsugi.InferenceSession(dense(tmp_path), **options)


def test_what_is_refused_is_refused_when_the_session_is_made(tmp_path):
    nodes = [("Relu", ["x"], "a", {}), ("StringNormalizer", ["a"], "y", {})]
    path = save(tmp_path, [("x", F32, ["batch", 3])], nodes, [("y", F32, ["batch", 3])])
    with pytest.raises(kintsugi.InputError, match="StringNormalizer"):
        kintsugi.InferenceSession(path)
    path = save(tmp_path, [("x", TensorProto.STRING, ["batch"])], [("Identity", ["x"], "y", {})], [("y", F32, ["batch"])])
    with pytest.raises(kintsugi.InputError, match="'x' is not a tensor of numbers"):
        kintsugi.InferenceSession(path)
    for model in (b"model", tmp_path / "absent.onnx"):
        with pytest.raises(kintsugi.InputError):
            kintsugi.InferenceSession(model, dims={"batch": (1, 2)})


def test_those_that_ran_last_are_kept(tmp_path):
    path = dense(tmp_path)
    session = kintsugi.InferenceSession(path, max_specializations=2)
    for batch in (1, 2, 1, 3):
        compared(session, path, {"x": drawn(batch, 24)})
    assert sizes(session) == [{"batch": 1}, {"batch": 3}] and session.report()["evictions"] == 1
    compared(session, path, {"x": drawn(2, 24)})
    assert sizes(session) == [{"batch": 3}, {"batch": 2}] and session.report()["evictions"] == 2
    assert session.report()["specializations"][1]["cached"]


def test_values_that_decide_shapes(tmp_path):
    ports = [("x", F32, ["n", 6]), ("shape", I64, [2]), ("axes", I64, [1])]
    nodes = [("Reshape", ["x", "shape"], "r", {}), ("ReduceSum", ["r", "axes"], "y", {"keepdims": 0})]
    path = save(tmp_path, ports, nodes, [("y", F32, ["m"])])
    session = kintsugi.InferenceSession(path)
    assert [port.name for port in session.get_inputs()] == ["x", "shape", "axes"]
    for rows, shape, axis in ((2, [3, 4], 0), (2, [-1, 2], 0), (2, [-1, 2], 1), (4, [3, 8], 0), (2, [3, 4], 0)):
        compared(session, path, {"x": drawn(rows, 6), "shape": np.array(shape), "axes": np.array([axis])})
    known = [each["values"] for each in session.report()["specializations"]]
    assert len(known) == 4 and {"shape": [-1, 2], "axes": [1]} in known
    with pytest.raises(kintsugi.InputError, match=r"'shape' is int32\[2\], the model's is int64\[2\]"):
        session.run(None, {"x": drawn(2, 6), "shape": np.array([3, 4], np.int32), "axes": np.array([0])})


def test_values_that_decide_shapes_where_none_is_open(tmp_path):
    ports = [("x", F32, [2, 6]), ("rows", I64, [1]), ("columns", I64, [1])]
    nodes = [("Concat", ["rows", "columns"], "shape", {"axis": 0}), ("Reshape", ["x", "shape"], "y", {})]
    path = save(tmp_path, ports, nodes, [("y", F32, [None, None])])
    session = kintsugi.InferenceSession(path)
    for rows, columns in ((3, 4), (12, 1), (1, -1)):
        compared(session, path, {"x": drawn(2, 6), "rows": np.array([rows]), "columns": np.array([columns])})
    bound = kintsugi.InferenceSession(path, bind={"rows": np.array([3])})
    assert [port.name for port in bound.get_inputs()] == ["x", "columns"]
    assert bound.run(None, {"x": drawn(2, 6), "columns": np.array([4])})[0].shape == (3, 4)


def test_values_that_are_no_shapes_are_not_compiled_in(tmp_path):
    """A model that needs to know large data is refused, as it would be compiled in every run."""
    ports = [("x", F32, ["n", 2000]), ("sizes", F32, [2000])]
    nodes = [("Cast", ["sizes"], "shape", {"to": I64}), ("Expand", ["x", "shape"], "y", {})]
    path = save(tmp_path, ports, nodes, [("y", F32, None)])
    session = kintsugi.InferenceSession(path)
    with pytest.raises(kintsugi.InputError, match="must be known when compiling"):
        session.run(None, {"x": drawn(1, 2000), "sizes": np.ones(2000, np.float32)})


def test_packed_elements(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    path = save(tmp_path, [("x", I4, ["n", 3])], [("Transpose", ["x"], "y", {})], [("y", I4, [3, "n"])])
    session = kintsugi.InferenceSession(path)
    for rows in (1, 4):
        x = (np.arange(rows * 3) % 8).reshape(rows, 3).astype(ml_dtypes.int4)
        assert (session.run(None, {"x": x})[0] == x.T).all()


def test_bindings(tmp_path):
    path = dense(tmp_path)
    session = kintsugi.InferenceSession(path)
    binding = session.io_binding()
    for batch in (2, 5):
        x = drawn(batch, 24)
        binding.bind_cpu_input("x", x)
        binding.bind_output("y")
        session.run_with_iobinding(binding)
        (expected,) = session.run(None, {"x": x})
        assert binding.get_outputs()[0].tobytes() == expected.tobytes()
        room, address = np.zeros((batch, 8), np.float32), np.zeros((batch, 8), np.float32)
        binding.bind_output("y", room)
        session.run_with_iobinding(binding)
        assert room.tobytes() == expected.tobytes()
        binding.bind_input("x", "cpu", 0, np.float32, x.shape, x.ctypes.data)
        binding.bind_output("y", "cpu", 0, np.float32, address.shape, address.ctypes.data)
        session.run_with_iobinding(binding)
        assert address.tobytes() == expected.tobytes()
    binding.bind_output("y", np.zeros((4, 8), np.float32))
    with pytest.raises(kintsugi.InputError, match=r"output 'y' is to go to float32\[4, 8\]"):
        session.run_with_iobinding(binding)
    binding.bind_output("y", "cpu", 0, np.float32, (4, 8), address.ctypes.data)
    with pytest.raises(kintsugi.InputError, match=r"'y' is \[4, 8\], the model's is \[5, 8\]"):
        session.run_with_iobinding(binding)
    with pytest.raises(kintsugi.InputError, match="'x' has sizes that are open; say its shape"):
        binding.bind_input("x", "cpu", 0, np.float32, None, x.ctypes.data)
    with pytest.raises(kintsugi.InputError, match=r"'x' is \[5, 23\], the model's is \[batch, 24\]"):
        binding.bind_input("x", "cpu", 0, np.float32, (5, 23), x.ctypes.data)


def test_values_that_decide_shapes_may_be_known_by_address(tmp_path):
    path = save(tmp_path, [("x", F32, [6]), ("shape", I64, [2])], [("Reshape", ["x", "shape"], "y", {})],
                [("y", F32, [None, None])])
    session = kintsugi.InferenceSession(path)
    x, shape = drawn(6), np.array([2, 3])
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_input("shape", "cpu", 0, np.int64, (2,), shape.ctypes.data)
    binding.bind_output("y")
    for rows, columns in ((2, 3), (6, 1)):
        shape[:] = rows, columns
        session.run_with_iobinding(binding)
        assert (binding.get_outputs()[0] == x.reshape(rows, columns)).all()


def counted_loads(monkeypatch):
    """How often artifacts are asked for, which takes a while each time."""
    loads, load = [], kintsugi.loading.Loader.load

    def counting(self, dims={}, bind={}, ended=None):
        if dims:
            loads.append(dims)
            time.sleep(0.2)
        return load(self, dims, bind, ended)

    monkeypatch.setattr(kintsugi.loading.Loader, "load", counting)
    return loads


def test_threads_compile_once(tmp_path, monkeypatch):
    path = dense(tmp_path)
    session = kintsugi.InferenceSession(path)
    loads, results = counted_loads(monkeypatch), []

    def work(batch):
        results.append((batch, session.run(None, {"x": drawn(batch, 24)})[0].tobytes()))

    threads = [threading.Thread(target=work, args=(batch,)) for batch in (2, 3) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each["batch"] for each in loads) == [2, 3]
    assert len(results) == 8 and len(set(results)) == 2
    assert [each["runs"] for each in session.report()["specializations"]] == [4, 4]


def test_termination_ends_what_a_run_compiles(tmp_path):
    path, options = dense(tmp_path), kintsugi.RunOptions()

    def terminate(*_):
        options.terminate = True

    session = kintsugi.InferenceSession(path, progress=terminate)
    x = {"x": drawn(19, 24)}
    with pytest.raises(kintsugi.UsageError, match="the run was cancelled: terminate is set"):
        session.run(None, x, options)
    assert sizes(session) == [] and options._running == []
    compared(session, path, x)
    options.terminate = False
    assert len(session.run(None, x, options)) == 1 and sizes(session) == [{"batch": 19}]


@pytest.mark.parametrize("ends", ["who compiles", "who waits"])
def test_termination_ends_one_of_two_runs_that_need_the_same(tmp_path, ends):
    path, compiling, goes_on = dense(tmp_path), threading.Event(), threading.Event()

    def progress(*_):
        if threads:  # It is told of the session's import, too.
            compiling.set()
            assert goes_on.wait(60)

    threads = []
    session = kintsugi.InferenceSession(path, progress=progress, cache=False)
    x, made, raised = {"x": drawn(3, 24)}, [], []

    def run(options):
        try:
            made.append(session.run(None, x, options)[0])
        except kintsugi.UsageError as error:
            raised.append(str(error))

    options = [kintsugi.RunOptions(), kintsugi.RunOptions()]
    threads += [threading.Thread(target=run, args=[each]) for each in options]
    threads[0].start()
    assert compiling.wait(60)
    threads[1].start()
    while not options[1]._running:
        time.sleep(0.01)
    ended = ["who compiles", "who waits"].index(ends)
    options[ended].terminate = True
    if ends == "who waits":
        threads[1].join(60)
        assert raised == ["the run was cancelled: terminate is set in its RunOptions"]
    goes_on.set()
    for thread in threads:
        thread.join(60)
    assert raised == ["the run was cancelled: terminate is set in its RunOptions"]
    np.testing.assert_array_equal(made, [session.run(None, x)[0]])


def test_a_model_in_memory_lives_as_long_as_its_session(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "made"))
    (tmp_path / "made").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    path = dense(tmp_path)
    session = kintsugi.InferenceSession(path.read_bytes())
    for batch in (2, 3):
        compared(session, path, {"x": drawn(batch, 24)})
    assert list((tmp_path / "made").iterdir()) != []
    del session
    assert list((tmp_path / "made").iterdir()) == []


def test_messages_of_a_model_in_memory_name_no_file(tmp_path):
    path = save(tmp_path, [("x", F32, [1, 2, "n"])], [("MaxPool", ["x"], "y", {"kernel_shape": [3]})], [("y", F32, [1, 2, "m"])])
    session = kintsugi.InferenceSession(path.read_bytes())
    with pytest.raises(kintsugi.InputError, match="^<bytes>: node ") as refused:
        session.run(None, {"x": drawn(1, 2, 1)})
    assert "kintsugi-" not in str(refused.value)


def test_a_file_that_changes_is_another_model(tmp_path):
    path = dense(tmp_path)
    session = kintsugi.InferenceSession(path)
    session.run(None, {"x": drawn(2, 24)})
    os.utime(path, ns=(0, 0))
    session.run(None, {"x": drawn(2, 24)})
    with pytest.raises(kintsugi.InputError, match="model.onnx: has changed since the session was made"):
        session.run(None, {"x": drawn(3, 24)})


def in_a_branch(model):
    """What it computes moves into both branches of an If, with its weights."""
    graph = onnx.GraphProto(name="branch", node=model.graph.node, output=model.graph.output)
    graph.initializer.extend(model.graph.initializer)
    shape = helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0)
    cast = helper.make_node("Cast", ["most"], ["choice"], to=TensorProto.BOOL)
    branches = helper.make_node("If", ["choice"], ["y"], then_branch=graph, else_branch=graph)
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend([shape, cast, branches])


@pytest.mark.parametrize("fallback", [None, "onnxruntime"])
@pytest.mark.parametrize("changed", [None, in_a_branch])
def test_external_weights_that_change_are_another_model(tmp_path, monkeypatch, fallback, changed):
    model = onnx.load(dense(tmp_path))
    if changed:
        changed(model)
    onnx.save(model, tmp_path / "model.onnx", save_as_external_data=True, location="w.data", size_threshold=0)
    monkeypatch.chdir(tmp_path)
    session = kintsugi.InferenceSession("model.onnx", fallback=fallback)
    before = session.run(None, {"x": drawn(2, 24)})[0]
    (2 * np.fromfile("w.data", np.float32)).tofile("w.data")
    monkeypatch.chdir("/")
    assert (session.run(None, {"x": drawn(2, 24)})[0] == before).all()
    with pytest.raises(kintsugi.InputError, match="w.data: has changed since the session was made"):
        session.run(None, {"x": drawn(3, 24)})


def test_values_in_files_that_change_are_others(tmp_path):
    save(tmp_path, [("x", F32, ["batch", 24]), ("w", F32, [24])], [("Mul", ["x", "w"], "y", {})], [("y", F32, ["batch", 24])])
    np.savez(tmp_path / "w.npz", w=drawn(24))
    session = kintsugi.InferenceSession(tmp_path / "model.onnx", bind={"w": tmp_path / "w.npz"})
    session.run(None, {"x": drawn(2, 24)})
    np.savez(tmp_path / "w.npz", w=2 * drawn(24))
    with pytest.raises(kintsugi.InputError, match="w.npz: has changed since the session was made"):
        session.run(None, {"x": drawn(3, 24)})


@pytest.mark.parametrize("fallback", [None, "onnxruntime"])
def test_files_are_found_from_elsewhere(tmp_path, monkeypatch, fallback):
    nodes = [("Mul", ["x", "w"], "y", {})]
    save(tmp_path, [("x", F32, ["batch", 24]), ("w", F32, [24])], nodes, [("y", F32, ["batch", 24])])
    np.savez(tmp_path / "w.npz", w=drawn(24))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    session = kintsugi.InferenceSession("model.onnx", bind={"w": "w.npz"}, fallback=fallback)
    monkeypatch.chdir("elsewhere")
    x = drawn(3, 24)
    np.testing.assert_allclose(session.run(None, {"x": x})[0], x * drawn(24), rtol=1e-6)


@pytest.mark.parametrize("cached", [True, False])
def test_other_options_hold_for_each(tmp_path, cached):
    path = dense(tmp_path)
    session = kintsugi.InferenceSession(path, precision="bf16", threads=1, cache=cached)
    exact = kintsugi.InferenceSession(path)
    for batch in (2, 3):
        x = {"x": drawn(batch, 24)}
        (rounded,), (y,) = session.run(None, x), exact.run(None, x)
        assert 0 < np.abs(rounded - y).max() < 0.5


def test_entries_are_made_once():
    cache, made, started = OnceCache(2), [], threading.Event()

    def make():
        started.set()
        time.sleep(0.1)
        made.append("entry")
        return "entry"

    def failing():
        started.set()
        time.sleep(0.1)
        raise ValueError("no")

    def interrupted():
        started.set()
        time.sleep(0.1)
        raise KeyboardInterrupt

    def asked(first, key):
        """What one thread gets that asks first, and another that asks while it makes the entry."""
        results = {}

        def ask(name, maker):
            try:
                results[name] = cache.get(key, maker)
            except BaseException as problem:
                results[name] = type(problem)

        started.clear()
        thread = threading.Thread(target=ask, args=("first", first))
        thread.start()
        started.wait()
        ask("second", make)
        thread.join()
        return results["first"], results["second"], len(made)

    assert asked(make, 1) == ("entry", "entry", 1)
    assert asked(failing, 2) == (ValueError, ValueError, 1)
    assert asked(interrupted, 2) == (KeyboardInterrupt, "entry", 2)
    assert cache.get(3, make) == "entry" and cache.evictions == 1
    assert cache.get(2, failing) == "entry"
    with pytest.raises(ValueError):
        cache.get(1, failing)
