"""A ball on a rigid plane beside Hertz's solution: docs/contact.md has the table.

    python3 tests/hertz.py [--build build] [--cells 10,20,40] [--gmsh] [--threads N] [--ranks N]

A quarter of the lower half of a ball (R = 50 mm, E = 20 GPa, nu = 0.3) whose middle does not move, on a plane that
comes up by 2 mm or 0.2 mm; meshes of meshgen/contact.py with so many cells along 1.2 contact radii. Two comparisons:
with Hertz's solution for that approach, which half-spaces have and a ball has nearly, and with that for the force
which was computed. Ends with 1 where the finest mesh is farther from the latter than 1 % in the pressure at the
centre, or 3 % in the radius of the nodes that are closed.

--gmsh: meshes of Gmsh instead (Debian's python3-gmsh), Tet4 and Tet10 with curved sides, with elements of so many mm
at the contact; approach 2 mm. Ends with 1 where the finest Tet10 are farther away than 2 % and 3 %.
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


def mesh_of_cells(mesh: pathlib.Path, approach: float, cells: int) -> None:
    core = 1.2 * math.sqrt(RADIUS * approach)
    script = pathlib.Path(__file__).parent.parent / "meshgen" / "contact.py"
    subprocess.run([sys.executable, str(script), "ball", "--radius", str(RADIUS), "--core", str(core), "--cells",
                    str(cells), "-o", str(mesh)], check=True)


def mesh_by_gmsh(mesh: pathlib.Path, order: int, size: float) -> None:
    """Elements of this size within 12 mm of the contact, and a quarter of the distance larger beyond."""
    import gmsh

    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    occ = gmsh.model.occ
    occ.intersect([(3, occ.addSphere(0, 0, RADIUS, RADIUS))], [(3, occ.addBox(0, 0, 0, RADIUS, RADIUS, RADIUS))])
    occ.synchronize()
    faces: dict[str, list[int]] = {"x0": [], "y0": [], "far": [], "contact": []}
    for _, tag in gmsh.model.getEntities(2):
        x, y, z = occ.getCenterOfMass(2, tag)
        faces["x0" if x < 1e-6 else "y0" if y < 1e-6 else "far" if z > RADIUS - 1e-6 else "contact"].append(tag)
    for name, tags in faces.items():
        gmsh.model.setPhysicalName(2, gmsh.model.addPhysicalGroup(2, tags), name)
    body = gmsh.model.addPhysicalGroup(3, [tag for _, tag in gmsh.model.getEntities(3)])
    gmsh.model.setPhysicalName(3, body, "body")
    field, far = gmsh.model.mesh.field, "(sqrt(x*x+y*y+z*z)-12)"
    field.setString(field.add("MathEval", 1), "F", f"{size}+0.125*({far}+abs{far})")
    field.setAsBackgroundMesh(1)
    for source in ("ExtendFromBoundary", "FromPoints", "FromCurvature"):
        gmsh.option.setNumber(f"Mesh.MeshSize{source}", 0)
    gmsh.option.setNumber("Mesh.ElementOrder", order)
    gmsh.option.setNumber("Mesh.Algorithm3D", 10)
    gmsh.model.mesh.generate(3)
    gmsh.write(str(mesh))
    gmsh.finalize()


def solve(mesh: pathlib.Path, build: pathlib.Path, approach: float, flags: list[str]) -> dict:
    """The result of a run."""
    problem, result = (mesh.with_name(name) for name in ("ball.json", "ball.result.json"))
    problem.write_text(json.dumps({
        "meshes": [mesh.name], "elastic": True, "material": {"E": YOUNG, "nu": POISSON},
        "dirichlet": [{"group": "x0", "u": {"x": 0}}, {"group": "y0", "u": {"y": 0}}, {"group": "far", "u": {"z": 0}}],
        "contact": [{"group": "contact", "obstacle": {"plane": {"point": [0, 0, 0], "normal": [0, 0, 1]}},
                     "u": {"z": approach}}],
        "paths": {"load": [1]}}))
    subprocess.run([str(build / "solve"), str(problem), "--result", str(result), *flags], check=True,
                   stdout=subprocess.DEVNULL)
    return json.loads(result.read_text())


def line(approach: float, mesh: str, result: dict) -> tuple[float, float]:
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
    print(f"| {approach:g} | {mesh} | {result['nodes']} | {contact['nodes']} | {pressure:.1f} | {radius:.3f} | "
          + " | ".join(f"{e:+.2f}" for e in errors)
          + f" | {newton['iterations']} | {sum(newton['krylov'])} |", flush=True)
    return errors[3], errors[4]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--cells", default="10,20,40")
    parser.add_argument("--gmsh", action="store_true")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--ranks", default="1")
    a = parser.parse_args()
    flags = ["--threads", a.threads, "--ranks", a.ranks, "--precondition", "multigrid"]
    bad = 0
    print(f"| approach | {'elements' if a.gmsh else 'cells'} | nodes | closed | p0 | a | p0 % | a % | force % "
          "| p0 at force % | a at force % | Newton | Krylov |")
    print("|" + "---:|" * 13)
    with tempfile.TemporaryDirectory() as folder:
        mesh = pathlib.Path(folder) / "ball.msh"
        if a.gmsh:
            for order, name in ((1, "Tet4"), (2, "Tet10")):
                for size in (3.0, 1.5, 0.75):
                    mesh_by_gmsh(mesh, order, size)
                    errors = line(2.0, f"{name}, {size:g} mm", solve(mesh, a.build, 2.0, flags))
            return int(abs(errors[0]) > 2.0 or abs(errors[1]) > 3.0)
        for approach in (2.0, 0.2):
            for cells in map(int, a.cells.split(",")):
                mesh_of_cells(mesh, approach, cells)
                errors = line(approach, str(cells), solve(mesh, a.build, approach, flags))
            bad += abs(errors[0]) > 1.0 or abs(errors[1]) > 3.0
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
