"""Measures experiments/*.toml on this machine within a budget of time: what `make bench` does after building.

    python3 -m runner.run       from the root of the repository; variables as `make help` lists them

Leaves rows, samples, tables and figures in RESULTS/MACHINE/DATE-COMMIT/ (results/README.md describes them). Run again,
it goes on: finished points are kept.

The sweep takes one process of each point, the most useful points first (experiments/settings.toml has the passes). With
PAPER=1 it takes the whole list with all independent processes, in a random order within each experiment, in pieces:
BUDGET=minutes ends one, the next call goes on, also on another machine of the same kind with the copied folder.
With several GPUs, points of kernels from 0.25 M degrees of freedom on are measured side by side, one on each, and then
all others, one at a time; CARDS=n: on n of them. MISSING=1 says what is missing and runs nothing. EXPERIMENTS="names"
takes these alone. Environment beside these: BUILD, RESULTS, BENCH_START (when make bench began, seconds since 1970), SEED,
PASSES, and BENCH_BUILD, the command that builds all programs: where only that of the first look is there, it runs first.
"""

from __future__ import annotations

import collections
import dataclasses
import errno
import math
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping

from report import one_run, rows
from runner import cards, costs, elsewhere, experiments, folder, launch, measure, points, publish, summary
from runner.here import Failure, find_gmsh, find_here, first_kernels, say, settings_line, warn
from runner.summary import ALLOWED, clock

MOST = 0.25  # of what is left a point of the sweep may take, or twice what was predicted; then others have their turn
SLOWER = 1.5  # as much longer tables and figures may take in the end than before


class Interrupted(BaseException):
    """SIGINT, SIGTERM or SIGHUP."""


def is_set(text: str | None) -> bool:
    return text not in (None, "", "0")


class Run:
    """One call. Tests replace `now` and the measurer's launcher."""

    def __init__(self, environment: Mapping[str, str], first_look: bool = False) -> None:
        self.environment, self.first_look = environment, first_look
        self.paper = is_set(environment.get("PAPER"))
        begun = environment.get("BENCH_START") or str(self.now())
        try:
            self.start = float(begun)
        except ValueError as error:
            raise Failure(f"BENCH_START={begun}: is no time in seconds since 1970", 2) from error
        self.settings = experiments.read_settings()
        few = () if self.paper else self.settings.tables["variables"]["FEW"]
        here, cores = find_here(environment, few, first_look)
        self.variables = experiments.variables_of(environment, self.settings, here, cores, self.paper)
        self.chosen, listed = chosen_of(environment)
        results = pathlib.Path(environment.get("RESULTS") or "results")
        settings = settings_line(here, self.variables.repetitions, self.paper)
        self.folder = folder.Folder(folder.choose(results, here, settings), settings)
        gmsh = "" if first_look else find_gmsh(
            w for name, words in self.variables.lists.items() if name[:6] in ("SOLVES", "MESHES", "STRONG")
            for w in words)
        self.here = dataclasses.replace(here, scratch=self.folder.scratch, gmsh=gmsh)
        self.questions = {e.name: e.question for e in listed}
        self.tasks = self.make_plan(listed)
        self.elsewhere = elsewhere.measured(self.folder.path, settings, self.tasks, self.here) if self.paper else {}
        self.budget = 60.0 * (0 if self.chosen and not environment.get("BUDGET") else self.variables.budget)
        self.left_out: list[str] = []
        self.waiting: list[tuple[float, experiments.Task, int]] = []  # seconds predicted, of what was left out
        self.publishing = 0.0  # seconds that tables and figures took
        self.missing: set[str] = set()  # what was said to be missing of these
        self.publisher = publish.Publisher(self.folder.path, self.folder.scratch, self.folder.scratch / here.record,
                                           here.strategies, {task.point.name(): i for i, task in enumerate(self.tasks)})
        kinds = {f"{task.point.program}-{task.point.backend}" for task in self.tasks}
        tops = {results, pathlib.Path("results")}
        self.costs = costs.earlier(tops, here.machine, self.folder.path, bool(gmsh), kinds)
        self.measurer = measure.Measurer(self.here, self.folder, self.costs, self.now)
        self.counts = self.measurer.counts
        self.turn = threading.Lock()
        self.launcher = launch.Launcher()
        self.launchers = [launch.Launcher(card, self.turn) for card in self.cards(environment)]

    def make_plan(self, listed: list[experiments.Experiment]) -> list[experiments.Task]:
        """Of the named experiments; else of all of a paper, or of the sweep."""
        passes = ("first",) if self.first_look else tuple((self.environment.get("PASSES") or "").split())
        if self.chosen:
            listed = [e for e in listed if e.name in self.chosen]
        elif not self.paper and not passes:
            passes = tuple(name for name in self.settings.passes if name != "studies")
        return experiments.plan(listed, self.settings, self.variables, self.here, passes, self.paper)

    def cards(self, environment: Mapping[str, str]) -> list[cards.Card]:
        """That points are measured on side by side."""
        if not self.paper:
            return []
        here = self.here.capacity.get("cuda", 0)
        wanted = experiments.whole("CARDS", environment.get("CARDS") or str(here), "")
        return cards.cards_of(min(wanted, here), environment, os.sched_getaffinity(0))

    def now(self) -> float:
        return time.time()

    def elapsed(self) -> float:
        return self.now() - self.start

    # --- a point of the plan ---

    def is_done(self, task: experiments.Task, number: int) -> bool:
        """Here, or, all processes of the point, at another commit with the same sources."""
        return task.point.name() in self.elsewhere or self.folder.is_done(task.point, number, task.repetitions)

    def limit_of(self, name: str) -> float:
        """Of a pass, in seconds since the start: the host has its share where one follows."""
        share = self.settings.until.get(name, 1.0)
        if self.paper or (name != "solves" and "host" not in self.variables.backends):
            share = 1.0
        return share * self.budget

    def leave_out(self, task: experiments.Task, number: int, predicted: float | None) -> None:
        """For time; said where the point has no rows."""
        self.counts.longest_left = max(self.counts.longest_left, predicted or 0.0)
        self.waiting.append((predicted or 0.0, task, number))
        point = task.point
        if not self.folder.has_rows(point, number):
            self.counts.left += 1
            self.left_out.append(self.about(task, number))

    def about(self, task: experiments.Task, number: int) -> str:
        text = f"{task.point.backend} {task.point.element}, {task.point.about()}"
        return text + (f", process {number}" if number > 1 else "")

    def visit(self, task: experiments.Task, number: int = 1, share: float | None = None, anyway: bool = False,
              launcher: launch.Launcher | None = None) -> None:
        """Measures a process of a point, or keeps it, or leaves it out for time. share: of the budget, instead of the
        pass's; anyway: whatever is predicted."""
        point = task.point
        if self.is_done(task, number):
            self.counts.kept += 1
            return
        process = points.Process(number, max(task.repetitions, self.folder.taken(point, number)),
                                 self.measurer.strategies(point, number))
        predicted = self.costs.predict(self.measurer.work(task, process), point.name())
        elapsed, limit = self.elapsed(), None
        if self.budget > 0 and (self.paper or task.passed_in != "first"):
            needed = (predicted or 0.0) * self.costs.caution() + SLOWER * self.publishing
            most = self.limit_of(task.passed_in) if share is None else share * self.budget
            if elapsed + (0.0 if anyway else needed) > most:
                self.leave_out(task, number, predicted)
                return
            limit = (1.0 if anyway else ALLOWED) * self.budget - SLOWER * self.publishing - elapsed
            if not anyway and not self.paper:
                limit = min(limit, max(costs.LATE * needed, MOST * (self.budget - elapsed)))
            limit = max(limit, 1.0)
        of = f" of {clock(self.budget)}" if self.budget else ""
        seconds = "?" if predicted is None else f"{predicted:.0f}"
        say(f"{clock(elapsed)}{of}  {task.passed_in:<7} {self.about(task, number)} (about {seconds} s)")
        if not self.measurer.measure(task, process, predicted, limit, launcher or self.launcher):
            self.leave_out(task, number, predicted)

    def visit_all(self, items: list[tuple[experiments.Task, int]], share: float | None = None,
                  anyway: tuple[experiments.Task, int] | None = None) -> None:
        """Of points and numbers of their processes; those that go side by side on several GPUs first."""
        beside = [item for item in items if self.launchers and item[0].point.may_have_neighbours()]
        if beside:
            self.measurer.know_machine(self.launcher)
            workers = {card.number: card.cores for launcher in self.launchers if (card := launcher.card)}
            cards.take_turns(beside, workers, self.turn,
                             lambda item, n: self.visit(*item, share, item == anyway, self.launchers[n]), self.end)
        for item in items:
            if item not in beside:
                self.visit(*item, share, item == anyway)

    def end(self) -> None:
        """All that is at work."""
        for launcher in [self.launcher, *self.launchers]:
            launcher.end()

    # --- all of it ---

    def publish(self, first: bool = False) -> None:
        """Rows, tables and figures of all that is finished. first: prints the tables before anything is drawn."""
        begin = self.now()
        if self.measurer.has_new_rows:
            self.publisher.gather()
        self.measurer.has_new_rows = False
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
        last, lacking = "", collections.Counter[str]()
        for task in self.tasks:
            if last and task.passed_in != last:
                if self.measurer.has_new_rows and (last == "first" or self.has_time_to_publish()):
                    self.publish(last == "first" and self.counts.measured > 0)
            last = task.passed_in
            needs = task.point.needs(self.here)
            if needs and needs in (points.QUADRATIC_BUILD, self.here.other_host):
                lacking[needs] += 1
                continue
            if needs:
                warn(f"{task.point.name()} cannot be measured: it needs {needs}")
                self.counts.refused += 1
                continue
            self.visit(task)
        for needs, n in lacking.items():
            makes = ", which ELEMENTS=\"tet4 hex8 tet10 hex27\" makes" if needs == points.QUADRATIC_BUILD else ""
            say(f"{n} points need {needs}{makes}")
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
        fits into is lost: the point with the shortest one is tried whatever it says, and stopped where the budget ends. A
        piece of a paper ends instead, unless only caution is against it."""
        tried: set[tuple[experiments.Task, int]] = set()
        anyway: tuple[experiments.Task, int] | None = None
        while self.waiting and self.elapsed() < self.budget:
            waiting, self.waiting, self.left_out = self.waiting, [], []
            self.counts.left, self.counts.longest_left, before = 0, 0.0, self.counts.measured
            self.visit_all([item[1:] for item in waiting], 1.0, anyway)
            if self.counts.measured > before:
                anyway = None
                continue
            left = self.budget - self.elapsed() if self.paper else math.inf  # a later piece measures it; machines cost
            new = [item for item in self.waiting if item[1:] not in tried and item[0] <= left]
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
                random.Random(f"{self.measurer.seed} {name} {number}").shuffle(drawn)
                found += drawn
        return found

    def measure_paper(self) -> None:
        impossible: collections.Counter[str] = collections.Counter()
        possible: list[tuple[experiments.Task, int]] = []
        for task, number in self.paper_items():
            needs = task.point.needs(self.here)
            if needs:
                impossible[needs] += 1
            else:
                possible.append((task, number))
        self.visit_all(possible)
        self.use_the_rest()
        for needs, n in impossible.items():
            say(f"{n} processes of points need {needs}: they cannot be measured here")

    def run(self) -> int:
        if is_set(self.environment.get("MISSING")):
            return summary.say_what_is_missing(self)
        try:
            self.folder.open()
            given = self.environment.get("SEED")
            self.measurer.seed = self.folder.seed(experiments.whole("SEED", given, "") if given else None)
            self.here = dataclasses.replace(self.here, programs=self.folder.copy_programs(self.here.programs))
            self.measurer.here = self.here
            if self.first_look:
                return self.take_first_look()
            self.here = dataclasses.replace(self.here, other_host=self.measurer.other_host(self.launcher))
            self.measurer.here = self.here
            summary.introduce(self)
            if self.paper:
                self.measure_paper()
            else:
                self.sweep()
            self.publish()
            return summary.conclude(self)
        except OSError as error:
            ours = str(error.filename or "").startswith(str(self.folder.path))
            if ours or error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
                raise self.folder.full_disk() from error
            raise
        except Interrupted:
            self.end()
            self.folder.remove_parts()
            print(file=sys.stderr)
            warn(f"interrupted; finished points are kept in {self.folder.path}: run it again to go on")
            return 130
        finally:
            self.end()
            self.folder.clean()
            self.folder.close()


def on_signal(number: int, frame: object) -> None:
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(kind, signal.SIG_IGN)
    raise Interrupted


WHOLE = ("PAPER", "EXPERIMENTS", "PASSES", "MISSING")  # variables that do not begin with the first look


def chosen_of(environment: Mapping[str, str]) -> tuple[tuple[str, ...], list[experiments.Experiment]]:
    """The names in EXPERIMENTS, and all experiments; Failure where there is none of a name."""
    chosen = tuple((environment.get("EXPERIMENTS") or "").split())
    listed = experiments.read_all()
    for name in chosen:
        if name not in {e.name for e in listed}:
            raise Failure(f"EXPERIMENTS={' '.join(chosen)}: there is no experiment {name}", 2)
    return chosen, listed


def is_built(command: str, limit: float | None) -> bool:
    """Has the programs built; False where that was ended after `limit` seconds."""
    child = subprocess.Popen(["sh", "-c", command], process_group=0)
    try:
        code = child.wait(limit)
    except subprocess.TimeoutExpired:
        return False
    finally:
        launch.end_all(child)
    if code:
        raise Failure("the programs could not be built", 2)
    return True


def bench(environment: Mapping[str, str], run_of: Callable[..., Run] = Run) -> int:
    """Takes the first look with what is built, where all programs are not there yet, then has them built; then all. A
    budget that a first look and the build behind it have used up ends there."""
    build, look = pathlib.Path(environment.get("BUILD") or "build"), None
    chosen_of(environment)  # a wrong name before a build of minutes
    if command := environment.get("BENCH_BUILD"):
        left = None
        if first_kernels(build).exists() and not (build / "kernels").exists() and not any(map(environment.get, WHOLE)):
            look = run_of(environment, first_look=True)
            if code := look.run():
                return code
            left = look.budget - look.elapsed() if look.budget > 0 else None
        if look and left is not None and (left <= 0 or not is_built(command, left)):
            say(f"{clock(look.elapsed())} of {clock(look.budget)}: building and the first look took it all. Not all "
                "programs are built; make bench again goes on, BUDGET=minutes takes more at once")
            return 0
        if left is None:
            is_built(command, None)
    whole = run_of(environment)
    whole.counts.looked = look.counts.measured if look else 0
    return whole.run()


def main() -> int:
    if len(sys.argv) > 1:  # settings come from the environment
        print(__doc__ if sys.argv[1] in ("-h", "--help") else f"bench: {sys.argv[1]}: takes no arguments; --help says more",
              file=sys.stdout if sys.argv[1] in ("-h", "--help") else sys.stderr)
        return 0 if sys.argv[1] in ("-h", "--help") else 2
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(kind) is not signal.SIG_IGN:  # nohup, or a job in the background
            signal.signal(kind, on_signal)
    try:
        return bench(os.environ)
    except Failure as failure:
        warn(str(failure))
        return failure.code
    except (experiments.Fault, rows.Fault) as fault:
        warn(str(fault))
        return 2
    except Interrupted:
        warn("interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main())
