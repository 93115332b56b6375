"""Tensors on a GPU, from Python: used where they are, through addresses and through DLPack, on an emulated device."""

import os
import subprocess
import sys
import textwrap

import pytest
from conftest import EMULATOR
from program import PROGRAM

pytest.importorskip("kintsugi", reason="the package is not built; ./dev build makes it")

HEAD = """
import ctypes
import sys
import numpy as np
import kintsugi

driver = ctypes.CDLL("libcuda.so.1")
model, device = sys.argv[1], "cuda"


class OnGpu:
    # An array in the device's memory, which is the host's here, with DLPack's methods.
    def __init__(self, array):
        address = ctypes.c_uint64()
        assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(array.nbytes)) == 0
        self.address, self.shape, self.dtype = address.value, array.shape, array.dtype
        self.memory = np.frombuffer((ctypes.c_char * array.nbytes).from_address(address.value), array.dtype)
        self.memory = self.memory.reshape(array.shape)
        self.memory[...] = array
        self.streams = []

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        capsule = self.memory.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        place = pointer(capsule, b"dltensor") + 8  # Behind the address: the device's type and number.
        ctypes.c_int32.from_address(place).value = 2
        return capsule


def refused(kind, words, call, *arguments, **keywords):
    try:
        call(*arguments, **keywords)
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")


x = np.random.default_rng(3).standard_normal((6, 50), np.float32)
expected = np.tanh(x).sum(axis=1)
session = kintsugi.InferenceSession(model, device=device)
"""

MODEL = """input x[i:6, j:50] f32
t[i:6, j:50] f32 = tanh(x[i, j])
y[i:6] f32 = sum<f32>[j:50] t[i, j]
output y
output t
"""


@pytest.fixture
def on_gpu(tmp_path):
    def run(script, model=MODEL):
        path = tmp_path / "model.te"
        path.write_text(model)
        environment = os.environ | {
            "KINTSUGI_CACHE": str(tmp_path / "cache"),
            "KINTSUGI_EMULATOR": "sm_90a",
            "LD_LIBRARY_PATH": str(EMULATOR),
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        command = [sys.executable, "-c", HEAD + textwrap.dedent(script), str(path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr

    assert (EMULATOR / "libcuda.so.1").exists(), "the emulator is not built; ./dev build makes it"
    assert PROGRAM
    return run


def test_host_arrays_and_providers(on_gpu):
    on_gpu("""
        y, t = session.run(None, {"x": x})
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(t, np.tanh(x), rtol=1e-5, atol=1e-6)
        assert session.get_providers() == ["CUDAExecutionProvider"]
        assert kintsugi.get_available_providers() == ["CUDAExecutionProvider", "CPUExecutionProvider"]
        for providers in (["CUDAExecutionProvider", "CPUExecutionProvider"], [("CUDAExecutionProvider", {"device_id": 0})]):
            other = kintsugi.InferenceSession(model, providers=providers)
            assert other.get_providers() == ["CUDAExecutionProvider"]
        assert kintsugi.InferenceSession(model, providers=["CPUExecutionProvider"]).get_providers() == ["CPUExecutionProvider"]
        refused(kintsugi.MachineError, "there is no NVIDIA device 7", kintsugi.InferenceSession, model, device="cuda:7")
    """)


def test_feeds_on_the_gpu(on_gpu):
    on_gpu("""
        feed = OnGpu(x)
        for _ in range(3):
            y, t = session.run(None, {"x": feed})
            np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)
        # The work on a feed comes ahead of the session's: its producer is told the stream.
        assert len(feed.streams) == 3 and len(set(feed.streams)) == 1 and feed.streams[0]
        np.testing.assert_array_equal(feed.memory, x)
        refused(kintsugi.InputError, "[50, 6]", session.run, None, {"x": OnGpu(x.T.copy())})
        refused(kintsugi.UsageError, "type f64", session.run, None, {"x": OnGpu(x.astype(np.float64))})
        on_host = kintsugi.InferenceSession(model)
        refused(kintsugi.InputError, "'x' is on a GPU, the session is not", on_host.run, None, {"x": feed})
        bind = on_host.io_binding().bind_input
        refused(kintsugi.InputError, "the session is not", bind, "x", "cuda", 0, np.float32, (6, 50), feed.address)
    """)


def test_what_is_bound_is_used_where_it_is(on_gpu):
    on_gpu("""
        feed, room = OnGpu(x), OnGpu(np.full(6, 7, np.float32))
        binding = session.io_binding()
        binding.bind_input("x", feed)
        binding.bind_output("y", room)
        binding.bind_output("t")
        for scale in (1, 2, 0.5):
            feed.memory[...] = x * np.float32(scale)
            session.run_with_iobinding(binding)
            np.testing.assert_allclose(room.memory, np.tanh(x * scale).sum(axis=1), rtol=1e-5, atol=1e-5)
        y, t = binding.get_outputs()
        assert y is room and isinstance(t, np.ndarray)
        np.testing.assert_allclose(t, np.tanh(x * 0.5), rtol=1e-5, atol=1e-6)
        refused(kintsugi.UsageError, "output 'y' is not the host's", binding.copy_outputs_to_cpu)
    """)


def test_open_dimensions(on_gpu, tmp_path):
    """Tensors on the GPU have sizes, too; a value that decides shapes has to be on the host."""
    from onnx import TensorProto, helper, save

    ports = [("x", TensorProto.FLOAT, ["n", 6]), ("shape", TensorProto.INT64, [2])]
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["r"]), helper.make_node("Tanh", ["r"], ["y"])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None])]
    graph = helper.make_graph(nodes, "graph", [helper.make_tensor_value_info(*port) for port in ports], outputs)
    path = tmp_path / "open.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    on_gpu(f"""
        session = kintsugi.InferenceSession({str(path)!r}, device="cuda")
        assert session.get_providers() == ["CUDAExecutionProvider"]
        binding = session.io_binding()
        for rows in (2, 4):
            x, shape = np.random.default_rng(rows).standard_normal((rows, 6), np.float32), np.array([3, 2 * rows])
            feed, room = OnGpu(x), OnGpu(np.zeros((3, 2 * rows), np.float32))
            (y,) = session.run(None, {{"x": feed, "shape": shape}})
            np.testing.assert_allclose(y, np.tanh(x).reshape(3, -1), rtol=1e-5, atol=1e-6)
            binding.bind_input("x", "cuda", 0, np.float32, x.shape, feed.address)
            binding.bind_input("shape", shape)
            binding.bind_output("y", room)
            session.run_with_iobinding(binding)
            np.testing.assert_array_equal(room.memory, y)
        assert [each["sizes"] for each in session.report()["specializations"]] == [{{"n": 2}}, {{"n": 4}}]
        refused(kintsugi.InputError, "'x' is [4, 5], the model's is [n, 6]", session.run, None,
                {{"x": OnGpu(x[:, :5].copy()), "shape": shape}})
        binding.bind_output("y", "cuda")
        for rows in (2, 3):
            x = np.ones((rows, 6), np.float32)
            binding.bind_input("x", OnGpu(x))
            binding.bind_input("shape", np.array([x.size, 1]))
            session.run_with_iobinding(binding)
            assert binding.get_outputs()[0].shape == (x.size, 1)
        refused(kintsugi.InputError, "'shape' is on a GPU, and has to be known when compiling", session.run, None,
                {{"x": feed, "shape": OnGpu(shape)}})
        on_host = kintsugi.InferenceSession({str(path)!r})
        refused(kintsugi.InputError, "'x' is on a GPU, the session is not", on_host.run, None, {{"x": feed, "shape": shape}})
        refused(kintsugi.MachineError, "no NVIDIA device 7", kintsugi.InferenceSession, {str(path)!r}, device="cuda:7")
    """)


def test_outputs_that_stay_on_the_gpu(on_gpu):
    """A new array in each run, which others take where it is, and which may be fed again."""
    on_gpu("""
        from kintsugi import OrtValue, _dlpack

        binding = session.io_binding()
        binding.bind_input("x", x)
        binding.bind_output("y", "cuda")
        binding.bind_output("t", "cuda", 0)
        session.run_with_iobinding(binding)
        y, t = binding.get_outputs()
        assert isinstance(t, kintsugi.DeviceArray) and t.__dlpack_device__() == (2, 0) and t.shape == (6, 50)
        np.testing.assert_allclose(t.numpy(), np.tanh(x), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(binding.copy_outputs_to_cpu()[0], expected, rtol=1e-5, atol=1e-5)
        tensor, told = _dlpack.tensor_of(t.__dlpack__()), t.__cuda_array_interface__
        assert tensor.address == told["data"][0] and told["shape"] == (6, 50) and told["typestr"] == "<f4"
        memory = np.frombuffer((ctypes.c_char * tensor.bytes).from_address(tensor.address), np.float32)
        np.testing.assert_array_equal(memory.reshape(6, 50), t.numpy())
        before = t.numpy()
        binding.bind_input("x", t)
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(t.numpy(), before)
        np.testing.assert_allclose(binding.get_outputs()[1].numpy(), np.tanh(before), rtol=1e-5, atol=1e-6)
        (again,) = session.run(["t"], {"x": t})
        np.testing.assert_array_equal(again, binding.get_outputs()[1].numpy())
        refused(kintsugi.UsageError, "no device 'tpu'", binding.bind_output, "y", "tpu")
        refused(kintsugi.InputError, "'y' is on GPU 1, the session on GPU 0", binding.bind_output, "y", "cuda", 1)

        value = OrtValue.ortvalue_from_numpy(x, "cuda", 0)
        assert value.device_name() == "cuda" and value.shape() == [6, 50]
        t, y = session.run_with_ort_values(["t", "y"], {"x": value})
        assert t.device_name() == "cuda" and t.data_type() == "tensor(float)"
        np.testing.assert_allclose(t.numpy(), np.tanh(x), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5, atol=1e-5)
        value.update_inplace(x / 2)
        binding.bind_ortvalue_input("x", value)
        binding.bind_ortvalue_output("t", t)
        session.run_with_iobinding(binding)
        np.testing.assert_allclose(t.numpy(), np.tanh(x / 2), rtol=1e-5, atol=1e-6)
        other = OrtValue.from_dlpack(OnGpu(x))
        assert other.element_type() == 1 and other.data_ptr() and other.tensor_size_in_bytes() == x.nbytes
        refused(kintsugi.UsageError, "another library's", other.numpy)
        refused(kintsugi.UsageError, "another library's", other.update_inplace, x)
        (y,) = session.run(["y"], {"x": other})
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)
    """)


STREAMS = """
        import warnings

        warnings.simplefilter("error")
        stream = ctypes.c_void_p()
        assert driver.cuStreamCreate(ctypes.byref(stream), 0) == 0
        number = stream.value
        not_waiting = kintsugi.RunOptions()
        not_waiting.add_run_config_entry("disable_synchronize_execution_providers", "1")
        waiting = kintsugi.RunOptions()
        waiting.add_run_config_entry("disable_synchronize_execution_providers", "0")
"""


def test_runs_on_a_stream_of_the_callers(on_gpu):
    on_gpu(STREAMS + """
        for given in (number, str(number)):
            provider = "CUDAExecutionProvider", {"device_id": 0, "user_compute_stream": given}
            session = kintsugi.InferenceSession(model, providers=[provider])
            assert session.get_provider_options() == {
                "CUDAExecutionProvider": {"device_id": "0", "user_compute_stream": str(number)}
            }
            feed, rooms = OnGpu(x), [OnGpu(np.zeros(6, np.float32)), OnGpu(np.zeros((6, 50), np.float32))]
            y, t = session.run(None, {"x": feed})
            np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(session.run(["y"], {"x": x})[0], expected, rtol=1e-5, atol=1e-5)
            binding = session.io_binding()
            binding.bind_input("x", feed)
            for name, room in zip("yt", rooms):
                binding.bind_output(name, room)
            for turn, options in enumerate((None, waiting, not_waiting, not_waiting, None)):
                feed.memory[...] = x / (turn + 1)
                session.run_with_iobinding(binding, options)
                binding.synchronize_outputs()
                np.testing.assert_allclose(rooms[1].memory, np.tanh(x / (turn + 1)), rtol=1e-5, atol=1e-6)
            assert feed.streams == [number] * 6  # Whose work comes ahead of what is in that stream.
            binding.bind_output("t", "cuda")  # A new array is there when a run returns, as others take it when they like.
            session.run_with_iobinding(binding, not_waiting)
            np.testing.assert_array_equal(binding.get_outputs()[1].numpy(), rooms[1].memory)
        for wrong in ("a stream", [1]):
            providers = [("CUDAExecutionProvider", {"user_compute_stream": wrong})]
            refused(kintsugi.UsageError, "it takes the number of a CUDA stream", kintsugi.InferenceSession, model, providers=providers)
        default = kintsugi.InferenceSession(model, providers=[("CUDAExecutionProvider", {"user_compute_stream": 0})])
        feed.streams.clear()
        np.testing.assert_allclose(default.run(["y"], {"x": feed})[0], y_of(feed.memory), rtol=1e-5, atol=1e-5)
        assert feed.streams == [1]  # DLPack's number of the default one.
    """.replace("y_of(feed.memory)", "np.tanh(feed.memory).sum(axis=1)"))


def test_tensors_of_one_package_and_the_streams_of_runs(on_gpu):
    """torch orders its work by the current stream: a run on what is bound is put there."""
    on_gpu(STREAMS + """
        import types

        torch = sys.modules["torch"] = types.ModuleType("torch")
        current, asked = [number], []
        torch.cuda = types.SimpleNamespace(
            current_stream=lambda gpu: asked.append(gpu) or types.SimpleNamespace(cuda_stream=current[0])
        )
        Tensor = type("Tensor", (OnGpu,), {"__module__": "torch"})
        own = session._program.stream()
        callers = kintsugi.InferenceSession(model, providers=[("CUDAExecutionProvider", {"user_compute_stream": number})])
        for session in (session, callers):
            feed, room, host = Tensor(x), Tensor(np.zeros(6, np.float32)), np.zeros((6, 50), np.float32)
            binding = session.io_binding()
            binding.bind_input("x", feed)
            binding.bind_output("y", room)
            binding.bind_output("t", host)
            asked.clear()
            for turn in range(4):
                feed.memory[...] = x / (turn + 1)
                session.run_with_iobinding(binding, (None, not_waiting)[turn % 2])
                np.testing.assert_allclose(host, np.tanh(x / (turn + 1)), rtol=1e-5, atol=1e-6)
                np.testing.assert_allclose(room.memory, np.tanh(x / (turn + 1)).sum(axis=1), rtol=1e-5, atol=1e-5)
            assert asked == [0] * 4
            # Each is asked where it is when it is bound; one comes ahead of the session's own stream in the first run.
            told = feed.streams + room.streams
            assert told == ([number] * 2 if session is callers else [own] * 3), told
        current[0] = 0
        session.run_with_iobinding(binding)  # Another stream is the current one now.
        assert feed.streams + room.streams == [number] * 3
    """)


def test_a_wrong_index_on_the_gpu_is_said_when_the_run_is_over(on_gpu, tmp_path):
    from onnx import TensorProto, helper, save

    ports = [("x", TensorProto.FLOAT, [9, 4]), ("ids", TensorProto.INT64, [3])]
    graph = helper.make_graph(
        [helper.make_node("Gather", ["x", "ids"], ["y"], "pick")],
        "graph",
        [helper.make_tensor_value_info(*port) for port in ports],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4])],
    )
    path = tmp_path / "gather.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    on_gpu(STREAMS + f"""
        providers = [("CUDAExecutionProvider", {{"user_compute_stream": number}})]
        session = kintsugi.InferenceSession({str(path)!r}, providers=providers)
        x = np.random.default_rng(3).standard_normal((9, 4), np.float32)
        table, ids, room = OnGpu(x), OnGpu(np.array([0, 8, 3])), OnGpu(np.zeros((3, 4), np.float32))
        binding = session.io_binding()
        for name, value in (("x", table), ("ids", ids)):
            binding.bind_input(name, value)
        binding.bind_output("y", room)
        for options in (None, None, not_waiting, not_waiting):
            session.run_with_iobinding(binding, options)
            binding.synchronize_outputs()
            np.testing.assert_array_equal(room.memory, x[ids.memory])
        ids.memory[1] = 9
        wrong = "input 'ids': node 'pick': its index 9 is outside"
        refused(kintsugi.InputError, wrong, session.run_with_iobinding, binding)
        refused(kintsugi.InputError, wrong, session.run, None, {{"x": table, "ids": ids}})
        session.run_with_iobinding(binding, not_waiting)
        refused(kintsugi.InputError, "an earlier run: " + wrong, binding.synchronize_outputs)
        binding.synchronize_outputs()  # It is said once.
        session.run_with_iobinding(binding, not_waiting)
        ids.memory[1] = -9
        refused(kintsugi.InputError, "an earlier run: " + wrong, session.run_with_iobinding, binding, not_waiting)
        session.run_with_iobinding(binding, not_waiting)
        binding.synchronize_outputs()
        np.testing.assert_array_equal(room.memory, x[ids.memory])
    """)


@pytest.mark.parametrize("offset", [0, 16, 51])
def test_a_cache_is_written_where_it_was_read(on_gpu, offset):
    """y[i] = x[i + 1], and t is written while x is read, in the same memory or next to it."""
    model = """input x[i:6, j:50] f32
    y[i:6, j:50] f32 = x[i, (j + 1) % 50]
    t[i:6, j:50] f32 = tanh(y[i, j]) + x[i, j]
    s[i:6] f32 = sum<f32>[j:50] x[i, j]
    output y
    output t
    output s
    """.replace("\n    ", "\n")
    on_gpu(f"""
        memory = OnGpu(np.zeros(1200, np.float32))
        binding, at = session.io_binding(), memory.address
        binding.bind_input("x", "cuda", 0, np.float32, (6, 50), at + 400)
        binding.bind_output("y", "cuda", 0, np.float32, (6, 50), at + 400 + 4 * {offset})
        binding.bind_output("t", "cuda", 0, np.float32, (6, 50), at + 4 * 900)
        room = np.zeros(6, np.float32)
        binding.bind_output("s", room)
        for turn in range(5):
            memory.memory[100:400] = x.reshape(-1) + turn
            session.run_with_iobinding(binding)
            now = np.roll(x + turn, -1, axis=1)
            np.testing.assert_array_equal(memory.memory[100 + {offset} : 400 + {offset}].reshape(6, 50), now)
            np.testing.assert_allclose(memory.memory[900:].reshape(6, 50), np.tanh(now) + (x + turn), rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(room, (x + turn).sum(axis=1), rtol=1e-4, atol=1e-4)
    """, model)


def test_memory_of_a_gpu(on_gpu):
    on_gpu("""
        from kintsugi.gpu_memory import GpuMemory

        freed, free = [], kintsugi.gpu_memory._free
        kintsugi.gpu_memory._free = lambda *of: (freed.append(of), free(*of))
        memory, back = GpuMemory(0, x.nbytes), np.zeros_like(x)
        memory.write(x)
        memory.read(back)
        np.testing.assert_array_equal(back, x)
        address = memory.address
        assert address and GpuMemory(0, 0).address == 0
        del memory
        assert freed == [(0, address)]
        refused(kintsugi.MachineError, "no NVIDIA device 7", GpuMemory, 7, 4)
        refused(kintsugi.MachineError, "can't allocate", GpuMemory, 0, 1 << 60)
        GpuMemory(0, 0).write(x[:0])
    """)


def test_tensors_of_another_gpu_are_refused(on_gpu):
    # Kernels can't reach them; managed memory they can, whichever GPU it was made on.
    on_gpu("""
        feed, room = OnGpu(x), OnGpu(np.full(6, 7, np.float32))
        binding = session.io_binding()
        binding.bind_input("x", feed)
        binding.bind_output("y", room)
        for one in (feed, room):
            one.__class__ = type("OnGpu1", (OnGpu,), {"__dlpack_device__": lambda self: (2, 1)})
            refused(kintsugi.InputError, "is on GPU 1, the session on GPU 0", session.run_with_iobinding, binding)
            one.__class__ = type("Managed", (OnGpu,), {"__dlpack_device__": lambda self: (13, 1)})
        assert (room.memory == 7).all()
        session.run_with_iobinding(binding)
        np.testing.assert_allclose(room.memory, expected, rtol=1e-5, atol=1e-5)
    """)


def test_what_no_output_can_go_to_is_refused(on_gpu):
    on_gpu("""
        binding = session.io_binding()
        binding.bind_input("x", x)
        for value, kind, words in (
            ([0] * 6, kintsugi.InputError, "output 'y' is to go to a list"),
            (OnGpu(np.zeros(6, np.int32)), kintsugi.UsageError, "output 'y' is to have type i32"),
            (OnGpu(np.zeros(7, np.float32)), kintsugi.InputError, "[7]"),
            (np.zeros(12, np.float32)[::2], kintsugi.InputError, "it needs a dense, writable"),
        ):
            binding.bind_output("y", value)
            refused(kind, words, session.run_with_iobinding, binding)
    """)


def test_addresses_are_bound_as_onnx_runtime_binds_them(on_gpu):
    on_gpu("""
        feed, room = OnGpu(x), OnGpu(np.zeros((6, 50), np.float32))
        binding = session.io_binding()
        binding.bind_input("x", "cuda", 0, np.float32, (6, 50), feed.address)
        binding.bind_output("t", "cuda", 0, np.float32, (6, 50), room.address)
        session.run_with_iobinding(binding)
        np.testing.assert_allclose(room.memory, np.tanh(x), rtol=1e-5, atol=1e-6)
        host = np.zeros(6, np.float32)
        binding.bind_output("y", host)
        session.run_with_iobinding(binding)
        np.testing.assert_allclose(host, expected, rtol=1e-5, atol=1e-5)
        assert binding.get_outputs()[1] is host
        refused(kintsugi.InputError, "is int32", binding.bind_input, "x", "cuda", 0, np.int32, (6, 50), feed.address)
        refused(kintsugi.InputError, "[5, 50]", binding.bind_input, "x", "cuda", 0, np.float32, (5, 50), feed.address)
        refused(kintsugi.InputError, "'x' is on GPU 1, the session on GPU 0", binding.bind_input, "x", "cuda", 1, None, None, feed.address)
        refused(kintsugi.UsageError, "-5, which is no address", binding.bind_input, "x", "cuda", 0, None, None, -5)
        refused(kintsugi.UsageError, "no device 'tpu'", binding.bind_input, "x", "tpu", 0, None, None, feed.address)
        refused(kintsugi.InputError, "no input 'z'", binding.bind_input, "z", feed)
        # On the host that address is none.
        refused(kintsugi.UsageError, "another session's", kintsugi.InferenceSession(model).run_with_iobinding, binding)
        refused(TypeError, "integer", binding.bind_input, "x", "cuda", "0", None, None, feed.address)
        binding.bind_input("x", "cuda", 0, np.float32, (6, 50), 0x1000000)
        refused(kintsugi.InputError, "the GPU's, which has no memory there", session.run_with_iobinding, binding)
        binding.bind_input("x", "cuda", 0, np.float32, (6, 50), feed.address)
        session.run_with_iobinding(binding)
        assert driver.cuMemFree_v2(ctypes.c_uint64(feed.address)) == 0
        refused(kintsugi.InputError, str(feed.address), session.run_with_iobinding, binding)
        binding.clear_binding_inputs()
        refused(kintsugi.InputError, "input 'x' is not bound", session.run_with_iobinding, binding)
    """)
