"""torch.compile(model, backend="kintsugi"): answers are torch's, and the report says what did not run in Kintsugi."""

import logging
import os
import subprocess
import sys
import threading
import time
import tomllib
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from program import ROOT

torch = pytest.importorskip("torch", reason="torch is not installed; requirements-torch.txt has it")
pytest.importorskip("onnxscript", reason="onnxscript is not installed, which torch's exporter needs")
kintsugi = pytest.importorskip("kintsugi", reason="the package is not built; ./dev build makes it")

from kintsugi import torch_backend
from torch import nn


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(autouse=True)
def fresh():
    torch.manual_seed(1)
    torch._dynamo.reset()
    torch_backend.report(clear=True)


def graphs():
    return torch_backend.report()["graphs"]


def runners():
    return [graph["runner"] for graph in graphs()]


def compiled(function, **how):
    return torch.compile(function, backend="kintsugi", **how)


def alike(found, expected, rtol=1e-4, atol=1e-5):
    torch.testing.assert_close(found, expected, rtol=rtol, atol=atol)
    for a, b in zip(*([each] if isinstance(each, torch.Tensor) else each for each in (found, expected))):
        if isinstance(b, torch.Tensor):
            assert a.stride() == b.stride()


@pytest.fixture
def inference():
    with torch.inference_mode():
        yield


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.last = nn.Linear(8, 5)
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = nn.functional.relu(self.norm(self.convolution(x)))
        return self.last(nn.functional.max_pool2d(x, 2).mean((2, 3)))


def mlp():
    return nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 7)).eval()


MODELS = {
    "mlp": (mlp, (3, 12)),
    "net": (lambda: Net().eval(), (2, 3, 8, 8)),
    "encoder": (lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval(), (2, 6, 16)),
    "decoder of images": (lambda: nn.Sequential(nn.ConvTranspose2d(4, 6, 4, 2, 1), nn.SiLU()).eval(), (1, 4, 5, 5)),
    "encoder, normed first": (
        lambda: nn.TransformerEncoderLayer(16, 4, 32, activation="gelu", batch_first=True, norm_first=True).eval(),
        (2, 6, 16),
    ),
}


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("name", MODELS)
def test_models_are_compiled_as_a_whole(name, mode):
    make, shape = MODELS[name]
    model = make()
    x = torch.randn(shape)
    with mode():
        for _ in range(2):
            found, expected = compiled(model)(x), model(x)
    alike(torch.utils._pytree.tree_leaves(found), torch.utils._pytree.tree_leaves(expected))
    assert set(runners()) == {"kintsugi"}


def test_a_symbolic_batch_is_exported_once_and_compiled_for_each_size(inference):
    model = Net().eval()
    run = compiled(model, dynamic=True, options={"sizes": 2})
    for batch in (2, 5, 3, 2):
        x = torch.randn(batch, 3, 8, 8)
        alike(run(x), model(x))
    (graph,) = graphs()
    assert graph["runner"] == "kintsugi" and graph["sizes"] == 2


def test_numbers_are_arguments_and_results(inference):
    def function(x, n):
        return x.reshape(-1)[:n] * n, x.shape[0] * 2 + n, None

    run = compiled(function, dynamic=True)
    for rows, n in ((3, 4), (5, 4), (5, 7)):
        x = torch.randn(rows, 6)
        found, expected = run(x, n), function(x, n)
        alike(found[0], expected[0])
        assert found[1:] == expected[1:] and type(found[1]) is int
    assert set(runners()) == {"kintsugi"}


def test_a_graph_break_is_two_graphs(inference):
    model = mlp()

    def function(x):
        x = model(x)
        torch._dynamo.graph_break()
        return x.softmax(-1)

    x = torch.randn(3, 12)
    alike(compiled(function)(x), function(x))
    assert runners() == ["kintsugi"] * 2


def test_what_the_exporter_lacks_runs_in_torch_between_parts(inference):
    first, last = mlp(), nn.Linear(7, 7).eval()

    def function(x):
        q, _ = torch.linalg.qr(first(x))
        return last(torch.relu(q))

    x = torch.randn(9, 12)
    alike(compiled(function)(x).abs(), function(x).abs())
    (graph,) = graphs()
    assert graph["runner"] == "kintsugi and torch" and graph["parts"] == 2
    (refused,) = graph["in_torch"]
    assert refused["operator"] == "aten.linalg_qr.default" and "exporter" in refused["reason"]
    assert "linalg_qr" in str(torch_backend.report())


def model_of_values(path):
    """Whose second input decides the shape of its result."""
    from onnx import TensorProto, helper

    reshape = helper.make_node("Reshape", ["x", "s"], ["y"])
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [6]), helper.make_tensor_value_info("s", TensorProto.INT64, [2])]
    graph = helper.make_graph([reshape], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["a", "b"])])
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]).SerializeToString())
    return path


@pytest.mark.parametrize("how", ["an error", "values decide what is compiled"])
def test_what_the_compiler_refuses_runs_in_torch_between_parts(inference, monkeypatch, tmp_path, how):
    from kintsugi.torch_backend import program

    opened = kintsugi.InferenceSession

    def without_erf(path, **keywords):
        import onnx

        if any(node.op_type == "Erf" for node in onnx.load(path, load_external_data=False).graph.node):
            if how == "an error":
                raise kintsugi.InputError(f"{path}: Erf is missing")
            return opened(model_of_values(tmp_path / "m.onnx"))
        return opened(path, **keywords)

    def survey(path, keywords, origins):
        return {name: "Erf: it is missing" for name in origins if name == "erf"}

    monkeypatch.setattr(kintsugi, "InferenceSession", without_erf)
    monkeypatch.setattr(program, "refused_nodes", survey)
    model = mlp()

    def function(x):
        return model(torch.erf(model(x)).repeat(1, 2)[:, :12])

    x = torch.randn(3, 12)
    alike(compiled(function)(x), function(x))
    (graph,) = graphs()
    assert graph["parts"] == 2
    assert [(each["operator"], each["reason"]) for each in graph["in_torch"]] == [
        ("aten.erf.default", "Erf: it is missing")
    ]


def test_threads_that_share_a_refusal_divide_once(monkeypatch):
    from kintsugi.torch_backend import program

    opened = kintsugi.InferenceSession

    def without_erf(path, **keywords):
        import onnx

        if any(node.op_type == "Erf" for node in onnx.load(path, load_external_data=False).graph.node):
            time.sleep(0.5)  # The other thread is there, too.
            raise kintsugi.InputError(f"{path}: Erf is missing")
        return opened(path, **keywords)

    model, both = mlp(), threading.Barrier(2)
    run = compiled(lambda x: model(torch.erf(model(x)).repeat(1, 2)[:, :12]), dynamic=True)

    def of(size):
        with torch.no_grad():
            return run(torch.ones(size, 12))

    def in_a_thread(_):
        both.wait()
        return of(7)

    of(3)
    monkeypatch.setattr(kintsugi, "InferenceSession", without_erf)
    monkeypatch.setattr(program, "refused_nodes", lambda path, keywords, origins: {"erf": "Erf: it is missing"})
    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(in_a_thread, range(2))
    assert (one == other).all()
    (graph,) = graphs()
    assert graph["parts"] == 2 and [each["count"] for each in graph["in_torch"]] == [1]


def test_exports_are_made_one_at_a_time(monkeypatch):
    from kintsugi.torch_backend import export

    under_way, most = [], []

    def watched(exported):
        under_way.append(exported)
        time.sleep(0.1)
        most.append(len(under_way))
        under_way.remove(exported)

    monkeypatch.setattr(export, "_export", watched)
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(export._onnx_of, range(3)))
    assert most == [1, 1, 1]


def test_other_sizes_run_while_one_is_compiled(monkeypatch):
    model, opened, compiling, may_go_on = mlp(), kintsugi.InferenceSession, threading.Event(), threading.Event()
    run = compiled(model, dynamic=True)

    def slow(path, **keywords):
        if 7 in keywords["dims"].values():
            compiling.set()
            assert may_go_on.wait(60)
        return opened(path, **keywords)

    def of(size):
        with torch.no_grad():
            return run(torch.ones(size, 12))

    of(3)
    monkeypatch.setattr(kintsugi, "InferenceSession", slow)
    with ThreadPoolExecutor(2) as threads:
        late = threads.submit(of, 7)
        try:
            assert compiling.wait(60)
            assert threads.submit(of, 3).result(timeout=30).shape == (3, 7)
        finally:
            may_go_on.set()
        assert late.result().shape == (7, 7)
    assert [graph["sizes"] for graph in graphs()] == [2]


def test_exporting_is_quiet_and_others_are_heard(inference, monkeypatch, capsys, caplog, recwarn):
    export = torch.onnx.export

    def say(who):
        warnings.warn(f"a warning of {who}", stacklevel=2)
        logging.getLogger(who).warning("a log of %s", who)
        print("printed by", who)

    def heard(*arguments, **keywords):
        say("the exporter")
        with ThreadPoolExecutor(1) as other:
            other.submit(say, "another").result()
        return export(*arguments, **keywords)

    monkeypatch.setattr(torch.onnx, "export", heard)
    model, x, stream = mlp(), torch.randn(3, 12), sys.stdout
    alike(compiled(model)(x), model(x))
    say("a later one")
    others = ["another", "a later one"]
    assert [str(each.message) for each in recwarn if "a warning of" in str(each.message)] == [
        f"a warning of {who}" for who in others
    ]
    assert [message for message in caplog.messages if "a log of" in message] == [f"a log of {who}" for who in others]
    assert capsys.readouterr().out == "printed by the exporter\nprinted by another\nprinted by a later one\n"
    assert sys.stdout is stream and logging.root.manager.disable == 0


def test_exports_that_overlap_leave_the_process_as_it_was(recwarn):
    from kintsugi.torch_backend.quiet import quiet

    stream, inside, first_is_out = sys.stdout, threading.Barrier(2), threading.Event()

    def first(_):
        with quiet():
            inside.wait(30)
        first_is_out.set()

    def second(_):
        with quiet():
            inside.wait(30)
            assert first_is_out.wait(30)

    with ThreadPoolExecutor(2) as threads:
        done = [threads.submit(each, None) for each in (first, second)]
        [each.result() for each in done]
        warnings.warn("heard", stacklevel=1)
        assert threads.submit(warnings.warn, "also heard").result() is None
    assert [str(each.message) for each in recwarn] == ["heard", "also heard"]
    assert sys.stdout is stream and logging.root.manager.disable == 0


def test_nodes_that_are_refused_are_found_by_name(tmp_path):
    """Of what the compiler says of an ONNX node, the graph's node is to blame."""
    from kintsugi.torch_backend.survey import refused_nodes
    from onnx import TensorProto, helper

    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "xyz"]
    nodes = [
        helper.make_node("Relu", ["x"], ["y"]),
        helper.make_node("Nonsense", ["y"], ["z"], domain="example"),
    ]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[2:], value_info=ports[1:2])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("example", 1)])
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    found = refused_nodes(str(tmp_path / "m.onnx"), {"device": "cpu"}, ["relu", "nonsense"])
    assert list(found) == ["nonsense"] and "Nonsense" in found["nonsense"]


def test_exported_nodes_know_where_they_come_from(inference):
    from kintsugi.torch_backend import export

    seen = []
    made = export.Exported.__init__

    def watched(self, gm):
        made(self, gm)
        seen.append((self, {node.name for node in gm.graph.nodes}))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export.Exported, "__init__", watched)
        compiled(mlp())(torch.randn(3, 12))
    ((exported, names),) = seen
    assert exported.origins and set(exported.origins) <= names


def test_writes_to_arguments_are_seen(inference):
    def function(x, y):
        x.add_(y.sum())
        y[1:].mul_(2)
        return x * y

    arguments = torch.randn(3, 4), torch.randn(3, 4)
    others = [each.clone() for each in arguments]
    alike(compiled(function)(*arguments), function(*others))
    alike(arguments, tuple(others))
    assert runners() == ["kintsugi"]


def test_results_that_are_views_or_arguments_stay_so(inference):
    def function(x):
        y = x + 1
        return x, x.t(), y, y[0], y.t()

    x = torch.randn(3, 4)
    found, expected = compiled(function)(x), function(x)
    alike(found, expected)
    assert found[0] is x and found[1]._base is x or found[1].data_ptr() == x.data_ptr()
    found[2].zero_()
    assert not found[3].any() and not found[4].any()


def test_overlapping_arguments(inference):
    def function(x, y):
        x.add_(1)
        return y * 2

    memory, other = torch.zeros(6), torch.zeros(6)
    alike(compiled(function)(memory[:4], memory[2:]), function(other[:4], other[2:]))
    alike(memory, other)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.t().contiguous().t(),
        lambda x: torch.randn(3, 24)[:, ::2].copy_(x),
        lambda x: x[:1].expand(3, 12),
    ],
)
def test_arguments_need_not_be_dense(inference, change):
    model = mlp()
    x = change(torch.randn(3, 12))
    assert not x.is_contiguous()
    alike(compiled(model)(x), model(x))
    assert runners() == ["kintsugi"]


def test_strides_are_torchs(inference):
    model = Net().convolution.to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    found = compiled(model)(x)
    alike(found, model(x))
    assert found.is_contiguous(memory_format=torch.channels_last)


STRIDED = {  # Of a tensor x of 4 x 6 x 2: what is made of it, who runs it.
    "windows of what is in order": (lambda x: (x + 1).as_strided((3, 16), (16, 1)), ["kintsugi"]),
    "windows of what is transposed": (lambda x: (x + 1).permute(2, 0, 1).as_strided((2, 3, 8), (1, 16, 2)), ["kintsugi"]),
    "an offset": (lambda x: (x + 1).transpose(0, 1).as_strided((5, 6), (6, 1), 12), ["kintsugi"]),
    "gaps": (lambda x: (x + 1)[:, ::2].as_strided((3, 16), (16, 1)) + x[0, 0, 0], None),
}


@pytest.mark.parametrize("case", STRIDED)
def test_as_strided_goes_by_memory(inference, case):
    function, expected = STRIDED[case]
    x = torch.arange(48.0).reshape(4, 6, 2)
    alike(compiled(function)(x), function(x))
    assert expected is None or runners() == expected


TYPES = {
    torch.float16: 5e-3,
    torch.bfloat16: 4e-2,
    torch.float64: 1e-9,
    torch.int32: 0,
    torch.int64: 0,
    torch.uint8: 0,
    torch.bool: 0,
}


@pytest.mark.parametrize("dtype", TYPES)
def test_types(inference, dtype):
    if dtype == torch.bfloat16:
        pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")

    def function(x, y):
        return torch.where(x > y, x, y).flip(0), x == y

    x, y = ((torch.randn(4, 5) * 3).to(dtype) for _ in range(2))
    alike(compiled(function)(x, y), function(x, y), rtol=TYPES[dtype], atol=TYPES[dtype])
    assert runners() == ["kintsugi"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_models_of_other_floats(inference, dtype):
    if dtype == torch.bfloat16:
        pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    model = mlp().to(dtype)
    x = torch.randn(3, 12, dtype=dtype)
    alike(compiled(model)(x), model(x), rtol=TYPES[dtype], atol=TYPES[dtype])
    assert runners() == ["kintsugi"]


def test_complex_numbers_run_in_torch(inference):
    def function(x):
        return torch.fft.fft(x) * 1j

    x = torch.randn(8)
    alike(compiled(function)(x), function(x))
    assert runners() == ["torch"] and "complex" in graphs()[0]["in_torch"][0]["reason"]


def test_what_needs_gradients_runs_in_torch():
    model, other = mlp(), mlp()
    other.load_state_dict(model.state_dict())
    x = torch.randn(3, 12)
    with pytest.warns(RuntimeWarning, match="runs in torch: it needs gradients"):
        found = compiled(model)(x)
    found.sum().backward()
    other(x).sum().backward()
    for a, b in zip(model.parameters(), other.parameters()):
        alike(a.grad, b.grad)
    (graph,) = graphs()
    assert graph["runner"] == "torch" and "no_grad" in graph["reason"]


def test_without_weights_that_need_gradients_the_mode_does_not_matter():
    model = mlp().requires_grad_(False)
    x = torch.randn(3, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        alike(compiled(model)(x), model(x))
    assert runners() == ["kintsugi"]


def test_training_under_no_grad_keeps_statistics():
    model, other = Net().train(), Net().train()
    other.load_state_dict(model.state_dict())
    run = compiled(model)
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(4, 3, 8, 8)
            alike(run(x), other(x))
    for name, expected in other.state_dict().items():
        alike(model.state_dict()[name], expected)


def test_random_numbers_are_torchs(inference):
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 7), nn.ReLU())
    x = torch.randn(3, 12)
    run = compiled(model)
    run(x)
    torch.manual_seed(5)
    found = run(x)
    torch.manual_seed(5)
    alike(found, model(x))
    (graph,) = graphs()
    assert graph["runner"] == "kintsugi and torch"
    assert any("random" in each["reason"] for each in graph["in_torch"])


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_weights_may_change(mode):
    model = mlp()
    run = compiled(model)
    x = torch.randn(3, 12)
    with mode():
        alike(run(x), model(x))
    for _ in range(3):
        with torch.no_grad():
            model[0].weight.mul_(1.5)
            model[0].bias.add_(1)
        with mode():
            alike(run(x), model(x))
    model.load_state_dict(mlp().state_dict())
    with mode():
        alike(run(x), model(x))
    assert set(runners()) == {"kintsugi"}


def test_state_that_graphs_write_to_is_no_constant(inference):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(4))

        def forward(self, x):
            self.seen.add_(x)
            return self.seen * 2

    model, other = Counting(), Counting()
    run = compiled(model)
    for _ in range(3):
        x = torch.randn(4)
        alike(run(x), other(x))
    alike(model.seen, other.seen)


def test_constants_of_a_graph(inference):
    def function(x):
        return x[:, torch.tensor([2, 0, 1])] + torch.arange(3, dtype=torch.float32)

    x = torch.randn(2, 3)
    alike(compiled(function)(x), function(x))
    assert runners() == ["kintsugi"]


def test_options_reach_sessions(inference, monkeypatch):
    seen = []
    opened = kintsugi.InferenceSession

    def watched(path, **keywords):
        seen.append(keywords)
        return opened(path, **keywords)

    monkeypatch.setattr(kintsugi, "InferenceSession", watched)
    x = torch.randn(3, 12)
    compiled(mlp(), options={"threads": 1, "plan": "greedy", "cache": False})(x)
    assert {"threads": 1, "plan": "greedy", "cache": False}.items() <= seen[0].items()
    assert seen[0]["device"] == "cpu"


@pytest.mark.parametrize(
    "options, message",
    [({"thread": 1}, "no option 'thread'; its options: threads, "), ({"sizes": 0}, "sizes is 0; it takes a number")],
)
def test_options_that_there_are_not(inference, options, message):
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match=message):
        compiled(mlp(), options=options)(torch.randn(3, 12))


def test_strict_is_an_error_where_torch_would_run(inference):
    def function(x):
        return torch.linalg.qr(x + 1)[0]

    with pytest.raises(kintsugi.Error, match=r"not compiled as a whole: aten\.linalg_qr"):
        compiled(function, options={"strict": True})(torch.randn(4, 4))


def test_attention_that_torch_has_an_operator_for(inference):
    model = nn.MultiheadAttention(16, 4, batch_first=True).eval()
    x = torch.randn(2, 6, 16)
    for how in ({}, {"average_attn_weights": False}, {"need_weights": False}):
        found, expected = (run(x, x, x, **how) for run in (compiled(model), model))
        alike(found[0], expected[0])
        assert found[1] is None if expected[1] is None else alike(found[1], expected[1]) is None
    assert set(runners()) == {"kintsugi"}


def test_on_a_gpu_runs_read_tensors_where_they_are(monkeypatch):
    """Here those of the host stand for the GPU's. A run is put on torch's current stream."""
    from kintsugi.torch_backend.results import Results
    from kintsugi.torch_backend.session import Session

    asked = []

    class Port:
        def __init__(self, name):
            self.name, self.shape, self._dtype = name, [2, 3], torch.empty(0).numpy().dtype

    class Fake:
        def run_at(self, inputs, outputs, stream):
            asked.append((inputs, outputs, stream))

        def get_inputs(self):
            return [Port("x"), Port("y")]

        def get_outputs(self):
            return [Port("z")]

        def get_provider_options(self):
            return {"CUDAExecutionProvider": {"device_id": "1"}}

    class Stream:
        def __init__(self, device):
            self.cuda_stream = f"that of {device}"

    class Value(torch.Tensor):
        device = torch.device("cuda", 1)

    graph = torch.fx.Graph()
    inputs = [graph.placeholder(name) for name in "xy"]
    added = graph.call_function(torch.ops.aten.add.Tensor, tuple(inputs))
    added.meta["val"] = Value(2, 3)
    graph.output((added,))
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    Fake._program = fake = Fake()
    session = Session(fake, {"x": 0, "y": 1}, Results(graph), {})
    assert session._device == torch.device("cuda", 1)
    session._device = torch.device("cpu")
    x, y = torch.ones(2, 3), torch.ones(3, 2).t()
    (z,) = session.run((x, y))
    (((first, second), rooms, stream),) = asked
    assert stream == "that of cpu" and first == x.data_ptr() and second != y.data_ptr() and rooms == [z.data_ptr()]


def test_devices():
    from kintsugi.torch_backend.tensors import device_of

    class Tensor:
        def __init__(self, device, ndim=1):
            self.device, self.ndim = torch.device(device), ndim

    assert device_of([]) == device_of([Tensor("cpu"), Tensor("cpu", 0)]) == "cpu"
    assert device_of([Tensor("cuda:1"), Tensor("cpu", 0)]) == device_of([Tensor("cuda:1", 0)]) == "cuda:1"
    assert device_of([Tensor("cuda:1"), Tensor("cuda:0")]) is None
    assert device_of([Tensor("cuda:1"), Tensor("cpu")]) is device_of([Tensor("meta")]) is None


def test_the_wheels_entry_point_is_enough(tmp_path):
    """Where the package is installed, nobody has to import the backend."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    folder = tmp_path / "kintsugi-0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: kintsugi\nVersion: 0\n")
    lines = [line for group, named in points.items() for line in (f"[{group}]", *map(" = ".join, named.items()))]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")
    script = (
        "import sys, torch\n"
        "with torch.inference_mode():\n"
        "    y = torch.compile(lambda x: x + 1, backend='kintsugi')(torch.zeros(3))\n"
        "print(y.sum().item(), sys.modules['kintsugi.torch_backend'].report()['graphs'][0]['runner'])\n"
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT / "build" / "python"), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}
    )
    assert done.stdout.split() == ["3.0", "kintsugi"], done.stderr


def test_the_name_is_registered_once():
    assert "kintsugi" in torch._dynamo.list_backends()
    assert torch._dynamo.lookup_backend("kintsugi") is torch_backend.backend


def test_what_is_on_several_devices_is_not_compiled(inference):
    """Here torch's device without memory stands for another one."""

    def function(x):
        return (x + 1).to("meta") + torch.ones(3, device="meta"), x * 2

    found = compiled(function)(torch.ones(3))
    assert found[0].device.type == "meta" and torch.equal(found[1], torch.full((3,), 2.0))
    assert any("device" in each["reason"] for each in graphs()[0]["in_torch"])


def test_results_that_are_expanded(inference):
    """Of bart and marian, say: all rows of a position's embedding are one."""

    def function(x):
        return (x + 1).unsqueeze(0).expand(4, 3, 5), x.sum()

    found = compiled(function)(torch.randn(3, 5))
    expected = function(torch.randn(3, 5))
    assert found[0].shape == (4, 3, 5) and found[0].stride() == expected[0].stride()
    assert runners() == ["kintsugi"]
