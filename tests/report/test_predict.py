"""Predictions: times of two cards are split again into what they were made of, and bounds hold for what is known."""

import dataclasses
import gzip
import math
import pathlib
import tempfile
import unittest

from report import model, parts, predict, prediction_figures
from report.panels import PALE
from report.predict import FREE, OPEN, WITH_MATRIX, Chip, Operation, Pair, Split
from tests.report import small

RUN = model.Run("m", "2026-01-02-c", pathlib.Path("m"))
CARDS = (Chip("narrow", 33e12, 3e12), Chip("wide", 33e12, 4.5e12))
COMMIT, OTHER = "1234567", "89abcde"  # of no tree
SLUGS = {"H100": predict.NARROW, "H200": predict.WIDE}


def point(*seconds: float, flop: float | None = 1e9, **changed) -> model.Point:
    """Of processes that took so long."""
    lines = tuple(small.row(t, **{"flop": flop, "n_dof": 10**6, "bytes_moved": 0, "process": n} | changed)
                  for n, t in enumerate(seconds, 1))
    return model.Point(RUN, "kernels.csv", lines, model.time_of(lines))


def exact(*seconds: float, **changed) -> model.Point:
    """Without an interval."""
    p = point(*seconds, **changed)
    return dataclasses.replace(p, time=model.Time(p.time.value, p.time.value, p.time.value, 3, 9))


def made_of(moved: float, rest: float, flop: float | None = 1e9) -> Operation:
    """With all of its cases alike."""
    with small.runs_alike():
        narrow, wide = (exact(moved / card.bandwidth + rest, flop=flop) for card in CARDS)
        return predict.split(Pair(narrow, wide, CARDS))


class Splitting(unittest.TestCase):
    def test_times_are_split_into_what_they_were_made_of(self):
        for moved, rest in ((1e9, 0.0), (1e9, 3e-4), (0.0, 2e-4)):
            for case in made_of(moved, rest).cases:
                self.assertAlmostEqual(case.moved / 1e9, moved / 1e9, places=6)
                self.assertAlmostEqual(case.rest, rest, places=9)

    def test_ends_of_intervals_make_the_cases(self):
        narrow, wide = (point(*(f * (1e9 / c.bandwidth + 3e-4) for f in (0.99, 1.0, 1.01))) for c in CARDS)
        moved = [case.moved / 1e9 for case in predict.split(Pair(narrow, wide, CARDS)).cases]
        self.assertLess(min(moved), 0.95)
        self.assertGreater(max(moved), 1.05)
        few = predict.split(Pair(point(narrow.time.value), point(wide.time.value), CARDS))
        self.assertLess(min(case.moved / 1e9 for case in few.cases), min(moved))  # one process tells less

    def test_what_is_no_such_sum_stays_open(self):
        """A wider card that is slower, or faster than its memory."""
        for slow, fast in ((1e-3, 1.2e-3), (2e-3, 1e-3)):
            with small.runs_alike():
                o = predict.split(Pair(exact(slow), exact(fast), CARDS))
            for card, seconds in zip(CARDS, (slow, fast)):
                best, worst = o.seconds(card)
                self.assertLessEqual(best, seconds * (1 + 1e-9))
                self.assertGreaterEqual(worst, seconds * (1 - 1e-9))

    def test_flops_of_a_matrix_are_two_for_each_number(self):
        """Also of one that stores half of them."""
        full, half = (point(1e-3, flop=None, variant=name, bytes_moved=b)
                      for name, b in (("assembled_bsr", 8e8), ("assembled_symmetric", 4.4e8)))
        for p in (full, half):
            self.assertAlmostEqual(predict.flop_of(p, [half, full]) / 1e8, 2 * predict.NUMBERS)
        self.assertEqual(predict.flop_of(half, [half]), 0)


class Bounds(unittest.TestCase):
    def test_the_cards_that_were_measured_lie_within(self):
        for moved, rest in ((1e9, 3e-4), (2e9, 1e-5), (0.0, 2e-4)):
            o = made_of(moved, rest)
            for card in CARDS:
                best, worst = o.seconds(card)
                self.assertLessEqual(best, (moved / card.bandwidth + rest) * (1 + 1e-9))
                self.assertGreaterEqual(worst, (moved / card.bandwidth + rest) * (1 - 1e-9))

    def test_they_do_with_all_rows_that_are_here(self):
        for some in predict.groups(parts.model()).values():
            for pair, o in zip(some, predict.split_all(some)):
                for p, card in zip((pair.narrow, pair.wide), pair.cards):
                    best, worst = o.seconds(card)
                    low, high = predict.ends(p)
                    self.assertTrue(best <= high and low <= worst, (p.strategy, card))

    def test_pure_memory_scales_with_bandwidth_alone(self):
        best, worst = made_of(3e9, 0.0, 1e6).seconds(Chip("c", 66e12, 2e12))
        self.assertAlmostEqual(best, 15e-4)
        self.assertAlmostEqual(worst, 15e-4)

    def test_flops_are_a_floor_where_fp64_is_slow(self):
        best, worst = made_of(0.0, 1e-4, 1e9).seconds(Chip("c", 1e12, 8e12))
        self.assertAlmostEqual(best, 1e-3)
        self.assertAlmostEqual(worst, 33e-4)

    def test_modelled_bytes_are_a_floor(self):
        """Where arithmetic hides memory on both cards, their times tell of no bytes."""
        with small.runs_alike():
            o = predict.split(Pair(*(exact(1e-3, bytes_moved=2e9) for _ in CARDS), CARDS))
        self.assertAlmostEqual(o.seconds(Chip("c", 33e12, 1e12))[0], 2e-3)

    def test_what_is_hidden_on_both_cards_may_show(self):
        """All of a time that waits for memory may be arithmetic that takes as long, and the other way round."""
        o = made_of(3e9, 0.0, 1e6)
        self.assertAlmostEqual(o.seconds(Chip("c", 33e12, 9e12))[1], 3e9 / CARDS[1].bandwidth)
        self.assertAlmostEqual(o.seconds(Chip("c", 3.3e12, 9e12))[1], 10 * 3e9 / CARDS[1].bandwidth)
        self.assertAlmostEqual(made_of(0.0, 1e-3).seconds(Chip("c", 33e12, 1e12))[1], 3e-3)

    def test_only_arithmetic_of_a_matrix_waits_for_arithmetic(self):
        slow = Chip("c", 3.3e12, 4.5e12)
        o = Operation("assembled_bsr", "hex8", "jacvec", 10**6, (Split(1e9, 3e-4),), 1e9, 1e9, 33e12, most=2e9)
        self.assertAlmostEqual(o.seconds(slow)[1], 1e9 / 4.5e12 + 3e-4 + 9 * 2e9 / 33e12)
        self.assertAlmostEqual(dataclasses.replace(o, most=math.inf).seconds(slow)[1], 1e9 / 4.5e12 + 30e-4)

    def test_no_chip_beats_its_flops(self):
        for o in predict.operations(parts.model()):
            for chip in predict.chips():
                self.assertGreaterEqual(o.seconds(chip)[0] * chip.rate, o.flop * (1 - 1e-9))


class Winners(unittest.TestCase):
    THERE = (Operation("patch", "hex8", "jacvec", 10**6, (Split(2e9, 2e-4),), 5e9, 0.0, 33e12),
             Operation("assembled_bsr", "hex8", "jacvec", 10**6, (Split(9e9, 0.0),), 2e9, 0.0, 33e12),
             Operation("assembled_symmetric", "hex8", "jacvec", 10**6, (Split(6e9, 0.0),), 2e9, 0.0, 33e12))
    CHIPS = {"slow FP64": Chip("slow FP64", 1e12, 8e12), "fast FP64": Chip("fast FP64", 40e12, 2e12),
             "between": Chip("between", 6e12, 4e12)}

    def test_the_map_is_the_chips_own_predictions(self):
        wanted = {"slow FP64": WITH_MATRIX, "fast FP64": FREE, "between": OPEN}
        self.assertEqual({name: predict.who_must_win(self.THERE, chip) for name, chip in self.CHIPS.items()}, wanted)
        drawn = prediction_figures.map_of(self.THERE, "", list(self.CHIPS.values()))
        self.assertEqual(len(drawn.points), 3)
        self.assertEqual(prediction_figures.COLOURS[OPEN], PALE)
        for chip in self.CHIPS.values():
            at = [r for r in drawn.rectangles
                  if r[0] <= 1e-12 * chip.rate < r[1] and r[2] <= 1e-12 * chip.bandwidth < r[3]]
            self.assertEqual([r[4] for r in at], [prediction_figures.COLOURS[wanted[chip.name]]], chip.name)

    def test_the_fastest_matrix_competes(self):
        """On a card where the full one loses to patch, and half of it wins."""
        card = Chip("c", 33e12, 10e12)
        free = dataclasses.replace(self.THERE[0], cases=(Split(0.0, 7e-4),))
        self.assertEqual(predict.who_must_win((free, self.THERE[1]), card), FREE)
        self.assertEqual(predict.who_must_win((free, *self.THERE[1:]), card), WITH_MATRIX)

    def test_nobody_wins_alone(self):
        for there in (self.THERE[:1], self.THERE[1:]):
            self.assertEqual(predict.who_must_win(there, CARDS[0]), OPEN)

    def test_balances_are_true_of_the_whole_map(self):
        below, above = predict.balances(self.THERE)
        self.assertLess(below, above)
        for rate in (0.55, 1.0, 3.0, 9.0, 33.0, 55.0):
            for bandwidth in (1.1, 2.0, 4.0, 9.5):
                who = predict.who_must_win(self.THERE, Chip("", 1e12 * rate, 1e12 * bandwidth))
                if rate / bandwidth < below:
                    self.assertEqual(who, WITH_MATRIX)
                if rate / bandwidth > above:
                    self.assertEqual(who, FREE)
        self.assertEqual(predict.balances(self.THERE[:1]), (None, None))


class Rows(unittest.TestCase):
    """Which rows a prediction is from."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.results = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def add(self, card: str, folder: str, commit: str = COMMIT, packed: bool = False, **seconds: float) -> None:
        """A run of boxes of two sizes; seconds of strategies on the larger one."""
        run = self.results / SLUGS[card] / folder
        run.mkdir(parents=True)
        lines = [small.row(t * n / 10**6, variant=name, commit=commit, machine=SLUGS[card], n_dof=n, case=case,
                           flop="" if "assembled" in name else 1e9, bytes_moved=1e8)
                 for name, t in seconds.items() for case, n in (("box45", 250000), ("box68", 10**6))]
        small.write(run / "kernels.csv", small.KERNELS, lines)
        if packed:
            (run / "kernels.csv.gz").write_bytes(gzip.compress((run / "kernels.csv").read_bytes()))
            (run / "kernels.csv").unlink()
        record = {"machine": SLUGS[card], "gpu": card, "cuda_fma_gflop_per_s": 33000,
                  "cuda_copy_gb_per_s": 3000 if card == "H100" else 4500}
        small.write(run / "machine.csv", ["key", "value"], [{"key": k, "value": v} for k, v in record.items()])

    def found(self) -> dict[str, tuple[str, str, int]]:
        """Of the largest box: strategies, the folders of both runs, and its size."""
        groups = predict.groups(model.build(self.results))
        return {p.wide.strategy: (p.narrow.run.folder, p.wide.run.folder, p.wide.n_dof)
                for some in groups.values() for p in some}

    def test_runs_match_by_what_they_measured(self):
        """Not by names of folders, and packed or not."""
        old, new = f"2026-01-01-{OTHER}", f"2026-01-03-{COMMIT}"
        self.add("H100", old, OTHER, patch=3e-4, assembled_bsr=6e-4)
        self.add("H200", old, OTHER, patch=2e-4, assembled_bsr=4e-4)
        self.add("H100", new, patch=3e-4, assembled_bsr=6e-4, assembled_symmetric=4e-4)
        self.add("H200", f"{new}-2", packed=True, patch=2e-4, assembled_bsr=4e-4, assembled_symmetric=3e-4)
        self.assertEqual(self.found(), dict.fromkeys(("patch", "assembled_bsr", "assembled_symmetric"),
                                                     (new, f"{new}-2", 10**6)))

    def test_the_newest_of_equal_pairs_speaks(self):
        for day, commit in (("01", OTHER), ("03", COMMIT)):
            for card in SLUGS:
                self.add(card, f"2026-01-{day}-{commit}", commit, patch=2e-4, assembled_bsr=4e-4)
        self.assertEqual(set(self.found().values()), {(f"2026-01-03-{COMMIT}",) * 2 + (10**6,)})

    def test_other_sources_are_no_pair(self):
        self.add("H100", f"2026-01-01-{OTHER}", OTHER, patch=3e-4)
        self.add("H200", f"2026-01-01-{COMMIT}", patch=2e-4)
        self.assertEqual(self.found(), {})

    def test_of_this_repository_all_elements_have_both_matrices(self):
        groups = predict.groups(parts.model())
        self.assertEqual({element for element, _ in groups}, {"hex8", "tet4", "hex27", "tet10"})
        for some in groups.values():
            self.assertGreaterEqual({p.wide.strategy for p in some}, {"patch", "assembled_bsr", "assembled_symmetric"})


if __name__ == "__main__":
    unittest.main()
