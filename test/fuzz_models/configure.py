"""How a model is compiled and run: drawn from the seed, said in one line, taken away piece by piece by the reducer."""

import random

PLANS = ["search", "greedy", "separate"]
PLAIN = {
    "float": "f32",
    "precision": "f32",
    "max_error": None,
    "plan": "search",
    "disable": [],
    "target": "cpu",
    "compile_threads": 1,
}
MAX_ERRORS = [None, None, 0.01, 0.0005]  # The least keeps nearly all in f32.


def switches_of(rules, target="cpu"):
    """Those of the compiler's list that change anything on a target."""
    return [rule["name"] for rule in rules if target.split(":")[0] in rule["targets"]]


def configuration_of(seed, target, switches):
    chance = random.Random(f"configuration {seed}")
    # A GPU has functions in f64 for few models.
    float_type = chance.choices(["f32", "f64", "f16", "bf16"], [14, 0.3 if target.startswith("cuda") else 2, 3, 2])[0]
    precision = "f32"
    if float_type == "f32":
        # A GPU's matrix units multiply 16 bits.
        precision = chance.choices(["f32", "f16", "bf16"], [4, 4, 2] if target.startswith("cuda") else [12, 2, 1])[0]
    count = chance.choices([0, 1, 2, 4], [6, 5, 3, 1])[0]
    drawn = {
        "float": float_type,
        "precision": precision,
        "plan": chance.choices(PLANS, [6, 2, 2])[0],
        "disable": sorted(chance.sample(switches, count)),
        "target": target,
        "compile_threads": chance.choice([1, 2]),
    }
    return drawn | {"max_error": chance.choice(MAX_ERRORS) if precision != "f32" else None}


def fitted(configuration, graph):
    """What a model can't have: a window's fast forms spread infinities and NaNs, as documented."""
    changed = dict(configuration)
    if graph.special and any(node.op == "Conv" for node in graph.nodes):
        changed["disable"] = sorted({*changed["disable"], "winograd"})
    if graph.opset < 13 and changed["float"] == "bf16":
        changed["float"] = "f32"
    return changed


def options(configuration):
    """For the compiler."""
    chosen = {"target": configuration["target"].split(":")[0], "threads": configuration["compile_threads"], "cache": False}
    if configuration["precision"] != "f32":
        chosen["precision"] = configuration["precision"]
        if configuration["max_error"]:
            chosen["max_error"] = configuration["max_error"]
    if configuration["plan"] != "search":
        chosen["plan"] = configuration["plan"]
    if configuration["disable"]:
        chosen["disable"] = ",".join(configuration["disable"])
    return chosen


def flags(configuration):
    """The same for the command line."""
    line = f"--threads {configuration['compile_threads']}"
    for key in ("target", "precision", "plan"):
        if configuration[key] != PLAIN[key]:
            line += f" --{key} {configuration[key]}"
    if configuration["precision"] != "f32" and configuration["max_error"]:
        line += f" --max-error {configuration['max_error']}"
    if configuration["disable"]:
        line += f" --disable {','.join(configuration['disable'])}"
    return line


def simpler(configuration):
    """Configurations with one thing less, the greatest steps first."""
    if configuration["disable"]:
        yield {**configuration, "disable": []}
    for key in ("plan", "max_error", "precision", "float", "compile_threads"):
        if configuration[key] != PLAIN[key]:
            yield {**configuration, key: PLAIN[key]}
    if len(configuration["disable"]) > 1:
        for switch in configuration["disable"]:
            yield {**configuration, "disable": [s for s in configuration["disable"] if s != switch]}
