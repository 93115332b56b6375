"""Builds a site of the pages in docs/.

usage: docs_site.py [FOLDER]

The site is in FOLDER (dist/docs), whose index.html may be opened as a file. Sphinx builds it of copies of the pages, and fails
where a link leads nowhere. What pages link to outside of docs/ is in the site, too: pages as they are, sources as pages that
show them, both with what they link to in turn. A page at docs/PATH is at PATH in the site, any other file at repository/PATH.
"""

import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
COPIES = ROOT / ".cache" / "docs"
HOME = "docs/start.md"
# The list of pages as the site shows it: what they are called in it, and where they are.
SECTIONS = {
    "Using it": {
        "Start": HOME,
        "Python": "docs/python.md",
        "Command line": "docs/command-line.md",
        "C": "docs/c.md",
        "GPUs": "docs/using-gpus.md",
        "torch.compile": "docs/torch.md",
        "Explain": "docs/explain.md",
        "Open dimensions": "docs/open-dimensions.md",
        "Precision": "docs/precision.md",
        "Operators": "docs/operators.md",
        "Rules": "docs/rules.md",
    },
    "Recipes": {
        "A vision model": "docs/recipes/vision.md",
        "A sentence encoder": "docs/recipes/sentences.md",
        "A decoder with caches": "docs/recipes/decoder.md",
    },
    "How it works": {
        "Architecture": "docs/architecture.md",
        "Expressions": "docs/expressions.md",
        "Rules and formats": "docs/rules-rationale.md",
        "Search": "docs/search.md",
        "Schedules": "docs/schedules.md",
        "Kernels for GPUs": "docs/gpu.md",
        "Artifact, runtime and processes": "docs/runtime.md",
    },
    "The project": {
        "What it is": "README.md",
        "Contributing": "CONTRIBUTING.md",
        "Security": "SECURITY.md",
    },
}
# Blocks and spans of code, in which nothing is a link, or a link.
LINK = re.compile(r"^```.*?^```$|`[^`\n]+`|\]\((?P<link>[^)\s]+)\)", re.M | re.S)
LANGUAGES = {".c": "c", ".cpp": "cpp", ".h": "c", ".py": "python"}


def listed():
    """Paths of the pages that the site has a place for."""
    return [path for pages in SECTIONS.values() for path in pages.values()]


def links(text):
    """The links of a page that lead to files, or to places in itself: path, which may be empty, and anchor."""
    found = (match["link"] for match in LINK.finditer(text) if match["link"])
    return [link.partition("#")[::2] for link in found if not re.match(r"[a-z]+:", link)]


def target(page, link):
    """The path in the repository that a link of a page leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def in_site():
    """Paths of all files that the site has: what is listed, and what it leads to."""
    found, waiting = set(listed()), listed()
    while waiting:
        page = waiting.pop()
        for path in {target(page, link) for link, _ in links((ROOT / page).read_text()) if link} - found:
            if (ROOT / path).is_file():
                found.add(path)
                waiting += [path] if path.endswith(".md") else []
    return sorted(found)


def place(path):
    """Where the copy of a file is."""
    if path == HOME:
        return "index.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"repository/{path}" + ("" if path.endswith(".md") else ".md")


def rewritten(text, page):
    """A page's text with links between copies."""

    def replaced(match):
        link, hash_sign, anchor = (match["link"] or "").partition("#")
        if not link or re.match(r"[a-z]+:", link):
            return match[0]
        there = posixpath.relpath(place(target(page, link)), posixpath.dirname(place(page)) or ".")
        return f"]({there}{hash_sign}{anchor})"

    return LINK.sub(replaced, text)


def copy_of(path):
    """What stands in the copy of a file."""
    text = (ROOT / path).read_text()
    if not path.endswith(".md"):
        text = f"# `{path}`\n\n````{LANGUAGES.get(pathlib.Path(path).suffix, '')}\n{text}````\n"
    else:
        text = rewritten(text, path)
    if path == HOME:
        text += "".join(list_of_pages(caption, pages) for caption, pages in SECTIONS.items())
    return text if path in listed() else f"---\norphan: true\n---\n{text}"


def list_of_pages(caption, pages):
    lines = [f"{title} <{'self' if path == HOME else place(path)}>" for title, path in pages.items()]
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *lines, "```", ""])


def main(folder=ROOT / "dist" / "docs"):
    for outdated in (COPIES, folder):
        shutil.rmtree(outdated, ignore_errors=True)
    for path in in_site():
        copy = COPIES / place(path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(copy_of(path))
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-c", ROOT / "docs", "-d", COPIES / ".read"]
    code = subprocess.run([*command, COPIES, folder]).returncode
    if code == 0:
        print(f"docs: {os.path.relpath(folder)}/index.html")
    return code


if __name__ == "__main__":
    sys.exit(main(*map(pathlib.Path, sys.argv[1:])))
