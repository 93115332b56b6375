"""DLPack's capsules: what they say of the memory of other libraries' tensors, and those of ours."""

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
_CODES = {number: code for code, number in _NUMBERS.items()}
CPU, GPU = 1, 2  # DLPack's numbers for devices.
_NAME = b"dltensor"  # As long as nobody took what is in a capsule.

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
    tensor = _DlTensor.from_address(_pointer_of_capsule(capsule, _NAME))
    shape = tensor.shape[: tensor.ndim]
    strides = tensor.strides[: tensor.ndim] if tensor.strides else _dense(shape)
    if math.prod(shape) and any(size > 1 and own != dense for size, own, dense in zip(shape, strides, _dense(shape))):
        raise BufferError(f"its strides are {strides}")
    address = (tensor.data or 0) + tensor.byte_offset
    number = _NUMBERS.get((tensor.code, tensor.bits), ANY) if tensor.lanes == 1 else ANY
    return Tensor(capsule, address, number, shape, math.prod(shape) * ((tensor.bits * tensor.lanes + 7) // 8))


#
# Capsules of ours
#


class _ManagedTensor(ctypes.Structure):
    """DLPack's DLManagedTensor."""

    _fields_ = [("tensor", _DlTensor), ("context", c_void_p), ("deleter", c_void_p)]


# By the address of a managed tensor what it needs, until who took it, or the capsule that nobody took, lets go of it.
_given: dict[int, tuple[object, ...]] = {}


def _let_go(address: int) -> None:
    _given.pop(address, None)


_as_pointer = {"PyCapsule_IsValid": ctypes.c_int, "PyCapsule_GetPointer": c_void_p}
_is_valid, _pointer_in = (
    ctypes.PYFUNCTYPE(result, c_void_p, c_char_p)((name, ctypes.pythonapi)) for name, result in _as_pointer.items()
)


def _destroy(capsule: int) -> None:
    """Of a capsule, as a number: it must not come to life again."""
    if _is_valid(capsule, _NAME):
        _let_go(_pointer_in(capsule, _NAME))


_deleter = ctypes.CFUNCTYPE(None, c_void_p)(_let_go)
_destructor = ctypes.PYFUNCTYPE(None, c_void_p)(_destroy)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", ctypes.pythonapi))


def capsule_of(tensor: Tensor, device: int, number: int) -> object:
    """A capsule for dense memory on a device, by DLPack's numbers, which it keeps. A BufferError where DLPack has no type
    for its elements."""
    if tensor.type not in _CODES:
        raise BufferError("DLPack has no type for its elements")
    code, bits = _CODES[tensor.type]
    rank = len(tensor.shape)
    shape, strides = (c_int64 * rank)(*tensor.shape), (c_int64 * rank)(*_dense(tensor.shape))
    managed = _ManagedTensor()
    managed.tensor = _DlTensor(tensor.address, device, number, rank, code, bits, 1, shape, strides, 0)
    managed.deleter = ctypes.cast(_deleter, c_void_p)
    address = ctypes.addressof(managed)
    _given[address] = (managed, shape, strides, tensor)
    return _new_capsule(address, _NAME, ctypes.cast(_destructor, c_void_p))
