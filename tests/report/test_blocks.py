"""Where tables stand: in the body, in the appendix, or in files and the HTML page alone."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
from collections.abc import Sequence

from report import choice, panels, render
from report.render import blocks, clocks, tables
from tests.report.test_render import Page


class Places(unittest.TestCase):
    def test_a_table_longer_than_a_page_is_a_file_and_rows_of_the_html_page(self):
        def table(n: int, wanted: str = panels.BODY) -> tables.Table:
            lines = [[tables.Cell(f"`r<{i}`"), tables.Cell(f"{i}.00 M", 1e6 * i)] for i in range(n)]
            return tables.Table("long", "A long one", "What it holds.", ["name", "n"], lines, wanted=wanted)

        self.assertEqual([table(n).place for n in (tables.LONGEST, tables.LONGEST + 1)], [panels.BODY, panels.FILE])
        self.assertEqual(table(1, panels.APPENDIX).place, panels.APPENDIX)
        section, last = (blocks.Section("s", "S", [blocks.Words("w"), table(90)]),
                         blocks.Section("m", "M", [blocks.contents([table(90)])]))
        told = blocks.Document("t", "a", blocks.laid_out([section], [last]), {})
        self.assertEqual([s.key for s in told.sections], ["s", "m", "files"])
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.assertEqual(render.render(told, path), [])
        names = "report.md", "report.html", "report.tex", "tables/long.csv"
        made = {name: (path / name).read_text() for name in names}
        self.assertIn("### A long one\n[tables/long.csv](tables/long.csv), 90 rows. What it holds.\n",
                      made["report.md"])
        self.assertIn("- [tables/long.csv](tables/long.csv): A long one, 90 rows\n", made["report.md"])
        for name in ("report.md", "report.tex"):
            self.assertNotIn("89.00 M", made[name])
        self.assertFalse((path / "tables/long.tex").exists())  # longer than what an author takes lines of
        self.assertEqual(len(made["tables/long.csv"].splitlines()), 91)
        Page(made["report.html"])
        (rows,) = re.findall(r'<script type="text/plain">\n(.*?)\n</script>', made["report.html"], re.DOTALL)
        self.assertEqual([line.split("\t") for line in rows.split("\n")],
                         [[f"<code>r&lt;{i}</code>", f"{i}.00\u00a0M¦{1e6 * i:.6g}"] for i in range(90)])


# Says how wide a page and its tables are; the page that holds it collects what several say.
SAYS = """<script>onload = () => parent.postMessage([innerWidth, document.documentElement.scrollWidth,
    ...[...document.querySelectorAll(".wide")].map(e => e.scrollWidth - e.clientWidth)].join(" "), "*")</script>"""
COLLECTS = """<pre></pre><script>onmessage = e => document.querySelector("pre").append(e.data + "\\n")</script>"""
BROWSER = next((name for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)), "")


class Widths(unittest.TestCase):
    def widths(self, table: tables.Table, windows: Sequence[int]) -> dict[int, list[int]]:
        """Of each window: how wide the page is, and by how much its table is wider than its place."""
        told = blocks.Document("t", "a", [blocks.Section("s", "S", [table])], {})
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.assertEqual(render.render(told, path), [])
        page = (path / "report.html").read_text()
        (path / "page.html").write_text(page.replace("</body>", f"{SAYS}</body>"))
        frames = "".join(f'<iframe width="{n}" height="900" style="border: 0" src="page.html"></iframe>' for n in windows)
        (path / "all.html").write_text(f"{COLLECTS}{frames}")
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={path / 'user'}",
                               "--virtual-time-budget=5000", "--dump-dom", (path / "all.html").as_uri()],
                              capture_output=True, text=True, timeout=120)
        found = re.search("<pre>(.*?)</pre>", done.stdout, re.DOTALL)
        self.assertTrue(found, done.stderr[-1000:])
        return {line[0]: line[1:] for line in ([int(n) for n in said.split()] for said in found[1].split("\n") if said)}

    @unittest.skipUnless(BROWSER, "Chromium is missing")
    def test_the_table_of_strategies_to_take_fits_a_laptop_and_a_telephone(self):
        """Its widest cells in all columns; at 1200 pixels there is room for wider letters of other systems."""
        words, ratio = ["Hex27", "Intel Xeon", "the matrix"], "≤ 0.959 (0.899–0.959)¹~, 98.3 K"
        line = [tables.Cell(text) for text in words + [ratio] * (len(choice.SHOWN) - len(words))]
        table = tables.Table("take", "T", "", list(choice.SHOWN), [line] * 3, words=len(words), stacked=True)
        for window, (page, *beyond) in self.widths(table, (1366, 1280, 1200, 390)).items():
            self.assertLessEqual(page, window)
            self.assertEqual(beyond, [0], window)

    @unittest.skipUnless(BROWSER, "Chromium is missing")
    def test_the_table_of_clocks_fits_a_laptop(self):
        told = "Hex27", "matrix, cuSPARSE BSR", *("23.7 (23.6–23.7)", "1965", "1000", "100") * 2
        line = [tables.Cell(text) for text in told]
        heads = ["element", "strategy", *clocks.HEADS, *(f"{head}, sustained" for head in clocks.HEADS)]
        table = tables.Table("clocks", "T", "", heads, [line] * 3, words=2)
        for window, (page, *beyond) in self.widths(table, (1366, 1280)).items():
            self.assertLessEqual(page, window)
            self.assertEqual(beyond, [0], window)


if __name__ == "__main__":
    unittest.main()
