"""What a session runs, by the kind of its model."""

from __future__ import annotations

import operator
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from . import _capi
from ._capi import Error, InputError, UsageError
from .compiled import Compiled, Program
from .files import is_artifact, name_of, path_of
from .loading import Loader
from .ranged import Ranged
from .providers import check_device
from .settings import settings_of
from .signature import Signature
from .sizes import check_known, split
from .specialization import Specializations


def open_program(path_or_bytes: Any, given: Mapping[str, Any]) -> Program:
    """`given`: values of all of SessionOptions, by name, and `stream`, the number of the caller's, if there is one."""
    with ExitStack() as stack:
        path = path_of(path_or_bytes, stack)
        name = name_of(path_or_bytes, path)
        if given["fallback"] is not None:
            from .fallback.opening import open_with_fallback

            try:
                return open_with_fallback(path, given, _limit_of(given), stack)
            except Error as error:
                raise type(error)(str(error).replace(path, name)) from None
        sizes, ranges = split(given["dims"])
        loader = _loader(path, name, {**given, "dims": sizes}, stack)
        if is_artifact(path):
            program = loader.open_artifact()
            _check_not_given(ranges, program, name)
            return program
        reason = None
        if ranges:
            known = loader.inspect().get("open_dimensions", ())
            check_known(ranges, known)
            found = _ranged(loader, ranges, known)
            if isinstance(found, Ranged):
                return found
            reason = found
        try:
            return loader.load()[0]
        except InputError:
            if (signature := _open_signature(loader)) is None:
                raise
        check_device(given["device"])
        return Specializations(loader.in_place(), signature, ranges, reason, _limit_of(given), stack.pop_all())


def _check_not_given(ranges: Mapping[str, range], program: Program, model: str) -> None:
    for name in ranges:
        sizes = f"; it takes {program.takes()}" if isinstance(program, Ranged) else ""
        raise UsageError(f"{model}: is an artifact already: dims can't say what '{name}' may be{sizes}; leave it out")


def _ranged(loader: Loader, ranges: Mapping[str, range], known: Sequence[str]) -> Ranged | str:
    """An artifact for all sizes of the open dimensions; where there can't be one, the reason."""
    if len(ranges) > _capi.MOST_OPEN_DIMENSIONS:
        return f"several dimensions are open: {', '.join(ranges)}; one artifact serves sizes of two"
    if unbounded := [name for name in known if name not in ranges]:
        return f"dims says nothing of {', '.join(unbounded)}; one artifact serves sizes that are bounded"
    for name, sizes in ranges.items():
        if sizes.step != 1 or sizes[0] == sizes[-1] or sizes[0] < 1:
            return f"one artifact serves all sizes from one to another, from 1 on; dims gives '{name}' others"
    start = time.perf_counter()
    try:
        program, cached = loader.load({name: [sizes[0], sizes[-1]] for name, sizes in ranges.items()})
    except InputError as problem:
        ends = [{name: sizes[end] for name, sizes in ranges.items()} for end in (-1, 0)]
        if not all(_is_taken(loader, sizes) for sizes in ends):
            raise
        return str(problem)
    assert isinstance(program, Ranged)
    program.made = time.perf_counter() - start, cached
    return program


def _is_taken(loader: Loader, sizes: Mapping[str, int]) -> bool:
    """Whether the model is one that can be compiled for these sizes, where the values of its inputs may have to be known."""
    try:
        return not loader.inspect(sizes).get("unsupported")
    except InputError:
        return False


def open_fixed(path_or_bytes: Any, given: Mapping[str, Any]) -> Program:
    """The same of a model without open dimensions; an input error where there are some."""
    with ExitStack() as stack:
        path = path_of(path_or_bytes, stack)
        return _loader(path, name_of(path_or_bytes, path), given, stack).load()[0]


def _loader(path: str, name: str, given: Mapping[str, Any], stack: ExitStack) -> Loader:
    settings = settings_of(given, stack)
    return Loader(path, settings, given["device"], given["cache"], given.get("stream"), name, given["progress"])


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
