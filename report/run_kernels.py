"""Tables of kernels of one run: each element at the largest size with times, then orders, shares of plastic elements,
meshes, precisions, laws and conditions, where the run has several."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from report import model as model_
from report.captions import IN_TURNS
from report.model import Model, Point, interval
from report.render.tables import Cell, Table, kinds
from report.rows import USUAL, Row
from report.run_cells import Column, Entry, code, column_cells, gain, median_of, milliseconds, number, small, throughput
from report.set_ups import break_even
from report.text import count
from report.words import CHOOSES, NOT_A_STRATEGY, PART, PATTERNS, SHARES_ALIKE, in_order

OPERATIONS = ("residual", "material", "jacvec_elastic", "jacvec", "jacvec_full", "diagonal")
ELEMENTS = ("hex8", "tet4", "hex27", "tet10", "hex8_naive", "tet4_p4")


@dataclasses.dataclass(frozen=True)
class Scene:
    """What all strategies of a table have in common."""

    backend: str
    element: str
    mesh: str  # cubes of all sizes are one, "box", unless their sides were asked for: box119x119x119
    order: str
    plastic: float
    plastic_pattern: str
    precision: str
    hardening: str
    condition: str
    operand: str
    n_dof: int

    def but(self, **changed: Any) -> Scene:
        return dataclasses.replace(self, **changed)

    def like(self, **wanted: object) -> bool:
        return all(getattr(self, name) == value for name, value in wanted.items())

    @property
    def usual(self) -> bool:
        return self.like(**USUAL)

    @property
    def scale(self) -> float:
        return 1e-6 if self.backend == "host" else 1e-9

    @property
    def unit(self) -> str:
        return "MDoF/s" if self.backend == "host" else "GDoF/s"

    @property
    def where(self) -> str:
        mesh = "" if self.mesh == "box" else f"{self.mesh}, "
        return f"{self.element} on {self.backend}, {mesh}{self.n_dof} DoF"


def scene_of(row: Row) -> Scene:
    mesh = "box" if re.fullmatch(r"box\d+-distorted", row["case"]) else row["case"].replace("-distorted", "")
    return Scene(row["backend"], row["element"], mesh, row["order"], float(row["plastic"]), row["plastic_pattern"],
                 row["precision"], row["hardening"], row["condition"], row["operand"], row["n_dof"])


class Kernels:
    """Rows of kernels.csv by scene, operation and strategy."""

    def __init__(self, model: Model) -> None:
        self.at: dict[Scene, dict[str, Column]] = {}
        for p in model.of("kernels.csv"):
            self.entry(p.row).point = p
        for refused in model.refused:
            if refused.kind == "kernels.csv":
                self.entry(refused.row).lost.append(refused.row["status"])

    def entry(self, row: Row) -> Entry:
        column = self.at.setdefault(scene_of(row), {}).setdefault(row["operation"], {})
        return column.setdefault(row["variant"], Entry())

    def find(self, **wanted: object) -> list[Scene]:
        """With times; the largest last."""
        return sorted((s for s in self.at if s.like(**wanted) and self.points(s)), key=lambda s: s.n_dof)

    def points(self, scene: Scene) -> list[Point]:
        return [e.point for column in self.at.get(scene, {}).values() for e in column.values() if e.point]

    def column(self, scene: Scene, operation: str) -> Column:
        return self.at.get(scene, {}).get(operation, {})

    def operations(self, scene: Scene) -> list[str]:
        """Full tangents only where they were measured."""
        return [o for o in OPERATIONS if o != "jacvec_full" or self.column(scene, o)]

    def strategies(self, scenes: Iterable[Scene]) -> list[str]:
        return in_order(s for scene in scenes for column in self.at.get(scene, {}).values() for s in column)

    @functools.cached_property
    def groups(self) -> list[tuple[str, str]]:
        """Backends and elements, GPUs first."""
        there = {(s.backend, s.element) for s in self.at}
        return sorted(there, key=lambda g: (g[0] != "cuda", ELEMENTS.index(g[1])))

    @functools.cached_property
    def usual_order(self) -> str:
        """Older runs have no order auto."""
        orders = {s.order for s in self.at}
        return next((o for o in ("auto", "lexicographic") if o in orders), min(orders, default="auto"))

    def main(self, backend: str, element: str) -> Scene | None:
        """The largest box in the usual setting; where there is none, any other largest mesh."""
        wanted = USUAL | {"order": self.usual_order, "backend": backend, "element": element}
        found = self.find(mesh="box", **wanted) or self.find(**wanted) or self.find(backend=backend, element=element)
        return found[-1] if found else None

    @functools.cached_property
    def changing(self) -> set[tuple[str, str, bool]]:
        """Backend, strategy and whether of points: whose sums changed their bits in any row in doubles."""
        return {(scene.backend, s, operation == "material") for scene, columns in self.at.items()
                if scene.like(precision="double", hardening="linear") for operation, column in columns.items()
                for s, e in column.items() if e.point and any(row["deterministic"] == 0 for row in e.point.rows)}


# --- what stands above a table -------------------------------------------------------------------------------


def order_words(kernels: Kernels, scene: Scene) -> str:
    """Of auto, what it was for each strategy."""
    if scene.order != "auto":
        return f"{scene.order} order"
    numbering = {p.strategy: p.numbering for p in kernels.points(scene) if p.numbering}
    by: dict[str, list[str]] = {}
    for s in in_order(numbering):
        by.setdefault(numbering[s], []).append(code(s))
    told = "; ".join(f"{name} for {', '.join(who)}" for name, who in sorted(by.items()))
    return f"order auto ({told})" if told else "order auto"


def device_words(p: Point) -> str:
    if p.backend == "cuda":
        return p.device
    return f"{p.device}, {p.threads} thread{'s' if p.threads > 1 else ''}"


def about(kernels: Kernels, scene: Scene, words: str = "") -> str:
    points = kernels.points(scene)
    pattern = "" if scene.plastic_pattern == USUAL["plastic_pattern"] else f", {scene.plastic_pattern}"
    special = "".join(f", {getattr(scene, name)}" for name in ("precision", "hardening", "condition", "operand")
                      if getattr(scene, name) != USUAL[name])
    return f"{device_words(points[0])}, {order_words(kernels, scene)}, {100 * scene.plastic:g} % plastic{pattern}" \
        f"{special}. {kinds(p.time for p in points)}.{words}"


# --- the largest size -----------------------------------------------------------------------------------------


def steadiness(columns: dict[str, Column], strategy: str) -> str:
    """Whether its sums have the same bits each time, or where not."""
    told: dict[str, bool] = {}
    for operation in OPERATIONS:
        e = columns.get(operation, {}).get(strategy)
        rows = e.point.rows if e and e.point else ()
        known = [row["deterministic"] for row in rows if row["deterministic"] is not None]
        if known:
            told[operation] = all(known)
    if not told or all(told.values()):
        return "yes" if told else ""
    changing = [o for o, steady in told.items() if not steady]
    return "no" if len(changing) == len(told) else f"not {', '.join(changing)}"


def price(kernels: Kernels, scene: Scene, operation: str) -> str:
    """Throughput of the best reproducible strategy over that of the best of all."""
    points = [e.point for s, e in kernels.column(scene, operation).items()
              if e.point and s not in NOT_A_STRATEGY + CHOOSES]
    steady = [p for p in points if all(row["deterministic"] == 1 for row in p.rows)
              and (scene.backend, p.strategy, operation == "material") not in kernels.changing]
    if not steady:
        return ""
    best, ordered = (min(some, key=lambda p: p.time.value) for some in (points, steady))
    return "1" if best is ordered else f"{interval(model_.ratio(best, ordered))} {code(ordered.strategy)}"


def set_up(kernels: Kernels, scene: Scene, strategy: str) -> float | None:
    """Seconds; all points of a scene have the same."""
    return next((p.set_up for p in kernels.points(scene) if p.strategy == strategy), None)


def operations(kernels: Kernels, scene: Scene) -> Table:
    columns = kernels.at[scene]
    strategies, there = kernels.strategies([scene]), kernels.operations(scene)
    parts = [column_cells(strategies, columns.get(o, {}), lambda e: throughput(e, scene.scale)) for o in there]
    rows = []
    for i, s in enumerate(strategies):
        own = [p for p in kernels.points(scene) if p.strategy == s]
        of = own[0].row if own else {}
        errors = [row["error"] for p in own for row in p.rows if row["error"] is not None]
        memory = [number(of.get(name), 1 / scene.n_dof, "{:.0f}".format) for name in ("bytes", "bytes_work")]
        rows.append([Cell(code(s)), *(part[i] for part in parts), *memory,
                     number(set_up(kernels, scene, s), 1e3, milliseconds),
                     number(max(errors, default=None), form=small), Cell(steadiness(columns, s))])
    ceilings = []
    for o in there:
        told = [p for e in columns.get(o, {}).values() if (p := e.point) and p.row["ceiling_share"]]
        ceiling = scene.n_dof / told[0].row["median_s"] / told[0].row["ceiling_share"] if told else None
        ceilings.append(number(ceiling, scene.scale))
    rest = [Cell("")] * 5
    if any(c.text for c in ceilings):
        rows.append([Cell("*ceiling*"), *ceilings, *rest])
    prices = [Cell(price(kernels, scene, o)) for o in there]
    if any(c.text for c in prices):
        rows.append([Cell("*best reproducible / best of all*"), *prices, *rest])
    return Table("operations", f"{scene.where}: {scene.unit}", about(kernels, scene),
                 ["strategy", *there, "memory, B/DoF", "own memory, B/DoF", "set-up ms", "largest error",
                  "bitwise reproducible"], rows)


def repaid(kernels: Kernels, scene: Scene, operation: str, strategy: str, other: str) -> Cell:
    own, rival = ({o: e.point for o, column in kernels.at[scene].items() if (e := column.get(s)) and e.point}
                  for s in (strategy, other))
    n = break_even(own, rival, operation)
    return number(None if n is None else float(n), form="{:.0f}".format)


def set_ups(kernels: Kernels, scene: Scene) -> Table | None:
    products = ("jacvec_elastic", "jacvec")
    rows, told = [], False
    for s in kernels.strategies([scene]):
        seconds = set_up(kernels, scene, s)
        if s in NOT_A_STRATEGY or seconds is None:
            continue
        times = [e.point.time.value if (e := kernels.column(scene, o).get(s)) and e.point else None for o in products]
        repays = [repaid(kernels, scene, o, s, other) for other in ("element_atomic", "assembled_bsr")
                  for o in products]
        told = told or any(c.text for c in repays)
        rows.append([Cell(code(s)), number(seconds, 1e3, milliseconds),
                     *(number(seconds / t if t else None, form="{:.0f}".format) for t in times), *repays])
    if not told:
        return None
    return Table("set-ups", f"{scene.where}: set-up and break-even",
                 "Break-even: products after which the set-up is repaid by faster products; empty: never. With "
                 "matrices, set-ups are counted with one call of `material`, which assembles.",
                 ["strategy", "set-up ms", "in products of `jacvec_elastic`", "of `jacvec`",
                  "break-even with `element_atomic`, `jacvec_elastic`", "`jacvec`",
                  "with `assembled_bsr`, `jacvec_elastic`", "`jacvec`"], rows)


def energies(kernels: Kernels, scene: Scene) -> Table | None:
    rows = []
    there = [o for o in kernels.operations(scene) if any(
        row["nj_per_dof"] is not None for e in kernels.column(scene, o).values() if e.point for row in e.point.rows)]
    for s in kernels.strategies([scene]):
        of = [kernels.column(scene, o).get(s, Entry()).point for o in there]
        cells = [number(median_of(row["nj_per_dof"] for row in p.rows) if p else None) for p in of]
        if any(c.text for c in cells):
            rows.append([Cell(code(s)), *cells])
    if not rows:
        return None
    return Table("energies", f"{scene.where}: energy, nJ/DoF", about(kernels, scene), ["strategy", *there], rows)


# --- what a run has several of --------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A column: throughput of an operation, or with `over` its ratio to that of another scene, or the largest error."""

    head: str
    scene: Scene
    operation: str = "jacvec"
    over: Scene | None = None
    error: bool = False


def compared(kernels: Kernels, title: str, caption: str, wanted: Sequence[Wanted]) -> Table:
    strategies = kernels.strategies(w.scene for w in wanted)
    columns = []
    for w in wanted:
        column = kernels.column(w.scene, w.operation)
        if w.error:
            errors = {s: [row["error"] for p in kernels.points(w.scene) if p.strategy == s for row in p.rows
                          if row["error"] is not None] for s in strategies}
            columns.append([number(max(errors[s], default=None), form=small) for s in strategies])
        elif w.over:
            base = kernels.column(w.over, w.operation)
            columns.append([gain(column.get(s), base.get(s)) for s in strategies])
        else:
            columns.append(column_cells(strategies, column, functools.partial(throughput, scale=w.scene.scale)))
    rows = [[Cell(code(s)), *(column[i] for column in columns)] for i, s in enumerate(strategies)]
    return Table("compared", title, caption, ["strategy", *(w.head for w in wanted)],
                 [row for row in rows if any(c.text for c in row[1:])])


def over_axis(kernels: Kernels, base: Scene, axis: str, title: str, head: Callable[[object], str]) -> Table | None:
    """jacvec over all values of an axis that have times at the largest common size."""
    by_size: dict[int, list[Scene]] = {}
    found = [s for s in kernels.at if s.but(n_dof=0, **{axis: None}) == base.but(n_dof=0, **{axis: None})]
    most = {getattr(s, axis) for s in found if kernels.points(s)}
    for s in sorted(found, key=lambda s: (axis != "order") and getattr(s, axis)):
        if kernels.column(s, "jacvec") and kernels.points(s):
            by_size.setdefault(s.n_dof, []).append(s)
    sizes = [n for n, some in by_size.items() if len(some) == len(most)]
    if len(most) < 2 or not sizes:
        return None
    some = by_size[max(sizes)]
    return compared(kernels, f"{some[0].where}: jacvec over {title}, {base.unit}",
                    f"{kinds(p.time for s in some for p in kernels.points(s))}.",
                    [Wanted(head(getattr(s, axis)), s) for s in some])


def beside_part(kernels: Kernels, part: Scene) -> Table | None:
    """The state of a part, and as many plastic elements elsewhere on the same mesh."""
    others = {}
    for pattern in PATTERNS:
        there = [s for s in kernels.find(plastic_pattern=pattern)
                 if s.but(plastic=part.plastic, plastic_pattern=PART) == part and abs(s.plastic - part.plastic) <= SHARES_ALIKE]
        if there:
            others[pattern] = min(there, key=lambda s: abs(s.plastic - part.plastic))
    wanted = []
    for o in ("residual", "material", "jacvec"):
        if kernels.column(part, o):
            wanted.append(Wanted(f"{o}, {PART}", part, o))
            wanted += [Wanted(f"{pattern} / {PART}", s, o, part) for pattern, s in others.items() if kernels.column(s, o)]
    if not others:
        return None
    shares = ", ".join(f"{100 * s.plastic:g} % {pattern}" for pattern, s in others.items())
    return compared(kernels, f"{part.where}: the state of a part and shares of plastic elements, {part.unit}",
                    about(kernels, part, f" Beside it {shares}."), wanted)


def over_meshes(kernels: Kernels, backend: str, element: str, operation: str) -> Table | None:
    """Each mesh at its largest size."""
    usual = USUAL | {"order": kernels.usual_order, "backend": backend, "element": element}
    largest = {s.mesh: s for s in kernels.find(**usual)}
    if len(largest) < 2:
        return None
    scenes = list(largest.values())
    return compared(kernels, f"{element} on {backend}: {operation} over meshes, {scenes[0].unit}",
                    f"{kinds(p.time for s in scenes for p in kernels.points(s))}.",
                    [Wanted(f"{s.mesh}, {count(s.n_dof)}", s, operation) for s in scenes])


def on_mesh(kernels: Kernels, scene: Scene) -> Table:
    """All operations on a mesh that is no cube, and products compared with the box of nearest size."""
    boxes = [s for s in kernels.find(mesh="box") if s.but(n_dof=0) == scene.but(mesh="box", n_dof=0)]
    box = min(boxes, key=lambda s: abs(math.log(s.n_dof / scene.n_dof)), default=None)
    wanted = []
    for o in kernels.operations(scene):
        wanted.append(Wanted(o, scene, o))
        if box and o.startswith("jacvec"):
            wanted.append(Wanted("of the box", scene, o, box))
    beside = f", and the box of {box.n_dof} DoF" if box else ""
    return compared(kernels, f"{scene.where}{beside}: {scene.unit}", about(kernels, scene), wanted)


def over_precisions(kernels: Kernels, scene: Scene, operation: str) -> Table | None:
    there = [s for kind in ("double", "mixed", "single") if kernels.points(s := scene.but(precision=kind))]
    floats = [s for s in there if s.precision != "double"]
    if not floats:
        return None
    wanted = [Wanted(s.precision, s, operation) for s in there]
    if there != floats:
        wanted += [Wanted(f"{s.precision} / double", s, operation, there[0]) for s in floats]
    return compared(kernels, f"{scene.where}: {operation} in each precision, {scene.unit}",
                    f"Errors are the largest of all operations against the oracle, which is in double precision. "
                    f"{kinds(p.time for s in there for p in kernels.points(s))}.",
                    wanted + [Wanted(f"error {s.precision}", s, operation, error=True) for s in floats])


def over_laws(kernels: Kernels, scene: Scene) -> Table | None:
    voce = scene.but(hardening="voce")
    if not kernels.points(voce):
        return None
    wanted = [w for o in ("residual", "material") for w in (
        Wanted(f"{o} linear", scene, o), Wanted(f"{o} voce", voce, o), Wanted("voce / linear", voce, o, scene))]
    return compared(kernels, f"{scene.where}: laws of hardening, {scene.unit}",
                    "The other operations read stored tangents, whatever the law. "
                    f"{kinds(p.time for p in kernels.points(voce))}.", wanted)


def over_conditions(kernels: Kernels, scene: Scene) -> Table | None:
    forms = {words: scene.but(condition=condition, operand=operand) for words, condition, operand in (
        ("sustained", "sustained", "random"), ("cold", "cold", "random"), ("smooth", "burst", "smooth"),
        ("sustained, smooth", "sustained", "smooth"))}
    others = {words: s for words, s in forms.items() if kernels.points(s)}
    if not others:
        return None
    wanted = []
    for o in OPERATIONS:
        there = {words: s for words, s in others.items() if kernels.column(s, o)}
        wanted += [Wanted(f"{o} burst", scene, o)] if there else []
        wanted += [w for words, s in there.items()
                   for w in (Wanted(words, s, o), Wanted(f"{words} / burst", s, o, scene))]
    return compared(kernels, f"{scene.where}: burst and other conditions, {scene.unit}",
                    f"Burst: {IN_TURNS}, random operands. Sustained: one operation without a pause. "
                    "Cold: calls that find none of their data in a cache. Smooth: operands as in a solve. "
                    f"{kinds(p.time for s in others.values() for p in kernels.points(s))}.", wanted)


def in_meshes(meshes: Iterable[str]) -> list[str]:
    """The box first."""
    return sorted(dict.fromkeys(meshes), key=lambda m: (m != "box", m))


def kernel_tables(model: Model) -> list[Table]:
    kernels = Kernels(model)
    found: list[Table | None] = []
    for backend, element in kernels.groups:
        if scene := kernels.main(backend, element):
            found += [operations(kernels, scene), set_ups(kernels, scene)]
    found += [energies(kernels, s) for s in kernels.find()]
    for backend, element in kernels.groups:
        usual: Row = USUAL | {"order": kernels.usual_order, "backend": backend, "element": element}
        meshes = in_meshes(s.mesh for s in kernels.find(backend=backend, element=element))
        for mesh in meshes:
            base = Scene(mesh=mesh, n_dof=0, **usual)
            found.append(over_axis(kernels, base, "order", "node orders", str))
            found += [over_axis(kernels, base.but(plastic_pattern=pattern), "plastic", f"shares of plastic elements, {pattern}",
                                lambda share: f"plastic {share:g}") for pattern in PATTERNS]
            parts = kernels.find(backend=backend, element=element, mesh=mesh, plastic_pattern=PART)
            found += [table for s in parts for table in (on_mesh(kernels, s), beside_part(kernels, s))]
        found += [over_meshes(kernels, backend, element, o) for o in ("jacvec_elastic", "jacvec")]
        found += [on_mesh(kernels, s) for mesh in meshes if mesh != "box" for s in kernels.find(mesh=mesh, **usual)]
        for mesh in meshes:
            there = kernels.find(backend=backend, element=element, mesh=mesh, order=kernels.usual_order, plastic=1.0,
                                 plastic_pattern="clustered")
            scenes = sorted({s.but(precision="double", hardening="linear", condition="burst", operand="random")
                             for s in there}, key=lambda s: s.n_dof)
            for s in scenes:
                found += [over_precisions(kernels, s, o) for o in ("residual", "jacvec_elastic", "jacvec")]
                found += [over_laws(kernels, s), over_conditions(kernels, s)]
    return [t for t in found if t]
