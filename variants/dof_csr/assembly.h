/* dof_csr: one thread computes one entry, direction `axis` of one node: a gather three times finer than by
 * node. It sees each element at its node turned so that the node is corner 0, and needs one row of the
 * stress. Quadratic elements are not turned. */
#ifndef DOF_CSR_ASSEMBLY_H
#define DOF_CSR_ASSEMBLY_H

#include "common/physics/spread.h"

/* Row `axis` of a symmetric tensor xx yy zz xy yz xz. */
FE_BODY fe_real dof_csr_pick(int axis, fe_real a, fe_real b, fe_real c)
{
    return axis == 0 ? a : axis == 1 ? b : c;
}
FE_BODY void dof_csr_row(int axis, const fe_real t[6], fe_real row[3])
{
    row[0] = dof_csr_pick(axis, t[0], t[3], t[5]);
    row[1] = dof_csr_pick(axis, t[3], t[1], t[4]);
    row[2] = dof_csr_pick(axis, t[5], t[4], t[2]);
}

/* On the device elastic products of hexahedra and of Tet10 see space turned, too: axes in the order axis,
 * axis
 * + 1, axis + 2 (mod 3), so that a thread's direction is x and only the first row of the stress is computed.
 * An isotropic material allows it. Tet4 gain nothing: a tenth less arithmetic against loads that are apart.
 */
#ifdef __CUDACC__
FE_BODY int dof_csr_turns(int kind, int op)
{
    return FE_PRECISION != FE_MIXED && fe_is_elastic(op) && fe_corners(kind) >= 8;
}
FE_BODY void dof_csr_read3(const fe_number *__restrict__ p, fe_index i, int axis, fe_real out[3])
{
    const fe_number *q = p + 3 * (size_t)i;
    for (int c = 0; c < 3; c++) out[c] = (fe_real)q[axis + c < 3 ? axis + c : axis + c - 3];
}
#else
FE_BODY int dof_csr_turns(int kind, int op)
{
    (void)kind, (void)op;
    return 0;
}
FE_BODY void dof_csr_read3(const fe_number *p, fe_index i, int axis, fe_real out[3])
{
    (void)axis; /* 0 */
    fe_read3(p, i, out);
}
#endif

/* Elements as a gather looks at their corner: linear ones turned so that it is corner 0, quadratic ones as
 * they are. */
FE_BODY fe_index dof_csr_turn(int kind, fe_index corner)
{
    return fe_is_quadratic(kind) ? fe_no_turn() : corner;
}

/* A field at the corners of an element, axes from `axis` on; corner 0 of a turned one is known, and 0 in
 * mixed precision (fe_element_read). */
FE_BODY void dof_csr_read(int kind, const fe_index node[], int axis, const fe_number *field,
                          const fe_real own[3], fe_real f[][3])
{
    const int known = !fe_is_quadratic(kind);
    if (FE_PRECISION == FE_MIXED) {
        fe_element_read(kind, node, field, f);
    } else {
        if (known)
            FE_UNROLL_FOR (int c = 0; c < 3; c++) f[0][c] = own[c];
        FE_UNROLL_FOR (int b = known; b < fe_corners(kind); b++) dof_csr_read3(field, node[b], axis, f[b]);
    }
}

/* Force on the corner of elements along the axis. own: x and displacement there, axes from `axis` on where
 * dof_csr_turns. */
FE_BODY fe_real dof_csr_force(int kind, int op, const fe_view *m, fe_index e, fe_index corner, int axis,
                              const fe_number *displacement, fe_real own[2][3])
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3], force = fe_splat(FE_EMPTY);
    const int turns = dof_csr_turns(kind, op), from = turns ? axis : 0, own_row = turns ? 0 : axis;
    const fe_element element = fe_element_open(m, e, dof_csr_turn(kind, corner));
    fe_element_nodes(kind, m, element, node);
    dof_csr_read(kind, node, from, fe_coordinates(m), own[0], x);
    dof_csr_read(kind, node, from, displacement, own[1], f);
    FE_UNROLL_LARGE_FOR (int k = 0; k < fe_rolled(kind, fe_planes(kind)); k++) {
        fe_plane gx[3], gu[3];
        fe_gradient_plane(kind, x, k, gx);
        fe_gradient_plane(kind, f, k, gu);
        FE_UNROLL_LARGE_FOR (int p = 0; p < fe_rolled(kind, fe_plane_points(kind)); p++) {
            fe_real J[3][3], G[3][3], A[3][3], g[3], stress[6], row[3];
            const int q = fe_point_of(kind, k, p);
            fe_gradient_at(kind, x, gx, k, p, J);
            fe_gradient_at(kind, f, gu, k, p, G);
            fe_point_stress(kind, op, fe_weight_at(kind, q), m, element, q, J, G, A, stress);
            fe_own_gradient(kind, A, corner, q, g);
            dof_csr_row(own_row, stress, row);
            force += row[0] * g[0] + row[1] * g[1] + row[2] * g[2];
        }
    }
    return force;
}

/* Row `axis` of the diagonal block of the corner. */
FE_BODY void dof_csr_block_row(int kind, const fe_view *m, fe_index e, fe_index corner, int axis,
                               const fe_real own[3], fe_real row[3])
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], block[6];
    const fe_element element = fe_element_open(m, e, dof_csr_turn(kind, corner));
    fe_element_nodes(kind, m, element, node);
    dof_csr_read(kind, node, 0, fe_coordinates(m), own, x);
    if (fe_is_quadratic(kind))
        fe_corner_diagonal(kind, m, element, x, corner, block);
    else
        fe_element_diagonal(kind, m, element, x, 0, block);
    dof_csr_row(axis, block, row);
}

#ifdef __CUDACC__
/* What the lane's point of a quadratic element gives to the force along the axis. All lanes of the warp take
 * part. */
FE_BODY fe_real dof_csr_spread_force(int kind, int op, const fe_view *m, const fe_spread *s, int e,
                                     int corner, int axis, const fe_number *displacement)
{
    int node[FE_SPREAD_HELD];
    fe_real x[FE_SPREAD_HELD][3], u[FE_SPREAD_HELD][3], A[3][3], stress[6], g[3], row[3];
    const int turns = dof_csr_turns(kind, op), from = turns ? axis : 0;
    fe_spread_nodes(kind, s, m, e, node);
    FE_UNROLL_FOR (int b = 0; b < fe_spread_held(kind); b++) {
        dof_csr_read3(fe_coordinates(m), node[b], from, x[b]);
        dof_csr_read3(displacement, node[b], from, u[b]);
    }
    fe_spread_stress(kind, op, m, fe_spread_element(kind, s, m, e), s, x, u, A, stress);
    fe_spread_own(kind, s, A, corner, g);
    dof_csr_row(turns ? 0 : axis, stress, row);
    return row[0] * g[0] + row[1] * g[1] + row[2] * g[2];
}
#endif

#endif
