"""Arguments of a graph that are constants of what was compiled, for as long as nobody writes to them."""

from collections import Counter

from .options import CHANGES


class Weights:
    """`numbers`: of the arguments that are weights. In-place operations are a change, which torch numbers, and so is other
    memory. torch does not tell of what is written through `.data`."""

    def __init__(self, numbers):
        self.numbers = sorted(numbers)
        self._changes, self._seen = Counter(), None

    def hold(self, arguments):
        """They are constants as they are now."""
        self._seen = self._look(arguments)

    def have_changed(self, arguments):
        """Whether one is not what it was; those that are not for more than so many times are weights no more."""
        if self._seen is None:
            return False
        found = self._look(arguments)
        if found == self._seen:
            return False
        before, now = (zip(*each) for each in (self._seen, found))
        self._changes.update(number for number, a, b in zip(self.numbers, before, now) if a != b)
        self.numbers = [number for number in self.numbers if self._changes[number] <= CHANGES]
        self._seen = None
        return True

    def _look(self, arguments):
        """Addresses and versions."""
        tensors = [arguments[number] for number in self.numbers]
        return [tensor.data_ptr() for tensor in tensors], list(map(_version, tensors))


def _version(tensor):
    try:
        return tensor._version
    except RuntimeError:  # Tensors of torch.inference_mode have none.
        return None
