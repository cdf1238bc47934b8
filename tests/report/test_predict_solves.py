"""What products in floats give a solve: phases are told apart, and bounds hold where the answer is known."""

import dataclasses
import unittest

from report.predict import Chip, Operation, Split
from report.predict_solves import Pair, Solve, gains, solve_of, table
from tests.report.test_predict import point

CARD = Chip("card", 33e12, 3e12)
PAIR = Pair(CARD, "hex8", 10**6, Solve(1e-3, 13e-3, 20e-3, 13, 13), Solve(1e-3, 15e-3, 20e-3, 15, 13))
PRODUCT = Operation("patch", "hex8", "jacvec_elastic", 10**6, (Split(3e8, 9e-4),), flop=2e10, modelled=0.0, rate=33e12)


def phase(operation: str, seconds: float, **more):
    made = point(seconds)
    row = dict(made.rows[0]) | {"operation": operation} | more
    return dataclasses.replace(made, rows=(row,))


class Gains(unittest.TestCase):
    def test_phases_are_told_apart(self):
        found = solve_of([phase("solve", 34e-3, krylov_iterations=13), phase("jacvec", 13e-3, evaluations=14),
                          phase("material", 1e-3), phase("residual", 2e-3), phase("precondition", 9e-3)])
        self.assertAlmostEqual(found.doubles, 3e-3)
        self.assertAlmostEqual(found.others, 18e-3)
        self.assertEqual((found.evaluations, found.iterations), (14, 13))
        self.assertIsNone(solve_of([phase("solve", 34e-3, krylov_iterations=13)]))
        nothing = phase("jacvec", 1e-3, evaluations=None)
        self.assertIsNone(solve_of([phase("solve", 1e-3, krylov_iterations=1), nothing]))

    def test_residuals_of_the_refinement_are_in_doubles(self):
        double, mixed = PAIR.seconds(100.0, 1.0)
        self.assertAlmostEqual(double, 1.4 + 20e-3)
        self.assertAlmostEqual(mixed, 100 * (1e-3 + 2e-3) + 20e-3 + 13e-3)

    def test_the_card_itself_gains_what_was_measured(self):
        low, high = gains(PAIR, PRODUCT, CARD)
        double, mixed = PAIR.seconds(1.0, 1.0)
        self.assertLessEqual(low, double / mixed)
        self.assertGreaterEqual(high, double / mixed)

    def test_slow_doubles_gain_and_fast_memory_does_too(self):
        slow = gains(PAIR, PRODUCT, Chip("slow", 1e12, 3e12))
        self.assertGreater(slow[0], 1.5)
        wide = gains(PAIR, PRODUCT, Chip("slow and wide", 1e12, 8e12))
        self.assertGreaterEqual(wide[1], slow[1])
        self.assertLess(slow[1], 14 / 3 + 1e-9)  # all of it in doubles

    def test_a_table_has_a_line_for_each_pair(self):
        lines = table([PAIR], [PRODUCT])
        self.assertEqual(len(lines), 3)
        self.assertIn("Hex8 | card", lines[2])
        self.assertIn("No card has rows", table([PAIR], [])[0])


if __name__ == "__main__":
    unittest.main()
