"""Which share of a solve's time is communication, by kernel (communication.csv)."""

from __future__ import annotations

from report import sources
from report.captions import where
from report.communication import COMMUNICATION
from report.model import Card, Model, Run
from report.render.tables import Cell, Table, milli, percent, size
from report.text import digits
from report.traces import Solve, traced
from report.words import BY, ELEMENT, PRECONDITION, STRATEGY

COLUMNS = ["card", "mesh", "commit", "strategy", "by", "graphs", "DoF", "GPUs", "halo, %", "sums, %",
           "communication, %", "alone, %", "idle, %", "launches", "time, ms"]
WORDS = COLUMNS.index("DoF")
ALIKE = ("card", "mesh", "commit")  # said by the caption where it is the same in all lines


def line_of(run: Run, solve: Solve) -> list[Cell]:
    """In the order of COLUMNS."""
    row = solve.first
    commit = sources.marked_row(row["commit"], "communication.csv", row["variant"], row["backend"])
    shares = [*(solve.span(name) if solve.sent else 0.0 for name in COMMUNICATION), solve.communication, solve.alone,
              solve.idle]
    return [Cell(Card(run.machine, row["backend"], row["device"], 0).short),
            Cell(f"{ELEMENT[row['element']]}, {PRECONDITION[row['precondition']]}"), Cell(commit),
            Cell(STRATEGY[row["variant"]]), Cell(BY[row["transport"]]), Cell("yes" if row["graphs"] else "no"),
            size(row["n_dof"]), Cell(str(row["ranks"]), row["ranks"]), *map(percent, shares),
            Cell(digits(solve.sent_launches), solve.sent_launches), milli(row["untraced_s"])]


def communication_table(model: Model) -> Table | None:
    found = traced(model)
    if not found:
        return None
    lines = [line_of(run, solve) for run, solve in found]
    same = [name for i, name in enumerate(COLUMNS) if name in ALIKE and len({line[i].text for line in lines}) == 1]
    of = "; ".join(lines[0][COLUMNS.index(name)].text for name in same if name != "commit")
    kept = [i for i, name in enumerate(COLUMNS) if name not in same]
    return Table(
        "by-kernel", "Communication by kernel",
        "Solves with fixed work, of the elastic cube of `bench/problems/bending.json`: five times twenty iterations "
        f"of CG with multigrid, set-up left out{f' ({of})' if of else ''}. Traced by CUPTI, means over GPUs. All "
        "shares are of the time from the first kernel to the end of the last one. Halo, and sums over the GPUs: where kernels "
        "overlap, each moment is divided between them, and a kernel that waits for another GPU counts with its wait. "
        "Communication: both; alone: while nothing else ran there, so that it cost time. Idle: neither a kernel nor a "
        "copy ran. Launches: of halo and sums, on a GPU. Time: of the load steps, without tracing. "
        f"One solve each; {where([run for run, _ in found])}.",
        [COLUMNS[i] for i in kept], [[line[i] for i in kept] for line in lines],
        words=sum(i < WORDS for i in kept))
