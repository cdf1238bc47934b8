"""How far the numbers hold: what intervals cover, simulated, and how often comparisons are wrong, measured."""

from __future__ import annotations

import functools
import math

import numpy

from report import compare, statistics, words
from report.render.tables import Cell, Table

WITHIN = 0.003  # spread of samples of a process; real rows on an H100 have 0.05 to 0.5 %
SHOWN = ((3, 0.02), (5, 0.02), (10, 0.02))  # processes, and how far they spread


def simulate(random: numpy.random.Generator, processes: int, between: float, heavy: bool) -> numpy.ndarray:
    """Times [process][9 samples] around 1; heavy: Student's t with 3 degrees of freedom between processes."""
    z = random.standard_t(3, processes) / math.sqrt(3) if heavy else random.standard_normal(processes)
    return numpy.exp(between * z)[:, None] * numpy.exp(WITHIN * random.standard_normal((processes, 9)))


@functools.cache
def coverage(processes: int, between: float, heavy: bool = False, bootstrap: bool = False, runs: int = 800) -> float:
    """The share of simulated measurements whose 95 % interval holds the truth."""
    random = numpy.random.default_rng(1)
    hits = 0
    for _ in range(runs):
        x = simulate(random, processes, between, heavy)
        if bootstrap:
            low, high = statistics.bootstrap(x.tolist(), random, 300)
        else:
            e = statistics.estimate([statistics.median_of(p) for p in x.tolist()])
            low, high = e.low, e.high
        hits += low <= 1 <= high
    return hits / runs


def percent(share: float) -> Cell:
    return Cell(f"{100 * share:.3g} %", share)


def coverage_table() -> Table:
    rows = [[Cell(str(processes), processes), percent(coverage(processes, between)),
             percent(coverage(processes, between, heavy=True)),
             percent(coverage(processes, between, bootstrap=True, runs=300))] for processes, between in SHOWN]
    return Table("coverage", "What 95 % intervals cover",
                 f"How many of 100 simulated measurements have an interval that holds the truth, of processes that spread by "
                 f"{100 * SHOWN[0][1]:g} % with 9 samples that spread by {100 * WITHIN:g} %. Student's t on logarithms is "
                 "what all intervals between processes here are; *heavy*: processes spread by Student's t with 3 degrees "
                 "of freedom. The hierarchical bootstrap is shown because it is often recommended: it is too narrow.",
                 ["processes", "Student's t", "Student's t, heavy", "bootstrap"], rows, words=0)


def calibration_table() -> Table | None:
    """None where no run was compared with itself."""
    rows = [[Cell(words.machine(r["machine"])), Cell(r["commit"][:7]),
             *(Cell(r[k], float(r[k])) for k in ("processes", "points", "comparisons")),
             *(percent(float(r[k])) for k in ("false_alarms", "false_points", "power_1", "power_2", "power_5"))]
            for r in compare.read_calibrations()]
    if not rows:
        return None
    return Table("calibration", "How often a comparison of two runs is wrong",
                 "Processes of one run, split in all ways and compared with each other (`make compare`): how many comparisons "
                 "call a point different that is not, how many points they do so of, and how many points are seen that are "
                 "made slower by 1, 2 and 5 %. Processes of one card within minutes of each other.",
                 ["machine", "commit", "processes a side", "points", "comparisons", "with a false alarm", "points with one",
                  "seen: 1 %", "2 %", "5 %"], rows, words=2)
