"""Files that a session is made from."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any, TypeAlias

import numpy

from . import _capi
from ._capi import InputError, UsageError

PathLike: TypeAlias = "str | os.PathLike[str]"

# What messages call a model that was given as bytes.
BYTES = "<bytes>"


def path_of(path_or_bytes: Any, stack: ExitStack) -> str:
    """Of a model, given as one or as bytes; a file that is made for it lasts as long as `stack`."""
    if isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kintsugi-"))
        path = os.path.join(folder, "model.onnx")
        with open(path, "wb") as file:
            file.write(path_or_bytes)
        return path
    if hasattr(path_or_bytes, "SerializeToString"):
        raise UsageError("a model is a path or bytes, and this is a protocol buffer: give its SerializeToString()")
    if not isinstance(path_or_bytes, (str, os.PathLike)):
        raise UsageError(f"a model is a path or bytes, and this is {type(path_or_bytes).__name__}")
    path = os.fsdecode(path_or_bytes)
    if "\0" in path:
        raise UsageError("a path has no zero byte in it")
    return path


def name_of(path_or_bytes: Any, path: str) -> str:
    """What messages call a model that is in the file `path`."""
    return path if isinstance(path_or_bytes, (str, os.PathLike)) else BYTES


def is_artifact(path: str) -> bool:
    """Whether there is nothing to compile. What can't be read is no artifact: who reads it says why."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_capi.ARTIFACT_MAGIC)) == _capi.ARTIFACT_MAGIC
    except OSError:
        return False


def file_of(arrays: Any, stack: ExitStack) -> str:
    """The path of an .npz file: what was given, or one of these arrays."""
    if isinstance(arrays, (str, os.PathLike)):
        return os.fspath(arrays)
    path = os.path.join(stack.enter_context(tempfile.TemporaryDirectory(prefix="kintsugi-")), "arrays.npz")
    # As numpy.savez does it, which takes some names for its own keywords.
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                numpy.lib.format.write_array(entry, numpy.asarray(array))
    return path


def in_place(path: str) -> str:
    """A path that holds wherever the process goes."""
    return os.path.join(os.getcwd(), path)


class Unchanged:
    """Files that have to stay as they are now."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._states = {path: _state_of(path) for path in paths}

    def check(self) -> None:
        """An input error that names one which did not."""
        for path, state in self._states.items():
            if _state_of(path) != state:
                raise InputError(f"{path}: has changed since the session was made; make another")


def _state_of(path: str) -> tuple[int, ...] | None:
    """What changes where a file does; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
