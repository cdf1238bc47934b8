"""Predictions beside rows: no word of them may say the opposite of what was measured."""

import unittest

from report import parts, prediction_check, prediction_tables
from report.predict import FREE, OPEN, WITH_MATRIX, Pair, groups
from report.prediction_check import Errors, agrees, contradicts, errors, foretold
from report.rows import Fault
from report.text import digits
from tests.report import small
from tests.report.test_predict import CARDS, exact


def pair(slow: float, fast: float, variant: str = "patch", bytes_moved: float = 0) -> Pair:
    return Pair(*(exact(t, variant=variant, bytes_moved=bytes_moved) for t in (slow, fast)), CARDS)


class Measured(unittest.TestCase):
    """Rows of this repository."""

    def test_the_map_contradicts_no_measured_row(self):
        checked = prediction_check.checks(parts.model())
        for c in checked:
            for who in (c.says, c.foretold):
                self.assertFalse(contradicts(who, c.ratio), f"{c.place}: {who!r} must win, measured {c.ratio}")
        self.assertGreater(len(checked), 50)
        self.assertEqual(len({c.place[:3] for c in checked}), 16)  # two cards, four elements, two products

    def test_it_would_be_seen(self):
        """Of Tet4 rows say both: a map with one answer for all of them contradicts some."""
        ratios = [c.ratio for c in prediction_check.checks(parts.model()) if c.place[1:3] == ("tet4", "jacvec")]
        for who in (FREE, WITH_MATRIX):
            self.assertTrue(any(contradicts(who, r) for r in ratios))

    def test_published_words_are_the_verdicts(self):
        """The table names for each measured card what its rows say."""
        read = parts.model()
        found = prediction_tables.ordered(read)
        lines = prediction_tables.verdicts(read, found)[2:]
        self.assertEqual(len(lines), len(found))
        ratios = {(c.place[0].machine, *c.place[1:3], c.place[4]): c.ratio for c in prediction_check.checks(read)}
        for line, some in zip(lines, found.values()):
            for p in (some[0].narrow, some[0].wide):
                self.assertIn(f" {digits(ratios[p.run.machine, p.element, p.operation, p.n_dof].value)} (", line)

    def test_one_card_bounds_the_other(self):
        for some in groups(parts.model()).values():
            for of in (0, 1):
                self.assertEqual(errors(some, of).within, len(some))


class Foretelling(unittest.TestCase):
    def test_what_one_card_leaves_open(self):
        """Half as much again of bandwidth: who leads by more must win on the other card, too."""
        with small.runs_alike():
            for factor, who in ((1.6, FREE), (1.4, OPEN), (1 / 1.4, OPEN), (1 / 1.6, WITH_MATRIX)):
                some = [pair(1e-3, 1e-3), pair(1e-3 * factor, 1e-3 * factor, "assembled_bsr")]
                self.assertEqual([foretold(some, of) for of in (0, 1)], [who, who])

    def test_contradictions(self):
        more, less, level = (prediction_check.Time(*t, 3, 9) for t in ((1.2, 1.1, 1.3), (0.8, 0.7, 0.9), (1, 0.9, 1.1)))
        self.assertEqual([contradicts(FREE, r) for r in (more, less, level)], [False, True, False])
        self.assertEqual([contradicts(WITH_MATRIX, r) for r in (more, less, level)], [True, False, False])
        self.assertEqual([agrees(FREE, r) for r in (more, less, level)], [True, False, False])
        self.assertFalse(any(f(OPEN, r) for f in (contradicts, agrees) for r in (more, less)))

    def test_errors_of_one_number(self):
        """Half of the time waits for modelled bytes, which another card moves in two thirds; it took a tenth less."""
        with small.runs_alike():
            some = [pair(2e-3, 0.9 * (1e-3 + 2e-3 / 3), bytes_moved=3e9)]
            told = errors(some, 1)
        self.assertEqual(told.within, 1)
        self.assertAlmostEqual(told.off[0], 1 / 0.9 - 1)
        with small.runs_alike():
            self.assertEqual(errors([pair(2e-3, 1e-3)], 1), Errors(0, ()))  # faster than its memory, no modelled bytes


class Words(unittest.TestCase):
    def test_balances_are_rounded_outwards(self):
        self.assertEqual([prediction_tables.rounded(0.4789, up) for up in (False, True)], ["0.47", "0.48"])
        self.assertEqual([prediction_tables.rounded(20.1, up) for up in (False, True)], ["20", "21"])
        self.assertEqual(prediction_tables.rounded(None, True), "-")

    def test_a_part_that_is_not_there_is_a_fault(self):
        with self.assertRaises(Fault):
            prediction_tables.part("losers", parts.model())

    def test_what_is_not_predicted_is_named(self):
        read = parts.model()
        said = prediction_tables.lacking(read, {})
        self.assertIn("products in floats", said.lower())
        self.assertIn("21 numbers", said)
        self.assertNotIn("21 numbers", prediction_tables.lacking(read, {("hex8", "jacvec_full"): []}))

    def test_bold_is_what_no_other_one_surely_beats(self):
        found = prediction_tables.ordered(parts.model())
        lines = prediction_tables.throughputs(found)
        for name in ("patch", "assembled_symmetric", "assembled_bsr"):
            self.assertEqual(sum(f"`{name}`" in line for line in lines), len(found))
        self.assertTrue(all("**" in line for line in lines if "`patch`" in line))


if __name__ == "__main__":
    unittest.main()
