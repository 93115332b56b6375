"""Tensors that stay where they are, bound to a session ahead of its runs, in the shape of ONNX Runtime's interface."""

import numpy

from . import _native
from ._native import InputError, UsageError

_GPU = (2, 13)  # DLPack's numbers for CUDA's memory, managed or not.


def is_on_gpu(value):
    """Whether a value says by DLPack that it is in the memory of an NVIDIA GPU."""
    return hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] in _GPU


def tensor_of_gpu(value, name, stream):
    """Whose work on the value comes ahead of the session's, as DLPack has it."""
    if not stream:
        raise InputError(f"'{name}' is on a GPU, the session is not; make it with device='cuda'")
    try:
        return _native.Tensor.of_dlpack(value.__dlpack__(stream=stream))
    except (TypeError, BufferError) as problem:
        raise InputError(f"'{name}' can't be used where it is ({problem}); make it dense and row-major") from None


def tensor_at(port, device, element_type, shape, address, stream):
    """Of memory that only its address is known of, as ONNX Runtime's bind_input takes it."""
    if device not in ("cpu", "cuda"):
        raise UsageError(f"'{port.name}': there is no device '{device}'; use 'cpu' or 'cuda'")
    if device == "cuda" and not stream:
        raise InputError(f"'{port.name}' is on a GPU, the session is not; make it with device='cuda'")
    if element_type is not None and numpy.dtype(element_type) != port._dtype:
        raise InputError(f"'{port.name}' is {numpy.dtype(element_type)}, the model's is {port._dtype}")
    if shape is not None and tuple(shape) != port._bound:
        raise InputError(f"'{port.name}' is {list(shape)}, the model's is {list(port._bound)}")
    return _native.Tensor.at(int(address), port._number, list(port._bound), port._bytes)


class IOBinding:
    """Inputs and outputs of `session.run_with_iobinding(binding)`. A value is a NumPy array, or whatever has DLPack's
    methods (a tensor of torch or CuPy, say), on the host or, where the session is on a GPU, on that GPU; it is used where
    it is, as it is when a run begins. An output without a value is a new NumPy array in each run."""

    def __init__(self, session):
        self._session = session
        self._inputs, self._outputs = {}, {}
        self._results = []

    def bind_input(self, name, value, device_id=0, element_type=None, shape=None, buffer_ptr=None):
        """`value` is a value; or "cpu" or "cuda", and `buffer_ptr` the address of memory of that device."""
        port = self._session._port(name, self._session._inputs, "input")
        self._inputs[name] = self._given(port, value, element_type, shape, buffer_ptr)

    def bind_cpu_input(self, name, array):
        self.bind_input(name, numpy.asarray(array))

    def bind_output(self, name, value="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None):
        """The same for an output, which "cpu" alone makes a new NumPy array in each run."""
        port = self._session._port(name, self._session._outputs, "output")
        if isinstance(value, str) and buffer_ptr is None:
            if value != "cpu":
                raise UsageError(f"output '{name}': give a tensor on the GPU, or buffer_ptr, its address")
            value = None
        self._outputs[name] = value if value is None else self._given(port, value, element_type, shape, buffer_ptr)

    def clear_binding_inputs(self):
        self._inputs.clear()

    def clear_binding_outputs(self):
        self._outputs.clear()
        self._results = []

    def get_outputs(self):
        """Of the last run, in the order in which outputs were bound: what was bound, or a NumPy array."""
        return list(self._results)

    def copy_outputs_to_cpu(self):
        for name, result in zip(self._outputs, self._results):
            if not isinstance(result, numpy.ndarray):
                raise UsageError(f"output '{name}' is not the host's; copy it by what it is of (torch: .cpu())")
        return [result.copy() for result in self._results]

    def _given(self, port, value, element_type, shape, address):
        if not isinstance(value, str):
            return value
        if address is None:
            raise UsageError(f"'{port.name}': buffer_ptr is missing, the address of its memory")
        return tensor_at(port, value, element_type, shape, address, self._session._native.stream())
