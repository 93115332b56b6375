"""Types that numbers are kept in: there and back, moved in between, by conversions and as multiples of a scale."""

from ..maker import Unfit, block

FLOATS = {
    "float8_e4m3fn": 19,
    "float8_e4m3fnuz": 19,
    "float8_e5m2": 19,
    "float8_e5m2fnuz": 19,
    "float4_e2m1fn": 23,
}
INTEGERS = {"uint4": 21, "int4": 21, "uint2": 25, "int2": 25}


def known(m, kinds):
    return [kind for kind, since in kinds.items() if since <= m.opset]


def quarters(m, shape, most):
    """A value of multiples of a quarter, which is converted without a doubt."""
    m.g._count += 1
    dims = "".join(f", {e}" for e in shape)
    x = m.g.input(shape, "float", f"integers({m.g._count}, {-4 * most}, {4 * most}{dims}) / 4", bound=float(most))
    m.g.pin(x)
    return x


def moved(m, x):
    """The same elements elsewhere, by what takes them: of ONNX Runtime's operators few do."""
    return m.transpose(x, list(reversed(range(x.rank)))) if m.opset >= 21 and x.rank > 1 and m.d.flag() else x


@block("Cast", "CastLike", opset=19, weight=4)
def kept_in_few_bits(m):
    kinds = known(m, FLOATS) + known(m, INTEGERS)
    # ONNX Runtime 1.31 has no later Cast to 4-bit floats.
    kind = m.d.choice([kind for kind in kinds if m.opset <= 23 or "float4" not in kind])
    # What becomes of integers out of range is not said.
    most = 12 if kind in FLOATS else 1 if "2" in kind else 7
    x = quarters(m, m.shape(m.d.index(4)), most)
    if kind in ("uint4", "uint2"):
        x = m.unary("Abs", x, exact=True)
    attributes = {"saturate": m.d.index(2)} if "float8" in kind and m.d.flag() else {}
    if m.d.flag():
        like = m.g.constant("full(1)", (1,), kind)
        kept = m.g.node("CastLike", [x, like], x.shape, kind, exact=True, **attributes)
    else:
        kept = m.g.node("Cast", [x], x.shape, kind, exact=True, to=f"kind:{kind}", **attributes)
    kept = moved(m, kept)
    m.keep(m.g.node("Cast", [kept], kept.shape, "float", exact=True, to="kind:float"))


@block("QuantizeLinear", "DequantizeLinear", opset=13, weight=4)
def multiples_of_a_scale(m):
    """Of a tensor, of each place along an axis, or of blocks; the scales are powers of two, so that steps are exact."""
    kinds = ["uint8", "int8", *known(m, {"uint16": 21, "int16": 21, "uint4": 21, "int4": 21, **FLOATS})]
    kind = m.d.choice(kinds)
    x = quarters(m, m.shape(m.d.choice([1, 2, 3, 4])), 40)
    axis = m.d.index(x.rank)
    ways = ["tensor", "axis"] + (["block"] if m.opset >= 21 else [])
    way, attributes = m.d.choice(ways), {}
    shape = ()
    if way == "axis":
        shape, attributes = (x.shape[axis],), {"axis": axis - x.rank * m.d.index(2)}
    elif way == "block":
        size = m.d.choice([1, 2, 3, 16])
        if x.shape[axis] % size:
            raise Unfit("no whole blocks")
        shape = tuple(e // size if a == axis else e for a, e in enumerate(x.shape))
        attributes = {"axis": axis, "block_size": size}
    m.g._count += 1
    dims = "".join(f", {e}" for e in shape)
    recipe = f"2.0 ** integers({m.g._count}, -2, 2{dims})" if shape else "full(0.5)"
    scale = m.g.constant(recipe, shape)
    m.g.pin(scale)
    points = []
    if m.d.flag() or kind not in ("uint8",):
        low, high = {"u": (1, 5), "i": (-3, 4), "f": (0, 1)}[kind[0]]
        if kind[0] == "f":
            points = [m.g.constant(f"full(0{dims})", shape, kind)]
        else:
            m.g._count += 1
            points = [m.g.constant(f"integers({m.g._count}, {low}, {high}{dims})" if shape else f"full({high})", shape, kind)]
    steps = m.g.node("QuantizeLinear", [x, scale, *points], x.shape, kind, exact=True, **attributes)
    m.keep(m.g.node("DequantizeLinear", [steps, scale, *points], x.shape, "float", exact=True, bound=40.0, **attributes))


@block("DynamicQuantizeLinear", opset=13, weight=2)
def range_of_bytes(m):
    """Of integers from -100 to 155, so that the scale is 1."""
    count = m.d.choice([2, 3, 17, 100, 255])
    m.g._count += 1
    recipe = "values([-100, 155], 2)" if count == 2 else f"np.concatenate([values([-100, 155], 2), integers({m.g._count}, -100, 156, {count - 2})])"
    x = m.g.input((count,), "wide", recipe, bound=155.0)
    m.g.pin(x)
    outputs = [((count,), "uint8"), ((), "wide"), ((), "uint8")]
    y, scale, zero = m.g.node("DynamicQuantizeLinear", [x], None, outputs=outputs, exact=True)
    m.keep(m.g.node("DequantizeLinear", [y, scale, zero], x.shape, "wide", exact=True, bound=155.0))


@block("BitCast", opset=26, weight=0.1, last=26)  # ONNX Runtime 1.31 has none.
def bits_of_integers(m):
    x = m.g.input(m.shape(m.d.index(4)), "int32")
    m.g.pin(x)
    there = m.g.node("BitCast", [x], x.shape, "uint32", exact=True, to="kind:uint32")
    m.keep(m.g.node("Cast", [there], x.shape, "float", exact=False, to="kind:float"))
