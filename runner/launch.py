"""Starts programs beside the runner, which so hears an interruption at once, and stops them.

Threads of OpenMP that wait for each other spin. Where other processes use the cores, too, they spin in the way of the
thread that they wait for, and a call takes multiples of a scheduler's slice: on two cores that others used, too, 36 ms
instead of 0.46 ms (a product of patch, 10 K degrees of freedom). So where others are at work when a program is started,
its threads wait passively. Where none are, spinning is what a program alone on its cores wants.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import threading
import time
from collections.abc import Iterable

from runner.cards import Card, given_up
from runner.here import say

# Open MPI: a process on each hardware thread, in containers too
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}
PATIENCE = 10  # seconds that a program has to end
LOOKS_EVERY = 20.0  # seconds
LOADED = 0.1  # share of the cores in use by others from which on a row is marked, too (common/report/row.h)


def used_seconds(stat: Iterable[str], cores: set[int]) -> dict[int, tuple[float, float]]:
    """Of each of the cores, by the lines of /proc/stat: seconds at work, whoever did it, and all seconds."""
    found = {}
    for line in stat:
        name, *ticks = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cores and len(ticks) >= 5:
            numbers = [float(t) / os.sysconf("SC_CLK_TCK") for t in ticks[:8]]  # guests count in user and nice
            found[int(name[3:])] = sum(numbers) - numbers[3] - numbers[4], sum(numbers)
    return found


def share_in_use(path: str = "/proc/stat") -> float:
    """Of the cores that this process may use, while it sleeps: 0 where the system does not tell. The system counts in
    ticks of 10 ms on each core: forty of them in all."""
    cores = os.sched_getaffinity(0)
    try:
        with open(path, encoding="ascii") as stat:
            before = used_seconds(stat, cores)
        time.sleep(max(0.4 / len(cores), 0.05))
        with open(path, encoding="ascii") as stat:
            after = used_seconds(stat, cores)
    except OSError:
        return 0.0
    total = sum(after[c][1] - before[c][1] for c in before if c in after)
    return sum(after[c][0] - before[c][0] for c in before if c in after) / total if total > 0 else 0.0


class Ended(BaseException):
    """The runner is ending: what became of the program does not count."""


def end_all(child: subprocess.Popen) -> None:
    """Ends a child that leads a process group, and all that it started."""
    if child.poll() is not None:
        return
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, kind)
            child.wait(PATIENCE)
            return
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


class Launcher:
    """card: that the programs see, all where None. turn: a lock that the caller holds, given up while a program runs."""

    def __init__(self, card: Card | None = None, turn: threading.Lock | None = None) -> None:
        self.card, self.turn, self.ended = card, turn, False
        self.child: subprocess.Popen | None = None
        self.waits_passively, self.looked = False, -LOOKS_EVERY

    def waiting(self) -> dict[str, str]:
        """How OpenMP's threads are to wait, unless the user says it."""
        if "OMP_WAIT_POLICY" in os.environ:
            return {}
        if time.monotonic() - self.looked < LOOKS_EVERY:
            return {"OMP_WAIT_POLICY": "passive"} if self.waits_passively else {}
        share, self.looked = share_in_use(), time.monotonic()
        if (share > LOADED) != self.waits_passively:
            self.waits_passively = not self.waits_passively
            say(f"other processes use {100 * share:.0f} % of the cores: threads of OpenMP wait passively"
                if self.waits_passively else "the cores are free again: threads of OpenMP spin")
        return {"OMP_WAIT_POLICY": "passive"} if self.waits_passively else {}

    def launch(self, command: list[str], log: pathlib.Path, limit: float | None, held: int | None = None) -> int | None:
        """Exit code, negative for a signal; None: stopped after `limit` seconds. held: a lock that the child holds as
        well."""
        if self.ended:
            raise Ended
        more = self.waiting() | (self.card.environment() if self.card else {})
        with open(log, "wb") as out:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                          env={**os.environ, **OPEN_MPI, **more}, process_group=0,
                                          pass_fds=() if held is None else (held,))
        child, code = self.child, None
        if self.ended:  # since it was looked at
            self.stop()
        with given_up(self.turn), contextlib.suppress(subprocess.TimeoutExpired):
            code = child.wait(limit)
        if self.ended:
            raise Ended
        if code is None:
            self.stop()
        self.child = None
        return code

    def end(self) -> None:
        """From another thread: stops the child, and whoever waits for it."""
        self.ended = True
        self.stop()

    def stop(self) -> None:
        """Ends the child and all that it started, if there is one."""
        child, self.child = self.child, None
        if child:
            end_all(child)


def lines_of(path: pathlib.Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def last_line(path: pathlib.Path) -> str:
    return (lines_of(path) or [""])[-1]
