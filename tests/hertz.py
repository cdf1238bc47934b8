"""A ball on a rigid plane beside Hertz's solution: docs/contact.md has the table.

    python3 tests/hertz.py [--build build] [--cells 10,20,40] [--threads N] [--ranks N]

A quarter of the lower half of a ball (R = 50 mm, E = 20 GPa, nu = 0.3) whose middle does not move, on a plane that
comes up by 2 mm or 0.2 mm; meshes of meshgen/contact.py with so many cells along 1.2 contact radii. Two comparisons:
with Hertz's solution for that approach, which half-spaces have and a ball has nearly, and with that for the force
which was computed. Ends with 1 where the finest mesh is farther from the latter than 1 % in the pressure at the
centre, or 3 % in the radius of the nodes that are closed.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

RADIUS, YOUNG, POISSON = 50.0, 20000.0, 0.3
REDUCED = YOUNG / (1 - POISSON**2)


def hertz(contact_radius: float) -> tuple[float, float]:
    """Pressure at the centre, and force."""
    return 2 * REDUCED * contact_radius / (math.pi * RADIUS), 4 * REDUCED * contact_radius**3 / (3 * RADIUS)


def solve(folder: pathlib.Path, build: pathlib.Path, approach: float, cells: int, flags: list[str]) -> dict:
    """The result of a run."""
    mesh, problem, result = (folder / name for name in ("ball.msh", "ball.json", "ball.result.json"))
    core = 1.2 * math.sqrt(RADIUS * approach)
    script = pathlib.Path(__file__).parent.parent / "meshgen" / "contact.py"
    subprocess.run([sys.executable, str(script), "ball", "--radius", str(RADIUS), "--core", str(core), "--cells",
                    str(cells), "-o", str(mesh)], check=True)
    problem.write_text(json.dumps({
        "meshes": ["ball.msh"], "elastic": True, "material": {"E": YOUNG, "nu": POISSON},
        "dirichlet": [{"group": "x0", "u": {"x": 0}}, {"group": "y0", "u": {"y": 0}}, {"group": "far", "u": {"z": 0}}],
        "contact": [{"group": "contact", "obstacle": {"plane": {"point": [0, 0, 0], "normal": [0, 0, 1]}},
                     "u": {"z": approach}}],
        "paths": {"load": [1]}}))
    subprocess.run([str(build / "solve"), str(problem), "--result", str(result), *flags], check=True,
                   stdout=subprocess.DEVNULL)
    return json.loads(result.read_text())


def line(approach: float, cells: int, result: dict) -> tuple[float, float]:
    """Prints a row of the table. Errors of pressure and radius at the force that was computed."""
    contact, newton = result["steps"][0]["contact"][0], result["steps"][0]["newton"]
    force, pressure = 4 * contact["force"][2], contact["max_pressure"]
    radius = math.sqrt(4 * contact["area"] / math.pi)
    expected = math.sqrt(RADIUS * approach)
    expected_pressure, expected_force = hertz(expected)
    own = (3 * force * RADIUS / (4 * REDUCED)) ** (1 / 3)
    own_pressure = hertz(own)[0]
    errors = [100 * (a / b - 1) for a, b in ((pressure, expected_pressure), (radius, expected), (force, expected_force),
                                             (pressure, own_pressure), (radius, own))]
    print(f"| {approach:g} | {cells} | {result['nodes']} | {contact['nodes']} | {pressure:.1f} | {radius:.3f} | "
          + " | ".join(f"{e:+.2f}" for e in errors)
          + f" | {newton['iterations']} | {sum(newton['krylov'])} |", flush=True)
    return errors[3], errors[4]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--cells", default="10,20,40")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--ranks", default="1")
    a = parser.parse_args()
    flags = ["--threads", a.threads, "--ranks", a.ranks, "--precondition", "multigrid"]
    bad = 0
    print("| approach | cells | nodes | closed | p0 | a | p0 % | a % | force % | p0 at force % | a at force % | Newton "
          "| Krylov |")
    print("|" + "---:|" * 13)
    with tempfile.TemporaryDirectory() as folder:
        for approach in (2.0, 0.2):
            for cells in map(int, a.cells.split(",")):
                errors = line(approach, cells, solve(pathlib.Path(folder), a.build, approach, cells, flags))
            bad += abs(errors[0]) > 1.0 or abs(errors[1]) > 3.0
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
