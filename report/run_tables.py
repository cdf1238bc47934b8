"""Tables of one run, as `make bench` shows them, from all that it has rows of: kernels (report/run_kernels.py), whole
solves, several ranks, and studies. Strategies and operations have the names that the programs take."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

from report import model as model_, traces
from report.captions import FASTER
from report.cases import cells_per_rank, mesh_of, ranked_case
from report.communication import NAMES
from report.model import Model, Point, Time, interval
from report.render.tables import Cell, Table, kinds
from report.rows import Row
from report.run_cells import Entry, code, milliseconds, number, small, throughput
from report.run_kernels import kernel_tables
from report.text import digits, listed
from report.wholes import OWN, PHASES
from report.words import A_LAUNCH_EACH_COLOUR, BUSY, CHOOSES, NOT_A_STRATEGY, in_order

# --- whole solves ---------------------------------------------------------------------------------------------


def plain_time(time: Time, unit: float) -> str:
    return interval(time, 1 / unit) if time.high > time.low else digits(time.value / unit)


def solve_tables(model: Model) -> list[Table]:
    """For each backend, case and element what whole solves take, and where the time of a Newton iteration goes."""
    groups: dict[tuple[str, str, str], dict[tuple[str, str, str], dict[str, Entry]]] = {}

    def entry(row: Row) -> Entry:
        case = row["case"].removesuffix("-peer")
        ranks = f"{row['ranks']}" + (", peer" if case != row["case"] else "")
        products = "" if row["precision"] == "double" else f", products {row['precision']}"
        jacobian = "" if row["jacobian"] == "tangent" else f", Jacobian {row['jacobian']}"
        depth = f", Anderson {row['anderson']}" if row["anderson"] else ""
        line = (row["variant"], row["precondition"] + products + jacobian + depth, ranks)
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
            timed = solve.point
            before, other = of.get("precondition_setup", Entry()), of.get(more, Entry())
            error = [row["error"] for row in timed.rows] if timed else [errors.get(id(solve))]
            iterations = [Cell(str(timed.row[name]), timed.row[name]) if timed else Cell("")
                          for name in ("newton_iterations", "krylov_iterations")]
            newton = timed.newton_iterations if timed else None
            rows.append([Cell(code(strategy)), Cell(precondition), Cell(ranks), *iterations,
                         number(timed.set_up if timed else None, 1e3, milliseconds),
                         Cell(before.text(plain_time(before.point.time, 1e-3)) if before.point else ""),
                         Cell(solve.text(interval(timed.time, 1e3) if timed else "")),
                         Cell(other.text(interval(other.point.time, 1e3) if other.point else "")),
                         number(timed.time.value / newton if timed and newton else None, 1e3),
                         number(max((x for x in error if x is not None), default=None), form=small)])
        tables.append(Table("solves", where, caption,
                            ["strategy", "preconditioner", "ranks", "Newton", "Krylov", "set-up",
                             "preconditioner's set-up", "solve",
                             "user time" if more == "solve_user" else "solve, graphs", "one Newton iteration",
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
        times = {phase: p.time.value for phase in there if phase in of and (p := of[phase].point)}
        own = sum(times[phase] for phase in times if PHASES[phase].part in OWN) / solve.time.value
        rows.append([Cell(code(strategy)), Cell(precondition), Cell(ranks),
                     *(number(times.get(phase), 1e3 / solve.newton_iterations) for phase in there),
                     Cell(f"{100 * own:.0f} %", own)])
    if not rows:
        return []
    return [Table("phases", f"{where}: one Newton iteration",
                  "Milliseconds by phases, medians. The strategy's share is `material`, `residual`, `jacvec` and the "
                  "products of the preconditioner's finest level.",
                  ["strategy", "preconditioner", "ranks", *(PHASES[p].words for p in there), "the strategy's share"],
                  rows, words=2)]


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
    about_of: dict[tuple[tuple, int], Row] = {}

    def entry(row: Row) -> Entry:
        case = ranked_case(row["case"])
        strong = case.kind == "strong"
        same = (case.mesh, row["n_dof"]) if strong else (cells_per_rank(case.mesh, row["ranks"]),)
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
        case = ranked_case(first["case"])
        mesh = "" if case.mesh.startswith("box") else f"{case.mesh}, "
        title = f"{first['element']} on {first['backend']}, {case.kind}: " + (
            f"{mesh}{first['n_dof']} DoF in all" if case.kind == "strong" else
            f"{first['n_dof'] / ranks[0]:.0f} DoF per rank")
        tables.append(ranks_table(title, case.kind, ranks, first, at))
        tables += shared_table(title, {n: about_of[group, n] for n in ranks}, at)
    return tables


def ranks_table(title: str, kind: str, ranks: Sequence[int], first: Row, at: Ranks) -> Table:
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
            gains = [model_.ratio(one, p) if one and (p := of[n].point) else None
                     for n in ranks if n > 1]
            cells += [interval(gain) if gain else "" for gain in gains]
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


def shared_table(title: str, about_of: dict[int, Row], at: Ranks) -> list[Table]:
    """Exchange of ghosts and sums, in the terms of nccl-tests."""
    rows = []
    for n, row in about_of.items():
        case = ranked_case(row["case"])
        for o in SHARED:
            e = at.get(("none", o, n))
            if n == 1 or not e or not e.point:
                continue
            t, moved = e.point.time, e.point.row["bytes_moved"] or 0.0
            size = moved if o == "exchange" else moved * n / (2 * (n - 1))  # the row holds what crosses the bus
            rates = [Cell(""), Cell("")] if o == "reduce1" else [number(size / t.value, 1e-9), number(moved / t.value,
                                                                                                     1e-9)]
            rows.append([Cell(f"{case.grid}, {case.communication}"), Cell(code(o)), Cell(str(n)),
                         Cell(str(row["n_dof"])), Cell(f"{size:.0f}"), Cell(interval(t, 1e6)), *rates])
    if not rows:
        return []
    return [Table("shared", f"{title}: exchange and sums", "What belongs to no strategy.",
                  ["grid, by", "operation", "ranks", "DoF", "bytes", "µs", "algorithm GB/s", "bus GB/s"], rows,
                  words=2)]


# --- studies --------------------------------------------------------------------------------------------------


def study(model: Model, kind: str) -> list[Row]:
    return [row for (_, k), some in model.studies.items() if k == kind for row in some]


@dataclasses.dataclass(frozen=True)
class Builds:
    """A study of builds of `kernels` that differ in one choice, and how its table shows it."""

    kind: str
    column: str
    title: str
    caption: str
    shown: tuple[str, ...]
    of_meshes: bool = False  # it has several


STORAGE = Builds(
    "storage.csv", "storage", "States and tangents stored in other ways",
    "GROUPS: six doubles each, in groups of 32 elements. FLOATS: tangents in single precision. FULL: jacvec reads 21 "
    "doubles. RECORDS: the six numbers of a point side by side. ARRAYS: one array per component for each 65536 "
    "elements.",
    ("residual", "material", "jacvec", "diagonal"))
FORMS = Builds(
    "forms.csv", "form", "The transposed half of a symmetric matrix added in other ways",
    "ATOMICS: added atomically, on the host to sums of each thread. GATHER: stored, and gathered by a second pass. "
    "COLORS: rows of one colour add to no common row, one launch per colour.", ("material", "jacvec"), of_meshes=True)


def build_tables(model: Model, builds: Builds) -> list[Table]:
    at: dict[tuple[str, str, str, str], dict[str, Entry]] = {}
    for (run, kind), some in model.studies.items():
        for way in dict.fromkeys(row[builds.column] for row in some) if kind == builds.kind else ():
            points, refused = model_.points_of(run, kind, [row for row in some if row[builds.column] == way])
            for row, point in [(p.row, p) for p in points] + [(r.row, None) for r in refused]:
                mesh = mesh_of(row["case"]).label if builds.of_meshes else ""
                e = at.setdefault((row["element"], mesh, row["variant"], way), {}).setdefault(row["operation"], Entry())
                e.point = e.point or point
                e.lost += [] if point else [row["status"]]
    if not at:
        return []
    first = study(model, builds.kind)[0]
    scale, unit = (1e-6, "MDoF/s") if first["backend"] == "host" else (1e-9, "GDoF/s")
    rows = []
    groups = list(dict.fromkeys(key[:3] for key in at))
    for (element, mesh, strategy, way), of in sorted(at.items(), key=lambda item: groups.index(item[0][:3])):
        points = [e.point for e in of.values() if e.point]
        errors = [row["error"] for p in points if p.operation == "jacvec" for row in p.rows if row["error"] is not None]
        memory = next((p.row["bytes"] / p.n_dof for p in points if p.row["bytes"]), None)
        rows.append([Cell(element), *([Cell(mesh)] if builds.of_meshes else []), Cell(code(strategy)), Cell(way),
                     *(Cell(throughput(of[o], scale) if o in of else "") for o in builds.shown),
                     number(max(errors, default=None), form=small), number(memory, form="{:.0f}".format)])
    points = [e.point for of in at.values() for e in of.values() if e.point]
    told = f" {kinds(p.time for p in points)}." if points else ""
    size = "" if builds.of_meshes else f" {first['n_dof']} DoF,"
    return [Table(builds.column, f"{builds.title}: {unit}",
                  f"{first['device']}, {first['backend']},{size} order {first['order']}, all elements plastic. "
                  f"{builds.caption}{told}",
                  ["element", *(["mesh"] if builds.of_meshes else []), "strategy", builds.column, *builds.shown,
                   "error of jacvec", "memory, B/DoF"], rows, words=3 + builds.of_meshes)]


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
                  f"{some[0]['problem']}, {some[0]['steps']} load steps, by the depth of the acceleration; 0: without.",
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
    by: dict[tuple[str, str, str, int], list[Row]] = {}
    for row in study(model, "profile.csv"):
        by.setdefault((row["element"], f"{row['mesh']}, " if row["mesh"] else "", row["order"], row["n_dof"]), []).append(row)
    tables = []
    for (element, mesh, order, n_dof), some in by.items():
        whole = "{:.0f}".format

        def of_call(row: Row, name: str) -> float | None:
            return None if row["variant"] in A_LAUNCH_EACH_COLOUR else row[name]

        rows = [[Cell(code(row["kernel"])), number(of_call(row, "seconds"), 1e6), number(row["registers"], form=whole),
                 number(row["spilled_accesses"]), number(row["block_bytes"], form=whole),
                 *(number(row[name], 100, "{:.0f} %".format) for name in ("warps_fit", "warps_active")),
                 *(number(of_call(row, name), 1 / n_dof, whole) for name in ("memory_bytes", "bytes_moved", "flop")),
                 *(number(of_call(row, name), 1 / n_dof) for name in ("atomic_lanes", "atomic_sectors")),
                 *(number(row[name], 100, "{:.0f} %".format) for name in BUSY)] for row in sorted(some, key=lambda row: row["kernel"])]
        tables.append(Table(
            "profile", f"{element}, {mesh}{n_dof} DoF, {order} order: what kernels of products use",
            f"One launch of each kernel in Nsight Compute, {some[0]['device']}. `patch_ordered` runs the kernels of "
            "`patch` and then one that adds its partial sums; it was left out. `element_color` launches one kernel "
            "per colour; one of them was measured, and cells of the whole call are empty. Modelled: bytes that the whole operation has to move if caches "
            "hold everything that is used twice.",
            ["kernel", "time µs", "registers", "spilled accesses per thread", "shared memory per block, B",
             "warps that fit", "warps active", "memory, B/DoF", "modelled", "FP64, flop/DoF",
             "atomic lanes/DoF, at most", "their sectors/DoF", *(f"{words} busy" for words in BUSY.values())], rows))
    return tables


def communication_tables(model: Model) -> list[Table]:
    """Shares of the time at work by category of kernels, means over the GPUs of a solve."""
    tables = []
    for (element, n_dof, precondition), of in itertools.groupby(
            traces.solves(study(model, "communication.csv")),
            lambda solve: tuple(solve.first[c] for c in ("element", "n_dof", "precondition"))):
        some = list(of)
        categories = [name for name in NAMES if any(solve.busy(name) is not None for solve in some)]
        percent_of = "{:.1f} %".format
        rows = [[
            Cell(code(solve.first["variant"])), Cell(str(solve.first["ranks"])),
            Cell(solve.first["transport"].replace("nccl", "NCCL")), Cell("yes" if solve.first["graphs"] else "no"),
            *(number(solve.busy(name) or None, 100, percent_of) for name in categories),
            *(number(share, 100, percent_of) for share in (solve.communication, solve.alone, solve.idle)),
            *(number(launches, form="{:.0f}".format) for launches in (solve.launches, solve.sent_launches)),
            number(solve.first["untraced_s"], 1e3, milliseconds), number(solve.slower, form="{:.2f}".format)] for solve in some]
        tables.append(Table(
            "communication", f"{element}, {n_dof} DoF, {precondition}: time by kernel",
            f"{some[0].first['device']}, a solve with fixed work, traced by CUPTI; means over its GPUs. Categories: shares of the "
            "time in which a GPU is at work; where kernels overlap, each moment is divided between them. Kernels of the halo and "
            "of sums that wait for another rank count with their wait. Communication: `halo` and `sums`, as a share of the time "
            "from the first kernel to the end of the last one; alone: while nothing else ran on the GPU. Idle: no kernel and no "
            "copy ran. Slower: time of the load steps with tracing over the time without, which stands in front.",
            ["strategy", "ranks", "by", "graphs", *(name.replace("_", "-") for name in categories), "communication", "alone",
             "idle", "launches", "of communication", "solve ms", "slower by tracing"], rows, words=4))
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
        Part("Kernels", "Throughput with its 95 % interval, as the line above each table says. Bold is the fastest of "
             f"its column: faster than all others {FASTER}; where no cell is bold, the samples cannot tell "
             f"({listed(code(s) for s in CHOOSES + NOT_A_STRATEGY)} do not compete). ~: the interval is wide or the "
             "machine was busy: nobody wins by it. †: above its ceiling, because caches held more than the model "
             "says, or the machine was slower while its ceilings were measured.", kernel_tables(model)),
        Part("Whole solves", "First what solves take, then where the time of one Newton iteration goes. Every answer "
             "was checked against another strategy's.", solve_tables(model)),
        Part("Several ranks", "Times on the slowest rank with their 95 % intervals; for `gmres_*` of one iteration. "
             "Speed-up and efficiency: time on one rank / time on this number of ranks. Communication: the share of "
             "the time that the exchange of ghosts adds. Exchange hidden: the share of the exchange's own time that "
             "overlaps with other work.", scaling_tables(model)),
        Part("Studies", "", build_tables(model, STORAGE) + build_tables(model, FORMS) + anderson_table(model)
             + orthogonality_table(model) + profile_tables(model) + communication_tables(model)),
    ]
    return [part for part in found if part.tables]
