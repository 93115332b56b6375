"""Compiles and runs zoo models and compares every output with ONNX Runtime's.

usage: check.py [MODEL ...] [--target cpu|cuda[:N]] [--precision P] [--limit SECONDS] [--json FILE]

On a processor the model runs at each level of the instruction set that it has, and the worst answer counts. With a precision below f32 `kintsugi compare` judges, and where a network amplifies rounding it does so against its own
reference instead; ONNX Runtime computes in f32 all the same. One model's weights exist at a time. Columns: the largest
relative difference of any output beside what the error policy allows it (the output nearest to its limit is shown),
seconds to compile, milliseconds for a run, kernels. Exits 1 if a model failed or disagreed.
"""

import argparse
import json
import math
import sys
import time

import numpy as np
import onnx
import onnxruntime

import materialize
import models
import policy

DISAGREES = 1  # The exit code of `kintsugi compare`.
EXACT = 1e-30  # What may differ by nothing may differ by this.
HEADER = f"{'model':32} {'ok':4} {'difference':>10} {'allowed':>9} {'compile s':>9} {'run ms':>9} {'kernels':>7}"


def reference(path, feeds):
    """ONNX Runtime's outputs by name."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


def judged(model, expected, folder, flags, limit):
    """Difference and limit of the output that is nearest to its limit, by `kintsugi compare`: against ONNX Runtime's,
    and where that is beyond the fixed limit, against the reference, of which it knows what rounding alone costs and
    which has to agree with ONNX Runtime itself."""
    np.savez(folder / "expected.npz", **expected)
    inputs, theirs = ("--inputs", folder / "feeds.npz"), ("--expected", folder / "expected.npz")

    def compared(*how):
        said = models.kintsugi("compare", model, *inputs, *how, "--json", timeout=limit, codes=(0, DISAGREES))
        return json.loads(said)

    report = compared(*theirs, *flags)
    if not report["within"]:
        of_reference = compared(*theirs, "--target", "reference")
        report = compared(*flags) if of_reference["within"] else of_reference
    apart = lambda output: math.inf if output.get("max_rel") is None else output["max_rel"]
    worst = max(report["outputs"], key=lambda output: nearness((apart(output), output["allowed"])))
    return apart(worst), worst["allowed"]


def levels_of(target):
    """The flags that make a run one of each level of the instruction set, where the target has several."""
    return [("--cpu-level", level) for level in models.levels()] if target == "cpu" else [()]


def nearness(answer):
    """Of a difference and what it may be: from 1 on it is too much."""
    found, allowed = answer
    return found / max(allowed, EXACT)


def check(path, limit, target="cpu", precision="f32"):
    """What compiling, running and comparing one model gave. Raises models.Failure."""
    flags = ("--target", target, "--precision", precision)
    with models.workspace(path.stem) as folder:
        model = models.with_weights(path, folder)
        graph = onnx.load(path, load_external_data=False)
        feeds = materialize.inputs(graph)
        np.savez(folder / "feeds.npz", **feeds)
        artifact, outputs = folder / "model.kin", folder / "outputs.npz"
        start = time.monotonic()
        models.kintsugi("compile", model, *flags, "-o", artifact, "--quiet", timeout=limit)
        compile_s = time.monotonic() - start
        models.kintsugi("bench", artifact, "--seconds", 1, "--json", folder / "bench.json", timeout=limit)
        timing = json.loads((folder / "bench.json").read_text())
        theirs, answers = reference(model, feeds), []
        for at in levels_of(target):
            if precision != "f32":
                answers.append(judged(model, theirs, folder, (*flags, *at), limit))
                continue
            inputs = ("--inputs", folder / "feeds.npz", "--outputs", outputs)
            models.kintsugi("run", artifact, *inputs, *at, timeout=limit)
            with np.load(outputs) as ours:
                answers.append(policy.worst_output(ours, theirs, policy.depth(graph)))
        found, allowed = max(answers, key=nearness)
    return dict(
        ok=found <= allowed,
        difference=found,
        allowed=allowed,
        compile_s=round(compile_s, 2),
        run_ms=timing["median_ms"],
        kernels=timing["kernels"],
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--target", default="cpu", help="what to compile for and run on, as kintsugi takes it")
    parser.add_argument("--precision", default="f32", choices=["f32", "tf32", "f16", "bf16"])
    parser.add_argument("--limit", type=float, default=900, help="seconds that one command may take")
    parser.add_argument("--json", help="write the table to this file as well")
    options = parser.parse_args()
    try:
        paths = models.choose(options.models)
    except KeyError as error:
        parser.error(error.args[0])
    results = {}
    print(HEADER, flush=True)
    for path in paths:
        try:
            row = results[path.stem] = check(path, options.limit, options.target, options.precision)
            print(
                f"{path.stem:32} {'yes' if row['ok'] else 'NO':4} {row['difference']:10.2e} {row['allowed']:9.1e}"
                f" {row['compile_s']:9.1f} {row['run_ms']:9.3f} {row['kernels']:7}",
                flush=True,
            )
        except models.Failure as failure:
            results[path.stem] = dict(ok=False, failed=str(failure))
            print(f"{path.stem:32} NO   {failure}", flush=True)
        if options.json:
            with open(options.json, "w") as file:
                json.dump(results, file, indent=1)
    agree = sum(row["ok"] for row in results.values())
    print(f"{agree} of {len(results)} models agree with ONNX Runtime")
    return 0 if agree == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
