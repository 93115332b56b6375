"""An artifact that serves ranges of sizes."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy

from . import _capi
from ._capi import Array, InputError, OpenAxis
from .compiled import Compiled
from .ports import NodeArg, OpenArg, at_home
from .range_report import RangeReport
from .run_options import RunOptions

# Of a run, in the order of the artifact's open dimensions.
Sizes: TypeAlias = "tuple[int, ...]"

_MOST_SIZES = 1024  # That what runs pass is kept of.


class Ranged:
    """A Program of an artifact with open dimensions, whose sizes the inputs of a run say. Of the last sizes that it met it
    keeps what a run of them passes, which is little. `made`: in how many seconds the artifact was ready, and whether it was
    there already; None of a file that was one."""

    takes_addresses = True

    def __init__(self, artifact: _capi.Session, device: str, notes: list[str], stream: int | None = None) -> None:
        """`stream`: the number of the caller's that runs are put on; None: the artifact's own."""
        self._artifact, self._device, self._stream, self.notes = artifact, device, stream, notes
        self._ranges = artifact.open_dimensions()
        axes, of_outputs = artifact.open_axes()
        self._axes = _first_of_each(axes)
        self.inputs: Sequence[NodeArg] = list(map(self._port, artifact.inputs(), axes))
        self.outputs: Sequence[NodeArg] = list(map(self._port, artifact.outputs(), of_outputs))
        self.made: tuple[float, bool] | None = None
        self._sized: OrderedDict[Sizes, Compiled] = OrderedDict()
        self._runs: Counter[Sizes] = Counter()
        self._turn = threading.Lock()
        self.gpu = self._at(tuple(high for _, high in self._ranges.values())).gpu

    def compute(self, values: Sequence[Any], options: RunOptions | None = None) -> list[Array]:
        given = [at_home(value, numpy.asarray) for value in values]
        with self._turn:
            return self._met(given).compute(given, options)

    def compute_into(self, values: Sequence[Any], bound: Sequence[Any], options: RunOptions | None = None) -> list[Any]:
        given = [at_home(value, numpy.asarray) for value in values]
        with self._turn:
            return self._met(given).compute_into(given, bound, options)

    def takes(self) -> str:
        """In words, the sizes that there may be."""
        return ", ".join(f"{name} from {low} to {high}" for name, (low, high) in self._ranges.items())

    def wait(self) -> None:
        self._artifact.wait()

    def report(self) -> RangeReport:
        return RangeReport.of(self._ranges, self._runs, self.made)

    def _port(self, described: tuple[str, int, list[int], bool], axes: Sequence[OpenAxis]) -> NodeArg:
        if not axes:
            return NodeArg(*described)
        name, number, bound, _ = described
        shape: list[int | str | None] = list(bound)
        for axis in axes:
            shape[axis.dimension] = axis.name if axis.step == 1 else None
        return OpenArg(name, number, shape)

    def _met(self, given: Sequence[Any]) -> Compiled:
        sizes = tuple(self._size_of(given, place, axis) for place, axis in self._axes)
        found = self._at(sizes)
        self._runs[sizes] += 1
        return found

    def _size_of(self, given: Sequence[Any], place: int, axis: OpenAxis) -> int:
        """What the first input that has the open dimension says; the others are looked at when the sizes are known."""
        port, shape = self.inputs[place], tuple(given[place].shape)
        if not port._fits(shape):
            raise InputError(f"input '{port.name}' is {list(shape)}, the model's is {port._spelled()}")
        extent = int(shape[axis.dimension])
        size = extent // axis.step
        if extent % axis.step or not axis.low <= size <= axis.high:
            raise InputError(
                f"dimension '{axis.name}' is {extent / axis.step:g} (axis {axis.dimension} of input '{port.name}'); "
                f"the artifact takes {axis.low} to {axis.high}"
            )
        return size

    def _at(self, sizes: Sizes) -> Compiled:
        found = self._sized.get(sizes)
        if found is None:
            named = dict(zip(self._ranges, sizes))
            found = self._sized[sizes] = Compiled(self._artifact.at(named), self._device, self.notes, self._stream)
            if len(self._sized) > _MOST_SIZES:
                self._sized.popitem(last=False)
        self._sized.move_to_end(sizes)
        return found


def _first_of_each(axes: Sequence[Sequence[OpenAxis]]) -> list[tuple[int, OpenAxis]]:
    """The first input that has each open dimension, and where."""
    found: dict[str, tuple[int, OpenAxis]] = {}
    for place, of_input in enumerate(axes):
        for axis in of_input:
            found.setdefault(axis.name, (place, axis))
    return list(found.values())
