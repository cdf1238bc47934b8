"""What solves on ever finer meshes tend to."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

SOLVER = 1e-8  # relative, of Krylov's method
SURE = 10      # times the uncertainty


@dataclasses.dataclass(frozen=True)
class Reference:
    value: float
    uncertainty: float  # relative

    def excess(self, work: float) -> float:
        """Relative, below 0 where it is less."""
        return work / self.value - 1

    def error(self, work: float) -> float:
        return abs(self.excess(work))

    @property
    def least(self) -> float:
        """Errors below are not told."""
        return max(SURE * self.uncertainty, SURE * SOLVER)


def extrapolated(works: Mapping[int, float]) -> float | None:
    """What three meshes tend to of which each is twice as fine as the one before; None where they do not converge."""
    finest = max(works, default=0)
    if finest % 4 or not {finest // 4, finest // 2} <= set(works):
        return None
    first, second, last = (works[n] for n in (finest // 4, finest // 2, finest))
    before, after = second - first, last - second
    if after == 0:
        return last
    return last + after / (before / after - 1) if before / after > 1 else None
