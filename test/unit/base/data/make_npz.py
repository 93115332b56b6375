"""Writes numpy.npz and numpy_deflated.npz beside this file, with NumPy and ml_dtypes.

The unit test of base/npz.h reads them, so that the reader is held against another writer.
"""

import pathlib

import ml_dtypes
import numpy as np

here = pathlib.Path(__file__).parent
arrays = {
    "f32": np.array([[1.5, -2.0, np.inf], [0.0, -0.0, 3e-45]], np.float32),
    "f64": np.array([np.pi, -np.e]),
    "f16": np.array([1, 65504, 6e-8], np.float16),
    "i8": np.array([-128, 127], np.int8),
    "i16": np.array([-32768, 32767], np.int16),
    "i32": np.array([-(2**31), 2**31 - 1], np.int32),
    "i64": np.array([-(2**63), 2**63 - 1], np.int64),
    "u8": np.array([0, 255], np.uint8),
    "u16": np.array([0, 65535], np.uint16),
    "u32": np.array([0, 2**32 - 1], np.uint32),
    "u64": np.array([0, 2**64 - 1], np.uint64),
    "bool": np.array([True, False, True]),
    "c64": np.array([1 + 2j, -3j], np.complex64),
    "c128": np.array([0.5 - 4j]),
    "bf16": np.array([1.0, -3.0], ml_dtypes.bfloat16),
    "f8e5m2": np.array([1.0, -2.0], ml_dtypes.float8_e5m2),
    "f8e4m3fn": np.array([1.0, -2.0], ml_dtypes.float8_e4m3fn),
    "i4": np.array([-8, 7, -1], ml_dtypes.int4),
    "u2": np.array([0, 1, 2, 3, 3], ml_dtypes.uint2),
    "scalar": np.array(42, np.int32),
    "empty": np.zeros((0, 3), np.float32),
    "fortran": np.asfortranarray(np.arange(24, dtype=np.int32).reshape(2, 3, 4)),
    "fortran_str": np.asfortranarray(np.array([["a", "b"], ["c", "d"]])),
    "str": np.array(["", "été", "東京 \U0001f600"]),
    "bytes": np.array([b"ab", b"c"]),
    "big_endian": np.array([1.0], ">f4"),
    "structure": np.zeros(1, [("a", "<f4")]),
    "date": np.array(["2020-01-01"], "M8[D]"),
    "long_double": np.zeros(1, np.longdouble),
    "object": np.array([{"a": 1}], object),
    "zeros": np.zeros(5000, np.float32),
}
np.savez(here / "numpy.npz", **arrays)
np.savez_compressed(here / "numpy_deflated.npz", **arrays)
