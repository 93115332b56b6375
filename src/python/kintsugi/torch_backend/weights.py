"""Arguments of a graph that are constants of what was compiled, for as long as nobody writes to them."""

import operator
from collections import Counter

import torch

from .options import CHANGES

_version = operator.attrgetter("_version")


class Weights:
    """`numbers`: of the arguments that are weights. In-place operations are a change, which torch numbers, and so is other
    memory. torch does not tell of what is written through `.data`. Each run looks at all of them, so that takes little."""

    def __init__(self, numbers):
        self._changes, self._seen = Counter(), None
        self._set(numbers)

    def _set(self, numbers):
        self.numbers = sorted(numbers)
        self._pick = _picking(self.numbers)

    def hold(self, arguments):
        """They are constants as they are now, unless they are already."""
        if self._seen is not None:
            return
        # Tensors of torch.inference_mode have no version, and asking for it is an exception.
        numbered = [n for n, tensor in enumerate(self._pick(arguments)) if not tensor.is_inference()]
        self._pick_numbered = _picking(numbered)
        self._seen = self._look(arguments)

    def have_changed(self, arguments):
        """Whether one is not what it was; those that are not for more than so many times are weights no more."""
        if self._seen is None:
            return False
        found = self._look(arguments)
        if found == self._seen:
            return False
        self._changes.update(set(self._different(found)))
        self._set(number for number in self.numbers if self._changes[number] <= CHANGES)
        self._seen = None
        return True

    def _look(self, arguments):
        """Addresses of all, and versions of those that have one."""
        tensors = self._pick(arguments)
        return list(map(torch.Tensor.data_ptr, tensors)), list(map(_version, self._pick_numbered(tensors)))

    def _different(self, found):
        """Numbers of the arguments that are not what they were."""
        owners = self.numbers, self._pick_numbered(self.numbers)
        for numbers, before, now in zip(owners, self._seen, found):
            yield from (number for number, a, b in zip(numbers, before, now) if a != b)


def _picking(numbers):
    """What gives the elements of these numbers as a tuple."""
    if len(numbers) > 1:
        return operator.itemgetter(*numbers)
    return lambda values: tuple(values[number] for number in numbers)
