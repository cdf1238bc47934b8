"""What whole solves take with other Jacobians and with Anderson acceleration, compared with Newton's method."""

from __future__ import annotations

import dataclasses

from report import model as model_, set_ups
from report.model import Card, Model, Point, Run
from report.places import one, ranked
from report.render.tables import Cell, Table, kinds, milli, number
from report.rows import Row
from report.text import count
from report.words import ELEMENT, JACOBIAN, PRECONDITION, STRATEGY, problem_words

Way = tuple[str, int]  # Jacobian, depth of the acceleration
NEWTON: Way = ("tangent", 0)
JACOBIANS = list(JACOBIAN)
Place = tuple  # backend, device, case, element, preconditioner, degrees of freedom


@dataclasses.dataclass
class Entry:
    """Of a run and a place, by way: points, and rows of solves without a time."""

    run: Run
    card: Card
    points: dict[Way, list[Point]] = dataclasses.field(default_factory=dict)
    refused: dict[Way, list[Row]] = dataclasses.field(default_factory=dict)

    def solve(self, way: Way, strategy: str) -> Point | None:
        """With CUDA graphs where Newton's method has them."""
        newton = self.points.get(NEWTON, [])
        operation = "solve_graph" if one(newton, strategy=strategy, operation="solve_graph") else "solve"
        return one(self.points.get(way, []), strategy=strategy, operation=operation)

    def lost(self, way: Way, strategy: str) -> list[Row]:
        return [row for row in self.refused.get(way, []) if row["variant"] == strategy]

    @property
    def strategy(self) -> str:
        """Of those with most ways the one that takes least by Newton's method."""
        solves = {s: p for s in ranked(self.points[NEWTON]) if (p := self.solve(NEWTON, s))}
        told = {s: sum(bool(self.solve(way, s) or self.lost(way, s)) for way in self.ways) for s in solves}
        return min(solves, key=lambda s: (-told[s], solves[s].time.value))

    @property
    def ways(self) -> list[Way]:
        return sorted({*self.points, *self.refused}, key=lambda way: (JACOBIANS.index(way[0]), way[1]))

    @property
    def rank(self) -> tuple[int, int]:
        return len(self.ways), min(p.time.processes for some in self.points.values() for p in some)


def place_of(row: Row) -> Place | None:
    """None of what the table does not compare."""
    if row["ranks"] != 1 or row["precision"] != "double" or str(row["variant"]).startswith("petsc"):
        return None
    return tuple(row[name] for name in ("backend", "device", "case", "element", "precondition", "n_dof"))


def entries(model: Model) -> dict[tuple[Card, Place], Entry]:
    """Of each card and place the run with most ways, of equals that of most processes, then the newest; only where
    another way stands beside Newton's method."""
    found: dict[tuple[Run, Place], Entry] = {}
    for p in model.of("solves.csv"):
        if place := place_of(p.row):
            entry = found.setdefault((p.run, place), Entry(p.run, p.card))
            entry.points.setdefault((p.jacobian, p.anderson), []).append(p)
    for refused in model.refused:
        at = place_of(refused.row) if refused.kind == "solves.csv" else None
        if at and (there := found.get((refused.run, at))):
            way = (str(refused.row["jacobian"]), int(refused.row["anderson"] or 0))
            there.refused.setdefault(way, []).append(refused.row)
    best: dict[tuple[Card, Place], Entry] = {}
    for (_, place), entry in found.items():
        if any(p.operation == "solve" for p in entry.points.get(NEWTON, [])) and len(entry.ways) > 1:
            at = entry.card, place
            if at not in best or entry.rank > best[at].rank:
                best[at] = entry
    return best


def lines_of(place: Place, entry: Entry) -> list[list[Cell]]:
    _, _, case, element, precondition, n_dof = place
    strategy, lines = entry.strategy, []
    newton = entry.solve(NEWTON, strategy)
    for way in entry.ways:
        solve = entry.solve(way, strategy)
        lost = entry.lost(way, strategy)
        if not solve and not lost:
            continue
        words = [entry.card.short, f"{ELEMENT[element]}, {problem_words(case)}, {count(n_dof)}",
                 PRECONDITION[precondition],
                 STRATEGY[strategy], JACOBIAN[way[0]], str(way[1])]
        before = set_ups.before_solve(entry.points.get(way, []), strategy).total
        if solve:
            told = [Cell(str(n), n) for n in (solve.newton_iterations, solve.krylov_iterations)]
            told += [number(solve.time, 1e3), number(model_.ratio(solve, newton) if newton and way != NEWTON else None),
                     milli(before + solve.time.value)]
        else:
            told = [Cell(""), Cell(""), Cell(str(lost[0]["status"]).replace("_", " ")), Cell(""), Cell("")]
        processes = Cell(str(solve.time.processes), solve.time.processes) if solve else Cell("")
        lines.append([Cell(text) for text in words] + told + [processes, Cell(entry.run.marked)])
    return lines


def jacobians_table(model: Model) -> Table | None:
    at = entries(model)
    lines: list[list[Cell]] = []
    shown: list[Point] = []
    for (_, place), entry in sorted(at.items(), key=lambda e: (e[0][0].backend, e[0][0].name, *e[0][1][2:])):
        lines += lines_of(place, entry)
        shown += [p for way in entry.points if (p := entry.solve(way, entry.strategy))]
    if not lines:
        return None
    return Table(
        "jacobians", "What other Jacobians and Anderson acceleration take",
        "Whole solves to the same tolerance, of each place by the strategy that takes least by Newton's method of those "
        "with all Jacobians: Newton and Krylov iterations; time in ms, on GPUs with CUDA graphs; the same over that of "
        "Newton's method with its consistent tangent; time with the set-ups of mesh, strategy and preconditioner. "
        "*Differences*: products are differences of residuals, by GMRES. *Frozen tangent*: the elastic one (modified Newton). Depth: of Anderson "
        "acceleration. "
        f"{kinds(p.time for p in shown)}.",
        ["card", "problem, DoF", "preconditioner", "strategy", "Jacobian", "depth", "Newton", "Krylov", "solve",
         "over Newton's method", "with set-ups", "processes", "commit"], lines, words=6)
