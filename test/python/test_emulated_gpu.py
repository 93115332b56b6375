"""Models on a GPU, which is emulated where there is none: whole programs beside the reference, at both architectures."""

import collections
import json
import os
import re
import subprocess
import types

import attention as bench_attention
import numpy as np
import pytest
from program import PROGRAM

pytestmark = [
    pytest.mark.usefixtures("gpu"),
    pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="there is a GPU: the driver counts no instructions"),
]


WITHOUT_BOXES = ("--disable", "bulk-copies")  # Operands of products are staged by threads.


def product(rows, depth, columns):
    return f"""input x[i:{rows}, k:{depth}] f32
input w[k:{depth}, j:{columns}] f32
y[i:{rows}, j:{columns}] f32 = sum<f32>[k:{depth}] x[i, k] * w[k, j]  @"product"
z[i:{rows}, j:{columns}] f32 = max(y[i, j], 0)  @"relu"
output z
"""


def attention(heads, length, size, mask):
    return f"""input q[h:{heads}, i:{length}, d:{size}] f32
input k[h:{heads}, j:{length}, d:{size}] f32
input v[h:{heads}, j:{length}, d:{size}] f32
s[h:{heads}, i:{length}, j:{length}] f32 = sum<f32>[d:{size}] q[h, i, d] * k[h, j, d]  @"scores"
a[h:{heads}, i:{length}, j:{length}] f32 = {mask}  @"mask"
(m[h:{heads}, i:{length}] f32, d[h:{heads}, i:{length}] f32 facts(low=1)) = softmax_stats<f32>[j:{length}] a[h, i, j]  @"softmax"
p[h:{heads}, i:{length}, j:{length}] f32 = exp(a[h, i, j] - m[h, i]) / d[h, i]  @"softmax"
o[h:{heads}, i:{length}, d:{size}] f32 = sum<f32>[j:{length}] p[h, i, j] * v[h, j, d]  @"values"
output o
"""


def convolution(channels, extent, filters):
    return f"""input x[n:1, c:{channels}, h:{extent}, w:{extent}] f32
input k[o:{filters}, c:{channels}, r:3, s:3] f32
t[n:1, o:{filters}, h:{extent}, w:{extent}] f32 = sum<f32>[c:{channels}, r:3, s:3] (x[n, c, h+r-1, w+s-1] | 0) * k[o, c, r, s]  @"conv"
y[n:1, o:{filters}, h:{extent}, w:{extent}] f32 = max(t[n, o, h, w], 0)  @"relu"
output y
"""


REDUCTIONS = """input x[i:37, k:3001] f32
y[i:37] f32 = sum<f32>[k:3001] x[i, k] @"sum"
z[k:3001] f32 = max<f32>[i:37] x[i, k] @"max"
b[i:37] i64 = argmax<f32>[k:3001] (x[i, k], k) @"arg"
output y
output z
output b
"""


class Gpu:
    """Runs the program on one architecture."""

    def __init__(self, folder, environment, architecture):
        self.folder, self.environment, self.architecture = folder, environment, architecture

    def __call__(self, *arguments, options="", fault=""):
        environment = dict(self.environment, KINTSUGI_EMULATOR=f"{self.architecture},{options}")
        environment["KINTSUGI_EMULATOR_FAULT"] = fault
        command = [PROGRAM, *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        return done.returncode, done.stdout + done.stderr

    def compare(self, text, *flags, options=""):
        """How many warps executed each instruction, by the beginning of its name."""
        model, counts = self.folder / "model.te", self.folder / "counts"
        model.write_text(text)
        code, said = self("compare", model, "--target", "cuda", *flags, options=f"{options},counts={counts}")
        assert code == 0, said
        found = collections.Counter()
        for line in counts.read_text().splitlines():
            found.update(json.loads(line)["counts"])
        counts.unlink()
        return lambda prefix: sum(count for name, count in found.items() if name.startswith(prefix))


@pytest.fixture(params=["sm_80", "sm_90a"])
def on(request, tmp_path):
    environment = dict(os.environ, KINTSUGI_CACHE=str(tmp_path / "cache"))
    return Gpu(tmp_path, environment, request.param)


@pytest.mark.parametrize("rows, depth, columns", [(33, 500, 72), (1, 1024, 130), (300, 40, 7), (64, 64, 64)])
def test_products_of_threads(on, rows, depth, columns):
    executed = on.compare(product(rows, depth, columns))
    assert executed("mma") == executed("wgmma.mma") == 0


def test_products_of_warps(on):
    # In launches of their own, rounding the factors first is no gain.
    executed = on.compare(product(256, 256, 256), "--precision", "f16", "--disable", "launch-merging")
    assert executed("mma.sync") > 0 and executed("wgmma.mma") == 0


def test_products_of_four_warps(on):
    executed = on.compare(product(256, 1024, 64), "--precision", "f16", *WITHOUT_BOXES)
    assert (executed("wgmma.mma") > 0) == (on.architecture == "sm_90a")
    assert (executed("mma.sync") > 0) == (on.architecture == "sm_80")
    assert executed("cp.async.cg") > 0


SQUARES = """input x[i:256, k:512] f32
input w[k:512, j:256] f32
q[i:256, k:512] f32 = x[i, k] * x[i, k]  @"square"
y[i:256, j:256] f32 = sum<f32>[k:512] q[i, k] * w[k, j]  @"product"
output y
"""


def test_factors_beyond_the_range_of_f16_stay_f32(on):
    """Squares of numbers near 1000 have no place in f16; that they stay f32 is the program's choice, not a kernel's."""
    random = np.random.default_rng(1)
    feeds = on.folder / "feeds.npz"
    x, w = random.normal(0, 1000, (256, 512)), random.normal(0, 1, (512, 256))
    np.savez(feeds, x=x.astype(np.float32), w=w.astype(np.float32))
    executed = on.compare(SQUARES, "--precision", "f16", "--inputs", feeds)
    assert executed("mma") == executed("wgmma.mma") == 0


def test_what_max_error_keeps_stays_f32(on):
    """All of a product whose rounding alone would move the output further; near f32's own error."""
    text = product(256, 1024, 64)
    assert on.compare(text, "--precision", "f16")("mma" if on.architecture == "sm_80" else "wgmma.mma") > 0
    executed = on.compare(text, "--precision", "f16", "--max-error", "1e-5")
    assert executed("mma") == executed("wgmma.mma") == 0


def test_boxes_and_sums_of_clusters(on):
    for precision in ("f16", "bf16"):
        executed = on.compare(product(64, 2048, 64), "--precision", precision)
        for what in ("cp.async.bulk.tensor", "mbarrier.try_wait", "barrier.cluster.wait", "ld.shared::cluster"):
            assert (executed(what) > 0) == (on.architecture == "sm_90a"), what


def test_attention(on):
    causal = "cases { {j - i} <= 0: s[h, i, j] * 0.125; else: -inf }"
    for mask in ("s[h, i, j] * 0.125", causal):
        on.compare(attention(2, 128, 64, mask), "--precision", "f16")
    executed = on.compare(attention(4, 512, 64, causal), "--precision", "f16")
    assert executed("wgmma.mma" if on.architecture == "sm_90a" else "mma.sync") > 0


SEEING_NOTHING = """input q[h:2, i:128, d:64] f16
input k[h:2, j:128, d:64] f16
input v[h:2, j:128, d:64] f16
s[h:2, i:128, j:128] f16 = sum<f32>[d:64] f32(q[h, i, d]) * f32(k[h, j, d])
x[h:2, i:128, j:128] f16 = cases { i32{j + 40} <= i32{i}: s[h, i, j]; else: -inf }
m[h:2, i:128] f32 = max<f32>[j:128] f32(x[h, i, j])
e[h:2, i:128, j:128] f32 = exp(f32(x[h, i, j]) - m[h, i])
z[h:2, i:128] f32 = sum<f32>[j:128] e[h, i, j]
w[h:2, i:128, j:128] f16 = stored f16(e[h, i, j] / z[h, i])
p[h:2, i:128, d:64] f16 = sum<f32>[j:128] f32(w[h, i, j]) * f32(v[h, j, d])
o[h:2, i:128, d:64] f16 = cases { m[h, i] == -inf: 0; else: p[h, i, d] }
output o
"""


def test_rows_that_see_nothing_are_zero(on):
    """Where a row's maximum says so, its sum is not needed: no thread reads another's in its place."""
    executed = on.compare(SEEING_NOTHING)
    assert executed("mma" if on.architecture == "sm_80" else "wgmma.mma") > 0


@pytest.mark.parametrize("length", [512, 704])
@pytest.mark.parametrize("mask", bench_attention.MASKS)
def test_streamed_attention_computes_the_blocks_that_its_mask_keeps(on, mask, length):
    sizes = types.SimpleNamespace(heads=2, size=64, chain=1)
    text = bench_attention.model_text(mask, length, sizes)
    kept = on.compare(text, "--precision", "f16")
    dense = on.compare(text, "--precision", "f16", "--disable", "mask-blocks,skip-masked-blocks")
    if on.architecture == "sm_90a":
        assert 0 < kept("wgmma.mma")
    else:
        assert 0 < kept("mma.sync") < 0.8 * dense("mma.sync")
    (on.folder / "model.te").write_text(text)
    code, said = on("explain", on.folder / "model.te", "--target", "cuda", "--precision", "f16")
    assert code == 0 and "became 1 kernel;" in said


RUN_TIME_MASKS = {
    "length": "i64{c} < n[h]",
    "causal with a past": "i64{c} <= i64{i} + (n[h] - 100)",
    "sliding window": "i64{c} <= i64{i} and i64{i} < i64{c} + n[h]",
    "what is behind": "n[h] <= i64{c}",
}


def queries_keys_values(length, size, heads=2):
    random = np.random.default_rng(0)
    return {name: random.normal(0, 1, (heads, length, size)).astype(np.float16) for name in "qkv"}


def masked_attention(condition, length, numbers="input n[2] i64\n", size=64, heads=2):
    h, i, c = f"h:{heads}", f"i:{length}", f"c:{length}"
    text = "".join(f"input {name}[{heads}, {length}, {size}] f16\n" for name in "qkv") + numbers
    text += f"s[{h}, {i}, {c}] f32 = sum<f32>[d:{size}] f32(q[h, i, d]) * f32(k[h, c, d])\n"
    text += f"x[{h}, {i}, {c}] f32 = cases {{ {condition}: s[h, i, c] * 0.125; else: -inf }}\n"
    text += f"m[{h}, {i}] f32 = max<f32>[{c}] x[h, i, c]\ne[{h}, {i}, {c}] f32 = exp(x[h, i, c] - m[h, i])\n"
    text += f"z[{h}, {i}] f32 = sum<f32>[{c}] e[h, i, c]\np[{h}, {i}, {c}] f32 = e[h, i, c] / z[h, i]\n"
    text += f"o[{h}, {i}, d:{size}] f32 = sum<f32>[{c}] p[h, i, c] * f32(v[h, c, d])\n"
    return text + f"y[{h}, {i}, d:{size}] f16 = f16(o[h, i, d])\noutput y\n"


@pytest.mark.parametrize("mask", RUN_TIME_MASKS)
def test_streamed_attention_computes_the_blocks_that_a_run_asks_for(on, mask):
    """Of masks that compare places with a number of the run, one for each head; some rows may see nothing."""
    length, feeds = 192, on.folder / "feeds.npz"
    arrays = queries_keys_values(length, 64)
    powers = {}
    for numbers in [(length, length), (50, 63), (1, 7)]:
        np.savez(feeds, n=np.array(numbers), **arrays)
        executed = on.compare(
            masked_attention(RUN_TIME_MASKS[mask], length), "--precision", "f16", "--inputs", feeds, "--no-cache"
        )
        powers[numbers] = executed("ex2")
    assert min(powers.values()) < 0.7 * max(powers.values()), powers


def test_streamed_attention_leaves_out_what_a_constant_mask_hides_and_what_is_behind_a_length(on):
    length, feeds = 320, on.folder / "feeds.npz"
    arrays = queries_keys_values(length, 64)
    masked = f"g[i:{length}, c:{length}] f32 = cases {{ i < c: -inf; else: 0.0 }}\n"
    numbers = f"input n[] i64 facts(low=64, high={length})\n"

    def powers(n, mask=""):
        text = masked_attention("c < n[]", length, numbers + mask)
        if mask:
            text = text.replace("s[h, i, c] * 0.125", "s[h, i, c] * 0.125 + g[i, c]")
        np.savez(feeds, n=np.array(n), **arrays)
        return on.compare(text, "--precision", "f16", "--inputs", feeds, "--no-cache")("ex2")

    whole = powers(length)
    assert powers(length, masked) < 0.7 * whole
    assert powers(64, masked) < 0.7 * powers(64)
    assert powers(64, masked) < 0.5 * powers(length, masked)


@pytest.mark.parametrize("size", [16, 40, 128, 192, 256])
def test_attention_of_heads_of_any_size_is_one_kernel(on, size):
    text, tile = masked_attention("c < n[h]", 512, "input n[12] i64\n", size, heads=12), on.folder / "tile.mlir"
    (on.folder / "model.te").write_text(text)
    code, said = on("compile", on.folder / "model.te", "--target", "cuda", "--precision", "f16", "--emit", "tile", "-o", tile)
    assert code == 0, said
    assert tile.read_text().count("streamed = true") == 1


def test_heads_of_256_elements_are_right(on):
    feeds, heads = on.folder / "feeds.npz", 12
    np.savez(feeds, n=np.arange(20, 20 + heads) * 4, **queries_keys_values(128, 256, heads))
    text = masked_attention("c < n[h]", 128, "input n[12] i64\n", 256, heads)
    assert on.compare(text, "--precision", "f16", "--inputs", feeds)("ex2") > 0


CONDITIONS = {
    "chosen": "{i//128} == {c//128}",
    "joined with one of a run": "{i//128} == {c//128} and c < n[h]",
    "a difference": "{i//128 - c//128} == 0",
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_streamed_attention_leaves_out_what_a_constant_condition_hides(on, condition):
    """Of four documents, a row sees its own: a quarter of the blocks, however that is said."""
    length, feeds, asks = 512, on.folder / "feeds.npz", "n[" in CONDITIONS[condition]
    np.savez(feeds, **queries_keys_values(length, 64), **({"n": np.array([512, 400])} if asks else {}))
    text = masked_attention(CONDITIONS[condition], length, "input n[2] i64\n" if asks else "")
    flags = "--precision", "f16", "--inputs", feeds, "--no-cache"
    kept, dense = on.compare(text, *flags), on.compare(text, *flags, "--disable", "mask-blocks")
    assert kept("ex2") < 0.7 * dense("ex2")


def decoding(groups, keys, size, term, declared, factors="qk", rows=4):
    """Queries of groups, in so many rows. `term`: of the softmax, from scores `s[h, g, c]` of `factors`."""
    row, caches = f"h:{groups}, g:{rows}", f"[{groups}, {keys}, {size}]"
    points, scores = f"[{row}, d:{size}]", f"[{row}, c:{keys}]"
    text = f"input q[{groups}, {rows}, {size}] f16\ninput k{caches} f16\ninput v{caches} f16\n{declared}"
    text += f"s{scores} f32 = sum<f32>[d:{size}] f32({factors[0]}[h, g, d]) * f32({factors[1]}[h, c, d])\n"
    text += f"x{scores} f32 = {term}\n"
    text += f"m[{row}] f32 = max<f32>[c:{keys}] x[h, g, c]\ne{scores} f32 = exp(x[h, g, c] - m[h, g])\n"
    text += f"z[{row}] f32 = sum<f32>[c:{keys}] e[h, g, c]\np{scores} f32 = e[h, g, c] / z[h, g]\n"
    text += f"o{points} f32 = sum<f32>[c:{keys}] p[h, g, c] * f32(v[h, c, d])\n"
    return text + f"y{points} f16 = f16(o[h, g, d])\noutput y\n"


def feeds_of_decoding(path, groups, keys, size, **others):
    random = np.random.default_rng(1)
    arrays = {name: random.normal(0, 1, (groups, keys, size)).astype(np.float16) for name in "kv"}
    np.savez(path, q=random.normal(0, 1, (groups, 4, size)).astype(np.float16), **arrays, **others)


@pytest.mark.parametrize("keys", [4096, 4099])
@pytest.mark.parametrize("condition", ["0 <= c", "i64{c} < n[h]"])
def test_few_queries_are_cut_along_their_keys(on, keys, condition):
    """Parts, be they of one length or not, and what joins them; those of one group lie behind its length, and add nothing."""
    feeds = on.folder / "feeds.npz"
    feeds_of_decoding(feeds, 2, keys, 64, n=np.array([keys, 40]))
    text = decoding(2, keys, 64, f"cases {{ {condition}: s[h, g, c] * 0.125; else: -inf }}", "input n[2] i64\n")
    on.compare(text, "--precision", "f16", "--inputs", feeds, "--no-cache")
    (on.folder / "model.te").write_text(text)
    code, said = on("explain", on.folder / "model.te", "--target", "cuda", "--precision", "f16", "--decisions")
    assert code == 0 and "parts of its keys, then those" in said and "became 2 kernels;" in said


def test_keys_are_on_their_way_ahead_of_the_queries(on):
    """The ring is longer than other devices have memory for, which have fewer of its stages."""
    groups, keys, size, model, feeds = 8, 3072, 128, on.folder / "model.te", on.folder / "feeds.npz"
    scaled = f"t[h:{groups}, g:4, d:{size}] f16 = f16(f32(q[h, g, d]) * 0.0884)\n"
    text = decoding(groups, keys, size, "s[h, g, c]", scaled, "tk")
    model.write_text(text)
    command = (model, "--target", "cuda", "--precision", "f16")
    code, tiles = on("compile", *command, "--emit", "tile")
    stages = [int(found) for found in re.findall(r"stages = (\d+), ring = \d+>, streamed = true", tiles)]
    assert code == 0 and stages and min(stages) > 2
    feeds_of_decoding(feeds, groups, keys, size)
    on.compare(text, "--precision", "f16", "--inputs", feeds, "--no-cache")
    code, ptx = on("compile", *command, "--emit", "asm")
    entry = re.search(r"\.entry k0\((.*?)\n}", ptx, re.DOTALL).group(1)
    assert code == 0 and entry.index("cp.async") < entry.index("bar.sync")


def test_keys_that_their_kernel_computes_are_not_asked_for_ahead(on):
    """There the first blocks wait for the nests that keys are made of."""
    groups, keys, size, model = 8, 64, 64, on.folder / "model.te"
    computed = f"t[h:{groups}, g:64, d:{size}] f16 = f16(f32(q[h, g, d]) * 0.125)\n"
    computed += f"n[h:{groups}, c:{keys}] f32 = sum<f32>[d:{size}] f32(k[h, c, d]) * f32(k[h, c, d])\n"
    computed += f"u[h:{groups}, c:{keys}, d:{size}] f16 = f16(f32(k[h, c, d]) / sqrt(n[h, c]))\n"
    text = decoding(groups, keys, size, "s[h, g, c]", computed, "tu", rows=64)
    model.write_text(text)
    code, tiles = on("compile", model, "--target", "cuda", "--precision", "f16", "--emit", "tile")
    ahead = tiles.partition("streamed = true")[0]
    assert code == 0 and tiles.count("tile.kernel") == 1 and ahead.count("tile.compute") > 2
    on.compare(text, "--precision", "f16", "--no-cache")


LARGE_NUMBERS = {
    "i64{c} < i64(a[h] + b[h]) + 25600": (np.int16, 20000, 20000),  # The sum wraps around.
    "i32{c} < a[h] + b[h]": (np.int32, 2**31 - 5, 7),
    "i64{c} + a[h] <= b[h]": (np.int64, 2**40 - 1, 2**41),
}


@pytest.mark.parametrize("condition", LARGE_NUMBERS)
def test_streamed_attention_compares_large_numbers_as_they_are(on, condition):
    length, feeds = 328, on.folder / "feeds.npz"
    kind, a, b = LARGE_NUMBERS[condition]
    arrays = queries_keys_values(length, 64)
    np.savez(feeds, a=np.array([a, 9], kind), b=np.array([b, 99], kind), **arrays)
    declared = "".join(f"input {name}[2] {np.dtype(kind).name.replace('nt', '')}\n" for name in "ab")
    text = masked_attention(condition, length, declared)
    on.compare(text, "--precision", "f16", "--inputs", feeds, "--no-cache")


def test_convolutions(on):
    on.compare(convolution(5, 13, 11))
    on.compare(convolution(32, 20, 64), "--precision", "f16")


def test_reductions(on):
    on.compare(REDUCTIONS)


PERIODIC = ["sin", "cos", "tan"]  # Of angles up to 2^30.
FUNCTIONS = ["asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"]


def test_functions_on_all_that_an_f32_may_be(on):
    """Each beside the reference's, from the least to infinity and beyond where they are defined, of both signs."""
    powers = np.float32(2.0) ** np.arange(-149, 128, dtype=np.float32)
    near = np.concatenate([np.linspace(0, 4, 801), 1 + powers[80:160] / 2, 1 - powers[80:149], np.arange(4, 120, 0.37)])
    x = np.concatenate([powers, near.astype(np.float32), np.float32([np.inf])])
    np.savez(on.folder / "feeds.npz", x=np.concatenate([x, -x, np.float32([np.nan])]))
    arguments = dict.fromkeys(FUNCTIONS, "x[i]") | dict.fromkeys(PERIODIC, "max(min(x[i], 1e9), -1e9)")
    extent = 2 * len(x) + 1
    text = f"input x[i:{extent}] f32\n" + "".join(
        f"{name}_[i:{extent}] f32 = {name}({argument})\noutput {name}_\n" for name, argument in arguments.items()
    )
    on.compare(text, "--inputs", on.folder / "feeds.npz")


def test_any_order_and_what_approximations_may_be_off_by(on):
    for seed in range(2, 5):
        on.compare(product(64, 2048, 64), "--precision", "f16", options=f"seed={seed},perturb")


# What is changed in a text, and what is said of it; "": the results may be wrong instead.
SHARED = product(256, 256, 256)
BOXES = product(64, 2048, 64)
STAGED = product(256, 1024, 64)
OLD_FAULTS = [
    (SHARED, "bar.sync \t0;=>", "no wait is between"),
    (STAGED, "cp.async.wait_group \t=>//", "hasn't been waited for"),
    (STAGED, "cp.async.commit_group;=>", "hasn't been waited for"),
    (STAGED, "ldmatrix.sync.aligned.m8n8.x4.trans=>ldmatrix.sync.aligned.m8n8.x4", ""),
    (SHARED, ".maxntid =>.maxntid 32 //", "can run 32 threads a block"),
]
NEW_FAULTS = [
    (BOXES, "bar.sync \t0;=>", "there is no mbarrier"),
    (BOXES, "wgmma.wait_group.sync.aligned =>//", "nobody has waited for"),
    (BOXES, "@!come bra=>@come bra", "hasn't been waited for"),
    (BOXES, "], 6144;=>], 6160;", "expects 16 bytes more than come"),
    (BOXES, "], 6144;=>], 6128;", "expects -16 bytes more than come"),
    (BOXES, "barrier.cluster.wait;=>", "another block reads"),
    (BOXES, "mbarrier.init=>prefetch.global.L2 [%rd1]; //", "no mbarrier"),
    (BOXES, ", yes, 1, 1, 0, 1;=>, yes, 1, 1, 0, 0;", ""),
    (BOXES, "-4611685949699522560;=>-4611685880988368896;", ""),  # The stride of a descriptor.
    (BOXES, "-4611685949699522560;=>-9223371968135233536;", ""),  # Its swizzle.
    (STAGED, "fence.proxy.async=>//", "without a fence.proxy.async"),
    (STAGED, "wgmma.fence.sync.aligned;=>", "no wgmma.fence"),
]


def check_fault(gpu, text, fault, said):
    model = gpu.folder / "model.te"
    model.write_text(text)
    flags = WITHOUT_BOXES if text == STAGED else ()
    code, found = gpu("compare", model, "--target", "cuda", "--precision", "f16", *flags, fault=fault)
    assert (code == 5 and said in found) or (code == 1 and said == ""), found


@pytest.mark.parametrize("text, fault, said", OLD_FAULTS, ids=[fault for _, fault, _ in OLD_FAULTS])
@pytest.mark.parametrize("on", ["sm_80"], indirect=True)
def test_planted_faults_are_found(on, text, fault, said):
    check_fault(on, text, fault, said)


@pytest.mark.parametrize("text, fault, said", NEW_FAULTS, ids=[fault for _, fault, _ in NEW_FAULTS])
@pytest.mark.parametrize("on", ["sm_90a"], indirect=True)
def test_planted_faults_of_units_are_found(on, text, fault, said):
    check_fault(on, text, fault, said)


def test_launches_that_start_early_wait(on):
    model = on.folder / "model.te"
    model.write_text(BOXES)
    arguments = ("bench", model, "--target", "cuda", "--precision", "f16", "--seconds", 0.1)
    assert on(*arguments)[0] == 0
    code, found = on(*arguments, fault="griddepcontrol.wait;=>")
    assert code == (5 if on.architecture == "sm_90a" else 0)
    assert ("ahead of griddepcontrol.wait" in found) == (on.architecture == "sm_90a")


def test_profiled_runs_say_when_parts_were_under_way(on):
    model = on.folder / "model.te"
    model.write_text(BOXES)
    code, said = on("profile", model, "--target", "cuda", "--precision", "f16")
    assert code == 0 and "+ k0  product" in said and "+ k1  product" in said, said


# Two plans of it have launches of which each is fine, but that would wait for each other in one plan.
PRODUCTS_THAT_SHARE_LAUNCHES = """input x[i:32, k:32] f32
v0[i:32, j:32] f32 = tanh(x[i, j]) * exp(x[i, j])
input w1[k:32, j:32] f32
v1[i:32, j:32] f32 = sum<f32>[k:32] x[i, k] * w1[k, j]
v2[i:32, j:32] f32 = v0[i, j] + v1[j, i]
r3[i:32] f32 = sum<f32>[j:32] x[i, j]
v3[i:32, j:32] f32 = v1[i, j] - r3[i]
v4[i:32, j:32] f32 = v3[i, j] + x[j, i]
v5[i:32, j:32] f32 = v0[i, j] + v4[j, i]
input w6[k:32, j:32] f32
v6[i:32, j:32] f32 = sum<f32>[k:32] v5[i, k] * w6[k, j]
input w7[k:32, j:32] f32
v7[i:32, j:32] f32 = sum<f32>[k:32] v2[i, k] * w7[k, j]
r8[i:32] f32 = sum<f32>[j:32] v2[i, j]
v8[i:32, j:32] f32 = v3[i, j] - r8[i]
v9[i:32, j:32] f32 = v7[i, j] + v3[j, i]
v10[i:32, j:32] f32 = tanh(v9[i, j]) * exp(v4[i, j])
input w11[k:32, j:32] f32
v11[i:32, j:32] f32 = sum<f32>[k:32] v6[i, k] * w11[k, j]
input w12[k:32, j:32] f32
v12[i:32, j:32] f32 = sum<f32>[k:32] v11[i, k] * w12[k, j]
v13[i:32, j:32] f32 = v9[i, j] + v8[j, i]
input w14[k:32, j:32] f32
v14[i:32, j:32] f32 = sum<f32>[k:32] v10[i, k] * w14[k, j]
input w15[k:32, j:32] f32
v15[i:32, j:32] f32 = sum<f32>[k:32] v10[i, k] * w15[k, j]
output v1
output v4
output v7
output v9
output v12
output v13
output v15
"""


def test_launches_of_several_plans_are_in_one_where_all_can_run(on):
    on.compare(PRODUCTS_THAT_SHARE_LAUNCHES)


# b waits for the call and c for a, which b's kernel may compute: d and c are no launch then.
A_CALL_BETWEEN = """input x[i:64, k:64] f32
input w1[i:64, j:64] f32
input x1[j:64] f32
input w3[k:64, j:32] f32
d[i:64] f32 = sum<f32>[j:64] w1[i, j] * x1[j]  @"d"
(v[64] f32, p[64] i64) = call TopK(d) {"axis":0,"k":64}  @"top"
a[i:64, k:64] f32 = tanh(x[i, k]) + exp(x[i,k]) * sin(x[i,k])  @"a"
b[i:64, k:64] f32 = a[i, k] + v[i]  @"b"
c[i:64, j:32] f32 = sum<f32>[k:64] a[i, k] * w3[k, j]  @"c"
output b
output c
output p
"""


def test_kernels_of_a_launch_do_not_wait_for_each_other_through_a_call(on):
    on.compare(A_CALL_BETWEEN)
