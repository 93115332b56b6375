"""scripts/check_layers.py: what the table allows passes, anything else is named."""

import check_layers
import pytest

TABLE = """
# Architecture

| layer | folder (under `src/`) | may include | outside |
| --- | --- | --- | --- |
| 0 | `abi` (plain C) | - | - |
| 0 | `base` (status, `Expected`) | abi | json, zlib |
| 1 | `solve`; `store`; `explain` | base | CBC, HiGHS; SQLite; - |
| 2 | `te` | base | LLVM ADT, MLIRPresburger |
| 2 | `runtime` | base | - |
| 3 | `devices/null`, `devices/cpu` | runtime | driver by dlopen |
| 3 | `import` (ONNX; `.te`); `simplify` | te explain | protozero; - |
| 4 | `tile` | te | MLIR |
| 5 | `targets` (`Target`) | tile | MLIR, LLVM |
| 6 | `targets/cpu` | targets | MLIR, LLVM, lld |
| 9 | `pipeline` | every compiler folder, no device | - |
| 10 | `api/runtime`, `api/compiler` (implement `include/*.h`) | runtime devices; pipeline devices | - |
| 11 | `tools/kintsugi` | the C API, base | CLI11 |

The folders are listed above.
"""


@pytest.fixture
def check(tmp_path, capsys):
    """Runs the script over one file that holds one include; returns its exit code and what it printed."""
    table = tmp_path / "architecture.md"
    table.write_text(TABLE)

    def run(path, include):
        file = tmp_path / "src" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"// A file.\n#include {include}\n")
        code = check_layers.main(["--table", str(table), "--src", str(tmp_path / "src")])
        return code, capsys.readouterr().out

    return run


@pytest.mark.parametrize(
    "path, include",
    [
        ("te/index.cpp", '"te/index.h"'),
        ("te/index.cpp", '"base/status.h"'),
        ("te/index.cpp", '"abi/artifact.h"'),
        ("te/index.cpp", "<vector>"),
        ("te/index.cpp", "<sys/mman.h>"),
        ("te/index.cpp", '"llvm/ADT/SmallVector.h"'),
        ("te/range.cpp", '"mlir/Analysis/Presburger/IntegerRelation.h"'),
        ("simplify/facts.cpp", '"llvm/Support/MathExtras.h"'),
        ("import/reader.cpp", "<protozero/pbf_reader.hpp>"),
        ("store/store.cpp", "<sqlite3.h>"),
        ("solve/cbc.cpp", "<coin/CbcModel.hpp>"),
        ("tile/ops.cpp", '"mlir/IR/Builders.h"'),
        ("targets/lower.cpp", '"llvm/IR/Module.h"'),
        ("targets/cpu/emit.cpp", '"lld/Common/Driver.h"'),
        ("targets/cpu/emit.cpp", '"targets/target.h"'),
        ("devices/cpu/workers.cpp", "<dlfcn.h>"),
        ("pipeline/phases.cpp", '"targets/cpu/emit.h"'),
        ("api/runtime/run.cpp", '"devices/cpu/workers.h"'),
        ("api/runtime/run.cpp", '"kintsugi/runtime.h"'),
        ("tools/kintsugi/main.cpp", '"kintsugi/compiler.h"'),
        ("tools/kintsugi/main.cpp", "<CLI/CLI.hpp>"),
    ],
)
def test_allowed(check, path, include):
    assert check(path, include)[0] == 0


@pytest.mark.parametrize(
    "path, include, why",
    [
        ("base/status.h", '"te/index.h"', "base may not include te"),
        ("import/reader.cpp", '"simplify/facts.h"', "import may not include simplify"),
        ("solve/cbc.cpp", '"store/store.h"', "solve may not include store"),
        ("store/store.cpp", "<coin/CbcModel.hpp>", "CBC is not in the row of store"),
        ("simplify/facts.cpp", "<protozero/pbf_reader.hpp>", "protozero is not in the row of simplify"),
        ("targets/lower.cpp", '"targets/cpu/emit.h"', "targets may not include targets/cpu"),
        ("targets/lower.cpp", '"lld/Common/Driver.h"', "lld is not in the row of targets"),
        ("simplify/facts.cpp", '"mlir/IR/Builders.h"', "MLIR is not in the row of simplify"),
        ("te/range.cpp", '"llvm/IR/Module.h"', "LLVM is not in the row of te"),
        ("base/hash.cpp", '"llvm/ADT/Hashing.h"', "LLVM ADT is not in the row of base"),
        ("runtime/load.cpp", '"llvm/ADT/ArrayRef.h"', "LLVM ADT is not in the row of runtime"),
        ("pipeline/phases.cpp", '"devices/cpu/workers.h"', "pipeline may not include devices/cpu"),
        ("api/runtime/run.cpp", '"pipeline/phases.h"', "api/runtime may not include pipeline"),
        ("tools/kintsugi/main.cpp", '"te/index.h"', "tools/kintsugi may not include te"),
        ("te/index.cpp", '"kintsugi/compiler.h"', "te may not include kintsugi"),
        ("te/index.cpp", '"index.h"', "neither a path from src/"),
        ("te/index.cpp", "<boost/any.hpp>", "neither a path from src/"),
    ],
)
def test_refused(check, path, include, why):
    code, printed = check(path, include)
    assert code == 1
    assert f"{path}:2:" in printed and why in printed


def test_folder_outside_the_table(check):
    code, printed = check("utils/misc.h", "<vector>")
    assert code == 1 and "utils/misc.h:1: its folder is not in the table" in printed


def test_table_that_names_an_unknown_folder(tmp_path, capsys):
    table = tmp_path / "architecture.md"
    table.write_text(TABLE.replace("| 4 | `tile` | te |", "| 4 | `tile` | tee |"))
    assert check_layers.main(["--table", str(table), "--src", str(tmp_path)]) == 1
    assert "'tee'" in capsys.readouterr().out


def test_missing_table(tmp_path, capsys):
    assert check_layers.main(["--table", str(tmp_path / "none.md"), "--src", str(tmp_path)]) == 1
    assert "none.md" in capsys.readouterr().out
