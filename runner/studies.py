"""Points whose rows are made here from what a program leaves: experiments/studies.toml says what they ask."""

from __future__ import annotations

import csv
import dataclasses
import json
import pathlib
import shutil
from typing import ClassVar

from report import communication, rows
from runner import points
from runner.here import Failure, warn

WARP = 32
PROFILED = ("residual", "jacvec_elastic", "jacvec_full", "jacvec")  # a name is looked for before one that it begins with

# Files of a run, the programs and suffixes of the files of points that are put together to make each.
TARGETS = (
    ("kernels.csv", ("kernels",), ("rows.csv", "killed.csv")),
    ("solves.csv", ("solves", "peers"), ("rows.csv", "killed.csv")),
    ("samples.csv", ("kernels",), ("samples.csv",)),
    ("samples-solves.csv", ("solves", "peers"), ("samples.csv",)),
    ("samples-scaling.csv", ("scaling",), ("samples.csv",)),
    ("scaling.csv", ("scaling",), ("rows.csv", "killed.csv")),
    *((f"{kind}scaling-{way}.csv", (f"scaling_{way}",), suffixes) for way in ("nccl", "gmres")
      for kind, suffixes in (("samples-", ("samples.csv",)), ("", ("rows.csv", "killed.csv")))),
    ("storage.csv", ("storage",), ("rows.csv",)),
    ("forms.csv", ("forms",), ("rows.csv",)),
    ("anderson.csv", ("anderson",), ("rows.csv",)),
    ("anderson-history.csv", ("anderson",), ("history.csv",)),
    ("orthogonality.csv", ("orthogonality",), ("rows.csv",)),
    ("profile.csv", ("profile",), ("rows.csv",)),
    ("communication.csv", ("trace",), ("rows.csv",)),
)
METRICS = (
    "launch__registers_per_thread", "launch__shared_mem_per_block", "launch__block_size", "launch__grid_size",
    "sm__maximum_warps_per_active_cycle_pct", "sm__warps_active.avg.pct_of_peak_sustained_active",
    "gpu__time_duration.sum", "dram__bytes.sum", "lts__t_bytes.sum", "smsp__inst_executed_op_local_ld.sum",
    "smsp__inst_executed_op_local_st.sum", "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
)
# How busy units are, in per cent of what they can do: columns of profile.csv.
BUSY = {
    "level1_busy": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "level2_busy": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "memory_busy": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "issue_busy": "smsp__issue_active.avg.pct_of_peak_sustained_active",
}


def write_rows(path: pathlib.Path, header: str, table: list[tuple]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.write(header + "\n")
        csv.writer(file, lineterminator="\n").writerows(table)


@dataclasses.dataclass(frozen=True)
class Solved(points.Point):
    """By the program solve, whose result is read."""

    def needs(self, here: points.Here) -> str:
        return "" if "solve" in here.programs else "the program solve"

    def family(self) -> str:
        return self.size

    def dofs(self, gmsh: bool) -> float:
        return 5000.0

    def result(self, files: points.Files) -> dict:
        return json.loads(files.part("result").read_text())


@dataclasses.dataclass(frozen=True)
class Anderson(Solved):
    jacobian: str = "tangent"
    depth: str = "0"
    step: str = "8"  # whose residuals are kept

    program: ClassVar[str] = "anderson"

    def about(self) -> str:
        return f"strip, {self.jacobian}, depth {self.depth}"

    def strategies(self, here: points.Here) -> tuple[str, ...]:
        return ("patch",)

    def accepts(self, code: int) -> bool:
        return code in (0, 1)  # 1: some load step did not converge, which the row says

    def command(self, here: points.Here, process: points.Process, files: points.Files) -> list[str]:
        return [str(here.programs["solve"]), "tests/validation/problems/strip.json", "--mesh",
                f"tests/validation/meshes/strip_{self.element[:-1]}.msh", "--jacobian", self.jacobian, "--anderson",
                self.depth, "--predictor", "elastic", "--newton-iterations", "5000", "--threads", "1",
                "--variant", "patch", "--result", str(files.part("result"))]

    def collect(self, here: points.Here, process: points.Process, files: points.Files) -> None:
        result = self.result(files)
        steps = result["steps"]
        newton = sum(step["newton"]["iterations"] for step in steps)
        krylov = sum(step["newton"]["krylov_iterations"] for step in steps)
        about = (self.element, self.jacobian, self.depth)
        write_rows(files.rows,
                   "schema,commit,machine,problem,element,variant,jacobian,depth,steps,newton,krylov,status",
                   [(1, here.commit, here.machine, "strip", self.element, "patch", self.jacobian, self.depth,
                     steps[-1]["step"] if steps else "", newton, krylov, result["status"])])
        write_rows(files.part("history"), "element,jacobian,depth,step,iteration,residual",
                   [about + (self.step, n, f"{residual:.17g}") for step in steps if step["step"] == int(self.step)
                    for n, residual in enumerate(step["newton"]["residuals"])])


@dataclasses.dataclass(frozen=True)
class Orthogonality(Solved):
    precondition: str = "none"
    orthogonalization: str = "mgs"
    basis: str = "double"
    columns: str = "5"

    program: ClassVar[str] = "orthogonality"

    def about(self) -> str:
        return f"{self.precondition}, {self.orthogonalization}, {self.basis}, {self.columns} columns"

    def strategies(self, here: points.Here) -> tuple[str, ...]:
        return ("corner_gather",)

    def command(self, here: points.Here, process: points.Process, files: points.Files) -> list[str]:
        # one Newton iteration a step, whatever comes out; the first step counts
        return [str(here.programs["solve"]), "meshgen/bracket/bracket_coarse.json", "--mesh",
                points.COARSE.format(shape=self.element), "--threads", "1", "--variant", "corner_gather", "--krylov",
                "gmres", "--precondition", self.precondition, "--orthogonalization", self.orthogonalization, "--basis",
                self.basis, "--restart", self.columns, "--krylov-iterations", self.columns, "--fixed-work",
                "--newton-iterations", "1",
                "--measure-orthogonality", "--result", str(files.part("result"))]

    def collect(self, here: points.Here, process: points.Process, files: points.Files) -> None:
        newton = self.result(files)["steps"][0]["newton"]
        write_rows(files.rows,
                   "schema,commit,machine,problem,element,variant,precondition,orthogonalization,basis,columns,"
                   "residual,loss",
                   [(1, here.commit, here.machine, "bracket_coarse", self.element, "corner_gather", self.precondition,
                     self.orthogonalization, self.basis, self.columns, f"{newton['krylov_residuals'][0]:.17g}",
                     f"{newton['orthogonality'][0]:.17g}")])


@dataclasses.dataclass(frozen=True)
class Built(points.Kernels):
    """By builds of kernels that differ in one choice, which rows name in a column in front."""

    way: str = ""

    column: ClassVar[str] = ""
    usual: ClassVar[str] = ""  # of the build itself; others are below it
    timed: ClassVar[tuple[str, ...]] = ()  # strategies, unless the user chose some
    operations_timed: ClassVar[str] = ""

    def kernels(self, here: points.Here) -> pathlib.Path:
        return here.programs["kernels"] if self.way == self.usual else here.build / self.program / self.way / "kernels"

    def needs(self, here: points.Here) -> str:
        return "" if self.kernels(here).exists() else f"{self.kernels(here)} (make {self.program} builds it)"

    def about(self) -> str:
        return f"{self.way}, about {self.size}{points.unit_of(self.size)}, {self.order}"

    def strategies(self, here: points.Here) -> tuple[str, ...]:
        return here.strategies if here.chose_strategies else self.timed

    def command(self, here: points.Here, process: points.Process, files: points.Files) -> list[str]:
        flags = super().command(here, process, files)[1:]
        return [str(self.kernels(here)), f"--fe_operations={self.operations_timed}"] + flags

    def collect(self, here: points.Here, process: points.Process, files: points.Files) -> None:
        """The rows with the column in front."""
        header, *lines = files.rows.read_text().splitlines()
        names = header.split(",")
        columns = names.index("variant"), names.index("operation")
        lines.sort(key=lambda line: [next(csv.reader([line]))[i] for i in columns])
        files.rows.write_text("".join(f"{prefix},{line}\n" for prefix, line in
                                      [(self.column, header)] + [(self.way, line) for line in lines]))


class Storage(Built):
    """Ways to store states and tangents."""

    program: ClassVar[str] = "storage"
    column: ClassVar[str] = "storage"
    usual: ClassVar[str] = "GROUPS"
    timed: ClassVar[tuple[str, ...]] = ("element_only", "element_atomic", "patch")
    operations_timed: ClassVar[str] = "residual,material,jacvec,diagonal"


class Forms(Built):
    """Ways to add the transposed half of a symmetric matrix."""

    program: ClassVar[str] = "forms"
    column: ClassVar[str] = "form"
    usual: ClassVar[str] = "ATOMICS"
    timed: ClassVar[tuple[str, ...]] = ("assembled_symmetric",)
    operations_timed: ClassVar[str] = "material,jacvec"


@dataclasses.dataclass(frozen=True)
class Profile(points.Point):
    order: str = "lexicographic"

    program: ClassVar[str] = "profile"

    def needs(self, here: points.Here) -> str:
        if not shutil.which("ncu"):
            return "ncu, which comes with the CUDA Toolkit"
        return "" if here.capacity.get("cuda", 0) > 0 else "a GPU"

    def about(self) -> str:
        return f"kernels of residuals and products in Nsight Compute, {self.size}{points.unit_of(self.size)}, {self.order}"

    def strategies(self, here: points.Here) -> tuple[str, ...]:
        # kernels are told apart by their names alone, and patch_ordered runs those of patch
        return tuple(name for name in here.strategies if name != "patch_ordered")

    def command(self, here: points.Here, process: points.Process, files: points.Files) -> list[str]:
        # The 30th launch of a kernel comes after its checks, in the state of its operation; the time is such that the
        # slowest kernel of a large mesh has as many launches.
        return ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--metrics",
                ",".join([*METRICS, *BUSY.values()]), "--kernel-name", "regex:.", "--kernel-id", ":::30", "--target-processes", "all",
                str(here.programs["kernels"]), "--fe_backend=cuda", f"--fe_elements={self.element}",
                *points.mesh_flags("--fe_", self.element, self.size, here), f"--fe_order={self.order}", f"--fe_variants={','.join(process.strategies)}",
                f"--fe_operations={','.join(PROFILED)}", f"--fe_rows={files.rows}", "--benchmark_repetitions=1",
                "--benchmark_min_time=0.5"]

    def collect(self, here: points.Here, process: points.Process, files: points.Files) -> None:
        """A row for each kernel, instead of those of kernels, which tell the bytes that its operation has to move."""
        log = files.rows.with_name(files.rows.name.removesuffix("rows.part") + "log")
        told = [line for line in log.read_text(errors="replace").splitlines() if line.startswith('"')]
        launches = list(csv.DictReader(told))[1:]  # the first line holds units
        timed = rows.read(files.rows, "kernels.csv")
        moved = {row["operation"]: row["bytes_moved"] for row in timed if row["bytes_moved"] is not None}
        table: list[tuple] = []
        for launch in launches:
            kernel = name_of(launch["Kernel Name"])
            if is_a_check(kernel):
                continue
            operation = next((name for name in PROFILED if f"_{name}_" in kernel), "")
            variant = max((v for v in process.strategies if kernel.startswith(f"{v}_")), key=len, default="")
            table.append((3, here.commit, here.machine, "cuda", timed[0]["device"], variant, self.element, self.order,
                          timed[0]["n_dof"], timed[0]["case"], operation, "ok", kernel,
                          *kernel_row(launch, moved.get(operation))))
        write_rows(files.rows, ",".join(rows.columns_of("profile.csv")), table)


def is_a_check(kernel: str) -> bool:
    return kernel.startswith(("fingerprint", "material"))


def name_of(kernel: str) -> str:
    return "cuSPARSE bsrmv" if "bsrmv" in kernel else kernel.partition("(")[0]


def kernel_row(launch: dict[str, str], moved: float | None) -> tuple:
    """Of one launch in Nsight Compute's page of raw metrics, what follows `kernel` in profile.csv. moved: bytes that its
    operation has to move."""
    def of(name: str) -> float:
        return float(launch[name].replace(",", ""))

    def count(kind: str) -> float:
        return of(f"smsp__sass_thread_inst_executed_op_{kind}_pred_on.sum")

    threads = of("launch__block_size") * of("launch__grid_size")
    spilled = of("smsp__inst_executed_op_local_ld.sum") + of("smsp__inst_executed_op_local_st.sum")
    return (f"{of('gpu__time_duration.sum') * 1e-9:.4g}", int(of("launch__registers_per_thread")),
            f"{WARP * spilled / threads:.4g}", int(of("launch__shared_mem_per_block")),
            f"{of('sm__maximum_warps_per_active_cycle_pct') / 100:.4g}",
            f"{of('sm__warps_active.avg.pct_of_peak_sustained_active') / 100:.4g}", f"{of('dram__bytes.sum'):.6g}",
            "" if moved is None else f"{moved:.6g}",
            f"{count('dadd') + count('dmul') + 2 * count('dfma'):.6g}",
            f"{WARP * of('l1tex__t_requests_pipe_lsu_mem_global_op_red.sum'):.6g}",
            f"{of('l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum'):.6g}",
            *(f"{of(metric) / 100:.4g}" for metric in BUSY.values()))


# Once as it is and once traced: $0, $1 results, $2 the trace, $3 the library, then the command. Kernels are loaded when
# the program begins, not when each is first launched.
TWICE = 'plain=$0 traced=$1 trace=$2 library=$3; shift 3; export CUDA_MODULE_LOADING=EAGER; "$@" --result "$plain" && ' \
    'CUDA_INJECTION64_PATH="$library" FE_TRACE="$trace" FE_TRACE_MARKS="residual_ material" "$@" --result "$traced" && ' \
    '[ -s "$trace" ]'
GRAPHS = {"graphs": True, "single": False}  # how kernels of Krylov iterations are launched


@dataclasses.dataclass(frozen=True)
class Trace(Solved):
    """Time by kernel of a solve with fixed work: five times twenty iterations of CG with multigrid."""

    variant: str = "patch"
    ranks: str = "1"
    launches: str = "graphs"  # a key of GRAPHS
    transport: str = ""  # of several ranks: peer or nccl

    program: ClassVar[str] = "trace"

    def needs(self, here: points.Here) -> str:
        if self.library(here) is None:
            return f"{here.build}/trace.so (make builds it where the CUDA Toolkit has CUPTI: make info)"
        gpus = here.capacity.get("cuda", 0)
        missing = super().needs(here) or ("" if gpus > 0 else "a GPU")
        return missing or ("" if int(self.ranks) <= gpus else f"{self.ranks} GPUs")

    def library(self, here: points.Here) -> pathlib.Path | None:
        path = here.build / "trace.so"
        return path.resolve() if path.is_file() else None

    def about(self) -> str:
        by = {"": "", "peer": " by peer memory"}.get(self.transport, f" {points.by(self.transport)}")
        graphs = "in graphs" if GRAPHS[self.launches] else "one by one"
        return f"{self.variant}, {self.size} DoF, {points.ranks_of(int(self.ranks))}{by}, kernels {graphs}"

    def strategies(self, here: points.Here) -> tuple[str, ...]:
        return (self.variant,)

    def dofs(self, gmsh: bool) -> float:
        return float(self.size)

    def mesh_to_make(self, here: points.Here) -> str:
        return f"cube{round((float(self.size) / 3) ** (1 / 3)) - 1}"

    def command(self, here: points.Here, process: points.Process, files: points.Files) -> list[str]:
        mesh = points.made_mesh(here, self.element, self.mesh_to_make(here))
        transport = ["--transport", self.transport] if self.transport else []
        return ["sh", "-c", TWICE, str(files.part("plain")), str(files.part("traced")), str(files.part("trace")),
                str(self.library(here)), str(here.programs["solve"]), "bench/problems/bending.json", "--mesh", str(mesh),
                "--backend", "cuda", "--ranks", self.ranks, *transport, "--variant", self.variant, "--krylov", "cg",
                "--precondition", "multigrid", "--fixed-work", "--newton-iterations", "5", "--krylov-iterations", "20",
                "--graphs" if GRAPHS[self.launches] else "--no-graphs", "--no-state"]

    def collect(self, here: points.Here, process: points.Process, files: points.Files) -> None:
        try:
            traced = communication.read(files.part("trace"))
        except rows.Fault as fault:
            raise Failure(str(fault)) from fault
        plain, result = (json.loads(files.part(which).read_text()) for which in ("plain", "traced"))
        ended = {one.device for one in traced}
        if ended != set(range(int(self.ranks))):
            raise Failure(f"{self.name()}: kernels of GPUs {sorted(ended)} were traced, not of {self.ranks}")
        if line := communication.unknown(traced):
            warn(f"{self.name()}: {line}")
        about = (1, here.commit, here.machine, "cuda", result["run"]["device"], self.variant, self.element,
                 3 * result["nodes"], result["run"]["precondition"], self.ranks, self.transport,
                 int(GRAPHS[self.launches]))
        write_rows(files.rows, ",".join(rows.columns_of("communication.csv")), [
            (*about, share.device, share.category, int(share.in_graph), share.kernel, share.launches,
             f"{share.total:.6g}", f"{share.alone:.6g}", f"{share.divided / share.busy:.4g}",
             f"{share.divided / share.span:.4g}", f"{share.busy:.6g}", f"{share.span:.6g}",
             f"{seconds_of(result):.6g}", f"{seconds_of(plain):.6g}", "ok") for share in communication.shares(traced)])


def seconds_of(result: dict) -> float:
    """Of all load steps."""
    return sum(sum(step["seconds"].values()) for step in result["steps"])


ALONE: tuple[type[points.Point], ...] = (Anderson, Orthogonality, Profile, Trace)
BUILDS: tuple[type[Built], ...] = (Storage, Forms)
KINDS: dict[str, points.Kind] = {kind.program: kind for kind in (*ALONE, *BUILDS)}
COLUMNS = {kind.program: kind.column for kind in BUILDS}


def point_of(program: str, backend: str, axes: dict[str, str]) -> points.Point:
    """Of one choice of each axis."""
    if program == "anderson":
        return Anderson(backend, size="strip", **axes)
    if program == "orthogonality":
        return Orthogonality(backend, "hex8", "bracket_coarse", **axes)
    if program == "trace":
        return Trace(backend, **axes if axes["ranks"] != "1" else axes | {"transport": ""})  # one rank sends nothing
    return KINDS[program](backend, **{"way" if axis == COLUMNS.get(program) else axis: value for axis, value in axes.items()})


def parse(name: str) -> points.Point | None:
    """The point of a study's name, or None where the name is of another program."""
    program, backend, element, size, *axes = name.split("-")
    if program not in KINDS:
        return None
    if program in COLUMNS:
        order, plastic, pattern, way = axes
        return KINDS[program](backend, element, size, order, plastic, pattern, way=way)
    return KINDS[program](backend, element, size, *axes)


def point_named(name: str) -> points.Point:
    """The point of a name, of a study or not; ValueError where it is none."""
    try:
        return parse(name) or points.parse(name)
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise ValueError(f"{name} is the name of no point") from error
