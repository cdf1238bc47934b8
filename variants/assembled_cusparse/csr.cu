/* assembled_csr on the device: each part of the matrix is a CSR matrix of cuSPARSE. The library has two
 * algorithms; the faster one on this matrix is taken. */
#include "variants/assembled_cusparse/library.h"

#include <stdio.h>

/* cuSPARSE has no product of a matrix of floats with vectors of doubles: there is no mixed precision. */
#if FE_PRECISION != FE_MIXED

static const fe_number one = 1.0f, zero = 0.0f;
static const cusparseSpMVAlg_t algorithms[] = {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2};
enum { N_ALGORITHM = 2, BLOCK_SIZE = 256 };

typedef struct csr_rows {
    int *first;  /* [3 n_row + 1] */
    int *column; /* [9 n_place] */
    cusparseSpMatDescr_t matrix[N_ALGORITHM];
    cusparseDnVecDescr_t direction, product;
    void *workspace[N_ALGORITHM];
} csr_rows;

typedef struct assembled_csr {
    bsr_matrix matrix;
    cusparseHandle_t library;
    csr_rows part[2];
    int choice;
    char note[96];
} assembled_csr;

static void release(void *work)
{
    assembled_csr *w = (assembled_csr *)work;
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        csr_rows *l = &w->part[part];
        for (int a = 0; a < N_ALGORITHM; a++)
            if (l->matrix[a]) cusparseDestroySpMat(l->matrix[a]);
        if (l->direction) cusparseDestroyDnVec(l->direction);
        if (l->product) cusparseDestroyDnVec(l->product);
    }
    if (w->library) cusparseDestroy(w->library);
}

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

/* One matrix for each algorithm, because what the library finds out about a matrix belongs to one of them.
 * Vectors need an address before there are any: the address of the values serves. */
static fe_status open_rows(const fe_problem *p, cusparseHandle_t library, const bsr_rows *r, csr_rows *l)
{
    fe_device *d = p->device;
    const int64_t n_column = 3 * (int64_t)p->view.n_local, n_row = 3 * (int64_t)r->n_row;
    const size_t n_value = 9 * (size_t)r->n_place;
    FE_TRY(fe_device_allocate(d, (size_t)n_row + 1, sizeof *l->first, "assembled_csr", (void **)&l->first));
    FE_TRY(fe_device_allocate(d, n_value, sizeof *l->column, "assembled_csr", (void **)&l->column));
    FE_LAUNCH(d, r->n_row, BLOCK_SIZE, assembled_csr_structure, *r, l->first, l->column);
    CUSPARSE_TRY(cusparseCreateDnVec(&l->direction, n_column, r->value, LIBRARY_NUMBER));
    CUSPARSE_TRY(cusparseCreateDnVec(&l->product, n_row, r->value, LIBRARY_NUMBER));
    for (int a = 0; a < N_ALGORITHM; a++) {
        size_t bytes = 0;
        CUSPARSE_TRY(cusparseCreateCsr(&l->matrix[a], n_row, n_column, (int64_t)n_value, l->first, l->column,
                                       r->value, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                       CUSPARSE_INDEX_BASE_ZERO, LIBRARY_NUMBER));
        CUSPARSE_TRY(cusparseSpMV_bufferSize(library, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, l->matrix[a],
                                             l->direction, &zero, l->product, LIBRARY_NUMBER, algorithms[a],
                                             &bytes));
        FE_TRY(fe_device_allocate(d, bytes, 1, "cuSPARSE", &l->workspace[a]));
#if CUSPARSE_VERSION >= 12300 /* CUDA 12.4; values may change afterwards, the structure may not */
        CUSPARSE_TRY(cusparseSpMV_preprocess(library, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, l->matrix[a],
                                             l->direction, &zero, l->product, LIBRARY_NUMBER, algorithms[a],
                                             l->workspace[a]));
#endif
    }
    return FE_OK;
}

static fe_status multiply(const void *work, fe_part part, int algorithm, const fe_number *direction,
                          fe_number *y)
{
    const assembled_csr *w = (const assembled_csr *)work;
    const bsr_rows *r = &w->matrix.part[part];
    const csr_rows *l = &w->part[part];
    if (r->n_row == 0) return FE_OK;
    CUSPARSE_TRY(cusparseDnVecSetValues(l->direction, (void *)direction));
    CUSPARSE_TRY(cusparseDnVecSetValues(l->product, y + 3 * (size_t)r->row));
    CUSPARSE_TRY(cusparseSpMV(w->library, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, l->matrix[algorithm],
                              l->direction, &zero, l->product, LIBRARY_NUMBER, algorithms[algorithm],
                              l->workspace[algorithm]));
    return FE_OK;
}

static fe_status open_library(const fe_problem *p, assembled_csr *w)
{
    double ahead;
    CUSPARSE_TRY(cusparseCreate(&w->library));
    CUSPARSE_TRY(cusparseSetStream(w->library, fe_cuda_stream(p->device)));
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        if (w->matrix.part[part].n_row > 0)
            FE_TRY(open_rows(p, w->library, &w->matrix.part[part], &w->part[part]));
    FE_TRY(library_choose(p, multiply, w, N_ALGORITHM, &w->choice, &ahead));
    snprintf(w->note, sizeof w->note, "CSR_ALG%d, %.3g times as fast as CSR_ALG%d", w->choice + 1, ahead,
             2 - w->choice);
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) { /* what the other one needed */
        csr_rows *l = &w->part[part];
        if (l->workspace[1 - w->choice])
            p->device->ops->memory.release(p->device, l->workspace[1 - w->choice]);
        l->workspace[1 - w->choice] = NULL;
    }
    return FE_OK;
}

static fe_status setup(fe_problem *p, void **work)
{
    FE_TRY(fe_device_keep_open(p->device, sizeof(assembled_csr), "assembled_csr", release, work));
    assembled_csr *w = (assembled_csr *)*work;
    FE_TRY(bsr_open(p, BSR_CSR, FE_PRECISION, &w->matrix));
    return open_library(p, w);
}

/* Only in single precision. */
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    FE_TRY(fe_device_keep_open(p->device, sizeof(assembled_csr), "assembled_csr", release, work));
    assembled_csr *w = (assembled_csr *)*work;
    FE_TRY(bsr_open_elastic(p, BSR_CSR, (const bsr_matrix *)in_double, &w->matrix));
    FE_TRY(FE_PRECISE(bsr_elastic_cuda)(p, &w->matrix));
    return open_library(p, w);
}

static const char *note(const void *work) { return ((const assembled_csr *)work)->note; }

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    (void)p;
    const assembled_csr *w = (const assembled_csr *)work;
    return multiply(work, part, w->choice, (const fe_number *)direction, (fe_number *)y);
}

FE_TABLE(assembled_csr_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_cuda), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_cuda), .matrix_bytes = bsr_matrix_bytes,
         .traits = FE_STORES | FE_ASSEMBLED, .note = note)

#endif
