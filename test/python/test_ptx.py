"""The PTX of a few models as NVIDIA's assembler sees it; `./dev ptx` takes the whole zoo."""

import argparse

import models
import ptx
import pytest

QUICK = "dlrm fsrcnn mmoe resnet18".split()

LOG = """ptxas info    : (C7510) Potential Performance Loss: ... instructions are serialized due to ... in the function 'k2'
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k1' for 'sm_90a'
ptxas info    : Function properties for k1
    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 8 bytes cumulative stack size
ptxas info    : Compiling entry function 'k2' for 'sm_90a'
ptxas info    : Function properties for k2
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem
"""
FINE = dict(stores=0, loads=0, registers=64, static=0, assumed=64, threads=128, scratch=0, share=1)
FINE |= dict(tiles=132 * 16, cluster=1)


def stage(symbol, seconds, kind="kernel"):
    launch = dict(threads=64, scratch_bytes=0, registers=32, tiles=9)
    return dict(kind=kind, symbol=symbol, predicted_seconds=seconds, nodes=["n"], **launch)


def test_the_log_is_read():
    found = ptx.read_log(LOG)
    assert found["k1"] == dict(stores=12, loads=16, registers=255, static=0)
    assert found["k2"] == dict(stores=0, loads=0, registers=40, static=1024, waits=True)


def test_clusters_are_found():
    text = b".visible .entry k1(\n.param .u64 a\n)\n.maxntid 128\n{\nret;\n}\n"
    text += text.replace(b"k1", b"k2").replace(b"128\n", b"128\n.explicitcluster\n.reqnctapercluster 4, 1, 1\n")
    assert ptx.clusters(text) == {"k2": 4}


def test_room_is_what_code_promises():
    text = b".visible .entry k1(\n.param .u64 a\n)\n.maxntid 128\n{\nret;\n}\n"
    text += text.replace(b"k1", b"k2").replace(b"128\n", b"128\n.minnctapersm 6\n")
    assert ptx.promises(text) == {"k2": 6}
    assert ptx.judge(FINE | dict(registers=80, promised=6), "sm_80") == []
    assert ptx.judge(FINE | dict(registers=88, promised=6), "sm_80") == ["leaves room for 5 blocks, not 6"]


def test_shares_are_of_a_run():
    loop = {"repeat": {"count": 3, "body": {"sequence": [{"stage": 1}, {"copy": [[0, 1]]}]}}}
    plan = {"sequence": [{"stage": 0}, loop, {"lanes": [{"stage": 2}]}]}
    stages = [stage("k0", 1), stage("k1", 2), stage("k0", 2), stage("TopK", 9, "call")]
    found = ptx.kernels(dict(plan=plan, stages=stages))
    assert sorted(found) == ["k0", "k1"]
    assert found["k0"]["share"] == pytest.approx(3 / 9) and found["k1"]["share"] == pytest.approx(6 / 9)


def test_what_is_wrong_has_words():
    assert ptx.judge(FINE, "sm_90a") == []
    assert ptx.judge(FINE | dict(stores=8), "sm_80") == ["spills 8 and 0 bytes"]
    assert ptx.judge(FINE | dict(waits=True), "sm_90a") == ["waits for each product of four warps"]
    assert ptx.judge(FINE | dict(registers=65), "sm_90a") == ["leaves room for 7 blocks, not 8"]
    assert ptx.judge(FINE | dict(registers=65, threads=1024), "sm_90a") == ["leaves room for 0 blocks, not 1"]
    assert ptx.judge(FINE | dict(registers=40, assumed=20), "sm_90a") == ["leaves room for 12 blocks, not 16"]
    assert ptx.judge(FINE | dict(registers=65, tiles=132 * 7), "sm_90a") == []  # No core gets more blocks than fit.
    assert ptx.judge(FINE | dict(registers=65, tiles=264, cluster=4), "sm_90a") == ["leaves room for 7 blocks, not 8"]
    assert ptx.judge(FINE | dict(scratch=200000), "sm_80") == []  # It is given what any device has.
    assert ptx.judge(FINE | dict(static=101377), "sm_80") == ["asks for 101377 bytes of shared memory"]
    assert "bytes of shared memory" in ptx.judge(FINE | dict(scratch=240000), "sm_90a")[0]
    assert ptx.is_bad(FINE | dict(wrong=["so"], share=0.03)) and not ptx.is_bad(FINE | dict(wrong=["so"], share=0.01))


@pytest.mark.skipif(not ptx.assembler(), reason="there is no ptxas on this machine: no PTX is assembled")
@pytest.mark.parametrize("path", models.choose(QUICK), ids=lambda path: path.stem)
def test_kernels_assemble_without_spills(path):
    found = ptx.check(path, argparse.Namespace(precision="f16", levels=["sm_80", "sm_90a"], limit=600))
    assert sorted(found) == ["sm_80", "sm_90a"] and found["sm_80"]
    for level, all_kernels in found.items():
        assert not any(map(ptx.is_bad, all_kernels.values())), "\n".join(ptx.details(all_kernels))
