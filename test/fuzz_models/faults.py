"""Faults that are planted, to see that they are found: in answers, in the model that is compiled, in the process."""

import os
import time

import numpy as np


def _one_percent_of_a_channel(array):
    axis = 1 if array.ndim >= 3 else array.ndim - 1
    moved = np.moveaxis(array, axis, 0)
    largest = np.abs(moved.reshape(moved.shape[0], -1)).max(axis=1).argmax()
    moved[largest] = moved[largest] * array.dtype.type(1.01)


def _dropped_column(array):
    column = np.abs(array.reshape(-1, array.shape[-1])).max(axis=0).argmax()
    array[..., column] = 0


def _exchanged_slices(array):
    axis = int(np.argmax(array.shape))
    moved = np.moveaxis(array, axis, 0)
    moved[[0, -1]] = moved[[-1, 0]]


def _half_precision(array):
    array[...] = array.astype(np.float16).astype(array.dtype)


def _not_a_number(array):
    array.reshape(-1)[-1] = np.nan


def _abort(array):
    os.abort()


def _endless(array):
    time.sleep(3600)


def _mask_row(graph):
    """The last row of a constant mask sees what the first sees."""
    for source in graph.constants.values():
        if any(word in source.recipe for word in ("causal(", "sliding(", "banded(", "blocked(")):
            source.recipe = f"with_row_exchanged({source.recipe})"
            return True
    return False


def _weight_column(graph):
    """The last column of a weight is zero."""
    for source in graph.constants.values():
        if source.kind == "float" and len(source.shape) == 2 and source.recipe.startswith("uniform"):
            source.recipe = f"without_column({source.recipe})"
            return True
    return False


IN_ANSWERS = {
    "one-percent": _one_percent_of_a_channel,
    "dropped-column": _dropped_column,
    "exchanged-slices": _exchanged_slices,
    "half-precision": _half_precision,
    "nan": _not_a_number,
    "abort": _abort,
    "endless": _endless,
}
IN_MODELS = {"mask-row": _mask_row, "weight-column": _weight_column}
FAULTS = [*IN_ANSWERS, *IN_MODELS]


def in_model(name, graph):
    """The model that is compiled instead of the right one, or the same where the fault has no place in it."""
    spoiled = graph.copy() if name in IN_MODELS else graph
    return spoiled if spoiled is graph or IN_MODELS[name](spoiled) else graph


def in_answers(name, results):
    """The results, with a fault in the first of them that it changes."""
    if name not in IN_ANSWERS:
        return results
    for place, result in enumerate(results):
        if result.dtype.kind in "iub" or result.size < 2 or not result.ndim:
            continue
        wide = result.astype(np.float64)
        if np.isfinite(wide).all() and np.ptp(wide) > 1e-3:
            changed = [r.copy() for r in results]
            IN_ANSWERS[name](changed[place])
            return changed
    return results
