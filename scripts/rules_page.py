"""Writes docs/rules.md from what `kintsugi rules` lists; with --check says whether it is current.

usage: rules_page.py [--check] PROGRAM
"""

import pathlib

import generated_page

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "rules.md"
HEAD = """# Rules

<!-- Written by scripts/rules_page.py from the compiler's own table (src/derive/rules.inc); ./dev rules-page does it. -->
A rule says of some expressions that others are equal to them. `--disable NAME` leaves rules out, to see what they
bring; answers stay within the error policy. A case of each, before and after, is in `test/rules`. They are applied in
this order, once where each says that it pays, and once wherever they match, whatever machine they are thought for; the
solver chooses among what comes of both and the program as it is, part by part (`--disable alternatives` takes the former):

| rule | what is equal | in numbers | assumed to be finite | on | from |
| --- | --- | --- | --- | --- | --- |
"""
SWITCHES = """
`--disable` also names what is no rule:

| name | what it allows | on |
| --- | --- | --- |
"""


def page(listed):
    text = HEAD
    for rule in listed:
        if rule["kind"] == "rule":
            cells = [f"`{rule['name']}`", rule["what"], rule["exactness"], rule["assumes"] or "-",
                     ", ".join(rule["targets"]), rule["source"] or "-"]
            text += "| " + " | ".join(cells) + " |\n"
    text += SWITCHES
    for switch in listed:
        if switch["kind"] == "switch":
            text += f"| `{switch['name']}` | {switch['what']} | {', '.join(switch['targets'])} |\n"
    return text


if __name__ == "__main__":
    generated_page.main(PAGE, "rules", page)
