"""results/calibration.csv: how often comparisons of runs are wrong, and how far machines of one kind differ, as
`python3 -m report.compare --calibrate` has measured it.

Of the same kernels some are faster on one card of a kind, some on another, by more than processes of one card differ. So
what one card says of its kind, a ratio of two strategies too, is known only so far.
"""

from __future__ import annotations

import csv
import functools
import pathlib
from collections.abc import Sequence

FILE = pathlib.Path(__file__).resolve().parent.parent / "results" / "calibration.csv"
SLOWER = (0.01, 0.02, 0.05)
COLUMNS = ("machine", "commit", "runs", "processes", "points", "comparisons", "false_alarms", "beyond_margin",
           "false_points", "covered") + tuple(f"power_{100 * s:.0f}" for s in SLOWER) + ("apart", "told_apart")


def read() -> list[dict[str, str]]:
    if not FILE.exists():
        return []
    with open(FILE, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(new: dict[str, str]) -> None:
    """Replaces what the file has of this machine, commit and number of processes."""
    of = ("machine", "commit", "processes")
    kept = [r for r in read() if any(r[name] != new[name] for name in of)]
    with open(FILE, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept + [new])
    _spreads.cache_clear()


@functools.cache
def _spreads() -> Sequence[tuple[str, str, float]]:
    return [(r["machine"], r["commit"], float(r["apart"])) for r in read()]


def apart(machine: str, but: str = "") -> float:
    """The largest spread between two runs of a kind of machine, as a standard deviation of logarithms; 0: not measured.
    but: commits of a pair that does not count."""
    return max((spread for kind, commits, spread in _spreads() if kind == machine and commits != but), default=0.0)


def apart_of(kind: str, machine: str, backend: str) -> float:
    """Of rows: measured with products and residuals on GPUs alone, so that it is 0 for all others."""
    return apart(machine) if kind == "kernels.csv" and backend == "cuda" else 0.0
