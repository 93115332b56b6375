"""Kintsugi from Python, in the shape of ONNX Runtime's interface:

    import kintsugi
    session = kintsugi.InferenceSession("model.onnx")
    (y,) = session.run(None, {"x": x})

A model is compiled when a session is made: once, as artifacts are kept in the cache that the command line uses too
(docs/command-line.md), and in a process of its own, which may fail and not take this one with it. Sessions may be used
from any thread; runs of one session take turns.
"""

from __future__ import annotations

import json
import math
import operator
import os
import re
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias

import numpy

from . import _capi, packed
from ._capi import Array, Error, InputError, MachineError, UsageError
from .io_binding import IOBinding, is_on_gpu, tensor_of_gpu

__all__ = [
    "Error",
    "IOBinding",
    "InferenceSession",
    "InputError",
    "MachineError",
    "NodeArg",
    "SessionOptions",
    "UsageError",
    "get_available_providers",
]
__version__ = _capi.version()
for _error in (Error, InputError, MachineError, UsageError):
    _error.__module__ = __name__

_BYTE = numpy.dtype(numpy.uint8)
_Path: TypeAlias = "str | os.PathLike[str]"

PROVIDER, GPU_PROVIDER = "CPUExecutionProvider", "CUDAExecutionProvider"

# By the numbers of ONNX's TensorProto.DataType: ONNX Runtime's name for tensors of it, and NumPy's type. Those that NumPy
# does not have itself the package ml_dtypes brings.
_TYPES = {
    1: ("tensor(float)", "float32"),
    2: ("tensor(uint8)", "uint8"),
    3: ("tensor(int8)", "int8"),
    4: ("tensor(uint16)", "uint16"),
    5: ("tensor(int16)", "int16"),
    6: ("tensor(int32)", "int32"),
    7: ("tensor(int64)", "int64"),
    9: ("tensor(bool)", "bool"),
    10: ("tensor(float16)", "float16"),
    11: ("tensor(double)", "float64"),
    12: ("tensor(uint32)", "uint32"),
    13: ("tensor(uint64)", "uint64"),
    14: ("tensor(complex64)", "complex64"),
    15: ("tensor(complex128)", "complex128"),
    16: ("tensor(bfloat16)", "bfloat16"),
    17: ("tensor(float8e4m3fn)", "float8_e4m3fn"),
    18: ("tensor(float8e4m3fnuz)", "float8_e4m3fnuz"),
    19: ("tensor(float8e5m2)", "float8_e5m2"),
    20: ("tensor(float8e5m2fnuz)", "float8_e5m2fnuz"),
    21: ("tensor(uint4)", "uint4"),
    22: ("tensor(int4)", "int4"),
    23: ("tensor(float4e2m1)", "float4_e2m1fn"),
    24: ("tensor(float8e8m0)", "float8_e8m0fnu"),
    25: ("tensor(uint2)", "uint2"),
    26: ("tensor(int2)", "int2"),
}
_OF_ML_DTYPES = range(16, 27)


# The keywords that stand for flags of the command line, which the compiler's messages name.
_KEYWORDS = {
    "--bind": "bind={INPUT: ARRAY}",
    "--calibrate": "calibrate={INPUT: ARRAY}",
    "--dim": "dims={NAME: N}",
    "--disable": "disable=NAMES",
    "--max-error": "max_error=SHARE",
    "--max-memory": "max_memory=BYTES",
    "--plan": "plan=NAME",
    "--precision": "precision=NAME",
    "--random-weights": "random_weights=True",
    "--target": "device=NAME",
    "--threads": "threads=N",
    "--timeout": "timeout=SECONDS",
    "--tune": "tune=SECONDS",
}


def get_available_providers() -> list[str]:
    """Those whose devices are here, the quicker one first."""
    return [GPU_PROVIDER, PROVIDER] if _has_gpu() else [PROVIDER]


def _has_gpu() -> bool:
    return bool(json.loads(_capi.machine())["cuda"].get("devices"))


def _device_of(providers: Sequence[Any]) -> str:
    """The device that ONNX Runtime's list of providers asks for: the first of ours that is here."""
    if isinstance(providers, str):
        raise UsageError(f"providers is a list: give ['{providers}']")
    for provider in providers:
        name, options = provider if isinstance(provider, (tuple, list)) and len(provider) == 2 else (provider, {})
        if name == PROVIDER:
            return "cpu"
        if name == GPU_PROVIDER and (_has_gpu() or len(providers) == 1):
            return f"cuda:{(options or {}).get('device_id', 0)}"
    raise UsageError(f"providers {providers}: there is only {' and '.join(get_available_providers())}")


class SessionOptions:
    """How a model is compiled and run. An option that there is not can't be set: none is ignored."""

    __slots__ = (
        "bind",
        "cache",
        "calibrate",
        "device",
        "dims",
        "disable",
        "fallback",
        "intra_op_num_threads",
        "max_error",
        "max_memory",
        "plan",
        "precision",
        "random_weights",
        "timeout",
        "tune",
    )

    def __init__(self) -> None:
        self.intra_op_num_threads: int = 0  # 0: one thread on each core
        self.device: str = "cpu"  # or "cuda", or "cuda:N": an NVIDIA GPU, by number
        self.precision: str = "f32"  # what f32 values may be rounded to: "f16" or "bf16"
        self.max_error: float | None = None  # by how much of its largest number fewer bits may move an output
        self.cache: bool = True  # keep the artifact, and look for it first
        self.random_weights: bool = False  # make weights whose file is missing from their names
        self.dims: dict[str, int] = {}  # sizes of open dimensions, by name
        self.timeout: float | None = None  # seconds that compiling may take
        self.max_memory: int | None = None  # bytes that compiling may take: by default all that the machine has
        self.bind: Mapping[str, Any] = {}  # inputs whose value is known now, by name: arrays, or .npz files
        self.calibrate: Mapping[str, Any] | _Path | None = None  # inputs to look at where values get fewer bits
        self.disable: Collection[str] | None = ()  # what not to do: names that `kintsugi rules` lists
        self.plan: str = "search"  # or "greedy", "separate", "exhaustive"
        self.fallback: str | None = None  # or "onnxruntime": who runs what the compiler refuses
        self.tune: float | None = None  # seconds that may be spent on measuring kernels

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        self.dims[name] = size


class NodeArg:
    """An input or output: `name`, `type` as ONNX Runtime spells it, and `shape`, None where it depends on data."""

    __slots__ = ("_bound", "_bytes", "_dtype", "_dynamic", "_is_packed", "_number", "name", "shape", "type")

    name: str
    type: str
    shape: list[int | None]

    def __init__(self, name: str, number: int, bound: Sequence[int], dynamic: bool) -> None:
        if number not in _TYPES:
            raise InputError(f"'{name}' has an element type that NumPy has no arrays of; run the model from C")
        self.name = name
        self.type, dtype = _TYPES[number]
        self.shape = [None] * len(bound) if dynamic else list(bound)
        self._bound, self._dynamic = tuple(bound), dynamic
        if number in _OF_ML_DTYPES:
            dtype = _type_of_ml_dtypes(name, dtype)
        self._dtype: numpy.dtype[Any] = numpy.dtype(dtype)
        self._number = number
        self._is_packed = number in packed.BITS
        self._bytes = packed.size(number, bound) if self._is_packed else math.prod(bound) * self._dtype.itemsize

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape!r})"

    def _take(self, value: Any) -> Array:
        """A dense array of a feed."""
        array = numpy.asarray(value)
        if not (array.flags.c_contiguous and array.flags.aligned):
            array = numpy.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])
        if array.dtype != self._dtype or array.shape != self._bound:
            raise InputError(
                f"input '{self.name}' is {array.dtype}{list(array.shape)}, the model's is "
                f"{self._dtype}{list(self._bound)}"
            )
        return packed.pack(self._number, array) if self._is_packed else array

    def _room(self, value: Any) -> Array:
        """What an output goes to, in place."""
        if not isinstance(value, numpy.ndarray) and not hasattr(value, "__dlpack__"):
            raise InputError(f"output '{self.name}' is to go to a {type(value).__name__}; give an array or a tensor")
        if self._is_packed:
            raise InputError(f"output '{self.name}' is of packed elements, which no array has; bind it to no memory")
        array = value if isinstance(value, numpy.ndarray) else numpy.from_dlpack(value)
        dense = array.flags.c_contiguous and array.flags.aligned and array.flags.writeable
        if array.dtype != self._dtype or array.shape != self._bound or not dense:
            raise InputError(
                f"output '{self.name}' is to go to {array.dtype}{list(array.shape)}, it needs a dense, writable "
                f"{self._dtype}{list(self._bound)}"
            )
        return array


class InferenceSession:
    """A compiled model, from an ONNX file, a text model (.te) or an artifact, or from the bytes of an ONNX file or an
    artifact. Keywords stand for options: `threads` for intra_op_num_threads, the others for those of their names.
    `notes`: what compiling had to say, such as values that are assumed to be finite; nothing for an artifact. Inputs and
    outputs may be on the host or, of a session of a GPU, on that GPU (`io_binding`)."""

    def __init__(
        self,
        path_or_bytes: _Path | bytes | bytearray | memoryview,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        *,
        threads: int | None = None,
        **keywords: Any,
    ) -> None:
        options = sess_options if sess_options is not None else SessionOptions()
        given = {name: getattr(options, name) for name in SessionOptions.__slots__}
        if unknown := [name for name in keywords if name not in given or name == "intra_op_num_threads"]:
            raise TypeError(f"InferenceSession has no option '{unknown[0]}'; its options: threads, {', '.join(given)}")
        given |= {name: value for name, value in keywords.items() if value is not None}
        if providers and keywords.get("device") is None:
            given["device"] = _device_of(providers)
        if threads is not None:
            given["intra_op_num_threads"] = threads
        _check_kinds(given)
        given["dims"] = dict(options.dims) | dict(given["dims"])
        self._parts: Any = None
        with ExitStack() as stack:
            if given["fallback"] is None:
                self._open(path_or_bytes, given, stack)
            else:
                self._open_parts(path_or_bytes, given, stack)
        self._places = {port.name: place for place, port in enumerate(self._outputs)}

    def _open(self, path_or_bytes: Any, given: dict[str, Any], stack: ExitStack) -> None:
        settings = _settings_of(given, stack)
        path = _path_of(path_or_bytes, stack)
        is_artifact = _is_artifact(path)
        if is_artifact:
            settings.pop("target", None)  # It is of one already.
        load = _load if given["cache"] or is_artifact else _load_anew
        try:
            self._artifact, self.notes = load(path, settings, given["device"])
        except Error as error:
            raise type(error)(_with_keywords(str(error))) from None
        kind, _, number = given["device"].partition(":")
        self._gpu = int(number or 0) if kind == "cuda" else None
        self._inputs = [NodeArg(*port) for port in self._artifact.inputs()]
        self._outputs = [NodeArg(*port) for port in self._artifact.outputs()]
        # Without digits of its own choosing a model gives what it says; then one look is enough.
        self._is_rounded, self._is_checked = "precision" in settings, False

    def _open_parts(self, path_or_bytes: Any, given: dict[str, Any], stack: ExitStack) -> None:
        from .fallback.opening import open_parts

        self._parts = open_parts(_path_of(path_or_bytes, stack), given)
        self._artifact, self._gpu = None, None
        self._inputs, self._outputs, self.notes = self._parts.inputs, self._parts.outputs, self._parts.notes
        self._is_rounded, self._is_checked = given["precision"] != "f32", False

    def get_inputs(self) -> list[NodeArg]:
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        return list(self._outputs)

    def get_providers(self) -> list[str]:
        on_host = self._artifact is None or self._artifact.stream() is None
        return [PROVIDER] if on_host else [GPU_PROVIDER]

    def report(self) -> dict[str, Any]:
        """Of a session with a fallback, what ran where, and why: a dict (`kintsugi.fallback.report.Report`), whose text is
        for reading."""
        if self._parts is None:
            raise UsageError("there is a report of sessions with a fallback; kintsugi explain tells of others")
        return self._parts.report

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any]) -> list[Array]:
        """The outputs named, or all for None or no names, from an array for each input by name."""
        try:
            places = [self._places[name] for name in output_names] if output_names else range(len(self._outputs))
            values = [input_feed[port.name] for port in self._inputs]
        except KeyError as missing:
            raise InputError(self._describe_missing(missing.args[0], output_names)) from None
        if len(input_feed) != len(self._inputs):
            known = [port.name for port in self._inputs]
            extra = next(name for name in input_feed if name not in known)
            raise InputError(
                f"the model has no input '{extra}'; its inputs: {', '.join(known) or 'none'}; what has a default in "
                "the model is a constant"
            )
        results = self._compute(values) if self._parts is None else self._parts.run(values)
        results = [results[place] for place in places]
        if self._is_rounded or not self._is_checked:
            self._is_checked = True
            self._warn([self._outputs[place].name for place in places], results)
        return results

    def _compute(self, values: Iterable[Any]) -> list[Array]:
        """Arrays of all outputs, from values for all inputs."""
        rooms = [_empty(port) for port in self._outputs]
        results = [array for array, _ in rooms]
        shapes = self._run(values, results, [address for _, address in rooms])
        return [self._shaped(result, shape, place) for place, (result, shape) in enumerate(zip(results, shapes))]

    def run_with_iobinding(self, binding: IOBinding) -> None:
        """Runs on what is bound: all inputs, and those outputs that are asked for."""
        if binding._session is not self:
            raise UsageError("the binding is another session's, which may be elsewhere; make one with io_binding()")
        if missing := [port.name for port in self._inputs if port.name not in binding._inputs]:
            raise InputError(f"input '{missing[0]}' is not bound")
        if self._parts is not None:
            results = self._parts.run([binding._inputs[port.name] for port in self._inputs])
            binding._results = [
                self._moved(results[self._places[name]], value, name) for name, value in binding._outputs.items()
            ]
            return
        bound = [binding._outputs.get(port.name) for port in self._outputs]
        results = [
            _empty(port)[0] if value is None else _at_home(value, port._room)
            for port, value in zip(self._outputs, bound)
        ]
        shapes = self._run([binding._inputs[port.name] for port in self._inputs], results)
        places = [self._places[name] for name in binding._outputs]
        binding._results = [
            self._shaped(results[place], shapes[place], place) if bound[place] is None else bound[place]
            for place in places
        ]

    def _moved(self, result: Any, value: Any, name: str) -> Any:
        """To where an output is bound."""
        if value is None:
            return result
        numpy.copyto(self._outputs[self._places[name]]._room(value), result)
        return value

    def _run(self, values: Iterable[Any], results: Sequence[Any], addresses: list[int] | None = None) -> list[list[int]]:
        """On values for all inputs, and results that are rooms of outputs; gives the outputs' shapes."""
        values = [_at_home(value, port._take) for port, value in zip(self._inputs, values)]
        if {*map(type, values), *map(type, results)} == {numpy.ndarray}:
            return self._artifact.run(values, addresses or list(map(_capi.address_of, results)))
        return self._artifact.run_tensors(
            list(map(self._tensor, self._inputs, values)), list(map(self._tensor, self._outputs, results))
        )

    def _tensor(self, port: NodeArg, value: Any) -> _capi.Tensor:
        if isinstance(value, _capi.Tensor):
            return value
        if isinstance(value, numpy.ndarray):
            return _capi.Tensor(value, _capi.address_of(value), port._number, port._bound, value.nbytes)
        if tuple(value.shape) != port._bound:
            raise InputError(f"'{port.name}' is {list(value.shape)}, the model's is {list(port._bound)}")
        return tensor_of_gpu(value, port.name, self)

    @staticmethod
    def _port(name: str, ports: Sequence[NodeArg], kind: str) -> NodeArg:
        for port in ports:
            if port.name == name:
                return port
        raise InputError(f"the model has no {kind} '{name}'; its {kind}s: {', '.join(port.name for port in ports)}")

    def _warn(self, names: Sequence[str], results: Sequence[Array]) -> None:
        for name, result in zip(names, results):
            is_array = isinstance(result, numpy.ndarray)  # Of a fallback it may be something else.
            if is_array and _has_infinity(result.dtype) and not (finite := numpy.isfinite(result)).all():
                count = result.size - numpy.count_nonzero(finite)
                text = f"output '{name}': {count} of {result.size} elements are not finite"
                hint = "; where they are in f32, use precision='bf16'" if self._is_rounded else ""
                warnings.warn(text + hint, RuntimeWarning, stacklevel=3)

    def _shaped(self, result: Array, shape: Sequence[int], place: int) -> Array:
        port = self._outputs[place]
        if port._is_packed:
            result = packed.unpack(port._number, result, port._bound, port._dtype)
        if not port._dynamic:
            return result
        count = int(numpy.prod(shape, dtype=numpy.int64))
        return result.reshape(-1)[:count].reshape(shape)

    def _describe_missing(self, name: str, output_names: Sequence[str] | None) -> str:
        if name in (port.name for port in self._inputs):
            return f"there is no array for '{name}', an input of the model"
        return f"the model has no output '{name}'; its outputs: {', '.join(self._places)}"


def _at_home(value: Any, of_host: Callable[[Any], Array]) -> Any:
    """A value that is elsewhere as it is, and else `of_host` of it: an array."""
    if isinstance(value, numpy.ndarray) or not (isinstance(value, _capi.Tensor) or is_on_gpu(value)):
        return of_host(value)
    return value


def _type_of_ml_dtypes(name: str, dtype: str) -> Any:
    try:
        import ml_dtypes

        return getattr(ml_dtypes, dtype)
    except (ImportError, AttributeError):
        raise InputError(f"'{name}' has elements of type {dtype}; install a newer ml_dtypes for arrays of it") from None


def _has_infinity(dtype: numpy.dtype[Any]) -> bool:
    """Or NaN."""
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name and "float4" not in dtype.name)


def _empty(port: NodeArg) -> tuple[Array, int]:
    """An array for an output whose elements start on a cache line, where kernels may store past the caches (numpy's start
    anywhere), or the bytes of packed elements, and its address."""
    line = 64
    room = numpy.empty(port._bytes + line, _BYTE)
    address = _capi.address_of(room)
    skipped = -address % line
    shape, dtype = ((port._bytes,), _BYTE) if port._is_packed else (port._bound, port._dtype)
    return numpy.ndarray(shape, dtype, room, skipped), address + skipped


def _with_keywords(message: str) -> str:
    """A message that names flags, with what a session takes in their place."""
    flags = re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", message)
    words = [f"{flag} is {_KEYWORDS[flag]}" for flag in dict.fromkeys(flags) if flag in _KEYWORDS]
    return f"{message} (from Python, {', '.join(words)})" if words else message


def _check_kinds(given: Mapping[str, Any]) -> None:
    """Of what is looked into here; the compiler looks at the rest."""
    kinds: dict[str, tuple[Any, str]] = {
        "bind": (Mapping, "arrays or .npz files by input's name"),
        "calibrate": ((Mapping, str, os.PathLike, type(None)), "arrays by input's name, or the path of an .npz file"),
        "device": (str, "'cpu', 'cuda' or 'cuda:N'"),
        "dims": (Mapping, "sizes by dimension's name"),
        "disable": ((Collection, type(None)), "a list of names, or one text with commas between them"),
    }
    for name, (kind, wanted) in kinds.items():
        if not isinstance(given[name], kind):
            raise UsageError(f"{name} is {type(given[name]).__name__}; it takes {wanted}")


def _settings_of(given: Mapping[str, Any], stack: ExitStack) -> dict[str, Any]:
    """The compiler's options; what they name in files lasts as long as `stack`."""
    settings = {"threads": given["intra_op_num_threads"]}
    usual = SessionOptions()
    for name in ("max_error", "max_memory", "plan", "precision", "random_weights", "timeout", "tune"):
        if given[name] != getattr(usual, name):
            settings[name] = given[name]
    if given["dims"]:
        settings["dims"] = given["dims"]
    if given["device"] != "cpu":
        settings["target"] = given["device"]
    if disabled := given["disable"]:
        settings["disable"] = disabled if isinstance(disabled, str) else ",".join(map(str, disabled))
    if given["calibrate"] is not None:
        settings["calibrate"] = _file_of(given["calibrate"], stack)
    if given["bind"]:
        files = {name: _file_of(_named(name, value), stack) for name, value in given["bind"].items()}
        settings["bind"] = files
    return settings


def _named(name: str, value: Any) -> Any:
    return value if isinstance(value, (str, os.PathLike)) else {name: value}


def _file_of(arrays: Any, stack: ExitStack) -> str:
    """The path of an .npz file: what was given, or one of these arrays."""
    if isinstance(arrays, (str, os.PathLike)):
        return os.fspath(arrays)
    path = os.path.join(stack.enter_context(tempfile.TemporaryDirectory(prefix="kintsugi-")), "arrays.npz")
    # As numpy.savez does it, which takes some names for its own keywords.
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                numpy.lib.format.write_array(entry, numpy.asarray(array))
    return path


def _path_of(path_or_bytes: Any, stack: ExitStack) -> str:
    """Of a model, which a session only looks at while it is made."""
    if isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kintsugi-"))
        path = os.path.join(folder, "model.onnx")
        with open(path, "wb") as file:
            file.write(path_or_bytes)
        return path
    path = os.fsdecode(path_or_bytes)
    if "\0" in path:
        raise UsageError("a path has no zero byte in it")
    return path


def _is_artifact(path: str) -> bool:
    """Whether there is nothing to compile. What can't be read is no artifact: who reads it says why."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_capi.ARTIFACT_MAGIC)) == _capi.ARTIFACT_MAGIC
    except OSError:
        return False


def _as_json(settings: Mapping[str, Any]) -> str:
    """NumPy's integers are integers, too."""
    return json.dumps(settings, default=operator.index)


def _load(path: str, settings: Mapping[str, Any], device: str) -> tuple[_capi.Session, list[str]]:
    """A session of the artifact in the cache, where it is compiled into if need be, and notes."""
    report = json.loads(_capi.prepare(os.fsencode(path), _as_json(settings)))
    try:
        return _capi.Session(os.fsencode(report["artifact"]), settings["threads"], device), report.get("notes", [])
    except InputError:
        if not report["cached"]:
            raise
    # What is damaged in the cache is as good as not there.
    os.unlink(report["artifact"])
    report = json.loads(_capi.prepare(os.fsencode(path), _as_json(settings)))
    return _capi.Session(os.fsencode(report["artifact"]), settings["threads"], device), report.get("notes", [])


def _load_anew(path: str, settings: Mapping[str, Any], device: str) -> tuple[_capi.Session, list[str]]:
    # The session keeps what it needs of the file.
    with tempfile.TemporaryDirectory(prefix="kintsugi-") as folder:
        artifact = os.path.join(folder, "model.kin")
        report = json.loads(_capi.compile(os.fsencode(path), os.fsencode(artifact), _as_json(settings)))
        return _capi.Session(os.fsencode(artifact), settings["threads"], device), report["notes"]
