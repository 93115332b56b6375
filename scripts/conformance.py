"""Runs the official ONNX backend cases and compares what passes with the checked-in list.

usage: conformance.py [--check | --update] [--engine NAME] [--only TEXT] [--jobs N] [--seconds S]

The cases are written to build/conformance/cases once. Each runs in a child process of its own under a
time and a memory limit, and is compared under its own tolerance. A table of failures by operator goes to
build/conformance/report.txt. Exit code 1 where a case of test/conformance/passing.txt no longer passes
(--check, the default); --update adds the names of cases that pass now.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import time

import check_passing
import conformance_cases

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "test/conformance/passing.txt"
OUTPUT = ROOT / "build/conformance"
MEANS = ("generated", "call", "folded")

Result = collections.namedtuple("Result", "name passed means milliseconds reason")


def runner_path():
    tool = os.environ.get("KINTSUGI", str(ROOT / "build/bin/kintsugi"))
    return pathlib.Path(tool).with_name("kintsugi-conformance")


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description="Runs the official ONNX backend cases.")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="fail if a listed case fails (default)")
    action.add_argument("--update", action="store_true", help="add what passes to the list")
    parser.add_argument("--engine", default="cpu", help="interpreter, reference, cuda or cpu (default)")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds TEXT")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=20, help="limit for a case (default 20)")
    parser.add_argument("--runner", type=pathlib.Path, default=runner_path())
    parser.add_argument("--cases", type=pathlib.Path, default=OUTPUT / "cases")
    parser.add_argument("--report", type=pathlib.Path, default=OUTPUT / "report.txt")
    return parser.parse_args(arguments)


def parse_line(line, cases):
    name, verdict, means, milliseconds, reason = line.rstrip("\n").split("\t", 4)
    reason = reason.removeprefix(f"{cases / name / 'model.onnx'}: ")
    return Result(name, verdict == "pass", means, float(milliseconds), reason)


def run_cases(options, total):
    """The results of all cases by name, with progress on a terminal."""
    command = [options.runner, options.cases, "--engine", options.engine, "--only", options.only]
    command += ["--jobs", str(options.jobs), "--seconds", str(options.seconds)]
    if options.engine == "cuda":
        command += ["--memory-mib", "0"]  # A driver reserves more addresses than any limit leaves.
    shown = sys.stderr.isatty()
    results = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout:
            result = parse_line(line, options.cases)
            results[result.name] = result
            if shown:
                print(f"\r{len(results)}/{total}", end="", file=sys.stderr, flush=True)
    if shown:
        print("\r", end="", file=sys.stderr)
    if process.returncode != 0:
        sys.exit(f"conformance: the runner ended with {process.returncode}")
    return results


def failure_table(results, operators):
    """Lines that tell, operator by operator, what fails and why; those with most failures first."""
    totals = collections.Counter(operators[name] for name in results)
    failures = collections.defaultdict(list)
    for result in results.values():
        if not result.passed:
            failures[operators[result.name]].append(result)
    for operator, failed in sorted(failures.items(), key=lambda item: (-len(item[1]), item[0])):
        yield f"{operator}: {len(failed)} of {totals[operator]} fail"
        for result in failed:
            yield f"    {result.name}: {result.reason}"


def missing_operators(results):
    """Lines that tell how many cases each operator holds up that can't be imported."""
    counts = collections.Counter()
    for result in results.values():
        if "not supported: " in result.reason:
            counts.update(set(re.findall(r"(\w+) \(node ", result.reason)))
    for operator, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield f"{count:5} {operator}"


def read_list(path):
    return check_passing.names(path.read_text()) if path.exists() else set()


def summary(results, bound):
    """`bound`: the cases of which the compiler is told an input's value."""
    passed = [result for result in results.values() if result.passed]
    means = collections.Counter(result.means for result in passed)
    counts = ", ".join(f"{means[name]} {name}" for name in MEANS)
    free = sum(result.name not in bound for result in passed)
    return f"{len(passed)} of {len(results)} cases pass: {counts}; {free} with no input bound"


def write_report(path, engine, results, operators, bound):
    slowest = sorted(results.values(), key=lambda result: -result.milliseconds)[:10]
    lines = [f"engine {engine}: {summary(results, bound)}", ""]
    lines += failure_table(results, operators)
    lines += ["", "cases that each missing operator holds up:", *missing_operators(results)]
    lines += ["", "slowest:"]
    lines += [f"    {result.name}: {result.milliseconds:.0f} ms" for result in slowest]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def gone_from(listed, results, only):
    """Prints the listed cases that don't pass now, and returns how many they are."""
    gone = sorted(name for name in listed if only in name and not passes(results.get(name)))
    for name in gone:
        reason = results[name].reason if name in results else "there is no such case"
        print(f"no longer passes: {name}: {reason}")
    return len(gone)


def passes(result):
    return result is not None and result.passed


def main(arguments):
    options = parse_arguments(arguments)
    if not options.runner.exists():
        sys.exit(f"conformance: {options.runner} is missing; ./dev conformance builds it")
    cases = conformance_cases.write_cases(options.cases)
    operators = {case["name"]: case["operator"] for case in cases if options.only in case["name"]}
    bound = {case["name"] for case in cases if case["bind"]}
    listed = read_list(LIST)
    start = time.monotonic()
    results = run_cases(options, len(operators))
    write_report(options.report, options.engine, results, operators, bound)
    gone = gone_from(listed, results, options.only)
    fresh = {name for name, result in results.items() if result.passed} - listed
    if options.update:
        LIST.write_text("".join(f"{name}\n" for name in sorted(listed | fresh)))
        print(f"test/conformance/passing.txt: {len(fresh)} new names")
    elif fresh:
        print(f"{len(fresh)} pass that test/conformance/passing.txt does not list; --update adds them")
    print(f"{summary(results, bound)} ({options.engine}, {time.monotonic() - start:.0f} s)")
    print(f"what fails and why: {options.report}")
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
