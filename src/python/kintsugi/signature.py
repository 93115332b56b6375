"""What a model takes and gives whose shapes a run decides, as the compiler finds it without compiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._capi import InputError
from .element_types import NUMBERS
from .ports import OpenArg
from .sizes import Dimension


class Signature:
    """`inputs` and `outputs`: their ports; `dims`: of each input, the size or the name of each dimension, where one without
    a name is called INPUT.AXIS; `open_dimensions`: their names; `needed_values`: of inputs whose value must be known when
    compiling, as far as the compiler could tell; `external_files`: that hold weights, as the model names them."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        """`found`: what the compiler's inspection tells of an ONNX file. An input error where an input can't be one."""
        for port in found["inputs"]:
            if port["type"] not in NUMBERS:
                raise InputError(f"input '{port['name']}' is not a tensor of numbers, which is not supported")
            if port["shape"] is None:
                raise InputError(f"input '{port['name']}' has no shape; give it one when exporting the model")
        self.inputs = [_port(port) for port in found["inputs"]]
        self.outputs = [_port(port) for port in found["outputs"]]
        self.dims: list[Sequence[Dimension]] = [port["shape"] for port in found["inputs"]]
        self.open_dimensions: list[str] = found["open_dimensions"]
        self.needed_values: frozenset[str] = frozenset(found.get("needed_values", ()))
        self.external_files: list[str] = found.get("external_files", [])


def _port(port: Mapping[str, Any]) -> OpenArg:
    name, shape = port["name"], port["shape"]
    if shape is not None:
        shape = [None if size == f"{name}.{axis}" else size for axis, size in enumerate(shape)]
    return OpenArg(name, NUMBERS.get(port["type"]), shape, "unknown")
