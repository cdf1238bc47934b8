"""Time by kernel: from records of CUPTI to a file, from the file to categories and rows."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import types
import unittest
import unittest.mock

from report import communication, model, rows, trace_figures, traces
from report.communication import category_of, kernel_of
from report.render.tables import Table
from report.render.traces import communication_table
from runner import experiments, points, studies
from runner.here import Failure

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Two GPUs. The halo of the first one overlaps with its product, and a third of the second one's time is a name that nobody
# knows.
SAMPLE = """device,name,graph,launches,total_ns,divided_ns,alone_ns,first_ns,last_ns,busy_ns
0,"_Z25patch_jacvec_elastic_hex87fe_view10patch_plan10patch_spanPKdPd",1,100,600000,500000,400000,1000,1001000,900000
0,"_Z13send_and_landIfEv9halo_viewPKT_PVKiPS1_",1,100,300000,200000,100000,1000,1001000,900000
0,"ncclDevKernel_AllReduce_Sum_f64_RING_LL(ncclDevKernelArgsStorage<4096ul>)",0,2,100000,100000,100000,1000,1001000,900000
0,"_Z4dotsILi2EEv4pair",0,4,90000,90000,90000,1000,1001000,900000
0,"memcpy DtoH",0,4,10000,10000,10000,1000,1001000,900000
1,"_Z25patch_jacvec_elastic_hex87fe_view10patch_plan10patch_spanPKdPd",1,100,600000,600000,600000,2000,1002000,900000
1,"_Z10new_kernelPd",0,1,300000,300000,300000,2000,1002000,900000
"""
KERNEL = re.compile(r"__global__\s+void\s+(?:__launch_bounds__\s*(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))\s*)?([\w#]+)\s*\(")


def kernels_in(path: pathlib.Path) -> set[str]:
    """Names of the kernels of a source. Of a name that is a parameter of a macro, what its calls hand it; what a macro
    joins to a name stands for itself."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.DOTALL).replace("\\\n", " ")
    found = set()
    for match in KERNEL.finditer(code):
        name, macros = match[2], list(re.finditer(r"#define (\w+)\(([^)]*)\)", code[:match.start()]))
        given = [word.strip() for word in macros[-1][2].split(",")] if macros else []
        if name not in given:
            found.add(name.replace("##", ""))
            continue
        for call in re.finditer(rf"\b{macros[-1][1]}\(([^()]*(?:\([^()]*\)[^()]*)*)\)", code[match.end():]):
            found.add(call[1].split(",")[given.index(name)].strip().replace("##", ""))
    if code.count("__global__") != len(KERNEL.findall(code)):
        raise AssertionError(f"{path}: a kernel's name was not found")
    return found


class Names(unittest.TestCase):
    def test_each_kernel_of_a_solve_has_a_category(self):
        sources = [p for top in ("common", "variants") for end in ("*.cu", "*.h") for p in sorted((ROOT / top).rglob(end))
                   if "__global__" in p.read_text()]
        names = {str(path.relative_to(ROOT)): kernels_in(path) for path in sources}
        self.assertEqual({p: some for p, of in names.items() if (some := [n for n in of if category_of(n) == "other"])}, {},
                         "report/communication.py: CATEGORIES lacks these kernels")
        every = set().union(*names.values())
        self.assertLessEqual({"contact_forces", "patch_diagonal_name", "send_and_land", "cg_step"}, every)
        self.assertGreater(len(every), 120)
        of = {path: {category_of(name) for name in some} for path, some in names.items()}
        self.assertEqual(of["common/ranks/comm_peer.cu"], {"halo", "sums"})
        self.assertEqual(of["common/krylov/conjugate_cuda.cu"], {"vectors"})
        self.assertEqual(of["common/krylov/krylov_steps_cuda.cu"], {"vectors"})
        self.assertEqual(of["variants/patch/cuda.cu"], {"products"})

    def test_names_without_templates_and_arguments(self):
        for name, plain in (
                ("_Z13send_and_landIfEv9halo_viewPKT_PVKiPS1_", "send_and_land"), ("_ZL12clear_memorymPj", "clear_memory"),
                ("_ZN36_GLOBAL__N__795e2d46_4_m_cu_6c6e45da4takeENS_4viewEPi", "take"), ("_ZN12_GLOBAL__N_14takeEPi", "take"),
                ("_ZN3cub17CUB_200700_900_NS16DeviceScanKernelINS0_6PolicyEPiEEvT0_", "DeviceScanKernel"),
                ("void cub::Device<int, (bool)1>::DeviceScanKernel<int>(int, T2)", "DeviceScanKernel"),
                ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_SendRecv"),
                ("(anonymous namespace)::take(int)", "take"), ("memcpy PtoP", "memcpy PtoP"), ("", "")):
            with self.subTest(name):
                self.assertEqual(kernel_of(name), plain)

    def test_categories_are_those_of_the_schema(self):
        self.assertEqual(set(rows.schema()["column"]["category"]["values"]), set(communication.NAMES))
        for kernel, category in (("take_nodes", "halo"), ("ncclDevKernel_SendRecv", "halo"), ("memcpy PtoP", "halo"),
                                 ("ncclDevKernel_AllReduce_Sum_f64_RING_LL", "sums"), ("memset", "vectors"),
                                 ("round_nodes", "vectors"), ("bsr_assemble_hex8", "products"),
                                 ("order_exact_restrict", "transfers"), ("ncclDevKernel_Generic", "other")):
            with self.subTest(kernel):
                self.assertEqual(category_of(kernel), category)


class Traced(unittest.TestCase):
    def setUp(self) -> None:
        self.top = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.path = self.top / "a.trace.part"

    def read(self, text: str) -> list[communication.Launches]:
        self.path.write_text(text)
        return communication.read(self.path)

    def test_sums_of_categories(self):
        traced = self.read(SAMPLE)
        found = {(s.device, s.category): s for s in communication.shares(traced)}
        self.assertEqual(list(found), [(0, "halo"), (0, "sums"), (0, "products"), (0, "vectors"), (1, "products"), (1, "other")])
        halo, vectors = found[0, "halo"], found[0, "vectors"]
        self.assertTrue(halo.in_graph)
        self.assertAlmostEqual(halo.divided / halo.busy, 2 / 9)
        self.assertAlmostEqual(halo.divided / halo.span, 0.2)
        self.assertEqual((vectors.kernel, vectors.launches), ("dots", 8))
        self.assertAlmostEqual(vectors.total, 1e-4)
        self.assertAlmostEqual(sum(s.divided for s in found.values() if s.device == 0), halo.busy)
        self.assertEqual(communication.unknown(traced), "17 % of the time are kernels of no category: new_kernel")
        self.assertEqual(communication.unknown(traced[:-1]), "")

    def test_a_bad_file_is_one_line(self):
        header, first, *_ = SAMPLE.splitlines()
        for text, said in (("", "line 1: the columns of a trace are device,"), ("a,b\n", "line 1: the columns"),
                           (f"{header}\n", "holds no kernel"), (f"{header}\n0,a,1\n", "line 2: 3 cells, 10 columns"),
                           (f"{header}\n{first.replace('600000', 'many')}\n", "line 2: invalid literal"),
                           (f"{header}\n{first.replace('900000', '9000000')}\n", "line 2: _Z25patch_jacvec_elastic"),
                           (f"{header}\n{first.replace(',1,100,', ',2,100,')}\n", "these times cannot be")):
            with self.subTest(said):
                with self.assertRaises(rows.Fault) as caught:
                    self.read(text)
                self.assertIn(said, str(caught.exception))
                self.assertNotIn("\n", str(caught.exception))
        with self.assertRaises(rows.Fault):
            communication.read(self.top / "none")


class Told(unittest.TestCase):
    """The report's table."""

    ROW = {"commit": "c1", "backend": "cuda", "device": "NVIDIA G", "variant": "patch", "element": "hex8", "n_dof": 985527,
           "precondition": "multigrid", "ranks": 2, "transport": "nccl", "graphs": 1, "gpu": 0, "category": "products",
           "launches": 10, "busy_share": 0.5, "span_share": 0.4, "alone_s": 0.1, "busy_s": 0.8, "span_s": 1.0, "solve_s": 1.5,
           "untraced_s": 1.25}

    def table(self, *runs: list[dict]) -> Table | None:
        """runs: the newest first."""
        of = [model.Run("m", f"2026-01-0{9 - i}-c{i}", pathlib.Path()) for i in range(len(runs))]
        return communication_table(model.Model(of, [], [], [], {(run, "communication.csv"): some
                                                                for run, some in zip(of, runs)}))

    def lines(self, *runs: list[dict]) -> list[list[str]]:
        """From the strategy on."""
        table = self.table(*runs)
        return [[cell.text for cell in line][table.columns.index("strategy"):] for line in table.rows] if table else []

    def test_means_over_gpus(self):
        halo = self.ROW | {"category": "halo", "launches": 6}
        self.assertEqual(self.lines([self.ROW, halo, self.ROW | {"gpu": 1, "busy_share": 0.9}]), [
            ["patch", "NCCL", "yes", "986 K", "2", "20.0", "", "20.0", "5.0", "20.0", "3.00", "1250"]])

    def test_halo_and_sums_are_the_communication(self):
        """All shares are of one time, whatever they are of the time at work."""
        sent = [self.ROW | {"category": c, "span_share": share, "busy_share": 0.9, "gpu": gpu}
                for c, share in (("halo", 0.2), ("sums", 0.05)) for gpu in (0, 1)]
        self.assertEqual(self.lines(sent)[0][5:8], ["20.0", "5.0", "25.0"])

    def test_what_all_lines_have_alike_is_said_by_the_caption_alone(self):
        table = self.table([self.ROW])
        self.assertEqual((table.columns[0], table.words), ("strategy", 3))
        self.assertIn("set-up left out (G; Hex8, multigrid). Traced", table.caption)
        self.assertTrue(table.caption.endswith("One solve each; commit c0."), table.caption)
        table = self.table([self.ROW | {"n_dof": 9}, self.ROW | {"element": "tet4"}],
                           [self.ROW | {"device": "H", "commit": "c2"}])
        self.assertEqual((table.columns[:4], table.words), (["card", "mesh", "commit", "strategy"], 6))
        self.assertIn("set-up left out. Traced", table.caption)

    def test_bars_are_as_long_as_the_solve(self):
        rows_ = [self.ROW | {"category": c, "span_share": share, "gpu": gpu} for gpu in (0, 1)
                 for c, share in (("products", 0.5), ("halo", 0.2), ("cycle", 0.1))]
        solve, = traces.solves(rows_)
        told = dict(zip((*trace_figures.PARTS, trace_figures.IDLE), trace_figures.parts(solve)))
        self.assertEqual({name: round(t, 12) for name, t in told.items() if t},
                         {"products of the strategy": 0.5, "halo": 0.2, "the rest of multigrid": 0.1, "idle": 0.2})
        self.assertEqual(trace_figures.words(solve), "2 GPUs, NCCL, graphs")

    def test_where_nothing_is_sent(self):
        one = self.ROW | {"ranks": 1, "transport": "", "graphs": 0}
        self.assertEqual(self.lines([one]), [
            ["patch", "", "no", "986 K", "1", "0.0", "0.0", "0.0", "0.0", "20.0", "0", "1250"]])

    def test_the_newest_speaks_and_small_meshes_come_first(self):
        large, newer = ([self.ROW | {"n_dof": n, "untraced_s": t}] for n, t in ((6440067, 4.0), (985527, 2.0)))
        self.assertEqual([line[3:5] + line[-1:] for line in self.lines(newer, [self.ROW], large)],
                         [["986 K", "2", "2000"], ["6.44 M", "2", "4000"]])
        self.assertEqual(self.lines(), [])


class Points(unittest.TestCase):
    def setUp(self) -> None:
        self.top = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.here = points.Here({"solve": self.top / "solve"}, self.top, ("patch",), ("patch",), {"cuda": 2, "host": 4},
                                build=self.top, commit="c1", machine="m")
        self.point = studies.Trace("cuda", "hex8", "1000000", "assembled_bsr", "2", "graphs", "nccl")
        self.files = points.Files(self.top / "t.rows.part")

    def leave(self, trace: str = SAMPLE) -> None:
        for which, seconds in (("plain", 0.5), ("traced", 0.75)):
            self.files.part(which).write_text(json.dumps({
                "nodes": 328509, "run": {"device": "NVIDIA H200", "precondition": "multigrid"},
                "steps": [{"seconds": {"jacvec": seconds, "other": 0.25}}]}))
        self.files.part("trace").write_text(trace)

    def collect(self) -> str:
        with unittest.mock.patch("runner.studies.warn") as warn:
            self.point.collect(self.here, points.Process(1, 1, ("assembled_bsr",)), self.files)
        return "".join(call.args[0] for call in warn.call_args_list)

    def test_rows(self):
        self.leave()
        self.assertEqual(self.collect(), f"{self.point.name()}: 17 % of the time are kernels of no category: new_kernel")
        table = rows.read(self.files.rows, "communication.csv")
        self.assertEqual([(row["gpu"], row["category"], row["in_graph"]) for row in table], [
            (0, "halo", 1), (0, "sums", 0), (0, "products", 1), (0, "vectors", 0), (1, "products", 1), (1, "other", 0)])
        shown = {name: table[0][name] for name in rows.columns_of("communication.csv")[5:]}
        self.assertEqual(shown, {
            "variant": "assembled_bsr", "element": "hex8", "n_dof": 985527, "precondition": "multigrid", "ranks": 2,
            "transport": "nccl", "graphs": 1, "gpu": 0, "category": "halo", "in_graph": 1, "kernel": "send_and_land",
            "launches": 100, "seconds": 3e-4, "alone_s": 1e-4, "busy_share": 0.2222, "span_share": 0.2, "busy_s": 9e-4,
            "span_s": 1e-3, "solve_s": 1.0, "untraced_s": 0.75, "status": "ok"})

    def test_a_bad_trace_ends_with_one_line(self):
        self.leave("nothing\n")
        with self.assertRaises(Failure) as caught:
            self.collect()
        self.assertIn("t.trace.part: line 1: the columns of a trace", str(caught.exception))
        self.leave("\n".join(SAMPLE.splitlines()[:-2]) + "\n")
        with self.assertRaisesRegex(Failure, r"kernels of GPUs \[0\] were traced, not of 2$"):
            self.collect()

    def test_what_a_point_needs(self):
        self.assertEqual(self.point.needs(self.here),
                         f"{self.top}/trace.so (make builds it where the CUDA Toolkit has CUPTI: make info)")
        (self.top / "trace.so").write_text("")
        self.assertEqual(self.point.needs(self.here), "")
        four = studies.Trace("cuda", "hex8", "1000000", "patch", "4", "single", "peer")
        self.assertEqual(four.needs(self.here), "4 GPUs")

    def test_names_and_commands(self):
        (self.top / "trace.so").write_text("")
        one = studies.Trace("cuda", "hex8", "6400000", "patch", "1", "single")
        for point, name in ((one, "trace-cuda-hex8-6400000-patch-1-single"),
                            (self.point, "trace-cuda-hex8-1000000-assembled_bsr-2-graphs-nccl")):
            self.assertEqual((point.name(), studies.parse(name)), (name, point))
        self.assertEqual([p.mesh_to_make(self.here) for p in (one, self.point)], ["cube128", "cube68"])
        process = points.Process(1, 1, ("patch",))
        command = self.point.command(self.here, process, self.files)
        self.assertEqual(command[:2], ["sh", "-c"])
        self.assertIn("--transport nccl --variant assembled_bsr", " ".join(command))
        self.assertNotIn("--transport", one.command(self.here, process, self.files))
        self.assertEqual(one.command(self.here, process, self.files)[-2:], ["--no-graphs", "--no-state"])

    def test_each_solve_runs_without_the_trace_and_with_it(self):
        """What stands in for solve says how it was started."""
        (self.top / "trace.so").write_text("")
        solve = self.top / "solve"
        solve.write_text('#!/bin/sh\nfor last; do :; done\necho "$CUDA_INJECTION64_PATH $FE_TRACE_MARKS $CUDA_MODULE_LOADING" '
                         '>"$last"\n[ -z "$FE_TRACE" ] || echo t >"$FE_TRACE"\n[ -z "$FAILS" ] || rm -f "$FE_TRACE"\n')
        solve.chmod(0o755)
        command = self.point.command(self.here, points.Process(1, 1, ("patch",)), self.files)
        self.assertEqual(subprocess.run(command, check=False).returncode, 0)
        self.assertEqual([self.files.part(which).read_text() for which in ("plain", "traced", "trace")], [
            "  EAGER\n", f"{(self.top / 'trace.so').resolve()} residual_ material EAGER\n", "t\n"])
        self.assertEqual(subprocess.run(command, check=False, env={**os.environ, "FAILS": "1"}).returncode, 1)  # no trace

    def test_points_of_the_experiment(self):
        listed = {e.name: e for e in experiments.read_experiments(experiments.FOLDER / "studies.toml")}
        variables = types.SimpleNamespace(of_studies={}, lists={})
        found = list(dict.fromkeys(experiments.study_points(listed["communication"], "cuda", variables)))  # as plan()
        self.assertEqual(len(found), 2 * 2 * 2 * (1 + 2 + 2))
        self.assertEqual({p.transport for p in found if p.ranks == "1"}, {""})


class Records(unittest.TestCase):
    """bench/trace.c, with tests/faults/cupti.c instead of CUPTI."""

    @classmethod
    def setUpClass(cls) -> None:
        top = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        include = [pathlib.Path(nvcc).resolve().parent.parent / folder for folder in ("include", "extras/CUPTI/include")]
        if not any((folder / "cupti.h").is_file() for folder in include):
            raise unittest.SkipTest("bench/trace.c: there is no cupti.h, which comes with the CUDA Toolkit")
        cls.program, cls.file = top / "traced", top / "trace.csv"
        made = subprocess.run([os.environ.get("CC") or "cc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-I.",
                               *(word for folder in include for word in ("-isystem", str(folder))), "bench/trace.c",
                               "tests/faults/cupti.c", "-o", str(cls.program), "-lpthread"], cwd=ROOT, capture_output=True,
                              text=True, check=False)
        if made.returncode:
            raise AssertionError(made.stderr)

    def trace(self, records: str, **environment: str) -> tuple[str, str]:
        """The file that was written, and what was said."""
        self.file.unlink(missing_ok=True)
        done = subprocess.run([str(self.program)], input=records, capture_output=True, text=True, check=False,
                              env={"FE_TRACE": str(self.file), **environment})
        self.assertEqual(done.returncode, 0)  # of the program, whatever becomes of the trace
        self.assertLessEqual(done.stderr.count("\n"), 1)
        self.assertEqual(list(self.file.parent.glob("*.new")), [])
        return self.file.read_text() if self.file.exists() else "", done.stderr

    def test_moments_are_divided(self):
        """In the second half of `a` runs `b`, and a copy in the last quarter of `b`, of another device."""
        text, said = self.trace("kernel 0 0 1000 1400 a\nkernel 0 7 1200 1600 b\ncopy 0 0 1500 1600 -\npeer 1 0 100 200 -\n"
                                "kernel 0 0 2000 2100 a\nmemset 0 3 2100 2200 -\nkernel 0 0 0 0 untimed\n")
        self.assertEqual(said, "trace: 1 kernels or copies have no times and are left out\n")
        header, *lines = text.splitlines()
        self.assertEqual(header, ",".join(communication.COLUMNS))
        self.assertEqual(sorted(lines), [
            '0,"a",0,2,500,400,300,1000,2200,800', '0,"b",1,1,400,250,100,1000,2200,800',
            '0,"memcpy DtoH",0,1,100,50,0,1000,2200,800', '0,"memset",1,1,100,100,100,1000,2200,800',
            '1,"memcpy PtoP",0,1,100,100,100,100,200,100'])

    def test_what_is_outside_of_the_marks_is_left_out(self):
        """Records come in any order."""
        text, said = self.trace(
            "kernel 0 0 500 600 axpy\nkernel 0 0 300 400 material_hex8\nkernel 0 0 10 20 elastic_columns\n"
            "kernel 0 0 200 250 patch_residual_hex8\nkernel 0 0 260 290 axpy\nkernel 0 0 195 270 sum_pairs\n",
            FE_TRACE_MARKS="residual_ material")
        self.assertEqual(said, "")
        self.assertEqual(sorted(text.splitlines()[1:]), [
            '0,"axpy",0,1,30,30,30,200,400,180', '0,"material_hex8",0,1,100,100,100,200,400,180',
            '0,"patch_residual_hex8",0,1,50,50,50,200,400,180'])
        self.assertEqual(self.trace("kernel 0 0 10 20 a\n", FE_TRACE_MARKS="residual_"),
                         ("", f"trace: {self.file}: no kernel runs between the marks\n"))

    def test_failures_are_one_line(self):
        one = "kernel 0 0 10 20 a\n"
        for records, environment, said in (
                ("", {}, f"{self.file}: no kernel was recorded"), (one, {"DROPS": "1"}, "CUPTI had no memory for all records"),
                (one, {"REFUSES": "1"}, "CUPTI: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES: no trace is written"),
                (one, {"FE_TRACE": ""}, "FE_TRACE names no file: nothing is traced"),
                (one, {"FE_TRACE": "/nonexistent/a"}, "/nonexistent/a: No such file or directory"),
                ("kernel 99 0 10 20 a\n", {}, "a device's number is too large"),
                ("".join(f"kernel 0 0 {i + 1} 9999 a\n" for i in range(5000)), {}, "too many kernels run at a time"),
                ("".join(f"kernel 0 0 10 20 k{i}\n" for i in range(5000)), {}, "too many different kernels")):
            with self.subTest(said):
                text, line = self.trace(records, **environment)
                self.assertEqual(text, "")
                self.assertIn(said, line)
                self.assertTrue(line.startswith("trace: "))

    def test_many_records(self):
        """More than a first piece of memory holds."""
        text, said = self.trace("".join(f"kernel 0 1 {10 * i + 10} {10 * i + 15} k{i % 7}\n" for i in range(70000)))
        self.assertEqual(said, "")
        self.assertEqual(sum(int(line.split(",")[3]) for line in text.splitlines()[1:]), 70000)
        self.assertEqual({line.split(",")[-1] for line in text.splitlines()[1:]}, {"350000"})


if __name__ == "__main__":
    unittest.main()
