"""What figures show, and that gnuplot draws them in print size with text of 7 pt."""

import itertools
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

from report import figures, gnuplot, model, panels, product_figures, scaling_figures, solve_figures, study_figures
from report.product_figures import roofline
from report.render import tables
from report.words import OPERATION, PRODUCTS
from tests.report import small

HAVE_GNUPLOT = shutil.which("gnuplot") is not None


class Small(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        cls.model = model.build(small.results(cls.path / "results", c1=small.plenty()))
        cls.figures = figures.all_figures(cls.model)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def named(self, name: str) -> panels.Figure:
        return next(f for f in self.figures if f.name == name)


class Content(Small):
    def test_figures_of_these_rows(self):
        self.assertEqual(
            [f.name for f in self.figures],
            [
                "throughput-h200",
                "time-h200",
                "winners-h200",
                "irregular-h200",
                "solves-h200",
                "breakdown-h200",
                "roofline-h200",
                "break-even-h200",
            ],
        )

    def test_throughput_has_the_points_of_the_rows(self):
        panel = self.named("throughput-h200").panels[0]
        self.assertEqual(panel.title, "Hex8, tangent product")
        blue, shape = panels.style_of("patch")
        self.assertEqual([(x, round(y, 6)) for x, y, colour, s in panel.points if (colour, s) == (blue, shape)],
                         [(292008.0, 10.0), (985527.0, 10.0), (6440067.0, 10.0)])

    def test_lines_are_named_at_their_ends_where_all_end_there(self):
        """Else, as where the matrix stops at a million, there is a legend."""
        named = self.named("throughput-h200")
        words = [(text, colour) for _, _, text, colour, at in named.panels[-1].words if at == "left"]
        self.assertEqual(words[:3], [(panels.SHORT[s], panels.style_of(s)[0])
                                     for s in ("assembled_bsr", "element_atomic", "patch")])
        self.assertEqual(len(words), 3 * 6)
        self.assertIn("“matrix”: matrix, 3×3", named.caption)
        lines = [r for r in small.plenty() if (r["variant"], r["n_dof"]) != ("assembled_bsr", 6440067)]
        made = figures.all_figures(model.build(small.results(self.path / "short", c1=lines)))
        (other,) = [f for f in made if f.name == "throughput-h200"]
        self.assertEqual([w[2] for w in other.panels[-1].words][:3], ["patch", "element, atomics", "matrix, 3×3"])

    def test_quadratic_elements_have_a_figure_of_their_own(self):
        lines = [row | {"element": "tet10", "median_s": row["median_s"] / 2} if row["element"] == "tet4" else row
                 for row in small.plenty() if "krylov" not in row]
        with tempfile.TemporaryDirectory() as folder:
            made = {f.name: f for f in figures.all_figures(model.build(small.results(pathlib.Path(folder), c1=lines)))}
        self.assertEqual({p.title for p in made["throughput-h200"].panels} - {""},
                         {"Hex8, tangent product", "Hex8, elastic product", "Hex8, residual"})
        quadratic = made["throughput-h200-quadratic"]
        self.assertEqual([p.title for p in quadratic.panels if p.title], [f"Tet10, {OPERATION[o]}" for o in PRODUCTS])
        blue, _ = panels.style_of("patch")
        self.assertEqual([round(y, 6) for _, y, colour, _ in quadratic.panels[0].points if colour == blue], 3 * [20.0])
        self.assertNotIn("throughput-h200-quadratic", [f.name for f in self.figures])

    def test_of_two_sizes_each_strategy_has_a_row(self):
        """Below the curves of an element with three, whatever the element; captions say what is there."""
        def made(folder: str, lines: list[dict]) -> dict[str, panels.Figure]:
            built = model.build(small.results(self.path / folder, c1=lines))
            return {f.name: f for f in figures.all_figures(built)}

        lines = [row for row in small.plenty() if (row["element"], row["n_dof"]) != ("hex8", small.SIZES[2][1])]
        for row in lines:
            if (row["variant"], row["element"], row["n_dof"]) == ("element_atomic", "hex8", small.SIZES[1][1]):
                row["ci95_high_s"] = 1.3 * row["ci95_low_s"]
        f = made("two-sizes", lines)["throughput-h200"]
        self.assertEqual([p.title for p in f.panels[:-1]],
                         [f"{e}, {OPERATION[o]}" for e in ("Tet4", "Hex8") for o in PRODUCTS])
        self.assertEqual([p.frame for p in f.panels[:-1]], 3 * [1] + 3 * [2])
        panel = f.panels[3]
        self.assertEqual([name for name, _ in panel.y.ticks], ["patch", "element, atomics", "matrix, 3×3"])
        (blue, circle), (red, square) = panels.nth_style(0), panels.nth_style(1)
        self.assertEqual(sorted((int(y + 0.5), y > int(y + 0.5), round(x, 6), colour, shape) for x, y, colour, shape in panel.points),
                         [(0, False, 10.0, blue, circle), (0, True, 10.0, red, square), (1, False, 5.0, blue, circle),
                          (1, True, 5.0, red, square - 1), (2, False, 2.5, blue, circle), (2, True, 2.5, red, square)])
        words = [w[2] for w in f.panels[-1].words]
        self.assertLessEqual({"292 K degrees of freedom", "986 K degrees of freedom"}, set(words))
        for said in ("which curve is the upper one", "Lines join sizes of one run.", "each strategy has a row", "Hollow"):
            self.assertIn(said, f.caption)
        self.assertNotIn("two runs", f.caption)  # intervals in rows are no lines
        self.assertEqual([p.title for p in f.narrow.panels if p.title], ["Tet4, tangent product", "Hex8, tangent product"])
        self.assertNotIn("each strategy has a row", self.named("throughput-h200").caption)
        two = made("only-two", [row for row in lines if row["n_dof"] != small.SIZES[2][1]])
        for name, side in (("throughput-h200", "right"), ("time-h200", "left")):
            self.assertIn(f"look which is the farthest {side} at a size. Bars", two[name].caption)
            for said in ("curve", "Lines", "Grey"):
                self.assertNotIn(said, two[name].caption)
        self.assertEqual([p.title for p in two["throughput-h200"].panels[:2]], ["Hex8, tangent product", "Tet4, tangent product"])

    def test_a_caption_says_which_run_has_a_size_where_rows_are_of_two(self):
        lines = [row for row in small.plenty() if "krylov" not in row and row["element"] == "hex8"]
        one, other = ([row for row in lines if row["n_dof"] == n] for _, n in small.SIZES[:2])
        made = figures.all_figures(model.build(small.results(self.path / "a-size-each", c1=one, c2=other)))
        (f,) = [f for f in made if f.name == "throughput-h200"]
        self.assertIn(" 292 K: c1, one process; 986 K: c2, one process. Bars", f.caption.replace("†", ""))

    def test_more_than_six_sizes_of_rows_are_grey(self):
        words = [str(i) for i in range(8)]
        legend = panels.numbered(words, "further sizes")
        self.assertEqual([text for text, *_ in legend], [*words[:6], "further sizes"])
        self.assertEqual(legend[-1][1:], panels.nth_style(7))
        self.assertEqual(panels.numbered(words[:6], "further sizes"), legend[:6])

    def test_panels_with_names_stand_below_those_with_two_axes(self):
        """In two columns at most, with room for their names, and of a height by their number."""
        def panel(names: list[str], frame: int) -> panels.Panel:
            return panels.Panel("", panels.linear("", 1), panels.names("", names), frame, points=[(0, 0, 0, 7)])

        long = "a name of many letters and more"
        f = panels.figure("f", "t", "c", [panel(["a"], 2), panel(["a"], 1), panel([long, "b", "c"], 2), panel(["a"], 1),
                                          panel(["a"], 1)], [], columns=3, height=3.0, left=1.0, row=0.5)
        self.assertEqual([(p.frame, len(p.y.ticks)) for p in f.panels[:-1]], [(1, 1)] * 3 + [(2, 3), (2, 1)])
        self.assertEqual([round(lower - upper, 6) for _, _, upper, lower in f.places[:-1]], [3.0] * 3 + [1.7, 0.7])
        self.assertGreater(f.places[3][2], f.places[0][3])
        self.assertEqual([round(f.places[i][0], 6) for i in (0, 1)], [1.0, round(1.0 + panels.WIDE / 3, 6)])
        self.assertGreater(f.places[3][0], panels.LETTER * len(long))
        self.assertAlmostEqual(f.places[4][0] - f.places[3][0], panels.WIDE / 2)

    def test_what_is_noisy_is_hollow_and_said(self):
        lines = small.plenty()
        for line in lines:
            if line["variant"] == "patch" and line["n_dof"] == small.SIZES[0][1]:
                line["ci95_high_s"] = 1.3 * line["ci95_low_s"]
            if line.get("krylov") and line["variant"] == "patch" and line["operation"] == "solve":
                line["ci95_high_s"] = 1.3 * line["ci95_low_s"]
        with tempfile.TemporaryDirectory() as folder:
            made = {f.name: f for f in figures.all_figures(model.build(small.results(pathlib.Path(folder), c1=lines)))}
        throughput, solves = made["throughput-h200"], made["solves-h200"]
        blue, shape = panels.style_of("patch")
        self.assertEqual([(x, s) for x, _, colour, s in throughput.panels[0].points if colour == blue],
                         [(292008.0, shape - 1), (985527.0, shape), (6440067.0, shape)])
        self.assertIn("Hollow", throughput.caption)
        self.assertIn("patch~", [word for word, _ in solves.panels[0].y.ticks])
        self.assertIn("~", solves.caption)
        for name in ("throughput-h200", "solves-h200", "breakdown-h200"):
            self.assertNotIn("~", self.named(name).caption)
            self.assertNotIn("Hollow", self.named(name).caption)

    def test_cold_calls_have_a_figure_of_their_own(self):
        lines = [line | {"condition": "cold", "median_s": 2 * line["median_s"], "ci95_low_s": 2 * line["ci95_low_s"],
                         "ci95_high_s": 2 * line["ci95_high_s"]} for line in small.plenty() if "krylov" not in line]
        with tempfile.TemporaryDirectory() as folder:
            made = {f.name: f for f in figures.all_figures(model.build(small.results(
                pathlib.Path(folder), c1=small.plenty(), c2=lines)))}
        blue, _ = panels.style_of("patch")
        for name, rate in (("throughput-h200", 10.0), ("cold-h200", 5.0)):
            self.assertEqual({round(y, 6) for _, y, colour, _ in made[name].panels[0].points if colour == blue}, {rate})
        self.assertIn("single calls", made["cold-h200"].caption)
        self.assertNotIn("cold-h200", [f.name for f in self.figures])

    def test_no_line_where_sizes_are_far_apart(self):
        panel = self.named("throughput-h200").panels[0]
        self.assertTrue(panel.lines)
        for line, _ in panel.lines:
            self.assertEqual([x for x, _ in line], [292008.0, 985527.0, 6440067.0])
        self.assertEqual(panels.joined([(1, 5), (7, 6), (50, 7), (80, 8)]), [[(1, 5), (7, 6)], [(50, 7), (80, 8)]])

    def test_a_winner_without_a_colour_is_named(self):
        lines = [small.row(seconds * n, 0.01, variant=strategy, element="hex8", case=case, n_dof=n)
                 for case, n in (("box30-distorted", 89373), ("box40-distorted", 206763), ("box68-distorted", 985527))
                 for strategy, seconds in (("patch", 1e-10), ("element_only", 1e-12),
                                           ("element_team", 5e-11 if n < 1e5 else 2e-10))]
        with tempfile.TemporaryDirectory() as folder:
            made = {f.name: f for f in figures.all_figures(model.build(small.results(pathlib.Path(folder), c1=lines)))}
        for name, times in (("throughput-h200", 1), ("time-h200", 0)):
            self.assertEqual([text for _, _, text, *_ in made[name].panels[-1].words].count("team"), times)
            self.assertEqual("faster than patch and all others, its name" in made[name].caption, bool(times))

    def test_no_winner_is_named_where_patch_was_not_measured(self):
        lines = [small.row(seconds * n, 0.01, variant=strategy, case=case, n_dof=n)
                 for case, n in (("box30-distorted", 89373), ("box40-distorted", 206763), ("box68-distorted", 985527))
                 for strategy, seconds in (("patch", 1e-10), ("element_team", 2e-10), ("assembled_csr", 3e-10))
                 if (strategy == "assembled_csr") >= (n == 206763)]
        with tempfile.TemporaryDirectory() as folder:
            made = {f.name: f for f in figures.all_figures(model.build(small.results(pathlib.Path(folder), c1=lines)))}
        self.assertNotIn("CSR", [w[2] for w in made["throughput-h200"].panels[-1].words])

    def test_the_name_of_a_winner_stands_above_a_falling_curve(self):
        panel = panels.Panel("", panels.decades("", [1e3, 1e6]), panels.decades("", [1e-3, 1.0]))
        curve = [(1e3, 0.1), (1e4, 0.1), (1e5, 0.01), (1e6, 0.01)]
        x, y, text, _, at = product_figures.above(panel, curve, 2, "forces")
        self.assertEqual((text, at), ("forces", "right"))
        begins = panel.x.share(x) - panels.LETTER * len(text) / product_figures.INSIDE
        higher = panel.y.share(0.1) - (begins - panel.x.share(1e4)) / (panel.x.share(1e5) - panel.x.share(1e4)) * (
            panel.y.share(0.1) - panel.y.share(0.01))
        self.assertGreater(panel.y.share(y), higher)

    def test_winners_without_a_colour_are_named_once(self):
        """At the last of neighbouring sizes, and where no curve that rises with the size meets their names."""
        sizes = [(f"box{c}-distorted", 3 * (c + 1) ** 3) for c in (6, 9, 14, 21, 45)]
        fast = {0: "element_team", 1: "element_warp", 2: "element_team"}
        lines = [small.row(1e-5 if fast.get(i) == strategy else 1.5e-5 * (n / 3e5 + 1), 0.01, variant=strategy,
                           case=case, n_dof=n) for i, (case, n) in enumerate(sizes)
                 for strategy in ("patch", "element_team", "element_warp")]
        lines = [line for line in lines if line["variant"] == "patch" or line["n_dof"] < 2e4]
        with tempfile.TemporaryDirectory() as folder:
            made = {f.name: f for f in figures.all_figures(model.build(small.results(pathlib.Path(folder), c1=lines)))}
        f = made["throughput-h200"]
        words = [w for w in f.panels[-1].words if w[2] not in ("patch",)]
        self.assertEqual([(text, at) for _, _, text, _, at in words], [("team, warp", "right")])
        panel, (left, right, upper, lower) = f.panels[0], f.places[0]
        (x, y, *_), n = words[0], sizes[2][1]
        self.assertLess(x, left + panel.x.share(n) * (right - left))
        self.assertLess(y, lower - panel.y.share(n / 1e-5 * 1e-9) * (lower - upper))

    def test_map_names_the_winner_and_its_gain(self):
        words = [w[2] for w in self.named("winners-h200").panels[-1].words]
        self.assertEqual((words.count("patch"), words.count("(2.00)")), (32, 32))  # 2 elements, 4 operations, 4 meshes

    def test_a_new_strategy_that_wins_is_named(self):
        """One that no list of names has: in words at its line, with few letters in a cell of the map, which its caption
        tells."""
        lines = small.plenty() + [r | {"variant": "scatter_sum", "median_s": 0.5 * r["median_s"],
                                       "ci95_low_s": 0.5 * r["ci95_low_s"], "ci95_high_s": 0.5 * r["ci95_high_s"]}
                                  for r in small.plenty() if r["variant"] == "patch"]
        built = model.build(small.results(self.path / "new", c1=lines))
        made = {f.name: f for f in figures.all_figures(built)}
        self.assertIn("scatter sum", [w[2] for w in made["throughput-h200"].panels[-1].words])
        words = [w[2] for w in made["winners-h200"].panels[-1].words]
        self.assertEqual((words.count("sc.sum"), words.count("patch")), (32, 0))
        self.assertIn("“sc.sum”: scatter sum", made["winners-h200"].caption)
        for f in made.values():
            texts = [w[2] for panel in f.panels for w in panel.words] + [t for panel in f.panels for t, _ in panel.y.ticks]
            self.assertNotIn("_", "".join([f.title, f.caption, *texts]), f.name)

    def test_a_name_in_a_cell_has_six_letters_at_most(self):
        for name, said in (("mine", "mine"), ("scatter", "scatt."), ("mine_two", "mi.two"), ("my_third_attempt", "m.atte")):
            self.assertEqual(product_figures.IN_CELL[name], said)
        for words in product_figures.IN_CELL.values():
            self.assertLessEqual(len(words), product_figures.LETTERS)

    def test_lines_join_sizes_of_one_run(self):
        first, *others = [r | {"case": f"box{n}-distorted", "n_dof": 3 * (n + 1) ** 3} for n in (30, 40, 50)
                          for r in [small.row(1e-5, 0.01)]]
        built = model.build(small.results(self.path / "two", c1=[first], c2=others))
        (f,) = [f for f in figures.all_figures(built) if f.name == "throughput-h200"]
        (line,) = f.panels[0].lines
        self.assertEqual([x for x, _ in line[0]], [3.0 * 41**3, 3.0 * 51**3])
        between = [[x for x, _ in line] for line, _ in f.panels[0].thin if line[0][0] < line[1][0]]
        self.assertEqual(between, [[3.0 * 31**3, 3.0 * 41**3]])
        self.assertIn("thin ones those of two runs", f.caption)
        self.assertNotIn("thin ones", self.named("throughput-h200").caption)

    def test_neighbours_of_two_runs_that_are_of_about_one_size_have_no_line(self):
        first, other, last = (small.row(1e-5, 0.01) | {"case": f"box{n}-distorted", "n_dof": 3 * (n + 1) ** 3}
                              for n in (60, 62, 80))
        built = model.build(small.results(self.path / "near", c1=[first], c2=[other, last]))
        (f,) = [f for f in figures.all_figures(built) if f.name == "throughput-h200"]
        self.assertEqual([[x for x, _ in line] for line, _ in f.panels[0].lines], [[3.0 * 63**3, 3.0 * 81**3]])
        self.assertFalse([line for line, _ in f.panels[0].thin if line[0][0] < line[1][0]])

    def test_neighbours_of_two_runs_that_are_far_apart_have_no_line(self):
        first, *others = (small.row(1e-5, 0.01) | {"case": f"box{n}-distorted", "n_dof": 3 * (n + 1) ** 3}
                          for n in (9, 40, 80))
        built = model.build(small.results(self.path / "far", c1=[first], c2=others))
        (f,) = [f for f in figures.all_figures(built) if f.name == "throughput-h200"]
        self.assertFalse(f.panels[0].lines + [line for line, _ in f.panels[0].thin if line[0][0] < line[1][0]])
        self.assertNotIn("Lines", f.caption)

    def test_a_map_s_column_has_the_sizes_of_its_meshes(self):
        """Two elements on one kind of mesh: both ends; a mean would be of no mesh."""
        lines = [r | {"n_dof": 5063877} if r["element"] == "tet4" and r["case"] == "irregular" else
                 r | {"n_dof": 4876989} if r["case"] == "irregular" else r for r in small.plenty()]
        built = model.build(small.results(self.path / "sizes", c1=lines))
        (f,) = [f for f in figures.all_figures(built) if f.name == "winners-h200"]
        words = [w[2].replace(chr(160), " ") for w in f.panels[-1].words]
        self.assertLessEqual({"4.88–", "5.06 M", "6.44 M"}, set(words))

    def test_a_map_names_patch_where_its_two_forms_are_level(self):
        lines = small.plenty() + [r | {"variant": "patch_ordered", "median_s": 1.05 * r["median_s"]} for r in small.plenty()
                                  if r["variant"] == "patch" and "krylov" not in r]
        built = model.build(small.results(self.path / "forms", c1=lines))
        (f,) = [f for f in figures.all_figures(built) if f.name == "winners-h200"]
        words = [w[2] for w in f.panels[-1].words]
        self.assertEqual((words.count("patch"), words.count("(ord.)")), (32, 32))
        self.assertIn("No cell is decided.", f.caption)

    def test_labels_of_a_roofline_do_not_meet(self):
        """Of each panel: operations whose columns are near have words at two sides or in two lines."""
        built = small.committed()
        drawn = [f for card in built.cards if (f := roofline(built, card))]
        self.assertTrue(drawn)
        for f in drawn:
            boxes = []
            for x, y, text, _, at in f.panels[-1].words:
                if text in OPERATION.values():
                    width = panels.LETTER * len(text)
                    left = x - {"left": 0, "center": width / 2, "right": width}[at]
                    boxes.append((left, left + width, y - panels.TEXT / 2, y + panels.TEXT / 2, text))
            for a, b in itertools.combinations(boxes, 2):
                apart = a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2]
                self.assertTrue(apart, f"{f.name}: {a[4]}, {b[4]}")

    def test_words_of_a_roofline_stand_in_its_panel(self):
        built = small.committed()
        for f in (form for card in built.cards if (f := roofline(built, card)) for form in f.forms):
            for x, y, text, _, at in f.panels[-1].words:
                if text in OPERATION.values() or text.endswith((" TB/s", " flop/s")):
                    left = x - panels.LETTER * len(text) * {"left": 0, "center": 0.5, "right": 1}[at]
                    self.assertTrue(any(place[0] <= left and place[2] < y < place[3] for place in f.places[:-1]),
                                    f"{f.name}: {text}")
            if "others" in [w[2] for w in f.panels[-1].words]:
                self.assertIn("Grey: other strategies.", f.caption)

    def test_long_ticks_move_an_axis_to_the_right(self):
        """The name of the axis stands left of them."""
        for high, least in ((50.0, 1.0), (50000.0, 1.1)):
            panel = panels.Panel("", panels.linear("", 1), panels.decades("µs", [high / 100, high]),
                                 points=[(0, high, 0, 7)])
            f = panels.figure("f", "t", "c", [panel], [], left=1.0)
            self.assertGreaterEqual(f.places[0][0], least)
            self.assertLess(f.places[0][0], least + 0.1)

    def test_words_at_the_end_of_a_line_stand_above_the_axis(self):
        panel = panels.Panel("", panels.linear("", 1), panels.linear("", 1))
        panels.add_words(panel, [("low", 1.0, 0.0, panels.INK), ("lower", 1.0, 0.0, panels.INK)], 2.6)
        lowest = min(panel.y.share(y) for _, y, *_ in panel.words)
        self.assertGreaterEqual(2.6 * lowest, panels.TEXT / 2)

    def test_whole_solve_adds_set_up(self):
        panel = next(p for p in self.named("solves-h200").panels if p.frame == 2)
        last = [round(r[1], 3) for r in panel.rectangles if r[2] == -0.32]  # of patch, in ms
        self.assertEqual(last, [20.0, 30.0, 80.0])

    def test_breakdown_is_that_of_one_newton_iteration(self):
        panel = next(p for p in self.named("breakdown-h200").panels if p.frame == 2)
        self.assertEqual([round(r[1], 6) for r in panel.rectangles], [2.0, 4.0, 6.0])

    def test_other_meshes_over_the_nearest_box(self):
        panel = self.named("irregular-h200").panels[0]
        self.assertEqual({round(p[0], 3) for p in panel.points}, {1.0})
        self.assertIn("Hex8, irregular mesh of 986 K over 986 K; Tet4", self.named("irregular-h200").caption)

    def test_a_bracket_is_named_with_its_size_and_that_of_its_box(self):
        lines = [row | {"case": "bracket_hex8_coarse-refined3", "n_dof": 1420050} if row["case"] == "irregular" else row
                 for row in small.plenty() if row["element"] == "hex8"]
        built = model.build(small.results(self.path / "bracket", c1=lines))
        (f,) = [f for f in figures.all_figures(built) if f.name == "irregular-h200"]
        self.assertIn(": Hex8, bracket, coarse, refined 3 times, of 1.42 M over 986 K degrees of freedom.", f.caption)

    def test_gpu_over_host_and_reproducible_over_fastest(self):
        strategies = ("patch", "patch_ordered", "element_atomic", "node_csr", "dof_csr", "two_phase")
        lines = []
        for cells, n in small.SIZES:
            for slow, strategy in enumerate(strategies, 1):
                point = dict(variant=strategy, case=f"box{cells}-distorted", n_dof=n)
                point["deterministic"] = int(strategy != "patch")
                lines.append(small.row(slow * n * 1e-10, 0, **point))
                lines.append(small.row(slow * n * 5e-9, 0, backend="host", device="CPU", **point))
        built = model.build(small.results(self.path / "hosts", c1=lines))
        found = {f.name: f for f in figures.all_figures(built)}
        self.assertEqual({round(y, 6) for _, y, *_ in found["host-h200"].panels[0].points}, {50.0})
        self.assertIn("on its host (CPU, 16 threads)", found["host-h200"].caption)
        self.assertEqual([(x, round(y, 6)) for x, y, *_ in found["reproducible"].panels[0].points],
                         [(n, 0.5) for _, n in small.SIZES])

    def test_gpu_over_host_at_one_size(self):
        strategies = ("patch", "patch_ordered", "element_atomic", "node_csr", "dof_csr", "two_phase")
        lines = [small.row(seconds, 0, variant=strategy, **where) for strategy in strategies
                 for seconds, where in ((1e-5, {}), (4e-4, dict(backend="host", device="CPU")))]
        built = model.build(small.results(self.path / "one-host", c1=lines))
        (f,) = [f for f in figures.all_figures(built) if f.name == "host-h200"]
        panel, _ = f.panels
        self.assertEqual((panel.title, panel.x.label), ("Hex8, tangent product, 292 K", "GPU / host"))
        self.assertEqual([round(x, 6) for x, *_ in panel.points], 6 * [40.0])
        self.assertIn("Right of the dashed line the GPU is faster", f.caption)
        short = model.build(small.results(self.path / "few-host", c1=lines[:-2]))
        self.assertNotIn("host-h200", [f.name for f in figures.all_figures(short)])

    def test_throughput_of_a_host_has_its_own_unit(self):
        lines = [line | {"backend": "host", "device": "CPU"} for line in small.plenty() if "krylov" not in line]
        built = model.build(small.results(self.path / "cpu", c1=lines))
        (f,) = [f for f in figures.all_figures(built) if f.name.startswith("throughput-host")]
        self.assertEqual(f.panels[0].y.label, "10⁶ degrees of freedom/s")
        self.assertEqual({round(y, 3) for _, y, colour, _ in f.panels[0].points if colour == panels.PALETTE[0]}, {1e4})

    def test_nothing_of_nothing(self):
        empty = model.Model([], [], [], [])
        self.assertEqual(figures.all_figures(empty), [])
        self.assertIsNone(
            panels.figure("f", "t", "c", [panels.Panel("", panels.linear("", 1), panels.linear("", 1))], [])
        )

    def test_ticks_are_round_wherever_an_axis_begins(self):
        self.assertEqual([text for text, _ in panels.linear("", 1.11, 0.972).ticks], ["1.00", "1.05", "1.10"])
        self.assertEqual([text for text, _ in panels.linear("", 2.1).ticks], ["0.0", "0.5", "1.0", "1.5", "2.0"])
        for axis in (panels.linear("", 1.11, 0.972), panels.linear("", 2.1)):
            for text, value in axis.ticks:
                self.assertAlmostEqual(float(text), value)
                self.assertTrue(axis.low <= value <= axis.high)

    def test_an_interval_lengthens_an_axis_by_half_at_most(self):
        short, long = (model.Time(2.0, low, high, 3, 3) for low, high in ((1.9, 2.2), (0.001, 90.0)))
        self.assertEqual(panels.span([short], 1.0), (1.0, 2.2))
        self.assertEqual(panels.span([long], 0.0), (0.0, 3.0))
        self.assertEqual([round(end, 6) for end in panels.span([long], 0.5, log=True)], [0.25, 4.0])
        self.assertEqual([round(end, 6) for end in panels.span([short], log=True)], [1.9, 2.2])

    def test_a_caption_says_where_bars_are_cut(self):
        lines = small.plenty()
        for line in lines:
            if line["variant"] == "patch" and line["n_dof"] == small.SIZES[0][1] and "krylov" not in line:
                line["ci95_high_s"] = 1000 * line["median_s"]
        with tempfile.TemporaryDirectory() as folder:
            made = {f.name: f for f in figures.all_figures(model.build(small.results(pathlib.Path(folder), c1=lines)))}
        panel = made["throughput-h200"].panels[0]
        (least,) = (min(y for _, y in line) for line, _ in panel.thin if min(y for _, y in line) < panel.y.low)
        self.assertLess(least, 0.02 * panel.y.low)
        for name in ("throughput-h200", "time-h200"):
            self.assertTrue(made[name].caption.endswith(" Bars that reach beyond an axis are cut."), name)
            self.assertNotIn("are cut", self.named(name).caption)

    def test_a_bar_from_end_to_end_is_not_drawn(self):
        x, y = panels.Axis("", 0.0, 3.0, ()), panels.Axis("", 1.0, 2.0, ())
        bars = [([(n, low), (n, high)], 0) for n, (low, high) in enumerate(((0.5, 2.5), (1.2, 2.5), (1.2, 1.4)))]
        panel = panels.Panel("", x, y, thin=list(bars))
        made = panels.finished("f", "", "Said.", [panel], [(0.0, 5.0, 0.0, 5.0)], 6.0, 6.0, [])
        self.assertEqual(panel.thin, bars[1:])
        self.assertEqual(made.caption, "Said. Bars that reach beyond an axis are cut. A point without a bar: it would reach from "
                                       "one end of the axis to the other.")

    def test_ticks_are_numbers_as_people_write_them(self):
        self.assertEqual([panels.few(v) for v in (20.0, 0.1, 0.0001, 1e-5, 3e-6)],
                         ["20", "0.1", "0.0001", "10⁻⁵", "3 · 10⁻⁶"])
        self.assertEqual([text for text, _ in study_figures.exponents("", -8, 0, 4).ticks], ["10⁻⁸", "10⁻⁴", "1"])

    def test_matrices_gain_by_floats_where_all_do(self):
        for seconds, said in ((0.5e-5, True), (2e-5, False)):
            lines = [small.row(seconds if p == "single" else 1e-5, 0.01, variant=v, precision=p)
                     for v in ("patch", "assembled_bsr") for p in ("double", "single")]
            built = model.build(small.results(self.path / f"floats-{said}", c1=lines))
            (f,) = [f for f in figures.all_figures(built) if f.name == "precision-h200"]
            self.assertEqual("matrices gain" in f.caption, said)

    def test_labels_keep_their_distance_and_order(self):
        where = panels.spread([0.5, 0.51, 0.52, 0.99], 0.1, 0.0, 1.0)
        self.assertTrue(all(b - a > 0.0999 for a, b in zip(where, where[1:])), where)
        self.assertTrue(0 <= where[0] and where[-1] <= 1)


class Committed(unittest.TestCase):
    """All figures of the rows that are committed."""

    @classmethod
    def setUpClass(cls):
        built = small.committed()
        cls.model = built
        cls.figures = figures.all_figures(built) + study_figures.all_studies(built)
        cls.forms = [form for f in cls.figures for form in f.forms]

    def test_rules(self):
        self.assertGreater(len(self.figures), 10)
        for f in self.forms:
            self.assertIn(f.width, (panels.NARROW, panels.WIDE), f.name)
            self.assertGreater(len(f.caption), 60, f.name)
            if not any(panel.frame for panel in f.panels):  # a map
                self.assertNotIn("axis", f.caption.lower(), f.name)
            for panel in f.panels[:-1]:
                self.assertFalse(panel.empty, f.name)
            for panel in f.panels:
                self.assertLessEqual(len(panel.colours()), panels.COLOURS, f"{f.name}: {panel.title}")
                texts = (
                    [panel.title, panel.x.label, panel.y.label]
                    + [w[2] for w in panel.words]
                    + [t for t, _ in panel.y.ticks]
                )
                for text in texts + [f.title, f.caption]:
                    self.assertNotIn("_", text, f.name)  # names in words

    def test_curves_have_three_sizes_or_two_numbers_of_ranks(self):
        least = dict.fromkeys(("throughput", "time", "cold"), panels.LEAST_SIZES) | {"scaling": 2}
        seen = set()
        for f in self.figures:
            for panel in f.panels[:-1]:
                kind = f.name.partition("-")[0]
                if kind in least and panel.frame == 1:
                    places = {x for x, *_ in panel.points} if kind != "scaling" else {x for x, _ in panel.x.ticks}
                    self.assertGreaterEqual(len(places), least[kind], f"{f.name}: {panel.title}")
                seen.add((kind, panel.frame))
        self.assertLessEqual({(kind, frame) for kind in ("throughput", "scaling") for frame in (1, 2)}, seen)

    def test_words_end_within_the_figure(self):
        for f in self.forms:
            for x, y, text, _, at in f.panels[-1].words:
                width = panels.LETTER * len(text)
                left = x - {"left": 0, "center": width / 2, "right": width}[at]
                self.assertTrue(
                    -0.1 <= left and left + width <= f.width + 0.1 and 0 <= y <= f.height, f"{f.name}: {text}"
                )

    def test_words_at_axes_do_not_meet(self):
        """Those of ticks each other, and names of series the axis of the next panel, whose name takes a centimetre."""
        for f in self.forms:
            for panel, (left, right, upper, lower) in zip(f.panels[:-1], f.places):
                words = [(panel.x.share(value) * (right - left), panels.LETTER * len(t)) for t, value in panel.x.ticks if t]
                for (a, wide), (b, next_wide) in zip(words, words[1:]):
                    self.assertGreater(b - a, (wide + next_wide) / 2, f"{f.name}: {panel.title}")
                for x, y, text, _, at in f.panels[-1].words:
                    if panel.frame == 1 and at == "left" and x < left and upper < y < lower:
                        self.assertLess(x + panels.LETTER * len(text), left - 0.99, f"{f.name}: {text}")

    def test_words_of_a_map_do_not_meet(self):
        """Sizes, kinds of meshes and names in cells, each with the one at its right: half a letter is between them."""
        lines: dict[tuple[str, float], list[tuple[float, float, str]]] = {}
        for f in (f for f in self.forms if f.name.startswith("winners")):
            for x, y, text, _, at in f.panels[-1].words:
                width = panels.LETTER * len(text)
                left = x - {"left": 0, "center": width / 2, "right": width}[at]
                lines.setdefault((f.name, round(y, 2)), []).append((left, left + width, text))
        self.assertGreater(len(lines), 100)
        for (name, _), words in lines.items():
            words.sort()
            for (_, end, one), (start, _, other) in zip(words, words[1:]):
                self.assertGreater(start - end, panels.LETTER / 2, f"{name}: {one}, {other}")

    def test_sizes_of_a_map_say_their_unit_once(self):
        for ends, said in (((6440067, 6440067), ["6.44\u00a0M"]), ((292008, 311052), ["311\u00a0K", "292–"]),
                           ((952000, 1_050_000), ["1.05\u00a0M", "952\u00a0K–"]), ((950, 1029), ["1.03\u00a0K", "950–"])):
            self.assertEqual(product_figures.size_lines(*ends), said)

    def test_a_long_kind_of_mesh_lifts_the_next_one(self):
        """Two kinds with one column each, where cells are narrow."""
        level = mock.Mock(decided=False, fastest=[mock.Mock(strategy="patch")] * 2, missed=())
        columns = [("irregular", 1), ("tube", 1)]
        won = {("hex8", "jacvec", *column): (("", "", "", "", 1000), level) for column in columns}
        for cell, heights in ((product_figures.CELL, [-1.45, -1.45]), (0.9, [-1.45, -1.81])):
            width = product_figures.MAP_LEFT + 0.1 + cell * len(columns)
            panel, _ = product_figures.map_of(won, columns, [("hex8", "jacvec")], width)
            self.assertEqual([y for _, y, text, *_ in panel.words if text in ("irregular", "tube")], heights)

    def test_crowded_ticks_lose_words_and_stay(self):
        axis = panels.decades("n", [1e3, 1e7], panels.size)
        self.assertEqual(panels.uncrowded(axis, 9.0), axis)
        self.assertEqual([t for t, _ in panels.uncrowded(axis, 2.4).ticks], ["1 K", "", "100 K", "", "10 M"])
        self.assertEqual([v for _, v in panels.uncrowded(axis, 0.1).ticks], [v for _, v in axis.ticks])

    def test_names_of_axes_stand_within_the_figure(self):
        drawn = sorted((model.ROOT / "results/report/figures").glob("*.svg"))
        self.assertGreater(len(drawn), 10)
        for path in drawn:  # a name stands left of the widest number: where that is, gnuplot says
            text = path.read_text()
            (size,) = set(re.findall(r'font-size="([\d.]+)"', text))
            for x in re.findall(r'<text x="([\d.-]+)" y="[^"]*" transform="rotate\(270', text):
                self.assertGreaterEqual(float(x), 0.7 * float(size), path.name)

    def test_names_of_lines_do_not_meet(self):
        for f in self.forms:
            if f.name.split("-")[0] in ("throughput", "time", "cold"):
                self.assertNoOverlap(f)

    def assertNoOverlap(self, f: panels.Figure) -> None:
        """Words at the right of their points, of one panel: those that begin at the same place."""
        at: dict[float, list[tuple[float, str]]] = {}
        for x, y, text, _, where in f.panels[-1].words:
            if where == "left":
                at.setdefault(round(x, 3), []).append((y, text))
        for words in at.values():
            words.sort()
            for (a, one), (b, other) in zip(words, words[1:]):
                self.assertGreater(b - a, panels.TEXT, f"{f.name}: {one}, {other}")

    def test_main_figures_have_a_form_for_one_column(self):
        """Its panels are among those of the wide form."""
        kinds = set()
        for f in (f for f in self.figures if f.narrow):
            kinds.add(f.name.split("-")[0])
            self.assertEqual((f.narrow.width, f.narrow.title), (panels.NARROW, f.title), f.name)
            if not f.name.startswith("winners"):  # which counts its cells
                self.assertTrue(f.caption.startswith(f.narrow.caption), f.name)  # of fewer panels: perhaps no bar is cut
            self.assertLess(f.narrow.height, 20, f.name)
            self.assertLessEqual(len(f.narrow.panels), 3, f.name)  # two, and the words of all
            self.assertLessEqual({p.title for p in f.narrow.panels}, {p.title for p in f.panels}, f.name)
        self.assertEqual(kinds, {"throughput", "roofline", "winners", "break", "solves", "scaling", "accuracy",
                                 "communication"})

    def test_text_keeps_its_size_on_a_page(self):
        """What is taller than 0.85 of 25 cm is made smaller by report.tex."""
        for f in self.figures:
            self.assertLessEqual(f.height, 0.85 * 25, f.name)

    def test_a_map_for_one_column_counts_its_own_cells(self):
        for f in (f for f in self.figures if f.narrow and f.name in ("winners-h200", "winners-h100")):
            wide, narrow = (int(re.search(r"of (\d+) cells are decided", form.caption)[1]) for form in f.forms)
            self.assertEqual([wide, narrow], [len(form.panels[0].rectangles) for form in f.forms], f.name)
            self.assertLess(narrow, wide)

    def test_captions_speak_of_grey_where_it_is(self):
        said = set()
        for f in (form for form in self.forms if form.name.startswith(("break-even", "winners"))):
            cells = any(panels.GREY in {r[4] for r in panel.rectangles} for panel in f.panels)
            curves = f.name.startswith("break") and any(panels.GREY in {c for _, c in p.thin} for p in f.panels)
            if not f.name.endswith("-narrow"):
                self.assertEqual("grey" in f.caption, cells or curves, f.name)
                said.add(cells or curves)
        self.assertEqual(said, {True, False})

    def test_names_with_commas_are_told_apart(self):
        captions = [f.caption for f in self.figures if " Grey: " in f.caption]
        self.assertTrue(any(" Grey: patch, reproducible; warp per element; " in caption for caption in captions))
        for caption in captions:
            self.assertNotIn("reproducible, ", caption)
            self.assertNotIn("  ", caption)

    def test_parts_of_a_solve_differ_in_grey(self):
        light = [panels.luminance(colour) for _, colour in solve_figures.SOLVE_PARTS]
        for a, b in itertools.combinations(light, 2):
            self.assertGreater(abs(a - b), 0.25)

    def test_studies_are_among_them(self):
        names = {f.name.split("-")[0] for f in self.figures}
        self.assertLessEqual({"anderson", "orthogonality", "samples"}, names)

    def test_recorded_iterations_stand_for_ranks_that_have_them(self):
        """Both are in runs of GPUs; those of the host have none that are recorded."""
        machines = {(p.run.machine, p.backend) for p in self.model.of("scaling.csv")}
        found = [(backend, s) for machine, backend in machines
                 for s in scaling_figures.speeds(self.model, (machine, backend))]
        self.assertEqual({s.operation for backend, s in found if backend == "host"}, {"gmres_cgs2"})
        plain, recorded = ({(s.run, s.strategy, s.element, s.ranks, s.n_dof) for _, s in found if s.operation == name}
                           for name in ("gmres_cgs2", "gmres_cgs2_graph"))
        self.assertTrue(recorded)
        self.assertFalse(plain & recorded)

    def test_the_body_shows_gpus_and_hosts_what_those_lack(self):
        at = {f.name: f.place for f in figures.placed(self.model, self.figures)}
        self.assertEqual([at[name] for name in ("throughput-h200", "time-h200", "breakdown-h200", "breakdown-h200-meshes")],
                         [panels.BODY, panels.APPENDIX, panels.BODY, panels.APPENDIX])
        of_gpus = {name.partition("-")[0] for name in at if "-host-" not in name}
        hosts = [name for name in at if "-host-" in name]
        self.assertIn("throughput-host-amd-epyc-2-threads", hosts)
        for name in hosts:
            if name.partition("-")[0] in of_gpus:
                self.assertEqual(at[name], panels.APPENDIX, name)

    def test_one_caption_says_one_process(self):
        self.assertTrue(any("within one process" in f.caption for f in self.figures))


class Ranks(unittest.TestCase):
    """Speed-ups of one run whose rows are in several files."""

    def speeds(self, **files: list[dict]) -> list[scaling_figures.Speed]:
        with tempfile.TemporaryDirectory() as folder:
            results = small.results(pathlib.Path(folder), c1=small.plenty()[:1])
            for name, lines in files.items():
                small.write(results / "m" / "2026-01-02-c1" / f"{name.replace('_', '-')}.csv", small.KERNELS, lines)
            self.model = model.build(results)
        return scaling_figures.speeds(self.model, ("m", "cuda"))

    @staticmethod
    def row(ranks: int, seconds: float, **changed) -> dict:
        case = f"strong-1x1x{ranks}-{'threads' if ranks == 1 else 'peer'}-box45x45x45"
        return small.row(seconds, 0.01, **{"ranks": ranks, "case": case, "operation": "gmres_cgs2_graph"} | changed)

    def test_a_speed_up_is_of_all_processes_of_both_calls(self):
        for second in (1, 2, 3):  # its number means nothing
            (speed,) = self.speeds(scaling=[self.row(1, 2e-5, process=1), self.row(1, 8e-5, process=2),
                                            self.row(2, 1e-5, process=second)])
            self.assertAlmostEqual(speed.gain.value, 4.0)
            self.assertEqual((speed.gain.processes, speed.gain.disturbed), (1, False))

    def test_of_two_files_with_a_place_the_one_with_more_strategies_speaks(self):
        """Each over its own call on one rank."""
        fuller = [self.row(ranks, seconds, variant=v) for v in ("patch", "node_csr")
                  for ranks, seconds in ((1, 3e-5), (2, 1e-5))]
        found = self.speeds(scaling_gmres=[self.row(1, 2e-5), self.row(2, 1e-5)], scaling=fuller)
        self.assertEqual([(s.strategy, round(s.gain.value, 6)) for s in found], [("patch", 3.0), ("node_csr", 3.0)])

    def test_table_and_caption_name_the_form_of_gmres_and_the_order(self):
        lines = [self.row(ranks, 2e-5 / ranks, order=order) for order in ("lexicographic", "bisection")
                 for ranks in (1, 2)]
        self.assertEqual(len(self.speeds(scaling=lines)), 2)
        table = tables.scaling_table(self.model)
        told = [[row[table.columns.index(name)].text for name in ("GMRES", "order")] for row in table.rows]
        form = "classical Gram-Schmidt twice, as a CUDA graph"
        self.assertEqual(told, [[form, "lexicographic"], [form, "bisection"]])
        figure = next(f for f in figures.all_figures(self.model) if f.name == "scaling-h200")
        self.assertIn(f"One iteration of GMRES, with {form}, on several GPUs over one GPU", figure.caption)

    def figure(self, lines: list[dict]) -> panels.Figure:
        self.speeds(scaling=lines)
        return next(f for f in figures.all_figures(self.model) if f.name == "scaling-h200")

    def test_meshes_with_one_number_of_ranks_are_rows_of_one_panel(self):
        """Of each kind; those with several stay curves, and captions say what is there."""
        def lines(kind: str, mesh: str, n_dof: int, element: str, *seconds: tuple[int, float]) -> list[dict]:
            return [self.row(r, t, element=element, n_dof=n_dof * (r if kind == "weak" else 1),
                             case=f"{kind}-1x1x{r}-{'threads' if r == 1 else 'peer'}-{mesh}") for r, t in seconds]

        rows = lines("strong", "box45x45x45", 292008, "hex8", (1, 8e-5), (2, 5e-5)) + \
            lines("strong", "box45x45x45", 292008, "tet4", (1, 8e-5), (4, 2.5e-5)) + \
            lines("weak", "box68x68x68", 985527, "hex8", (1, 8e-5), (2, 1e-4))
        f = self.figure(rows)
        strong, weak, over = f.panels
        self.assertEqual([(p.title, p.x.label, p.frame) for p in (strong, weak)],
                         [("Strong scaling", "efficiency", 2), ("Weak scaling", "efficiency", 2)])
        self.assertEqual([[name for name, _ in p.y.ticks] for p in (strong, weak)],
                         [["Hex8, box, 292 K, 2 GPUs", "Tet4, box, 292 K, 4 GPUs"], ["Hex8, box, 986 K a GPU, 2 GPUs"]])
        self.assertEqual([[(round(x, 6), y) for x, y, *_ in p.points] for p in (strong, weak)],
                         [[(0.8, 0.0), (0.8, 1.0)], [(0.8, 0.0)]])
        self.assertEqual([len(p.thin) for p in (strong, weak)], [2, 1])
        self.assertEqual([x for x, _ in strong.dashed[0][0]], [1.0, 1.0])
        self.assertIn("both have: efficiency, which for a mesh of one size is the speed-up over the number of GPUs; ", f.caption)
        self.assertEqual([p.title for p in f.narrow.panels[:-1]], ["Strong scaling", "Weak scaling"])
        f = self.figure(rows + lines("strong", "box128x128x128", 6440067, "hex8", (1, 8e-5), (2, 5e-5), (4, 3e-5)))
        self.assertEqual([(p.title, p.frame) for p in f.panels[:-1]],
                         [("Hex8, box, 6.44 M", 1), ("Strong scaling", 2), ("Weak scaling", 2)])
        self.assertIn("; where there is one number of GPUs, a row with the efficiency, ", f.caption)
        self.assertEqual([p.title for p in f.narrow.panels[:-1]], ["Hex8, box, 6.44 M", "Weak scaling"])

    def test_strategies_of_a_row_stand_beside_each_other_and_are_hollow_where_noisy(self):
        strategies = ("patch", "patch_ordered", "node_csr")
        lines = [self.row(r, 2e-5 / r, variant=v) | ({"ci95_high_s": 1e-3} if (v, r) == ("node_csr", 2) else {})
                 for v in strategies for r in (1, 2)]
        panel, over = self.figure(lines).panels
        at = {(colour, shape): y for _, y, colour, shape in panel.points}
        (blue, circle), grey, (green, triangle) = map(panels.style_of, strategies)
        self.assertLess(at[blue, circle], at[grey])
        self.assertLess(at[grey], at[green, triangle - 1])
        self.assertTrue(all(-0.5 < y < 0.5 for y in at.values()))
        self.assertEqual(panel.points[0][2], panels.GREY)  # below those with a colour
        self.assertEqual([w[2] for w in over.words], ["patch", "gather by node", "others"])

    def test_several_forms_are_said_by_panel(self):
        forms = scaling_figures.forms_said([("Hex8", "gmres_cgs2"), ("Hex8", "gmres_cgs2"), ("Tet4", "gmres_mgs")])
        self.assertEqual(forms, "classical Gram-Schmidt twice (Hex8) and modified Gram-Schmidt (Tet4)")


class Colours(unittest.TestCase):
    def test_differ_in_grey(self):
        light = sorted(panels.luminance(c) for c in panels.PALETTE)
        self.assertTrue(all(b - a > 0.015 for a, b in zip(light, light[1:])), light)
        self.assertEqual(len(set(panels.SHAPES)), panels.COLOURS)


class Drawing(Small):
    def test_without_gnuplot_one_line_and_the_data(self):
        drawn, notes = gnuplot.draw(self.figures[:1], self.path / "none", self.path / "none-data",
                                    gnuplot="no-such-gnuplot")
        self.assertEqual((drawn, len(notes)), ([], 1))
        self.assertIn("gnuplot is missing", notes[0])
        self.assertTrue((self.path / "none-data" / "throughput-h200-1.dat").is_file())

    @unittest.skipUnless(HAVE_GNUPLOT, "gnuplot is missing")
    def test_every_figure_in_every_format(self):
        drawn, notes = gnuplot.draw(self.figures, self.path / "f", self.path / "data")
        self.assertEqual((len(drawn), notes), (len(self.figures), []))
        self.assertFalse((self.path / "f" / "throughput-h200-narrow.png").exists())
        for f in (form for f in self.figures for form in f.forms):
            for name in f.files:
                self.assertGreater((self.path / "f" / name).stat().st_size, 1000, name)
            svg = (self.path / "f" / f"{f.name}.svg").read_text()
            self.assertNotIn("<title>data", svg)
            width = float(re.search(r'viewBox="0 0 (\d+)', svg)[1])
            sizes = [float(s) for s in re.findall(r'font-size="([\d.]+)"', svg)]
            smallest = min(sizes) / width * f.width / 2.54 * 72
            self.assertGreaterEqual(smallest, 7.0, f.name)
            for text in ("patch",):
                self.assertIn(text, svg)

    @unittest.skipUnless(HAVE_GNUPLOT and shutil.which("pdffonts"), "gnuplot or pdffonts is missing")
    def test_pdf_has_its_size_and_its_fonts(self):
        f = self.named("winners-h200")
        gnuplot.draw([f], self.path / "p", self.path / "data")
        fonts = subprocess.run(
            ["pdffonts", self.path / "p" / f"{f.name}.pdf"], capture_output=True, text=True
        ).stdout.splitlines()[2:]
        self.assertTrue(fonts and all(line.split()[-5] == "yes" for line in fonts), fonts)
        told = subprocess.run(["pdfinfo", self.path / "p" / f"{f.name}.pdf"], capture_output=True, text=True).stdout
        self.assertAlmostEqual(float(re.search(r"Page size: +([\d.]+)", told)[1]), f.width / 2.54 * 72, delta=1)

    @unittest.skipUnless(HAVE_GNUPLOT, "gnuplot is missing")
    def test_a_failure_is_one_line(self):
        f = self.named("winners-h200")
        broken = panels.Figure(
            "broken",
            f.title,
            f.caption,
            [panels.Panel("t", panels.Axis("", 0, 1, (("", float("nan")),)), panels.Axis("", -1, 1, (), True))],
            [(0, 1, 0, 1)],
            8.5,
            5,
            [],
        )
        drawn, notes = gnuplot.draw([broken], self.path / "b", self.path / "data")
        self.assertEqual((drawn, len(notes)), ([], 1))
        self.assertIn("gnuplot: broken.pdf: ", notes[0])


if __name__ == "__main__":
    unittest.main()
