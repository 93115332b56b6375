"""Checks every #include under src/ against the layer table in docs/architecture.md.

usage: check_layers.py [--table FILE] [--src FOLDER]

A folder may include itself, the folders its row names and whatever those may include; folders of one row
do not include each other. Outside libraries belong to the row that names them and are not inherited, save
LLVM's ADT and Support, which `te` and all above it share. Prints each offending line and exits 1.

The table's columns are: layer, folder, may include, outside. A row may hold several folders; a cell with as
many parts between semicolons gives each folder its own. Words in brackets are for people.
"""

import argparse
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')
SOURCES = {".c", ".cpp", ".h", ".inc"}
COLUMNS = ["layer", "folder", "may include", "outside"]

# The longest prefix decides: which library of the table's last column gives a header.
LIBRARIES = {
    "CLI/": "CLI11",
    "Cbc": "CBC",
    "Cgl": "CBC",
    "Clp": "CBC",
    "Coin": "CBC",
    "Highs": "HiGHS",
    "Osi": "CBC",
    "coin/": "CBC",
    "highs/": "HiGHS",
    "lld/": "lld",
    "llvm-c/": "LLVM",
    "llvm-c/blake3.h": "BLAKE3",
    "llvm/": "LLVM",
    "llvm/ADT/": "LLVM ADT",
    "llvm/Support/": "LLVM ADT",
    "mlir-c/": "MLIR",
    "mlir/": "MLIR",
    "mlir/Analysis/Presburger/": "MLIRPresburger",
    "nlohmann/": "json",
    "protozero/": "protozero",
    "sqlite3.h": "SQLite",
    "xxhash.h": "xxHash",
    "zlib.h": "zlib",
}
# What a library brings along.
BRINGS = {"LLVM": {"LLVM ADT"}, "MLIR": {"LLVM ADT", "MLIRPresburger"}}
SHARED_ABOVE = {"te": "LLVM ADT"}

C_API = "kintsugi/"
SYSTEM_FOLDERS = ("arpa/", "asm/", "linux/", "netinet/", "sys/")
SYSTEM_HEADERS = set(
    """assert.h complex.h cpuid.h ctype.h dirent.h dlfcn.h elf.h errno.h execinfo.h fcntl.h fenv.h float.h immintrin.h inttypes.h
    iso646.h limits.h link.h locale.h malloc.h math.h poll.h pthread.h sched.h setjmp.h signal.h spawn.h stdalign.h
    stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h string.h strings.h termios.h
    threads.h time.h uchar.h unistd.h wchar.h wctype.h""".split()
)


class TableError(Exception):
    """The table itself is wrong; the message says where."""


Row = collections.namedtuple("Row", "folders includes outside")


def table_rows(text):
    """The cells of the first table that has our columns."""
    rows, inside = [], False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.lstrip().startswith("|") else None
        if cells is None:
            if inside:
                break
        elif inside:
            rows.append(cells)
        else:
            heads = [re.sub(r"\(.*?\)", "", cell).strip().lower() for cell in cells]
            inside = heads == COLUMNS
    if not rows:
        raise TableError(f"no table with the columns {', '.join(COLUMNS)}")
    return [cells for cells in rows[1:] if len(cells) == len(COLUMNS)]


def shares(cell, count):
    """One text for each of a row's folders: the cell's parts, or all of it for everyone."""
    parts = [part.strip() for part in re.sub(r"\([^)]*\)", "", cell).replace("`", "").split(";")]
    if len(parts) == 1:
        return parts * count
    if len(parts) != count:
        raise TableError(f"'{cell}' has {len(parts)} parts for {count} folders")
    return parts


def parse_table(text):
    """Rows in the table's order, each with the words of its cells still unresolved."""
    rows = []
    for _, folder_cell, include_cell, outside_cell in table_rows(text):
        folders = re.findall(r"`([^`]+)`", re.sub(r"\([^)]*\)", "", folder_cell))
        count = len(folders)
        rows.append(Row(folders, shares(include_cell, count), shares(outside_cell, count)))
    return rows


def named_folders(words, known):
    """Folders that a 'may include' cell names, among those of earlier rows; the C API is one of them."""
    if words.startswith("every compiler folder"):
        return {folder for folder in known if not folder.startswith("devices")}
    found = {C_API} if "the C API" in words else set()
    for word in re.split(r"[\s,]+", words.replace("the C API", "")):
        below = {folder for folder in known if folder.startswith(word + "/")}
        if word in known:
            found.add(word)
        elif word and below:
            found |= below
        elif word not in ("", "-"):
            raise TableError(f"'{word}' in '{words}' is no folder of an earlier row")
    return found


def libraries(words):
    """Libraries that an 'outside' cell names, with what they bring along."""
    found = {word.strip() for word in words.split(",")} & set(LIBRARIES.values())
    return found.union(*(BRINGS.get(name, set()) for name in found))


class Layers:
    """For each folder: the folders and the outside libraries that it may include."""

    def __init__(self, text):
        self.folders, self.outside = {}, {}
        for row in parse_table(text):
            earlier = set(self.folders)
            for folder, includes, outside in zip(*row):
                named = named_folders(includes, earlier)
                reached = named.union(*(self.folders.get(name, set()) for name in named))
                if folder.startswith("api/"):
                    reached.add(C_API)
                self.folders[folder] = reached
                self.outside[folder] = libraries(outside)
                for base, library in SHARED_ABOVE.items():
                    if base in reached:
                        self.outside[folder].add(library)

    def folder_of(self, path):
        """The deepest folder of the table that holds a path relative to src/."""
        holds = [folder for folder in self.folders if path.startswith(folder + "/")]
        return max(holds, key=len, default=None)

    def objection(self, folder, header):
        """Why a folder may not include a header, or None."""
        prefixes = [prefix for prefix in LIBRARIES if header.startswith(prefix)]
        if prefixes:
            library = LIBRARIES[max(prefixes, key=len)]
            return None if library in self.outside[folder] else f"{library} is not in the row of {folder}"
        if is_system(header):
            return None
        target = C_API if header.startswith(C_API) else self.folder_of(header)
        if target is None:
            return "neither a path from src/ nor a library that the table knows"
        if target == folder or target in self.folders[folder]:
            return None
        return f"{folder} may not include {target.rstrip('/')}"


def is_system(header):
    """Headers of the C and C++ standards, of POSIX and of Linux."""
    plain = "/" not in header and "." not in header
    return plain or header in SYSTEM_HEADERS or header.startswith(SYSTEM_FOLDERS)


def offenders(layers, src):
    """Yields 'path:line: include: why' for every include that the table does not allow."""
    for path in sorted(path for path in src.rglob("*") if path.suffix in SOURCES):
        relative = path.relative_to(src).as_posix()
        folder = layers.folder_of(relative)
        if folder is None:
            yield f"{relative}:1: its folder is not in the table"
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            match = INCLUDE.match(line)
            why = match and layers.objection(folder, match.group(1))
            if why:
                yield f"{relative}:{number}: {match.group(1)}: {why}"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=pathlib.Path, default=ROOT / "docs" / "architecture.md")
    parser.add_argument("--src", type=pathlib.Path, default=ROOT / "src")
    options = parser.parse_args(arguments)
    try:
        layers = Layers(options.table.read_text(encoding="utf-8"))
    except (OSError, TableError) as error:
        print(f"check_layers: {options.table}: {error}")
        return 1
    found = list(offenders(layers, options.src))
    print("\n".join(found) if found else f"check_layers: {len(layers.folders)} folders, no include across the layers")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
