"""Which element and which strategy reaches an error first: rows of tubes, beams and brackets (experiment `accuracy`).

The error is that of the work of the loads, f · u, relative: in elasticity the square of the relative error in the energy
norm. It is held against a reference: of the tube the solution in one dimension (report/tube.py); of the bracket what
meshes tend to that are finer than those of rows, of tetrahedra and of hexahedra (report/bracket.py); of the beam what the
finest meshes of both quadratic elements tend to (Richardson), where these agree. What is below ten times the uncertainty
of the reference, or the tolerance of the solver, is no error of a mesh and is left out.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from report import bracket
from report.cases import STUDIED
from report.model import Card, Model, Point, Run
from report.richardson import Reference, extrapolated
from report.selection import speaking
from report.text import count, seconds, table
from report.wholes import Whole, is_usual, wholes
from report.words import ELEMENT

TARGETS = (1e-2, 1e-3, 1e-4)
MATRIX = "assembled_bsr"  # the usual way of codes, beside the fastest one
ELEMENTS = ("tet4", "hex8", "tet10", "hex27")
WORDS = {("tube", "linear"): "tube, elastic", ("tube", "steps"): "tube, near limit load",
         ("beam", "linear"): "clamped beam, elastic", ("bracket", "linear"): "bracket, elastic"}
Problem = tuple[str, str]  # tube, beam or bracket, linear or steps


@dataclasses.dataclass(frozen=True)
class Solved:
    """A strategy's solve on one mesh."""

    steps: int  # between nodes, or refinements: the finer the more
    excess: float  # of the work, relative
    whole: Whole

    @property
    def total(self) -> float:
        """Seconds, with set-ups."""
        return self.whole.total

    @property
    def error(self) -> float:
        return abs(self.excess)

    @property
    def noisy(self) -> bool:
        return self.whole.solve.time.noisy

    @property
    def spread(self) -> float:
        """Factor within which the total counts."""
        low, high = self.whole.ends
        return max(self.total / low, high / self.total) if low > 0 else math.inf


def problem_of(case: str) -> Problem | None:
    match = STUDIED.fullmatch(case)
    return (match[1], match[3]) if match else None


def steps_of(case: str) -> int:
    match = STUDIED.fullmatch(case)
    assert match
    return int(match[2])


# --- references -----------------------------------------------------------------------------------------------


@functools.cache
def of_tube(load: str) -> Reference | None:
    try:
        from report import tube
    except ImportError:  # no NumPy
        return None
    problem = tube.read()
    return Reference(problem.lame(), 0.0) if load == "linear" else Reference(tube.work(problem), tube.ACCURACY)


def known(problem: Problem, element: str) -> Reference | None:
    """What no row decides; None where that is not known."""
    if problem[0] == "bracket":
        return bracket.reference(element) if problem[1] == "linear" else None
    return of_tube(problem[1]) if problem[0] == "tube" else None


def of_beam(points: Iterable[Point]) -> Reference | None:
    """points: of this problem, on any machine."""
    works: dict[str, dict[int, float]] = {}
    for p in points:
        works.setdefault(p.element, {})[steps_of(p.case)] = p.work
    one, other = (extrapolated(works.get(element, {})) for element in ("tet10", "hex27"))
    if one is None or other is None:
        return None
    value = (one + other) / 2
    return Reference(value, abs(one - other) / abs(value))


def references_of(problem: Problem, points: Iterable[Point]) -> dict[str, Reference]:
    """By element, those that are known. points: of this problem, on any machine."""
    beam = of_beam(points) if problem[0] == "beam" else None
    found = {element: beam or known(problem, element) for element in ELEMENTS}
    return {element: reference for element, reference in found.items() if reference}


# --- errors over time -----------------------------------------------------------------------------------------


def told(model: Model) -> list[Point]:
    """Points of the study with the usual settings."""
    return [p for p in model.of("solves.csv") if problem_of(p.case) and p.ranks == 1 and p.precondition == "multigrid"
            and p.row["precision"] == "double" and p.row["work"] is not None and is_usual(p)]


@dataclasses.dataclass(frozen=True)
class Study:
    """Of one problem on one card: the run that speaks."""

    card: Card
    problem: Problem
    run: Run
    references: dict[str, Reference]  # by element
    solved: dict[str, dict[str, list[Solved]]]  # by element and strategy, the coarsest first

    def least(self, element: str) -> list[Solved]:
        """On each mesh the solve of the strategy that takes least, the coarsest first."""
        at: dict[int, Solved] = {}
        for s in (s for some in self.solved[element].values() for s in some):
            at[s.steps] = min(at.get(s.steps, s), s, key=lambda each: each.total)
        return [at[steps] for steps in sorted(at)]


@functools.cache
def studies(model: Model) -> list[Study]:
    found = []
    every = told(model)
    for problem in WORDS:
        own = [p for p in every if problem_of(p.case) == problem]
        references = references_of(problem, own)
        own = [p for p in own if p.element in references]
        for card in dict.fromkeys(p.card for p in own):
            some = speaking(p for p in own if p.card == card)
            found.append(Study(card, problem, some[0].run, references, solved_of(some, references)))
    return found


def solved_of(some: Sequence[Point], references: Mapping[str, Reference]) -> dict[str, dict[str, list[Solved]]]:
    solved: dict[str, dict[str, list[Solved]]] = {}
    for element, reference in references.items():
        for case in sorted({p.case for p in some if p.element == element}, key=steps_of):
            here = [p for p in some if p.element == element and p.case == case]
            for strategy, whole in wholes(here).items():
                solved.setdefault(element, {}).setdefault(strategy, []).append(
                    Solved(steps_of(case), reference.excess(whole.solve.work), whole))
    return solved


@dataclasses.dataclass(frozen=True)
class Reached:
    """An error by a strategy."""

    seconds: float
    is_end: bool  # it is an upper end: a mesh has a smaller error, and before it nothing tells where that begins
    noisy: bool   # a solve that tells it is
    spread: float  # factor within which it counts
    strategy: str = ""
    tied: bool = False  # another strategy is not told apart

    def words(self, names: Callable[[str], str]) -> str:
        return f"{'≤ ' * self.is_end}{seconds(self.seconds)}, {names(self.strategy)}{'~' * (self.noisy or self.tied)}"


def time_to(some: Sequence[Solved], target: float, least: float) -> Reached | None:
    """When the error stays below the target, between two meshes on straight lines of logarithms, unless it changes its sign
    there or the reference cannot tell the smaller one; None where no mesh has such an error, or the reference cannot tell
    it."""
    if target < least or not some:
        return None
    above = [i for i, s in enumerate(some) if s.error > target]
    if not above:
        return Reached(some[0].total, True, some[0].noisy, some[0].spread)
    if above[-1] + 1 == len(some):
        return None
    a, b = some[above[-1]], some[above[-1] + 1]
    if a.excess * b.excess < 0 or b.error < least:
        return Reached(b.total, True, b.noisy, b.spread)
    share = math.log(a.error / target) / math.log(a.error / b.error)
    return Reached(a.total * (b.total / a.total)**share, False, a.noisy or b.noisy, max(a.spread, b.spread))


def first(study: Study, element: str, target: float) -> Reached | None:
    """By the strategy that is there first, which is told from others as far as set-ups tell it, most of these times."""
    found = {s: t for s, some in study.solved.get(element, {}).items()
             if (t := time_to(some, target, study.references[element].least))}
    if not found:
        return None
    own = min(found, key=lambda s: found[s].seconds)
    latest = found[own].seconds * found[own].spread
    tied = any(t.seconds / t.spread <= latest for s, t in found.items() if s != own)
    return dataclasses.replace(found[own], strategy=own, tied=tied)


def cell(study: Study, element: str, target: float) -> str:
    reached = first(study, element, target)
    return reached.words("`{}`".format) if reached else "-"


def percent(target: float) -> str:
    return f"{100 * target:g} %"


def lines(model: Model) -> list[str]:
    """A table: time to an error by element."""
    body = [[study.card.short, WORDS[study.problem], ELEMENT[element],
             *(cell(study, element, target) for target in TARGETS), count(study.least(element)[0].whole.solve.n_dof),
             f"{study.references[element].least:.0e}"]
            for study in studies(model) for element in in_elements(study)]
    head = ["on", "problem", "element", *(f"to {percent(target)}" for target in TARGETS), "coarsest mesh, DoF", "errors told from"]
    return table(head, body, 3) if body else []


def in_elements(study: Study) -> list[str]:
    return [element for element in ELEMENTS if element in study.solved]
