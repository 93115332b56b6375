"""What `torch.compile(model, backend="kintsugi", options={...})` may say."""

from .. import SessionOptions, UsageError

# Options of sessions that make sense where graphs are torch's: the others name inputs, or say where tensors are.
OF_SESSIONS = (
    "threads",
    "cache",
    "disable",
    "max_error",
    "max_memory",
    "plan",
    "precision",
    "progress",
    "timeout",
    "tune",
)
SIZES = 16  # For how many sizes of its inputs a graph is kept compiled.
CHANGES = 1  # How often a weight may change before it is an input.


class Options:
    """`session`: keywords of InferenceSession; `sizes`: for how many sizes a graph with symbolic ones is kept compiled;
    `strict`: whether what would run in torch is an error instead."""

    def __init__(self, given):
        given = dict(given or {})
        known = (*OF_SESSIONS, "sizes", "strict")
        if unknown := [name for name in given if name not in known]:
            raise UsageError(f"the backend has no option '{unknown[0]}'; its options: {', '.join(known)}")
        self.sizes = given.pop("sizes", SIZES)
        if not isinstance(self.sizes, int) or self.sizes < 1:
            raise UsageError(f"sizes is {self.sizes!r}; it takes a number, at least 1")
        self.strict = bool(given.pop("strict", False))
        usual = SessionOptions()
        self.session = {name: value for name, value in given.items() if value != getattr(usual, name, None)}
