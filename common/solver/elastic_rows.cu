/* The elastic matrix on the device: the twin of elastic_rows.c. */
#include "common/physics/stiffness.h"
#include "common/problem/kernels.h"
#include "common/solver/setup_cuda.h"

enum { THREADS = 128, WARP = 32, SUMS = 256 };

/* A warp per row: its columns, which are its own node and those of the elements at it. */
template <bool FILL>
__global__ void __launch_bounds__(THREADS)
    elastic_columns(fe_view m, int n_corner, fe_sparse A, int *spare, int *found)
{
    __shared__ int lists[THREADS / WARP][FE_ROW_SLOTS];
    const int i = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP), lane = threadIdx.x % WARP;
    if (i >= A.n_row) return;
    int *const list = lists[threadIdx.x / WARP], n = fe_list_add(list, FE_ROW_SLOTS, 0, lane == 0 ? i : -1);
    const int first = m.corner_first[i], n_item = (m.corner_first[i + 1] - first) * n_corner;
    for (int from = 0; from < n_item; from += WARP) {
        const int t = from + lane;
        int node = -1;
        if (t < n_item) node = m.conn[(size_t)(t % n_corner) * m.ld + (m.corner[first + t / n_corner] >> 3)];
        n = fe_list_add(list, FE_ROW_SLOTS, n, node);
    }
    fe_keep_list<FILL>(list, n, A, i, spare, found);
}

/* A warp per row, CHUNK of its blocks at a time, each summed by a lane. An item is an element at the row's
 * node with one of its corners as column: a lane computes that block, then those who own a block of the row
 * add it. The items of an element are neighbours, and share its geometry. */
enum { CHUNK = WARP, NONE = 255 };

/* Points that differ in their gradients: a Tet4 has one, with all of its volume. */
FE_BODY constexpr int distinct_points(int kind) { return FE_CORNERS(kind) == 8 ? 8 : 1; }

/* The coordinates of an element's corners, det J grad N of them at each point, and w / |J|. Numbers without
 * use keep what a half of a warp reads or writes in different banks: eight points of two elements, and eight
 * corners. */
template <int KIND> struct shared_element {
    enum { MANY = distinct_points(KIND) > 1 };
    double x[FE_CORNERS(KIND)][4];
    struct {
        double gradient[FE_CORNERS(KIND)][3], unused[MANY];
    } point[distinct_points(KIND)];
    double scale[distinct_points(KIND)], unused[MANY ? 8 : 0];
};
template <int KIND> struct row_items {
    enum { ELEMENTS = WARP / FE_CORNERS(KIND) };
    double block[WARP][9];
    shared_element<KIND> element[ELEMENTS];
    int column[CHUNK];               /* of the row's blocks at hand */
    uint8_t corner[ELEMENTS][CHUNK]; /* of an element, whose column the chunk's block has */
};

/* Point q of an element turned by `turn`, so that the row's node is corner 0. */
template <int KIND> FE_BODY void share_point(shared_element<KIND> *e, int turn, int q)
{
    fe_real J[3][3], A[3][3];
    const double weight = fe_weight(KIND) * fe_points(KIND) / distinct_points(KIND);
#pragma unroll
    for (int c = 0; c < 3; c++)
#pragma unroll
        for (int j = 0; j < 3; j++) {
            J[c][j] = 0.0;
#pragma unroll
            for (int b = 0; b < FE_CORNERS(KIND); b++)
                J[c][j] += fe_shape_gradient(KIND, b, q, j) * e->x[b][c];
        }
    e->scale[q] = weight * fe_turn_sign(KIND, turn) / fe_cofactor(J, A);
#pragma unroll
    for (int b = 0; b < FE_CORNERS(KIND); b++) fe_corner_gradient(KIND, A, b, q, e->point[q].gradient[b]);
}

/* The block of corners 0 and b. With M the sum over points of scale g h^T, g and h the gradients of the two,
 * it is (K - 2/3 mu) M + mu (M^T + tr M I). */
template <int KIND>
FE_BODY void compute_block(const fe_j2 *material, const shared_element<KIND> *e, int b, double *block)
{
    const double shear = material->shear, bulk = material->bulk - 2.0 / 3.0 * shear;
    double M[3][3] = {{0.0}};
#pragma unroll 2
    for (int q = 0; q < distinct_points(KIND); q++) {
        const double *g = e->point[q].gradient[0], *h = e->point[q].gradient[b], scale = e->scale[q];
#pragma unroll
        for (int i = 0; i < 3; i++)
#pragma unroll
            for (int j = 0; j < 3; j++) M[i][j] += scale * g[i] * h[j];
    }
    const double trace = M[0][0] + M[1][1] + M[2][2];
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
        for (int j = 0; j < 3; j++)
            block[3 * i + j] = bulk * M[i][j] + shear * M[j][i] + (i == j ? shear * trace : 0.0);
}

/* n items of row i, the first of which is the first of an element; for the n_block blocks of the row in
 * items->column. */
template <int KIND>
FE_BODY void compute_items(const fe_view *m, int i, int first_item, int n, int n_block,
                           row_items<KIND> *items)
{
    enum { CORNERS = FE_CORNERS(KIND) };
    const int lane = threadIdx.x % WARP, own = lane / CORNERS, b = lane % CORNERS;
    shared_element<KIND> *const element = &items->element[own];
    int turn = 0, place = -1;
    for (int t = lane; t < row_items<KIND>::ELEMENTS * CHUNK; t += WARP) (&items->corner[0][0])[t] = NONE;
    if (lane < n) {
        const int corner = m->corner[m->corner_first[i] + first_item / CORNERS + own];
        turn = corner & 7;
        const int column = m->conn[fe_corner_place(b, turn, m->ld, corner >> 3)];
#pragma unroll
        for (int c = 0; c < 3; c++) element->x[b][c] = m->x[3 * (size_t)column + c];
        place = fe_find_column(items->column, n_block, column);
    }
    __syncwarp();
    if (place >= 0) items->corner[own][place] = (uint8_t)b;
    if (lane < n && b < distinct_points(KIND)) share_point<KIND>(element, turn, b);
    __syncwarp();
    if (lane < n) compute_block<KIND>(&m->material, element, b, items->block[lane]);
    __syncwarp();
}

/* Adds the blocks of the items to the one of this lane. */
template <int KIND> FE_BODY void add_items(const row_items<KIND> *items, double sum[9])
{
#pragma unroll
    for (int own = 0; own < row_items<KIND>::ELEMENTS; own++) {
        const int b = items->corner[own][threadIdx.x % WARP];
        if (b == NONE) continue;
        const double *block = items->block[own * FE_CORNERS(KIND) + b];
#pragma unroll
        for (int c = 0; c < 9; c++) sum[c] += block[c];
    }
}

template <int KIND>
FE_BODY void assemble_row(const fe_view *m, const uint8_t *fixed, const fe_sparse *A, int i,
                          row_items<KIND> *items)
{
    const int first = A->first[i], n = A->first[i + 1] - first,
              n_item = (m->corner_first[i + 1] - m->corner_first[i]) * FE_CORNERS(KIND);
    for (int start = 0; start < n; start += CHUNK) {
        const int n_block = n - start < CHUNK ? n - start : CHUNK, lane = threadIdx.x % WARP;
        double sum[9] = {0.0};
        if (lane < n_block) items->column[lane] = A->column[first + start + lane];
        __syncwarp();
        for (int from = 0; from < n_item; from += WARP) {
            const int left = n_item - from;
            compute_items<KIND>(m, i, from, left < WARP ? left : WARP, n_block, items);
            add_items<KIND>(items, sum);
            __syncwarp();
        }
        double *const own = items->block[lane];
        double *const value = A->value + 9 * (size_t)(first + start);
#pragma unroll
        for (int c = 0; c < 9; c++) own[c] = sum[c]; /* to write the row without gaps */
        __syncwarp();
        for (int t = lane; t < 9 * n_block; t += WARP) {
            const int column = items->column[t / 9];
            const bool held = fixed[3 * (size_t)i + t % 9 / 3] || fixed[3 * (size_t)column + t % 3];
            value[t] = held ? 0.0 : items->block[t / 9][t % 9];
        }
        __syncwarp();
    }
}

/* Whether the node is on the surface (fe_on_surface), and its longest over its shortest distance to a
 * neighbour. */
FE_BODY double2 look_at_node(int kind, const fe_view *m, const fe_sparse *A, int i)
{
    double normal[4] = {0.0};
    for (int at = m->corner_first[i]; at < m->corner_first[i + 1]; at++) {
        fe_index node[8];
        fe_real x[8][3], g[3] = {0.0};
        const fe_element e = fe_element_load(kind, m, m->corner[at] >> 3, m->corner[at] & 7, node, x);
        fe_add_volume_gradient(kind, e, x, g);
        for (int c = 0; c < 3; c++) normal[c] += g[c], normal[3] += fabs(g[c]);
    }
    const bool surface = fabs(normal[0]) + fabs(normal[1]) + fabs(normal[2]) > 1e-3 * normal[3];
    return make_double2(surface, fe_stretch(A, m->x, i));
}

#define KERNELS(KIND, name)                                                                                  \
    __global__ void __launch_bounds__(THREADS, 4)                                                            \
        elastic_assemble_##name(fe_view m, const uint8_t *fixed, fe_sparse A)                                \
    {                                                                                                        \
        __shared__ row_items<KIND> items[THREADS / WARP];                                                    \
        const int i = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP);                            \
        if (i < A.n_row) assemble_row<KIND>(&m, fixed, &A, i, items + threadIdx.x / WARP);                   \
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

fe_status fe_elastic_rows_cuda(fe_scratch *s, const fe_problem *p, const uint8_t *fixed, fe_sparse *A)
{
    fe_device *d = s->d;
    const int n = p->view.n_owned, n_corner = fe_corners(p->kind);
    const fe_sparse empty = {n, p->view.n_local, 3, 3};
    int *found, *spare, host[2];
    *A = empty;
    FE_TRY(fe_scratch_take(s, 2, &found));
    FE_TRY(d->ops->memory.zero(d, sizeof host, found));
    FE_TRY(fe_scratch_take(s, (size_t)n + 1, &A->first));
    const fe_scratch_mark mark = fe_scratch_now(s);
    FE_TRY(fe_scratch_take(s, (size_t)n * FE_SPARE, &spare));
    FE_LAUNCH(d, (size_t)n * WARP, THREADS, elastic_columns<false>, p->view, n_corner, *A, spare, found);
    FE_TRY(fe_sparse_open_over_cuda(s, mark, A));
    FE_TRY(d->ops->memory.download(d, sizeof host, found, host));
    if (host[0])
        return fe_fail(FE_OUT_OF_MEMORY, "set-up on the device: a node has more than %d neighbours",
                       FE_ROW_SLOTS);
    if (host[1] <= FE_SPARE)
        FE_TRY(fe_sparse_keep_columns_cuda(d, A, spare));
    else
        FE_LAUNCH(d, (size_t)n * WARP, THREADS, elastic_columns<true>, p->view, n_corner, *A, spare, found);
    FE_LAUNCH_KIND(p, (size_t)n * WARP, THREADS, elastic_assemble, p->view, fixed, *A);
    return FE_OK;
}

fe_status fe_elastic_sample_cuda(fe_scratch *s, const fe_problem *p, const fe_sparse *A, fe_sample *sample)
{
    fe_device *d = s->d;
    const int step = 1 + A->n_row / FE_SAMPLE, n = (A->n_row + step - 1) / step;
    const fe_scratch_mark mark = fe_scratch_now(s);
    double2 *pair;
    double *sums, host[2];
    FE_TRY(fe_scratch_take(s, (size_t)n, &pair));
    FE_TRY(fe_scratch_take(s, 2, &sums));
    FE_LAUNCH_KIND(p, n, THREADS, elastic_look, p->view, *A, step, n, pair);
    FE_LAUNCH(d, SUMS, SUMS, sum_pairs, n, pair, sums);
    FE_TRY(d->ops->memory.download(d, sizeof host, sums, host));
    fe_scratch_return(s, mark);
    sample->n = n, sample->surface = host[0], sample->stretch = host[1];
    return FE_OK;
}
