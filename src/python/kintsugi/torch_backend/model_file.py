"""An exported model as a file that a session is made of, with its constants."""

import os

import onnx

from .tensors import bytes_of

_LINE = 64  # What constants in a file are aligned to, in bytes.
_EMBEDDED = 1024  # Bytes up to which a constant stands in the model itself.


def save(proto, constants, path):
    """Writes a model, of which the inputs named in `constants` are these tensors, to `path` and a file beside it."""
    model = onnx.ModelProto()
    model.CopyFrom(proto)
    inputs = {info.name: info for info in model.graph.input}
    with open(f"{path}.weights", "wb") as file:
        for name, tensor in constants.items():
            info = inputs[name]
            model.graph.initializer.append(_initializer(info, tensor, file))
            model.graph.input.remove(info)
    with open(path, "wb") as file:
        file.write(model.SerializeToString(deterministic=True))


def _initializer(info, tensor, file):
    kind = info.type.tensor_type.elem_type
    made = onnx.TensorProto(name=info.name, data_type=kind, dims=tensor.shape)
    data = bytes_of(tensor)
    if data.nbytes <= _EMBEDDED:
        made.raw_data = data.tobytes()
        return made
    file.seek(-file.tell() % _LINE, os.SEEK_CUR)
    said = {"location": os.path.basename(file.name), "offset": file.tell(), "length": data.nbytes}
    made.data_location = onnx.TensorProto.EXTERNAL
    made.external_data.extend(onnx.StringStringEntryProto(key=key, value=str(value)) for key, value in said.items())
    data.tofile(file)
    return made
