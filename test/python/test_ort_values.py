"""Values that stay where they are: OrtValues and DLPack's capsules on the host (test_device_tensors.py: on a GPU)."""

import gc
import sys
import weakref

import ml_dtypes
import models
import numpy as np
import onnxruntime
import pytest

kintsugi = pytest.importorskip("kintsugi", reason="the package is not built; ./dev build makes it")

from kintsugi import OrtValue, _dlpack
from kintsugi.compiled import Compiled
from kintsugi.device_array import ON_GPU

DIGITS = models.ROOT / "examples/digits/digits.onnx"


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "uint8", "int64", "bool"])
def test_values_tell_what_onnx_runtime_s_tell(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    ours, theirs = OrtValue.ortvalue_from_numpy(array), onnxruntime.OrtValue.ortvalue_from_numpy(array)
    told = "shape device_name data_type element_type tensor_size_in_bytes has_value is_tensor is_sparse_tensor is_tensor_sequence"
    for name in told.split():
        assert getattr(ours, name)() == getattr(theirs, name)(), name
    assert ours.numpy() is array and ours.data_ptr() == array.ctypes.data
    assert ours.__dlpack_device__() == theirs.__dlpack_device__()
    empty = OrtValue.ortvalue_from_shape_and_type([2, 3], dtype)
    assert (empty.shape(), empty.data_type()) == (theirs.shape(), theirs.data_type())
    assert OrtValue.ortvalue_from_shape_and_type([2, 3], theirs.element_type()).numpy().dtype == array.dtype
    empty.update_inplace(array)
    assert (empty.numpy() == array).all()
    for wrong in (array.T, array.astype(np.complex64)):
        with pytest.raises(kintsugi.InputError, match="what is copied is"):
            empty.update_inplace(wrong)


def test_values_of_types_that_numpy_has_not():
    bits = np.array([0x3F80, 0xC000], np.uint16)
    value = OrtValue.ortvalue_from_numpy_with_onnx_type(bits, 16)
    assert value.data_type() == "tensor(bfloat16)" and value.numpy().astype(np.float32).tolist() == [1, -2]
    tensor = _dlpack.tensor_of(value.__dlpack__())
    assert (tensor.type, tensor.shape, tensor.address) == (16, (2,), bits.ctypes.data)
    with pytest.raises(BufferError, match="no type"):
        OrtValue.ortvalue_from_numpy(np.zeros(3, ml_dtypes.int4)).__dlpack__()
    with pytest.raises(kintsugi.InputError, match="no tensors of"):
        OrtValue.ortvalue_from_numpy(np.zeros(3, "M8[s]"))
    with pytest.raises(kintsugi.UsageError, match="no device 'tpu'"):
        OrtValue.ortvalue_from_numpy(bits, "tpu")


def test_runs_on_values():
    session = kintsugi.InferenceSession(DIGITS)
    x = np.random.default_rng(7).standard_normal(session.get_inputs()[0].shape, np.float32)
    (expected,) = session.run(None, {"images": x})
    value = OrtValue.ortvalue_from_numpy(x)
    (result,) = session.run_with_ort_values(["probabilities"], {"images": value})
    assert isinstance(result, OrtValue) and result.numpy().tobytes() == expected.tobytes()
    assert result.element_type() == 1 and result.device_name() == "cpu"
    assert session.run(None, {"images": value})[0].tobytes() == expected.tobytes()
    binding, room = session.io_binding(), OrtValue.ortvalue_from_shape_and_type(expected.shape, np.float32)
    binding.bind_ortvalue_input("images", value)
    binding.bind_ortvalue_output("probabilities", room)
    binding.synchronize_inputs()
    session.run_with_iobinding(binding)
    binding.synchronize_outputs()
    assert room.numpy().tobytes() == expected.tobytes() and binding.get_outputs()[0] is room.numpy()
    parts = kintsugi.InferenceSession(DIGITS, fallback="onnxruntime")
    (result,) = parts.run_with_ort_values(None, {"images": value})
    assert result.numpy().tobytes() == expected.tobytes()
    for call in (
        lambda: binding.bind_output("probabilities", "cuda"),
        lambda: parts.io_binding().bind_output("probabilities", "cuda"),
    ):
        with pytest.raises(kintsugi.InputError, match="'probabilities' is on a GPU, the session is not"):
            call()


def test_capsules_share_memory_and_keep_it():
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected, gone = array.copy(), weakref.ref(array)
    value = OrtValue.ortvalue_from_numpy(array)
    taken = np.from_dlpack(value)
    again = OrtValue.from_dlpack(value)
    assert taken.ctypes.data == array.ctypes.data == again.data_ptr() and (taken == array).all()
    del array, value, again
    gc.collect()
    assert gone() is not None and (taken == expected).all()  # Who took it keeps it.
    part = taken[1:]
    del taken
    gc.collect()
    assert gone() is not None and (part == expected[1:]).all()
    del part
    gc.collect()
    assert gone() is None


def test_capsules_that_nobody_takes_let_go():
    before = len(_dlpack._given)
    array = np.arange(12, dtype=np.float32)
    gone, count = weakref.ref(array), sys.getrefcount(array)
    value = OrtValue.ortvalue_from_numpy(array)
    capsule = value.__dlpack__(stream=None, max_version=(1, 0))
    assert len(_dlpack._given) == before + 1 and sys.getrefcount(array) > count
    del capsule
    assert len(_dlpack._given) == before
    del array, value
    assert gone() is None
    for _ in range(100):  # Taken and let go again.
        np.from_dlpack(OrtValue.ortvalue_from_numpy(np.zeros((2, 0), np.int32)))
    assert len(_dlpack._given) == before
    value = OrtValue.ortvalue_from_numpy(np.zeros(3))
    for asked in ({"copy": True}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError, match="shared where it is"):
            value.__dlpack__(**asked)


class HostMemory:
    """In the place of a GPU's."""

    def __init__(self, gpu, size):
        self.bytes = np.zeros(size, np.uint8)
        self.address = self.bytes.ctypes.data

    def write(self, array):
        self.bytes[: array.nbytes] = np.frombuffer(array, np.uint8)

    def read(self, array):
        np.frombuffer(array, np.uint8)[:] = self.bytes[: array.nbytes]


@pytest.fixture
def memory_of_host(monkeypatch):
    monkeypatch.setattr(kintsugi.device_array, "GpuMemory", HostMemory)


def test_arrays_on_a_gpu_say_where_they_are(memory_of_host):
    value = OrtValue.ortvalue_from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3), "cuda", 3)
    array = value._value
    assert value.device_name() == "cuda" and value.shape() == [2, 3] and value.tensor_size_in_bytes() == 24
    assert value.__dlpack_device__() == array.__dlpack_device__() == (2, 3)
    told = array.__cuda_array_interface__
    assert (told["shape"], told["typestr"], told["data"], told["strides"]) == ((2, 3), "<f4", (value.data_ptr(), False), None)
    tensor = _dlpack.tensor_of(value.__dlpack__(stream=1))
    assert (tensor.address, tensor.shape, tensor.type) == (value.data_ptr(), (2, 3), 1)
    address, given = value.data_ptr(), value.numpy()
    assert given.tolist() == [[0, 1, 2], [3, 4, 5]] and given.ctypes.data != address
    value.update_inplace(given + 1)
    assert value.data_ptr() == address and value.numpy().tolist() == [[1, 2, 3], [4, 5, 6]]
    with pytest.raises(kintsugi.InputError, match=r"is int32\[2\], the array on the GPU float32\[2, 3\]"):
        value.update_inplace(np.zeros(2, np.int32))
    half = OrtValue.ortvalue_from_shape_and_type([4], 16, "cuda")
    assert not hasattr(half._value, "__cuda_array_interface__") and _dlpack.tensor_of(half.__dlpack__()).type == 16
    with pytest.raises(kintsugi.InputError, match="less than a byte"):
        OrtValue.ortvalue_from_shape_and_type([4], 22, "cuda")
    kept = weakref.ref(array._memory)
    capsule = value.__dlpack__()
    del value, array, tensor
    assert kept() is not None  # The capsule's.
    del capsule
    assert kept() is None


class Counting:
    """In place of a native session on a GPU, as no operator that is compiled yet makes shapes of data."""

    def inputs(self):
        return [("x", 1, [2, 3], False)]

    def outputs(self):
        return [("y", 1, [6], True)]

    def run_tensors(self, inputs, outputs, order):
        assert outputs[0].is_on_gpu and outputs[0].bytes == 24
        return [[4]]

    def stream(self):
        return None


def test_outputs_on_a_gpu_whose_shapes_depend_on_data(memory_of_host):
    compiled = Compiled(Counting(), "cuda", [])
    (y,) = compiled.compute_into([np.zeros((2, 3), np.float32)], [ON_GPU])
    assert y.shape == (4,) and y.nbytes == 16 and y.numpy().shape == (4,)
