"""Which graphs of torch.compile ran where, and why."""

import threading
from collections import Counter, deque

_KEPT = 1000  # Graphs.
_entries, _lock = deque(maxlen=_KEPT), threading.Lock()


class Entry:
    """What is known of one graph so far. `reason`: why all of it runs in torch, if it does; `refused`: (operator, reason) of
    each node that torch runs; `nodes`: how many operators there are; `parts`: how many compiled parts; `sizes`: for how many
    sizes one was compiled; `notes`: what compiling had to say."""

    def __init__(self, nodes):
        self.nodes, self.reason, self.refused = nodes, None, []
        self.parts, self.sizes, self.notes = 0, 0, []
        with _lock:
            _entries.append(self)

    def as_dict(self):
        counts = Counter(self.refused)
        return {
            "runner": self.runner(),
            "operators": self.nodes,
            "parts": self.parts,
            "sizes": self.sizes,
            "reason": self.reason,
            "in_torch": [
                {"operator": operator, "count": count, "reason": reason}
                for (operator, reason), count in counts.most_common()
            ],
            "notes": list(dict.fromkeys(self.notes)),
        }

    def runner(self):
        """None of a graph that has not run: torch makes some and uses others."""
        if self.reason is None and self.parts > 0:
            return "kintsugi and torch" if self.refused else "kintsugi"
        return "torch" if self.reason or self.refused else None


class Report(dict):
    """`graphs`: the last thousand that torch.compile gave to the backend and that ran, in their order, each with `runner` ("kintsugi",
    "torch" or "kintsugi and torch"), `operators` (how many it has), `parts` (how many compiled parts they became), `sizes`
    (for how many sizes of inputs parts were compiled), `reason` (why all of it runs in torch, or None), `in_torch` (of
    operators that torch runs, `operator`, `count` and `reason`) and `notes`. As text, `str(report)`."""

    def __str__(self):
        lines = []
        for number, graph in enumerate(self["graphs"], 1):
            parts = f", {graph['parts']} parts" if graph["parts"] > 1 else ""
            lines.append(f"{number}. {graph['runner']}: {graph['operators']} operators{parts}")
            if graph["reason"]:
                lines.append(f"   {graph['reason']}")
            lines += [f"   {each['count']} {each['operator']}: {each['reason']}" for each in graph["in_torch"]]
        return "\n".join(lines) or "no graph of torch.compile has run"


def report(clear=False):
    """Of the graphs so far, a Report; with `clear`, later reports begin anew."""
    with _lock:
        found = Report(graphs=[entry.as_dict() for entry in _entries if entry.runner()])
        if clear:
            _entries.clear()
    return found
