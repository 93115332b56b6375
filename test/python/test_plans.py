"""What the search finds: cases of which the best plan is known."""

import json
import re
import subprocess

import pytest
from program import PROGRAM

# Values that several definitions read, and each of the bytes has to move once.
ONE_PASS = {
    "three reductions of one value": """
input x[i:ROWS, j:4096] f32
a[i:ROWS] f32 = sum<f32>[j:4096] x[i, j]
b[i:ROWS] f32 = max<f32>[j:4096] x[i, j]
c[i:ROWS] f32 = sum<f32>[j:4096] x[i, j] * x[i, j]
output a
output b
output c
""",
    "a cheap producer of two reductions": """
input x[i:ROWS, j:4096] f32
r[i:ROWS, j:4096] f32 = max(x[i, j], 0)
a[i:ROWS] f32 = sum<f32>[j:4096] r[i, j]
b[i:ROWS] f32 = sum<f32>[j:4096] r[i, j] * r[i, j]
output a
output b
""",
    "two maps of one value": """
input x[i:ROWS, j:4096] f32
a[i:ROWS, j:4096] f32 = max(x[i, j], 0)
b[i:ROWS, j:4096] f32 = x[i, j] * x[i, j]
output a
output b
""",
    "a map and a sum of it beside another sum": """
input x[i:ROWS, j:4096] f32
m[i:ROWS] f32 = max<f32>[j:4096] x[i, j]
e[i:ROWS, j:4096] f32 = exp(x[i, j] - m[i])
s[i:ROWS] f32 = sum<f32>[j:4096] e[i, j]
q[i:ROWS] f32 = sum<f32>[j:4096] e[i, j] * x[i, j]
y[i:ROWS] f32 = q[i] / s[i]
output y
""",
}


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("flags", [["--cpu-level", "v3"], ["--cpu-level", "v4"], ["--target", "cuda"]], ids=["v3", "v4", "cuda"])
@pytest.mark.parametrize("name", ONE_PASS)
def test_shared_inputs_are_read_once(name, flags, tmp_path):
    model = tmp_path / "model.te"
    model.write_text(ONE_PASS[name].replace("ROWS", "4096"))
    report = json.loads(run("compile", model, "-o", tmp_path / "model.kin", "--json", *flags))
    assert report["kernels"] == 1
    apart = json.loads(run("compile", model, "-o", tmp_path / "model.kin", "--json", "--plan", "separate", *flags))
    assert apart["kernels"] > 1 and report["objective_seconds"] < 0.95 * apart["objective_seconds"]
    key = re.search(r'^kernel k0 key "(\w+)"', run("compile", model, "--emit", "plan", *flags), re.M)[1]
    space = run("compile", model, "--emit", "space", *flags)
    assert int(re.search(rf'^kernel \d+ key "{key}" .* reads (\d+)', space, re.M)[1]) == 4 * 4096 * 4096


@pytest.mark.parametrize("name", ONE_PASS)
def test_the_answers_are_right(name, level, tmp_path):
    model = tmp_path / "model.te"
    model.write_text(ONE_PASS[name].replace("ROWS", "61"))
    run("compare", model, "--cpu-level", level, "--no-cache")


# Values that are read before and after what is made of all of them: computing them again costs less than memory does.
COMPUTED_AGAIN = {
    "a map divided by the greatest sum of a row": """
input x[i:ROWS, j:4096] f32
r[i:ROWS, j:4096] f32 = max(x[i, j], 0)
a[i:ROWS] f32 = sum<f32>[j:4096] r[i, j]
s[] f32 = max<f32>[i:ROWS] a[i]
y[i:ROWS, j:4096] f32 = r[i, j] * s[]
output y
""",
    "a chain of maps": """
input x[i:ROWS, j:4096] f32
input w[j:4096] f32
r[i:ROWS, j:4096] f32 = max(x[i, j] * w[j], 0)
t[i:ROWS, j:4096] f32 = r[i, j] + 1
a[i:ROWS] f32 = sum<f32>[j:4096] t[i, j]
s[] f32 = max<f32>[i:ROWS] a[i]
y[i:ROWS, j:4096] f32 = t[i, j] * s[] + r[i, j]
output y
""",
}


@pytest.mark.parametrize("flags", [["--cpu-level", "v3"], ["--target", "cuda"]], ids=["cpu", "cuda"])
@pytest.mark.parametrize("name", COMPUTED_AGAIN)
def test_cheap_values_are_computed_again_where_they_are_read(name, flags, tmp_path):
    """One kernel does so by itself; where it takes several, nothing but the result is stored."""
    model = tmp_path / "model.te"
    model.write_text(COMPUTED_AGAIN[name].replace("ROWS", "4096"))

    def compiled(*more):
        return json.loads(run("compile", model, "-o", tmp_path / "model.kin", "--json", *flags, *more))

    report, stored = compiled(), compiled("--disable", "rematerialize")
    result = 4096 * 4096 * 4
    assert result <= report["arena_bytes"] < 1.1 * result
    if stored["kernels"] > 1:
        assert stored["arena_bytes"] >= 2 * result and report["objective_seconds"] < 0.75 * stored["objective_seconds"]
    else:
        assert report["objective_seconds"] == stored["objective_seconds"]


@pytest.mark.parametrize("name", COMPUTED_AGAIN)
def test_what_is_computed_again_is_right(name, level, tmp_path):
    model = tmp_path / "model.te"
    model.write_text(COMPUTED_AGAIN[name].replace("ROWS", "61"))
    run("compare", model, "--cpu-level", level, "--no-cache")


def test_products_that_could_share_a_launch_stay_apart(tmp_path):
    """Side by side they have more cores than one behind the other."""
    model = tmp_path / "model.te"
    model.write_text("""
input x[i:384, k:768] f32
input a[768, 768] f32
input b[768, 768] f32
p[i:384, j:768] f32 = sum<f32>[k:768] x[i, k] * a[k, j]
q[i:384, j:768] f32 = sum<f32>[k:768] x[i, k] * b[k, j]
output p
output q
""")
    flags = ("--target", "cuda", "--json")
    report = json.loads(run("compile", model, "-o", tmp_path / "model.kin", *flags))
    assert (report["kernels"], report["launches"]) == (2, 1)


def mixer(blocks, tokens, channels, hidden):
    """A chain of token mixings: products along the first dimension of [tokens, channels], each in a residual."""
    text, x = f"input x0[p:{tokens}, c:{channels}] f32\n", "x0"
    for b in range(blocks):
        text += f"input g{b}[c:{channels}] f32\ninput u{b}[q:{hidden}, p:{tokens}] f32\n"
        text += f"input v{b}[p:{tokens}, q:{hidden}] f32\n"
        text += f"t{b}[c:{channels}, p:{tokens}] f32 = {x}[p, c] * g{b}[c]\n"
        text += f"h{b}[c:{channels}, q:{hidden}] f32 = sum<f32>[p:{tokens}] t{b}[c, p] * u{b}[q, p]\n"
        text += f"e{b}[c:{channels}, q:{hidden}] f32 = max(h{b}[c, q], 0)\n"
        text += f"k{b}[c:{channels}, p:{tokens}] f32 = sum<f32>[q:{hidden}] e{b}[c, q] * v{b}[p, q]\n"
        text += f"x{b + 1}[p:{tokens}, c:{channels}] f32 = k{b}[c, p] + {x}[p, c]\n"
        x = f"x{b + 1}"
    return text + f"output {x}\n"


@pytest.mark.parametrize("blocks, sizes", [(3, (16, 32, 24)), (2, (49, 128, 192)), (2, (196, 512, 384))])
@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_formats_of_a_chain_are_those_of_its_exact_optimum(blocks, sizes, target, tmp_path):
    (tmp_path / "chain.te").write_text(mixer(blocks, *sizes))

    def objective(*flags):
        words = "compile", tmp_path / "chain.te", "-o", tmp_path / "chain.kin", "--target", target, "--json", *flags
        found = json.loads(run(*words))
        return found["objective_seconds"], found["gap"]

    best, _ = objective("--plan", "exhaustive")
    seconds, gap = objective()
    assert gap < 0.01 and best * (1 - 1e-9) <= seconds <= best / (1 - gap) * (1 + 1e-9)
    assert gap == 0 or target == "cpu"  # Whose prices are those of the machine at hand.
    for flags in (["--disable", "formats"], ["--plan", "greedy"], ["--disable", "alternatives"]):
        assert objective(*flags)[0] >= best * (1 - 1e-9), flags
