"""Predicts products of strategies on chips that were not measured.

Two cards that differ in memory bandwidth alone (H100 and H200: the same 33 TF/s in FP64, 3.1 and 4.5 TB/s as
measured) tell which part of a product's time waits for memory: with T = M / bandwidth + C, two times give the bytes M
and the rest C. Both times are known to an interval. So the ends of the intervals give four cases of M and C, and all of
them count. On another chip C is taken to lie between two bounds:

    a faster chip    C times the ratio of FP64 rates, if arithmetic is what takes the time, and C itself, if it is not
    a slower chip    C itself, and C times the ratio; with a matrix only the arithmetic in C: 2 for each number

and the time lies between the larger of memory's and C (one hides the other) and their sum. So a prediction is an
interval. Where one part hides the other on both cards, two times do not tell of the hidden one. So the interval also
keeps to what is known of each part by itself: at least the modelled bytes and the counted flop, and at most what memory
moves, or the rest takes, in the whole time that was measured. Left out are sizes of caches and shared memory, atomics,
latency, power.

Which rows: at each place (element, product, mesh, size) those of two runs whose sources were alike (report/sources.py).
Of several such pairs of runs one speaks by the rule of report/selection.py, and the newest of equals.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import pathlib
import tomllib
from collections.abc import Iterable, Sequence

from report import calibration, model, rows, selection, sources
from report.model import Model, Point, Run
from report.places import competing
from report.words import MATRIX

CHIPS = pathlib.Path(__file__).with_name("chips.toml")
NARROW, WIDE = CARDS = ("nvidia-h100-80gb-hbm3", "nvidia-h200")
PRODUCTS = ("jacvec", "jacvec_elastic", "jacvec_full")
APART = 2.0  # times as long multiplications and additions take by themselves as both at once, of which the rate is
NUMBERS = 0.9  # of what assembled_bsr's product is modelled to move: the others are indices and vectors


@dataclasses.dataclass(frozen=True)
class Chip:
    name: str
    rate: float  # FP64, flop/s, as a kernel reaches it
    bandwidth: float  # B/s, as a copy reaches it


@dataclasses.dataclass(frozen=True)
class Pair:
    """What two cards measured of one strategy at one place, from the same sources."""

    narrow: Point
    wide: Point
    cards: tuple[Chip, Chip]


@dataclasses.dataclass(frozen=True)
class Split:
    """What a time may be made of."""

    moved: float  # B
    rest: float  # s, at the rate of the card that was measured


@dataclasses.dataclass(frozen=True)
class Operation:
    """One strategy's product on one mesh."""

    variant: str
    element: str
    operation: str
    n_dof: int
    cases: tuple[Split, ...]  # all that its rows allow
    flop: float  # at least
    modelled: float  # B
    rate: float  # of the card that was measured
    most: float = math.inf  # flop at most; of a product without a matrix nobody counted what it repeats
    hidden: Split = Split(0.0, 0.0)  # at most what each part is where the other one hides it

    def seconds(self, chip: Chip) -> tuple[float, float]:
        """At best and at worst."""
        slower, arithmetic = self.rate / chip.rate, self.flop / chip.rate
        floor = max(arithmetic, self.modelled / chip.bandwidth)
        least, more, repeated = min(1.0, slower), max(0.0, slower - 1), self.most / self.rate
        best, worst = math.inf, max(floor, self.hidden.moved / chip.bandwidth,
                                    self.hidden.rest + more * min(self.hidden.rest, repeated))
        for case in self.cases:
            memory, rest = case.moved / chip.bandwidth, case.rest
            best = min(best, max(memory, least * rest))
            worst = max(worst, memory + max(rest + more * min(rest, repeated), arithmetic))
        return max(best, floor), worst


def ceilings(run: Run) -> Chip | None:
    """Of a measured card: what a copy and a loop of multiplications and additions reached."""
    try:
        return Chip(run.told("gpu"), 1e9 * float(run.told("cuda_fma_gflop_per_s")),
                    1e9 * float(run.told("cuda_copy_gb_per_s")))
    except ValueError:
        return None


@functools.cache
def chips(reached: float = 0.92) -> tuple[Chip, ...]:
    """Of the data sheets; a copy on H100 and H200 reached 0.92 and 0.94 of theirs."""
    with open(CHIPS, "rb") as file:
        tables = tomllib.load(file)
    return tuple(Chip(name, 1e12 * t["fp64_tflop_per_s"], reached * 1e12 * t["tb_per_s"]) for name, t in tables.items())


# --- which rows -------------------------------------------------------------------------------------------------------

def measured(read: Model, in_floats: bool = False) -> list[list[Point]]:
    """Products on both cards in double precision, those of each place together; of all runs."""
    at: dict[tuple, list[Point]] = {}
    for p in competing(read.kernels):
        if p.backend == "cuda" and p.run.machine in CARDS and p.operation in PRODUCTS \
                and (p.precision != rows.USUAL["precision"] if in_floats else p.plain):
            at.setdefault(rows.anywhere(p.row, ("variant",)), []).append(p)
    return list(at.values())


def matched(read: Model, points: Iterable[Point]) -> list[list[Pair]]:
    """Of one place: for each pair of runs the strategies whose sources were alike."""
    cards = {run: card for run in read.runs if run.machine in CARDS and (card := ceilings(run))}
    of_card = ([p for p in points if p.run.machine == m and p.run in cards] for m in CARDS)
    found: dict[tuple[Run, Run], list[Pair]] = {}
    for a, b in itertools.product(*of_card):
        if a.strategy == b.strategy and sources.alike(a.commit, b.commit, a.kind, a.strategy, a.backend):
            found.setdefault((a.run, b.run), []).append(Pair(a, b, (cards[a.run], cards[b.run])))
    return list(found.values())


def pairs(read: Model) -> list[Pair]:
    """Of each place the strategies of the pair of runs that speaks there."""
    return [pair for points in measured(read) for pair in max(matched(read, points), key=_rank, default=[])]


def _rank(some: Sequence[Pair]) -> tuple:
    processes = {p.wide.strategy: min(p.narrow.time.processes, p.wide.time.processes) for p in some}
    return selection.rank(processes), some[0].wide.run.began, some[0].narrow.run.began


def groups(read: Model) -> dict[tuple[str, str], list[Pair]]:
    """Of each element and product the pairs of the largest box."""
    places: dict[tuple, list[Pair]] = {}
    for pair in pairs(read):
        if pair.wide.mesh.words == "box":
            places.setdefault(rows.anywhere(pair.wide.row, ("variant",)), []).append(pair)
    found: dict[tuple[str, str], list[Pair]] = {}
    for some in sorted(places.values(), key=lambda some: (some[0].wide.mesh.cube, some[0].wide.n_dof)):
        found[some[0].wide.element, some[0].wide.operation] = some
    return {key: found[key] for key in sorted(found, key=lambda key: (key[0], PRODUCTS.index(key[1])))}


# --- what they say ----------------------------------------------------------------------------------------------------

def ends(p: Point) -> tuple[float, float]:
    """Between which a time counts, of few processes and on other cards of its kind, too."""
    t = p.time
    return model.widened(t.value, t.low, t.high, t.processes, calibration.largest(samples=calibration.samples_of(p.row)).times)


def flop_of(p: Point, beside: Iterable[Point]) -> float:
    """At least. With a matrix 2 for each number, which assembled_bsr beside it tells; 0 where that is not there."""
    if p.flop:
        return float(p.flop)
    full = next((q for q in beside if q.strategy == "assembled_bsr" and q.bytes_moved), None)
    return 2 * NUMBERS * float(full.bytes_moved) / 8 if full else 0.0


def operation(p: Point, cases: Iterable[Split], card: Chip, beside: Iterable[Point],
              hidden: Split = Split(0.0, 0.0)) -> Operation:
    """modelled: no more than a copy moves in the time that was measured."""
    bytes_moved = min(float(p.bytes_moved or 0), ends(p)[0] * card.bandwidth)
    flop = min(flop_of(p, beside), ends(p)[0] * card.rate)
    most = APART * flop / NUMBERS if p.strategy in MATRIX and flop else math.inf
    return Operation(p.strategy, p.element, p.operation, p.n_dof, tuple(cases), flop, bytes_moved, card.rate, most,
                     hidden)


def either_way(p: Point, card: Chip) -> list[Split]:
    """What one card alone leaves open: all of its time waits for memory, or nothing."""
    return [case for seconds in ends(p) for case in (Split(seconds * card.bandwidth, 0.0), Split(0.0, seconds))]


def alone(p: Point, card: Chip, beside: Iterable[Point] = ()) -> Operation:
    """By one card."""
    return operation(p, either_way(p, card), card, beside)


def split(pair: Pair, beside: Iterable[Point] = ()) -> Operation:
    """By both cards. Where no times within the intervals are such a sum, more differs than the bandwidth. Then what
    either card alone leaves open stays open."""
    narrow, wide = pair.cards
    slows, fasts = ends(pair.narrow), ends(pair.wide)
    if slows[1] < fasts[0] or slows[0] / fasts[1] > wide.bandwidth / narrow.bandwidth:
        return operation(pair.wide, either_way(pair.narrow, narrow) + either_way(pair.wide, wide), wide, beside)
    cases = []
    for slow, fast in itertools.product(slows, fasts):
        moved = max((slow - fast) / (1 / narrow.bandwidth - 1 / wide.bandwidth), 0.0)
        moved = min(moved, slow * narrow.bandwidth)
        cases.append(Split(moved, max(fast - moved / wide.bandwidth, 0.0)))
    hidden = Split(min(slows[1] * narrow.bandwidth, fasts[1] * wide.bandwidth), min(slows[1], fasts[1]))
    return operation(pair.wide, cases, wide, beside, hidden)


def split_all(some: Sequence[Pair]) -> list[Operation]:
    """Of one place."""
    beside = [pair.wide for pair in some]
    return [split(pair, beside) for pair in some]


def operations(read: Model) -> list[Operation]:
    return [o for some in groups(read).values() for o in split_all(some)]


# --- who is the fastest -----------------------------------------------------------------------------------------------

FREE, WITH_MATRIX, OPEN = "free", "matrix", ""
RATES, BANDWIDTHS = (0.5, 60.0), (1.0, 10.0)  # of a map: FP64 TF/s and TB/s of chips for computing or for games
CELLS = 60  # of it along an axis


def who_must_win(there: Iterable[Operation], chip: Chip) -> str:
    """The fastest product without a matrix, the fastest with one, or OPEN where intervals of times meet, or where one
    kind has no rows."""
    best, worst = {True: math.inf, False: math.inf}, {True: math.inf, False: math.inf}
    for o in there:
        kind = o.variant in MATRIX
        low, high = o.seconds(chip)
        best[kind], worst[kind] = min(best[kind], low), min(worst[kind], high)
    if math.inf in best.values():
        return OPEN
    return FREE if worst[False] < best[True] else WITH_MATRIX if worst[True] < best[False] else OPEN


def at(between: tuple[float, float], share: float) -> float:
    """By logarithms: the first at 0, the second at 1."""
    return between[0] * (between[1] / between[0]) ** share


@functools.cache
def on_map(there: tuple[Operation, ...]) -> list[list[str]]:
    """Who must win in each cell: columns by rate, of cells by bandwidth."""
    middles = [(i + 0.5) / CELLS for i in range(CELLS)]
    return [[who_must_win(there, Chip("", 1e12 * at(RATES, x), 1e12 * at(BANDWIDTHS, y))) for y in middles]
            for x in middles]


def balances(there: tuple[Operation, ...]) -> tuple[float | None, float | None]:
    """FP64 flop per byte of bandwidth below which the matrix must win in all cells of the map, and above which a
    product without one must. None where no cell has such a balance."""
    lowest: dict[str, list[float]] = {FREE: [], WITH_MATRIX: [], OPEN: []}  # of cells
    for i, column in enumerate(on_map(there)):
        for j, who in enumerate(column):
            lowest[who].append(at(RATES, i / CELLS) / at(BANDWIDTHS, (j + 1) / CELLS))
    wide = at(RATES, 1 / CELLS) / RATES[0] * at(BANDWIDTHS, 1 / CELLS) / BANDWIDTHS[0]  # a cell's highest over lowest
    below = min(lowest[FREE] + lowest[OPEN], default=math.inf)
    above = wide * max(lowest[WITH_MATRIX] + lowest[OPEN], default=0.0)
    return (below if any(wide * b <= below for b in lowest[WITH_MATRIX]) else None,
            above if any(b >= above for b in lowest[FREE]) else None)
