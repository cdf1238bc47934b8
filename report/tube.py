"""The tube of bench/problems/tube.json in one dimension: what the work of its loads tends to as meshes of it become finer.

A long tube under pressure has displacements u(r) alone, with strains u', u / r and 0 along r, the arc and the axis. They
are solved for by quadratic elements along r, with the same steps, material and return as in common/physics/j2.h.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import pathlib

import numpy as np

from report.model import ROOT

PROBLEM = ROOT / "bench/problems/tube.json"
INNER, OUTER, HEIGHT = 1.0, 2.0, 0.5  # of meshgen tube, a quarter
ELEMENTS = 100
ACCURACY = 1e-5  # relative, of the work with so many: tests/report/test_accuracy.py
GAUSS, WEIGHT = np.array([-math.sqrt(0.6), 0.0, math.sqrt(0.6)]), np.array([5, 8, 5]) / 9


@dataclasses.dataclass(frozen=True)
class Tube:
    young: float
    nu: float
    sigma_y: float
    pressures: tuple[float, ...]

    def area(self) -> float:
        """Of the inner wall."""
        return INNER * HEIGHT * math.pi / 2

    def lame(self) -> float:
        """Work of the first pressure, if nothing yields: Lamé's solution."""
        p = self.pressures[0]
        u = (1 + self.nu) * p / (self.young * (OUTER**2 - INNER**2)) * ((1 - 2 * self.nu) * INNER + OUTER**2 / INNER)
        return p * self.area() * u

    def limit(self) -> float:
        """The pressure at which all of it flows."""
        return 2 / math.sqrt(3) * self.sigma_y * math.log(OUTER / INNER)


def read(path: pathlib.Path = PROBLEM) -> Tube:
    told = json.loads(path.read_text())
    material = told["material"]
    if material["H"]:
        raise ValueError(f"{path}: H {material['H']}: what is solved here has no hardening")
    return Tube(material["E"], material["nu"], material["sigma_y"], tuple(told["paths"]["load"]))


def stress_of(tube: Tube, strain: np.ndarray, plastic: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stress and tangent of strains [..., 3], and the plastic strain behind them."""
    mu, bulk = tube.young / (2 + 2 * tube.nu), tube.young / (3 - 6 * tube.nu)
    one, deviator = np.ones(3), np.eye(3) - 1 / 3
    s = 2 * mu * (strain - plastic) @ deviator
    q = np.sqrt(1.5 * np.sum(s * s, -1))
    theta = tube.sigma_y / np.maximum(q, tube.sigma_y)
    n = s / np.maximum(np.sqrt(np.sum(s * s, -1)), 1e-300)[..., None]
    flow = np.where(theta < 1, theta, 0.0)[..., None, None]
    stress = bulk * np.sum(strain, -1)[..., None] * one + theta[..., None] * s
    along = flow * n[..., :, None] * n[..., None, :]
    tangent = bulk * np.outer(one, one) + 2 * mu * (theta[..., None, None] * deviator - along)
    return stress, tangent, plastic + (1 - theta)[..., None] * s / (2 * mu)


@functools.cache
def work(tube: Tube, elements: int = ELEMENTS) -> float:
    """Of the last pressure after all steps. ArithmeticError where Newton's method does not end."""
    h = (OUTER - INNER) / elements
    node = 2 * np.arange(elements)[:, None] + np.arange(3)
    shape = np.stack([GAUSS * (GAUSS - 1) / 2, 1 - GAUSS**2, GAUSS * (GAUSS + 1) / 2], 1)   # [point][node]
    slope = np.stack([GAUSS - 0.5, -2 * GAUSS, GAUSS + 0.5], 1) * 2 / h
    r = INNER + h * (np.arange(elements)[:, None] + 0.5 + GAUSS / 2)                       # [element][point]
    b = np.zeros((elements, 3, 3, 3))                                                      # [element][point][strain][node]
    b[:, :, 0, :], b[:, :, 1, :] = slope, shape / r[:, :, None]
    measure = WEIGHT * r * h / 2 * HEIGHT * math.pi / 2
    u, plastic = np.zeros(2 * elements + 1), np.zeros((elements, 3, 3))
    for pressure in tube.pressures:
        for _ in range(100):
            strain = np.einsum("epij,ej->epi", b, u[node])
            stress, tangent, after = stress_of(tube, strain, plastic)
            residual = np.zeros(len(u))
            residual[0] = pressure * tube.area()
            np.add.at(residual, node, -np.einsum("ep,epij,epi->ej", measure, b, stress))
            if np.abs(residual).max() < 1e-9 * pressure * tube.area():
                break
            matrix = np.zeros((len(u), len(u)))
            of_elements = np.einsum("ep,epij,epik,epkl->ejl", measure, b, tangent, b)
            np.add.at(matrix, (node[:, :, None], node[:, None, :]), of_elements)
            u = u + np.linalg.solve(matrix, residual)
        else:
            raise ArithmeticError(f"tube: the step to {pressure:g} does not converge")
        plastic = after
    return float(tube.pressures[-1] * tube.area() * u[0])
