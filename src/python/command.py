#!python
"""The command line, which is a program in the package; the package itself is not imported, which takes longer."""

import importlib.util
import os
import sys

(folder,) = importlib.util.find_spec("kintsugi").submodule_search_locations
program = os.path.join(folder, "kintsugi")
os.execv(program, [program, *sys.argv[1:]])
