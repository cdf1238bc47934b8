"""The report as values, in the order of a paper: the question, the answer, the method, figures and tables, claims,
limits, and an appendix. Templates put it into their language.

All numbers come from the model. Text has a small markup: `code`, *emphasis*, **strong** and [words](address).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from report import set_ups, sources
from report.captions import FASTER
from report.model import LEAST_PROCESSES, NOISY, Card, Model, Point, Run, Time, counted, interval
from report.panels import Figure
from report.places import ranked
from report.render.accuracy import accuracy_table
from report.render.blocks import (CLAIM_KEYS, Block, Claims, Document, Points, Section, Shown, Told, Words,
                                  contents, laid_out)
from report.render.clocks import clocks_table
from report.render.inside import inside_table
from report.render.jacobians import jacobians_table
from report.render.traces import communication_table
from report.render.tables import (GIGA, Cell, Table, answers, answers_table, break_even_table, choice_table, fastest_matrix,
                                  fullest, machines_table, processes_table, runs_table, scaling_table,
                                  solve_choice_table, solves_table, strategies_table)
from report.text import count, digits, listed
from report.wholes import is_usual, solves_of
from report.words import ELEMENT, ELEMENTS, MAIN, PRODUCTS, STRATEGY

def processes_said(model: Model) -> str:
    several = sum(p.time.processes >= LEAST_PROCESSES for p in model.points)
    alone = ("Where only one process measured, tables and captions say so." if several else
             "All that follows therefore rests on intervals within one process: it says what that process saw, and "
             "is not yet a claim about the card.")
    return (f"Of {len(model.points)} points {several or 'none'} were measured by at least {LEAST_PROCESSES} "
            f"processes. {alone} Main strategies are {listed(f'`{s}`' for s in MAIN)}, the last one of products.")


def wins_said(model: Model, cards: Sequence[Card]) -> list[str]:
    """Of each of these cards: who is the fastest at how many places."""
    said = []
    for card in cards:
        entries = [a for a in answers(model)
                   if a.place[0] == card and a.place[2] in PRODUCTS and a.won.of > 2]
        if not entries:
            continue
        wins: dict[str, int] = {}
        for best in (a.won for a in entries):
            if best.decided:
                wins[best.fastest[0].strategy] = wins.get(best.fastest[0].strategy, 0) + 1
        sizes = [a.place[4] for a in entries]
        order = sorted(wins.items(), key=lambda w: -w[1])
        span = " to ".join(dict.fromkeys((count(min(sizes)), count(max(sizes)))))
        text = f"**{card.words}**, products and residuals at {len(entries)} places ({span} degrees of freedom): "
        text += listed(f"“{STRATEGY[s]}” is the fastest at {n}" for s, n in order) or "no strategy is the fastest"
        if open_ := len(entries) - sum(wins.values()):
            text += f"; at {open_} of them several are not told apart"
        if any(entry.won.decided for entry in entries):
            whole = sum(entry.won.decided and not entry.won.lacks for entry in entries)
            text += f". All main strategies were compared at {whole or 'none'} of those that are decided"
        said.append(f"{text}.")
    return said


def set_up_spread(model: Model) -> float | None:
    """The largest ratio of set-ups of one solve's mesh and strategy in two runs that timed them once."""
    at: dict[tuple, list[float]] = {}
    for p in model.of("solves.csv"):
        if p.operation == "solve" and p.set_up and is_usual(p) and int(p.row["schema"]) <= set_ups.ONCE:
            key = (p.card.name, p.case, p.element, p.n_dof, p.ranks, p.krylov, p.precondition, p.strategy)
            at.setdefault(key, []).append(p.set_up)
    return max((max(values) / min(values) for values in at.values() if len(values) > 1), default=None)


def limits(model: Model) -> list[str]:
    points = model.points
    alone = sum(p.time.one_process for p in points)
    noisy = [p for p in points if p.time.noisy]
    by_status: dict[str, int] = {}
    for refused in model.refused:
        by_status[refused.row["status"]] = by_status.get(refused.row["status"], 0) + 1
    nothing = by_status.pop("ok", 0)  # a median of 0
    timed = {p.run for p in points}
    commits = len({run.commit for run in timed})
    said = [
        f"{alone} of {len(points)} points were measured by one process. Their interval tells how samples of this "
        "process scatter. Another process of the same binary, on the same or another card of its kind, can differ by "
        "more.",
        f"The {len(timed)} runs are of {commits} commits. Numbers of two runs are set side by side in tables; no "
        "ratio and no winner is formed across runs.",
        f"{len(noisy)} points have an interval whose ends differ by more than a factor of {NOISY:g}, or are of a machine "
        "that others loaded (~ in tables): nobody wins by them."
    ]
    if old := sum(run.is_old for run in model.runs):
        changed = sum(p.is_old for p in points)
        said.append(f"{changed} of {len(points)} points were measured from sources that have changed since: those of their "
                    f"strategy or what it shares. {old} of {len(timed)} runs have such points ({sources.MARK} behind "
                    "their commits). Times may be others by now.")
    if by_status:
        said.append(f"{sum(by_status.values())} rows have no time: " +
                    ", ".join(f"{n} {status.replace('_', ' ')}" for status, n in sorted(by_status.items())) + ".")
    if nothing:
        said.append(f"{nothing} phases of whole solves took no time that a clock tells, and are left out.")
    plastic = [place[5] for place in solves_of(model) if place[1].endswith("-steps")]
    if plastic:
        said.append(f"Whole plastic solves that compare strategies go up to {count(max(plastic))} degrees of freedom; what "
                    "larger ones gain was not measured.")
    if factor := set_up_spread(model):
        said.append("Up to schema 10 a process timed a set-up once. Of one mesh and strategy it differs between runs on one kind "
                    f"of card, of other commits and hosts, by a factor of up to {digits(factor)}. Strategies are compared "
                    f"within one run, where such set-ups count as different from a factor of {set_ups.APART} on: those of strategies that "
                    "make no lists are alike, and at most one of ten pairs of them differs by more.")
    for card in model.cards:
        for element in ("hex8", "tet4"):
            some = [
                p for p in model.kernels
                if p.card == card and p.element == element and p.plain and p.operation == "jacvec"
            ]
            if some:
                full = fullest(model, card, element)
                sizes = len({p.n_dof for p in some})
                said.append(
                    f"{card.words}, {ELEMENT[element]}: {sizes} mesh{'es' * (sizes != 1)}; the box with most "
                    f"strategies has {len({p.strategy for p in full})} at {count(full[0].n_dof)} degrees of freedom."
                    if full else f"{card.words}, {ELEMENT[element]}: no box with all points plastic.")
    return said


METHOD = (
    "A *strategy* says how contributions of elements become sums at nodes, and what is stored or copied for that. "
    "All strategies share meshes, elements, material, Newton and Krylov methods. A *point* is a strategy, an "
    "operation, an element, a mesh, a size and a card; the [method](../../docs/method.md) defines all words.",
    "**Operations.** A tangent product is the tangent times a vector, with the stored tangents of plastic points; an "
    "elastic product is the same where nothing yields and no tangent is read; a residual returns stresses at each "
    "point and sums forces. Strategies with an assembled matrix assemble it in the material update, which is an "
    "operation of its own.",
    "**Checks.** Before an operation is timed, its result is compared with an independent implementation at random "
    "nodes, and between strategies at all nodes. It runs again from the same input to see whether the bits repeat. "
    "What fails has no time.",
    "**Times.** A sample is the mean of a batch of calls, on a GPU by events on its stream. Samples of all "
    "strategies of a point are taken in turns. A process gives the median of its samples. These are short samples with "
    "milliseconds between them, so that a card may be at its power limit, unless a table or figure says *sustained*: "
    "one operation for ten seconds without a pause, at the clock that the card's power then allows.",
    "**Intervals.** The unit is the process: of several, the value is the geometric mean of their medians, with an "
    "interval of Student's t on logarithms (`report/statistics.py`, where its coverage is measured). Of one process "
    "there is only the interval of its samples, by order statistics; tables and captions say so. A ratio of two points "
    "of one process combines the ends of their intervals.",
    f"**Faster.** One rule for claims, tables and the map: a strategy is faster than another one {FASTER}, and never where "
    "intervals of samples overlap. That spread was measured for sustained samples and for small meshes by themselves. "
    "Where an interval is so wide that its number has a ~, nobody wins in tables and on the map. A claim leaves rows out whose samples "
    "scatter so much, and holds or fails where all of the interval between processes is on one side of its bound, however "
    "wide it is: then the side is known and the size is not.",
    "**Comparisons.** Only points of one run are compared. A run is of one commit, or a paper's run of several with the "
    "same sources of all that is timed, with one compiler, the same libraries and one kind of machine. Its processes may "
    "be hours apart, and on several machines and cards of that kind: the table of runs tells the hours. "
    "Strategies and operations that one call of a program timed in turns are compared process by process, of the "
    "processes that measured both undisturbed; points of two calls (another mesh, Jacobian or condition), which may be of "
    "two cards, by all processes of each. Where several runs have a place, the one speaks that has most of the main strategies "
    f"({', '.join(f'`{s}`' for s in MAIN)}), then "
    "most strategies, then three processes or more, then the newest one. What it lacks was compared within another run, if that "
    f"has it beside the fastest one. Behind a commit, {sources.NOTE}",
    "**Work and ceilings.** Bytes are those that memory must move if caches hold everything that is used twice; flop "
    "are counted by running the element code on numbers that count. Both are the same for all strategies without a "
    "matrix. The ceilings are the measured rates of copies and of multiply-adds.",
    "**Whole solves.** Set-up of mesh and strategy, of the preconditioner, and the solve are timed apart. Each "
    "answer is compared with that of another strategy with tighter tolerances.",
)


MACHINE = ("gpu", "cpu", "cores", "driver", "cuda", "compiler")
CEILINGS = (("copy_gb_per_s", "copy"), ("fma_gflop_per_s", "flop"))  # of a backend


def machine_of(run: Run, card: Card) -> dict[str, str]:
    """What the record of its machine has of a card: its own ceilings, where they were measured."""
    told = {key: run.told(key) for key in MACHINE} | {name: run.told(f"{card.backend}_{key}") for key, name in CEILINGS}
    return {f"{card.key}/{name}": text for name, text in told.items() if text not in ("", "0", "0.00")}


def macros(model: Model, drawn: Sequence[Figure] = ()) -> dict[str, str]:
    """What numbers.tex documents at its head: numbers of the tables of strategies, of boxes and of irregular meshes; captions
    of figures; machines."""
    found: dict[str, str] = {}
    for f in itertools.chain.from_iterable(f.forms for f in drawn):
        found[f"figure/{f.name}"] = f"{f.title}. {f.caption}" + f" {sources.NOTE}" * (sources.MARK in f.caption)
        found[f"figure/{f.name}/short"] = f"{f.title}. {re.split('(?<=[.]) ', f.caption)[0]}"

    def tell(name: str, t: Time) -> None:
        found.update({name: interval(t), f"{name}/value": digits(t.value), f"{name}/low": digits(t.low),
                      f"{name}/high": digits(t.high), f"{name}/processes": str(t.processes)})

    def tell_ratio(name: str, matrix: Point, own: Point) -> None:
        tell(name, counted(matrix, own))
        found.update({f"{name}/of": matrix.strategy, f"{name}/commit": own.run.marked})

    for card, element, irregular in itertools.product(model.cards, ELEMENTS, (False, True)):
        some = fullest(model, card, element, irregular)
        if not some:
            continue
        place = f"{card.key}/{element}" + "/irregular" * irregular
        processes = {p.time.processes for p in some}
        found |= {f"{place}/dof": count(some[0].n_dof), f"{place}/commit": ", ".join(dict.fromkeys(p.run.marked for p in some)),
                  f"{place}/processes": str(min(processes)) + (f"–{max(processes)}" if len(processes) > 1 else "")}
        for p in some:
            key = f"{place}/{p.strategy}/{p.operation}"
            tell(key, p.throughput.times(GIGA))
            found[f"{key}/commit"] = p.run.marked
            if sustained := model.sustained(p):
                tell(f"{key}/sustained", sustained.throughput.times(GIGA))
                found[f"{key}/sustained/commit"] = sustained.run.marked
                held = [h for q in some if q.operation == p.operation and (h := model.sustained(q))]
                if matrix := fastest_matrix([h for h in held if h.run == sustained.run], sustained):
                    tell_ratio(f"{key}/sustained/over-matrix", matrix, sustained)
            if matrix := fastest_matrix([q for q in some if (q.operation, q.run) == (p.operation, p.run)], p):
                tell_ratio(f"{key}/over-matrix", matrix, p)
    for run in model.runs[::-1]:  # the newest last
        for card in (c for c in model.cards if c.machine == run.machine):
            found |= machine_of(run, card)
    commits = {key: text for key, text in found.items() if key.endswith("/commit")}
    return found | {f"{key}/plain": text.replace(sources.MARK, "") for key, text in commits.items()}


def of(*blocks: Block | None) -> list[Block]:
    return [b for b in blocks if b]


def document(model: Model, drawn: Sequence[Figure], claims: Sequence[Told] = (),
             notes: Sequence[str] = (), reliability: Sequence[Table] = (), take: Table | None = None) -> Document:
    """Of the figures those that were drawn; without claims, the section is left out. reliability: tables of how far the
    numbers hold. take: which strategy to take."""
    for claim in claims:
        if missing := [key for key in CLAIM_KEYS if key not in claim]:
            raise ValueError(f"claim {claim.get('name', '?')}: no {', '.join(missing)}")
    by_name: dict[str, list[Shown]] = {}
    for f in drawn:
        by_name.setdefault(f.name.split("-")[0] if not f.name.startswith("break-even") else "break-even",
                           []).append(Shown(f))

    def shown(*names: str) -> list[Shown]:
        return [s for name in names for s in by_name.get(name, [])]

    cards = [c.words for c in model.cards if c.backend == "cuda"]
    tables = [t for card in model.cards
              for t in (*(strategies_table(model, card, e) for e in ELEMENTS), clocks_table(model, card)) if t]
    timed = {p.run for p in model.points}
    days = sorted(run.day for run in timed)
    about = (
        f"Rows of {len(timed)} runs from {days[0]} to {days[-1]}: {len(model.points)} points" +
        (f" on {listed(cards)} and processors." if cards else " on processors.")) if days else "There are no runs yet."
    used = [s for s in ranked(model.points) if s != "none"]
    names = Table("names", "Strategies", "Strategies by the words of figures and tables, and their names in code and rows.",
                  ["strategy", "name in code"], [[Cell(STRATEGY[s]), Cell(f"`{s}`")] for s in used], words=2)
    told, maps = Claims(list(claims)), shown("winners")
    others = wins_said(model, [c for c in model.cards if c not in model.main_cards])
    sections = [
        Section(
            "question", "Question",
            of(
                Words(
                    "How should a GPU sum the contributions of finite elements: with one thread per element and "
                    "atomics, with one thread per node, by patches in shared memory, or with an assembled matrix? "
                    "This report answers by measurement, for small-strain plasticity on hexahedra and "
                    "tetrahedra, and says where the answer is known.") if model.points else None, Words(about),
                *(Words(f"Missing here: {note}.") for note in notes))),
        Section(
            "answer", "Answer",
            of(
                take, Points([f"{claim['sentence']} ({claim['where']})" for claim in claims if claim["headline"]]) if claims
                else None, Points([processes_said(model), *wins_said(model, model.main_cards)]) if model.points
                else None, *maps[:1], choice_table(model), answers_table(model))),
        Section("method", "Method", [Words(text) for text in METHOD]),
        Section("products", "Products and residuals",
                of(Points(others) if others else None, *shown("throughput", "time", "cold", "irregular"), *maps[1:],
                   *shown("plastic", "part", "conditions", "roofline"), *tables)),
        Section("wholes", "Whole solves",
                of(solve_choice_table(model), *shown("solves", "breakdown", "inside", "break-even"), break_even_table(model),
                   inside_table(model), jacobians_table(model), *shown("accuracy"), accuracy_table(model), solves_table(model))),
        Section("several", "Several GPUs, hosts, precision, reproducibility, energy, contact, other chips",
                of(*shown("scaling", "communication", "host", "precision", "reproducible", "energy", "contact", "predictions"),
                   communication_table(model), scaling_table(model))),
        Section("studies", "Anderson acceleration and orthogonality", shown("anderson", "orthogonality")),
        Section("claims", "Claims", [
            Words(
                "Each claim is a sentence with a test over rows (`claims/`). A verdict counts points; "
                "[docs/claims.md](../../docs/claims.md) says how many of which machines, which point decides, and how "
                "a point of one process counts. `make reproduce CLAIM=NAME` checks one on another machine. "
                f"{sources.NOTE}"),
            told, told.table] if claims else []),
        Section("limits", "Limits", of(Points(limits(model)) if model.points else None, *shown("samples"),
                                       processes_table(model), *reliability)),
    ]
    machines = Section("machines", "Appendix: machines and runs", of(machines_table(model), runs_table(model), names))
    all_tables = [b for s in (*sections, machines) for b in s.blocks if isinstance(b, Table)]
    artifact = Section("artifact", "Appendix: artifact", [
        Words(
            "Everything here is made by `make report` from all rows below `results/`; their columns are "
            "defined in [results/README.md](../README.md). It needs no GPU."),
        Points([
            "`make bench` measures on this machine and writes rows; `make test` runs all tests.",
            "`make reproduce CLAIM=NAME` measures the smallest set of points that decides a claim, and ends with "
            "holds, fails, undecided or not measured; [docs/artifact.md](../../docs/artifact.md#checking-a-claim) "
            "lists for each claim what must hold, what it needs, and the minutes.",
            "`results/report/figures/` holds each figure as PDF and SVG at the width of a page (17.5 cm) or of a "
            "column (8.5 cm): include the former at `\\linewidth` of a `figure*`. `NAME-narrow` has the main panels of "
            "a wide one for a column. `make report` also writes each as PNG, and `data/`: what gnuplot draws, by "
            "`plots/report.gp`. Neither is committed.",
            "`results/report/tables/` holds each table as CSV, and those that a page of an article holds as LaTeX "
            "(`tabular` with a caption), `numbers.tex` the numbers of the tables of strategies as macros, with keys that "
            "its head lists; [results/README.md](../README.md#a-paper) has an article that uses them.",
            "To measure a point again: `build/kernels` with `--fe_backend`, `--fe_elements`, `--fe_dofs` and "
            "`--fe_variants`."
        ]),
        Words("All tables, with what they hold:"), contents(all_tables)])
    return Document("febench: how should a GPU sum finite-element contributions?", about,
                    laid_out(sections, (machines, artifact)), macros(model, drawn))
