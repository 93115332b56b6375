"""Packs what the preset `dist` built into a tarball, and checks that it runs anywhere.

usage: dist.py pack BUILD TARBALL    the program, the libraries and their headers, licences, a bill of materials
       dist.py notices FOLDER        licences and the bill alone, as a wheel has them
       dist.py check TARBALL         unpacks it: it asks for nothing but glibc, and runs the demo's network, also from C

A binary is portable where it needs no library but glibc's, of no version newer than 2.34. The check ends with a run in
an empty folder, with an empty environment.
"""

import gzip
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

import sbom

ROOT = pathlib.Path(__file__).resolve().parents[1]
GLIBC = (2, 34)
LIBRARIES = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
# The Debian packages of which parts are linked in.
LINKED = """
    coinor-libcbc-dev coinor-libcgl-dev coinor-libclp-dev coinor-libcoinutils-dev coinor-libosi-dev libblas-dev
    libbz2-dev libclang-rt-22-dev libcli11-dev libjemalloc-dev liblapack-dev liblld-22-dev libmlir-22-dev
    libprotozero-dev libsqlite3-dev libstdc++-12-dev libunwind-22-dev libxxhash-dev libzstd-dev llvm-22-dev
    nlohmann-json3-dev zlib1g-dev
""".split()


class NotPortable(Exception):
    pass


def version():
    return re.search(r"project\(kintsugi VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def contents(build):
    """By the name in the tarball, the file or the target of a link."""
    files = {
        "bin/kintsugi": build / "bin/kintsugi",
        "sbom.cdx.json": build / "sbom.cdx.json",
    }
    for name in ("include/kintsugi/compiler.h", "include/kintsugi/runtime.h", "CHANGELOG.md", "LICENSE", "README.md"):
        files[name] = ROOT / name
    files["docs/command-line.md"] = ROOT / "docs/command-line.md"
    for library in sorted((build / "lib").glob("libkintsugi_*.so*")):
        files[f"lib/{library.name}"] = library
    for package in LINKED:
        files[f"licenses/{package}"] = licence(package)
    return files


def licence(package):
    return pathlib.Path("/usr/share/doc", package, "copyright")


def notices(folder):
    """Into the folder of a wheel's metadata."""
    for name in ("licenses", "sboms"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "sboms/kintsugi.cdx.json").write_text(sbom.document(version(), LINKED))
    for package in LINKED:
        (folder / "licenses" / package).write_bytes(licence(package).read_bytes())


def pack(build, tarball):
    """The same bytes for the same files: no times, no owners."""
    name = f"kintsugi-{version()}-x86_64-linux"

    def plain(entry):
        entry.mtime = entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mode = 0o755 if entry.mode & 0o100 else 0o644
        return entry

    (build / "sbom.cdx.json").write_text(sbom.document(version(), LINKED))
    tarball.parent.mkdir(parents=True, exist_ok=True)
    unfinished = tarball.with_name(tarball.name + ".part")
    with open(unfinished, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for inside, path in sorted(contents(build).items()):
                link = path.is_symlink() and path.parent == build / "lib"
                tar.add(path if link else path.resolve(), f"{name}/{inside}", filter=plain)
    unfinished.rename(tarball)


def said(*command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise NotPortable(f"{' '.join(map(str, command))}: ended in {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def check_binary(path):
    """Nothing is asked for that a Linux with glibc 2.34 lacks."""
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", said("readelf", "-d", path)))
    if needed - LIBRARIES:
        raise NotPortable(f"{path}: needs {', '.join(sorted(needed - LIBRARIES))}")
    versions = set(re.findall(r"Name: (\w+_[\w.]+)", said("readelf", "-V", path)))
    for symbol in sorted(versions):
        family, _, number = symbol.partition("_")
        if family != "GLIBC" or tuple(map(int, number.split("."))) > GLIBC:
            raise NotPortable(f"{path}: asks for symbols of {symbol}, newer than glibc {GLIBC[0]}.{GLIBC[1]}")


def check_run(program, folder):
    """Compiles, runs, and compares with the reference, where nothing else is."""
    model = folder / "digits.onnx"
    model.write_bytes((ROOT / "examples/digits/digits.onnx").read_bytes())
    bare = {"cwd": folder, "env": {}}
    if said(program, "--version", **bare).strip() != f"kintsugi {version()}":
        raise NotPortable(f"{program}: is of another version than {version()}")
    said(program, "compile", "digits.onnx", "-o", "digits.kin", "--quiet", **bare)
    said(program, "run", "digits.kin", "--outputs", "out.npz", "--quiet", **bare)
    said(program, "compare", "digits.onnx", "--no-cache", "--quiet", **bare)


def check_c(inside, folder):
    """A program in C compiles and runs the demo's network by the headers and the library."""
    program = folder / "compile"
    where = ["-I", inside / "include", "-L", inside / "lib", f"-Wl,-rpath,{inside}/lib"]
    said("cc", ROOT / "examples/c/compile.c", *where, "-lkintsugi_compiler", "-o", program)
    said(program, "digits.onnx", "digits-by-c.kin", cwd=folder, env={})


def check(tarball):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        with tarfile.open(tarball) as tar:
            tar.extractall(folder)
        (inside,) = folder.iterdir()
        for path in [inside / "bin/kintsugi", *sorted((inside / "lib").glob("*.so*"))]:
            check_binary(path)
            if not path.is_symlink():
                print(f"{path.relative_to(folder)}: {os.path.getsize(path) / 1e6:.1f} MB")
        empty = folder / "empty"
        empty.mkdir()
        check_run(inside / "bin/kintsugi", empty)
        check_c(inside, empty)


def main(action, *paths):
    paths = [pathlib.Path(path).resolve() for path in paths]
    try:
        {"pack": pack, "notices": notices, "check": check}[action](*paths)
    except NotPortable as error:
        sys.exit(f"dist: {error}")


if __name__ == "__main__":
    if len(sys.argv) != {"pack": 4, "notices": 3, "check": 3}.get((sys.argv + [""])[1]):
        sys.exit(__doc__.strip())
    main(*sys.argv[1:])
