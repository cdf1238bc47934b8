/* Assembly on the device: a team of as many threads as an element has corners sums one row of the matrix, in
 * shared memory. It visits the elements at the row's node in the CSR's order, each turned so that the node is
 * corner 0. First a thread opens one point: geometry and tangent, once for each corner of the element. Then
 * a thread computes the block of corner 0 and its own corner from all points, and adds it to the row. No
 * atomics, each block of the matrix is stored once. */
#define FE_LINEAR_KINDS
#include "common/problem/kernels.h"
#include "variants/assembled_bsr/matrix.h"

enum { BLOCK_SIZE = 64, DIAGONAL_BLOCK_SIZE = 256 };

/* Blocks of a row that are summed at a time: all of a node's inside a box, 27 and 15. Longer rows visit their
 * elements again. */
FE_BODY constexpr int row_blocks(int kind) { return FE_CORNERS(kind) == 8 ? 27 : 20; }
/* Numbers between teams, so that those of a warp read from different banks. */
FE_BODY constexpr int team_gap(int kind) { return FE_CORNERS(kind) == 8 ? 9 : 2; }
FE_BODY constexpr int team_points(int kind) { return kind == FE_TET4 ? 1 : FE_CORNERS(kind); }

typedef struct open_point {
    fe_stiffness stiffness;
    fe_scalar A[3][3];
    fe_scalar gap[2]; /* neighbours write to different banks */
} open_point;

template <int KIND> struct alignas(16) team_memory {
    open_point point[FE_CORNERS(KIND)]; /* of one element, or of four Tet4 */
    fe_scalar sum[row_blocks(KIND)][9];
    fe_scalar gap[team_gap(KIND)];
};

/* J[c][j] = d x_c / d s_j at point q, which is no constant here. */
FE_BODY void jacobian_at(int kind, fe_real x[8][3], int q, fe_real J[3][3])
{
    if (FE_CORNERS(kind) == 4) {
        fe_gradient_at(kind, x, NULL, 0, 0, J);
        return;
    }
    const fe_real s[3] = {fe_gauss(q & 1), fe_gauss(q >> 1 & 1), fe_gauss(q >> 2)};
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        fe_real here[4], rise[4];
        FE_UNROLL_FOR (int i = 0; i < 4; i++)
            rise[i] = x[i + 4][c] - x[i][c], here[i] = x[i][c] + s[2] * rise[i];
        const fe_real x0 = here[1] - here[0], y0 = here[2] - here[0], twist = (here[3] - here[2]) - x0;
        const fe_real low = rise[0] + s[0] * (rise[1] - rise[0]), high = rise[2] + s[0] * (rise[3] - rise[2]);
        J[c][0] = x0 + s[1] * twist, J[c][1] = y0 + s[0] * twist, J[c][2] = low + s[1] * (high - low);
    }
}

FE_BODY void point_open(int kind, const fe_view *m, int corner, int q, open_point *to)
{
    fe_index node[8];
    fe_real x[8][3], J[3][3], A[3][3];
    const fe_element e = fe_element_load(kind, m, corner >> 3, corner & 7, node, x);
    jacobian_at(kind, x, q, J);
    const fe_real scale = fe_weight(kind) * fe_turn_sign(kind, e.turn) / fe_cofactor(J, A);
    fe_stiffness stiffness;
    fe_stiffness_open(kind, m, e, fe_no_turn(), q, A, scale, &stiffness);
    to->stiffness = stiffness;
    FE_UNROLL_FOR (int i = 0; i < 9; i++) to->A[i / 3][i % 3] = A[i / 3][i % 3];
}

/* Number of blocks of row i; columns of a slice beyond it are the row's own. */
FE_BODY int row_length(const bsr_rows *r, int i)
{
    const int first = r->first[bsr_slice(r, i)], lane = bsr_lane(r, i);
    int n = r->first[bsr_slice(r, i) + 1] - first;
    while (n - 1 > r->diagonal[i] && r->column[bsr_column_at(r, first + n - 1, lane)] == bsr_node(r, i)) n--;
    return n;
}

/* Which of row i's n blocks has the column, which the row has. */
FE_BODY int find_block(const bsr_rows *r, int i, int n, int column)
{
    const int first = r->first[bsr_slice(r, i)], lane = bsr_lane(r, i);
    int low = 0;
    while (n > 1) {
        const int half = n / 2;
        if (r->column[bsr_column_at(r, first + low + half, lane)] <= column) low += half;
        n -= half;
    }
    return low;
}

/* sum += block of corner 0 and corner b from the points of an element. */
template <int KIND> FE_BODY void add_block(const open_point *point, int b, fe_scalar sum[9])
{
    fe_real K[9] = {0.0f};
    FE_UNROLL_FOR (int q = 0; q < team_points(KIND); q++) {
        fe_real A[3][3], h[3];
        FE_UNROLL_FOR (int i = 0; i < 9; i++) A[i / 3][i % 3] = point[q].A[i / 3][i % 3];
        fe_corner_gradient(KIND, A, b, q, h);
        fe_stiffness_add(&point[q].stiffness, 1, h, K);
    }
    for (int c = 0; c < 9; c++) sum[c] += K[c];
}

/* Blocks [from, from + row_blocks) of row i, whose elements are `corner` [n_elem], where it has them. The
 * teams of a warp go through `rounds` elements together. */
template <int KIND>
FE_BODY void assemble_blocks(const fe_view *m, const bsr_rows *r, int i, int n, int from, const int *corner,
                             int n_elem, int rounds, team_memory<KIND> *s)
{
    constexpr int TEAM = FE_CORNERS(KIND), POINTS = team_points(KIND), BATCH = TEAM / POINTS;
    const int b = threadIdx.x % TEAM;
    for (int c = b; c < 9 * row_blocks(KIND); c += TEAM) s->sum[c / 9][c % 9] = 0.0f;
    for (int k = 0; k < rounds; k += BATCH) {
        int place[BATCH];
        FE_UNROLL_FOR (int j = 0; j < BATCH; j++) {
            place[j] = -1;
            if (k + j >= n_elem) continue;
            const int at = corner[k + j], column = m->conn[fe_corner_place(b, at & 7, m->ld, at >> 3)];
            if (!r->upper || column >= bsr_node(r, i)) place[j] = find_block(r, i, n, column) - from;
        }
        if (k + b / POINTS < n_elem) point_open(KIND, m, corner[k + b / POINTS], b % POINTS, &s->point[b]);
        __syncwarp();
        FE_UNROLL_FOR (int j = 0; j < BATCH; j++) {
            if (place[j] >= 0 && place[j] < row_blocks(KIND))
                add_block<KIND>(s->point + j * POINTS, b, s->sum[place[j]]);
            __syncwarp();
        }
    }
}

template <int KIND>
FE_BODY void assemble_row(const fe_view *m, const bsr_rows *r, int i, team_memory<KIND> *s)
{
    const int b = threadIdx.x % FE_CORNERS(KIND);
    int n = 0, n_elem = 0;
    const int *corner = NULL;
    if (i < r->n_row) {
        n = row_length(r, i);
        const int node = bsr_node(r, i);
        corner = m->corner + m->corner_first[node];
        n_elem = m->corner_first[node + 1] - m->corner_first[node];
    }
    const int rounds = __reduce_max_sync(~0u, n_elem), longest = __reduce_max_sync(~0u, n);
    for (int from = 0; from < longest; from += row_blocks(KIND)) {
        assemble_blocks<KIND>(m, r, i, n, from, corner, n_elem, rounds, s);
        __syncwarp();
        for (int c = b; c < 9 * min(n - from, row_blocks(KIND)); c += FE_CORNERS(KIND))
            r->value[bsr_entry(r, i, from + c / 9, c % 9)] = s->sum[c / 9][c % 9];
        __syncwarp();
    }
}

#define KERNEL(KIND, name)                                                                                   \
    __global__ void __launch_bounds__(BLOCK_SIZE) bsr_assemble_##name(fe_view m, bsr_rows r)                 \
    {                                                                                                        \
        __shared__ team_memory<KIND> team[BLOCK_SIZE / FE_CORNERS(KIND)];                                    \
        const int i = (blockIdx.x * BLOCK_SIZE + threadIdx.x) / FE_CORNERS(KIND);                            \
        assemble_row<KIND>(&m, &r, i, &team[threadIdx.x / FE_CORNERS(KIND)]);                                \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL

static __global__ void __launch_bounds__(DIAGONAL_BLOCK_SIZE) bsr_diagonal(bsr_rows r, fe_number *d)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= r.n_row) return;
    for (int c = 0; c < 9; c++)
        d[9 * (size_t)bsr_node(&r, i) + c] = r.value[bsr_entry(&r, i, r.diagonal[i], c)];
}

static fe_status assemble(const fe_problem *p, const bsr_matrix *matrix)
{
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        const bsr_rows r = matrix->part[part];
        const size_t n = (size_t)r.n_row * fe_corners(p->kind);
        FE_LAUNCH_KIND(p, n, BLOCK_SIZE, bsr_assemble, p->view, r);
    }
    return FE_OK;
}

extern "C" fe_status FE_PRECISE(bsr_material_cuda)(fe_problem *p, void *work, fe_linearization mode,
                                                   const double *displacement)
{
    FE_TRY(fe_material_cuda(p, NULL, mode, displacement));
    const fe_problem in = fe_problem_in(p, FE_PRECISION);
    return assemble(&in, (const bsr_matrix *)work);
}

extern "C" fe_status FE_PRECISE(bsr_elastic_cuda)(const fe_problem *p, const bsr_matrix *matrix)
{
    fe_problem elastic;
    FE_TRY(bsr_without_plasticity(p, FE_PRECISION, &elastic));
    const fe_status status = assemble(&elastic, matrix);
    p->device->ops->memory.release(p->device, elastic.view.trial.flags);
    return status;
}

extern "C" fe_status FE_PRECISE(bsr_diagonal_cuda)(const fe_problem *p, void *work, void *d)
{
    const bsr_matrix *matrix = (const bsr_matrix *)work;
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        const bsr_rows r = matrix->part[part];
        FE_LAUNCH(p->device, r.n_row, DIAGONAL_BLOCK_SIZE, bsr_diagonal, r, (fe_number *)d);
    }
    return FE_OK;
}
