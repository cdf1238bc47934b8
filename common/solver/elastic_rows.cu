/* The elastic matrix on the device: the twin of elastic_rows.c. */
#include "common/problem/gather.h"
#include "common/problem/kernels.h"
#include "common/solver/setup_cuda.h"

enum { THREADS = 128, WARP = 32, SUMS = 256 };

/* The columns of row blockIdx.x: its own and those of the elements at its node; counts or columns. */
template <bool FILL> __global__ void elastic_columns(fe_view m, int n_corner, fe_sparse A, int *full)
{
    __shared__ fe_row_set set;
    const int i = blockIdx.x, first = m.corner_first[i], n = (m.corner_first[i + 1] - first) * n_corner;
    const int slots = fe_row_slots(n + 1);
    fe_row_set_clear(&set, slots);
    if (threadIdx.x == 0) fe_row_set_insert(&set, slots, i);
    for (int t = threadIdx.x; t < n; t += blockDim.x) {
        const size_t e = m.corner[first + t / n_corner] >> 3;
        fe_row_set_insert(&set, slots, m.conn[(size_t)(t % n_corner) * m.ld + e]);
    }
    const int count = fe_row_set_sort(&set, slots, FILL ? A.column + A.first[i] : NULL);
    if (threadIdx.x > 0 || FILL) return;
    A.first[i + 1] = count;
    if (set.full) *full = 1;
}

/* A thread per block of the matrix, a warp per row. */
FE_BODY void assemble_row(int kind, const fe_view *m, const uint8_t *fixed, const fe_sparse *A, int i)
{
    for (int k = A->first[i] + threadIdx.x % WARP; k < A->first[i + 1]; k += WARP) {
        double K[8][9] = {{0.0}};
        const int j = A->column[k];
        fe_gather_block(kind, m, i, j, K);
        for (int c = 0; c < 9; c++) {
            const bool held = fixed[3 * (size_t)i + c / 3] || fixed[3 * (size_t)j + c % 3];
            A->value[9 * (size_t)k + c] = held ? 0.0 : K[0][c];
        }
    }
}

/* Whether the node is on the surface (fe_on_surface), and its longest over its shortest distance to a
 * neighbour. */
FE_BODY double2 look_at_node(int kind, const fe_view *m, const fe_sparse *A, int i)
{
    double normal[4] = {0.0}, least = INFINITY, most = 0.0;
    for (int at = m->corner_first[i]; at < m->corner_first[i + 1]; at++) {
        fe_index node[8];
        fe_real x[8][3], g[3] = {0.0};
        const fe_element e = fe_element_load(kind, m, m->corner[at] >> 3, m->corner[at] & 7, node, x);
        fe_add_volume_gradient(kind, e, x, g);
        for (int c = 0; c < 3; c++) normal[c] += g[c], normal[3] += fabs(g[c]);
    }
    for (int k = A->first[i]; k < A->first[i + 1]; k++) {
        double square = 0.0;
        for (int c = 0; c < 3; c++) {
            const double r = m->x[3 * (size_t)A->column[k] + c] - m->x[3 * (size_t)i + c];
            square += r * r;
        }
        if (square > most) most = square;
        if (square > 0.0 && square < least) least = square;
    }
    const bool surface = fabs(normal[0]) + fabs(normal[1]) + fabs(normal[2]) > 1e-3 * normal[3];
    return make_double2(surface, most > 0.0 ? sqrt(most / least) : 1.0);
}

#define KERNELS(KIND, name)                                                                                  \
    __global__ void __launch_bounds__(THREADS)                                                               \
        elastic_assemble_##name(fe_view m, const uint8_t *fixed, fe_sparse A)                                \
    {                                                                                                        \
        const int i = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP);                            \
        if (i < A.n_row) assemble_row(KIND, &m, fixed, &A, i);                                               \
    }                                                                                                        \
    __global__ void __launch_bounds__(THREADS)                                                               \
        elastic_look_##name(fe_view m, fe_sparse A, int step, int n, double2 *out)                           \
    {                                                                                                        \
        const int k = blockIdx.x * THREADS + threadIdx.x;                                                    \
        if (k < n) out[k] = look_at_node(KIND, &m, &A, k * step);                                            \
    }
FE_EACH_KIND(KERNELS)
#undef KERNELS

__global__ void __launch_bounds__(SUMS) sum_pairs(int n, const double2 *pair, double *out)
{
    __shared__ double shared[2][SUMS];
    double a = 0.0, b = 0.0;
    for (int i = threadIdx.x; i < n; i += SUMS) a += pair[i].x, b += pair[i].y;
    shared[0][threadIdx.x] = a, shared[1][threadIdx.x] = b;
    for (int half = SUMS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            for (int c = 0; c < 2; c++) shared[c][threadIdx.x] += shared[c][threadIdx.x + half];
    }
    if (threadIdx.x == 0) out[0] = shared[0][0], out[1] = shared[1][0];
}

/* The view with no element softened, whatever the state is. */
static fe_status elastic_view(fe_scratch *s, const fe_problem *p, fe_view *v)
{
    *v = p->view;
    FE_TRY(fe_scratch_take(s, (size_t)v->ld, &v->trial.flags));
    v->committed = v->trial;
    return s->d->ops->memory.zero(s->d, (size_t)v->ld, v->trial.flags);
}

fe_status fe_elastic_rows_cuda(fe_scratch *s, const fe_problem *p, const uint8_t *fixed, fe_sparse *A)
{
    fe_device *d = s->d;
    const int n = p->view.n_owned, n_corner = fe_corners(p->kind);
    const fe_sparse empty = {n, p->view.n_local, 3, 3};
    int *full, is_full = 0;
    fe_view v;
    *A = empty;
    FE_TRY(elastic_view(s, p, &v));
    FE_TRY(fe_scratch_take(s, 1, &full));
    FE_TRY(d->ops->memory.zero(d, sizeof *full, full));
    FE_TRY(fe_scratch_take(s, (size_t)n + 1, &A->first));
    FE_LAUNCH(d, (size_t)n * WARP, WARP, elastic_columns<false>, v, n_corner, *A, full);
    FE_TRY(fe_sparse_open_cuda(s, A));
    FE_TRY(d->ops->memory.download(d, sizeof is_full, full, &is_full));
    if (is_full)
        return fe_fail(FE_OUT_OF_MEMORY, "set-up on the device: a node has more than %d neighbours",
                       FE_ROW_SLOTS);
    FE_LAUNCH(d, (size_t)n * WARP, WARP, elastic_columns<true>, v, n_corner, *A, full);
    FE_LAUNCH_KIND(p, (size_t)n * WARP, THREADS, elastic_assemble, v, fixed, *A);
    return FE_OK;
}

fe_status fe_elastic_sample_cuda(fe_scratch *s, const fe_problem *p, const fe_sparse *A, fe_sample *sample)
{
    fe_device *d = s->d;
    const int step = 1 + A->n_row / FE_SAMPLE, n = (A->n_row + step - 1) / step;
    const fe_scratch_mark mark = fe_scratch_now(s);
    double2 *pair;
    double *sums, host[2];
    fe_view v;
    FE_TRY(elastic_view(s, p, &v));
    FE_TRY(fe_scratch_take(s, (size_t)n, &pair));
    FE_TRY(fe_scratch_take(s, 2, &sums));
    FE_LAUNCH_KIND(p, n, THREADS, elastic_look, v, *A, step, n, pair);
    FE_LAUNCH(d, SUMS, SUMS, sum_pairs, n, pair, sums);
    FE_TRY(d->ops->memory.download(d, sizeof host, sums, host));
    fe_scratch_return(s, mark);
    sample->n = n, sample->surface = host[0], sample->stretch = host[1];
    return FE_OK;
}
