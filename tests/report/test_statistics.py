"""Coverage of intervals is measured on simulated processes, not assumed."""

import math
import pathlib
import tempfile
import unittest

import numpy

from report import model, reliability, statistics
from report.reliability import coverage
from tests.report import small


class Intervals(unittest.TestCase):
    def test_the_report_has_what_was_measured(self):
        table = reliability.coverage_table()
        self.assertEqual([row[1].number for row in table.rows], [100 * coverage(n, 0.02) for n in (3, 5, 10)])
        self.assertIn("H100", [row[0].text for row in reliability.calibration_table().rows])

    def test_intervals_of_one_process_are_held_against_the_others(self):
        lines = [small.row(2e-5 * shift, 0.01, process=n) for n, shift in enumerate((1.0, 1.001, 0.999), 1)]
        lines += [small.row(2e-5 * shift, 0.01, process=n, variant="element_atomic")
                  for n, shift in enumerate((1.0, 1.001, 1.1), 1)]  # the third is far from the others, which so are all
        lines += [small.row(1e-5, 0.2, process=n, variant="node_csr") for n in (1, 2, 3)]  # wide: counts nothing
        with tempfile.TemporaryDirectory() as folder:
            table = reliability.held_by_others(model.build(small.results(pathlib.Path(folder), c=lines)))
            none = reliability.held_by_others(model.build(small.results(pathlib.Path(folder) / "few", c=lines[:2])))
        self.assertEqual([[cell.text for cell in row] for row in table.rows],
                         [["NVIDIA H200", "kernels", "burst", "6", "50"]])
        self.assertIsNone(none)

    def test_cover_the_truth_as_often_as_they_say(self):
        for processes in (3, 5, 10):
            for between in (0.002, 0.02, 0.04):
                for heavy in (False, True):
                    with self.subTest(processes=processes, between=between, heavy=heavy):
                        self.assertGreater(coverage(processes, between, heavy), 0.92)

    def test_a_bootstrap_of_three_processes_is_too_narrow(self):
        self.assertLess(coverage(3, 0.02, False, bootstrap=True, runs=300), 0.85)

    def test_ratios_cover_one(self):
        random = numpy.random.default_rng(2)
        for paired in (False, True):
            hits = 0
            for _ in range(800):
                card = numpy.exp(0.02 * random.standard_normal(5)) if paired else 1.0
                a, b = (card * numpy.exp(0.003 * random.standard_normal(5)) for _ in range(2))
                r = statistics.ratio(a.tolist(), b.tolist(), paired)
                hits += r.low <= 1 <= r.high
            self.assertGreater(hits / 800, 0.92)

    def test_pairs_are_narrower_where_a_cause_is_shared(self):
        random = numpy.random.default_rng(3)
        card = numpy.exp(0.03 * random.standard_normal(5))
        a, b = (card * numpy.exp(0.002 * random.standard_normal(5)) for _ in range(2))
        wide, narrow = (statistics.ratio(a.tolist(), b.tolist(), paired) for paired in (False, True))
        self.assertLess(narrow.high - narrow.low, 0.3 * (wide.high - wide.low))

    def test_one_process_has_no_interval_and_supports_nothing(self):
        e = statistics.estimate([2.0])
        self.assertEqual(e.value, 2.0)
        self.assertTrue(math.isnan(e.low) and math.isnan(e.high))
        self.assertFalse(e.supports_claims)
        self.assertTrue(statistics.estimate([1.0, 1.1, 1.2]).supports_claims)

    def test_known_values(self):
        # geometric mean 2; t(0.975, 2) = 4.3027; standard deviation of logs ln 2 -> half width 4.3027 ln 2 / sqrt 3
        e = statistics.estimate([1.0, 2.0, 4.0])
        self.assertAlmostEqual(e.value, 2.0)
        self.assertAlmostEqual(math.log(e.high / e.value), 4.302653 * math.log(2) / math.sqrt(3), places=5)
        self.assertAlmostEqual(e.inverse().low, 1 / e.high)

    def test_times_must_be_positive(self):
        for bad in ([], [1.0, 0.0]):
            with self.assertRaises(ValueError):
                statistics.median_of(bad)


class Holm(unittest.TestCase):
    def test_known_example(self):
        self.assertEqual(statistics.holm([0.01, 0.04, 0.03, 0.005], 0.05), [True, False, False, True])

    def test_family_of_true_hypotheses(self):
        random = numpy.random.default_rng(4)
        any_rejected = sum(any(statistics.holm(random.random(50).tolist(), 0.05)) for _ in range(2000))
        self.assertLess(any_rejected / 2000, 0.065)
