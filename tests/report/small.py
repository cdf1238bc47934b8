"""A few rows below a folder of results, for tests of the report."""

from __future__ import annotations

import functools
import pathlib
from unittest import mock

from report import calibration, model, rows

ROW = {
    "schema": 5,
    "commit": "c1",
    "machine": "m",
    "backend": "cuda",
    "device": "NVIDIA H200",
    "ranks": 1,
    "threads": 16,
    "variant": "patch",
    "element": "hex8",
    "case": "box45-distorted",
    "order": "auto",
    "plastic": 1,
    "plastic_pattern": "clustered",
    "n_elem": 91125,
    "n_dof": 292008,
    "operation": "jacvec",
    "repetitions": 9,
    "calls": 4,
    "median_s": 2e-5,
    "ci95_low_s": 1.9e-5,
    "ci95_high_s": 2.1e-5,
    "min_s": 1.8e-5,
    "bytes_moved": 4e7,
    "flop": 2e8,
    "bytes": 1e8,
    "bytes_work": 1e7,
    "setup_s": 1e-3,
    "plastic_measured": 1,
    "error": 1e-15,
    "deterministic": 1,
    "precision": "double",
    "hardening": "linear",
    "condition": "burst",
    "process": 1,
    "status": "ok",
}
RECORD = {
    "machine": "m",
    "cpu": "CPU",
    "cores": "16",
    "gpu": "NVIDIA H200",
    "driver": "1",
    "cuda_copy_gb_per_s": "4000",
    "cuda_fma_gflop_per_s": "33000",
}


@functools.cache
def committed() -> model.Model:
    """Of all rows of this repository, read once for all tests."""
    return model.build()


def runs_alike() -> object:
    """A patch: as if runs of the same kernels did not differ (report/calibration.py)."""
    return mock.patch("report.calibration.largest", lambda *_, **__: calibration.Spread())


def columns(kind: str) -> list[str]:
    """Of a file of that kind, but for those that older files lack and ROW does not have."""
    return [c for c in rows.columns_of(kind) if c in ROW or "absent" not in rows.schema()["column"][c]]


KERNELS, SOLVES = columns("kernels.csv"), columns("solves.csv")


def row(seconds: float = 2e-5, spread: float = 0.05, **changed) -> dict:
    """Of kernels.csv; its interval is seconds (1 - spread) to seconds (1 + spread)."""
    return (
        ROW
        | {"median_s": seconds, "ci95_low_s": seconds * (1 - spread), "ci95_high_s": seconds * (1 + spread)}
        | changed
    )


def write(path: pathlib.Path, columns: list[str], lines: list[dict]) -> None:
    text = [",".join(columns)] + [",".join(str(line.get(c, "")) for c in columns) for line in lines]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")


def results(folder: pathlib.Path, **runs: list[dict]) -> pathlib.Path:
    """results/m/RUN/kernels.csv for each run (solves.csv for rows with krylov)."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines_of in runs.items():
        run = folder / "m" / f"2026-01-02-{name}"
        run.mkdir(parents=True)
        for kind, columns, some in (("kernels.csv", KERNELS, [r for r in lines_of if "krylov" not in r]),
                                    ("solves.csv", SOLVES, [r for r in lines_of if "krylov" in r])):
            if some:
                write(run / kind, columns, some)
        write(run / "machine.csv", ["key", "value"], [{"key": k, "value": v} for k, v in RECORD.items()])
    return folder


SIZES = ((45, 292008), (68, 985527), (128, 6440067))


def plenty() -> list[dict]:
    """Three strategies, two elements, three operations, three boxes and an irregular mesh; a whole solve."""
    lines = []
    for element in ("hex8", "tet4"):
        for case, n in [(f"box{c}-distorted", n) for c, n in SIZES] + [("irregular", 985600)]:
            for operation in ("jacvec", "jacvec_elastic", "residual", "diagonal", "material"):
                for slow, strategy in ((1, "patch"), (2, "element_atomic"), (4, "assembled_bsr")):
                    lines.append(
                        row(
                            slow * n * 1e-10,
                            0.01,
                            variant=strategy,
                            element=element,
                            case=case,
                            n_dof=n,
                            operation=operation,
                        )
                    )
    for slow, strategy in ((1, "patch"), (2, "element_atomic"), (3, "assembled_bsr")):
        solve = dict(
            krylov="cg",
            precondition="multigrid",
            newton_iterations=10,
            krylov_iterations=100,
            variant=strategy,
            case="box46-stretched-steps",
            n_dof=311469,
            plastic="",
            plastic_pattern="",
            setup_s=0.02 / slow,
        )
        lines.append(row(slow * 0.05, operation="solve", **solve))
        lines.append(row(0.01, operation="precondition_setup", **solve))
        lines.append(row(slow * 0.02, operation="jacvec", **solve))
    return lines
