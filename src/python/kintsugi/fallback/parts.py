"""A model that runs in parts, by the compiler and by ONNX Runtime."""

import json
import tempfile

import numpy

from .. import _capi
from .._capi import Error, InputError
from ..files import BYTES
from .model import Model, has_shape, reads
from .part import Part
from .partition import give_away, group
from .ports import port_of, taken
from .report import report_of
from .runners import OtherRunner, OwnRunner
from .survey import Survey

# How often parts are made anew where the compiler refuses one of those that it has not refused node by node.
_TRIES = 16


class Parts:
    """A Program (compiled.py). `external_files`: paths of the files beside the model that hold its weights."""

    gpu, takes_addresses = None, False

    def __init__(self, path, dims, bind, limits, threads, open_part, open_whole):
        """`limits`: options of the compiler for the time and memory that it may take. `open_part` compiles a model's bytes
        or path, and `open_whole` the file as it is."""
        self._model, self._threads, self._compile = Model(path, dims, bind), threads, open_part
        self._survey = Survey(self._model, limits)
        self._infos = dict(self._model.infos)
        self._seconds = self._least_seconds()
        if not self._open_as_one(open_whole):
            self._open(dict(self._survey.refused))
        self.inputs = [port_of(info) for info in self._model.inputs]
        self.outputs = [port_of(self._infos[name]) for name in self._model.outputs]
        self.notes = [note for runner in self._runners for note in runner.notes]
        self._steps = self._plan()
        given = {port.name for port in self.inputs}
        self._handed_on = [place for place, port in enumerate(self.outputs) if port.name in given]
        self.external_files = self._model.external_files
        del self._model, self._survey, self._infos, self._compile

    #
    # Making parts
    #

    def _open_as_one(self, open_whole):
        if self._survey.refused or self._model.folded:
            return False
        try:
            runner = OwnRunner(open_whole())
        except Error as problem:
            if not _is_of_model(problem):
                raise
            self._survey.refused = dict.fromkeys(self._survey.order, str(problem))
            return False
        part = Part(self._model, True, self._survey.order, self._survey.known, self._model.outputs)
        self._parts, self._runners = [part], [runner]
        self._learn(runner)
        self._report = report_of(self._model, self._parts, {})
        return True

    def _open(self, refused):
        opened = {}
        for tried in range(_TRIES + 1):
            if tried == _TRIES:
                refused |= dict.fromkeys(set(self._survey.order) - refused.keys(), "its parts were refused again and again")
            parts, given = self._divide(refused)
            more = {}
            for part in parts:
                if part.key() not in opened:
                    try:
                        opened[part.key()] = self._open_part(part, len(parts) > 1)
                    except Error as problem:
                        if not part.is_ours or not _is_of_model(problem):
                            raise
                        more = dict.fromkeys(part.nodes, _reason(problem))
                        break
                self._learn(opened[part.key()])
            if not more:
                break
            refused |= more
        self._parts, self._runners = parts, [opened[part.key()] for part in parts]
        self._report = report_of(self._model, parts, refused | given)

    def _open_part(self, part, shares):
        if part.is_ours:
            return OwnRunner.of_part(part, self._infos, self._compile)
        return OtherRunner(part, self._infos, self._threads, shares)

    def _divide(self, refused):
        """Parts, and {node: reason} for those that are not worth one."""
        nodes, order = self._model.nodes, self._survey.order
        made_by = {name: place for place, number in enumerate(order) for name in nodes[number].output if name}
        producers = [sorted({made_by[name] for name in reads(nodes[number]) if name in made_by}) for number in order]
        ours = {place for place, number in enumerate(order) if number not in refused}
        composite = {place for place, number in enumerate(order) if any(a.HasField("g") for a in nodes[number].attribute)}
        given = give_away(producers, ours, [self._seconds[number] for number in order], composite)
        groups = group(producers, ours - given.keys()) or [(False, [])]
        groups = [(is_ours, [order[place] for place in places]) for is_ours, places in groups]
        return self._parts_of(groups), {order[place]: reason for place, reason in given.items()}

    def _parts_of(self, groups):
        nodes = self._model.nodes
        part_of = {name: place for place, (_, numbers) in enumerate(groups) for n in numbers for name in nodes[n].output}
        crossing = [set() for _ in groups]
        for place, (_, numbers) in enumerate(groups):
            for name in {name for number in numbers for name in reads(nodes[number])}:
                if part_of.get(name, place) != place:
                    crossing[part_of[name]].add(name)
        # What is the same in each run comes from ONNX Runtime, which there is a part of where not all is one part of ours.
        constant = next((place for place, (is_ours, _) in enumerate(groups) if not is_ours), 0)
        inputs = {info.name for info in self._model.inputs}
        for name in self._model.outputs:
            if name not in inputs:
                crossing[part_of.get(name, constant)].add(name)
        return [
            Part(self._model, is_ours, numbers, self._survey.known, sorted(crossing[place]))
            for place, (is_ours, numbers) in enumerate(groups)
        ]

    def _least_seconds(self):
        """Of each node, by the machine's peaks; what only moves is no work."""
        machine = json.loads(_capi.machine())
        cores = min(self._threads or machine["cores"], machine["cores"])
        operations, memory = machine["flopsPerSecond"] * cores, machine["levels"][0]["bytesPerSecondAll"]
        asked, made = self._survey.operations, self._survey.bytes
        return {n: max(asked[n] / operations, made[n] / memory) if asked[n] else 0 for n in self._survey.order}

    def _learn(self, runner):
        """Types and shapes that nobody but who runs a part knows."""
        for info in runner.infos:
            if info.name not in self._infos or not has_shape(self._infos[info.name]) or has_shape(info):
                self._infos[info.name] = info

    #
    # Running
    #

    def _plan(self):
        """For each part the runner, the names of its outputs, and the names that nothing behind it reads."""
        steps, needed = [], set(self._model.outputs)
        for part, runner in zip(reversed(self._parts), reversed(self._runners)):
            last = [name for name in (*part.inputs, *part.outputs) if name not in needed]
            needed.update(part.inputs)
            steps.append((runner, part.outputs, last))
        return steps[::-1]

    def wait(self):
        """Runs are over when they return."""

    def report(self):
        """What runs where, and why."""
        return self._report

    def compute_into(self, given, bound, options=None):
        results = self.compute(given, options)
        for port, result, value in zip(self.outputs, results, bound):
            if value is not None:
                numpy.copyto(port._room(value), result)
        return [result if value is None else value for result, value in zip(results, bound)]

    def compute(self, given, options=None):
        """Arrays (or what ONNX Runtime gives) for all outputs, from values for all inputs."""
        values = {port.name: taken(port, value) for port, value in zip(self.inputs, given)}
        for runner, names, last in self._steps:
            if options is not None:
                options._check()
            values.update(zip(names, runner.run(values, options)))
            for name in last:
                del values[name]
        results = [values[port.name] for port in self.outputs]
        for place in self._handed_on:  # Nobody expects that what a run gives is what it was given.
            results[place] = results[place].copy()
        return results


def _reason(problem):
    """Without the file or the bytes that a part was in."""
    text = str(problem).removeprefix(f"{BYTES}: ")
    place, _, reason = text.partition(".onnx: ")
    return reason if reason and place.startswith(tempfile.gettempdir()) else text


def _is_of_model(problem):
    """Rather than of an option or the machine: the model is refused, or the compiler broke on it."""
    return isinstance(problem, InputError) or type(problem) is Error
