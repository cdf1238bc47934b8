"""Puts rows of finished points together, and has tables and figures made of them."""

from __future__ import annotations

import csv
import dataclasses
import math
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator

from runner import studies

Key = Callable[[dict[str, str]], tuple]


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
            "scaling.csv": scaling, "samples-scaling.csv": scaling}


def merged(files: list[pathlib.Path], key: Key | None) -> str:
    """All rows under one header, sorted."""
    header, lines = "", []
    for path in files:
        first, *others = path.read_text().splitlines()
        header = header or first
        lines += others
    if key:
        names = next(csv.reader([header]))
        lines.sort(key=lambda line: key(dict(zip(names, next(csv.reader([line]))))))
    return "\n".join([header] + lines) + "\n"


def name_in(path: pathlib.Path) -> str:
    """The point's name in that of one of its files: it may hold dots (plastic 0.1)."""
    name = path.name
    for suffix in (".rows.csv", ".killed.csv", ".samples.csv", ".history.csv", ".section.md"):
        name = name.removesuffix(suffix)
    return name.split(".process")[0]


class NotWritten(Exception):
    """A file of the folder could not be written."""


@dataclasses.dataclass(frozen=True)
class Publisher:
    """place: where a point stands in the list."""

    folder: pathlib.Path
    scratch: pathlib.Path
    commit: str
    strategies: tuple[str, ...]
    place: dict[str, int]

    def finished(self, without: str = "") -> Iterator[tuple[str, list[pathlib.Path]]]:
        """Files of the run, and those of finished points that make each, in the order of the list. Rows of points that
        were killed stand in for them. without: a part of names that are passed over."""
        for target, programs, suffixes in studies.TARGETS:
            files = [path for program in programs for suffix in suffixes
                     for path in sorted(self.scratch.glob(f"{program}-*.{suffix}"),
                                        key=lambda path: (self.place.get(name_in(path), len(self.place)), path.name))
                     if not without or without not in path.name]
            if files:
                yield target, files

    def content(self, target: str, files: list[pathlib.Path]) -> str:
        if target == "profile.md":
            return studies.profile_page(self.commit, [path.read_text() for path in files])
        return merged(files, sort_keys(self.strategies).get(target))

    def replace(self, path: pathlib.Path, text: str) -> None:
        """Written elsewhere and moved: a file is the old one or the new one."""
        new = self.scratch / f"{path.name}.new"
        new.write_text(text)
        new.replace(path)

    def gather(self) -> None:
        for target, files in self.finished():
            self.replace(self.folder / target, self.content(target, files))

    def write(self, left_out: list[str]) -> bool:
        """Tables and figures of all that is gathered; False where there is nothing."""
        if left_out:
            self.replace(self.folder / "left-out.txt", "\n".join(left_out) + "\n")
        else:
            (self.folder / "left-out.txt").unlink(missing_ok=True)
        if not any((self.folder / target).exists() for target, _, _ in studies.TARGETS):
            return False
        shown = self.first_processes()
        if subprocess.run(["sh", "bench/tabulate.sh", str(shown)], check=False).returncode != 0:
            raise NotWritten
        plots = subprocess.run(["sh", "plots/plots.sh", str(shown)], capture_output=True, text=True, check=False)
        if plots.returncode != 0:
            print("\n".join(sorted(set(plots.stderr.splitlines()))), file=sys.stderr, flush=True)  # what it left out
        if shown != self.folder:
            for path in shown.iterdir():
                if path.suffix in (".md", ".svg", ".png"):
                    path.replace(self.folder / path.name)
        return True

    def first_processes(self) -> pathlib.Path:
        """Tables and figures know one row of a point: where there are several processes they show the first."""
        if not list(self.scratch.glob("*.process*.rows.csv")):
            return self.folder
        shown = self.scratch / "shown"
        shutil.rmtree(shown, ignore_errors=True)
        shown.mkdir()
        for target, files in self.finished(".process"):
            (shown / target).write_text(self.content(target, files))
        for name in ("machine.csv", "left-out.txt"):
            if (self.folder / name).exists():
                shutil.copy(self.folder / name, shown / name)
        return shown
