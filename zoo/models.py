"""The zoo's models by name, their weights for as long as they are needed, and the program under test."""

import contextlib
import functools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import onnx

import materialize

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent
CACHE = ROOT / ".cache" / "zoo"
LEVELS = ("v3", "v4")  # Of the instruction set, with AVX2 and with AVX-512.


def external_bytes(path):
    """Bytes of the weights that a model names and does not carry."""
    model = onnx.load(path, load_external_data=False)
    lengths = (e.value for tensor in model.graph.initializer for e in tensor.external_data if e.key == "length")
    return sum(int(length) for length in lengths)


def choose(names):
    """Paths of the models named, or of all, the ones with the least weights first. Raises KeyError."""
    known = {path.stem: path for path in FOLDER.glob("*.onnx")}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise KeyError(f"no model '{unknown[0]}' in the zoo; there are {', '.join(sorted(known))}")
    return sorted((known[name] for name in names or known), key=lambda path: (external_bytes(path), path.stem))


def parsed(parser, words=None):
    """A command line that names models of the zoo: `options.paths` of those, or of all. One that the zoo lacks is a
    usage error."""
    parser.add_argument("models", nargs="*", help="of the zoo, by name; without any, all")
    options = parser.parse_args(words)
    try:
        options.paths = choose(options.models)
    except KeyError as error:
        parser.error(error.args[0])
    return options


@contextlib.contextmanager
def workspace(name):
    """A folder for one model's large files, gone when the model is done."""
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=name + "-", dir=CACHE))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def with_weights(path, folder):
    """The path of a model that has its weights: the model itself where none are absent."""
    return materialize.materialize(path, folder) if external_bytes(path) else path


class Failure(Exception):
    """A command of Kintsugi ended badly; the message is its last line."""


@functools.cache
def levels():
    """The levels of the instruction set that this machine runs, the least first, as --cpu-level takes them."""
    native = json.loads(kintsugi("doctor", "--json", timeout=60))["level"]
    return [level for level in LEVELS if f"x86-64-{level}" <= native]


def program():
    """build/bin/kintsugi, or $KINTSUGI."""
    return pathlib.Path(os.environ.get("KINTSUGI", ROOT / "build" / "bin" / "kintsugi"))


def kintsugi(*arguments, timeout=900, codes=(0,), cache=None, runner=()):
    """Runs the program and returns what it printed. Raises Failure where it ends with none of
    `codes`. `cache`: the folder of its cache, where it is not the user's. `runner`: a command that starts the one behind
    it."""
    command = [*map(str, runner), str(program()), *map(str, arguments)]
    environment = os.environ | ({"KINTSUGI_CACHE": str(cache)} if cache else {})
    how = dict(capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment)
    try:
        done = subprocess.run(command, timeout=timeout, **how)
    except subprocess.TimeoutExpired:
        raise Failure(f"{arguments[0]}: over {timeout} s") from None
    except OSError as error:
        raise Failure(f"{program()}: {error.strerror}; './dev build' makes it") from None
    if done.returncode not in codes:
        said = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise Failure(f"{arguments[0]}: exit {done.returncode}: {said}")
    return done.stdout
