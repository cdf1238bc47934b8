"""Decides claims by rows: claims/README.md says what a claim is.

    python3 -m report.claims [NAME...]             verdicts on all machines that have rows, from results/
    python3 -m report.claims --rows FOLDER NAME... from the rows of one folder
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import math
import pathlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence

from report import rows, statistics, text

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOLDS, FAILS, UNSURE, MISSING = "holds", "fails", "cannot tell", "not measured"
# Five independent runs of one point on one kind of card: 23.6, 23.3, 23.4, 22.0 and 21.4 GDoF/s.
ONE_PROCESS = 1.1
USUAL = {"kernels.csv": {"order": "auto", "plastic": 1.0, "plastic_pattern": "clustered", "precision": "double",
                         "hardening": "linear", "condition": "burst", "operand": "random"}}
# Columns that a run's rows may differ in without being other points.
NOT_POINT = ("device",)

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


@dataclasses.dataclass(frozen=True)
class Decided:
    """One point: the ratio of a claim, with its interval."""

    where: dict[str, rows.Value]
    ratio: statistics.Estimate
    verdict: str
    commit: str


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
    def processes(self) -> int:
        return min((p.ratio.processes for p in self.points), default=0)


# --- claims as files ------------------------------------------------------------------------------------------

QUANTITIES: dict[str, Callable[[rows.Row], float | None]] = {
    "speed": lambda row: 1 / float(row["median_s"]) if row["median_s"] else None,
    "time": lambda row: float(row["median_s"]) if row["median_s"] else None,
    "time_per_newton": lambda row: (float(row["median_s"]) / int(row["newton_iterations"])
                                    if row["median_s"] and row["newton_iterations"] else None),
    "bytes_work_per_node": lambda row: float(row["bytes_work"]) / (int(row["n_dof"]) / 3) if row["bytes_work"] else None,
    "bytes_per_dof": lambda row: float(row["bytes"]) / int(row["n_dof"]) if row["bytes"] else None,
}
KEYS = {"asks", "sentence", "file", "quantity", "select", "of", "over", "free", "above", "below", "expected", "asserted",
        "reproduce", "minutes"}


def read(folder: pathlib.Path = ROOT / "claims") -> list[Claim]:
    """All claims, in the order of files and of the claims in them. Fault where one is not what claims/README.md says."""
    claims: list[Claim] = []
    for path in sorted(folder.glob("*.toml")):
        try:
            with open(path, "rb") as file:
                tables = tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise rows.Fault(f"{path}: {error}") from error
        claims += [_claim(path, name, table) for name, table in tables.items()]
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
    columns = rows.columns_of(table["file"])
    for part in ("select", "of", "over"):
        for column in table.get(part, {}):
            if column not in columns:
                raise fault(f"{part}: {column!r} is no column of {table['file']}")
    return Claim(name, table["asks"], table["sentence"], table["file"], table["quantity"], table["select"], table["of"],
                 table.get("over"), tuple(table.get("free", ())), table.get("above"), table.get("below"),
                 table.get("expected", ""), table.get("asserted", False), tuple(table.get("reproduce", ())),
                 table.get("minutes", 0.0))


def backends_of(claim: Claim) -> set[str]:
    """Backends that a claim's sides name."""
    return {str(s["backend"]) for s in (claim.select, claim.of, claim.over or {}) if "backend" in s}


def matches(value: rows.Value, wanted: object) -> bool:
    """Whether a cell is what a selection asks for."""
    if isinstance(wanted, list):
        return any(matches(value, one) for one in wanted)
    if isinstance(wanted, str):
        if bound := re.fullmatch(r"([<>]=?)\s*([\d.e+]+)", wanted):
            if value is None:
                return False
            x, limit = float(value), float(bound[2])
            return {"<": x < limit, "<=": x <= limit, ">": x > limit, ">=": x >= limit}[bound[1]]
        if span := re.fullmatch(r"([\d.e+]+) to ([\d.e+]+)", wanted):
            return value is not None and float(span[1]) <= float(value) <= float(span[2])
        if wanted.startswith("!= "):
            return str(value) != wanted[3:]
    return value == wanted


# --- rows of a machine ------------------------------------------------------------------------------------------


@functools.cache
def _rows_of(path: pathlib.Path, changed: int) -> tuple[rows.Row, ...]:
    """Of a file as it was when it was last changed."""
    return tuple(rows.read(path))


def runs_of(folder: pathlib.Path) -> list[pathlib.Path]:
    """Run folders, the newest first: their names begin with the day; of one day the last by name."""
    return sorted((path for path in folder.iterdir() if path.is_dir()), key=lambda path: path.name, reverse=True)


def machines() -> list[pathlib.Path]:
    return sorted(path for path in (ROOT / "results").iterdir() if path.is_dir() and path.name != "report")


def _selected(claim: Claim, run: pathlib.Path) -> Iterator[rows.Row]:
    usual = {**USUAL.get(claim.file, {}), **claim.select}
    for path in rows.files_below(run):
        if rows.kind_of(path) != claim.file:
            continue
        for row in _rows_of(path, path.stat().st_mtime_ns):
            if row["status"] == "ok" and not row["noise"] and all(matches(row[c], w) for c, w in usual.items()
                                             if c not in claim.of and c not in (claim.over or {})):
                yield row


def _side(claim: Claim, found: Iterable[rows.Row], side: Selection) -> dict[tuple, list[rows.Row]]:
    """Rows of one side by what both sides must share."""
    loose = set(claim.of) | set(claim.over or {}) | set(claim.free) | set(NOT_POINT)
    points: dict[tuple, list[rows.Row]] = {}
    for row in found:
        if all(matches(row[c], w) for c, w in side.items()):
            key = rows.anywhere(row, loose)
            points.setdefault(key, []).append(row)
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
    values = [[QUANTITIES[claim.quantity](row) for row in side] for side in (of, over or ())]
    if any(v is None for side in values for v in side):
        return None
    x, y = values
    r = statistics.ratio(x, y, paired=False) if over else statistics.estimate(x)  # type: ignore[arg-type]
    if r.supports_claims:
        return r
    return statistics.Estimate(r.value, r.value / ONE_PROCESS, r.value * ONE_PROCESS, r.processes)


def _judge(claim: Claim, r: statistics.Estimate) -> str:
    low = -math.inf if claim.above is None else claim.above
    high = math.inf if claim.below is None else claim.below
    if low < r.low and r.high < high:
        return HOLDS
    return FAILS if r.high <= low or r.low >= high else UNSURE


def decide(claim: Claim, machine: str, runs: Sequence[pathlib.Path]) -> Verdict:
    """On the runs of one machine, the newest first."""
    points: dict[tuple, Decided] = {}
    for run in runs:
        found = list(_selected(claim, run))
        of = _side(claim, found, claim.of)
        for selection in _split(claim.over) if claim.over is not None else [None]:
            over = _side(claim, found, selection) if selection is not None else {key: None for key in of}
            for key in (key for key in of if key in over):
                name = (key, tuple(sorted((selection or {}).items())))
                r = _estimate(claim, of[key], over[key]) if name not in points else None
                if r is None:
                    continue
                first = of[key][0]
                where = {n: first[n] for n in ("element", "operation", "case", "n_dof", "ranks")} | (selection or {})
                points[name] = Decided(where, r, _judge(claim, r), str(first["commit"]))
    return Verdict(claim, machine, _overall(list(points.values())), tuple(points.values()))


def _overall(points: Sequence[Decided]) -> str:
    told = {point.verdict for point in points}
    return (MISSING if not points else FAILS if FAILS in told else HOLDS if told == {HOLDS} else UNSURE)


def decide_all(claims: Iterable[Claim]) -> list[tuple[Claim, list[Verdict]]]:
    """Each claim on each machine that has rows of it."""
    return [(claim, [v for m in machines() if (v := decide(claim, m.name, runs_of(m))).verdict != MISSING])
            for claim in claims]


# --- sources that have changed since ------------------------------------------------------------------------


@functools.cache
def changed_since(commit: str, variant: str) -> bool | None:
    """Whether a strategy's sources, or what all share, differ between a commit and now. None: git can't tell."""
    paths = ["common/physics", "common/backend", "common/problem", f"variants/{variant}"]
    try:
        done = subprocess.run(["git", "diff", "--quiet", commit.removesuffix("-dirty"), "--", *paths], cwd=ROOT,
                              capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return {0: False, 1: True}.get(done.returncode)


# --- what is said ---------------------------------------------------------------------------------------------


def digits(x: float) -> str:
    """Two digits, three from 100 on or near 1."""
    if x >= 100:
        return f"{x:.0f}"
    return f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def sentence(claim: Claim, verdicts: Sequence[Verdict]) -> str:
    """With the least and the largest ratio of all points."""
    values = [p.ratio.value for v in verdicts for p in v.points]
    if not values:
        return claim.sentence.split("{")[0].rstrip() + " … (not measured)"
    least, most = min(values), max(values)
    return claim.sentence.format(least=digits(least), most=digits(most), least_ms=digits(1e3 * least),
                                 most_ms=digits(1e3 * most))


def place(point: Decided) -> str:
    w = point.where
    beside = f", beside {w['variant']}" if "variant" in w else ""
    return f"{w['element']} {w['operation']}, {text.size(w['n_dof'])} ({w['case']}{beside})"


def describe(v: Verdict) -> str:
    """One line: where it holds, and the point that decides against it, or the closest one."""
    if v.verdict == MISSING:
        return f"{v.machine}: {MISSING}"
    counts = f"{v.count(HOLDS)} of {len(v.points)} points hold" if len(v.points) > 1 else "1 point"
    worst = _decisive(v)
    processes = f"{v.processes} processes" if v.processes > 1 else "one process"
    return (f"{v.machine}: {v.verdict} ({counts}, {processes}); "
            f"{digits(worst.ratio.value * _unit(v.claim))}{_suffix(v.claim)} at {place(worst)}")


def _unit(claim: Claim) -> float:
    return 1e3 if claim.over is None and claim.quantity.startswith("time") else 1.0


def _suffix(claim: Claim) -> str:
    if claim.over is not None:
        return " times"
    return " ms" if claim.quantity.startswith("time") else " B"


def _decisive(v: Verdict) -> Decided:
    """Of the points with the overall verdict the one that is farthest on its side; of those that hold the closest call."""
    def margin(p: Decided) -> float:
        above = math.log(p.ratio.value / v.claim.above) if v.claim.above else math.inf
        below = math.log(v.claim.below / p.ratio.value) if v.claim.below else math.inf
        return min(above, below)
    return min((p for p in v.points if p.verdict == v.verdict), key=margin)


def stale(decided: Sequence[tuple[Claim, list[Verdict]]]) -> list[str]:
    """Claims that rest on rows whose sources have changed since."""
    found = []
    for claim, verdicts in decided:
        variants = {str(s["variant"]) for s in (claim.of, claim.select, claim.over or {})
                    if isinstance(s.get("variant"), str)}
        old = sorted({p.commit for v in verdicts for p in v.points
                      if any(changed_since(p.commit, variant) for variant in variants)})
        if old:
            found.append(f"{claim.name}: sources have changed since {', '.join(c[:7] for c in old)}")
    return found


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m report.claims", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rows", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--stale", action="store_true", help="claims whose rows are older than their sources (needs git)")
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
        print("\n".join("  " + describe(v) for v in verdicts) or f"  {MISSING}")
    return 0


def main(words: list[str] | None = None) -> int:
    try:
        return run(arguments().parse_args(words))
    except (rows.Fault, OSError) as fault:
        print(f"claims: {fault}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
