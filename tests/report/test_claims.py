"""Claims: predicates over rows, their verdicts, and that the page says what the rows say."""

import contextlib
import io
import math
import pathlib
import tempfile
import unittest

from report import calibration, claims, documents, model, reproduce, rows, statistics, text, verdicts, words
from report.claim import Claim, hardware, matches, read_claims
from report.model import ONE_PROCESS
from report.quantities import QUANTITIES
from report.render import tables
from report.verdicts import Verdict, decide, decide_all
from tests.report.test_rows import HEADER, ROW, of_process

CLAIM = """[c]
asks = "Is B faster?"
sentence = "B is {least} to {most} times as fast."
file = "kernels.csv"
quantity = "speed"
select = {operation = "jacvec", n_dof = ">= 100"}
of = {variant = "b"}
over = {variant = "a"}
above = 1.0
reproduce = ["kernels --fe_operations=jacvec"]
"""
ENDS = "1e-5,9e-6,1.1e-5"  # of ROW: median and the ends of its interval


def ends(seconds: float, spread: float = 0.01) -> str:
    return f"{seconds},{seconds * (1 - spread)},{seconds * (1 + spread)}"


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.decided = decide_all(read_claims())

    def test_the_documents_are_what_the_rows_say(self):
        self.assertEqual(documents.run(self.decided, check=True), 0)

    def test_sentences_about_plastic_solves_select_plastic_ones(self):
        named = [claim for claim in read_claims() if "plastic solve" in claim.sentence]
        self.assertGreater(len(named), 3)
        for claim in named:
            with self.subTest(claim.name):
                self.assertEqual(claim.select.get("plastic_measured"), "> 0")

    def test_a_range_of_times_is_wide_enough_for_one_process(self):
        """Else it could never hold; of equal sides it must hold where they are equal."""
        for claim in read_claims():
            with self.subTest(claim.name):
                if claim.above is not None and claim.below is not None and not QUANTITIES[claim.quantity].counted:
                    self.assertGreater(claim.bound(claim.below) / claim.bound(claim.above), ONE_PROCESS**2)
                for equal in ("sustained_patch", "sustained_matrix", "contact_pass", "material_by_strategy"):
                    if claim.name == equal:
                        self.assertGreater(1 / ONE_PROCESS, claim.above or 0.0)
                        self.assertLess(ONE_PROCESS, claim.below or 99.0)

    def test_every_claim_is_measured_on_a_machine(self):
        for claim, verdicts in self.decided:
            with self.subTest(claim.name):
                self.assertTrue(verdicts or claim.needs)

    def test_report_and_claim_show_the_same_number_at_the_same_place(self):
        """What patch gains over the faster matrix: the claim, which the README's table shows, and the report's table."""
        (verdicts,) = [verdicts for claim, verdicts in self.decided if claim.name == "patch_over_matrix"]
        told = {(v.machine, p.where["element"], p.where["n_dof"]): p for v in verdicts for p in v.points}
        compared = 0
        for entry in tables.answers(model.build()):
            card, element, operation, _, n = entry.place
            p = told.get((card.machine, element, n))
            if card.backend == "cuda" and operation == "jacvec" and p and entry.over and entry.over.strategy in words.BLOCKS \
                    and entry.won.fastest[0].strategy == "patch":
                with self.subTest(entry.place):
                    self.assertEqual([text.digits(x) for x in (p.ratio.value, p.ratio.low, p.ratio.high)],
                                     [text.digits(x) for x in (entry.matrix.value, entry.matrix.low, entry.matrix.high)])
                    self.assertEqual(bool(p.lacks), words.BLOCKS[1] in entry.won.lacks)
                compared += 1
        self.assertGreater(compared, 20)


class Deciding(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def claim(self, text: str = CLAIM) -> Claim:
        (self.path / "c.toml").write_text(text)
        (claim,) = read_claims(self.path)
        return claim

    def run_of(self, name: str, *points: tuple[str, float], changes: tuple[str, str] = ("", "")) -> pathlib.Path:
        """A run with rows (strategy, seconds), each of a strategy of another process."""
        folder = self.path / name
        folder.mkdir()
        numbers = [[v for v, _ in points[:i + 1]].count(v) for i, (v, _) in enumerate(points)]
        lines = [of_process(ROW.replace(",patch,", f",{v},").replace(ENDS, ends(t)).replace(*changes), n)
                 for (v, t), n in zip(points, numbers)]
        (folder / "kernels.csv").write_text("\n".join([HEADER] + lines) + "\n")
        return folder

    def decided(self, *runs: pathlib.Path, claim: Claim | None = None) -> Verdict:
        return decide(claim or self.claim(), "m", runs)

    def test_one_process_counts_within_a_tenth(self):
        for k, (time, verdict) in enumerate(((0.8, "holds"), (0.95, "cannot tell"), (1.05, "cannot tell"), (1.2, "fails"))):
            v = self.decided(self.run_of(f"r{k}", ("a", 1.0), ("b", time)))
            self.assertEqual((v.verdict, v.processes), (verdict, 1))

    def test_what_one_run_says_of_a_kind_of_card_is_known_as_far_as_runs_differ(self):
        times = [(v, t * f) for f in (1.0, 1.0005, 0.9995) for v, t in (("a", 1.02), ("b", 1.0))]
        for k, (backend, verdict) in enumerate((("host", "holds"), ("cuda", "cannot tell"))):
            run = self.run_of(f"r{k}", *times, changes=(",abc,m,host,", f",abc,nvidia-h200,{backend},"))
            v = decide(self.claim(), "nvidia-h200", [run])
            self.assertEqual(v.verdict, verdict)
            self.assertEqual(decide(self.claim(), "here", [run], alone=True).verdict, "holds")
        r, apart = v.points[0].ratio, calibration.largest().ratios
        self.assertAlmostEqual(math.log(r.high / r.value), 1.96 * apart, delta=0.05 * apart)

    def test_samples_that_scatter_more_than_a_tenth_count_as_far_as_they_do(self):
        """Ends of both sides combined, ROW's are 10 % away: 1.15 is not above 1.1 / 0.9."""
        for k, (spread, verdict) in enumerate(((0.01, "holds"), (0.1, "cannot tell"))):
            run = self.run_of(f"r{k}", ("a", 1.15), ("b", 1.0))
            text = (run / "kernels.csv").read_text()
            for t in (1.15, 1.0):
                text = text.replace(ends(t), ends(t, spread))
            (run / "kernels.csv").write_text(text)
            v = self.decided(run)
            self.assertEqual(v.verdict, verdict)
        self.assertAlmostEqual(v.points[0].ratio.low, 1.15 * 0.9 / 1.1)
        self.assertAlmostEqual(v.points[0].ratio.high, 1.15 * 1.1 / 0.9)

    def test_the_run_that_speaks_decides(self):
        """An older run with another main strategy, which the claim does not name, before a newer one without it."""
        newer = self.run_of("b", ("a", 1.0), ("b", 2.0))
        older = self.run_of("a", ("a", 1.0), ("b", 0.5), ("assembled_symmetric", 1.0))
        self.assertAlmostEqual(self.decided(newer, older).points[0].ratio.value, 2.0)
        alone = self.claim(CLAIM.replace('over = {variant = "a"}', 'over = {operation = "jacvec"}').replace(
            'operation = "jacvec", ', ""))
        self.assertEqual(self.decided(newer, older, claim=alone).points[0].rank, (0, 0, 1))  # the newest decides
        lacking = self.run_of("c", ("b", 1.0), ("patch", 1.0), ("element_atomic", 1.0), ("c", 1.0))
        self.assertAlmostEqual(self.decided(lacking, newer, older).points[0].ratio.value, 2.0)  # has not both sides

    def test_the_strongest_decides_and_none_may_be_missing(self):
        claim = self.claim(CLAIM.replace('over = {variant = "a"}', 'over = {variant = ["a", "c"]}\nstrongest = true'))
        v = self.decided(self.run_of("both", ("a", 1.0), ("b", 0.5), ("c", 0.75)), claim=claim)
        ((ratio, beside),) = [(p.ratio.value, p.beside) for p in v.points]
        self.assertEqual((v.verdict, ratio, beside), ("holds", 1.5, "c"))
        self.assertEqual(claims.sentence(claim, [v]), "B is 1.50 times as fast.")
        v = self.decided(self.run_of("one", ("a", 1.0), ("b", 0.5)), claim=claim)
        self.assertEqual((v.verdict, v.points[0].lacks), ("cannot tell", ("c",)))
        self.assertEqual(claims.sentence(claim, [v]), "B is 2.00 times as fast. Measured over `a` alone.")
        self.assertEqual(claims.counts(v), "cannot tell, 1 over `a` alone")
        self.assertEqual(self.decided(self.run_of("slow", ("a", 1.0), ("b", 2.0)), claim=claim).verdict, "fails")

    def test_points_without_the_strongest_are_told_apart(self):
        claim = self.claim(CLAIM.replace('over = {variant = "a"}', 'over = {variant = ["a", "c"]}\nstrongest = true'))
        run = self.run_of("r", ("a", 1.0), ("b", 0.5), ("c", 0.75))
        with open(run / "kernels.csv", "a") as file:
            file.writelines(ROW.replace(",patch,", f",{v},").replace(ENDS, ends(t)).replace("hex8", "tet4") + "\n"
                            for v, t in (("a", 1.0), ("b", 0.25)))
        v = self.decided(run, claim=claim)
        self.assertEqual(claims.sentence(claim, [v]), "B is 1.50 times as fast. Over `a` alone, where `c` was not measured: "
                         "4.00.")
        self.assertEqual(claims.counts(v), "holds at 1, undecided at 1 of 2 points, 1 over `a` alone")
        self.assertEqual(claims.told([v]), "holds on m; undecided at 1 point over `a` alone")
        self.assertEqual(claims.sentence(claim, [v], brief=True), "B is 1.50 times as fast.")
        with open(run / "kernels.csv", "a") as file:
            file.writelines(ROW.replace(",patch,", f",{v},").replace(ENDS, ends(t)).replace("hex8", "hex27") + "\n"
                            for v, t in (("c", 1.0), ("b", 0.5)))
        self.assertEqual(claims.sentence(claim, [self.decided(run, claim=claim)]), "B is 1.50 times as fast. Over some of `a` "
                         "and `c` alone, where others were not measured: 2.00 to 4.00.")

    def test_some_must_not_be_missing(self):
        """A claim over several strategies, of which one is named: where it was not measured nothing holds."""
        claim = self.claim(CLAIM.replace('over = {variant = "a"}', 'over = {variant = ["a", "c"]}\nstrongest = ["c"]'))
        v = self.decided(self.run_of("r", ("a", 1.0), ("b", 0.5)), claim=claim)
        self.assertEqual((v.verdict, v.points[0].lacks), ("cannot tell", ("c",)))
        self.assertEqual(claims.sentence(claim, [v]), "B is 2.00 times as fast. Measured without `c`.")
        self.assertEqual(claims.counts(v), "cannot tell, 1 without `c`")
        self.assertEqual(self.decided(self.run_of("other", ("c", 1.0), ("b", 0.5)), claim=claim).verdict, "holds")
        with self.assertRaisesRegex(rows.Fault, "strongest: it may be true .* or name some of them"):
            self.claim(CLAIM.replace('over = {variant = "a"}', 'over = {variant = ["a", "c"]}\nstrongest = ["d"]'))

    def test_three_processes_have_an_interval(self):
        close = (("a", 1.0), ("a", 1.002), ("a", 1.001), ("b", 0.97), ("b", 0.972), ("b", 0.971))
        v = self.decided(self.run_of("r", *close))
        self.assertEqual((v.verdict, v.processes), ("holds", 3))
        self.assertAlmostEqual(v.points[0].ratio.value, 1.0309, places=3)

    def test_sides_of_the_same_processes_are_paired(self):
        """Processes differ by a factor of two, and in each of them b takes 0.97 of a's time, or about that."""
        times = [(v, s * t) for v, t in (("a", 1.0), ("b", 0.97)) for s in (1.0, 1.4, 2.0)]
        self.assertEqual(self.decided(self.run_of("r", *times)).verdict, "holds")
        self.assertEqual(self.decided(self.run_of("s", ("a", 1.4), *times)).verdict, "cannot tell")  # b lacks one

    def test_two_processes_count_within_a_tenth_or_as_far_as_they_differ(self):
        near = (("a", 1.0), ("a", 1.002), ("b", 0.85), ("b", 0.851))
        self.assertEqual(self.decided(self.run_of("near", *near)).verdict, "holds")
        far = (("a", 1.0), ("a", 1.4), ("b", 0.85), ("b", 0.7))
        self.assertEqual(self.decided(self.run_of("far", *far)).verdict, "cannot tell")

    def test_files_of_a_run_hold_no_further_processes_of_each_other(self):
        """A side that a file does not have is taken from another file of the run."""
        run = self.run_of("r", ("a", 1.0), ("b", 0.5))
        (self.run_of("s", ("b", 4.0), changes=("box4", "box5")) / "kernels.csv").rename(run / "kernels-other.csv")
        for free, ratios in (("", [2.0]), ('free = ["case"]\n', [0.25, 2.0])):
            v = self.decided(run, claim=self.claim(CLAIM.replace("above", f"{free}above")))
            self.assertEqual((sorted(p.ratio.value for p in v.points), v.processes), (ratios, 1))

    def test_ranks_may_differ_in_grid_and_communication_alone(self):
        """Of a box; another mesh of as many degrees of freedom, and a box that grows, are of no use for it."""
        text = CLAIM.replace("kernels.csv", "scaling.csv").replace('{variant = "b"}', "{ranks = 4}").replace(
            '{variant = "a"}', "{ranks = 1}")
        lines = [ROW.replace("1,2,patch", f"{ranks},2,patch").replace("box4-distorted", case).replace(
            ENDS, ends(t)) for ranks, case, t in (
                (4, "strong-1x2x2-nccl-box4x4x4", 0.5), (4, "strong-1x1x4-peer-box4x4x4", 0.25),
                (1, "strong-1x1x1-threads-irregular", 9.0), (1, "weak-1x1x1-threads-box4x4x4", 8.0),
                (1, "strong-1x1x1-threads-box4x4x4", 1.0))]
        run = self.path / "r"
        run.mkdir()
        (run / "scaling.csv").write_text("\n".join([HEADER, *lines]) + "\n")

        def ratios(free: str) -> dict[str, float]:
            v = self.decided(run, claim=self.claim(text.replace("above", f"free = [{free}]\nabove")))
            self.assertEqual(v.processes, 1 if v.points else 0)
            return {p.where["case"]: p.ratio.value for p in v.points}

        self.assertEqual(ratios('"case.grid", "case.communication"'), {
            "strong-1x2x2-nccl-box4x4x4": 2.0, "strong-1x1x4-peer-box4x4x4": 4.0})
        self.assertEqual(ratios('"case.grid"'), {})
        self.assertEqual(ratios(""), {})

    def test_ratios_are_of_one_run_the_newest_that_has_both(self):
        new = self.run_of("2", ("b", 0.1))
        old = self.run_of("1", ("a", 1.0), ("b", 0.5))
        self.assertAlmostEqual(self.decided(new, old).points[0].ratio.value, 2.0)

    def test_a_run_of_three_processes_comes_before_a_newer_one_of_one(self):
        newer = self.run_of("b", ("a", 1.0), ("b", 2.0))
        older = self.run_of("a", *[(v, t * (1 + k / 1000)) for k in range(3) for v, t in (("a", 1.0), ("b", 0.5))])
        v = self.decided(newer, older)
        self.assertEqual((v.verdict, v.processes), ("holds", 3))
        self.assertEqual(self.decided(older, newer).processes, 3)

    def test_one_point_that_fails_is_told(self):
        run = self.run_of("r", ("a", 1.0), ("b", 0.5))
        with open(run / "kernels.csv", "a") as file:
            file.writelines(ROW.replace(",patch,", f",{v},").replace(ENDS, ends(t)).replace("hex8", "tet4") + "\n"
                            for v, t in (("a", 1.0), ("b", 2.0)))
        v = self.decided(run)
        self.assertEqual((v.verdict, v.count("holds")), ("fails", 1))
        self.assertIn("m: holds at 1, fails at 1 of 2 points (one process); 0.500 times at tet4 jacvec", claims.describe(v))
        self.assertEqual(claims.sentence(v.claim, [v]), "B is 0.500 to 2.00 times as fast.")

    def test_a_gpu_is_compared_with_a_host_that_the_sentence_names(self):
        text = CLAIM.replace('of = {variant = "b"}', 'of = {backend = "cuda"}\nfree = ["threads"]')
        text = text.replace('over = {variant = "a"}', 'over = {backend = "host"}')
        with self.assertRaisesRegex(rows.Fault, "no {host}"):
            self.claim(text)
        claim = self.claim(text.replace("as fast.", "as fast ({host})."))
        self.assertEqual(claims.sentence(claim, []), "B is … times as fast (…). (Not measured.)")
        host = ROW.replace('"CPU, fast",1,2,', "Some(R) CPU Processor,1,16,").replace("hex8", "tet4")
        gpu = ROW.replace('host,"CPU, fast"', "cuda,NVIDIA H100").replace(ENDS, ends(1e-6))
        run = self.run_of("r", ("patch", 1e-5))
        with open(run / "kernels.csv", "a") as file:
            file.writelines(of_process(row, 1) + "\n" for row in (gpu, host, gpu.replace("hex8", "tet4")))
        self.assertEqual(claims.sentence(claim, [self.decided(run, claim=claim)]),
                         "B is 10.0 times as fast (CPU, fast, 2 threads, and Some CPU, 16 threads).")

    def test_a_brief_bullet_leaves_out_the_question_and_what_was_tested(self):
        v = self.decided(self.run_of("r", ("a", 1.0), ("b", 0.5)))
        whole, brief = ("\n".join(documents.bullet(v.claim, [v], "", short)) for short in (False, True))
        for part in ("tested with", "Is B faster?"):
            self.assertIn(part, whole)
            self.assertNotIn(part, brief)
        for text in (whole, brief):
            self.assertIn("2.00 times as fast", text.replace("\n  ", " "))
            self.assertIn("(holds on m;", text.replace("\n  ", " "))

    RIVALS = CLAIM.replace('over = {variant = "a"}', 'over = {variant = ["a", "c"]}')

    def test_a_place_counts_where_all_strategies_beside_are_beaten(self):
        for k, (time, verdict, told) in enumerate(((2.0, "holds", 2.0), (0.51, "cannot tell", 1.02), (0.25, "fails", 0.5))):
            v = self.decided(self.run_of(f"r{k}", ("a", 1.0), ("b", 0.5), ("c", time)), claim=self.claim(self.RIVALS))
            self.assertEqual((v.verdict, len(v.points), sorted(p.ratio.value for p in v.pairs)),
                             (verdict, 1, sorted([2.0, time / 0.5])))
            self.assertEqual((v.points[0].ratio.value, v.points[0].rivals), (told, 2))
            self.assertIn(f"{1 + (k == 0)} of 2 pairs", claims.describe(v))
            self.assertIn(f"B is {told:.2f} times" if told >= 1 else "B is 0.500 times", claims.sentence(v.claim, [v]))
        time = self.RIVALS.replace('"speed"', '"time"').replace("above = 1.0", "below = 1.0")
        v = self.decided(self.path / "r0", claim=self.claim(time))
        self.assertEqual((v.verdict, v.points[0].ratio.value), ("holds", 0.5))

    def test_a_range_is_judged_beside_the_strongest(self):
        claim = self.claim(self.RIVALS.replace("above = 1.0", "above = 1.5\nbelow = 3.0"))
        v = self.decided(self.run_of("r", ("a", 1.0), ("b", 0.5), ("c", 9.0)), claim=claim)
        self.assertEqual((v.verdict, [p.verdict for p in v.pairs]), ("holds", ["holds", "fails"]))

    def test_a_place_with_fewer_rivals_than_asked_for_is_none(self):
        run = self.run_of("r", ("a", 1.0), ("b", 0.5))
        for least, n in ((1, 1), (2, 0)):
            v = self.decided(run, claim=self.claim(self.RIVALS.replace("above", f"rivals = {least}\nabove")))
            self.assertEqual((len(v.points), v.noisy), (n, 0))
        with self.assertRaisesRegex(rows.Fault, "rivals: is of a claim with several"):
            self.claim(CLAIM.replace("above", "rivals = 2\nabove"))

    def test_points_left_out_as_noisy_are_said(self):
        def run(name: str, loaded: str) -> pathlib.Path:
            folder = self.run_of(name, ("a", 1.0), ("b", 0.5), ("c", 0.6))
            text = (folder / "kernels.csv").read_text().splitlines()
            (folder / "kernels.csv").write_text("\n".join(
                line.removesuffix(",,ok") + ",loaded,ok" if f",{loaded}," in line else line for line in text) + "\n")
            return folder

        for loaded, ratios, said in (("a", [1.2], "m: holds at the one point (one process; 1 of 1 pairs)"),
                                     ("c", [], "m: not measured, 1 left out as noisy"),
                                     ("b", [], "m: not measured, 1 left out as noisy")):
            v = self.decided(run(f"rivals-{loaded}", loaded), claim=self.claim(self.RIVALS))
            self.assertEqual([round(p.ratio.value, 12) for p in v.points], ratios)  # a is weaker than c: it decides nothing
            self.assertTrue(claims.describe(v).startswith(said), claims.describe(v))
            self.assertEqual(claims.told([v]), "holds on m" if ratios else "not measured; 1 left out as noisy")
        v = self.decided(run("plain", "a"))
        self.assertEqual((v.verdict, v.noisy), ("not measured", 1))
        older = self.run_of("older", ("a", 1.0), ("b", 0.5))
        self.assertEqual(self.decided(self.path / "plain", older).noisy, 0)

    def test_what_is_counted_does_not_depend_on_noise(self):
        claim = self.claim(CLAIM.replace('over = {variant = "a"}\n', "").replace('"speed"', '"bytes_work_per_node"'))
        v = self.decided(self.run_of("r", ("b", 1.0), changes=(",2,,ok", ",2,wide,ok")), claim=claim)
        self.assertEqual((len(v.points), v.noisy), (1, 0))
        timed = self.claim(CLAIM.replace('over = {variant = "a"}\n', "").replace('"speed"', '"time"'))
        self.assertEqual(len(self.decided(self.path / "r", claim=timed).points), 0)

    def test_counts_of_an_expectation(self):
        for k, (time, plain, expected) in enumerate((
                (0.5, "holds at the one point", "met at the one point"),
                (1.0, "undecided at the one point", "undecided at the one point"),
                (2.0, "fails at the one point", "not met at the one point"))):
            run = self.run_of(f"r{k}", ("a", 1.0), ("b", time))
            for more, said in (("", plain), ('expected = "yes"\n', expected),
                               ('expected = "yes"\nmeans = "it is so"\n', plain)):
                v = self.decided(run, claim=self.claim(CLAIM.replace("above", f"{more}above")))
                self.assertEqual(claims.counts(v), said)
                self.assertEqual("Holds where" in " ".join(documents.bullet(v.claim, [v], "")), "means" in more)
                self.assertEqual(f"expectation {said}" in claims.describe(v), "expected" in more and "means" not in more)

    def test_counts_stand_together(self):
        run = self.run_of("r", ("a", 1.0), ("b", 0.5))
        with open(run / "kernels.csv", "a") as file:
            for element, time in (("tet4", 2.0), ("tet4_p4", 2.0), ("hex8_naive", 1.0)):
                file.writelines(ROW.replace(",patch,", f",{v},").replace(ENDS, ends(t)).replace("hex8", element)
                                + "\n" for v, t in (("a", 1.0), ("b", time)))
        for more, said in (("", "holds at 1, fails at 2, undecided at 1 of 4 points"),
                           ('expected = "yes"\n', "met at 1, not met at 2, undecided at 1 of 4 points")):
            v = self.decided(run, claim=self.claim(CLAIM.replace("above", f"{more}above")))
            self.assertEqual(claims.counts(v), said)
        far = self.claim(CLAIM.replace("above = 1.0", "above = 9.0"))
        self.assertEqual(claims.counts(self.decided(run, claim=far)), "fails at 4 of 4 points")
        near = self.claim(CLAIM.replace("above = 1.0", "above = 0.1"))
        self.assertEqual(claims.counts(self.decided(run, claim=near)), "holds at all 4 points")

    def test_bounds_in_words(self):
        for old, new, said in (("", "", "it is faster"), ("above = 1.0", "above = 2.5", "it is more than 2.5 times as fast"),
                               ("above = 1.0", "below = 1.0", "it is slower"),
                               ("above = 1.0", "above = 2.0\nbelow = 4.0", "it is 2 to 4 times as fast"),
                               ('"speed"', '"energy"', "it takes more energy"), ('"speed"', '"flop"', "it has more"),
                               ('"speed"', '"time"\nas = "percent"', "it is more than 1 %"),
                               ("above = 1.0", 'above = 1.0\nmeans = "it wins"', "it wins")):
            self.assertEqual(claims.bounds(self.claim(CLAIM.replace(old, new) if old else CLAIM)), said)
        text = CLAIM.replace('over = {variant = "a"}\n', "").replace('"speed"', '"bytes_setup"')
        self.assertEqual(claims.bounds(self.claim(text.replace("above = 1.0", "above = 5.1\nbelow = 6.3"))),
                         "it is 5.1 to 6.3 MB")

    def test_unusual_rows_do_not_count(self):
        pair = (("a", 1.0), ("b", 0.5))
        for k, changes in enumerate(((",auto,", ",rcm,"), ("auto,1,", "auto,0.2,"), (",double,", ",single,"),
                                     (",ok", ",check_failed"), (",375,", ",99,"),
                                     (",burst,", ",cold,"), (",random,", ",smooth,"), (",2,,ok", ",2,wide,ok"))):
            self.assertEqual(self.decided(self.run_of(f"r{k}", *pair, changes=changes)).verdict, "not measured")

    def test_disturbed_rows_do_not_count_and_throttled_ones_do(self):
        for noise, told in (("wide", "not measured"), ("throttled", "holds"), ("loaded throttled", "not measured")):
            with self.subTest(noise):
                run = self.run_of(noise, ("a", 1.0), ("b", 0.5), changes=(",2,,ok", f",2,{noise},ok"))
                self.assertEqual(self.decided(run).verdict, told)

    def test_without_another_side_the_quantity_is_judged(self):
        claim = self.claim(CLAIM.replace('over = {variant = "a"}\n', "").replace('"speed"', '"bytes_work_per_node"'))
        v = self.decided(self.run_of("r", ("b", 1.0)), claim=claim)
        self.assertAlmostEqual(v.points[0].ratio.value, 50 / 125)  # ROW: 50 B, 375 / 3 nodes

    def test_a_set_up_is_held_beside_the_solve(self):
        told = QUANTITIES["set_up_per_solve"].of
        self.assertEqual(told({"setup_s": 0.5, "median_s": 0.25}), 2)
        self.assertIsNone(told({"setup_s": None, "median_s": 0.25}))
        self.assertIsNone(told({"setup_s": 0.5, "median_s": None}))

    def test_a_list_on_the_other_side_is_a_ratio_for_each(self):
        claim = self.claim(CLAIM.replace('of = {variant = "b"}', 'of = {variant = ["b", "c"]}'))
        v = self.decided(self.run_of("r", ("a", 1.0), ("b", 0.5), ("c", 2.0)), claim=claim)
        self.assertEqual(sorted(p.ratio.value for p in v.points), [0.5, 2.0])

    def test_a_share_is_what_one_side_has_more(self):
        text = CLAIM.replace('"speed"', '"time"\nas = "share"').replace("above = 1.0", "below = 30.0")
        for k, (time, verdict, share) in enumerate(((1.0, "holds", "0"), (2.0, "fails", "50.0"),
                                                    (1.4, "cannot tell", "28.6"))):
            v = self.decided(self.run_of(f"r{k}", ("a", 1.0), ("b", time)), claim=self.claim(text))
            self.assertEqual(v.verdict, verdict)
            self.assertIn(f"{share} % at", claims.describe(v))
            self.assertEqual(claims.sentence(v.claim, [v]), f"B is {share} times as fast.")

    def test_a_ratio_in_per_cent(self):
        text = CLAIM.replace('"speed"', '"time"\nas = "percent"').replace("above = 1.0", "below = 30.0")
        for k, (time, verdict) in enumerate(((0.2, "holds"), (0.31, "cannot tell"), (0.5, "fails"))):
            v = self.decided(self.run_of(f"r{k}", ("a", 1.0), ("b", time)), claim=self.claim(text))
            self.assertEqual(v.verdict, verdict)
            self.assertIn(f"{100 * time:.1f} % at", claims.describe(v))

    def test_what_is_counted_has_no_interval(self):
        text = CLAIM.replace('over = {variant = "a"}\n', "").replace('"speed"', '"bytes_work_per_node"')
        for above, verdict in ((0.39, "holds"), (0.41, "fails")):  # ROW: 50 B of 125 nodes, of one process
            claim = self.claim(text.replace("above = 1.0", f"above = {above}"))
            v = self.decided(self.run_of(f"r{above}", ("b", 1.0)), claim=claim)
            self.assertEqual(v.verdict, verdict)
            self.assertIn("the one point (counted); 0.400 B at", claims.describe(v))

    def test_a_map_of_a_box(self):
        claim = self.claim(CLAIM.replace('over = {variant = "a"}\n', "").replace('"speed"', '"map_per_node"'))
        v = self.decided(self.run_of("r", ("b", 1.0)), claim=claim)  # 64 Hex8 on 125 nodes
        self.assertAlmostEqual(v.points[0].ratio.value, (4 * 125 + 4 * 64 * 8) / 125)

    def test_counts_of_anderson(self):
        text = CLAIM.replace("kernels.csv", "anderson.csv").replace('"speed"', '"newton"').replace(
            'operation = "jacvec", n_dof = ">= 100"', 'jacobian = "elastic"').replace(
            'variant = "b"', "depth = [1, 3]").replace('variant = "a"', "depth = 0").replace("above = 1.0", "below = 0.5")
        (self.path / "r").mkdir()
        names = ",".join(rows.columns_of("anderson.csv"))
        lines = [f"1,c,m,strip,hex8,patch,elastic,{depth},14,{newton},9,{status}" for depth, newton, status in
                 ((0, 100, "converged"), (1, 40, "converged"), (3, 60, "converged"), (5, 1, "fault"))]
        (self.path / "r" / "anderson.csv").write_text("\n".join([names] + lines) + "\n")
        v = self.decided(self.path / "r", claim=self.claim(text))
        self.assertEqual(sorted(round(p.ratio.value, 12) for p in v.points), [0.4, 0.6])
        self.assertEqual(v.verdict, "fails")
        self.assertIn("0.600 times at hex8, depth 3 (strip, elastic)", claims.describe(v))

    def test_flops_of_a_profile(self):
        text = CLAIM.replace("kernels.csv", "profile.csv").replace('"speed"', '"flop"').replace(
            '"b"', '"node_csr"').replace('"a"', '"element_atomic"')
        (self.path / "r").mkdir()
        lines = [f"2,abc1234,m,cuda,G,{v},hex8,auto,300,{o},ok,{v}_{o}_hex8,1e-5,64,0,1024,0.5,0.4,1e4,,{flop},0"
                 for v, o, flop in (("node_csr", "jacvec", 60), ("node_csr", "jacvec_elastic", 50),
                                    ("element_atomic", "jacvec", 10), ("", "", 0))]
        (self.path / "r" / "profile.csv").write_text("\n".join([",".join(rows.columns_of("profile.csv"))] + lines) + "\n")
        v = self.decided(self.path / "r", claim=self.claim(text))
        self.assertEqual([round(p.ratio.value, 12) for p in v.points], [6.0])
        self.assertEqual(v.points[0].commit, "abc1234")

    def test_scope(self):
        v = self.decided(self.run_of("r", ("a", 1.0), ("b", 0.5)))
        self.assertEqual(claims.scope([v]), "Hex8, tangent products, boxes, 375 DoF")

    def test_selections(self):
        for value, wanted, expected in ((5, ">= 5", True), (4, ">= 5", False), (5, "4 to 6", True), (7, "4 to 6", False), (0.02, "< 1e-3", False), (0.0002, "1e-4 to 1e-3", True),
                                        (None, "< 3", False), ("a", "!= a", False), ("b", "!= a", True),
                                        (3, [1, 3], True), ("a", "a", True)):
            self.assertEqual(matches(value, wanted), expected, (value, wanted))

    def test_faults_name_file_claim_and_value(self):
        for old, new, part in (("above = 1.0\n", "", "neither"), ("speed", "haste", "'haste'"), ("asks", "ask", "'ask'"),
                               ("operation =", "operations =", "'operations'"), ("kernels.csv", "k.csv", "'k.csv'"),
                               ("kernels --", "kernel --", "'kernel --fe_operations=jacvec'"),
                               ("reproduce", 'as = "half"\nreproduce', "'half'"),
                               ("reproduce", 'free = ["thread"]\nreproduce', "free: 'thread' tells no points apart"),
                               ("reproduce", 'free = ["device"]\nreproduce', "'device' tells no points apart"),
                               ("reproduce", 'free = ["case.grid"]\nreproduce', "'case.grid' tells no points apart"),
                               ('reproduce = ["kernels --fe_operations=jacvec"]\n', "", "'needs'")):
            with self.assertRaises(rows.Fault) as caught:
                self.claim(CLAIM.replace(old, new))
            self.assertIn(part, str(caught.exception))
            self.assertIn("[c]", str(caught.exception))

    def test_parts_of_documents(self):
        claim = self.claim()
        decided = [(claim, [self.decided(self.run_of("r", ("a", 1.0), ("b", 0.5)), claim=claim)])]
        text = "before\n<!-- claims: c -->\nold 9.99\n<!-- end -->\nafter\n"
        new = documents.rewritten(pathlib.Path("docs/x.md"), text, decided)
        self.assertIn("B is 2.00 times as fast. (holds on m; tested with Hex8, tangent products, "
                      "boxes, 375 DoF; [rows](claims.md#c))",
                      " ".join(new.split()))
        self.assertNotIn("9.99", new)
        self.assertEqual(documents.rewritten(pathlib.Path("docs/x.md"), new, decided), new)
        with self.assertRaises(rows.Fault):
            documents.rewritten(pathlib.Path("x.md"), text.replace(": c", ": d"), decided)


class Reproducing(unittest.TestCase):
    """With a stand-in for `kernels` that writes rows."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.build = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def kernels(self, tet4_time: str, noise: str = "") -> None:
        row = ROW.replace("hex8", "tet4").replace(",2,,ok", f",NUMBER,{noise},ok")
        lines = [row.replace(",patch,", ",assembled_bsr,").replace(ENDS, ends(float(tet4_time))), row]
        text = "\\n".join(lines)
        (self.build / "kernels").write_text(
            f"#!/bin/sh\nfor a; do case $a in --fe_rows=*) f=${{a#*=}} ;; --fe_process=*) n=${{a#*=}} ;; esac; done\n"
            f"[ -f \"$f\" ] || echo '{HEADER}' >\"$f\"\nprintf '{text}\\n' | sed s/NUMBER/$n/ >>\"$f\"\n")
        (self.build / "kernels").chmod(0o755)

    def program(self, *words: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = reproduce.main([*words, "--build", str(self.build)])
        return code, out.getvalue(), err.getvalue()

    def test_verdicts(self):
        for time, word, code in (("5e-6", "holds", 0), ("2e-5", "fails", 1), ("1e-5", "fails", 1)):
            self.kernels(time)
            got, out, _ = self.program("host_matrix_tet4")
            self.assertEqual((got, out.splitlines()[-1]), (code, word))
            self.assertEqual((self.build / "reproduce/host_matrix_tet4/verdict.txt").read_text().splitlines()[-1], word)
            self.assertEqual(len(rows.read(self.build / "reproduce/host_matrix_tet4/kernels.csv")), 6)

    def test_ratios_are_held_beside_the_committed_ones(self):
        def verdict(*ratios: tuple[str, float, float]) -> verdicts.Verdict:
            points = tuple(verdicts.Decided({"element": "tet4", "operation": "jacvec", "case": case, "n_dof": 3000}, "patch",
                                            statistics.Estimate(value, value / spread, value * spread, 3),
                                            verdicts.HOLDS, "abcdef012", False) for case, value, spread in ratios)
            return verdicts.Verdict(read_claims()[0], "m", verdicts.HOLDS, points)
        here = verdict(("a", 2.0, 1.01), ("b", 3.0, 1.01), ("c", 1.0, 1.01))
        there = verdict(("a", 2.15, 1.01), ("b", 4.0, 1.4), ("c", 1.3, 1.01), ("d", 1.0, 1.0))
        told = reproduce.beside_known(here, there)  # within a tenth; intervals meet; neither
        self.assertEqual(len(told), 2)
        self.assertIn("2 of 3 ratios agree", told[0])
        self.assertIn("(c, beside patch): 1.00 here, 1.30 (1.29–1.31) in abcdef0: differs", told[1])
        for other in (None, verdict(("z", 1.0, 1.1))):
            self.assertIn("no committed ratio", *reproduce.beside_known(here, other))
        self.assertEqual(reproduce.beside_known(verdict(), there), [])

    def test_bad_input_is_one_line(self):
        for words, part in ((("nothing",), "no such claim"), (("matrix_free_solve",), "solves is not there"),
                            (("host_matrix_tet4",), "kernels is not there")):
            code, _, err = self.program(*words)
            self.assertEqual((code, err.count("\n")), (2, 1))
            self.assertIn(part, err)
        (self.build / "kernels").write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
        (self.build / "kernels").chmod(0o755)
        code, _, err = self.program("host_matrix_tet4")
        self.assertEqual(code, 2)
        self.assertIn("broken", err)

    def test_a_reader_takes_another_size_and_mesh(self):
        mesh = self.build / "a part.msh"
        mesh.write_text("")
        known = {claim.name: claim for claim in read_claims()}
        patch, order, ranks = (known[name] for name in ("patch_over_matrix", "order_of_elements", "two_gpus_large"))
        for claim, dofs, path, flags in (
                (patch, "3000000", "", ["--fe_dofs=3000000"]), (patch, "", "irregular", ["--fe_dofs=1000000", "--fe_mesh=irregular"]),
                (order, "300000", "9x9x36", ["--fe_dofs=300000", "--fe_mesh=9x9x36"]),
                (patch, "", str(mesh), [f"--fe_mesh={mesh.resolve()}"])):
            taken = reproduce.own_size(claim, dofs, path)
            self.assertEqual(len(taken.reproduce), len(claim.reproduce))
            for text in taken.reproduce:
                command, _ = reproduce.command_of(text, self.build, self.build, 1)
                self.assertEqual([word for word in command if word.startswith(("--fe_dofs", "--fe_mesh"))], flags)
        self.assertEqual(reproduce.own_size(ranks, "9000000", "").reproduce[1],
                         "scaling --backend cuda --ranks 2 --variants patch --dofs 9000000")
        self.assertIs(reproduce.own_size(patch, "", ""), patch)
        self.assertEqual(reproduce.sizes_of(reproduce.own_size(patch, "3000000", "irregular")),
                         "dofs 3000000; mesh irregular")

    def test_a_size_or_mesh_that_a_claim_has_not_is_one_line(self):
        for words, part in ((("matrix_free_solve", "--dofs", "9000"), "its command `solves` takes no other size"),
                            (("petsc_gamg", "--dofs", "9000"), "its command `make bench` takes no other size"),
                            (("anderson_newton", "--mesh", "irregular"), "its command `bench` takes no other size"),
                            (("patch_over_matrix", "--dofs", "3M"), "DOFS=3M: is no number"),
                            (("patch_over_matrix", "--dofs", "9000"), "DOFS=9000: it is of >= 250000 degrees"),
                            (("patch_over_matrix", "--mesh", "sphere"), "MESH=sphere: is not FILE.msh, irregular"),
                            (("patch_over_matrix", "--mesh", "no.msh"), "MESH=no.msh: there is no such file"),
                            (("four_gpus_small", "--dofs", "9000"), "it is of 250000 to 350000 degrees"),
                            (("patch_over_matrix", "--mesh", "a.msh", "--dofs", "9"), "a file has its own size")):
            for more in ((), ("--check",)):
                code, out, err = self.program(*words, *more)
                self.assertEqual((code, out, err.count("\n")), (2, "", 1), words)
                self.assertIn(part, err)
        for name in ("patch_over_matrix", "petsc_gamg"):  # neither is built nor measured
            self.assertEqual(self.program(name, "--check"), (0, "", ""))

    def test_sizes_that_a_claim_says_nothing_of_are_told(self):
        self.kernels("5e-6")  # rows of 375 degrees of freedom
        _, out, _ = self.program("host_patch_over_matrix")
        self.assertIn("rows of 375 degrees of freedom do not count: it is of >= 20000", out)
        self.assertEqual(out.splitlines()[-1], "not measured")
        self.assertNotIn("do not count", self.program("host_matrix_tet4")[1])

    def test_elements_that_a_claim_says_nothing_of_are_told(self):
        """A reader's mesh may be of any."""
        (claim,) = [c for c in read_claims() if c.name == "patch_over_matrix"]
        (line,) = reproduce.outside(claim, [{"element": "tet10", "n_dof": 300000}])
        self.assertIn("rows of tet10 do not count: it is of tet4, hex8", line)
        self.assertEqual(reproduce.outside(claim, [{"element": "tet4", "n_dof": 300000}]), [])

    def test_first_lines_say_size_and_mesh(self):
        self.kernels("5e-6")
        _, out, _ = self.program("host_matrix_tet4", "--dofs", "30000", "--mesh", "irregular")
        self.assertIn("measured here: dofs 30000; mesh irregular; DOFS=N and MESH=FILE.msh", out.splitlines()[2])
        self.assertIn("--fe_mesh=irregular", out)
        (self.build / "solves").write_text("")
        _, out, _ = self.program("matrix_free_solve")
        self.assertIn("take no other size or mesh", out.splitlines()[2])

    def test_rows_that_were_disturbed_are_told(self):
        self.kernels("5e-6", "loaded")
        code, out, _ = self.program("host_matrix_tet4")
        self.assertEqual((code, out.splitlines()[-1]), (0, "not measured"))
        self.assertIn("6 of 6 rows do not count: other programs", out)

    def test_what_nothing_here_can_measure_says_what_it_needs(self):
        code, out, _ = self.program("petsc_gamg")
        self.assertEqual((code, out.splitlines()[-1]), (0, "not measured"))
        self.assertIn("needs PETSc, ", out)

    def test_commands(self):
        command, variables = reproduce.command_of("solves a.json --cells 4", self.build, self.build / "f", 2)
        self.assertEqual(command, [str(self.build / "solves"), "a.json", "--cells", "4", "--rows",
                                   str(self.build / "f/solves.csv"), "--process", "2"])
        command, variables = reproduce.command_of("bench EXPERIMENTS=anderson", self.build, self.build / "f", 1)
        self.assertEqual(command[1:], ["-m", "runner.run"])
        self.assertEqual(variables, {"EXPERIMENTS": "anderson", "BUILD": str(self.build),
                                     "RESULTS": str(self.build / "f/1")})

    def test_hardware(self):
        known = {claim.name: hardware(claim) for claim in read_claims()}
        self.assertEqual([known[name] for name in ("four_gpus_small", "patch_over_matrix", "host_matrix_tet4",
                                                   "redundancy_hex8", "anderson_newton")],
                         ["4 GPUs", "a GPU", "a host", "a GPU", "a host"])
