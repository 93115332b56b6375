"""Times kernels that memory bounds against a copy of as many bytes, measured in the same run.

usage: bandwidth.py [KERNEL ...] [--mib N] [--rounds N] [--seconds S] [--out FILE]

Each kernel reads a float32 tensor of N MiB (if not said: at least 128, and twice what the last caches hold, so that
memory alone has it) and writes its result, on one core and on all. Its bytes are those it has to read and write at the
least, its bandwidth those over the median time of a run. The copy (limits.c) reads and writes as many bytes on the same
cores, with plain and with non-temporal stores, in every round; its best counts. A kernel that writes next to nothing is
compared as well with the better of two sums over its bytes, which is what cores can read at most. Writes bench/results/bandwidth.json.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))

import arguments
import limits
import machine
import models

COLUMNS = 1024
GROUPS, CHANNELS, PIXELS = 4, 64, 1024


def beyond_caches():
    """MiB that are twice what the last caches hold, in steps of 128."""
    assumed = json.loads(models.kintsugi("doctor", "--json"))["assumed"]
    instances = lambda level: max(1, assumed["cores"] // max(1, level["sharedBy"]))
    last = max((level["bytes"] * instances(level) for level in assumed["levels"][1:]), default=0)
    return 128 * max(1, math.ceil(2 * last / (128 << 20)))


def rows_of(mib):
    """How many rows of COLUMNS floats make so many MiB."""
    return mib * (1 << 20) // (4 * COLUMNS)


def layer_normalization(rows):
    return f"""input x[{rows}, {COLUMNS}] f32
const scale[{COLUMNS}] f32 = weights("scale")
const shift[{COLUMNS}] f32 = weights("shift")
total[i:{rows}] f32 = sum[j:{COLUMNS}] x[i, j]
mean[i:{rows}] f32 = total[i] / {COLUMNS}
apart[i:{rows}, j:{COLUMNS}] f32 = x[i, j] - mean[i]
squares[i:{rows}] f32 = sum[j:{COLUMNS}] apart[i, j] * apart[i, j]
inverse[i:{rows}] f32 = 1 / sqrt(squares[i] / {COLUMNS} + 1e-05)
y[i:{rows}, j:{COLUMNS}] f32 = apart[i, j] * inverse[i] * scale[j] + shift[j]
output y
"""


def softmax(rows):
    return f"""input x[{rows}, {COLUMNS}] f32
most[i:{rows}] f32 = max[j:{COLUMNS}] x[i, j]
power[i:{rows}, j:{COLUMNS}] f32 = exp(x[i, j] - most[i])
total[i:{rows}] f32 = sum[j:{COLUMNS}] power[i, j]
y[i:{rows}, j:{COLUMNS}] f32 = power[i, j] / total[i]
output y
"""


def gelu(rows):
    return f"""input x[{rows}, {COLUMNS}] f32
y[i:{rows}, j:{COLUMNS}] f32 = 0.5 * x[i, j] * (1 + erf(x[i, j] * 0.70710678))
output y
"""


def transpose(rows):
    return f"""input x[{rows}, {COLUMNS}] f32
y[j:{COLUMNS}, i:{rows}] f32 = x[i, j]
output y
"""


def channel_shuffle(rows):
    images = rows * COLUMNS // (CHANNELS * PIXELS)
    each = CHANNELS // GROUPS
    return f"""input x[{images}, {CHANNELS}, {PIXELS}] f32
y[n:{images}, c:{CHANNELS}, p:{PIXELS}] f32 = x[n, {each} * (c % {GROUPS}) + c // {GROUPS}, p]
output y
"""


def concatenation(rows):
    half = COLUMNS // 2
    return f"""input a[{rows}, {half}] f32
input b[{rows}, {half}] f32
y[i:{rows}, j:{COLUMNS}] f32 = cases {{ j < {half}: a[i, j]; else: b[i, j - {half}] }}
output y
"""


def sums_of_rows(rows):
    return f"""input x[{rows}, {COLUMNS}] f32
y[i:{rows}] f32 = sum[j:{COLUMNS}] x[i, j]
output y
"""


def sums_of_columns(rows):
    return f"""input x[{rows}, {COLUMNS}] f32
y[j:{COLUMNS}] f32 = sum[i:{rows}] x[i, j]
output y
"""


# What a kernel writes, as a function of what it reads.
SAME = lambda rows: 4 * rows * COLUMNS
KERNELS = {
    "layer_normalization": (layer_normalization, SAME),
    "softmax": (softmax, SAME),
    "gelu": (gelu, SAME),
    "transpose": (transpose, SAME),
    "channel_shuffle": (channel_shuffle, SAME),
    "concatenation": (concatenation, SAME),
    "sums_of_rows": (sums_of_rows, lambda rows: 4 * rows),
    "sums_of_columns": (sums_of_columns, lambda rows: 4 * COLUMNS),
}


def moved(name, rows):
    """Bytes that a kernel has to read and write."""
    return 4 * rows * COLUMNS + KERNELS[name][1](rows)


def only_reads(name, rows):
    return 100 * KERNELS[name][1](rows) < moved(name, rows)


def measure(folder, options, cores):
    limit, rows = limits.Limits(folder), rows_of(options.mib)
    artifacts = {name: limits.compiled(folder, name, KERNELS[name][0](rows)) for name in options.kernels}
    found = []
    for count in sorted({1, len(cores)}):
        used = cores[:count]
        for name, artifact in artifacts.items():
            copies, reads, times = [], [], []
            for _ in range(options.rounds):
                copies.append(limit.copied(moved(name, rows), used))
                if only_reads(name, rows):
                    reads.append(limit.read(moved(name, rows), used))
                times.append(limits.milliseconds(artifact, used, options.seconds))
            rate = moved(name, rows) / statistics.median(times) * 1e3
            row = dict(cores=count, kernel=name, bytes=moved(name, rows), ms=statistics.median(times), rounds=times)
            row |= dict(gb_per_s=rate / 1e9, copy_gb_per_s=max(copies) / 1e9, share=rate / max(copies))
            if reads:
                row |= dict(read_gb_per_s=max(reads) / 1e9, share_of_reading=rate / max(reads))
            found.append(row)
            print(
                f"{count} of {len(cores)} cores  {name:20} {row['ms']:9.2f} ms {rate / 1e9:7.1f} GB/s,"
                f" copy {max(copies) / 1e9:7.1f} GB/s {rate / max(copies):6.1%}"
                + (f", read {max(reads) / 1e9:7.1f} GB/s {rate / max(reads):6.1%}" if reads else ""),
                flush=True,
            )
    return found


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*", help=", ".join(KERNELS))
    parser.add_argument("--mib", type=int, help="of the tensor that is read; without: what no cache holds")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each timing")
    parser.add_argument("--out", type=pathlib.Path, help="instead of bench/results/bandwidth.json")
    options = parser.parse_args(words)
    arguments.check_known(parser, "kernel", options.kernels, KERNELS)
    options.kernels = options.kernels or list(KERNELS)
    options.mib = options.mib or beyond_caches()
    cores = sorted(os.sched_getaffinity(0))
    out = options.out or machine.RESULTS / "bandwidth.json"
    report = machine.report(cores, mib=options.mib)
    with limits.workshop() as folder:
        report["kernels"] = measure(folder, options, cores)
    machine.write(report, out)
    print(f"written to {out}")


if __name__ == "__main__":
    arguments.run("bandwidth", main)
