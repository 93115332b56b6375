"""Pages: examples of CONTRIBUTING.md are what the tests compile and run, files and links that pages name are there."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "test" / "unit" / "contributing"
PAGES = ["CONTRIBUTING.md", "README.md", "SECURITY.md", "zoo/README.md"]
PAGES += sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))


def blocks(text):
    return re.findall(r"^```cpp\n(.*?)^```$", text, re.M | re.S)


@pytest.mark.parametrize("number, name", [(0, "operator"), (1, "target")])
def test_example_is_quoted_as_it_is_tested(number, name):
    source = (EXAMPLES / f"{name}_example_test.cpp").read_text()
    quoted = re.search(rf"// example: {name}\n(.*?)// end of example", source, re.S).group(1)
    assert blocks((ROOT / "CONTRIBUTING.md").read_text())[number].strip() == quoted.strip()


@pytest.mark.parametrize("page", PAGES)
def test_paths_in_pages_exist(page):
    text = (ROOT / page).read_text()
    named = set(re.findall(r"`((?:src|test|docs|zoo|bench|scripts|examples|include)/[\w./]+)`", text))
    missing = sorted(path for path in named if not (ROOT / path).exists())
    assert named or page != "CONTRIBUTING.md"
    assert missing == []


def anchors(text):
    """What a link may name of a page after '#': its headings, as GitHub writes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page):
    folder = (ROOT / page).parent
    broken = []
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", (ROOT / page).read_text()):
        name, _, anchor = link.partition("#")
        target = folder / name if name else ROOT / page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            broken.append(link)
    assert broken == []


def test_every_page_is_reached_from_the_first():
    """docs/architecture.md is the page to read first: it names all that say why something is as it is."""
    linked = set(re.findall(r"\]\(([\w-]+\.md)", (ROOT / "docs/architecture.md").read_text()))
    reference = {"architecture.md", "command-line.md", "python.md"}
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - reference <= linked
