"""What one process measures: a point of an experiment, its name, its size, what it needs, its command line.

A point of `kernels` holds all strategies and operations on one backend, element and size, checked first and then timed
in turns; one of `solves` or `scaling` some of the strategies, in turns, too. The order of strategies is drawn anew for
each process.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import re
from collections.abc import Callable
from typing import ClassVar

from report.calibration import SMALL_BELOW

ENERGY_WINDOW = 0.5  # seconds; bench/energy.h takes six of them
ENERGY_SECONDS = 4.5  # of an operation, with what comes before and between its windows
SUSTAINED_SECONDS = 10  # of an operation without pause
GPU_SAMPLE = 0.01  # seconds, at least; a host's samples last twice as long, for the kernel's ticks of 10 ms
CONTACT_SHARES = ("0.001", "0.01", "0.1")  # of nodes, beside none
# Of words of `special` that do not time all operations.
OPERATIONS = {"voce": ("residual", "material"), "sustained": ("jacvec_elastic", "jacvec"),
              "energy": ("jacvec_elastic", "jacvec"), "full": ("jacvec_full",),
              "contact": ("residual", "jacvec", "diagonal")}
ALL_OPERATIONS = 5
# Those that are timed under conditions which take long: of the most and of the least power, and matrices; the fastest of
# products of linear elements is among them. All others are further behind than a clock can be lowered.
CONTENDERS = ("element_atomic", "patch", "assembled_bsr", "assembled_symmetric")
LONG_CONDITIONS = ("sustained", "smooth", "slower1", "slower2", "slower5")
STEADY = {"energy": ENERGY_SECONDS, "sustained": SUSTAINED_SECONDS}
FROZEN_ITERATIONS = 5000  # of a load step with a frozen Jacobian, which converges slowly
# Strategies of these solves, hundreds of iterations each, of those with products in floats, and of large ones on several
# ranks, unless the user chose some: a gather, a scatter, a matrix.
LONG = ("patch", "element_atomic", "assembled_symmetric")
TRANSPORTS = ("nccl",)
FORM = "cgs2"  # of GMRES, as `scaling` names it, that is timed with all strategies: what differs between these is the product
COARSE = "meshgen/bracket/bracket_{shape}_coarse.msh"
LINEAR = {"tet10": "tet4", "hex27": "hex8"}  # elements with the corners of these
QUADRATIC = tuple(LINEAR)
QUADRATIC_BUILD = "a build with quadratic elements"
# Meshes of a size by steps between nodes, through the wall of a tube or across a beam, so that all kinds of elements have
# the same nodes: quadratic ones have half as many cells. Even; of tubes a multiple of 4.
CURVED = r"(tube|beam)(\d+)"
CELLS = {"tube": (1.0, 2.0, 0.5), "beam": (8.0, 1.0, 1.0)}  # along each axis, of that number
# The coarse bracket refined so often, once less for quadratic elements, which then have the same nodes.
REFINED = r"bracket([1-9])"
CUBE = r"cube(\d+)"  # cells along each axis
PART = "part"  # the pattern of plastic elements that a solve of PART_PROBLEM leaves
PART_PROBLEM, PART_STEPS = "meshgen/bracket/bracket_coarse.json", 7  # up to the largest load


@dataclasses.dataclass(frozen=True)
class Here:
    """What this machine and this build have, and what the user chose."""

    programs: dict[str, pathlib.Path]  # by name: kernels, solves, peers, scaling, solve
    scratch: pathlib.Path
    strategies: tuple[str, ...]  # of kernels, with element_only where the user chose none
    few: tuple[str, ...]  # of solves and scaling
    capacity: dict[str, int]  # ranks that host and cuda can have
    gmsh: str = ""  # a Python that can import it, or ""
    threads: str = ""  # THREADS
    chose_strategies: bool = False  # VARIANTS
    counts_processes: frozenset[str] = frozenset()  # programs that take the number of the process
    keeps_samples: frozenset[str] = frozenset()  # programs that take --samples FILE
    peers: frozenset[tuple[str, str]] = frozenset()  # PETSc's preconditioners and the backends where they work
    quadratic: bool = False  # the build has quadratic elements
    build: pathlib.Path = pathlib.Path("build")  # builds of kernels with other ways to store are below it
    commit: str = ""
    machine: str = ""
    record: str = "machine.csv"  # of the machine, in the folder's scratch/
    other_host: str = ""  # that host rows of the folder are of, where it is not this one


@dataclasses.dataclass(frozen=True)
class Files:
    """Where one attempt writes: PREFIX.rows.part and others beside it. Without a machine record it writes rows with a
    status and no times into `rows`."""

    rows: pathlib.Path
    machine: pathlib.Path | None = None

    def part(self, what: str) -> pathlib.Path:
        return self.rows.with_name(self.rows.name.removesuffix("rows.part") + what + ".part")


@dataclasses.dataclass(frozen=True)
class Process:
    """One run of a program for a point: its number from 1, samples, strategies in their order."""

    number: int
    repetitions: int
    strategies: tuple[str, ...]
    give_up: str = ""  # run nothing, write rows with this status


@dataclasses.dataclass(frozen=True)
class Point:
    backend: str
    element: str
    size: str  # degrees of freedom of a box, a mesh, or a problem

    program: ClassVar[str] = ""

    def axes(self) -> tuple[str, ...]:
        """Further axes, in the order in which they stand in the name."""
        return tuple(str(getattr(self, f.name)) for f in dataclasses.fields(self)[3:] if getattr(self, f.name) != "")

    def name(self) -> str:
        return "-".join((self.program, self.backend, self.element, self.size) + self.axes())

    def about(self) -> str:
        raise NotImplementedError

    def strategies(self, here: Here) -> tuple[str, ...]:
        return here.few

    def is_timed_on_a_gpu(self) -> bool:
        """Whether it needs one GPU, and its times are counted there."""
        return False

    def may_have_neighbours(self) -> bool:
        """Whether it needs one GPU, and what the host does meanwhile for others changes no time."""
        return False

    def measures_energy(self) -> bool:
        return False

    def is_sustained(self) -> bool:
        """Its samples follow each other for some seconds, however many are asked for."""
        return False

    def needs(self, here: Here) -> str:
        """What is missing here, or ""."""
        if self.program not in here.programs:
            return self.program
        if self.backend == "cuda" and here.capacity.get("cuda", 0) < 1:
            return "a GPU"
        if self.backend == "host" and here.other_host:
            return here.other_host
        return QUADRATIC_BUILD if self.element in QUADRATIC and not here.quadratic else ""

    def mesh_to_make(self, here: Here) -> str:
        """ "", or a mesh that is made when the first point needs it: "_finer" or "_fine", of the bracket by Gmsh; by
        meshgen the size of an irregular one of a solve, of a cube, of a tube, a beam or a bracket whose nodes are the
        same for all elements, and "_coarse-refined1", of a part."""
        return ""

    def state_to_make(self, here: Here) -> pathlib.Path | None:
        """What a solve leaves on that mesh, when the first point needs it."""
        return None

    def dofs(self, gmsh: bool) -> float:
        """About as many degrees of freedom."""
        return size_of(self.size, gmsh)

    def as_box(self) -> Point:
        """The same for all sizes that make one box; itself where the size is that of a problem."""
        return self

    def family(self) -> str:
        """Points of one family take times that go with their size."""
        return mesh_family(self.size)

    def command(self, here: Here, process: Process, files: Files) -> list[str]:
        raise NotImplementedError

    def accepts(self, code: int) -> bool:
        """Whether a process that ended with this code has measured the point."""
        return code == 0

    def collect(self, here: Here, process: Process, files: Files) -> None:
        """Makes rows of what the process wrote, where it writes none itself."""


def shape_of(element: str) -> str:
    return element.split("_")[0]


def size_of(size: str, gmsh: bool) -> float:
    if size == "bracket":
        return 5_500_000 if gmsh else 12_000_000
    if re.fullmatch(r"bracket\d", size):
        return 3000 * 8.0 ** int(size[-1])
    cells = size.split("x")
    if len(cells) == 3:
        return 3.0 * int(cells[0]) * int(cells[1]) * int(cells[2])
    return float(size.rsplit("@", 1)[-1])


def cells_of(size: str, element: str) -> tuple[int, int, int] | None:
    """Of a box, as kernels and scaling make it (bench/timed_mesh.c); None of another mesh."""
    if size.isdigit():
        steps = 2 if element in QUADRATIC else 1
        cells = max(2, math.floor((math.cbrt(int(size) / 3.0) - 1.0) / steps + 0.5))
        return cells, cells, cells
    parts = size.split("x")
    return (int(parts[0]), int(parts[1]), int(parts[2])) if len(parts) == 3 else None


def mesh_family(size: str) -> str:
    match = re.match(r"[a-z]+(?=\d|@|$)", size)
    return match.group() if match else "box"


def mesh_flags(prefix: str, element: str, size: str, here: Here) -> list[str]:
    """The flags of kernels and scaling that make a mesh."""
    coarse = COARSE.format(shape=shape_of(element))
    if "@" in size:
        mesh, dofs = size.rsplit("@", 1)
        return [f"{prefix}mesh={mesh}", f"{prefix}dofs={dofs}"]
    if size == "bracket":
        if here.gmsh:
            return [f"{prefix}mesh={made_mesh(here, element, '_finer')}", f"{prefix}refine=2"]
        return [f"{prefix}mesh={coarse}", f"{prefix}refine=4"]
    if size.startswith("bracket"):
        return [f"{prefix}mesh={coarse}", f"{prefix}refine={size.removeprefix('bracket')}"]
    return [f"{prefix}mesh={size}"] if "x" in size else [f"{prefix}dofs={size}"]


def made_mesh(here: Here, element: str, which: str) -> pathlib.Path:
    """which: what `mesh_to_make` says. The file's name is the mesh's in rows."""
    if "@" in which:
        problem, _, dofs = which.partition("@")
        return here.scratch / shape_of(element) / f"irregular{dofs}-{problem}.msh"
    if re.fullmatch(f"{CURVED}|{REFINED}|{CUBE}", which):
        return here.scratch / shape_of(element) / f"{which}.msh"
    return here.scratch / f"bracket_{shape_of(element)}{which if which != '_fine' else ''}.msh"


def unit_of(size: str) -> str:
    return " DoF" if size.isdigit() else ""


def ranks_of(n: int) -> str:
    return f"{n} rank" if n == 1 else f"{n} ranks"


def sampled(program: str, here: Here, files: Files) -> list[str]:
    return ["--samples", str(files.part("samples"))] if program in here.keeps_samples and files.machine else []


def numbered(program: str, here: Here, number: int) -> list[str]:
    if program not in here.counts_processes:
        return []
    return [f"--fe_process={number}"] if program == "kernels" else ["--process", str(number)]


def special_flags(word: str) -> list[str]:
    """Flags of kernels for a word of `special`."""
    chosen = [f"--fe_operations={','.join(OPERATIONS[word])}"] if word in OPERATIONS else []
    if word == "voce":
        return ["--fe_hardening=voce", *chosen]
    if word == "sustained":
        return [f"--fe_sustained={SUSTAINED_SECONDS}", *chosen]
    if word == "energy":
        return [f"--fe_energy={ENERGY_WINDOW}", *chosen]
    if word == "contact":
        return [f"--fe_contact=0,{','.join(CONTACT_SHARES)}", *chosen]
    if word == "full":
        return chosen
    if word == "cold":
        return ["--fe_cold"]
    if word == "smooth":
        return ["--fe_operand=smooth"]
    if word.startswith("slower"):
        return [f"--fe_slower={word.removeprefix('slower')}"]
    if word.startswith("materials"):
        return [f"--fe_materials={word.removeprefix('materials')}"]
    return [f"--fe_precision={word}"]


@dataclasses.dataclass(frozen=True)
class Kernels(Point):
    """pattern: clustered, scattered, zones, or part: a state of the bracket (bracket1, bracket2, ...), whose share is
    "counted". special: a precision, the law voce, layers of materials ("materials4"), a condition (sustained, cold, slower1),
    energy, full tangents ("full"), shares of nodes in contact ("contact"), smooth operands ("smooth"), or several of
    these with + between them."""

    order: str = "auto"
    plastic: str = "1"
    pattern: str = "clustered"
    special: str = ""

    program: ClassVar[str] = "kernels"

    def about(self) -> str:
        text = f"{self.size}{unit_of(self.size)}, {self.order}, plastic {self.plastic} {self.pattern}"
        return text + (f", {self.special}" if self.special else "")

    def strategies(self, here: Here) -> tuple[str, ...]:
        is_long = not here.chose_strategies and any(word in LONG_CONDITIONS for word in self.words())
        return tuple(s for s in here.strategies if s in CONTENDERS or not is_long)

    def is_part(self) -> bool:
        return self.pattern == PART

    def needs(self, here: Here) -> str:
        missing = super().needs(here)
        if not missing and self.family() == "bracket" and self.element in QUADRATIC:
            return "linear elements: kernels refines the bracket, and refines no quadratic ones"
        return missing or ("solve" if self.is_part() and "solve" not in here.programs else "")

    def as_box(self) -> Point:
        cells = cells_of(self.size, self.element)
        return dataclasses.replace(self, size="x".join(map(str, cells))) if cells else self

    def mesh_to_make(self, here: Here) -> str:
        if self.is_part():
            return self.size.replace("bracket", "_coarse-refined")
        return "_finer" if self.size == "bracket" and here.gmsh else ""

    def state_to_make(self, here: Here) -> pathlib.Path | None:
        if not self.is_part():
            return None
        mesh = made_mesh(here, self.element, self.mesh_to_make(here))
        return mesh.with_name(f"{mesh.stem}-{self.element}.state")

    def words(self) -> list[str]:
        return self.special.split("+") if self.special else []

    def is_sustained(self) -> bool:
        return "sustained" in self.words()

    def is_timed_on_a_gpu(self) -> bool:
        return self.backend == "cuda"

    def may_have_neighbours(self) -> bool:
        """Of a small mesh the host's launches take part in the time."""
        return self.is_timed_on_a_gpu() and self.dofs(False) >= SMALL_BELOW

    def measures_energy(self) -> bool:
        return "energy" in self.words()

    def operations(self) -> int:
        """How many are timed."""
        chosen = [OPERATIONS[word] for word in self.words() if word in OPERATIONS]
        return len(chosen[0]) * (1 + len(CONTACT_SHARES) * ("contact" in self.words())) if chosen else ALL_OPERATIONS

    def steady_seconds(self) -> float:
        """For which an operation of a strategy works without pause, beside its samples."""
        return sum(len(OPERATIONS[word]) * seconds for word, seconds in STEADY.items() if word in self.words())

    def command(self, here: Here, process: Process, files: Files) -> list[str]:
        state = self.state_to_make(here)
        if state:
            flags = [f"--fe_mesh={made_mesh(here, self.element, self.mesh_to_make(here))}", f"--fe_problem={PART_PROBLEM}",
                     f"--fe_state={state}"]
        else:
            flags = mesh_flags("--fe_", self.element, self.size, here)
            flags += [f"--fe_plastic={self.plastic}", f"--fe_pattern={self.pattern}"]
        flags += [f"--fe_backend={self.backend}", f"--fe_elements={self.element}", f"--fe_order={self.order}",
                  f"--fe_variants={','.join(process.strategies)}"]
        for word in self.words():
            flags += special_flags(word)
        if here.threads:
            flags += [f"--fe_threads={here.threads}"]
        flags += numbered("kernels", here, process.number)
        flags += [f"--fe_rows={files.rows}", f"--benchmark_repetitions={process.repetitions}"]
        if self.is_timed_on_a_gpu():
            flags += [f"--benchmark_min_time={GPU_SAMPLE}"]
        if process.give_up:
            flags += [f"--fe_give_up={process.give_up}"]
        if files.machine:
            flags += [f"--fe_machine={files.machine}", f"--fe_samples={files.part('samples')}",
                      f"--benchmark_out={files.part('json')}"]
        return [str(here.programs["kernels"])] + flags


@dataclasses.dataclass(frozen=True)
class Solves(Point):
    """A whole solve; `size` is a problem: bracket, bracket_linear, bracket_fine, bracket_fine_linear; bendingN and
    stretchedN, a cube of N cells an axis; bending@N and stretched@N, an irregular mesh of about N degrees of freedom;
    tubeN, tubeN_linear and beamN, N steps between nodes through the wall or across the beam; bracketN_linear, with the
    nodes of the coarse bracket refined N times."""

    precondition: str = "block-jacobi"
    ranks: int = 1
    products: str = ""  # their precision; "": double
    jacobian: str = ""  # difference or elastic; "": tangent
    anderson: int = 0  # depth
    transport: str = ""  # nccl; "": peer memory where all GPUs reach each other's

    program: ClassVar[str] = "solves"

    def strategies(self, here: Here) -> tuple[str, ...]:
        is_long = self.jacobian == "elastic" or self.products or (self.ranks > 1 and self.load() == "linear")
        return tuple(s for s in here.few if s in LONG or not is_long or here.chose_strategies)

    def axes(self) -> tuple[str, ...]:
        further = (self.products, self.jacobian, f"anderson{self.anderson}" if self.anderson else "", self.transport)
        return (self.precondition, str(self.ranks), *(word for word in further if word))

    def about(self) -> str:
        told = (f"products {self.products}" if self.products else "",
                f"{self.jacobian} Jacobian" if self.jacobian else "",
                f"Anderson {self.anderson}" if self.anderson else "", by(self.transport))
        return ", ".join((self.size, self.precondition, ranks_of(self.ranks), *(word for word in told if word)))

    def needs(self, here: Here) -> str:
        missing = super().needs(here)
        if missing or not self.size.startswith("bracket_fine") or here.gmsh:
            return missing or too_few(self, here)
        return "Gmsh's Python interface"

    def mesh_to_make(self, here: Here) -> str:
        made = "@" in self.size or self.steps_between_nodes() or self.levels()
        return "_fine" if self.size.startswith("bracket_fine") else self.size.removesuffix("_linear") if made else ""

    def steps_between_nodes(self) -> tuple[int, ...]:
        """Along each axis, of a tube or a beam."""
        match = re.fullmatch(CURVED, self.size.removesuffix("_linear"))
        return tuple(round(int(match[2]) * share) for share in CELLS[match[1]]) if match else ()

    def cells(self) -> tuple[int, ...]:
        """Along each axis, of a tube or a beam."""
        steps = 2 if self.element in QUADRATIC else 1
        return tuple(max(n // steps, 1) for n in self.steps_between_nodes())

    def levels(self) -> int:
        """How often the mesh of a bracket with the same nodes for all elements is refined; 0 of other meshes."""
        match = re.fullmatch(REFINED, self.size.removesuffix("_linear"))
        return int(match[1]) if match else 0

    def coarser(self) -> Solves | None:
        """The solve on the mesh of linear elements that such a mesh of quadratic ones is made of: without levels, the
        coarse bracket."""
        if not self.levels() or self.element not in QUADRATIC:
            return None
        size = "bracket_linear" if self.levels() == 1 else f"bracket{self.levels() - 1}_linear"
        return dataclasses.replace(self, element=LINEAR[self.element], size=size)

    def mesh(self, here: Here) -> pathlib.Path:
        """Of a problem that names one."""
        which = self.mesh_to_make(here)
        return made_mesh(here, self.element, which) if which else pathlib.Path(COARSE.format(shape=self.element))

    def dofs(self, gmsh: bool) -> float:
        if counts := self.steps_between_nodes():
            return 3.0 * math.prod(n + 1 for n in counts)
        if self.levels():
            return size_of(self.size.removesuffix("_linear"), gmsh)
        if self.size.startswith("bracket"):
            return 70_000 if "fine" in self.size else 5_000
        if "@" in self.size:
            return float(self.size.partition("@")[2])
        steps = 2 if self.element in QUADRATIC else 1
        return 3.0 * (steps * int(re.sub(r"\D", "", self.size))) ** 3

    def family(self) -> str:
        return re.sub(r"_fine|\d", "", self.size)

    def load(self) -> str:
        if self.size.endswith("_linear") or self.size.startswith(("bending", "beam")):
            return "linear"
        return "fixed" if self.size.startswith("stretched") and self.precondition == "block-jacobi" else "steps"

    def problem(self, here: Here) -> list[str]:
        if self.size.startswith("bracket_fine"):
            return ["meshgen/bracket/bracket.json", "--mesh", str(self.mesh(here))]
        if self.steps_between_nodes() or self.levels():
            problem = "bending" if self.size.startswith("beam") else re.sub("[^a-z].*", "", self.size)
            return [f"bench/problems/{problem}.json", "--mesh", str(self.mesh(here))]
        if self.size.startswith("bracket"):
            return ["meshgen/bracket/bracket_coarse.json", "--mesh", str(self.mesh(here))]
        if "@" in self.size:
            return [f"bench/problems/{self.size.partition('@')[0]}.json", "--mesh", str(self.mesh(here))]
        kind = self.size.rstrip("0123456789")
        return [f"bench/problems/{kind}.json", "--cells", self.size.removeprefix(kind), "--element", self.element]

    def shared(self, here: Here, process: Process, files: Files) -> list[str]:
        flags = ["--repetitions", str(process.repetitions), "--precondition", self.precondition, "--rows",
                 str(files.rows)]
        flags += numbered(self.program, here, process.number) + sampled(self.program, here, files)
        return flags + (["--give-up", process.give_up] if process.give_up else [])

    def command(self, here: Here, process: Process, files: Files) -> list[str]:
        flags = ["--load", self.load(), "--backend", self.backend, "--ranks", str(self.ranks), "--variants",
                 ",".join(process.strategies)]
        if self.products:
            flags += ["--products", self.products]
        if self.jacobian:
            flags += ["--jacobian", self.jacobian]
        if self.jacobian == "elastic":
            flags += ["--newton-iterations", str(FROZEN_ITERATIONS)]
        if self.anderson:
            flags += ["--anderson", str(self.anderson)]
        if self.transport:
            flags += ["--transport", self.transport]
        if here.threads:
            flags += ["--threads", here.threads]
        return [str(here.programs["solves"])] + self.problem(here) + flags + self.shared(here, process, files)


class Peers(Solves):
    """PETSc's solve of the same problem, with a process on each core or for a GPU."""

    program: ClassVar[str] = "peers"

    def strategies(self, here: Here) -> tuple[str, ...]:
        return (f"petsc_{self.precondition}",)

    def needs(self, here: Here) -> str:
        where = "without CUDA" if self.backend == "host" else "with CUDA"
        library = "hypre" if self.precondition == "boomeramg" else "PETSc"
        return super().needs(here) or ("" if (self.precondition, self.backend) in here.peers else f"{library} {where}")

    def command(self, here: Here, process: Process, files: Files) -> list[str]:
        return ["env", "OMP_NUM_THREADS=1", "mpirun", "-n", str(self.ranks), str(here.programs["peers"])] + \
            self.problem(here) + ["--backend", self.backend] + self.shared(here, process, files)


def by(transport: str) -> str:
    return f"by {transport.upper()}" if transport else ""


def too_few(point: Solves | Scaling, here: Here) -> str:
    most = here.capacity.get(point.backend, 0)
    if point.ranks <= most or point.program == "peers" or point.ranks == 1:
        return ""
    return f"{point.ranks} {'GPUs' if point.backend == 'cuda' else 'cores'}"


@dataclasses.dataclass(frozen=True)
class Scaling(Point):
    """kind: strong (the size is that of all ranks together) or weak (of each)."""

    kind: str = "strong"
    ranks: int = 1
    # Rows of either stand in a file of their own: scaling-nccl.csv, scaling-gmres.csv.
    transport: str = ""  # as of Solves
    gmres: str = ""  # gmres: all its forms, of LONG strategies; "": FORM, of all

    program: ClassVar[str] = "scaling"

    def strategies(self, here: Here) -> tuple[str, ...]:
        return tuple(s for s in here.few if s in LONG or not self.gmres or here.chose_strategies)

    def name(self) -> str:
        program = "_".join(word for word in (self.program, self.transport, self.gmres) if word)
        return "-".join((program, self.backend, self.element, self.size, self.kind, str(self.ranks)))

    def about(self) -> str:
        of = "" if self.kind == "strong" else " a rank"
        told = (self.kind, ranks_of(self.ranks), by(self.transport), "all forms of GMRES" if self.gmres else "")
        return ", ".join((f"{self.size}{unit_of(self.size)}{of}", *(word for word in told if word)))

    def needs(self, here: Here) -> str:
        return super().needs(here) or too_few(self, here)

    def mesh_to_make(self, here: Here) -> str:
        return "_finer" if self.size == "bracket" and here.gmsh else ""

    def dofs(self, gmsh: bool) -> float:
        """Of a rank."""
        return super().dofs(gmsh) / (self.ranks if self.kind == "strong" else 1)

    def command(self, here: Here, process: Process, files: Files) -> list[str]:
        flags = ["--repetitions", str(process.repetitions), "--backend", self.backend, "--elements", self.element]
        flags += mesh_flags("--", self.element, self.size, here)
        flags += ["--ranks", str(self.ranks), "--variants", ",".join(process.strategies), "--rows", str(files.rows)]
        if self.kind == "weak":
            flags += ["--weak"]
        if self.transport:
            flags += ["--transport", self.transport]
        if not self.gmres:
            flags += ["--gmres", FORM]
        if self.backend == "host":
            flags += ["--threads", here.threads or "1"]
        flags += numbered("scaling", here, process.number) + sampled("scaling", here, files)
        if process.give_up:
            flags += ["--give-up", process.give_up]
        return [str(here.programs["scaling"])] + flags


Kind = Callable[..., Point]  # of whose axes each has its own
TIMED: tuple[type[Point], ...] = (Kernels, Solves, Peers, Scaling)
KINDS: dict[str, Kind] = {kind.program: kind for kind in TIMED}


def parse(name: str) -> Point:
    """The point of a name, for example kernels-host-tet4-2000-auto-1-clustered."""
    program, backend, element, size, *axes = name.split("-")
    program, *words = program.split("_")
    kind = KINDS[program]
    if kind in (Solves, Peers):
        transport = axes.pop() if axes[-1] in TRANSPORTS else ""
        anderson = int(axes.pop().removeprefix("anderson")) if axes[-1].startswith("anderson") else 0
        jacobian = axes.pop() if axes[-1] in ("difference", "elastic") else ""
        products = axes.pop() if axes[-1] == "mixed" else ""
        return kind(backend, element, size, "-".join(axes[:-1]), int(axes[-1]), products, jacobian, anderson,
                    transport)
    if kind is Scaling:
        return kind(backend, element, size, axes[0], int(axes[1]), *("" if way not in words else way for way in ("nccl", "gmres")))
    return kind(backend, element, size, *axes)
