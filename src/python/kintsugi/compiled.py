"""A model that is compiled for fixed shapes, and how values reach it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, Protocol, TypeVar

import numpy

from . import _capi
from ._capi import Array, InputError, UsageError
from .device_array import ON_GPU, DeviceArray
from .memory import (
    Held,
    check_gpu,
    check_reached,
    current_stream,
    dlpack_number,
    held,
    one_of_each,
    tensor_of_gpu,
    wait_for,
)
from .ports import NodeArg, at_home, empty_for
from .run_options import RunOptions

T = TypeVar("T")


class Program(Protocol):
    """What a session runs. Values are as IOBinding takes them; `options` may end a run."""

    notes: list[str]  # What compiling had to say, so far.
    gpu: int | None  # The number of the GPU that it is on.
    takes_addresses: bool  # Whether values may be memory that only its address is known of.

    @property
    def inputs(self) -> Sequence[NodeArg]: ...

    @property
    def outputs(self) -> Sequence[NodeArg]: ...

    def compute(self, values: Sequence[Any], options: RunOptions | None = None) -> list[Array]:
        """Arrays of all outputs, from values for all inputs."""

    def compute_into(self, values: Sequence[Any], bound: Sequence[Any], options: RunOptions | None = None) -> list[Any]:
        """The same, where outputs go to what is bound, which is the result then; None for an array."""

    def wait(self) -> None:
        """Until all runs are done that were not waited for."""

    def report(self) -> dict[str, Any]:
        """What there is to tell of how it runs."""


class Compiled:
    """A Program of an artifact."""

    takes_addresses = True

    def __init__(self, artifact: _capi.Session, device: str, notes: list[str], stream: int | None = None) -> None:
        """`stream`: the number of the caller's that runs are put on; None: the artifact's own."""
        self._artifact, self.notes, self._turn = artifact, notes, threading.Lock()
        self._callers_stream = stream
        kind, _, number = device.partition(":")
        self.gpu = int(number or 0) if kind == "cuda" else None
        self.inputs: Sequence[NodeArg] = [NodeArg(*port) for port in artifact.inputs()]
        self.outputs: Sequence[NodeArg] = [NodeArg(*port) for port in artifact.outputs()]
        self._takes = [port._take if port._is_packed else port._dense for port in self.inputs]
        self._leaves_as_is = not any(port._is_packed or port._dynamic for port in self.outputs)
        are_usual = all(port._is_usual for port in self.inputs)
        self._usual = [(port._dtype, port._bound) for port in self.inputs] if are_usual else None

    def compute(self, values: Sequence[Any], options: RunOptions | None = None) -> list[Array]:
        results, rooms = [], []
        for port in self.outputs:
            array, address = empty_for(port)
            results.append(array)
            rooms.append(address)
        given = self._places(values)
        if given is not None:
            order = None if self._callers_stream is None else self._order(options)
            shapes = self._in_turn(self._artifact.run, options, given, rooms, order)
        else:
            shapes = self._run(values, results, options, rooms, self._order(options))
        if self._leaves_as_is:
            return results
        return [port._shaped(result, shape) for port, result, shape in zip(self.outputs, results, shapes)]

    def _places(self, values: Sequence[Any]) -> list[int] | None:
        """The addresses of arrays that can be read as they are; None where one is none, or has to be looked at closely."""
        if self._usual is None:
            return None
        found = []
        for value, (dtype, shape) in zip(values, self._usual):
            is_usual = type(value) is numpy.ndarray and value.dtype is dtype and value.shape == shape
            if not is_usual or not value.flags.carray:
                return None
            found.append(_capi.address_of(value))
        return found

    def compute_into(self, values: Iterable[Any], bound: Sequence[Any], options: RunOptions | None = None) -> list[Any]:
        results = list(map(self._room, self.outputs, bound))
        is_new = any(value is ON_GPU for value in bound)  # Others take it when they like.
        shapes = self._run(values, results, options, order=self._order(options, is_new))
        return list(map(_result, self.outputs, bound, results, shapes))

    def _room(self, port: NodeArg, value: Any) -> Any:
        """What an output goes to that is bound to a value."""
        if value is None:
            return empty_for(port)[0]
        if value is not ON_GPU:
            return at_home(value, port._room)
        check_gpu(port.name, None, self.gpu)
        return DeviceArray(self.gpu or 0, port._number, port._bound)

    def report(self) -> NoReturn:
        raise UsageError(
            "there is a report of sessions with a fallback, and of those of models with open dimensions; kintsugi explain "
            "tells of others"
        )

    def _run(
        self,
        values: Iterable[Any],
        results: Sequence[Any],
        options: RunOptions | None,
        addresses: list[int] | None = None,
        order: _capi.Order | None = None,
    ) -> list[list[int]]:
        """On values for all inputs, and results that are rooms of outputs; gives the outputs' shapes."""
        values = [at_home(value, take) for take, value in zip(self._takes, values)]
        if {*map(type, values), *map(type, results)} == {numpy.ndarray}:
            rooms = addresses or list(map(_capi.address_of, results))
            return self._in_turn(self._artifact.run, options, list(map(_capi.address_of, values)), rooms, order)
        wait_for(one_of_each((*values, *results)), self.stream(), self.gpu)
        given, taken = (list(map(self._tensor, *each)) for each in ((self.inputs, values), (self.outputs, results)))
        return self._in_turn(self._artifact.run_tensors, options, given, taken, order)

    def held(self, port: NodeArg, value: Any) -> Any:
        """What to keep of a value that is bound."""
        return held(value, port.name, self.gpu, self.stream())

    def prepared(self, values: Sequence[Any], bound: Sequence[Any]) -> Callable[[RunOptions | None], None] | None:
        """What runs again on values and on what outputs are bound to, with which a run has gone well, where all of that stays
        where it is."""
        inputs, outputs = list(map(_address_of, self.inputs, values)), list(map(_address_of, self.outputs, bound))
        if None in inputs or None in outputs or not self._leaves_as_is:
            return None
        awaited, stream = one_of_each((*values, *bound)), self.stream()
        binding = self._artifact.bind(inputs, outputs)
        if self.gpu is not None and self._callers_stream is None and len(awaited) == 1:
            return self._prepared_among(binding, awaited[0].package, self.gpu)

        def run(options: RunOptions | None) -> None:
            wait_for(awaited, stream, self.gpu)
            self._in_turn(binding.run, options, self._order(options))

        return run

    def _prepared_among(self, binding: _capi.Binding, package: str, gpu: int) -> Callable[[RunOptions | None], None]:
        """What runs among the work of the only package that has tensors in the binding."""

        def run(options: RunOptions | None) -> None:
            order = _capi.Order(current_stream(package, gpu), options is None or options._waits)
            self._in_turn(binding.run, options, order)

        return run

    def stream(self) -> int | None:
        """DLPack's number of the GPU's stream that runs are ordered by; none on the host."""
        return self._artifact.stream() if self._callers_stream is None else dlpack_number(self._callers_stream)

    def wait(self) -> None:
        self._artifact.wait()

    def run_at(self, inputs: Sequence[int], outputs: Sequence[int], stream: int | None = None) -> None:
        """On memory at addresses, dense and of the ports' types and bounds, on the session's device, which nobody else uses:
        for who has seen to all that. A run on a caller's stream is not waited for."""
        order = None if stream is None else _capi.Order(stream, waits=False)
        self._in_turn(self._artifact.run, None, inputs, outputs, order)

    def _order(self, options: RunOptions | None, must_wait: bool = False) -> _capi.Order | None:
        """Nobody comes behind a run on the artifact's own stream, so it is waited for."""
        if self._callers_stream is None:
            return None
        return _capi.Order(self._callers_stream, must_wait or options is None or options._waits)

    def _in_turn(self, run: Callable[..., T], options: RunOptions | None, *arguments: Any) -> T:
        with self._turn:
            while True:
                try:
                    if options is None:
                        return run(*arguments)
                    with options._under_way(self._artifact.cancel):
                        return run(*arguments)
                except UsageError:
                    if (options is not None and options.terminate) or not self._artifact.was_cancelled():
                        raise
                    # It was the run before that was to end, and it had ended already: this one begins again.

    def _tensor(self, port: NodeArg, value: Any) -> _capi.Tensor:
        if isinstance(value, Held) and value.shape == port._bound:
            return value.tensor
        if isinstance(value, numpy.ndarray):
            return _capi.Tensor(value, _capi.address_of(value), port._number, port._bound, value.nbytes)
        if tuple(value.shape) != port._bound:
            raise InputError(f"'{port.name}' is {list(value.shape)}, the model's is {list(port._bound)}")
        if isinstance(value, _capi.Tensor):
            return value
        if isinstance(value, DeviceArray) and value._gpu == self.gpu:
            return value._tensor()
        check_reached(value, port.name, self.gpu)
        return tensor_of_gpu(value, port.name, self.stream())


def _address_of(port: NodeArg, value: Any) -> int | None:
    """Where a value is that a port has taken, if it took it as it is."""
    if isinstance(value, Held):
        return value.tensor.address
    if not isinstance(value, numpy.ndarray) or port._is_packed:
        return None
    return _capi.address_of(value) if value.flags.c_contiguous and value.flags.aligned else None


def _result(port: NodeArg, value: Any, room: Any, shape: Sequence[int]) -> Any:
    """What a run gives for an output that was bound to a value."""
    if value is ON_GPU:
        return room._first(shape)
    if value is None:
        return port._shaped(room, shape)
    return value.value if isinstance(value, Held) else value
