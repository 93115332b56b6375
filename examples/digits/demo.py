"""Compiles the digits network, runs it on images that it was not trained on, and shows what Kintsugi made of it.

usage: demo.py

Prints the accuracy, whether every prediction equals ONNX Runtime's, the time per image of both on the same cores,
how many operators became how many kernels, and where the time goes. Exits 1 if a prediction differs.
"""

import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
sys.path[:0] = [str(ROOT / "zoo"), str(ROOT / "bench")]

import numpy as np
import onnx

import contenders
import models

MODEL = FOLDER / "digits.onnx"
ROUNDS = 3
SECONDS = 0.5
BAR = 30


def compiled(artifact):
    """Seconds to compile the model, from a process of its own, into an artifact."""
    start = time.monotonic()
    models.kintsugi("compile", MODEL, "-o", artifact, "--quiet")
    return time.monotonic() - start


def probabilities(artifact, images, folder):
    """What the artifact says of each image: a row of ten probabilities."""
    np.savez(folder / "feeds.npz", images=images)
    models.kintsugi("run", artifact, "--inputs", folder / "feeds.npz", "--outputs", folder / "outputs.npz")
    with np.load(folder / "outputs.npz") as outputs:
        return outputs["probabilities"]


def times(ours, theirs):
    """Median milliseconds of both from Python, in alternating turns on the same threads."""
    rounds = []
    for _ in range(ROUNDS):
        for run in (ours, theirs):
            time.sleep(contenders.SETTLE)
            rounds.append(statistics.median(contenders.timed_runs(run, SECONDS)))
    return statistics.median(rounds[::2]), statistics.median(rounds[1::2])


def show_kernels(kernels):
    """A line for each kernel, the slowest first: its share of the time, its time, and the operators it serves."""
    total = sum(kernel["measured_ms"] for kernel in kernels)
    for kernel in sorted(kernels, key=lambda kernel: -kernel["measured_ms"]):
        share = kernel["measured_ms"] / total
        bar = "#" * round(share * BAR)
        served = " + ".join(kernel["nodes"]) or kernel["name"]
        print(f"  {bar:{BAR}} {share:4.0%} {kernel['measured_ms'] * 1e3:8.1f} us  {served}")


def main():
    operators = [node.op_type for node in onnx.load(MODEL).graph.node]
    with np.load(FOLDER / "held_out.npz") as held:
        images, labels = held["images"], held["labels"]
    threads = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        artifact = folder / "digits.kin"
        seconds = compiled(artifact)
        kernels = json.loads(models.kintsugi("explain", artifact, "--json"))["kernels"]
        print(f"compiled   {MODEL.relative_to(ROOT)} in {seconds:.1f} s")
        print(f"kernels    {len(operators)} operators became {len(kernels)} kernels")
        ort = contenders.load_ort(str(MODEL), {"images": images}, threads)
        kintsugi = contenders.load_kintsugi(str(artifact), {"images": images}, threads)
        ours, theirs = probabilities(artifact, images, folder), ort()[0]
        chosen, expected = ours.argmax(1), theirs.argmax(1)
        equal = np.count_nonzero(chosen == expected)
        print(f"accuracy   {np.mean(chosen == labels):.1%} of {len(labels)} images held out from training")
        print(
            f"agreement  {equal} of {len(labels)} predictions equal ONNX Runtime's;"
            f" largest difference of a probability {np.abs(ours - theirs).max():.1e}"
        )
        mine, peer = (ms * 1e3 / len(labels) for ms in times(kintsugi, ort))
        print(f"time       {mine:.2f} us an image; ONNX Runtime {peer:.2f} us, on the same {threads} threads")
    print("where the time goes")
    show_kernels(kernels)
    return 0 if equal == len(labels) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except models.Failure as failure:
        sys.exit(f"demo: {failure}")
