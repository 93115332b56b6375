"""How far another runtime's outputs may be from ONNX Runtime's: the widest limits of docs/precision.md's policy.

`kintsugi compare` applies the policy itself, which is narrower for most models: it knows what rounding costs a model.
Errors are relative to the largest magnitude in the output. K is the number of terms that were added up along the
longest path to an output. Two results may each be off by so much, so limits are doubled. Integers and booleans are
exact.
"""

import math

import numpy as np
import onnx
from onnx import helper

ALLOWED = {np.dtype(np.float64): (1e-14, 1e-11), np.dtype(np.float32): (2e-6, 1e-3)}
HALF = (2e-3, 2e-2)
SUMS = {"ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd"}


def shapes(model):
    """Shape of every value that the model tells, by name; an open dimension counts as 1."""
    inferred = onnx.shape_inference.infer_shapes(model).graph
    found = {tensor.name: list(tensor.dims) for tensor in inferred.initializer}
    for value in [*inferred.input, *inferred.value_info, *inferred.output]:
        found[value.name] = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
    return found


def reduced_axes(node, attributes, constants, rank):
    """The axes of a Reduce operator, which are an attribute or, from opset 13 and 18 on, an input."""
    axes = attributes.get("axes")
    if axes is None and len(node.input) > 1 and node.input[1] in constants:
        axes = onnx.numpy_helper.to_array(constants[node.input[1]]).tolist()
    return axes or range(rank)


def terms(node, shape, constants):
    """How many terms one element of a node's result adds up; 0 where it adds none."""
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    first = shape.get(node.input[0], []) if node.input else []
    if node.op_type == "Conv":
        return math.prod(shape[node.input[1]][1:])
    if node.op_type == "ConvTranspose":
        kernel = shape[node.input[1]]
        strides = attributes.get("strides", [1] * len(kernel[2:]))
        taps = math.prod(-(-extent // stride) for extent, stride in zip(kernel[2:], strides))
        return kernel[0] // attributes.get("group", 1) * taps
    if not first:  # Of a value whose shape nobody infers nothing counts: less is allowed then.
        return 0
    if node.op_type == "MatMul":
        return first[-1]
    if node.op_type == "Gemm":
        return first[0 if attributes.get("transA", 0) else 1]
    if node.op_type in ("Softmax", "LogSoftmax"):
        return first[attributes.get("axis", -1)]
    if node.op_type == "LayerNormalization":
        return 2 * math.prod(first[attributes.get("axis", -1) :])
    if node.op_type in ("InstanceNormalization", "GlobalAveragePool"):
        return 2 * math.prod(first[2:])
    if node.op_type == "GridSample":  # Of four products; a place is off by what its size is rounded by.
        return 4 * max(first[2:])
    if node.op_type == "AveragePool":
        return math.prod(attributes["kernel_shape"])
    if node.op_type == "LSTM":
        return first[0] * (first[2] + attributes["hidden_size"])
    if node.op_type in SUMS:
        return math.prod(first[axis] for axis in reduced_axes(node, attributes, constants, len(first)))
    return 0


def depth(model):
    """K for each output of a model (loaded with or without its weights)."""
    shape = shapes(model)
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    constants |= {n.output[0]: n.attribute[0].t for n in model.graph.node if n.op_type == "Constant"}
    along = {}
    for node in model.graph.node:
        before = max((along.get(name, 0) for name in node.input), default=0)
        here = before + terms(node, shape, constants)
        along.update((name, here) for name in node.output)
    return {output.name: max(1, along.get(output.name, 0)) for output in model.graph.output}


def tolerance(dtype, k):
    """Largest relative difference from another runtime for an element type; 0 means exact."""
    dtype = np.dtype(dtype)
    if dtype in ALLOWED:
        unit, most = ALLOWED[dtype]
        return 2 * min(unit * math.sqrt(k), most)
    if dtype == np.float16:
        unit, most = HALF
        return 2 * min(unit * math.sqrt(1 + math.log2(k)), most)
    return 0.0


def difference(ours, theirs):
    """Largest difference over the reference's largest finite magnitude, or the type's least normal number; infinite where
    shapes, types or the places of infinities and NaNs disagree."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return math.inf
    if theirs.size == 0:
        return 0.0
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if not np.all(same | (np.isfinite(a) & np.isfinite(b))):
        return math.inf
    largest = np.max(np.abs(b), where=np.isfinite(b), initial=0.0)
    error = np.max(np.abs(a[~same] - b[~same]), initial=0.0)
    if largest > 0 and np.issubdtype(theirs.dtype, np.floating):
        largest = max(largest, float(np.finfo(theirs.dtype).tiny))
    return float(error / largest) if largest > 0 else (0.0 if error == 0 else math.inf)


def worst_output(ours, theirs, depths):
    """(difference, tolerance) of the output that is nearest to its limit, or farthest beyond."""
    rows = []
    for name, expected in theirs.items():
        allowed = tolerance(expected.dtype, depths[name])
        found = difference(ours[name], expected) if name in ours else math.inf
        rows.append((found / allowed if allowed else float(found > 0) * 2, found, allowed))
    return max(rows)[1:]
