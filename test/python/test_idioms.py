"""The pairs of operators that ./dev bench idioms times: each is a model of the shape that it says."""

import json
import random

import idiom_models
import idioms
import onnx
import pytest


@pytest.mark.parametrize("table", [idiom_models.OF_IMAGES, idiom_models.OF_TOKENS], ids=["images", "tokens"])
def test_pairs_are_models(table):
    drawn = random.Random(2).sample([n for n in idiom_models.pairs() if n.split("+")[0] in table], 60)
    first = next(iter(table))
    for name in [*(f"{first}+{second}" for second in table), *drawn]:
        if (model := idiom_models.model(name)) is None:
            continue
        onnx.checker.check_model(onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True), full_check=True)


def test_what_takes_longer_is_a_defect(tmp_path, capsys):
    """With no time at all allowed each model is one, with any time none is."""
    out = tmp_path / "idioms.json"
    assert idioms.main(["mean-image+relu", "--times", "1000", "--out", str(out)]) == 0
    row = json.loads(out.read_text())["models"]["mean-image+relu"]
    assert row["ms"]["kintsugi"] > 0 and row["ms"]["ort"] > 0 and not row["failed"]
    assert idioms.main(["mean-image+relu", "--times", "0", "--out", str(out)]) == 1
    assert "1 models, 1 over 0 times" in capsys.readouterr().out
