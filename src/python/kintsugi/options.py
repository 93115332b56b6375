"""How a model is compiled and run: the options of a session, as the compiler takes them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from typing import Any

from ._capi import UsageError
from .files import PathLike, file_of
from .sizes import Bounds

# The keywords that stand for flags of the command line, which the compiler's messages name.
_KEYWORDS = {
    "--bind": "bind={INPUT: ARRAY}",
    "--calibrate": "calibrate={INPUT: ARRAY}",
    "--dim": "dims={NAME: N}",
    "--disable": "disable=NAMES",
    "--max-error": "max_error=SHARE",
    "--max-memory": "max_memory=BYTES",
    "--plan": "plan=NAME",
    "--precision": "precision=NAME",
    "--random-weights": "random_weights=True",
    "--target": "device=NAME",
    "--threads": "threads=N",
    "--timeout": "timeout=SECONDS",
    "--tune": "tune=SECONDS",
}


class SessionOptions:
    """How a model is compiled and run. An option that there is not can't be set: none is ignored."""

    __slots__ = (
        "bind",
        "cache",
        "calibrate",
        "device",
        "dims",
        "disable",
        "fallback",
        "intra_op_num_threads",
        "max_error",
        "max_memory",
        "max_specializations",
        "plan",
        "precision",
        "random_weights",
        "timeout",
        "tune",
    )

    def __init__(self) -> None:
        self.intra_op_num_threads: int = 0  # 0: one thread on each core
        self.device: str = "cpu"  # or "cuda", or "cuda:N": an NVIDIA GPU, by number
        self.precision: str = "f32"  # what f32 values may be rounded to: "f16" or "bf16"
        self.max_error: float | None = None  # by how much of its largest number fewer bits may move an output
        self.cache: bool = True  # keep the artifact, and look for it first
        self.random_weights: bool = False  # make weights whose file is missing from their names
        # Sizes of open dimensions, by name; or which ones they may have: (LOW, HIGH), "LOW..HIGH", or a range.
        self.dims: dict[str, int | Bounds] = {}
        self.max_specializations: int = 16  # how many shapes a session keeps what it compiled for
        self.timeout: float | None = None  # seconds that compiling may take
        self.max_memory: int | None = None  # bytes that compiling may take: by default all that the machine has
        self.bind: Mapping[str, Any] = {}  # inputs whose value is known now, by name: arrays, or .npz files
        self.calibrate: Mapping[str, Any] | PathLike | None = None  # inputs to look at where values get fewer bits
        self.disable: Collection[str] | None = ()  # what not to do: names that `kintsugi rules` lists
        self.plan: str = "search"  # or "greedy", "separate", "exhaustive"
        self.fallback: str | None = None  # or "onnxruntime": who runs what the compiler refuses
        self.tune: float | None = None  # seconds that may be spent on measuring kernels

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        self.dims[name] = size


def with_keywords(message: str) -> str:
    """A message that names flags, with what a session takes in their place."""
    flags = re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", message)
    words = [f"{flag} is {_KEYWORDS[flag]}" for flag in dict.fromkeys(flags) if flag in _KEYWORDS]
    return f"{message} (from Python, {', '.join(words)})" if words else message


def check_kinds(given: Mapping[str, Any]) -> None:
    """Of what is looked into here; the compiler looks at the rest."""
    kinds: dict[str, tuple[Any, str]] = {
        "bind": (Mapping, "arrays or .npz files by input's name"),
        "calibrate": ((Mapping, str, os.PathLike, type(None)), "arrays by input's name, or the path of an .npz file"),
        "device": (str, "'cpu', 'cuda' or 'cuda:N'"),
        "dims": (Mapping, "sizes by dimension's name"),
        "disable": ((Collection, type(None)), "a list of names, or one text with commas between them"),
    }
    for name, (kind, wanted) in kinds.items():
        if not isinstance(given[name], kind):
            raise UsageError(f"{name} is {type(given[name]).__name__}; it takes {wanted}")


def settings_of(given: Mapping[str, Any], stack: ExitStack) -> dict[str, Any]:
    """The compiler's options; what they name in files lasts as long as `stack`."""
    settings = {"threads": given["intra_op_num_threads"]}
    usual = SessionOptions()
    for name in ("max_error", "max_memory", "plan", "precision", "random_weights", "timeout", "tune"):
        if given[name] != getattr(usual, name):
            settings[name] = given[name]
    if given["dims"]:
        settings["dims"] = given["dims"]
    if given["device"] != "cpu":
        settings["target"] = given["device"]
    if disabled := given["disable"]:
        settings["disable"] = disabled if isinstance(disabled, str) else ",".join(map(str, disabled))
    if given["calibrate"] is not None:
        settings["calibrate"] = file_of(given["calibrate"], stack)
    if given["bind"]:
        files = {name: file_of(_named(name, value), stack) for name, value in given["bind"].items()}
        settings["bind"] = files
    return settings


def _named(name: str, value: Any) -> Any:
    return value if isinstance(value, (str, os.PathLike)) else {name: value}
