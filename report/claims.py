"""Decides claims by rows: claims/README.md says what a claim is.

    python3 -m report.claims [NAME...]             verdicts on all machines that have rows, from results/
    python3 -m report.claims --rows FOLDER NAME... from the rows of one folder
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import math
import pathlib
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence

from report import rows, sources, statistics
from report.cases import CASE_PARTS, ranked_case
from report.model import ONE_PROCESS
from report.quantities import QUANTITIES
from report.text import count, digits

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOLDS, FAILS, UNSURE, MISSING = "holds", "fails", "cannot tell", "not measured"
USUAL = {"kernels.csv": rows.USUAL}  # of columns that a claim does not select
# Columns that say where a point is.
PLACE = ("element", "operation", "case", "n_dof", "ranks", "problem", "jacobian", "depth")
CASE = "case."  # in front of a part of the case of several ranks (Ranked)

Selection = dict[str, object]


@dataclasses.dataclass(frozen=True)
class Claim:
    name: str
    asks: str
    sentence: str
    file: str
    quantity: str
    select: Selection
    of: Selection
    over: Selection | None
    free: tuple[str, ...]
    above: float | None
    below: float | None
    expected: str
    asserted: bool
    reproduce: tuple[str, ...]
    minutes: float
    told_as: str  # "": the ratio or quantity; percent: the ratio in per cent; share: see shown
    needs: str  # what it would take to measure it, where nothing here can
    headline: bool = False  # the README and the report begin with it

    def shown(self, ratio: float) -> float:
        """As the sentence has it. A share is the part of `of` by which it exceeds `over`, in per cent."""
        if self.told_as:
            return 100 * (1 - 1 / ratio if self.told_as == "share" else ratio)
        return ratio if self.over is not None else ratio * QUANTITIES[self.quantity].factor

    def bound(self, shown: float) -> float:
        """The inverse: of a bound."""
        if self.told_as:
            return 1 / (1 - shown / 100) if self.told_as == "share" else shown / 100
        return shown if self.over is not None else shown / QUANTITIES[self.quantity].factor

    @property
    def unit(self) -> str:
        return "%" if self.told_as else "times" if self.over is not None else QUANTITIES[self.quantity].unit

    @property
    def programs(self) -> list[str]:
        return [text.split()[0] for text in self.reproduce]


@dataclasses.dataclass(frozen=True)
class Decided:
    """One point: the ratio of a claim, with its interval."""

    where: dict[str, rows.Value]
    beside: str  # the strategy that the ratio is over
    ratio: statistics.Estimate
    verdict: str
    commit: str
    is_old: bool  # sources have changed since (report/sources.py)


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Of one claim on one machine."""

    claim: Claim
    machine: str
    verdict: str
    points: tuple[Decided, ...]

    def count(self, verdict: str) -> int:
        return sum(p.verdict == verdict for p in self.points)

    @property
    def commits(self) -> str:
        """With marks where sources have changed since."""
        old = {p.commit for p in self.points if p.is_old}
        return ", ".join(sources.marked(c, c in old) for c in sorted({p.commit for p in self.points}))

    @property
    def is_old(self) -> bool:
        return any(p.is_old for p in self.points)

    @property
    def processes(self) -> int:
        return min((p.ratio.processes for p in self.points), default=0)


# --- claims as files ------------------------------------------------------------------------------------------

PROGRAMS = ("kernels", "solves", "scaling", "bench")
KEYS = {"asks", "sentence", "file", "quantity", "select", "of", "over", "free", "above", "below", "expected",
        "asserted", "reproduce", "minutes", "as", "needs", "headline"}


def read(folder: pathlib.Path = ROOT / "claims") -> list[Claim]:
    """All claims, in the order of files and of claims in them. Fault where one is not what claims/README.md says."""
    claims: list[Claim] = []
    for path in sorted(folder.glob("*.toml")):
        try:
            with open(path, "rb") as file:
                tables = tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise rows.Fault(f"{path}: {error}") from error
        for name, table in tables.items():
            if name in (claim.name for claim in claims):
                raise rows.Fault(f"{path}: [{name}]: there is another claim of this name")
            claims.append(_claim(path, name, table))
    return claims


def _claim(path: pathlib.Path, name: str, table: dict) -> Claim:
    def fault(what: str) -> rows.Fault:
        return rows.Fault(f"{path}: [{name}]: {what}")

    if unknown := sorted(set(table) - KEYS):
        raise fault(f"{unknown[0]!r} is not a key of a claim")
    for key in ("asks", "sentence", "file", "quantity", "select", "of"):
        if key not in table:
            raise fault(f"has no {key!r}")
    if table["file"] not in rows.schema()["file"]:
        raise fault(f"file {table['file']!r}: results/schema.toml has none of this name")
    if table["quantity"] not in QUANTITIES:
        raise fault(f"quantity {table['quantity']!r} is not one of {', '.join(QUANTITIES)}")
    if "above" not in table and "below" not in table:
        raise fault("has neither 'above' nor 'below'")
    if "as" in table and (table["as"] not in ("share", "percent") or "over" not in table):
        raise fault(f"as {table['as']!r}: it may be \"share\" or \"percent\", of a claim with 'over'")
    for text in table.get("reproduce", ()):
        if text.split()[:1] not in [[name] for name in PROGRAMS]:
            raise fault(f"reproduce: {text!r} does not begin with one of {', '.join(PROGRAMS)}")
    if not table.get("reproduce") and not table.get("needs"):
        raise fault("has neither 'reproduce' nor 'needs'")
    columns = rows.columns_of(table["file"])
    for part in ("select", "of", "over"):
        for column in table.get(part, {}):
            if column not in columns:
                raise fault(f"{part}: {column!r} is no column of {table['file']}")
    parts = [CASE + name for name in CASE_PARTS] if table["file"] == "scaling.csv" else []
    for column in table.get("free", ()):
        if column not in columns + parts:
            raise fault(f"free: {column!r} is no column of {table['file']}" + f", nor one of {', '.join(parts)}" * bool(parts))
    return Claim(name, table["asks"], table["sentence"], table["file"], table["quantity"], table["select"], table["of"],
                 table.get("over"), tuple(table.get("free", ())), table.get("above"), table.get("below"),
                 table.get("expected", ""), table.get("asserted", False), tuple(table.get("reproduce", ())),
                 table.get("minutes", 0.0), table.get("as", ""), table.get("needs", ""), table.get("headline", False))


def backends_of(claim: Claim) -> set[str]:
    """Those that a claim's sides name; where none does, the host's will do. Profiles are of a GPU."""
    named = {str(s["backend"]) for s in (claim.select, claim.of, claim.over or {}) if "backend" in s}
    return named or {"cuda" if claim.file == "profile.csv" else "host"}


def gpus_of(claim: Claim) -> int:
    """That its commands need: as many as the most ranks."""
    if "cuda" not in backends_of(claim):
        return 0
    return max([1] + [int(n) for command in claim.reproduce for n in re.findall(r"--ranks (\d+)", command)])


def hardware(claim: Claim) -> str:
    n = gpus_of(claim)
    return "a host" if n == 0 else "a GPU" if n == 1 else f"{n} GPUs"


def matches(value: rows.Value, wanted: object) -> bool:
    """Whether a cell is what a selection asks for."""
    if isinstance(wanted, list):
        return any(matches(value, one) for one in wanted)
    if isinstance(wanted, str):
        if bound := re.fullmatch(r"([<>]=?)\s*([\d.e+-]+)", wanted):
            if value is None:
                return False
            x, limit = float(value), float(bound[2])
            return {"<": x < limit, "<=": x <= limit, ">": x > limit, ">=": x >= limit}[bound[1]]
        if span := re.fullmatch(r"([\d.e+-]+) to ([\d.e+-]+)", wanted):
            return value is not None and float(span[1]) <= float(value) <= float(span[2])
        if wanted.startswith("!= "):
            return str(value) != wanted[3:]
    return value == wanted


# --- rows of a machine ------------------------------------------------------------------------------------------


@functools.cache
def _rows_of(path: pathlib.Path, changed: int) -> tuple[rows.Row, ...]:
    """Of a file as it was when it was last changed."""
    return tuple(rows.read(path))


@functools.cache
def strategies() -> tuple[str, ...]:
    """In the order of variants/variants.def."""
    return tuple(re.findall(r"^FE_VARIANT\((\w+)\)", (ROOT / "variants/variants.def").read_text(), re.MULTILINE))


def runs_of(folder: pathlib.Path) -> list[pathlib.Path]:
    """Run folders, the newest first: their names begin with the day; of one day the last by name."""
    return sorted((path for path in folder.iterdir() if path.is_dir()), key=lambda path: path.name, reverse=True)


def machines() -> list[pathlib.Path]:
    return sorted(path for path in (ROOT / "results").iterdir() if path.is_dir() and path.name != "report")


def _selected(claim: Claim, run: pathlib.Path) -> dict[str, list[rows.Row]]:
    """By name of file, scaling.csv before scaling-peer.csv, whose rows are no further processes of the former's."""
    found: dict[str, list[rows.Row]] = {}
    usual = {**USUAL.get(claim.file, {}), **claim.select}
    sides = {*claim.of, *(claim.over or {})}
    for path in (path for path in rows.files_below(run) if rows.kind_of(path) == claim.file):
        for row in _rows_of(path, path.stat().st_mtime_ns):
            if row["status"] in ("ok", "converged") and not rows.disturbed(row) and \
                    all(matches(row[c], w) for c, w in usual.items() if c not in sides):
                found.setdefault(path.name, []).append(row)
    return dict(sorted(found.items(), key=lambda entry: (entry[0] != claim.file, entry[0])))


def _side(claim: Claim, found: Iterable[rows.Row], side: Selection) -> dict[tuple, dict[tuple, list[rows.Row]]]:
    """Rows of one side by what both sides must share, and then by point: rows of two points are no processes of one."""
    parts = {name.removeprefix(CASE) for name in claim.free if name.startswith(CASE)}
    loose = set(claim.of) | set(claim.over or {}) | set(claim.free) | ({"case"} if parts else set())
    points: dict[tuple, dict[tuple, list[rows.Row]]] = {}
    for row in found:
        if all(matches(row[c], w) for c, w in side.items()):
            key = rows.anywhere(row, loose), ranked_case(row["case"]).without(parts) if parts else None
            points.setdefault(key, {}).setdefault(rows.anywhere(row), []).append(row)
    return points


def _split(side: Selection) -> Iterator[Selection]:
    """A list of strategies is one ratio for each."""
    listed = [column for column, wanted in side.items() if isinstance(wanted, list)]
    if not listed:
        yield side
        return
    for one in side[listed[0]]:  # type: ignore[index]
        yield from _split({**side, listed[0]: one})


def _estimate(claim: Claim, of: Sequence[rows.Row], over: Sequence[rows.Row] | None) -> statistics.Estimate | None:
    """Two sides of the same processes are paired: they were measured in turns."""
    quantity = QUANTITIES[claim.quantity]
    sides = [sorted(side, key=rows.process_of) for side in (of, over or ())]
    values = [[quantity.of(row) for row in side] for side in sides]
    if any(v is None for side in values for v in side):
        return None
    x, y = values
    paired = list(map(rows.process_of, sides[0])) == list(map(rows.process_of, sides[1]))
    r = statistics.ratio(x, y, paired) if over else statistics.estimate(x)  # type: ignore[arg-type]
    if r.supports_claims:
        return r
    if quantity.counted:
        return statistics.Estimate(r.value, r.value, r.value, r.processes)
    low, high = r.value / ONE_PROCESS, r.value * ONE_PROCESS
    if r.processes > 1:  # too few, but they may tell more of how far processes differ
        low, high = min(low, r.low), max(high, r.high)
    return statistics.Estimate(r.value, low, high, r.processes)


def _judge(claim: Claim, r: statistics.Estimate) -> str:
    low = -math.inf if claim.above is None else claim.bound(claim.above)
    high = math.inf if claim.below is None else claim.bound(claim.below)
    if low < r.low and r.high < high:
        return HOLDS
    return FAILS if r.high <= low or r.low >= high else UNSURE


def _ratios(claim: Claim, found: Sequence[rows.Row], files: Iterable[Sequence[rows.Row]]) -> dict[tuple, list[Decided]]:
    """Of the rows of one file, whose other side may be in another file of the run; by what tells the claim's points apart,
    each with a ratio for all that a column differs in which is free."""
    told: dict[tuple, list[Decided]] = {}
    others = list(_split(claim.over)) if claim.over is not None else [None]
    for side, other in itertools.product(_split(claim.of), others):
        overs = [_side(claim, some, other) for some in (found, *files)] if other is not None else []
        for key, owns in _side(claim, found, side).items():
            over = next((side_of[key] for side_of in overs if key in side_of), {}) if overs else {(): None}
            for own, beside in itertools.product(owns.values(), over.values()):
                if (r := _estimate(claim, own, beside)) is None:
                    continue
                first, is_old = own[0], any(_is_old(claim, row) for row in own + (beside or []))
                name = (key, first.get("case"), tuple(side.items()), tuple((other or {}).items()))
                told.setdefault(name, []).append(Decided(
                    {n: first[n] for n in PLACE if n in first}, str((other or {}).get("variant", "")), r,
                    _judge(claim, r), str(first["commit"]), is_old))
    return told


def decide(claim: Claim, machine: str, runs: Sequence[pathlib.Path]) -> Verdict:
    """On the runs of one machine, the newest first. One with enough processes decides a point before one without."""
    points: dict[tuple, list[Decided]] = {}

    def fewest(some: Sequence[Decided]) -> int:
        return min(p.ratio.processes for p in some)

    for files in (_selected(claim, run) for run in runs):
        for found in files.values():
            for name, some in _ratios(claim, found, files.values()).items():
                if name not in points or statistics.LEAST_PROCESSES > fewest(points[name]) < fewest(some):
                    points[name] = some
    decided = [p for some in points.values() for p in some]
    return Verdict(claim, machine, _overall(decided), tuple(decided))


def _is_old(claim: Claim, row: rows.Row) -> bool:
    return bool(sources.changed(str(row["commit"]), claim.file, str(row["variant"]), str(row.get("backend", ""))))


def _overall(points: Sequence[Decided]) -> str:
    told = {point.verdict for point in points}
    return (MISSING if not points else FAILS if FAILS in told else HOLDS if told == {HOLDS} else UNSURE)


def decide_all(claims: Iterable[Claim]) -> list[tuple[Claim, list[Verdict]]]:
    """Each claim on each machine that has rows of it."""
    return [(claim, [v for m in machines() if (v := decide(claim, m.name, runs_of(m))).verdict != MISSING])
            for claim in claims]


def short(machine: str) -> str:
    """nvidia-h100-80gb-hbm3: H100."""
    return machine.split("-")[1].upper() if machine.startswith("nvidia-") else machine


# --- what is said ---------------------------------------------------------------------------------------------


def sentence(claim: Claim, verdicts: Sequence[Verdict]) -> str:
    """With the least and the largest ratio of all points."""
    values = [claim.shown(p.ratio.value) for v in verdicts for p in v.points]
    if not values:
        return claim.sentence.replace("{least} to {most}", "…") + " (Not measured.)"
    least, most = digits(min(values)), digits(max(values))
    words = claim.sentence.replace("{least} to {most}", "{least}") if least == most else claim.sentence
    return words.format(least=least, most=most)


KINDS = (("box", "boxes"), ("irregular", "irregular meshes"), ("bracket", "brackets"), ("br_", "brackets"))
NAMES = {"tet4": "Tet4", "hex8": "Hex8", "tet4_p4": "Tet4 of 4 points", "hex8_naive": "Hex8 without tables",
         "jacvec": "products with tangents", "jacvec_elastic": "elastic products", "residual": "residuals",
         "material": "material updates", "solve_graph": "solves with graphs", "solve": "solves"}


def scope(verdicts: Sequence[Verdict]) -> str:
    """Of which elements, operations, meshes and sizes its points are."""
    places = [p.where for v in verdicts for p in v.points]
    if not places:
        return ""

    def told(column: str) -> list[str]:
        words = sorted({str(w[column]) for w in places if w.get(column)})
        return [NAMES.get(word, word) for word in words if not word.startswith("gmres")] + \
            ["GMRES"] * any(word.startswith("gmres") for word in words)

    cases = {re.sub(r"^(strong|weak)-[\dx]+-\w+-", "", str(w["case"])) for w in places if w.get("case")}
    meshes = [name for start, name in KINDS if any(case.startswith(start) for case in cases)]
    sizes = sorted(int(w["n_dof"]) for w in places if w.get("n_dof"))
    parts = [" and ".join(told("element")), ", ".join(told("operation")), ", ".join(dict.fromkeys(meshes)),
             ", ".join(sorted({str(w["problem"]) for w in places if w.get("problem")}))]
    if sizes:
        ends = [count(n) for n in (sizes[0], sizes[-1])]
        parts.append(" to ".join(dict.fromkeys(ends)) + " DoF")
    return ", ".join(part for part in parts if part)


def place(point: Decided) -> str:
    w = point.where
    if "problem" in w:
        return f"{w['element']}, depth {w['depth']} ({w['problem']}, {w['jacobian']})"
    further = "".join([f" on {w['ranks']} ranks" if int(w.get("ranks") or 1) > 1 else "",
                       f" ({w.get('case', 'profile')}{', beside ' if point.beside else ''}{point.beside})"])
    return f"{w['element']} {w['operation']}, {count(int(w['n_dof'] or 0))} DoF{further}"


def describe(v: Verdict) -> str:
    """One line: where it holds, and the point that decides against it, or the closest one."""
    if v.verdict == MISSING:
        return f"{v.machine}: {MISSING}"
    counts = f"{v.count(HOLDS)} of {len(v.points)} points hold" if len(v.points) > 1 else "1 point"
    worst = _decisive(v)
    processes = f"{v.processes} processes" if v.processes > 1 else "one process"
    if QUANTITIES[v.claim.quantity].counted:
        processes = "counted"
    return (f"{v.machine}: {v.verdict} ({counts}, {processes}); "
            f"{digits(v.claim.shown(worst.ratio.value))} {v.claim.unit} at {place(worst)}")


def _decisive(v: Verdict) -> Decided:
    """Of the points with the overall verdict the one farthest on its side; of those that hold the closest call."""
    def margin(p: Decided) -> float:
        above = math.log(p.ratio.value / v.claim.bound(v.claim.above)) if v.claim.above else math.inf
        below = math.log(v.claim.bound(v.claim.below) / p.ratio.value) if v.claim.below else math.inf
        return min(above, below)
    return min((p for p in v.points if p.verdict == v.verdict), key=margin)


def stale(decided: Sequence[tuple[Claim, list[Verdict]]]) -> list[str]:
    """Claims that rest on rows whose sources have changed since."""
    old = [(claim, sorted({p.commit[:7] for v in verdicts for p in v.points if p.is_old}))
           for claim, verdicts in decided]
    return [f"{claim.name}: sources have changed since {', '.join(commits)}" for claim, commits in old if commits]


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m report.claims", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rows", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--stale", action="store_true",
                        help="claims whose rows are older than their sources (needs git)")
    return parser


def chosen(names: Sequence[str]) -> list[Claim]:
    claims = read()
    for name in names:
        if name not in {claim.name for claim in claims}:
            raise rows.Fault(f"{name}: there is no such claim; there are {', '.join(claim.name for claim in claims)}")
    return [claim for claim in claims if not names or claim.name in names]


def run(a: argparse.Namespace) -> int:
    claims = chosen(a.names)
    if a.rows:
        decided = [(claim, [decide(claim, a.rows.name, [a.rows])]) for claim in claims]
    else:
        decided = decide_all(claims)
    if a.stale:
        print("\n".join(stale(decided)) or "no claim rests on rows that are older than its sources")
        return 0
    for claim, verdicts in decided:
        print(f"{claim.name}: {sentence(claim, verdicts)}")
        told = [f"  {describe(v)}{sources.WORDS if v.is_old else ''}" for v in verdicts]
        print("\n".join(told) or f"  {MISSING}" + f"; it needs {claim.needs}" * bool(claim.needs))
    return 0


def main(words: list[str] | None = None) -> int:
    try:
        return run(arguments().parse_args(words))
    except (rows.Fault, OSError) as fault:
        print(f"claims: {fault}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
