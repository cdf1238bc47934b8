"""Claims: predicates over rows, their verdicts, and that the page says what the rows say."""

import dataclasses
import math
import pathlib
import re
import tempfile
import unittest
import unittest.mock

from report import calibration, cases, claims, documents, model, rows, sources, text, words
from report.claim import Claim, matches, read_claims
from report.model import ONE_PROCESS
from report.quantities import QUANTITIES
from report.render import tables
from report.verdicts import HERE, Verdict, decide, decide_all
from tests.report import small
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


# Strategies that a claim with the fastest one does not list, on purpose: at small meshes patch in a fixed order, a form of
# patch; of residuals the matrices', which are those of that form; on hosts six, since the sentence says of how many
# strategies it speaks.
ON_HOSTS = ("element_warp", "element_team", "dof_csr", "corner_gather", "assembled_cusparse", "assembled_csr")
OTHER_BITS = ("element_atomic", "element_warp", "element_team", "patch", "assembled_symmetric", "assembled_cusparse", "assembled_csr")
LEFT_OUT = {"small_products": ("patch_ordered",), "small_residuals": ("patch_ordered", *words.MATRIX),
            "full_tangents_ordered": OTHER_BITS} | dict.fromkeys(
    ("gpu_over_cpu", "gpu_over_socket", "gpu_over_cpu_medium", "gpu_over_cpu_small"), ON_HOSTS)


def missing(claim: Claim) -> list[str]:
    """Strategies that a claim is not held beside, without the one that it is about on the same backend, and without
    one that is others."""
    about = claim.of.get("variant") if (claim.over or {}).get("backend") is None else None
    return [name for name in sources.strategies() if name not in (*claim.rival_names, *words.CHOOSES, about)]


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

    def test_the_fastest_is_that_of_all_strategies(self):
        """A claim that compares with the fastest one lists all in `over`, but for those that LEFT_OUT names."""
        named = [claim for claim in read_claims() if claim.rival_names and re.search("fastest.*strateg", claim.sentence)]
        self.assertGreater(len(named), 7)
        for claim in named:
            with self.subTest(claim.name):
                lacks = [name for name in missing(claim) if name not in LEFT_OUT.get(claim.name, ())]
                self.assertEqual(lacks, [], f"claims/*.toml: [{claim.name}]: `over` lacks {' '.join(lacks)}; "
                                 "LEFT_OUT in tests/report/test_claims.py has what it leaves out on purpose")
                self.assertEqual(set(LEFT_OUT.get(claim.name, ())) - set(missing(claim)), set(), "listed and left out")

    def test_a_new_strategy_is_missing(self):
        (claim,) = [claim for claim in read_claims() if claim.name == "fastest_tangents"]
        with unittest.mock.patch("report.sources.strategies", lambda: ("hybrid", "patch", "node_csr", "scatter_sum")):
            self.assertEqual(missing(claim), ["scatter_sum"])

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
            self.assertTrue(verdicts or claim.needs, claim.name)

    def test_report_and_claim_show_the_same_number_at_the_same_place(self):
        """What patch gains over the faster matrix: the claim, which the README's table shows, and the report's table."""
        told = {(v.machine, p.where["element"], cases.mesh_of(p.where["case"]).label, p.where["n_dof"]): p
                for claim, verdicts in self.decided if claim.name == "patch_over_matrix" for v in verdicts for p in v.points}
        compared = 0
        for entry in tables.answers(small.committed()):
            card, element, operation, mesh, n = entry.place
            p = told.get((card.machine, element, mesh, n))
            if card.backend == "cuda" and operation == "jacvec" and p and entry.matrix and entry.matrix.strategy in words.BLOCKS \
                    and entry.won.fastest[0].strategy == "patch":
                with self.subTest(entry.place):
                    self.assertEqual([text.digits(x) for x in (p.ratio.value, p.ratio.low, p.ratio.high)],
                                     [text.digits(x) for x in (entry.ratio.value, entry.ratio.low, entry.ratio.high)])
                    self.assertEqual(bool(p.lacks), words.BLOCKS[1] in entry.won.lacks)
                compared += 1
        self.assertGreater(compared, 20)


class Deciding(unittest.TestCase):
    def setUp(self):
        self.enterContext(unittest.mock.patch("report.model.ONE_ON_HOST", ONE_PROCESS))  # rows are of a host
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
        for k, (time, verdict) in enumerate(((0.8, "holds"), (0.95, "undecided"), (1.05, "undecided"), (1.2, "fails"))):
            v = self.decided(self.run_of(f"r{k}", ("a", 1.0), ("b", time)))
            self.assertEqual((v.verdict, v.processes), (verdict, 1))

    def test_what_one_run_says_of_a_kind_of_card_is_known_as_far_as_runs_differ(self):
        times = [(v, t * f) for f in (1.0, 1.0005, 0.9995) for v, t in (("a", 1.02), ("b", 1.0))]
        for k, (backend, verdict) in enumerate((("host", "holds"), ("cuda", "undecided"))):
            run = self.run_of(f"r{k}", *times, changes=(",abc,m,host,", f",abc,nvidia-h200,{backend},"))
            v = decide(self.claim(), "nvidia-h200", [run])
            self.assertEqual(v.verdict, verdict)
            self.assertEqual(decide(self.claim(), HERE, [run], alone=True).verdict, "holds")
        r, apart = v.points[0].ratio, calibration.largest(samples=calibration.SMALL).ratios
        self.assertAlmostEqual(math.log(r.high / r.value), 1.96 * apart, delta=0.05 * apart)

    def test_samples_that_scatter_more_than_a_tenth_count_as_far_as_they_do(self):
        """Ends of both sides combined, ROW's are 10 % away: 1.15 is not above 1.1 / 0.9."""
        for k, (spread, verdict) in enumerate(((0.01, "holds"), (0.1, "undecided"))):
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
        self.assertEqual((v.verdict, v.points[0].lacks), ("undecided", ("c",)))
        self.assertEqual(claims.sentence(claim, [v]), "B is 2.00 times as fast. Measured over `a` alone.")
        self.assertEqual(claims.counts(v), "undecided, 1 over `a` alone")
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
        self.assertEqual(claims.told([v]), "holds on m; undecided at 1 point over `a` alone, one process each")
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
        self.assertEqual((v.verdict, v.points[0].lacks), ("undecided", ("c",)))
        self.assertEqual(claims.sentence(claim, [v]), "B is 2.00 times as fast. Measured without `c`.")
        self.assertEqual(claims.counts(v), "undecided, 1 without `c`")
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
        self.assertEqual(self.decided(self.run_of("s", *times, ("a", 9.0))).verdict, "holds")  # b lacks that one
        self.assertEqual(self.decided(self.run_of("t", ("a", 1.4), *times)).verdict, "undecided")  # others are pairs

    def test_sides_of_two_calls_are_no_pairs(self):
        """As in the report: all processes of each side count, and their numbers mean nothing."""
        run = self.run_of("r", *(("a", t) for t in (1.0, 1.4, 2.0, 9.0)))
        other = self.run_of("s", *(("a", 0.5 * t) for t in (1.0, 1.4, 2.0)), changes=(",double,", ",mixed,"))
        lines = (other / "kernels.csv").read_text().splitlines()[1:]
        with open(run / "kernels.csv", "a") as file:
            file.write("\n".join(lines) + "\n")
        text = CLAIM.replace('of = {variant = "b"}', 'of = {precision = "mixed"}')
        text = text.replace('over = {variant = "a"}', 'over = {precision = "double"}')
        point, = self.decided(run, claim=self.claim(text)).points
        self.assertAlmostEqual(point.ratio.value, 2 * 25.2 ** (1 / 4) / 2.8 ** (1 / 3))
        self.assertEqual(point.ratio.processes, 3)
        points, _ = model.points_of(model.run_in(run), "kernels.csv", rows.read(run / "kernels.csv"))
        of = {p.precision: p for p in points}
        r = model.counted(of["double"], of["mixed"])
        for told, wanted in zip((r.value, r.low, r.high, r.processes), dataclasses.astuple(point.ratio), strict=True):
            self.assertAlmostEqual(told, wanted)

    def test_a_process_of_which_one_side_was_disturbed_counts_for_neither(self):
        """b is slow where a is so wide that it does not count: 1.05, where b is about as fast, would become 0.53."""
        times = (("a", 1.0), ("a", 1.0), ("a", 2.0), ("b", 0.95), ("b", 0.95), ("b", 1.9))
        run = self.run_of("r", *times)
        text = (run / "kernels.csv").read_text().splitlines()
        wide = [line.removesuffix(",,ok") + ",wide,ok" if ",a," in line and ends(2.0) in line else line for line in text]
        self.assertNotEqual(wide, text)
        (run / "kernels.csv").write_text("\n".join(wide) + "\n")
        point, = self.decided(run).points
        self.assertEqual((round(point.ratio.value, 4), point.ratio.processes), (round(1 / 0.95, 4), 2))
        lonely = [line.removesuffix(",,ok") + ",wide,ok" if ",b," in line and ends(0.95) in line else line for line in wide]
        (run / "kernels.csv").write_text("\n".join(lonely) + "\n")
        self.assertEqual(self.decided(run).points, ())

    def test_processes_of_hosts_differ_by_more(self):
        run = self.run_of("r", ("a", 1.4), ("b", 1.0))
        self.assertEqual(self.decided(run).verdict, "holds")
        with unittest.mock.patch("report.model.ONE_ON_HOST", 1.6):
            self.assertEqual(self.decided(run).verdict, "undecided")
        gpu = self.run_of("s", ("a", 1.4), ("b", 1.0), changes=(",abc,m,host,", ",abc,m,cuda,"))
        with unittest.mock.patch("report.model.ONE_ON_HOST", 1.6):
            self.assertEqual(self.decided(gpu).verdict, "holds")

    def test_two_processes_count_within_a_tenth_or_as_far_as_they_differ(self):
        near = (("a", 1.0), ("a", 1.002), ("b", 0.85), ("b", 0.851))
        self.assertEqual(self.decided(self.run_of("near", *near)).verdict, "holds")
        far = (("a", 1.0), ("a", 1.4), ("b", 0.85), ("b", 0.7))
        self.assertEqual(self.decided(self.run_of("far", *far)).verdict, "undecided")

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

    def test_the_machine_of_a_reproduction_has_no_name(self):
        claim = self.claim(CLAIM.replace('"B is', '"On {cards}, B is'))
        v = self.decided(self.run_of("r", ("a", 2.0), ("b", 1.0)), claim=claim)
        self.assertEqual(claims.sentence(claim, [dataclasses.replace(v, machine="nvidia-h200")]),
                         "On an H200, B is 2.00 times as fast.")
        self.assertEqual(claims.sentence(claim, [dataclasses.replace(v, machine=HERE)]),
                         "On this machine, B is 2.00 times as fast.")

    def test_a_sentence_names_elements_and_how_many_strategies_it_is_beside(self):
        text = self.RIVALS.replace("B is", "With {elements} B is").replace("as fast.", "as fast as the fastest of {rivals}.")
        claim = self.claim(text)
        v = self.decided(self.run_of("r", ("a", 1.0), ("b", 0.5), ("c", 2.0)), claim=claim)
        self.assertEqual(claims.sentence(claim, [v]), "With Hex8 B is 2.00 times as fast as the fastest of 2.")
        more = dataclasses.replace(v.points[0], where=v.points[0].where | {"element": "tet4"}, rivals=3)
        self.assertEqual(claims.sentence(claim, [dataclasses.replace(v, points=(*v.points, more))]),
                         "With Hex8 and Tet4 B is 2.00 times as fast as the fastest of 2 to 3.")
        self.assertEqual(claims.sentence(claim, []), "With … B is … times as fast as the fastest of …. (Not measured.)")

    def test_a_brief_bullet_leaves_out_the_question_and_what_was_tested(self):
        v = self.decided(self.run_of("r", ("a", 1.0), ("b", 0.5)))
        whole, brief = ("\n".join(documents.bullet(v.claim, [v], "", short)) for short in (False, True))
        for part in ("tested with", "Is B faster?"):
            self.assertIn(part, whole)
            self.assertNotIn(part, brief)
        for told in (whole, brief):
            self.assertIn("2.00 times as fast", told.replace("\n  ", " "))
            self.assertIn("(holds on m, one process each;", told.replace("\n  ", " "))

    RIVALS = CLAIM.replace('over = {variant = "a"}', 'over = {variant = ["a", "c"]}')

    def test_a_place_counts_where_all_strategies_beside_are_beaten(self):
        for k, (time, verdict, told) in enumerate(((2.0, "holds", 2.0), (0.51, "undecided", 1.02), (0.25, "fails", 0.5))):
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
                                     ("c", [], "m: not measured, 1 left out as noisy: 1.20"),
                                     ("b", [], "m: not measured, 1 left out as noisy: 1.20")):
            v = self.decided(run(f"rivals-{loaded}", loaded), claim=self.claim(self.RIVALS))
            self.assertEqual([round(p.ratio.value, 12) for p in v.points], ratios)  # a is weaker than c: it decides nothing
            self.assertTrue(claims.describe(v).startswith(said), claims.describe(v))
            self.assertEqual(claims.told([v]), "holds on m, one process each" if ratios else
                             "not measured; 1 point left out as noisy: 1.20")
            for brief in (False, True):  # documents say so, too
                bullet = " ".join(map(str.strip, documents.bullet(v.claim, [v], "", brief)))
                self.assertEqual("1 point left out as noisy: 1.20" in bullet, not ratios)
        v = self.decided(run("plain", "a"))
        self.assertEqual((v.verdict, v.noisy), ("not measured", 1))
        older = self.run_of("older", ("a", 1.0), ("b", 0.5))
        self.assertEqual(self.decided(self.path / "plain", older).noisy, 0)

    def test_of_how_few_processes_all_points_are(self):
        for n, said in ((1, ", one process each"), (2, ", two processes each at most"), (3, "")):
            run = self.run_of(f"few{n}", *((v, t) for _ in range(n) for v, t in (("a", 1.0), ("b", 0.5))))
            v = self.decided(run)
            self.assertEqual((v.processes, claims.told([v])), (n, f"holds on m{said}"))
        counted = self.claim(CLAIM.replace('over = {variant = "a"}\n', "").replace('"speed"', '"bytes_work_per_node"'))
        self.assertEqual(claims.few([self.decided(self.path / "few1", claim=counted)]), "")

    def test_what_is_left_out_as_noisy_is_told_with_its_ratios(self):
        """Beside the fastest of several: where that one is disturbed the ratio beside it would be the least."""
        runs = [self.run_of(name, ("a", 1.0), ("b", 0.5), ("c", fastest), changes=(",64,375,", f",64,{375 + k},"))
                for k, (name, fastest) in enumerate((("quiet", 0.9), ("loud", 0.6), ("louder", 0.4)))]
        for run in runs[1:]:
            path = run / "kernels.csv"
            path.write_text(re.sub(r"(,c,.*),,ok", r"\1,loaded,ok", path.read_text()))
        v = self.decided(*runs, claim=self.claim(self.RIVALS))
        self.assertEqual(([round(p.ratio.value, 9) for p in v.points], [round(p.ratio.value, 9) for p in v.left_out]),
                         ([1.8], [1.2, 0.8]))
        self.assertIn("2 points left out as noisy: 0.800 to 1.20", claims.told([v]))
        self.assertIn("2 more left out as noisy: 0.800 to 1.20", claims.counts(v))

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
        for above, said in (("9.0", "fails at 4 of 4 points"), ("0.1", "holds at all 4 points")):
            v = self.decided(run, claim=self.claim(CLAIM.replace("above = 1.0", f"above = {above}")))
            self.assertEqual(claims.counts(v), said)
        both = CLAIM.replace("n_dof =", 'element = ["hex8", "hex8_naive"], n_dof =').replace("above = 1.0", "above = 0.1")
        self.assertEqual(claims.counts(self.decided(run, claim=self.claim(both))), "holds at both points")

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
                                                    (1.4, "undecided", "28.6"))):
            v = self.decided(self.run_of(f"r{k}", ("a", 1.0), ("b", time)), claim=self.claim(text))
            self.assertEqual(v.verdict, verdict)
            self.assertIn(f"{share} % at", claims.describe(v))
            self.assertEqual(claims.sentence(v.claim, [v]), f"B is {share} times as fast.")

    def test_a_ratio_in_per_cent(self):
        text = CLAIM.replace('"speed"', '"time"\nas = "percent"').replace("above = 1.0", "below = 30.0")
        for k, (time, verdict) in enumerate(((0.2, "holds"), (0.31, "undecided"), (0.5, "fails"))):
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
        lines = [f"3,abc1234,m,cuda,G,{v},hex8,auto,300,box4,{o},ok,{v}_{o}_hex8,1e-5,64,0,1024,0.5,0.4,1e4,,{flop},0" + 5 * ","
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
                               ("reproduce", 'tolerance = 25\nreproduce', "tolerance 25: is no share"),
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
        self.assertIn("B is 2.00 times as fast. (holds on m, one process each; tested with Hex8, tangent products, "
                      "boxes, 375 DoF; [rows](claims.md#c))",
                      " ".join(new.split()))
        self.assertNotIn("9.99", new)
        self.assertEqual(documents.rewritten(pathlib.Path("docs/x.md"), new, decided), new)
        with self.assertRaises(rows.Fault):
            documents.rewritten(pathlib.Path("x.md"), text.replace(": c", ": d"), decided)
