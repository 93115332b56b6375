"""Layers of real models, some at the sizes at which a real model's choices are made; those are rare, being costly."""

from ..maker import Unfit, block
from .attention import attended, causally_attended, multi_head, projected
from .linear import gated
from .normalization import divided_by_deviation, centred, scale
from .windows import convolved, finished


def normalized(m, x):
    """Layer or RMS normalization over the last dimension."""
    way = m.d.index(3)
    width = x.shape[-1:]
    if way == 0 and m.opset >= 17:
        return m.g.node("LayerNormalization", [x, scale(m, width), m.g.weight(width)], x.shape, bound=4.0, axis=-1)
    difference = x if way == 1 else centred(m, x, [x.rank - 1])
    return m.mul(divided_by_deviation(m, difference, [x.rank - 1]), scale(m, width))


@block("LayerNormalization", "MatMul", "Softmax", "Add", "residual", "transformer layer", weight=5)
def transformer_layer(m):
    heads, width, batch = m.d.choice([2, 1, 4]), m.d.choice([8, 4, 16]), m.d.choice([1, 2])
    x = m.input((batch, m.d.choice([8, 7, 16, 33]), heads * width))
    before = m.d.flag()
    y = multi_head(m, normalized(m, x) if before else x, heads, width)
    x = y if y.shape != x.shape else m.add(x, y)
    if x.shape[-1] < 3:
        raise Unfit("nothing to normalize")
    x = m.tamed(x) if before else normalized(m, x)
    if m.d.flag():
        columns = m.d.choice([16, 33, 32])
        y = m.dense(gated(m, m.dense(x, columns, False), m.dense(x, columns, False)), x.shape[-1], False)
    else:
        y = m.dense(m.activated(m.dense(x, m.d.choice([16, 31, 64]))), x.shape[-1])
    m.keep(m.add(x, y))


@block("Conv", "BatchNormalization", "Add", "residual", "mobile block", weight=3)
def mobile_block(m):
    channels, side = m.d.choice([4, 8, 16]), m.d.choice([7, 8, 14, 16])
    x = m.input((1, channels, side, side))
    wide = channels * m.d.choice([2, 3, 4])
    y = finished(m, convolved(m, x, wide, [1, 1], bias=False))
    y = finished(m, convolved(m, y, wide, [3, 3], pads=[1] * 4, groups=wide, bias=False))
    y = convolved(m, y, channels, [1, 1])
    m.keep(m.add(x, y))


@block("Conv", "Gemm", "GlobalAveragePool", "Flatten", "classifier", weight=2)
def classifier(m):
    x = m.input((m.d.choice([1, 2]), 3, m.d.choice([8, 15, 16]), m.d.choice([8, 15, 16])))
    for _ in range(1 + m.d.index(2)):
        x = finished(m, convolved(m, x, m.d.choice([4, 8, 16]), [3, 3], strides=[2, 2], pads=[1] * 4))
    y = m.g.node("GlobalAveragePool", [x], (*x.shape[:2], 1, 1))
    y = m.g.node("Flatten", [y], x.shape[:2], axis=1)
    classes = m.d.choice([10, 1, 33])
    y = m.g.node("Gemm", [y, m.g.weight((classes, y.shape[1]), y.shape[1]), m.g.weight((classes,))],
                 (y.shape[0], classes), transB=1)
    m.keep(m.softmax(y))


@block("Concat", "MatMul", "Gather", "ranking", weight=2)
def ranking(m):
    """Features and embeddings, their products with each other, and a perceptron on top."""
    batch, width = m.d.choice([4, 1, 7, 31]), m.d.choice([4, 8, 7])
    parts = [m.unsqueeze(m.unary("Relu", m.dense(m.input((batch, m.size(16))), width)), [1])]
    for _ in range(m.d.choice([1, 2, 3])):
        m.g._count += 1
        indices = m.input((batch,), "int64", f"integers({m.g._count}, 0, 33, {batch})")
        parts.append(m.unsqueeze(m.gather(m.g.weight((33, width)), indices, 0), [1]))
    rows = m.concat(parts, 1)
    products = m.matmul(rows, m.transpose(rows, [0, 2, 1]))
    flat = m.reshape(products, (batch, len(parts) ** 2))
    y = m.concat([m.squeeze(parts[0], [1]), flat], 1)
    m.keep(m.unary("Sigmoid", m.dense(y, 1), bound=1.0))


# What follows is large: sizes at which the choices of a real model are made.


def real(m):
    """Only where the model may be costly."""
    if m.budget < 5e7:
        raise Unfit("for large models")


@block("MatMul", "Softmax", "large: attention", weight=30)
def real_attention(m):
    real(m)
    heads = m.d.choice([2, 1, 4, 12])
    tokens = m.d.choice([512, 256, 500, 768, 1024, 2048], [5, 3, 2, 3, 2, 1])
    m.spend(heads * tokens * tokens * 128)
    x = m.input((1, tokens, 64 * heads))
    q, k, v = projected(m, x, heads, 64, heads)
    m.budget += 2 * heads * tokens * tokens * 64
    m.keep(m.transpose(attended(m, q, k, v), [0, 2, 1, 3]))


@block("MatMul", "large: causal attention of one product", weight=30)
def real_causal(m):
    """A decoder's attention: queries, keys and values lie in one product, what is ahead is hidden."""
    real(m)
    heads, tokens = m.d.choice([1, 2, 12], [3, 2, 1]), m.d.choice([512, 256, 768, 384, 500], [4, 1, 3, 1, 1])
    width = m.d.choice([64, 32, 80], [4, 1, 1])
    m.spend(heads * tokens * tokens * 2 * width)
    m.budget += heads * tokens * tokens * 2 * width
    if m.d.flag():
        product = m.dense(m.input((1, tokens, heads * width)), 3 * heads * width)
    else:
        product = m.input((1, tokens, 3 * heads * width))
    five = m.transpose(m.reshape(product, (1, tokens, 3, heads, width)), [2, 0, 3, 1, 4])
    q, k, v = (m.squeeze(m.sliced(five, 0, i, i + 1), [0]) for i in range(3))
    y = causally_attended(m, q, k, v)
    if m.d.flag():
        y = m.reshape(m.transpose(y, [0, 2, 1, 3]), (1, tokens, heads * width))
    m.keep(y)


@block("MatMul", "large: product", weight=10)
def real_product(m):
    real(m)
    rows, inner = m.d.choice([128, 1, 7, 500, 512]), m.d.choice([512, 768, 1000])
    x = m.input((1, rows, inner))
    m.keep(m.activated(m.dense(x, m.d.choice([512, 768, 333]))))


@block("Conv", "large: convolution", weight=10)
def real_convolution(m):
    real(m)
    channels, side = m.d.choice([64, 32, 128]), m.d.choice([28, 14, 56])
    x = m.input((1, channels, side, side))
    y = finished(m, convolved(m, x, channels, [3, 3], pads=[1] * 4))
    m.keep(m.add(x, y) if y.shape == x.shape else y)


@block("MatMul", "large: transformer layer", weight=10)
def real_layer(m):
    real(m)
    tokens = m.d.choice([128, 512, 100])
    x = m.input((1, tokens, 128))
    x = m.add(x, multi_head(m, normalized(m, x), 2, 64))
    m.keep(m.add(x, m.dense(m.activated(m.dense(normalized(m, x), 512)), 128)))
