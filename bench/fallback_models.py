"""Models of the zoo into which an operator is put that the compiler does not know, and ONNX Runtime does."""

import json

import onnx
from onnx import TensorProto, helper

import models

PLACES = "begin", "middle", "end"
# Activations of ONNX Runtime's own domain, from floats to floats of the same shape.
DOMAIN, ACTIVATIONS = "com.microsoft", ("QuickGelu", "FastGelu", "Gelu")


def missing():
    """Of the activations, those that the compiler does not know."""
    told = json.loads(models.kintsugi("operators", "--json"))["operators"]
    known = {(each["domain"], each["name"]) for each in told}
    return [name for name in ACTIVATIONS if (DOMAIN, name) not in known]


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


def with_missing(model, places):
    """A model, loaded without its weights, with an operator of `missing` at each of the places, in place. Raises models.Failure
    where none is missing, or no value is of floats."""
    activations, floats = missing(), _floats(model)
    outputs = [port.name for port in model.graph.output if port.name in floats]
    if not activations:
        raise models.Failure("the compiler knows all operators that this would put in")
    if not outputs:
        raise models.Failure("it has no output of floats")
    inner = [name for name in floats if name not in outputs]
    if DOMAIN not in {each.domain for each in model.opset_import}:
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    if "end" in places:
        _put(model, outputs[0], activations[0])
    if "middle" in places:
        _put(model, inner[len(inner) // 2], activations[-1])
    if "begin" in places:
        _put(model, inner[0], activations[0])
    return model
