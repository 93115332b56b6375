"""Machine code beside PTX: `kintsugi compile --cubins` with NVIDIA's assembler, and without."""

import json
import os
import struct
import subprocess

import ptx
import pytest
from program import MODEL, PROGRAM

CUDA = ("--target", "cuda")
EM_CUDA = 190

with_assembler = pytest.mark.skipif(not ptx.assembler(), reason="there is no ptxas on this machine")


@pytest.fixture
def build(tmp_path):
    """Compiles the demo's network; gives (exit code, errors, the artifact's path). Nothing is to be left behind."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    def run(*flags, path=None):
        artifact = tmp_path / "model.kin"
        done = subprocess.run(
            [PROGRAM, "compile", MODEL, "-o", artifact, "--quiet", *flags],
            capture_output=True,
            text=True,
            timeout=600,
            env=os.environ | {"TMPDIR": str(temporary)} | ({"PATH": str(path)} if path else {}),
        )
        assert list(temporary.iterdir()) == []
        return done.returncode, done.stderr, artifact

    return run


def contents(artifact):
    """The manifest and, by name, the code sections of an artifact."""
    found = list(ptx.sections(artifact))
    manifest = json.loads(next(data for kind, _, data in found if kind == ptx.MANIFEST))
    return manifest, {name: data for kind, name, data in found if kind == ptx.CODE}


def entries(text):
    return {line.split()[2].split(b"(")[0] for line in text.splitlines() if line.startswith(b".visible .entry")}


@with_assembler
def test_each_text_has_machine_code_beside_it(build):
    code, errors, artifact = build(*CUDA)
    assert (code, errors) == (0, "")
    manifest, plain = contents(artifact)
    assert sorted(plain) == ["sm_80", "sm_90a"] and all("machine_code" not in entry for entry in manifest["code"])
    written = []
    for _ in range(2):
        code, errors, artifact = build(*CUDA, "--cubins")
        assert (code, errors) == (0, "")
        written.append(artifact.read_bytes())
    assert written[0] == written[1]
    manifest, sections = contents(artifact)
    assert {entry["section"]: entry["machine_code"] for entry in manifest["code"]} == {
        "sm_80": "sm_80.cubin",
        "sm_90a": "sm_90a.cubin",
    }
    for level, text in plain.items():
        assert sections[level] == text
        machine_code = sections[f"{level}.cubin"]
        assert machine_code[:4] == b"\x7fELF" and struct.unpack_from("<H", machine_code, 18)[0] == EM_CUDA
        assert entries(text) and all(b".text." + name + b"\0" in machine_code for name in entries(text))


@pytest.mark.parametrize(
    "script, message",
    [
        ("echo 'line 7: it will not do' >&2; exit 255", "failed with 255: line 7: it will not do; put the ptxas of"),
        ("kill -9 $$", "was ended by signal 9; put the ptxas of"),
        ("exit 0", "wrote no code for sm_90a\n"),
    ],
)
def test_tells_what_the_assembler_says(build, tmp_path, script, message):
    assembler = tmp_path / "ptxas"
    assembler.write_text(f"#!/bin/sh\n{script}\n")
    assembler.chmod(0o755)
    code, errors, artifact = build(*CUDA, "--cubins", path=tmp_path)
    assert code == 5 and f"{assembler}: {message}" in errors
    assert not artifact.exists()


def test_what_the_assembler_writes_stands_beside_the_text(build, tmp_path):
    assembler = tmp_path / "ptxas"
    assembler.write_text('#!/bin/sh\n/bin/cp "$2" "$4"\n')
    assembler.chmod(0o755)
    code, errors, artifact = build(*CUDA, "--cubins", path=tmp_path)
    assert (code, errors) == (0, "")
    _, found = contents(artifact)
    assert sorted(found) == ["sm_80", "sm_80.cubin", "sm_90a", "sm_90a.cubin"]
    assert all(found[f"{level}.cubin"] == found[level].rstrip(b"\0") for level in ("sm_80", "sm_90a"))


def test_learns_how_it_ended_where_the_parent_ignores_its_children(tmp_path):
    ignoring = ["sh", "-c", 'trap "" CHLD; exec "$@"', "sh"]
    artifact = tmp_path / "model.kin"
    command = [*ignoring, PROGRAM, "compile", MODEL, "-o", artifact, "--quiet", *CUDA, "--cubins"]
    assembler = tmp_path / "ptxas"
    assembler.write_text('#!/bin/sh\n/bin/cp "$2" "$4"\n')
    assembler.chmod(0o755)
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(os.path.exists("/usr/local/cuda/bin/ptxas"), reason="there is a ptxas on this machine")
def test_tells_what_is_missing(build, tmp_path):
    code, errors, _ = build(*CUDA, "--cubins", path=tmp_path)
    assert code == 5 and "--cubins: there is no ptxas in PATH or /usr/local/cuda/bin; install" in errors
