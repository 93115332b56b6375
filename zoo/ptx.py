"""Has NVIDIA's assembler look at the kernels of zoo models: what spills, and what takes more registers than thought.

usage: ptx.py [MODEL ...] [--precision P] [--levels LIST] [--limit SECONDS] [--json FILE]

Compiles each model for GPUs with weights made at random and assembles its PTX with ptxas, for each architecture that
the artifact has code for. No GPU takes part. A kernel that the cost model gives more than 2 % of a run is not to keep
registers in memory ("spill"), nor to wait for each product of four warps, nor to need so many registers that a core has
room for fewer of its blocks than the cost model thought, nor to ask for more shared memory than there is. Columns:
kernels, those that spill with more than 2 % of a run, those that spill at all, those with fewer blocks at a time, and
the most registers of a thread. Exits 1 where a kernel with more than 2 % does what it is not to do.
"""

import argparse
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import models

SHARE = 0.02  # Of a run's predicted time; below that a spill is only told.
# The machine that the cost model sees: cores, and registers and threads of one.
CORES, REGISTERS, THREADS = 132, 65536, 2048
# Bytes that a block may have: of the devices that run code for sm_80, those of 8.6 and 8.9 have the least.
SHARED = {"sm_80": 101376, "sm_90a": 232448}
MANIFEST, CODE = 1, 3

HEADER = f"{'model':32} {'level':7} {'ok':4} {'kernels':>7} {'spill':>6} {'at all':>6} {'fewer':>6} {'registers':>9}"


def assembler():
    """The path of ptxas, or None."""
    usual = pathlib.Path("/usr/local/cuda/bin/ptxas")
    return shutil.which("ptxas") or (str(usual) if usual.exists() else None)


def sections(path):
    """Of an artifact (src/abi/artifact.h): (kind, name, bytes), all but the constants."""
    with open(path, "rb") as file:
        magic, _, count, table, _ = struct.unpack("<8sIIQQ", file.read(32))
        assert magic == b"KINTSUGI"
        file.seek(table)
        entries = [struct.unpack("<IIQQ32s40s", file.read(96)) for _ in range(count)]
        for kind, _, offset, size, _, name in entries:
            if kind in (MANIFEST, CODE):
                file.seek(offset)
                yield kind, name.split(b"\0")[0].decode(), file.read(size)


def launches(plan, times=1):
    """How often a run launches each stage, by number."""
    found = {}
    children = plan.get("sequence") or plan.get("lanes") or []
    if "stage" in plan:
        found[plan["stage"]] = times
    elif "repeat" in plan:
        children, times = [plan["repeat"]["body"]], times * plan["repeat"]["count"]
    elif "branch" in plan:
        children = [plan["branch"]["then"], plan["branch"]["else"]]
    for child in children:
        for stage, count in launches(child, times).items():
            found[stage] = found.get(stage, 0) + count
    return found


def kernels(manifest):
    """By symbol: the share of a run's predicted time, and what the manifest says of a launch."""
    found, counts = {}, launches(manifest["plan"])
    seconds = [stage["predicted_seconds"] * counts.get(i, 0) for i, stage in enumerate(manifest["stages"])]
    for stage, taken in zip(manifest["stages"], seconds):
        if stage["kind"] == "kernel":
            kernel = found.setdefault(stage["symbol"], dict(share=0, nodes=stage["nodes"], threads=stage["threads"]))
            kernel["share"] += taken / (sum(seconds) or 1)
            kernel["scratch"], kernel["assumed"] = stage["scratch_bytes"], stage.get("registers", 0)
            kernel["tiles"] = stage["tiles"]
    return found


def read_log(text):
    """By kernel, what `ptxas -v` says of it."""
    found = {}
    for part in re.split(r"Compiling entry function '", text)[1:]:
        name = part[: part.index("'")]
        spills = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", part)
        shared = re.search(r"(\d+) bytes smem", part)
        found[name] = dict(
            stores=int(spills[1]),
            loads=int(spills[2]),
            registers=int(re.search(r"Used (\d+) registers", part)[1]),
            static=int(shared[1]) if shared else 0,
        )
    # These come ahead of all kernels' figures.
    for name in re.findall(r"C7510.*?function '([^']+)'", text):
        found.get(name, {})["waits"] = True
    return found


def clusters(text):
    """By kernel, how many blocks are a cluster, which works on a tile; those without are left out."""
    pattern = rb"\.entry (\w+)\([^{]*?\.reqnctapercluster (\d+)"
    return {name.decode(): int(blocks) for name, blocks in re.findall(pattern, text)}


def promises(text):
    """By kernel, for how many blocks at a time its code leaves room on a core; those that say nothing are left out."""
    pattern = rb"\.entry (\w+)\([^{]*?\.minnctapersm (\d+)"
    return {name.decode(): int(blocks) for name, blocks in re.findall(pattern, text)}


def assemble(text, level, folder, limit):
    """What ptxas says of a text. Raises models.Failure."""
    source = folder / f"{level}.ptx"
    source.write_bytes(text.rstrip(b"\0"))
    command = [assembler(), "-v", f"-arch={level}", str(source), "-o", str(folder / "out.cubin")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise models.Failure(f"ptxas takes more than {limit} s") from None
    if done.returncode != 0:
        raise models.Failure("ptxas: " + (done.stdout + done.stderr).strip().splitlines()[-1])
    return read_log(done.stdout + done.stderr)


def blocks(kernel, registers):
    """That a core has at a time, with so many registers of a thread, which come in eights."""
    needed = -(-kernel["tiles"] * kernel["cluster"] // CORES)
    return min(needed, THREADS // kernel["threads"], REGISTERS // (kernel["threads"] * ((registers + 7) // 8 * 8)))


def judge(kernel, level):
    """What is wrong with a kernel, whatever its share: a list of words."""
    wrong = []
    if kernel["stores"] or kernel["loads"]:
        wrong.append(f"spills {kernel['stores']} and {kernel['loads']} bytes")
    if kernel.get("waits"):
        wrong.append("waits for each product of four warps")
    if kernel["assumed"]:  # Nothing is thought of launches that kernels share.
        # Code for any device may have left room for fewer on purpose.
        promised = kernel.get("promised", THREADS) if level == "sm_80" else THREADS
        thought = min(blocks(kernel, kernel["assumed"]), promised)
        found = blocks(kernel, kernel["registers"])
        if found < thought:
            wrong.append(f"leaves room for {found} blocks, not {thought}")
    # Code for any device is given no more than those have beside what it declares.
    shared = kernel["static"] if level == "sm_80" else kernel["static"] + kernel["scratch"]
    if shared > SHARED[level]:
        wrong.append(f"asks for {shared} bytes of shared memory")
    return wrong


def check(path, options):
    """By level, the kernels of a model with what is wrong with them. Raises models.Failure."""
    found = {}
    with models.workspace(path.stem) as folder:
        artifact = folder / "model.kin"
        flags = ("--random-weights", "--target", "cuda", "--precision", options.precision, "--quiet")
        models.kintsugi("compile", path, *flags, "-o", artifact, timeout=options.limit)
        contents = list(sections(artifact))
        artifact.unlink()
        known = kernels(json.loads(next(data for kind, _, data in contents if kind == MANIFEST)))
        for kind, level, text in contents:
            if kind == CODE and level in options.levels:
                said, together = assemble(text, level, folder, options.limit), clusters(text)
                promised = promises(text)
                found[level] = {
                    name: kernel
                    | said[name]
                    | dict(cluster=together.get(name, 1), promised=promised.get(name, THREADS))
                    for name, kernel in known.items()
                }
                for kernel in found[level].values():
                    kernel["wrong"] = judge(kernel, level)
    return found


def is_bad(kernel):
    return bool(kernel["wrong"]) and kernel["share"] > SHARE


def row(model, level, found):
    spilling = [kernel for kernel in found.values() if kernel["stores"] or kernel["loads"]]
    return (
        f"{model:32} {level:7} {'NO' if any(map(is_bad, found.values())) else 'yes':4} {len(found):7}"
        f" {sum(kernel['share'] > SHARE for kernel in spilling):6} {len(spilling):6}"
        f" {sum('leaves room' in word for kernel in found.values() for word in kernel['wrong']):6}"
        f" {max((kernel['registers'] for kernel in found.values()), default=0):9}"
    )


def details(found):
    """A line for each kernel with which something is wrong, the one with the greatest share first."""
    for name, kernel in sorted(found.items(), key=lambda entry: -entry[1]["share"]):
        if kernel["wrong"]:
            nodes = ", ".join(kernel["nodes"][:4]) + (", ..." if len(kernel["nodes"]) > 4 else "")
            yield (
                f"  {name:6} {100 * kernel['share']:5.1f} %  {'; '.join(kernel['wrong'])};"
                f" {kernel['registers']} registers ({kernel['assumed']} thought), {kernel['threads']} threads: {nodes}"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--precision", default="f16", choices=["f32", "f16", "bf16"])
    parser.add_argument("--levels", default="sm_80,sm_90a", type=lambda text: text.split(","))
    parser.add_argument("--limit", type=float, default=1800, help="seconds that one command may take")
    parser.add_argument("--json", help="write what was found to this file as well")
    options = models.parsed(parser)
    if not assembler():
        sys.exit("ptx.py: there is no ptxas on this machine; it is in NVIDIA's toolkit for CUDA 12 or newer")
    results, good = {}, 0
    print(HEADER, flush=True)
    for path in options.paths:
        try:
            results[path.stem] = found = check(path, options)
            for level in found:
                print("\n".join([row(path.stem, level, found[level]), *details(found[level])]), flush=True)
            good += not any(is_bad(kernel) for level in found.values() for kernel in level.values())
        except models.Failure as failure:
            results[path.stem] = dict(failed=str(failure))
            print(f"{path.stem:32} {'':7} NO   {failure}", flush=True)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(results, indent=1))
    print(f"{good} of {len(results)} models have no such kernel with more than {SHARE:.0%} of a run")
    return 0 if good == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
