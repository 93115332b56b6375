"""com.microsoft's attentions against ONNX Runtime, with numbers of the run and known ones, in f32 and f16."""

import itertools

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

package = pytest.importorskip("kintsugi")
onnxruntime = pytest.importorskip("onnxruntime")

TYPES = [np.float32, np.float16]
HEADS, SHARED, SIZE = 4, 2, 16


class Node:
    """One node of com.microsoft's, whose inputs are arrays of floats (in the type of the test), of integers, or None."""

    def __init__(self, operator, inputs, outputs=1, known=(), **attributes):
        self.operator, self.inputs, self.attributes = operator, inputs, attributes
        self.outputs, self.known = [f"y{number}" for number in range(outputs)], known

    def arrays(self, kind):
        for number, array in enumerate(self.inputs):
            if array is not None:
                yield number, array.astype(kind) if array.dtype == np.float64 else array

    def model(self, kind):
        names = ["" if array is None else f"x{number}" for number, array in enumerate(self.inputs)]
        node = helper.make_node(
            self.operator, names, self.outputs, name="node", domain="com.microsoft", **self.attributes
        )
        fed, constants = [], []
        for number, array in self.arrays(kind):
            if number in self.known:
                constants.append(numpy_helper.from_array(array, f"x{number}"))
            else:
                element = helper.np_dtype_to_tensor_dtype(array.dtype)
                fed.append(helper.make_tensor_value_info(f"x{number}", element, array.shape))
        element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        made = [helper.make_tensor_value_info(name, element, None) for name in self.outputs]
        graph = helper.make_graph([node], "one", fed, made, constants)
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()

    def feeds(self, kind):
        return {f"x{number}": array for number, array in self.arrays(kind) if number not in self.known}

    def run(self, kind):
        session = package.InferenceSession(self.model(kind), cache=False)
        return session.run(None, self.feeds(kind))

    def expected(self, kind):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(self.model(kind), options, providers=["CPUExecutionProvider"])
        return session.run(None, self.feeds(kind))


def compare(node, kind, shown=None, coarse=0):
    """`shown`: of the outputs, what is said; the others may be anything. `coarse`: how far off ONNX Runtime is."""
    for number, (mine, theirs) in enumerate(zip(node.run(kind), node.expected(kind), strict=True)):
        assert mine.shape == theirs.shape and mine.dtype == theirs.dtype
        if shown and shown[number] is not None:
            mine, theirs = mine[shown[number]], theirs[shown[number]]
        close = max(coarse, 2e-5 if kind == np.float32 else 4e-3)
        np.testing.assert_allclose(mine.astype(np.float64), theirs.astype(np.float64), rtol=close, atol=close)


@pytest.fixture
def floats():
    random = np.random.default_rng(3)
    return lambda *shape: random.normal(size=shape)


def i32(*values):
    return np.array(values, np.int32)


# GroupQueryAttention


def grouped(floats, batch, tokens, lengths, total, cached=None, packed=False, rotary=None, known=(), **attributes):
    """`lengths` are those of all keys of a sample, `cached` that of the cache, if there is one."""
    flat = lambda heads: floats(batch, tokens, heads * SIZE)
    q, k, v = flat(HEADS), flat(SHARED), flat(SHARED)
    inputs = [np.concatenate([q, k, v], 2), None, None] if packed else [q, k, v]
    inputs += [None] * 2 if cached is None else [floats(batch, SHARED, cached, SIZE) for _ in range(2)]
    inputs += [i32(*lengths) - 1, i32(total)]
    extra = attributes.pop("extra", {})
    if rotary:
        inputs += [floats(32, rotary), floats(32, rotary)]
        attributes["do_rotary"] = 1
    inputs += [None] * (12 - len(inputs))
    for number, array in extra.items():
        inputs[number] = array
    while inputs[-1] is None:
        inputs.pop()
    return Node("GroupQueryAttention", inputs, 3, known, num_heads=HEADS, kv_num_heads=SHARED, **attributes)


def there(lengths, tokens, total, cached):
    """Of the outputs, the tokens that are no padding, and the keys that there are."""
    lengths, keys = np.array(lengths), np.arange(max(total, cached or 0))
    rows = np.arange(tokens) < lengths[:, None]
    held = np.broadcast_to((keys < lengths[:, None])[:, None], (len(lengths), SHARED, len(keys)))
    return [rows, held, held]


STEPS = {
    "prompt": (2, 5, [5, 5], 5, None),
    "padded": (2, 5, [5, 3], 5, None),
    "padded into a cache": (3, 6, [2, 6, 3], 6, 12),
    "prompt that grows": (2, 5, [5, 3], 5, 0),
    "step": (3, 1, [8, 5, 1], 8, 12),
    "step that grows": (2, 1, [8, 5], 8, 7),
    "chunk": (1, 3, [8], 8, 12),
    "chunk that grows": (1, 3, [8], 8, 5),
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("known", [(), (6,), (5, 6)], ids=["run", "total", "known"])
@pytest.mark.parametrize("step", STEPS)
def test_lengths_of_samples(floats, kind, known, step):
    batch, tokens, lengths, total, cached = STEPS[step]
    if not known and cached is not None and total > cached:
        pytest.skip("a cache that grows has a length that is known")
    node = grouped(floats, batch, tokens, lengths, total, cached, rotary=8, known=known)
    compare(node, kind, there(lengths, tokens, total, cached))


VARIANTS = {
    "packed": {"packed": True},
    "packed, rotated": {"packed": True, "rotary": 8},
    "interleaved": {"rotary": 8, "rotary_interleaved": 1},
    "scale": {"scale": 0.3},
    "softcap": {"softcap": 1.5},
    "window": {"local_window_size": 2},
    "smooth": {"smooth_softmax": 1},
    "bidirectional": {"causal": 0},
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("step", ["prompt", "padded into a cache", "step"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_variants(floats, kind, step, variant):
    batch, tokens, lengths, total, cached = STEPS[step]
    node = grouped(floats, batch, tokens, lengths, total, cached, known=(6,), **VARIANTS[variant])
    compare(node, kind, there(lengths, tokens, total, cached))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("step", ["prompt", "step"])
@pytest.mark.parametrize(("samples", "heads"), [(1, 1), (1, HEADS), (None, 1)])
def test_added_scores_and_sinks(floats, kind, step, samples, heads):
    batch, tokens, lengths, total, cached = STEPS[step]
    extra = {10: floats(samples or batch, heads, tokens, total), 11: 3 * floats(HEADS)}
    node = grouped(floats, batch, tokens, lengths, total, cached, extra=extra, softcap=2.0, local_window_size=3)
    compare(node, kind, there(lengths, tokens, total, cached))


@pytest.mark.parametrize("known", [(), (6,)])
@pytest.mark.parametrize("step", ["prompt", "padded", "step", "chunk"])
def test_positions_that_are_given(floats, known, step):
    batch, tokens, lengths, total, cached = STEPS[step]
    ids = np.random.default_rng(1).integers(0, 9, (batch, tokens))
    node = grouped(floats, batch, tokens, lengths, total, cached, rotary=8, known=known, extra={9: ids})
    compare(node, np.float32, there(lengths, tokens, total, cached))


def test_a_first_step_counts_from_the_first_position(floats):
    for known in (), (6,):
        node = grouped(floats, 2, 1, [1, 1], 1, 4, rotary=8, known=known, extra={9: np.array([[3], [7]])})
        compare(node, np.float32, there([1, 1], 1, 1, 4))


def test_lengths_are_numbers_of_the_run(floats):
    """One session for all of them; ones that don't fit end the run."""
    node = grouped(floats, 2, 1, [8, 5], 8, 12, rotary=8)
    session, feeds = package.InferenceSession(node.model(np.float32), cache=False), node.feeds(np.float32)
    for lengths in [12, 3], [1, 1], [7, 12]:
        node.inputs[5:7] = i32(*lengths) - 1, i32(max(lengths))
        feeds |= {"x5": node.inputs[5], "x6": node.inputs[6]}
        mine, theirs = session.run(None, feeds)[0], node.expected(np.float32)[0]
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-5)
    for name, wrong in ("x5", i32(12, 3)), ("x5", i32(-1, 3)), ("x6", i32(13)):
        with pytest.raises(package.Error, match="seqlens_k|total_sequence_length"):
            session.run(None, feeds | {name: wrong})


def test_a_cache_in_place(floats):
    """Its memory is where the cache of the last step is."""
    node = grouped(floats, 1, 1, [1], 1, 8, rotary=8)
    session, feeds = package.InferenceSession(node.model(np.float32), cache=False), node.feeds(np.float32)
    caches = {name: feeds[name].copy() for name in ("x3", "x4")}
    binding, y = session.io_binding(), np.empty((1, 1, HEADS * SIZE), np.float32)
    grown = [feeds["x3"][:, :, :0], feeds["x4"][:, :, :0]]
    for step in range(8):
        new = {f"x{number}": floats(*feeds[f"x{number}"].shape).astype(np.float32) for number in range(3)}
        whole = feeds | new | caches | {"x5": i32(step), "x6": i32(step + 1)}
        for name, array in whole.items():
            binding.bind_input(name, array)
        for name, array in ("y0", y), ("y1", caches["x3"]), ("y2", caches["x4"]):
            binding.bind_output(name, array)
        session.run_with_iobinding(binding)
        node.inputs[:7] = [new["x0"], new["x1"], new["x2"], *grown, i32(step), i32(step + 1)]
        theirs, *grown = node.expected(np.float32)
        np.testing.assert_allclose(y, theirs, rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(caches["x3"][:, :, : step + 1], grown[0], rtol=2e-5, atol=2e-5)


# MultiHeadAttention


def heads_of(x):
    return x.reshape(*x.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)


def multi_head(floats, batch=2, tokens=5, keys=5, wide=SIZE, outputs=1, past=0, extra=None, known=(), **attributes):
    q, k, v = floats(batch, tokens, HEADS * SIZE), floats(batch, keys, HEADS * SIZE), floats(batch, keys, HEADS * wide)
    inputs = [q, k, v] + [None] * 6
    if past:
        inputs[6:8] = floats(batch, HEADS, past, SIZE), floats(batch, HEADS, past, SIZE)
    for number, array in (extra or {}).items():
        inputs[number] = array
    while inputs[-1] is None:
        inputs.pop()
    return Node("MultiHeadAttention", inputs, outputs, known, num_heads=HEADS, **attributes)


@pytest.mark.parametrize("kind", TYPES)
def test_keys_and_values(floats, kind):
    width = HEADS * SIZE
    compare(multi_head(floats), kind)
    compare(multi_head(floats, tokens=3, wide=8, outputs=3, scale=0.2), kind)
    compare(multi_head(floats, wide=8, extra={3: floats(2 * width + HEADS * 8)}), kind)
    whole = {1: floats(2, HEADS, 7, SIZE), 2: floats(2, HEADS, 7, SIZE)}
    compare(multi_head(floats, extra=whole, outputs=3), kind)
    compare(multi_head(floats, extra=whole | {3: floats(3 * width)}), kind)
    compare(multi_head(floats, tokens=3, keys=3, past=4, outputs=3), kind)
    compare(multi_head(floats, unidirectional=1), kind)
    compare(multi_head(floats, tokens=1, keys=4, unidirectional=1), kind)
    compare(multi_head(floats, tokens=3, keys=3, past=4, outputs=3, unidirectional=1), kind)


@pytest.mark.parametrize("kind", TYPES)
def test_packed_tensors(floats, kind):
    """ONNX Runtime has them on GPUs alone: they mean what tensors apart do."""
    plain = multi_head(floats, extra={3: floats(3 * HEADS * SIZE)})
    q, k, v, bias = plain.inputs
    split = lambda x: x.reshape(*x.shape[:2], HEADS, 1, SIZE)
    packed = Node("MultiHeadAttention", [np.concatenate([split(q), split(k), split(v)], 3), None, None, bias], num_heads=HEADS)
    for mine, theirs in zip(packed.run(kind), plain.expected(kind), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=2e-3)
    plain.inputs.pop()
    packed = Node("MultiHeadAttention", [q, np.concatenate([split(k), split(v)], 3)], num_heads=HEADS)
    for mine, theirs in zip(packed.run(kind), plain.expected(kind), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=2e-3)


MASKS = {
    "lengths": i32(5, 2),
    "lengths of more": i32(9, 3),
    "lengths of nothing": i32(0, 3),
    "lengths and places": i32(3, 1, 0, 3, 4, 0, 3, 4),
    "by key": i32([1, 0, 1, 1, 0], [0, 0, 1, 2, -1]),
    "all hidden": i32([0] * 5, [1, 0, 0, 0, 1]),
    "by query": np.random.default_rng(5).integers(-1, 2, (2, 5, 5)).astype(np.int32),
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("mask", "causal"), list(itertools.product(MASKS, [0, 1])))
def test_masks_of_keys(floats, kind, mask, causal):
    """Where all keys of a query are hidden, ONNX Runtime's sums with -10000 have lost the scores' last bits."""
    extra, coarse = {4: MASKS[mask]}, 0 if mask in ("lengths", "lengths of more", "lengths and places") else 5e-3
    if kind == np.float32 or mask.startswith("lengths"):
        compare(multi_head(floats, extra=extra, unidirectional=causal), kind, coarse=coarse)
    compare(multi_head(floats, extra=extra, unidirectional=causal, mask_filter_value=-3.0), kind)
    extra[5] = floats(1, HEADS, 5, 5)
    compare(multi_head(floats, extra=extra, mask_filter_value=-3.0, outputs=4), kind)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("samples", "heads"), [(1, 1), (1, HEADS), (2, 1), (2, HEADS)])
def test_scores_that_are_added(floats, kind, samples, heads):
    extra = {5: floats(samples, heads, 3, 7)}
    compare(multi_head(floats, tokens=3, keys=3, past=4, outputs=3, extra=extra), kind)
    extra[4] = np.array([[1, 1, 1, 0, 1, 1, 0], [0, 1, 0, 1, 1, 1, 1]], np.int32)
    compare(multi_head(floats, tokens=3, keys=3, past=4, outputs=3, extra=extra, unidirectional=1), kind)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("known", [(), (8,)])
@pytest.mark.parametrize("mask", [None, i32([1, 0, 1, 1, 1], [1] * 5), i32(4, 5)], ids=["all", "mask", "lengths"])
def test_a_cache_with_room(floats, kind, known, mask):
    extra = {4: mask, 8: i32(4)}
    node = multi_head(floats, tokens=1, keys=1, past=9, outputs=3, extra=extra, known=known)
    compare(node, kind, [None, np.s_[:, :, :5], np.s_[:, :, :5]])


def test_ranges_of_tokens(floats):
    """One artifact for all of them, whose masks are lengths of the run."""
    node = multi_head(floats, extra={4: i32(3, 5)}, unidirectional=1)
    model = onnx.load_from_string(node.model(np.float32))
    for put in model.graph.input[:3]:
        put.type.tensor_type.shape.dim[1].dim_param = "S"
    session = package.InferenceSession(model.SerializeToString(), cache=False, dims={"S": (1, 8)})
    for tokens in 1, 5, 8:
        node.inputs[:3] = [floats(2, tokens, HEADS * SIZE) for _ in range(3)]
        mine, theirs = session.run(None, node.feeds(np.float32))[0], node.expected(np.float32)[0]
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-5)


# Attention


def projected(floats, tokens=5, wide=None, past=None, outputs=1, extra=None, bias=True, **attributes):
    widths = [HEADS * SIZE, HEADS * SIZE, HEADS * (wide or SIZE)]
    if wide:
        attributes["qkv_hidden_sizes"] = widths
    inputs = [floats(2, tokens, 24), floats(24, sum(widths)) / 4, floats(sum(widths)), None, None, None]
    if past is not None:
        inputs[4] = floats(2, 2, HEADS, past, SIZE)
    for number, array in (extra or {}).items():
        inputs[number] = array
    while inputs[-1] is None:
        inputs.pop()
    return Node("Attention", inputs, outputs, num_heads=HEADS, **attributes)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("causal", [0, 1])
def test_projections(floats, kind, causal):
    compare(projected(floats, unidirectional=causal), kind, coarse=2e-2 * (kind == np.float16))
    compare(projected(floats, wide=8, scale=0.1, unidirectional=causal), kind, coarse=2e-2 * (kind == np.float16))
    for past in 0, 3:
        node = projected(floats, tokens=3, past=past, outputs=2, unidirectional=causal)
        compare(node, kind, coarse=2e-2 * (kind == np.float16))
    compare(projected(floats, outputs=2), kind, coarse=2e-2 * (kind == np.float16))


INDICES = {name: mask for name, mask in MASKS.items() if name != "lengths and places"} | {
    "ends and starts": i32(5, 4, 0, 2),
    "ends before starts": i32(1, 4, 3, 2),
    "of all": i32([1], [0]),
    "of one": i32([1]),
}


@pytest.mark.parametrize(("mask", "causal"), list(itertools.product(INDICES, [0, 1])))
def test_indices_of_masks(floats, mask, causal):
    extra = {3: INDICES[mask]}
    compare(projected(floats, extra=extra, unidirectional=causal), np.float32, coarse=5e-3)
    compare(projected(floats, extra=extra, unidirectional=causal, mask_filter_value=-3.0), np.float32)
    extra[5] = floats(2, HEADS, 5, 5)
    compare(projected(floats, extra=extra, unidirectional=causal, mask_filter_value=-3.0), np.float32)


@pytest.mark.parametrize("past", [0, 3])
def test_square_masks(floats, past):
    """ONNX Runtime has them on GPUs alone: they are cut to the tokens that there are."""
    mask = np.random.default_rng(6).integers(0, 2, (2, 1, 9, 9)).astype(np.int32)
    node = projected(floats, past=past, outputs=2, extra={3: mask}, mask_filter_value=-3.0)
    mine = node.run(np.float32)
    node.inputs[3] = np.ascontiguousarray(mask[:, 0, past : past + 5, : past + 5])
    for one, other in zip(mine, node.expected(np.float32), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


# GPUs


LONG = 256


def prompts():
    """Of long texts, whose lengths only the run knows, by what is in them."""
    width, shared = HEADS * SIZE, SHARED * SIZE
    tokens = lambda size: np.zeros((2, LONG, size), np.float32)
    q, k = tokens(width), tokens(shared)
    yield "lengths", Node("MultiHeadAttention", [q, q, q, None, i32(9, 9)], num_heads=HEADS)
    yield "causal", Node("MultiHeadAttention", [q, q, q], num_heads=HEADS, unidirectional=1)
    cache, empty = [np.zeros((2, SHARED, 2 * LONG, SIZE), np.float32)] * 2, [None] * 2
    sink = np.zeros(HEADS, np.float32)
    for name, past, more in ("grouped", empty, []), ("into a cache", cache, []), ("sinks", empty, [None] * 4 + [sink]):
        inputs = [q, k, k, *past, i32(9, 9), i32(LONG), *more]
        yield name, Node("GroupQueryAttention", inputs, 3, (6,), num_heads=HEADS, kv_num_heads=SHARED)


@pytest.mark.parametrize(("name", "node"), list(prompts()), ids=[name for name, _ in prompts()])
def test_a_prompt_is_one_kernel_on_a_gpu(folder, kintsugi, name, node):
    """Scores are nowhere in memory, and heads that share keys have no copies of them."""
    model, tile = folder / "prompt.onnx", folder / "prompt.tile"
    model.write_bytes(node.model(np.float32))
    code, _, errors = kintsugi("compile", model, "--target", "cuda", "--precision", "f16", "--emit", "tile", "-o", tile)
    assert code == 0, errors
    assert tile.read_text().count("streamed = true") == 1
