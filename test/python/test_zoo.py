"""The zoo's quicker models, compiled, run and compared with ONNX Runtime; `./dev zoo` takes all of them."""

import check
import models
import mutate
import pytest

QUICK = """candy csrnet dcgan dlrm efficientnet_b0 efficientvit_b1 fsrcnn infogan lstm_10x100x256 mmoe resnet18
shufflenet_v2""".split()
SECONDS = 240  # For one command on a machine that is busy; alone each takes a few.


@pytest.mark.parametrize("path", models.choose(QUICK), ids=lambda path: path.stem)
def test_agrees_with_onnx_runtime(path):
    row = check.check(path, SECONDS)
    assert row["verdict"] == "inside", row


def test_there_are_enough():
    assert len(models.choose(QUICK)) == len(QUICK) >= 12


@pytest.mark.parametrize("path", models.choose(["fsrcnn", "dcgan"]), ids=lambda path: path.stem)
def test_mistakes_are_seen(path):
    row = mutate.examine(path, SECONDS)
    assert row["none"] <= 1
    assert all(row[mistake] > 1 for mistake in mutate.MISTAKES), row


def verdicts(*all_):
    return {f"m{i}": dict(verdict=verdict) for i, verdict in enumerate(all_)}


def test_verdicts_are_counted_apart():
    said = check.summary(verdicts("inside", "rounding", "inside", "outside"))
    assert said == "of 4 models inside the error policy: 2; only by rounding: 1 (m1); outside: 1 (m3)"


def test_what_max_error_brings_inside_is_counted_apart():
    rows = verdicts("inside", "outside", "outside")
    rows["m1"]["with_max_error"], rows["m2"]["with_max_error"] = dict(verdict="rounding"), dict(verdict="outside")
    said = check.summary(rows)
    assert said.endswith("inside the error policy: 1; only by rounding: 0; outside: 2 (m1, m2); with --max-error 0.1 still outside: 1")
    assert [check.is_outside(row) for row in rows.values()] == [False, False, True]
