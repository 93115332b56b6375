"""Tensors of a model that are constants of what was compiled, for as long as nobody writes to them."""


class Weight:
    """A weight as it was when it became a constant, and how often it was changed after that. In-place operations are a
    change, which torch numbers, and so is other memory. torch does not tell of what is written through `.data`."""

    __slots__ = ("_place", "_version", "changes")

    def __init__(self):
        self._place, self._version, self.changes = None, None, 0

    def hold(self, tensor):
        self._place, self._version = tensor.data_ptr(), _version(tensor)

    def has_changed(self, tensor):
        if self._place is None:
            return False
        return self._place != tensor.data_ptr() or self._version != _version(tensor)


def _version(tensor):
    """Tensors of torch.inference_mode have none."""
    return None if tensor.is_inference() else tensor._version
