/* dof_csr: one thread computes one entry, direction `axis` of one node: a gather three times finer than by
 * node. It sees space rotated so that its direction is x, and each element at its node turned so that the
 * node is corner 0: of the stress it needs the first row alone, and no table is indexed at run time. */
#ifndef DOF_CSR_ASSEMBLY_H
#define DOF_CSR_ASSEMBLY_H

#include "common/physics/element.h"

/* p[3i + axis], p[3i + axis + 1], p[3i + axis + 2], axes mod 3. On the device the three threads of a node
 * read the same 24 bytes. */
#ifdef __CUDACC__
FE_BODY void dof_csr_read3(const double *__restrict__ p, fe_index i, int axis, fe_real out[3])
{
    const double *q = p + 3 * (size_t)i;
    for (int c = 0; c < 3; c++) out[c] = q[axis + c < 3 ? axis + c : axis + c - 3];
}
#else
FE_BODY void dof_csr_read3(const double *p, fe_index i, int axis, fe_real out[3])
{
    fe_real f[3];
    fe_read3(p, i, f);
    for (int c = 0; c < 3; c++) out[c] = f[(axis + c) % 3];
}
#endif

/* A field at the corners of a turned element; corner 0 is known. */
FE_BODY void dof_csr_read(int kind, const fe_index node[8], int axis, const double *field,
                          const fe_real own[3], fe_real f[8][3])
{
    FE_UNROLL for (int c = 0; c < 3; c++) f[0][c] = own[c];
    FE_UNROLL for (int b = 1; b < fe_corners(kind); b++) dof_csr_read3(field, node[b], axis, f[b]);
}

FE_BODY fe_element dof_csr_open(int kind, const fe_view *m, fe_index e, fe_index turn, int axis,
                                fe_index node[8])
{
    fe_element element = fe_element_open(m, e, turn);
    element.axis = axis;
    fe_element_nodes(kind, m, element, node);
    return element;
}

/* Force on corner 0 of the turned elements along the axis. own: x and v there. */
FE_BODY fe_real dof_csr_force(int kind, int op, const fe_view *m, fe_index e, fe_index turn, int axis,
                              const double *v, fe_real own[2][3])
{
    fe_index node[8];
    fe_real x[8][3], f[8][3], force[3];
    const fe_element element = dof_csr_open(kind, m, e, turn, axis, node);
    dof_csr_read(kind, node, axis, m->x, own[0], x);
    dof_csr_read(kind, node, axis, v, own[1], f);
    fe_corner_force(kind, op, m, element, x, f, force);
    return force[0];
}

/* Row `axis` of the diagonal block of corner 0, its columns in the order axis, axis + 1, axis + 2. */
FE_BODY void dof_csr_block_row(int kind, const fe_view *m, fe_index e, fe_index turn, int axis,
                               const fe_real own[3], fe_real row[3])
{
    fe_index node[8];
    fe_real x[8][3], block[6];
    const fe_element element = dof_csr_open(kind, m, e, turn, axis, node);
    dof_csr_read(kind, node, axis, m->x, own, x);
    fe_element_diagonal(kind, m, element, x, 0, block);
    row[0] = block[0], row[1] = block[3], row[2] = block[5];
}

#endif
