/* Blocks of an element's stiffness matrix, for strategies that assemble it. */
#ifndef FE_STIFFNESS_H
#define FE_STIFFNESS_H

#include "common/physics/element.h"

/* What a point adds to blocks of the corner that a gather looks at (fe_own_gradient) and another one. With
 * g = det J grad N of it, h the same of the other
 * corner and scale = w / |J|: scale ((K - 2/3 mu theta) g h^T + mu theta (g·h I + h g^T) - (m g)(m h)^T) */
typedef struct fe_stiffness {
    fe_real bulk_g[3], shear_g[3]; /* scale (K - 2/3 mu theta) g, scale mu theta g */
    fe_real mg[3], m[6];           /* scale m g, m: zero where the tangent is elastic */
} fe_stiffness;

/* Returns 0 if m is zero in all lanes. */
FE_BODY int fe_stiffness_open(int kind, const fe_view *m, fe_element e, fe_index corner, int q,
                              fe_real A[3][3], fe_real scale, fe_stiffness *s)
{
    const fe_constants material = fe_material_at(m->materials != NULL, m, e.e);
    fe_real theta, g[3];
    const int softened = fe_point_softening(kind, m, e, q, &theta, s->m);
    const fe_real shear = scale * material.shear * theta;
    const fe_real bulk = scale * material.bulk - (fe_scalar)(2.0 / 3.0) * shear;
    fe_own_gradient(kind, A, corner, q, g);
    fe_product(s->m, g, s->mg);
    FE_UNROLL_FOR (int i = 0; i < 3; i++)
        s->bulk_g[i] = bulk * g[i], s->shear_g[i] = shear * g[i], s->mg[i] *= scale;
    return softened;
}

/* K += block of the corner with h. */
FE_BODY void fe_stiffness_add(const fe_stiffness *s, int softened, const fe_real h[3], fe_real K[9])
{
    const fe_real both = s->shear_g[0] * h[0] + s->shear_g[1] * h[1] + s->shear_g[2] * h[2];
    FE_UNROLL_FOR (int i = 0; i < 3; i++)
        FE_UNROLL_FOR (int j = 0; j < 3; j++) K[3 * i + j] += s->bulk_g[i] * h[j] + h[i] * s->shear_g[j];
    FE_UNROLL_FOR (int i = 0; i < 3; i++) K[4 * i] += both;
    if (softened) {
        fe_real mh[3];
        fe_product(s->m, h, mh);
        FE_UNROLL_FOR (int i = 0; i < 3; i++)
            FE_UNROLL_FOR (int j = 0; j < 3; j++) K[3 * i + j] -= s->mg[i] * mh[j];
    }
}

/* K[b] += what the points of plane k of the elements, whose corners stand at x, add to the blocks of the
 * corner that a gather looks at and corners first + b. */
FE_BODY void fe_add_stiffness(int kind, const fe_view *m, fe_element e, fe_index corner, int k,
                              fe_real x[][3], int first, int n, fe_real K[][9])
{
    fe_plane gx[3];
    fe_gradient_plane(kind, x, k, gx);
    FE_UNROLL_LARGE_FOR (int p = 0; p < fe_rolled(kind, fe_plane_points(kind)); p++) {
        fe_real J[3][3], A[3][3];
        const int q = fe_point_of(kind, k, p);
        fe_gradient_at(kind, x, gx, k, p, J);
        const fe_real scale = fe_weight_at(kind, q) * fe_turn_sign(kind, e.turn) / fe_cofactor(J, A);
        fe_stiffness s;
        const int softened = fe_stiffness_open(kind, m, e, corner, q, A, scale, &s);
        FE_UNROLL_FOR (int b = 0; b < fe_rolled(kind, n); b++) {
            fe_real h[3];
            fe_corner_gradient(kind, A, first + b, q, h);
            fe_stiffness_add(&s, softened, h, K[b]);
        }
    }
}

/* g += w |J| grad N of the corner that a gather looks at, of elements whose corners stand at x, over the
 * points. Over all elements of a node it vanishes, unless the node is on the surface. */
FE_BODY void fe_add_volume_gradient(int kind, fe_element e, fe_index corner, fe_real x[][3], fe_real g[3])
{
    FE_UNROLL_LARGE_FOR (int k = 0; k < fe_rolled(kind, fe_planes(kind)); k++) {
        fe_plane gx[3];
        fe_gradient_plane(kind, x, k, gx);
        FE_UNROLL_LARGE_FOR (int p = 0; p < fe_rolled(kind, fe_plane_points(kind)); p++) {
            fe_real J[3][3], A[3][3], h[3];
            const int q = fe_point_of(kind, k, p);
            fe_gradient_at(kind, x, gx, k, p, J);
            fe_cofactor(J, A);
            fe_own_gradient(kind, A, corner, q, h);
            FE_UNROLL_FOR (int i = 0; i < 3; i++)
                g[i] += fe_weight_at(kind, q) * fe_turn_sign(kind, e.turn) * h[i];
        }
    }
}

#endif
