"""Speed-up and efficiency on several ranks, and their figure."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping

from report import model as model_
from report import selection
from report.captions import kind_of, where
from report.cases import mesh_of, ranked_case
from report.model import Card, Model, Point, Time
from report.panels import COLOURED, INK, Axis, Figure, Panel, coloured_in, dots, figure, linear, shifts, span, style_of
from report.places import NEAR
from report.text import count, listed
from report.words import ELEMENT, ELEMENTS, in_order


@dataclasses.dataclass(frozen=True)
class Speed:
    """Of a strategy on several ranks over one rank of the same run."""

    kind: str  # strong or weak
    mesh: str
    element: str
    strategy: str
    operation: str  # one of ITERATIONS
    order: str
    ranks: int
    communication: str  # nccl, peer, mpi or threads
    n_dof: int  # of one rank if weak, of all if strong
    gain: Time
    run: model_.Run

    @property
    def efficiency(self) -> Time:
        """1 where ranks cost nothing."""
        return self.gain.times(1 / self.ranks) if self.kind == "strong" else self.gain


# The iterations of GMRES that are compared, the first of these that a run has, and how each makes its basis orthogonal:
# a solve on GPUs records them by default.
ITERATIONS = {"gmres_cgs2_graph": "classical Gram-Schmidt twice, as a CUDA graph",
              "gmres_cgs2": "classical Gram-Schmidt twice", "gmres_mgs": "modified Gram-Schmidt"}


def speeds(model: Model, card_key: tuple[str, str]) -> list[Speed]:
    """card_key: machine and backend. Of the GMRES iteration with classical Gram-Schmidt twice, recorded where it was,
    else modified. Of processes that both numbers of ranks have. Two calls of the program may have measured the same in
    one run (files of their own): the one that selection.rank has first."""
    found: dict[tuple, tuple[selection.Rank, Speed]] = {}
    by_run: dict[model_.Run, list[Point]] = {}
    for p in model.of("scaling.csv"):
        if (p.run.machine, p.backend) == card_key and p.operation.startswith("gmres"):
            by_run.setdefault(p.run, []).append(p)
    for run, some in by_run.items():
        known: dict[tuple[str, str, str], set[str]] = {}
        beside: dict[tuple[str, ...], set[str]] = {}  # strategies of a place and a file
        for p in some:
            known.setdefault((p.case, p.strategy, p.element), set()).add(p.operation)
            beside.setdefault((p.file, p.case, p.element, p.order), set()).add(p.strategy)
        for p in some:
            there = known[p.case, p.strategy, p.element]
            if p.ranks == 1 or p.operation != next((name for name in ITERATIONS if name in there), None):
                continue
            case = ranked_case(p.case)
            def same(q: Point) -> bool:
                other = ranked_case(q.case)
                alike = (other.mesh == case.mesh and q.n_dof == p.n_dof) if case.kind == "strong" else True
                return q.ranks == 1 and other.kind == case.kind and alike and all(
                    getattr(q, name) == getattr(p, name) for name in ("strategy", "element", "operation", "order"))
            alone = min((q for q in some if same(q)), key=lambda q: q.file != p.file, default=None)
            if alone:
                gain = model_.ratio(alone, p)
                words = mesh_of(case.mesh).words
                speed = Speed(case.kind, words, p.element, p.strategy, p.operation, p.order, p.ranks,
                              case.communication, alone.n_dof, gain, run)
                rank = selection.rank(dict.fromkeys(beside[p.file, p.case, p.element, p.order], gain.processes))
                key = (run, p.case, p.element, p.strategy, p.order, p.ranks, p.n_dof)
                if key not in found or rank > found[key][0]:
                    found[key] = rank, speed
    return [speed for _, speed in found.values()]


def forms_said(operations: Iterable[tuple[str, str]]) -> str:
    """How bases are made orthogonal; where that differs, at which of these places. operations: by place."""
    places: dict[str, list[str]] = {}
    for place, operation in operations:
        places.setdefault(ITERATIONS[operation], []).append(place)
    if len(places) < 2:
        return "".join(places)
    return listed(f"{form} ({'; '.join(dict.fromkeys(at))})" for form, at in places.items())


Best = dict[tuple[str, int], Speed]  # of each strategy and number of ranks one value
ROW, PER_STRATEGY = 0.4, 0.045  # cm: height of a row, and at least for each strategy in it


def efficiency_axis(gains: Iterable[Time]) -> Axis:
    low, high = span(gains, 1.0)
    return linear("efficiency", max(1.05, high + 0.02), min(0.8, low - 0.02))


def over_ranks(title: str, ranks_are: str, kind: str, best: Best) -> Panel:
    """Speed-up (strong) or efficiency (weak) over several numbers of ranks."""
    ranks = sorted({r for _, r in best})
    x = Axis(ranks_are, 0.8 * ranks[0], 1.25 * ranks[-1], tuple((str(r), float(r)) for r in ranks), True)
    if kind == "strong":
        high = max(max(s.gain.high for s in best.values()), ranks[-1]) * 1.1
        low = min(min(s.gain.low for s in best.values()) / 1.1, 0.8)
        ticks = tuple((f"{t:g}", t) for t in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0) if low <= t <= high)
        y = Axis("speed-up", low, high, ticks, True)
    else:
        y = efficiency_axis(s.gain for s in best.values())
    panel = Panel(title, x, y)
    for r in ranks:  # level: strategies stand beside each other
        ideal = float(r) if kind == "strong" else 1.0
        panel.dashed.append(([(r / 1.14, ideal), (r * 1.14, ideal)], INK))
    strategies = in_order(s for s, _ in best)
    for (strategy, r), s in best.items():
        colour, shape = style_of(strategy)
        at = r * (1 + 0.2 * ((strategies.index(strategy) + 0.5) / len(strategies) - 0.5))
        if s.gain.high > s.gain.low:
            panel.thin.append(([(at, s.gain.low), (at, s.gain.high)], colour))
        panel.mark(at, s.gain.value, colour, shape, s.gain.noisy)
    return panel


def at_one_number(kind: str, places: Mapping[str, Best]) -> Panel:
    """Efficiency at places that have one number of ranks each: a row for each."""
    values: list[tuple[str, int, int, Time, float]] = []
    for place, best in places.items():
        strategies = in_order(s for s, _ in best)
        shift = dict(zip(strategies, shifts(len(strategies))))
        values += [(place, *style_of(strategy), s.efficiency, 1.6 * shift[strategy])
                   for (strategy, _), s in sorted(best.items(), key=lambda b: b[0][0] in COLOURED)]
    return dots(f"{kind.capitalize()} scaling", efficiency_axis(t for *_, t, _ in values), list(places), values, 1.0, kind)


def scaling(model: Model, machine: tuple[str, str], card: Card) -> Figure | None:
    rank = "GPU" if card.backend == "cuda" else "rank"
    groups: dict[tuple[str, str, int, str], list[Speed]] = {}
    for s in speeds(model, machine):
        groups.setdefault((s.kind, s.mesh, round(math.log(s.n_dof, NEAR)), s.element), []).append(s)
    main = {key[0]: key for key, some in sorted(groups.items(), key=lambda g: (g[0][3] == "hex8", len(g[1])))
            if len({s.ranks for s in some}) > 1}
    curves: list[Panel] = []
    rows: dict[str, dict[str, Best]] = {}  # by kind and name
    drawn: list[tuple[str, Speed]] = []  # with the panel or row
    for key, some in sorted(groups.items(), key=lambda g: (*g[0][:3], (*ELEMENTS, g[0][3]).index(g[0][3]))):
        kind, mesh, _, element = key
        best: Best = {}  # the newest run's, peers if both
        for s in sorted(some, key=lambda s: (model.runs.index(s.run), s.communication != "peer")):
            best.setdefault((s.strategy, s.ranks), s)
        name = f"{ELEMENT[element]}, {mesh}, {count(some[0].n_dof)}" + f" a {rank}" * (kind == "weak")
        if len({r for _, r in best}) > 1:
            curves.append(over_ranks(name, f"{rank}s", kind, best))
            curves[-1].column = kind * (main[kind] == key)
        else:
            name += f", {some[0].ranks} {rank}s"
            rows.setdefault(kind, {}).setdefault(name, {}).update(best)
        drawn += [(name, s) for s in best.values()]
    panels = curves + [at_one_number(kind, places) for kind, places in rows.items()]
    most = max((len(best) for places in rows.values() for best in places.values()), default=0)
    times, runs = [s.gain for _, s in drawn], [s.run for _, s in drawn]
    said = [f"speed-up for a mesh of one size (strong scaling), efficiency for a box of one size a {rank} (weak scaling)"
            ] * bool(curves)
    said += [f"{f'where there is one number of {rank}s, a row with the ' * bool(curves)}efficiency, which for a mesh "
             f"of one size is the speed-up over the number of {rank}s"] * bool(rows)
    return figure(f"scaling-{card.key}", f"Strong and weak scaling, {card.words}",
                  f"One iteration of GMRES, with {forms_said((name, s.operation) for name, s in drawn)}, on several "
                  f"{rank}s over one {rank} of the same run, of the "
                  f"processes that both have: {'; '.join(said)}; {card.words}. Dashed: ranks cost nothing. "
                  f"{kind_of(times, ratios=True)}; "
                  f"{where(runs)}.", panels, runs, columns=4, height=2.9, left=1.0,
                  legend=coloured_in(panels), row=max(ROW, PER_STRATEGY * most))
