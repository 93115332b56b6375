"""Options of sessions and runs, and what else ONNX Runtime's interface has: all of it is there, does what it says, or says
once that it has no effect."""

import ctypes
import threading
import warnings

import models
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

kintsugi = pytest.importorskip("kintsugi", reason="the package is not built; ./dev build makes it")

from kintsugi import no_effect

DIGITS = models.ROOT / "examples/digits/digits.onnx"
F32 = TensorProto.FLOAT


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def said(monkeypatch):
    """As if nothing had been said yet."""
    monkeypatch.setattr(no_effect, "_said", set())


def public(owner):
    return [name for name in dir(owner) if not name.startswith("_")]


@pytest.mark.parametrize("name", ["SessionOptions", "RunOptions"])
def test_all_of_onnx_runtime_s_options_are_there(name, said):
    theirs, ours = getattr(onnxruntime, name)(), getattr(kintsugi, name)()
    assert set(public(theirs)) <= set(public(ours))
    for each in public(theirs):
        value = getattr(theirs, each)
        assert callable(value) == callable(getattr(ours, each)), each
        if callable(value) or each == "use_deterministic_compute":
            continue
        own = getattr(ours, each)
        assert (int(own) == int(value)) if hasattr(value, "__int__") else own == value, each
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            setattr(ours, each, value)  # What is so already is nothing to tell of.
    with pytest.raises(AttributeError):
        ours.no_such_option = 1


@pytest.mark.parametrize("name", ["GraphOptimizationLevel", "ExecutionMode", "ExecutionOrder"])
def test_enumerations_have_onnx_runtime_s_numbers(name):
    theirs = {key: int(value) for key, value in getattr(onnxruntime, name).__members__.items()}
    assert {key: int(value) for key, value in getattr(kintsugi, name).__members__.items()} == theirs


def test_what_has_no_effect_is_said_once(said):
    options, others = kintsugi.SessionOptions(), kintsugi.SessionOptions()
    with pytest.warns(UserWarning, match="SessionOptions.graph_optimization_level has no effect in kintsugi: .*plan"):
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    with pytest.warns(UserWarning, match="SessionOptions's entry 'session.x' has no effect"):
        options.add_session_config_entry("session.x", "1")
    with pytest.warns(UserWarning, match="SessionOptions.set_provider_selection_policy has no effect"):
        options.set_provider_selection_policy(0)
    with pytest.warns(UserWarning, match="RunOptions.logid has no effect"):
        kintsugi.RunOptions().logid = "run"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        others.graph_optimization_level = kintsugi.GraphOptimizationLevel.ORT_ENABLE_BASIC
        others.add_session_config_entry("session.x", "2")
        options.set_provider_selection_policy(1)
        kintsugi.RunOptions().logid = "again"
    assert int(options.graph_optimization_level) == 0 and int(others.graph_optimization_level) == 1
    assert options.get_session_config_entry("session.x") == "1" and others.get_session_config_entry("session.x") == "2"
    for settings, ask in ((options, "get_session_config_entry"), (kintsugi.RunOptions(), "get_run_config_entry")):
        with pytest.raises(RuntimeError, match="does not have configuration with key: no"):
            getattr(settings, ask)("no")


def test_what_would_change_answers_is_refused():
    options = kintsugi.SessionOptions()
    for call in (
        lambda: options.add_external_initializers(["w"], [None]),
        lambda: options.add_external_initializers_from_files_in_memory(["w"], [b""], [0]),
        lambda: kintsugi.RunOptions().add_active_adapter(None),
    ):
        with pytest.raises(kintsugi.UsageError, match="not supported"):
            call()


def test_options_that_sessions_have(tmp_path):
    weight, x = np.array([2, 3], np.float32), np.array([5, 7], np.float32)
    ports = [[helper.make_tensor_value_info(name, F32, [2]) for name in names] for names in (("x", "w"), ("y",))]
    weights = [onnx.numpy_helper.from_array(weight, "w")]
    graph = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["y"])], "graph", *ports, weights)
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    options = kintsugi.SessionOptions()
    assert not options.has_providers() and options.use_deterministic_compute
    options.add_initializer("w", kintsugi.OrtValue.ortvalue_from_numpy(weight + 1))
    options.add_provider("CPUExecutionProvider", {})
    session = kintsugi.InferenceSession(path, options, threads=1)
    assert (session.run(None, {"x": x})[0] == x * (weight + 1)).all()
    assert options.has_providers() and options.intra_op_num_threads == 0
    own = session.get_session_options()
    assert own.intra_op_num_threads == 1 and own.device == "cpu"
    options.add_provider("TensorrtExecutionProvider", {})
    assert kintsugi.InferenceSession(path, options).get_providers() == ["CPUExecutionProvider"]
    missing = kintsugi.SessionOptions()
    missing.add_provider("TensorrtExecutionProvider", {})
    with pytest.raises(kintsugi.UsageError, match="TensorrtExecutionProvider"):
        kintsugi.InferenceSession(path, missing)


def test_what_else_sessions_are_asked(said):
    session = kintsugi.InferenceSession(DIGITS)
    assert session.get_overridable_initializers() == []
    assert session.get_provider_options() == {"CPUExecutionProvider": {}}
    session.disable_fallback()
    session.set_providers()
    session.set_providers(["CPUExecutionProvider"], [{}])
    with pytest.raises(kintsugi.UsageError, match="compiled for cpu; make another with providers="):
        session.set_providers(["CUDAExecutionProvider"])
    with pytest.warns(UserWarning, match="end_profiling has no effect"):
        assert session.end_profiling() == ""


def test_metadata(tmp_path):
    ports = [[helper.make_tensor_value_info(name, F32, [2])] for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "name of the graph", *ports, doc_string="its text")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10, producer_name="a test",
                              domain="org.example", model_version=-7, doc_string="text ü")
    helper.set_model_props(model, {"labels": "a,b", "empty": ""})
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    theirs = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).get_modelmeta()
    for source in (path, path.read_bytes()):
        ours = kintsugi.InferenceSession(source).get_modelmeta()
        for name in public(theirs):
            assert getattr(ours, name) == getattr(theirs, name), name
    models.kintsugi("compile", path, "-o", tmp_path / "model.kin", "--quiet")
    assert kintsugi.InferenceSession(tmp_path / "model.kin").get_modelmeta() == kintsugi.ModelMetadata()


#
# Runs
#


def images(session):
    return np.random.default_rng(7).standard_normal(session.get_inputs()[0].shape, np.float32)


def answers(count, start):
    """What `start(callback)` has called back, when it has `count` times."""
    found, done = [], threading.Event()

    def callback(results, user_data, error):
        found.append((results, user_data, error, threading.current_thread()))
        if len(found) == count:
            done.set()

    start(callback)
    assert done.wait(60)
    return found


def test_runs_that_nobody_waits_for():
    session = kintsugi.InferenceSession(DIGITS)
    x = images(session)
    (expected,) = session.run(None, {"images": x})

    def start(callback):
        for number in range(8):
            session.run_async(["probabilities"], {"images": x}, callback, number)

    found = answers(8, start)
    assert sorted(user_data for _, user_data, _, _ in found) == list(range(8))
    for results, _, error, thread in found:
        assert error == "" and results[0].tobytes() == expected.tobytes() and thread is not threading.current_thread()


def test_errors_of_runs_that_nobody_waits_for(monkeypatch):
    session = kintsugi.InferenceSession(DIGITS)
    ((results, user_data, error, _),) = answers(1, lambda callback: session.run_async(
        None, {"images": np.zeros(3)}, callback, "mine"))
    assert results == [] and user_data == "mine" and "input 'images' is float64[3]" in error
    for names, feeds in ((["labels"], {"images": 0}), (None, {})):
        with pytest.raises(kintsugi.InputError, match="there is no array|no output"):
            session.run_async(names, feeds, None)
    raised, done = [], threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda arguments: (raised.append(arguments.exc_value), done.set()))

    def broken(results, user_data, error):
        raise ValueError("of the callback")

    session.run_async(None, {"images": images(session)}, broken)
    assert done.wait(60) and str(raised[0]) == "of the callback"


def test_termination():
    session = kintsugi.InferenceSession(DIGITS, threads=1)
    x = {"images": images(session)}
    expected = session.run(None, x)[0].tobytes()
    options = kintsugi.RunOptions()
    assert session.run(None, x, options)[0].tobytes() == expected and not options.terminate
    options.terminate = True
    with pytest.raises(kintsugi.UsageError, match="the run was cancelled: terminate is set"):
        session.run(None, x, options)
    assert session.run(None, x)[0].tobytes() == expected
    options.terminate = False
    assert session.run(None, x, options)[0].tobytes() == expected
    with pytest.raises(kintsugi.UsageError, match="run_options is .*; make one with kintsugi.RunOptions"):
        session.run(None, x, onnxruntime.RunOptions())


class Stuck:
    """In place of the native session: a run that goes on until it is cancelled."""

    def __init__(self, *_):
        self.under_way, self.cancelled, self.late = threading.Event(), threading.Event(), False

    def inputs(self):
        return [("x", 1, [1], False)]

    outputs = inputs

    def open_dimensions(self):
        return {}

    def run(self, inputs, addresses, order):
        self.under_way.set()
        if ctypes.c_float.from_address(inputs[0]).value and not self.cancelled.is_set():
            assert self.cancelled.wait(60)
        if self.cancelled.is_set():
            self.cancelled.clear()
            raise kintsugi.UsageError("the run was cancelled")
        return [[1]]

    def cancel(self):
        self.late = True
        self.cancelled.set()

    def was_cancelled(self):
        was, self.late = self.late, False
        return was


def test_runs_under_way_are_ended(monkeypatch):
    monkeypatch.setattr(kintsugi._capi, "Session", Stuck)
    session, options = kintsugi.InferenceSession(DIGITS), kintsugi.RunOptions()
    native, raised = session._program._artifact, []

    def work():
        try:
            session.run(None, {"x": np.ones(1, np.float32)}, options)
        except kintsugi.UsageError as error:
            raised.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    assert native.under_way.wait(60)
    options.terminate = True
    thread.join(60)
    assert raised == ["the run was cancelled"] and options._running == []
    # A cancellation that comes too late for its run is not the next one's.
    native.cancel()
    session.run(None, {"x": np.zeros(1, np.float32)})
    native.late = False
    native.cancelled.set()
    with pytest.raises(kintsugi.UsageError):  # Nobody here asked for that.
        session.run(None, {"x": np.zeros(1, np.float32)})


def test_native_runs_are_ended():
    session = kintsugi.InferenceSession(DIGITS, threads=1)
    native, x = session._program._artifact, {"images": images(session)}
    expected = session.run(None, x)[0].tobytes()
    native.cancel()
    assert native._was_cancelled
    rooms = [np.empty((449, 10), np.float32)]
    with pytest.raises(kintsugi.UsageError, match="the run was cancelled"):
        native.run([x["images"].ctypes.data], [rooms[0].ctypes.data])
    assert native.was_cancelled() and not native.was_cancelled()
    native.cancel()
    assert session.run(None, x)[0].tobytes() == expected
