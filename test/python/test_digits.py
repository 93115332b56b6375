"""examples/digits: the layers' gradients, the export, and the checked-in network on images it never saw."""

import numpy as np
import onnxruntime
import pytest
import train

FLOAT = np.float64


def layer(make, *sizes):
    made = make(np.random.default_rng(1), *sizes) if sizes else make()
    made.parameters = [parameter.astype(FLOAT) for parameter in made.parameters]
    return made


@pytest.mark.parametrize(
    "made, shape",
    [
        (layer(train.Convolution, 2, 3), (2, 2, 4, 4)),
        (layer(train.Linear, 5, 3), (4, 5)),
        (layer(train.Relu), (3, 7)),
        (layer(train.MaxPool), (2, 3, 4, 6)),
        (layer(train.Flatten), (2, 3, 2, 2)),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "forward") else None,
)
def test_gradients_against_differences(made, shape):
    random = np.random.default_rng(2)
    x = random.standard_normal(shape)
    upstream = random.standard_normal(made.forward(x).shape)
    gradient = made.backward(upstream)

    def slope(array, index):
        kept, step = array[index], 1e-6
        array[index] = kept + step
        above = np.sum(made.forward(x) * upstream)
        array[index] = kept - step
        below = np.sum(made.forward(x) * upstream)
        array[index] = kept
        return (above - below) / (2 * step)

    for array, found in [(x, gradient), *zip(made.parameters, getattr(made, "gradients", []))]:
        for index in [tuple(random.integers(0, array.shape)) for _ in range(6)]:
            assert found[index] == pytest.approx(slope(array, index), rel=1e-4, abs=1e-6)


def run(path, images):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"images": images})[0]


def test_export_computes_what_was_trained(tmp_path):
    random = np.random.default_rng(3)
    layers = [
        *(train.Convolution(random, 1, 4), train.Relu(), train.MaxPool()),
        *(train.Flatten(), train.Linear(random, 64, 10)),
    ]
    images = random.random((6, 1, 8, 8), np.float32)
    train.export(layers, tmp_path / "m.onnx", 6)
    expected = train.probabilities(train.forward(layers, images))
    np.testing.assert_allclose(run(tmp_path / "m.onnx", images), expected, rtol=1e-4)


def test_checked_in_network_knows_held_out_digits():
    with np.load(train.FOLDER / "held_out.npz") as held:
        found = run(train.FOLDER / "digits.onnx", held["images"]).argmax(1)
        assert len(found) >= 400 and np.mean(found == held["labels"]) > 0.97
    assert (train.FOLDER / "digits.onnx").stat().st_size < 1 << 20
