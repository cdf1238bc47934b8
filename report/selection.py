"""Which run speaks at a place (an operation on a mesh of an element, on a card, under one condition) where several have
measured it: one rule for all tables, figures, documents and claims, so that they show the same number at the same place.

    1. the run that has most of the main strategies: a comparison that lacks one of them may crown the wrong one
    2. of these the one with most strategies of those that this repository has words for: a look at a new one does not
       stand before what was measured well
    3. then the one with three processes, or most below that, of those by which the strategy with the fewest is shown
       (model.shown); element_only and hybrid do not count
    4. then the newest one, by when it began: its sources are the nearest to today's. What today's are decides nothing, so
       that numbers stay as they are while work on kernels goes on

No ratio is formed across runs. What the run that speaks has not measured may be told of another one, beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from report.rows import LEAST_PROCESSES
from report.words import CHOOSES, MAIN, NOT_A_STRATEGY, STRATEGY

if TYPE_CHECKING:
    from report.model import Point, Run

Rank = tuple[int, int, int]


def rank(processes: Mapping[str, int]) -> Rank:
    """Of what one run has at a place, processes by strategy, the more the better; of equals the newest run speaks."""
    there = set(processes).difference(NOT_A_STRATEGY + CHOOSES)
    least = min(processes[name] for name in there or processes)
    return len(there.intersection(MAIN)), len(there.intersection(STRATEGY)), min(least, LEAST_PROCESSES)


def by_run(points: Iterable[Point]) -> list[list[Point]]:
    """Points of one place, those of each run together: the run that speaks first."""
    of: dict[Run, list[Point]] = {}
    for p in points:
        of.setdefault(p.run, []).append(p)
    return sorted(of.values(), key=lambda some: (
        rank({p.strategy: p.time.processes for p in some}), some[0].run.began), reverse=True)


def by_strategy(points: Iterable[Point]) -> dict[str, Point]:
    """Points of one place by strategy: each of the first run that has it. To show side by side, not to form ratios."""
    found: dict[str, Point] = {}
    for some in by_run(points):
        for p in some:
            found.setdefault(p.strategy, p)
    return found


def speaking(points: Iterable[Point]) -> list[Point]:
    """Those of the run that speaks at their place; none of none."""
    return next(iter(by_run(points)), [])
