"""Normalizations, as operators and written out, with scale and shift in every place."""

import math

from ..maker import Unfit, block

EPSILONS = [1e-5, 1e-6, 1e-3]


def scale(m, shape):
    """Around 1."""
    m.g._count += 1
    return m.g.constant(f"uniform({m.g._count}, 0.5, 1.5{''.join(f', {e}' for e in shape)})", shape, bound=1.5)


def centred(m, x, axes):
    mean = m.reduce("ReduceMean", x, axes, bound=x.bound)
    return m.binary("Sub", x, mean, bound=x.bound)


def divided_by_deviation(m, difference, axes):
    """x / sqrt(mean(x^2) + eps), in the ways that exporters write it."""
    way = m.d.index(3)
    square = m.mul(difference, difference) if way == 0 else m.binary("Pow", difference, m.g.scalar(2.0), bound=difference.bound**2)
    if difference.kind == "wide" and way:
        raise Unfit("exponents are of the same type")
    variance = m.reduce("ReduceMean", square, axes, bound=square.bound)
    epsilon = m.g.constant(f"full({m.d.choice(EPSILONS)})", (), variance.kind)
    deviation = m.unary("Sqrt", m.binary("Add", variance, epsilon), bound=1.0)
    if way == 2:
        return m.binary("Mul", difference, m.unary("Reciprocal", deviation, bound=2.0), bound=3.0)
    return m.binary("Div", difference, deviation, bound=3.0)


def varied(v):
    """Whether a normalization over the last dimension has something to divide by."""
    return v.rank >= 2 and v.shape[-1] >= 3 and v.size


def tokens(m):
    if m.d.flag():
        return m.input((m.d.choice([1, 2]), m.length(), m.d.choice([4, 7, 8, 16, 31, 33, 64])))
    return m.tamed(m.pick((2, 3, 4), test=varied), 4.0)


@block("LayerNormalization", opset=17, weight=5)
def layer_normalization(m):
    x = tokens(m)
    axis = m.d.choice([-1, x.rank - 1, x.rank - 2])
    shape = x.shape[axis:]
    if math.prod(shape) < 3:
        raise Unfit("nothing to normalize")
    inputs = [x, scale(m, shape)] + ([m.g.weight(shape)] if m.d.flag() else [])
    attributes = {"axis": axis, "epsilon": m.d.choice(EPSILONS)}
    m.keep(m.g.node("LayerNormalization", inputs, x.shape, bound=4.0, **attributes))


@block("ReduceMean", "Sub", "Pow", "Sqrt", "Div", "written-out layer normalization", weight=6)
def layer_normalization_written_out(m):
    x = tokens(m)
    axes = [x.rank - 1] if m.opset >= 18 or m.d.flag() else [-1]
    axes = [x.rank - 1]
    wide = m.d.chance(3)
    if wide:
        # Models of 16 bits normalize in f32.
        m.g.idioms.append("normalization in f32")
        x = m.g.node("Cast", [x], x.shape, "wide", exact=False, to="kind:wide")
    try:
        y = divided_by_deviation(m, centred(m, x, axes), axes)
    except Unfit:
        y = centred(m, x, axes)
    if wide:
        y = m.g.node("Cast", [y], y.shape, "float", exact=False, to="kind:float")
    y = m.mul(y, scale(m, x.shape[-1:]))
    m.keep(m.add(y, m.g.weight(x.shape[-1:])) if m.d.flag() else y)


@block("RMSNormalization", opset=23, weight=4)
def rms_normalization(m):
    x = tokens(m)
    m.keep(m.g.node("RMSNormalization", [x, scale(m, x.shape[-1:])], x.shape, bound=4.0, axis=-1, epsilon=1e-5))


@block("ReduceMean", "Mul", "written-out RMS normalization", weight=5)
def rms_normalization_written_out(m):
    x = tokens(m)
    y = divided_by_deviation(m, x, [x.rank - 1])
    m.keep(m.mul(scale(m, x.shape[-1:]), y) if m.d.flag() else m.mul(y, scale(m, x.shape[-1:])))


def image(m, channels=None):
    if channels is None and m.d.flag():
        return m.tamed(m.pick(4, test=lambda v: v.size and v.shape[2] * v.shape[3] >= 3), 4.0)
    side = m.d.choice([4, 3, 7, 8, 16, 31])
    return m.input((m.d.choice([1, 2]), channels or m.size(16), side, m.d.choice([side, 5])))


@block("InstanceNormalization", weight=4)
def instance_normalization(m):
    x = image(m)
    channels = x.shape[1]
    inputs = [x, scale(m, (channels,)), m.g.weight((channels,))]
    m.keep(m.g.node("InstanceNormalization", inputs, x.shape, bound=4.0, epsilon=m.d.choice(EPSILONS)))


@block("InstanceNormalization", "Reshape", "group normalization by instance", weight=4)
def group_normalization_by_instance(m):
    """What torch's exporter makes of GroupNorm."""
    groups, each = m.d.choice([1, 2, 4, 3]), m.d.choice([1, 2, 4, 5])
    x = image(m, groups * each)
    flat = m.reshape(x, (x.shape[0], groups, math.prod(x.shape[1:]) // groups))
    y = m.g.node("InstanceNormalization", [flat, m.g.constant(f"full(1.0, {groups})", (groups,)),
                                          m.g.constant(f"full(0.0, {groups})", (groups,))], flat.shape, bound=4.0)
    y = m.reshape(y, x.shape)
    shape = (x.shape[1], 1, 1)
    m.keep(m.add(m.mul(y, scale(m, shape)), m.g.weight(shape)))


@block("GroupNormalization", opset=18, weight=3)
def group_normalization(m):
    groups, each = m.d.choice([1, 2, 4, 3]), m.d.choice([1, 2, 4, 5])
    x = image(m, groups * each)
    shape = (x.shape[1],) if m.opset >= 21 else (groups,)
    inputs = [x, scale(m, shape), m.g.weight(shape)]
    m.keep(m.g.node("GroupNormalization", inputs, x.shape, bound=4.0, num_groups=groups))


@block("BatchNormalization", weight=5)
def batch_normalization(m):
    x = m.tamed(m.pick((2, 3, 4), test=lambda v: v.size), 4.0)
    channels = (x.shape[1],)
    inputs = [x, scale(m, channels), m.g.weight(channels), m.g.weight(channels), scale(m, channels)]
    m.keep(m.g.node("BatchNormalization", inputs, x.shape, bound=4.0, epsilon=m.d.choice(EPSILONS)))


@block("MeanVarianceNormalization", weight=2)
def mean_variance_normalization(m):
    x = image(m)
    m.keep(m.g.node("MeanVarianceNormalization", [x], x.shape, bound=4.0, axes=m.d.choice([[0, 2, 3], [2, 3]])))


@block("LpNormalization", weight=2)
def lp_normalization(m):
    x = tokens(m)
    m.keep(m.g.node("LpNormalization", [x], x.shape, bound=1.0, axis=m.d.choice([-1, x.rank - 1]), p=m.d.choice([2, 1])))


@block("ReduceL2", "Div", "Clip", "written-out L2 normalization", weight=3)
def l2_normalization_written_out(m):
    x = tokens(m)
    norm = m.reduce("ReduceL2", x, [x.rank - 1], bound=2.0)
    norm = m.g.node("Clip", [norm, m.g.scalar(1e-3)], norm.shape)
    m.keep(m.binary("Div", x, m.expand(norm, x.shape) if m.d.flag() else norm, bound=1.0))


@block("LRN", weight=2)
def lrn(m):
    x = image(m)
    size = m.d.choice([3, 1, 5])
    m.keep(m.g.node("LRN", [x], x.shape, bound=x.bound, size=size, alpha=0.1, beta=0.75, bias=1.0))


@block("Softmax", "LogSoftmax", "ReduceMax", "Exp", "ReduceSum", "written-out softmax", weight=5)
def softmax_everywhere(m):
    x = m.tamed(m.pick((1, 2, 3, 4)), 8.0)
    axis = m.d.index(x.rank)
    way = m.d.index(3)
    if way == 2:
        shifted = m.binary("Sub", x, m.reduce("ReduceMax", x, [axis], exact=True), bound=8.0)
        powers = m.unary("Exp", shifted, bound=1.0)
        m.keep(m.binary("Div", powers, m.reduce("ReduceSum", powers, [axis], bound=4.0), bound=1.0))
    else:
        op = ["Softmax", "LogSoftmax"][way]
        m.keep(m.g.node(op, [x], x.shape, bound=[1.0, 8.0][way], axis=axis))


@block("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "residual", weight=3)
def normalized_residual(m):
    """What exporters make of the ends of residual connections, with the sum for the next one."""
    x = m.input((m.d.choice([1, 2]), m.length(), m.d.choice([8, 16, 33, 64])))
    width = x.shape[-1:]
    skip = m.input(m.d.choice([x.shape, x.shape, (1, *x.shape[1:]), x.shape[1:]]))
    simplified = m.d.flag()
    vectors = [scale(m, width)]
    if not simplified:
        vectors.append(m.g.weight(width) if m.d.flag() else None)
    if m.d.flag():
        vectors.append(m.g.weight(width))
    while vectors[-1] is None:
        vectors.pop()
    op = "SkipSimplifiedLayerNormalization" if simplified else "SkipLayerNormalization"
    outputs = [(x.shape, "float")] + ([None, None, (x.shape, "float")] if m.d.flag() else [])
    attributes = {"epsilon": m.d.choice([1e-5, 1e-3]), "domain": "com.microsoft"}
    made = m.g.node(op, [x, skip, *vectors], None, outputs=outputs, bound=4.0, **attributes)
    m.keep(*(value for value in made if value))
