"""Tables of one run, as `make bench` shows them: strategies by operation with their intervals, and all that compares with
them. Strategies and operations have the names that the programs take.

Kernels come first: each element at the largest size with times, then orders, shares of plastic elements, meshes,
precisions, laws and conditions, where a run has several. Then whole solves, several ranks, and studies.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Iterable, Sequence

from report import model as model_
from report.figures import in_order
from report.model import CHOOSES, NOT_A_STRATEGY, Model, Point, Time, count, digits, interval
from report.render.tables import Cell, Table, kinds, listed

OPERATIONS = ("residual", "material", "jacvec_elastic", "jacvec", "diagonal")
ELEMENTS = ("hex8", "tet4", "hex8_naive", "tet4_p4")
ABOVE = 1.02  # of its ceiling: the row is marked †
USUAL = {"order": "auto", "plastic": 1.0, "pattern": "clustered", "precision": "double", "hardening": "linear",
         "condition": "burst"}


@dataclasses.dataclass(frozen=True)
class Scene:
    """What all strategies of a table have in common."""

    backend: str
    element: str
    mesh: str  # cubes of all sizes are one, "box", unless their sides were asked for: box119x119x119
    order: str
    plastic: float
    pattern: str
    precision: str
    hardening: str
    condition: str
    n_dof: int

    def but(self, **changed) -> Scene:
        return dataclasses.replace(self, **changed)

    def like(self, **wanted) -> bool:
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


@dataclasses.dataclass
class Entry:
    """Of a strategy and an operation: what was timed, and the status of processes that were not."""

    point: Point | None = None
    lost: list[str] = dataclasses.field(default_factory=list)

    def text(self, words: str) -> str:
        """words: of the time."""
        if not self.point:
            return self.lost[0] if self.lost else ""
        return words + "".join(f"; {self.lost.count(s)} {s}" for s in dict.fromkeys(self.lost))


Column = dict[str, Entry]  # by strategy


def scene_of(row: model_.Row) -> Scene:
    mesh = "box" if re.fullmatch(r"box\d+-distorted", row["case"]) else row["case"].replace("-distorted", "")
    return Scene(row["backend"], row["element"], mesh, row["order"], float(row["plastic"]), row["plastic_pattern"],
                 row["precision"], row["hardening"], row["condition"], row["n_dof"])


def throughput(entry: Entry, scale: float) -> str:
    if not entry.point:
        return entry.text("")
    above = (entry.point.row["ceiling_share"] or 0) > ABOVE
    return entry.text(interval(entry.point.throughput, scale) + (" †" if above else ""))


def gain(one: Entry | None, base: Entry | None) -> Cell:
    """Throughput over that of another point."""
    if not one or not base or not one.point or not base.point:
        return Cell("")
    ratio = model_.ratio(base.point, one.point).times(one.point.n_dof / base.point.n_dof)
    return Cell(interval(ratio), ratio.value)


def column_cells(strategies: Sequence[str], column: Column, words: Callable[[Entry], str]) -> list[Cell]:
    """Bold: the fastest, where its interval overlaps no other one."""
    points = [e.point for s, e in column.items() if e.point and s not in NOT_A_STRATEGY + CHOOSES]
    won = model_.winner(points) if len(points) > 1 else None
    best = won.fastest[0].strategy if won and won.decided else ""
    cells = []
    for s in strategies:
        text = words(column[s]) if s in column else ""
        cells.append(Cell(f"**{text}**" if s == best else text))
    return cells


def code(name: str) -> str:
    return f"`{name}`"


class Kernels:
    """Rows of kernels.csv by scene, operation and strategy."""

    def __init__(self, model: Model) -> None:
        self.at: dict[Scene, dict[str, Column]] = {}
        for p in model.of("kernels.csv"):
            self.entry(p.row).point = p
        for refused in model.refused:
            if refused.kind == "kernels.csv":
                self.entry(refused.row).lost.append(refused.row["status"])

    def entry(self, row: model_.Row) -> Entry:
        column = self.at.setdefault(scene_of(row), {}).setdefault(row["operation"], {})
        return column.setdefault(row["variant"], Entry())

    def find(self, **wanted) -> list[Scene]:
        """With times; the largest last."""
        return sorted((s for s in self.at if s.like(**wanted) and self.points(s)), key=lambda s: s.n_dof)

    def points(self, scene: Scene) -> list[Point]:
        return [e.point for column in self.at.get(scene, {}).values() for e in column.values() if e.point]

    def column(self, scene: Scene, operation: str) -> Column:
        return self.at.get(scene, {}).get(operation, {})

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
    pattern = "" if scene.pattern == "clustered" else f", {scene.pattern}"
    special = "".join(f", {getattr(scene, name)}" for name in ("precision", "hardening", "condition")
                      if getattr(scene, name) != USUAL[name])
    return f"{device_words(points[0])}, {order_words(kernels, scene)}, {100 * scene.plastic:g} % plastic{pattern}" \
        f"{special}. {kinds(p.time for p in points)}.{words}"


# --- kernels --------------------------------------------------------------------------------------------------


def steadiness(columns: dict[str, Column], strategy: str) -> str:
    """Whether its sums have the same bits each time, or where not."""
    told: dict[str, bool] = {}
    for operation in OPERATIONS:
        e = columns.get(operation, {}).get(strategy)
        known = [row["deterministic"] for row in e.point.rows if row["deterministic"] is not None] if e and e.point else []
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


def median_of(values: Iterable[float | None]) -> float | None:
    there = sorted(v for v in values if v is not None)
    return there[len(there) // 2] if there else None


def set_up(kernels: Kernels, scene: Scene, strategy: str) -> float | None:
    """Seconds: the median over processes."""
    return median_of(row["setup_s"] for p in kernels.points(scene) if p.strategy == strategy for row in p.rows)


def number(value: float | None, factor: float = 1.0, form: Callable[[float], str] = digits) -> Cell:
    return Cell("") if value is None else Cell(form(value * factor), value * factor)


def small(value: float) -> str:
    return f"{value:.1e}"


def milliseconds(value: float) -> str:
    return digits(value) if value >= 0.1 else f"{value:.2f}"


def operations(kernels: Kernels, scene: Scene) -> Table:
    columns = kernels.at[scene]
    strategies = kernels.strategies([scene])
    parts = [column_cells(strategies, columns.get(o, {}), lambda e: throughput(e, scene.scale)) for o in OPERATIONS]
    rows = []
    for i, s in enumerate(strategies):
        own = [p for p in kernels.points(scene) if p.strategy == s]
        of = own[0].row if own else {}
        errors = [row["error"] for p in own for row in p.rows if row["error"] is not None]
        memory = [number(of.get(name), 1 / scene.n_dof, "{:.0f}".format) for name in ("bytes", "bytes_work")]
        rows.append([Cell(code(s)), *(part[i] for part in parts), *memory, number(set_up(kernels, scene, s), 1e3, milliseconds),
                     number(max(errors, default=None), form=small), Cell(steadiness(columns, s))])
    ceilings = []
    for o in OPERATIONS:
        of = [p for e in columns.get(o, {}).values() if (p := e.point) and p.row["ceiling_share"]]
        ceilings.append(number(of[0].throughput.value / of[0].row["ceiling_share"] if of else None, scene.scale))
    rest = [Cell("")] * 5
    if any(c.text for c in ceilings):
        rows.append([Cell("*ceiling*"), *ceilings, *rest])
    prices = [Cell(price(kernels, scene, o)) for o in OPERATIONS]
    if any(c.text for c in prices):
        rows.append([Cell("*best reproducible / best of all*"), *prices, *rest])
    return Table("operations", f"{scene.where}: {scene.unit}", about(kernels, scene),
                 ["strategy", *OPERATIONS, "memory, B/DoF", "own memory, B/DoF", "set-up ms", "largest error",
                  "bitwise reproducible"], rows)


def break_even(more: float, saved: float) -> int | None:
    """Products after which a strategy has taken no longer than another one: seconds that its set-up takes longer, over
    those that a product takes less. 0: at once; None: never."""
    if saved <= 0:
        return None
    return math.ceil(more / saved) if more > 0 else 0


def repaid(kernels: Kernels, scene: Scene, operation: str, strategy: str, other: str) -> Cell:
    """Set-ups with one call of material where a matrix is one of the two, because it is assembled there."""
    if strategy == other:
        return Cell("")
    parts = []
    for s in (strategy, other):
        before, product, material = set_up(kernels, scene, s), *(kernels.column(scene, o).get(s, Entry()).point
                                                                 for o in (operation, "material"))
        matrix = strategy.startswith("assembled") or other.startswith("assembled")
        if before is None or not product or matrix and not material:
            return Cell("")
        parts.append((before + (material.time.value if matrix else 0.0), product.time.value))
    n = break_even(parts[0][0] - parts[1][0], parts[1][1] - parts[0][1])
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
                 "Break-even: products after which the set-up is repaid by faster products; empty: never. With matrices, "
                 "set-ups are counted with one call of `material`, which assembles.",
                 ["strategy", "set-up ms", "in products of `jacvec_elastic`", "of `jacvec`",
                  "break-even with `element_atomic`, `jacvec_elastic`", "`jacvec`",
                  "with `assembled_bsr`, `jacvec_elastic`", "`jacvec`"], rows)


def energies(kernels: Kernels, scene: Scene) -> Table | None:
    rows = []
    for s in kernels.strategies([scene]):
        of = [kernels.column(scene, o).get(s, Entry()).point for o in OPERATIONS]
        cells = [number(median_of(row["nj_per_dof"] for row in p.rows) if p else None) for p in of]
        if any(c.text for c in cells):
            rows.append([Cell(code(s)), *cells])
    if not rows:
        return None
    return Table("energies", f"{scene.where}: energy, nJ/DoF", about(kernels, scene), ["strategy", *OPERATIONS], rows)


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
            columns.append(column_cells(strategies, column, lambda e, w=w: throughput(e, w.scene.scale)))
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


def over_meshes(kernels: Kernels, backend: str, element: str, operation: str) -> Table | None:
    """Each mesh at its largest size."""
    largest = {s.mesh: s for s in kernels.find(**USUAL | {"order": kernels.usual_order}, backend=backend, element=element)}
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
    for o in OPERATIONS:
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
    wanted = [w for o in ("residual", "material") for w in (Wanted(f"{o} linear", scene, o), Wanted(f"{o} voce", voce, o),
                                                           Wanted("voce / linear", voce, o, scene))]
    return compared(kernels, f"{scene.where}: laws of hardening, {scene.unit}",
                    "The other operations read stored tangents, whatever the law. "
                    f"{kinds(p.time for p in kernels.points(voce))}.", wanted)


def over_conditions(kernels: Kernels, scene: Scene) -> Table | None:
    others = [s for kind in ("sustained", "cold") if kernels.points(s := scene.but(condition=kind))]
    if not others:
        return None
    wanted = []
    for o in OPERATIONS:
        there = [s for s in others if kernels.column(s, o)]
        wanted += [Wanted(f"{o} burst", scene, o)] if there else []
        wanted += [w for s in there for w in (Wanted(s.condition, s, o), Wanted(f"{s.condition} / burst", s, o, scene))]
    return compared(kernels, f"{scene.where}: burst, sustained and cold, {scene.unit}",
                    "Short samples after a pause, one operation without a pause, and calls that find none of their data "
                    f"in a cache. {kinds(p.time for s in others for p in kernels.points(s))}.", wanted)


def kernel_tables(model: Model) -> list[Table]:
    kernels = Kernels(model)
    found: list[Table | None] = []
    for backend, element in kernels.groups:
        if scene := kernels.main(backend, element):
            found += [operations(kernels, scene), set_ups(kernels, scene)]
    found += [energies(kernels, s) for s in kernels.find()]
    for backend, element in kernels.groups:
        usual = USUAL | {"order": kernels.usual_order, "backend": backend, "element": element}
        meshes = in_meshes(s.mesh for s in kernels.find(backend=backend, element=element))
        for mesh in meshes:
            base = Scene(mesh=mesh, n_dof=0, **usual)
            found.append(over_axis(kernels, base, "order", "node orders", str))
            found += [over_axis(kernels, base.but(pattern=pattern), "plastic", f"shares of plastic elements, {pattern}",
                                lambda share: f"plastic {share:g}") for pattern in ("clustered", "scattered", "zones")]
        found += [over_meshes(kernels, backend, element, o) for o in ("jacvec_elastic", "jacvec")]
        found += [on_mesh(kernels, s) for mesh in meshes if mesh != "box" for s in kernels.find(mesh=mesh, **usual)]
        for mesh in meshes:
            scenes = sorted({s.but(precision="double", hardening="linear", condition="burst")
                             for s in kernels.find(backend=backend, element=element, mesh=mesh, order=kernels.usual_order,
                                                   plastic=1.0, pattern="clustered")}, key=lambda s: s.n_dof)
            for s in scenes:
                found += [over_precisions(kernels, s, o) for o in ("residual", "jacvec_elastic", "jacvec")]
                found += [over_laws(kernels, s), over_conditions(kernels, s)]
    return [t for t in found if t]


def in_meshes(meshes: Iterable[str]) -> list[str]:
    """The box first."""
    return sorted(dict.fromkeys(meshes), key=lambda m: (m != "box", m))


# --- whole solves ---------------------------------------------------------------------------------------------

PHASES = {
    "material": "`material`", "residual": "`residual`", "jacvec": "`jacvec`",
    "precondition_product": "products of the preconditioner", "precondition": "preconditioner",
    "precondition_transfer": "its transfers", "precondition_coarse": "its coarser levels",
    "precondition_level1": "its level 1", **{f"precondition_level{i}": f"level {i}" for i in range(2, 7)},
    "orthogonalization": "Krylov vectors", "reduction": "sums over ranks", "exchange": "exchange", "host": "host",
    "other": "other",
}
OWN = ("material", "residual", "jacvec", "precondition_product")  # of the strategy


def plain_time(time: Time, unit: float) -> str:
    return interval(time, 1 / unit) if time.high > time.low else digits(time.value / unit)


def solve_tables(model: Model) -> list[Table]:
    """For each backend, case and element what whole solves take, and where the time of a Newton iteration goes."""
    groups: dict[tuple[str, str, str], dict[tuple, dict[str, Entry]]] = {}

    def entry(row: model_.Row) -> Entry:
        case = row["case"].removesuffix("-peer")
        ranks = f"{row['ranks']}" + (", peer" if case != row["case"] else "")
        line = (row["variant"], row["precondition"], ranks)
        lines = groups.setdefault((row["backend"], case, row["element"]), {})
        return lines.setdefault(line, {}).setdefault(row["operation"], Entry())

    for p in model.of("solves.csv"):
        entry(p.row).point = p
    errors: dict[int, float] = {}
    for refused in model.refused:
        if refused.kind == "solves.csv":
            e = entry(refused.row)
            e.lost.append(refused.row["status"])
            errors[id(e)] = refused.row["error"]
    tables = []
    for (backend, case, element), lines in groups.items():
        points = [e.point for of in lines.values() for e in of.values() if e.point]
        solves = [p for p in points if p.operation == "solve"]
        more = next((o for of in lines.values() for o in of if o.startswith("solve_")), "solve_user")
        where = f"{case}, {element} on {backend}"
        caption = f"{solves[0].n_dof} DoF, {solves[0].device}" + (
            f", {max(p.threads * p.ranks for p in solves)} threads" if backend == "host" else "") + \
            f". Milliseconds. {kinds(p.time for p in solves)}." if solves else "No solve has a time."
        order = sorted(lines.items(), key=lambda line: (line[0][1], line[0][2], in_order([s for s, *_ in lines]).index(
            line[0][0])))
        rows = []
        for (strategy, precondition, ranks), of in order:
            solve = of.get("solve", Entry())
            p = solve.point
            before, other = of.get("precondition_setup", Entry()), of.get(more, Entry())
            error = [row["error"] for row in p.rows if row["error"] is not None] if p else [errors.get(id(solve))]
            iterations = [Cell(str(p.row[name]), p.row[name]) for name in ("newton_iterations", "krylov_iterations")] \
                if p else [Cell(""), Cell("")]
            rows.append([Cell(code(strategy)), Cell(precondition), Cell(ranks), *iterations,
                         number(median_of(row["setup_s"] for row in p.rows) if p else None, 1e3, milliseconds),
                         Cell(before.text(plain_time(before.point.time, 1e-3)) if before.point else ""),
                         Cell(solve.text(interval(p.time, 1e3) if p else "")),
                         Cell(other.text(interval(other.point.time, 1e3) if other.point else "")),
                         number(p.time.value / p.newton_iterations if p and p.newton_iterations else None, 1e3),
                         number(max((x for x in error if x is not None), default=None), form=small)])
        tables.append(Table("solves", where, caption,
                            ["strategy", "preconditioner", "ranks", "Newton", "Krylov", "set-up", "preconditioner's set-up",
                             "solve", "user time" if more == "solve_user" else "solve, graphs", "one Newton iteration",
                             "error"], rows, words=2))
        tables += of_phases(where, order)
    return tables


def of_phases(where: str, order: Sequence[tuple[tuple[str, str, str], dict[str, Entry]]]) -> list[Table]:
    there = [phase for phase in PHASES if any(phase in of for _, of in order)]
    rows = []
    for (strategy, precondition, ranks), of in order:
        solve = of.get("solve", Entry()).point
        if not solve or not solve.newton_iterations or "material" not in of:
            continue
        times = {phase: of[phase].point.time.value for phase in there if phase in of and of[phase].point}
        own = sum(times.get(phase, 0.0) for phase in OWN) / solve.time.value
        rows.append([Cell(code(strategy)), Cell(precondition), Cell(ranks),
                     *(number(times.get(phase), 1e3 / solve.newton_iterations) for phase in there),
                     Cell(f"{100 * own:.0f} %", own)])
    if not rows:
        return []
    return [Table("phases", f"{where}: one Newton iteration",
                  "Milliseconds by phases, medians. The strategy's share is `material`, `residual`, `jacvec` and the "
                  "products of the preconditioner's finest level.",
                  ["strategy", "preconditioner", "ranks", *(PHASES[p] for p in there), "the strategy's share"], rows,
                  words=2)]


# --- several ranks --------------------------------------------------------------------------------------------

SHARED = ("exchange", "reduce1", "reduce32")  # of no strategy


def percent(share: float) -> str:
    return f"{round(100 * share) or 0}"


def communication(whole: Point | None, own: Point | None) -> str:
    """The share of the time that the exchange of ghosts adds."""
    if not whole or not own:
        return ""
    a, b = whole.time, own.time
    low, high = 1 - b.high / a.low, 1 - b.low / a.high
    if model_.overlap(a, b):
        return f"cannot tell, at most {percent(high)} %"
    return f"{percent(1 - b.value / a.value)} % ({percent(low)} to {percent(high)})"


def hidden(whole: Point | None, own: Point | None, exchange: Point | None) -> str:
    """The share of the exchange's own time by which the operation did not become longer."""
    if not whole or not own or not exchange:
        return ""
    a, b, c = whole.time, own.time, exchange.time
    middle, low, high = (min(max(x, 0.0), 1.0) for x in (
        1 - (a.value - b.value) / c.value, 1 - (a.high - b.low) / c.low, 1 - (a.low - b.high) / c.high))
    if model_.overlap(a, b):
        return "cannot tell" + (f", at least {percent(low)} %" if low >= 0.01 else "")
    return f"{percent(middle)} % ({percent(low)} to {percent(high)})"


def local_of(operation: str) -> str:
    """Without the exchange of ghosts."""
    return operation.removesuffix("_graph") + "_local" + ("_graph" if operation.endswith("_graph") else "")


Ranks = dict[tuple[str, str, int], Entry]  # by strategy, operation and ranks


def scaling_tables(model: Model) -> list[Table]:
    groups: dict[tuple, Ranks] = {}
    about_of: dict[tuple[tuple, int], model_.Row] = {}

    def entry(row: model_.Row) -> Entry:
        case = model_.ranked_case(row["case"])
        strong = case.kind == "strong"
        same = (case.mesh, row["n_dof"]) if strong else (model_.cells_per_rank(case.mesh, row["ranks"]),)
        group = (row["backend"], row["element"], case.kind, *same)
        about_of[group, row["ranks"]] = row
        return groups.setdefault(group, {}).setdefault((row["variant"], row["operation"], row["ranks"]), Entry())

    for p in model.of("scaling.csv"):
        entry(p.row).point = p
    for refused in model.refused:
        if refused.kind == "scaling.csv":
            entry(refused.row).lost.append(refused.row["status"])
    tables = []
    for group, at in groups.items():
        ranks = sorted({n for _, _, n in at})
        first = about_of[group, ranks[0]]
        case = model_.ranked_case(first["case"])
        mesh = "" if case.mesh.startswith("box") else f"{case.mesh}, "
        title = f"{first['element']} on {first['backend']}, {case.kind}: " + (
            f"{mesh}{first['n_dof']} DoF in all" if case.kind == "strong" else
            f"{first['n_dof'] / ranks[0]:.0f} DoF per rank")
        tables.append(ranks_table(title, case.kind, ranks, first, at))
        tables += shared_table(title, {n: about_of[group, n] for n in ranks}, at)
    return tables


def ranks_table(title: str, kind: str, ranks: Sequence[int], first: model_.Row, at: Ranks) -> Table:
    points = [e.point for e in at.values() if e.point]
    times = [p.time.value for p in points if p.strategy != "none"]
    unit, name = (1e-3, "ms") if min(times, default=1.0) >= 1e-4 else (1e-6, "µs")
    most = ranks[-1]
    heads = [f"{n} rank{'s' if n > 1 else ''}, {name}" for n in ranks]
    what = "speed-up" if kind == "strong" else "efficiency"
    heads += [f"{what} on {n}" for n in ranks if n > 1]
    heads += [f"communication on {most}", f"exchange hidden on {most}"] if most > 1 else []
    operations_there = list(dict.fromkeys(o for s, o, _ in at if s != "none" and "_local" not in o))
    rows = []
    for s in in_order(s for s, _, _ in at if s != "none"):
        for o in operations_there:
            of = {n: at.get((s, o, n), Entry()) for n in ranks}
            if not any(e.point or e.lost for e in of.values()):
                continue
            # a strategy without times has one row alone, as jacvec
            cells = [e.text(interval(e.point.time, 1 / unit) if e.point else "") for e in of.values()]
            one = of.get(1, Entry()).point
            cells += [interval(model_.ratio(one, of[n].point)) if one and of[n].point else "" for n in ranks if n > 1]
            if most > 1:
                whole, own = of[most].point, at.get((s, local_of(o), most), Entry()).point
                exchange = at.get(("none", "exchange", most), Entry()).point
                cells += [communication(whole, own), hidden(whole, own, exchange)]
            rows.append([Cell(code(s)), Cell(code(o)), *(Cell(c) for c in cells)])
    threads = ""
    if first["backend"] == "host":
        threads = f", {first['threads']} thread{'s' if first['threads'] > 1 else ''} per rank"
    told = f" {kinds(p.time for p in points)}." if points else ""
    return Table("ranks", title, f"{first['device']}{threads}, {first['order']} order.{told}",
                 ["strategy", "operation", *heads], rows, words=2)


def shared_table(title: str, about_of: dict[int, model_.Row], at: Ranks) -> list[Table]:
    """Exchange of ghosts and sums, in the terms of nccl-tests."""
    rows = []
    for n, row in about_of.items():
        case = model_.ranked_case(row["case"])
        for o in SHARED:
            e = at.get(("none", o, n))
            if n == 1 or not e or not e.point:
                continue
            t, moved = e.point.time, e.point.row["bytes_moved"] or 0.0
            size = moved if o == "exchange" else moved * n / (2 * (n - 1))  # the row holds what crosses the bus
            rates = [Cell(""), Cell("")] if o == "reduce1" else [number(size / t.value, 1e-9), number(moved / t.value,
                                                                                                     1e-9)]
            rows.append([Cell(f"{case.grid}, {case.by}"), Cell(code(o)), Cell(str(n)), Cell(str(row["n_dof"])),
                         Cell(f"{size:.0f}"), Cell(interval(t, 1e6)), *rates])
    if not rows:
        return []
    return [Table("shared", f"{title}: exchange and sums", "What belongs to no strategy.",
                  ["grid, by", "operation", "ranks", "DoF", "bytes", "µs", "algorithm GB/s", "bus GB/s"], rows, words=2)]


# --- studies --------------------------------------------------------------------------------------------------


def study(model: Model, kind: str) -> list[model_.Row]:
    return [row for (_, k), some in model.studies.items() if k == kind for row in some]


def storage_table(model: Model) -> list[Table]:
    at: dict[tuple[str, str, str], dict[str, Entry]] = {}
    for (run, kind), some in model.studies.items():
        for storage in dict.fromkeys(row["storage"] for row in some) if kind == "storage.csv" else ():
            points, refused = model_.points_of(run, kind, [row for row in some if row["storage"] == storage])
            for row, point in [(p.row, p) for p in points] + [(r.row, None) for r in refused]:
                e = at.setdefault((row["element"], row["variant"], storage), {}).setdefault(row["operation"], Entry())
                e.point = e.point or point
                e.lost += [] if point else [row["status"]]
    if not at:
        return []
    shown = ("residual", "material", "jacvec", "diagonal")
    first = study(model, "storage.csv")[0]
    scale, unit = (1e-6, "MDoF/s") if first["backend"] == "host" else (1e-9, "GDoF/s")
    rows = []
    for (element, strategy, storage), of in at.items():
        points = [e.point for e in of.values() if e.point]
        errors = [row["error"] for p in points if p.operation == "jacvec" for row in p.rows if row["error"] is not None]
        memory = next((p.row["bytes"] / p.n_dof for p in points if p.row["bytes"]), None)
        rows.append([Cell(element), Cell(code(strategy)), Cell(storage),
                     *(Cell(throughput(of[o], scale) if o in of else "") for o in shown),
                     number(max(errors, default=None), form=small), number(memory, form="{:.0f}".format)])
    points = [e.point for of in at.values() for e in of.values() if e.point]
    told = f" {kinds(p.time for p in points)}." if points else ""
    return [Table("storage", f"States and tangents stored in other ways: {unit}",
                  f"{first['device']}, {first['backend']}, {first['n_dof']} DoF, order {first['order']}, all elements "
                  "plastic. GROUPS: six doubles each, in groups of 32 elements. FLOATS: tangents in single precision. "
                  "FULL: jacvec reads 21 doubles. RECORDS: the six numbers of a point side by side. ARRAYS: one array per "
                  f"component for each 65536 elements.{told}",
                  ["element", "strategy", "storage", *shown, "error of jacvec", "memory, B/DoF"], rows, words=3)]


def anderson_table(model: Model) -> list[Table]:
    some = study(model, "anderson.csv")
    if not some:
        return []
    depths = list(dict.fromkeys(row["depth"] for row in some))
    at = {(row["element"], row["jacobian"], row["depth"]): row for row in some}
    rows = []
    for element, jacobian in dict.fromkeys((row["element"], row["jacobian"]) for row in some):
        cells = [at.get((element, jacobian, d)) for d in depths]
        rows.append([Cell(element), Cell(jacobian),
                     *(Cell("" if not c else str(c["newton"]) if c["status"] == "converged" else c["status"])
                       for c in cells)])
    return [Table("anderson", "Anderson acceleration: Newton iterations",
                  f"{some[0]['problem']}, {some[0]['steps']} load steps, by the depth of the acceleration (0: without).",
                  ["element", "Jacobian", *(f"depth {d}" for d in depths)], rows, words=2)]


def orthogonality_table(model: Model) -> list[Table]:
    some = study(model, "orthogonality.csv")
    if not some:
        return []
    columns = sorted({row["columns"] for row in some})
    at = {(row["precondition"], row["orthogonalization"], row["basis"], row["columns"]): row["loss"] for row in some}
    rows = [[Cell(text) for text in of] + [number(at.get((*of, n)), form=small) for n in columns]
            for of in dict.fromkeys(key[:3] for key in at)]
    return [Table("orthogonality", "Loss of orthogonality of GMRES's bases",
                  f"|I - VᵀV| after one cycle with so many columns: {some[0]['problem']}, first load step.",
                  ["preconditioner", "orthogonalization", "basis", *(str(n) for n in columns)], rows, words=3)]


def profile_tables(model: Model) -> list[Table]:
    by: dict[tuple[str, str, int], list[model_.Row]] = {}
    for row in study(model, "profile.csv"):
        by.setdefault((row["element"], row["order"], row["n_dof"]), []).append(row)
    tables = []
    for (element, order, n_dof), some in by.items():
        whole = "{:.0f}".format
        rows = [[Cell(code(row["kernel"])), number(row["seconds"], 1e6), number(row["registers"], form=whole),
                 number(row["spilled_accesses"]), number(row["block_bytes"], form=whole),
                 *(number(row[name], 100, "{:.0f} %".format) for name in ("warps_fit", "warps_active")),
                 *(number(row[name], 1 / n_dof, whole) for name in ("memory_bytes", "bytes_moved", "flop")),
                 number(row["atomic_lanes"], 1 / n_dof)] for row in sorted(some, key=lambda row: row["kernel"])]
        tables.append(Table(
            "profile", f"{element}, {n_dof} DoF, {order} order: what kernels of products use",
            f"One launch of each kernel in Nsight Compute, {some[0]['device']}. `patch_ordered` runs the kernels of `patch` "
            "and then one that adds its partial sums; it was left out. `element_color` launches one kernel per colour; one "
            "of them was measured. Modelled: bytes that the whole operation has to move if caches hold everything that is "
            "used twice.",
            ["kernel", "time µs", "registers", "spilled accesses per thread", "shared memory per block, B",
             "warps that fit", "warps active", "memory, B/DoF", "modelled", "FP64, flop/DoF",
             "atomic lanes/DoF, at most"], rows))
    return tables


# --- the page -------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Part:
    title: str
    about: str
    tables: list[Table]


def parts(model: Model) -> list[Part]:
    """Of all that the run has rows of."""
    found = [
        Part("Kernels", "Throughput with its 95 % interval, as the line above each table says. Bold is the fastest of its "
             "column if its interval overlaps no other; where no cell is bold, the samples cannot tell "
             f"({listed(code(s) for s in CHOOSES + NOT_A_STRATEGY)} do not compete). ~: the interval is wide or the "
             "machine was busy: it decides nothing. †: above its ceiling, because caches held more than the model says, "
             "or the machine was slower while its ceilings were measured.", kernel_tables(model)),
        Part("Whole solves", "First what solves take, then where the time of one Newton iteration goes. Every answer was "
             "checked against another strategy's.", solve_tables(model)),
        Part("Several ranks", "Times on the slowest rank with their 95 % intervals; for `gmres_*` of one iteration. Speed-up "
             "and efficiency: time on one rank / time on this number of ranks. Communication: the share of the time that "
             "the exchange of ghosts adds. Exchange hidden: the share of the exchange's own time that overlaps with other "
             "work.", scaling_tables(model)),
        Part("Studies", "", storage_table(model) + anderson_table(model) + orthogonality_table(model)
             + profile_tables(model)),
    ]
    return [part for part in found if part.tables]
