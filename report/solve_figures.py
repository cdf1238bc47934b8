"""Figures of whole solves on a card: with their set-up, where the time of a Newton iteration goes, and one product
within them compared with samples of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from report import set_ups
from report.captions import bars, kind_of, noisy, where
from report.cases import kind_of_mesh
from report.inside import COMPARED, LEFT_OUT, insides, to_show
from report.model import Card, Model, Point, Time
from report.panels import COLOURED, INK, MOST, PALETTE, SHAPES, Figure, Panel, dots, figure, linear, names, shifts, span
from report.places import one, ranked, the
from report.text import count
from report.wholes import PARTS, PHASES, solves_of
from report.words import ELEMENT, PRECONDITION, QUADRATIC, STRATEGY, in_order, problem_words

# All three differ in grey, too.
SOLVE_PARTS = (("set-up of mesh and strategy", PALETTE[4]), ("set-up of multigrid", PALETTE[3]), ("solve", PALETTE[0]))
TILDE = "~, or hollow"


def marked(strategies: Sequence[str], noisy: Collection[str]) -> list[str]:
    """Their words, with ~ where the solve is noisy."""
    return [STRATEGY[s] + "~" * (s in noisy) for s in strategies]


# Solves of one figure, as its name ends, and in titles: with all of them one would be taller than a page.
GROUPS = {"": "", "meshes": "irregular meshes, ", "bracket": "bracket, ", "quadratic": "quadratic elements, "}


def group_of(case: str, element: str) -> str:
    kind = kind_of_mesh(case)
    return "quadratic" if element in QUADRATIC else {"box": "", "bracket": kind}.get(kind, "meshes")


def places_of(model: Model, card: Card, group: str) -> list[tuple[tuple, list[Point]]]:
    return [(place, some) for place, some in solves_of(model).items()
            if place[0] == card and group_of(place[1], place[2]) == group]


def named(what: str, card: Card, group: str) -> str:
    return "-".join(filter(None, (what, card.key, group)))


def whole_solves(model: Model, card: Card, group: str) -> Figure | None:
    panels, runs, times, graphs = [], [], [], []
    for place, some in places_of(model, card, group):
        categories = ranked(p for p in some if p.operation == "solve")
        parts_of, ends = [], []
        for i, strategy in enumerate(categories):
            solve = the(some, strategy=strategy, operation="solve")
            graph = one(some, strategy=strategy, operation="solve_graph")
            at = 0.0
            set_up = set_ups.before_solve(some, strategy)
            parts = (set_up.own, set_up.preconditioner, solve.time.value)
            for (_, colour), part in zip(SOLVE_PARTS, parts):
                parts_of.append((at, at + part, i - 0.32, i + 0.32, colour))
                at += part
            ends.append((i, at, solve.time, at - solve.time.value, graph))
            times.append(solve.time)
            graphs += [graph.time] if graph else []
        longest = max(at for _, at, *_ in ends)
        whole = min(max(before + t.high for _, _, t, before, _ in ends), MOST * longest)  # the ends of intervals, too
        unit, scale = ("ms", 1e3) if longest < 1 else ("s", 1.0)
        panel = Panel(f"{ELEMENT[place[2]]}, {count(place[5])}, {problem_words(place[1])}",
                      linear(f"{unit}, with {PRECONDITION[place[4]]}",
                             1.05 * scale * max(longest, whole)),
                      names("", marked(categories, {categories[i] for i, _, t, *_ in ends if t.noisy})), frame=2,
                      column=place[2] * place[1].endswith("-steps"))
        panel.rectangles = [(a * scale, b * scale, c, d, colour) for a, b, c, d, colour in parts_of]
        for i, at, t, before, graph in ends:
            panel.thin.append(([((before + t.low) * scale, float(i)), ((before + t.high) * scale, float(i))], INK))
            if graph:
                panel.mark((before + graph.time.value) * scale, float(i), 0x000000, 13, graph.time.noisy)
        panels.append(panel)
        runs.append(some[0].run)
    legend = [(words, colour, 0) for words, colour in SOLVE_PARTS]
    if any(p.points for p in panels):
        legend.append(("end with CUDA graphs", 0x000000, 13))
    return figure(named("solves", card, group), f"Whole solves with set-up, {GROUPS[group]}{card.words}",
                  f"Whole solves from the mesh in memory to the last answer, {card.words}: what the choice of a "
                  f"strategy is worth in all. Each panel is one run. {bars(times, mark='Thin lines, of the solve alone')}"
                  f"{noisy([*times, *graphs], TILDE)}; {where(runs)}.",
                  panels, runs, columns=2, left=2.95, legend=legend)


PART_COLOURS = (PALETTE[3], PALETTE[0], 0x56B4E9, PALETTE[2], PALETTE[4], 0xBBBBBB)


def breakdown(model: Model, card: Card, group: str) -> Figure | None:
    """Phases of one Newton iteration."""
    panels, runs, times = [], [], []
    for place, some in places_of(model, card, group):
        categories = ranked(p for p in some if p.operation == "solve")
        whole = {s: the(some, strategy=s, operation="solve") for s in categories}
        times += [p.time for p in whole.values()]
        scale = {s: 1e3 / max(p.newton_iterations or 1, 1) for s, p in whole.items()}
        high = max(p.time.value * scale[s] for s, p in whole.items())
        what = "solve" if place[1].endswith("linear") else "Newton iteration"
        panel = Panel(f"{ELEMENT[place[2]]}, {count(place[5])}, {problem_words(place[1])}",
                      linear(f"ms per {what}, with {PRECONDITION[place[4]]}", 1.05 * high),
                      names("", marked(categories, {s for s, p in whole.items() if p.time.noisy})), frame=2)
        for i, strategy in enumerate(categories):
            at = 0.0
            for words, colour in zip(PARTS, PART_COLOURS):
                part = sum(p.time.value for p in some if p.strategy == strategy and p.operation in PHASES
                           and PHASES[p.operation].part == words)
                if part:
                    panel.rectangles.append((at, at + part * scale[strategy], i - 0.32, i + 0.32, colour))
                    at += part * scale[strategy]
        panels.append(panel)
        runs.append(some[0].run)
    return figure(named("breakdown", card, group), f"Where the time of a Newton iteration goes, {GROUPS[group]}{card.words}",
                  f"Phases of one Newton iteration{' without CUDA graphs' * (card.backend == 'cuda')}, {card.words}. Only the first three parts "
                  f"depend on the strategy; the others are alike for all. Medians{noisy(times, '~')}; "
                  f"{where(runs)}.", panels, runs, columns=2,
                  left=2.95, legend=[(words, colour, 0) for words, colour in zip(PARTS, PART_COLOURS)])


INSIDE = (("short samples", PALETTE[0], SHAPES[0]), ("samples with cold caches", PALETTE[1], SHAPES[1]))


def inside(model: Model, card: Card) -> Figure | None:
    """One product within a solve over samples of it, of strategies that have a colour elsewhere."""
    drawn: list[tuple[Point, list[tuple[str, int, int, Time, float]]]] = []
    for some in to_show(insides(model)):
        values = [(i.product.strategy, colour, shape, ratio, shift) for i in some if i.product.strategy in COLOURED
                  for (_, colour, shape), ratio, shift in zip(INSIDE, (i.over_burst, i.over_cold), shifts(2)) if ratio]
        if values and some[0].product.card == card:
            drawn.append((some[0].product, values))
    times = [t for _, values in drawn for *_, t, _ in values]
    low, high = span(times, 1.0) if times else (1.0, 1.0)
    panels = [dots(f"{ELEMENT[p.element]}, {count(p.n_dof)}, {problem_words(p.case)}",
                   linear("within the solve / samples", 1.02 * high, 0.98 * low),
                   in_order(strategy for strategy, *_ in values), values, 1.0) for p, values in drawn]
    there = {colour for panel in panels for _, _, colour, *_ in panel.points}
    return figure(f"inside-{card.key}", f"Products within solves, {card.words}",
                  f"Time of one product within a solve over that in samples of the same run, {card.words}. At the "
                  f"dashed line it takes as long; right of it longer. {COMPARED} {LEFT_OUT} The table of products within "
                  f"solves has all strategies. {kind_of(times, ratios=True)}; {where(p.run for p, _ in drawn)}.", panels,
                  [p.run for p, _ in drawn], columns=2, left=2.95,
                  legend=[entry for entry in INSIDE if entry[1] in there])
