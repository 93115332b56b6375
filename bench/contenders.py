"""The runtimes that the benchmark times, each in processes of its own, each idle unless it is its turn.

A contender has `turn(seconds)`, which returns the milliseconds of its runs (Kintsugi: their median alone), and
`close()`. ONNX Runtime and OpenVINO load a model once in a worker that waits on a pipe between turns.
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


LOADERS = {"ort": load_ort, "openvino": load_openvino}


class Worker:
    """A peer of Kintsugi behind a pipe. `keep` says whether its process lives on between turns: a model whose
    weights would not fit into memory several times over is loaded anew for each."""

    def __init__(self, peer, path, threads, keep):
        self.command = [sys.executable, os.path.abspath(__file__), peer, str(path), str(threads)]
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
            self.close()
        return runs

    def answer(self):
        """The next line that is ours; whatever else a library prints on the way is dropped."""
        for line in self.process.stdout:
            if line.startswith("ANSWER "):
                return json.loads(line[7:])
        said = self.process.stderr.read().strip().splitlines()
        raise models.Failure(said[-1] if said else "ended without a word")

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.stderr.close()
            self.process.wait()
            self.process = None


class Kintsugi:
    """The program under test: an artifact compiled once, timed by `kintsugi bench` in a process for each turn."""

    def __init__(self, path, folder, threads, limit):
        self.threads, self.limit = threads, limit
        self.artifact, self.report = folder / "model.kin", folder / "bench.json"
        start = time.monotonic()
        models.kintsugi("compile", path, "-o", self.artifact, "--quiet", timeout=limit)
        self.compile_s = round(time.monotonic() - start, 2)
        self.last = {}

    def turn(self, seconds):
        time.sleep(SETTLE)
        models.kintsugi(
            *("bench", self.artifact, "--threads", self.threads, "--seconds", seconds, "--json", self.report),
            timeout=self.limit,
        )
        self.last = json.loads(self.report.read_text())
        return [self.last["median_ms"]]

    def close(self):
        self.artifact.unlink(missing_ok=True)


def serve(peer, path, threads):
    """A worker's life: load, say how long that took, then time runs for as many seconds as each line asks."""
    import onnx

    import materialize

    def answer(value):
        print("ANSWER " + json.dumps(value), flush=True)

    feeds = materialize.inputs(onnx.load(path, load_external_data=False))
    start = time.monotonic()
    run = LOADERS[peer](path, feeds, threads)
    run()
    answer(round(time.monotonic() - start, 2))
    for line in sys.stdin:
        answer(timed_runs(run, float(line)))


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
