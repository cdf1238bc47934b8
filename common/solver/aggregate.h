/* Aggregates: small connected groups of a graph's nodes, which become the nodes of a coarser level. */
#ifndef FE_AGGREGATE_H
#define FE_AGGREGATE_H

#include "common/base/fe.h"

typedef struct fe_graph {
    int n;
    const int *first, *column; /* [n + 1], neighbours of each node; itself may be among them */
    const double *x;           /* [n][3] positions */
    const uint8_t *left_out;   /* [n] nodes of no aggregate; NULL: none is */
} fe_graph;

/* of [n]: the aggregate of each node, -1 where it is left out. Pieces of `most` nodes of a recursive
 * bisection (fe_bisect), split where they are not connected; those of fewer than `least` nodes, and where
 * `flat` is set those whose nodes are on one line, join the neighbour with most links. The result does not
 * depend on the number of threads. */
fe_status fe_aggregate(const fe_graph *g, int most, int least, int flat, int threads, int *of,
                       int *n_aggregate);

#endif
