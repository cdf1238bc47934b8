"""A test for ReFrame (4.2 or newer): builds `kernels`, times all strategies at one size, and takes their throughput.

    reframe -c packaging/reframe/febench.py -r --performance-report
    reframe -c packaging/reframe/febench.py -r -S backend=cuda -S dofs=1000000

It builds in the stage folder, from the sources where this file lies, with the compilers that `make` finds. Sanity: every
row is ok, so every answer agrees with the oracle before and after it was timed. Performance variables: GDoF/s of each
strategy. There are no references, because they belong to a machine: a site sets them.
"""

from __future__ import annotations

import csv
import functools
import pathlib

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import fixture, parameter, run_before, sanity_function, variable

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Build(rfm.CompileOnlyRegressionTest):
    """`kernels`, in the folder build of the stage."""

    sourcesdir = None
    build_system = "CustomBuild"
    build_locally = False

    @run_before("compile")
    def make_kernels(self):
        build = f"{self.stagedir}/build"
        self.build_system.commands = [f'make -C {ROOT} -j"$(sh {ROOT}/packaging/cores.sh)" BUILD={build} {build}/kernels']

    @sanity_function
    def is_there(self):
        return sn.path_isfile(f"{self.stagedir}/build/kernels")


@rfm.simple_test
class Kernels(rfm.RunOnlyRegressionTest):
    """One operation on one backend at about so many degrees of freedom."""

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    element = parameter(["tet4", "hex8"])
    backend = variable(str, value="host")
    dofs = variable(int, value=100000)
    operation = variable(str, value="jacvec")
    build = fixture(Build, scope="environment")
    sourcesdir = None

    @run_before("run")
    def set_command(self):
        self.executable = f"{self.build.stagedir}/build/kernels"
        self.executable_opts = [f"--fe_backend={self.backend}", f"--fe_elements={self.element}", f"--fe_dofs={self.dofs}",
                                f"--fe_operations={self.operation}", "--fe_rows=kernels.csv"]
        if self.backend == "cuda":
            self.num_gpus_per_node = 1

    @functools.cached_property
    def rows(self) -> list[dict[str, str]]:
        with open(f"{self.stagedir}/kernels.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    @sanity_function
    def all_rows_are_ok(self):
        bad = [f"{row['variant']} {row['status']}" for row in self.rows if row["status"] != "ok"]
        return sn.all([sn.assert_true(self.rows, "there are no rows"), sn.assert_false(bad, f"not ok: {', '.join(bad)}")])

    @run_before("performance")
    def take_throughput(self):
        for row in self.rows:
            self.perf_variables[row["variant"]] = sn.make_performance_function(
                sn.defer(1e-9 * float(row["dof_per_s"])), "GDoF/s")
