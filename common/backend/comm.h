/* What ranks say to each other: refresh ghosts, sum, largest. One rank takes the same path with no
 * neighbours.
 *
 * Every rank makes the same calls in the same order. A call fails on all ranks once one has aborted. */
#ifndef FE_COMM_H
#define FE_COMM_H

#include "common/backend/device.h"

/* Ghosts of one rank, grouped by owner: neighbour i owns local nodes [ghost_first[i], ghost_first[i+1]) and
 * knows them as its own nodes `source`; it needs our nodes send_node[send_first[i] ..] in that order. */
typedef struct fe_halo {
    int n_neighbor;
    int *neighbor;    /* [n_neighbor] ranks, ascending */
    int *ghost_first; /* [n_neighbor + 1] local nodes, from n_owned on */
    int *source;      /* [n_ghost] the owner's local node */
    int *send_first;  /* [n_neighbor + 1] */
    int *send_node;   /* [send_first[n_neighbor]] owned nodes */
} fe_halo;

typedef struct fe_comm {
    int rank, size;
    /* Starts and ends the refresh of x's ghosts [n_local][3]; work on the interior may stand between. */
    fe_status (*exchange_begin)(struct fe_comm *c, fe_device *d, const fe_halo *halo, double *x);
    fe_status (*exchange_end)(struct fe_comm *c, fe_device *d, const fe_halo *halo, double *x);
    /* x [n] becomes the sum, or the largest, over the ranks, in rank order. Backend memory. */
    fe_status (*sum)(struct fe_comm *c, fe_device *d, int n, double *x);
    fe_status (*largest)(struct fe_comm *c, fe_device *d, int n, double *x);
    /* Waits for all ranks. */
    fe_status (*barrier)(struct fe_comm *c);
    /* Wakes every rank that waits, or will, with a failure. */
    void (*abort)(struct fe_comm *c);
} fe_comm;

/* Ranks as threads of this process, host memory. The team is shared; each rank opens its own fe_comm. */
typedef struct fe_team fe_team;
fe_status fe_team_open(int size, fe_team **team);
void fe_team_close(fe_team *team);
fe_status fe_comm_threads(fe_team *team, int rank, fe_comm **comm);
void fe_comm_close(fe_comm *comm);

#endif
