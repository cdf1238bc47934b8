"""Claims: predicates over rows, their verdicts, and that the page says what the rows say."""

import contextlib
import io
import pathlib
import tempfile
import unittest

from report import claims, documents, reproduce, rows
from tests.report.test_rows import HEADER, ROW

CLAIM = """[c]
asks = "Is B faster?"
sentence = "B is {least} to {most} times as fast."
file = "kernels.csv"
quantity = "speed"
select = {operation = "jacvec", n_dof = ">= 100"}
of = {variant = "b"}
over = {variant = "a"}
above = 1.0
"""


class Page(unittest.TestCase):
    def test_the_page_is_what_the_rows_say(self):
        self.assertEqual(documents.main(["--check"]), 0)

    def test_every_claim_is_measured_on_a_machine(self):
        for claim, verdicts in claims.decide_all(claims.read()):
            with self.subTest(claim.name):
                self.assertTrue(verdicts)


class Deciding(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def claim(self, text: str = CLAIM) -> claims.Claim:
        (self.path / "c.toml").write_text(text)
        (claim,) = claims.read(self.path)
        return claim

    def run_of(self, name: str, *points: tuple[str, float], changes: tuple[str, str] = ("", "")) -> pathlib.Path:
        """A run with rows (strategy, seconds)."""
        folder = self.path / name
        folder.mkdir()
        lines = [ROW.replace(",patch,", f",{v},").replace("1e-5,9e-6", f"{t},9e-6").replace(*changes) for v, t in points]
        (folder / "kernels.csv").write_text("\n".join([HEADER] + lines) + "\n")
        return folder

    def decided(self, *runs: pathlib.Path, claim: claims.Claim | None = None) -> claims.Verdict:
        return claims.decide(claim or self.claim(), "m", runs)

    def test_one_process_counts_within_a_tenth(self):
        for k, (time, verdict) in enumerate(((0.8, "holds"), (0.95, "cannot tell"), (1.05, "cannot tell"), (1.2, "fails"))):
            v = self.decided(self.run_of(f"r{k}", ("a", 1.0), ("b", time)))
            self.assertEqual((v.verdict, v.processes), (verdict, 1))

    def test_three_processes_have_an_interval(self):
        close = (("a", 1.0), ("a", 1.002), ("a", 1.001), ("b", 0.97), ("b", 0.972), ("b", 0.971))
        v = self.decided(self.run_of("r", *close))
        self.assertEqual((v.verdict, v.processes), ("holds", 3))
        self.assertAlmostEqual(v.points[0].ratio.value, 1.0309, places=3)

    def test_ratios_are_of_one_run_the_newest_that_has_both(self):
        new = self.run_of("2", ("b", 0.1))
        old = self.run_of("1", ("a", 1.0), ("b", 0.5))
        self.assertAlmostEqual(self.decided(new, old).points[0].ratio.value, 2.0)

    def test_one_point_that_fails_is_told(self):
        run = self.run_of("r", ("a", 1.0), ("b", 0.5))
        with open(run / "kernels.csv", "a") as file:
            file.writelines(ROW.replace(",patch,", f",{v},").replace("1e-5,9e-6", f"{t},9e-6").replace("hex8", "tet4") + "\n"
                            for v, t in (("a", 1.0), ("b", 2.0)))
        v = self.decided(run)
        self.assertEqual((v.verdict, v.count("holds")), ("fails", 1))
        self.assertIn("fails (1 of 2 points hold, one process); 0.50 times at tet4 jacvec", claims.describe(v))
        self.assertEqual(claims.sentence(v.claim, [v]), "B is 0.50 to 2.00 times as fast.")

    def test_a_list_is_a_ratio_for_each(self):
        claim = self.claim(CLAIM.replace('over = {variant = "a"}', 'over = {variant = ["a", "c"]}'))
        v = self.decided(self.run_of("r", ("a", 1.0), ("b", 0.5), ("c", 2.0)), claim=claim)
        self.assertEqual(sorted(p.ratio.value for p in v.points), [2.0, 4.0])

    def test_unusual_rows_do_not_count(self):
        pair = (("a", 1.0), ("b", 0.5))
        for k, changes in enumerate(((",auto,", ",rcm,"), ("auto,1,", "auto,0.2,"), (",double,", ",single,"),
                                     (",ok", ",check_failed"), (",375,", ",99,"),
                                     (",burst,", ",cold,"), (",random,", ",smooth,"), (",2,,ok", ",2,wide,ok"))):
            self.assertEqual(self.decided(self.run_of(f"r{k}", *pair, changes=changes)).verdict, "not measured")

    def test_without_another_side_the_quantity_is_judged(self):
        claim = self.claim(CLAIM.replace('over = {variant = "a"}\n', "").replace('"speed"', '"bytes_work_per_node"'))
        v = self.decided(self.run_of("r", ("b", 1.0)), claim=claim)
        self.assertAlmostEqual(v.points[0].ratio.value, 50 / 125)  # ROW: 50 B, 375 / 3 nodes

    def test_selections(self):
        for value, wanted, expected in ((5, ">= 5", True), (4, ">= 5", False), (5, "4 to 6", True), (7, "4 to 6", False),
                                        (None, "< 3", False), ("a", "!= a", False), ("b", "!= a", True),
                                        (3, [1, 3], True), ("a", "a", True)):
            self.assertEqual(claims.matches(value, wanted), expected, (value, wanted))

    def test_faults_name_file_claim_and_value(self):
        for old, new, part in (("above = 1.0\n", "", "neither"), ("speed", "haste", "'haste'"), ("asks", "ask", "'ask'"),
                               ("operation =", "operations =", "'operations'"), ("kernels.csv", "k.csv", "'k.csv'")):
            with self.assertRaises(rows.Fault) as caught:
                self.claim(CLAIM.replace(old, new))
            self.assertIn(part, str(caught.exception))
            self.assertIn("[c]", str(caught.exception))

    def test_an_asserted_claim_that_fails_fails_the_documents(self):
        claim = self.claim(CLAIM + "asserted = true\n")
        bad = self.decided(self.run_of("r", ("a", 1.0), ("b", 2.0)), claim=claim)
        good = self.decided(self.run_of("s", ("a", 1.0), ("b", 0.5)), claim=claim)
        self.assertIn("c: documents state it, and it fails", documents.failures([(claim, [bad])])[0])
        self.assertEqual(documents.failures([(claim, [good])]), [])

    def test_parts_of_documents(self):
        claim = self.claim()
        decided = [(claim, [self.decided(self.run_of("r", ("a", 1.0), ("b", 0.5)), claim=claim)])]
        text = "before\n<!-- claims: c -->\nold 9.99\n<!-- end -->\nafter\n"
        new = documents.rewritten(pathlib.Path("docs/x.md"), text, decided)
        self.assertIn("B is 2.00 to 2.00 times as fast. (m: holds at all 1 points; [rows](../docs/claims.md#is-b-faster))",
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

    def kernels(self, tet4_time: str) -> None:
        row = ROW.replace("hex8", "tet4")
        lines = [row.replace(",patch,", ",assembled_bsr,").replace("1e-5,9e-6", f"{tet4_time},9e-6"), row]
        text = "\\n".join(lines)
        (self.build / "kernels").write_text(
            f"#!/bin/sh\nfor a; do case $a in --fe_rows=*) f=${{a#*=}} ;; esac; done\n"
            f"[ -f \"$f\" ] || echo '{HEADER}' >\"$f\"\nprintf '{text}\\n' >>\"$f\"\n")
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

    def test_bad_input_is_one_line(self):
        for words, part in ((("nothing",), "no such claim"), (("matrix_free_solve",), "make bench"),
                            (("host_matrix_tet4",), "kernels is not there")):
            code, _, err = self.program(*words)
            self.assertEqual((code, err.count("\n")), (2, 1))
            self.assertIn(part, err)
        (self.build / "kernels").write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
        (self.build / "kernels").chmod(0o755)
        code, _, err = self.program("host_matrix_tet4")
        self.assertEqual(code, 2)
        self.assertIn("broken", err)
