"""The page of inner loops takes whole functions from the sources, of every strategy that has one."""

import pathlib
import re
import tempfile
import unittest

from report import model, rows, strategies

OTHERS = {"patch_ordered", "hybrid", "assembled_cusparse", "assembled_csr"}


class Page(unittest.TestCase):
    def test_every_strategy_is_there(self):
        table = (model.ROOT / "variants/variants.def").read_text()
        self.assertEqual(set(strategies.INNER) | OTHERS, set(re.findall(r"^FE_VARIANT\((\w+)\)", table, re.MULTILINE)))

    def test_functions_are_whole(self):
        for variant, functions in strategies.INNER.items():
            for file, name in functions:
                text = strategies.function(model.ROOT / "variants" / variant / file, name)
                self.assertEqual(text.count("{"), text.count("}"), name)
                self.assertIn(name, text)


class Functions(unittest.TestCase):
    def test_comment_and_body(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.h"
            path.write_text("int f(int);\n\n/* Twice.\n * Really. */\nstatic int f(int x)\n{\n    return 2 * f(x);\n}\nint g;\n")
            self.assertEqual(strategies.function(path, "f"),
                             "/* Twice.\n * Really. */\nstatic int f(int x)\n{\n    return 2 * f(x);\n}")
            with self.assertRaises(rows.Fault):
                strategies.function(path, "h")
