"""Decides claims by the rows of machines."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import pathlib
from collections.abc import Iterable, Iterator, Sequence

import numpy

from report import calibration, rows, sources, statistics
from report.cases import ranked_case
from report.claim import CASE, USUAL, Claim, Selection, test_of
from report.model import ROOT, Card, commit_of, read_runs, shown, widened
from report.quantities import QUANTITIES, Quantity
from report.rows import LEAST_PROCESSES
from report.selection import Rank, rank

HOLDS, FAILS, UNSURE, MISSING = "holds", "fails", "undecided", "not measured"
HERE = "here"  # in place of a kind of machine: the rows of a reproduction, whatever machine they are of
# Columns that say where a point is.
PLACE = ("backend", "variant", "element", "operation", "case", "n_dof", "ranks", "problem", "jacobian", "depth")


@dataclasses.dataclass(frozen=True)
class Decided:
    """One point: the ratio of a claim, with its interval."""

    where: dict[str, rows.Value]
    beside: str  # the strategy that the ratio is over
    ratio: statistics.Estimate
    verdict: str
    commit: str  # of its run's folder, or of rows outside of one
    is_old: bool  # sources have changed since (report/sources.py)
    host: str = ""  # where a GPU is compared with it: its processor and threads
    rivals: int = 1  # strategies that it is held beside; `beside` is the strongest of them
    lacks: tuple[str, ...] = ()  # of a claim that none may be missing of: those that were not measured there
    rank: Rank = dataclasses.field(default=(0, 0, 0), compare=False)  # of its run at its place (report/selection.py)
    others: tuple[statistics.Estimate, ...] = dataclasses.field(default=(), compare=False)  # beside other strategies

    @property
    def is_faster_than_all(self) -> bool:
        """Whether the interval of each ratio lies above 1: one over a slower strategy of few processes may not."""
        return all(r.low > 1 for r in (self.ratio, *self.others))


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Of one claim on one machine."""

    claim: Claim
    machine: str
    verdict: str
    points: tuple[Decided, ...]  # of a claim beside several strategies one for each place, where all of them count
    pairs: tuple[Decided, ...] = ()  # one for each strategy beside
    left_out: tuple[Decided, ...] = ()  # points that do not count, because rows that decide them were disturbed

    def count(self, verdict: str) -> int:
        return sum(p.verdict == verdict for p in self.points)

    @property
    def noisy(self) -> int:
        return len(self.left_out)

    @property
    def commits(self) -> str:
        """With marks where sources have changed since."""
        old = {p.commit for p in self.pairs if p.is_old}
        return ", ".join(sources.marked(c, c in old) for c in sorted({p.commit for p in self.pairs}))

    @property
    def is_old(self) -> bool:
        return any(p.is_old for p in self.pairs)

    @property
    def processes(self) -> int:
        return min((p.ratio.processes for p in self.pairs), default=0)


class Table:
    """Rows of a file. A selection asks once for each value of a column."""

    def __init__(self, found: Sequence[rows.Row]) -> None:
        self.rows = found
        self.columns: dict[str, tuple[list[rows.Value], numpy.ndarray]] = {}

    def values(self, column: str) -> tuple[list[rows.Value], numpy.ndarray]:
        """Of a column, and which of them each row has."""
        if column not in self.columns:
            at: dict[rows.Value, int] = {}
            which = [at.setdefault(row[column], len(at)) for row in self.rows]
            self.columns[column] = list(at), numpy.array(which, dtype=int)
        return self.columns[column]

    def selected(self, selection: Selection) -> list[rows.Row]:
        """Those whose cells are what it asks for."""
        there = numpy.ones(len(self.rows), dtype=bool)
        for column, wanted in selection.items():
            values, which = self.values(column)
            there &= numpy.array(list(map(test_of(wanted), values)), dtype=bool)[which]
        return list(itertools.compress(self.rows, there))


@rows.by_file
def _table_of(path: pathlib.Path) -> Table:
    """Those of a file with a time or a count."""
    return Table([row for row in rows.kept(path) if row["status"] in ("ok", "converged")])


@functools.cache
def _files_of(run: pathlib.Path, changed: int) -> tuple[tuple[str, pathlib.Path], ...]:
    """Kind and path of each with rows, of a folder as it was when it was last changed."""
    return tuple((rows.kind_of(path), path) for path in rows.files_below(run))


Found = dict[pathlib.Path, Table]


def _selected(claim: Claim, run: pathlib.Path) -> Found:
    """By file, scaling.csv before scaling-peer.csv, whose rows are no further processes of the former's."""
    sides = {*claim.of, *(claim.over or {})}
    found: Found = {}
    for kind, path in _files_of(run, run.stat().st_mtime_ns):
        if kind in (claim.file, claim.over_file):
            usual = {c: w for c, w in {**USUAL.get(kind, {}), **claim.select}.items() if c not in sides}
            found[path] = Table(_table_of(path).selected(usual))
    return dict(sorted(((path, some) for path, some in found.items() if some.rows),
                       key=lambda entry: (entry[0].name.removesuffix(".gz") != rows.kind_of(entry[0]), entry[0].name)))


def _clean(claim: Claim, files: Found) -> Found:
    """Without rows whose times were disturbed. What is counted is not. A file without such rows stays as it is."""
    if QUANTITIES[claim.quantity].counted:
        return files
    clean = {path: rows.undisturbed(some.rows) for path, some in files.items()}
    return {path: files[path] if len(some) == len(files[path].rows) else Table(some)
            for path, some in clean.items() if some}


def _side(claim: Claim, found: Table, side: Selection) -> dict[tuple, dict[tuple, list[rows.Row]]]:
    """Rows of one side by what both sides must share, and then by point: rows of two points are no processes of one."""
    parts = {name.removeprefix(CASE) for name in claim.free if name.startswith(CASE)}
    loose = set(claim.of) | set(claim.over or {}) | set(claim.free) | ({"case"} if parts else set())
    shared = rows.POINT if claim.over_file else ()
    points: dict[tuple, dict[tuple, list[rows.Row]]] = {}
    for row in found.selected(side):
        key = rows.anywhere(row, loose, shared), ranked_case(row["case"]).without(parts) if parts else None
        points.setdefault(key, {}).setdefault(rows.anywhere(row), []).append(row)
    return points


def _split(side: Selection) -> Iterator[Selection]:
    """A list of strategies is one ratio for each."""
    listed = [(column, wanted) for column, wanted in side.items() if isinstance(wanted, list)]
    if not listed:
        yield side
        return
    column, wanted = listed[0]
    for one in wanted:
        yield from _split({**side, column: one})


def _estimate(claim: Claim, alone: bool, of: Sequence[rows.Row],
              over: Sequence[rows.Row]) -> statistics.Estimate | None:
    """over: no rows of a claim without such a side. Processes that timed both sides in turns are pairs; None where none
    has. alone: of the machine that measured them, and not of its kind, of which they are known as far as runs differ."""
    quantity = QUANTITIES[claim.quantity]
    paired = bool(over) and not claim.over_file and rows.are_of_one_call(of[0], over[0])
    if paired:
        of, over = rows.of_common_processes(of, over)
    if not of:
        return None
    sides = of, over
    x, y = ([v for row in side if (v := quantity.of(row)) is not None] for side in sides)
    if (len(x), len(y)) != (len(of), len(over)):
        return None
    r = statistics.ratio(x, y, paired) if over else statistics.estimate(x)
    if quantity.counted:
        return r if r.supports_claims else statistics.Estimate(r.value, r.value, r.value, r.processes)
    low, high = r.low, r.high
    if r.processes < 2:  # samples alone: the ends of both sides combined
        (least, most), (few, many) = (_ends(quantity, side) for side in sides)
        low, high = r.value * least / many, r.value * most / few
    apart = 0.0 if alone else calibration.of_ratios(claim.over_file or claim.file, itertools.chain(*sides))
    on_host = any(row["backend"] == "host" for side in sides for row in side)
    return statistics.Estimate(r.value, *widened(r.value, low, high, r.processes, apart, on_host), r.processes)


def _ends(quantity: Quantity, side: Iterable[rows.Row]) -> tuple[float, float]:
    """Of a side the least and the most that samples tell, over the middle; 1 of what is not timed, or of no row."""
    told = [float(end) / float(quantity.of(row) or 1.0) for row in side for name in ("ci95_low_s", "ci95_high_s")
            if row.get(name) and (end := quantity.of({**row, "median_s": row[name]}))]
    return min(told, default=1.0), max(told, default=1.0)


def _judge(claim: Claim, r: statistics.Estimate) -> str:
    low = -math.inf if claim.above is None else claim.bound(claim.above)
    high = math.inf if claim.below is None else claim.bound(claim.below)
    if low < r.low and r.high < high:
        return HOLDS
    return FAILS if r.high <= low or r.low >= high else UNSURE


def _host(own: Sequence[rows.Row], beside: Sequence[rows.Row]) -> str:
    """The host of two sides of which one is on a GPU; else ""."""
    if len({row.get("backend") for row in (*own, *beside)}) < 2:
        return ""
    row = next(row for row in (*own, *beside) if row["backend"] == "host")
    return Card("", "host", str(row["device"]), int(row["threads"] or 0)).words


@rows.by_file
def _ranks(path: pathlib.Path) -> dict[tuple, Rank]:
    """Of each place in a file of a run: what the file has there."""
    at: dict[tuple, dict[str, list[rows.Row]]] = {}  # of each strategy
    for row in _table_of(path).rows:
        at.setdefault(_where(row), {}).setdefault(str(row["variant"]), []).append(row)
    return {place: rank({name: len(shown(some)) for name, some in there.items()}) for place, there in at.items()}


def _where(row: rows.Row) -> tuple:
    return rows.anywhere(row, ("variant",))


def _ratios(claim: Claim, alone: bool, path: pathlib.Path, found: Table,
            others: Sequence[Table]) -> dict[tuple, list[Decided]]:
    """Of the rows of one file, whose other side is in the first of `others` that has it; by what tells the claim's points
    apart, each with a ratio for all that a column differs in which is free."""
    ranks = _ranks(path) if "variant" in (claim.over or {}) else {}  # of one strategy: by processes alone
    told: dict[tuple, list[Decided]] = {}
    rivals: list[Selection | None] = list(_split(claim.over)) if claim.over is not None else [None]
    sides = [(side, _side(claim, found, side)) for side in _split(claim.of)]
    against = [(other, [_side(claim, table, other) for table in others] if other is not None else []) for other in rivals]
    for (side, points), (other, overs) in itertools.product(sides, against):
        for key, owns in points.items():
            there = (side_of[key] for side_of in overs if key in side_of)
            over: dict[tuple, list[rows.Row]] = next(there, {}) if other is not None else {(): []}
            for own, beside in itertools.product(owns.values(), over.values()):
                if (r := _estimate(claim, alone, own, beside)) is None:
                    continue
                first = own[0]
                is_old = any(sources.is_old(claim.file_of(side_of), row)
                             for side_of, some in ((claim.of, own), (claim.over, beside)) for row in some)
                name = (key, first.get("case"), tuple(side.items()), tuple((other or {}).items()))
                told.setdefault(name, []).append(Decided(
                    {n: first[n] for n in PLACE if n in first}, str((other or {}).get("variant", "")), r,
                    _judge(claim, r), commit_of(path.parent.name) or str(first["commit"]), is_old, _host(own, beside),
                    rank=ranks.get(_where(first), (0, 0, min(len(own), LEAST_PROCESSES)))))
    return told


Pairs = dict[tuple, list[Decided]]


def _pairs(claim: Claim, alone: bool, runs: Iterable[Found]) -> Pairs:
    """Of what was found in the runs of one machine, the newest first. Of those that have all rows of a pair the one decides
    that speaks at its place (report/selection.py); of a claim about one strategy by rule 3 and those behind it."""
    points: Pairs = {}

    def least(some: Sequence[Decided]) -> Rank:
        return min(p.rank for p in some)

    for files in runs:
        kinds = {path: rows.kind_of(path) for path in files}
        beside = [some for path, some in files.items() if kinds[path] == claim.file_of(claim.over)]
        for path, found in files.items():
            if kinds[path] != claim.file:
                continue
            others = beside if claim.over_file else [found, *beside]
            for name, some in _ratios(claim, alone, path, found, others).items():
                if name not in points or least(points[name]) < least(some):
                    points[name] = some
    return points


def _strongest(claim: Claim, some: Sequence[Decided]) -> Decided:
    """Beside which a claim's side is the least fast, or takes most."""
    speed = claim.quantity == "speed"
    return min(some, key=lambda p: p.ratio.value if speed else -p.ratio.value)


def _place(claim: Claim, some: Sequence[Decided]) -> Decided:
    """A place holds where each strategy beside is beaten. A range is judged by the strongest of them. Where one of those
    that must not be missing was not measured, it could be stronger: the place can fail, and not hold."""
    strongest = _strongest(claim, some)
    is_range = claim.above is not None and claim.below is not None
    verdict = overall([strongest] if is_range else some)
    lacks = tuple(s for s in claim.strongest if s not in {p.beside for p in some})
    return dataclasses.replace(strongest, verdict=UNSURE if lacks and verdict == HOLDS else verdict, rivals=len(some),
                               lacks=lacks, others=tuple(p.ratio for p in some if p is not strongest))


def _places(claim: Claim, clean: Pairs, disturbed: Pairs) -> tuple[list[list[Decided]], list[Decided]]:
    """Pairs of each point, and the points that are left out: those without undisturbed rows, and of a claim beside several
    strategies those where a disturbed one may be the strongest, beside this one."""
    if not claim.has_rivals:
        return [[p] for some in clean.values() for p in some], [p for some in disturbed.values() for p in some]
    at: dict[tuple, tuple[list[Decided], list[Decided]]] = {}
    for found, k in ((clean, 0), (disturbed, 1)):
        for (*place, other), some in found.items():
            without = tuple(entry for entry in other if entry[0] != "variant")
            at.setdefault((*place, without), ([], []))[k].extend(some)
    there = [(own, noisy) for own, noisy in at.values() if len(own + noisy) >= claim.rivals]
    strongest = [(own, _strongest(claim, own + noisy)) for own, noisy in there]
    return [own for own, p in strongest if p in own], [p for own, p in strongest if p not in own]


def decide(claim: Claim, machine: str, runs: Sequence[pathlib.Path], alone: bool = False) -> Verdict:
    """On the runs of one kind of machine, the newest first. alone: of the machine that measured them."""
    everything = [_selected(claim, run) for run in runs]
    undisturbed = [_clean(claim, files) for files in everything]
    clean = _pairs(claim, alone, undisturbed)
    noisy = {} if undisturbed == everything else \
        {name: some for name, some in _pairs(claim, alone, everything).items() if name not in clean}
    places, left_out = _places(claim, clean, noisy)
    points = [_place(claim, some) if claim.has_rivals else some[0] for some in places]
    return Verdict(claim, machine, overall(points), tuple(points), tuple(itertools.chain(*places)),
                   tuple(left_out))


def overall(points: Sequence[Decided]) -> str:
    told = {point.verdict for point in points}
    return (MISSING if not points else FAILS if FAILS in told else HOLDS if told == {HOLDS} else UNSURE)


def decide_all(claims: Iterable[Claim]) -> list[tuple[Claim, list[Verdict]]]:
    """Each claim on each machine that has rows of it, or has left out some."""
    runs: dict[str, list[pathlib.Path]] = {}
    for run in read_runs(ROOT / "results"):
        runs.setdefault(run.machine, []).append(run.path)
    return [(claim, [v for m in sorted(runs) if (v := decide(claim, m, runs[m])).points or v.noisy])
            for claim in claims]


def stale(decided: Sequence[tuple[Claim, list[Verdict]]]) -> list[str]:
    """Claims that rest on rows whose sources have changed since."""
    old = [(claim, sorted({p.commit[:7] for v in verdicts for p in v.pairs if p.is_old}))
           for claim, verdicts in decided]
    return [f"{claim.name}: sources have changed since {', '.join(commits)}" for claim, commits in old if commits]
