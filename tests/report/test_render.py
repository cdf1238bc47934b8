"""The document as Markdown, HTML and LaTeX: exact cells, and pages that parse."""

import csv
import dataclasses
import html.parser
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

from report import calibration, captions, figures, gnuplot, model, panels, places, render, rows, sources
from report.render import document as document_
from report.render import clocks, latex, markup
from report.render import tables
from report.render.jacobians import jacobians_table
from report.wholes import solves_of
from report.words import MATRIX
from tests.report import small

VOID = {"meta", "link", "br", "hr", "img", "input"}
CLAIM = {
    "name": "gather",
    "headline": True,
    "expected": "faster",
    "asks": "Is gathering faster?",
    "sentence": "Gathering is `2` times as fast & more.",
    "verdict": "holds",
    "where": "H200",
    "decided_by": "c1",
}


class Page(html.parser.HTMLParser):
    """Faults where elements do not close in their order; collects identifiers, addresses and cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        self.ids += [told["id"]] if "id" in told else []
        self.addresses += [told[k] for k in ("src", "href", "xlink:href") if k in told]
        self.cells += [""] * (tag == "td")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> at {self.getpos()} in {self.open}"
        self.open.pop()

    def handle_data(self, data):
        if "td" in self.open:
            self.cells[-1] += data


def setUpModule():
    """Numbers here do not depend on how far runs in results/ differ."""
    patch = small.runs_alike()
    patch.start()
    unittest.addModuleCleanup(patch.stop)


class Rendered(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        cls.model = model.build(small.results(cls.path / "results", c1=small.plenty()))
        cls.figures, cls.notes = gnuplot.draw(figures.all_figures(cls.model), cls.path / "figures", cls.path / "data")
        cls.document = document_.document(cls.model, cls.figures, [CLAIM], ["something is missing"])
        cls.missing = render.render(cls.document, cls.path)
        cls.text = {
            name: (cls.path / name).read_text() for name in ("report.md", "report.html", "report.tex", "numbers.tex")
        }

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def rows(self, name: str) -> list[list[str]]:
        with open(self.path / "tables" / f"{name}.csv", newline="") as file:
            return list(csv.reader(file))

    def test_exact_cells(self):
        head, *lines = self.rows("strategies-h200-hex8")
        operations = ["tangent product", "elastic product", "residual", "diagonal blocks", "material update"]
        self.assertEqual(head, ["strategy"] + [f"{name}{end}" for name in operations for end in ("", ", low", ", high")])
        self.assertEqual(lines[0], ["patch"] + 5 * ["10.0", "9.90", "10.1"])
        self.assertEqual(lines[1], ["element, atomics"] + 5 * ["5.00", "4.95", "5.05"])
        self.assertIn("| patch | " + " | ".join(5 * ["10.0 (9.90–10.1)"]) + " |", self.text["report.md"])
        self.assertIn(
            "patch & " + " & ".join(5 * [r"\febinterval{10.0}{9.90}{10.1}"]) + r" \\",
            (self.path / "tables/strategies-h200-hex8.tex").read_text(),
        )

    def test_columns_of_numbers_in_files_hold_numbers(self):
        """So that whoever loads one has numbers without taking texts apart."""
        def parted(*cells: tuple[str, float | None]) -> list[tuple[str, list[str]]]:
            return render.parted("time", [tables.Cell(*cell) for cell in cells])

        self.assertEqual(parted(("≤ 1.95 (1.77–2.14)¹~", 1.95), ("", None), ("2.00", 2.0)), [
            ("time", ["1.95", "", "2.00"]), ("time, low", ["1.77", "", ""]), ("time, high", ["2.14", "", ""]),
            ("time, mark", ["≤¹~", "", ""])])
        self.assertEqual(parted(("< 1e-05", 1e-5), ("0.5", 0.5)),
                         [("time", ["1e-05", "0.5"]), ("time, mark", ["<", ""])])
        self.assertEqual(parted(("6.44 M", 6440067.0), ("986 K", 985527.0)), [("time", ["6440067", "985527"])])
        for text in (("10", None), ("patch, 50.0 ms", 50.0), ("1 of 2", 1.0)):
            self.assertEqual(parted(("-", None), text), [("time", ["-", text[0]])])
        for table in self.document.tables:
            head, *lines = self.rows(table.name)
            self.assertEqual(len(head), len(set(head)), table.name)
            for i, name in enumerate(head):
                if name.endswith((", low", ", high")):
                    for line in lines:
                        float(line[i] or 0), float(line[head.index(name.rpartition(",")[0])] or 0)

    def test_intervals_keep_both_ends(self):
        for text, said in (("14.5 (14.3–14.6)", r"\febinterval{14.5}{14.3}{14.6}"),
                           ("**1290 (1280–1294)**~", r"\febinterval{1290}{1280}{1294}\textasciitilde{}"),
                           ("a_b 1.00 (0.904–1.10), 2.00 (1.90–2.10)",
                            r"a\_b \febinterval{1.00}{0.904}{1.10}, \febinterval{2.00}{1.90}{2.10}"),
                           ("b4d72838c0af†", "b4d7283†"), ("≤ 6.44 M", r"$\le$~6.44~M")):
            self.assertEqual(latex.cell_tex(latex.shortened(text)), said)

    def test_a_table_for_a_paper_says_what_it_is_of(self):
        text = (self.path / "tables/strategies-h200-hex8.tex").read_text()
        lines = text.splitlines()
        (caption,) = [line for line in lines if r"\febcaption{Hex8" in line]
        for said in (lines[1], caption):
            for part in ("NVIDIA H200", "Hex8", "box of 6.44 M", "per second", "doubles", "one process",
                         "9 samples each", "Commit c1", "Below and above a value"):
                self.assertIn(part, said)
            self.assertEqual(said.count("H200"), 1)
        self.assertNotIn("±", text + (self.path / "report.tex").read_text())
        self.assertNotIn("$\\pm$", text)

    @unittest.skipUnless(shutil.which("pdflatex") and shutil.which("gnuplot"), "LaTeX or gnuplot is missing")
    def test_the_article_of_the_readme_fits_its_columns(self):
        page = (model.ROOT / "results/README.md").read_text()
        (article,) = re.findall(r"```latex\n(.*?)```", page, re.DOTALL)
        (self.path / "sample.tex").write_text(article.replace("h100", "h200"))
        done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "sample.tex"], cwd=self.path,
                              capture_output=True, text=True, errors="replace")
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        self.assertNotIn("Overfull", done.stdout)
        self.assertIn("Hex8, NVIDIA H200", (self.path / "sample.aux").read_text())  # the caption of the table

    def test_a_table_for_a_paper_takes_the_narrowest_place(self):
        for columns, place in ((2, "table"), (8, "table*"), (15, "sidewaystable*")):
            wide = tables.Table("t", "T", "", ["a head of words"] * columns,
                                [[tables.Cell("1.00 (0.99–1.01)")] * columns], words=0)
            found = latex.for_paper(wide)
            self.assertEqual((found.place, len(found.rows[0]), found.fits), (place, columns, True))
            self.assertTrue(all(head.startswith(r"\shortstack[r]{a head") for head in found.head))
            self.assertLess(found.width, {name: width for name, width, _ in latex.PLACES}[place])

    def test_what_fits_no_page_of_an_article_is_there_as_csv_alone(self):
        def fits(columns: int, rows: int, text: str = "1.00 (0.99–1.01)") -> bool:
            return latex.has_tex(tables.Table("t", "T", "", ["n"] * columns, [[tables.Cell(text)] * columns] * rows))

        self.assertEqual([fits(*shape) for shape in ((15, 24), (20, 1), (8, 30), (8, 50), (15, 35))],
                         [True, False, True, False, False])
        self.assertFalse(fits(4, 25, "many words " * 20))  # which wrap into several lines

    def test_marks_are_explained_where_they_are_seen(self):
        def said(caption: str, text: str) -> str:
            table = tables.Table("t", "T", caption, ["a"], [[tables.Cell(text)]])
            self.assertIn(table.said, latex.for_paper(table).comment)
            return table.said

        self.assertEqual(said("A.", "1.00"), "A.")
        self.assertEqual(said("A.", "1.00~"), "A. ~: so noisy that nobody wins by it.")
        self.assertEqual(said("A. ~: noisy.", "1.00~"), "A. ~: noisy.")
        self.assertEqual(said("Commit c†.", "1.00"), f"Commit c†. {sources.NOTE}")

    def test_processes_of_columns_that_differ(self):
        self.assertEqual(tables.by_operation([("residual", {1}), ("material", {1})]), "one process")
        of = [("residual", {5}), ("material", {5}), ("full tangents", {3}), ("sustained", {3})]
        self.assertEqual(tables.by_operation(of), "5 processes; full tangents and sustained 3")

    def test_a_table_says_which_run_a_column_is_of(self):
        (run,) = {p.run for p in self.model.points}
        one, other = (dataclasses.replace(run, folder=f"2026-11-30-{commit}", is_old=commit == "c3") for commit in ("c2", "c3"))
        self.assertEqual(tables.runs_by_operation({"residual": one}), "Commit c2")
        self.assertEqual(tables.runs_by_operation({"full tangents": other, "residual": one, "tangent product": one}),
                         "Commit c2; full tangents of c3†, with which no ratio is to be formed")
        self.assertEqual(tables.by_operation([("residual", {3, 5})]), "3 to 5 processes")

    def test_a_table_says_which_strategies_have_changed(self):
        some = [p for p in self.model.kernels if p.operation == "residual"]
        names = {p.strategy for p in some}
        self.assertIn("patch", names)
        for changed, said in ((set(), ""), ({"patch"}, " Here † is of some alone: patch."), (names, "")):
            with mock.patch("report.sources.is_old", lambda kind, row, changed=changed: row["variant"] in changed):
                self.assertEqual(tables.changed_since(some), said)
                old = sum(p.strategy in changed for p in self.model.points)
                runs = [dataclasses.replace(run, is_old=True) for run in self.model.runs]
                lines = document_.limits(dataclasses.replace(self.model, runs=runs))
                self.assertTrue(any(line.startswith(f"{old} of {len(self.model.points)} points were measured from sources")
                                    for line in lines), lines)

    @unittest.skipUnless(shutil.which("pdflatex"), "LaTeX is missing")
    def test_tables_of_the_report_fit_an_article(self):
        """Those that are committed, and those of a few rows, measured by LaTeX in letters of 8 pt."""
        files = [*sorted((model.ROOT / "results/report/tables").glob("*.tex")), *sorted((self.path / "tables").glob("*.tex"))]
        measured = "\\typeout{WIDTH \\the\\wd0 END}\\typeout{WIDTH \\the\\dimexpr\\ht0+\\dp0 END}\n"
        pages = ("columnwidth", "textwidth", "textheight")
        boxes = "".join(f"\\typeout{{WIDTH \\the\\{name} END}}\n" for name in pages)
        boxes += "".join(f"\\sbox0{{\\input{{{file}}}}}{measured}" for file in files)
        (self.path / "article.tex").write_text(
            "\\documentclass[10pt,twocolumn]{article}\n\\usepackage[utf8]{inputenc}\n\\usepackage[T1]{fontenc}\n"
            "\\usepackage{lmodern,booktabs,array}\n\\newcommand{\\code}[1]{\\texttt{#1}}\n\\begin{document}\n"
            f"{boxes}\\end{{document}}\n")
        done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "article.tex"], cwd=self.path,
                              capture_output=True, text=True, errors="replace")
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        lengths = [float(pt) * latex.CM for pt in re.findall(r"WIDTH ([\d.]+)ptEND", done.stdout)]
        column, page, height = (lengths.pop(0) for _ in range(3))
        self.assertEqual(len(lengths), 2 * len(files))
        for file, width, high in zip(files, lengths[::2], lengths[1::2]):
            place = re.search(r"for ([\w*]+); needs", file.read_text().splitlines()[0])[1]
            with self.subTest(file.name):
                self.assertGreater(width, 1)
                self.assertLessEqual(width, {"table": column, "table*": page, "sidewaystable*": height}[place])
                self.assertLessEqual(high, {name: most for name, _, most in latex.PLACES}[place])
                if place == "sidewaystable*":
                    head = file.read_text().partition("\\toprule\n")[2].splitlines()[0]
                    self.assertGreaterEqual(head.count(" & "), 11)

    def test_answers_over_the_next_and_the_matrix(self):
        lines = self.rows("choice")
        self.assertEqual(
            lines[1],
            [
                "H200",
                "Hex8",
                "box",
                "tangent product",
                "patch",
                "no",
                "3×3 alone",
                "6440067",
                *("10.0", "9.90", "10.1"),
                *("2.00", "1.82", "2.20"),
                *("4.00", "3.64", "4.40"),
                "3",
            ],
        )
        self.assertEqual(
            self.rows("solve-choice")[1],
            [
                "H200",
                "Hex8, stretched cube, load steps",
                "multigrid",
                "311469",
                "patch, 50.0 ms",
                "no",
                *("3.00", "2.71", "3.32"),
                "patch, 80.0 ms",
                "no",
                *("2.08", "1.84", "2.36"),
                "37.5",
                "3",
            ],
        )

    def test_solves_that_differ_by_less_than_a_tenth_are_not_told_apart(self):
        near = [row | {"median_s": 0.052, "ci95_low_s": 0.0519, "ci95_high_s": 0.0521} if row.get("krylov")
                and row["variant"] == "element_atomic" and row["operation"] == "solve" else row for row in small.plenty()]
        built = model.build(small.results(self.path / "near", c1=near))
        table = tables.solve_choice_table(built)
        told = dict(zip(table.columns, [cell.text for cell in table.rows[0]]))
        self.assertEqual((told["least"], told["tie"], told["matrix / other"]), ("patch, 50.0 ms", "yes", "3.00 (2.71–3.32)"))

    def test_ratios_are_there_where_strategies_tie(self):
        """A reader of the CSV file has the number and its ends; that they tie is a column of its own."""
        def of(name: str, *pairs: tuple[str, float]) -> dict[str, str]:
            lines = [small.row(seconds * 6440067e-9, 0.01, variant=strategy, case="box128-distorted", n_dof=6440067)
                     for strategy, seconds in pairs]
            table = tables.choice_table(model.build(small.results(self.path / name, c1=lines)))
            render.write_csv(table, self.path)
            with open(self.path / "choice.csv", newline="") as file:
                (line,) = csv.DictReader(file)
            told = {head: line[head] for head in ("fastest", "tie", "matrix")}
            return told | {head: "{} ({}–{})".format(*(line[f"{head}{end}"] for end in ("", ", low", ", high")))
                           for head in ("next / it", "matrix / other")}

        patch, atomics, matrix = ("patch", 0.1), ("element_atomic", 0.3), "assembled_symmetric"
        self.assertEqual(of("tie", patch, ("patch_ordered", 0.106), (matrix, 0.2)),
                         {"fastest": "patch = patch, reproducible", "tie": "yes", "matrix": "upper half",
                          "next / it": "1.06 (0.964–1.17)", "matrix / other": "2.00 (1.82–2.20)"})
        self.assertEqual(of("with-matrix", patch, atomics, (matrix, 0.098)),
                         {"fastest": "matrix, upper half = patch", "tie": "yes", "matrix": "upper half over patch",
                          "next / it": "1.02 (0.928–1.12)", "matrix / other": "0.980 (0.891–1.08)"})
        self.assertEqual(of("matrix", patch, atomics, (matrix, 0.05)),
                         {"fastest": "matrix, upper half", "tie": "no", "matrix": "upper half over patch",
                          "next / it": "2.00 (1.82–2.20)", "matrix / other": "0.500 (0.455–0.550)"})

    def test_committed_ratios_are_there_wherever_both_sides_were_measured(self):
        for entry in tables.answers(small.committed()):
            some = places.places(small.committed().kernels)[entry.place]
            with_matrix = entry.place[2].startswith("jacvec") and any(p.strategy in MATRIX for p in some)
            self.assertEqual((entry.won.gain is None, entry.ratio is None), (False, not with_matrix), entry.place)

    def held(self, name: str, seconds: float) -> dict:
        """A product of the largest box without a pause: times as long as `seconds` for 10⁹ degrees of freedom."""
        return small.row(seconds * 6440067e-9, 0.01, variant=name, case="box128-distorted", n_dof=6440067,
                         condition="sustained")

    def with_sustained(self, name: str, **runs) -> tuple[model.Model, tables.Answer]:
        built = model.build(small.results(self.path / name, **runs))
        found = [e for e in tables.answers(built) if e.place[1:] == ("hex8", "jacvec", "box", 6440067)]
        self.assertEqual(len(found), 1)
        return built, found[0]

    def test_sustained_rates_stand_beside_short_samples_and_are_never_mixed(self):
        built, answer = self.with_sustained("held", c1=small.plenty(), c2=[self.held("patch", 0.125),
                                                                            self.held("assembled_bsr", 0.4)])
        self.assertEqual([p.n_dof for p in built.kernels if p.run.commit == "c2"], [])
        self.assertEqual((answer.won.fastest[0].strategy, answer.sustained.run.commit), ("patch", "c2"))
        line = dict(zip(tables.choice_table(built).columns, [c.text for c in tables.answer_cells(answer)]))
        self.assertEqual((line["10⁹ DoF/s"], line["matrix / other"]), ("10.0 (9.90–10.1)", "4.00 (3.64–4.40)"))
        self.assertEqual([line[name] for name in tables.WITHOUT_PAUSE], ["8.00 (7.92–8.08)", "3.20 (2.91–3.52)"])
        table = tables.strategies_table(built, built.cards[0], "hex8")
        cells = {row[0].text: row[table.columns.index("tangent product, sustained")].text for row in table.rows}
        self.assertEqual(cells, {"patch": "8.00 (7.92–8.08)", "element, atomics": "",
                                 "matrix, 3×3": "2.50 (2.48–2.53)"})
        self.assertNotIn("elastic product, sustained", table.columns)
        self.assertIn("ten seconds without a pause, commit c2", table.caption)
        told = document_.macros(built)
        key = "h200/hex8/patch/jacvec/sustained"
        self.assertEqual([told[f"{key}{end}"] for end in ("/value", "/over-matrix")], ["8.00", "3.20 (2.91–3.52)"])
        ends = ("low", "of", "processes", "commit", "commit/plain")
        self.assertEqual([told[f"{key}/over-matrix/{end}"] for end in ends], ["2.91", "assembled_bsr", "1", "c2", "c2"])
        self.assertNotIn("h200/hex8/assembled_bsr/jacvec/sustained/over-matrix", told)

    def test_sustained_rates_of_another_run_than_their_column_are_told(self):
        """Also where that run has another column of the table."""
        full = small.row(1e-3, variant="patch", operation="jacvec_full", case="box128-distorted", n_dof=6440067)
        for name, more in (("column", [full]), ("none", [])):
            built, _ = self.with_sustained(f"another-{name}", c1=small.plenty(), c2=[self.held("patch", 0.125), *more])
            table = tables.strategies_table(built, built.cards[0], "hex8")
            self.assertEqual("full tangents" in table.columns, bool(more))
            self.assertIn("commit c2, another run, so that no ratio is to be formed with the columns before", table.caption)

    def test_strategies_say_how_far_another_run_differs(self):
        """Of GPUs, by report/calibration.py; of hosts no runs were compared."""
        lines = [row | {"backend": "host", "device": "CPU"} for row in small.plenty() if "krylov" not in row]
        built = model.build(small.results(self.path / "hosts", c1=small.plenty(), c2=lines))
        said = "Intervals are within one run; another run, on another card or day, differs by"

        def captions_of() -> list[str]:
            return [tables.strategies_table(built, card, "hex8").caption for card in built.cards]

        with mock.patch("report.calibration.largest", lambda *_, **__: calibration.Spread(0.0106)):
            gpu, host = captions_of()
        self.assertIn(f"{said} 1.1 % (standard deviation", gpu)
        self.assertNotIn(said, host + " ".join(captions_of()))

    def test_what_another_run_has_stands_aside(self):
        """README, report and strategies.md have the number of the run that speaks: that with the main strategies."""
        half = [row | {"variant": "assembled_symmetric"} for row in small.plenty() if row["variant"] == "assembled_bsr"]
        main = [row | {"median_s": 1.25 * row["median_s"], "ci95_low_s": "", "ci95_high_s": ""}
                for row in small.plenty() + half if "krylov" not in row]
        more = small.plenty() + [row | {"variant": s} for s in ("node_csr", "dof_csr") for row in small.plenty()
                                 if row["variant"] == "patch" and "krylov" not in row]
        built = model.build(small.results(self.path / "aside", c1=main, c2=more))
        table = tables.strategies_table(built, built.cards[0], "hex8")
        told = {row[0].text: row[table.columns.index("tangent product")].text for row in table.rows}
        self.assertEqual((told["patch"], told["gather by node"]), ("8.00 (8.00–8.00)", "10.0 (9.90–10.1)‡"))
        self.assertIn("‡: of another run than the rest of its column (commit c2)", table.caption)
        (entry,) = [e for e in tables.answers(built) if e.place[1:] == ("hex8", "jacvec", "box", 6440067)]
        self.assertEqual((entry.won.run.commit, tables.over(entry)), ("c1", "3×3"))
        self.assertEqual(document_.macros(built)["h200/hex8/patch/jacvec/value"], "8.00")

    def test_a_strategy_that_only_another_run_has_is_named_behind_a_question_mark(self):
        half = [row | {"variant": "assembled_symmetric"} for row in small.plenty() if row["variant"] == "assembled_bsr"]
        built = model.build(small.results(self.path / "missed", c1=small.plenty(), c2=half))
        (entry,) = [e for e in tables.answers(built) if e.place[1:] == ("hex8", "jacvec", "box", 6440067)]
        self.assertFalse(entry.won.decided)
        self.assertEqual((tables.level(entry.won), tables.tie(entry.won), tables.over(entry)),
                         ("patch ? matrix, upper half", "open", "3×3 alone"))

    def test_sustained_rates_of_two_runs_have_no_ratio(self):
        built, answer = self.with_sustained("two-runs", c1=small.plenty(), c2=[self.held("patch", 0.125)],
                                        c3=[self.held("assembled_bsr", 0.4)])
        self.assertEqual((answer.sustained.run.commit, answer.ratio_sustained), ("c2", None))
        self.assertNotIn("h200/hex8/patch/jacvec/sustained/over-matrix", document_.macros(built))
        self.assertEqual(answer.ratio.value, 4.0)

    def test_without_sustained_rows_there_are_no_such_columns(self):
        for table in (tables.choice_table(self.model),
                      tables.strategies_table(self.model, self.model.cards[0], "hex8")):
            self.assertFalse([c for c in table.columns if "sustained" in c])
            self.assertNotIn("without a pause", table.caption)

    def test_solves(self):
        self.assertEqual(self.rows("all-solves")[1][7:15], ["20.0", "10.0", "50.0", "47.5", "52.5", "", "10", "100"])
        self.assertEqual(self.rows("all-solves")[1][15:18], ["", "", ""])  # not known

    def test_bytes_of_a_solve_are_for_each_newton_iteration(self):
        counted = [r | {"bytes_setup": 3_000_000, "bytes_back": 2500, "bytes_halo": 0} if "krylov" in r else r
                   for r in small.plenty()]
        added = ["bytes_setup", "bytes_back", "bytes_halo"]
        with mock.patch.object(small, "SOLVES", small.SOLVES + added):
            table = tables.solves_table(model.build(small.results(self.path / "bytes", c1=counted)))
        shown = dict(zip(table.columns, table.rows[0]))
        self.assertEqual([shown[name].text for name in ("sent, MB", "back, B/Newton", "halo, B/Newton")], ["3.00", "250", "0"])

    def test_solves_in_floats_stand_apart(self):
        """Of one run, one after the other, with their own times and words."""
        plain = [r | {"precision": "double"} for r in small.plenty() if "krylov" in r]
        floats = [r | {"precision": "mixed", "median_s": 0.4 * r["median_s"], "ci95_low_s": 0.4 * r["ci95_low_s"],
                       "ci95_high_s": 0.4 * r["ci95_high_s"]} for r in plain]
        added = [] if "precision" in small.SOLVES else ["precision"]
        with mock.patch.object(small, "SOLVES", small.SOLVES + added):
            built = model.build(small.results(self.path / "floats", c1=floats + plain))
        table = tables.solves_table(built)
        solve = table.columns.index("solve")
        self.assertEqual([(line[4].text, line[solve].text) for line in table.rows if line[4].text.startswith("patch")],
                         [("patch, products in floats", "20.0 (19.0–21.0)"), ("patch", "50.0 (47.5–52.5)")])

    def test_jacobians(self):
        """Beside Newton's method in one run; the strategy is the one that takes least by it, whoever wins elsewhere."""
        self.assertIsNone(jacobians_table(self.model))
        plain = [r for r in small.plenty() if "krylov" in r]

        def way(factor: float, newton: int, jacobian: str, depth: int = 0, **more) -> list[dict]:
            return [r | {"jacobian": jacobian, "anderson": depth, "newton_iterations": newton,
                         "median_s": factor * r["median_s"], "ci95_low_s": factor * r["ci95_low_s"],
                         "ci95_high_s": factor * r["ci95_high_s"]} | more
                    for r in plain if r["operation"] == "solve"]

        usual = [r | {"jacobian": "tangent", "anderson": 0} for r in plain]
        lost = [r | {"status": "failed", "median_s": ""} for r in way(1, 0, "tangent", 5)]
        several = usual + lost + way(10, 400, "elastic") + way(3, 60, "elastic", 5) + \
            way(2, 9, "difference", krylov="gmres")
        with mock.patch.object(small, "SOLVES", small.SOLVES + ["jacobian", "anderson"]):
            built = model.build(small.results(self.path / "jacobians", c1=several))
        table = jacobians_table(built)
        at = {head: i for i, head in enumerate(table.columns)}
        self.assertEqual([[line[at[head]].text for head in ("strategy", "Jacobian", "depth", "Newton", "solve",
                                                            "over Newton's method", "with set-ups")]
                          for line in table.rows], [
            ["patch", "tangent", "0", "10", "50.0 (47.5–52.5)", "", "80.0"],
            ["patch", "tangent", "5", "", "failed", "", ""],
            ["patch", "differences", "0", "9", "100 (95.0–105)", "2.00 (1.81–2.21)", "120"],
            ["patch", "frozen tangent", "0", "400", "500 (475–525)", "10.0 (9.05–11.1)", "520"],
            ["patch", "frozen tangent", "5", "60", "150 (143–158)", "3.00 (2.71–3.32)", "170"]])
        rest = [r for r in several if (r["variant"], r["jacobian"]) != ("patch", "elastic")]
        with mock.patch.object(small, "SOLVES", small.SOLVES + ["jacobian", "anderson"]):
            table = jacobians_table(model.build(small.results(self.path / "others", c1=rest)))
        (taken,) = {line[at["strategy"]].text for line in table.rows}  # one that has all, not the fastest of all
        self.assertNotEqual(taken, "patch")
        self.assertEqual(len(table.rows), 5)
        self.assertEqual({place[0] for place in solves_of(built)}, {p.card for p in built.of("solves.csv")})
        self.assertEqual({p.jacobian for some in solves_of(built).values() for p in some}, {"tangent"})
        behind = [line[3].text for line in tables.solves_table(built).rows if line[4].text == "patch"]
        self.assertEqual(behind, ["multigrid", "multigrid, frozen tangent", "multigrid, frozen tangent, Anderson 5",
                                  "multigrid, differences"])

    def test_heads_of_tables_of_strategies_say_size_and_processes(self):
        self.assertIn("### Hex8, NVIDIA H200, box of 6.44 M DoF, one process\n", self.text["report.md"])

    def test_one_process_is_said(self):
        self.assertIn("none were measured by at least 3 processes", self.text["report.md"])
        self.assertEqual(self.rows("processes")[1], ["NVIDIA H200", "kernels", "120", "120", "0", "0"])

    def test_set_ups_of_two_runs_differ(self):
        slow = [r | {"setup_s": 5 * r["setup_s"]} for r in small.plenty() if "krylov" in r]
        built = model.build(small.results(self.path / "two", c1=small.plenty(), c2=slow))
        self.assertEqual(document_.set_up_spread(built), 5.0)
        self.assertIn("by a factor of up to 5.00", " ".join(document_.limits(built)))
        self.assertIsNone(document_.set_up_spread(self.model))

    def test_numbers_as_macros(self):
        self.assertIn(
            r"\feb@set{h200/hex8/patch/jacvec}{10.0 (9.90--10.1)}",
            self.text["numbers.tex"],
        )
        self.assertIn(r"\feb@set{h200/hex8/dof}{6.44 M}", self.text["numbers.tex"])

    def test_numbers_say_processes_meshes_and_ratios(self):
        told = self.document.macros
        self.assertEqual([told[f"h200/hex8/{key}"] for key in (
            "processes", "patch/jacvec/processes", "patch/jacvec/over-matrix", "patch/jacvec/over-matrix/of",
            "irregular/dof", "irregular/commit", "irregular/patch/jacvec/value", "irregular/patch/jacvec/over-matrix/value")],
            ["1", "1", "4.00 (3.64–4.40)", "assembled_bsr", "986 K", "c1", "10.0", "4.00"])
        self.assertNotIn("h200/hex8/assembled_bsr/jacvec/over-matrix", told)
        self.assertNotIn("h200/hex8/patch/residual/over-matrix", told)
        head = self.text["numbers.tex"].partition(r"\makeatletter")[0]
        ends = {key.rpartition("/")[2] for key in told} | {"sustained"}
        operations = {p.operation for p in self.model.kernels}
        ends = {end for end in ends if not any(key.startswith("figure/") and key.endswith(end) for key in told)}
        for end in ends - {p.strategy for p in self.model.points}:
            with self.subTest(end):
                self.assertTrue(end in head if end in operations else f"/{end}" in head or f" {end}" in head, end)
        self.assertIn("% Cards here: h200.", head)

    def test_machines_are_there_by_name(self):
        told = self.document.macros
        self.assertEqual((told["h200/gpu"], told["h200/copy"], told["h200/flop"]), ("NVIDIA H200", "4000", "33000"))

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is missing")
    def test_captions_are_there_by_name(self):
        told = self.document.macros
        (caption,) = [shown.figure.caption for section in self.document.sections for shown in section.blocks
                      if isinstance(shown, document_.Shown) and shown.figure.name == "winners-h200"]
        self.assertTrue(told["figure/winners-h200"].endswith(caption))
        short = told["figure/winners-h200/short"]
        self.assertTrue(told["figure/winners-h200"].startswith(short) and short.endswith("."), short)
        self.assertEqual(short.count(". "), 1)
        self.assertEqual(told["figure/throughput-h200-narrow"], told["figure/throughput-h200"])

    def test_a_caption_for_a_paper_says_what_its_dagger_is(self):
        drawn = dataclasses.replace(self.figures[0], name="dagger", caption="Says this; commit c1†.", narrow=None)
        told = document_.macros(self.model, [drawn])
        self.assertTrue(told["figure/dagger"].endswith(f"Says this; commit c1†. {sources.NOTE}"), told["figure/dagger"])

    def test_where_nobody_wins_no_winners_are_counted(self):
        lines = [small.row(1.05 if s == "patch" else 1.0, 0.01, variant=s) for s in ("patch", "element_atomic", "assembled_bsr")]
        built = model.build(small.results(self.path / "level", c1=lines))
        said = " ".join(document_.wins_said(built, built.cards))
        self.assertIn("no strategy is the fastest", said)
        self.assertNotIn("of those that are decided", said)
        self.assertRegex(said, r"at \d+ places? \([^ ]+( [KM])? degrees of freedom\)")  # one size: no span
        self.assertNotIn("figure", self.document.cards)

    def test_html_parses_and_stands_alone(self):
        self.assertEqual(self.missing, [])
        page = Page(self.text["report.html"])
        self.assertEqual(len(page.ids), len(set(page.ids)))
        for address in page.addresses:
            self.assertFalse(re.match(r"https?:|//|figures/", address), address)
            if address.startswith("#"):
                self.assertIn(address[1:], page.ids)
        self.assertIn("10.0 (9.90–10.1)", page.cells)

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is missing")
    def test_every_figure_is_everywhere(self):
        self.assertEqual((len(self.figures), self.notes), (8, []))
        wide = r"\linewidth"
        for f in self.figures:
            self.assertIn(f'<figure id="{f.name}">', self.text["report.html"])
            self.assertIn(f"(figures/{f.name}.svg)", self.text["report.md"])
            size = f"width={wide if f.width > 9 else f'{f.width}cm'},height=\\febheight,keepaspectratio"
            self.assertIn(f"\\includegraphics[{size}]{{figures/{f.name}.pdf}}", self.text["report.tex"])
        self.assertEqual(self.text["report.html"].count("<svg"), len(self.figures))

    def test_figures_of_studies_are_shown(self):
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        contact = [small.row(operation=f"jacvec{share}", variant=v) for share in ("_contact0.001", "_contact0.1")
                   for v in ("patch", "node_csr")]
        read = model.build(small.results(path, c1=small.plenty() + contact + [
            small.row(plastic=0.24, plastic_pattern="part", variant=v) for v in ("patch", "node_csr")]))
        wanted = figures.every_figure(read)
        self.assertLessEqual({"part-h200", "contact-h200"}, {f.name for f in wanted})
        self.assertEqual({f.name for f in document_.document(read, wanted).figures}, {f.name for f in wanted})

    def test_a_table_of_the_pdf_stands_on_one_page_with_its_caption(self):
        shown = [table for table in self.document.tables if table.place != panels.FILE]
        self.assertGreater(len(shown), 8)
        self.assertEqual(self.text["report.tex"].count(r"\captionof{table}"), len(shown))
        self.assertEqual(self.text["report.tex"].count(r"\begin{fitted}"), len(shown))

    def test_the_parts_stand_in_the_order_of_a_paper(self):
        keys = [section.key for section in self.document.sections]
        self.assertEqual(keys, ["question", "answer", "method", "products", "wholes", "claims", "limits", "machines",
                                "more-tables", "files", "artifact"])
        body = [b for s in self.document.sections[:keys.index("machines")] for b in s.blocks]
        self.assertEqual({b.place for b in body}, {panels.BODY})
        self.assertIn("Further in the appendix: 2 tables.", self.text["report.md"])  # of the answer

    def test_claims(self):
        self.assertIn(
            "| Is gathering faster? | holds | Gathering is `2` times as fast & more. |",
            self.text["report.md"],
        )
        self.assertIn("Gathering is <code>2</code> times as fast &amp; more.", self.text["report.html"])
        self.assertIn(r"Gathering is \code{2} times as fast \& more.", self.text["report.tex"])
        without = document_.document(self.model, self.figures)
        self.assertNotIn("claims", [s.key for s in without.sections])
        with self.assertRaisesRegex(ValueError, "claim gather: no verdict"):
            document_.document(self.model, [], [{k: v for k, v in CLAIM.items() if k != "verdict"}])

    def test_what_is_missing_is_said(self):
        self.assertIn("Missing here: something is missing.", self.text["report.md"])

    def test_lines_of_markdown(self):
        for line in self.text["report.md"].splitlines():
            self.assertTrue(len(line) <= 120 or line.startswith("|") or "](" in line, line)

    def test_no_number_is_typed(self):
        prose = " ".join(document_.METHOD).replace(captions.FASTER, "") + (render.HERE / "report.md.j2").read_text()
        self.assertEqual(re.findall(r"\d+", prose.replace(".j2", "")), [])
        for name in ("report.tex.j2", "report.html.j2"):
            body = re.sub(r"(?s)<style>.*?</style>|<script>.*?</script>", "", (render.HERE / name).read_text())
            self.assertEqual(re.findall(r"\d+\.\d+ ?(?:GDoF|s\b|ms|times|%)", body), [], name)


class Machines(unittest.TestCase):
    def test_a_card_has_its_own_ceilings_where_they_were_measured(self):
        run = model.Run("m", "2026-01-01-c1", pathlib.Path(), (
            ("gpu", "G"), ("cuda_copy_gb_per_s", "4000"), ("cuda_fma_gflop_per_s", "0.00"),
            ("host_copy_gb_per_s", "30"), ("host_fma_gflop_per_s", "0")))
        gpu, host = (model.Card("m", backend, "G", threads) for backend, threads in (("cuda", 0), ("host", 2)))
        self.assertEqual(document_.machine_of(run, gpu), {"g/gpu": "G", "g/copy": "4000"})
        self.assertEqual(document_.machine_of(run, host), {"host-g-2-threads/gpu": "G", "host-g-2-threads/copy": "30"})


    def test_what_a_record_does_not_have_is_a_dash(self):
        """Older records have nothing of what is set on a machine."""
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        results = small.results(path, c1=[small.row()])
        table = tables.machines_table(model.build(results))
        self.assertEqual({line[0].text: line[1].text for line in table.rows}, dict.fromkeys(
            (head for _, head in tables.MACHINE_KEYS), "-") | {
                "measured at commit": "c1", "processor": "CPU", "cores": "16", "GPU": "NVIDIA H200", "driver": "1",
                "GPU copy, GB/s": "4000", "GPU FP64, Gflop/s": "33000"})
        with open(results / "m/2026-01-02-c1/machine.csv", "a") as file:
            file.write("gpu_power_limit_w,700\ngpu_ecc,-\ngpu_mig,disabled; enabled\nsystem,Linux 6\n")
        told = {line[0].text: line[1].text for line in tables.machines_table(model.build(results)).rows}
        self.assertEqual([told[head] for head in ("GPU power limit, W", "ECC", "MIG mode", "operating system")],
                         ["700", "-", "disabled; enabled", "Linux 6"])


class Clocks(unittest.TestCase):
    SAMPLES = ((1, 1980, 600, "none"), (1, 1965, 610, "power_cap"), (2, 1950, 620, "power_cap clocks_set"),
               (2, 1965, "", "idle"), (3, 100, 100, "heat"))  # process, clock, power, throttle: the third has no row

    def build(self, *columns: str) -> model.Model:
        """Samples with these columns alone."""
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        lines = [small.row(2e-5 * slow, variant=v, process=n)
                 for slow, v in ((1, "patch"), (2, "node_csr")) for n in (1, 2)]
        lines.append(small.row(3e-5, condition="sustained"))
        results = small.results(path, c1=lines)
        of = {"burst": self.SAMPLES, "sustained": [(1, 1500, 700, "power_cap")]}
        samples = [small.ROW | {"operand": "random", "condition": condition, "variant": v, "process": n, "sample": i,
                                "seconds": 2e-5, "sm_mhz": clock, "watt": watt, "throttle": reasons}
                   for condition, some in of.items() for v in ("patch", "node_csr")
                   for i, (n, clock, watt, reasons) in enumerate(some, 1)]
        small.write(results / "m/2026-01-02-c1/samples.csv", list(columns), samples)
        return model.build(results)

    def test_medians_of_the_samples_behind_a_number(self):
        built = self.build(*rows.columns_of("samples.csv"))
        table = clocks.clocks_table(built, built.cards[0])
        self.assertEqual([cell.text for cell in table.rows[0] if "(" not in cell.text],
                         ["Hex8", "patch", "1965", "610", "50", "1500", "700", "100"])
        self.assertEqual(len(table.rows), 1)  # gathering is no main strategy and did not work without a pause
        self.assertIn("medians of all strategies are 1965 MHz and 610 W", table.caption)
        self.assertIn(table, document_.document(built, []).tables)

    def test_older_samples_have_no_clock(self):
        old = [c for c in rows.columns_of("samples.csv") if "absent" not in rows.schema()["column"][c]]
        built = self.build(*old, "condition", "process")
        self.assertIsNone(clocks.clocks_table(built, built.cards[0]))
        self.assertIsNone(clocks.clocks_table(built, model.Card("m", "host", "CPU", 2)))


class Pages(unittest.TestCase):
    """What stands beside or below its page."""

    LOG = ("[3] [4]\nOverfull \\hbox (3.1pt too wide) in paragraph at lines 56--56\n"
           "Overfull \\hbox (458.6pt too wide) in paragraph at lines 557--558\n[5 <./a.pdf>]\n"
           "Overfull \\vbox (539.7pt too high) has occurred while \\output is active []\n\n"
           "LaTeX Warning: Float too large for page by 12.0pt on input line 7.\n")

    def test_each_is_one_line(self):
        self.assertEqual(render.overfull(self.LOG), [
            "pdflatex: Overfull \\hbox, 458.6 pt too wide in paragraph at lines 557--558, behind page 4",
            "pdflatex: Overfull \\vbox, 539.7 pt too high has occurred while \\output is active, behind page 5",
            "pdflatex: Float too large for page by 12.0pt on input line 7., behind page 5"])

    @unittest.skipUnless(shutil.which("pdflatex"), "LaTeX is missing")
    def test_the_committed_report_fits_its_pages(self):
        """Without its PDF, which is committed, too."""
        with tempfile.TemporaryDirectory() as folder:
            command = ["pdflatex", "-draftmode", "-interaction=nonstopmode", f"-output-directory={folder}",
                       "report.tex"]
            for _ in range(2):
                done = subprocess.run(command, cwd=model.ROOT / "results/report", capture_output=True, text=True,
                                      errors="replace", check=False)
        self.assertEqual(render.overfull(done.stdout), [])


class Languages(unittest.TestCase):
    def test_tex(self):
        self.assertEqual(
            render.to_tex("50 % of `a_b` & *x* – 3×3 [c](d)"), r"50 \% of \code{a\_\allowbreak{}b} \& \emph{x} -- 3$\times$3 c"
        )

    def test_html(self):
        self.assertEqual(
            render.to_html("a<b `c&d` **e** [f](g)"), 'a&lt;b <code>c&amp;d</code> <strong>e</strong> <a href="g">f</a>'
        )

    def test_lines_of_a_cell_break_beside_intervals_alone(self):
        for text, said in (("≤ 1.46 (1.11–1.60)¹~, 6.44 M", "≤\u00a01.46 <span>(1.11–1.60)¹~,</span> 6.44\u00a0M"),
                           ("**1.50** (1.4–1.6)", "<strong>1.50</strong> <span>(1.4–1.6)</span>"),
                           ("a (b) 50.0 ms", "a (b) 50.0 ms")):
            self.assertEqual(markup.to_cell(text), said)

    def test_cells_that_begin_with_their_number_need_none_beside(self):
        for text, number, apart in (("3.42 (3.41–3.42)", 3.41574, False), ("43.0~", 42.9934, False), ("13", 13, False),
                                    ("-", None, False), ("6.44 M", 6.44007e6, True), ("≥ 1.5", 1.5, True),
                                    ("4.10", 41.0, True)):
            self.assertEqual(render.told_apart(tables.Cell(text, number)), apart, text)

    def test_identifiers_of_figures_are_their_own(self):
        svg = render.inline_svg(
            "<?xml?>\n<svg viewBox='0'><title>Gnuplot</title>\n<desc>x</desc><path id='gpPt4'/><use "
            "xlink:href='#gpPt4'/></svg>",
            "f",
        )
        self.assertEqual(svg, "<svg role=\"img\" viewBox='0'><path id='f-gpPt4'/><use xlink:href='#f-gpPt4'/></svg>")

    def test_wide_tables_fit_the_page(self):
        def table(words: str) -> tables.Table:
            return tables.Table(
                "t", "t", "c", ["name", "n"], [[tables.Cell(words), tables.Cell("1.00 (0.99–1.01)")]]
            )

        self.assertEqual(latex.layout(table("short")).columns, "@{}lr@{}")
        found = latex.layout(table("long words " * 40))
        width = float(re.search(r"p\{(\d+)pt\}r", found.columns)[1])
        self.assertLess(width, latex.TEXT_WIDTH)
        self.assertIn("scriptsize", found.size)

    def test_a_table_of_many_columns_stands_upright_with_ends_above_each_other(self):
        def found(n: int) -> latex.Layout:
            return latex.layout(tables.Table("t", "t", "c", ["n"] * n, [[tables.Cell("1.00 (0.99–1.01)")] * n], words=0))

        self.assertEqual((found(6).note, found(6).rows[0][0]), ("", "1.00 (0.99--1.01)"))
        stacked = r"\febinterval{1.00}{0.99}{1.01}"
        self.assertEqual(found(9).rows[0][0], stacked)  # nine intervals are wider than the page
        self.assertEqual((found(11).on_its_side, found(11).rows[0][0]), (False, stacked))
        self.assertIn(latex.ENDS, found(11).note)
        self.assertTrue(found(16).on_its_side)
        words = latex.layout(tables.Table("t", "t", "c", ["n"] * 12, [[tables.Cell("many words")] * 12], words=12))
        self.assertEqual((words.on_its_side, words.note), (False, ""))  # no interval, no word about its ends


if __name__ == "__main__":
    unittest.main()
