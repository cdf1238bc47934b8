/* Bodies that hold each other only: the smallest eigenvalue of their springs.
 *
 * Each body has six motions, and each node that it shares, or whose components are fixed, the rows of
 * rigid.h: C v = 0 for motions v that leave no gap. G = CᵀC is the stiffness of unit springs in these places,
 * with blocks of 6 x 6. Bodies are numbered by breadth-first search, so that G is a band, and inverse
 * iteration with LAPACK's band solver gives v with the smallest |C v|: a linkage where that is no more than
 * rounding. */
#include "common/problem/joints.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* |C v| of a true linkage is some 1e-11 |v|, of bodies that hold each other across 1000 others 1e-5. */
static const double least_gap = 1e-7;
/* The band's numbers, and multiplications to factorise it: 1 GB, and some 20 s on two cores. */
static const double most_numbers = 1.3e8, most_work = 2e11;

enum { SHIFTS = 8 };

typedef struct linkage {
    const fe_joints *j;
    int n, *order, *place; /* [n] bodies that are not held in their order; [n_body] places there, -1: held */
    fe_rigid *frame;       /* [n] */
    int n_below;           /* rows below the diagonal */
    double *band;          /* [6 n][n_below + 1] columns of G's lower half */
    double *motion;        /* [6 n] */
} linkage;

/* --- order ------------------------------------------------------------------------------------------- */

/* Bodies that can be reached from `seed`, in their order, from place `begin` on. Returns the next place. */
static int visit(linkage *l, int seed, int begin)
{
    const fe_joints *j = l->j;
    int end = begin;
    l->order[end] = seed, l->place[seed] = end, end++;
    for (int at = begin; at < end; at++)
        for (int i = j->node_first[l->order[at]]; i < j->node_first[l->order[at] + 1]; i++)
            for (int k = j->nodes[i], o = j->body_first[k]; o < j->body_first[k + 1]; o++) {
                const int b = j->bodies[o];
                if (j->is_held[b] || l->place[b] >= 0) continue;
                l->order[end] = b, l->place[b] = end, end++;
            }
    return end;
}

/* The search begins anew with the body that it found last: one at an end. */
static void number(linkage *l)
{
    for (int b = 0; b < l->j->n_body; b++) l->place[b] = -1;
    for (int b = 0; b < l->j->n_body; b++) {
        if (l->j->is_held[b] || l->place[b] >= 0) continue;
        const int end = visit(l, b, l->n), last = l->order[end - 1];
        for (int at = l->n; at < end; at++) l->place[l->order[at]] = -1;
        l->n = visit(l, last, l->n);
    }
}

/* --- constraints ------------------------------------------------------------------------------------- */

/* One row of C: of one body, or of a body less another (-1: none). */
typedef struct constraint {
    int body[2]; /* places */
    double row[2][FE_N_MOTION];
} constraint;

typedef void (*visitor)(linkage *l, const constraint *c, void *context);

static void each_at_node(linkage *l, int k, visitor visit_one, void *context)
{
    const fe_joints *j = l->j;
    const double *x = j->mesh->x + 3 * (size_t)j->node[k];
    constraint c;
    for (int i = 0; i < 3; i++) {
        const int is_fixed = j->axes[k] >> i & 1;
        c.body[0] = c.body[1] = -1;
        for (int o = j->body_first[k]; o < j->body_first[k + 1]; o++) {
            const int at = l->place[j->bodies[o]], side = !is_fixed && c.body[0] >= 0;
            if (at < 0) continue;
            c.body[side] = at;
            fe_rigid_row(&l->frame[at], x, i, c.row[side]);
            if (is_fixed || side) visit_one(l, &c, context);
        }
    }
}

static void each(linkage *l, visitor visit_one, void *context)
{
    for (int k = 0; k < l->j->n; k++) each_at_node(l, k, visit_one, context);
}

static void widen(linkage *l, const constraint *c, void *context)
{
    (void)context;
    const int apart = c->body[1] < 0 ? 0 : abs(c->body[0] - c->body[1]);
    if (FE_N_MOTION * (apart + 1) - 1 > l->n_below) l->n_below = FE_N_MOTION * (apart + 1) - 1;
}

/* G += rowᵀ row, its lower half. */
static void add_row(linkage *l, const constraint *c, void *context)
{
    (void)context;
    for (int s = 0; s < 2 && c->body[s] >= 0; s++)
        for (int t = 0; t < 2 && c->body[t] >= 0; t++)
            for (int p = 0; p < FE_N_MOTION; p++)
                for (int q = 0; q < FE_N_MOTION; q++) {
                    const int row = FE_N_MOTION * c->body[s] + p, column = FE_N_MOTION * c->body[t] + q;
                    if (row < column) continue;
                    l->band[(size_t)column * (l->n_below + 1) + (row - column)] +=
                        (s == t ? 1 : -1) * c->row[s][p] * c->row[t][q];
                }
}

/* context += (row v)² */
static void add_gap(linkage *l, const constraint *c, void *context)
{
    double gap = 0;
    for (int s = 0; s < 2 && c->body[s] >= 0; s++)
        for (int p = 0; p < FE_N_MOTION; p++)
            gap += (s ? -1 : 1) * c->row[s][p] * l->motion[FE_N_MOTION * c->body[s] + p];
    *(double *)context += gap * gap;
}

/* --- the softest motion ------------------------------------------------------------------------------ */

static double length_of(int n, const double *v)
{
    double square = 0;
    for (int i = 0; i < n; i++) square += v[i] * v[i];
    return sqrt(square);
}

static fe_status soften(linkage *l)
{
    const int n = FE_N_MOTION * l->n, ld = l->n_below + 1;
    double largest = 0;
    for (int i = 0; i < n; i++) largest = fmax(largest, l->band[(size_t)i * ld]);
    for (int i = 0; i < n; i++) l->band[(size_t)i * ld] += 1e-13 * largest;
    if (LAPACKE_dpbtrf_work(LAPACK_COL_MAJOR, 'L', n, l->n_below, l->band, ld))
        return fe_fail(FE_FAILED, "hinges of the mesh: LAPACK's dpbtrf failed");
    for (int i = 0; i < n; i++) l->motion[i] = (double)(fe_mix((uint64_t)i) >> 11) * 0x1p-53 - 0.5;
    for (int k = 0; k < SHIFTS; k++) {
        const double length = length_of(n, l->motion);
        for (int i = 0; i < n; i++) l->motion[i] /= length;
        if (LAPACKE_dpbtrs_work(LAPACK_COL_MAJOR, 'L', n, l->n_below, 1, l->band, ld, l->motion, n))
            return fe_fail(FE_FAILED, "hinges of the mesh: LAPACK's dpbtrs failed");
    }
    return FE_OK;
}

/* --- where it turns ---------------------------------------------------------------------------------- */

/* The rotation of the body at a place, 0 for one that is held. */
static void turn_of(const linkage *l, int at, double w[3])
{
    for (int i = 0; i < 3; i++) w[i] = at < 0 ? 0 : l->motion[FE_N_MOTION * at + 3 + i] / l->frame[at].size;
}

/* The two bodies at a node that turn most against each other: of neighbours, everywhere. A node whose three
 * components are fixed stands for a body that is held. */
static void find_turn(const linkage *l, int pair[2], int *node, double axis[3])
{
    const fe_joints *j = l->j;
    double most = 0, v[3], w[3];
    for (int k = 0; k < j->n; k++)
        for (int o = j->body_first[k]; o < j->body_first[k + 1]; o++) {
            const int at = l->place[j->bodies[o]];
            int other = j->axes[k] == 7 ? -1 : l->place[j->bodies[j->body_first[k]]];
            if (at < 0 || at == other) continue;
            turn_of(l, at, w), turn_of(l, other, v);
            for (int i = 0; i < 3; i++) w[i] -= v[i];
            if (length_of(3, w) * l->frame[at].size <= most * (1 + 1e-6)) continue; /* the first of equals */
            most = length_of(3, w) * l->frame[at].size;
            pair[0] = at, pair[1] = other, *node = k;
            memcpy(axis, w, sizeof w);
        }
}

static int has_body(const linkage *l, int k, int at)
{
    for (int o = l->j->body_first[k]; o < l->j->body_first[k + 1]; o++)
        if (l->place[l->j->bodies[o]] == at) return 1;
    return 0;
}

static void describe(const linkage *l, fe_mechanism *m)
{
    const fe_joints *j = l->j;
    int pair[2] = {0, -1}, node = 0;
    m->moves = 1;
    m->motion = (fe_motion){.n_free = 1, .rotates = 1};
    find_turn(l, pair, &node, m->motion.axis);
    fe_rigid_tidy(m->motion.axis);
    memcpy(m->motion.point, j->mesh->x + 3 * (size_t)j->node[node], sizeof m->motion.point);
    m->hinge = pair[1] < 0 ? FE_HINGE_GROUND : FE_HINGE_LINKAGE;
    const int body = l->order[pair[0]], other = pair[1] < 0 ? -1 : l->order[pair[1]];
    for (int e = j->mesh->n_elem - 1; e >= 0; e--) {
        if (j->body[e] == body) m->n_elem++, m->elem = e;
        if (j->body[e] == other) m->other = e;
    }
    for (int i = j->node_first[body]; i < j->node_first[body + 1]; i++) {
        const int k = j->nodes[i];
        if (pair[1] < 0 ? j->axes[k] != 7 : !has_body(l, k, pair[1])) continue;
        if (m->n_shared++ < FE_NAMED_NODES) m->shared[m->n_shared - 1] = j->node[k];
    }
}

static fe_status examine(linkage *l, fe_mechanism *m)
{
    const fe_joints *j = l->j;
    fe_hold *hold = NULL;
    double gap = 0;
    FE_ALLOCATE(l->order, j->n_body, "bodies of a linkage");
    FE_ALLOCATE(l->place, j->n_body, "bodies of a linkage");
    number(l);
    if (!l->n) return FE_OK;
    FE_ALLOCATE(l->frame, l->n, "bodies of a linkage");
    FE_ALLOCATE(hold, j->n, "bodies of a linkage");
    for (int at = 0; at < l->n; at++) fe_joints_hold(j, l->order[at], 1, hold, &l->frame[at]);
    free(hold);
    each(l, widen, NULL);
    const double numbers = (double)FE_N_MOTION * l->n * (l->n_below + 1);
    if (numbers > most_numbers || numbers * l->n_below > most_work) return m->n_unknown = l->n, FE_OK;
    FE_ALLOCATE(l->band, (size_t)FE_N_MOTION * l->n * (l->n_below + 1), "springs of a linkage");
    FE_ALLOCATE(l->motion, (size_t)FE_N_MOTION * l->n, "motions of a linkage");
    each(l, add_row, NULL);
    FE_TRY(soften(l));
    each(l, add_gap, &gap);
    if (sqrt(gap) < least_gap * length_of(FE_N_MOTION * l->n, l->motion)) describe(l, m);
    return FE_OK;
}

fe_status fe_linkage_find(const fe_joints *j, fe_mechanism *m)
{
    linkage l = {.j = j};
    const fe_status status = examine(&l, m);
    free(l.order);
    free(l.place);
    free(l.frame);
    free(l.band);
    free(l.motion);
    return status;
}
