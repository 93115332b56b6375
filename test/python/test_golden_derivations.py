"""The derivations that EinNet's paper shows are found from cold by the search, on processors and on GPUs."""

import json
import re
import resource
import subprocess

import numpy as np
import onnx
import pytest
from program import MODEL, PROGRAM, ROOT
from test_derivations import TARGETS, model, node, weight

MOST_SECONDS = 10  # Of all processors together.
MOST_NETWORKS = 3


def timed(verb, path, *flags):
    """The report, and how many seconds processors worked for it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([PROGRAM, verb, path, "--json", *flags], capture_output=True, text=True)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), now.ru_utime - used.ru_utime


def explained(path, *flags):
    return timed("explain", path, "--no-cache", *flags)


@pytest.fixture(scope="module")
def most_seconds(tmp_path_factory):
    """More on a slow processor, which compiles the demo's network as slowly."""
    artifact = tmp_path_factory.mktemp("demo") / "digits.kin"
    _, seconds = timed("compile", MODEL, "-o", artifact, "--cpu-level", "v3")
    return max(MOST_SECONDS, MOST_NETWORKS * seconds)


def steps_of(report):
    """What is part of what was chosen, and what was found besides."""
    decisions = report["decisions"]
    return [step for chain in decisions["derivations"] for step in chain["steps"]], decisions["refused"]


def definition(step, pattern):
    return any(re.search(pattern, line) for line in step["after"].splitlines())


def is_product_of_all_places(step):
    """t[.., i, j, .., taps] = sum[c] x[.., i, j] * k[.., taps]: no window is left in the product."""
    return definition(step, r"^\S*\.places\[.*= sum<f32>\[\w+:\d+\] ")


def is_sum_at_offsets(step):
    """y[i, j] = sum[r, s] (t[i+r, j+s, r, s] | 0): nothing is multiplied any more."""
    return definition(step, r"\] f\w+ = sum<f32>\[\w+:\d+, \w+:\d+\] \(?\S*\.places\[((?! \* ).)*$")


def is_selective(step):
    """The same where a phase of the result says which taps there are."""
    return is_sum_at_offsets(step) and definition(step, r"\.places\[.*(\.phase-2\*|%2)")


def convolution(operator, x, kernel, y, **attributes):
    return lambda: model([node(operator, "x k", "y", **attributes)], {"x": x}, y, k=weight(*kernel))


CONVOLUTIONS = {
    "small": (convolution("Conv", [1, 512, 7, 7], [512, 512, 3, 3], [1, 512, 7, 7], pads=[1] * 4), is_sum_at_offsets),
    "odd": (convolution("Conv", [16, 32, 224, 224], [1, 32, 5, 5], [16, 1, 224, 224], pads=[2] * 4), is_sum_at_offsets),
    "transposed": (
        convolution("ConvTranspose", [16, 448, 2, 2], [448, 256, 4, 4], [16, 256, 4, 4], pads=[1] * 4, strides=[2, 2]),
        is_selective,
    ),
}


@pytest.mark.parametrize("target", ["v3", "v4", "cuda", "cuda f32"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_are_products_and_sums_at_offsets(name, target, tmp_path, most_seconds):
    make, is_sum = CONVOLUTIONS[name]
    onnx.save(make(), tmp_path / "model.onnx")
    flags = TARGETS.get(target, ["--target", "cuda"])
    report, seconds = explained(tmp_path / "model.onnx", *flags)
    taken, refused = steps_of(report)
    found = [step for step in taken + refused if step["rule"] == "window-products"]
    products = [step for step in found if is_product_of_all_places(step)]
    # Of a window in two dimensions also along one first, then along the other.
    sums = [step for step in found if is_sum(step)] or (len(products) > 0 and name == "odd" and len(found) >= 2)
    assert products and sums
    assert all(step["reason"] for step in refused)
    assert seconds <= most_seconds


def g2bmm(rows, width, apart):
    half = apart * (width // 2)
    return (
        f"input q[8, {rows}, 64] f32\ninput k[8, {rows}, 64] f32\n"
        f"s[b:8, m:{rows}, w:{width}] f32 = sum<f32>[c:64] q[b, m, c] * (k[b, m+{apart}*w-{half}, c] | 0)\noutput s\n"
    )


@pytest.mark.parametrize("target", ["v3", "v4", "cuda", "cuda f32"])
def test_a_dilated_band_is_one_without_dilation_or_blocks(target, tmp_path, most_seconds):
    path = tmp_path / "g2bmm.te"
    path.write_text(g2bmm(10000, 1001, 4))
    report, seconds = explained(path, *TARGETS.get(target, ["--target", "cuda"]))
    taken, _ = steps_of(report)
    # By a change of layout: rows of a phase are next to each other, and the window moves by one.
    phases = [step for step in taken if step["rule"] == "band-phases"]
    assert any(definition(step, r"k\.phases\[.*, m\+w[,\]]") for step in phases) or target == "cuda"
    blocks = [step for step in taken if step["rule"] == "band-products"]
    assert any(definition(step, r"\.blocks\[.*row:\d+, column:\d+") for step in blocks)
    rules = [chain["rules"] for chain in report["decisions"]["derivations"]]
    assert target == "cuda" or ["band-phases", "band-products"] in [[r for r in each if r != "formats"] for each in rules]
    assert seconds <= most_seconds


@pytest.mark.parametrize("target", ["v3", "cuda"])
def test_both_products_of_longformer_are_found_in_the_model(target, most_seconds):
    report, seconds = explained(ROOT / "test" / "te" / "longformer.te", *TARGETS[target])
    taken, _ = steps_of(report)
    changed = {value for step in taken if step["rule"] in ("band-phases", "band-products") for value in step["values"]}
    assert {"s", "o"} <= {value.split(".")[0] for value in changed}
    assert seconds <= most_seconds


def test_bands_compute_what_they_are_defined_as(level, tmp_path):
    path = tmp_path / "g2bmm.te"
    path.write_text(g2bmm(770, 65, 3))
    random = np.random.default_rng(5)
    feeds = {name: random.normal(0, 1, (8, 770, 64)).astype(np.float32) for name in "qk"}
    np.savez(tmp_path / "in.npz", **feeds)
    flags = ["--no-cache", "--cpu-level", level, "--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz"]
    subprocess.run([PROGRAM, "run", path, *flags], check=True, capture_output=True)
    padded = np.pad(feeds["k"].astype(np.float64), ((0, 0), (96, 96), (0, 0)))
    expected = np.stack([(feeds["q"] * padded[:, 3 * w : 3 * w + 770]).sum(2) for w in range(65)], 2)
    np.testing.assert_allclose(np.load(tmp_path / "out.npz")["s"], expected, rtol=1e-4, atol=1e-4)
