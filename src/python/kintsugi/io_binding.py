"""Tensors that stay where they are, bound to a session ahead of its runs, in the shape of ONNX Runtime's interface."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import DTypeLike

from . import _capi
from ._capi import Array, InputError, UsageError
from .compiled import Compiled
from .device_array import ON_GPU, DeviceArray
from .memory import check_gpu
from .ort_value import OrtValue
from .ports import NodeArg
from .run_options import RunOptions

if TYPE_CHECKING:
    from .session import InferenceSession


def _tensor_at(
    port: NodeArg,
    device: str,
    number: int,
    element_type: DTypeLike | None,
    shape: Sequence[int] | None,
    address: int,
    gpu: int | None,
) -> _capi.Tensor:
    """Of memory that only its address is known of, as ONNX Runtime's bind_input takes it."""
    if device not in ("cpu", "cuda"):
        raise UsageError(f"'{port.name}': there is no device '{device}'; use 'cpu' or 'cuda'")
    if device == "cuda":
        check_gpu(port.name, operator.index(number), gpu)
    address = operator.index(address)
    if address < 0:
        raise UsageError(f"'{port.name}': buffer_ptr is {address}, which is no address")
    return port._memory(address, element_type, shape, device == "cuda")


class IOBinding:
    """Inputs and outputs of `session.run_with_iobinding(binding)`. A value is a NumPy array, or whatever has DLPack's
    methods (a tensor of torch or CuPy, say), on the host or, where the session is on a GPU, on that GPU; it is used where
    it is, as it is when a run begins. An output without a value is a new NumPy array in each run."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}
        self._results: list[Any] = []
        self._prepared: Callable[[RunOptions | None], None] | None = None
        self._is_new = True  # Since the last run something was bound.

    def bind_input(
        self,
        name: str,
        value: Any,
        device_id: int = 0,
        element_type: DTypeLike | None = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """`value` is a value; or "cpu" or "cuda", and `buffer_ptr` the address of memory of that device."""
        port = self._session._port(name, self._session._inputs, "input")
        self._is_new = True
        self._inputs[name] = self._given(port, value, device_id, element_type, shape, buffer_ptr)

    def bind_cpu_input(self, name: str, array: Any) -> None:
        self.bind_input(name, numpy.asarray(array))

    def bind_output(
        self,
        name: str,
        value: Any = "cpu",
        device_id: int = 0,
        element_type: DTypeLike | None = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """The same for an output, which "cpu" alone makes a new NumPy array in each run, and "cuda" alone a new DeviceArray on
        the session's GPU."""
        port = self._session._port(name, self._session._outputs, "output")
        self._is_new = True
        if isinstance(value, str) and buffer_ptr is None:
            value = self._new_array(port, value, device_id)
        elif value is not None:
            value = self._given(port, value, device_id, element_type, shape, buffer_ptr)
        self._outputs[name] = value

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        self.bind_input(name, ortvalue)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        self.bind_output(name, ortvalue)

    def synchronize_inputs(self) -> None:
        """Inputs are ready when a run reads them: it waits for whose they are."""

    def synchronize_outputs(self) -> None:
        """Outputs are there: waits for runs that were not waited for, and raises what was wrong with one of them."""
        self._session._program.wait()

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()
        self._is_new = True

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._results = []
        self._is_new = True

    def get_outputs(self) -> list[Any]:
        """Of the last run, in the order in which outputs were bound: what was bound, or a NumPy array."""
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[Array]:
        self.synchronize_outputs()
        for name, result in zip(self._outputs, self._results):
            if not isinstance(result, (numpy.ndarray, DeviceArray)):
                raise UsageError(f"output '{name}' is not the host's; copy it by what it is of (torch: .cpu())")
        return [result.numpy() if isinstance(result, DeviceArray) else result.copy() for result in self._results]

    def _run_as_before(self, options: RunOptions | None) -> bool:
        """Runs on what was bound when the last run began, if that is still so and stays where it is."""
        if self._is_new or self._prepared is None:
            return False
        self._prepared(options)
        return True

    def _prepare(self, values: Sequence[Any], bound: Sequence[Any]) -> None:
        """For runs behind this one."""
        if not self._is_new:
            return
        program, self._is_new = self._session._program, False
        self._prepared = program.prepared(values, bound) if isinstance(program, Compiled) else None

    def _new_array(self, port: NodeArg, device: str, number: int) -> Any:
        """What stands for a new array in each run, on a device."""
        if device == "cpu":
            return None
        if device != "cuda":
            raise UsageError(f"'{port.name}': there is no device '{device}'; use 'cpu' or 'cuda'")
        check_gpu(port.name, operator.index(number), self._session._program.gpu)
        if port._is_packed:
            raise InputError(f"output '{port.name}' is of packed elements, which no array on a GPU has; bind it to 'cpu'")
        return ON_GPU

    def _given(
        self,
        port: NodeArg,
        value: Any,
        number: int,
        element_type: DTypeLike | None,
        shape: Sequence[int] | None,
        address: int | None,
    ) -> Any:
        if not isinstance(value, str):
            value = value._value if isinstance(value, OrtValue) else value
            program = self._session._program
            return program.held(port, value) if isinstance(program, Compiled) else value
        if not self._session._program.takes_addresses:
            raise UsageError(f"'{port.name}': a session with a fallback takes arrays, not addresses; bind one")
        if address is None:
            raise UsageError(f"'{port.name}': buffer_ptr is missing, the address of its memory")
        return _tensor_at(port, value, number, element_type, shape, address, self._session._program.gpu)
