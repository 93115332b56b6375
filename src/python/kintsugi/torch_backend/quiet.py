"""One thread's warnings and logs are kept to itself, while all others are heard."""

import contextlib
import logging
import threading
import warnings

_thread = threading.local()


def _is_quiet():
    return getattr(_thread, "is_quiet", False)


class _WhereQuiet(type):
    def __subclasscheck__(cls, category):
        return _is_quiet()


class _Unheard(Warning, metaclass=_WhereQuiet):
    """Every warning of a thread that is quiet is one of this category, and none of another thread's."""


def _is_heard(record):
    return record.levelno > logging.WARNING or not _is_quiet()


@contextlib.contextmanager
def quiet():
    """Around work of this thread that may warn and log of what does not matter. What stays in the process's filters of
    warnings and handlers of logs lets through whatever other threads have to say."""
    warnings.simplefilter("ignore", _Unheard)
    for handler in _handlers():
        handler.addFilter(_is_heard)
    _thread.is_quiet = True
    try:
        yield
    finally:
        _thread.is_quiet = False


def _handlers():
    """All through which a record may go; each logger, and who has none of these the last resort."""
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    found = [handler for logger in loggers for handler in getattr(logger, "handlers", ())]
    return found + ([logging.lastResort] if logging.lastResort is not None else [])
