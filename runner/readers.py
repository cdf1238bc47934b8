"""Which claims read the rows of which experiment: those of which a point could decide one side.

Nothing of this is typed: a point says what its rows will have in the columns that claims select by. Columns that it
does not know, such as operations, count as fitting.

    python3 -m runner.readers       a table of all experiments of a paper: question, claims, minutes
"""

from __future__ import annotations

import collections
import itertools
import pathlib
import re
from collections.abc import Iterable, Sequence

from report import model, rows, sources, text
from report.claim import USUAL, Claim, Selection, matches, read_claims
from report.words import OPERATION
from runner import costs, experiments, points, studies

FILES = {"kernels": "kernels.csv", "solves": "solves.csv", "peers": "solves.csv", "scaling": "scaling.csv",
         "storage": "storage.csv", "forms": "forms.csv", "anderson": "anderson.csv", "profile": "profile.csv"}
OPERATIONS = {"kernels": list(OPERATION), "storage": list(OPERATION), "forms": list(OPERATION),
              "profile": list(studies.PROFILED)}
CARD = points.Here(programs={name: pathlib.Path(name) for name in ("kernels", "solves", "peers", "scaling", "solve")},
                   scratch=pathlib.Path(), strategies=sources.strategies(), few=sources.strategies(),
                   capacity={"cuda": 8, "host": 64}, peers=frozenset(itertools.product(("gamg", "boomeramg"), ("host", "cuda"))))
CORES = 64


def columns_of(point: points.Point) -> rows.Row:
    """What is known of a point's rows."""
    known: rows.Row = {"backend": point.backend, "element": point.element}
    if point.program in OPERATIONS:
        known["operation"] = OPERATIONS[point.program]
    if isinstance(point, points.Kernels):
        specials = point.words()
        known |= {"condition": next((s for s in specials if s.startswith(("sustained", "cold", "slower"))), "burst"),
                  "operand": "smooth" if "smooth" in specials else "random"}
        known |= {} if point.is_part() else {"plastic": float(point.plastic)}
        known |= {"order": point.order, "plastic_pattern": point.pattern,
                  "precision": point.special if point.special in ("mixed", "single") else "double", "ranks": 1,
                  "hardening": "voce" if point.special == "voce" else "linear", "n_dof": point.dofs(False)}
        chosen = next((points.OPERATIONS[s] for s in specials if s in points.OPERATIONS), None)
        known["operation"] = list(chosen or (o for o in OPERATION if o != "jacvec_full"))
        if "contact" in specials:
            known["operation"] += [f"{o}_contact{share}" for o in chosen or () for share in points.CONTACT_SHARES]
        if isinstance(point, studies.Built):
            known[point.column] = point.way
    elif isinstance(point, points.Solves):
        known |= {"precondition": point.precondition, "ranks": point.ranks, "n_dof": point.dofs(False),
                  "case": case_of(point), "precision": point.products or "double",
                  "jacobian": point.jacobian or "tangent", "anderson": point.anderson}
        if isinstance(point, points.Peers):
            known["variant"] = f"petsc_{point.precondition}"
    elif isinstance(point, points.Scaling):
        ranks = point.ranks
        known |= {"ranks": ranks, "n_dof": point.dofs(False) * ranks}
    elif isinstance(point, studies.Anderson):
        known = {"element": point.element, "jacobian": point.jacobian, "depth": int(point.depth)}
    elif isinstance(point, studies.Profile):
        known = {"element": point.element}
    return known


def case_of(point: points.Solves) -> str:
    """As `solves` names it."""
    if point.cells() or point.levels():
        mesh = point.mesh_to_make(CARD)
    elif match := re.fullmatch(r"([a-z]+)(@?)(\d+)", point.size):
        problem, at, number = match.groups()
        mesh = f"irregular{number}-{problem}" if at else f"box{number}-{problem}"
    else:
        mesh = f"bracket_{point.element}" + ("" if "fine" in point.size else "_coarse")
    by_peers = point.ranks > 1 and point.backend == "cuda" and not point.transport
    return f"{mesh}-{point.load()}" + ("-peer" if by_peers else "")


def fits(known: rows.Row, wanted: Selection) -> bool:
    for column, selected in wanted.items():
        if column not in known:
            continue
        value = known[column]
        if not any(matches(one, selected) for one in (value if isinstance(value, list) else [value])):
            return False
    return True


def reads(claim: Claim, task: experiments.Task) -> bool:
    point = task.point
    file = FILES.get(point.program, "")
    if claim.quantity == "energy" and not point.measures_energy():
        return False
    usual = USUAL.get(file, {}) | claim.select
    sides = [side for side in (claim.of, claim.over) if side is not None]
    own = {column for side in sides for column in side}
    both = {column: wanted for column, wanted in usual.items() if column not in own}
    return any(claim.file_of(side) == file and fits(columns_of(point), both | side) for side in sides)


def readers(tasks: Iterable[experiments.Task], known: Sequence[Claim]) -> dict[str, list[str]]:
    """Names of claims by experiment, in the order of claims."""
    found: dict[str, list[str]] = collections.defaultdict(list)
    by_experiment: dict[str, list[experiments.Task]] = collections.defaultdict(list)
    for task in tasks:
        by_experiment[task.experiment].append(task)
    for name, some in by_experiment.items():
        found[name] = [claim.name for claim in known if any(reads(claim, task) for task in some)]
    return found


def paper(cores: int = CORES) -> tuple[list[experiments.Experiment], list[experiments.Task], experiments.Variables]:
    """The whole list on a machine with GPUs."""
    settings = experiments.read_settings()
    variables = experiments.variables_of({}, settings, CARD, cores, paper=True)
    listed = experiments.read_all()
    return listed, experiments.plan(listed, settings, variables, CARD, paper=True), variables


def minutes_of(tasks: Sequence[experiments.Task], known: costs.Costs) -> float | None:
    """Of one process of each point; None where nothing like one of them was ever measured."""
    total = 0.0
    for task in tasks:
        strategies = 1 if task.point.program in ("anderson", "orthogonality") else len(task.point.strategies(CARD))
        seconds = known.predict(costs.work_of(task.point, strategies, task.repetitions, False))
        if seconds is None:
            return None
        total += seconds
    return total / 60


BESIDES = {"peers": "PETSc", "profile": "Nsight Compute", "trace": "CUPTI", "forms": "`make forms`"}  # of programs


def needs_of(tasks: Sequence[experiments.Task], cores: int = 0) -> str:
    """The machines that measure an experiment's points, and what these need besides the programs that `make` builds; "-" of
    one that has none. cores: that a host has at least."""
    ranks = [int(getattr(task.point, "ranks", 1)) for task in tasks if task.point.backend == "cuda"]
    gpus = "" if not ranks else "a GPU" if max(ranks) == 1 else f"{min(ranks)} to {max(ranks)} GPUs"
    host = "a host" + f" of {cores} cores" * bool(cores) if any(task.point.backend == "host" for task in tasks) else ""
    besides = {BESIDES.get(task.point.program, "") for task in tasks}
    if any(str(getattr(task.point, "size", "")).startswith("bracket_fine") for task in tasks):
        besides.add("Gmsh for some")
    return ", ".join(filter(None, (" or ".join(filter(None, (gpus, host))), *sorted(besides)))) or "-"


def table() -> list[str]:
    """Experiments, what they ask and need, minutes on a card, which claims read them."""
    listed, tasks, _ = paper()
    kinds = {f"{task.point.program}-cuda" for task in tasks}
    known = costs.earlier([model.ROOT / "results"], "", pathlib.Path("none"), False, kinds)
    read_by = readers(tasks, read_claims())
    on_few = {t.experiment for t in paper(1)[1] if t.point.backend == "host"}
    lines = []
    for e in listed:
        own = [t for t in tasks if t.experiment == e.name]
        some = [t for t in own if t.point.backend == "cuda"]
        minutes = minutes_of(some, known) if some else None
        measured = all(known.is_measured(f"{t.point.program}-cuda") for t in some)
        told = "-" if not own else "host" if not some else "not known" if minutes is None else \
            ("" if measured else "≥ ") + f"{max(minutes, 0.1):.2g}"
        names = ", ".join(f"`{name}`" for name in read_by.get(e.name, [])) or "-"
        needs = needs_of(own, 0 if e.name in on_few else experiments.MANY_CORES)
        lines.append([f"`{e.name}`", e.question, needs, str(e.processes), told, names])
    return text.table(["experiment", "asks", "needs", "processes", "minutes of one", "claims that read it"], lines, 3, behind=1)


def unread() -> list[str]:
    """Claims with commands that no experiment's rows decide."""
    _, tasks, _ = paper()
    told = {name for names in readers(tasks, read_claims()).values() for name in names}
    return [claim.name for claim in read_claims() if claim.name not in told and claim.reproduce]


if __name__ == "__main__":
    print("\n".join(table()))
    print("read by no experiment:", ", ".join(unread()) or "none")
