"""aten.as_strided goes by a tensor's memory. torch's exporter takes memory to be what the tensor's elements are in order, so
what is ordered otherwise in memory is put in that order first."""

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

_OPERATOR = torch.ops.aten.as_strided.default


class NotDense(Exception):
    """A tensor whose elements do not fill its memory."""


def order_by_memory(graph):
    """NotDense: of a tensor that has gaps, or elements outside of it, nothing is to be had in order."""
    for node in [node for node in graph.nodes if node.target is _OPERATOR]:
        _order(graph, node, *node.args, **node.kwargs)


def _order(graph, node, base, size, stride, storage_offset=None):
    value = base.meta["val"]
    order = sorted(range(value.dim()), key=lambda dim: _hint(value.stride(dim)), reverse=True)
    ordered = value.permute(order)
    reach = _given(storage_offset or 0) + sum((_given(extent) - 1) * _given(step) for extent, step in zip(size, stride))
    if not (_is_dense(ordered) and statically_known_true(value.storage_offset() == 0)):
        raise NotDense("as_strided of a tensor that does not fill its memory")
    if not statically_known_true(reach < value.numel()):
        raise NotDense("as_strided reads outside of its tensor")
    if order != sorted(order):
        with graph.inserting_before(node):
            permuted = graph.call_function(torch.ops.aten.permute.default, (base, order))
        permuted.meta = dict(base.meta) | {"val": ordered}
        node.replace_input_with(base, permuted)


def _given(number):
    """A size of the graph: a number, or a node that has one."""
    return number.meta["val"] if isinstance(number, torch.fx.Node) else number


def _hint(number):
    return number.node.hint if isinstance(number, torch.SymInt) else number


def _is_dense(value):
    elements = 1
    for size, stride in reversed(list(zip(value.shape, value.stride()))):
        if statically_known_true(size == 1):
            continue
        if not statically_known_true(stride == elements):
            return False
        elements = elements * size
    return True
