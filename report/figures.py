"""All figures of the report, in its order."""

from __future__ import annotations

import itertools
import re

from report import accuracy
from report.accuracy_figures import error_over_time
from report.comparison_figures import energy, irregular_over_box, over_host, precision, reproducible
from report.model import Card, Model
from report.panels import APPENDIX, BODY, Figure
from report.prediction_figures import predictions
from report.product_figures import break_even, cold, roofline, throughput, time_of_products, winners_map
from report.scaling_figures import scaling
from report.solve_figures import GROUPS, breakdown, inside, whole_solves
from report.study_figures import all_studies
from report.trace_figures import time_by_kernel
from report.wholes import solves_of


def all_figures(model: Model) -> list[Figure]:
    """But those of studies."""
    found: list[Figure | None] = []
    solve_cards = dict.fromkeys(place[0] for place in solves_of(model))
    for quadratic in (False, True):
        found += [throughput(model, card, quadratic) for card in model.cards]
    for make in (time_of_products, cold, winners_map, irregular_over_box):
        found += [make(model, card) for card in model.cards]
    for draw, card in itertools.product((whole_solves, breakdown), solve_cards):
        found += [draw(model, card, group) for group in GROUPS]
    for make in (inside, roofline, break_even):
        found += [make(model, card) for card in model.cards]
    for machine in dict.fromkeys((p.run.machine, p.backend) for p in model.of("scaling.csv")):
        device = next(p for p in model.of("scaling.csv") if (p.run.machine, p.backend) == machine)
        found.append(scaling(model, machine, Card(machine[0], machine[1], device.device,
                                                  0 if machine[1] == "cuda" else device.threads)))
    found += [make(model, card) for make in (time_by_kernel, precision, energy) for card in model.cards]
    found += [over_host(model, card) for card in model.cards if card.backend == "cuda"] + [reproducible(model)]
    found += [error_over_time(model, card) for card in dict.fromkeys(study.card for study in accuracy.studies(model))]
    found.append(predictions(model))
    return [f for f in found if f]


ASIDE = re.compile("(time|cold|part|samples)-|breakdown-.*-(meshes|bracket|quadratic)$")  # names that only the appendix shows


def placed(model: Model, found: list[Figure]) -> list[Figure]:
    """The body shows GPUs, where there are some, and hosts where they lack a kind of figure."""
    has_gpu = any(c.backend == "cuda" for c in model.cards)

    def is_main(f: Figure) -> bool:
        return not (has_gpu and "-host-" in f.name)

    kinds = {f.name.partition("-")[0] for f in found if is_main(f)}
    for f in found:
        kind = f.name.partition("-")[0]
        f.place = APPENDIX if ASIDE.match(f.name) or kind in kinds and not is_main(f) else BODY
    return found


def every_figure(model: Model) -> list[Figure]:
    """In the order of the report."""
    return placed(model, all_figures(model) + all_studies(model))
