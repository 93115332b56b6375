"""A model while it is made, checked and reduced: nodes over values of known shape, and recipes instead of numbers.

Element types are kinds: "float" is the type that the configuration gives the model (f32, f64, f16, bf16), "wide" is
f32 whatever the model's type is, everything else is numpy's name. A value is exact if no rounding made it; what jumps
(Floor, comparisons, ArgMax) is generated of exact values only, since no tolerance excuses a jump.
"""

import dataclasses
import json

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from . import recipes

FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
NUMBERS = {"f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
IS_FLOAT = ("float", "wide")
LOWEST_OPSET, HIGHEST_OPSET = 13, 23


def dtype_of(kind, float_type):
    if kind == "float":
        return np.dtype(FLOATS[float_type])
    return np.dtype(np.float32) if kind == "wide" else np.dtype(kind)


def number_of(kind, float_type):
    if kind in IS_FLOAT:
        return NUMBERS[float_type if kind == "float" else "f32"]
    return helper.np_dtype_to_tensor_dtype(np.dtype(kind))


def rounded(array, dtype):
    """To a type; finite numbers beyond a float's range become its greatest or lowest."""
    if np.dtype(dtype).kind in "iub" or np.dtype(dtype).name.startswith(("int", "uint")):
        return np.asarray(array).astype(dtype)
    limits = ml_dtypes.finfo(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        wide = np.asarray(array, np.float64)
        kept = np.clip(wide, float(limits.min), float(limits.max))
        return np.where(np.isinf(wide), wide, kept).astype(dtype)


@dataclasses.dataclass
class Value:
    name: str
    kind: str
    shape: tuple
    exact: bool = False
    sources: frozenset = frozenset()  # The inputs and constants that an exact value is made of.
    bound: float = 2.0  # About how large it is.

    @property
    def rank(self):
        return len(self.shape)

    @property
    def size(self):
        return int(np.prod(self.shape, dtype=np.int64))


@dataclasses.dataclass
class Source:
    """An input or a constant."""

    kind: str
    shape: tuple
    recipe: str
    pinned: bool = False  # Changing it a little may change the result much.


@dataclasses.dataclass
class Node:
    op: str
    inputs: list
    outputs: list
    attributes: dict = dataclasses.field(default_factory=dict)
    idiom: str = ""


class Graph:
    def __init__(self, opset=17):
        self.opset = opset
        self.inputs, self.constants, self.values = {}, {}, {}
        self.nodes, self.outputs = [], []
        self.work = 0  # Multiply-adds, about.
        self.idiom = ""
        self.idioms = []
        self.special = False  # There are infinities or NaNs.
        self._count = 0

    # Making it.

    def name(self, prefix):
        self._count += 1
        return f"{prefix}{self._count}"

    def _source(self, table, prefix, kind, shape, recipe, bound):
        name = self.name(prefix)
        table[name] = Source(kind, tuple(shape), recipe)
        value = Value(name, kind, tuple(shape), True, frozenset([name]), bound)
        self.values[name] = value
        return value

    def input(self, shape, kind="float", recipe=None, bound=1.75):
        return self._source(self.inputs, "x", kind, shape, recipe or self.random(shape, bound), bound)

    def constant(self, recipe, shape, kind="float", bound=1.0):
        return self._source(self.constants, "c", kind, shape, recipe, bound)

    def random(self, shape, bound=1.75):
        self._count += 1
        return f"uniform({self._count}, {-bound}, {bound}{''.join(f', {d}' for d in shape)})"

    def weight(self, shape, terms=1, bound=1.75):
        """A constant that keeps the size of what it is multiplied with and summed over so many terms."""
        bound /= max(1.0, float(terms) ** 0.5)
        return self.constant(self.random(shape, round(bound, 4)), shape, bound=bound)

    def ints(self, numbers, kind="int64", shape=None):
        shape = (len(numbers),) if shape is None else shape
        dims = "".join(f", {d}" for d in shape)
        return self.constant(f"values({list(map(int, numbers))}{dims})", shape, kind)

    def scalar(self, number, kind="float", shape=()):
        value = self.constant(f"full({number!r}{''.join(f', {d}' for d in shape)})", shape, kind, abs(number))
        self.constants[value.name].pinned = True
        return value

    def node(self, op, inputs, shape, kind="float", *, exact=False, bound=None, outputs=None, **attributes):
        """Adds a node of one output, or with `outputs`, a list of (shape, kind), of several."""
        wanted = [(shape, kind)] if outputs is None else outputs
        names = [value.name if value is not None else "" for value in inputs]
        made = []
        given = [value for value in inputs if value is not None]
        exact = exact and all(value.exact for value in given)
        sources = frozenset().union(*(value.sources for value in given)) if exact else frozenset()
        limit = bound if bound is not None else max((value.bound for value in given), default=1.0)
        for entry in wanted:
            if entry is None:
                made.append(None)
                continue
            value = Value(self.name("v"), entry[1], tuple(entry[0]), exact, sources, limit)
            self.values[value.name] = value
            made.append(value)
        self.nodes.append(Node(op, names, [v.name if v else "" for v in made], attributes, self.idiom))
        return made[0] if outputs is None else made

    def pin(self, *values):
        """Their sources decide something that jumps, and stay as they are when noise is added."""
        for value in values:
            for name in value.sources:
                (self.inputs.get(name) or self.constants[name]).pinned = True

    def finish(self, outputs):
        self.outputs = [value.name for value in outputs]
        self.prune()
        return self

    # Looking at it and changing it.

    def prune(self):
        """Drops what no output needs; a graph keeps at least the inputs that it reads."""
        needed, kept = set(self.outputs), []
        for node in reversed(self.nodes):
            if needed.intersection(filter(None, node.outputs)):
                kept.append(node)
                needed.update(filter(None, node.inputs))
                needed.update(captured(node))
        self.nodes = kept[::-1]
        self.inputs = {name: source for name, source in self.inputs.items() if name in needed}
        self.constants = {name: source for name, source in self.constants.items() if name in needed}

    def used(self):
        return {name for node in self.nodes for name in [*node.inputs, *captured(node)] if name}

    def feeds(self, float_type="f32", grid=False):
        return {name: materialize(source, float_type, grid) for name, source in self.inputs.items()}

    def to_json(self):
        source = lambda s: [s.kind, list(s.shape), s.recipe, *(["pinned"] if s.pinned else [])]
        made = [name for node in self.nodes for name in node.outputs if name]
        return {
            "opset": self.opset,
            "inputs": {name: source(s) for name, s in self.inputs.items()},
            "constants": {name: source(s) for name, s in self.constants.items()},
            "nodes": [[n.op, n.inputs, n.outputs, _plain(n.attributes)] for n in self.nodes],
            "values": {n: [self.values[n].kind, list(self.values[n].shape), self.values[n].exact] for n in made},
            "outputs": self.outputs,
            "work": self.work,
            **({"special": True} if self.special else {}),
        }

    @staticmethod
    def from_json(data):
        graph = Graph(data["opset"])
        source = lambda s: Source(s[0], tuple(s[1]), s[2], len(s) > 3)
        graph.inputs = {name: source(s) for name, s in data["inputs"].items()}
        graph.constants = {name: source(s) for name, s in data["constants"].items()}
        for name, s in [*graph.inputs.items(), *graph.constants.items()]:
            graph.values[name] = Value(name, s.kind, s.shape, True, frozenset([name]))
        for name, (kind, shape, exact) in data["values"].items():
            graph.values[name] = Value(name, kind, tuple(shape), exact)
        graph.nodes = [Node(op, list(i), list(o), _built(a)) for op, i, o, a in data["nodes"]]
        graph.outputs = list(data["outputs"])
        graph.work = data.get("work", 0)
        graph.special = data.get("special", False)
        return graph

    def copy(self):
        copied = Graph.from_json(json.loads(json.dumps(self.to_json())))
        copied._count = self._count + 1000
        return copied

    # As ONNX.

    def model(self, float_type="f32", grid=False, twin=False):
        """A ModelProto. `grid` has float constants with 8 bits; a twin is f32 with the numbers of the other type."""
        shown = "f32" if twin else float_type
        info = lambda name: helper.make_tensor_value_info(
            name, number_of(self.values[name].kind, shown), list(self.values[name].shape)
        )
        tensors = [
            as_tensor(name, materialize(source, float_type, grid), source.kind, shown)
            for name, source in self.constants.items()
        ]
        # Exporters write constants in both ways.
        as_node = lambda name: name.endswith(("3", "7"))
        graph = helper.make_graph(
            [*(_constant_node(t) for t in tensors if as_node(t.name)), *(_make_node(node, shown) for node in self.nodes)],
            "random",
            [info(name) for name in self.inputs],
            [info(name) for name in self.outputs],
            [tensor for tensor in tensors if not as_node(tensor.name)],
        )
        # Other domains' operators have theirs as an attribute.
        domains = sorted({node.attributes["domain"] for node in self.nodes if "domain" in node.attributes})
        imports = [helper.make_opsetid("", self.opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10)


def captured(node):
    """What the subgraphs of a node read from outside."""
    names = []
    for value in node.attributes.values():
        if isinstance(value, Graph):
            own = set(value.inputs) | set(value.constants) | {o for n in value.nodes for o in n.outputs}
            names += [name for name in [*value.used(), *value.outputs] if name not in own]
    return names


def materialize(source, float_type, grid=False):
    """The array of a source, in the type that the model gives it."""
    array = recipes.evaluate(source.recipe)
    array = np.broadcast_to(array, source.shape) if array.shape != tuple(source.shape) else array
    if source.kind in IS_FLOAT and grid:
        fine = rounded(array, ml_dtypes.bfloat16).astype(np.float64)
        array = np.where(np.abs(array) > 1e30, array, fine)
    return np.array(rounded(array, dtype_of(source.kind, float_type)), order="C")


def as_tensor(name, array, kind, shown):
    return numpy_helper.from_array(rounded(array, dtype_of(kind, shown)), name)


def _constant_node(tensor):
    return helper.make_node("Constant", [], [tensor.name], value=tensor)


def _make_node(node, shown):
    attributes = {}
    for key, value in node.attributes.items():
        if isinstance(value, Graph):
            value = _subgraph(value, key, shown)
        elif isinstance(value, str) and value.startswith("kind:"):
            value = int(number_of(value[5:], shown))
        attributes[key] = value
    return helper.make_node(node.op, node.inputs, node.outputs, name=node.outputs[0] or node.op, **attributes)


def _subgraph(graph, name, shown):
    info = lambda n: helper.make_tensor_value_info(
        n, number_of(graph.values[n].kind, shown), list(graph.values[n].shape)
    )
    return helper.make_graph(
        [_make_node(node, shown) for node in graph.nodes],
        name,
        [info(n) for n in graph.inputs],
        [info(n) for n in graph.outputs],
        [as_tensor(n, materialize(s, shown), s.kind, shown) for n, s in graph.constants.items()],
    )


def _plain(attributes):
    return {key: {"graph": v.to_json()} if isinstance(v, Graph) else v for key, v in attributes.items()}


def _built(attributes):
    return {key: Graph.from_json(v["graph"]) if isinstance(v, dict) else v for key, v in attributes.items()}
