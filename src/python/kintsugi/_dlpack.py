"""What DLPack's capsules say of the memory of other libraries' tensors."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p

from ._capi import ANY, Tensor


class _DlTensor(ctypes.Structure):
    """DLPack's DLTensor, without the structures in it."""

    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


# The numbers of DLPack's types, by code (integers, unsigned ones, floats, bfloat16, complex, booleans) and bits.
_NUMBERS = {
    **{(0, 8): 3, (0, 16): 5, (0, 32): 6, (0, 64): 7},
    **{(1, 8): 2, (1, 16): 4, (1, 32): 12, (1, 64): 13},
    **{(2, 16): 10, (2, 32): 1, (2, 64): 11, (4, 16): 16},
    **{(5, 64): 14, (5, 128): 15, (6, 8): 9},
}
_pointer_of_capsule = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _dense(shape: Sequence[int]) -> list[int]:
    """The strides of a row-major tensor, in elements."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return strides[::-1]


def tensor_of(capsule: object) -> Tensor:
    """What a capsule that nobody took describes: it gives the memory back when it goes. A BufferError where the memory is
    not dense."""
    tensor = _DlTensor.from_address(_pointer_of_capsule(capsule, b"dltensor"))
    shape = tensor.shape[: tensor.ndim]
    strides = tensor.strides[: tensor.ndim] if tensor.strides else _dense(shape)
    if math.prod(shape) and any(size > 1 and own != dense for size, own, dense in zip(shape, strides, _dense(shape))):
        raise BufferError(f"its strides are {strides}")
    address = (tensor.data or 0) + tensor.byte_offset
    number = _NUMBERS.get((tensor.code, tensor.bits), ANY) if tensor.lanes == 1 else ANY
    return Tensor(capsule, address, number, shape, math.prod(shape) * ((tensor.bits * tensor.lanes + 7) // 8))
