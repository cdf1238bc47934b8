"""What a run says of itself: what it is about to do, what it did, and what is missing."""

from __future__ import annotations

import collections
import csv
import pathlib
from typing import TYPE_CHECKING

from report.words import STRATEGY
from runner import points
from runner.folder import SETTINGS
from runner.here import Failure, say, warn

if TYPE_CHECKING:
    from runner.run import Run

ALLOWED = 1.05  # a budget is kept within this
SHOWN = ("table.md", "figures", "kernels.csv", "solves.csv", "scaling.csv", "storage.csv", "forms.csv", "anderson.csv",
         "orthogonality.csv", "profile.csv", "communication.csv")


def clock(seconds: float) -> str:
    """As 1:05."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def introduce(run: Run) -> None:
    total, here, seed = len({task.point for task in run.tasks}), run.here, run.measurer.seed
    say(f"{len(here.strategies)} variants on {here.machine}, commit {here.commit}, into {run.folder.path}")
    if run.paper:
        processes = sum(task.processes for task in run.tasks)
        piece = f"a piece of {clock(run.budget)}" if run.budget else "without a limit of time"
        beside = f", on {len(run.launchers)} GPUs side by side" if run.launchers else ""
        say(f"the whole list, {total} points in {processes} processes, {piece}{beside}; random orders by seed {seed}")
        say_what_is_elsewhere(run)
    elif run.budget == 0:
        say(f"all {total} points, without a limit of time (BUDGET=0); random orders by seed {seed}")
    else:
        say(f"a budget of {run.budget / 60:.0f} minutes, building included, for the first of {total} points: "
            f"BUDGET=minutes takes more of them; random orders by seed {seed}")
    if here.commit.endswith("-dirty"):
        say("there are changes since the commit: these results are for a look, not for keeping, and speak in no report")
    if new := [name for name in here.strategies if name not in here.few and name not in STRATEGY]:
        say(f"not in solves and scaling: {' '.join(new)} (VARIANTS=, or FEW in experiments/settings.toml)")


def say_what_is_elsewhere(run: Run) -> None:
    """A line for each commit."""
    for commit, n in collections.Counter(run.elsewhere.values()).items():
        say(f"{n} points are there at {commit}, whose sources of them are the same")


def conclude(run: Run) -> int:
    counts, elapsed, there = run.counts, run.elapsed(), run.folder.path
    if not counts.looked + counts.measured + counts.left:
        say(f"all points were there; for new ones, in a new folder: rm {there}/{SETTINGS}")
    if counts.left:
        again = "make bench PAPER=1" if run.paper else "make bench"
        say(f"{counts.left} points were left out for time ({there}/left-out.txt); {again} again goes on, "
            f"BUDGET={2 * round(run.budget / 60)} takes more at once")
    note = budget_note(run, elapsed)
    if note:
        say(f"note: {note}")
    files = [name for name in SHOWN if (there / name).exists()]
    say(f"{counts.looked + counts.measured} points in {clock(elapsed)}; results are in {there}: {' '.join(files)}")
    for status, n in without_times(there).items():
        warn(f"rows without times: {n} {status}")
    if counts.failed:
        raise Failure(f"{counts.failed} points failed; run it again to try them once more")
    return 0


def budget_note(run: Run, elapsed: float) -> str:
    """Why a budget was not kept within 5 %, or ""."""
    if run.budget and elapsed > ALLOWED * run.budget:
        why = "building and the first look, which is always whole, took longer than that"
        first = 0 if run.paper else sum(task.passed_in == "first" for task in run.tasks)
        if run.counts.stopped or run.counts.looked + run.counts.measured + run.counts.kept > first:
            why = "a point had to be stopped, or points, tables or figures took longer than before"
        return f"{clock(elapsed)} instead of {clock(run.budget)}: {why}"
    if run.budget and run.counts.left and elapsed < (2 - ALLOWED) * run.budget:
        return f"{clock(run.budget - elapsed)} of the budget are left: no point that was left out would surely " \
            f"end within its pass; the longest takes about {clock(run.counts.longest_left)}"
    return ""


def without_times(folder: pathlib.Path) -> collections.Counter[str]:
    found: collections.Counter[str] = collections.Counter()
    for name in ("kernels.csv", "solves.csv", "scaling.csv"):
        if (folder / name).exists():
            with open(folder / name, newline="") as file:
                found.update(row["status"] for row in csv.DictReader(file) if row["status"] != "ok")
    return found


def readers_of(run: Run) -> dict[str, list[str]]:
    """Claims by experiment; none where Python lacks what claims need."""
    try:
        from report.claim import read_claims
        from runner import readers
    except ImportError:
        return {}
    return readers.readers(run.tasks, read_claims())


def say_what_is_missing(run: Run) -> int:
    """By experiment, with minutes, of points that go side by side shared by the cards; runs nothing and writes nothing."""
    total = missing = 0
    minutes = 0.0
    read_by = readers_of(run)
    say(f"what is missing in {run.folder.path}:")
    say_what_is_elsewhere(run)
    for name, tasks in run.by_experiment().items():
        wanted = [(task, n) for task in tasks for n in range(1, task.processes + 1)]
        absent = [(task, n) for task, n in wanted if not run.is_done(task, n)]
        possible = [(task, n) for task, n in absent if not task.point.needs(run.here)]
        needs = sorted({task.point.needs(run.here) for task, _ in absent} - {""})
        works = [run.measurer.work(task, points.Process(n, task.repetitions, task.point.strategies(run.here))) for task, n in possible]
        beside = [max(len(run.launchers), 1) if task.point.may_have_neighbours() else 1 for task, _ in possible]
        seconds = [None if s is None else s / n for s, n in zip(map(run.costs.predict, works), beside)]
        known = sum(s for s in seconds if s is not None) / 60
        total, missing, minutes = total + len(wanted), missing + len(absent), minutes + known
        text = f"{name:<17} {len(absent):4d} of {len(wanted):4d}"
        if possible:
            least = "about" if all(run.costs.is_measured(work.kind) for work in works) else "at least"
            text += ", minutes not known" if None in seconds else f", {least} {known:.0f} min"
        if needs:
            text += f"; {len(absent) - len(possible)} need {', '.join(needs)}"
        say(f"{text}   {run.questions[name]}")
        if read_by.get(name):
            say(f"{'':<17} claims: {' '.join(read_by[name])}")
    say(f"{missing} of {total} processes of points are missing; those that can be measured here take about "
        f"{minutes:.0f} min (\"at least\": known from rows, which hold the time of samples alone)")
    return 0
