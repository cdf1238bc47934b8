"""A map of chips that were not measured: where the assembled matrix must win, and where a product without one."""

from __future__ import annotations

import itertools
from collections.abc import Collection

from report.captions import where
from report.model import Model, Run
from report.panels import INK, PALE, PALETTE, Axis, Figure, Panel, decades, figure, few
from report.predict import PRODUCTS, Chip, Operation, chips, operations, pairs
from report.words import ELEMENT, MATRIX, OPERATION, STRATEGY, in_order

RATES, BANDWIDTHS = (0.5, 60.0), (1.0, 10.0)  # FP64 TF/s and TB/s of chips that are built for computing or for games
CELLS = 60  # of the map along an axis
MATRIX_COLOUR, FREE_COLOUR = PALETTE[3], PALETTE[0]
FADED = 0.55  # of white in the colour of an area


def faded(colour: int) -> int:
    """A lighter one, in which names of chips can be read."""
    parts = [colour >> shift & 255 for shift in (16, 8, 0)]
    r, g, b = (round(part + FADED * (255 - part)) for part in parts)
    return r << 16 | g << 8 | b


def who_must_win(there: list[Operation], chip: Chip) -> str:
    """free, matrix, or "" where intervals of times meet."""
    times = {True: [o.seconds(chip) for o in there if o.variant in MATRIX],
             False: [o.seconds(chip) for o in there if o.variant not in MATRIX]}
    (best, worst), (free_best, free_worst) = ((min(t[0] for t in times[k]), min(t[1] for t in times[k]))
                                              for k in (True, False))
    return "free" if free_worst < best else "matrix" if worst < free_best else ""


def map_of(there: list[Operation], x: Axis, y: Axis, title: str, listed: list[Chip],
           measured: Collection[Chip] = ()) -> Panel:
    panel = Panel(title, x, y)
    colours = {"free": faded(FREE_COLOUR), "matrix": faded(MATRIX_COLOUR), "": PALE}
    for i in range(CELLS):
        column = [who_must_win(there, Chip("", 1e12 * x.at((i + 0.5) / CELLS), 1e12 * y.at((j + 0.5) / CELLS)))
                  for j in range(CELLS)]
        low = 0
        for who, cells in itertools.groupby(column):
            high = low + len(list(cells))
            panel.rectangles.append((x.at(i / CELLS), x.at((i + 1) / CELLS), y.at(low / CELLS), y.at(high / CELLS),
                                     colours[who]))
            low = high
    for chip in listed:
        rate, bandwidth = 1e-12 * chip.rate, 1e-12 * chip.bandwidth
        if not (x.low <= rate <= x.high and y.low <= bandwidth <= y.high):
            continue
        panel.mark(rate, bandwidth, INK, 7, chip not in measured)
        right = x.share(rate) > 0.75
        panel.words.append((x.at(x.share(rate) + (-0.03 if right else 0.03)), bandwidth, chip.name, INK,
                            "right" if right else "left"))
    return panel


def predictions(model: Model) -> Figure | None:
    """None without rows of one commit on both cards."""
    both, found = list(pairs(model)), operations(model)
    x = decades("FP64, 10¹² flop/s", RATES, few, 1.0)
    y = decades("memory, TB/s", BANDWIDTHS, few, 1.0)
    measured = [Chip(words, card.rate, card.bandwidth) for words, card in zip(("H100", "H200"), both[0][2])] if both else []
    panels = []
    for element in ("hex8", "tet4"):
        for operation in PRODUCTS[::-1]:
            there = [o for o in found if (o.element, o.operation) == (element, operation)]
            if {o.variant in MATRIX for o in there} == {True, False}:
                panels.append(map_of(there, x, y, f"{ELEMENT[element]}, {OPERATION[operation]}", measured + chips(), measured))
    runs: list[Run] = list(dict.fromkeys(p.run for narrow, wide, _ in both for p in (narrow, wide)))
    names = in_order(o.variant for o in found if o.variant in MATRIX)
    return figure("predictions", "Predicted: matrix or no matrix",
                  "Not measured but predicted, where the fastest product with an assembled matrix "
                  f"({', '.join(STRATEGY[name] for name in names)}) must be faster than the fastest one without, over FP64 rate and memory bandwidth "
                  "of a chip, both as kernels reach them. Between the areas the prediction cannot tell. From rows of H100 "
                  f"and H200, which are shown, too; {where(runs)}.", panels, runs, height=4.6,
                  legend=[("that matrix must win", faded(MATRIX_COLOUR), 0), ("a product without one must win", faded(FREE_COLOUR), 0),
                          ("cannot tell", PALE, 0), ("measured", INK, 7), ("not measured", INK, 6)])
