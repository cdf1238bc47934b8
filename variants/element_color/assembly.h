/* element_color: elements of one colour share no node, so that a thread adds its corner forces by plain reads
 * and writes. Colours follow each other in a fixed order: no atomics, the same bits every time. */
#ifndef ELEMENT_COLOR_ASSEMBLY_H
#define ELEMENT_COLOR_ASSEMBLY_H

#include "common/physics/element.h"
#include "common/variant.h"

/* Elements sorted by part and colour: place i holds element elem[i]. What jacvec reads of an element is
 * stored at its place, so that neighbouring threads read neighbouring numbers; `material` keeps it up to
 * date. */
typedef struct element_color_order {
    int n_color[2];             /* of the interior and of the border part */
    const int *first[2];        /* [n_color + 1] places of each colour; host memory */
    const int *elem;            /* [ld] */
    const int *conn;            /* [n_corner][ld] */
    const uint8_t *material_of; /* [ld] NULL where there is one material */
    uint8_t *flags;             /* [ld] of the trial state */
    fe_tangent_number *tangent; /* point array by place */
} element_color_order;

#ifdef __cplusplus
extern "C" {
#endif
/* Colours both parts; *work becomes an element_color_order that lives as long as the device. tangent_bytes:
 * of a number of the tangent. */
fe_status element_color_open(fe_problem *p, size_t tangent_bytes, void **work);
#ifdef __cplusplus
}
#endif

static inline fe_status element_color_setup(fe_problem *p, void **work)
{
    return element_color_open(p, sizeof(fe_tangent_number), work);
}

/* The same order: elastic products read no tangent of it. */
static inline fe_status element_color_setup_from(fe_problem *p, void *in_double, void **work)
{
    (void)p;
    *work = in_double;
    return FE_OK;
}

/* The view with places instead of elements; states stay in the order of the elements, and so do materials for
 * the residual, which opens elements. */
static inline fe_view element_color_view(const fe_problem *p, int is_residual,
                                         const element_color_order *order)
{
    fe_view m = p->view;
    if (!is_residual) m.material_of = order->material_of;
    m.conn = order->conn, m.trial.flags = order->flags, m.tangent = (fe_stored_number *)order->tangent;
    return m;
}

/* Copies the flags and component c of point q of the tangent to place i. */
FE_BOTH void element_color_sort(int kind, const fe_view *m, const element_color_order *order, int c, int q,
                                int i)
{
    const int e = order->elem[i];
    const uint8_t flags = m->trial.flags[e];
    if (c == 0 && q == 0) order->flags[i] = flags;
    if (flags & FE_SOFTENED)
        order->tangent[fe_point_index(kind, c, q, i)] = fe_tangents(m)[fe_point_index(kind, c, q, e)];
}

/* y[node] += f for the first `active` lanes. The nodes differ, but the compiler cannot know that. So on the
 * device all sums are read before the first one is written, and no read waits for a write. */
#ifdef __CUDACC__
FE_BODY void element_color_add(int n, const fe_index node[8], int active, fe_real f[8][3], fe_number *y)
{
    fe_real sum[8][3];
    (void)active;
    FE_UNROLL_FOR (int b = 0; b < n; b++) fe_read3(y, node[b], sum[b]);
    FE_UNROLL_FOR (int b = 0; b < n; b++)
        FE_UNROLL_FOR (int c = 0; c < 3; c++) y[3 * (size_t)node[b] + c] = sum[b][c] + f[b][c];
}
#else
FE_BODY void element_color_add(int n, const fe_index node[8], int active, fe_real f[8][3], fe_number *y)
{
    FE_UNROLL_FOR (int b = 0; b < n; b++) fe_add3(y, node[b], active, 0, f[b]);
}
#endif

/* y[node] += corner forces of the elements at places i. The residual reads the committed state. */
FE_BODY void element_color_forces(int kind, int op, const fe_view *m, const int *elem, fe_index i, int active,
                                  const fe_number *displacement, fe_number *y)
{
    fe_index node[8];
    fe_real x[8][3], f[8][3], force[8][3];
    fe_element element = fe_element_load(kind, m, i, fe_no_turn(), node, x);
    if (fe_is_residual(op)) element = fe_element_open(m, fe_read_index(elem, i, 0), fe_no_turn());
    if (op == FE_JACVEC_FULL)
        element.e = fe_read_index(elem, i, 0); /* full tangents stay in its order, too */
    fe_element_read(kind, node, displacement, f);
    fe_element_forces(kind, op, m, element, x, f, force);
    element_color_add(fe_corners(kind), node, active, force, y);
}

/* d[node] += diagonal blocks of the elements at places i. */
FE_BODY void element_color_diagonal(int kind, const fe_view *m, fe_index i, int active, fe_number *d)
{
    fe_index node[8];
    fe_real x[8][3], block[6], rows[3][3];
    const fe_element element = fe_element_load(kind, m, i, fe_no_turn(), node, x);
    FE_UNROLL_LARGE_FOR (int b = 0; b < fe_corners(kind); b++) {
        fe_element_diagonal(kind, m, element, x, b, block);
        fe_block_rows(block, rows);
        FE_UNROLL_FOR (int r = 0; r < 3; r++) fe_add3(d, fe_times3(node[b], r), active, 0, rows[r]);
    }
}

#endif
