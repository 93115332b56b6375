"""Attention whose queries, keys and values are read from one product, against the reference target."""

import json
import subprocess

import pytest
from attention_model import attention
from program import PROGRAM

SECONDS = 400  # For one command on a machine that is busy.


@pytest.mark.parametrize(
    ("tokens", "heads", "size", "mask", "how"),
    [
        (512, 1, 64, "causal", "slice"),
        (768, 1, 64, "causal", "gather"),
        (512, 2, 32, "sliding", "split"),
        (384, 1, 80, "blocks", "gather"),
        (500, 1, 33, "causal", "slice"),
    ],
)
def test_heads_read_from_one_product(tmp_path, level, tokens, heads, size, mask, how):
    model = tmp_path / "attention.onnx"
    attention(model, tokens, heads, size, mask, how)
    command = [PROGRAM, "compare", str(model), "--no-cache", "--cpu-level", level, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    (output,) = json.loads(done.stdout)["outputs"]
    assert output["max_rel"] < 4e-6
