/* Matrices of dense blocks, row by row, in double precision: what set-up of the multigrid preconditioner
 * computes with. The functions below are for host memory; results do not depend on the number of threads. */
#ifndef FE_SPARSE_H
#define FE_SPARSE_H

#include "common/base/fe.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fe_sparse {
    int n_row, n_column; /* in blocks */
    int rows, columns;   /* of a block: 3 or 6 */
    int n_block;         /* first[n_row] */
    int *first;          /* [n_row + 1] */
    int *column;         /* [first[n_row]] ascending in each row */
    double *value;       /* [first[n_row]][rows][columns] */
    int paired; /* value is [first[n_row]][columns / 2][rows][2], by pairs of columns (on the device) */
    int *place; /* NULL; or block k is the transpose of block place[k] of value, by pairs of columns
                 * (on the device) */
} fe_sparse;

/* Where a number of such a block is. A product finds what two of its columns need side by side in memory. */
FE_BOTH int fe_pair_place(int rows, int r, int c) { return (c / 2 * rows + r) * 2 + c % 2; }

/* Zeroed memory like fe_allocate's, but all threads touch it first: for large arrays. */
fe_status fe_allocate_large(size_t count, size_t size, int threads, const char *what, void **out);

/* Allocates column and value, whose entries the caller sets, for the counts in first[1 ..], which become
 * starts. */
fe_status fe_sparse_open(fe_sparse *A);
/* Accepts what is zeroed or half opened. */
void fe_sparse_close(fe_sparse *A);

static inline double *fe_sparse_block(const fe_sparse *A, int place)
{
    return A->value + (size_t)place * A->rows * A->columns;
}
/* Columns are n in ascending order. Place of the first one from `column` on, or n. */
FE_BOTH int fe_first_column(const int *columns, int n, int column)
{
    int low = 0, high = n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (columns[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
/* Place of `column`, or -1. */
FE_BOTH int fe_find_column(const int *columns, int n, int column)
{
    const int place = fe_first_column(columns, n, column);
    return place < n && columns[place] == column ? place : -1;
}
void fe_sort_columns(int *column, int n); /* ascending */
/* Place of a block, -1 where the row has none in this column. */
int fe_sparse_find(const fe_sparse *A, int row, int column);

/* C = A B, where the blocks of B have six columns, and those of A 3 × 3, 6 × 3 or 6 × 6 numbers, in two
 * steps: the counts of C's rows, in first with room for n_row of them; and, after fe_sparse_open, columns and
 * values of A's rows. */
fe_status fe_sparse_count(const fe_sparse *A, const fe_sparse *B, int threads, int n_row, fe_sparse *C);
fe_status fe_sparse_fill(const fe_sparse *A, const fe_sparse *B, int threads, fe_sparse *C);
/* C = A B where C's first n_row columns are known to be symmetric, with its places: what is left of the
 * diagonal is copied from the right, which halves the work. Columns beyond are of other ranks. */
fe_status fe_sparse_symmetric_product(const fe_sparse *A, const fe_sparse *B, int threads, fe_sparse *C);
/* T = A^T, of such an A. */
fe_status fe_sparse_transpose(const fe_sparse *A, int threads, fe_sparse *T);
/* The pattern of the first n columns alone, without values. */
fe_status fe_sparse_left(const fe_sparse *A, int n, fe_sparse *left);

#ifdef __cplusplus
}
#endif
#endif
