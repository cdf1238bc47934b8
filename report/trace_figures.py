"""Where the time of a solve goes by kernel, on one GPU and several."""

from __future__ import annotations

import itertools

from report.captions import where
from report.communication import CATEGORIES
from report.model import Card, Model
from report.panels import PALE, PALETTE, Figure, Panel, figure, linear, names
from report.text import count
from report.traces import Solve, traced
from report.words import BY, ELEMENT, PRECONDITION, STRATEGY

PARTS: dict[str, tuple[tuple[str, ...], int]] = {  # categories, colour
    "products of the strategy": (("products",), PALETTE[0]), "the rest of multigrid": (("transfers", "cycle"), PALETTE[2]),
    "vectors and material": (("vectors", "material", "set_up", "other"), PALETTE[4]), "halo": (("halo",), PALETTE[3]),
    "sums over GPUs": (("sums",), PALETTE[1])}
IDLE = "idle"
assert {name for categories, _ in PARTS.values() for name in categories} == {*CATEGORIES, "other"}


def parts(solve: Solve) -> list[float]:
    """Seconds of a GPU, means over all; the last ones idle."""
    n = len(solve.gpus)
    told = [sum(row["span_share"] * row["span_s"] for row in solve.rows if row["category"] in categories) / n
            for categories, _ in PARTS.values()]
    return [*told, solve.idle * sum(row["span_s"] for row in solve.gpus) / n]


def words(solve: Solve) -> str:
    """2 GPUs, NCCL, graphs"""
    ranks, by = solve.first["ranks"], BY[solve.first["transport"]]
    return ", ".join(filter(None, (f"{ranks} GPU{'s' * (ranks > 1)}", by, "graphs" * solve.first["graphs"])))


def time_by_kernel(model: Model, card: Card) -> Figure | None:
    panels, runs = [], []
    own = [(run, solve) for run, solve in traced(model)
           if (run.machine, solve.first["device"]) == (card.machine, card.device)]
    colours = [*(colour for _, colour in PARTS.values()), PALE]
    for place, of in itertools.groupby(own, lambda entry: tuple(
            entry[1].first[c] for c in ("element", "n_dof", "precondition", "variant"))):
        element, n_dof, precondition, strategy = place
        found = list(of)
        bars = [parts(solve) for _, solve in found]
        panel = Panel(f"{ELEMENT[element]}, {count(n_dof)}, {STRATEGY[strategy]}",
                      linear(f"ms, with {PRECONDITION[precondition]}", 1.05e3 * max(sum(bar) for bar in bars)),
                      names("", [words(solve) for _, solve in found]), frame=2,
                      column=str(n_dof) * (strategy == "patch"))
        for i, bar in enumerate(bars):
            ends = [1e3 * end for end in itertools.accumulate(bar, initial=0.0)]
            panel.rectangles += [(a, b, i - 0.32, i + 0.32, colour) for a, b, colour in zip(ends, ends[1:], colours) if b > a]
        panels.append(panel)
        runs += [run for run, _ in found]
    return figure(f"communication-{card.key}", f"Where the time of a solve goes by kernel, {card.words}",
                  f"A solve with fixed work, traced by CUPTI, from its first kernel to the end of the last one, mean over GPUs, "
                  f"{card.words}. Where kernels overlap, each moment is divided between them, so that of halo and sums a part "
                  "costs nothing. A kernel that waits for another GPU counts with its wait. Without “graphs” kernels are launched "
                  f"one by one. One solve each; {where(runs)}.", panels, runs, columns=2, left=3.8,
                  legend=[(name, colour, 0) for name, colour in zip((*PARTS, IDLE), colours)])
