"""Times artifacts of a range of batches against those of one batch: what does an open dimension cost?

usage: open.py [MODEL ...] [--high N] [--sizes LIST] [--rounds N] [--seconds S] [--threads N] [--limit TIMES] [--out FILE]

The batch of a zoo model, the first dimension of its inputs where that is 1, is made open, and compiled with made-up weights
once for batches from 1 to --high (16), and once for each of --sizes (1,2,3,5,8,12,16). Both run on the same inputs, in
turns; a ratio is the least over rounds of one to that of the other. Models whose batch is a number inside of them, in
constants of another form than a Reshape's leading 1, can't be opened and are listed so.
Prints milliseconds and ratios, and writes them to bench/results/open.json. Exits 1 where an open dimension takes more than
--limit times (1.15) as long as the exact artifact, or a model fails.
"""

import argparse
import json
import os
import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))

import arguments
import machine
import models

NAME = "N"


def inputs_of(model):
    constants = {tensor.name for tensor in model.graph.initializer}
    return [port for port in model.graph.input if port.name not in constants]


def opened(path):
    """The model with an open batch. Raises models.Failure."""
    model = onnx.load(path, load_external_data=False)
    firsts = [port.type.tensor_type.shape.dim[0] for port in inputs_of(model) if port.type.tensor_type.shape.dim]
    batches = [first for first in firsts if first.dim_value == 1]
    if not batches:
        raise models.Failure("it has no batch of 1")
    for batch in batches:
        batch.dim_param = NAME
    shapes = {node.input[1] for node in model.graph.node if node.op_type == "Reshape"}
    for tensor in model.graph.initializer:
        if tensor.name in shapes and tensor.data_type == onnx.TensorProto.INT64:
            tensor.CopyFrom(numpy_helper.from_array(_with_any_batch(numpy_helper.to_array(tensor)), tensor.name))
    for node in model.graph.node:
        if node.op_type == "Reshape":
            del node.attribute[:]  # allowzero, under which 0 is no input's dimension.
        if node.op_type == "Constant" and node.output[0] in shapes:
            value = node.attribute[0].t
            value.CopyFrom(numpy_helper.from_array(_with_any_batch(numpy_helper.to_array(value))))
    del model.graph.value_info[:]
    for port in model.graph.output:
        port.type.tensor_type.ClearField("shape")
    return model


def _with_any_batch(shape):
    """A Reshape's leading 1 as what is left of its input, or where another dimension is that, as its input's."""
    shape = shape.copy()
    if shape.size and shape[0] == 1:
        shape[0] = 0 if -1 in shape else -1
    return shape


def feeds(model, size):
    """Of made-up inputs for a batch: floats of a normal distribution, small integers."""
    random = np.random.default_rng(0)
    made = {}
    for port in inputs_of(model):
        shape = [size if each.dim_param else each.dim_value for each in port.type.tensor_type.shape.dim]
        kind = onnx.helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
        is_float = np.issubdtype(kind, np.floating)
        made[port.name] = (random.standard_normal(shape) if is_float else random.integers(0, 2, shape)).astype(kind)
    return made


def milliseconds(artifact, inputs, options):
    words = "--threads", options.threads, "--seconds", options.seconds, "--inputs", inputs, "--json", "-"
    return json.loads(models.kintsugi("bench", artifact, *words))["median_ms"]


def compiled(model, artifact, sizes):
    models.kintsugi("compile", model, "--random-weights", "--dim", f"{NAME}={sizes}", "-o", artifact, "--quiet")
    return artifact


def measure(path, options):
    """By size, milliseconds of both and their ratio."""
    model = opened(path)
    with models.workspace(path.stem) as folder:
        onnx.save(model, folder / "model.onnx")
        contenders = {"open": compiled(folder / "model.onnx", folder / "open.kin", f"1..{options.high}")}
        found = {}
        for size in options.sizes:
            np.savez(folder / "inputs.npz", **feeds(model, size))
            contenders["exact"] = compiled(folder / "model.onnx", folder / "exact.kin", size)
            rounds = {name: [] for name in contenders}
            for number in range(options.rounds):
                for name in contenders if number % 2 == 0 else reversed(contenders):
                    rounds[name].append(milliseconds(contenders[name], folder / "inputs.npz", options))
            least = {name: min(times) for name, times in rounds.items()}
            found[size] = dict(rounds=rounds, **least, ratio=least["open"] / least["exact"])
        return dict(sizes=found)


def line(name, row):
    if "failed" in row:
        return f"{name:32} {row['failed']}"
    return f"{name:32}" + "".join(f"{each['exact']:10.3f} {each['ratio']:5.2f}" for each in row["sizes"].values())


def numbers(text):
    return [int(word) for word in text.split(",")]


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--high", type=int, default=16, help="the greatest batch")
    parser.add_argument("--sizes", type=numbers, default=[1, 2, 3, 5, 8, 12, 16])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="of a turn")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=1.15, help="what an open dimension may cost")
    parser.add_argument("--out", type=pathlib.Path, help="instead of bench/results/open.json")
    options = models.parsed(parser, words)
    cores = arguments.keep_to(options.threads)
    out = options.out or machine.RESULTS / "open.json"
    report = machine.report(cores, high=options.high, rounds=options.rounds, seconds=options.seconds, models={})
    print(f"{'exact ms and ratio at batches of':32}" + "".join(f"{size:16}" for size in options.sizes), flush=True)
    for name, row in machine.rows(options.paths, lambda path: measure(path, options)):
        report["models"][name] = row
        print(line(name, row), flush=True)
        machine.write(report, out)
    print(f"written to {out}")
    measured = [row for row in report["models"].values() if "sizes" in row]
    slow = [each for row in measured for each in row["sizes"].values() if each["ratio"] > options.limit]
    return 1 if slow else 0


if __name__ == "__main__":
    arguments.run("open", lambda: sys.exit(main()))
