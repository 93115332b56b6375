"""Times zoo models as the search compiles them and with operators kept whole, in turns: what does fission bring?

usage: fission.py [MODEL ...] [--target cpu|cuda] [--cpu-level v3|v4] [--precision P] [--rounds N] [--seconds S]
                  [--jobs N] [--out FILE]

Without a model: those of Korch (Hu et al. 2024). Each is compiled with made-up weights in four ways: as usual; without
the rules that leave sums of one operator to another, so that kernels alone cross operators' borders (`kernels`); by
`--no-fission`, which keeps these borders; and by `--no-fission --plan greedy`, which fuses such operators step by step.
The kernels come from the same generator. A ratio is the median over rounds of the time without fission over that with
it in the same round: above 1, fission is quicker. On a GPU times are the device's. Prints milliseconds, ratios and their
geometric means, and writes them, with each round's, to bench/results/fission-TARGET.json. Exits 1 where a model fails.
"""

import argparse
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))

import builds
import cpu
import machine
import models

KORCH = ["candy", "efficientvit_b1_2048", "segformer_b0", "yolov4", "yolox_nano"]
WAYS = "fission", "kernels", "whole", "greedy"
RATIOS = [("whole", "fission"), ("greedy", "fission"), ("greedy", "kernels")]


def flags_of_ways(program):
    rules = json.loads(builds.asked(program, "rules", "--json"))
    across = ",".join(rule["name"] for rule in rules if rule.get("across_operators"))
    whole = ["--no-fission"]
    return dict(zip(WAYS, ([], ["--disable", across], whole, [*whole, "--plan", "greedy"])))


def compared(row):
    """With the ratios of a row that has not failed."""
    if "failed" in row:
        return row
    rounds, predicted = row["rounds"], row["predicted_ms"]
    for slow, quick in RATIOS:
        row[f"{slow}_over_{quick}"] = statistics.median(a / b for a, b in zip(rounds[slow], rounds[quick]))
        row[f"predicted_{slow}_over_{quick}"] = predicted[slow] / predicted[quick]
    return row


def summary(rows):
    """Geometric mean and worst of each ratio over the models that have it."""
    keys = [f"{kind}{slow}_over_{quick}" for kind in ("", "predicted_") for slow, quick in RATIOS]
    found = {key: {name: row[key] for name, row in rows.items() if key in row} for key in keys}
    return {key: cpu.geometric(by_model, min) for key, by_model in found.items() if by_model}


def header():
    columns = "".join(f"{way + ' ms':>12}" for way in WAYS)
    columns += "".join(f"{f'{slow} / {quick}':>17}{'predicted':>10}" for slow, quick in RATIOS)
    return f"{'model':24}{columns}"


def line(name, row):
    if "failed" in row:
        return f"{name:24} {row['failed']}"
    cells = "".join(f"{statistics.median(row['rounds'][way]):12.4f}" for way in WAYS)
    for ratio in (f"{slow}_over_{quick}" for slow, quick in RATIOS):
        cells += f"{row[ratio]:17.3f}{row[f'predicted_{ratio}']:10.3f}"
    return f"{name:24}{cells}"


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    builds.add_flags(parser)
    parser.add_argument("--out", type=pathlib.Path, help="instead of bench/results/fission-TARGET.json")
    options = models.parsed(parser, words)
    if not options.models:
        options.paths = models.choose(KORCH)
    return options


def main(words=None):
    options = parse(words)
    program = models.program()
    out = options.out or machine.RESULTS / f"fission-{options.target}.json"
    flags = flags_of_ways(program)
    report = machine.report(target=options.target, precision=options.precision, cpu_level=options.cpu_level,
                            threads=options.threads, rounds=options.rounds, ways=flags, models={})
    print(header(), flush=True)
    for name, row in builds.rows({way: (program, *its) for way, its in flags.items()}, options):
        report["models"][name] = row = compared(row)
        report["summary"] = summary(report["models"])
        machine.write(report, out)
        print(line(name, row), flush=True)
    for key, found in report["summary"].items():
        print(f"{key.replace('_', ' ')}: geometric mean {found['geometric_mean']:.3f} over {found['models']} models,"
              f" worst {found['worst']:.3f} ({found['worst_model']})")
    return 1 if any("failed" in row for row in report["models"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
