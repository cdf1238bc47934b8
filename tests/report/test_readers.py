"""Which claims read which experiment, and that the points say what their rows will have."""

import dataclasses
import math
import pathlib
import unittest

from report import rows
from report.claim import read_claims
from runner import experiments, points, readers, studies


class Readers(unittest.TestCase):
    def setUp(self):
        self.known = {claim.name: claim for claim in read_claims()}

    def reads(self, name: str, point: points.Point) -> bool:
        return readers.reads(self.known[name], experiments.Task("", "", point, 1, 1))

    def test_sides_and_sizes(self):
        box = points.Kernels("cuda", "tet4", "1000000")
        self.assertTrue(self.reads("patch_over_matrix", box))
        self.assertFalse(self.reads("patch_over_matrix", points.Kernels("cuda", "tet4", "100000")))
        self.assertFalse(self.reads("patch_over_matrix", points.Kernels("host", "tet4", "1000000")))
        self.assertFalse(self.reads("gather_hex8", box))
        self.assertFalse(self.reads("four_gpus_small", box))

    def test_one_side_is_enough(self):
        voce = points.Kernels("cuda", "hex8", "6400000", special="voce")
        self.assertTrue(self.reads("iterated_return", voce))
        self.assertFalse(self.reads("patch_over_matrix", voce))  # neither its law nor its operations
        self.assertTrue(self.reads("floats", points.Kernels("cuda", "hex8", "6400000", special="single")))

    def test_ranks_cases_and_energy(self):
        self.assertTrue(self.reads("four_gpus_small", points.Scaling("cuda", "hex8", "300000", ranks=4)))
        self.assertTrue(self.reads("communication_large", points.Scaling("cuda", "hex8", "50000000", ranks=2)))
        self.assertFalse(self.reads("communication_large", points.Scaling("cuda", "hex8", "50000000", ranks=1)))
        self.assertTrue(self.reads("newton_iteration", points.Solves("cuda", "hex8", "stretched46", "multigrid")))
        self.assertFalse(self.reads("newton_iteration", points.Solves("cuda", "hex8", "stretched46", "block-jacobi")))
        boxes = [points.Kernels("cuda", "hex8", "6000000", special=special) for special in ("", "energy")]
        self.assertEqual([self.reads("energy_over_matrix", box) for box in boxes], [False, True])

    def test_jacobians(self):
        def solve(jacobian: str = "", depth: int = 0) -> points.Solves:
            return points.Solves("cuda", "hex8", "stretched46", "multigrid", jacobian=jacobian, anderson=depth)

        ways = [solve(), solve("", 5), solve("difference"), solve("elastic"), solve("elastic", 5)]
        for name, wanted in (("newton_iteration", [True, False, False, False, False]),
                             ("difference_jacobian", [True, False, True, False, False]),
                             ("anderson_time", [False, False, False, True, True]),
                             ("frozen_tangent", [True, False, False, False, True])):
            with self.subTest(name=name):
                self.assertEqual([self.reads(name, way) for way in ways], wanted)

    def test_studies(self):
        self.assertTrue(self.reads("anderson_newton", studies.Anderson("host", "hex8", "strip", depth="3")))
        self.assertFalse(self.reads("anderson_newton", studies.Anderson("host", "hex8", "strip", "elastic", "3")))
        self.assertTrue(self.reads("redundancy_tet4", studies.Profile("cuda", "tet4", "1000000")))

    def test_columns_are_those_of_files(self):
        _, tasks, _ = readers.paper()
        self.assertGreater(len(tasks), 100)
        for task in tasks:
            kind = readers.FILES.get(task.point.program)
            if kind:
                self.assertLessEqual(set(readers.columns_of(task.point)), set(rows.columns_of(kind)), task.point.name())

    def test_smooth_operands_take_strategies_that_there_are(self):
        smooth, all_of_them = points.Kernels("cuda", "hex8", "6400000", special="smooth+sustained"), readers.CARD.strategies
        chosen = smooth.strategies(readers.CARD)
        self.assertLess(len(chosen), len(all_of_them))
        self.assertLess({*chosen}, {*all_of_them})
        self.assertIn("patch", points.Kernels("cuda", "hex8", "1000", special="slower2").strategies(readers.CARD))
        by_user = dataclasses.replace(readers.CARD, strategies=("two_phase",), chose_strategies=True)
        self.assertEqual(smooth.strategies(by_user), ("two_phase",))
        self.assertIn("--benchmark_min_time=0.01", smooth.command(
            dataclasses.replace(readers.CARD, programs={"kernels": pathlib.Path("kernels")}),
            points.Process(1, 1, chosen), points.Files(pathlib.Path("rows.csv"))))

    def test_cases_are_named_as_by_solves(self):
        known = {str(row["case"]) for path in pathlib.Path("results").glob("*/*/solves.csv") for row in rows.read(path)}
        for size in ("bending64", "stretched46", "bracket", "bracket_linear"):
            self.assertIn(readers.case_of(points.Solves("cuda", "hex8", size)), known)
        irregular = points.Solves("cuda", "tet4", "stretched@300000", "multigrid")
        self.assertEqual(readers.case_of(irregular), "irregular300000-stretched-steps")

    def test_tubes_and_beams_have_the_same_nodes_for_all_elements(self):
        for size, case, cells in (("tube8", "tube8-steps", (8, 16, 4)), ("tube8_linear", "tube8-linear", (8, 16, 4)),
                                  ("beam4", "beam4-linear", (32, 4, 4))):
            linear, quadratic = (points.Solves("host", e, size, "multigrid") for e in ("tet4", "tet10"))
            self.assertEqual((readers.case_of(linear), readers.case_of(quadratic)), (case, case))
            self.assertEqual((linear.cells(), tuple(2 * n for n in quadratic.cells())), (cells, cells))
            self.assertEqual(linear.dofs(False), 3 * math.prod(n + 1 for n in cells))
            self.assertEqual(points.parse(quadratic.name()), quadratic)

    def test_brackets_have_the_same_nodes_for_elements_of_a_shape(self):
        for element, made_of in (("tet4", None), ("tet10", "bracket1_linear"), ("hex27", "bracket1_linear")):
            point = points.Solves("host", element, "bracket2_linear", "multigrid")
            self.assertEqual((point.load(), readers.case_of(point), point.mesh(readers.CARD)),
                             ("linear", "bracket2-linear", pathlib.Path(element) / "bracket2.msh"))
            self.assertEqual(point.problem(readers.CARD)[0], "bench/problems/bracket.json")
            self.assertEqual(points.parse(point.name()), point)
            coarser = point.coarser()
            self.assertEqual(coarser and (coarser.element, coarser.size),
                             made_of and (points.LINEAR[element], made_of))
        coarse = points.Solves("host", "hex27", "bracket1_linear", "multigrid").coarser()
        self.assertEqual(str(coarse.mesh(readers.CARD)), points.COARSE.format(shape="hex8"))

    def test_what_experiments_need(self):
        listed, tasks, _ = readers.paper()
        told = {e.name: readers.needs_of([t for t in tasks if t.experiment == e.name]) for e in listed}
        self.assertEqual(readers.needs_of([t for t in tasks if t.experiment == "socket"], 16), "a host of 16 cores")
        self.assertIn("| a host of 16 cores |", next(line for line in readers.table() if line.startswith("| `socket`")))
        for name, needs in (("sizes", "a GPU or a host"), ("cold", "a GPU"), ("socket", "a host"), ("anderson", "a host"),
                            ("strong-by-nccl", "2 to 8 GPUs"), ("weak", "1 to 8 GPUs or a host"),
                            ("peers", "a GPU or a host, Gmsh for some, PETSc"), ("profile", "a GPU, Nsight Compute"),
                            ("communication", "1 to 4 GPUs, CUPTI")):
            self.assertEqual(told[name], needs, name)
        self.assertEqual([name for name, needs in told.items() if needs == "-"], ["first-size"])  # of the sweep alone
        head, *lines = readers.table()
        self.assertTrue(all(line.count(" | ") == head.count(" | ") for line in lines if not line.startswith("|---")))

    def test_experiments_know_the_claims_that_read_them(self):
        _, tasks, _ = readers.paper()
        told = readers.readers(tasks, list(self.known.values()))
        self.assertEqual([name for name, names in told.items() if "contact" in names], ["contact"])
        self.assertIn("fastest_tangents", told["sizes"])
        self.assertEqual(told["orthogonality"], [])
