"""Who runs a part: from arrays by name to arrays in the order of its outputs. Neither copies: ONNX Runtime reads arrays where
they are, and gives views of its own tensors."""

import ctypes
import os
import tempfile

import numpy
import onnx
import onnxruntime

from .. import InputError
from .inference import options_beneath
from .ports import info_of

_LARGEST = (1 << 31) - (1 << 20)  # Bytes of weights that a file of protobuf may have beside all else.


class OwnRunner:
    def __init__(self, compiled):
        self._compiled = compiled
        self._inputs = [port.name for port in compiled.inputs]
        self.notes = compiled.notes
        self.infos = [info_of(port) for port in compiled.outputs]

    @classmethod
    def of_part(cls, part, infos, open_part):
        """`open_part` compiles a model of bytes or of a path."""
        if part.weight_bytes() < _LARGEST:
            return cls(open_part(part.proto(infos, embedded=True).SerializeToString(deterministic=True)))
        with tempfile.TemporaryDirectory(prefix="kintsugi-") as folder:
            path = os.path.join(folder, "part.onnx")
            onnx.save_model(part.proto(infos, embedded=True), path, save_as_external_data=True, location="weights")
            return cls(open_part(path))

    def run(self, values, options=None):
        return self._compiled.compute([values[name] for name in self._inputs], options)


class OtherRunner:
    def __init__(self, part, infos, threads, shares):
        """`shares`: whether others use the same cores in turn, which threads that wait should leave to them."""
        options = options_beneath(part.folder)
        options.intra_op_num_threads = threads
        if shares:
            options.add_session_config_entry("session.force_spinning_stop", "1")
        model = part.proto(infos, embedded=False).SerializeToString()
        try:
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as problem:  # Its errors have no class in common.
            raise InputError(f"ONNX Runtime can't take the model either: {_line(problem)}") from None
        self._inputs = [port.name for port in self._session.get_inputs()]
        self._outputs = [port.name for port in self._session.get_outputs()]
        self.notes = []
        self.infos = [info_of(port) for port in self._session.get_outputs()]
        ports = (*self._session.get_inputs(), *self._session.get_outputs())
        self._has_bfloat16 = any(port.type == "tensor(bfloat16)" for port in ports)

    def run(self, values, options=None):
        feeds = {name: values[name] for name in self._inputs}
        try:
            if not self._has_bfloat16:
                return self._session.run(self._outputs, feeds)
            feeds = {name: _value_of(array) for name, array in feeds.items()}
            return [_array_of(value) for value in self._session.run_with_ort_values(self._outputs, feeds)]
        except Exception as problem:
            raise InputError(f"ONNX Runtime: {_line(problem)}") from None


def _line(problem):
    return " ".join(str(problem).split())


def _value_of(array):
    """ONNX Runtime's value for an array, whose type may be the one that NumPy has no name for."""
    if array.dtype.name != "bfloat16":
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(numpy.uint16), onnx.TensorProto.BFLOAT16)


def _array_of(value):
    """The other way around; of that type a copy, as ONNX Runtime gives no array of it."""
    if value.data_type() != "tensor(bfloat16)":
        return value.numpy()
    import ml_dtypes

    array = numpy.empty(value.shape(), ml_dtypes.bfloat16)
    ctypes.memmove(array.ctypes.data, value.data_ptr(), array.nbytes)
    return array
