"""Times models with an operator that is missing here, run in parts with ONNX Runtime's help, beside ONNX Runtime alone.

usage: fallback.py [MODEL ...] [--places LIST] [--rounds N] [--seconds S] [--threads N] [--limit TIMES] [--out FILE]

Into a zoo model an operator is put that the compiler refuses and ONNX Runtime has (fallback_models.py): at its begin, in its
middle, at its end, and, of --places (begin,middle,end,all), at all three. A session with `fallback="onnxruntime"` and one of
ONNX Runtime's take turns on the same cores, each in a process of its own. Both have to give the same outputs, within the zoo's
error policy. A ratio is the median over rounds of the time with the fallback over ONNX Runtime's in the same round. Prints
milliseconds, ratios and how many parts and nodes there are, and writes them to bench/results/fallback.json. Exits 1 where a
ratio is above --limit (1.1) or a model fails.
"""

import argparse
import os
import pathlib
import statistics
import sys

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))
os.environ["PYTHONPATH"] = sys.path[0]

import arguments
import contenders
import cpu
import fallback_models
import machine
import models
import policy

# Small enough for several copies of their weights, and different in what they are made of.
MODELS = [
    *("bert_base_128", "candy", "dcgan", "efficientnet_b0", "efficientvit_b1", "fsrcnn", "gcn", "lstm_10x100x256", "mlp_mixer_42"),
    *("mmoe", "resnet18", "resnet50", "segformer_b0", "shufflenet_v2", "yolox_nano"),
]
ALL = "all"


def division(path, threads):
    """How the model is divided: parts, and nodes by who runs them. Raises models.Failure where all of them are ours."""
    import kintsugi

    report = kintsugi.InferenceSession(str(path), threads=threads, fallback="onnxruntime").report()
    nodes = {"kintsugi": 0, "onnxruntime": 0}
    for part in report["parts"]:
        nodes[part["runner"]] += len(part["nodes"])
    if not report["not_taken"]:
        raise models.Failure("the compiler takes all of its operators")
    return dict(parts=len(report["parts"]), nodes=nodes)


def check(contender, reference, depths):
    """The largest difference of outputs. Raises models.Failure where that is too much."""
    with np.load(contender.outputs) as found, np.load(reference.outputs) as expected:
        difference, allowed = policy.worst_output(found, expected, depths)
    if not difference <= allowed:
        raise models.Failure(f"differs from ONNX Runtime by {difference:.1e}, where {allowed:.1e} is allowed")
    return difference


def measure(model, depths, folder, options):
    """A row: the division, the difference, each round's milliseconds and the ratio."""
    field = {name: contenders.Worker(name, model, folder, options.threads, keep=True) for name in ("fallback", "ort")}
    row = dict(rounds={name: [] for name in field})
    try:
        for worker in field.values():
            worker.start()
        row["difference"] = check(field["fallback"], field["ort"], depths)
        row |= division(model, options.threads)
        for number in range(options.rounds):
            for name in field if number % 2 == 0 else reversed(field):
                row["rounds"][name].append(statistics.median(field[name].turn(options.seconds)))
    finally:
        for worker in field.values():
            worker.close()
    row["ms"] = {name: statistics.median(times) for name, times in row["rounds"].items()}
    row["ratio"] = cpu.ratio(row, "fallback", "ort")
    return row


def rows(path, options):
    """By place, the row of a model with a missing operator there."""
    with models.workspace(path.stem) as folder:
        os.environ["KINTSUGI_CACHE"] = str(folder / "cache")
        whole = models.with_weights(path, folder)
        for place in options.places:
            try:
                proto = onnx.load(whole, load_external_data=False)
                depths = policy.depth(proto)
                changed = fallback_models.with_missing(proto, fallback_models.PLACES if place == ALL else [place])
                model = folder / f"{path.stem}-{place}.onnx"  # Beside its weights, where it has such.
                onnx.save(changed, model)
                yield place, measure(model, depths, folder, options)
            except models.Failure as failure:
                yield place, dict(failed=str(failure))


def line(name, row):
    if "failed" in row:
        return f"{name:32} {row['failed']}"
    ms, nodes = row["ms"], row["nodes"]
    return (
        f"{name:32} {ms['fallback']:10.3f} {ms['ort']:10.3f} {row['ratio']:7.2f} {row['parts']:6}"
        f" {nodes['kintsugi']:6} {nodes['onnxruntime']:6} {row['difference']:9.1e}"
    )


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = [*fallback_models.PLACES, ALL]
    parser.add_argument("--places", type=lambda text: text.split(","), default=known)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1, help="of a turn")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=1.1, help="what the fallback may take, in times of ONNX Runtime's")
    parser.add_argument("--out", type=pathlib.Path, default=machine.RESULTS / "fallback.json")
    options = models.parsed(parser, words)
    options.paths = options.paths if options.models else models.choose(MODELS)
    arguments.check_known(parser, "place", options.places, known)
    return options


def main(words=None):
    options = parse(words)
    cores = arguments.keep_to(options.threads)
    report = machine.report(cores, rounds=options.rounds, seconds=options.seconds, limit=options.limit, models={})
    print(f"{'model, place':32} {'fallback ms':>11} {'ort ms':>9} {'ratio':>7} {'parts':>6} {'ours':>6} {'theirs':>6} {'difference':>9}")
    for path in options.paths:
        for place, row in rows(path, options):
            report["models"].setdefault(path.stem, {})[place] = row
            print(line(f"{path.stem} {place}", row), flush=True)
            report["summary"] = summary(report["models"])
            machine.write(report, options.out)
    found = report["summary"]
    if found:
        print(f"geometric mean {found['geometric_mean']:.2f}x over {found['models']}, worst {found['worst']:.2f}x ({found['worst_model']})")
    print(f"written to {options.out}")
    each = [row for by_place in report["models"].values() for row in by_place.values()]
    return 1 if any("failed" in row or row["ratio"] > options.limit for row in each) else 0


def summary(rows):
    """Geometric mean and worst of all ratios, {} where there is none."""
    ratios = {f"{name} {place}": row["ratio"] for name, places in rows.items() for place, row in places.items() if "ratio" in row}
    return cpu.geometric(ratios, max) if ratios else {}


if __name__ == "__main__":
    arguments.run("fallback", lambda: sys.exit(main()))
