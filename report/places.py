"""Groups of points that may be compared: the strategies of one run at one place, and which is the fastest."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence

from report.model import Model, Point, Run, Time, counted
from report.selection import by_run, speaking
from report.words import BLOCKS, CHOOSES, ELEMENTS, MAIN, MATRIX, NOT_A_STRATEGY, OPERATION, in_order

LEAST_DOF = 50_000  # below, caches hold what the ceilings count as moved
NEAR = 1.5  # degrees of freedom of two meshes may differ by this factor where meshes are compared
Place = tuple  # card, element, operation, label of the mesh, degrees of freedom


def by_place(points: Iterable[Point]) -> dict[Place, list[Point]]:
    """Points of the usual setting, of all runs."""
    at: dict[Place, list[Point]] = {}
    for p in points:
        if p.plain and p.element in ELEMENTS and p.operation in OPERATION:
            at.setdefault((p.card, p.element, p.operation, p.mesh.label, p.n_dof), []).append(p)
    return at


def places(points: Iterable[Point]) -> dict[Place, list[Point]]:
    """At each place the strategies of the run that speaks there; where it has one strategy, nothing is compared and the
    place is left out."""
    chosen = {place: speaking(some) for place, some in by_place(points).items()}
    return {place: some for place, some in chosen.items() if len({p.strategy for p in some}) > 1}


@dataclasses.dataclass(frozen=True)
class Winner:
    """The fastest at a place, or those that are not surely slower, and the next one where an interval of one of both
    decides nothing: then nobody wins. Strategies that the run that speaks lacks were compared in others, within each."""

    fastest: tuple[Point, ...]
    gain: Time | None  # the next one's time over that of the first, also where both are not told apart
    of: int            # strategies compared
    run: Run
    lacks: tuple[str, ...] = ()   # main strategies that were not compared
    missed: tuple[str, ...] = ()  # what other runs have here and did not prove slower: one of them may be the fastest

    @property
    def decided(self) -> bool:
        return len(self.fastest) == 1 and not self.missed


def slower(p: Point, first: Point) -> bool:
    """The rule of "faster", of two strategies of one run: all of the ratio's interval lies above 1 (model.counted)."""
    return counted(p, first).low > 1


def competing(points: Iterable[Point]) -> list[Point]:
    return [p for p in points if p.strategy not in NOT_A_STRATEGY + CHOOSES]


def over_winner(level: Sequence[Point], others: Iterable[Sequence[Point]], there: set[str]) -> dict[str, Time | None]:
    """Of each strategy that is not there: its time over that of the fastest, or of the first of those not told apart, of
    the first run that has both; None: no run has both."""
    found: dict[str, Time | None] = {}
    for some in others:
        own = next((p for q in level for p in some if p.strategy == q.strategy), None)
        for p in competing(some):
            if p.strategy not in there and found.get(p.strategy) is None:
                found[p.strategy] = counted(p, own) if own else None
    return found


def winner(some: Sequence[Point], others: Iterable[Sequence[Point]] = ()) -> Winner:
    """Among strategies of the run that speaks at a place. others: points of other runs there, each run by itself."""
    order = sorted(competing(some), key=lambda p: p.time.value)
    first, rest = order[0], order[1:]
    level = [first] + [p for p in rest if not slower(p, first)
                       or (p is rest[0] and (first.time.noisy or p.time.noisy or counted(p, first).disturbed))]
    elsewhere = over_winner(level, others, {p.strategy for p in order})
    missed = tuple(s for s, r in elsewhere.items() if r is None or r.low <= 1)
    compared = {p.strategy for p in order} | {s for s, r in elsewhere.items() if r}
    # Only its product tells the matrix with half of the blocks from the other one.
    rivals = [s for s in MAIN if s != BLOCKS[1] or first.operation.startswith("jacvec")]
    gains = [counted(p, first) for p in rest] + [r for r in elsewhere.values() if r and len(level) == 1]
    gain = min(gains, key=lambda r: r.value, default=None)
    return Winner(tuple(level), gain, len(compared), first.run, tuple(s for s in rivals if s not in compared), missed)


@functools.cache
def winners(model: Model) -> dict[Place, Winner]:
    """Where several strategies were compared, one of them without a matrix."""
    found = {}
    for place, points in by_place(model.kernels).items():
        some, *others = by_run(points)
        strategies = {p.strategy for p in competing(some)}
        if place[2] != "material" and len(strategies) > 1 and not strategies <= set(MATRIX):
            found[place] = winner(some, others)
    return found


def find(points: Iterable[Point], **wanted: object) -> list[Point]:
    return list(_found(points, wanted))


def one(points: Iterable[Point], **wanted: object) -> Point | None:
    return next(_found(points, wanted), None)


def _found(points: Iterable[Point], wanted: Mapping[str, object]) -> Iterator[Point]:
    told, values = operator.attrgetter(*wanted), tuple(wanted.values())
    of = values if len(values) > 1 else values[0]  # as attrgetter has it
    return (p for p in points if told(p) == of)


def the(points: Iterable[Point], **wanted: object) -> Point:
    """The one that is there; ValueError where none is."""
    found = one(points, **wanted)
    if found is None:
        raise ValueError(f"there is no point of {wanted}")
    return found


def ranked(points: Iterable[Point]) -> list[str]:
    """Strategies that points are of, in the order of words.STRATEGY."""
    return in_order(p.strategy for p in points)
