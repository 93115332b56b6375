"""What the outputs of a graph are: computed, or no more than a view of what is there."""

import operator
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Result:
    """`source`: "input" or "output", with `number`, of the graph's inputs or the model's outputs; or "known", and `value` is
    it. `view`: what torch says of it (a tensor of the same memory), where it is not the source itself."""

    source: str
    number: int = 0
    value: Any = None
    view: Any = None


class Results:
    """`outputs`: a Result for each of a graph's; `nodes`: those that a model has to compute, in the order of its outputs.
    Outputs that share memory in torch do so here: one of them, or what they are views of, is computed."""

    def __init__(self, graph):
        self.outputs, self.nodes = [], []
        self._inputs = [node for node in graph.nodes if node.op == "placeholder"]
        (returned,) = (node for node in graph.nodes if node.op == "output")
        values = returned.args[0] if isinstance(returned.args[0], (tuple, list)) else returned.args
        nodes = dict.fromkeys(value for value in values if isinstance(value, torch.fx.Node))
        self._sharing = Counter(map(_base, nodes))
        self.outputs = list(map(self._result, values))

    def _result(self, value):
        if not isinstance(value, torch.fx.Node):
            return Result("known", value=value)
        base = _base(value)
        view = None if base is value else value.meta["val"]
        if base in self._inputs:
            return Result("input", self._inputs.index(base), view=view)
        if self._sharing[base] == 1:
            base, view = value, None
        if base not in self.nodes:
            self.nodes.append(base)
        return Result("output", self.nodes.index(base), view=view)


def _base(node):
    """What a node is a view of, itself where it is none; one of another type counts as none."""
    base = node
    while True:
        if base.target is operator.getitem and _is_view(base.args[0]):
            base = base.args[0]
        if not _is_view(base) or not isinstance(base.args[0].meta.get("val"), torch.Tensor):
            break
        base = base.args[0]
    same = isinstance(base.meta.get("val"), torch.Tensor) and base.meta["val"].dtype == node.meta["val"].dtype
    return base if same else node


def _is_view(node):
    return isinstance(node.target, torch._ops.OpOverload) and node.target.is_view
