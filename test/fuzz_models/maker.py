"""What generators share: the graph, the decisions, the values made so far, and the operators that every idiom is made of.

A generator takes a Maker, picks values (or makes inputs), adds nodes, and keeps what later ones may use. It is
registered with what it covers; see families/.
"""

import math

import numpy as np

from .graph import IS_FLOAT

ODD = [1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33]
BLOCKS = []


class Unfit(Exception):
    """This model has no place for the idiom; the generator goes on without it."""


class Block:
    def __init__(self, make, covers, opset, weight, last):
        self.make, self.covers, self.opset, self.weight, self.last = make, covers, opset, weight, last
        self.name = make.__name__


def block(*covers, opset=13, weight=4, last=24):
    """Registers a generator: the operators that it makes and the idioms (in lower case) that it writes."""

    def register(make):
        assert make.__name__ not in {made.name for made in BLOCKS}, f"two generators are named {make.__name__}"
        BLOCKS.append(Block(make, covers, opset, weight, last))
        return make

    return register


class Maker:
    def __init__(self, graph, draw, budget, elements):
        self.g, self.d = graph, draw
        self.budget = budget  # Multiply-adds that are left.
        self.elements = elements  # Of one value, at most.
        self.pool = []
        self.ends = []  # Outputs that no generator picks.

    @property
    def opset(self):
        return self.g.opset

    # Sizes and values.

    def size(self, most=33, options=ODD):
        return self.d.choice([s for s in options if s <= most] or [1])

    def length(self):
        """Of a long dimension: mostly small, at times what makes loops have remainders."""
        return self.d.choice([1, 3, 7, 16, 31, 33, 64, 100, 500], [2, 3, 4, 4, 4, 4, 3, 2, 1])

    def shape(self, rank):
        shape, left = [], self.elements
        for _ in range(rank):
            extent = self.size(max(1, min(left, 33)))
            shape.append(extent)
            left //= extent
        return tuple(shape)

    def spend(self, work):
        if work > self.budget:
            raise Unfit(f"{work} operations")
        self.budget -= work
        self.g.work += work

    def keep(self, *values):
        self.pool += values
        return values[0]

    def end(self, value):
        self.ends.append(value)

    def input(self, shape, kind="float", recipe=None, bound=1.75):
        return self.keep(self.g.input(shape, kind, recipe, bound))

    def pick(self, rank=None, kind="float", exact=None, most=None, test=None):
        """A value of the pool, the last first, or a new input."""
        fits = [
            v
            for v in reversed(self.pool)
            if v.kind == kind
            and (rank is None or v.rank in (rank if isinstance(rank, tuple) else (rank,)))
            and (exact is None or v.exact == exact)
            and (most is None or v.size <= most)
            and (test is None or test(v))
        ]
        number = self.d.index(len(fits) + 1, [6 if i == 0 else 2 for i in range(len(fits))] + [1])
        if number < len(fits):
            return fits[number]
        if test is not None:
            raise Unfit("no value of the pool fits")
        rank = self.d.choice(rank) if isinstance(rank, tuple) else self.d.index(5) if rank is None else rank
        return self.input(self.shape(rank), kind, *self.numbers(kind))

    def numbers(self, kind):
        return () if kind in IS_FLOAT else (None,)

    def exact(self, rank=None, most=None):
        """A float value that no rounding made."""
        return self.pick(rank, exact=True, most=most)

    # Operators.

    def unary(self, op, x, exact=False, bound=None, **attributes):
        return self.g.node(op, [x], x.shape, x.kind, exact=exact, bound=bound, **attributes)

    def binary(self, op, a, b, kind=None, exact=False, bound=None):
        shape = np.broadcast_shapes(a.shape, b.shape)
        limit = {"Add": a.bound + b.bound, "Sub": a.bound + b.bound, "Mul": a.bound * b.bound}.get(op)
        return self.g.node(op, [a, b], shape, kind or a.kind, exact=exact, bound=bound or limit)

    def add(self, a, b):
        return self.binary("Add", a, b)

    def mul(self, a, b):
        return self.binary("Mul", a, b)

    def scaled(self, x, factor):
        return self.binary("Mul", x, self.g.scalar(factor), bound=x.bound * abs(factor))

    def tamed(self, x, most=4.0):
        """The value, divided where it is large: for what follows not to overflow."""
        return x if x.bound <= most else self.scaled(x, 2.0 ** math.floor(math.log2(most / x.bound)))

    def reshape(self, x, shape):
        shape = tuple(shape)
        if math.prod(shape) != x.size:
            raise Unfit("another number of elements")
        written = list(shape)
        for axis, extent in enumerate(shape):
            if axis < x.rank and x.shape[axis] == extent and extent and self.d.chance(4):
                written[axis] = 0
        if x.size and self.d.chance(4):
            written[self.d.index(len(written))] = -1
        return self.g.node("Reshape", [x, self.g.ints(written)], shape, x.kind, exact=True)

    def transpose(self, x, order):
        return self.g.node("Transpose", [x], [x.shape[a] for a in order], x.kind, exact=True, perm=list(order))

    def sliced(self, x, axis, start, end, step=1):
        count = len(range(*slice(start, end, step).indices(x.shape[axis])))
        shape = [count if a == axis else e for a, e in enumerate(x.shape)]
        inputs = [x, *(self.g.ints([n]) for n in (start, end, axis))]
        if step != 1:
            inputs.append(self.g.ints([step]))
        return self.g.node("Slice", inputs, shape, x.kind, exact=True)

    def split(self, x, axis, parts):
        shapes = [([p if a == axis else e for a, e in enumerate(x.shape)], x.kind) for p in parts]
        inputs = [x, self.g.ints(parts)]
        return self.g.node("Split", inputs, None, outputs=shapes, exact=True, axis=axis)

    def concat(self, parts, axis):
        shape = list(parts[0].shape)
        shape[axis] = sum(p.shape[axis] for p in parts)
        return self.g.node("Concat", parts, shape, parts[0].kind, exact=True, axis=axis)

    def unsqueeze(self, x, axes):
        shape = list(x.shape)
        for axis in sorted(axes):
            shape.insert(axis, 1)
        return self.g.node("Unsqueeze", [x, self.g.ints(axes)], shape, x.kind, exact=True)

    def squeeze(self, x, axes):
        shape = [e for a, e in enumerate(x.shape) if a not in axes]
        return self.g.node("Squeeze", [x, self.g.ints(axes)], shape, x.kind, exact=True)

    def gather(self, x, indices, axis):
        shape = x.shape[:axis] + indices.shape + x.shape[axis + 1 :]
        return self.g.node("Gather", [x, indices], shape, x.kind, exact=True, axis=axis)

    def expand(self, x, shape):
        return self.g.node("Expand", [x, self.g.ints(shape)], np.broadcast_shapes(x.shape, shape), x.kind, exact=True)

    def matmul(self, a, b):
        terms = a.shape[-1]
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        self.spend(math.prod(batch) * (a.shape[-2] if a.rank > 1 else 1) * terms * b.shape[-1])
        bound = 0.6 * a.bound * b.bound * math.sqrt(max(1, terms))
        return self.g.node("MatMul", [a, b], [*batch, a.shape[-2], b.shape[-1]], bound=bound)

    def dense(self, x, columns, bias=None):
        """A product with a constant and, mostly, a bias."""
        weight = self.g.weight((x.shape[-1], columns), x.shape[-1])
        y = self.matmul(x, weight)
        return self.add(y, self.g.weight((columns,))) if (self.d.flag() if bias is None else bias) else y

    def nonzeros(self, rows, columns):
        """A recipe of booleans [rows, columns]: where a constant is not zero, by patterns that products make use of."""
        seed, parts = self.d.index(1000), self.d.choice([2, 3, 4, 7])
        patterns = [
            f"in_parts({rows}, {columns}, {parts})",
            f"interleaved({rows}, {columns}, {parts})",
            f"selecting({seed}, {rows}, {columns})",
            f"on_line({rows}, {columns}, {self.d.choice([1, 2, -1])}, {self.d.index(columns)})",
            f"banded({rows}, {columns}, {self.d.index(3)})",
            f"padded({rows}, {columns}, {columns // parts})",
            f"some({seed}, 0.06, {rows}, {columns})",
        ]
        pattern = self.d.choice(patterns)
        return f"({pattern} | some({seed}, 0.01, {rows}, {columns}))" if self.d.chance(4) else pattern

    def reduce(self, op, x, axes, keep=True, kind=None, exact=False, bound=None):
        axes = list(axes)
        inner = [1 if a in axes else e for a, e in enumerate(x.shape)]
        shape = inner if keep else [e for a, e in enumerate(x.shape) if a not in axes]
        extra, attributes = [], {"keepdims": int(keep)}
        if self.opset >= 18 or op == "ReduceSum":
            extra = [self.g.ints(axes)]
        else:
            attributes["axes"] = axes
        return self.g.node(op, [x, *extra], shape, kind or x.kind, exact=exact, bound=bound, **attributes)

    def softmax(self, x, axis=-1):
        return self.g.node("Softmax", [x], x.shape, bound=1.0, axis=axis)

    def activated(self, x):
        op = self.d.choice(["Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "Softplus", "HardSigmoid"])
        limit = {"Sigmoid": 1.0, "Tanh": 1.0, "HardSigmoid": 1.0}.get(op, x.bound)
        return self.unary(op, self.tamed(x), bound=limit)
