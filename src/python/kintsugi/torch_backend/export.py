"""A functional graph of ATen operators as an ONNX model, by torch's own exporter. What the graph is given are inputs of the
model, weights too: they become constants once their values are there (program.py)."""

import operator
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.export.exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)
from torch.utils import _pytree

from .quiet import quiet
from .results import Results
from .strided import NotDense, order_by_memory

# What the exporter takes along for each node, and we read again: whose place in a file it is, for us the node's name.
_CARRIED = "stack_trace"
_ORIGIN = "pkg.torch.onnx.stack_trace"

_one_at_a_time = threading.Lock()


class NotExported(Exception):
    """torch's exporter does not take a graph; the message says why."""


class Exported:
    """`proto`: the model, whose inputs are the graph's placeholders, in their order, and then `constants`, tensors that the
    graph holds itself; `results`: what the graph's outputs are; `origins`: by the number of an ONNX node, the name of the
    graph's node that it came of."""

    def __init__(self, gm):
        self._gm = gm
        self.results, self.constants = Results(gm.graph), []
        self.proto = _onnx_of(self._program())
        self.origins = [
            next((entry.value for entry in node.metadata_props if entry.key == _ORIGIN), "")
            for node in self.proto.graph.node
        ]

    def _program(self):
        graph = torch.fx.Graph()
        copies = {}
        graph.graph_copy(self._gm.graph, copies)
        for node, copy in copies.items():
            copy.meta[_CARRIED] = node.name
        computed = tuple(copies[node] for node in self.results.nodes)
        graph.output(computed)
        try:
            order_by_memory(graph)
        except NotDense as problem:
            raise NotExported(str(problem)) from None
        self._lift_constants(graph)
        graph.eliminate_dead_code()
        inputs = [node for node in graph.nodes if node.op == "placeholder"]
        return _exported_program(torch.fx.GraphModule(self._gm, graph), inputs, computed)

    def _lift_constants(self, graph):
        """Constants of the graph become inputs behind the others."""
        operators = next(node for node in graph.nodes if node.op != "placeholder")
        for node in [node for node in graph.nodes if node.op == "get_attr"]:
            tensor = operator.attrgetter(node.target)(self._gm)
            with graph.inserting_before(operators):
                lifted = graph.placeholder(f"constant_{len(self.constants)}")
            lifted.meta = {"val": tensor} | node.meta
            node.replace_all_uses_with(lifted)
            self.constants.append(tensor)


def _exported_program(gm, inputs, outputs):
    """As torch.export would give it."""
    values = tuple(node.meta["val"] for node in inputs)
    signature = ExportGraphSignature(
        [InputSpec(InputKind.USER_INPUT, _argument(node), None) for node in inputs],
        [OutputSpec(OutputKind.USER_OUTPUT, _argument(node), None) for node in outputs],
    )
    in_spec = _pytree.tree_flatten((values, {}))[1]
    out_spec = _pytree.tree_flatten(tuple(outputs))[1]
    call = ModuleCallSignature(inputs=[], outputs=[], in_spec=in_spec, out_spec=out_spec)
    shape_env = next((value.fake_mode.shape_env for value in values if hasattr(value, "fake_mode")), None)
    return ExportedProgram(
        root=gm,
        graph=gm.graph,
        graph_signature=signature,
        state_dict={},
        range_constraints=dict(shape_env.var_to_range) if shape_env is not None else {},
        module_call_graph=[ModuleCallEntry("", call)],
        constants={},
    )


def _argument(node):
    if isinstance(node.meta["val"], torch.Tensor):
        return TensorArgument(node.name)
    return SymIntArgument(node.name)


def _onnx_of(exported):
    """Graphs run while torch keeps Python from what it traces with; that is a matter of the thread. That it exports is one
    of the process: exports that overlap leave torch believing that it still does."""
    with _one_at_a_time, ThreadPoolExecutor(1) as other:
        return other.submit(_export, exported).result()


def _export(exported):
    with quiet(), torch.no_grad():
        try:
            return torch.onnx.export(exported, dynamo=True, verbose=False).model_proto
        except Exception as problem:  # Its errors and those of what it calls have no class in common.
            raise NotExported(_innermost(problem)) from None


def _innermost(problem):
    """The first line of the error that others were made of."""
    while problem.__cause__ is not None:
        problem = problem.__cause__
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return f"{type(problem).__name__}: {lines[0]}" if lines else type(problem).__name__
