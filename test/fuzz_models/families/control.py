"""Branches and loops, whose bodies are graphs that read what is around them."""

from ..graph import Graph
from ..maker import Unfit, block


def body(m):
    graph = Graph(m.opset)
    graph._count = m.g._count + 100
    m.g._count += 200
    return graph


@block("If", weight=2)
def branch(m):
    """Both branches read the same value; the condition is known now or not."""
    x = m.tamed(m.pick((1, 2, 3)), 2.0)
    if m.d.flag():
        condition = m.g.constant(f"full({m.d.flag()})", (), "bool")
    else:
        condition = m.input((), "bool", f"full({m.d.flag()})")
    branches = {}
    for name, op in (("then_branch", "Relu"), ("else_branch", m.d.choice(["Neg", "Tanh", "Abs"]))):
        graph = body(m)
        graph.values[x.name] = x
        result = graph.node(op, [x], x.shape)
        for _ in range(m.d.choice([0, 0, 3])):  # Enough to be worth a branch of its own.
            result = graph.node("Tanh", [graph.node("Softmax", [result], x.shape, axis=-1)], x.shape)
        graph.outputs = [result.name]
        branches[name] = graph
    m.keep(m.g.node("If", [condition], x.shape, **branches))


@block("Loop", weight=2)
def ended(m):
    """Trips that data end, by a limit of their number or of what they make."""
    shape = m.shape(m.d.choice([1, 2]))
    state = m.tamed(m.pick(len(shape)), 1.0)
    if state.size > 4096:
        raise Unfit("too large")
    most = m.d.choice([4, 9, 700])
    graph = body(m)
    number = graph.input((), "int64", "full(0)")
    graph.input((), "bool", "full(True)")
    inner = graph.input(state.shape)
    outer = m.input(state.shape)
    last = m.input((), "int64", f"full({m.d.choice([0, 2, 8])})")
    graph.values[outer.name] = outer
    graph.values[last.name] = last
    changed = graph.node("Mul", [graph.node("Add", [inner, outer], state.shape), graph.constant("full(0.5)", ())], state.shape)
    going = graph.node("Less", [number, last], (), "bool")
    graph.outputs = [going.name, changed.name]
    first = m.input((), "bool", f"full({m.d.flag()})") if m.d.flag() else m.g.constant("full(True)", (), "bool")
    trips = m.d.choice([m.g.scalar(most, "int64"), m.input((), "int64", f"full({m.d.choice([0, 3, 20])})")])
    m.keep(*m.g.node("Loop", [trips, first, state], None, outputs=[(state.shape, "float")], bound=2.0, body=graph))


@block("Loop", weight=3)
def loop(m):
    """A state that each trip changes, and what the trips leave behind."""
    shape = m.shape(m.d.choice([1, 2]))
    trips = m.d.choice([2, 1, 3, 7, 150])
    state = m.tamed(m.pick(len(shape)), 1.0)
    if state.size > 4096:
        raise Unfit("too large")
    graph = body(m)
    number = graph.input((), "int64", "full(0)")
    going = graph.input((), "bool", "full(True)")
    inner = graph.input(state.shape)
    step = graph.constant("full(0.5)", ())
    outer = m.input(state.shape)
    graph.values[outer.name] = outer
    on = graph.node("Identity", [going], (), "bool")
    changed = graph.node("Add", [graph.node("Mul", [inner, step], state.shape), outer], state.shape)
    changed = graph.node(m.d.choice(["Tanh", "Relu"]), [changed], state.shape)
    graph.outputs = [on.name, changed.name, *([changed.name] * 0)]
    scanned = graph.node("Identity", [changed], state.shape)
    graph.outputs.append(scanned.name)
    assert number is not None
    results = m.g.node(
        "Loop", [m.g.scalar(trips, "int64"), m.g.constant("full(True)", (), "bool"), state], None,
        outputs=[(state.shape, "float"), ((trips, *state.shape), "float")], bound=2.0, body=graph,
    )
    m.keep(*results)


@block("OptionalHasElement", "OptionalGetElement", "If", opset=18, weight=1)
def maybe(m):
    """A value that is there, and one that is not; branches read what is around them."""
    x = m.tamed(m.pick((1, 2, 3)), 2.0)
    x = m.g.node("OptionalGetElement", [x], x.shape, exact=True)
    condition = m.g.node("OptionalHasElement", [x] if m.d.flag() else [], (), "bool")
    branches = {}
    for name, op in (("then_branch", "Abs"), ("else_branch", "Neg")):
        graph = body(m)
        graph.values[x.name] = x
        graph.outputs = [graph.node(op, [x], x.shape).name]
        branches[name] = graph
    m.keep(m.g.node("If", [condition], x.shape, **branches))


@block("Scan", weight=3)
def scanned(m):
    """Sequences along any dimension and either way; a state, what the steps leave behind, and a value from around."""
    rank = m.d.choice([2, 3])
    shape = list(m.shape(rank))
    axis, out_axis = m.d.index(rank), m.d.index(rank)
    shape[axis] = steps = m.d.choice([3, 1, 2, 7, 150])
    x = m.tamed(m.input(tuple(shape)), 1.0)
    element = tuple(e for a, e in enumerate(shape) if a != axis)
    state = m.tamed(m.input(element), 1.0)
    if state.size > 4096:
        raise Unfit("too large")
    graph = body(m)
    carried, read = graph.input(element), graph.input(element)
    outer = m.input(element)
    graph.values[outer.name] = outer
    changed = graph.node("Add", [graph.node("Mul", [carried, graph.constant("full(0.5)", ())], element), read], element)
    changed = graph.node(m.d.choice(["Tanh", "Relu"]), [changed], element)
    left = graph.node("Sub", [changed, outer], element)
    graph.outputs = [changed.name, left.name]
    stacked = list(element)
    stacked.insert(out_axis, steps)
    attributes = {"scan_input_axes": [axis - rank * m.d.index(2)]} if axis or m.d.flag() else {}
    if out_axis or m.d.flag():
        attributes["scan_output_axes"] = [out_axis]
    for side in ("input", "output"):
        if m.d.flag():
            attributes[f"scan_{side}_directions"] = [m.d.index(2)]
    results = m.g.node(
        "Scan", [state, x], None, outputs=[(element, "float"), (tuple(stacked), "float")], bound=3.0, body=graph,
        num_scan_inputs=1, **attributes,
    )
    m.keep(*results)
