"""One architecture of torch's: made, compiled by torch.compile's backends, its answers judged and its calls timed, in a process
of its own."""

import copy
import math
import statistics
import time

import numpy as np
from torch_trials import Ended, first_cause, verdict

import gpu
import places
import policy

ROUNDS = 3
# Of inductor, on each device: the default, and the mode that keeps a CUDA graph.
FORMS = {"cpu": {"inductor": None}, "cuda": {"inductor": None, "reduce-overhead": "reduce-overhead"}}


def _of_half(k):
    return policy.tolerance(np.float16, k) / 2  # That one is against another runtime's result, which is off as well.


# Of docs/precision.md: what an error may be by terms of sums, by so many times that of rounding, and then at most.
LIMITS = {
    "f32": (lambda k: min(6e-7 * k**0.25, 1e-3), 15, lambda k: policy.tolerance(np.float32, k) / 2),
    "f16": (_of_half, 1.5, lambda _: 0.1),
    "bf16": (lambda k: 8 * _of_half(k), 1.5, lambda _: 0.1),
}


def found(device, precision, seconds, batch, peers, family, name, overrides, place, folder, end, stage):
    """The row of a model."""
    import torch

    import kintsugi.torch_backend

    torch.set_num_threads(len(place.cores))
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    torch._inductor.config.compile_threads = len(place.cores)
    where = torch.device(device, place.gpu if device == "cuda" else None)
    stage("making")
    with verdict("not made"):
        module, inputs = _made(family, name, overrides, where, precision, batch)
    with torch.inference_mode():
        with verdict("not made"):
            exact, eager = _references(module, inputs)
        stage("compiling")
        with verdict("failed"):
            run = _compiled(module, inputs, backend="kintsugi")
            answers = run()
            report = kintsugi.torch_backend.report()
        row = _where(report)
        row |= _judged(answers, exact, _error(eager, exact), _terms(module), precision, row.pop("inside"))
        if row["verdict"] == "wrong" or not peers:
            return row
        stage("inductor")
        runs = {"kintsugi": run}
        for peer, mode in peers.items():
            try:
                runs[peer] = _compiled(module, inputs, mode=mode)
                runs[peer]()
            except Exception as problem:  # Whatever a compiler of torch's raises: the other forms compete all the same.
                del runs[peer]
                row.setdefault("peers", {})[peer] = first_cause(problem)
        stage("timing")
        return row | _times(runs, where, seconds)


def _made(family, name, overrides, where, precision, batch):
    """The module in the precision and its inputs, on the device."""
    import torch_architectures

    kind = gpu.torch_type(precision)
    module, inputs, _ = torch_architectures.made(family, name, overrides, batch)
    return module.to(where, kind), [each.to(where, kind if each.is_floating_point() else None) for each in inputs]


def _references(module, inputs):
    """What torch, eager, makes of them in f64 and in the module's precision."""

    def exactly(kind):
        return copy.deepcopy(module).to(kind)(*[each.to(kind) if each.is_floating_point() else each for each in inputs])

    import torch

    eager = module(*inputs)
    try:
        return exactly(torch.float64), eager
    except Exception:  # Some write float32 into their code.
        return exactly(torch.float32), eager


def _compiled(module, inputs, **how):
    import torch

    compiled = torch.compile(module, dynamic=False, **how)
    return lambda: compiled(*inputs)


def _terms(module):
    """Of sums along a path, at most: what each weight of several dimensions is summed over."""
    return max(1, sum(each.numel() // each.shape[0] for each in module.parameters() if each.dim() > 1))


def _error(found, exact):
    """The largest difference over outputs, relative to each one's magnitude; what is no float is equal or beyond all."""

    def of_one(one, other):
        if not one.is_floating_point():
            return 0.0 if one.equal(other) else math.inf
        return policy.difference(*(each.double().cpu().numpy() for each in (one, other)))

    return max(map(of_one, found, exact), default=0.0)


def _judged(answers, exact, rounding, terms, precision, inside):
    limit, times, most = LIMITS[precision]
    if rounding > most(terms):
        raise Ended("not made", f"rounding alone is an error of {rounding:.1e}, in torch's own run in {precision}")
    allowed = max(limit(terms), min(times * rounding, most(terms)))
    if [(each.shape, each.is_floating_point()) for each in answers] != [(each.shape, each.is_floating_point()) for each in exact]:
        raise Ended("wrong", "the outputs have other shapes or types")
    error = _error(answers, exact)
    return dict(verdict=inside if error <= allowed else "wrong", error=error, allowed=allowed, rounding=rounding)


def _where(report):
    """What became of the graphs, as it is told if the answers are right."""
    runners = [graph["runner"] for graph in report["graphs"]]
    row = dict(inside="right", runners={each: runners.count(each) for each in set(runners)})
    reasons = [graph["reason"] for graph in report["graphs"] if graph["reason"]]
    reasons += [f"{each['operator']}: {each['reason']}" for graph in report["graphs"] for each in graph["in_torch"]]
    if reasons:
        row |= dict(inside="torch" if {*runners} == {"torch"} else "in parts", reason=reasons[0])
    return row


def _times(runs, where, seconds):
    """Milliseconds of each, in turns, while nobody else uses the device."""
    gpu = where.index if where.type == "cuda" else "none"
    with places.alone_on(gpu):
        rounds = {name: [] for name in runs}
        for number in range(ROUNDS):
            for name in runs if number % 2 == 0 else reversed(runs):
                rounds[name].append(_median(runs[name], where, seconds))
    least = {name: min(times) for name, times in rounds.items()}
    theirs = [time for name, time in least.items() if name != "kintsugi"]
    return dict(milliseconds=least, rounds=rounds) | (dict(ratio=min(theirs) / least["kintsugi"]) if theirs else {})


def _median(run, where, seconds):
    import torch

    def finish():
        if where.type == "cuda":
            torch.cuda.synchronize(where)

    run()
    finish()
    times, end = [], time.monotonic() + seconds
    while not times or time.monotonic() < end:
        start = time.perf_counter()
        run()
        finish()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)
