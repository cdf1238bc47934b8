"""How long a point will take: from what points took in this run, in earlier ones, and in rows of the repository.

Seconds are a sum of a few terms (a start, strategies, samples, what goes with the size) whose factors are fitted to
measured points of the same program and backend, with relative errors; then what the nearest of these points took beyond
that sum. Points of this run count most, then those of the same machine in earlier runs, then of other machines. Rows
know the time of samples alone, and so are taken only where no point was ever measured. No factor is typed.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import operator
import pathlib
from collections.abc import Iterable

from report import rows
from runner import points, studies

# What a record counts for, compared with a point of this run. They say how far to believe, not how long.
EARLIER, OTHER_MACHINE, ROWS = 0.3, 0.03, 0.003
DIFFERS, FAR = 0.1, 0.5  # weight in the correction for each trait that differs, and for each factor 4 between sizes
DOUBTS = 0.02  # weight of "no correction"
LATE = 2.0  # a point that was stopped would have taken this much longer, at least


@dataclasses.dataclass(frozen=True)
class Work:
    """What makes a point long."""

    kind: str  # program and backend
    traits: tuple[str, ...]  # element, family of meshes or problems, ...
    size: float
    terms: tuple[float, ...]
    steady: float = 0.0  # seconds that it takes beside these: of operations without pause


@dataclasses.dataclass(frozen=True)
class Record:
    work: Work
    seconds: float
    weight: float
    name: str = ""
    stopped: bool = False
    predicted: float | None = None  # of this run, from more than rows

    def rest(self) -> float:
        """Seconds beside those that are known."""
        return max(self.seconds - self.work.steady, 0.01)


def work_of(point: points.Point, strategies: int, repetitions: int, gmsh: bool) -> Work:
    size = point.dofs(gmsh)
    n, samples = strategies, strategies * repetitions
    if isinstance(point, points.Kernels):
        samples *= point.operations()
    terms: tuple[float, ...] = (1.0, n, samples, n * size, samples * size)
    steady = n * point.steady_seconds() if isinstance(point, points.Kernels) else 0.0
    traits = [point.element, point.family()]
    if isinstance(point, points.Kernels):
        traits += [point.special]
    elif point.program not in points.KINDS:
        traits += point.axes()
    elif isinstance(point, points.Solves):
        traits += [point.precondition, str(point.ranks), point.products, point.jacobian, str(point.anderson),
                   point.transport]
        terms += (size,)
    elif isinstance(point, points.Scaling):
        traits += [point.kind, str(point.ranks), point.transport, point.gmres]
        total = size * point.ranks
        terms += (total if point.size.isdigit() else 0.0, total)
    return Work(f"{point.program}-{point.backend}", tuple(traits), size, terms, steady)


# --- fitting ---------------------------------------------------------------------------------------------


def sum_of(factors: list[float], work: Work) -> float:
    return max(sum(map(operator.mul, factors, work.terms)), 1e-3)


def equal_shares(records: list[Record]) -> list[float]:
    """Factors with which all terms are equally long."""
    n = len(records[0].work.terms)
    means = [sum(r.work.terms[i] / r.rest() for r in records) / len(records) for i in range(n)]
    return [1 / (n * mean) if mean > 0 else 0.0 for mean in means]


def scaled(factors: list[float], records: list[Record]) -> list[float]:
    """So that the records are met on average."""
    beyond = sum(math.log(r.rest() / sum_of(factors, r.work)) for r in records) / len(records)
    return [f * math.exp(beyond) for f in factors]


def fit(records: list[Record], start: list[float]) -> list[float]:
    """Factors of the terms, none negative, with the least sum of weighted squares of relative errors. Where few records
    leave them open, they stay near `start`."""
    n = len(records[0].work.terms)
    table = [[t / r.rest() for t in r.work.terms] for r in records]
    weight = [r.weight for r in records]
    a = [[sum(w * row[i] * row[j] for w, row in zip(weight, table)) for j in range(n)] for i in range(n)]
    b = [sum(w * row[i] for w, row in zip(weight, table)) for i in range(n)]
    x = list(start)
    for _ in range(500):  # coordinate descent; it converges, since the function is convex
        before = list(x)
        for i in range(n):
            if a[i][i] > 0:
                x[i] = max(0.0, x[i] + (b[i] - sum(map(operator.mul, a[i], x))) / a[i][i])
        if x == before:
            break
    return x


@functools.cache
def differing(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    return sum(map(operator.ne, a, b))


def nearness(a: Work, b: Work) -> float:
    return DIFFERS**differing(a.traits, b.traits) * FAR ** abs(math.log(a.size / b.size, 4))


Fitted = tuple[list[float], list[tuple[Record, float]]]  # factors; of each record the logarithm of its time over their sum


def fitted_to(known: list[Record]) -> Fitted:
    """known: of one kind, which ended."""
    measured, of_rows = ([r for r in known if (r.weight > ROWS) == is_measured] for is_measured in (True, False))
    factors = equal_shares(of_rows or measured)
    if of_rows:
        factors = fit(of_rows, factors)
    if measured:
        factors = fit(measured, scaled(factors, measured))
    return factors, [(r, math.log(r.rest() / sum_of(factors, r.work))) for r in measured or known]


@dataclasses.dataclass
class Costs:
    records: list[Record] = dataclasses.field(default_factory=list)
    fitted: dict[str, Fitted] = dataclasses.field(default_factory=dict)  # by kind, until records are added

    def add(self, record: Record) -> None:
        self.records.append(record)
        self.fitted.pop(record.work.kind, None)

    def predict(self, work: Work, name: str = "") -> float | None:
        """Seconds; None where nothing like it was ever measured."""
        stopped = [LATE * r.seconds for r in self.records if r.stopped and r.name == name and r.work.kind == work.kind
                   and r.seconds > (r.predicted or 0.0)]  # else it had less time than it was said to take
        if work.kind not in self.fitted:
            known = [r for r in self.records if r.work.kind == work.kind and r.seconds > 0 and not r.stopped]
            if not known:
                return max(stopped, default=None)
            self.fitted[work.kind] = fitted_to(known)
        factors, rest = self.fitted[work.kind]
        beyond, weights = 0.0, DOUBTS
        for r, share in rest:
            weight = r.weight * nearness(work, r.work)
            beyond += weight * share
            weights += weight
        seconds = sum_of(factors, work) * math.exp(beyond / weights) + work.steady
        return max([seconds, *stopped])

    def is_measured(self, kind: str) -> bool:
        """Whether more is known of a program and backend than the time of samples in rows."""
        return any(r.work.kind == kind and r.weight > ROWS for r in self.records)

    def caution(self) -> float:
        """What four of five predictions of this run must be multiplied with to be enough; 1 before the fifth."""
        ratios = sorted(r.seconds / r.predicted for r in self.records if r.predicted and r.seconds >= 1)
        return max(1.0, ratios[int(0.8 * len(ratios))]) if len(ratios) >= 5 else 1.0


# --- what was measured -----------------------------------------------------------------------------------


@rows.by_file
def read_points(path: pathlib.Path, machine: str, gmsh: bool) -> list[Record]:
    """Of a points.csv. One that is not what it should be tells nothing; report/rows.py says what is wrong with it."""
    try:
        table = rows.kept(path)
    except rows.Fault:
        return []
    found = []
    for row in table:
        if row["status"] not in ("done", "stopped") or not row["took_s"]:
            continue
        try:
            point = studies.point_named(str(row["point"]))
        except ValueError:
            continue  # of another list
        if row["energy"] and not point.measures_energy():
            continue  # of an earlier list, where a point had its energy beside all else
        work = work_of(point, int(row["strategies"]), int(row["repetitions"]), gmsh)
        weight = EARLIER if row["machine"] == machine else OTHER_MACHINE
        found.append(Record(work, float(row["took_s"]), weight, point.name(), row["status"] == "stopped"))
    return found


def sampled(table: Iterable[rows.Row]) -> float:
    return sum((row["repetitions"] or 0) * (row["calls"] or 1) * row["median_s"] for row in table if row["median_s"])


@rows.by_file
def read_rows(path: pathlib.Path) -> list[Record]:
    """Of a kernels.csv, solves.csv or scaling.csv: for each of its points the time of its samples and of its set-up."""
    try:
        table = rows.kept(path)
    except rows.Fault:
        return []
    groups: dict[tuple, list[rows.Row]] = collections.defaultdict(list)
    program = rows.kind_of(path).removesuffix(".csv")
    for row in table:
        key = tuple(row[c] for c in ("backend", "element", "case", "n_dof", "ranks", "precision", "hardening", "condition", "operand"))
        groups[key + (row.get("precondition"), row.get("jacobian"), row.get("anderson"), row["precision"], row["order"], row["plastic"])].append(row)
    return [record for group in groups.values() if (record := record_of_rows(program, group))]


def record_of_rows(program: str, group: list[rows.Row]) -> Record | None:
    first = group[0]
    backend, element, case, dofs = (str(first[c]) for c in ("backend", "element", "case", "n_dof"))
    strategies = {row["variant"] for row in group}
    repetitions = max(row["repetitions"] or 0 for row in group)
    own = {row["variant"]: row["setup_s"] or 0.0 for row in group}
    if program == "kernels":
        family = points.mesh_family(case.split("_")[0].removesuffix("-distorted"))
        special = "+".join(str(first[c]) for c in ("precision", "hardening", "operand", "condition")
                           if first[c] != rows.USUAL[c])
        mesh = dofs if family == "box" else f"{family}@{dofs}"
        point: points.Point = points.Kernels(backend, element, mesh, special=special)
        seconds = sampled(group)
    elif program == "solves":
        problem = "stretched" if "stretched" in case else "bending" if "bending" in case else \
            "bracket_linear" if case.endswith("linear") else "bracket"
        cells = round((int(dofs) / 3) ** (1 / 3))
        size = f"{problem}{cells}" if problem[:3] != "bra" else problem if int(dofs) < 20000 else \
            problem.replace("bracket", "bracket_fine")
        ranks = int(first["ranks"] or 1)
        if str(first["variant"]).startswith("petsc_"):
            point = points.Peers(backend, element, size, str(first["precondition"]), ranks)
        else:
            products = str(first["precision"]).replace("double", "")
            jacobian = str(first["jacobian"]).replace("tangent", "")
            point = points.Solves(backend, element, size, str(first["precondition"]), ranks, products, jacobian,
                                  int(first["anderson"] or 0))
        seconds = sampled(row for row in group if str(row["operation"]).startswith(("solve", "precondition_setup")))
    elif program == "scaling":
        mesh = dofs if "box" in case else f"irregular@{dofs}"
        point = points.Scaling(backend, element, mesh, "strong", int(first["ranks"] or 1))
        seconds = sampled(group)
    else:
        return None
    work = work_of(point, len(strategies), repetitions, True)
    total = seconds + sum(own.values())
    return Record(work, total, ROWS, point.name()) if total > 0 and work.size > 0 else None


def earlier(results: Iterable[pathlib.Path], machine: str, here: pathlib.Path, gmsh: bool, kinds: set[str]) -> Costs:
    """From all runs below folders of results; points of the folder `here` count as this run's. Rows are read only for
    programs and backends (kinds) that no point tells of."""
    costs = Costs()
    here = here.resolve()
    folders = sorted({folder.resolve() for top in results for folder in top.glob("*/*") if folder.is_dir()})
    for folder in folders:
        for record in read_points(folder / "points.csv", machine, gmsh):
            costs.add(dataclasses.replace(record, weight=1.0) if folder == here else record)
    told = {record.work.kind for record in costs.records}
    for name in ("kernels.csv", "solves.csv", "scaling.csv"):
        programs = ("solves", "peers") if name == "solves.csv" else (name.removesuffix(".csv"),)
        if all(kind in told for kind in kinds if kind.startswith(programs)):
            continue
        for folder in folders:
            path = rows.packed(folder / name)
            if path.is_file():
                costs.records += [r for r in read_rows(path) if r.work.kind not in told]
    return costs
