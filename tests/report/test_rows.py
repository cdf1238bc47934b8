"""Files in results/ are what the schema says, and faults are told with file, line and value."""

import pathlib
import tempfile
import unittest

from report import rows

HEADER = ",".join(rows.columns_of("kernels.csv"))
ROW = ("5,abc,m,host,\"CPU, fast\",1,2,patch,hex8,box4-distorted,auto,1,clustered,64,375,jacvec,9,4,1e-5,9e-6,2e-5,8e-6,"
       "3.7e7,,,,,,100,50,1e-3,1.0,1e-15,,1,,lexicographic,double,linear,ok")


class Files(unittest.TestCase):
    def test_all_committed_files_are_what_the_schema_says(self):
        n = 0
        for path in rows.files_below(pathlib.Path("results")):
            n += len(rows.read(path))
        self.assertGreater(n, 1000)


class Reading(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "kernels.csv"

    def tearDown(self):
        self.folder.cleanup()

    def read(self, text: str) -> list[rows.Row]:
        self.path.write_text(text)
        return rows.read(self.path)

    def refused(self, text: str, *parts: str):
        with self.assertRaises(rows.Fault) as caught:
            self.read(text)
        for part in (str(self.path),) + parts:
            self.assertIn(part, str(caught.exception))

    def test_types(self):
        (row,) = self.read(f"{HEADER}\n{ROW}\n")
        self.assertEqual((row["device"], row["n_dof"], row["median_s"], row["gb_per_s"], row["deterministic"]),
                         ("CPU, fast", 375, 1e-5, None, 1))

    def test_columns_that_older_rows_lack(self):
        names = rows.columns_of("kernels.csv")
        cut = names.index("precision")
        (row,) = self.read(",".join(names[:cut] + names[cut + 2:]) + "\n" + ROW.replace(",double,linear", "") + "\n")
        self.assertEqual((row["precision"], row["hardening"]), ("double", "linear"))

    def test_faults_name_line_and_value(self):
        self.refused(f"{HEADER}\n{ROW}\n{ROW.replace('1e-5', 'fast')}\n", "line 3", "median_s", "'fast'")
        self.refused(f"{HEADER}\n{ROW.replace('hex8', 'hex9')}\n", "line 2", "element 'hex9'")
        self.refused(f"{HEADER}\n{ROW},1\n", "line 2", "cells")
        self.refused(f"{HEADER},watt\n{ROW},1\n", "line 1", "'watt'")
        self.refused(f"{HEADER.replace('n_dof,', '')}\n", "line 1", "'n_dof'")
        self.path = self.path.with_name("other.csv")
        self.refused("", "no kind of file")

    def test_rows_of_one_point_are_its_processes(self):
        faster = ROW.replace("1e-5,9e-6", "9e-6,9e-6")
        points = rows.by_point(self.read(f"{HEADER}\n{ROW}\n{faster}\n{ROW.replace('jacvec', 'residual')}\n"))
        self.assertEqual(sorted(len(of) for of in points.values()), [1, 2])
