"""What a program of the report cannot take is one line on stderr, and exit code 2."""

from __future__ import annotations

import contextlib
import importlib
import io
import unittest

WRONG = {
    "report.compare": [["--margin", "abc", "a", "b"], [], ["--nope"], ["nowhere", "here"]],
    "report.claims": [["--nope"], ["nope"]],
    "report.reproduce": [["patch_over_matrix", "--processes", "x"], [], ["nope"]],
    "report.__main__": [["--nope"], ["--run", "nowhere/here"]],
    "report.rows": [["nowhere"]],
}


class CommandLines(unittest.TestCase):
    def test_one_line(self):
        for name, calls in WRONG.items():
            main = importlib.import_module(name).main
            for words in calls:
                said = io.StringIO()
                with self.subTest(name, words=words), contextlib.redirect_stderr(said):
                    try:
                        code = main(words)
                    except SystemExit as end:
                        code = end.code
                    self.assertEqual((code, said.getvalue().count("\n")), (2, 1), said.getvalue())


if __name__ == "__main__":
    unittest.main()
