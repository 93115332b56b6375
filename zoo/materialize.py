"""Gives a model whose external weights are absent its weights: random, the same bits on every machine.

usage: materialize.py MODEL.onnx OUT_FOLDER

Writes OUT_FOLDER/NAME.onnx beside OUT_FOLDER/NAME.weights. Element i of a tensor depends on the tensor's name
and shape alone:

    u = (splitmix64(fnv1a64(name) + (i + 1) * 0x9E3779B97F4A7C15) >> 40) * 2^-24      in [0, 1)
    rank 0 and 1:      u + 0.5                        scales and variances
    rank 2 and more:   (u - 0.5) * sqrt(12 / fan)     unit gain

in float32, the factor rounded to float32 first, then cast to the tensor's type. fan is sqrt(size) / 4 for rank
2; for higher ranks size / shape[0], or the last extent where shape[0] is 1. `kintsugi --random-weights` follows
the same rule.
"""

import concurrent.futures
import math
import os
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1
# Elements that one step works on: its two arrays of 64-bit numbers stay in a core's cache.
BLOCK = 1 << 15
STEPS = np.arange(1, BLOCK + 1, dtype=np.uint64) * np.uint64(GOLDEN)
PAGE = 4096


def fnv1a64(text):
    """Fowler, Noll and Vo's 64-bit hash of a string's UTF-8 bytes."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


def fill_block(out, start, seed):
    """Elements start, start + 1, ... of the stream of a seed: Steele's splitmix64, its top 24 bits over 2^24."""
    z = STEPS[: len(out)] + np.uint64((seed + start * GOLDEN) & MASK)
    shifted = z >> np.uint64(30)
    for multiplier, shift in ((0xBF58476D1CE4E5B9, 27), (0x94D049BB133111EB, 31)):
        z ^= shifted
        z *= np.uint64(multiplier)
        np.right_shift(z, np.uint64(shift), out=shifted)
    z ^= shifted
    z >>= np.uint64(40)
    out[:] = z.astype(np.int32)
    out *= np.float32(2**-24)


def uniform(name, size):
    """`size` float32 values in [0, 1) that depend on the name alone."""
    out = np.empty(size, np.float32)
    seed = fnv1a64(name)

    def fill(start):
        fill_block(out[start : start + BLOCK], start, seed)

    def fill_all(starts):
        for start in starts:
            fill(start)

    starts = range(0, size, BLOCK)
    threads = min(len(os.sched_getaffinity(0)), max(1, len(starts)))
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill_all, (starts[thread::threads] for thread in range(threads))))
    return out


def fan_in(shape):
    """How many terms a weight's product is taken to add up, which sets its values' size."""
    size = math.prod(shape)
    if len(shape) == 2:
        return math.sqrt(size) / 4
    return shape[-1] if shape[0] == 1 else size // shape[0]


def values(name, shape, dtype):
    """The array of the rule above, for a tensor of this name, shape and type."""
    out = uniform(name, math.prod(shape))
    if len(shape) < 2:
        out += np.float32(0.5)
    else:
        out -= np.float32(0.5)
        out *= np.float32(math.sqrt(12.0 / fan_in(shape)))
    return out.astype(dtype, copy=False).reshape(shape)


def materialize(path, folder):
    """Writes the model with weights into a folder (made if need be) and returns its path."""
    path, folder = pathlib.Path(path), pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    weights = folder / (path.stem + ".weights")
    model = onnx.load(path, load_external_data=False)
    offset = 0
    with open(weights, "wb") as file:
        for tensor in model.graph.initializer:
            if tensor.data_location != TensorProto.EXTERNAL:
                continue
            dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
            data = values(tensor.name, list(tensor.dims), dtype)
            file.seek(offset)
            file.write(data.data)
            del tensor.external_data[:]
            for key, value in (("location", weights.name), ("offset", offset), ("length", data.nbytes)):
                tensor.external_data.add(key=key, value=str(value))
            offset += -(-data.nbytes // PAGE) * PAGE
    onnx.save(model, folder / path.name)
    return folder / path.name


def inputs(model, salt="", scale=1):
    """Random feeds for every graph input, keyed by name: floats uniform on [-1.73, 1.73) (unit deviation) times
    `scale`, integers in [0, 100), booleans even. An open dimension is taken as 1. Another salt gives other feeds."""
    feeds = {}
    initializers = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name in initializers:
            continue
        shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        u = uniform(value.name + salt, math.prod(shape)).reshape(shape)
        if dtype == np.bool_:
            feeds[value.name] = u < 0.5
        elif np.issubdtype(dtype, np.integer):
            feeds[value.name] = (u * 100).astype(dtype)
        else:
            feeds[value.name] = ((u - np.float32(0.5)) * np.float32(math.sqrt(12) * scale)).astype(dtype)
    return feeds


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(materialize(sys.argv[1], sys.argv[2]))
