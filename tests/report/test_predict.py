"""Predictions: times of two cards are split again into what they were made of, and bounds hold for what is known."""

import math
import pathlib
import unittest

from report import model, panels, parts, predict, prediction_figures
from report.predict import Chip, Operation
from tests.report import small

RUN = model.Run("m", "2026-01-02-c", pathlib.Path("m"))

CARDS = (Chip("narrow", 33e12, 3e12), Chip("wide", 33e12, 4.5e12))


def point(*seconds: float, flop: float | None = 1e9) -> model.Point:
    """Of processes that took so long."""
    lines = tuple(small.row(t, flop=flop, n_dof=10**6, process=n) for n, t in enumerate(seconds, 1))
    return model.Point(RUN, "kernels.csv", lines, model.time_of(lines))


def made_of(moved: float, rest: float, flop: float | None = 1e9) -> Operation | None:
    narrow, wide = (point(moved / card.bandwidth + rest, flop=flop) for card in CARDS)
    return predict.split(narrow, wide, CARDS)


class Splitting(unittest.TestCase):
    def test_times_are_split_into_what_they_were_made_of(self):
        for moved, rest in ((1e9, 0.0), (1e9, 3e-4), (0.0, 2e-4)):
            o = made_of(moved, rest)
            self.assertAlmostEqual(o.moved / 1e9, moved / 1e9, places=6)
            self.assertAlmostEqual(o.rest, rest, places=9)

    def test_a_wider_card_that_is_slower_is_no_sum(self):
        self.assertIsNone(predict.split(point(1e-3), point(1.2e-3), CARDS))

    def test_all_processes_count(self):
        """Not the last one alone, which is off."""
        narrow, wide = (point(*(factor * (1e9 / card.bandwidth + 3e-4) for factor in (1 / 1.1, 1.0, 1.1)))
                        for card in CARDS)
        self.assertAlmostEqual(predict.split(narrow, wide, CARDS).moved / 1e9, 1)

    def test_flops_of_a_matrix_follow_from_its_bytes(self):
        self.assertAlmostEqual(made_of(4e9, 0.0, None).flop / 1e9, 1)


class Bounds(unittest.TestCase):
    def test_the_cards_that_were_measured_lie_within(self):
        for moved, rest in ((1e9, 3e-4), (2e9, 1e-5), (0.0, 2e-4)):
            o = made_of(moved, rest)
            for card in CARDS:
                best, worst = o.seconds(card)
                self.assertLessEqual(best, (moved / card.bandwidth + rest) * (1 + 1e-9))
                self.assertGreaterEqual(worst, (moved / card.bandwidth + rest) * (1 - 1e-9))

    def test_pure_memory_scales_with_bandwidth_alone(self):
        best, worst = made_of(3e9, 0.0, 1e6).seconds(Chip("c", 66e12, 6e12))
        self.assertAlmostEqual(best, 5e-4)
        self.assertAlmostEqual(worst, 5e-4)

    def test_flops_are_a_floor_where_fp64_is_slow(self):
        best, worst = made_of(0.0, 1e-4, 1e9).seconds(Chip("c", 1e12, 8e12))
        self.assertAlmostEqual(best, 1e-3)
        self.assertAlmostEqual(worst, 33e-4)

    def test_no_chip_beats_its_flops(self):
        for o in predict.operations(parts.model()):
            for chip in predict.chips():
                self.assertGreaterEqual(o.seconds(chip)[0] * chip.rate, o.flop * (1 - 1e-9))


class Balance(unittest.TestCase):
    def test_bounds_of_the_balance_decide(self):
        free, matrix = made_of(1e8, 2e-4, 4e9), made_of(4e9, 0.0, None)
        below, above = predict.balance(free, matrix)
        self.assertLess(below, above)
        for flop_per_byte, wins in ((0.9 * below, False), (1.1 * above, True)):
            chip = Chip("c", flop_per_byte * 5e12, 5e12)
            memory = matrix.moved / chip.bandwidth
            if wins:
                self.assertLess(free.moved / chip.bandwidth + free.rest * free.rate / chip.rate, memory)
            else:
                self.assertGreater(free.flop / chip.rate, memory)
        self.assertEqual(predict.balance(matrix, free)[1], math.inf)

    def test_the_map_is_the_chips_own_predictions(self):
        there = [Operation("patch", "hex8", "jacvec", 10**6, 2e9, 2e-4, 5e9, 33e12),
                 Operation("assembled_bsr", "hex8", "jacvec", 10**6, 6e9, 0.0, 1.5e9, 33e12)]
        chips = {"slow FP64": Chip("slow FP64", 1e12, 8e12), "fast FP64": Chip("fast FP64", 40e12, 2e12),
                 "between": Chip("between", 6e12, 4e12)}
        wanted = {"slow FP64": "matrix", "fast FP64": "free", "between": ""}
        self.assertEqual({name: prediction_figures.who_must_win(there, chip) for name, chip in chips.items()}, wanted)
        axes = [panels.decades("", ends, panels.few, 1.0) for ends in (prediction_figures.RATES, prediction_figures.BANDWIDTHS)]
        drawn = prediction_figures.map_of(there, *axes, "", list(chips.values()))
        self.assertEqual(len(drawn.points), 3)
        for chip in chips.values():
            at = [r for r in drawn.rectangles if r[0] <= 1e-12 * chip.rate < r[1] and r[2] <= 1e-12 * chip.bandwidth < r[3]]
            colour = {"free": prediction_figures.faded(prediction_figures.FREE_COLOUR),
                      "matrix": prediction_figures.faded(prediction_figures.MATRIX_COLOUR), "": panels.PALE}
            self.assertEqual([r[4] for r in at], [colour[wanted[chip.name]]], chip.name)

    def test_rows_of_both_cards_are_there(self):
        found = predict.operations(parts.model())
        self.assertGreaterEqual(len({o.variant for o in found}), 5)
        self.assertEqual({o.element for o in found}, {"hex8", "tet4"})
