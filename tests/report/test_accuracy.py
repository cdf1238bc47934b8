"""The error over time: references, interpolation, which strategy is first."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import tempfile
import unittest

from report import accuracy, bracket, model, richardson, tube
from report.accuracy_figures import error_over_time
from report.quantities import QUANTITIES
from report.render.accuracy import accuracy_table
from report.rows import Fault
from tests.report import small

COLUMNS = list(dict.fromkeys([*small.SOLVES, "work", "noise"]))
SOLVE = {"krylov": "cg", "precondition": "multigrid", "jacobian": "tangent", "anderson": 0, "newton_iterations": 9,
         "krylov_iterations": 90, "plastic": "", "plastic_pattern": "", "backend": "host", "device": "CPU", "threads": 1,
         "setup_s": 0.0}


def solve(case: str, element: str, work: float, seconds: float, variant: str = "patch") -> dict:
    n = 3 * (accuracy.steps_of(case) + 1)**3
    return small.row(seconds, operation="solve", case=case, element=element, n_dof=n, work=repr(work), variant=variant, **SOLVE)


class References(unittest.TestCase):
    def test_a_tube_that_does_not_yield_is_lames(self):
        elastic = dataclasses.replace(tube.read(), sigma_y=1e9, pressures=(150,))
        self.assertLess(abs(tube.work(elastic) / elastic.lame() - 1), 1e-9)

    def test_a_plastic_tube_gives_more_and_its_elements_are_fine_enough(self):
        told = tube.read()
        elastic = told.lame() * (told.pressures[-1] / told.pressures[0])**2
        self.assertGreater(tube.work(told), 1.2 * elastic)
        self.assertLess(abs(tube.work(told) / tube.work(told, 2 * tube.ELEMENTS) - 1), tube.ACCURACY)

    def test_beyond_the_limit_load_there_is_no_answer(self):
        told = tube.read()
        self.assertLess(told.pressures[-1], told.limit())
        with self.assertRaises((ArithmeticError, ValueError)):
            tube.work(dataclasses.replace(told, pressures=(*told.pressures, 1.05 * told.limit())), 20)

    def test_extrapolation_is_exact_for_one_power_and_refuses_what_does_not_converge(self):
        self.assertAlmostEqual(richardson.extrapolated({n: 5 - 3 / n**2 for n in (4, 8, 16)}), 5, 12)
        self.assertIsNone(richardson.extrapolated({4: 1.0, 8: 1.1, 16: 1.3}))
        self.assertIsNone(richardson.extrapolated({4: 1.0, 8: 1.2, 16: 1.1}))
        self.assertIsNone(richardson.extrapolated({8: 1.0, 16: 1.1}))

    def result(self, folder: pathlib.Path, levels: int, energy: float, **other) -> None:
        told = {"problem": "bracket", "mesh": f"bracket{levels}.msh", "element": "tet10", "status": "converged",
                "steps": [{"elastic_energy": energy, "plastic_gp": 0}]} | other
        (folder / f"bracket{levels}-tet10.json").write_text(json.dumps(told))

    def test_a_bracket_needs_four_meshes_and_its_uncertainty_is_between_two_extrapolations(self):
        with tempfile.TemporaryDirectory() as name:
            run = pathlib.Path(name) / "m/2026-11-28-c1"
            run.mkdir(parents=True)
            energy = {n: 5 - 0.3 / 4**n - 0.1 / 2**n for n in (1, 2, 3, 4)}
            ends = [richardson.extrapolated({2**n: 2 * energy[n] for n in some}) for some in ((1, 2, 3), (2, 3, 4))]
            for n in (1, 2, 3):
                self.result(run, n, energy[n])
            self.assertIsNone(bracket.reference("tet4", pathlib.Path(name)))
            self.result(run, 4, energy[4])
            bracket.reference.cache_clear()
            found = bracket.reference("tet4", pathlib.Path(name))
            self.assertEqual(found, bracket.reference("tet10", pathlib.Path(name)))
            self.assertIsNone(bracket.reference("hex8", pathlib.Path(name)))  # another body
            self.assertAlmostEqual(found.value, ends[1], 12)
            self.assertAlmostEqual(found.uncertainty, abs(ends[0] / ends[1] - 1), 12)
            self.assertLess(found.error(10), found.uncertainty)  # what they tend to
            self.assertGreater(found.error(2 * energy[4]), found.uncertainty)
            with self.assertRaisesRegex(Fault, "Hex27: no four meshes"):
                bracket.lines("../", pathlib.Path(name))
            for other in ({"status": "running"}, {"mesh": "bracket2.msh.gz"}, {"element": "hex27"}, {"steps": []},
                          {"steps": [{"elastic_energy": 5, "plastic_gp": 1}]}):
                self.result(run, 4, energy[4], **other)
                with self.assertRaises(Fault):
                    bracket.work_of(run / "bracket4-tet10.json")

    def test_the_table_of_references_names_its_files(self):
        head, _, *body = bracket.lines("../")
        self.assertEqual((head.count("refinement"), [line.split(" | ")[0] for line in body]), (4, ["| Tet10", "| Hex27"]))
        for n, link in enumerate(re.findall(r"\]\(\.\./([^)]+)\)", body[0]), 1):
            self.assertEqual(bracket.work_of(model.ROOT / link)[0], n)

    def test_both_bodies_of_the_bracket_are_known_and_they_differ(self):
        tets, hexes = bracket.reference("tet4"), bracket.reference("hex8")
        self.assertLess(max(tets.least, hexes.least), 1e-3)
        self.assertGreater(abs(tets.value / hexes.value - 1), max(tets.least, hexes.least))

    def test_the_error_of_a_row(self):
        told = QUANTITIES["work_error"].of
        value = tube.work(tube.read())
        self.assertAlmostEqual(told({"case": "tube8-steps", "element": "hex8", "work": 0.98 * value}), 0.02, 12)
        self.assertIsNone(told({"case": "tube8-steps", "element": "hex8", "work": None}))
        self.assertIsNone(told({"case": "tube8-steps", "element": "hex8", "work": value * (1 + tube.ACCURACY)}))
        self.assertIsNone(told({"case": "beam8-linear", "element": "hex8", "work": value}))
        for element in accuracy.ELEMENTS:
            reference = bracket.reference(element)
            row = {"case": "bracket2-linear", "element": element, "work": reference.value * (1 - 2 * reference.least)}
            self.assertAlmostEqual(told(row), 2 * reference.least, 9)
            self.assertIsNone(told(row | {"work": reference.value * (1 - 0.9 * reference.least)}))


class Times(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def build(self, lines: list[dict]) -> model.Model:
        run = pathlib.Path(self.folder.name) / "m/2026-11-28-c1"
        run.mkdir(parents=True)
        small.write(run / "solves.csv", COLUMNS, lines)
        return model.build(pathlib.Path(self.folder.name))

    def one(self, lines: list[dict]) -> accuracy.Study:
        study, = accuracy.studies(self.build(lines))
        return study

    def test_times_lie_between_meshes_on_lines_of_logarithms(self):
        value = tube.read().lame()
        study = self.one([solve(f"tube{n}-linear", "hex8", value * (1 - e), t)
                          for n, e, t in ((4, 1e-1, 1.0), (8, 1e-3, 100.0))])
        reached = accuracy.first(study, "hex8", 1e-2)
        self.assertEqual((reached.strategy, reached.is_end, reached.noisy, reached.tied), ("patch", False, False, False))
        self.assertAlmostEqual(reached.seconds, 10, 6)
        self.assertIsNone(accuracy.first(study, "hex8", 1e-4))
        self.assertIsNone(accuracy.first(study, "tet4", 1e-2))

    def test_the_coarsest_mesh_is_an_upper_end(self):
        study = self.one([solve("tube4-linear", "hex27", tube.read().lame() * 1.001, 2.0)])
        self.assertEqual(accuracy.cell(study, "hex27", 1e-2), "≤ 2.00 s, `patch`")

    def test_an_error_that_changes_its_sign_is_reached_at_the_latest_on_the_finer_mesh(self):
        value = tube.read().lame()
        study = self.one([solve(f"tube{n}-linear", "hex27", value * (1 + e), t)
                          for n, e, t in ((4, 2e-2, 1.0), (8, -1e-3, 100.0))])
        self.assertEqual(accuracy.cell(study, "hex27", 1e-2), "≤ 100 s, `patch`")

    def test_an_error_that_ends_below_what_the_reference_tells_is_an_upper_end(self):
        reference = bracket.reference("tet10")
        study = self.one([solve(f"bracket{n}-linear", "tet10", reference.value * (1 - e), t)
                          for n, e, t in ((1, 2e-2, 1.0), (2, 0.1 * reference.least, 100.0))])
        self.assertEqual(accuracy.cell(study, "tet10", 1e-2), "≤ 100 s, `patch`")

    def test_a_line_has_the_fastest_strategy_of_each_mesh(self):
        value = tube.read().lame()
        study = self.one([solve(f"tube{n}-linear", "hex8", value * (1 - 1 / n**2), t, v)
                          for n, own in ((4, (1.0, 2.0)), (8, (4.0, 3.0))) for v, t in zip(("element_atomic", "patch"), own)])
        self.assertEqual([s.whole.solve.strategy for s in study.least("hex8")], ["element_atomic", "patch"])

    def test_an_error_that_grows_again_is_not_reached(self):
        value = tube.read().lame()
        study = self.one([solve(f"tube{n}-linear", "hex8", value * (1 - e), 1.0 * n)
                          for n, e in ((4, 1e-3), (8, 2e-2))])
        self.assertIsNone(accuracy.first(study, "hex8", 1e-2))

    def test_the_first_strategy_counts_its_set_up(self):
        value = tube.read().lame() * 0.999
        dear = solve("tube4-linear", "tet10", value, 1.0, "assembled_bsr") | {"setup_s": 5.0}
        study = self.one([dear, solve("tube4-linear", "tet10", value, 3.0, "element_atomic")])
        self.assertEqual(accuracy.cell(study, "tet10", 1e-2), "≤ 3.00 s, `element_atomic`")
        self.assertEqual([s.whole.solve.strategy for s in study.least("tet10")], ["element_atomic"])

    def test_noise_and_set_ups_do_not_tell_who_is_first(self):
        value = tube.read().lame() * 0.999
        near, least = (solve("tube4-linear", "tet10", value, 0.1, v) | {"setup_s": t}
                       for v, t in (("patch", 4.0), ("element_atomic", 2.9)))
        study = self.one([near, least,
                          solve("tube4-linear", "hex27", value, 3.0) | {"noise": "loaded"}])
        self.assertEqual(accuracy.cell(study, "tet10", 1e-2), "≤ 3.00 s, `element_atomic`~")
        self.assertEqual(accuracy.cell(study, "hex27", 1e-2), "≤ 3.00 s, `patch`~")

    def test_a_beam_needs_both_quadratic_elements_that_agree(self):
        lines = [solve(f"beam{n}-linear", e, 5 * (1 - c / n**2), 1.0 * n) for n in (2, 4, 8)
                 for e, c in (("tet10", 0.2), ("hex27", 0.1))]
        study = self.one(lines)
        self.assertEqual(set(study.references), set(accuracy.ELEMENTS))
        self.assertAlmostEqual(study.references["tet4"].value, 5, 9)
        self.assertIsNotNone(accuracy.first(study, "tet10", 1e-2))
        self.assertEqual(accuracy.references_of(study.problem, []), {})
        apart = accuracy.Reference(5.0, 2e-3)
        self.assertIsNone(accuracy.time_to(study.solved["tet10"]["patch"], 1e-2, apart.least))

    def test_elements_of_a_bracket_are_held_against_their_own_body(self):
        study = self.one([solve("bracket1-linear", e, bracket.reference(e).value * 0.995, 1.0) for e in accuracy.ELEMENTS])
        for element in accuracy.ELEMENTS:
            self.assertAlmostEqual(study.solved[element]["patch"][0].error, 5e-3, 12)
            self.assertEqual(accuracy.cell(study, element, 1e-2), "≤ 1.00 s, `patch`")
            self.assertEqual(accuracy.cell(study, element, 1e-4), "-")

    def test_an_error_that_the_reference_cannot_tell_is_not_typed(self):
        reference = bracket.reference("hex27")
        row, = accuracy_table(self.build([solve("bracket3-linear", "hex27", reference.value, 1.0)])).rows
        self.assertIn(f"< {100 * reference.least:.1g}", [cell.text for cell in row])

    def test_the_figure_and_the_table_show_every_element(self):
        value = tube.read().lame()
        read = self.build([solve(f"tube{n}-linear", e, value * (1 - 1 / n**2), 0.1 * n, v) for n in (4, 8, 16)
                           for e in accuracy.ELEMENTS for v in ("patch", "assembled_bsr")])
        figure = error_over_time(read, accuracy.studies(read)[0].card)
        self.assertEqual(len(figure.panels[0].lines), 4)
        self.assertEqual(len(figure.panels[0].points), 12)
        self.assertEqual(len(accuracy_table(read).rows), 4)
        self.assertEqual(len(accuracy.lines(read)), 2 + 4)


if __name__ == "__main__":
    unittest.main()
