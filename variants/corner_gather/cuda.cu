/* corner_gather on the device: one element per thread, of quadratic ones one point, then one row per thread.
 */
#include "common/problem/kernels.h"
#include "variants/corner_gather/assembly.h"

enum { BLOCK_SIZE = CORNER_GATHER_THREADS, ROW_BLOCK_SIZE = 256 };

/* Two numbers that are loaded at once. */
struct alignas(2 * sizeof(fe_scalar)) pair {
    fe_scalar a, b;
};

/* Sums over the places of a row; those behind its last corner, up to a multiple of RUN, hold 0. Eight corners
 * at a time keep enough loads in flight. */
template <int RUN>
static __device__ __forceinline__ void sum_row(const fe_view *m, const corner_gather *w, int row, int width,
                                               fe_number sum[])
{
    const int n = m->corner_first[row + 1] - m->corner_first[row];
    const fe_scalar *value =
        w->value + w->slice[row / CORNER_GATHER_SLICE] + RUN * (row % CORNER_GATHER_SLICE);
    for (int c = 0; c < width; c++) sum[c] = 0.0f;
#pragma unroll(8 / RUN)
    for (int k = 0; k < n; k += RUN)
        FE_UNROLL_FOR (int c = 0; c < width; c++) {
            const fe_scalar *at = value + c * w->n_slot + CORNER_GATHER_SLICE * k;
            if (RUN == 1) sum[c] += *at;
            FE_UNROLL_FOR (int i = 0; i < RUN / 2; i++) {
                const pair v = ((const pair *)at)[i];
                sum[c] += v.a, sum[c] += v.b;
            }
        }
}

template <int RUN>
static __global__ void __launch_bounds__(ROW_BLOCK_SIZE)
    corner_gather_rows(fe_view m, corner_gather w, int first, int last, fe_number *y)
{
    const int row = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= last) return;
    fe_number sum[3];
    sum_row<RUN>(&m, &w, row, 3, sum);
    for (int c = 0; c < 3; c++) y[3 * (size_t)row + c] = sum[c];
}

template <int RUN>
static __global__ void __launch_bounds__(ROW_BLOCK_SIZE)
    corner_gather_blocks(fe_view m, corner_gather w, fe_number *d)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m.n_owned) return;
    fe_number sum[6];
    sum_row<RUN>(&m, &w, row, 6, sum);
    const int place[9] = {0, 3, 5, 3, 1, 4, 5, 4, 2}; /* as fe_block_rows */
    FE_UNROLL_FOR (int i = 0; i < 9; i++) d[9 * (size_t)row + i] = sum[place[i]];
}

/* Stores what the block's threads have computed of the elements first, first + 1, … < last of all blocks, in
 * the order of their places. All threads of the block call it. */
FE_BODY void store_sorted(int kind, const corner_gather *w, int first, int last, int width,
                          const fe_scalar *sorted)
{
    const int most = corner_gather_block_elements(kind), left = last - first - most * (int)blockIdx.x;
    const int n = (left < most ? left : most) * fe_corners(kind);
    const size_t start = (size_t)corner_gather_block_corners(kind) * ((first + most - 1) / most + blockIdx.x);
    __syncthreads();
    FE_UNROLL_FOR (int r = 0; r < corner_gather_block_corners(kind); r += BLOCK_SIZE) {
        const int i = r + threadIdx.x;
        if (i < n) {
            const int at = w->place[start + i], from = w->source[start + i];
            FE_UNROLL_FOR (int c = 0; c < width; c++)
                w->value[c * w->n_slot + at] = sorted[CORNER_GATHER_BLOCK * c + from];
        }
    }
}

/* Quadratic elements are always sorted. */
#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) corner_gather_##operation##_##name(                        \
        fe_view m, corner_gather w, int first, int last, const fe_number *displacement)                      \
    {                                                                                                        \
        const int e = first + fe_warp_first(corner_gather_elements(KIND));                                   \
        if (!fe_is_quadratic(KIND) && e < last)                                                              \
            corner_gather_forces(KIND, OP, &m, &w, e, last, displacement, NULL);                             \
    }
/* Blocks that a multiprocessor should hold: elastic products of Hex8 were measured with 128 registers. */
#define RESIDENT(KIND, OP) (KIND == FE_HEX8 && OP == FE_JACVEC_ELASTIC ? 4 : 1)
#define SORTED(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE, RESIDENT(KIND, OP))                                        \
        corner_gather_sorted_##operation##_##name(fe_view m, corner_gather w, int first, int last,           \
                                                  const fe_number *displacement)                             \
    {                                                                                                        \
        __shared__ fe_scalar sorted[3 * CORNER_GATHER_BLOCK];                                                \
        const int e = first + fe_warp_first(corner_gather_elements(KIND));                                   \
        if (e < last) {                                                                                      \
            if (fe_is_quadratic(KIND))                                                                       \
                corner_gather_spread_forces(KIND, OP, &m, e, last, displacement, sorted);                    \
            else                                                                                             \
                corner_gather_forces(KIND, OP, &m, &w, e, last, displacement, sorted);                       \
        }                                                                                                    \
        store_sorted(KIND, &w, first, last, 3, sorted);                                                      \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    FE_EACH_OPERATION(SORTED, KIND, name)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE)                                                            \
        corner_gather_diagonal_##name(fe_view m, corner_gather w, int first, int last)                       \
    {                                                                                                        \
        const int e = first + fe_warp_first(corner_gather_elements(KIND));                                   \
        if (!fe_is_quadratic(KIND) && e < last) corner_gather_diagonal(KIND, &m, &w, e, last, NULL);         \
    }                                                                                                        \
    __global__ void __launch_bounds__(BLOCK_SIZE)                                                            \
        corner_gather_sorted_diagonal_##name(fe_view m, corner_gather w, int first, int last)                \
    {                                                                                                        \
        __shared__ fe_scalar sorted[6 * CORNER_GATHER_BLOCK];                                                \
        const int e = first + fe_warp_first(corner_gather_elements(KIND));                                   \
        if (e < last) {                                                                                      \
            if (fe_is_quadratic(KIND))                                                                       \
                corner_gather_spread_diagonal(KIND, &m, e, last, sorted);                                    \
            else                                                                                             \
                corner_gather_diagonal(KIND, &m, &w, e, last, sorted);                                       \
        }                                                                                                    \
        store_sorted(KIND, &w, first, last, 6, sorted);                                                      \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef SORTED
#undef FORCES

/* A kernel of rows, by how many corners of a row are neighbours. */
#define LAUNCH_ROWS(p, w, n, kernel, ...)                                                                    \
    do {                                                                                                     \
        if ((w)->run == 1)                                                                                   \
            FE_LAUNCH((p)->device, n, ROW_BLOCK_SIZE, kernel<1>, (p)->view, *(w), __VA_ARGS__);              \
        else if ((w)->run == 2)                                                                              \
            FE_LAUNCH((p)->device, n, ROW_BLOCK_SIZE, kernel<2>, (p)->view, *(w), __VA_ARGS__);              \
        else                                                                                                 \
            FE_LAUNCH((p)->device, n, ROW_BLOCK_SIZE, kernel<4>, (p)->view, *(w), __VA_ARGS__);              \
    } while (0)

/* Lanes of n elements. */
static size_t lanes(const fe_problem *p, int n) { return (size_t)n * corner_gather_team(p->kind); }

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const corner_gather *w = (const corner_gather *)work;
    int first, last;
    fe_part_elements(&p->view, part, &first, &last);
    const size_t n = lanes(p, last - first);
    if (w->run == 1)
        FE_LAUNCH_OPERATION(p, op, n, BLOCK_SIZE, corner_gather, p->view, *w, first, last, displacement);
    else
        FE_LAUNCH_OPERATION(p, op, n, BLOCK_SIZE, corner_gather_sorted, p->view, *w, first, last,
                            displacement);
    fe_part_nodes(&p->view, part, &first, &last);
    LAUNCH_ROWS(p, w, last - first, corner_gather_rows, first, last, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status part_diagonal(const fe_problem *p, const corner_gather *w, fe_part part)
{
    int first, last;
    fe_part_elements(&p->view, part, &first, &last);
    const size_t n = lanes(p, last - first);
    if (w->run == 1)
        FE_LAUNCH_KIND(p, n, BLOCK_SIZE, corner_gather_diagonal, p->view, *w, first, last);
    else
        FE_LAUNCH_KIND(p, n, BLOCK_SIZE, corner_gather_sorted_diagonal, p->view, *w, first, last);
    return FE_OK;
}

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    const corner_gather *w = (const corner_gather *)work;
    FE_TRY(part_diagonal(p, w, FE_INTERIOR));
    FE_TRY(part_diagonal(p, w, FE_BORDER));
    LAUNCH_ROWS(p, w, p->view.n_owned, corner_gather_blocks, (fe_number *)d);
    return FE_OK;
}

FE_TABLE(corner_gather_cuda, .setup = corner_gather_setup,
         .setup_from = FE_SETUP_FROM(corner_gather_setup_from), .residual = residual,
         .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal, .traits = FE_STORES)
