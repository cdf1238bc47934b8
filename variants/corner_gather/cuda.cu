/* corner_gather on the device: one element per thread, then one row per thread. */
#include "common/problem/kernels.h"
#include "variants/corner_gather/assembly.h"

enum { ROW_BLOCK_SIZE = 256 };

/* A run of numbers that are loaded at once. */
struct alignas(2 * sizeof(fe_scalar)) two {
    fe_scalar a, b;
};

/* Sums over the slots of a row; those of a run behind its last corner hold 0. Eight corners at a time keep
 * enough loads in flight. */
template <int RUN>
static __device__ __forceinline__ void sum_row(const fe_view *m, const corner_gather *w, int row, int width,
                                               fe_number sum[])
{
    const int n = m->corner_first[row + 1] - m->corner_first[row];
    const fe_scalar *at = w->value + w->slice[row / CORNER_GATHER_SLICE] + RUN * (row % CORNER_GATHER_SLICE);
    for (int c = 0; c < width; c++) sum[c] = 0.0f;
#pragma unroll(8 / RUN)
    for (int k = 0; k < n; k += RUN)
        FE_UNROLL_FOR (int c = 0; c < width; c++)
            FE_UNROLL_FOR (int i = 0; i < RUN; i += 2) {
                const two v = *(const two *)(at + c * w->n_slot + CORNER_GATHER_SLICE * k + i);
                sum[c] += v.a, sum[c] += v.b;
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

/* The unit of a thread, and its memory in the block's. */
enum { BLOCK_SIZE = 128, UNITS = BLOCK_SIZE / CORNER_GATHER_UNIT };
FE_BODY fe_scalar *unit_values(fe_scalar *values, int width)
{
    return values + threadIdx.x / CORNER_GATHER_UNIT * width * CORNER_GATHER_CORNERS;
}

/* Stores what a unit's threads have computed of the elements first, first + 1, … < last of all units, in the
 * order of slots. */
FE_BODY void store_unit(int kind, const corner_gather *w, int first, int last, int width,
                        const fe_scalar *values)
{
    const int most = CORNER_GATHER_UNIT / corner_gather_team(kind),
              unit = blockIdx.x * UNITS + threadIdx.x / CORNER_GATHER_UNIT, left = last - first - most * unit;
    const int n = (left < most ? left : most) * fe_corners(kind);
    const size_t start = (size_t)CORNER_GATHER_CORNERS * ((first + most - 1) / most + unit);
    if (CORNER_GATHER_UNIT == FE_WARP)
        __syncwarp();
    else
        __syncthreads();
    FE_UNROLL_FOR (int r = 0; r < CORNER_GATHER_HELD; r++) {
        const int i = CORNER_GATHER_UNIT * r + threadIdx.x % CORNER_GATHER_UNIT;
        if (i < n) {
            const int at = w->place[start + i], from = w->source[start + i];
            FE_UNROLL_FOR (int c = 0; c < width; c++)
                w->value[c * w->n_slot + at] = values[CORNER_GATHER_CORNERS * c + from];
        }
    }
}

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) corner_gather_##operation##_##name(                        \
        fe_view m, corner_gather w, int first, int last, const fe_number *displacement)                      \
    {                                                                                                        \
        __shared__ fe_scalar all[3 * UNITS * CORNER_GATHER_CORNERS];                                         \
        fe_scalar *values = unit_values(all, 3);                                                             \
        const int e = first + fe_warp_first(corner_gather_elements(KIND));                                   \
        if (e < last) corner_gather_forces(KIND, OP, &m, &w, e, last, displacement, values);                 \
        store_unit(KIND, &w, first, last, 3, values);                                                        \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE)                                                            \
        corner_gather_diagonal_##name(fe_view m, corner_gather w, int first, int last)                       \
    {                                                                                                        \
        __shared__ fe_scalar all[6 * UNITS * CORNER_GATHER_CORNERS];                                         \
        fe_scalar *values = unit_values(all, 6);                                                             \
        const int e = first + fe_warp_first(corner_gather_elements(KIND));                                   \
        if (e < last) corner_gather_diagonal(KIND, &m, &w, e, last, values);                                 \
        store_unit(KIND, &w, first, last, 6, values);                                                        \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

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
    if (fe_corners(p->kind) == 8)
        FE_LAUNCH(p->device, last - first, ROW_BLOCK_SIZE, corner_gather_rows<2>, p->view, *w, first, last,
                  y);
    else
        FE_LAUNCH(p->device, last - first, ROW_BLOCK_SIZE, corner_gather_rows<4>, p->view, *w, first, last,
                  y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    const corner_gather *w = (const corner_gather *)work;
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        int first, last;
        fe_part_elements(&p->view, (fe_part)part, &first, &last);
        FE_LAUNCH_KIND(p, lanes(p, last - first), BLOCK_SIZE, corner_gather_diagonal, p->view, *w, first,
                       last);
    }
    if (fe_corners(p->kind) == 8)
        FE_LAUNCH(p->device, p->view.n_owned, ROW_BLOCK_SIZE, corner_gather_blocks<2>, p->view, *w,
                  (fe_number *)d);
    else
        FE_LAUNCH(p->device, p->view.n_owned, ROW_BLOCK_SIZE, corner_gather_blocks<4>, p->view, *w,
                  (fe_number *)d);
    return FE_OK;
}

FE_TABLE(corner_gather_cuda, .setup = corner_gather_setup,
         .setup_from = FE_SETUP_FROM(corner_gather_setup_from), .residual = residual,
         .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal, .traits = FE_STORES)
