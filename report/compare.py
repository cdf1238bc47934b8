"""Compares two runs, commits or cards: point by point the ratio of their times, with an interval and a verdict.

    python3 -m report.compare A B [--margin SHARE] [--apart SHARE] [--rows OUT.csv]
    python3 -m report.compare --calibrate RUN [RUN] [--without STRATEGY] [--write]

A and B are result folders, folders of folders, or CSV files with rows (results/README.md). Each line says time of B /
time of A. Verdicts: faster, slower (B than A), same (within the margin), cannot tell, not comparable (and why).

A point is called faster or slower only where that holds beside all others of the comparison: p-values by a moderated
t-test on logarithms of the processes' medians, corrected by Holm's method, so that a comparison of a binary with itself
says faster or slower of any point in about 5 of 100 cases. It is called the same where the 95 % interval of the ratio
lies within the margin (--margin). With fewer than 3 processes on a side nothing is told.

Two runs are not alike: of the same kernels some are faster in one, some in the other, on another card or another day.
The largest spread found between two runs on GPUs of one kind (--calibrate A B --write), as a standard deviation, is
part of each interval and verdict of a GPU, unless A and B are of one and the same card, as their records tell
(machine.csv). Sustained operations and meshes below 0.25 M degrees of freedom have one of their own.
--apart SHARE says it instead; 0 where you know that both ran on one card.

The margin is 2 %. Where that spread is so large that runs of the same kernels could not be called the same within 2 %,
it is the least whole per cent within which 95 of 100 points of two such runs are: 5 % for a spread of 1.06 %. The lines
of points say which margin it was.

--calibrate measures how often that is wrong: it splits the processes of one run in two groups in all ways and compares
them. Of two runs of the same kernels it takes each group from another run: what differs between runs counts, too;
--without leaves out strategies whose kernels have changed between them. Of a kernel that is slower by 1, 2 or 5 % it
tells how often that is seen, by making the times of one group longer, and, where the run (of two the second) has rows of
`kernels --fe_slower`, of operations that really were slower. It tells how many of the intervals of ratios hold 1, and
how many points are called the same. Of two runs it tells how far they are apart, and all this with the spread that pairs
of other runs have told, so that nothing judges itself. --write keeps these figures in results/calibration.csv, and each
later comparison on that machine prints them.
"""

from __future__ import annotations

import argparse
import collections
import csv
import dataclasses
import functools
import itertools
import math
import pathlib
import sys
from collections.abc import Iterable, Mapping, Sequence

from report import packages

if __name__ == "__main__":
    packages.need("compare")

from report import calibration, environments, model, rows, sources, statistics, text
from report.calibration import SLOWER, Spread
from report.command_line import Parser
from report.rows import LEAST_PROCESSES
from report.words import QUADRATIC

ALPHA = 0.05
MOST_SPLITS = 200
MARGIN = 0.02  # of runs that do not differ by themselves
COMPARED = ("kernels.csv", "solves.csv", "scaling.csv", "storage.csv", "forms.csv")  # kinds of files
ALONE = ("only in A", "only in B")
SAID = {calibration.BURST: "", calibration.SMALL: f" below {text.count(calibration.SMALL_BELOW)} degrees of freedom",
        calibration.SUSTAINED: " of sustained operations"}
VERDICTS = ("faster", "slower", "same", "cannot tell", "not comparable")

Key = tuple[rows.Value, ...]
Apart = Mapping[str, float]  # by kind of samples: of times on GPUs of two machines, as a standard deviation of logarithms
NOT_APART: Apart = dict.fromkeys(calibration.SAMPLES, 0.0)
Split = tuple[tuple[int, ...], tuple[int, ...]]  # processes of both groups


@dataclasses.dataclass
class Side:
    """Rows of one point. of: their folders. A paper's run is of the same sources, by the sum in its settings, also where git
    does not know its commits."""

    rows: list[rows.Row]
    of: set[pathlib.Path] = dataclasses.field(default_factory=set)

    @property
    def medians(self) -> list[float]:
        return [float(row["median_s"]) for row in self.rows]

    def fault(self) -> str:
        """Why it can't be compared; empty where it can. Rows that were disturbed do not count."""
        if not self.rows:
            return "all processes were disturbed (noise)"
        bad = sorted({str(row["status"]) for row in self.rows if row["status"] != "ok"})
        if bad:
            return "status " + ", ".join(bad)
        if any(not 0 < time < math.inf for time in self.medians):
            return "times of 0"
        if len(self.of) == 1 and all(map(_is_paper, self.of)):
            return ""
        commits = sorted({str(row["commit"]) for row in self.rows})
        alike = all(sources.all_alike(commits[0], other) for other in commits[1:])
        return "" if alike else "of commits " + ", ".join(commits)


@dataclasses.dataclass
class Compared:
    """One point: ratio is time of B / time of A."""

    key: Key
    verdict: str
    why: str = ""
    ratio: statistics.Estimate | None = None
    p_value: float = 1.0
    more: int = 0  # further processes of each side that would decide, as the spread is; 0: not known


def name_of(key: Key) -> str:
    named = rows.named(key)
    words = [str(named["variant"]), str(named["element"]), str(named["operation"]),
             text.count(int(named["n_dof"] or 0)), str(named["case"])]
    usual = {"backend": "cuda", "ranks": 1, "storage": "", "form": ""} | rows.USUAL | rows.USUAL_SOLVE
    words += [f"{name}={named[name]}" for name in usual if named.get(name) not in (usual[name], "", None)]
    return " ".join(words)


@functools.cache
def _is_paper(folder: pathlib.Path) -> bool:
    try:
        return (folder / "settings.txt").read_text().startswith("paper; ")
    except (OSError, UnicodeDecodeError):
        return False


def load(path: pathlib.Path) -> dict[Key, Side]:
    """Rows below a folder or of a file, by point. Those of several runs are of several processes; those of several
    files of a run are not, so that of each point the first file counts, scaling.csv before scaling-peer.csv. Fault
    where there are none."""
    sides: dict[Key, Side] = {}
    file_of: dict[tuple[pathlib.Path, Key], pathlib.Path] = {}
    files = [file for file in rows.files_below(path) if rows.kind_of(file) in COMPARED]
    for file in sorted(files, key=lambda f: (f.parent, rows.kind_of(f) != f.name.removesuffix(".gz"), f.name)):
        for row in rows.kept(file):
            key = rows.anywhere(row)
            if file_of.setdefault((file.parent, key), file) == file:
                side = sides.setdefault(key, Side([]))
                side.rows += [] if rows.disturbed(row) else [row]
                side.of.add(file.parent)
    if not sides:
        raise rows.Fault(f"{path}: holds no rows")
    return sides


def _comparable(a: Side | None, b: Side | None) -> str:
    if a is None or b is None:
        return ALONE[a is None]
    fault = a.fault() or b.fault()
    if fault:
        return fault
    numberings = [sorted({str(row["numbering"]) for row in side.rows}) for side in (a, b)]
    if numberings[0] != numberings[1] and [""] not in numberings:
        return f"numbering {'/'.join(numberings[0])} and {'/'.join(numberings[1])}"
    return ""


def measured_apart() -> Apart:
    return {kind: calibration.largest(samples=kind).times for kind in calibration.SAMPLES}


def margin_of(apart: float) -> float:
    """The least share within which 95 of 100 points of two runs of the same kernels are called the same, as a whole per
    cent and at least MARGIN. The 95 % interval of such a point reaches 1.96 apart to both sides of a mean, which for 95
    of 100 points is within 1.96 apart of 0. The spread of processes adds little; rounding up leaves room for it."""
    widest = 2 * statistics.quantile(statistics.CONFIDENCE, math.inf) * apart
    return max(MARGIN, math.ceil(100 * math.expm1(widest)) / 100)


def compare(a: dict[Key, Side], b: dict[Key, Side], margin: float | None = None, apart: Apart = NOT_APART) -> list[Compared]:
    """All points of both runs, those of A first, in their order. margin: within which they are the same; None: that of
    margin_of."""
    found: list[Compared] = []
    told: list[tuple[Compared, int, tuple[list[float], list[float]]]] = []  # with the fewer processes of both
    for key in itertools.chain(a, (key for key in b if key not in a)):
        why = _comparable(a.get(key), b.get(key))
        if why:
            found.append(Compared(key, "not comparable", why))
            continue
        x, y = b[key].medians, a[key].medians
        point = Compared(key, "cannot tell", ratio=statistics.ratio(x, y, paired=False))
        found.append(point)
        fewest = min(len(x), len(y))
        if fewest < LEAST_PROCESSES:
            point.why = f"{fewest} process{'es' if fewest > 1 else ''}, {LEAST_PROCESSES} are needed"
            continue
        told.append((point, fewest, (x, y)))
    owns = statistics.moderated_differences([pair for *_, pair in told])
    firsts = [a[point.key].rows[0] for point, *_ in told]
    spreads = [apart[calibration.samples_of(row)] if row["backend"] == "cuda" else 0.0 for row in firsts]
    differences = [d.beside(spread) for d, spread in zip(owns, spreads)]
    certain = statistics.holm([d.p_value() for d in differences], ALPHA)
    for (point, fewest, _), d, own, spread, sure in zip(told, differences, owns, spreads, certain):
        low, high = d.interval()
        point.ratio = statistics.Estimate(math.exp(d.mean), math.exp(low), math.exp(high), fewest)
        point.p_value = d.p_value()
        within = margin_of(spread) if margin is None else margin
        if _judge(point, d, sure, within):
            point.more = more_processes(fewest, own, spread, within, len(told))
            point.why = f"about {point.more} more processes of each would tell" if point.more else \
                "runs of the same kernels differ by as much" if spread else "spread too wide"
    return found


def _within(ends: tuple[float, float], margin: float) -> bool:
    """Whether an interval of the logarithm of a ratio lies within the margin."""
    return -math.log1p(margin) <= ends[0] and ends[1] <= math.log1p(margin)


def _judge(point: Compared, d: statistics.Difference, certain: bool, margin: float) -> bool:
    """Whether nothing can be told."""
    if _within(d.interval(), margin):
        point.verdict = "same"
        point.why = f"within {100 * margin:g} %" + (", but not equal" if certain else "")
    elif certain:
        point.verdict = "slower" if d.mean > 0 else "faster"
    return point.verdict == "cannot tell"


def more_processes(n: int, d: statistics.Difference, apart: float, margin: float, family: int) -> int:
    """How many more than n of each side would decide if mean and spread stay as they are; 0: more than 100."""
    spread = d.error * math.sqrt(n / 2)
    for more in range(1, 101):
        m = n + more
        then = statistics.Difference(d.mean, spread * math.sqrt(2 / m), d.freedom + 2 * more).beside(apart)
        if abs(d.mean) > statistics.quantile(1 - ALPHA / family, then.freedom) * then.error:
            return more
        if abs(d.mean) + statistics.quantile(statistics.CONFIDENCE, then.freedom) * then.error <= math.log1p(margin):
            return more
    return 0


# --- how often a comparison is wrong -----------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Measured on processes of one run, split in two groups, or on groups of two runs of the same kernels."""

    runs: int
    processes: int  # of each group
    points: int
    comparisons: int  # splits
    false_alarms: float  # share of comparisons in which any point is told apart
    margin: float  # within which points are the same
    beyond_margin: float  # share of comparisons in which one is called faster or slower, and not the same
    false_points: float  # share of points that are told apart
    covered: float  # share of points whose 95 % interval of the ratio holds 1
    same: float  # share of points that are called the same
    power: tuple[float, ...]  # share of points seen to be slower, of those slower by SLOWER
    spread: Spread = Spread()  # between the two runs
    told: Spread = Spread()  # between others, which all the shares are told with
    ratios_covered: float = math.nan  # share of the first run's intervals of ratios that hold the second run's ratio
    slowed: tuple[float, ...] = (math.nan,) * len(SLOWER)  # as power, of operations that really were slower
    slowed_by: tuple[float, ...] = (math.nan,) * len(SLOWER)  # the mean over their points


def _least_count(medians: Iterable[list[float]], needed: int) -> int:
    """Of processes: as many of each point are taken."""
    least = min(map(len, medians), default=0)
    if least < needed:
        raise rows.Fault(f"no point has {needed} processes or more")
    return least


def calibrate(run: dict[Key, Side], other: dict[Key, Side] | None = None,
              told_by_others: Spread = Spread()) -> Calibration:
    """Of the points that have enough processes, in both runs where there are two. Of two commits linear elements alone:
    kernels of quadratic ones have changed between those whose runs are kept. Fault where none has."""
    needed = 2 * LEAST_PROCESSES if other is None else LEAST_PROCESSES
    keys = [key for key, side in run.items() if all(
        s is not None and not s.fault() and len(s.medians) >= needed
        for s in (side, side if other is None else other.get(key)))
        and (other is None or side.rows[0]["element"] not in QUADRATIC)
        and not rows.is_slowed(rows.named(key))]
    first = [run[key].medians for key in keys]
    if other is None:
        second, n = first, _least_count(first, needed)
        half = n // 2
        splits = [(g, h) for g in itertools.combinations(range(n), half)
                  for h in itertools.combinations([i for i in range(n) if i not in g], half) if g < h]
    else:
        second, half = [other[key].medians for key in keys], needed
        splits = _groups_of(first, second, half)
    splits = _some(splits)
    alarms = beyond = points = covered = same = 0
    seen = [0] * len(SLOWER)
    margin = margin_of(told_by_others.times)
    for g, h in splits:
        sides = [([a[i] for i in g], [b[i] for i in h]) for a, b in zip(first, second)]
        told = _told(sides, 0.0, told_by_others.times)
        ends = [d.interval() for d, _ in told]
        alarms += any(sure for _, sure in told)
        alike = [_within(end, margin) for end in ends]
        beyond += any(sure and not is_same for (_, sure), is_same in zip(told, alike))
        points += sum(sure for _, sure in told)
        covered += sum(low <= 0 <= high for low, high in ends)
        same += sum(alike)
        for k, slower in enumerate(SLOWER):
            seen[k] += sum(sure and d.mean > 0 for d, sure in _told(sides, slower, told_by_others.times))
    n_all = len(splits) * len(keys)
    found = Calibration(1 if other is None else 2, half, len(keys), len(splits), alarms / len(splits),
                        margin, beyond / len(splits), points / n_all, covered / n_all, same / n_all,
                        tuple(s / n_all for s in seen))
    slowed = [_slowed(run, run if other is None else other, slower, told_by_others.times) for slower in SLOWER]
    found = dataclasses.replace(found, slowed=tuple(share for share, _ in slowed), slowed_by=tuple(by for _, by in slowed))
    if other is None:
        return found
    times, pairs = list(zip(first, second)), _pairs_of(run, keys)
    held = [_holds(run[a], run[b], other[a], other[b], told_by_others.ratios) for a, b in pairs]
    return dataclasses.replace(found, spread=_spread(dict(zip(keys, times)), pairs), told=told_by_others,
                               ratios_covered=sum(held) / len(held) if held else math.nan)


def _groups_of(first: list[list[float]], second: list[list[float]], half: int) -> list[Split]:
    """All choices of so many processes of each."""
    chosen, others = (itertools.combinations(range(_least_count(m, half)), half) for m in (first, second))
    return list(itertools.product(chosen, others))


def _some(splits: list[Split]) -> list[Split]:
    return splits[::max(1, len(splits) // MOST_SPLITS)]


def _slowed(run: dict[Key, Side], other: dict[Key, Side], slower: float, apart: float) -> tuple[float, float]:
    """Of operations of `other` that did more calls than they counted (`kernels --fe_slower`), beside those of `run`: the
    share that is seen to be slower, and by how much they were slower in the mean; NaN where there are none."""
    condition, pairs = f"slower{100 * slower:.0f}", []
    for key, side in other.items():
        point = rows.named(key)
        usual = run.get(tuple((point | {"condition": "burst"}).values())) if point["condition"] == condition else None
        if usual and not (side.fault() or usual.fault()) and \
                min(len(side.medians), len(usual.medians)) >= LEAST_PROCESSES:
            pairs.append((usual.medians, side.medians))
    if not pairs:
        return math.nan, math.nan
    splits = _some(_groups_of([x for x, _ in pairs], [y for _, y in pairs], LEAST_PROCESSES))
    told = [of for g, h in splits for of in _told([([x[i] for i in g], [y[i] for i in h]) for x, y in pairs], 0.0, apart)]
    by = sum(statistics.ratio(y, x, paired=False).value for x, y in pairs) / len(pairs) - 1
    return sum(sure and d.mean > 0 for d, sure in told) / len(told), by


def _pairs_of(run: dict[Key, Side], keys: Iterable[Key]) -> list[tuple[Key, Key]]:
    """Two strategies at one place."""
    places: dict[Key, list[Key]] = {}
    for key in keys:
        places.setdefault(rows.anywhere(run[key].rows[0], ("variant",)), []).append(key)
    return [pair for some in places.values() for pair in itertools.combinations(some, 2)]


def _spread(sides: dict[Key, tuple[list[float], list[float]]], pairs: Sequence[tuple[Key, Key]]) -> Spread:
    of = dict(zip(sides, statistics.moderated_differences(list(sides.values()))))
    times = [d.mean**2 - d.error**2 for d in of.values()]
    ratios = [(of[a].mean - of[b].mean)**2 - of[a].error**2 - of[b].error**2 for a, b in pairs]
    return Spread(*(math.sqrt(max(0.0, sum(some) / len(some))) if some else 0.0 for some in (times, ratios)))


def _holds(a: Side, b: Side, other_a: Side, other_b: Side, apart: float) -> bool:
    """Whether the interval of a / b by which it counts (model.widened) holds that of the other run."""
    r = statistics.ratio(a.medians, b.medians, paired=False)
    low, high = model.widened(r.value, r.low, r.high, r.processes, apart)
    return low <= statistics.ratio(other_a.medians, other_b.medians, paired=False).value <= high


def _told(sides: Sequence[tuple[list[float], list[float]]], slower: float,
          apart: float) -> list[tuple[statistics.Difference, bool]]:
    """Of each point the difference, and whether it is certain, if its second group is slower."""
    pairs = [([t * (1 + slower) for t in y], x) for x, y in sides]
    d = [of.beside(apart) for of in statistics.moderated_differences(pairs)]
    return list(zip(d, statistics.holm([of.p_value() for of in d], ALPHA)))


def same_card(a: pathlib.Path, b: pathlib.Path) -> bool:
    """As far as their records tell: both of one card (or boot), and that the same. Of several nobody knows which card
    had a point in which run."""
    first, second = ({name for record in environments.records_below(path)
                      for name in record.get("identity", "").split()} for path in (a, b))
    return len(first) == 1 and first == second


def calibration_row(machine: str, commit: str, c: Calibration, samples: str = calibration.BURST) -> dict[str, str]:
    """commit: of two runs both, with a blank between them."""
    shares = (f"{c.false_alarms:.4f}", f"{c.margin:g}", f"{c.beyond_margin:.4f}", f"{c.false_points:.5f}",
              f"{c.covered:.4f}", f"{c.same:.4f}")
    counts = map(str, (c.runs, c.processes, c.points, c.comparisons))
    spreads = [f"{x:.4f}" for x in (c.spread.times, c.told.times, c.spread.ratios, c.told.ratios, c.ratios_covered)]
    powers, slowed = ([f"{p:.4f}" for p in shares] for shares in (c.power, c.slowed))
    return dict(zip(calibration.COLUMNS, (machine, commit, samples, *counts, *shares, *powers, *spreads, *slowed)))


# --- what is printed -----------------------------------------------------------------------------------------


def _ratio_text(ratio: statistics.Estimate) -> str:
    if math.isnan(ratio.low):
        return f"{ratio.value:.4f}"
    return f"{ratio.value:.4f} ({ratio.low:.4f} … {ratio.high:.4f})"


def _groups(found: Iterable[Compared]) -> dict[tuple[str, str], list[Compared]]:
    """By strategy and operation."""
    groups: dict[tuple[str, str], list[Compared]] = {}
    for point in found:
        named = rows.named(point.key)
        groups.setdefault((str(named["variant"]), str(named["operation"])), []).append(point)
    return groups


def _counts(points: Sequence[Compared]) -> str:
    return ", ".join(f"{n} {verdict}" for verdict in VERDICTS if (n := sum(p.verdict == verdict for p in points)))


def _strategies_of_one(a: dict[Key, Side], b: dict[Key, Side]) -> Iterable[str]:
    """A line for each run with strategies that the other one has nowhere."""
    in_a, in_b = (collections.Counter(str(rows.named(key)["variant"]) for key in run) for run in (a, b))
    for why, own, other in zip(ALONE, (in_a, in_b), (in_b, in_a)):
        if some := [f"{name} ({n} points)" for name, n in sorted(own.items()) if name not in other]:
            yield f"{why}: {', '.join(some)}"


def _rows_compared(a: dict[Key, Side], b: dict[Key, Side]) -> list[list[rows.Row]]:
    """Of each run those of points that both have; all where they share none."""
    keys = [key for key in a if key in b]
    return [[row for side in ([run[key] for key in keys] or run.values()) for row in side.rows] for run in (a, b)]


def describe(a: dict[Key, Side], b: dict[Key, Side], found: Sequence[Compared], apart: Apart = NOT_APART,
             margin: float | None = None, unlike: Iterable[str] = ()) -> Iterable[str]:
    """All lines that the program prints. unlike: differences of the environments."""
    alone = {why: sum(point.why == why for point in found) for why in ALONE}
    shown = [point for point in found if point.why not in alone]
    width = max((len(name_of(point.key)) for point in shown), default=0)
    for point in shown:
        ratio = _ratio_text(point.ratio) if point.ratio else ""
        yield f"{name_of(point.key):{width}}  {ratio:26}  {point.verdict}{': ' + point.why if point.why else ''}"
    yield from [f"{n} points {why}: not shown" for why, n in alone.items() if n]
    yield from _strategies_of_one(a, b)
    yield ""
    for (variant, operation), points in sorted(_groups(shown).items()):
        there = [math.log(p.ratio.value) for p in points if p.ratio]
        mean = f"{math.exp(sum(there) / len(there)):.4f}" if there else "-"
        yield f"{variant} {operation}: mean ratio {mean}; {_counts(points)}"
    yield ""
    yield f"{len(found)} points: {_counts(found)}"
    if few := sum(p.ratio is not None and p.ratio.processes < LEAST_PROCESSES for p in found):
        yield f"of {few} points a run has fewer than {LEAST_PROCESSES} processes: they cannot be told"
    yield from list(unlike) or ["environments: no difference that rows, records or samples tell"]
    kinds = {calibration.samples_of(row) for point in shown if point.ratio
             for row in a[point.key].rows[:1] if row["backend"] == "cuda"}
    if some := [(SAID[kind], apart[kind]) for kind in calibration.SAMPLES if kind in kinds and apart[kind]]:
        yield (f"runs on GPUs: taken to differ by {'; '.join(f'{100 * by:.2g} %{of}' for of, by in some)} (standard deviation) "
               "with the same kernels, which intervals and verdicts include; --apart 0 (make: APART=0) where both ran on one card")
        if margin is None:
            yield (f"the same on GPUs: within {'; '.join(f'{100 * margin_of(by):g} %{of}' for of, by in some)}, as 95 of 100 "
                   "points of two such runs are; --margin (make: MARGIN=0.02) sets another share")
    yield from _reliability(a, b)


def _reliability(a: dict[Key, Side], b: dict[Key, Side]) -> Iterable[str]:
    machines = {str(row["machine"]) for run in (a, b) for side in run.values() for row in side.rows}
    known = {of: some for of, some in calibration.judged().items() if of[0] in machines}
    for (machine, runs, kind), some in known.items():
        def least(name: str, some: list[dict[str, str]] = some) -> float:
            return min(100 * float(r[name]) for r in some)

        alarms = max(100 * float(r["false_alarms"]) for r in some)
        powers = ", ".join(f"{least(f'power_{100 * x:.0f}'):.0f} % of points slower by {100 * x:.0f} %" for x in SLOWER)
        really = [r for r in some if not math.isnan(float(r["slowed_5"]))]
        if really:
            shares = (f"{100 * min(float(r[f'slowed_{100 * x:.0f}']) for r in really):.0f}" for x in SLOWER)
            powers += f"; of operations that really were as much slower {', '.join(shares)} %"
        margins = sorted(100 * float(r["margin"]) for r in some)
        margin = " to ".join(dict.fromkeys(f"{m:g}" for m in (margins[0], margins[-1])))
        of = "processes of one run" if runs == "1" else \
            f"{len(some)} pair{'s' * (len(some) > 1)} of runs of the same kernels"
        yield (f"reliability on {machine} ({of}{SAID[kind]}, {some[0]['processes']} processes a side): a false alarm in at most "
               f"{alarms:.1f} % of comparisons; at least {least('covered'):.1f} % of 95 % intervals hold 1; calls at "
               f"least {least('same'):.0f} % of points the same within {margin} %; sees at least {powers}")
    for machine in sorted(machines - {machine for machine, *_ in known}):
        yield f"reliability on {machine}: not measured (python3 -m report.compare --calibrate RUN --write)"


def _shares(r: dict[str, str]) -> str:
    alarms, margin, beyond, points, covered, same = (100 * float(r[name]) for name in (
        "false_alarms", "margin", "beyond_margin", "false_points", "covered", "same"))
    return (f"a false alarm in {alarms:.1f} % of comparisons, beyond {margin:g} % in {beyond:.1f} %, and of "
            f"{points:.2f} % of points; {covered:.1f} % of 95 % intervals hold 1; {same:.1f} % of points are the same "
            f"within {margin:g} %")


def write_rows(path: pathlib.Path, found: Sequence[Compared]) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["point", "ratio", "low", "high", "p_value", "verdict", "why", "more_processes"])
        for p in found:
            r = p.ratio
            numbers = [f"{x:.6g}" for x in (r.value, r.low, r.high, p.p_value)] if r else [""] * 4
            writer.writerow([name_of(p.key)] + numbers + [p.verdict, p.why, p.more or ""])


def arguments() -> argparse.ArgumentParser:
    parser = Parser("report.compare", __doc__)
    parser.add_argument("runs", nargs="+", type=pathlib.Path, metavar="RUN")
    parser.add_argument("--margin", type=float, metavar="SHARE",
                        help=f"share that is still the same ({MARGIN}, or more where runs differ by themselves)")
    parser.add_argument("--apart", type=float, metavar="SHARE",
                        help="how far runs differ with the same kernels (as measured; results/calibration.csv)")
    parser.add_argument("--rows", type=pathlib.Path, metavar="OUT.csv", help="also writes the points there")
    parser.add_argument("--calibrate", action="store_true", help="measures false alarms and power on one run")
    parser.add_argument("--without", action="append", default=[], metavar="STRATEGY",
                        help="with --calibrate A B: leaves out a strategy whose kernels are not the same (repeatable)")
    parser.add_argument("--write", action="store_true", help="with --calibrate: keeps the figures")
    return parser


def show_calibrations(machine: str, commits: str, runs: Sequence[dict[Key, Side]], keep: bool) -> None:
    """Prints that of each kind of samples which the runs have. Fault where none has enough processes."""
    fault: rows.Fault | None = None
    shown = 0
    for kind in calibration.SAMPLES:
        some = [{key: side for key, side in run.items() if calibration.samples_of(rows.named(key)) == kind} for run in runs]
        others = calibration.largest(frozenset(commits.split()), kind) if len(runs) == 2 else Spread()
        try:
            c = calibrate(some[0], some[1] if len(runs) == 2 else None, others)
        except rows.Fault as why:
            fault = fault or why
            continue
        shown += 1
        kept = calibration_row(machine, commits, c, kind)
        print(f"{kind}: {c.points} points, {c.comparisons} comparisons of {c.processes} with {c.processes} processes: "
              f"{_shares(kept)}")
        for slower, power, slowed, by in zip(SLOWER, c.power, c.slowed, c.slowed_by):
            really = "" if math.isnan(slowed) else f"; really slower, by {100 * by:.2f} %: at {100 * slowed:.1f} %"
            print(f"slower by {100 * slower:.0f} %: seen at {100 * power:.1f} % of points{really}")
        if c.runs == 2:
            print(f"apart by {100 * c.spread.times:.2f} % (standard deviation), others by {100 * c.told.times:.2f} %; "
                  f"ratios of two strategies by {100 * c.spread.ratios:.2f} %, others by {100 * c.told.ratios:.2f} %: "
                  f"{100 * c.ratios_covered:.1f} % of the first run's intervals of ratios hold the second's")
        if keep:
            calibration.write(kept)
    if fault and not shown:
        raise fault


def run(a: argparse.Namespace) -> int:
    if a.rows and not a.rows.absolute().parent.is_dir():
        raise rows.Fault(f"--rows {a.rows}: there is no such folder")
    if len(a.runs) not in ((1, 2) if a.calibrate else (2,)):
        raise rows.Fault(f"{'one run or two' if a.calibrate else 'two runs'} must be named, not {len(a.runs)}")
    if a.margin is not None and not 0 < a.margin < 1:
        raise rows.Fault(f"--margin {a.margin}: is not between 0 and 1")
    if a.apart is not None and not 0 <= a.apart < 1:
        raise rows.Fault(f"--apart {a.apart}: is not from 0 to 1")
    if a.without and not (a.calibrate and len(a.runs) == 2):
        raise rows.Fault("--without: belongs to --calibrate with two runs")
    if wrong := sorted(set(a.without) - set(sources.strategies())):
        raise rows.Fault(f"--without {wrong[0]}: is no strategy")
    loaded = [load(path) for path in a.runs]
    if a.calibrate:
        loaded = [{key: side for key, side in some.items() if rows.named(key)["variant"] not in a.without} for some in loaded]
        firsts = [next(side.rows[0] for side in run.values() if side.rows) for run in loaded]
        if len(machines := {str(row["machine"]) for row in firsts}) > 1:
            raise rows.Fault(f"of {' and '.join(sorted(machines))}: two runs of one kind of machine are needed")
        commits = " ".join(model.commit_of(path.name) or str(row["commit"]) for path, row in zip(a.runs, firsts))
        show_calibrations(machines.pop(), commits, loaded, a.write)
        return 0
    apart = dict.fromkeys(calibration.SAMPLES, a.apart) if a.apart is not None else NOT_APART if same_card(*a.runs) else \
        measured_apart()
    one, other = loaded
    found = compare(one, other, a.margin, apart)
    unlike = environments.differences(a.runs, _rows_compared(one, other))
    print("\n".join(describe(one, other, found, apart, a.margin, unlike)))
    if a.rows:
        write_rows(a.rows, found)
    return 0


def main(words: list[str] | None = None) -> int:
    try:
        return run(arguments().parse_args(words))
    except rows.Fault as fault:
        print(f"compare: {fault}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
