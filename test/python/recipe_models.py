"""Small models with random weights for the programs of docs/recipes: a classifier, an encoder and one step of a decoder."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


class Graph:
    """Nodes and weights of a model under way; `add` gives the name of what a node makes."""

    def __init__(self, seed):
        self._random = np.random.default_rng(seed)
        self._nodes, self._weights = [], []

    def add(self, kind, *inputs, output=None, **attributes):
        name = output or f"{kind}.{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], name=f"node.{len(self._nodes)}", **attributes))
        return name

    def constant(self, value):
        self._weights.append(numpy_helper.from_array(np.asarray(value), f"weight.{len(self._weights)}"))
        return self._weights[-1].name

    def drawn(self, *shape, terms):
        """Numbers of which a sum over so many terms has about the size of one."""
        return self.constant(self._random.standard_normal(shape, np.float32) / np.float32(np.sqrt(terms)))

    def linear(self, x, width, outputs):
        return self.add("MatMul", x, self.drawn(width, outputs, terms=width))

    def normalized(self, x, width):
        return self.add("LayerNormalization", x, self.constant(np.ones(width, np.float32)), axis=-1)

    def heads(self, x, width, count):
        """[batch, length, width] as [batch, heads, length, part]."""
        split = self.add("Reshape", x, self.constant([0, 0, count, width // count]))
        return self.add("Transpose", split, perm=[0, 2, 1, 3])

    def attended(self, queries, keys, values, mask, width, count):
        """`mask` is added to scores."""
        scale = self.constant(np.float32(1 / np.sqrt(width // count)))
        scores = self.add("MatMul", self.add("Mul", queries, scale), self.add("Transpose", keys, perm=[0, 1, 3, 2]))
        shares = self.add("Softmax", self.add("Add", scores, mask), axis=-1)
        joined = self.add("Transpose", self.add("MatMul", shares, values), perm=[0, 2, 1, 3])
        return self.add("Reshape", joined, self.constant([0, 0, width]))

    def feed_forward(self, x, width):
        hidden = self.add("Gelu", self.linear(self.normalized(x, width), width, 2 * width))
        return self.add("Add", x, self.linear(hidden, 2 * width, width))

    def save(self, path, inputs, outputs):
        """Inputs and outputs are (name, type, shape)."""
        ports = [[helper.make_tensor_value_info(*port) for port in side] for side in (inputs, outputs)]
        graph = helper.make_graph(self._nodes, "graph", *ports, self._weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)


def classifier(path, size=(32, 40), classes=10):
    graph, x, channels = Graph(seed=1), "pictures", 3
    for wanted in (8, 16):
        kernel = graph.drawn(wanted, channels, 3, 3, terms=9 * channels)
        x = graph.add("Relu", graph.add("Conv", x, kernel, strides=[2, 2], pads=[1, 1, 1, 1]))
        channels = wanted
    x = graph.add("Flatten", graph.add("GlobalAveragePool", x))
    graph.add("Gemm", x, graph.drawn(channels, classes, terms=1), output="scores")
    graph.save(path, [("pictures", F32, ["batch", 3, *size])], [("scores", F32, ["batch", classes])])


def encoder(path, tokens, width=32, heads=2, longest=128):
    graph, shape = Graph(seed=2), ["batch", "length"]
    zero, one = graph.constant(np.int64([0])), graph.constant(np.int64([1]))
    length = graph.add("Shape", "input_ids", start=1)
    places = graph.add("Slice", graph.drawn(longest, width, terms=1), zero, length, zero)
    x = graph.add("Add", graph.add("Gather", graph.drawn(tokens, width, terms=1), "input_ids"), places)
    open_ = graph.add("Cast", "attention_mask", to=F32)
    hidden = graph.add("Mul", graph.add("Sub", graph.constant(np.float32(1)), open_), graph.constant(np.float32(-1e9)))
    mask = graph.add("Unsqueeze", graph.add("Unsqueeze", hidden, one), one)
    normal = graph.normalized(x, width)
    queries, keys, values = (graph.heads(graph.linear(normal, width, width), width, heads) for _ in range(3))
    mixed = graph.attended(queries, keys, values, mask, width, heads)
    x = graph.feed_forward(graph.add("Add", x, graph.linear(mixed, width, width)), width)
    graph.add("Identity", graph.normalized(x, width), output="states")
    inputs = [("input_ids", I64, shape), ("attention_mask", I64, shape)]
    graph.save(path, inputs, [("states", F32, [*shape, width])])


def decoder(path, tokens=256, width=32, heads=2, layers=2, longest=48):
    """Each layer has a cache of keys, `past.2k`, and one of values, `past.2k+1`."""
    graph = Graph(seed=3)
    numbers = graph.constant(np.arange(longest))
    is_here = graph.add("Reshape", graph.add("Equal", numbers, "position"), graph.constant([1, 1, longest, 1]))
    behind = graph.add("Greater", numbers, "position")
    mask = graph.add("Where", behind, graph.constant(np.float32(-1e9)), graph.constant(np.float32(0)))
    place = graph.add("Gather", graph.drawn(longest, width, terms=1), "position")
    x = graph.add("Add", graph.add("Gather", graph.drawn(tokens, width, terms=1), "token"), place)
    caches = []
    for layer in range(layers):
        normal = graph.normalized(x, width)
        queries, *new = (graph.heads(graph.linear(normal, width, width), width, heads) for _ in range(3))
        names = [f"{2 * layer}", f"{2 * layer + 1}"]
        present = [
            graph.add("Where", is_here, each, f"past.{name}", output=f"present.{name}") for each, name in zip(new, names)
        ]
        x = graph.add("Add", x, graph.linear(graph.attended(queries, *present, mask, width, heads), width, width))
        x, caches = graph.feed_forward(x, width), caches + names
    graph.add("MatMul", graph.normalized(x, width), graph.drawn(width, tokens, terms=width), output="logits")
    shape = [1, heads, longest, width // heads]
    inputs = [("token", I64, [1, 1]), ("position", I64, [1]), *((f"past.{name}", F32, shape) for name in caches)]
    outputs = [("logits", F32, [1, 1, tokens]), *((f"present.{name}", F32, shape) for name in caches)]
    graph.save(path, inputs, outputs)
