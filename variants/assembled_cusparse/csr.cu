/* assembled_csr on the device: each part of the matrix is a CSR matrix of cuSPARSE. The library has two
 * algorithms; the faster one on this matrix is taken. */
#include "variants/assembled_cusparse/library.h"

/* cuSPARSE has no product of a matrix of floats with vectors of doubles: there is no mixed precision. */
#if FE_PRECISION != FE_MIXED

static const cusparseSpMVAlg_t algorithms[] = {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2};
enum { N_ALGORITHM = LIBRARY_MATRICES, BLOCK_SIZE = 256 };

/* Row offsets and columns of CSR from those of blocks, one block row per thread. */
static __global__ void __launch_bounds__(BLOCK_SIZE)
    assembled_csr_structure(bsr_rows r, int *first, int *column)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= r.n_row) return;
    const int n = r.first[i + 1] - r.first[i];
    for (int c = 0; c < 3; c++) {
        first[3 * i + c] = (int)bsr_entry(&r, i, 0, 3 * c);
        for (int k = 0; k < n; k++)
            for (int j = 0; j < 3; j++)
                column[bsr_entry(&r, i, k, 3 * c + j)] = 3 * r.column[r.first[i] + k] + j;
    }
    if (i == r.n_row - 1) first[3 * r.n_row] = 9 * r.n_place;
}

static fe_status open_rows(const fe_problem *p, cusparseHandle_t library, const bsr_rows *r, library_rows *l)
{
    fe_device *d = p->device;
    const int64_t n_column = 3 * (int64_t)r->n_column, n_row = 3 * (int64_t)r->n_row;
    const size_t n_value = 9 * (size_t)r->n_place;
    int *first, *column;
    FE_TRY(fe_device_allocate(d, (size_t)n_row + 1, sizeof *first, "assembled_csr", (void **)&first));
    FE_TRY(fe_device_allocate(d, n_value, sizeof *column, "assembled_csr", (void **)&column));
    FE_LAUNCH(d, r->n_row, BLOCK_SIZE, assembled_csr_structure, *r, first, column);
    FE_TRY(library_open_vectors(r, l));
    for (int a = 0; a < N_ALGORITHM; a++) {
        CUSPARSE_TRY(cusparseCreateCsr(&l->matrix[a], n_row, n_column, (int64_t)n_value, first, column,
                                       r->value, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                       CUSPARSE_INDEX_BASE_ZERO, LIBRARY_NUMBER));
        FE_TRY(library_prepare(p, library, l, a, algorithms[a]));
    }
    return FE_OK;
}

static fe_status multiply(const void *work, fe_part part, int algorithm, const fe_number *direction,
                          fe_number *y)
{
    const library_matrix *w = (const library_matrix *)work;
    const bsr_rows *r = &w->matrix.part[part];
    if (r->n_row == 0) return FE_OK;
    return library_multiply(w, part, algorithm, algorithms[algorithm], direction, y + 3 * (size_t)r->row);
}

static fe_status choose(const fe_problem *p, library_matrix *w)
{
    double ahead;
    FE_TRY(library_choose(p, multiply, w, N_ALGORITHM, &w->choice, &ahead));
    snprintf(w->note, sizeof w->note, "CSR_ALG%d, %.3g times as fast as CSR_ALG%d", w->choice + 1, ahead,
             2 - w->choice);
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) { /* what the other one needed */
        library_rows *l = &w->part[part];
        if (l->workspace[1 - w->choice])
            p->device->ops->memory.release(p->device, l->workspace[1 - w->choice]);
        l->workspace[1 - w->choice] = NULL;
    }
    return FE_OK;
}

static const library_strategy strategy = {BSR_CSR, open_rows, choose};
static fe_status setup(fe_problem *p, void **work) { return library_set_up(&strategy, p, work); }
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    return library_set_up_from(&strategy, p, in_double, work);
}

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    (void)p;
    const library_matrix *w = (const library_matrix *)work;
    return multiply(work, part, w->choice, (const fe_number *)direction, (fe_number *)y);
}

FE_TABLE(assembled_csr_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_cuda), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_cuda), .matrix_bytes = bsr_matrix_bytes,
         .traits = FE_STORES | FE_ASSEMBLED, .note = library_note)

#endif
