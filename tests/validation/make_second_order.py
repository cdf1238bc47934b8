#!/usr/bin/env python3
"""Meshes of second order for the validation problems, and reference results of programs that are not febench.

make_second_order.py meshes        meshes/BODY_tet10.msh and BODY_hex27.msh, by Gmsh: middle nodes lie on the arcs
make_second_order.py references    reference/PROBLEM.BODY_KIND.*, for the meshes that are there

FElupe's results are printed. scikit-fem's elements with a return written here solve each problem again, and CalculiX
(C3D10, which has four points, too) those of Tet10. Loads on surfaces are integrated here, for all three alike.
Needs gmsh, numpy, scipy, felupe and scikit-fem (pip), and ccx; no test does."""

from __future__ import annotations

import json
import math
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable

import gmsh
import numpy as np
import scipy.sparse
import scipy.sparse.linalg

HERE = pathlib.Path(__file__).resolve().parent
TET, HEX = "tet10", "hex27"
GMSH_TYPE = {TET: (11, 9, 4, 3), HEX: (12, 10, 8, 4)}  # volume, face, their vertices
BODY = {"patch_elastic": "patch", "patch_plastic": "patch", "uniaxial_H0": "cube", "uniaxial_H2000": "cube",
        "cylinder": "cylinder", "strip": "strip"}
LINEAR = {"patch": "patch_hex", "cube": "cube_hex", "cylinder": "cylinder_hex", "strip": "strip_hex"}
STEPS_KEPT = {"cylinder": (5, 6), "strip": (14,)}  # displacements of the others have a closed form
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))  # xx yy zz xy yz xz

# --- meshes ------------------------------------------------------------------------------------------------


def plane(corners: list[tuple[float, float, float]], sides: list[tuple], faces: list[tuple[int, ...]], height: float,
          layers: int) -> None:
    """Extrudes faces of four sides. A corner is x, y, size; a side is two corners, cells, and perhaps an arc's centre.
    layers: 0 for tetrahedra."""
    geo = gmsh.model.geo
    point = [geo.addPoint(x, y, 0, size) for x, y, size in corners]
    curve = []
    for a, b, cells, *centre in sides:
        curve.append(geo.addCircleArc(point[a], point[centre[0]], point[b]) if centre else
                     geo.addLine(point[a], point[b]))
        if layers:
            geo.mesh.setTransfiniteCurve(curve[-1], cells + 1)
    made = []
    for face in faces:
        loop = geo.addCurveLoop([curve[abs(s) - 1] * (1 if s > 0 else -1) for s in face])
        made.append(geo.addPlaneSurface([loop]))
        if layers:
            geo.mesh.setTransfiniteSurface(made[-1])
            geo.mesh.setRecombine(2, made[-1])
    geo.extrude([(2, m) for m in made], 0, 0, height, [layers] if layers else [], recombine=bool(layers))
    geo.synchronize()


def box(hexahedra: bool, cells: int, size: float) -> None:
    corners = [(x, y, size) for x, y in ((0, 0), (10, 0), (10, 10), (0, 10))]
    plane(corners, [(0, 1, cells), (1, 2, cells), (2, 3, cells), (3, 0, cells)], [(1, 2, 3, 4)], 10,
          cells if hexahedra else 0)


def cylinder(hexahedra: bool) -> None:
    corners = [(0, 0, 1)] + [(x, y, size) for x, y, size in ((100, 0, 24), (200, 0, 40), (0, 200, 40), (0, 100, 24))]
    plane(corners, [(1, 2, 8), (2, 3, 6, 0), (3, 4, 8), (4, 1, 6, 0)], [(1, 2, 3, 4)], 20, int(hexahedra))


def strip(hexahedra: bool) -> None:
    r = 5 * math.sqrt(0.5)
    corners = [(0, 0, 1), (5, 0, 1.2), (r, r, 1.5), (0, 5, 1.5), (10, 0, 2.5), (10, 10, 4), (0, 10, 4), (10, 18, 5),
               (0, 18, 5)]
    sides = [(1, 4, 5), (4, 5, 4), (5, 2, 5), (2, 1, 4, 0), (5, 6, 4), (6, 3, 5), (3, 2, 4, 0), (5, 7, 3), (7, 8, 4),
             (8, 6, 3)]
    plane(corners, sides, [(1, 2, 3, 4), (-3, 5, 6, 7), (8, 9, 10, -5)], 1, int(hexahedra))


def sides_of(body: str) -> dict[str, list[int]]:
    """Outer surfaces by name, from where they lie."""
    flat = {"patch": {}, "cube": {f"{axis}{int(at > 0)}": (i, at) for i, axis in enumerate("xyz") for at in (0, 10)},
            "cylinder": {"x0": (0, 0), "y0": (1, 0), "z0": (2, 0), "z1": (2, 20)},
            "strip": {"x0": (0, 0), "y0": (1, 0), "z0": (2, 0), "z1": (2, 1), "top": (1, 18), "side": (0, 10)}}[body]
    found: dict[str, list[int]] = {name: [] for name in flat}
    for _, tag in gmsh.model.getEntities(2):
        if len(gmsh.model.getAdjacencies(2, tag)[0]) != 1:
            continue
        low, high = np.reshape(gmsh.model.getBoundingBox(2, tag), (2, 3))
        name = next((name for name, (i, at) in flat.items() if abs(low[i] - at) + abs(high[i] - at) < 1e-4), None)
        name = name or {"patch": "boundary", "strip": "hole"}.get(body) or ("inner" if max(high) < 101 else "outer")
        found.setdefault(name, []).append(tag)
    return found


def move_inner(hexahedra: bool, random: np.random.Generator) -> None:
    """Distorts the inside of the patch: of Tet10 the vertices, edges stay straight; of Hex27 every node but the one in
    the middle, so that inner sides are curved. A curved Tet10 would not pass, for its four points are not exact there."""
    kind = GMSH_TYPE[HEX if hexahedra else TET]
    tags, flat, _ = gmsh.model.mesh.getNodes()
    x = dict(zip(tags.tolist(), np.reshape(flat, (-1, 3))))
    elements = np.reshape(gmsh.model.mesh.getElementsByType(kind[0])[1], (-1, 27 if hexahedra else 10)).tolist()
    inner = [t for t in x if x[t].min() > 1e-6 and x[t].max() < 10 - 1e-6 and np.abs(x[t] - 5).max() > 1e-6]
    if hexahedra:
        for t in inner:
            x[t] = x[t] + random.uniform(-0.3, 0.3, 3)
    else:
        vertices = {t for e in elements for t in e[:4]}
        for t in inner:
            if t in vertices:
                x[t] = x[t] + random.uniform(-0.4, 0.4, 3)
        for e in elements:
            for k, (a, b) in enumerate(((0, 1), (1, 2), (2, 0), (0, 3), (2, 3), (1, 3))):
                x[e[4 + k]] = (x[e[a]] + x[e[b]]) / 2
    for t in inner:
        gmsh.model.mesh.setNode(t, x[t], [])


def make_meshes() -> None:
    for body in LINEAR:
        for kind in (TET, HEX):
            gmsh.clear()
            hexahedra = kind == HEX
            if body in ("patch", "cube"):
                box(hexahedra, 3, 4.0)
                if body == "patch" and not hexahedra:  # a node where the probe is
                    middle = gmsh.model.geo.addPoint(5, 5, 5, 4.0)
                    gmsh.model.geo.synchronize()
                    gmsh.model.mesh.embed(0, [middle], 3, gmsh.model.getEntities(3)[0][1])
            else:
                (cylinder if body == "cylinder" else strip)(hexahedra)
            names = sides_of(body)
            for number, (name, tags) in enumerate(names.items(), 1):
                gmsh.model.setPhysicalName(2, gmsh.model.addPhysicalGroup(2, tags, number), name)
            volumes = [tag for _, tag in gmsh.model.getEntities(3)]
            gmsh.model.setPhysicalName(3, gmsh.model.addPhysicalGroup(3, volumes, len(names) + 1), "body")
            gmsh.option.setNumber("Mesh.ElementOrder", 2)
            gmsh.option.setNumber("Mesh.SecondOrderIncomplete", 0)
            gmsh.option.setNumber("Mesh.MshFileVersion", 4.1)
            gmsh.model.mesh.generate(3)
            if body == "patch":
                move_inner(hexahedra, np.random.default_rng(1))
            gmsh.write(str(HERE / "meshes" / f"{body}_{kind}.msh"))


# --- what a reference needs of a mesh ----------------------------------------------------------------------


def lagrange(kind: str, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values [point][corner] and derivatives [point][corner][axis] of a face's functions: 6 or 9 nodes, Gmsh's order."""
    gmsh_type = GMSH_TYPE[kind][1]
    local = np.column_stack([at, np.zeros(len(at))]).ravel()
    n = {TET: 6, HEX: 9}[kind]
    value = gmsh.model.mesh.getBasisFunctions(gmsh_type, local, "Lagrange")[1]
    slope = gmsh.model.mesh.getBasisFunctions(gmsh_type, local, "GradLagrange")[1]
    return np.reshape(value, (-1, n)), np.reshape(slope, (-1, n, 3))[:, :, :2]


class Mesh:
    def __init__(self, path: pathlib.Path, kind: str):
        gmsh.clear()
        gmsh.open(str(path))
        volume, face, self.n_vertex, n_side = GMSH_TYPE[kind]
        self.kind = kind
        tags, flat, _ = gmsh.model.mesh.getNodes()
        order = np.argsort(tags)
        self.node_tag = np.asarray(tags)[order].astype(int)
        self.x = np.reshape(flat, (-1, 3))[order]
        index = {t: n for n, t in enumerate(self.node_tag.tolist())}
        self.element_tag, corners = (np.asarray(a).astype(int) for a in gmsh.model.mesh.getElementsByType(volume))
        self.local = np.reshape(gmsh.model.mesh.getElementProperties(volume)[4], (-1, 3))
        self.element = np.array([index[t] for t in corners]).reshape(-1, len(self.local))
        assert set(self.element.ravel()) == set(range(len(self.x)))
        self.group: dict[str, np.ndarray] = {}
        for dim, number in gmsh.model.getPhysicalGroups(2):
            at = [gmsh.model.mesh.getElementsByType(face, e)[1] for e in gmsh.model.getEntitiesForPhysicalGroup(2, number)]
            found = np.array([index[int(t)] for t in np.concatenate(at)])
            self.group[gmsh.model.getPhysicalName(dim, number)] = found.reshape(-1, 6 if kind == TET else 9)
        self.n_side = n_side
        # rule of faces: exact for pressures, and for areas of curved ones to rounding
        g, w = np.polynomial.legendre.leggauss(16)
        if kind == HEX:
            self.face_point = np.array([(a, b) for a in g for b in g])
            self.face_weight = np.array([a * b for a in w for b in w])
        else:
            u, v = (g + 1) / 2, w / 2
            self.face_point = np.array([(a, b * (1 - a)) for a in u for b in u])
            self.face_weight = np.array([p * q * (1 - a) for a, p in zip(u, v) for q in v])

    def area_vectors(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Outer normal times area and weight [face][point][3], values of the functions [point][corner]."""
        value, slope = lagrange(self.kind, self.face_point)
        tangent = np.einsum("pai,fac->fpic", slope, self.x[self.group[name]])
        normal = np.cross(tangent[:, :, 0], tangent[:, :, 1]) * self.face_weight[None, :, None]
        owner = {}
        for e in self.element:
            for vertices in self.vertex_sets(e):
                owner[vertices] = e
        for f, face in enumerate(self.group[name]):
            e = owner[frozenset(face[:self.n_side].tolist())]
            outward = self.x[face[:self.n_side]].mean(0) - self.x[e[:self.n_vertex]].mean(0)
            if outward @ normal[f].sum(0) < 0:
                normal[f] *= -1
        return normal, value

    def vertex_sets(self, e: np.ndarray) -> list[frozenset[int]]:
        faces = ((0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 2, 3)) if self.kind == TET else (
            (0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))
        return [frozenset(int(e[k]) for k in face) for face in faces]

    def pressure(self, name: str) -> np.ndarray:
        """Nodal forces of a pressure of one."""
        normal, value = self.area_vectors(name)
        force = np.zeros_like(self.x)
        np.add.at(force, self.group[name], -np.einsum("fpc,pa->fac", normal, value))
        return force.ravel()

    def nodes(self, name: str) -> np.ndarray:
        return np.unique(self.group[name])

    def facts(self) -> dict:
        return {name: {"faces": len(faces), "nodes": len(self.nodes(name)),
                       "area": float(np.linalg.norm(self.area_vectors(name)[0], axis=2).sum())}
                for name, faces in self.group.items()}

    def rule(self) -> tuple[np.ndarray, np.ndarray]:
        """Points and weights in Gmsh's coordinates."""
        if self.kind == TET:
            far = (5 - math.sqrt(5)) / 20
            return np.full((4, 3), far) + (1 - 4 * far) * np.vstack([np.zeros(3), np.eye(3)]), np.full(4, 1 / 24)
        g, w = np.polynomial.legendre.leggauss(3)
        return (np.array([(a, b, c) for c in g for b in g for a in g]),
                np.array([a * b * c for c in w for b in w for a in w]))


# --- programs ----------------------------------------------------------------------------------------------


class Material:
    def __init__(self, problem: dict):
        m = problem["material"]
        self.E, self.nu, self.H = m["E"], m["nu"], m["H"]
        self.sigma_y = 1e30 if problem.get("elastic") else m["sigma_y"]
        self.mu = self.E / (2 * (1 + self.nu))
        self.lame = self.E * self.nu / ((1 + self.nu) * (1 - 2 * self.nu))


class FElupe:
    def __init__(self, mesh: Mesh, m: Material):
        import felupe as fem
        self.name = f"FElupe {fem.__version__}"
        element = fem.QuadraticTetra() if mesh.kind == TET else fem.element.TriQuadraticHexahedron()
        place = [int(np.flatnonzero(np.abs(mesh.local - p).max(1) < 1e-12)[0]) for p in element.points]
        points, weights = mesh.rule()
        body = fem.Mesh(mesh.x, mesh.element[:, place], "tetra10" if mesh.kind == TET else "hexahedron27")
        region = fem.Region(body, element, fem.quadrature.Scheme(points, weights))
        self.field = fem.FieldContainer([fem.Field(region, dim=3)])
        law = fem.MaterialStrain(fem.linear_elastic_plastic_isotropic_hardening, λ=m.lame, μ=m.mu, σy=m.sigma_y, K=m.H,
                                 statevars=(1, (3, 3)))
        self.solid = fem.SolidBody(law, self.field)
        self.volume = region.dV.T  # [element][point]

    def force(self, u: np.ndarray) -> np.ndarray:
        self.field[0].values[:] = u.reshape(-1, 3)
        return np.asarray(self.solid.assemble.vector(self.field).toarray()).ravel()

    def tangent(self) -> scipy.sparse.csc_matrix:
        return scipy.sparse.csc_matrix(self.solid.assemble.matrix(self.field))

    def commit(self) -> None:
        self.solid.results.update_statevars()

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Stress [element][point][6] and peeq [element][point] after commit."""
        stress = self.solid.results.stress[0]
        return np.stack([stress[i, j].T for i, j in PAIRS], -1), self.solid.results.statevars[0].T.copy()


class ScikitFem:
    """scikit-fem's elements and sums; the return is here."""

    def __init__(self, mesh: Mesh, m: Material):
        import skfem
        self.name, self.skfem, self.m = f"scikit-fem {skfem.__version__}, radial return in numpy", skfem, m
        first, second, q1, q2 = ((skfem.MeshTet1, skfem.MeshTet2, skfem.ElementTetP1, skfem.ElementTetP2)
                                 if mesh.kind == TET else
                                 (skfem.MeshHex1, skfem.MeshHex2, skfem.ElementHex1, skfem.ElementHex2))
        # a corner is known by the vertices whose linear function is not zero there
        vertex_at = q1().doflocs
        scale = mesh.local if mesh.kind == TET else (mesh.local + 1) / 2
        n = mesh.n_vertex
        place = [int(np.flatnonzero(np.abs(scale[:n] - v).max(1) < 1e-12)[0]) for v in vertex_at]
        used = np.unique(mesh.element[:, :n])
        number = {v: k for k, v in enumerate(used.tolist())}
        cells = np.array([[number[int(e[k])] for k in place] for e in mesh.element]).T
        straight = second.from_mesh(first(mesh.x[used].T.copy(), cells))

        def ends(at: np.ndarray) -> list[int]:
            return [v for v in range(n) if q1().lbasis(at[:, None], v)[0][0] > 1e-12]

        node = {}
        for e in mesh.element:
            for k, at in enumerate(scale):
                node[frozenset(int(e[place[v]]) for v in ends(at))] = int(e[k])
        dofs = straight.dofs.element_dofs
        self.node = np.zeros(len(mesh.x), int)  # of scikit-fem's number
        ends_of = [ends(at) for at in q2().doflocs]
        for e in range(dofs.shape[1]):
            for k, at in enumerate(ends_of):
                self.node[dofs[k, e]] = node[frozenset(int(used[straight.t[v, e]]) for v in at)]
        curved = second(mesh.x[self.node].T.copy(), straight.t)
        points, weights = mesh.rule()
        if mesh.kind == HEX:
            points, weights = (points + 1) / 2, weights / 8
        self.basis = skfem.Basis(curved, skfem.ElementVector(q2()), quadrature=(points.T.copy(), weights))
        self.volume = self.basis.dx
        where = np.zeros(self.basis.N, int)  # degree of freedom here of theirs
        scalar = skfem.Basis(curved, q2(), quadrature=(points.T.copy(), weights))
        own = np.abs(scalar.doflocs - mesh.x[self.node].T).max()
        assert own < 1e-9, own
        vector_dofs = self.basis.element_dofs
        for k in range(scalar.element_dofs.shape[0]):
            for c in range(3):
                where[vector_dofs[3 * k + c]] = 3 * self.node[scalar.element_dofs[k]] + c
        assert len(np.unique(where)) == self.basis.N
        self.where = where
        shape = self.volume.shape
        self.plastic, self.peeq = np.zeros((3, 3) + shape), np.zeros(shape)

    def stretch(self, u: np.ndarray) -> np.ndarray:
        gradient = np.asarray(self.basis.interpolate(u[self.where]).grad)
        return (gradient + np.swapaxes(gradient, 0, 1)) / 2

    def force(self, u: np.ndarray) -> np.ndarray:
        m, one = self.m, np.eye(3)[:, :, None, None]
        strain = self.stretch(u)
        trace = np.einsum("iieq->eq", strain)
        trial = 2 * m.mu * (strain - trace * one / 3 - self.plastic)
        size = np.sqrt(np.einsum("ijeq,ijeq->eq", trial, trial))
        over = np.sqrt(1.5) * size - (m.sigma_y + m.H * self.peeq)
        self.yields = over > 0
        gain = np.where(self.yields, over / (3 * m.mu + m.H), 0)
        self.n = trial / np.where(size > 0, size, 1)
        self.gain, self.size = gain, np.where(size > 0, size, 1)
        self.new_plastic, self.new_peeq = self.plastic + np.sqrt(1.5) * gain * self.n, self.peeq + gain
        self.stress = (m.lame + 2 * m.mu / 3) * trace * one + trial - 2 * m.mu * np.sqrt(1.5) * gain * self.n
        stress = self.stress

        def form(v, w):
            return np.einsum("ijeq,ijeq->eq", stress, np.asarray(v.grad))

        out = np.zeros(len(u))
        out[self.where] = self.skfem.LinearForm(form).assemble(self.basis)
        return out

    def tangent(self) -> scipy.sparse.csc_matrix:
        m = self.m
        bulk = m.lame + 2 * m.mu / 3
        soft = np.where(self.yields, math.sqrt(6) * m.mu * self.gain / self.size, 0)
        along = np.where(self.yields, 2 * m.mu * (3 * m.mu / (3 * m.mu + m.H)), 0) - 2 * m.mu * soft
        n = self.n

        def form(u, v, w):
            a, b = ((g + np.swapaxes(g, 0, 1)) / 2 for g in (np.asarray(u.grad), np.asarray(v.grad)))
            ta, tb = np.einsum("iieq->eq", a), np.einsum("iieq->eq", b)
            return (bulk * ta * tb + 2 * m.mu * (1 - soft) * (np.einsum("ijeq,ijeq->eq", a, b) - ta * tb / 3)
                    - along * np.einsum("ijeq,ijeq->eq", n, a) * np.einsum("ijeq,ijeq->eq", n, b))

        matrix = self.skfem.BilinearForm(form).assemble(self.basis).tocoo()
        return scipy.sparse.csc_matrix((matrix.data, (self.where[matrix.row], self.where[matrix.col])), matrix.shape)

    def commit(self) -> None:
        self.plastic, self.peeq = self.new_plastic, self.new_peeq

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        return np.stack([self.stress[i, j] for i, j in PAIRS], -1), self.peeq


class Supports:
    """Fixed degrees of freedom with their values, and loads, of a problem on a mesh; one path, `load`."""

    def __init__(self, problem: dict, mesh: Mesh):
        self.fixed: dict[int, float] = {}
        for entry in problem["dirichlet"]:
            for axis, value in entry["u"].items():
                for n in mesh.nodes(entry["group"]):
                    x, y, z = mesh.x[n]
                    at = eval(value, {}, {"x": x, "y": y, "z": z}) if isinstance(value, str) else value
                    self.fixed.setdefault(3 * int(n) + "xyz".index(axis), float(at))
        self.load = np.zeros(mesh.x.size)
        for entry in problem["neumann"]:
            self.load += entry["pressure"] * mesh.pressure(entry["group"])


def solve(program: FElupe | ScikitFem, supports: Supports, factors: list[float], shown: Callable) -> None:
    """Newton's method, each factor in one increment from the state before; shown(step, u, internal force)."""
    fixed = np.array(sorted(supports.fixed))
    value = np.array([supports.fixed[f] for f in fixed])
    free = np.setdiff1d(np.arange(len(supports.load)), fixed)
    u = np.zeros(len(supports.load))
    program.force(u)
    elastic = program.tangent()
    for step, factor in enumerate(factors):
        to = u.copy()
        to[fixed] = factor * value
        force = program.force(u)
        matrix = elastic
        last = math.inf
        for iteration in range(60):
            out = factor * supports.load - force
            right = out[free] - (matrix @ (to - u))[free] if iteration == 0 else out[free]
            change = to - u if iteration == 0 else np.zeros_like(u)
            change[free] += scipy.sparse.linalg.spsolve(matrix[free][:, free], right)
            u = u + change
            force = program.force(u)
            matrix = program.tangent()
            size = np.abs(change).max() / max(np.abs(u).max(), 1e-300)
            if iteration and (size < 1e-14 or (size < 1e-11 and size >= last / 4)):
                break
            last = size
        else:
            raise RuntimeError(f"{program.name}: step {step + 1} does not converge: {size}")
        program.commit()
        shown(step, u, force)


def mises_of(stress: np.ndarray) -> np.ndarray:
    s = stress.copy()
    s[..., :3] -= stress[..., :3].mean(-1, keepdims=True)
    return np.sqrt(1.5 * ((s[..., :3] ** 2).sum(-1) + 2 * (s[..., 3:] ** 2).sum(-1)))


def calculix(mesh: Mesh, problem: dict, supports: Supports, factors: list[float]) -> tuple[list, list]:
    """Displacements and largest peeq of each step."""
    lines = ["*NODE, NSET=ALL"] + [f"{n + 1}, {x!r}, {y!r}, {z!r}" for n, (x, y, z) in enumerate(mesh.x.tolist())]
    lines += ["*ELEMENT, TYPE=C3D10, ELSET=BODY"]
    order = (0, 1, 2, 3, 4, 5, 6, 7, 9, 8)  # Gmsh's last two edges are the other way round
    lines += [", ".join(str(k) for k in [e + 1] + [int(c[o]) + 1 for o in order]) for e, c in enumerate(mesh.element)]
    m = problem["material"]
    lines += ["*MATERIAL, NAME=M", "*ELASTIC", f"{m['E']}, {m['nu']}"]
    if not problem.get("elastic"):
        lines += ["*PLASTIC", f"{m['sigma_y']}, 0.", f"{m['sigma_y'] + m['H']}, 1."]
    lines += ["*SOLID SECTION, ELSET=BODY, MATERIAL=M"]
    for factor in factors:
        lines += ["*STEP, INC=1000", "*STATIC, DIRECT", "1., 1."]
        lines += ["*CONTROLS, PARAMETERS=FIELD", "1.e-9, 1.e-9, , , , , ,"]
        lines += ["*BOUNDARY"] + [f"{f // 3 + 1}, {f % 3 + 1}, {f % 3 + 1}, {factor * v:.12e}"
                                  for f, v in sorted(supports.fixed.items())]
        loaded = np.flatnonzero(np.abs(supports.load) > 1e-14)
        if len(loaded):
            lines += ["*CLOAD, OP=NEW"] + [f"{f // 3 + 1}, {f % 3 + 1}, {factor * supports.load[f]:.12e}" for f in loaded]
        lines += ["*NODE PRINT, NSET=ALL", "U", "*EL PRINT, ELSET=BODY", "PEEQ", "*END STEP"]
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "job.inp").write_text("\n".join(lines) + "\n")
        done = subprocess.run(["ccx", "job"], cwd=folder, capture_output=True, text=True, timeout=600)
        text = (pathlib.Path(folder) / "job.dat").read_text()
        if "Job finished" not in done.stdout:
            raise RuntimeError(done.stdout[-2000:])
    u, peeq, into = [], [], None
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if "displacements" in line:
            u.append(np.zeros_like(mesh.x))
            into = u
        elif "equivalent plastic strain" in line:
            peeq.append(0.0)
            into = peeq
        elif into is u and len(words) == 4:
            u[-1][int(words[0]) - 1] = [float(w) for w in words[1:]]
        elif into is peeq and len(words) == 3:
            peeq[-1] = max(peeq[-1], float(words[2]))
    assert len(u) == len(factors), (len(u), len(factors))
    return u, peeq


# --- references --------------------------------------------------------------------------------------------


def digits(value: float, n: int = 12) -> float:
    return float(f"{value:.{n}g}")


def record(problem: dict, mesh: Mesh, m: Material, program: FElupe | ScikitFem, probes: dict, supports: Supports) -> list:
    """What each step holds; beside it displacements, stresses and plastic strains."""
    factors = problem["paths"]["load"]
    kept: list = []
    before = np.zeros_like(program.volume)

    def shown(step: int, u: np.ndarray, force: np.ndarray) -> None:
        nonlocal before
        stress, peeq = program.points()
        volume = program.volume
        trace, square = stress[..., :3].sum(-1), (stress[..., :3] ** 2).sum(-1) + 2 * (stress[..., 3:] ** 2).sum(-1)
        energy = ((1 + m.nu) * square - m.nu * trace ** 2) / (2 * m.E)
        work = before * 0 if peeq.max() == 0 else (m.sigma_y + m.H * peeq) * (peeq - before)
        total = kept[-1][0]["plastic_work"] if kept else 0.0
        reactions: dict = {}
        for entry in problem["dirichlet"]:
            for axis in entry["u"]:
                at = 3 * mesh.nodes(entry["group"]) + "xyz".index(axis)
                reactions.setdefault(entry["group"], {})[axis] = float(force[at].sum())
        kept.append(({
            "step": step + 1, "factors": {"load": factors[step]},
            "probes": {name: u.reshape(-1, 3)[n].tolist() for name, n in probes.items()}, "reactions": reactions,
            "max_peeq": float(peeq.max()), "max_mises": float(mises_of(stress).max()),
            "elastic_energy": float((volume * energy).sum()), "plastic_work": total + float((volume * work).sum()),
            "int_peeq": float((volume * peeq).sum()), "max_abs_u": float(np.abs(u).max()),
            "norm_u": float(np.linalg.norm(u)), "plastic_gp": int((peeq > 0).sum())}, u.copy(), stress.copy(), peeq.copy()))
        before = peeq.copy()

    solve(program, supports, factors, shown)
    return kept


def compare(one: list, other: list, volume: np.ndarray, other_volume: np.ndarray) -> dict:
    """How far two programs are apart, points in any order within an element."""
    du = max(np.abs(a[1] - b[1]).max() / np.abs(a[1]).max() for a, b in zip(one, other))
    stress, peeq = (max(np.abs(np.sort(one[-1][k], 1) - np.sort(other[-1][k], 1)).max() for _ in (0,)) for k in (2, 3))
    energy = max(abs(a[0]["elastic_energy"] - b[0]["elastic_energy"]) for a, b in zip(one, other))
    force = max(abs(a[0]["reactions"][g][c] - b[0]["reactions"][g][c]) for a, b in zip(one, other)
                for g in a[0]["reactions"] for c in a[0]["reactions"][g])
    largest = max(abs(r) for a in one for group in a[0]["reactions"].values() for r in group.values())
    same = all(a[0]["plastic_gp"] == b[0]["plastic_gp"] for a, b in zip(one, other))
    assert abs(volume.sum() / other_volume.sum() - 1) < 1e-12 and same
    said = {"max_rel_du": du, "gp_stress_last_step_rel": stress / np.abs(one[-1][2]).max(), "gp_peeq_last_step_abs": peeq,
            "elastic_energy_rel": energy / max(a[0]["elastic_energy"] for a in one)}
    if largest > 1e-6:
        said["reaction_rel"] = force / largest
    return {key: digits(float(value), 2) for key, value in said.items()}


def make_reference(name: str, kind: str) -> None:
    body = BODY[name]
    problem = json.loads((HERE / "problems" / f"{name}.json").read_text())
    mesh = Mesh(HERE / "meshes" / f"{body}_{kind}.msh", kind)
    m, supports, stem = Material(problem), Supports(problem, mesh), f"{name}.{body}_{kind}"
    probes, probe_nodes = {}, {}
    for probe, wanted in problem["probes"].items():
        distance = np.linalg.norm(mesh.x - np.array(wanted), axis=1)
        probes[probe] = n = int(distance.argmin())
        assert distance[n] < 1e-9, (stem, probe, distance[n])
        probe_nodes[probe] = {"tag": int(mesh.node_tag[n]), "wanted": wanted, "distance": digits(float(distance[n]), 3)}
    first, second = FElupe(mesh, m), ScikitFem(mesh, m)
    steps, again = (record(problem, mesh, m, program, probes, supports) for program in (first, second))
    agreement = {second.name: compare(steps, again, first.volume, second.volume)}
    if kind == TET:
        u, peeq = calculix(mesh, problem, supports, problem["paths"]["load"])
        version = subprocess.run(["ccx", "-v"], capture_output=True, text=True, check=False).stdout.split()[-1]
        agreement[f"CalculiX ccx {version}"] = {
            "max_rel_du": digits(max(float(np.abs(a.ravel() - s[1]).max() / np.abs(s[1]).max()) for a, s in zip(u, steps)), 2),
            "max_peeq_rel": digits(max([abs(a / s[0]["max_peeq"] - 1) for a, s in zip(peeq, steps)
                                        if s[0]["max_peeq"] > 0], default=0.0), 2),
            "note": "ccx prints 7 digits"}
    print(stem, len(mesh.x), len(mesh.element), json.dumps(agreement))
    linear = json.loads((HERE / "reference" / f"{name}.{LINEAR[body]}.json").read_text())
    rounded = json.loads(json.dumps([s[0] for s in steps]), parse_float=lambda text: digits(float(text)))
    told = {"problem": name, "mesh": f"{body}_{kind}.msh", "element": kind, "nodes": len(mesh.x), "elements": len(mesh.element),
            "volume": float(first.volume.sum()), "units": problem["units"], "probe_nodes": probe_nodes, "steps": rounded,
            "group_facts": mesh.facts()}
    told |= {"analytic": linear["analytic"]} if "analytic" in linear else {}
    told |= {"agreement_between_codes": agreement, "computed_with": first.name}
    (HERE / "reference" / f"{stem}.json").write_text(json.dumps(told, indent=1) + "\n")
    if name not in STEPS_KEPT:
        return
    lines = ["step,node_tag,ux,uy,uz"]
    for s in STEPS_KEPT[name]:
        u = steps[s - 1][1].reshape(-1, 3)
        places = 9 - math.floor(math.log10(np.abs(u).max()))
        for tag, at in zip(mesh.node_tag, np.round(u, places) + 0.0):
            lines.append(f"{s},{tag}," + ",".join(f"{float(v):.{places}g}" for v in at))
    (HERE / "reference" / f"{stem}.displacement.csv").write_text("\n".join(lines) + "\n")
    stress, peeq = steps[-1][2].mean(1), steps[-1][3]
    places = 9 - math.floor(math.log10(np.abs(stress).max()))
    lines = ["element_tag,sxx,syy,szz,sxy,syz,sxz,peeq_mean,peeq_max"]
    for tag, s, p in zip(mesh.element_tag, np.round(stress, places) + 0.0, peeq):
        values = [f"{float(v):.10g}" for v in s] + [f"{float(v):.9g}" for v in (p.mean(), p.max())]
        lines.append(f"{tag}," + ",".join(values))
    (HERE / "reference" / f"{stem}.elements_last_step.csv").write_text("\n".join(lines) + "\n")


def main() -> None:
    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.option.setNumber("General.NumThreads", 1)
    if sys.argv[1:] == ["meshes"]:
        make_meshes()
    elif sys.argv[1:] and sys.argv[1] == "references":
        for name in BODY:
            for kind in (TET, HEX):
                if f"{name}_{kind}".startswith(tuple(sys.argv[2:]) or ""):
                    make_reference(name, kind)
    else:
        sys.exit(__doc__)
    gmsh.finalize()


main()
