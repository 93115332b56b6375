"""One architecture of torch's: made, run, exported, compiled and compared, in a process of its own. What it found so far is in
a file of its folder."""

import json
import time

import numpy as np
import onnx

import models
import policy
from torch_trials import Ended, first_cause, verdict

DISAGREES, REFUSED = 1, 3  # Exit codes of `kintsugi compare`.


def found(family, name, overrides, place, folder, end, stage):
    """The row of a model."""
    import torch
    import torch_architectures

    stage("making")
    with verdict("not made"), torch.inference_mode():
        module, inputs, open_axes = torch_architectures.made(family, name, overrides)
        expected = [output.numpy() for output in module(*inputs)]
    stage("exporting")
    with verdict("exporter"):
        _export(module, inputs, open_axes, folder / "model.onnx")
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    feeds = {port.name: tensor.numpy() for port, tensor in zip(model.graph.input, inputs)}
    outputs = {port.name: array for port, array in zip(model.graph.output, expected)}
    stage("compiling")
    return _compared(model, feeds, outputs, folder, max(1, round(end - time.monotonic())))


def _export(module, inputs, open_axes, path):
    import torch

    shapes = (tuple({axis: torch.export.Dim.AUTO for axis in axes} for axes in open_axes),)
    with torch.no_grad():
        program = torch.onnx.export(module, inputs, dynamo=True, dynamic_shapes=shapes, verbose=False)
    program.save(path, external_data=True)


def _compared(model, feeds, outputs, folder, seconds):
    for name, arrays in (("feeds", feeds), ("expected", outputs)):
        np.savez(folder / f"{name}.npz", **arrays)
    sizes = _sizes(model, feeds)
    words = "compare", folder / "model.onnx", "--inputs", folder / "feeds.npz", "--expected", folder / "expected.npz"
    dims = [word for name, size in sizes.items() for word in ("--dim", f"{name}={size}")]
    how = dict(timeout=seconds, codes=(0, DISAGREES), cache=folder / "cache")
    try:
        report = json.loads(models.kintsugi(*words, *dims, "--json", **how))
    except models.Failure as failure:
        reason = str(failure).replace(f"{folder}/", "")
        verdict = "refused" if f"exit {REFUSED}:" in reason else "failed"
        raise Ended(verdict, reason.partition("model.onnx: ")[2] or reason) from None
    worst = max(report["outputs"], key=lambda output: _share(output))
    row = dict(open=list(sizes), operators=len(model.graph.node))
    row |= {key: worst[key] for key in ("max_rel", "allowed") if worst.get(key) is not None}
    if report["within"]:
        return row | dict(verdict="right")
    return row | _blamed(worst, feeds, outputs, folder)


def _share(output):
    """How near to its limit an output is; beyond all where it has a problem of another kind."""
    found, allowed = output.get("max_rel"), output.get("allowed")
    if "problem" in output or found is None:
        return float("inf")
    return found / allowed if allowed else float(found > 0) * 2


def _blamed(worst, feeds, outputs, folder):
    """Whether the exporter's file says something else than torch: then ONNX Runtime's answers are others, too."""
    import onnxruntime

    said = worst.get("problem") or f"output '{worst['name']}' differs"
    try:
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
        names = [port.name for port in session.get_outputs()]
        theirs = dict(zip(names, session.run(names, feeds)))
    except Exception as problem:  # Its errors have no class in common.
        return dict(verdict="wrong", reason=f"{said}; ONNX Runtime: {first_cause(problem)}")
    found = max(policy.difference(theirs[name], array) for name, array in outputs.items())
    if found > 1e-3:
        return dict(verdict="exporter", reason=f"{said}; ONNX Runtime differs from torch by {found:.1e}, too")
    return dict(verdict="wrong", reason=f"{said}; ONNX Runtime's by {found:.1e}")


def _sizes(model, feeds):
    """By name, the sizes of open dimensions."""
    found = {}
    for port in model.graph.input:
        for dim, size in zip(port.type.tensor_type.shape.dim, feeds[port.name].shape):
            if dim.dim_param:
                found[dim.dim_param] = size
    return found
