"""GPUs side by side: each measures a point of its own, with its share of the cores.

A point that needs one GPU leaves the others of a machine idle. On a machine with several, PAPER=1 starts a program on each.
They share nothing but the host: each has cores of its own, whole ones where a core runs two threads. So only points go
side by side whose times are counted on the device, those of kernels, and of these only large meshes, because the launches
of small ones take part in their times: docs/method.md, "Side by side", says more.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import os
import pathlib
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")
SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


@dataclasses.dataclass(frozen=True)
class Card:
    """number: among the GPUs here, from 0; name: in CUDA_VISIBLE_DEVICES."""

    number: int
    name: str
    cores: frozenset[int]

    def environment(self) -> dict[str, str]:
        """Of a program on it. FEBENCH_CARD: its machine has more cores than it may use (common/report/machine.h)."""
        return {"CUDA_VISIBLE_DEVICES": self.name, "FEBENCH_CARD": str(self.number)}


def whole_cores(threads: Iterable[int]) -> list[list[int]]:
    """Threads of a core stand together."""
    found: dict[str, list[int]] = collections.defaultdict(list)
    for thread in sorted(threads):
        path = pathlib.Path(SIBLINGS.format(thread))
        with contextlib.suppress(OSError):
            found[path.read_text()].append(thread)
            continue
        found[str(thread)].append(thread)
    return list(found.values())


def cards_of(n: int, environment: Mapping[str, str], threads: Iterable[int]) -> list[Card]:
    """None where there are fewer than two GPUs, or fewer cores than GPUs."""
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    names = [name.strip() for name in visible.split(",")] if visible else [str(i) for i in range(n)]
    cores = whole_cores(threads)
    n = min(n, len(names))
    if n < 2 or len(cores) < n:
        return []
    first = [i * len(cores) // n for i in range(n + 1)]
    return [Card(i, names[i], frozenset(t for core in cores[first[i]:first[i + 1]] for t in core)) for i in range(n)]


def take_turns(items: Iterable[T], workers: Mapping[int, frozenset[int]], turn: threading.Lock,
               work: Callable[[T, int], None], stop: Callable[[], None]) -> None:
    """Calls work(item, worker) for all items, each worker one after the other, on its cores. Workers hold `turn` but
    where they give it up. What one raises ends all when they have ended their items; where this thread is interrupted,
    `stop` must end what they wait for."""
    waiting, faults, ended = collections.deque(items), list[BaseException](), list[int]()
    begun, n_started = threading.Event(), 0

    def run(worker: int) -> None:
        begun.wait()
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)  # of this thread, and of programs that it starts
            os.sched_setaffinity(0, workers[worker])  # the same
            with turn:
                while waiting and not faults:
                    work(waiting.popleft(), worker)
        except BaseException as fault:  # noqa: BLE001: raised below
            faults.append(fault)
        finally:
            ended.append(worker)

    def wait() -> None:
        """Not by join(): where a signal interrupts it, Python 3.11 takes the thread for one that has ended."""
        while len(ended) < n_started:
            time.sleep(0.01)

    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        try:  # a thread whose start a signal interrupts is one that nobody can wait for
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            for worker in workers:
                threading.Thread(target=run, args=(worker,), name=f"card {worker}").start()
                n_started += 1
            begun.set()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        wait()
    except BaseException:
        waiting.clear()
        begun.set()
        stop()
        wait()
        raise
    if faults:
        raise faults[0]


@contextlib.contextmanager
def given_up(turn: threading.Lock | None) -> Iterator[None]:
    if turn:
        turn.release()
    try:
        yield
    finally:
        if turn:
            turn.acquire()
