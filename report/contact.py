"""What the pass over nodes in contact costs behind a strategy's operation, over the share of nodes that are in contact:
a figure for each card, and lines of a table.

A cost is the time with the pass over that without it, of one run; of several processes it is the ratio between them.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

from report.captions import grey, kind_of, meanings, where
from report.model import Card, Model, Point, Run, Time, ratio
from report.panels import (COLOURED, INK, SHORT, Axis, Figure, Panel, add_names, add_series, beside, figure, linear,
                           named_in_short, span, style_of)
from report.places import ranked
from report.selection import speaking
from report.text import count, digits
from report.words import CHOOSES, ELEMENT, OPERATION

OPERATIONS = ("residual", "jacvec", "diagonal")
ELEMENTS = ("hex8", "tet4")
# Of the table: those that gather by node, and what they are compared with.
TOLD = ("patch", "patch_ordered", "element_atomic", "node_csr", "corner_gather", "two_phase", "assembled_bsr")


@dataclasses.dataclass(frozen=True, eq=False)
class Cost:
    """Of one share of nodes, 0.01: 1 % of all."""

    share: float
    plain: Point  # without contact
    ratio: Time   # with it over without

    @property
    def percent(self) -> Time:
        """By how much the operation takes longer."""
        low, value, high = (100 * (end - 1) for end in (self.ratio.low, self.ratio.value, self.ratio.high))
        return dataclasses.replace(self.ratio, value=value, low=low, high=high)


Place = tuple[int, str, str]  # degrees of freedom, element, operation


def share_of(operation: str) -> float | None:
    """0.01 of jacvec_contact0.01; None without contact."""
    share = operation.partition("_contact")[2]
    return float(share) if share else None


def costs(model: Model, card: Card) -> dict[Place, list[Cost]]:
    """At each place those of one run, the largest sizes first."""
    at: dict[Place, list[Point]] = {}
    for p in model.kernels:
        operation = p.operation.partition("_contact")[0]
        if p.card == card and p.plain and p.mesh.cube and p.element in ELEMENTS and p.strategy not in CHOOSES and \
                operation in OPERATIONS:
            at.setdefault((p.n_dof, p.element, operation), []).append(p)
    found = {}
    for place in sorted(at, key=lambda place: (-place[0], ELEMENTS.index(place[1]), OPERATIONS.index(place[2]))):
        some = speaking(p for p in at[place] if share_of(p.operation) is not None)
        plain = {p.strategy: p for p in at[place] if share_of(p.operation) is None and some and p.run == some[0].run}
        pairs = [Cost(share, plain[p.strategy], ratio(p, plain[p.strategy]))
                 for p in some if p.strategy in plain and (share := share_of(p.operation)) is not None]
        if pairs:
            found[place] = sorted(pairs, key=lambda cost: cost.share)
    return found


def percent(share: float) -> str:
    return f"{100 * share:g} %"


def panel_of(place: Place, some: Sequence[Cost], height: float) -> Panel:
    n_dof, element, operation = place
    shares = sorted({cost.share for cost in some})
    low, high = span((cost.percent for cost in some), 0.0)
    axis = Axis("nodes in contact", shares[0] / 1.2, shares[-1] * 1.2, tuple((percent(s), s) for s in shares), True)
    panel = Panel(f"{ELEMENT[element]}, {OPERATION[operation]}, {count(n_dof)}", axis,
                  linear("time added, %", max(1.0, 1.05 * high), min(-0.5, low)))
    panel.dashed.append(([(axis.low, 0.0), (axis.high, 0.0)], INK))
    ends = {}
    for strategy in sorted(ranked(cost.plain for cost in some), key=lambda s: s in COLOURED):
        values = [(cost.share, cost.percent) for cost in some if cost.plain.strategy == strategy]
        add_series(panel, strategy, values, join=False,
                   noisy=[c.share for c in some if c.plain.strategy == strategy and c.ratio.noisy])
        (panel.lines if strategy in COLOURED else panel.thin).append(([(x, t.value) for x, t in values],
                                                                      style_of(strategy)[0]))
        ends[strategy] = (values[-1][0], values[-1][1].value)
    add_names(panel, ends, height)
    return panel


def contact(model: Model, card: Card) -> Figure | None:
    """A panel for each size, element and operation."""
    height = 2.6
    found = costs(model, card)
    flat = list(itertools.chain(*found.values()))
    panels = [panel_of(place, some, height) for place, some in found.items()]
    runs: list[Run] = [cost.plain.run for cost in flat]
    others = {cost.plain.strategy for cost in flat if cost.plain.strategy not in COLOURED}
    return figure(f"contact-{card.key}", f"Cost of contact, {card.words}",
                  f"By how much an operation takes longer with the pass over nodes in contact behind it, over their share "
                  f"of all nodes, {card.words}. Lower is better. Look where gathers by node are: if contact favoured "
                  f"them, their curves would lie below those of strategies that are as fast. The pass takes the same "
                  f"time behind all of them, so the curve of a slower strategy is lower. A face of a cube has "
                  f"{faces(found)} of the nodes.{grey(others)}{meanings(named_in_short(panels), SHORT)} "
                  f"{kind_of((c.ratio for c in flat), ratios=True)}; "
                  f"{where(runs)}.", panels, runs, columns=3, height=height, left=1.1, right=beside(panels))


def faces(found: dict[Place, list[Cost]]) -> str:
    """The share of nodes on one face, of each size."""
    sides = [(n_dof / 3) ** (1 / 3) for n_dof in dict.fromkeys(place[0] for place in found)]
    return " and ".join(f"{100 / side:.1f} %" for side in sides)


def table_of(model: Model, backend: str) -> tuple[list[str], list[list[str]]]:
    """Of the largest size of each card of a backend: microseconds without contact, and what is added for each share."""
    shares: dict[float, None] = {}
    lines = []
    of_cards = {card: costs(model, card) for card in model.cards if card.backend == backend}
    for some in itertools.chain(*(found.values() for found in of_cards.values())):
        shares |= dict.fromkeys(cost.share for cost in some)
    for card, found in of_cards.items():
        largest = max((place[0] for place in found), default=0)
        for element, strategy in itertools.product(ELEMENTS, TOLD):
            cells: list[str] = []
            runs: dict[str, None] = {}
            processes: set[int] = set()
            for operation in OPERATIONS:
                own = {cost.share: cost for cost in found.get((largest, element, operation), [])
                       if cost.plain.strategy == strategy}
                runs |= dict.fromkeys(cost.plain.run.marked for cost in own.values())
                processes |= {cost.ratio.processes for cost in own.values()}
                plain = next(iter(own.values())).plain if own else None
                cells.append(digits(1e6 * plain.time.value) if plain else "")
                cells += [added(own.get(share)) for share in sorted(shares)]
            if runs:
                lines.append([card.short, ELEMENT[element], count(largest), f"`{strategy}`", *cells,
                              " to ".join(dict.fromkeys(map(str, (min(processes), max(processes))))), ", ".join(runs)])
    head = ["on", "element", "DoF", "strategy"]
    for operation in OPERATIONS:
        head += [f"{operation}, µs", *map(percent, sorted(shares))]
    return head + ["processes", "commit"], lines


def added(cost: Cost | None) -> str:
    """+1.2; (+0.2) where the interval holds 0."""
    if cost is None:
        return ""
    t = cost.percent
    words = f"{t.value:+.1f}" + ("~" if cost.ratio.noisy else "")
    return f"({words})" if t.low <= 0.0 <= t.high else words
