"""The program under test, and the demo's network, on which its verbs are tried."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("KINTSUGI", str(ROOT / "build/bin/kintsugi"))
MODEL = ROOT / "examples/digits/digits.onnx"
