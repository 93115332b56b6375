"""Writes docs/operators.md: which ONNX operators can be imported; with --check says whether it is current.

usage: operators_page.py [--check] PROGRAM

The operators are those that `kintsugi operators` lists, the others those that the onnx package has besides. How many
of the official node cases of an operator pass is counted by test/conformance/passing.txt, and so are the types of
tensors that such cases have.
"""

import collections
import pathlib
import warnings

import check_passing
import generated_page
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "operators.md"
HEAD = """# Operators

<!-- Written by scripts/operators_page.py from what `kintsugi operators` and the onnx package list, and from
test/conformance/passing.txt; ./dev operators-page does it. -->
Models may use versions {oldest} to {newest} of ONNX's operator set. Below are the operators that a model may have, since which
versions they are understood, how many of the official cases about them pass, and with which types of tensors. What is
not understood is refused by an error that names the node, the reason and what to do. A model's own
functions may have any name. `./dev conformance` runs the cases and says of each that fails why.

| operator | since version | official cases | types in them |
| --- | --- | --- | --- |
"""
OTHERS = """
ONNX's other operators, which are refused by name, with the number of official cases about them:

"""


def type_names(case):
    """Of the tensors that a case's graph has at its borders: float32 is "float"."""
    names = set()
    for value in [*case.model.graph.input, *case.model.graph.output]:
        if value.type.HasField("tensor_type"):
            names.add(onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type).lower())
    return names


def official_cases():
    """By operator, the cases of one node of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    by_operator = collections.defaultdict(list)
    for case in cases:
        nodes = case.model.graph.node
        if len(nodes) == 1 and not nodes[0].domain:
            by_operator[nodes[0].op_type].append(case)
    return by_operator


def counted(cases, passing):
    passed = [case for case in cases if case.name in passing]
    types = sorted(set().union(*map(type_names, passed)) if passed else set())
    count = f"{len(passed)} of {len(cases)}" if cases else "-"
    return count, ", ".join(types) or "-"


def page(listed):
    passing = check_passing.names((ROOT / check_passing.LIST).read_text())
    cases = official_cases()
    text = HEAD.format(oldest=listed["oldest"], newest=listed["newest"])
    known = set()
    for operator in listed["operators"]:
        name, domain = operator["name"], operator["domain"]
        if not domain:
            known.add(name)
        count, types = counted([] if domain else cases[name], passing)
        full = f"{domain}.{name}" if domain else name
        text += f"| `{full}` | {', '.join(map(str, operator['since']))} | {count} | {types} |\n"
    others = sorted({schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain} - known)
    return text + OTHERS + "\n".join(f"- `{name}` ({len(cases[name])})" for name in others) + "\n"


if __name__ == "__main__":
    generated_page.main(PAGE, "operators", page)
