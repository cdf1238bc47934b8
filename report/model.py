"""What a report shows, as values: runs, points with their times, and groups of points that may be compared.

Runs are those of results/current.csv, and those with several processes of each point (*-processes.csv). A point is what
rows.point_of tells apart, measured by one run; each of its rows is one process. Only points of one run are compared:
their processes shared a machine, a binary and an hour.
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

from report import rows
from report.rows import Fault, Row

try:
    from report import statistics
except ImportError:  # no NumPy or SciPy: ranges instead of intervals between processes, and the report says so
    statistics = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEAST_PROCESSES = 3  # as report/statistics.py has it, which cannot be read without NumPy
NOISY = 1.25         # an interval whose ends have a larger ratio decides nothing
TIMED = ("kernels.csv", "solves.csv", "scaling.csv")
NEAR = 1.5           # degrees of freedom of two meshes may differ by this factor where meshes are compared

STRATEGY = {
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
}
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
    disturbed = any(word in str(row.get("noise") or "") for row in processes for word in ("wide", "loaded"))
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
    """A line of current.csv, and the machine's record where the run has one."""

    machine: str
    folder: str
    commit: str
    proves: tuple[str, ...]
    record: tuple[tuple[str, str], ...] = dataclasses.field(default=(), compare=False)

    @property
    def name(self) -> str:
        return f"{self.machine}/{self.folder}"

    @property
    def day(self) -> str:
        return self.folder[:10]

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
        return self.name if self.backend == "cuda" else f"{self.name}, {self.threads} threads"

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
    row: Row
    time: Time
    medians: tuple[float, ...]
    processes: tuple[int, ...]  # which; two strategies of the same ones were measured in turns

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
        """As the main figures have it: double precision, linear hardening, own order, all points plastic."""
        return (self.row["order"], self.row["precision"], self.row["hardening"], self.row["plastic"]) == (
            "auto", "double", "linear", 1) and self.row["plastic_pattern"] == "clustered"


@dataclasses.dataclass(frozen=True)
class Model:
    runs: list[Run]
    points: list[Point]
    refused: list[tuple[Run, Row]]  # rows without a time: out of memory, failed checks
    notes: list[str]                # what is missing here, one line each

    def of(self, kind: str) -> list[Point]:
        return [p for p in self.points if p.kind == kind]

    @functools.cached_property
    def kernels(self) -> list[Point]:
        """Short samples after a pause, of random operands: rows of others are points of their own."""
        return [p for p in self.of("kernels.csv")
                if p.row.get("condition", "burst") == "burst" and p.row.get("operand", "random") == "random"]

    @functools.cached_property
    def cards(self) -> list[Card]:
        """In the order of current.csv, GPUs first; the first is that of the first run with the word "kernels"."""
        seen = dict.fromkeys(p.card for p in self.kernels)
        head = next((run.machine for run in self.runs if "kernels" in run.proves), "")
        return sorted(seen, key=lambda c: (c.backend != "cuda", c.machine != head))


def read_record(path: pathlib.Path) -> tuple[tuple[str, str], ...]:
    if not path.is_file():
        return ()
    with open(path, newline="", encoding="utf-8") as file:
        return tuple((line[0], line[1]) for line in csv.reader(file) if len(line) == 2)


def repeated_runs(results: pathlib.Path, known: Iterable[Run]) -> list[Run]:
    """Runs whose files hold several processes of each point, beside those that are known."""
    names = {run.name for run in known}
    found = []
    for path in sorted(results.glob("*/*/*-processes.csv")):
        machine, folder = path.parts[-3:-1]
        if f"{machine}/{folder}" not in names:
            found.append(Run(machine, folder, folder[11:], ("processes",), read_record(path.with_name("machine.csv"))))
            names.add(f"{machine}/{folder}")
    return found


def read_runs(results: pathlib.Path) -> list[Run]:
    """Of current.csv."""
    path = results / "current.csv"
    wanted = ["machine", "folder", "commit", "proves", "lacks"]
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            header = next(reader, [])
            if header != wanted:
                raise Fault(f"{path}: line 1: columns are {','.join(header)}, not {','.join(wanted)}")
            found: list[Run] = []
            for cells in reader:
                if len(cells) != len(wanted):
                    raise Fault(f"{path}: line {reader.line_num}: {len(cells)} cells, {len(wanted)} columns")
                machine, folder, commit, proves, _ = cells
                if not (results / machine / folder).is_dir():
                    raise Fault(f"{path}: line {reader.line_num}: there is no folder {results / machine / folder}")
                record = read_record(results / machine / folder / "machine.csv")
                found.append(Run(machine, folder, commit, tuple(proves.split()), record))
    except OSError as error:
        raise Fault(f"{path}: {error.strerror}") from error
    return found


def points_of(run: Run, kind: str, read: Iterable[Row]) -> tuple[list[Point], list[tuple[Run, Row]]]:
    """Points with times, and rows without."""
    timed: list[Row] = []
    refused: list[tuple[Run, Row]] = []
    for row in read:
        if row["status"] == "ok" and row["median_s"]:
            timed.append(row)
        else:
            refused.append((run, row))
    points = []
    for some in rows.by_point(timed).values():
        some = sorted(some, key=lambda row: int(row.get("process") or 1))
        points.append(Point(run, kind, some[0], time_of(some), tuple(float(r["median_s"]) for r in some),
                            tuple(int(r.get("process") or 1) for r in some)))
    return points, refused


def build(results: pathlib.Path = ROOT / "results") -> Model:
    """Of all runs that the head of this file names; rows.Fault where a file is not what the schema says."""
    runs = read_runs(results)
    runs += repeated_runs(results, runs)
    points: list[Point] = []
    refused: list[tuple[Run, Row]] = []
    for run in runs:
        for path in sorted((results / run.machine / run.folder).glob("*.csv")):
            try:
                kind = rows.kind_of(path)
            except Fault:
                continue
            if kind not in TIMED:
                continue
            more, without = points_of(run, kind, rows.read(path))
            points += more
            refused += without
    notes = []
    if not statistics:
        notes.append("NumPy and SciPy are missing: points of several processes have their range, and no interval "
                     "(apt-get install python3-scipy)")
    return Model(runs, points, refused, notes)


# --- groups of points that may be compared ------------------------------------------------------------------

Place = tuple  # card, element, operation, mesh in words, degrees of freedom


def widest(points: Iterable[Point]) -> list[Point]:
    """Those of one run: of one with enough processes for a claim, if such a run has three points or more; else of the
    one with most points; of equals, of the one that current.csv names first."""
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
    """The fastest at a place, or those whose intervals overlap with its interval: then nobody wins."""

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
    level = [first] + [p for p in others if overlap(p.time, first.time) or (first.time.noisy and p is others[0])]
    gain = ratio(others[0], first) if others and len(level) == 1 else None
    return Winner(tuple(level), gain, len(order), first.run)


def winners(model: Model) -> dict[Place, Winner]:
    return {place: winner(some) for place, some in places(model.kernels).items()
            if place[2] != "material" and sum(p.strategy not in NOT_A_STRATEGY + CHOOSES for p in some) > 1}


def find(points: Iterable[Point], **wanted) -> list[Point]:
    return [p for p in points if all(getattr(p, name) == value for name, value in wanted.items())]


# --- numbers as text -----------------------------------------------------------------------------------------

def digits(value: float, n: int = 3) -> str:
    """n significant digits, never an exponent: 23.7, 0.0123, 1290."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    decimals = n - 1 - math.floor(math.log10(abs(float(f"{value:.{n - 1}e}"))))
    return f"{value:.{max(decimals, 0)}f}" if decimals >= 0 else f"{round(value, decimals):.0f}"


def interval(time: Time, factor: float = 1.0, n: int = 3) -> str:
    """Value (low–high); ~ where it is noisy."""
    t = time.times(factor)
    return f"{digits(t.value, n)} ({digits(t.low, n)}–{digits(t.high, n)})" + ("~" if t.noisy else "")


def count(n: float) -> str:
    """Degrees of freedom: 98.3 k, 6.44 M."""
    return f"{digits(n / 1e6)} M" if n >= 999_500 else f"{digits(n / 1e3)} k" if n >= 1000 else f"{n:.0f}"


def seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{digits(value / size)} {unit}"
    return f"{digits(value / 1e-9)} ns"
