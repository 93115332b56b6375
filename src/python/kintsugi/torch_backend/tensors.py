"""torch's tensors as sessions take them: dense, where they are."""

import numpy
import torch

def dense(tensor):
    """The same values, row-major: a copy only where they are not so."""
    return tensor.detach().resolve_conj().resolve_neg().contiguous()


def bytes_of(tensor):
    """The bytes of a tensor wherever it is, row-major."""
    return dense(tensor.cpu()).reshape(-1).view(torch.uint8).numpy()


def type_name(dtype):
    """As NumPy and ml_dtypes name a torch type."""
    return numpy.dtype(bool).name if dtype == torch.bool else str(dtype).removeprefix("torch.")


def device_of(tensors):
    """The name of the device that all tensors are on, as sessions spell it, or None where there is none such. What has no
    dimension may be on the host all the same: it is copied."""
    found = {tensor.device for tensor in tensors if tensor.ndim > 0} or {tensor.device for tensor in tensors}
    if not found:
        return "cpu"
    device = found.pop()
    if found or device.type not in ("cpu", "cuda"):
        return None
    return "cpu" if device.type == "cpu" else f"cuda:{device.index or 0}"
