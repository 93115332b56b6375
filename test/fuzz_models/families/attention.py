"""Attention: projections split and permuted in every way that exporters write, masks, shared heads, rotations."""

import math

from ..maker import Unfit, block
from . import masks
from .control import body


def heads_of(m, x, heads, width):
    """[B, S, H * D] as [B, H, S, D]."""
    batch, tokens, _ = x.shape
    return m.transpose(m.reshape(x, (batch, tokens, heads, width)), [0, 2, 1, 3])


def projected(m, x, heads, width, shared):
    """Queries, keys and values [B, H, S, D] of tokens [B, S, C]; keys and values with fewer heads where they are shared."""
    batch, tokens, _ = x.shape
    way = m.d.choice(["apart", "permuted", "split", "sliced", "gathered", "chunked"]) if shared == heads else "apart"
    m.g.idioms.append(f"projection: {way}")
    if way == "apart":
        bias = m.d.flag()
        return [heads_of(m, m.dense(x, h * width, bias), h, width) for h in (heads, shared, shared)]
    both = m.dense(x, 3 * heads * width)
    if way == "chunked":
        parts = m.split(both, 2, [heads * width] * 3)
        return [heads_of(m, part, heads, width) for part in parts]
    if way == "split":
        # Each head's q, k and v lie together.
        together = m.reshape(both, (batch, tokens, heads, 3 * width))
        together = m.transpose(together, [0, 2, 1, 3])
        return m.split(together, 3, [width] * 3)
    five = m.reshape(both, (batch, tokens, 3, heads, width))
    five = m.transpose(five, [2, 0, 3, 1, 4])
    if way == "permuted":
        parts = m.split(five, 0, [1, 1, 1])
        return [m.squeeze(part, [0]) for part in parts]
    if way == "sliced":
        return [m.squeeze(m.sliced(five, 0, i, i + 1), [0]) for i in range(3)]
    return [m.gather(five, m.g.scalar(i, "int64"), 0) for i in range(3)]


def repeated(m, x, times):
    """[B, H, S, D] with each head several times."""
    batch, heads, tokens, width = x.shape
    five = m.expand(m.unsqueeze(x, [2]), (batch, heads, times, tokens, width))
    return m.reshape(five, (batch, heads * times, tokens, width))


def rotated(m, x):
    """x * cos + turned(x) * sin, as language models do it to queries and keys."""
    width = x.shape[-1]
    if width % 2:
        return x
    first = m.sliced(x, x.rank - 1, 0, width // 2)
    second = m.sliced(x, x.rank - 1, width // 2, 2**63 - 1)
    turned = m.concat([m.unary("Neg", second, exact=True), first], x.rank - 1)
    tables = [m.g.weight((1, 1, x.shape[-2], width), bound=1.0) for _ in range(2)]
    return m.add(m.mul(x, tables[0]), m.mul(turned, tables[1]))


def attended(m, q, k, v, mask=True):
    """softmax(q k^T + mask) v over the last two dimensions."""
    width = q.shape[-1]
    where = m.d.index(3)
    scale = width**-0.5
    turned = m.transpose(k, [*range(k.rank - 2), k.rank - 1, k.rank - 2])
    if where == 0:
        scores = m.matmul(q, turned)
        scores = m.scaled(scores, scale) if m.d.flag() else m.binary("Div", scores, m.g.scalar(1 / scale))
    elif where == 1:
        scores = m.matmul(m.scaled(q, scale), turned)
    else:
        root = scale**0.5
        scores = m.matmul(m.scaled(q, root), m.scaled(turned, root))
    scores.bound = 4.0
    if mask:
        scores = masks.masked(m, scores)
    weights = m.softmax(scores, -1 if m.d.flag() else scores.rank - 1)
    result = m.matmul(weights, v)
    result.bound = v.bound
    return result


def causally_attended(m, q, k, v):
    """The same of four dimensions as decoders write it: scores are scaled, and what is ahead is hidden, or some mask."""
    scores = m.scaled(m.matmul(q, m.transpose(k, [0, 1, 3, 2])), q.shape[-1] ** -0.5)
    scores.bound = 4.0
    return m.matmul(m.softmax(masks.masked(m, scores, ahead=m.d.flag())), v)


def multi_head(m, x, heads, width, shared=None, mask=True):
    batch, tokens, channels = x.shape
    shared = shared or heads
    q, k, v = projected(m, x, heads, width, shared)
    if m.d.chance(4):
        m.g.idioms.append("rotary positions")
        q, k = rotated(m, q), rotated(m, k)
    if shared != heads:
        m.g.idioms.append("grouped heads")
        k, v = repeated(m, k, heads // shared), repeated(m, v, heads // shared)
    y = m.transpose(attended(m, q, k, v, mask), [0, 2, 1, 3])
    y = m.reshape(y, (batch, tokens, heads * width))
    if m.d.flag():
        y = m.dense(y, channels)
        y = m.add(x, y) if m.d.flag() else y
    return y


@block("MatMul", "Softmax", "Transpose", "Reshape", "Split", "Slice", "Gather", "Squeeze", "attention", weight=14)
def attention(m):
    heads, width = m.d.choice([1, 2, 3, 4]), m.d.choice([4, 8, 1, 7, 16, 32, 64])
    tokens, batch = m.length(), m.d.choice([1, 2, 3])
    if batch * heads * tokens * tokens * width > m.budget // 4 or batch * heads * tokens * tokens > 1 << 19:
        raise Unfit("too large")
    x = m.input((batch, tokens, m.d.choice([8, 7, 16, 33])))
    shared = heads
    if heads > 1 and m.d.chance(4):
        shared = 1 if heads % 2 else heads // 2
    m.keep(multi_head(m, x, heads, width, shared, mask=m.d.index(4) != 1))


@block("MatMul", "Softmax", "cross attention", weight=4)
def cross_attention(m):
    heads, width = m.d.choice([1, 2, 4]), m.d.choice([8, 5, 16, 64])
    batch, rows, columns = m.d.choice([1, 2]), m.length(), m.length()
    if rows * columns > 1 << 15:
        raise Unfit("too large")
    q = m.input((batch, heads, rows, width))
    k, v = m.input((batch, heads, columns, width)), m.input((batch, heads, columns, width))
    y = attended(m, q, k, v)
    m.keep(y)
    if m.d.flag():
        m.keep(m.reshape(m.transpose(y, [0, 2, 1, 3]), (batch, rows, heads * width)))


@block("MatMul", "Softmax", "Concat", "decoding step", weight=3)
def decoding(m):
    """One token beside the keys and values of earlier ones."""
    heads, width, past = m.d.choice([1, 2, 4]), m.d.choice([8, 16, 64]), m.length()
    new = m.d.choice([1, 1, 4])
    q = m.input((1, heads, new, width))
    keys, values = (
        m.concat([m.input((1, heads, past, width)), m.input((1, heads, new, width))], 2) for _ in range(2)
    )
    m.keep(keys)
    m.keep(attended(m, q, keys, values))


def hidden_by(m, batch, heads, rows, columns):
    """A mask of the operator, as booleans or to be added, known or fed."""
    who, leading = masks.extents(m, batch, heads)
    kinds, recipe, shape = masks.several(m, leading, rows, columns)
    m.g.idioms += [f"mask: {name}" for name in (who, *kinds)]
    source = m.g.input if m.d.flag() else m.g.constant
    if m.d.flag():
        return source(recipe=recipe, shape=shape, kind="bool")
    return source(recipe=f"chosen({recipe}, 0.0, {m.d.choice(['-inf', '-1.5'])})", shape=shape)


@block("Attention", "attention as an operator", opset=23, weight=6)
def attention_operator(m):
    heads, shared = m.d.choice([(2, 2), (1, 1), (4, 4), (4, 2), (3, 1)], [4, 2, 2, 3, 2])
    width, batch, rows = m.d.choice([8, 4, 16, 7, 64]), m.d.choice([1, 2, 3]), m.length()
    wide = m.d.choice([width, 5, 16], [4, 1, 1])
    new = rows if m.d.flag() else m.length()
    past = m.d.choice([0, 1, 16, 33], [4, 1, 1, 1])
    columns = past + new
    flat = m.d.flag()
    m.spend(batch * heads * rows * columns * (width + wide))
    if batch * heads * rows * columns > 1 << 17:
        raise Unfit("too large")
    several = lambda tokens, count, size: m.input(
        (batch, tokens, count * size) if flat else (batch, count, tokens, size)
    )
    inputs = [several(rows, heads, width), several(new, shared, width), several(new, shared, wide), None, None, None, None]
    attributes = {"is_causal": m.d.index(2)}
    if flat:
        attributes |= {"q_num_heads": heads, "kv_num_heads": shared}
    if m.d.flag():
        attributes["scale"] = m.d.choice([0.125, 0.5, 1.0])
    if m.d.chance(4):
        attributes["softcap"] = m.d.choice([1.0, 8.0])
    if m.d.flag():
        inputs[3] = hidden_by(m, batch, heads, rows, columns)
    if past:
        inputs[4:6] = [m.input((batch, shared, past, size)) for size in (width, wide)]
    elif m.opset >= 24 and m.d.flag():
        m.g.idioms.append("attention: valid keys")
        m.g._count += 1
        inputs[6] = m.input((batch,), "int64", f"integers({m.g._count}, {m.d.choice([1, 0])}, {columns + 1}, {batch})")
    shape = (batch, rows, heads * wide) if flat else (batch, heads, rows, wide)
    outputs = [(shape, "float")]
    if past or m.d.chance(4):
        outputs += [((batch, shared, columns, size), "float") for size in (width, wide)]
    if len(outputs) > 1 and m.d.flag():
        attributes["qk_matmul_output_mode"] = m.d.index(4)
        outputs.append(((batch, heads, rows, columns), "float"))
    while inputs[-1] is None:
        inputs.pop()
    m.keep(*m.g.node("Attention", inputs, None, outputs=outputs, bound=2.0, **attributes))


def some_integers(m, low, high, shape):
    """Numbers from low to high, known or fed."""
    m.g._count += 1
    recipe = f"integers({m.g._count}, {low}, {high + 1}{''.join(f', {d}' for d in shape)})"
    return m.g.constant(recipe, shape, "int32") if m.d.flag() else m.g.input(shape, "int32", recipe)


def scores_added(m, batch, heads, rows, columns):
    return m.input((m.d.choice([batch, 1]), m.d.choice([heads, 1]), rows, columns))


def microsoft(m, op, inputs, outputs, kept=None, **attributes):
    """The first `kept` outputs, or all, are for others to read."""
    while inputs[-1] is None:
        inputs.pop()
    made = m.g.node(op, inputs, None, outputs=[(shape, "float") for shape in outputs], bound=2.0, domain="com.microsoft", **attributes)
    m.keep(*made[:kept])


@block("GroupQueryAttention", weight=4)
def group_query_attention(m):
    """A prompt, or a step behind keys in a cache that grows or has room for more."""
    shared = m.d.choice([2, 1, 3])
    heads, width = shared * m.d.choice([2, 1, 4]), m.d.choice([16, 32])
    batch, rows = m.d.choice([2, 1, 3]), m.d.choice([1, 7, 16])
    kind = m.d.choice(["prompt", "grown", "room"])
    m.g.idioms.append(f"grouped attention: {kind}, {rows} rows")
    batch = 1 if kind != "prompt" and rows > 1 else batch
    past = 0 if kind == "prompt" else m.d.choice([9, 32])
    total = past + rows if kind != "room" else m.d.choice([rows, past]) if past >= rows else past + rows
    held = max(past, total)
    m.spend(batch * heads * rows * held * width)
    several = lambda count: m.input((batch, rows, count * width))
    packed = m.d.chance(4)
    inputs = [several(heads + 2 * shared), None, None] if packed else [several(heads), several(shared), several(shared)]
    inputs += [m.input((batch, shared, past, width)) for _ in range(2)] if past else [None, None]
    # Rows that a prompt is padded with may be anything: there are none.
    inputs += [some_integers(m, 0 if rows == 1 else total - 1, total - 1, (batch,))]
    inputs += [m.g.constant(f"full({total})", (), "int32"), None, None, None, None, None]
    attributes = {"num_heads": heads, "kv_num_heads": shared}
    if m.d.flag():
        attributes |= {"do_rotary": 1, "rotary_interleaved": m.d.index(2)}
        inputs[7:9] = [m.g.weight((40 + held, m.d.choice([8, width // 2])), bound=1.0)] * 2
    if m.d.chance(4):
        attributes["local_window_size"] = m.d.choice([1, 5, 100])
    if m.d.chance(4):
        attributes["softcap"] = m.d.choice([1.0, 8.0])
    if m.d.chance(4):
        inputs[10] = scores_added(m, batch, heads, rows, total)
    if m.d.chance(4):
        inputs[11] = m.g.weight((heads,))
    elif m.d.chance(4):
        attributes["smooth_softmax"] = 1
    # ONNX Runtime is wrong without the caches, in which what is behind the keys of a sample may be anything.
    outputs = [(batch, rows, heads * width)] + [(batch, shared, held, width)] * 2
    kept = 3 if total == held and (rows > 1 or not past) else 1
    microsoft(m, "GroupQueryAttention", inputs, outputs, kept, **attributes)


def padding(m, batch, rows, columns):
    """A mask of com.microsoft's, of which keys stay."""
    kind = m.d.choice(["lengths", "keys", "queries", "none"])
    m.g.idioms.append(f"padding: {kind}")
    if kind == "none":
        return None
    if kind == "lengths":
        return some_integers(m, 1, columns, (batch,))
    return some_integers(m, 0, 1, (batch, columns) if kind == "keys" else (batch, rows, columns))


@block("MultiHeadAttention", weight=4)
def multi_head_attention(m):
    heads, width, batch, rows = m.d.choice([2, 1, 4]), m.d.choice([8, 16, 5]), m.d.choice([2, 1, 3]), m.length()
    causal = m.d.flag()
    new = rows if causal or m.d.flag() else m.length()
    past = m.d.choice([0, 9, 32], [3, 1, 1])
    wide = width if past else m.d.choice([width, 7])
    columns = past + new
    m.spend(batch * heads * rows * columns * (width + wide))
    if batch * heads * rows * columns > 1 << 17:
        raise Unfit("too large")
    inputs = [m.input((batch, rows, heads * width)), m.input((batch, new, heads * width)), m.input((batch, new, heads * wide))]
    inputs += [m.g.weight((heads * (2 * width + wide),)) if m.d.flag() else None, None, None, None, None]
    inputs[4] = padding(m, batch, rows, columns)
    if m.d.chance(4):
        inputs[5] = scores_added(m, batch, heads, rows, columns)
    attributes = {"num_heads": heads, "unidirectional": int(causal), "mask_filter_value": -4.0}
    if past:
        inputs[6:8] = [m.input((batch, heads, past, width)) for _ in range(2)]
    if m.d.flag():
        attributes["scale"] = m.d.choice([0.125, 0.5])
    outputs = [(batch, rows, heads * wide)]
    if past:
        outputs += [(batch, heads, columns, size) for size in (width, wide)]
    microsoft(m, "MultiHeadAttention", inputs, outputs, **attributes)


@block("Attention", "attention with projections", weight=3)
def projected_attention(m):
    heads, width, batch, rows = m.d.choice([2, 1, 4]), m.d.choice([8, 16, 5]), m.d.choice([2, 1]), m.length()
    channels, past = m.d.choice([8, 16, 33]), m.d.choice([0, 9])
    m.spend(batch * heads * rows * (past + rows) * width)
    if batch * heads * rows * (past + rows) > 1 << 17:
        raise Unfit("too large")
    all_of_them = 3 * heads * width
    inputs = [m.input((batch, rows, channels)), m.g.weight((channels, all_of_them), channels), m.g.weight((all_of_them,))]
    inputs += [padding(m, batch, rows, past + rows), m.input((2, batch, heads, past, width)) if past else None]
    outputs = [(batch, rows, heads * width)]
    if past:
        outputs.append((2, batch, heads, past + rows, width))
    attributes = {"num_heads": heads, "unidirectional": m.d.index(2), "mask_filter_value": -4.0}
    microsoft(m, "Attention", inputs, outputs, **attributes)


@block("MatMul", "Softmax", "window attention", weight=3)
def window_attention(m):
    """Windows of an image attend to themselves, with a bias for each head and, where windows are shifted, a mask."""
    side, windows, heads, width = m.d.choice([2, 3, 4, 7]), m.d.choice([2, 1, 3]), m.d.choice([1, 2]), m.d.choice([4, 8])
    channels = heads * width
    image = m.input((1, side * windows, side * windows, channels))
    if m.d.flag():
        m.g.idioms.append("roll")
        for axis in (1, 2):
            extent = image.shape[axis]
            parts = [m.sliced(image, axis, side // 2, 2**63 - 1), m.sliced(image, axis, 0, side // 2)]
            image = m.concat([p for p in parts if p.shape[axis]], axis)
            if image.shape[axis] != extent:
                raise Unfit("a roll keeps the size")
    x = m.reshape(image, (1, windows, side, windows, side, channels))
    x = m.reshape(m.transpose(x, [0, 1, 3, 2, 4, 5]), (windows * windows, side * side, channels))
    q, k, v = projected(m, x, heads, width, heads)
    turned = m.transpose(k, [0, 1, 3, 2])
    scores = m.scaled(m.matmul(q, turned), width**-0.5)
    scores = m.add(scores, m.g.weight((1, heads, side * side, side * side)))
    if m.d.flag():
        _, recipe, shape = masks.several(m, (windows * windows,), side * side, side * side)
        mask = m.g.constant(f"chosen({recipe}, 0.0, -100.0)", shape)
        five = m.reshape(scores, (1, windows * windows, heads, side * side, side * side))
        five = m.add(five, m.unsqueeze(m.unsqueeze(mask, [1]), [0]))
        scores = m.reshape(five, scores.shape)
    y = m.matmul(m.softmax(scores), v)
    y = m.reshape(m.transpose(y, [0, 2, 1, 3]), (windows * windows, side * side, channels))
    y = m.reshape(y, (1, windows, windows, side, side, channels))
    m.keep(m.reshape(m.transpose(y, [0, 1, 3, 2, 4, 5]), (1, windows * side, windows * side, channels)))


@block("MatMul", "Relu", "Div", "ReduceSum", "linear attention", weight=2)
def linear_attention(m):
    batch, tokens, width = m.d.choice([1, 2]), m.length(), m.d.choice([4, 8, 16])
    q, k, v = (m.input((batch, tokens, width)) for _ in range(3))
    q, k = (m.add(m.unary("Relu", part, exact=True), m.g.scalar(0.125)) for part in (q, k))
    state = m.matmul(m.transpose(k, [0, 2, 1]), v)
    total = m.matmul(q, state)
    norm = m.matmul(q, m.transpose(m.reduce("ReduceSum", k, [1]), [0, 2, 1]))
    m.keep(m.binary("Div", total, norm, bound=2.0))


@block("FlexAttention", opset=28, last=28)  # ONNX Runtime 1.31 has none.
def flexible_attention(m):
    """Scores that a graph adds something to or bounds, and weights that one scales."""
    heads, shared = m.d.choice([(2, 2), (4, 2), (3, 1)])
    batch, rows, columns, width, wide = m.d.choice([1, 2]), m.size(), m.size(), m.d.choice([8, 4, 7]), m.d.choice([8, 5])
    shape = (batch, heads, rows, columns)
    m.spend(math.prod(shape) * (width + wide))
    q, k, v = (m.input((batch, *shape)) for shape in ((heads, rows, width), (shared, columns, width), (shared, columns, wide)))
    attributes = {"domain": "ai.onnx.preview", "softmax_precision": "kind:float"}
    for name, op in (("score_mod", m.d.choice(["Add", "Tanh", None])), ("prob_mod", m.d.choice(["Mul", None]))):
        if op:
            graph = body(m)
            x = graph.input(shape)
            others = [] if op == "Tanh" else [graph.constant("full(0.5)", ())]
            graph.outputs = [graph.node(op, [x, *others], shape).name]
            attributes[name] = graph
    m.keep(m.g.node("FlexAttention", [q, k, v], (batch, heads, rows, wide), bound=2.0, **attributes))


@block("LinearAttention", "linear attention as an operator", opset=27, last=27)
def linear_attention_operator(m):
    rule = m.d.choice(["gated_delta", "linear", "gated", "delta"])
    shared = m.d.choice([1, 2, 3])
    heads = shared * m.d.choice([1, 2, 3], [3, 1, 1])
    batch, tokens = m.d.choice([1, 2]), m.d.choice([7, 1, 2, 16, 33], [3, 3, 1, 2, 1])
    width, wide = (m.d.choice([8, 4, 16, 5, 1]) for _ in range(2))
    m.spend(batch * tokens * width * wide * (4 * shared + heads))
    several = lambda *numbers, bound=1.75: m.input((batch, tokens, *numbers), bound=bound)
    # Corrections grow where keys are longer than 1.
    inputs = [several(heads * width), several(shared * width, bound=width**-0.5), several(shared * wide), None, None, None]
    if m.d.flag():
        inputs[3] = m.input((batch, shared, width, wide))
    if rule.startswith("gated"):
        shape = (batch, tokens, shared * m.d.choice([1, width]))
        m.g._count += 1
        inputs[4] = m.input(shape, recipe=f"uniform({m.g._count}, -1.5, 0.0, {', '.join(map(str, shape))})")
    if rule.endswith("delta"):
        m.g._count += 1
        shape = (batch, tokens, m.d.choice([shared, 1]))
        inputs[5] = m.input(shape, recipe=f"uniform({m.g._count}, 0.0, 1.0, {', '.join(map(str, shape))})", bound=1.0)
    attributes = {"q_num_heads": heads, "kv_num_heads": shared, "update_rule": rule}
    if m.d.flag():
        attributes["scale"] = m.d.choice([0.5, 1.0])
    while inputs[-1] is None:
        inputs.pop()
    outputs = [((batch, tokens, heads * wide), "float"), ((batch, shared, width, wide), "float")]
    bound = 2.0 * math.sqrt(tokens)
    m.keep(*m.g.node("LinearAttention", inputs, None, outputs=outputs, bound=bound, **attributes))


@block("MatMul", "Softmax", "channel attention", weight=2)
def channel_attention(m):
    x = m.tamed(m.pick(4, test=lambda v: v.size and v.shape[2] * v.shape[3] > 1), 2.0)
    flat = m.reshape(x, (x.shape[0], x.shape[1], math.prod(x.shape[2:])))
    scores = m.scaled(m.matmul(flat, m.transpose(flat, [0, 2, 1])), 1 / flat.shape[2])
    m.keep(m.reshape(m.matmul(m.softmax(scores), flat), x.shape))
