"""Points of a paper that another commit has measured from the same sources, by the same compilers, on a machine of the same
kind: they are not measured again. Work on programs that measure, on tables and on documents goes on beside a paper's run;
a change of a strategy, or of what it shares with others, has its points measured again (report/sources.py)."""

from __future__ import annotations

import csv
import pathlib
from collections.abc import Iterable

from report import sources
from runner import experiments, folder, points

# Programs whose measured sources are known. Of PETSc, of profiles and of other builds more than sources decides.
KINDS = {"kernels": "kernels.csv", "solves": "solves.csv", "scaling": "scaling.csv", "anderson": "anderson.csv",
         "trace": "communication.csv"}


def is_alike(point: points.Point, commits: tuple[str, str], here: points.Here) -> bool:
    """Whether the sources of all strategies that the point times are the same at both commits."""
    kind = KINDS.get(point.program)
    contact = isinstance(point, points.Kernels) and "contact" in point.words()
    return kind is not None and all(sources.alike(*commits, kind, strategy, point.backend, contact)
                                    for strategy in point.strategies(here))


def measured(own: pathlib.Path, settings: str, tasks: Iterable[experiments.Task], here: points.Here) -> dict[str, str]:
    """The commit by the name of each point of which another folder of this kind of machine has all processes. own: the
    run's folder; settings: what such a folder's settings say, but for the commit."""
    tasks, found = list(tasks), dict[str, str]()
    for file in sorted(own.parent.glob("*/finished.csv"), reverse=True):
        try:
            told = (file.parent / "settings.txt").read_text().strip()
            with open(file, newline="", encoding="utf-8") as opened:
                taken = {(row["point"], int(row["process"])): int(row["repetitions"]) for row in csv.DictReader(opened)}
        except (OSError, KeyError, ValueError, TypeError):
            continue  # of a run that was begun by hand
        commit = folder.commit_of(told)
        if file.parent == own or not commit or commit == here.commit or not folder.may_be_one_run(told, settings):
            continue
        for task in tasks:
            name = task.point.name()
            if name not in found and all(taken.get((name, n), 0) >= task.repetitions for n in range(1, task.processes + 1)) \
                    and is_alike(task.point, (commit, here.commit), here):
                found[name] = commit
    return found
