"""The runtimes that the benchmark times, each in processes of its own, each idle unless it is its turn.

A contender has `turn(seconds)`, which returns the milliseconds of its runs, and `close()`. Each loads a model once in a
worker that waits on a pipe between turns, and runs it from Python; Kintsugi loads what `kintsugi compile` made of it.
"""

import json
import os
import subprocess
import sys
import time

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
    return lambda: request.infer(fed, share_inputs=True, share_outputs=True)


def load_kintsugi(path, feeds, threads):
    import kintsugi

    session = kintsugi.InferenceSession(path, threads=threads)
    return lambda: session.run(None, feeds)


LOADERS = {"kintsugi": load_kintsugi, "ort": load_ort, "openvino": load_openvino}


class Worker:
    """A runtime behind a pipe; `loads` is the file that it loads, where that is not the model. `keep` says whether its process lives on between turns: a model whose
    weights would not fit into memory several times over is loaded anew for each."""

    def __init__(self, name, path, threads, keep, loads=None):
        self.command = [sys.executable, os.path.abspath(__file__), name, str(path), str(threads), str(loads or path)]
        self.keep = keep
        self.process = None
        self.compile_s = None

    def turn(self, seconds):
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            self.compile_s = self.answer()
        time.sleep(SETTLE)
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        runs = self.answer()
        if not self.keep:
            self.end()
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
        super().__init__("kintsugi", path, threads, keep, self.artifact)

    def turn(self, seconds):
        fresh = self.process is None
        runs = super().turn(seconds)
        if fresh:
            self.compile_s = round(self.compiled_s + self.compile_s, 2)
        return runs

    def report(self):
        """What `kintsugi bench` says of the artifact besides times."""
        said = models.kintsugi(
            *("bench", self.artifact, "--threads", self.threads, "--seconds", 0, "--json", "-"), timeout=self.limit
        )
        return {key: value for key, value in json.loads(said).items() if key not in ("median_ms", "min_ms", "p99_ms")}

    def close(self):
        super().close()
        self.artifact.unlink(missing_ok=True)


def serve(name, path, threads, loads):
    """A worker's life: load, say how long that took, then time runs for as many seconds as each line asks."""
    import onnx

    import materialize

    def answer(value):
        print("ANSWER " + json.dumps(value), flush=True)

    feeds = materialize.inputs(onnx.load(path, load_external_data=False))
    start = time.monotonic()
    run = LOADERS[name](loads, feeds, threads)
    run()
    answer(round(time.monotonic() - start, 2))
    for line in sys.stdin:
        answer(timed_runs(run, float(line)))


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
