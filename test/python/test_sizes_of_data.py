"""Results whose size the data decide: what ONNX Runtime says, shapes included, and what is refused by name."""

import json
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from program import PROGRAM

package = pytest.importorskip("kintsugi", reason="the package is not built; ./dev build makes it")

pytestmark = pytest.mark.usefixtures("own_cache")

F32, I64, BOOL = 1, 7, 9


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=outputs.split()[0] + "_of_" + op, **attributes)


def saved(path, nodes, inputs, outputs, constants={}):
    """`inputs`: (name, type, shape); `outputs`: (name, type, rank)."""
    ports = [helper.make_tensor_value_info(*each) for each in inputs]
    results = [helper.make_tensor_value_info(name, kind, [None] * rank) for name, kind, rank in outputs]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "model", ports, results, tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return str(path)


def compared(path, *all_feeds):
    """The results of the last run; the same artifact serves all feeds."""
    session, other = package.InferenceSession(path), onnxruntime.InferenceSession(path)
    for feeds in all_feeds:
        ours, theirs = session.run(None, feeds), other.run(None, feeds)
        for own, expected in zip(ours, theirs, strict=True):
            assert own.shape == expected.shape and own.dtype == expected.dtype
            np.testing.assert_allclose(own, expected, rtol=1e-5, atol=1e-6)
    return ours


def drawn(seed, *shape):
    """Some zeros, some negative."""
    random = np.random.default_rng(seed)
    return (random.integers(-2, 3, shape) * (random.random(shape) < 0.5)).astype(np.float32)


def test_places_of_what_is_not_zero(tmp_path):
    path = saved(tmp_path / "m.onnx", [node("NonZero", "x", "y")], [("x", F32, [4, 6])], [("y", I64, 2)])
    zeros = np.zeros((4, 6), np.float32)
    (y,) = compared(path, {"x": drawn(1, 4, 6)}, {"x": zeros + 1}, {"x": zeros})
    assert y.shape == (2, 0)


def test_the_program_tells_of_them(tmp_path):
    path = saved(tmp_path / "m.onnx", [node("NonZero", "x", "y")], [("x", F32, [4, 6])], [("y", I64, 2)])
    report = lambda *arguments: json.loads(subprocess.run([PROGRAM, *arguments, "--json"], check=True, capture_output=True).stdout)
    assert report("inspect", path)["outputs"][0]["shape"] == [2, "0..24"]
    np.savez(tmp_path / "feeds.npz", x=np.eye(4, 6, dtype=np.float32))
    assert report("run", path, "--inputs", tmp_path / "feeds.npz")["outputs"][0]["shape"] == [2, 4]
    assert report("compare", path, "--inputs", tmp_path / "feeds.npz")["outputs"][0]["shape"] == [2, 4]


def test_of_a_scalar_and_of_one_element(tmp_path):
    for shape in ([], [1], [1, 1]):
        rank = max(1, len(shape))
        path = saved(tmp_path / f"{len(shape)}.onnx", [node("NonZero", "x", "y")], [("x", F32, shape)], [("y", I64, 2)])
        session = package.InferenceSession(path)
        for value in (0, 3):
            (y,) = session.run(None, {"x": np.full(shape, value, np.float32)})
            assert y.shape == (rank, int(value != 0)) and not y.any()


def test_what_keeps_elements_apart(tmp_path):
    """Rows that a mask picks, in what exporters make of x[mask]: gathered, computed with, joined, transposed, reshaped."""
    nodes = [
        node("Greater", "x zero", "mask"),
        node("NonZero", "mask", "where"),
        node("Transpose", "where", "places", perm=[1, 0]),
        node("GatherND", "x places", "picked"),
        node("Mul", "picked two", "doubled"),
        node("Slice", "where first second axis", "row"),
        node("Squeeze", "row axis", "rows"),
        node("Gather", "table rows", "vectors"),
        node("Relu", "vectors", "positive"),
        node("Concat", "vectors positive", "both", axis=1),
        node("Transpose", "both", "turned", perm=[1, 0]),
        node("Reshape", "both shape", "flat"),
        node("ReduceSum", "both last", "sums", keepdims=0),
        node("MatMul", "both weights", "product"),
        node("Softmax", "product", "shares", axis=-1),
    ]
    constants = {"zero": np.float32(0), "two": np.float32(2), "first": np.array([0]), "second": np.array([1])}
    constants |= {"axis": np.array([0]), "last": np.array([1]), "shape": np.array([-1, 2, 3]), "table": drawn(2, 5, 3)}
    constants["weights"] = drawn(3, 6, 4)
    outputs = [("places", I64, 2), ("doubled", F32, 1), ("turned", F32, 2), ("flat", F32, 3), ("sums", F32, 1)]
    path = saved(tmp_path / "m.onnx", nodes, [("x", F32, [5, 7])], outputs + [("shares", F32, 2)], constants)
    compared(path, {"x": drawn(4, 5, 7)}, {"x": np.ones((5, 7), np.float32)}, {"x": drawn(5, 5, 7)})


def test_sizes_that_only_shape(tmp_path):
    """The number of elements as exporters use it, in shapes: what it shapes has as many."""
    nodes = [
        node("NonZero", "x", "where"),
        node("Shape", "where", "sizes"),
        node("Gather", "sizes one", "count"),
        node("Concat", "count three", "wanted", axis=0),
        node("Expand", "row wanted", "rows"),
        node("Transpose", "where", "places"),
        node("Cast", "places", "numbers", to=F32),
        node("Add", "rows numbers", "y"),
    ]
    constants = {"one": np.array([1]), "three": np.array([3]), "row": drawn(1, 3)}
    path = saved(tmp_path / "m.onnx", nodes, [("x", F32, [2, 3, 4])], [("y", F32, 2)], constants)
    compared(path, {"x": drawn(2, 2, 3, 4)}, {"x": drawn(3, 2, 3, 4)})


def counted(*nodes):
    """`nodes`, and before them "count" of what is not zero in x, "size" as a tensor of one number, and "places"."""
    before = [node("NonZero", "x", "where"), node("Shape", "where", "sizes"), node("Gather", "sizes at", "count")]
    before += [node("Unsqueeze", "count axis", "size"), node("Squeeze", "where axis", "places")]
    return before + [node("Range", "none count at", "numbers"), *nodes]


NUMBERS = {"at": np.array(1), "axis": np.array([0]), "none": np.array(0), "last": np.array([1]), "table": drawn(9, 4)}
NUMBERS |= {"numbers_of_one": np.array([5]), "row": drawn(8, 3), "three": np.array([3]), "two": np.array(2), "half_row": np.float32([0.5]), "ends": np.array([-1, 1]), "x_row": drawn(7, 1, 3)}

OF_THE_COUNT_ALONE = {
    "numbers": counted(node("Add", "numbers none", "y")),
    "filled": counted(node("ConstantOfShape", "size", "y")),
    "expanded": counted(node("Concat", "size three", "wanted", axis=0), node("Expand", "row wanted", "y")),
    "repeated": counted(node("Tile", "half_row size", "y")),
    "sliced": counted(node("Slice", "x axis size", "y")),
    "square": counted(node("Concat", "size size", "wanted", axis=0), node("ConstantOfShape", "wanted", "zeros"), node("EyeLike", "zeros", "y")),
    "one axis of two": counted(
        node("Unsqueeze", "places last", "column"), node("Unsqueeze", "numbers axis", "line"), node("Add", "column line", "y")
    ),
    "of one row": counted(node("Concat", "size three", "wanted", axis=0), node("Expand", "x_row wanted", "y")),
    "steps": counted(node("Concat", "size three", "wanted", axis=0), node("Expand", "row wanted", "rows"), node("Flatten", "rows", "y", axis=2)),
    "columns": counted(node("Concat", "three size", "wanted", axis=0), node("ConstantOfShape", "wanted", "y")),
    "the input's first": counted(node("Slice", "x axis size", "first"), node("Gather", "x places", "those"), node("Mul", "first those", "y")),
}


@pytest.mark.parametrize("what", OF_THE_COUNT_ALONE)
def test_what_only_the_number_of_elements_shapes(tmp_path, what):
    """No element is looked at: as many of it are there as the count says all the same."""
    rank = {"expanded": 2, "of one row": 2, "square": 2, "one axis of two": 2, "steps": 2, "columns": 2}.get(what, 1)
    kind = I64 if what in ("numbers", "one axis of two") else F32
    path = saved(tmp_path / "m.onnx", OF_THE_COUNT_ALONE[what], [("x", F32, [6])], [("y", kind, rank)], NUMBERS)
    feeds = [np.float32(x) for x in ([0, 1, 0, 2, 3, 0], [1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1] * 6)]
    compared(path, *({"x": x} for x in feeds))


def test_places_that_are_computed_of_the_count(tmp_path):
    """No place behind the count is looked at; those before it are."""
    nodes = counted(node("Mul", "numbers k", "far"), node("Gather", "table far", "y"))
    path = saved(tmp_path / "m.onnx", nodes, [("x", F32, [6]), ("k", I64, [])], [("y", F32, 1)], NUMBERS)
    k = np.array(2)
    compared(path, {"x": np.float32([0, 1, 0, 0, 3, 0]), "k": k}, {"x": np.float32([0, 1, 0, 0, 0, 0]), "k": k})
    with pytest.raises(package.InputError, match="node 'y_of_Gather': its index 4 is outside of -4 to 3"):
        package.InferenceSession(path).run(None, {"x": np.float32([0, 1, 1, 1, 0, 0]), "k": k})


def test_known_places_behind_the_most(tmp_path):
    """They are known for as many elements as there can be, and a run may have fewer."""
    nodes = counted(node("Mul", "numbers two", "far"), node("Gather", "table far", "y"))
    path = saved(tmp_path / "m.onnx", nodes, [("x", F32, [6])], [("y", F32, 1)], NUMBERS)
    reason = r"node 'y_of_Gather' \(Gather\): its index 4 is outside of -4 to 3, at least where nodes before it whose results data size"
    with pytest.raises(package.InputError, match=reason):
        package.InferenceSession(path)


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_compress_by_data(tmp_path, axis):
    length = 24 if axis is None else (2, 3, 4)[axis]
    for given in (length, max(1, length - 1)):
        attributes = {} if axis is None else {"axis": axis}
        path = saved(tmp_path / f"{given}.onnx", [node("Compress", "x condition", "y", **attributes)],
                     [("x", F32, [2, 3, 4]), ("condition", BOOL, [given])], [("y", F32, 1 if axis is None else 3)])
        random = np.random.default_rng(3)
        feeds = [{"x": drawn(k, 2, 3, 4), "condition": random.random(given) < share} for k, share in enumerate((0.5, 0, 1))]
        compared(path, *feeds)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("is_sorted", [0, 1])
def test_unique(tmp_path, axis, is_sorted):
    attributes = {"sorted": is_sorted} | ({} if axis is None else {"axis": axis})
    names = "values first which often"
    outputs = [("values", F32, 1 if axis is None else 2), ("first", I64, 1), ("which", I64, 1), ("often", I64, 1)]
    path = saved(tmp_path / "m.onnx", [node("Unique", "x", names, **attributes)], [("x", F32, [7, 3])], outputs)
    feeds = [np.random.default_rng(k).integers(0, 2, (7, 3)).astype(np.float32) for k in range(3)]
    compared(path, *({"x": x} for x in feeds), {"x": np.zeros((7, 3), np.float32)})


def test_some_results_of_unique(tmp_path):
    path = saved(tmp_path / "m.onnx", [node("Unique", "x", "values")], [("x", I64, [9])], [("values", I64, 1)])
    compared(path, {"x": np.array([3, -1, 3, 3, 2, 2, 9, -1, 0])})


@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize("most_is_known", [False, True])
def test_boxes(tmp_path, center, most_is_known):
    nodes = [
        node("NonMaxSuppression", "boxes scores most overlap least", "chosen", center_point_box=center),
        node("Slice", "chosen two three one", "column"),
        node("Squeeze", "column one", "numbers"),
        node("Gather", "boxes numbers", "picked", axis=1),
    ]
    constants = {"overlap": np.float32([0.4]), "least": np.float32([0.2])}
    constants |= {"two": np.array([2]), "three": np.array([3]), "one": np.array([1])}
    inputs = [("boxes", F32, [1, 40, 4]), ("scores", F32, [1, 3, 40])]
    if most_is_known:
        constants["most"] = np.array([5])
    else:
        inputs.append(("most", I64, [1]))
    path = saved(tmp_path / "m.onnx", nodes, inputs, [("chosen", I64, 2), ("picked", F32, 3)], constants)
    random = np.random.default_rng(8)
    feeds = []
    for most in (5, 0, 100):
        boxes = random.random((1, 40, 4), np.float32)
        if not center:
            boxes[..., 2:] += boxes[..., :2]
        feed = {"boxes": boxes, "scores": random.random((1, 3, 40), np.float32)}
        feeds.append(feed if most_is_known else feed | {"most": np.array([most])})
    compared(path, *feeds)


def test_twice_by_one_mask(tmp_path):
    """Nodes of the same input decide one number; those of others decide others."""
    nodes = [node("NonZero", "x", "a"), node("NonZero", "x", "b"), node("Add", "a b", "y"), node("NonZero", "z", "other")]
    path = saved(tmp_path / "m.onnx", nodes, [("x", F32, [4, 4]), ("z", F32, [6])], [("y", I64, 2), ("other", I64, 2)])
    compared(path, {"x": drawn(1, 4, 4), "z": drawn(2, 6)}, {"x": drawn(3, 4, 4), "z": drawn(4, 6)})


def test_places_behind_the_count_are_no_error(tmp_path):
    """Places that are computed of what is not there may be anywhere; those of what is there are looked at."""
    nodes = [node("NonZero", "x", "where"), node("Squeeze", "where axis", "places"), node("Sub", "places one", "before")]
    nodes += [node("Mul", "before five", "far"), node("Gather", "table far", "y")]
    constants = {"axis": np.array([0]), "one": np.array([2]), "five": np.array([3]), "table": drawn(1, 5, 2)}
    path = saved(tmp_path / "m.onnx", nodes, [("x", F32, [4])], [("y", F32, 2)], constants)
    session = package.InferenceSession(path)
    (y,) = session.run(None, {"x": np.float32([0, 0, 1, 1])})
    np.testing.assert_array_equal(y, constants["table"][[0, 3]])
    with pytest.raises(package.InputError, match="node 'y_of_Gather': its index -6 is outside of -5 to 4"):
        session.run(None, {"x": np.float32([1, 0, 0, 0])})


def test_known_elements_have_known_sizes(tmp_path):
    nodes = [node("NonZero", "mask", "where"), node("Transpose", "where", "places"), node("GatherND", "x places", "y")]
    nodes += [node("ReduceSum", "y", "total", keepdims=0)]
    path = saved(tmp_path / "m.onnx", nodes, [("x", F32, [3, 3])], [("y", F32, 1), ("total", F32, 0)], {"mask": np.eye(3, dtype=np.float32)})
    assert package.InferenceSession(path).get_outputs()[0].shape == [3]
    compared(path, {"x": drawn(1, 3, 3)})


REFUSED = {
    "node 'y_of_ReduceSum' mixes them": [node("NonZero", "x", "where"), node("ReduceSum", "where last", "y")],
    "node 'y_of_Concat' mixes them": [node("NonZero", "x", "a"), node("Concat", "a a", "y", axis=1)],
    "is something else where it gives 1": [node("NonZero", "x", "where"), node("Size", "where", "y")],
    "node 'y_of_NonZero' looks at all of them": [node("NonZero", "x", "where"), node("NonZero", "where", "y")],
    "where it gives 2, node 'y_of_Add'": [node("NonZero", "x", "a"), node("NonZero", "z", "b"), node("Add", "a b", "y")],
    "where it gives 1, node 'y_of_Concat'": [node("NonZero", "x", "a"), node("NonZero", "z", "b"), node("Concat", "a b", "y", axis=0)],
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_refused(tmp_path, reason):
    inputs = [("x", F32, [4, 4]), ("z", F32, [4, 4])]
    path = saved(tmp_path / "m.onnx", REFUSED[reason], inputs, [("y", I64, 2)], {"last": np.array([1])})
    with pytest.raises(package.InputError, match="how many elements node '.*_of_NonZero' gives depends on data, and .*" + reason):
        package.InferenceSession(path)


MIXED_BY_SHAPE = {
    "node 'moved_of_Pad' mixes them": [node("Pad", "numbers ends", "moved"), node("Identity", "moved", "y")],
    "node 'y_of_ReduceSum' mixes them": [node("ReduceSum", "numbers axis", "y")],
    "node 'y_of_NonZero' looks at all of them": [node("Slice", "x axis size", "first"), node("NonZero", "first", "y")],
    "output 'y' is something else where it gives 0": [node("Slice", "numbers_of_one axis size", "y")],
    "'sizes' is something else where it gives 1": [node("Add", "numbers count", "y")],
}


@pytest.mark.parametrize("reason", MIXED_BY_SHAPE)
def test_what_only_the_number_shapes_is_kept_apart_too(tmp_path, reason):
    """Places before those that there are, sums over them, and numbers that are their number."""
    path = saved(tmp_path / "m.onnx", counted(*MIXED_BY_SHAPE[reason]), [("x", F32, [6])], [("y", I64, 1)], NUMBERS)
    with pytest.raises(package.InputError, match="how many elements node 'where_of_NonZero' gives depends on data, and .*" + reason):
        package.InferenceSession(path)


def branch(name, *nodes):
    """A graph that computes "NAME" of what is around it."""
    return helper.make_graph(nodes, name, [], [onnx.ValueInfoProto(name=name)])


def test_what_is_chosen_where_there_is_no_element(tmp_path):
    """The model is compiled for some elements. Where it gives another number for none that is refused, unless nothing is
    there to be another."""
    nodes = counted(node("Equal", "count none", "empty"))
    chosen = dict(then_branch=branch("t", node("Neg", "what", "t")), else_branch=branch("e", node("Abs", "what", "e")))
    what = {"of the places": node("Identity", "places", "what"), "of the input": node("Identity", "x", "what")}
    feeds = [{"x": np.zeros(6, np.float32)}, {"x": np.float32([0, 1, 0, 2, 3, 0])}]
    paths = {}
    for kind, (name, first) in zip((I64, F32), what.items()):
        paths[name] = saved(tmp_path / f"{name}.onnx", [*nodes, first, node("If", "empty", "y", **chosen)], [("x", F32, [6])], [("y", kind, 1)], NUMBERS)
    compared(paths["of the places"], *feeds)
    with pytest.raises(package.InputError, match="node 'where_of_NonZero' gives .* is something else where it gives 0"):
        package.InferenceSession(paths["of the input"])


def test_the_place_of_one_element_joined_with_others(tmp_path):
    """The sizes at which the model is compared are other than its own, where one element is all that there can be."""
    nodes = [node("NonZero", "x", "where"), node("Concat", "where b", "y", axis=0)]
    path = saved(tmp_path / "m.onnx", nodes, [("x", F32, [1]), ("b", I64, [1, 1])], [("y", I64, 2)])
    reason = "how many elements node 'where_of_NonZero' gives depends on data, and where it gives 2, node 'y_of_Concat'"
    with pytest.raises(package.InputError, match=reason):
        package.InferenceSession(path)


def body_of(nodes, states, stacks, constants={}):
    """A loop's body: `states`: (in, out); each of 3 floats."""
    of = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)
    inputs = [of("trip", I64, []), of("before", BOOL, [])] + [of(state, F32, [3]) for state, _ in states]
    outputs = [of("goes", BOOL, [])] + [of(name, F32, [3]) for name in [*(after for _, after in states), *stacks]]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    return helper.make_graph(nodes, "body", inputs, outputs, tensors)


def looping(path, most, goes, stacks=True, table=np.eye(3, dtype=np.float32)):
    """Adds a row of a table that the state picks, as long as what it sums up to is below a limit, and stacks the states."""
    nodes = [
        node("ReduceSum", "state", "number", keepdims=0),
        node("Cast", "number", "place", to=I64),
        node("Gather", "table place", "row"),
        node("Add", "state row", "next"),
        node("ReduceSum", "next", "sum", keepdims=0),
        node("Less", "sum limit", "goes"),
        node("Mul", "next next", "square"),
    ]
    body = body_of(nodes, [("state", "next")], ["square"])
    constants = {"table": table} | ({} if most is None else {"most": np.array(most)})
    inputs = [("x", F32, [3]), ("limit", F32, []), ("goes0", BOOL, [])] if goes else [("x", F32, [3]), ("limit", F32, [])]
    taken = ("most" if most is not None else "") + " " + ("goes0" if goes else "yes") + " x"
    if not goes:
        constants["yes"] = np.array(True)
    made = [helper.make_node("Loop", taken.split(" "), ["last", "all"], name="loop", body=body)]
    made += [node("Relu", "all", "y")] if stacks else []
    results = [("last", F32, 1)] + ([("y", F32, 2)] if stacks else [])
    return saved(path, made, inputs, results, constants)


@pytest.mark.parametrize("goes", [False, True])
def test_loops_that_data_end(tmp_path, goes):
    path = looping(tmp_path / "m.onnx", 6, goes, table=np.ones((9, 3), np.float32) / 3)
    feeds = []
    for limit in (0, 2, 4, 100):
        feeds.append({"x": np.zeros(3, np.float32), "limit": np.array(limit, np.float32)} | ({"goes0": np.array(True)} if goes else {}))
    if goes:
        feeds.append(feeds[2] | {"goes0": np.array(False)})
    _, y = compared(path, *feeds)
    assert len(y) == (0 if goes else 6)


def test_places_in_trips_that_are_not_made_are_no_error(tmp_path):
    """Trips behind the last add up to places outside of the table."""
    path = looping(tmp_path / "m.onnx", 6, False, stacks=False, table=np.ones((3, 3), np.float32) / 3)
    session = package.InferenceSession(path)
    feeds = {"x": np.zeros(3, np.float32), "limit": np.array(2, np.float32)}
    np.testing.assert_allclose(session.run(None, feeds)[0], [2 / 3] * 3, rtol=1e-6)
    with pytest.raises(package.InputError, match="node 'row_of_Gather': its index 3 is outside of -3 to 2"):
        session.run(None, feeds | {"limit": np.array(9, np.float32)})


def test_loops_without_a_bound(tmp_path):
    reason = "whether it goes on depends on data, and it may make more than 1024 trips; give it a number of trips that is the most"
    with pytest.raises(package.InputError, match=r"node 'loop' \(Loop\): " + reason):
        package.InferenceSession(looping(tmp_path / "m.onnx", None, True, table=np.ones((9, 3), np.float32) / 3))


def test_states_that_grow_by_data(tmp_path):
    body = body_of([node("Concat", "state state", "next", axis=0), node("Less", "trip last", "goes")], [("state", "next")], [])
    nodes = [helper.make_node("Loop", ["most", "goes0", "x"], ["y"], name="loop", body=body)]
    constants = {"most": np.array(3), "last": np.array(1)}
    path = saved(tmp_path / "m.onnx", nodes, [("x", F32, [3]), ("goes0", BOOL, [])], [("y", F32, 1)], constants)
    with pytest.raises(package.InputError, match="'loop'.* depends on data, and its trips give results of different shapes or types"):
        package.InferenceSession(path)


def test_loops_that_would_go_on_again(tmp_path):
    """The condition is false of one trip alone; no trip behind that counts."""
    nodes = [node("Add", "state state", "next"), node("Equal", "trip when", "is_last"), node("Not", "is_last", "goes")]
    body = body_of(nodes + [node("Identity", "next", "kept")], [("state", "next")], ["kept"])
    loop = helper.make_node("Loop", ["most", "yes", "x"], ["last", "all"], name="loop", body=body)
    constants = {"most": np.array(5), "yes": np.array(True)}
    inputs = [("x", F32, [3]), ("when", I64, [])]
    path = saved(tmp_path / "m.onnx", [loop], inputs, [("last", F32, 1), ("all", F32, 2)], constants)
    x = np.ones(3, np.float32)
    last, made = compared(path, *({"x": x, "when": np.array(when)} for when in (9, 0, 2)))
    assert last[0] == 8 and len(made) == 3


def test_the_number_of_one_element_is_a_number_too(tmp_path):
    nodes = [node("NonZero", "x", "where"), node("Size", "where", "y")]
    path = saved(tmp_path / "m.onnx", nodes, [("x", F32, [1])], [("y", I64, 0)])
    with pytest.raises(package.InputError, match="'y' is something else where it gives 1"):
        package.InferenceSession(path)


def test_too_many_nodes_whose_results_data_size(tmp_path):
    nodes = [node("Add", f"x c{k}", f"a{k}") for k in range(65)] + [node("NonZero", f"a{k}", f"y{k}") for k in range(65)]
    constants = {f"c{k}": np.float32(k) + np.zeros(3, np.float32) for k in range(65)}
    path = saved(tmp_path / "m.onnx", nodes, [("x", F32, [3])], [(f"y{k}", I64, 2) for k in range(65)], constants)
    with pytest.raises(package.InputError, match="data decide the size of what 65 nodes give, from 'y0_of_NonZero' on"):
        package.InferenceSession(path)


@pytest.mark.parametrize("decision", ["equal", "greater", "doubled", "sliced"])
def test_models_that_decide_by_the_number(tmp_path, decision):
    """About one number in the middle alone: whether it is 5, twice it 10, more than 11, or what is behind the fifth."""
    nodes = [node("NonZero", "x", "where"), node("Shape", "where", "shape"), node("Gather", "shape one", "count")]
    deciding = {
        "equal": [node("Equal", "count five", "decides")],
        "greater": [node("Greater", "count eleven", "decides")],
        "doubled": [node("Add", "count count", "twice"), node("Equal", "twice ten", "decides")],
    }
    if decision == "sliced":
        nodes += [node("Sub", "count five", "start"), node("Slice", "v start end", "y")]
    else:
        nodes += [*deciding[decision], node("Cast", "decides", "start", to=I64), node("Add", "start three", "stop"), node("Slice", "v start stop", "y")]
    constants = {"one": [1], "five": [5], "eleven": [11], "ten": [10], "three": [3], "end": [24]}
    path = saved(tmp_path / "m.onnx", nodes, [("x", F32, [24]), ("v", F32, [24])], [("y", F32, 1)], {k: np.array(v) for k, v in constants.items()})
    with pytest.raises(package.InputError, match="'where_of_NonZero' gives depends on data, .* is something else where it gives"):
        package.InferenceSession(path)
