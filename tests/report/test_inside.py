"""One product within a solve, compared with samples of it; and the claim on it, whose sides are in two files."""

import csv
import gzip
import math
import pathlib
import statistics
import tempfile
import unittest

from report import model, rows
from report.claim import read_claims
from report.inside import insides, to_show
from report.render.inside import inside_table
from report.solve_figures import inside
from report.verdicts import FAILS, HOLDS, MISSING, decide
from tests.report import small

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOX = {"case": "box128-distorted", "n_dof": 6440067, "numbering": "lexicographic"}


def phase(seconds, evaluations: int | str, **changed):
    """Of solves.csv: the products of one solve."""
    of = {"krylov": "cg", "precondition": "multigrid", "newton_iterations": 1, "krylov_iterations": 10,
          "evaluations": evaluations, "plastic": "", "plastic_pattern": "", "case": "box128-bending-linear",
          "n_dof": 6440067, "numbering": "as-is", "operation": "jacvec"}
    return small.row(seconds, 0.01, **{**of, **changed})


def sample(seconds, **changed):
    """Of kernels.csv."""
    return small.row(seconds, 0.01, **{**BOX, "operation": "jacvec_elastic", "operand": "random", **changed})


def write(folder, kernels, solves, name="2026-01-02-c1"):
    run = folder / "m" / name
    run.mkdir(parents=True)
    for kind, columns, some in (("kernels.csv", small.KERNELS, kernels), ("solves.csv", small.SOLVES, solves)):
        if some:
            more = [c for c in ("evaluations", "numbering", "operand") if c in some[0]]
            small.write(run / kind, columns + more, some)
    return run


class Products(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def found(self, kernels, solves):
        write(self.path, kernels, solves)
        return [i for some in insides(model.build(self.path)).values() for i in some]

    def test_time_is_that_of_the_phase_over_its_evaluations(self):
        one, = self.found([sample(2e-4), sample(3e-4, condition="cold")], [phase(3.3e-3, 11)])
        self.assertAlmostEqual(one.product.time.value, 3e-4)
        self.assertAlmostEqual(one.over_burst.value, 1.5)
        self.assertAlmostEqual(one.over_cold.value, 1.0)
        self.assertAlmostEqual(one.over_burst.low, 1.5 * 0.99 / 1.01)  # of one process: both ends combined
        self.assertAlmostEqual(one.over_burst.high, 1.5 * 1.01 / 0.99)

    def test_processes_have_their_own_evaluations_and_are_no_pairs(self):
        kernels = [sample(s, process=i) for i, s in enumerate((1e-4, 1.1e-4, 1.2e-4), 1)]
        solves = [phase(s, n, process=i) for i, (s, n) in enumerate(((2e-3, 10), (2.4e-3, 12), (2.2e-3, 11)), 1)]
        one, = self.found(kernels, solves)
        self.assertEqual([round(m * 1e6) for m in one.product.medians], [200, 200, 200])
        self.assertAlmostEqual(one.over_burst.value, 2e-4 / (1e-4 * 1.1e-4 * 1.2e-4) ** (1 / 3))
        logs = [math.log(s) for s in (1e-4, 1.1e-4, 1.2e-4)]  # Welch: one side does not spread, so t of 2 degrees
        half = 4.302653 * statistics.stdev(logs) / math.sqrt(3)
        self.assertAlmostEqual(one.over_burst.high, one.over_burst.value * math.exp(half), 5)

    def test_of_another_size_it_is_for_each_degree_of_freedom(self):
        one, = self.found([sample(2e-4, n_dof=6000000, case="box125-distorted"), sample(1e-9, n_dof=3000000)],
                          [phase(3e-3, 10)])
        self.assertAlmostEqual(one.over_burst.value, 1.5 * 6000000 / 6440067)

    def test_what_is_not_the_same_product_is_left_out(self):
        def there(of_sample, **of_phase):
            with tempfile.TemporaryDirectory() as folder:
                kernels = [sample(2e-4, **of_sample)] + [sample(2e-4, operation="jacvec")] * bool(of_phase)
                write(pathlib.Path(folder), kernels, [phase(3e-3, of_phase.pop("evaluations", 10), **of_phase)])
                return len(insides(model.build(pathlib.Path(folder))))

        self.assertEqual(there({}), 1)
        for changed in ({"n_dof": 5000000}, {"operation": "jacvec"}, {"variant": "node_csr"}, {"operand": "smooth"},
                        {"numbering": "bisection"}, {"order": "rcm"}, {"precision": "single"}, {"case": "irregular"},
                        {"case": "box127x128x129-distorted"}, {"element": "tet4"}, {"condition": "sustained"}):
            with self.subTest(changed):
                self.assertEqual(there(changed), 0)
        for changed in ({"case": "box128-bending-steps"}, {"evaluations": ""}, {"precision": "mixed"}, {"ranks": 2}):
            with self.subTest(changed):
                self.assertEqual(there({}, **changed), 0)

    def test_matrices_are_compared_within_load_steps(self):
        one, = self.found([sample(2e-4, variant="assembled_bsr", operation="jacvec")],
                          [phase(3e-3, 10, variant="assembled_bsr", case="box128-stretched-steps")])
        self.assertAlmostEqual(one.over_burst.value, 1.5)

    def test_no_ratio_is_formed_across_runs(self):
        write(self.path, [sample(2e-4)], [], "2026-01-02-c1")
        write(self.path, [], [phase(3e-3, 10)], "2026-01-03-c2")
        self.assertEqual(insides(model.build(self.path)), {})
        self.assertIsNone(inside_table(model.build(self.path)))

    def test_table_and_figure_show_it(self):
        write(self.path, [sample(2e-4), sample(4e-4, variant="element_warp")],
              [phase(3e-3, 10), phase(4e-3, 10, variant="element_warp"),
               phase(9e-3, 30, precondition="block-jacobi")])
        built = model.build(self.path)
        cells = {(row[4].text, row[3].text): row[10].number for row in inside_table(built).rows}
        self.assertEqual({key: round(n, 6) for key, n in cells.items()},
                         {("patch", "multigrid"): 1.5, ("warp per element", "multigrid"): 1.0,
                          ("patch", "block-Jacobi"): 1.5})
        self.assertEqual([len(some) for some in to_show(insides(built))], [2])  # with multigrid: it has more strategies
        panel = inside(built, built.cards[0]).panels[0]
        self.assertEqual([round(x, 6) for x, *_ in panel.points], [1.5])  # of strategies with a colour

    def test_committed_rows_give_what_their_files_say(self):
        """Recomputed without the report's reader and model."""
        def lines(path):
            path = path if path.is_file() else path.with_name(path.name + ".gz")
            if not path.is_file():
                return []
            with (gzip.open if path.suffix == ".gz" else open)(path, "rt", newline="") as file:
                return list(csv.DictReader(file))

        for folder in sorted((ROOT / "results").glob("*/*"), reverse=True):
            burst: dict[tuple, list[float]] = {}
            for r in lines(folder / "kernels.csv"):
                told = [r.get(name) for name in ("operation", "order", "plastic", "precision", "condition", "hardening",
                                                 "operand", "status")]
                if told == ["jacvec_elastic", "auto", "1", "double", "burst", "linear", "random", "ok"]:
                    key = (r["backend"], r["variant"], r["element"], r["case"])
                    burst.setdefault(key, []).append(float(r["median_s"]))
            solves: dict[tuple, list[dict]] = {}
            for r in lines(folder / "solves.csv"):
                mesh = r["case"].partition("-")[0]
                key = (r["backend"], r["variant"], r["element"], f"{mesh}-distorted")
                told = [r.get(name) for name in ("operation", "precision", "ranks", "status", "jacobian")]
                if told == ["jacvec", "double", "1", "ok", "tangent"] and r["case"].endswith("-bending-linear") and \
                        r.get("evaluations") and r["element"] in ("tet4", "hex8") and key in burst:
                    solves.setdefault((*key, r["precondition"], r["krylov"]), []).append(r)
            for key, some in solves.items():
                if len(some) == 1:
                    return self.check_committed(folder, some[0], burst[key[:4]])
        self.skipTest("no run has a solve of one process and samples of its mesh")

    def check_committed(self, folder, row, burst):
        there = [i for some in insides(model.build_one(folder)).values() for i in some
                 if (i.product.strategy, i.product.element, i.product.case, i.product.precondition, i.product.krylov) ==
                 (row["variant"], row["element"], row["case"], row["precondition"], row["krylov"])]
        self.assertEqual(len(there), 1, row)
        one, = there
        product = float(row["median_s"]) / int(row["evaluations"])
        self.assertAlmostEqual(one.product.time.value / product, 1.0, 12)
        self.assertAlmostEqual(one.over_burst.value * statistics.geometric_mean(burst) / product, 1.0, 12)


class OfClaims(unittest.TestCase):
    def verdict(self, kernels, solves):
        claim = next(c for c in read_claims() if c.name == "product_within_solve")
        with tempfile.TemporaryDirectory() as folder:
            run = write(pathlib.Path(folder), kernels, solves)
            return decide(claim, "m", [run])

    def test_the_two_sides_are_of_two_files(self):
        v = self.verdict([sample(3e-4)], [phase(3e-3, 10)])
        self.assertEqual(v.verdict, HOLDS)
        self.assertAlmostEqual(v.points[0].ratio.value, 1.0)
        self.assertAlmostEqual(v.points[0].ratio.high, 1.1, 2)  # of one process: within a factor of 1.1
        self.assertEqual(self.verdict([sample(2e-4)], [phase(3e-3, 10)]).verdict, FAILS)

    def test_a_run_without_one_side_says_nothing(self):
        self.assertEqual(self.verdict([], [phase(3e-3, 10)]).verdict, MISSING)
        self.assertEqual(self.verdict([sample(2e-4)], []).verdict, MISSING)

    def test_sides_share_strategy_and_size(self):
        self.assertEqual(self.verdict([sample(3e-4, variant="node_csr")], [phase(3e-3, 10)]).verdict, MISSING)
        self.assertEqual(self.verdict([sample(3e-4, n_dof=6440070)], [phase(3e-3, 10)]).verdict, MISSING)
        self.assertEqual(self.verdict([sample(3e-4, operation="jacvec")], [phase(3e-3, 10)]).verdict, MISSING)

    def test_another_file_is_of_this_quantity_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "claims.toml"
            path.write_text('[one]\nasks = "?"\nsentence = "."\nfile = "solves.csv"\nover_file = "kernels.csv"\n'
                            'quantity = "time"\nselect = {}\nof = {}\nover = {}\nabove = 1.0\nneeds = "rows"\n')
            with self.assertRaisesRegex(rows.Fault, "over_file"):
                read_claims(pathlib.Path(folder))


if __name__ == "__main__":
    unittest.main()
