/* element_color on the device: one launch per colour of blocks, one block of elements per thread block. */
#define FE_CHAINED (color > 0)
#include "common/physics/lanes.h"
#include "common/physics/plane.h"
#include "common/problem/kernels.h"
#include "variants/element_color/assembly.h"

/* Threads of an element: two share a factored Hex8, a plane of four points each; those of quadratic elements
 * hold a point each, four of a Tet10 and a warp of a Hex27 (common/physics/lanes.h). */
#define TEAM(kind) ((kind) == FE_HEX8 ? 2 : (kind) == FE_TET10 ? 4 : (kind) == FE_HEX27 ? 32 : 1)
#define IS_QUADRATIC(kind) ((kind) == FE_TET10 || (kind) == FE_HEX27)
/* Corners that a thread reads, and those whose forces it has. */
#define READ(kind) ((kind) == FE_TET10 ? 4 : (kind) == FE_HEX27 ? 1 : FE_CORNERS(kind))
#define HELD(kind) (IS_QUADRATIC(kind) ? READ(kind) : FE_CORNERS(kind) / TEAM(kind))
/* Corners whose diagonal blocks a thread computes. */
#define BLOCKS(kind) ((FE_CORNERS(kind) + TEAM(kind) - 1) / TEAM(kind))
#define THREADS(kind) ((TEAM(kind) * ELEMENT_COLOR_ELEMENTS(kind) + 31) / 32 * 32)
/* Elements of so many colours add at the same time, each colour to sums of its own. */
#define SUMS(kind) (FE_CORNERS(kind) == 8 || (kind) == FE_HEX27 ? 2 : 4)
/* Thread blocks that a multiprocessor must have registers for. */
#define LEAST_BLOCKS(kind)                                                                                   \
    ((kind) == FE_TET4 ? 5 : (kind) == FE_TET4_P4 ? 4 : (kind) == FE_HEX8 || (kind) == FE_TET10 ? 2 : 1)

/* The nodes of a block in shared memory: coordinates and displacements, in whose place sums stand later. */
template <int kind> struct block_nodes {
    fe_number row[SUMS(kind)][3 * ELEMENT_COLOR_NODES(kind)];
    int node[ELEMENT_COLOR_NODES(kind)];
};

/* Brings the nodes of a block to shared memory. */
template <int kind>
FE_BODY void read_nodes(const fe_view *m, const element_color_order *order, const element_color_block *b,
                        const fe_number *displacement, block_nodes<kind> *s)
{
    for (int i = threadIdx.x; i < b->n_node; i += THREADS(kind)) s->node[i] = order->node[b->first_node + i];
    __syncthreads();
    for (int i = threadIdx.x; i < 3 * b->n_node; i += THREADS(kind)) {
        const size_t at = 3 * (size_t)element_color_node(s->node[i / 3]) + i % 3;
        s->row[0][i] = fe_coordinates(m)[at];
        if (displacement) s->row[1][i] = displacement[at];
    }
}

/* Number c of a corner's row. In mixed precision corner 0 is subtracted before rounding, as in
 * fe_element_read. */
FE_BODY fe_real read_number(const fe_number *row, int node, int from, int c)
{
    return (fe_real)(FE_PRECISION == FE_MIXED ? row[3 * node + c] - row[3 * from + c] : row[3 * node + c]);
}

/* The corner that thread k of an element reads, and whether it adds the force on it. */
template <int kind> FE_BODY int corner_read(int b, int k)
{
    return kind == FE_TET10 ? fe_tet10_held(b, k) : kind == FE_HEX27 ? fe_hex27_lane() : b;
}
template <int kind> FE_BODY bool adds(int b, int k)
{
    return kind == FE_TET10 ? fe_tet10_adds(k, b) : kind == FE_HEX27 ? k < FE_HEX27_LANES : true;
}

/* Forces on the corners of an element, on those that thread k holds of a quadratic one, or of plane k of a
 * Hex8 that has two threads. */
template <int kind>
FE_BODY void element_forces(int op, const fe_view *m, int e, int k, const int node[],
                            const block_nodes<kind> *s, fe_real force[][3])
{
    fe_real x[READ(kind)][3], u[READ(kind)][3];
    FE_UNROLL_FOR (int b = 0; b < READ(kind); b++)
        FE_UNROLL_FOR (int c = 0; c < 3; c++) {
            x[b][c] = read_number(s->row[0], node[b], node[0], c);
            u[b][c] = read_number(s->row[1], node[b], node[0], c);
        }
    if constexpr (kind == FE_TET10) {
        fe_tet10_team_forces(op, m, fe_element_open(m, e, k), x, u, force);
    } else if constexpr (kind == FE_HEX27) {
        fe_hex27_warp_forces(op, m, fe_element_open(m, e, fe_no_turn()), x[0], u[0], force[0]);
    } else if constexpr (TEAM(kind) == 2) {
        const fe_element element = fe_element_open(m, e, 0);
        fe_plane_forces(
            k, x, u,
            [&](int q, fe_real J[3][3], fe_real G[3][3], fe_real A[3][3], fe_real stress[6]) {
                fe_point_stress(FE_HEX8, op, 1.0f, m, element, q + 4 * k, J, G, A, stress);
            },
            force);
    } else {
        fe_element_forces(kind, op, m, fe_element_open(m, e, fe_no_turn()), x, u, force);
    }
}

/* Sets n numbers of a row of sums to zero. */
template <int kind> FE_BODY void clear_sums(int n, fe_number *row)
{
    for (int i = threadIdx.x; i < n; i += THREADS(kind)) row[i] = 0.0f;
}

/* y[node] += corner forces of a block's elements. */
template <int kind>
FE_BODY void block_forces(int op, const fe_view *m, const element_color_order *order, int block,
                          const fe_number *displacement, fe_number *y)
{
    __shared__ block_nodes<kind> s;
    const int held = HELD(kind), n = ELEMENT_COLOR_ELEMENTS(kind);
    const element_color_block b = order->block[block];
    const int slot = threadIdx.x / TEAM(kind), k = threadIdx.x % TEAM(kind), own = min(slot, b.n_elem - 1);
    const size_t start = (size_t)n * b.place;
    int node[READ(kind)];
    fe_real force[READ(kind)][3];
    fe_let_next_start();
    FE_UNROLL_FOR (int c = 0; c < READ(kind); c++)
        node[c] = order->corner[FE_CORNERS(kind) * start + corner_read<kind>(c, k) * n + own];
    const int color = slot < b.n_elem ? order->color[start + own] : -1, e = order->elem[start + own];
    read_nodes(m, order, &b, displacement, &s);
    __syncthreads();
    element_forces(op, m, e, k, node, &s, force);
    __syncthreads();
    FE_UNROLL_FOR (int j = 0; j < SUMS(kind); j++) clear_sums<kind>(3 * b.n_node, s.row[j]);
    __syncthreads();
    for (int now = 0; now < b.n_color; now += SUMS(kind)) {
        if (color >= now && color < now + SUMS(kind)) {
            fe_number *row = s.row[color - now], sum[3 * held];
            int at[held];
            FE_UNROLL_FOR (int c = 0; c < held; c++)
                at[c] = 3 * (IS_QUADRATIC(kind) || !k ? node[c] : node[(c + held) % READ(kind)]);
            FE_UNROLL_FOR (int i = 0; i < 3 * held; i++)
                if (adds<kind>(i / 3, k)) sum[i] = row[at[i / 3] + i % 3];
            FE_UNROLL_FOR (int i = 0; i < 3 * held; i++)
                if (adds<kind>(i / 3, k)) row[at[i / 3] + i % 3] = sum[i] + force[i / 3][i % 3];
        }
        __syncthreads();
    }
    fe_wait_for_earlier();
    for (int i = threadIdx.x; i < 3 * b.n_node; i += THREADS(kind)) {
        const int entry = s.node[i / 3];
        const size_t at = 3 * (size_t)element_color_node(entry) + i % 3;
        fe_number sum = s.row[0][i];
        FE_UNROLL_FOR (int j = 1; j < SUMS(kind); j++) sum += s.row[j][i];
        y[at] = entry < 0 ? sum : y[at] + sum;
    }
}

/* d[node] += diagonal blocks of a block's elements. A thread of two computes those of four corners, the first
 * ones of the element turned by 4 k; thread k of a quadratic element those of the corners k, k + TEAM and so
 * on. */
template <int kind>
FE_BODY void block_diagonal(const fe_view *m, const element_color_order *order, int block, fe_number *d)
{
    __shared__ block_nodes<kind> s;
    const int held = BLOCKS(kind), n = ELEMENT_COLOR_ELEMENTS(kind);
    const int place[9] = {0, 3, 5, 3, 1, 4, 5, 4, 2};
    const element_color_block b = order->block[block];
    const int slot = threadIdx.x / TEAM(kind), k = threadIdx.x % TEAM(kind), own = min(slot, b.n_elem - 1);
    const int turn = IS_QUADRATIC(kind) ? 0 : 4 * k;
    const size_t start = (size_t)n * b.place;
    fe_number *sum = s.row[0];
    fe_real x[FE_CORNERS(kind)][3], entry[held][6];
    int node[FE_CORNERS(kind)], at[held];
    fe_let_next_start();
    FE_UNROLL_FOR (int c = 0; c < FE_CORNERS(kind); c++)
        node[c] = order->corner[FE_CORNERS(kind) * start + (c ^ turn) * n + own];
    const int color = slot < b.n_elem ? order->color[start + own] : -1;
    const fe_element element = fe_element_open(m, order->elem[start + own], turn);
    read_nodes(m, order, &b, NULL, &s);
    __syncthreads();
    FE_UNROLL_FOR (int i = 0; i < 3 * FE_CORNERS(kind); i++)
        x[i / 3][i % 3] = read_number(s.row[0], node[i / 3], node[0], i % 3);
    FE_UNROLL_FOR (int c = 0; c < held; c++) {
        const int corner = IS_QUADRATIC(kind) ? min(k + TEAM(kind) * c, FE_CORNERS(kind) - 1) : c;
        if (IS_QUADRATIC(kind))
            fe_corner_diagonal(kind, m, element, x, corner, entry[c]);
        else
            fe_element_diagonal(kind, m, element, x, c, entry[c]);
        at[c] = IS_QUADRATIC(kind) ? order->corner[FE_CORNERS(kind) * start + corner * n + own] : node[c];
    }
    __syncthreads();
    clear_sums<kind>(6 * b.n_node, sum); /* two rows */
    __syncthreads();
    for (int now = 0; now < b.n_color; now++) {
        if (color == now)
            FE_UNROLL_FOR (int i = 0; i < 6 * held; i++)
                if (!IS_QUADRATIC(kind) || k + TEAM(kind) * (i / 6) < FE_CORNERS(kind))
                    sum[6 * at[i / 6] + i % 6] += (fe_number)entry[i / 6][i % 6];
        __syncthreads();
    }
    fe_wait_for_earlier();
    for (int i = threadIdx.x; i < 9 * b.n_node; i += THREADS(kind))
        d[9 * (size_t)element_color_node(s.node[i / 9]) + i % 9] += sum[6 * (i / 9) + place[i % 9]];
}

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(THREADS(KIND), LEAST_BLOCKS(KIND)) element_color_##operation##_##name( \
        fe_view m, element_color_order order, int first, const fe_number *displacement, fe_number *y)        \
    {                                                                                                        \
        block_forces<KIND>(OP, &m, &order, first + blockIdx.x, displacement, y);                             \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(THREADS(KIND))                                                         \
        element_color_diagonal_##name(fe_view m, element_color_order order, int first, fe_number *d)         \
    {                                                                                                        \
        block_diagonal<KIND>(&m, &order, first + blockIdx.x, d);                                             \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

static fe_status setup(fe_problem *p, void **work)
{
    return element_color_open(p, ELEMENT_COLOR_ELEMENTS(p->kind), ELEMENT_COLOR_NODES(p->kind), 1, work);
}

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const element_color_order *order = (const element_color_order *)work;
    const size_t threads = THREADS(p->kind);
    for (int color = 0; color < order->n_color[part]; color++) {
        const int first = order->first[part][color], last = order->first[part][color + 1];
        FE_LAUNCH_OPERATION(p, op, (last - first) * threads, (int)threads, element_color, p->view, *order,
                            first, displacement, y);
    }
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *blocks)
{
    const element_color_order *order = (const element_color_order *)work;
    const size_t threads = THREADS(p->kind);
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        for (int color = 0; color < order->n_color[part]; color++) {
            const int first = order->first[part][color], last = order->first[part][color + 1];
            FE_LAUNCH_KIND(p, (last - first) * threads, (int)threads, element_color_diagonal, p->view, *order,
                           first, (fe_number *)blocks);
        }
    return FE_OK;
}

FE_TABLE(element_color_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(element_color_setup_from),
         .residual = residual, .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal,
         .traits = FE_STORES | FE_PIECES)
