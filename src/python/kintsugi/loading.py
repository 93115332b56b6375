"""From a model's file to an artifact that is loaded, through the cache of artifacts."""

from __future__ import annotations

import copy
import json
import operator
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from . import _capi
from ._capi import Error, InputError
from .compiled import Compiled
from .files import Unchanged, in_place
from .once import Ended
from .ranged import Ranged
from .settings import with_keywords

T = TypeVar("T")

_OF_INSPECTION = ("bind", "dims", "max_memory", "random_weights", "timeout")


class Loader:
    """Of one model, with the options of one session. `settings`: the compiler's options, to which each call may add sizes
    of open dimensions and files of inputs' values, by name. Errors name keywords beside flags. `stream`: as of Compiled.
    `name`: what messages call the model, by default its path; `progress`: told how far compiling is."""

    def __init__(
        self,
        path: str,
        settings: Mapping[str, Any],
        device: str,
        uses_cache: bool,
        stream: int | None = None,
        name: str | None = None,
        progress: _capi.Progress | None = None,
    ) -> None:
        self.path, self._settings, self.device, self._uses_cache = path, settings, device, uses_cache
        self._stream, self._name, self._progress = stream, name, progress

    def load(
        self, dims: Mapping[str, Any] = {}, bind: Mapping[str, str] = {}, ended: Future[None] | None = None
    ) -> tuple[Compiled | Ranged, bool]:
        """An artifact, compiled if need be; and whether it was there already. `dims`: sizes, of one of them perhaps the least
        and the greatest; `ended`: done when compiling is to end, which raises Ended."""
        if ended is None:
            return self._loaded(dims, bind)
        try:
            return self._ending_with(ended)._loaded(dims, bind)
        except Error:
            if ended.done():
                raise Ended from None
            raise

    def _loaded(self, dims: Mapping[str, Any], bind: Mapping[str, str]) -> tuple[Compiled | Ranged, bool]:
        return self._told(self._load if self._uses_cache else self._load_anew, self._with(dims, bind))

    def _ending_with(self, ended: Future[None]) -> Loader:
        def told(phase: str, step: int, steps: int) -> object:
            if ended.done():
                return False
            return None if self._progress is None else self._progress(phase, step, steps)

        loader = copy.copy(self)
        loader._progress = told
        return loader

    def in_place(self) -> Loader:
        """The same, which finds its files wherever the process goes."""
        settings = dict(self._settings)
        if "calibrate" in settings:
            settings["calibrate"] = in_place(settings["calibrate"])
        if "bind" in settings:
            settings["bind"] = {name: in_place(file) for name, file in settings["bind"].items()}
        return Loader(in_place(self.path), settings, self.device, self._uses_cache, self._stream, self._name, self._progress)

    def files(self, external: Sequence[str]) -> Unchanged:
        """What artifacts are made from. `external`: files that hold weights, as the model names them."""
        beside = [os.path.join(os.path.dirname(self.path), name) for name in external]
        given = [*self._settings.get("bind", {}).values(), *filter(None, [self._settings.get("calibrate")])]
        return Unchanged([self.path, *beside, *given])

    def open_artifact(self) -> Compiled | Ranged:
        """Of a path that is one."""
        settings = {name: value for name, value in self._settings.items() if name != "target"}  # It is of one already.
        return self._told(self._load, settings)[0]

    def inspect(self, dims: Mapping[str, int] = {}, bind: Mapping[str, str] = {}) -> dict[str, Any]:
        """What the compiler finds in the model without compiling it."""
        settings = {name: value for name, value in self._with(dims, bind).items() if name in _OF_INSPECTION}
        found: dict[str, Any] = json.loads(self._told(_capi.inspect, os.fsencode(self.path), as_json(settings)))
        return found

    def _with(self, dims: Mapping[str, Any], bind: Mapping[str, str]) -> dict[str, Any]:
        settings = dict(self._settings)
        for name, more in (("dims", dims), ("bind", bind)):
            if more:
                settings[name] = {**settings.get(name, {}), **more}
        return settings

    def _load(self, settings: Mapping[str, Any]) -> tuple[Compiled | Ranged, bool]:
        report = self._prepared(settings)
        try:
            return self._opened(report["artifact"], report.get("notes", [])), report["cached"]
        except InputError:
            if not report["cached"]:
                raise
        # What is damaged in the cache is as good as not there.
        os.unlink(report["artifact"])
        report = self._prepared(settings)
        return self._opened(report["artifact"], report.get("notes", [])), False

    def _prepared(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(_capi.prepare(os.fsencode(self.path), as_json(settings), self._progress))
        return report

    def _load_anew(self, settings: Mapping[str, Any]) -> tuple[Compiled | Ranged, bool]:
        # The session keeps what it needs of the file.
        with tempfile.TemporaryDirectory(prefix="kintsugi-") as folder:
            artifact = os.path.join(folder, "model.kin")
            names = os.fsencode(self.path), os.fsencode(artifact)
            report = json.loads(_capi.compile(*names, as_json(settings), self._progress))
            return self._opened(artifact, report["notes"]), False

    def _opened(self, artifact: str, notes: list[str]) -> Compiled | Ranged:
        session = _capi.Session(os.fsencode(artifact), self._settings["threads"], self.device)
        return (Ranged if session.open_dimensions() else Compiled)(session, self.device, notes, self._stream)

    def _told(self, function: Callable[..., T], *arguments: Any) -> T:
        try:
            return function(*arguments)
        except Error as error:
            text = str(error).replace(self.path, self._name or self.path)
            raise type(error)(with_keywords(text)) from None


def as_json(settings: Mapping[str, Any]) -> str:
    """NumPy's integers are integers, too."""
    return json.dumps(settings, default=operator.index)
