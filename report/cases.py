"""What the case of a row says: the mesh, and of several ranks how they stand and communicate."""

from __future__ import annotations

import dataclasses
import functools
import math
import pathlib
import re
from collections.abc import Iterable, Sequence

from report.rows import Fault, Row


# Of whole solves whose errors are compared (report/accuracy.py): the mesh, steps between its nodes, of the bracket
# refinements, and the load.
STUDIED = re.compile(r"(tube|beam|bracket)(\d+)-(linear|steps)")
# Of meshes, by how a case begins.
KINDS = {"box": "box", "irregular": "irregular", "bracket": "bracket", "br_": "bracket"}


@dataclasses.dataclass(frozen=True)
class Mesh:
    """What a row's case says: the kind of mesh in words, and whether it is a cube of cells; of a box that is none, words
    with its cells, because another one of nearly the same size is another mesh."""

    words: str
    cube: bool
    cells: str = ""  # 127×128×129

    @property
    def label(self) -> str:
        return f"{self.words} {self.cells}".rstrip()


def kind_of_mesh(case: str) -> str:
    """box, irregular or bracket, in the case of any row; "" of others."""
    name = ranked_case(case).mesh if case.startswith(("strong-", "weak-")) else case
    return next((kind for start, kind in KINDS.items() if name.startswith(start)), "")


@functools.cache
def shape_of_mesh(case: str) -> str:
    """The same, with slender boxes, tubes and beams by themselves."""
    name = ranked_case(case).mesh if case.startswith(("strong-", "weak-")) else case
    kind = kind_of_mesh(name)
    cells = re.match(r"box(\d+)x(\d+)x(\d+)", name)
    if cells and is_slender([int(n) for n in cells.groups()]):
        return "slender"
    studied = STUDIED.fullmatch(name)
    return kind or (studied[1] if studied else "")


def is_slender(cells: Sequence[int]) -> bool:
    return max(cells) >= 4 * min(cells)


@functools.cache
def mesh_of(case: str) -> Mesh:
    name = re.sub(r"-distorted", "", case)
    layers = ", four materials" if "-materials4" in name else ""
    name = name.replace("-materials4", "")
    if cells := re.fullmatch(r"box(\d+)(?:x(\d+)x(\d+))?", name):
        n = [int(c) for c in cells.groups(cells[1])]
        of = "" if len(set(n)) == 1 else "×".join(map(str, n))
        if is_slender(n):
            return Mesh("slender box" + layers, False, of)
        return Mesh("box" + layers, not of and not layers, of)
    kind = kind_of_mesh(name)
    return Mesh((kind if kind not in ("", "box") else name) + layers, False)


@dataclasses.dataclass(frozen=True)
class Ranked:
    """What the case of a row of scaling.csv says: strong-1x2x2-nccl-box45x45x45."""

    kind: str  # strong: one mesh for all numbers of ranks; weak: one for each rank
    grid: str  # ranks along the axes
    communication: str  # threads, nccl, peer or mpi
    mesh: str  # may have hyphens

    def without(self, parts: Iterable[str]) -> Ranked:
        """To compare cases that may differ in these parts."""
        return dataclasses.replace(self, **dict.fromkeys(parts, ""))


CASE_PARTS = tuple(field.name for field in dataclasses.fields(Ranked))


def ranked_case(case: str) -> Ranked:
    """Fault where it is none."""
    words = case.split("-", 3)
    if len(words) < 4 or words[0] not in ("strong", "weak"):
        raise Fault(f"case {case!r}: is not like strong-1x2x2-nccl-box45x45x45")
    return Ranked(*words)


def cells_per_rank(mesh: str, ranks: int) -> int:
    """Fault where it is no box."""
    if not re.fullmatch(r"box\d+(x\d+)*", mesh):
        raise Fault(f"mesh {mesh!r}: of one size per rank are boxes alone")
    return math.prod(int(n) for n in mesh.removeprefix("box").split("x")) // ranks


def check_ranks(path: pathlib.Path, read: Iterable[Row]) -> None:
    """Fault where ranks of one mesh stood in two grids or communicated in two ways: their times are not to be mixed."""
    form: dict[tuple, tuple[str, str]] = {}
    for row in read:
        try:
            case = ranked_case(row["case"])
            same = (row["n_dof"], case.mesh) if case.kind == "strong" else cells_per_rank(case.mesh, row["ranks"])
        except Fault as fault:
            raise Fault(f"{path}: {fault}") from fault
        key = (row["backend"], row["element"], case.kind, same, row["ranks"])
        if form.setdefault(key, (case.grid, case.communication)) != (case.grid, case.communication):
            raise Fault(f"{path}: {row['case']} has {row['ranks']} ranks as {'-'.join(form[key])}, too: each needs a "
                        "file of its own")
