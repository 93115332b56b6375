"""Checks a wheel (./dev wheel) as who installs it would: in an environment of its own, without the network.

usage: check_wheel.py WHEEL

The wheel is at most 45 MB and holds binaries that need nothing but glibc. pip installs it into a new environment that has
NumPy and nothing else; there the command line compiles the demo's network and compares it with the reference, and the
package classifies the images that the network was not trained on. Installing and that take at most 20 s (of the
processor's time, where others use it too).
"""

import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time
import zipfile

import dist
import numpy

MAX_BYTES = 45_000_000
MAX_SECONDS = 20
# The host's part of the compiler has no code generator in it, which alone takes more than this.
MAX_LIBRARY_BYTES = 12_000_000
LIBRARY, PROGRAM = "kintsugi/libkintsugi_compiler.so", "kintsugi/kintsugi"
DIGITS = dist.ROOT / "examples/digits"

CLASSIFY = """
import kintsugi, numpy
with numpy.load("held_out.npz") as held:
    images, labels = held["images"], held["labels"]
session = kintsugi.InferenceSession("digits.onnx")
(probabilities,) = session.run(None, {"images": images})
print(kintsugi.__version__, numpy.mean(probabilities.argmax(1) == labels))
"""


def check_contents(wheel, folder):
    """What is in it, and what its binaries ask for."""
    if wheel.stat().st_size > MAX_BYTES:
        raise dist.NotPortable(f"{wheel.name}: has {wheel.stat().st_size} bytes, may have {MAX_BYTES}")
    if not re.fullmatch(r"kintsugi-[\d.]+-py3-none-[\w.]*manylinux_2_34_x86_64[\w.]*\.whl", wheel.name):
        raise dist.NotPortable(f"{wheel.name}: is not tagged for every Python and glibc 2.34")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        names = set(archive.namelist())
    data = f"kintsugi-{dist.version()}"
    wanted = {LIBRARY, PROGRAM, "kintsugi/py.typed", f"{data}.data/scripts/kintsugi", f"{data}.dist-info/sboms/kintsugi.cdx.json"}
    wanted |= {"kintsugi/torch_backend/__init__.py", f"{data}.dist-info/entry_points.txt"}
    wanted |= {f"{data}.dist-info/licenses/{package}" for package in dist.LINKED}
    if missing := wanted - names:
        raise dist.NotPortable(f"{wheel.name}: lacks {', '.join(sorted(missing))}")
    if (size := (folder / LIBRARY).stat().st_size) > MAX_LIBRARY_BYTES:
        raise dist.NotPortable(f"{LIBRARY}: has {size} bytes, more than {MAX_LIBRARY_BYTES}: what of the compiler is linked in?")
    for binary in (LIBRARY, PROGRAM):
        dist.check_binary(folder / binary)


def new_environment(folder):
    """A Python environment that has NumPy, this one's, and nothing else; gives the folder of its programs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for part in (pathlib.Path(numpy.__file__).parent, pathlib.Path(numpy.__file__).parents[1] / "numpy.libs"):
        (packages / part.name).symlink_to(part)
    return folder / "bin"


def timed(*command, **more):
    """What a command says, and its seconds: those that went by, or the processor's where that is less."""
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    out = dist.said(*command, **more)
    taken, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return out, min(taken, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def check_installed(wheel, folder):
    """Installs it and uses it, where nothing else is; gives the seconds that each took."""
    programs, empty = new_environment(folder / "environment"), folder / "empty"
    empty.mkdir()
    for name in ("digits.onnx", "held_out.npz"):
        (empty / name).write_bytes((DIGITS / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "--python", programs / "python", "install", "--no-index", "--no-deps"]
    _, install = timed(*pip, "--disable-pip-version-check", wheel)
    home = {"cwd": empty, "env": {"HOME": str(empty)}}  # Where the cache goes.
    said, digits = timed(programs / "python", "-c", CLASSIFY, **home)
    version, accuracy = said.split()
    if version != dist.version() or float(accuracy) < 0.95:
        raise dist.NotPortable(f"{wheel.name}: is of version {version}, and classifies {accuracy} of the images rightly")
    dist.check_run(programs / "kintsugi", empty)
    return install, digits


def check(wheel):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        check_contents(wheel, folder / "contents")
        install, digits = check_installed(wheel, folder)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB; installed in {install:.1f} s, digits in {digits:.1f} s")
    if install + digits > MAX_SECONDS:
        raise dist.NotPortable(f"{wheel.name}: takes {install + digits:.1f} s to digits, may take {MAX_SECONDS}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    try:
        check(pathlib.Path(sys.argv[1]).resolve())
    except dist.NotPortable as error:
        sys.exit(f"wheel: {error}")
