"""The clock and power at which tangent products of the tables of strategies were measured: medians of their samples."""

from __future__ import annotations

import dataclasses
import pathlib
import statistics
from collections.abc import Sequence

from report import rows
from report.captions import where
from report.model import Card, Model, Point
from report.places import ranked
from report.render.tables import GIGA, Cell, Table, aside, fullest, number
from report.text import count
from report.words import ELEMENT, ELEMENTS, MAIN, OPERATION, STRATEGY

PRODUCT = "jacvec"
SLOWED = {"power_cap", "slowdown", "heat", "heat_slowdown", "power_brake"}  # what makes a row `throttled`
HEADS = ("10⁹ DoF/s", "MHz", "W", "% throttled")
Sample = tuple[int, float | None, float | None, str]  # process, clock, power, throttle


@dataclasses.dataclass(frozen=True)
class Conditions:
    """Of a GPU, in the samples of a point."""

    mhz: float
    watt: float | None
    slowed: float | None  # of its samples, in %: the clock was lowered for power or heat


@rows.by_file
def _samples(path: pathlib.Path, element: str) -> dict[tuple[rows.Value, ...], list[Sample]]:
    """Of products in a file, by point."""
    found: dict[tuple[rows.Value, ...], list[Sample]] = {}
    for row in rows.read(path, only={"element": element, "operation": PRODUCT}):
        sample = rows.process_of(row), row["sm_mhz"], row["watt"], row["throttle"]
        found.setdefault(rows.anywhere(row), []).append(sample)
    return found


def conditions(p: Point) -> Conditions | None:
    """None where its samples were not kept or have no clock."""
    path = rows.packed(p.run.path / "samples.csv")
    there = _samples(path, p.element).get(rows.anywhere(p.row), []) if path.is_file() else []
    some = [sample for sample in there if sample[0] in p.processes]
    clocks = [clock for _, clock, _, _ in some if clock is not None]
    watts = [watt for _, _, watt, _ in some if watt is not None]
    slowed = [not SLOWED.isdisjoint(throttle.split()) for _, _, _, throttle in some if throttle]
    if not clocks:
        return None
    return Conditions(statistics.median(clocks), statistics.median(watts) if watts else None,
                      100 * sum(slowed) / len(slowed) if slowed else None)


def cells(p: Point | None) -> list[Cell]:
    """Under HEADS."""
    found = conditions(p) if p else None
    told = [found.mhz, found.watt, found.slowed] if found else [None] * 3
    return [number(p.throughput if p else None, GIGA), *(Cell("" if v is None else f"{v:.0f}", v) for v in told)]


def span(values: Sequence[float], unit: str) -> str:
    least, most = f"{min(values):.0f}", f"{max(values):.0f}"
    return f"{least} {unit}" if least == most else f"{least} to {most} {unit}"


def clocks_table(model: Model, card: Card) -> Table | None:
    """Of main strategies, and of what else worked without a pause; of GPUs."""
    lines, runs, turns, dofs = [], [], [], []
    for element in ELEMENTS if card.backend == "cuda" else ():
        full = fullest(model, card, element)
        elsewhere = aside(model, full) if full else {}
        some = [p for p in full if p.operation == PRODUCT and not elsewhere[p]]
        at = {p.strategy: p for p in some}
        for strategy in ranked(some):
            p, sustained = at[strategy], model.sustained(at[strategy])
            if found := conditions(p):
                turns.append(found)
            if (found or sustained and conditions(sustained)) and (strategy in MAIN or sustained):
                lines.append([Cell(ELEMENT[element]), Cell(STRATEGY[strategy]), *cells(p), *cells(sustained)])
                runs += [p.run, *([sustained.run] if sustained else [])]
                dofs.append(p.n_dof)
    if not lines:
        return None
    watts = [found.watt for found in turns if found.watt is not None]
    of_all = " and ".join([span([found.mhz for found in turns], "MHz"), *([span(watts, "W")] if watts else [])])
    sizes = " and ".join(count(n) for n in dict.fromkeys(dofs))
    return Table(f"clocks-{card.key}", f"Clock and power of {OPERATION[PRODUCT]}s, {card.words}",
                 f"Throughput (interval) of main strategies at the boxes of the tables of strategies, {sizes} degrees "
                 "of freedom, and of the samples behind it: the median clock of multiprocessors in MHz, the median power "
                 "in W, and in which share of them power or heat lowered the clock (*throttled*). First in short samples "
                 "of all strategies in turns, where the power limit acts on all of them together: medians of all "
                 f"strategies are {of_all}. Then *sustained*: ten seconds without a pause, at the clock and power of "
                 f"this strategy alone. Empty: not measured so, or not known; {where(runs)}.",
                 ["element", "strategy", *HEADS, *(f"{head}, sustained" for head in HEADS)], lines, words=2)
