"""Tables of the report: cells of text, with the number that they are sorted by."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

from report import model as model_, set_ups, sources, text
from report.captions import FASTER, IN_TURNS, between_runs, named, where
from report.model import NOISY, ONE_ON_HOST, ONE_PROCESS, UNTOLD, Card, Model, Point, Run, interval, lasted
from report.panels import APPENDIX, BODY, FILE
from report.places import LEAST_DOF, Place, Winner, competing, one, places, ranked, winners
from report.rows import LEAST_PROCESSES
from report.scaling_figures import ITERATIONS, speeds
from report.selection import by_strategy, speaking
from report.text import count, digits, listed, seconds
from report.wholes import Whole, least_in_all, least_in_solve, over_in_all, solves_of, wholes
from report.words import BLOCKS, CHOOSES, ELEMENT, MATRIX, NOT_A_STRATEGY, OPERATION, PRECONDITION, PRODUCTS, STRATEGY, \
    jacobian_words, problem_words

GIGA = 1e-9


@dataclasses.dataclass(frozen=True)
class Answer:
    """Who is the fastest at a place, in short samples."""

    place: Place
    won: Winner
    matrix: Point | None  # of products, the fastest with an assembled matrix
    other: Point | None   # the fastest without one, where there is a matrix
    sustained: Point | None  # the fastest of all without a pause
    ratio: model_.Time | None  # time of that matrix over the other one's
    ratio_sustained: model_.Time | None  # the same, both without a pause


@dataclasses.dataclass(frozen=True)
class Cell:
    """Text, and what it is sorted by where that is a number."""

    text: str
    number: float | None = None


LONGEST = 30  # rows that a page holds
# Behind a number, a word or a commit, and what a caption says of it.
MARKS = {sources.MARK: sources.NOTE, "~": "~: so noisy that nobody wins by it."}


@dataclasses.dataclass(frozen=True)
class Table:
    name: str
    title: str
    caption: str
    columns: list[str]
    rows: list[list[Cell]]
    words: int = 1  # so many columns at the left hold words; the others are numbers
    wanted: str = BODY  # where in the report
    stacked: bool = False  # HTML has intervals, and what cells say behind them, in lines of their own

    @property
    def kind(self) -> str:
        return "table"

    @property
    def place(self) -> str:
        """What is longer than a page stands in no page."""
        return FILE if len(self.rows) > LONGEST else self.wanted

    @functools.cached_property
    def said(self) -> str:
        """The caption, with what marks in it and in cells mean."""
        seen = "".join((self.caption, *(cell.text for row in self.rows for cell in row)))
        notes = [note for mark, note in MARKS.items() if mark in seen and f"{mark}:" not in self.caption]
        return " ".join([self.caption, *notes])

    @property
    def told(self) -> str:
        """Of a table that is a file."""
        return f"[tables/{self.name}.csv](tables/{self.name}.csv), {len(self.rows)} rows. {self.said}"


def number(time: model_.Time | None, factor: float = 1.0) -> Cell:
    return Cell(interval(time, factor), time.value * factor) if time else Cell("")


def percent(share: float | None) -> Cell:
    """In a column whose head has the unit."""
    return Cell(f"{100 * share:.1f}", 100 * share) if share is not None else Cell("")


def size(n: int) -> Cell:
    return Cell(count(n), float(n))


@functools.cache
def fullest(model: Model, card: Card, element: str, irregular: bool = False) -> list[Point]:
    """Of a card and an element: what was measured on the box (or irregular mesh) where runs together have most operations of
    strategies; of equals the largest one. Those below 50 K degrees of freedom only where there are no others. Of each
    operation and strategy the point of the run that speaks there, or of the next one that has it (selection.by_strategy)."""
    by: dict[int, dict[str, list[Point]]] = {}
    for p in model.kernels:
        is_wanted = p.mesh.words == "irregular" if irregular else p.mesh.cube
        if p.card == card and p.element == element and p.plain and is_wanted:
            by.setdefault(p.n_dof, {}).setdefault(p.operation, []).append(p)
    told = [[p for some in of.values() for p in by_strategy(some).values()] for of in by.values()]
    return max(told, key=lambda ps: (ps[0].n_dof >= 50_000, sum(p.operation in OPERATION for p in ps), ps[0].n_dof),
               default=[])


ASIDE = "‡"  # behind a number that is not of the run that speaks in its column


def aside(model: Model, some: Sequence[Point]) -> dict[Point, str]:
    """Of the points of fullest: a mark where another run speaks of the operation."""
    first = {}
    for operation in {p.operation for p in some}:
        first[operation] = speaking(p for p in model.kernels if p.operation == operation and p.plain and p.mesh.cube and (
            p.card, p.element, p.n_dof) == (some[0].card, some[0].element, some[0].n_dof))[0].run
    return {p: ASIDE if p.run != first[p.operation] else "" for p in some}


def strategies_table(model: Model, card: Card, element: str) -> Table | None:
    some = fullest(model, card, element)
    if len({p.strategy for p in some}) < 2:
        return None
    operations = [o for o in OPERATION if any(p.operation == o for p in some)]
    at = {(p.strategy, p.operation): p for p in some}
    scale, unit = (GIGA, "10⁹") if card.backend == "cuda" else (1e-6, "10⁶")
    held = {key: q for key, p in at.items() if (q := model.sustained(p))}
    without_pause = [o for o in operations if any(key[1] == o for key in held)]
    marks = aside(model, some)

    def cell(p: Point | None) -> Cell:
        told = number(p.throughput if p else None, scale)
        return dataclasses.replace(told, text=told.text + (marks.get(p, "") if p else ""))

    rows = [[Cell(STRATEGY[s])] +
            [cell(of.get((s, o))) for of, listed_ in ((at, operations), (held, without_pause)) for o in listed_]
            for s in ranked(some)]
    elsewhere = any(q.run != at[key].run for key, q in held.items())
    said = (f" *Sustained*: ten seconds without a pause, {where(q.run for q in held.values())}"
            f"{', another run, so that no ratio is to be formed with the columns before' * elsewhere}; empty: not measured so."
            ) if held else ""
    others = [p for p in some if marks[p]]
    beside = (f" {ASIDE}: of another run than the rest of its column ({where(p.run for p in others)}), no ratio to be "
              "formed with it.") if others else ""
    of = [(OPERATION[o], {p.time.processes for p in some if p.operation == o}) for o in operations]
    processes = by_operation(of + [("sustained", {q.time.processes for q in held.values()})] * bool(held))
    return Table(f"strategies-{card.key}-{element}",
                 f"{ELEMENT[element]}, {card.words}, box of {count(some[0].n_dof)} DoF, {processes}",
                 f"Throughput in {unit} degrees of freedom per second: value (interval), all points plastic, doubles. "
                 f"{samples(p.time for p in some)}.{between_runs(card)} "
                 f"{runs_by_operation(dict((OPERATION[p.operation], p.run) for p in some if not marks[p]))}."
                 f"{changed_since([*some, *held.values()])}{beside}{said}",
                 ["strategy"] + [OPERATION[o] for o in operations] +
                 [f"{OPERATION[o]}, sustained" for o in without_pause], rows,
                 wanted=BODY if card in model.main_cards else APPENDIX)


def changed_since(some: Sequence[Point]) -> str:
    """Of which strategies the mark behind commits is, where it is not of all."""
    old = [s for s in ranked(some) if any(p.is_old for p in some if p.strategy == s)]
    return f" Here {sources.MARK} is of some alone: {named(old)}." if 0 < len(old) < len({p.strategy for p in some}) else ""


def runs_by_operation(columns: dict[str, Run]) -> str:
    """Of which run each column is: Commit c1; full tangents of c2, with which no ratio is to be formed."""
    by: dict[Run, list[str]] = {}
    for name, run in columns.items():
        by.setdefault(run, []).append(name)
    first, *others = sorted(by, key=lambda run: -len(by[run]))
    aside = [f"{listed(by[run])} of {sources.marked(run.commit, run.is_old)}" for run in others]
    return f"{where([first]).capitalize()}" + f"; {', '.join(aside)}, with which no ratio is to be formed" * bool(aside)


def by_operation(columns: Sequence[tuple[str, set[int]]]) -> str:
    """How many processes measured each column: 5 processes; full tangents and sustained 3"""
    by: dict[str, list[str]] = {}
    for name, processes in columns:
        least, most = min(processes), max(processes)
        by.setdefault(str(least) if least == most else f"{least} to {most}", []).append(name)
    first, *others = sorted(by, key=lambda n: -len(by[n]))
    said = "one process" if first == "1" else f"{first} processes"
    return "; ".join([said, *(f"{listed(by[n])} {n}" for n in others)])


def samples(times: Iterable[model_.Time]) -> str:
    """How many of each process, and what the interval is."""
    times = list(times)
    alone, several = (any(t.one_process == one_ for t in times) for one_ in (True, False))
    within = ", and within the process where there is only one" if alone else ""
    what = f"{model_.BETWEEN}{within}" if several else "that within this process"
    return f"{listed(str(n) for n in sorted({t.samples for t in times}))} samples each: the interval is {what}"


def kinds(times: Iterable[model_.Time]) -> str:
    times = list(times)
    return f"{listed(sorted({t.kind for t in times})).capitalize()}, {samples(times)}"


def fastest_matrix(some: Sequence[Point], own: Point) -> Point | None:
    """Of a run at one place, to compare a strategy's product with that has no matrix."""
    matrices = [p for p in some if p.strategy in MATRIX]
    if not matrices or own.strategy in MATRIX or not own.operation.startswith("jacvec"):
        return None
    return min(matrices, key=lambda p: p.time.value)


def answer(model: Model, place: Place, won: Winner, some: Sequence[Point]) -> Answer:
    other = min((p for p in competing(some) if p.strategy not in MATRIX), key=lambda p: p.time.value)
    matrix = fastest_matrix(some, other)
    sustained = model.sustained(won.fastest[0])
    if not matrix:
        return Answer(place, won, None, None, sustained, None, None)
    own, beside = model.sustained(other), model.sustained(matrix)
    both = model_.counted(beside, own) if own and beside and own.run == beside.run else None
    return Answer(place, won, matrix, other, sustained, model_.counted(matrix, other), both)


@functools.cache
def answers(model: Model) -> list[Answer]:
    at = places(model.kernels)
    return [answer(model, place, won, at[place]) for place, won in winners(model).items()]


WITHOUT_PAUSE = ("10⁹ DoF/s, sustained", "matrix / other, sustained")
ANSWER = ["card", "element", "mesh", "operation", "fastest", "tie", "matrix", "DoF", "10⁹ DoF/s", "next / it",
          "matrix / other", *WITHOUT_PAUSE, "of"]
ALONE = " alone"  # of a matrix: the other one with blocks of its own was not compared
SAID = (f"The fastest strategy, which is faster than all others {FASTER}; or those that are not told apart (=, *tie*: yes), or, "
        "where another run has a strategy that was not proved slower, that one behind a question mark (*tie*: open). Then: the "
        "fastest product with an assembled matrix, assembly not counted, of those measured in the same run (*alone*: the "
        "matrix with half of the blocks was not measured there, and can be faster than that); the throughput of the first "
        "strategy in 10⁹ degrees of freedom per second; two ratios with the ends between which they count, ties among them: "
        "the time of the next strategy over that of the first, and of that matrix over the fastest strategy without one "
        "(named behind *over* where it is not the first; empty: no product with a matrix); and of how many strategies, "
        "compared in this run or within another one. All points plastic, doubles; " + IN_TURNS + ".")
SAID_SUSTAINED = (" *Sustained*: the same strategies where they worked for ten seconds without a pause, at the clock that the "
                  "card's power allows; empty: not measured so.")


def answer_cells(entry: Answer) -> list[Cell]:
    """In the order of ANSWER."""
    (card, element, operation, mesh, n), won = entry.place, entry.won
    words = [card.short, ELEMENT[element], mesh, OPERATION[operation], level(won), tie(won), over(entry)]
    return [Cell(text) for text in words] + [
        size(n), number(won.fastest[0].throughput, GIGA), number(won.gain), number(entry.ratio),
        number(entry.sustained.throughput if entry.sustained else None, GIGA), number(entry.ratio_sustained),
        Cell(str(won.of), won.of)]


def answers_as(name: str, title: str, entries: Sequence[Answer], caption: str, more: Sequence[str] = (),
               behind: Callable[[Answer], list[Cell]] = lambda entry: []) -> Table:
    """Without the columns of sustained rates where no row has one. more: heads of the cells behind."""
    columns = [*ANSWER, *more]
    lines = [answer_cells(e) + behind(e) for e in entries]
    empty = {i for i, head in enumerate(columns) if head in WITHOUT_PAUSE and not any(line[i].text for line in lines)}
    kept = [i for i in range(len(columns)) if i not in empty]
    said = SAID + (SAID_SUSTAINED if len(empty) < len(WITHOUT_PAUSE) else "")
    return Table(name, title, f"{said} {caption}", [columns[i] for i in kept],
                 [[line[i] for i in kept] for line in lines], words=7, wanted=APPENDIX)


def in_order(model: Model, entries: Iterable[Answer]) -> list[Answer]:
    """By card, element, mesh, operation and size."""
    cards = {card: i for i, card in enumerate(model.cards)}
    operations = list(OPERATION)


    def key(entry: Answer) -> tuple:
        card, element, operation, mesh, n = entry.place
        return cards[card], element, mesh, operations.index(operation), n

    return sorted(entries, key=key)


def level(won: Winner) -> str:
    """Those that are not told apart; behind a question mark what another run has."""
    words = " = ".join(STRATEGY[p.strategy] for p in won.fastest[:2]) + (" = …" if len(won.fastest) > 2 else "")
    return words + (f" ? {STRATEGY[won.missed[0]]}" + " …" * (len(won.missed) > 1) if won.missed else "")


def tie(won: Winner) -> str:
    """Whether several are the fastest; open: nobody is, because another run has a strategy that was not proved slower."""
    return "yes" if len(won.fastest) > 1 else "open" if won.missed else "no"


def over(entry: Answer) -> str:
    """The matrix that ratios are of, and the strategy that they are over, where that is not the first one."""
    if not entry.matrix or not entry.other:
        return ""
    words = STRATEGY[entry.matrix.strategy].removeprefix("matrix, ")
    words += ALONE if BLOCKS[1] in entry.won.lacks + entry.won.missed else ""
    return words + ("" if entry.other == entry.won.fastest[0] else f" over {STRATEGY[entry.other.strategy]}")


def choice_table(model: Model) -> Table | None:
    """Of each card, element, mesh and operation the place where most of the main strategies were compared, the largest of
    equals: as the README's table has it."""
    best: dict[tuple, Answer] = {}
    for entry in answers(model):
        (card, element, operation, mesh, n), won = entry.place, entry.won
        if operation not in PRODUCTS or mesh not in ("box", "irregular") or won.of < 3 or n < LEAST_DOF:
            continue
        key = (card, element, mesh, operation)
        if key not in best or (-len(won.lacks), n) > (-len(best[key].won.lacks), best[key].place[4]):
            best[key] = entry
    entries = in_order(model, best.values())
    if not entries:
        return None
    return answers_as("choice", "Which strategy is the fastest", entries,
                      f"{kinds(p.time for e in entries for p in e.won.fastest)}. Boxes and irregular meshes of at least "
                      f"{count(LEAST_DOF)} degrees of freedom, three strategies or more. Another table has all "
                      f"places. {where(e.won.run for e in entries).capitalize()}.")


def answers_table(model: Model) -> Table | None:
    def behind(entry: Answer) -> list[Cell]:
        n = entry.won.fastest[0].time.processes
        return [Cell(str(n), n), Cell(entry.won.run.marked)]

    entries = in_order(model, answers(model))
    if not entries:
        return None
    return answers_as("all-places", "The fastest strategy at each place", entries,
                      "Further: how many processes measured, and the commit. ~: an interval so wide that nobody "
                      "wins by it.", ["processes", "commit"], behind)


def break_even_table(model: Model) -> Table | None:
    """At the boxes of the tables of strategies: products that repay a set-up, beside strategies without one."""
    beside, operations = ("element_atomic", "element_team"), ("jacvec_elastic", "jacvec")
    rows, runs = [], []
    for card in model.cards:
        for element in ("hex8", "tet4", "hex27", "tet10"):
            some = [p for p in fullest(model, card, element) if p.n_dof >= LEAST_DOF]
            for strategy in ranked(some):
                p = one(some, strategy=strategy, operation="jacvec")
                if strategy in set_ups.WITHOUT + NOT_A_STRATEGY + CHOOSES or p is None or p.set_up is None:
                    continue
                at = set_ups.of_run(model, p)
                repaid = [set_ups.break_even(at[strategy], at.get(s, {}), o) for s in beside for o in operations]
                runs.append(p.run)
                rows.append([Cell(card.short), Cell(ELEMENT[element]), Cell(STRATEGY[strategy]), size(p.n_dof),
                             milli(p.set_up), *(Cell("") if n is None else Cell(str(n), n) for n in repaid)])
    if not any(cell.text for row in rows for cell in row[5:]):
        return None
    return Table("break-even", "Set-ups repaid",
                 "After how many products a strategy has taken no longer than one without a set-up, its own included, at "
                 "the boxes of the tables of strategies; of matrices with one assembly. Empty: never, not "
                 "measured, or both products are not told apart. "
                 f"Set-ups in ms, the median over processes; {where(runs)}.",
                 ["card", "element", "strategy", "DoF", "set-up"] +
                 [f"{OPERATION[o]}s beside {STRATEGY[s]}" for s in beside for o in operations], rows, words=3,
                 wanted=APPENDIX)


def solves_table(model: Model) -> Table | None:
    rows = []
    at: dict[tuple, list[Point]] = {}
    for p in model.of("solves.csv"):
        at.setdefault((p.run, p.backend, p.threads, p.case, p.element, p.krylov, p.precondition, p.jacobian, p.anderson,
                       p.ranks, p.precision, p.strategy), []).append(p)
    for (run, _, _, case, element, _, precondition, jacobian, depth, ranks, precision, strategy), some in at.items():
        solve, graph, prepare = (one(some, operation=o)
                                 for o in ("solve", "solve_graph", "precondition_setup"))
        if not solve:
            continue
        rows.append([
            Cell(solve.card.short),
            Cell(ELEMENT[element]),
            Cell(problem_words(case)),
            Cell(PRECONDITION[precondition] + jacobian_words(jacobian, depth)),
            Cell(STRATEGY[strategy] + (", products in floats" if precision == "mixed" else "")),
            size(solve.n_dof),
            Cell(str(ranks), ranks),
            milli(solve.set_up),
            milli(prepare.time.value if prepare else None),
            number(solve.time, 1e3),
            number(graph.time if graph else None, 1e3),
            Cell(str(solve.newton_iterations), solve.newton_iterations),
            Cell(str(solve.krylov_iterations), solve.krylov_iterations),
            sent(solve, "bytes_setup", 1e-6),
            *(sent(solve, column, 1 / solve.newton_iterations if solve.newton_iterations else None)
              for column in ("bytes_back", "bytes_halo")),
            Cell(str(solve.time.processes), solve.time.processes),
            Cell(run.marked)
        ])
    if not rows:
        return None
    return Table(
        "all-solves", "Whole solves",
        "Whole solves, times in ms: set-up of mesh and strategy (with the search for an order where the strategy leaves "
        "it open), set-up of the preconditioner, solve (interval), solve with CUDA graphs; Newton and Krylov iterations; bytes "
        "that a GPU was sent before the first load step, came back from it, and went to others in exchanges, the last two "
        "for each Newton iteration, of the GPU with the most. Ranks: GPUs, processes or threads. Intervals are between "
        "processes, of one process within it.", [
            "card", "element", "problem", "preconditioner", "strategy", "DoF", "ranks", "set-up", "its set-up", "solve",
            "with graphs", "Newton", "Krylov", "sent, MB", "back, B/Newton", "halo, B/Newton", "processes", "commit"
        ], rows, words=5, wanted=APPENDIX)


def sent(p: Point, column: str, by: float | None) -> Cell:
    """Bytes of a column, times `by`; nothing where either is not known."""
    value = p.row[column]
    return Cell(digits(value * by), value * by) if value is not None and by is not None else Cell("")


def milli(value: float | None) -> Cell:
    return Cell(digits(value * 1e3), value * 1e3) if value is not None else Cell("")


def scaling_table(model: Model) -> Table | None:
    rows = []
    for machine in dict.fromkeys((p.run.machine, p.backend) for p in model.of("scaling.csv")):
        device = next(p for p in model.of("scaling.csv") if (p.run.machine, p.backend) == machine).device
        for s in speeds(model, machine):
            rows.append([
                Cell(Card(*machine, device, 0).name.removeprefix("NVIDIA ")),
                Cell(ELEMENT[s.element]),
                Cell(s.kind),
                Cell(s.mesh),
                Cell(s.communication),
                Cell(ITERATIONS[s.operation]),
                Cell(s.order),
                Cell(STRATEGY[s.strategy]),
                size(s.n_dof),
                Cell(str(s.ranks), s.ranks),
                number(s.gain),
                Cell(s.run.marked)
            ])
    if not rows:
        return None
    return Table("all-ranks", "Several ranks",
                 "One iteration of GMRES on one rank over that on several of the same run, of the processes that both "
                 "have: speed-up (strong, size of all) or efficiency (weak, size of one rank). *GMRES*: how the basis "
                 "is made orthogonal; *order*: that of elements and nodes (auto: the strategy's own). Where two calls of "
                 "the program measured a line in one run it is of the one with most strategies.",
                 ["card", "element", "kind", "mesh", "by", "GMRES", "order", "strategy", "DoF", "ranks", "gain",
                  "commit"], rows, words=8,
                 wanted=APPENDIX)


MACHINE_KEYS = (("cpu", "processor"), ("cpu_stepping", "stepping"), ("microcode", "microcode"), ("cores", "cores"),
                ("numa_nodes", "NUMA nodes"), ("memory_gb", "memory, GB"), ("system", "operating system"),
                ("gpu", "GPU"), ("driver", "driver"), ("gpu_power_limit_w", "GPU power limit, W"),
                ("gpu_max_sm_mhz", "highest SM clock, MHz"), ("gpu_max_memory_mhz", "highest memory clock, MHz"),
                ("gpu_ecc", "ECC"), ("gpu_persistence", "persistence mode"), ("gpu_mig", "MIG mode"),
                ("compiler", "compiler"), ("cuda", "CUDA"),
                ("cuda_copy_gb_per_s", "GPU copy, GB/s"), ("cuda_fma_gflop_per_s", "GPU FP64, Gflop/s"),
                ("host_copy_gb_per_s", "host copy, GB/s"), ("host_fma_gflop_per_s", "host FP64, Gflop/s"))


def machines_table(model: Model) -> Table | None:
    rows, seen = [], set()
    for run in model.runs:
        record = dict(run.record)
        if not record or run.machine in seen:
            continue
        seen.add(run.machine)
        values = [record.get(key, "") for key, _ in MACHINE_KEYS]
        rows.append([Cell(run.commit)] + [Cell(UNTOLD if v in ("", "0", "0.00") else v) for v in values])
    if not rows:
        return None
    turned = [[Cell(head)] + [row[i] for row in rows]
              for i, head in enumerate(["measured at commit"] + [h for _, h in MACHINE_KEYS])]
    names = [run.machine for run in model.runs if run.record]
    return Table("machines", "Machines",
                 "Each machine as its newest run with a record has it, with the ceilings measured there. "
                 f"{UNTOLD}: this record does not have it, the machine does not tell it, or there is no GPU. "
                 "Values between semicolons: of several machines or GPUs of that run; ceilings are those of its first "
                 "machine, and what a record says may be of some of its machines alone.",
                 ["", *dict.fromkeys(names)], turned, words=1 + len(rows))


def runs_table(model: Model) -> Table:
    rows = []
    for run in model.runs:
        of = [p for p in model.points if p.run == run]
        if not of:
            continue
        devices = listed(dict.fromkeys(p.card.name for p in of))
        several, worst = sum(not p.time.one_process for p in of), max((p.error for p in of if p.error), default=None)
        newer = model.superseded(run)
        link = f"[{run.folder}](../{run.name})" + sources.MARK * run.is_old
        hours, at_once = lasted(run) or (None, None)
        rows.append([Cell(link), Cell(run.day), Cell(devices),
                     Cell("" if hours is None else f"{hours:.2g}", hours), Cell(str(at_once or ""), at_once),
                     *(Cell(str(n), n) for n in (len(of), several, newer)),
                     Cell(f"{worst:.1e}", worst) if worst else Cell("")])
    return Table(
        "runs", "Runs", "All runs below `results/` with times, the newest first: folder (day and commit), cards, hours "
        "from the begin of its first process to the end of its last one, cards that it measured on side by side (both empty: "
        "not told; which of several machines a process ran on is not), points with a time, how many of them several processes measured, how many a newer run of the same machine measured "
        "again (where all were, the folder can leave), and the largest error of a result that was timed, against the "
        f"oracle or another strategy. {sources.NOTE}",
        ["run", "day", "cards", "hours", "side by side", "points", "several processes", "measured again", "largest error"],
        rows, words=3)


def processes_table(model: Model) -> Table:
    by: dict[tuple[str, str], list[Point]] = {}
    for p in model.points:
        by.setdefault((p.card.name, p.kind.removesuffix(".csv")), []).append(p)
    rows = []
    for (card, kind), some in by.items():
        several = sum(p.time.processes >= LEAST_PROCESSES for p in some)
        alone = sum(p.time.one_process for p in some)
        noisy = sum(p.time.noisy for p in some)
        rows.append([Cell(card), Cell(kind)] + [Cell(str(n), n) for n in (len(some), alone, several, noisy)])
    return Table(
        "processes", "What one process measured",
        "Points by card and program: how many one process measured alone (no interval between processes: a claim "
        f"counts them within a factor of {ONE_PROCESS}, on hosts {ONE_ON_HOST}), how many at least {LEAST_PROCESSES} measured, and by how many nobody wins, because the ends "
        f"of their interval differ by more than a factor of {NOISY:g} or others loaded the machine.",
        ["card", "program", "points", "one process", f"{LEAST_PROCESSES} and more", "noisy"], rows, words=2,
        wanted=APPENDIX)


def yes(said: object) -> Cell:
    return Cell("yes" if said else "no")


def took(strategy: str, time: float) -> Cell:
    return Cell(f"{STRATEGY[strategy]}, {seconds(time)}", time)


def pair(at: Mapping[str, Whole], seconds_of: Callable[[Whole], float]) -> tuple[Whole, Whole] | None:
    """The matrix that takes least, and the strategy without one that does."""
    sides = [[w for s, w in at.items() if s in BLOCKS], [w for s, w in at.items() if s not in MATRIX]]
    if not all(sides):
        return None
    matrix, other = (min(side, key=seconds_of) for side in sides)
    return matrix, other


def solve_ratio(at: Mapping[str, Whole]) -> Cell:
    both = pair(at, lambda w: w.solve.time.value)
    return number(model_.counted(both[0].solve, both[1].solve) if both else None)


def ratio_in_all(at: Mapping[str, Whole]) -> Cell:
    """With set-ups."""
    both = pair(at, lambda w: w.total)
    if not both:
        return Cell("")
    ratio = over_in_all(*both)
    return Cell(text.interval(*ratio), ratio[0])


def solve_choice_table(model: Model) -> Table | None:
    """Of each place of solves_of: who takes least, without and with set-up."""
    cards = {card: i for i, card in enumerate(model.cards)}
    found = sorted(solves_of(model).items(), key=lambda e: (cards.get(e[0][0], len(cards)), *e[0][1:3]))
    rows, runs = [], []
    measured = [s for s in BLOCKS if any(s in wholes(some) for _, some in found)]
    for (card, case, element, _, precondition, n), some in found:
        runs.append(some[0].run)
        at = wholes(some)
        first, *level = least_in_solve(at)
        least, *level_in_all = least_in_all(at)
        cells = [took(first, at[first].solve.time.value), yes(level), solve_ratio(at),
                 took(least, at[least].total), yes(level_in_all), ratio_in_all(at)]
        rows.append([
            Cell(card.short),
            Cell(f"{ELEMENT[element]}, {problem_words(case)}"),
            Cell(PRECONDITION[precondition]),
            size(n), *cells,
            Cell(digits(before := 100 * at[least].before.total / at[least].total), before),
            Cell(str(len(at)), len(at))
        ])
    if not rows:
        return None
    return Table(
        "solve-choice", "Which strategy solves in the least time",
        "Whole solves, on GPUs with CUDA graphs: the strategy that takes least and its time; whether another one is not told "
        "from it (*tie*), of solves by the rule of all tables; and how many times as long the "
        f"assembled matrix takes ({' or '.join(STRATEGY[s] for s in measured)}{', measured alone' * (len(measured) == 1)}) "
        "as the fastest strategy without a matrix (*other*), with the ends between which the ratio counts; "
        "then the same with the set-ups of mesh, strategy and "
        f"preconditioner, where those that a process timed once count as different from a factor of {set_ups.APART} on, and their "
        "share; of how many strategies. *Fixed iterations*: 20 Newton iterations of 30 GMRES iterations each; "
        "*load steps*: to convergence. Medians of one run each; intervals of times are in the table of all solves. "
        f"{kinds(p.time for _, some in found for p in some).partition(':')[0]}; {where(runs)}.",
        ["card", "problem", "preconditioner", "DoF", "least", "tie", "matrix / other", "least, set-up", "tie, set-up",
         "matrix / other, set-up", "set-ups of least, %", "of"], rows, words=3)
