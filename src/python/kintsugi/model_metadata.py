"""What an ONNX file says of itself."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from . import _capi
from .files import is_artifact, path_of


@dataclass
class ModelMetadata:
    """As ONNX Runtime's."""

    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    graph_description: str = ""
    version: int = 0
    custom_metadata_map: dict[str, str] = field(default_factory=dict)


def metadata_of(path_or_bytes: Any) -> ModelMetadata:
    """Of a model, given as a path or as bytes."""
    with ExitStack() as stack:
        path = path_of(path_or_bytes, stack)
        if is_artifact(path):
            return ModelMetadata()
        found = json.loads(_capi.inspect(os.fsencode(path), "{}")).get("metadata", {})
    return ModelMetadata(
        producer_name=found.get("producer", ""),
        graph_name=found.get("graph", ""),
        domain=found.get("domain", ""),
        description=found.get("description", ""),
        graph_description=found.get("graph_description", ""),
        version=found.get("version", 0),
        custom_metadata_map=found.get("properties", {}),
    )
