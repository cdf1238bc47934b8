"""The bracket of bench/problems/bracket.json: what the work of its load tends to as meshes of it become finer.

Straight refinement keeps the polygons of the coarse mesh at holes, so that tetrahedra and hexahedra tend to two bodies,
and each has its own reference. It is what the three finest meshes with quadratic elements tend to (Richardson), of those
that `solve` solved and whose results lie below results/: bracket4-tet10.json is of the coarse mesh refined three times,
whose edges quadratic elements halve once more. Its uncertainty is by how much it differs from what the three meshes before
tend to: a fourth is needed. Works of rows are not read.
"""

from __future__ import annotations

import functools
import json
import pathlib
import re

from report.model import ROOT
from report.richardson import Reference, extrapolated
from report.rows import Fault
from report.text import table
from report.words import ELEMENT

RESULTS = ROOT / "results"
QUADRATIC = {"tet4": "tet10", "hex8": "hex27", "tet10": "tet10", "hex27": "hex27"}  # elements of the same body


def work_of(path: pathlib.Path) -> tuple[int, float]:
    """Refinements of nodes, and the work of the load: in elasticity twice the energy. Fault where the file does not tell."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        mesh, step = re.fullmatch(r"bracket(\d)\.msh", told["mesh"]), told["steps"][-1]
        if not mesh or (told["problem"], told["status"], told["element"]) != ("bracket", "converged", path.stem[9:]):
            raise ValueError(f"{told['problem']}, {told['mesh']}, {told['element']}, {told['status']}")
        if step["plastic_gp"]:
            raise ValueError("it is not elastic")
        return int(mesh[1]), 2 * float(step["elastic_energy"])
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise Fault(f"{path}: no reference: {error}") from error


def solved(element: str, results: pathlib.Path) -> dict[int, tuple[float, pathlib.Path]]:
    """By refinements: the work, and the file, of several the newest."""
    files = sorted(results.glob(f"*/*/bracket[0-9]-{QUADRATIC[element]}.json"), key=lambda path: path.parent.name)
    return dict(sorted((levels, (work, path)) for path in files for levels, work in [work_of(path)]))


@functools.cache
def reference(element: str, results: pathlib.Path = RESULTS) -> Reference | None:
    """None where fewer than four meshes were solved, or they do not converge."""
    works = {2**levels: work for levels, (work, _) in solved(element, results).items()}
    finest = max(works, default=0)
    value, before = extrapolated(works), extrapolated({n: work for n, work in works.items() if n < finest})
    return None if value is None or before is None else Reference(value, abs(before / value - 1))


def lines(up: str, results: pathlib.Path = RESULTS) -> list[str]:
    """A table: how far the work on each mesh is from the reference."""
    head, body = [], []
    for element in ("tet10", "hex27"):
        found, meshes = reference(element, results), solved(element, results)
        if not found:
            raise Fault(f"the bracket with {ELEMENT[element]}: no four meshes below {results} that converge")
        head = ["element", *(f"{n} refinement{'s' * (n > 1)}" for n in meshes), "reference, N mm", "uncertain by"]
        cells = [f"[{found.error(work):.1e}]({up}results/{path.relative_to(results)})" for work, path in meshes.values()]
        body.append([ELEMENT[element], *cells, f"{found.value:.1f}", f"{found.uncertainty:.0e}"])
    return table(head, body, 1)
