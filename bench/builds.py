"""Times zoo models through two builds of Kintsugi on the same machine, in alternating turns: has a change cost speed?

usage: builds.py BEFORE [MODEL ...] [--target cpu|cuda] [--cpu-level v3|v4] [--precision P] [--rounds N] [--seconds S]
                 [--jobs N] [--limit RATIO] [--out FILE]

BEFORE is another `kintsugi` program; the one that `./dev build` makes is compared with it. Each compiles the models by
itself with made-up weights, --jobs of them at a time (1). When all are there, `kintsugi bench` of each times a copy of
its own artifact, the order turned around every other round; until then the artifacts of all models lie in .cache/zoo.
A model's ratio is the median over rounds of this build's time over BEFORE's in the same round; on a GPU times are the
device's. Prints milliseconds, ratios, their geometric mean and the worst, and exits 1 where a ratio is above --limit
(1.03) or a model fails. Writes a file of all figures with --out.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))

import cpu
import machine
import models

NAMES = "before", "now"


def asked(program, *words):
    """What a build prints. Raises models.Failure."""
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise models.Failure(f"{program}: exit {done.returncode}: {said}")
    return done.stdout


def flags_of(options):
    level = ["--cpu-level", options.cpu_level] if options.target == "cpu" else []
    return ["--target", options.target, "--precision", options.precision, *level]


def compiled(path, commands, options, folder):
    """Artifacts by name, each made in the folder by a program with flags of its own."""
    artifacts = {}
    for name, (program, *flags) in commands.items():
        artifacts[name] = folder / f"{path.stem}-{name}.kin"
        words = "compile", path, *flags_of(options), *flags, "--random-weights", "-o", artifacts[name], "--quiet"
        asked(program, *words)
    return artifacts


def compete(artifacts, commands, options):
    """By name, milliseconds of each round and the predicted time of artifacts, which take turns, in the other order
    every other round. Each turn has a copy of its own: constants are mapped, and which pages of memory a file has
    makes up to six hundredths of a run's time, the same in all runs of one file."""
    rounds, predicted = {name: [] for name in commands}, {}
    for number in range(options.rounds):
        for name in commands if number % 2 == 0 else reversed(commands):
            copy = shutil.copy(artifacts[name], artifacts[name].with_suffix(".turn.kin"))
            words = "bench", copy, "--threads", options.threads, "--seconds", options.seconds
            report = json.loads(asked(commands[name][0], *words, "--json", "-"))
            os.remove(copy)
            rounds[name].append(report.get("device_ms") or report["median_ms"])
            predicted[name] = report["predicted_ms"]
    return dict(rounds=rounds, predicted_ms=predicted)


def rows(commands, options):
    """Model by model, its name and row: what `compete` finds, or why it failed. Nothing is timed before all models are
    compiled."""
    with models.workspace("builds") as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        made = {path: pool.submit(compiled, path, commands, options, folder) for path in options.paths}
        concurrent.futures.wait(made.values())
        for path, artifacts in made.items():
            try:
                yield path.stem, compete(artifacts.result(), commands, options)
            except models.Failure as failure:
                yield path.stem, dict(failed=str(failure))


def compared(row):
    """With the ratio of a row that has not failed."""
    if "failed" in row:
        return row
    return row | dict(ratio=statistics.median(now / before for before, now in zip(*map(row["rounds"].get, NAMES))))


def line(name, row):
    if "failed" in row:
        return f"{name:32} {row['failed']}"
    cells = [f"{statistics.median(row['rounds'][who]):10.4f}" for who in NAMES]
    predicted = row["predicted_ms"]["now"] / row["predicted_ms"]["before"]
    return f"{name:32}{''.join(cells)} {row['ratio']:8.3f} {predicted:10.3f}"


def add_flags(parser):
    """Of how models are compiled and timed."""
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--cpu-level", default="native", choices=["v3", "v4", "native"])
    parser.add_argument("--precision", default="f32", choices=["f32", "f16", "bf16"])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1, help="of a turn")
    parser.add_argument("--jobs", type=int, default=1, help="models that are compiled at a time")


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=pathlib.Path)
    add_flags(parser)
    parser.add_argument("--limit", type=float, default=1.03, help="the greatest ratio that is no error")
    parser.add_argument("--out", type=pathlib.Path, help="a file of all figures")
    return models.parsed(parser, words)


def main(words=None):
    options = parse(words)
    now = models.program()
    programs = dict(zip(NAMES, (options.before, now)))
    report = machine.report(rounds=options.rounds, models={})
    print(f"{'model':32}{'before ms':>10}{'now ms':>10} {'ratio':>8} {'predicted':>10}", flush=True)
    for name, row in rows({name: (program,) for name, program in programs.items()}, options):
        report["models"][name] = row = compared(row)
        print(line(name, row), flush=True)
        if options.out:
            machine.write(report, options.out)
    ratios = {name: row["ratio"] for name, row in report["models"].items() if "ratio" in row}
    if ratios:
        found = cpu.geometric(ratios, max)
        print(f"now / before: geometric mean {found['geometric_mean']:.3f} over {found['models']} models,"
              f" worst {found['worst']:.3f} ({found['worst_model']})")
    return 0 if len(ratios) == len(options.paths) and all(each <= options.limit for each in ratios.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
