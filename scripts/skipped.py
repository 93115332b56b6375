"""Says what a run of the tests could not run here, and why.

usage: skipped.py CTEST_LOG PYTEST_LOG LEVEL

CTEST_LOG is what ctest keeps of the last run (Testing/Temporary/LastTest.log), PYTEST_LOG the output of `pytest -rs`,
LEVEL the highest level of the instruction set that this machine runs, as `kintsugi doctor --json` has it.
"""

import collections
import pathlib
import re
import sys

HIGHEST = "x86-64-v4"


def of_units(log):
    """How many GoogleTest tests were skipped, by reason: each skip says the place, and in the next line the reason."""
    reasons = re.findall(r"^.+:\d+: Skipped\n(.*)$", log, re.M)
    return collections.Counter(reason.strip() or "no reason" for reason in reasons)


def of_pytest(log):
    """The same of pytest's short summary."""
    reasons = collections.Counter()
    for count, reason in re.findall(r"^SKIPPED \[(\d+)\] \S+: (.*)$", log, re.M):
        reasons[reason.strip()] += int(count)
    return reasons


def summary(units, python, level):
    """The lines that tell."""
    reasons = units + python
    yield f"{sum(reasons.values())} tests skipped: {sum(units.values())} unit tests, {sum(python.values())} of pytest"
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        yield f"    {count} x {reason}"
    if level < HIGHEST:
        yield f"code for {HIGHEST} (AVX-512) was not run: this machine has {level}"


def main(arguments):
    units, python = (pathlib.Path(path).read_text(errors="replace") for path in arguments[:2])
    print("\n".join(summary(of_units(units), of_pytest(python), arguments[2])))


if __name__ == "__main__":
    main(sys.argv[1:])
