"""Fails if a conformance case that the list of any earlier commit names is gone from this one's.

usage: check_passing.py [ROOT]

test/conformance/passing.txt holds one name a line and may only grow. Every list in the history of HEAD counts, so that a
name lost some commits ago is found, too. Where history ends early (a shallow clone) or there is no list in it (a first
commit), that is said.
"""

import pathlib
import subprocess
import sys

LIST = "test/conformance/passing.txt"


def names(text):
    lines = (line.split("#", 1)[0].strip() for line in text.splitlines())
    return {line for line in lines if line}


def git(root, *arguments):
    """What git says, or None where it can't."""
    command = ["git", "-c", "safe.directory=*", "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def earlier_lists(root):
    """The commit and the names of each list before HEAD's, the newest first."""
    if git(root, "rev-parse", "--verify", "-q", "HEAD~1") is None:
        return
    for commit in (git(root, "log", "--format=%h", "HEAD^@", "--", LIST) or "").split():
        text = git(root, "show", f"{commit}:{LIST}")
        if text is not None:
            yield commit, names(text)


def main(root):
    path = pathlib.Path(root, LIST)
    now = names(path.read_text()) if path.exists() else set()
    before, gone = set(), {}
    for commit, listed in earlier_lists(root):
        before |= listed
        for name in listed - now:
            gone.setdefault(name, commit)
    if (git(root, "rev-parse", "--is-shallow-repository") or "").strip() == "true":
        print(f"{LIST}: a shallow clone, whose history ends early; fetch all of it to compare with every earlier list")
    if not before:
        print(f"{LIST}: no list in an earlier commit to compare with")
        return 0
    for name, commit in sorted(gone.items()):
        print(f"{LIST}: '{name}' passed at {commit} and is gone; mend what broke it")
    if not gone:
        print(f"{LIST}: {len(now)} cases, {len(now - before)} of them new")
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent))
