"""Pages: examples of CONTRIBUTING.md are what the tests compile and run, files that pages name are there."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "test" / "unit" / "contributing"
PAGES = ["CONTRIBUTING.md", "README.md", "SECURITY.md", "zoo/README.md"]
PAGES += sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))


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
