"""The pages of docs/ and their site, without the generator: each page has its place, links lead to files and headings, in the
repository as in the site, and commands that pages name are there."""

import posixpath
import re
import subprocess

import docs_site
import pytest
from program import PROGRAM, ROOT

PAGES = [path for path in docs_site.in_site() if path.endswith(".md")]
CODE = re.compile(r"^```.*?\n(.*?)^```$|`([^`\n]+)`", re.M | re.S)


def text_of(page):
    return (ROOT / page).read_text()


def anchors(text):
    """What a link may name of a page after '#': its headings, as GitHub writes them."""
    text = re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.M | re.S)
    found = []
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.append(name if name not in found else f"{name}-{found.count(name)}")
    return set(found)


def test_every_page_has_a_place_in_the_site():
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    listed = docs_site.listed()
    assert pages <= set(listed) and len(listed) == len(set(listed))
    assert all((ROOT / path).is_file() for path in listed)
    places = [docs_site.place(path) for path in docs_site.in_site()]
    assert len(places) == len(set(places))


def test_the_first_page_lists_all_others():
    lists = docs_site.copy_of(docs_site.HOME).split("```{toctree}")[1:]
    assert [re.search(":caption: (.*)", each)[1] for each in lists] == list(docs_site.SECTIONS)
    named = re.findall(r"^.+ <(.+)>$", "".join(lists), re.M)
    assert named == ["self", *(docs_site.place(path) for path in docs_site.listed()[1:])]


def test_pages_are_reached_from_the_first_ones():
    """docs/start.md for who uses it, docs/architecture.md for who changes it."""
    for first, captions in (("docs/start.md", ["Using it", "Recipes"]), ("docs/architecture.md", ["How it works"])):
        linked = {docs_site.target(first, link) for link, _ in docs_site.links(text_of(first))} | {first}
        assert {path for caption in captions for path in docs_site.SECTIONS[caption].values()} <= linked


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page):
    broken = []
    for link, anchor in docs_site.links(text_of(page)):
        path = docs_site.target(page, link) if link else page
        is_there = (ROOT / path).exists() and (not anchor or anchor in anchors(text_of(path)))
        broken += [] if is_there else [f"{link}#{anchor}"]
    assert broken == []


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_the_same_in_the_site(page):
    places = {docs_site.place(path): path for path in docs_site.in_site()}
    folder = posixpath.dirname(docs_site.place(page))
    copied = docs_site.links(docs_site.rewritten(text_of(page), page))
    found = [(places.get(posixpath.normpath(posixpath.join(folder, link))), anchor) for link, anchor in copied if link]
    meant = [(docs_site.target(page, link), anchor) for link, anchor in docs_site.links(text_of(page)) if link]
    assert found == meant


def test_sources_are_shown_as_they_are():
    path = "include/kintsugi/runtime.h"
    assert path in docs_site.in_site()
    shown = docs_site.copy_of(path)
    assert (ROOT / path).read_text() in shown and "# `include/kintsugi/runtime.h`" in shown and "orphan: true" in shown


def commands_of(page, name):
    """What pages have a program do, in blocks and spans of code: the words behind its name, up to a comment."""
    for block, span in CODE.findall(text_of(page)):
        for line in (block or span).splitlines():
            words = line.removeprefix("$ ").split("#")[0].split("|")[0].split()
            if words[:1] == [name] and len(words) > 1:
                yield words[1:]


def test_commands_of_dev_exist():
    source = text_of("dev")
    known = set(re.findall(r"^  ([\w-]+)\)", source.split("case $command in")[1], re.M))
    benchmarks = re.search(r'^benchmarks="(.*)"', source, re.M)[1].split()
    named = {(page, *words[:2]) for page in PAGES for words in commands_of(page, "./dev")}
    assert len(named) > 40
    assert [each for each in named if each[1] not in known] == []
    measured = [(page, name) for page, verb, *names in named if verb == "bench" for name in names]
    assert measured and [each for each in measured if each[1] not in benchmarks] == []


def help_of(*words):
    return subprocess.run([PROGRAM, *words, "--help"], capture_output=True, text=True, check=True).stdout


def test_commands_of_the_program_exist():
    """Verbs, and of each the flags that pages give it."""
    told = {verb: help_of(verb) for verb in re.findall(r"^  ([a-z]+) ", help_of().split("Subcommands:")[1], re.M)}
    named = [(page, words) for page in PAGES for words in commands_of(page, "kintsugi") if re.fullmatch("[a-z]+", words[0])]
    assert {"compile", "run", "explain", "doctor"} <= {words[0] for _, words in named}
    assert [(page, words[0]) for page, words in named if words[0] not in told] == []
    flags = [(page, words[0], word) for page, words in named for word in words if re.fullmatch("--[a-z-]+", word)]
    assert len(flags) > 20
    assert [(page, verb, flag) for page, verb, flag in flags if flag not in told[verb]] == []
