"""Programs of the report and the runner without NumPy and SciPy: they work, or end with one line."""

import pathlib
import subprocess
import sys
import unittest

BLOCKED = ("import runpy, sys; sys.modules.update(dict.fromkeys({names!r})); sys.argv[1:] = ['--help']; "
           "runpy.run_module({module!r}, run_name='__main__', alter_sys=True)")
NEED = {"report.compare", "report.claims", "report.documents", "report.reproduce"}


def programs() -> list[str]:
    """Whatever `python3 -m` can run."""
    files = [path for folder in ("report", "runner") for path in sorted(pathlib.Path(folder).glob("*.py"))
             if '__name__ == "__main__"' in path.read_text()]
    return [".".join(path.with_suffix("").parts).removesuffix(".__main__") for path in files]


class Missing(unittest.TestCase):
    def called(self, module: str, *names: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, "-c", BLOCKED.format(names=names, module=module)], capture_output=True,
                              text=True, timeout=120)

    def test_no_program_ends_in_a_traceback(self):
        self.assertLessEqual(NEED | {"report", "report.rows", "runner.run", "runner.readers"}, set(programs()))
        for module in programs():
            done = self.called(module, "numpy", "scipy")
            self.assertEqual(done.returncode, 2 if module in NEED else 0, f"{module}: {done.stderr}")
            if module in NEED:
                self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), module)
                self.assertTrue(done.stderr.startswith(f"{module.removeprefix('report.')}: "), done.stderr)
                self.assertIn("cannot import numpy and scipy: apt-get install python3-numpy python3-scipy", done.stderr)
            else:
                self.assertEqual(done.stderr, "", module)

    def test_only_what_is_missing_is_named(self):
        done = self.called("report.claims", "scipy")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot import scipy: apt-get install python3-scipy (", done.stderr)
        done = self.called("report.claims")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
