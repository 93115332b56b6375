"""./dev: its list of commands, and what it says to a command that it does not know."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def dev(*arguments):
    return subprocess.run([ROOT / "dev", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def test_alone_it_lists_every_command():
    listed = set(re.findall(r"^  (\w+) ", dev().stdout, re.M))
    source = (ROOT / "dev").read_text().split("case $command in")[1]
    known = set(re.findall(r"^  (\w+)\)", source, re.M))
    assert {"demo", "test", "build", "bench", "conformance", "zoo", "format"} <= listed
    assert listed == known - {"help"}


def test_unknown_command_is_an_error():
    done = dev("frobnicate")
    assert done.returncode == 1 and "no command 'frobnicate'" in done.stderr


def test_bench_names_what_it_measures():
    done = dev("bench")
    assert done.returncode == 1 and "./dev bench cpu" in done.stderr


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ("cmake", ["clang-22", "deb http://deb.debian.org/debian-security bookworm-security main", "sources.list"]),
        ("clang-22", ["cmake; see /etc/apt/sources.list"]),
    ],
)
def test_sources_without_a_package_are_named(tmp_path, known, words):
    """A machine whose apt offers one of two packages, none of which is installed."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "dev", tmp_path)
    (tmp_path / "scripts/packages.txt").write_text("clang-22\ncmake\n")
    fakes = {
        "dpkg-query": "exit 1",
        "apt-get": '[[ $* != *install* ]]',
        "apt-cache": f"[[ $2 != {known} ]] || printf '%s:\\n  Installed: (none)\\n  Candidate: 1.0\\n' $2",
        "sudo": 'shift; "$@"',
    }
    for name, body in fakes.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    done = subprocess.run(
        [tmp_path / "dev", "setup"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
    )
    assert done.returncode == 1 and all(word in done.stderr for word in words)
    assert ("bookworm-security" in done.stderr) == (known == "cmake")


def test_packages_and_requirements_are_exact():
    packages = [line for line in (ROOT / "scripts/packages.txt").read_text().splitlines() if not line.startswith("#")]
    assert packages == sorted(set(packages))
    for file in ROOT.glob("requirements*.txt"):
        pins = [line for line in file.read_text().splitlines() if not line.startswith("#")]
        assert pins and all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
