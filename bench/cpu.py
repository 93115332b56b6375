"""Times zoo models through Kintsugi, ONNX Runtime and OpenVINO on the same cores, in alternating turns.

usage: cpu.py [MODEL ...] [--rounds N] [--seconds S] [--threads N] [--peers ort,openvino] [--out FILE]

Only one contender runs at a moment. A contender's time is the median over rounds of its median in a round, in
float32 at the model's batch, with the same feeds for all. Prints milliseconds, the ratios of Kintsugi's time to each
peer's, their geometric mean and the worst, and writes them with the machine's description to
bench/results/cpu-DATE.json.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))
os.environ["PYTHONPATH"] = sys.path[0]

import contenders
import models

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
# Beyond this many bytes of weights, peers are loaded anew for each turn instead of sitting in memory together.
LARGE = 1 << 30
# Load for each core, before the first turn, from which on the times say more about other work.
BUSY = 0.5


def said_by(*command):
    """What a command prints, or nothing where it fails or is absent."""
    try:
        return subprocess.run(command, capture_output=True, text=True, cwd=models.ROOT).stdout.strip()
    except OSError:
        return ""


def machine(cores):
    """The machine, what it is busy with, and the software, as far as times depend on them."""
    import importlib.metadata

    processor = [line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if ":" in line]
    facts = {key.strip(): value.strip() for key, value in reversed(processor)}
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return dict(
        processor=facts.get("model name", platform.processor()),
        flags=[flag for flag in facts.get("flags", "").split() if flag.startswith(("avx", "fma", "amx"))],
        cores=sorted(cores),
        memory_gb=round(pages / 1e9, 1),
        load=os.getloadavg()[0],
        kernel=platform.release(),
        commit=said_by("git", "-c", "safe.directory=*", "rev-parse", "HEAD"),
        versions={name: importlib.metadata.version(name) for name in ("onnxruntime", "openvino", "numpy")},
    )


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
            field[peer] = contenders.Worker(peer, model, options.threads, keep)
        try:
            compete(field, row, options)
        finally:
            for contender in field.values():
                contender.close()
    row["ms"] = {name: statistics.median(medians) for name, medians in row["rounds"].items()}
    return row


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
                row["compile_s"][name] = field[name].compile_s
            except (models.Failure, OSError, KeyError, ValueError) as error:
                row["failed"][name] = str(error)
                row["rounds"].pop(name, None)
    if "kintsugi" in row["rounds"]:
        row["report"] = field["kintsugi"].report()


def ratios(rows, peer):
    """Kintsugi's time over a peer's, by model, where both have one."""
    return {
        name: row["ms"]["kintsugi"] / row["ms"][peer]
        for name, row in rows.items()
        if "kintsugi" in row["ms"] and peer in row["ms"]
    }


def summary(rows, peers):
    """Geometric mean and worst ratio against each peer."""
    result = {}
    for peer in peers:
        found = ratios(rows, peer)
        if found:
            worst = max(found, key=found.get)
            mean = math.exp(statistics.fmean(math.log(ratio) for ratio in found.values()))
            result[peer] = dict(models=len(found), geometric_mean=mean, worst=found[worst], worst_model=worst)
    return result


def header(peers):
    columns = "".join(f" {name + ' ms':>12}" for name in ("kintsugi", *peers))
    return f"{'model':32}{columns}" + "".join(f" {'/ ' + peer:>11}" for peer in peers) + f" {'compile s':>9} {'kernels':>7}"


def line(name, row, peers):
    """One model's row of the table; a contender without a time has a dash."""

    def cell(value, width, digits=2):
        return f" {'-':>{width}}" if value is None else f" {value:{width}.{digits}f}"

    ours = row["ms"].get("kintsugi")
    text = f"{name:32}" + "".join(cell(row["ms"].get(who), 12, 3) for who in ("kintsugi", *peers))
    for peer in peers:
        theirs = row["ms"].get(peer)
        text += cell(ours / theirs if ours and theirs else None, 11)
    text += cell(row["compile_s"].get("kintsugi"), 9, 1) + cell(row.get("report", {}).get("kernels"), 7, 0)
    return text + "".join(f"\n    {who}: {why}" for who, why in row["failed"].items())


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1, help="of a contender's turn")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--peers", type=lambda text: text.split(","), default=["ort", "openvino"])
    parser.add_argument("--limit", type=float, default=900, help="seconds that one command may take")
    parser.add_argument("--out", type=pathlib.Path, help="instead of bench/results/cpu-DATE.json")
    options = parser.parse_args(arguments)
    unknown = set(options.peers) - set(contenders.LOADERS)
    if unknown:
        parser.error(f"no peer '{unknown.pop()}'; there are {', '.join(contenders.LOADERS)}")
    try:
        options.paths = models.choose(options.models)
    except KeyError as error:
        parser.error(error.args[0])
    return options


def main(arguments=None):
    options = parse(arguments)
    cores = sorted(os.sched_getaffinity(0))[: options.threads]
    os.sched_setaffinity(0, cores)
    today = datetime.date.today().isoformat()
    out = options.out or RESULTS / f"cpu-{today}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    report = dict(date=today, rounds=options.rounds, seconds=options.seconds, machine=machine(cores), models={})
    if report["machine"]["load"] > BUSY * len(cores):
        print(f"other work keeps this machine busy (load {report['machine']['load']:.1f}): the times mean little")
    print(header(options.peers), flush=True)
    for path in options.paths:
        row = report["models"][path.stem] = measure(path, options)
        print(line(path.stem, row, options.peers), flush=True)
        report["summary"] = summary(report["models"], options.peers)
        out.write_text(json.dumps(report, indent=1) + "\n")
    for peer, found in report["summary"].items():
        print(
            f"against {peer}: geometric mean {found['geometric_mean']:.2f}x over {found['models']} models,"
            f" worst {found['worst']:.2f}x ({found['worst_model']})"
        )
    print(f"written to {out}")
    return 0 if all("kintsugi" in row["ms"] for row in report["models"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
