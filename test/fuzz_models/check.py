"""One model under one configuration: compiled once, run by the code of each level with 1 and 2 threads, and judged."""

import json
import os
import time

import numpy as np
import onnx

from . import configure, faults, judge, oracle

NOISES, MORE_NOISES = 3, 24
THREADS = (1, 2)  # Of a processor; a GPU has its own.
STATUS = {1: "comparison", 2: "usage", 3: "refused", 4: "internal", 5: "machine"}


class Report(dict):
    """kind: one of reduce.FAILURES, or fine, unfit, no GPU code, without ORT; text; and what was counted on the way."""


def pieces(graph, configuration, native, folder):
    """Everything that has to do with the right answer."""
    grid = configuration["precision"] != "f32"
    path = os.path.join(folder, "model.onnx")
    onnx.save(graph.model(configuration["float"], grid), path)
    feeds = graph.feeds(configuration["float"], grid)
    twin = {name: a.astype(np.float32) if graph.inputs[name].kind == "float" else a for name, a in feeds.items()}
    return path, feeds, twin, grid


def spreads_of(noisy, twin, base, count, first=0):
    """By output, the differences that so many runs with noise made."""
    result = [[] for _ in base]
    for seed in range(first, first + count):
        for place, (moved, still) in enumerate(zip(noisy.run(twin, seed), base)):
            if still.dtype.kind == "f":
                with np.errstate(invalid="ignore"):
                    result[place].append(np.abs(moved.astype(np.float64) - still.astype(np.float64)))
    return result


def check(graph, configuration, native, folder, fault=None, levels=None):
    """A Report."""
    configuration = configure.fitted(configuration, graph)
    path, feeds, twin, grid = pieces(graph, configuration, native, folder)
    counted = {"configuration": configuration}
    start = time.monotonic()
    try:
        noisy = oracle.Noisy(graph, configuration, grid)
        base = noisy.run(twin)
        spreads = spreads_of(noisy, twin, base, NOISES)
    except oracle.Refused as refusal:
        # It does not take what the generator means for it to take: a fault of the generator, or of its own.
        return Report(kind="without ORT", text=str(refusal), **counted)
    counted["ort_s"] = time.monotonic() - start
    start = time.monotonic()
    try:
        truth = oracle.truth(native, path, feeds, graph.work, folder)
    except native.Failure as failure:
        return _failed(failure, "the reference: ", counted)
    counted["truth_s"] = time.monotonic() - start
    own = oracle.unit(configuration)
    # ONNX Runtime has the numbers of an f64 model in f32, and so its noise, unless there is f32 in the model itself.
    is_double = configuration["float"] == "f64" and all(graph.values[o].kind != "wide" for n in graph.nodes for o in n.outputs if o)
    scale = oracle.UNITS["f64"] / oracle.UNITS["f32"] if is_double else 1.0

    def limits_of(spreads, scale=scale, own=own):
        return [
            judge.Limits(t, [s * scale for s in spread], max(own, _output_unit(graph, configuration, i)), oracle.floor(configuration))
            for i, (t, spread) in enumerate(zip(truth, spreads))
        ]

    overflow = _overflow(graph, configuration, base, truth)
    if overflow:
        return Report(kind="unfit", text=overflow, **counted)
    meaning = _disagreement(graph, configuration, grid, twin, noisy, base, truth, spreads, limits_of)
    if meaning and meaning[0]:
        return Report(kind="meaning", text=meaning[0].text, output=meaning[0].output, ratio=meaning[0].ratio, **counted)
    counted["ort_deviates"] = bool(meaning)
    start = time.monotonic()
    artifact = os.path.join(folder, "model.kin")
    try:
        native.compile(_compiled(path, graph, configuration, grid, fault), artifact, json.dumps(configure.options(configuration)))
    except native.Failure as failure:
        return _failed(failure, "", counted)
    counted["compile_s"] = time.monotonic() - start
    limits = limits_of(spreads)
    nearest = 0.0
    for run, loaded in _codes(native, configuration, artifact, levels):
        for threads in THREADS if run.startswith("v") else THREADS[:1]:
            try:
                results = _run(loaded, threads, feeds)
            except native.Failure as failure:
                return _failed(failure, f"{run}, {threads} threads: ", counted)
            results = faults.in_answers(fault, results)
            for place, (got, expected) in enumerate(zip(results, truth)):
                finding = judge.outside(got, expected, limits[place], place)
                if finding and np.isfinite(finding.ratio) and finding.ratio < 100 and noisy:
                    # So near to the limit that a better measure of noise decides.
                    more = spreads_of(noisy, twin, base, MORE_NOISES, NOISES)
                    limits = limits_of([a + b for a, b in zip(spreads, more)])
                    finding = judge.outside(got, expected, limits[place], place)
                if finding:
                    text = f"{run}, {threads} threads, output {place} ({graph.outputs[place]}): {finding.text}"
                    return Report(kind="mismatch", text=text, output=place, ratio=finding.ratio, run=run, threads=threads,
                                  **counted)
                nearest = max(nearest, judge.ratio_of(got, expected, limits[place]))
    return Report(kind="fine", text="", nearest=float(nearest), **counted)


def _compiled(path, graph, configuration, grid, fault):
    """The file that is compiled: the model, or one with a fault."""
    spoiled = faults.in_model(fault, graph)
    if spoiled is not graph:
        path = path.replace("model.onnx", "spoiled.onnx")
        onnx.save(spoiled.model(configuration["float"], grid), path)
    return path


def _output_unit(graph, configuration, place):
    kind = graph.values[graph.outputs[place]].kind
    return oracle.UNITS["f32"] if kind == "wide" else oracle.UNITS[configuration["float"]]


def _codes(native, configuration, artifact, levels):
    """(name, loaded) of each code that this machine runs."""
    if configuration["target"].startswith("cuda"):
        yield configuration["target"], native.Loaded(artifact, configuration["target"], "")
        return
    for level in levels or native.levels():
        yield level.removeprefix("x86-64-"), native.Loaded(artifact, "cpu", level)


def _run(loaded, threads, feeds):
    arrays = oracle.empty_outputs(loaded)
    inputs = [oracle.plain(feeds[name]) for name, _, _ in loaded.inputs()]
    return oracle.cut(arrays, loaded.run(threads, inputs, [oracle.plain(array) for array in arrays]))


def _failed(failure, where, counted):
    status, _, message = str(failure).partition(" ")
    if "--target cuda has no code yet" in message:
        return Report(kind="no GPU code", text=message, **counted)  # As documented, by the function's name.
    return Report(kind=STATUS.get(int(status), "internal"), text=where + message, **counted)


def _overflow(graph, configuration, base, truth):
    """Why a type of 16 bits can't hold the model: then nobody's answer is right."""
    if configuration["float"] != "f16" and configuration["precision"] != "f16":
        return None
    for place, (still, right) in enumerate(zip(base, truth)):
        if still.dtype.kind == "f" and (np.isfinite(right) & ~np.isfinite(still)).any():
            return f"output {place} overflows f16"
        if still.dtype.kind == "f" and np.abs(np.where(np.isfinite(right), right, 0)).max(initial=0) > 6e4:
            return f"output {place} overflows f16"
    return None


def _disagreement(graph, configuration, grid, twin, noisy, base, truth, spreads, limits_of):
    """Nothing where ONNX Runtime agrees with the truth, (None, finding) where it alone stands apart, and (finding, ...)
    where ONNX's evaluator is on its side or knows nothing."""
    for attempt in range(2):
        limits = limits_of(spreads, 1.0, oracle.UNITS["f32"] if configuration["float"] == "f64" else oracle.unit(configuration))
        findings = [judge.outside(s, t, l, i, "meaning", 2.0) for i, (s, t, l) in enumerate(zip(base, truth, limits))]
        findings = [f for f in findings if f]
        if not findings:
            return None
        if attempt == 0:
            more = spreads_of(noisy, twin, base, MORE_NOISES, NOISES)
            spreads = [a + b for a, b in zip(spreads, more)]
    if oracle.saturates(graph):
        return None, findings[0]
    third = oracle.third_opinion(graph, configuration, grid, twin)
    if third is not None:
        against = [judge.outside(np.asarray(s), t, l, i, "meaning", 4.0) for i, (s, t, l) in enumerate(zip(third, truth, limits))]
        if not any(against):
            return None, findings[0]
    return findings[0], None
