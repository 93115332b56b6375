"""What the machine can do at most, measured by limits.c, and the time of a text model on the same cores."""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile

import models

SOURCE = pathlib.Path(__file__).resolve().with_name("limits.c")
COMPILERS = "clang-22", "clang"
BESIDE = 0.1  # Seconds of a peak beside a timing.


class Limits:
    """The compiled program, in a folder that it also lends for other files."""

    def __init__(self, folder, level="native"):
        self.program = folder / f"limits-{level}"
        command = ["-O3", f"-march={level}", "-ffp-contract=fast", str(SOURCE), "-o", str(self.program), "-lpthread"]
        for compiler in COMPILERS:
            with contextlib.suppress(FileNotFoundError):
                subprocess.run([compiler, *command], check=True)
                return
        raise models.Failure("clang is not installed; './dev setup' installs it")

    def ask(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise models.Failure(done.stderr.strip() or f"limits: exit {done.returncode}")
        return float(done.stdout)

    def flops(self, cores, seconds=BESIDE):
        """Multiply-adds count as two."""
        return self.ask("fma", seconds, *cores)

    def copied(self, moved, cores, repeats=5):
        """Bytes a second of a copy that reads and writes so many bytes in all."""
        return self.ask("copy", moved // 2, repeats, *cores)

    def read(self, size, cores, repeats=5):
        """Bytes a second of a sum over so many bytes."""
        return self.ask("read", size, repeats, *cores)


@contextlib.contextmanager
def workshop():
    models.CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=models.CACHE) as folder:
        yield pathlib.Path(folder)


@contextlib.contextmanager
def on_cores(cores):
    """What is started inside runs on these cores alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def compiled(folder, name, text):
    """The artifact of a text model, its weights made up."""
    model, artifact = folder / f"{name}.te", folder / f"{name}.kin"
    model.write_text(text)
    models.kintsugi("compile", model, "-o", artifact, "--random-weights", "--quiet")
    return artifact


def milliseconds(artifact, cores, seconds):
    """The median time of a run."""
    with on_cores(cores):
        said = models.kintsugi("bench", artifact, "--threads", len(cores), "--seconds", seconds, "--json", "-")
    return json.loads(said)["median_ms"]
