"""Figures of studies: Anderson acceleration, bases of GMRES, shares of plastic elements, the state of a part, shares of
nodes in contact, short samples compared with operations that do not pause, and how samples are distributed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from report import rows
from report.captions import IN_TURNS, grey, kind_of, meanings, rests_on, where
from report.contact import contact
from report.model import Card, Model, Point, Run, Time
from report.panels import (CATEGORY, COLOURED, COLOURS, INK, PALETTE, SHAPES, SHORT, Axis, Figure, Panel, add_names,
                           add_series, add_words, beside, decades, dots, figure, linear, named_in_short, nth_style,
                           numbered, power, shifts, span, style_of, unit_of)
from report.places import ranked
from report.selection import by_strategy
from report.text import count, digits
from report.words import CHOOSES, ELEMENT, OPERATION, PART, PATTERNS, SHARES_ALIKE, in_order

JACOBIAN = {"tangent": "consistent tangent", "elastic": "elastic, frozen"}
CONDITIONS = {"burst": "in turns", "sustained": "without pause", "cold": "cold cache"}
ACCEPTED = 1e-9  # of the residual, where an iteration ends
ROUNDING = 6e-8  # of floats
STRIP = 0.16     # cm: height of the samples of a process


def study(model: Model, kind: str) -> list[tuple[Run, Sequence[rows.Row]]]:
    return [(run, some) for (run, k), some in model.studies.items() if k == kind and some]


def in_runs(runs: Sequence[Run], run: Run) -> str:
    """A word for the name of a figure where several runs have it."""
    return "" if len(runs) == 1 else f"-{run.machine}-{run.commit[:7]}"


def exponents(label: str, low: int, high: int, step: int) -> Axis:
    """Powers of ten."""
    ticks = tuple((power(e), 10.0**e) for e in range(low, high + 1) if e % step == 0)
    return Axis(label, 10.0**low, 10.0**high, ticks, True)


def anderson(model: Model) -> list[Figure | None]:
    """Iterations over the depth of the acceleration."""
    of = study(model, "anderson.csv")
    found = []
    for run, some in of:
        panels = []
        height = 3.4
        for element in dict.fromkeys(row["element"] for row in some):
            converged = [row for row in some if row["element"] == element and row["status"] == "converged"]
            if len({row["depth"] for row in converged}) < 2:
                continue
            deepest = max(row["depth"] for row in converged)
            panel = Panel(ELEMENT[element],
                          linear("depth of the acceleration (0: without)", 1.02 * deepest, -0.03 * deepest),
                          decades("Newton iterations of all steps", [row["newton"] for row in converged], grow=1.5))
            ends = []
            for i, jacobian in enumerate(JACOBIAN):
                line = sorted((float(row["depth"]), float(row["newton"])) for row in converged
                              if row["jacobian"] == jacobian)
                panel.lines.append((line, PALETTE[i]))
                panel.points += [(x, y, PALETTE[i], SHAPES[i]) for x, y in line]
                if line:
                    ends.append((JACOBIAN[jacobian], *line[-1], PALETTE[i]))
            add_words(panel, ends, height)
            panels.append(panel)
        found.append(figure(
            f"anderson-iterations{in_runs([r for r, _ in of], run)}", "Anderson acceleration",
            f"Newton iterations of all {some[0]['steps']} load steps of the perforated strip over the depth of "
            "Anderson acceleration, with the consistent tangent and with the elastic Jacobian. Falling lines gain, "
            f"rising ones lose; counts, not times. {where([run]).capitalize()}.", panels, [run], columns=2, height=height,
            left=1.4, right=2.75))
    return found


def anderson_history(model: Model) -> list[Figure | None]:
    """Residuals of one load step, a panel for each element and Jacobian."""
    of = study(model, "anderson-history.csv")
    found = []
    for run, some in of:
        panels = []
        height = 3.6
        for element, jacobian in itertools.product(dict.fromkeys(row["element"] for row in some), JACOBIAN):
            there = [row for row in some if (row["element"], row["jacobian"]) == (element, jacobian)]
            depths = sorted({row["depth"] for row in there})[:COLOURS]
            if not depths:
                continue
            last = max(row["iteration"] for row in there)
            far = last > 60
            ticks = tuple((str(n), float(n)) for n in (1, 3, 10, 30, 100, 300, 1000) if n <= last)
            x = Axis("iteration", 1.0, float(last), ticks, True) if far else linear("iteration", 1.02 * last)
            panel = Panel(f"{ELEMENT[element]}, {JACOBIAN[jacobian]}", x,
                          exponents("residual / largest force", -13, 1, 3))
            panel.dashed.append(([(x.low, ACCEPTED), (x.high, ACCEPTED)], INK))
            ends = []
            for i, depth in enumerate(depths):
                line = sorted((float(row["iteration"]), row["residual"]) for row in there
                              if row["depth"] == depth and row["residual"] > 0 and row["iteration"] >= x.low)
                if not line:
                    continue
                panel.lines.append((line, PALETTE[i]))
                if not far:
                    panel.points += [(n, r, PALETTE[i], SHAPES[i]) for n, r in line]
                ends.append((line[-1][0], depth, PALETTE[i]))
            for i, (at, depth, colour) in enumerate(sorted(ends)):  # in two lines, since ends may be near each other
                panel.words.append((at, 10.0 ** (-11.3 if i % 2 else -12.4), str(depth), colour, "center"))
            panels.append(panel)
        found.append(figure(
            f"anderson-history{in_runs([r for r, _ in of], run)}", "Residuals with Anderson acceleration",
            f"Residual over the iterations of load step {some[0]['step']} of the perforated strip, by the depth of "
            f"Anderson acceleration, which stands below the end of each line (0: without). Dashed: the step "
            f"ends. {where([run]).capitalize()}.", panels, [run], columns=2, height=height,
            left=1.35, right=0.3))
    return found


BASES = [(way, basis) for basis in ("double", "single") for way in ("mgs", "cgs2", "dcgs2")]
WAY = {"mgs": "modified", "cgs2": "classical twice", "dcgs2": "classical, delayed"}


def orthogonality(model: Model) -> list[Figure | None]:
    """Loss of orthogonality over the columns of GMRES's basis."""
    of = study(model, "orthogonality.csv")
    found = []
    for run, some in of:
        panels = []
        height = 4.6
        for precondition, title in (("multigrid", "well-conditioned: with multigrid"),
                                    ("none", "ill-conditioned: without")):
            there = [row for row in some if row["precondition"] == precondition and (row["loss"] or 0) > 0]
            if not there:
                continue
            panel = Panel(title, linear("columns of the basis", 1.02 * max(row["columns"] for row in there)),
                          exponents("|I − VᵀV|", -16, 1, 4))
            panel.dashed.append(([(panel.x.low, ROUNDING), (panel.x.high, ROUNDING)], INK))
            ends = []
            for i, (way, basis) in enumerate(BASES):
                line = sorted((float(row["columns"]), row["loss"]) for row in there
                              if (row["orthogonalization"], row["basis"]) == (way, basis))
                if not line:
                    continue
                panel.lines.append((line, PALETTE[i]))
                panel.points += [(x, y, PALETTE[i], SHAPES[i]) for x, y in line]
                ends.append((WAY[way] + (", floats" if basis == "single" else ""), *line[-1], PALETTE[i]))
            add_words(panel, ends, height)
            panels.append(panel)
        found.append(figure(
            f"orthogonality{in_runs([r for r, _ in of], run)}", "Orthogonality of GMRES's bases",
            "Loss of orthogonality (Frobenius norm) over the columns of one cycle of GMRES, by Gram-Schmidt's way: "
            "modified, classical twice, and classical with a delayed second pass; bases in doubles and in floats. "
            "Flat lines keep what they have; a line at 1 has lost all. Dashed: rounding of floats. Rounding errors, "
            f"alike on every machine; {where([run])}.", panels, [run], columns=2, height=height, left=1.35, right=3.4))
    return found


def share_at(share: float) -> float:
    """Its place on the axis: 0, 1 %, 10 % and 100 % stand apart."""
    return math.log10(1 + 100 * share)


def plastic(model: Model, card: Card) -> Figure | None:
    """Time of tangent products over the share of plastic elements, a panel for each element and pattern."""
    panels, runs, times, others = [], [], [], set()
    height = 3.4
    boxes = [p for p in model.kernels if p.card == card and p.mesh.cube and p.operation == "jacvec"
             and (p.order, p.precision, p.hardening) == ("auto", "double", "linear") and p.strategy not in CHOOSES]
    axis = Axis("plastic elements, %", -0.05, share_at(1.0) * 1.02,
                tuple((f"{100 * s:g}", share_at(s)) for s in (0.0, 0.01, 0.1, 0.3, 1.0)))
    for element, (pattern, words) in itertools.product(("hex8", "tet4"), PATTERNS.items()):
        by: dict[tuple[Run, int], list[Point]] = {}
        for p in boxes:
            if p.element == element and p.plastic_pattern == pattern:
                by.setdefault((p.run, p.n_dof), []).append(p)
        some = max(by.values(), key=lambda ps: (len({p.plastic for p in ps}), len(ps))) if by else []
        if len({p.plastic for p in some}) < 3:
            continue
        scaled = [p.time.times(1e9 / p.n_dof) for p in some]
        panel = Panel(f"{ELEMENT[element]}, {count(some[0].n_dof)}, {words}", axis,
                      decades("ns per degree of freedom", span(scaled, log=True)))
        ends = {}
        for strategy in sorted(ranked(some), key=lambda s: s in COLOURED):
            at = sorted(((share_at(p.plastic if p.plastic_measured is None else p.plastic_measured), t)
                         for p, t in zip(some, scaled) if p.strategy == strategy),
                        key=lambda v: v[0])
            add_series(panel, strategy, at, join=False)
            (panel.lines if strategy in COLOURED else panel.thin).append(([(x, t.value) for x, t in at],
                                                                          style_of(strategy)[0]))
            ends[strategy] = (at[-1][0], at[-1][1].value)
        others |= {s for s in ends if s not in COLOURED}
        add_names(panel, ends, height)
        panels.append(panel)
        runs.append(some[0].run)
        times += scaled
    return figure(f"plastic-{card.key}", f"Shares of plastic elements, {card.words}",
                  f"Time of tangent products over the share of plastic elements, whose tangents are read, "
                  f"{card.words}. Lower is better. Look how steep the curves are, and whether it matters where the "
                  f"plastic elements lie.{grey(others)}{meanings(named_in_short(panels), SHORT)} {kind_of(times)}; {where(runs)}.",
                  panels, runs, columns=3,
                  height=height, left=1.0, right=beside(panels))


def part(model: Model, card: Card) -> Figure | None:
    """Tangent products in the state of a part, and with about as many plastic elements elsewhere on the same mesh."""
    panels, runs, times = [], [], []
    all_ = [p for p in model.kernels if p.card == card and p.operation == "jacvec" and p.strategy not in CHOOSES
            and (p.order, p.precision, p.hardening) == ("auto", "double", "linear")]
    of_part = [p for p in all_ if p.plastic_pattern == PART]
    for element in ("hex8", "tet4"):
        places: dict[tuple, list[Point]] = {}
        for p in of_part:
            if p.element == element:
                places.setdefault((p.run, p.case, p.n_dof, p.plastic), []).append(p)
        best = max(places.items(), key=lambda item: (len(item[1]), item[0][2]), default=None)
        if not best:
            continue
        (run, case, n_dof, share), some = best
        some = some + [p for p in all_ if (p.run, p.case, p.n_dof, p.element) == (run, case, n_dof, element)
                       and p.plastic_pattern != PART and abs(p.plastic - share) <= SHARES_ALIKE]
        kinds = [k for k in (PART, *PATTERNS) if any(p.plastic_pattern == k for p in some)]
        scale, unit = unit_of(card)
        rates = [p.throughput.times(scale) for p in some]
        values = []
        for p, t in zip(some, rates):
            i = (PART, *PATTERNS).index(p.plastic_pattern)
            values.append((p.strategy, PALETTE[i], SHAPES[i], t, shifts(len(kinds))[kinds.index(p.plastic_pattern)]))
        panels.append(dots(f"{ELEMENT[element]}, {count(n_dof)}, {100 * share:g} % plastic",
                           linear(unit, 1.05 * span(rates, 0.0)[1]), ranked(some),
                           values))
        runs.append(run)
        times += rates
    used = {q[2] for panel in panels for q in panel.points}
    legend = [("a part's state", PALETTE[0], SHAPES[0])]
    legend += [(words, PALETTE[i], SHAPES[i]) for i, words in enumerate(PATTERNS.values(), 1) if PALETTE[i] in used]
    elsewhere = len(legend) > 1
    said = f", and with about as many plastic elements in other places of the same mesh, {card.words}. Where the dots of " \
        "a strategy stand apart, it matters where the plastic elements lie." if elsewhere else f", {card.words}."
    return figure(f"part-{card.key}", f"The state of a part{' and shares of plastic elements' * elsewhere}, {card.words}",
                  f"Throughput of tangent products in the bracket at its largest load{said} {kind_of(times)}; "
                  f"{where(runs)}.", panels, runs, columns=2, left=2.95, legend=legend if elsewhere else ())


def conditions(model: Model, card: Card) -> Figure | None:
    """The same operation in short samples in turns, and in other conditions: where some worked without a pause, else where
    most is there. In each condition of the run that speaks, or of the next one that has a strategy
    (selection.by_strategy)."""
    panels, times = [], []
    shown: list[tuple[str, str, Point]] = []
    runs: dict[Run, None] = {}
    all_ = [p for p in model.of("kernels.csv")
            if p.card == card and p.plain and p.operand == "random"]
    for element, operation in itertools.product(("hex8", "tet4"), ("jacvec", "jacvec_elastic", "residual")):
        places: dict[tuple, dict[str, list[Point]]] = {}
        for p in all_:
            if (p.element, p.operation) == (element, operation):
                places.setdefault((p.case, p.n_dof), {}).setdefault(p.condition, []).append(p)
        there = [[p for of in at.values() for p in by_strategy(of).values() if p.strategy not in CHOOSES]
                 for at in places.values() if len(at) > 1]
        best: list[Point] = max(there, key=lambda ps: ("sustained" in {p.condition for p in ps}, len(ps), ps[0].n_dof),
                                default=[])
        several = {p.strategy for p in best if p.condition != "burst"}
        best = [p for p in best if p.strategy in several]
        if not best:
            continue
        kinds = [c for c in CONDITIONS if any(p.condition == c for p in best)]
        scale, unit = unit_of(card)
        rates = [p.throughput.times(scale) for p in best]
        values = []
        for p, t in zip(best, rates):
            i = list(CONDITIONS).index(p.condition)
            values.append((p.strategy, PALETTE[i], SHAPES[i], t, shifts(len(kinds))[kinds.index(p.condition)]))
        title = f"{ELEMENT[element]}, {OPERATION[operation]}, {count(best[0].n_dof)}"
        panels.append(dots(title, linear(unit, 1.05 * span(rates, 0.0)[1]),
                           ranked(best), values))
        shown += [(title, CONDITIONS[c], p) for c in kinds for p in best if p.condition == c]
        runs |= dict.fromkeys(p.run for p in best)
        times += rates
    used = {q[2] for panel in panels for q in panel.points}
    return figure(f"conditions-{card.key}", f"Short samples in turns and operations without a pause, {card.words}",
                  f"Throughput in {IN_TURNS}, and of the same operation by itself for seconds without a pause, "
                  f"or where caches hold none of its data, {card.words}. Where the dots of a strategy stand apart, "
                  f"what a short sample promises is not what a long run gets. "
                  f"{'Dots of different runs also differ as runs do. ' if len(runs) > 1 else ''}{rests_on(shown)}"
                  f"{kind_of(times)}; {where(list(runs))}.", panels, list(runs), columns=2, left=2.95,
                  legend=[(words, PALETTE[i], SHAPES[i]) for i, words in enumerate(CONDITIONS.values())
                          if PALETTE[i] in used])


def headline(model: Model, card: Card, element: str) -> list[Point]:
    """Tangent products at the largest box of a run that kept samples: of the one with most processes."""
    by: dict[tuple[Run, int], list[Point]] = {}
    for p in model.kernels:
        if p.card == card and p.plain and p.mesh.cube and (p.element, p.operation) == (element, "jacvec") \
                and rows.packed(p.run.path / "samples.csv").is_file():
            by.setdefault((p.run, p.n_dof), []).append(p)
    return max(by.values(), key=lambda ps: (max(p.time.processes for p in ps), len(ps), ps[0].n_dof), default=[])


def samples_of(some: Sequence[Point]) -> dict[tuple[str, int], list[float]]:
    """Seconds by strategy and process, in the order in which they were taken."""
    wanted = {name: str(some[0].row[name]) for name in ("element", "case", "operation")}
    points = {rows.point_of(p.row) for p in some}
    found: dict[tuple[str, int], list[tuple[int, float]]] = {}
    for row in rows.read(some[0].run.path / "samples.csv", only=wanted):
        if rows.point_of(row) in points:
            found.setdefault((row["variant"], row["process"]), []).append((row["sample"], row["seconds"]))
    return {key: [seconds for _, seconds in sorted(values)] for key, values in found.items()}


def longest(shares: Iterable[float]) -> float:
    """That is shown: half as far again from 1 as 98 of 100 are, so that a few do not press all others together."""
    there = sorted(shares)
    return max(1.0, 1 + 1.5 * (there[math.ceil(0.98 * len(there)) - 1] - 1))


def samples(model: Model, card: Card) -> Figure | None:
    """One dot a sample, by process."""
    panels, runs = [], []
    beyond: list[float] = []
    most = 0
    for element in ("hex8", "tet4"):
        some = headline(model, card, element)
        times = samples_of(some) if some else {}
        if len(times) < 2:
            continue
        categories = in_order(s for s, _ in times)
        numbers = sorted({n for _, n in times})
        most = max(most, len(numbers))
        values: list[tuple[str, int, int, Time, float]] = []
        for (strategy, n), seconds in times.items():
            middle = next(p for p in some if p.strategy == strategy).time.value
            place = numbers.index(n)
            for i, t in enumerate(seconds):
                # each process has a strip, and the first sample is the highest in it
                down = (place + (i + 0.5) / len(seconds)) / len(numbers) - 0.5
                share = t / middle
                values.append((strategy, *nth_style(place), Time(share, share, share, 1, 1), 0.8 * down))
        limit = longest(v[3].value for v in values)
        beyond += [v[3].value for v in values if v[3].value > limit]
        values = [v for v in values if v[3].value <= limit]
        low, high = min(v[3].value for v in values), max(v[3].value for v in values)
        panels.append(dots(f"{ELEMENT[element]}, {count(some[0].n_dof)}",
                           linear("sample / median of the strategy", high + 0.03 * (high - low),
                                  low - 0.03 * (high - low)), categories, values, 1.0))
        runs.append(some[0].run)
    legend = numbered([f"process {i + 1}" for i in range(most)], "further processes") if most > 1 else []
    return figure(f"samples-{card.key}", f"Samples of tangent products, {card.words}",
                  f"Each sample of tangent products at the largest box of the run with most processes, over the value that tables show, {card.words}; "
                  "from top to bottom in the order in which they were taken. What scatters sideways is noise, what "
                  "leans drifts, and where processes stand apart one of them tells little; "
                  f"{where(runs)}." + (f" Beyond the axis: {len(beyond)}, up to {digits(max(beyond))}." if beyond else ""), panels, runs, columns=2,
                  row=max(CATEGORY, STRIP * most), left=2.95, legend=legend)


def all_studies(model: Model) -> list[Figure]:
    """In the order of the report."""
    found: list[Figure | None] = []
    for make in (plastic, part, contact, conditions, samples):
        found += [make(model, card) for card in model.cards]
    found += anderson(model) + anderson_history(model) + orthogonality(model)
    return [f for f in found if f]
