"""The program: files that it writes, the same again from the same rows, and one line for what is missing."""

import contextlib
import io
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from report import __main__ as program
from report import model, render
from tests.report import small


class Missing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def run_program(self, *arguments: str) -> tuple[int, str]:
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = program.main(list(arguments))
        return code, said.getvalue()

    def test_without_any_tool_tables_and_data_are_there(self):
        results = small.results(self.path / "results", c1=small.plenty())
        (results / "report").mkdir()
        (results / "report" / "report.html").write_text("of another day")
        with mock.patch.dict(sys.modules, {"jinja2": None}), mock.patch("shutil.which", return_value=None), \
                mock.patch.object(model, "statistics", None):
            code, said = self.run_program("--results", str(results))
        self.assertEqual((code, len(said.splitlines())), (0, 3), said)
        for line, name in zip(said.splitlines(), ("NumPy", "gnuplot", "Jinja2")):
            self.assertRegex(
                line,
                f"^report: {name} .*missing: .*apt-get install|^report: {name} is missing: |^report: {name} and "
                "SciPy are missing: ",
            )
        self.assertTrue((results / "report" / "tables" / "choice.csv").is_file())
        self.assertTrue((results / "report" / "data" / "throughput-h200.gp").is_file())
        self.assertFalse((results / "report" / "report.html").exists())  # nothing of another day is left

    def test_without_latex_one_line(self):
        self.assertRegex(
            render.typeset(self.path, "no-such-latex")[0], "^LaTeX is missing: report.tex is there, .*apt-get install"
        )

    @unittest.skipUnless(shutil.which("pdflatex"), "LaTeX is missing")
    def test_a_fault_of_latex_is_one_line(self):
        (self.path / "report.tex").write_text("\\documentclass{article}\\begin{document}\\nonsense\\end{document}\n")
        self.assertEqual(render.typeset(self.path), ["pdflatex: ! Undefined control sequence. (data/latex/report.log)"])

    @unittest.skipUnless(shutil.which("pdflatex") and shutil.which("gnuplot"), "LaTeX or gnuplot is missing")
    def test_pdf_and_the_same_again(self):
        """In processes of their own, since sets have another order in each."""
        results = small.results(self.path / "results", c1=small.plenty())
        seen = []
        for _ in range(2):
            done = subprocess.run([sys.executable, "-m", "report", "--results", str(results)], capture_output=True,
                                  text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            files = [p for p in sorted((results / "report").rglob("*")) if p.is_file() and "latex" not in p.parts]
            seen.append({p.name: p.read_bytes() for p in files})
        self.assertGreater(len(seen[0]["report.pdf"]), 20000)
        self.assertEqual([name for name in seen[0] if seen[0][name] != seen[1].get(name)], [])

    def test_bad_rows_are_one_line(self):
        results = small.results(self.path / "results", c1=[small.row(n_dof="many")])
        code, said = self.run_program("--results", str(results))
        self.assertEqual((code, len(said.splitlines())), (2, 1))
        self.assertRegex(said, "^report: .*kernels.csv: line 2: n_dof 'many'")
        self.assertEqual(list((results / "report").iterdir()), [])

    def test_no_runs(self):
        code, said = self.run_program("--results", str(small.results(self.path / "results")))
        self.assertEqual(code, 0, said)
        self.assertIn("There are no runs yet.", (self.path / "results/report/report.md").read_text())


if __name__ == "__main__":
    unittest.main()
