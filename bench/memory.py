"""Measures how much memory a model takes while it runs, through Kintsugi and its peers.

usage: memory.py [MODEL ...] [--runs N] [--threads N] [--peers ort] [--out FILE]

Each contender loads and runs a model in a process of its own, one at a time: Kintsugi an artifact that was compiled
before, a peer the model itself. Taken are what is resident before loading, with the library and what the measurement
needs imported and the feeds made, and two peaks of resident memory (VmHWM): while loading, the first run included, and
during further runs, the peak set back before them. Resident memory includes the pages of mapped files that are in
memory, weights that are mapped in place among them. A contender's need is what a peak exceeds the first by. Prints MiB
and the ratios of Kintsugi's needs to each peer's, and writes them to bench/results/memory.json.
"""

import argparse
import importlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))
os.environ["PYTHONPATH"] = sys.path[0]

import arguments
import contenders
import machine
import models

LIBRARIES = {"kintsugi": "kintsugi", "ort": "onnxruntime", "openvino": "openvino", "torch": "torch"}
MIB = 1 << 20


def peak():
    """The largest resident memory of this process so far, in bytes."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no VmHWM")


def set_peak_back():
    """To what is resident now; see proc(5) on clear_refs."""
    pathlib.Path("/proc/self/clear_refs").write_text("5")


def take(name, path, loads, threads, runs):
    """In a process of its own: what is resident before loading and the peaks after, printed."""
    importlib.import_module(LIBRARIES[name])
    feeds = contenders.feeds_of(path)
    set_peak_back()
    found = dict(before=peak())
    run = contenders.LOADERS[name](loads, feeds, threads)
    run()
    found["loading"] = peak()
    set_peak_back()
    for _ in range(runs):
        run()
    found["running"] = peak()
    print("ANSWER " + json.dumps(found), flush=True)


def measure(name, path, loads, options):
    """What take() found of a contender. Raises models.Failure."""
    command = [sys.executable, __file__, "--take", name, path, loads, options.threads, options.runs]
    try:
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=options.limit)
    except subprocess.TimeoutExpired:
        raise models.Failure(f"over {options.limit} s") from None
    for line in done.stdout.splitlines():
        if line.startswith("ANSWER "):
            return json.loads(line[7:])
    said = done.stderr.strip().splitlines()
    raise models.Failure(said[-1] if said else "ended without a word")


def needs(peaks):
    """What loading and running take beyond the empty process, and the whole process."""
    return dict(
        load=max(0, peaks["loading"] - peaks["before"]),
        run=max(0, peaks["running"] - peaks["before"]),
        process=max(peaks["loading"], peaks["running"]),
    )


def row_of(path, options):
    row = dict(peaks={}, needs={}, failed={})
    with models.workspace(path.stem) as folder:
        model, artifact = models.with_weights(path, folder), folder / "model.kin"
        for name in ("kintsugi", *options.peers):
            try:
                if name == "kintsugi":
                    models.kintsugi("compile", model, "-o", artifact, "--quiet", timeout=options.limit)
                row["peaks"][name] = measure(name, model, artifact if name == "kintsugi" else model, options)
                row["needs"][name] = needs(row["peaks"][name])
            except models.Failure as failure:
                row["failed"][name] = str(failure)
        if artifact.exists():
            row["artifact_bytes"] = artifact.stat().st_size
    return row


def summary(rows, peers):
    """Geometric mean and worst of Kintsugi's needs over each peer's."""
    result = {}
    for peer in peers:
        for what in ("load", "run", "process"):
            found = {
                name: row["needs"]["kintsugi"][what] / row["needs"][peer][what]
                for name, row in rows.items()
                if all(row["needs"].get(who, {}).get(what) for who in ("kintsugi", peer))
            }
            if found:
                worst = max(found, key=found.get)
                mean = math.exp(statistics.fmean(map(math.log, found.values())))
                entry = dict(models=len(found), geometric_mean=mean, worst=found[worst], worst_model=worst)
                result.setdefault(peer, {})[what] = entry
    return result


def header(peers):
    who = ("kintsugi", *peers)
    return f"{'model':32}" + "".join(f" {name + ' ' + what:>17}" for what in ("load", "run", "process") for name in who)


def line(name, row, peers):
    text = f"{name:32}"
    for what in ("load", "run", "process"):
        for who in ("kintsugi", *peers):
            found = row["needs"].get(who)
            text += f" {found[what] / MIB:17.2f}" if found else f" {'-':>17}"
    return text + "".join(f"\n    {who}: {why}" for who, why in row["failed"].items())


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--peers", type=lambda text: text.split(","), default=["ort"])
    parser.add_argument("--limit", type=float, default=900, help="seconds that one process may take")
    parser.add_argument("--out", type=pathlib.Path, help="instead of bench/results/memory.json")
    options = models.parsed(parser, words)
    arguments.check_peers(parser, options)
    return options


def main(words=None):
    options = parse(words)
    out = options.out or machine.RESULTS / "memory.json"
    cores = sorted(os.sched_getaffinity(0))[: options.threads]
    report = machine.report(cores, runs=options.runs, models={})
    print("MiB beyond the empty process while loading and while running, and of the whole process")
    print(header(options.peers), flush=True)
    for path in options.paths:
        row = report["models"][path.stem] = row_of(path, options)
        print(line(path.stem, row, options.peers), flush=True)
        report["summary"] = summary(report["models"], options.peers)
        machine.write(report, out)
    for peer, found in report["summary"].items():
        for what, entry in found.items():
            print(
                f"{what} against {peer}: geometric mean {entry['geometric_mean']:.2f}x over {entry['models']} models,"
                f" worst {entry['worst']:.2f}x ({entry['worst_model']})"
            )
    print(f"written to {out}")
    return 0 if not any(row["failed"] for row in report["models"].values()) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--take"]:
        take(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), int(sys.argv[6]))
    else:
        sys.exit(main())
