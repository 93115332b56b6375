"""Sessions, in the shape of ONNX Runtime's interface."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from ._capi import Array, InputError, UsageError
from .background import Background
from .device_array import ON_GPU
from .element_types import has_infinity
from .files import PathLike
from .io_binding import IOBinding
from .model_metadata import ModelMetadata, metadata_of
from .no_effect import say_once, without_effect
from .opening import open_program
from .options import OPTIONS, SessionOptions
from .ort_value import OrtValue
from .ports import NodeArg
from .providers import GPU_PROVIDER, PROVIDER, device_of, stream_of
from .run_options import RunOptions, check_run_options
from .settings import check_kinds


class InferenceSession:
    """A compiled model, from an ONNX file, a text model (.te) or an artifact, or from the bytes of an ONNX file or an
    artifact. Keywords stand for options: `threads` for intra_op_num_threads, the others for those of their names.
    `notes`: what compiling had to say, such as values that are assumed to be finite; nothing for an artifact. Inputs and
    outputs may be on the host or, of a session of a GPU, on that GPU (`io_binding`). A model with open dimensions is
    compiled for the sizes that runs bring, once for each choice of them (docs/python.md)."""

    def __init__(
        self,
        path_or_bytes: PathLike | bytes | bytearray | memoryview,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        *,
        threads: int | None = None,
        **keywords: Any,
    ) -> None:
        if unknown := [name for name in keywords if name not in OPTIONS or name == "intra_op_num_threads"]:
            raise TypeError(f"InferenceSession has no option '{unknown[0]}'; its options: threads, {', '.join(OPTIONS)}")
        self._options = options = copy.copy(sess_options) if sess_options is not None else SessionOptions()
        self._stream: int | None = None  # The number of the caller's that runs are put on.
        if (providers or options.has_providers()) and keywords.get("device") is None:
            options.device = device_of(providers or options._providers)
            self._stream = stream_of(providers or options._providers)
        if threads is not None:
            options.intra_op_num_threads = threads
        dims = options.dims
        for name, value in keywords.items():
            if value is not None:
                setattr(options, name, value)
        given = {name: getattr(options, name) for name in OPTIONS}
        check_kinds(given)
        given["dims"] = options.dims = dict(dims) | dict(options.dims)
        self._model = path_or_bytes
        self._metadata: ModelMetadata | None = None
        self._program = open_program(path_or_bytes, given | {"stream": self._stream})
        self._inputs, self._outputs, self.notes = self._program.inputs, self._program.outputs, self._program.notes
        self._places = {port.name: place for place, port in enumerate(self._outputs)}
        # Without digits of its own choosing a model gives what it says; then one look is enough.
        self._background = Background()
        self._is_rounded, self._is_checked = given["precision"] != "f32", False  # Whether they need no more looking at.
        self._all = range(len(self._outputs))

    def get_inputs(self) -> list[NodeArg]:
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        return list(self._outputs)

    def get_providers(self) -> list[str]:
        return [PROVIDER] if self._program.gpu is None else [GPU_PROVIDER]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        gpu = self._program.gpu
        if gpu is None:
            return {PROVIDER: {}}
        stream = {} if self._stream is None else {"user_compute_stream": str(self._stream)}
        return {GPU_PROVIDER: {"device_id": str(gpu)} | stream}

    def set_providers(self, providers: Sequence[Any] | None = None, provider_options: Sequence[Any] | None = None) -> None:
        """A session stays on its device: a UsageError where these are of another one."""
        if not providers:
            return
        wanted = device_of(list(zip(providers, provider_options)) if provider_options else providers)
        if wanted != ("cpu" if self._program.gpu is None else f"cuda:{self._program.gpu}"):
            raise UsageError(f"the session is compiled for {self._options.device}; make another with providers={providers}")

    def get_session_options(self) -> SessionOptions:
        """Those that the session was made with, keywords included; changing them changes nothing."""
        return self._options

    def get_modelmeta(self) -> ModelMetadata:
        """What an ONNX file says of itself; of an artifact or a text model there is nothing."""
        if self._metadata is None:
            self._metadata = metadata_of(self._model)
        return self._metadata

    def get_overridable_initializers(self) -> list[NodeArg]:
        """None: what has a default is a constant, to which `bind` gives another value when the session is made."""
        return []

    def disable_fallback(self) -> None:
        """What it asks for is so: a run never moves to another device."""

    enable_fallback = without_effect("InferenceSession", "enable_fallback", "a run never moves to another device")

    def end_profiling(self) -> str:
        """No file."""
        say_once("InferenceSession.end_profiling", "`kintsugi profile` times a model, stage by stage")
        return ""

    def get_profiling_start_time_ns(self) -> int:
        say_once("InferenceSession.get_profiling_start_time_ns", "`kintsugi profile` times a model, stage by stage")
        return 0

    def report(self) -> dict[str, Any]:
        """Of a session with a fallback, what ran where, and why (`kintsugi.fallback.report.Report`); of one of a model with
        open dimensions, what it is compiled for (`kintsugi.specialization_report.SpecializationReport`), or which sizes it
        ran of an artifact that serves a range (`kintsugi.range_report.RangeReport`): a dict, whose text is for reading."""
        return self._program.report()

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None
    ) -> list[Any]:
        """The outputs named, or all for None or no names, from an array for each input by name."""
        places, values = self._asked(output_names, input_feed, run_options)
        results = self._program.compute(values, run_options)
        if self._is_checked and not output_names:
            return results
        return self._results(places, results)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], object],
        user_data: Any = None,
        run_options: RunOptions | None = None,
    ) -> None:
        """Returns at once, and calls `callback(results, user_data, "")` from another thread when the run is done, or
        `callback([], user_data, message)` where it fails. Feeds must not be changed until then. What is wrong with names is
        an exception here."""
        places, values = self._asked(output_names, input_feed, run_options)

        def answer() -> None:
            try:
                results, message = self._results(places, self._program.compute(values, run_options)), ""
            except Exception as problem:
                results, message = [], str(problem) or type(problem).__name__
            callback(results, user_data, message)

        self._background.start(answer)

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """The same on OrtValues; outputs are where the session is."""
        places, values = self._asked(output_names, input_dict_ort_values, run_options)
        bound = [None if self._program.gpu is None or port._is_packed else ON_GPU for port in self._outputs]
        results = self._program.compute_into(values, bound, run_options)
        return [OrtValue(results[place], self._outputs[place]._number) for place in places]

    def run_with_iobinding(self, binding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Runs on what is bound: all inputs, and those outputs that are asked for."""
        if binding._session is not self:
            raise UsageError("the binding is another session's, which may be elsewhere; make one with io_binding()")
        check_run_options(run_options)
        if binding._run_as_before(run_options):
            return
        if missing := [port.name for port in self._inputs if port.name not in binding._inputs]:
            raise InputError(f"input '{missing[0]}' is not bound")
        bound = [binding._outputs.get(port.name) for port in self._outputs]
        values = [binding._inputs[port.name] for port in self._inputs]
        results = self._program.compute_into(values, bound, run_options)
        binding._results = [results[self._places[name]] for name in binding._outputs]
        binding._prepare(values, bound)

    def _asked(
        self, output_names: Sequence[str] | None, feeds: Mapping[str, Any], run_options: RunOptions | None
    ) -> tuple[Sequence[int], list[Any]]:
        """Which outputs are wanted, and the values of all inputs."""
        try:
            places = [self._places[name] for name in output_names] if output_names else self._all
            values = [feeds[port.name] for port in self._inputs]
            if isinstance(output_names, str):
                raise TypeError
        except TypeError:
            raise UsageError(_describe_kinds(output_names, feeds)) from None
        except KeyError as missing:
            if isinstance(output_names, str):
                raise UsageError(_describe_kinds(output_names, feeds)) from None
            raise InputError(self._describe_missing(missing.args[0], output_names)) from None
        if len(feeds) != len(self._inputs):
            known = [port.name for port in self._inputs]
            extra = next(name for name in feeds if name not in known)
            raise InputError(
                f"the model has no input '{extra}'; its inputs: {', '.join(known) or 'none'}; what has a default in "
                "the model is a constant"
            )
        if run_options is not None:
            check_run_options(run_options)
        return places, values

    def _results(self, places: Sequence[int], results: Sequence[Any]) -> list[Any]:
        chosen = [results[place] for place in places]
        if not self._is_checked:
            self._is_checked = not self._is_rounded
            self._warn([self._outputs[place].name for place in places], chosen)
        return chosen

    @staticmethod
    def _port(name: str, ports: Sequence[NodeArg], kind: str) -> NodeArg:
        for port in ports:
            if port.name == name:
                return port
        raise InputError(f"the model has no {kind} '{name}'; its {kind}s: {', '.join(port.name for port in ports)}")

    def _warn(self, names: Sequence[str], results: Sequence[Array]) -> None:
        for name, result in zip(names, results):
            is_array = isinstance(result, numpy.ndarray)  # Of a fallback it may be something else.
            if is_array and has_infinity(result.dtype) and not (finite := numpy.isfinite(result)).all():
                count = result.size - numpy.count_nonzero(finite)
                text = f"output '{name}': {count} of {result.size} elements are not finite"
                hint = "; where they are in f32, use precision='bf16'" if self._is_rounded else ""
                warnings.warn(text + hint, RuntimeWarning, stacklevel=4)

    def _describe_missing(self, name: str, output_names: Sequence[str] | None) -> str:
        if name in (port.name for port in self._inputs):
            return f"there is no array for '{name}', an input of the model"
        return f"the model has no output '{name}'; its outputs: {', '.join(self._places)}"


def _describe_kinds(output_names: object, feeds: object) -> str:
    """What is wrong with arguments of a run that are not what one takes."""
    if isinstance(output_names, str):
        return f"output_names is a str; give a list of names, [{output_names!r}]"
    given = f"output_names is {type(output_names).__name__}, and input_feed {type(feeds).__name__}"
    return f"{given}; a run takes a list of names, or None for all, and a dict of arrays by inputs' names"
