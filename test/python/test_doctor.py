"""`kintsugi doctor`: this machine as it is assumed to be, and as it was measured."""

import json

import pytest
from program import MODEL


def test_doctor(report):
    found = report("doctor", "--json")
    assert found["cores"] >= 1 and found["vectorBits"] in (128, 256, 512)
    assert found["levels"][0]["name"] == "memory" and found["levels"][-1]["bytes"] < found["levels"][0]["bytes"]


@pytest.fixture
def measured(kintsugi, report):
    """What was measured, or None where others have the cores: that is said, and nothing is kept."""
    assumed = report("doctor", "--json")
    assert assumed["measured"] is None and assumed["assumed"]["flopsPerSecond"] == assumed["flopsPerSecond"]
    code, out, errors = kintsugi("doctor", "--measure", "--json")
    if code == 5:
        assert out == "" and "when the machine is quiet" in errors
        assert report("doctor", "--json") == assumed
        return None
    assert (code, errors) == (0, "")
    found = json.loads(out)
    assert found["assumed"] == assumed["assumed"]
    return found


def test_doctor_measures_and_forgets(folder, kintsugi, report, measured):
    """How a measurement is kept, forgotten and damaged is tested where none has to be made: measured_machine_test.cpp."""
    if measured:
        level = measured["measured"]["levels"][0]
        assert level["level"] == measured["level"] and measured["flopsPerSecond"] == level["flopsAll"]
        assert measured["stageSeconds"] == measured["measured"]["stageSeconds"]
        assert measured["levels"][0]["bytesPerSecond"] == level["memory"][0]["readOne"]
        assert "doctor --forget" in kintsugi("doctor")[1]
    known = report("doctor", "--json")
    assert known == (measured or known)
    bench = kintsugi("bench", MODEL, "--seconds", 0, "--json", folder / "bench.json")
    assert bench[0] == 0 and json.loads((folder / "bench.json").read_text())["machine"] == known
    forgotten = report("doctor", "--forget", "--json")
    assert forgotten["measured"] is None and forgotten["assumed"] == known["assumed"]
    assert report("doctor", "--json") == forgotten
    assert kintsugi("doctor", "--measure", "--forget")[0] == 2
