"""One cache of several processes."""

import os
import subprocess

from program import MODEL, PROGRAM


def test_processes_share_a_cache(tmp_path):
    """Several first runs at once: each may compile, one artifact stays, and all outputs are alike."""
    environment = os.environ | {"KINTSUGI_CACHE": str(tmp_path / "cache")}
    outputs = [tmp_path / f"{number}.npz" for number in range(5)]
    command = [PROGRAM, "run", str(MODEL), "--quiet", "--outputs"]
    runs = [subprocess.Popen([*command, str(path)], env=environment, stderr=subprocess.PIPE) for path in outputs]
    assert [(run.communicate(timeout=300)[1], run.returncode) for run in runs] == [(b"", 0)] * len(runs)
    assert len({path.read_bytes() for path in outputs}) == 1
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert len(files) == 2 and not any(path.name.startswith(".kintsugi") for path in files)
