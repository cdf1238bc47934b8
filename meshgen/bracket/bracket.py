#!/usr/bin/python3
"""Meshes a wall bracket (mm) with Gmsh's OpenCASCADE kernel: Tet4 or Hex8 of one and the same part.

An L-shaped plate: the leg stands along the wall and has two bolt holes, the arm ends in an eye with a pin
hole. All curved surfaces run along z, so that a profile of quadrangles, extruded in layers, gives hexahedra;
the tetrahedra fill the same solid freely. README.md in this folder has the drawing and the numbers.
"""
import argparse
import math
import sys

try:
    import gmsh
except ImportError as error:
    print(f"bracket.py: {error}; install python3-gmsh and run with /usr/bin/python3", file=sys.stderr)
    sys.exit(2)

THICKNESS = 16.0
LEG_WIDTH, LEG_HEIGHT = 40.0, 130.0
ARM_HEIGHT = 36.0
R_INNER, R_HEEL, R_HEAD = 15.0, 12.0, 8.0
EYE = (110.0, 18.0)  # centre; the eye's outer radius is half the arm's height
HOLES = {"mount_upper": (20.0, 110.0, 6.0), "mount_lower": (20.0, 70.0, 6.0), "pin": (*EYE, 9.0)}
FILLET_CENTRE = (LEG_WIDTH + R_INNER, ARM_HEIGHT + R_INNER)

GMSH_TYPE = {"tet4": 4, "hex8": 5}
# The three corners next to each corner, in an order that makes a right-handed set.
CORNERS = {"tet4": [(1, 2, 3), (2, 0, 3), (0, 1, 3), (0, 2, 1)],
           "hex8": [(1, 3, 4), (2, 0, 5), (3, 1, 6), (0, 2, 7), (7, 5, 0), (4, 6, 1), (5, 7, 2), (6, 4, 3)]}
# Quadrature points in the reference element: the centroid, and 2 x 2 x 2 Gauss points.
POINTS = {"tet4": [0.25, 0.25, 0.25],
          "hex8": [c / math.sqrt(3) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1) for c in (x, y, z)]}


def outline():
    """Counterclockwise: (end point, arc centre or None for a line) of each piece."""
    return [
        ((EYE[0], 0), None),
        ((EYE[0] + 0.5 * ARM_HEIGHT, EYE[1]), EYE),
        ((EYE[0], ARM_HEIGHT), EYE),
        ((FILLET_CENTRE[0], ARM_HEIGHT), None),
        ((LEG_WIDTH, FILLET_CENTRE[1]), FILLET_CENTRE),
        ((LEG_WIDTH, LEG_HEIGHT - R_HEAD), None),
        ((LEG_WIDTH - R_HEAD, LEG_HEIGHT), (LEG_WIDTH - R_HEAD, LEG_HEIGHT - R_HEAD)),
        ((R_HEAD, LEG_HEIGHT), None),
        ((0, LEG_HEIGHT - R_HEAD), (R_HEAD, LEG_HEIGHT - R_HEAD)),
        ((0, R_HEEL), None),
        ((R_HEEL, 0), (R_HEEL, R_HEEL)),
    ]


def profile():
    """The plane face at z = 0; returns its tag."""
    occ = gmsh.model.occ
    pieces = outline()
    points = [occ.addPoint(x, y, 0) for (x, y), _ in pieces]
    curves = []
    for i, (_, centre) in enumerate(pieces):
        start, end = points[i - 1], points[i]
        if centre is None:
            curves.append(occ.addLine(start, end))
        else:
            middle = occ.addPoint(*centre, 0)
            curves.append(occ.addCircleArc(start, middle, end))
            occ.remove([(0, middle)])
    loops = [occ.addCurveLoop(curves)]
    loops += [occ.addCurveLoop([occ.addCircle(x, y, 0, r)]) for x, y, r in HOLES.values()]
    return occ.addPlaneSurface(loops)


def surfaces_in(x0, y0, z0, x1, y1, z1):
    e = 1e-4
    found = gmsh.model.getEntitiesInBoundingBox(x0 - e, y0 - e, z0 - e, x1 + e, y1 + e, z1 + e, 2)
    return [tag for _, tag in found]


def add_groups():
    """Surfaces are found by where they lie, so both elements get the same names and numbers."""
    t = THICKNESS
    far_x, far_y = EYE[0] + ARM_HEIGHT, LEG_HEIGHT
    fx, fy = FILLET_CENTRE
    boxes = {name: (x - r, y - r, 0, x + r, y + r, t) for name, (x, y, r) in HOLES.items()}
    boxes["fillet"] = (fx - R_INNER, fy - R_INNER, 0, fx, fy, t)
    boxes["wall"] = (0, 0, 0, 0, far_y, t)
    boxes["back"] = (0, 0, 0, far_x, far_y, 0)
    boxes["front"] = (0, 0, t, far_x, far_y, t)
    for number, (name, box) in enumerate(boxes.items(), start=1):
        tags = surfaces_in(*box)
        if len(tags) != 1:
            sys.exit(f"bracket.py: group {name} found {len(tags)} surfaces instead of 1")
        gmsh.model.addPhysicalGroup(2, tags, number)
        gmsh.model.setPhysicalName(2, number, name)
    volumes = [tag for _, tag in gmsh.model.getEntities(3)]
    gmsh.model.addPhysicalGroup(3, volumes, 1)
    gmsh.model.setPhysicalName(3, 1, "body")


def set_element_size(size):
    """`size` at the fillet and the holes, growing to 1.5 × size 25 mm off their circles."""
    circles = [*HOLES.values(), (*FILLET_CENTRE, R_INNER)]
    formulas = [f"{size} * (1 + 0.02 * abs(sqrt((x - {x})^2 + (y - {y})^2) - {r}))" for x, y, r in circles]
    field = gmsh.model.mesh.field
    parts = []
    for formula in [*formulas, f"{1.5 * size}"]:
        parts.append(field.add("MathEval"))
        field.setString(parts[-1], "F", formula)
    smallest = field.add("Min")
    field.setNumbers(smallest, "FieldsList", parts)
    field.setAsBackgroundMesh(smallest)


def set_options():
    number = gmsh.option.setNumber
    number("Mesh.MeshSizeFromPoints", 0)
    number("Mesh.MeshSizeExtendFromBoundary", 0)
    number("Mesh.ElementOrder", 1)
    number("Mesh.RandomSeed", 1)
    number("Mesh.Algorithm", 6)
    number("Mesh.Algorithm3D", 1)
    number("Mesh.OptimizeThreshold", 0.5)
    number("Mesh.RecombinationAlgorithm", 3)  # Blossom at twice the size, then all quadrangles split in four
    number("Mesh.Smoothing", 10)


def best_size(size):
    """Blossom pairs triangles as they come, and now and then leaves a flat corner on a circle. Of eleven
    sizes within 5 % this gives the one whose worst quadrangle is best."""
    quality = {}
    for percent in range(-5, 6):
        candidate = size * (1 + 0.01 * percent)
        gmsh.clear()
        gmsh.model.add("profile")
        face = profile()
        gmsh.model.occ.synchronize()
        set_element_size(candidate)
        gmsh.model.mesh.setRecombine(2, face)
        gmsh.model.mesh.generate(2)
        quality[candidate] = worst_corner()
    return max(quality, key=quality.get)


def worst_corner():
    """Smallest sine of a corner of the quadrangles; 0 where something else than quadrangles is left."""
    types, _, nodes = gmsh.model.mesh.getElements(2)
    if list(types) != [3]:
        return 0
    tags, xyz, _ = gmsh.model.mesh.getNodes()
    where = {tag: complex(*xyz[3 * i:3 * i + 2]) for i, tag in enumerate(tags)}
    worst = 1
    for first in range(0, len(nodes[0]), 4):
        p = [where[tag] for tag in nodes[0][first:first + 4]]
        for i in range(4):
            a, b = p[(i + 1) % 4] - p[i], p[i - 1] - p[i]
            worst = min(worst, (a.conjugate() * b).imag / (abs(a) * abs(b)))
    return worst


def make_mesh(element, size):
    hexahedra = element == "hex8"
    set_options()
    if hexahedra:
        size = best_size(size)
    gmsh.clear()
    gmsh.model.add("bracket")
    face = profile()
    layers = [max(2, round(THICKNESS / size))] if hexahedra else []
    gmsh.model.occ.extrude([(2, face)], 0, 0, THICKNESS, layers, recombine=hexahedra)
    gmsh.model.occ.synchronize()
    add_groups()
    set_element_size(size)
    if hexahedra:
        gmsh.model.mesh.setRecombine(2, face)
    gmsh.model.mesh.generate(3)


def summary(element):
    """Counts and quality of the volume elements; ends the program where the mesh is not usable."""
    mesh = gmsh.model.mesh
    types, tags, nodes = mesh.getElements(3)
    if list(types) != [GMSH_TYPE[element]]:
        sys.exit(f"bracket.py: volume elements of types {list(types)}, wanted {GMSH_TYPE[element]} only")
    node_tags, xyz, _ = mesh.getNodes()
    where = {tag: xyz[3 * i:3 * i + 3] for i, tag in enumerate(node_tags)}
    n = len(CORNERS[element])
    elements = [[where[tag] for tag in nodes[0][i:i + n]] for i in range(0, len(nodes[0]), n)]
    edges, scaled = zip(*(shape(element, x) for x in elements))
    _, determinants, _ = mesh.getJacobians(GMSH_TYPE[element], POINTS[element])
    orphans = len(node_tags) - len(set(nodes[0]))
    worst = min(determinants)
    print(f"{element}: {len(node_tags)} nodes, {len(elements)} elements, {orphans} nodes without an element")
    print(f"  det J at the quadrature points: {worst:.4g} to {max(determinants):.4g} mm3")
    print(f"  longest / shortest edge: mean {sum(edges) / len(edges):.2f}, worst {max(edges):.2f}")
    print(f"  scaled Jacobian: mean {sum(scaled) / len(scaled):.3f}, worst {min(scaled):.3f}")
    if worst <= 0 or orphans:
        sys.exit("bracket.py: the mesh is not usable")


def shape(element, x):
    """Longest / shortest edge, and the smallest scaled Jacobian over the corners: det(a, b, c) / |a||b||c| of
    the three edges there, 1 for a cube and, with a factor sqrt 2, for the regular tetrahedron."""
    edges, scaled = [], []
    for corner, others in enumerate(CORNERS[element]):
        a, b, c = ([p - q for p, q in zip(x[other], x[corner])] for other in others)
        lengths = [math.hypot(*edge) for edge in (a, b, c)]
        determinant = (a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0])
                       + a[2] * (b[0] * c[1] - b[1] * c[0]))
        edges += lengths
        scaled.append(determinant / math.prod(lengths))
    return max(edges) / min(edges), min(scaled) * (math.sqrt(2) if element == "tet4" else 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--element", choices=["tet4", "hex8"], required=True)
    parser.add_argument("--size", type=float, required=True, metavar="H",
                        help="edge length at the fillet and the holes, mm; 1.5 times that elsewhere")
    parser.add_argument("-o", dest="file", required=True, metavar="FILE.msh", help="MSH 4.1")
    parser.add_argument("--binary", action="store_true")
    options = parser.parse_args()
    if not 0.2 <= options.size <= 10:
        parser.error(f"--size {options.size:g}: choose 0.2 to 10 mm")
    if not options.file.endswith(".msh"):
        parser.error(f"-o {options.file}: the name must end in .msh")

    gmsh.initialize(["bracket.py"])
    gmsh.option.setNumber("General.Terminal", 0)  # errors come as exceptions
    try:
        make_mesh(options.element, options.size)
        summary(options.element)
        gmsh.option.setNumber("Mesh.MshFileVersion", 4.1)
        gmsh.option.setNumber("Mesh.Binary", int(options.binary))
        gmsh.write(options.file)
    except Exception as error:  # the only type that Gmsh raises
        sys.exit(f"bracket.py: Gmsh: {error}")
    gmsh.finalize()


if __name__ == "__main__":
    main()
