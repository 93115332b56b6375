"""Tensors that stay where they are, bound to a session ahead of its runs, in the shape of ONNX Runtime's interface."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import DTypeLike

from . import _capi, _dlpack
from ._capi import Array, InputError, UsageError

if TYPE_CHECKING:
    from . import InferenceSession, NodeArg

# DLPack's numbers for CUDA's memory; what is managed can be reached from all GPUs.
_MANAGED = 13
_GPU = (2, _MANAGED)


def is_on_gpu(value: Any) -> bool:
    """Whether a value says by DLPack that it is in the memory of an NVIDIA GPU."""
    return hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] in _GPU


def _check_gpu(name: str, number: int | None, session: InferenceSession) -> None:
    """What is on another GPU than the session can't be reached from its kernels."""
    if session._gpu is None:
        raise InputError(f"'{name}' is on a GPU, the session is not; make it with device='cuda'")
    if number not in (session._gpu, None):
        raise InputError(
            f"'{name}' is on GPU {number}, the session on GPU {session._gpu}; make it with device='cuda:{number}', or "
            f"copy '{name}'"
        )


def tensor_of_gpu(value: Any, name: str, session: InferenceSession) -> _capi.Tensor:
    """Whose work on the value comes ahead of the session's, as DLPack has it."""
    kind, number = value.__dlpack_device__()
    _check_gpu(name, None if kind == _MANAGED else number, session)
    try:
        return _dlpack.tensor_of(value.__dlpack__(stream=session._artifact.stream()))
    except (TypeError, BufferError) as problem:
        raise InputError(f"'{name}' can't be used where it is ({problem}); make it dense and row-major") from None


def tensor_at(
    port: NodeArg,
    device: str,
    number: int,
    element_type: DTypeLike | None,
    shape: Sequence[int] | None,
    address: int,
    session: InferenceSession,
) -> _capi.Tensor:
    """Of memory that only its address is known of, as ONNX Runtime's bind_input takes it."""
    if device not in ("cpu", "cuda"):
        raise UsageError(f"'{port.name}': there is no device '{device}'; use 'cpu' or 'cuda'")
    if device == "cuda":
        _check_gpu(port.name, operator.index(number), session)
    if element_type is not None and numpy.dtype(element_type) != port._dtype:
        raise InputError(f"'{port.name}' is {numpy.dtype(element_type)}, the model's is {port._dtype}")
    if shape is not None and tuple(shape) != port._bound:
        raise InputError(f"'{port.name}' is {list(shape)}, the model's is {list(port._bound)}")
    address = operator.index(address)
    if address < 0:
        raise UsageError(f"'{port.name}': buffer_ptr is {address}, which is no address")
    return _capi.Tensor(None, address, port._number, port._bound, port._bytes, device == "cuda")


class IOBinding:
    """Inputs and outputs of `session.run_with_iobinding(binding)`. A value is a NumPy array, or whatever has DLPack's
    methods (a tensor of torch or CuPy, say), on the host or, where the session is on a GPU, on that GPU; it is used where
    it is, as it is when a run begins. An output without a value is a new NumPy array in each run."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}
        self._results: list[Any] = []

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
        """The same for an output, which "cpu" alone makes a new NumPy array in each run."""
        port = self._session._port(name, self._session._outputs, "output")
        if isinstance(value, str) and buffer_ptr is None:
            if value != "cpu":
                raise UsageError(f"output '{name}': give a tensor on the GPU, or buffer_ptr, its address")
            value = None
        if value is not None:
            value = self._given(port, value, device_id, element_type, shape, buffer_ptr)
        self._outputs[name] = value

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._results = []

    def get_outputs(self) -> list[Any]:
        """Of the last run, in the order in which outputs were bound: what was bound, or a NumPy array."""
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[Array]:
        for name, result in zip(self._outputs, self._results):
            if not isinstance(result, numpy.ndarray):
                raise UsageError(f"output '{name}' is not the host's; copy it by what it is of (torch: .cpu())")
        return [result.copy() for result in self._results]

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
            return value
        if self._session._parts is not None:
            raise UsageError(f"'{port.name}': a session with a fallback takes arrays, not addresses; bind one")
        if address is None:
            raise UsageError(f"'{port.name}': buffer_ptr is missing, the address of its memory")
        return tensor_at(port, value, number, element_type, shape, address, self._session)
