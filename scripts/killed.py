"""Kills kintsugi at random moments, and checks that the next run is right.

usage: killed.py [COUNT [MODEL]]

COUNT times (12 by default) `run` of a model (the demo's network) with a cache and `compile -o` are killed by SIGKILL,
in turns: the program alone, whose compiling process has to end by itself, or both at once. After each kill the same
command has to succeed, write the bytes that it writes undisturbed, and leave no temporary file behind. Prints the seed
of the moments; set KINTSUGI_SEED to one to have the same again.
"""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
KINTSUGI = pathlib.Path(os.environ.get("KINTSUGI", ROOT / "build/bin/kintsugi"))
DIGITS = ROOT / "examples/digits/digits.onnx"
LIMIT = 300


class Wrong(Exception):
    pass


class Place:
    """A folder with a cache, and the commands that are killed there."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = os.environ | {"KINTSUGI_CACHE": str(folder / "cache"), "TMPDIR": str(folder / "tmp")}
        (folder / "tmp").mkdir(parents=True)

    def start(self, command):
        return subprocess.Popen(
            [KINTSUGI, *command, "--quiet"], cwd=self.folder, env=self.environment, start_new_session=True
        )

    def finish(self, command):
        process = self.start(command)
        if process.wait(LIMIT) != 0:
            raise Wrong(f"kintsugi {' '.join(command)}: ended in {process.returncode}")

    def forget(self):
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        for file in self.folder.glob("out.*"):
            file.unlink()

    def unfinished(self):
        return [path for path in self.folder.rglob("*") if path.name.startswith(".kintsugi-")]


def wait_for_group(group):
    """Until all processes of a group are gone."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.005)
    raise Wrong("the compiling process has outlived the program that it worked for")


def kill_once(place, command, output, expected, seconds, both):
    place.forget()
    process = place.start(command)
    time.sleep(seconds)
    kill = os.killpg if both else os.kill
    ended = process.poll() is not None
    if not ended:
        kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_for_group(process.pid)
    if (place.folder / output).exists() and (place.folder / output).read_bytes() != expected:
        raise Wrong(f"half of {output} was there after a kill at {seconds:.3f} s")
    place.finish(command)
    if (place.folder / output).read_bytes() != expected:
        raise Wrong(f"{output} is another after a kill at {seconds:.3f} s")
    if left := place.unfinished():
        raise Wrong(f"left behind after a kill at {seconds:.3f} s: {', '.join(map(str, left))}")
    return not ended


def check(count, seed, model=DIGITS):
    moments = random.Random(seed)
    commands = [
        (["compile", str(model), "-o", "out.kin"], "out.kin"),
        (["run", str(model), "--outputs", "out.npz"], "out.npz"),
    ]
    with tempfile.TemporaryDirectory(prefix="kintsugi-killed-") as folder:
        place = Place(pathlib.Path(folder))
        hits = 0
        for command, output in commands:
            place.forget()
            start = time.monotonic()
            place.finish(command)
            whole, expected = time.monotonic() - start, (place.folder / output).read_bytes()
            share = count - count // 2 if command is commands[0][0] else count // 2
            for number in range(share):
                seconds = moments.uniform(0, whole)
                hits += kill_once(place, command, output, expected, seconds, both=number % 2 == 1)
        return hits


def main(count, model=DIGITS):
    seed = int(os.environ.get("KINTSUGI_SEED", time.time_ns() % 1_000_000))
    print(f"seed {seed}", flush=True)
    try:
        hits = check(count, seed, pathlib.Path(model).resolve())
    except Wrong as problem:
        sys.exit(f"killed: {problem}")
    print(f"{count} runs, {hits} killed before their end: every next run was right")


if __name__ == "__main__":
    arguments = sys.argv[1:] or ["12"]
    if len(arguments) > 2 or not arguments[0].isdigit():
        sys.exit(__doc__.strip())
    main(int(arguments[0]), *arguments[1:])
