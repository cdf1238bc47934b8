"""Parts of documents that rows decide, and that README and pages name every strategy."""

import dataclasses
import collections
import itertools
import math
import pathlib
import re
import tempfile
import unittest
from unittest import mock

from report import choice, documents, model, parts, rows, set_ups, sources, statistics, wholes
from report.claim import read_claims
from report.render import tables
from report.rows import Fault
from report.verdicts import Decided, Verdict
from tests.report import small


class Take(unittest.TestCase):
    def point(self, ratio: float, *lacks: str) -> Decided:
        return Decided({"n_dof": 6440067}, "assembled_bsr", statistics.Estimate(ratio, ratio / 1.1, ratio * 1.1, 1), "",
                       "c1", False, lacks=lacks)

    def test_a_matrix_that_was_not_measured_decides_for_nobody(self):
        half = "assembled_symmetric"
        for points, said in (([self.point(1.2)], "`patch`"), ([self.point(1.2), self.point(1.7, half)], "`patch`"),
                             ([self.point(1.7, half)], f"`patch`, if `{half}` is not faster"),
                             ([self.point(0.8, half)], "the matrix"), ([self.point(1.05)], "either"),
                             ([self.point(1.2), self.point(0.8, half)], "either"),
                             ([self.point(0.8), self.point(1.7, half)], "the matrix")):
            self.assertEqual(choice.take(points, []), (said, ""))
            self.assertEqual(choice.take([], points), (said, ""))

    def test_patch_is_taken_where_it_is_told_from_each_matrix(self):
        r = statistics.Estimate(1.57, 0.98, 2.51, 1)  # the slower matrix, of one process
        self.assertEqual(choice.take([dataclasses.replace(self.point(1.24), others=(r,))], []), ("either", ""))
        self.assertEqual(choice.take([dataclasses.replace(self.point(0.8), others=(r,))], []), ("the matrix", ""))

    def test_irregular_meshes_and_solves_may_want_another_one(self):
        low, level, high = ([self.point(ratio)] for ratio in (0.8, 1.05, 1.3))
        for boxes, others, solve, said, but in (
                (low, low, 0.8, "the matrix", ""), (low, low, 1.3, "the matrix", "in plastic solves `patch`"),
                (high, high, 0.8, "`patch`", ""), (level, high, 1.0, "either", "on irregular meshes `patch`"),
                (low, high, 1.3, "the matrix", "on irregular meshes and in plastic solves `patch`"),
                (low, level, 1.3, "the matrix", "on irregular meshes either and in plastic solves `patch`"),
                (low, [], 1.0, "the matrix", "")):
            self.assertEqual(choice.take(boxes, others, self.point(solve).ratio), (said, but))

    def test_exceptions_stand_below_the_table(self):
        said = [("either", "on irregular meshes `patch`"), ("`patch`", ""), ("the matrix", "on irregular meshes `patch`"),
                ("`patch`", "up to 1 `element_team`")]
        found = [mock.Mock(take=one) for one in said]
        self.assertEqual(choice.noted(found), (["either²", "`patch`", "the matrix²", "`patch`³"],
                                               "²: on irregular meshes `patch`. ³: up to 1 `element_team`."))
        self.assertEqual(choice.below(""), [])

    def test_a_team_up_to_a_size(self):
        self.assertEqual(choice.take([self.point(2.0)], [], None, 952000),
                         ("`patch`", "up to 952 K degrees of freedom `element_team`"))
        (claim,) = [c for c in read_claims() if c.name == "team_hex27"]
        for ratio, said in ((1.3, 952000), (1.0, 0)):
            points = tuple(dataclasses.replace(self.point(r), where={"operation": "jacvec", "n_dof": n})
                           for r, n in ((1.3, 952000), (ratio, 311000)))
            known = {claim.name: (claim, [Verdict(claim, "m", "holds", points)])}
            self.assertEqual((choice.team_up_to(known, "m"), choice.team_up_to(known, "other")), (said, 0))

    def test_a_solve_of_both_matrices_and_enough_processes_comes_first(self):
        def solves(processes: int, *strategies: str) -> list:
            return [mock.Mock(operation="solve", strategy=s, time=mock.Mock(processes=processes)) for s in ("patch", *strategies)]
        both = ("assembled_bsr", "assembled_symmetric")
        for some, said in ((solves(3, *both), (True, True)), (solves(1, *both), (True, False)), (solves(3, both[0]), (False, True))):
            self.assertEqual(choice.known_of(some), said)

    def test_a_ratio_over_one_matrix_is_an_upper_end(self):
        self.assertEqual(choice.cell(self.point(1.5, "assembled_symmetric")), "≤ 1.50 (1.36–1.65)¹, 6.44 M")
        self.assertEqual(choice.cell(self.point(1.5)), "1.50 (1.36–1.65)¹, 6.44 M")

    def test_a_point_that_can_hold_and_has_processes_comes_before_a_larger_one(self):
        where = {"element": "hex8", "operation": "jacvec", "case": "box128-distorted", "n_dof": 6440067}
        def point(n: int, processes: int, *lacks: str) -> Decided:
            return Decided(where | {"n_dof": n}, "assembled_bsr", statistics.Estimate(1.5, 1.4, 1.6, processes), "", "c1",
                           False, lacks=lacks)
        (claim,) = [c for c in read_claims() if c.name == "patch_over_matrix"]
        for points, said in (((point(9, 1, "x"), point(8, 1)), 8), ((point(9, 1), point(8, 3), point(7, 3)), 8),
                             ((point(9, 3, "x"), point(8, 1, "x")), 9), ((point(9, 1), point(8, 1)), 9)):
            known = {claim.name: (claim, [Verdict(claim, "m", "holds", points)])}
            found = choice.largest(known, claim.name, "m", "hex8", True)
            self.assertEqual(found.where["n_dof"], said)
        self.assertEqual(choice.cell(point(3000000, 3)), "1.50 (1.40–1.60), 3.00 M")

    def test_the_report_has_the_columns_that_a_page_holds_and_names_of_cards(self):
        line = choice.Line("hex8", "m", True, None, None, None, None, None, None, None, ("1.50, 3.09 M", "-", "-"), None, 0)
        self.assertEqual(len(choice.cells_of(line, "", "")), len(choice.HEADS))
        with mock.patch.object(choice, "lines", lambda known, model: [line]):
            found = choice.table_of_report({}, mock.Mock(cards=[model.Card("m", "cuda", "NVIDIA H200", 0)]))
        self.assertEqual([cell.text for cell in found.rows[0]][:2], ["Hex8", "H200"])
        self.assertEqual(found.rows[0][list(choice.SHOWN).index("plastic solve: box")].text, "1.50, 3.09 M")
        self.assertEqual((found.columns, found.stacked), (list(choice.SHOWN), True))
        with mock.patch.object(choice, "lines", lambda known, model: []):
            self.assertIsNone(choice.table_of_report({}, mock.Mock(cards=[])))


class Rows(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def use(self, **runs) -> None:
        """The parts are then of these rows."""
        small.results(self.path, **runs)
        for cached in (parts.model, parts.drawn):
            cached.cache_clear()
            self.addCleanup(cached.cache_clear)
        patched = mock.patch.object(parts, "RESULTS", self.path)
        patched.start()
        self.addCleanup(patched.stop)

    def test_numbers_of_a_strategy_are_those_of_its_rows(self):
        self.use(c1=small.plenty())
        text = "\n".join(parts.strategy(["patch"]))
        self.assertIn("| `residual` |", text)
        # of plenty: n 1e-10 seconds an operation, so ten billion degrees of freedom a second
        self.assertRegex(text, r"Hex8 \| 6\.44 M \| 1 \| 10\.0 \(9\.90–10\.1\)")
        self.assertIn("| DoF | processes |", text)
        self.assertNotIn("`strategy`", text)
        self.assertEqual(parts.strategy(["dof_csr"])[2:], [])

    def test_break_even_stays_within_a_run(self):
        """Of a strategy that another run has than the one that speaks: beside its own element_atomic."""
        main = [r | {"setup_s": 0.01} for r in small.plenty() if "krylov" not in r]
        main += [r | {"variant": "assembled_symmetric"} for r in main if r["variant"] == "assembled_bsr"]
        other = [r | {"setup_s": 0.5, "variant": "node_csr"} if r["variant"] == "patch" else r
                 for r in small.plenty() if "krylov" not in r]
        own = [r | {"setup_s": 0.1} if r["variant"] == "element_atomic" else r for r in other]
        self.use(c1=main, c2=own)
        lines = parts.strategy(["node_csr"])
        (line,) = [line.split(" | ") for line in lines if line.startswith("| H200 | Hex8 | 6.44 M")]
        # 0.4 s more and n 1e-10 s a product less
        self.assertEqual(line[lines[0].split(" | ").index("tangents")], str(math.ceil(0.4 / (6440067 * 1e-10))))
        a, b = (next(p for p in parts.model().kernels if (p.run.commit, p.strategy) == key)
                for key in (("c1", "patch"), ("c2", "node_csr")))
        with self.assertRaisesRegex(ValueError, "no break-even across runs"):
            set_ups.break_even({"jacvec": a}, {"jacvec": b}, "jacvec")

    def test_a_launch_of_one_colour_tells_nothing_of_a_call(self):
        path = self.path / "m" / "2026-01-02-c1"
        self.use(c1=small.plenty())
        kernels = [dict(schema=2, commit="c1", machine="m", backend="cuda", device="G", variant=v, element="hex8", order="auto",
                        n_dof=1000, operation="jacvec", status="ok", kernel=f"{v}_jacvec_hex8", seconds=1e-5, registers=64,
                        spilled_accesses=0, block_bytes=512, warps_fit=0.5, warps_active=0.4, memory_bytes=5e4,
                        bytes_moved=4e4, flop=7e4, atomic_lanes=0, atomic_sectors=2e3, level1_busy=0.2, level2_busy=0.9)
                   for v in ("element_color", "patch")]
        small.write(path / "profile.csv", rows.columns_of("profile.csv"), kernels)
        parts.model.cache_clear()
        color, patch = ("\n".join(parts.profile((f"{v}_",))) for v in ("element_color", "patch"))
        self.assertIn("| `element_color_jacvec_hex8` | Hex8, box, 1.00 K |  | 64 | 0.0 | 512 | 40 % |  |  |  |  | level 2, 90 % | c1 |", color)
        self.assertIn("once for each colour", color)
        self.assertIn("| Hex8, box, 1.00 K | 10.0 | 64 | 0.0 | 512 | 40 % | 50 | 70 | 0.0 | 2.0 | level 2, 90 % | c1 |", patch)
        self.assertNotIn("colour", patch)

    def test_sustained_rates_have_the_commit_of_their_run(self):
        held = small.row(0.125 * 6440067e-9, 0.01, case="box128-distorted", n_dof=6440067, condition="sustained")
        self.use(c1=small.plenty(), c2=[held])
        lines = parts.strategy(["patch"])
        (line,) = [line.split(" | ") for line in lines if line.startswith("| H200 | Hex8 | 6.44 M")]
        head = lines[0].split(" | ")
        self.assertEqual(line[head.index("`jacvec`, sustained")], "8.00 (7.92–8.08), c2")
        self.assertEqual(line[head.index("`jacvec`")], "10.0 (9.90–10.1)")
        self.assertNotIn("`jacvec_elastic`, sustained", head)

    def with_set_ups(self) -> list[dict]:
        """Half a second for patch, nothing for others; on Tet4 element_team takes one and a half times patch's time."""
        lines = [line | {"setup_s": 0.5 if line["variant"] == "patch" else 0.0} for line in small.plenty()]
        return lines + [line | {"variant": "element_team", "setup_s": 0.0,
                                **{name: 1.5 * line[name] for name in ("median_s", "ci95_low_s", "ci95_high_s")}}
                        for line in lines if line["variant"] == "patch" and line["element"] == "tet4"
                        and "krylov" not in line]

    def test_set_ups_are_told_with_numbers(self):
        self.use(c1=self.with_set_ups())
        text = " ".join(parts.set_ups("", "../"))
        self.assertIn("In 1 whole solves on GPUs (311 K DoF), set-ups counted, these take least or are not told from the one that "
                      "does ([by problem](../results/report/report.md#which-strategy-solves-in-the-least-time)): of 1 that compare fewer than 10 strategies `element_atomic` in 1 (one alone in 1). Set-ups that a "
                      "process timed once count as different from a factor of 1.4 on", text)
        n = small.SIZES[-1][1]
        hex8, tet4 = (math.ceil(0.5 / (slower * n * 1e-10)) for slower in (1.0, 0.5))
        self.assertEqual([parts.two_digits(k) for k in (hex8, tet4, 7, 99)], [780, 1600, 7, 99])
        for said in ("Hex8, box, against `element_atomic` 780 (H200, 6.44 M DoF)",
                     "Hex8, irregular mesh, against `element_atomic` 5100 (H200, 986 K DoF)",
                     "Tet4, box, against `element_team` 1600 (H200, 6.44 M DoF)"):
            self.assertIn(said, text)
        self.assertIn("(../results/report/report.md#set-ups-repaid)", text)
        table = tables.break_even_table(parts.model())
        self.assertEqual(table.title, "Set-ups repaid")
        lines = [[cell.text for cell in row] for row in table.rows]
        head = table.columns.index("tangent products beside team per element")
        self.assertEqual([(line[1], line[head - 2], line[head]) for line in lines if line[2] == "patch"],
                         [("Hex8", str(hex8), ""), ("Tet4", str(hex8), str(tet4))])

    def test_products_that_repay_an_assembly_are_told(self):
        """With Hex8 the matrix saves a half of patch's 20 µs and takes 1 ms more for an assembly; on the irregular mesh its
        products are no faster beyond doubt."""
        lines = [small.row(seconds, 0.01, variant=strategy, element="hex8", case=case, n_dof=n, operation=operation)
                 for case, n, half in (("box68-distorted", 985527, 1e-5), ("irregular", 985600, 1.9e-5))
                 for strategy, full, material in (("patch", 2e-5, 1e-4), ("assembled_symmetric", half, 1.1e-3))
                 for operation, seconds in (("jacvec_full", full), ("material", material))]
        self.use(c1=lines)
        self.assertIn("set-ups aside: Hex8, box of 986 K: 100 (H200); Hex8, irregular mesh of 986 K: not told to be faster "
                      "(H200).", " ".join(parts.assembly("", "../")))

    def test_without_such_products_nothing_is_told_of_assembly(self):
        self.use(c1=small.plenty())
        with self.assertRaisesRegex(rows.Fault, "no run has such products"):
            parts.assembly("", "../")

    def test_equal_set_ups_differ_as_is_said(self):
        """Of strategies without lists, in one process each."""
        at = collections.defaultdict(list)
        for p in small.committed().of("solves.csv"):
            if p.operation == "solve" and p.card.backend == "cuda" and p.strategy in set_ups.WITHOUT and p.set_up \
                    and int(p.row["schema"]) <= set_ups.ONCE:
                at[p.run, p.case, p.element, p.krylov, p.precondition, p.ranks, p.row["precision"]].append(p.set_up)
        ratios = sorted(max(pair) / min(pair) for some in at.values() for pair in itertools.combinations(some, 2))
        self.assertGreater(len(ratios), 100)
        self.assertLess(ratios[len(ratios) * 9 // 10], set_ups.APART)
        self.assertGreater(ratios[len(ratios) * 95 // 100], set_ups.APART)

    def test_set_ups_that_are_nearly_alike_tell_nobody(self):
        for near, said in ((0.36, "`element_atomic` in 1, `patch` in 1 (one alone in 0)"),
                           (0.1, "`element_atomic` in 1 (one alone in 1)")):
            with tempfile.TemporaryDirectory() as folder:
                lines = [line | {"setup_s": near if line["variant"] == "element_atomic" else 0.5} for line in small.plenty()]
                built = model.build(small.results(pathlib.Path(folder), c1=lines))
                with mock.patch.object(parts, "model", lambda built=built: built):
                    self.assertIn(f"fewer than 10 strategies {said}", " ".join(parts.set_ups("", "../")))

    def test_several_set_ups_tell_themselves_how_far_they_differ(self):
        near = [line | {"setup_s": 0.36 if line["variant"] == "element_atomic" else 0.5} for line in small.plenty()]
        timed = [line | {"operation": "setup", "median_s": line["setup_s"], "ci95_low_s": 0.99 * line["setup_s"],
                         "ci95_high_s": 1.01 * line["setup_s"], "repetitions": 5}
                 for line in near if line.get("krylov") and line["operation"] == "solve"]
        for more, ends in (([], 1.4), (timed, 1.1 * 1.1)):
            with tempfile.TemporaryDirectory() as folder:
                built = model.build(small.results(pathlib.Path(folder), c1=near + more))
                (some,) = [some for some in wholes.solves_of(built).values()]
                before = set_ups.before_solve(some, "patch")
                self.assertAlmostEqual(before.high / before.low, ends, 9)
                self.assertEqual(len(wholes.least_in_all(wholes.wholes(some))) == 1, bool(more))

    def test_solves_of_the_choice_say_their_size(self):
        self.use(c1=self.with_set_ups())
        solve, with_set_ups, least, _ = choice.solved(parts.model(), "m", "cuda", "hex8")
        for told in (solve, with_set_ups):  # and that one process measured both
            self.assertTrue(told.endswith(f"{choice.FEW}, 311 K"), told)
        self.assertEqual(least, "`element_atomic`")

    def test_the_brief_choice_has_a_line_for_each_gpu(self):
        """Of one element on two machines: on a host there is no such line, and no cell tells a size."""
        self.use(c1=self.with_set_ups())
        where = {"element": "hex8", "operation": "jacvec", "case": "box128-distorted", "n_dof": 6440067}
        of = {claim.name: claim for claim in read_claims()}

        def known(name: str, machine: str, ratio: float, operation: str = "jacvec", processes: int = 3) -> Verdict:
            r = statistics.Estimate(ratio, 0.9 * ratio, 1.1 * ratio, processes)
            at = where | {"operation": operation}
            return Verdict(of[name], machine, "holds", (Decided(at, "assembled_bsr", r, "holds", "c1", False),))

        verdicts = [known("patch_over_matrix", "nvidia-h200", 2.0), known("host_patch_over_matrix", "nvidia-h200", 3.0),
                    known("price_of_order", "nvidia-h200", 1.05), known("floats_over_matrix", "nvidia-h200", 2.5, processes=1),
                    known("full_tangents_over_matrix", "nvidia-h200", 0.8, "jacvec_full")]
        table = {v.claim.name: (v.claim, [v]) for v in verdicts}
        head, _, *lines = choice.brief(table, parts.model())
        self.assertEqual(lines, ["| Hex8 | H200 | `patch` | - | 2.00 (1.80–2.20) | - | - | - | 1.05 (0.945–1.16) | "
                                 "0.800 (0.720–0.880) | 2.50 (2.25–2.75)¹ |"])
        self.assertEqual(head.count("|"), lines[0].count("|"))
        _, _, gpu, host = choice.table(table, parts.model())
        self.assertIn("| H200's host |", host)
        self.assertEqual([line.count("0.800") for line in (gpu, host)], [1, 0])  # what the GPU has is not the host's

    def test_a_part_is_written_and_found_to_be_right(self):
        self.use(c1=small.plenty())
        old = "before\n<!-- work -->\n| old | 9.99 |\n<!-- end -->\nafter\n"
        new = documents.rewritten(pathlib.Path("docs/x.md"), old, [])
        self.assertNotIn("9.99", new)
        self.assertIn("| Hex8 | `jacvec` |", new)
        self.assertEqual(documents.rewritten(pathlib.Path("docs/x.md"), new, []), new)

    def test_a_picture_has_the_first_sentences_of_its_caption(self):
        self.use(c1=small.plenty())
        name = next(n for n, f in parts.drawn().items() if f.caption.count(". ") > 3)
        whole, brief = (" ".join(lines) for lines in (parts.figure(name, ""), parts.picture(f"{name} 2", "")))
        self.assertEqual(brief.partition("*")[0], whole.partition("*")[0])  # the same file
        said = brief[brief.index("*"):brief.index(" ([all of it]")]
        self.assertTrue(whole[whole.index("*"):].startswith(said))
        self.assertEqual(said.count(". "), 1)  # between two sentences
        self.assertLess(len(brief), len(whole))

    def test_a_figure_has_the_caption_of_the_report(self):
        self.use(c1=small.plenty())
        (name, *_) = parts.drawn()
        self.assertIn(f"](../results/report/figures/{name}.svg)", parts.figure(name, "../")[0])
        with self.assertRaisesRegex(Fault, "figure: nowhere -->: the report has no such figure"):
            parts.figure("nowhere", "")

    def test_cost_of_contact_is_that_of_the_largest_size(self):
        of = [small.row(t, 0.001, variant=v, operation=o, n_dof=n, case=f"box{c}-distorted")
              for v in ("patch", "dof_csr") for o, t in (("jacvec", 1e-4), ("jacvec_contact0.01", 1.02e-4),
                                                        ("jacvec_contact0.1", 0.9995e-4))
              for c, n in ((45, 292008), (99, 3000000))]
        self.use(c1=of)
        head, _, *lines = parts.contact("cuda", "")
        self.assertIn("| residual, µs | 1 % | 10 % | jacvec, µs | 1 % | 10 % |", head)
        self.assertEqual(lines, ["| H200 | Hex8 | 3.00 M | `patch` |  |  |  | 100 | +2.0 | (-0.1) |  |  |  | 1 | c1 |"])

    def test_results_that_are_not_there_are_named(self):
        self.use(c1=small.plenty())
        with self.assertRaisesRegex(Fault, "contact: cuda -->: no run has such rows"):
            parts.contact("cuda", "")
        with self.assertRaisesRegex(Fault, "solved: m/none.json -->: no such file"):
            parts.solved("m/none.json", "")
        with self.assertRaisesRegex(Fault, "no run has a validation.csv"):
            parts.validation("", "")

    def test_errors_are_the_largest_of_all_strategies(self):
        self.use(c1=small.plenty())
        lines = ["variant,backend,problem,mesh,displacement_error,reaction_error,peeq_error,newton_iterations,krylov_iterations",
                 "patch,host,strip,s.msh,1e-12,3e-9,0,2,3", "node_csr,host,strip,s.msh,2e-12,1e-9,0,2,3"]
        (self.path / "m" / "2026-01-02-c1" / "validation.csv").write_text("\n".join(lines) + "\n")
        self.assertEqual(parts.validation("", "")[-1], "| strip | `s.msh` | 2.0e-12 | 3.0e-09 | 0.0e+00 |")


class BreakEven(unittest.TestCase):
    def points(self, name: str, setup: float, **seconds: float) -> dict[str, model.Point]:
        """By operation."""
        run = model.Run("m", "2026-01-02-c", pathlib.Path("m"))
        lines = [small.row(t, 0.0, variant=name, operation=o, setup_s=setup, repetitions=5) for o, t in seconds.items()]
        return {line["operation"]: model.Point(run, "kernels.csv", (line,), model.time_of([line])) for line in lines}

    def test_products_that_repay_a_set_up(self):
        for own, other, said in (((1.0, 1.0), (0.0, 2.0), 1), ((1.0, 1.0), (0.0, 1.3), 4), ((0.0, 1.0), (1.0, 2.0), 0),
                                 ((1.0, 2.0), (0.0, 1.0), None)):
            points = [self.points(name, setup, jacvec=t) for name, (setup, t) in
                      (("patch", own), ("element_atomic", other))]
            self.assertEqual(set_ups.break_even(*points, "jacvec"), said)
            self.assertIsNone(set_ups.break_even(points[0], points[0], "jacvec"))

    def test_a_matrix_counts_with_its_assembly(self):
        patch = self.points("patch", 9, jacvec=2, material=1)
        self.assertEqual(set_ups.break_even(self.points("assembled_bsr", 20, jacvec=1, material=8), patch, "jacvec"), 18)
        self.assertIsNone(set_ups.break_even(self.points("assembled_bsr", 20, jacvec=1), patch, "jacvec"))

    def test_a_set_up_is_the_median_over_processes(self):
        lines = tuple(small.row(process=n, setup_s=s) for n, s in ((1, 1.0), (2, 5.0), (3, 2.0)))
        run = model.Run("m", "2026-01-02-c", pathlib.Path("m"))
        self.assertEqual(model.Point(run, "kernels.csv", lines, model.time_of(lines)).set_up, 2.0)


class Documents(unittest.TestCase):
    def test_every_strategy_has_a_line(self):
        readme, text = ((model.ROOT / name).read_text() for name in ("README.md", "docs/strategies.md"))
        table, page = text.split("<!-- strategies -->")
        names = sources.strategies()
        self.assertGreater(len(names), 10)
        for name in names:
            with self.subTest(name):
                self.assertTrue(f"`{name}`" in readme, "not in README.md")
                self.assertTrue(f"\n| [`{name}`](../variants/" in table, "no line in the table of docs/strategies.md")
                self.assertTrue(f"\n## {name}\n" in page or f" `{name}` " in page, "not in docs/strategies.md")

    def test_no_measured_number_is_typed(self):
        self.assertEqual(documents.typed_numbers(model.ROOT), [])

    def test_a_typed_number_is_named_with_its_line(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "README.md").write_text("# A\n<!-- claims: a -->\n23.7 GDoF/s\n<!-- end -->\n```\n4 ms\n```\n"
                                            "It takes 4 ms, is 1.2 times as fast, 12 % less, half as long,\n161³ cells.\n")
            (root / "docs/ranks.md").write_text("After 30 s, with 95 % intervals.\nIt took 31 s.\n")
            (root / "docs/verification.md").write_text("At commit abc, 4 ms.\n")
            said = documents.typed_numbers(root)
        self.assertEqual([line.split(": a measured")[0] for line in said],
                         ["README.md:8: 4 ms", "README.md:8: 1.2 times", "README.md:8: 12 %", "README.md:8: half",
                          "docs/ranks.md:2: 31 s"])

    def test_documents_with_typed_numbers_are_named(self):
        """In results/README.md; those with times of runs tell their commits."""
        page = (model.ROOT / "results/README.md").read_text().partition("## Generated text\n")[2]
        typed = re.findall(r"[\w-]+\.md", page.partition("are typed:")[2].partition("`HISTORY.md`")[0])
        self.assertEqual(sorted(typed), sorted(documents.TYPED))
        for name, commits in (("contact.md", ("5ccde20", "4c39644", "e554ee4")),
                              ("method.md", ("75f760f", "616e4bc", "79530f0", "e3aa870", "e7b462d"))):
            text = (model.ROOT / "docs" / name).read_text()
            self.assertEqual([c for c in commits if c not in text], [])


if __name__ == "__main__":
    unittest.main()
