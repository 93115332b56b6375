"""Kintsugi as a backend of torch.compile, for inference:

    import kintsugi.torch_backend
    model = torch.compile(model.eval(), backend="kintsugi")
    with torch.inference_mode():
        y = model(x)
    print(kintsugi.torch_backend.report())

Where the wheel is installed, torch finds the name by itself. What can't be exported or compiled, or needs gradients, runs in
torch: the report says what, and why. docs/torch.md has the options and what a graph becomes. Needs the packages torch and
onnxscript, as nothing else in kintsugi does; so nothing here is imported before a program asks for it."""

import torch._dynamo

from .capture import backend
from .report import Report, report

__all__ = ["Report", "backend", "report"]

# An entry point with this name, which the wheel has, is listed without having been imported.
if "kintsugi" not in torch._dynamo.list_backends(exclude_tags=()):
    torch._dynamo.register_backend(backend, name="kintsugi")
