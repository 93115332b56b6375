"""Masks made of positions: what they hide is skipped, which is told where it assumes finite values."""

import re

import pytest

DENSE = ("--disable", "mask-blocks,skip-masked-blocks")
MASKED_ATTENTION = """
input q[h:4, i:256, d:32] f32
input k[h:4, c:256, d:32] f32
input v[h:4, c:256, d:32] f32
s[h:4, i:256, c:256] f32 = sum<f32>[d:32] q[h, i, d] * k[h, c, d]
x[h:4, i:256, c:256] f32 = cases {{ {open}: s[h, i, c]; else: {low} }}
m[h:4, i:256] f32 = max<f32>[c:256] x[h, i, c]
e[h:4, i:256, c:256] f32 = exp(x[h, i, c] - m[h, i])
t[h:4, i:256] f32 = sum<f32>[c:256] e[h, i, c]
p[h:4, i:256, c:256] f32 = e[h, i, c] / t[h, i]
w[h:4, i:256, c:256] f32 = cases {{ isnan(p[h, i, c]): 0; else: p[h, i, c] }}
o[h:4, i:256, d:32] f32 = sum<f32>[c:256] w[h, i, c] * v[h, c, d]
y[i:256, z:128] f32 = o[z // 32, i, z % 32]
output y
"""


@pytest.mark.parametrize(
    ("seen", "low"),
    [
        ("i32{c} <= i32{i}", "-inf"),
        ("i32{c // 32} == i32{i // 32}", "-3.4028235e+38"),
        # The first rows see nothing.
        ("i32{c + 40} <= i32{i}", "-inf"),
        ("i32{c + 40} <= i32{i}", "-3.4028235e+38"),
    ],
)
def test_masks_made_of_positions_are_skipped_and_right(folder, kintsugi, level, seen, low):
    """Against the reference target, which computes every element in f64."""
    file = folder / "masked.te"
    file.write_text(MASKED_ATTENTION.format(open=seen, low=low))
    code, out, errors = kintsugi("compare", file, "--no-cache", "--cpu-level", level)
    assert code == 0, out + errors
    code, out, errors = kintsugi("explain", file, "--no-cache", "--decisions")
    assert code == 0, errors
    assert re.search("mask of 'x': blocks of [0-9]+ rows and [0-9]+ columns", out), out
    code, out, errors = kintsugi("explain", file, "--no-cache", "--decisions", *DENSE)
    assert code == 0 and "mask of" not in out


def test_what_is_assumed_to_be_finite_is_told(folder, report, kintsugi):
    """NaN in a value that a mask hides does not reach the output: by design, but the user has to know."""
    model = folder / "assumed.te"
    model.write_text(MASKED_ATTENTION.format(open="i32{c} <= i32{i}", low="-inf"))
    artifact = folder / "assumed.kin"
    (note,) = report("compile", model, "-o", artifact, "--json")["notes"]
    assert note == (
        "values are assumed to be finite: what masks hide (1); --disable skip-masked-blocks computes them as written"
    )
    found = report("explain", model, "--json", "--no-cache")["decisions"]["records"]
    assert [record["decision"] for record in found if "assumed" in record["decision"]] == [note]
    assert report("compile", model, "-o", artifact, "--json", *DENSE)["notes"] == []
    code, _, errors = kintsugi("compile", model, "-o", artifact)
    assert code == 0 and errors == f"kintsugi: {note}\n"
    assert kintsugi("compile", model, "-o", artifact, "--quiet") == (0, "", "")


def test_bounded_values_need_no_assumption(folder, report):
    """Facts prove that what is made of integers by tanh is finite."""
    model = folder / "bounded.te"
    text = MASKED_ATTENTION.format(open="i32{c} <= i32{i}", low="-inf")
    for name in "qkv":
        text = re.sub(rf"input {name}(.*) f32", rf"input {name}0\1 i32", text)
    made = "".join(f"{n}[h:4, r:256, d:32] f32 = tanh(f32({n}0[h, r, d]))\n" for n in "qkv")
    text = text.replace("s[h:4, i:256, c:256] f32 = ", made + "s[h:4, i:256, c:256] f32 = ", 1)
    model.write_text(text)
    assert report("compile", model, "-o", folder / "bounded.kin", "--json")["notes"] == []
    records = report("explain", model, "--json", "--no-cache")["decisions"]["records"]
    assert any(record["subject"] == "mask of 'x'" for record in records)


def test_constants_of_derived_expressions_are_named(folder, kintsugi):
    model, derived = folder / "masked.te", folder / "masked.derived.te"
    model.write_text(MASKED_ATTENTION.format(open="i32{c} <= i32{i}", low="-inf"))
    assert kintsugi("compile", model, "--emit", "derived", "-o", derived)[0] == 0
    assert "mask.column[" in derived.read_text()
    code, _, errors = kintsugi("compile", derived, "-o", folder / "masked.kin")
    assert code == 3 and "are not part of the text; compile the model they come from" in errors
