"""Times masked attention on an NVIDIA GPU through Kintsugi and torch's FlexAttention, in alternating turns.

usage: attention.py [MASK ...] [--lengths N ...] [--heads N] [--size N] [--rounds N] [--jobs N] [--alone] [--out FILE]

Masks are those of the zoo's masked encoders: causal, sliding, longformer, bigbird; all of them where none is named. A
model is a chain of attentions, each with what the one before gives as its queries, of f16, one sentence, and one mask;
a time is that of a graph of the chain over its length, so that kernels are compared with kernels and the graph's start
hardly counts. FlexAttention is compiled by torch.compile with a block mask of the same condition, and captured in a
CUDA graph. What both compute in the first attention is compared as well. Needs torch for CUDA, which is not installed
for this. Prints microseconds and the ratio of FlexAttention's to Kintsugi's, and writes them to
bench/results/attention.json.
"""

import argparse
import concurrent.futures
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "zoo"))

import arguments
import gpu
import machine
import models

MASKS = ("causal", "sliding", "longformer", "bigbird")
LENGTHS = (512, 1024, 2048, 4096, 8192)
CHAIN = 8
WINDOW, EVERYWHERE, BLOCK = 128, 32, 64
SEED = 1


def drawn(length):
    """For each block of rows, which blocks of columns bigbird draws: a tenth of them."""
    number, rows = SEED, []
    for _ in range(length // BLOCK):
        row = []
        for _ in range(length // BLOCK):
            number = (1103515245 * number + 12345) % (1 << 31)
            row.append(number >> 16 < 3277)
        rows.append(row)
    return rows


def condition_text(mask):
    """Whether row i sees column j."""
    band = f"i <= j + {WINDOW} and j <= i + {WINDOW}"
    known = f"i < {EVERYWHERE} or j < {EVERYWHERE}"
    return {
        "causal": "j <= i",
        "sliding": f"{band} and j <= i",
        "longformer": f"({band}) or {known}",
        "bigbird": f"({band}) or {known} or drawn[i // {BLOCK}, j // {BLOCK}]",
    }[mask]


def condition(mask, length):
    """The same as FlexAttention asks for it."""
    import torch

    blocks = torch.tensor(drawn(length), device="cuda")
    band = lambda i, j: (i - j <= WINDOW) & (j - i <= WINDOW)
    known = lambda i, j: (i < EVERYWHERE) | (j < EVERYWHERE)
    return {
        "causal": lambda b, h, i, j: j <= i,
        "sliding": lambda b, h, i, j: band(i, j) & (j <= i),
        "longformer": lambda b, h, i, j: band(i, j) | known(i, j),
        "bigbird": lambda b, h, i, j: band(i, j) | known(i, j) | blocks[i // BLOCK, j // BLOCK],
    }[mask]


def model_text(mask, length, options):
    """The chain's last result, and its first one."""
    h, i, j = f"h:{options.heads}", f"i:{length}", f"j:{length}"
    whole = f"[{options.heads}, {length}, {options.size}]"
    text = "".join(f"input {name}{whole} f16\n" for name in ("q", "k", "v"))
    if mask == "bigbird":
        flags = ", ".join("true" if each else "false" for row in drawn(length) for each in row)
        text += f"const drawn[{length // BLOCK}, {length // BLOCK}] bool = [{flags}]\n"
    text += f"g[{i}, {j}] f32 = cases {{ {condition_text(mask)}: 0.0; else: -inf }}\n"
    before = "q"
    for n in range(options.chain):
        text += f"s{n}[{h}, {i}, {j}] f32 = sum<f32>[d:{options.size}] f32({before}[h, i, d]) * f32(k[h, j, d])\n"
        text += f"x{n}[{h}, {i}, {j}] f32 = s{n}[h, i, j] * {options.size ** -0.5} + g[i, j]\n"
        text += f"m{n}[{h}, {i}] f32 = max<f32>[{j}] x{n}[h, i, j]\n"
        text += f"e{n}[{h}, {i}, {j}] f32 = exp(x{n}[h, i, j] - m{n}[h, i])\n"
        text += f"z{n}[{h}, {i}] f32 = sum<f32>[{j}] e{n}[h, i, j]\n"
        text += f"p{n}[{h}, {i}, {j}] f32 = e{n}[h, i, j] / z{n}[h, i]\n"
        text += f"o{n}[{h}, {i}, d:{options.size}] f32 = sum<f32>[{j}] p{n}[h, i, j] * f32(v[h, j, d])\n"
        text += f"y{n}[{h}, {i}, d:{options.size}] f16 = f16(o{n}[h, i, d])\n"
        before = f"y{n}"
    return text + f"output {before}\n"


def compiled(mask, length, options):
    artifact = options.artifacts / f"{mask}_{length}.kin"
    if not artifact.exists():
        source = artifact.with_suffix(".te")
        source.write_text(model_text(mask, length, options))
        models.kintsugi("compile", source, "--target", "cuda", "--precision", "f16", "-o", artifact, "--quiet")
    return artifact


def inputs_of(length, options):
    import numpy

    draw = numpy.random.default_rng(0)
    shape = (options.heads, length, options.size)
    return {name: draw.standard_normal(shape, dtype=numpy.float32).astype(numpy.float16) for name in ("q", "k", "v")}


def flex(mask, length, options):
    """What replays the chain, and what it gives."""
    import torch
    from torch.nn.attention import flex_attention

    torch.set_grad_enabled(False)
    torch.compiler.reset()
    blocks = flex_attention.create_block_mask(condition(mask, length), None, None, length, length)
    attention = torch.compile(flex_attention.flex_attention, dynamic=False)
    q, k, v = (torch.from_numpy(each)[None].cuda() for each in inputs_of(length, options).values())
    kept = []

    def run():
        kept[:] = [q]
        for _ in range(options.chain):
            kept.append(attention(kept[-1], k, v, block_mask=blocks))

        return kept[-1]

    return gpu.Replay(run, [q, k, v]), kept


def difference(artifact, length, options, kept):
    """Kintsugi's result and FlexAttention's, apart by so much of the largest."""
    import numpy

    folder = options.artifacts
    numpy.savez(folder / "in.npz", **inputs_of(length, options))
    models.kintsugi("run", artifact, "--inputs", folder / "in.npz", "--outputs", folder / "out.npz", "--quiet")
    theirs = kept[-1][0].float().cpu().numpy()
    with numpy.load(folder / "out.npz") as file:
        ours = file[file.files[0]].astype(numpy.float32)
    return float(abs(ours - theirs).max() / abs(theirs).max())


def compete(mask, length, artifact, options):
    replay, kept = (None, None) if options.alone else flex(mask, length, options)
    found = gpu.rounds(artifact, replay, "flex", options)
    rounds = {who: [ms / options.chain * 1e3 for ms in times] for who, times in found}
    row = {who: round(statistics.median(times), 2) for who, times in rounds.items()} | dict(rounds=rounds)
    if not options.alone:
        row["lead"] = round(row["flex"] / row["kintsugi"], 3)
        row["difference"] = difference(artifact, length, options, kept)
    return row


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("masks", nargs="*", metavar="MASK", help=", ".join(MASKS))
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--size", type=int, default=64, help="of a head")
    parser.add_argument("--chain", type=int, default=CHAIN)
    gpu.add_turns(parser, seconds=0.15, jobs=4)
    parser.add_argument("--artifacts", type=pathlib.Path, help="a folder in which those that are there are taken")
    parser.add_argument("--out", type=pathlib.Path, help="instead of bench/results/attention.json")
    options = parser.parse_args(words)
    arguments.check_known(parser, "mask", options.masks, MASKS)
    options.masks = options.masks or MASKS
    return options


def main(words=None):
    options = parse(words)
    out = options.out or machine.RESULTS / "attention.json"
    report = machine.report(heads=options.heads, size=options.size, chain=options.chain, us={})
    with models.workspace("attention") as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        options.artifacts = options.artifacts or folder
        cases = [(mask, length) for mask in options.masks for length in options.lengths]
        ready = [pool.submit(compiled, *case, options) for case in cases]
        concurrent.futures.wait(ready)
        print(f"{'mask':12}{'length':>7}{'kintsugi':>10}{'flex':>10}{'lead':>7}{'difference':>12}", flush=True)
        for (mask, length), artifact in zip(cases, ready):
            row = report["us"][f"{mask}_{length}"] = compete(mask, length, artifact.result(), options)
            cells = [f"{row['kintsugi']:10.2f}", f"{row.get('flex', 0):10.2f}", f"{row.get('lead', 0):7.2f}"]
            print(f"{mask:12}{length:7}{''.join(cells)}{row.get('difference', 0):12.1e}", flush=True)
            machine.write(report, out)
    print(f"written to {out}")


if __name__ == "__main__":
    arguments.run("attention", main)
