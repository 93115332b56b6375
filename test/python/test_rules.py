"""The table of rules, from which `--disable`, its help and docs/rules.md are made."""

import json
import os
import subprocess
import sys

import pytest
from program import PROGRAM, ROOT


@pytest.fixture
def run(tmp_path):
    def run(*arguments):
        environment = os.environ | {"KINTSUGI_CACHE": str(tmp_path / "cache")}
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_page_says_what_the_compiler_says():
    subprocess.run([sys.executable, ROOT / "scripts" / "rules_page.py", "--check", PROGRAM], check=True)


def test_every_rule_has_a_case(run):
    rules = {each["name"] for each in json.loads(run("rules", "--json")) if each["kind"] == "rule"}
    assert rules == {path.name.split(".")[0] for path in (ROOT / "test" / "rules").glob("*.te")} and len(rules) >= 12
    assert all(name in run("rules") for name in rules)


def test_every_name_can_be_disabled_and_is_part_of_the_key(run, tmp_path):
    model = tmp_path / "sum.te"
    model.write_text("input x[8, 8] f32\ny[i:8] f32 = sum<f32>[j:8] x[i, j]\noutput y\n")
    names = [each["name"] for each in json.loads(run("rules", "--json"))]
    for name in names:
        run("compile", model, "-o", tmp_path / "a.kin", "--target", "cuda", "--disable", name)

    def entries():
        return len(json.loads(run("cache", "ls", "--json"))["entries"])

    counts = []
    for flags in [[], ["--disable", "fusion"], ["--disable", names[0]], ["--disable", f"fusion,{names[0]}"]] * 2:
        run("run", model, "--cpu-level", "v3", *flags)
        counts.append(entries())
    assert counts[0] < counts[1] < counts[2] < counts[3] == counts[7], counts


def test_no_fission_is_a_name_of_the_list(run, tmp_path):
    model = tmp_path / "sum.te"
    model.write_text("input x[8, 8] f32\ny[i:8] f32 = sum<f32>[j:8] x[i, j]\noutput y\n")

    def entries(*flags):
        run("run", model, "--cpu-level", "v3", *flags)
        return len(json.loads(run("cache", "ls", "--json"))["entries"])

    usual, without = entries(), entries("--no-fission")
    assert usual < without == entries("--disable", "fission")
    both = entries("--no-fission", "--disable", "fusion")
    assert without < both == entries("--disable", "fusion,fission") == entries("--disable", "fusion", "--no-fission")


def test_whole_operators_keep_their_sums(run, tmp_path):
    across = [rule["name"] for rule in json.loads(run("rules", "--json")) if rule.get("across_operators")]
    assert "commute-sums" in across and "winograd" not in across
    model, out = tmp_path / "columns.te", tmp_path / "derived.te"
    model.write_text("input x[256, 128] f32\ninput w[128, 256] f32\n"
                     "p[i:256, j:256] f32 = sum<f32>[k:128] x[i, k] * w[k, j]\n"
                     "y[i:256] f32 = sum<f32>[j:256] p[i, j]\noutput y\n")

    def derived(*flags):
        run("compile", model, "--cpu-level", "v3", "--emit", "derived", "-o", out, *flags)
        return out.read_text()

    assert derived() != derived("--disable", ",".join(across))
    assert derived("--no-fission") == derived("--no-fission", "--disable", ",".join(across))


def test_derivation_is_a_word_for_all_rules(run, tmp_path):
    model = tmp_path / "products.te"
    model.write_text(
        "input x[512, 512] f32\ninput a[512, 512] f32\ninput b[512, 8] f32\n"
        "p[i:512, j:512] f32 = sum<f32>[k:512] x[i, k] * a[k, j]\n"
        "y[i:512, o:8] f32 = sum<f32>[j:512] p[i, j] * b[j, o]\noutput y\n"
    )
    rules = [each["name"] for each in json.loads(run("rules", "--json")) if each["kind"] == "rule"]

    def entries(*flags):
        run("run", model, "--cpu-level", "v3", *flags)
        return len(json.loads(run("cache", "ls", "--json"))["entries"])

    usual, without = entries(), entries("--disable", "derivation")
    assert usual < without == entries("--disable", ",".join(rules))

    def explained(*flags):
        return json.loads(run("explain", model, "--json", *flags))["decisions"]["records"]

    assert without < entries("--disable", "derivation,fusion") == entries("--disable", f"fusion,{','.join(rules)}")
    for target in [["--cpu-level", "v3"], ["--target", "cuda"]]:
        decided = {
            flags: {each.get("rule") for each in explained(*target, *flags)}
            for flags in [(), ("--disable", "derivation")]
        }
        assert "commute-sums" in decided[()] and decided["--disable", "derivation"] == {None}
