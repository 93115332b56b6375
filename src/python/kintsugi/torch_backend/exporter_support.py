"""Which operators torch's exporter does not take, of a graph that it does not take as a whole."""

import operator

import torch

from .export import Exported, NotExported



def unexportable(gm):
    """By the names of nodes, why. Of each operator one node is tried, on its own."""
    tried, found = {}, {}
    for node in gm.graph.nodes:
        if not isinstance(node.target, torch._ops.OpOverload):
            continue
        if node.target not in tried:
            tried[node.target] = _problem(node)
        if tried[node.target]:
            found[node.name] = tried[node.target]
            found |= {user.name: tried[node.target] for user in node.users if user.target is operator.getitem}
    return found


def _problem(node):
    try:
        Exported(_alone(node))
    except NotExported as problem:
        return f"torch's exporter: {problem}"
    return None


def _alone(node):
    """A graph of one operator."""
    graph = torch.fx.Graph()
    copies = {}
    for given in node.all_input_nodes:
        copies[given] = graph.placeholder(given.name)
        copies[given].meta = dict(given.meta)
    copy = graph.node_copy(node, copies.__getitem__)
    results = [copy]
    if not isinstance(node.meta["val"], torch.Tensor):
        results = [
            graph.node_copy(user, lambda _: copy) for user in node.users if user.target is operator.getitem
        ] or [copy]
    graph.output(tuple(results))
    return torch.fx.GraphModule(torch.nn.Module(), graph)
