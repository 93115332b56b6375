"""Inputs and outputs of models that run in parts, whose types and shapes may be more than the compiler takes."""

import numpy
from onnx import TensorProto, TypeProto, ValueInfoProto

from .._capi import InputError
from ..element_types import TYPES
from ..memory import is_on_gpu
from ..ort_value import OrtValue
from ..ports import NodeArg, OpenArg


def port_of(info):
    """A NodeArg for a ValueInfoProto."""
    tensor = info.type.tensor_type
    number = tensor.elem_type if info.type.HasField("tensor_type") else 0
    shape = None
    if tensor.HasField("shape"):
        shape = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in tensor.shape.dim]
    if number in TYPES and shape is not None and all(isinstance(size, int) for size in shape):
        return NodeArg(info.name, number, shape, False)
    return OpenArg(info.name, number if number in TYPES else None, shape, _name_of(info.type))


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


def taken(port, value):
    """An array, or what ONNX Runtime takes for an input that is no tensor of numbers, from what a run is given."""
    value = value._value if isinstance(value, OrtValue) else value
    if not isinstance(value, numpy.ndarray) and is_on_gpu(value):
        raise InputError(f"'{port.name}' is on a GPU, the session is not")
    return port._dense(value)


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
