"""What a session has run of an artifact that serves ranges of sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class RangeReport(dict[str, Any]):
    """`ranges`: the least and the greatest size of each open dimension, by name; `runs`: of those sizes that were met, which
    are all that is kept for each, `sizes` by name and how many `runs` there were, in order. Where the session compiled the
    model, also the `seconds` that it took to have the artifact ready and whether it was `cached`. As text,
    `str(report)`."""

    @classmethod
    def of(
        cls,
        ranges: Mapping[str, tuple[int, int]],
        runs: Mapping[tuple[int, ...], int],
        made: tuple[float, bool] | None,
    ) -> RangeReport:
        """`runs`: by sizes, in the order of `ranges`; `made`: seconds, and whether the artifact was there already; None for
        a file that was one."""
        how = {} if made is None else {"seconds": made[0], "cached": made[1]}
        return cls(
            ranges={name: list(bounds) for name, bounds in ranges.items()},
            runs=[{"sizes": dict(zip(ranges, sizes)), "runs": number} for sizes, number in sorted(runs.items())],
            **how,
        )

    def __str__(self) -> str:
        ranges = ", ".join(f"{name} = {low} to {high}" for name, (low, high) in self["ranges"].items())
        lines = [f"one artifact for {ranges}"]
        if "seconds" in self:
            made = "from the cache" if self["cached"] else "compiled"
            lines[0] += f", {made} in {self['seconds']:.2f} s"
        for each in self["runs"]:
            sizes = ", ".join(f"{name} = {size}" for name, size in each["sizes"].items())
            lines.append(f"{sizes}: {each['runs']} runs")
        return "\n".join(lines)
