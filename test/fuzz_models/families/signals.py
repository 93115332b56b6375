"""Samples of images at positions that are data, regions of them, pools undone, Fourier transforms, rotations of pairs.

What jumps with a position is generated of grids and regions whose numbers are exact in every float type.
"""

import math

from ..maker import Unfit, block
from .indexing import some_indices
from .windows import image


def eighths(m, low, high, shape):
    """A recipe of multiples of an eighth."""
    m.g._count += 1
    return f"integers({m.g._count}, {8 * low}, {8 * high + 1}{''.join(f', {e}' for e in shape)}) / 8"


def sampled(m, x, grid, mode, padding, aligned):
    taps = {"nearest": 1, "linear": 2, "cubic": 4}[mode]
    shape = (*x.shape[:2], *grid.shape[1:-1])
    m.spend(math.prod(shape) * taps ** (x.rank - 2))
    old = {"linear": "bilinear", "cubic": "bicubic"} if m.opset < 20 else {}
    attributes = {"mode": old.get(mode, mode), "padding_mode": padding, "align_corners": aligned}
    bound = x.bound * (2.5 if mode == "cubic" else 1.0)
    return m.g.node("GridSample", [x, grid], shape, exact=mode == "nearest", bound=bound, **attributes)


@block("GridSample", opset=16, weight=4)
def grid_sample(m):
    x = image(m, m.d.choice([4, 5], [3, 1]) if m.opset >= 20 else 4, 1 << 11)
    spatial = x.rank - 2
    shape = (x.shape[0], *(m.size(8) for _ in range(spatial)), spatial)
    mode = m.d.choice(["linear", "nearest", "cubic"] if spatial == 2 else ["linear", "nearest"])
    padding, aligned = m.d.choice(["zeros", "border", "reflection"]), m.d.index(2)
    if mode == "linear" and m.d.flag():
        grid = m.input(shape, bound=1.25)
    else:
        grid = m.input(shape, recipe=eighths(m, -2, 2, shape), bound=2.0)
        m.g.pin(grid)
    m.keep(sampled(m, x, grid, mode, padding, aligned))


@block("AffineGrid", "GridSample", "spatial transformer", opset=20, weight=3)
def spatial_transformer(m):
    x = image(m, m.d.choice([4, 5], [3, 1]), 1 << 11)
    spatial = x.rank - 2
    theta = m.input((x.shape[0], spatial, spatial + 1), bound=0.75)
    sides = [1 + m.size(8) for _ in range(spatial)]
    size = m.g.ints((*x.shape[:2], *sides))
    aligned = m.d.index(2)
    grid = m.g.node("AffineGrid", [theta, size], (x.shape[0], *sides, spatial), bound=2.5, align_corners=aligned)
    m.keep(grid)
    m.keep(sampled(m, x, grid, "linear", m.d.choice(["zeros", "border"]), aligned))


@block("RoiAlign", opset=16, last=21, weight=3)
def regions(m):
    x = image(m, 4, 1 << 12)
    count, bins = m.size(8), [m.d.choice([2, 1, 4]) for _ in range(2)]
    points = m.d.choice([2, 1, 4, 0])
    m.g._count += 2
    recipe = f"np.concatenate([integers({m.g._count}, -8, 20, {count}, 2), integers({m.g._count - 1}, 20, 60, {count}, 2)], 1) / 4"
    rois = m.g.constant(recipe, (count, 4), bound=15.0) if points == 0 else m.input((count, 4), recipe=recipe, bound=15.0)
    m.g.pin(rois)
    batches = m.input((count,), "int64", some_indices(m, (count,), x.shape[0]))
    attributes = {"output_height": bins[0], "output_width": bins[1], "sampling_ratio": points}
    attributes["spatial_scale"] = m.d.choice([1.0, 0.5, 0.25])
    attributes["mode"] = m.d.choice(["avg", "max"])
    attributes["coordinate_transformation_mode"] = m.d.choice(["half_pixel", "output_half_pixel"])
    m.spend(count * x.shape[1] * math.prod(bins) * 4 * (points or 16) ** 2)
    m.keep(m.g.node("RoiAlign", [x, rois, batches], (count, x.shape[1], *bins), **attributes))


@block("MaxPool", "MaxUnpool", "a pool undone", weight=2)
def pool_and_unpool(m):
    kernel, stride = m.d.choice([2, 3]), m.d.choice([2, 1, 3])
    pad = m.d.index(2)
    outputs = [1 + m.size(5) for _ in range(2)]
    sides = [(o - 1) * stride + kernel - 2 * pad for o in outputs]
    if min(sides) < 2 or stride > kernel:
        raise Unfit("places between the windows")
    shape = (m.d.choice([1, 2]), m.size(4), *sides)
    x = m.input(shape, recipe=f"distinct({m.d.index(9)}{''.join(f', {e}' for e in shape)})", bound=float(math.prod(shape)))
    m.g.pin(x)
    attributes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4}
    small = (*shape[:2], *outputs)
    y, where = m.g.node("MaxPool", [x], None, outputs=[(small, "float"), (small, "int64")], exact=True, **attributes)
    m.keep(m.g.node("MaxUnpool", [y, where], shape, exact=True, **attributes))


@block("DFT", opset=17, weight=3)
def fourier(m):
    real, inverse = m.d.flag(), m.d.index(2)
    # ONNX Runtime is far from exact where the length is no power of two.
    length = m.d.choice([16, 8, 4, 32, 64, 2, 1, 512, 1024], [4, 4, 2, 4, 2, 1, 1, 1, 1])
    shape = [*m.shape(m.d.index(2) if length > 64 else 1 + m.d.index(2)), max(1, length + m.d.choice([0, 1, -1, 3], [4, 1, 1, 1]))]
    axis = m.d.index(len(shape))
    shape[axis], shape[-1] = shape[-1], shape[axis]
    shape = (*shape, 1 if real else 2)
    x = m.input(shape)
    onesided = int(real and not inverse and m.d.flag())
    inputs = [x, m.g.scalar(length, "int64") if length != shape[axis] or m.d.flag() else None]
    attributes = {"inverse": inverse, "onesided": onesided}
    given = axis - len(shape) if m.d.flag() else axis
    if m.opset >= 20:
        inputs.append(m.g.scalar(given, "int64"))
    else:
        attributes["axis"] = given
    results = [*shape[:-1]]
    results[axis] = length // 2 + 1 if onesided else length
    m.spend(math.prod(results) * 4 * shape[axis])
    bound = x.bound * (1.0 if inverse else math.sqrt(length))
    m.keep(m.g.node("DFT", inputs, (*results, 2), bound=bound, **attributes))


@block("Det", opset=13, weight=1)
def determinant(m):
    size = m.d.choice([3, 1, 2, 5])
    shape = (*m.shape(m.d.index(2)), size, size)
    m.spend(math.prod(shape) * size)
    m.keep(m.g.node("Det", [m.input(shape)], shape[:-2], bound=3.0**size))


@block("RotaryEmbedding", opset=23, weight=3)
def rotary_embedding(m):
    batch, heads, tokens, size = m.d.choice([1, 2]), m.d.choice([2, 1, 3]), m.d.choice([7, 1, 16]), m.d.choice([8, 4, 16])
    rotated = m.d.choice([0, size // 2])
    pairs = (rotated or size) // 2
    flat = m.d.flag()
    x = m.input((batch, tokens, heads * size) if flat else (batch, heads, tokens, size))
    attributes = {"interleaved": m.d.index(2)}
    if rotated:
        attributes["rotary_embedding_dim"] = rotated
    if flat or rotated:
        attributes["num_heads"] = heads
    ids = []
    rows = m.d.choice([16, 33])
    table = (rows, pairs)
    if m.d.flag():
        ids = [m.input((batch, tokens), "int64", some_indices(m, (batch, tokens), rows))]
    else:
        table = (batch, tokens, pairs)
    tables = [m.g.weight(table, bound=1.0) if ids else m.input(table, bound=1.0) for _ in range(2)]
    m.keep(m.g.node("RotaryEmbedding", [x, *tables, *ids], x.shape, bound=2 * x.bound, **attributes))


@block("SwiGLU", opset=28, last=28)
def gated_unit(m):
    gate = m.tamed(m.pick((1, 2, 3)))
    x = m.input(gate.shape)
    attributes = {"alpha": m.d.choice([0.5, 1.702])} if m.d.flag() else {}
    m.keep(m.g.node("SwiGLU", [gate, x], gate.shape, bound=gate.bound * x.bound, **attributes))
