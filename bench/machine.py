"""The machine that figures were taken on, as far as they depend on it."""

import importlib.metadata
import os
import pathlib
import platform
import subprocess

import models

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
        commit=said_by("git", "-c", "safe.directory=*", "rev-parse", "HEAD"),
        versions=dict(versions(("onnxruntime", "openvino", "torch", "numpy"))),
    )


def warn_if_busy(described):
    if described["load"] > BUSY * len(described["cores"]):
        print(f"other work keeps this machine busy (load {described['load']:.1f}): the times mean little")
