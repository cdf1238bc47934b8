"""Which strategy to take: what patch gains over the matrix, per product and per whole solve, as a table of the README
and as one of the report."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence

from report import model as model_, statistics, text, words
from report.cases import kind_of_mesh, mesh_of
from report.claim import Claim
from report.render.tables import Cell, Table
from report.verdicts import Decided, Verdict
from report.text import count, interval
from report.where import card
from report.wholes import least_in_all, over_in_all, solves_of, wholes
from report.rows import LEAST_PROCESSES
from report.words import BLOCKS, ELEMENT, ELEMENTS, QUADRATIC

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
    if not points:
        return None
    return max(points, key=lambda p: (not p.lacks, p.ratio.processes >= LEAST_PROCESSES,
                                      kind_of_mesh(str(p.where["case"])) == "irregular", int(p.where["n_dof"] or 0)))


def cell(point: Decided | None) -> str:
    """A ratio with its interval and size; ≤: over one matrix alone; FEW: of fewer processes than an interval takes."""
    if point is None:
        return "-"
    return f"{short(point)}, {count(int(point.where['n_dof'] or 0))}"


def short(point: Decided | None) -> str:
    return "-" if point is None else told(point.ratio, bool(point.lacks))


def told(r: statistics.Estimate | model_.Time, alone: bool) -> str:
    few = FEW * (r.processes < LEAST_PROCESSES)
    return f"{'≤ ' * alone}{interval(r.value, r.low, r.high)}{few}"


def known_of(solves: Sequence[model_.Point]) -> tuple[bool, bool]:
    """Whether both matrices are there, and whether enough processes measured them and patch."""
    of = [p for p in solves if p.operation == "solve" and p.strategy in ("patch", *BLOCKS)]
    return {p.strategy for p in of} >= set(BLOCKS), min(p.time.processes for p in of) >= LEAST_PROCESSES


def solved(model: model_.Model, machine: str, backend: str, element: str) -> tuple[str, str, str, model_.Time | None]:
    """Of the largest plastic solve on a box, one with both matrices and of enough processes before a larger one: the
    matrix's time over that of patch, without set-ups and with them and with assembly, of the matrix that takes least each
    time; the fastest with set-ups; and the first ratio as a number."""
    found = [(place, some) for place, some in solves_of(model, least=2).items()
             if place[0].machine == machine and place[0].backend == backend and place[2] == element
             and place[1].endswith("-steps") and kind_of_mesh(place[1]) == "box" and {"patch", "assembled_bsr"} <= {p.strategy for p in some}]
    if not found:
        return "-", "-", "-", None
    place, some = max(found, key=lambda entry: known_of(entry[1]) + (entry[0][5],))
    at = wholes(some)
    own, matrices = at["patch"], [at[name] for name in BLOCKS if name in at]
    matrix, in_all = min(matrices, key=lambda w: w.solve.time.value), min(matrices, key=lambda w: w.total)
    r = model_.counted(matrix.solve, own.solve)
    alone = any(name not in at for name in BLOCKS)
    least, *level = least_in_all(at)
    few = FEW * (min(own.solve.time.processes, in_all.solve.time.processes) < LEAST_PROCESSES)
    return (f"{told(r, alone)}{'~' if r.noisy else ''}, {count(place[5])}",
            f"{'≤ ' * alone}{interval(*over_in_all(in_all, own))}{few}, {count(place[5])}", f"`{least}`{'~' * bool(level)}", r)


def faster(points: Sequence[Decided]) -> str:
    """What the ratios of products say: patch, where it is faster than each matrix at all points that have both; where none
    has, the one that was not measured might win. The matrix, where it is so."""
    whole = [p.ratio for p in points if not p.lacks]
    if all(ratio.high < 1 for ratio in whole or [p.ratio for p in points]):
        return "the matrix"
    if not all(p.is_faster_than_all for p in points):
        return "either"
    return "`patch`" if whole else f"`patch`, if `{points[0].lacks[0]}` is not faster"


def take(boxes: Sequence[Decided], others: Sequence[Decided], solve: model_.Time | None = None, team: int = 0) -> tuple[str, str]:
    """The faster one of patch and the matrix, on boxes where they were measured; and where another one is to be taken. team:
    so many degrees of freedom up to which `element_team` is faster than patch."""
    on_boxes, on_others = (faster(some) if some else "" for some in (boxes, others))
    said = on_boxes or on_others
    but: dict[str, list[str]] = {}  # what to take instead, and where
    if on_boxes and on_others and on_boxes != on_others:
        but.setdefault(on_others, []).append("on irregular meshes")
    if solve and solve.low > 1 and said in ("the matrix", "either"):
        but.setdefault("`patch`", []).append("in plastic solves")
    if team:
        but.setdefault("`element_team`", []).append(f"up to {count(team)} degrees of freedom")
    return said, text.listed(f"{text.listed(places)} {other}" for other, places in but.items())


@dataclasses.dataclass(frozen=True)
class Line:
    """What is known of an element on a machine: of claims the points at their largest meshes."""

    element: str
    machine: str
    on_gpu: bool
    box: Decided | None  # products with tangents; below others
    other: Decided | None  # on an irregular mesh
    sustained: Decided | None
    floats: Decided | None
    full_box: Decided | None  # tangents of 21 numbers
    full_other: Decided | None
    price: Decided | None  # of a fixed order
    solves: tuple[str, str, str]  # without set-ups, with them, and who takes least with them
    solve: model_.Time | None

    team: int  # degrees of freedom up to which `element_team` is faster at products with tangents, 0: nowhere

    @property
    def take(self) -> tuple[str, str]:
        return take([p for p in (self.box, self.sustained) if p], [self.other] if self.other else [], self.solve, self.team)


def team_up_to(known: Known, machine: str) -> int:
    """Of Hex27: the largest mesh of a claim on smaller ones, where it holds for all products with tangents."""
    points = [p for v in (known["team_hex27"][1] if "team_hex27" in known else ()) if v.machine == machine
              for p in v.points if p.where["operation"] == "jacvec"]
    holds = bool(points) and all(p.ratio.low > 1 for p in points)
    return max(int(p.where["n_dof"] or 0) for p in points) if holds else 0


PRODUCTS_OVER = ("patch_over_matrix", "host_patch_over_matrix", "quadratic_over_matrix")


def lines(known: Known, model: model_.Model) -> Iterator[Line]:
    """Of each element and machine that has products of patch and of the matrix."""
    for element in ELEMENTS:
        for v in itertools.chain(*(known[name][1] for name in PRODUCTS_OVER if name in known)):
            on_gpu = v.claim.name != "host_patch_over_matrix"
            box, other = (largest(known, v.claim.name, v.machine, element, of) for of in (True, False))
            if box is None and other is None:
                continue
            price = "price_of_order_quadratic" if element in QUADRATIC else "price_of_order"
            sustained, floats, ordered = (largest(known, name, v.machine, element, True) if on_gpu else None
                                          for name in ("sustained_over_matrix", "floats_over_matrix", price))
            full_box, full_other = (largest(known, "full_tangents_over_matrix", v.machine, element, of, "jacvec_full")
                                    if on_gpu else None for of in (True, False))
            team = team_up_to(known, v.machine) if element == "hex27" else 0
            without, with_set_ups, least, solve = solved(model, v.machine, "cuda" if on_gpu else "host", element)
            yield Line(element, v.machine, on_gpu, box, other, sustained, floats, full_box, full_other, ordered,
                       (without, with_set_ups, least), solve, team)


HEADS = ["element", "on", "without a pause", "in turns: box", "irregular mesh", "box, floats", "box, 21 numbers",
         "irregular, 21 numbers", "plastic solve: box", "with set-ups", "least with set-ups", "patch_ordered takes",
         "take"]


MARKS = "²³⁴⁵⁶⁷⁸⁹"  # behind what to take, of exceptions below the table


def noted(found: Sequence[Line]) -> tuple[list[str], str]:
    """What each line says to take, marked where there is an exception; and the exceptions, in sentences."""
    marks = dict(zip(dict.fromkeys(but for _, but in (line.take for line in found) if but), MARKS, strict=False))
    return ([said + marks.get(but, "") for said, but in (line.take for line in found)],
            " ".join(f"{mark}: {but}." for but, mark in marks.items()))


def cells_of(line: Line, named: str, take: str) -> list[str]:
    """named: its machine. take: what to take."""
    return [ELEMENT[line.element], named,
            *map(cell, (line.sustained, line.box, line.other, line.floats, line.full_box, line.full_other)),
            *line.solves, cell(line.price), take]


def table(known: Known, model: model_.Model) -> list[str]:
    """For each element and machine what patch gains over the matrix, and what a fixed order costs."""
    found = list(lines(known, model))
    takes, notes = noted(found)
    told = [cells_of(line, card(line.machine, {"backend": "cuda" if line.on_gpu else "host"}), take)
            for line, take in zip(found, takes)]
    return text.table(HEADS, told, 2) + below(notes)


def below(notes: str) -> list[str]:
    """A paragraph below a table."""
    return ["", *text.wrap(f"Take: {notes}")] if notes else []


def brief(known: Known, model: model_.Model) -> list[str]:
    """The same of GPUs; products are of the largest meshes. What is known over one of two matrices alone is left out."""
    def whole(point: Decided | None) -> str:
        return "-" if point and point.lacks else short(point)

    found = [line for line in lines(known, model) if line.on_gpu]
    takes, notes = noted(found)
    told_lines = [[ELEMENT[line.element], card(line.machine, {}), take,
                   *map(whole, (line.sustained, line.box, line.other)),
                   *("-" if told.startswith("≤") else told for told in (line.solves[0], line.solves[1].partition(", ")[0])),
                   *map(whole, (line.price, line.full_box, line.floats))] for line, take in zip(found, takes)]
    head = ["element", "on", "take", "without a pause", "in turns", "irregular", "plastic solve", "with set-ups", "fixed order",
            "21 numbers", "floats"]
    return text.table(head, told_lines, 3) + below(notes)


SHOWN = ("element", "on", "take", "without a pause", "in turns: box", "irregular mesh", "box, 21 numbers", "plastic solve: box",
         "with set-ups", "patch_ordered takes")


def table_of_report(known: Known, model: model_.Model) -> Table | None:
    """The answer in one table: the columns that a page holds, with machines as captions have them."""
    cards = {(card.machine, card.backend): card.name.removeprefix("NVIDIA ").replace(" beside ", " with ")  # words that fit
             for card in model.cards}
    there = list(lines(known, model))
    takes, notes = noted(there)
    found = [cells_of(line, cards.get((line.machine, "cuda" if line.on_gpu else "host"), words.machine(line.machine)), take)
             for line, take in zip(there, takes)]
    if not found:
        return None
    columns = [HEADS.index(head) for head in SHOWN]
    return Table("take", "Which strategy to take",
                 "How many times as long the faster assembled matrix takes as patch, with the ends between which the "
                 "ratio counts and the degrees of freedom: tangent products on the largest box, each for ten seconds "
                 "without a pause, as a card holds it; then in short samples, those of all strategies in turns, there and "
                 "on the largest irregular mesh; products with tangents of 21 numbers, plastic solves without and with set-ups; then "
                 "the time of patch in a fixed order over that of patch. ≤: only the matrix with 3×3 blocks was "
                 "measured, so that the gain is an upper end and decides nothing. "
                 f"{FEW}: fewer than {LEAST_PROCESSES} processes. ~: noisy. {notes} "
                 "[docs/strategies.md](../../docs/strategies.md#patch-over-the-matrix) says how each column comes "
                 "about.",
                 [HEADS[i] for i in columns], [[Cell(line[i]) for i in columns] for line in found], words=3, stacked=True)
