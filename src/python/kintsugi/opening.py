"""What a session runs, by the kind of its model."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from ._capi import InputError, UsageError
from .compiled import Compiled, Program
from .files import is_artifact, path_of
from .loading import Loader
from .providers import check_device
from .settings import settings_of
from .signature import Signature
from .sizes import check_known, split
from .specialization import Specializations


def open_program(path_or_bytes: Any, given: Mapping[str, Any]) -> Program:
    """`given`: values of all of SessionOptions, by name, and `stream`, the number of the caller's, if there is one."""
    with ExitStack() as stack:
        path = path_of(path_or_bytes, stack)
        if given["fallback"] is not None:
            from .fallback.opening import open_with_fallback

            return open_with_fallback(path, given, _limit_of(given), stack)
        sizes, ranges = split(given["dims"])
        loader = _loader(path, {**given, "dims": sizes}, stack)
        if is_artifact(path):
            check_known(ranges, ())
            return loader.open_artifact()
        if ranges:
            known = loader.inspect().get("open_dimensions", ())
            check_known(ranges, known)
            if (program := _ranged(loader, ranges, known)) is not None:
                return program
        try:
            return loader.load()[0]
        except InputError:
            if (signature := _open_signature(loader)) is None:
                raise
        check_device(given["device"])
        return Specializations(loader.in_place(), signature, ranges, _limit_of(given), stack.pop_all())


# In what the compiler says of a model that one artifact serves at one size only.
_NEEDS_ONE_SIZE = "can't be open in one artifact"


def _ranged(loader: Loader, ranges: Mapping[str, range], known: Sequence[str]) -> Program | None:
    """An artifact for all sizes of the only open dimension; None where there can't be one."""
    ((name, sizes), *others) = ranges.items()
    if others or len(known) > 1 or sizes.step != 1 or len(sizes) < 2 or sizes[0] < 1:
        return None
    try:
        return loader.load({name: [sizes[0], sizes[-1]]})[0]
    except InputError as problem:
        if _NEEDS_ONE_SIZE in str(problem):
            return None
        raise


def open_fixed(path_or_bytes: Any, given: Mapping[str, Any]) -> Program:
    """The same of a model without open dimensions; an input error where there are some."""
    with ExitStack() as stack:
        return _loader(path_of(path_or_bytes, stack), given, stack).load()[0]


def _loader(path: str, given: Mapping[str, Any], stack: ExitStack) -> Loader:
    return Loader(path, settings_of(given, stack), given["device"], given["cache"], given.get("stream"))


def _open_signature(loader: Loader) -> Signature | None:
    """Of a model whose shapes or values of inputs decide what is compiled; of one that is refused for another reason,
    none."""
    try:
        found = loader.inspect()
    except InputError:
        return None
    if found.get("unsupported") or not (found.get("open_dimensions") or found.get("needed_values")):
        return None
    return Signature(found)


def _limit_of(given: Mapping[str, Any]) -> int:
    limit = given["max_specializations"]
    if not hasattr(limit, "__index__") or operator.index(limit) < 1:
        raise UsageError(f"max_specializations is {limit!r}; it takes an integer, at least 1")
    return operator.index(limit)
