"""./dev: its list of commands, and what it says to a command that it does not know."""

import pathlib
import re
import subprocess

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


def test_packages_and_requirements_are_exact():
    packages = [line for line in (ROOT / "scripts/packages.txt").read_text().splitlines() if not line.startswith("#")]
    assert packages == sorted(set(packages))
    for file in ROOT.glob("requirements*.txt"):
        pins = [line for line in file.read_text().splitlines() if not line.startswith("#")]
        assert pins and all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
