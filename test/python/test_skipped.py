"""scripts/skipped.py: what a run of the tests could not run."""

import skipped

UNITS = """[ RUN      ] Ptx.Assembles
/src/ptx_test.cpp:394: Skipped
there is no ptxas on this machine

[  SKIPPED ] Ptx.Assembles (0 ms)
[ RUN      ] Ptx.Other
[       OK ] Ptx.Other (0 ms)
/src/measure_test.cpp:31: Skipped
the machine is busy
/src/bulk_test.cpp:184: Skipped
there is no ptxas on this machine
"""
PYTHON = """..s.
SKIPPED [29] test/python/test_device_calls.py:40: there is no GPU
SKIPPED [2] test/python/test_dist.py:9: the machine is busy
4 passed, 31 skipped in 1.2s
"""


def test_reasons_are_counted():
    units, python = skipped.of_units(UNITS), skipped.of_pytest(PYTHON)
    assert list(skipped.summary(units, python, "x86-64-v4")) == [
        "34 tests skipped: 3 unit tests, 31 of pytest",
        "    29 x there is no GPU",
        "    3 x the machine is busy",
        "    2 x there is no ptxas on this machine",
    ]


def test_a_machine_without_avx512_is_told():
    (none, level) = skipped.summary(skipped.of_units(""), skipped.of_pytest(""), "x86-64-v3")
    assert none.startswith("0 tests skipped")
    assert level == "code for x86-64-v4 (AVX-512) was not run: this machine has x86-64-v3"
