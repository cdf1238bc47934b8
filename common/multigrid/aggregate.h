/* Aggregates: small connected groups of a graph's nodes, which become the nodes of a coarser level. */
#ifndef FE_AGGREGATE_H
#define FE_AGGREGATE_H

#include "common/base/fe.h"

FE_BOTH double fe_square_distance(const double *a, const double *b)
{
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

/* Whether p is farther from the line through origin and end than a thirtieth of their distance, whose square
 * is `square`. Turning about that line has the share (distance / length)² of the energy of other rotations,
 * which the blocks of 16-bit numbers (1.5e-5) would lose. */
FE_BOTH int fe_off_line(const double *origin, const double *end, double square, const double *p)
{
    double along = 0.0;
    for (int c = 0; c < 3; c++) along += (p[c] - origin[c]) * (end[c] - origin[c]);
    return fe_square_distance(p, origin) * square - along * along > 1e-3 * square * square;
}

/* A group that another may join: whether it has fewer nodes than a piece may have, its links to the other,
 * and its number. */
typedef struct fe_candidate {
    int room, links, group;
} fe_candidate;
/* Whether to join a instead of b: the one with room, then the one with more links, then the first. */
FE_BOTH int fe_better_candidate(fe_candidate a, fe_candidate b)
{
    if (a.room != b.room) return a.room;
    return a.links != b.links ? a.links > b.links : a.group < b.group;
}

typedef struct fe_graph {
    int n;
    const int *first, *column; /* [n + 1], neighbours of each node; itself may be among them */
    const double *x;           /* [n][3] positions */
    const uint8_t *left_out;   /* [n] nodes of no aggregate; NULL: none is */
    const double *softness;    /* [n] of nodes; NULL: they are alike (fe_alike_softness) */
} fe_graph;

/* Whether nodes of these softnesses may be in one aggregate. Where materials differ by more, a node of the
 * softer one that moves with the stiffer one costs iterations. */
FE_BOTH int fe_alike_softness(double a, double b) { return a <= 100.0 * b && b <= 100.0 * a; }

/* of [n]: the aggregate of each node, -1 where it is left out. Pieces of `most` nodes of a recursive
 * bisection (fe_bisect), split where they are not connected or not alike in softness; those of fewer than
 * `least` nodes, and where `flat` is set those whose nodes are on one line, join the neighbour with most
 * links. The result does not depend on the number of threads. */
fe_status fe_aggregate(const fe_graph *g, int most, int least, int flat, int threads, int *of,
                       int *n_aggregate);

#endif
