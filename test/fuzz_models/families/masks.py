"""Masks in every spelling: which columns a row sees, for whom, how it is written, and whether it is known now."""

import math


def seen(m, rows, columns):
    """A recipe of booleans [rows, columns]."""
    kind = m.d.choice(["causal", "sliding", "banded", "blocked", "padded", "random", "everything"], [6, 3, 2, 3, 3, 2, 1])
    if kind == "causal":
        return "causal", f"causal({rows}, {columns})"
    if kind == "sliding":
        return kind, f"sliding({rows}, {columns}, {m.d.choice([1, 4, 7, 32, 64])})"
    if kind == "banded":
        return kind, f"banded({rows}, {columns}, {m.d.choice([0, 1, 5, 33])})"
    if kind == "blocked":
        return kind, f"blocked({rows}, {columns}, {m.d.choice([1, 8, 16, 31, 64])})"
    if kind == "padded":
        return kind, f"padded({rows}, {columns}, {max(1, columns - m.d.choice([0, 1, 3, columns // 2]))})"
    if kind == "random":
        m.g._count += 1
        # A row always sees itself, or the first column where there are fewer.
        return kind, f"some({m.g._count}, 0.5, {rows}, {columns}) | (banded({rows}, {columns}, 0)) | padded({rows}, {columns}, 1)"
    return kind, f"full(True, {rows}, {columns})"


def extents(m, batch, heads):
    """For whom: everyone, a head, a batch, both."""
    who = m.d.choice(["all", "per head", "per batch", "both"], [6, 2, 2, 1])
    return {
        "all": ("all", m.d.choice([(), (1, 1), (1,)])),
        "per head": (who, (heads,) if m.d.flag() else (1, heads)),
        "per batch": (who, (batch, 1)),
        "both": (who, (batch, heads)),
    }[who]


def several(m, leading, rows, columns):
    """A recipe of booleans [*leading, rows, columns] whose leading ones differ, and the shape and names of it."""
    count = math.prod(leading)
    kinds, recipes = zip(*(seen(m, rows, columns) for _ in range(min(count, 3))))
    if count == 1:
        recipe = recipes[0]
    else:
        recipe = f"stacked({', '.join(recipes[i % len(recipes)] for i in range(count))})"
    shape = (*leading, rows, columns)
    return set(kinds), f"({recipe}).reshape({shape})", shape


HIDING = ["-inf", "-10000.0", "lowest", "-1e9", "lowest / 2"]


def masked(m, scores, ahead=False):
    """Scores [batch, heads, rows, columns] (or fewer dimensions) behind a mask, or a constant one of what is ahead."""
    batch, heads = (1, 1, *scores.shape[:-2])[-2:]
    who, leading = ("all", ()) if ahead else extents(m, batch, heads)
    while len(leading) + 2 > scores.rank:
        leading = leading[1:]
    rows, columns = scores.shape[-2:]
    if ahead:
        kinds, recipe, shape = {"causal"}, f"causal({rows}, {columns})", (rows, columns)
    else:
        kinds, recipe, shape = several(m, leading, rows, columns)
    at_run = not ahead and m.d.chance(3)
    spelling = m.d.choice(["additive", "where", "masked fill", "from bool", "from int"], [5, 3, 3, 2, 2])
    hiding = m.d.choice(HIDING, [4, 3, 3, 1, 1])
    m.g.idioms += [f"mask: {kind}" for kind in kinds]
    m.g.idioms += [f"mask: {who}", f"mask: {spelling}", f"mask: {hiding}", f"mask: {'run' if at_run else 'constant'}"]
    source = lambda text, kind: (m.g.input if at_run else m.g.constant)(
        **{"shape": shape, "kind": kind, "recipe": text}
    )
    if spelling == "additive":
        return m.g.node("Add", [scores, source(f"chosen({recipe}, 0.0, {hiding})", "float")], scores.shape)
    fill = m.g.constant(f"full({hiding})", ())
    if spelling == "where":
        return m.g.node("Where", [source(recipe, "bool"), scores, fill], scores.shape)
    if spelling == "masked fill":
        return m.g.node("Where", [source(f"~{recipe}", "bool"), fill, scores], scores.shape)
    if spelling == "from bool":
        zero = m.g.scalar(0.0)
        bias = m.g.node("Where", [source(recipe, "bool"), zero, fill], shape, exact=True)
        return m.g.node("Add", [scores, bias], scores.shape)
    # (1 - mask) * -1e4 or lowest, as the encoders of transformers write it; -inf would make NaN of 0 there.
    ones = m.g.node("Cast", [source(recipe, "int64")], shape, exact=True, to="kind:float")
    hidden = m.g.node("Sub", [m.g.scalar(1.0), ones], shape, exact=True, bound=1.0)
    fill = m.g.constant(f"full({'-10000.0' if hiding == '-inf' else hiding})", ())
    bias = m.g.node("Mul", [hidden, fill], shape, exact=True, bound=1.0)
    return m.g.node("Add", [scores, bias], scores.shape)
