"""--tune: measured schedules are kept, used by every later compile, survive a kill, and never make an answer wrong."""

import ctypes
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import time

import pytest
from program import PROGRAM, ROOT

PRODUCT = """
input x[m:192, k:160] f32
input w[k:160, n:224] f32
t[m:192, n:224] f32 = sum<f32>[k:160] x[m, k] * w[k, n]
y[m:192, n:224] f32 = max(t[m, n], 0)
output y
"""
# Convolutions and products of many sizes: there is more to measure than a test has time for.
MANY = "input x[h:34, w:34, c:32] f32\n" + "".join(
    f"input k{i}[o:{8 + 4 * i}, c:32, r:3, s:3] f32\n"
    f"y{i}[h:32, w:32, o:{8 + 4 * i}] f32 = sum<f32>[c:32, r:3, s:3] x[h + r, w + s, c] * k{i}[o, c, r, s]\n"
    f"output y{i}\n"
    for i in range(12)
)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "product.te"
    path.write_text(PRODUCT)
    return path


@pytest.fixture
def environment(tmp_path):
    return os.environ | {"KINTSUGI_CACHE": str(tmp_path / "cache")}


@pytest.fixture
def kintsugi(environment):
    def run(*arguments):
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600, env=environment
        )
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture
def report(kintsugi):
    def run(*arguments):
        code, out, errors = kintsugi(*arguments, "--json")
        assert (code, errors) == (0, "")
        return json.loads(out)

    return run


def store_of(environment):
    return pathlib.Path(environment["KINTSUGI_CACHE"]) / "tuned.db"


def test_what_was_measured_is_used_again(tmp_path, model, report):
    first = report("compile", model, "-o", tmp_path / "first.kin", "--tune", 120)
    assert first["tuning"]["kernels"] >= 1 and first["tuning"]["measured_schedules"] > 10
    assert first["tuning"]["complete"] is True and first["notes"] == []
    second = report("compile", model, "-o", tmp_path / "second.kin", "--tune", 120)
    assert second["tuning"]["measured_schedules"] == 0 and second["tuning"]["complete"] is True
    assert second["compile_s"] < 0.5 * first["compile_s"]
    third = report("compile", model, "-o", tmp_path / "third.kin")
    assert third["tuning"] is None and third["tuned_kernels"] == second["tuned_kernels"] == first["tuned_kernels"]
    artifacts = {(tmp_path / f"{name}.kin").read_bytes() for name in ("first", "second", "third")}
    assert len(artifacts) == 1, "the same model, options and store"
    assert report("cache", "ls")["tuned"]["entries"] >= 1
    assert report("compare", model)["within"] is True


def test_run_takes_tuned_artifacts_from_the_cache(model, report):
    assert report("run", model)["model"] == report("run", model, "--tune", 120)["model"]
    entries = report("cache", "ls")["entries"]
    report("run", model, "--tune", 120)
    report("run", model)
    assert report("cache", "ls")["entries"] != [] and len(report("cache", "ls")["entries"]) == len(entries)
    cleared = report("cache", "clear")
    assert cleared["entries"] == [] and cleared["tuned"] == {"entries": 0, "bytes": 0}


def test_a_kill_loses_nothing_that_was_measured(tmp_path, environment, report):
    model = tmp_path / "many.te"
    model.write_text(MANY)
    for wanted in (1, 3):
        tuning = subprocess.Popen(
            [PROGRAM, "compile", model, "-o", tmp_path / "killed.kin", "--tune", "600", "--quiet"], env=environment
        )
        deadline = time.monotonic() + 300
        while report("cache", "ls")["tuned"]["entries"] < wanted:
            assert tuning.poll() is None and time.monotonic() < deadline
            time.sleep(0.2)
        tuning.send_signal(signal.SIGKILL)
        assert tuning.wait() == -signal.SIGKILL
        kept = report("cache", "ls")["tuned"]
        assert kept["entries"] >= wanted and "problem" not in kept
    assert not (tmp_path / "killed.kin").exists()
    assert report("compile", model, "-o", tmp_path / "after.kin")["tuning"] is None


def test_a_damaged_store_costs_speed_and_not_the_compilation(tmp_path, environment, model, kintsugi, report):
    plain = report("compile", model, "-o", tmp_path / "plain.kin")
    store = store_of(environment)
    store.parent.mkdir(exist_ok=True)
    store.write_text("these are my notes\n" * 100)
    damaged = report("compile", model, "-o", tmp_path / "damaged.kin")
    (note,) = damaged["notes"]
    assert str(store) in note and "without tuned schedules" in note and plain["notes"] == []
    assert (tmp_path / "damaged.kin").read_bytes() == (tmp_path / "plain.kin").read_bytes()
    code, _, errors = kintsugi("run", model)
    assert code == 0 and str(store) in errors
    code, _, errors = kintsugi("compile", model, "-o", tmp_path / "tuned.kin", "--tune", 1)
    assert code == 0 and "not kept" in errors
    assert store.read_text().startswith("these are my notes"), "nobody writes into what is not a store"
    assert str(store) in report("cache", "ls")["tuned"]["problem"]
    assert "problem" not in report("cache", "clear")["tuned"] and not store.exists()


@pytest.mark.parametrize("schedule", ["- 7,9,11,13 -", "111111 16,16 -", "- 192,224 -,-,-,3x99x9+1x77", "' OR 1 --"])
def test_schedules_that_nobody_can_make_are_ignored(tmp_path, environment, model, report, schedule):
    report("compile", model, "-o", tmp_path / "plain.kin")
    report("compile", model, "-o", tmp_path / "tuned.kin", "--tune", 2)
    with sqlite3.connect(store_of(environment)) as store:
        store.execute("UPDATE measurements SET schedule = ?, seconds = default_seconds / 2", (schedule,))
    store.close()
    report("compile", model, "-o", tmp_path / "odd.kin")
    assert (tmp_path / "odd.kin").read_bytes() == (tmp_path / "plain.kin").read_bytes()


def test_any_schedule_of_the_store_gives_right_answers(tmp_path, environment, model, report):
    report("compile", model, "-o", tmp_path / "tuned.kin", "--tune", 2)
    artifacts = set()
    for schedule in ("- 5,16 -", "- 192,7 -", "- 1,224 scalar", "- 192,224 1x3x1"):
        with sqlite3.connect(store_of(environment)) as store:
            store.execute("UPDATE measurements SET schedule = ?, seconds = default_seconds / 2", (schedule,))
        store.close()
        assert report("compile", model, "-o", tmp_path / "odd.kin")["tuned_kernels"] == (0 if "x3x" in schedule else 1)
        assert report("compare", model)["within"] is True
        artifacts.add((tmp_path / "odd.kin").read_bytes())
    assert len(artifacts) == 4, "each schedule is another kernel; no machine has vectors of 3"


def test_without_a_cache_nothing_is_kept(environment, model, report):
    assert report("run", model, "--tune", 1, "--no-cache")["model"]
    assert not store_of(environment).exists()


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.mark.skipif(has_driver(), reason="there is a driver")
def test_without_a_driver_a_gpu_can_not_be_tuned_for(tmp_path, environment, model, kintsugi, report):
    code, _, errors = kintsugi("compile", model, "-o", tmp_path / "tuned.kin", "--target", "cuda", "--tune", 1)
    assert code == 5 and errors.startswith("kintsugi: --tune: there is no NVIDIA driver: libcuda.so.1")
    assert not (tmp_path / "tuned.kin").exists() and errors.count("\n") == 1
    report("compile", model, "-o", tmp_path / "first.kin", "--target", "cuda")
    report("compile", model, "-o", tmp_path / "cpu.kin", "--tune", 1)
    report("compile", model, "-o", tmp_path / "second.kin", "--target", "cuda")
    assert (tmp_path / "first.kin").read_bytes() == (tmp_path / "second.kin").read_bytes()


@pytest.mark.skipif(not has_driver(), reason="there is no driver")
def test_a_gpu_is_tuned_for_by_itself(tmp_path, model, report):
    on_gpu = ("--target", "cuda", "--precision", "f16")
    first = report("compile", model, "-o", tmp_path / "first.kin", "--tune", 20, *on_gpu)
    assert first["notes"] == [] and first["tuning"]["measured_schedules"] > 10
    third = report("compile", model, "-o", tmp_path / "third.kin", *on_gpu)
    assert third["tuned_kernels"] == first["tuned_kernels"]
    assert (tmp_path / "first.kin").read_bytes() == (tmp_path / "third.kin").read_bytes()
    assert report("compare", model, *on_gpu)["within"] is True


def forget_runs(environment):
    """What plans took in their own runs, behind which stands what kernels take in any."""
    with sqlite3.connect(store_of(environment)) as store:
        assert store.execute("DELETE FROM measurements WHERE schedule = 'time in a plan'").rowcount >= 2
    store.close()


def call_slow(environment, seconds):
    """Writes that kernels which took the given seconds take one, and that the model won its race by seconds. Gives how many
    kernels were timed, each schedule by itself."""
    with sqlite3.connect(store_of(environment)) as store:
        found = store.execute(
            "UPDATE measurements SET seconds = 1, default_seconds = 1"
            " WHERE schedule = 'time' AND abs(seconds - ?) < 1e-12",
            (seconds,),
        )
        assert found.rowcount >= 1
        won = store.execute("UPDATE measurements SET seconds = default_seconds / 2 WHERE schedule = '' AND tried = 0")
        assert won.rowcount >= 1
        (count,) = store.execute("SELECT count(*) FROM measurements WHERE schedule = 'time'").fetchone()
    store.close()
    return count


def test_the_solver_chooses_by_what_kernels_were_measured_to_take(tmp_path, environment, model, report):
    plan = report("compile", model, "-o", tmp_path / "first.kin", "--tune", 20)
    assert plan["tuning"]["timed_kernels"] >= 1 and plan["tuning"]["timed_plans"] >= 1
    assert plan["kernels"] == 1
    forget_runs(environment)
    plan = report("compile", model, "-o", tmp_path / "first.kin")
    slow = 0
    while plan["kernels"] == 1:  # The one kernel may have been timed with several schedules.
        slow += 1
        assert slow <= call_slow(environment, plan["objective_seconds"])
        plan = report("compile", model, "-o", tmp_path / "second.kin")
        assert plan["objective_seconds"] < 0.5
    assert plan["kernels"] == 2
    assert report("compare", model)["within"] is True


def test_a_plan_is_predicted_as_it_ran(tmp_path, environment, model, report):
    report("compile", model, "-o", tmp_path / "first.kin", "--tune", 5)
    with sqlite3.connect(store_of(environment)) as store:
        store.execute("UPDATE measurements SET seconds = 0.25 WHERE schedule = 'time in a plan'")
    store.close()
    assert report("compile", model, "-o", tmp_path / "second.kin")["objective_seconds"] == 0.25
    forget_runs(environment)
    assert report("compile", model, "-o", tmp_path / "third.kin")["objective_seconds"] < 0.25


def test_kernels_of_a_tuned_model_are_compared_as_they_are(environment, report):
    model = ROOT / "zoo/mmoe.onnx"
    report("run", model, "--random-weights", "--tune", 4)
    assert report("compare", model, "--random-weights", "--per-kernel")["within"] is True


@pytest.mark.parametrize("seconds", [1e308, 1e300, 5e-320, -1, 0])
def test_seconds_that_nobody_measured_cost_no_compilation(tmp_path, environment, model, report, seconds):
    report("compile", model, "-o", tmp_path / "first.kin", "--tune", 2)
    with sqlite3.connect(store_of(environment)) as store:
        store.execute("UPDATE measurements SET seconds = ? WHERE schedule LIKE 'time%'", (seconds,))
    store.close()
    again = report("compile", model, "-o", tmp_path / "again.kin")
    assert any(str(store_of(environment)) in note for note in again["notes"])
    assert report("compare", model)["within"] is True
