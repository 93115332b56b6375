"""The options of a session as the compiler takes them, and its messages as a session gives them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from typing import Any

from ._capi import UsageError
from .files import file_of
from .options import SessionOptions

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
        "progress": ((Callable, type(None)), "what is called with a phase, a step and how many there are"),
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
