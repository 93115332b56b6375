"""A model of attention as exporters write it, with queries, keys and values read from one product."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """Nodes and constants with names of their own."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, values, kind=np.int64):
        self.constants.append(numpy_helper.from_array(np.asarray(values, kind), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def node(self, operator, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}.{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def save(self, path, x, y):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, x)
        y = helper.make_tensor_value_info(y, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "attention", [x], [y], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)


def parts_of(graph, product, how):
    """Queries, keys and values of a product [3, 1, heads, tokens, size]."""
    if how == "gather":
        return [graph.node("Gather", product, graph.constant(part), axis=0) for part in range(3)]
    if how == "split":
        parts = graph.node("Split", product, outputs=3, axis=0, num_outputs=3)
    else:
        ends = [graph.constant([part]) for part in range(4)]
        parts = [graph.node("Slice", product, ends[part], ends[part + 1], graph.constant([0])) for part in range(3)]
    return [graph.node("Squeeze", part, graph.constant([0])) for part in parts]


MASKS = {
    "causal": lambda row, column: column <= row,
    "sliding": lambda row, column: (column <= row) & (row - column < 128),
    "blocks": lambda row, column: row // 64 == column // 64,
    "scattered": lambda row, column: (row // 64 == column // 64) | ((row // 64 * 7 + column // 64 * 5) % 6 == 0),
}


def attention(path, tokens, heads, size, mask, how):
    random, graph, width = np.random.default_rng(0), Graph(), heads * size
    weights = random.normal(0, width**-0.5, (width, 3 * width))
    product = graph.node("MatMul", "x", graph.constant(weights, np.float32))
    product = graph.node("Reshape", product, graph.constant([1, tokens, 3, heads, size]))
    product = graph.node("Transpose", product, perm=[2, 0, 3, 1, 4])
    queries, keys, values = parts_of(graph, product, how)
    scores = graph.node("MatMul", queries, graph.node("Transpose", keys, perm=[0, 1, 3, 2]))
    scores = graph.node("Mul", scores, graph.constant(size**-0.5, np.float32))
    seen = MASKS[mask](*np.mgrid[:tokens, :tokens])
    scores = graph.node("Where", graph.constant(seen, bool), scores, graph.constant(-np.inf, np.float32))
    result = graph.node("MatMul", graph.node("Softmax", scores, axis=-1), values)
    result = graph.node("Transpose", result, perm=[0, 2, 1, 3])
    result = graph.node("Reshape", result, graph.constant([1, tokens, width]))
    graph.save(path, [1, tokens, width], result)
