/* Blocks of an element's stiffness matrix, for strategies that assemble it. */
#ifndef FE_STIFFNESS_H
#define FE_STIFFNESS_H

#include "common/physics/element.h"

/* K[b] += what point q adds to the block of corner 0 and corner first + b, for n of them. With g = det J grad
 * N_0, h the same of the other corner and scale = w / |J|: scale ((K - 2/3 mu theta) g h^T + mu theta (g·h I
 * + h g^T) - (m g)(m h)^T) */
FE_BODY void fe_add_stiffness_at(int kind, const fe_view *m, fe_element e, int q, fe_real A[3][3],
                                 fe_real scale, int first, int n, fe_real K[8][9])
{
    fe_real theta, t[6], g[3], mg[3], bulk_g[3], shear_g[3];
    const int softened = fe_point_softening(kind, m, e, q, &theta, t);
    const fe_real shear = scale * (fe_scalar)m->material.shear * theta;
    const fe_real bulk = scale * (fe_scalar)m->material.bulk - (fe_scalar)(2.0 / 3.0) * shear;
    fe_corner_gradient(kind, A, 0, q, g);
    fe_product(t, g, mg);
    FE_UNROLL_FOR (int i = 0; i < 3; i++) bulk_g[i] = bulk * g[i], shear_g[i] = shear * g[i], mg[i] *= scale;
    FE_UNROLL_FOR (int b = 0; b < n; b++) {
        fe_real h[3], mh[3];
        fe_corner_gradient(kind, A, first + b, q, h);
        const fe_real both = shear_g[0] * h[0] + shear_g[1] * h[1] + shear_g[2] * h[2];
        FE_UNROLL_FOR (int i = 0; i < 3; i++)
            FE_UNROLL_FOR (int j = 0; j < 3; j++) K[b][3 * i + j] += bulk_g[i] * h[j] + h[i] * shear_g[j];
        FE_UNROLL_FOR (int i = 0; i < 3; i++) K[b][4 * i] += both;
        if (softened) {
            fe_product(t, h, mh);
            FE_UNROLL_FOR (int i = 0; i < 3; i++)
                FE_UNROLL_FOR (int j = 0; j < 3; j++) K[b][3 * i + j] -= mg[i] * mh[j];
        }
    }
}

/* K[b] += what the points of plane k of the turned elements, whose corners stand at x, add to the blocks of
 * corner 0 and corners first + b. */
FE_BODY void fe_add_stiffness(int kind, const fe_view *m, fe_element e, int k, fe_real x[8][3], int first,
                              int n, fe_real K[8][9])
{
    fe_plane gx[3];
    fe_gradient_plane(kind, x, k, gx);
    FE_UNROLL_FOR (int p = 0; p < fe_plane_points(kind); p++) {
        fe_real J[3][3], A[3][3];
        fe_gradient_at(kind, x, gx, k, p, J);
        const fe_real scale = fe_weight(kind) * fe_turn_sign(kind, e.turn) / fe_cofactor(J, A);
        fe_add_stiffness_at(kind, m, e, p + 4 * k, A, scale, first, n, K);
    }
}

/* g += w |J| grad N of corner 0 of turned elements, whose corners stand at x, over the points. Over all
 * elements of a node it vanishes, unless the node is on the surface. */
FE_BODY void fe_add_volume_gradient(int kind, fe_element e, fe_real x[8][3], fe_real g[3])
{
    FE_UNROLL_FOR (int k = 0; k < fe_planes(kind); k++) {
        fe_plane gx[3];
        fe_gradient_plane(kind, x, k, gx);
        FE_UNROLL_FOR (int p = 0; p < fe_plane_points(kind); p++) {
            fe_real J[3][3], A[3][3], h[3];
            fe_gradient_at(kind, x, gx, k, p, J);
            fe_cofactor(J, A);
            fe_corner_gradient(kind, A, 0, p + 4 * k, h);
            FE_UNROLL_FOR (int i = 0; i < 3; i++) g[i] += fe_weight(kind) * fe_turn_sign(kind, e.turn) * h[i];
        }
    }
}

#endif
