"""Compiles zoo models from cold: seconds, memory, and how far from the optimum the search may be.

usage: compiling.py [MODEL ...] [--targets cpu,cuda] [--out FILE]

Each model is compiled with made-up weights and an empty cache, one at a time: for a processor in float32 and for both
of its instruction sets, for a GPU in f16 (no GPU is needed). Memory is the largest resident set of the program and of
the processes that compile for it. The gap is what the report says: by how much the plan may be above the optimum over
the kernels of all forms of the program that were looked at, 0 where it is proven to be optimal. Prints a line for each
and writes them to bench/results/compiling.json. Exits 1 where a model fails.
"""

import argparse
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))

import arguments
import machine
import models

FLAGS = {"cpu": ["--target", "cpu"], "cuda": ["--target", "cuda", "--precision", "f16"]}
# Runs a command and tells of its memory. A small program, since what starts another counts as its memory.
RUNNER = """import resource, subprocess, sys
code = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL).returncode
open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)"""


def measure(path, target):
    """Of one compilation: seconds, MiB, gap, and the kernels that came of it. Raises models.Failure."""
    with models.workspace(path.stem) as folder:
        words = "compile", path, *FLAGS[target], "--random-weights", "-o", folder / "model.kin", "--json"
        runner = sys.executable, "-S", "-c", RUNNER, folder / "memory"
        report = json.loads(models.kintsugi(*words, cache=folder / "cache", runner=runner))
        kib = int((folder / "memory").read_text())
    return dict(seconds=report["compile_s"], mib=kib / 1024, gap=report["gap"], kernels=report["kernels"])


def line(name, row):
    if "failed" in row:
        return f"{name:40} {row['failed']}"
    return f"{name:40}{row['seconds']:10.1f}{row['mib']:10.0f}{row['gap']:10.2%}{row['kernels']:9}"


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=lambda text: text.split(","), default=list(FLAGS))
    parser.add_argument("--out", type=pathlib.Path, help="instead of bench/results/compiling.json")
    options = models.parsed(parser, words)
    arguments.check_known(parser, "target", options.targets, FLAGS)
    out = options.out or machine.RESULTS / "compiling.json"
    report = machine.report(os.sched_getaffinity(0), targets={})
    print(f"{'target, model':40}{'s':>10}{'MiB':>10}{'gap':>10}{'kernels':>9}", flush=True)
    for target in options.targets:
        rows = report["targets"][target] = {}
        for name, row in machine.rows(options.paths, lambda path, target=target: measure(path, target)):
            rows[name] = row
            print(line(f"{target} {name}", row), flush=True)
            machine.write(report, out)
    print(f"written to {out}")
    return 1 if any("failed" in row for rows in report["targets"].values() for row in rows.values()) else 0


if __name__ == "__main__":
    arguments.run("compiling", lambda: sys.exit(main()))
