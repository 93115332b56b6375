"""Sizes of open dimensions: what an option says of them, and what feeds have."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ._capi import InputError, UsageError

# As an option gives them: (LOW, HIGH), both included; "LOW..HIGH"; or one of Python's ranges, which leaves its end out.
Bounds: TypeAlias = "tuple[int, int] | str | range"

# Of a dimension of an input: its size or its name.
Dimension: TypeAlias = "int | str"


def split(dims: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, range]]:
    """The option `dims`, by name: sizes, and which sizes there may be."""
    sizes, ranges = {}, {}
    for name, given in dims.items():
        if hasattr(given, "__index__"):
            sizes[name] = operator.index(given)
        else:
            found = _range_of(name, given)
            if len(found) == 1:
                sizes[name] = found[0]
            else:
                ranges[name] = found
    return sizes, ranges


def _range_of(name: str, given: Any) -> range:
    found = given if isinstance(given, range) else None
    pair = given
    if isinstance(given, str) and (text := re.fullmatch(r"\s*(\d+)\s*\.\.\s*(\d+)\s*", given)):
        pair = (int(text[1]), int(text[2]))
    if isinstance(pair, (tuple, list)) and len(pair) == 2 and all(hasattr(bound, "__index__") for bound in pair):
        low, high = map(operator.index, pair)
        found = range(low, high + 1)
    if found is None:
        raise UsageError(
            f"dims: '{name}' is {given!r}; a size is an integer, at least 0, and sizes that there may be are (LOW, HIGH), "
            f"'LOW..HIGH' or a range"
        )
    if not found or min(found[0], found[-1]) < 0:
        raise UsageError(f"dims: '{name}' is {given!r}, in which there is no size of at least 0")
    if max(found[0], found[-1]) >= 1 << 63:
        raise UsageError(f"dims: '{name}' is {given!r}; sizes are less than 2^63")
    return found


def check_known(ranges: Mapping[str, range], open_dimensions: Sequence[str]) -> None:
    for name in ranges:
        if name not in open_dimensions:
            raise UsageError(
                f"dims: the model has no open dimension '{name}'; its open dimensions: {', '.join(open_dimensions) or 'none'}"
            )


def sizes_of(
    inputs: Sequence[tuple[str, Sequence[Dimension]]],
    shapes: Sequence[Sequence[int]],
    ranges: Mapping[str, range],
) -> dict[str, int]:
    """The size of each open dimension, by name, from the shapes of feeds, which have the right ranks. An input error where
    one name has two sizes, or a size that it may not have."""
    found: dict[str, tuple[int, str]] = {}
    for (name, dims), shape in zip(inputs, shapes):
        for axis, (dim, size) in enumerate(zip(dims, shape)):
            if not isinstance(dim, str):
                continue
            where = f"axis {axis} of input '{name}'"
            other, first = found.setdefault(dim, (size, where))
            if other != size:
                raise InputError(
                    f"dimension '{dim}' is {other} ({first}) and {size} ({where}); it has one size in a run: give feeds that "
                    f"agree"
                )
            if dim in ranges and size not in ranges[dim]:
                raise InputError(f"dimension '{dim}' is {size} ({where}); dims allows {_spelled(ranges[dim])}")
    return {dim: size for dim, (size, _) in found.items()}


def _spelled(sizes: range) -> str:
    low, high = sorted((sizes[0], sizes[-1]))
    step = f" in steps of {abs(sizes.step)}" if abs(sizes.step) != 1 and len(sizes) > 1 else ""
    return f"{low} to {high}{step}"
