"""Which nodes of a graph run together, where some have to run elsewhere.

A graph is given as `producers`: for each node, in an order of execution, the numbers of the nodes whose outputs it reads.
Some nodes can be `ours`, the rest is the other runner's. A part is nodes of one runner, and parts run one after another.
"""

# What one more run of a part takes: its call from Python, and where it is long enough for that, threads that have to wake.
RUN_SECONDS, WAKE_SECONDS = 5e-6, 10e-6
# What a part of ours saves: so much of its time, as a rule more, but products alone are as quick over there; and what ONNX Runtime
# takes to begin each node.
SHARE, NODE_SECONDS = 0.1, 0.2e-6


def group(producers, ours):
    """The parts, each (is ours, numbers of nodes), in the order in which they run, as few as levels give.

    A node's level is that of the nodes it reads, or one more where any of these is of the other runner; even levels are
    the other's. Nodes of a level are a part. As levels never fall along an edge, and rise where the runner changes, no part
    waits for one that waits for it."""
    levels = []
    for node, before in enumerate(producers):
        found = [levels[other] + ((node in ours) != (other in ours)) for other in before]
        levels.append(max(found, default=int(node in ours)))
    # Of the later parts each has a node that reads the one before. The first may run with the third where there is none.
    is_read = any(levels[node] == 1 and any(levels[other] == 0 for other in producers[node]) for node in range(len(levels)))
    if 2 in levels and not is_read:
        levels = [2 if level == 0 else level for level in levels]
    parts = {}
    for node, level in enumerate(levels):
        parts.setdefault(level, []).append(node)
    return [(level % 2 == 1, parts[level]) for level in sorted(parts)]


def give_away(producers, ours, seconds, composite=frozenset()):
    """Which of `ours` are worth no part: {node: reason}. `seconds` has for each node the least time that it takes;
    `composite` are those that hold other nodes.

    What is ours is to be quicker by joining operators, so one between the other's operators is worth nothing, and where
    those next to it could be joined with it over there, it costs. Of the rest, a part has to be long beside what it takes to
    run one part more, or two where it stands between two of the other's that would be one without it."""
    given = {}
    if len(ours) == len(producers):
        return given
    for component in _components(producers, ours):
        if len(component) == 1 and component[0] not in composite:
            given[component[0]] = "it is alone among operators that ONNX Runtime runs, with nothing to be joined with"
    while True:
        kept = ours - given.keys()
        parts = group(producers, kept)
        candidates = [nodes for is_ours, nodes in parts if is_ours]
        candidates.sort(key=lambda nodes: sum(seconds[node] for node in nodes))
        for nodes in candidates:
            fewer = len(parts) - len(group(producers, kept - set(nodes)))
            least = sum(seconds[node] for node in nodes)
            costs = fewer * (RUN_SECONDS + min(WAKE_SECONDS, least))
            if SHARE * least + NODE_SECONDS * len(nodes) < costs:
                reason = (
                    f"its part would have {len(nodes)} nodes that take {least * 1e6:.2g} us at the least, which is little "
                    f"beside the {costs * 1e6:.0f} us that {fewer} more run{'s' if fewer > 1 else ''} of parts take"
                )
                given |= dict.fromkeys(nodes, reason)
                break
        else:
            return given


def _components(producers, ours):
    """Nodes of `ours` that edges between them connect."""
    root = {node: node for node in ours}

    def find(node):
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for node in ours:
        for other in producers[node]:
            if other in ours:
                root[find(other)] = find(node)
    components = {}
    for node in sorted(ours):
        components.setdefault(find(node), []).append(node)
    return list(components.values())
