"""Orders of convergence: a manufactured solution on boxes and on curved bodies.

    /usr/bin/python3 tests/convergence.py [--build build] [--elements tet4,hex8,tet10,hex27] [--cells 2,4,8]

The displacement is a sum of two waves, u = sum of c sin(k·x + p). With Lamé's constants lambda and mu the body force
[(lambda + mu) (c·k) k + mu |k|² c] sin(k·x + p) of each balances it; it is prescribed on the whole surface, by
expressions. `straight`: a cube whose inner vertices stand at random, so that nothing is regular; `curved`: the cube
bent by a smooth map, of which quadratic elements follow the sides. The error is the L2 norm over the elements that
were computed. Prints a table, and ends with 1 where the order between the two finest meshes is below 2 (linear) or
3 (quadratic elements) by more than 0.3. It needs NumPy.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

import numpy as np

YOUNG, POISSON = 1000.0, 0.3
MU = YOUNG / (2 * (1 + POISSON))
LAMBDA = YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
WAVES = [(np.array(c), np.array(k), p) for c, k, p in (
    ((0.01, 0.004, -0.006), (1.7, 1.1, -0.6), 0.3), ((-0.005, 0.008, 0.007), (-0.5, 1.9, 1.2), 1.1))]
CORNERS = {"tet4": 4, "hex8": 8, "tet10": 10, "hex27": 27}
GMSH = {"tet4": (4, 2), "hex8": (5, 3), "tet10": (11, 9), "hex27": (12, 10)}  # types of elements and of their sides
# Places of Gmsh's nodes in a cell of 3 × 3 × 3, and of a square of 3 × 3; of tetrahedra the ends of edges.
HEX = [(0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0), (0, 0, 2), (2, 0, 2), (2, 2, 2), (0, 2, 2), (1, 0, 0), (0, 1, 0),
       (0, 0, 1), (2, 1, 0), (2, 0, 1), (1, 2, 0), (2, 2, 1), (0, 2, 1), (1, 0, 2), (0, 1, 2), (2, 1, 2), (1, 2, 2),
       (1, 1, 0), (1, 0, 1), (0, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (1, 1, 1)]
EDGES = [(0, 1), (1, 2), (2, 0), (0, 3), (2, 3), (1, 3)]


def displacement(x: np.ndarray) -> np.ndarray:
    return sum(np.sin(x @ k + p)[..., None] * c for c, k, p in WAVES)


def expression(factor: str, axis: int) -> str:
    """u, or the body force, along an axis as problem files say it."""
    terms = []
    for c, k, p in WAVES:
        size = c[axis] if factor == "u" else (LAMBDA + MU) * (c @ k) * k[axis] + MU * (k @ k) * c[axis]
        terms.append(f"({size:.17g})*sin({k[0]:.17g}*x+({k[1]:.17g})*y+({k[2]:.17g})*z+{p:.17g})")
    return "+".join(terms)


def mesh_of(kind: str, n: int, shape: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes, elements in Gmsh's order, sides of the surface: of n cells along each axis of the unit cube."""
    grid = 2 * n + 1
    at = np.stack(np.meshgrid(*[np.arange(grid)] * 3, indexing="ij"), -1).reshape(-1, 3)  # in half cells
    number = {tuple(place): i for i, place in enumerate(at)}
    elements, sides = [], []
    for cell in itertools.product(range(0, grid - 1, 2), repeat=3):
        corners = [tuple(np.add(cell, place)) for place in HEX]
        found = [corners] if kind.startswith("hex") else []
        for order in itertools.permutations(range(3)) if kind.startswith("tet") else ():
            path = [np.array(cell)]
            for axis in order:
                path.append(path[-1] + 2 * np.eye(3, dtype=int)[axis])
            if np.linalg.det(np.stack(path[1:]) - path[0]) < 0:
                path[1], path[2] = path[2], path[1]
            found.append([tuple(v) for v in path] + [tuple((path[a] + path[b]) // 2) for a, b in EDGES])
        elements += [[number[v] for v in element[:CORNERS[kind]]] for element in found]
    for axis, end in itertools.product(range(3), (0, grid - 1)):
        for a, b in itertools.product(range(0, grid - 1, 2), repeat=2):
            def node(i: int, j: int) -> int:
                return number[tuple(np.insert([a + i, b + j], axis, end))]
            corners, quad9 = [(0, 0), (2, 0), (2, 2), (0, 2)], [(1, 0), (2, 1), (1, 2), (0, 1), (1, 1)]
            if kind.startswith("hex"):
                sides.append([node(*p) for p in corners + (quad9 if kind == "hex27" else [])])
                continue
            for one in (0, 1, 2), (0, 2, 3):  # the diagonals of the tetrahedra's sides are from corner 0
                ends = [corners[i] for i in one]
                middle = [tuple((np.add(ends[i], ends[(i + 1) % 3])) // 2) for i in range(3)]
                sides.append([node(*p) for p in ends + (middle if kind == "tet10" else [])])
    x = at / (grid - 1)
    vertices = (at % 2 == 0).all(1)
    if shape == "straight":
        inner = ((at > 0) & (at < grid - 1)).all(1) & vertices
        x[inner] += np.random.default_rng(1).uniform(-0.12, 0.12, (inner.sum(), 3)) / n
    elements = np.array(elements)
    if shape == "straight" and kind in ("tet10", "hex27"):
        set_middles(kind, elements, x)
    if shape == "curved":
        a, b, c = x.T
        x = np.stack([a + 0.15 * np.sin(2.0 * b + 0.5) * (1 + c), b + 0.12 * np.cos(2.5 * c) + 0.1 * a * a,
                      c + 0.1 * np.sin(2.0 * a) * b], 1)
    used = np.unique(elements)
    renumber = np.full(len(x), -1)
    renumber[used] = np.arange(len(used))
    return x[used], renumber[elements], renumber[np.array(sides)]


def set_middles(kind: str, elements: np.ndarray, x: np.ndarray) -> None:
    """Nodes that are no vertices stand at the mean of theirs."""
    if kind == "tet10":
        for i, (a, b) in enumerate(EDGES):
            x[elements[:, 4 + i]] = 0.5 * (x[elements[:, a]] + x[elements[:, b]])
        return
    for i, place in enumerate(HEX):
        ends = [HEX.index(v) for v in itertools.product(*[(0, 2) if p == 1 else (p,) for p in place])]
        x[elements[:, i]] = x[elements[:, ends]].mean(1)


def write_mesh(path: pathlib.Path, kind: str, x: np.ndarray, elements: np.ndarray, sides: np.ndarray) -> None:
    volume, side = GMSH[kind]
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", "2", '2 1 "surface"', '3 2 "body"',
             "$EndPhysicalNames", "$Nodes", str(len(x))]
    lines += [f"{i + 1} {a:.17g} {b:.17g} {c:.17g}" for i, (a, b, c) in enumerate(x)]
    lines += ["$EndNodes", "$Elements", str(len(elements) + len(sides))]
    for i, (number, group, nodes) in enumerate([(side, 1, s) for s in sides] + [(volume, 2, e) for e in elements]):
        lines.append(f"{i + 1} {number} 2 {group} {group} " + " ".join(str(n + 1) for n in nodes))
    path.write_text("\n".join([*lines, "$EndElements", ""]))


def read_displacement(path: pathlib.Path) -> np.ndarray:
    text = re.search(r'<DataArray[^>]*Name="displacement"[^>]*>\s*(\S+)\s*</DataArray>', path.read_text()).group(1)
    blocks = int(np.frombuffer(base64.b64decode(text[:12])[:8], np.uint64)[0])
    coded = 4 * ((8 * (3 + blocks) + 2) // 3)
    sizes = np.frombuffer(base64.b64decode(text[:coded]), np.uint64)[3:].astype(int)
    data, at, found = base64.b64decode(text[coded:]), 0, b""
    for size in sizes:
        found += zlib.decompress(data[at:at + size])
        at += size
    return np.frombuffer(found, np.float64).reshape(-1, 3)


def shapes_of(kind: str, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values [point][corner] and gradients [point][corner][axis] over [0, 1], by the monomials' inverse."""
    order = 2 if kind in ("tet10", "hex27") else 1
    powers = [p for p in itertools.product(range(order + 1), repeat=3) if kind.startswith("hex") or sum(p) <= order]
    if kind.startswith("hex"):
        nodes = np.array(HEX[:CORNERS[kind]]) / 2.0
    else:
        vertices = np.vstack([np.zeros(3), np.eye(3)])
        nodes = np.array([*vertices, *(0.5 * (vertices[a] + vertices[b]) for a, b in EDGES)])[:CORNERS[kind]]

    def monomials(x: np.ndarray, by: int | None = None) -> np.ndarray:
        columns = []
        for p in powers:
            factor, lowered = 1.0, list(p)
            if by is not None:
                factor, lowered[by] = p[by], max(p[by] - 1, 0)
            columns.append(factor * np.prod(x ** np.array(lowered), axis=1))
        return np.stack(columns, 1)
    inverse = np.linalg.inv(monomials(nodes))
    return monomials(points) @ inverse, np.stack([monomials(points, by) @ inverse for by in range(3)], -1)


def points_of(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Gauss points along each axis; of tetrahedra those of the cube, collapsed."""
    t, w = np.polynomial.legendre.leggauss(5)
    t, w = 0.5 * (t + 1), 0.5 * w
    x = np.array(list(itertools.product(t, repeat=3)))
    weight = np.array([np.prod(v) for v in itertools.product(w, repeat=3)])
    if kind.startswith("hex"):
        return x, weight
    a, b, c = x.T
    return np.stack([a, b * (1 - a), c * (1 - a) * (1 - b)], 1), weight * (1 - a) ** 2 * (1 - b)


def error_of(kind: str, x: np.ndarray, elements: np.ndarray, u: np.ndarray) -> float:
    points, weight = points_of(kind)
    values, gradients = shapes_of(kind, points)
    square = 0.0
    for part in np.array_split(elements, max(1, len(elements) // 2000)):
        there = np.einsum("qa,eai->eqi", values, x[part])
        jacobian = np.linalg.det(np.einsum("eai,qaj->eqij", x[part], gradients))
        off = np.einsum("qa,eai->eqi", values, u[part]) - displacement(there)
        square += float((weight * jacobian * (off**2).sum(-1)).sum())
    return square**0.5


def solve(folder: pathlib.Path, arguments: argparse.Namespace, kind: str, n: int, shape: str) -> tuple[float, int]:
    """The error, and the number of nodes."""
    x, elements, sides = mesh_of(kind, n, shape)
    write_mesh(folder / "body.msh", kind, x, elements, sides)
    (folder / "body.json").write_text(json.dumps({
        "meshes": ["body.msh"], "elastic": True, "material": {"E": YOUNG, "nu": POISSON}, "paths": {"load": [1.0]},
        "dirichlet": [{"group": "surface", "u": {a: expression("u", i) for i, a in enumerate("xyz")}}],
        "body_force": [{"force": [expression("force", i) for i in range(3)]}]}))
    output = folder / "out"
    subprocess.run([str(arguments.build / "solve"), str(folder / "body.json"), "--backend", arguments.backend,
                    "--variant", arguments.variant, "--tolerance", "1e-11", "--output", str(output)], check=True,
                   stdout=subprocess.DEVNULL)
    last = sorted(output.glob("*.vtu"))[-1]
    found = error_of(kind, x, elements, read_displacement(last))
    last.unlink()
    return found, len(x)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--elements", default="tet4,hex8,tet10,hex27")
    parser.add_argument("--cells", default="2,4,8")
    parser.add_argument("--backend", default="host")
    parser.add_argument("--variant", default="element_atomic")
    arguments = parser.parse_args()
    cells, bad = [int(n) for n in arguments.cells.split(",")], 0
    print("| element | sides | cells | nodes | error in L2 | order |\n|---|---|---:|---:|---:|---:|")
    for kind, shape in itertools.product(arguments.elements.split(","), ("straight", "curved")):
        before, order = None, float("nan")
        for n in cells:
            with tempfile.TemporaryDirectory() as folder:
                error, nodes = solve(pathlib.Path(folder), arguments, kind, n, shape)
            if before:
                order = np.log(before[1] / error) / np.log(n / before[0])
            told = f"{order:.2f}" if before else ""
            print(f"| {kind} | {shape} | {n} | {nodes} | {error:.3e} | {told} |", flush=True)
            before = (n, error)
        bad += not order > (3 if kind in ("tet10", "hex27") else 2) - 0.3
    if bad:
        print(f"convergence.py: {bad} orders are too low", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
