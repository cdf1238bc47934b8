/* Frictionless contact of nodes with rigid obstacles: one rank's nodes, resident, and what is done with them.
 *
 * A list has the nodes of one entry of the problem's "contact" that the rank owns, each once. Passes over
 * lists run in their order, one after the other, so a node may be in several. The solver adds them to what a
 * strategy has computed: strategies know nothing of contact. */
#ifndef FE_CONTACT_H
#define FE_CONTACT_H

#include "common/backend/device.h"
#include "common/contact/obstacle.h"
#include "have/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers of each node at the end of a load step. */
enum {
    FE_CONTACT_GAP,
    FE_CONTACT_PRESSURE,
    FE_CONTACT_FORCE,                       /* of the obstacle on the body, three numbers */
    FE_CONTACT_AREA = FE_CONTACT_FORCE + 3, /* that of the node where it is closed, else 0 */
    FE_CONTACT_CLOSED,                      /* 1 or 0 */
    FE_CONTACT_OVERLAP,                     /* |gap| where it is closed, else 0 */
    FE_N_CONTACT_OUT
};

/* Device memory; kernels take it by value. */
typedef struct fe_contact_list {
    int n;
    const int *node;       /* [n] local, owned, each once */
    const double *x;       /* [n_local][3] the view's */
    const double *area;    /* [n] tributary area */
    const double *penalty; /* [n] pressure over overlap */
    const double *most;    /* [n] largest pressure that counts for the curvature (FE_CONTACT_STIFFEST) */
    double *multiplier;    /* [n] pressure so far, */
    double *accepted;      /* [n] and that of the last accepted increment */
    double *block;         /* [n][6] tangent at the last linearization: xx yy zz xy yz xz; 0 where open, */
    double *closed;        /* [n] 1 where it was closed there, else 0, */
    double *changed;       /* [n] 1 where the linearization before had it otherwise, */
    double *normal;        /* [n][3] and n without components that supports hold, of length 1; 0 where open */
    double *along;         /* [n] scratch of the preconditioner */
    double *out;           /* [FE_N_CONTACT_OUT][n] */
    double stiffness;      /* penalty over E / sqrt(area), the same for all nodes */
    fe_obstacle obstacle;  /* where it is now */
    int bilateral;         /* closed nodes stay closed in forces and tangent, also where they are pulled */
} fe_contact_list;

typedef struct fe_contact_operations {
    /* f -= area pressure n, of f_int */
    fe_status (*forces)(fe_device *d, const fe_contact_list *l, const double *displacement, double *f);
    /* block, closed, changed and normal at a displacement; held [3 n_owned]: components that supports hold */
    fe_status (*linearize)(fe_device *d, const fe_contact_list *l, const double *displacement,
                           const uint8_t *held);
    /* y += block v; D [n_owned][3][3] += block */
    fe_status (*product)(fe_device *d, const fe_contact_list *l, const double *v, double *y);
    fe_status (*diagonal)(fe_device *d, const fe_contact_list *l, double *D);
    /* Around a preconditioner that does not know of contact: fe_contact_before and _after below. */
    fe_status (*before)(fe_device *d, const fe_contact_list *l, double *r);
    fe_status (*after)(fe_device *d, const fe_contact_list *l, double *z);
    /* multiplier = pressure */
    fe_status (*augment)(fe_device *d, const fe_contact_list *l, const double *displacement);
    fe_status (*measure)(fe_device *d, const fe_contact_list *l, const double *displacement);
} fe_contact_operations;
extern const fe_contact_operations fe_contact_host;
#if FE_HAVE_CUDA
extern const fe_contact_operations fe_contact_cuda;
#endif

/* What one list is made of, in host memory. */
typedef struct fe_contact_nodes {
    int n;
    const int *node;     /* [n] local */
    const double *area;  /* [n] */
    const double *young; /* [n] E of the elements behind */
} fe_contact_nodes;

/* x: coordinates on the device. Memory goes with the device. */
fe_status fe_contact_list_open(fe_device *d, const fe_contact_nodes *nodes, const double *x, double stiffness,
                               fe_contact_list *l);
const fe_contact_operations *fe_contact_operations_of(const fe_device *d);

/* --- bodies, of node i of a list ----------------------------------------------------------------------- */

FE_BOTH double fe_contact_gap(const fe_contact_list *l, int i, const double *displacement, double n[3],
                              double *bend)
{
    const size_t row = 3 * (size_t)l->node[i];
    return fe_obstacle_gap(&l->obstacle, l->x + row, displacement + row, n, bend);
}

/* Whether the node counts as closed, and the pressure, which bilateral contact may have below 0. */
FE_BOTH int fe_contact_is_closed(const fe_contact_list *l, int i, double gap, double *pressure)
{
    *pressure = l->multiplier[i] - l->penalty[i] * gap;
    return *pressure > 0.0 || (l->bilateral && l->closed[i] > 0.0);
}

/* What the node adds to f_int. */
FE_BOTH void fe_contact_force(const fe_contact_list *l, int i, const double *displacement, double own[3])
{
    double n[3], bend, pressure;
    const double gap = fe_contact_gap(l, i, displacement, n, &bend),
                 force = fe_contact_is_closed(l, i, gap, &pressure) ? l->area[i] * pressure : 0.0;
    for (int c = 0; c < 3; c++) own[c] = -force * n[c];
}

FE_BOTH void fe_contact_linearize_at(const fe_contact_list *l, int i, const double *displacement,
                                     const uint8_t *held)
{
    double n[3], H[6], bend, pressure, square = 0.0;
    const double gap = fe_contact_gap(l, i, displacement, n, &bend),
                 closed = fe_contact_is_closed(l, i, gap, &pressure) ? 1.0 : 0.0,
                 bent = pressure < 0.0          ? 0.0
                        : pressure < l->most[i] ? pressure
                                                : l->most[i];
    fe_obstacle_curvature(&l->obstacle, n, bend, H);
    for (int k = 0; k < 6; k++) {
        const int a = k < 3 ? k : k == 4 ? 1 : 0, b = k < 3 ? k : k == 3 ? 1 : 2;
        l->block[6 * (size_t)i + k] = closed * l->area[i] * (l->penalty[i] * n[a] * n[b] - bent * H[k]);
    }
    for (int c = 0; c < 3; c++) {
        if (held[3 * (size_t)l->node[i] + c]) n[c] = 0.0;
        square += n[c] * n[c];
    }
    const double scale = square > 1e-6 ? closed / sqrt(square) : 0.0;
    for (int c = 0; c < 3; c++) l->normal[3 * (size_t)i + c] = scale * n[c];
    l->changed[i] = closed != l->closed[i] ? 1.0 : 0.0;
    l->closed[i] = closed;
}

/* What it adds to a product. */
FE_BOTH void fe_contact_product(const fe_contact_list *l, int i, const double *v, double own[3])
{
    const double *B = l->block + 6 * (size_t)i, *w = v + 3 * (size_t)l->node[i];
    own[0] = B[0] * w[0] + B[3] * w[1] + B[5] * w[2];
    own[1] = B[3] * w[0] + B[1] * w[1] + B[4] * w[2];
    own[2] = B[5] * w[0] + B[4] * w[1] + B[2] * w[2];
}

FE_BOTH void fe_contact_add3(const fe_contact_list *l, int i, const double own[3], double *y)
{
    for (int c = 0; c < 3; c++) y[3 * (size_t)l->node[i] + c] += own[c];
}

/* Entry k of 9 of its block, by rows. */
FE_BOTH double fe_contact_block_entry(const fe_contact_list *l, int i, int k)
{
    const int a = k / 3, b = k % 3;
    return l->block[6 * (size_t)i + (a == b ? a : a + b == 1 ? 3 : a + b == 3 ? 4 : 5)];
}

/* With m the free part of the normal and M a preconditioner of the body without obstacles, that with them is
 *     S M S + w m m^T / k,   S = 1 - (1 - sqrt(1 - w)) m m^T,
 * where k is about the stiffness of the closed node along m, and w the share that contact has of it. S keeps
 * M from moving nodes into the obstacle. Symmetric and positive like M. `before` makes S r and keeps m·r,
 * `after` the sum; of several lists in the opposite order. */
FE_BOTH double fe_contact_share(const fe_contact_list *l) { return l->stiffness / (1.0 + l->stiffness); }

FE_BOTH void fe_contact_before(const fe_contact_list *l, int i, double *r)
{
    const double *m = l->normal + 3 * (size_t)i, w = fe_contact_share(l);
    double *at = r + 3 * (size_t)l->node[i];
    const double along = m[0] * at[0] + m[1] * at[1] + m[2] * at[2];
    for (int c = 0; c < 3; c++) at[c] -= (1.0 - sqrt(1.0 - w)) * along * m[c];
    l->along[i] = along;
}

FE_BOTH void fe_contact_after(const fe_contact_list *l, int i, double *z)
{
    const double *m = l->normal + 3 * (size_t)i, w = fe_contact_share(l);
    double *at = z + 3 * (size_t)l->node[i];
    const double along = m[0] * at[0] + m[1] * at[1] + m[2] * at[2],
                 stiffness = l->area[i] * l->penalty[i] / w; /* of the body and of contact */
    for (int c = 0; c < 3; c++) at[c] += (w * l->along[i] / stiffness - (1.0 - sqrt(1.0 - w)) * along) * m[c];
}

FE_BOTH void fe_contact_augment_at(const fe_contact_list *l, int i, const double *displacement)
{
    double n[3], bend;
    const double gap = fe_contact_gap(l, i, displacement, n, &bend);
    l->multiplier[i] = fe_contact_pressure(l->multiplier[i], l->penalty[i], gap);
}

FE_BOTH void fe_contact_measure_at(const fe_contact_list *l, int i, const double *displacement)
{
    double n[3], bend;
    const double gap = fe_contact_gap(l, i, displacement, n, &bend),
                 pressure = fe_contact_pressure(l->multiplier[i], l->penalty[i], gap),
                 closed = pressure > 0.0 ? 1.0 : 0.0;
    const size_t at = (size_t)i, row = (size_t)l->n;
    l->out[FE_CONTACT_GAP * row + at] = gap;
    l->out[FE_CONTACT_PRESSURE * row + at] = pressure;
    for (int c = 0; c < 3; c++) l->out[(FE_CONTACT_FORCE + c) * row + at] = l->area[i] * pressure * n[c];
    l->out[FE_CONTACT_AREA * row + at] = closed * l->area[i];
    l->out[FE_CONTACT_CLOSED * row + at] = closed;
    l->out[FE_CONTACT_OVERLAP * row + at] = closed * fabs(gap);
}

#ifdef __cplusplus
}
#endif
#endif
