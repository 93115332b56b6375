"""Devices, by the names that ONNX Runtime has for them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from . import _capi
from ._capi import MachineError, UsageError

PROVIDER, GPU_PROVIDER = "CPUExecutionProvider", "CUDAExecutionProvider"


def get_available_providers() -> list[str]:
    """Those whose devices are here, the quicker one first."""
    return [GPU_PROVIDER, PROVIDER] if has_gpu() else [PROVIDER]


def has_gpu() -> bool:
    return bool(_gpus())


def _gpus() -> Sequence[Any]:
    found: Sequence[Any] = json.loads(_capi.machine())["cuda"].get("devices", ())
    return found


def check_device(device: str) -> None:
    """That it is here."""
    kind, _, number = device.partition(":")
    if kind == "cuda" and int(number or 0) >= len(_gpus()):
        raise MachineError(f"device: there is no NVIDIA device {int(number or 0)} here")


def device_of(providers: Sequence[Any]) -> str:
    """The device that ONNX Runtime's list of providers asks for: the first of ours that is here."""
    if isinstance(providers, str):
        raise UsageError(f"providers is a list: give ['{providers}']")
    for provider in providers:
        name, options = provider if isinstance(provider, (tuple, list)) and len(provider) == 2 else (provider, {})
        if name == PROVIDER:
            return "cpu"
        if name == GPU_PROVIDER and (has_gpu() or len(providers) == 1):
            return f"cuda:{(options or {}).get('device_id', 0)}"
    raise UsageError(f"providers {providers}: there is only {' and '.join(get_available_providers())}")
