"""A program that is killed leaves nothing that harms the next run."""

import killed
import pytest


def test_runs_after_a_kill_are_right():
    assert killed.check(6, seed=1) > 0


def test_what_a_kill_left_is_seen(tmp_path):
    place = killed.Place(tmp_path)
    (tmp_path / "cache/ab").mkdir(parents=True)
    (tmp_path / "cache/ab/.kintsugi-0123456789abcdef.tmp").touch()
    assert place.unfinished()
    with pytest.raises(killed.Wrong):
        place.finish(["run", "missing.onnx"])
