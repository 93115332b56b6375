"""Makes parts of a model by a session's options."""

import os

import numpy

from .. import InferenceSession, InputError, MachineError, UsageError, _is_artifact


def open_parts(path, given):
    """Of an ONNX file; `given`: values of all of SessionOptions by name. A usage error where one can't have an effect."""
    _check(path, given)
    try:
        from .parts import Parts
    except ImportError as missing:
        raise MachineError(f"fallback: the package {missing.name} is missing; install it with pip") from None
    own = {name: value for name, value in given.items() if name not in ("bind", "dims", "fallback", "intra_op_num_threads")}
    own["threads"] = given["intra_op_num_threads"]
    bind = {name: _array_of(name, value) for name, value in given["bind"].items()}
    return Parts(
        path,
        given["dims"],
        bind,
        {name: given[name] for name in ("timeout", "max_memory") if given[name] is not None},
        given["intra_op_num_threads"],
        open_session=lambda model: InferenceSession(model, **own),
        open_whole=lambda: InferenceSession(path, dims=given["dims"], bind=bind, **own),
    )


def _check(path, given):
    if given["fallback"] != "onnxruntime":
        raise UsageError(f"fallback is {given['fallback']!r}; there is 'onnxruntime'")
    if given["device"] != "cpu":
        raise UsageError(
            f"fallback: parts on {given['device']} need onnxruntime-gpu, which is not supported; use device='cpu'"
        )
    for name in ("calibrate", "random_weights"):
        if given[name]:
            raise UsageError(f"{name}: is of a whole model, which a session with a fallback may not compile; leave it out")
    if path.endswith(".te") or _is_artifact(path):
        raise UsageError(f"{path}: fallback is for ONNX files")


def _array_of(name, value):
    """Of an input that is known: an array, or in an .npz file that of its name or the only one."""
    if not isinstance(value, (str, os.PathLike)):
        return numpy.asarray(value)
    try:
        with numpy.load(value) as arrays:
            if name not in arrays and len(arrays) != 1:
                raise InputError(f"{value}: there is no array '{name}' to bind the input to")
            return arrays[name if name in arrays else next(iter(arrays))]
    except (OSError, ValueError) as problem:
        raise InputError(f"{value}: can't be read: {problem}") from None
