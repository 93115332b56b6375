"""`explain` says by which equations definitions became others: each step can be run, and gives the same."""

import json
import re
import subprocess

import numpy as np
import onnx
import pytest
import test_derivations as derivations
from program import PROGRAM
from test_derivations import TARGETS, run


def chained_band(path):
    path.write_text(
        "input q[3, 400, 16] f32\ninput k[3, 400, 16] f32\n"
        "s[b:3, m:400, w:65] f32 = sum<f32>[c:16] q[b, m, c] * (k[b, m+2*w-64, c] | 0)\noutput s\n"
    )


def transposed(path):
    nodes = [derivations.node("ConvTranspose", "x k", "y", strides=[2, 2], pads=[1] * 4)]
    onnx.save(derivations.model(nodes, {"x": [2, 24, 5, 5]}, [2, 16, 10, 10], k=derivations.weight(24, 16, 4, 4)), path)


def low_rank(path):
    w, a, b = derivations.weight(96, 128), derivations.weight(96, 4), derivations.weight(4, 128)
    nodes = [derivations.node("MatMul", "x w", "p"), derivations.node("MatMul", "x a", "l")]
    nodes += [derivations.node("MatMul", "l b", "q"), derivations.node("Sub", "p q", "y")]
    onnx.save(derivations.model(nodes, {"x": [64, 96]}, [64, 128], w=w, a=a, b=b), path)


MODELS = {
    "band.te": (chained_band, {"band-phases", "band-products"}),
    "transposed.onnx": (transposed, {"split-phases"}),
    "low_rank.onnx": (low_rank, {"commute-sums", "factor-sums"}),
}


def inputs_of(program):
    """By name; constants whose bytes don't stand in the text become inputs too, which the equations hold for."""
    text = re.sub(r'^const (\S+\[.*\] \w+) = weights\(".*"\)$', r"input \1", program, flags=re.M)
    found = re.findall(r"^input (\S+)\[([\d, ]*)\] (\w+)", text, re.M)
    return text, {name.strip('"'): ([int(d) for d in dims.split(",") if d], kind) for name, dims, kind in found}


def answers(text, feeds, folder):
    (folder / "step.te").write_text(text)
    np.savez(folder / "in.npz", **feeds)
    flags = ["--target", "reference", "--no-cache", "--inputs", folder / "in.npz", "--outputs", folder / "out.npz"]
    run("run", folder / "step.te", *flags)
    with np.load(folder / "out.npz") as found:
        return dict(found)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", MODELS)
def test_each_step_gives_the_same(name, target, tmp_path):
    write, rules = MODELS[name]
    write(tmp_path / name)
    report = json.loads(run("explain", tmp_path / name, "--json", *TARGETS[target]))
    chains, refused = report["decisions"]["derivations"], report["decisions"]["refused"]
    steps = [step for chain in chains for step in chain["steps"]] + refused
    # What a rule made by itself of numbers, such as matrices of Winograd's, has to have them.
    steps = [step for step in steps if 'weights("bytes:' not in step["before"] + step["after"]]
    assert rules <= {step["rule"] for step in steps}
    random = np.random.default_rng(3)
    for step in steps:
        before, wanted = inputs_of(step["before"])
        after, others = inputs_of(step["after"])
        assert before != after and step["equation"] and step["values"]
        drawn = {}
        for each, (shape, kind) in (wanted | others).items():
            assert kind in ("f32", "f16", "f64")
            drawn[each] = random.normal(0, 1, shape).astype({"f32": "f4", "f16": "f2", "f64": "f8"}[kind])
        one = answers(before, {each: drawn[each] for each in wanted}, tmp_path)
        other = answers(after, {each: drawn[each] for each in others}, tmp_path)
        assert one.keys() == other.keys() == set(step["values"])
        for value, expected in one.items():
            scale = np.abs(expected).max()
            np.testing.assert_allclose(other[value], expected, rtol=0, atol=(3e-3 if "f16" in before else 1e-5) * scale)


def test_the_text_shows_the_chain(tmp_path):
    low_rank(tmp_path / "model.onnx")
    text = run("explain", tmp_path / "model.onnx", *TARGETS["cuda"])
    chain = text[text.index("derivations:") : text.index("precision:")]
    assert ": commute-sums, then factor-sums\n" in chain
    first, second = chain.index("    by commute-sums: "), chain.index("    by factor-sums: ")
    assert first < second and chain.count("    becomes\n") >= 2
    before, after = chain[first:second].split("    becomes\n")
    assert "q[i0:64, i1:128] f32 = sum<f32>[r0:4] l[i0, r0] * b[r0, i1]" in before
    assert re.search(r"q\.l\.factor\[.*= sum<f32>\[r0.*:4\] a\[", after)


def test_without_derivation_there_are_no_steps(tmp_path):
    low_rank(tmp_path / "model.onnx")
    flags = [*TARGETS["cuda"], "--disable", "derivation,formats"]
    decisions = json.loads(run("explain", tmp_path / "model.onnx", "--json", *flags))["decisions"]
    assert decisions["derivations"] == decisions["refused"] == []
