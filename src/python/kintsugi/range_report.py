"""What a session has run of an artifact that serves a range of sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class RangeReport(dict[str, Any]):
    """`dimension`: the one that is open, `sizes`: the least and the greatest that it may have; `runs`: how many there were,
    by size, of those sizes that were met, which are all that is kept for each. Where the session compiled the model, also
    the `seconds` that it took to have the artifact ready and whether it was `cached`. As text, `str(report)`."""

    @classmethod
    def of(
        cls, dimension: str, low: int, high: int, runs: Mapping[int, int], made: tuple[float, bool] | None
    ) -> RangeReport:
        """`made`: seconds, and whether the artifact was there already; None for a file that was one."""
        how = {} if made is None else {"seconds": made[0], "cached": made[1]}
        return cls(dimension=dimension, sizes=[low, high], runs=dict(sorted(runs.items())), **how)

    def __str__(self) -> str:
        low, high = self["sizes"]
        lines = [f"one artifact for {self['dimension']} = {low} to {high}"]
        if "seconds" in self:
            made = "from the cache" if self["cached"] else "compiled"
            lines[0] += f", {made} in {self['seconds']:.2f} s"
        return "\n".join(lines + [f"{self['dimension']} = {size}: {runs} runs" for size, runs in self["runs"].items()])
