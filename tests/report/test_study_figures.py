"""Figures of studies: what they show of rows, and that there are none without."""

import pathlib
import shutil
import tempfile
import unittest

from report import figures, gnuplot, model, panels, rows, study_figures
from tests.report import small

HAVE_GNUPLOT = shutil.which("gnuplot") is not None


class Studies(unittest.TestCase):
    """Figures whose rows do not exist do not exist; those of a run whose rows do show them."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.run = pathlib.Path(self.folder.name) / "m" / "2026-01-02-c1"
        self.run.mkdir(parents=True)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, kind: str, lines: list[dict]) -> None:
        small.write(self.run / kind, [c for c in rows.columns_of(kind) if any(c in line for line in lines)
                                      or "absent" not in rows.schema()["column"][c]], lines)

    def drawn(self) -> dict[str, panels.Figure]:
        found = study_figures.all_studies(model.build_one(self.run))
        if HAVE_GNUPLOT:
            self.assertEqual(gnuplot.draw(found, self.run / "f", self.run / "d", ("svg",))[1], [])
        return {f.name: f for f in found}

    def test_none_without_rows(self):
        self.write("kernels.csv", small.plenty()[:5])
        self.assertEqual(self.drawn(), {})

    def test_anderson(self):
        of = dict(schema=1, commit="c1", machine="m", problem="strip", element="hex8", variant="patch", steps=14,
                  krylov=9)
        self.write("anderson.csv", [of | dict(jacobian=j, depth=d, newton=n, status=s) for j, d, n, s in (
            ("tangent", 0, 80, "converged"), ("tangent", 5, 160, "converged"), ("elastic", 0, 3000, "not_converged"),
            ("elastic", 3, 900, "converged"), ("elastic", 5, 600, "converged"))])
        self.write("anderson-history.csv", [dict(element="hex8", jacobian="tangent", depth=d, step=8, iteration=i,
                                                 residual=10.0 ** (-3 * i))
                                            for d, n in ((0, 3), (5, 4)) for i in range(n + 1)])
        drawn = self.drawn()
        self.assertEqual(list(drawn), ["anderson-iterations", "anderson-history"])
        first, over = drawn["anderson-iterations"].panels
        self.assertEqual({line[1]: line[0] for line in first.lines},
                         {panels.PALETTE[0]: [(0, 80), (5, 160)], panels.PALETTE[1]: [(3, 900), (5, 600)]})
        self.assertEqual([w[2] for w in over.words], ["consistent tangent", "elastic, frozen"])
        (history, over) = drawn["anderson-history"].panels
        self.assertEqual([len(line) for line, _ in history.lines], [4, 5])
        self.assertEqual([w[2] for w in over.words], ["0", "5"])

    def test_orthogonality(self):
        of = dict(schema=1, commit="c1", machine="m", problem="bracket_coarse", element="hex8", variant="corner_gather",
                  precondition="none", residual=0.1)
        self.write("orthogonality.csv", [of | dict(orthogonalization=way, basis="double", columns=n, loss=loss)
                                         for way, loss in (("mgs", 1e-12), ("cgs2", 1e-15)) for n in (5, 10)])
        panel, over = self.drawn()["orthogonality"].panels
        self.assertEqual([line for line, _ in panel.lines], [[(5, 1e-12), (10, 1e-12)], [(5, 1e-15), (10, 1e-15)]])
        self.assertEqual({w[2] for w in over.words}, {"modified", "classical twice"})

    def test_shares_of_plastic_elements(self):
        self.write("kernels.csv", [small.row(t * 292008e-9, 0.01, variant=v, plastic=s, plastic_measured=s)
                                   for v, t in (("patch", 1), ("node_csr", 2)) for s in (0, 0.1, 1)] + [
                                       small.row(plastic_pattern="zones", plastic=0.2)])
        panel, _ = self.drawn()["plastic-h200"].panels  # of zones there is one share
        self.assertEqual([[(round(x, 6), round(y, 6)) for x, y in line] for line, _ in panel.lines],
                         [[(0, t), (round(study_figures.share_at(0.1), 6), t), (round(study_figures.share_at(1), 6), t)]
                          for t in (1, 2)])

    def test_the_state_of_a_part_stands_beside_as_many_plastic_elements(self):
        mesh = {"case": "bracket_hex8_coarse-refined3"}
        self.write("kernels.csv", [
            small.row(t * 292008e-9, 0.01, variant=v, plastic=share, plastic_pattern=pattern, **mesh)
            for v, t in (("patch", 1), ("node_csr", 2))
            for pattern, share in (("part", 0.24), ("zones", 0.2), ("scattered", 0.5), ("clustered", 1))] + [
                small.row(plastic_pattern="zones", plastic=0.24)])  # of another mesh
        panel, legend = self.drawn()["part-h200"].panels
        self.assertEqual(panel.title, "Hex8, 292 K, 24 % plastic")
        self.assertEqual(sorted(round(x, 6) for x, *_ in panel.points), [0.5, 0.5, 1, 1])  # 0.5 is another share
        self.assertEqual([w[2] for w in legend.words], ["a part's state", "a few zones"])

    def test_a_part_alone_is_not_compared(self):
        self.write("kernels.csv", [small.row(variant=v, plastic=0.24, plastic_pattern="part") for v in ("patch", "node_csr")])
        figure = self.drawn()["part-h200"]
        self.assertEqual(figure.title, "The state of a part, NVIDIA H200")
        self.assertNotIn("other places", figure.caption)
        self.assertNotIn("a part's state", [w[2] for panel in figure.panels for w in panel.words])

    def test_no_part_no_figure(self):
        self.write("kernels.csv", [small.row(plastic=0.24, plastic_pattern="zones")])
        self.assertNotIn("part-h200", self.drawn())

    def test_cost_of_contact(self):
        self.write("kernels.csv", [
            small.row(t * (1e-4 + extra), 0.001, variant=v, operation=f"jacvec{share}")
            for v, t in (("patch", 1), ("node_csr", 2)) for share, extra in (
                ("", 0), ("_contact0.001", 1e-6), ("_contact0.1", 4e-6))] + [
            small.row(1e-4, variant="two_phase", operation="jacvec_contact0.1"),  # beside nothing without contact
            small.row(1e-4, variant="patch", operation="residual")])              # without contact alone
        figure = self.drawn()["contact-h200"]
        panel, over = figure.panels
        self.assertEqual(panel.title, "Hex8, tangent product, 292 K")
        self.assertEqual([[(x, round(y, 6)) for x, y in line] for line, _ in panel.lines],
                         2 * [[(0.001, 1.0), (0.1, 4.0)]])
        self.assertEqual({w[2] for w in over.words}, {"patch", "node"})
        self.assertIn(" “node”: gather by node. ", figure.caption)
        self.assertIn("2.2 % of the nodes", figure.caption)  # a face of 46³ nodes
        self.assertIn("ends of both combined", figure.caption)

    def test_conditions(self):
        self.write("kernels.csv", [small.row(t * 292008e-9, 0.01, variant=v, condition=c, operand="random") for v, c, t in (
            ("patch", "burst", 1), ("patch", "sustained", 2), ("node_csr", "burst", 4))] + [
                small.row(8 * 292008e-9, 0.01, condition="sustained", operand="smooth")])
        panel, over = self.drawn()["conditions-h200"].panels
        self.assertEqual([round(x, 6) for x, *_ in panel.points], [1, 0.5])  # of node_csr there is nothing to compare
        self.assertEqual([w[2] for w in over.words], ["in turns", "without pause"])

    def test_conditions_are_of_the_run_that_speaks(self):
        """As in tables: the one with most processes, not the newest one; the caption says which."""
        short = [small.row(t * 292008e-9 * (1 + n / 100), 0.01, variant=v, process=n)
                 for v, t in (("patch", 1), ("node_csr", 2)) for n in (1, 2, 3)]
        newer = [small.row(4 * t * 292008e-9, 0.01, variant=v, condition=c) for v, t in (("patch", 1), ("node_csr", 2))
                 for c in ("burst", "sustained")]
        built = model.build(small.results(pathlib.Path(self.folder.name) / "two", c1=short, c2=newer))
        (found,) = [f for f in study_figures.all_studies(built) if f.name == "conditions-h200"]
        turns, held = ([round(x, 2) for x, _, colour, _ in found.panels[0].points if colour == panels.PALETTE[i]]
                       for i in (0, 1))
        self.assertEqual((turns, held), ([0.98, 0.49], [0.25, 0.12]))
        self.assertIn("In turns: c1, 3 processes; without pause: c2, one process.", found.caption.replace("†", ""))

    def test_one_sample_each_and_iterations_without_a_residual(self):
        self.write("kernels.csv", [small.row(2e-5, 0.0, variant=v, repetitions=1) for v in ("patch", "node_csr")])
        keys = {name: small.ROW.get(name, "") for name in rows.columns_of("samples.csv")}
        self.write("samples.csv", [keys | dict(variant=v, process=1, sample=1, seconds=2e-5, condition="burst",
                                               operand="random") for v in ("patch", "node_csr")])
        self.write("anderson-history.csv", [
            dict(element="hex8", jacobian="tangent", depth=d, step=1, iteration=0, residual=1.0 - d) for d in (0, 1)])
        found = self.drawn()
        self.assertEqual([p[0] for p in found["samples-h200"].panels[0].points], [1, 1])
        self.assertEqual(len(found["anderson-history"].panels[0].lines), 1)

    def test_energy_has_the_range_of_its_windows(self):
        for windows in ({}, {"nj_low": 8.0, "nj_high": 12.0}):
            self.write("kernels.csv", [small.row(variant=v, nj_per_dof=10.0, **windows) for v in ("patch", "node_csr")])
            (found,) = [f for f in figures.all_figures(model.build_one(self.run)) if f.name == "energy-h200"]
            self.assertEqual([round(x, 6) for x, *_ in found.panels[0].points], [10, 10])
            self.assertEqual([[x for x, _ in line] for line, _ in found.panels[0].thin], [[8, 12]] * 2 if windows else [])
            self.assertEqual("One reading" in found.caption, not windows)

    def test_energy_of_two_processes_is_their_mean(self):
        self.write("kernels.csv", [small.row(variant=v, nj_per_dof=e, nj_low=e - 1, nj_high=e + 1, process=k)
                                   for v in ("patch", "node_csr") for k, e in ((1, 10.0), (2, 11.0))])
        (found,) = [f for f in figures.all_figures(model.build_one(self.run)) if f.name == "energy-h200"]
        self.assertEqual([round(x, 6) for x, *_ in found.panels[0].points], [10.5, 10.5])
        self.assertEqual([[x for x, _ in line] for line, _ in found.panels[0].thin], [[9, 12]] * 2)
        self.assertIn("Means of 2 processes; bars: the range of six windows of each", found.caption)

    def test_energy_is_of_the_size_with_most_strategies_and_between_processes(self):
        self.write("kernels.csv", [small.row(variant=v, nj_per_dof=e * f, nj_low=1.0, nj_high=99.0, process=k, n_dof=3000, case="box9")
                                   for v, e in (("patch", 10.0), ("node_csr", 20.0), ("two_phase", 30.0))
                                   for k, f in ((1, 0.99), (2, 1.0), (3, 1.01))] +
                   [small.row(variant=v, nj_per_dof=50.0) for v in ("patch", "node_csr")])
        (found,) = [f for f in figures.all_figures(model.build_one(self.run)) if f.name == "energy-h200"]
        self.assertEqual([round(x, 2) for x, *_ in found.panels[0].points], [10, 20, 30])
        ends = [x for line, _ in found.panels[0].thin for x, _ in line]
        self.assertTrue(ends and all(9.6 < x < 31.5 for x in ends), ends)
        self.assertIn("between processes", found.caption)

    def test_each_sample_is_a_dot_of_its_process(self):
        self.write("kernels.csv", [small.row(2e-5, 0.01, variant=v, process=n)
                                   for v in ("patch", "node_csr") for n in (1, 2)])
        keys = {name: small.ROW.get(name, "") for name in rows.columns_of("samples.csv")} | {"condition": "burst", "operand": "random"}
        self.write("samples.csv", [keys | dict(variant=v, process=n, sample=i, operation=o,
                                               seconds=2e-5 * n * (1 + i / 100))
                                   for v in ("patch", "node_csr") for n in (1, 2) for i in (1, 2, 3)
                                   for o in ("jacvec", "residual")])
        panel, over = self.drawn()["samples-h200"].panels
        middle = 2e-5  # tables show that
        self.assertEqual(len(panel.points), 12)
        self.assertEqual([round(p[0] * middle / 2e-5, 6) for p in panel.points if p[2] == panels.PALETTE[1]],
                         [2.02, 2.04, 2.06] * 2)
        self.assertEqual([w[2] for w in over.words], ["process 1", "process 2"])

    def test_a_few_samples_do_not_press_the_others_together(self):
        lines = [1 + i / 1000 for i in range(99)]
        self.assertEqual(round(study_figures.longest([*lines, 165.0]), 4), 1.1455)
        self.assertEqual(study_figures.longest([0.9, 1.0, 1.0]), 1.0)
        keys = {name: small.ROW.get(name, "") for name in rows.columns_of("samples.csv")} | {"condition": "burst", "operand": "random"}
        self.write("kernels.csv", [small.row(1e-5, 0.01, variant=v) for v in ("patch", "node_csr")])
        self.write("samples.csv", [keys | dict(variant=v, process=1, sample=i, operation="jacvec", seconds=1e-5 * share)
                                   for v in ("patch", "node_csr")
                                   for i, share in enumerate([*lines, 165.0 if v == "patch" else 1.0])])
        found = self.drawn()["samples-h200"]
        self.assertEqual(len(found.panels[0].points), 199)
        self.assertLess(max(x for x, *_ in found.panels[0].points), 1.2)
        self.assertTrue(found.caption.endswith(" Beyond the axis: 1, up to 165."), found.caption)


if __name__ == "__main__":
    unittest.main()
