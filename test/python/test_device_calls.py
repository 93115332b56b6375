"""Calls on a GPU, which is emulated where there is none: what `explain` says of them, and that their bits are the host's."""

import json
import os
import subprocess

import numpy as np
import pytest
from program import PROGRAM

TYPES = dict(f16="f2", f32="f4", f64="f8", i8="i1", i16="i2", i32="i4", i64="i8", u8="u1", u16="u2", u32="u4", u64="u8")
on_gpu = pytest.mark.usefixtures("gpu")
# What takes an emulator minutes is for devices.
is_gpu = os.path.exists("/dev/nvidia0")


def kintsugi(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def tensor(name, shape, kind):
    return f"input {name}[" + ", ".join(f"i{n}:{extent}" for n, extent in enumerate(shape)) + f"] {kind}\n"


def top_k(shape, axis, k, largest=True, kind="f32"):
    out = [k if dimension == axis else extent for dimension, extent in enumerate(shape)]
    attributes = json.dumps(dict(k=k, axis=axis, largest=largest))
    call = f'(v{out} {kind}, p{out} i64) = call TopK(x) {attributes} @"top"\n'
    return tensor("x", shape, kind) + call + "output v\noutput p\n"


def scatter_nd(shape, updates, depth, reduction, kind="f32"):
    text = tensor("d", shape, kind) + tensor("q", (updates, depth), "i64")
    text += tensor("u", (updates, *shape[depth:]), kind)
    attributes = json.dumps(dict(reduction=reduction))
    return text + f's{list(shape)} {kind} = call ScatterND(d, q, u) {attributes} @"scatter"\noutput s\n'


def samples(shape, kind, random):
    """Many equal ones, zeros of both signs, infinities and NaN."""
    type = np.dtype(TYPES[kind])
    if type.kind == "f":
        few = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1, -1], type)
        return np.where(random.random(shape) < 0.3, random.choice(few, shape), random.standard_normal(shape)).astype(type)
    limits = np.iinfo(type)
    many = random.integers(limits.min, limits.max, shape, dtype=type, endpoint=True)
    return np.where(random.random(shape) < 0.3, (many % 5).astype(type), many)


def outputs(folder, text, target, feeds):
    """By name, of a run; or the message where there are none."""
    model, artifact = folder / "model.te", folder / f"{target}.kin"
    model.write_text(text)
    np.savez(folder / "feeds.npz", **feeds)
    assert kintsugi("compile", model, "--target", target, "-o", artifact, "--quiet")[::2] == (0, "")
    results = folder / "results.npz"
    code, _, errors = kintsugi("run", artifact, "--inputs", folder / "feeds.npz", "--outputs", results, "--quiet")
    return dict(np.load(results)) if code == 0 else errors


def check_bits(folder, text, feeds):
    host, device = (outputs(folder, text, target, feeds) for target in ("cpu", "cuda"))
    assert host.keys() == device.keys()
    for name, result in host.items():
        assert result.tobytes() == device[name].tobytes(), name


@on_gpu
@pytest.mark.parametrize("kind", TYPES)
def test_top_k_of_every_type(tmp_path, kind):
    random = np.random.default_rng(1)
    long = 20001 if is_gpu else 5001
    for shape, k, largest in (((9, 777), 33, True), ((2, long), long, False)):
        check_bits(tmp_path, top_k(shape, 1, k, largest, kind), dict(x=samples(shape, kind, random)))


@on_gpu
@pytest.mark.parametrize(
    "shape, axis, k",
    [((1,), 0, 1), ((3001, 10), 1, 4), ((300, 33), 0, 7), ((2, 9001, 3), 1, 50), ((1, 9001, 2), 1, 9001)]
    + [((5, 4096), 1, k) for k in (1, 100, 4096)]
    + [((1000003 if is_gpu else 20003,), 0, k) for k in (10, 2047, 2049)]
    + [((1000003 if is_gpu else 20003,), 0, 1000003 if is_gpu else 20003)],
)
def test_top_k_of_every_shape(tmp_path, shape, axis, k):
    feeds = dict(x=samples(shape, "f32", np.random.default_rng(2)))
    check_bits(tmp_path, top_k(shape, axis, k), feeds)


def scatter_feeds(shape, updates, depth, kind):
    random = np.random.default_rng(3)
    type, space = np.dtype(TYPES[kind]), (updates, *shape[depth:])
    indices = np.stack([random.integers(-extent, extent, updates) for extent in shape[:depth]], 1)
    if type.kind != "f":
        return dict(d=samples(shape, kind, random), q=indices, u=samples(space, kind, random))
    return dict(d=random.standard_normal(shape).astype(type), q=indices, u=random.standard_normal(space).astype(type))


@on_gpu
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatters(tmp_path, reduction):
    for kind in ("f16", "f32", "f64", "u8", "i32"):
        feeds = scatter_feeds((50, 6, 33), 400, 2, kind)
        check_bits(tmp_path, scatter_nd((50, 6, 33), 400, 2, reduction, kind), feeds)
    many = 100000 if is_gpu else 3000
    check_bits(tmp_path, scatter_nd((1000, 8), many, 1, reduction), scatter_feeds((1000, 8), many, 1, "f32"))


@on_gpu
def test_an_index_outside_is_the_same_error(tmp_path):
    feeds = scatter_feeds((50, 6, 33), 400, 2, "f32")
    feeds["q"][200, 1] = 6
    feeds["q"][300, 0] = -1000000
    text = scatter_nd((50, 6, 33), 400, 2, "add")
    for target in ("cpu", "cuda"):
        message = outputs(tmp_path, text, target, feeds)
        assert "node 'scatter': ScatterND: index 6 is outside dimension 1 of extent 6" in message


def explained(folder, text):
    (folder / "model.te").write_text(text)
    code, out, _ = kintsugi("explain", folder / "model.te", "--target", "cuda", "--json")
    assert code == 0
    return json.loads(out)


def test_explain_says_where_calls_run(tmp_path):
    found = explained(tmp_path, top_k((4, 9000), 1, 20))
    assert [(kernel["kind"], kernel["runs_on"], kernel["nodes"]) for kernel in found["kernels"]] == [
        ("call", "device", ["top"])
    ] * 2
    records = [record for record in found["decisions"]["records"] if record["phase"] == "calls"]
    assert [record["decision"] for record in records] == ["call TopK runs on the device"]

    found = explained(tmp_path, top_k((1, 5 << 30), 1, 20, kind="u8"))
    assert [(kernel["kind"], kernel["runs_on"]) for kernel in found["kernels"]] == [("call", "host")]
    records = [record for record in found["decisions"]["records"] if record["phase"] == "calls"]
    assert "its rows are too long" in records[0]["reasons"]


@pytest.mark.parametrize("kind", ["i2", "u4", "f4e2m1", "f8e5m2"])
def test_packed_elements_are_ordered_on_the_device(tmp_path, kind):
    found = explained(tmp_path, top_k((4, 900), 1, 20, kind=kind))
    calls = [kernel["runs_on"] for kernel in found["kernels"] if kernel["kind"] == "call"]
    assert calls and set(calls) == {"device"}
