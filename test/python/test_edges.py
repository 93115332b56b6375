"""Answers at the edges: dimensions without elements, and numbers beyond which a function is constant."""

import numpy as np
import pytest


@pytest.mark.parametrize("rows, terms", [(0, 4), (5, 0), (0, 0)])
def test_dimensions_without_elements(folder, kintsugi, rows, terms):
    model, outputs = folder / "nothing.te", folder / "nothing.npz"
    model.write_text(
        f"input x[i:{rows}, k:{terms}] f32\ninput w[j:7, k:{terms}] f32\ninput b[j:7] f32\n"
        f"t[i:{rows}, j:7] f32 = sum<f32>[k:{terms}] x[i, k] * w[j, k]\n"
        f"y[i:{rows}, j:7] f32 = max(t[i, j] + b[j], 0)\noutput y\n"
    )
    for more in ([], ["--plan", "separate"], ["--precision", "f16"]):
        assert kintsugi("run", model, "--outputs", outputs, "--quiet", *more)[0] == 0
        assert np.load(outputs)["y"].shape == (rows, 7)


def test_functions_reach_their_limits(folder, kintsugi, level):
    """Of Gelu: what is left of 1 + erf(x) far below zero is multiplied by x."""
    model, feeds, outputs = folder / "limits.te", folder / "limits.in.npz", folder / "limits.npz"
    model.write_text(
        "input x[i:40] f32\ne[i:40] f32 = x[i] * (1 + erf(x[i]))\nt[i:40] f32 = x[i] * (1 + tanh(x[i]))\n"
        "output e\noutput t\n"
    )
    x = np.repeat(np.float32([-1e30, -200, -10, -np.inf]), 10)
    np.savez(feeds, x=x)
    assert kintsugi("run", model, "--inputs", feeds, "--outputs", outputs, "--quiet", "--cpu-level", level)[0] == 0
    for name in "et":
        result = np.load(outputs)[name]
        assert (result[:30] == 0).all() and np.isnan(result[30:]).all(), result
