/* Steps of multigrid by order on the device: the twin of order_steps_host.c. */
#include "common/backend/cuda_scratch.h"
#include "common/multigrid/orders.h"

#include <stdlib.h>

enum { THREADS = 128, TEAM = 8 };

/* --- set-up ------------------------------------------------------------------------------------------ */

/* Of each local node an element that has it, and its corner there; the first of them. */
typedef struct numbering {
    fe_scratch scratch;
    int *place; /* [n_local] FE_ORDER_CORNERS × element + corner */
} numbering;

/* Per node: its place, and pairs of a vertex and the node that are sorted, at most eight, with their copies.
 */
enum { BYTES_PER_NODE = 100 };

static void close_numbering(void *own)
{
    numbering *s = (numbering *)own;
    if (!s) return;
    fe_scratch_close(&s->scratch);
    free(s);
}

static fe_status open_numbering(const fe_problem *p, void **own)
{
    numbering *s = NULL;
    const size_t n = (size_t)p->view.n_local;
    FE_ALLOCATE(s, 1, "vertices");
    *own = s;
    FE_TRY(fe_scratch_open(p->device, n * BYTES_PER_NODE + (1 << 20), &s->scratch));
    return fe_scratch_take(&s->scratch, n, &s->place);
}

FE_BODY int node_of(const fe_view *m, int element, int corner)
{
    return m->conn[(size_t)corner * m->ld + element];
}
FE_BODY bool is_vertex(const int *number, int i) { return number[i + 1] > number[i]; }

__global__ void __launch_bounds__(THREADS) find_places(fe_view m, int n_corner, int *place)
{
    const size_t t = blockIdx.x * (size_t)THREADS + threadIdx.x;
    const int e = (int)(t % (unsigned)m.n_elem), c = (int)(t / (unsigned)m.n_elem);
    if (c < n_corner) atomicMin(place + node_of(&m, e, c), FE_ORDER_CORNERS * e + c);
}
__global__ void __launch_bounds__(THREADS)
    count_parents(int kind, int n, const int *place, int *number, int *up)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    int parent[8];
    if (i >= n) return;
    up[i + 1] = fe_order_parents(kind, place[i] % FE_ORDER_CORNERS, parent);
    number[i + 1] = up[i + 1] == 1;
}

static fe_status find(void *own, const fe_problem *p, fe_orders *o, fe_order_counts *counts)
{
    numbering *s = (numbering *)own;
    fe_device *d = p->device;
    const fe_view *m = &p->view;
    const int n = m->n_local, n_corner = fe_corners(p->kind);
    int *const up = o->transfer.up_first;
    CUDA_TRY(cudaMemsetAsync(s->place, 0x7f, (size_t)n * sizeof *s->place, fe_cuda_stream(d)));
    FE_LAUNCH(d, (size_t)n_corner * m->n_elem, THREADS, find_places, *m, n_corner, s->place);
    FE_LAUNCH(d, n, THREADS, count_parents, p->kind, n, s->place, o->number, up);
    FE_TRY(fe_scratch_sums(&s->scratch, n, o->number));
    FE_TRY(d->ops->memory.download(d, sizeof(int), o->number + m->n_node_interior, &counts->interior));
    FE_TRY(d->ops->memory.download(d, sizeof(int), o->number + m->n_owned, &counts->owned));
    FE_TRY(d->ops->memory.download(d, sizeof(int), o->number + n, &counts->local));
    return fe_scratch_starts(&s->scratch, n, up, &counts->up);
}

/* Coordinates of vertices; lengths of their rows of corners, which are those of the nodes. */
__global__ void __launch_bounds__(THREADS)
    fill_nodes(fe_view m, const int *number, double *x, int *corner_first)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= m.n_local || !is_vertex(number, i)) return;
    const int v = number[i];
    for (int c = 0; c < 3; c++) x[3 * (size_t)v + c] = m.x[3 * (size_t)i + c];
    if (i < m.n_owned) corner_first[v + 1] = m.corner_first[i + 1] - m.corner_first[i];
}
__global__ void __launch_bounds__(THREADS) fill_conn(int kind, fe_view m, const int *number, int *conn)
{
    const size_t t = blockIdx.x * (size_t)THREADS + threadIdx.x;
    const int e = (int)(t % (unsigned)m.ld), k = (int)(t / (unsigned)m.ld);
    if (k < fe_vertices(kind)) conn[t] = number[node_of(&m, e, fe_order_corner(kind, k))];
}
__global__ void __launch_bounds__(THREADS)
    fill_corners(int kind, fe_view m, const int *number, const int *first, int *corner)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= m.n_owned || !is_vertex(number, i)) return;
    int n = first[number[i]];
    for (int at = m.corner_first[i]; at < m.corner_first[i + 1]; at++) {
        const int e = fe_code_element(kind, m.corner[at]);
        int k = 0;
        while (node_of(&m, e, fe_order_corner(kind, k)) != i) k++;
        corner[n++] = 8 * e + k;
    }
}

/* `up` of a node, and the pairs to be sorted: vertices that others own come last. */
__global__ void __launch_bounds__(THREADS) fill_up(int kind, fe_view m, const int *place, const int *number,
                                                   fe_order_transfer t, uint64_t *key, int *value)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    int parent[8];
    if (i >= m.n_local) return;
    const int e = place[i] / FE_ORDER_CORNERS, first = t.up_first[i],
              n = fe_order_parents(kind, place[i] % FE_ORDER_CORNERS, parent);
    for (int k = 0; k < n; k++) {
        const int v = number[node_of(&m, e, fe_order_corner(kind, parent[k]))];
        t.up[first + k] = v;
        key[first + k] = (uint64_t)min(v, t.n_down);
        value[first + k] = 4 * i + (n == 1 ? 0 : n == 2 ? 1 : n == 4 ? 2 : 3);
        if (v < t.n_down) atomicAdd(t.down_first + v + 1, 1);
    }
}

static fe_status fill_transfer(numbering *s, const fe_problem *p, fe_orders *o)
{
    fe_device *d = p->device;
    fe_order_transfer *t = &o->transfer;
    uint64_t *key;
    int *value, n_up;
    FE_TRY(d->ops->memory.download(d, sizeof n_up, t->up_first + p->view.n_local, &n_up));
    FE_TRY(fe_scratch_take(&s->scratch, (size_t)n_up, &key));
    FE_TRY(fe_scratch_take(&s->scratch, (size_t)n_up, &value));
    FE_LAUNCH(d, p->view.n_local, THREADS, fill_up, p->kind, p->view, s->place, o->number, *t, key, value);
    FE_TRY(fe_scratch_sums(&s->scratch, t->n_down, t->down_first));
    FE_TRY(fe_scratch_sort(&s->scratch, n_up, fe_bits_of(t->n_down + 1), &key, &value));
    CUDA_TRY(cudaMemcpyAsync(t->down, value, (size_t)n_up * sizeof *value, cudaMemcpyDeviceToDevice,
                             fe_cuda_stream(d)));
    return FE_OK;
}

static fe_status fill(void *own, const fe_problem *p, fe_orders *o)
{
    numbering *s = (numbering *)own;
    fe_device *d = p->device;
    const fe_view *m = &p->view, *v = &o->problem.view;
    int *const first = (int *)v->corner_first;
    FE_LAUNCH(d, m->n_local, THREADS, fill_nodes, *m, o->number, (double *)v->x, first);
    FE_TRY(fe_scratch_sums(&s->scratch, v->n_owned, first));
    FE_LAUNCH(d, (size_t)fe_vertices(p->kind) * m->ld, THREADS, fill_conn, p->kind, *m, o->number,
              (int *)v->conn);
    FE_LAUNCH(d, m->n_owned, THREADS, fill_corners, p->kind, *m, o->number, first, (int *)v->corner);
    return fill_transfer(s, p, o);
}

__global__ void __launch_bounds__(THREADS) count_fixed(int n, const int *at, const int *number, int *first)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) first[i + 1] = is_vertex(number, at[i] / 3);
}
__global__ void __launch_bounds__(THREADS)
    fill_fixed(int n, const int *at, const int *number, const int *first, int *fixed)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n && first[i + 1] > first[i]) fixed[first[i]] = 3 * number[at[i] / 3] + at[i] % 3;
}
static fe_status constrain(const fe_problem *p, int n, const int *at, fe_orders *o)
{
    fe_device *d = p->device;
    fe_scratch s = {};
    int *first = NULL;
    o->n_fixed = 0;
    if (n == 0) return FE_OK;
    fe_status status = fe_scratch_open(d, (size_t)n * 8 + (1 << 20), &s);
    if (status == FE_OK) status = fe_scratch_take(&s, (size_t)n + 1, &first);
    if (status == FE_OK) {
        FE_LAUNCH(d, n, THREADS, count_fixed, n, at, o->number, first);
        status = fe_scratch_starts(&s, n, first, &o->n_fixed);
    }
    if (status == FE_OK) FE_LAUNCH(d, n, THREADS, fill_fixed, n, at, o->number, first, o->fixed);
    fe_scratch_close(&s);
    return status;
}

__global__ void __launch_bounds__(THREADS) clear_components(int n, const int *at, float *inverse)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) inverse[6 * (size_t)(at[i] / 3) + at[i] % 3] = 0.0f;
}
static fe_status clear_inverse(fe_device *d, int n, const int *at, float *inverse)
{
    FE_LAUNCH(d, n, THREADS, clear_components, n, at, inverse);
    return FE_OK;
}

/* --- the cycle: a thread has one number, a team of lanes a row of `down` ------------------------------ */

FE_BODY bool is_free(const float *inverse, size_t i, size_t c) { return inverse[6 * i + c] != 0.0f; }

__global__ void __launch_bounds__(THREADS)
    order_residual(size_t n, const float *__restrict__ inverse, const float *__restrict__ b,
                   const float *__restrict__ Ax, float *__restrict__ r)
{
    const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (j < n) r[j] = is_free(inverse, j / 3, j % 3) ? b[j] - Ax[j] : 0.0f;
}
static fe_status residual(fe_device *d, int n, const float *inverse, const float *b, const float *Ax,
                          float *r)
{
    FE_LAUNCH(d, 3 * (size_t)n, THREADS, order_residual, 3 * (size_t)n, inverse, b, Ax, r);
    return FE_OK;
}

__global__ void __launch_bounds__(THREADS)
    order_mask(size_t n, const float *__restrict__ inverse, double *__restrict__ r)
{
    const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (j < n && !is_free(inverse, j / 3, j % 3)) r[j] = 0.0;
}
static fe_status exact_mask(fe_device *d, int n, const float *inverse, double *r)
{
    FE_LAUNCH(d, 3 * (size_t)n, THREADS, order_mask, 3 * (size_t)n, inverse, r);
    return FE_OK;
}

/* Row i of the transpose times r, in the team's first lane. */
template <typename T>
FE_BODY void sum_down(const fe_order_transfer *t, int i, const T *__restrict__ r, double sum[3])
{
    for (int k = t->down_first[i] + threadIdx.x % TEAM; k < t->down_first[i + 1]; k += TEAM) {
        const int item = t->down[k];
        const double share = 1.0 / (1 << (item & 3));
        for (int c = 0; c < 3; c++) sum[c] += share * (double)r[3 * (size_t)(item >> 2) + c];
    }
    for (int half = TEAM / 2; half > 0; half /= 2)
        for (int c = 0; c < 3; c++) sum[c] += __shfl_down_sync(0xffffffffu, sum[c], half, TEAM);
}
/* All lanes of a warp take part: those beyond the last row repeat it. */
FE_BODY int row_of_team(const fe_order_transfer *t, bool *stores)
{
    const size_t i = (blockIdx.x * (size_t)THREADS + threadIdx.x) / TEAM;
    *stores = i < (size_t)t->n_down && threadIdx.x % TEAM == 0;
    return (int)min(i, (size_t)t->n_down - 1);
}

__global__ void __launch_bounds__(THREADS)
    order_restrict(fe_order_transfer t, const float *__restrict__ r, fe_fine_start start)
{
    bool stores;
    double sum[3] = {};
    const int i = row_of_team(&t, &stores);
    sum_down(&t, i, r, sum);
    if (stores) fe_fine_start_node(&start, i, sum);
}
static fe_status restrict_to(fe_device *d, const fe_order_transfer *t, const float *r,
                             const fe_fine_start *start)
{
    FE_LAUNCH(d, TEAM * (size_t)t->n_down, THREADS, order_restrict, *t, r, *start);
    return FE_OK;
}

__global__ void __launch_bounds__(THREADS)
    order_exact_restrict(fe_order_transfer t, const double *__restrict__ r, double *__restrict__ b)
{
    bool stores;
    double sum[3] = {};
    const int i = row_of_team(&t, &stores);
    sum_down(&t, i, r, sum);
    for (int c = 0; c < 3 && stores; c++) b[3 * (size_t)i + c] = sum[c];
}
static fe_status exact_restrict(fe_device *d, const fe_order_transfer *t, const double *r, double *b)
{
    FE_LAUNCH(d, TEAM * (size_t)t->n_down, THREADS, order_exact_restrict, *t, r, b);
    return FE_OK;
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    order_prolong(fe_order_transfer t, const float *__restrict__ inverse, const T *__restrict__ y,
                  T *__restrict__ x, T *clear)
{
    const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x, i = j / 3, c = j % 3;
    if (i >= (size_t)t.n_up) return;
    const int first = t.up_first[i], n = t.up_first[i + 1] - first;
    T sum = 0;
    for (int k = 0; k < n; k++) sum += y[3 * (size_t)t.up[first + k] + c];
    if (is_free(inverse, i, c)) x[j] += sum / (T)n;
    if (clear) clear[j] = 0;
}
static fe_status prolong(fe_device *d, const fe_order_transfer *t, const float *inverse, const float *y,
                         float *x, float *clear)
{
    FE_LAUNCH(d, 3 * (size_t)t->n_up, THREADS, order_prolong<float>, *t, inverse, y, x, clear);
    return FE_OK;
}
static fe_status exact_prolong(fe_device *d, const fe_order_transfer *t, const float *inverse,
                               const double *y, double *x)
{
    FE_LAUNCH(d, 3 * (size_t)t->n_up, THREADS, order_prolong<double>, *t, inverse, y, x, (double *)NULL);
    return FE_OK;
}

extern "C" const fe_order_steps fe_order_steps_cuda = {
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
