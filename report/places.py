"""Groups of points that may be compared: the strategies of one run at one place, and which is the fastest."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from report.model import LEAST_PROCESSES, Model, Point, Run, Time, overlap, ratio
from report.words import CHOOSES, MATRIX, NOT_A_STRATEGY, OPERATION, in_order

LEAST_DOF = 50_000  # below, caches hold what the ceilings count as moved
NEAR = 1.5  # degrees of freedom of two meshes may differ by this factor where meshes are compared
Place = tuple  # card, element, operation, mesh in words, degrees of freedom


def widest(points: Iterable[Point]) -> list[Point]:
    """Those of one run: of one with enough processes for a claim, if such a run has three points or more; else of the
    one with most points; of equals, of the newest."""
    by_run: dict[Run, list[Point]] = {}
    for p in points:
        by_run.setdefault(p.run, []).append(p)
    return max(by_run.values(), key=lambda some: (
        len(some) > 2 and all(p.time.processes >= LEAST_PROCESSES for p in some), len(some)), default=[])


def places(points: Iterable[Point]) -> dict[Place, list[Point]]:
    """At each place the strategies of one run; a run with one strategy compares nothing and is left out."""
    at: dict[Place, list[Point]] = {}
    for p in points:
        if p.plain and p.element in ("hex8", "tet4") and p.operation in OPERATION:
            at.setdefault((p.card, p.element, p.operation, p.mesh.words, p.n_dof), []).append(p)
    chosen = {place: widest(some) for place, some in at.items()}
    return {place: some for place, some in chosen.items() if len({p.strategy for p in some}) > 1}


@dataclasses.dataclass(frozen=True)
class Winner:
    """The fastest at a place, or those whose intervals overlap with its interval, and the next one where one of both
    intervals decides nothing: then nobody wins."""

    fastest: tuple[Point, ...]
    gain: Time | None  # the next one's time over the winner's; none where nobody wins
    of: int            # strategies compared
    run: Run

    @property
    def decided(self) -> bool:
        return len(self.fastest) == 1


def winner(some: Sequence[Point]) -> Winner:
    """Among strategies of one run at one place."""
    order = sorted((p for p in some if p.strategy not in NOT_A_STRATEGY + CHOOSES), key=lambda p: p.time.value)
    first, others = order[0], order[1:]
    level = [first] + [p for p in others if overlap(p.time, first.time)
                       or (p is others[0] and (first.time.noisy or p.time.noisy))]
    gain = ratio(others[0], first) if others and len(level) == 1 else None
    return Winner(tuple(level), gain, len(order), first.run)


def winners(model: Model) -> dict[Place, Winner]:
    """Where several strategies were compared, one of them without a matrix."""
    def compares(some: Sequence[Point]) -> bool:
        strategies = {p.strategy for p in some}.difference(NOT_A_STRATEGY + CHOOSES)
        return len(strategies) > 1 and not strategies <= set(MATRIX)

    return {place: winner(some) for place, some in places(model.kernels).items()
            if place[2] != "material" and compares(some)}


def find(points: Iterable[Point], **wanted) -> list[Point]:
    return [p for p in points if all(getattr(p, name) == value for name, value in wanted.items())]


def one(points: Iterable[Point], **wanted) -> Point | None:
    return next(iter(find(points, **wanted)), None)


def ranked(points: Iterable[Point]) -> list[str]:
    """Strategies that points are of, in the order of words.STRATEGY."""
    return in_order(p.strategy for p in points)
