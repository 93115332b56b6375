"""Which operators of a graph torch runs, as is known before anything is compiled."""

import operator

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

_RANDOM = "it makes random numbers, which are to be torch's"
_NOT_STRIDED = "it has tensors that are not dense"
_COMPLEX = "it has complex numbers, which torch's exporter gives other shapes"
_TRAINS = "it trains, which torch's exporter leaves out"
_MOVES = "it moves a tensor to another device"
_DEPENDS = "a size depends on data"
_NOT_ATEN = "it is no operator of ATen"
_NUMBER = "it makes a number that is no size"


def name_of(node):
    """An operator's name, for reading."""
    return str(node.target) if isinstance(node.target, torch._ops.OpOverload) else getattr(node.target, "__name__", "?")


def is_operator(node):
    return node.op in ("call_function", "call_method", "call_module")


def computes(node):
    """Whether it is more than another view of a tensor, or a number."""
    if not is_operator(node) or node.target is operator.getitem:
        return False
    if not isinstance(node.meta.get("val"), (torch.Tensor, tuple, list)):
        return False
    return not (isinstance(node.target, torch._ops.OpOverload) and node.target.is_view)


def refused_operators(graph):
    """By the names of nodes, why they are torch's."""
    found = {}
    for node in graph.nodes:
        if reason := _reason(node):
            found[node.name] = reason
        elif node.target is operator.getitem and node.args[0].name in found:
            found[node.name] = found[node.args[0].name]
    return found


def _reason(node):
    if not is_operator(node):
        return None
    if isinstance(node.target, torch._ops.OpOverload):
        if torch.Tag.nondeterministic_seeded in node.target.tags and not _drops_nothing(node):
            return _RANDOM
        if any(_arguments(node).get(name) is True for name in ("train", "training")):
            return _TRAINS
    elif isinstance(node.target, torch._ops.HigherOrderOperator) or node.op != "call_function":
        return _NOT_ATEN
    values = [*values_of(node), *values_of(*node.all_input_nodes)]
    if len({value.device for value in values if isinstance(value, torch.Tensor) and value.ndim > 0}) > 1:
        return _MOVES
    return next(filter(None, map(_reason_of_value, values)), None)


def _drops_nothing(node):
    """Attention makes random numbers for its dropout alone."""
    has_dropout = any(argument.name == "dropout_p" for argument in node.target._schema.arguments)
    return has_dropout and _arguments(node).get("dropout_p", 0.0) == 0.0


def _arguments(node):
    """Those given, by name."""
    names = (argument.name for argument in node.target._schema.arguments)
    return dict(zip(names, node.args)) | node.kwargs


def values_of(*nodes):
    """What torch says of all values that nodes make."""
    for node in nodes:
        value = node.meta.get("val")
        yield from value if isinstance(value, (tuple, list)) else [value]


def _reason_of_value(value):
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_quantized:
            return _NOT_STRIDED
        if value.is_complex():
            return _COMPLEX
        return _DEPENDS if free_unbacked_symbols(value) else None
    if isinstance(value, (torch.SymFloat, torch.SymBool)):
        return _NUMBER
    return _DEPENDS if isinstance(value, torch.SymInt) and free_unbacked_symbols(value) else None
