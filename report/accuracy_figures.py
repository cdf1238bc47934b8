"""Figures of the error over time (report/accuracy.py)."""

from __future__ import annotations

from collections.abc import Sequence

from report import accuracy, set_ups
from report.captions import noisy, where
from report.model import Card, Model
from report.panels import INK, PALETTE, SHAPES, Axis, Figure, Panel, decades, figure
from report.words import ELEMENT, STRATEGY


MAIN = (("tube", "steps"), ("bracket", "linear"))  # problems of the form for one column: a plastic one, and a part


def panel_of(study: accuracy.Study) -> Panel:
    """A line for each element with the fastest strategy on each mesh, a dashed one with the matrix."""
    def told(element: str, some: Sequence[accuracy.Solved]) -> list[accuracy.Solved]:
        return [s for s in some if s.error >= study.references[element].least]

    least = {element: told(element, study.least(element)) for element in study.solved}
    matrix = {element: told(element, of.get(accuracy.MATRIX, [])) for element, of in study.solved.items()}
    shown = [s for some in (*least.values(), *matrix.values()) for s in some]
    panel = Panel(accuracy.WORDS[study.problem],
                  decades("seconds, set-ups and all load steps", [s.total for s in shown], grow=1.6) if shown else
                  Axis("", 1, 10, (), True),
                  decades("error of the loads' work", [*(s.error for s in shown), *accuracy.TARGETS[:1]], grow=1.6),
                  column=study.problem[0] * (study.problem in MAIN))
    for target in accuracy.TARGETS:
        if panel.y.low < target < panel.y.high:
            panel.dashed.append(([(panel.x.low, target), (panel.x.high, target)], INK))
    for element in accuracy.in_elements(study):
        i = accuracy.ELEMENTS.index(element)
        panel.lines.append(([(s.total, s.error) for s in least[element]], PALETTE[i]))
        for s in least[element]:
            panel.mark(s.total, s.error, PALETTE[i], SHAPES[i], s.noisy)
        panel.dashed.append(([(s.total, s.error) for s in matrix[element]], PALETTE[i]))
    panel.lines = [line for line in panel.lines if len(line[0]) > 1]
    panel.dashed = [line for line in panel.dashed if len(line[0]) > 1]
    return panel


def error_over_time(model: Model, card: Card) -> Figure | None:
    some = [study for study in accuracy.studies(model) if study.card == card]
    if not some:
        return None
    elements = [e for e in accuracy.ELEMENTS if any(e in study.solved for study in some)]
    times = [s.whole.solve.time for study in some for of in study.solved.values() for each in of.values() for s in each]
    return figure(f"accuracy-{card.key}", f"Error over time, {card.words}",
                  f"Relative error of the work of the loads over the time of the whole solve with set-ups, {card.words}: the "
                  f"lower at a time, the better. Each point is a mesh. Tubes and beams have the same nodes "
                  f"with all elements; the bracket with Tet4 and Tet10, and with Hex8 and Hex27. Lines: the strategy that takes least on each mesh; dashed in their colours: "
                  f"{STRATEGY[accuracy.MATRIX]}; dashed from side to side: errors of 1, 0.1 and 0.01 %. With multigrid. Most of "
                  f"the time goes into set-ups; where these were timed once, a factor below {set_ups.APART} between two is no "
                  "difference. Errors that are too small for the reference are left out"
                  f"{noisy(times)}; {where(study.run for study in some)}.",
                  [panel_of(study) for study in some], [study.run for study in some], columns=2 if len(some) == 4 else 3,
                  height=4.2, left=1.75,
                  legend=[(ELEMENT[e], PALETTE[accuracy.ELEMENTS.index(e)], SHAPES[accuracy.ELEMENTS.index(e)])
                          for e in elements])
