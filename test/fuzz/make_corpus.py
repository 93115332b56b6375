"""Makes the seeds of the fuzz targets anew.

usage: make_corpus.py

Writes small files of every kind to corpus/TARGET: models of the importer's cases, programs, and what the compiler prints
and writes of some of them. What a search found is kept beside them under other names.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent
CORPUS, ROOT = FOLDER / "corpus", FOLDER.parents[1]
PROGRAM = os.environ.get("KINTSUGI", str(ROOT / "build" / "bin" / "kintsugi"))

TEXTS = {
    "softmax": """input x[4, 8] f32
m[i:4] f32 = max[j:8] x[i, j]
e[i:4, j:8] f32 = exp(x[i, j] - m[i])
s[i:4] f32 = sum[j:8] e[i, j]
y[i:4, j:8] f32 = e[i, j] / s[i]
output y
""",
    "gather": """input x[5, 3] f32
input at[4] i64
y[i:4, j:3] f32 = (x[at[i], j] | 0.5)
output y
""",
    "product": """input a[4, 6] f32
const b[6, 5] f32 = weights("b")
c[i:4, j:5] f32 = sum[k:6] a[i, k] * b[k, j]
d[i:4, j:5] f32 = cases { i + j < 4: max(c[i, j], 0); else: -c[i, j] }
output d as result
""",
}


def keep(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)


def printed(model, *words):
    """What the compiler prints of a model, or nothing where it takes none."""
    done = subprocess.run([PROGRAM, "compile", model, *words, "--quiet"], capture_output=True)
    return done.stdout if done.returncode == 0 else b""


def main():
    cases = ROOT / "test" / "unit" / "import" / "cases"
    for path in sorted(cases.glob("*.npz")):
        with np.load(path) as case:
            keep("onnx", path.stem, case["model"].tobytes())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for stem, text in TEXTS.items():
            keep("te", stem, text)
            model = folder / f"{stem}.te"
            model.write_text(text)
            for target in ("plan", "problem"):
                keep(target, stem, printed(model, "--emit", target, "--random-weights"))
            artifact = folder / f"{stem}.kin"
            subprocess.run([PROGRAM, "compile", model, "--random-weights", "--target", "cuda", "-o", artifact, "--quiet"], check=True)
            keep("artifact", stem, artifact.read_bytes())
        for path in sorted((ROOT / "test" / "te").glob("*.te")):
            keep("te", path.stem, path.read_bytes())
        arrays = dict(a=np.arange(6, dtype=np.float32).reshape(2, 3), b=np.array(True), c=np.zeros((0, 2), np.int8))
        for stem, save in (("plain", np.savez), ("deflated", np.savez_compressed)):
            save(folder / stem, **arrays)
            keep("npz", stem, (folder / f"{stem}.npz").read_bytes())
        np.save(folder / "lone.npy", np.asfortranarray(arrays["a"]))
        keep("npz", "lone", (folder / "lone.npy").read_bytes())
        environment = os.environ | {"KINTSUGI_CACHE": name}
        subprocess.run([PROGRAM, "compile", folder / "product.te", "--random-weights", "--tune", "1", "-o", artifact, "--quiet"],
                       env=environment, check=True)
        keep("store", "tuned", (folder / "tuned.db").read_bytes())
        keep("json", "doctor", subprocess.run([PROGRAM, "doctor", "--json"], capture_output=True, check=True).stdout)
        keep("json", "odd", '{"a": [1, -2.5e-3, null, true, "\\u00e9\\n"], "b": {"c": {}}}')


if __name__ == "__main__":
    sys.exit(main())
