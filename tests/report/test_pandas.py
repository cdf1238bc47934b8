"""A reader's tool sees the committed rows as results/schema.toml defines them: no text in columns of numbers."""

import pathlib
import tempfile
import unittest

from report import calibration, rows

try:
    import pandas
except ImportError:  # not required (docs/install.md)
    pandas = None

RESULTS = pathlib.Path("results")


def faults(path: pathlib.Path) -> list[str]:
    """Columns of numbers in which pandas finds text. A commit must be text, though its digits could be a number's."""
    frame = pandas.read_csv(path)
    types = {name: rows.schema()["column"][name]["type"] for name in frame.columns}
    numbers = {name for name in frame.columns if pandas.api.types.is_numeric_dtype(frame[name])}
    return [f"{path}: {name}: text among numbers" for name in frame.columns
            if types[name] != "text" and name not in numbers] + \
        [f"{path}: commit: numbers" for name in numbers & {"commit"}]


class ReadByPandas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):  # one line for all tests
        if pandas is None:
            raise unittest.SkipTest("pandas is not installed (python3-pandas): no CSV file of results/ is read with it")

    def test_committed_rows(self):
        files = list(rows.files_below(RESULTS))
        self.assertGreater(len(files), 100)
        self.assertEqual([fault for path in files for fault in faults(path)], [])

    def test_calibration(self):
        frame = pandas.read_csv(calibration.FILE)
        text = [name for name in frame.columns if not pandas.api.types.is_numeric_dtype(frame[name])]
        self.assertEqual(text, ["machine", "commit", "samples"])
        self.assertEqual(tuple(frame.columns), calibration.COLUMNS)

    def test_text_among_numbers_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "samples.csv"
            for commit, seconds, found in (("abc", "", []), ("abc", "n/k", ["seconds: text among numbers"]),
                                           ("12e4", "2", ["commit: numbers"])):
                path.write_text(f"commit,seconds,throttle\n{commit},1,\n{commit},{seconds},none\n")
                self.assertEqual([fault.split(": ", 1)[1] for fault in faults(path)], found)
