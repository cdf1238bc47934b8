"""Predicts what products in floats give a whole solve on chips that were not measured.

A solve of one card, phase by phase, in both precisions. Phases of double precision (material, residual and the products
that are in doubles) are scaled as patch's product is on that chip (report/predict.py), which has a best and a worst case.
All others read memory or wait: they are scaled with the bandwidth, or not at all. The products in floats are among these.
So the time of a solve is an interval, and the ratio of two solves is that of the cases taken together.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable

from report import model, predict, text
from report.model import Point
from report.predict import Chip, Operation
from report.text import count, digits
from report.wholes import is_usual
from report.words import ELEMENT

DOUBLES = ("material", "residual")


@dataclasses.dataclass(frozen=True)
class Solve:
    """Seconds of one solve on a card: in double precision, and all others; and how often its product ran."""

    doubles: float
    products: float  # of the Krylov method
    others: float
    evaluations: int
    iterations: int


@dataclasses.dataclass(frozen=True)
class Pair:
    """The same solve with products in doubles and in floats, and the card where it was measured."""

    card: Chip
    element: str
    n_dof: int
    double: Solve
    mixed: Solve

    def seconds(self, slower: float, narrower: float) -> tuple[float, float]:
        """With products in doubles and in floats, where doubles take `slower` and all else `narrower` times as long."""
        d, m = self.double, self.mixed
        one = d.products / d.evaluations
        again = max(m.evaluations - m.iterations, 1) * one  # residuals of the refinement
        floats = max(m.products - again, 0.0)
        return (slower * (d.doubles + d.products) + narrower * d.others,
                slower * (m.doubles + again) + narrower * (m.others + floats))


def solve_of(points: Iterable[Point]) -> Solve | None:
    at = {p.operation: p for p in points}
    whole, product = at.get("solve"), at.get("jacvec")
    if whole is None or product is None or not product.row["evaluations"]:
        return None
    doubles = sum(at[name].time.value for name in DOUBLES if name in at)
    products = product.time.value
    return Solve(doubles, products, max(whole.time.value - doubles - products, 0.0), int(product.row["evaluations"]),
                 int(whole.row["krylov_iterations"]))


def pairs(found: model.Model) -> list[Pair]:
    """By patch with multigrid, elastic: of each element the largest that one run measured in both precisions."""
    groups: dict[tuple, list[Point]] = {}
    for p in found.of("solves.csv"):
        if p.strategy == "patch" and p.row["precondition"] == "multigrid" and p.case.endswith("-linear") \
                and p.backend == "cuda" and p.ranks == 1 and is_usual(p):
            groups.setdefault((p.run, p.element, p.n_dof, p.case, p.row["precision"]), []).append(p)
    best: dict[str, Pair] = {}
    for (run, element, n_dof, case, precision), some in groups.items():
        other = groups.get((run, element, n_dof, case, "mixed"))
        if precision != "double" or other is None:
            continue
        card, double, mixed = predict.ceilings(run), solve_of(some), solve_of(other)
        if card and double and mixed and (element not in best or n_dof > best[element].n_dof):
            best[element] = Pair(card, element, n_dof, double, mixed)
    return [best[element] for element in sorted(best)]


def gains(pair: Pair, operation: Operation, chip: Chip) -> tuple[float, float]:
    """How many times as long a solve with doubles takes, at least and at most."""
    own = sum(operation.seconds(pair.card)) / 2
    slower = [seconds / own for seconds in operation.seconds(chip)]
    narrower = (pair.card.bandwidth / chip.bandwidth, 1.0)
    ratios = [double / mixed for s, n in itertools.product(slower, narrower)
              for double, mixed in (pair.seconds(s, n),)]
    return min(ratios), max(ratios)


def table(found: list[Pair], operations: list[Operation]) -> list[str]:
    """Markdown: of each element what was measured, and what each chip should have; a sentence where no card has rows."""
    by = {o.element: o for o in operations if o.variant == "patch" and o.operation == "jacvec_elastic"}
    lines = []
    for pair in found:
        if pair.element not in by:
            continue
        double, mixed = pair.seconds(1.0, 1.0)
        cells = ["–".join(map(digits, gains(pair, by[pair.element], chip))) for chip in predict.chips()]
        lines.append([ELEMENT[pair.element], pair.card.name, count(pair.n_dof), digits(double / mixed), *cells])
    if not lines:
        return ["*No card has rows of whole solves in both precisions yet: `make bench EXPERIMENTS=products-in-floats`.*"]
    return text.table(["element", "measured on", "degrees of freedom", "measured",
                       *(chip.name for chip in predict.chips())], lines, 2)
