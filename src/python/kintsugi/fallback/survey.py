"""What the compiler says of each node of a model."""

import json
import os
import re
import tempfile

import numpy

from .. import _capi
from .._capi import InputError
from .part import Part
from .runners import OtherRunner


class Survey:
    """`order`: numbers of the nodes that outputs need and whose values runs decide, and for each number `operations` and
    `bytes` of a run; `refused`: {number: reason}; `known`: as of Model. Nodes that the compiler refuses but whose value is
    known, ONNX Runtime computes here: the model's `folded`."""

    def __init__(self, model, limits):
        self._model, tried = model, set()
        while True:
            nodes = self._ask(limits)
            self.known = model.known()
            of_known = set(self.known.values())
            self.refused = {number: self._plain(node["refused"]) for number, node in nodes.items() if node["refused"]}
            wanted = [name for name, number in self.known.items() if number in self.refused and name not in tried]
            tried.update(wanted)
            values = self._computed(wanted) if wanted else {}
            if not values:
                break
            model.fold(values)
        self.order = [number for number in nodes if number not in of_known]
        self.refused = {number: reason for number, reason in self.refused.items() if number not in of_known}
        self.operations = {number: node["operations"] for number, node in nodes.items()}
        self.bytes = {number: node["bytes"] for number, node in nodes.items()}

    def _ask(self, limits):
        """By number, what the compiler says. Of a model that it refuses as a whole, that for each node."""
        proto, numbers = self._model.skeleton()
        with tempfile.TemporaryDirectory(prefix="kintsugi-") as folder:
            path = os.path.join(folder, "model.onnx")
            with open(path, "wb") as file:
                file.write(proto.SerializeToString())
            try:
                found = json.loads(_capi.survey(os.fsencode(path), json.dumps(limits)))["nodes"]
            except InputError as problem:
                reason = str(problem).removeprefix(f"{path}: ")
                return {number: {"refused": reason, "operations": 0, "bytes": 0} for number in numbers}
        return {numbers[node["node"]]: node for node in found}

    def _plain(self, reason):
        """Nobody can bind what is no input of the model."""
        advised = re.search(r"; bind it with --bind (.*)=FILE\.npz", reason)
        inputs = [info.name for info in self._model.inputs]
        return reason.replace(advised[0], "") if advised and advised[1] not in inputs else reason

    def _computed(self, names):
        part = Part(self._model, False, [], self.known, names)
        try:
            values = OtherRunner(part, self._model.infos, threads=0, shares=False).run({})
        except InputError:
            return {}
        return {n: value for n, value in zip(names, values) if isinstance(value, numpy.ndarray) and value.dtype != object}
