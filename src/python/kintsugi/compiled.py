"""A model that is compiled for fixed shapes, and how values reach it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, Protocol, TypeVar

import numpy

from . import _capi
from ._capi import Array, InputError, UsageError
from .device_array import ON_GPU, DeviceArray
from .memory import Held, check_gpu, check_reached, held, one_of_each, tensor_of_gpu, wait_for
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

    def report(self) -> dict[str, Any]:
        """What there is to tell of how it runs."""


class Compiled:
    """A Program of an artifact."""

    takes_addresses = True

    def __init__(self, artifact: _capi.Session, device: str, notes: list[str]) -> None:
        self._artifact, self.notes, self._turn = artifact, notes, threading.Lock()
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
            shapes = self._in_turn(self._artifact.run, options, given, rooms)
        else:
            shapes = self._run(values, results, options, rooms)
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
        shapes = self._run(values, results, options)
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
    ) -> list[list[int]]:
        """On values for all inputs, and results that are rooms of outputs; gives the outputs' shapes."""
        values = [at_home(value, take) for take, value in zip(self._takes, values)]
        if {*map(type, values), *map(type, results)} == {numpy.ndarray}:
            rooms = addresses or list(map(_capi.address_of, results))
            return self._in_turn(self._artifact.run, options, list(map(_capi.address_of, values)), rooms)
        wait_for(one_of_each((*values, *results)), self.stream())
        given, taken = (list(map(self._tensor, *each)) for each in ((self.inputs, values), (self.outputs, results)))
        return self._in_turn(self._artifact.run_tensors, options, given, taken)

    def held(self, port: NodeArg, value: Any) -> Any:
        """What to keep of a value that is bound."""
        return held(value, port.name, self.gpu, self.stream())

    def prepared(self, values: Sequence[Any], bound: Sequence[Any]) -> Callable[[], None] | None:
        """What runs again on values and on what outputs are bound to, with which a run has gone well, where all of that stays
        where it is."""
        inputs, outputs = list(map(_address_of, self.inputs, values)), list(map(_address_of, self.outputs, bound))
        if None in inputs or None in outputs or not self._leaves_as_is:
            return None
        awaited, stream = one_of_each((*values, *bound)), self.stream()
        binding = self._artifact.bind(inputs, outputs)

        def run() -> None:
            wait_for(awaited, stream)
            self._in_turn(binding.run, None)

        return run

    def stream(self) -> int | None:
        """The number of the GPU's stream that runs are ordered by; none on the host."""
        return self._artifact.stream()

    def run_at(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """On memory at addresses, dense and of the ports' types and bounds, on the session's device, which nobody else uses:
        for who has seen to all that."""
        self._in_turn(self._artifact.run, None, inputs, outputs)

    def _in_turn(self, run: Callable[..., T], options: RunOptions | None, *arguments: Sequence[Any]) -> T:
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
