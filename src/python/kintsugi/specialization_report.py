"""What a session with open dimensions has compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .specialization import Specialization


class SpecializationReport(dict[str, Any]):
    """`specializations`: those that are kept, the one that ran last at the end, each with `sizes` of open dimensions and
    `values` of inputs that were known when compiling, both by name, `runs`, `seconds` that it took to have it ready,
    whether its artifact was `cached`, and of a session with a fallback in the place of that `report`, what ran where and
    why; `evictions`: how many were let go of; `max_specializations`: how many are kept; `reason`: why there is not one
    artifact for the range of sizes that `dims` gives, None where it gives none. As text, `str(report)`."""

    @classmethod
    def of(
        cls, kept: Sequence[Specialization], evictions: int, limit: int, reason: str | None
    ) -> SpecializationReport:
        return cls(
            specializations=[
                {
                    "sizes": dict(one.sizes),
                    "values": {name: value.tolist() for name, value in one.values.items()},
                    "runs": one.runs,
                    "seconds": one.seconds,
                    **({"report": one.program.report()} if one.was_there is None else {"cached": one.was_there}),
                }
                for one in kept
            ],
            evictions=evictions,
            max_specializations=limit,
            reason=reason,
        )

    def __str__(self) -> str:
        kept = self["specializations"]
        lines = [f"{len(kept)} of at most {self['max_specializations']} specializations, {self['evictions']} evicted"]
        if self["reason"] is not None:
            lines.append(f"compiled for each size: {self['reason']}")
        for one in kept:
            known = {**one["sizes"], **one["values"]}
            named = ", ".join(f"{name} = {value}" for name, value in known.items()) or "as the model says"
            made = "from the cache" if one.get("cached") else "compiled"
            lines.append(f"{named}: {one['runs']} runs, {made} in {one['seconds']:.2f} s")
            lines += [f"  {line}" for line in str(one.get("report", "")).splitlines()]
        return "\n".join(lines)
