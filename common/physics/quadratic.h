/* Quadratic elements: gradients of Tet10 and Hex27 fields at the quadrature points, and their transposes.
 *
 * Tet10 has Gmsh's corners, the edges 01 12 20 03 23 13 behind the vertices, and the four-point rule, whose
 * point q lies next to vertex q. Hex27's corners and points are in ternary order, points at 1/2 and
 * (1 ± sqrt(3/5)) / 2 along each axis. Reference coordinates run over [0, 1], as in shape.h. */
#ifndef FE_QUADRATIC_H
#define FE_QUADRATIC_H

#include "common/physics/real.h"

#if !FE_HAVE_QUADRATIC /* so that a build without optimisation compiles no body that it does not need */
#define fe_is_quadratic(kind) 0
#endif

/* n, for loops over what a Hex27 has. A device's compiler does not know the number then, so it does not
 * unroll them. */
FE_BODY int fe_rolled(int kind, int n)
{
#if FE_ON_DEVICE
    if (kind == FE_HEX27) asm volatile("mov.b32 %0, %1;" : "=r"(n) : "r"(n));
#else
    (void)kind;
#endif
    return n;
}

/* --- Tet10 ------------------------------------------------------------------------------------------- */

/* At point q the barycentric coordinate of vertex q is 1/4 + 3 sqrt(5)/20, the others are FE_TET10_FAR. A
 * field is the sum over vertices v of a value times the gradient of their coordinate; that value is 4 FAR
 * (sum of the edges at v) + (4 FAR - 1) f_v, and FE_TET10_STEP × the field between v and q. */
#define FE_TET10_FAR ((fe_scalar)0.13819660112501051518)
#define FE_TET10_STEP ((fe_scalar)1.78885438199983175713) /* 4 × the difference of both coordinates */

/* The corner in the middle of vertices v and w; v = w: the vertex. */
#ifdef __CUDACC__
FE_BODY int fe_tet10_between(int v, int w)
{
    const int low = v < w ? v : w, high = v < w ? w : v;
    return low == high ? low
           : high == 3 ? (low == 0   ? 7
                          : low == 1 ? 9
                                     : 8)
           : low == 1  ? 5
           : high == 1 ? 4
                       : 6;
}
#else
static const signed char fe_tet10_corner[4][4] = {{0, 4, 6, 7}, {4, 1, 5, 9}, {6, 5, 2, 8}, {7, 9, 8, 3}};
FE_BODY int fe_tet10_between(int v, int w) { return fe_tet10_corner[v][w]; }
#endif

/* What does not depend on the point. */
FE_BODY void fe_tet10_vertices(fe_real f[][3], int c, fe_real vertex[4])
{
    FE_UNROLL_FOR (int v = 0; v < 4; v++) {
        const fe_real edges = f[fe_tet10_between(v, (v + 1) % 4)][c] +
                              f[fe_tet10_between(v, (v + 2) % 4)][c] + f[fe_tet10_between(v, (v + 3) % 4)][c];
        vertex[v] = (4.0f * FE_TET10_FAR) * edges + (4.0f * FE_TET10_FAR - 1.0f) * f[v][c];
    }
}
FE_BODY void fe_tet10_gradient(fe_real f[][3], int c, const fe_real vertex[4], int q, fe_real G[3])
{
    const fe_real origin = vertex[0] + FE_TET10_STEP * f[fe_tet10_between(0, q)][c];
    FE_UNROLL_FOR (int j = 0; j < 3; j++)
        G[j] = (vertex[j + 1] + FE_TET10_STEP * f[fe_tet10_between(j + 1, q)][c]) - origin;
}

/* The transpose: a point adds to the values of the vertices, and to the corners at once; at the end the
 * values go to the corners. */
FE_BODY void fe_tet10_scatter(const fe_real P[3], int c, int q, fe_real vertex[4], fe_real y[][3])
{
    const fe_real value[4] = {-(P[0] + P[1] + P[2]), P[0], P[1], P[2]};
    FE_UNROLL_FOR (int v = 0; v < 4; v++) {
        vertex[v] += value[v];
        y[fe_tet10_between(v, q)][c] += FE_TET10_STEP * value[v];
    }
}
FE_BODY void fe_tet10_end(const fe_real vertex[4], int c, fe_real y[][3])
{
    FE_UNROLL_FOR (int v = 0; v < 4; v++) {
        y[v][c] += (4.0f * FE_TET10_FAR - 1.0f) * vertex[v];
        FE_UNROLL_FOR (int w = v + 1; w < 4; w++)
            y[fe_tet10_between(v, w)][c] += (4.0f * FE_TET10_FAR) * (vertex[v] + vertex[w]);
    }
}

/* The vertices of corner a, the same one twice for a vertex. */
FE_BODY void fe_tet10_ends(int a, int end[2])
{
    end[0] = a < 4 ? a : a == 4 || a == 7 ? 0 : a == 5 || a == 9 ? 1 : 2;
    end[1] = a < 4 ? a : a == 4 ? 1 : a == 5 ? 2 : a == 6 ? 0 : 3;
}
/* Derivative along axis j of the shape function of corner a at point q. */
FE_BODY fe_scalar fe_tet10_shape_gradient(int a, int q, int j)
{
    int end[2];
    fe_tet10_ends(a, end);
    fe_scalar at[2], slope[2];
    FE_UNROLL_FOR (int i = 0; i < 2; i++) {
        at[i] = end[i] == q ? 1.0f - 3.0f * FE_TET10_FAR : FE_TET10_FAR;
        slope[i] = end[i] == 0 ? -1.0f : end[i] == j + 1 ? 1.0f : 0.0f;
    }
    return a < 4 ? (4.0f * at[0] - 1.0f) * slope[0] : 4.0f * (at[0] * slope[1] + at[1] * slope[0]);
}

/* --- Hex27 ------------------------------------------------------------------------------------------- */

/* Along an axis with xi = -r, 0, r at the points, r = sqrt(3/5), a field with the values f0, f1, f2 at -1, 0,
 * 1 is f1 + xi/2 d + xi²/2 e with d = f2 - f0 and e = f0 - 2 f1 + f2, and its derivative over [0, 1] is d + 2
 * xi e. */
#define FE_HEX27_ROOT ((fe_scalar)0.77459666924148337704)

/* Values and derivatives at the three points from the corners; and transposes, which add to the corners. */
FE_BODY void fe_triple_values(const fe_real f[3], fe_real at[3])
{
    const fe_real half = (0.5f * FE_HEX27_ROOT) * (f[2] - f[0]), bend = (f[0] + f[2]) - 2.0f * f[1],
                  middle = f[1] + (fe_scalar)0.3 * bend;
    at[0] = middle - half, at[1] = f[1], at[2] = middle + half;
}
FE_BODY void fe_triple_slopes(const fe_real f[3], fe_real at[3])
{
    const fe_real rise = f[2] - f[0], bend = (2.0f * FE_HEX27_ROOT) * ((f[0] + f[2]) - 2.0f * f[1]);
    at[0] = rise - bend, at[1] = rise, at[2] = rise + bend;
}
FE_BODY void fe_triple_spread(fe_real rise, fe_real bend, fe_real middle, fe_real f[3])
{
    f[0] += bend - rise, f[1] += middle - 2.0f * bend, f[2] += bend + rise;
}
FE_BODY void fe_triple_values_back(const fe_real at[3], fe_real f[3])
{
    const fe_real sides = at[0] + at[2];
    fe_triple_spread((0.5f * FE_HEX27_ROOT) * (at[2] - at[0]), (fe_scalar)0.3 * sides, sides + at[1], f);
}
FE_BODY void fe_triple_slopes_back(const fe_real at[3], fe_real f[3])
{
    fe_triple_spread((at[0] + at[2]) + at[1], (2.0f * FE_HEX27_ROOT) * (at[2] - at[0]), fe_splat(0.0f), f);
}

/* Derivatives at[point of the plane][axis] of component c at the points of plane k: first across the planes,
 * then along y, then along x. */
FE_BODY void fe_hex27_plane(fe_real f[][3], int c, int k, fe_real at[9][3])
{
    const fe_scalar xi = (fe_scalar)(k - 1) * FE_HEX27_ROOT, half = 0.5f * xi, square = half * xi,
                    twice = 2.0f * xi;
    fe_real value[3][3], along_y[3][3], along_z[3][3]; /* [row of points][corner along x] */
    FE_UNROLL_FOR (int i = 0; i < 3; i++) {
        fe_real here[3], across[3], to[3];
        FE_UNROLL_FOR (int j = 0; j < 3; j++) {
            const fe_real low = f[i + 3 * j][c], middle = f[i + 3 * j + 9][c], high = f[i + 3 * j + 18][c];
            const fe_real rise = high - low, bend = (low + high) - 2.0f * middle;
            here[j] = middle + half * rise + square * bend;
            across[j] = rise + twice * bend;
        }
        fe_triple_values(here, to);
        FE_UNROLL_FOR (int r = 0; r < 3; r++) value[r][i] = to[r];
        fe_triple_slopes(here, to);
        FE_UNROLL_FOR (int r = 0; r < 3; r++) along_y[r][i] = to[r];
        fe_triple_values(across, to);
        FE_UNROLL_FOR (int r = 0; r < 3; r++) along_z[r][i] = to[r];
    }
    FE_UNROLL_FOR (int r = 0; r < 3; r++) {
        fe_real x[3], y[3], z[3];
        fe_triple_slopes(value[r], x), fe_triple_values(along_y[r], y), fe_triple_values(along_z[r], z);
        FE_UNROLL_FOR (int p = 0; p < 3; p++)
            at[3 * r + p][0] = x[p], at[3 * r + p][1] = y[p], at[3 * r + p][2] = z[p];
    }
}
/* y += its transpose. */
FE_BODY void fe_hex27_plane_back(fe_real at[9][3], int c, int k, fe_real y[][3])
{
    const fe_scalar xi = (fe_scalar)(k - 1) * FE_HEX27_ROOT, half = 0.5f * xi, square = half * xi,
                    twice = 2.0f * xi;
    fe_real value[3][3], along_y[3][3], along_z[3][3]; /* [corner along x][row of points] */
    FE_UNROLL_FOR (int r = 0; r < 3; r++) {
        fe_real back[3][3], sum[3][3];
        FE_UNROLL_FOR (int i = 0; i < 9; i++) sum[i / 3][i % 3] = fe_splat(FE_EMPTY);
        FE_UNROLL_FOR (int p = 0; p < 3; p++)
            FE_UNROLL_FOR (int j = 0; j < 3; j++) back[j][p] = at[3 * r + p][j];
        fe_triple_slopes_back(back[0], sum[0]);
        fe_triple_values_back(back[1], sum[1]);
        fe_triple_values_back(back[2], sum[2]);
        FE_UNROLL_FOR (int i = 0; i < 3; i++)
            value[i][r] = sum[0][i], along_y[i][r] = sum[1][i], along_z[i][r] = sum[2][i];
    }
    FE_UNROLL_FOR (int i = 0; i < 3; i++) {
        fe_real here[3], across[3];
        FE_UNROLL_FOR (int j = 0; j < 3; j++) here[j] = across[j] = fe_splat(FE_EMPTY);
        fe_triple_values_back(value[i], here);
        fe_triple_slopes_back(along_y[i], here);
        fe_triple_values_back(along_z[i], across);
        FE_UNROLL_FOR (int j = 0; j < 3; j++) {
            const int n = i + 3 * j;
            const fe_real rise = half * here[j] + across[j], bend = square * here[j] + twice * across[j];
            y[n][c] += bend - rise, y[n + 9][c] += here[j] - 2.0f * bend, y[n + 18][c] += bend + rise;
        }
    }
}

/* Value and derivative of the corner in place a of an axis, at the point in place q. */
#ifndef __CUDACC__
static const fe_scalar fe_triple_table[2][3][3] = {
    {{0.3 + 0.5 * FE_HEX27_ROOT, 0.4, 0.3 - 0.5 * FE_HEX27_ROOT},
     {0, 1, 0},
     {0.3 - 0.5 * FE_HEX27_ROOT, 0.4, 0.3 + 0.5 * FE_HEX27_ROOT}},
    {{-2 * FE_HEX27_ROOT - 1, 4 * FE_HEX27_ROOT, 1 - 2 * FE_HEX27_ROOT},
     {-1, 0, 1},
     {2 * FE_HEX27_ROOT - 1, -4 * FE_HEX27_ROOT, 2 * FE_HEX27_ROOT + 1}}};
FE_BODY fe_scalar fe_triple_value(int a, int q) { return fe_triple_table[0][q][a]; }
FE_BODY fe_scalar fe_triple_slope(int a, int q) { return fe_triple_table[1][q][a]; }
#else
FE_BODY fe_scalar fe_triple_value(int a, int q)
{
    const fe_scalar beside =
        a == q ? (fe_scalar)0.3 + 0.5f * FE_HEX27_ROOT : (fe_scalar)0.3 - 0.5f * FE_HEX27_ROOT;
    return q == 1 ? (a == 1 ? 1.0f : 0.0f) : a == 1 ? (fe_scalar)0.4 : beside;
}
FE_BODY fe_scalar fe_triple_slope(int a, int q)
{
    const fe_scalar xi = (fe_scalar)(q - 1) * FE_HEX27_ROOT;
    return a == 1 ? -4.0f * xi : 2.0f * xi + (fe_scalar)(a - 1);
}
#endif
FE_BODY fe_scalar fe_hex27_shape_gradient(int a, int q, int j)
{
    const int at[3] = {a % 3, a / 3 % 3, a / 9}, point[3] = {q % 3, q / 3 % 3, q / 9};
    fe_scalar product = 1.0f;
    FE_UNROLL_FOR (int i = 0; i < 3; i++)
        product *= i == j ? fe_triple_slope(at[i], point[i]) : fe_triple_value(at[i], point[i]);
    return product;
}

/* Weight of point q. */
FE_BODY fe_scalar fe_triple_weight(int q)
{
    return q == 1 ? (fe_scalar)(4.0 / 9.0) : (fe_scalar)(5.0 / 18.0);
}
FE_BODY fe_scalar fe_hex27_weight(int q)
{
    return fe_triple_weight(q % 3) * fe_triple_weight(q / 3 % 3) * fe_triple_weight(q / 9);
}

FE_BODY fe_scalar fe_quadratic_gradient(int kind, int a, int q, int j)
{
    return kind == FE_TET10 ? fe_tet10_shape_gradient(a, q, j) : fe_hex27_shape_gradient(a, q, j);
}
/* The same of a corner in each lane, along all axes. */
FE_BODY void fe_quadratic_gradients(int kind, fe_index a, int q, fe_real gradient[3])
{
    FE_UNROLL_FOR (int j = 0; j < 3; j++) {
#ifdef __CUDACC__
        gradient[j] = fe_quadratic_gradient(kind, a, q, j);
#else
#define GRADIENT(l) fe_quadratic_gradient(kind, a.lane[l], q, j)
        gradient[j] = FE_FROM_LANES(GRADIENT);
#undef GRADIENT
#endif
    }
}

#endif
