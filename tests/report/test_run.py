"""The list of experiments, predictions, and runs with simulated programs and clock: budget, pieces, what is kept."""

import contextlib
import csv
import dataclasses
import gzip
import io
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

from report import model, rows
from runner import cards, costs, experiments, folder, here, launch, points, publish, run, studies
from runner.here import Failure

KERNELS = """#!/bin/sh
case " $* " in
*--fe_list*) printf 'element_atomic  a\\nnode_csr  b\\ntwo_phase c\\npatch d\\nassembled_bsr e\\n' ;;
*--fe_backend=cuda*) [ -n "{gpus}" ] && echo card ;;
*--fe_slug*) echo card ;;
*--version*) printf 'febench {commit}\\ncompiler: sh\\n' ;;
*--help*) echo '  --fe_process=N' ;;
esac
"""
SCALING = """#!/bin/sh
case "$*" in
*--capacity*) printf 'host 8\\ncuda {gpus}\\n' ;;
*--help*) printf -- '--process N\\n--samples FILE.csv\\n' ;;
esac
"""
ROWS = ",".join(rows.columns_of("kernels.csv"))
ROW = ("6,abc,m,host,CPU,1,2,patch,hex8,box4-distorted,auto,1,clustered,64,375,jacvec,9,4,1e-5,9e-6,2e-5,8e-6,"
       "3.7e7,,,,,,100,50,1e-3,1.0,1e-15,,1,,,,,,,random,lexicographic,double,linear,burst,1,,ok")
QUICK = ["element_only", "element_atomic", "node_csr", "two_phase", "patch", "assembled_bsr"]


class Simulated:
    """Instead of programs: each takes the seconds that `law` says of its command, and writes a row unless it is
    stopped."""

    def __init__(self, law) -> None:
        self.law, self.time, self.commands, self.card, self.solve_fails = law, 0.0, [], None, False

    def launch(self, command, log, limit, held=None):
        pathlib.Path(log).write_text("")
        self.commands.append(command)
        seconds = self.law(command)
        if limit is not None and seconds > limit:
            self.time += limit
            return None
        self.time += seconds
        if "-o" in command:  # of a program that makes a mesh
            pathlib.Path(command[command.index("-o") + 1]).write_text("")
            return 0
        if "--steps" in command:  # of a solve that leaves a state
            if self.solve_fails:
                pathlib.Path(log).write_text("solve: load step 3 did not converge\n")
                return 1
            pathlib.Path(flag(command, "--result")).write_text("")
            pathlib.Path(flag(command, "--result") + ".state").write_text("")
            return 0
        written = [word.partition("=")[2] for word in command if word.startswith("--fe_rows=")]
        target = pathlib.Path(written[0] if written else command[command.index("--rows") + 1])
        size, process = flag(command, "--fe_dofs") or flag(command, "--dofs"), flag(command, "--fe_process") or flag(
            command, "--process")
        row = ROW.replace(",375,", f",{size or 375},").replace(",burst,1,", f",burst,{process or 1},")
        row = row.replace(",CPU,1,", f",CPU,{flag(command, '--ranks') or 1},")
        target.write_text(f"{ROWS}\n{row}\n")
        return 0

    def end(self) -> None:
        pass


class OnCard:
    """Instead of programs on a card: each takes some hundredths of a second, and writes a row unless it is ended.
    `seen` has of each when it began and ended, its card, its cores, and its command."""

    def __init__(self, card, turn, seen, code=0) -> None:
        self.card, self.turn, self.seen, self.code, self.ended = card, turn, seen, code, threading.Event()

    def launch(self, command, log, limit, held=None):
        pathlib.Path(log).write_text("kernels: a fault\n")
        begin = time.monotonic()
        with cards.given_up(self.turn):
            ended = self.ended.wait(0.02 + 0.02 * (len(command) % 3))
        self.seen.append((begin, time.monotonic(), self.card and self.card.number, os.sched_getaffinity(0), command))
        if ended:
            raise launch.Ended
        target = flag(command, "--fe_rows") or flag(command, "--rows")
        if target:
            pathlib.Path(target).write_text(f"{ROWS}\n{ROW}\n")
        return self.code

    def end(self) -> None:
        self.ended.set()


class SimulatedRun(run.Run):
    def __init__(self, environment, law, publishing=2.0, first_look=False) -> None:
        self.simulated = Simulated(law)
        super().__init__(environment, first_look)
        self.start, self.launcher, self.publishing_takes = 0.0, self.simulated, publishing
        self.publisher = self

    def now(self) -> float:
        return self.simulated.time

    def gather(self) -> None:
        pass

    def write_table(self, left_out) -> model.Model:
        self.simulated.time += self.publishing_takes
        return model.Model([], [], [], [])

    def draw(self, written) -> list[str]:
        return []


def flag(command, name: str) -> str:
    for i, word in enumerate(command):
        if word.startswith(name + "="):
            return word.partition("=")[2]
        if word == name:
            return command[i + 1]
    return ""


def law(scale: float = 1.0, outlier: float = 1.0):
    """Seconds: what a GPU or a host might take; some kinds of points are `outlier` times as long as others."""
    def seconds(command) -> float:
        text = " ".join(command)
        strategies = len((flag(command, "--fe_variants") or flag(command, "--variants") or "one").split(","))
        samples = float(flag(command, "--benchmark_repetitions") or flag(command, "--repetitions") or 1)
        size = float(flag(command, "--fe_dofs") or flag(command, "--dofs") or 100000)
        rate = 3e6 if "cuda" in text else 5e4
        slow = outlier if "irregular" in text or "stretched" in text else 1.0
        return scale * slow * strategies * (0.2 + 0.02 * samples + 0.1 * size / rate + 0.002 * samples * size / rate)
    return seconds


class Folder(unittest.TestCase):
    """A build of programs that say what they are and measure nothing."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.top = pathlib.Path(self.temporary.name)
        self.build(gpus=0)

    def tearDown(self):
        self.temporary.cleanup()

    def build(self, gpus: int, commit: str = "abc", programs=("kernels", "scaling", "solves", "solve")) -> None:
        (self.top / "build").mkdir(exist_ok=True)
        for name in programs:
            path = self.top / "build" / name
            text = KERNELS if name == "kernels" else SCALING
            path.write_text(text.replace("{gpus}", str(gpus or "")).replace("{commit}", commit))
            path.chmod(0o755)

    def environment(self, **more: str) -> dict[str, str]:
        return {"BUILD": str(self.top / "build"), "RESULTS": str(self.top / "results"), "SEED": "7"} | more

    def make(self, law_of=None, **more: str) -> SimulatedRun:
        with contextlib.redirect_stderr(io.StringIO()):
            return SimulatedRun(self.environment(**more), law_of or law())

    def said(self, of: run.Run) -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = of.run()
        return code, out.getvalue()


class List(Folder):
    def test_each_experiment_asks_a_question(self):
        n = 0
        for name in ("sweep.toml", "studies.toml"):
            for e in experiments.read_experiments(experiments.FOLDER / name):
                self.assertTrue(e.question.endswith("?"), e.name)
                self.assertIn(e.processes, (1, 3, 5, 6), e.name)
                self.assertTrue(set(e.passes.values()) <= set(experiments.read_settings().passes), e.name)
                n += 1
        self.assertGreater(n, 20)

    def refused(self, text: str, *parts: str) -> None:
        path = self.top / "list.toml"
        path.write_text(text)
        with self.assertRaises(experiments.Fault) as caught:
            experiments.read_experiments(path)
        for part in (str(path),) + parts:
            self.assertIn(part, str(caught.exception))

    def test_faults_name_file_experiment_and_key(self):
        good = ('[[experiment]]\nname="x"\nquestion="?"\nprogram="kernels"\npass={host="host"}\naxes={size=["1"]}\n'
                "repetitions=1\nprocesses=1\n")
        self.refused(good + "colour=1\n", "'x'", "'colour'")
        self.refused(good.replace('name="x"\n', ""), "experiment 1", "'name'")
        self.refused(good.replace('"kernels"', '"solver"'), "'x'", "'solver'")
        self.refused(good.replace("size=", "mesh="), "'x'", "'mesh'")
        self.refused(good + good, "'x'", "twice")
        self.refused("[[experiment]\n", "line 1")
        for problem in ("bracket", "stretched@3000"):
            with self.assertRaisesRegex(experiments.Fault, f"problem '{problem}': has no number of cells"):
                experiments.of_each(problem, 2)

    def test_variables_that_are_not_numbers_are_refused(self):
        for name in ("BUDGET", "REPETITIONS", "THREADS"):
            for text in ("x1", "\u00b2"):
                with self.assertRaisesRegex(experiments.Fault, f"{name}={text}: is not a whole number"):
                    self.make(**{name: text})
        for name, texts, wanted in (
                ("SIZES_host", ("abc", "1000,5000", "0x10", "-5", "nan", "1e3", "0"), "degrees of freedom, as 25000"),
                ("MESHES_host", ("nosuch", "irregular", "irregular@", "20x20", "0x5x5", "a@b"), "a mesh: irregular@5000000"),
                ("SOLVES_host", ("nosuch", "bending", "bendingx", "bending0"), "a problem: bracket, bending32"),
                ("STRONG_host", ("abc",), "degrees of freedom or a mesh"), ("RANKS_host", ("x1", "0"), "a number of ranks"),
                ("ELEMENTS", ("nosuch",), "an element: tet4"), ("PRECONDITION", ("ilu",), "block-jacobi, multigrid")):
            for text in texts:
                with self.assertRaisesRegex(experiments.Fault, re.escape(f"{text} is not {wanted}")):
                    self.make(**{name: f"{text} 7"})  # a 0 alone is none
        for name, text in (("BENCH_START", "abc"), ("VARIANTS", "patch nosuch")):
            with self.assertRaisesRegex(Failure, f"{name}.*(abc|nosuch)") as caught:
                self.make(**{name: text})
            self.assertEqual(caught.exception.code, 2)
        with self.assertRaisesRegex(experiments.Fault, "THREADS=0: at least 1"):
            self.make(THREADS="0")
        with self.assertRaisesRegex(experiments.Fault, "there is no pass zero"):
            self.make(PASSES="zero")
        with self.assertRaisesRegex(Failure, "there is no experiment zero"):
            self.make(EXPERIMENTS="zero")
        with self.assertRaisesRegex(experiments.Fault, "gpu is neither"):
            self.make(BACKENDS="gpu")

    def names(self, **more: str) -> list[str]:
        return [task.point.name() for task in self.make(**more).tasks]

    def test_gpu_comes_first_and_the_host_has_its_pass(self):
        self.build(gpus=2)
        tasks = self.make().tasks
        passes = list(dict.fromkeys(task.passed_in for task in tasks))
        self.assertEqual(passes, list(experiments.read_settings().passes[:-1]))
        self.assertEqual(tasks[0].point.name(), "kernels-cuda-tet4-1000000-auto-1-clustered")
        of_gpu = ("first", "solves", "sizes", "ranks", "samples")
        self.assertEqual({t.point.backend for t in tasks if t.passed_in in of_gpu}, {"cuda"})
        self.assertEqual({t.point.backend for t in tasks if t.passed_in == "host"}, {"host"})
        self.assertEqual({t.point.ranks for t in tasks if t.passed_in == "ranks"}, {1, 2})
        first = [t.point.backend for t in tasks if t.passed_in == "rest"]
        self.assertEqual(first, sorted(first))  # all of the GPU, then all of the host

    def test_zero_means_none(self):
        names = self.names(SOLVES_host="0", RANKS_host="0", MESHES_host="0")
        self.assertFalse([n for n in names if n.startswith(("solves", "scaling"))])
        self.assertFalse([n for n in names if "irregular@100000" in n])

    def test_a_gpu_is_compared_with_all_cores_of_a_large_host(self):
        self.build(gpus=1)
        machine = run.find_here
        for cores, backends in ((15, {"cuda"}), (16, {"cuda", "host"})):
            with unittest.mock.patch.object(run, "find_here", lambda *a: (machine(*a)[0], cores)):
                tasks = self.make(EXPERIMENTS="socket").tasks
            self.assertEqual({t.point.backend for t in tasks}, backends)
            self.assertEqual({t.point.size for t in tasks}, {"6400000"})
            self.assertTrue(all(t.point.backend != "host" or t.passed_in == "host" for t in tasks))

    def test_no_point_stands_there_twice(self):
        self.build(gpus=4)
        tasks = self.make().tasks
        keys = [(t.point, t.repetitions) for t in tasks]
        self.assertEqual(len(keys), len(set(keys)))

    def test_processes_of_a_paper_take_few_samples_each(self):
        self.build(gpus=4)
        sweep, paper = self.make().tasks, self.make(PAPER="1").tasks
        self.assertEqual(max(t.repetitions for t in sweep), 15)
        self.assertEqual(max(t.repetitions for t in paper), 5)
        self.assertEqual({t.repetitions for t in self.make(PAPER="1", REPETITIONS="9").tasks}, {9})

    def test_names_lead_back_to_their_points(self):
        self.build(gpus=4)
        tasks = self.make(PAPER="1").tasks
        self.assertGreater(len({type(t.point) for t in tasks}), 6)
        for task in tasks:
            name = task.point.name()
            self.assertEqual(studies.point_named(name), task.point)

    def test_axes_of_studies_can_be_chosen(self):
        sizes = {t.point.size for t in self.make(EXPERIMENTS="storage", SIZE="1000 2000").tasks}
        self.assertEqual(sizes, {"1000", "2000"})
        self.assertEqual(len(self.make(EXPERIMENTS="storage").tasks), 8)
        for asked, left in (("tet4", {"tet4"}), ("hex8 hex27", {"hex8"}), ("tet10", set())):
            self.assertEqual({t.point.element for t in self.make(EXPERIMENTS="storage", ELEMENTS=asked).tasks}, left)
        self.assertEqual(len(self.make(EXPERIMENTS="symmetric-forms").tasks), 6)
        self.assertEqual(len(self.make(EXPERIMENTS="orthogonality").tasks), 108)
        self.assertEqual(len(self.make(EXPERIMENTS="anderson").tasks), 20)


class Predictions(unittest.TestCase):
    def record(self, size: int, repetitions: int, weight: float = 1.0, element: str = "tet4", factor: float = 1.0):
        work = costs.work_of(points.Kernels("cuda", element, str(size)), 14, repetitions, False)
        return costs.Record(work, factor * self.seconds(size, repetitions), weight, f"{size}")

    def seconds(self, size: int, repetitions: int) -> float:
        return 3 + 14 * (0.1 + 0.05 * repetitions + 2e-7 * size)

    def test_a_law_of_its_terms_is_found(self):
        known = costs.Costs([self.record(s, r) for s in (1000, 100000, 1000000) for r in (5, 15)])
        for size in (3000, 300000, 6400000):
            with self.subTest(size=size):
                work = self.record(size, 15).work
                self.assertAlmostEqual(known.predict(work) / self.seconds(size, 15), 1, delta=0.1)

    def test_what_is_near_in_size_and_kind_corrects_it(self):
        both = [self.record(s, 15, element="hex8", factor=2.0) for s in (1000, 10000, 100000, 1000000)] + \
            [self.record(s, 15) for s in (1000, 10000, 100000, 1000000)]
        known = costs.Costs(both)
        hex8, tet4 = (known.predict(self.record(300000, 15, element=e).work) for e in ("hex8", "tet4"))
        self.assertGreater(hex8 / tet4, 1.5)

    def test_this_run_outweighs_another_machine(self):
        known = costs.Costs([self.record(s, 15, costs.OTHER_MACHINE, factor=10.0) for s in (1000, 100000, 1000000)] +
                            [self.record(1000, 15), self.record(1000000, 15)])
        self.assertLess(known.predict(self.record(300000, 15).work) / self.seconds(300000, 15), 1.5)

    def test_what_was_never_measured_is_not_known(self):
        self.assertIsNone(costs.Costs().predict(self.record(1000, 5).work))

    def test_a_point_that_was_stopped_takes_at_least_twice_as_long(self):
        known = costs.Costs([self.record(1000, 15), costs.Record(self.record(2000, 15).work, 60.0, 1.0, "2000", True)])
        self.assertGreaterEqual(known.predict(self.record(2000, 15).work, "2000"), 120)

    def test_what_was_stopped_says_nothing_of_other_points(self):
        energy = costs.work_of(points.Kernels("cuda", "tet4", "2000", special="energy"), 14, 15, False)
        known = costs.Costs([self.record(s, r) for s in (1000, 100000, 1000000) for r in (5, 15)])
        before = known.predict(self.record(300000, 15).work)
        known.add(costs.Record(energy, 0.5 * energy.steady, 1.0, "energy", True))
        self.assertEqual(known.predict(self.record(300000, 15).work), before)
        self.assertIsNone(costs.Costs([costs.Record(energy, 60.0, 1.0, "energy", True)]).predict(energy, "other"))
        self.assertEqual(costs.Costs([costs.Record(energy, 60.0, 1.0, "energy", True)]).predict(energy, "energy"), 120)

    def test_caution_is_what_four_of_five_predictions_needed(self):
        work = self.record(1000, 5).work
        known = costs.Costs([costs.Record(work, 10.0 * k, 1.0, "", False, 10.0) for k in range(1, 11)])
        self.assertEqual(known.caution(), 9.0)
        self.assertEqual(costs.Costs().caution(), 1.0)

    def test_rows_of_the_repository_tell_something_of_each_program(self):
        kinds = {f"{p}-{b}" for p in ("kernels", "solves", "scaling") for b in ("cuda", "host")}
        known = costs.earlier([pathlib.Path("results")], "a machine without rows", pathlib.Path("none"), False, kinds)
        for point in (points.Kernels("cuda", "hex8", "6400000"),
                      points.Solves("cuda", "tet4", "bending64", "multigrid", 1),
                      points.Scaling("cuda", "hex8", "6000000", "weak", 2), points.Kernels("host", "tet4", "25000")):
            with self.subTest(point=point.name()):
                seconds = known.predict(costs.work_of(point, 5, 15, False))
                self.assertGreater(seconds, 0.1)
                self.assertLess(seconds, 1000)


    def test_after_the_first_look_rows_tell_how_times_go_with_size(self):
        known = costs.earlier([pathlib.Path("results")], "new", pathlib.Path("none"), False, {"kernels-cuda"})
        look = costs.work_of(points.Kernels("cuda", "hex8", "1000000"), 15, 5, False)
        for _ in range(2):
            known.add(costs.Record(look, 20.0, 1.0))
        large = costs.work_of(points.Kernels("cuda", "hex8", "6400000"), 15, 15, False)
        self.assertAlmostEqual(known.predict(look) / 20, 1, delta=0.35)  # others here took 10 to 13 s
        self.assertGreater(known.predict(large), 40)  # an H100 took 3.3 times as long
        self.assertLess(known.predict(large), 20 * 6.4 * 3 * 1.1)


class Budget(Folder):
    def test_is_kept_within_five_per_cent(self):
        for gpus, scale, outlier in ((0, 4, 1), (1, 1, 1), (1, 1, 8), (1, 3, 4), (0, 2, 20)):
            with self.subTest(gpus=gpus, scale=scale, outlier=outlier):
                self.tearDown()
                self.setUp()
                self.build(gpus)
                one = self.make(law(scale, outlier), BUDGET="10")
                code, text = self.said(one)
                self.assertEqual(code, 0)
                first = max((i for i, line in enumerate(text.splitlines()) if " first " in line), default=-1)
                self.assertGreaterEqual(first, 0)
                if "note: " not in text:
                    self.assertLess(abs(one.now() / 600 - 1), 0.05)
                self.assertLess(one.now(), 1.05 * 600)
                self.assertGreater(one.now(), 0.8 * 600)
                self.assertGreater(one.counts.left, 0)
                self.assertLess(one.counts.stopped, 0.3 * one.counts.measured)

    def test_a_point_that_would_not_end_is_stopped_and_named(self):
        endless = "irregular@25000"
        usual = law()
        one = self.make(lambda c: 1e6 if "irregular" in flag(c, "--fe_mesh") else usual(c), BUDGET="5")
        _, text = self.said(one)
        self.assertRegex(text, f"kernels-host-tet4-{endless}-auto-1-clustered was stopped after")
        self.assertLess(one.now(), 1.051 * 300 + one.publishing_takes)
        self.assertGreater(one.counts.measured, 20)  # others had their turn
        self.assertIn(f"host tet4, {endless}, auto, plastic 1 clustered", one.left_out)
        with open(one.folder.path / "points.csv", newline="") as file:
            table = [row for row in csv.DictReader(file) if endless in row["point"]]
        self.assertIn("stopped", [row["status"] for row in table])
        again = self.make(BUDGET="5")
        work = again.measurer.work(again.tasks[0], points.Process(1, 15, tuple(QUICK)))
        name = f"kernels-host-tet4-{endless}-auto-1-clustered"
        stopped = max(float(row["took_s"]) for row in table if row["status"] == "stopped")
        self.assertGreaterEqual(again.costs.predict(work, name), 2 * stopped)

    def test_the_first_look_is_whole_and_a_note_says_that_it_took_longer(self):
        one = self.make(lambda command: 100.0, BUDGET="1")
        code, text = self.said(one)
        self.assertEqual((code, one.counts.measured), (0, 2))
        self.assertIn("note: 3:24 instead of 1:00: building and the first look", text)

    def test_a_new_strategy_that_solves_leave_out_is_said_once(self):
        said = "not in solves and scaling: mine (VARIANTS=, or FEW in experiments/settings.toml)"
        self.assertNotIn("not in solves", self.said(self.make(BUDGET="1"))[1])
        kernels = self.top / "build" / "kernels"
        kernels.write_text(kernels.read_text().replace("assembled_bsr e", "assembled_bsr e\\nelement_team f\\nmine g"))
        self.assertEqual(self.said(self.make(BUDGET="1"))[1].count(said), 1)
        self.assertNotIn("not in solves", self.said(self.make(BUDGET="1", VARIANTS="mine patch"))[1])
        self.assertNotIn("not in solves", self.said(self.make(PAPER="1", EXPERIMENTS="sizes", BUDGET="1"))[1])

    def test_the_first_look_goes_before_other_programs_are_there(self):
        (self.top / "build" / "first").mkdir()
        for name in ("scaling", "solves", "solve"):
            (self.top / "build" / name).unlink()
        (self.top / "build" / "kernels").rename(self.top / "build" / "first" / "kernels")
        with contextlib.redirect_stderr(io.StringIO()) as warned:
            look = SimulatedRun(self.environment(BUDGET="3"), law(), first_look=True)
        code, text = self.said(look)
        self.assertEqual((code, look.counts.measured, warned.getvalue()), (0, 2, ""))
        self.assertIn("the first table is there after", text)
        self.build(gpus=0)
        whole = self.make(BUDGET="3")
        code, text = self.said(whole)
        self.assertEqual((code, whole.folder.path), (0, look.folder.path))
        self.assertGreaterEqual(whole.counts.kept, 2)
        self.assertNotIn("the first table is there", text)

    def test_points_of_the_first_look_are_counted_in_the_end(self):
        build, later = self.top / "build", self.top / "later"
        shutil.copytree(build, later)
        for name in ("scaling", "solves", "solve"):
            (build / name).unlink()
        (build / "first").mkdir()
        (build / "kernels").rename(build / "first" / "kernels")
        environment = self.environment(BUDGET="1", BENCH_BUILD=f"cp {later}/* {build}/")
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            # the first look takes the budget, and leaves no time for other points
            code = run.bench(environment, lambda of, first_look=False: SimulatedRun(
                of, law() if first_look else lambda command: 1e4, first_look=first_look))
        self.assertEqual(code, 0)
        self.assertIn("bench: 2 points in ", out.getvalue())
        self.assertNotIn("all points were there", out.getvalue())

    def test_nothing_is_built_behind_a_first_look_that_took_the_budget(self):
        build = self.top / "build"
        for name in ("scaling", "solves", "solve"):
            (build / name).unlink()
        (build / "first").mkdir()
        (build / "kernels").rename(build / "first" / "kernels")
        out = io.StringIO()
        for seconds, builds in ((1.0, True), (100.0, False)):
            with self.subTest(seconds=seconds), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                environment = self.environment(BUDGET="1", RESULTS=str(self.top / f"{seconds}"), BENCH_BUILD="false")
                looked = lambda of, first_look=False: SimulatedRun(of, lambda command: seconds, first_look=first_look)
                if builds:
                    self.assertRaises(run.Failure, run.bench, environment, looked)
                else:
                    self.assertEqual(run.bench(environment, looked), 0)
        self.assertIn("3:22 of 1:00: building and the first look took it all", out.getvalue())

    def test_a_wrong_name_is_said_before_a_build(self):
        build = self.top / "built"
        with self.assertRaisesRegex(Failure, "there is no experiment zero"):
            run.bench({"EXPERIMENTS": "zero", "BENCH_BUILD": f"touch '{build}'"})
        self.assertFalse(build.exists())

    def test_a_build_that_would_last_longer_than_the_budget_is_ended(self):
        build, mark = self.top / "build", self.top / "still-there"
        for name in ("scaling", "solves", "solve"):
            (build / name).unlink()
        (build / "first").mkdir()
        (build / "kernels").rename(build / "first" / "kernels")
        environment = self.environment(BUDGET="1", BENCH_BUILD=f"(sleep 4; touch {mark}) & wait")
        out, begin = io.StringIO(), time.monotonic()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = run.bench(environment, lambda of, first_look=False: SimulatedRun(
                of, lambda command: 27.9, first_look=first_look))  # two points and their tables: 2 s are left
        self.assertEqual((code, time.monotonic() - begin < 4), (0, True))
        time.sleep(3)
        self.assertFalse(mark.exists())
        self.assertIn("building and the first look took it all. Not all programs are built", out.getvalue())
        self.assertRaises(run.Failure, run.is_built, "false", None)
        self.assertTrue(run.is_built("true", None))

    def test_finished_points_are_kept(self):
        one = self.make(BUDGET="3")
        self.said(one)
        again = self.make(BUDGET="3")
        code, _ = self.said(again)
        self.assertEqual(again.folder.path, one.folder.path)
        self.assertGreaterEqual(again.counts.kept, one.counts.measured - 2)
        self.assertEqual(code, 0)
        other = self.make(BUDGET="3", REPETITIONS="3")
        self.assertNotEqual(other.folder.path, one.folder.path)

    def test_strategies_come_in_a_random_order_that_the_seed_repeats(self):
        orders = []
        for seed in ("7", "7", "8"):
            self.tearDown()
            self.setUp()
            one = self.make(BUDGET="3", SEED=seed)
            self.said(one)
            orders.append([flag(c, "--fe_variants") for c in one.simulated.commands])
            self.assertEqual((one.folder.scratch / "seed").read_text(), f"{seed}\n")
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])
        self.assertGreater(len({text.split(",")[0] for text in orders[0] if text}), 2)
        self.assertEqual(sorted(orders[0][0].split(",")), sorted(QUICK))


class Paper(Folder):
    LIST = {"PAPER": "1", "EXPERIMENTS": "first-look sizes strong", "ELEMENTS": "tet4", "SIZES_host": "1000 25000",
            "MESHES_host": "0", "STRONG_host": "1000", "RANKS_host": "1 2"}

    def test_pieces_make_the_whole_and_repeat_nothing(self):
        whole = self.make(**self.LIST)
        wanted = sum(task.processes for task in whole.tasks)
        self.assertEqual(wanted, 6 + 5 + 2 * 3)  # first look, the other size, 1 and 2 ranks
        for _ in range(20):
            piece = self.make(law(3.0), BUDGET="1", **self.LIST)
            code, _ = self.said(piece)
            self.assertEqual(code, 0)
            self.assertLessEqual(piece.now(), 1.06 * 60 + piece.publishing_takes)
            if not piece.counts.measured:
                break
        done = [(row["point"], row["process"], row["repetitions"])
                for row in rows.read(whole.folder.path / "points.csv") if row["status"] == "done"]
        self.assertEqual((len(done), len(set(done))), (wanted, wanted))
        processes = [(task, n) for task in whole.tasks for n in range(1, task.processes + 1)]
        self.assertTrue(all(whole.folder.is_done(t.point, n, t.repetitions) for t, n in processes))
        _, text = self.said(self.make(**self.LIST, MISSING="1"))
        self.assertIn(f"0 of {wanted} processes", text)

    def gathered(self, one: SimulatedRun) -> int:
        """Rows that are published."""
        folder, place = one.folder.path, {task.point.name(): i for i, task in enumerate(one.tasks)}
        publish.Publisher(folder, one.folder.scratch, one.folder.scratch / one.here.record, one.here.strategies, place).gather()
        return sum(len((folder / name).read_text().splitlines()) - 1 for name in ("kernels.csv", "scaling.csv")
                   if (folder / name).exists())

    def test_the_record_tells_machines_of_one_kind_apart(self):
        """Of several that measured pieces of a run it names all."""
        one = self.make()
        record = one.folder.path / "machine.csv"
        one.folder.scratch.mkdir(parents=True)
        place = publish.Publisher(one.folder.path, one.folder.scratch, one.folder.scratch / one.here.record, one.here.strategies, {})
        cards = {"one": "GPU-1\nGPU-2\n", "again": "GPU-2\nGPU-1\n", "other": "GPU-3\n", "none": None}
        said = {}
        for name, listed in cards.items():
            record.write_text("key,value\ncores,2\n")
            with unittest.mock.patch("runner.here.output_of", return_value=listed):
                place.name_machine()
                place.name_machine()
            said[name] = model.read_record(record)
        told = {name: dict(pairs)["identity"].split() for name, pairs in said.items()}
        self.assertEqual({name: len(pairs) for name, pairs in said.items()}, dict.fromkeys(said, 3 + len(here.facts())))
        self.assertEqual((len(told["one"]), len(told["other"]), len(told["none"])), (2, 1, int(here.BOOT.is_file())))
        self.assertEqual(told["one"], told["again"])
        self.assertFalse(set(told["one"]) & set(told["other"]))
        self.assertNotIn("GPU", str(told))
        with unittest.mock.patch("runner.here.output_of", return_value="GPU-1\n"):
            record.write_text(f"key,value\nidentity,{told['other'][0]}\ncores,2\n")
            place.name_machine()
        both = dict(model.read_record(record))["identity"].split()
        self.assertEqual((len(both), both[0], both[1] in told["one"]), (2, told["other"][0], True))

    def test_machines_of_a_kind_have_one_record(self):
        """Ceilings are those of the first one; a second one of as many cores adds nothing."""
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        text = "key,value\nmachine,g\ncpu,X\ncores,{0}\nhost_threads,{0}\ngpu,G\nmemory_gb,{1}\ncuda_copy_gb_per_s,{2}\n"
        said = []
        for cores, memory, copy in ((32, 270.3, 4558.4), (16, 135.1, 4600), (32, 270.3, 4500)):
            own = path / f"machine-{copy}.csv"
            own.write_text(text.format(cores, memory, copy))
            publish.Publisher(path, path, own, ("patch",), {}).name_machine()
            told = dict(model.read_record(path / "machine.csv"))
            said.append([told[key] for key in ("machine", "cpu", "cores", "host_threads", "memory_gb", "cuda_copy_gb_per_s")])
        self.assertEqual(said, [["g", "X", "32", "32", "270.3", "4558.4"]] + 2 * [
            ["g", "X", "32; 16", "32; 16", "270.3; 135.1", "4558.4"]])
        self.assertEqual(list(told)[:4], ["key", "machine", "cpu", "cores"])

    def test_points_on_a_host_are_of_one_host(self):
        """Of several machines of one kind those on GPUs go on."""
        one = self.make()
        one.folder.scratch.mkdir(parents=True)
        first, own = one.folder.path / "machine.csv", one.folder.scratch / one.here.record
        self.assertEqual(one.measurer.other_host(one.launcher), "")
        own.write_text("key,value\ncpu,X\ncores,16\nhost_threads,16\n")
        for cores, needs in (("16", ""), ("16; 32", ""), ("32; 16", "the host that this run began on (X, 32 cores, 16 threads), or "
                                                          "a folder of their own (RESULTS)")):
            first.write_text(f"key,value\ncpu,X\ncores,{cores}\nhost_threads,16\n")
            self.assertEqual(one.measurer.other_host(one.launcher), needs)
        there = dataclasses.replace(one.here, other_host=needs)
        told = [points.parse(f"kernels-{backend}-tet4-1000-auto-1-clustered").needs(there) for backend in ("host", "cuda")]
        self.assertEqual((told[0], told[1] == needs), (needs, False))

    def test_the_record_says_what_is_set_on_a_machine(self):
        """Of several machines and GPUs each value once; what none of them tells is a dash, and no error."""
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        core = "processor\t: {}\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: X\nstepping\t: 2\nmicrocode\t: 0x2b\n" \
            "flags\t\t:\n"
        (path / "cpuinfo").write_text("\n".join(core.format(i) for i in (0, 1)))
        (path / "kept").mkdir()
        for name in ("node0", "node1", "possible"):
            (path / "nodes" / name).mkdir(parents=True)
        record, smi = path / "machine.csv", path / "nvidia-smi"
        place = publish.Publisher(path, path / "kept", path / "kept" / "machine.csv", ("patch",), {})
        record.write_text("key,value\ncpu,X\ngpu,G\n")
        self.enterContext(unittest.mock.patch.dict(os.environ, {"PATH": f"{path}:{os.environ['PATH']}"}))

        def told(script: str, cpuinfo: str = "cpuinfo", nodes: str = "nodes") -> list[str]:
            smi.write_text(f"#!/bin/sh\n{script}\n")
            smi.chmod(0o755)
            with unittest.mock.patch("runner.here.CPUINFO", path / cpuinfo), \
                    unittest.mock.patch("runner.here.NODES", path / nodes):
                place.name_machine()
            pairs = dict(model.read_record(record))
            self.assertEqual((pairs["cpu"], pairs["gpu"], len(pairs)), ("X", "G", 4 + len(here.facts())))
            return [pairs[key] for key in ("cpu_stepping", "microcode", "numa_nodes", *here.ASKED)]

        self.assertEqual(told("exit 9", "none", "none"), ["-"] * 9)  # no driver, and a system that hides all
        host = ["family 6 model 207 stepping 2", "0x2b", "2"]
        self.assertEqual(told("echo 'No devices were found'"), host + ["-"] * 6)
        unknown = "case $1 in *mig*) echo 'Field \"mig.mode.current\" is not a valid field to query.'; exit 2 ;; "
        alone = "*,*) exit 2 ;; *limit*) echo 350.00 ;; *max.sm*) echo 1980 ;; *) echo '[N/A]' ;; esac"
        self.assertEqual(told(unknown + alone), [*host, "350", "1980", "-", "-", "-", "-"])
        line = "700.00, 1980, 3201, Enabled, {}, [N/A]"
        both = "; ".join(f"echo '{line.format(mode)}'" for mode in ("Disabled", "Enabled"))
        for _ in range(2):
            self.assertEqual(told(f"case $1 in *uuid*) echo GPU-1 ;; *) {both} ;; esac")[3:],
                             ["350; 700", "1980", "3201", "enabled", "disabled; enabled", "-"])
        self.assertEqual(dict(model.read_record(record))["system"], f"{platform.system()} {platform.release()}")

    def test_a_clone_with_its_rows_goes_on(self):
        first = self.make(law(3.0), BUDGET="1", **self.LIST)
        self.said(first)
        done, path = len(list(first.folder.scratch.glob("*.done"))), first.folder.path
        self.assertGreater(done, 3)
        self.assertEqual(done, first.counts.measured)
        (path / "samples.csv").write_text(f"{ROWS}\n{ROW.replace('patch', 'of_the_first_call')}\n")
        killed = (path / "scratch/kernels-host-tet4-1000-auto-1-clustered.killed.csv")
        killed.write_text(f"{ROWS}\n{ROW.removesuffix('ok')}killed\n")
        self.assertEqual(self.gathered(first), done + 1)
        with open(path / "samples.csv", "rb") as file, gzip.open(path / "samples.csv.gz", "wb") as packed:
            shutil.copyfileobj(file, packed)
        (path / "samples.csv").unlink()
        shutil.rmtree(path / "scratch")  # git ignores it
        wanted = sum(task.processes for task in first.tasks)
        _, text = self.said(self.make(**self.LIST, MISSING="1"))
        self.assertIn(f"{wanted - first.counts.measured} of {wanted} processes", text)
        self.assertFalse((path / "scratch").exists())
        others = self.make(**(self.LIST | {"SEED": ""}))
        code, _ = self.said(others)
        self.assertEqual((code, others.folder.path, others.measurer.seed), (0, path, first.measurer.seed))
        self.assertEqual(others.counts.kept + others.counts.measured, wanted)
        processes = {(task.point, n) for task in first.tasks for n in range(1, task.processes + 1)}
        self.assertEqual(self.gathered(others), len(processes))
        self.assertFalse([p.name for p in path.iterdir() if p.suffix == ".gz" or p.name.startswith(".")])
        self.assertIn("of_the_first_call", (path / "samples.csv").read_text())

    def test_points_of_another_commit_are_kept_where_their_sources_are_the_same(self):
        """Of kernels, not of several ranks; a point of which that commit has not all processes is measured again."""
        first = self.make(**self.LIST)
        self.said(first)
        self.gathered(first)
        finished = first.folder.path / "finished.csv"
        lines = finished.read_text().splitlines(keepends=True)
        at = next(i for i, line in enumerate(lines) if line.startswith("kernels-host-tet4-25000") and ",5," in line)
        finished.write_text("".join(lines[:at] + lines[at + 1:]))
        self.build(gpus=0, commit="def")

        def alike(one, other, kind, variant, backend, contact=False) -> bool:
            self.assertEqual((one, other, backend, contact), ("abc", "def", "host", False))
            return kind == "kernels.csv"

        changed = unittest.mock.patch("report.sources.digest", lambda: "0123456789ab")
        with changed, unittest.mock.patch("report.sources.alike", alike):
            second = self.make(**self.LIST)
            code, text = self.said(second)
            _, missing = self.said(self.make(**self.LIST, MISSING="1"))
        self.assertEqual(code, 0)
        self.assertNotEqual(second.folder.path, first.folder.path)
        self.assertIn("1 points are there at abc, whose sources of them are the same", text)
        self.assertIn(f"0 of {sum(task.processes for task in second.tasks)} processes", missing)
        self.assertEqual((second.counts.kept, second.counts.measured), (6, 5 + 2 * 3))
        with changed, unittest.mock.patch("report.sources.alike", lambda *_: False):
            self.assertEqual(self.make(**self.LIST).elsewhere, {})
        (self.top / "build" / "flags-c").write_text("gcc -O0\n")
        with changed, unittest.mock.patch("report.sources.alike", alike):
            self.assertEqual(self.make(**self.LIST).elsewhere, {})

    def test_processes_are_told_their_number_and_come_in_random_order(self):
        one = self.make(**self.LIST)
        self.said(one)
        numbers = [flag(c, "--fe_process") for c in one.simulated.commands if "--fe_rows" in " ".join(c)]
        self.assertEqual(set(numbers), {"1", "2", "3", "4", "5", "6"})
        ranks = [c for c in one.simulated.commands if flag(c, "--rows")]
        self.assertEqual({flag(c, "--process") for c in ranks}, {"1", "2", "3"})
        for command in ranks:  # samples beside the rows
            self.assertEqual(flag(command, "--samples"), flag(command, "--rows").replace(".rows.", ".samples."))
        orders = {seed: [item[0].point.name() for item in self.items(seed)] for seed in (1, 2, 3, 4)}
        self.assertGreater(len({tuple(order) for order in orders.values()}), 1)

    def items(self, seed: int):
        one = self.make(**self.LIST)
        one.measurer.seed = seed
        return one.paper_items()

    PART = {"PAPER": "1", "EXPERIMENTS": "part-state", "ELEMENTS": "hex8", "RANKS_host": "0"}

    def test_the_state_of_a_part_is_solved_once_and_points_are_told_of_it(self):
        one = self.make(**self.PART)
        code, _ = self.said(one)
        self.assertEqual((code, one.counts.measured), (0, 3 * 3))  # patterns, processes
        refined, = (c for c in one.simulated.commands if "refine" in c)
        solved, = (c for c in one.simulated.commands if "--steps" in c)
        self.assertEqual((refined[2], flag(refined, "--levels")), (points.COARSE.format(shape="hex8"), "1"))
        self.assertEqual((solved[1], flag(solved, "--backend")), (points.PART_PROBLEM, "host"))
        mesh, state = flag(solved, "--mesh"), one.folder.scratch / "bracket_hex8_coarse-refined1-hex8.state"
        self.assertTrue(state.exists() and pathlib.Path(mesh).exists())
        told = [c for c in one.simulated.commands if flag(c, "--fe_state")]
        self.assertEqual(len(told), 3)
        for command in told:
            self.assertEqual((flag(command, "--fe_mesh"), flag(command, "--fe_problem"), flag(command, "--fe_state")),
                             (mesh, points.PART_PROBLEM, str(state)))
            self.assertFalse(flag(command, "--fe_plastic") or flag(command, "--fe_pattern") or flag(command, "--fe_refine"))
        others = [flag(c, "--fe_pattern") for c in one.simulated.commands if flag(c, "--fe_refine") == "1"]
        self.assertEqual(sorted(others), 3 * ["scattered"] + 3 * ["zones"])

    def test_brackets_of_quadratic_elements_are_made_of_linear_ones_that_are_refined_once_less(self):
        one = self.make(**self.PART)
        commands = one.simulated.commands
        one.folder.scratch.mkdir(parents=True)

        def make(element: str, size: str) -> pathlib.Path:
            point = points.Solves("host", element, size, "multigrid")
            self.assertTrue(one.measurer.make_mesh(point, one.simulated) and point.mesh(one.measurer.here).exists())
            return point.mesh(one.measurer.here)

        fine = make("hex27", "bracket2_linear")
        refined, raised = commands
        self.assertEqual((refined[1:3], flag(refined, "--levels")), (["refine", points.COARSE.format(shape="hex8")], "1"))
        self.assertEqual(raised[1:3], ["quadratic", str(make("hex8", "bracket1_linear"))])
        self.assertEqual(len(commands), 2)  # that one was there
        self.assertEqual((fine.name, fine.parent.name), ("bracket2.msh", "hex27"))
        make("hex27", "bracket1_linear")
        self.assertEqual(commands[2][1:3], ["quadratic", points.COARSE.format(shape="hex8")])

    def test_a_part_that_cannot_be_solved_is_one_line(self):
        one = self.make(**self.PART)
        one.simulated.solve_fails = True
        code, text = self.said(one)
        about = [line for line in text.splitlines() if "cannot be measured" in line]
        self.assertEqual(about, 3 * ["bench: kernels-host-hex8-bracket1-auto-counted-part cannot be measured: solve left no "
                                     "state: solve: load step 3 did not converge"])
        self.assertEqual((code, one.counts.measured, one.counts.refused), (0, 2 * 3, 3))
        self.build(gpus=0, programs=("kernels", "scaling", "solves"))
        (self.top / "build" / "solve").unlink()
        _, text = self.said(self.make(**self.PART, MISSING="1"))
        self.assertRegex(text, r"part-state +3 of +9; 3 need solve\b")

    def test_a_part_is_taken_at_its_largest_load(self):
        with open(points.PART_PROBLEM) as file:
            factors = json.load(file)["paths"]["load"]
        self.assertEqual(factors[points.PART_STEPS - 1], max(factors))

    def test_a_part_has_the_meshes_of_the_bracket(self):
        listed = (self.top / "list.toml")
        listed.write_text('[[experiment]]\nname = "a"\nquestion = "?"\nprogram = "kernels"\npass = {host = "rest"}\n'
                          'axes = {size = ["25000"], pattern = ["part"]}\nrepetitions = 1\nprocesses = 1\n')
        one = self.make(**self.PART)
        with self.assertRaisesRegex(experiments.Fault, "experiment 'a': size '25000': the pattern part has bracket1"):
            experiments.plan(experiments.read_experiments(listed), one.settings, one.variables, one.here)

    def test_another_build_of_the_commit_goes_on_and_another_commit_does_not(self):
        one = self.make(**self.LIST)
        self.said(one)
        path = self.top / "build" / "kernels"
        path.write_text(path.read_text() + "# another build\n")
        self.assertEqual(self.make(**self.LIST).folder.path, one.folder.path)
        self.build(gpus=0, commit="abc-dirty")
        dirty = self.make(**self.LIST)
        self.assertNotEqual(dirty.folder.path, one.folder.path)

    def test_a_run_goes_on_at_another_commit_of_the_same_sources(self):
        """Also where a point has a part of its processes; a sweep, which is of one build, does not."""
        first = self.make(**self.LIST)
        self.said(first)
        next(first.folder.scratch.glob("scaling-host-tet4-*.process3.done")).unlink()
        self.gathered(first)
        self.build(gpus=0, commit="def")
        second = self.make(**self.LIST)
        code, _ = self.said(second)
        self.assertEqual((code, second.folder.path, second.counts.measured), (0, first.folder.path, 1))
        self.assertNotEqual(self.make().folder.path, first.folder.path)
        told = rows.read(first.folder.path / "points.csv")
        self.assertEqual([row["commit"] for row in told].count("def"), 1)

    def test_whether_the_sources_are_the_same_is_told_by_commits_where_sums_do_not(self):
        """An older folder has no sum, and another rule another one."""
        first = self.make(**self.LIST)
        self.said(first)
        told = first.folder.path / folder.SETTINGS
        asked = []

        def goes_on(is_alike: bool) -> bool:
            def all_alike(one, other) -> bool:
                asked.append((one, other))
                return is_alike

            with unittest.mock.patch("report.sources.all_alike", all_alike):
                return self.make(**self.LIST).folder.path == first.folder.path

        self.build(gpus=0, commit="def")
        for other in (re.sub(r"; sources \w+", text, told.read_text()) for text in ("; sources 0123456789ab", "")):
            self.assertNotEqual(other, told.read_text())
            asked.clear()
            told.write_text(other)
            self.assertEqual([goes_on(True), goes_on(False)], [True, False])
            self.assertEqual(asked, [("abc", "def")] * 2)
        text = io.StringIO()
        with contextlib.redirect_stderr(text):
            run.Run(self.environment(**self.LIST))
        self.assertIn(f"{first.folder.path}: whether its run goes on cannot be told: this clone does not hold its commit, abc",
                      text.getvalue())

    def test_other_flags_begin_a_run_of_their_own(self):
        """Of what is built; where a library is counts for nothing. So does what an older folder does not tell."""
        flags = self.top / "build" / "flags-c"
        flags.write_text("gcc -O3 -I/opt/one\n")
        for variables in (self.LIST, {}):
            first = self.make(**variables)
            self.said(first)
            flags.write_text("gcc -O3 -I/opt/other\n")
            self.assertEqual(self.make(**variables).folder.path, first.folder.path)
            flags.write_text("gcc -O0 -I/opt/one\n")
            self.assertNotEqual(self.make(**variables).folder.path, first.folder.path)
            if variables:
                told = first.folder.path / folder.SETTINGS
                told.write_text(re.sub(r"; flags \w+", "", told.read_text()))
                self.assertEqual(self.make(**variables).folder.path, first.folder.path)
            flags.write_text("gcc -O3 -I/opt/one\n")

    def test_sources_count_where_no_commit_tells_them(self):
        self.build(gpus=0, commit="unknown")
        first = self.make()
        self.said(first)
        self.assertEqual(self.make().folder.path, first.folder.path)
        with unittest.mock.patch("runner.here.checksum", lambda files: 5):
            self.assertNotEqual(self.make().folder.path, first.folder.path)

    def test_processes_whose_rows_are_gone_are_measured_again(self):
        first = self.make(**self.LIST)
        self.said(first)
        paths = sorted(first.folder.scratch.glob("kernels-*.rows.csv"))[:3]
        paths[0].unlink()
        paths[1].write_text(paths[1].read_text()[:-5])
        paths[2].write_text("")
        second = self.make(**self.LIST)
        _, text = self.said(second)
        self.assertEqual(second.counts.measured, 3)
        self.gathered(second)
        shutil.rmtree(second.folder.scratch)
        self.said(third := self.make(**self.LIST))
        self.assertEqual(third.counts.measured, 0)  # their rows are among those of all
        for path in paths:
            self.assertRegex(text, f"{re.escape(str(path))}: .*: this process is measured again")

    def test_rows_of_peers_are_among_those_of_solves(self):
        scratch = self.top / "run" / "scratch"
        scratch.mkdir(parents=True)
        peers, other = "peers-host-hex8-bending20-gamg-1", "scaling-host-tet4-1000-strong-1"
        for name in (peers, other):
            (scratch / f"{name}.done").write_text("5\n")
        (scratch / f"solves{folder.PUBLISHED}.rows.csv").write_text("a,b\n1,2\n")
        with contextlib.redirect_stderr(io.StringIO()):
            folder.Folder(self.top / "run", "").forget_lost_rows()
        self.assertEqual([path.name for path in scratch.glob("*.done")], [f"{peers}.done"])

    def test_a_damaged_folder_is_one_line(self):
        first = self.make(**self.LIST)
        self.said(first)
        self.gathered(first)
        shutil.rmtree(first.folder.scratch)
        finished, kernels = first.folder.path / "finished.csv", first.folder.path / "kernels.csv"
        good = {path: path.read_text() for path in (finished, kernels)}
        for path, text, said in (
                (finished, good[finished].replace(",5,", ",x,", 1), "finished.csv: is damaged"),
                (finished, good[finished].replace("kernels-", "kornels-", 1), "is the name of no point"),
                (finished, good[finished].partition("\n")[2], "finished.csv: is damaged"),
                (finished, good[finished][:-4], "finished.csv: is damaged"),
                (kernels, good[kernels][:-4], r"kernels.csv: is damaged: line \d+ is cut"),
                (kernels, "", "kernels.csv: is damaged: it is not there")):
            path.write_text(text)
            with self.assertRaisesRegex(Failure, said):
                self.make(**self.LIST).folder.open()
            path.write_text(good[path])
        (first.folder.path.parent / "other").mkdir()
        (first.folder.path.parent / "other" / folder.SETTINGS).write_bytes(b"\xff\xfe")
        (first.folder.path.parent / "other" / "finished.csv").write_text("point,process,repetitions,seed\nkernels\n")
        again = self.make(**self.LIST)
        self.said(again)
        self.assertEqual(again.counts.measured, 0)

    def test_quadratic_brackets_are_said_to_be_missing(self):
        self.build(gpus=0)
        one = self.make(EXPERIMENTS="sizes", ELEMENTS="tet4 tet10", SIZES_host="1000", MESHES_host="bracket1")
        one.here = dataclasses.replace(one.here, quadratic=True)
        code, text = self.said(one)
        self.assertEqual((code, one.counts.measured, one.counts.refused), (0, 3, 1))
        self.assertIn("kernels-host-tet10-bracket1-auto-1-clustered cannot be measured: it needs linear elements", text)

    def test_two_sizes_of_one_box_are_measured_once(self):
        out = io.StringIO()
        with contextlib.redirect_stderr(out):
            one = run.Run(self.environment(EXPERIMENTS="sizes", SIZES_host="1000 1010 2000", MESHES_host="6x6x6 5x7x7",
                                           ELEMENTS="tet4"))
        self.assertEqual([task.point.size for task in one.tasks], ["1000", "2000", "5x7x7"])
        self.assertIn("tet4, 1010: the same box as 1000, measured once", out.getvalue())

    def test_missing_says_what_is_needed_and_writes_nothing(self):
        code, text = self.said(self.make(PAPER="1", MISSING="1", BACKENDS="cuda host"))
        self.assertEqual(code, 0)
        self.assertRegex(text, r"sizes +\d+ of +\d+.*need a GPU")
        self.assertRegex(text, "peers .* need peers")
        self.assertFalse((self.top / "results").exists())

    def test_more_ranks_than_there_are_gpus_are_said(self):
        self.build(gpus=2)
        _, text = self.said(self.make(PAPER="1", MISSING="1", BACKENDS="cuda"))
        self.assertRegex(text, r"strong .*need 4 GPUs, 8 GPUs")


    def test_other_ways_on_ranks_have_rows_of_their_own(self):
        self.build(gpus=2)
        one = self.make(PAPER="1", BACKENDS="cuda", EXPERIMENTS="strong strong-by-nccl gmres-on-ranks solves-on-ranks", ELEMENTS="hex8",
                        STRONG_cuda="1000", WEAK_cuda="2000", RANKS_cuda="1 2", SOLVES_cuda="bending20",
                        VARIANTS="patch node_csr")
        names = {task.point.name() for task in one.tasks}
        solves = {f"solves-cuda-hex8-bending{n}-multigrid-{way}" for n, way in ((128, "1"), (161, "2"), (161, "2-nccl"))}
        of_scaling = {f"{way}-cuda-hex8-1000-strong-{n}" for way, n in (
            ("scaling", 1), ("scaling", 2), ("scaling_nccl", 2), ("scaling_gmres", 1), ("scaling_gmres", 2))}
        of_scaling |= {f"scaling_gmres-cuda-hex8-2000-strong-{n}" for n in (1, 2)}
        self.assertEqual(names, solves | of_scaling)  # one rank sends nothing
        self.said(one)
        by_nccl = [c for c in one.simulated.commands if flag(c, "--transport")]
        self.assertEqual({(pathlib.Path(c[0]).name, flag(c, "--transport"), flag(c, "--ranks")) for c in by_nccl},
                         {("scaling", "nccl", "2"), ("solves", "nccl", "2")})
        for path in one.folder.scratch.glob("solves-*.rows.csv"):  # what is simulated is not quite like theirs
            path.unlink()
        self.gathered(one)
        self.assertEqual({p.name for p in one.folder.path.glob("scaling*.csv")}, {"scaling.csv", "scaling-nccl.csv", "scaling-gmres.csv"})
        forms = {pathlib.Path(flag(c, "--rows")).name.partition("-")[0]: flag(c, "--gmres")
                 for c in one.simulated.commands if c[0].endswith("scaling")}
        self.assertEqual(forms, {"scaling": "cgs2", "scaling_nccl": "cgs2", "scaling_gmres": ""})
        self.assertEqual({row["ranks"] for row in rows.read(one.folder.path / "scaling-nccl.csv")}, {2})

    def test_strategies_on_ranks(self):
        here = points.Here({}, pathlib.Path(), ("element_only", "patch", "dof_csr"), ("patch", "node_csr"), {"cuda": 4})
        solves = [points.Solves("cuda", "hex8", size, "multigrid", n) for size, n in (
            ("bending128", 1), ("bending128", 2), ("stretched46", 2))]
        self.assertEqual([s.strategies(here) for s in solves], [here.few, ("patch",), here.few])
        self.assertEqual(solves[1].strategies(dataclasses.replace(here, chose_strategies=True)), here.few)


class Cards(Folder):
    LIST = {"PAPER": "1", "EXPERIMENTS": "first-look sizes small-sizes strong socket", "ELEMENTS": "tet4 hex8", "MESHES_cuda": "0",
            "SIZES_cuda": "1000000 300000 1000", "STRONG_cuda": "1000", "RANKS_cuda": "1 2"}

    def on_cards(self, n: int = 3, code: int = 0, **more: str):
        self.build(gpus=n)
        machine = [[i] for i in range(2 * n)]
        with unittest.mock.patch.object(cards, "whole_cores", lambda threads: machine):
            one = self.make(**self.LIST | more)
        self.seen = []
        one.now = time.time
        one.start = one.now()
        one.launcher = OnCard(None, None, self.seen)
        mine = os.sched_getaffinity(0)
        one.launchers = [OnCard(dataclasses.replace(l.card, cores=frozenset(mine)), l.turn, self.seen, code)
                         for l in one.launchers]
        return one

    def test_points_on_one_gpu_go_side_by_side_and_others_alone(self):
        one = self.on_cards()
        code, text = self.said(one)
        self.assertEqual(code, 0, text)
        self.assertIn("on 3 GPUs side by side", text)
        wanted = sum(task.processes for task in one.tasks)
        first = self.seen.pop(0)[4]  # alone, for the machine's record
        self.assertTrue(flag(first, "--fe_machine") and not flag(first, "--fe_rows"), first)
        self.assertEqual(len(self.seen), wanted)
        self.assertEqual(len({tuple(seen[4]) for seen in self.seen}), wanted)
        self.assertEqual({card for *_, card, _, _ in self.seen}, {0, 1, 2, None})
        for begin, end, card, _, command in self.seen:
            overlapping = [other[2] for other in self.seen if other[0] < end and begin < other[1]]
            self.assertEqual(overlapping.count(card), 1)  # one program on a card
            if flag(command, "--ranks") == "2" or "--fe_backend=host" in command or "--fe_dofs=1000" in command:
                self.assertEqual(overlapping, [None])
        self.assertGreater(max(sum(other[0] < seen[1] and seen[0] < other[1] for other in self.seen)
                               for seen in self.seen), 2)
        table = rows.read(one.folder.path / "points.csv")
        self.assertEqual({row["card"] for row in table}, {0, 1, 2, None})
        done = [(row["point"], row["process"]) for row in table]
        self.assertEqual(len(set(done)), wanted)
        self.assertFalse(list(one.folder.scratch.glob("*.part")))
        again = self.on_cards()
        self.said(again)
        self.assertEqual((again.counts.measured, again.counts.kept), (0, wanted))

    def test_what_is_missing_takes_less_on_more_cards(self):
        minutes = {}
        for n in (1, 4):
            self.build(gpus=4)
            with unittest.mock.patch.object(cards, "whole_cores", lambda threads: [[i] for i in range(8)]):
                one = self.make(PAPER="1", EXPERIMENTS="large-meshes sizes",
                                BACKENDS="cuda", CARDS=str(n), MISSING="1")
            _, text = self.said(one)
            minutes[n] = int(re.search(r"take about (\d+) min", text)[1])
        self.assertAlmostEqual(minutes[1] / 4, minutes[4], delta=1)

    def test_a_budget_ends_them(self):
        one = self.on_cards(BUDGET="1")
        one.start -= 59.7
        code, text = self.said(one)
        self.assertEqual(code, 0, text)
        self.assertGreater(one.counts.left, 0)

    def test_a_fault_of_one_ends_all_and_is_said(self):
        one = self.on_cards(code=2)
        with self.assertRaises(Failure) as caught:
            self.said(one)
        self.assertIn("a fault", str(caught.exception))
        self.assertLessEqual(len(self.seen), 4)
        self.assertFalse(any(thread.name.startswith("card") for thread in threading.enumerate()))

    def test_what_cannot_be_read_is_given_up_and_the_sweep_goes_on(self):
        one = self.on_cards()
        kernels = sum(task.processes for task in one.tasks if isinstance(task.point, points.Kernels))
        with unittest.mock.patch.object(points.Kernels, "collect", side_effect=Failure("a broken file")), \
                self.assertRaisesRegex(Failure, f"{kernels} points failed; run it again"):
            self.said(one)
        self.assertEqual(one.counts.failed, kernels)
        self.assertEqual(self.said(self.on_cards())[0], 0)  # and they are measured again

    def test_an_interruption_ends_all_and_keeps_what_is_finished(self):
        one = self.on_cards()
        main = threading.main_thread().ident
        before = signal.signal(signal.SIGUSR1, lambda *_: (_ for _ in ()).throw(run.Interrupted()))
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGUSR1))
        timer.start()
        code, text = self.said(one)
        timer.join()
        self.assertEqual(code, 130, text)
        self.assertFalse(list(one.folder.scratch.glob("*.part")))
        finished = [seen for seen in self.seen]
        again = self.on_cards()
        self.assertEqual(self.said(again)[0], 0)
        self.assertGreaterEqual(again.counts.kept, 1)
        self.assertEqual(again.counts.kept + again.counts.measured, sum(task.processes for task in again.tasks))
        self.assertLessEqual(again.counts.kept, len(finished))

    def test_an_interruption_at_any_moment_leaves_nobody_at_work(self):
        """Also while threads start."""
        before = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(run.Interrupted()))
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        here = dict.fromkeys(range(6), frozenset(os.sched_getaffinity(0)))
        n_interrupted, late = 0, []
        for i in range(300):
            is_over: list[bool] = []

            def work(item: int, worker: int, is_over: list[bool] = is_over) -> None:
                late.extend(is_over)
                time.sleep(0.0005)
                late.extend(is_over)

            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + 4e-6 * i)
                cards.take_turns(range(200), here, threading.Lock(), work, lambda: None)
            except run.Interrupted:
                n_interrupted += 1
            is_over.append(True)
            time.sleep(0.001)
        self.assertEqual((n_interrupted, late), (300, []))

    def test_cards_have_whole_cores_and_names_that_cuda_knows(self):
        with unittest.mock.patch.object(cards, "whole_cores", lambda threads: [[0, 4], [1, 5], [2, 6], [3, 7]]):
            found = cards.cards_of(2, {}, range(8))
            self.assertEqual([(c.number, c.name, sorted(c.cores)) for c in found],
                             [(0, "0", [0, 1, 4, 5]), (1, "1", [2, 3, 6, 7])])
            self.assertEqual([c.name for c in cards.cards_of(2, {"CUDA_VISIBLE_DEVICES": "3, GPU-ab"}, range(8))],
                             ["3", "GPU-ab"])
            self.assertEqual(cards.cards_of(1, {}, range(8)), [])
            self.assertEqual(cards.cards_of(8, {}, range(8)), [])
        self.assertEqual(sorted(t for core in cards.whole_cores(os.sched_getaffinity(0)) for t in core),
                         sorted(os.sched_getaffinity(0)))
        self.build(gpus=4)
        self.assertEqual(self.make(PAPER="1", CARDS="1").launchers, [])
        self.assertEqual(self.make().launchers, [])
        with self.assertRaises(experiments.Fault):
            self.make(PAPER="1", CARDS="two")

    def test_programs_see_their_card_alone_and_end_with_the_runner(self):
        with tempfile.TemporaryDirectory() as top:
            log = pathlib.Path(top) / "log"
            one = launch.Launcher(cards.Card(1, "GPU-ab", frozenset(os.sched_getaffinity(0))), threading.Lock())
            with one.turn, contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(one.launch(["sh", "-c", "echo $CUDA_VISIBLE_DEVICES $FEBENCH_CARD"], log, None), 0)
                self.assertEqual(log.read_text(), "GPU-ab 1\n")
                threading.Timer(0.2, one.end).start()
                with self.assertRaises(launch.Ended):
                    one.launch(["sleep", "100"], log, None)
                self.assertTrue(one.turn.locked())
                with self.assertRaises(launch.Ended):
                    one.launch(["true"], log, None)


class Starting(unittest.TestCase):
    def setUp(self):
        silent = contextlib.redirect_stdout(io.StringIO())  # of machines that are loaded
        silent.__enter__()
        self.addCleanup(silent.__exit__, None, None, None)
        environment = unittest.mock.patch.dict(os.environ)
        environment.start()
        self.addCleanup(environment.stop)
        os.environ.pop("OMP_WAIT_POLICY", None)  # as tests/run.sh has it

    def test_a_stopped_program_ends_with_all_that_it_started(self):
        with tempfile.TemporaryDirectory() as top:
            log = pathlib.Path(top) / "log"
            code = launch.Launcher().launch(["sh", "-c", "sleep 100 & echo $!; wait"], log, 0.5)
            self.assertIsNone(code)
            process = pathlib.Path("/proc") / log.read_text().strip() / "status"
            for _ in range(100):  # until who adopts it has seen its end
                if not process.exists() or "zombie" in process.read_text():
                    break
                time.sleep(0.05)
            else:
                self.fail("it goes on")

    def test_a_peer_needs_a_petsc_or_a_hypre_that_works_there(self):
        said = "febench abc\nCUDA: 13.0\nPETSc: 3.24.2\ngamg: host, cuda\nboomeramg: cuda\n"
        self.assertEqual(here.peers_of(said), {("gamg", "host"), ("gamg", "cuda"), ("boomeramg", "cuda")})
        self.assertEqual(here.peers_of("febench abc\nCUDA: 13.0\n"), frozenset())
        programs = {"kernels": pathlib.Path("kernels"), "peers": pathlib.Path("peers")}
        built = points.Here(programs, pathlib.Path(), (), (), {"cuda": 1, "host": 2}, peers=here.peers_of(said))
        needs = {(name, backend): points.Peers(backend, "hex8", "bending32", name).needs(built)
                 for name in ("gamg", "boomeramg") for backend in ("host", "cuda")}
        self.assertEqual({key: text for key, text in needs.items() if text},
                         {("boomeramg", "host"): "hypre without CUDA"})
        other = dataclasses.replace(built, peers=frozenset({("gamg", "host")}))
        self.assertEqual(points.Peers("cuda", "hex8", "bending32", "gamg").needs(other), "PETSc with CUDA")
        self.assertIn("--backend cuda", " ".join(points.Peers("cuda", "hex8", "bending32", "gamg").command(
            built, points.Process(1, 7, ("petsc_gamg",)), points.Files(pathlib.Path("a.rows.part")))))

    def test_quadratic_elements_need_a_build_with_them(self):
        programs = {name: pathlib.Path(name) for name in ("kernels", "solves")}
        without = points.Here(programs, pathlib.Path(), (), (), {"host": 1})
        built = dataclasses.replace(without, quadratic=True)
        for element, missing in (("hex8", ""), ("hex27", "a build with quadratic elements"),
                                 ("tet10", "a build with quadratic elements")):
            for point in (points.Kernels("host", element, "1000"),
                          points.Solves("host", element, "bending8", "multigrid", 1)):
                self.assertEqual((point.needs(without), point.needs(built)), (missing, ""))
        linear, quadratic = (points.Solves("host", e, f"bending{n}", "multigrid", 1).dofs(False)
                             for e, n in (("hex8", 16), ("hex27", 8)))
        self.assertEqual(linear, quadratic)

    def test_words_of_a_special_point_are_flags(self):
        here = points.Here({"kernels": pathlib.Path("kernels")}, pathlib.Path(), ("patch",), (), {"cuda": 1})
        files = points.Files(pathlib.Path("a.rows.part"))
        for special, wanted in (("smooth+sustained", ["--fe_operand=smooth", "--fe_sustained=10",
                                                      "--fe_operations=jacvec_elastic,jacvec"]),
                                ("slower5", ["--fe_slower=5"]),
                                ("energy", ["--fe_energy=0.5", "--fe_operations=jacvec_elastic,jacvec"]),
                                ("cold", ["--fe_cold"]), ("mixed", ["--fe_precision=mixed"]),
                                ("materials4", ["--fe_materials=4"])):
            point = points.Kernels("cuda", "hex8", "1000000", special=special)
            self.assertEqual(points.parse(point.name()), point)
            self.assertEqual(point.is_sustained(), "sustained" in special)
            command = point.command(here, points.Process(1, 1, ("patch",)), files)
            self.assertEqual([flag for flag in command if flag in wanted], wanted)
            self.assertEqual(point.measures_energy(), special == "energy")

    def test_jacobians_of_a_solve_are_flags(self):
        here = points.Here({"solves": pathlib.Path("solves")}, pathlib.Path(), (), ("patch",), {"host": 2})
        files, process = points.Files(pathlib.Path("a.rows.part")), points.Process(1, 7, ("patch",))
        frozen = ["--jacobian", "elastic", "--newton-iterations", "5000"]
        for jacobian, depth, name, wanted in (
                ("", 0, "block-jacobi-1", []), ("", 5, "block-jacobi-1-anderson5", ["--anderson", "5"]),
                ("difference", 0, "block-jacobi-1-difference", ["--jacobian", "difference"]),
                ("elastic", 0, "block-jacobi-1-elastic", frozen),
                ("elastic", 10, "block-jacobi-1-elastic-anderson10", frozen + ["--anderson", "10"])):
            point = points.Solves("host", "hex8", "stretched16", "block-jacobi", jacobian=jacobian, anderson=depth)
            with self.subTest(name=name):
                self.assertEqual(point.name(), f"solves-host-hex8-stretched16-{name}")
                self.assertEqual(points.parse(point.name()), point)
                command = point.command(here, process, files)
                at = command.index("patch") + 1
                self.assertEqual(command[at:command.index("--repetitions")], wanted)
        few = dataclasses.replace(here, few=("patch", "node_csr", "assembled_symmetric"))
        frozen_few = [points.Solves("host", "hex8", "stretched16", jacobian="elastic").strategies(one)
                      for one in (few, dataclasses.replace(few, chose_strategies=True))]
        self.assertEqual(frozen_few, [("patch", "assembled_symmetric"), few.few])
        self.assertEqual(points.Solves("host", "hex8", "stretched16", jacobian="difference").strategies(few), few.few)
        mixed = points.Solves("cuda", "tet4", "stretched46", "multigrid", 1, "mixed", "elastic", 5)
        self.assertEqual(points.parse(mixed.name()), mixed)
        self.assertEqual(mixed.about(), "stretched46, multigrid, 1 rank, products mixed, elastic Jacobian, Anderson 5")

    def policy(self) -> str:
        """What a program that is launched now finds in its environment."""
        with tempfile.TemporaryDirectory() as top:
            log = pathlib.Path(top) / "log"
            self.assertEqual(launch.Launcher().launch(["sh", "-c", "echo ${OMP_WAIT_POLICY-none}"], log, None), 0)
            return log.read_text().strip()

    def test_threads_wait_passively_where_others_are_at_work(self):
        others = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in os.sched_getaffinity(0)]
        try:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                self.assertEqual(self.policy(), "passive")
            self.assertRegex(said.getvalue(), r"^bench: other processes use \d+ % of the cores: threads")
            os.environ["OMP_WAIT_POLICY"] = "active"
            self.assertEqual(self.policy(), "active")  # as the user says
        finally:
            for other in others:
                other.kill()
                other.wait()

    def test_threads_spin_where_nobody_is(self):
        with unittest.mock.patch.object(launch, "share_in_use", return_value=0.05):
            self.assertEqual(self.policy(), "none")

    def test_cores_in_use(self):
        ticks = os.sysconf("SC_CLK_TCK")
        lines = [f"cpu  {9 * ticks} 0 0 0 0 0 0 0 0 0", f"cpu0 {2 * ticks} 0 {ticks} {5 * ticks} {ticks} 0 0 {ticks} 0 0",
                 f"cpu3 {ticks} 0 0 {ticks} 0 0 0 0 0 0", "intr 3 4"]
        self.assertEqual(launch.used_seconds(lines, {0, 7}), {0: (4.0, 10.0)})
        self.assertEqual(launch.share_in_use("/does/not/exist"), 0.0)

    def test_codes_are_told(self):
        with tempfile.TemporaryDirectory() as top:
            log = pathlib.Path(top) / "log"
            self.assertEqual(launch.Launcher().launch(["sh", "-c", "exit 3"], log, None), 3)
            self.assertEqual(launch.Launcher().launch(["sh", "-c", "kill -9 $$"], log, None), -9)


class Faults(Folder):
    """The runner as a program of its own."""

    def start(self, limit: int | None = None, **more: str) -> subprocess.CompletedProcess:
        def small_files() -> None:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return subprocess.run([sys.executable, "-m", "runner.run"], env=os.environ | self.environment(**more),
                              capture_output=True, text=True, preexec_fn=small_files, check=False)

    def test_a_full_disk_is_one_line(self):
        done = self.start(limit=500_000)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot be written: its disk is full", done.stderr.splitlines()[-1])
        self.assertNotIn("Traceback", done.stderr)

    def test_a_build_without_kernels_is_one_line(self):
        (self.top / "build" / "kernels").unlink()
        done = self.start()
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"bench: {self.top}/build/kernels is not there: make info says what it needs\n"))

    def test_programs_that_cannot_be_built_are_one_line(self):
        done = self.start(BENCH_BUILD="false")
        self.assertEqual((done.returncode, done.stderr), (2, "bench: the programs could not be built\n"))

    def test_a_blank_in_the_folder_is_refused(self):
        done = self.start(RESULTS=str(self.top / "a b"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("holds a blank", done.stderr)

    def test_a_crash_leaves_rows_with_a_status(self):
        path = self.top / "build" / "kernels"
        crash = "case \" $* \" in *--fe_give_up=*) echo \"$*\" >&2;; *--fe_rows=*) kill -9 $$;; esac\n"
        path.write_text(path.read_text().replace("case", crash + "case", 1))
        done = self.start(PASSES="first", ELEMENTS="tet4")
        self.assertEqual(done.returncode, 1)
        self.assertIn("was killed (out of memory, or a crash); the sweep goes on", done.stderr)
        logs = list(self.top.glob("results/*/*/scratch/kernels-host-tet4-25000-auto-1-clustered.log"))
        self.assertIn("--fe_give_up=killed", logs[0].read_text())

    def test_two_runs_do_not_share_a_folder(self):
        one = self.make()
        one.folder.open()
        done = self.start()
        one.folder.close()
        self.assertEqual(done.returncode, 1)
        self.assertIn("another sweep is at work", done.stderr)


class Studies(Folder):
    def test_rows_of_results_of_solve(self):
        here = self.make().here
        steps = [{"step": k, "newton": {"iterations": 2, "krylov_iterations": 5, "residuals": [1.0, 0.1],
                                        "krylov_residuals": [0.25], "orthogonality": [1e-15]}} for k in (1, 2)]
        files = points.Files(self.top / "a.rows.part")
        text = str({"steps": steps, "status": "not_converged"}).replace("'", '"')
        for point, expected in ((studies.Anderson("host", "hex8", "strip", "elastic", "3", "2"),
                                 "1,abc,card,strip,hex8,patch,elastic,3,2,4,10,not_converged"),
                                (studies.Orthogonality("host", "hex8", "bracket_coarse", "none", "mgs", "double", "5"),
                                 "1,abc,card,bracket_coarse,hex8,corner_gather,none,mgs,double,5,0.25,"
                                 "1.0000000000000001e-15")):
            files.part("result").write_text(text)
            point.collect(here, points.Process(1, 1, ("patch",)), files)
            self.assertEqual(files.rows.read_text().splitlines()[1], expected)
        self.assertEqual(files.part("history").read_text().splitlines()[1:],
                         ["hex8,elastic,3,2,0,1", "hex8,elastic,3,2,1,0.10000000000000001"])

    def test_rows_of_other_builds_have_a_column_in_front(self):
        files = points.Files(self.top / "kernels.csv.rows.part")
        quoted = ROW.replace("CPU", '"CPU, fast"')
        for kind, way in ((studies.Storage, "FLOATS"), (studies.Forms, "COLORS")):
            files.rows.write_text(f"{ROWS}\n{quoted}\n{ROW.replace('jacvec', 'diagonal')}\n")
            point = kind("host", "hex8", "100000", "bisection", way=way)
            point.collect(self.make().here, points.Process(1, 1, ("patch",)), files)
            table = rows.read(files.rows, f"{kind.program}.csv")
            self.assertEqual([(row[kind.column], row["operation"]) for row in table],
                             [(way, "diagonal"), (way, "jacvec")])

    def test_other_builds_have_programs_of_their_own(self):
        here = self.make().here
        for kind, of in ((studies.Storage, ("storage/FLOATS", "GROUPS", "residual,material,jacvec,diagonal")),
                         (studies.Forms, ("forms/GATHER", "ATOMICS", "material,jacvec"))):
            folder, usual, operations = of
            process = points.Process(1, 1, kind.timed)
            own, default = (kind("cuda", "hex8", "irregular@5000", way=way).command(
                here, process, points.Files(self.top / "a.rows.part")) for way in (folder.rpartition("/")[2], usual))
            self.assertEqual(own[0], str(here.build / folder / "kernels"))
            self.assertEqual(default, [str(here.programs["kernels"])] + own[1:])
            self.assertEqual(own[1], f"--fe_operations={operations}")
            self.assertIn(f"--fe_variants={','.join(kind.timed)}", own)
            self.assertLessEqual({"--fe_mesh=irregular", "--fe_dofs=5000", "--fe_order=auto"}, set(own))

    def test_rows_of_a_profile(self):
        """Of what Nsight Compute prints: a line for each kernel, units in the second, numbers with separators."""
        files = points.Files(self.top / "p.rows.part")
        product = ROW.replace(",,,,,,100,50,", ",,,,39000,,100,50,")
        files.rows.write_text(f"{ROWS}\n{product}\n")
        names = ("Kernel Name", *studies.METRICS, *studies.BUSY.values())
        values = dict.fromkeys(names[1:], "0") | {
            "launch__block_size": "128", "launch__grid_size": "10", "launch__registers_per_thread": "64",
            "launch__shared_mem_per_block": "1,024", "gpu__time_duration.sum": "20,000",
            "sm__maximum_warps_per_active_cycle_pct": "50", "sm__warps_active.avg.pct_of_peak_sustained_active": "45.6",
            "dram__bytes.sum": "59000", "smsp__inst_executed_op_local_ld.sum": "40",
            "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum": "100",
            "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum": "5",
            "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum": "7",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum": "90", studies.BUSY["level2_busy"]: "12.5"}
        text = ["==PROF== Connected", ",".join(f'"{name}"' for name in names), ",".join('""' for _ in names)]
        for kernel in ("patch_jacvec_hex8(int, double)", "patch_jacvec_full_hex8(int)", "patch_residual_hex8(int)",
                       "void bsrmv<double>(int)", "fingerprint(int)", "material_hex8(int)"):
            text.append(",".join(f'"{value}"' for value in [kernel, *values.values()]))
        (self.top / "p.log").write_text("\n".join(text) + "\n")
        studies.Profile("cuda", "hex8", "1000").collect(self.make().here, points.Process(1, 1, ("patch",)), files)
        table = rows.read(files.rows, "profile.csv")
        self.assertEqual([(row["variant"], row["operation"], row["kernel"]) for row in table], [
            ("patch", "jacvec", "patch_jacvec_hex8"), ("patch", "jacvec_full", "patch_jacvec_full_hex8"),
            ("patch", "residual", "patch_residual_hex8"), ("", "", "cuSPARSE bsrmv")])
        shown = {name: table[0][name] for name in rows.columns_of("profile.csv")[13:]}
        self.assertEqual(shown, {
            "seconds": 2e-5, "registers": 64, "spilled_accesses": 1.0, "block_bytes": 1024, "warps_fit": 0.5,
            "warps_active": 0.456, "memory_bytes": 59000.0, "bytes_moved": 39000.0, "flop": 205.0,
            "atomic_lanes": 224.0, "atomic_sectors": 90.0, "level1_busy": 0.0, "level2_busy": 0.125, "memory_busy": 0.0,
            "issue_busy": 0.0})
        self.assertEqual(table[0]["mesh"], "box4-distorted")
        self.assertIsNone(table[-1]["bytes_moved"])  # not named after an operation

    def test_a_way_that_was_not_built_is_named(self):
        code, text = self.said(self.make(EXPERIMENTS="storage symmetric-forms", ELEMENTS="tet4"))
        self.assertEqual(code, 0)
        self.assertIn("storage/FLOATS/kernels (make storage builds it)", text)
        self.assertIn("forms/COLORS/kernels (make forms builds it)", text)


if __name__ == "__main__":
    unittest.main()
