"""Shares of a machine, for measurements that go on side by side."""

import concurrent.futures
import contextlib
import fcntl
import os
import pathlib
import queue
import tempfile

import machine


class Place:
    """Where something is tried: `cores`, and the number of its GPU where there are any."""

    def __init__(self, cores, gpu):
        self.cores, self.gpu = cores, gpu

    def runner(self, threads=None):
        """The command that starts another one here, on so many of the cores."""
        there = [] if self.gpu is None else ["env", f"CUDA_VISIBLE_DEVICES={self.gpu}"]
        return ["taskset", "--cpu-list", ",".join(map(str, self.cores[:threads])), *there]


def places(jobs):
    """Equal shares of the machine. More jobs than cores share them all."""
    cores = sorted(os.sched_getaffinity(0))
    gpus = len(machine.said_by("nvidia-smi", "--list-gpus").splitlines())
    each = len(cores) // jobs
    shares = [cores[each * n : each * (n + 1)] or cores for n in range(jobs)]
    return [Place(share, n % gpus if gpus else None) for n, share in enumerate(shares)]


@contextlib.contextmanager
def alone_on(gpu):
    """Nobody else of these measurements uses the GPU of this number ("none": whatever all have in common) meanwhile."""
    with open(pathlib.Path(tempfile.gettempdir()) / f"kintsugi-bench-gpu-{gpu}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def rows(paths, measure, jobs):
    """As machine.rows, of so many models at a time, as they come: `measure` is given a path and a place."""
    free = queue.Queue()
    for place in places(jobs):
        free.put(place)

    def row(path):
        place = free.get()
        try:
            return next(machine.rows([path], lambda path: measure(path, place)))
        finally:
            free.put(place)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for future in concurrent.futures.as_completed([pool.submit(row, path) for path in paths]):
            yield future.result()
