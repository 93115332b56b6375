"""Sessions with a fallback: models with operators that are missing here run in parts, with ONNX Runtime's answers."""

import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

kintsugi = pytest.importorskip("kintsugi", reason="the package is not built; ./dev build makes it")

from kintsugi.fallback import partition
from kintsugi.fallback.survey import Survey

F32, U8, I64 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT64
OURS, THEIRS = "kintsugi", "onnxruntime"


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(autouse=True)
def without_quantization(monkeypatch):
    """Operators of these models are refused whether the compiler has them or not: what it has grows."""
    ask = Survey._ask

    def refusing(survey, limits):
        found = ask(survey, limits)
        for number, node in found.items():
            if survey._model.nodes[number].op_type in ("QuantizeLinear", "DequantizeLinear", "Scan"):
                node["refused"] = node["refused"] or "the operator is not supported"
        return found

    monkeypatch.setattr(Survey, "_ask", refusing)


@pytest.fixture
def free_crossings(monkeypatch):
    """Parts of these small models are worth it, as crossing from one to another takes no time."""
    monkeypatch.setattr(partition, "RUN_SECONDS", 0)
    monkeypatch.setattr(partition, "WAKE_SECONDS", 0)


def save(folder, inputs, nodes, outputs, weights=(), opset=21, **options):
    """Inputs and outputs are (name, type, shape); nodes (operator, inputs, outputs, attributes)."""
    ports = [[helper.make_tensor_value_info(*port) for port in side] for side in (inputs, outputs)]
    made = [
        helper.make_node(kind, taken, given, name=f"{kind}_{number}", **attributes)
        for number, (kind, taken, given, attributes) in enumerate(nodes)
    ]
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in dict(weights).items()]
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph(made, "graph", *ports, tensors)
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path, **options)
    return path


def drawn(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, np.float32) / np.float32(np.sqrt(shape[0]))


SCALES = {"scale": np.float32(0.05), "zero": np.uint8(128)}
WEIGHTS = SCALES | {"w": drawn(1, 24, 24), "v": drawn(2, 24, 24)}
SHAPE = [1, 16, 24]


def multiplied(name, made, weight="w"):
    """Two nodes that the compiler takes."""
    return [("MatMul", [name, weight], [f"{made}.sums"], {}), ("Relu", [f"{made}.sums"], [made], {})]


def rounded(name, made):
    """Two that it does not take."""
    return [
        ("QuantizeLinear", [name, "scale", "zero"], [f"{made}.u8"], {}),
        ("DequantizeLinear", [f"{made}.u8", "scale", "zero"], [made], {}),
    ]


def compared(path, feeds, **options):
    """Runs a model through a session with a fallback and ONNX Runtime; gives the session."""
    session = kintsugi.InferenceSession(path, fallback="onnxruntime", **options)
    theirs = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert [port.name for port in session.get_outputs()] == [port.name for port in theirs.get_outputs()]
    assert [port.type for port in session.get_outputs()] == [port.type for port in theirs.get_outputs()]
    for got, expected in zip(session.run(None, feeds), theirs.run(None, feeds), strict=True):
        assert got.dtype == expected.dtype and got.shape == expected.shape
        if got.dtype.kind == "f":
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
        else:
            np.testing.assert_array_equal(got, expected)
    return session


def runners(session):
    return [part["runner"] for part in session.report()["parts"]]


def matrix(seed=7):
    return np.random.default_rng(seed).standard_normal(SHAPE, np.float32)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (rounded("x", "a") + multiplied("a", "y"), [THEIRS, OURS]),
        (multiplied("x", "a") + rounded("a", "b") + multiplied("b", "y", "v"), [OURS, THEIRS, OURS]),
        (multiplied("x", "a") + rounded("a", "y"), [OURS, THEIRS]),
        (rounded("x", "y"), [THEIRS]),
        (multiplied("x", "y"), [OURS]),
    ],
)
def test_missing_at(nodes, expected, tmp_path, free_crossings):
    path = save(tmp_path, [("x", F32, SHAPE)], nodes, [("y", F32, SHAPE)], WEIGHTS)
    session = compared(path, {"x": matrix()})
    assert runners(session) == expected
    names = [name for part in session.report()["parts"] for name in part["nodes"]]
    assert sorted(names) == sorted(node.name for node in onnx.load(path).graph.node)
    refused = {each["node"]: each["reason"] for each in session.report()["not_taken"]}
    assert refused.keys() == {name for name in names if "Linear" in name}
    assert all("is not supported" in reason for reason in refused.values())


def test_diamonds_have_no_part_that_waits_for_one_that_waits_for_it(tmp_path, free_crossings):
    """All that the compiler takes is connected, but can't be one part: what joins the sides waits for what it does not take."""
    nodes = multiplied("x", "a") + rounded("a", "b") + multiplied("a", "c", "v")
    nodes += [("Add", ["b", "c"], ["d"], {}), ("Sigmoid", ["d"], ["y"], {})]
    path = save(tmp_path, [("x", F32, SHAPE)], nodes, [("c", F32, SHAPE), ("y", F32, SHAPE)], WEIGHTS)
    session = compared(path, {"x": matrix()})
    assert runners(session) == [OURS, THEIRS, OURS]
    assert [len(part["nodes"]) for part in session.report()["parts"]] == [4, 2, 2]
    (y,) = session.run(["y"], {"x": matrix()})
    assert y.tobytes() == session.run(None, {"x": matrix()})[1].tobytes()


def test_shapes_of_data_stay_there(tmp_path, free_crossings):
    nodes = multiplied("x", "a") + [
        ("NonZero", ["a"], ["where"], {}),
        ("Transpose", ["where"], ["places"], {}),
        ("Cast", ["places"], ["y"], {"to": F32}),
    ]
    path = save(tmp_path, [("x", F32, SHAPE)], nodes, [("y", F32, ["n", 3])], WEIGHTS)
    session = compared(path, {"x": matrix()})
    assert session.get_outputs()[0].shape == [None, 3]
    assert runners(session) == [OURS, THEIRS]
    reasons = {each["operator"]: each["reason"] for each in session.report()["not_taken"]}
    assert "'where' comes of node 'NonZero_2' (NonZero), which is refused, and its type or shape is not known" in reasons["Transpose"]
    assert session.run(None, {"x": np.full(SHAPE, -9, np.float32)})[0].shape[1] == 3
    text = str(session.report())
    assert "2. onnxruntime: 3 nodes (1 NonZero, 1 Transpose, 1 Cast)" in text and reasons["NonZero"] in text


def test_what_is_refused_for_its_inputs(tmp_path, free_crossings):
    """Known operators are refused for what must be known when compiling; nobody is told to bind what is no input."""
    nodes = multiplied("x", "a") + [
        ("Unique", ["labels"], ["unique"], {}),
        ("Slice", ["unique", "first", "last"], ["shape"], {}),
        ("Reshape", ["a", "shape"], ["b"], {}),
    ] + multiplied("x", "c", "v")
    weights = WEIGHTS | {"first": np.array([0]), "last": np.array([2])}
    outputs = [("b", F32, ["m", "n"]), ("c", F32, SHAPE)]
    path = save(tmp_path, [("x", F32, SHAPE), ("labels", I64, [3])], nodes, outputs, weights)
    session = compared(path, {"x": matrix(), "labels": np.array([16, 24, 24])})
    assert runners(session) == [OURS, THEIRS]
    assert {each["operator"] for each in session.report()["not_taken"]} == {"Unique", "Slice", "Reshape"}

    nodes = [("QuantizeLinear", ["sizes", "one"], ["u8"], {}), ("DequantizeLinear", ["u8", "one"], ["f32"], {})]
    nodes += [("Cast", ["f32"], ["shape"], {"to": I64}), ("Reshape", ["x", "shape"], ["y"], {})]
    ports = [("x", F32, SHAPE), ("sizes", F32, [2])]
    path = save(tmp_path, ports, nodes, [("y", F32, ["m", "n"])], {"one": np.float32(1)})
    session = compared(path, {"x": matrix(), "sizes": np.float32([16, 24])})
    reasons = {each["operator"]: each["reason"] for each in session.report()["not_taken"]}
    assert "'shape' must be known when compiling, but depends on 1 of the model's inputs" in reasons["Reshape"]


def test_operators_that_onnx_knows_nothing_of(tmp_path, free_crossings):
    """What is behind them is compiled all the same, with the shapes that ONNX Runtime infers."""
    nodes = multiplied("x", "a") + [("FusedMatMul", ["a", "w"], ["b"], {"domain": "com.microsoft", "alpha": 0.5})]
    nodes += multiplied("b", "y", "v")
    path = save(tmp_path, [("x", F32, SHAPE)], nodes, [("y", F32, None)], WEIGHTS)
    session = compared(path, {"x": matrix()})
    assert runners(session) == [OURS, THEIRS, OURS] and session.get_outputs()[0].shape == SHAPE
    assert [each["operator"] for each in session.report()["not_taken"]] == ["com.microsoft.FusedMatMul"]


def test_detections(tmp_path, free_crossings):
    """Boxes and scores by the compiler, what is chosen of them by ONNX Runtime."""
    weights = {"w": drawn(3, 16, 40), "v": drawn(4, 16, 4), "most": np.array([3]), "overlap": np.float32([0.5])}
    weights |= {"zero": np.array(0), "column": np.array(2)}
    nodes = [
        ("MatMul", ["x", "v"], ["places"], {}),
        ("Abs", ["places"], ["boxes"], {}),
        ("MatMul", ["x", "w"], ["heads"], {}),
        ("Softmax", ["heads"], ["by_box"], {"axis": -1}),
        ("Transpose", ["by_box"], ["scores"], {"perm": [0, 2, 1]}),
        ("NonMaxSuppression", ["boxes", "scores", "most", "overlap"], ["chosen"], {}),
        ("Gather", ["chosen", "column"], ["numbers"], {"axis": 1}),
        ("Gather", ["boxes", "numbers"], ["picked"], {"axis": 1}),
    ]
    outputs = [("picked", F32, [1, None, 4]), ("scores", F32, [1, 40, 50])]
    path = save(tmp_path, [("x", F32, [1, 50, 16])], nodes, outputs, weights)
    x = np.random.default_rng(5).standard_normal((1, 50, 16), np.float32)
    session = compared(path, {"x": x})
    assert runners(session) == [OURS, THEIRS]


def test_shape_arithmetic_and_constants_are_where_they_are_read(tmp_path, free_crossings):
    """Nodes whose values are the same in each run are in every part that reads them; ONNX Runtime computes what the
    compiler refuses of them."""
    terms = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0]}
    terms |= {"ngram_indexes": [0, 1], "pool_int64s": [1, 2]}
    nodes = rounded("x", "a") + [
        ("Shape", ["a"], ["sizes"], {}),
        ("Gather", ["sizes", "zero"], ["batch"], {}),
        ("Concat", ["batch", "rest"], ["flat"], {"axis": 0}),
        ("TfIdfVectorizer", ["repeated"], ["often"], terms),
        ("Cast", ["often"], ["axes"], {"to": I64}),
    ] + multiplied("a", "b")
    nodes += [("ReduceSum", ["b", "axes"], ["c"], {"keepdims": 0}), ("Reshape", ["c", "flat"], ["y"], {})]
    weights = WEIGHTS | {"repeated": np.array([1, 2, 1]), "zero": np.uint8(128), "rest": np.array([-1])}
    weights["zeroth"] = np.array([0])
    nodes = [(kind, ["sizes", "zeroth"] if kind == "Gather" else taken, made, also) for kind, taken, made, also in nodes]
    path = save(tmp_path, [("x", F32, ["batch", 16, 24])], nodes, [("y", F32, None)], weights)
    session = compared(path, {"x": matrix()}, dims={"batch": 1})
    assert runners(session) == [THEIRS, OURS] and session.report()["folded"] == ["often"]
    assert session.get_outputs()[0].shape == [1, 1]
    for size in (2, (1, 2)):
        with pytest.raises(kintsugi.UsageError, match="no open dimension 'width'; its open dimensions: batch"):
            kintsugi.InferenceSession(path, fallback="onnxruntime", dims={"width": size})


def test_open_dimensions(tmp_path, free_crossings):
    """There are parts for each choice of sizes."""
    nodes = multiplied("x", "a") + rounded("a", "b") + multiplied("b", "c", "v") + [("Add", ["c", "z"], ["y"], {})]
    ports = [("x", F32, ["batch", None, 24]), ("z", F32, ["batch", 1, 24])]
    path = save(tmp_path, ports, nodes, [("y", F32, ["batch", None, 24])], WEIGHTS)
    session = kintsugi.InferenceSession(path, fallback="onnxruntime", max_specializations=2)
    theirs = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert [port.shape for port in session.get_inputs()] == [port.shape for port in theirs.get_inputs()]
    for batch, rows in ((1, 16), (3, 5), (1, 16), (2, 5)):
        feeds = {"x": drawn(batch, batch, rows, 24), "z": drawn(rows, batch, 1, 24)}
        (got,), (expected,) = session.run(None, feeds), theirs.run(None, feeds)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=0.06)  # Of a step of the quantization.
        assert np.abs(got - expected).mean() < 1e-3
    report = session.report()
    assert [each["sizes"] for each in report["specializations"]] == [{"batch": 1, "x.1": 16}, {"batch": 2, "x.1": 5}]
    assert [each["runs"] for each in report["specializations"]] == [2, 1] and report["evictions"] == 1
    for each in report["specializations"]:
        assert [part["runner"] for part in each["report"]["parts"]] == [OURS, THEIRS, OURS]
    assert "batch = 2, x.1 = 5: 1 runs, compiled in" in str(report) and "  2. onnxruntime: 2 nodes" in str(report)
    binding, room = session.io_binding(), np.zeros_like(got)
    binding.bind_input("x", feeds["x"])
    binding.bind_input("z", feeds["z"])
    binding.bind_output("y", room)
    session.run_with_iobinding(binding)
    assert room.tobytes() == got.tobytes()
    with pytest.raises(kintsugi.InputError, match=r"dimension 'batch' is 2 .* and 1 "):
        session.run(None, {"x": drawn(1, 2, 5, 24), "z": drawn(1, 1, 1, 24)})
    with pytest.raises(kintsugi.InputError, match=r"the model's is float32\[batch, \?, 24\]"):
        session.run(None, {"x": drawn(1, 2, 5, 23), "z": drawn(1, 1, 1, 24)})
    bounded = kintsugi.InferenceSession(path, fallback="onnxruntime", dims={"x.1": 5, "batch": (2, 8)})
    assert bounded.get_inputs()[0].shape == ["batch", 5, 24]
    assert bounded.run(None, feeds)[0].tobytes() == got.tobytes()
    with pytest.raises(kintsugi.InputError, match="dims allows 2 to 8"):
        bounded.run(None, {name: array[:1] for name, array in feeds.items()})
    path.write_bytes(path.read_bytes() + b"")
    with pytest.raises(kintsugi.InputError, match="has changed since the session was made"):
        session.run(None, {"x": drawn(1, 7, 5, 24), "z": drawn(1, 7, 1, 24)})


def test_islands_are_given_away(tmp_path):
    """What would be saved by a part of a few additions is less than what crossing takes; of large products it is more."""
    reasons = {}
    for side in (8, 512):
        weights = SCALES | {"w": drawn(1, side, side)}
        nodes = rounded("x", "a") + [("MatMul", ["a", "w"], ["b"], {}), ("Relu", ["b"], ["c"], {})] + rounded("c", "y")
        path = save(tmp_path, [("x", F32, [side, side])], nodes, [("y", F32, [side, side])], weights)
        x = np.random.default_rng(1).standard_normal((side, side), np.float32)
        session = compared(path, {"x": x}, threads=1)
        reasons[side] = {each["operator"]: each["reason"] for each in session.report()["not_taken"]}
        assert runners(session) == ([THEIRS] if side == 8 else [THEIRS, OURS, THEIRS])
    assert "its part would have 2 nodes" in reasons[8]["MatMul"] and "MatMul" not in reasons[512]


def test_many_small_nodes_are_worth_a_part(tmp_path):
    """Of a chain of additions what ONNX Runtime takes to begin each counts; of a few of them crossing takes more."""
    found = {}
    for count in (8, 60):
        nodes = rounded("x", "a0") + [("Add", [f"a{n}", "scale"], [f"a{n + 1}"], {}) for n in range(count)]
        path = save(tmp_path, [("x", F32, [4])], nodes, [(f"a{count}", F32, [4])], SCALES)
        found[count] = runners(compared(path, {"x": np.arange(4, dtype=np.float32)}, threads=1))
    assert found == {8: [THEIRS], 60: [THEIRS, OURS]}


def test_loops_and_branches_stay_whole(tmp_path, free_crossings):
    """What a branch reads of the graph around it crosses as well."""
    branches = {}
    for name, kind in (("then_branch", "Abs"), ("else_branch", "Neg")):
        made = helper.make_tensor_value_info(f"{name}.y", F32, SHAPE)
        branches[name] = helper.make_graph([helper.make_node(kind, ["a"], [made.name])], name, [], [made])
    nodes = multiplied("x", "a") + [("If", ["positive"], ["b"], branches)] + rounded("b", "c") + multiplied("c", "y", "v")
    path = save(
        tmp_path, [("x", F32, SHAPE), ("positive", TensorProto.BOOL, [])], nodes, [("y", F32, SHAPE)], WEIGHTS
    )
    for positive in (True, False):
        session = compared(path, {"x": matrix(), "positive": np.array(positive)})
    assert runners(session) == [OURS, THEIRS, OURS]
    assert "If_2" in session.report()["parts"][0]["nodes"]


def test_functions_are_opened(tmp_path, free_crossings):
    path = save(tmp_path, [("x", F32, SHAPE)], multiplied("x", "a"), [("y", F32, SHAPE)], WEIGHTS)
    model = onnx.load(path)
    body = [helper.make_node(*node[:3], **node[3]) for node in multiplied("t", "u", "k") + rounded("u", "v")]
    for name, value in SCALES.items():
        body.insert(0, helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value))))
    opsets = [helper.make_opsetid("", 21)]
    model.functions.append(helper.make_function("own", "Block", ["t", "k"], ["v"], body, opsets))
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.graph.node.append(helper.make_node("Block", ["a", "w"], ["y"], domain="own"))
    onnx.save(model, path)
    assert runners(compared(path, {"x": matrix()})) == [OURS, THEIRS]


def test_weights_in_a_file_of_their_own(tmp_path, free_crossings):
    """Both runners find them, and models in memory have none."""
    nodes = multiplied("x", "a") + rounded("a", "b") + [("Mul", ["b", "table"], ["y"], {})]
    weights = WEIGHTS | {"table": drawn(9, *SHAPE)}
    options = {"save_as_external_data": True, "location": "weights.bin", "size_threshold": 0}
    path = save(tmp_path, [("x", F32, SHAPE)], nodes, [("y", F32, SHAPE)], weights, **options)
    expected = compared(path, {"x": matrix()}).run(None, {"x": matrix()})[0]
    whole = onnx.load(path).SerializeToString()
    session = kintsugi.InferenceSession(whole, fallback="onnxruntime")
    assert session.run(None, {"x": matrix()})[0].tobytes() == expected.tobytes()


def test_strings_and_sequences_are_passed_through(tmp_path, free_crossings):
    info = lambda name: helper.make_tensor_value_info(name, F32, None)
    negated = helper.make_graph([helper.make_node("Neg", ["one"], ["minus"])], "negated", [info("one")], [info("minus")])
    nodes = multiplied("x", "a") + [
        ("StringConcat", ["words", "words"], ["doubled"], {}),
        ("SplitToSequence", ["a"], ["all"], {"axis": 1, "keepdims": 0}),
        ("SequenceMap", ["all"], ["rows"], {"body": negated}),
        ("SequenceAt", ["rows", "third"], ["row"], {}),
    ]
    weights = WEIGHTS | {"third": np.array(2)}
    outputs = [("doubled", TensorProto.STRING, [2]), ("row", F32, [1, 24])]
    path = save(tmp_path, [("x", F32, SHAPE), ("words", TensorProto.STRING, [2])], nodes, outputs, weights)
    feeds = {"x": matrix(), "words": np.array(["a", "b"], object)}
    session = compared(path, feeds)
    assert session.run(["doubled"], feeds)[0].tolist() == ["aa", "bb"] and runners(session) == [OURS, THEIRS]


def test_inputs_that_are_outputs_or_known(tmp_path, free_crossings):
    nodes = multiplied("x", "a") + rounded("a", "y")
    ports = [("x", F32, SHAPE), ("scale", F32, [])]
    weights = {name: value for name, value in WEIGHTS.items() if name != "scale"}
    path = save(tmp_path, ports, nodes, [("y", F32, SHAPE), ("zero", U8, []), ("x", F32, SHAPE)], weights)
    session = kintsugi.InferenceSession(path, fallback="onnxruntime", bind={"scale": np.float32(0.05)})
    theirs = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert [port.name for port in session.get_inputs()] == ["x"]
    x = matrix()
    y, zero, same = session.run(None, {"x": x})
    assert np.array_equal(same, x) and not np.shares_memory(same, x)
    np.testing.assert_allclose(y, theirs.run(["y"], {"x": matrix(), "scale": np.array(0.05, np.float32)})[0], atol=0.051)
    assert zero == 128
    with pytest.raises(kintsugi.InputError, match=r"bind: the value of 'scale' is float32\[2\]"):
        kintsugi.InferenceSession(path, fallback="onnxruntime", bind={"scale": np.zeros(2, np.float32)})


def test_packed_elements(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    ports = [("x", TensorProto.INT4, [3, 5])], [("y", TensorProto.INT4, [5, 3])]
    path = save(tmp_path, ports[0], [("Transpose", ["x"], ["y"], {})], ports[1])
    x = (np.arange(15) % 8).reshape(3, 5).astype(ml_dtypes.int4)
    (y,) = kintsugi.InferenceSession(path, fallback="onnxruntime").run(None, {"x": x})
    assert y.dtype == x.dtype and (y == x.T).all()


def test_bindings(tmp_path, free_crossings):
    path = save(tmp_path, [("x", F32, SHAPE)], multiplied("x", "a") + rounded("a", "y"), [("y", F32, SHAPE)], WEIGHTS)
    session = kintsugi.InferenceSession(path, fallback="onnxruntime")
    expected = session.run(None, {"x": matrix()})[0]
    binding = session.io_binding()
    binding.bind_cpu_input("x", matrix())
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert binding.get_outputs()[0].tobytes() == expected.tobytes()
    room = np.zeros_like(expected)
    binding.bind_output("y", room)
    session.run_with_iobinding(binding)
    assert room.tobytes() == expected.tobytes() and binding.get_outputs()[0] is room
    with pytest.raises(kintsugi.UsageError, match="takes arrays, not addresses"):
        binding.bind_output("y", "cpu", 0, np.float32, expected.shape, room.ctypes.data)
    for feeds, message in (({}, "no array for 'x'"), ({"x": matrix()[:, 1:]}, r"is float32\[1, 15, 24\]")):
        with pytest.raises(kintsugi.InputError, match=message):
            session.run(None, feeds)


def test_what_breaks_the_compiler_goes_to_the_other(tmp_path, free_crossings, monkeypatch):
    """A part that can't be compiled after all, too."""
    path = save(tmp_path, [("x", F32, SHAPE)], multiplied("x", "a") + rounded("a", "y"), [("y", F32, SHAPE)], WEIGHTS)

    def broken(*_):
        raise kintsugi.Error("the compiler crashed")

    with monkeypatch.context() as patch:
        patch.setattr(kintsugi.loading.Loader, "load", broken)
        session = compared(path, {"x": matrix()})
    assert runners(session) == [THEIRS]
    reasons = {each["operator"]: each["reason"] for each in session.report()["not_taken"]}
    assert reasons["MatMul"] == "the compiler crashed"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"fallback": "tensorrt"}, kintsugi.UsageError, "fallback is 'tensorrt'; there is 'onnxruntime'"),
        ({"device": "cuda:1"}, kintsugi.UsageError, "parts on cuda:1 need onnxruntime-gpu"),
        ({"random_weights": True}, kintsugi.UsageError, "random_weights: is of a whole model"),
        ({"timeout": 0.0001}, kintsugi.MachineError, "timeout"),
    ],
)
def test_wrong_options(options, error, message, tmp_path):
    path = save(tmp_path, [("x", F32, SHAPE)], rounded("x", "y"), [("y", F32, SHAPE)], WEIGHTS)
    with pytest.raises(error, match=message):
        kintsugi.InferenceSession(path, **{"fallback": "onnxruntime"} | options)


def test_models_that_are_wrong(tmp_path):
    nodes = multiplied("x", "a") + rounded("a", "y")
    both = (
        (nodes[2:] + nodes[:2], r"node 'QuantizeLinear_0' \(QuantizeLinear\): 'a' is used, but nothing before it defines it"),
        (nodes + [("Abs", ["x"], ["a"], {})], r"node 'Abs_4' \(Abs\): its output 'a' has been defined before"),
        (nodes[:2], "output 'y' is used, but nothing defines it"),
        (multiplied("x", "a") + [("Nonsense", ["a"], ["y"], {})], "^ONNX Runtime can't take the model either: .*Nonsense[^\n]*$"),
    )
    for wrong, message in both:
        path = save(tmp_path, [("x", F32, ["n", 16, 24])], wrong, [("y", F32, SHAPE)], WEIGHTS)
        with pytest.raises(kintsugi.InputError, match=message):
            kintsugi.InferenceSession(path, fallback="onnxruntime")
    with pytest.raises(kintsugi.UsageError, match="dims: 'n' is '5'; a size is an integer, at least 0"):
        kintsugi.InferenceSession(path, fallback="onnxruntime", dims={"n": "5"})
    with pytest.raises(kintsugi.UsageError, match="dims: 'n' is -5; a size is an integer, at least 0"):
        kintsugi.InferenceSession(path, fallback="onnxruntime", dims={"n": -5})
    for model in (b"model", tmp_path / "absent.onnx"):
        with pytest.raises(kintsugi.InputError):
            kintsugi.InferenceSession(model, fallback="onnxruntime")


def test_without_it_nothing_changes(tmp_path):
    nodes = [("QuickGelu", ["x"], ["y"], {"domain": "com.microsoft"})]
    path = save(tmp_path, [("x", F32, SHAPE)], nodes, [("y", F32, SHAPE)])
    with pytest.raises(kintsugi.InputError, match="1 operator is not supported"):
        kintsugi.InferenceSession(path)
    code = "import sys, kintsugi; print({'onnx', 'onnxruntime', 'kintsugi.fallback'} & sys.modules.keys())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_packages_that_are_missing(tmp_path, monkeypatch):
    path = save(tmp_path, [("x", F32, SHAPE)], rounded("x", "y"), [("y", F32, SHAPE)], WEIGHTS)
    for name in [name for name in sys.modules if name.startswith("kintsugi.fallback")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(kintsugi.MachineError, match="fallback: the package onnxruntime is missing"):
        kintsugi.InferenceSession(path, fallback="onnxruntime")


def test_bfloat16_crosses(tmp_path, free_crossings):
    """ONNX Runtime has no arrays of it."""
    ports = [helper.make_tensor_value_info(name, TensorProto.BFLOAT16, SHAPE[1:]) for name in ("row", "out")]
    body = helper.make_graph([helper.make_node("Identity", ["row"], ["out"])], "body", ports[:1], ports[1:])
    nodes = multiplied("x", "a") + [
        ("Cast", ["a"], ["half"], {"to": TensorProto.BFLOAT16}),
        ("Scan", ["half"], ["same"], {"body": body, "num_scan_inputs": 1}),
        ("Cast", ["same"], ["b"], {"to": F32}),
        ("Neg", ["b"], ["y"], {}),
    ]
    path = save(tmp_path, [("x", F32, SHAPE)], nodes, [("y", F32, SHAPE)], WEIGHTS)
    session = kintsugi.InferenceSession(path, fallback="onnxruntime")
    assert runners(session) == [OURS, THEIRS, OURS]
    exact = kintsugi.InferenceSession(
        save(tmp_path, [("x", F32, SHAPE)], multiplied("x", "y"), [("y", F32, SHAPE)], WEIGHTS)
    )
    np.testing.assert_allclose(session.run(None, {"x": matrix()})[0], -exact.run(None, {"x": matrix()})[0], rtol=2**-8)


def test_parts_run_in_one_order():
    """Of random graphs: each node is in one part, of its runner, and reads nothing of a later part."""
    for seed in range(500):
        random = np.random.default_rng(seed)
        count = int(random.integers(1, 24))
        producers = [sorted(set(random.integers(0, n, min(n, 2)).tolist())) for n in range(count)]
        ours = {n for n in range(count) if random.random() < 0.6}
        seconds = random.uniform(0, 1e-3, count).tolist()
        kept = ours - partition.give_away(producers, ours, seconds).keys()
        for chosen in (ours, kept):
            parts = partition.group(producers, chosen)
            place = {node: number for number, (_, nodes) in enumerate(parts) for node in nodes}
            assert sorted(place) == list(range(count)) and all(nodes for _, nodes in parts)
            assert all((node in chosen) == is_ours for is_ours, nodes in parts for node in nodes)
            assert all(place[other] <= place[node] for node in range(count) for other in producers[node])
            assert all(one[0] != other[0] for one, other in zip(parts, parts[1:]))
