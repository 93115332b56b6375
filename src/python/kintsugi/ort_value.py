"""Values by the interface of ONNX Runtime's OrtValue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import DTypeLike

from . import _capi, _dlpack
from ._capi import Array, InputError, Tensor, UsageError
from .device_array import DeviceArray
from .element_types import TYPES, dtype_of, number_of
from .memory import is_on_gpu


class OrtValue:
    """A tensor on the host or on a GPU. One of an array of the host's shares its memory, one of another library's tensor
    that tensor's."""

    __slots__ = ("_number", "_value")

    def __init__(self, value: Any, number: int) -> None:
        """Of an array, a DeviceArray, or a tensor on a GPU that has DLPack's methods; `number`: of its ONNX type."""
        self._value, self._number = value, number

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: Array, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """On the host it shares the array's memory, on a GPU it is a copy."""
        array = numpy.require(numpy.asarray(numpy_obj), requirements=["C_CONTIGUOUS", "ALIGNED"])
        number = number_of(array.dtype)
        if _is_host(device_type):
            return OrtValue(array, number)
        moved = DeviceArray(device_id, number, array.shape)
        moved.write(array)
        return OrtValue(moved, number)

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data: Array, onnx_element_type: int) -> OrtValue:
        """Of an array whose elements are to be taken for others of the same size, such as uint16 for bfloat16."""
        return OrtValue(data.view(dtype_of(onnx_element_type, "the value")), onnx_element_type)

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int], element_type: DTypeLike | int, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """What is in it is not said. `element_type`: NumPy's, or a number of ONNX's."""
        number = element_type if isinstance(element_type, int) else number_of(numpy.dtype(element_type))
        if _is_host(device_type):
            return OrtValue(numpy.empty(tuple(shape), dtype_of(number, "the value")), number)
        return OrtValue(DeviceArray(device_id, number, shape), number)

    @staticmethod
    def from_dlpack(data: Any) -> OrtValue:
        """Shares the memory of another library's tensor."""
        if is_on_gpu(data):
            return OrtValue(data, _taken(data).type)
        array = numpy.from_dlpack(data)
        return OrtValue(array, number_of(array.dtype))

    def numpy(self) -> Array:
        """On the host the array that it shares, and else a copy."""
        if isinstance(self._value, numpy.ndarray):
            return self._value
        if isinstance(self._value, DeviceArray):
            return self._value.numpy()
        raise UsageError("the value is another library's, on a GPU; copy it by what it is of (torch: .cpu())")

    def update_inplace(self, data: Any) -> None:
        """Copies an array or an OrtValue of its type and shape to its memory."""
        array = data.numpy() if isinstance(data, OrtValue) else numpy.asarray(data)
        if isinstance(self._value, DeviceArray):
            self._value.write(array)
        elif not isinstance(self._value, numpy.ndarray):
            raise UsageError("the value is another library's, on a GPU; copy to it by what it is of")
        elif array.dtype != self._value.dtype or array.shape != self._value.shape:
            raise InputError(
                f"what is copied is {array.dtype}{list(array.shape)}, the value {self._value.dtype}{self.shape()}"
            )
        else:
            numpy.copyto(self._value, array)

    def device_name(self) -> str:
        return "cpu" if isinstance(self._value, numpy.ndarray) else "cuda"

    def shape(self) -> list[int]:
        return [int(size) for size in self._value.shape]

    def data_ptr(self) -> int:
        """The address of its first element, on its device."""
        if isinstance(self._value, numpy.ndarray):
            return _capi.address_of(self._value)
        return _taken(self._value).address

    def data_type(self) -> str:
        return TYPES[self._number][0]

    def element_type(self) -> int:
        """The number of ONNX's TensorProto.DataType."""
        return self._number

    def tensor_size_in_bytes(self) -> int:
        return self._value.nbytes if hasattr(self._value, "nbytes") else _taken(self._value).bytes

    def has_value(self) -> bool:
        return True

    def is_tensor(self) -> bool:
        return True

    def is_sparse_tensor(self) -> bool:
        return False

    def is_tensor_sequence(self) -> bool:
        return False

    def __dlpack_device__(self) -> tuple[int, int]:
        if isinstance(self._value, numpy.ndarray):
            return _dlpack.CPU, 0
        device: tuple[int, int] = self._value.__dlpack_device__()
        return device

    def __dlpack__(
        self, *, stream: int | None = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> object:
        """A capsule that shares the memory. A BufferError where a copy is asked for, or another device."""
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("it is shared where it is, and not copied; take it, and copy it there")
        if isinstance(self._value, numpy.ndarray):
            return _dlpack.capsule_of(Tensor.of_array(self._value, self._number), _dlpack.CPU, 0)
        return self._value.__dlpack__(stream=stream)


def _taken(value: Any) -> Tensor:
    return _dlpack.tensor_of(value.__dlpack__())


def _is_host(device_type: str) -> bool:
    if device_type not in ("cpu", "cuda"):
        raise UsageError(f"there is no device '{device_type}'; use 'cpu' or 'cuda'")
    return device_type == "cpu"
