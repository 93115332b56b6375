"""Point by point: functions, arithmetic with every broadcast, comparisons, integers, chains that exporters write out."""

import math

from ..maker import Unfit, block

ANYWHERE = {
    "Relu": {},
    "Abs": {},
    "Neg": {},
    "Sigmoid": {},
    "Tanh": {},
    "Softsign": {},
    "Softplus": {},
    "Erf": {},
    "Sin": {},
    "Cos": {},
    "Atan": {},
    "Asinh": {},
    "LeakyRelu": {"alpha": [0.01, 0.2, 0.3]},
    "Elu": {"alpha": [1.0, 0.5]},
    "Celu": {"alpha": [1.0, 0.5]},
    "Selu": {},
    "HardSigmoid": {"alpha": [0.2, 1 / 6], "beta": [0.5]},
    "Identity": {},
}
NEWER = {"HardSwish": 14, "Mish": 18, "Gelu": 20, "Swish": 24}
EXACT = {"Relu", "Abs", "Neg", "Identity"}
BOUNDED = {"Sigmoid", "Tanh", "Softsign", "Erf", "Sin", "Cos", "HardSigmoid"}


@block(*ANYWHERE, weight=12)
def activation(m):
    op = m.d.choice(list(ANYWHERE))
    attributes = {key: m.d.choice(options) for key, options in ANYWHERE[op].items() if m.d.flag()}
    x = m.tamed(m.pick(), 8.0)
    m.keep(m.unary(op, x, exact=op in EXACT, bound=min(x.bound, 1.0) if op in BOUNDED else x.bound, **attributes))


@block(*NEWER, opset=14, weight=5)
def newer_activation(m):
    op = m.d.choice([op for op, since in NEWER.items() if since <= m.opset])
    attributes = {"approximate": m.d.choice(["none", "tanh"])} if op == "Gelu" else {}
    m.keep(m.unary(op, m.tamed(m.pick(), 8.0), **attributes))


@block("Exp", "Sinh", "Cosh", "Tan", "Log", "Sqrt", "Reciprocal", "Asin", "Acos", "Acosh", "Atanh", weight=6)
def function_on_its_domain(m):
    op = m.d.choice(["Exp", "Sqrt", "Reciprocal", "Log", "Sinh", "Cosh", "Tan", "Asin", "Acos", "Acosh", "Atanh"])
    x = m.tamed(m.pick(), 2.0)
    if op in ("Sqrt", "Log", "Reciprocal", "Acosh"):
        x = m.add(m.unary("Abs", x, exact=True), m.g.scalar(1.5 if op == "Acosh" else 0.25))
    if op in ("Tan", "Asin", "Acos", "Atanh"):
        x = m.scaled(m.unary("Tanh", x, bound=1.0), 0.875)
    bound = {"Exp": 8.0, "Sinh": 4.0, "Cosh": 4.0, "Reciprocal": 4.0}.get(op, 2.0)
    m.keep(m.unary(op, x, bound=bound))


@block("Sqrt", "Log", "Acos", "Asin", "Atanh", "Acosh", "Reciprocal", "Div", "special:domain", weight=2)
def function_beyond_its_domain(m):
    """NaN and infinity, at places that no rounding decides."""
    op = m.d.choice(["Sqrt", "Log", "Acos", "Asin", "Atanh", "Acosh", "Reciprocal"])
    rank = m.d.index(4)
    shape = m.shape(rank)
    m.g._count += 1
    dims = "".join(f", {e}" for e in shape)
    x = m.input(shape, recipe=f"values(integers({m.g._count}, -2, 3{dims}), {math.prod(shape)}).reshape(({dims[2:]},))"
                if rank else "full(-1.0)")
    m.g.special = True
    m.g.pin(x)
    m.keep(m.unary(op, x, bound=4.0))


def partner(m, x):
    """Something that `x` broadcasts with, in one of the ways that models have."""
    way = m.d.index(6)
    if way == 0:
        return m.g.weight(x.shape[-1:] if x.rank else ())
    if way == 1:
        return m.g.scalar(m.d.choice([0.5, 2.0, -1.25]))
    if way == 2 and x.rank >= 2:
        return m.g.weight(tuple(e if a == 1 else 1 for a, e in enumerate(x.shape)))
    if way == 3 and x.rank:
        return m.g.weight(tuple(e if m.d.flag() else 1 for e in x.shape))
    if way == 4:
        same = [v for v in m.pool if v.kind == "float" and v.shape == x.shape]
        if same:
            return m.d.choice(same)
    return m.input(x.shape)


@block("Add", "Sub", "Mul", "residual", weight=12)
def arithmetic(m):
    x = m.tamed(m.pick())
    y = m.tamed(partner(m, x))
    op = m.d.choice(["Add", "Mul", "Sub"])
    m.keep(m.binary(op, *((x, y) if m.d.flag() else (y, x))))


@block("Div", "Pow", weight=5)
def quotient_or_power(m):
    x = m.tamed(m.pick(), 2.0)
    if m.d.flag():
        exponent = m.d.choice([2.0, 3.0, 0.5, -1.0, 1.5])
        base = x if exponent in (2.0, 3.0) else m.add(m.unary("Abs", x, exact=True), m.g.scalar(0.5))
        m.keep(m.binary("Pow", base, m.g.scalar(exponent), bound=8.0))
        return
    below = m.tamed(partner(m, x), 2.0)
    below = m.add(m.unary("Abs", below, exact=True), m.g.scalar(0.5))
    m.keep(m.binary("Div", x, below, bound=x.bound * 2))


@block("Max", "Min", "Sum", "Mean", weight=4)
def of_several(m):
    op = m.d.choice(["Max", "Min", "Sum", "Mean"])
    x = m.tamed(m.pick())
    values = [x] + [m.tamed(partner(m, x)) for _ in range(m.d.index(3))]
    shape = x.shape
    for other in values[1:]:
        if len(other.shape) > len(shape):
            raise Unfit("the partner is larger")
    m.keep(m.g.node(op, values, shape, exact=op in ("Max", "Min"), bound=sum(v.bound for v in values)))


@block("Clip", weight=3)
def clip(m):
    x = m.pick()
    low = m.g.scalar(m.d.choice([-0.5, 0.0, -1.0])) if m.d.flag() else None
    high = m.g.scalar(m.d.choice([1.0, 6.0, 0.5])) if low is None or m.d.flag() else None
    m.keep(m.g.node("Clip", [x, low, high], x.shape, exact=True, bound=x.bound))


@block("PRelu", "ThresholdedRelu", "Shrink", weight=4)
def with_a_threshold(m):
    op = m.d.choice(["PRelu", "ThresholdedRelu", "Shrink"])
    if op == "PRelu":
        x = m.pick()
        slope = m.g.weight(m.d.choice([(1,) if x.rank else (), x.shape[-1:], (x.shape[1],) + (1,) * (x.rank - 2) if x.rank > 1 else x.shape]))
        m.keep(m.g.node("PRelu", [x, slope], x.shape, bound=x.bound * 2))
        return
    x = m.exact()
    m.g.pin(x)
    attributes = {"alpha": 0.75} if op == "ThresholdedRelu" else {"lambd": 0.5, "bias": m.d.choice([0.0, 0.25])}
    m.keep(m.unary(op, x, exact=op == "ThresholdedRelu", **attributes))


def require_numbers(m):
    """ONNX says of no integer that it is what NaN or an infinity is converted to."""
    if m.g.special:
        raise Unfit("special")


@block("Floor", "Ceil", "Round", "Sign", "Mod", "Cast", weight=4)
def jump(m):
    x = m.exact()
    m.g.pin(x)
    op = m.d.choice(["Floor", "Ceil", "Round", "Sign", "Cast", "Mod"])
    if op == "Cast":
        kind = m.d.choice(["int32", "int64", "int8", "bool"])
        require_numbers(m)
        narrow = m.g.node("Cast", [x], x.shape, kind, exact=True, to=f"kind:{kind}")
        m.keep(narrow)
        m.keep(m.g.node("Cast", [narrow], x.shape, exact=True, to="kind:float"))
    elif op == "Mod":
        m.keep(m.g.node("Mod", [x, m.g.scalar(0.75)], x.shape, exact=False, fmod=1))
    else:
        m.keep(m.unary(op, x, exact=True))


COMPARISONS = ["Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"]


@block(*COMPARISONS, "Where", "And", "Or", "Xor", "Not", weight=6)
def choice_of_two(m):
    a = m.exact()
    b = m.input(a.shape) if m.d.flag() else m.g.scalar(0.0)
    m.g.pin(a, b)
    condition = m.binary(m.d.choice(COMPARISONS), a, b, "bool", exact=True)
    if m.d.flag():
        other = m.input(a.shape, "bool", f"some({m.g.name('')}, 0.5{''.join(f', {e}' for e in a.shape)})")
        condition = m.binary(m.d.choice(["And", "Or", "Xor"]), condition, other, "bool", exact=True)
    if m.d.flag():
        condition = m.unary("Not", condition, exact=True)
    m.keep(condition)
    same = [v for v in m.pool if v.kind == "float" and v.shape == a.shape]
    yes = m.d.choice(same) if same else m.input(a.shape)
    no = m.d.choice([m.g.scalar(0.0), m.g.scalar(-1.5), m.input(a.shape)])
    m.keep(m.g.node("Where", [condition, yes, no], a.shape, exact=True, bound=max(yes.bound, no.bound)))


@block("IsNaN", "IsInf", "Where", "special:found", weight=2)
def found_specials(m):
    shape = m.shape(m.d.index(4))
    dims = "".join(f", {e}" for e in shape)
    special = m.d.choice(["nan", "inf", "-inf"])
    m.g._count += 1
    x = m.input(shape, recipe=f"spiked(uniform({m.g._count}, -1, 1{dims}), {m.g._count}, {special}, 0.2)")
    m.g.special = True
    attributes = {}
    if special != "nan" and m.d.flag():
        attributes = {"detect_negative": m.d.index(2), "detect_positive": 1}
    found = m.g.node("IsNaN" if special == "nan" else "IsInf", [x], shape, "bool", exact=True, **attributes)
    m.keep(found)
    m.keep(m.g.node("Where", [found, m.g.scalar(0.0), x], shape, exact=True))


@block("Add", "Mul", "Max", "Relu", "special:spread", weight=2)
def spread_specials(m):
    """An infinity or NaN goes the way that arithmetic says."""
    shape = m.shape(m.d.index(4))
    dims = "".join(f", {e}" for e in shape)
    m.g._count += 1
    special = m.d.choice(["nan", "inf", "-inf"])
    x = m.input(shape, recipe=f"spiked(uniform({m.g._count}, -1, 1{dims}), {m.g._count}, {special}, 0.05)")
    m.g.special = True
    op = m.d.choice(["Add", "Mul", "Max", "Relu", "Sigmoid", "Exp"])
    m.keep(m.unary(op, x) if op in ("Relu", "Sigmoid", "Exp") else m.binary(op, x, m.g.weight(shape)))


INTEGERS = ["int32", "int64", "int8", "uint8", "uint32", "uint64", "int16", "uint16"]


def some_integers(m, kind, shape=None, low=None, high=100):
    shape = m.shape(m.d.index(4)) if shape is None else shape
    low = (0 if kind.startswith("u") else -100) if low is None else low
    m.g._count += 1
    return m.input(shape, kind, f"integers({m.g._count}, {low}, {high}{''.join(f', {e}' for e in shape)})")


@block("Add", "Sub", "Mul", "Div", "Mod", "Abs", "Neg", "Max", "Min", "Sign", "integer arithmetic", weight=4)
def integer_arithmetic(m):
    kind = m.d.choice(INTEGERS[:2] if m.d.index(3) else INTEGERS)
    x = some_integers(m, kind)
    op = m.d.choice(["Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Abs", "Neg", "Sign"])
    if op in ("Abs", "Neg", "Sign"):
        if kind.startswith("u"):
            raise Unfit("unsigned")
        y = m.unary(op, x, exact=True)
    else:
        # Operators that ORT has for 32 and 64 bits only are made of those.
        if kind not in ("int32", "int64") and op != "Mod":
            x = m.g.node("Cast", [x], x.shape, "int32", exact=True, to="kind:int32")
        y = some_integers(m, x.kind, x.shape, low=1 if op in ("Div", "Mod") else None)
        attributes = {"fmod": 1} if op == "Mod" and m.d.flag() else {}
        y = m.g.node(op, [x, y], x.shape, x.kind, exact=True, **attributes)
    m.keep(y)
    m.keep(m.g.node("Cast", [y], y.shape, exact=False, to="kind:float", bound=100.0))


@block("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "bits", opset=18, weight=2)
def bits(m):
    kind = m.d.choice(INTEGERS)
    x = some_integers(m, kind)
    op = m.d.choice(["BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"])
    m.keep(m.unary(op, x, exact=True) if op == "BitwiseNot"
           else m.binary(op, x, some_integers(m, kind, x.shape), exact=True))


@block("BitShift", "bits", weight=2)
def shifted_bits(m):
    kind = m.d.choice(["uint8", "uint32", "uint64"])
    x = some_integers(m, kind)
    by = some_integers(m, kind, x.shape, high=8)
    m.keep(m.g.node("BitShift", [x, by], x.shape, kind, exact=True, direction=m.d.choice(["LEFT", "RIGHT"])))


@block("CastLike", "Cast", opset=15, weight=2)
def cast_like(m):
    require_numbers(m)
    x = m.exact()
    m.g.pin(x)
    like = some_integers(m, m.d.choice(["int32", "int64"]), (1,))
    m.keep(m.g.node("CastLike", [x, like], x.shape, like.kind, exact=True))


@block("Dropout", weight=2)
def dropout(m):
    x = m.pick()
    m.keep(m.g.node("Dropout", [x, m.g.scalar(0.5)], x.shape, exact=True))


@block("Erf", "Mul", "Add", "Div", "written-out gelu", weight=4)
def gelu_written_out(m):
    x = m.tamed(m.pick())
    if m.d.flag():
        inner = m.unary("Erf", m.binary("Div", x, m.g.scalar(math.sqrt(2))), bound=1.0)
    else:
        cube = m.binary("Pow", x, m.g.scalar(3.0), bound=x.bound**3)
        sum_ = m.add(x, m.scaled(cube, 0.044715))
        inner = m.unary("Tanh", m.scaled(sum_, math.sqrt(2 / math.pi)), bound=1.0)
    m.keep(m.scaled(m.mul(x, m.add(inner, m.g.scalar(1.0))), 0.5))


@block("Sigmoid", "Mul", "written-out silu", weight=4)
def silu_written_out(m):
    x = m.tamed(m.pick())
    m.keep(m.mul(x, m.unary("Sigmoid", x, bound=1.0)))


@block("Clip", "Add", "Mul", "Div", "written-out hard swish", weight=2)
def hard_swish_written_out(m):
    x = m.tamed(m.pick())
    six = m.g.node("Clip", [m.add(x, m.g.scalar(3.0)), m.g.scalar(0.0), m.g.scalar(6.0)], x.shape, bound=6.0)
    m.keep(m.binary("Div", m.binary("Mul", x, six, bound=x.bound * 3), m.g.scalar(6.0), bound=x.bound))


@block("Range", "ConstantOfShape", "EyeLike", "Constant", "Shape", "Size", "folded constants", weight=4)
def made_of_nothing(m):
    """What exporters leave of arange(), zeros(), eye() and sizes."""
    x = m.pick()
    kind = m.d.index(5)
    if kind == 0:
        count = m.size()
        ends = [m.g.scalar(0, "int64"), m.g.scalar(count, "int64"), m.g.scalar(1, "int64")]
        numbers = m.g.node("Range", ends, (count,), "int64", exact=True)
        m.keep(numbers)
        m.keep(m.g.node("Cast", [numbers], (count,), exact=True, to="kind:float", bound=float(count)))
    elif kind == 1:
        sizes = m.g.node("Shape", [x], (x.rank,), "int64", exact=True)
        m.keep(m.g.node("ConstantOfShape", [sizes], x.shape, "wide", exact=True))
    elif kind == 2 and x.rank == 2:
        m.keep(m.g.node("EyeLike", [x], x.shape, exact=True, k=m.d.choice([0, 1, -1]), dtype="kind:float"))
    elif kind == 3:
        count = m.g.node("Size", [x], (), "int64", exact=True)
        m.keep(m.binary("Div", x, m.g.node("Cast", [count], (), exact=True, to="kind:float", bound=1.0), bound=x.bound)
               if x.size else count)
    else:
        number = m.g.node("Constant", [], (), "wide", exact=True, bound=1.5, value_float=1.5)
        number = m.g.node("Cast", [number], (), exact=True, to="kind:float")
        m.keep(m.mul(x, number))
