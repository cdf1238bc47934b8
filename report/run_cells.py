"""Cells of the tables of one run: times, ratios, and what stands where nothing was timed."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Sequence

from report import model as model_
from report.model import Point, interval
from report.places import winner
from report.render.tables import Cell
from report.text import digits
from report.words import CHOOSES, NOT_A_STRATEGY

ABOVE = 1.02  # of its ceiling: the row is marked †


@dataclasses.dataclass
class Entry:
    """Of a strategy and an operation: what was timed, and the status of processes that were not."""

    point: Point | None = None
    lost: list[str] = dataclasses.field(default_factory=list)

    def text(self, words: str) -> str:
        """words: of the time."""
        if not self.point:
            return self.lost[0] if self.lost else ""
        return words + "".join(f"; {self.lost.count(s)} {s}" for s in dict.fromkeys(self.lost))

Column = dict[str, Entry]  # by strategy


def code(name: str) -> str:
    return f"`{name}`"


def throughput(entry: Entry, scale: float) -> str:
    if not entry.point:
        return entry.text("")
    above = (entry.point.row["ceiling_share"] or 0) > ABOVE
    return entry.text(interval(entry.point.throughput, scale) + (" †" if above else ""))


def gain(one: Entry | None, base: Entry | None) -> Cell:
    """Throughput over that of another point."""
    if not one or not base or not one.point or not base.point:
        return Cell("")
    ratio = model_.ratio(base.point, one.point).times(one.point.n_dof / base.point.n_dof)
    return Cell(interval(ratio), ratio.value)


def column_cells(strategies: Sequence[str], column: Column, words: Callable[[Entry], str]) -> list[Cell]:
    """Bold: the fastest, where it is faster than all others (places.winner)."""
    points = [e.point for s, e in column.items() if e.point and s not in NOT_A_STRATEGY + CHOOSES]
    won = winner(points) if len(points) > 1 else None
    best = won.fastest[0].strategy if won and won.decided else ""
    cells = []
    for s in strategies:
        text = words(column[s]) if s in column else ""
        cells.append(Cell(f"**{text}**" if s == best else text))
    return cells


def number(value: float | None, factor: float = 1.0, form: Callable[[float], str] = digits) -> Cell:
    return Cell("") if value is None else Cell(form(value * factor), value * factor)


def small(value: float) -> str:
    return f"{value:.1e}"


def milliseconds(value: float) -> str:
    return digits(value) if value >= 0.1 else f"{value:.2f}"


def median_of(values: Iterable[float | None]) -> float | None:
    there = [v for v in values if v is not None]
    return statistics.median(there) if there else None
