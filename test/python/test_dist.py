"""The distribution (./dev dist): what makes a binary portable, the tarball's form, and the tarball if there is one."""

import pathlib
import shutil
import tarfile

import dist
import pytest

TARBALLS = sorted((dist.ROOT / "dist").glob(f"kintsugi-{dist.version()}-*.tar.gz"))


@pytest.fixture
def build(tmp_path):
    """A build folder with files in place of binaries."""
    build = tmp_path / "build"
    for name in ("bin/kintsugi", "lib/libkintsugi_runtime.so.0.1.0"):
        (build / name).parent.mkdir(parents=True, exist_ok=True)
        (build / name).write_bytes(b"code")
        (build / name).chmod(0o755)
    (build / "lib/libkintsugi_runtime.so").symlink_to("libkintsugi_runtime.so.0.1.0")
    return build


@pytest.mark.skipif(not TARBALLS, reason="there is no tarball; ./dev dist makes one")
def test_the_tarball_runs_without_anything_beside_it(capsys):
    dist.check(TARBALLS[0])
    assert "bin/kintsugi: " in capsys.readouterr().out


def test_equal_builds_give_equal_tarballs(build, tmp_path, monkeypatch):
    monkeypatch.setattr(dist, "LINKED", [])
    dist.pack(build, tmp_path / "one.tar.gz")
    shutil.copytree(build, tmp_path / "copy", symlinks=True)
    (tmp_path / "copy/bin/kintsugi").touch()
    dist.pack(tmp_path / "copy", tmp_path / "two.tar.gz")
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "one.tar.gz") as tar:
        entries = {entry.name.split("/", 1)[1]: entry for entry in tar}
    assert {"LICENSE", "README.md", "bin/kintsugi", "include/kintsugi/runtime.h"} <= entries.keys()
    assert entries["bin/kintsugi"].mode == 0o755 and entries["LICENSE"].mode == 0o644
    assert entries["lib/libkintsugi_runtime.so"].linkname == "libkintsugi_runtime.so.0.1.0"


def test_a_binary_that_needs_more_than_glibc_is_not_portable():
    """The program that runs this test needs libraries, or is newer, or both."""
    with pytest.raises(dist.NotPortable, match="needs libcrypt"):
        dist.check_binary(pathlib.Path("/usr/bin/perl"))


def test_a_binary_of_a_newer_glibc_is_not_portable(monkeypatch):
    runtime = next(pathlib.Path("/lib/x86_64-linux-gnu").glob("libm.so.6"))
    dist.check_binary(pathlib.Path("/bin/true"))
    monkeypatch.setattr(dist, "GLIBC", (2, 2))
    with pytest.raises(dist.NotPortable, match="newer than glibc 2.2"):
        dist.check_binary(pathlib.Path("/bin/true"))
    assert runtime.exists()


def test_linked_packages_are_set_up():
    """Each library of the tarball comes with its licence, from a package that ./dev installs or that comes with one."""
    packages = (dist.ROOT / "scripts/packages.txt").read_text().split()
    brought = {"coinor-libcgl-dev", "coinor-libclp-dev", "coinor-libcoinutils-dev", "coinor-libosi-dev"}
    brought |= {"libstdc++-12-dev", "libclang-rt-22-dev"}
    assert set(dist.LINKED) - brought <= set(packages)
