"""What a report shows, as values: runs, points with their times, and groups of points that may be compared.

Runs are all folders results/MACHINE/DATE-COMMIT, the newest first; or one alone. A point is what rows.point_of tells
apart, measured by one run; each of its rows is one process. Only points of one run are compared: their processes shared
a machine, a binary and an hour.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import math
import pathlib
import re
import statistics as plain
from collections.abc import Iterable, Sequence

from report import rows, sources, text
from report.rows import Fault, Row

try:
    from report import statistics
except ImportError:  # no NumPy or SciPy: ranges instead of intervals between processes, and the report says so
    statistics = None

BETWEEN = "between processes" if statistics else "the range of processes"
ROOT = pathlib.Path(__file__).resolve().parent.parent
# Five independent runs of one point on one kind of card: 23.6, 23.3, 23.4, 22.0 and 21.4 GDoF/s.
ONE_PROCESS = 1.1
LEAST_PROCESSES = 3  # as report/statistics.py has it, which cannot be read without NumPy
NOISY = rows.WIDE  # an interval whose ends have a larger ratio decides nothing
TIMED = ("kernels.csv", "solves.csv", "scaling.csv")
STUDIES = ("storage.csv", "anderson.csv", "anderson-history.csv", "orthogonality.csv", "profile.csv")
NEAR = 1.5           # degrees of freedom of two meshes may differ by this factor where meshes are compared

class Words(dict[str, str]):
    """Names in words; what has none is called by its own name."""

    def __missing__(self, name: str) -> str:
        return name.replace("_", " ")


STRATEGY = Words({
    "patch": "patch",
    "patch_ordered": "patch, reproducible",
    "hybrid": "fastest of four",
    "element_atomic": "element, atomics",
    "element_warp": "warp per element",
    "element_team": "team per element",
    "element_color": "element, colours",
    "node_csr": "gather by node",
    "dof_csr": "gather by entry",
    "two_phase": "via stresses",
    "corner_gather": "via forces",
    "assembled_bsr": "matrix, 3×3",
    "assembled_cusparse": "matrix, cuSPARSE BSR",
    "assembled_csr": "matrix, cuSPARSE CSR",
    "element_only": "no sums (bound)",
    "petsc_gamg": "PETSc, GAMG",
    "petsc_boomeramg": "PETSc, BoomerAMG",
})
ELEMENT = {"hex8": "Hex8", "tet4": "Tet4", "tet4_p4": "Tet4, four points", "hex8_naive": "Hex8, direct gradients"}
OPERATION = {
    "jacvec": "tangent product",
    "jacvec_elastic": "elastic product",
    "residual": "residual",
    "diagonal": "diagonal blocks",
    "material": "material update",
}
PRODUCTS = ("jacvec", "jacvec_elastic", "residual")
MATRIX = ("assembled_bsr", "assembled_cusparse", "assembled_csr")
NOT_A_STRATEGY = ("element_only",)
# It times four strategies at set-up and is one of them: among candidates it would only tie with its choice.
CHOOSES = ("hybrid",)


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


def ratio(a: Point, b: Point) -> Time:
    """a / b of two points of one run. Of one process: the ends of both intervals combined."""
    if a.run != b.run:
        raise ValueError(f"{a.run.name} and {b.run.name}: no ratio across runs")
    n = min(a.time.processes, b.time.processes)
    samples = min(a.time.samples, b.time.samples)
    disturbed = a.time.disturbed or b.time.disturbed
    if n > 1 and statistics:
        r = statistics.ratio(a.medians, b.medians, paired=a.processes == b.processes)
        return Time(r.value, r.low, r.high, n, samples, disturbed)
    return Time(a.time.value / b.time.value, a.time.low / b.time.high, a.time.high / b.time.low, n, samples, disturbed)


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
    def commit(self) -> str:
        """Without what tells apart runs of one day: 2026-11-24-3473d452576f-2."""
        return re.sub(r"-\d+$", "", self.folder[11:])

    def told(self, key: str) -> str:
        return dict(self.record).get(key, "")


@dataclasses.dataclass(frozen=True)
class Mesh:
    """What a row's case says: the kind of mesh in words, and whether it is a cube of cells."""

    words: str
    cube: bool


@functools.cache
def mesh_of(case: str) -> Mesh:
    name = re.sub(r"-distorted", "", case)
    layers = ", four materials" if "-materials4" in name else ""
    name = name.replace("-materials4", "")
    if cells := re.fullmatch(r"box(\d+)(?:x(\d+)x(\d+))?", name):
        n = [int(c) for c in cells.groups(cells[1])]
        if max(n) >= 4 * min(n):
            return Mesh("slender box" + layers, False)
        return Mesh("box" + layers, len(set(n)) == 1 and not layers)
    if name.startswith("irregular"):
        return Mesh("irregular" + layers, False)
    if name.startswith(("bracket", "br_")):
        return Mesh("bracket" + layers, False)
    return Mesh(name + layers, False)


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
        return name + (f" beside {self.machine.split('-')[1].upper()}" if beside else "")

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


@dataclasses.dataclass(frozen=True, eq=False)
class Point:
    """What one run measured of one strategy: the row of its first process has the constants."""

    run: Run
    kind: str  # of file: "kernels.csv"
    rows: tuple[Row, ...]  # one for each process
    time: Time

    @property
    def row(self) -> Row:
        return self.rows[0]

    @property
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

    def __getattr__(self, name: str):
        try:
            return self.row["variant" if name == "strategy" else name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def card(self) -> Card:
        return Card(self.run.machine, self.row["backend"], self.row["device"],
                    0 if self.row["backend"] == "cuda" else self.row["threads"] * max(self.row["ranks"], 1))

    @property
    def mesh(self) -> Mesh:
        return mesh_of(self.row["case"])

    @property
    def throughput(self) -> Time:
        """Degrees of freedom per second."""
        return self.time.rate(self.row["n_dof"])

    @property
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


@dataclasses.dataclass(frozen=True)
class Model:
    runs: list[Run]
    points: list[Point]
    refused: list[Refused]
    notes: list[str]  # what is missing here, one line each
    studies: dict[tuple[Run, str], list[Row]] = dataclasses.field(default_factory=dict)  # by kind of file: STUDIES

    def of(self, kind: str) -> list[Point]:
        return [p for p in self.points if p.kind == kind]

    @functools.cached_property
    def kernels(self) -> list[Point]:
        """Short samples after a pause, of random operands: rows of others are points of their own."""
        return [p for p in self.of("kernels.csv")
                if all(p.row[name] == rows.USUAL[name] for name in ("condition", "operand"))]

    @functools.cached_property
    def _sustained(self) -> dict[tuple, Point]:
        found: dict[tuple, Point] = {}
        for p in self.of("kernels.csv"):  # of the newest run first
            if p.row["condition"] == "sustained":
                found.setdefault((p.card, rows.anywhere(p.row, ("condition",))), p)
        return found

    def sustained(self, p: Point) -> Point | None:
        """The same as a point of short samples, without a pause for seconds, of the newest run that has it: another
        condition, and mostly another run, so that no ratio is formed of the two."""
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


def read_record(path: pathlib.Path) -> tuple[tuple[str, str], ...]:
    if not path.is_file():
        return ()
    with open(path, newline="", encoding="utf-8") as file:
        return tuple((line[0], line[1]) for line in csv.reader(file) if len(line) == 2)


FOLDER = re.compile(r"\d{4}-\d\d-\d\d-.+")


def run_in(path: pathlib.Path) -> Run:
    return Run(path.parent.name, path.name, path, read_record(path / "machine.csv"))


def read_runs(results: pathlib.Path) -> list[Run]:
    """The newest first, of one day by name."""
    if not results.is_dir():
        raise Fault(f"{results}: there is no such folder")
    found = [run_in(path) for path in results.glob("*/*") if path.is_dir() and FOLDER.fullmatch(path.name)]
    return sorted(found, key=lambda run: (run.folder, run.machine), reverse=True)


def points_of(run: Run, kind: str, read: Iterable[Row]) -> tuple[list[Point], list[Refused]]:
    """Points with times, and rows without."""
    timed: list[Row] = []
    refused: list[Refused] = []
    for row in read:
        if row["status"] == "ok" and row["median_s"]:
            timed.append(row)
        else:
            refused.append(Refused(run, kind, row))
    points = []
    for some in rows.by_point(timed).values():
        some = sorted(some, key=rows.process_of)
        points.append(Point(run, kind, tuple(some), time_of(some)))
    return points, refused


@dataclasses.dataclass(frozen=True)
class Ranked:
    """What the case of a row of scaling.csv says: strong-1x2x2-nccl-box45x45x45."""

    kind: str  # strong: one mesh for all numbers of ranks; weak: one for each rank
    grid: str  # ranks along the axes
    communication: str  # threads, nccl, peer or mpi
    mesh: str  # may have hyphens

    def without(self, parts: Iterable[str]) -> Ranked:
        """To compare cases that may differ in these parts."""
        return dataclasses.replace(self, **dict.fromkeys(parts, ""))


CASE_PARTS = tuple(field.name for field in dataclasses.fields(Ranked))


def ranked_case(case: str) -> Ranked:
    """Fault where it is none."""
    words = case.split("-", 3)
    if len(words) < 4 or words[0] not in ("strong", "weak"):
        raise Fault(f"case {case!r}: is not like strong-1x2x2-nccl-box45x45x45")
    return Ranked(*words)


def cells_per_rank(mesh: str, ranks: int) -> int:
    """Fault where it is no box."""
    if not re.fullmatch(r"box\d+(x\d+)*", mesh):
        raise Fault(f"mesh {mesh!r}: of one size per rank are boxes alone")
    return math.prod(int(n) for n in mesh.removeprefix("box").split("x")) // ranks


def check_ranks(path: pathlib.Path, read: Iterable[Row]) -> None:
    """Fault where ranks of one mesh stood in two grids or communicated in two ways: their times are not to be mixed."""
    form: dict[tuple, tuple[str, str]] = {}
    for row in read:
        try:
            case = ranked_case(row["case"])
            same = (row["n_dof"], case.mesh) if case.kind == "strong" else cells_per_rank(case.mesh, row["ranks"])
        except Fault as fault:
            raise Fault(f"{path}: {fault}") from fault
        key = (row["backend"], row["element"], case.kind, same, row["ranks"])
        if form.setdefault(key, (case.grid, case.communication)) != (case.grid, case.communication):
            raise Fault(f"{path}: {row['case']} has {row['ranks']} ranks as {'-'.join(form[key])}, too: each needs a "
                        "file of its own")


def rows_of(folder: pathlib.Path) -> list[tuple[str, list[Row]]]:
    """Of a run's files with times or studies, by kind."""
    found = []
    for path in sorted(folder.glob("*.csv")):
        try:
            kind = rows.kind_of(path)
        except Fault:
            continue
        if kind in TIMED + STUDIES:
            found.append((kind, rows.read(path)))
        if kind == "scaling.csv":
            check_ranks(path, found[-1][1])
    return found


def read_all(runs: Sequence[Run]) -> Model:
    """Rows of runs; rows.Fault where a file is not what the schema says."""
    points: list[Point] = []
    refused: list[Refused] = []
    studies: dict[tuple[Run, str], list[Row]] = {}
    named: list[Run] = []
    for run in runs:
        there = rows_of(run.path)
        is_old = any(sources.changed(row["commit"], kind, row["variant"], row["backend"])
                     for kind, read in there if kind in TIMED for row in read)
        run = dataclasses.replace(run, is_old=is_old)
        named.append(run)
        studies |= {(run, kind): read for kind, read in there if kind in STUDIES}
        for kind, read in there:
            if kind not in TIMED:
                continue
            more, without = points_of(run, kind, read)
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


# --- groups of points that may be compared ------------------------------------------------------------------

Place = tuple  # card, element, operation, mesh in words, degrees of freedom


def widest(points: Iterable[Point]) -> list[Point]:
    """Those of one run: of one with enough processes for a claim, if such a run has three points or more; else of the
    one with most points; of equals, of the newest."""
    by_run: dict[Run, list[Point]] = {}
    for p in points:
        by_run.setdefault(p.run, []).append(p)
    return max(by_run.values(), key=lambda some: (
        len(some) > 2 and all(p.time.processes >= LEAST_PROCESSES for p in some), len(some)), default=[])


def places(points: Iterable[Point]) -> dict[Place, list[Point]]:
    """At each place the strategies of one run; a run with one strategy compares nothing and is left out."""
    at: dict[Place, list[Point]] = {}
    for p in points:
        if p.plain and p.element in ("hex8", "tet4") and p.operation in OPERATION:
            at.setdefault((p.card, p.element, p.operation, p.mesh.words, p.n_dof), []).append(p)
    chosen = {place: widest(some) for place, some in at.items()}
    return {place: some for place, some in chosen.items() if len({p.strategy for p in some}) > 1}


@dataclasses.dataclass(frozen=True)
class Winner:
    """The fastest at a place, or those whose intervals overlap with its interval, and the next one where one of both
    intervals decides nothing: then nobody wins."""

    fastest: tuple[Point, ...]
    gain: Time | None  # the next one's time over the winner's; none where nobody wins
    of: int            # strategies compared
    run: Run

    @property
    def decided(self) -> bool:
        return len(self.fastest) == 1


def winner(some: Sequence[Point]) -> Winner:
    """Among strategies of one run at one place."""
    order = sorted((p for p in some if p.strategy not in NOT_A_STRATEGY + CHOOSES), key=lambda p: p.time.value)
    first, others = order[0], order[1:]
    level = [first] + [p for p in others if overlap(p.time, first.time)
                       or (p is others[0] and (first.time.noisy or p.time.noisy))]
    gain = ratio(others[0], first) if others and len(level) == 1 else None
    return Winner(tuple(level), gain, len(order), first.run)


def winners(model: Model) -> dict[Place, Winner]:
    return {place: winner(some) for place, some in places(model.kernels).items()
            if place[2] != "material" and sum(p.strategy not in NOT_A_STRATEGY + CHOOSES for p in some) > 1}


def find(points: Iterable[Point], **wanted) -> list[Point]:
    return [p for p in points if all(getattr(p, name) == value for name, value in wanted.items())]


# --- as text --------------------------------------------------------------------------------------------------

def interval(time: Time, factor: float = 1.0) -> str:
    """Value (low–high); ~ where it is noisy."""
    t = time.times(factor)
    return text.interval(t.value, t.low, t.high) + ("~" if t.noisy else "")
