/* Jacobian determinants of linear elements, by the corners' coordinates. */
#ifndef FE_JACOBIAN_H
#define FE_JACOBIAN_H

#include "common/base/fe.h"

/* Reference corners of Hex8 are ±1 on each axis, in Gmsh's order; edges[a] are its neighbours along x, y, z.
 */
static const signed char fe_hex8_sign[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1},
                                               {-1, -1, 1},  {1, -1, 1},  {1, 1, 1},  {-1, 1, 1}};

static inline double fe_determinant(const double a[3], const double b[3], const double c[3])
{
    return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
           a[2] * (b[0] * c[1] - b[1] * c[0]);
}

/* Six times the volume of a tetrahedron x [4][3]. */
static inline double fe_tet4_jacobian(const double (*x)[3])
{
    double edge[3][3];
    for (int a = 0; a < 3; ++a)
        for (int i = 0; i < 3; ++i) edge[a][i] = x[a + 1][i] - x[0][i];
    return fe_determinant(edge[0], edge[1], edge[2]);
}

/* det of dx/dξ at ξ in [-1, 1]³ of a hexahedron x [8][3]; 1/8 of the volume for a box. */
static inline double fe_hex8_jacobian(const double (*x)[3], const double xi[3])
{
    double row[3][3] = {{0}}; /* row[k] = Σ_a x_a ∂N_a/∂ξ_k */
    for (int a = 0; a < 8; ++a) {
        const signed char *s = fe_hex8_sign[a];
        const double f[3] = {1 + s[0] * xi[0], 1 + s[1] * xi[1], 1 + s[2] * xi[2]};
        const double gradient[3] = {0.125 * s[0] * f[1] * f[2], 0.125 * s[1] * f[0] * f[2],
                                    0.125 * s[2] * f[0] * f[1]};
        for (int k = 0; k < 3; ++k)
            for (int i = 0; i < 3; ++i) row[k][i] += gradient[k] * x[a][i];
    }
    return fe_determinant(row[0], row[1], row[2]);
}

/* ξ of quadrature point q of the 2x2x2 Gauss rule, or of corner q where distance is 1. */
static inline double fe_hex8_point(const double (*x)[3], int q, double distance)
{
    const signed char *s = fe_hex8_sign[q];
    const double xi[3] = {s[0] * distance, s[1] * distance, s[2] * distance};
    return fe_hex8_jacobian(x, xi);
}

#endif
