"""Reads and writes by index: embeddings, gathers of every kind, scatters, padding, triangles, one-hot rows, what a
condition chooses, and sequences whose lengths and places are data."""

import math

from ..maker import Unfit, block
from ..recipes import evaluate


def some_indices(m, shape, below, negative=False):
    m.g._count += 1
    low = -below if negative else 0
    return f"integers({m.g._count}, {low}, {below}{''.join(f', {e}' for e in shape)})"


@block("Gather", "embedding", weight=6)
def embedding(m):
    rows, width = m.d.choice([16, 7, 33, 100, 500]), m.d.choice([8, 1, 7, 16, 33])
    table = m.g.weight((rows, width))
    shape = (m.d.choice([1, 2]), m.length())
    indices = m.input(shape, m.d.choice(["int64", "int32"]), some_indices(m, shape, rows))
    y = m.gather(table, indices, 0)
    if m.d.flag():
        y = m.add(y, m.g.weight((1, *y.shape[1:])))
    m.keep(y)


@block("Gather", weight=4)
def gather(m):
    x = m.pick((1, 2, 3, 4))
    axis = m.d.index(x.rank)
    shape = m.shape(m.d.index(3))
    if math.prod(x.shape) // x.shape[axis] * math.prod(shape) > m.elements:
        raise Unfit("too large")
    recipe = some_indices(m, shape, x.shape[axis], m.d.flag())
    indices = m.input(shape, "int64", recipe) if m.d.flag() else m.g.constant(recipe, shape, "int64")
    m.keep(m.gather(x, indices, axis))


@block("GatherElements", weight=3)
def gather_elements(m):
    x = m.pick((1, 2, 3))
    axis = m.d.index(x.rank)
    shape = tuple(m.size(8) if a == axis else e for a, e in enumerate(x.shape))
    indices = m.input(shape, "int64", some_indices(m, shape, x.shape[axis], m.d.flag()))
    m.keep(m.g.node("GatherElements", [x, indices], shape, exact=True, axis=axis))


@block("GatherND", weight=3)
def gather_nd(m):
    x = m.pick((2, 3))
    depth = 1 + m.d.index(x.rank)
    count = m.size(16)
    m.g._count += 1
    columns = ", ".join(f"integers({m.g._count} + {a}, 0, {x.shape[a]}, {count})" for a in range(depth))
    indices = m.input((count, depth), "int64", f"stacked({columns}).T")
    m.keep(m.g.node("GatherND", [x, indices], (count, *x.shape[depth:]), exact=True))


@block("ScatterElements", weight=3)
def scatter_elements(m):
    x = m.pick((1, 2, 3))
    axis = m.d.index(x.rank)
    shape = tuple(1 + m.d.index(min(e, 8)) if a == axis else e for a, e in enumerate(x.shape))
    # No two of a row go to the same place.
    m.g._count += 1
    first = shape[axis]
    spread = ["1"] * x.rank
    spread[axis] = str(first)
    recipe = f"shuffled({m.g._count}, {x.shape[axis]})[:{first}].reshape({', '.join(spread)}) + np.zeros({shape})"
    indices = m.input(shape, "int64", recipe)
    updates = m.input(shape)
    attributes = {"axis": axis}
    if m.opset >= 16 and m.d.flag():
        attributes["reduction"] = m.d.choice(["add", "mul"] + (["max", "min"] if m.opset >= 18 else []))
    m.keep(m.g.node("ScatterElements", [x, indices, updates], x.shape, bound=x.bound + 2.0, **attributes))


@block("ScatterND", weight=3)
def scatter_nd(m):
    x = m.pick((2, 3))
    count = 1 + m.d.index(min(x.shape[0], 8))
    m.g._count += 1
    indices = m.input((count, 1), "int64", f"shuffled({m.g._count}, {x.shape[0]})[:{count}].reshape({count}, 1)")
    updates = m.input((count, *x.shape[1:]))
    attributes = {}
    if m.opset >= 16 and m.d.flag():
        attributes["reduction"] = m.d.choice(["add", "mul"] + (["max", "min"] if m.opset >= 18 else []))
    m.keep(m.g.node("ScatterND", [x, indices, updates], x.shape, bound=x.bound + 2.0, **attributes))


@block("Scatter", opset=9, last=9, weight=30)
def scatter(m):
    x = m.input((m.size(8), m.size(8)))
    m.g._count += 1
    count = 1 + m.d.index(x.shape[0])
    shape = (count, x.shape[1])
    recipe = f"shuffled({m.g._count}, {x.shape[0]})[:{count}].reshape({count}, 1) + np.zeros({shape})"
    m.keep(m.g.node("Scatter", [x, m.input(shape, "int64", recipe), m.input(shape)], x.shape, exact=False, axis=0))


@block("Pad", weight=4)
def pad(m):
    x = m.pick((1, 2, 3, 4))
    mode = m.d.choice(["constant", "reflect", "edge"])
    most = [3 if mode != "reflect" else min(3, e - 1) for e in x.shape]
    pads = [min(m.d.choice([0, 1, 2, 3]), most[i % x.rank]) for i in range(2 * x.rank)]
    if mode == "constant" and m.d.chance(4):
        axis = m.d.index(x.rank)
        pads[axis] = -min(1, x.shape[axis] - 1)
    shape = tuple(e + pads[i] + pads[i + x.rank] for i, e in enumerate(x.shape))
    inputs = [x, m.g.ints(pads)]
    if mode == "constant" and m.d.flag():
        inputs.append(m.g.scalar(m.d.choice([0.0, 0.5, -1.0])))
    m.keep(m.g.node("Pad", inputs, shape, exact=True, mode=mode))


@block("Trilu", opset=14, weight=3)
def triangle(m):
    x = m.pick((2, 3))
    inputs = [x] + ([m.g.scalar(m.d.choice([0, 1, -1, 3, -5]), "int64")] if m.d.flag() else [])
    m.keep(m.g.node("Trilu", inputs, x.shape, exact=True, upper=m.d.index(2)))


@block("Equal", "Cast", "MatMul", "one hot", weight=2)
def one_hot(m):
    rows, classes = m.length(), m.size()
    labels = m.input((rows, 1), "int64", some_indices(m, (rows, 1), classes))
    numbers = m.g.ints(range(classes))
    hot = m.g.node("Equal", [labels, numbers], (rows, classes), "bool", exact=True)
    hot = m.g.node("Cast", [hot], (rows, classes), exact=True, to="kind:float", bound=1.0)
    m.keep(m.dense(hot, m.size()))


@block("OneHot", weight=3)
def one_hot_of_depth(m):
    shape, depth = m.shape(m.d.choice([1, 2])), m.size(16)
    if math.prod(shape) * depth > m.elements:
        raise Unfit("too large")
    axis = m.d.index(len(shape) + 1)
    m.g._count += 1
    # What is outside is off everywhere.
    recipe = f"integers({m.g._count}, {-depth - 2}, {depth + 2}{''.join(f', {e}' for e in shape)})"
    indices = m.input(shape, "int64", recipe)
    values = m.g.constant("values([0.25, 1.5], 2)", (2,)) if m.d.flag() else m.input((2,))
    result = (*shape[:axis], depth, *shape[axis:])
    axis -= (len(shape) + 1) * m.d.index(2)
    m.keep(m.g.node("OneHot", [indices, m.g.scalar(depth, "int64"), values], result, exact=True, bound=1.75, axis=axis))


@block("Compress", weight=3)
def compress(m):
    x = m.pick((1, 2, 3))
    axis = m.d.index(x.rank + 1)
    extent = x.shape[axis] if axis < x.rank else x.size
    length = max(1, extent - m.d.choice([0, 1, extent // 2]))
    m.g._count += 1
    recipe = f"some({m.g._count}, 0.5, {length})"
    count = int(evaluate(recipe).sum())
    if not count or length > extent:
        raise Unfit("nothing is chosen")
    condition = m.g.constant(recipe, (length,), "bool")
    if axis == x.rank:
        m.keep(m.g.node("Compress", [x, condition], (count,), exact=True))
        return
    shape = tuple(count if a == axis else e for a, e in enumerate(x.shape))
    m.keep(m.g.node("Compress", [x, condition], shape, exact=True, axis=axis))


@block("ReverseSequence", weight=3)
def reverse_sequence(m):
    x = m.pick((2, 3, 4))
    time = m.d.index(2)
    batch = x.shape[1 - time]
    lengths = m.input((batch,), "int64", some_indices(m, (batch,), x.shape[time] + 1))
    m.keep(m.g.node("ReverseSequence", [x, lengths], x.shape, exact=True, time_axis=time, batch_axis=1 - time))


@block("TensorScatter", opset=24, weight=20)
def cache_update(m):
    x = m.pick((2, 3, 4))
    axis = 1 + m.d.index(x.rank - 1)
    extent = x.shape[axis]
    count = 1 + m.d.index(min(extent, 8))
    update = m.input(tuple(count if a == axis else e for a, e in enumerate(x.shape)))
    mode = m.d.choice(["linear", "circular"])
    inputs = [x, update]
    if m.d.chance(4):
        below = extent - count + 1 if mode == "linear" else 3 * extent
        inputs.append(m.input(x.shape[:1], "int64", some_indices(m, x.shape[:1], below)))
    m.keep(m.g.node("TensorScatter", inputs, x.shape, exact=True, axis=axis - x.rank * m.d.index(2), mode=mode))


@block("Gather", "Slice", "sequence end", weight=2)
def last_token(m):
    x = m.pick(3)
    way = m.d.index(3)
    if way == 0:
        m.keep(m.gather(x, m.g.scalar(-1, "int64"), 1))
    elif way == 1:
        m.keep(m.squeeze(m.sliced(x, 1, -1, 2**63 - 1), [1]))
    else:
        m.keep(m.sliced(x, 1, -1, -(2**63), -1))
