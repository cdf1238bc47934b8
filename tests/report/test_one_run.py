"""Tables of one run: what its cells say, what they refuse to mix, and that they are of all processes."""

import contextlib
import io
import pathlib
import shutil
import tempfile
import unittest
from unittest import mock

from report import __main__ as program
from report import model, one_run, rows, run_kernels, run_tables, statistics, text
from report.rows import Fault
from tests.report import small

HOST = dict(backend="host", device="d", threads=2, ranks=1, variant="v", element="tet4", case="box5-distorted",
            n_dof=1000, repetitions=9, bytes=4000, bytes_work=0, setup_s=0.5)


def row(low: float, median: float, high: float, **changed) -> dict:
    """Of kernels.csv, on a host, in ms."""
    return small.ROW | HOST | {"median_s": median / 1e3, "ci95_low_s": low / 1e3, "ci95_high_s": high / 1e3} | changed


def lost(status: str, **changed) -> dict:
    return small.ROW | HOST | {"median_s": "", "ci95_low_s": "", "ci95_high_s": "", "deterministic": "", "error": "",
                               "status": status} | changed


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.run = pathlib.Path(self.folder.name) / "results" / "m" / "2026-01-02-c1"
        self.run.mkdir(parents=True)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, kind: str, lines: list[dict], columns: list[str] | None = None) -> None:
        small.write(self.run / kind, columns or rows.columns_of(kind), lines)

    def kernels(self, *lines: dict, kind: str = "kernels.csv") -> None:
        """Columns that older files lack are there where a line has them."""
        self.write(kind, list(lines), [name for name in rows.columns_of(kind) if any(name in line for line in lines)
                                       or "absent" not in rows.schema()["column"][name]])

    def page(self) -> str:
        return one_run.page(model.build_one(self.run), [])

    def tables(self) -> dict[str, list[list[str]]]:
        """Cells by title, the heads first."""
        return {t.title: [t.columns] + [[c.text for c in line] for line in t.rows]
                for part in run_tables.parts(model.build_one(self.run)) for t in part.tables}

    def line(self, title: str, *first: str) -> dict[str, str]:
        """Cells of the line that begins so, by the heads of columns; of equal heads the last."""
        head, *lines = self.tables()[title]
        (found,) = [line for line in lines if tuple(line[:len(first)]) == first]
        return dict(zip(head, found))


class Kernels(Run):
    MAIN = "tet4 on host, 1000 DoF: MDoF/s"

    def test_names_with_commas_shift_no_columns(self):
        self.kernels(row(4, 5, 8, case='"mesh, ""mit"" Komma"'))
        title = 'tet4 on host, mesh, "mit" Komma, 1000 DoF: MDoF/s'
        self.assertEqual(self.line(title, "`v`")["jacvec"], "0.200 (0.125–0.250)~")

    def test_a_winner_where_intervals_part_alone(self):
        """Of a and b intervals overlap in jacvec and not in residual, where only b is reproducible; c failed."""
        self.kernels(
            row(0.95, 1.0, 1.05, variant="a", operation="residual", deterministic=0, ceiling_share=1.0),
            row(1.9, 2.0, 2.1, variant="b", operation="residual", ceiling_share=0.5),
            row(0.95, 1.0, 1.15, variant="a", ceiling_share=1.0),  # with the same bits by luck
            row(1.1, 1.2, 1.3, variant="b", ceiling_share=1 / 1.2),
            lost("check_failed", variant="c", operation="residual"), lost("out_of_memory", variant="c"),
            row(0.9, 0.9, 0.9, variant="bound", ceiling_share=1.0 / 0.9))  # its name up to schema 2
        a, b, c, bound = (self.line(self.MAIN, f"`{name}`") for name in ("a", "b", "c", "element_only"))
        self.assertEqual((a["residual"], a["jacvec"]), ("**1.00 (0.952–1.05)**", "1.00 (0.870–1.05)"))
        self.assertEqual((b["residual"], b["jacvec"]), ("0.500 (0.476–0.526)", "0.833 (0.769–0.909)"))
        self.assertEqual((c["residual"], c["jacvec"], c["bitwise reproducible"]), ("check_failed", "out_of_memory", ""))
        self.assertEqual((a["bitwise reproducible"], b["bitwise reproducible"]), ("not residual", "yes"))
        self.assertEqual((a["memory, B/DoF"], a["own memory, B/DoF"], a["set-up ms"]), ("4", "0", "500"))
        self.assertEqual(bound["jacvec"], "1.11 (1.11–1.11) †")
        self.assertEqual(self.line(self.MAIN, "*ceiling*")["jacvec"], "1.00")
        best = self.line(self.MAIN, "*best reproducible / best of all*")
        self.assertEqual((best["residual"], best["jacvec"]), ("0.500 (0.452–0.553) `b`", "0.833 (0.731–1.05)~ `b`"))
        self.assertIn("†: above its ceiling", self.page())

    def test_all_processes_are_shown(self):
        times = (1.0, 1.1, 1.3)
        self.kernels(*(row(t, t, t, process=i, setup_s=i, error=i * 1e-15) for i, t in enumerate(times, 1)),
                     lost("killed", process=4))
        e = statistics.estimate([t / 1e3 for t in times])
        line = self.line(self.MAIN, "`v`")
        self.assertEqual(line["jacvec"], f"{text.digits(1e-3 / e.value)} ({text.digits(1e-3 / e.high)}–"
                         f"{text.digits(1e-3 / e.low)})~; 1 killed")
        self.assertEqual((line["set-up ms"], line["largest error"]), ("2000", "3.0e-15"))
        self.assertIn("3 processes, 9 samples each: the interval is between processes", " ".join(self.page().split()))

    def test_a_median_of_two_is_their_middle_and_ceilings_are_of_one_row(self):
        self.kernels(row(1, 1, 1, process=1, setup_s=1, ceiling_share=0.5),
                     row(2, 2, 2, process=2, setup_s=2, ceiling_share=0.25))
        self.assertEqual(self.line(self.MAIN, "`v`")["set-up ms"], "1500")
        self.assertEqual(self.line(self.MAIN, "*ceiling*")["jacvec"], "2.00")

    def test_what_is_noisy_is_marked_and_wins_nothing(self):
        self.kernels(row(1, 1, 1, variant="a", noise="loaded"), row(2, 2, 2, variant="b", noise=""))
        self.assertEqual([self.line(self.MAIN, f"`{name}`")["jacvec"] for name in "ab"],
                         ["1.00 (1.00–1.00)~", "0.500 (0.500–0.500)"])

    def test_a_strategy_that_is_new_has_a_line(self):
        self.kernels(row(1, 1, 1, variant="my_own"), row(2, 2, 2, variant="patch"))
        self.assertEqual([line[0] for line in self.tables()[self.MAIN][1:3]], ["`patch`", "`my_own`"])

    def test_precisions_are_compared_and_not_mixed(self):
        self.kernels(row(3.8, 4, 4.2), row(1.9, 2, 2.1, precision="mixed", error=3e-6),
                     row(0.95, 1, 1.05, precision="single", error=4e-6))
        line = self.line("tet4 on host, 1000 DoF: jacvec in each precision, MDoF/s", "`v`")
        self.assertEqual(list(line.items())[1:], [
            ("double", "0.250 (0.238–0.263)"), ("mixed", "0.500 (0.476–0.526)"), ("single", "1.00 (0.952–1.05)"),
            ("mixed / double", "2.00 (1.81–2.21)"), ("single / double", "4.00 (3.62–4.42)"),
            ("error mixed", "3.0e-06"), ("error single", "4.0e-06")])
        self.assertEqual(self.line(self.MAIN, "`v`")["jacvec"], "0.250 (0.238–0.263)")
        self.assertFalse([title for title in self.tables() if "over meshes" in title])

    def test_laws_and_conditions_are_compared_and_not_mixed(self):
        self.kernels(row(2, 2, 2, operation="residual", hardening="linear", condition="burst", operand="random"),
                     row(4, 4, 4, operation="residual", hardening="voce", condition="burst", operand="random"),
                     row(8, 8, 8, operation="residual", hardening="linear", condition="sustained", operand="random"),
                     row(1, 1, 1, operation="residual", hardening="linear", condition="burst", operand="smooth"),
                     row(5, 5, 5, operation="residual", hardening="linear", condition="sustained", operand="smooth"))
        line = self.line("tet4 on host, 1000 DoF: laws of hardening, MDoF/s", "`v`")
        self.assertEqual((line["residual linear"], line["residual voce"]),
                         ("0.500 (0.500–0.500)", "0.250 (0.250–0.250)"))
        line = self.line("tet4 on host, 1000 DoF: burst and other conditions, MDoF/s", "`v`")
        self.assertEqual([line[name] for name in ("residual burst", "sustained / burst", "smooth / burst",
                                                  "sustained, smooth")],
                         ["0.500 (0.500–0.500)", "0.250 (0.250–0.250)", "2.00 (2.00–2.00)", "0.200 (0.200–0.200)"])
        self.assertEqual(self.line(self.MAIN, "`v`")["residual"], "0.500 (0.500–0.500)")

    def test_energies_at_each_size_that_has_any(self):
        self.kernels(row(1, 1, 1, nj_per_dof=23.456), row(1, 1, 1, nj_per_dof=7.5, operation="jacvec_elastic"),
                     row(1, 1, 1, n_dof=2000, nj_per_dof=""), row(1, 1, 1, variant="w", nj_per_dof=""))
        title = "tet4 on host, 1000 DoF: energy, nJ/DoF"
        self.assertEqual(self.tables()[title], [["strategy", "jacvec_elastic", "jacvec"], ["`v`", "7.50", "23.5"]])
        self.assertEqual([t for t in self.tables() if "energy" in t], [title])

    def test_all_meshes(self):
        """Other meshes than cubes have a table at each size, with the ratio to the box of nearest size."""
        self.kernels(*(row(t, t, t, case=case, order=order, precision=precision, n_dof=n, plastic=plastic)
                       for case, order, precision, n, t, plastic in (
                           ("box5-distorted", "auto", "double", 1000, 1, 1),
                           ("box9-distorted", "auto", "double", 3000, 1, 1),
                           ("irregular", "auto", "double", 2500, 1, 1), ("irregular", "auto", "double", 1200, 2, 1),
                           ("irregular", "random", "double", 1200, 4, 1), ("irregular", "auto", "double", 1200, 1, 0.5),
                           ("irregular", "auto", "mixed", 1200, 1, 1),
                           ("box5x6x9-distorted", "auto", "double", 1100, 1, 1))))
        near = self.line("tet4 on host, irregular, 1200 DoF, and the box of 1000 DoF: MDoF/s", "`v`")
        self.assertEqual((near["jacvec"], near["of the box"]), ("0.600 (0.600–0.600)", "0.600 (0.600–0.600)"))
        far = self.line("tet4 on host, irregular, 2500 DoF, and the box of 3000 DoF: MDoF/s", "`v`")
        self.assertEqual((far["jacvec"], far["of the box"]), ("2.50 (2.50–2.50)", "0.833 (0.833–0.833)"))
        for title in ("box5x6x9, 1100 DoF, and the box of 1000 DoF: MDoF/s",
                      "irregular, 1200 DoF: jacvec over node orders, MDoF/s",
                      "irregular, 1200 DoF: jacvec over shares of plastic elements, clustered, MDoF/s"):
            self.assertIn(f"tet4 on host, {title}", self.tables())
        line = self.line("tet4 on host, irregular, 1200 DoF: jacvec in each precision, MDoF/s", "`v`")
        self.assertEqual(line["mixed / double"], "2.00 (2.00–2.00)")
        self.assertEqual(self.line("tet4 on host, 3000 DoF: MDoF/s", "`v`")["jacvec"], "3.00 (3.00–3.00)")

    def test_the_state_of_a_part_stands_beside_as_many_plastic_elements(self):
        self.kernels(*(row(t, t, t, case="bracket_tet4_coarse-refined1", plastic=share, plastic_pattern=pattern)
                       for t, share, pattern in ((2, 0.23, "part"), (1, 0.24, "zones"), (4, 0.25, "scattered"),
                                                 (8, 0.5, "zones"), (8, 1, "clustered"))))
        line = self.line("tet4 on host, bracket_tet4_coarse-refined1, 1000 DoF: the state of a part and shares of plastic "
                         "elements, MDoF/s", "`v`")
        self.assertEqual({k: v for k, v in line.items() if v}, {
            "strategy": "`v`", "jacvec, part": "0.500 (0.500–0.500)", "scattered / part": "0.500 (0.500–0.500)",
            "zones / part": "2.00 (2.00–2.00)"})

    def test_set_ups_are_repaid(self):
        """9 / (4 - 2) = 4.5 products against element_atomic. The matrix takes a second less per product and is set up
        and assembled 20 - 9 + 8 - 1 = 18 s later than patch, of which it is repaid after 18."""
        lines = []
        for strategy, set_up, product, material in (("element_atomic", 0, 4, 1), ("patch", 9, 2, 1),
                                                    ("element_team", 0, 2.4, 1), ("element_warp", 1, 5, 1),
                                                    ("assembled_bsr", 20, 1, 8)):
            for operation, t in (("jacvec", product), ("material", material)):
                t *= 1e3
                lines.append(row(t, t, t, variant=strategy, setup_s=set_up, operation=operation))
        self.kernels(*lines)
        found = {line[0]: line[3:] for line in self.tables()["tet4 on host, 1000 DoF: set-up and break-even"][1:]}
        self.assertEqual(found, {
            "`element_atomic`": ["0", "", "", "", ""], "`patch`": ["4", "", "5", "", ""],
            "`element_team`": ["0", "", "0", "", ""], "`element_warp`": ["0", "", "", "", ""],
            "`assembled_bsr`": ["20", "", "9", "", ""]})
        read = run_kernels.Kernels(model.build_one(self.run))
        (scene,) = read.find()
        self.assertEqual(run_kernels.repaid(read, scene, "jacvec", "assembled_bsr", "patch").number, 18)

    def test_columns_stand_below_each_other(self):
        self.kernels(row(1, 1, 1), row(2, 2, 2, variant="patch_ordered"))
        lengths = {len(line) for line in self.page().splitlines() if line.startswith("|")}
        self.assertEqual(len(lengths), 1)


def ranks(n: int, strategy: str, operation: str, median: float = 0, low: float = 0, high: float = 0, moved: float = 0,
          **changed) -> dict:
    by = "threads" if n == 1 else "nccl"
    of = row if median else lambda *_, **more: lost("out_of_memory", **more)
    return of(low, median, high, **{"ranks": n, "variant": strategy, "operation": operation, "bytes_moved": moved,
                                    "case": f"strong-1x1x{n}-{by}-box4x4x4", "threads": 1, "order": "rcm"} | changed)


class Scaling(Run):
    def test_compares_with_one_rank(self):
        """On 4 ranks a hides a quarter of its exchange; of b intervals with and without it overlap; c has no times."""
        self.kernels(ranks(1, "a", "jacvec", 8, 7, 9), ranks(4, "a", "jacvec", 4, 3.9, 4.1),
                     ranks(4, "a", "jacvec_local", 2.5, 2.4, 2.6), ranks(1, "b", "jacvec", 8, 7, 9),
                     ranks(4, "b", "jacvec", 3, 2.9, 3.1), ranks(4, "b", "jacvec_local", 2.8, 2.7, 2.95),
                     ranks(1, "b", "gmres_new", 9, 9, 9), ranks(4, "b", "gmres_new", 6, 5, 8),
                     ranks(1, "c", "jacvec", 8, 8, 8), ranks(4, "c", "jacvec"),
                     ranks(4, "none", "exchange", 2, 1.9, 2.1, 8e6), ranks(4, "none", "reduce1", 5e-3, 4e-3, 6e-3, 12),
                     ranks(4, "none", "reduce32", 8e-3, 7e-3, 9e-3, 384), kind="scaling.csv")
        title = "tet4 on host, strong: 1000 DoF in all"
        self.assertEqual(self.tables()[title][0], [
            "strategy", "operation", "1 rank, ms", "4 ranks, ms", "speed-up on 4", "communication on 4",
            "exchange hidden on 4"])
        self.assertEqual(list(self.line(title, "`a`").values())[2:], [
            "8.00 (7.00–9.00)~", "4.00 (3.90–4.10)", "2.00 (1.71–2.31)~", "38 % (33 to 41)", "25 % (11 to 38)"])
        self.assertEqual(list(self.line(title, "`b`", "`jacvec`").values())[4:], [
            "2.67 (2.26–3.10)~", "cannot tell, at most 13 %", "cannot tell, at least 79 %"])
        self.assertEqual(list(self.line(title, "`b`", "`gmres_new`").values())[4:], ["1.50 (1.12–1.80)~", "", ""])
        self.assertEqual(list(self.line(title, "`c`").values())[2:], ["8.00 (8.00–8.00)", "out_of_memory", "", "", ""])
        self.assertEqual([line[2:] for line in self.tables()[f"{title}: exchange and sums"][1:]], [
            ["4", "1000", "8000000", "2000 (1900–2100)", "4.00", "4.00"],
            ["4", "1000", "8", "5.00 (4.00–6.00)~", "", ""],
            ["4", "1000", "256", "8.00 (7.00–9.00)~", "0.0320", "0.0480"]])
        self.assertIn("d, 1 thread per rank, rcm order.", self.page())

    def test_meshes_and_sizes_are_told_apart(self):
        lines = []
        for mesh, n, one, two in (("irregular", 5000, 8, 4), ("irregular", 9000, 9, 6),
                                  ("bracket_tet4_coarse-refined1", 7000, 5, 4), ("box4x4x4", 375, 3, 2)):
            for r, t in ((1, one), (2, two)):
                case = f"strong-1x1x{r}-threads-{mesh}"
                lines.append(ranks(r, "a", "gmres_cgs2", t, t, t, case=case, n_dof=n))
        self.kernels(*lines, kind="scaling.csv")
        gains = {title: self.line(title, "`a`")["speed-up on 2"] for title in self.tables()}
        self.assertEqual(gains, {f"tet4 on host, strong: {title} DoF in all": gain for title, gain in (
            ("irregular, 5000", "2.00 (2.00–2.00)"), ("irregular, 9000", "1.50 (1.50–1.50)"),
            ("bracket_tet4_coarse-refined1, 7000", "1.25 (1.25–1.25)"), ("375", "1.50 (1.50–1.50)"))})

    def test_weak_boxes_of_one_size_per_rank_are_one_table(self):
        self.kernels(*(ranks(r, "a", "gmres_cgs2", t, t, t, case=f"weak-1x1x{r}-threads-box4x4x{4 * r}", n_dof=n)
                       for r, t, n in ((1, 1, 375), (2, 1.25, 675))), kind="scaling.csv")
        self.assertEqual(self.line("tet4 on host, weak: 375 DoF per rank", "`a`")["efficiency on 2"],
                         "0.800 (0.800–0.800)")

    def test_points_that_were_killed_have_a_status(self):
        self.kernels(lost("killed", ranks=2, operation="jacvec", case="weak-1x1x2-threads-box4x4x8", threads=0),
                     kind="scaling.csv")
        (table,) = self.tables().values()
        self.assertEqual(table[1][:3], ["`v`", "`jacvec`", "killed"])

    def test_two_transports_in_one_file_are_refused(self):
        both = [ranks(1, "a", "gmres_cgs2", 1, 1, 1), ranks(4, "a", "gmres_cgs2", 1, 1, 1),
                ranks(4, "a", "gmres_cgs2", 1, 1, 1, case="strong-1x1x4-peer-box4x4x4")]
        self.kernels(*both[:2], kind="scaling.csv")
        self.assertTrue(self.page())
        self.kernels(*both, kind="scaling.csv")
        with self.assertRaisesRegex(Fault, "scaling.csv: strong-1x1x4-peer-box4x4x4 has 4 ranks as 1x1x4-nccl, too"):
            self.page()
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            code = program.main(["--results", str(self.run.parents[1]), "--run", "m/2026-01-02-c1"])
        self.assertEqual((code, len(said.getvalue().splitlines())), (2, 1))

    def test_a_case_of_another_form_is_a_line(self):
        for case, said in (("foo", "case 'foo': is not like"), ("weak-1x1x4-nccl-part", "mesh 'part': of one size")):
            self.kernels(ranks(4, "a", "gmres_cgs2", 1, 1, 1, case=case), kind="scaling.csv")
            with self.assertRaisesRegex(Fault, f"scaling.csv: {said}"):
                self.page()


class Solves(Run):
    SOLVE = dict(krylov="cg", precondition="multigrid", newton_iterations=20, krylov_iterations=600, plastic="",
                 plastic_pattern="", case="box3-stretched-fixed", n_dof=192, variant="patch")

    def test_solves_and_their_phases(self):
        self.kernels(row(90, 100, 110, operation="solve", **self.SOLVE), row(1, 2, 3, operation="precondition_setup",
                                                                              **self.SOLVE),
                     row(20, 20, 20, operation="material", **self.SOLVE),
                     row(40, 40, 40, operation="jacvec", **self.SOLVE),
                     row(30, 30, 30, operation="exchange", **self.SOLVE),
                     lost("killed", operation="solve", **self.SOLVE | {"variant": "node_csr"}), kind="solves.csv")
        title = "box3-stretched-fixed, tet4 on host"
        line = self.line(title, "`patch`")
        self.assertEqual([line[name] for name in ("preconditioner", "ranks", "Newton", "Krylov", "set-up", "solve",
                                                  "preconditioner's set-up", "one Newton iteration")],
                         ["multigrid", "1", "20", "600", "500", "100 (90.0–110)", "2.00 (1.00–3.00)~", "5.00"])
        self.assertEqual(self.line(title, "`node_csr`")["solve"], "killed")
        phases = self.line(f"{title}: one Newton iteration", "`patch`")
        self.assertEqual((phases["`material`"], phases["`jacvec`"], phases["the strategy's share"]),
                         ("1.00", "2.00", "60 %"))
        self.assertIn("192 DoF, d, 2 threads. Milliseconds.", self.page())


    def test_jacobians_are_lines_of_their_own(self):
        self.kernels(*(row(ms, ms, ms, operation="solve", jacobian=jacobian, anderson=depth, **self.SOLVE)
                       for ms, jacobian, depth in ((90, "tangent", 0), (30, "elastic", 5), (60, "difference", 0))),
                     kind="solves.csv")
        lines = self.tables()["box3-stretched-fixed, tet4 on host"][1:]
        self.assertEqual([line[1] for line in lines],
                         ["multigrid", "multigrid, Jacobian difference", "multigrid, Jacobian elastic, Anderson 5"])


class Studies(Run):
    def test_ways_to_store(self):
        self.kernels(row(1, 1, 1, storage="GROUPS", error=1e-15), row(0.5, 0.5, 0.5, storage="FLOATS", error=1e-7),
                     lost("killed", storage="FULL"), kind="storage.csv")
        title = "States and tangents stored in other ways: MDoF/s"
        self.assertEqual([line[2:] for line in self.tables()[title][1:]], [
            ["GROUPS", "", "", "1.00 (1.00–1.00)", "", "1.0e-15", "4"],
            ["FLOATS", "", "", "2.00 (2.00–2.00)", "", "1.0e-07", "4"], ["FULL", "", "", "killed", "", "", ""]])

    def test_ways_to_add_the_transposed_half(self):
        self.kernels(row(1, 1, 1, form="ATOMICS", case="box6"), row(0.5, 0.5, 0.5, form="GATHER", case="box6"),
                     row(2, 2, 2, form="ATOMICS", case="irregular900", n_dof=900),
                     lost("check_failed", form="COLORS", case="irregular900"), kind="forms.csv")
        title = "The transposed half of a symmetric matrix added in other ways: MDoF/s"
        self.assertEqual([line[1:6] for line in self.tables()[title][1:]], [
            ["box", "`v`", "ATOMICS", "", "1.00 (1.00–1.00)"], ["box", "`v`", "GATHER", "", "2.00 (2.00–2.00)"],
            ["irregular", "`v`", "ATOMICS", "", "0.450 (0.450–0.450)"],
            ["irregular", "`v`", "COLORS", "", "check_failed"]])

    def test_profile(self):
        self.write("profile.csv", [dict(schema=2, commit="c1", machine="m", backend="cuda", device="G", variant="patch",
                                        element="hex8", order="auto", operation="jacvec", status="ok",
                                        n_dof=1000, kernel="patch_jacvec_hex8", seconds=2e-5, registers=64,
                                        spilled_accesses=0, block_bytes=1024, warps_fit=0.5, warps_active=0.456,
                                        memory_bytes=59000, bytes_moved=39000, flop=341000, atomic_lanes=23000,
                                        atomic_sectors=8000, mesh="box6-distorted", level1_busy=0.93, issue_busy=0.4)])
        self.assertEqual(self.tables()["hex8, box6-distorted, 1000 DoF, auto order: what kernels of products use"][1], [
            "`patch_jacvec_hex8`", "20.0", "64", "0", "1024", "50 %", "46 %", "59", "39", "341", "23.0", "8.00", "93 %", "", "",
            "40 %"])

    def test_time_by_kernel(self):
        """Means over GPUs; a category's kernels in graphs and out of them are one."""
        row = dict(schema=1, commit="c1", machine="m", backend="cuda", device="G", variant="patch", element="hex8",
                   n_dof=1000, precondition="multigrid", ranks=2, transport="nccl", graphs=1, status="ok", busy_s=0.8,
                   span_s=1, solve_s=1.5, untraced_s=1, launches=10, seconds=0.1, alone_s=0, kernel="k")
        self.write("communication.csv", [
            row | dict(gpu=0, category="halo", in_graph=0, busy_share=0.125, span_share=0.1, alone_s=0.05),
            row | dict(gpu=0, category="halo", in_graph=1, busy_share=0.125, span_share=0.1),
            row | dict(gpu=0, category="products", in_graph=1, busy_share=0.75, span_share=0.6),
            row | dict(gpu=1, category="products", in_graph=1, busy_share=1, span_share=0.8),
            row | dict(ranks=1, transport="", graphs=0, gpu=0, category="other", in_graph=0, busy_share=1, span_share=0.8)])
        self.assertEqual(self.tables()["hex8, 1000 DoF, multigrid: time by kernel"], [
            ["strategy", "ranks", "by", "graphs", "halo", "products", "other", "communication", "alone", "idle", "launches",
             "of communication", "solve ms", "slower by tracing"],
            ["`patch`", "1", "", "no", "", "", "100.0 %", "0.0 %", "0.0 %", "20.0 %", "10", "0", "1000", "1.50"],
            ["`patch`", "2", "NCCL", "yes", "12.5 %", "87.5 %", "", "10.0 %", "2.5 %", "20.0 %", "20", "10", "1000", "1.50"]])


class Program(Run):
    def make(self) -> tuple[int, list[str], str]:
        out, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            code = program.main(["--results", str(self.run.parents[1]), "--run", "m/2026-01-02-c1"])
        return code, [pathlib.Path(line).name for line in out.getvalue().splitlines()], said.getvalue()

    def make_of_plenty(self) -> tuple[list[str], str]:
        """Names of what is made in a folder with figures of another day, and what is said."""
        self.kernels(*[line for line in small.plenty() if "krylov" not in line])
        (self.run / "left-out.txt").write_text("host tet4, 1 DoF\nhost hex8, 1 DoF\n")
        (self.run / "figures").mkdir()
        (self.run / "figures" / "of-another-day.svg").write_text("")
        code, made, said = self.make()
        self.assertEqual((code, made[0]), (0, "table.md"))
        table = (self.run / "table.md").read_text()
        self.assertIn("# hex8 on cuda, 6440067 DoF: GDoF/s\n", table)
        self.assertIn("Left out for time: host tet4, 1 DoF; host hex8, 1 DoF.", table)
        self.assertEqual([p.name for p in self.run.iterdir() if p.name.startswith(".")], [])
        return made, said

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is missing")
    def test_writes_a_table_and_figures_into_the_folder(self):
        made, said = self.make_of_plenty()
        self.assertEqual(said, "")
        self.assertIn("throughput-h200.svg", made)
        self.assertNotIn("of-another-day.svg", made)

    def test_without_gnuplot_a_table_and_one_line(self):
        with mock.patch.dict("os.environ", {"PATH": self.folder.name}):
            made, said = self.make_of_plenty()
        self.assertEqual(made, ["table.md"])
        self.assertEqual(said, "report: gnuplot is missing: figures are left out (apt-get install gnuplot-nox)\n")
        self.assertFalse((self.run / "figures").exists())

    def test_without_tools_one_line_each_and_the_table(self):
        self.kernels(*(line | {"process": n} for line in small.plenty() if "krylov" not in line for n in (1, 2)))
        with mock.patch.object(model, "statistics", None), mock.patch("shutil.which", return_value=None):
            code, made, said = self.make()
        self.assertEqual((code, made), (0, ["table.md"]))
        self.assertRegex(said, r"^report: gnuplot is missing: .*\nreport: NumPy and SciPy are missing: .*\n$")

    def test_a_folder_that_is_not_there(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            code = program.main(["--results", str(self.run.parents[1]), "--run", "m/none"])
        self.assertEqual(code, 2)
        self.assertIn("m/none: there is no such folder", said.getvalue())

    def test_the_first_tables_fit_a_terminal(self):
        self.kernels(*[line for line in small.plenty() if "krylov" not in line])
        shown = one_run.first_tables(model.build_one(self.run))
        self.assertIn("hex8 on cuda, 6440067 DoF: GDoF/s\n| strategy ", shown)
        self.assertLessEqual(max(map(len, shown.splitlines())), 160)


if __name__ == "__main__":
    unittest.main()
