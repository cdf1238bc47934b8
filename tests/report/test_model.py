"""Rows become points with times, and only points of one run are compared."""

import pathlib
import tempfile
import unittest

from report import cases, model, places, statistics, text, words
from report.rows import Fault
from tests.report import small


class Small(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

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
        self.assertEqual(([p.strategy for p in won.fastest], won.gain), (["patch", "element_atomic"], None))

    def test_a_wide_interval_decides_nothing(self):
        won = self.win(small.row(2e-5, 0.2), small.row(4e-5, 0.01, variant="element_atomic"))
        self.assertFalse(won.decided)

    def test_bound_and_the_fastest_of_four_do_not_compete(self):
        won = self.win(
            small.row(1e-5, 0.01, variant="element_only"),
            small.row(1.5e-5, 0.01, variant="hybrid"),
            small.row(2e-5, 0.01),
            small.row(3e-5, 0.01, variant="node_csr"),
        )
        self.assertEqual(([p.strategy for p in won.fastest], won.of), (["patch"], 2))

    def test_a_place_is_that_of_the_run_with_most_strategies(self):
        built = self.build(
            c1=[small.row(1e-5), small.row(9e-5, variant="node_csr")],
            c2=[small.row(2e-5), small.row(3e-5, variant="node_csr"), small.row(4e-5, variant="dof_csr")],
        )
        (some,) = places.places(built.kernels).values()
        self.assertEqual({p.run.commit for p in some}, {"c2"})

    def test_a_run_of_several_processes_comes_first(self):
        small.results(self.path, c1=[small.row(v * 1e-5, variant=s) for v, s in enumerate(
            ("patch", "node_csr", "dof_csr", "element_atomic", "two_phase"), 1)])
        run = self.path / "m" / "2026-01-03-c2"
        run.mkdir()
        several = [small.row(t * v, variant=s, process=n) for s, v in (("patch", 3), ("node_csr", 4), ("dof_csr", 5))
                   for n, t in enumerate((1e-5, 1.01e-5, 1.02e-5), 1)]
        small.write(run / "kernels-processes.csv", small.KERNELS, several)
        built = model.build(self.path)
        (won,) = places.winners(built).values()
        self.assertEqual((won.run.commit, won.of, won.gain.processes), ("c2", 3, 3))

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
        built = model.build()
        self.assertGreater(len(built.points), 1000)
        self.assertTrue(all(p.time.low <= p.time.value <= p.time.high for p in built.points))
        self.assertTrue(all(p.strategy in words.STRATEGY for p in built.points if p.strategy != "none"))


class Words(unittest.TestCase):
    def test_meshes(self):
        for case, said, cube in (
            ("box128-distorted", "box", True),
            ("box45x45x45", "box", True),
            ("box127x128x129-distorted", "box", False),
            ("box49x49x784-distorted", "slender box", False),
            ("irregular", "irregular", False),
            ("bracket_hex8_coarse-refined3", "bracket", False),
            ("box45-distorted-materials4", "box, four materials", False),
        ):
            self.assertEqual(cases.mesh_of(case), cases.Mesh(said, cube), case)

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
