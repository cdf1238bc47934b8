"""A rigid sphere on a plastic half-space: first yield, and the plastic range beside CalculiX. docs/contact.md has both.

    python3 tests/indentation.py [--build build] yield|calculix [--cells N]

yield: the pressure at the centre over the yield stress between which the first point yields; theory has 1.60 at a
Poisson's ratio of 0.3. calculix: `ccx` (Debian: calculix-ccx) solves the same mesh with a sphere of facets, all of
whose nodes are displaced, and springs between both; forces and the largest equivalent plastic strain of each step
side by side. Ends with 1 where a force differs by more than 1 %.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "meshgen"))
import contact  # noqa: E402

RADIUS, YOUNG, POISSON, YIELD, HARDENING = 10.0, 200000.0, 0.3, 400.0, 2000.0
REDUCED = YOUNG / (1 - POISSON**2)
SPRING, FACETS = 1e9, 80  # of CalculiX' contact, MPa/mm; along a side of its sphere
Solid = tuple[list[contact.Point], list[list[int]], dict[str, list[list[int]]]]


def solve(folder: pathlib.Path, build: pathlib.Path, block: Solid, approach: float, factors: list[float]) -> list[dict]:
    """The steps of the result."""
    contact.write(folder / "block.msh", *block)
    (folder / "block.json").write_text(json.dumps({
        "meshes": ["block.msh"], "material": {"E": YOUNG, "nu": POISSON, "sigma_y": YIELD, "H": HARDENING},
        "dirichlet": [{"group": "x0", "u": {"x": 0}}, {"group": "y0", "u": {"y": 0}}, {"group": "far", "u": {"z": 0}}],
        "contact": [{"group": "contact", "u": {"z": -approach},
                     "obstacle": {"sphere": {"center": [0, 0, RADIUS], "radius": RADIUS}}}],
        "paths": {"load": factors}}))
    subprocess.run([str(build / "solve"), "block.json", "--result", "block.result.json"], check=True, cwd=folder,
                   stdout=subprocess.DEVNULL)
    return json.loads((folder / "block.result.json").read_text())["steps"]


def first_yield(folder: pathlib.Path, build: pathlib.Path, cells: int) -> int:
    a = 1.6 * YIELD * math.pi * RADIUS / (2 * REDUCED)
    block = contact.solid("block", 20 * a, 1.3 * a, cells, 0.9)
    before = 0.0
    for step in solve(folder, build, block, a * a / RADIUS, [0.6 + 0.02 * i for i in range(36)]):
        force = 4 * abs(step["contact"][0]["force"][2])
        pressure = (6 * force * REDUCED**2 / (math.pi**3 * RADIUS**2)) ** (1 / 3) / YIELD
        if step["plastic_gp"]:
            print(f"{len(block[0])} nodes: first yield at p0 / sigma_y from {before:.4f} to {pressure:.4f}")
            return 0
        before = pressure
    return 1


def lines(keyword: str, numbers: list[int]) -> list[str]:
    return [keyword] + [",".join(map(str, numbers[i:i + 12])) + "," for i in range(0, len(numbers), 12)]


def calculix_input(block: Solid, approach: float, steps: int) -> list[str]:
    """The same in CalculiX' words: the block, and a layer of elements under a sphere that is displaced as a whole."""
    nodes, hexes, faces = block
    n, width = len(nodes), 1.6 * math.sqrt(RADIUS * approach)
    place = [-width + 2 * width * i / FACETS for i in range(FACETS + 1)]
    tool = [(x, y, RADIUS - math.sqrt(RADIUS**2 - x * x - y * y) + thick)
            for thick in (0.0, 0.3) for y in place for x in place]
    layer, row = (FACETS + 1) ** 2, FACETS + 1
    out = ["*NODE"] + [f"{i},{x:.12g},{y:.12g},{z:.12g}" for i, (x, y, z) in enumerate(nodes + tool, 1)]
    out += ["*ELEMENT,TYPE=C3D8,ELSET=BODY"]
    out += [f"{e}," + ",".join(str(a + 1) for a in corners) for e, corners in enumerate(hexes, 1)]
    out += ["*ELEMENT,TYPE=C3D8,ELSET=TOOL"]
    e = len(hexes)
    for j in range(FACETS):
        for i in range(FACETS):
            e += 1
            below = [n + 1 + j * row + i, n + 2 + j * row + i, n + 2 + (j + 1) * row + i, n + 1 + (j + 1) * row + i]
            out.append(f"{e}," + ",".join(map(str, below + [a + layer for a in below])))
    for group in ("x0", "y0", "far"):
        out += lines(f"*NSET,NSET={group.upper()}", sorted({a + 1 for face in faces[group] for a in face}))
    out += lines("*NSET,NSET=NTOOL", list(range(n + 1, n + len(tool) + 1)))
    out += ["*SURFACE,NAME=SLAVE,TYPE=ELEMENT"] + [f"{k},S2" for k in range(1, len(faces["contact"]) + 1)]
    out += ["*SURFACE,NAME=MASTER,TYPE=ELEMENT"] + [f"{k},S1" for k in range(len(hexes) + 1, e + 1)]
    return out + [
        "*MATERIAL,NAME=M", "*ELASTIC", f"{YOUNG},{POISSON}", "*PLASTIC", f"{YIELD},0.", f"{YIELD + 10 * HARDENING},10.",
        "*MATERIAL,NAME=T", "*ELASTIC", f"{YOUNG},{POISSON}",
        "*SOLID SECTION,ELSET=BODY,MATERIAL=M", "*SOLID SECTION,ELSET=TOOL,MATERIAL=T",
        "*SURFACE INTERACTION,NAME=SI", "*SURFACE BEHAVIOR,PRESSURE-OVERCLOSURE=LINEAR", f"{SPRING:g},1e-6",
        "*CONTACT PAIR,INTERACTION=SI,TYPE=NODE TO SURFACE", "SLAVE,MASTER",
        "*BOUNDARY", "X0,1,1", "Y0,2,2", "FAR,3,3", "NTOOL,1,2",
        "*STEP,INC=1000", "*STATIC,DIRECT", f"{1 / steps},1.", "*BOUNDARY", f"NTOOL,3,3,{-approach}",
        "*NODE PRINT,NSET=FAR,TOTALS=ONLY", "RF", "*EL PRINT,ELSET=BODY", "PEEQ", "*END STEP", ""]


def calculix_results(path: pathlib.Path) -> tuple[list[float], list[float]]:
    """Of each increment: the force, and the largest equivalent plastic strain of a point."""
    forces: list[float] = []
    largest: list[float] = []
    of_forces = False
    for line in path.read_text().splitlines():
        words = line.split()
        if "total force" in line:
            of_forces = True
        elif "equivalent plastic strain" in line:
            of_forces = False
            largest.append(0.0)
        elif len(words) == 3 and of_forces:
            forces.append(float(words[2]))
        elif len(words) == 3:
            largest[-1] = max(largest[-1], float(words[2]))
    return forces, largest


def beside_calculix(folder: pathlib.Path, build: pathlib.Path, cells: int) -> int:
    approach, steps = 0.01, 10
    block = contact.solid("block", 5.0, 0.45, cells, 0.8)
    (folder / "ccx.inp").write_text("\n".join(calculix_input(block, approach, steps)))
    subprocess.run(["ccx", "ccx"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    forces, largest = calculix_results(folder / "ccx.dat")
    bad = 0
    print("| step | force N | CalculiX | difference % | largest peeq | CalculiX | difference % | closed nodes | Newton |")
    print("|" + "---:|" * 9)
    for i, step in enumerate(solve(folder, build, block, approach, [(k + 1) / steps for k in range(steps)])):
        touching, newton = step["contact"][0], step["newton"]["iterations"]
        force = abs(touching["force"][2])
        off, peeq = 100 * (force / abs(forces[i]) - 1), 100 * (step["max_peeq"] / largest[i] - 1)
        print(f"| {i + 1} | {force:.3f} | {abs(forces[i]):.3f} | {off:+.2f} | {step['max_peeq']:.6f} | {largest[i]:.6f} "
              f"| {peeq:+.2f} | {touching['nodes']} | {newton} |")
        bad += not abs(off) <= 1.0
    return 1 if bad else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("yield", "calculix"))
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--cells", type=int, default=10)
    a = parser.parse_args()
    run = first_yield if a.what == "yield" else beside_calculix
    with tempfile.TemporaryDirectory() as folder:
        return run(pathlib.Path(folder), a.build.resolve(), a.cells)


if __name__ == "__main__":
    sys.exit(main())
