import os

import lit.formats

config.name = "tile"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir"]
config.test_exec_root = lit_config.params["output"]
config.environment["PATH"] = lit_config.params["tools"] + os.pathsep + os.environ["PATH"]
