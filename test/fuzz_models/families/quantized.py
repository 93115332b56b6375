"""Products of bytes: of matrices and of windows, as sums of 32 bits, or brought back to bytes by scales.

Scales are powers of two, so that steps are exact.
"""

import math

from ..maker import Unfit, block

BYTES = {"uint8": (0, 256), "int8": (-128, 128)}
ZEROS = {"uint8": (100, 150), "int8": (-20, 20)}


def integers(m, shape, limits):
    m.g._count += 1
    return f"integers({m.g._count}, {limits[0]}, {limits[1]}{''.join(f', {e}' for e in shape)})"


def some_bytes(m, shape, kind, is_known=False):
    recipe = integers(m, shape, BYTES[kind])
    return m.g.constant(recipe, shape, kind) if is_known else m.input(shape, kind, recipe, bound=128.0)


def zero_point(m, shape, kind):
    return m.g.constant(integers(m, shape, ZEROS[kind]), shape, kind)


def scale(m, shape, exponents):
    x = m.g.constant(f"2.0 ** {integers(m, shape, exponents)}", shape, "wide")
    m.g.pin(x)
    return x


def requantized(m, terms, kind):
    """A scale and a zero point that bring sums of products into the range of bytes."""
    exponent = math.ceil(math.log2(100 * math.sqrt(max(1, terms))))
    return scale(m, (), (exponent, exponent + 1)), zero_point(m, (), kind)


def dequantized(m, y, zero):
    """In halves, which every float type has room for."""
    half = m.g.scalar(0.5, "wide")
    return m.g.node("DequantizeLinear", [y, half, zero], y.shape, "wide", exact=True, bound=128.0)


def factors(m):
    """Kinds of two factors, and what the second's parameters have one of: nothing, or each of its columns or channels."""
    left, right = m.d.choice([("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8")])
    return left, right, m.d.flag()


def matrices(m):
    depth, columns = m.size(), m.size()
    batch = [m.size(4) for _ in range(m.d.choice([0, 1, 2]))]
    a = (*batch, m.size(), depth)
    b = (*(batch if m.d.flag() else ()), depth, columns)
    m.spend(math.prod(a) * columns)
    return a, b, (*a[:-1], columns)


@block("MatMulInteger", opset=13, weight=3)
def product_of_bytes(m):
    left, right, is_apart = factors(m)
    a, b, result = matrices(m)
    inputs = [some_bytes(m, a, left), some_bytes(m, b, right, m.d.flag())]
    if m.d.flag():
        inputs.append(zero_point(m, (), left))
        if m.d.flag():
            apart = is_apart and len(b) == 2
            inputs.append(zero_point(m, (b[-1],) if apart else (), right))
    m.keep(m.g.node("MatMulInteger", inputs, result, "int32", exact=True))


@block("QLinearMatMul", "DequantizeLinear", opset=13, weight=3)
def product_in_bytes(m):
    left, right, is_apart = factors(m)
    a, b, result = matrices(m)
    apart = (b[-1],) if is_apart and len(b) == 2 else ()
    inputs = [some_bytes(m, a, left), scale(m, (), (-2, 2)), zero_point(m, (), left)]
    inputs += [some_bytes(m, b, right, m.d.flag()), scale(m, apart, (-1, 2)), zero_point(m, apart, right)]
    inputs += requantized(m, a[-1], left)
    y = m.g.node("QLinearMatMul", inputs, result, left, exact=True)
    m.keep(dequantized(m, y, inputs[7]))


def windows(m):
    """Shapes of an image, of weights and of the result, and attributes."""
    count = m.d.choice([2, 1])
    groups, inputs, outputs = m.d.choice([(1, 3, 8), (1, 1, 4), (4, 1, 1), (2, 4, 3), (1, 16, 7)])
    kernel = [m.d.choice([3, 1, 2, 5])] * count
    strides, dilations = [m.d.choice([1, 2])] * count, [m.d.choice([1, 2], [3, 1])] * count
    pad = m.d.index(3)
    sides = [m.d.choice([7, 8, 5, 14]) for _ in range(count)]
    out = [(e + 2 * pad - (k - 1) * d - 1) // s + 1 for e, k, s, d in zip(sides, kernel, strides, dilations)]
    if min(out) < 1:
        raise Unfit("the window is larger than the image")
    x, w = (m.d.choice([1, 2]), groups * inputs, *sides), (groups * outputs, inputs, *kernel)
    m.spend(x[0] * math.prod(w) * math.prod(out))
    attributes = {"strides": strides, "dilations": dilations, "pads": [pad] * (2 * count), "group": groups}
    return x, w, (x[0], w[0], *out), attributes


@block("ConvInteger", opset=13, weight=3)
def convolution_of_bytes(m):
    x, w, result, attributes = windows(m)
    right = m.d.choice(["uint8", "int8"])
    inputs = [some_bytes(m, x, "uint8"), some_bytes(m, w, right, m.d.flag())]
    if m.d.flag():
        inputs.append(zero_point(m, (), "uint8"))
        if m.d.flag():
            inputs.append(zero_point(m, (), right))
    m.keep(m.g.node("ConvInteger", inputs, result, "int32", exact=True, **attributes))


@block("QLinearConv", "DequantizeLinear", opset=13, weight=3)
def convolution_in_bytes(m):
    left, right, is_apart = factors(m)
    x, w, result, attributes = windows(m)
    apart = (w[0],) if is_apart else ()
    inputs = [some_bytes(m, x, left), scale(m, (), (-2, 2)), zero_point(m, (), left)]
    # Weights of several channels have one zero point.
    zeros = m.g.constant(f"full(0, {w[0]})", apart, right) if apart else zero_point(m, (), right)
    inputs += [some_bytes(m, w, right, True), scale(m, apart, (-1, 2)), zeros]
    inputs += requantized(m, math.prod(w[1:]), left)
    y = m.g.node("QLinearConv", [*inputs, *([bias(m, w[0])] if m.d.flag() else [])], result, left, exact=True, **attributes)
    m.keep(dequantized(m, y, inputs[7]))


def bias(m, channels):
    return m.g.constant(integers(m, (channels,), (-5000, 5000)), (channels,), "int32")
