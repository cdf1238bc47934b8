"""Files in results/ are what the schema says, and faults are told with file, line and value."""

import csv
import gzip
import pathlib
import tempfile
import unittest

from report import rows

HEADER = ",".join(rows.columns_of("kernels.csv"))
ROW = ("6,abc,m,host,\"CPU, fast\",1,2,patch,hex8,box4-distorted,auto,1,clustered,64,375,jacvec,9,4,1e-5,9e-6,1.1e-5,8e-6,"
       "3.7e7,,,,,,100,50,1e-3,1.0,1e-15,,1,,,,,,,random,lexicographic,double,linear,burst,2,,ok")


def of_process(row: str, number: int) -> str:
    head, _, noise, status = row.rsplit(",", 3)
    return f"{head},{number},{noise},{status}"


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

    def test_compressed_files_are_the_same(self):
        packed = self.path.with_name("kernels.csv.gz")
        packed.write_bytes(gzip.compress(f"{HEADER}\n{ROW}\n".encode()))
        expected = rows.read(self.path)
        self.path.write_text(f"{HEADER}\n{ROW}\n")
        self.assertEqual(rows.read(self.path), expected)
        self.assertEqual(list(rows.files_below(self.path.parent)), [self.path, packed])
        self.path.unlink()
        packed.write_bytes(packed.read_bytes()[:40])  # cut off
        with self.assertRaises(rows.Fault) as caught:
            rows.read(self.path)
        self.assertIn(str(packed), str(caught.exception))

    def test_columns_that_older_rows_lack(self):
        names = rows.columns_of("kernels.csv")
        new = names[names.index("nj_low"):names.index("numbering")] + names[names.index("precision"):-1]
        (row,) = self.read(",".join(name for name in names if name not in new) + "\n" +
                           ROW.replace(",,,,,,random,", ",").replace(",double,linear,burst,2,", "") + "\n")
        self.assertEqual((row["precision"], row["hardening"], row["operand"]), ("double", "linear", "random"))
        self.assertEqual((row["nj_low"], row["idle_w"]), (None, None))
        self.assertEqual((row["condition"], row["process"], row["noise"]), ("burst", 1, ""))

    def test_faults_name_line_and_value(self):
        self.refused(f"{HEADER}\n{ROW}\n{ROW.replace('1e-5', 'fast')}\n", "line 3", "median_s", "'fast'")
        self.refused(f"{HEADER}\n{ROW.replace('hex8', 'hex9')}\n", "line 2", "element 'hex9'")
        self.refused(f"{HEADER}\n{ROW},1\n", "line 2", "cells")
        self.refused(f"{HEADER},watt\n{ROW},1\n", "line 1", "'watt'")
        self.refused(f"{HEADER.replace('n_dof,', '')}\n", "line 1", "'n_dof'")
        self.path = self.path.with_name("other.csv")
        self.refused("", "no kind of file")

    def test_samples_have_lines_of_their_own(self):
        self.path = self.path.with_name("samples.csv")
        names = rows.columns_of("samples.csv")
        key = "cuda,1,patch,hex8,box4-distorted,auto,1,clustered,375,jacvec,random,double,linear"
        (sample,) = self.read(",".join(names) + f"\n{key},1,sustained,2,3,1795752392.076,200,2e-03,1785,2619,699.9,61,"
                              "power_cap heat,0.55,\n")
        self.assertEqual((sample["process"], sample["sample"], sample["start"], sample["seconds"], sample["sm_mhz"],
                          sample["throttle"], sample["load"], sample["cpu_mhz"]),
                         (2, 3, 1795752392.076, 2e-3, 1785, "power_cap heat", 0.55, None))
        head = ",".join(names[:13])  # up to schema 5
        old = f"{head},ranks,sample,calls,seconds\n{key},1,1,200,2e-03\n{key},1,2,200,3e-03\n"
        self.assertEqual([(one["sample"], one["seconds"], one["calls"], one["condition"], one["ranks"], one["start"])
                          for one in self.read(old)], [(1, 2e-3, 200, "burst", 1, None), (2, 3e-3, 200, "burst", 1, None)])
        self.refused(old.replace("3e-03", "3e-03 4e-03"), "line 3", "seconds '3e-03 4e-03'")

    def test_samples_of_solves_and_ranks(self):
        self.assertEqual(rows.columns_of(rows.kind_of(pathlib.Path("samples-solves.csv")))[:5],
                         ["krylov", "precondition", "jacobian", "anderson", "backend"])
        self.assertEqual(rows.kind_of(pathlib.Path("samples-scaling.csv")), "samples.csv")

    def test_solves_tell_their_jacobian(self):
        self.path = self.path.with_name("solves.csv")
        ways = ["gmres,multigrid,difference,0", "cg,multigrid,elastic,0", "cg,multigrid,elastic,5"]
        head = f"krylov,precondition,jacobian,anderson,newton_iterations,krylov_iterations,{HEADER}"
        some = self.read(head + "".join(f"\n{way},7,77,{ROW}" for way in ways))
        self.assertEqual(len(rows.by_point(some)), 3)
        self.assertEqual([(row["jacobian"], row["anderson"]) for row in some],
                         [("difference", 0), ("elastic", 0), ("elastic", 5)])
        self.refused(f"{head}\ncg,multigrid,frozen,0,7,77,{ROW}\n", "line 2", "jacobian 'frozen'")

    def test_a_difference_stood_in_the_case_up_to_schema_8(self):
        self.path = self.path.with_name("solves.csv")
        head = f"krylov,precondition,newton_iterations,krylov_iterations,{HEADER}"
        case = next(csv.DictReader([HEADER, ROW]))["case"]
        old, own = self.read(f"{head}\ngmres,multigrid,7,77,{ROW.replace(f',{case},', f',{case}-difference,')}\n"
                             f"gmres,multigrid,7,77,{ROW}\n")
        self.assertEqual([(row["case"], row["jacobian"], row["anderson"]) for row in (old, own)],
                         [(case, "difference", 0), (case, "tangent", 0)])

    def test_conditions_are_points_of_their_own(self):
        other = ROW.replace("burst", "sustained")
        smooth = ROW.replace("random", "smooth")
        self.assertEqual(len(rows.by_point(self.read(f"{HEADER}\n{ROW}\n{other}\n{smooth}\n"))), 3)
        self.refused(f"{HEADER}\n{ROW.replace('random', 'rough')}\n", "line 2", "operand 'rough'")

    def test_threads_beside_a_gpu_make_no_point(self):
        for backend, points in (("host", 2), ("cuda", 1)):
            own = ROW.replace(",host,", f",{backend},")
            other = own.replace('",1,2,patch', '",1,16,patch').replace(",burst,2,", ",burst,3,")
            with self.subTest(backend=backend):
                self.assertEqual(len(rows.by_point(self.read(f"{HEADER}\n{own}\n{other}\n"))), points)
        self.refused(f"{HEADER}\n{ROW.replace('burst', 'hot')}\n", "line 2", "condition 'hot'")
        self.refused(f"{HEADER}\n{ROW.replace(',2,,ok', ',2,loud,ok')}\n", "line 2", "noise 'loud'")

    def test_rows_of_one_point_are_its_processes(self):
        faster = of_process(ROW.replace("1e-5,9e-6", "9e-6,9e-6"), 3)
        points = rows.by_point(self.read(f"{HEADER}\n{ROW}\n{faster}\n{ROW.replace('jacvec', 'residual')}\n"))
        self.assertEqual(sorted(len(of) for of in points.values()), [1, 2])

    def test_common_processes_in_one_order(self):
        a, b = ([{"process": n, "side": side} for n in of] for side, of in (("a", (3, 1, 2)), ("b", (2, 4, 3))))
        told = [[(row["side"], row["process"]) for row in side] for side in rows.of_common_processes(a, b)]
        self.assertEqual(told, [[("a", 2), ("a", 3)], [("b", 2), ("b", 3)]])
        self.assertEqual(rows.of_common_processes(a[:1], b[:1]), ([], []))

    def test_a_process_stands_there_once(self):
        self.refused(f"{HEADER}\n{ROW}\n{ROW.replace('hex8', 'tet4')}\n{ROW}\n",
                     "line 4: process 2 of this point stands in line 2, too")
        for name, column, named in (("storage.csv", "storage", ("FULL", "FLOATS")),
                                    ("forms.csv", "form", ("GATHER", "COLORS"))):
            self.path = self.path.with_name(name)
            ways = [f"{way},{ROW}" for way in named]
            found = rows.by_point(self.read("\n".join([f"{column},{HEADER}", *ways]) + "\n"))
            self.assertEqual([rows.named(point)[column] for point in found], list(named))
            self.refused("\n".join([f"{column},{HEADER}", *ways, ways[1]]) + "\n", "line 4: process 2", "line 3")
        self.refused(f"form,{HEADER}\nFLOATS,{ROW}\n", "line 2: form 'FLOATS'")
