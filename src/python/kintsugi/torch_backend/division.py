"""A graph in parts: what is compiled as modules of it, and torch's operators between."""

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase
from torch.fx.passes.utils.fuser_utils import fuse_by_partitions

from .operators import computes, is_operator

_LEAST = 2  # Operators that compute something in a part that is worth a crossing.
_PREFIX = "kintsugi_"


class _Support(OperatorSupportBase):
    def __init__(self, refused):
        self._refused = refused

    def is_node_supported(self, submodules, node):
        return is_operator(node) and node.name not in self._refused


def divided(gm, refused):
    """(a graph module, names of its modules that are to be compiled), for names of nodes that torch runs."""
    gm = _copied(gm)
    proposed = CapabilityBasedPartitioner(gm, _Support(refused), allows_single_node_partition=True).propose_partitions()
    chosen = [partition.nodes for partition in proposed if sum(map(computes, partition.nodes)) >= _LEAST]
    fuse_by_partitions(gm, [dict.fromkeys(nodes) for nodes in chosen], prefix=_PREFIX, always_return_tuple=True)
    gm.recompile()
    return gm, [f"{_PREFIX}{number}" for number in range(len(chosen))]


def _copied(gm):
    graph = torch.fx.Graph()
    copies = {}
    graph.output(graph.graph_copy(gm.graph, copies))
    return torch.fx.GraphModule(gm, graph)
