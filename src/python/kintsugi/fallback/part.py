"""A part of a model as a model of its own."""

import math

import onnx

from .model import reads

class Part:
    """`nodes` are numbers of the model's; `inputs` and `outputs` names of values, which other parts or the caller have."""

    def __init__(self, model, is_ours, nodes, known, outputs):
        """`known`: by the name of what they make, nodes that only read constants; the part has of them what it reads."""
        self.is_ours, self.nodes = is_ours, list(nodes)
        self._model, self._weights, self._folded, self._sparse = model, [], [], []
        made = {name for number in nodes for name in model.nodes[number].output if name}
        self.inputs, numbers, seen = [], set(nodes), set(made)
        pending = [name for number in nodes for name in reads(model.nodes[number])] + [n for n in outputs if n not in made]
        while pending:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in model.weights:
                self._weights.append(name)
            elif name in model.sparse:
                self._sparse.append(name)
            elif is_ours and name in model.folded:
                self._folded.append(name)
            elif name in known:
                numbers.add(known[name])
                seen.update(model.nodes[known[name]].output)
                pending += reads(model.nodes[known[name]])
            else:
                self.inputs.append(name)
        self._numbers = sorted(numbers)
        self.inputs.sort()
        self.outputs, self.folder = list(outputs), model.folder

    def key(self):
        return self.is_ours, tuple(self.nodes), tuple(self.outputs)

    def proto(self, infos, embedded):
        """With its weights in itself where `embedded`, else where they are. `infos` of values by name."""
        model = self._model
        inputs = [infos[name] for name in self.inputs]
        outputs = [infos.get(name) or onnx.ValueInfoProto(name=name) for name in self.outputs]
        weights = self._tensors()
        if embedded:
            weights = [model.embedded(tensor) for tensor in weights]
        sparse = [model.sparse[name] for name in sorted(self._sparse)]
        return model.made_of([model.nodes[number] for number in self._numbers], inputs, outputs, weights, sparse)

    def weight_bytes(self):
        """At most, as elements of less than a byte are packed."""
        return sum(
            math.prod(tensor.dims) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
            for tensor in self._tensors()
        )

    def _tensors(self):
        model = self._model
        return [model.weights[name] for name in sorted(self._weights)] + [model.folded[name] for name in sorted(self._folded)]
