"""Which strategy to take: what patch gains over the matrix, per product and per whole solve, as a table of the README
and as one of the report."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

from report import model as model_, parts, statistics, text, words
from report.cases import kind_of_mesh, mesh_of
from report.claim import Claim
from report.render.tables import Cell, Table
from report.verdicts import Decided, Verdict
from report.text import count, interval
from report.wholes import least_in_all, over_in_all, solves_of, wholes
from report.rows import LEAST_PROCESSES
from report.words import BLOCKS, ELEMENT, ELEMENTS

FEW = "¹"
Known = Mapping[str, tuple[Claim, Sequence[Verdict]]]


def largest(known: Known, name: str, machine: str, element: str, box: bool,
            operation: str = "jacvec") -> Decided | None:
    """Of a claim the point of products with tangents (of 21 numbers: jacvec_full) on the largest cube, or the largest
    irregular mesh, and of another one that is no box where there is none; one that can hold, of enough processes, before a
    larger one."""
    verdicts = known[name][1] if name in known else ()
    points = [p for v in verdicts if v.machine == machine for p in v.points
              if p.where["element"] == element and p.where["operation"] == operation
              and (mesh_of(str(p.where["case"])).cube if box else kind_of_mesh(str(p.where["case"])) != "box")]
    return max(points, key=lambda p: (not p.lacks, p.ratio.processes >= LEAST_PROCESSES,
                                      kind_of_mesh(str(p.where["case"])) == "irregular", int(p.where["n_dof"] or 0)),
               default=None)


def cell(point: Decided | None) -> str:
    """A ratio with its interval and size; ≤: over one matrix alone; FEW: of fewer processes than an interval takes."""
    if point is None:
        return "-"
    return f"{told(point.ratio, bool(point.lacks))}, {count(int(point.where['n_dof'] or 0))}"


def told(r: statistics.Estimate | model_.Time, alone: bool) -> str:
    few = FEW * (r.processes < LEAST_PROCESSES)
    return f"{'≤ ' * alone}{interval(r.value, r.low, r.high)}{few}"


def solved(machine: str, backend: str, element: str) -> tuple[str, str, str, model_.Time | None]:
    """Of the largest plastic solve on a box: the matrix's time over that of patch, without set-ups and with them and with
    assembly, of the matrix that takes least each time; the fastest with set-ups; and the first ratio as a number."""
    found = [(place, some) for place, some in solves_of(parts.model(), least=2).items()
             if place[0].machine == machine and place[0].backend == backend and place[2] == element
             and place[1].endswith("-steps") and kind_of_mesh(place[1]) == "box" and {"patch", "assembled_bsr"} <= {p.strategy for p in some}]
    if not found:
        return "-", "-", "-", None
    place, some = max(found, key=lambda entry: entry[0][5])
    at = wholes(some)
    own, matrices = at["patch"], [at[name] for name in BLOCKS if name in at]
    matrix, in_all = min(matrices, key=lambda w: w.solve.time.value), min(matrices, key=lambda w: w.total)
    r = model_.counted(matrix.solve, own.solve)
    alone = any(name not in at for name in BLOCKS)
    least, *level = least_in_all(at)
    return (f"{told(r, alone)}{'~' if r.noisy else ''}, {count(place[5])}",
            f"{'≤ ' * alone}{interval(*over_in_all(in_all, own))}, {count(place[5])}", f"`{least}`{'~' * bool(level)}", r)


def take(points: Sequence[Decided], solve: model_.Time | None = None) -> str:
    """What the ratios of products say: patch, where it is faster at all points that have both matrices; where none has,
    the one that was not measured might win. The matrix, where it is so and also in the plastic solve."""
    whole = [p.ratio for p in points if not p.lacks]
    if all(ratio.high < 1 for ratio in whole or [p.ratio for p in points]) and not (solve and solve.high > 1):
        return "the matrix"
    if not all(p.ratio.low > 1 for p in points):
        return "either"
    return "`patch`" if whole else f"`patch`, if `{points[0].lacks[0]}` is not faster"


HEADS = ["element", "on", "product: box", "without a pause", "irregular mesh", "box, floats", "box, 21 numbers",
         "irregular, 21 numbers", "plastic solve: box", "with set-ups", "least with set-ups", "`patch_ordered` takes",
         "take"]


def lines(known: Known, named: Callable[[str, str], str]) -> list[list[str]]:
    """For each element and machine what patch gains over the matrix, and what a fixed order costs. named: a machine by
    its folder and backend."""
    found = []
    claims = ("patch_over_matrix", "host_patch_over_matrix", "quadratic_over_matrix")
    for element in ELEMENTS:
        for v in itertools.chain(*(known[name][1] for name in claims if name in known)):
            on_gpu = v.claim.name != "host_patch_over_matrix"
            backend = "cuda" if on_gpu else "host"
            box, other = (largest(known, v.claim.name, v.machine, element, of) for of in (True, False))
            if box is None and other is None:
                continue
            sustained, floats, price = (
                largest(known, name, v.machine, element, True) if on_gpu else None
                for name in ("sustained_over_matrix", "floats_over_matrix", "price_of_order"))
            *told_solve, solve = solved(v.machine, backend, element)
            full = (largest(known, "full_tangents_over_matrix", v.machine, element, of, "jacvec_full") for of in (True, False))
            found.append([
                ELEMENT[element], named(v.machine, backend), cell(box),
                cell(sustained), cell(other), cell(floats), *map(cell, full),
                *told_solve, cell(price),
                take([p for p in (box, sustained, other) if p], solve)
            ])
    return found


def table(known: Known) -> list[str]:
    """Of the README."""
    def named(machine: str, backend: str) -> str:
        return words.machine(machine) + " host" * (backend == "host")

    return text.table(HEADS, lines(known, named), 2)


SHOWN = ("element", "on", "take", "product: box", "irregular mesh", "box, 21 numbers", "plastic solve: box",
         "with set-ups", "`patch_ordered` takes")


def table_of_report(known: Known, model: model_.Model) -> Table | None:
    """The answer in one table: the columns of the README's that a page holds, with machines as captions have them."""
    cards = {(card.machine, card.backend): card.name.removeprefix("NVIDIA ") for card in model.cards}
    found = lines(known, lambda machine, backend: cards.get((machine, backend), words.machine(machine)))
    if not found:
        return None
    columns = [HEADS.index(head) for head in SHOWN]
    return Table("take", "Which strategy to take",
                 "How many times as long the faster assembled matrix takes as patch, with the ends between which the "
                 "ratio counts and the degrees of freedom: tangent products on the largest box and on the largest "
                 "irregular mesh, products with tangents of 21 numbers, plastic solves without and with set-ups; then "
                 "the time of patch in a fixed order over that of patch. ≤: only the matrix with 3×3 blocks was "
                 "measured, so that the gain is an upper end and decides nothing. "
                 f"{FEW}: fewer than {LEAST_PROCESSES} processes. ~: noisy. "
                 "[docs/strategies.md](../../docs/strategies.md#the-table-of-the-readme) says how each column comes "
                 "about.",
                 [HEADS[i] for i in columns], [[Cell(line[i]) for i in columns] for line in found], words=3)
