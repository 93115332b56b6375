"""What ONNX Runtime has and nothing here answers to: it is taken, kept, and said once to be without effect."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from typing import Any

_said: set[str] = set()


def say_once(name: str, why: str) -> None:
    """A warning, once for each name in a process."""
    if name not in _said:
        _said.add(name)
        warnings.warn(f"{name} has no effect in kintsugi: {why}", UserWarning, stacklevel=3)


class Kept:
    """An attribute without effect, which nobody is told of who leaves it at its default."""

    def __init__(self, default: Any, why: str) -> None:
        self.default, self._why = default, why

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._owner = name, owner.__name__

    def __get__(self, options: Any, owner: type) -> Any:
        return self if options is None else options._kept.get(self._name, self.default)

    def __set__(self, options: Any, value: Any) -> None:
        options._kept[self._name] = value
        if not _is_same(value, self.default):
            say_once(f"{self._owner}.{self._name}", self._why)


def _is_same(value: Any, default: Any) -> bool:
    """Enumerations of other packages are integers, too."""
    if isinstance(default, int) and hasattr(value, "__int__"):
        return int(value) == int(default)
    return bool(value == default)


def without_effect(owner: str, name: str, why: str) -> Callable[..., None]:
    """A method that takes what it is given."""

    def method(self: Any, *arguments: Any, **keywords: Any) -> None:
        say_once(f"{owner}.{name}", why)

    method.__name__, method.__qualname__ = name, f"{owner}.{name}"
    method.__doc__ = f"Without effect: {why}."
    return method


class Entries:
    """Configuration by keys of ONNX Runtime's, in options. `known`: those that mean something here."""

    def __init__(self, owner: str, known: Collection[str] = ()) -> None:
        self._owner, self._known, self._values = owner, known, dict[str, str]()

    def add(self, key: str, value: str) -> None:
        self._values[key] = value
        if key not in self._known:
            say_once(f"{self._owner}'s entry '{key}'", "it is ONNX Runtime's")

    def is_set(self, key: str) -> bool:
        return self._values.get(key) == "1"

    def get(self, key: str) -> str:
        if key not in self._values:
            raise RuntimeError(f"{self._owner} does not have configuration with key: {key}")
        return self._values[key]
