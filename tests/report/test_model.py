"""Rows become points with times, and only points of one run are compared."""

import pathlib
import tempfile
import unittest

from report import cases, model, places, rows, statistics, text, words
from report.rows import Fault
from tests.report import small


class Small(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def speaks(self, **runs) -> str:
        (some,) = places.places(self.build(**runs).kernels).values()
        (commit,) = {p.run.commit for p in some}
        return commit

    def build(self, **runs) -> model.Model:
        return model.build(small.results(self.path, **runs))


class Times(Small):
    def test_one_process_has_the_interval_within_it(self):
        (point,) = self.build(c1=[small.row(2e-5, 0.1)]).points
        self.assertEqual(
            (point.time.value, point.time.low, point.time.high), (2e-5, 2e-5 * (1 - 0.1), 2e-5 * (1 + 0.1))
        )
        self.assertEqual((point.time.processes, point.time.kind, point.time.samples), (1, "one process", 9))

    def test_several_processes_have_the_interval_between_them(self):
        times = [2e-5, 2.1e-5, 2.2e-5]
        (point,) = self.build(c1=[small.row(t, 0.3, process=n) for n, t in enumerate(times, 1)]).points
        expected = statistics.estimate(times)
        self.assertEqual(
            (point.time.value, point.time.low, point.time.high), (expected.value, expected.low, expected.high)
        )
        self.assertEqual(point.time.kind, "3 processes")

    def test_throughput_turns_the_interval(self):
        (point,) = self.build(c1=[small.row(2e-5, 0.5, n_dof=300)]).points
        self.assertEqual([round(v) for v in (point.throughput.value, point.throughput.low, point.throughput.high)],
                         [15000000, 10000000, 30000000])

    def test_ratio_combines_ends_and_refuses_two_runs(self):
        built = self.build(c1=[small.row(2e-5, 0.1), small.row(4e-5, 0.1, variant="node_csr")], c2=[small.row(3e-5)])
        other, patch, node = built.points  # the newest run first
        r = model.ratio(node, patch)
        self.assertAlmostEqual(r.value, 2)
        self.assertAlmostEqual(r.low, 4e-5 * 0.9 / (2e-5 * 1.1))
        self.assertAlmostEqual(r.high, 4e-5 * 1.1 / (2e-5 * 0.9))
        with self.assertRaisesRegex(ValueError, "no ratio across runs"):
            model.ratio(node, other)

    def test_ratio_of_several_processes_is_that_of_statistics(self):
        fast, slow = [2e-5, 2.1e-5, 2.2e-5], [4e-5, 4.1e-5, 4.6e-5]
        points = self.build(c1=[small.row(t, variant=s, process=n) for s, times in (("patch", fast), ("node_csr", slow))
                                for n, t in enumerate(times, 1)]).points
        expected = statistics.ratio(slow, fast, paired=True)
        r = model.ratio(points[1], points[0])
        self.assertEqual((r.value, r.low, r.high, r.processes), (expected.value, expected.low, expected.high, 3))

    def sides(self, a: dict[int, float], b: dict[int, float], wide: str = "", **changed) -> model.Time:
        """a / b of times by process; wide: "a1 b2", those whose interval is too wide to count. changed: of b."""
        lines = [small.row(t, 0.2 if f"{side}{n}" in wide.split() else 0.01, process=n, **of)
                 for side, times, of in (("a", a, {"variant": "node_csr"}), ("b", b, changed))
                 for n, t in times.items()]
        with tempfile.TemporaryDirectory() as folder:
            points = {p.strategy: p for p in model.build(small.results(pathlib.Path(folder), c1=lines)).points}
        return model.ratio(points["node_csr"], points["patch"])

    def test_a_ratio_is_of_the_processes_that_both_have_undisturbed(self):
        """In each process a takes twice b's time, and processes differ; so another choice of them is another ratio."""
        b = {n: 1e-5 * n for n in range(1, 6)}
        a = {n: 2 * t for n, t in b.items()}
        without = {n: t for n, t in b.items() if n > 1}
        for times, wide, n in ((b, "", 5), (without, "", 4), (b, "a1", 4), (b, "a1 b2", 3), (b, "a1 a2 b3", 2),
                               (b, "a1 a2 a3 b4", 1), (b, "a1 a2 b3 b4", 1)):
            r = self.sides(a, times, wide)
            self.assertEqual((round(r.value, 9), r.processes, r.disturbed), (2.0, n, False), wide)
        self.assertAlmostEqual(r.low, 2 * 0.99 / 1.01)  # of one process: the ends of samples

    def test_points_of_two_calls_are_no_pairs(self):
        """Process 1 of another mesh is another call, of another card perhaps: numbers of processes mean nothing."""
        other = {"case": "box68-distorted", "n_dof": 985527}
        straight = self.sides({1: 2e-5, 2: 4e-5, 3: 6e-5}, {1: 1e-5, 2: 3e-5}, **other)
        turned = self.sides({1: 6e-5, 2: 2e-5, 3: 4e-5}, {1: 3e-5, 4: 1e-5}, **other)
        for r in (straight, turned):
            self.assertAlmostEqual(r.value, 48 ** (1 / 3) / 3**0.5)
            self.assertEqual((r.processes, r.disturbed), (2, False))
        self.assertAlmostEqual(straight.low, turned.low)
        of_one_call = self.sides({1: 2e-5, 2: 6e-5}, {1: 1e-5, 2: 3e-5})
        self.assertAlmostEqual(of_one_call.low, of_one_call.high)

    def test_what_one_call_of_a_program_times(self):
        row = {**small.row(), "operand": "random"}
        solve = {**row, "krylov": "cg", "precondition": "multigrid", "jacobian": "tangent", "anderson": 0}
        exchange = {**row, "variant": rows.NO_STRATEGY, "operation": "exchange"}
        for a, b, wanted in ((row, {**row, "variant": "node_csr", "operation": "residual", "process": 2}, True),
                             (row, {**row, "condition": "sustained"}, False), (row, {**row, "plastic": 0.2}, False),
                             (row, {**row, "order": "lexicographic"}, False), (row, {**row, "ranks": 2}, False),
                             (exchange, {**row, "plastic": 0.2}, True), (exchange, {**row, "ranks": 2}, False),
                             (solve, {**solve, "operation": "solve_graph"}, True), (solve, {**solve, "anderson": 5}, False),
                             (solve, {**solve, "jacobian": "difference"}, False)):
            self.assertEqual((rows.are_of_one_call(a, b), rows.are_of_one_call(b, a)), (wanted, wanted))

    def test_a_ratio_without_common_processes_is_shown_and_decides_nothing(self):
        b = {n: 1e-5 for n in (1, 2, 3)}
        for a, wide in (({n: 2e-5 for n in (4, 5, 6)}, ""), ({n: 2e-5 for n in (1, 2, 3)}, "a1 a2 b3")):
            r = self.sides(a, b, wide)
            self.assertEqual((round(r.value, 9), r.processes, r.disturbed), (2.0, 3, True))
            self.assertTrue(r.noisy)

    def test_programs_have_no_process_in_common(self):
        """A solve's phase over a product: of all undisturbed processes of each."""
        solve = {"krylov": "cg", "precondition": "multigrid", "newton_iterations": 1, "krylov_iterations": 9}
        built = self.build(c1=[small.row(4e-5, **solve), *(small.row(2e-5, process=n) for n in (2, 3, 4))])
        (phase,), (product,) = built.of("solves.csv"), built.of("kernels.csv")
        r = model.ratio(phase, product)
        self.assertEqual((round(r.value, 9), r.processes, r.disturbed), (2.0, 1, False))


class Runs(Small):
    def test_what_speaks_nowhere_is_told(self):
        results = small.results(self.path, c1=[small.row()])
        (good,) = results.glob("*/*")
        for name in ("2026-11-30-0123456789ab-dirty", "2026-11-30-0123456789ab-dirty-2", "notes", "empty"):
            (good.parent / name).mkdir()
            if name != "empty":
                (good.parent / name / "kernels.csv").write_bytes((good / "kernels.csv").read_bytes())
        self.assertEqual([run.path for run in model.read_runs(results)], [good])
        told = model.left_out(results)
        self.assertEqual([(line.partition(": ")[0].rpartition("/")[2], "uncommitted" in line) for line in told],
                         [("2026-11-30-0123456789ab-dirty", True), ("2026-11-30-0123456789ab-dirty-2", True), ("notes", False)])

    def test_a_look_at_a_new_strategy_does_not_outrank(self):
        both = ("patch", "element_atomic")
        measured = [small.row(process=n, variant=v) for n in (1, 2, 3) for v in both]
        self.assertEqual(self.speaks(c1=measured, c2=[small.row(variant=v) for v in (*both, "mine")]), "c1")

    def test_processes_of_what_does_not_compete_do_not_count(self):
        both = ("patch", "element_atomic")

        def run(last: int, *others: dict) -> list[dict]:
            return [*(small.row(process=n, variant=v) for n in range(1, last + 1) for v in both), *others]

        few = [small.row(variant=v) for v in ("element_only", "hybrid")]
        self.assertEqual(self.speaks(c1=run(3, *few), c2=run(2)), "c1")
        self.assertEqual(self.speaks(c3=run(3), c4=run(3, *few)), "c4")


class Winners(Small):
    def win(self, *lines: dict) -> places.Winner:
        (found,) = places.winners(self.build(c1=list(lines))).values()
        return found

    def test_fastest_with_its_gain(self):
        won = self.win(
            small.row(2e-5, 0.01), small.row(3e-5, 0.01, variant="element_atomic"), small.row(5e-5, variant="node_csr")
        )
        self.assertEqual(([p.strategy for p in won.fastest], won.decided, won.of), (["patch"], True, 3))
        self.assertAlmostEqual(won.gain.value, 1.5)

    def test_nobody_wins_where_intervals_overlap(self):
        won = self.win(
            small.row(2e-5, 0.1), small.row(2.1e-5, 0.1, variant="element_atomic"), small.row(5e-5, variant="node_csr")
        )
        self.assertEqual(([p.strategy for p in won.fastest], won.decided), (["patch", "element_atomic"], False))
        self.assertAlmostEqual(won.gain.value, 1.05)
        self.assertLess(won.gain.low, 1.0)

    def test_a_wide_interval_decides_nothing(self):
        won = self.win(small.row(2e-5, 0.2), small.row(4e-5, 0.01, variant="element_atomic"))
        self.assertFalse(won.decided)

    def test_without_common_processes_nobody_wins(self):
        times = [("patch", 2e-5, (1, 2, 3)), ("element_atomic", 4e-5, (4, 5, 6))]
        lines = [small.row(t, 0.01, variant=s, process=n) for s, t, of in times for n in of]
        self.assertFalse(self.win(*lines).decided)

    def test_bound_and_the_fastest_of_four_do_not_compete(self):
        won = self.win(
            small.row(1e-5, 0.01, variant="element_only"),
            small.row(1.5e-5, 0.01, variant="hybrid"),
            small.row(2e-5, 0.01),
            small.row(3e-5, 0.01, variant="node_csr"),
        )
        self.assertEqual(([p.strategy for p in won.fastest], won.of), (["patch"], 2))

    def test_a_run_with_the_main_strategies_speaks_before_one_with_more(self):
        main = [small.row(variant=s) for s in words.MAIN]
        more = [small.row(variant=s) for s in (*words.MAIN[:3], "node_csr", "dof_csr", "two_phase")]
        self.assertEqual(self.speaks(c1=main, c2=more), "c1")

    def test_then_the_run_with_most_strategies(self):
        two, three = ([small.row(variant=s) for s in ("patch", "node_csr", "dof_csr")[:n]] for n in (2, 3))
        self.assertEqual(self.speaks(c1=three, c2=two), "c1")

    def test_what_chooses_or_is_no_strategy_does_not_count(self):
        own = [small.row(variant=s) for s in ("patch", "hybrid", "element_only")]
        self.assertEqual(self.speaks(c1=[small.row(), small.row(variant="dof_csr")], c2=own), "c1")

    def test_then_that_of_most_processes(self):
        pair = [small.row(variant=s, process=n) for s in ("patch", "node_csr") for n in (1, 2, 3)]
        once = [row for row in pair if row["process"] == 1]
        self.assertEqual(self.speaks(c1=pair, c2=once), "c1")

    def test_of_three_processes_or_more_the_newest_speaks(self):
        five, three, two = ([small.row(variant=s, process=n) for s in ("patch", "node_csr") for n in range(1, last + 1)]
                            for last in (5, 3, 2))
        self.assertEqual(self.speaks(c1=five, c2=two), "c1")
        self.assertEqual(self.speaks(c3=three), "c3")

    def test_then_the_newest(self):
        pair = [small.row(variant=s) for s in ("patch", "node_csr")]
        self.assertEqual(self.speaks(c3=pair, c5=pair, c4=pair), "c5")

    def test_the_newest_is_told_by_its_time(self):
        """Of one day, whatever the names of commits: points.csv, then begun.csv; a run without a time is the oldest."""
        for name in ("ffff", "aaaa", "cccc"):
            run = self.path / "m" / f"2026-01-02-{name}"
            run.mkdir(parents=True)
            small.write(run / "kernels.csv", small.KERNELS, [small.row(), small.row(variant="node_csr")])
        header = rows.columns_of("points.csv")
        cells = dict.fromkeys(header, "1") | {"begun": "2026-01-02T09:00:00Z", "status": "done", "took_s": "1"}
        small.write(self.path / "m/2026-01-02-ffff/points.csv", header, [cells])
        (self.path / "begun.csv").write_text("run,begun\nm/2026-01-02-aaaa,2026-01-02T14:00:00Z\n")
        self.assertEqual([run.commit for run in model.read_runs(self.path)], ["aaaa", "ffff", "cccc"])
        (self.path / "begun.csv").write_text("run,begun\nm/2026-01-02-aaaa,yesterday\n")
        with self.assertRaisesRegex(Fault, "begun.csv: line 2: 'm/2026-01-02-aaaa,yesterday' is not"):
            model.read_runs(self.path)

    def test_a_run_without_points_began_with_its_first_sample(self):
        run = small.results(self.path, c1=[small.row()]) / "m/2026-01-02-c1"
        header = rows.columns_of("samples.csv")
        usual = dict.fromkeys(header, "1") | {"plastic_pattern": "clustered", "precision": "double", "hardening": "linear",
                                              "condition": "burst", "operand": "random", "throttle": "none",
                                              "backend": "cuda", "element": "hex8", "operation": "jacvec", "order": "auto"}
        small.write(run / "samples.csv", header, [usual | {"start": t} for t in ("1767344401.5", "1767344400.25", "")])
        self.assertEqual(model.begun_in(run), "2026-01-02T09:00:00Z")
        self.assertEqual(model.build(self.path).runs[0].begun, "2026-01-02T09:00:00Z")

    def test_a_run_lasts_from_its_first_process_to_its_last_one(self):
        header = rows.columns_of("points.csv")
        cells = dict.fromkeys(header, "1") | {"status": "done", "took_s": "60"}
        of = [cells | {"begun": f"2026-01-0{day}:00:00Z", "card": card} for day, card in (("2T23", "0"), ("3T01", "1"), ("3T00", ""))]
        for name, lines, said in (("told", of, (2 + 1 / 60, 2)), ("one", of[2:], (1 / 60, 1)), ("untold", [], None)):
            path = self.path / name
            path.mkdir(parents=True)
            if lines:
                small.write(path / "points.csv", header, lines)
            self.assertEqual(model.lasted(model.Run("m", name, path)), said)

    def test_fewer_than_three_processes_decide_beyond_a_tenth(self):
        """As claims: intervals of samples that do not overlap are not enough."""
        for slow, decided in ((2.15e-5, False), (2.25e-5, True)):
            won = places.winner(self.build(**{f"c{int(slow * 1e7)}": [small.row(2e-5, 0.001), small.row(
                slow, 0.001, variant="node_csr")]}).points[:2])
            self.assertEqual(won.decided, decided)

    def test_three_processes_decide_by_the_interval_between_them(self):
        several = [small.row(t * f, 0.05, variant=s, process=n) for s, f in (("patch", 1.0), ("node_csr", 1.04))
                   for n, t in enumerate((2e-5, 2.01e-5, 2.02e-5), 1)]
        won = self.win(*several)
        self.assertTrue(won.decided)
        self.assertGreater(won.gain.low, 1.0)

    def test_what_another_run_has_was_compared_there_or_nobody_wins(self):
        main = [small.row(2e-5, 0.01), small.row(3e-5, 0.01, variant="element_atomic"),
                small.row(4e-5, 0.01, variant="assembled_bsr")]
        beaten = [small.row(2e-5, 0.01), small.row(2.6e-5, 0.01, variant="node_csr")]
        alone = [small.row(2.5e-5, 0.01, variant="assembled_symmetric")]
        (won,) = places.winners(self.build(c1=beaten, c2=main)).values()
        self.assertEqual((won.decided, won.of, won.missed, won.lacks), (True, 4, (), ("assembled_symmetric",)))
        self.assertAlmostEqual(won.gain.value, 1.3)  # of the other run
        (won,) = places.winners(self.build(c3=alone)).values()  # joins the two
        self.assertEqual((won.decided, won.missed), (False, ("assembled_symmetric",)))
        self.assertAlmostEqual(won.gain.value, 1.3)  # of those that were compared

    def test_boxes_of_nearly_one_size_are_two_places(self):
        pair = [small.row(variant=s, case="box127x128x129-distorted", n_dof=6439680) for s in ("patch", "node_csr")]
        cube = [row | {"case": "box128-distorted", "n_dof": 6440067} for row in pair]
        self.assertEqual([place[3] for place in places.winners(self.build(c1=pair + cube))], ["box 127×128×129", "box"])

    def test_a_run_with_one_strategy_compares_nothing(self):
        self.assertEqual(places.winners(self.build(c1=[small.row()], c2=[small.row(variant="node_csr")])), {})

    def test_matrices_alone_are_no_comparison_of_strategies(self):
        matrices = [small.row(variant=v) for v in ("assembled_bsr", "assembled_csr", "element_only")]
        self.assertEqual(places.winners(self.build(c1=matrices)), {})

    def test_a_matrix_and_another_strategy_are_compared(self):
        built = self.build(c1=[small.row(variant="assembled_bsr"), small.row(2e-5, variant="node_csr")])
        self.assertEqual([won.of for won in places.winners(built).values()], [2])


class Reading(Small):
    def test_rows_without_time_are_kept_apart(self):
        built = self.build(c1=[small.row(), small.row(variant="node_csr", status="out_of_memory", median_s="")])
        self.assertEqual((len(built.points), [refused.row["status"] for refused in built.refused]), (1, ["out_of_memory"]))

    def test_what_is_no_folder_of_results_is_a_fault(self):
        with self.assertRaisesRegex(Fault, "nowhere: there is no such folder"):
            model.build(self.path / "nowhere")

    def test_the_newest_run_comes_first_and_supersedes(self):
        built = self.build(c1=[small.row(), small.row(variant="node_csr")], c2=[small.row()])
        self.assertEqual([run.commit for run in built.runs], ["c2", "c1"])
        self.assertEqual([built.superseded(run) for run in built.runs], [0, 1])
        self.assertEqual(model.Run("m", "2026-01-02-abc-2", self.path).commit, "abc")

    def test_committed_runs(self):
        built = small.committed()
        timed = [run for run in built.runs if any(p.run == run for p in built.points)]
        self.assertEqual([run.name for run in timed if not run.begun], [])  # begun.csv has those that do not tell
        told = model.read_begun(model.ROOT / "results" / model.BEGUN)
        self.assertEqual([name for name in told if not (model.ROOT / "results" / name).is_dir()], [])
        self.assertGreater(len(built.points), 1000)
        self.assertTrue(all(p.time.low <= p.time.value <= p.time.high for p in built.points))
        self.assertTrue(all(p.strategy in words.STRATEGY for p in built.points if p.strategy != "none"))


class Words(unittest.TestCase):
    def test_meshes(self):
        for case, said, cube in (
            ("box128-distorted", "box", True),
            ("box45x45x45", "box", True),
            ("irregular", "irregular", False),
            ("bracket_hex8_coarse-refined3", "bracket", False),
            ("box45-distorted-materials4", "box, four materials", False),
        ):
            self.assertEqual(cases.mesh_of(case), cases.Mesh(said, cube), case)
        self.assertEqual(cases.mesh_of("box127x128x129-distorted"), cases.Mesh("box", False, "127×128×129"))
        self.assertEqual(cases.mesh_of("box49x49x784-distorted").label, "slender box 49×49×784")

    def test_numbers(self):
        for value, said in (
            (23.71, "23.7"),
            (0.012345, "0.0123"),
            (1290.4, "1290"),
            (99999, "100000"),
            (9.996, "10.0"),
            (0, "0"),
            (1.0, "1.00"),
            (0.9996, "1.00"),
        ):
            self.assertEqual(text.digits(value), said)
        self.assertEqual(model.interval(model.Time(16.2, 16.0, 16.31, 1, 9)), "16.2 (16.0–16.3)")
        self.assertEqual(model.interval(model.Time(2.0, 1.0, 3.0, 1, 9)), "2.00 (1.00–3.00)~")
        self.assertEqual([text.count(n) for n in (81, 98304, 999_600, 6440067)], ["81", "98.3 K", "1.00 M", "6.44 M"])
        self.assertEqual(
            [text.seconds(s) for s in (2.5, 0.0512, 2e-5, 3e-9)], ["2.50 s", "51.2 ms", "20.0 µs", "3.00 ns"]
        )


if __name__ == "__main__":
    unittest.main()
