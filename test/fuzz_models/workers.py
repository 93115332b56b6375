"""Processes that check models; one that dies or hangs is replaced, and what it was at is the finding."""

import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
MODULES = pathlib.Path(os.environ.get("KINTSUGI_FUZZ_MODULES", HERE.parents[1] / "build" / "fuzz_models"))
START_LIMIT = 120
MODELS_OF_ONE = 2000  # A worker is replaced after so many: what leaks shall not add up.


class Worker:
    def __init__(self, environment=None):
        self.environment = environment
        self.process = None
        self.job = None
        self._start()

    def _start(self):
        self.close()
        command = [sys.executable, str(HERE / "worker.py"), str(MODULES)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **(self.environment or {})}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        os.set_blocking(self.process.stderr.fileno(), False)
        self.buffer, self.done = b"", 0
        self.about = self._answer(START_LIMIT)
        if not self.about.get("ready"):
            raise SystemExit(f"fuzz-models: no worker could be started: {self.about.get('text')}")

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
                pipe.close()
        self.process = None

    def send(self, job, limit):
        if self.done >= MODELS_OF_ONE:
            self._start()
        self.job, self.deadline, self.limit = job, time.monotonic() + limit, limit
        line = {key: value for key, value in job.items() if key != "about"}
        try:
            self.process.stdin.write(json.dumps(line).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # The answer says how it died.

    def poll(self):
        """The report of the job, or None while there is none."""
        if select.select([self.process.stdout], [], [], 0)[0]:
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                return self._died()
            self.buffer += part
        self._said()
        if b"\n" in self.buffer:
            line, _, self.buffer = self.buffer.partition(b"\n")
            self.done += 1
            self.job = None
            return json.loads(line)
        if time.monotonic() > self.deadline:
            self.job = None
            self._start()
            return {"kind": "hang", "text": f"took longer than {self.limit:.0f} s"}
        return None

    def _said(self):
        """The end of what it wrote to its error stream, which must not fill up."""
        try:
            self.words = (getattr(self, "words", b"") + (self.process.stderr.read() or b""))[-4000:]
        except (OSError, ValueError):
            pass
        return self.words.decode(errors="replace")

    def _died(self):
        code = self.process.wait()
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        said = [line for line in self._said().splitlines() if line.strip()]
        self.job = None
        self._start()
        return {"kind": "crash", "text": f"{name}; {said[-1][:300] if said else 'no word'}"}

    def _answer(self, limit):
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            if select.select([self.process.stdout], [], [], 0.2)[0]:
                part = os.read(self.process.stdout.fileno(), 1 << 20)
                if not part:
                    return {"text": self._said()[-1000:]}
                self.buffer += part
                if b"\n" in self.buffer:
                    line, _, self.buffer = self.buffer.partition(b"\n")
                    return json.loads(line)
        return {"text": "it does not answer"}

    def run(self, job, limit):
        """Waits for the report of one job."""
        self.send(job, limit)
        while True:
            report = self.poll()
            if report is not None:
                return report
            select.select([self.process.stdout], [], [], 0.2)
