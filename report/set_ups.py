"""What set-ups take, and after how many products one is repaid: one definition for all tables and figures."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping

from report.model import Model, Point, counted, widened
from report.places import find
from report.words import MATRIX

WITHOUT = ("element_atomic", "element_team", "element_warp")  # strategies without lists of their own
# Up to schema 10 a process timed the set-up of a whole solve once. Those of strategies without lists are alike, and in at
# most one of ten pairs of one run and mesh on a GPU they differed by more than this factor (tests/report/test_parts.py
# holds it against the rows). Between runs they differ by much more (document.limits).
APART = 1.4
ONCE = 10  # the last schema with set-ups of whole solves that were timed once
SEVERAL = 3  # times of one process from which on they tell themselves how far set-ups differ

Strategies = Mapping[str, Mapping[str, Point]]  # points of one run and mesh, by strategy and operation


def by_strategy(points: Iterable[Point]) -> dict[str, dict[str, Point]]:
    at: dict[str, dict[str, Point]] = {}
    for p in points:
        at.setdefault(p.strategy, {})[p.operation] = p
    return at


def of_run(model: Model, p: Point) -> Strategies:
    """Those of the run and on the mesh of a point: what its strategy's set-up may be compared with."""
    return by_strategy(q for q in model.kernels_of(p.run)
                       if q.plain and (q.card, q.element, q.case) == (p.card, p.element, p.case))


def fastest_without(at: Strategies, operation: str) -> str | None:
    """Of strategies without a set-up, beside which one that has a set-up must repay it."""
    there = [s for s in WITHOUT if operation in at.get(s, {})]
    return min(there, key=lambda s: at[s][operation].time.value) if there else None


def break_even(own: Mapping[str, Point], other: Mapping[str, Point], operation: str, set_ups: bool = True) -> int | None:
    """Products after which one strategy has taken no longer than another one, set-ups included or not; own, other: their points
    by operation, of one run and mesh. Where one of both is a matrix, each counts with one call of `material`, which
    assembles. 0: at once; None: never, or not known, as where their products are not told apart."""
    a, b = own.get(operation), other.get(operation)
    if not a or not b or a.strategy == b.strategy:
        return None
    own_set_up, other_set_up = (a.set_up, b.set_up) if set_ups else (0.0, 0.0)
    if own_set_up is None or other_set_up is None:
        return None
    if a.run != b.run:
        raise ValueError(f"{a.run.name} and {b.run.name}: no break-even across runs")
    more, saved = own_set_up - other_set_up, b.time.value - a.time.value
    if a.strategy in MATRIX or b.strategy in MATRIX:
        if "material" not in own or "material" not in other:
            return None
        more += own["material"].time.value - other["material"].time.value
    return max(math.ceil(more / saved), 0) if counted(b, a).low > 1 else None


@dataclasses.dataclass(frozen=True)
class Before:
    """Seconds before a whole solve: set-up of mesh and strategy, with the ends between which it counts, and that of the
    preconditioner; 0 where there is none."""

    own: float
    low: float
    high: float
    preconditioner: float

    @property
    def total(self) -> float:
        return self.own + self.preconditioner


def before_solve(points: Iterable[Point], strategy: str) -> Before:
    at = {p.operation: p for p in find(points, strategy=strategy)}
    solve, prepare, several = at.get("solve"), at.get("precondition_setup"), at.get("setup")
    own = (solve.set_up or 0.0) if solve else 0.0
    spread = math.sqrt(APART)
    low, high = own / spread, own * spread
    if several and several.time.samples >= SEVERAL:
        t = several.time
        own, (low, high) = t.value, widened(t.value, t.low, t.high, t.processes, on_host=several.backend == "host")
    return Before(own, low, high, prepare.time.value if prepare else 0.0)
