"""Parts of documents that rows and results decide, besides claims: figures, tables of a few lines."""

from __future__ import annotations

import collections
import functools
import itertools
import json
import re
from collections.abc import Sequence

from report import accuracy as accuracy_, bracket, contact as contact_, model as model_, reliability, rows, set_ups as set_ups_, \
    sources
from report.cases import kind_of_mesh
from report.figures import every_figure
from report.model import ROOT, Card, Model, Point
from report.panels import Figure
from report.render.tables import fullest
from report.render.traces import communication_table
from report.rows import Fault
from report.set_ups import Strategies, break_even, by_strategy, fastest_without, of_run
from report.text import count, digits, listed, table, wrap
from report.wholes import least_in_all, solves_of, wholes
from report.words import A_LAUNCH_EACH_COLOUR, BUSY, CHOOSES, ELEMENT, ELEMENTS, OPERATION

RESULTS = ROOT / "results"


@functools.cache
def model() -> Model:
    """Of the rows of this repository."""
    return model_.build(RESULTS)


@functools.cache
def drawn() -> dict[str, Figure]:
    """Figures of the report by name."""
    return {f.name: f for f in every_figure(model())}


def figure(name: str, up: str) -> list[str]:
    """The report's figure of this name, with its caption. Fault where the rows have no such figure."""
    found = drawn().get(name)
    if found is None:
        raise Fault(f"<!-- figure: {name} -->: the report has no such figure")
    foot = f" {sources.NOTE}" if sources.MARK in found.caption else ""
    return [f"![{found.title}]({up}results/report/figures/{name}.svg)", "",
            *wrap(f"*{found.title}.* {found.caption}{foot}")]


def picture(words: str, up: str) -> list[str]:
    """The same with the first sentences of its caption: NAME N."""
    name, n = words.split()
    lines = figure(name, up)
    sentences = re.split(r"(?<=\.) ", drawn()[name].caption)[:int(n)]
    foot = f" {sources.NOTE}" if any(sources.MARK in s for s in sentences) else ""
    more = f"([all of it]({up}results/report/report.md))"
    return lines[:2] + wrap(f"*{drawn()[name].title}.* {' '.join(sentences)}{foot} {more}")


def work(_: str, up: str) -> list[str]:
    """Modelled bytes and counted flop of each element and operation, of the box of a card with most operations."""
    lines = []
    for element in ("hex8", "tet4"):
        of_card = [{p.operation: p for p in fullest(model(), card, element) if p.strategy == "element_atomic"}
                   for card in model().cards]
        some = max(of_card, key=len)
        for operation in OPERATION:
            p = some.get(operation)
            if p is not None and p.flop is not None:
                lines.append([ELEMENT[element], f"`{operation}`", digits(p.bytes_moved / p.n_dof),
                              f"{p.flop / p.n_elem:.0f}"])
    return table(["element", "operation", "modelled bytes per degree of freedom", "counted flop per element"], lines, 2)


def solved(pattern: str, up: str) -> list[str]:
    """What `solve` left in these files below results/ (JSON): a name, or a pattern of names."""
    lines = []
    files = sorted(RESULTS.glob(pattern))
    if not files:
        raise Fault(f"<!-- solved: {pattern} -->: no such file below {RESULTS}")
    for path in files:
        name = path.relative_to(RESULTS)
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise Fault(f"<!-- solved: {pattern} -->: {path}: {error}") from error
        run, steps = told["run"], told["steps"]
        newton = [step["newton"] for step in steps]
        ranks = f"{run['ranks']} × " if run["ranks"] > 1 else ""
        lines.append([
            f"[{told['problem']}]({up}results/{name})", ELEMENT[told["element"]] if "element" in told else "",
            ranks + run["device"], f"`{run['variant']}`",
            sources.marked_row(run["commit"], "solves.csv", run["variant"], run["backend"]), count(3 * told["nodes"]),
            str(len(steps)),
            str(sum(n["iterations"] for n in newton)), str(sum(n["krylov_iterations"] for n in newton)),
            digits(sum(sum(step["seconds"].values()) for step in steps)), f"{steps[-1]['max_peeq']:.3g}",
            f"{steps[-1]['max_abs_u']:.3g}"
        ])
    return table(["problem", "element", "on", "strategy", "commit", "DoF", "load steps", "Newton", "Krylov", "seconds",
                  "largest equivalent plastic strain, last step", "largest displacement"], lines, 5)


def contact(backend: str, up: str) -> list[str]:
    """What the pass over nodes in contact costs behind operations."""
    head, lines = contact_.table_of(model(), backend)
    if not lines:
        raise Fault(f"<!-- contact: {backend} -->: no run has such rows of operations with contact")
    return table(head, lines, 4, 1)


def validation(_: str, up: str) -> list[str]:
    """The largest error over strategies and load steps of the newest run that has validation.csv."""
    run = next((run for run in model().runs if (RESULTS / run.name / "validation.csv").is_file()), None)
    if run is None:
        raise Fault("<!-- validation -->: no run has a validation.csv")
    told = rows.read(RESULTS / run.name / "validation.csv")
    kinds = ("displacement_error", "reaction_error", "peeq_error")
    errors: dict[tuple[str, str], list[float]] = {}
    for row in told:
        place = str(row["problem"]), str(row["mesh"])
        errors[place] = [max(w, float(row[k] or 0)) for w, k in zip(errors.get(place, [0.0] * len(kinds)), kinds)]
    strategies = len({row["variant"] for row in told})
    backends = " and ".join(sorted({str(row["backend"]) for row in told}))
    return wrap(f"Largest relative error over all load steps and {strategies} strategies, backend {backends}, {run.machine}, "
                f"commit {run.commit[:7]} ([rows]({up}results/{run.name}/validation.csv)):") + [""] + table(
        ["problem", "mesh", "displacement", "reaction", "equivalent plastic strain"],
        [[problem, f"`{mesh}`"] + [f"{e:.1e}" for e in worst] for (problem, mesh), worst in errors.items()], 2)


MANY = 10  # strategies of one solve


def set_ups(_: str, up: str) -> list[str]:
    """Who takes least with set-ups, and after how many products with tangents patch has repaid its own."""
    found = [(place[5], len(at), least_in_all(at)) for place, some in solves_of(model()).items()
             if place[0].backend == "cuda" and "patch" in (at := wholes(some))]
    if not found:
        raise Fault("<!-- set-ups -->: no run has whole solves on a GPU that compare strategies")

    def told(those: str, some: Sequence[list[str]]) -> str:
        """patch, and others that are among the first at half of them."""
        times = collections.Counter(s for first in some for s in first if s not in CHOOSES)
        order = [s for s in sorted(times, key=lambda s: (-times[s], s)) if 2 * times[s] >= len(some) or s == "patch"]
        alone = sum(len(first) == 1 for first in some)
        return f"of {len(some)} that compare {those} {', '.join(f'`{s}` in {times[s]}' for s in order)} (one alone in {alone})"

    groups = {those: [first for _, n, first in found if (n >= MANY) == is_many]
              for those, is_many in ((f"{MANY} strategies or more", True), (f"fewer than {MANY} strategies", False))}
    sizes = " to ".join(dict.fromkeys(count(n) for n in (min(found)[0], max(found)[0])))
    said = f"In {len(found)} whole solves on GPUs ({sizes} DoF), set-ups counted, these take least or are not told from the one " \
        f"that does ([by problem]({up}results/report/report.md#which-strategy-solves-in-the-least-time)): {'; '.join(told(those, some) for those, some in groups.items() if some)}. Set-ups that a process " \
        f"timed once count as different from a factor of {set_ups_.APART} on"
    repaid, is_old = [], False
    for element, irregular in itertools.product(("hex8", "tet4"), (False, True)):
        on = []
        for card in (card for card in model().cards if card.backend == "cuda"):
            patch = by_strategy(fullest(model(), card, element, irregular)).get("patch", {}).get("jacvec")
            there = of_run(model(), patch) if patch else {}
            rival = fastest_without(there, "jacvec")
            n = break_even(there["patch"], there[rival], "jacvec") if rival and "patch" in there else None
            if n is not None:
                p = there["patch"]["jacvec"]
                mark = sources.MARK * bool(sources.changed(p.run.commit, p.kind, "patch", p.backend))
                is_old |= bool(mark)
                on.append((str(rival), f"{two_digits(n)} ({card.short}, {count(p.n_dof)} DoF{mark})"))
        for rival in dict.fromkeys(rival for rival, _ in on):
            repaid.append(f"{ELEMENT[element]}, {'irregular mesh' if irregular else 'box'}, against `{rival}` "
                          f"{listed(text for other, text in on if other == rival)}")
    page = f"{up}results/report/report.md#set-ups-repaid"
    return wrap(f"{said}. With the mesh on the device, so many products with tangents repay `patch`'s own set-up beside the "
                f"fastest strategy that needs none: {'; '.join(repaid) or 'not measured'} ([all]({page}), [beside the "
                f"matrix]({up}results/report/report.md#whole-solves)).{f' {sources.NOTE}' * is_old}")


def assembly(_: str, up: str) -> list[str]:
    """After how many products with tangents of 21 numbers the matrix of half of the blocks has repaid one assembly."""
    lines = []
    for card in (card for card in model().cards if card.backend == "cuda"):
        for element, irregular in itertools.product(("hex8", "tet4"), (False, True)):
            p = by_strategy(fullest(model(), card, element, irregular)).get("patch", {}).get("jacvec_full")
            at = of_run(model(), p) if p else {}
            own, matrix = at.get("patch", {}), at.get("assembled_symmetric", {})
            if p is None or not all("material" in some and "jacvec_full" in some for some in (own, matrix)):
                continue
            n = break_even(matrix, own, "jacvec_full", set_ups=False)
            lines.append(f"{ELEMENT[element]}, {'irregular mesh' if irregular else 'box'} of {count(p.n_dof)}: "
                         f"{two_digits(n) if n is not None else 'not told to be faster'} ({card.short})")
    if not lines:
        raise Fault("<!-- assembly -->: no run has such products of patch and of the matrix")
    return wrap(f"So many products with one tangent of 21 numbers repay one assembly by `assembled_symmetric` beside `patch`, "
                f"set-ups aside: {'; '.join(lines)}.")


def two_digits(n: int) -> int:
    """As far as a set-up tells it."""
    return round(n, 2 - len(str(n)))


MEASURED = ("residual", "jacvec_elastic", "jacvec", "jacvec_full", "diagonal", "material")


def repaid(p: Point | None, strategy: str, other: str) -> str:
    """Products after which a set-up is repaid, within the run of the product."""
    at = of_run(model(), p) if p else {}
    n = break_even(at[strategy], at.get(other, {}), p.operation) if p else None
    return "" if n is None else str(n)


def strategy(names: list[str]) -> list[str]:
    """What strategies reach on each card: the box with most strategies (render/tables.fullest). What they reach without a
    pause is of the run whose commit stands beside it; the columns are there where a row is."""
    places: list[tuple[Card, str, Strategies]] = []
    for card in model().cards:
        for element in ELEMENTS:
            places.append((card, element, by_strategy(fullest(model(), card, element))))
    sustained = [o for o in MEASURED if any(o in at.get(name, {}) and model().sustained(at[name][o])
                                            for _, _, at in places for name in names)]
    lines = []
    for card, element, at in places:
        for name in names:
            own = at.get(name, {})
            p = own.get("jacvec") or next((own[o] for o in MEASURED if o in own), None)
            if p is None:
                continue
            cells = [rate(own.get(o)) for o in MEASURED]
            for o in sustained:
                q = model().sustained(own[o]) if o in own else None
                cells.append(f"{rate(q)}, {sources.marked_row(q.run.commit, q.kind, name, card.backend)}" if q else "")
            commits = dict.fromkeys(sources.marked_row(q.run.commit, q.kind, name, card.backend) for q in own.values())
            place = [card.short, ELEMENT[element], count(p.n_dof), str(p.time.processes)]
            lines.append(place + ([f"`{name}`"] if len(names) > 1 else [])
                         + cells + [f"{p.bytes_work / p.n_dof:.0f}" if p.bytes_work is not None else "",
                                    digits(p.set_up * 1e3) if p.set_up is not None else "",
                                    *(repaid(own.get(o), name, "element_atomic") for o in ("jacvec_elastic", "jacvec")),
                                    ", ".join(commits)])
    head = ["on", "element", "DoF", "processes"] + (["strategy"] if len(names) > 1 else [])
    return table(head + [f"`{o}`" for o in MEASURED] + [f"`{o}`, sustained" for o in sustained] +
                 ["own B/DoF", "set-up, ms", "break-even, elastic", "tangents", "commit"], lines, len(head))


def rate(p: Point | None) -> str:
    """Throughput: GDoF/s of a GPU, MDoF/s of a host."""
    return model_.interval(p.throughput, 1e-9 if p.backend == "cuda" else 1e-6) if p else ""


def profiles() -> list[rows.Row]:
    """Rows of profile.csv on the machine that has the newest ones: of each element and mesh those of its newest run."""
    of = [(run, model().studies[run, "profile.csv"]) for run in model().runs if (run, "profile.csv") in model().studies]
    found: dict[tuple[rows.Value, ...], tuple[model_.Run, list[rows.Row]]] = {}
    for run, some in of:
        for row in some if run.machine == of[0][0].machine else []:
            first, own = found.setdefault((row["element"], row["n_dof"], row["order"]), (run, []))
            own += [row] if first == run else []
    return [row for _, own in found.values() for row in own]


def busiest(row: rows.Row) -> str:
    """The unit of a card that a launch kept busiest, and how busy; "" where that was not measured."""
    told = {words: float(row[name]) for name, words in BUSY.items() if row[name] is not None}
    most = max(told, key=lambda words: told[words], default="")
    return f"{most}, {100 * told[most]:.0f} %" if most else ""


def profile(kernels: tuple[str, ...]) -> list[str]:
    """What kernels use whose names begin so."""
    lines, part = [], False
    devices: dict[str, None] = {}
    for row in sorted(profiles(), key=lambda row: (str(row["kernel"]), str(row["mesh"] or "box"))):
        if str(row["kernel"]).startswith(kernels):
            n = int(row["n_dof"] or 0)
            commit = sources.marked_row(str(row["commit"]), "profile.csv", str(row["variant"]), "cuda")
            devices[str(row["device"])] = None
            of_one = row["variant"] in A_LAUNCH_EACH_COLOUR
            part = part or of_one
            lines.append([
                f"`{row['kernel']}`", f"{ELEMENT[str(row['element'])]}, {kind_of_mesh(str(row['mesh'] or 'box'))}, {count(n)}",
                "" if of_one else digits(float(row["seconds"] or 0) * 1e6),
                str(row["registers"]), f"{row['spilled_accesses']:.1f}", str(row["block_bytes"]),
                f"{100 * float(row['warps_active'] or 0):.0f} %",
                *("" if of_one or row[name] is None else f"{float(row[name] or 0) / n:.{places}f}" for name, places in (
                    ("memory_bytes", 0), ("flop", 0), ("atomic_lanes", 1), ("atomic_sectors", 1))),
                busiest(row), commit
            ])
    if not lines:
        return []
    head = ["kernel", "mesh, DoF", "µs", "registers", "spilled accesses per thread", "shared memory per block, B", "warps active",
            "memory, B/DoF", "FP64, flop/DoF", "atomic lanes/DoF", "their sectors/DoF", "busiest", "commit"]
    why = ["", *wrap("Empty: a call launches this kernel once for each colour, and one launch was measured, which tells nothing "
                     "of the whole call.")] if part else []
    return ["", *wrap(f"One launch of each kernel in Nsight Compute: {'; '.join(devices)}."), "", *table(head, lines, 2), *why]


def accuracy(_: str, up: str) -> list[str]:
    """When each element reaches an error, by the strategy that does so first."""
    found = accuracy_.lines(model())
    if not found:
        raise Fault("<!-- accuracy -->: no run has rows of its problems with the work of their loads")
    return found


def communication(_: str, up: str) -> list[str]:
    """Which share of a solve is communication, by kernel."""
    told = communication_table(model())
    if not told:
        raise Fault("<!-- communication -->: no run has rows of communication.csv")
    rows = [[cell.text for cell in line] for line in told.rows]
    return [*wrap(told.said), "", *table(told.columns, rows, told.words)]


CALIBRATED = {"spreads": reliability.spreads_used, "reliability": reliability.reliability_measured}


def calibrated(name: str, up: str) -> list[str]:
    if name not in CALIBRATED:
        raise Fault(f"<!-- calibration: {name} -->: is neither {' nor '.join(CALIBRATED)}")
    return CALIBRATED[name]()


KINDS = {"accuracy": accuracy, "references": lambda _, up: bracket.lines(up), "figure": figure, "picture": picture,
         "work": work, "solved": solved, "validation": validation, "contact": contact, "set-ups": set_ups,
         "assembly": assembly, "communication": communication, "calibration": calibrated}
