"""Work of a session that its caller does not wait for."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

# So that threads which compile for new shapes keep those with known ones from waiting.
_THREADS = 4


class Background:
    """Threads, made when they are needed first, and gone with the last work after this."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def start(self, work: Callable[[], None]) -> None:
        """What it raises goes where exceptions of threads go (threading.excepthook)."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="kintsugi")
        self._pool.submit(_reported, work)


def _reported(work: Callable[[], None]) -> None:
    try:
        work()
    except BaseException:
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
