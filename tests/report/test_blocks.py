"""Where tables stand: in the body, in the appendix, or in files and the HTML page alone."""

import pathlib
import re
import tempfile
import unittest

from report import panels, render
from report.render import blocks, tables
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
                         [[f"<code>r&lt;{i}</code>", f"{i}.00 M¦{1e6 * i:.6g}"] for i in range(90)])


if __name__ == "__main__":
    unittest.main()
