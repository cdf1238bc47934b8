"""When each element reaches an error, as a table of the report."""

from __future__ import annotations

from report import accuracy, set_ups
from report.model import Model
from report.render.tables import Cell, Table, kinds
from report.text import count, digits
from report.words import ELEMENT, STRATEGY


def reached(study: accuracy.Study, element: str, target: float) -> Cell:
    found = accuracy.first(study, element, target)
    return Cell(found.words(STRATEGY.__getitem__), found.seconds) if found else Cell("")


def error_of(solved: accuracy.Solved, least: float) -> Cell:
    """In percent."""
    return Cell(digits(100 * solved.error) if solved.error >= least else f"< {100 * least:.1g}", max(solved.error, least))


def accuracy_table(model: Model) -> Table | None:
    lines: list[list[Cell]] = []
    shown = []
    for study in accuracy.studies(model):
        for element in accuracy.in_elements(study):
            finest = study.least(element)[-1]
            shown.append(finest.whole.solve.time)
            lines.append([Cell(study.card.short), Cell(accuracy.WORDS[study.problem]), Cell(ELEMENT[element]),
                          *(reached(study, element, target) for target in accuracy.TARGETS),
                          Cell(count(finest.whole.solve.n_dof), finest.whole.solve.n_dof),
                          error_of(finest, study.references[element].least), Cell(study.run.marked)])
    if not lines:
        return None
    return Table(
        "accuracy", "When each element reaches an error",
        "Time of the whole solve with set-ups until the relative error of the work of the loads stays below so much, "
        "interpolated between meshes by logarithms, and the strategy that is there first. Empty: no mesh that was measured "
        "has it, or the reference cannot tell such an error. ≤: an upper end, because the coarsest mesh has it, or the error "
        "changes its sign before, or ends below what the reference tells. ~: the solve is noisy, or another strategy is "
        f"not told from it: set-ups that a process timed once count as different from a factor of {set_ups.APART} on. "
        "Then the degrees of freedom of the "
        f"finest mesh, and its error. {kinds(shown)}.",
        ["card", "problem", "element", *(f"to {accuracy.percent(target)}" for target in accuracy.TARGETS),
         "finest mesh, DoF", "its error, %", "commit"], lines, words=3)
