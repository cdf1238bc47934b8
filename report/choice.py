"""Which strategy to take: a table of what patch gains over the matrix, per product and per whole solve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from report import model as model_, parts, text, words
from report.claim import Claim
from report.verdicts import Decided, Verdict
from report.text import count, digits, interval
from report.wholes import solves_of, wholes
from report.words import ELEMENT

MATRICES = ("assembled_bsr", "assembled_symmetric")  # with blocks of their own, which the choice is between
Known = Mapping[str, tuple[Claim, Sequence[Verdict]]]


def largest(known: Known, name: str, machine: str, element: str, box: bool,
            operation: str = "jacvec") -> Decided | None:
    """Of a claim the point of products with tangents (of 21 numbers: jacvec_full) on the largest mesh of a kind; of
    several there, as where the claim has several matrices, the one with the least ratio: the strongest."""
    verdicts = known[name][1] if name in known else ()
    points = [p for v in verdicts if v.machine == machine for p in v.points
              if p.where["element"] == element and p.where["operation"] == operation
              and str(p.where["case"]).startswith("box") == box]
    return max(points, key=lambda p: (int(p.where["n_dof"] or 0), -p.ratio.value), default=None)


def cell(point: Decided | None) -> str:
    """A ratio with its interval and size."""
    if point is None:
        return "-"
    r = point.ratio
    return f"{interval(r.value, r.low, r.high)}, {count(int(point.where['n_dof'] or 0))}"


def solved(machine: str, backend: str, element: str) -> tuple[str, str, str]:
    """Of the largest plastic solve: the matrix's time over that of patch, without set-ups and with them and with
    assembly; the fastest with set-ups."""
    found = [(place, some) for place, some in solves_of(parts.model(), least=2).items()
             if place[0].machine == machine and place[0].backend == backend and place[2] == element
             and place[1].endswith("-steps") and {"patch", "assembled_bsr"} <= {p.strategy for p in some}]
    if not found:
        return "-", "-", "-"
    place, some = max(found, key=lambda entry: entry[0][5])
    at = wholes(some)
    own, matrix = at["patch"], min((at[name] for name in MATRICES if name in at), key=lambda w: w.solve.time.value)
    r = model_.ratio(matrix.solve, own.solve)
    return (f"{interval(r.value, r.low, r.high)}{'~' if r.noisy else ''}, {count(place[5])}",
            f"{digits(matrix.total / own.total)}, {count(place[5])}", f"`{min(at, key=lambda s: at[s].total)}`")


def table(known: Known) -> list[str]:
    """For each element and machine what patch gains over the matrix, and what a fixed order costs."""
    lines = []
    for element in ("hex8", "tet4"):
        for v in (*known["patch_over_matrix"][1], *known["host_patch_over_matrix"][1]):
            on_gpu = v.claim.name == "patch_over_matrix"
            box, other = (largest(known, v.claim.name, v.machine, element, of) for of in (True, False))
            if box is None and other is None:
                continue
            sustained, floats, price = (
                largest(known, name, v.machine, element, True) if on_gpu else None
                for name in ("sustained_over_matrix", "floats_over_matrix", "price_of_order"))
            full = largest(known, "full_tangents_over_matrix", v.machine, element, True, "jacvec_full")
            told = [p.ratio for p in (box, sustained, other) if p]
            take = ("`patch`" if all(r.low > 1 for r in told) else "the matrix" if all(r.high < 1 for r in told)
                    else "either")
            lines.append([
                ELEMENT[element], words.machine(v.machine) + ("" if on_gpu else " host"), cell(box),
                cell(sustained), cell(other), cell(floats), cell(full),
                *solved(v.machine, "cuda" if on_gpu else "host", element), cell(price),
                take
            ])
    return text.table(["element", "on", "product: box", "without a pause", "irregular mesh", "box, floats",
                       "box, 21 numbers", "plastic solve", "with set-ups", "least with set-ups", "`patch_ordered` takes", "take"], lines, 2)
