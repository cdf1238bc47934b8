/* Communication between ranks: they refresh ghosts and reduce sums and maxima. One rank takes the same path,
 * without neighbours.
 *
 * Ranks are threads of this process, or processes of MPI; NCCL carries device memory for either. Every rank
 * makes the same calls in the same order. Once one has aborted, or makes no call for as long as
 * fe_comm_timeout says, calls fail on all others with its name and message. */
#ifndef FE_COMM_H
#define FE_COMM_H

#include "common/backend/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Ghosts of one rank, grouped by owner: neighbour i owns local nodes [ghost_first[i], ghost_first[i+1]). It
 * needs our nodes send_node[send_first[i] ..], in the order of its ghosts. */
typedef struct fe_halo {
    int n_neighbor;
    int *neighbor;    /* [n_neighbor] ranks, ascending */
    int *ghost_first; /* [n_neighbor + 1] local nodes, from n_owned on */
    int *send_first;  /* [n_neighbor + 1] */
    int *send_node;   /* [send_first[n_neighbor]] owned nodes */
} fe_halo;

typedef struct fe_comm fe_comm;
typedef enum fe_reduction { FE_REDUCE_SUM, FE_REDUCE_LARGEST } fe_reduction;

typedef struct fe_comm_operations {
    const char *name; /* threads, mpi, nccl, peer */
    /* Once, before exchanges: the device of the vectors and their halo, which stays the caller's. */
    fe_status (*attach)(fe_comm *c, fe_device *d, const fe_halo *halo);
    /* Starts and ends the refresh of x's ghosts [n_local][3]; work on the interior may stand between. */
    fe_status (*exchange_begin)(fe_comm *c, double *x);
    fe_status (*exchange_end)(fe_comm *c, double *x);
    /* x [n] becomes the sum, or the largest, over the ranks: the same bits on all. Backend memory. */
    fe_status (*reduce)(fe_comm *c, fe_device *d, fe_reduction reduction, int n, double *x);
    /* Waits for all ranks. */
    fe_status (*barrier)(fe_comm *c);
    /* Host memory: rank 0's bytes to all. */
    fe_status (*broadcast)(fe_comm *c, size_t bytes, void *host);
    /* Host memory: every rank has filled its own entries of x [n] and left the others zero; rank 0 gets all.
     * Ranks of one process share the array, so nothing is moved. */
    fe_status (*collect)(fe_comm *c, size_t n, double *x);
    /* Whether another rank has aborted, or is overdue in a wait that began at `since` (fe_seconds). */
    fe_status (*check)(fe_comm *c, double since);
    /* Wakes every rank that waits, or will, with this failure. */
    void (*abort)(fe_comm *c, fe_status status, const char *message);
    void (*close)(fe_comm *c);
} fe_comm_operations;

/* What all communicators share; each one's own struct begins with it. */
struct fe_comm {
    const fe_comm_operations *ops;
    int rank, size;
    int stranded; /* a thread or a kernel that was given up may still use device and vectors: they stay */
};

/* Seconds without a sign of life after which a rank counts as hung. */
extern double fe_comm_timeout;

/* Ranks as threads of this process, host memory. The team is shared; each rank opens its own fe_comm. */
typedef struct fe_team fe_team;
fe_status fe_team_open(int size, fe_team **team);
void fe_team_close(fe_team *team);
fe_status fe_comm_team(fe_team *team, int rank, fe_comm **comm);
/* Waits for all ranks to come here, some seconds at most: none reads another's memory any more. Before
 * devices are closed. */
void fe_team_leave(fe_team *team);

/* Ranks as processes: those that mpirun or srun started. fe_mpi_open joins them where there are any (and this
 * build has MPI); sizes are 0 otherwise. local: among the ranks of this host. */
typedef struct fe_mpi {
    int rank, size, local_rank, local_size;
} fe_mpi;
fe_status fe_mpi_open(fe_mpi *mpi);
/* At the end of a program, before it says what went wrong: after a failure the other ranks are told, and
 * given some seconds to come here, too. 1 where this rank is to speak: rank 0 does for all that came. */
int fe_mpi_meet(fe_status status);
/* Leaves. Ranks that did not come to fe_mpi_meet are ended; after a failure it may not return. */
void fe_mpi_close(int exit_code);
fe_status fe_comm_mpi(const fe_mpi *mpi, fe_comm **comm);
/* Whether a wait was given up: MPI may still read and write the memory that it was for, which has to stay. */
int fe_mpi_stranded(void);

/* Only in a build with NCCL.
 *
 * NCCL for device memory over `base` for all else, which it closes with itself. Each rank has its own GPU. */
fe_status fe_comm_nccl(fe_comm *base, fe_device *d, fe_comm **comm);
/* GPUs of one process that write into each other's memory for exchanges and sums, over `nccl` for all else.
 * The team has to be left (fe_team_leave) before it is closed. */
fe_status fe_comm_peer(fe_comm *nccl, fe_device *d, fe_comm **comm);

static inline void fe_comm_close(fe_comm *c)
{
    if (c) c->ops->close(c);
}

static inline fe_status fe_comm_sum(fe_comm *c, fe_device *d, int n, double *x)
{
    return c->ops->reduce(c, d, FE_REDUCE_SUM, n, x);
}
static inline fe_status fe_comm_largest(fe_comm *c, fe_device *d, int n, double *x)
{
    return c->ops->reduce(c, d, FE_REDUCE_LARGEST, n, x);
}

/* Refreshes x's ghosts with nothing in between. */
static inline fe_status fe_comm_exchange(fe_comm *c, double *x)
{
    FE_TRY(c->ops->exchange_begin(c, x));
    return c->ops->exchange_end(c, x);
}

/* Bytes that an exchange sends on this rank. */
static inline size_t fe_halo_bytes_sent(const fe_halo *h)
{
    return 3 * sizeof(double) * (size_t)h->send_first[h->n_neighbor];
}

/* For communicators: one more rank's value in a sum or a largest; the failure of a rank that another's took
 * along, and that of one which waits for `rank` (below 0: for none that is silent) longer than it may. */
static inline double fe_comm_combine(fe_reduction reduction, double all, double one)
{
    return reduction == FE_REDUCE_SUM ? all + one : one > all ? one : all;
}
fe_status fe_comm_relay(fe_status status, const char *message);
fe_status fe_comm_overdue(int rank);
/* The cause in a message of fe_comm_relay, NULL where this rank failed by itself. */
const char *fe_comm_cause(const char *message);

#ifdef __cplusplus
}
#endif
#endif
