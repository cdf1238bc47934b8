/* Numbers and matrices of two set-ups of multigrid beside each other, wherever each has its memory. */
#ifndef TESTS_COMPARISON_H
#define TESTS_COMPARISON_H

#include "common/multigrid/setup_steps.h"

/* n numbers of `size` bytes in the memory of a device, on the host, to be freed. */
void *download(fe_device *d, size_t n, size_t size, const void *memory);
/* The same in the memory of a set-up's steps. */
void *copy_out(const fe_setup *k, size_t n, size_t size, const void *memory);
/* A in host memory, row by row, for fe_sparse_close. */
fe_sparse host_copy(const fe_setup *k, const fe_sparse *A);

/* The larger of two; not a number counts as the largest. */
double larger(double a, double b);
/* x [n] of a and y [n] of b: FE_FAILED, with `what` and the level, where a difference is above `most` of the
 * largest number in x. */
fe_status compare_numbers(const char *what, int level, size_t n, const fe_setup *a, const double *x,
                          const fe_setup *b, const double *y, double most);
/* n whole numbers of `size` bytes; single numbers, on the host. */
fe_status compare_ints(const char *what, int level, size_t n, size_t size, const fe_setup *a, const void *x,
                       const fe_setup *b, const void *y);
fe_status compare_counts(const char *what, int level, int a, int b);
/* The same rows and columns, and values to 11 digits of the largest. */
fe_status compare_matrices(const char *what, const fe_setup *a, const fe_sparse *A, const fe_setup *b,
                           const fe_sparse *B);

#endif
