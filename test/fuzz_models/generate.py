"""A program of blocks with their decisions, and the model that it makes.

The program is what a seed stands for, and what the reducer shortens: a list of (block, decisions), and the operator
set. Making the model again from a program gives the same model.
"""

import copy
import random

from . import families  # noqa: F401
from .draw import Draw
from .graph import Graph
from .maker import BLOCKS, Maker, Unfit

BY_NAME = {block.name: block for block in BLOCKS}
OPSETS = [17, 13, 18, 20, 14, 21, 23, 24, 9, 26, 27]
OPSET_WEIGHTS = [5, 3, 4, 3, 1, 3, 3, 1, 0.3, 0.3, 0.3]
SMALL = (3_000_000, 1 << 13)  # Multiply-adds of a model and elements of a value.
LARGE = (2_000_000_000, 1 << 20)
LARGE_SHARE = 80  # One in so many models is large.
TINY = (600_000, 2048)  # For an emulated GPU;
UNITS = (60_000_000, 1 << 17)  # of what its matrix units are for.
UNITS_SHARE = 3  # One in so many of those.


def kind_of(block):
    """"large" or "units", of which models are made by themselves, or ""."""
    return next((c.split(":")[0] for c in block.covers if c.startswith(("large:", "units:"))), "")


def eligible(opset, kind):
    return [b for b in BLOCKS if b.opset <= opset <= b.last and kind_of(b) == kind]


def program_of(seed, on_gpu=False):
    """The blocks of a seed, each with a seed of its own for its decisions. `on_gpu`: an emulated one."""
    chance = random.Random(f"model {seed}")
    opset = chance.choices(OPSETS, OPSET_WEIGHTS)[0]
    kind, share = ("units", UNITS_SHARE) if on_gpu else ("large", LARGE_SHARE)
    if opset < 13 or chance.randrange(share) > 0 or not eligible(opset, kind):
        kind = ""
    blocks = eligible(opset, kind)
    count = 1 if kind else chance.choices([1, 2, 3, 4, 6], [4, 6, 5, 3, 1])[0]
    names = chance.choices([b.name for b in blocks], [b.weight for b in blocks], k=count)
    return {
        "opset": opset,
        "sizes": list({"large": LARGE, "units": UNITS}.get(kind) or (TINY if on_gpu else SMALL)),
        "blocks": [[name, f"{seed} {place}"] for place, name in enumerate(names)],
        "outputs": f"{seed} outputs",
    }


def _draw(decisions):
    return Draw(seed=decisions) if isinstance(decisions, str) else Draw(again=decisions)


def make(program):
    """(graph, program with the decisions written out), or None where none of the blocks fitted."""
    graph = Graph(program["opset"])
    budget, elements = program["sizes"]
    maker = Maker(graph, None, budget, elements)
    done, covered = [], set()
    for name, decisions in program["blocks"]:
        maker.d = _draw(decisions)
        before = _state(graph, maker)
        graph.idiom = name
        try:
            BY_NAME[name].make(maker)
        except Unfit:
            _restore(graph, maker, before)
            continue
        done.append([name, maker.d.taken])
        covered.update(c for c in BY_NAME[name].covers if not c[0].isupper())
    maker.d = _draw(program["outputs"])
    outputs = _outputs(maker)
    if not outputs:
        return None
    graph.finish(outputs)
    graph.idioms = sorted(covered.union(graph.idioms))
    return graph, {**program, "blocks": done, "outputs": maker.d.taken}


def _state(graph, maker):
    tables = {k: dict(getattr(graph, k)) for k in ("inputs", "constants", "values")}
    return tables, list(graph.nodes), list(graph.idioms), graph.special, list(maker.pool), list(maker.ends), maker.budget, graph.work, graph._count


def _restore(graph, maker, state):
    tables, graph.nodes, graph.idioms, graph.special, maker.pool, maker.ends, maker.budget, graph.work, graph._count = state
    for name, table in tables.items():
        setattr(graph, name, table)


def _outputs(maker):
    """What nothing reads, and now and then something that is read too."""
    used = maker.g.used()
    made = {name for node in maker.g.nodes for name in node.outputs}
    results = [v for v in maker.pool if v.name in made]
    ends = [v for v in results if v.name not in used]
    middle = [v for v in results if v.name in used]
    if middle and maker.d.chance(4):
        ends.append(maker.d.choice(middle))
    unique = list({v.name: v for v in ends + maker.ends}.values())
    return unique or results[-1:]


def operators_covered():
    return {c for b in BLOCKS for c in b.covers if c[0].isupper()}


def simplified(program):
    return copy.deepcopy(program)
