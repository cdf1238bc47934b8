"""results/calibration.csv: how often comparisons of runs are wrong, and how far runs on GPUs of one kind differ, as
`python3 -m report.compare --calibrate` has measured it.

Of the same kernels some are faster in one run, some in another, on other cards, hours or days later, by more than
processes of one run differ. So what one run says, of a ratio of two strategies too, is known only so far. The largest
spread of two runs of any kind of GPU is taken for all kinds: few pairs were measured, and none would be no spread. Two
kinds of samples have one of their own: sustained ones, because at its limit of power each card has another clock, and
those of small meshes, where an operation takes microseconds and the host's launches take part in its time.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import pathlib
from collections.abc import Iterable, Mapping, Sequence

FILE = pathlib.Path(__file__).resolve().parent.parent / "results" / "calibration.csv"
SLOWER = (0.01, 0.02, 0.05)
SAMPLES = BURST, SMALL, SUSTAINED = "burst", "small", "sustained"  # all that are none of the others count as the first
SMALL_BELOW = 250_000  # degrees of freedom
COLUMNS = ("machine", "commit", "samples", "runs", "processes", "points", "comparisons", "false_alarms", "margin",
           "beyond_margin", "false_points", "covered", "same") + tuple(f"power_{100 * s:.0f}" for s in SLOWER) + (
               "apart", "told_apart", "ratios_apart", "told_ratios_apart", "ratios_covered") + tuple(
                   f"slowed_{100 * s:.0f}" for s in SLOWER)


@dataclasses.dataclass(frozen=True)
class Spread:
    """Between two runs, beyond what their processes tell, as standard deviations of logarithms; 0: not measured."""

    times: float = 0.0  # of one strategy
    ratios: float = 0.0  # of two strategies at one place


def read() -> list[dict[str, str]]:
    if not FILE.exists():
        return []
    with open(FILE, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def judged() -> dict[tuple[str, str, str], list[dict[str, str]]]:
    """What was measured of single runs and of pairs that other pairs have judged, by machine, number of runs and kind of
    samples."""
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for r in read():
        if r["runs"] == "1" or float(r["told_apart"]):
            groups.setdefault((r["machine"], r["runs"], r["samples"]), []).append(r)
    return groups


def write(new: dict[str, str]) -> None:
    """Replaces what the file has of this machine, commit, kind of samples and number of processes."""
    of = ("machine", "commit", "samples", "processes")
    kept = [r for r in read() if any(r[name] != new[name] for name in of)]
    with open(FILE, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(kept + [new], key=lambda r: [r[name] for name in ("machine", "runs", "samples", "commit")]))
    _pairs.cache_clear()
    largest.cache_clear()


def samples_of(row: Mapping[str, object]) -> str:
    if row.get("condition") == SUSTAINED:
        return SUSTAINED
    return SMALL if int(str(row.get("n_dof") or SMALL_BELOW)) < SMALL_BELOW else BURST


@functools.cache
def _pairs() -> Sequence[tuple[frozenset[str], str, Spread]]:
    return [(frozenset(r["commit"].split()), r["samples"], Spread(float(r["apart"]), float(r["ratios_apart"])))
            for r in read() if r["runs"] == "2"]


@functools.cache
def largest(without: frozenset[str] = frozenset(), samples: str = BURST) -> Spread:
    """Of all pairs of runs; without: commits whose pairs do not count."""
    found = [spread for commits, of, spread in _pairs() if of == samples and not commits & without]
    return Spread(max((s.times for s in found), default=0.0), max((s.ratios for s in found), default=0.0))


def of_ratios(kind: str, some: Iterable[Mapping[str, object]]) -> float:
    """Of rows of a kind of file: only operations of `kernels` on GPUs were compared so; 0 for all others."""
    there = list(some)
    if kind != "kernels.csv" or all(row.get("backend") != "cuda" for row in there):
        return 0.0
    return max(largest(samples=s).ratios for s in set(map(samples_of, there)))
