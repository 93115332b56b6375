"""Runs of a session on torch's tensors, for one size of a graph's inputs."""

import sympy
import torch

from .. import UsageError
from ..providers import GPU_PROVIDER
from .tensors import dense, type_name


class Session:
    """`fed`: by the names of the session's inputs, the numbers of the graph's arguments; `symbols`: the values of torch's
    symbols. Results have the types and strides that torch's own would have."""

    def __init__(self, session, fed, results, symbols):
        self._program = session._program
        self._outputs = [(result, _view(result.view, symbols)) for result in results.outputs]
        self._fed = [fed[port.name] for port in session.get_inputs()]
        gpu = session.get_provider_options().get(GPU_PROVIDER)
        self._is_on_gpu = gpu is not None
        self._device = torch.device("cpu") if gpu is None else torch.device("cuda", int(gpu["device_id"]))
        values = [node.meta["val"] for node in results.nodes]
        if there := [each for each in values if isinstance(each, torch.Tensor) and each.device.type != self._device.type]:
            raise UsageError(f"a result is to be on {there[0].device}, what it comes of is on {self._device}")
        self._rooms = [_Room(port, value, symbols) for port, value in zip(session.get_outputs(), values)]

    def run(self, arguments):
        given = [self._placed(arguments[number]) for number in self._fed]
        made = [room.empty(self._device) for room in self._rooms]
        stream = None  # On a GPU the run is among what torch has under way, and nobody waits for it here.
        if self._is_on_gpu:
            stream = torch.cuda.current_stream(self._device).cuda_stream
        places = ([tensor.data_ptr() for tensor in tensors] for tensors in (given, made))
        self._program.run_at(*places, stream)
        made = [room.finished(tensor) for room, tensor in zip(self._rooms, made)]
        return tuple(self._result(result, view, arguments, made) for result, view in self._outputs)

    def _placed(self, tensor):
        """Where the session reads it: a copy only where it is elsewhere or not dense."""
        is_as_it_is = tensor.device == self._device and tensor.is_contiguous()
        if is_as_it_is and not tensor.is_conj() and not tensor.is_neg():
            return tensor
        return dense(tensor.to(self._device))

    @staticmethod
    def _result(result, view, arguments, made):
        if result.source == "known":
            return result.value
        found = (arguments if result.source == "input" else made)[result.number]
        return found if view is None else found.as_strided(*view)


def _view(value, symbols):
    """(shape, strides, offset) of a view, or None where there is none."""
    if value is None:
        return None
    shape, strides = ([known(size, symbols) for size in sizes] for sizes in (value.shape, value.stride()))
    return shape, strides, known(value.storage_offset(), symbols)


class _Room:
    """An output: where it goes to, and as what it is given back. `value`: torch's idea of it."""

    __slots__ = ("_dtype", "_is_number", "_shape", "_strides", "name")

    def __init__(self, port, value, symbols):
        self.name, self._shape, self._strides = port.name, tuple(port.shape), None
        self._is_number = not isinstance(value, torch.Tensor)
        self._dtype = torch.int64 if self._is_number else value.dtype
        if port._dtype.name != type_name(self._dtype):
            raise UsageError(f"output '{port.name}' is {port._dtype.name}, torch's is {type_name(self._dtype)}")
        if not self._is_number:
            shape = tuple(known(size, symbols) for size in value.shape)
            if shape != self._shape:
                raise UsageError(f"output '{port.name}' is {list(self._shape)}, torch's is {list(shape)}")
            strides = tuple(known(step, symbols) for step in value.stride())
            if not torch._prims_common.is_contiguous(torch.empty_strided(shape, strides, device="meta")):
                self._strides = strides

    def empty(self, device):
        return torch.empty(self._shape, dtype=self._dtype, device=device)

    def finished(self, tensor):
        if self._is_number:
            return int(tensor)
        if self._strides is None:
            return tensor
        # Along a stride of 0 all elements are one.
        apart = [1 if stride == 0 else size for size, stride in zip(self._shape, self._strides)]
        made = torch.empty_strided(apart, self._strides, dtype=self._dtype, device=tensor.device)
        made.copy_(tensor[tuple(slice(size) for size in apart)])
        return made.as_strided(self._shape, self._strides)


def symbols_of(values, arguments):
    """The values of torch's symbols, by what a graph's inputs are to torch and what they are now."""
    found = {}
    for value, argument in zip(values, arguments):
        pairs = [(value, argument)]
        if isinstance(value, torch.Tensor):
            pairs = [*zip(value.shape, argument.shape), *zip(value.stride(), argument.stride())]
        for size, number in pairs:
            if isinstance(size, torch.SymInt) and isinstance(size.node.expr, sympy.Symbol):
                found[size.node.expr] = int(number)
    return found


def known(size, symbols):
    """A size or stride as a number."""
    return int(size.node.expr.xreplace(symbols)) if isinstance(size, torch.SymInt) else size
