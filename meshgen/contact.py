"""Hex8 meshes that are graded to where two bodies touch: a quarter of a ball's lower half, or of a half-space.

    python3 meshgen/contact.py ball --radius 50 --core 12 --cells 20 -o ball.msh
    python3 meshgen/contact.py block --radius 100 --core 12 --cells 20 -o block.msh

`core` is the half width of a square at the axis x = y = 0 whose cells are all alike, `cells` of them along it; from
there on cells grow outwards, and downwards from `--uniform` times the core on, by a factor that goes to 1 with more
cells: 1.6 for 10 cells, its root for 20. Away from the axis layers become equally thick, and with the depth rings nearly
equally wide. Groups: x0 and y0 (planes of symmetry), contact, far (the ball's middle, the block's lower side), side, body. The ball
touches z = 0 in the origin and is above it; from 45 degrees on its side is the cone to its rim. The block is below.
"""

import argparse
import math
import pathlib
from collections.abc import Callable

Point = tuple[float, float, float]
CAP = math.pi / 4  # the ball's contact surface goes up to this angle from the axis, and then a cone to its rim


def graded(first: float, uniform: float, end: float, growth: float) -> list[float]:
    """Places from 0 to `end`: steps of `first` up to `uniform`, which then grow; stretched so that the last is `end`."""
    n = max(1, round(uniform / first))
    places, step = [first * i for i in range(n + 1)], first
    while places[-1] < end:
        step *= growth
        places.append(places[-1] + step)
    if len(places) > n + 2 and places[-1] - end > end - places[-2]:
        places.pop()
    last, start = places[-1], places[n]
    return [p if i <= n else start + (p - start) * (end - start) / (last - start) for i, p in enumerate(places)]


def disc(core: float, cells: int, radius: float, growth: float) -> tuple[list[tuple[float, float]], list[list[int]],
                                                                        list[float]]:
    """Points and quadrangles of a quarter disc: a square of cells around its corner, and rings that become circles.

    Last, how many times as far from the corner each point would be if all rings were equally wide.
    """
    size, n = core / cells, cells
    points = [(size * i, size * j) for j in range(n + 1) for i in range(n + 1)]
    at = {(i, j): j * (n + 1) + i for j in range(n + 1) for i in range(n + 1)}
    quads = [[at[i, j], at[i + 1, j], at[i + 1, j + 1], at[i, j + 1]] for j in range(n) for i in range(n)]
    before = [at[n, j] for j in range(n + 1)] + [at[i, n] for i in range(n - 1, -1, -1)]
    edge = [points[k] for k in before]
    places = graded(size * growth, size * growth, radius - core, growth)[1:]
    level = radius / (n + len(places))
    spread = [level / size] * len(points)
    for number, place in enumerate(places, n + 1):
        rho, left = core + place, 1.0 - (number - n) / len(places)
        round_share = min(1.0, math.log(rho / core) / math.log(2.2))
        ring = []
        for k, (x, y) in enumerate(edge):
            angle = 0.5 * math.pi * k / (2 * n)
            on_circle = (rho * math.cos(angle), rho * math.sin(angle))
            ring.append(len(points))
            points.append(tuple((1 - round_share) * s * rho / core + round_share * c
                                for s, c in zip((x, y), on_circle)))
            square = math.hypot(x, y) / core
            spread.append(level * number * (1.0 + left * (square - 1.0)) / math.hypot(*points[-1]))
        quads += [[before[k], ring[k], ring[k + 1], before[k + 1]] for k in range(2 * n)]
        before = ring
    return points, quads, spread


def ball_map(radius: float) -> Callable[[float, float], tuple[float, float]]:
    """(share of the surface's arc, share of the depth) to (distance from the axis, height): lines between both ends."""
    def place(s: float, t: float) -> tuple[float, float]:
        low = radius * math.sin(s * CAP), radius - radius * math.cos(s * CAP)
        return (1 - t) * low[0] + t * radius * s, (1 - t) * low[1] + t * radius
    return place


def solid(body: str, radius: float, core: float, cells: int, uniform: float) -> tuple[list[Point], list[list[int]],
                                                                                    dict[str, list[list[int]]]]:
    """Nodes, Hex8 with positive Jacobians, and the faces of each group."""
    growth = 1.6 ** (10 / cells)
    ball = body == "ball"
    reach = radius * CAP if ball else radius
    points, quads, spread = disc(core, cells, reach, growth)
    depths = graded(core / cells, uniform * core, radius, growth)
    place = ball_map(radius)
    nodes: list[Point] = []
    for k, graded_depth in enumerate(depths):
        for (x, y), wider in zip(points, spread):
            q = math.hypot(x, y)
            s = q / reach * (1.0 + 0.6 * graded_depth / radius * (wider - 1.0))
            depth = graded_depth + s ** 1.5 * (radius * k / (len(depths) - 1) - graded_depth)
            r, z = place(s, depth / radius) if ball else (s * reach, -depth)
            nodes.append((r * x / q if q else 0.0, r * y / q if q else 0.0, z))
    n, layers = len(points), len(depths) - 1
    hexes = []
    for k in range(layers):
        for quad in quads:
            near, away = [k * n + a for a in quad], [(k + 1) * n + a for a in quad]
            hexes.append(near + away if ball else away + near)
    faces: dict[str, list[list[int]]] = {"contact": quads, "far": [[layers * n + a for a in q] for q in quads],
                                         "x0": [], "y0": [], "side": []}
    count: dict[tuple[int, int], int] = {}
    for quad in quads:
        for a, b in zip(quad, quad[1:] + quad[:1]):
            count[min(a, b), max(a, b)] = count.get((min(a, b), max(a, b)), 0) + 1
    for (a, b), times in count.items():
        if times > 1:
            continue
        plane = "x0" if max(points[a][0], points[b][0]) < 1e-9 * reach else \
            "y0" if max(points[a][1], points[b][1]) < 1e-9 * reach else "side"
        faces[plane] += [[k * n + a, k * n + b, (k + 1) * n + b, (k + 1) * n + a] for k in range(layers)]
    return nodes, hexes, faces


def write(path: pathlib.Path, nodes: list[Point], hexes: list[list[int]], faces: dict[str, list[list[int]]]) -> None:
    """MSH 2.2."""
    names = list(faces)
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", str(len(names) + 1)]
    lines += [f'2 {i} "{name}"' for i, name in enumerate(names, 1)]
    lines += [f'3 {len(names) + 1} "body"', "$EndPhysicalNames", "$Nodes", str(len(nodes))]
    lines += [f"{i} {x:.17g} {y:.17g} {z:.17g}" for i, (x, y, z) in enumerate(nodes, 1)]
    lines += ["$EndNodes", "$Elements", str(len(hexes) + sum(map(len, faces.values())))]
    tag = 0
    for i, name in enumerate(names, 1):
        for face in faces[name]:
            tag += 1
            lines.append(f"{tag} 3 2 {i} {i} " + " ".join(str(a + 1) for a in face))
    for corners in hexes:
        tag += 1
        lines.append(f"{tag} 5 2 {len(names) + 1} {len(names) + 1} " + " ".join(str(a + 1) for a in corners))
    path.write_text("\n".join(lines + ["$EndElements", ""]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("body", choices=("ball", "block"))
    parser.add_argument("--radius", type=float, required=True, help="of the ball; or radius and depth of the block")
    parser.add_argument("--core", type=float, required=True)
    parser.add_argument("--cells", type=int, required=True)
    parser.add_argument("--uniform", type=float, default=0.5)
    parser.add_argument("-o", dest="output", type=pathlib.Path, required=True)
    a = parser.parse_args()
    write(a.output, *solid(a.body, a.radius, a.core, a.cells, a.uniform))


if __name__ == "__main__":
    main()
