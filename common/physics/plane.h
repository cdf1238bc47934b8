/* A factored Hex8 that two neighbouring threads of a warp share: each computes the four points of a plane.
 * Only for devices. */
#ifndef FE_PLANE_H
#define FE_PLANE_H

#include "common/physics/element.h"

/* Forces on corners 4k … 4k + 3 in force[0 … 3], of which this thread computes the points of plane k, and its
 * neighbour those of the other plane. stress_at(q, J, G, A, stress) yields w |J| times the stress of point q
 * of the plane and its cofactors A, from the gradients of x and u. The position of the plane is a variable,
 * so both read the same corners at the same time. */
template <class stress_function>
FE_BODY void fe_plane_forces(int k, fe_real x[][3], fe_real u[][3], stress_function stress_at,
                             fe_real force[][3])
{
    const fe_scalar position = fe_gauss(k), weight = fe_weight(FE_HEX8);
    fe_plane gx[3], gu[3], t[3];
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        const fe_real xc[8] = {x[0][c], x[1][c], x[2][c], x[3][c], x[4][c], x[5][c], x[6][c], x[7][c]},
                      uc[8] = {u[0][c], u[1][c], u[2][c], u[3][c], u[4][c], u[5][c], u[6][c], u[7][c]};
        fe_plane_gradient(xc, position, &gx[c]);
        fe_plane_gradient(uc, position, &gu[c]);
    }
    fe_gradient_start(FE_HEX8, t);
    FE_UNROLL_FOR (int q = 0; q < 4; q++) {
        fe_real J[3][3], G[3][3], A[3][3], P[3][3], stress[6];
        fe_gradient_at(FE_HEX8, x, gx, 0, q, J);
        fe_gradient_at(FE_HEX8, u, gu, 0, q, G);
        stress_at(q, J, G, A, stress);
        fe_gradient_open(FE_HEX8, t, q, P);
        fe_point_force(stress, A, P);
        fe_gradient_close(FE_HEX8, P, 0, q, t, force);
    }
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        fe_real here[4], rise[4], modes[4], corner[4];
        fe_plane_modes(&t[c], here, rise);
        FE_UNROLL_FOR (int i = 0; i < 4; i++) {
            const fe_scalar both = 0.5f * weight * fe_mode_scale(i, 0),
                            up = 0.25f * weight * fe_mode_scale(i, 1);
            fe_real mine = (k ? up : -up) * rise[i], theirs = -mine;
            if (i) mine += FE_NEAR * both * here[i], theirs = both * here[i] - mine;
            modes[i] = mine + __shfl_xor_sync(0xffffffffu, theirs, 1);
        }
        fe_face_of_modes(modes, corner);
        FE_UNROLL_FOR (int b = 0; b < 4; b++) force[b][c] = corner[b];
    }
}

#endif
