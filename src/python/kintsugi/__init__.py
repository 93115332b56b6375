"""Kintsugi from Python, in the shape of ONNX Runtime's interface:

    import kintsugi
    session = kintsugi.InferenceSession("model.onnx")
    (y,) = session.run(None, {"x": x})

A model is compiled when a session is made: once, as artifacts are kept in the cache that the command line uses too
(docs/command-line.md), and in a process of its own, which may fail and not take this one with it. Sessions may be used
from any thread; runs of one session take turns.
"""

import json
import math
import operator
import os
import re
import tempfile
import warnings

import numpy

from . import _native
from ._native import Error, InputError, MachineError, UsageError

__all__ = [
    "Error",
    "InferenceSession",
    "InputError",
    "MachineError",
    "NodeArg",
    "SessionOptions",
    "UsageError",
    "get_available_providers",
]
__version__ = _native.version()
for _error in (Error, InputError, MachineError, UsageError):
    _error.__module__ = __name__

PROVIDER = "CPUExecutionProvider"

# By the numbers of ONNX's TensorProto.DataType: ONNX Runtime's name for tensors of it, and NumPy's type. NumPy has no
# bfloat16 of its own; the package ml_dtypes brings one.
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
}


# The keywords that stand for flags of the command line, which the compiler's messages name.
_KEYWORDS = {
    "--dim": "dims={NAME: N}",
    "--max-error": "max_error=SHARE",
    "--max-memory": "max_memory=BYTES",
    "--precision": "precision=NAME",
    "--random-weights": "random_weights=True",
    "--threads": "threads=N",
    "--timeout": "timeout=SECONDS",
}


def get_available_providers():
    return [PROVIDER]


class SessionOptions:
    """How a model is compiled and run. An option that there is not can't be set: none is ignored."""

    __slots__ = (
        "cache",
        "dims",
        "intra_op_num_threads",
        "max_error",
        "max_memory",
        "precision",
        "random_weights",
        "timeout",
    )

    def __init__(self):
        self.intra_op_num_threads = 0  # 0: one thread on each core
        self.precision = "f32"  # what f32 values may be rounded to: "f16" or "bf16"
        self.max_error = None  # by how much of its largest number fewer bits may move an output
        self.cache = True  # keep the artifact, and look for it first
        self.random_weights = False  # make weights whose file is missing from their names
        self.dims = {}  # sizes of open dimensions, by name
        self.timeout = None  # seconds that compiling may take
        self.max_memory = None  # bytes that compiling may take: by default all that the machine has

    def add_free_dimension_override_by_name(self, name, size):
        self.dims[name] = size


class NodeArg:
    """An input or output: `name`, `type` as ONNX Runtime spells it, and `shape`, None where it depends on data."""

    __slots__ = ("_bound", "_dtype", "_dynamic", "name", "shape", "type")

    def __init__(self, name, number, bound, dynamic):
        if number not in _TYPES:
            raise InputError(f"'{name}' has an element type that NumPy has no arrays of; run the model from C")
        self.name = name
        self.type, dtype = _TYPES[number]
        self.shape = [None] * len(bound) if dynamic else list(bound)
        self._bound, self._dynamic = tuple(bound), dynamic
        if dtype == "bfloat16":
            import ml_dtypes

            dtype = ml_dtypes.bfloat16
        self._dtype = numpy.dtype(dtype)

    def __repr__(self):
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape!r})"

    def _take(self, value):
        """A dense array of a feed."""
        array = numpy.require(numpy.asarray(value), requirements=["C_CONTIGUOUS", "ALIGNED"])
        if array.dtype != self._dtype or array.shape != self._bound:
            raise InputError(
                f"input '{self.name}' is {array.dtype}{list(array.shape)}, the model's is "
                f"{self._dtype}{list(self._bound)}"
            )
        return array

    def _plain(self, array):
        """The same memory in a type that NumPy has itself."""
        return array.view(numpy.uint16) if self.type == "tensor(bfloat16)" else array


class InferenceSession:
    """A compiled model. `path` is an ONNX file, a text model (.te) or an artifact. Keywords stand for options:
    `threads` for intra_op_num_threads, the others for those of their names. `notes`: what compiling had to say, such as
    values that are assumed to be finite; nothing for an artifact."""

    def __init__(
        self,
        path_or_bytes,
        sess_options=None,
        providers=None,
        *,
        threads=None,
        precision=None,
        max_error=None,
        cache=None,
        random_weights=None,
        dims=None,
        timeout=None,
        max_memory=None,
    ):
        if isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            raise UsageError("a model in memory is not supported; write it to a file, and give its path")
        if providers and not any((p if isinstance(p, str) else p[0]) == PROVIDER for p in providers):
            raise UsageError(f"providers {providers}: there is only {PROVIDER}")
        options = sess_options if sess_options is not None else SessionOptions()
        settings = {"threads": options.intra_op_num_threads if threads is None else threads}
        if (rounded := options.precision if precision is None else precision) != "f32":
            settings["precision"] = rounded
        if (share := options.max_error if max_error is None else max_error) is not None:
            settings["max_error"] = share
        if options.random_weights if random_weights is None else random_weights:
            settings["random_weights"] = True
        if extents := dict(options.dims) | dict(dims or {}):
            settings["dims"] = extents
        if (seconds := options.timeout if timeout is None else timeout) is not None:
            settings["timeout"] = seconds
        if (bytes_ := options.max_memory if max_memory is None else max_memory) is not None:
            settings["max_memory"] = bytes_
        path = os.fsdecode(path_or_bytes)
        if "\0" in path:
            raise UsageError("a path has no zero byte in it")
        load = _load if (options.cache if cache is None else cache) or _is_artifact(path) else _load_anew
        try:
            self._native, self.notes = load(path, settings)
        except Error as error:
            raise type(error)(_with_keywords(str(error))) from None
        self._inputs = [NodeArg(*port) for port in self._native.inputs()]
        self._outputs = [NodeArg(*port) for port in self._native.outputs()]
        # Without digits of its own choosing a model gives what it says; then one look is enough.
        self._is_rounded, self._is_checked = "precision" in settings, False
        self._places = {port.name: place for place, port in enumerate(self._outputs)}

    def get_inputs(self):
        return list(self._inputs)

    def get_outputs(self):
        return list(self._outputs)

    def get_providers(self):
        return get_available_providers()

    def run(self, output_names, input_feed):
        """The outputs named, or all for None or no names, from an array for each input by name."""
        try:
            places = [self._places[name] for name in output_names] if output_names else range(len(self._outputs))
            feeds = [port._take(input_feed[port.name]) for port in self._inputs]
        except KeyError as missing:
            raise InputError(self._describe_missing(missing.args[0], output_names)) from None
        if len(input_feed) != len(self._inputs):
            known = [port.name for port in self._inputs]
            extra = next(name for name in input_feed if name not in known)
            raise InputError(
                f"the model has no input '{extra}'; its inputs: {', '.join(known) or 'none'}; what has a default in "
                "the model is a constant"
            )
        results = [_empty(port._bound, port._dtype) for port in self._outputs]
        shapes = self._native.run(
            [port._plain(array) for port, array in zip(self._inputs, feeds)],
            [port._plain(array) for port, array in zip(self._outputs, results)],
        )
        results = [self._shaped(results[place], shapes[place], place) for place in places]
        if self._is_rounded or not self._is_checked:
            self._is_checked = True
            self._warn([self._outputs[place].name for place in places], results)
        return results

    def _warn(self, names, results):
        for name, result in zip(names, results):
            if result.dtype.kind in "fV" and not (finite := numpy.isfinite(result)).all():
                count = result.size - numpy.count_nonzero(finite)
                text = f"output '{name}': {count} of {result.size} elements are not finite"
                hint = "; where they are in f32, use precision='bf16'" if self._is_rounded else ""
                warnings.warn(text + hint, RuntimeWarning, stacklevel=3)

    def _shaped(self, result, shape, place):
        if not self._outputs[place]._dynamic:
            return result
        count = int(numpy.prod(shape, dtype=numpy.int64))
        return result.reshape(-1)[:count].reshape(shape)

    def _describe_missing(self, name, output_names):
        if name in (port.name for port in self._inputs):
            return f"there is no array for '{name}', an input of the model"
        return f"the model has no output '{name}'; its outputs: {', '.join(self._places)}"


def _empty(shape, dtype):
    """An array whose elements start on a cache line, where kernels may store past the caches; numpy's start anywhere."""
    line, dtype = 64, numpy.dtype(dtype)
    if dtype.hasobject:
        return numpy.empty(shape, dtype)
    size = math.prod(shape) * dtype.itemsize
    room = numpy.empty(size + line, numpy.uint8)
    start = -room.ctypes.data % line
    return room[start : start + size].view(dtype).reshape(shape)


def _with_keywords(message):
    """A message that names flags, with what a session takes in their place."""
    flags = re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", message)
    words = [f"{flag} is {_KEYWORDS[flag]}" for flag in dict.fromkeys(flags) if flag in _KEYWORDS]
    return f"{message} (from Python, {', '.join(words)})" if words else message


def _is_artifact(path):
    """Whether there is nothing to compile. What can't be read is no artifact: who reads it says why."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_native.ARTIFACT_MAGIC)) == _native.ARTIFACT_MAGIC
    except OSError:
        return False


def _as_json(settings):
    """NumPy's integers are integers, too."""
    return json.dumps(settings, default=operator.index)


def _load(path, settings):
    """A session of the artifact in the cache, where it is compiled into if need be, and notes."""
    report = json.loads(_native.prepare(os.fsencode(path), _as_json(settings)))
    try:
        return _native.Session(os.fsencode(report["artifact"]), settings["threads"]), report.get("notes", [])
    except InputError:
        if not report["cached"]:
            raise
    # What is damaged in the cache is as good as not there.
    os.unlink(report["artifact"])
    report = json.loads(_native.prepare(os.fsencode(path), _as_json(settings)))
    return _native.Session(os.fsencode(report["artifact"]), settings["threads"]), report.get("notes", [])


def _load_anew(path, settings):
    # The session keeps what it needs of the file.
    with tempfile.TemporaryDirectory(prefix="kintsugi-") as folder:
        artifact = os.path.join(folder, "model.kin")
        report = json.loads(_native.compile(os.fsencode(path), os.fsencode(artifact), _as_json(settings)))
        return _native.Session(os.fsencode(artifact), settings["threads"]), report["notes"]
