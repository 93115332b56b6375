"""A functional graph of ATen operators: compiled as one program or, where operators are refused, in parts between which torch
runs them."""

import operator
import threading

import torch

from .. import Error
from .division import divided
from .export import NotExported
from .exporter_support import unexportable
from .operators import computes, is_operator, name_of, refused_operators
from .program import Program, Refused


class Part(torch.nn.Module):
    """Runs `gm`, on all of its arguments. `weights`: numbers of those that are weights. It is made ready by the first run,
    which has their values."""

    def __init__(self, gm, weights, options, entry):
        super().__init__()
        self._gm, self._weights, self._options, self._entry = gm, frozenset(weights), options, entry
        self._run, self._lock = None, threading.Lock()

    def forward(self, *arguments):
        if (run := self._run) is None:
            with self._lock:
                if self._run is None:
                    self._run = self._ready()
                run = self._run
        try:
            return run(*arguments)
        except Refused as problem:
            with self._lock:
                if self._run is run:  # Threads that share a refusal divide once.
                    self._entry.parts -= 1
                    self._run = self._in_parts(problem.nodes, str(problem))
        return self._run(*arguments)

    def _ready(self):
        if not any(map(computes, self._gm.graph.nodes)):
            return self._gm.forward
        if refused := refused_operators(self._gm.graph):
            return self._in_parts(refused, "")
        try:
            program = Program(self._gm, self._weights, self._options, self._entry)
        except NotExported as problem:
            return self._in_parts(unexportable(self._gm), f"torch's exporter: {problem}")
        self._entry.parts += 1
        return program

    def _in_parts(self, refused, reason):
        """What runs where these nodes, by name, are torch's; where none is to blame, all are, for this reason."""
        operators = [node for node in self._gm.graph.nodes if is_operator(node)]
        to_blame = [node for node in operators if node.name in refused]
        if self._options.strict:
            blamed = f"{name_of(to_blame[0])}: {refused[to_blame[0].name]}" if to_blame else reason
            raise Error(f"the graph is not compiled as a whole: {blamed}")
        gm, names = self._gm, []
        if to_blame:
            gm, names = divided(self._gm, {node.name for node in to_blame})
        for name in names:
            self._set_part(gm, name)
        left = {node.name for node in gm.graph.nodes}
        for node in operators:
            if node.name in left and node.target is not operator.getitem:
                why = refused.get(node.name, reason or "what surrounds it runs in torch")
                self._entry.refused.append((name_of(node), why))
        return gm.forward

    def _set_part(self, gm, name):
        """The module of this name, which is a graph, becomes a Part."""
        call = next(node for node in gm.graph.nodes if node.op == "call_module" and node.target == name)
        weights = [number for number, node in enumerate(call.args) if self._is_weight(gm, node)]
        part = Part(getattr(gm, name), weights, self._options, self._entry)
        delattr(gm, name)
        gm.add_module(name, part)

    def _is_weight(self, gm, node):
        if node.op == "get_attr":
            return True
        inputs = [other for other in gm.graph.nodes if other.op == "placeholder"]
        return node in inputs and inputs.index(node) in self._weights
