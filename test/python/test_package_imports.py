"""What modules of the package take from each other is there: also of those that no test imports where torch is not installed."""

import ast
import pathlib

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "src/python/kintsugi"
MODULES = sorted(PACKAGE.rglob("*.py"))


def tree_of(path):
    return ast.parse(path.read_text())


def module_at(folder, words):
    """The file of a module of the package, or None."""
    path = folder.joinpath(*words)
    return next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.exists()), None)


def defined(path):
    """Names that a module has once it is imported."""
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def absent(path):
    """(line, name) of what a module takes from the package and is not there."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.parents[node.level - 1]
            words = (node.module or "").split(".") if node.module else []
            source = module_at(folder, words) if words else folder / "__init__.py"
            for alias in node.names:
                is_there = source and alias.name in defined(source)
                if not is_there and not module_at(folder, [*words, alias.name]):
                    yield node.lineno, alias.name
        is_of_package = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "kintsugi"
        if is_of_package and node.attr not in defined(PACKAGE / "__init__.py") and not module_at(PACKAGE, [node.attr]):
            yield node.lineno, node.attr


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_what_a_module_takes_is_there(path):
    assert not list(absent(path))


@pytest.mark.parametrize("text", ["from .. import Nothing", "from ..loading import nothing", "import kintsugi\nkintsugi._nothing()"])
def test_what_is_not_there_is_found(text, tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    for name in ("__init__", "loading"):
        (tmp_path / f"{name}.py").write_text("")
    (tmp_path / "sub/module.py").write_text(text)
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    assert list(absent(tmp_path / "sub/module.py"))
