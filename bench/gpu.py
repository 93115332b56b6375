"""Times zoo models on an NVIDIA GPU through Kintsugi and torch, in alternating turns.

usage: gpu.py [MODEL ...] [--precision f16|bf16|f32] [--batch N] [--rounds N] [--jobs N] [--alone]
              [--out FILE]

torch's forms are eager in a CUDA graph (graph), torch.compile with freezing, captured in a CUDA graph by hand
(inductor), and where a model has masked attention FlexAttention in the latter (flex); a causal mask is said by name.
Images have their channels last. `reduce-overhead` copies inputs into the graph and is slower than any of these.
All that is compiled is compiled first, several models at a time; then one contender runs at a moment. A time is that of
one run on the device, from events around it, and a contender's the median over rounds of its median in a round. Between
runs the inputs come from the host and the outputs go to it, outside of the events, as `kintsugi bench` does, so that the
device rests alike. The modules' weights are random: what is computed is checked by `kintsugi compare`, not here. Needs
torch for CUDA, torchvision, transformers and timm, of any version, which are not installed for this.
With --batch, models whose batch of 1 can be made open (bench/open.py) get that batch.
Prints milliseconds and the ratio of the best of torch to Kintsugi, and writes them, with each round's, to
bench/results/gpu-PRECISION.json, or gpu-PRECISION-batch-N.json.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import onnx

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "zoo"))

import cpu
import machine
import models
import open_models

FORMS = ["graph", "inductor", "flex"]
LEAST_RUNS = 3


class Replay:
    """What `run` launches, captured in a CUDA graph, with the device's tensors that it reads; it returns those it makes."""

    def __init__(self, run, feeds):
        import torch

        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                run()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            made = run()
        self.made = made if isinstance(made, (tuple, list)) else (made,)
        self.feeds = [(feed, feed.cpu()) for feed in feeds]

    def timed(self):
        """Milliseconds of one replay by events; feeds are brought before it, and what it made is taken after it."""
        import torch

        for there, here in self.feeds:
            there.copy_(here)
        torch.cuda.synchronize()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self.graph.replay()
        end.record()
        torch.cuda.synchronize()
        for each in self.made:
            each.cpu()
        return start.elapsed_time(end)

    def times(self, seconds):
        """Milliseconds of replays over some seconds, as `kintsugi bench` takes them: the first is not counted."""
        self.timed()
        found, end = [], time.monotonic() + seconds
        while time.monotonic() < end or len(found) < LEAST_RUNS:
            found.append(self.timed())
        return found


def device_report(artifact, seconds):
    """What `kintsugi bench` says of an artifact."""
    return json.loads(models.kintsugi("bench", artifact, "--seconds", seconds, "--json", "-"))


def rounds(artifact, replay, peer, options):
    """Each round's median in milliseconds, turns alternating, by name: Kintsugi's, and the peer's where it has a replay."""
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(device_report(artifact, options.seconds)["device_ms"])
        if replay:
            theirs.append(statistics.median(replay.times(options.seconds)))
    return [("kintsugi", ours), *([(peer, theirs)] if replay else [])]


def add_turns(parser, seconds, jobs):
    """Options of who takes turns with torch."""
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=seconds, help="of one of Kintsugi's turns")
    parser.add_argument("--jobs", type=int, default=jobs, help="compilations at a time")
    parser.add_argument("--alone", action="store_true", help="without torch")


def torch_type(precision):
    """torch's type of elements for a --precision."""
    import torch

    return {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[precision]


def torch_forms(name, precision, batch):
    """What replays a model's module, by torch's forms, and why a form is absent."""
    import torch
    from torch._inductor import config

    import contenders
    import torch_modules

    torch.set_grad_enabled(False)
    torch.backends.cudnn.benchmark = True
    config.freezing = True
    torch.manual_seed(0)
    kind = torch_type(precision)
    module = torch_modules.MODULES[name]().eval().to("cuda", kind)
    feeds = [torch.from_numpy(value).cuda() for value in contenders.feeds_of(models.FOLDER / f"{name}.onnx").values()]
    feeds = [feed.repeat(batch, *[1] * (feed.dim() - 1)) if feed.shape[:1] == (1,) else feed for feed in feeds]
    feeds = [feed.to(kind) if feed.is_floating_point() else feed for feed in feeds]
    if feeds[0].dim() == 4:
        module = module.to(memory_format=torch.channels_last)
        feeds[0] = feeds[0].to(memory_format=torch.channels_last)
    eager = Replay(lambda: module(*feeds), feeds)
    compiled = torch.compile(module)
    forms, failed = {"graph": eager, "inductor": Replay(lambda: compiled(*feeds), feeds)}, {}
    if isinstance(module, torch_modules.MaskedEncoder):
        try:
            module.attend = module.by_blocks()
            torch.compiler.reset()
            by_blocks = torch.compile(module)
            forms["flex"] = Replay(lambda: by_blocks(*feeds), feeds)
        except Exception as error:  # Whatever a compiler of torch's raises: the other forms compete all the same.
            failed["flex"] = str(error).strip().splitlines()[0]
    return forms, failed


def serve(name, precision, batch):
    """A worker's life: prepare, say how long it took, then answer each line, a form and seconds, with a turn's times."""
    start = time.monotonic()
    forms, failed = torch_forms(name, precision, int(batch))
    print("ANSWER", json.dumps([round(time.monotonic() - start, 1), list(forms), failed]), flush=True)
    for line in sys.stdin:
        form, seconds = line.split()
        print("ANSWER", json.dumps(forms[form].times(float(seconds))), flush=True)


class Torch:
    """torch's forms of a model, in a process that waits for its turns."""

    def __init__(self, name, options):
        command = [sys.executable, __file__, "--serve", name, options.precision, str(options.batch)]
        self.seconds = options.seconds
        self.said = tempfile.TemporaryFile("w+")
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said)
        threads = dict(TORCHINDUCTOR_COMPILE_THREADS="2")
        self.process = subprocess.Popen(command, text=True, env=os.environ | threads, **pipes)
        self.compile_s, self.forms, self.failed = self.answer()

    def answer(self):
        for line in self.process.stdout:
            if line.startswith("ANSWER "):
                return json.loads(line[7:])
        self.said.seek(0)
        last = self.said.read().strip().splitlines()[-1:]
        raise models.Failure(f"exit {self.process.wait()}: {''.join(last) or 'ended without a word'}")

    def turns(self):
        found = {}
        for form in self.forms:
            self.process.stdin.write(f"{form} {self.seconds}\n")
            self.process.stdin.flush()
            found[form] = statistics.median(self.answer())
        return found

    def close(self):
        self.process.kill()
        self.process.wait()


class Kintsugi:
    """A model's artifact, which `kintsugi bench` loads for each turn."""

    def __init__(self, name, folder, options):
        self.artifact, self.seconds = folder / f"{name}.kin", options.seconds
        model, sizes = models.FOLDER / f"{name}.onnx", ()
        if options.batch > 1:
            model, sizes = folder / f"{name}.onnx", ("--dim", f"{open_models.NAME}={options.batch}")
            onnx.save(open_models.with_open_batch(models.FOLDER / f"{name}.onnx"), model)
        start = time.monotonic()
        models.kintsugi(
            *("compile", model, *sizes, "--random-weights", "--target", "cuda"),
            *("--precision", options.precision, "-o", self.artifact, "--quiet"),
        )
        self.compile_s = round(time.monotonic() - start, 1)
        self.report, self.failed = {}, {}

    def turns(self):
        self.report = device_report(self.artifact, self.seconds)
        return {"kintsugi": self.report["device_ms"]}

    def close(self):
        self.artifact.unlink(missing_ok=True)


def prepare(name, folder, options):
    """A model's contenders by name, and why one is absent."""
    makers = {"kintsugi": lambda: Kintsugi(name, folder, options)}
    if not options.alone:
        makers["torch"] = lambda: Torch(name, options)
    field, failed = {}, {}
    for who, make in makers.items():
        try:
            field[who] = make()
            failed |= field[who].failed
        except models.Failure as failure:
            failed[who] = str(failure)
    return field, failed


def compete(field, failed, options):
    """One model's row: the median of each form's turns."""
    found = {}
    for _ in range(options.rounds):
        for who, contender in field.items():
            try:
                for form, ms in contender.turns().items():
                    found.setdefault(form, []).append(ms)
            except (models.Failure, OSError) as failure:
                failed[who] = str(failure)
    row = dict(ms={form: statistics.median(times) for form, times in found.items()}, rounds=found, failed=failed)
    row["compile_s"] = {who: contender.compile_s for who, contender in field.items()}
    if "kintsugi" in row["ms"]:
        row |= {key: field["kintsugi"].report[key] for key in ("predicted_ms", "kernels")}
    return row


def line(name, row):
    ours, lead = row["ms"].get("kintsugi"), cpu.lead(row, FORMS)
    cells = [f"{row['ms'][who]:10.4f}" if who in row["ms"] else f"{'-':>10}" for who in ("kintsugi", *FORMS)]
    text = f"{name:32}{''.join(cells)} {f'{lead:8.2f}' if lead else '       -'} {row['compile_s'].get('kintsugi', 0):9.1f}"
    text += f" {row['kernels']:7}" if ours else ""
    return text + "".join(f"\n    {who}: {why}" for who, why in row["failed"].items())


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--precision", choices=("f32", "f16", "bf16"), default="f16")
    parser.add_argument("--batch", type=int, default=1)
    add_turns(parser, seconds=0.15, jobs=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--out", type=pathlib.Path, help="instead of the file in bench/results")
    options = models.parsed(parser, words)
    options.names = [path.stem for path in options.paths]
    return options


def main(words=None):
    options = parse(words)
    batch = f"-batch-{options.batch}" if options.batch > 1 else ""
    out = options.out or machine.RESULTS / f"gpu-{options.precision}{batch}.json"
    report = machine.report(precision=options.precision, batch=options.batch, rounds=options.rounds, models={})
    leads = {}
    with models.workspace("gpu") as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        ready = {name: pool.submit(prepare, name, folder, options) for name in options.names}
        concurrent.futures.wait(ready.values())
        titles = "".join(f"{who:>10}" for who in ("kintsugi", *FORMS))
        print(f"{'model':32}{titles} {'best/ours':>9} {'compile s':>8} {'kernels':>7}")
        for name, future in ready.items():
            field, failed = future.result()
            row = report["models"][name] = compete(field, failed, options)
            for contender in field.values():
                contender.close()
            print(line(name, row), flush=True)
            if lead := cpu.lead(row, FORMS):
                leads[name] = lead
                report["best_over_kintsugi"] = cpu.geometric(leads, min)
            machine.write(report, out)
    if leads:
        found = report["best_over_kintsugi"]
        print(f"best of torch over Kintsugi: geometric mean {found['geometric_mean']:.2f}x over {found['models']}"
              f" models, worst {found['worst']:.2f}x ({found['worst_model']})")
    print(f"written to {out}")
    return 0 if all("kintsugi" in row["ms"] for row in report["models"].values()) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
    else:
        sys.exit(main())
