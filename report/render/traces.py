"""Which share of a solve's time is communication, by kernel (communication.csv)."""

from __future__ import annotations

from report import sources
from report.captions import where
from report.communication import COMMUNICATION
from report.model import Card, Model, Run
from report.render.tables import Cell, Table, milli, size
from report.text import digits
from report.traces import Solve, traced
from report.words import BY, ELEMENT, PRECONDITION, STRATEGY

def percent(share: float | None) -> Cell:
    return Cell(f"{100 * share:.1f} %", 100 * share) if share is not None else Cell("")


def line_of(run: Run, solve: Solve) -> list[Cell]:
    row = solve.first
    commit = sources.marked(row["commit"], sources.changed(row["commit"], "communication.csv", row["variant"], row["backend"]))
    shares = [*(solve.busy(name) if solve.sent else 0.0 for name in COMMUNICATION), solve.communication, solve.alone,
              solve.idle]
    return [Cell(Card(run.machine, row["backend"], row["device"], 0).short),
            Cell(f"{ELEMENT[row['element']]}, {PRECONDITION[row['precondition']]}"), Cell(STRATEGY[row["variant"]]),
            Cell(BY[row["transport"]]), Cell("yes" if row["graphs"] else "no"), size(row["n_dof"]),
            Cell(str(row["ranks"]), row["ranks"]), *map(percent, shares),
            Cell(digits(solve.sent_launches), solve.sent_launches), milli(row["untraced_s"]), Cell(commit)]


def communication_table(model: Model) -> Table | None:
    found = traced(model)
    if not found:
        return None
    return Table(
        "communication", "Communication by kernel",
        "Of a solve with fixed work, traced by CUPTI, means over its GPUs. Halo and sums over the GPUs: shares of the time in "
        "which a GPU is at work; where kernels overlap, each moment is divided between them, and a kernel that waits for "
        "another GPU counts with its wait. Communication: both, of the time from the first kernel to the end of the last one; "
        "alone: while nothing else ran there, so that it cost time. Idle: neither a kernel nor a copy ran. Launches: of halo "
        "and sums, on a GPU. Time of the load steps, without tracing, in ms. One solve each; "
        f"{where([run for run, _ in found])}.",
        ["card", "solve", "strategy", "by", "graphs", "DoF", "GPUs", "halo", "sums", "communication", "alone", "idle",
         "launches", "time", "commit"], [line_of(run, solve) for run, solve in found], words=5)
