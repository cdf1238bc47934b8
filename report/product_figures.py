"""Figures of products and residuals: over the size, who is the fastest where, against the ceilings, and from how many
products on a matrix pays. Each takes the model and a card, and returns None where there is nothing to show."""

from __future__ import annotations

import collections
import itertools
import re
from collections.abc import Callable, Iterable, Sequence

from report.captions import FASTER, IN_TURNS, grey, kind_of, meanings, rests_on, where
from report.model import Card, Model, Point, Run, Time
from report.panels import (ALIKE, COLOURED, COLOURS, GREY, INK, LEAST_SIZES, LETTER, NARROW, PALE, RIGHT, SHORT, WIDE, Axis,
                           Figure, Panel, add_names, add_series, beside, coloured_in, decades, dots, figure, finished,
                           linear, luminance, named_in_short, nth_style, numbered, shifts, size, span, style_of,
                           unit_of, with_narrow)
from report.panels import Place as Inner
from report.places import LEAST_DOF, Place, Winner, find, one, ranked, winners
from report.rows import LEAST_PROCESSES
from report.selection import by_run, by_strategy
from report.text import count, digits
from report.words import (BLOCKS, CHOOSES, ELEMENT, ELEMENTS, MAIN, MATRIX, NOT_A_STRATEGY, OPERATION, PRODUCTS,
                          QUADRATIC, STRATEGY, Words)

FORMS = {"patch", "patch_ordered"}  # of one strategy
APART = 1.6  # flop per byte of two columns whose words fit below them


def throughput(model: Model, card: Card, quadratic: bool = False) -> Figure | None:
    scale, unit = unit_of(card)
    return over_size(model, card, "throughput", "Throughput", lambda p: p.throughput.times(scale), unit, "Higher is better.",
                     "Look which curve is the upper one at a size, and from which size on it is flat.", quadratic=quadratic)


def time_of_products(model: Model, card: Card) -> Figure | None:
    return over_size(model, card, "time", "Time", lambda p: p.time.times(1e6), "µs", "Lower is better.",
                     "Where a curve is flat, a call costs its start and not its work.", higher_is_better=False)


def cold(model: Model, card: Card) -> Figure | None:
    """Of calls whose data no cache holds."""
    points = [p for p in model.of("kernels.csv") if (p.row["condition"], p.operand) == ("cold", "random")]
    scale, unit = unit_of(card)
    return over_size(model, card, "cold", "Throughput with cold caches", lambda p: p.throughput.times(scale), unit,
                     "Higher is better. Before each call the cache is filled with other data. "
                     "Compare with short samples, which at these sizes find much of theirs there.", "",
                     points, "single calls, each behind a read of four times the level-2 cache")


def over_size(model: Model, card: Card, name: str, title: str, of: Callable[[Point], Time], label: str, said: str,
              of_curves: str, points: Iterable[Point] | None = None, samples: str = IN_TURNS, quadratic: bool = False,
              higher_is_better: bool = True) -> Figure | None:
    """Of products and residuals, on boxes of linear or of quadratic elements; at each size of the run that speaks, or of
    the next one that has a strategy (selection.by_strategy). Where there are two sizes, a row for each strategy."""
    curves: list[Panel] = []
    rows: dict[str, list[Panel]] = {o: [] for o in PRODUCTS}  # elements side by side
    in_rows: list[tuple[str, str, Point]] = []
    colour_of: dict[int, int] = {}  # its number, by size
    runs: list[Run] = []
    times: list[Time] = []
    others: set[str] = set()
    height, all_named = 4.5, True
    boxes = [p for p in (model.kernels if points is None else points) if p.card == card and p.plain and p.mesh.cube]
    for element in (e for e in ELEMENTS if (e in QUADRATIC) == quadratic):
        for operation in PRODUCTS:
            at: dict[int, list[Point]] = {}
            for p in find(boxes, element=element, operation=operation):
                at.setdefault(p.n_dof, []).append(p)
            some = [p for ps in at.values() for p in by_strategy(ps).values() if p.strategy not in CHOOSES]
            sizes = sorted({p.n_dof for p in some})
            if len(sizes) < 2:
                continue
            rates = [of(p) for p in some]
            runs += dict.fromkeys(p.run for p in some)
            times += rates
            words = f"{ELEMENT[element]}, {OPERATION[operation]}"
            column = element * (name == "throughput" and operation == "jacvec")
            if len(sizes) < LEAST_SIZES:
                for n in sizes:
                    colour_of.setdefault(n, len(colour_of))
                x = linear(label, 1.05 * span(rates, 0.0)[1]) if higher_is_better else decades(label, span(rates, log=True))
                values = [(p.strategy, *nth_style(colour_of[p.n_dof]), t, shifts(len(sizes))[sizes.index(p.n_dof)])
                          for p, t in zip(some, rates)]
                rows[operation].append(dots(words, x, ranked(some), values, column=column))
                in_rows += [(words, count(n), p) for n in sizes for p in some if p.n_dof == n]
                continue
            panel = Panel(words, decades("degrees of freedom", [p.n_dof for p in some], size, 1.4),
                          decades(label, span(rates, log=True)), column=column)
            for strategy in sorted(ranked(some), key=lambda s: s in COLOURED):
                own = sorted(((float(p.n_dof), t, p.run) for p, t in zip(some, rates) if p.strategy == strategy),
                             key=lambda v: v[0])
                add_series(panel, strategy, [(x, t) for x, t, _ in own], runs=[run for *_, run in own])
            others |= {p.strategy for p in some if p.strategy not in COLOURED}
            all_named &= name_lines(panel, some, rates, height, higher_is_better)
            curves.append(panel)
    if not times:
        return None
    if curves:
        said += f" {of_curves}" * bool(of_curves) + lines_said(curves) + grey(others)
        said += " Where one of these is faster than patch and all others, its name stands at the last such size." * (
            bool(others) and higher_is_better)
        said += meanings(named_in_short(curves), SHORT)
    if in_rows:
        said += " Where there are two sizes, each strategy has a row: look which is the farthest " \
            f"{'right' if higher_is_better else 'left'} at a size. {rests_on(in_rows)}".rstrip()
    return figure(f"{name}-{card.key}{'-quadratic' * quadratic}",
                  f"{title} over size, {'quadratic elements, ' * quadratic}{card.words}",
                  f"{title} of one call on boxes over their size, {card.words}, all points plastic, in {samples}. {said} "
                  f"{kind_of(times)}; {where(runs)}.", [*curves, *itertools.chain(*rows.values())], runs, columns=3,
                  height=height, left=1.0, right=beside(curves) if all_named else RIGHT,
                  legend=coloured_in(curves) * (not all_named) +
                  numbered([f"{count(n)} degrees of freedom" for n in colour_of], "further sizes"))


def lines_said(panels: Sequence[Panel]) -> str:
    """What lines of panels over the size join."""
    of_two = any(colour != GREY and line[0][0] < line[-1][0] for panel in panels for line, colour in panel.thin)
    if not any(panel.lines for panel in panels):
        return " Lines join sizes of two runs." if of_two else ""
    return f" Lines join sizes of one run{', thin ones those of two runs' * of_two}."


AT_END = 0.1  # of an axis: series that end as near to the last point are named there
INSIDE = 3.3  # cm: that a panel is wide at least, without what stands at its sides


def name_lines(panel: Panel, some: Sequence[Point], rates: Sequence[Time], height: float, grey_winners: bool) -> bool:
    """Short names at the ends of coloured series; whether there are any: all series must end at the largest sizes. And
    where the fastest strategies of neighbouring sizes have no colour, their names at the last one, or at an end."""
    at: dict[int, list[tuple[Point, Time]]] = {}
    ends: dict[str, tuple[float, float]] = {}
    for p, t in sorted(zip(some, rates), key=lambda pair: pair[0].n_dof):
        ends[p.strategy] = float(p.n_dof), t.value
        if p.strategy not in NOT_A_STRATEGY:
            at.setdefault(p.n_dof, []).append((p, t))
    least = panel.x.share(max(at, default=1)) - AT_END
    named = all(panel.x.share(x) >= least for s, (x, _) in ends.items() if s in COLOURED)
    last = ""
    names: list[str] = []
    first = [min(of_size, key=lambda pair: pair[0].time.value) for of_size in at.values()
             if any(p.strategy == MAIN[0] for p, _ in of_size)] if grey_winners else []
    curve = [(float(p.n_dof), t.value) for p, t in first]
    for i, (p, t) in enumerate(first):
        if p.strategy in COLOURED:
            names = []
            continue
        names = list(dict.fromkeys([*names, SHORT[p.strategy]]))
        if named and panel.x.share(p.n_dof) >= least:
            last = p.strategy
        elif i + 1 == len(first) or first[i + 1][0].strategy in COLOURED:
            panel.words.append(above(panel, curve, i, ", ".join(names)))
    if named:
        add_names(panel, ends, height, last)
    return named


def above(panel: Panel, curve: Sequence[tuple[float, float]], i: int, text: str) -> tuple[float, float, str, int, str]:
    """Words at the upper left of a point of a curve, above all of it that they pass; right of it where the panel
    ends there."""
    line = [(panel.x.share(x), panel.y.share(y)) for x, y in curve]
    end, height = line[i]
    gap, long = LETTER / INSIDE, LETTER * len(text) / INSIDE
    right = max(end - gap, long + 0.01)  # where words end
    passed = [height]
    for (x, y), (to, up) in itertools.pairwise(line):
        first, last = max(x, right - long - gap), min(to, right + gap)
        passed += [y + (at - x) / (to - x) * (up - y) for at in (first, last) if first <= last]
    highest = max(passed) + 0.03
    if highest > 0.95:
        return panel.x.at(end + gap), panel.y.at(height), text, INK, "left"
    return panel.x.at(right), panel.y.at(highest), text, INK, "right"


def clusters(sizes: Iterable[int]) -> dict[int, int]:
    """Of each size the least one that is nearly as large: sizes of two elements on one kind of mesh differ a little."""
    found: dict[int, int] = {}
    first = 0
    for n in sorted(set(sizes)):
        first = first if first and n <= ALIKE * first else n
        found[n] = first
    return found


Won = dict[tuple[str, str, str, int], tuple[Place, Winner]]  # by element, operation, kind of mesh, size of the column
Columns = Sequence[tuple[str, int]]
MAP_LEFT, MAP_ROW = 2.25, 0.78  # cm: names of lines, and height of one
CELL, LEAST_CELL = 1.25, 1.0    # cm: width of a cell, at most and, in the form for one column, at least
LETTERS = 6                     # in a cell: one of a map of a page can be 0.88 cm wide, which holds no more


class InCell(Words):
    """Short names with so many letters; what has none is cut: scatter_sum is sc.sum, and mine_two mi.two."""

    def __missing__(self, name: str) -> str:
        words = super().__missing__(name)
        first, *others = words.split()
        last = others[-1][:LETTERS - 2] if others else ""
        return words if len(words) <= LETTERS else f"{first[:LETTERS - 1 - len(last)]}.{last}"


IN_CELL = InCell(SHORT | {"patch_ordered": "ord.", "element_atomic": "atomic", "element_color": "colour",
                          "two_phase": "stress"})


def is_level(best: Winner) -> bool:
    """Of patch and its reproducible form."""
    return {p.strategy for p in best.fastest} == FORMS and not best.missed


def named_in(best: Winner) -> list[str]:
    """Strategies that a cell names."""
    if best.decided or is_level(best):
        return [p.strategy for p in best.fastest]
    return ([p.strategy for p in best.fastest] + list(best.missed))[:2]


def size_lines(least: int, most: int) -> list[str]:
    """Of the meshes of a column, from bottom to top: 6.44 M; where two elements differ, the ends of the range in two
    lines, 4.88– above 5.06 M, which say their unit once where it is the same."""
    low, high = count(least), count(most)
    if low == high:
        return [high.replace(" ", "\u00a0")]
    number, _, unit = low.partition(" ")
    first = number if unit == high.partition(" ")[2] else low
    return [line.replace(" ", "\u00a0") for line in (high, f"{first}–")]


def map_of(won: Won, columns: Columns, lines: Sequence[tuple[str, str]], width: float) -> tuple[Panel, Inner]:
    """The cells of these columns and lines on so many cm, and where they are."""
    cell = min(CELL, (width - MAP_LEFT - 0.1) / len(columns))
    x = Axis("", -0.5, len(columns) - 0.5, ())
    y = Axis("", len(lines) - 0.5, -0.5, ())
    panel = Panel("", x, y, frame=0)
    for i, (e, o) in enumerate(lines):
        panel.words.append((-0.5 - 0.12 / cell, i - 0.18, ELEMENT[e], INK, "right"))
        panel.words.append((-0.5 - 0.12 / cell, i + 0.2, OPERATION[o], INK, "right"))
    taken = -1.0  # up to where names of kinds of meshes are, in their line
    for j, c in enumerate(columns):
        sizes = [place[4] for key, (place, _) in won.items() if key[2:] == c]
        for k, words in enumerate(size_lines(min(sizes), max(sizes))):
            panel.words.append((j, -0.68 - 0.36 * k, words, INK, "center"))
        if j == 0 or columns[j - 1][0] != c[0]:
            kind = re.sub(r" box( |$).*", "", c[0])
            is_above = j - 0.45 < taken  # the name before it is longer than its columns
            panel.words.append((j - 0.45, -1.45 - 0.36 * is_above, kind, INK, "left"))
            taken = taken if is_above else j - 0.45 + LETTER * (len(kind) + 0.6) / cell
            if j:
                panel.thin.append(([(j - 0.5, -1.65), (j - 0.5, len(lines) - 0.5)], INK))
    for (e, o, mesh, n), (_, best) in won.items():
        if (mesh, n) not in columns:
            continue
        i, j = lines.index((e, o)), columns.index((mesh, n))
        box = (j - 0.47, j + 0.47, i - 0.45, i + 0.45)
        first = best.fastest[0].strategy
        if best.decided or is_level(best):
            first = first if best.decided else "patch"
            colour = style_of(first)[0]
            panel.rectangles.append((*box, colour))
            ink = 0xFFFFFF if luminance(colour) < 0.42 else 0x000000
            panel.words.append((j, i - 0.18, IN_CELL[first], ink, "center"))
            partly = best.lacks or best.of < COLOURS
            below = digits(best.gain.value) if best.decided and best.gain else "ord."
            panel.words.append((j, i + 0.2, f"({below})" if partly else below, ink, "center"))
        else:
            panel.rectangles.append((*box, PALE))
            panel.words.append((j, i - 0.18, IN_CELL[first], INK, "center"))
            others = [p.strategy for p in best.fastest[1:]] + list(best.missed)
            second = IN_CELL[others[0]]
            panel.words.append((j, i + 0.2, second if len(others) == 1 else f"+ {len(others)}", INK, "center"))
    return panel, (MAP_LEFT, MAP_LEFT + cell * len(columns), 1.3, 1.3 + MAP_ROW * len(lines))


def map_caption(card: Card, best_of: Sequence[Winner]) -> str:
    """Of a map of these cells."""
    decided = sum(b.decided for b in best_of)
    whole = sum(b.decided and not b.lacks for b in best_of)
    fewest, most = min(b.of for b in best_of), max(b.of for b in best_of)
    shown = {s for best in best_of for s in named_in(best)}
    is_grey = any(b.decided and b.fastest[0].strategy not in COLOURED for b in best_of)
    several = f"{fewest} to {most}" if fewest < most else most
    main = ", ".join(f"“{IN_CELL[s]}”" for s in MAIN)
    won = f"{decided} of {len(best_of)} cells are decided, {whole} of them among all main strategies" if decided else \
        "No cell is decided"
    return (f"The fastest strategy at each mesh, size and operation, {card.words}, in {IN_TURNS}. In a cell with a "
            f"number one strategy is faster than all others: {FASTER}; the number is the factor by which the next "
            f"one is slower{', and dark grey is a strategy without a colour of its own' * is_grey}. With “ord.” instead, "
            "patch and its reproducible form are not told apart, and are faster than all others. Brackets: "
            f"fewer than {COLOURS} strategies were compared, or not all main ones ({main}, the last one of products "
            "alone): one that is missing may be faster. In a pale cell those named, with as many others as stand "
            f"behind +, are not told apart. {several} strategies were compared in a cell. {won}. {processes_of(best_of)}."
            f"{meanings({*shown, *MAIN}, IN_CELL)} “{STRATEGY['hybrid']}” is left out, because it is one of four others; "
            f"{where(b.run for b in best_of)}.")


def winners_map(model: Model, card: Card) -> Figure | None:
    """Who is the fastest at each place; pale: several are not told apart."""
    won: Won = {}
    there = {place: best for place, best in winners(model).items()
             if place[0] == card and best.of > 2 and (best.fastest[0].mesh.cube or best.fastest[0].mesh.words != "box")}
    alike = {mesh: clusters(p[4] for p in there if p[3] == mesh) for mesh in {p[3] for p in there}}
    for place, best in there.items():
        key = (place[1], place[2], place[3], alike[place[3]][place[4]])
        if key not in won or best.of > won[key][1].of:
            won[key] = (place, best)
    if len(won) < 4:
        return None
    columns = sorted({key[2:] for key in won}, key=lambda c: (c[0] != "box", c[0], c[1]))
    lines = [(e, o) for e in ELEMENTS for o in ("jacvec", "jacvec_elastic", "jacvec_full", "residual", "diagonal")
             if any(key[:2] == (e, o) for key in won)]

    def of_width(name: str, some: Columns, width: float) -> Figure:
        panel, place = map_of(won, some, lines, width)
        best_of = [best for key, (_, best) in won.items() if key[2:] in some]
        return finished(name, f"The fastest strategy, {card.words}", map_caption(card, best_of), [panel], [place], width,
                        place[3] + 0.1, [b.run for b in best_of])

    fit = int((NARROW - MAP_LEFT - 0.1) / LEAST_CELL)
    if len(columns) <= fit:
        return of_width(f"winners-{card.key}", columns, NARROW)
    fullest = sorted(columns, key=lambda c: (-sum(key[2:] == c for key in won), -c[1]))[:fit]
    return with_narrow(of_width(f"winners-{card.key}", columns, WIDE),
                       of_width(f"winners-{card.key}-narrow", [c for c in columns if c in fullest], NARROW))


def processes_of(best: Sequence[Winner]) -> str:
    """How many of these cells rest on so many processes."""
    several = sum(min(p.time.processes for p in b.fastest) >= LEAST_PROCESSES for b in best)
    if several in (0, len(best)):
        return f"All are of {LEAST_PROCESSES} processes or more" if several else f"All are of fewer than {LEAST_PROCESSES} processes"
    return f"{several} are of {LEAST_PROCESSES} processes or more, the others of fewer"


def largest_boxes(model: Model, card: Card, wanted: Callable[[list[Point]], bool]) -> dict[str, list[list[Point]]]:
    """Of each element: points at the largest box where a run has what is wanted, those of each such run together; the run
    that speaks first."""
    found = {}
    for element in ("hex8", "tet4"):
        by: dict[int, list[Point]] = {}
        for p in model.kernels:
            if p.card == card and p.plain and p.mesh.cube and p.element == element and p.n_dof >= LEAST_DOF:
                by.setdefault(p.n_dof, []).append(p)
        for n in sorted(by, reverse=True):
            if some := [ps for ps in by_run(by[n]) if wanted(ps)]:
                found[element] = some
                break
    return found


ROOFLINE = 6.8  # cm: that a panel is wide at least
LEVELS = (0.105, 0.05, 0.16)  # heights of words, from the last column on: no word crosses the line of another column


def sides(columns: Sequence[float]) -> list[str]:
    """Where words of columns are: of two near ones at their sides, else below."""
    found = []
    for k, i in enumerate(columns):
        near = k + 1 < len(columns) and columns[k + 1] < APART * i
        found.append("right" if near else "left" if k and i < APART * columns[k - 1] else "center")
    return found


def roofline(model: Model, card: Card) -> Figure | None:
    """Counted flop over modelled bytes, below the measured ceilings of memory and arithmetic."""
    panels, runs, times = [], [], []
    shown: set[str] = set()
    prefix = card.backend
    found = largest_boxes(model, card, lambda ps: ps[0].run.told(f"{prefix}_copy_gb_per_s") not in ("", "0") and
                          any(p.flop and p.bytes_moved for p in ps))
    height = 5.2
    for element, of_runs in found.items():
        of_operation: dict[str, list[Point]] = {}
        for p in itertools.chain(*of_runs):
            of_operation.setdefault(p.operation, []).append(p)
        some = [p for ps in of_operation.values() for p in by_strategy(ps).values()]
        (run, _), = collections.Counter(p.run for p in some if p.run.told(f"{prefix}_copy_gb_per_s")).most_common(1)
        memory, peak = (1e-3 * float(run.told(f"{prefix}_{key}")) for key in ("copy_gb_per_s", "fma_gflop_per_s"))
        drawn = [p for p in some if p.flop and p.bytes_moved and p.strategy not in MATRIX + CHOOSES + NOT_A_STRATEGY
                 and p.operation in OPERATION and p.operation != "material"]
        if not drawn:
            continue
        rates = [p.time.rate(p.flop * 1e-12) for p in drawn]
        intensity = [p.flop / p.bytes_moved for p in drawn]
        by_operation = {p.operation: i for p, i in zip(drawn, intensity)}
        of_columns = sorted(by_operation.items(), key=lambda o: o[1])
        at_sides = sides([i for _, i in of_columns])
        (operation, least), most = of_columns[0], max(max(intensity) * 2.8, peak / memory)
        room = LETTER * (len(OPERATION[operation]) + 1) / ROOFLINE * (1.0 if at_sides[0] == "right" else 0.5)
        x = decades("counted flop / modelled byte", [least * (least / most) ** (room / (1 - room)), most], grow=1.0)
        low, high = span(rates, log=True)
        y = decades("10¹² flop/s", [low / 3.2, high, peak * 1.4])
        panel = Panel(f"{ELEMENT[element]}, {count(drawn[0].n_dof)} degrees of freedom", x, y, column=element)
        knee = peak / memory
        panel.lines.append(([(max(x.low, y.low / memory), max(x.low, y.low / memory) * memory), (knee, peak),
                             (x.high, peak)], INK))
        panel.words.append((x.high, peak * 1.25, f"{digits(peak)} · 10¹² flop/s", INK, "right"))
        steep = max(x.low, y.low / memory) * 1.15
        panel.words.append((steep * 0.9, min(steep * memory * 3, peak * 1.25), f"{digits(memory)} TB/s", INK, "left"))
        for p, t, i in sorted(zip(drawn, rates, intensity), key=lambda v: v[0].strategy in COLOURED):
            colour, shape = style_of(p.strategy)
            if t.high > t.low:
                panel.thin.append(([(i, t.low), (i, t.high)], colour))
            panel.mark(i, t.value, colour, shape, t.noisy)
        for k, ((operation, i), at) in enumerate(zip(of_columns, at_sides)):  # a line down from each column
            up = y.at(LEVELS[(len(of_columns) - 1 - k) % 3])
            panel.thin.append(([(i, up if at != "center" else y.at(0.2)), (i, max(t.value for p, t in zip(drawn, rates)
                                                                             if p.operation == operation))], GREY))
            panel.words.append((i * {"right": 0.97, "left": 1.03}.get(at, 1.0), up, OPERATION[operation], INK, at))
        panels.append(panel)
        runs += [run, *dict.fromkeys(p.run for p in drawn)]
        times += rates
        shown |= {p.strategy for p in drawn}
    return figure(f"roofline-{card.key}", f"Share of the ceiling, {card.words}",
                  f"Arithmetic that counts against the measured ceilings of memory and multiply-adds, {card.words}. "
                  "The distance to the line is what a strategy loses by moving or computing more than once, or by "
                  f"waiting.{' Grey: other strategies.' * any(style_of(s)[0] == GREY for s in shown)} {kind_of(times)}; "
                  f"{where(runs)}.", panels, runs, columns=2, height=height, left=1.45,
                  legend=coloured_in(panels))


def break_even(model: Model, card: Card) -> Figure | None:
    """One material update (which assembles) and n products, with and without set-up, over the same with the matrix."""
    panels, runs = [], []
    height = 3.8
    found = largest_boxes(model, card, lambda ps: all(one(ps, strategy=s, operation=o) for s, o in (
        ("assembled_bsr", "material"), ("assembled_bsr", "jacvec"), ("patch", "jacvec"))))
    ns = [10 ** (i / 8) for i in range(0, 33)]
    for set_up in (True, False):
        for element, (some, *_) in found.items():
            parts: dict[str, tuple[float, float]] = {}
            for strategy in ranked(some):
                material, product = (one(some, strategy=strategy, operation=o) for o in ("material", "jacvec"))
                if material and product:
                    parts[strategy] = ((product.set_up or 0.0 if set_up else 0.0) + material.time.value, product.time.value)
            matrix = min((s for s in BLOCKS if s in parts), key=lambda s: parts[s][1])
            fixed, each = parts[matrix]
            curves = {s: [(n, (own[0] + n * own[1]) / (fixed + n * each)) for n in ns] for s, own in parts.items()
                      if s not in MATRIX + CHOOSES + NOT_A_STRATEGY}
            if not curves:
                continue
            values = [v for c in curves.values() for _, v in c]
            panel = Panel(
                f"{ELEMENT[element]}, {count(some[0].n_dof)}, over {SHORT[matrix]}, {'with set-up' if set_up else 'no set-up'}",
                decades("tangent products n", ns, size, 1.0), decades("time / time with the matrix", values + [1.0]),
                column=element * set_up)
            panel.dashed.append(([(ns[0], 1.0), (ns[-1], 1.0)], INK))
            for strategy, curve in sorted(curves.items(), key=lambda c: c[0] in COLOURED):
                (panel.lines if strategy in COLOURED else panel.thin).append((curve, style_of(strategy)[0]))
            add_names(panel, {s: c[-1] for s, c in curves.items()}, height)
            panels.append(panel)
            runs.append(some[0].run)
    return figure(f"break-even-{card.key}", f"Break-even with the assembled matrix, {card.words}",
                  "One material update and n tangent products, over the same with the assembled matrix, which its material "
                  "update assembles, with or without the set-up of the mesh, as titles say. Of "
                  f"{' and '.join(f'“{SHORT[s]}”, {STRATEGY[s]},' for s in BLOCKS)} titles name the one with the faster "
                  "product of those that the run has, "
                  f"{card.words}. Below the dashed line the matrix loses. Computed from medians of one run, set-up "
                  f"measured once{'; grey: other strategies' * any(panel.thin for panel in panels)}."
                  f"{meanings((s for s in named_in_short(panels) if s not in BLOCKS), SHORT)} {where(runs).capitalize()}.",
                  panels, runs, columns=2, height=height, left=1.4, right=beside(panels))
