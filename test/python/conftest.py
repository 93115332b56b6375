"""What the Python tests share: the folders whose scripts they import, the program with a cache of each file's own, the
levels of the instruction set at which they run models, and a git of their own."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from program import MODEL, PROGRAM, ROOT

for path in ("scripts", "zoo", "bench", "examples/digits", "test"):
    sys.path.insert(0, str(ROOT / path))

import models


@pytest.fixture(scope="module")
def folder(request, tmp_path_factory):
    """For the files of one file's tests."""
    return tmp_path_factory.mktemp(request.module.__name__)


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory):
    """A cache of artifacts for what a file's tests compile in this process; gives its folder."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KINTSUGI_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def kintsugi(folder):
    """Runs the program with a cache of its own; gives (exit code, output, errors)."""

    def run(*arguments):
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=300,
            env=os.environ | {"KINTSUGI_CACHE": str(folder / "cache")},
        )
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture(scope="module")
def report(kintsugi):
    """Runs the program, which has nothing to complain of; gives the report that it prints as JSON."""

    def run(*arguments):
        code, out, errors = kintsugi(*arguments)
        assert (code, errors) == (0, "")
        return json.loads(out)

    return run


@pytest.fixture(scope="module")
def artifact(folder, report):
    """The demo's network, compiled for all levels."""
    path = folder / "digits.kin"
    found = report("compile", MODEL, "-o", path, "--json")
    assert found["artifact"] == str(path) and path.stat().st_size > found["constant_bytes"] > 0
    return path


@pytest.fixture(scope="session")
def need_level():
    """Skips a test of code that this machine does not run."""

    def need(level):
        if level not in models.levels():
            pytest.skip(f"this machine does not run x86-64-{level}")

    return need


@pytest.fixture(params=models.LEVELS)
def level(request, need_level):
    """Each level that the machine has, as --cpu-level takes it."""
    need_level(request.param)
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
