"""What each process that tries a model needs, imported once for all of them."""

import onnxruntime
import onnxscript
import timm
import torch
import torch.onnx
import torchvision
import transformers
