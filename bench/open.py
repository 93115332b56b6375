"""Times artifacts of ranges of sizes against those of one size: what does an open dimension cost?

usage: open.py [MODEL ...] [--lengths | --pairs] [--high N] [--sizes LIST] [--target cpu|cuda] [--precision f32|f16|bf16] [--rounds N]
               [--seconds S] [--threads N] [--jobs N] [--limit TIMES] [--keep FOLDER] [--out FILE]

The batch of a zoo model, the first dimension of its inputs where that is 1, is made open, and compiled with made-up weights
once for batches from 1 to --high (16), and once for each of --sizes (1,2,3,5,8,12,16). With --lengths it is the length of a
sequence of tokens, to 512 and at 1,7,32,77,128,300,511; with --pairs both are open, batches to 16 and lengths to 128, and sizes
are pairs such as 3x77. Both artifacts run on the same inputs, in turns; a ratio is the least over rounds of one to that of the
other, of a GPU its own time; of --jobs models at a time each has its share of the cores, and a GPU times one of them at a
moment. With --keep artifacts stay in a folder, and are taken from there where the same program
made them of the same model: with --rounds 0 they are only made, on a busy machine, to be timed on a quiet one. Models whose
batch is a number inside of them, in constants of another form than a Reshape's leading number or a Resize's sizes, can't be
opened and are listed so, and so are those without tokens where their length is asked for. Outputs of both are compared: a
model fails where they differ by more than rounding allows.
Prints milliseconds and ratios, and writes them to bench/results/open.json (open-lengths.json, open-pairs.json; -cuda). Exits 1 where an open
dimension takes more than --limit times (1.15) as long as the exact artifact, or a model fails.
"""

import argparse
import contextlib
import functools
import hashlib
import json
import os
import pathlib
import sys

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))

import arguments
import machine
import models
import open_models
import places
import policy
from open_models import LENGTH, NAME

BATCHES, LENGTHS = [1, 2, 3, 5, 8, 12, 16], [1, 7, 32, 77, 128, 300, 511]
PAIRS, MOST_SENTENCES = ["1x60", "2x20", "3x77", "5x100", "8x20", "11x70", "16x1", "16x128"], 16
AS_FAR = 1.5  # From an answer, at most, of what the exact artifact is.


def sizes_of(size):
    """By the names of the open dimensions."""
    return {NAME: int(size)} if "x" not in str(size) else dict(zip((NAME, LENGTH), map(int, size.split("x"))))


def greatest(options):
    return {NAME: MOST_SENTENCES, LENGTH: options.high} if options.pairs else {NAME: options.high}


def dims(sizes):
    """Options, of sizes or ranges by name."""
    return [word for name, size in sizes.items() for word in ("--dim", f"{name}={size}")]


def opened(path, options):
    if options.pairs:
        return open_models.with_open_batch_and_length(path, options.high)
    return open_models.with_open_length(path, options.high) if options.lengths else open_models.with_open_batch(path)


def feeds(model, sizes):
    """Of made-up inputs for sizes: floats of a normal distribution, small integers."""
    random = np.random.default_rng(0)
    made = {}
    for port in open_models.inputs_of(model):
        shape = [sizes[each.dim_param] if each.dim_param else each.dim_value for each in port.type.tensor_type.shape.dim]
        kind = onnx.helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
        is_float = np.issubdtype(kind, np.floating)
        made[port.name] = (random.standard_normal(shape) if is_float else random.integers(0, 2, shape)).astype(kind)
    return made


def milliseconds(artifact, inputs, options, place):
    words = "--threads", options.threads, "--seconds", options.seconds, "--inputs", inputs, "--json", "-"
    report = json.loads(models.kintsugi("bench", artifact, *words, runner=place.runner(options.threads)))
    return report.get("device_ms") or report["median_ms"]


def compiled(model, artifact, sizes, options, place):
    how = "--random-weights", *dims(sizes), "--target", options.target, "--precision", options.precision
    if options.keep:
        words = " ".join([*how, f"{len(place.cores)} cores"])
        made_of = models.program().read_bytes() + model.read_bytes() + words.encode()
        artifact = options.keep / f"{hashlib.sha256(made_of).hexdigest()[:32]}.kin"
    if not artifact.exists() or not options.keep:
        part = artifact.with_suffix(".part")
        models.kintsugi("compile", model, *how, "-o", part, "--quiet", runner=place.runner())
        part.replace(artifact)
    return artifact


def outputs(file, inputs, place, *how):
    """Of an artifact or, with options for it, of a model; by name."""
    results = inputs.with_name("outputs.npz")
    models.kintsugi("run", file, *how, "--inputs", inputs, "--outputs", results, "--quiet", runner=place.runner())
    with np.load(results) as found:
        return dict(found)


def check_alike(ours, theirs, depths, precision, answers):
    """Raises models.Failure where the open artifact's outputs differ from the exact one's by more than the policy allows of
    the precision. Where 16 bits are too few for a model, both may: then they have to be about as far from `answers()`."""
    for name, expected in theirs.items():
        narrow = precision != "f32" and expected.dtype == np.float32
        allowed = policy.tolerance(np.float16 if narrow else expected.dtype, depths[name])
        allowed *= 8 if precision == "bf16" else 1  # It has three bits less.
        if (found := policy.difference(ours[name], expected)) <= allowed:
            continue
        if narrow:
            right = answers()[name]
            its, exact = policy.difference(ours[name], right), policy.difference(expected, right)
            if its <= AS_FAR * exact:
                continue
        raise models.Failure(f"'{name}' differs by {found:.1e} from the exact artifact's, where {allowed:.1e} is allowed")


def measure(options, path, place):
    """By size, milliseconds of both and their ratio; or why the dimension can't be opened."""
    depths = policy.depth(onnx.load(path, load_external_data=False))
    with models.workspace(path.stem) as folder:
        try:
            model = opened(path, options)
            onnx.save(model, folder / "model.onnx")
            models.kintsugi("inspect", folder / "model.onnx", *dims(greatest(options)), "--json")
        except models.Failure as reason:
            return dict(closed=str(reason))
        ranges = {name: f"1..{high}" for name, high in greatest(options).items()}
        contenders = {"open": compiled(folder / "model.onnx", folder / "open.kin", ranges, options, place)}
        found = {}
        for size in options.sizes:
            np.savez(folder / "inputs.npz", **feeds(model, sizes_of(size)))
            contenders["exact"] = compiled(folder / "model.onnx", folder / "exact.kin", sizes_of(size), options, place)
            if options.rounds == 0:
                continue
            inputs = folder / "inputs.npz"
            in_f32 = "--random-weights", *dims(sizes_of(size))
            answers = functools.partial(outputs, folder / "model.onnx", inputs, place, *in_f32)
            ours, theirs = (outputs(contenders[name], inputs, place) for name in ("open", "exact"))
            check_alike(ours, theirs, depths, options.precision, answers)
            rounds = {name: [] for name in contenders}
            with contextlib.nullcontext() if place.gpu is None else places.alone_on(place.gpu):
                for number in range(options.rounds):
                    for name in contenders if number % 2 == 0 else reversed(contenders):
                        rounds[name].append(milliseconds(contenders[name], folder / "inputs.npz", options, place))
            least = {name: min(times) for name, times in rounds.items()}
            found[size] = dict(rounds=rounds, **least, ratio=least["open"] / least["exact"])
        return dict(sizes=found)


def line(name, row):
    if "sizes" not in row:
        return f"{name:32} {row.get('failed') or row['closed']}"
    return f"{name:32}" + "".join(f"{each['exact']:10.3f} {each['ratio']:5.2f}" for each in row["sizes"].values())


def is_defect(row, limit):
    return "failed" in row or any(each["ratio"] > limit for each in row.get("sizes", {}).values())


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", action="store_true", help="of sequences, instead of batches")
    parser.add_argument("--pairs", action="store_true", help="of sizes of both")
    parser.add_argument("--high", type=int, help="the greatest size; of pairs the greatest length")
    parser.add_argument("--sizes", type=lambda text: text.split(","))
    parser.add_argument("--target", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["f32", "f16", "bf16"], default="f32")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="of a turn")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--jobs", type=int, default=1, help="models at a time")
    parser.add_argument("--limit", type=float, default=1.15, help="what an open dimension may cost")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="where artifacts stay")
    parser.add_argument("--out", type=pathlib.Path, help="instead of the file in bench/results")
    options = models.parsed(parser, words)
    kind, high, sizes = ("-pairs", 128, PAIRS) if options.pairs else ("-lengths", 512, LENGTHS) if options.lengths else ("", 16, BATCHES)
    options.high, options.sizes = options.high or high, options.sizes or sizes
    cores = arguments.keep_to(options.threads * options.jobs)
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    name = "open" + kind + ("-cuda" if options.target == "cuda" else "")
    out = options.out or machine.RESULTS / f"{name}.json"
    report = machine.report(cores, precision=options.precision, high=options.high, rounds=options.rounds, seconds=options.seconds, models={})
    print(f"{'exact ms and ratio at sizes of':32}" + "".join(f"{size:16}" for size in options.sizes), flush=True)
    for name, row in places.rows(options.paths, functools.partial(measure, options), options.jobs):
        report["models"][name] = row
        print(line(name, row), flush=True)
        machine.write(report, out)
    print(f"written to {out}")
    return 1 if any(is_defect(row, options.limit) for row in report["models"].values()) else 0


if __name__ == "__main__":
    arguments.run("open", lambda: sys.exit(main()))
