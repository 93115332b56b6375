"""What torch.compile calls with each graph."""

import warnings

import torch
from torch._functorch.aot_autograd import aot_module_simplified
from torch._guards import TracingContext
from torch.nn.attention import SDPBackend, sdpa_kernel

from .. import Error
from . import decompositions
from .operators import is_operator
from .options import Options
from .part import Part
from .report import Entry

_GRADIENTS = "it needs gradients; call it under torch.inference_mode() or torch.no_grad()"


class _NeedsGradients(Exception):
    pass


def backend(gm, example_inputs, *, options=None):
    """Compiles a graph for inference, and gives what runs it. Operators write to none of their inputs in what is compiled, and
    nothing is a view: torch's own AOTAutograd sees to that, and to writes and views behind it."""
    options = Options(options)
    entry = Entry(sum(map(is_operator, gm.graph.nodes)))
    if _needs_gradients(gm):
        return _in_torch(gm, _GRADIENTS, options, entry)

    def compiled(functional, _):
        return _boxed(Part(functional, _weights(functional), options, entry))

    def refusing(*_):
        raise _NeedsGradients

    try:
        with _attention_in_parts(example_inputs):
            return aot_module_simplified(
                gm,
                example_inputs,
                fw_compiler=refusing,
                inference_compiler=compiled,
                decompositions=decompositions.TABLE,
                keep_inference_input_mutations=False,
            )
    except _NeedsGradients:
        return _in_torch(gm, _GRADIENTS, options, entry)


def _in_torch(gm, reason, options, entry):
    if options.strict:
        raise Error(f"the graph is not compiled: {reason}")
    entry.reason = reason
    warnings.warn(f"a graph of {entry.nodes} operators runs in torch: {reason}", RuntimeWarning, stacklevel=2)
    return gm.forward


def _needs_gradients(gm):
    """Whether a result is to have a gradient."""
    (output,) = (node for node in gm.graph.nodes if node.op == "output")
    values = (node.meta.get("example_value") for node in output.all_input_nodes if node.op != "placeholder")
    return any(isinstance(value, torch.Tensor) and value.requires_grad for value in values)


def _weights(functional):
    """Numbers of the inputs that are a module's, and that the graph does not write to."""
    context = TracingContext.try_get()
    known = context.fw_metadata if context is not None else None
    inputs = [node for node in functional.graph.nodes if node.op == "placeholder"]
    if known is None or len(known.input_info) != len(inputs):
        return set()
    return {n for n in known.static_input_indices if not known.input_info[n].mutates_data}


def _attention_in_parts(example_inputs):
    """On a GPU torch picks an operator of attention by its device; the compiler picks its own kernels."""
    is_on_gpu = any(isinstance(value, torch.Tensor) and value.is_cuda for value in example_inputs)
    every = [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION]
    return sdpa_kernel([SDPBackend.MATH] if is_on_gpu else every)


def _boxed(part):
    """As AOTAutograd calls what it may take the arguments of."""

    def run(arguments):
        given = list(arguments)
        arguments.clear()
        return part(*given)

    run._boxed_call = True
    return run
