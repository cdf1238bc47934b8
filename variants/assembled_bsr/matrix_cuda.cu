/* Assembly on the device: one block of the matrix per thread. It visits the elements at its row's node and
 * adds those that have its column's node, too, in the CSR's order: no atomics, each block stored once. */
#include "common/problem/kernels.h"
#include "variants/assembled_bsr/matrix.h"

/* A block of threads takes ROWS rows, whose elements it finds in the cache; a warp takes one block of each of
 * them at a time. */
enum { ROWS = 32, TEAM = 8, BLOCK_SIZE = ROWS * TEAM, DIAGONAL_BLOCK_SIZE = 256 };
/* Thread blocks that a multiprocessor should hold: a thread gets at most 128 registers. */
enum { RESIDENT = 2 };

/* Entry i of the elements at a node, corner by corner from `first` in the CSR: the element's CSR entry, and
 * its corner b. */
FE_BODY bool has_column(int kind, const fe_view *m, int first, int i, int column, int *corner, int *b)
{
    *corner = m->corner[first + i / fe_corners(kind)], *b = i % fe_corners(kind);
    return m->conn[fe_corner_place(*b, 0, m->ld, *corner >> 3)] == column;
}

/* Each thread first searches for its next element and then computes, so that the threads of a warp compute
 * together. */
FE_BODY void add_elements(int kind, const fe_view *m, int row, int column, fe_real K[8][9])
{
    const int first = m->corner_first[row], n = (m->corner_first[row + 1] - first) * fe_corners(kind);
    for (int i = 0; i < n; i++) {
        int corner, b;
        bool found = false;
        while (i < n && !(found = has_column(kind, m, first, i, column, &corner, &b))) i++;
        if (!found) return;
        fe_index node[8];
        fe_real x[8][3];
        const fe_element e = fe_element_load(kind, m, corner >> 3, corner & 7, node, x);
#pragma unroll 1
        for (int k = 0; k < fe_planes(kind); k++) fe_add_stiffness(kind, m, e, k, x, b ^ (corner & 7), 1, K);
    }
}

FE_BODY void assemble_row(int kind, const fe_view *m, const bsr_rows *r, int i)
{
    const int row = r->row + i, lane = bsr_lane(r, i);
    const int first = r->first[bsr_slice(r, i)], n = r->first[bsr_slice(r, i) + 1] - first;
    for (int k = threadIdx.x / ROWS; k < n; k += TEAM) {
        const int column = r->column[bsr_column_at(r, first + k, lane)];
        if (column == row && k != r->diagonal[i]) break; /* the row ends here, the slice does not */
        fe_real K[8][9] = {{0.0f}};
        add_elements(kind, m, row, column, K);
        for (int c = 0; c < 9; c++) r->value[bsr_entry(r, i, k, c)] = K[0][c];
    }
}

#define KERNEL(KIND, name)                                                                                   \
    __global__ void __launch_bounds__(BLOCK_SIZE, RESIDENT) bsr_assemble_##name(fe_view m, bsr_rows r)       \
    {                                                                                                        \
        const int i = blockIdx.x * ROWS + threadIdx.x % ROWS;                                                \
        if (i < r.n_row) assemble_row(KIND, &m, &r, i);                                                      \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL

static __global__ void __launch_bounds__(DIAGONAL_BLOCK_SIZE) bsr_diagonal(bsr_rows r, fe_number *d)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= r.n_row) return;
    for (int c = 0; c < 9; c++) d[9 * (size_t)(r.row + i) + c] = r.value[bsr_entry(&r, i, r.diagonal[i], c)];
}

extern "C" fe_status FE_PRECISE(bsr_material_cuda)(fe_problem *p, void *work, fe_linearization mode,
                                                   const double *displacement)
{
    const bsr_matrix *matrix = (const bsr_matrix *)work;
    FE_TRY(fe_material_cuda(p, NULL, mode, displacement));
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        const bsr_rows r = matrix->part[part];
        const size_t n = (size_t)fe_grid(r.n_row, ROWS) * BLOCK_SIZE;
        FE_LAUNCH_KIND(p, n, BLOCK_SIZE, bsr_assemble, fe_problem_in(p, FE_PRECISION).view, r)
    }
    return FE_OK;
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
