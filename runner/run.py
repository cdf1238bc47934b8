"""Measures experiments/*.toml on this machine within a budget of time: what `make bench` does after building.

    python3 -m runner.run       from the root of the repository; variables as `make help` lists them

Leaves rows, samples, tables and figures in RESULTS/MACHINE/DATE-COMMIT/ (results/README.md describes them). Run again,
it goes on: finished points are kept.

The sweep takes one process of each point, the most useful points first (experiments/settings.toml has the passes). With
PAPER=1 it takes the whole list with all independent processes, in a random order within each experiment, in pieces:
BUDGET=minutes ends one, the next call goes on, also on another machine of the same kind with the copied folder.
MISSING=1 says what is missing and runs nothing. EXPERIMENTS="names" takes these alone.
Environment beside these: BUILD, RESULTS, BENCH_START (when make bench began, seconds since 1970), SEED, PASSES, and
BENCH_BUILD, the command that builds all programs: where only that of the first look is there, it runs first.
"""

from __future__ import annotations

import collections
import csv
import dataclasses
import datetime
import errno
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping

from report import one_run, rows
from runner import costs, experiments, folder, points, publish
from runner.here import Failure, find_gmsh, find_here, first_kernels, say, settings_line, warn
from runner.launch import Launcher, last_line, lines_of

SHOWN = ("table.md", "figures", "kernels.csv", "solves.csv", "scaling.csv", "storage.csv", "anderson.csv",
         "orthogonality.csv", "profile.csv")
ALLOWED = 1.05  # a budget is kept within this
MOST = 0.25  # of what is left a point may take, or twice what was predicted; then others have their turn
SLOWER = 1.5  # as much longer tables and figures may take in the end than before
# Mesh sizes of the bracket's finer meshes for Gmsh.
FINENESS = {("hex8", "_fine"): "1.75", ("tet4", "_fine"): "1.45", ("hex8", "_finer"): "1.5", ("tet4", "_finer"): "1.25"}


class Interrupted(BaseException):
    """SIGINT, SIGTERM or SIGHUP."""


def clock(seconds: float) -> str:
    """As 1:05."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def is_set(text: str | None) -> bool:
    return text not in (None, "", "0")


@dataclasses.dataclass
class Counts:
    looked: int = 0  # measured in the first look, by its own programs
    measured: int = 0
    kept: int = 0
    failed: int = 0
    refused: int = 0
    left: int = 0
    stopped: int = 0
    longest_left: float = 0.0  # seconds


class Run:
    """One call. Tests replace `now` and `launcher`."""

    def __init__(self, environment: Mapping[str, str], first_look: bool = False) -> None:
        self.environment, self.first_look = environment, first_look
        self.paper = is_set(environment.get("PAPER"))
        self.start = float(environment.get("BENCH_START") or self.now())
        self.settings = experiments.read_settings()
        here, cores = find_here(environment, self.settings.tables["variables"]["FEW"], first_look)
        self.variables = experiments.variables_of(environment, self.settings, here, cores, self.paper)
        self.chosen = tuple((environment.get("EXPERIMENTS") or "").split())
        results = pathlib.Path(environment.get("RESULTS") or "results")
        settings = settings_line(here, self.variables.repetitions, self.paper)
        self.folder = folder.Folder(folder.choose(results, here, settings), settings)
        gmsh = "" if first_look else find_gmsh(
            w for name, words in self.variables.lists.items() if name[:6] in ("SOLVES", "MESHES", "STRONG")
            for w in words)
        self.here = dataclasses.replace(here, scratch=self.folder.scratch, gmsh=gmsh)
        listed = [e for name in ("sweep.toml", "studies.toml")
                  for e in experiments.read_experiments(experiments.FOLDER / name)]
        self.questions = {e.name: e.question for e in listed}
        self.tasks = self.make_plan(listed)
        self.budget = 60.0 * (0 if self.chosen and not environment.get("BUDGET") else self.variables.budget)
        self.counts = Counts()
        self.left_out: list[str] = []
        self.waiting: list[tuple[float, experiments.Task, int]] = []  # seconds predicted, of what was left out
        self.launcher = Launcher()
        self.publishing = 0.0  # seconds that tables and figures took
        self.missing: set[str] = set()  # what was said to be missing of these
        self.ungathered = True
        self.publisher = publish.Publisher(self.folder.path, self.folder.scratch, here.strategies,
                                           {task.point.name(): i for i, task in enumerate(self.tasks)})
        kinds = {f"{task.point.program}-{task.point.backend}" for task in self.tasks}
        tops = {results, pathlib.Path("results")}
        self.costs = costs.earlier(tops, here.machine, self.folder.path, bool(gmsh), kinds)
        self.seed = 0

    def make_plan(self, listed: list[experiments.Experiment]) -> list[experiments.Task]:
        """Of the named experiments; else of all of a paper, or of the sweep."""
        for name in self.chosen:
            if name not in self.questions:
                raise Failure(f"EXPERIMENTS={' '.join(self.chosen)}: there is no experiment {name}", 2)
        passes = ("first",) if self.first_look else tuple((self.environment.get("PASSES") or "").split())
        if self.chosen:
            listed = [e for e in listed if e.name in self.chosen]
        elif not self.paper and not passes:
            passes = tuple(name for name in self.settings.passes if name != "studies")
        return experiments.plan(listed, self.settings, self.variables, self.here, passes, self.paper)

    def now(self) -> float:
        return time.time()

    def elapsed(self) -> float:
        return self.now() - self.start

    # --- one process of one point ---

    def strategies(self, point: points.Point, process: int) -> tuple[str, ...]:
        """In an order that is random, and the same for each attempt."""
        drawn = list(point.strategies(self.here))
        random.Random(f"{self.seed} {point.name()} {process}").shuffle(drawn)
        return tuple(drawn)

    def make_mesh(self, point: points.Point) -> bool:
        """The bracket's fine mesh, made when the first point needs it. Whether it is there."""
        which = point.mesh_to_make(self.here)
        if not which:
            return True
        mesh = points.made_mesh(self.here, point.element, which)
        if mesh.exists():
            return True
        shape, scratch = points.shape_of(point.element), self.folder.scratch
        new, log = scratch / "new.msh", scratch / "gmsh.log"
        code = self.launcher.launch([self.here.gmsh, "meshgen/bracket/bracket.py", "--element", shape, "--size",
                                     FINENESS[shape, which], "--binary", "-o", str(new)], log, None)
        if code == 0 and new.exists():
            new.replace(mesh)
            return True
        warn(f"{point.name()} cannot be measured: Gmsh made no mesh of the bracket: {last_line(log)}")
        self.counts.refused += 1
        return False

    def measure(self, task: experiments.Task, process: points.Process, predicted: float | None,
                limit: float | None) -> None:
        """Runs it; its files get their names when it is complete, and a crash leaves rows with a status."""
        point, number = task.point, process.number
        if not self.make_mesh(point):
            return
        files = points.Files(self.folder.file(point, number, "rows.part"), self.folder.path / "machine.csv")
        log, parts = self.folder.file(point, number, "log"), self.folder.file(point, number, "*").name
        self.folder.remove_parts(parts)  # of an attempt that was killed: rows are added
        begin = self.now()
        code = self.launcher.launch(point.command(self.here, process, files), log, limit, self.folder.lock)
        seconds = self.now() - begin
        for line in lines_of(log):
            if line.startswith(f"{point.program}: ") or line.startswith("note: --fe_energy"):
                print(line, file=sys.stderr, flush=True)  # rows without times or energy, and why
        self.ungathered = True
        if code is not None and point.accepts(code):
            point.collect(self.here, process, files)
            self.folder.finish(point, process)
            self.note_time(task, process, begin, seconds, predicted, "done")
            self.counts.measured += 1
            return
        if not self.folder.room():
            raise self.folder.full_disk()
        if point.program == "kernels" and code == 2:
            raise Failure(f"{point.name()}: {last_line(log)}")
        self.folder.remove_parts(parts)
        if code is None:
            self.counts.stopped += 1
            self.leave_out(task, number, predicted)
            self.note_time(task, process, begin, seconds, predicted, "stopped")
            say(f"{point.name()} was stopped after {seconds:.0f} s: that is more than its share of the budget")
        else:
            self.give_up(task, process, code, log)

    def give_up(self, task: experiments.Task, process: points.Process, code: int, log: pathlib.Path) -> None:
        """What became of a point that failed: rows with a status, made by the program without running anything."""
        point, name, status = task.point, task.point.name(), ""
        if code < 0 or code > 128:
            status = "killed"
            self.counts.failed += 1
            warn(f"{name} was killed (out of memory, or a crash); the sweep goes on")
        elif point.program == "kernels":
            self.counts.failed += 1
        elif code == 2:
            self.counts.refused += 1
            warn(f"{name} cannot be measured here; the sweep goes on")
        elif any("no memory for" in line for line in lines_of(log)):
            status = "out_of_memory"
            self.counts.refused += 1
            warn(f"{name} does not fit; the sweep goes on")
        else:
            status = "failed"
            self.counts.failed += 1
            warn(f"{name} failed; the sweep goes on")
        if status and point.program in points.KINDS:
            log.replace(self.folder.file(point, process.number, "killed.log"))
            if not self.folder.has_rows(point, process.number):
                killed = self.folder.file(point, process.number, "killed.csv")
                killed.unlink(missing_ok=True)
                without = dataclasses.replace(process, give_up=status)
                self.launcher.launch(point.command(self.here, without, points.Files(killed)), log, None)

    def note_time(self, task: experiments.Task, process: points.Process, begin: float, seconds: float,
                  predicted: float | None, status: str) -> None:
        """In points.csv, for predictions here and in later runs."""
        path = self.folder.path / "points.csv"
        new = not path.exists()
        row = {"commit": self.here.commit, "machine": self.here.machine, "experiment": task.experiment,
               "point": task.point.name(), "process": process.number, "strategies": len(process.strategies),
               "repetitions": process.repetitions, "energy": int(process.energy), "seed": self.seed,
               "begun": datetime.datetime.fromtimestamp(begin, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
               "took_s": f"{seconds:.1f}", "predicted_s": "" if predicted is None else f"{predicted:.1f}",
               "status": status}
        with open(path, "a", newline="") as file:
            writer = csv.DictWriter(file, rows.columns_of("points.csv"), lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)
        work = self.work(task, process)
        told = predicted if self.costs.is_measured(work.kind) else None
        self.costs.add(costs.Record(work, max(seconds, 0.01), 1.0, task.point.name(), status == "stopped", told))

    # --- a point of the plan ---

    def limit_of(self, name: str) -> float:
        """Of a pass, in seconds since the start: the host has its share where one follows."""
        share = self.settings.until.get(name, 1.0)
        if self.paper or (name != "solves" and "host" not in self.variables.backends):
            share = 1.0
        return share * self.budget

    def work(self, task: experiments.Task, process: points.Process) -> costs.Work:
        return costs.work_of(task.point, len(process.strategies), process.repetitions, process.energy,
                             bool(self.here.gmsh))

    def leave_out(self, task: experiments.Task, number: int, predicted: float | None) -> None:
        """For time; said where the point has no rows, or not those with its energy."""
        self.counts.longest_left = max(self.counts.longest_left, predicted or 0.0)
        self.waiting.append((predicted or 0.0, task, number))
        point = task.point
        if not self.folder.has_rows(point, number) or (task.energy and not self.folder.has_energy(point, number)):
            self.counts.left += 1
            self.left_out.append(self.about(task, number))

    def about(self, task: experiments.Task, number: int) -> str:
        text = f"{task.point.backend} {task.point.element}, {task.point.about(task.energy)}"
        return text + (f", process {number}" if number > 1 else "")

    def visit(self, task: experiments.Task, number: int = 1, share: float | None = None, anyway: bool = False) -> None:
        """Measures a process of a point, or keeps it, or leaves it out for time. share: of the budget, instead of the
        pass's; anyway: whatever is predicted."""
        point = task.point
        if self.folder.is_done(point, number, task.repetitions, task.energy):
            self.counts.kept += 1
            return
        process = points.Process(number, max(task.repetitions, self.folder.taken(point, number)),
                                 self.strategies(point, number),
                                 task.energy or self.folder.has_energy(point, number))  # more samples, and energy again
        predicted = self.costs.predict(self.work(task, process), point.name())
        elapsed, limit = self.elapsed(), None
        if self.budget > 0 and (self.paper or task.passed_in != "first"):
            needed = (predicted or 0.0) * self.costs.caution() + SLOWER * self.publishing
            most = self.limit_of(task.passed_in) if share is None else share * self.budget
            if elapsed + (0.0 if anyway else needed) > most:
                self.leave_out(task, number, predicted)
                return
            limit = (1.0 if anyway else ALLOWED) * self.budget - SLOWER * self.publishing - elapsed
            if not anyway:
                limit = min(limit, max(costs.LATE * needed, MOST * (self.budget - elapsed)))
            limit = max(limit, 1.0)
        of = f" of {clock(self.budget)}" if self.budget else ""
        seconds = "?" if predicted is None else f"{predicted:.0f}"
        say(f"{clock(elapsed)}{of}  {task.passed_in:<7} {self.about(task, number)} (about {seconds} s)")
        self.measure(task, process, predicted, limit)

    # --- all of it ---

    def publish(self, first: bool = False) -> None:
        """Rows, tables and figures of all that is finished. first: prints the tables before anything is drawn."""
        begin = self.now()
        if self.ungathered:
            self.publisher.gather()
        self.ungathered = False
        try:
            written = self.publisher.write_table(self.left_out)
        except rows.Fault as fault:
            warn(f"no tables and figures: {fault}")
            return
        if not written:
            raise Failure("no point could be measured")
        if first:
            say(f"the first table is there after {clock(self.elapsed())}: {self.folder.path}/table.md")
            print(f"\n{one_run.first_tables(written)}", flush=True)
        for note in self.publisher.draw(written):
            if note not in self.missing:
                warn(note)
                self.missing.add(note)
        self.publishing = max(self.publishing, self.now() - begin)

    def has_time_to_publish(self) -> bool:
        """Twice, now and in the end."""
        return self.budget == 0 or self.elapsed() + 2 * self.publishing < self.budget

    def sweep(self) -> None:
        last = ""
        for task in self.tasks:
            if last and task.passed_in != last:
                if self.ungathered and (last == "first" or self.has_time_to_publish()):
                    self.publish(last == "first" and self.counts.measured > 0)
            last = task.passed_in
            needs = task.point.needs(self.here) if last == "studies" else ""
            if needs:
                warn(f"{task.point.name()} cannot be measured: it needs {needs}")
                self.counts.refused += 1
                continue
            self.visit(task)
        self.use_the_rest()
        if self.budget > 0 and not self.variables.repetitions and not self.chosen:
            self.take_more_samples()

    def take_first_look(self) -> int:
        """Its points and their tables, while the other programs are not there."""
        say(f"the first look, into {self.folder.path}; then the other programs are built")
        for task in self.tasks:
            self.visit(task)
        self.publish(self.counts.measured > 0)
        return 0

    def use_the_rest(self) -> None:
        """Time is left: what was left out once more, of all passes. Predictions may be wrong, and time that nothing
        fits into is lost: the point with the shortest one is tried whatever it says, and stopped where the budget ends."""
        tried: set[tuple[experiments.Task, int]] = set()
        anyway: tuple[experiments.Task, int] | None = None
        while self.waiting and self.elapsed() < self.budget:
            waiting, self.waiting, self.left_out = self.waiting, [], []
            self.counts.left, self.counts.longest_left, before = 0, 0.0, self.counts.measured
            for _, task, number in waiting:
                self.visit(task, number, 1.0, (task, number) == anyway)
            if self.counts.measured > before:
                anyway = None
                continue
            new = [item for item in self.waiting if item[1:] not in tried]
            if self.elapsed() > (2 - ALLOWED) * self.budget or not new:
                return
            anyway = min(new, key=lambda item: item[0])[1:]
            tried.add(anyway)

    def take_more_samples(self) -> None:
        """Time is left: points whose intervals are wide once more, with twice the samples; the widest first."""
        repetitions = {task.point.name(): task.repetitions for task in self.tasks}
        for _, name in sorted(self.wide(repetitions), reverse=True):
            self.visit(experiments.Task("samples", "samples", points.parse(name), 2 * repetitions[name], 1))

    def wide(self, repetitions: dict[str, int]) -> Iterator[tuple[float, str]]:
        """Mean width of the intervals, where more than a tenth of them are wider than 5 %, and the point."""
        for name in repetitions:
            path = self.folder.scratch / f"{name}.rows.csv"
            if not name.startswith("kernels-") or not path.exists() or points.parse(name).is_sustained() \
                    or self.folder.taken(points.parse(name), 1) >= 2 * repetitions[name]:
                continue
            timed = [row for row in rows.read(path, "kernels.csv") if row["status"] == "ok"]
            widths = [(row["ci95_high_s"] - row["ci95_low_s"]) / row["median_s"] for row in timed]
            if widths and sum(w > 0.05 for w in widths) > len(widths) / 10:
                yield sum(widths) / len(widths), name

    def by_experiment(self) -> dict[str, list[experiments.Task]]:
        found: dict[str, list[experiments.Task]] = collections.defaultdict(list)
        for task in self.tasks:
            found[task.experiment].append(task)
        return found

    def paper_items(self) -> list[tuple[experiments.Task, int]]:
        """Experiment by experiment; in each, process by process, all points in a random order."""
        found: list[tuple[experiments.Task, int]] = []
        for name, tasks in self.by_experiment().items():
            for number in range(1, max(task.processes for task in tasks) + 1):
                drawn = [(task, number) for task in tasks if task.processes >= number]
                random.Random(f"{self.seed} {name} {number}").shuffle(drawn)
                found += drawn
        return found

    def measure_paper(self) -> None:
        impossible: collections.Counter[str] = collections.Counter()
        for task, number in self.paper_items():
            needs = task.point.needs(self.here)
            if needs:
                impossible[needs] += 1
            else:
                self.visit(task, number)
        self.use_the_rest()
        for needs, n in impossible.items():
            say(f"{n} processes of points need {needs}: they cannot be measured here")

    # --- what is said ---

    def introduce(self) -> None:
        total, here = len({(task.point, task.energy) for task in self.tasks}), self.here
        say(f"{len(here.strategies)} variants on {here.machine}, commit {here.commit}, into {self.folder.path}")
        if self.paper:
            processes = sum(task.processes for task in self.tasks)
            piece = f"a piece of {clock(self.budget)}" if self.budget else "without a limit of time"
            say(f"the whole list, {total} points in {processes} processes, {piece}; random orders by seed {self.seed}")
        elif self.budget == 0:
            say(f"all {total} points, without a limit of time (BUDGET=0); random orders by seed {self.seed}")
        else:
            say(f"a budget of {self.budget / 60:.0f} minutes, building included, for the first of {total} points: "
                f"BUDGET=minutes takes more of them; random orders by seed {self.seed}")
        if here.commit.endswith("-dirty"):
            say("there are changes since the commit: these results are for a look, not for keeping")

    def conclude(self) -> int:
        counts, elapsed, there = self.counts, self.elapsed(), self.folder.path
        if not counts.looked + counts.measured + counts.left:
            say(f"all points were there; for new ones, in a new folder: rm -r {self.folder.scratch}")
        if counts.left:
            again = "make bench PAPER=1" if self.paper else "make bench"
            say(f"{counts.left} points were left out for time ({there}/left-out.txt); {again} again goes on, "
                f"BUDGET={2 * round(self.budget / 60)} takes more at once")
        note = self.budget_note(elapsed)
        if note:
            say(f"note: {note}")
        files = [name for name in SHOWN if (there / name).exists()]
        say(f"{counts.looked + counts.measured} points in {clock(elapsed)}; results are in {there}: {' '.join(files)}")
        for status, n in self.without_times().items():
            warn(f"rows without times: {n} {status}")
        if counts.failed:
            raise Failure(f"{counts.failed} points failed; run it again to try them once more")
        return 0

    def budget_note(self, elapsed: float) -> str:
        """Why a budget was not kept within 5 %, or ""."""
        if self.budget and elapsed > ALLOWED * self.budget:
            why = "building and the first look, which is always whole, took longer than that"
            if self.counts.stopped:
                why = "a point had to be stopped, or tables and figures took longer than before"
            return f"{clock(elapsed)} instead of {clock(self.budget)}: {why}"
        if self.budget and self.counts.left and elapsed < (2 - ALLOWED) * self.budget:
            return f"{clock(self.budget - elapsed)} of the budget are left: no point that was left out would surely " \
                f"end within its pass; the longest takes about {clock(self.counts.longest_left)}"
        return ""

    def without_times(self) -> collections.Counter[str]:
        found: collections.Counter[str] = collections.Counter()
        for name in ("kernels.csv", "solves.csv", "scaling.csv"):
            if (self.folder.path / name).exists():
                with open(self.folder.path / name, newline="") as file:
                    found.update(row["status"] for row in csv.DictReader(file) if row["status"] != "ok")
        return found

    def read_by(self) -> dict[str, list[str]]:
        """Claims by experiment; none where Python lacks what claims need."""
        try:
            from report.claim import read_claims
            from runner import readers
        except ImportError:
            return {}
        return readers.readers(self.tasks, read_claims())

    def say_what_is_missing(self) -> int:
        """By experiment, with minutes; runs nothing and writes nothing."""
        total = missing = 0
        minutes = 0.0
        read_by = self.read_by()
        say(f"what is missing in {self.folder.path}:")
        for name, tasks in self.by_experiment().items():
            wanted = [(task, n) for task in tasks for n in range(1, task.processes + 1)]
            absent = [(task, n) for task, n in wanted
                      if not self.folder.is_done(task.point, n, task.repetitions, task.energy)]
            possible = [(task, n) for task, n in absent if not task.point.needs(self.here)]
            needs = sorted({task.point.needs(self.here) for task, _ in absent} - {""})
            works = [self.work(task, points.Process(n, task.repetitions, task.point.strategies(self.here), task.energy))
                     for task, n in possible]
            seconds = [self.costs.predict(work) for work in works]
            known = sum(s for s in seconds if s is not None) / 60
            total, missing, minutes = total + len(wanted), missing + len(absent), minutes + known
            text = f"{name:<17} {len(absent):4d} of {len(wanted):4d}"
            if possible:
                least = "about" if all(self.costs.is_measured(work.kind) for work in works) else "at least"
                text += ", minutes not known" if None in seconds else f", {least} {known:.0f} min"
            if needs:
                text += f"; {len(absent) - len(possible)} need {', '.join(needs)}"
            say(f"{text}   {self.questions[name]}")
            if read_by.get(name):
                say(f"{'':<17} claims: {' '.join(read_by[name])}")
        say(f"{missing} of {total} processes of points are missing; those that can be measured here take about "
            f"{minutes:.0f} min (\"at least\": known from rows, which hold the time of samples alone)")
        return 0

    def run(self) -> int:
        if is_set(self.environment.get("MISSING")):
            return self.say_what_is_missing()
        try:
            self.folder.open()
            given = self.environment.get("SEED")
            self.seed = self.folder.seed(experiments.whole("SEED", given, "") if given else None)
            self.here = dataclasses.replace(self.here, programs=self.folder.copy_programs(self.here.programs))
            if self.first_look:
                return self.take_first_look()
            self.introduce()
            if self.paper:
                self.measure_paper()
            else:
                self.sweep()
            self.publish()
            return self.conclude()
        except OSError as error:
            ours = str(error.filename or "").startswith(str(self.folder.path))
            if ours or error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
                raise self.folder.full_disk() from error
            raise
        except Interrupted:
            self.launcher.stop()
            self.folder.remove_parts()
            print(file=sys.stderr)
            warn(f"interrupted; finished points are kept in {self.folder.path}: run it again to go on")
            return 130
        finally:
            self.launcher.stop()
            self.folder.clean()
            self.folder.close()


def on_signal(number: int, frame: object) -> None:
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(kind, signal.SIG_IGN)
    raise Interrupted


WHOLE = ("PAPER", "EXPERIMENTS", "PASSES", "MISSING")  # variables that do not begin with the first look


def bench(environment: Mapping[str, str], run_of: Callable[..., Run] = Run) -> int:
    """Takes the first look with what is built, where all programs are not there yet, then has them built; then all."""
    build, looked = pathlib.Path(environment.get("BUILD") or "build"), 0
    if command := environment.get("BENCH_BUILD"):
        if first_kernels(build).exists() and not (build / "kernels").exists() and not any(map(environment.get, WHOLE)):
            look = run_of(environment, first_look=True)
            if code := look.run():
                return code
            looked = look.counts.measured
        if subprocess.run(["sh", "-c", command], check=False).returncode:
            raise Failure("the programs could not be built", 2)
    whole = run_of(environment)
    whole.counts.looked = looked
    return whole.run()


def main() -> int:
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(kind) is not signal.SIG_IGN:  # nohup, or a job in the background
            signal.signal(kind, on_signal)
    try:
        return bench(os.environ)
    except Failure as failure:
        warn(str(failure))
        return failure.code
    except experiments.Fault as fault:
        warn(str(fault))
        return 2
    except Interrupted:
        warn("interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main())
