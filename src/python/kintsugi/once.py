"""A cache whose entries are made once, whoever asks at the same time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future
from concurrent.futures import wait as wait_for
from typing import Generic, TypeVar

T = TypeVar("T")


class Ended(Exception):
    """Who makes an entry, or waits for it, is to stop. Others who wait make it themselves."""


class OnceCache(Generic[T]):
    """Keeps the `limit` entries that were asked for last. Threads that ask for an entry while another makes it wait for
    that one, and share its error; entries of other keys are made meanwhile."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.evictions = 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, T] = OrderedDict()
        self._pending: dict[Hashable, Future[T]] = {}

    def get(self, key: Hashable, make: Callable[[], T], ended: Future[None] | None = None) -> T:
        """`ended`: done when the caller is no longer to wait for another, which raises Ended."""
        while True:
            with self._lock:
                if key in self._entries:
                    self._entries.move_to_end(key)
                    return self._entries[key]
                promise = self._pending.get(key)
                if promise is None:
                    mine = self._pending[key] = Future()
            if promise is None:
                return self._make(key, make, mine)
            if ended is not None:
                wait_for((promise, ended), return_when=FIRST_COMPLETED)
                if not promise.done():
                    raise Ended
            try:
                return promise.result()
            except CancelledError:  # Who made it was interrupted, which is not this thread's affair.
                continue

    def __len__(self) -> int:
        return len(self._entries)

    def entries(self) -> list[T]:
        """The one that was asked for last comes last."""
        with self._lock:
            return list(self._entries.values())

    def _make(self, key: Hashable, make: Callable[[], T], promise: Future[T]) -> T:
        try:
            entry = make()
        except BaseException as problem:
            with self._lock:
                del self._pending[key]
            if isinstance(problem, Exception) and not isinstance(problem, Ended):
                promise.set_exception(problem)
            else:
                promise.cancel()
                promise.set_running_or_notify_cancel()  # Else who waits for one of several hears nothing.
            raise
        evicted = []  # What they hold is freed once the others may go on.
        with self._lock:
            del self._pending[key]
            self._entries[key] = entry
            while len(self._entries) > self.limit:
                evicted.append(self._entries.popitem(last=False))
            self.evictions += len(evicted)
        promise.set_result(entry)
        return entry
