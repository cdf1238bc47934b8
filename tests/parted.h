/* A mesh that is parted among ranks in every way, for tests of shares and exchanges. */
#ifndef TESTS_PARTED_H
#define TESTS_PARTED_H

#include "common/problem/share.h"

/* A distorted box in random order, so that every rank has many neighbours, and all its shares. */
typedef struct parted {
    fe_mesh mesh;
    fe_partition partition;
    int n_rank;
    fe_share share[7];
    int *first, *elem; /* elements at the nodes */
} parted;

parted parted_open(int kind, int n_rank, int method, fe_order order);
void parted_close(parted *p);
/* Calls check for both elements, all numbers of ranks and partitions, in an order and in compact pieces. */
void each_partition(void (*check)(const parted *));

#endif
