"""Products: every rank and broadcast of MatMul, Gemm with its flags, Einsum as models spell it, gated products."""

import math

from ..maker import Unfit, block


@block("MatMul", weight=8)
def product(m):
    a = m.tamed(m.pick((2, 3, 4)), 2.0)
    columns = m.size()
    if m.d.flag():
        return m.keep(m.dense(a, columns))
    # Both are of the run; batches broadcast in every way that numpy knows.
    batch = [e if m.d.flag() else 1 for e in a.shape[:-2]]
    if m.d.chance(3):
        batch = batch[m.d.index(len(batch) + 1) :]
    b = m.input([*batch, a.shape[-1], columns])
    if m.d.chance(3):
        b = m.transpose(m.input([*batch, columns, a.shape[-1]]), [*range(len(batch)), len(batch) + 1, len(batch)])
    return m.keep(m.matmul(a, b))


@block("MatMul", "product with a constant of zeros", weight=3)
def product_with_zeros(m):
    x = m.tamed(m.pick((2, 3)), 2.0)
    is_left = m.d.flag()
    shape = (m.size(), x.shape[-2]) if is_left else (x.shape[-1], m.size())
    where = f"({m.nonzeros(*shape)})" if m.d.flag() else f"({m.nonzeros(*shape[::-1])}).T"
    shape = (*(x.shape[:-2] if m.d.chance(3) else ()), *shape)
    factor = f"full(1.0, {', '.join(map(str, shape))})" if m.d.chance(3) else m.g.random(shape)
    weight = m.g.constant(f"{where} * {factor}", shape, bound=1.75)
    m.keep(m.matmul(weight, x) if is_left else m.matmul(x, weight))


@block("MatMul", "product with alike rows", weight=2)
def product_with_alike_rows(m):
    x = m.tamed(m.pick((2, 3)), 2.0)
    is_left = m.d.flag()
    inner, rows, different = x.shape[-2] if is_left else x.shape[-1], m.size(), m.d.choice([1, 2, 3, 5])
    point = f"np.arange({rows})"
    which = m.d.choice([f"{point} % {different}", f"{point} * {different} // {rows}", f"{point} ** 2 % {different}"])
    recipe = f"{m.g.random((different, inner), 1.0)}[{which}]"
    if m.d.flag():
        recipe += f" * {m.g.random((rows, 1))}"
    shape = (rows, inner) if is_left else (inner, rows)
    weight = m.g.constant(recipe if is_left else f"({recipe}).T", shape, bound=1.75)
    m.keep(m.matmul(weight, x) if is_left else m.matmul(x, weight))


@block("MatMul", "vector product", weight=2)
def vector_product(m):
    a = m.tamed(m.pick((2, 3)), 2.0)
    vector = m.g.weight((a.shape[-1],), a.shape[-1])
    m.spend(a.size)
    m.keep(m.g.node("MatMul", [a, vector], a.shape[:-1]))


@block("Gemm", weight=5)
def gemm(m):
    rows, inner, columns = m.size(), m.length(), m.size()
    m.spend(rows * inner * columns)
    turned_a, turned_b = m.d.index(2), m.d.index(2)
    a = m.input((inner, rows) if turned_a else (rows, inner)) if turned_a else m.tamed(m.pick(2), 2.0)
    rows, inner = a.shape[::-1] if turned_a else a.shape
    b = m.g.weight((columns, inner) if turned_b else (inner, columns), inner)
    inputs = [a, b]
    if m.d.flag():
        inputs.append(m.g.weight(m.d.choice([(columns,), (rows, columns), (1, columns), (rows, 1), ()])))
    attributes = {"transA": turned_a, "transB": turned_b}
    if m.d.chance(3):
        attributes |= {"alpha": 0.5, "beta": m.d.choice([0.25, 2.0])}
    m.keep(m.g.node("Gemm", inputs, (rows, columns), bound=2.0, **attributes))


EQUATIONS = [
    "ij,jk->ik",
    "bij,bjk->bik",
    "bij,bkj->bik",
    "bhid,bhjd->bhij",
    "bhij,bhjd->bhid",
    "bnc,mc->bnm",
    "bchw,cd->bdhw",
    "i,j->ij",
    "bij,bij->b",
    "bij->bji",
    "bii->bi",
    "bij->b",
    "ab,bc,cd->ad",
    "b...i,b...j->b...ij",
]


@block("Einsum", weight=5)
def einsum(m):
    equation = m.d.choice(EQUATIONS)
    reads, result = equation.split("->")
    extents = {}
    shape_of = lambda term: [
        extents.setdefault(letter, m.size(16 if len(term) > 3 else 33)) for letter in term.replace("...", "E")
    ]
    operands = []
    for term in reads.split(","):
        shape = shape_of(term)
        operands.append(m.input(shape) if m.d.flag() or not operands else m.g.weight(shape, 4))
    m.spend(math.prod(extents.values()))
    m.keep(m.g.node("Einsum", operands, shape_of(result), bound=4.0, equation=equation))


GATES = ["Sigmoid", "Gelu", "Silu", "Relu", "Tanh"]


def gated(m, gate, value):
    kind = m.d.choice(GATES)
    gate = m.tamed(gate)
    if kind == "Gelu":
        inner = m.unary("Erf", m.binary("Div", gate, m.g.scalar(math.sqrt(2.0))), bound=1.0)
        gate = m.scaled(m.mul(gate, m.add(inner, m.g.scalar(1.0))), 0.5)
    elif kind == "Silu":
        gate = m.mul(gate, m.unary("Sigmoid", gate, bound=1.0))
    else:
        gate = m.unary(kind, gate)
    return m.mul(gate, m.tamed(value)) if m.d.flag() else m.mul(m.tamed(value), gate)


@block("MatMul", "Split", "Slice", "Mul", "gated product", weight=6)
def gated_product(m):
    """SwiGLU, GeGLU, GLU: two products, or one that is split."""
    x = m.tamed(m.pick((2, 3)), 2.0)
    columns = m.size()
    way = m.d.index(3)
    if way == 0:
        gate, value = m.dense(x, columns), m.dense(x, columns)
    else:
        both = m.dense(x, 2 * columns)
        if way == 1:
            gate, value = m.split(both, both.rank - 1, [columns, columns])
        else:
            gate = m.sliced(both, both.rank - 1, 0, columns)
            value = m.sliced(both, both.rank - 1, columns, 2**63 - 1 if m.d.flag() else 2 * columns)
    y = gated(m, gate, value)
    m.keep(m.dense(y, x.shape[-1]) if m.d.flag() else y)


@block("MatMul", "Add", "residual", "perceptron", weight=4)
def perceptron(m):
    x = m.tamed(m.pick((2, 3)), 2.0)
    y = m.activated(m.dense(x, m.size() * m.d.choice([1, 2, 4])))
    y = m.dense(y, x.shape[-1])
    m.keep(m.add(x, y) if m.d.flag() else m.add(y, x))


@block("MatMul", "Concat", "products of one value", weight=3)
def products_of_one_value(m):
    x = m.tamed(m.pick((2, 3)), 2.0)
    parts = [m.dense(x, m.size()) for _ in range(2 + m.d.index(3))]
    if m.d.flag():
        parts = [m.activated(part) for part in parts]
    m.keep(m.concat(parts, x.rank - 1))


@block("MatMul", "Gather", "Mul", "mixture of experts", weight=2)
def experts(m):
    x = m.tamed(m.pick(2), 2.0)
    count, columns = m.d.choice([2, 3, 4]), m.size(16)
    gates = m.softmax(m.dense(x, count))
    outputs = [m.unsqueeze(m.activated(m.dense(x, columns)), [1]) for _ in range(count)]
    stacked = m.concat(outputs, 1)
    weighted = m.mul(stacked, m.unsqueeze(gates, [2]))
    if weighted.size == 0:
        raise Unfit("nothing")
    m.keep(m.reduce("ReduceSum", weighted, [1], keep=False))
