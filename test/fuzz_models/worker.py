"""A process that checks models, one after the other: a line of JSON in, a line of JSON out.

Whatever the compiler does to a process, it does to this one; the runner starts another then. usage: worker.py MODULES
"""

import collections
import json
import os
import pathlib
import resource
import sys
import tempfile
import time


def main():
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # What libraries print is no answer.
    sys.path.insert(0, sys.argv[1])
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    import kintsugi_fuzz as native

    from fuzz_models import check, graph

    with tempfile.TemporaryDirectory(prefix="kintsugi-fuzz-") as folder:
        counts = pathlib.Path(folder) / "counts"
        if "KINTSUGI_EMULATOR" in os.environ:
            os.environ["KINTSUGI_EMULATOR"] += f",counts={counts}"
        about = {"levels": native.levels(), "operators": native.operators(), "rules": json.loads(native.rules())}
        print(json.dumps({"ready": True, **about}), file=out)
        for line in sys.stdin:
            job = json.loads(line)
            start, used = time.monotonic(), _used()
            model = graph.Graph.from_json(job["graph"])
            try:
                report = check.check(model, job["configuration"], native, folder, job.get("fault"), job.get("levels"))
            except MemoryError:
                report = {"kind": "machine", "text": "the check itself ran out of memory"}
            report["wall_s"], report["cpu_s"] = time.monotonic() - start, _used() - used
            report["instructions"] = _executed(counts)
            print(json.dumps(report), file=out)


def _executed(path):
    """How many warps executed each instruction of an emulated GPU since this was asked last."""
    if not path.exists():
        return {}
    counts = collections.Counter()
    for line in path.read_text().splitlines():
        counts.update(json.loads(line)["counts"])
    path.unlink()
    return counts


def _used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
