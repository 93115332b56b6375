"""Makes parts of a model by a session's options."""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy

from .._capi import InputError, MachineError, UsageError
from ..compiled import Program
from ..files import Unchanged, in_place, is_artifact
from ..opening import open_fixed
from ..sizes import check_known, split


def open_with_fallback(path: str, given: Mapping[str, Any], limit: int, files: ExitStack) -> Program:
    """Of an ONNX file; `given`: values of all of SessionOptions by name. A usage error where one can't have an effect.
    `limit`: for how many sizes parts are kept; `files`: what lasts as long as the program."""
    _check(path, given)
    try:
        from .open_parts import OpenParts
        from .parts import Parts
    except ImportError as missing:
        raise MachineError(f"fallback: the package {missing.name} is missing; install it with pip") from None
    path = in_place(path)
    fixed, ranges = _sizes_of(given["dims"])
    bind = {name: _array_of(name, value) for name, value in given["bind"].items()}

    def parts_for(sizes):
        return Parts(
            path,
            {**fixed, **sizes},
            bind,
            {name: given[name] for name in ("timeout", "max_memory") if given[name] is not None},
            given["intra_op_num_threads"],
            open_part=lambda model: open_fixed(model, {**given, "bind": {}, "dims": {}}),
            open_whole=lambda: open_fixed(path, {**given, "bind": bind, "dims": {**fixed, **sizes}}),
        )

    parts = parts_for({})
    unknown = parts.report()["open_dimensions"]
    check_known(ranges, unknown)
    if not unknown:
        return parts
    sources = [path, *parts.external_files]
    return OpenParts((parts.inputs, parts.outputs), parts_for, ranges, limit, Unchanged(sources), files.pop_all())


def _check(path, given):
    if given["fallback"] != "onnxruntime":
        raise UsageError(f"fallback is {given['fallback']!r}; there is 'onnxruntime'")
    if given["device"] != "cpu":
        raise UsageError(
            f"fallback: parts on {given['device']} need onnxruntime-gpu, which is not supported; use device='cpu'"
        )
    for name in ("calibrate", "random_weights"):
        if given[name]:
            raise UsageError(f"{name}: is of a whole model, which a session with a fallback may not compile; leave it out")
    if path.endswith(".te") or is_artifact(path):
        raise UsageError(f"{path}: fallback is for ONNX files")


def _sizes_of(dims):
    sizes, ranges = split(dims)
    for name, size in sizes.items():
        if size < 0:
            raise UsageError(f"dims: '{name}' is {size}; a size is an integer, at least 0")
    return sizes, ranges


def _array_of(name, value):
    """Of an input that is known: an array, or in an .npz file that of its name or the only one."""
    if not isinstance(value, (str, os.PathLike)):
        return numpy.asarray(value)
    try:
        with numpy.load(value) as arrays:
            if name not in arrays and len(arrays) != 1:
                raise InputError(f"{value}: there is no array '{name}' to bind the input to")
            return arrays[name if name in arrays else next(iter(arrays))]
    except (OSError, ValueError) as problem:
        raise InputError(f"{value}: can't be read: {problem}") from None
