"""./dev fuzz-models [--seed N] [--count M] [--target T] [--emulate GPU] [--jobs J] [--limit S] [--out FOLDER] [--replay FILE...]

Checks models that random numbers make (seeds N to N + M - 1) against ONNX Runtime and the interpreter. What fails is
reduced, printed, and written to the folder: NAME.json, which belongs into test/fuzz_models/regressions when it is
mended, with NAME.onnx and NAME.npz to look at it with the command line. Exits 1 if anything failed.
"""

import argparse
import collections
import json
import os
import pathlib
import select
import sys
import time

from . import configure, generate, regressions, report as reports
from .faults import FAULTS
from .graph import Graph
from .reduce import FAILURES, Reducer
from .workers import MODULES, Worker

MOST_NOT_TAKEN = 0.01  # By ONNX Runtime, without which a model says less.
LEAST_FINE = 0.8  # Of the seeds that are asked for.
REDUCED_OF_A_KIND = 3  # The same message many times is reduced a few times.


def job_of(seed, target, rules, fault=None):
    """(program, graph, job) of a seed, or None. `rules`: as the compiler lists them."""
    made = generate.make(generate.program_of(seed, target.startswith("cuda")))
    if made is None:
        return None
    graph, program = made
    configuration = configure.fitted(configure.configuration_of(seed, target, configure.switches_of(rules, target)), graph)
    job = {"graph": graph.to_json(), "configuration": configuration, "about": (seed, program, graph)}
    if fault:
        job["fault"] = fault
    return job


class Run:
    def __init__(self, options):
        self.options = options
        self.workers = [Worker(emulator(options.emulate)) for _ in range(options.jobs)]
        self.tally = reports.Tally(
            self.workers[0].about, f"{options.target} {options.emulate or ''}".strip()
        )
        self.findings = []
        self.seen = collections.Counter()

    def models(self):
        """Checks all seeds; the reduction of a failure takes its worker out of the others' row."""
        seeds = iter(range(self.options.seed, self.options.seed + self.options.count))
        waiting = True
        while waiting or any(worker.job is not None for worker in self.workers):
            for worker in self.workers:
                if worker.job is None and waiting:
                    waiting = self._next(worker, seeds)
            busy = [worker for worker in self.workers if worker.job is not None]
            select.select([worker.process.stdout for worker in busy], [], [], 0.2)
            for worker in busy:
                job = worker.job
                answer = worker.poll()
                if answer is not None:
                    self._take(worker, job, answer)
            self.tally.progress(self.options.count, len(self.findings))
        return self.findings

    def _next(self, worker, seeds):
        for seed in seeds:
            job = job_of(seed, self.options.target, worker.about["rules"], self.options.plant)
            if job is not None:
                worker.send(job, self.options.limit)
                return True
            self.tally.empty += 1
        return False

    def _take(self, worker, job, answer):
        seed, program, graph = job["about"]
        self.tally.add(graph, job["configuration"], answer)
        if answer["kind"] in FAILURES:
            self.tally.clear()
            print(reports.failure(seed, program, job["configuration"], answer), flush=True)
            self.findings.append(self._reduced(worker, seed, program, graph, job, answer))

    def _reduced(self, worker, seed, program, graph, job, answer):
        name = f"seed{seed}"
        configuration, short = job["configuration"], answer
        kind = (answer["kind"], answer["text"][-40:] if answer["kind"] != "mismatch" else "")
        self.seen[kind] += 1
        limit = min(self.options.limit, max(10.0, 3 * answer.get("wall_s", self.options.limit)))
        if self.options.reduce and (answer["kind"] == "mismatch" or self.seen[kind] <= REDUCED_OF_A_KIND):
            ask = lambda g, c: worker.run({"graph": g.to_json(), "configuration": c, **_fault(job)}, limit)
            reducer = Reducer(ask, self.options.reduce)
            graph, configuration, short = reducer.reduce(program, graph, configuration, answer)
        finding = regressions.finding(name, graph, configuration, short, seed)
        if self.options.out:
            regressions.write(pathlib.Path(self.options.out), finding, graph)
        print(reports.reduced(finding, graph, self.options.out), flush=True)
        return finding

    def replay(self, paths):
        """Checks models that are written down; those of the project are to be fine."""
        for path in paths:
            finding = json.loads(pathlib.Path(path).read_text())
            graph = Graph.from_json(finding["graph"])
            answer = self.workers[0].run({"graph": finding["graph"], "configuration": finding["configuration"]}, self.options.limit)
            self.tally.add(graph, finding["configuration"], answer)
            said = f": {answer['text']}" if answer["kind"] in FAILURES else ""
            print(f"{path}: {answer['kind']}{said}", flush=True)
            if answer["kind"] in FAILURES:
                self.findings.append(finding)
        return self.findings

    def close(self):
        for worker in self.workers:
            worker.close()


def emulator(architecture):
    """What has a process find the emulated driver of a GPU."""
    if not architecture:
        return {}
    folder = MODULES.parent / "emulator"
    if not (folder / "libcuda.so.1").exists():
        raise SystemExit(f"fuzz-models: there is no emulated driver in {folder}; ./dev build kintsugi_emulator makes it")
    others = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": f"{folder}:{others}" if others else str(folder), "KINTSUGI_EMULATOR": architecture}


def _fault(job):
    return {"fault": job["fault"]} if "fault" in job else {}


def arguments(given=None):
    parser = argparse.ArgumentParser(prog="./dev fuzz-models", description=__doc__.split("\n\n")[1])
    parser.add_argument("--seed", type=int, default=1, help="of the first model")
    parser.add_argument("--count", type=int, default=100, help="how many models")
    parser.add_argument("--target", default="cpu", help="cpu, or cuda[:N] with small shapes")
    parser.add_argument("--emulate", metavar="GPU", help="with --target cuda: on an emulated GPU, sm_80 or sm_90a")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many processes check models")
    parser.add_argument("--limit", type=float, default=120, help="seconds that one model may take")
    parser.add_argument("--reduce", type=float, default=240, help="seconds for making a failure smaller; 0 for none")
    parser.add_argument("--out", default=".cache/fuzz-models", help="where failures are written")
    parser.add_argument("--plant", choices=FAULTS, help="a fault in every model, to see that it is noticed")
    parser.add_argument("--replay", nargs="+", metavar="FILE", help="checks models that are written down instead")
    return parser.parse_args(given)


def main(given=None):
    options = arguments(given)
    run = Run(options)
    try:
        findings = run.replay(options.replay) if options.replay else run.models()
    finally:
        run.close()
    run.tally.clear()
    print(run.tally.summary(findings))
    if run.tally.kinds["without ORT"] > max(1, run.tally.done * MOST_NOT_TAKEN):
        print("fuzz-models: ONNX Runtime does not take too many of the models; mend their generators")
        return 1
    if not options.replay and run.tally.kinds["fine"] < LEAST_FINE * options.count and not options.plant:
        print("fuzz-models: too few of the models say anything")
        return 1
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
