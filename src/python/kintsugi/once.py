"""A cache whose entries are made once, whoever asks at the same time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from typing import Generic, TypeVar

T = TypeVar("T")


class OnceCache(Generic[T]):
    """Keeps the `limit` entries that were asked for last. Threads that ask for an entry while another makes it wait for
    that one, and share its error; entries of other keys are made meanwhile."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.evictions = 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, T] = OrderedDict()
        self._pending: dict[Hashable, Future[T]] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
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
            if isinstance(problem, Exception):
                promise.set_exception(problem)
            else:
                promise.cancel()
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
