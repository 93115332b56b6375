"""What the compiler says of single nodes of a model that it refuses."""

import json
import os
from contextlib import ExitStack

import kintsugi

from .. import SessionOptions, _capi
from ..loading import as_json
from ..settings import settings_of


def refused_nodes(path, keywords, origins):
    """By the names of a graph's nodes, why the compiler refuses what they became in the model at `path`, as a session with
    these keywords would; `origins`: of each ONNX node, the name of the graph's."""
    found = {}
    for node in _survey(path, keywords):
        origin = origins[node["node"]]
        if node["refused"] and origin:
            found.setdefault(origin, f"{node['op']}: {node['refused']}")
    return found


def _survey(path, keywords):
    usual = SessionOptions()
    given = {name: getattr(usual, name) for name in SessionOptions.__slots__} | keywords
    given["intra_op_num_threads"] = given.pop("threads", 0)
    with ExitStack() as stack:
        settings = settings_of(given, stack)
        try:
            return json.loads(_capi.survey(os.fsencode(path), as_json(settings)))["nodes"]
        except kintsugi.Error:
            return []
