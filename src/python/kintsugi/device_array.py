"""Arrays in the memory of a GPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from . import _dlpack, packed
from ._capi import Array, InputError, Tensor
from .element_types import dtype_of
from .gpu_memory import GpuMemory


class DeviceArray:
    """A dense array on a GPU, of which the memory is kept as long as anybody refers to it. torch, CuPy and others take it
    where it is, by DLPack or by `__cuda_array_interface__`; what a run writes to it is there when the run returns, so that
    no stream has to wait."""

    __slots__ = ("__weakref__", "_gpu", "_memory", "_number", "dtype", "shape")

    def __init__(self, gpu: int, number: int, shape: Sequence[int]) -> None:
        """`number`: of ONNX's TensorProto.DataType; what is in it is not said."""
        if number in packed.BITS:
            raise InputError("elements of less than a byte have no arrays on a GPU")
        self._gpu, self._number, self.shape = gpu, number, tuple(shape)
        self.dtype: numpy.dtype[Any] = dtype_of(number, "an array on a GPU")
        self._memory = GpuMemory(gpu, self.nbytes)

    def __repr__(self) -> str:
        return f"DeviceArray(shape={list(self.shape)}, dtype={self.dtype}, device='cuda:{self._gpu}')"

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def numpy(self) -> Array:
        """A copy on the host."""
        array = numpy.empty(self.shape, self.dtype)
        self._memory.read(array)
        return array

    def write(self, array: Array) -> None:
        """Copies an array of the host's, of its type and shape."""
        if array.dtype != self.dtype or array.shape != self.shape:
            raise InputError(
                f"what is copied is {array.dtype}{list(array.shape)}, the array on the GPU {self.dtype}{list(self.shape)}"
            )
        self._memory.write(numpy.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"]))

    def __dlpack_device__(self) -> tuple[int, int]:
        return _dlpack.GPU, self._gpu

    def __dlpack__(
        self, *, stream: int | None = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> object:
        """A capsule that shares the memory. A BufferError where a copy is asked for, or another device."""
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("it is shared where it is, and not copied; take it, and copy it there")
        return _dlpack.capsule_of(self._tensor(), *self.__dlpack_device__())

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.dtype.kind == "V":  # Of ml_dtypes, which the interface has no names for.
            raise AttributeError(f"__cuda_array_interface__ has no elements of type {self.dtype}; take it by DLPack")
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._memory.address, False),
            "strides": None,
            "stream": None,
            "version": 3,
        }

    def _tensor(self) -> Tensor:
        return Tensor(self._memory, self._memory.address, self._number, self.shape, self.nbytes, True)

    def _first(self, shape: Sequence[int]) -> DeviceArray:
        """The same memory, of which a run has filled that much from its start."""
        if tuple(shape) == self.shape:
            return self
        part = object.__new__(DeviceArray)
        part._gpu, part._number, part.dtype, part._memory = self._gpu, self._number, self.dtype, self._memory
        part.shape = tuple(shape)
        return part


class _OnGpu:
    """What an output is bound to that is to be a new array on the session's GPU in each run."""

    def __repr__(self) -> str:
        return "a new array on the GPU"


ON_GPU = _OnGpu()
