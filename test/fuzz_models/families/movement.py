"""What only moves: reshapes, permutations, slices with every step, splits, concatenations, tiles, expansions."""

import math

from ..maker import Unfit, block


def factored(m, count, parts):
    """A shape of so many elements."""
    shape, left = [], count
    for _ in range(parts - 1):
        divisors = [d for d in range(1, min(left, 64) + 1) if left % d == 0] or [1]
        shape.append(m.d.choice(divisors))
        left //= shape[-1]
    return [*shape, left]


@block("Reshape", weight=6)
def reshape(m):
    x = m.pick((1, 2, 3, 4))
    if not x.size:
        raise Unfit("nothing")
    m.keep(m.reshape(x, factored(m, x.size, 1 + m.d.index(5))))


@block("Transpose", weight=6)
def transpose(m):
    x = m.pick((2, 3, 4, 5))
    m.keep(m.transpose(x, m.d.permutation(x.rank)))


@block("Slice", weight=6)
def slices(m):
    x = m.pick((1, 2, 3, 4))
    axis = m.d.index(x.rank)
    extent = x.shape[axis]
    start = m.d.index(extent)
    end = start + 1 + m.d.index(extent - start)
    step = m.d.choice([1, 2, 3], [5, 2, 1])
    if m.d.chance(4):
        start, end, step = end - 1, start - extent - 1, -step
    elif m.d.chance(3) and start:
        start -= extent
        end = 2**63 - 1 if end == extent else end - extent
    m.keep(m.sliced(x, axis, start, end, step))


@block("Split", "Concat", weight=5)
def split_and_join(m):
    x = m.pick((1, 2, 3, 4))
    axis = m.d.index(x.rank)
    extent = x.shape[axis]
    if extent < 2:
        raise Unfit("nothing to split")
    first = 1 + m.d.index(extent - 1)
    parts = m.split(x, axis, [first, extent - first])
    m.keep(*parts)
    if m.d.flag():
        changed = [m.activated(parts[0]), parts[1]] if m.d.flag() else parts[::-1]
        m.keep(m.concat(changed, axis))


@block("Concat", weight=6)
def concatenation(m):
    x = m.pick((1, 2, 3, 4))
    axis = m.d.index(x.rank)
    parts = [x]
    for _ in range(1 + m.d.choice([1, 0, 2, 6], [4, 4, 2, 1])):
        shape = tuple(m.size(16) if a == axis else e for a, e in enumerate(x.shape))
        same = [v for v in m.pool if v.kind == "float" and v.rank == x.rank
                and all(a == axis or e == f for a, (e, f) in enumerate(zip(v.shape, x.shape)))]
        parts.append(m.d.choice(same) if same and m.d.flag() else m.g.weight(shape) if m.d.flag() else m.input(shape))
    if m.d.flag():
        parts.append(parts.pop(0))
    if sum(p.size for p in parts) > 2 * m.elements:
        raise Unfit("too large")
    m.keep(m.concat(parts, axis))


@block("Squeeze", "Unsqueeze", weight=4)
def ones(m):
    x = m.pick((1, 2, 3))
    axes = sorted({m.d.index(x.rank + 1), m.d.index(x.rank + 1)})
    y = m.unsqueeze(x, axes)
    m.keep(y)
    if m.d.flag():
        m.keep(m.squeeze(m.activated(y), axes))


@block("Expand", "Tile", weight=4)
def repetition(m):
    x = m.pick((1, 2, 3))
    if m.d.flag():
        m.keep(m.expand(m.unsqueeze(x, [0]), (m.size(8), *x.shape)))
        return
    times = [m.d.choice([1, 2, 3]) for _ in x.shape]
    if x.size * math.prod(times) > m.elements:
        raise Unfit("too large")
    shape = [e * t for e, t in zip(x.shape, times)]
    m.keep(m.g.node("Tile", [x, m.g.ints(times)], shape, exact=True))


@block("Flatten", weight=3)
def flatten(m):
    x = m.pick((1, 2, 3, 4))
    axis = m.d.index(x.rank + 1)
    shape = (math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
    m.keep(m.g.node("Flatten", [x], shape, exact=True, axis=axis))


@block("Shape", "Gather", "Concat", "Reshape", "Unsqueeze", "shape arithmetic", weight=4)
def dynamic_reshape(m):
    """x.view(x.size(0), -1), as a tracer writes it."""
    x = m.pick((2, 3, 4))
    if not x.size:
        raise Unfit("nothing")
    shape = m.g.node("Shape", [x], (x.rank,), "int64", exact=True)
    first = m.gather(shape, m.g.scalar(0, "int64"), 0)
    parts = [m.unsqueeze(first, [0]), m.g.ints([-1])]
    target = m.concat(parts, 0)
    m.keep(m.g.node("Reshape", [x, target], (x.shape[0], math.prod(x.shape[1:])), exact=True))


@block("Slice", "Concat", "focus", weight=2)
def interleaved_slices(m):
    """Every second row and column, beside each other: how detectors halve an image."""
    x = m.input((1, m.size(4), 2 * m.size(8), 2 * m.size(8)))
    parts = []
    for row in (0, 1):
        for column in (0, 1):
            part = m.sliced(x, 2, row, 2**63 - 1, 2)
            parts.append(m.sliced(part, 3, column, 2**63 - 1, 2))
    m.keep(m.concat(parts, 1))


@block("CenterCropPad", opset=18, weight=3)
def center(m):
    x = m.pick((1, 2, 3, 4))
    axes = [a for a in range(x.rank) if m.d.flag()] or [x.rank - 1]
    shape = [m.size(33) if a in axes else e for a, e in enumerate(x.shape)]
    if math.prod(shape) > m.elements:
        raise Unfit("too large")
    attributes = {"axes": [a - x.rank * m.d.index(2) for a in axes]} if len(axes) < x.rank or m.d.flag() else {}
    extents = m.g.ints([shape[a] for a in axes])
    m.keep(m.g.node("CenterCropPad", [x, extents], shape, exact=True, **attributes))


def sequence(m, op, inputs, **attributes):
    return m.g.node(op, inputs, (), "sequence", exact=True, **attributes)


@block("SplitToSequence", "SequenceErase", "SequenceInsert", "SequenceAt", "SequenceLength", "ConcatFromSequence", weight=3)
def parts_in_a_sequence(m):
    """A tensor is split, parts change their places, and are joined again."""
    x = m.pick((1, 2, 3, 4))
    axis = m.d.index(x.rank)
    size = m.d.choice([1, 2, 3])
    count = -(-x.shape[axis] // size)
    if not 0 < count <= 12:
        raise Unfit("no parts, or too many")
    extents = [min(size, x.shape[axis] - k * size) for k in range(count)]
    splits = m.g.scalar(size, "int64") if m.d.flag() else m.g.ints(extents)
    parts = sequence(m, "SplitToSequence", [x, splits], axis=axis - x.rank * m.d.index(2))
    part_of = lambda extent: tuple(extent if a == axis else e for a, e in enumerate(x.shape))
    place = m.d.index(count)
    at = m.g.scalar(place - count * m.d.index(2), "int64")
    part = m.g.node("SequenceAt", [parts, at], part_of(extents[place]), x.kind, exact=True)
    m.keep(part)
    if m.d.flag() and count > 1:
        parts = sequence(m, "SequenceErase", [parts, at] if m.d.flag() else [parts])
        extents.pop(place if m.g.nodes[-1].inputs[1:] else -1)
    if m.d.flag():
        parts = sequence(m, "SequenceInsert", [parts, part, m.g.scalar(0, "int64")] if m.d.flag() else [parts, part])
        extents.append(part.shape[axis])
    if m.d.flag():
        m.keep(m.g.node("SequenceLength", [parts], (), "int64", exact=True))
    m.keep(m.g.node("ConcatFromSequence", [parts], part_of(sum(extents)), x.kind, exact=True, axis=axis))


@block("SequenceEmpty", "SequenceConstruct", "SequenceInsert", "SequenceAt", "ConcatFromSequence", weight=2)
def tensors_in_a_sequence(m):
    shape = m.shape(m.d.index(4))
    tensors = [m.input(shape) for _ in range(m.d.choice([1, 2, 3]))]
    if m.d.flag():
        all_of_them = sequence(m, "SequenceConstruct", tensors)
    else:
        all_of_them = sequence(m, "SequenceEmpty", [], dtype="kind:float")
        for x in tensors:
            all_of_them = sequence(m, "SequenceInsert", [all_of_them, x])
    axis = m.d.index(len(shape) + 1)
    stacked = (*shape[:axis], len(tensors), *shape[axis:])
    m.keep(m.g.node("ConcatFromSequence", [all_of_them], stacked, exact=True, axis=axis, new_axis=1))
    last = m.g.scalar(-1, "int64")
    m.keep(m.g.node("SequenceAt", [all_of_them, last], shape, exact=True))
