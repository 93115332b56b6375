"""The C API (include/kintsugi/compiler.h and runtime.h), by ctypes: as little of it as the package needs, on memory that
is given. Types, shapes and names are the package's business. One library serves every Python, and other threads run
while it works."""

from __future__ import annotations

import copy
import ctypes
import operator
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, NamedTuple, NoReturn, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

# What files of artifacts begin with.
ARTIFACT_MAGIC = b"KINTSUGI"
# The C API's number for what is of a type that is not said, or not known.
ANY = 0


class Error(Exception):
    """What went wrong, and what to do; its own class where it is our fault."""


class UsageError(Error):
    """An argument is wrong, or arguments contradict each other."""


class InputError(Error):
    """A model, an artifact or the values of an input are wrong."""


class MachineError(Error):
    """The machine lacks what is asked for: a device, memory, room on the disk."""


_ERRORS = {2: UsageError, 3: InputError, 5: MachineError}


_Advanced = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_uint64, c_uint64)


class _CompilerOptions(ctypes.Structure):
    _fields_ = [("struct_bytes", c_size_t), ("json", c_char_p), ("progress", _Advanced), ("user", c_void_p)]


class _LoadOptions(ctypes.Structure):
    _fields_ = [("struct_bytes", c_size_t), ("skip_constants_check", c_int), ("device", c_char_p)]


class _ContextOptions(ctypes.Structure):
    _fields_ = [("struct_bytes", c_size_t), ("threads", c_uint32), ("profile", c_int)]


class Order(ctypes.Structure):
    """How the work of a run is ordered: on a stream of the caller's, by its number, or on the context's own; and whether the
    run is waited for, which it is all the same where outputs are the host's."""

    _fields_ = [
        ("struct_bytes", c_size_t),
        ("on_stream", c_int),
        ("stream", c_void_p),
        ("no_wait", c_int),
        ("only_wait", c_int),
        ("binding", c_void_p),
    ]

    def __init__(self, stream: int | None, waits: bool) -> None:
        super().__init__(ctypes.sizeof(Order), stream is not None, stream, not waits)


MOST_OPEN_DIMENSIONS = 2  # Of an artifact.


class OpenAxis(NamedTuple):
    """Where a port has an open dimension: `dimension` has `step` elements for each of its size, which is `low` to `high`."""

    name: str
    dimension: int
    step: int
    low: int
    high: int


class _OpenAxis(ctypes.Structure):
    _fields_ = [
        ("dimension", c_int32),
        ("step", c_int64),
        ("low", c_int64),
        ("high", c_int64),
        ("name", c_char_p),
    ]


class _Port(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_int32),
        ("rank", c_int32),
        ("dims", POINTER(c_int64)),
        ("bytes", c_uint64),
        ("dynamic", c_int32),
        ("may_alias", c_int32),
        ("open", _OpenAxis * MOST_OPEN_DIMENSIONS),
    ]

    def axes(self) -> list[OpenAxis]:
        return [
            OpenAxis(axis.name.decode(), axis.dimension, axis.step, axis.low, axis.high)
            for axis in self.open
            if axis.dimension >= 0
        ]

    def at(self, sizes: Mapping[str, int]) -> _Port:
        """The same with these sizes of the open dimensions."""
        axes = self.axes()
        if not axes:
            return self
        port, dims = _Port.from_buffer_copy(self), self.dims[: self.rank]
        for axis in axes:
            port.bytes = port.bytes // dims[axis.dimension] * axis.step * sizes[axis.name]
            dims[axis.dimension] = axis.step * sizes[axis.name]
        port.dims = (c_int64 * self.rank)(*dims)
        return port


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_int32),
        ("rank", c_int32),
        ("dims", c_void_p),
        ("data", c_void_p),
        ("bytes", c_uint64),
    ]


_PATH_AND_OPTIONS = [c_char_p, POINTER(_CompilerOptions), c_void_p, c_void_p]
_SIGNATURES: dict[str, tuple[Any, list[Any] | None]] = {
    "kin_compiler_version": (c_char_p, []),
    "kin_text_data": (c_char_p, [c_void_p]),
    "kin_text_free": (None, [c_void_p]),
    "kin_prepare": (c_int, _PATH_AND_OPTIONS),
    "kin_compile": (c_int, [c_char_p, *_PATH_AND_OPTIONS]),
    "kin_inspect": (c_int, _PATH_AND_OPTIONS),
    "kin_survey": (c_int, _PATH_AND_OPTIONS),
    "kin_machine": (c_int, [c_char_p, c_void_p, c_void_p]),
    "kin_error_message": (c_char_p, [c_void_p]),
    "kin_error_free": (None, [c_void_p]),
    "kin_model_load": (c_int, [c_char_p, POINTER(_LoadOptions), c_void_p, c_void_p]),
    "kin_model_free": (None, [c_void_p]),
    "kin_model_input_count": (c_size_t, [c_void_p]),
    "kin_model_output_count": (c_size_t, [c_void_p]),
    "kin_model_input": (POINTER(_Port), [c_void_p, c_size_t]),
    "kin_model_output": (POINTER(_Port), [c_void_p, c_size_t]),
    "kin_context_create": (c_int, [c_void_p, POINTER(_ContextOptions), c_void_p, c_void_p]),
    "kin_context_free": (None, [c_void_p]),
    "kin_run": (c_int, None),  # What it is called with has been converted: see _Frame.
    "kin_run_with": (c_int, None),
    "kin_binding_free": (None, [c_void_p]),
    "kin_context_cancel": (None, [c_void_p]),
    "kin_context_stream": (c_void_p, [c_void_p]),
    "kin_context_owns": (c_int, [c_void_p, c_void_p]),
}


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libkintsugi_compiler.so"))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_c = _load()


def _raise(status: int, error: c_void_p) -> NoReturn:
    """As the exception that it is. Files' names in messages may be no UTF-8."""
    message = (_c.kin_error_message(error) if error else b"").decode(errors="backslashreplace")
    _c.kin_error_free(error)
    raise _ERRORS.get(status, Error)(message)


def _check(function: Callable[..., int], *arguments: Any) -> None:
    """Calls what takes the place of an error as its last argument."""
    error = c_void_p()
    status = function(*arguments, byref(error))
    if status:
        _raise(status, error)


def _text_of(function: Callable[..., int], *arguments: Any) -> str:
    """Calls what gives a text as the argument ahead of the error."""
    text = c_void_p()
    _check(function, *arguments, byref(text))
    try:
        return str(_c.kin_text_data(text), "utf-8")
    finally:
        _c.kin_text_free(text)


def version() -> str:
    return str(_c.kin_compiler_version(), "utf-8")


def machine() -> str:
    """What is known of the machine and its devices, as JSON."""
    return _text_of(_c.kin_machine, b"show")


# Told of the phase that compiling is in, the step of it and how many there are (0: not known); False ends it.
Progress: TypeAlias = "Callable[[str, int, int], object]"


class _Watch:
    """What a compilation is told to do as it advances: to go on, until `stop` is called, or `progress` asks for an end or
    raises."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress, self._goes_on = progress, True
        self._problem: BaseException | None = None

    def call(self, settings: str, function: Callable[..., int], *arguments: Any) -> str:
        advanced = _Advanced(self._advanced)
        options = _CompilerOptions(ctypes.sizeof(_CompilerOptions), settings.encode(), advanced, None)
        try:
            return _text_of(function, *arguments, byref(options))
        except UsageError:
            problem, self._problem = self._problem, None
            try:
                if problem is not None:
                    raise problem from None
                raise
            finally:
                del problem  # It would keep itself, and all that its frames have.

    def stop(self) -> None:
        self._goes_on = False

    def _advanced(self, user: object, phase: bytes, step: int, steps: int) -> bool:
        try:
            if self._goes_on and self._progress is not None:
                self._goes_on = self._progress(phase.decode(), step, steps) is not False
        except BaseException as problem:
            self._problem, self._goes_on = problem, False
        return self._goes_on


def _compiling(settings: str, progress: Progress | None, function: Callable[..., int], *arguments: Any) -> str:
    """Calls what takes options, of a process that compiles. An interrupt, which is the main thread's, ends it."""
    watch = _Watch(progress)
    if threading.current_thread() is not threading.main_thread():
        return watch.call(settings, function, *arguments)
    done: Future[str] = Future()

    def work() -> None:
        try:
            done.set_result(watch.call(settings, function, *arguments))
        except BaseException as problem:
            done.set_exception(problem)

    # The main thread hears of a signal between two steps of Python's, which it makes while it waits for another thread.
    threading.Thread(target=work, name="kintsugi", daemon=True).start()
    try:
        return done.result()
    except BaseException:
        watch.stop()
        done.exception()
        raise
    finally:
        del done  # Its error would keep itself, and all that its frames have.


def prepare(path: bytes, settings: str, progress: Progress | None = None) -> str:
    """Has the model's artifact in the cache; gives the report."""
    return _compiling(settings, progress, _c.kin_prepare, path)


def compile(path: bytes, artifact: bytes, settings: str, progress: Progress | None = None) -> str:
    """Compiles a model into a file; gives the report."""
    return _compiling(settings, progress, _c.kin_compile, path, artifact)


def inspect(path: bytes, settings: str) -> str:
    """What is in a model, without compiling it."""
    return _compiling(settings, None, _c.kin_inspect, path)


def survey(path: bytes, settings: str) -> str:
    """What each node of a model asks for, or why it is refused."""
    return _compiling(settings, None, _c.kin_survey, path)


# Looked up once, for runs.
_run, _run_with = _c.kin_run, _c.kin_run_with
_address = ctypes.addressof
_first_byte: Callable[[Array], ctypes.c_char] = ctypes.c_char.from_buffer  # type: ignore[assignment]


def address_of(array: Array) -> int:
    """Of an array's first element. What NumPy says of it makes objects, which take longer than a small run."""
    try:
        return _address(_first_byte(array))
    except (TypeError, ValueError, BufferError):  # It is read-only or empty, or its type is none of NumPy's own.
        return array.ctypes.data


class Tensor:
    """Memory of an input or output, wherever it is; `owner` keeps it."""

    __slots__ = ("address", "bytes", "is_on_gpu", "owner", "shape", "type")

    def __init__(
        self, owner: object, address: int, number: int, shape: Sequence[int], room: int, is_on_gpu: bool = False
    ) -> None:
        self.owner, self.address, self.type, self.shape, self.bytes = owner, address, number, tuple(shape), room
        self.is_on_gpu = is_on_gpu  # As who knows only its address says.

    @staticmethod
    def of_array(array: Array, number: int) -> Tensor:
        return Tensor(array, address_of(array), number, array.shape, array.nbytes)


class _Frame:
    """What a run passes, made once and used again: a run fills in addresses. Runs at the same time have one each."""

    __slots__ = ("arguments", "error", "given", "shapes", "taken")

    def __init__(self, context: c_void_p, inputs: list[_Port], outputs: list[_Port]) -> None:
        self.shapes: list[Any] = [port.dims[: port.rank] for port in outputs]
        if any(port.dynamic for port in outputs):
            self.shapes = [(c_int64 * len(shape))(*shape) for shape in self.shapes]
        given, taken = (_Tensor * len(inputs))(), (_Tensor * len(outputs))()
        self.given, self.taken, self.error = list(given), list(taken), c_void_p()
        for tensor, port in zip(self.given, inputs):
            tensor.type, tensor.rank, tensor.bytes = port.type, port.rank, port.bytes
            tensor.dims = ctypes.addressof(port.dims.contents) if port.rank else None
        for tensor, port, shape in zip(self.taken, outputs, self.shapes):
            tensor.type, tensor.rank, tensor.bytes = ANY, port.rank, port.bytes
            tensor.dims = None if isinstance(shape, list) else ctypes.addressof(shape)
        self.arguments = (context, given, c_size_t(len(inputs)), taken, c_size_t(len(outputs)), byref(self.error))

    def run(self, order: Order | None) -> list[Any]:
        """Gives the outputs' shapes, in arrays of their own where the data decides them."""
        how = None if order is None else byref(order)
        if status := _run_with(*self.arguments[:-1], how, self.arguments[-1]):
            _raise(status, self.error)
        return self.shapes


class Binding:
    """Memory of all inputs and outputs of a session, which the first run looks at, and which is to stay where it is."""

    __slots__ = ("__weakref__", "_arguments", "_bound", "_error", "_frame", "_handle", "_order", "_place", "_session", "_usual")

    def __init__(self, session: Session, frame: _Frame) -> None:
        self._session, self._frame = session, frame
        self._handle, self._order = c_void_p(), Order(None, waits=True)
        self._place = self._order.binding = _address(self._handle)
        self._usual = byref(self._order)
        *self._arguments, self._error = frame.arguments
        self._bound: list[Any] = [self._arguments[0], None, c_size_t(0), None, c_size_t(0)]  # The same, but no tensors.
        weakref.finalize(self, _free_binding, self._handle).atexit = False

    def run(self, order: Order | None) -> None:
        """One at a time."""
        how = self._usual
        if order is not None:
            order.binding, how = self._place, byref(order)
        status = _run_with(*self._arguments, how, self._error)
        if self._handle:
            self._arguments = self._bound
        if status:
            _raise(status, self._frame.error)


def _free_binding(handle: c_void_p) -> None:
    _c.kin_binding_free(handle)


class Session:
    """An artifact, loaded and ready to run."""

    def __init__(self, path: bytes, threads: int, device: str) -> None:
        where = _LoadOptions(ctypes.sizeof(_LoadOptions), 0, device.encode())
        self._model = self._own(_c.kin_model_load, _c.kin_model_free, path, byref(where))
        options = _ContextOptions(ctypes.sizeof(_ContextOptions), operator.index(threads), 0)
        self._context = self._own(_c.kin_context_create, _c.kin_context_free, self._model, byref(options))
        self._inputs = self._ports(_c.kin_model_input_count, _c.kin_model_input)
        self._outputs = self._ports(_c.kin_model_output_count, _c.kin_model_output)
        self._is_dynamic = any(port.dynamic for port in self._outputs)
        self._frames: list[_Frame] = []
        self._was_cancelled = False
        self._whole = self  # What the model and its context live as long as.

    def _own(self, create: Callable[..., int], free: Callable[..., None], *arguments: Any) -> c_void_p:
        """What `create` makes, until the session goes; nothing is freed while the process ends."""
        handle = c_void_p()
        _check(create, *arguments, byref(handle))
        weakref.finalize(self, free, handle).atexit = False
        return handle

    def _ports(self, count: Callable[..., int], port: Callable[..., Any]) -> list[_Port]:
        return [port(self._model, place).contents for place in range(count(self._model))]

    def inputs(self) -> list[tuple[str, int, list[int], bool]]:
        """(name, number of the type, shape, whether that depends on data) of each."""
        return [_description(port) for port in self._inputs]

    def outputs(self) -> list[tuple[str, int, list[int], bool]]:
        return [_description(port) for port in self._outputs]

    def open_dimensions(self) -> dict[str, tuple[int, int]]:
        """The least and greatest sizes of each, by name, in the order in which inputs have them. Ports are of the greatest."""
        return {axis.name: (axis.low, axis.high) for axes in self.open_axes()[0] for axis in axes}

    def open_axes(self) -> tuple[list[list[OpenAxis]], list[list[OpenAxis]]]:
        """Of each input and each output, where it has open dimensions."""
        inputs, outputs = ([port.axes() for port in ports] for ports in (self._inputs, self._outputs))
        return inputs, outputs

    def at(self, sizes: Mapping[str, int]) -> Session:
        """The same artifact for runs of these sizes of its open dimensions."""
        sized = copy.copy(self)
        sized._inputs, sized._outputs = ([port.at(sizes) for port in ports] for ports in (self._inputs, self._outputs))
        sized._frames, sized._whole = [], self
        return sized

    def stream(self) -> int | None:
        """The number of the GPU's stream that runs are ordered by which are put on no other; none on the host."""
        stream: int | None = _c.kin_context_stream(self._context)
        return stream

    def wait(self) -> None:
        """Until all runs are done that were not waited for; what was wrong with one is an error."""
        order = Order(None, waits=True)
        order.only_wait = 1
        _check(_run_with, self._context, None, c_size_t(0), None, c_size_t(0), byref(order))

    def cancel(self) -> None:
        """Ends the run under way with a usage error, or the next one if there is none: see `was_cancelled`."""
        self._was_cancelled = True
        _c.kin_context_cancel(self._context)

    def was_cancelled(self) -> bool:
        """Whether `cancel` was called since this was asked last."""
        was, self._was_cancelled = self._was_cancelled, False
        return was

    def run(self, inputs: Sequence[int], outputs: Sequence[int], order: Order | None = None) -> list[Any]:
        """On addresses of memory for all inputs and outputs, in the model's order and dense, of its types and shapes; gives
        the outputs' shapes."""
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = _Frame(self._context, self._inputs, self._outputs)
        for tensor, address in zip(frame.given, inputs):
            tensor.data = address
        for tensor, address in zip(frame.taken, outputs):
            tensor.data = address
        if order is not None:
            shapes = frame.run(order)
        elif status := _run(*frame.arguments):
            _raise(status, frame.error)
        else:
            shapes = frame.shapes
        if self._is_dynamic:
            shapes = list(map(list, shapes))
        self._frames.append(frame)
        return shapes

    def bind(self, inputs: Sequence[int], outputs: Sequence[int]) -> Binding:
        """What runs on the same again and again."""
        frame = _Frame(self._context, self._inputs, self._outputs)
        for tensor, address in zip((*frame.given, *frame.taken), (*inputs, *outputs)):
            tensor.data = address
        return Binding(self, frame)

    def run_tensors(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], order: Order | None = None) -> list[Any]:
        """The same on tensors that may be elsewhere than in the host's memory, and may be others than the model's."""
        ports, tensors = (*self._inputs, *self._outputs), (*inputs, *outputs)
        if all(port.type == tensor.type and port.bytes == tensor.bytes for port, tensor in zip(ports, tensors)):
            return self.run(list(map(self._place_of, inputs)), list(map(self._place_of, outputs)), order)
        frame = _Frame(self._context, self._inputs, self._outputs)
        extents = [(c_int64 * len(tensor.shape))(*tensor.shape) for tensor in inputs]
        for room, dims in zip(frame.given, extents):
            room.rank, room.dims = len(dims), ctypes.addressof(dims)
        for room, tensor in zip((*frame.given, *frame.taken), (*inputs, *outputs)):
            room.type, room.data, room.bytes = tensor.type, self._place_of(tensor), tensor.bytes
        return list(map(list, frame.run(order)))

    def _place_of(self, tensor: Tensor) -> int:
        if tensor.is_on_gpu and tensor.bytes > 0 and not _c.kin_context_owns(self._context, tensor.address):
            raise InputError(
                f"the address {tensor.address} is bound as the GPU's, which has no memory there; bind what is allocated"
            )
        return tensor.address


def _description(port: _Port) -> tuple[str, int, list[int], bool]:
    return port.name.decode(), port.type, port.dims[: port.rank], bool(port.dynamic)
