/* Multigrid by order: between a mesh of quadratic elements and the linear elements on its vertices.
 *
 * The finest level has all nodes, and is smoothed with the strategy's own product. The next one has the
 * vertices alone, and the elements of the same mesh by their first 4 or 8 corners: a linear problem, of which
 * vertices.c makes the view, with a hierarchy of its own (setup_levels.c). A displacement of the vertices
 * becomes one of all nodes by interpolation: a node in the middle of an edge, a face or a cell has the mean
 * of the vertices there. The transpose restricts residuals. Constrained components are zero in both; D^-1 is
 * zero there, which tells them.
 *
 * On straight sides the linear space is part of the quadratic one, so the linear operator is what Galerkin's
 * product would give. */
#ifndef FE_ORDERS_H
#define FE_ORDERS_H

#include "common/multigrid/multigrid.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which nodes of an element's edges, faces or cell a corner is the mean of: as many vertices as returned, 1,
 * 2, 4 or 8, in the linear element's numbering of a view. */
FE_BOTH int fe_order_parents(int kind, int corner, int parent[8])
{
    int n = 0;
    if (kind == FE_TET10) {
        /* edges 01 12 20 03 23 13, four bits for each end */
        const unsigned ends[6] = {0x01, 0x12, 0x20, 0x03, 0x23, 0x13};
        if (corner < 4)
            parent[n++] = corner;
        else
            parent[n++] = (int)(ends[corner - 4] >> 4), parent[n++] = (int)(ends[corner - 4] & 15);
        return n;
    }
    for (int k = 0; k < 8; k++) {
        int meets = 1;
        for (int c = 0, rest = corner; c < 3; c++, rest /= 3)
            meets &= rest % 3 == 1 || rest % 3 == 2 * (k >> c & 1);
        if (meets) parent[n++] = k;
    }
    return n;
}
/* The corner that is vertex k. */
FE_BOTH int fe_order_corner(int kind, int k)
{
    return kind == FE_HEX27 ? 2 * (k & 1) + 6 * (k >> 1 & 1) + 18 * (k >> 2 & 1) : k;
}
FE_BOTH int fe_order_is_vertex(int kind, int corner)
{
    int parent[8];
    return fe_order_parents(kind, corner, parent) == 1;
}
/* An element and one of its corners as one number. */
enum { FE_ORDER_CORNERS = 32 };

/* The interpolation and its transpose, on the device. */
typedef struct fe_order_transfer {
    int n_up, n_down;       /* owned nodes; owned vertices */
    int *up_first, *up;     /* [n_local + 1] vertices that each node is the mean of */
    int *down_first, *down; /* [n_down + 1] the transpose: 4 × node + the power of two that divides it */
} fe_order_transfer;

typedef struct fe_orders {
    fe_problem problem; /* of the linear elements */
    void *work;         /* of the strategy's table in double precision */
    fe_halo halo;
    int *number; /* [n_local + 1] vertices before a node; those at n_local: all */
    fe_order_transfer transfer;
    int n_fixed, *fixed; /* constrained components of vertices */
    fe_multigrid vertices;
} fe_orders;

/* What find counts: vertices among the nodes that touch interior elements only, among all owned ones, and
 * among all of the rank; and the entries of `up`. */
typedef struct fe_order_counts {
    int interior, owned, local, up;
} fe_order_counts;

/* Steps, a table for the host and for CUDA: their arrays are in its memory, the device's. */
typedef struct fe_order_steps {
    /* Set-up, of a problem p of quadratic elements. find: o->number, up_first, and its counts; fill: what
     * these give room for, which is allocated by then: x, conn, corner_first and corner of the linear view,
     * and the rest of the transfer. */
    fe_status (*open)(const fe_problem *p, void **own);
    void (*close)(void *own);
    fe_status (*find)(void *own, const fe_problem *p, fe_orders *o, fe_order_counts *counts);
    fe_status (*fill)(void *own, const fe_problem *p, fe_orders *o);
    /* o->fixed and n_fixed from n constrained components `at`, both ascending */
    fe_status (*constrain)(const fe_problem *p, int n, const int *at, fe_orders *o);
    /* D^-1 [][6] becomes zero in n components */
    fe_status (*clear_inverse)(fe_device *d, int n, const int *at, float *inverse);

    /* The cycle. r = b - A x of n nodes, zero where D^-1 is; the same in double precision: of r alone. */
    fe_status (*residual)(fe_device *d, int n, const float *inverse, const float *b, const float *Ax,
                          float *r);
    fe_status (*exact_mask)(fe_device *d, int n, const float *inverse, double *r);
    /* The vertices' right-hand side from r, and their first sweep */
    fe_status (*restrict_to)(fe_device *d, const fe_order_transfer *t, const float *r,
                             const fe_fine_start *start);
    fe_status (*exact_restrict)(fe_device *d, const fe_order_transfer *t, const double *r, double *b);
    /* x += the mean of the vertices' y where D^-1 is not zero; clear [n][3] becomes zero unless it is NULL */
    fe_status (*prolong)(fe_device *d, const fe_order_transfer *t, const float *inverse, const float *y,
                         float *x, float *clear);
    fe_status (*exact_prolong)(fe_device *d, const fe_order_transfer *t, const float *inverse,
                               const double *y, double *x);
} fe_order_steps;

extern const fe_order_steps fe_order_steps_host;
#if FE_HAVE_CUDA
extern const fe_order_steps fe_order_steps_cuda;
#endif
static inline const fe_order_steps *fe_order_steps_of(const fe_device *d)
{
#if FE_HAVE_CUDA
    if (d->ops->on_gpu) return &fe_order_steps_cuda;
#endif
    (void)d;
    return &fe_order_steps_host;
}

/* Which nodes are vertices, and the problem of the linear elements on them, with its halo, which is attached
 * (FE_HALO_VERTICES). Everything stays as long as the device. */
fe_status fe_orders_open(const fe_problem *p, fe_comm *comm, fe_orders **out);
/* Their constrained components from those of all nodes. */
fe_status fe_orders_constrain(fe_orders *o, const fe_problem *p, int n_fixed, const int *at);

#ifdef __cplusplus
}
#endif
#endif
