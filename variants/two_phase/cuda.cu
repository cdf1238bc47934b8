/* two_phase on the device: one point per thread, then rows. */
#include "common/problem/kernels.h"
#include "variants/two_phase/assembly.h"

/* Phase 1, elements of several points: neighbouring threads take the points of an element, one block of
 * threads those of a block of elements, of Hex27 of four elements. */
#define POINT_BLOCK_SIZE(kind) ((kind) == FE_HEX8 || (kind) == FE_HEX8_NAIVE ? 256 : 128)
#define LEAST_BLOCKS(kind, op) ((kind) == FE_HEX8 && (op) == FE_RESIDUAL ? 4 : 0)
enum { BLOCK = TWO_PHASE_BLOCK, ROW_BLOCK_SIZE = 256 };
/* Phase 2, elements of one point: each component of a row has its own thread. Three neighbouring threads read
 * the 24 bytes of a column, and take so many corners at a time. */
enum { COLUMN_CORNERS = 16 };
/* Elements of several points: tiles of rows. */
#define TILED(kind) (TWO_PHASE_STORE == 9 && fe_points(kind) > 1)
/* Threads of an element: one for each point, and of a Hex27 a warp. */
FE_BOTH int lanes_of(int kind) { return fe_is_quadratic(kind) ? fe_spread_lanes(kind) : fe_points(kind); }

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

/* Points of quadratic elements. */
FE_BODY void spread_points(int kind, int op, const fe_view *m, const two_phase *w, int first,
                           const fe_number *displacement)
{
    const fe_spread s = fe_spread_open(kind);
    const int e = first + fe_spread_item(kind, POINT_BLOCK_SIZE(kind));
    int node[FE_SPREAD_HELD];
    fe_real f[FE_SPREAD_HELD][3], J[3][3], G[3][3];
    fe_spread_nodes(kind, &s, m, e, node);
    fe_spread_read(kind, node, fe_coordinates(m), f);
    fe_spread_gradient(kind, &s, f, J);
    if (op != TWO_PHASE_DIAGONAL) {
        fe_spread_read(kind, node, displacement, f);
        fe_spread_gradient(kind, &s, f, G);
    }
    if (s.adds)
        two_phase_store(kind, op, m, w, fe_spread_element(kind, &s, m, e), fe_spread_point(kind, &s), s.point,
                        J, G);
}

FE_BODY void point_body(int kind, int op, const fe_view *m, const two_phase *w, int first, int last,
                        const fe_number *displacement)
{
    if (fe_is_quadratic(kind)) {
        spread_points(kind, op, m, w, first, displacement);
        return;
    }
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

/* Forces on corner `lane` of an element of several points, of which the thread has the numbers of point
 * `lane`, turned by it. Corner b of the turned element is corner b ^ lane: threads swap halves of what they
 * have. */
FE_BODY void corner_force(int kind, const fe_real stored[9], fe_real force[3])
{
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        fe_real f[8];
        FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++) {
            fe_real g[3];
            two_phase_shape(kind, b, g);
            f[b] = g[0] * stored[3 * c] + g[1] * stored[3 * c + 1] + g[2] * stored[3 * c + 2];
        }
        FE_UNROLL_FOR (int bit = 1; bit < fe_corners(kind); bit *= 2)
            FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b += 2 * bit) f[b] += turned(f[b + bit], bit);
        force[c] = f[0];
    }
}

/* Corner forces of element `number` of a tile go to their places. */
FE_BODY void element_forces(int kind, const two_phase *w, const two_phase_tile *t, int number, int lane,
                            fe_scalar (*force)[3])
{
    const int at = t->elem + min(number, t->n_elem - 1);
    const fe_scalar *value = w->value + two_phase_place(kind, 0, lane, w->tile_elem[at]);
    const int to = number < t->n_elem ? w->place[(size_t)fe_corners(kind) * at + lane] : TWO_PHASE_NO_PLACE;
    fe_real stored[9], f[3];
    FE_UNROLL_FOR (int i = 0; i < 9; i++) stored[i] = value[i * fe_points(kind)];
    corner_force(kind, stored, f);
    if (to != TWO_PHASE_NO_PLACE)
        FE_UNROLL_FOR (int c = 0; c < 3; c++) force[to][c] = f[c];
}

/* The same of a quadratic element. */
FE_BODY void spread_element_forces(int kind, const two_phase *w, const two_phase_tile *t, int number,
                                   const fe_spread *s, fe_scalar (*force)[3])
{
    const int at = t->elem + min(number, t->n_elem - 1);
    const fe_scalar *value = w->value + two_phase_place(kind, 0, s->point, w->tile_elem[at]);
    fe_real P[3][3], f[FE_SPREAD_HELD][3];
    FE_UNROLL_FOR (int i = 0; i < 9; i++) P[i / 3][i % 3] = value[i * fe_points(kind)];
    fe_spread_scatter(kind, s, P, f);
    FE_UNROLL_FOR (int b = 0; b < fe_spread_held(kind); b++) {
        if (number >= t->n_elem || !fe_spread_adds(kind, s, b)) continue;
        const int to = w->place[(size_t)fe_corners(kind) * at + fe_spread_corner(kind, s, b)];
        if (to != TWO_PHASE_NO_PLACE)
            FE_UNROLL_FOR (int c = 0; c < 3; c++) force[to][c] = f[b][c];
    }
}

/* Rows of a tile: corner forces of its elements, a thread for each point, then their sums, in the order of
 * the view's rows, a thread for each component. */
FE_BODY void row_forces(int kind, const fe_view *m, const two_phase *w, int tile, fe_number *y)
{
    __shared__ fe_scalar force[TWO_PHASE_PLACES + TWO_PHASE_PLACES / 8][3];
    const two_phase_tile t = w->tile[tile];
    const int n = lanes_of(kind), first = threadIdx.x / n;
    if (fe_is_quadratic(kind)) {
        const fe_spread s = fe_spread_open(kind);
#pragma unroll 1
        for (int i = first; i < t.n_elem + first; i += ROW_BLOCK_SIZE / n)
            spread_element_forces(kind, w, &t, i, &s, force);
    } else {
        for (int i = first; i < t.n_elem + first;
             i += ROW_BLOCK_SIZE / n) /* as often in all threads of a warp */
            element_forces(kind, w, &t, i, threadIdx.x % n, force);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 3 * t.n_row; i += ROW_BLOCK_SIZE) {
        const int row = t.row + i / 3, end = m->corner_first[row + 1] - t.first_corner;
        fe_number sum = 0.0f;
        for (int k = m->corner_first[row] - t.first_corner; k < end; k++)
            sum += (fe_number)force[two_phase_skewed(k)][i % 3];
        y[3 * (size_t)t.row + i] = sum;
    }
}

/* A row with more corners than a tile has places: one block of threads, each of which takes a share of its
 * corners, one after the other. */
FE_BODY void long_row_forces(int kind, const fe_view *m, const two_phase *w, int row, fe_number *y)
{
    __shared__ fe_number part[ROW_BLOCK_SIZE][3];
    fe_number sum[3] = {0.0f, 0.0f, 0.0f};
    for (int k = m->corner_first[row] + threadIdx.x; k < m->corner_first[row + 1]; k += ROW_BLOCK_SIZE) {
        fe_real f[3] = {0.0f, 0.0f, 0.0f};
        for (int q = 0; q < fe_rolled(kind, fe_points(kind)); q++)
            two_phase_add_force(kind, w, fe_code_element(kind, m->corner[k]),
                                fe_code_corner(kind, m->corner[k]), q, f);
        for (int c = 0; c < 3; c++) sum[c] += (fe_number)f[c];
    }
    for (int c = 0; c < 3; c++) part[threadIdx.x][c] = sum[c];
    __syncthreads();
    if (threadIdx.x >= 3) return;
    fe_number all = 0.0f;
    for (int i = 0; i < ROW_BLOCK_SIZE; i++) all += part[i][threadIdx.x];
    y[3 * (size_t)row + threadIdx.x] = all;
}

/* A component of a row of elements of one point. */
FE_BODY void row_component(const fe_view *m, const two_phase *w, int row, int c, fe_number *y)
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
    y[3 * (size_t)row + c] = sum;
}

/* One row per thread, from six stored numbers. */
FE_BODY void row_forces_recomputed(int kind, const fe_view *m, const two_phase *w, int row, fe_number *y)
{
    fe_number sum[3] = {0.0f, 0.0f, 0.0f};
    for (int k = m->corner_first[row]; k < m->corner_first[row + 1]; k++) {
        const int corner = m->corner[k];
        fe_real force[3];
        two_phase_force(kind, m, w, fe_code_element(kind, corner), fe_code_corner(kind, corner), force);
        for (int c = 0; c < 3; c++) sum[c] += force[c];
    }
    for (int c = 0; c < 3; c++) y[3 * (size_t)row + c] = sum[c];
}

FE_BODY void diagonal_body(int kind, const fe_view *m, const two_phase *w, fe_number *d)
{
    const int i = blockIdx.x * ROW_BLOCK_SIZE + threadIdx.x, n = lanes_of(kind), q = i % n;
    const int row = i / n < m->n_owned ? i / n : m->n_owned - 1; /* of a Hex27 27 of the threads sum */
    fe_real sum[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}, rows[3][3];
    for (int k = m->corner_first[row]; k < m->corner_first[row + 1]; k++) {
        const int corner = m->corner[k];
        if (n == fe_points(kind) || q < fe_points(kind))
            two_phase_add_block(kind, m, w, fe_code_element(kind, corner), fe_code_corner(kind, corner), q,
                                sum);
    }
    for (int c = 0; c < 6; c++) sum[c] = sum_over(n, sum[c]);
    fe_block_rows(sum, rows);
    if (i / n < m->n_owned && q == 0)
        for (int c = 0; c < 9; c++) d[9 * (size_t)row + c] = rows[c / 3][c % 3];
}

/* Tile number `first` and those behind it, a block of threads for each; or rows [first, last). */
FE_BODY void rows_body(int kind, const fe_view *m, const two_phase *w, int first, int last, fe_number *y)
{
    if (TILED(kind)) {
        row_forces(kind, m, w, first + blockIdx.x, y);
        return;
    }
    const int lanes = TWO_PHASE_STORE == 9 ? 3 : 1;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, row = first + i / lanes;
    if (row >= last) return;
    if (TWO_PHASE_STORE == 9)
        row_component(m, w, row, i % 3, y);
    else
        row_forces_recomputed(kind, m, w, row, y);
}

#define POINTS(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(POINT_BLOCK_SIZE(KIND), LEAST_BLOCKS(KIND, OP))                        \
        two_phase_##operation##_##name(fe_view m, two_phase w, int first, int last,                          \
                                       const fe_number *displacement)                                        \
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
        two_phase_long_rows_##name(fe_view m, two_phase w, int first, fe_number *y)                          \
    {                                                                                                        \
        if (TILED(KIND)) long_row_forces(KIND, &m, &w, w.long_row[first + blockIdx.x], y);                   \
    }                                                                                                        \
    __global__ void __launch_bounds__(ROW_BLOCK_SIZE)                                                        \
        two_phase_diagonal_##name(fe_view m, two_phase w, fe_number *d)                                      \
    {                                                                                                        \
        diagonal_body(KIND, &m, &w, d);                                                                      \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef POINTS

static fe_status setup(fe_problem *p, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(two_phase), "two_phase", work));
    two_phase *w = (two_phase *)*work;
    if (TILED(p->kind)) FE_TRY(two_phase_open_tiles(p, w));
    return two_phase_allocate(p, w);
}

/* The same tiles. */
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(two_phase), "two_phase", work));
    two_phase *w = (two_phase *)*work;
    *w = *(const two_phase *)in_double;
    return two_phase_allocate(p, w);
}

static fe_status sum_tiles(const fe_problem *p, const two_phase *w, fe_part part, fe_number *y)
{
    const int tile = w->first_tile[part], last = w->first_tile[part + 1], row = w->first_long[part];
    const size_t n = ROW_BLOCK_SIZE; /* threads of each */
    FE_LAUNCH_KIND(p, n * (last - tile), ROW_BLOCK_SIZE, two_phase_rows, p->view, *w, tile, last, y);
    FE_LAUNCH_KIND(p, n * (w->first_long[part + 1] - row), ROW_BLOCK_SIZE, two_phase_long_rows, p->view, *w,
                   row, y);
    return FE_OK;
}

static fe_status sum_rows(const fe_problem *p, const two_phase *w, fe_part part, fe_number *y)
{
    const size_t lanes = TWO_PHASE_STORE == 9 ? 3 : 1;
    int first, last;
    fe_part_nodes(&p->view, part, &first, &last);
    FE_LAUNCH_KIND(p, lanes * (last - first), ROW_BLOCK_SIZE, two_phase_rows, p->view, *w, first, last, y);
    return FE_OK;
}

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const two_phase *w = (const two_phase *)work;
    int first, last;
    two_phase_part_blocks(&p->view, part, &first, &last);
    first *= BLOCK, last *= BLOCK;
    const size_t points = (size_t)(last - first) * lanes_of(p->kind);
    FE_LAUNCH_OPERATION(p, op, points, POINT_BLOCK_SIZE(p->kind), two_phase, p->view, *w, first, last,
                        displacement);
    return (TILED(p->kind) ? sum_tiles : sum_rows)(p, w, part, y);
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    const two_phase *w = (const two_phase *)work;
    const int last = (p->view.n_elem + BLOCK - 1) / BLOCK * BLOCK;
    const size_t points = (size_t)last * lanes_of(p->kind);
    FE_LAUNCH_KIND(p, points, POINT_BLOCK_SIZE(p->kind), two_phase_geometry, p->view, *w, 0, last, NULL);
    FE_LAUNCH_KIND(p, (size_t)p->view.n_owned * lanes_of(p->kind), ROW_BLOCK_SIZE, two_phase_diagonal,
                   p->view, *w, (fe_number *)d);
    return FE_OK;
}

FE_TABLE(two_phase_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from), .residual = residual,
         .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal,
         .traits = FE_STORES | FE_PIECES_OF_SEVERAL)
