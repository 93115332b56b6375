"""If, Loop and Scan that data decide: what ONNX Runtime says, what runs of them, and in which time."""

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
RNG = np.random.default_rng(11)
WEIGHTS = (RNG.standard_normal((48, 48)) / 7).astype(np.float32)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(" ") if inputs else [], outputs.split(), name=outputs.split()[0] + "_of_" + op, **attributes)


def graph_of(nodes, outputs, inputs=(), constants={}):
    """`inputs` and `outputs`: (name, type, shape)."""
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    ports = [[helper.make_tensor_value_info(*port) for port in ports] for ports in (inputs, outputs)]
    return helper.make_graph(nodes, "graph", *ports, tensors)


def saved(path, nodes, inputs, outputs, constants={}):
    model = helper.make_model(graph_of(nodes, outputs, inputs, constants), opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, path)
    return str(path)


def compared(path, *all_feeds, tolerance=1e-5, **options):
    """The results of the last run; one artifact serves all feeds."""
    session, other = package.InferenceSession(path, **options), onnxruntime.InferenceSession(path)
    for feeds in all_feeds:
        ours, theirs = session.run(None, feeds), other.run(None, feeds)
        for own, expected in zip(ours, theirs, strict=True):
            assert own.shape == expected.shape and own.dtype == expected.dtype
            np.testing.assert_allclose(own, expected, rtol=tolerance, atol=tolerance)
    return ours


def plan_of(path, *options):
    return subprocess.run([PROGRAM, "compile", path, "--emit", "plan", *options], capture_output=True, text=True, check=True).stdout


def body(nodes, states, stacked=(), shape=(3,), others={}):
    """Of a loop: `states` are (before, after); "goes" is what it goes on by."""
    ports = [("trip", I64, []), ("going", BOOL, [])] + [(name, *others.get(name, (F32, shape))) for name, _ in states]
    results = [("goes", BOOL, [])] + [(name, *others.get(before, (F32, shape))) for before, name in states]
    return graph_of(nodes, results + [(name, F32, shape) for name in stacked], ports)


def products(count):
    """x times W, and again."""
    return [node("MatMul", f"{'x' if k == 0 else f'p{k - 1}'} w", f"p{k}") for k in range(count)]


def branching(path):
    """Products one after the other, or a softmax."""
    yes = graph_of(products(9), [("p8", F32, [48, 48])])
    no = graph_of([node("Softmax", "x", "s", axis=1)], [("s", F32, [48, 48])])
    nodes = [node("ReduceSum", "x", "sum", keepdims=0), node("Less", "sum limit", "small"),
             node("If", "small", "y", then_branch=yes, else_branch=no)]
    return saved(path, nodes, [("x", F32, [48, 48]), ("limit", F32, [])], [("y", F32, [48, 48])], {"w": WEIGHTS})


def of_limits(*limits, x=None):
    x = RNG.standard_normal((48, 48)).astype(np.float32) if x is None else x
    return [{"x": x, "limit": np.array(limit, np.float32)} for limit in limits]


def test_a_branch_that_is_not_taken_does_not_run(tmp_path):
    path = branching(tmp_path / "m.onnx")
    compared(path, *of_limits(1e9, -1e9, 1e9))
    assert plan_of(path).count("branch ") == 1


@pytest.mark.parametrize("disabled", [[], ["if-conversion"]])
def test_small_branches_are_both_computed(tmp_path, disabled):
    """What a choice between two results costs less than."""
    yes, no = graph_of([node("Relu", "x", "r")], [("r", F32, [48])]), graph_of([node("Neg", "x", "n")], [("n", F32, [48])])
    path = saved(tmp_path / "m.onnx", [node("If", "c", "y", then_branch=yes, else_branch=no)],
                 [("x", F32, [48]), ("c", BOOL, [])], [("y", F32, [48])])
    x = RNG.standard_normal(48).astype(np.float32)
    compared(path, *({"x": x, "c": np.array(c)} for c in (True, False)))
    disabling = [word for name in disabled for word in ("--disable", name)]
    assert ("branch " in plan_of(path, *disabling)) == bool(disabled)


def test_branches_that_give_what_is_around_them(tmp_path):
    """One result is a value from outside, one a constant, one the same in both."""
    yes = graph_of([node("MatMul", "x w", "p"), node("Identity", "x", "same"), node("Identity", "k", "known")],
                   [("p", F32, [48, 48]), ("same", F32, [48, 48]), ("known", F32, [2])], constants={"k": np.ones(2, np.float32)})
    no = graph_of([node("Identity", "x", "q"), node("Neg", "x", "other"), node("Identity", "k2", "known2")],
                  [("q", F32, [48, 48]), ("other", F32, [48, 48]), ("known2", F32, [2])], constants={"k2": np.zeros(2, np.float32)})
    path = saved(tmp_path / "m.onnx", [node("If", "c", "a b d", then_branch=yes, else_branch=no)],
                 [("x", F32, [48, 48]), ("c", BOOL, [1])], [("a", F32, [48, 48]), ("b", F32, [48, 48]), ("d", F32, [2])], {"w": WEIGHTS})
    x = RNG.standard_normal((48, 48)).astype(np.float32)
    compared(path, *({"x": x, "c": np.array([c])} for c in (True, False, True)))


def test_branches_inside_of_each_other(tmp_path):
    inner = {name: graph_of([node("MatMul", "x w", f"i{name}"), node(op, f"i{name}", f"r{name}")], [(f"r{name}", F32, [48, 48])])
             for name, op in (("t", "Tanh"), ("e", "Abs"))}
    yes = graph_of([node("If", "d", "n", then_branch=inner["t"], else_branch=inner["e"])], [("n", F32, [48, 48])])
    no = graph_of([node("Softmax", "x", "s", axis=0)], [("s", F32, [48, 48])])
    path = saved(tmp_path / "m.onnx", [node("If", "c", "y", then_branch=yes, else_branch=no)],
                 [("x", F32, [48, 48]), ("c", BOOL, []), ("d", BOOL, [])], [("y", F32, [48, 48])], {"w": WEIGHTS})
    x = RNG.standard_normal((48, 48)).astype(np.float32)
    compared(path, *({"x": x, "c": np.array(c), "d": np.array(d)} for c in (True, False) for d in (True, False)))


def newton(path, most=None, goes="goes0", stacks=False):
    """Square roots, until they are near enough."""
    nodes = [node("Div", "x s", "q"), node("Add", "s q", "sum"), node("Mul", "sum half", "next"), node("Mul", "next next", "square"),
             node("Sub", "square x", "off"), node("Abs", "off", "far"), node("ReduceMax", "far", "farthest", keepdims=0),
             node("Greater", "farthest near", "goes")]
    if stacks:
        nodes.append(node("Identity", "next", "row"))
    loop = node("Loop", f"{'most' if most else ''} {goes} x", "root all" if stacks else "root",
                body=body(nodes, [("s", "next")], ["row"] if stacks else []))
    constants = {"half": np.float32(0.5), "goes0": np.array(True)} | ({"most": np.array(most)} if most else {})
    outputs = [("root", F32, [3])] + ([("all", F32, [None, 3])] if stacks else [])
    return saved(path, [loop], [("x", F32, [3]), ("near", F32, [])], outputs, constants)


def roots(*near):
    return [{"x": np.array([2, 9, 1e4], np.float32), "near": np.array(limit, np.float32)} for limit in near]


@pytest.mark.parametrize("most, stacks", [(None, False), (10**6, False), (10**6, True), (5, True), (1, True)])
def test_loops_until_data_say_so(tmp_path, most, stacks):
    path = newton(tmp_path / "m.onnx", most, stacks=stacks)
    compared(path, *roots(1e9, 1, 1e-2, 10))


def test_stacks_of_an_unknown_number_of_trips_are_refused(tmp_path):
    path = newton(tmp_path / "m.onnx", None, stacks=True)
    with pytest.raises(package.InputError, match="node 'root_of_Loop'.*whether it goes on depends on data.* give it a number of trips"):
        package.InferenceSession(path)


def test_as_many_trips_as_an_input_says(tmp_path):
    nodes = [node("MatMul", "s w", "p"), node("Tanh", "p", "next"), node("Identity", "going", "goes")]
    loop = node("Loop", "n yes x", "y", body=body(nodes, [("s", "next")], shape=(4, 48)))
    path = saved(tmp_path / "m.onnx", [loop], [("x", F32, [4, 48]), ("n", I64, [])], [("y", F32, [4, 48])], {"w": WEIGHTS, "yes": np.array(True)})
    x = RNG.standard_normal((4, 48)).astype(np.float32)
    compared(path, *({"x": x, "n": np.array(n)} for n in (3, 0, 1, 40, -2)))


def test_states_that_change_places(tmp_path):
    """Of numbers, of which each is the sum of the two before it; one state stays what it is, one becomes what is outside."""
    nodes = [node("Add", "a b", "c"), node("Identity", "b", "b2"), node("Identity", "still", "still2"), node("Identity", "x", "given"),
             node("ReduceMax", "c", "top", keepdims=0), node("Less", "top limit", "goes"), node("Add", "still left", "sum")]
    states = [("a", "b2"), ("b", "c"), ("still", "still2"), ("left", "given")]
    loop = node("Loop", " yes x x x zeros", "p q r t all", body=body(nodes, states))
    loop.input[0] = "most"
    loop.attribute[0].g.output.append(helper.make_tensor_value_info("sum", F32, [3]))
    path = saved(tmp_path / "m.onnx", [loop], [("x", F32, [3]), ("limit", F32, [])],
                 [(name, F32, [3]) for name in "pqrt"] + [("all", F32, [None, 3])],
                 {"yes": np.array(True), "most": np.array(50), "zeros": np.zeros(3, np.float32)})
    x = np.array([1, 2, 3], np.float32)
    compared(path, *({"x": x, "limit": np.array(limit, np.float32)} for limit in (100, 5, 1e5, 0)))


def test_a_long_loop_is_one_of_the_plan(tmp_path):
    nodes = [node("Mul", "s w0", "m"), node("Add", "m x", "next"), node("Identity", "going", "goes"), node("Neg", "next", "row")]
    loop = node("Loop", "n yes x", "y all", body=body(nodes, [("s", "next")], ["row"]))
    path = saved(tmp_path / "m.onnx", [loop], [("x", F32, [3])], [("y", F32, [3]), ("all", F32, [5000, 3])],
                 {"w0": np.float32(0.5), "yes": np.array(True), "n": np.array(5000)})
    compared(path, {"x": np.array([1, 2, 3], np.float32)})
    assert "repeat 5000" in plan_of(path)


def test_places_of_each_trip(tmp_path):
    """The number of a trip picks a row, of which one is not there; only trips that are made ask for it."""
    nodes = [node("Gather", "table trip", "row"), node("Add", "s row", "next"), node("Less", "trip last", "goes")]
    loop = node("Loop", " yes x", "y", body=body(nodes, [("s", "next")]))
    path = saved(tmp_path / "m.onnx", [loop], [("x", F32, [3]), ("last", I64, [])], [("y", F32, [3])],
                 {"yes": np.array(True), "table": np.arange(12, dtype=np.float32).reshape(4, 3)})
    x = np.ones(3, np.float32)
    compared(path, *({"x": x, "last": np.array(last)} for last in (0, 2)))
    session = package.InferenceSession(path)
    with pytest.raises(package.InputError, match="node 'row_of_Gather': its index 4 is outside of -4 to 3"):
        session.run(None, {"x": x, "last": np.array(9)})
    compared(path, {"x": x, "last": np.array(2)})


def test_a_branch_in_a_loop_and_a_loop_in_a_branch(tmp_path):
    yes = graph_of([node("MatMul", "s w", "p")], [("p", F32, [2, 48])])
    no = graph_of([node("Tanh", "s", "t")], [("t", F32, [2, 48])])
    inner = [node("ReduceSum", "s", "sum", keepdims=0), node("Less", "sum limit", "small"),
             node("If", "small", "next", then_branch=yes, else_branch=no), node("Less", "trip last", "goes")]
    trips = body(inner, [("s", "next")], shape=(2, 48))
    then = graph_of([node("Loop", " yes x", "l", body=trips)], [("l", F32, [2, 48])])
    other = graph_of([node("MatMul", "x w", "o")], [("o", F32, [2, 48])])
    path = saved(tmp_path / "m.onnx", [node("If", "c", "y", then_branch=then, else_branch=other)],
                 [("x", F32, [2, 48]), ("limit", F32, []), ("last", I64, []), ("c", BOOL, [])], [("y", F32, [2, 48])],
                 {"w": WEIGHTS, "yes": np.array(True)})
    x = RNG.standard_normal((2, 48)).astype(np.float32)
    feeds = [{"x": x, "limit": np.array(limit, np.float32), "last": np.array(last), "c": np.array(c)}
             for limit in (-1e9, 0, 1e9) for last in (0, 5) for c in (True, False)]
    compared(path, *feeds)


def scanning(path, steps, reverse=0, axis=0):
    nodes = [node("Mul", "s half", "m"), node("Add", "m e", "next"), node("Tanh", "next", "row")]
    shape = [steps, 3] if axis == 0 else [3, steps]
    step = graph_of(nodes, [("next", F32, [3]), ("row", F32, [3])], [("s", F32, [3]), ("e", F32, [3])])
    scan = node("Scan", "s0 x", "last all", body=step, num_scan_inputs=1, scan_input_axes=[axis], scan_output_axes=[axis],
                scan_input_directions=[reverse], scan_output_directions=[reverse])
    return saved(path, [scan], [("s0", F32, [3]), ("x", F32, shape)], [("last", F32, [3]), ("all", F32, shape)], {"half": np.float32(0.5)})


@pytest.mark.parametrize("reverse, axis", [(0, 0), (1, 1)])
def test_a_long_scan_is_one_of_the_plan(tmp_path, reverse, axis):
    path = scanning(tmp_path / "m.onnx", 3000, reverse, axis)
    shape = (3000, 3) if axis == 0 else (3, 3000)
    compared(path, {"s0": np.ones(3, np.float32), "x": RNG.standard_normal(shape).astype(np.float32)})
    assert "repeat 3000" in plan_of(path)


@pytest.mark.parametrize("precision", ["f16", "bf16"])
def test_in_fewer_bits(tmp_path, precision):
    tolerance = {"f16": 1e-2, "bf16": 6e-2}[precision]
    path = branching(tmp_path / "m.onnx")
    compared(path, *of_limits(1e9, -1e9), tolerance=tolerance, precision=precision)


def test_networks_in_branches_and_loops_have_forms_of_their_own(tmp_path):
    """Weights of a convolution in an arm, or in a long loop, are in another format, which is computed once."""
    shape, weights = [1, 32, 28, 28], (RNG.standard_normal((32, 32, 3, 3)) / 17).astype(np.float32)
    yes = graph_of([node("Conv", "x k", "a", pads=[1, 1, 1, 1]), node("Relu", "a", "b")], [("b", F32, shape)])
    no = graph_of([node("Conv", "x k", "d", pads=[1, 1, 1, 1]), node("Tanh", "d", "e")], [("e", F32, shape)])
    branch = saved(tmp_path / "branch.onnx", [node("If", "c", "y", then_branch=yes, else_branch=no)],
                   [("x", F32, shape), ("c", BOOL, [])], [("y", F32, shape)], {"k": weights})
    x = RNG.standard_normal(shape).astype(np.float32)
    compared(branch, *({"x": x, "c": np.array(c)} for c in (True, False)), tolerance=1e-4)
    trips = body([node("Conv", "s k", "a", pads=[1, 1, 1, 1]), node("Tanh", "a", "next"), node("Identity", "going", "goes")], [("s", "next")], shape=shape)
    loop = saved(tmp_path / "loop.onnx", [node("Loop", "n yes x", "y", body=trips)], [("x", F32, shape)], [("y", F32, shape)],
                 {"k": weights, "yes": np.array(True), "n": np.array(200)})
    compared(loop, {"x": x}, tolerance=1e-3)
    for path, kind in ((branch, "branch "), (loop, "repeat 200")):
        plan = plan_of(path, "--cpu-level", "v3")
        assert kind in plan and plan != plan_of(path, "--cpu-level", "v3", "--disable", "derivation,formats")


@pytest.mark.parametrize("precision", ["f16", "bf16"])
def test_what_bodies_hand_on_keeps_its_type(tmp_path, precision):
    """To a call, as a state, and out; around it the same value is stored in fewer bits."""
    yes = graph_of([node("MatMul", "h w", "p"), node("TopK", "h k", "v i")], [("p", F32, [48, 48]), ("v", F32, [48, 3])])
    no = graph_of([node("MatMul", "w h", "q"), node("TopK", "h k", "v2 i2", largest=0)], [("q", F32, [48, 48]), ("v2", F32, [48, 3])])
    trips = body([node("MatMul", "s h", "m"), node("Tanh", "m", "next"), node("Identity", "h", "given"), node("Less", "trip last", "goes")],
                 [("s", "next"), ("t", "given")], shape=(48, 48))
    nodes = [node("MatMul", "x w", "h0"), node("Tanh", "h0", "h"), node("If", "c", "a b", then_branch=yes, else_branch=no),
             node("Loop", " yes x x", "y z", body=trips)]
    path = saved(tmp_path / "m.onnx", nodes, [("x", F32, [48, 48]), ("c", BOOL, []), ("last", I64, [])],
                 [("a", F32, [48, 48]), ("b", F32, [48, 3]), ("y", F32, [48, 48]), ("z", F32, [48, 48])],
                 {"w": WEIGHTS, "k": np.array([3]), "yes": np.array(True)})
    x = (RNG.standard_normal((48, 48)) / 4).astype(np.float32)
    tolerance = {"f16": 1e-2, "bf16": 6e-2}[precision]
    compared(path, *({"x": x, "c": np.array(c), "last": np.array(1)} for c in (True, False)), tolerance=tolerance, precision=precision)


def test_trips_that_the_number_of_the_trip_ends_are_known(tmp_path):
    """Three, so that what they stack has rows to multiply; and a state of numbers that gives a shape."""
    nodes = [node("Add", "trip one", "behind"), node("Less", "behind three", "goes"), node("Add", "s s", "next"),
             node("Identity", "next", "row"), node("Add", "n one", "more")]
    trips = body(nodes, [("s", "next"), ("n", "more")], ["row"], others={"n": (I64, [])})
    loop = node("Loop", "ten yes x zero", "last n_out all", body=trips)
    more = [node("MatMul", "all w3", "y"), node("Reshape", "n_out flat", "shape"), node("Expand", "x1 shape", "wide")]
    path = saved(tmp_path / "m.onnx", [loop, *more], [("x", F32, [3]), ("x1", F32, [1])], [("y", F32, [3, 4]), ("wide", F32, [3])],
                 {"ten": np.array(10), "one": np.array(1), "three": np.array(3), "yes": np.array(True), "zero": np.array(0),
                  "flat": np.array([1]), "w3": WEIGHTS[:3, :4]})
    compared(path, {"x": np.array([1, 2, 3], np.float32), "x1": np.ones(1, np.float32)})


def nested(path, depth):
    """Branches inside of each other, of which the innermost counts elements, which no body can."""
    graphs = {}
    for level in range(depth):
        inner = [node("If", "c", f"r{level - 1}", **graphs)] if level else [node("NonZero", "x", "nz"), node("Size", "nz", "n")]
        value = f"r{level - 1}" if level else "n"
        made = [*inner, node("Add", f"{value} {value}", f"r{level}_")]
        graphs = {"then_branch": graph_of(made, [(f"r{level}_", I64, [])]),
                  "else_branch": graph_of([node("Size", "x", f"e{level}")], [(f"e{level}", I64, [])])}
    return saved(path, [node("If", "c", "y", **graphs)], [("x", F32, [4]), ("c", BOOL, [])], [("y", I64, [])])


def test_branches_deep_inside_of_each_other_take_no_time(tmp_path):
    path = nested(tmp_path / "m.onnx", 20)
    done = subprocess.run([PROGRAM, "compile", path, "-o", tmp_path / "m.kin"], capture_output=True, text=True, timeout=20)
    assert "how many elements node 'nz_of_NonZero' gives depends on data" in done.stderr


@pytest.mark.parametrize("over", ["rows", "columns"])
def test_branches_that_sum_an_open_dimension(tmp_path, over):
    axes = {"rows": 0, "columns": 1}[over]
    yes = graph_of([node("ReduceSum", f"x axis", "a", keepdims=0)], [("a", F32, None)])
    no = graph_of([node("ReduceMax", "x axis", "b", keepdims=0)], [("b", F32, None)])
    path = saved(tmp_path / "m.onnx", [node("If", "c", "y", then_branch=yes, else_branch=no)],
                 [("x", F32, ["N", 48]), ("c", BOOL, [])], [("y", F32, [None])], {"axis": np.array([axes])})
    feeds = [{"x": RNG.standard_normal((n, 48)).astype(np.float32), "c": np.array(c)} for n in (1, 5, 8) for c in (True, False)]
    compared(path, *feeds, dims={"N": (1, 8)})


def test_a_branch_of_an_open_batch(tmp_path):
    yes = graph_of([node("MatMul", "x w", "p")], [("p", F32, ["N", 48])])
    no = graph_of([node("Softmax", "x", "s", axis=1)], [("s", F32, ["N", 48])])
    path = saved(tmp_path / "m.onnx", [node("If", "c", "y", then_branch=yes, else_branch=no)],
                 [("x", F32, ["N", 48]), ("c", BOOL, [])], [("y", F32, ["N", 48])], {"w": WEIGHTS})
    feeds = [{"x": RNG.standard_normal((n, 48)).astype(np.float32), "c": np.array(c)} for n in (1, 7, 16) for c in (True, False)]
    compared(path, *feeds, dims={"N": (1, 16)})


@pytest.mark.parametrize("kind", ["branch", "nested", "positions", "while"])
def test_each_kernel_is_compared_where_it_runs(tmp_path, kind):
    x = [("x", F32, [48, 48]), ("c", BOOL, [])]
    big = graph_of(products(9), [("p8", F32, [48, 48])])
    if kind == "branch":
        path = branching(tmp_path / "m.onnx")
    elif kind == "while":
        path = newton(tmp_path / "m.onnx", 10)
    elif kind == "nested":
        inner = graph_of([node("If", "c", "n", then_branch=big, else_branch=big)], [("n", F32, [48, 48])])
        path = saved(tmp_path / "m.onnx", [node("If", "c", "y", then_branch=inner, else_branch=big)], x, [("y", F32, [48, 48])], {"w": WEIGHTS})
    else:
        picks = graph_of([node("ArgMax", "x", "i", axis=1, keepdims=0), node("Gather", "x i", "g"), node("MatMul", "g w", "q")], [("q", F32, [48, 48])])
        path = saved(tmp_path / "m.onnx", [node("If", "c", "y", then_branch=picks, else_branch=big)], x, [("y", F32, [48, 48])], {"w": WEIGHTS})
    done = subprocess.run([PROGRAM, "compare", path, "--per-kernel", "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["within"]
