"""Types of elements, by the names that they have elsewhere."""

from __future__ import annotations

from typing import Any

import numpy

from ._capi import InputError

# By the numbers of ONNX's TensorProto.DataType: ONNX Runtime's name for tensors of it, NumPy's type, and
# the compiler's name. Those that NumPy does not have itself the package ml_dtypes brings.
TYPES = {
    1: ("tensor(float)", "float32", "f32"),
    2: ("tensor(uint8)", "uint8", "u8"),
    3: ("tensor(int8)", "int8", "i8"),
    4: ("tensor(uint16)", "uint16", "u16"),
    5: ("tensor(int16)", "int16", "i16"),
    6: ("tensor(int32)", "int32", "i32"),
    7: ("tensor(int64)", "int64", "i64"),
    9: ("tensor(bool)", "bool", "bool"),
    10: ("tensor(float16)", "float16", "f16"),
    11: ("tensor(double)", "float64", "f64"),
    12: ("tensor(uint32)", "uint32", "u32"),
    13: ("tensor(uint64)", "uint64", "u64"),
    14: ("tensor(complex64)", "complex64", "c64"),
    15: ("tensor(complex128)", "complex128", "c128"),
    16: ("tensor(bfloat16)", "bfloat16", "bf16"),
    17: ("tensor(float8e4m3fn)", "float8_e4m3fn", "f8e4m3fn"),
    18: ("tensor(float8e4m3fnuz)", "float8_e4m3fnuz", "f8e4m3fnuz"),
    19: ("tensor(float8e5m2)", "float8_e5m2", "f8e5m2"),
    20: ("tensor(float8e5m2fnuz)", "float8_e5m2fnuz", "f8e5m2fnuz"),
    21: ("tensor(uint4)", "uint4", "u4"),
    22: ("tensor(int4)", "int4", "i4"),
    23: ("tensor(float4e2m1)", "float4_e2m1fn", "f4e2m1"),
    24: ("tensor(float8e8m0)", "float8_e8m0fnu", "f8e8m0"),
    25: ("tensor(uint2)", "uint2", "u2"),
    26: ("tensor(int2)", "int2", "i2"),
}
OF_ML_DTYPES = range(16, 27)
NUMBERS = {name: number for number, (_, _, name) in TYPES.items()}


def dtype_of(number: int, name: str) -> numpy.dtype[Any]:
    """NumPy's type for a number; an error that names the input or output `name` where there is none."""
    if number not in TYPES:
        raise InputError(f"'{name}' has an element type that NumPy has no arrays of; run the model from C")
    _, dtype, _ = TYPES[number]
    return numpy.dtype(_type_of_ml_dtypes(name, dtype) if number in OF_ML_DTYPES else dtype)


def number_of(dtype: numpy.dtype[Any]) -> int:
    """The number of NumPy's type."""
    for number, (_, name, _) in TYPES.items():
        if name == dtype.name:
            return number
    raise InputError(f"ONNX has no tensors of {dtype}")


def _type_of_ml_dtypes(name: str, dtype: str) -> Any:
    try:
        import ml_dtypes

        return getattr(ml_dtypes, dtype)
    except (ImportError, AttributeError):
        raise InputError(f"'{name}' has elements of type {dtype}; install a newer ml_dtypes for arrays of it") from None


def has_infinity(dtype: numpy.dtype[Any]) -> bool:
    """Or NaN."""
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name and "float4" not in dtype.name)
