"""Compiles and runs zoo models and has `kintsugi compare` judge every output by the error policy.

usage: check.py [MODEL ...] [--target cpu|cuda[:N]] [--cpu-level v3|v4] [--precision P] [--limit SECONDS] [--jobs N]
                [--json FILE]

On a processor the model runs at each level of the instruction set that it has, unless one is named, and the worst
answer counts. The right outputs are ONNX Runtime's. With a precision below f32 an output that is beyond the limits against them is
judged beside the reference instead, of which `compare` knows what rounding alone costs, and which then has to agree
with ONNX Runtime itself; and each model is judged twice, on feeds of two seeds: the compiler chose what to store in 16
bits by a run on neither. As many models' weights exist at a time as there are jobs, one unless more are asked for;
several disturb each other's times, not the verdicts. Columns: the verdict (inside the policy, inside only by rounding,
outside), the largest difference of any output over its largest magnitude beside what the policy allows, and the same in
slices of its channels (both of the output that is nearest to a limit), seconds to compile, milliseconds for a run,
kernels. What is outside in fewer bits is compiled again with `--max-error 0.1`, which keeps in f32 what would move an
output further, and has a second line. Exits 1 if a model failed or is outside, and outside with that too.
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

import materialize
import models

sys.path.insert(0, str(models.ROOT / "bench"))

import machine

DISAGREES = 1  # The exit code of `kintsugi compare`.
HEADER = (
    f"{'model':32} {'verdict':8} {'difference':>10} {'allowed':>9} {'in slices':>10} {'allowed':>9}"
    f" {'compile s':>9} {'run ms':>9} {'kernels':>7}"
)
VERDICTS = ("inside", "rounding", "outside")
MAX_ERROR = 0.1  # The most that rounding excuses.
FEEDS = {"f32": ("",), "f16": ("", " again"), "bf16": ("", " again")}


def reference(path, feeds):
    """ONNX Runtime's outputs by name."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


def strain(output):
    """How near to its limits an output is: over 1 beyond one of them."""

    def share(found, allowed):
        return math.inf if found is None else 0 if found == 0 else found / allowed if allowed else math.inf

    if "problem" in output:
        return math.inf
    return max(share(output["max_rel"], output["allowed"]), share(output["slice_rel"], output["slice_allowed"]))


def of_rounded_feeds(path, feeds):
    """What rounding the feeds alone to f16 changes, all else being ONNX Runtime's in f32: the most of any output's
    largest magnitude, and of that of a slice of its channels (axis 1) or last axis."""
    rounded = {
        name: feed.astype(np.float16).astype(feed.dtype) if feed.dtype == np.float32 else feed
        for name, feed in feeds.items()
    }
    right, changed = reference(path, feeds), reference(path, rounded)
    whole = in_slices = 0.0
    for name, output in right.items():
        if not np.issubdtype(output.dtype, np.floating) or output.ndim == 0:
            continue
        apart = np.abs(output - changed[name])
        whole = max(whole, float(apart.max() / np.abs(output).max()))
        for axis in {min(1, output.ndim - 1), output.ndim - 1}:
            others = tuple(d for d in range(output.ndim) if d != axis)
            largest = np.abs(output).max(axis=others)
            shares = np.where(largest > 0, apart.max(axis=others) / np.where(largest > 0, largest, 1), 0)
            in_slices = max(in_slices, float(shares.max()))
    return {"whole": whole, "in_slices": in_slices}


class Judge:
    """Compares a model's outputs on some feeds with right ones."""

    def __init__(self, model, folder, limit):
        self.model, self.folder, self.limit = model, folder, limit

    def compared(self, *flags):
        command = ("compare", self.model, "--inputs", self.folder / "feeds.npz", *flags, "--json")
        options = dict(timeout=self.limit, codes=(0, DISAGREES), cache=self.folder / "cache")
        return json.loads(models.kintsugi(*command, **options))

    def report(self, feeds, flags):
        """That of `compare` against ONNX Runtime; where that is outside for fewer bits, against the reference."""
        np.savez(self.folder / "feeds.npz", **feeds)
        np.savez(self.folder / "expected.npz", **reference(self.model, feeds))
        theirs = ("--expected", self.folder / "expected.npz")
        report = self.compared(*theirs, *flags)
        if report["within"] or report["precision"] == "f32":
            return report
        of_reference = self.compared(*theirs, "--target", "reference")
        return self.compared(*flags) if of_reference["within"] else of_reference


def entry(report):
    """The verdict, and the figures of the output that is nearest to its limits."""
    worst = max(report["outputs"], key=strain)
    fields = ("max_rel", "allowed", "slice_rel", "slice_allowed", "rounding", "slice_rounding")
    return dict(verdict=report["verdict"], output=worst["name"]) | {f: worst[f] for f in fields if f in worst}


def judged(model, folder, limit, feeds, flags, places):
    """What compiling and running with `flags` gave, and what `compare` says of each feed at each of `places`, flags that
    tell of instructions."""
    timing = folder / "bench.json"
    timed = ("bench", model, *flags, "--seconds", 1, "--json", timing)
    models.kintsugi(*timed, timeout=limit, cache=folder / "cache")
    timing = json.loads(timing.read_text())
    judge = Judge(model, folder, limit)
    entries = [entry(judge.report(each, flags + at)) | dict(at=at[1:]) for each in feeds for at in places]
    worst = max(entries, key=lambda each: (VERDICTS.index(each["verdict"]), strain(each)))
    return worst | dict(
        answers=entries,
        compile_s=round(timing["compile_s"], 2),
        run_ms=timing["median_ms"],
        kernels=timing["kernels"],
    )


def check(path, limit, target="cpu", precision="f32", level=None):
    """What compiling, running and comparing one model gave. Raises models.Failure."""
    flags = ["--target", target] + ["--precision", precision] + (["--cpu-level", level] if level else [])
    places = [[]] if level or target != "cpu" else [["--cpu-level", each] for each in models.levels()]
    with models.workspace(path.stem) as folder:
        model = models.with_weights(path, folder)
        graph = onnx.load(path, load_external_data=False)
        feeds = [materialize.inputs(graph, salt) for salt in FEEDS[precision]]
        row = judged(model, folder, limit, feeds, flags, places)
        if precision == "f16" and row["verdict"] == "outside":
            row["of_rounded_feeds"] = of_rounded_feeds(model, feeds[0])
        if precision != "f32" and row["verdict"] == "outside":
            bounded = flags + ["--max-error", str(MAX_ERROR)]
            try:
                row["with_max_error"] = judged(model, folder, limit, feeds, bounded, places)
            except models.Failure as failure:
                row["with_max_error"] = dict(verdict="outside", failed=str(failure))
    return row


def line(name, row):
    """A row of the table, and a second one of what --max-error made of it."""
    if "failed" in row:
        return f"{name:32} {row['verdict']:8} {row['failed']}"

    def number(field):
        return math.inf if row.get(field) is None else row[field]

    text = (
        f"{name:32} {row['verdict']:8} {number('max_rel'):10.2e} {row['allowed']:9.1e} {number('slice_rel'):10.2e}"
        f" {row['slice_allowed']:9.1e} {row['compile_s']:9.1f} {row['run_ms']:9.3f} {row['kernels']:7}"
    )
    if "with_max_error" in row:
        text += "\n" + line(f"  with --max-error {MAX_ERROR}", row["with_max_error"])
    return text


def is_outside(row):
    """Whether a model is outside, and stays there with --max-error."""
    return all(each["verdict"] == "outside" for each in (row, row.get("with_max_error", row)))


def summary(results):
    """Each verdict counted apart, and who is not inside."""

    def those(verdict):
        names = [name for name, row in results.items() if row["verdict"] == verdict]
        return f"{len(names)}" + (f" ({', '.join(names)})" if names and verdict != "inside" else "")

    text = (
        f"of {len(results)} models inside the error policy: {those('inside')}; only by rounding:"
        f" {those('rounding')}; outside: {those('outside')}"
    )
    bounded = [row for row in results.values() if "with_max_error" in row]
    if bounded:
        text += f"; with --max-error {MAX_ERROR} still outside: {sum(map(is_outside, bounded))}"
    return text


def tabulated(options, report, examine, line):
    """Fills the report's "models" with what `examine` says of each path, a row or models.Failure, `options.jobs` at a
    time; prints a line for each in order, and keeps the file of `options.json`, if any, up to date."""

    def row_of(path):
        try:
            return examine(path)
        except models.Failure as failure:
            return dict(verdict="outside", failed=str(failure))

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, row in zip(options.paths, pool.map(row_of, options.paths)):
            report["models"][path.stem] = row
            print(line(path.stem, row), flush=True)
            if options.json:
                machine.write(report, options.json)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="cpu", help="what to compile for and run on, as kintsugi takes it")
    parser.add_argument("--cpu-level", choices=["v3", "v4"], help="one level of the instruction set, of all")
    parser.add_argument("--precision", default="f32", choices=list(FEEDS))
    parser.add_argument("--limit", type=float, default=900, help="seconds that one command may take")
    parser.add_argument("--jobs", type=int, default=1, help="models that are checked at a time")
    parser.add_argument("--json", type=pathlib.Path, help="write the table to this file as well")
    options = models.parsed(parser)
    report = machine.report(target=options.target, precision=options.precision, models={})
    results = report["models"]
    print(HEADER, flush=True)
    how = options.limit, options.target, options.precision, options.cpu_level
    tabulated(options, report, lambda path: check(path, *how), line)
    print(summary(results))
    return 1 if any(map(is_outside, results.values())) else 0


if __name__ == "__main__":
    sys.exit(main())
