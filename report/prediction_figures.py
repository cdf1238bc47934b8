"""A map of chips that were not measured: where the assembled matrix must win, and where a product without one."""

from __future__ import annotations

import itertools
from collections.abc import Collection

from report.captions import where
from report.model import Model, Run
from report.panels import INK, PALE, PALETTE, Figure, Panel, decades, figure, few
from report.predict import (BANDWIDTHS, CARDS, CELLS, FREE, OPEN, PRODUCTS, RATES, WITH_MATRIX, Chip, Operation, chips,
                            groups, on_map, split_all)
from report.words import ELEMENT, ELEMENTS, MATRIX, OPERATION, STRATEGY, in_order, machine

FADED = 0.55  # of white in the colour of an area


def faded(colour: int) -> int:
    """A lighter one, in which names of chips can be read."""
    parts = [colour >> shift & 255 for shift in (16, 8, 0)]
    r, g, b = (round(part + FADED * (255 - part)) for part in parts)
    return r << 16 | g << 8 | b


COLOURS = {FREE: faded(PALETTE[0]), WITH_MATRIX: faded(PALETTE[3]), OPEN: PALE}


def map_of(there: tuple[Operation, ...], title: str, listed: Collection[Chip],
           measured: Collection[Chip] = ()) -> Panel:
    x = decades("FP64, 10¹² flop/s", RATES, few, 1.0)
    y = decades("memory, TB/s", BANDWIDTHS, few, 1.0)
    panel = Panel(title, x, y)
    for i, column in enumerate(on_map(there)):
        low = 0
        for who, cells in itertools.groupby(column):
            high = low + len(list(cells))
            panel.rectangles.append((x.at(i / CELLS), x.at((i + 1) / CELLS), y.at(low / CELLS), y.at(high / CELLS),
                                     COLOURS[who]))
            low = high
    for chip in listed:
        mark(panel, chip, chip in measured)
    return panel


def mark(panel: Panel, chip: Chip, is_measured: bool) -> None:
    """A chip with its name, where it is on the map."""
    x, y = panel.x, panel.y
    rate, bandwidth = 1e-12 * chip.rate, 1e-12 * chip.bandwidth
    if not (x.low <= rate <= x.high and y.low <= bandwidth <= y.high):
        return
    panel.mark(rate, bandwidth, INK, 7, not is_measured)
    right = x.share(rate) > 0.75
    panel.words.append((x.at(x.share(rate) + (-0.03 if right else 0.03)), bandwidth, chip.name, INK,
                        "right" if right else "left"))


def predictions(model: Model) -> Figure | None:
    """None without rows of the same sources on both cards."""
    found = groups(model)
    panels: list[Panel] = []
    runs: list[Run] = []
    names: set[str] = set()
    for key in ((element, product) for element in ELEMENTS for product in PRODUCTS):
        there = tuple(split_all(found.get(key, [])))
        if {o.variant in MATRIX for o in there} == {True, False}:
            pair = found[key][0]
            measured = [Chip(machine(m), card.rate, card.bandwidth) for m, card in zip(CARDS, pair.cards)]
            panels.append(map_of(there, f"{ELEMENT[key[0]]}, {OPERATION[key[1]]}", [*measured, *chips()], measured))
            runs += [pair.narrow.run, pair.wide.run]
            names |= {o.variant for o in there if o.variant in MATRIX}
    runs = list(dict.fromkeys(runs))
    return figure("predictions", "Predicted: matrix or no matrix",
                  "Predicted, not measured: where the fastest product with an assembled matrix "
                  f"({'; '.join(STRATEGY[name] for name in in_order(names))}) must be faster than the fastest one "
                  "without a matrix, and the other way round, over the FP64 rate and the memory bandwidth that kernels "
                  "reach on a chip. Between both areas the prediction cannot tell. From rows of "
                  f"{' and '.join(map(machine, CARDS))}, which are shown, too; {where(runs)}.",
                  panels, runs, height=3.7,
                  legend=[("the matrix must win", COLOURS[WITH_MATRIX], 0),
                          ("a product without one must win", COLOURS[FREE], 0),
                          ("cannot tell", COLOURS[OPEN], 0),
                          ("measured", INK, 7), ("not measured", INK, 6)])
