"""Runs architectures of torchvision, timm and transformers by torch.compile: with this backend and with torch's own, inductor.

usage: torch_compile.py [--device cpu|cuda] [--precision f16|bf16|f32] [--families F,..] [--only NAME,..] [--jobs N]
                        [--timeout SECONDS] [--seconds S] [--batch N] [--without-inductor] [--resume] [--out FILE]

Each model of bench/torch_models.txt is made with random weights and given to torch.compile(backend="kintsugi") and to inductor,
by itself and in mode reduce-overhead, which keeps a CUDA graph. They take turns on the same tensors, which stay on the device:
a time is the least over rounds of the median of calls from Python, each until its results are there, and inductor's is that of
the quicker form. One model is timed on a GPU at a moment. The reference is torch, eager, in float64. A line for each says:

    right      inside the policy, all graphs compiled
    in parts   inside the policy, some operators or graphs by torch
    torch      nothing is compiled
    wrong      outside the policy
    failed     something else: a fault, the time, memory
    not made   the library does not make the model, or torch does not run it on the device in this precision

The policy is docs/precision.md's for one output, with the terms of weights' sums as those of a path: an error is inside its
limit, or inside of what it allows for rounding, which torch's own eager run in the precision stands for.
Written to bench/results/torch-compile-PRECISION.json after each model. Exits 1 where a model is wrong or failed.
"""

import argparse
import functools
import statistics
import sys

import torch_trials

import machine
import torch_compile_attempt


def summary(rows):
    """Of what is right, the geometric mean of inductor's time over Kintsugi's, beside the counts."""
    found = torch_trials.summary(rows)
    ratios = {title: row["ratio"] for title, row in rows.items() if row["verdict"] in INSIDE and row.get("ratio")}
    if ratios:
        worst = min(ratios, key=ratios.get)
        mean = statistics.geometric_mean(ratios.values())
        found["inductor_over_kintsugi"] = dict(models=len(ratios), geometric_mean=mean, worst=ratios[worst], worst_model=worst)
    return found


INSIDE = ("right", "in parts", "torch")


def line(title, row):
    text = f"{row['verdict']:9} {title:48} {row['seconds']:7.1f} s"
    if "error" in row:
        text += f"  {row['error']:.1e} of {row['allowed']:.1e}"
    for name, time in row.get("milliseconds", {}).items():
        text += f"  {name} {time:.3f}"
    return text + (f"  {row['reason']}" if row.get("reason") else "")


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--precision", choices=["f16", "bf16", "f32"], default="f16")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.2, help="of a turn")
    parser.add_argument("--without-inductor", action="store_true", help="only answers")
    options = torch_trials.parsed(parser, words, None)
    options.out = options.out or machine.RESULTS / f"torch-compile-{options.precision}.json"
    peers = () if options.without_inductor else torch_compile_attempt.FORMS[options.device]
    find = functools.partial(torch_compile_attempt.found, options.device, options.precision, options.seconds, options.batch, peers)
    fields = dict(device=options.device, precision=options.precision, batch=options.batch, turn_seconds=options.seconds)
    return torch_trials.run(options, find, line, summary, **fields)


if __name__ == "__main__":
    sys.exit(main())
