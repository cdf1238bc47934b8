"""Figures of the report: what each shows, as panels of values (report/panels.py lays them out and draws them).

Each takes the model and a card, and returns None where there is nothing to show.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence

from report import model as model_
from report import set_ups
from report.model import (CHOOSES, ELEMENT, MATRIX, NEAR, NOT_A_STRATEGY, OPERATION, PRODUCTS, STRATEGY, Card, Model,
                          Point, Time, widest)
from report.panels import (COLOURED, COLOURS, GREY, INK, NARROW, PALE, PALETTE, SHAPES, SHORT, WIDE, Axis, Figure,
                           Panel, add_names, add_series, decades, figure, finished, linear, luminance, names, size,
                           style_of)
from report.text import count, digits


ALIKE = 1.2      # sizes in one column of a map differ at most by this factor
LEAST_DOF = 50_000  # below, caches hold what the ceilings count as moved


def where(runs: Iterable[model_.Run]) -> str:
    commits = list(dict.fromkeys(run.marked for run in runs))
    return ("commit " if len(commits) == 1 else "commits ") + ", ".join(commits)


def kind_of(times: Iterable[Time], ratios: bool = False) -> str:
    """What the bars of a figure are. Ratios of one process combine the ends of two intervals (model.ratio)."""
    times = list(times)
    combined = ", ends of both combined" if ratios else ""
    if all(t.one_process for t in times):
        return f"Bars: 95 % interval within one process{combined}; another process can differ by more"
    if any(t.one_process for t in times):
        return f"Bars: 95 % interval {model_.BETWEEN}, and within the process where there is only one{combined}"
    return f"Bars: 95 % interval {model_.BETWEEN}"


def throughput(model: Model, card: Card) -> Figure | None:
    return over_size(model, card, "throughput", "Throughput", lambda p: p.throughput.times(1e-9),
                     "10⁹ degrees of freedom/s", "Higher is better. Look where the curves cross, and from which size on they "
                     "are flat.")


def time_of_products(model: Model, card: Card) -> Figure | None:
    return over_size(model, card, "time", "Time", lambda p: p.time.times(1e6), "µs", "Lower is better. Where a curve is flat, "
                     "a call costs its start and not its work.")


def over_size(model: Model, card: Card, name: str, title: str, of: Callable[[Point], Time], label: str, said: str) -> Figure | None:
    """Of products and residuals, on boxes; each size of one run (model.widest)."""
    panels, runs, times, others = [], [], [], set()
    height = 3.5
    boxes = [p for p in model.kernels if p.card == card and p.plain and p.mesh.cube]
    for element in ("hex8", "tet4"):
        for operation in PRODUCTS:
            at: dict[int, list[Point]] = {}
            for p in model_.find(boxes, element=element, operation=operation):
                at.setdefault(p.n_dof, []).append(p)
            some = [p for ps in at.values() for p in model_.widest(ps) if p.strategy not in CHOOSES]
            if len({p.n_dof for p in some}) < 2:
                continue
            rates = [of(p) for p in some]
            panel = Panel(f"{ELEMENT[element]}, {OPERATION[operation]}",
                          decades("degrees of freedom", [p.n_dof for p in some], size, 1.4),
                          decades(label, [t.low for t in rates] + [t.high for t in rates]))
            ends: dict[str, tuple[float, float]] = {}
            for strategy in sorted(ranked(some), key=lambda s: s in COLOURED):
                values = [(float(p.n_dof), t) for p, t in zip(some, rates) if p.strategy == strategy]
                add_series(panel, strategy, sorted(values, key=lambda v: v[0]))
                last = max(values, key=lambda v: v[0])
                ends[strategy] = (last[0], last[1].value)
            others |= {s for s in ends if s not in COLOURED}
            add_names(panel, ends, height)
            panels.append(panel)
            runs += dict.fromkeys(p.run for p in some)
            times += rates
    if not panels:
        return None
    grey = f" Grey: {', '.join(STRATEGY[s] for s in in_order(others))}." if others else ""
    return figure(f"{name}-{card.key}", f"{title} over size, {card.words}",
                  f"{title} of one call on boxes over their size, {card.words}, all points plastic. {said}{grey} "
                  f"{kind_of(times)}; {where(runs)}.", panels, runs, columns=3, height=height, left=1.0, right=2.25)


def clusters(sizes: Iterable[int]) -> dict[int, int]:
    """Of each size the least one that is nearly as large: sizes of two elements on one kind of mesh differ a little."""
    found: dict[int, int] = {}
    first = 0
    for n in sorted(set(sizes)):
        first = first if first and n <= ALIKE * first else n
        found[n] = first
    return found


def winners_map(model: Model, card: Card) -> Figure | None:
    """Who is the fastest at each place; grey: intervals of several overlap."""
    won = {}
    there = {place: best for place, best in model_.winners(model).items()
             if place[0] == card and best.of > 2 and (best.fastest[0].mesh.cube or place[3] != "box")}
    alike = {mesh: clusters(p[4] for p in there if p[3] == mesh) for mesh in {p[3] for p in there}}
    for place, best in there.items():
        key = (place[1], place[2], place[3], alike[place[3]][place[4]])
        if key not in won or best.of > won[key][1].of:
            won[key] = (place, best)
    if len(won) < 4:
        return None
    columns = sorted({key[2:] for key in won}, key=lambda c: (c[0] != "box", c[0], c[1]))
    lines = [(e, o) for e in ("hex8", "tet4") for o in ("jacvec", "jacvec_elastic", "residual", "diagonal")
             if any(key[:2] == (e, o) for key in won)]
    cell, row, left = 1.13, 0.78, 2.25
    width = NARROW if left + cell * len(columns) <= NARROW else WIDE
    cell = min(1.25, (width - left - 0.1) / len(columns))
    sizes = {c: [place[4] for key, (place, _) in won.items() if key[2:] == c] for c in columns}
    x = Axis("", -0.5, len(columns) - 0.5, ())
    y = Axis("", len(lines) - 0.5, -0.5, ())
    panel = Panel("", x, y, frame=0)
    for i, (e, o) in enumerate(lines):
        panel.words.append((-0.5 - 0.12 / cell, i - 0.18, ELEMENT[e], INK, "right"))
        panel.words.append((-0.5 - 0.12 / cell, i + 0.2, OPERATION[o], INK, "right"))
    for j, c in enumerate(columns):
        panel.words.append((j, -0.68, count(sum(sizes[c]) / len(sizes[c])).replace(" ", chr(160)), INK, "center"))
        if j == 0 or columns[j - 1][0] != c[0]:
            panel.words.append((j - 0.45, -1.13, c[0].removesuffix(" box"), INK, "left"))
            if j:
                panel.thin.append(([(j - 0.5, -1.3), (j - 0.5, len(lines) - 0.5)], INK))
    shown = set()
    for (e, o, mesh, n), (_, best) in won.items():
        i, j = lines.index((e, o)), columns.index((mesh, n))
        box = (j - 0.47, j + 0.47, i - 0.45, i + 0.45)
        first = best.fastest[0].strategy
        if best.decided:
            colour = style_of(first)[0]
            shown.add(first)
            panel.rectangles.append((*box, colour))
            ink = 0xFFFFFF if luminance(colour) < 0.42 else 0x000000
            panel.words.append((j, i - 0.18, SHORT.get(first, first), ink, "center"))
            gain = digits(best.gain.value)
            panel.words.append((j, i + 0.2, gain if best.of >= COLOURS else f"({gain})", ink, "center"))
        else:
            panel.rectangles.append((*box, PALE))
            panel.words.append((j, i - 0.18, SHORT.get(first, first), INK, "center"))
            more = len(best.fastest) - 1
            second = SHORT.get(best.fastest[1].strategy, best.fastest[1].strategy)
            panel.words.append((j, i + 0.2, second if more == 1 else f"+ {more} more", INK, "center"))
    best_of = [b for _, b in won.values()]
    decided = sum(b.decided for b in best_of)
    fewest, most = min(b.of for b in best_of), max(b.of for b in best_of)
    runs = [b.run for b in best_of]
    height = row * len(lines)
    meanings = "; ".join(f"“{SHORT[s]}”: {STRATEGY[s]}" for s in in_order(
        shown | {b.fastest[0].strategy for b in best_of}) if s in SHORT and SHORT[s] != STRATEGY[s])
    return finished(f"winners-{card.key}", f"The fastest strategy, {card.words}",
                  f"The fastest strategy at each mesh, size and operation, {card.words}. In a coloured cell one "
                  "strategy is the fastest; the number is the factor by which the next one is slower, in brackets "
                  f"where fewer than {COLOURS} strategies were compared. In a grey cell the intervals of those named "
                  f"overlap. {f'{fewest} to {most}' if fewest < most else most} strategies were compared. Decided are "
                  f"{decided} of {len(best_of)} cells. {meanings}. “{STRATEGY['hybrid']}” is left out, because it is "
                  f"one of four others. {kind_of(p.time for b in best_of for p in b.fastest)}; "
                  f"{where(runs)}.".replace("Bars: ", "Intervals: "),
                  [panel], [(left, left + cell * len(columns), 1.05, 1.05 + height)], width, 1.05 + height + 0.1,
                    runs)


def dots(title: str, x: Axis, categories: Sequence[str], values: Iterable[tuple[str, int, int, Time, float]],
         reference: float | None = None) -> Panel:
    """values: category, colour, shape, value with interval, shift within the row."""
    panel = Panel(title, x, names("", [STRATEGY.get(c, c) for c in categories]), frame=2)
    if reference is not None:
        panel.dashed.append(([(reference, -0.6), (reference, len(categories) - 0.4)], INK))
    for category, colour, shape, t, shift in values:
        y = categories.index(category) + shift
        if t.high > t.low:
            panel.thin.append(([(t.low, y), (t.high, y)], colour))
        panel.points.append((t.value, y, colour, shape))
    return panel


def in_order(strategies: Iterable[str]) -> list[str]:
    """As STRATEGY has them, then those that are new."""
    there = set(strategies)
    return [s for s in STRATEGY if s in there] + sorted(there - set(STRATEGY))


def ranked(points: Iterable[Point]) -> list[str]:
    return in_order(p.strategy for p in points)


def shifts(n: int) -> list[float]:
    return [0.5 * ((i + 0.5) / n - 0.5) for i in range(n)]


def irregular_over_box(model: Model, card: Card) -> Figure | None:
    """Throughput on meshes that are no cubes over that of the box of nearest size of the same run."""
    kinds = ("irregular", "bracket", "slender box")
    panels, runs, times = [], [], []
    for element in ("hex8", "tet4"):
        pairs: dict[tuple[str, str], tuple[Point, Point]] = {}
        for p in model.kernels:
            if (p.card, p.element, p.operation) != (card, element,
                                                    "jacvec") or not p.plain or p.mesh.words not in kinds:
                continue
            boxes = [
                b
                for b in model_.find(model.kernels, run=p.run, strategy=p.strategy, element=element, operation="jacvec")
                if b.plain and b.mesh.words == "box" and b.card == card
            ]
            near = min(boxes, key=lambda b: abs(math.log(b.n_dof / p.n_dof)), default=None)
            if near and abs(math.log(near.n_dof / p.n_dof)) <= math.log(NEAR):
                key = (p.strategy, p.mesh.words)
                if key not in pairs or len(model_.find(model.kernels, run=p.run)) > len(
                        model_.find(model.kernels, run=pairs[key][0].run)):
                    pairs[key] = (p, near)
        if not pairs:
            continue
        categories = ranked(p for p, _ in pairs.values())
        there = [k for k in kinds if any(key[1] == k for key in pairs)]
        values = []
        for (strategy, kind), (p, box) in pairs.items():
            r = model_.ratio(box, p).times(p.n_dof / box.n_dof)
            i = kinds.index(kind)
            values.append((strategy, PALETTE[i], SHAPES[i], r, shifts(len(there))[there.index(kind)]))
            runs.append(p.run)
            times.append(r)
        highest = max(v[3].high for v in values)
        panels.append(
            dots(ELEMENT[element], linear("throughput / throughput on the box", max(1.1, highest * 1.05)), categories,
                 values, 1.0))
    there = [k for i, k in enumerate(kinds) if any(q[2] == PALETTE[i] for p in panels for q in p.points)]
    return figure(f"irregular-{card.key}", f"Other meshes compared with boxes, {card.words}",
                  f"Tangent products on other meshes: throughput over that on the box of nearest size, {card.words}. "
                  f"Left of the dashed line the mesh costs something. {kind_of(times, ratios=True)}; "
                  f"{where(runs)}.",
                  panels, runs, columns=2, left=2.95,
                  legend=[(k, PALETTE[kinds.index(k)], SHAPES[kinds.index(k)]) for k in there])


LOADS = {"steps": "load steps", "linear": "one linear solve", "fixed": "fixed iterations"}
PRECONDITION = model_.Words({"multigrid": "multigrid", "block-jacobi": "block-Jacobi", "none": "no preconditioner",
                             "chebyshev": "Chebyshev", "gamg": "GAMG", "boomeramg": "BoomerAMG"})


def problem_words(case: str) -> str:
    """stretched cube, load steps"""
    name, _, load = case.removesuffix("-peer").rpartition("-")
    if name.startswith("box"):
        cells, _, what = name.removeprefix("box").partition("-")
        name = f"{what} cube"
    elif name.startswith(("bracket", "br_")):
        name = "bracket, coarse" if name.endswith("coarse") else "bracket"
    return f"{name}, {LOADS.get(load, load)}"


SolvePlace = tuple  # card, case, element, krylov, precondition, degrees of freedom


def solves_of(model: Model, ranks: int = 1, least: int = 0) -> dict[SolvePlace, list[Point]]:
    """Points of whole solves of each card, element and load: of the run and the place with most strategies, and among
    those with most degrees of freedom, with multigrid rather than without. least: strategies; 0: three where there are
    several runs."""
    least = least or (3 if len(model.runs) > 1 else 1)
    at: dict[tuple[SolvePlace, model_.Run], list[Point]] = {}
    for p in model.of("solves.csv"):
        if p.ranks == ranks and not p.strategy.startswith("petsc"):
            card = Card(p.run.machine, p.backend, p.device, 0 if p.backend == "cuda" else p.threads)
            at.setdefault(((card, p.case, p.element, p.krylov, p.precondition, p.n_dof), p.run), []).append(p)

    def rank(entry: tuple[tuple[SolvePlace, model_.Run], list[Point]]) -> tuple[int, int, bool]:
        (place, _), some = entry
        return len({p.strategy for p in some if p.operation == "solve"}), place[5], place[4] == "multigrid"

    best: dict[tuple[Card, str, str], tuple[tuple[SolvePlace, model_.Run], list[Point]]] = {}
    for entry in at.items():
        card, case, element = entry[0][0][:3]
        key = (card, element, case.rpartition("-")[2])
        if rank(entry)[0] >= least and (key not in best or rank(entry) > rank(best[key])):
            best[key] = entry
    return {place: some for (place, _), some in best.values()}


def one(points: Iterable[Point], **wanted) -> Point | None:
    return next(iter(model_.find(points, **wanted)), None)


SOLVE_PARTS = (("set-up of mesh and strategy", PALETTE[4]), ("set-up of multigrid", PALETTE[2]), ("solve", PALETTE[0]))


def whole_solves(model: Model, card: Card) -> Figure | None:
    panels, runs, times = [], [], []
    for place, some in solves_of(model).items():
        if place[0] != card:
            continue
        categories = ranked(p for p in some if p.operation == "solve")
        bars, ends = [], []
        for i, strategy in enumerate(categories):
            solve = one(some, strategy=strategy, operation="solve")
            graph = one(some, strategy=strategy, operation="solve_graph")
            at = 0.0
            parts = (*set_ups.of_solve(some, strategy), solve.time.value)
            for (_, colour), part in zip(SOLVE_PARTS, parts):
                bars.append((at, at + part, i - 0.32, i + 0.32, colour))
                at += part
            ends.append((i, at, solve.time, at - solve.time.value, graph))
            times.append(solve.time)
        unit, scale = ("ms", 1e3) if max(e[1] for e in ends) < 1 else ("s", 1.0)
        panel = Panel(f"{ELEMENT[place[2]]}, {count(place[5])}, {problem_words(place[1])}",
                      linear(f"{unit}, with {PRECONDITION[place[4]]}",
                             1.05 * scale * max(e[1] for e in ends)),
                      names("", [STRATEGY[s] for s in categories]), frame=2)
        panel.rectangles = [(a * scale, b * scale, c, d, colour) for a, b, c, d, colour in bars]
        for i, at, t, before, graph in ends:
            panel.thin.append(([((before + t.low) * scale, float(i)), ((before + t.high) * scale, float(i))], INK))
            if graph:
                panel.points.append(((before + graph.time.value) * scale, float(i), 0x000000, 13))
        panels.append(panel)
        runs.append(some[0].run)
    legend = [(words, colour, 0) for words, colour in SOLVE_PARTS]
    if any(p.points for p in panels):
        legend.append(("end with CUDA graphs", 0x000000, 13))
    return figure(f"solves-{card.key}", f"Whole solves with set-up, {card.words}",
                  f"Whole solves from the mesh in memory to the last answer, {card.words}: what the choice of a "
                  f"strategy is worth in all. Each panel is one run; set-up is timed once. {kind_of(times)}, of the "
                  f"solve alone; {where(runs)}.",
                  panels, runs, columns=2, left=2.95, legend=legend)


PHASES = (
    ("material and residual", ("material", "residual"), PALETTE[3]),
    ("tangent products", ("jacvec",), PALETTE[0]),
    ("preconditioner: products of the strategy", ("precondition_product",), 0x56B4E9),
    ("preconditioner: the rest", ("precondition", "precondition_transfer", "precondition_coarse", *(
        f"precondition_level{i}" for i in range(1, 10))), PALETTE[2]),
    ("Krylov vectors", ("orthogonalization",), PALETTE[4]),
    ("sums, ghosts, waiting, other", ("reduction", "exchange", "host", "other"), 0xBBBBBB),
)


def breakdown(model: Model, card: Card) -> Figure | None:
    """Phases of one Newton iteration."""
    panels, runs = [], []
    for place, some in solves_of(model).items():
        if place[0] != card:
            continue
        categories = ranked(p for p in some if p.operation == "solve")
        whole = {s: one(some, strategy=s, operation="solve") for s in categories}
        scale = {s: 1e3 / max(p.newton_iterations or 1, 1) for s, p in whole.items()}
        high = max(p.time.value * scale[s] for s, p in whole.items())
        what = "solve" if place[1].endswith("linear") else "Newton iteration"
        panel = Panel(f"{ELEMENT[place[2]]}, {count(place[5])}, {problem_words(place[1])}",
                      linear(f"ms per {what}, with {PRECONDITION[place[4]]}", 1.05 * high),
                      names("", [STRATEGY[s] for s in categories]), frame=2)
        for i, strategy in enumerate(categories):
            at = 0.0
            for _, operations, colour in PHASES:
                part = sum(p.time.value for p in some if p.strategy == strategy and p.operation in operations)
                if part:
                    panel.rectangles.append((at, at + part * scale[strategy], i - 0.32, i + 0.32, colour))
                    at += part * scale[strategy]
        panels.append(panel)
        runs.append(some[0].run)
    return figure(f"breakdown-{card.key}", f"Where the time of a Newton iteration goes, {card.words}",
                  f"Phases of one Newton iteration without CUDA graphs, {card.words}. Only the first three parts "
                  "depend on the strategy; the others are alike for all. Medians; "
                  f"{where(runs)}.", panels, runs, columns=2,
                  left=2.95, legend=[(words, colour, 0) for words, _, colour in PHASES])


def largest_boxes(model: Model, card: Card, wanted) -> dict[str, list[Point]]:
    """Of each element: the points of one run at the largest box where wanted(points) is true; most strategies first."""
    found = {}
    for element in ("hex8", "tet4"):
        by: dict[tuple[int, model_.Run], list[Point]] = {}
        for p in model.kernels:
            if p.card == card and p.plain and p.mesh.cube and p.element == element and p.n_dof >= LEAST_DOF:
                by.setdefault((p.n_dof, p.run), []).append(p)
        some = max((ps for ps in by.values() if wanted(ps)), key=lambda ps: (ps[0].n_dof, len(ps)), default=None)
        if some:
            found[element] = some
    return found


def roofline(model: Model, card: Card) -> Figure | None:
    """Counted flop over modelled bytes, below the measured ceilings of memory and arithmetic."""
    panels, runs, times = [], [], []
    prefix = card.backend
    found = largest_boxes(model, card, lambda ps: ps[0].run.told(f"{prefix}_copy_gb_per_s") not in ("", "0") and
                          any(p.flop and p.bytes_moved for p in ps))
    height = 5.2
    for element, some in found.items():
        run = some[0].run
        memory, peak = (1e-3 * float(run.told(f"{prefix}_{key}")) for key in ("copy_gb_per_s", "fma_gflop_per_s"))
        drawn = [p for p in some if p.flop and p.bytes_moved and p.strategy not in MATRIX + CHOOSES + NOT_A_STRATEGY
                 and p.operation in OPERATION and p.operation != "material"]
        if not drawn:
            continue
        rates = [p.time.rate(p.flop * 1e-12) for p in drawn]
        intensity = [p.flop / p.bytes_moved for p in drawn]
        x = decades("counted flop / modelled byte", [min(intensity) / 1.5, max(intensity) * 1.8, peak / memory])
        y = decades("10¹² flop/s", [min(t.low for t in rates) / 2.4, peak * 1.4])
        panel = Panel(f"{ELEMENT[element]}, {count(drawn[0].n_dof)} degrees of freedom", x, y)
        knee = peak / memory
        panel.lines.append(([(max(x.low, y.low / memory), max(x.low, y.low / memory) * memory), (knee, peak),
                             (x.high, peak)], INK))
        panel.words.append((x.high, peak * 1.25, f"{digits(peak)} · 10¹² flop/s", INK, "right"))
        steep = max(x.low, y.low / memory) * 1.15
        panel.words.append((steep * 0.9, steep * memory * 1.5, f"{digits(memory)} TB/s", INK, "left"))
        for p, t, i in sorted(zip(drawn, rates, intensity), key=lambda v: v[0].strategy in COLOURED):
            colour, shape = style_of(p.strategy)
            if t.high > t.low:
                panel.thin.append(([(i, t.low), (i, t.high)], colour))
            panel.points.append((i, t.value, colour, shape))
        by_operation = {p.operation: i for p, i in zip(drawn, intensity)}
        for k, (operation, i) in enumerate(sorted(by_operation.items(), key=lambda o: o[1])):
            panel.words.append((i, y.at(0.03 + 0.055 * (k % 2)), OPERATION[operation], INK, "center"))
        panels.append(panel)
        runs.append(run)
        times += rates
    present = [s for s in COLOURED if any(p[2] == style_of(s)[0] for panel in panels for p in panel.points)]
    return figure(f"roofline-{card.key}", f"Share of the ceiling, {card.words}",
                  f"Arithmetic that counts against the measured ceilings of memory and multiply-adds, {card.words}. "
                  "The distance to the line is what a strategy loses by moving or computing more than once, or by "
                  f"waiting. Grey: other strategies. {kind_of(times)}; "
                  f"{where(runs)}.", panels, runs, columns=2, height=height, left=1.25,
                  legend=[(STRATEGY[s], *style_of(s)) for s in present] + [("others", *style_of(""))])


def break_even(model: Model, card: Card) -> Figure | None:
    """One material update (which assembles) and n products, with and without set-up, over the same with the matrix."""
    panels, runs = [], []
    height = 3.8
    found = largest_boxes(model, card, lambda ps: one(ps, strategy="assembled_bsr", operation="material") is not None)
    ns = [10 ** (i / 8) for i in range(0, 33)]
    for set_up in (True, False):
        for element, some in found.items():
            parts: dict[str, tuple[float, float]] = {}
            for strategy in ranked(some):
                material, product = (one(some, strategy=strategy, operation=o) for o in ("material", "jacvec"))
                if material and product:
                    parts[strategy] = ((product.set_up or 0.0 if set_up else 0.0) + material.time.value, product.time.value)
            fixed, each = parts["assembled_bsr"]
            curves = {s: [(n, (own[0] + n * own[1]) / (fixed + n * each)) for n in ns] for s, own in parts.items()
                      if s not in MATRIX + CHOOSES + NOT_A_STRATEGY}
            if not curves:
                continue
            values = [v for c in curves.values() for _, v in c]
            panel = Panel(
                f"{ELEMENT[element]}, {count(some[0].n_dof)}, {'with set-up' if set_up else 'set-up not counted'}",
                decades("tangent products n", ns, size, 1.0), decades("time / time with the matrix", values + [1.0]))
            panel.dashed.append(([(ns[0], 1.0), (ns[-1], 1.0)], INK))
            for strategy, curve in sorted(curves.items(), key=lambda c: c[0] in COLOURED):
                (panel.lines if strategy in COLOURED else panel.thin).append((curve, style_of(strategy)[0]))
            add_names(panel, {s: c[-1] for s, c in curves.items()}, height)
            panels.append(panel)
            runs.append(some[0].run)
    return figure(f"break-even-{card.key}", f"Break-even with the assembled matrix, {card.words}",
                  "One material update and n tangent products, over the same with the assembled matrix (own kernel, "
                  "3×3 blocks, assembled in its material update), with the set-up of the mesh and without it, "
                  f"{card.words}. Below the dashed line the matrix loses. Computed from medians of one run, set-up "
                  "measured once; grey: other strategies; "
                  f"{where(runs)}.", panels, runs, columns=2, height=height, left=1.15, right=2.45)


@dataclasses.dataclass(frozen=True)
class Speed:
    """Of a strategy on several ranks over one rank of the same run."""

    kind: str  # strong or weak
    mesh: str
    element: str
    strategy: str
    operation: str
    ranks: int
    communication: str  # nccl, peer, mpi or threads
    n_dof: int  # of one rank if weak, of all if strong
    gain: Time
    run: model_.Run


def speeds(model: Model, card_key: tuple[str, str]) -> list[Speed]:
    """card_key: machine and backend. Of the GMRES iteration with classical Gram-Schmidt twice, else modified."""
    found: list[Speed] = []
    by_run: dict[model_.Run, list[Point]] = {}
    for p in model.of("scaling.csv"):
        if (p.run.machine, p.backend) == card_key and p.operation.startswith("gmres"):
            by_run.setdefault(p.run, []).append(p)
    for run, some in by_run.items():
        for p in some:
            case = model_.ranked_case(p.case)
            if p.ranks == 1 or p.operation != "gmres_cgs2" and (p.operation != "gmres_mgs" or any(
                    q.operation == "gmres_cgs2" and q.case == p.case for q in some)):
                continue
            def same(q: Point) -> bool:
                other = model_.ranked_case(q.case)
                alike = (other.mesh == case.mesh and q.n_dof == p.n_dof) if case.kind == "strong" else True
                return q.ranks == 1 and other.kind == case.kind and alike and all(
                    getattr(q, name) == getattr(p, name) for name in ("strategy", "element", "operation", "order"))
            if alone := next((q for q in some if same(q)), None):
                words = model_.mesh_of(case.mesh).words
                found.append(Speed(case.kind, words, p.element, p.strategy, p.operation, p.ranks, case.communication, alone.n_dof,
                                   model_.ratio(alone, p), run))
    return found


def scaling(model: Model, machine: tuple[str, str], card: Card) -> Figure | None:
    panels, runs, times = [], [], []
    height = 2.9
    all_ = speeds(model, machine)
    groups: dict[tuple[str, str, int, str], list[Speed]] = {}
    for s in all_:
        groups.setdefault((s.kind, s.mesh, round(math.log(s.n_dof, NEAR)), s.element), []).append(s)
    for (kind, mesh, _, element), some in sorted(groups.items(), key=lambda g: (g[0][0], g[0][1], g[0][2], g[0][3])):
        # of each strategy and number of ranks one value: the newest run's, peers if both
        best: dict[tuple[str, int], Speed] = {}
        for s in sorted(some, key=lambda s: (model.runs.index(s.run), s.communication != "peer")):
            best.setdefault((s.strategy, s.ranks), s)
        most = max(r for _, r in best)
        if most < 2:
            continue
        ranks = sorted({r for _, r in best} | {1})
        x = Axis("GPUs" if card.backend == "cuda" else "ranks", 0.85, most * 1.12,
                 tuple((str(r), float(r)) for r in ranks), True)
        if kind == "strong":
            high = max(max(s.gain.high for s in best.values()), most) * 1.1
            low = min(min(s.gain.low for s in best.values()) / 1.1, 0.8)
            ticks = tuple((f"{t:g}", t) for t in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0) if low <= t <= high)
            y = Axis("speed-up", low, high, ticks, True)
        else:
            y = linear("efficiency", 1.1)
        size = count(some[0].n_dof)
        title = f"{ELEMENT[element]}, {mesh}, {size}" + (" a rank" if kind == "weak" else "")
        panel = Panel(title, x, y)
        panel.dashed.append(([(1.0, 1.0), (float(most), float(most) if kind == "strong" else 1.0)], INK))
        strategies = in_order(s for s, _ in best)
        for strategy in strategies:
            colour, shape = style_of(strategy)
            for (name, r), s in best.items():
                if name != strategy:
                    continue
                at = float(r) * (1 + 0.05 * (strategies.index(strategy) / max(len(strategies) - 1, 1) - 0.5))
                if s.gain.high > s.gain.low:
                    panel.thin.append(([(at, s.gain.low), (at, s.gain.high)], colour))
                panel.points.append((at, s.gain.value, colour, shape))
                times.append(s.gain)
                runs.append(s.run)
        panels.append(panel)
    present = [s for s in COLOURED if any(p[2] == style_of(s)[0] for panel in panels for p in panel.points)]
    legend = [(STRATEGY[s], *style_of(s)) for s in present]
    if any(p[2] == GREY for panel in panels for p in panel.points):
        legend.append(("others", GREY, style_of("")[1]))
    return figure(f"scaling-{card.key}", f"Strong and weak scaling, {card.words}",
                  "One GMRES iteration on several GPUs over one GPU of the same run: speed-up for a mesh of one "
                  f"size, efficiency for a box of one size per GPU; {card.words}. Dashed: ranks cost nothing. "
                  f"{kind_of(times, ratios=True)}; "
                  f"{where(runs)}.", panels, runs, columns=4, height=height, left=1.0,
                  legend=legend)


def precision(model: Model, card: Card) -> Figure | None:
    """Throughput in floats over that in doubles of the same run."""
    kinds = (("mixed", "floats, sums in doubles"), ("single", "all floats"))
    panels, runs, times = [], [], []
    for element in ("hex8", "tet4"):
        for operation in ("jacvec", "jacvec_elastic"):
            pairs = []
            some = [p for p in model.kernels if p.card == card and p.element == element and p.operation == operation
                    and p.mesh.cube and p.plastic == 1 and p.order == "auto" and p.hardening == "linear"]
            sizes = {p.n_dof for p in some if p.precision != "double"}
            floats = widest(p for p in some if p.precision != "double" and p.n_dof == max(sizes, default=0))
            for p in floats:
                base = one(some, run=p.run, strategy=p.strategy, precision="double", n_dof=p.n_dof)
                if base and p.strategy not in CHOOSES:
                    pairs.append((p, model_.ratio(base, p)))
            categories = ranked(p for p, _ in pairs)
            if len(categories) < 2:
                continue
            values = []
            for p, r in pairs:
                i = [k for k, _ in kinds].index(p.precision)
                values.append((p.strategy, PALETTE[i], SHAPES[i], r, shifts(2)[i]))
                runs.append(p.run)
                times.append(r)
            panels.append(
                dots(f"{ELEMENT[element]}, {OPERATION[operation]}, {count(pairs[0][0].n_dof)}",
                     linear("throughput / throughput in doubles", max(1.1, 1.05 * max(v[3].high for v in values))),
                     categories, values, 1.0))
    there = [i for i in range(2) if any(q[2] == PALETTE[i] for p in panels for q in p.points)]
    return figure(f"precision-{card.key}", f"Floats compared with doubles, {card.words}",
                  f"Throughput in floats over that in doubles of the same run, {card.words}, all points plastic. "
                  "Right of the dashed line floats are faster; matrices gain because their bytes halve. "
                  f"{kind_of(times, ratios=True)}; {where(runs)}.", panels, runs, columns=2, left=2.95,
                  legend=[(kinds[i][1], PALETTE[i], SHAPES[i]) for i in there])


def energy(model: Model, card: Card) -> Figure | None:
    """With the range of windows; readings up to schema 6 have none."""
    some = [p for p in model.kernels if p.card == card and p.plain and p.nj_per_dof and p.mesh.cube]
    some = widest([p for p in some if p.n_dof == max((q.n_dof for q in some), default=0)])
    panels = []
    for element in ("hex8", "tet4"):
        for operation in ("jacvec", "jacvec_elastic"):
            there = model_.find(some, element=element, operation=operation)
            if len(there) < 2:
                continue
            values = [(p.strategy, *style_of(p.strategy), Time(p.nj_per_dof, p.nj_low or p.nj_per_dof,
                                                               p.nj_high or p.nj_per_dof, 1, 1), 0.0) for p in there]
            panels.append(
                dots(f"{ELEMENT[element]}, {OPERATION[operation]}, {count(there[0].n_dof)}",
                     linear("nJ per degree of freedom", 1.08 * max(t.high for *_, t, _ in values)), ranked(there),
                     values))
    bars = "Bars: the range of six windows of one process" if all(p.nj_low for p in some) else \
        "One reading of some seconds each; bars, where there are some: the range of six windows"
    return figure(f"energy-{card.key}", f"Energy of products, {card.words}",
                  f"Energy of the whole card per degree of freedom of a product, {card.words}. Left is better. {bars}; "
                  f"{where(p.run for p in some)}.", panels, [p.run for p in some], columns=2,
                  left=2.95)


def over_host(model: Model, card: Card) -> Figure | None:
    """Throughput on a GPU over that on its host, strategy by strategy, of one run."""
    panels, runs, times = [], [], []
    height = 3.5
    for element in ("hex8", "tet4"):
        for operation in PRODUCTS:
            by_run: dict[model_.Run, list[tuple[Point, Time]]] = {}
            for p in model_.find(model.kernels, card=card, element=element, operation=operation):
                if p.plain and p.mesh.cube and p.strategy not in CHOOSES:
                    host = one((q for q in model_.find(model.kernels, run=p.run, backend="host", strategy=p.strategy)
                                if q.plain), element=element, operation=operation, case=p.case)
                    if host:
                        by_run.setdefault(p.run, []).append((p, model_.ratio(host, p)))
            pairs = max(by_run.values(), key=len, default=[])
            if len({p.n_dof for p, _ in pairs}) < 3:
                continue
            panel = Panel(f"{ELEMENT[element]}, {OPERATION[operation]}",
                          decades("degrees of freedom", [p.n_dof for p, _ in pairs], size, 1.4),
                          decades("GPU / host", [t.low for _, t in pairs] + [t.high for _, t in pairs] + [1.0]))
            panel.dashed.append(([(panel.x.low, 1.0), (panel.x.high, 1.0)], INK))
            ends = {}
            for strategy in sorted(ranked(p for p, _ in pairs), key=lambda s: s in COLOURED):
                values = sorted(((float(p.n_dof), t) for p, t in pairs if p.strategy == strategy), key=lambda v: v[0])
                add_series(panel, strategy, values)
                ends[strategy] = (values[-1][0], values[-1][1].value)
            add_names(panel, ends, height)
            panels.append(panel)
            runs.append(pairs[0][0].run)
            times += [t for _, t in pairs]
    hosts = list(dict.fromkeys(p.card.words for p in model.kernels if p.run in runs and p.backend == "host"))
    return figure(f"host-{card.key}", f"{card.words} over its host",
                  f"Throughput on one {card.words} over that of the same strategy on its host ({', '.join(hosts)}), "
                  "on boxes. Above the dashed line the GPU is faster. Ratios of the same strategy: the fastest one "
                  f"of the host can be another one. {kind_of(times, ratios=True)}; {where(runs)}.",
                  panels, runs, columns=2 if len(panels) % 3 else 3, height=height, left=1.0, right=2.25)


def reproducible(model: Model) -> Figure | None:
    """What bitwise reproducible sums cost: the fastest such strategy over the fastest, at each place on a box."""
    panels, runs, times = [], [], []
    cards = [c for c in model.cards if c.backend == "cuda"][:COLOURS]
    at = {place: [p for p in some if p.strategy not in NOT_A_STRATEGY + CHOOSES]
          for place, some in model_.places(model.kernels).items()}
    at = {place: some for place, some in at.items() if len(some) >= COLOURS}  # fewer lack reproducible ones
    for element in ("hex8", "tet4"):
        for operation in PRODUCTS:
            drawn: list[tuple[int, int, Time]] = []
            for (card, *what, n), some in at.items():
                ordered = [p for p in some if p.deterministic == 1]
                if card in cards and what == [element, operation, "box"] and ordered and len(ordered) < len(some):
                    first, best = (min(ps, key=lambda p: p.time.value) for ps in (some, ordered))
                    drawn.append((cards.index(card), n, model_.ratio(first, best)))
                    runs.append(first.run)
            if len(drawn) < 2:
                continue
            panel = Panel(f"{ELEMENT[element]}, {OPERATION[operation]}",
                          decades("degrees of freedom", [n for _, n, _ in drawn], size, 1.4),
                          linear("reproducible / fastest", max(1.1, max(t.high for *_, t in drawn) * 1.05)))
            panel.dashed.append(([(panel.x.low, 1.0), (panel.x.high, 1.0)], INK))
            for i, n, t in drawn:
                if t.high > t.low:
                    panel.thin.append(([(n, t.low), (n, t.high)], PALETTE[i]))
                panel.points.append((n, t.value, PALETTE[i], SHAPES[i]))
                times.append(t)
            panels.append(panel)
    legend = [(c.words, PALETTE[i], SHAPES[i]) for i, c in enumerate(cards)
              if any(q[2] == PALETTE[i] for p in panels for q in p.points)]
    return figure("reproducible", "The price of reproducible sums",
                  "Throughput of the fastest strategy with the same bits in all runs over that of the fastest of "
                  f"all, on boxes where {COLOURS} or more were measured. The distance to the dashed line is the "
                  f"price; at the line the fastest is reproducible itself. {kind_of(times, ratios=True)}; "
                  f"{where(runs)}.", panels, runs, columns=3, height=3.2,
                  left=1.0, legend=legend)


def all_figures(model: Model) -> list[Figure]:
    """In the order of the report."""
    found: list[Figure | None] = []
    solve_cards = dict.fromkeys(place[0] for place in solves_of(model))
    for make, cards in ((throughput, model.cards), (time_of_products, model.cards), (winners_map, model.cards), (irregular_over_box, model.cards),
                        (whole_solves, solve_cards), (breakdown, solve_cards), (roofline, model.cards),
                        (break_even, model.cards)):
        found += [make(model, card) for card in cards]
    for machine in dict.fromkeys((p.run.machine, p.backend) for p in model.of("scaling.csv")):
        device = next(p for p in model.of("scaling.csv") if (p.run.machine, p.backend) == machine)
        found.append(scaling(model, machine, Card(machine[0], machine[1], device.device,
                                                  0 if machine[1] == "cuda" else device.threads)))
    found += [make(model, card) for make in (precision, energy) for card in model.cards]
    found += [over_host(model, card) for card in model.cards if card.backend == "cuda"] + [reproducible(model)]
    return [f for f in found if f]
