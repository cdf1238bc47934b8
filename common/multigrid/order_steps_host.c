/* Steps of multigrid by order on the host. */
#include "common/multigrid/orders.h"

#include <stdlib.h>

/* --- set-up ------------------------------------------------------------------------------------------ */

/* Of each local node an element that has it, and its corner there; the first of them. */
typedef struct numbering {
    int *place; /* [n_local] FE_ORDER_CORNERS × element + corner */
} numbering;

static void close_numbering(void *own)
{
    numbering *s = own;
    if (!s) return;
    free(s->place);
    free(s);
}

static fe_status open_numbering(const fe_problem *p, void **own)
{
    numbering *s = NULL;
    FE_ALLOCATE(s, 1, "vertices");
    *own = s;
    FE_ALLOCATE(s->place, p->view.n_local, "vertices");
    return FE_OK;
}

static int node_of(const fe_view *m, int element, int corner)
{
    return m->conn[(size_t)corner * (size_t)m->ld + (size_t)element];
}

static fe_status find(void *own, const fe_problem *p, fe_orders *o, fe_order_counts *counts)
{
    const numbering *s = own;
    const fe_view *m = &p->view;
    int *const number = o->number, *const up = o->transfer.up_first, parent[8];
    for (int i = 0; i < m->n_local; i++) s->place[i] = INT32_MAX;
    for (int e = m->n_elem - 1; e >= 0; e--)
        for (int c = fe_corners(p->kind) - 1; c >= 0; c--)
            s->place[node_of(m, e, c)] = FE_ORDER_CORNERS * e + c;
    number[0] = up[0] = 0;
    for (int i = 0; i < m->n_local; i++) {
        const int n = fe_order_parents(p->kind, s->place[i] % FE_ORDER_CORNERS, parent);
        number[i + 1] = number[i] + (n == 1), up[i + 1] = up[i] + n;
    }
    *counts =
        (fe_order_counts){number[m->n_node_interior], number[m->n_owned], number[m->n_local], up[m->n_local]};
    return FE_OK;
}

/* Rows of corners of owned vertices, which are in as many elements as before. */
static void fill_corners(const fe_problem *p, const fe_orders *o)
{
    const fe_view *m = &p->view, *v = &o->problem.view;
    int *const first = (int *)v->corner_first, *const corner = (int *)v->corner, n = 0;
    for (int i = 0; i < m->n_owned; i++) {
        if (o->number[i + 1] == o->number[i]) continue;
        first[o->number[i]] = n;
        for (int at = m->corner_first[i]; at < m->corner_first[i + 1]; at++) {
            const int e = fe_code_element(p->kind, m->corner[at]);
            int k = 0;
            while (node_of(m, e, fe_order_corner(p->kind, k)) != i) k++;
            corner[n++] = 8 * e + k;
        }
    }
    first[v->n_owned] = n;
}

static void fill_up(const numbering *s, const fe_problem *p, const fe_orders *o)
{
    const fe_view *m = &p->view;
    const int threads = p->device->threads;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < m->n_local; i++) {
        const int e = s->place[i] / FE_ORDER_CORNERS;
        int parent[8];
        const int n = fe_order_parents(p->kind, s->place[i] % FE_ORDER_CORNERS, parent);
        for (int k = 0; k < n; k++)
            o->transfer.up[o->transfer.up_first[i] + k] =
                o->number[node_of(m, e, fe_order_corner(p->kind, parent[k]))];
    }
}

/* The transpose, of owned vertices: counts, then write positions, then starts. */
static void fill_down(const fe_problem *p, const fe_orders *o)
{
    const fe_order_transfer *t = &o->transfer;
    const int n_local = p->view.n_local;
    int *const count = t->down_first + 1;
    for (int i = 0; i <= t->n_down; i++) t->down_first[i] = 0;
    for (int k = 0; k < t->up_first[n_local]; k++)
        if (t->up[k] + 1 < t->n_down) count[t->up[k] + 1]++;
    for (int i = 0; i + 1 < t->n_down; i++) count[i + 1] += count[i];
    for (int i = 0; i < n_local; i++) {
        const int first = t->up_first[i], n = t->up_first[i + 1] - first;
        for (int k = first; k < first + n; k++)
            if (t->up[k] < t->n_down)
                t->down[count[t->up[k]]++] = 4 * i + (n == 1 ? 0 : n == 2 ? 1 : n == 4 ? 2 : 3);
    }
}

static fe_status fill(void *own, const fe_problem *p, fe_orders *o)
{
    const fe_view *m = &p->view, *v = &o->problem.view;
    double *const x = (double *)v->x;
    int *const conn = (int *)v->conn;
    const int threads = p->device->threads;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < m->n_local; i++)
        for (size_t c = 0; c < 3 && o->number[i + 1] > o->number[i]; c++)
            x[3 * (size_t)o->number[i] + c] = m->x[3 * (size_t)i + c];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int e = 0; e < m->ld; e++)
        for (int k = 0; k < fe_vertices(p->kind); k++)
            conn[(size_t)k * (size_t)m->ld + (size_t)e] =
                o->number[node_of(m, e, fe_order_corner(p->kind, k))];
    fill_corners(p, o);
    fill_up(own, p, o);
    fill_down(p, o);
    return FE_OK;
}

static fe_status constrain(const fe_problem *p, int n, const int *at, fe_orders *o)
{
    (void)p;
    o->n_fixed = 0;
    for (int i = 0; i < n; i++) {
        const int node = at[i] / 3;
        if (o->number[node + 1] > o->number[node]) o->fixed[o->n_fixed++] = 3 * o->number[node] + at[i] % 3;
    }
    return FE_OK;
}

static fe_status clear_inverse(fe_device *d, int n, const int *at, float *inverse)
{
    (void)d;
    for (int i = 0; i < n; i++) inverse[6 * (size_t)(at[i] / 3) + (size_t)(at[i] % 3)] = 0.0f;
    return FE_OK;
}

/* --- the cycle --------------------------------------------------------------------------------------- */

static int is_free(const float *inverse, size_t i, size_t c) { return inverse[6 * i + c] != 0.0f; }

static fe_status residual(fe_device *d, int n, const float *inverse, const float *b, const float *Ax,
                          float *r)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t i = 0; i < (size_t)n; i++)
        for (size_t c = 0; c < 3; c++)
            r[3 * i + c] = is_free(inverse, i, c) ? b[3 * i + c] - Ax[3 * i + c] : 0.0f;
    return FE_OK;
}

static fe_status exact_mask(fe_device *d, int n, const float *inverse, double *r)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t i = 0; i < (size_t)n; i++)
        for (size_t c = 0; c < 3; c++)
            if (!is_free(inverse, i, c)) r[3 * i + c] = 0.0;
    return FE_OK;
}

/* A power of two from 1 to 8, inverted. */
static inline double share(int power) { return 1.0 / (1 << power); }

static fe_status restrict_to(fe_device *d, const fe_order_transfer *t, const float *r,
                             const fe_fine_start *start)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < t->n_down; i++) {
        double sum[3] = {0.0};
        for (int k = t->down_first[i]; k < t->down_first[i + 1]; k++)
            for (size_t c = 0; c < 3; c++)
                sum[c] += share(t->down[k] & 3) * (double)r[3 * (size_t)(t->down[k] >> 2) + c];
        fe_fine_start_node(start, i, sum);
    }
    return FE_OK;
}

static fe_status exact_restrict(fe_device *d, const fe_order_transfer *t, const double *r, double *b)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < t->n_down; i++)
        for (size_t c = 0; c < 3; c++) {
            double sum = 0.0;
            for (int k = t->down_first[i]; k < t->down_first[i + 1]; k++)
                sum += share(t->down[k] & 3) * r[3 * (size_t)(t->down[k] >> 2) + c];
            b[3 * (size_t)i + c] = sum;
        }
    return FE_OK;
}

static fe_status prolong(fe_device *d, const fe_order_transfer *t, const float *inverse, const float *y,
                         float *x, float *clear)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < t->n_up; i++) {
        const int first = t->up_first[i], n = t->up_first[i + 1] - first;
        for (size_t c = 0, j = 3 * (size_t)i; c < 3; c++, j++) {
            float sum = 0.0f;
            for (int k = 0; k < n; k++) sum += y[3 * (size_t)t->up[first + k] + c];
            if (is_free(inverse, (size_t)i, c)) x[j] += sum / (float)n;
            if (clear) clear[j] = 0.0f;
        }
    }
    return FE_OK;
}

static fe_status exact_prolong(fe_device *d, const fe_order_transfer *t, const float *inverse,
                               const double *y, double *x)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < t->n_up; i++) {
        const int first = t->up_first[i], n = t->up_first[i + 1] - first;
        for (size_t c = 0; c < 3; c++) {
            double sum = 0.0;
            for (int k = 0; k < n; k++) sum += y[3 * (size_t)t->up[first + k] + c];
            if (is_free(inverse, (size_t)i, c)) x[3 * (size_t)i + c] += sum / n;
        }
    }
    return FE_OK;
}

const fe_order_steps fe_order_steps_host = {
    .open = open_numbering,
    .close = close_numbering,
    .find = find,
    .fill = fill,
    .constrain = constrain,
    .clear_inverse = clear_inverse,
    .residual = residual,
    .exact_mask = exact_mask,
    .restrict_to = restrict_to,
    .exact_restrict = exact_restrict,
    .prolong = prolong,
    .exact_prolong = exact_prolong,
};
