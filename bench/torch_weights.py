"""Gives a torch module the weights of the ONNX file that was exported from it, so that both compute the same.

The export keeps the names of parameters and buffers, with exceptions that the rules here undo:
- A linear layer's weight under a MatMul is stored transposed under a new name: the n-th such MatMul of the graph
  belongs to the n-th call of a linear layer whose weight is not found by name.
- An LSTM's two biases are stored as one, its gates in ONNX's order.
- Swin's tables of relative positions are stored as looked up.
- Equal tensors are stored once (scales of all ones, biases of all zeros), so a parameter that is not found keeps the
  value it was made with, which must be the same in every element.

None of this is taken on trust: the benchmark compares the module's outputs with ONNX Runtime's before it times them.
"""

import numpy as np
import onnx
import torch


class Mismatch(Exception):
    """The module and the graph cannot be one and the same."""


def tensors(model, folder):
    """Every initializer of a model by name, external data mapped from its file instead of read."""
    found = {}
    for tensor in model.graph.initializer:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            found[tensor.name] = onnx.numpy_helper.to_array(tensor)
            continue
        info = {entry.key: entry.value for entry in tensor.external_data}
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        found[tensor.name] = np.memmap(
            folder / info["location"], dtype, "r", int(info.get("offset", 0)), tuple(tensor.dims)
        )
    return found


class LinearWeights(torch.overrides.TorchFunctionMode):
    """Notes the weights of the linear layers in the order in which a run calls them."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_function__(self, function, types, arguments=(), named=None):
        if function is torch.nn.functional.linear:
            self.found.append(arguments[1])
        return function(*arguments, **(named or {}))


def copy(tensor, value, given):
    """Copies an array into a parameter or buffer and notes that it has its value."""
    if tuple(tensor.shape) != value.shape:
        raise Mismatch(f"the file has {value.shape} where the module has {tuple(tensor.shape)}")
    tensor.copy_(torch.from_numpy(np.array(value)))
    given.add(tensor)


def give_named(module, stored, given):
    """What keeps its name. A name can have come to stand for another thing, of another shape."""
    for name, own in [*module.named_parameters(), *module.named_buffers()]:
        if name in stored and tuple(own.shape) == stored[name].shape:
            copy(own, stored[name], given)


def give_linears(module, arguments, model, stored, given):
    named = {name for name, _ in module.named_parameters()}
    factors = [
        node.input[1]
        for node in model.graph.node
        if node.op_type == "MatMul" and node.input[1] in stored and node.input[1] not in named
    ]
    with LinearWeights() as calls:
        module(*arguments)
    weights = [weight for weight in calls.found if weight not in given]
    if len(factors) != len(weights):
        raise Mismatch(f"{len(weights)} linear layers for {len(factors)} products with a constant")
    for factor, weight in zip(factors, weights):
        copy(weight, stored[factor].T, given)


def give_lstms(module, model, stored, given):
    """One ONNX node is one layer of a torch LSTM. Gates: input, output, forget, cell there; i, f, c, o here."""
    nodes = [node for node in model.graph.node if node.op_type == "LSTM" and node.input[3] in stored]
    layers = (
        (getattr(lstm, f"bias_ih_l{layer}"), getattr(lstm, f"bias_hh_l{layer}"))
        for lstm in module.modules()
        if isinstance(lstm, torch.nn.LSTM)
        for layer in range(lstm.num_layers)
    )
    for node, biases in zip(nodes, layers):
        for bias, half in zip(biases, np.split(stored[node.input[3]][0], 2)):
            gates = np.split(half, 4)
            copy(bias, np.concatenate([gates[0], gates[2], gates[3], gates[1]]), given)


def give_positions(module, stored, given):
    """A table as looked up is a table whose index counts up."""
    tables = [tensor for name, tensor in stored.items() if name.split("_")[0] == "index" and tensor.ndim == 2]
    layers = [layer for layer in module.modules() if hasattr(layer, "relative_position_bias_table")]
    if len(tables) != len(layers):
        raise Mismatch(f"{len(layers)} tables of relative positions, of which {len(tables)} are stored")
    for table, layer in zip(tables, layers):
        layer.relative_position_bias_table = torch.nn.Parameter(torch.empty(table.shape))
        copy(layer.relative_position_bias_table, table, given)
        layer.relative_position_index = torch.arange(len(table))


@torch.no_grad()
def give(module, arguments, path):
    """Gives `module` the weights of the model at `path`. Raises Mismatch."""
    model = onnx.load(path, load_external_data=False)
    stored, given = tensors(model, path.parent), set()
    give_named(module, stored, given)
    give_linears(module, arguments, model, stored, given)
    give_lstms(module, model, stored, given)
    give_positions(module, stored, given)
    for name, own in module.named_parameters():
        if own not in given and own.min() != own.max():
            raise Mismatch(f"the file has no values for '{name}'")
