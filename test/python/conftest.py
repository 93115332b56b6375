"""What the Python tests share: the folders whose scripts they import, and a git of their own."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in ("scripts", "zoo", "bench", "examples/digits"):
    sys.path.insert(0, str(ROOT / folder))


@pytest.fixture
def git(tmp_path):
    """Runs git in tmp_path, untouched by the user's configuration."""

    def run(*arguments):
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        subprocess.run(["git", *identity, "-C", str(tmp_path), *arguments], check=True)

    return run
