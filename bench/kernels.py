"""Times single kernels on an NVIDIA GPU: products beside cuBLAS, and what memory bounds beside a copy, through torch.

usage: kernels.py [moves|products ...] [--mib N] [--rounds N] [--jobs N] [--alone] [--out FILE]

A model is several times the same kernel over different tensors, launches of their own; a time is that of a graph of
them over their number, so that kernels are compared with kernels and the graph's start hardly counts. torch's side is
as many `copy_` or `matmul` calls over as many tensors, captured in a CUDA graph; turns alternate. On both sides inputs
come from the host before each run and outputs go to it afterwards, so that the device rests alike.

moves: the kernels of bandwidth.py over tensors of N MiB (256), in f32 and in f16 (computed in f32, rounded once). The
share is the rate of the bytes that a kernel has to move over the rate of the copy.
products: 4096 and 8192 cubed in bf16, and small ones in f16, whose second factor is a constant; rows of terms in both.

Needs torch for CUDA, which is not installed for this. Writes bench/results/kernels-KIND.json.
"""

import argparse
import concurrent.futures
import math
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "zoo"))

import arguments
import bandwidth
import gpu
import machine
import models

KINDS = ("moves", "products")
MOVES_AT_ONCE = 2
LARGE = [(4096, 4096, 4096), (8192, 8192, 8192)]
SMALL = [
    (128, 768, 768),
    (128, 2304, 768),
    (128, 3072, 768),
    (128, 768, 3072),
    (384, 768, 768),
    (384, 3072, 768),
    (384, 768, 3072),
    (64, 2048, 512),
]
LARGE_AT_ONCE, SMALL_AT_ONCE = 2, 20


def repeated(text, times):
    """A model of one output, several times: each name but those of iterators gets a number."""
    names = re.findall(r"^(?:input |const )?([a-z]\w*)\[", text, re.M)
    result = ""
    for number in range(times):
        one = text
        for name in names:
            one = re.sub(rf"\b{name}\b(?=\[|\n|$|\"\))", f"{name}_{number}", one)
        result += one
    return result


def in_half(text):
    """The same kernel over f16: what is read is widened, what is written is rounded; sums stay wide."""
    inputs = re.findall(r"^input (\w+)\[", text, re.M)
    lines = []
    for line in text.splitlines():
        if line.startswith("input"):
            line = line.replace("f32", "f16")
        elif "=" in line and not line.startswith("const"):
            head, body = line.split(" = ", 1)
            moves = body.startswith("cases")
            for name in inputs:
                body = body if moves else re.sub(rf"\b({name}\[[^\]]*\])", r"f32(\1)", body)
            if head.startswith("y[") and not body.startswith("sum"):
                head, body = head.replace("f32", "f16"), body if moves else f"f16({body})"
            line = f"{head} = {body}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def move_cases(options):
    """Of each kernel: name, text, how many, bytes that one has to move."""
    rows = bandwidth.rows_of(options.mib)
    for name, (text, _) in bandwidth.KERNELS.items():
        yield f"{name} f32", repeated(text(rows), MOVES_AT_ONCE), MOVES_AT_ONCE, bandwidth.moved(name, rows)
    for name, (text, _) in bandwidth.KERNELS.items():
        half = in_half(text(2 * rows))
        yield f"{name} f16", repeated(half, MOVES_AT_ONCE), MOVES_AT_ONCE, bandwidth.moved(name, 2 * rows) // 2


def product_text(rows, columns, depth, kind):
    # There are no weights at random in bf16.
    shape = f"w[{columns}, {depth}] {kind}"
    second = f'const {shape} = weights("w")' if kind == "f16" else f"input {shape}"
    return (
        f"input a[{rows}, {depth}] {kind}\n{second}\n"
        f"s[i:{rows}, j:{columns}] f32 = sum<f32>[k:{depth}] f32(a[i, k]) * f32(w[j, k])\n"
        f"y[i:{rows}, j:{columns}] {kind} = {kind}(s[i, j])\noutput y\n"
    )


def product_cases():
    for shapes, kind, times in ((LARGE, "bf16", LARGE_AT_ONCE), (SMALL, "f16", SMALL_AT_ONCE)):
        for shape in shapes:
            name = " x ".join(map(str, shape)) + f" {kind}"
            yield name, repeated(product_text(*shape, kind), times), times, shape, kind


def compiled(folder, name, text):
    source = folder / (re.sub(r"\W+", "_", name) + ".te")
    artifact = source.with_suffix(".kin")
    if not artifact.exists():
        source.write_text(text)
        flags = ("--random-weights", "--target", "cuda", "--disable", "launch-merging", "--quiet")
        models.kintsugi("compile", source, *flags, "-o", artifact)
    return artifact


def copies(size):
    import torch

    zeros = lambda: torch.zeros(size // 8, dtype=torch.float32, device="cuda")
    pairs = [(zeros(), zeros()) for _ in range(MOVES_AT_ONCE)]
    return gpu.Replay(lambda: [there.copy_(here) for here, there in pairs], [here for here, _ in pairs])


def products(shape, kind, times):
    import torch

    rows, columns, depth = shape
    dtype = gpu.torch_type(kind)
    make = lambda *extents: torch.randn(extents, device="cuda").to(dtype)
    factors = [(make(rows, depth), make(columns, depth).t()) for _ in range(times)]
    fed = [each for a, b in factors for each in ((a, b) if kind == "bf16" else (a,))]
    return gpu.Replay(lambda: [a @ b for a, b in factors], fed)


def compete(artifact, replay, times, options):
    """Microseconds of one kernel, of both: the median over rounds, and each round's."""
    rounds = {who: [ms / times * 1e3 for ms in found] for who, found in gpu.rounds(artifact, replay, "torch", options)}
    return {who: round(statistics.median(found), 2) for who, found in rounds.items()} | dict(rounds=rounds)


def measure_moves(pool, options):
    cases = list(move_cases(options))
    ready = [pool.submit(compiled, options.artifacts, name, text) for name, text, _, _ in cases]
    concurrent.futures.wait(ready)
    largest = max(size for _, _, _, size in cases)
    replay = None if options.alone else copies(largest)
    rows = {}
    for (name, _, times, size), artifact in zip(cases, ready):
        row = rows[name] = compete(artifact.result(), replay, times, options)
        row["gb_per_s"] = round(size / row["kintsugi"] / 1e3)
        if replay:
            row["share"] = round(size / row["kintsugi"] / (largest / row["torch"]), 3)
        rate = f"{row['kintsugi']:9.2f} us{row['gb_per_s']:7} GB/s"
        print(f"{name:32}{rate}, of a copy {row.get('share', 0):.1%}", flush=True)
    return rows


def measure_products(pool, options):
    cases = list(product_cases())
    ready = [pool.submit(compiled, options.artifacts, name, text) for name, text, _, _, _ in cases]
    concurrent.futures.wait(ready)
    rows, leads = {}, []
    for (name, _, times, shape, kind), artifact in zip(cases, ready):
        replay = None if options.alone else products(shape, kind, times)
        row = rows[name] = compete(artifact.result(), replay, times, options)
        row["tflops"] = round(2 * math.prod(shape) / row["kintsugi"] / 1e6, 1)
        if replay:
            row["lead"] = round(row["torch"] / row["kintsugi"], 3)
            leads += [row["lead"]] if shape in SMALL else []
        rate = f"{row['kintsugi']:9.2f} us{row['tflops']:7} TFLOP/s"
        print(f"{name:32}{rate}, cuBLAS's time / ours {row.get('lead', 0):.3f}", flush=True)
    if leads:
        rows["small ones, geometric mean"] = dict(lead=round(statistics.geometric_mean(leads), 3))
        print(f"small ones, geometric mean {statistics.geometric_mean(leads):.3f}", flush=True)
    return rows


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--mib", type=int, default=256, help="of the tensor that a move reads")
    gpu.add_turns(parser, seconds=0.1, jobs=4)
    parser.add_argument("--artifacts", type=pathlib.Path, help="a folder in which those that are there are taken")
    parser.add_argument("--out", type=pathlib.Path, help="instead of bench/results/kernels-KIND.json")
    options = parser.parse_args(words)
    arguments.check_known(parser, "kind", options.kinds, KINDS)
    options.kinds = options.kinds or KINDS
    return options


def main(words=None):
    options = parse(words)
    report = machine.report(mib=options.mib)
    measures = dict(moves=measure_moves, products=measure_products)
    with models.workspace("kernels") as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        options.artifacts = options.artifacts or folder
        for kind in options.kinds:
            out = options.out or machine.RESULTS / f"kernels-{kind}.json"
            machine.write(report | {kind: measures[kind](pool, options)}, out)
            print(f"written to {out}")


if __name__ == "__main__":
    arguments.run("kernels", main)
