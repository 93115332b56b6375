"""Kintsugi from Python, in the shape of ONNX Runtime's interface:

    import kintsugi
    session = kintsugi.InferenceSession("model.onnx")
    (y,) = session.run(None, {"x": x})

A model is compiled when a session is made, or where it has open dimensions when a run brings their sizes: once, as artifacts
are kept in the cache that the command line uses too (docs/command-line.md), and in a process of its own, which may fail and
not take this one with it. Sessions may be used from any thread; runs of one session take turns.
"""

from __future__ import annotations

from . import _capi
from ._capi import Error, InputError, MachineError, UsageError
from .io_binding import IOBinding
from .options import SessionOptions
from .ports import NodeArg
from .providers import get_available_providers
from .session import InferenceSession

__all__ = [
    "Error",
    "IOBinding",
    "InferenceSession",
    "InputError",
    "MachineError",
    "NodeArg",
    "SessionOptions",
    "UsageError",
    "get_available_providers",
]
__version__ = _capi.version()
for _error in (Error, InputError, MachineError, UsageError):
    _error.__module__ = __name__
