"""Results whose size the data decide. What is made of them keeps their elements apart, and they end the model: no other
generator knows how many there are. (This one does: it looks at the data, as the tables of a graph need shapes.)"""

import math

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from ..maker import Unfit, block
from ..recipes import evaluate
from .control import body


def some_of(m, *shape):
    """Booleans as an input, and as an array."""
    m.g._count += 1
    recipe = f"some({m.g._count}, {m.d.choice([0.5, 0.1, 0.9])}{''.join(f', {e}' for e in shape)})"
    return m.g.input(shape, "bool", recipe), evaluate(recipe).reshape(shape)


def followed(m, x):
    """Rows [found, columns], or one number each."""
    for _ in range(m.d.index(3)):
        way = m.d.index(4)
        if way == 0:
            x = m.unary(m.d.choice(["Relu", "Neg", "Abs"]), x, exact=x.exact)
        elif way == 1 and x.rank == 2:
            x = m.transpose(m.transpose(x, [1, 0]), [1, 0])
        elif way == 2 and x.rank == 2 and x.shape[1]:
            x = m.dense(m.tamed(x, 2.0), m.size(16))
        elif way == 3:
            x = m.binary("Mul", x, m.g.scalar(0.5), exact=x.exact, bound=x.bound)
    if x.rank == 2 and m.d.chance(3):
        x = m.reduce("ReduceMax", x, [1], m.d.flag(), exact=x.exact)
    m.end(x)


@block("NonZero", "Transpose", "GatherND", "masked elements", weight=3)
def masked_elements(m):
    x = m.pick((1, 2, 3), test=lambda v: v.size > 0) if m.pool and m.d.flag() else m.input(m.shape(m.d.choice([1, 2, 3])))
    if not x.size:
        raise Unfit("nothing")
    mask, array = some_of(m, *x.shape)
    found = int(array.sum())
    where = m.g.node("NonZero", [mask], (x.rank, found), "int64", exact=True)
    places = m.transpose(where, [1, 0])
    if m.d.flag():
        m.end(where)
    followed(m, m.g.node("GatherND", [x, places], (found,), exact=True))


@block("NonZero", "Squeeze", "Gather", "rows by a mask", weight=3)
def masked_rows(m):
    x = m.input((m.size(), m.size()))
    mask, array = some_of(m, x.shape[0])
    found = int(array.sum())
    rows = m.squeeze(m.g.node("NonZero", [mask], (1, found), "int64", exact=True), [0])
    followed(m, m.gather(x, rows, 0))


@block("NonZero", "Shape", "Range", "ConstantOfShape", "EyeLike", "sizes by a mask", weight=3)
def sized_by_a_mask(m):
    """Values that look at no element: the number of those that are found shapes them."""
    mask, array = some_of(m, m.size())
    found = int(array.sum())
    where = m.g.node("NonZero", [mask], (1, found), "int64", exact=True)
    sizes = m.g.node("Shape", [where], (2,), "int64", exact=True)
    size = m.sliced(sizes, 0, 1, 2)
    columns = m.size(16)
    wanted = lambda *parts: m.g.node("Concat", list(parts), (len(parts),), "int64", exact=True, axis=0)
    way = m.d.index(6)
    if way == 0:
        bounds = [m.g.scalar(0, "int64"), m.squeeze(size, [0]), m.g.scalar(1, "int64")]
        m.end(m.g.node("Range", bounds, (found,), "int64", exact=True))
    elif way == 1:
        rows = m.g.node("Expand", [m.input((1, columns)), wanted(size, m.g.ints([columns]))], (found, columns), exact=True)
        followed(m, rows)
    elif way == 2:
        m.end(m.g.node("ConstantOfShape", [wanted(size, m.g.ints([columns]))], (found, columns), "wide", exact=True, bound=1.0))
    elif way == 3:
        square = m.g.node("ConstantOfShape", [wanted(size, size)], (found, found), "wide", exact=True, bound=1.0)
        m.end(m.g.node("EyeLike", [square], (found, found), exact=True, bound=1.0, dtype="kind:float"))
    elif way == 4:
        if array.size == 1:
            raise Unfit("of one row the first so many are all, but for none")
        x = m.input((array.size, columns))
        followed(m, m.g.node("Slice", [x, m.g.ints([0]), size, m.g.ints([0])], (found, columns), exact=True))
    else:
        column = m.transpose(where, [1, 0])
        bounds = [m.g.scalar(0, "int64"), m.squeeze(size, [0]), m.g.scalar(1, "int64")]
        line = m.unsqueeze(m.g.node("Range", bounds, (found,), "int64", exact=True), [0])
        m.end(m.g.node("Add", [column, line], (found, found), "int64", exact=True))


@block("Compress", "compress by data", weight=3)
def compress_by_data(m):
    x = m.pick((1, 2), test=lambda v: v.size > 0) if m.pool and m.d.flag() else m.input(m.shape(2))
    axis = m.d.index(x.rank + 1)
    extent = x.shape[axis] if axis < x.rank else x.size
    condition, array = some_of(m, max(1, extent - m.d.index(2)))
    if array.size > extent:
        raise Unfit("nothing to choose from")
    found = int(array.sum())
    shape = (found,) if axis == x.rank else tuple(found if a == axis else e for a, e in enumerate(x.shape))
    attributes = {} if axis == x.rank else {"axis": axis}
    y = m.g.node("Compress", [x, condition], shape, exact=True, **attributes)
    if axis == 0:
        followed(m, y)
    else:
        m.end(y)


@block("Unique", weight=3)
def unique(m):
    shape = m.shape(m.d.choice([1, 2, 3]))
    if not math.prod(shape):
        raise Unfit("nothing")
    m.g._count += 1
    recipe = f"integers({m.g._count}, -2, {m.d.choice([0, 3, 9])}{''.join(f', {e}' for e in shape)}) / 2.0"
    x = m.g.input(shape, recipe=recipe, bound=4.0)
    m.g.pin(x)
    axis = m.d.index(len(shape) + 1)
    along = None if axis == len(shape) else axis
    found = np.unique(evaluate(recipe).reshape(shape), axis=along).shape[along or 0]
    size = shape[axis] if along is not None else math.prod(shape)
    values = (found,) if along is None else tuple(found if a == axis else e for a, e in enumerate(shape))
    attributes = {"sorted": m.d.index(2)} | ({} if along is None else {"axis": axis - len(shape) * m.d.index(2)})
    numbers = [((found,), "int64"), ((size,), "int64"), ((found,), "int64")]
    outputs = [(values, "float")] + [each if m.d.flag() else None for each in numbers]
    for made in m.g.node("Unique", [x], None, outputs=outputs, exact=True, **attributes):
        if made is not None:
            m.end(made)


@block("NonMaxSuppression", "Gather", weight=3)
def chosen_boxes(m):
    batches, classes, count = m.d.choice([1, 1, 2]), m.d.choice([1, 2, 5]), m.d.choice([1, 5, 16, 40])
    m.g._count += 2
    # On a grid: no rounding decides whether boxes overlap by more than so much.
    recipes = [f"integers({m.g._count}, 1, 33, {batches}, {count}, 4) / 8.0"]
    recipes.append(f"distinct({m.g._count - 1}, {batches}, {classes}, {count})")
    corners = m.g.input((batches, count, 4), "wide", recipes[0], bound=4.0)
    scores = m.g.input((batches, classes, count), "wide", recipes[1], bound=8.0)
    m.g.pin(corners, scores)
    overlap, center = m.d.choice([0.0, 0.37, 0.77]), m.d.index(2)
    least, most = m.d.choice([None, -0.5, 0.5]), m.d.choice([1, 3, 100])
    limits = [m.g.ints([most]) if m.d.flag() else m.g.input((1,), "int64", f"values([{most}], 1)")]
    limits.append(m.g.scalar(overlap, "wide", (1,)))
    if least is not None:
        limits.append(m.g.scalar(least, "wide", (1,)))
    arrays = [np.float32(evaluate(r)).reshape(v.shape) for r, v in zip(recipes, (corners, scores))]
    arrays += [np.array([most]), np.float32([overlap]), np.float32([-1000 if least is None else least])]
    found = len(chosen_of(arrays, center))
    chosen = m.g.node("NonMaxSuppression", [corners, scores, *limits], (found, 3), "int64", exact=True, center_point_box=center)
    m.end(chosen)
    if batches == 1:
        column = m.gather(chosen, m.g.scalar(2, "int64"), 1)
        m.end(m.gather(corners, column, 1))


def chosen_of(arrays, center):
    """By ONNX's own evaluator."""
    names = [f"x{k}" for k in range(len(arrays))]
    node = helper.make_node("NonMaxSuppression", names, ["y"], center_point_box=center)
    return ReferenceEvaluator(node).run(None, dict(zip(names, arrays)))[0]


@block("Loop", "loop that data end", weight=2)
def loop_that_data_end(m):
    """A state, and what the trips leave behind, of which an input says how many there are."""
    shape = m.shape(m.d.choice([1, 2]))
    most, wanted = m.d.choice([1, 3, 7]), m.d.index(9)
    state, number = m.tamed(m.pick(len(shape)), 1.0), m.g.input((), "int64", f"full({wanted})")
    if state.size > 4096:
        raise Unfit("too large")
    graph = body(m)
    trip, _ = graph.input((), "int64", "full(0)"), graph.input((), "bool", "full(True)")
    inner = graph.input(state.shape)
    graph.values[number.name] = number
    following = graph.node("Add", [trip, graph.constant("full(1)", (), "int64")], (), "int64")
    goes = graph.node("Less", [following, number], (), "bool")
    changed = graph.node("Mul", [inner, graph.constant("full(0.5)", ())], state.shape)
    changed = graph.node("Add", [changed, graph.constant("full(0.25)", ())], state.shape)
    left = graph.node(m.d.choice(["Relu", "Neg"]), [changed], state.shape)
    graph.outputs = [goes.name, changed.name, left.name]
    starts = not m.d.chance(5)
    start = m.g.input((), "bool", f"full({starts})")
    made = min(most, max(1, wanted)) if starts else 0
    last, all_of_them = m.g.node(
        "Loop", [m.g.scalar(most, "int64"), start, state], None,
        outputs=[(state.shape, "float"), ((made, *state.shape), "float")], bound=2.0, body=graph,
    )
    m.keep(last)
    m.end(all_of_them)
