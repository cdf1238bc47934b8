"""One product as it occurs within a solve, compared with samples of the same product of the same run.

A phase of solves.csv over its evaluations is the time of one product: between events on the stream of a GPU, of the
solve without CUDA graphs. So waits for a launch within the phase belong to it. Products of the preconditioner are a
phase of their own. Compared are products whose kind all samples and all evaluations share: of a solve of the load
`linear`, which reads no tangent, elastic products; of other loads, within which elements yield little by little, those
of matrices, which take the same time whatever yields.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence

from report import model as model_
from report.cases import kind_of_mesh
from report.model import Model, Point, Time, time_of
from report.rows import Row
from report.selection import speaking
from report.wholes import is_usual
from report.words import MATRIX, QUADRATIC

NEAR = 1.2  # degrees of freedom of the samples' mesh and of the solve's differ at most by this factor
OWN_ORDER = ("as-is", "lexicographic")  # a box as it is made has both names
EVALUATED = ("median_s", "ci95_low_s", "ci95_high_s", "min_s")
# What figure and table say of how products are compared.
COMPARED = ("Within a solve: the phase of tangent products without CUDA graphs, over their number. Gaps between its "
            "kernels count; products of the preconditioner do not. The phase also has what supports need: strategies "
            "that store their result have a further kernel for it. Of those that add to it (patch, upper half, by "
            "element without colours) CG's update does that and clears the result, while a sample clears it itself. "
            "Ratios are for each degree of freedom, of one run.")
LEFT_OUT = ("Left out are load steps without a matrix, because their products read the tangents of more and more "
            "elements and samples those of all, and solves whose mesh has another numbering or no samples in the same "
            "run.")


@dataclasses.dataclass(frozen=True)
class Inside:
    """One product within a solve, short samples of it, and samples with cold caches where the run has them."""

    product: Point
    burst: Point
    cold: Point | None

    @property
    def over_burst(self) -> Time:
        return over(self.product, self.burst)

    @property
    def over_cold(self) -> Time | None:
        return over(self.product, self.cold) if self.cold else None


def over(product: Point, sample: Point) -> Time:
    """How many times as long the product takes within the solve, for each degree of freedom."""
    return model_.ratio(product, sample).times(sample.n_dof / product.n_dof)


def evaluated(phase: Point) -> Point | None:
    """One evaluation of a phase; None where their number is not known."""
    if not all(row["evaluations"] for row in phase.rows):
        return None

    def one(row: Row) -> Row:
        seconds = {name: row[name] for name in EVALUATED if row[name] is not None}
        return {**row, **{name: s / row["evaluations"] for name, s in seconds.items()}}

    rows = tuple(map(one, phase.rows))
    return Point(phase.run, phase.kind, rows, time_of(rows))


def operation_of(phase: Point) -> str | None:
    """Of kernels.csv, which all evaluations of the phase are; None where they are not of one kind."""
    if phase.case.endswith("-linear"):
        return "jacvec_elastic"
    return "jacvec" if phase.strategy in MATRIX else None


def order_of(p: Point) -> str:
    return OWN_ORDER[0] if p.numbering in OWN_ORDER and p.element not in QUADRATIC else p.numbering


Samples = dict[tuple, list[Point]]  # by what key_of tells


def key_of(p: Point, condition: str, operation: str) -> tuple:
    return p.run, condition, operation, p.card, p.strategy, p.element


def sample_of(product: Point, samples: Samples, condition: str) -> Point | None:
    """Of the mesh of the nearest size, of the same kind and numbering."""
    operation = operation_of(product)
    there = samples.get(key_of(product, condition, operation), ()) if operation else ()
    near = [p for p in there if order_of(p) == order_of(product) and kind_of_mesh(p.case) == kind_of_mesh(product.case)
            and (p.mesh.cube or kind_of_mesh(p.case) != "box") and distance(p, product) <= math.log(NEAR)]
    return min(near, key=lambda p: distance(p, product)) if near else None


def distance(p: Point, q: Point) -> float:
    return abs(math.log(p.n_dof / q.n_dof))


def is_compared(p: Point) -> bool:
    """A phase of tangent products of one rank, in double precision, with tangents."""
    return p.operation == "jacvec" and p.ranks == 1 and p.precision == "double" and is_usual(p)


Place = tuple  # card, element, case, krylov, precondition


@functools.cache
def insides(model: Model) -> dict[Place, list[Inside]]:
    """At each place those of the run that speaks, of the runs that have both."""
    phases = [p for p in model.of("solves.csv") if is_compared(p)]
    runs = {p.run for p in phases}
    samples: Samples = {}
    for p in model.of("kernels.csv"):
        if p.run in runs and p.plain and p.operand == "random":
            samples.setdefault(key_of(p, p.condition, p.operation), []).append(p)
    at: dict[Place, dict[Point, Inside]] = {}
    for phase in phases:
        product = evaluated(phase)
        burst = sample_of(product, samples, "burst") if product else None
        if product and burst:
            place = (phase.card, phase.element, phase.case, phase.krylov, phase.precondition)
            at.setdefault(place, {})[product] = Inside(product, burst, sample_of(product, samples, "cold"))
    return {place: [found[p] for p in speaking(found)] for place, found in at.items()}


def to_show(at: dict[Place, list[Inside]]) -> list[list[Inside]]:
    """Of each card, element and size the place with most strategies, with multigrid rather than without; large ones
    first."""
    best: dict[tuple, list[Inside]] = {}

    def rank(some: Sequence[Inside]) -> tuple[int, bool]:
        return len(some), some[0].product.precondition == "multigrid"

    for (card, element, *_), some in at.items():
        key = (card, element, some[0].product.n_dof)
        if key not in best or rank(some) > rank(best[key]):
            best[key] = some
    return sorted(best.values(), key=lambda some: -some[0].product.n_dof)
