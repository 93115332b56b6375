"""Reductions over every set of dimensions, cumulative sums and products, and what picks by size."""

from ..maker import Unfit, block

SUMS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd",
        "ReduceLogSumExp", "ReduceLogSum"]


@block(*SUMS, weight=9)
def reduction(m):
    x = m.tamed(m.pick((1, 2, 3, 4)), 4.0)
    op = m.d.choice(SUMS)
    axes = [a for a in range(x.rank) if m.d.flag()] or [x.rank - 1]
    if op == "ReduceProd":
        x = m.unary("Cos", x, bound=1.0)
    if op == "ReduceLogSum":
        x = m.add(m.unary("Abs", x, exact=True), m.g.scalar(0.5))
    m.keep(m.reduce(op, x, axes, m.d.flag(), exact=op in ("ReduceMax", "ReduceMin"), bound=4.0))


@block("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "integer reduction", weight=2)
def integer_reduction(m):
    kind = m.d.choice(["int64", "int32"])
    shape = m.shape(m.d.choice([1, 2, 3]))
    m.g._count += 1
    op = m.d.choice(["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"])
    low, end = (-1, 2) if op == "ReduceProd" else (-9, 10)  # What overflows has no one meaning.
    x = m.input(shape, kind, f"integers({m.g._count}, {low}, {end}{''.join(f', {e}' for e in shape)})")
    m.keep(m.reduce(op, x, [m.d.index(x.rank)], m.d.flag(), exact=True))


@block("CumSum", weight=3)
def cumulative_sum(m):
    x = m.tamed(m.pick((1, 2, 3)), 2.0)
    axis = m.g.scalar(m.d.index(x.rank), "int64")
    attributes = {"exclusive": m.d.index(2), "reverse": m.d.index(2)}
    m.keep(m.g.node("CumSum", [x, axis], x.shape, bound=8.0, **attributes))


@block("CumProd", opset=26, last=26, weight=3)
def cumulative_product(m):
    x = m.input((m.length(), m.size(8))) if m.d.flag() else m.pick((1, 2, 3))
    x = m.unary("Cos", m.tamed(x, 4.0), bound=1.0)
    axis = m.g.scalar(m.d.index(x.rank), "int64")
    m.keep(m.g.node("CumProd", [x, axis], x.shape, bound=1.0, exclusive=m.d.index(2), reverse=m.d.index(2)))


@block("ArgMax", "ArgMin", weight=3)
def argument(m):
    shape = m.shape(m.d.choice([1, 2, 3]))
    m.g._count += 1
    # Some have equal elements, some have none.
    dims = "".join(f", {e}" for e in shape)
    recipe = f"distinct({m.g._count}{dims})" if m.d.flag() else f"integers({m.g._count}, -3, 4{dims}) / 2.0"
    x = m.input(shape, recipe=recipe)
    m.g.pin(x)
    axis, keep = m.d.index(x.rank), m.d.flag()
    result = [1 if a == axis else e for a, e in enumerate(shape) if keep or a != axis]
    attributes = {"axis": axis, "keepdims": int(keep), "select_last_index": m.d.index(2)}
    m.keep(m.g.node(m.d.choice(["ArgMax", "ArgMin"]), [x], result, "int64", exact=True, **attributes))


@block("Hardmax", weight=1)
def hardmax(m):
    shape = m.shape(m.d.choice([2, 3, 1]))
    m.g._count += 1
    x = m.input(shape, recipe=f"distinct({m.g._count}{''.join(f', {e}' for e in shape)})")
    m.g.pin(x)
    m.keep(m.g.node("Hardmax", [x], shape, exact=True, axis=m.d.index(x.rank)))


@block("TopK", "Gather", weight=3)
def largest(m):
    shape = m.shape(m.d.choice([1, 2, 3]))
    axis = m.d.index(len(shape))
    count = 1 + m.d.index(min(shape[axis], 8))
    m.g._count += 1
    x = m.input(shape, recipe=f"distinct({m.g._count}{''.join(f', {e}' for e in shape)})", bound=8.0)
    m.g.pin(x)
    result = [count if a == axis else e for a, e in enumerate(shape)]
    best, where = m.g.node("TopK", [x, m.g.ints([count])], None, outputs=[(result, "float"), (result, "int64")],
                           exact=True, axis=axis, largest=m.d.index(2), sorted=1)
    m.keep(best, where)
    if len(shape) == 1:
        table = m.g.weight((shape[0], m.size()))
        m.keep(m.gather(table, where, 0))


@block("ReduceMean", "Sub", "Mul", "ReduceSum", "statistics", weight=2)
def statistics(m):
    x = m.tamed(m.pick((2, 3, 4)), 2.0)
    if not x.size:
        raise Unfit("nothing")
    axis = m.d.index(x.rank)
    mean = m.reduce("ReduceMean", x, [axis])
    difference = m.binary("Sub", x, mean)
    m.keep(mean)
    m.keep(m.reduce("ReduceSum", m.mul(difference, difference), [axis], m.d.flag(), bound=8.0))
