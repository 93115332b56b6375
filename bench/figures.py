"""Writes README's table of figures from the files of results, so that none is copied by hand.

usage: figures.py [--check]

Each row names the command that measures it; that command leaves a file in bench/results, from which the row takes its
figure, its date and its commit. `--check` changes nothing, and exits 1 where the table is not what the files say.
Without it the ages of the rows in commits are printed as well.
"""

import argparse
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))

import idioms
import machine
import models
import torch_compile
import torch_trials

README = models.ROOT / "README.md"
BEGIN, END = "<!-- figures: written by bench/figures.py -->\n", "<!-- end of figures -->\n"
HEAD = "| what | figure | measured | command |\n| --- | --- | --- | --- |\n"


def ratio_to(peer):
    def figure(report):
        found = report["summary"].get(peer)
        return found and f"{found['geometric_mean']:.2f}; {found['worst']:.2f} ({found['worst_model']})"

    return figure


def with_fallback(report):
    found = report["summary"]
    return f"{found['geometric_mean']:.2f} over {found['models']}; {found['worst']:.2f} ({found['worst_model']})" if found else None


def best_of_peers(report):
    found = report["summary"].get("best_over_kintsugi")
    return found and f"{found['geometric_mean']:.2f} over {found['models']}; {found['worst']:.2f} ({found['worst_model']})"


def shares_of_peak(report):
    shares = [row["share"] for row in report["products"]]
    return f"{min(shares):.0%}; {statistics.median(shares):.0%}"


def shares_of_copy(report):
    """Of kernels that write, of a copy; of those that only read, of what cores can read."""
    worst = min((row for row in report["kernels"] if "share_of_reading" not in row), key=lambda row: row["share"])
    reading = [row["share_of_reading"] for row in report["kernels"] if "share_of_reading" in row]
    return f"{worst['share']:.0%} ({worst['kernel']}); {min(reading):.0%}"


def points_between_levels(report):
    points = {name: row["points"] for name, row in report["models"].items() if "points" in row}
    worst = min(points, key=points.get)
    return f"{statistics.median(points.values()):+.0f} points; {points[worst]:+.0f} ({worst})"


def rank_correlation(report):
    known = {name: row["spearman"] for name, row in report["models"].items() if row.get("spearman") is not None}
    least = min(known, key=known.get)
    return f"{statistics.median(known.values()):.2f}; {known[least]:.2f} ({least})"


def predicted_within(report):
    """Runs that take what was predicted, within 15 %, and by which numbers of the machine."""
    found = report["summary"]
    return f"{found['within']} of {found['runs']} ({report['numbers']} numbers)" if "within" in found else None


def greatest(rows, key):
    """The model with the greatest of such numbers, and that number; None where no model has it."""
    found = {name: row[key] for name, row in rows.items() if key in row}
    return max(found.items(), key=lambda item: item[1]) if found else None


def slowest_compile(report):
    texts, most = [], 0
    for target, rows in report["targets"].items():
        if found := greatest(rows, "seconds"):
            texts.append(f"{found[1]:.0f} s ({target} {found[0]})")
            most = max(most, greatest(rows, "mib")[1])
    return f"{'; '.join(texts)}; {most / 1024:.1f} GiB" if texts else None


def widest_gap(report):
    texts = []
    for target, rows in report["targets"].items():
        if found := greatest(rows, "gap"):
            name, gap = found
            failed = sum("failed" in row for row in rows.values())
            text = f"{gap:.2%} ({target} {name})" if gap else f"0, all optimal ({target})"
            texts.append(text + (f", {failed} failed" if failed else ""))
    return "; ".join(texts) or None


def agreeing(report):
    """Models by verdict: what is inside only by rounding is never counted with what is inside."""
    rows = report["models"].values()
    count = lambda verdict: sum(row.get("verdict") == verdict for row in rows)
    text = f"{count('inside')} of {len(rows)}"
    text += f", and {count('rounding')} only by rounding" if count("rounding") else ""
    bounded = sum(row.get("with_max_error", {}).get("verdict") in ("inside", "rounding") for row in rows)
    return text + (f", and {bounded} with `--max-error 0.1`" if bounded else "")


def best_of_torch(report):
    found = report["best_over_kintsugi"]
    leads = {name: min(ms for who, ms in row["ms"].items() if who != "kintsugi") / row["ms"]["kintsugi"]
             for name, row in report["models"].items() if len(row["ms"]) > 1}
    best = max(leads, key=leads.get)
    without = [name for name, row in report["models"].items() if len(row["ms"]) < 2]
    text = f"{found['geometric_mean']:.2f} over {found['models']}; {leads[best]:.1f} ({best});"
    text += f" {found['worst']:.2f} ({found['worst_model']})"
    return text + (f"; without {', '.join(without)}" if without else "")


def decoder(report):
    ms = report["models"]["llama_1b_decode"]["ms"]
    return f"{ms['kintsugi']:.2f} ms" + (f"; torch's best {min(ms[who] for who in ms if who != 'kintsugi'):.2f} ms" if len(ms) > 1 else "")


def gain_of_fission(report):
    found, kernels = (report["summary"][f"greedy_over_{way}"] for way in ("fission", "kernels"))
    whole = f"{found['geometric_mean']:.2f}; {found['worst']:.2f} ({found['worst_model']})"
    return f"{whole}; {kernels['geometric_mean']:.2f}, {kernels['worst']:.2f}"


def products_on_gpu(report):
    leads = {name: row["lead"] for name, row in report["products"].items() if "lead" in row}
    small = leads["small ones, geometric mean"]
    large = [f"{leads[name]:.2f}" for name in sorted(leads) if name.endswith("bf16")]
    return f"{small:.2f}; {'; '.join(large)}"


def moves_on_gpu(report):
    shares = {name: row["share"] for name, row in report["moves"].items()}
    texts = []
    for kind in ("f32", "f16"):
        worst = min((name for name in shares if name.endswith(kind)), key=shares.get)
        texts.append(f"{shares[worst]:.0%} ({worst.removesuffix(' ' + kind)})")
    return f"{'; '.join(texts)}; {statistics.median(shares.values()):.0%}"


def attention_on_gpu(report):
    leads = {name: row["lead"] for name, row in report["us"].items()}
    worst = min(leads, key=leads.get)
    return f"{leads[worst]:.2f} ({worst.replace('_', ', ')}); {statistics.geometric_mean(leads.values()):.2f}"


def right_of_torch(report):
    """Of the models that torch exports: those that are not are no matter of the compiler."""
    verdicts = report["summary"]["verdicts"]
    exported = {name: verdicts.get(name, 0) for name in ("right", "refused", "wrong", "failed")}
    others = ", ".join(f"{count} {name}" for name, count in exported.items() if count and name != "right")
    text = f"{exported['right']} of {sum(exported.values())}" + (f" ({others})" if others else "")
    return f"{text}; {report['summary']['models']} of {len(torch_trials.listed())} were tried"


def compiled_by_torch(report):
    """What runs through torch.compile, and inductor's time over Kintsugi's."""
    counts, found = report["summary"]["verdicts"], report["summary"]["inductor_over_kintsugi"]
    inside = sum(counts.get(name, 0) for name in torch_compile.INSIDE)
    made = sum(counts.values()) - counts.get("not made", 0)
    return (
        f"{inside} of {made} ({counts.get('right', 0)} with all graphs compiled); {found['geometric_mean']:.2f};"
        f" {found['worst']:.2f} ({found['worst_model']})"
    )


def of_open_dimension(report):
    """The greatest ratio, of which model at which size, and over how many models."""
    ratios = {(name, size): each["ratio"] for name, row in report["models"].items() for size, each in row.get("sizes", {}).items()}
    (name, size), worst = max(ratios.items(), key=lambda item: item[1])
    failed = [name for name, row in report["models"].items() if "failed" in row]
    text = f"{worst:.2f} ({name} at {size}), {len({name for name, _ in ratios})} models"
    return text + (f"; without {', '.join(failed)}" if failed else "")


def cliffs(report):
    """What takes most over the best peer's time, of how many, and how many take over twice that or fail."""
    times = {name: row["times"] for name, row in report["models"].items() if "times" in row}
    worst = max(times, key=times.get)
    defects = sum(idioms.is_defect(row, report["times"]) for row in report["models"].values())
    return f"{times[worst]:.2f} ({worst}) of {len(times)}; {defects}"


def conformance(_):
    """The list is the figure: a test compares it with what passes."""
    folder = models.ROOT / "test" / "conformance"
    passing = len([line for line in (folder / "passing.txt").read_text().splitlines() if line and line[0] != "#"])
    return f"{passing:,} of 2,024"


# What is measured, its figure as a function of a file of results, that file, and the command that writes it.
ROWS = [
    ("models of the [zoo](zoo/README.md) that agree with ONNX Runtime inside the published error policy, code for AVX2",
     agreeing, "zoo-v3", "./dev zoo --cpu-level v3 --json bench/results/zoo-v3.json"),
    ("the same, code for AVX-512", agreeing, "zoo-v4", "./dev zoo --cpu-level v4 --json bench/results/zoo-v4.json"),
    ("architectures of torchvision, timm and transformers with random weights, as torch exports them, that agree with torch"
     " inside the policy", right_of_torch, "torch-models", "./dev bench torch-models"),
    ("the same in f16 through `torch.compile(backend=\"kintsugi\")` on a GPU, batch 2, that are inside the policy; time of the"
     " quicker of inductor and its CUDA graphs / Kintsugi's, calls from Python, geometric mean; the worst", compiled_by_torch,
     "torch-compile-f16", "./dev bench torch-compile"),
    ("official ONNX backend cases that pass; the list may only grow", conformance, None, "./dev conformance"),
    ("time / ONNX Runtime's, geometric mean over the zoo; the worst", ratio_to("ort"), "cpu", "./dev bench cpu"),
    ("time / OpenVINO's, the same", ratio_to("openvino"), "cpu", "./dev bench cpu"),
    ("time / torch.compile's, the same", ratio_to("torch"), "cpu", "./dev bench cpu"),
    ("models of the zoo with an operator that is missing here at their begin, middle, end or at all three, run with"
     " `fallback=\"onnxruntime\"`: time / ONNX Runtime's, geometric mean; the worst", with_fallback, "fallback",
     "./dev bench fallback"),
    ("one artifact for batches of 1 to 16: time / that of an artifact of one size, processor: the worst over models and sizes",
     of_open_dimension, "open", "./dev bench open"),
    ("the same in f16 on a GPU", of_open_dimension, "open-cuda", "./dev bench open --target cuda --precision f16"),
    ("one artifact for lengths of 1 to 512, likewise, processor", of_open_dimension, "open-lengths", "./dev bench open --lengths"),
    ("one artifact for 1 to 16 sentences of 1 to 128 tokens, likewise, processor", of_open_dimension, "open-pairs",
     "./dev bench open bert_base_128 --pairs"),
    ("one artifact for lengths of 1 to 512, likewise, in f16 on a GPU", of_open_dimension, "open-lengths-cuda", "./dev bench open --lengths --target cuda --precision f16"),
    ("one artifact for such sentences, likewise, in f16 on a GPU", of_open_dimension, "open-pairs-cuda",
     "./dev bench open bert_base_128 --pairs --target cuda --precision f16"),
    ("pairs of operators as exporters write them, and random models over a millisecond: time / the best peer's, the worst; how many"
     " take over twice that, or fail", cliffs, "idioms", "./dev bench idioms"),
    ("time of the best of these peers / Kintsugi's, geometric mean (without llama_1b_decode, which is bound by reading its"
     " weights); the worst", best_of_peers, "cpu", "./dev bench cpu"),
    ("the same on a processor that has no more than AVX2, of ONNX Runtime and OpenVINO", best_of_peers, "cpu-avx2",
     "./dev bench cpu --peers ort,openvino --out bench/results/cpu-avx2.json"),
    ("cold compile for a processor's both instruction sets and for a GPU: the slowest of the zoo; most memory of a process",
     slowest_compile, "compiling", "./dev bench compiling"),
    ("how far plans of the zoo may be from the optimum over the kernels of all forms that were looked at, as proven: the widest gap",
     widest_gap, "compiling", "./dev bench compiling"),
    ("share of the peak of the multiply-add units that code for AVX2 reaches over that of code for AVX-512, on one machine:"
     " median; the least", points_between_levels, "levels", "./dev bench levels"),
    ("products of 512 to 2048 cubed, of the peak of the multiply-add units beside them, one and two cores, the second factor"
     " a weight or an input: the least; the median", shares_of_peak, "products", "./dev bench products"),
    ("kernels that memory bounds, one and two cores, of a copy's rate: the least of those that read and write; sums, of what"
     " cores can read: the least", shares_of_copy, "bandwidth", "./dev bench bandwidth"),
    ("predicted and measured times of a model's kernels, rank correlation: median over the zoo; the least",
     rank_correlation, "cost", "./dev bench cost"),
    ("runs of the zoo whose time is within 15 % of what was predicted when they were compiled", predicted_within, "cost",
     "./dev bench cost"),
    ("the same where kernels were measured before (`--tune 30`)", predicted_within, "cost-tuned",
     "./dev bench cost --tune 30"),
    ("models that agree with ONNX Runtime on a GPU in f32, inside the same policy", agreeing, "zoo-cuda",
     "./dev zoo --target cuda --json bench/results/zoo-cuda.json"),
    ("f16 on a GPU, inside the policy", agreeing, "zoo-cuda-f16",
     "./dev zoo --target cuda --precision f16 --json bench/results/zoo-cuda-f16.json"),
    ("f16 on a GPU, batch 1: torch's best (eager, compiled or FlexAttention, in a CUDA graph) / Kintsugi, geometric mean over"
     " the zoo; best; worst", best_of_torch, "gpu-f16", "./dev bench gpu"),
    ("the same on an H100, whose memory is slower than what plans are made for", best_of_torch, "gpu-f16-h100",
     "./dev bench gpu"),
    ("time of whole operators, fused step by step (`--no-fission --plan greedy`) / of fission and search, Korch's five models,"
     " CPU: geometric mean; the least; both where no rule moves sums across operators", gain_of_fission, "fission-cpu", "./dev bench fission"),
    ("the same in f16 on a GPU", gain_of_fission, "fission-cuda", "./dev bench fission --target cuda --precision f16"),
    ("one step of a decoder of 1.2 billion weights (llama_1b_decode), likewise", decoder, "gpu-f16", "./dev bench gpu"),
    ("products in f16 and bf16 on a GPU: cuBLAS's time / Kintsugi's, geometric mean of eight small ones; 4096 cubed; 8192"
     " cubed", products_on_gpu, "kernels-products", "./dev bench kernels products"),
    ("kernels that memory bounds over 256 MiB on a GPU, of the rate of torch's copy: the slowest in f32; in f16; median",
     moves_on_gpu, "kernels-moves", "./dev bench kernels moves"),
    ("masked attention in f16 on a GPU, four masks, 512 to 8192 keys: FlexAttention's time / Kintsugi's: worst; geometric"
     " mean", attention_on_gpu, "attention", "./dev bench attention"),
]


def read(name):
    """A file of results, or None where there is none."""
    path = machine.RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def card_of(report):
    """", H200" of what was measured on that card; nothing of a processor, be it beside one."""
    name = report["machine"].get("gpu", "").split(",")[0].removeprefix("NVIDIA").split()
    return f", {name[0]}" if name and report.get("target") != "cpu" else ""


def row_text(what, figure, name, command):
    """A row, also of what was never measured."""
    report = read(name) if name else {}
    value = None if report is None else figure(report)
    if value is None:
        return f"| {what} | not measured | | `{command}` |\n"
    when = f"{report['date']}, {report['machine']['commit'][:7]}{card_of(report)}" if name else "each commit"
    return f"| {what} | {value} | {when} | `{command}` |\n"


def table():
    return BEGIN + HEAD + "".join(row_text(*row) for row in ROWS) + END


def placed(text):
    """README's text with the table in its place."""
    before, rest = text.split(BEGIN)
    return before + table() + rest.split(END)[1]


def ages():
    """How many commits each file of results is old, the oldest first."""
    for name in {name for _, _, name, _ in ROWS if name and read(name)}:
        commit = read(name)["machine"]["commit"].removesuffix("+changes")
        count = machine.said_by("git", "-c", "safe.directory=*", "rev-list", "--count", f"{commit}..HEAD")
        yield int(count or -1), name


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 where the table is not up to date")
    options = parser.parse_args(words)
    text = README.read_text()
    if options.check:
        if placed(text) != text:
            sys.exit("figures: README's table is not what bench/results says; './dev figures' writes it")
        return
    README.write_text(placed(text))
    for count, name in sorted(ages(), reverse=True):
        print(f"{name}: {'of a commit that is not here' if count < 0 else f'{count} commits old'}")


if __name__ == "__main__":
    main()
