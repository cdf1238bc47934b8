"""Figures of one thing compared with another: meshes with boxes, floats with doubles, a GPU with its host, reproducible
sums with the fastest; and energy. They return None where there is nothing to show."""

from __future__ import annotations

import math
import re

from report import model as model_
from report.captions import bars, kind_of, meanings, noisy, where
from report.model import Card, Model, Point, Time
from report.panels import (COLOURED, COLOURS, INK, LEAST_SIZES, PALETTE, SHAPES, SHORT, Figure, Panel, add_names,
                           add_series, beside, decades, dots, figure, linear, named_in_short, shifts, size, span, style_of)
from report.places import NEAR, Place, by_place, find, one, ranked
from report.rows import LEAST_PROCESSES
from report.selection import by_run, speaking
from report.text import count, listed
from report.words import CHOOSES, ELEMENT, MATRIX, NOT_A_STRATEGY, OPERATION, PRODUCTS


def named_mesh(p: Point) -> str:
    """irregular mesh; slender box 49×49×784; bracket, finer, refined 2 times."""
    told = re.fullmatch(r"bracket(?:_[a-z0-9]+)?_([a-z]+)(?:-refined(\d+))?(?:-.*)?", p.case)
    if not told:
        return p.mesh.label + " mesh" * (p.mesh.label == "irregular")
    times = f", refined {told[2]} time{'s' * (told[2] != '1')}" if told[2] else ""
    return f"bracket, {told[1]}{times},"


def irregular_over_box(model: Model, card: Card) -> Figure | None:
    """Throughput on meshes that are no cubes over that of the box of nearest size of the same run."""
    kinds = ("irregular", "bracket", "slender box")
    panels, runs, times = [], [], []
    sizes: dict[str, None] = {}  # of meshes and their boxes, in words
    for element in ("hex8", "tet4"):
        near_of: dict[Point, Point] = {}  # the box of each
        for p in model.kernels:
            if (p.card, p.element, p.operation) != (card, element,
                                                    "jacvec") or not p.plain or p.mesh.words not in kinds:
                continue
            boxes = [
                b
                for b in find(model.kernels_of(p.run), strategy=p.strategy, element=element, operation="jacvec")
                if b.plain and b.mesh.words == "box" and b.card == card
            ]
            near = min(boxes, key=lambda b: abs(math.log(b.n_dof / p.n_dof)), default=None)
            if near and abs(math.log(near.n_dof / p.n_dof)) <= math.log(NEAR):
                near_of[p] = near
        pairs: dict[tuple[str, str], tuple[Point, Point]] = {}
        for kind in kinds:
            for some in by_run(p for p in near_of if p.mesh.words == kind):
                for p in sorted(some, key=lambda p: -p.n_dof):
                    pairs.setdefault((p.strategy, kind), (p, near_of[p]))
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
        in_turn = sorted(pairs.items(), key=lambda pair: there.index(pair[0][1]))
        sizes |= dict.fromkeys(f"{ELEMENT[element]}, {named_mesh(p)} of {count(p.n_dof)} over {count(box.n_dof)}"
                               for _, (p, box) in in_turn)
        highest = span((v[3] for v in values), 0.0)[1]
        panels.append(
            dots(ELEMENT[element], linear("throughput / throughput on the box", max(1.1, highest * 1.05)), categories,
                 values, 1.0))
    there = [k for i, k in enumerate(kinds) if any(q[2] == PALETTE[i] for p in panels for q in p.points)]
    return figure(f"irregular-{card.key}", f"Other meshes compared with boxes, {card.words}",
                  f"Tangent products on other meshes: throughput over that on the box of nearest size of the same run, "
                  f"{card.words}: {'; '.join(sizes)} degrees of freedom. "
                  f"Left of the dashed line the mesh costs something. {kind_of(times, ratios=True)}; "
                  f"{where(runs)}.",
                  panels, runs, columns=2, left=2.95,
                  legend=[(k, PALETTE[kinds.index(k)], SHAPES[kinds.index(k)]) for k in there])


def precision(model: Model, card: Card) -> Figure | None:
    """Throughput in floats over that in doubles of the same run."""
    kinds = (("mixed", "floats, sums in doubles"), ("single", "all floats"))
    panels, runs, times = [], [], []
    of_matrices: list[Time] = []
    for element in ("hex8", "tet4"):
        for operation in ("jacvec", "jacvec_elastic"):
            pairs = []
            some = [p for p in model.kernels if p.card == card and p.element == element and p.operation == operation
                    and p.mesh.cube and p.plastic == 1 and p.order == "auto" and p.hardening == "linear"]
            sizes = {p.n_dof for p in some if p.precision != "double"}
            floats = speaking(p for p in some if p.precision != "double" and p.n_dof == max(sizes, default=0))
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
                of_matrices += [r] * (p.strategy in MATRIX)
            panels.append(
                dots(f"{ELEMENT[element]}, {OPERATION[operation]}, {count(pairs[0][0].n_dof)}",
                     linear("throughput / throughput in doubles", max(1.1, 1.05 * span((v[3] for v in values), 0.0)[1])),
                     categories, values, 1.0))
    there = [i for i in range(2) if any(q[2] == PALETTE[i] for p in panels for q in p.points)]
    gain = "; matrices gain because their bytes halve" * (bool(of_matrices) and all(r.low > 1.0 for r in of_matrices))
    return figure(f"precision-{card.key}", f"Floats compared with doubles, {card.words}",
                  f"Throughput in floats over that in doubles of the same run, {card.words}, all points plastic. "
                  f"Right of the dashed line floats are faster{gain}. {kind_of(times, ratios=True)}; "
                  f"{where(runs)}.", panels, runs, columns=2, left=2.95,
                  legend=[(kinds[i][1], PALETTE[i], SHAPES[i]) for i in there])


def energy(model: Model, card: Card) -> Figure | None:
    """On the box where most strategies were measured, of equals the largest. Readings up to schema 6 have no range."""
    at: dict[int, list[Point]] = {}
    for p in model.kernels:
        if p.card == card and p.plain and p.energy and p.mesh.cube:
            at.setdefault(p.n_dof, []).append(p)
    told = [speaking(some) for some in at.values()]
    some = max(told, key=lambda ps: (len({p.strategy for p in ps}), ps[0].n_dof)) if told else []
    panels: list[Panel] = []
    times: list[Time] = []
    for element in ("hex8", "tet4"):
        for operation in ("jacvec", "jacvec_elastic"):
            there = [p for p in find(some, element=element, operation=operation) if p.strategy not in CHOOSES]
            if len(there) < 2:
                continue
            values = [(p.strategy, *style_of(p.strategy), t, 0.0) for p in there if (t := p.energy)]
            times += [t for *_, t, _ in values]
            panels.append(
                dots(f"{ELEMENT[element]}, {OPERATION[operation]}, {count(there[0].n_dof)}",
                     linear("nJ per degree of freedom", 1.08 * span((t for *_, t, _ in values), 0.0)[1]), ranked(there),
                     values))
    several = any(not t.one_process for t in times)
    means = f"Means of {listed(sorted({t.kind for t in times}))}; bars" if several else "Bars"
    windows = f"{means}: the range of six windows of {'each' if several else 'one process'}"
    said = bars(times) if times and all(t.processes >= LEAST_PROCESSES for t in times) else \
        windows if all(p.nj_low for p in some) else \
        "One reading of some seconds each; bars, where there are some: the range of six windows"
    return figure(f"energy-{card.key}", f"Energy of products, {card.words}",
                  f"Energy of the whole card per degree of freedom of a product, {card.words}. Left is better. {said}{noisy(times)}; "
                  f"{where(p.run for p in some)}.", panels, [p.run for p in some], columns=2,
                  left=2.95)


Pairs = list[tuple[Point, Time]]


def over_host_of(model: Model, card: Card, element: str, operation: str) -> Pairs:
    """Points of a GPU with their throughput over that of its host, of the run that has most."""
    there = [p for p in find(model.kernels, element=element, operation=operation) if p.plain and p.mesh.cube]
    host_of: dict[tuple, Point] = {}  # the first of each run, strategy and box
    for p in find(there, backend="host"):
        host_of.setdefault((p.run, p.strategy, p.case), p)
    found: dict[model_.Run, Pairs] = {}
    for p in find(there, card=card):
        host = host_of.get((p.run, p.strategy, p.case))
        if host and p.strategy not in CHOOSES:
            found.setdefault(p.run, []).append((p, model_.ratio(host, p)))
    return max(found.values(), key=len, default=[])


def over_host_by_size(title: str, pairs: Pairs, height: float) -> Panel:
    panel = Panel(title, decades("degrees of freedom", [p.n_dof for p, _ in pairs], size, 1.4),
                  decades("GPU / host", span((t for _, t in pairs), 1.0, log=True)))
    panel.dashed.append(([(panel.x.low, 1.0), (panel.x.high, 1.0)], INK))
    ends = {}
    for strategy in sorted(ranked(p for p, _ in pairs), key=lambda s: s in COLOURED):
        values = sorted(((float(p.n_dof), t) for p, t in pairs if p.strategy == strategy), key=lambda v: v[0])
        add_series(panel, strategy, values)
        ends[strategy] = (values[-1][0], values[-1][1].value)
    add_names(panel, ends, height)
    return panel


def over_host_at_one_size(title: str, pairs: Pairs) -> Panel:
    return dots(f"{title}, {count(pairs[0][0].n_dof)}",
                decades("GPU / host", span((t for _, t in pairs), 1.0, log=True)), ranked(p for p, _ in pairs),
                [(p.strategy, *style_of(p.strategy), t, 0.0) for p, t in pairs], 1.0)


def over_host(model: Model, card: Card) -> Figure | None:
    """Throughput on a GPU over that on its host, strategy by strategy, of one run: over the size, or, where no run has
    three sizes, at the largest one."""
    height = 3.5
    found = {f"{ELEMENT[e]}, {OPERATION[o]}": over_host_of(model, card, e, o) for e in ("hex8", "tet4") for o in PRODUCTS}
    shown = {title: pairs for title, pairs in found.items() if len({p.n_dof for p, _ in pairs}) >= LEAST_SIZES}
    several = bool(shown)
    if not several:
        largest = {title: max((p.n_dof for p, _ in pairs), default=0) for title, pairs in found.items()}
        shown = {title: [(p, t) for p, t in pairs if p.n_dof == largest[title]] for title, pairs in found.items()}
        shown = {title: pairs for title, pairs in shown.items() if len(pairs) >= COLOURS}
    panels = [over_host_by_size(title, pairs, height) if several else over_host_at_one_size(title, pairs)
              for title, pairs in shown.items()]
    runs = [p.run for pairs in shown.values() for p, _ in pairs]
    hosts = list(dict.fromkeys(p.card.words for p in model.kernels if p.run in runs and p.backend == "host"))
    caption = f"Throughput on one {card.words} over that of the same strategy on its host ({', '.join(hosts)}), on " \
        f"boxes. {'Above' if several else 'Right of'} the dashed line the GPU is faster. Ratios of the same strategy: " \
        f"the fastest one of the host can be another one.{meanings(named_in_short(panels), SHORT)} " \
        f"{kind_of((t for pairs in shown.values() for _, t in pairs), ratios=True)}; {where(runs)}."
    name, title = f"host-{card.key}", f"{card.words} over its host"
    if not several:
        return figure(name, title, caption, panels, runs, columns=2, left=2.95)
    return figure(name, title, caption, panels, runs, columns=2 if len(panels) % 3 else 3, height=height, left=1.0,
                  right=beside(panels))


def reproducible(model: Model) -> Figure | None:
    """What bitwise reproducible sums cost: the fastest such strategy over the fastest, at each place on a box."""
    panels, runs, times = [], [], []
    cards = [c for c in model.cards if c.backend == "cuda"][:COLOURS]
    at: dict[Place, list[Point]] = {}
    for place, points in by_place(p for p in model.kernels if p.strategy not in NOT_A_STRATEGY + CHOOSES).items():
        several = [some for some in by_run(points) if len(some) >= COLOURS]  # fewer lack reproducible ones
        at |= {place: several[0]} if several else {}
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
                          linear("reproducible / fastest", max(1.1, span((t for *_, t in drawn), 0.0)[1] * 1.05)))
            panel.dashed.append(([(panel.x.low, 1.0), (panel.x.high, 1.0)], INK))
            for i, n, t in drawn:
                if t.high > t.low:
                    panel.thin.append(([(n, t.low), (n, t.high)], PALETTE[i]))
                panel.mark(n, t.value, PALETTE[i], SHAPES[i], t.noisy)
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
