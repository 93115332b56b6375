"""What the Python tests share: the folders whose scripts they import, the levels of the instruction set at which they
run models, and a git of their own."""

import functools
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("KINTSUGI", str(ROOT / "build/bin/kintsugi"))
for folder in ("scripts", "zoo", "bench", "examples/digits", "test"):
    sys.path.insert(0, str(ROOT / folder))


@functools.cache
def native_level():
    """The highest level of the instruction set that this machine runs."""
    done = subprocess.run([PROGRAM, "doctor", "--json"], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)["level"]


@pytest.fixture(params=["v3", "v4"])
def level(request):
    """Each level that the machine has, as --cpu-level takes it."""
    if f"x86-64-{request.param}" > native_level():
        pytest.skip("this machine has no AVX-512")
    return request.param


@pytest.fixture
def git(tmp_path):
    """Runs git in tmp_path, untouched by the user's configuration."""

    def run(*arguments):
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        subprocess.run(["git", *identity, "-C", str(tmp_path), *arguments], check=True)

    return run


EMULATOR = ROOT / "build" / "emulator"


@pytest.fixture
def gpu(monkeypatch):
    """A GPU for programs that a test starts: where there is none, an emulated one."""
    if os.path.exists("/dev/nvidia0"):
        return
    program = os.environ.get("KINTSUGI")
    folder = pathlib.Path(program).parents[1] / "emulator" if program else EMULATOR
    assert (folder / "libcuda.so.1").exists(), "the emulator is not built; ./dev build makes it"
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
