"""Slender bars and plates beside the sparse direct solver: docs/preconditioner.md has the table.

    python3 tests/slender.py [--build build] [--backend host|cuda] [--jobs N] bars|plates

Bars of cubes, one to four thick; plates of 20 by 20 cells, one to four thick; both Hex8 and Tet4, 50 : 1 to
1000 : 1, on one rank and on four. One line each: iterations of CG, and how far the largest displacement is from the
direct solution. Ends with 1 if one is farther than 1e-6.
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

PROBLEM = """{"meshes": ["%s.msh"], "elastic": true, "material": {"E": 200000, "nu": 0.3},
 "dirichlet": [{"group": "x0", "u": {"x": 0, "y": 0, "z": 0}}],
 "neumann": [{"group": "%s", "traction": [0, 0, -1e-6]}], "paths": {"load": [1]}}
"""
RATIOS, LAYERS, RANKS = (50, 150, 300, 500, 1000), (1, 2, 3, 4), (1, 4)


def solve(build: pathlib.Path, problem: pathlib.Path, flags: list[str]) -> tuple[float, int, bool]:
    """Largest displacement, iterations of CG, and whether another solver took over."""
    result = problem.with_name(problem.stem + "".join(flags) + ".result.json")
    command = [str(build / "solve"), str(problem), "--result", str(result), "--threads", "1", *flags]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"{' '.join(command)}: {run.stderr.strip()}")
    step = json.loads(result.read_text())["steps"][0]
    return step["max_abs_u"], step["newton"]["krylov_iterations"], "again with" in run.stderr


def body(build: pathlib.Path, folder: pathlib.Path, backend: str, shape: str, element: str, ratio: int,
         layers: int) -> list[str]:
    """Lines of one body; those that begin with BAD are wrong."""
    name = f"{shape}-{element}-{ratio}-{layers}"
    bar = shape == "bars"
    cells = (ratio * layers, layers, layers) if bar else (20, 20, layers)
    lengths = (ratio, 1, 1) if bar else (ratio, ratio, 1)
    mesh = [str(build / "meshgen"), "box", "-e", element, "-c", ",".join(map(str, cells)),
            "-l", ",".join(map(str, lengths)), "-o", str(folder / f"{name}.msh")]
    subprocess.run(mesh, check=True, capture_output=True)
    problem = folder / f"{name}.json"
    problem.write_text(PROBLEM % (name, "x1" if bar else "z1"))
    exact, _, _ = solve(build, problem, ["--precondition", "direct"])
    lines = []
    for ranks in RANKS:
        flags = ["--precondition", "multigrid", "--backend", backend, "--ranks", str(ranks)]
        u, iterations, again = solve(build, problem, flags)
        off = abs(u / exact - 1)
        lines.append(f"{'ok ' if off <= 1e-6 else 'BAD'} {name} on {ranks}: {iterations} iterations, off by {off:.1e}"
                     + (", in double precision" if again else ""))
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--backend", choices=("host", "cuda"), default="host")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("shape", choices=("bars", "plates"))
    a = parser.parse_args()
    bodies = [(e, r, n) for e in ("hex8", "tet4") for r in RATIOS for n in LAYERS]
    bad = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for lines in pool.map(lambda b: body(a.build, pathlib.Path(folder), a.backend, a.shape, *b), bodies):
            bad += sum(line.startswith("BAD") for line in lines)
            print("\n".join(lines), flush=True)
    print(f"{a.shape} on {a.backend}: {len(bodies) * len(RANKS)} solves, {bad} bad")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
