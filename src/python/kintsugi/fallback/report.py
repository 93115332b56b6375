"""What ran where, and why."""

from collections import Counter

from .model import OWN_DOMAINS

_NAMED = 3  # Nodes of one reason, in the text.
RUNNERS = {True: "kintsugi", False: "onnxruntime"}


class Report(dict):
    """`parts`: in the order in which they run, each with `runner` ("kintsugi" or "onnxruntime"), `nodes` (names; of one
    without a name, that of its first output), `operators` (how many of each), `inputs` and `outputs`; `not_taken`: of each
    node that Kintsugi does not run, `node`, `operator` and `reason`; `folded`: names of constants that ONNX Runtime computed
    when the session was made; `open_dimensions`: names of those of inputs that have no size, which keeps what depends on
    them from Kintsugi. As text, `str(report)`."""

    def __str__(self):
        lines = [f"{len(self['parts'])} part{'' if len(self['parts']) == 1 else 's'}"]
        for number, part in enumerate(self["parts"], 1):
            operators = ", ".join(f"{count} {name}" for name, count in part["operators"].items())
            lines.append(f"{number}. {part['runner']}: {len(part['nodes'])} nodes ({operators or 'none'})")
            lines.append(f"   {', '.join(part['inputs']) or 'nothing'} -> {', '.join(part['outputs'])}")
        if self["not_taken"]:
            lines.append("not taken by kintsugi:")
        by_reason = {}
        for each in self["not_taken"]:
            by_reason.setdefault(each["reason"], []).append(f"'{each['node']}' ({each['operator']})")
        for reason, nodes in by_reason.items():
            more = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
            lines.append(f"  node{'s' if nodes[1:] else ''} {', '.join(nodes[:_NAMED])}{more}: {reason}")
        if self["open_dimensions"]:
            lines.append(f"open dimensions, which dims={{NAME: N}} gives a size: {', '.join(self['open_dimensions'])}")
        if self["folded"]:
            lines.append(f"computed when the session was made: {', '.join(self['folded'])}")
        return "\n".join(lines)


def report_of(model, parts, reasons):
    """`parts`: of part.py; `reasons`: by the numbers of nodes."""
    return Report(
        parts=[
            {
                "runner": RUNNERS[part.is_ours],
                "nodes": [name_of(model.nodes[number]) for number in part.nodes],
                "operators": dict(Counter(operator_of(model.nodes[number]) for number in part.nodes).most_common()),
                "inputs": part.inputs,
                "outputs": part.outputs,
            }
            for part in parts
        ],
        not_taken=[
            {"node": name_of(model.nodes[number]), "operator": operator_of(model.nodes[number]), "reason": reason}
            for number, reason in sorted(reasons.items())
        ],
        folded=list(model.folded),
        open_dimensions=model.open_dimensions,
    )


def name_of(node):
    return node.name or next(iter(filter(None, node.output)), "")


def operator_of(node):
    return f"{node.domain}.{node.op_type}" if node.domain not in OWN_DOMAINS else node.op_type
