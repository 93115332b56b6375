"""What stands in every file of results: when, of which commit and on which machine figures were taken."""

import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import sys

import models

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
# Load for each core, before the first turn, from which on the times say more about other work.
BUSY = 0.5


def said_by(*command):
    """What a command prints, or nothing where it fails or is absent."""
    try:
        return subprocess.run(command, capture_output=True, text=True, cwd=models.ROOT).stdout.strip()
    except OSError:
        return ""


def versions(packages):
    """Names and versions of those that are installed."""
    for name in packages:
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue


def describe(cores):
    """The machine, what it is busy with, and the software, as far as times depend on them."""
    processor = [line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if ":" in line]
    facts = {key.strip(): value.strip() for key, value in reversed(processor)}
    flags = [flag for flag in facts.get("flags", "").split() if flag.startswith(("avx", "fma", "amx"))]
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return dict(
        processor=facts.get("model name", platform.processor()),
        flags=flags,
        vector_bits=512 if "avx512f" in flags else 256 if "avx2" in flags else 128,
        cores=sorted(cores),
        memory_gb=round(pages / 1e9, 1),
        load=os.getloadavg()[0],
        kernel=platform.release(),
        commit=commit(),
        gpu=said_by("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"),
        versions=dict(versions(("onnxruntime", "openvino", "torch", "torchvision", "transformers", "timm", "onnxscript", "numpy"))),
    )


def commit():
    """Of the sources, or what $KINTSUGI_COMMIT says of a program that was brought along. A tree with changes to other
    files than results says so."""
    if os.environ.get("KINTSUGI_COMMIT"):
        return os.environ["KINTSUGI_COMMIT"]
    git = ("git", "-c", "safe.directory=*")
    found = said_by(*git, "rev-parse", "HEAD")
    status = "status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results"
    return found + ("+changes" if said_by(*git, *status) else "")


def report(cores=None, **fields):
    """The start of a file of results. Warns where the machine is busy."""
    described = describe(cores or sorted(os.sched_getaffinity(0)))
    warn_if_busy(described)
    return dict(date=datetime.date.today().isoformat(), command=command(), machine=described) | fields


def rows(paths, measure):
    """The name and the row of each model in turn: what `measure` gives for its path, or, where that fails, why."""
    for path in paths:
        try:
            yield path.stem, measure(path)
        except models.Failure as failure:
            yield path.stem, dict(failed=str(failure))


def command():
    """The command line of this process, as one types it in the repository's root."""
    script, *words = sys.argv
    name = pathlib.Path(script).resolve()
    if name.parent == RESULTS.parent:
        return " ".join(["./dev", "bench", name.stem.replace("_", "-"), *words])
    return " ".join(["python3", os.path.relpath(name, models.ROOT), *words])


def write(report, path):
    """Leaves a file of results as it is so far, with the machine's load now."""
    report["machine"]["load_at_end"] = os.getloadavg()[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")


def warn_if_busy(described):
    if described["load"] > BUSY * len(described["cores"]):
        print(f"other work keeps this machine busy (load {described['load']:.1f}): the times mean little")
