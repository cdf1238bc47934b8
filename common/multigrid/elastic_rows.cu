/* The elastic matrix on the device: the twin of elastic_rows.c. */
#define FE_LINEAR_KINDS
#include "common/multigrid/setup_cuda.h"
#include "common/physics/stiffness.h"
#include "common/problem/kernels.h"

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

/* A warp has a few neighbouring rows. An item is an element at one of their nodes; the items of neighbouring
 * rows are neighbours in the list of corners. A lane computes four blocks of an item, of the row's node and
 * four corners each; then the warp sums the items of one row after the other, a lane each block of A, CHUNK
 * of them at a time. A row whose items are in several batches is summed in as many parts. */
enum { CHUNK = WARP, NONE = 255, ROW_THREADS = 64, ROW_BLOCKS = 6 };
static __host__ __device__ constexpr int warp_rows(int n_corner) { return n_corner == 8 ? 2 : 4; }

/* What a warp has in shared memory. A lane has one number more than it needs: lanes write to different banks.
 * The same coordinate of all items is side by side, where their blocks will be. */
template <int KIND> struct row_items {
    enum { LANES = FE_CORNERS(KIND) / 4, ITEMS = WARP / LANES, ROWS = warp_rows(FE_CORNERS(KIND)) };
    enum { X_STRIDE = ITEMS + 2 }; /* both lanes of an item read from different banks, too */
    double block[WARP][4 * 9 + 1], sum[CHUNK][9];
    int node[4][WARP];            /* of each lane's corners */
    int column[ROWS][CHUNK];      /* of each row's blocks at hand */
    uint8_t corner[ITEMS][CHUNK]; /* of the item, whose node is the column of its row's block: 4 times the
                                     lane + place; or NONE */
    int first[ROWS + 1];          /* items of the rows */
};

/* The element is turned so that the row's node is corner 0. The second lane of a Hex8 turns it further: then
 * that node is corner 4, and it has the blocks of corners 0 to 3, too. */
template <int KIND> FE_BODY int lane_turn(int corner)
{
    return (corner & 7) ^ 4 * (threadIdx.x % row_items<KIND>::LANES);
}

/* The nodes of this lane's four corners, and their coordinates, which become x [corner][3] of the element as
 * the item's first lane turns it. */
template <int KIND> FE_BODY void read_corners(const fe_view *m, int corner, row_items<KIND> *w)
{
    enum { LANES = row_items<KIND>::LANES };
    const int lane = threadIdx.x % WARP, turn = lane_turn<KIND>(corner);
    double *const x = w->block[0] + lane / LANES + 12 * row_items<KIND>::X_STRIDE * (lane % LANES);
    int node[4];
#pragma unroll
    for (int b = 0; b < 4; b++) node[b] = m->conn[fe_corner_place(b, turn, m->ld, corner >> 3)];
#pragma unroll
    for (int b = 0; b < 4; b++) {
        w->node[b][lane] = node[b];
#pragma unroll
        for (int c = 0; c < 3; c++)
            x[(3 * b + c) * row_items<KIND>::X_STRIDE] = m->x[3 * (size_t)node[b] + c];
    }
    __syncwarp();
}

/* The blocks of the row's node and corners 0 to 3, from the coordinates of the element. With M the sum over
 * points of scale g h^T, g and h det J times the gradients of the two, scale = w / |J|, a block is
 * (K - 2/3 mu) M + mu (M^T + tr M I). A Tet4 has one point with all of its volume: gradients are the same
 * everywhere. By all lanes of a warp. */
template <int KIND> FE_BODY void compute_blocks(const fe_view *m, int corner, row_items<KIND> *w)
{
    enum { CORNERS = FE_CORNERS(KIND), PLANES = CORNERS == 8 ? 2 : 1, POINTS = CORNERS == 8 ? 4 : 1 };
    const fe_constants material = fe_material_at(m->materials != NULL, m, corner >> 3);
    const double shear = material.shear, bulk = material.bulk - 2.0 / 3.0 * shear;
    enum { LANES = row_items<KIND>::LANES };
    const int lane = threadIdx.x % WARP, own = 4 * (lane % LANES);
    fe_real M[4][3][3] = {};
    const double weight =
        fe_weight(KIND) * fe_points(KIND) / (PLANES * POINTS) * fe_turn_sign(KIND, lane_turn<KIND>(corner));
    /* corners 0 to 3, and 4 to 7; registers are scarce, so they are read again for each plane */
    enum { STRIDE = row_items<KIND>::X_STRIDE, HALF = 12 * STRIDE };
    const volatile double *const near = w->block[0] + lane / LANES + HALF * (lane % LANES),
                                 *const far = near + HALF * (1 - 2 * (lane % LANES));
#pragma unroll
    for (int k = 0; k < PLANES; k++) {
        fe_plane gx[3];
        fe_real x[8][3];
#pragma unroll
        for (int t = 0; t < 3 * CORNERS; t++)
            x[t / 3][t % 3] = t < 12 ? near[STRIDE * t] : far[STRIDE * (t - 12)];
        fe_gradient_plane(KIND, x, k, gx);
#pragma unroll
        for (int p = 0; p < POINTS; p++) {
            fe_real J[3][3], A[3][3], g[3];
            fe_gradient_at(KIND, x, gx, k, p, J);
            const fe_real scale = weight / fe_cofactor(J, A);
            fe_corner_gradient(KIND, A, own, p + 4 * k, g);
#pragma unroll
            for (int i = 0; i < 3; i++) g[i] *= scale;
#pragma unroll
            for (int b = 0; b < 4; b++) {
                fe_real h[3];
                fe_corner_gradient(KIND, A, b, p + 4 * k, h);
#pragma unroll
                for (int c = 0; c < 9; c++) M[b][c / 3][c % 3] += g[c / 3] * h[c % 3];
            }
        }
    }
    double *const block = w->block[lane];
    __syncwarp(); /* the coordinates have been read */
#pragma unroll
    for (int b = 0; b < 4; b++) {
        const double trace = shear * (M[b][0][0] + M[b][1][1] + M[b][2][2]);
#pragma unroll
        for (int i = 0; i < 3; i++)
#pragma unroll
            for (int j = 0; j < 3; j++)
                block[9 * b + 3 * i + j] = bulk * M[b][i][j] + shear * M[b][j][i] + (i == j ? trace : 0.0);
    }
}

/* For the blocks of each row from its start-th on: which corner of each of the n items from `from` on they
 * belong to. */
template <int KIND>
FE_BODY void find_corners(const fe_sparse *A, int row, int n_row, int start, int from, int n,
                          row_items<KIND> *w)
{
    enum { LANES = row_items<KIND>::LANES };
    const int lane = threadIdx.x % WARP;
    for (int r = 0; r < n_row; r++)
        if (A->first[row + r] + start + lane < A->first[row + r + 1])
            w->column[r][lane] = A->column[A->first[row + r] + start + lane];
    for (int t = lane; t < row_items<KIND>::ITEMS * CHUNK / 4; t += WARP)
        ((unsigned *)w->corner)[t] = 0x01010101u * NONE;
    __syncwarp();
    if (lane / LANES < n) {
        int r = 0;
        while (from + lane / LANES >= w->first[r + 1]) r++;
        const int n_block = min(A->first[row + r + 1] - A->first[row + r] - start, (int)CHUNK);
        for (int b = 0; b < 4; b++) {
            const int place = fe_find_column(w->column[r], n_block, w->node[b][lane]);
            if (place >= 0) w->corner[lane / LANES][place] = (uint8_t)(lane % LANES * 4 + b);
        }
    }
    __syncwarp();
}

/* Sums items [from, end) of the batch to n blocks of row i, number r of the warp's, and stores them at
 * `value`, or adds them to what is there. */
template <int KIND>
FE_BODY void sum_items(const uint8_t *fixed, int i, int r, int from, int end, int n, bool add,
                       row_items<KIND> *w, double *value)
{
    const int lane = threadIdx.x % WARP;
    double sum[9] = {};
    for (int item = from; item < end; item++) {
        const int b = w->corner[item][lane];
        if (b == NONE) continue;
        const double *const block = w->block[item * row_items<KIND>::LANES + b / 4] + 9 * (b % 4);
#pragma unroll
        for (int c = 0; c < 9; c++) sum[c] += block[c];
    }
    if (lane < n) {
        const uint8_t *const row = fixed + 3 * (size_t)i, *const column =
                                                              fixed + 3 * (size_t)w->column[r][lane];
#pragma unroll
        for (int c = 0; c < 9; c++) w->sum[lane][c] = row[c / 3] || column[c % 3] ? 0.0 : sum[c];
    }
    __syncwarp();
    for (int t = lane; t < 9 * n; t += WARP) /* without gaps */
        value[t] = (add ? value[t] : 0.0) + (&w->sum[0][0])[t];
    __syncwarp();
}

template <int KIND>
FE_BODY void assemble_rows(const fe_view *m, const uint8_t *fixed, const fe_sparse *A, int row,
                           row_items<KIND> *w)
{
    enum { LANES = row_items<KIND>::LANES, ITEMS = row_items<KIND>::ITEMS };
    const int lane = threadIdx.x % WARP, n_row = min((int)row_items<KIND>::ROWS, A->n_row - row);
    if (lane <= n_row) w->first[lane] = m->corner_first[row + lane];
    __syncwarp();
    int longest = 0;
    for (int r = 0; r < n_row; r++) longest = max(longest, A->first[row + r + 1] - A->first[row + r]);
    const int begin = w->first[0], end = w->first[n_row];
    for (int from = begin; from == begin || from < end; from += ITEMS) {
        const int n = min((int)ITEMS, end - from);
        if (n > 0) { /* lanes without an item repeat the last one */
            const int corner = m->corner[from + min(lane / LANES, n - 1)];
            read_corners<KIND>(m, corner, w);
            compute_blocks<KIND>(m, corner, w);
        }
        for (int start = 0; start < longest; start += CHUNK) {
            find_corners<KIND>(A, row, n_row, start, from, n, w);
            for (int r = 0; r < n_row; r++) {
                const int first = max(w->first[r], from), last = min(w->first[r + 1], from + n),
                          place = A->first[row + r] + start;
                const bool is_first = first == w->first[r], is_empty = w->first[r] == w->first[r + 1];
                if (is_empty ? from > begin : first >= last) continue;
                sum_items<KIND>(fixed, row + r, r, first - from, last - from,
                                min(A->first[row + r + 1] - place, (int)CHUNK), !is_first, w,
                                A->value + 9 * (size_t)place);
            }
        }
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
        fe_add_volume_gradient(kind, e, fe_no_turn(), x, g);
        for (int c = 0; c < 3; c++) normal[c] += g[c], normal[3] += fabs(g[c]);
    }
    const bool surface = fabs(normal[0]) + fabs(normal[1]) + fabs(normal[2]) > 1e-3 * normal[3];
    return make_double2(surface, fe_stretch(A, m->x, i));
}

#define KERNELS(KIND, name)                                                                                  \
    __global__ void __launch_bounds__(ROW_THREADS, ROW_BLOCKS)                                               \
        elastic_assemble_##name(fe_view m, const uint8_t *fixed, fe_sparse A)                                \
    {                                                                                                        \
        __shared__ row_items<KIND> items[ROW_THREADS / WARP];                                                \
        const int i =                                                                                        \
            row_items<KIND>::ROWS * (int)((blockIdx.x * (size_t)ROW_THREADS + threadIdx.x) / WARP);          \
        if (i < A.n_row) assemble_rows<KIND>(&m, fixed, &A, i, items + threadIdx.x / WARP);                  \
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

static fe_status take_sample(fe_scratch *s, const fe_problem *p, const fe_sparse *A, fe_sample *sample)
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

fe_status fe_elastic_rows_cuda(fe_scratch *s, const fe_problem *p, const uint8_t *fixed, fe_sparse *A,
                               fe_sample *sample)
{
    fe_device *d = s->d;
    const int n = p->view.n_owned, n_corner = fe_corners(p->kind);
    const fe_sparse empty = {n, p->view.n_local, 3, 3};
    int *found, *spare, host[2];
    *A = empty;
    FE_TRY(fe_sparse_take_first_cuda(s, n, A, &found));
    const fe_scratch_mark mark = fe_scratch_now(s);
    FE_TRY(fe_scratch_take(s, (size_t)n * FE_SPARE, &spare));
    FE_LAUNCH(d, (size_t)n * WARP, THREADS, elastic_columns<false>, p->view, n_corner, *A, spare, found);
    FE_TRY(fe_sparse_open_over_cuda(s, mark, A, found, host));
    if (host[0])
        return fe_fail(FE_OUT_OF_MEMORY, "set-up on the device: a node has more than %d neighbours",
                       FE_ROW_SLOTS);
    if (host[1] <= FE_SPARE)
        FE_TRY(fe_sparse_keep_columns_cuda(d, A, spare));
    else
        FE_LAUNCH(d, (size_t)n * WARP, THREADS, elastic_columns<true>, p->view, n_corner, *A, spare, found);
    FE_TRY(take_sample(s, p, A, sample)); /* so the host need not wait for the values */
    FE_LAUNCH_KIND(p, (size_t)fe_grid((size_t)n, warp_rows(n_corner)) * WARP, ROW_THREADS, elastic_assemble,
                   p->view, fixed, *A);
    return FE_OK;
}
