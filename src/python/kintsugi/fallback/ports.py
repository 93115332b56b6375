"""Inputs and outputs of models that run in parts, whose types and shapes may be more than the compiler takes."""

import numpy
from onnx import TensorProto, TypeProto, ValueInfoProto

from .. import _TYPES, InputError, NodeArg


class OpenArg(NodeArg):
    """One of any type, or with sizes that are not known: these are None in `shape`."""

    __slots__ = ()

    def __init__(self, name, kind, shape, dtype):
        self.name, self.type, self.shape = name, kind, shape
        self._bound, self._dynamic, self._dtype, self._number, self._bytes = (), True, dtype, 0, 0

    def _take(self, value):
        if self._dtype is None:  # Strings, sequences and the like, which ONNX Runtime looks at.
            return value
        array = numpy.require(numpy.asarray(value), requirements=["C_CONTIGUOUS", "ALIGNED"])
        fits = self.shape is None or (
            len(self.shape) == array.ndim and all(size in (None, n) for size, n in zip(self.shape, array.shape))
        )
        if array.dtype != self._dtype or not fits:
            raise InputError(
                f"input '{self.name}' is {array.dtype}{list(array.shape)}, the model's is {self._dtype}{self.shape or ''}"
            )
        return array

    def _room(self, value):
        raise InputError(f"output '{self.name}' has no shape that is known before a run; bind it without a value")


def port_of(info):
    """A NodeArg for a ValueInfoProto."""
    tensor = info.type.tensor_type
    number = tensor.elem_type if info.type.HasField("tensor_type") else 0
    shape = None
    if tensor.HasField("shape"):
        shape = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
    if number in _TYPES and shape is not None and None not in shape:
        return NodeArg(info.name, number, shape, False)
    dtype = NodeArg(info.name, number, [], False)._dtype if number in _TYPES else None
    return OpenArg(info.name, _name_of(info.type), shape, dtype)


def _name_of(kind):
    """As ONNX Runtime spells a type."""
    which = kind.WhichOneof("value")
    if which == "tensor_type":
        return f"tensor({TensorProto.DataType.Name(kind.tensor_type.elem_type).lower()})"
    if which == "sequence_type":
        return f"seq({_name_of(kind.sequence_type.elem_type)})"
    if which == "optional_type":
        return f"optional({_name_of(kind.optional_type.elem_type)})"
    return "unknown"


def info_of(port):
    """A ValueInfoProto for what a session of ONNX Runtime or of ours says of an input or output."""
    return ValueInfoProto(name=port.name, type=_type_of(port.type, port.shape))


def _type_of(spelled, shape):
    name, _, inner = spelled.removesuffix(")").partition("(")
    if name == "seq":
        return TypeProto(sequence_type=TypeProto.Sequence(elem_type=_type_of(inner, None)))
    if name == "optional":
        return TypeProto(optional_type=TypeProto.Optional(elem_type=_type_of(inner, None)))
    number = TensorProto.DataType.Value(inner.upper())
    kind = TypeProto(tensor_type=TypeProto.Tensor(elem_type=number))
    if shape is not None:
        kind.tensor_type.shape.SetInParent()
        for size in shape:
            kind.tensor_type.shape.dim.add(**({"dim_value": size} if isinstance(size, int) else {}))
    return kind
