"""Windows that slide: convolutions of every kind, pools, resizes, and the blocks of vision models; and those of signals."""

import math

from ..maker import Unfit, block
from .normalization import scale


def image(m, rank=4, most=None):
    if m.d.flag():
        fits = lambda v: v.size and min(v.shape[2:]) >= 2 and v.size <= (most or 1 << 15)
        try:
            return m.tamed(m.pick(rank, test=fits), 2.0)
        except Unfit:
            pass
    channels = m.d.choice([3, 1, 4, 8, 7, 16, 32])
    sides = [m.d.choice([7, 8, 5, 14, 16, 31, 33] if rank == 4 else [8, 5, 4]) for _ in range(rank - 2)]
    if rank == 3:
        sides = [max(2, m.length())]
    return m.input((m.d.choice([1, 2]), channels, *sides))


def reach(kernel, dilations):
    return [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]


def convolved(m, x, channels, kernel, *, strides=None, dilations=None, groups=1, pads=None, bias=None, auto=None):
    spatial = x.shape[2:]
    count = len(spatial)
    strides, dilations = strides or [1] * count, dilations or [1] * count
    pads = pads or [0] * (2 * count)
    covered = reach(kernel, dilations)
    attributes = {"kernel_shape": list(kernel), "strides": strides, "dilations": dilations, "group": groups}
    if auto:
        attributes["auto_pad"] = auto
        out = [-(-e // s) if auto.startswith("SAME") else (e - c) // s + 1 for e, s, c in zip(spatial, strides, covered)]
    else:
        attributes["pads"] = pads
        out = [(e + pads[i] + pads[i + count] - c) // s + 1 for i, (e, s, c) in enumerate(zip(spatial, strides, covered))]
    if min(out) < 1:
        raise Unfit("the window is larger than the image")
    terms = x.shape[1] // groups * math.prod(kernel)
    m.spend(x.shape[0] * channels * math.prod(out) * terms)
    shape = (channels, x.shape[1] // groups, *kernel)
    weight = m.g.weight(shape, terms)
    if m.d.chance(8):
        across, bound = m.d.flag(), weight.bound
        where = f"({m.nonzeros(*(shape[-2:] if across else shape[:2]))})"
        where += "" if across else f".reshape({shape[0]}, {shape[1]}{', 1' * count})"
        weight = m.g.constant(f"{where} * {m.g.random(shape, bound)}", shape, bound=bound)
    inputs = [x, weight]
    if m.d.flag() if bias is None else bias:
        inputs.append(m.g.weight((channels,)))
    return m.g.node("Conv", inputs, (x.shape[0], channels, *out), bound=1.5 * x.bound, **attributes)


def any_kernel(m, count):
    same = m.d.choice([3, 1, 5, 7, 2, 4], [6, 4, 2, 1, 1, 1])
    kernel = [same] * count
    if count == 2 and m.d.chance(5):
        kernel = m.d.choice([[1, 3], [3, 1], [1, 7], [5, 3]])
    return kernel


@block("Conv", weight=12)
def convolution(m):
    x = image(m, m.d.choice([4, 3, 5], [8, 2, 1]))
    count = x.rank - 2
    kernel = any_kernel(m, count)
    strides = [m.d.choice([1, 2, 3], [5, 3, 1])] * count
    dilations = [m.d.choice([1, 2, 3], [6, 2, 1])] * count
    groups = m.d.choice([1, x.shape[1], 2, 4], [5, 3, 1, 1])
    if x.shape[1] % groups:
        groups = 1
    channels = groups * m.d.choice([1, 2, 4, 8, 3]) if groups > 1 else m.d.choice([8, 1, 4, 7, 16, 32, 33])
    auto = m.d.choice([None, "SAME_UPPER", "SAME_LOWER", "VALID"], [8, 1, 1, 1])
    if auto and auto != "VALID" and max(dilations) > 1:
        dilations = [1] * count
    around = [r // 2 for r in reach(kernel, dilations)]
    pads = m.d.choice([around * 2, [0] * (2 * count), [0] * count + around, [1] * (2 * count)], [5, 2, 1, 1])
    m.g.idioms += [f"convolution: {'depthwise' if groups == x.shape[1] > 1 else 'grouped' if groups > 1 else 'plain'}"]
    m.g.idioms += ["convolution: dilated"] * (max(dilations) > 1) + ["convolution: strided"] * (max(strides) > 1)
    y = convolved(m, x, channels, kernel, strides=strides, dilations=dilations, groups=groups, pads=pads, auto=auto)
    m.keep(y)
    if m.d.flag():
        m.keep(finished(m, y))


@block("DeformConv", opset=19, weight=3)
def deformable_convolution(m):
    x = image(m, 4, 1 << 11)
    batch, channels, *sides = x.shape
    groups, sharing = (m.d.choice([g for g in (1, 2, channels) if channels % g == 0]) for _ in range(2))
    kernel = [m.d.choice([3, 1, 2]) for _ in sides]
    strides, dilations, pad = [m.d.choice([1, 2], [3, 1])] * 2, [m.d.choice([1, 2], [3, 1])] * 2, m.d.index(3)
    out = [(e + 2 * pad - r) // s + 1 for e, r, s in zip(sides, reach(kernel, dilations), strides)]
    if min(out) < 1:
        raise Unfit("the window is larger than the image")
    taps, columns = math.prod(kernel), groups * m.d.choice([2, 1, 3, 5])
    m.spend(batch * math.prod(out) * taps * channels * (8 + columns // groups))
    inputs = [x, m.g.weight((columns, channels // groups, *kernel), taps * channels // groups)]
    inputs += [m.input((batch, sharing * taps * 2, *out)), m.g.weight((columns,)) if m.d.flag() else None]
    inputs += [m.input((batch, sharing * taps, *out), bound=1.0)] if m.d.flag() else []
    while inputs[-1] is None:
        inputs.pop()
    attributes = {"strides": strides, "dilations": dilations, "pads": [pad] * 4, "group": groups, "offset_group": sharing}
    m.keep(m.g.node("DeformConv", inputs, (batch, columns, *out), bound=1.5 * x.bound, kernel_shape=kernel, **attributes))


@block("CausalConvWithState", opset=27, last=27)
def causal_convolution(m):
    batch, channels, length = m.d.choice([1, 2]), m.size(), m.d.choice([7, 1, 2, 33, 100])
    kernel = m.d.choice([4, 3, 2, 1])
    m.spend(batch * channels * length * kernel)
    x = m.input((batch, channels, length))
    state = (batch, channels, kernel - 1)
    inputs = [x, m.g.weight((channels, 1, kernel), kernel), None, None]
    if m.d.flag():
        inputs[2] = m.g.weight((channels,))
    if kernel > 1 and m.d.flag():
        inputs[3] = m.input(state)
    while inputs[-1] is None:
        inputs.pop()
    activation = m.d.choice(["none", "silu", "swish"])
    outputs = [(x.shape, "float"), (state, "float")]
    y, last = m.g.node("CausalConvWithState", inputs, None, outputs=outputs, bound=3.0, activation=activation)
    m.keep(y, *([last] if kernel > 1 else []))


def finished(m, y):
    """What stands behind a convolution."""
    if m.d.flag():
        channels = (y.shape[1],)
        inputs = [y, scale(m, channels), m.g.weight(channels), m.g.weight(channels), scale(m, channels)]
        y = m.g.node("BatchNormalization", inputs, y.shape)
    return m.activated(y)


@block("ConvTranspose", weight=6)
def transposed_convolution(m):
    x = image(m, m.d.choice([4, 3], [5, 1]), 1 << 12)
    count = x.rank - 2
    kernel = [m.d.choice([2, 3, 4, 1, 5])] * count
    strides = [m.d.choice([2, 1, 3])] * count
    dilations = [m.d.choice([1, 2], [5, 1])] * count
    groups = m.d.choice([1, 2, x.shape[1]], [4, 1, 1])
    if x.shape[1] % groups:
        groups = 1
    each = m.d.choice([4, 1, 2, 7])
    most = min(r for r in reach(kernel, dilations)) - 1
    pad = min(m.d.choice([0, 1, 2]), most)
    extra = m.d.index(min(2, strides[0]))
    out = [(e - 1) * s + r + extra - 2 * pad for e, s, r in zip(x.shape[2:], strides, reach(kernel, dilations))]
    if min(out) < 1:
        raise Unfit("nothing is left")
    terms = x.shape[1] // groups * math.prod(kernel)
    m.spend(x.size * each * math.prod(kernel))
    inputs = [x, m.g.weight((x.shape[1], each, *kernel), terms)] + ([m.g.weight((each * groups,))] if m.d.flag() else [])
    attributes = {"strides": strides, "dilations": dilations, "pads": [pad] * (2 * count), "group": groups}
    if extra:
        attributes["output_padding"] = [extra] * count
    m.keep(m.g.node("ConvTranspose", inputs, (x.shape[0], each * groups, *out), bound=3.0, **attributes))


@block("MaxPool", "AveragePool", "LpPool", weight=6)
def pool(m):
    x = image(m, m.d.choice([4, 3, 5], [5, 1, 1]))
    count = x.rank - 2
    op = m.d.choice(["MaxPool", "AveragePool", "LpPool"], [4, 4, 1])
    side = m.d.choice([2, 3, 1, 5])
    stride = m.d.choice([side, 1, 2])
    pad = m.d.choice([0, min(1, side // 2)])
    ceil = m.d.index(2) if op != "LpPool" else 0
    attributes = {"kernel_shape": [side] * count, "strides": [stride] * count, "pads": [pad] * (2 * count)}
    if ceil:
        attributes["ceil_mode"] = 1
    if op == "AveragePool" and m.d.flag():
        attributes["count_include_pad"] = 1
    if op == "LpPool":
        attributes["p"] = m.d.choice([2, 1])
    out = []
    for extent in x.shape[2:]:
        free = extent + 2 * pad - side
        number = free // stride + 1
        if ceil and free % stride:
            number = -(-free // stride) + 1
            if (number - 1) * stride >= extent + pad:
                number -= 1
        out.append(number)
    if min(out) < 1:
        raise Unfit("the window is larger than the image")
    shape = (*x.shape[:2], *out)
    m.keep(m.g.node(op, [x], shape, exact=op == "MaxPool", **attributes))


@block("MaxPool", "indices of a pool", weight=1)
def pool_with_indices(m):
    x = m.input((1, 2, 8, 8), recipe=f"distinct({m.d.index(9)}, 1, 2, 8, 8)", bound=8.0)
    m.g.pin(x)
    y, where = m.g.node("MaxPool", [x], None, outputs=[((1, 2, 4, 4), "float"), ((1, 2, 4, 4), "int64")], exact=True,
                        kernel_shape=[2, 2], strides=[2, 2])
    m.keep(y, where)


@block("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "Flatten", weight=4)
def global_pool(m):
    x = image(m)
    op = m.d.choice(["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
    y = m.g.node(op, [x], (*x.shape[:2], 1, 1), exact=op == "GlobalMaxPool")
    m.keep(y)
    if m.d.flag():
        m.keep(m.g.node("Flatten", [y], x.shape[:2], exact=True, axis=1))


MODES = [
    ("nearest", "asymmetric"),
    ("nearest", "half_pixel"),
    ("linear", "half_pixel"),
    ("linear", "align_corners"),
    ("linear", "asymmetric"),
    ("linear", "pytorch_half_pixel"),
    ("cubic", "half_pixel"),
]


@block("Resize", weight=4)
def resize(m):
    x = image(m, 4, 1 << 11)
    mode, transformation = m.d.choice(MODES)
    factors = [m.d.choice([2.0, 0.5, 3.0])] * 2 if m.d.flag() else [2.0, 1.0]
    sizes = [int(e * f) for e, f in zip(x.shape[2:], factors)]
    if min(sizes) < 1 or (transformation == "align_corners" and min(sizes) < 2):
        raise Unfit("nothing is left")
    attributes = {"mode": mode, "coordinate_transformation_mode": transformation}
    if mode == "nearest":
        attributes["nearest_mode"] = m.d.choice(["floor", "round_prefer_floor"])
    if mode == "cubic":
        attributes["cubic_coeff_a"] = -0.75
    if m.d.flag():
        scales = m.g.constant(f"values([1.0, 1.0, {factors[0]}, {factors[1]}], 4)", (4,), "wide")
        m.g.constants[scales.name].pinned = True
        inputs = [x, None, scales]
        shape = (*x.shape[:2], *(math.floor(e * f) for e, f in zip(x.shape[2:], factors)))
    else:
        shape = (*x.shape[:2], *sizes)
        inputs = [x, None, None, m.g.ints(shape)]
    m.keep(m.g.node("Resize", inputs, shape, exact=mode == "nearest", **attributes))


@block("DepthToSpace", "SpaceToDepth", weight=4)
def pixels_and_channels(m):
    side = m.d.choice([2, 1, 3])
    if m.d.flag():
        x = m.input((m.d.choice([1, 2]), side * side * m.d.choice([1, 2, 3]), m.size(8), m.size(8)))
        attributes = {"blocksize": side, "mode": m.d.choice(["DCR", "CRD"])}
        shape = (x.shape[0], x.shape[1] // side**2, x.shape[2] * side, x.shape[3] * side)
        m.keep(m.g.node("DepthToSpace", [x], shape, exact=True, **attributes))
    else:
        x = m.input((m.d.choice([1, 2]), m.d.choice([1, 2, 3]), side * m.size(8), side * m.size(8)))
        shape = (x.shape[0], x.shape[1] * side**2, x.shape[2] // side, x.shape[3] // side)
        m.keep(m.g.node("SpaceToDepth", [x], shape, exact=True, blocksize=side))


@block("Conv", "Add", "residual", weight=5)
def residual_convolutions(m):
    x = image(m)
    channels = x.shape[1]
    y = m.activated(convolved(m, x, m.d.choice([channels, 8, 16]), [3, 3], pads=[1] * 4))
    y = convolved(m, y, channels, [3, 3] if m.d.flag() else [1, 1], pads=None if y.shape[2] != x.shape[2] else [1] * 4)
    if y.shape != x.shape:
        raise Unfit("the sides changed")
    m.keep(m.activated(m.add(x, y)))


@block("Conv", "Mul", "GlobalAveragePool", "Sigmoid", "squeeze and excitation", weight=4)
def squeeze_and_excitation(m):
    x = image(m)
    channels = x.shape[1]
    y = m.g.node("GlobalAveragePool", [x], (*x.shape[:2], 1, 1)) if m.d.flag() else m.reduce("ReduceMean", x, [2, 3])
    y = m.unary("Relu", convolved(m, y, max(1, channels // 4), [1, 1], bias=True))
    y = m.unary("Sigmoid", convolved(m, y, channels, [1, 1], bias=True), bound=1.0)
    m.keep(m.mul(x, y))


@block("Conv", "Concat", "inception", weight=3)
def branches(m):
    x = image(m)
    parts = [convolved(m, x, m.size(8), [1, 1]), convolved(m, x, m.size(8), [3, 3], pads=[1] * 4)]
    if m.d.flag():
        parts.append(m.g.node("MaxPool", [x], x.shape, exact=False, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4))
    m.keep(m.concat(parts, 1))


@block("Conv", "Split", "Concat", "Reshape", "Transpose", "channel shuffle", weight=3)
def channel_shuffle(m):
    channels = m.d.choice([4, 8, 6])
    side = m.d.choice([7, 8, 5])
    x = m.input((1, channels, side, side))
    kept, changed = m.split(x, 1, [channels // 2] * 2)
    changed = convolved(m, changed, channels // 2, [3, 3], pads=[1] * 4, groups=channels // 2)
    changed = m.unary("Relu", convolved(m, changed, channels // 2, [1, 1]))
    y = m.reshape(m.concat([kept, changed], 1), (1, 2, channels // 2, side, side))
    m.keep(m.reshape(m.transpose(y, [0, 2, 1, 3, 4]), (1, channels, side, side)))


@block("Conv", "Reshape", "Transpose", "patches", weight=3)
def patches(m):
    side = m.d.choice([4, 2, 7])
    count, channels = m.d.choice([2, 3, 4]), m.d.choice([8, 16, 33])
    x = m.input((m.d.choice([1, 2]), 3, side * count, side * count))
    y = convolved(m, x, channels, [side, side], strides=[side, side])
    y = m.transpose(m.reshape(y, (x.shape[0], channels, count * count)), [0, 2, 1])
    if m.d.flag():
        first = m.expand(m.g.weight((1, 1, channels)), (x.shape[0], 1, channels))
        y = m.concat([first, y], 1)
    m.keep(m.add(y, m.g.weight((1, *y.shape[1:]))))


@block("Resize", "Conv", "Concat", "skip connection", weight=2)
def skip_connection(m):
    x = image(m, 4, 1 << 11)
    if x.shape[2] % 2 or x.shape[3] % 2:
        raise Unfit("odd sides")
    down = m.unary("Relu", convolved(m, x, m.size(8), [3, 3], strides=[2, 2], pads=[1] * 4))
    scales = m.g.constant("values([1.0, 1.0, 2.0, 2.0], 4)", (4,), "wide")
    m.g.constants[scales.name].pinned = True
    up = m.g.node("Resize", [down, None, scales], (*down.shape[:2], *x.shape[2:]), mode="nearest",
                  coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    m.keep(convolved(m, m.concat([up, x], 1), m.size(8), [3, 3], pads=[1] * 4))


@block("Upsample", opset=9, last=9, weight=30)
def upsample(m):
    x = m.input((1, m.size(4), m.size(8), m.size(8)))
    factor = m.d.choice([2, 1, 3])
    scales = m.g.constant(f"values([1.0, 1.0, {factor}, {factor}], 4)", (4,), "wide")
    m.g.constants[scales.name].pinned = True
    shape = (*x.shape[:2], x.shape[2] * factor, x.shape[3] * factor)
    m.keep(m.g.node("Upsample", [x, scales], shape, exact=False, mode=m.d.choice(["nearest", "linear"])))


@block("Col2Im", opset=18, weight=4)
def folded(m):
    count = m.d.choice([2, 3])
    block, strides = [m.d.choice([2, 3, 1]) for _ in range(count)], [m.d.choice([1, 2, 3]) for _ in range(count)]
    dilations = [m.d.choice([1, 2]) for _ in range(count)]
    pads = [m.d.choice([0, 1]) for _ in range(2 * count)]
    sides = [m.d.choice([7, 8, 5, 12]) for _ in range(count)]
    covered = reach(block, dilations)
    blocks = [(e + pads[i] + pads[i + count] - covered[i]) // strides[i] + 1 for i, e in enumerate(sides)]
    batch, channels = m.d.choice([1, 2]), m.d.choice([1, 2, 3])
    shape = (batch, channels * math.prod(block), math.prod(blocks))
    if math.prod(shape) > m.elements:
        raise Unfit("too large")
    m.spend(batch * channels * math.prod(sides) * math.prod(block))
    x = m.input(shape)
    attributes = {"strides": strides, "dilations": dilations, "pads": pads}
    m.keep(m.g.node("Col2Im", [x, m.g.ints(sides), m.g.ints(block)], (batch, channels, *sides),
                    bound=x.bound * math.prod(block), **attributes))


@block("HannWindow", "HammingWindow", "BlackmanWindow", opset=17, weight=2)
def windowed(m):
    size = m.size(33)
    op = m.d.choice(["HannWindow", "HammingWindow", "BlackmanWindow"])
    window = m.g.node(op, [m.g.scalar(size, "int64")], (size,), bound=1.0, output_datatype="kind:float",
                      periodic=int(size == 1 or m.d.flag()))
    m.keep(m.mul(m.input((m.size(), size)), window))
