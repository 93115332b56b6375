"""Arrays of elements narrower than a byte: one byte each in NumPy's arrays (of ml_dtypes), packed in a model's tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

# Bits of an element, by the numbers of ONNX's TensorProto.DataType.
BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}
_SIGNED = {22, 26}
_FLOATS = {23}


def size(number: int, shape: Sequence[int]) -> int:
    """Bytes that a tensor has."""
    return -(-math.prod(shape) * BITS[number] // 8)


def pack(number: int, array: NDArray[Any]) -> NDArray[numpy.uint8]:
    """The bytes of a tensor, the first element in the lowest bits."""
    bits = BITS[number]
    codes = numpy.zeros(size(number, array.shape) * 8 // bits, numpy.uint8)
    codes[: array.size] = array.reshape(-1).view(numpy.uint8) & ((1 << bits) - 1)
    places = numpy.arange(0, 8, bits, dtype=numpy.uint8)
    found: NDArray[numpy.uint8] = numpy.bitwise_or.reduce(codes.reshape(-1, 8 // bits) << places, axis=1, dtype=numpy.uint8)
    return found


def unpack(
    number: int, data: NDArray[numpy.uint8], shape: Sequence[int], dtype: numpy.dtype[Any]
) -> NDArray[Any]:
    """The array that a tensor's bytes are."""
    bits = BITS[number]
    places = numpy.arange(0, 8, bits, dtype=numpy.uint8)
    codes = ((data.reshape(-1, 1) >> places) & ((1 << bits) - 1)).reshape(-1)[: math.prod(shape)].reshape(shape)
    if number in _FLOATS:
        return numpy.ascontiguousarray(codes).view(dtype)
    if number in _SIGNED:
        codes = (codes ^ (1 << (bits - 1))).astype(numpy.int8) - (1 << (bits - 1))
    return codes.astype(dtype)
