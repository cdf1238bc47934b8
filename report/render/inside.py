"""One product within a solve, compared with samples of it."""

from __future__ import annotations

from report.captions import where
from report.inside import COMPARED, LEFT_OUT, insides
from report.model import Model
from report.render.tables import Cell, Table, number, size
from report.words import ELEMENT, PRECONDITION, STRATEGY, in_order, problem_words

MICRO = 1e6


def inside_table(model: Model) -> Table | None:
    rows, runs = [], []
    for (card, element, case, _, precondition), some in insides(model).items():
        by = {inside.product.strategy: inside for inside in some}
        for strategy in in_order(by):
            i = by[strategy]
            processes = [p.time.processes for p in (i.product, i.burst, i.cold) if p]
            runs.append(i.product.run)
            rows.append([Cell(card.short), Cell(ELEMENT[element]), Cell(problem_words(case)),
                         Cell(PRECONDITION[precondition]), Cell(STRATEGY[strategy]), size(i.product.n_dof),
                         number(i.product.time, MICRO), size(i.burst.n_dof), number(i.burst.time, MICRO),
                         number(i.cold.time if i.cold else None, MICRO), number(i.over_burst), number(i.over_cold),
                         Cell(", ".join(map(str, processes))), Cell(i.product.run.marked)])
    if not rows:
        return None
    return Table("inside", "Products within solves",
                 "Time of one product within a solve, in short samples of all strategies in turns, and in single calls "
                 f"with cold caches; in µs. {COMPARED} {LEFT_OUT} Intervals are between processes, of one process "
                 "within it. Processes: of the solve, of short samples, of cold ones. ~: an interval so wide that "
                 f"nobody wins by it; {where(runs)}.",
                 ["card", "element", "problem", "preconditioner", "strategy", "DoF", "within the solve",
                  "DoF of samples", "short samples", "cold", "within / short", "within / cold", "processes", "commit"], rows, words=5)
