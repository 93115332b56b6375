"""The conformance cases on disk and the list of what passes."""

import conformance
import conformance_cases
import onnx
import pytest
from onnx import TensorProto, helper


def value(name, type_=TensorProto.FLOAT, shape=(2,)):
    return helper.make_tensor_value_info(name, type_, shape)


def graph(nodes, inputs, **more):
    return helper.make_graph(nodes, "g", [value(name) for name in inputs], [value("y")], **more)


def test_only_shaping_inputs_are_bound():
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    assert conformance_cases.shaping_inputs(graph(nodes, ["x", "shape"])) == ["shape"]


def test_shaping_values_are_followed_to_the_inputs_they_come_from():
    nodes = [
        helper.make_node("Add", ["a", "b"], ["sum"]),
        helper.make_node("Reshape", ["x", "sum"], ["y"]),
    ]
    assert conformance_cases.shaping_inputs(graph(nodes, ["x", "b", "a"])) == ["b", "a"]


def test_extents_of_an_input_do_not_bind_it():
    nodes = [
        helper.make_node("Shape", ["x"], ["extents"]),
        helper.make_node("Expand", ["z", "extents"], ["y"]),
    ]
    assert conformance_cases.shaping_inputs(graph(nodes, ["x", "z"])) == []


def test_shaping_values_inside_subgraphs_count():
    inner = helper.make_graph(
        [helper.make_node("Tile", ["x", "times"], ["out"])], "then", [], [value("out")]
    )
    nodes = [helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)]
    assert conformance_cases.shaping_inputs(graph(nodes, ["c", "x", "times"])) == ["times"]


def test_weights_among_the_inputs_are_not_fed():
    weight = helper.make_tensor("w", TensorProto.FLOAT, [2], [1, 2])
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    fed = conformance_cases.fed_inputs(graph(nodes, ["x", "w"], initializer=[weight]))
    assert [info.name for info in fed] == ["x"]


def test_open_dimensions_take_the_sizes_of_the_data():
    infos = [value("x", shape=("n", 3)), value("z", shape=(None,))]
    tensors = [
        onnx.numpy_helper.from_array(conformance_cases.numpy.zeros(shape, "float32"))
        for shape in ((5, 3), (7,))
    ]
    sizes = conformance_cases.open_dimensions(infos, [t.SerializeToString() for t in tensors])
    assert sizes == {"n": 5, "z.0": 7}


@pytest.fixture
def results():
    lines = ["good\tpass\tgenerated\t1.5\t\n", "bad\tfail\t\t2.0\tcases/bad/model.onnx: no\n"]
    parsed = [conformance.parse_line(line, conformance.pathlib.Path("cases")) for line in lines]
    return {result.name: result for result in parsed}


def test_lines_of_the_runner(results):
    assert results["good"] == conformance.Result("good", True, "generated", 1.5, "")
    assert results["bad"].reason == "no"
    counts = "1 of 2 cases pass: 1 generated, 0 call, 0 folded"
    assert conformance.summary(results, set()) == f"{counts}; 1 with no input bound"
    assert conformance.summary(results, set(results)) == f"{counts}; 0 with no input bound"


def test_a_listed_case_may_not_be_gone(results, capsys):
    assert conformance.gone_from({"good"}, results, "") == 0
    assert conformance.gone_from({"good", "bad", "renamed"}, results, "") == 2
    assert capsys.readouterr().out.splitlines() == [
        "no longer passes: bad: no",
        "no longer passes: renamed: there is no such case",
    ]
    assert conformance.gone_from({"bad"}, results, "good") == 0


def test_failures_stand_by_operator(results):
    table = list(conformance.failure_table(results, {"good": "Add", "bad": "Add"}))
    assert table == ["Add: 1 of 2 fail", "    bad: no"]
