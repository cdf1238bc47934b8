"""Reads experiments/*.toml and the variables of `make bench`, and says which points there are, in which order.

experiments/sweep.toml explains what an experiment is, experiments/settings.toml what the variables are when not given.
"""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from runner import points, studies
from runner.here import warn

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "experiments"
KEYS = {"name", "question", "program", "pass", "axes", "only", "repetitions", "processes"}
MANY_CORES = 16  # from which on hosts have lists of their own
LISTS = ("SIZES", "MESHES", "SOLVES", "STRONG", "WEAK", "SOCKET", "FURTHER", "RANKS")
KERNEL_AXES = ("size", "order", "plastic", "pattern", "special", "element")
AXES = {"kernels": KERNEL_AXES, "solves": ("problem", "kind", "precondition", "products", "jacobian", "anderson", "ranks",
                                           "transport", "element"),
        "peers": ("problem", "precondition", "element"), "scaling": ("size", "kind", "ranks", "transport", "gmres", "element"),
        "anderson": ("element", "jacobian", "depth", "step"),
        "orthogonality": ("precondition", "orthogonalization", "basis", "columns"),
        "storage": ("storage", "element", "size", "order"), "forms": ("form", "element", "size", "order"),
        "profile": ("element", "size", "order"),
        "trace": ("element", "size", "variant", "ranks", "transport", "launches")}


class Fault(Exception):
    """An experiment or a variable that is not what it should be, in one line."""


@dataclasses.dataclass(frozen=True)
class Experiment:
    name: str
    question: str
    program: str
    passes: dict[str, str]  # by backend, or of "first"
    axes: dict[str, dict[str, tuple[str, ...]]]  # by axis and backend
    repetitions: dict[str, int]  # by backend
    processes: int
    only: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Task:
    """A point that an experiment asks for."""

    passed_in: str
    experiment: str
    point: points.Point
    repetitions: int
    processes: int


@dataclasses.dataclass(frozen=True)
class Settings:
    passes: tuple[str, ...]
    until: dict[str, float]
    tables: dict  # variables, few_cores, many_cores, paper


# --- reading ---------------------------------------------------------------------------------------------


def load(path: pathlib.Path) -> dict:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise Fault(f"{path}: {error}") from error


def read_settings(folder: pathlib.Path = FOLDER) -> Settings:
    table = load(folder / "settings.toml")
    return Settings(tuple(table["passes"]), table["until"], table)


def by_backend(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"cuda": value, "host": value}


def read_all() -> list[Experiment]:
    """Those of the sweep, then the studies."""
    return [e for name in ("sweep.toml", "studies.toml") for e in read_experiments(FOLDER / name)]


def read_experiments(path: pathlib.Path) -> list[Experiment]:
    """All of a file, in their order; Fault names the experiment and the key."""
    found: list[Experiment] = []
    for number, table in enumerate(load(path).get("experiment", []), 1):
        where = f"{path}: experiment {table.get('name', number)!r}"
        for key in table:
            if key not in KEYS:
                raise Fault(f"{where}: there is no key {key!r}")
        for key in ("name", "question", "program", "pass", "axes", "repetitions", "processes"):
            if key not in table:
                raise Fault(f"{where}: has no {key!r}")
        if table["program"] not in AXES:
            raise Fault(f"{where}: program {table['program']!r} is not one of {', '.join(AXES)}")
        for axis in table["axes"]:
            if axis not in AXES[table["program"]]:
                raise Fault(f"{where}: {table['program']} has no axis {axis!r}")
        passes = table["pass"] if isinstance(table["pass"], dict) else {"first": table["pass"]}
        axes = {axis: {b: tuple(v) for b, v in by_backend(values).items()} for axis, values in table["axes"].items()}
        if table["name"] in (other.name for other in found):
            raise Fault(f"{where}: stands there twice")
        found.append(Experiment(table["name"], table["question"], table["program"], passes, axes,
                                by_backend(table["repetitions"]), table["processes"],
                                tuple(table.get("only", ()))))
    return found


# --- variables -------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Variables:
    """What the user chose, or the defaults that suit the machine."""

    backends: tuple[str, ...]
    budget: int  # minutes; 0: no limit
    lists: dict[str, tuple[str, ...]]  # ELEMENTS, PRECONDITION, SIZES_host, ...; empty: none
    repetitions: int  # 0: what the experiments say
    of_studies: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)  # axes that the user chose
    elements: tuple[str, ...] = ()  # that the user chose, among those of each experiment; none: all

    @property
    def first_backend(self) -> str:
        return "cuda" if "cuda" in self.backends else "host"


def words(text: str) -> tuple[str, ...]:
    return () if text.split() == ["0"] else tuple(text.split())


def whole(name: str, text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise Fault(f"{name}={text}: is not a whole number{what}")
    return int(text)


SIZE = r"[1-9]\d{1,9}"
MESH = rf"(irregular|slender)@{SIZE}|[1-9]\d{{0,5}}x[1-9]\d{{0,5}}x[1-9]\d{{0,5}}|bracket\d?"
PROBLEM = rf"bracket[1-9]?|(bending|stretched)([1-9]\d{{0,3}}|@{SIZE})|(tube|beam)[1-9]\d{{0,3}}"
# What the words of a list may be, and how that is said.
WORDS = {
    **dict.fromkeys(("SIZES", "WEAK", "SOCKET"), (SIZE, "degrees of freedom, as 25000")),
    **dict.fromkeys(("MESHES",), (MESH, "a mesh: irregular@5000000, slender@1000000, 119x119x119, bracket or bracket3")),
    **dict.fromkeys(("STRONG", "FURTHER"), (f"{SIZE}|{MESH}", "degrees of freedom or a mesh, as 25000, irregular@5000000, "
                                            "119x119x119 or bracket3")),
    "SOLVES": (PROBLEM, "a problem: bracket, bending32, stretched46, bending@300000, tube32 or beam16"),
    "RANKS": (r"[1-9]\d{0,4}", "a number of ranks"),
    "ELEMENTS": (r"(tet4|hex8|tet10|hex27)(_\w+)?", "an element: tet4, hex8, tet10 or hex27"),
    "PRECONDITION": ("block-jacobi|multigrid|chebyshev|none", "block-jacobi, multigrid, chebyshev or none"),
}


def check(name: str, found: tuple[str, ...]) -> None:
    """Fault where a word of a list is not of its kind."""
    pattern, wanted = WORDS[name.partition("_")[0]]
    for word in found:
        if not re.fullmatch(pattern, word):
            raise Fault(f"{name}={' '.join(found)}: {word} is not {wanted}")


def powers_of_two(most: int, threads: int) -> tuple[str, ...]:
    """Ranks with so many threads each: 1, 2, 4, ...; none where one fills the machine."""
    counts = [n for n in (2**k for k in range(16)) if n * threads <= most]
    return tuple(map(str, counts)) if len(counts) > 1 else ()


def variables_of(environment: Mapping[str, str], settings: Settings, here: points.Here, cores: int,
                 paper: bool = False) -> Variables:
    """From the environment, with defaults for a machine of so many cores. Fault where a number is none."""
    tables = settings.tables
    of_host = tables["many_cores" if cores >= MANY_CORES else "few_cores"]
    defaults = tables["variables"] | of_host | (tables["paper"] if paper else {})
    gpu = here.capacity.get("cuda", 0) > 0
    backends = tuple((environment.get("BACKENDS") or ("cuda host" if gpu else "host")).split())
    for backend in backends:
        if backend not in ("cuda", "host"):
            raise Fault(f"BACKENDS={' '.join(backends)}: {backend} is neither host nor cuda")
    threads = whole("THREADS", here.threads, "") if here.threads else 1
    if threads < 1:
        raise Fault(f"THREADS={here.threads}: at least 1 is needed")
    lists: dict[str, tuple[str, ...]] = {}
    for name in ("ELEMENTS", "PRECONDITION") + tuple(f"{n}_{b}" for n in LISTS for b in ("cuda", "host")):
        kind, _, backend = name.partition("_")
        if environment.get(name):
            lists[name] = tuple(dict.fromkeys(words(environment[name])))
            check(name, lists[name])
        elif kind == "RANKS" and name not in defaults:
            lists[name] = powers_of_two(here.capacity.get(backend, 0), threads if backend == "host" else 1)
        else:
            lists[name] = tuple(defaults[name])
        missing = {"SOLVES": "solves", "RANKS": "scaling"}.get(kind)
        if missing and not paper and (missing not in here.programs or not here.few):
            lists[name] = ()
        if backend and backend not in backends and kind in ("SOLVES", "MESHES"):
            lists[name] = ()
    first = "cuda" if "cuda" in backends else "host"
    minutes = environment.get("BUDGET") or ("0" if paper else str(defaults["BUDGET"][first]))
    repetitions = environment.get("REPETITIONS", "")
    return Variables(backends, whole("BUDGET", minutes, " of minutes"), lists,
                     whole("REPETITIONS", repetitions, "") if repetitions else 0,
                     {name.lower(): tuple(environment[name].split()) for name in ("SIZE", "ORDER", "STEP")
                      if environment.get(name)},
                     lists["ELEMENTS"] if environment.get("ELEMENTS") else ())


# --- points ----------------------------------------------------------------------------------------------


def largest(sizes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(sizes, key=float)[-1:])


def resolve(value: str, backend: str, variables: Variables) -> tuple[str, ...]:
    """ "$SIZES.first" and the like; other texts are themselves."""
    before, dollar, reference = value.partition("$")
    if not dollar:
        return (value,)
    name, _, part = reference.partition(".")
    known = name if name in variables.lists else f"{name}_{backend}"
    if known not in variables.lists:
        raise Fault(f"there is no variable {name}")
    all_of = variables.lists[known]
    parts = {"": all_of, "first": all_of[:1], "others": all_of[1:],
             "largest": largest(all_of) if part == "largest" else ()}
    if part in parts:
        return tuple(before + text for text in parts[part])
    return tuple(before + text for text in all_of if points.mesh_family(text) == part)


def values(experiment: Experiment, axis: str, backend: str, variables: Variables,
           default: tuple[str, ...]) -> list[str]:
    listed = experiment.axes.get(axis, {}).get(backend, () if axis in experiment.axes else default)
    found: list[str] = []
    for text in listed:
        try:
            found += [v for v in resolve(text, backend, variables) if v not in found]
        except Fault as fault:
            raise Fault(f"experiment {experiment.name!r}: {axis} {text!r}: {fault}") from fault
    return found


def kernel_points(experiment: Experiment, backend: str, variables: Variables) -> Iterator[points.Point]:
    defaults = {"size": (), "order": ("auto",), "plastic": ("1",), "pattern": ("clustered",), "special": ("",),
                "element": ("$ELEMENTS",)}
    axes = [values(experiment, axis, backend, variables, defaults[axis]) for axis in KERNEL_AXES]
    for size, order, plastic, pattern, special, element in itertools.product(*axes):
        if pattern == points.PART and not re.fullmatch(r"bracket\d", size):
            raise Fault(f"experiment {experiment.name!r}: size {size!r}: the pattern {pattern} has bracket1, bracket2, …")
        share = "counted" if pattern == points.PART else plastic
        yield points.Kernels(backend, element, size, order, share, pattern, special)


def meshes_of(problem: str, fine: bool, linear: bool) -> list[str]:
    """Of the bracket its coarse and its fine mesh, with all load steps and with one linear solve."""
    if problem != "bracket":
        return [problem] if not linear or problem.startswith("bending") else []
    steps = ["bracket_linear"] if linear else ["bracket", "bracket_linear"]
    return steps + ([step.replace("bracket", "bracket_fine") for step in steps] if fine else [])


def solve_points(experiment: Experiment, backend: str, variables: Variables, fine: bool) -> Iterator[points.Point]:
    """On the numbers of ranks that an experiment names (ways_of_ranks). Where it names none, the reference workload, a
    fixed number of iterations, on all of them, other solves on one. Peers: linear
    problems, on the host with as many processes as there are ranks at most, on GPUs with one. Where the user wants no
    solves, there is none of any problem."""
    if not variables.lists[f"SOLVES_{backend}"]:
        return
    peers = experiment.program == "peers"
    kind = points.KINDS[experiment.program]
    ranks = [int(n) for n in variables.lists[f"RANKS_{backend}"]]
    preconditions = values(experiment, "precondition", backend, variables, ("$PRECONDITION",))
    products = [p.replace("double", "") for p in values(experiment, "products", backend, variables, ("double",))]
    jacobians = [j.replace("tangent", "") for j in values(experiment, "jacobian", backend, variables, ("tangent",))]
    depths = [int(m) for m in values(experiment, "anderson", backend, variables, ("0",))]
    elements = values(experiment, "element", backend, variables, ("$ELEMENTS",))
    sharing = values(experiment, "kind", backend, variables, ("strong",))
    for problem in values(experiment, "problem", backend, variables, ()):
        for mesh, precondition in itertools.product(meshes_of(problem, fine, peers), preconditions):
            reference = problem.startswith("stretched") and precondition == "block-jacobi"
            counts = [(n, "") for n in (ranks or [1] if reference else [1])]
            if peers and backend == "host":
                counts = [(max(ranks, default=1), "")]
            if "ranks" in experiment.axes:
                counts = list(ways_of_ranks(experiment, backend, variables))
            ways = itertools.product(counts, sharing, products, jacobians, depths)
            for ((n, transport), share, precision, jacobian, depth), element in itertools.product(ways, elements):
                shared = mesh if share == "strong" else of_each(mesh, n)
                yield kind(backend, element, shared, precondition, n, precision, jacobian, depth, transport)


def of_each(problem: str, ranks: int) -> str:
    """The cube of which each rank has as much as one has of the problem: bending161 of bending128 and two."""
    name = problem.rstrip("0123456789")
    if name == problem or "@" in name:
        raise Fault(f"problem {problem!r}: has no number of cells, of which each rank could have as many")
    return f"{name}{round(int(problem[len(name):]) * ranks ** (1 / 3))}"


def ways_of_ranks(experiment: Experiment, backend: str, variables: Variables) -> Iterator[tuple[int, str]]:
    """Numbers of ranks and what their data goes by; one rank sends nothing."""
    for n in map(int, values(experiment, "ranks", backend, variables, ())):
        ways = values(experiment, "transport", backend, variables, ("auto",))
        yield from ((n, way.replace("auto", "")) for way in ways if n > 1 or way == "auto")


def rank_points(experiment: Experiment, backend: str, variables: Variables) -> Iterator[points.Point]:
    size, kind, element = (values(experiment, axis, backend, variables, ("$ELEMENTS",))
                           for axis in ("size", "kind", "element"))
    forms = "gmres" if "gmres" in experiment.axes else ""
    ways = list(ways_of_ranks(experiment, backend, variables))
    for one_size, one_kind, one_element, (n, transport) in itertools.product(size, kind, element, ways):
        yield points.Scaling(backend, one_element, one_size, one_kind, n, transport, forms)


def study_points(experiment: Experiment, backend: str, variables: Variables) -> Iterator[points.Point]:
    """Axes in the order of the file; the last changes first."""
    axes = {axis: variables.of_studies.get(axis) or values(experiment, axis, backend, variables, ())
            for axis in experiment.axes}
    for choice in itertools.product(*axes.values()):
        yield studies.point_of(experiment.program, backend, dict(zip(axes, choice)))


def points_of(experiment: Experiment, backend: str, variables: Variables, fine: bool) -> list[points.Point]:
    if experiment.program == "kernels":
        found = kernel_points(experiment, backend, variables)
    elif experiment.program == "scaling":
        found = rank_points(experiment, backend, variables)
    elif experiment.program in ("solves", "peers"):
        found = solve_points(experiment, backend, variables, fine)
    else:
        found = study_points(experiment, backend, variables)
    asked = variables.elements if "element" in experiment.axes else ()
    return [point for point in found if (not experiment.only or point.element in experiment.only)
            and (not asked or points.shape_of(point.element) in asked)]


def pass_of(experiment: Experiment, backend: str, variables: Variables) -> str:
    """ "" where the backend takes no part."""
    if "first" in experiment.passes:
        return experiment.passes["first"] if backend == variables.first_backend else ""
    name = experiment.passes.get(backend, "")
    return "host" if name == "solves" and backend == "host" and "cuda" in variables.backends else name


def plan(experiments: list[Experiment], settings: Settings, variables: Variables, here: points.Here,
         chosen: tuple[str, ...] = (), paper: bool = False) -> list[Task]:
    """Tasks in their order: pass by pass, within it backend by backend. A task whose point comes earlier with as many
    samples is left out. chosen: passes, all where empty. paper: several processes of each,
    and also what needs a program, GPUs or meshes that are not here (Point.needs tells)."""
    for name in chosen:
        if name not in settings.passes:
            raise Fault(f"PASSES={' '.join(chosen)}: there is no pass {name}")
    tasks: list[Task] = []
    for name in settings.passes:
        if chosen and name not in chosen:
            continue
        for backend in variables.backends:
            for experiment in experiments:
                if pass_of(experiment, backend, variables) != name:
                    continue
                repetitions = variables.repetitions or experiment.repetitions[backend]
                if paper and not variables.repetitions:
                    repetitions = min(repetitions, settings.tables["paper"]["REPETITIONS"])
                if experiment.program == "peers" and not paper and backend not in {b for _, b in here.peers}:
                    continue
                for point in points_of(experiment, backend, variables, paper or bool(here.gmsh)):
                    tasks.append(Task(name, experiment.name, point, repetitions, experiment.processes if paper else 1))
    return list(without_repeats(tasks))


def without_repeats(tasks: list[Task]) -> Iterator[Task]:
    seen: dict[points.Point, Task] = {}
    for task in tasks:
        box = task.point.as_box()
        earlier = seen.get(box)
        if earlier and earlier.point.size != task.point.size:
            warn(f"{task.point.element}, {task.point.size}: the same box as {earlier.point.size}, measured once")
            continue
        if earlier and earlier.repetitions >= task.repetitions and earlier.processes >= task.processes:
            continue
        seen[box] = task
        yield task
