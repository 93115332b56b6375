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
from .device_array import DeviceArray
from .enumerations import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from .io_binding import IOBinding
from .model_metadata import ModelMetadata
from .options import SessionOptions
from .ort_value import OrtValue
from .ports import NodeArg
from .providers import get_available_providers
from .run_options import RunOptions
from .session import InferenceSession

__all__ = [
    "DeviceArray",
    "Error",
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "InputError",
    "MachineError",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "UsageError",
    "get_available_providers",
]
__version__ = _capi.version()
for _error in (Error, InputError, MachineError, UsageError):
    _error.__module__ = __name__
