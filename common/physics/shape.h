/* Reference gradients of fields at the quadrature points, and their transposes: of Tet4 and Hex8 here, of
 * Tet10 and Hex27 in quadratic.h.
 *
 * Reference coordinates run over [0, 1], so that derivatives along an edge are plain differences. Hex8
 * corners and points are in binary order; points lie at s = (1 ± 1/sqrt 3) / 2 with weight 1/8. */
#ifndef FE_SHAPE_H
#define FE_SHAPE_H

#include "common/physics/quadratic.h"

#define FE_NEAR ((fe_scalar)0.78867513459481288225)  /* (1 + 1/sqrt 3) / 2 */
#define FE_FAR ((fe_scalar)0.21132486540518711775)   /* (1 - 1/sqrt 3) / 2 */
#define FE_GAUSS ((fe_scalar)0.57735026918962576451) /* 1/sqrt 3 */

/* Weight of each point, where all have the same. */
FE_BODY fe_scalar fe_weight(int kind)
{
    return (fe_scalar)(kind == FE_TET4 ? 1.0 / 6.0 : fe_is_tet(kind) ? 1.0 / 24.0 : 0.125);
}
/* That of point q, which is the same for all points but of a Hex27. */
FE_BODY fe_scalar fe_weight_at(int kind, int q)
{
    return kind == FE_HEX27 ? fe_hex27_weight(q) : fe_weight(kind);
}

/* Position of the point with index bit 0 or 1 along one edge. */
#define FE_POSITION(bit) ((bit) ? FE_NEAR : FE_FAR)
FE_BODY fe_scalar fe_gauss(int bit) { return FE_POSITION(bit); }

/* Derivative along axis j of Hex8's shape function of corner a at point q: a product over the axes i. A
 * device unrolls its loops over points and finds constants; a host reads them from a table [q][a][j]. */
#define FE_SIDE(index, axis) ((index) >> (axis)&1)
#define FE_HEX8_FACTOR(a, q, j, i)                                                                           \
    ((i) == (j)      ? 2 * FE_SIDE(a, i) - 1                                                                 \
     : FE_SIDE(a, i) ? FE_POSITION(FE_SIDE(q, i))                                                            \
                     : 1 - FE_POSITION(FE_SIDE(q, i)))
#define FE_HEX8_GRADIENT(a, q, j)                                                                            \
    (FE_HEX8_FACTOR(a, q, j, 0) * FE_HEX8_FACTOR(a, q, j, 1) * FE_HEX8_FACTOR(a, q, j, 2))
#ifdef __CUDACC__
FE_BODY fe_scalar fe_hex8_gradient(int a, int q, int j) { return FE_HEX8_GRADIENT(a, q, j); }
#else
#define FE_CORNER(q, a)                                                                                      \
    {                                                                                                        \
        FE_HEX8_GRADIENT(a, q, 0), FE_HEX8_GRADIENT(a, q, 1), FE_HEX8_GRADIENT(a, q, 2)                      \
    }
#define FE_POINT(q)                                                                                          \
    {                                                                                                        \
        FE_CORNER(q, 0), FE_CORNER(q, 1), FE_CORNER(q, 2), FE_CORNER(q, 3), FE_CORNER(q, 4),                 \
            FE_CORNER(q, 5), FE_CORNER(q, 6), FE_CORNER(q, 7)                                                \
    }
static const fe_scalar fe_hex8_gradients[8][8][3] = {FE_POINT(0), FE_POINT(1), FE_POINT(2), FE_POINT(3),
                                                     FE_POINT(4), FE_POINT(5), FE_POINT(6), FE_POINT(7)};
#undef FE_CORNER
#undef FE_POINT
FE_BODY fe_scalar fe_hex8_gradient(int a, int q, int j) { return fe_hex8_gradients[q][a][j]; }
#endif
FE_BODY fe_scalar fe_tet4_gradient(int a, int j) { return a == 0 ? -1.0f : a == j + 1 ? 1.0f : 0.0f; }
FE_BODY fe_scalar fe_shape_gradient(int kind, int a, int q, int j)
{
    if (fe_is_quadratic(kind)) return fe_quadratic_gradient(kind, a, q, j);
    return fe_corners(kind) == 4 ? fe_tet4_gradient(a, j) : fe_hex8_gradient(a, q, j);
}

/* The distinct derivatives of one component of a trilinear field over the four points of plane k (the third
 * coordinate's Gauss bit): along x they depend on the point's y bit alone, along y on its x bit, along z on
 * both. s: position of the plane, fe_gauss(k). Quadratic kinds have numbers of their own. */
typedef struct fe_plane {
    fe_real along_x[2], along_y[2], along_z[4];
    fe_real vertex[4]; /* Tet10 */
    fe_real at[9][3];  /* Hex27: derivatives at each point of the plane */
} fe_plane;

FE_BODY void fe_plane_gradient(const fe_real f[8], fe_scalar s, fe_plane *g)
{
    fe_real rise[4], here[4];
    FE_UNROLL_FOR (int c = 0; c < 4; c++) rise[c] = f[c + 4] - f[c], here[c] = f[c] + s * rise[c];
    const fe_real x0 = here[1] - here[0], y0 = here[2] - here[0], twist = (here[3] - here[2]) - x0;
    g->along_x[0] = x0 + FE_FAR * twist, g->along_x[1] = x0 + FE_NEAR * twist;
    g->along_y[0] = y0 + FE_FAR * twist, g->along_y[1] = y0 + FE_NEAR * twist;
    FE_UNROLL_FOR (int i = 0; i < 2; i++) {
        const fe_scalar t = fe_gauss(i);
        const fe_real low = rise[0] + t * (rise[1] - rise[0]), high = rise[2] + t * (rise[3] - rise[2]);
        g->along_z[i] = low + FE_FAR * (high - low), g->along_z[i + 2] = low + FE_NEAR * (high - low);
    }
}

/* Its transpose, as modes over the plane: of 1, xi, eta, xi eta in [-1, 1], each without its fe_mode_scale.
 * `here` is what derivatives in the plane come to (nothing in mode 0), `rise` what those across do. The upper
 * face of the element gets s/2 here + rise/4, the lower one (1 - s)/2 here - rise/4. */
FE_BODY void fe_plane_modes(const fe_plane *g, fe_real here[4], fe_real rise[4])
{
    const fe_real *x = g->along_x, *y = g->along_y, *z = g->along_z;
    const fe_real sum[2] = {z[0] + z[1], z[2] + z[3]}, twist[2] = {z[1] - z[0], z[3] - z[2]};
    here[1] = x[0] + x[1], here[2] = y[0] + y[1], here[3] = (x[1] - x[0]) + (y[1] - y[0]);
    rise[0] = sum[0] + sum[1], rise[1] = twist[0] + twist[1];
    rise[2] = sum[1] - sum[0], rise[3] = twist[1] - twist[0];
}
/* Scale of mode i of `rise`, or of `here`, whose own axis is not sampled. */
FE_BODY fe_scalar fe_mode_scale(int i, int rise)
{
    const int sampled = (i & 1) + (i >> 1) - !rise;
    return sampled == 2 ? FE_GAUSS * FE_GAUSS : sampled == 1 ? FE_GAUSS : (fe_scalar)1.0f;
}
/* Values at a face's corners from the modes' sums. */
FE_BODY void fe_face_of_modes(const fe_real m[4], fe_real f[4])
{
    const fe_real left = m[0] - m[1], right = m[0] + m[1], up_left = m[2] - m[3], up_right = m[2] + m[3];
    f[0] = left - up_left, f[1] = right - up_right, f[2] = left + up_left, f[3] = right + up_right;
}

/* f += transpose of fe_plane_gradient applied to g. */
FE_BODY void fe_plane_scatter(const fe_plane *g, fe_scalar s, fe_real f[8])
{
    fe_real here[4], rise[4], m[4], corner[4];
    fe_plane_modes(g, here, rise);
    FE_UNROLL_FOR (int side = 0; side < 2; side++) {
        FE_UNROLL_FOR (int i = 0; i < 4; i++) {
            m[i] = (side ? 0.25f : -0.25f) * fe_mode_scale(i, 1) * rise[i];
            if (i) m[i] += 0.5f * (side ? s : 1.0f - s) * fe_mode_scale(i, 0) * here[i];
        }
        fe_face_of_modes(m, corner);
        FE_UNROLL_FOR (int c = 0; c < 4; c++) f[c + 4 * side] += corner[c];
    }
}

/* The same for all eight points at once, by way of a field's modes: mode b is 8 times the coefficient of the
 * product of those of xi, eta, zeta in [-1, 1] whose bits b has. Mode 0, of the mean, has no gradient: it is
 * neither set nor read. Derivatives are those along an edge of length 1/4, where no factor is left: the
 * weight is FE_MODES_WEIGHT. 47 instructions per component (a multiply-add is one) instead of a plane's 2 ×
 * 28, and 51 for the transpose. */
#define FE_MODES_WEIGHT (0.125f / 64.0f)

FE_BODY void fe_modes_of(const fe_real f[8], fe_real modes[8])
{
    fe_real a[8], b[8];
    FE_UNROLL_FOR (int i = 0; i < 8; i += 2) a[i] = f[i] + f[i + 1], a[i + 1] = f[i + 1] - f[i];
    FE_UNROLL_FOR (int i = 0; i < 8; i++)
        if (!(i & 2)) b[i] = a[i] + a[i + 2], b[i + 2] = a[i + 2] - a[i];
    FE_UNROLL_FOR (int i = 0; i < 4; i++) {
        if (i > 0) modes[i] = b[i] + b[i + 4];
        modes[i + 4] = b[i + 4] - b[i];
    }
}

/* Modes that vary along axis j: of j alone, with the lower and with the higher of the other axes. */
FE_BODY void fe_modes_along(int j, int mode[3])
{
    mode[0] = 1 << j, mode[1] = mode[0] | (j == 0 ? 2 : 1), mode[2] = mode[0] | (j == 2 ? 2 : 4);
}
/* Derivatives along axis j are the same at both points of a line along it: the line of point q. */
FE_BODY int fe_line_of(int j, int q) { return j == 0 ? q >> 1 : j == 1 ? (q & 1) | (q >> 1 & 2) : q & 3; }

FE_BODY void fe_modes_gradient(const fe_real modes[8], int j, fe_real along[4])
{
    int b[3];
    fe_modes_along(j, b);
    FE_UNROLL_FOR (int i = 0; i < 2; i++) {
        const fe_scalar at = i ? FE_GAUSS : -FE_GAUSS;
        const fe_real middle = modes[b[0]] + at * modes[b[1]], slope = modes[b[2]] + at * modes[7];
        along[i] = middle - FE_GAUSS * slope, along[i + 2] = middle + FE_GAUSS * slope;
    }
}

/* f = transpose applied to the derivatives along all axes. */
FE_BODY void fe_modes_scatter(fe_real along[3][4], fe_real f[8])
{
    fe_real m[8], a[8], b[8];
    FE_UNROLL_FOR (int j = 0; j < 3; j++) {
        int k[3];
        const fe_real *t = along[j], sum[2] = {t[0] + t[1], t[2] + t[3]},
                      rise[2] = {t[1] - t[0], t[3] - t[2]};
        fe_modes_along(j, k);
        m[k[0]] = sum[0] + sum[1];
        m[k[1]] = j == 0 ? rise[0] + rise[1] : m[k[1]] + (rise[0] + rise[1]); /* modes 3, 3, 5 */
        m[k[2]] = j == 2 ? m[k[2]] + (sum[1] - sum[0]) : sum[1] - sum[0];     /* 5, 6, 6 */
        m[7] = j == 0 ? rise[1] - rise[0] : m[7] + (rise[1] - rise[0]);
    }
    /* 3, 5, 6 are to be scaled by FE_GAUSS, 7 by its square: 5 and 6 here, what 3 and 7 came to below */
    a[0] = -m[4], a[4] = m[4];
    FE_UNROLL_FOR (int i = 1; i < 4; i++) {
        a[i] = m[i] - FE_GAUSS * m[i + 4], a[i + 4] = m[i] + FE_GAUSS * m[i + 4];
    }
    FE_UNROLL_FOR (int i = 0; i < 8; i++)
        if (!(i & 2)) {
            const fe_scalar scale = i & 1 ? FE_GAUSS : (fe_scalar)1.0f;
            b[i] = a[i] - scale * a[i + 2], b[i + 2] = a[i] + scale * a[i + 2];
        }
    FE_UNROLL_FOR (int i = 0; i < 8; i += 2) f[i] = b[i] - b[i + 1], f[i + 1] = b[i] + b[i + 1];
}

/* cofactor matrix of J (J^-T det J) and the determinant. */
FE_BODY fe_real fe_cofactor(fe_real J[3][3], fe_real A[3][3])
{
    FE_UNROLL_FOR (int i = 0; i < 3; i++) {
        const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
        FE_UNROLL_FOR (int j = 0; j < 3; j++) {
            const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            A[i][j] = J[i1][j1] * J[i2][j2] - J[i1][j2] * J[i2][j1];
        }
    }
    return J[0][0] * A[0][0] + J[0][1] * A[0][1] + J[0][2] * A[0][2];
}

/* Points are visited plane by plane: Hex8 has two of four points, Hex27 three of nine, tetrahedra one of one
 * or four. */
FE_BODY int fe_planes(int kind) { return kind == FE_HEX27 ? 3 : fe_is_tet(kind) ? 1 : 2; }
FE_BODY int fe_plane_points(int kind) { return kind == FE_TET4 ? 1 : kind == FE_HEX27 ? 9 : 4; }
/* Point p of plane k. */
FE_BODY int fe_point_of(int kind, int k, int p) { return p + (kind == FE_HEX27 ? 9 : 4) * k; }

/* Reference gradients of a vector field f [n_corner][3]: fe_gradient_plane prepares plane k in g, then
 * fe_gradient_at gives G[c][j] = d f_c / d s_j at point p of that plane. Kinds without factors need no g. */
FE_BODY void fe_gradient_plane(int kind, fe_real f[][3], int k, fe_plane g[3])
{
    if (fe_is_quadratic(kind))
        FE_UNROLL_LARGE_FOR (int c = 0; c < 3; c++) {
            if (kind == FE_TET10)
                fe_tet10_vertices(f, c, g[c].vertex);
            else
                fe_hex27_plane(f, c, k, g[c].at);
        }
    if (kind != FE_HEX8) return;
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        const fe_real component[8] = {f[0][c], f[1][c], f[2][c], f[3][c], f[4][c], f[5][c], f[6][c], f[7][c]};
        fe_plane_gradient(component, fe_gauss(k), &g[c]);
    }
}

FE_BODY void fe_gradient_at(int kind, fe_real f[][3], const fe_plane g[3], int k, int p, fe_real G[3][3])
{
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        if (kind == FE_TET10) {
            fe_tet10_gradient(f, c, g[c].vertex, p, G[c]);
        } else if (kind == FE_HEX27) {
            FE_UNROLL_FOR (int j = 0; j < 3; j++) G[c][j] = g[c].at[p][j];
        } else if (kind == FE_HEX8) {
            G[c][0] = g[c].along_x[p >> 1], G[c][1] = g[c].along_y[p & 1], G[c][2] = g[c].along_z[p];
        } else if (kind == FE_HEX8_NAIVE) {
            FE_UNROLL_FOR (int j = 0; j < 3; j++) {
                G[c][j] = fe_splat(FE_EMPTY);
                FE_UNROLL_FOR (int a = 0; a < 8; a++) G[c][j] += fe_hex8_gradient(a, p + 4 * k, j) * f[a][c];
            }
        } else {
            FE_UNROLL_FOR (int j = 0; j < 3; j++) G[c][j] = f[j + 1][c] - f[0][c];
        }
    }
}

/* Where P[c][j] of a point starts if it is not added to sums. */
FE_BODY void fe_point_force_start(fe_real P[3][3])
{
    FE_UNROLL_FOR (int i = 0; i < 3; i++)
        FE_UNROLL_FOR (int j = 0; j < 3; j++) P[i][j] = fe_splat(FE_EMPTY);
}

/* Transposes. The sums that point p's P[c][j] are added to stand in P before: of the plane, in t, or none.
 * Then they go back to t, or to the corners y at once; the plane's end adds t to y. */
FE_BODY void fe_gradient_open(int kind, const fe_plane t[3], int p, fe_real P[3][3])
{
    if (kind != FE_HEX8) {
        fe_point_force_start(P);
        return;
    }
    FE_UNROLL_FOR (int c = 0; c < 3; c++)
        P[c][0] = t[c].along_x[p >> 1], P[c][1] = t[c].along_y[p & 1], P[c][2] = t[c].along_z[p];
}
FE_BODY void fe_gradient_close(int kind, fe_real P[3][3], int k, int p, fe_plane t[3], fe_real y[][3])
{
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        if (kind == FE_TET10) {
            fe_tet10_scatter(P[c], c, p, t[c].vertex, y);
        } else if (kind == FE_HEX27) {
            FE_UNROLL_FOR (int j = 0; j < 3; j++) t[c].at[p][j] = P[c][j];
        } else if (kind == FE_HEX8) {
            t[c].along_x[p >> 1] = P[c][0], t[c].along_y[p & 1] = P[c][1], t[c].along_z[p] = P[c][2];
        } else if (kind == FE_HEX8_NAIVE) {
            FE_UNROLL_FOR (int a = 0; a < 8; a++)
                FE_UNROLL_FOR (int j = 0; j < 3; j++) y[a][c] += fe_hex8_gradient(a, p + 4 * k, j) * P[c][j];
        } else {
            FE_UNROLL_FOR (int j = 0; j < 3; j++) y[j + 1][c] += P[c][j];
            y[0][c] -= P[c][0] + P[c][1] + P[c][2];
        }
    }
}

FE_BODY void fe_gradient_start(int kind, fe_plane t[3])
{
    if (kind == FE_TET10)
        FE_UNROLL_FOR (int i = 0; i < 12; i++) t[i / 4].vertex[i % 4] = fe_splat(FE_EMPTY);
    if (kind != FE_HEX8) return;
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        FE_UNROLL_FOR (int i = 0; i < 2; i++) t[c].along_x[i] = t[c].along_y[i] = fe_splat(FE_EMPTY);
        FE_UNROLL_FOR (int i = 0; i < 4; i++) t[c].along_z[i] = fe_splat(FE_EMPTY);
    }
}

FE_BODY void fe_gradient_end(int kind, fe_plane t[3], int k, fe_real y[][3])
{
    if (fe_is_quadratic(kind))
        FE_UNROLL_LARGE_FOR (int c = 0; c < 3; c++) {
            if (kind == FE_TET10)
                fe_tet10_end(t[c].vertex, c, y);
            else
                fe_hex27_plane_back(t[c].at, c, k, y);
        }
    if (kind != FE_HEX8) return;
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        fe_real component[8];
        FE_UNROLL_FOR (int a = 0; a < 8; a++) component[a] = y[a][c];
        fe_plane_scatter(&t[c], fe_gauss(k), component);
        FE_UNROLL_FOR (int a = 0; a < 8; a++) y[a][c] = component[a];
    }
}

#endif
