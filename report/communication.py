"""Time by kernel: which category the name of a kernel belongs to, and what a trace (bench/trace.c) says by category."""

from __future__ import annotations

import csv
import dataclasses
import functools
import pathlib
import re
from collections.abc import Sequence

from report.rows import Fault

# Whole names of kernels, without templates and arguments. The first category that fits counts; what fits none is OTHER.
# tests/report/test_trace.py has all kernels of common/ and variants/ here.
OTHER = "other"
CATEGORIES: dict[str, str] = {
    # ghosts: packing for NCCL, sending, receiving, on multigrid's levels, too
    "halo": r"send|land|send_and_land|take_nodes|(un)?pack_numbers|nccl\w*SendRecv\w*|memcpy PtoP",
    # over ranks
    "sums": r"sum_all|nccl\w*(AllReduce|Reduce|AllGather|Broadcast)\w*",
    # an element's forces, rows of a matrix, its assembly, contact
    "products": r"(patch|element_[a-z]+|node_csr|dof_csr|two_phase|corner_gather|assembled_[a-z]+|bsr|contact)_\w+"
                r"|\w*(bsrmv|csrmv)\w*",
    # points of integration: stress and tangent, sums over them
    "material": r"(material|expand|summary|flow|node_stress)_\w+|round_tangent|total_of_blocks",
    # vectors and their dot products, block-Jacobi, the small problems of Krylov methods, numbers for the host
    "vectors": r"axpy|scale|add|dots|put|take|take_sums|round_nodes|largest|fingerprint|square_root|convert|clear_memory"
               r"|show|constrain_blocks|invert_blocks|apply_blocks|apply_blocks_absolute|cg_\w+|column_sums|combine|store"
               r"|load|hessenberg_\w+|delayed_\w+|\w*(gemv|dot_kernel|reduce_1Block)\w*|memset|memcpy( [HD]to[HD])?",
    # between the finest level or the quadratic elements and the next level; between others they are products of `cycle`
    "transfers": r"block_fine_restrict|block_fine_prolong|order_(exact_)?restrict|order_prolong",
    # multigrid's sweeps, products and dense inverse
    "cycle": r"block_fine_(start|sweep|inverse|residual)|block_(sweep|product|dense)|exact_(product|inverse|dense)|last_sweep"
             r"|order_(residual|mask)",
    # of multigrid and strategies, which a trace leaves out unless it is done again within a solve
    "set_up": r"elastic_\w+|sum_pairs|block_noise|keep_\w+|invert_block|take_panels|update|open_columns|sweep_columns"
              r"|round_\w+|turn_columns|find_\w+|count_\w+|fill_\w+|clear_components|mark_\w+|renumber_columns|place_rows"
              r"|columns_of_numbers|compact|axis_keys|part|halve_small|split|choose|number|long_columns|short_columns"
              r"|product_values|mirror|list_below|sort_below|transpose_\w+|member_keys|measure_aggregates"
              r"|complete_diagonal|take_six|spread|largest_row|Device(Scan|RadixSort|Reduce)\w*",
}
NAMES = (*CATEGORIES, OTHER)
COMMUNICATION = ("halo", "sums")
COLUMNS = ("device", "name", "graph", "launches", "total_ns", "divided_ns", "alone_ns", "first_ns", "last_ns", "busy_ns")


def without_brackets(text: str, brackets: str) -> str:
    """Without what stands within pairs of these, and without them."""
    depth, kept = 0, []
    for c in text:
        depth += c == brackets[0]
        if depth == 0:
            kept.append(c)
        depth -= c == brackets[1] and depth > 0
    return "".join(kept)


def of_mangled(name: str) -> str:
    """The last identifier of a name as the Itanium C++ ABI mangles it: _ZN3cub10DeviceScanIiEEvPi is DeviceScan."""
    at, last = 2, ""
    nested = name[at:at + 1] == "N"
    at += nested
    while at < len(name):
        if name[at] in "LKVr":  # internal linkage, qualifiers
            at += 1
        elif name.startswith("St", at):  # namespace std
            at += 2
        elif match := re.match(r"\d+", name[at:]):
            at += match.end()
            last, at = name[at:at + int(match[0])], at + int(match[0])
            if not nested:
                break
        elif name[at] == "S" and (match := re.match(r"S[0-9A-Z]*_", name[at:])):  # named before
            at += match.end()
        else:  # arguments of a template, or the end
            break
    return last or name


@functools.cache
def kernel_of(name: str) -> str:
    """A kernel's plain name, of a mangled one or one with its signature."""
    if name.startswith("_Z"):
        return of_mangled(name)
    if name.startswith("mem"):
        return name
    plain = name.replace("(anonymous namespace)", "").replace("<unnamed>", "")
    plain = without_brackets(plain, "<>").partition("(")[0].strip()
    return re.split(r"::|\s", plain)[-1] or name


@functools.cache
def category_of(kernel: str) -> str:
    return next((name for name, pattern in CATEGORIES.items() if re.fullmatch(pattern, kernel)), OTHER)


@dataclasses.dataclass(frozen=True)
class Launches:
    """A kernel on one device, in graphs or not, and how long the device was at work; seconds."""

    device: int
    kernel: str
    in_graph: bool
    launches: int
    total: float
    divided: float  # moments at which several ran count in part; of all kernels: busy
    alone: float  # while no other kernel ran
    span: float  # of the device, from its first kernel to the end of its last one
    busy: float  # of the device


@dataclasses.dataclass(frozen=True)
class Share(Launches):
    """The same of all kernels of a category; `kernel` is the one that took longest."""

    category: str


def read(path: pathlib.Path) -> list[Launches]:
    """What a trace left. Fault where it is not that."""
    found = []
    try:
        with open(path, newline="", encoding="utf-8", errors="replace") as file:
            reader = csv.reader(file)
            header = tuple(next(reader, ()))
            if header != COLUMNS:
                raise Fault(f"{path}: line 1: the columns of a trace are {','.join(COLUMNS)}")
            for cells in reader:
                if len(cells) != len(COLUMNS):
                    raise Fault(f"{path}: line {reader.line_num}: {len(cells)} cells, {len(COLUMNS)} columns")
                try:
                    device, graph, launches, total, divided, alone, first, last, busy = map(int, cells[:1] + cells[2:])
                except ValueError as error:
                    raise Fault(f"{path}: line {reader.line_num}: {error}") from error
                if not (0 < busy <= last - first and 0 <= alone <= busy and launches > 0 and graph in (0, 1)):
                    raise Fault(f"{path}: line {reader.line_num}: {cells[1]}: these times cannot be")
                found.append(Launches(device, kernel_of(cells[1]), bool(graph), launches, 1e-9 * total, 1e-9 * divided,
                                      1e-9 * alone, 1e-9 * (last - first), 1e-9 * busy))
    except (OSError, csv.Error) as error:
        raise Fault(f"{path}: {error}") from error
    if not found:
        raise Fault(f"{path}: holds no kernel")
    return found


def shares(traced: Sequence[Launches]) -> list[Share]:
    """By device, then category in the order of NAMES, then out of graphs and in them."""
    groups: dict[tuple[int, str, bool], list[Launches]] = {}
    for one in traced:
        groups.setdefault((one.device, category_of(one.kernel), one.in_graph), []).append(one)
    found = []
    for (device, category, in_graph), some in sorted(groups.items(), key=lambda g: (g[0][0], NAMES.index(g[0][1]), g[0][2])):
        longest = max(some, key=lambda one: one.total)
        found.append(Share(device, longest.kernel, in_graph, sum(one.launches for one in some),
                           sum(one.total for one in some), sum(one.divided for one in some),
                           sum(one.alone for one in some), longest.span, longest.busy, category))
    return found


def unknown(traced: Sequence[Launches]) -> str:
    """A line on kernels without a category and their share of the time at work; "" where there are none."""
    some = [one for one in traced if category_of(one.kernel) == OTHER]
    busy = sum({one.device: one.busy for one in traced}.values())
    names = ", ".join(sorted({one.kernel for one in some}))
    return f"{100 * sum(one.divided for one in some) / busy:.2g} % of the time are kernels of no category: {names}" if some else ""
