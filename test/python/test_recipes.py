"""The programs of docs/recipes, docs/start.md and docs/c.md, as they stand there, on small models: what they print is what the
same models say in ONNX Runtime."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import onnxruntime
import pytest
import recipe_models
from conftest import EMULATOR
from program import MODEL, PROGRAM, ROOT

pytest.importorskip("kintsugi", reason="the package is not built; ./dev build makes it")


def blocks(page, language):
    """A page's blocks of code of a language, one behind the other."""
    text = (ROOT / "docs" / page).read_text()
    return "\n\n".join(re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S))


def said(folder, command, **environment):
    """What a program prints; its models are compiled into a cache of its own."""
    environment = os.environ | {"KINTSUGI_CACHE": str(folder / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)} | environment
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout, done.stderr.decode()


def run_commands(folder, commands, **environment):
    """The program is beside what pages name."""
    return said(folder, ["bash", "-euc", commands], PATH=f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}", **environment)


def run_recipe(folder, page, *arguments, **environment):
    (folder / "program.py").write_text(blocks(page, "python"))
    return said(folder, [sys.executable, "program.py", *map(str, arguments)], **environment)


def onnxruntime_session(path):
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def test_vision(tmp_path):
    """More pictures than a batch may have, of one colour each: of those only normalizing and the model change anything."""
    recipe_models.classifier(tmp_path / "classifier.onnx", size=(32, 40), classes=10)
    names = [f"kind {number}" for number in range(10)]
    (tmp_path / "classes.txt").write_text("\n".join(names) + "\n")
    colours = np.random.default_rng(4).integers(0, 256, (18, 3)).astype(np.uint8)
    files = [f"{number}.npy" for number in range(len(colours))]
    for number, (file, colour) in enumerate(zip(files, colours)):
        np.save(tmp_path / file, np.broadcast_to(colour, (20 + number, 70 - 3 * number, 3)))
    out, _ = run_recipe(tmp_path, "recipes/vision.md", "classifier.onnx", "classes.txt", *files)
    wanted = (colours / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    feed = np.broadcast_to(wanted.astype(np.float32)[:, :, None, None], (18, 3, 32, 40))
    (scores,) = onnxruntime_session(tmp_path / "classifier.onnx").run(None, {"pictures": np.ascontiguousarray(feed)})
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    lines = out.decode().splitlines()
    assert lines[::6] == files
    for number, row in enumerate(shares):
        found = [re.fullmatch(r" +([\d.]+)%  (.*)", line).groups() for line in lines[6 * number + 1 : 6 * number + 6]]
        assert [name for _, name in found] == [names[place] for place in np.argsort(-row)[:5]]
        np.testing.assert_allclose([float(share) for share, _ in found], np.sort(row)[:-6:-1] * 100, atol=0.06)


def test_pictures_are_scaled_and_cut_about_their_middle():
    program = blocks("recipes/vision.md", "python").split("model, classes, *paths")[0]
    names = {}
    exec(program, names)
    ramp = np.broadcast_to(np.arange(64, dtype=np.uint8)[None, :, None], (16, 64, 3))
    made = names["prepared"](ramp, 8, 8) * names["DEVIATION"][:, None, None] + names["MEAN"][:, None, None]
    # Half as tall and wide, of which the middle eight columns stay: means of two neighbours from column 24 on.
    np.testing.assert_allclose(made[0] * 255, np.broadcast_to(np.arange(24, 40, 2) + 0.5, (8, 8)), rtol=1e-5)


SENTENCES = [
    "The cat sat on the mat.",
    "The dog sat on the mat, and on the mat the dog sat till the cat, too, sat there.",
    "The cats sat!",
    "Quantum xylophones",
    "The cat sat on the mat.",
    "On mats sat dogs.",
]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "##s", "dog", "sat", "on", "mat", "and", "till", "too", "there", ".", ","]


def tokens_of(sentence):
    """By hand: words of this vocabulary are whole, or whole but for their s."""
    found = []
    for word in re.findall(r"\w+|[.,!]", sentence.lower()):
        known = [word] if word in PIECES else [word[:-1], "##s"] if word[:-1] in PIECES and word[-1] == "s" else ["[UNK]"]
        found += [PIECES.index(piece) for piece in known]
    return [2, *found, 3]


def test_sentences(tmp_path):
    """Each sentence alone, and not padded, in ONNX Runtime."""
    recipe_models.encoder(tmp_path / "encoder.onnx", tokens=len(PIECES))
    (tmp_path / "vocabulary.txt").write_text("\n".join(PIECES) + "\n")
    (tmp_path / "sentences.txt").write_text("\n".join(SENTENCES) + "\n")
    out, report = run_recipe(tmp_path, "recipes/sentences.md", "encoder.onnx", "vocabulary.txt", "sentences.txt")
    theirs, vectors = onnxruntime_session(tmp_path / "encoder.onnx"), []
    for sentence in SENTENCES:
        ids = np.array([tokens_of(sentence)])
        (states,) = theirs.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        vectors.append(states[0].mean(axis=0) / np.linalg.norm(states[0].mean(axis=0)))
    lines = [line.strip().split("  ", 1) for line in out.decode().splitlines()]
    assert [sentence for _, sentence in lines] == SENTENCES
    np.testing.assert_allclose([float(cosine) for cosine, _ in lines], np.stack(vectors) @ vectors[0], atol=6e-4)
    assert report.startswith("one artifact for batch = 1 to 4, length = 1 to 128, compiled in ")
    assert sum(int(runs) for runs in re.findall(r": (\d+) runs", report)) == -(-len(SENTENCES) // 4)


def written(path, prompt, count, longest):
    """The likeliest tokens behind a prompt, by steps in ONNX Runtime whose caches are handed on."""
    session = onnxruntime_session(path)
    pasts = {port.name: np.zeros(port.shape, np.float32) for port in session.get_inputs() if port.name.startswith("past")}
    token, made = prompt[0], []
    for position in range(min(len(prompt) + count, longest) - 1):
        feeds = {"token": np.array([[token]]), "position": np.array([position])} | pasts
        logits, *presents = session.run(None, feeds)
        pasts = dict(zip(pasts, presents))
        token = prompt[position + 1] if position + 1 < len(prompt) else int(logits.argmax())
        made += [token] if position + 1 >= len(prompt) else []
    return bytes(made)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_decoder(device, tmp_path):
    """As many tokens as are asked for, or as the caches have room for; on a GPU, an emulated one where there is none."""
    recipe_models.decoder(tmp_path / "decoder.onnx", longest=24)
    environment = {"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {}
    if device == "cuda" and not os.path.exists("/dev/nvidia0"):
        assert (EMULATOR / "libcuda.so.1").exists(), "the emulator is not built; ./dev build makes it"
        environment = {"LD_LIBRARY_PATH": str(EMULATOR)}
    for count, length in ((12, 12), (100, 20)):
        out, told = run_recipe(tmp_path, "recipes/decoder.md", "decoder.onnx", "Once", count, **environment)
        expected = written(tmp_path / "decoder.onnx", b"Once", count, longest=24)
        assert out == expected and len(expected) == length and len(set(expected)) > 3
        assert f"decoder.onnx on {device}, texts of up to 24 tokens" in told


@pytest.fixture
def digits(tmp_path):
    """A folder with the files that docs/start.md names; what the network says of the pictures."""
    shutil.copy(MODEL, tmp_path / "digits.onnx")
    with np.load(MODEL.parent / "held_out.npz") as held:
        np.save(tmp_path / "images.npy", held["images"])
        (expected,) = onnxruntime_session(MODEL).run(None, {"images": held["images"]})
    return tmp_path, expected


def test_start_in_python(digits):
    folder, expected = digits
    out, _ = run_recipe(folder, "start.md")
    assert out.decode().splitlines() == [
        "images tensor(float) [449, 1, 8, 8]",
        "probabilities tensor(float) [449, 10]",
        str(expected.argmax(axis=1)[:10]),
    ]


def test_start_on_the_command_line(digits):
    folder, expected = digits
    (shown,) = re.findall(r"^\$ (kintsugi .*?)\n(.*)\Z", blocks("start.md", "console"), re.M | re.S)
    assert run_commands(folder, shown[0])[0].decode() == shown[1]
    commands = blocks("start.md", "sh").split("kintsugi doctor\n")[1]
    assert commands.count("kintsugi ") == 6
    out, _ = run_commands(folder, commands)
    with np.load(folder / "answers.npz") as answers:
        np.testing.assert_allclose(answers["probabilities"], expected, atol=1e-4)
    assert "inside the error policy" in out.decode()


def test_program_in_c(digits):
    """Compiled as the page says, without a warning, where the library and the header are as in the tarball."""
    folder, expected = digits
    libraries = pathlib.Path(PROGRAM).parents[1] / "lib"
    assert (libraries / "libkintsugi_runtime.so").exists(), "the library is not built; ./dev build makes it"
    prefix = folder / "prefix"
    prefix.mkdir()
    for name, place in (("include", ROOT / "include"), ("lib", libraries), ("bin", pathlib.Path(PROGRAM).parent)):
        (prefix / name).symlink_to(place)
    (folder / "pipe.c").write_text(blocks("c.md", "c"))
    shutil.copy(MODEL, folder / "model.onnx")
    (folder / "inputs.bin").write_bytes(np.load(folder / "images.npy").tobytes())
    commands = blocks("c.md", "sh").replace("cc -std=c11", "cc -std=c11 -Wall -Wextra -Wpedantic -Werror")
    run_commands(folder, commands, PREFIX=str(prefix))
    found = np.fromfile(folder / "outputs.bin", np.float32).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    for arguments, code, words in (("model.kin <pipe.c", 3, "'images' wants 114944 bytes"), ("pipe.c <pipe.c", 3, "pipe.c: ")):
        done = subprocess.run(f"./pipe {arguments}", shell=True, cwd=folder, capture_output=True, text=True)
        assert done.returncode == code and words in done.stderr
