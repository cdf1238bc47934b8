"""Strategies side by side: the inner loop of each, from its sources, beside its numbers (a part of docs/strategies.md)."""

from __future__ import annotations

import pathlib
import re

from report import model, parts, rows, sources
from report.text import wrap

# Functions that are a strategy's idea, in the order in which they run.
INNER: dict[str, tuple[tuple[str, str], ...]] = {
    "element_atomic": (("assembly.h", "element_atomic_forces"),),
    "element_warp": (("assembly.h", "element_warp_forces"),),
    "element_team": (("assembly.h", "element_team_hex8"), ("assembly.h", "element_team_forces")),
    "element_color": (("cuda.cu", "element_forces"), ("cuda.cu", "block_forces")),
    "node_csr": (("cuda.cu", "add_corner"), ("cuda.cu", "row_forces"), ("cuda.cu", "group_forces")),
    "dof_csr": (("cuda.cu", "entry_force"), ("cuda.cu", "group_forces")),
    "two_phase": (("cuda.cu", "point_body"), ("cuda.cu", "row_forces")),
    "corner_gather": (("assembly.h", "corner_gather_forces"), ("cuda.cu", "store_forces"), ("cuda.cu", "row_number")),
    "patch": (("cuda.cu", "patch_body"), ("sum.h", "patch_sum")),
    "assembled_bsr": (("cuda.cu", "row_product"),),
    "assembled_symmetric": (("cuda.cu", "row_product"),),
}
# How the kernels of strategies are called in profiles, where not as the strategy.
KERNELS = {"assembled_bsr": ("assembled_bsr", "cuSPARSE")}
# Strategies without an inner loop of their own, beside the one of whose loop they are a form.
BESIDE = {"patch": ("patch", "patch_ordered"), "assembled_bsr": ("assembled_bsr", "assembled_cusparse", "assembled_csr")}


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


def side_by_side() -> list[str]:
    """A section for each strategy that has an inner loop of its own."""
    lines: list[str] = []
    for variant, functions in INNER.items():
        folder = model.ROOT / "variants" / variant
        lines += [f"## {variant}", f"[README](../variants/{variant}/README.md)", "",
                  *parts.strategy(list(BESIDE.get(variant, (variant,)))),
                  *parts.profile(KERNELS.get(variant, (f"{variant}_",)))]
        for file, name in functions:
            lines += ["", f"[`{file}`](../variants/{variant}/{file}):", "```c", function(folder / file, name), "```"]
        lines.append("")
    lines += ["## hybrid", "[README](../variants/hybrid/README.md): the fastest of four others, timed at set-up.", "",
              *parts.strategy(["hybrid"])]
    if any(sources.MARK in line for line in lines):
        lines += ["", *wrap(sources.FOOT)]
    return lines
