"""Measures one process of one point: runs its program, keeps its files, and notes how long it took."""

from __future__ import annotations

import csv
import dataclasses
import datetime
import pathlib
import random
import re
import sys
from collections.abc import Callable

from report import model, rows
from runner import costs, experiments, points, publish
from runner.cards import Card
from runner.costs import Work
from runner.folder import Folder
from runner.here import Failure, say, warn
from runner.launch import Launcher, last_line, lines_of

# Mesh sizes of the bracket's finer meshes for Gmsh.
FINENESS = {("hex8", "_fine"): "1.75", ("tet4", "_fine"): "1.45", ("hex8", "_finer"): "1.5", ("tet4", "_finer"): "1.25"}


@dataclasses.dataclass
class Counts:
    looked: int = 0  # measured in the first look, by its own programs
    measured: int = 0
    kept: int = 0
    failed: int = 0
    refused: int = 0
    left: int = 0
    stopped: int = 0
    longest_left: float = 0.0  # seconds


@dataclasses.dataclass
class Measurer:
    """now: seconds since 1970."""

    here: points.Here
    folder: Folder
    costs: costs.Costs
    now: Callable[[], float]
    counts: Counts = dataclasses.field(default_factory=Counts)
    seed: int = 0  # of the random orders
    has_new_rows: bool = True  # that are not gathered

    @property
    def record(self) -> pathlib.Path:
        """Of this machine, with its ceilings."""
        return self.folder.scratch / self.here.record

    def strategies(self, point: points.Point, process: int) -> tuple[str, ...]:
        """In an order that is random, and the same for each attempt."""
        drawn = list(point.strategies(self.here))
        random.Random(f"{self.seed} {point.name()} {process}").shuffle(drawn)
        return tuple(drawn)

    def make_mesh(self, point: points.Point, launcher: Launcher) -> bool:
        """What Point.mesh_to_make says, made when the first point needs it. Whether it is there."""
        which = point.mesh_to_make(self.here)
        if not which:
            return True
        mesh = points.made_mesh(self.here, point.element, which)
        if mesh.exists():
            return True
        shape, scratch = points.shape_of(point.element), self.folder.scratch
        card = launcher.card.number if launcher.card else ""  # two may make it at once: the same one
        new, log = scratch / f"new{card}.msh", scratch / f"mesh{card}.log"
        coarser = point.coarser() if isinstance(point, points.Solves) else None
        if coarser:
            if not self.make_mesh(coarser, launcher):
                return False
            maker = "meshgen"
            command = [str(self.here.build / "meshgen"), "quadratic", str(coarser.mesh(self.here))]
        elif which.startswith(("bracket", "_coarse-refined")):
            maker = "meshgen"
            command = [str(self.here.build / "meshgen"), "refine", points.COARSE.format(shape=shape), "--levels", which[-1]]
        elif isinstance(point, points.Solves) and point.cells():
            maker, cells = "meshgen", ",".join(map(str, point.cells()))
            kind = ["tube"] if which.startswith("tube") else ["box", "--length", "8,1,1"]
            command = [str(self.here.build / "meshgen"), *kind, "--element", shape, "--cells", cells]
        elif cube := re.fullmatch(points.CUBE, which):
            maker = "meshgen"
            command = [str(self.here.build / "meshgen"), "box", "--element", shape, "--cells", cube[1], "--distort", "0.15"]
        elif "@" in which:
            maker, nodes = "meshgen", round(point.dofs(True) / 3)
            command = [str(self.here.build / "meshgen"), "irregular", "--element", shape, "--nodes", str(nodes)]
        else:
            maker = "Gmsh"
            command = [self.here.gmsh, "meshgen/bracket/bracket.py", "--element", shape, "--size", FINENESS[shape, which]]
        mesh.parent.mkdir(exist_ok=True)
        return self._make(point, [*command, "--binary", "-o", str(new)], new, mesh, log, f"{maker} made no mesh", launcher)

    def _make(self, point: points.Point, command: list[str], new: pathlib.Path, target: pathlib.Path, log: pathlib.Path,
              failing: str, launcher: Launcher) -> bool:
        """Runs what leaves `new`, which then is the target. Whether it did; else it is said, and the point refused."""
        if launcher.launch(command, log, None) == 0 and new.exists():
            new.replace(target)
            return True
        warn(f"{point.name()} cannot be measured: {failing}: {last_line(log)}")
        self.counts.refused += 1
        return False

    def make_state(self, point: points.Point, launcher: Launcher) -> bool:
        """What Point.state_to_make says, by a solve of the part. Whether it is there."""
        state = point.state_to_make(self.here)
        if state is None or state.exists():
            return True
        card = launcher.card.number if launcher.card else ""
        result, log = self.folder.scratch / f"new{card}.json", self.folder.scratch / f"state{card}.log"
        mesh = points.made_mesh(self.here, point.element, point.mesh_to_make(self.here))
        command = [str(self.here.programs.get("solve", "solve")), points.PART_PROBLEM, "--mesh", str(mesh), "--backend",
                   point.backend, "--steps", str(points.PART_STEPS), "--result", str(result)]
        command += ["--tet-points", "4"] if point.element == "tet4_p4" else []
        command += ["--threads", self.here.threads] if self.here.threads else []
        left = result.with_name(f"{result.name}.state")
        if not self._make(point, command, left, state, log, "solve left no state", launcher):
            return False
        result.unlink(missing_ok=True)
        return True

    def know_machine(self, launcher: Launcher) -> None:
        """Has a short run write the machine's record, with all cores and nothing beside it: the first program would, and
        side by side each is the first."""
        log = self.folder.scratch / "machine.log"
        if self.record.exists():
            return
        threads = [f"--fe_threads={self.here.threads}"] if self.here.threads else []
        backend = "cuda" if self.here.capacity.get("cuda") else "host"
        code = launcher.launch([str(self.here.programs["kernels"]), f"--fe_backend={backend}", "--fe_variants=element_atomic",
                                "--fe_elements=tet4", "--fe_operations=residual", "--fe_dofs=1000",
                                "--benchmark_repetitions=1", f"--fe_machine={self.record}", *threads], log, None)
        if code:
            raise Failure(f"the ceilings of this machine could not be measured: {last_line(log)}")

    def other_host(self, launcher: Launcher) -> str:
        """Where machines of one kind measure pieces of a run: points on its host are of one host, the first one's. What
        they need, or ""."""
        first = dict(model.read_record(self.folder.path / "machine.csv"))
        if not first:
            return ""
        self.know_machine(launcher)
        own = dict(model.read_record(self.record))
        cpu, cores, threads = (next(iter(model.values_in(first.get(key, ""))), "") for key in publish.HOST)
        if (cpu, cores, threads) == tuple(own.get(key, "") for key in publish.HOST):
            return ""
        of = f"{cpu}, {cores} cores" + (f", {threads} threads" if threads != cores else "")
        return f"the host that this run began on ({of}), or a folder of their own (RESULTS)"

    def measure(self, task: experiments.Task, process: points.Process, predicted: float | None,
                limit: float | None, launcher: Launcher) -> bool:
        """Runs it; its files get their names when it is complete, and a crash leaves rows with a status. False where it
        was stopped after `limit` seconds."""
        point, number = task.point, process.number
        if not (self.make_mesh(point, launcher) and self.make_state(point, launcher)):
            return True
        files = points.Files(self.folder.file(point, number, "rows.part"), self.record)
        log = self.folder.file(point, number, "log")
        self.folder.remove_parts_of(point, number)  # of an attempt that was killed: rows are added
        begin = self.now()
        code = launcher.launch(point.command(self.here, process, files), log, limit, self.folder.lock)
        seconds = self.now() - begin
        for line in lines_of(log):
            if line.startswith(f"{point.program}: ") or line.startswith("note: --fe_energy"):
                print(line, file=sys.stderr, flush=True)  # rows without times or energy, and why
        self.has_new_rows = True
        if code is not None and point.accepts(code):
            try:
                point.collect(self.here, process, files)
            except Failure as failure:  # what it wrote cannot be read
                self.folder.remove_parts_of(point, number)
                self.counts.failed += 1
                warn(f"{failure}; the sweep goes on")
                return True
            self.folder.finish(point, process)
            self.note_time(task, process, begin, seconds, predicted, "done", launcher.card)
            self.counts.measured += 1
            return True
        if not self.folder.room():
            raise self.folder.full_disk()
        if point.program == "kernels" and code == 2:
            raise Failure(f"{point.name()}: {last_line(log)}")
        self.folder.remove_parts_of(point, number)
        if code is not None:
            self.give_up(task, process, code, log, launcher)
            return True
        self.counts.stopped += 1
        self.note_time(task, process, begin, seconds, predicted, "stopped", launcher.card)
        say(f"{point.name()} was stopped after {seconds:.0f} s: that is more than its share of the budget")
        return False

    def give_up(self, task: experiments.Task, process: points.Process, code: int, log: pathlib.Path,
                launcher: Launcher) -> None:
        """What became of a point that failed: rows with a status, made by the program without running anything."""
        point, name, status = task.point, task.point.name(), ""
        if code < 0 or code > 128:
            status = "killed"
            self.counts.failed += 1
            warn(f"{name} was killed (out of memory, or a crash); the sweep goes on")
        elif point.program == "kernels":
            self.counts.failed += 1
        elif code == 2:
            self.counts.refused += 1
            warn(f"{name} cannot be measured here; the sweep goes on")
        elif any("no memory for" in line for line in lines_of(log)):
            status = "out_of_memory"
            self.counts.refused += 1
            warn(f"{name} does not fit; the sweep goes on")
        else:
            status = "failed"
            self.counts.failed += 1
            warn(f"{name} failed; the sweep goes on")
        if status and point.program in points.KINDS:
            log.replace(self.folder.file(point, process.number, "killed.log"))
            if not self.folder.has_rows(point, process.number):
                killed = self.folder.file(point, process.number, "killed.csv")
                killed.unlink(missing_ok=True)
                without = dataclasses.replace(process, give_up=status)
                launcher.launch(point.command(self.here, without, points.Files(killed)), log, None)

    def note_time(self, task: experiments.Task, process: points.Process, begin: float, seconds: float,
                  predicted: float | None, status: str, card: Card | None) -> None:
        """In points.csv, for predictions here and in later runs."""
        path = self.folder.path / "points.csv"
        new = not path.exists()
        row = {"commit": self.here.commit, "machine": self.here.machine, "experiment": task.experiment,
               "point": task.point.name(), "process": process.number, "strategies": len(process.strategies),
               "repetitions": process.repetitions, "energy": int(task.point.measures_energy()), "seed": self.seed,
               "begun": datetime.datetime.fromtimestamp(begin, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
               "took_s": f"{seconds:.1f}", "predicted_s": "" if predicted is None else f"{predicted:.1f}",
               "status": status, "card": card.number if card else ""}
        with open(path, "a", newline="") as file:
            writer = csv.DictWriter(file, rows.columns_of("points.csv"), lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)
        work = self.work(task, process)
        told = predicted if self.costs.is_measured(work.kind) else None
        self.costs.add(costs.Record(work, max(seconds, 0.01), 1.0, task.point.name(), status == "stopped", told))

    def work(self, task: experiments.Task, process: points.Process) -> Work:
        return costs.work_of(task.point, len(process.strategies), process.repetitions, bool(self.here.gmsh))
