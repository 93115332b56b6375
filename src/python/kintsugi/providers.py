"""Devices, by the names that ONNX Runtime has for them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
    name, options = _chosen(providers)
    return "cpu" if name == PROVIDER else f"cuda:{options.get('device_id', 0)}"


def stream_of(providers: Sequence[Any]) -> int | None:
    """The number of the caller's stream that the list wants runs of a GPU to be put on."""
    name, options = _chosen(providers)
    given = options.get("user_compute_stream") if name == GPU_PROVIDER else None
    if given is None:
        return None
    try:
        return int(given)
    except (TypeError, ValueError):
        raise UsageError(f"user_compute_stream is {given!r}; it takes the number of a CUDA stream") from None


def _chosen(providers: Sequence[Any]) -> tuple[str, Mapping[str, Any]]:
    """A name, and its options."""
    if isinstance(providers, str):
        raise UsageError(f"providers is a list: give ['{providers}']")
    for provider in providers:
        name, options = provider if isinstance(provider, (tuple, list)) and len(provider) == 2 else (provider, {})
        if name == PROVIDER or (name == GPU_PROVIDER and (has_gpu() or len(providers) == 1)):
            return name, options or {}
    raise UsageError(f"providers {providers}: there is only {' and '.join(get_available_providers())}")
