"""Constants and feeds as text: an expression that makes an array, so that a model of megabytes is a page to read.

An expression sees the functions below, numpy as `np`, and `inf`, `nan` and `lowest`. Random ones take a seed first.
"""

import numpy as np

inf, nan = float("inf"), float("nan")
lowest = float(np.finfo(np.float32).min)  # The lowest number of whatever float type the constant gets.


def uniform(seed, low, high, *shape):
    return np.random.default_rng(seed).uniform(low, high, shape)


def integers(seed, low, high, *shape):
    """In [low, high)."""
    return np.random.default_rng(seed).integers(low, high, shape)


def some(seed, share, *shape):
    """Booleans, of which that share are true."""
    return np.random.default_rng(seed).random(shape) < share


def shuffled(seed, count):
    return np.random.default_rng(seed).permutation(count)


def distinct(seed, *shape):
    """Different numbers with gaps between them, so that no rounding changes their order."""
    count = int(np.prod(shape))
    return ((np.random.default_rng(seed).permutation(count) - count // 2) / 8.0).reshape(shape)


def spiked(array, seed, value, share=0.02):
    """The array with a value at some places."""
    return np.where(np.random.default_rng(seed).random(array.shape) < share, value, array)


def values(numbers, *shape):
    return np.array(numbers).reshape(shape)


def full(value, *shape):
    return np.full(shape, value)


# Which columns a row sees: booleans [rows, columns].


def causal(rows, columns):
    return np.tri(rows, columns, columns - rows, dtype=bool)


def sliding(rows, columns, width):
    distance = np.arange(rows)[:, None] + (columns - rows) - np.arange(columns)[None, :]
    return (distance >= 0) & (distance < max(1, width))


def banded(rows, columns, width):
    return np.abs(np.arange(rows)[:, None] - np.arange(columns)[None, :]) <= width


def blocked(rows, columns, size):
    return np.arange(rows)[:, None] // size == np.arange(columns)[None, :] // size


def padded(rows, columns, length):
    return np.broadcast_to(np.arange(columns)[None, :] < max(1, length), (rows, columns))


def stacked(*masks):
    return np.stack(masks)


def chosen(mask, yes, no):
    return np.where(mask, yes, no)


# Where constants are not zero: booleans [rows, columns].


def in_parts(rows, columns, parts):
    return np.arange(rows)[:, None] * parts // rows == np.arange(columns)[None, :] * parts // columns


def interleaved(rows, columns, size):
    return np.arange(rows)[:, None] % size == np.arange(columns)[None, :] % size


def selecting(seed, rows, columns):
    return np.random.default_rng(seed).integers(0, columns, rows)[:, None] == np.arange(columns)[None, :]


def on_line(rows, columns, slope, offset):
    return np.arange(rows)[:, None] * slope + offset == np.arange(columns)[None, :]


def with_row_exchanged(mask):
    return np.concatenate([mask[..., :-1, :], mask[..., :1, :]], axis=-2)


def without_column(array):
    return np.concatenate([array[..., :-1], 0 * array[..., -1:]], axis=-1)


_SCOPE = {name: value for name, value in globals().items() if not name.startswith("_")}


def evaluate(text):
    return np.asarray(eval(text, {"__builtins__": {}}, dict(_SCOPE)))  # The text is a file of the project or our own.
