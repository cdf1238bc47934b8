"""Reads profile.md, what kernels use by Nsight Compute, as rows (results/schema.toml).

A row is a strategy's kernel of an operation. Kernels whose name tells no operation, such as one that clears memory, have
none.
"""

from __future__ import annotations

import pathlib
import re

from report.rows import Fault, Row

COLUMN = "FP64, flop/DoF"
OPERATIONS = ("jacvec_elastic", "jacvec")  # a longer name before those that are in it


def read(path: pathlib.Path, strategies: tuple[str, ...]) -> list[Row]:
    """Fault where a table has no such column."""
    found: list[Row] = []
    commit = element = n_dof = ""
    names: list[str] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := re.search(r"commit ([0-9a-f]+(?:-dirty)?)", line):
            commit = commit or match[1]
        if match := re.fullmatch(r"## (\w+), (\d+) DoF", line):
            element, n_dof = match.groups()
        if not line.startswith("|") or line.startswith("|---"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "kernel":
            names = cells
            if COLUMN not in names:
                raise Fault(f"{path}: line {number}: the table has no column {COLUMN!r}")
            continue
        kernel = cells[0].strip("`")
        variant = max((s for s in strategies if kernel.startswith(s + "_")), key=len, default="")
        operation = next((o for o in OPERATIONS if f"_{o}_" in kernel + "_"), "")
        if variant and operation:
            found.append({"commit": commit, "variant": variant, "element": element, "n_dof": int(n_dof),
                          "operation": operation, "flop_per_dof": float(cells[names.index(COLUMN)]), "status": "ok"})
    return found
