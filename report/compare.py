"""Compares two runs, commits or cards: point by point the ratio of their times, with an interval and a verdict.

    python3 -m report.compare A B [--margin 0.02] [--apart SHARE] [--rows OUT.csv]
    python3 -m report.compare --calibrate RUN [RUN] [--write]

A and B are result folders, folders of folders, or CSV files with rows (results/README.md). Each line says time of B / time
of A. Verdicts: faster, slower (B than A), same (within the margin), cannot tell, not comparable (and why).

A point is called faster or slower only where that holds beside all others of the comparison: p-values by a moderated
t-test on logarithms of the processes' medians, corrected by Holm's method, so that a comparison of a binary with itself
says faster or slower of any point in about 5 of 100 cases. It is called the same where the 95 % interval of the ratio
lies within the margin. With fewer than 3 processes on a side nothing is told.

Two runs are not alike: of the same kernels some are faster in one, some in the other, on another card or another day.
The largest spread found between two runs on GPUs of one kind (--calibrate A B --write), as a standard deviation, is part
of each interval and verdict of a GPU, unless A and B are of one and the same card, as their records tell (machine.csv).
--apart SHARE says it instead; 0 where you know that both ran on one card.

--calibrate measures how often that is wrong: it splits the processes of one run in two groups in all ways and compares
them. Of two runs of the same kernels it takes each group from another run: what differs between runs counts, too. Of a
kernel that is slower by 1, 2 or 5 % it tells how often that is seen, by making the times of one group longer; and how
many of the intervals of ratios hold 1; of two runs, how far they are apart, and all this with the spread that pairs of
other runs have told, so that nothing judges itself. --write keeps these figures in results/calibration.csv, and each
later comparison on that machine prints them.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import itertools
import math
import pathlib
import sys
from collections.abc import Iterable, Sequence

from report import calibration, model, rows, statistics, text
from report.calibration import SLOWER, Spread
from report.rows import LEAST_PROCESSES

ALPHA = 0.05
MOST_SPLITS = 200
MARGIN = 0.02
COMPARED = ("kernels.csv", "solves.csv", "scaling.csv", "storage.csv")  # kinds of files
ALONE = ("only in A", "only in B")
VERDICTS = ("faster", "slower", "same", "cannot tell", "not comparable")

Key = tuple[rows.Value, ...]


@dataclasses.dataclass
class Side:
    """Rows of one point of one run."""

    rows: list[rows.Row]

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
        commits = sorted({str(row["commit"]) for row in self.rows})
        return "" if len(commits) == 1 else "of commits " + ", ".join(commits)


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
    usual = {"backend": "cuda", "ranks": 1, "storage": ""} | rows.USUAL | rows.USUAL_SOLVE
    words += [f"{name}={named[name]}" for name in usual if named.get(name) not in (usual[name], "", None)]
    return " ".join(words)


def load(path: pathlib.Path) -> dict[Key, Side]:
    """Rows below a folder or of a file, by point. Those of several runs are of several processes; those of several
    files of a run are not, so that of each point the first file counts, scaling.csv before scaling-peer.csv. Fault
    where there are none."""
    sides: dict[Key, Side] = {}
    file_of: dict[tuple[pathlib.Path, Key], pathlib.Path] = {}
    files = [file for file in rows.files_below(path) if rows.kind_of(file) in COMPARED]
    for file in sorted(files, key=lambda file: (file.parent, rows.kind_of(file) != file.name.removesuffix(".gz"), file.name)):
        for row in rows.read(file):
            key = rows.anywhere(row)
            if file_of.setdefault((file.parent, key), file) == file:
                side = sides.setdefault(key, Side([]))
                side.rows += [] if rows.disturbed(row) else [row]
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


def compare(a: dict[Key, Side], b: dict[Key, Side], margin: float, apart: float = 0.0) -> list[Compared]:
    """All points of both runs, those of A first, in their order. apart: of times on GPUs of two machines, as a standard
    deviation of logarithms."""
    found: list[Compared] = []
    told: list[tuple[Compared, tuple[list[float], list[float]]]] = []
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
        told.append((point, (x, y)))
    within = statistics.moderated_differences([pair for _, pair in told])
    spreads = [apart if a[point.key].rows[0]["backend"] == "cuda" else 0.0 for point, _ in told]
    differences = [d.beside(spread) for d, spread in zip(within, spreads)]
    certain = statistics.holm([d.p_value() for d in differences], ALPHA)
    for (point, _), d, own, spread, sure in zip(told, differences, within, spreads, certain):
        low, high = d.interval()
        point.ratio = statistics.Estimate(math.exp(d.mean), math.exp(low), math.exp(high), point.ratio.processes)
        point.p_value = d.p_value()
        if _judge(point, d, sure, margin):
            point.more = more_processes(point.ratio.processes, own, spread, margin, len(told))
            point.why = f"about {point.more} more processes of each would tell" if point.more else \
                "runs of the same kernels differ by as much" if spread else "spread too wide"
    return found


def _judge(point: Compared, d: statistics.Difference, certain: bool, margin: float) -> bool:
    """Whether nothing can be told."""
    low, high = d.interval()
    within = math.log1p(margin)
    if -within <= low and high <= within:
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
    beyond_margin: float  # share of those in which one is called faster or slower, so not the same within MARGIN
    false_points: float  # share of points that are told apart
    covered: float  # share of points whose 95 % interval of the ratio holds 1
    power: tuple[float, ...]  # share of points seen to be slower, of those slower by SLOWER
    spread: Spread = Spread()  # between the two runs
    told: Spread = Spread()  # between others, which all the shares are told with
    ratios_covered: float = math.nan  # share of the first run's ratios of two strategies whose interval holds the second's


def _least_count(medians: Iterable[list[float]], needed: int) -> int:
    """Of processes: as many of each point are taken."""
    least = min(map(len, medians), default=0)
    if least < needed:
        raise rows.Fault(f"no point has {needed} processes or more")
    return least


def calibrate(run: dict[Key, Side], other: dict[Key, Side] | None = None, told_by_others: Spread = Spread()) -> Calibration:
    """Of the points that have enough processes, in both runs where there are two. Fault where none has."""
    needed = 2 * LEAST_PROCESSES if other is None else LEAST_PROCESSES
    keys = [key for key, side in run.items() if all(
        s is not None and not s.fault() and len(s.medians) >= needed for s in (side, side if other is None else other.get(key)))]
    first = [run[key].medians for key in keys]
    if other is None:
        second, n = first, _least_count(first, needed)
        half = n // 2
        splits = [(g, h) for g in itertools.combinations(range(n), half)
                  for h in itertools.combinations([i for i in range(n) if i not in g], half) if g < h]
    else:
        second, half = [other[key].medians for key in keys], needed
        splits = list(itertools.product(*(itertools.combinations(range(_least_count(m, half)), half)
                                          for m in (first, second))))
    step = max(1, len(splits) // MOST_SPLITS)
    splits = splits[::step]
    alarms = beyond = points = covered = 0
    seen = [0] * len(SLOWER)
    within = math.log1p(MARGIN)
    for g, h in splits:
        sides = [([a[i] for i in g], [b[i] for i in h]) for a, b in zip(first, second)]
        told = _told(sides, 0.0, told_by_others.times)
        ends = [d.interval() for d, _ in told]
        alarms += any(sure for _, sure in told)
        beyond += any(sure and not (-within <= low and high <= within) for (_, sure), (low, high) in zip(told, ends))
        points += sum(sure for _, sure in told)
        covered += sum(low <= 0 <= high for low, high in ends)
        for k, slower in enumerate(SLOWER):
            seen[k] += sum(sure and d.mean > 0 for d, sure in _told(sides, slower, told_by_others.times))
    n_all = len(splits) * len(keys)
    found = Calibration(1 if other is None else 2, half, len(keys), len(splits), alarms / len(splits),
                        beyond / len(splits), points / n_all, covered / n_all, tuple(s / n_all for s in seen))
    if other is None:
        return found
    times, pairs = list(zip(first, second)), _pairs_of(run, keys)
    held = [_holds(run[a], run[b], other[a], other[b], told_by_others.ratios) for a, b in pairs]
    return dataclasses.replace(found, spread=_spread(dict(zip(keys, times)), pairs), told=told_by_others,
                               ratios_covered=sum(held) / len(held) if held else math.nan)


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


def identities_below(path: pathlib.Path) -> Iterable[str]:
    for folder in {file.parent for file in rows.files_below(path)}:
        yield from dict(model.read_record(folder / "machine.csv")).get("identity", "").split()


def same_card(a: pathlib.Path, b: pathlib.Path) -> bool:
    """As far as their records tell: both of one card (or boot), and that the same. Of several nobody knows which card had a
    point in which run."""
    first, second = (frozenset(identities_below(path)) for path in (a, b))
    return len(first) == 1 and first == second


def calibration_row(machine: str, commit: str, c: Calibration) -> dict[str, str]:
    """commit: of two runs both, with a blank between them."""
    shares = (f"{c.false_alarms:.4f}", f"{c.beyond_margin:.4f}", f"{c.false_points:.5f}", f"{c.covered:.4f}")
    counts = map(str, (c.runs, c.processes, c.points, c.comparisons))
    spreads = [f"{x:.4f}" for x in (c.spread.times, c.told.times, c.spread.ratios, c.told.ratios, c.ratios_covered)]
    return dict(zip(calibration.COLUMNS, (machine, commit, *counts, *shares, *(f"{p:.4f}" for p in c.power), *spreads)))


# --- what is printed -----------------------------------------------------------------------------------------


def _differences(a: dict[Key, Side], b: dict[Key, Side]) -> Iterable[str]:
    """Of the environments."""
    for name in ("machine", "device", "commit", "schema", "threads"):
        values = [sorted({str(row[name]) for side in run.values() for row in side.rows}) for run in (a, b)]
        if values[0] != values[1]:
            yield f"{name}: {', '.join(values[0])} and {', '.join(values[1])}"


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


def describe(a: dict[Key, Side], b: dict[Key, Side], found: Sequence[Compared], apart: float = 0.0) -> Iterable[str]:
    """All lines that the program prints."""
    alone = {why: sum(point.why == why for point in found) for why in ALONE}
    shown = [point for point in found if point.why not in alone]
    width = max((len(name_of(point.key)) for point in shown), default=0)
    for point in shown:
        ratio = _ratio_text(point.ratio) if point.ratio else ""
        yield f"{name_of(point.key):{width}}  {ratio:26}  {point.verdict}{': ' + point.why if point.why else ''}"
    yield from [f"{n} points {why}: not shown" for why, n in alone.items() if n]
    yield ""
    for (variant, operation), points in sorted(_groups(shown).items()):
        there = [math.log(p.ratio.value) for p in points if p.ratio]
        mean = f"{math.exp(sum(there) / len(there)):.4f}" if there else "-"
        yield f"{variant} {operation}: mean ratio {mean}; {_counts(points)}"
    yield ""
    yield f"{len(found)} points: {_counts(found)}"
    yield from _differences(a, b) or ["environments: no difference that rows know"]
    if apart and any(a[point.key].rows[0]["backend"] == "cuda" for point in shown if point.ratio):
        yield (f"runs on GPUs: taken to differ by {100 * apart:.2g} % (standard deviation) with the same kernels, which "
               "intervals and verdicts include; --apart 0 (make: APART=0) where both ran on one card")
    yield from _reliability(a, b)


def _reliability(a: dict[Key, Side], b: dict[Key, Side]) -> Iterable[str]:
    machines = {str(row["machine"]) for run in (a, b) for side in run.values() for row in side.rows}
    known: dict[tuple[str, str], list[dict[str, str]]] = {}
    for r in calibration.read():
        if r["machine"] in machines:
            known.setdefault((r["machine"], r["runs"]), []).append(r)
    for (machine, runs), some in known.items():
        def least(name: str, some: list[dict[str, str]] = some) -> float:
            return min(100 * float(r[name]) for r in some)

        alarms = max(100 * float(r["false_alarms"]) for r in some)
        powers = ", ".join(f"{least(f'power_{100 * s:.0f}'):.0f} % of points slower by {100 * s:.0f} %" for s in SLOWER)
        of = "processes of one run" if runs == "1" else f"{len(some)} pair{'s' * (len(some) > 1)} of runs of the same kernels"
        yield (f"reliability on {machine} ({of}, {some[0]['processes']} processes a side): a false alarm in at most {alarms:.1f} % of "
               f"comparisons; at least {least('covered'):.1f} % of 95 % intervals hold 1; sees at least {powers}")
    for machine in sorted(machines - {machine for machine, _ in known}):
        yield f"reliability on {machine}: not measured (python3 -m report.compare --calibrate RUN --write)"


def _shares(r: dict[str, str]) -> str:
    alarms, beyond, points, covered = (100 * float(r[name]) for name in ("false_alarms", "beyond_margin", "false_points",
                                                                         "covered"))
    return (f"a false alarm in {alarms:.1f} % of comparisons, beyond {100 * MARGIN:g} % in {beyond:.1f} %, and of {points:.2f} % "
            f"of points; {covered:.1f} % of 95 % intervals hold 1")


def write_rows(path: pathlib.Path, found: Sequence[Compared]) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["point", "ratio", "low", "high", "p_value", "verdict", "why", "more_processes"])
        for p in found:
            r = p.ratio
            numbers = [f"{x:.6g}" for x in (r.value, r.low, r.high, p.p_value)] if r else [""] * 4
            writer.writerow([name_of(p.key)] + numbers + [p.verdict, p.why, p.more or ""])


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m report.compare", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=pathlib.Path, metavar="RUN")
    parser.add_argument("--margin", type=float, default=MARGIN, help=f"share that is still the same ({MARGIN})")
    parser.add_argument("--apart", type=float, metavar="SHARE",
                        help="how far runs differ with the same kernels (as measured; results/calibration.csv)")
    parser.add_argument("--rows", type=pathlib.Path, metavar="OUT.csv", help="also writes the points there")
    parser.add_argument("--calibrate", action="store_true", help="measures false alarms and power on one run")
    parser.add_argument("--write", action="store_true", help="with --calibrate: keeps the figures")
    return parser


def run(a: argparse.Namespace) -> int:
    if len(a.runs) not in ((1, 2) if a.calibrate else (2,)):
        raise rows.Fault(f"{'one run or two' if a.calibrate else 'two runs'} must be named, not {len(a.runs)}")
    if not 0 < a.margin < 1:
        raise rows.Fault(f"--margin {a.margin}: is not between 0 and 1")
    if a.apart is not None and not 0 <= a.apart < 1:
        raise rows.Fault(f"--apart {a.apart}: is not from 0 to 1")
    loaded = [load(path) for path in a.runs]
    if a.calibrate:
        firsts = [next(side.rows[0] for side in run.values() if side.rows) for run in loaded]
        if len(machines := {str(row["machine"]) for row in firsts}) > 1:
            raise rows.Fault(f"of {' and '.join(sorted(machines))}: two runs of one kind of machine are needed")
        commits = " ".join(str(row["commit"]) for row in firsts)
        c = calibrate(*loaded, told_by_others=calibration.largest(frozenset(commits.split())) if len(loaded) == 2 else Spread())
        kept = calibration_row(machines.pop(), commits, c)
        print(f"{c.points} points, {c.comparisons} comparisons of {c.processes} with {c.processes} processes: {_shares(kept)}")
        for slower, power in zip(SLOWER, c.power):
            print(f"slower by {100 * slower:.0f} %: seen at {100 * power:.1f} % of points")
        if c.runs == 2:
            print(f"apart by {100 * c.spread.times:.2f} % (standard deviation), others by {100 * c.told.times:.2f} %; ratios of two "
                  f"strategies by {100 * c.spread.ratios:.2f} %, others by {100 * c.told.ratios:.2f} %: {100 * c.ratios_covered:.1f} % of "
                  "the first run's intervals of ratios hold the second's")
        if a.write:
            calibration.write(kept)
        return 0
    apart = a.apart
    if apart is None:
        apart = 0.0 if same_card(*a.runs) else calibration.largest().times
    found = compare(*loaded, a.margin, apart)
    print("\n".join(describe(*loaded, found, apart)))
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
