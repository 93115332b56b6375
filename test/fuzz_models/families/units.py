"""Products, convolutions and attention at the least sizes at which a GPU's matrix units, and copies in bulk, are worth
their while: what an emulator can execute in a second."""

from ..maker import block
from .attention import attended, causally_attended
from .windows import convolved, finished

ROWS = [64, 128, 33, 256, 100, 1]
WIDTHS = [64, 128, 72, 256, 16]


@block("MatMul", "units: product", weight=6)
def product_of_units(m):
    """Of all that came before, or of an input; long sums are cut into those of several blocks."""
    x = m.pick(2, test=lambda v: v.size >= 4096) if m.pool and m.d.flag() else None
    if x is None:
        x = m.input((m.d.choice(ROWS), m.d.choice([256, 64, 500, 1024])))
    y = m.dense(m.tamed(x, 2.0), m.d.choice(WIDTHS))
    y = m.activated(y) if m.d.flag() else y
    if m.d.flag():
        y = m.dense(y, m.d.choice(WIDTHS))
    m.keep(m.add(x, y) if x.shape == y.shape else y)


@block("MatMul", "units: batched product", weight=3)
def batched_product(m):
    batch, rows, inner, columns = m.d.choice([2, 3, 8]), m.d.choice(ROWS), m.d.choice([64, 128, 40]), m.d.choice(WIDTHS)
    a, isTurned = m.input((batch, rows, inner)), m.d.flag()
    b = m.input((batch, columns, inner) if isTurned else (batch, inner, columns))
    y = m.matmul(a, m.transpose(b, [0, 2, 1]) if isTurned else b)
    m.keep(m.transpose(y, [1, 0, 2]) if m.d.flag() else y)


@block("MatMul", "units: gated product", weight=2)
def gated_product_of_units(m):
    x = m.input((m.d.choice(ROWS), m.d.choice([128, 256])))
    width = m.d.choice(WIDTHS)
    m.keep(m.mul(m.unary("Sigmoid", m.dense(x, width)), m.dense(x, width)))


@block("MatMul", "Softmax", "units: attention", weight=6)
def attention_of_units(m):
    heads, width = m.d.choice([2, 1, 4]), m.d.choice([64, 32, 128])
    rows = m.d.choice([128, 64, 256, 100])
    columns = rows if m.d.flag() else m.d.choice([128, 256, 64, 100])
    shapes = ((1, heads, n, width) for n in (rows, columns, columns))
    q, k, v = (m.input(shape) for shape in shapes)
    y = attended(m, q, k, v)
    if m.d.flag():
        y = m.reshape(m.transpose(y, [0, 2, 1, 3]), (1, rows, heads * width))
    m.keep(y)


@block("MatMul", "Softmax", "units: causal attention", weight=6)
def causal_attention(m):
    heads, tokens, width = m.d.choice([2, 4]), m.d.choice([256, 128, 384]), m.d.choice([64, 32])
    q, k, v = (m.input((1, heads, tokens, width)) for _ in range(3))
    m.keep(causally_attended(m, q, k, v))


@block("Conv", "units: convolution", weight=5)
def convolution_of_units(m):
    channels, side, size = m.d.choice([64, 32, 128]), m.d.choice([14, 8, 16]), m.d.choice([3, 1])
    x = m.input((1, channels, side, side))
    stride = m.d.choice([1, 2])
    y = convolved(m, x, m.d.choice([64, 32, 48]), [size] * 2, pads=[size // 2] * 4, strides=[stride] * 2)
    y = finished(m, y)
    m.keep(m.add(x, y) if y.shape == x.shape else y)
