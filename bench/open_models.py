"""Models of the zoo with dimensions left open: the batch, the length of a sequence, or both."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

import models

NAME, LENGTH = "N", "L"  # Of the dimension that is open, and of the length where both are.


def inputs_of(model):
    constants = {tensor.name for tensor in model.graph.initializer}
    return [port for port in model.graph.input if port.name not in constants]


def _without_shapes(model):
    """What was inferred of one size is not so of others."""
    for node in model.graph.node:
        if node.op_type == "Reshape":
            del node.attribute[:]  # allowzero, under which 0 is no input's dimension.
    del model.graph.value_info[:]
    for port in model.graph.output:
        port.type.tensor_type.ClearField("shape")
    return model


def with_open_batch(path):
    """The first dimension of inputs, where that is 1, is open. Raises models.Failure."""
    model = onnx.load(path, load_external_data=False)
    firsts = [port.type.tensor_type.shape.dim[0] for port in inputs_of(model) if port.type.tensor_type.shape.dim]
    batches = [first for first in firsts if first.dim_value == 1]
    if not batches:
        raise models.Failure("it has no batch of 1")
    for batch in batches:
        batch.dim_param = NAME
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    constants |= {node.output[0]: node.attribute[0].t for node in model.graph.node if node.op_type == "Constant"}

    def replace(node, number, change):
        """An input by another constant; others may read the one that it was."""
        changed = change(numpy_helper.to_array(constants[node.input[number]]))
        node.input[number] += f"_of_any_batch_for_{node.op_type}"
        if all(tensor.name != node.input[number] for tensor in model.graph.initializer):
            model.graph.initializer.append(numpy_helper.from_array(changed, node.input[number]))

    for node in model.graph.node:
        if node.op_type == "Reshape" and node.input[1] in constants:
            replace(node, 1, _with_any_batch)
        if node.op_type == "Resize" and len(node.input) > 3 and node.input[3] in constants and not _attribute(node, "axes"):
            rank = numpy_helper.to_array(constants[node.input[3]]).size
            node.attribute.append(helper.make_attribute("axes", range(1, rank)))
            replace(node, 3, lambda sizes: sizes[1:])
    return _without_shapes(model)


def with_open_batch_and_length(path, high):
    """Both: shapes that are put together begin with what is left of their input, and name the length. Raises
    models.Failure."""
    model = with_open_length(path, high)
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    parts = {node.output[0]: node.input for node in model.graph.node if node.op_type == "Concat"}
    for port in inputs_of(model):
        for each in port.type.tensor_type.shape.dim:
            if each.dim_param:
                each.dim_param = LENGTH
    batches = [port.type.tensor_type.shape.dim[0] for port in inputs_of(model) if port.type.tensor_type.shape.dim]
    for batch in batches:
        if batch.dim_value == 1:
            batch.dim_param = NAME
    if all(batch.dim_param != NAME for batch in batches):
        raise models.Failure("it has no batch of 1")
    for node in model.graph.node:
        if node.op_type != "Reshape":
            continue
        if node.input[1] in constants:
            shape = numpy_helper.to_array(constants[node.input[1]])
            constants[node.input[1]].CopyFrom(numpy_helper.from_array(_with_any_batch(shape), node.input[1]))
        elif (first := parts.get(node.input[1], [""])[0]) in constants:
            others = [numpy_helper.to_array(constants[part]) for part in parts[node.input[1]][1:] if part in constants]
            is_open = any((other == -1).any() for other in others)
            constants[first].CopyFrom(numpy_helper.from_array(np.array([0 if is_open else -1]), first))
    return model


def _attribute(node, name):
    return next((helper.get_attribute_value(each) for each in node.attribute if each.name == name), None)


def _with_any_batch(shape):
    """A Reshape's leading number, a batch or what it is multiplied with, as what is left of its input; where another
    dimension is that, a leading 1 as its input's."""
    shape = shape.copy()
    if shape.size and -1 not in shape:
        shape[0] = -1
    elif shape.size and shape[0] == 1:
        shape[0] = 0
    return shape


def with_open_length(path, high):
    """The last dimension of integer inputs, tokens, is open: up to `high`. Raises models.Failure.

    Constants that hold the length become what an exporter writes: shapes are put together from that of the tokens, and of
    tables like positions and masks, which are continued to `high`, come the first rows.
    """
    model = onnx.load(path, load_external_data=False)
    tokens = [port for port in inputs_of(model) if port.type.tensor_type.elem_type == onnx.TensorProto.INT64]
    lengths = {port.type.tensor_type.shape.dim[-1].dim_value for port in tokens if port.type.tensor_type.shape.dim}
    if len(lengths) != 1:
        raise models.Failure("it has no tokens of one length")
    (length,) = lengths
    for port in tokens:
        port.type.tensor_type.shape.dim[-1].dim_param = NAME
    shapes = {node.input[1] for node in model.graph.node if node.op_type in ("Reshape", "Expand")}
    made = [helper.make_node("Shape", [tokens[0].name], ["open.length"], start=-1)]
    kept = []
    for tensor in model.graph.initializer:
        if tensor.name in shapes and length in (array := numpy_helper.to_array(tensor)):
            parts = [f"{tensor.name}.{k}" if extent != length else "open.length" for k, extent in enumerate(array)]
            kept += [numpy_helper.from_array(array[k : k + 1], part) for k, part in enumerate(parts) if part != "open.length"]
            made.append(helper.make_node("Concat", parts, [tensor.name], axis=0))
        elif length in tensor.dims and not tensor.external_data:
            axes = [axis for axis, extent in enumerate(tensor.dims) if extent == length]
            table = tensor.name + ".all"
            kept.append(numpy_helper.from_array(_continued(tensor, axes, high), table))
            for axis in axes:
                name = tensor.name if axis == axes[-1] else f"{tensor.name}.{axis}"
                made.append(helper.make_node("Slice", [table, "open.zero", "open.length", f"open.{axis}"], [name]))
                table = name
        else:
            kept.append(tensor)
    kept += [numpy_helper.from_array(np.array([axis]), f"open.{axis}") for axis in range(8)]
    kept.append(numpy_helper.from_array(np.array([0]), "open.zero"))
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    nodes = [*made, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return _without_shapes(model)


def _continued(tensor, axes, high):
    """A table whose rows along the axes are alike, or go on by what the second has more than the first."""
    array = numpy_helper.to_array(tensor)
    for axis in axes:
        rows = np.moveaxis(array, axis, 0)
        numbers = np.arange(max(high, len(rows))).reshape(-1, *[1] * (rows.ndim - 1))
        each = rows[1] ^ rows[0] if rows.dtype == bool else rows[1] - rows[0]
        whole = rows[0] ^ (each & (numbers > 0)) if rows.dtype == bool else rows[0] + numbers * each
        if not (whole[: len(rows)] == rows).all():
            raise models.Failure(f"'{tensor.name}' is a table of one length")
        array = np.moveaxis(whole, 0, axis)
    return np.ascontiguousarray(array).astype(array.dtype)
