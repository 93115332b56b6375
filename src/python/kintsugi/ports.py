"""Inputs and outputs of a session: what is taken for them, and what they go to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy
from numpy.typing import DTypeLike

from . import _capi, packed
from ._capi import Array, InputError
from .element_types import TYPES, dtype_of
from .memory import Held, is_on_gpu
from .ort_value import OrtValue

_BYTE = numpy.dtype(numpy.uint8)


class NodeArg:
    """An input or output: `name`, `type` as ONNX Runtime spells it, and `shape`, with None for a size that depends on data."""

    __slots__ = ("_bound", "_bytes", "_dtype", "_dynamic", "_is_packed", "_is_usual", "_number", "name", "shape", "type")

    name: str
    type: str
    shape: list[int | str | None] | None
    _dtype: Any

    def __init__(self, name: str, number: int, bound: Sequence[int], dynamic: bool) -> None:
        self._dtype = dtype_of(number, name)
        self.name, self.type = name, TYPES[number][0]
        self.shape = [None] * len(bound) if dynamic else list(bound)
        self._bound, self._dynamic = tuple(bound), dynamic
        self._number, self._is_packed = number, number in packed.BITS
        self._bytes = self._size_of(self._bound)
        # Not empty, and of a type of NumPy's own: such arrays are looked at quickly.
        self._is_usual = self._bytes > 0 and not self._is_packed and self._dtype.kind in "biufc"

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape!r})"

    def _size_of(self, shape: Sequence[int]) -> int:
        """Bytes of a tensor."""
        if self._is_packed:
            return packed.size(self._number, shape)
        return math.prod(shape) * int(self._dtype.itemsize)

    def _fits(self, shape: Sequence[int]) -> bool:
        return shape == self._bound

    def _dense(self, value: Any) -> Array:
        """A dense array of a feed."""
        array = numpy.asarray(value)
        if not (array.flags.c_contiguous and array.flags.aligned):
            array = numpy.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])
        if array.dtype != self._dtype or not self._fits(array.shape):
            raise InputError(
                f"input '{self.name}' is {array.dtype}{list(array.shape)}, the model's is {self._dtype}{self._spelled()}"
            )
        return array

    def _take(self, value: Any) -> Array:
        """What a run reads of a feed."""
        array = self._dense(value)
        return packed.pack(self._number, array) if self._is_packed else array

    def _room(self, value: Any) -> Array:
        """What an output goes to, in place."""
        if not isinstance(value, numpy.ndarray) and not hasattr(value, "__dlpack__"):
            raise InputError(f"output '{self.name}' is to go to a {type(value).__name__}; give an array or a tensor")
        if self._is_packed:
            raise InputError(f"output '{self.name}' is of packed elements, which no array has; bind it to no memory")
        array = value if isinstance(value, numpy.ndarray) else numpy.from_dlpack(value)
        dense = array.flags.c_contiguous and array.flags.aligned and array.flags.writeable
        if array.dtype != self._dtype or array.shape != self._bound or not dense:
            raise InputError(
                f"output '{self.name}' is to go to {array.dtype}{list(array.shape)}, it needs a dense, writable "
                f"{self._dtype}{self._spelled()}"
            )
        return array

    def _shaped(self, result: Array, shape: Sequence[int]) -> Array:
        """The array that a run left in what `empty_for` made."""
        if self._is_packed:
            result = packed.unpack(self._number, result, self._bound, self._dtype)
        if not self._dynamic:
            return result
        return result.reshape(-1)[: math.prod(shape)].reshape(shape)

    def _memory(self, address: int, element_type: DTypeLike | None, shape: Sequence[int] | None, on_gpu: bool) -> _capi.Tensor:
        """What only an address is known of, and what its owner says of it."""
        if element_type is not None and numpy.dtype(element_type) != self._dtype:
            raise InputError(f"'{self.name}' is {numpy.dtype(element_type)}, the model's is {self._dtype}")
        if shape is None:
            shape = self._usual_shape()
        elif not self._fits(tuple(shape)):
            raise InputError(f"'{self.name}' is {list(shape)}, the model's is {self._spelled()}")
        return _capi.Tensor(None, address, self._number, shape, self._size_of(shape), on_gpu)

    def _usual_shape(self) -> Sequence[int]:
        return self._bound

    def _spelled(self) -> str:
        return str(list(self._bound))


class OpenArg(NodeArg):
    """One whose type may be any, and whose sizes a run decides: in `shape` names stand for them, or None."""

    __slots__ = ()

    def __init__(
        self, name: str, number: int | None, shape: Sequence[int | str | None] | None, kind: str | None = None
    ) -> None:
        """`number`: None for what is no tensor of numbers, and `kind` is its type then."""
        self.name, self.shape = name, None if shape is None else list(shape)
        self.type = TYPES[number][0] if number is not None else str(kind)
        self._dtype = None if number is None else dtype_of(number, name)
        self._bound, self._dynamic, self._bytes = (), True, 0
        self._number, self._is_packed = number or 0, number in packed.BITS
        self._is_usual = False

    def _fits(self, shape: Sequence[int]) -> bool:
        return self.shape is None or (
            len(self.shape) == len(shape)
            and all(own == size or not isinstance(own, int) for own, size in zip(self.shape, shape))
        )

    def _dense(self, value: Any) -> Array:
        return value if self._dtype is None else super()._dense(value)

    def _room(self, value: Any) -> Array:
        raise InputError(f"output '{self.name}' has no shape that is known before a run; bind it without a value")

    def _usual_shape(self) -> Sequence[int]:
        raise InputError(f"'{self.name}' has sizes that are open; say its shape")

    def _spelled(self) -> str:
        sizes = self.shape if self.shape is not None else ["..."]
        return f"[{', '.join('?' if size is None else str(size) for size in sizes)}]"


def at_home(value: Any, of_host: Callable[[Any], Array]) -> Any:
    """A value that is elsewhere as it is, and else `of_host` of it: an array."""
    if isinstance(value, numpy.ndarray):
        return of_host(value)
    if isinstance(value, OrtValue):
        return at_home(value._value, of_host)
    return value if isinstance(value, (_capi.Tensor, Held)) or is_on_gpu(value) else of_host(value)


# Results that are larger may be stored past the caches, from a cache line on.
_CACHED = 64 << 10


def empty_for(port: NodeArg) -> tuple[Array, int]:
    """An array for an output, or the bytes of packed elements, and its address: on a cache line where the array is large
    (numpy's start anywhere)."""
    if port._is_usual and port._bytes <= _CACHED:
        array = numpy.empty(port._bound, port._dtype)
        return array, _capi.address_of(array)
    line = 64
    room = numpy.empty(port._bytes + line, _BYTE)
    address = _capi.address_of(room)
    skipped = -address % line
    shape, dtype = ((port._bytes,), _BYTE) if port._is_packed else (port._bound, port._dtype)
    return numpy.ndarray(shape, dtype, room, skipped), address + skipped
