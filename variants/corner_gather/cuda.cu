/* corner_gather on the device: a thread takes an element, half of a Hex8 or a point of a quadratic element; then
 * one number of a row. */
#include "common/problem/kernels.h"
#include "variants/corner_gather/assembly.h"

enum { BLOCK_SIZE = 128, WARPS = BLOCK_SIZE / FE_WARP, ROW_BLOCK_SIZE = 256 };

/* --- elements --------------------------------------------------------------------------------------------
 *
 * A warp collects the numbers of its elements in shared memory and stores them together: in memory they
 * follow each other. */

/* Two numbers that are moved at once. */
struct alignas(2 * sizeof(fe_scalar)) pair {
    fe_scalar a, b;
};

/* In shared memory numbers stand in runs as in memory, each of `run` numbers, those of one element or of the
 * four corners that a lane holds of a Tet4 or Hex8. Runs are `gap` apart, so that lanes use all banks. */
FE_BODY int run_of(int kind, int width) { return width * (fe_is_quadratic(kind) ? fe_corners(kind) : 4); }
FE_BODY int gap_of(int kind, int width) { return !fe_is_quadratic(kind) ? 2 : 1 - run_of(kind, width) % 2; }
/* Numbers of a warp: of 32 lanes with four corners, which no other kind exceeds. */
enum { KEPT = 14 * FE_WARP, KEPT_BLOCKS = 26 * FE_WARP };
static_assert(8 * 31 <= KEPT && 81 <= KEPT && 8 * 61 <= KEPT_BLOCKS && 163 <= KEPT_BLOCKS,
              "eight Tet10 or a Hex27");

/* The warp's elements e, e + 1, … < last to `value`. All lanes call it. */
FE_BODY void store_kept(int kind, int width, int e, int last, const fe_scalar *kept, fe_scalar *value)
{
    const int size = width * fe_corners(kind), elements = corner_gather_elements(kind),
              most = size * elements, n = size * min(last - e, elements), run = run_of(kind, width),
              gap = gap_of(kind, width);
    fe_scalar *to = value + (size_t)size * e;
    __syncwarp();
    const int step = size % 2 ? 1 : 2;
    FE_UNROLL_FOR (int r = 0; r < most; r += step * FE_WARP) {
        const int i = r + step * fe_lane();
        const fe_scalar *from = kept + i + gap * (i / run);
        if (i >= most || i >= n) continue;
        if (step == 1)
            to[i] = *from;
        else
            *(pair *)(to + i) = gap % 2 ? pair{from[0], from[1]} : *(const pair *)from;
    }
}

/* Forces of a warp's elements. */
FE_BODY void store_forces(int kind, int op, const fe_view *m, const corner_gather *w, int e, int last,
                          const fe_number *displacement, fe_scalar *kept)
{
    fe_real force[FE_MOST_CORNERS][3];
    corner_gather_forces(kind, op, m, e, last, displacement, force);
    fe_scalar *own = kept + (run_of(kind, 3) + gap_of(kind, 3)) * fe_lane();
    FE_UNROLL_FOR (int i = 0; i < 12; i += 2)
        *(pair *)(own + i) = {force[i / 3][i % 3], force[(i + 1) / 3][(i + 1) % 3]};
    store_kept(kind, 3, e, last, kept, w->value);
}

/* Diagonal blocks of a warp's elements. */
FE_BODY void store_diagonal(int kind, const fe_view *m, const corner_gather *w, int e, int last,
                            fe_scalar *kept)
{
    fe_real x[FE_MOST_CORNERS][3], block[6];
    const fe_element element = corner_gather_corners(kind, m, e, last, x);
    fe_scalar *own = kept + (run_of(kind, 6) + gap_of(kind, 6)) * fe_lane();
    FE_UNROLL_LARGE_FOR (int b = 0; b < 4; b++) {
        fe_element_diagonal(kind, m, element, x, b, block);
        FE_UNROLL_FOR (int c = 0; c < 6; c += 2) *(pair *)(own + 6 * b + c) = {block[c], block[c + 1]};
    }
    store_kept(kind, 6, e, last, kept, w->value);
}

/* The same of quadratic elements, whose threads hold the corners of spread.h: where a corner's numbers stand.
 */
FE_BODY fe_scalar *place_of(int kind, int width, int corner, fe_scalar *kept)
{
    return kept + (run_of(kind, width) + gap_of(kind, width)) * (fe_lane() / fe_spread_lanes(kind)) +
           width * corner;
}
FE_BODY void store_spread_forces(int kind, int op, const fe_view *m, const corner_gather *w, int first,
                                 int last, const fe_number *displacement, fe_scalar *kept)
{
    const fe_spread s = fe_spread_open(kind);
    const int e = fe_team_element(fe_spread_lanes(kind), first, last);
    int node[FE_SPREAD_HELD];
    fe_real x[FE_SPREAD_HELD][3], u[FE_SPREAD_HELD][3], A[3][3], P[3][3], stress[6];
    fe_spread_nodes(kind, &s, m, e, node);
    fe_spread_read(kind, node, fe_coordinates(m), x);
    fe_spread_read(kind, node, displacement, u);
    fe_spread_stress(kind, op, m, fe_spread_element(kind, &s, m, e), &s, x, u, A, stress);
    fe_point_force_start(P);
    fe_point_force(stress, A, P);
    fe_spread_scatter(kind, &s, P, u);
    FE_UNROLL_FOR (int b = 0; b < fe_spread_held(kind); b++) {
        fe_scalar *to = place_of(kind, 3, fe_spread_corner(kind, &s, b), kept);
        if (fe_spread_adds(kind, &s, b))
            FE_UNROLL_FOR (int c = 0; c < 3; c++) to[c] = u[b][c];
    }
    store_kept(kind, 3, first, last, kept, w->value);
}

/* Corner by corner: threads sum what their points give to it. */
FE_BODY void store_spread_diagonal(int kind, const fe_view *m, const corner_gather *w, int first, int last,
                                   fe_scalar *kept)
{
    const fe_spread s = fe_spread_open(kind);
    const int e = fe_team_element(fe_spread_lanes(kind), first, last);
    int node[FE_SPREAD_HELD];
    fe_real x[FE_SPREAD_HELD][3], J[3][3], A[3][3];
    fe_spread_nodes(kind, &s, m, e, node);
    fe_spread_read(kind, node, fe_coordinates(m), x);
    fe_spread_gradient(kind, &s, x, J);
    const fe_element element = fe_spread_element(kind, &s, m, e);
    const fe_real scale = fe_weight_at(kind, s.point) / fe_cofactor(J, A);
#pragma unroll 1
    for (int a = 0; a < fe_corners(kind); a++) {
        fe_real g[3], block[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        fe_spread_own(kind, &s, A, a, g);
        fe_point_block(kind, m, element, fe_spread_point(kind, &s), g, scale, block);
        FE_UNROLL_FOR (int c = 0; c < 6; c++) {
            const fe_real sum = fe_spread_sum(kind, block[c]);
            if (s.own == c % fe_spread_lanes(kind)) place_of(kind, 6, a, kept)[c] = sum;
        }
    }
    store_kept(kind, 6, first, last, kept, w->value);
}

/* Blocks that a multiprocessor should hold. Products of Hex8 with tangents have 128 registers then: 1.08 times as
 * fast (H200, 6.4 M). 0: the compiler's own choice. */
#define RESIDENT(KIND, OP) (KIND == FE_HEX8 && OP == FE_JACVEC ? 4 : 0)
#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE, RESIDENT(KIND, OP)) corner_gather_##operation##_##name(    \
        fe_view m, corner_gather w, int first, int last, const fe_number *displacement)                      \
    {                                                                                                        \
        __shared__ alignas(16) fe_scalar all[WARPS][KEPT];                                                   \
        fe_scalar *kept = all[threadIdx.x / FE_WARP];                                                        \
        const int e = first + fe_warp_first(corner_gather_elements(KIND));                                   \
        if (e >= last) return;                                                                               \
        if (fe_is_quadratic(KIND))                                                                           \
            store_spread_forces(KIND, OP, &m, &w, e, last, displacement, kept);                              \
        else                                                                                                 \
            store_forces(KIND, OP, &m, &w, e, last, displacement, kept);                                     \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE)                                                            \
        corner_gather_diagonal_##name(fe_view m, corner_gather w, int first, int last)                       \
    {                                                                                                        \
        __shared__ alignas(16) fe_scalar all[WARPS][KEPT_BLOCKS];                                            \
        fe_scalar *kept = all[threadIdx.x / FE_WARP];                                                        \
        const int e = first + fe_warp_first(corner_gather_elements(KIND));                                   \
        if (e >= last) return;                                                                               \
        if (fe_is_quadratic(KIND))                                                                           \
            store_spread_diagonal(KIND, &m, &w, e, last, kept);                                              \
        else                                                                                                 \
            store_diagonal(KIND, &m, &w, e, last, kept);                                                     \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES
#undef RESIDENT

/* --- rows ------------------------------------------------------------------------------------------------
 */

/* The sum of number c of `width` over a row's corners, in the view's order. */
FE_BODY fe_number row_number(int kind, int width, const fe_view *m, const fe_scalar *value, int row, int c)
{
    const int start = m->corner_first[row], n = m->corner_first[row + 1] - start;
    const int *corner = m->corner + start;
    fe_number sum = 0.0f;
#pragma unroll 8
    for (int k = 0; k < n; k++) {
        const int at = fe_corners(kind) * fe_code_element(kind, corner[k]) + fe_code_corner(kind, corner[k]);
        sum += value[width * (size_t)at + c];
    }
    return sum;
}

/* A thread for each of the OUT numbers of a row, three components or nine entries of a block, so that
 * neighbours read a corner's numbers together. */
template <int OUT>
static __global__ void __launch_bounds__(ROW_BLOCK_SIZE)
    corner_gather_rows(fe_view m, const fe_scalar *value, int kind, int first, int last, fe_number *y)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x; /* also of 2^28 rows of nine */
    const int row = first + (int)(thread / OUT), i = (int)(thread % OUT);
    if (row >= last) return;
    const int c = OUT == 3 ? i : 0x245413530 >> 4 * i & 15; /* as fe_block_rows */
    y[OUT * (size_t)first + thread] = row_number(kind, OUT == 3 ? 3 : 6, &m, value, row, c);
}

/* Lanes of n elements. */
static size_t lanes(const fe_problem *p, int n) { return (size_t)n * corner_gather_team(p->kind); }

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const corner_gather *w = (const corner_gather *)work;
    int first, last;
    fe_part_elements(&p->view, part, &first, &last);
    FE_LAUNCH_OPERATION(p, op, lanes(p, last - first), BLOCK_SIZE, corner_gather, p->view, *w, first, last,
                        displacement);
    fe_part_nodes(&p->view, part, &first, &last);
    FE_LAUNCH(p->device, 3 * (size_t)(last - first), ROW_BLOCK_SIZE, corner_gather_rows<3>, p->view, w->value,
              p->kind, first, last, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    const corner_gather *w = (const corner_gather *)work;
    FE_LAUNCH_KIND(p, lanes(p, p->view.n_elem), BLOCK_SIZE, corner_gather_diagonal, p->view, *w, 0,
                   p->view.n_elem);
    FE_LAUNCH(p->device, 9 * (size_t)p->view.n_owned, ROW_BLOCK_SIZE, corner_gather_rows<9>, p->view,
              w->value, p->kind, 0, p->view.n_owned, (fe_number *)d);
    return FE_OK;
}

FE_TABLE(corner_gather_cuda, .setup = corner_gather_setup,
         .setup_from = FE_SETUP_FROM(corner_gather_setup_from), .residual = residual,
         .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal, .traits = FE_STORES)
