"""Whole solves: those that compare strategies, what comes before them, and the phases that their time consists of."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence

from report import set_ups
from report.cases import STUDIED, kind_of_mesh
from report.model import Card, Model, Point, counted
from report.places import one, ranked, the
from report.rows import USUAL_SOLVE
from report.selection import speaking

# Parts of a solve; the first three depend on the strategy, the others are alike for all.
PARTS = ("material and residual", "tangent products", "preconditioner: products of the strategy",
         "preconditioner: the rest", "Krylov vectors", "sums, ghosts, waiting, other")
OWN = PARTS[:3]


@dataclasses.dataclass(frozen=True)
class Phase:
    """Of a row of solves.csv."""

    words: str  # at the head of a column
    part: str


PHASES = {
    "material": Phase("`material`", PARTS[0]),
    "residual": Phase("`residual`", PARTS[0]),
    "jacvec": Phase("`jacvec`", PARTS[1]),
    "precondition_product": Phase("products of the preconditioner", PARTS[2]),
    "precondition": Phase("preconditioner", PARTS[3]),
    "precondition_transfer": Phase("its transfers", PARTS[3]),
    "precondition_coarse": Phase("its coarser levels", PARTS[3]),
    "precondition_level1": Phase("its level 1", PARTS[3]),
    **{f"precondition_level{i}": Phase(f"level {i}", PARTS[3]) for i in range(2, 7)},
    "orthogonalization": Phase("Krylov vectors", PARTS[4]),
    "reduction": Phase("sums over ranks", PARTS[5]),
    "exchange": Phase("exchange", PARTS[5]),
    "host": Phase("host", PARTS[5]),
    "other": Phase("other", PARTS[5]),
}

def is_usual(p: Point) -> bool:
    """A solve with tangents and without acceleration."""
    return all(p.row[name] == value for name, value in USUAL_SOLVE.items())


SolvePlace = tuple  # card, case, element, krylov, precondition, degrees of freedom


@functools.cache
def solves_of(model: Model, least: int = 0) -> dict[SolvePlace, list[Point]]:
    """Points of whole solves on one rank, of each card, element, kind of mesh and load: of the place where the run that
    speaks has most strategies, and among those with most degrees of freedom, with multigrid rather than without. least:
    strategies; 0: three where there are several runs."""
    least = least or (3 if len(model.runs) > 1 else 1)
    at: dict[SolvePlace, list[Point]] = {}
    for p in model.of("solves.csv"):
        if p.ranks == 1 and not p.strategy.startswith("petsc") and p.row["precision"] == "double" and is_usual(p) \
                and not STUDIED.fullmatch(p.case):
            at.setdefault((p.card, p.case, p.element, p.krylov, p.precondition, p.n_dof), []).append(p)

    def rank(entry: tuple[SolvePlace, list[Point]]) -> tuple[int, int, bool]:
        place, some = entry
        return len({p.strategy for p in some if p.operation == "solve"}), place[5], place[4] == "multigrid"

    best: dict[tuple[Card, str, str, str], tuple[SolvePlace, list[Point]]] = {}
    for place, points in at.items():
        entry = place, speaking(points)
        card, case, element = place[:3]
        key = (card, element, kind_of_mesh(case), case.rpartition("-")[2])
        if rank(entry)[0] >= least and (key not in best or rank(entry) > rank(best[key])):
            best[key] = entry
    return dict(best.values())


@dataclasses.dataclass(frozen=True)
class Whole:
    solve: Point   # with CUDA graphs where all strategies have it: the default of `solve` on GPUs
    before: set_ups.Before

    @property
    def total(self) -> float:
        """Seconds, with set-ups."""
        return self.before.total + self.solve.time.value

    @property
    def ends(self) -> tuple[float, float]:
        """Between which the total counts."""
        later = self.before.preconditioner
        return self.before.low + later + self.solve.time.low, self.before.high + later + self.solve.time.high


def least_in_solve(at: Mapping[str, Whole]) -> list[str]:
    """The strategy whose solve takes least, set-ups left out, and those that are not told from it."""
    first = min(at, key=lambda s: at[s].solve.time.value)
    return [first, *(s for s, w in at.items() if s != first and counted(w.solve, at[first].solve).low <= 1)]


def least_in_all(at: Mapping[str, Whole]) -> list[str]:
    """The strategy that takes least with set-ups, and those that are not told from it."""
    first = min(at, key=lambda s: at[s].total)
    return [first, *(s for s, w in at.items() if s != first and w.ends[0] <= at[first].ends[1])]


def over_in_all(other: Whole, own: Whole) -> tuple[float, float, float]:
    """How many times as long another one takes in all, and between which ends that counts."""
    return other.total / own.total, other.ends[0] / own.ends[1], other.ends[1] / own.ends[0]


def wholes(some: Sequence[Point]) -> dict[str, Whole]:
    """By strategy, the fastest first."""
    strategies = ranked(p for p in some if p.operation == "solve")
    graphs = all(one(some, strategy=s, operation="solve_graph") for s in strategies)
    found = {}
    for s in strategies:
        solve = the(some, strategy=s, operation="solve_graph" if graphs else "solve")
        found[s] = Whole(solve, set_ups.before_solve(some, s))
    return found
