"""How far the numbers hold: what intervals cover, simulated and measured, and how often comparisons are wrong, measured."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable

import numpy

from report import calibration, compare, statistics, text, words
from report.model import Model
from report.panels import APPENDIX
from report.render.tables import Cell, Table
from report.rows import LEAST_PROCESSES, disturbed

WITHIN = 0.003  # spread of samples of a process; real rows on an H100 have 0.05 to 0.5 %
SHOWN = ((3, 0.02), (5, 0.02), (10, 0.02))  # processes, and how far they spread
SIMULATED, RESAMPLED = 4000, 1000  # measurements; of those whose interval is a bootstrap's, which takes long


def simulate(random: numpy.random.Generator, processes: int, between: float, heavy: bool) -> numpy.ndarray:
    """Times [process][9 samples] around 1; heavy: Student's t with 3 degrees of freedom between processes."""
    z = random.standard_t(3, processes) / math.sqrt(3) if heavy else random.standard_normal(processes)
    return numpy.exp(between * z)[:, None] * numpy.exp(WITHIN * random.standard_normal((processes, 9)))


@functools.cache
def coverage(processes: int, between: float, heavy: bool = False, bootstrap: bool = False, runs: int = SIMULATED) -> float:
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
    """In a column whose head has the unit."""
    return Cell(f"{100 * share:.3g}", 100 * share)


def error_of(shares: Iterable[float], runs: int) -> str:
    """The largest standard error of such shares, in per cent."""
    return f"{100 * max(math.sqrt(share * (1 - share) / runs) for share in shares):.1g}"


def coverage_table() -> Table:
    shares = [(coverage(processes, between), coverage(processes, between, heavy=True),
               coverage(processes, between, bootstrap=True, runs=RESAMPLED)) for processes, between in SHOWN]
    rows = [[Cell(str(processes), processes), *map(percent, own)] for (processes, _), own in zip(SHOWN, shares)]
    return Table("coverage", "What 95 % intervals cover",
                 f"How many of 100 simulated measurements have an interval that holds the truth, of processes that spread by "
                 f"{100 * SHOWN[0][1]:g} % with 9 samples that spread by {100 * WITHIN:g} %. Of {SIMULATED} measurements, with a "
                 f"standard error of {error_of((share for own in shares for share in own[:2]), SIMULATED)} percentage points at "
                 f"most; of the bootstrap {RESAMPLED} and {error_of((own[2] for own in shares), RESAMPLED)}. Student's t on logarithms is "
                 "what all intervals between processes here are; *heavy*: processes spread by Student's t with 3 degrees "
                 "of freedom. The hierarchical bootstrap is shown because it is often recommended: of three processes it is too narrow.",
                 ["processes", "Student's t, %", "Student's t, heavy, %", "bootstrap, %"], rows, words=0)


def held_by_others(read: Model) -> Table | None:
    """How many intervals within one process hold what the other processes of that point say; None without such points."""
    held: dict[tuple[str, str, str], list[bool]] = {}
    for p in read.points:
        if p.time.processes < LEAST_PROCESSES or any(map(disturbed, p.rows)):
            continue
        logs = [math.log(m) for m in p.medians]
        for row, own in zip(p.rows, logs):
            low, high = row["ci95_low_s"], row["ci95_high_s"]
            if low is not None and high is not None:
                others = math.exp((sum(logs) - own) / (len(logs) - 1))
                key = p.card.words, p.kind.removesuffix(".csv"), str(p.row["condition"])
                held.setdefault(key, []).append(float(low) <= others <= float(high))
    rows = [[*map(Cell, key), Cell(str(len(some)), len(some)), percent(sum(some) / len(some))]
            for key, some in sorted(held.items())]
    if not rows:
        return None
    return Table("one-process", "What intervals within one process hold, measured",
                 f"Of points with {LEAST_PROCESSES} processes or more, none of them noisy: how many of the 95 % intervals "
                 "of one process's samples hold the mean of the other processes of that point. So far a number of one "
                 "process may be trusted.", ["on", "program", "condition", "intervals", "hold, %"], rows, words=3)


KIND = {calibration.BURST: "burst", calibration.SMALL: f"burst, below {text.count(calibration.SMALL_BELOW)} DoF",
        calibration.SUSTAINED: "sustained"}


def spreads_used() -> list[str]:
    """Markdown: how far runs are taken to differ, of each kind of samples."""
    known, lines = calibration.read(), []
    for kind, said in KIND.items():
        of = calibration.largest(samples=kind)
        pairs = sum(r["runs"] == "2" and r["samples"] == kind for r in known)
        lines.append([said, f"{100 * of.times:.3g}", f"{100 * of.ratios:.3g}", f"{100 * compare.margin_of(of.times):g}", str(pairs)])
    return text.table(["samples", "σ of times, %", "σ of ratios, %", "times are the same within, %", "pairs of runs"], lines, 1)


def reliability_measured() -> list[str]:
    """Markdown: how often comparisons are wrong and what they see, of each machine and kind of samples from the least to the
    most of all runs or pairs that others judge."""
    def span(some: list[dict[str, str]], *names: str) -> str:
        found = [[100 * float(r[name]) for r in some if not math.isnan(float(r[name]))] for name in names]
        ends = [dict.fromkeys((f"{min(f):.3g}", f"{max(f):.3g}")) for f in found if f]
        return ", ".join("–".join(e) for e in ends) or "-"

    lines = []
    for (machine, runs, kind), some in calibration.judged().items():
        one, points = runs == "1", [int(r["points"]) for r in some]
        what = f"{len(some)} {'run' if one else 'pair'}{'s' * (len(some) > 1)}"
        lines.append([words.machine(machine), KIND[kind], what, "–".join(dict.fromkeys(map(str, (min(points), max(points))))),
                      span(some, "false_alarms"), span(some, "covered"), span(some, "same"),
                      span(some, "power_1", "power_2", "power_5"), span(some, "slowed_1", "slowed_2", "slowed_5"),
                      "-" if one else span(some, "apart"), "-" if one else span(some, "ratios_apart")])
    return text.table(["card", "samples", "of", "points", "comparisons with a false alarm, %", "intervals hold 1, %",
                       "the same, %", "seen of 1, 2, 5 %, %", "of really slower ones, %", "times apart, %",
                       "ratios apart, %"], lines, 3)


def calibration_table() -> Table | None:
    """None where no run was compared with itself."""
    def spread(r: dict[str, str], name: str) -> Cell:
        return percent(float(r[name])) if r["runs"] == "2" else Cell("-")

    def measured(r: dict[str, str], name: str) -> Cell:
        return Cell("-") if math.isnan(float(r[name])) else percent(float(r[name]))

    rows = [[Cell(words.machine(r["machine"])), Cell(", ".join(c[:7] for c in r["commit"].split())), Cell(KIND[r["samples"]]),
             *(Cell(r[k], float(r[k])) for k in ("processes", "points", "comparisons")),
             *(percent(float(r[k])) for k in ("false_alarms", "false_points", "covered", "margin", "same", "power_1",
                                              "power_2", "power_5")),
             *(measured(r, k) for k in ("slowed_1", "slowed_2", "slowed_5")),
             *(spread(r, k) for k in ("apart", "told_apart", "ratios_apart", "told_ratios_apart", "ratios_covered"))]
            for r in calibration.read()]
    if not rows:
        return None
    return Table("calibration", "How often a comparison of two runs is wrong",
                 "Processes of one run, or of two runs of the same kernels (two commits), in groups that are compared with "
                 "each other in all ways (`make compare`): how many comparisons tell a point apart that is the same, how many "
                 "points are told apart, how many 95 % intervals of ratios of times hold 1, how many points are called "
                 "the same within which margin, and how many points are seen whose times are made longer by 1, 2 and 5 %; "
                 "*really*: of operations that do so many more calls than they count, in the run or in the second one. "
                 "*Apart*: how far times of the two runs differ beyond what their processes tell, as a standard "
                 "deviation; *others*: the largest such figure of pairs of other runs, which all columns "
                 "before it include, so that nothing judges itself (0: there is no other pair). Then the same of ratios of two strategies at one place, "
                 "and how many intervals of the first run hold the ratio of the second one. The largest figures of all pairs, "
                 "of sustained samples those of sustained ones, are part of intervals here. Runs are hours or days apart, on other cards where more than one was lent; "
                 "where their commits differ the program that timed them may, too. Groups of the same processes are no "
                 "independent comparisons, and neither are pairs that share a run.",
                 ["machine", "commits", "samples", "processes a side", "points", "comparisons",
                  *(f"{head}, %" for head in (
                      "with a false alarm", "points with one", "intervals hold", "margin", "the same",
                      "seen of 1 %", "seen of 2 %", "seen of 5 %", "really of 1 %", "really of 2 %", "really of 5 %",
                      "apart", "others", "ratios apart", "ratios of others", "ratios hold"))],
                 rows, words=2, wanted=APPENDIX)
