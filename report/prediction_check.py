"""Predictions beside rows of the two cards that are here: who was the fastest, and what one card tells of the other.

From one card alone nothing tells which part of a time waits for memory. So who must win on the other one is foretold
from both ends: all of it, or nothing (predict.alone). A single number takes the modelled bytes for that part.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from report.model import Model, Point, Time, counted
from report.places import Place, competing, places
from report.predict import (CARDS, FREE, OPEN, WITH_MATRIX, Chip, Pair, alone, ends, groups, pairs, split_all,
                            who_must_win)
from report.words import BLOCKS, MATRIX

LEAST_DOF = 250_000  # below, caches hold much of what a product reads, and nothing is predicted


def place_of(p: Point) -> Place:
    return p.card, p.element, p.operation, p.mesh.label, p.n_dof


def matrix_over_free(some: Iterable[Point]) -> Time | None:
    """Of points of one run: how many times as long the fastest product with a matrix takes as that without one."""
    kinds: dict[bool, list[Point]] = {True: [], False: []}
    for p in competing(some):
        kinds[p.strategy in MATRIX].append(p)
    if not all(kinds.values()):
        return None
    return counted(*(min(kinds[kind], key=lambda p: p.time.value) for kind in (True, False)))


def contradicts(who: str, ratio: Time) -> bool:
    """Whether a measured ratio of the matrix over the product without one says the opposite."""
    return who == FREE and ratio.high < 1 or who == WITH_MATRIX and ratio.low > 1


def agrees(who: str, ratio: Time) -> bool:
    return who == FREE and ratio.low > 1 or who == WITH_MATRIX and ratio.high < 1


def foretold(some: Sequence[Pair], of: int) -> str:
    """Who must win on one card (0: narrow, 1: wide), by rows of the other one alone."""
    other = 1 - of
    points = [(pair.narrow, pair.wide)[other] for pair in some]
    return who_must_win([alone(p, some[0].cards[other], points) for p in points], some[0].cards[of])


@dataclasses.dataclass(frozen=True)
class Check:
    """A place of a measured card, with what is said of it."""

    place: Place
    ratio: Time
    says: str  # the map, at this card
    foretold: str  # by the other card alone


def checks(read: Model) -> list[Check]:
    """Of all meshes of both cards where products with and without a matrix were measured; the map speaks for all."""
    said = {key: [(who_must_win(split_all(some), some[0].cards[i]), foretold(some, i)) for i in range(len(CARDS))]
            for key, some in groups(read).items()}
    found = []
    for place, some in places(read.kernels).items():
        card, n_dof = place[0], place[4]
        ratio, key = matrix_over_free(some), (place[1], place[2])
        if ratio and card.backend == "cuda" and card.machine in CARDS and n_dof >= LEAST_DOF and key in said:
            found.append(Check(place, ratio, *said[key][CARDS.index(card.machine)]))
    return found


def foretold_each(read: Model) -> dict[str, int]:
    """At each place that both cards measured with both matrices, of each card: how often the other one alone foretold
    who won, told nothing, or foretold what rows do not say."""
    at: dict[Place, list[Pair]] = {}
    for pair in pairs(read):
        if pair.wide.n_dof >= LEAST_DOF:
            at.setdefault(place_of(pair.wide), []).append(pair)
    found = {"right": 0, OPEN: 0, "wrong": 0}
    for some in at.values():
        for of, points in enumerate(zip(*((pair.narrow, pair.wide) for pair in some))):
            ratio, who = matrix_over_free(points), foretold(some, of)
            if ratio and {p.strategy for p in points}.issuperset(BLOCKS):
                found[OPEN if who == OPEN else "right" if agrees(who, ratio) else "wrong"] += 1
    return found


# --- a single number --------------------------------------------------------------------------------------------------

def by_model(p: Point, card: Chip, other: Chip) -> float | None:
    """Seconds on the other card, if the modelled bytes are what waits for memory; None without them."""
    if not p.bytes_moved:
        return None
    memory = min(float(p.bytes_moved) / card.bandwidth, p.time.value)
    return memory * card.bandwidth / other.bandwidth + p.time.value - memory


@dataclasses.dataclass(frozen=True)
class Errors:
    """Of strategies at one place, from one card to the other."""

    within: int  # of the bounds
    off: tuple[float, ...]  # predicted / measured - 1, of the single number


def errors(some: Sequence[Pair], of: int) -> Errors:
    """Of one card (0: narrow, 1: wide), by rows of the other one alone."""
    card, other = some[0].cards[1 - of], some[0].cards[of]
    within, off = 0, []
    for pair in some:
        known, asked = (pair.wide, pair.narrow)[of], (pair.narrow, pair.wide)[of]
        (best, worst), (low, high) = alone(known, card).seconds(other), ends(asked)
        within += best <= high and low <= worst
        seconds = by_model(known, card, other)
        off += [seconds / asked.time.value - 1] if seconds else []
    return Errors(within, tuple(sorted(off)))
