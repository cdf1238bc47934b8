"""Strategies side by side: the inner loop of each, from its sources, beside its numbers (docs/strategies.md)."""

from __future__ import annotations

import pathlib
import re

from report import claims, rows, sources
from report.text import wrap

# Functions that are a strategy's idea, in the order in which they run.
INNER: dict[str, tuple[tuple[str, str], ...]] = {
    "element_atomic": (("assembly.h", "element_atomic_forces"),),
    "element_warp": (("assembly.h", "element_warp_forces"),),
    "element_team": (("assembly.h", "element_team_hex8"), ("assembly.h", "element_team_forces")),
    "element_color": (("cuda.cu", "element_forces"), ("cuda.cu", "block_forces")),
    "node_csr": (("cuda.cu", "add_corner"), ("cuda.cu", "row_forces")),
    "dof_csr": (("cuda.cu", "entry_force"),),
    "two_phase": (("cuda.cu", "point_body"), ("cuda.cu", "row_forces")),
    "corner_gather": (("assembly.h", "corner_gather_forces"), ("cuda.cu", "sum_row")),
    "patch": (("cuda.cu", "patch_body"), ("cuda.cu", "patch_sum")),
    "assembled_bsr": (("cuda.cu", "row_product"),),
}
OPERATIONS = (("residual", "residual"), ("jacvec_elastic", "elastic"), ("jacvec", "tangents"))


def function(path: pathlib.Path, name: str) -> str:
    """A function's text with the comment above it. Fault where the file has none of this name."""
    lines = path.read_text().splitlines()
    starts = [i for i, line in enumerate(lines) if re.search(rf"\b{name}\(", line) and not line.startswith((" ", "#", "/"))]
    for start in starts:
        body = next((i for i in range(start, len(lines)) if lines[i] == "{" or lines[i].endswith(";")), start)
        if lines[body] != "{":  # a declaration
            continue
        end = next(i for i in range(body, len(lines)) if lines[i].startswith("}"))
        while start > 0 and lines[start - 1].startswith(("/*", " *", "template", "static")):
            start -= 1
        return "\n".join(lines[start:end + 1])
    raise rows.Fault(f"{path}: has no function {name}; report/strategies.py names it")


def _newest(machine: pathlib.Path, variant: str) -> dict[tuple[str, str], rows.Row]:
    """Of each element and operation the row of the largest box in the newest run that has one."""
    found: dict[tuple[str, str], rows.Row] = {}
    for run in claims.runs_of(machine):
        path = run / "kernels.csv"
        there: dict[tuple[str, str], rows.Row] = {}
        for row in rows.read(path) if path.exists() else ():
            if (row["variant"] == variant and row["status"] == "ok" and row["backend"] == "cuda"
                    and str(row["case"]).startswith("box") and int(row["n_dof"] or 0) > 6e6
                    and all(row[c] == v for c, v in claims.USUAL["kernels.csv"].items())):
                there[str(row["element"]), str(row["operation"])] = row
        for key, row in there.items():
            found.setdefault(key, row)
    return found


def _numbers(variant: str) -> list[str]:
    head = [f"{element} {name}" for element in ("Hex8", "Tet4") for _, name in OPERATIONS]
    lines = ["| GDoF/s | " + " | ".join(head) + " | B/DoF of its own | rows of |", "|---|" + "---:|" * (len(head) + 1) + "---|"]
    for machine in claims.machines():
        found = _newest(machine, variant)
        if not found:
            continue
        cells = []
        for element in ("hex8", "tet4"):
            for operation, _ in OPERATIONS:
                row = found.get((element, operation))
                cells.append(claims.digits(float(row["dof_per_s"]) / 1e9) if row else "-")
        own = sorted({float(r["bytes_work"]) / int(r["n_dof"]) for (_, op), r in found.items()
                      if op == "jacvec" and r["bytes_work"] is not None})
        memory = "-" if not own else "–".join(dict.fromkeys(f"{x:.0f}" for x in (own[0], own[-1])))
        commits = ", ".join(sorted({
            sources.marked(commit, sources.changed(commit, "kernels.csv", variant, "cuda"))
            for commit in (str(r["commit"]) for (_, op), r in found.items() if op in dict(OPERATIONS))}))
        lines.append(f"| {machine.name} | " + " | ".join(cells) + f" | {memory} | {commits} |")
    return lines


def page() -> str:
    """docs/strategies.md."""
    lines = ["# Strategies side by side"] + wrap(
        "The inner loop of each strategy on GPUs, as its sources have it, and what it reaches on the largest box: 6 M degrees "
        "of freedom, all points plastic, the newest rows of each card ([intervals and other sizes](findings.md)). "
        "`patch_ordered` is `patch` with a second pass between patches instead of atomics, `hybrid` chooses among others, "
        "`assembled_cusparse` and `assembled_csr` call cuSPARSE: they have no inner loop of their own. "
        "`python3 -m report.documents` wrote this page.") + [""]
    for variant, functions in INNER.items():
        folder = claims.ROOT / "variants" / variant
        lines += [f"## {variant}", f"[README](../variants/{variant}/README.md)", ""] + _numbers(variant)
        for file, name in functions:
            lines += ["", f"[`{file}`](../variants/{variant}/{file}):", "```c", function(folder / file, name), "```"]
        lines.append("")
    if any(sources.MARK in line for line in lines):
        lines += wrap(sources.FOOT)
    return "\n".join(lines).rstrip() + "\n"
