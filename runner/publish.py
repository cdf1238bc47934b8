"""Puts rows of finished points together, and has tables and figures made of them (report/one_run.py)."""

from __future__ import annotations

import csv
import dataclasses
import math
import pathlib
from collections.abc import Callable, Iterator

from report import model, one_run, rows
from runner import here, studies
from runner.folder import PUBLISHED, parted

Key = Callable[[dict[str, str]], tuple]
# Of a record of a machine: what tells hosts apart, and what machines of one kind may differ in.
HOST = ("cpu", "cores", "host_threads")
MAY_DIFFER = (*HOST, "driver", "memory_gb", "compiler", "simd", "cuda")


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -math.inf


def sort_keys(strategies: tuple[str, ...]) -> dict[str, Key]:
    """Order of rows in each file. Of solves and scaling, rows of a strategy stay in theirs."""
    place = {name: i for i, name in enumerate(strategies)}

    def text(*names: str) -> Key:
        return lambda row: tuple(row[name] for name in names)

    plan, case = text("backend", "element", "order", "plastic_pattern", "plastic"), text("backend", "case", "element")
    mesh = text("backend", "element")

    def kernels(row: dict[str, str]) -> tuple:
        return plan(row) + (number(row["n_dof"]), row["operation"], row["variant"])

    def solves(row: dict[str, str]) -> tuple:
        return case(row) + (number(row["ranks"]), row["precondition"], place.get(row["variant"], len(place)))

    def scaling(row: dict[str, str]) -> tuple:
        return mesh(row) + (row["case"][:4], number(row["n_dof"]), number(row["ranks"]), place.get(row["variant"], -1))

    return {"kernels.csv": kernels, "samples.csv": kernels, "solves.csv": solves, "samples-solves.csv": solves,
            **{target: scaling for target, _, _ in studies.TARGETS if "scaling" in target}}


def merged(files: list[pathlib.Path], key: Key | None) -> str:
    """All rows under one header, sorted. Of a process of a point that was published and measured once more, with more
    samples, only the newer ones."""
    header, lines, old = "", [], []
    for path in files:
        first, *others = path.read_text().splitlines()
        header = header or first
        if name_in(path).endswith(PUBLISHED):
            old += others
        else:
            lines += others
    names = next(csv.reader([header]))

    def row(line: str) -> dict[str, str]:
        return dict(zip(names, next(csv.reader([line]))))

    def process(line: str) -> tuple[str, ...]:
        cells = row(line)
        return tuple(cells[name] for name in (*rows.columns_of_point(cells), "process") if name in cells)

    newer = set(map(process, lines)) if old else set()
    lines += [line for line in old if process(line) not in newer]
    if key:
        lines = [line for _, line in sorted(((key(row(line)), line) for line in lines), key=lambda entry: entry[0])]
    return "\n".join([header] + lines) + "\n"


def name_in(path: pathlib.Path) -> str:
    """The point's name in that of one of its files."""
    name = path.name
    for suffix in (".rows.csv", ".killed.csv", ".samples.csv", ".history.csv"):
        name = name.removesuffix(suffix)
    return parted(name)[0]


@dataclasses.dataclass(frozen=True)
class Publisher:
    """record: of this machine. place: where a point stands in the list."""

    folder: pathlib.Path
    scratch: pathlib.Path
    record: pathlib.Path
    strategies: tuple[str, ...]
    place: dict[str, int]

    def finished(self) -> Iterator[tuple[str, list[pathlib.Path]]]:
        """Files of the run, and those of finished points that make each, in the order of the list. Rows of points that
        were killed stand in for them."""
        for target, programs, suffixes in studies.TARGETS:
            files = [path for program in programs for suffix in suffixes
                     for path in sorted(self.scratch.glob(f"{program}-*.{suffix}"),
                                        key=lambda path: (self.place.get(name_in(path), len(self.place)), path.name))]
            if files:
                yield target, files

    def replace(self, path: pathlib.Path, text: str) -> None:
        """Written elsewhere and moved: a file is the old one or the new one."""
        new = self.scratch / f"{path.name}.new"
        new.write_text(text)
        new.replace(path)

    def gather(self) -> None:
        for target, files in self.finished():
            self.replace(self.folder / target, merged(files, sort_keys(self.strategies).get(target)))
            (self.folder / f"{target}.gz").unlink(missing_ok=True)
        self.replace(self.folder / "finished.csv", self.finished_points())
        self.name_machine()

    def name_machine(self) -> None:
        """The run's record: that of the first machine with its ceilings; what machines of a kind may differ in, what tells
        this one from others, and what is set on it, behind what others have added whose rows are here, too."""
        record = self.folder / "machine.csv"
        first = record if record.is_file() else self.record
        if not first.is_file():
            return
        known, own = (dict(model.read_record(path)) for path in (first, self.record))
        told = {key: [own[key]] for key in MAY_DIFFER if own.get(key)} | here.facts()
        found = {key: model.as_value([*model.values_in(known.get(key, "")), *values]) for key, values in told.items()}
        found["identity"] = " ".join(dict.fromkeys([*known.get("identity", "").split(), *here.identity()]))
        lines = [line.partition(",") for line in first.read_text().splitlines()]
        written = [f"{key},{found.pop(key, text)}" for key, _, text in lines]
        self.replace(record, "\n".join([*written, *(f"{key},{text}" for key, text in found.items())]) + "\n")

    def finished_points(self) -> str:
        """finished.csv: processes whose rows are published, so that a folder without scratch/ can go on."""
        lines, seed = [",".join(rows.columns_of("finished.csv"))], (self.scratch / "seed").read_text().strip()
        for path in sorted(self.scratch.glob("*.done")):
            point, process = parted(path.name.removesuffix(".done"))
            lines.append(f"{point},{process},{path.read_text().strip()},{seed}")
        return "\n".join(lines) + "\n"

    def write_table(self, left_out: list[str]) -> model.Model | None:
        """table.md of all that is gathered; None where there is nothing. rows.Fault where rows are not what they should
        be."""
        if left_out:
            self.replace(self.folder / "left-out.txt", "\n".join(left_out) + "\n")
        else:
            (self.folder / "left-out.txt").unlink(missing_ok=True)
        if not any((self.folder / target).exists() for target, _, _ in studies.TARGETS):
            return None
        return one_run.write_table(self.folder)

    def draw(self, written: model.Model) -> list[str]:
        """Figures; returns a line for each thing that is missing."""
        return one_run.draw(written)
