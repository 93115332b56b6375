"""Trains the demo's network and writes digits.onnx and held_out.npz beside this file.

usage: train.py

The data are the 1,797 handwritten digits of 8 x 8 pixels that scikit-learn bundles (E. Alpaydin and C. Kaynak,
UCI Optical Recognition of Handwritten Digits). A quarter is held out and never trained on. The network is

    conv 3x3, 1 -> 16, relu; conv 3x3, 16 -> 32, relu; max pool 2x2; conv 3x3, 32 -> 64, relu; max pool 2x2;
    fully connected 256 -> 64, relu; fully connected 64 -> 10

trained in NumPy with Adam (Kingma and Ba, 2015) on images shifted by up to one pixel. A seed makes it repeatable.
"""

import os
import pathlib

# One thread, so that sums come in the same order everywhere; the matrices are too small for more to help.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).resolve().parent
SEED = 20
EPOCHS = 40
BATCH = 64
RATE = 2e-3


def patches(x):
    """The 3 x 3 surroundings of each pixel, zero outside: [n, c, h, w] to [n, h, w, c * 9]."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    n, c, h, w = x.shape
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(n, h, w, c * 9)


class Convolution:
    """A 3 x 3 convolution with padding 1; its weight is [out, in, 3, 3]."""

    def __init__(self, random, inputs, outputs):
        scale = np.sqrt(2 / (9 * inputs))
        weight = random.standard_normal((outputs, inputs, 3, 3), np.float32) * np.float32(scale)
        self.parameters = [weight, np.zeros(outputs, np.float32)]

    def forward(self, x):
        weight, bias = self.parameters
        self.patches = patches(x)
        return (self.patches @ weight.reshape(len(weight), -1).T + bias).transpose(0, 3, 1, 2)

    def backward(self, gradient):
        weight = self.parameters[0]
        rows = gradient.transpose(0, 2, 3, 1).reshape(-1, len(weight))
        flat = self.patches.reshape(len(rows), -1)
        self.gradients = [(rows.T @ flat).reshape(weight.shape), rows.sum(0)]
        turned = weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
        return (patches(gradient) @ turned.reshape(len(turned), -1).T).transpose(0, 3, 1, 2)


class Linear:
    """A fully connected layer; its weight is [out, in], as ONNX's Gemm with transB reads it."""

    def __init__(self, random, inputs, outputs):
        weight = random.standard_normal((outputs, inputs), np.float32) * np.float32(np.sqrt(2 / inputs))
        self.parameters = [weight, np.zeros(outputs, np.float32)]

    def forward(self, x):
        self.x = x
        return x @ self.parameters[0].T + self.parameters[1]

    def backward(self, gradient):
        self.gradients = [gradient.T @ self.x, gradient.sum(0)]
        return gradient @ self.parameters[0]


class Relu:
    parameters = ()

    def forward(self, x):
        self.positive = x > 0
        return x * self.positive

    def backward(self, gradient):
        return gradient * self.positive


class MaxPool:
    """The largest of each 2 x 2 block."""

    parameters = ()

    def forward(self, x):
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
        largest = blocks.max((3, 5), keepdims=True)
        chosen = (blocks == largest).astype(np.float32)
        self.chosen = chosen / chosen.sum((3, 5), keepdims=True)
        return largest[:, :, :, 0, :, 0]

    def backward(self, gradient):
        spread = self.chosen * gradient[:, :, :, None, :, None]
        n, c, h, _, w, _ = spread.shape
        return spread.reshape(n, c, 2 * h, 2 * w)


class Flatten:
    parameters = ()

    def forward(self, x):
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, gradient):
        return gradient.reshape(self.shape)


class Adam:
    def __init__(self, layers):
        self.layers = [layer for layer in layers if len(layer.parameters)]
        self.moments = [[(np.zeros_like(p), np.zeros_like(p)) for p in layer.parameters] for layer in self.layers]
        self.step_number = 0

    def step(self, rate):
        self.step_number += 1
        correction = np.sqrt(1 - 0.999**self.step_number) / (1 - 0.9**self.step_number)
        for layer, moments in zip(self.layers, self.moments):
            for parameter, gradient, (mean, square) in zip(layer.parameters, layer.gradients, moments):
                mean += 0.1 * (gradient - mean)
                square += 0.001 * (gradient**2 - square)
                parameter -= np.float32(rate * correction) * mean / (np.sqrt(square) + np.float32(1e-8))


def forward(layers, x):
    for layer in layers:
        x = layer.forward(x)
    return x


def probabilities(scores):
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def shifted(random, images):
    """Each image moved by -1, 0 or 1 pixels along either axis, zeros coming in."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    result = np.empty_like(images)
    for index, (down, right) in enumerate(random.integers(0, 3, (len(images), 2))):
        result[index] = padded[index, :, down : down + 8, right : right + 8]
    return result


def train(images, labels, random):
    layers = [
        *(Convolution(random, 1, 16), Relu()),
        *(Convolution(random, 16, 32), Relu(), MaxPool()),
        *(Convolution(random, 32, 64), Relu(), MaxPool()),
        *(Flatten(), Linear(random, 256, 64), Relu()),
        Linear(random, 64, 10),
    ]
    adam = Adam(layers)
    for epoch in range(EPOCHS):
        order, loss = random.permutation(len(images)), 0.0
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            found = probabilities(forward(layers, shifted(random, images[chosen])))
            expected = np.eye(10, dtype=np.float32)[labels[chosen]]
            loss -= np.sum(np.log(np.sum(found * expected, 1)))
            gradient = (found - expected) / len(chosen)
            for layer in reversed(layers):
                gradient = layer.backward(gradient)
            adam.step(RATE * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS)))
        print(f"epoch {epoch + 1}/{EPOCHS}: loss {loss / len(images):.4f}", flush=True)
    return layers


def export(layers, path, batch):
    """Writes the layers as an ONNX model that takes `batch` images; its last operator is a Softmax."""
    nodes, constants, value = [], [], "images"
    counts = {}
    for layer in layers:
        kind = {"Convolution": "Conv", "Linear": "Gemm"}.get(type(layer).__name__, type(layer).__name__)
        counts[kind] = counts.get(kind, 0) + 1
        name = f"{kind.lower()}{counts[kind]}"
        attributes = {
            "Conv": dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
            "Gemm": dict(transB=1),
            "MaxPool": dict(kernel_shape=[2, 2], strides=[2, 2]),
        }.get(kind, {})
        operands = [f"{name}.{suffix}" for suffix, _ in zip(("weight", "bias"), layer.parameters)]
        for operand, parameter in zip(operands, layer.parameters):
            constants.append(numpy_helper.from_array(parameter, operand))
        nodes.append(helper.make_node(kind, [value, *operands], [f"{name}.out"], name=name, **attributes))
        value = f"{name}.out"
    nodes.append(helper.make_node("Softmax", [value], ["probabilities"], name="softmax1", axis=1))
    images = helper.make_tensor_value_info("images", TensorProto.FLOAT, [batch, 1, 8, 8])
    result = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [batch, 10])
    graph = helper.make_graph(nodes, "digits", [images], [result], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def main():
    from sklearn.datasets import load_digits

    random = np.random.default_rng(SEED)
    digits = load_digits()
    images, labels = digits.images[:, None].astype(np.float32) / 16, digits.target
    order = random.permutation(len(images))
    held, kept = np.split(order, [len(order) // 4])
    layers = train(images[kept], labels[kept], random)
    right = np.argmax(forward(layers, images[held]), 1) == labels[held]
    print(f"{right.mean():.2%} of {len(held)} held-out images are right")
    export(layers, FOLDER / "digits.onnx", len(held))
    np.savez_compressed(FOLDER / "held_out.npz", images=images[held], labels=labels[held])


if __name__ == "__main__":
    main()
