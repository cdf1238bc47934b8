"""What a report shows, as values: runs, and points with their times (report/places.py compares them).

Runs are all folders results/MACHINE/DATE-COMMIT, the newest first by when they began; or one alone. A point is what rows.point_of tells
apart, measured by one run; each of its rows is one process. Only points of one run are compared: their processes shared
a kind of machine, a compiler, libraries, and a commit or the same sources. They may be of several hours, machines and cards.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime
import functools
import math
import pathlib
import re
import statistics as plain
from collections.abc import Iterable, Sequence
from typing import Any

from report import calibration, rows, selection, sources, text, words
from report.cases import Mesh, check_ranks, mesh_of
from report.rows import LEAST_PROCESSES, Fault, Row

try:
    from report import statistics
except ImportError:  # no NumPy or SciPy: ranges instead of intervals between processes, and the report says so
    statistics = None  # type: ignore[assignment]

BETWEEN = "between processes" if statistics else "the range of processes"
ROOT = pathlib.Path(__file__).resolve().parent.parent
# A ratio of fewer than LEAST_PROCESSES processes counts within such a factor. Five independent runs of one point on one kind
# of card: 23.6, 23.3, 23.4, 22.0 and 21.4 GDoF/s. Of ratios over `patch` that several processes measured undisturbed, one
# process is within a factor of 1.1 of the mean of the others on GPUs for 95 % of solves and 98 % of operations; 95 % are
# within 1.16 on hosts for operations and within 1.57 for solves (rows of 2026-11-30).
ONE_PROCESS, ONE_ON_HOST = 1.1, 1.6
NORMAL = 1.96  # standard deviations that hold 95 % of a normal distribution
NOISY = rows.WIDE  # an interval whose ends have a larger ratio decides nothing
TIMED = ("kernels.csv", "solves.csv", "scaling.csv")
STUDIES = ("storage.csv", "forms.csv", "anderson.csv", "anderson-history.csv", "orthogonality.csv", "profile.csv",
           "communication.csv")


@dataclasses.dataclass(frozen=True)
class Time:
    """Seconds of one call with an interval: between processes where there are several, else within the one there is."""

    value: float
    low: float
    high: float
    processes: int
    samples: int
    disturbed: bool = False  # a row of it says so

    @property
    def one_process(self) -> bool:
        return self.processes == 1

    @property
    def noisy(self) -> bool:
        return self.disturbed or self.high > NOISY * self.low

    @property
    def kind(self) -> str:
        return "one process" if self.one_process else f"{self.processes} processes"

    def rate(self, n: float) -> Time:
        """n per second, in the order low, high."""
        return dataclasses.replace(self, value=n / self.value, low=n / self.high, high=n / self.low)

    def times(self, factor: float) -> Time:
        return dataclasses.replace(self, value=self.value * factor, low=self.low * factor, high=self.high * factor)


def overlap(a: Time, b: Time) -> bool:
    return a.low <= b.high and b.low <= a.high


def widened(value: float, low: float, high: float, processes: int, apart: float = 0.0,
            on_host: bool = False) -> tuple[float, float]:
    """The ends between which a ratio counts where it decides who is faster: its interval between processes, or with fewer
    than LEAST_PROCESSES at least a factor of ONE_PROCESS on both sides, where a host takes part ONE_ON_HOST. apart: of
    runs on GPUs of one kind, as a standard deviation (report/calibration.py), which the interval then includes."""
    if processes < LEAST_PROCESSES:
        factor = ONE_ON_HOST if on_host else ONE_PROCESS
        low, high = min(low, value / factor), max(high, value * factor)
    if apart == 0:
        return low, high
    below, above = (math.exp(math.hypot(math.log(share), NORMAL * apart)) for share in (value / low, high / value))
    return value / below, value * above


def counted(a: Point, b: Point) -> Time:
    """a / b with the ends between which it counts: b is faster where both are above 1 (places.winner), and a claim holds
    where both are within its bounds (report/verdicts.py)."""
    r = ratio(a, b)
    apart = calibration.of_ratios(a.kind, (a.row, b.row))
    low, high = widened(r.value, r.low, r.high, r.processes, apart, "host" in (a.backend, b.backend))
    return dataclasses.replace(r, low=low, high=high)


def ratio(a: Point, b: Point) -> Time:
    """a / b of two points of one run: of the processes that timed both, undisturbed, in turns (rows.of_common_processes);
    where no call of a program times both, of all undisturbed ones of each. Of one process: the ends of both intervals
    combined. Where there is no such process it is of all rows, and marked as disturbed."""
    if a.run != b.run:
        raise ValueError(f"{a.run.name} and {b.run.name}: no ratio across runs")
    in_turns = a.kind == b.kind and rows.are_of_one_call(a.row, b.row)
    of, over = rows.undisturbed(a.rows), rows.undisturbed(b.rows)
    if in_turns:
        of, over = rows.of_common_processes(of, over)
    a, b, disturbed = (a.only(of), b.only(over), False) if of and over else (a, b, True)
    n = min(a.time.processes, b.time.processes)
    samples = min(a.time.samples, b.time.samples)
    if n > 1 and statistics:
        r = statistics.ratio(a.medians, b.medians, paired=in_turns and a.processes == b.processes)
        return Time(r.value, r.low, r.high, n, samples, disturbed)
    return Time(a.time.value / b.time.value, a.time.low / b.time.high, a.time.high / b.time.low, n, samples, disturbed)


def shown(processes: Sequence[Row]) -> Sequence[Row]:
    """Those by which a point is shown: the undisturbed ones where they are LEAST_PROCESSES, else all, with a mark."""
    found = rows.undisturbed(processes)
    return found if len(found) >= LEAST_PROCESSES else processes


def time_of(processes: Sequence[Row]) -> Time:
    """Of the rows of one point, one for each process."""
    medians = [float(row["median_s"]) for row in processes]
    samples = min(int(row["repetitions"] or 1) for row in processes)
    disturbed = any(rows.disturbed(row) for row in processes)
    if len(medians) == 1:
        row = processes[0]
        low, high = row["ci95_low_s"], row["ci95_high_s"]
        return Time(medians[0], medians[0] if low is None else low, medians[0] if high is None else high, 1, samples,
                    disturbed)
    if statistics:
        e = statistics.estimate(medians)
        return Time(e.value, e.low, e.high, len(medians), samples, disturbed)
    return Time(plain.median(medians), min(medians), max(medians), len(medians), samples, disturbed)


@dataclasses.dataclass(frozen=True)
class Run:
    """A folder, and the machine's record where the run has one."""

    machine: str
    folder: str
    path: pathlib.Path = dataclasses.field(compare=False)
    record: tuple[tuple[str, str], ...] = dataclasses.field(default=(), compare=False)
    is_old: bool = dataclasses.field(default=False, compare=False)  # sources of rows have changed since
    begun: str = dataclasses.field(default="", compare=False)  # UTC, 2026-11-27T14:20:57Z; "": see began

    @property
    def name(self) -> str:
        return f"{self.machine}/{self.folder}"

    @property
    def marked(self) -> str:
        """The commit, with a mark where it is old."""
        return sources.marked(self.commit, self.is_old, len(self.commit))

    @property
    def day(self) -> str:
        return self.folder[:10]

    @property
    def began(self) -> tuple[str, str]:
        """What runs are ordered by. Without a time of its own a run counts from the first hour of its day."""
        return self.begun or f"{self.day}T00:00:00Z", self.folder

    @property
    def commit(self) -> str:
        """By which the run was begun: that of its folder."""
        return commit_of(self.folder) or ""

    def told(self, key: str) -> str:
        return dict(self.record).get(key, "")


@dataclasses.dataclass(frozen=True)
class Card:
    """A processor or GPU of a kind of machine, as rows name it."""

    machine: str
    backend: str
    device: str
    threads: int

    @property
    def name(self) -> str:
        name = re.sub(r"\(R\)| Processor| 80GB HBM3", "", self.device).strip()
        beside = self.backend == "host" and self.machine.startswith("nvidia-")
        return name + (f" beside {words.machine(self.machine)}" if beside else "")

    @property
    def words(self) -> str:
        return self.name if self.backend == "cuda" else f"{self.name}, {self.threads} thread{'s' * (self.threads > 1)}"

    @property
    def short(self) -> str:
        """For tables."""
        return self.words.removeprefix("NVIDIA ")

    @property
    def key(self) -> str:
        """For names of files and macros."""
        if self.backend == "cuda":
            return re.sub(r"[^a-z0-9]+", "-", self.words.lower().removeprefix("nvidia ")).strip("-")
        return "host-" + re.sub(r"[^a-z0-9]+", "-", self.words.lower()).strip("-")


card_of = functools.cache(Card)  # one of each, which is compared without a look at its parts


@dataclasses.dataclass(frozen=True, eq=False)
class Point:
    """What one run measured of one strategy: the row of its first process has the constants."""

    run: Run
    kind: str  # of file: "kernels.csv"
    rows: tuple[Row, ...]  # one for each process
    time: Time
    file: str = ""  # of a run that has several of a kind: "scaling-peer.csv"

    @functools.cached_property
    def row(self) -> Row:
        return self.rows[0]

    @functools.cached_property
    def medians(self) -> tuple[float, ...]:
        return tuple(float(row["median_s"]) for row in self.rows)

    @property
    def set_up(self) -> float | None:
        """Seconds: the median over processes; None where none tells it."""
        told = [row["setup_s"] for row in self.rows if row["setup_s"] is not None]
        return plain.median(told) if told else None

    @property
    def processes(self) -> tuple[int, ...]:
        """Which; two strategies of the same ones were measured in turns."""
        return tuple(map(rows.process_of, self.rows))

    @property
    def is_old(self) -> bool:
        """Whether its own sources have changed since; those of other strategies of its run may not have, or alone."""
        return any(sources.is_old(self.kind, row) for row in self.rows)

    def only(self, some: Sequence[Row]) -> Point:
        """The same of some of its rows."""
        return self if len(some) == len(self.rows) else dataclasses.replace(self, rows=tuple(some), time=time_of(some))

    def __getattr__(self, name: str) -> Any:
        """A column of the first row, which then is an attribute."""
        try:
            value = self.__dict__[name] = self.row["variant" if name == "strategy" else name]
        except KeyError:
            raise AttributeError(name) from None
        return value

    @functools.cached_property
    def card(self) -> Card:
        return card_of(self.run.machine, self.row["backend"], self.row["device"],
                       0 if self.row["backend"] == "cuda" else self.row["threads"] * max(self.row["ranks"], 1))

    @functools.cached_property
    def mesh(self) -> Mesh:
        return mesh_of(self.row["case"])

    @property
    def throughput(self) -> Time:
        """Degrees of freedom per second."""
        return self.time.rate(self.row["n_dof"])

    @property
    def energy(self) -> Time | None:
        """nJ of a call for a degree of freedom: with the interval between processes where there are enough of them, else
        the mean of processes with the range of all their windows, where they tell that."""
        there = [row for row in self.rows if row["nj_per_dof"]]
        told = [float(row["nj_per_dof"]) for row in there]
        if not told:
            return None
        if len(told) >= LEAST_PROCESSES:
            if statistics is None:
                return Time(plain.median(told), min(told), max(told), len(told), 1)
            e = statistics.estimate(told)
            return Time(e.value, e.low, e.high, e.processes, 1)
        low = min(float(row["nj_low"] or row["nj_per_dof"]) for row in there)
        high = max(float(row["nj_high"] or row["nj_per_dof"]) for row in there)
        return Time(plain.mean(told), low, high, len(told), 1)

    @functools.cached_property
    def plain(self) -> bool:
        """As the main figures have it: double precision, linear hardening, own order, all points plastic; in any condition
        and of any operand."""
        return all(self.row[name] == value for name, value in rows.USUAL.items() if name not in ("condition", "operand"))


@dataclasses.dataclass(frozen=True)
class Refused:
    """A row without a time: out of memory, a failed check."""

    run: Run
    kind: str
    row: Row


@dataclasses.dataclass(frozen=True, eq=False)  # so that functools.cache takes it
class Model:
    runs: list[Run]
    points: list[Point]
    refused: list[Refused]
    notes: list[str]  # what is missing here, one line each
    studies: dict[tuple[Run, str], Sequence[Row]] = dataclasses.field(default_factory=dict)  # by kind of file: STUDIES

    def of(self, kind: str) -> list[Point]:
        return [p for p in self.points if p.kind == kind]

    @functools.cached_property
    def kernels(self) -> list[Point]:
        """Short samples in turns, of random operands: rows of others are points of their own."""
        return [p for p in self.of("kernels.csv")
                if all(p.row[name] == rows.USUAL[name] for name in ("condition", "operand"))]

    @functools.cached_property
    def _kernels_of(self) -> dict[Run, list[Point]]:
        found: dict[Run, list[Point]] = {}
        for p in self.kernels:
            found.setdefault(p.run, []).append(p)
        return found

    def kernels_of(self, run: Run) -> list[Point]:
        return self._kernels_of.get(run, [])

    @functools.cached_property
    def _sustained(self) -> dict[tuple, Point]:
        places: dict[tuple, list[Point]] = {}
        for p in self.of("kernels.csv"):
            if p.row["condition"] == "sustained":
                places.setdefault((p.card, rows.anywhere(p.row, ("variant",))), []).append(p)
        return {(p.card, rows.anywhere(p.row, ("condition",))): p for some in places.values()
                for p in selection.by_strategy(some).values()}

    def sustained(self, p: Point) -> Point | None:
        """The same as a point of short samples in turns, by itself for seconds, of the run that speaks of those that have
        it: another condition, and mostly another run, so that no ratio is formed of the two."""
        return self._sustained.get((p.card, rows.anywhere(p.row, ("condition",))))

    @functools.cached_property
    def _newest(self) -> dict[tuple, Run]:
        """The newest run of each machine's points."""
        found: dict[tuple, Run] = {}
        for p in self.points:
            place = (p.run.machine, p.kind, rows.anywhere(p.row))
            if place not in found or self.runs.index(p.run) < self.runs.index(found[place]):
                found[place] = p.run
        return found

    def superseded(self, run: Run) -> int:
        """Points of a run that a newer run of its machine has, too."""
        return sum(self._newest[run.machine, p.kind, rows.anywhere(p.row)] != run for p in self.points if p.run == run)

    @functools.cached_property
    def cards(self) -> list[Card]:
        """GPUs first; among them, and among hosts, the one with most points of several processes, then of all."""
        seen: dict[Card, list[int]] = {}
        for p in self.kernels:
            several = seen.setdefault(p.card, [0, 0])
            several[0] += p.time.processes >= LEAST_PROCESSES
            several[1] += 1
        return sorted(seen, key=lambda c: (c.backend != "cuda", [-n for n in seen[c]], c.name))

    @property
    def main_cards(self) -> list[Card]:
        """That the body of the report shows: GPUs, where there are some."""
        return [c for c in self.cards if c.backend == "cuda"] or self.cards


def read_record(path: pathlib.Path) -> tuple[tuple[str, str], ...]:
    if not path.is_file():
        return ()
    try:
        with open(path, newline="", encoding="utf-8") as file:
            return tuple((line[0], line[1]) for line in csv.reader(file) if len(line) == 2)
    except (UnicodeDecodeError, csv.Error) as error:
        raise Fault(f"{path}: is no record of a machine: {error}") from error


UNTOLD = "-"  # in a record and in tables: the machine does not say


def as_value(values: Iterable[str]) -> str:
    """Values of a key, as a record has them: each once, where machines or GPUs of a run differ several."""
    return "; ".join(dict.fromkeys(values)) or UNTOLD


def values_in(text: str) -> list[str]:
    """Values that a record has of a key; none where the machine does not say."""
    return [value for value in text.split("; ") if value not in ("", UNTOLD)]


FOLDER = re.compile(r"\d{4}-\d\d-\d\d-(.+?)(-\d+)?")  # day, commit, and what tells apart runs of one day


DIRTY = "-dirty"


def commit_of(folder: str) -> str | None:
    """None of what is no folder of a run."""
    found = FOLDER.fullmatch(folder)
    return found[1] if found else None


BEGUN = "begun.csv"  # below results: when runs began whose own files do not tell


def read_begun(path: pathlib.Path) -> dict[str, str]:
    """By MACHINE/FOLDER; empty where there is no such file."""
    if not path.is_file():
        return {}
    with open(path, newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    for number, line in enumerate(lines[1:], 2):
        if len(line) != 2 or not TIME.fullmatch(line[1]):
            raise Fault(f"{path}: line {number}: {','.join(line)!r} is not a run and a time like 2026-11-27T14:20:57Z")
    return {run: begun for run, begun in lines[1:]}


TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def begun_in(path: pathlib.Path) -> str:
    """When the first point of a run's folder began, or its first sample; "" where neither is told."""
    told = [str(row["begun"]) for file in sorted(path.glob("points*.csv")) for row in rows.read(file)]
    if told:
        return min(told)
    starts = [begun for file in sorted(path.glob("samples*.csv*")) if (begun := _start_in(file))]
    return datetime.datetime.fromtimestamp(min(starts), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") \
        if starts else ""


def lasted(run: Run) -> tuple[float, int] | None:
    """Hours from the first process's begin to the last one's end, and on how many cards it measured at once; None where the
    run does not tell."""
    told = [row for file in sorted(run.path.glob("points*.csv")) for row in rows.read(file)]
    if not told:
        return None
    begins = [datetime.datetime.fromisoformat(str(row["begun"]).replace("Z", "+00:00")) for row in told]
    ends = [begin + datetime.timedelta(seconds=float(row["took_s"] or 0)) for begin, row in zip(begins, told)]
    return (max(ends) - min(begins)).total_seconds() / 3600, max(len({row["card"] for row in told} - {None}), 1)


@rows.by_file
def _start_in(path: pathlib.Path) -> float | None:
    """Of the first sample in a file."""
    return min((float(row["start"]) for row in rows.read(path) if row["start"]), default=None)


def run_in(path: pathlib.Path) -> Run:
    return Run(path.parent.name, path.name, path, read_record(path / "machine.csv"), begun=begun_in(path))


def why_left_out(folder: str) -> str:
    """Of a run with this folder's name; "" of one that speaks."""
    commit = commit_of(folder)
    if commit is None:
        return "its name is not DATE-COMMIT"
    return "of uncommitted changes" if commit.endswith(DIRTY) else ""


def left_out(results: pathlib.Path) -> list[str]:
    """A line for each folder with rows that speaks nowhere."""
    return [f"{path}: left out: {why}; --run {path.relative_to(results)} shows it" for path in sorted(results.glob("*/*"))
            if path.is_dir() and (why := why_left_out(path.name)) and any(True for _ in rows.files_below(path))]


def read_runs(results: pathlib.Path) -> list[Run]:
    """The newest first, without those of uncommitted changes, which nobody can make again."""
    if not results.is_dir():
        raise Fault(f"{results}: there is no such folder")
    found = [run_in(path) for path in results.glob("*/*") if path.is_dir() and not why_left_out(path.name)]
    told = read_begun(results / BEGUN)
    found = [run if run.begun else dataclasses.replace(run, begun=told.get(run.name, "")) for run in found]
    return sorted(found, key=lambda run: (*run.began, run.machine), reverse=True)


def points_of(run: Run, kind: str, read: Iterable[Row], file: str = "") -> tuple[list[Point], list[Refused]]:
    """Points with times, and rows without. Rows of operations that were made slower are for report/compare.py alone."""
    timed: list[Row] = []
    refused: list[Refused] = []
    for row in read:
        if rows.is_slowed(row):
            continue
        if row["status"] == "ok" and row["median_s"]:
            timed.append(row)
        else:
            refused.append(Refused(run, kind, row))
    points = []
    for some in rows.by_point(timed).values():
        kept = shown(sorted(some, key=rows.process_of))
        points.append(Point(run, kind, tuple(kept), time_of(kept), file))
    return points, refused


def rows_of(folder: pathlib.Path) -> list[tuple[str, str, Sequence[Row]]]:
    """Of a run's files with times or studies: their kind, name and rows."""
    found = []
    for path in rows.files_below(folder):
        kind = rows.kind_of(path)
        if kind in TIMED + STUDIES:
            found.append((kind, path.name.removesuffix(".gz"), rows.kept(path)))
        if kind == "scaling.csv":
            check_ranks(path, found[-1][2])
    return found


def read_all(runs: Sequence[Run]) -> Model:
    """Rows of runs; rows.Fault where a file is not what the schema says."""
    points: list[Point] = []
    refused: list[Refused] = []
    studies: dict[tuple[Run, str], Sequence[Row]] = {}
    named: list[Run] = []
    for run in runs:
        there = rows_of(run.path)
        is_old = any(sources.is_old(kind, row) for kind, _, read in there if kind in TIMED for row in read)
        run = dataclasses.replace(run, is_old=is_old)
        named.append(run)
        studies |= {(run, kind): read for kind, _, read in there if kind in STUDIES}
        for kind, file, read in there:
            if kind not in TIMED:
                continue
            more, without = points_of(run, kind, read, file)
            points += more
            refused += without
    notes = []
    if not statistics:
        notes.append("NumPy and SciPy are missing: points of several processes have their range, and no interval "
                     "(apt-get install python3-scipy)")
    return Model(named, points, refused, notes, studies)


def build(results: pathlib.Path = ROOT / "results") -> Model:
    """Of all runs below a folder of results."""
    return read_all(read_runs(results))


def build_one(path: pathlib.Path) -> Model:
    """Of the run in one folder."""
    if not path.is_dir():
        raise Fault(f"{path}: there is no such folder")
    return read_all([run_in(path)])


# --- as text --------------------------------------------------------------------------------------------------

def interval(time: Time, factor: float = 1.0) -> str:
    """Value (low–high); ~ where it is noisy."""
    t = time.times(factor)
    return text.interval(t.value, t.low, t.high) + ("~" if t.noisy else "")
