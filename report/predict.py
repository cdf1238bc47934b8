"""Predicts the ranking of strategies on chips that were not measured.

Two cards that differ in memory bandwidth alone (H100 and H200: the same 33 TF/s in FP64, 3.1 and 4.5 TB/s as measured) tell
which part of an operation's time waits for memory: with T = M / bandwidth + C, two times give the bytes M and the rest C.
M is what the memory really moved, not a model. On another chip C is taken to lie between two bounds:

    a faster chip    C times the ratio of FP64 rates, if arithmetic is what takes the time, and C itself, if it is not
    a slower chip    the larger of C and flops / rate, and C times the ratio

and the time between the larger of memory's and C (one hides the other) and their sum. So a prediction is an interval. Of
a matrix flops are 2 for each number of 8 bytes that it reads. What is left out: sizes
of caches and shared memory, atomics, latency, power.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import tomllib
from collections.abc import Iterable

from report import model, rows, text
from report.model import Model, Point, Run
from report.text import digits
from report.words import NOT_A_STRATEGY

CHIPS = pathlib.Path(__file__).with_name("chips.toml")
NARROW, WIDE = "nvidia-h100-80gb-hbm3", "nvidia-h200"
PRODUCTS = ("jacvec_elastic", "jacvec")


@dataclasses.dataclass(frozen=True)
class Chip:
    name: str
    rate: float  # FP64, flop/s, as a kernel reaches it
    bandwidth: float  # B/s, as a copy reaches it


@dataclasses.dataclass(frozen=True)
class Operation:
    """One strategy's product on one mesh, split by two cards."""

    variant: str
    element: str
    operation: str
    n_dof: int
    moved: float  # B
    rest: float  # s, at the rate of the cards that split it
    flop: float
    rate: float

    def seconds(self, chip: Chip) -> tuple[float, float]:
        """At best and at worst."""
        memory, slower = self.moved / chip.bandwidth, self.rate / chip.rate
        floor = self.flop / chip.rate
        low = self.rest * slower if slower < 1 else max(self.rest, floor)
        high = max(self.rest, self.rest * slower, low)
        return max(memory, low, floor), max(memory + high, floor)


def split(narrow: Point, wide: Point, cards: tuple[Chip, Chip]) -> Operation | None:
    """None where the times of the two cards are no such sum: then noise is larger than the difference."""
    slow, fast = narrow.time.value, wide.time.value
    moved = (slow - fast) / (1 / cards[0].bandwidth - 1 / cards[1].bandwidth)
    moved = max(moved, 0.0)
    rest = max(fast - moved / cards[1].bandwidth, 0.0)
    flop = float(narrow.flop) if narrow.flop else moved / 4
    if slow < 0.95 * fast or moved + rest == 0:
        return None
    return Operation(narrow.strategy, narrow.element, narrow.operation, narrow.n_dof, moved, rest, flop, cards[1].rate)


def ceilings(run: Run) -> Chip | None:
    """Of a measured card: what a copy and a loop of multiplications and additions reached."""
    try:
        return Chip(run.told("gpu"), 1e9 * float(run.told("cuda_fma_gflop_per_s")),
                    1e9 * float(run.told("cuda_copy_gb_per_s")))
    except ValueError:
        return None


def pairs(read: Model) -> Iterable[tuple[Point, Point, tuple[Chip, Chip]]]:
    """Products of the newest commit that both cards measured, on the largest box."""
    there = dict.fromkeys(p.run for p in read.kernels)
    runs = {machine: {run.folder: run for run in there if run.machine == machine} for machine in (NARROW, WIDE)}
    for folder in sorted(set(runs[NARROW]) & set(runs[WIDE]), reverse=True):
        cards = [ceilings(runs[m][folder]) for m in (NARROW, WIDE)]
        found = [{rows.point_of(p.row): p for p in _products(runs[m][folder])} for m in (NARROW, WIDE)]
        both = [key for key in found[0] if key in found[1]]
        if None in cards or not both:
            continue
        most = max(found[0][key].n_dof for key in both)
        for key in both:
            if found[0][key].n_dof == most:
                yield found[0][key], found[1][key], (cards[0], cards[1])  # type: ignore[misc]
        return


def _products(run: Run) -> Iterable[Point]:
    path = run.path / "kernels.csv"
    for p in model.points_of(run, path.name, rows.read(path))[0] if path.exists() else ():
        if (p.operation in PRODUCTS and p.backend == "cuda" and p.mesh.words == "box"
                and p.strategy not in NOT_A_STRATEGY and all(p.row[c] == value for c, value in rows.USUAL.items())):
            yield p


def operations(read: Model) -> list[Operation]:
    return [o for narrow, wide, cards in pairs(read) if (o := split(narrow, wide, cards))]


def chips(reached: float = 0.92) -> list[Chip]:
    """Of the data sheets; a copy on H100 and H200 reached 0.92 and 0.94 of theirs."""
    with open(CHIPS, "rb") as file:
        tables = tomllib.load(file)
    return [Chip(name, 1e12 * t["fp64_tflop_per_s"], reached * 1e12 * t["tb_per_s"]) for name, t in tables.items()]


def balance(free: Operation, matrix: Operation) -> tuple[float, float]:
    """FP64 flop per byte of bandwidth below which the matrix must win, and above which it must lose: by the bounds of the
    matrix-free product and the matrix's memory alone. 0 or infinity where there is no such balance."""
    lost, won = matrix.moved, free.moved
    below = free.flop / lost if lost > 0 else 0.0
    above = free.rest * free.rate / (lost - won) if lost > won else math.inf
    return below, above


def table(found: list[Operation]) -> list[str]:
    """Markdown: throughput of each strategy on each chip, as intervals; the leading ones in bold."""
    listed = chips()
    lines = []
    groups = sorted({(o.element, o.operation) for o in found})
    for element, operation in groups:
        group = [o for o in found if (o.element, o.operation) == (element, operation)]
        leads = [max(o.n_dof / o.seconds(chip)[1] for o in group) for chip in listed]
        for o in sorted(group, key=lambda o: o.seconds(listed[0])[1]):
            cells = []
            for chip, lead in zip(listed, leads):
                best, worst = o.seconds(chip)
                said = f"{digits(o.n_dof / worst / 1e9)}–{digits(o.n_dof / best / 1e9)}"
                cells.append(f"**{said}**" if o.n_dof / best >= lead else said)
            lines.append([element, "tangents" if operation == "jacvec" else "elastic", f"`{o.variant}`", *cells])
    return text.table(["element", "product", "strategy", *(c.name for c in listed)], lines, 3)


def balances(found: list[Operation]) -> list[str]:
    """Sentences: from which balance of a chip on the matrix wins or loses against patch."""
    by = {(o.variant, o.element, o.operation): o for o in found}
    lines = []
    for element in sorted({o.element for o in found}):
        for operation in PRODUCTS:
            free, matrix = (by.get((v, element, operation)) for v in ("patch", "assembled_bsr"))
            if free and matrix:
                below, above = balance(free, matrix)
                lines.append(f"- {element}, {'tangents' if operation == 'jacvec' else 'elastic'}: the matrix must win below "
                             f"{below:.2g} FP64 flop for each byte of bandwidth, and `patch` above {above:.2g}.")
    return lines
