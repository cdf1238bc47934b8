/* two_phase on the device: one point per thread, then the points at a row. */
#include "common/problem/kernels.h"
#include "variants/two_phase/assembly.h"

/* Elements of several points: one block of threads per block of elements, neighbouring threads take the
 * points of an element, or of the elements at a row. */
#define POINT_BLOCK_SIZE(kind) ((kind) == FE_TET4 || (kind) == FE_TET4_P4 ? 128 : 256)
enum { BLOCK = TWO_PHASE_BLOCK, ROW_BLOCK_SIZE = 256, ROW_CORNERS = 8 };
/* Where an element has one point, each component of a row has its own thread: three neighbouring threads read
 * the 24 bytes of a column, and take more corners at a time. */
enum { COLUMN_CORNERS = 16 };
#define ROW_LANES(kind) (TWO_PHASE_STORE == 6 ? 1 : fe_points(kind) == 1 ? 3 : fe_points(kind))

/* Threads number 0 to n - 1 of each n neighbours: value of the thread of number q ^ b. */
FE_BODY fe_real turned(fe_real value, int b) { return b ? __shfl_xor_sync(~0u, value, b) : value; }

/* Corners of element e, turned by q. As many neighbouring threads as it has corners, with q = 0, 1, …: each
 * reads its corner and hands it to the others. */
FE_BODY void share_corners(int kind, int n_field, const fe_view *m, fe_index e, int q,
                           const fe_number *displacement, fe_real x[8][3], fe_real f[8][3])
{
    const fe_index node = fe_read_index(m->conn, fe_corner_place(q, fe_no_turn(), m->ld, e), 0);
    const fe_number *const field[2] = {fe_coordinates(m), displacement};
    FE_UNROLL_FOR (int i = 0; i < n_field; i++) {
        fe_real at[3];
        if (FE_PRECISION == FE_MIXED)
            fe_read3_from(field[i], node, fe_read_index(m->conn, e, 0), at); /* as fe_element_read */
        else
            fe_read3(field[i], node, at);
        FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++)
            FE_UNROLL_FOR (int c = 0; c < 3; c++) (i ? f : x)[b][c] = turned(at[c], b);
    }
}

FE_BODY void point_body(int kind, int op, const fe_view *m, const two_phase *w, int first, int last,
                        const fe_number *displacement)
{
    fe_real x[8][3], f[8][3];
    if (fe_points(kind) == 1) {
        /* Each thread stores nine neighbouring numbers here; then the block writes all of them as one
         * contiguous range. */
        __shared__ fe_scalar out[POINT_BLOCK_SIZE(FE_TET4) * TWO_PHASE_WIDTH];
        const int start = first + blockIdx.x * blockDim.x, e = start + threadIdx.x;
        const int n = (last - start < (int)blockDim.x ? last - start : blockDim.x) * TWO_PHASE_WIDTH;
        const two_phase block = {out - (size_t)TWO_PHASE_WIDTH * start};
        if (e < last) {
            fe_index node[8];
            const fe_element element = fe_element_load(kind, m, e, fe_no_turn(), node, x);
            if (op != TWO_PHASE_DIAGONAL) fe_element_read(kind, node, displacement, f);
            two_phase_point(kind, op, m, &block, element, 0, x, f);
        }
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            w->value[(size_t)TWO_PHASE_WIDTH * start + i] = out[i];
    } else {
        const fe_index e = first + blockIdx.x * BLOCK + threadIdx.x / fe_points(kind);
        const int q = threadIdx.x % fe_points(kind);
        share_corners(kind, op == TWO_PHASE_DIAGONAL ? 1 : 2, m, e, q, displacement, x, f);
        two_phase_point(kind, op, m, w, fe_element_open(m, e, q), q, x, f);
    }
}

/* Sum of the values of n neighbouring threads, the same bits in each. */
template <typename Number> FE_BODY Number sum_over(int n, Number value)
{
    FE_UNROLL_FOR (int b = 1; b < n; b *= 2) value += __shfl_xor_sync(~0u, value, b);
    return value;
}

/* What points q of the elements at a row give to it, the rest from the neighbouring threads. */
FE_BODY void row_forces(int kind, const fe_view *m, const two_phase *w, int row, int q, fe_number y[3])
{
    fe_real sum[3] = {0.0f, 0.0f, 0.0f};
    const int end = m->corner_first[row + 1];
    for (int k = m->corner_first[row]; k < end; k += ROW_CORNERS) {
        int corner[ROW_CORNERS];
        FE_UNROLL_FOR (int i = 0; i < ROW_CORNERS; i++) corner[i] = k + i < end ? m->corner[k + i] : -1;
        FE_UNROLL_FOR (int i = 0; i < ROW_CORNERS; i++)
            if (corner[i] >= 0) two_phase_add_force(kind, w, corner[i] >> 3, corner[i] & 7, q, sum);
    }
    for (int c = 0; c < 3; c++) y[c] = sum_over(fe_points(kind), (fe_number)sum[c]);
}

FE_BODY fe_number row_component(const fe_view *m, const two_phase *w, int row, int c)
{
    fe_number sum = 0.0f;
    const int end = m->corner_first[row + 1];
    for (int k = m->corner_first[row]; k < end; k += COLUMN_CORNERS) {
        int corner[COLUMN_CORNERS];
        FE_UNROLL_FOR (int i = 0; i < COLUMN_CORNERS; i++) corner[i] = k + i < end ? m->corner[k + i] : -1;
        FE_UNROLL_FOR (int i = 0; i < COLUMN_CORNERS; i++)
            if (corner[i] >= 0) {
                const fe_scalar *at = w->value + two_phase_place(FE_TET4, 3 * c, 0, corner[i] >> 3);
                const int b =
                    corner[i] & 7; /* the gradient is that of column b - 1, or minus the sum of all */
                sum += b ? at[3 * (b - 1)] : -(at[0] + at[3] + at[6]);
            }
    }
    return sum;
}

FE_BODY void row_forces_recomputed(int kind, const fe_view *m, const two_phase *w, int row, fe_number y[3])
{
    FE_UNROLL_FOR (int c = 0; c < 3; c++) y[c] = 0.0f;
    for (int k = m->corner_first[row]; k < m->corner_first[row + 1]; k++) {
        const int corner = m->corner[k];
        fe_real force[3];
        two_phase_force(kind, m, w, corner >> 3, corner & 7, force);
        FE_UNROLL_FOR (int c = 0; c < 3; c++) y[c] += force[c];
    }
}

/* The thread's part of rows [first, last): a component of one, all of one, or what its points q give. */
FE_BODY void rows_body(int kind, const fe_view *m, const two_phase *w, int first, int last, fe_number *y)
{
    const int i = blockIdx.x * ROW_BLOCK_SIZE + threadIdx.x, lanes = ROW_LANES(kind), lane = i % lanes;
    const int place = first + i / lanes, row = place < last ? place : last - 1;
    fe_number sum[3];
    if (lanes == 3)
        sum[0] = row_component(m, w, row, lane);
    else if (lanes == 1)
        row_forces_recomputed(kind, m, w, row, sum);
    else
        row_forces(kind, m, w, row, lane, sum);
    if (place >= last) return;
    if (lanes == 1)
        for (int c = 0; c < 3; c++) y[3 * (size_t)row + c] = sum[c];
    else if (lane < 3)
        y[3 * (size_t)row + lane] = lanes == 3 || lane == 0 ? sum[0] : lane == 1 ? sum[1] : sum[2];
}

FE_BODY void diagonal_body(int kind, const fe_view *m, const two_phase *w, fe_number *d)
{
    const int i = blockIdx.x * ROW_BLOCK_SIZE + threadIdx.x, n = fe_points(kind), q = i % n;
    const int row = i / n < m->n_owned ? i / n : m->n_owned - 1;
    fe_real sum[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}, rows[3][3];
    for (int k = m->corner_first[row]; k < m->corner_first[row + 1]; k++) {
        const int corner = m->corner[k];
        two_phase_add_block(kind, m, w, corner >> 3, corner & 7, q, sum);
    }
    for (int c = 0; c < 6; c++) sum[c] = sum_over(n, sum[c]);
    fe_block_rows(sum, rows);
    if (i / n < m->n_owned && q == 0)
        for (int c = 0; c < 9; c++) d[9 * (size_t)row + c] = rows[c / 3][c % 3];
}

#define POINTS(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(POINT_BLOCK_SIZE(KIND)) two_phase_##operation##_##name(                \
        fe_view m, two_phase w, int first, int last, const fe_number *displacement)                          \
    {                                                                                                        \
        point_body(KIND, OP, &m, &w, first, last, displacement);                                             \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(POINTS, KIND, name)                                                                    \
    POINTS(KIND, name, TWO_PHASE_DIAGONAL, geometry)                                                         \
    __global__ void __launch_bounds__(ROW_BLOCK_SIZE)                                                        \
        two_phase_rows_##name(fe_view m, two_phase w, int first, int last, fe_number *y)                     \
    {                                                                                                        \
        rows_body(KIND, &m, &w, first, last, y);                                                             \
    }                                                                                                        \
    __global__ void __launch_bounds__(ROW_BLOCK_SIZE)                                                        \
        two_phase_diagonal_##name(fe_view m, two_phase w, fe_number *d)                                      \
    {                                                                                                        \
        diagonal_body(KIND, &m, &w, d);                                                                      \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef POINTS

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const two_phase *w = (const two_phase *)work;
    int first, last;
    two_phase_part_blocks(&p->view, part, &first, &last);
    first *= BLOCK, last *= BLOCK;
    const size_t points = (size_t)(last - first) * fe_points(p->kind);
    FE_LAUNCH_OPERATION(p, op, points, POINT_BLOCK_SIZE(p->kind), two_phase, p->view, *w, first, last,
                        displacement);
    fe_part_nodes(&p->view, part, &first, &last);
    FE_LAUNCH_KIND(p, (size_t)(last - first) * ROW_LANES(p->kind), ROW_BLOCK_SIZE, two_phase_rows, p->view,
                   *w, first, last, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    const two_phase *w = (const two_phase *)work;
    const int last = (p->view.n_elem + BLOCK - 1) / BLOCK * BLOCK;
    const size_t points = (size_t)last * fe_points(p->kind);
    FE_LAUNCH_KIND(p, points, POINT_BLOCK_SIZE(p->kind), two_phase_geometry, p->view, *w, 0, last, NULL);
    FE_LAUNCH_KIND(p, (size_t)p->view.n_owned * fe_points(p->kind), ROW_BLOCK_SIZE, two_phase_diagonal,
                   p->view, *w, (fe_number *)d);
    return FE_OK;
}

FE_TABLE(two_phase_cuda, .setup = two_phase_setup, .residual = residual, .material = fe_material_cuda,
         .jacvec = jacvec, .diagonal = diagonal, .traits = FE_STORES)
