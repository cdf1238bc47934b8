"""The one definition of what a row of results/ is: reads CSV files by results/schema.toml, and checks them.

    python3 -m report.rows FILE.csv...     checks files; exit 2 where one is not what the schema says
"""

from __future__ import annotations

import csv
import functools
import gzip
import operator
import pathlib
import sys
import time
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO, TypeVar

Value = str | int | float | None
Row = dict[str, Any]  # by column a value of the type that results/schema.toml says; read() checks it

LEAST_PROCESSES = 3  # fewer support no claim
WIDE = 1.25  # the ratio of an interval's ends from which on it decides nothing
SCHEMA = pathlib.Path(__file__).resolve().parent.parent / "results" / "schema.toml"

# What tells one measured point from another. Runs are compared point by point.
POINT = ("backend", "ranks", "threads", "variant", "element", "case", "order", "plastic", "plastic_pattern", "precision",
         "hardening", "condition", "n_dof", "operation", "operand")
NO_STRATEGY = "none"  # variant of what ranks send and sum
# What points of kernels.csv are of, unless something else is asked for.
USUAL: Row = {"order": "auto", "plastic": 1.0, "plastic_pattern": "clustered", "precision": "double",
              "hardening": "linear", "condition": "burst", "operand": "random"}
# What points of solves.csv are of, unless something else is asked for.
USUAL_SOLVE: Row = {"jacobian": "tangent", "anderson": 0}
SOLVE_POINT = ("krylov", "precondition", "jacobian", "anderson") + POINT
BUILD_POINTS = tuple((column,) + POINT for column in ("storage", "form"))  # of builds that differ in one choice
# Of rows that count something.
COUNTED_POINT = ("problem", "element", "variant", "jacobian", "depth")
PROFILE_POINT = ("variant", "element", "n_dof", "operation")
TRACE_POINT = ("variant", "element", "n_dof", "precondition", "ranks", "transport", "graphs")


class Fault(Exception):
    """A file that is not what the schema says: file, line and value in one line."""


@functools.cache
def schema() -> dict:
    with open(SCHEMA, "rb") as file:
        return tomllib.load(file)


def columns_of(kind: str) -> list[str]:
    """Columns of a kind of file, for example "kernels.csv"; KeyError where there is no such kind."""
    names: list[str] = []
    for name in schema()["file"][kind]:
        names += columns_of(name[1:]) if name.startswith("+") else [name]
    return names


def kind_of(path: pathlib.Path) -> str:
    """By its name: scaling-peer.csv holds rows like scaling.csv; of samples.csv.gz, too."""
    name = path.name.removesuffix(".gz")
    for kind in schema()["file"]:
        stem = kind.removesuffix(".csv")
        if name == kind or (name.startswith(stem + "-") and name.endswith(".csv")):
            return kind
    raise Fault(f"{path}: no kind of file in {SCHEMA.name} has this name")


def packed(path: pathlib.Path) -> pathlib.Path:
    """The file, or the same one compressed (.gz) where it stands so."""
    other = path.with_name(path.name + ".gz")
    return other if other.is_file() and not path.is_file() else path


def opened(path: pathlib.Path) -> TextIO:
    """A file with rows for reading, packed or not."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", newline="", encoding="utf-8")
    return open(path, newline="", encoding="utf-8")


@functools.cache
def _reader_of(name: str) -> Callable[[str], Value]:
    """Of cells of a column. ValueError where one is not of its type."""
    column = schema()["column"][name]
    if column["type"] == "text":
        if "values" not in column:
            return str
        values = frozenset(column["values"])

        def word(text: str) -> str:
            if text not in values:
                raise ValueError(f"is not one of {', '.join(column['values'])}")
            return text
        return word
    if column["type"] == "number":
        return lambda text: float(text) if text else None
    if column["type"] == "flag":
        def flag(text: str) -> int | None:
            if text and int(text) not in (0, 1):
                raise ValueError("is neither 0 nor 1")
            return int(text) if text else None
        return flag
    return lambda text: int(text) if text else None


class _Cells(dict[str, Value]):
    """What cells of a column say by their text, each text converted once."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name, self.reader = name, _reader_of(name)

    def __missing__(self, text: str) -> Value:
        try:
            value = self[text] = self.reader(text)
        except ValueError as error:
            raise ValueError(f"{self.name} {text!r} {error}") from error
        return value


def read(path: pathlib.Path | str, kind: str | None = None, only: Mapping[str, str] | None = None) -> list[Row]:
    """All rows of a file; `only`: those with these cells. Columns that older rows lack have what `absent` says. Fault
    where it is not of its kind, or where two rows of one point have the same number of a process."""
    path = packed(pathlib.Path(path))
    kind = kind or kind_of(path)
    wanted = columns_of(kind)
    rows: list[Row] = []
    timed = "process" in wanted and "median_s" in wanted
    of_point = operator.itemgetter(*columns_of_point(dict.fromkeys(wanted))) if timed else None
    line_of: dict[tuple[Value, ...], int] = {}  # of each process of each point
    try:
        with opened(path) as file:
            reader = csv.reader(file)
            header: list[str] = next(reader, [])
            _check_header(path, header, wanted)
            chosen = [(header.index(name), text) for name, text in (only or {}).items()]
            absent = [name for name in wanted if name not in header]
            texts = [schema()["column"][name]["absent"] for name in absent]
            there = {name: at for at, name in enumerate(header + absent)}
            columns = [(name, there[name], _Cells(name)) for name in wanted]
            for cells in reader:
                if len(cells) != len(header):
                    raise Fault(f"{path}: line {reader.line_num}: {len(cells)} cells, {len(header)} columns")
                if any(cells[at] != text for at, text in chosen):
                    continue
                cells += texts
                try:
                    row = _renamed({name: values[cells[at]] for name, at, values in columns})
                except ValueError as error:
                    raise Fault(f"{path}: line {reader.line_num}: {error}") from error
                rows.append(row)
                if of_point:
                    key = (*of_point(row), process_of(row))
                    if (first := line_of.setdefault(key, reader.line_num)) != reader.line_num:
                        raise Fault(f"{path}: line {reader.line_num}: process {key[-1]} of this point stands in line "
                                    f"{first}, too")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise Fault(f"{path}: {error}") from error
    return rows


FRESH = 2e9  # ns after a change within which another one may leave a file's time as it is
T = TypeVar("T")


def by_file(make: Callable[..., T]) -> Callable[..., T]:
    """Of a function of a file, and of what else can be a key: what it made stays, as long as the file does."""
    @functools.cache
    def known(path: pathlib.Path, changed: int, size: int, *further: object) -> T:
        return make(path, *further)

    @functools.wraps(make)
    def told(path: pathlib.Path, *further: object) -> T:
        path = packed(path)
        try:
            there = path.stat()
        except OSError:
            return make(path, *further)
        is_fresh = time.time_ns() - there.st_mtime_ns < FRESH
        return make(path, *further) if is_fresh else known(path, there.st_mtime_ns, there.st_size, *further)
    return told


@by_file
def kept(path: pathlib.Path) -> Sequence[Row]:
    """The same, to be read and not to be changed."""
    return read(path)


def _check_header(path: pathlib.Path, header: list[str], wanted: list[str]) -> None:
    for name in header:
        if name not in wanted:
            raise Fault(f"{path}: line 1: column {name!r} is not one of {path.name}")
    for name in wanted:
        if name not in header and "absent" not in schema()["column"][name]:
            raise Fault(f"{path}: line 1: column {name!r} is missing")


def _renamed(row: Row) -> Row:
    """With the names of today."""
    if row.get("variant") == "bound":  # its name up to schema 2
        row["variant"] = "element_only"
    case = str(row.get("case", ""))
    if "krylov" in row and case.endswith("-difference"):  # where the Jacobian stood up to schema 8
        row |= {"case": case.removesuffix("-difference"), "jacobian": "difference"}
    return row


def disturbed(row: Row) -> bool:
    """Whether the row supports nothing: its interval is wide, which rows up to schema 5 do not say themselves, or others
    loaded the machine. A clock that was lowered for power is how a card works under load, and no disturbance."""
    low, high = row.get("ci95_low_s"), row.get("ci95_high_s")
    if low and high and float(high) > WIDE * float(low):
        return True
    return not {"wide", "loaded"}.isdisjoint(str(row.get("noise") or "").split())


def undisturbed(some: Iterable[Row]) -> list[Row]:
    return [row for row in some if not disturbed(row)]


def process_of(row: Row) -> int:
    """Its number within its run: a process is a run and such a number."""
    return int(row.get("process") or 1)


def of_common_processes(a: Iterable[Row], b: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """What a ratio of times is formed of: of the undisturbed rows of two points those of the processes that have both,
    as pairs. A process of which one side was disturbed counts for neither: what disturbed one side may have disturbed
    the other, too, and less so."""
    of_a, of_b = ({process_of(row): row for row in side} for side in (a, b))
    common = sorted(of_a.keys() & of_b.keys())
    return [of_a[n] for n in common], [of_b[n] for n in common]


def columns_of_point(row: Row) -> tuple[str, ...]:
    if "case" not in row:
        return COUNTED_POINT if "depth" in row else TRACE_POINT if "category" in row else PROFILE_POINT
    if "krylov" in row:
        return SOLVE_POINT
    return next((columns for columns in BUILD_POINTS if columns[0] in row), POINT)


def named(point: tuple[Value, ...]) -> Row:
    """A timed point's columns by name."""
    built = (c for c in BUILD_POINTS if point[0] in schema()["column"][c[0]]["values"])
    return dict(zip(next(c for c in (*built, POINT, SOLVE_POINT) if len(c) == len(point)), point))


def is_slowed(row: Row) -> bool:
    """Of an operation that was made slower (kernels --fe_slower)."""
    return str(row.get("condition")).startswith("slower")


def point_of(row: Row) -> tuple[Value, ...]:
    """What the row measured; equal for rows that may be compared."""
    return tuple([row[name] for name in columns_of_point(row)])


def anywhere(row: Row, loose: Iterable[str] = (), columns: Iterable[str] = ()) -> tuple[Value, ...]:
    """The point without the columns `loose`, and without what tells nothing of it: threads of the host beside a GPU.
    columns: those that tell points apart, where they are not those of the row's file."""
    ignored = {*loose, "threads"} if row.get("backend") == "cuda" else set(loose)
    return tuple([None if name in ignored else row[name] for name in columns or columns_of_point(row)])


def are_of_one_call(a: Row, b: Row) -> bool:
    """Whether a process timed both in turns: rows of one file that differ in strategy and operation alone. All else is an
    argument of the program, so that process 1 of two such points is two calls of it, on several cards perhaps. What is
    timed without a strategy, as an exchange between ranks, knows no state and no order."""
    loose = {"variant", "operation", "threads" if a.get("backend") == "cuda" else ""}
    if NO_STRATEGY in (a.get("variant"), b.get("variant")):
        loose |= {"order", "plastic", "plastic_pattern", "operand"}
    return all(a.get(column) == b.get(column) for column in columns_of_point(a) if column not in loose)


def by_point(rows: Iterable[Row]) -> dict[tuple[Value, ...], list[Row]]:
    """Rows of each point, in their order: one for each process that measured it. Threads of the host beside a GPU may
    differ: a program on one of several cards has a part of the cores."""
    points: dict[tuple[Value, ...], list[Row]] = {}
    for row in rows:
        points.setdefault(anywhere(row), []).append(row)
    return points


def files_below(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Files with rows below a folder, or the file itself."""
    if folder.is_file():
        yield folder
        return
    for path in sorted(p for end in (".csv", ".csv.gz") for p in folder.rglob(f"*{end}")):
        if "scratch" in path.parts:
            continue
        try:
            kind_of(path)
        except Fault:
            continue
        yield path


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    bad = 0
    for argument in arguments:
        paths = list(files_below(pathlib.Path(argument)))
        if not paths:
            print(f"{argument}: holds no files of rows", file=sys.stderr)
            bad += 1
        for path in paths:
            try:
                print(f"{path}: {len(read(path))} rows")
            except Fault as fault:
                print(fault, file=sys.stderr)
                bad += 1
    return 2 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
