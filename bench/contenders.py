"""The runtimes that the benchmark times, each in processes of its own, each idle unless it is its turn.

A contender has `turn(seconds)`, which returns the milliseconds of its runs, and `close()`. Each loads a model once in a
worker that waits on a pipe between turns, and runs it from Python; Kintsugi loads what `kintsugi compile` made of it,
and torch compiles the module that the model was exported from, with the model's weights. A worker that has loaded
leaves the outputs of its first run in `outputs`, so that a time is taken only of what computes the right thing.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import onnx

import materialize
import models

# OpenVINO 2026.4.1 and ONNX Runtime 1.31.1 both stop spinning well inside this pause after a run.
SETTLE = 0.2
LEAST_RUNS = 3


def timed_runs(run, seconds):
    """Milliseconds of each call over some seconds, after one that is not counted."""
    run()
    found, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(found) < LEAST_RUNS:
        start = time.perf_counter()
        run()
        found.append((time.perf_counter() - start) * 1e3)
    return found


def feeds_of(path):
    return materialize.inputs(onnx.load(path, load_external_data=False))


def load_ort(path, feeds, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda: session.run(names, feeds)


def load_openvino(path, feeds, threads):
    import openvino

    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
    }
    compiled = openvino.Core().compile_model(path, "CPU", settings)
    request = compiled.create_infer_request()
    ports = {name: port for port in compiled.inputs for name in port.get_names()}
    fed = {ports[name]: value for name, value in feeds.items()}
    return lambda: request.infer(fed, share_inputs=True, share_outputs=True).values()


def load_torch(path, feeds, threads):
    """As its makers advise for inference: no gradients, frozen weights, images with their channels last, which includes
    the feeds, ahead of the timing."""
    import torch
    from torch._inductor import config

    import torch_modules
    import torch_weights

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    config.freezing = True
    module = torch_modules.MODULES[pathlib.Path(path).stem]().eval()
    fed = [torch.from_numpy(value) for value in feeds.values()]
    torch_weights.give(module, fed, pathlib.Path(path))
    if fed[0].dim() == 4:
        module = module.to(memory_format=torch.channels_last)
        fed[0] = fed[0].to(memory_format=torch.channels_last)
    compiled = torch.compile(module)

    def run():
        found = compiled(*fed)
        return found if isinstance(found, tuple) else (found,)

    return run


def load_kintsugi(path, feeds, threads):
    import kintsugi

    session = kintsugi.InferenceSession(path, threads=threads)
    return lambda: session.run(None, feeds)


def load_fallback(path, feeds, threads):
    """A model with operators that are missing here."""
    import kintsugi

    session = kintsugi.InferenceSession(path, threads=threads, fallback="onnxruntime")
    return lambda: session.run(None, feeds)


LOADERS = {
    "kintsugi": load_kintsugi,
    "fallback": load_fallback,
    "ort": load_ort,
    "openvino": load_openvino,
    "torch": load_torch,
}
PEERS = ["ort", "openvino", "torch"]


class Worker:
    """A runtime behind a pipe, with a folder for its files; `loads` is the file that it loads, where that is not the
    model. `keep` says whether its process lives on between turns: a model whose weights would not fit into memory
    several times over is loaded anew for each."""

    def __init__(self, name, path, folder, threads, keep, loads=None):
        self.outputs = folder / f"{name}.npz"
        arguments = name, path, threads, loads or path, self.outputs
        self.command = [sys.executable, os.path.abspath(__file__), *map(str, arguments)]
        # Nobody's compilations of earlier days count as done.
        self.environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor")}
        self.keep = keep
        self.process = None
        self.compile_s = None

    def start(self):
        """Loads the model, and runs it once."""
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.process = subprocess.Popen(self.command, text=True, env=self.environment, **pipes)
        self.compile_s = self.answer()

    def rest(self):
        if not self.keep:
            self.end()

    def turn(self, seconds):
        if self.process is None:
            self.start()
        time.sleep(SETTLE)
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        runs = self.answer()
        self.rest()
        return runs

    def answer(self):
        """The next line that is ours; whatever else a library prints on the way is dropped."""
        for line in self.process.stdout:
            if line.startswith("ANSWER "):
                return json.loads(line[7:])
        said = self.process.stderr.read().strip().splitlines()
        raise models.Failure(said[-1] if said else "ended without a word")

    def end(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.stderr.close()
            self.process.wait()
            self.process = None

    def close(self):
        self.end()


class Kintsugi(Worker):
    """The program under test. Its compilation counts as a peer's loading does."""

    def __init__(self, path, folder, threads, keep, limit):
        self.artifact, self.threads, self.limit = folder / "model.kin", threads, limit
        start = time.monotonic()
        models.kintsugi("compile", path, "-o", self.artifact, "--quiet", timeout=limit)
        self.compiled_s = time.monotonic() - start
        super().__init__("kintsugi", path, folder, threads, keep, self.artifact)

    def start(self):
        super().start()
        self.compile_s = round(self.compiled_s + self.compile_s, 2)

    def report(self):
        """What `kintsugi bench` says of the artifact besides times."""
        said = models.kintsugi(
            *("bench", self.artifact, "--threads", self.threads, "--seconds", 0, "--json", "-"), timeout=self.limit
        )
        return {key: value for key, value in json.loads(said).items() if key not in ("median_ms", "min_ms", "p99_ms")}

    def close(self):
        super().close()
        self.artifact.unlink(missing_ok=True)


def serve(name, path, threads, loads, outputs):
    """A worker's life: load, leave the first outputs, say how long loading took, then time runs for as many seconds as
    each line asks."""

    def answer(value):
        print("ANSWER " + json.dumps(value), flush=True)

    names = [output.name for output in onnx.load(path, load_external_data=False).graph.output]
    feeds = feeds_of(path)
    start = time.monotonic()
    run = LOADERS[name](loads, feeds, threads)
    found = run()
    took = round(time.monotonic() - start, 2)
    np.savez(outputs, **{name: np.asarray(value) for name, value in zip(names, found)})
    answer(took)
    for line in sys.stdin:
        answer(timed_runs(run, float(line)))


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
