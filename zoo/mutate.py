"""Would the error policy see a kernel that errs? Whole models with one mistake in the middle, judged as ours are.

usage: mutate.py [MODEL ...] [--limit SECONDS] [--jobs N] [--json FILE]

ONNX Runtime computes a model once as it is and once with each mistake in one of its products with a large constant
factor: one channel off by 1 %, one column of the factor dropped, two heads (groups of channels) exchanged, both factors
rounded to f16. It is the product nearest to the middle whose middle channel the model's outputs depend on: a channel
that a rectifier cuts off, or whose scale a normalization takes away again, has no wrong value. `kintsugi compare` has to
call the right outputs inside and each other set outside. Columns: for each mistake, by how many times the limit it is
passed (of the whole output or of a slice), and which product it was. Exits 1 where a mistake goes unseen in more than
two models; of two or fewer, in any.
"""

import argparse
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import check
import machine
import materialize
import models
import policy

# Of each operator's factor, when it is the second input: its axes of channels and of terms.
AXES = {"Conv": (0, 1), "ConvTranspose": (1, 0), "Gemm": (1, 0), "MatMul": (-1, -2), "LSTM": (1, 2)}
LEAST = 8  # Channels and terms that a product has to have.
UNSEEN = 2  # Models in which a mistake may be too small to see.
TRIED = 16  # Products that are looked at for one that matters.
FELT = 1e-2  # Of an output's largest magnitude: a channel matters if doubling it moves an output by more.


class Product:
    """A node that multiplies by what constants alone decide."""

    def __init__(self, node, place, shape):
        self.node, self.place, self.shape = node, place, shape
        transposed = node.op_type == "Gemm" and any(a.name == "transB" and a.i for a in node.attribute)
        channels, terms = reversed(AXES[node.op_type]) if transposed or place == 0 else AXES[node.op_type]
        self.channels, self.terms = channels % max(1, len(shape)), terms % max(1, len(shape))

    def is_large(self):
        return len(self.shape) >= 2 and min(self.shape[self.channels], self.shape[self.terms]) >= LEAST


def products(model):
    """Those with large factors, in order."""
    graph, shapes = model.graph, policy.shapes(model)
    constants, found = {tensor.name for tensor in graph.initializer}, []
    for node in graph.node:
        if all(name in constants for name in node.input if name):
            constants.update(node.output)
        elif node.op_type in AXES:
            places = [p for p in ((0, 1) if node.op_type == "MatMul" else (1,)) if node.input[p] in constants]
            found += [Product(node, place, shapes[node.input[place]]) for place in places]
    return [product for product in found if product.is_large()]


class Mistakes:
    """Makes a product of a graph read something else."""

    def __init__(self, graph, product):
        self.graph, self.product = graph, product

    def read(self, place, *nodes):
        """Puts nodes ahead of an input: a list of operator, further inputs and attributes each."""
        node = self.product.node
        number = next(i for i, other in enumerate(self.graph.node) if other.output == node.output)
        name = node.input[place]
        for step, (operator, further, attributes) in enumerate(nodes):
            made = f"mistake.{place}.{step}"
            self.graph.node.insert(number + step, helper.make_node(operator, [name, *further], [made], **attributes))
            name = made
        self.graph.node[number + len(nodes)].input[place] = name

    def constant(self, array):
        self.graph.initializer.append(numpy_helper.from_array(array, "mistake.constant"))
        return "mistake.constant"

    def channel_doubled(self):
        self.scaled(self.product.channels, 2)

    def scaled(self, axis, share):
        """The middle one of an axis times a number."""
        extent = self.product.shape[axis]
        scales = np.ones(extent, np.float32)
        scales[extent // 2] = share
        place = [1] * len(self.product.shape)
        place[axis] = extent
        self.read(self.product.place, ("Mul", [self.constant(scales.reshape(place))], {}))

    def channel_off(self):
        self.scaled(self.product.channels, 1.01)

    def column_dropped(self):
        self.scaled(self.product.terms, 0)

    def heads_exchanged(self):
        extent = self.product.shape[self.product.channels]
        size = extent // 8
        order = np.r_[size : 2 * size, :size, 2 * size : extent]
        self.read(self.product.place, ("Gather", [self.constant(order)], {"axis": self.product.channels}))

    def rounded_to_f16(self):
        for place in (0, 1):
            to = ({"to": TensorProto.FLOAT16}, {"to": TensorProto.FLOAT})
            self.read(place, *(("Cast", [], attributes) for attributes in to))


MISTAKES = {
    "1 % on a channel": Mistakes.channel_off,
    "column dropped": Mistakes.column_dropped,
    "heads exchanged": Mistakes.heads_exchanged,
    "f16 factors": Mistakes.rounded_to_f16,
}


def mutated(path, make, number, folder):
    """The file of a model with a mistake in the product of that number; `folder` is where the model's weights are."""
    model = onnx.load(path, load_external_data=False)
    make(Mistakes(model.graph, products(model)[number]))
    onnx.save(model, folder / "mistake.onnx")
    return folder / "mistake.onnx"


def moved(right, wrong):
    """The largest change of an output beside its largest magnitude."""
    return max(
        float(np.abs(wrong[name].astype(np.float64) - right[name]).max()) / max(float(np.abs(right[name]).max()), 1e-30)
        for name in right
    )


def place_of_mistakes(path, folder, feeds, right):
    """The number of the product nearest to the middle that matters: its middle channel, doubled, is felt. Where none
    does as much, the one that does most."""
    count = len(products(onnx.load(path, load_external_data=False)))
    if count == 0:
        raise models.Failure(f"{path.stem} multiplies by no large constants")
    felt = {}
    for number in sorted(range(count), key=lambda number: abs(number - count // 2))[:TRIED]:
        wrong = check.reference(mutated(path, Mistakes.channel_doubled, number, folder), feeds)
        felt[number] = moved(right, wrong)
        if felt[number] > FELT:
            return number
    return max(felt, key=felt.get)


class Bench:
    """A compiled model and what it is compared with."""

    def __init__(self, model, folder, feeds, limit):
        self.model, self.folder, self.feeds, self.limit = model, folder, feeds, limit
        np.savez(folder / "feeds.npz", **feeds)
        models.kintsugi("compile", model, "-o", folder / "model.kin", "--quiet", timeout=limit)
        self.widened = None

    def compared(self, model, outputs):
        np.savez(self.folder / "expected.npz", **outputs)
        files = ("--inputs", self.folder / "feeds.npz", "--expected", self.folder / "expected.npz")
        how = dict(timeout=self.limit, codes=(0, check.DISAGREES), cache=self.folder / "cache")
        return json.loads(models.kintsugi("compare", model, *files, "--json", **how))["outputs"]

    def strain(self, outputs):
        """By how many times some output passes a limit. The artifact tells how far apart they are; what rounding costs
        the model is asked for once, where it matters, and holds for all."""
        found = self.compared(self.folder / "model.kin", outputs)
        if max(map(check.strain, found)) <= 1:
            return max(map(check.strain, found))
        if self.widened is None:
            asked = self.compared(self.model, outputs)
            if all("rounding" not in output for output in asked):
                return max(map(check.strain, asked))
            self.widened = {o["name"]: {f: o[f] for f in ("allowed", "slice_allowed")} for o in asked}
        return max(check.strain(output | self.widened[output["name"]]) for output in found)


def examine(path, limit):
    """By mistake, how many times the limit it is: under 1 it goes unseen. Raises models.Failure."""
    with models.workspace(path.stem) as folder:
        model = models.with_weights(path, folder)
        feeds = materialize.inputs(onnx.load(path, load_external_data=False))
        bench = Bench(model, folder, feeds, limit)
        right = check.reference(model, feeds)
        number = place_of_mistakes(model, folder, feeds, right)
        row = {"product": number, "none": bench.strain(right)}
        for mistake, make in MISTAKES.items():
            row[mistake] = bench.strain(check.reference(mutated(model, make, number, folder), feeds))
    return row


def line(name, row):
    if "failed" in row:
        return f"{name:32} {row['failed']}"
    return f"{name:32}" + "".join(f"{row[mistake]:17.3g}" for mistake in MISTAKES) + f"{row['product']:9}{row['none']:17.3g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=900, help="seconds that one command may take")
    parser.add_argument("--jobs", type=int, default=1, help="models that are examined at a time")
    parser.add_argument("--json", type=pathlib.Path, help="write the table to this file as well")
    options = models.parsed(parser)
    report = machine.report(models={})
    rows = report["models"]
    print(f"{'model':32}" + "".join(f"{name:>17}" for name in MISTAKES) + f"{'product':>9}{'no mistake':>17}")
    check.tabulated(options, report, lambda path: examine(path, options.limit), line)
    seen = {name: sum(row.get(name, 0) > 1 for row in rows.values()) for name in MISTAKES}
    print(f"{'seen in':32}" + "".join(f"{f'{count} of {len(rows)}':>17}" for count in seen.values()))
    least = len(rows) - UNSEEN if len(rows) > UNSEEN else len(rows)
    isRight = all(row.get("none", 2) <= 1 for row in rows.values())
    return 0 if isRight and min(seen.values()) >= least else 1


if __name__ == "__main__":
    sys.exit(main())
