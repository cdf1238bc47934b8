/* Checks of what ranks do together: exchanges, sums, distances of vectors. All ranks call them. */
#ifndef BENCH_CHECK_RANKS_H
#define BENCH_CHECK_RANKS_H

#include "bench/workload.h"
#include "common/ranks/comm.h"

/* Numbers of the longest sum that is checked. */
enum { BENCH_LONGEST_SUM = 32 };

/* Coordinates, which a rank knows of its ghosts, too, take the way of a vector x [n_local][3]: 0 where its
 * ghosts arrive with the same bits, otherwise infinite. */
fe_status bench_check_exchange(const bench_workload *c, double *x, double *error);
/* Sums n numbers that are known, in scalar [n]: the largest relative difference. */
fe_status bench_check_sum(fe_comm *comm, fe_device *d, int n, double *scalar, double *error);
/* |a - b| of vectors with n entries on this rank. Each rank sums on its host. scalar [1] is scratch. */
fe_status bench_distance(fe_comm *comm, fe_device *d, size_t n, const double *a, const double *b,
                         double *scalar, double *norm);

#endif
