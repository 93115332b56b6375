"""Models of the zoo into which an operator is put that the compiler does not know, and ONNX Runtime does."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper

import models

PLACES = "begin", "middle", "end"
# Activations of ONNX Runtime's own domain, from floats to floats of the same shape.
DOMAIN, ACTIVATIONS = "com.microsoft", ("QuickGelu", "FastGelu", "Gelu")
# What the name of an output ends in that Unique makes.
CLASSES = ".classes"


def missing():
    """Of the activations and "Unique", those that the compiler does not know."""
    told = json.loads(models.kintsugi("operators", "--json"))["operators"]
    known = {(each["domain"], each["name"]) for each in told}
    found = [name for name in ACTIVATIONS if (DOMAIN, name) not in known]
    return found + (["Unique"] if ("", "Unique") not in known else [])


def _floats(model):
    """Names of floats of a known shape that depend on what a run is given, in their order: inputs, then what nodes make."""
    graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    infos = {info.name: info.type.tensor_type for info in (*graph.input, *graph.value_info, *graph.output)}
    weights = {tensor.name for tensor in graph.initializer}
    given = {port.name: None for port in graph.input if port.name not in weights}
    for node in graph.node:
        if any(name in given for name in node.input):
            given |= dict.fromkeys(filter(None, node.output))
    return [name for name in given if name in infos and infos[name].elem_type == TensorProto.FLOAT]


def _put(model, name, kind):
    """An activation behind a value, which all that read it then read in its place. An output of the model keeps its name."""
    is_output = name in {port.name for port in model.graph.output}
    read, made = (f"{name}.before", name) if is_output else (name, f"{name}.{kind}")
    for node in model.graph.node:
        renamed = node.output if is_output else node.input
        renamed[:] = [(read if is_output else made) if each == name else each for each in renamed]
    behind = next((number + 1 for number, node in enumerate(model.graph.node) if read in node.output), 0)
    model.graph.node.insert(behind, helper.make_node(kind, [read], [made], name=f"missing.{kind}.{name}", domain=DOMAIN))


def _name_classes(model, name):
    """One more output: which places along an output's second dimension have the greatest number somewhere."""
    places, found = f"{name}.places", name + CLASSES
    rank = next(len(port.type.tensor_type.shape.dim) for port in model.graph.output if port.name == name)
    axis = min(1, rank - 1)
    model.graph.node.append(helper.make_node("ArgMax", [name], [places], name="missing.argmax", axis=axis))
    model.graph.node.append(helper.make_node("Unique", [places], [found], name="missing.unique", sorted=1))
    model.graph.output.append(helper.make_tensor_value_info(found, TensorProto.INT64, ["classes"]))


def classes(array):
    """The same of an array."""
    return np.unique(array.argmax(axis=min(1, array.ndim - 1)))


def with_missing(model, places):
    """A model, loaded without its weights, with an operator of `missing` at each of the places, in place. At the end that is
    Unique where it is missing, and else an activation. Raises models.Failure where none is missing, or no value is of floats."""
    names, floats = missing(), _floats(model)
    activations = [name for name in names if name != "Unique"]
    outputs = [port.name for port in model.graph.output if port.name in floats]
    if not activations:
        raise models.Failure("the compiler knows all operators that this would put in")
    if not outputs:
        raise models.Failure("it has no output of floats")
    inner = [name for name in floats if name not in outputs]
    if DOMAIN not in {each.domain for each in model.opset_import}:
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    if "end" in places and "Unique" in names:
        _name_classes(model, outputs[0])
    elif "end" in places:
        _put(model, outputs[0], activations[0])
    if "middle" in places:
        _put(model, inner[len(inner) // 2], activations[-1])
    if "begin" in places:
        _put(model, inner[0], activations[0])
    return model
