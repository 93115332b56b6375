"""Models that are written down: a page of JSON each, which is the test, and the files to look at it by hand."""

import json
import pathlib

import numpy as np
import onnx

FOLDER = pathlib.Path(__file__).resolve().parent / "regressions"


def finding(name, graph, configuration, answer, seed):
    return {
        "name": name,
        "failure": f"{answer['kind']}: {answer['text']}"[:500],
        "seed": seed,
        "configuration": configuration,
        "graph": graph.to_json(),
    }


def write(folder, found, graph):
    folder.mkdir(parents=True, exist_ok=True)
    configuration = found["configuration"]
    grid = configuration["precision"] != "f32"
    (folder / f"{found['name']}.json").write_text(text_of(found))
    onnx.save(graph.model(configuration["float"], grid), folder / f"{found['name']}.onnx")
    np.savez(folder / f"{found['name']}.npz", **graph.feeds(configuration["float"], grid))


def text_of(found):
    """JSON with a line for each source, node and value."""
    graph = found["graph"]
    lines = [f'  "{key}": {json.dumps(value)}' for key, value in found.items() if key != "graph"]
    parts = []
    for key, value in graph.items():
        if isinstance(value, dict):
            inner = ",\n".join(f"      {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
            parts.append(f'    "{key}": {{\n{inner}\n    }}' if value else f'    "{key}": {{}}')
        elif key == "nodes":
            inner = ",\n".join(f"      {json.dumps(v)}" for v in value)
            parts.append(f'    "{key}": [\n{inner}\n    ]')
        else:
            parts.append(f'    "{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join([*lines, '  "graph": {\n' + ",\n".join(parts) + "\n  }"]) + "\n}\n"


def all_paths():
    return sorted(FOLDER.glob("*.json"))
