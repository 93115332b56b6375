"""Sessions, in the shape of ONNX Runtime's interface."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from ._capi import Array, InputError, UsageError
from .element_types import has_infinity
from .files import PathLike
from .io_binding import IOBinding
from .opening import open_program
from .options import SessionOptions, check_kinds
from .ports import NodeArg
from .providers import GPU_PROVIDER, PROVIDER, device_of


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
        options = sess_options if sess_options is not None else SessionOptions()
        given = {name: getattr(options, name) for name in SessionOptions.__slots__}
        if unknown := [name for name in keywords if name not in given or name == "intra_op_num_threads"]:
            raise TypeError(f"InferenceSession has no option '{unknown[0]}'; its options: threads, {', '.join(given)}")
        given |= {name: value for name, value in keywords.items() if value is not None}
        if providers and keywords.get("device") is None:
            given["device"] = device_of(providers)
        if threads is not None:
            given["intra_op_num_threads"] = threads
        check_kinds(given)
        given["dims"] = dict(options.dims) | dict(given["dims"])
        self._program = open_program(path_or_bytes, given)
        self._inputs, self._outputs, self.notes = self._program.inputs, self._program.outputs, self._program.notes
        self._places = {port.name: place for place, port in enumerate(self._outputs)}
        # Without digits of its own choosing a model gives what it says; then one look is enough.
        self._is_rounded, self._is_checked = given["precision"] != "f32", False

    def get_inputs(self) -> list[NodeArg]:
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        return list(self._outputs)

    def get_providers(self) -> list[str]:
        return [PROVIDER] if self._program.gpu is None else [GPU_PROVIDER]

    def report(self) -> dict[str, Any]:
        """Of a session with a fallback, what ran where, and why (`kintsugi.fallback.report.Report`); of one of a model with
        open dimensions, what it is compiled for (`kintsugi.specialization_report.SpecializationReport`): a dict, whose text
        is for reading."""
        return self._program.report()

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
        results = self._program.compute(values)
        results = [results[place] for place in places]
        if self._is_rounded or not self._is_checked:
            self._is_checked = True
            self._warn([self._outputs[place].name for place in places], results)
        return results

    def run_with_iobinding(self, binding: IOBinding) -> None:
        """Runs on what is bound: all inputs, and those outputs that are asked for."""
        if binding._session is not self:
            raise UsageError("the binding is another session's, which may be elsewhere; make one with io_binding()")
        if missing := [port.name for port in self._inputs if port.name not in binding._inputs]:
            raise InputError(f"input '{missing[0]}' is not bound")
        bound = [binding._outputs.get(port.name) for port in self._outputs]
        results = self._program.compute_into([binding._inputs[port.name] for port in self._inputs], bound)
        binding._results = [results[self._places[name]] for name in binding._outputs]

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
                warnings.warn(text + hint, RuntimeWarning, stacklevel=3)

    def _describe_missing(self, name: str, output_names: Sequence[str] | None) -> str:
        if name in (port.name for port in self._inputs):
            return f"there is no array for '{name}', an input of the model"
        return f"the model has no output '{name}'; its outputs: {', '.join(self._places)}"
