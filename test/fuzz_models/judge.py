"""Whether an output is near enough: as a whole, and in each slice of its last and of its channel dimension.

The limit is a multiple of what noise did to that slice, and of the output type's own rounding. Integers and booleans
are exact, infinities and NaNs stand at the same places.
"""

import dataclasses
import math

import ml_dtypes
import numpy as np

TIMES_NOISE = 6.0
OWN_ROUNDINGS = 8.0  # Functions are within 6 units in the last place, and the result is rounded.
SHARE_OF_ALL = 0.02  # Of the noise on the whole output, for slices that noise left alone by chance,
SHARE_OF_FEW = 0.25  # which is likelier where they have few elements:
FEW = 8  # less than so many.


@dataclasses.dataclass
class Finding:
    kind: str
    output: int
    text: str
    ratio: float = math.inf


def axes_of(array):
    """The last dimension and that of channels."""
    return sorted({array.ndim - 1, 1} if array.ndim >= 3 else {array.ndim - 1}) if array.ndim else []


def over(array, axis):
    """The maximum of each slice, whose elements are not negative."""
    rest = tuple(a for a in range(array.ndim) if a != axis)
    return np.max(array, axis=rest, initial=0.0) if rest else array


class Limits:
    """What the noise of some runs allows an output."""

    def __init__(self, truth, spreads, own_unit, floor=1e-37):
        """`floor`: what any number near zero may be off by."""
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.where(np.isfinite(truth), np.abs(truth), 0.0)
            spread = np.zeros_like(truth)
            for each in spreads:
                spread = np.maximum(spread, np.where(np.isfinite(each), each, 0.0))
        own = OWN_ROUNDINGS * own_unit
        whole = spread.max(initial=0.0)
        self.whole = TIMES_NOISE * whole + own * size.max(initial=0.0) + floor
        self.slices = {}
        for axis in axes_of(truth):
            share = SHARE_OF_ALL if truth.size >= FEW * truth.shape[axis] else SHARE_OF_FEW
            noise = np.maximum(over(spread, axis), share * whole)
            self.slices[axis] = TIMES_NOISE * noise + own * over(size, axis) + floor


def outside(got, truth, limits, output, kind="mismatch", loose=1.0):
    """A Finding, or None."""
    if got.shape != truth.shape:
        return Finding(kind, output, f"shape {list(got.shape)} instead of {list(truth.shape)}")
    if got.dtype.kind in "iub":
        wrong = np.argwhere(got.astype(np.int64) != truth.astype(np.int64))
        if not len(wrong):
            return None
        place = tuple(wrong[0])
        return Finding(kind, output, f"{len(wrong)} integers differ, first at {_place(place)}: {got[place]} instead of {truth[place]}")
    most = float(ml_dtypes.finfo(got.dtype).max)
    wide = got.astype(np.float64)
    # What is beyond the type is infinite in it.
    with np.errstate(invalid="ignore"):
        expected = np.where(np.abs(truth) > most, np.copysign(math.inf, truth), truth)
    finite = np.isfinite(wide) & np.isfinite(expected)
    same = finite | (wide == expected) | (np.isnan(wide) & np.isnan(expected))
    if not same.all():
        place = tuple(np.argwhere(~same)[0])
        return Finding(kind, output, f"{(~same).sum()} elements are not finite where others are, first at {_place(place)}: "
                       f"{wide[place]} instead of {truth[place]}")
    if not got.size:
        return None
    with np.errstate(invalid="ignore"):
        error = np.where(finite, np.abs(wide - expected), 0.0)
    ratio = error.max() / (loose * limits.whole)
    where = "the output"
    for axis, allowed in limits.slices.items():
        ratios = over(error, axis) / (loose * allowed)
        if ratios.max() > ratio:
            ratio, where = ratios.max(), f"slice {ratios.argmax()} of dimension {axis}"
    if ratio <= 1:
        return None
    place = np.unravel_index(error.argmax(), error.shape)
    return Finding(kind, output, f"{where} differs by {ratio:.3g} times what is allowed; the largest difference is at "
                   f"{_place(place)}: {wide[place]:.9g} instead of {truth[place]:.9g}", float(ratio))


def ratio_of(got, truth, limits):
    """How near a right output is to its limit."""
    if got.dtype.kind in "iub" or not got.size:
        return 0.0
    with np.errstate(invalid="ignore"):
        error = np.where(np.isfinite(truth), np.abs(got.astype(np.float64) - truth), 0.0)
    error = np.where(np.isfinite(error), error, 0.0)
    return max([error.max() / limits.whole, *((over(error, a) / s).max() for a, s in limits.slices.items())])


def _place(place):
    return "[" + ", ".join(map(str, map(int, place))) + "]"
