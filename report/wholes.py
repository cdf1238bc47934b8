"""Whole solves of strategies at one place: the solve as users get it, and what comes before it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from report import figures, set_ups
from report.model import Point


@dataclasses.dataclass(frozen=True)
class Whole:
    solve: Point   # with CUDA graphs where all strategies have it: the default of `solve` on GPUs
    before: float  # seconds of set-ups: mesh and strategy, timed once, and preconditioner

    @property
    def total(self) -> float:
        return self.before + self.solve.time.value


def wholes(some: Sequence[Point]) -> dict[str, Whole]:
    """By strategy, the fastest first."""
    strategies = figures.ranked(p for p in some if p.operation == "solve")
    graphs = all(figures.one(some, strategy=s, operation="solve_graph") for s in strategies)
    found = {}
    for s in strategies:
        solve = figures.one(some, strategy=s, operation="solve_graph" if graphs else "solve")
        found[s] = Whole(solve, sum(set_ups.of_solve(some, s)))
    return found
