"""An artifact that serves a range of sizes."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy

from . import _capi
from ._capi import Array, InputError
from .compiled import Compiled
from .ports import NodeArg, OpenArg, at_home
from .range_report import RangeReport
from .run_options import RunOptions


class Ranged:
    """A Program of an artifact with an open dimension, whose size the inputs of a run say. For each size that it meets it
    keeps what a run of it passes, which is little: there are no more than the range has. `made`: in how many seconds the
    artifact was ready, and whether it was there already; None of a file that was one."""

    takes_addresses = True

    def __init__(self, artifact: _capi.Session, device: str, notes: list[str], stream: int | None = None) -> None:
        """`stream`: the number of the caller's that runs are put on; None: the artifact's own."""
        self._artifact, self._device, self._stream, self.notes = artifact, device, stream, notes
        self._name, self._low, self._high = artifact.open_dimension() or ("", 0, 0)
        axes, of_outputs = artifact.open_axes()
        self._axes = [(place, *axis) for place, axis in enumerate(axes) if axis is not None]
        self.inputs: Sequence[NodeArg] = list(map(self._port, artifact.inputs(), axes))
        self.outputs: Sequence[NodeArg] = list(map(self._port, artifact.outputs(), of_outputs))
        self.made: tuple[float, bool] | None = None
        self._sizes: dict[int, Compiled] = {}
        self._runs: Counter[int] = Counter()
        self._turn = threading.Lock()
        self.gpu = self._at(self._high).gpu

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
        return f"{self._name} from {self._low} to {self._high}"

    def wait(self) -> None:
        self._artifact.wait()

    def report(self) -> RangeReport:
        return RangeReport.of(self._name, self._low, self._high, self._runs, self.made)

    def _port(self, described: tuple[str, int, list[int], bool], axis: tuple[int, int] | None) -> NodeArg:
        if axis is None:
            return NodeArg(*described)
        name, number, bound, _ = described
        shape: list[int | str | None] = list(bound)
        shape[axis[0]] = self._name if axis[1] == 1 else None
        return OpenArg(name, number, shape)

    def _met(self, given: Sequence[Any]) -> Compiled:
        size = self._size_of(given)
        found = self._at(size)
        self._runs[size] += 1
        return found

    def _size_of(self, given: Sequence[Any]) -> int:
        """What the first input that has the open dimension says; the others are looked at when the size is known."""
        place, dimension, step = self._axes[0]
        port, shape = self.inputs[place], tuple(given[place].shape)
        if not port._fits(shape):
            raise InputError(f"input '{port.name}' is {list(shape)}, the model's is {port._spelled()}")
        size = int(shape[dimension]) // step
        if shape[dimension] % step or not self._low <= size <= self._high:
            raise InputError(
                f"dimension '{self._name}' is {shape[dimension] / step:g} (axis {dimension} of input '{port.name}'); "
                f"the artifact takes {self._low} to {self._high}"
            )
        return size

    def _at(self, size: int) -> Compiled:
        if size not in self._sizes:
            self._sizes[size] = Compiled(self._artifact.at(size), self._device, self.notes, self._stream)
        return self._sizes[size]
