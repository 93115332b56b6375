"""The distribution (./dev dist, ./dev wheel): what makes a binary portable, the tarball's form, the bill of materials,
and the tarball and the wheel if there are any."""

import json
import pathlib
import re
import shutil
import subprocess
import tarfile
import zipfile

import check_wheel
import dist
import pytest
import sbom

WHEELS = sorted((dist.ROOT / "dist").glob(f"kintsugi-{dist.version()}-*.whl"))
TARBALLS = sorted((dist.ROOT / "dist").glob(f"kintsugi-{dist.version()}-*.tar.gz"))


@pytest.fixture
def build(tmp_path):
    """A build folder with files in place of binaries."""
    build = tmp_path / "build"
    for name in ("bin/kintsugi", "lib/libkintsugi_compiler.so.0.1.0", "lib/libkintsugi_runtime.so.0.1.0"):
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
    headers = {f"include/kintsugi/{path.name}" for path in (dist.ROOT / "include/kintsugi").iterdir()}
    notices = {"CHANGELOG.md", "LICENSE", "README.md", "sbom.cdx.json"}
    assert headers | notices | {"bin/kintsugi", "lib/libkintsugi_compiler.so.0.1.0"} <= entries.keys()
    assert entries["bin/kintsugi"].mode == 0o755 and entries["LICENSE"].mode == 0o644
    assert entries["lib/libkintsugi_runtime.so"].linkname == "libkintsugi_runtime.so.0.1.0"


@pytest.mark.skipif(not WHEELS, reason="there is no wheel; ./dev wheel makes one")
def test_the_wheel_runs_without_anything_beside_it(capsys):
    check_wheel.check(WHEELS[0])
    assert "digits in " in capsys.readouterr().out


def test_the_bill_of_materials_has_what_is_linked():
    bill = json.loads(sbom.document("1.2.3", ["zlib1g-dev", "libzstd-dev"]))
    assert bill["metadata"]["component"]["version"] == "1.2.3"
    zlib = subprocess.run(["dpkg", "-s", "zlib1g-dev"], check=True, capture_output=True, text=True).stdout
    version = re.search(r"^Version: (.*)$", zlib, re.MULTILINE)[1]
    first, second = bill["components"]
    assert (first["name"], second["name"], second["version"]) == ("libzstd-dev", "zlib1g-dev", version)
    assert second["purl"].startswith(f"pkg:deb/debian/zlib1g-dev@{version.replace(':', '%3A').replace('+', '%2B')}?arch=")
    assert {"name": "debian:source", "value": "zlib"} in second["properties"]
    assert bill["dependencies"][0]["dependsOn"] == [first["bom-ref"], second["bom-ref"]]


def test_versions_come_from_one_place():
    """The changelog's newest entry is the version that CMakeLists.txt names, and pyproject.toml reads it there."""
    newest = re.search(r"^## ([\d.]+)", (dist.ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    assert newest == dist.version()
    project = (dist.ROOT / "pyproject.toml").read_text()
    pattern = re.search(r"^regex = '(.*)'$", project, re.MULTILINE)[1]
    assert re.search(pattern, (dist.ROOT / "CMakeLists.txt").read_text())["value"] == dist.version()
    assert dist.version() not in re.sub(r"==\S+", "", project)


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


def test_a_wheel_without_its_notices_or_of_one_python_is_refused(tmp_path):
    data = f"kintsugi-{dist.version()}"
    whole, one = (tmp_path / f"{data}-{tag}-manylinux_2_34_x86_64.whl" for tag in ("py3-none", "cp311-cp311"))
    for path in (whole, one):
        with zipfile.ZipFile(path, "w") as archive:
            for name in (check_wheel.LIBRARY, check_wheel.PROGRAM, "kintsugi/py.typed", f"{data}.data/scripts/kintsugi"):
                archive.writestr(name, b"")
    with pytest.raises(dist.NotPortable, match=r"lacks .*licenses/zlib1g-dev, .*sboms/kintsugi.cdx.json"):
        check_wheel.check_contents(whole, tmp_path / "contents")
    with pytest.raises(dist.NotPortable, match="is not tagged for every Python"):
        check_wheel.check_contents(one, tmp_path / "contents")
