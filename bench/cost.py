"""Says how well the cost model predicts runs and ranks kernels: what it predicts beside what is measured.

usage: cost.py [MODEL ...] [--repeats N] [--worst N] [--threads N] [--seconds S] [--tune S] [--out FILE]

A run is what `kintsugi bench` times, the median over repeats, of an artifact with made-up weights. It is within 15 %
of its prediction where neither is more than 1.15 times the other. Elsewhere it is told what differs most: kernels,
and what a run takes beside its kernels (starts of stages, waiting). The machine's numbers are those that `kintsugi
doctor --measure` kept, or else assumed ones; which of the two is written down. With --tune each model is compiled by what
so many seconds of measuring found of its own kernels (a store of its own), and the results are in cost-tuned.json. Then
a run is predicted to take what it took when it was tuned, which holds while the machine is as quick: the time of a model
that nobody tunes, before and after the tuning and beside each timing, says whether it is (`pace`). Where it is not,
timing waits a little.

Kernels are timed by `kintsugi explain`. By zoo model: Spearman's rank correlation between predicted and measured time
of a launch over its distinct generated kernels, the ratio of all measured to all predicted time, and the kernels that
are mispredicted most. Those are judged by the ratio of measured to predicted time over that of the whole model (so
above 1 means slower than the cost model believes, compared with the model's other kernels), among kernels that take
at least half a percent of the measured time. A kernel's measured time is the median over repeats. Writes
bench/results/cost.json, with nodes, tiles, bytes and expressions of the mispredicted kernels, and the same as text
beside it.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))

import arguments
import machine
import models

SHARE = 0.005
WITHIN = 1.15
WHY = 3
PROBE = "dcgan"
SAME_PACE = 1.05
WAITS, PAUSE = 8, 5
KEPT = ("nodes", "tiles", "bytes", "expressions")


def ranks(values):
    """Ranks from 1, equal values sharing the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for at in order[start:end]:
            found[at] = (start + 1 + end) / 2
        start = end
    return found


def spearman(a, b):
    """Rank correlation; None where there are too few values or one side has but one."""
    if len(a) < 2 or len(set(a)) == 1 or len(set(b)) == 1:
        return None
    return statistics.correlation(ranks(a), ranks(b))


def distinct(reports):
    """Kernels by name from several reports of one artifact: milliseconds of a launch, and what describes them."""
    found = {}
    for report in reports:
        sums = {}
        for kernel in report["kernels"]:
            if kernel["kind"] == "generated" and kernel["launches"]:
                measured, launches = sums.get(kernel["name"], (0, 0))
                sums[kernel["name"]] = measured + kernel["measured_ms"], launches + kernel["launches"]
                predicted = kernel["predicted_ms"] / kernel["launches"]
                known = dict(predicted_ms=predicted, measured=[], **{key: kernel[key] for key in KEPT})
                found.setdefault(kernel["name"], known)
        for name, (measured, launches) in sums.items():
            found[name]["measured"].append(measured / launches)
            found[name]["launches"] = launches
    for kernel in found.values():
        kernel["measured_ms"] = statistics.median(kernel.pop("measured"))
    return found


def judge(kernels, count):
    """A model's row: correlation, ratio of the totals, and the kernels that are mispredicted most."""

    def total(field):
        return sum(kernel[field] * kernel["launches"] for kernel in kernels.values())

    measured, predicted = total("measured_ms"), total("predicted_ms")
    rows = []
    for name, kernel in kernels.items():
        share = kernel["measured_ms"] * kernel["launches"] / measured
        ratio = kernel["measured_ms"] / kernel["predicted_ms"] * predicted / measured
        if share >= SHARE and ratio > 0:
            rows.append(dict(name=name, ratio=ratio, share=share, **kernel))
    rows.sort(key=lambda row: -abs(math.log(row["ratio"])))
    pairs = [(kernel["predicted_ms"], kernel["measured_ms"]) for kernel in kernels.values()]
    return dict(
        kernels=len(kernels),
        spearman=spearman(*map(list, zip(*pairs))) if pairs else None,
        measured_ms=measured,
        predicted_ms=predicted,
        worst=rows[:count],
    )


def run_of(reports):
    """Measured and predicted milliseconds of a run, and their ratio, from reports of `kintsugi bench`."""
    measured = statistics.median(report["median_ms"] for report in reports)
    predicted = reports[0]["predicted_ms"]
    return dict(run_ms=measured, run_predicted_ms=predicted, run_ratio=measured / predicted)


def is_within(row):
    return 1 / WITHIN <= row["run_ratio"] <= WITHIN


def differences(kernels, run):
    """Milliseconds of a run that are measured but not predicted, by kernel and beside kernels, the largest first."""
    found = {name: (each["measured_ms"] - each["predicted_ms"]) * each["launches"] for name, each in kernels.items()}
    found["beside kernels"] = run["run_ms"] - run["run_predicted_ms"] - sum(found.values())
    return dict(sorted(found.items(), key=lambda item: -abs(item[1])))


def reported(options, *words):
    """What a command says of an artifact's runs."""
    return json.loads(models.kintsugi(*words, "--threads", options.threads, timeout=options.limit))


def timed(artifact, options):
    return reported(options, "bench", artifact, "--json", "-", "--seconds", options.seconds)


def explained(artifact, options):
    return reported(options, "explain", artifact, "--json")


class Probe:
    """A model that nobody tunes: what it takes now of what it took when another was tuned says how quick the machine is."""

    def __init__(self, folder, options):
        self.options, self.artifact, self.tuned = options, folder / "probe.kin", []
        (path,) = models.choose([PROBE])
        words = "compile", models.with_weights(path, folder), "-o", self.artifact, "--quiet"
        models.kintsugi(*words, timeout=options.limit, cache=folder / "untuned")

    def now(self):
        return timed(self.artifact, self.options)["median_ms"]

    def mark(self):
        """Before and after the tuning."""
        self.tuned.append(self.now())

    def pace(self):
        return self.now() / statistics.median(self.tuned)

    def settled(self):
        """The pace, once it is that of the tuning or it was waited for long enough."""
        for _ in range(WAITS):
            pace = self.pace()
            if 1 / SAME_PACE <= pace <= SAME_PACE:
                break
            time.sleep(PAUSE)
        return pace


def measured(artifact, probe, options):
    """Pairs of what explain and bench report, and the pace at each."""
    said, paces = [], []
    for _ in range(options.repeats):
        paces += [probe.settled()] if probe else []
        said.append((explained(artifact, options), timed(artifact, options)))
    return said, paces


def row_of(path, options):
    with models.workspace(path.stem) as folder:
        model, artifact = models.with_weights(path, folder), folder / "model.kin"
        probe = Probe(folder, options) if options.tune else None
        tuning = ["--tune", options.tune] if options.tune else []
        words = "compile", model, "-o", artifact, "--quiet", *tuning
        if probe:
            probe.mark()
        models.kintsugi(*words, timeout=options.limit, cache=folder / "cache" if options.tune else None)
        if probe:
            probe.mark()
        said, paces = measured(artifact, probe, options)
    kernels = distinct([report for report, _ in said])
    run = run_of([report for _, report in said]) | (dict(pace=statistics.median(paces)) if paces else {})
    why = {} if is_within(run) else dict(list(differences(kernels, run).items())[:WHY])
    return judge(kernels, options.worst) | run | dict(why=why)


def text(name, row):
    """A model's part of the summary."""
    if "failed" in row:
        return f"{name}: {row['failed']}\n"
    known = "none" if row["spearman"] is None else f"{row['spearman']:.2f}"
    lines = [
        f"{name}: rank correlation {known} over {row['kernels']} kernels,"
        f" measured {row['measured_ms']:.3f} ms, predicted {row['predicted_ms']:.3f} ms;"
        f" a run {row['run_ms']:.3f} ms, predicted {row['run_predicted_ms']:.3f} ms ({row['run_ratio']:.2f})"
        + (f", the machine at {row['pace']:.2f} times its pace when it was tuned" if "pace" in row else "")
    ]
    if row["why"]:
        lines.append("  the difference: " + ", ".join(f"{ms:+.3f} ms {name}" for name, ms in row["why"].items()))
    for kernel in row["worst"]:
        lines.append(
            f"  {kernel['ratio']:6.2f}x  {100 * kernel['share']:4.1f} %  {kernel['name']}  "
            f"{kernel['measured_ms'] * 1e3:.1f} us, predicted {kernel['predicted_ms'] * 1e3:.1f} us, "
            f"{kernel['launches']} launches, {kernel['tiles']} tiles, {kernel['bytes']} bytes: "
            f"{', '.join(kernel['nodes'])}"
        )
    return "\n".join(lines) + "\n"


def overall(rows):
    found = [row["spearman"] for row in rows.values() if row.get("spearman") is not None]
    runs = [row for row in rows.values() if "run_ratio" in row]
    within = dict(runs=len(runs), within=sum(map(is_within, runs)))
    return dict(models=len(found), median=statistics.median(found), least=min(found), **within) if found else {}


def whose_numbers():
    """Of the machine's numbers, by which predictions are made: "measured" or "assumed"."""
    return "measured" if json.loads(models.kintsugi("doctor", "--json"))["measured"] else "assumed"


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--worst", type=int, default=10, help="how many mispredicted kernels to list of a model")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=0.5, help="of timing runs, for each repeat")
    parser.add_argument("--tune", type=float, default=0, help="seconds of measuring kernels before a model is compiled")
    parser.add_argument("--limit", type=float, default=900, help="seconds that one command may take")
    parser.add_argument("--out", type=pathlib.Path, help="instead of bench/results/cost.json or cost-tuned.json")
    return models.parsed(parser, words)


def main(words=None):
    options = parse(words)
    cores = arguments.keep_to(options.threads)
    out = options.out or machine.RESULTS / ("cost-tuned.json" if options.tune else "cost.json")
    numbers = f"tuned, {whose_numbers()}" if options.tune else whose_numbers()
    report = machine.report(cores, repeats=options.repeats, numbers=numbers, models={})
    summary = ""
    for name, row in machine.rows(options.paths, lambda path: row_of(path, options)):
        report["models"][name] = row
        report["summary"] = overall(report["models"])
        print(text(name, row), end="", flush=True)
        summary += text(name, row)
        machine.write(report, out)
        out.with_suffix(".txt").write_text(summary)
    if report["summary"]:
        found = report["summary"]
        last = f"rank correlation: median {found['median']:.2f}, least {found['least']:.2f}"
        last += f" of {found['models']} models\n"
        last += f"runs within 15 % of what {numbers} numbers predict: {found['within']} of {found['runs']}\n"
        out.with_suffix(".txt").write_text(summary + last)
        print(last, end="")
    print(f"written to {out}")
    return 1 if any("failed" in row for row in report["models"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
