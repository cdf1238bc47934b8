#include "common/multigrid/sparse.h"
#include "common/base/chunk.h"

#include <stdlib.h>
#include <string.h>

/* Not set to zero. */
static fe_status reserve(size_t count, size_t size, const char *what, void **out)
{
    *out = NULL;
    if (count > (SIZE_MAX - 128) / size)
        return fe_fail(FE_OUT_OF_MEMORY, "%s: %zu x %zu bytes is more than an address space", what, count,
                       size);
    const size_t bytes = (count * size + 64) / 64 * 64;
    *out = aligned_alloc(64, bytes);
    return *out ? FE_OK : fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for %zu bytes", what, bytes);
}

fe_status fe_allocate_large(size_t count, size_t size, int threads, const char *what, void **out)
{
    enum { PAGES = 1 << 16 };
    FE_TRY(reserve(count, size, what, out));
    char *memory = *out;
    const size_t bytes = count * size;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < bytes; i += PAGES) memset(memory + i, 0, bytes - i < PAGES ? bytes - i : PAGES);
    return FE_OK;
}

fe_status fe_sparse_open(fe_sparse *A)
{
    for (int i = 0; i < A->n_row; i++) {
        if (A->first[i] > INT32_MAX - A->first[i + 1])
            return fe_fail(FE_BAD_INPUT, "multigrid: more than %d blocks on one rank; use more ranks",
                           INT32_MAX);
        A->first[i + 1] += A->first[i];
    }
    const size_t n = (size_t)A->first[A->n_row];
    A->n_block = (int)n;
    FE_TRY(reserve(n, sizeof *A->column, "multigrid matrix", (void **)&A->column));
    return reserve(n * (size_t)(A->rows * A->columns), sizeof *A->value, "multigrid matrix",
                   (void **)&A->value);
}

void fe_sparse_close(fe_sparse *A)
{
    free(A->first), free(A->column), free(A->value);
    *A = (fe_sparse){0};
}

int fe_sparse_find(const fe_sparse *A, int row, int column)
{
    const int first = A->first[row],
              place = fe_find_column(A->column + first, A->first[row + 1] - first, column);
    return place < 0 ? -1 : first + place;
}

static int ascending(const void *p, const void *q)
{
    const int a = *(const int *)p, b = *(const int *)q;
    return (a > b) - (a < b);
}

/* Short rows, as most are, by insertion. */
void fe_sort_columns(int *x, int n)
{
    if (n > 48) {
        qsort(x, (size_t)n, sizeof *x, ascending);
        return;
    }
    for (int i = 1; i < n; i++) {
        const int value = x[i];
        int at = i;
        for (; at > 0 && x[at - 1] > value; at--) x[at] = x[at - 1];
        x[at] = value;
    }
}

/* Six numbers are a vector of four and one of two: with loops over doubles the compiler reads and writes C
 * for each of them, which took three times as long. */
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
typedef double two __attribute__((vector_size(16), aligned(8), may_alias));

/* c [m][6] += a [m][k] b [k][6]; constants where it is inlined. */
static inline __attribute__((always_inline)) void multiply(int m, int k, const double *a, const double *b,
                                                           double *c)
{
    four left[6];
    two right[6];
    for (int l = 0; l < k; l++)
        left[l] = *(const four *)(b + 6 * l), right[l] = *(const two *)(b + 6 * l + 4);
    for (int i = 0; i < m; i++) {
        four sum = *(const four *)(c + 6 * i);
        two rest = *(const two *)(c + 6 * i + 4);
        for (int l = 0; l < k; l++) sum += a[k * i + l] * left[l], rest += a[k * i + l] * right[l];
        *(four *)(c + 6 * i) = sum, *(two *)(c + 6 * i + 4) = rest;
    }
}

/* Columns of row i of A B, in any order; `seen` [columns of B] holds i + 1 for those found. */
static int find_columns(const fe_sparse *A, const fe_sparse *B, int i, int *seen, int *found)
{
    int n = 0;
    for (int k = A->first[i]; k < A->first[i + 1]; k++)
        for (int l = B->first[A->column[k]]; l < B->first[A->column[k] + 1]; l++) {
            const int j = B->column[l];
            if (seen[j] == i + 1) continue;
            seen[j] = i + 1;
            if (found) found[n] = j;
            n++;
        }
    return n;
}

/* Row i of C from column `least` on, by its blocks' place [column of B]. They are set to zero just before,
 * while they are in the cache. */
static inline __attribute__((always_inline)) void add_products(int rows, int columns, const fe_sparse *A,
                                                               const fe_sparse *B, int i, int least,
                                                               const int *place, fe_sparse *C)
{
    for (int k = A->first[i]; k < A->first[i + 1]; k++)
        for (int l = B->first[A->column[k]]; l < B->first[A->column[k] + 1]; l++) {
            if (B->column[l] < least) continue;
            multiply(rows, columns, A->value + (size_t)k * (size_t)(rows * columns),
                     B->value + (size_t)l * (size_t)(columns * 6),
                     C->value + (size_t)place[B->column[l]] * (size_t)(rows * 6));
        }
}

static void fill_row(const fe_sparse *A, const fe_sparse *B, int i, int least, int *place, fe_sparse *C)
{
    const int first = C->first[i], n = C->first[i + 1] - first;
    memset(fe_sparse_block(C, first), 0, (size_t)(6 * C->rows * n) * sizeof *C->value);
    for (int l = first; l < first + n; l++) place[C->column[l]] = l;
    if (A->rows == 3)
        add_products(3, 3, A, B, i, least, place, C);
    else if (A->columns == 3)
        add_products(6, 3, A, B, i, least, place, C);
    else
        add_products(6, 6, A, B, i, least, place, C);
}

fe_status fe_sparse_count(const fe_sparse *A, const fe_sparse *B, int threads, int n_row, fe_sparse *C)
{
    int *marks = NULL; /* [threads][n_column] */
    *C = (fe_sparse){.n_row = A->n_row, .n_column = B->n_column, .rows = A->rows, .columns = B->columns};
    FE_ALLOCATE(C->first, (size_t)n_row + 1, "multigrid matrix");
    FE_ALLOCATE(marks, (size_t)threads * (size_t)B->n_column + 1, "multigrid matrix");
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        const int from = fe_chunk(A->n_row, t, threads), to = fe_chunk(A->n_row, t + 1, threads);
        for (int i = from; i < to; i++)
            C->first[i + 1] = find_columns(A, B, i, marks + (size_t)t * B->n_column, NULL);
    }
    free(marks);
    return FE_OK;
}

/* upper: what is left of the diagonal stays zero */
static fe_status fill(const fe_sparse *A, const fe_sparse *B, int upper, int threads, fe_sparse *C)
{
    int *marks = NULL;
    FE_ALLOCATE(marks, (size_t)threads * (size_t)B->n_column + 1, "multigrid matrix");
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        const int from = fe_chunk(A->n_row, t, threads), to = fe_chunk(A->n_row, t + 1, threads);
        int *mark = marks + (size_t)t * B->n_column;
        for (int i = from; i < to; i++) {
            const int n = find_columns(A, B, i, mark, C->column + C->first[i]);
            fe_sort_columns(C->column + C->first[i], n);
        }
        for (int i = from; i < to; i++) fill_row(A, B, i, upper ? i : 0, mark, C);
    }
    free(marks);
    return FE_OK;
}

fe_status fe_sparse_fill(const fe_sparse *A, const fe_sparse *B, int threads, fe_sparse *C)
{
    return fill(A, B, 0, threads, C);
}

static void transpose_block(const fe_sparse *A, const double *a, double *t)
{
    for (int r = 0; r < A->rows; r++)
        for (int c = 0; c < A->columns; c++) t[c * A->rows + r] = a[r * A->columns + c];
}

fe_status fe_sparse_symmetric_product(const fe_sparse *A, const fe_sparse *B, int threads, fe_sparse *C)
{
    FE_TRY(fe_sparse_count(A, B, threads, A->n_row, C));
    FE_TRY(fe_sparse_open(C));
    FE_TRY(fill(A, B, 1, threads, C));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < C->n_row; i++)
        for (int l = C->first[i]; l < C->first[i + 1] && C->column[l] < i; l++)
            transpose_block(C, fe_sparse_block(C, fe_sparse_find(C, C->column[l], i)), fe_sparse_block(C, l));
    return FE_OK;
}

fe_status fe_sparse_transpose(const fe_sparse *A, int threads, fe_sparse *T)
{
    int *next = NULL, *from = NULL; /* from: place in A of a block of T */
    *T = (fe_sparse){.n_row = A->n_column, .n_column = A->n_row, .rows = A->columns, .columns = A->rows};
    FE_ALLOCATE(T->first, (size_t)T->n_row + 1, "multigrid matrix");
    const int n = A->first[A->n_row];
    for (int k = 0; k < n; k++) T->first[A->column[k] + 1]++;
    FE_TRY(fe_sparse_open(T));
    FE_ALLOCATE(next, (size_t)T->n_row + 1, "multigrid matrix");
    memcpy(next, T->first, ((size_t)T->n_row + 1) * sizeof *next);
    const fe_status status = fe_allocate((size_t)n + 1, sizeof *from, "multigrid matrix", (void **)&from);
    for (int i = 0; i < A->n_row && status == FE_OK; i++)
        for (int k = A->first[i]; k < A->first[i + 1]; k++) {
            const int to = next[A->column[k]]++;
            T->column[to] = i, from[to] = k;
        }
    const int made = status == FE_OK ? n : 0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int to = 0; to < made; to++)
        transpose_block(A, fe_sparse_block(A, from[to]), fe_sparse_block(T, to));
    free(next), free(from);
    return status;
}

fe_status fe_sparse_left(const fe_sparse *A, int n, fe_sparse *left)
{
    *left = (fe_sparse){.n_row = A->n_row, .n_column = n, .rows = A->rows, .columns = A->columns};
    FE_ALLOCATE(left->first, (size_t)A->n_row + 1, "multigrid matrix");
    FE_TRY(reserve((size_t)A->n_block, sizeof *left->column, "multigrid matrix", (void **)&left->column));
    for (int i = 0; i < A->n_row; i++) {
        int to = left->first[i];
        for (int k = A->first[i]; k < A->first[i + 1]; k++)
            if (A->column[k] < n) left->column[to++] = A->column[k];
        left->first[i + 1] = to;
    }
    left->n_block = left->first[A->n_row];
    return FE_OK;
}
