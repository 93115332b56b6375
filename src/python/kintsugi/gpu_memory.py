"""Memory of NVIDIA GPUs, from the driver: sessions use their callers' memory, and have no way to allocate any for them."""

from __future__ import annotations

import ctypes
import threading
import weakref
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

from ._capi import Array, MachineError, address_of

_OUT_OF_MEMORY = 2
# The stream that waits for all others of a context.
_EVERY_STREAM = None

_SIGNATURES: dict[str, list[Any]] = {
    "cuInit": [c_uint],
    "cuGetErrorString": [c_int, POINTER(c_char_p)],
    "cuDeviceGet": [POINTER(c_int), c_int],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuCtxSetCurrent": [c_void_p],
    "cuMemAlloc_v2": [POINTER(c_uint64), c_size_t],
    "cuMemFree_v2": [c_uint64],
    "cuMemcpyHtoDAsync_v2": [c_uint64, c_void_p, c_size_t, c_void_p],
    "cuMemcpyDtoHAsync_v2": [c_void_p, c_uint64, c_size_t, c_void_p],
    "cuStreamSynchronize": [c_void_p],
}


class _Driver:
    """NVIDIA's driver, and the primary context of each GPU, which sessions and other libraries use too."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError as problem:
            raise MachineError(f"NVIDIA's driver is not here: {problem}") from None
        for name, arguments in _SIGNATURES.items():
            getattr(self._library, name).argtypes = arguments
        self._contexts: dict[int, c_void_p] = {}
        self.call("start", "cuInit", 0)

    def call(self, what: str, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            text = c_char_p()
            self._library.cuGetErrorString(status, byref(text))
            hint = "; free some, or keep less on it" if status == _OUT_OF_MEMORY else ""
            raise MachineError(f"the GPU can't {what}: {(text.value or b'unknown error').decode()}{hint}")

    def enter(self, number: int) -> None:
        """Makes a GPU's context that of the calling thread."""
        if number not in self._contexts:
            device, context = c_int(), c_void_p()
            self.call(f"be found: there is no NVIDIA device {number}", "cuDeviceGet", byref(device), number)
            self.call("be used", "cuDevicePrimaryCtxRetain", byref(context), device)
            self._contexts[number] = context
        self.call("be used", "cuCtxSetCurrent", self._contexts[number])


_lock = threading.RLock()  # A collection in its midst may free memory.
_driver: _Driver | None = None


def _entered(number: int) -> _Driver:
    """The driver, with a GPU's context the calling thread's."""
    global _driver
    with _lock:
        if _driver is None:
            _driver = _Driver()
        _driver.enter(number)
        return _driver


class GpuMemory:
    """Bytes on a GPU, by its number, given back when nobody refers to them. `address`: 0 for no bytes."""

    def __init__(self, gpu: int, size: int) -> None:
        self._gpu, self.address = gpu, 0
        driver = _entered(gpu)
        if size > 0:
            address = c_uint64()
            driver.call(f"allocate {size} bytes", "cuMemAlloc_v2", byref(address), size)
            self.address = address.value
            weakref.finalize(self, _free, gpu, self.address).atexit = False

    def write(self, array: Array) -> None:
        """To its start, from a dense array of no more bytes, when all that the GPU was asked for is done."""
        self._copy("cuMemcpyHtoDAsync_v2", self.address, address_of(array), array.nbytes)

    def read(self, array: Array) -> None:
        """The other way around."""
        self._copy("cuMemcpyDtoHAsync_v2", address_of(array), self.address, array.nbytes)

    def _copy(self, function: str, to: int, source: int, size: int) -> None:
        if size > 0:
            driver = _entered(self._gpu)
            driver.call("copy", function, to, source, size, _EVERY_STREAM)
            driver.call("copy", "cuStreamSynchronize", _EVERY_STREAM)


def _free(gpu: int, address: int) -> None:
    _entered(gpu).call("free memory", "cuMemFree_v2", address)
