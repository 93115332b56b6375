"""Values in the memory of a GPU."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from . import _capi, _dlpack
from ._capi import InputError

# DLPack's numbers for CUDA's memory; what is managed can be reached from all GPUs.
_MANAGED = 13
_GPU = (2, _MANAGED)


# Packages that order the work on all of their tensors by one stream, the current one.
_OF_ONE_STREAM = ("torch", "cupy")


class Held:
    """A value on a GPU whose memory is known since it was bound, so that runs need not ask for it again. Those of a package
    are ready when one of them is."""

    __slots__ = ("package", "tensor", "value")

    def __init__(self, value: Any, tensor: _capi.Tensor, package: str) -> None:
        self.value, self.tensor, self.package = value, tensor, package

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor.shape


def held(value: Any, name: str, gpu: int | None, stream: int | None) -> Any:
    """What to keep of a value that is bound: itself, unless it is on the session's GPU and of such a package."""
    package = type(value).__module__.partition(".")[0]
    if package not in _OF_ONE_STREAM or not is_on_gpu(value):
        return value
    try:
        check_reached(value, name, gpu)
        return Held(value, tensor_of_gpu(value, name, stream), package)
    except InputError:  # Which a run says, if there is one with this value.
        return value


def one_of_each(values: Iterable[Any]) -> list[Held]:
    """Of those that are held, one of each package."""
    return list({value.package: value for value in values if isinstance(value, Held)}.values())


def current_stream(package: str, gpu: int) -> int:
    """The number of the stream by which a package orders its work on a GPU now."""
    cuda = sys.modules[package].cuda
    stream: int = cuda.current_stream(gpu).cuda_stream if package == "torch" else cuda.get_current_stream(gpu).ptr
    return stream


def wait_for(values: Iterable[Held], stream: int | None, gpu: int | None) -> None:
    """Has a stream, by DLPack's number, wait for what these are ready after."""
    for each in values:
        if gpu is None or dlpack_number(current_stream(each.package, gpu)) != stream:
            each.value.__dlpack__(stream=stream)


def dlpack_number(stream: int) -> int:
    """Of a stream: DLPack has no 0 for the default one."""
    return stream or 1


def is_on_gpu(value: Any) -> bool:
    """Whether a value says by DLPack that it is in the memory of an NVIDIA GPU."""
    return hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] in _GPU


def check_gpu(name: str, number: int | None, own: int | None) -> None:
    """What is on another GPU than the session, whose number is `own`, can't be reached from its kernels."""
    if own is None:
        raise InputError(f"'{name}' is on a GPU, the session is not; make it with device='cuda'")
    if number not in (own, None):
        raise InputError(
            f"'{name}' is on GPU {number}, the session on GPU {own}; make it with device='cuda:{number}', or "
            f"copy '{name}'"
        )


def check_reached(value: Any, name: str, own: int | None) -> None:
    """That a value on a GPU is where a session on GPU `own` reaches it."""
    kind, number = value.__dlpack_device__()
    check_gpu(name, None if kind == _MANAGED else number, own)


def tensor_of_gpu(value: Any, name: str, stream: int | None) -> _capi.Tensor:
    """Whose work on the value comes ahead of the stream's, as DLPack has it."""
    try:
        return _dlpack.tensor_of(value.__dlpack__(stream=stream))
    except (TypeError, BufferError) as problem:
        raise InputError(f"'{name}' can't be used where it is ({problem}); make it dense and row-major") from None
