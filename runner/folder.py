"""A run's folder: which points are finished, what a process leaves there, the lock, the seed, and a disk that is full.

A point's files are scratch/NAME.rows.csv, .done and others; of a second process NAME.process2.rows.csv. They get these
names when the point is complete; what is at work has names that end in .part. Where scratch/ is not there but the
run's rows, finished.csv and settings.txt are, as in a clone, it is made of them.
"""

from __future__ import annotations

import csv
import datetime
import fcntl
import os
import pathlib
import random
import re
import shutil
import tempfile

from report import rows, sources
from runner import points, studies
from runner.here import Failure, warn

SETTINGS = "settings.txt"
PUBLISHED = "-published"  # ends the name of a file with rows of all points
GIVEN_UP = ("killed", "failed")  # points without times, which are tried again
FINAL = {"json": "json", "samples": "samples.csv", "history": "history.csv", "rows": "rows.csv"}


def name_of(point: str, process: int) -> str:
    """What the names of a process's files begin with."""
    return f"{point}.process{process}" if process > 1 else point


def parted(name: str) -> tuple[str, int]:
    """The point and the process of such a name. A point's name may hold dots (plastic 0.1)."""
    point, _, process = name.partition(".process")
    return point, int(process or 1)


def commit_of(settings: str) -> str:
    """"" of a run whose settings tell none."""
    words = settings.split()
    return next((word.rstrip(";") for before, word in zip(words, words[1:]) if before == "febench"), "")


SUMS = re.compile(r"; (sources|flags) ([0-9a-f]{12})(?=;)")


def sums_in(settings: str) -> dict[str, str]:
    return dict(SUMS.findall(settings))


def but_commit(settings: str) -> str:
    """Without what two commits of the same sources may have of their own, and without sums, which older folders lack."""
    return SUMS.sub("", settings.replace(commit_of(settings) or "\0", "", 1))


def may_be_one_run(told: str, settings: str) -> bool:
    """Of a paper, if their commits have the same sources. Flags that an older folder does not tell are taken to be the
    same."""
    flags, own = (sums_in(text).get("flags") for text in (told, settings))
    return settings.startswith("paper; ") and commit_of(told) != "" and but_commit(told) == but_commit(settings) and \
        flags in (None, own)


def is_one_run(told: str, settings: str) -> bool:
    """A paper's run is of the same sources, whatever else has changed between two commits: of those whose sum is the same,
    or of commits that are here."""
    if told == settings:
        return True
    if not may_be_one_run(told, settings):
        return False
    known, own = (sums_in(text).get("sources") for text in (told, settings))
    return (known is not None and known == own) or sources.all_alike(commit_of(told), commit_of(settings))


def choose(results: pathlib.Path, here: points.Here, settings: str) -> pathlib.Path:
    """The folder where this run was begun, that of this commit first, then the newest; else a new one."""
    for old in sorted((results / here.machine).glob("*"), key=lambda path: (here.commit in path.name, path.name), reverse=True):
        try:
            told = (old / SETTINGS).read_text().removesuffix("\n")
        except (OSError, UnicodeDecodeError):
            continue
        if is_one_run(told, settings):
            return old
        if may_be_one_run(told, settings) and sources.tree_of(commit_of(told)) is None:
            warn(f"{old}: whether its run goes on cannot be told: this clone does not hold its commit, {commit_of(told)} "
                 "(git fetch --unshallow)")
    base = results / here.machine / f"{datetime.date.today()}-{here.commit}"
    folder, n = base, 2
    while folder.exists():
        folder, n = base.with_name(f"{base.name}-{n}"), n + 1
    return folder


def cut_line(lines: list[str]) -> int:
    """The number of the first line that has not as many cells as the first one; 0: none."""
    counts = [len(next(csv.reader([line]), [])) if "\0" not in line else -1 for line in lines]
    return next((i for i, n in enumerate(counts, 1) if n != counts[0] or not lines[i - 1].endswith("\n")), 0)


class Folder:
    def __init__(self, path: pathlib.Path, settings: str) -> None:
        if any(c.isspace() for c in str(path)):
            raise Failure(f"RESULTS: {path} holds a blank", 2)
        self.path, self.scratch, self.settings = path, path / "scratch", settings
        self.published = {} if self.scratch.exists() else {
            (row["point"], int(row["process"])): int(row["repetitions"]) for row in self.published_points()}
        self.lock: int | None = None
        self.copies: list[pathlib.Path] = []

    def full_disk(self) -> Failure:
        return Failure(f"{self.path}: cannot be written: its disk is full, or it is not ours, or no folder. Finished "
                       "points are kept: free some space, then run it again")

    def room(self) -> bool:
        """A megabyte."""
        probe = self.scratch / "room"
        try:
            probe.write_bytes(bytes(1_000_000))
            return True
        except OSError:
            return False
        finally:
            probe.unlink(missing_ok=True)

    def open(self) -> None:
        """Locked for this process and its children."""
        is_new = not self.path.exists()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if not self.scratch.exists():
                self.take_over()
            is_full = not self.room()
        except OSError:
            is_full = True
        if is_full:
            if is_new:  # or each try would leave one
                shutil.rmtree(self.path, ignore_errors=True)
            raise self.full_disk()
        self.lock = os.open(self.scratch / "lock", os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Failure(f"another sweep is at work in {self.path}, or a program that a killed one left: run it again when "
                          "it has ended") from error
        if not (self.path / SETTINGS).exists():
            (self.path / SETTINGS).write_text(self.settings + "\n")
        self.forget_lost_rows()

    def forget_lost_rows(self) -> None:
        """A process whose rows are gone or cut is measured again."""
        published = {program for _, programs, _ in studies.TARGETS for program in programs
                     if any(self.scratch.glob(f"{programs[0]}{PUBLISHED}.*"))}
        for done in sorted(self.scratch.glob("*.done")):
            path = done.with_name(done.name.removesuffix(".done") + ".rows.csv")
            if not path.exists() and path.name.partition("-")[0] in published:
                continue  # among the rows of all
            try:
                lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
                lost = "has no rows" if len(lines) < 2 else f"line {cut} is cut" if (cut := cut_line(lines)) else ""
            except (OSError, UnicodeDecodeError) as error:
                lost = str(error.strerror if isinstance(error, OSError) else "is no text")
            if lost:
                warn(f"{path}: {lost}: this process is measured again")
                done.unlink()
                path.unlink(missing_ok=True)

    def take_over(self) -> None:
        """Makes scratch/ of what was published: which points are finished, and the rows of all in one file. At once, so
        that no later sweep publishes a part of them."""
        with tempfile.TemporaryDirectory(dir=self.path, prefix=".scratch") as made:
            new = pathlib.Path(made) / "scratch"
            new.mkdir()
            listed = self.published_points()
            finished = {row["point"].partition("-")[0] for row in listed}  # programs
            for row in listed:
                (new / f"{name_of(row['point'], int(row['process']))}.done").write_text(row["repetitions"] + "\n")
                (new / "seed").write_text(row["seed"] + "\n")
            for target, programs, suffixes in studies.TARGETS:
                whole = self.published_lines(target)
                if not whole and suffixes[0] == "rows.csv" and not finished.isdisjoint(programs):
                    raise self.damaged(self.path / target, "it is not there, and finished.csv names its points")
                if cut := cut_line(whole):
                    raise self.damaged(rows.packed(self.path / target), f"line {cut} is cut")
                lines = [line for line in whole if line.rstrip("\n").rpartition(",")[2] not in GIVEN_UP]
                if lines:
                    (new / f"{programs[0]}{PUBLISHED}.{suffixes[0]}").write_text("".join(lines), encoding="utf-8")
            new.replace(self.scratch)

    def published_lines(self, target: str) -> list[str]:
        """Of a file of rows, which may be packed."""
        path = rows.packed(self.path / target)
        if not path.exists():
            return []
        with rows.opened(path) as file:
            return list(file)

    def published_points(self) -> list[dict[str, str]]:
        """Processes of points whose rows are published."""
        path = self.path / "finished.csv"
        if not path.exists():
            return []
        try:
            with open(path, newline="", encoding="utf-8") as file:
                found = list(csv.DictReader(file))
            for row in found:
                int(row["process"]), int(row["repetitions"]), int(row["seed"]), studies.point_named(row["point"])
        except (ValueError, KeyError, TypeError, csv.Error) as error:
            raise self.damaged(path, f"it is no list of points, processes, repetitions and seeds: {error}") from error
        return found

    def damaged(self, path: pathlib.Path, why: str) -> Failure:
        return Failure(f"{path}: is damaged: {why}; restore it, or move {self.path} away for a run of its own")

    def seed(self, given: int | None) -> int:
        """Of the random orders; one for all that goes on here."""
        path = self.scratch / "seed"
        if not path.exists():
            path.write_text(f"{random.SystemRandom().randrange(2**31) if given is None else given}\n")
        try:
            return int(path.read_text())
        except ValueError as error:
            raise self.damaged(path, "it is no number") from error

    def copy_programs(self, programs: dict[str, pathlib.Path]) -> dict[str, pathlib.Path]:
        """So that a build beside the sweep changes nothing."""
        copies = {name: self.scratch / name for name in programs}
        self.copies = list(copies.values())
        for name, path in programs.items():
            shutil.copy2(path, copies[name])
        return copies

    def clean(self) -> None:
        for copy in self.copies:
            copy.unlink(missing_ok=True)

    def close(self) -> None:
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None

    # --- files of a process of a point ---

    def file(self, point: points.Point, process: int, suffix: str) -> pathlib.Path:
        return self.scratch / f"{name_of(point.name(), process)}.{suffix}"

    def taken(self, point: points.Point, process: int) -> int:
        """Samples that the finished process has."""
        try:
            return int(self.file(point, process, "done").read_text())
        except (OSError, ValueError):
            return self.published.get((point.name(), process), 0)

    def has_rows(self, point: points.Point, process: int) -> bool:
        return self.taken(point, process) > 0

    def is_done(self, point: points.Point, process: int, repetitions: int) -> bool:
        return self.taken(point, process) >= repetitions

    def remove_parts(self) -> None:
        for part in self.scratch.glob("*.part"):
            part.unlink(missing_ok=True)

    def remove_parts_of(self, point: points.Point, process: int) -> None:
        """Not those of another process, which may be at work."""
        begin = self.file(point, process, "").name
        for part in self.scratch.glob(f"{begin}*.part"):
            if "." not in part.name.removeprefix(begin).removesuffix(".part"):
                part.unlink()

    def finish(self, point: points.Point, process: points.Process) -> None:
        for part, final in FINAL.items():
            if self.file(point, process.number, f"{part}.part").exists():
                self.file(point, process.number, f"{part}.part").replace(self.file(point, process.number, final))
        self.remove_parts_of(point, process.number)
        # last: this one says that the point is complete
        self.file(point, process.number, "done").write_text(f"{process.repetitions}\n")
        self.file(point, process.number, "killed.csv").unlink(missing_ok=True)
