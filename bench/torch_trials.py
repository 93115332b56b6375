"""Trials of the architectures that bench/torch_models.txt lists, several at a time, each in a process of its own that has its
share of the cores and, where there are several, one of the GPUs. The commands that try them say what a trial is."""

import collections
import concurrent.futures
import contextlib
import json
import logging
import multiprocessing
import os
import pathlib
import queue
import signal
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))

import arguments
import machine
import models
import places

LIST = pathlib.Path(__file__).with_name("torch_models.txt")
FAMILIES = ("torchvision", "timm", "transformers")
BAD = ("wrong", "failed")
GRACE = 10  # Seconds in which a process that took too long may say where.


class Ended(Exception):
    """There is nothing more to find out: a verdict and the reason."""


def listed():
    """By "library name", what is to be different of its configuration."""
    found = {}
    for line in LIST.read_text().splitlines():
        family, name, *words = line.partition("#")[0].split() or (None, None)
        if family:
            found[f"{family} {name}"] = {key: json.loads(value) for key, value in (word.split("=") for word in words)}
    return found


@contextlib.contextmanager
def verdict(name):
    """What goes wrong inside is that."""
    try:
        yield
    except Ended:
        raise
    except Exception as problem:  # The libraries' errors have no class in common.
        raise Ended(name, first_cause(problem)) from None


def first_cause(problem):
    while problem.__cause__ is not None:
        problem = problem.__cause__
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return f"{type(problem).__name__}: {lines[0][:300]}" if lines else type(problem).__name__


def in_process(find, words, place, folder, seconds):
    """The life of a trial's process. It leads a group of those that it starts, and leaves its row in `folder`."""
    os.setsid()
    os.sched_setaffinity(0, place.cores)
    end = time.monotonic() + seconds
    row = dict(verdict=None, stage="start")

    def stage(name):
        row["stage"] = name
        (folder / "row.json").write_text(json.dumps(row))

    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
        try:
            row |= find(*words, place, folder, end, stage)
        except Ended as ended:
            row |= dict(zip(("verdict", "reason"), ended.args))
    stage(row["stage"])


def _tried(find, words, free, seconds):
    """The row of a trial, whose process may end badly or take too long."""
    context = multiprocessing.get_context("forkserver")
    place = free.get()
    start, load = time.monotonic(), os.getloadavg()[0]
    with models.workspace("trial") as folder:
        process = context.Process(target=in_process, args=(find, words, place, folder, seconds))
        process.start()
        process.join(seconds + GRACE)
        if process.is_alive():
            _end(process)
        path = folder / "row.json"
        row = json.loads(path.read_text()) if path.exists() else dict(verdict=None, stage="start")
    free.put(place)
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


def summary(rows):
    """How many of each verdict, in all and by library."""
    counts = collections.Counter(row["verdict"] for row in rows.values())
    by_family = {
        family: collections.Counter(row["verdict"] for title, row in rows.items() if title.split()[0] == family)
        for family in FAMILIES
    }
    return dict(models=len(rows), verdicts=counts, families=by_family)


def parsed(parser, words, out):
    """The command line, with the options that all such commands have; `options.titles` are the models that it names."""
    parser.add_argument("--families", type=lambda text: text.split(","), default=list(FAMILIES))
    parser.add_argument("--only", type=lambda text: text.split(","), help="models by name, commas between")
    parser.add_argument("--jobs", type=int, default=1, help="models that are tried at a time")
    parser.add_argument("--timeout", type=float, default=300, help="seconds that a model may take")
    parser.add_argument("--resume", action="store_true", help="keep the rows that the file of results has")
    parser.add_argument("--out", type=pathlib.Path, default=out and machine.RESULTS / out)
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


def run(options, find, line, summarized=summary, **fields):
    """Tries each model that has no row yet, prints its line and writes the report; `find` is what a trial's process calls.
    The exit code."""
    report = machine.report(**fields, models={})
    if options.resume and options.out.exists():
        report["models"] = json.loads(options.out.read_text())["models"]
    rows = report["models"]
    left = {title: overrides for title, overrides in options.titles.items() if title not in rows}
    free = queue.Queue()
    for place in places.places(options.jobs):
        free.put(place)
    multiprocessing.get_context("forkserver").set_forkserver_preload(["torch_preloaded"])
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = {
            pool.submit(_tried, find, (*title.split(), overrides), free, options.timeout): title
            for title, overrides in left.items()
        }
        for future in concurrent.futures.as_completed(futures):
            title = futures[future]
            rows[title] = future.result()
            print(line(title, rows[title]), flush=True)
            report["summary"] = summarized(rows)
            machine.write(report, options.out)
    counts = summary(rows)["verdicts"]
    print(f"of {len(rows)} models {', '.join(f'{count} {name}' for name, count in counts.most_common())}")
    return 1 if any(row["verdict"] in BAD for row in rows.values()) else 0
