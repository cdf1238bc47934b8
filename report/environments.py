"""What differs between the environments of two runs that are compared: what rows say, the records of the machines
(machine.csv), and the conditions of samples. What is alike is not told."""

from __future__ import annotations

import pathlib
import statistics
from collections.abc import Collection, Iterable, Iterator, Sequence

from report import model, rows

Key = tuple[rows.Value, ...]

OF_ROWS = ("machine", "device", "commit", "schema", "threads")
RECORDED = {"driver": "driver", "cuda": "CUDA", "compiler": "compiler", "system": "operating system",
            "cpu_stepping": "processor", "microcode": "microcode", "numa_nodes": "NUMA nodes"}
OF_GPU = {"gpu_power_limit_w": "power limit of the GPU in W", "gpu_ecc": "ECC of the GPU",
          "gpu_max_sm_mhz": "highest clock of multiprocessors in MHz",
          "gpu_max_memory_mhz": "highest clock of memory in MHz",
          "gpu_persistence": "persistence mode of the GPU", "gpu_mig": "MIG mode of the GPU"}
CEILINGS = {"copy_gb_per_s": ("copy rate", "GB/s", 1.0), "fma_gflop_per_s": ("FP64 rate", "TFLOP/s", 1e-3)}
BACKENDS = {"cuda": "GPU", "host": "host"}
CONDITIONS = {"sm_mhz": ("clock of multiprocessors", "MHz"), "watt": ("power", "W")}
ALIKE = 0.005  # numbers that were measured are alike within this share


def folders_below(path: pathlib.Path) -> list[pathlib.Path]:
    """Those with rows."""
    return sorted({file.parent for file in rows.files_below(path)})


def records_below(path: pathlib.Path) -> list[dict[str, str]]:
    """Of the machines of these rows; empty ones where there is no record."""
    return [dict(model.read_record(folder / "machine.csv")) for folder in folders_below(path)]


def _words(name: str, sides: Iterable[Collection[str]]) -> Iterator[str]:
    """Nothing where a side has none."""
    a, b = (sorted(set(side)) for side in sides)
    if a and b and a != b:
        yield f"{name}: {', '.join(a)} and {', '.join(b)}"


def _numbers(name: str, unit: str, sides: Iterable[Sequence[float]]) -> Iterator[str]:
    """Of medians; nothing where a side has none."""
    a, b = sides
    if a and b and abs((y := statistics.median(b)) - (x := statistics.median(a))) > ALIKE * max(x, y):
        yield f"{name}: {x:.4g} and {y:.4g} {unit}"


def _medians(path: pathlib.Path, keys: Collection[Key]) -> dict[tuple[str, Key], float]:
    """Of each condition over the samples of each of these points."""
    found: dict[tuple[str, Key], list[float]] = {}
    for file in rows.files_below(path) if keys else ():
        if not rows.kind_of(file).startswith("samples"):
            continue
        for row in rows.read(file):
            if (key := rows.anywhere(row)) in keys:
                for column in CONDITIONS:
                    if row[column] is not None:
                        found.setdefault((column, key), []).append(float(row[column]))
    return {of: statistics.median(values) for of, values in found.items()}


def differences(paths: Sequence[pathlib.Path], compared: Sequence[Sequence[rows.Row]]) -> Iterator[str]:
    """A line for each. compared: rows of both runs, of points that both have (of all, where they share none). Of
    samples: medians over points on GPUs of which both runs have some."""
    for name in OF_ROWS:
        yield from _words(name, [{str(row[name]) for row in side} for side in compared])
    records = [records_below(path) for path in paths]
    backends = {row["backend"] for side in compared for row in side}
    for name, told in (RECORDED | (OF_GPU if "cuda" in backends else {})).items():
        yield from _words(told, [{value for record in some for value in model.values_in(record.get(name, ""))}
                                 for some in records])
    for backend, where in BACKENDS.items():
        for name, (told, unit, factor) in CEILINGS.items() if backend in backends else ():
            yield from _numbers(f"{told} of the {where}", unit, [
                [factor * float(record[f"{backend}_{name}"]) for record in some if record.get(f"{backend}_{name}")]
                for some in records])
    keys = {rows.anywhere(row) for row in compared[0] if row["backend"] == "cuda"}
    a, b = (_medians(path, keys) for path in paths)
    for column, (told, unit) in CONDITIONS.items():
        both = [of for of in a if of[0] == column and of in b]
        yield from _numbers(f"median {told}", unit, [[side[of] for of in both] for side in (a, b)])
