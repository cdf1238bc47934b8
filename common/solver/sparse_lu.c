/* The calls of SuperLU. Nodes are ordered by minimum degree, so that their three unknowns stay together; the
 * matrix is positive, so pivots are taken from the diagonal. */
#include "common/solver/sparse_lu.h"

#include <stdlib.h>
#include <unistd.h>

double fe_lu_most_flops = 1e12;

#if FE_HAVE_SUPERLU

#include <slu_ddefs.h>

struct fe_lu {
    int n;
    double *scale; /* [n] D^-1/2; 0: left out */
    int *row_order, *column_order, *tree;
    SuperMatrix L, U;
    superlu_options_t options;
    SuperLUStat_t statistics;
    int has_statistics, has_factors;
};

void fe_lu_close(fe_lu *lu)
{
    if (!lu) return;
    if (lu->has_factors) Destroy_SuperNode_Matrix(&lu->L), Destroy_CompCol_Matrix(&lu->U);
    if (lu->has_statistics) StatFree(&lu->statistics);
    free(lu->scale), free(lu->row_order), free(lu->column_order), free(lu->tree);
    free(lu);
}

/* place [n]: where each node is eliminated. SuperLU reads the pattern of nodes as a matrix of numbers. */
static fe_status order_nodes(const fe_sparse *A, int *place)
{
    SuperMatrix pattern;
    int_t *first = NULL, *row = NULL;
    FE_ALLOCATE(first, (size_t)A->n_row + 1, "sparse direct solver");
    fe_status status = fe_allocate((size_t)A->n_block, sizeof *row, "sparse direct solver", (void **)&row);
    if (status == FE_OK) {
        for (int i = 0; i <= A->n_row; i++) first[i] = A->first[i];
        for (int k = 0; k < A->n_block; k++) row[k] = A->column[k];
        dCreate_CompCol_Matrix(&pattern, A->n_row, A->n_row, A->n_block, A->value, row, first, SLU_NC, SLU_D,
                               SLU_GE);
        get_perm_c(MMD_AT_PLUS_A, &pattern, place);
        Destroy_SuperMatrix_Store(&pattern);
    }
    free(first), free(row);
    return status;
}

/* Blocks in each column of the factor, by the elimination tree: Liu, SIAM J. Matrix Anal. Appl. 11 (1990),
 * section 5. parent, mark, node [n]: scratch. */
static void count_factor(const fe_sparse *A, const int *place, int *parent, int *mark, int *node,
                         fe_lu_size *size)
{
    const int n = A->n_row;
    int *const count = node + n;
    for (int i = 0; i < n; i++) node[place[i]] = i;
    for (int k = 0; k < n; k++) {
        parent[k] = -1, mark[k] = k, count[k] = 1;
        for (int at = A->first[node[k]]; at < A->first[node[k] + 1]; at++)
            for (int i = place[A->column[at]]; i < k && mark[i] != k; i = parent[i]) {
                if (parent[i] < 0) parent[i] = k;
                mark[i] = k, count[i]++;
            }
    }
    *size = (fe_lu_size){0};
    for (int k = 0; k < n; k++) {
        const double height = 3.0 * count[k];
        size->entries += 2.0 * 3.0 * height, size->flops += 3.0 * 2.0 * height * height;
    }
    size->bytes = 12.0 * size->entries + 12.0 * 9.0 * A->n_block; /* a number and an index */
}

static fe_status measure(const fe_sparse *A, const int *place, fe_lu_size *size)
{
    int *scratch = NULL;
    const size_t n = (size_t)A->n_row;
    FE_ALLOCATE(scratch, 4 * n, "sparse direct solver");
    count_factor(A, place, scratch, scratch + n, scratch + 2 * n, size);
    free(scratch);
    return FE_OK;
}

static int fits(const fe_lu_size *size)
{
    const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return size->flops <= fe_lu_most_flops && size->bytes <= 0.5 * memory && size->entries < 0x1p31;
}

static fe_status find_scale(const fe_sparse *A, const uint8_t *fixed, fe_lu *lu)
{
    FE_ALLOCATE(lu->scale, lu->n, "sparse direct solver");
    for (int i = 0; i < lu->n; i++) {
        const int k = fe_sparse_find(A, i / 3, i / 3);
        const double diagonal = k < 0 ? 0.0 : fe_sparse_block(A, k)[i % 3 * 4];
        lu->scale[i] = !fixed[i] && diagonal > 0.0 ? 1.0 / sqrt(diagonal) : 0.0;
    }
    return FE_OK;
}

/* The scaled matrix by columns, which are its rows; one on the diagonal of what is left out. */
static void fill(const fe_sparse *A, const fe_lu *lu, int_t *first, int_t *row, double *value)
{
    int_t n = 0;
    for (int j = 0; j < lu->n; j++) {
        first[j] = n;
        for (int k = A->first[j / 3]; k < A->first[j / 3 + 1]; k++)
            for (int c = 0; c < 3; c++) {
                const int i = 3 * A->column[k] + c;
                const double entry = lu->scale[i] * lu->scale[j] * fe_sparse_block(A, k)[3 * (j % 3) + c];
                if (i != j && entry == 0.0) continue;
                row[n] = i, value[n++] = i == j ? 1.0 : entry;
            }
    }
    first[lu->n] = n;
}

static fe_status factorise(const fe_sparse *A, fe_lu *lu)
{
    const size_t most = 9 * (size_t)A->n_block;
    int_t *first = NULL, *row = NULL, info = 0;
    double *value = NULL;
    SuperMatrix M, ordered;
    GlobalLU_t shared;
    fe_status status = fe_allocate((size_t)lu->n + 1, sizeof *first, "sparse direct solver", (void **)&first);
    if (status == FE_OK) status = fe_allocate(most, sizeof *row, "sparse direct solver", (void **)&row);
    if (status == FE_OK) status = fe_allocate(most, sizeof *value, "sparse direct solver", (void **)&value);
    if (status == FE_OK) {
        fill(A, lu, first, row, value);
        dCreate_CompCol_Matrix(&M, lu->n, lu->n, first[lu->n], value, row, first, SLU_NC, SLU_D, SLU_GE);
        sp_preorder(&lu->options, &M, lu->column_order, lu->tree, &ordered);
        dgstrf(&lu->options, &ordered, sp_ienv(2), sp_ienv(1), lu->tree, NULL, 0, lu->column_order,
               lu->row_order, &lu->L, &lu->U, &shared, &lu->statistics, &info);
        Destroy_CompCol_Permuted(&ordered);
        Destroy_SuperMatrix_Store(&M);
        lu->has_factors = info >= 0 && info <= lu->n;
        if (info > lu->n)
            status = fe_fail(FE_OUT_OF_MEMORY, "sparse direct solver: no host memory for the factors");
        if (info != 0 && info <= lu->n)
            status = fe_fail(FE_FAILED, "sparse direct solver: pivot %lld is zero", (long long)info);
    }
    free(first), free(row), free(value);
    return status;
}

static fe_status open(const fe_sparse *A, const uint8_t *fixed, fe_lu_size *size, fe_lu *lu, int *enough)
{
    int *place = NULL;
    lu->n = 3 * A->n_row;
    FE_TRY(find_scale(A, fixed, lu));
    FE_ALLOCATE(lu->row_order, lu->n, "sparse direct solver");
    FE_ALLOCATE(lu->column_order, lu->n, "sparse direct solver");
    FE_ALLOCATE(lu->tree, lu->n, "sparse direct solver");
    FE_ALLOCATE(place, A->n_row, "sparse direct solver");
    fe_status status = order_nodes(A, place);
    if (status == FE_OK) status = measure(A, place, size);
    for (int i = 0; i < lu->n; i++) lu->column_order[i] = 3 * place[i / 3] + i % 3;
    free(place);
    FE_TRY(status);
    *enough = fits(size);
    if (!*enough) return FE_OK;
    set_default_options(&lu->options);
    lu->options.ColPerm = MY_PERMC, lu->options.SymmetricMode = YES, lu->options.DiagPivotThresh = 0.0;
    lu->options.Equil = NO, lu->options.PrintStat = NO;
    StatInit(&lu->statistics);
    lu->has_statistics = 1;
    return factorise(A, lu);
}

fe_status fe_lu_open(const fe_sparse *A, const uint8_t *fixed, fe_lu_size *size, fe_lu **lu)
{
    int enough = 0;
    fe_lu *own = NULL;
    *lu = NULL;
    FE_ALLOCATE(own, 1, "sparse direct solver");
    const fe_status status = open(A, fixed, size, own, &enough);
    if (status == FE_OK && enough)
        *lu = own;
    else
        fe_lu_close(own);
    return status;
}

fe_status fe_lu_solve(fe_lu *lu, double *x)
{
    SuperMatrix B;
    int info = 0;
    for (int i = 0; i < lu->n; i++) x[i] *= lu->scale[i];
    dCreate_Dense_Matrix(&B, lu->n, 1, x, lu->n, SLU_DN, SLU_D, SLU_GE);
    dgstrs(NOTRANS, &lu->L, &lu->U, lu->column_order, lu->row_order, &B, &lu->statistics, &info);
    Destroy_SuperMatrix_Store(&B);
    for (int i = 0; i < lu->n; i++) x[i] *= lu->scale[i];
    return info == 0 ? FE_OK : fe_fail(FE_FAILED, "SuperLU returned %d", info);
}

#else

fe_status fe_lu_open(const fe_sparse *A, const uint8_t *fixed, fe_lu_size *size, fe_lu **lu)
{
    (void)A, (void)fixed;
    *size = (fe_lu_size){0}, *lu = NULL;
    return fe_fail(FE_FAILED,
                   "this build has no sparse direct solver (libsuperlu-dev was not found by make)");
}
fe_status fe_lu_solve(fe_lu *lu, double *x)
{
    (void)lu, (void)x;
    return FE_FAILED;
}
void fe_lu_close(fe_lu *lu) { (void)lu; }

#endif
