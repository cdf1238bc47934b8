"""What captions of figures and tables say of their rows: which runs, and what intervals are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from report import calibration, sources
from report.model import BETWEEN, ONE_ON_HOST, ONE_PROCESS, Card, Point, Run, Time
from report.rows import LEAST_PROCESSES
from report.words import STRATEGY, in_order

# The rule of "faster" (model.counted, places.winner), for captions.
FASTER = (f"beyond a factor of {ONE_PROCESS}, on hosts {ONE_ON_HOST}, where fewer than {LEAST_PROCESSES} processes "
          f"measured, else by the 95 % interval of the ratio {BETWEEN}, to which the spread between runs on other cards or "
          "days is added")

NOISY = "the interval is wide or others used the machine, so that nobody wins by it"

# Of the condition `burst`: samples of all strategies of a point follow one another in random order, without a pause.
IN_TURNS = "short samples, those of all strategies in turns"


def where(runs: Iterable[Run]) -> str:
    commits = list(dict.fromkeys(sources.marked(run.commit, run.is_old) for run in runs))
    return ("commit " if len(commits) == 1 else "commits ") + ", ".join(commits)


def rests_on(shown: Sequence[tuple[str, str, Point]]) -> str:
    """Which run and how many processes the points of each panel and condition are of, where that differs; else nothing.
    shown: the panel, the condition and a point of it."""
    by_panel: dict[tuple[str, str], dict[str, None]] = {}
    for panel, condition, p in shown:
        said = f"{sources.marked(p.run.commit, p.run.is_old)}, {p.time.kind}"
        by_panel.setdefault((condition, panel), {})[said] = None
    alike: dict[tuple[str, str], list[str]] = {}
    for (condition, panel), there in by_panel.items():
        alike.setdefault((condition, " and ".join(there)), []).append(panel)
    if len({said for _, said in alike}) < 2:
        return ""
    found = []
    for condition in dict.fromkeys(c for c, _ in alike):
        of = [(said, panels) for (c, said), panels in alike.items() if c == condition]
        found.append(f"{condition}: " + ", ".join(said + f" ({'; '.join(panels)})" * (len(of) > 1)
                                                  for said, panels in of))
    told = "; ".join(found)
    return f"{told[0].upper()}{told[1:]}. "


def between_runs(card: Card) -> str:
    """How far another run of the same kernels differs, where runs on GPUs were compared; else nothing."""
    apart = calibration.largest().times if card.backend == "cuda" else 0.0
    return (f" Intervals are within one run; another run, on another card or day, differs by {100 * apart:.2g} % "
            "(standard deviation between runs of the same kernels, the largest that was measured).") if apart else ""


def named(strategies: Iterable[str]) -> str:
    """Some names have commas."""
    return "; ".join(STRATEGY[s] for s in strategies)


def grey(strategies: Iterable[str]) -> str:
    """Which strategies a figure shows in grey."""
    names = named(in_order(strategies))
    return f" Grey: {names}." if names else ""


def meanings(strategies: Iterable[str], names: Mapping[str, str]) -> str:
    """Of short names that say less than the words of the report."""
    short = [s for s in in_order(strategies) if names[s] != STRATEGY[s]]
    told = "; ".join(f"“{names[s]}”: {STRATEGY[s]}" for s in short)
    return f" {told}." if told else ""


def bars(times: Iterable[Time], ratios: bool = False, mark: str = "Bars") -> str:
    """What the bars of a figure are. Ratios of one process combine the ends of two intervals (model.ratio)."""
    times = list(times)
    combined = ", ends of both combined" if ratios else ""
    if all(t.one_process for t in times):
        return f"{mark}: 95 % interval within one process{combined}; another process can differ by more"
    if any(t.one_process for t in times):
        return f"{mark}: 95 % interval {BETWEEN}, and within the process where there is only one{combined}"
    return f"{mark}: 95 % interval {BETWEEN}"


def noisy(times: Iterable[Time], mark: str = "Hollow, and + instead of ×") -> str:
    """What a figure says of its noisy points, where it has some (panels.Panel.mark)."""
    return f". {mark}: {NOISY}" if any(t.noisy for t in times) else ""


def kind_of(times: Iterable[Time], ratios: bool = False) -> str:
    """What the bars of a figure are, and its hollow points."""
    times = list(times)
    return bars(times, ratios) + noisy(times)
