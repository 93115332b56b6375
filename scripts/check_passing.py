"""Fails if a conformance case that the parent commit's list names is gone from this one's.

usage: check_passing.py [ROOT]

test/conformance/passing.txt holds one name a line and may only grow. Without a parent commit (a first
commit, a shallow clone) or without a list there, there is nothing to compare and that is said.
"""

import pathlib
import subprocess
import sys

LIST = "test/conformance/passing.txt"


def names(text):
    lines = (line.split("#", 1)[0].strip() for line in text.splitlines())
    return {line for line in lines if line}


def parent_list(root):
    """The names in the parent commit's list, or None where git can show no such file."""
    command = ["git", "-c", "safe.directory=*", "-C", str(root), "show", f"HEAD~1:{LIST}"]
    shown = subprocess.run(command, capture_output=True, text=True)
    return names(shown.stdout) if shown.returncode == 0 else None


def main(root):
    before = parent_list(root)
    if before is None:
        print(f"{LIST}: no list in a parent commit to compare with")
        return 0
    path = pathlib.Path(root, LIST)
    now = names(path.read_text()) if path.exists() else set()
    gone = sorted(before - now)
    for name in gone:
        print(f"{LIST}: '{name}' passed at the parent commit and is gone; mend what broke it")
    if not gone:
        print(f"{LIST}: {len(now)} cases, {len(now - before)} of them new")
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent))
