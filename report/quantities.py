"""What claims compare, each a number that a row tells; claims/README.md lists them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from report import accuracy, rows


@dataclasses.dataclass(frozen=True)
class Quantity:
    of: Callable[[rows.Row], float | None]
    unit: str  # in which it is told, where no ratio is
    factor: float = 1.0  # from the row's unit to that
    counted: bool = False  # not timed: every process has the same


def _per(above: str, below: Callable[[rows.Row], float | None]) -> Callable[[rows.Row], float | None]:
    """A column over something, None where one of both is not known or 0."""
    def of(row: rows.Row) -> float | None:
        n = below(row)
        return float(row[above]) / n if row[above] and n else None
    return of


def _nodes(row: rows.Row) -> float:
    return int(row["n_dof"]) / 3


def _work_error(row: rows.Row) -> float | None:
    """Of the tubes and brackets of report/accuracy.py, whose references no row decides, where they tell it."""
    problem = accuracy.problem_of(str(row["case"]))
    reference = accuracy.known(problem, str(row["element"])) if problem else None
    if not reference or row["work"] is None:
        return None
    error = reference.error(float(row["work"]))
    return error if error >= reference.least else None


CORNERS = {"tet4": 4, "tet4_p4": 4, "hex8": 8, "hex8_naive": 8, "tet10": 10, "hex27": 27}

QUANTITIES: dict[str, Quantity] = {
    "speed": Quantity(lambda row: 1 / float(row["median_s"]) if row["median_s"] else None, "1/s"),
    "time": Quantity(_per("median_s", lambda row: 1.0), "ms", 1e3),
    "time_per_newton": Quantity(_per("median_s", lambda row: row["newton_iterations"]), "ms", 1e3),
    "time_per_evaluation": Quantity(_per("median_s", lambda row: row.get("evaluations", 1)), "ms", 1e3),
    "set_up_per_solve": Quantity(lambda row: float(row["setup_s"]) / float(row["median_s"])
                                 if row["setup_s"] and row["median_s"] else None, "times"),
    "energy": Quantity(_per("nj_per_dof", lambda row: 1.0), "nJ"),
    "newton": Quantity(_per("newton", lambda row: 1.0), "iterations", counted=True),
    "bytes_work_per_node": Quantity(_per("bytes_work", _nodes), "B", counted=True),
    # starts of 4 B, and 4 B for each element at a node
    "map_per_node": Quantity(lambda row: 4 + 4 * CORNERS[str(row["element"])] * int(row["n_elem"]) / _nodes(row), "B",
                             counted=True),
    "bytes_setup": Quantity(_per("bytes_setup", lambda row: 1.0), "MB", 1e-6, counted=True),
    "bytes_back_per_newton": Quantity(_per("bytes_back", lambda row: row["newton_iterations"]), "B", counted=True),
    # nodes that a rank sends, of those that it owns; 24 B each
    "interface": Quantity(_per("bytes_moved", lambda row: 24 * _nodes(row) / int(row["ranks"])), "%", 100,
                          counted=True),
    "work_error": Quantity(_work_error, "%", 100, counted=True),
    "flop": Quantity(_per("flop", lambda row: row["n_dof"]), "flop", counted=True),
}
