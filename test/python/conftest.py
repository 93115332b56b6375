"""What the Python tests share: the folders whose scripts they import, the levels of the instruction set at which they
run models, and a git of their own."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in ("scripts", "zoo", "bench", "examples/digits", "test"):
    sys.path.insert(0, str(ROOT / folder))

import models


@pytest.fixture(params=models.LEVELS)
def level(request):
    """Each level that the machine has, as --cpu-level takes it."""
    if request.param not in models.levels():
        pytest.skip(f"this machine does not run x86-64-{request.param}")
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
