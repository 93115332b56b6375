"""Tries architectures of torchvision, timm and transformers: exported by torch, compiled, and compared with torch.

usage: torch_models.py [--families F,..] [--only NAME,..] [--jobs N] [--timeout SECONDS] [--resume] [--out FILE]

Each model of bench/torch_models.txt is made with random weights and run by torch (eager, float32, batch 2); torch's exporter
makes an ONNX file of it, with an open batch and sequence where it leaves them open, which get their sizes again when it is
compiled; `kintsugi compare` judges every output by the error policy. A line for each says which of these it is:

    right      inside the policy (or only by rounding)
    wrong      outside, and ONNX Runtime's answers with the same file are torch's
    exporter   torch does not export it, or what it exports is something else: ONNX Runtime's answers are not torch's, either
    refused    the compiler says that it does not take the model
    failed     something else: a fault, the time, memory
    not made   the library does not make the model, or torch does not run it

and why. They are written to bench/results/torch-models.json after each model, with the commit of each; --resume keeps what
is in there. Exits 1 where a model is wrong or failed.
"""

import argparse
import collections
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))

import arguments
import machine
import models
import torch_attempt

LIST = pathlib.Path(__file__).with_suffix(".txt")
FAMILIES = ("torchvision", "timm", "transformers")
BAD = ("wrong", "failed")
GRACE = 10  # Seconds in which a process that took too long may say where.


def listed():
    """By "library name", what is to be different of its configuration."""
    found = {}
    for line in LIST.read_text().splitlines():
        family, name, *words = line.partition("#")[0].split() or (None, None)
        if family:
            found[f"{family} {name}"] = {key: json.loads(value) for key, value in (word.split("=") for word in words)}
    return found


def tried(title, overrides, seconds):
    """The row of a model, in a process of its own, which may end badly or take too long."""
    start, load = time.monotonic(), os.getloadavg()[0]
    context = multiprocessing.get_context("forkserver")
    with models.workspace(title.replace(" ", "-")) as folder:
        process = context.Process(target=torch_attempt.attempt, args=(*title.split(), overrides, folder, seconds))
        process.start()
        process.join(seconds + GRACE)
        if process.is_alive():
            _end(process)
        row = torch_attempt.row_of(folder)
    if row["verdict"] is None:
        ended = f"its process ended with {process.exitcode}" if process.exitcode != -9 else f"over {seconds:g} s"
        row |= dict(verdict="failed", reason=f"{row['stage']}: {ended}")
    return row | dict(seconds=round(time.monotonic() - start, 1), load=round(load, 1), commit=machine.commit())


def _end(process):
    """With what it started, of which it is the leader once it runs."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
    process.join()


def line(title, row):
    text = f"{row['verdict']:9} {title:48} {row['seconds']:7.1f} s"
    if "max_rel" in row:
        text += f"  {row['max_rel']:.1e} of {row['allowed']:.1e}"
    return text + (f"  {row['reason']}" if row.get("reason") else "")


def summary(rows):
    """How many of each verdict, in all and by library."""
    counts = collections.Counter(row["verdict"] for row in rows.values())
    by_family = {
        family: collections.Counter(row["verdict"] for title, row in rows.items() if title.split()[0] == family)
        for family in FAMILIES
    }
    return dict(models=len(rows), verdicts=counts, families=by_family)


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", type=lambda text: text.split(","), default=list(FAMILIES))
    parser.add_argument("--only", type=lambda text: text.split(","), help="models by name, commas between")
    parser.add_argument("--jobs", type=int, default=1, help="models that are tried at a time")
    parser.add_argument("--timeout", type=float, default=300, help="seconds that a model may take")
    parser.add_argument("--resume", action="store_true", help="keep the rows that the file of results has")
    parser.add_argument("--out", type=pathlib.Path, default=machine.RESULTS / "torch-models.json")
    options = parser.parse_args(words)
    arguments.check_known(parser, "family", options.families, FAMILIES)
    known = listed()
    arguments.check_known(parser, "model", options.only or [], {title.split()[1] for title in known})
    options.titles = {
        title: overrides
        for title, overrides in known.items()
        if title.split()[0] in options.families and (not options.only or title.split()[1] in options.only)
    }
    return options


def main(words=None):
    options = parse(words)
    report = machine.report(models={})
    if options.resume and options.out.exists():
        report["models"] = json.loads(options.out.read_text())["models"]
    rows = report["models"]
    left = {title: overrides for title, overrides in options.titles.items() if title not in rows}
    multiprocessing.get_context("forkserver").set_forkserver_preload(["torch_preloaded"])
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = {pool.submit(tried, title, each, options.timeout): title for title, each in left.items()}
        for future in concurrent.futures.as_completed(futures):
            title = futures[future]
            rows[title] = future.result()
            print(line(title, rows[title]), flush=True)
            report["summary"] = summary(rows)
            machine.write(report, options.out)
    counts = summary(rows)["verdicts"]
    print(f"of {len(rows)} models {', '.join(f'{count} {verdict}' for verdict, count in counts.most_common())}")
    return 1 if any(row["verdict"] in BAD for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
