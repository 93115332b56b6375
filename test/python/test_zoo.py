"""The zoo's quicker models, compiled, run and compared with ONNX Runtime; `./dev zoo` takes all of them."""

import check
import models
import pytest

QUICK = """candy csrnet dcgan dlrm efficientnet_b0 efficientvit_b1 fsrcnn gcn infogan lstm_10x100x256 mmoe resnet18 resnet50
shufflenet_v2 yolox_nano""".split()
SECONDS = 240  # For one command on a machine that is busy; alone each takes a few.


@pytest.mark.parametrize("path", models.choose(QUICK), ids=lambda path: path.stem)
def test_agrees_with_onnx_runtime(path):
    row = check.check(path, SECONDS)
    assert row["ok"], row


def test_there_are_enough():
    assert len(models.choose(QUICK)) == len(QUICK) >= 12
