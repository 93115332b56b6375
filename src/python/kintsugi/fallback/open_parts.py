"""A model with open dimensions that runs in parts: other ones for each choice of sizes."""

import threading
import time
import weakref

from ..once import OnceCache
from ..sizes import sizes_of
from ..specialization import Specialization
from ..specialization_report import SpecializationReport
from .ports import taken


class OpenParts:
    """A Program (compiled.py). Runs take turns; parts are made once for sizes that runs bring, and those of the last `limit`
    kept."""

    gpu, takes_addresses = None, False

    def __init__(self, ports, make, ranges, limit, sources, files):
        """`ports`: inputs and outputs; `make`: makes Parts for sizes of open dimensions by name, of `sources`, which have to
        stay as they are. `files`: closed with this."""
        self.inputs, self.outputs, self.notes = *ports, []
        self._make, self._ranges, self._sources = make, ranges, sources
        self._reason = "parts are of one size" if ranges else None
        self._dimensions = [(port.name, _dimensions_of(port)) for port in self.inputs]
        self._cache, self._turn = OnceCache(limit), threading.Lock()
        weakref.finalize(self, files.close)

    def compute(self, given, options=None):
        return self._run(given, lambda parts, values: parts.compute(values, options))

    def compute_into(self, given, bound, options=None):
        return self._run(given, lambda parts, values: parts.compute_into(values, bound, options))

    def wait(self):
        """Runs are over when they return."""

    def report(self):
        return SpecializationReport.of(self._cache.entries(), self._cache.evictions, self._cache.limit, self._reason)

    def _run(self, given, run):
        values = [taken(port, value) for port, value in zip(self.inputs, given)]
        sizes = sizes_of(self._dimensions, [getattr(value, "shape", ()) for value in values], self._ranges)
        one = self._cache.get(tuple(sizes.items()), lambda: self._made(sizes))
        with self._turn:
            one.runs += 1
            return run(one.program, values)

    def _made(self, sizes):
        start = time.perf_counter()
        self._sources.check()
        parts = self._make(sizes)
        self.notes += [note for note in parts.notes if note not in self.notes]
        one = Specialization(parts, None, sizes, {}, self.inputs)
        one.seconds = time.perf_counter() - start
        return one


def _dimensions_of(port):
    """Of each dimension its size or its name, as the option `dims` has names."""
    return [f"{port.name}.{axis}" if size is None else size for axis, size in enumerate(port.shape or ())]
