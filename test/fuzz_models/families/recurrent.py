"""Recurrent layers: LSTM, GRU, RNN; both directions; with and without bias, initial states, lengths; stacked."""

from ..maker import Unfit, block

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def layer(m, op, x, hidden, direction, final=True):
    """The sequence [S, B, D * H] of a layer; what it ends in is kept."""
    steps, batch, width = x.shape
    ways = 2 if direction == "bidirectional" else 1
    rows = GATES[op] * hidden
    m.spend(ways * steps * batch * rows * (width + hidden))
    inputs = [x, m.g.weight((ways, rows, width), width), m.g.weight((ways, rows, hidden), hidden)]
    inputs += [m.g.weight((ways, 2 * rows)) if m.d.flag() else None]
    lengths = None
    if m.d.chance(6):
        lengths = m.g.ints([1 + m.d.index(steps) for _ in range(batch)], "int32")
        m.g.idioms.append("sequence lengths")
    inputs.append(lengths)
    states = 2 if op == "LSTM" else 1
    if m.d.flag():
        inputs += [m.input((ways, batch, hidden)) for _ in range(states)]
    elif op == "LSTM" and m.d.chance(4):
        inputs += [None, None, m.g.weight((ways, 3 * hidden))]
        m.g.idioms.append("peepholes")
    attributes = {"hidden_size": hidden, "direction": direction}
    if op == "GRU":
        attributes["linear_before_reset"] = m.d.index(2)
    while inputs[-1] is None:
        inputs.pop()
    state = ((ways, batch, hidden), "float")
    outputs = [((steps, ways, batch, hidden), "float"), *[state] * states]
    y, *ends = m.g.node(op, inputs, None, outputs=outputs, bound=1.0, **attributes)
    if final:
        m.keep(*ends)
    if ways == 1:
        return m.squeeze(y, [1])
    return m.reshape(m.transpose(y, [0, 2, 1, 3]), (steps, batch, ways * hidden))


@block("LSTM", "GRU", "RNN", "Squeeze", weight=8)
def recurrent(m):
    op = m.d.choice(["LSTM", "GRU", "RNN"])
    hidden, width = m.d.choice([4, 1, 7, 16, 32, 33]), m.d.choice([4, 1, 7, 16, 33])
    x = m.input((m.d.choice([3, 1, 7, 16, 33]), m.d.choice([1, 2, 3]), width))
    direction = m.d.choice(["forward", "bidirectional", "reverse"])
    m.g.idioms.append(f"recurrent: {direction}")
    y = layer(m, op, x, hidden, direction)
    m.keep(y)
    for _ in range(m.d.choice([0, 1, 2], [3, 2, 1])):
        m.g.idioms.append("recurrent: stacked")
        y = layer(m, op, y, hidden, direction, final=False)
        m.keep(y)


@block("LSTM", "GRU", "Transpose", "MatMul", "recurrent: batch first", weight=3)
def tagger(m):
    x = m.input((m.d.choice([1, 2, 3]), m.d.choice([3, 7, 16]), m.d.choice([4, 8, 7])))
    y = layer(m, m.d.choice(["LSTM", "GRU"]), m.transpose(x, [1, 0, 2]), m.d.choice([4, 8, 16]), "bidirectional", False)
    m.keep(m.dense(m.transpose(y, [1, 0, 2]), m.size()))


@block("MatMul", "Split", "Sigmoid", "Tanh", "written-out LSTM", weight=3)
def cell_written_out(m):
    """Steps of an LSTM as a tracer unrolls them."""
    batch, width, hidden = m.d.choice([1, 2]), m.size(16), m.d.choice([4, 7, 16])
    h, c = m.input((batch, hidden)), m.input((batch, hidden))
    weight_x, weight_h = m.g.weight((width, 4 * hidden), width), m.g.weight((hidden, 4 * hidden), hidden)
    bias = m.g.weight((4 * hidden,))
    for _ in range(1 + m.d.index(3)):
        x = m.input((batch, width))
        gates = m.add(m.add(m.matmul(x, weight_x), m.matmul(h, weight_h)), bias)
        i, f, g, o = m.split(gates, 1, [hidden] * 4)
        i, f, o = (m.unary("Sigmoid", gate, bound=1.0) for gate in (i, f, o))
        c = m.add(m.mul(f, c), m.mul(i, m.unary("Tanh", g, bound=1.0)))
        h = m.mul(o, m.unary("Tanh", c, bound=1.0))
        if h.size == 0:
            raise Unfit("nothing")
    m.keep(h, c)
