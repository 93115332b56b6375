"""Looks for cliffs: pairs of operators and random models that take Kintsugi over twice the best peer's time.

usage: idioms.py [NAME ...] [--count N] [--random N] [--seed N] [--times T] [--threads N] [--jobs N]
                 [--peers ort,openvino] [--out FILE]

Without names, so many pairs of bench/idiom_models.py are drawn (0: all), and so many random models of those that ./dev
fuzz-models makes, of which those count that take the best peer a millisecond. Contenders take turns in one process, of which
--jobs are at work, each on --threads cores of its own; a ratio is the median over rounds of that in a round. What takes
longer than that many times the best peer's time, differs from ONNX Runtime by more than the policy allows where ONNX's own
reference does not agree with it, or can't be compiled, is a defect: it is listed, the worst first, and the exit code is 1.
Results go to bench/results/idioms.json.
"""

import argparse
import concurrent.futures
import functools
import multiprocessing
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx
import onnx.reference

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "zoo"), str(ROOT / "test")]

import arguments
import contenders
import idiom_models
import machine
import materialize
import models
import places
import policy

ROUNDS, SECONDS = 3, 0.05
LEAST_MS = 1.0  # Of a random model: below, it is the overhead of a run that is compared.
RANDOM = "random:"


def random_model(seed):
    """A model of f32 as large as one that is timed can be, or None where the seed makes none."""
    from fuzz_models import generate

    program = generate.program_of(seed) | {"sizes": list(generate.LARGE)}
    made = generate.make(program)
    if made is None:
        return None
    graph, _ = made
    return graph.model("f32"), graph.feeds("f32")


def made(name):
    """(model, feeds), or None."""
    if name.startswith(RANDOM):
        return random_model(int(name.removeprefix(RANDOM)))
    model = idiom_models.model(name)
    return None if model is None else (model, materialize.inputs(model))


def medians(run):
    """Milliseconds of a turn."""
    time.sleep(contenders.SETTLE)
    return statistics.median(contenders.timed_runs(run, SECONDS))


def is_as_onnx_says(model, feeds, outputs):
    """By ONNX's own reference, which may lack an operator."""
    try:
        said = onnx.reference.ReferenceEvaluator(model).run(None, feeds)
    except Exception:  # Its classes have no base in common.
        return False
    said = {port.name: np.asarray(value) for port, value in zip(model.graph.output, said)}
    difference, allowed = policy.worst_output(outputs, said, policy.depth(model))
    return difference <= allowed


def compare(model, feeds, options):
    """The row of a model: milliseconds by contender, the ratio to the best peer, and what is wrong with it."""
    row = dict(ms={}, failed={})
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
        runs = {}
        for name in ["kintsugi", *options.peers]:
            try:
                runs[name] = contenders.LOADERS[name](path, feeds, options.threads)
                outputs = {o.name: np.asarray(v) for o, v in zip(model.graph.output, runs[name]())}
            except Exception as error:  # A peer's classes have no base in common.
                row["failed"][name] = str(error).strip().splitlines()[0][:300]
                runs.pop(name, None)
                continue
            if name == "kintsugi":
                ours = outputs
            elif name == "ort" and "kintsugi" in runs:
                difference, allowed = policy.worst_output(ours, outputs, policy.depth(model))
                if not difference <= allowed:
                    whose = "ort" if is_as_onnx_says(model, feeds, ours) else "kintsugi"
                    row["failed"][whose] = f"differs by {difference:.1e}, where {allowed:.1e} is allowed"
    turns = {name: [] for name in runs}
    for number in range(ROUNDS):
        for name in list(runs) if number % 2 == 0 else reversed(list(runs)):
            turns[name].append(medians(runs[name]))
    row["ms"] = {name: statistics.median(found) for name, found in turns.items()}
    peers = [turns[name] for name in options.peers if name in turns]
    if peers and "kintsugi" in turns:
        row["times"] = max(statistics.median(a / b for a, b in zip(turns["kintsugi"], peer)) for peer in peers)
    return row


def names_of(options):
    if options.names:
        return options.names
    chance = random.Random(options.seed)
    pairs = list(idiom_models.pairs())
    drawn = pairs if options.count == 0 else chance.sample(pairs, min(options.count, len(pairs)))
    return drawn + [f"{RANDOM}{chance.randrange(1 << 30)}" for _ in range(options.random)]


def is_defect(row, times):
    return "kintsugi" in row["failed"] or row.get("times", 0) > times


def line(name, row):
    text = f"{row.get('times', float('nan')):6.2f}x  {name:40}"
    text += "".join(f"  {who} {ms:.3f} ms" for who, ms in row["ms"].items())
    return text + "".join(f"\n    {who}: {why}" for who, why in row["failed"].items())


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as conv3x3+max-pool, or random:7")
    parser.add_argument("--count", type=int, default=100, help="of pairs; 0: all")
    parser.add_argument("--random", type=int, default=0, help="of random models")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=float, default=2, help="the best peer's time, from which on it is a defect")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--jobs", type=int, default=1, help="models at a time")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=["ort"])
    parser.add_argument("--out", type=pathlib.Path, default=machine.RESULTS / "idioms.json")
    options = parser.parse_args(words)
    arguments.check_peers(parser, options)
    pairs = [name for name in options.names if not name.startswith(RANDOM)]
    arguments.check_known(parser, "pair", pairs, list(idiom_models.pairs()))
    return options


def row_of(options, name):
    """The row of a name, or None where there is nothing to compare."""
    found = made(name)
    if found is None:
        return None
    row = compare(*found, options)
    best = min((ms for who, ms in row["ms"].items() if who != "kintsugi"), default=0)
    is_short = name.startswith(RANDOM) and best < LEAST_MS and "kintsugi" not in row["failed"]
    return None if is_short else row


def settle(free):
    os.sched_setaffinity(0, free.get())


def rows(options):
    """Names and rows, as they come, of processes that each keep to cores of their own."""
    names, measure = names_of(options), functools.partial(row_of, options)
    if options.jobs == 1:
        yield from ((name, measure(name)) for name in names)
        return
    context = multiprocessing.get_context("forkserver")
    free = context.Queue()
    for place in places.places(options.jobs):
        free.put(place.cores)
    with concurrent.futures.ProcessPoolExecutor(options.jobs, context, settle, (free,)) as pool:
        found = {pool.submit(measure, name): name for name in names}
        for future in concurrent.futures.as_completed(found):
            yield found[future], future.result()


def main(words=None):
    options = parse(words)
    cores = arguments.keep_to(options.threads * options.jobs)
    report = machine.report(cores, times=options.times, seed=options.seed, models={})
    for name, row in rows(options):
        if row is None:
            continue
        report["models"][name] = row
        print(line(name, row), flush=True)
        machine.write(report, options.out)
    defects = {name: row for name, row in report["models"].items() if is_defect(row, options.times)}
    print(f"{len(report['models'])} models, {len(defects)} over {options.times:g} times the best peer's time, or wrong")
    for name in sorted(defects, key=lambda name: -defects[name].get("times", float("inf"))):
        print(line(name, defects[name]))
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
