#include "common/multigrid/block_matrix.h"

fe_status fe_block_matrix_open(fe_device *d, int n_row, int rows, int columns, int n_block,
                               fe_block_matrix *M)
{
    const size_t n = (size_t)n_block, size = FE_BLOCK_STRIDE(rows * columns) * sizeof *M->value;
    *M = (fe_block_matrix){.n_row = n_row, .rows = rows, .columns = columns};
    const fe_array array[] = {{(size_t)n_row + 1, sizeof *M->first, (void **)&M->first},
                              {n, sizeof *M->column, (void **)&M->column},
                              {n, size, (void **)&M->value}};
    return fe_device_reserve_arrays(d, 3, array, "multigrid matrix");
}
