"""A model whose shapes are open, compiled for each that it meets."""

from __future__ import annotations

import ctypes
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any, TypeAlias

import numpy

from . import _capi
from ._capi import Array, InputError
from .compiled import Program
from .files import file_of
from .loading import Loader
from .memory import check_reached, is_on_gpu
from .once import OnceCache
from .ports import NodeArg, at_home
from .run_options import RunOptions
from .signature import Signature
from .sizes import sizes_of
from .specialization_report import SpecializationReport

# A value with more bytes is no shape, list of axes or the like.
_LARGEST_VALUE = 4096

Shapes: TypeAlias = "tuple[tuple[int, ...], ...]"


class Specialization:
    """What is compiled for one choice of sizes, and of values where the compiler has to know them. `places`: of the model's
    inputs, those that it takes; `was_there`: whether an artifact was, None for parts."""

    def __init__(
        self,
        program: Program,
        was_there: bool | None,
        sizes: Mapping[str, int],
        values: Mapping[str, Array],
        inputs: Sequence[NodeArg],
    ) -> None:
        self.program, self.was_there, self.sizes, self.values = program, was_there, sizes, values
        numbers = {port.name: place for place, port in enumerate(inputs)}
        self.places = [numbers[port.name] for port in program.inputs]
        self.seconds = 0.0
        self.runs = 0

    def taken(self, given: Sequence[Any]) -> list[Any]:
        return [given[place] for place in self.places]


class _NeedsValues(Exception):
    """More inputs have to be known when compiling than were."""

    def __init__(self, names: frozenset[str], problem: InputError) -> None:
        super().__init__(str(problem))
        self.names, self.problem = names, problem


class Specializations:
    """A Program that compiles for the sizes and values that runs bring, once each, and keeps the last `limit` of them. Runs
    take turns, whatever their sizes; compiling keeps nobody from running. `reason`: why there is not one artifact for the
    ranges, None where there are none; `files`: what the loader's options name, and the model if it was bytes; closed with
    this."""

    takes_addresses = True

    def __init__(
        self,
        loader: Loader,
        signature: Signature,
        ranges: Mapping[str, range],
        reason: str | None,
        limit: int,
        files: ExitStack,
    ) -> None:
        self._loader, self._ranges, self._reason = loader, ranges, reason
        self.inputs: Sequence[NodeArg] = signature.inputs
        self.outputs: Sequence[NodeArg] = signature.outputs
        self.notes: list[str] = []
        kind, _, number = loader.device.partition(":")
        self.gpu = int(number or 0) if kind == "cuda" else None
        self._dimensions = [(port.name, dims) for port, dims in zip(signature.inputs, signature.dims)]
        self._by_value = signature.needed_values
        self._cache: OnceCache[Specialization] = OnceCache(limit)
        self._turn, self._files = threading.Lock(), loader.files(signature.external_files)
        weakref.finalize(self, files.close)

    def compute(self, values: Sequence[Any], options: RunOptions | None = None) -> list[Array]:
        given = [at_home(value, numpy.asarray) for value in values]
        one = self._met(given, options)
        with self._turn:
            one.runs += 1
            return one.program.compute(one.taken(given), options)

    def compute_into(self, values: Sequence[Any], bound: Sequence[Any], options: RunOptions | None = None) -> list[Any]:
        given = [at_home(value, numpy.asarray) for value in values]
        one = self._met(given, options)
        with self._turn:
            one.runs += 1
            return one.program.compute_into(one.taken(given), bound, options)

    def wait(self) -> None:
        for one in self._cache.entries():
            one.program.wait()

    def report(self) -> SpecializationReport:
        return SpecializationReport.of(self._cache.entries(), self._cache.evictions, self._cache.limit, self._reason)

    #
    # Which artifact
    #

    def _met(self, given: Sequence[Any], options: RunOptions | None) -> Specialization:
        """The one that serves these values, made where it has not been met or was let go of."""
        if options is None:
            return self._found(given, None)
        with options._until_ended() as ended:
            return self._found(given, ended)

    def _found(self, given: Sequence[Any], ended: Future[None] | None) -> Specialization:
        shapes: Shapes = tuple([tuple(value.shape) for value in given])
        while True:
            names = self._by_value
            values = self._known(given, names) if names else {}
            key = (shapes, tuple([(name, value.tobytes()) for name, value in values.items()]))
            try:
                return self._cache.get(key, lambda: self._made(given, shapes, values, ended), ended)
            except _NeedsValues as more:
                if more.names - self._known(given, more.names).keys():
                    raise more.problem from None
                self._by_value = names | more.names

    def _known(self, given: Sequence[Any], names: frozenset[str]) -> dict[str, Array]:
        """What is compiled in: of the inputs of these names, the values of those that are small."""
        return {
            port.name: _read(port, value)
            for port, value in zip(self.inputs, given)
            if port.name in names and port._size_of(tuple(value.shape)) <= _LARGEST_VALUE
        }

    def _made(
        self, given: Sequence[Any], shapes: Shapes, values: Mapping[str, Array], ended: Future[None] | None
    ) -> Specialization:
        start = time.perf_counter()
        for port, value in zip(self.inputs, given):
            self._check(port, value)
        sizes = sizes_of(self._dimensions, shapes, self._ranges)
        self._files.check()
        compiled, was_there = self._artifact_for(sizes, values, ended)
        one = Specialization(compiled, was_there, sizes, values, self.inputs)
        one.seconds = time.perf_counter() - start
        self.notes += [note for note in compiled.notes if note not in self.notes]
        return one

    def _check(self, port: NodeArg, value: Any) -> None:
        """That a value may be an input, as far as the model says and it can be told before it is compiled."""
        if isinstance(value, numpy.ndarray):
            port._dense(value)
            return
        if not isinstance(value, _capi.Tensor):
            check_reached(value, port.name, self.gpu)
        if not port._fits(tuple(value.shape)):
            raise InputError(f"'{port.name}' is {list(value.shape)}, the model's is {port._spelled()}")

    def _artifact_for(
        self, sizes: Mapping[str, int], values: Mapping[str, Array], ended: Future[None] | None
    ) -> tuple[Program, bool]:
        """The artifact that serves these sizes of open dimensions and values of inputs, by name, which no other place
        decides; and whether it was there already."""
        with ExitStack() as stack:
            bind = {name: file_of({name: value}, stack) for name, value in values.items()}
            try:
                return self._loader.load(sizes, bind, ended)
            except InputError as problem:
                if more := self._needed(sizes, bind) - values.keys():
                    raise _NeedsValues(more, problem) from None
                raise

    def _needed(self, sizes: Mapping[str, int], bind: Mapping[str, str]) -> frozenset[str]:
        """The inputs whose value the compiler would have to know, too."""
        try:
            return Signature(self._loader.inspect(sizes, bind)).needed_values
        except InputError:
            return frozenset()


def _read(port: NodeArg, value: Any) -> Array:
    """A copy of an input's value, which is compiled into an artifact."""
    if isinstance(value, numpy.ndarray):
        return port._dense(value).copy()
    if is_on_gpu(value) or value.is_on_gpu:
        raise InputError(f"'{port.name}' is on a GPU, and has to be known when compiling; give it on the host")
    memory = (ctypes.c_char * value.bytes).from_address(value.address)
    return numpy.frombuffer(memory, port._dtype).reshape(value.shape).copy()
