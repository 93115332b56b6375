"""Times `run` from Python on models that take next to nothing, beside ONNX Runtime's, in turns on the same cores.

usage: calls.py [--rounds N] [--calls N] [--out FILE]

What a run of a small model takes is mostly what a call takes: looking at what is fed, making arrays for the outputs, getting
to the kernels and back. `tiny` is a ReLU of 16 numbers, all of which is that; `small` is two products that take some 20 us on
one core, so that both have something to do. Each with one thread, by `run` on arrays and by bindings whose arrays stay. A time is
the least over rounds of a round's calls. Prints microseconds and the ratio of ours to ONNX Runtime's, and writes them to
bench/results/calls.json. Exits 1 where a `run` takes longer than ONNX Runtime's.
"""

import argparse
import pathlib
import sys
import time

import numpy as np
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))

import machine

LIMIT = 1.0


def tiny():
    return _model([helper.make_node("Relu", ["x"], ["y"])], [1, 16], {})


def small():
    size = 320
    weights = np.random.default_rng(0).standard_normal((2, size, size), np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "b"], ["y"]),
    ]
    return _model(nodes, [4, size], {"a": weights[0], "b": weights[1]})


def _model(nodes, shape, constants):
    ports = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)] for name in "xy"]
    graph = helper.make_graph(nodes, "graph", *ports, [numpy_helper.from_array(value, name) for name, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return model.SerializeToString(), shape


def contenders(model, shape):
    """By who and how, what makes one run."""
    import onnxruntime

    import kintsugi

    x = np.random.default_rng(1).standard_normal(shape, np.float32)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    sessions = {
        "kintsugi": kintsugi.InferenceSession(model, threads=1),
        "ort": onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]),
    }
    found = {}
    for name, session in sessions.items():
        binding, y = session.io_binding(), np.empty(shape, np.float32)
        binding.bind_input("x", "cpu", 0, np.float32, shape, x.ctypes.data) if name == "ort" else binding.bind_input("x", x)
        binding.bind_output("y", "cpu", 0, np.float32, shape, y.ctypes.data) if name == "ort" else binding.bind_output("y", y)
        found[name, "run"] = lambda session=session: session.run(None, {"x": x})
        found[name, "bound"] = lambda session=session, binding=binding, y=y: session.run_with_iobinding(binding)
    np.testing.assert_allclose(found["kintsugi", "run"](), found["ort", "run"](), rtol=1e-4, atol=1e-3)
    return found


def microseconds(run, calls):
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) * 1e6 / calls


def measure(model, shape, options):
    runs = contenders(model, shape)
    rounds = {key: [] for key in runs}
    for number in range(options.rounds):
        for key in list(runs) if number % 2 == 0 else reversed(list(runs)):
            rounds[key].append(microseconds(runs[key], options.calls))
    row = {}
    for how in ("run", "bound"):
        us = {name: min(rounds[name, how]) for name in ("kintsugi", "ort")}
        row[how] = dict(us=us, ratio=us["kintsugi"] / us["ort"])
    return row


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--calls", type=int, default=100, help="in a round, of each")
    parser.add_argument("--out", type=pathlib.Path, default=machine.RESULTS / "calls.json")
    options = parser.parse_args(words)
    report = machine.report(models={name: measure(*make(), options) for name, make in (("tiny", tiny), ("small", small))})
    machine.write(report, options.out)
    for name, row in report["models"].items():
        for how, found in row.items():
            us = found["us"]
            print(f"{name:5} {how:5} {us['kintsugi']:7.2f} us, ONNX Runtime {us['ort']:7.2f} us: {found['ratio']:.3f} times")
    print(f"written to {options.out}")
    return 1 if any(row["run"]["ratio"] > LIMIT for row in report["models"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
