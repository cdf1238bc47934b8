"""Claims that are measured anew: commands, sizes of a reader, and what is said in the end."""

import contextlib
import dataclasses
import io
import pathlib
import shutil
import tempfile
import unittest
from unittest import mock

from report import documents, reproduce, rows, statistics, verdicts
from report.claim import hardware, read_claims
from tests.report.test_claims import ENDS, ends
from tests.report.test_rows import HEADER, ROW

NOWHERE = "direction: not measured here; ratio: not compared"


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
            with mock.patch("report.reproduce.decide_all", lambda some: [(some[0], [])]):
                got, out, _ = self.program("host_matrix_tet4")
            last = f"direction: {word}; ratio: not compared"
            self.assertEqual((got, out.splitlines()[-1]), (code, last))
            self.assertEqual((self.build / "reproduce/host_matrix_tet4/verdict.txt").read_text().splitlines()[-1], last)
            self.assertEqual(len(rows.read(self.build / "reproduce/host_matrix_tet4/kernels.csv")), 6)

    def test_two_at_once_do_not_share_rows(self):
        self.kernels("5e-6")
        with reproduce.locked(self.build / "reproduce" / "host_matrix_tet4"):
            code, _, err = self.program("host_matrix_tet4")
        self.assertEqual(code, 2)
        self.assertIn("host_matrix_tet4: another run measures this claim there", err)
        with mock.patch("report.reproduce.decide_all", lambda some: [(some[0], [])]):
            self.assertEqual(self.program("host_matrix_tet4")[0], 0)

    @staticmethod
    def verdict(*ratios: tuple[str, float, float], word: str = verdicts.HOLDS, host: str = "",
                processes: int = 3) -> verdicts.Verdict:
        where = {"element": "tet4", "operation": "jacvec", "n_dof": 3000}
        points = tuple(verdicts.Decided({**where, "case": case}, "patch",
                                        statistics.Estimate(value, value / spread, value * spread, processes),
                                        word, "abcdef012", False, host) for case, value, spread in ratios)
        return verdicts.Verdict(read_claims()[0], "m", word if points else verdicts.MISSING, points)

    def test_ratios_are_held_beside_the_committed_ones(self):
        here = self.verdict(("a", 2.0, 1.01), ("b", 3.0, 1.01), ("c", 1.0, 1.01))
        there = self.verdict(("a", 2.15, 1.01), ("b", 4.0, 1.4), ("c", 1.3, 1.01), ("d", 1.0, 1.0))
        pairs = reproduce.pairs_of(here, there)
        told = reproduce.beside_known(pairs, 0.1)  # within the tolerance; intervals meet; neither
        self.assertEqual(len(told), 3)
        self.assertIn("1 of 3 ratios agree with the committed ones of this kind of machine (within 10 %)", told[0])
        self.assertIn("(b, beside patch): 3.00 (2.97–3.03) here, 4.00 (2.86–5.60) in abcdef0: farther off", told[1])
        self.assertIn("(c, beside patch): 1.00 (0.990–1.01) here, 1.30 (1.29–1.31) in abcdef0: differs", told[2])
        self.assertIn("3 of 3 ratios agree", *reproduce.beside_known(pairs, 0.34))
        for other in (None, self.verdict(("z", 1.0, 1.1)), self.verdict(("a", 2.0, 1.01), host="another")):
            self.assertIn("no committed ratio", *reproduce.beside_known(reproduce.pairs_of(here, other), 0.1))

    def test_outcomes(self):
        """The direction, then the ratio; what is sure decides the exit before what cannot be told."""
        holds, fails, unsure = verdicts.HOLDS, verdicts.FAILS, verdicts.UNSURE
        near, off = "ratio: agrees within 10 %", "ratio: differs by more than 10 %"
        committed, failed, open_ = (self.verdict(("a", 2.0, 1.01), word=word) for word in (holds, fails, unsure))
        for ratio, spread, word, there, last, code in (
                (2.1, 1.01, holds, committed, f"direction: holds, as in committed rows; {near}", 0),
                (2.1, 1.01, fails, failed, f"direction: fails, as in committed rows; {near}", 0),
                (2.1, 1.01, unsure, open_, f"direction: undecided, as in committed rows; {near}", 0),
                (2.1, 1.01, holds, open_, f"direction: holds, in committed rows: undecided; {near}", 0),
                (2.1, 1.01, fails, open_, f"direction: fails, in committed rows: undecided; {near}", 1),
                (2.1, 1.01, holds, failed, f"direction: holds, in committed rows: fails; {near}", 1),
                (2.1, 1.01, fails, committed, f"direction: fails, in committed rows: holds; {near}", 1),
                (2.5, 1.01, fails, committed, f"direction: fails, in committed rows: holds; {off}", 1),
                (2.5, 1.01, fails, failed, f"direction: fails, as in committed rows; {off}", 3),
                (2.5, 1.01, holds, committed, f"direction: holds, as in committed rows; {off}", 3),
                (2.5, 1.01, unsure, committed, f"direction: undecided, in committed rows: holds; {off}", 3),
                (2.5, 1.40, holds, committed, "direction: holds, as in committed rows; ratio: undecided", 4),
                (2.5, 1.40, fails, failed, "direction: fails, as in committed rows; ratio: undecided", 4),
                (2.1, 1.01, unsure, committed, f"direction: undecided, in committed rows: holds; {near}", 4),
                (2.1, 1.01, holds, None, "direction: holds; ratio: not compared", 0),
                (2.1, 1.01, fails, None, "direction: fails; ratio: not compared", 1),
                (2.1, 1.01, unsure, None, "direction: undecided; ratio: not compared", 4)):
            here = self.verdict(("a", ratio, spread), word=word)
            self.assertEqual(reproduce.outcome(here, reproduce.pairs_of(here, there), 0.1), (last, code))
        self.assertEqual(reproduce.outcome(self.verdict(), [], 0.1), (NOWHERE, 5))
        one, other = self.verdict(("a", 2.0, 1.01), ("b", 2.5, 1.4)), self.verdict(("a", 2.0, 1.01), ("b", 2.0, 1.01))
        self.assertEqual(reproduce.outcome(one, reproduce.pairs_of(one, other), 0.1)[1], 4)
        self.assertEqual(reproduce.outcome(one, reproduce.pairs_of(one, other), 0.3)[1], 0)

    def test_points_that_fail_must_be_the_committed_ones(self):
        holds, fails = verdicts.HOLDS, verdicts.FAILS
        one, other = (dataclasses.replace(v, verdict=fails, points=tuple(
            dataclasses.replace(p, verdict=word) for p, word in zip(v.points, words)))
            for v, words in ((self.verdict(("a", 2.0, 1.01), ("b", 2.0, 1.01)), words)
                             for words in ((holds, fails), (fails, holds))))
        last, code = reproduce.outcome(one, reproduce.pairs_of(one, other), 0.1)
        self.assertEqual((last.split("; ")[0], code),
                         ("direction: fails, as in committed rows, but not at the same points", 1))
        self.assertEqual(reproduce.outcome(one, reproduce.pairs_of(one, one), 0.1)[1], 0)

    def test_other_machines_have_the_direction_where_this_kind_has_no_rows(self):
        holds, fails = verdicts.HOLDS, verdicts.FAILS
        also, against = (self.verdict(("a", 7.0, 1.01), word=word) for word in (fails, holds))
        elsewhere = self.verdict(("z", 2.0, 1.01), word=fails)
        here, behind = self.verdict(("a", 2.0, 1.01), word=fails), "in committed rows of other machines"
        for others, words, code in (([also], f", as {behind}", 0), ([also, also], f", as {behind}", 0),
                                    ([against], f", {behind}: holds", 1),
                                    ([also, against], f", {behind}: fails or holds", 1),
                                    ([elsewhere], "", 1), ([also, elsewhere], f", as {behind}", 0)):
            self.assertEqual(reproduce.outcome(here, [], 0.1, others),
                             (f"direction: fails{words}; ratio: not compared", code))
        here = self.verdict(("a", 2.0, 1.01))
        self.assertEqual(reproduce.outcome(here, [], 0.1, [also])[1], 0)  # another machine may do otherwise

    def test_few_processes_are_said_and_are_against_nothing(self):
        committed = self.verdict(("a", 2.0, 1.01))
        known, same, fails = "in committed rows: holds", "as in committed rows", verdicts.FAILS
        for n, asked, word, words, code in (
                (1, 3, fails, f"fails (by one process of three: the machine is busy), {known}", 4),
                (2, 3, verdicts.HOLDS, f"holds (by two processes of three: the machine is busy), {same}", 0),
                (1, 1, fails, f"fails (by one process), {known}", 4),
                (4, 12, fails, f"fails (by four processes of 12: the machine is busy), {known}", 1),
                (3, 3, fails, f"fails, {known}", 1)):
            here = self.verdict(("a", 2.1, 1.01), word=word, processes=n)
            last, got = reproduce.outcome(here, reproduce.pairs_of(here, committed), 0.1, (), asked)
            self.assertEqual((last.split("; ")[0], got), (f"direction: {words}", code))
        far = self.verdict(("a", 2.5, 1.01), processes=1)
        self.assertEqual(reproduce.outcome(far, reproduce.pairs_of(far, committed), 0.1, (), 3)[1], 4)
        counted = dataclasses.replace(far, claim=next(c for c in read_claims() if c.name == "csr_map"))
        self.assertEqual(reproduce.outcome(counted, reproduce.pairs_of(counted, committed), 0.1, (), 1),
                         ("direction: holds, as in committed rows; ratio: differs by more than 10 %", 3))

    def test_committed_verdicts_in_a_few_words(self):
        def on(name: str, word: str) -> verdicts.Verdict:
            return dataclasses.replace(self.verdict(("a", 2.0, 1.01), word=word), machine=name)

        h100, h200 = "nvidia-h100-80gb-hbm3", "nvidia-h200"
        for some, words in (([], "not measured"), ([self.verdict()], "not measured"),
                            ([on(h100, verdicts.FAILS), on(h200, verdicts.FAILS)], "fails"),
                            ([on(h100, verdicts.FAILS), on(h200, verdicts.HOLDS)], "holds on H200; fails on H100")):
            self.assertEqual(documents.committed(some), words)

    def test_claims_have_tolerances(self):
        known = {claim.name: claim for claim in read_claims()}
        self.assertEqual([known[name].tolerance for name in ("patch_over_matrix", "csr_map", "host_patch_over_matrix")],
                         [0.1, 0.01, 0.25])
        (line,) = [line for line in documents.commands([(known["host_patch_over_matrix"], [])]) if "host_patch" in line]
        self.assertTrue(line.endswith("| not measured | 1 | 25 % |"), line)
        own, usual = (" ".join(documents._entry(known[name], []))
                      for name in ("host_patch_over_matrix", "patch_over_matrix"))
        self.assertIn("measured anew agrees within 25 %", own)
        self.assertNotIn("measured anew", usual)

    def test_a_ratio_that_differs_from_committed_rows_is_an_exit(self):
        """Through the program, with committed rows of this machine stood in for."""
        self.kernels("5e-6")
        self.program("host_matrix_tet4")
        (claim,) = [c for c in read_claims() if c.name == "host_matrix_tet4"]
        here = verdicts.decide(claim, "m", [self.build / "reproduce/host_matrix_tet4"], alone=True)
        for factor, code in ((1.2, 0), (1.5, 3)):  # below the claim's 25 %, and above it
            points = tuple(dataclasses.replace(p, ratio=statistics.Estimate(*(
                factor * x for x in (p.ratio.value, p.ratio.low, p.ratio.high)), 3)) for p in here.points)
            there = dataclasses.replace(here, points=points)
            with mock.patch("report.reproduce.decide_all", lambda some: [(some[0], [there])]):
                got, out, _ = self.program("host_matrix_tet4")
            self.assertEqual(got, code, out)
            self.assertTrue(out.splitlines()[-1].startswith("direction: holds, as in committed rows; ratio: "), out)

    def test_bad_input_is_one_line(self):
        for words, part in ((("nothing",), "no such claim; docs/claims.md has all names"),
                            (("gather_tet",), "no such claim; there is gather_tet4"),
                            (("matrix_free_solve",), "solves is not there"),
                            (("host_matrix_tet4",), "kernels is not there")):
            with mock.patch("report.reproduce.gpus_here", lambda: 1):
                code, _, err = self.program(*words)
            self.assertEqual((code, err.count("\n")), (2, 1))
            self.assertIn(part, err)
        (self.build / "kernels").write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
        (self.build / "kernels").chmod(0o755)
        code, _, err = self.program("host_matrix_tet4")
        self.assertEqual(code, 2)
        self.assertIn("broken", err)
        shutil.rmtree(self.build / "reproduce", ignore_errors=True)
        (self.build / "reproduce").write_text("")
        code, _, err = self.program("host_matrix_tet4")
        self.assertEqual((code, err), (2, f"reproduce: {self.build / 'reproduce'}: File exists\n"))

    def test_a_reader_takes_another_size_and_mesh(self):
        mesh = self.build / "a part.msh"
        mesh.write_text("")
        known = {claim.name: claim for claim in read_claims()}
        patch, order, ranks = (known[name] for name in ("patch_over_matrix", "order_of_elements", "two_gpus_large"))
        for claim, dofs, path, flags in (
                (patch, "3000000", "", ["--fe_dofs=3000000"]),
                (patch, "", "irregular", ["--fe_dofs=1000000", "--fe_mesh=irregular"]),
                (order, "300000", "30x30x120", ["--fe_dofs=300000", "--fe_mesh=30x30x120"]),
                (patch, "", str(mesh), [f"--fe_mesh={mesh.resolve()}"])):
            taken = reproduce.own_size(claim, dofs, path)
            self.assertEqual(len(taken.reproduce), len(claim.reproduce))
            for text in taken.reproduce:
                command, _ = reproduce.command_of(text, self.build, self.build, 1)
                self.assertEqual([word for word in command if word.startswith(("--fe_dofs", "--fe_mesh"))], flags)
        self.assertEqual(reproduce.own_size(ranks, "9000000", "").reproduce[1],
                         "scaling --backend cuda --ranks 2 --transport nccl --variants patch --dofs 9000000")
        self.assertIs(reproduce.own_size(patch, "", ""), patch)
        (solve,) = (c for c in read_claims() if c.name == "plastic_solve")
        self.assertEqual({text.split("--cells ")[1].split()[0] for text in reproduce.own_size(solve, "3000000", "").reproduce},
                         {"99"})
        self.assertEqual(reproduce.cells_for("3000000", "--element hex27"), "49")
        self.assertEqual(reproduce.sizes_of(reproduce.own_size(patch, "3000000", "irregular")),
                         "dofs 3000000; mesh irregular")

    def test_a_size_or_mesh_that_a_claim_has_not_is_one_line(self):
        for words, part in ((("product_within_solve", "--dofs", "9000"), "its command `solves` takes no other size"),
                            (("plastic_solve", "--mesh", "irregular"), "its solves are of cubes; give DOFS"),
                            (("petsc_gamg", "--dofs", "9000"), "its command `make bench` takes no other size"),
                            (("anderson_newton", "--mesh", "irregular"), "its command `bench` takes no other size"),
                            (("patch_over_matrix", "--dofs", "3M"), "DOFS=3M: is no number"),
                            (("patch_over_matrix", "--dofs", "9000"), "DOFS=9000: it is of >= 250000 degrees"),
                            (("patch_over_matrix", "--mesh", "3x3x3"), "MESH=3x3x3: it is of >= 250000 degrees"),
                            (("patch_over_matrix", "--mesh", "sphere"), "MESH=sphere: is not FILE.msh, irregular"),
                            (("patch_over_matrix", "--mesh", "no.msh"), "MESH=no.msh: there is no such file"),
                            (("four_gpus_small", "--dofs", "9000"), "it is of 250000 to 350000 degrees"),
                            (("patch_over_matrix", "--mesh", "a.msh", "--dofs", "9"), "a file has its own size")):
            for more in ((), ("--check",)):
                code, out, err = self.program(*words, *more)
                self.assertEqual((code, out, err.count("\n")), (2, "", 1), words)
                self.assertIn(part, err)

    def test_a_check_says_what_is_missing_before_anything_is_built(self):
        for gpus, name, code, why in ((1, "patch_over_matrix", 0, ""), (0, "patch_over_matrix", 5, "there is no GPU"),
                                      (1, "two_gpus_large", 5, "there is 1 GPU"), (2, "two_gpus_large", 0, ""),
                                      (0, "host_matrix_tet4", 0, ""),
                                      (0, "petsc_gamg", 5, "needs PETSc, with which `make bench EXPERIMENTS=peers` measures it")):
            with self.subTest(name, gpus=gpus), mock.patch("report.reproduce.gpus_here", lambda: gpus):
                got, out, err = self.program(name, "--check")
                self.assertEqual((got, out.splitlines()[-2:], err), (code, [why, NOWHERE] if why else [], ""))

    def test_sizes_that_a_claim_says_nothing_of_are_told(self):
        self.kernels("5e-6")  # rows of 375 degrees of freedom
        _, out, _ = self.program("host_patch_over_matrix")
        self.assertIn("rows of 375 degrees of freedom do not count: it is of >= 20000", out)
        self.assertEqual(out.splitlines()[-1], NOWHERE)
        self.assertIn("process 1 of 3", out)
        self.assertNotIn("process 2 of 3", out)  # its rows would not count either
        out = self.program("host_matrix_tet4")[1]
        self.assertNotIn("do not count", out)
        self.assertIn("process 3 of 3", out)

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
        _, out, _ = self.program("plastic_solve", "--dofs", "3000000")
        self.assertIn("measured here: cells 99; DOFS=N takes yours", out.splitlines()[2])
        _, out, _ = self.program("product_within_solve")
        self.assertIn("take no other size or mesh", out.splitlines()[2])

    def test_rows_that_were_disturbed_are_told(self):
        self.kernels("5e-6", "loaded")
        code, out, _ = self.program("host_matrix_tet4")
        self.assertEqual((code, out.splitlines()[-1]), (5, NOWHERE))
        self.assertIn("6 of 6 rows do not count: other programs", out)

    def test_what_nothing_here_can_measure_says_what_it_needs(self):
        code, out, _ = self.program("petsc_gamg")
        self.assertEqual((code, out.splitlines()[-1]), (5, NOWHERE))
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
