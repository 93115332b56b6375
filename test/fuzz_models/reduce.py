"""From a model that fails to the smallest that fails alike.

First the configuration loses what does not matter, then the program its blocks, its decisions their size (everything
that can be made again is valid by itself), and last the graph its outputs and nodes.
"""

import time

from . import configure, generate
from .graph import IS_FLOAT, Graph

FAILURES = ("mismatch", "comparison", "usage", "refused", "internal", "machine", "meaning", "crash", "hang")


class Reducer:
    def __init__(self, ask, seconds=240):
        """`ask` takes (graph, configuration) and gives a report."""
        self.ask = ask
        self.deadline = time.monotonic() + seconds
        self.tries = 0

    def reduce(self, program, graph, configuration, report):
        """The smallest graph, configuration and report that were found."""
        self.wanted = _signature(report)
        self.best = (graph, configuration, report)
        self._configuration()
        if program is not None:
            self._program(program)
        self._graph()
        self._configuration()
        return self.best

    def fails(self, graph, configuration):
        if not self._has_time() or not graph.outputs:
            return False
        self.tries += 1
        report = self.ask(graph, configuration)
        if _signature(report) != self.wanted:
            return False
        self.best = (graph, configuration, report)
        return True

    def _configuration(self):
        again = True
        while again:
            graph, configuration, _ = self.best
            again = any(self.fails(graph, simpler) for simpler in configure.simpler(configuration))

    # The program.

    def _program(self, program):
        self.program = program
        self._fewer_blocks()
        deadline, self.deadline = self.deadline, (self.deadline + time.monotonic()) / 2  # The graph wants time too.
        for place in range(len(self.program["blocks"])):
            self._smaller(lambda p, place=place: p["blocks"][place][1])
        self._smaller(lambda p: p["outputs"])
        self.deadline = deadline

    def _attempt(self, program):
        try:
            made = generate.make(program)
        except Exception:  # A decision that no generator made before; the next one is as good.
            return False
        if made is None or not self.fails(made[0], self.best[1]):
            return False
        # As far as it was read; a shorter list goes on with zeros.
        self.program = made[1]
        return True

    def _fewer_blocks(self):
        place = 0
        while place < len(self.program["blocks"]) and len(self.program["blocks"]) > 1:
            less = generate.simplified(self.program)
            del less["blocks"][place]
            if not self._attempt(less):
                place += 1

    def _smaller(self, decisions_of):
        """Makes decisions zero, many at once and then one by one, and what can't be zero smaller."""
        width = len(decisions_of(self.program))
        while width:
            place = 0
            while place < len(decisions_of(self.program)) and self._has_time():
                self._change(decisions_of, place, [0] * width)
                place += width
            width //= 2
        place = 0
        while place < len(decisions_of(self.program)) and self._has_time():
            number = decisions_of(self.program)[place]
            any(self._change(decisions_of, place, [n]) for n in (number // 2, number - 1) if 0 < n < number)
            place += 1

    def _change(self, decisions_of, place, numbers):
        less = generate.simplified(self.program)
        decisions = decisions_of(less)
        numbers = numbers[: len(decisions) - place]
        if decisions[place : place + len(numbers)] == numbers:
            return False
        decisions[place : place + len(numbers)] = numbers
        return self._attempt(less)

    def _has_time(self):
        return time.monotonic() < self.deadline

    # The graph.

    def _graph(self):
        self._one_output()
        self._earliest()
        self._last_ones()
        again = True
        while again and self._has_time():
            again = self._one_output() or self._cut() or self._bypass()
        self._plain_constants()

    def _one_output(self):
        graph, configuration, report = self.best
        if len(graph.outputs) < 2:
            return False
        order = sorted(graph.outputs, key=lambda name: name != graph.outputs[report.get("output", 0)])
        for name in order:
            less = graph.copy()
            less.outputs = [name]
            less.prune()
            if self.fails(less, configuration):
                return True
        return False

    def _earliest(self):
        """Ends the model at the first value that is wrong, by halves."""
        names = [o for node in self.best[0].nodes for o in node.outputs if o]
        low, high = 0, len(names) - 1
        while low < high and self._has_time():
            middle = (low + high) // 2
            graph, configuration, _ = self.best
            less = graph.copy()
            if names[middle] not in less.values:
                low = middle + 1
                continue
            less.outputs = [names[middle]]
            less.prune()
            low, high = (low, middle) if self.fails(less, configuration) else (middle + 1, high)

    def _last_ones(self):
        """Keeps the last nodes alone; what they read of others becomes inputs."""
        count = 1
        while count < len(self.best[0].nodes) and self._has_time():
            graph, configuration, _ = self.best
            less = graph.copy()
            first = less.nodes[:-count]
            less.nodes = less.nodes[-count:]
            made = {o for node in first for o in node.outputs if o}
            for name in [n for n in dict.fromkeys(made) if n in less.used() | set(less.outputs)]:
                value = less.values[name]
                if value.kind in IS_FLOAT and name not in less.outputs:
                    _rename(less, name, less.input(value.shape, value.kind).name)
            needed = less.used()
            for node in reversed(first):
                if needed.intersection(node.outputs):
                    less.nodes.insert(0, node)
                    needed.update(node.inputs)
            less.prune()
            if len(less.nodes) < len(graph.nodes) and self.fails(less, configuration):
                return
            count *= 2

    def _cut(self):
        """Makes an input of what a node gives, from the last node to the first: what it needed goes."""
        for place in range(len(self.best[0].nodes) - 1, -1, -1):
            graph, configuration, _ = self.best
            if place >= len(graph.nodes) or not self._has_time():
                continue
            for name in graph.nodes[place].outputs:
                value = graph.values.get(name)
                if not name or value.kind not in IS_FLOAT or name in graph.outputs:
                    continue
                less = graph.copy()
                less.nodes = [node for node in less.nodes if name not in node.outputs]
                if any(o in less.used() | set(less.outputs) for o in graph.nodes[place].outputs if o and o != name):
                    continue
                source = less.input(value.shape, value.kind)
                _rename(less, name, source.name)
                less.prune()
                if self.fails(less, configuration):
                    return True
        return False

    def _bypass(self):
        """Leaves out a node whose result is of its operand's shape."""
        for place in range(len(self.best[0].nodes) - 1, -1, -1):
            graph, configuration, _ = self.best
            node = graph.nodes[place]
            result = node.outputs[0]
            for operand in node.inputs:
                a, b = graph.values.get(operand), graph.values.get(result)
                if not operand or not result or (a.kind, tuple(a.shape)) != (b.kind, tuple(b.shape)):
                    continue
                less = graph.copy()
                del less.nodes[place]
                _rename(less, result, operand)
                made = {o for n in less.nodes for o in n.outputs}
                if any(name not in made for name in less.outputs) or len(set(less.outputs)) < len(less.outputs):
                    continue
                less.prune()
                if self.fails(less, configuration):
                    return True
        return False

    def _plain_constants(self):
        for name in [*self.best[0].constants, *self.best[0].inputs]:
            graph, configuration, _ = self.best
            less = graph.copy()
            source = less.constants.get(name) or less.inputs.get(name)
            if source is None or source.kind not in IS_FLOAT or source.recipe.startswith(("full", "values")):
                continue
            source.recipe = f"full(1.0{''.join(f', {e}' for e in source.shape)})"
            self.fails(less, configuration)


def _rename(graph: Graph, old, new):
    for node in graph.nodes:
        node.inputs = [new if name == old else name for name in node.inputs]
    graph.outputs = [new if name == old else name for name in graph.outputs]


def _signature(report):
    """Failures are alike if their kind is, and for messages what they say without names and numbers."""
    if report["kind"] not in FAILURES:
        return None
    if report["kind"] in ("refused", "internal", "machine"):
        words = "".join(c if not c.isdigit() else "N" for c in report["text"].split(": ", 1)[-1].split("\n")[0])
        words = " ".join(w for w in words.split() if "'" not in w and "/" not in w)
        return report["kind"], words[-60:]
    return (report["kind"],)
