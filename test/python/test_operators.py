"""The table of operators, from which `kintsugi operators` and docs/operators.md are made."""

import json
import subprocess
import sys

import onnx
from program import PROGRAM, ROOT


def listed(*arguments):
    return subprocess.run([PROGRAM, "operators", *arguments], check=True, capture_output=True, text=True).stdout


def test_the_page_says_what_the_compiler_says():
    subprocess.run([sys.executable, ROOT / "scripts" / "operators_page.py", "--check", PROGRAM], check=True)


def test_every_operator_is_one_of_onnx_or_of_another_domain():
    report = json.loads(listed("--json"))
    known = {schema.name for schema in onnx.defs.get_all_schemas_with_history() if not schema.domain}
    names = [each["name"] for each in report["operators"] if not each["domain"]]
    assert len(names) == len(set(names)) > 100 and set(names) <= known
    for each in report["operators"]:
        assert each["since"] == sorted(each["since"]) and each["since"][0] >= report["oldest"]
    assert report["newest"] <= onnx.defs.onnx_opset_version()


def test_the_text_has_every_operator():
    lines = listed().splitlines()
    report = json.loads(listed("--json"))
    assert str(report["newest"]) in lines[0] and len(lines) == 1 + len(report["operators"])
    assert any(line.split()[0] == "Conv" for line in lines)
