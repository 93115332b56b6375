"""What a run says: progress, failures, and a summary in which every operator and idiom has its count."""

import collections
import sys
import time

from . import configure
from .generate import BLOCKS, kind_of


# What sets a GPU's kernels apart, by how the names of their instructions start.
EXECUTED = {
    "mma": "mma.", "wgmma": "wgmma.mma", "ldmatrix": "ldmatrix", "asynchronous copies": "cp.async.c",
    "bulk copies": "cp.async.bulk", "clusters": "mapa", "shuffles": "shfl", "waits for the launch before": "griddepcontrol",
}


class Tally:
    def __init__(self, about, target="cpu"):
        self.levels = about["levels"] if target == "cpu" else [target]
        self.imported = sorted({name for _, name, _ in about["operators"]})
        self.start = time.monotonic()
        self.kinds, self.operators, self.idioms = (collections.Counter() for _ in range(3))
        self.configurations = collections.Counter()
        self.empty = self.deviating = 0
        self.cpu, self.nearest, self.slowest = 0.0, 0.0, 0.0
        self.refusals = collections.Counter()
        self.units = collections.Counter()
        self._shown = 0.0

    def add(self, graph, configuration, answer):
        self.kinds[answer["kind"]] += 1
        self.operators.update({node.op for node in graph.nodes})
        self.idioms.update(set(graph.idioms))
        shown = [key for key in ("float", "precision", "max_error", "plan") if configuration[key] is not None]
        self.configurations.update(f"{key} {configuration[key]}" for key in shown)
        self.configurations.update(f"disable {switch}" for switch in configuration["disable"])
        self.deviating += bool(answer.get("ort_deviates"))
        names = answer.get("instructions", {})
        self.units.update(unit for unit, start in EXECUTED.items() if any(name.startswith(start) for name in names))
        self.cpu += answer.get("cpu_s", 0.0)
        self.nearest = max(self.nearest, answer.get("nearest", 0.0))
        self.slowest = max(self.slowest, answer.get("wall_s", 0.0))
        if answer["kind"] == "without ORT":
            self.refusals[answer["text"][:120]] += 1

    @property
    def done(self):
        return sum(self.kinds.values()) + self.empty

    def progress(self, count, findings):
        every = 0.5 if sys.stderr.isatty() else 30
        if time.monotonic() - self._shown < every:
            return
        self._shown = time.monotonic()
        seconds = self._shown - self.start
        line = f"{self.done} of {count} models, {findings} failures, {seconds:.0f} s"
        print(f"\r{line}\x1b[K" if sys.stderr.isatty() else line, end="" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)

    def clear(self):
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def summary(self, findings):
        count = sum(self.kinds.values())
        missing = sorted(set(self.imported) - set(self.operators))
        other = "units" if self.levels[0].startswith("x86") else "large"  # Than what the target has of its own.
        idioms = {c for b in BLOCKS if kind_of(b) != other for c in b.covers if not c[0].isupper()}
        lines = [
            _row("operators", self.operators),
            _row("idioms", self.idioms),
            _row("configurations", self.configurations),
            *([_row("models whose kernels used", self.units)] if self.units else []),
            f"operators that no model had: {', '.join(missing) or 'none'}",
            f"idioms that no model had: {', '.join(sorted(idioms - set(self.idioms))) or 'none'}",
            f"ONNX Runtime alone apart from the reference: {self.deviating}; not taken by it: {self.kinds['without ORT']}; "
            f"beyond the range of f16: {self.kinds['unfit']}",
            *(f"  not taken: {text} ({times})" for text, times in self.refusals.most_common(5)),
            f"largest share of its limit that a right answer took: {self.nearest:.2f}; slowest {self.slowest:.1f} s",
            f"code for {' and '.join(self.levels)}; {self.cpu / max(1, count):.2f} s of processor time a model",
        ]
        if self.levels == ["x86-64-v3"]:
            lines.append("x86-64-v4 was not run: this processor has no AVX-512")
        kinds = ", ".join(f"{n} {kind}" for kind, n in self.kinds.most_common())
        lines.append(f"{count} models in {time.monotonic() - self.start:.0f} s: {kinds or 'none'}; {len(findings)} failures")
        return "\n".join(lines)


def _row(title, counter):
    return f"{title}: " + ", ".join(f"{name} {count}" for name, count in sorted(counter.items(), key=lambda e: (-e[1], e[0])))


def configured(configuration):
    return f"{configuration['float']} {configure.flags(configuration)}"


def failure(seed, program, configuration, answer):
    blocks = ", ".join(name for name, _ in program["blocks"])
    return f"seed {seed} ({blocks}) [{configured(configuration)}]: {answer['kind']}: {answer['text'].splitlines()[0]}"


def reduced(finding, graph, folder):
    """The smallest model as a person reads it."""
    lines = [f"  reduced to {len(graph.nodes)} nodes [{configured(finding['configuration'])}]: {finding['failure']}"]
    for name, source in [*graph.inputs.items(), *graph.constants.items()]:
        lines.append(f"    {name} = {source.recipe} : {source.kind}{list(source.shape)}")
    for node in graph.nodes:
        attributes = "".join(f", {k}={v if not isinstance(v, type(graph)) else '{...}'}" for k, v in node.attributes.items())
        shapes = " ".join(str(list(graph.values[o].shape)) for o in node.outputs if o)
        lines.append(f"    {', '.join(node.outputs)} = {node.op}({', '.join(node.inputs)}{attributes}) : {shapes}")
    lines.append(f"    outputs {', '.join(graph.outputs)}")
    if folder:
        lines.append(f"  written to {folder}/{finding['name']}.json; again: ./dev fuzz-models --replay {folder}/{finding['name']}.json")
    return "\n".join(lines)
