/* Assembly on the device: a team of threads, one for each corner of an element, sums one row of the matrix,
 * in shared memory. It visits the elements at the row's node in the CSR's order, linear ones each turned so
 * that the node is corner 0. First a thread opens one point: geometry and tangent, once for each corner of
 * the element. Then a thread computes the block of the node's corner and its own corner from all points, and
 * adds it to the row. No atomics, each block of the matrix is stored once. */
#include "common/problem/kernels.h"
#include "variants/assembled_bsr/matrix.h"

enum { BLOCK_SIZE = 64, DIAGONAL_BLOCK_SIZE = 256 };

/* Blocks of a row that are summed at a time: all of a node's inside a box, Hex8 27, Tet4 15, Hex27 125, Tet10
 * 65. Longer rows visit their elements again. */
FE_BODY constexpr int row_blocks(int kind)
{
    return FE_CORNERS(kind) == 8 ? 27 : kind == FE_HEX27 ? 125 : kind == FE_TET10 ? 65 : 20;
}
/* Numbers between teams, so that those of a warp read from different banks. */
FE_BODY constexpr int team_gap(int kind) { return FE_CORNERS(kind) == 8 ? 9 : 2; }
/* Threads of a team: a power of two. */
__host__ __device__ constexpr int team_lanes(int kind)
{
    return kind == FE_HEX27 ? 32 : kind == FE_TET10 ? 16 : FE_CORNERS(kind);
}
/* Elements whose points a team opens together: four Tet4 or Tet10, otherwise one. */
FE_BODY constexpr int team_batch(int kind) { return team_lanes(kind) / FE_POINTS(kind); }

typedef struct open_point {
    fe_stiffness stiffness;
    fe_scalar A[3][3];
    fe_scalar gap[2]; /* neighbours write to different banks */
} open_point;

template <int KIND> struct alignas(16) team_memory {
    open_point point[team_batch(KIND) * FE_POINTS(KIND)];
    fe_scalar sum[row_blocks(KIND)][9];
    fe_scalar gap[team_gap(KIND)];
};

/* J[c][j] = d x_c / d s_j at point q, which is no constant here. */
FE_BODY void jacobian_at(int kind, fe_real x[][3], int q, fe_real J[3][3])
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

/* The same of a quadratic element, plane by plane of its corners. */
FE_BODY void quadratic_jacobian(int kind, const fe_view *m, int e, int q, fe_real J[3][3])
{
    const int planes = fe_planes(kind), n = fe_corners(kind) / planes;
    FE_UNROLL_FOR (int i = 0; i < 9; i++) J[i / 3][i % 3] = 0.0f;
    for (int k = 0; k < fe_rolled(kind, planes); k++)
        FE_UNROLL_FOR (int i = 0; i < n; i++) {
            const int a = i + n * k;
            fe_real x[3];
            fe_read3(fe_coordinates(m), m->conn[(size_t)a * m->ld + e], x);
            FE_UNROLL_FOR (int j = 0; j < 3; j++) {
                const fe_scalar slope = fe_quadratic_gradient(kind, a, q, j);
                FE_UNROLL_FOR (int c = 0; c < 3; c++) J[c][j] += x[c] * slope;
            }
        }
}

FE_BODY void point_open(int kind, const fe_view *m, int corner, int q, open_point *to)
{
    const int own = fe_code_corner(kind, corner), turn = fe_is_quadratic(kind) ? 0 : own;
    const fe_element e = fe_element_open(m, fe_code_element(kind, corner), turn);
    fe_real J[3][3], A[3][3];
    if (fe_is_quadratic(kind)) {
        quadratic_jacobian(kind, m, e.e, q, J);
    } else {
        fe_index node[8];
        fe_real x[8][3];
        fe_element_nodes(kind, m, e, node);
        fe_element_read(kind, node, fe_coordinates(m), x);
        jacobian_at(kind, x, q, J);
    }
    const fe_real scale = fe_weight_at(kind, q) * fe_turn_sign(kind, e.turn) / fe_cofactor(J, A);
    fe_stiffness stiffness;
    fe_stiffness_open(kind, m, e, own, q, A, scale, &stiffness);
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

/* sum += block of the node's corner and corner b from the points of an element. */
template <int KIND> FE_BODY void add_block(const open_point *point, int b, fe_scalar sum[9])
{
    fe_real K[9] = {0.0f};
    FE_UNROLL_FOR (int q = 0; q < FE_POINTS(KIND); q++) {
        fe_real A[3][3], h[3];
        FE_UNROLL_FOR (int i = 0; i < 9; i++) A[i / 3][i % 3] = point[q].A[i / 3][i % 3];
        if (fe_is_quadratic(KIND))
            fe_own_gradient(KIND, A, b, q, h);
        else
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
    constexpr int TEAM = team_lanes(KIND), POINTS = FE_POINTS(KIND), BATCH = team_batch(KIND);
    const int b = threadIdx.x % TEAM;
    for (int c = b; c < 9 * row_blocks(KIND); c += TEAM) s->sum[c / 9][c % 9] = 0.0f;
    for (int k = 0; k < rounds; k += BATCH) {
        int place[BATCH];
        FE_UNROLL_FOR (int j = 0; j < BATCH; j++) {
            place[j] = -1;
            if (k + j >= n_elem || b >= FE_CORNERS(KIND)) continue;
            const int at = corner[k + j], e = fe_code_element(KIND, at),
                      turn = fe_is_quadratic(KIND) ? 0 : fe_code_corner(KIND, at),
                      column = m->conn[fe_corner_place(b, turn, m->ld, e)];
            if (!r->upper || column >= bsr_node(r, i)) place[j] = find_block(r, i, n, column) - from;
        }
        if (b < BATCH * POINTS && k + b / POINTS < n_elem)
            point_open(KIND, m, corner[k + b / POINTS], b % POINTS, &s->point[b]);
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
    const int b = threadIdx.x % team_lanes(KIND);
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
        for (int c = b; c < 9 * min(n - from, row_blocks(KIND)); c += team_lanes(KIND))
            r->value[bsr_entry(r, i, from + c / 9, c % 9)] = s->sum[c / 9][c % 9];
        __syncwarp();
    }
}

#define KERNEL(KIND, name)                                                                                   \
    __global__ void __launch_bounds__(BLOCK_SIZE) bsr_assemble_##name(fe_view m, bsr_rows r)                 \
    {                                                                                                        \
        __shared__ team_memory<KIND> team[BLOCK_SIZE / team_lanes(KIND)];                                    \
        const int i = (blockIdx.x * BLOCK_SIZE + threadIdx.x) / team_lanes(KIND);                            \
        assemble_row<KIND>(&m, &r, i, &team[threadIdx.x / team_lanes(KIND)]);                                \
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
        const size_t n = (size_t)r.n_row * team_lanes(p->kind);
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
