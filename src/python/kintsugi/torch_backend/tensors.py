"""torch's tensors as sessions take them: on the host as NumPy arrays of the same memory, on a GPU as they are."""

import numpy
import torch

# What NumPy has no type for goes through integers of its width; ml_dtypes has those of these names.
_OF_ML_DTYPES = {
    torch.bfloat16: (torch.int16, "bfloat16"),
    torch.float8_e4m3fn: (torch.uint8, "float8_e4m3fn"),
    torch.float8_e4m3fnuz: (torch.uint8, "float8_e4m3fnuz"),
    torch.float8_e5m2: (torch.uint8, "float8_e5m2"),
    torch.float8_e5m2fnuz: (torch.uint8, "float8_e5m2fnuz"),
}


def array_of(tensor):
    """An array of the memory of a tensor on the host."""
    tensor = tensor.detach()
    if tensor.dtype not in _OF_ML_DTYPES:
        return tensor.numpy()
    import ml_dtypes

    carrier, name = _OF_ML_DTYPES[tensor.dtype]
    return tensor.view(carrier).numpy().view(getattr(ml_dtypes, name))


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
