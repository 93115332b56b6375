"""Times zoo models through Kintsugi, ONNX Runtime, OpenVINO and torch.compile on the same cores, in alternating turns.

usage: cpu.py [MODEL ...] [--rounds N] [--seconds S] [--threads N] [--peers ort,openvino,torch] [--out FILE]

Only one contender runs at a moment. A contender's time is the median over rounds of its median in a round, in
float32 at the model's batch, with the same feeds for all. A ratio of two is the median over rounds of their ratio in the
same round: what slows the machine for some seconds slows both. Each must first give the outputs that ONNX Runtime gives,
within the zoo's error policy; one that does not, or can't run the model, has the reason in its row instead of a time.
Prints milliseconds, the ratios of Kintsugi's time to each peer's and of the best peer's to Kintsugi's, their geometric
means and the worst, and writes them with the machine's description to bench/results/cpu.json.
"""

import argparse
import json
import math
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
import machine
import models
import policy

# Beyond this many bytes of weights, peers are loaded anew for each turn instead of sitting in memory together.
LARGE = 1 << 30
# Not in the means against the best peer: a decoding step takes as long as reading 5 GB of weights, whoever reads them.
APART = {"llama_1b_decode"}
TITLES = {"best_over_kintsugi": "best peer over Kintsugi"}


def measure(path, options):
    """One model's row: milliseconds and compile seconds by contender, Kintsugi's sizes, and why a contender has none."""
    row = dict(ms={}, rounds={}, compile_s={}, failed={})
    with models.workspace(path.stem) as folder:
        model = models.with_weights(path, folder)
        keep = models.external_bytes(path) < LARGE
        field = {}
        try:
            field["kintsugi"] = contenders.Kintsugi(model, folder, options.threads, keep, options.limit)
        except models.Failure as failure:
            row["failed"]["kintsugi"] = str(failure)
        for peer in options.peers:
            field[peer] = contenders.Worker(peer, model, folder, options.threads, keep)
        try:
            admit(field, row, Referee(model, folder, options.threads))
            compete(field, row, options)
        finally:
            for contender in field.values():
                contender.close()
    row["ms"] = {name: statistics.median(medians) for name, medians in row["rounds"].items()}
    return row


class Referee:
    """Says whether a contender computes what ONNX Runtime does."""

    def __init__(self, model, folder, threads):
        outputs = folder / "expected"
        outputs.mkdir()
        reference = contenders.Worker("ort", model, outputs, threads, keep=False)
        reference.start()
        reference.close()
        with np.load(reference.outputs) as found:
            self.expected = dict(found)
        self.depths = policy.depth(onnx.load(model, load_external_data=False))

    def check(self, contender):
        """The largest difference of its outputs. Raises models.Failure where that is too much."""
        with np.load(contender.outputs) as found:
            difference, allowed = policy.worst_output(found, self.expected, self.depths)
        if not difference <= allowed:
            raise models.Failure(f"differs from ONNX Runtime by {difference:.1e}, where {allowed:.1e} is allowed")
        return difference


def admit(field, row, referee):
    """Loads each contender and checks what it computes."""
    row["difference"] = {}
    for name, contender in field.items():
        try:
            contender.start()
            row["compile_s"][name] = contender.compile_s
            row["difference"][name] = referee.check(contender)
            contender.rest()
        except (models.Failure, OSError, KeyError, ValueError) as error:
            row["failed"][name] = str(error)
            contender.end()


def compete(field, row, options):
    """Turns in alternation; who fails drops out. The order is turned around every other round."""
    names = list(field)
    for number in range(options.rounds):
        for name in names if number % 2 == 0 else reversed(names):
            if name in row["failed"]:
                continue
            try:
                runs = field[name].turn(options.seconds)
                row["rounds"].setdefault(name, []).append(statistics.median(runs))
            except (models.Failure, OSError, KeyError, ValueError) as error:
                row["failed"][name] = str(error)
                row["rounds"].pop(name, None)
    if "kintsugi" in row["rounds"]:
        row["report"] = field["kintsugi"].report()


def ratio(row, one, other):
    """The time of one contender over another's, or None where either has none."""
    times = [row.get("rounds", {}).get(who) for who in (one, other)]
    return statistics.median(a / b for a, b in zip(*times)) if all(times) else None


def ratios(rows, peer):
    """Kintsugi's time over a peer's, by model, where both have one."""
    found = {name: ratio(row, "kintsugi", peer) for name, row in rows.items()}
    return {name: each for name, each in found.items() if each}


def lead(row, peers):
    """The time of the best peer that ran over Kintsugi's, or None."""
    return min(filter(None, (ratio(row, peer, "kintsugi") for peer in peers)), default=None)


def geometric(found, worst):
    """Geometric mean and worst of ratios by model."""
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in found.values()))
    model = worst(found, key=found.get)
    return dict(models=len(found), geometric_mean=mean, worst=found[model], worst_model=model)


def summary(rows, peers):
    """Geometric mean and worst ratio against each peer, and of the best peer's time to Kintsugi's."""
    found = {peer: ratios(rows, peer) for peer in peers}
    result = {peer: geometric(by_model, max) for peer, by_model in found.items() if by_model}
    leads = {name: lead(row, peers) for name, row in rows.items() if name not in APART and lead(row, peers)}
    return result | ({"best_over_kintsugi": geometric(leads, min)} if leads else {})


def header(peers):
    columns = "".join(f" {name + ' ms':>12}" for name in ("kintsugi", *peers))
    columns += "".join(f" {'/ ' + peer:>11}" for peer in peers)
    return f"{'model':32}{columns} {'best / ours':>11} {'compile s':>9} {'kernels':>7}"


def line(name, row, peers):
    """One model's row of the table; a contender without a time has a dash."""

    def cell(value, width, digits=2):
        return f" {'-':>{width}}" if value is None else f" {value:{width}.{digits}f}"

    text = f"{name:32}" + "".join(cell(row["ms"].get(who), 12, 3) for who in ("kintsugi", *peers))
    for peer in peers:
        text += cell(ratio(row, "kintsugi", peer), 11)
    text += cell(lead(row, peers), 11)
    text += cell(row["compile_s"].get("kintsugi"), 9, 1) + cell(row.get("report", {}).get("kernels"), 7, 0)
    return text + "".join(f"\n    {who}: {why}" for who, why in row["failed"].items())


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1, help="of a contender's turn")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--peers", type=lambda text: text.split(","), default=contenders.PEERS)
    parser.add_argument("--limit", type=float, default=900, help="seconds that one command may take")
    parser.add_argument("--out", type=pathlib.Path, help="instead of bench/results/cpu.json")
    options = models.parsed(parser, words)
    arguments.check_peers(parser, options)
    return options


def main(words=None):
    options = parse(words)
    cores = arguments.keep_to(options.threads)
    out = options.out or machine.RESULTS / "cpu.json"
    report = machine.report(cores, rounds=options.rounds, seconds=options.seconds, models={})
    print(header(options.peers), flush=True)
    for path in options.paths:
        row = report["models"][path.stem] = measure(path, options)
        print(line(path.stem, row, options.peers), flush=True)
        report["summary"] = summary(report["models"], options.peers)
        machine.write(report, out)
    for name, found in report["summary"].items():
        print(
            f"{TITLES.get(name, 'against ' + name)}: geometric mean {found['geometric_mean']:.2f}x over"
            f" {found['models']} models, worst {found['worst']:.2f}x ({found['worst_model']})"
        )
    print(f"written to {out}")
    return 0 if all("kintsugi" in row["ms"] for row in report["models"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
