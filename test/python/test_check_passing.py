"""scripts/check_passing.py: the list of conformance cases may only grow."""

import check_passing
import pytest


@pytest.fixture
def repository(tmp_path, git):
    git("init", "-q")
    return tmp_path


@pytest.fixture
def record(repository, git):
    def commit(*cases):
        path = repository / check_passing.LIST
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# passing\n" + "".join(case + "\n" for case in cases))
        git("add", ".")
        git("commit", "-q", "--allow-empty", "-m", "list")

    return commit


def test_growth_passes(repository, record, capsys):
    record("test_abs")
    record("test_abs", "test_add")
    assert check_passing.main(repository) == 0
    assert "2 cases, 1 of them new" in capsys.readouterr().out


def test_loss_fails_and_names_the_case(repository, record, capsys):
    record("test_abs", "test_add")
    record("test_add", "test_sub")
    assert check_passing.main(repository) == 1
    assert "'test_abs'" in capsys.readouterr().out


def test_loss_some_commits_ago_is_found(repository, record, capsys):
    for cases in (["test_abs", "test_add"], ["test_add"], ["test_add", "test_sub"]):
        record(*cases)
    assert check_passing.main(repository) == 1
    assert "'test_abs' passed at " in capsys.readouterr().out


def test_removed_list_fails(repository, record, git):
    record("test_abs")
    git("rm", "-q", check_passing.LIST)
    git("commit", "-q", "-m", "gone")
    assert check_passing.main(repository) == 1


def test_no_parent_is_said(repository, record, capsys):
    record("test_abs")
    assert check_passing.main(repository) == 0
    assert "no list in an earlier commit" in capsys.readouterr().out


def test_shallow_clone_is_said(repository, record, git, tmp_path_factory, capsys):
    record("test_abs", "test_add")
    record("test_add")
    clone = tmp_path_factory.mktemp("clone")
    git("clone", "-q", "--depth", "1", repository.as_uri(), str(clone))
    assert check_passing.main(clone) == 0
    said = capsys.readouterr().out
    assert "no list in an earlier commit" in said and "a shallow clone" in said
