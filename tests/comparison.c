#include "tests/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void *download(fe_device *d, size_t n, size_t size, const void *memory)
{
    void *host = calloc(n * size + 1, 1);
    if (!host || d->ops->memory.download(d, n * size, memory, host) != FE_OK) abort();
    return host;
}

void *copy_out(const fe_setup *k, size_t n, size_t size, const void *memory)
{
    if (k->steps != &fe_setup_host) return download(k->d, n, size, memory);
    void *host = calloc(n * size + 1, 1);
    if (!host) abort();
    return memcpy(host, memory, n * size);
}

double larger(double a, double b) { return b <= a ? a : isnan(b) ? INFINITY : b; }

/* Largest difference over the largest number, of numbers in host memory, which is freed. */
static fe_status compare_on_host(const char *what, int level, size_t n, double *p, double *q, double most)
{
    double error = 0.0, size = 0.0;
    for (size_t i = 0; i < n; i++) error = larger(error, fabs(p[i] - q[i])), size = fmax(size, fabs(p[i]));
    free(p), free(q);
    return error <= most * size
               ? FE_OK
               : fe_fail(FE_FAILED, "level %d: %s differ by %.2e of the largest", level, what, error / size);
}

fe_status compare_numbers(const char *what, int level, size_t n, const fe_setup *a, const double *x,
                          const fe_setup *b, const double *y, double most)
{
    return compare_on_host(what, level, n, copy_out(a, n, sizeof *x, x), copy_out(b, n, sizeof *y, y), most);
}

fe_status compare_ints(const char *what, int level, size_t n, size_t size, const fe_setup *a, const void *x,
                       const fe_setup *b, const void *y)
{
    char *p = copy_out(a, n, size, x), *q = copy_out(b, n, size, y);
    const int same = !memcmp(p, q, n * size);
    free(p), free(q);
    return same ? FE_OK : fe_fail(FE_FAILED, "level %d: %s differ", level, what);
}

fe_status compare_counts(const char *what, int level, int a, int b)
{
    return a == b ? FE_OK : fe_fail(FE_FAILED, "level %d: %d and %d %s", level, a, b, what);
}

/* Values of A in the order of its blocks, row by row, in host memory. */
static double *values_of(const fe_setup *k, const fe_sparse *A)
{
    const size_t n = (size_t)A->n_block, size = (size_t)(A->rows * A->columns);
    if (!A->place && !A->paired) return copy_out(k, n * size, sizeof(double), A->value);
    int *place = A->place ? copy_out(k, n, sizeof *place, A->place) : NULL, most = A->n_block - 1;
    for (size_t i = 0; place && i < n; i++) most = place[i] > most ? place[i] : most;
    double *from = copy_out(k, ((size_t)most + 1) * size, sizeof *from, A->value),
           *to = calloc(n * size + 1, sizeof *to);
    if (!to) abort();
    for (size_t i = 0; i < n * size; i++) {
        const int r = (int)(i % size) / A->columns, c = (int)(i % size) % A->columns;
        const double *block = from + size * (place ? (size_t)place[i / size] : i / size);
        to[i] = block[place ? fe_pair_place(A->columns, c, r) : fe_pair_place(A->rows, r, c)];
    }
    free(place), free(from);
    return to;
}

fe_sparse host_copy(const fe_setup *k, const fe_sparse *A)
{
    fe_sparse B = *A;
    B.first = copy_out(k, (size_t)A->n_row + 1, sizeof *B.first, A->first);
    B.column = copy_out(k, (size_t)A->n_block, sizeof *B.column, A->column);
    B.value = values_of(k, A);
    B.place = NULL, B.paired = 0;
    return B;
}

fe_status compare_matrices(const char *what, const fe_setup *a, const fe_sparse *A, const fe_setup *b,
                           const fe_sparse *B)
{
    const int level = a->level;
    const size_t n = (size_t)A->n_row, blocks = (size_t)A->n_block;
    FE_TRY(compare_counts("rows", level, A->n_row, B->n_row));
    FE_TRY(compare_counts("columns", level, A->n_column, B->n_column));
    FE_TRY(compare_counts("blocks", level, A->n_block, B->n_block));
    FE_TRY(compare_ints(what, level, n + 1, sizeof *A->first, a, A->first, b, B->first));
    FE_TRY(compare_ints(what, level, blocks, sizeof *A->column, a, A->column, b, B->column));
    return compare_on_host(what, level, blocks * (size_t)(A->rows * A->columns), values_of(a, A),
                           values_of(b, B), 1e-11);
}
