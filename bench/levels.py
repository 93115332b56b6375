"""Times zoo models in code for AVX2 and in code for AVX-512 on one machine: does either use less of what it could?

usage: levels.py [MODEL ...] [--rounds N] [--seconds S] [--threads N] [--limit POINTS] [--out FILE]

A model is compiled once for both levels, with made-up weights, and timed in turns, in the other order every other round;
a level's time is the median over rounds. Its share is of the peak of the multiply-add units in its own instructions
(limits.c), measured beside each turn, and of the arithmetic of the model as written, whatever the code saves of that. How
far the shares are apart is the median over rounds: what slows the machine for some seconds slows both.
Prints milliseconds and shares, and writes them to bench/results/levels.json. Exits 1 where AVX2 code of a model is more
than --limit points (5) below AVX-512 code, or a model fails.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))

import arguments
import limits
import machine
import models

LEVELS = {"v3": "x86-64-v3", "v4": "x86-64-v4"}


def arithmetic(model):
    """Operations of a run of the model as written, a multiply-add counted as two. Raises models.Failure."""
    found = json.loads(models.kintsugi("inspect", model, "--json")).get("arithmetic")
    if found is None:
        raise models.Failure("it has open dimensions")
    return found


def compete(artifact, peaks, options):
    """Milliseconds and peaks of each round, by level."""
    found = {level: dict(rounds=[], peaks=[]) for level in LEVELS}
    for number in range(options.rounds):
        for level in LEVELS if number % 2 == 0 else reversed(LEVELS):
            words = "bench", artifact, "--cpu-level", level, "--threads", options.threads, "--seconds", options.seconds
            found[level]["rounds"].append(json.loads(models.kintsugi(*words, "--json", "-"))["median_ms"])
            found[level]["peaks"].append(peaks[level]())
    return found


def judged(found, operations):
    """With each level's milliseconds and share of its peak, and by how many points AVX2 code is ahead."""
    shares = {}
    for level, row in found.items():
        row["ms"] = statistics.median(row["rounds"])
        shares[level] = [operations / ms * 1e3 / max(row["peaks"]) for ms in row["rounds"]]
        row["share"] = statistics.median(shares[level])
    apart = [100 * (v3 - v4) for v3, v4 in zip(*map(shares.get, LEVELS))]
    return dict(levels=found, operations=operations, points=statistics.median(apart))


def measure(path, peaks, options):
    with models.workspace(path.stem) as folder:
        artifact = folder / "model.kin"
        models.kintsugi("compile", path, "--random-weights", "-o", artifact, "--quiet")
        return judged(compete(artifact, peaks, options), arithmetic(path))


def line(name, row):
    if "failed" in row:
        return f"{name:32} {row['failed']}"
    v3, v4 = (row["levels"][level] for level in LEVELS)
    return f"{name:32}{v3['ms']:10.3f}{v4['ms']:10.3f}{v3['share']:9.1%}{v4['share']:9.1%}{row['points']:+8.1f}"


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a turn")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=5, help="points that AVX2 code may be below AVX-512 code")
    parser.add_argument("--out", type=pathlib.Path, help="instead of bench/results/levels.json")
    options = models.parsed(parser, words)
    if missing := [level for level in LEVELS if level not in models.levels()]:
        raise models.Failure(f"this machine does not run {LEVELS[missing[0]]}")
    cores = arguments.keep_to(options.threads)
    out = options.out or machine.RESULTS / "levels.json"
    report = machine.report(cores, rounds=options.rounds, seconds=options.seconds, models={})
    print(f"{'model':32}{'v3 ms':>10}{'v4 ms':>10}{'v3 peak':>9}{'v4 peak':>9}{'points':>8}", flush=True)
    with limits.workshop() as folder:
        programs = {level: limits.Limits(folder, named) for level, named in LEVELS.items()}
        peaks = {level: lambda its=its: its.flops(cores) for level, its in programs.items()}
        for name, row in machine.rows(options.paths, lambda path: measure(path, peaks, options)):
            report["models"][name] = row
            print(line(name, row), flush=True)
            machine.write(report, out)
    print(f"written to {out}")
    behind = [row for row in report["models"].values() if "failed" in row or row["points"] < -options.limit]
    return 1 if behind else 0


if __name__ == "__main__":
    arguments.run("levels", lambda: sys.exit(main()))
