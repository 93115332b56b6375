"""Times matrix products against the peak of the cores' multiply-add units, measured in the same run.

usage: products.py [--sizes 512,768,...] [--rounds N] [--seconds S] [--out FILE]

C = A * B of N x N matrices in float32, B a weight (packed when the model is compiled) or an input (as it comes), on one
core and on all. The peak is that of independent multiply-adds in registers on the same cores at once (limits.c). It is
taken right before and right after each timing of a product, since clocks vary; the greater counts for that timing. Of a
product the medians over rounds count, of its milliseconds and of its shares. Writes bench/results/products.json.
"""

import argparse
import os
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))

import arguments
import limits
import machine
import models

SIZES = [512, 768, 1024, 1536, 2048]
KINDS = {"weight": 'const b[{n}, {n}] f32 = weights("b")', "input": "input b[{n}, {n}] f32"}


def text(n, kind):
    return (
        f"input a[{n}, {n}] f32\n{KINDS[kind].format(n=n)}\n"
        f"c[i:{n}, j:{n}] f32 = sum[k:{n}] a[i, k] * b[k, j]\noutput c\n"
    )


def measure(folder, sizes, cores, options):
    """By number of cores: the greatest peak, and each product's milliseconds and share."""
    limit = limits.Limits(folder)
    artifacts = {(n, kind): limits.compiled(folder, f"{kind}{n}", text(n, kind)) for n in sizes for kind in KINDS}
    counts = sorted({1, len(cores)})
    peaks = {count: [] for count in counts}
    found = {(count, product): [] for count in counts for product in artifacts}
    for _ in range(options.rounds):
        for count in counts:
            used = cores[:count]
            before = limit.flops(used)
            for (n, kind), artifact in artifacts.items():
                ms = limits.milliseconds(artifact, used, options.seconds)
                after = limit.flops(used)
                found[count, (n, kind)].append((ms, 2 * n**3 / ms * 1e3 / max(before, after)))
                peaks[count] += [before, after]
                before = after
    rows = []
    for (count, (n, kind)), timings in found.items():
        rounds, shares = zip(*timings)
        ms = statistics.median(rounds)
        share = statistics.median(shares)
        rows.append(dict(cores=count, n=n, b=kind, ms=ms, rounds=rounds, gflops=2 * n**3 / ms / 1e6, share=share))
    return {count: max(several) / 1e9 for count, several in peaks.items()}, rows


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=lambda given: [int(n) for n in given.split(",")], default=SIZES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each timing")
    parser.add_argument("--out", type=pathlib.Path, help="instead of bench/results/products.json")
    options = parser.parse_args(words)
    cores = sorted(os.sched_getaffinity(0))
    out = options.out or machine.RESULTS / "products.json"
    report = machine.report(cores)
    with limits.workshop() as folder:
        report["peak_gflops"], report["products"] = measure(folder, options.sizes, cores, options)
    for count, peak in report["peak_gflops"].items():
        print(f"{count} of {len(cores)} cores: peak {peak:.0f} GFLOP/s")
        for row in report["products"]:
            if row["cores"] == count:
                print(f"  {row['n']:5}^3  B {row['b']:7} {row['ms']:9.3f} ms {row['gflops']:8.1f} GFLOP/s {row['share']:6.1%}")
    machine.write(report, out)
    print(f"written to {out}")


if __name__ == "__main__":
    arguments.run("products", main)
