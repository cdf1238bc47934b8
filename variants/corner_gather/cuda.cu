/* corner_gather on the device: one element per thread, then one row per thread. */
#include "common/problem/kernels.h"
#include "variants/corner_gather/assembly.h"

enum { BLOCK_SIZE = 128, ROW_BLOCK_SIZE = 256 };

/* Sums over the slots of a row. Eight corners at a time keep enough loads in flight. */
FE_BODY void sum_row(const fe_view *m, const corner_gather *w, int row, int width, fe_number sum[])
{
    const int first = m->corner_first[row], n = m->corner_first[row + 1] - first;
    const int start =
        CORNER_GATHER_BY_NODE ? w->slice[row / CORNER_GATHER_SLICE] + row % CORNER_GATHER_SLICE : 0;
    for (int c = 0; c < width; c++) sum[c] = 0.0f;
#pragma unroll 8
    for (int k = 0; k < n; k++) {
        int at = start + CORNER_GATHER_SLICE * k;
        if (!CORNER_GATHER_BY_NODE) {
            const int corner = m->corner[first + k];
            at = (corner & 7) * m->ld + (corner >> 3);
        }
        FE_UNROLL_FOR (int c = 0; c < width; c++) sum[c] += w->value[c * w->n_slot + at];
    }
}

static __global__ void __launch_bounds__(ROW_BLOCK_SIZE)
    corner_gather_rows(fe_view m, corner_gather w, int first, int last, fe_number *y)
{
    const int row = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= last) return;
    fe_number sum[3];
    sum_row(&m, &w, row, 3, sum);
    for (int c = 0; c < 3; c++) y[3 * (size_t)row + c] = sum[c];
}

static __global__ void __launch_bounds__(ROW_BLOCK_SIZE)
    corner_gather_blocks(fe_view m, corner_gather w, fe_number *d)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m.n_owned) return;
    fe_number sum[6];
    sum_row(&m, &w, row, 6, sum);
    const int place[9] = {0, 3, 5, 3, 1, 4, 5, 4, 2}; /* as fe_block_rows */
    FE_UNROLL_FOR (int i = 0; i < 9; i++) d[9 * (size_t)row + i] = sum[place[i]];
}

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) corner_gather_##operation##_##name(                        \
        fe_view m, corner_gather w, int first, int last, const fe_number *displacement)                      \
    {                                                                                                        \
        const int e = first + fe_warp_first(corner_gather_elements(KIND));                                   \
        if (e < last) corner_gather_forces(KIND, OP, &m, &w, e, last, displacement);                         \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) corner_gather_diagonal_##name(fe_view m, corner_gather w)  \
    {                                                                                                        \
        const int e = fe_warp_first(corner_gather_elements(KIND));                                           \
        if (e < m.n_elem) corner_gather_diagonal(KIND, &m, &w, e, m.n_elem);                                 \
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
    FE_LAUNCH(p->device, last - first, ROW_BLOCK_SIZE, corner_gather_rows, p->view, *w, first, last, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    const corner_gather *w = (const corner_gather *)work;
    FE_LAUNCH_KIND(p, lanes(p, p->view.n_elem), BLOCK_SIZE, corner_gather_diagonal, p->view, *w);
    FE_LAUNCH(p->device, p->view.n_owned, ROW_BLOCK_SIZE, corner_gather_blocks, p->view, *w, (fe_number *)d);
    return FE_OK;
}

FE_TABLE(corner_gather_cuda, .setup = corner_gather_setup,
         .setup_from = FE_SETUP_FROM(corner_gather_setup_from), .residual = residual,
         .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal, .traits = FE_STORES)
