"""Options of one run, in the shape of ONNX Runtime's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from ._capi import UsageError
from .no_effect import Entries, Kept
from .once import Ended

_LOGS = "nothing is logged; notes of a session and warnings tell what there is to tell"

_NO_WAIT = "disable_synchronize_execution_providers"


class RunOptions:
    """`terminate`: set to True, by any thread, it ends the runs that have these options with a UsageError, those under way
    and those that come, until it is False again, and what they compile. The entry
    "disable_synchronize_execution_providers", set to "1", has `run_with_iobinding` return when a GPU is asked for a run, and
    not when it is done (docs/python.md)."""

    __slots__ = ("__weakref__", "_entries", "_kept", "_lock", "_running", "_terminate")

    log_severity_level = Kept(-1, _LOGS)
    log_verbosity_level = Kept(0, _LOGS)
    logid = Kept("", _LOGS)
    only_execute_path_to_fetches = Kept(False, "a model is compiled as a whole, and a run makes all its outputs")

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}
        self._entries = Entries("RunOptions", (_NO_WAIT,))
        self._lock, self._terminate = threading.Lock(), False
        self._running: list[Callable[[], None]] = []

    @property
    def terminate(self) -> bool:
        return self._terminate

    @terminate.setter
    def terminate(self, value: bool) -> None:
        with self._lock:
            self._terminate = bool(value)
            for cancel in self._running if self._terminate else ():
                cancel()

    def add_run_config_entry(self, key: str, value: str) -> None:
        self._entries.add(key, value)

    def get_run_config_entry(self, key: str) -> str:
        return self._entries.get(key)

    def add_active_adapter(self, adapter: Any) -> None:
        raise UsageError("adapters change what a model computes, and are not supported; merge them into the model's weights")

    @property
    def _waits(self) -> bool:
        return not self._entries.is_set(_NO_WAIT)

    def _check(self) -> None:
        if self._terminate:
            raise self._cancelled()

    @staticmethod
    def _cancelled() -> UsageError:
        return UsageError("the run was cancelled: terminate is set in its RunOptions")

    @contextmanager
    def _until_ended(self) -> Iterator[Future[None]]:
        """What is done as soon as `terminate` is set. Ended is the cancelled run's error then."""
        ended: Future[None] = Future()
        try:
            with self._under_way(lambda: None if ended.done() else ended.set_result(None)):
                yield ended
                if ended.done():
                    raise Ended
        except Ended:
            raise self._cancelled() from None

    @contextmanager
    def _under_way(self, cancel: Callable[[], None]) -> Iterator[None]:
        """Around a run that `cancel` ends."""
        with self._lock:
            self._check()
            self._running.append(cancel)
        try:
            yield
        finally:
            with self._lock:
                self._running.remove(cancel)


def check_run_options(options: Any) -> None:
    if options is not None and not isinstance(options, RunOptions):
        raise UsageError(
            f"run_options is {type(options).__module__}.{type(options).__name__}; make one with kintsugi.RunOptions()"
        )
