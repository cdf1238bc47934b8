#!/usr/bin/env python3
"""Parts with curved sides, meshed by Gmsh with elements of second order, and what Gmsh says of meshes of ours.

gmsh_second_order.py make DIR: a tube's quarter of Tet10 and one of Hex27, each in MSH 4.1 and 2.2, text and
    binary, and NAME.facts: nodes, elements, volume, area of the group "outer", length of the group "edge".
gmsh_second_order.py measure FILE...: volume and smallest Jacobian of each, one line a file.

Integrals are Gmsh's own, by its shape functions and a Gauss rule that is exact for them. Exit 77: no gmsh."""
import sys
from math import pi

try:
    import gmsh
except (ImportError, OSError) as missing:
    print(f"gmsh_second_order.py: {missing}", file=sys.stderr)
    sys.exit(77)


def integral(dim: int, entity: int = -1) -> tuple[float, float]:
    """Sum of weight times Jacobian over the elements of a dimension, and the smallest Jacobian."""
    total, least = 0.0, float("inf")
    for kind in gmsh.model.mesh.getElementTypes(dim, entity):
        points, weights = gmsh.model.mesh.getIntegrationPoints(kind, "Gauss8")
        _, determinants, _ = gmsh.model.mesh.getJacobians(kind, points, entity)
        for k, determinant in enumerate(determinants):
            total += determinant * weights[k % len(weights)]
            least = min(least, determinant)
    return total, least


def group(dim: int, tags: list[int], number: int, name: str) -> None:
    gmsh.model.addPhysicalGroup(dim, tags, number)
    gmsh.model.setPhysicalName(dim, number, name)


def tube(hexahedra: bool) -> tuple[int, int]:
    """A quarter of a tube, radii 1 and 2, length 1.5; the tags of its outer surface and of an arc of it."""
    gmsh.clear()
    geo = gmsh.model.geo
    centre = geo.addPoint(0, 0, 0)
    p = [geo.addPoint(*x, 0) for x in ((1, 0), (2, 0), (0, 2), (0, 1))]
    lines = [geo.addLine(p[0], p[1]), geo.addCircleArc(p[1], centre, p[2]), geo.addLine(p[2], p[3]),
             geo.addCircleArc(p[3], centre, p[0])]
    face = geo.addPlaneSurface([geo.addCurveLoop(lines)])
    made = geo.extrude([(2, face)], 0, 0, 1.5, [2] if hexahedra else [], recombine=hexahedra)
    geo.synchronize()
    volume, outer = made[1][1], made[3][1]
    if hexahedra:
        for line, n in zip(lines, (3, 5, 3, 5)):
            gmsh.model.mesh.setTransfiniteCurve(line, n)
        gmsh.model.mesh.setTransfiniteSurface(face)
        gmsh.model.mesh.setRecombine(2, face)
    group(3, [volume], 1, "body")
    group(2, [outer], 2, "outer")
    group(2, [face], 3, "bottom")
    for number, name, k in ((6, "top", 0), (7, "y0", 2), (8, "x0", 4), (9, "inner", 5)):
        group(2, [made[k][1]], number, name)
    group(1, [lines[1]], 4, "edge")
    group(0, [p[0]], 5, "corner")
    gmsh.option.setNumber("Mesh.MeshSizeMin", 0.5)
    gmsh.option.setNumber("Mesh.MeshSizeMax", 0.5)
    gmsh.option.setNumber("Mesh.ElementOrder", 2)
    gmsh.option.setNumber("Mesh.SecondOrderIncomplete", 0)
    gmsh.model.mesh.generate(3)
    return outer, lines[1]


def make(folder: str) -> None:
    for name, hexahedra in (("tet10", False), ("hex27", True)):
        outer, edge = tube(hexahedra)
        volume, area, length = integral(3)[0], integral(2, outer)[0], integral(1, edge)[0]
        for measured, exact in ((volume, 2.25 * pi / 2), (area, 1.5 * pi), (length, pi)):
            assert abs(measured / exact - 1) < 1e-2, (name, measured, exact)
        elements, corners = gmsh.model.mesh.getElementsByType(12 if hexahedra else 11)
        for version in (4.1, 2.2):
            for binary in (0, 1):
                gmsh.option.setNumber("Mesh.MshFileVersion", version)
                gmsh.option.setNumber("Mesh.Binary", binary)
                gmsh.write(f"{folder}/{name}.{version}.{binary}.msh")
        with open(f"{folder}/{name}.facts", "w", encoding="utf-8") as facts:
            print(len(set(corners)), len(elements), repr(float(volume)), repr(float(area)), repr(float(length)),
                  file=facts)


def measure(paths: list[str]) -> None:
    for path in paths:
        gmsh.clear()
        gmsh.open(path)
        print(*(repr(float(v)) for v in integral(3)))


def main() -> None:
    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.option.setNumber("General.NumThreads", 1)
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        measure(sys.argv[2:])
    gmsh.finalize()


main()
