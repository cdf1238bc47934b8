/* Communication between ranks: they refresh ghosts and reduce sums and maxima. One rank takes the same path,
 * without neighbours.
 *
 * Ranks are threads of this process, or processes of MPI; NCCL transfers device memory for both. Every rank
 * makes the same calls in the same order. When a rank has aborted, or has made no call for fe_comm_timeout
 * seconds, calls fail on all others with its number and message. */
#ifndef FE_COMM_H
#define FE_COMM_H

#include "common/backend/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Ghosts of one rank, grouped by owner: neighbour i owns local nodes [ghost_first[i], ghost_first[i+1]).
 * Neighbours are mutual, even where one of the two has no ghosts of the other. It
 * needs our nodes send_node[send_first[i] ..], in the order of its ghosts. */
typedef struct fe_halo {
    int n_neighbor;
    int *neighbor;    /* [n_neighbor] ranks */
    int *ghost_first; /* [n_neighbor + 1] local nodes, from n_owned on */
    int *send_first;  /* [n_neighbor + 1] */
    int *send_node;   /* [send_first[n_neighbor]] owned nodes */
} fe_halo;

/* The halos of a communicator: of the mesh's nodes, one that set-up uses for a while, that of the vertices of
 * quadratic elements, and those of coarser levels. A ghost of any has three doubles, or six floats in their place. */
enum { FE_HALO_NODES, FE_HALO_SETUP, FE_HALO_VERTICES, FE_HALO_LEVEL, FE_MOST_HALOS = 16 };

typedef struct fe_comm fe_comm;
typedef enum fe_reduction { FE_REDUCE_SUM, FE_REDUCE_LARGEST } fe_reduction;

typedef struct fe_comm_operations {
    const char *name; /* threads, mpi, nccl, peer */
    /* Called by all ranks before exchanges: the device of the vectors, and a halo, which the caller keeps as
     * long as it is exchanged. It takes the place of an earlier one of this kind. */
    fe_status (*attach)(fe_comm *c, fe_device *d, int which, const fe_halo *halo);
    /* Starts and ends the refresh of x's ghosts [n_local][3]; work on the interior may be enqueued in
     * between, but no other exchange. */
    fe_status (*exchange_begin)(fe_comm *c, int which, double *x);
    fe_status (*exchange_end)(fe_comm *c, int which, double *x);
    /* Both at once, and the same of floats x [n_local][3]; or NULL, see fe_comm_exchange and
     * fe_exchange_single. Six floats that take the place of three doubles are exchanged as doubles. */
    fe_status (*exchange)(fe_comm *c, int which, double *x);
    fe_status (*exchange_single)(fe_comm *c, int which, float *x);
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
    /* Ends every present and future wait of all ranks with this failure; only the first call counts. Call it
     * before recordings of exchanges are forgotten: one that a device still runs would keep NCCL from ending.
     */
    void (*abort)(fe_comm *c, fe_status status, const char *message);
    /* Whether a thread had to be abandoned that may still use it and the device: then neither is freed. */
    int (*close)(fe_comm *c);
} fe_comm_operations;

/* What a rank has sent to others: bytes of exchanges; and how often it exchanged and took part in sums. */
typedef struct fe_traffic {
    int64_t bytes, exchanges, sums;
} fe_traffic;

/* What all communicators share; each one's own struct begins with it. */
struct fe_comm {
    const fe_comm_operations *ops;
    int rank, size;
    fe_traffic traffic;                 /* what was enqueued; of recordings what was replayed (krylov.c) */
    const fe_halo *halo[FE_MOST_HALOS]; /* attached ones */
    int stranded; /* an abandoned thread or kernel may still use device and vectors: they must not be freed */
};

/* Seconds without a sign of life after which a rank counts as hung. */
extern double fe_comm_timeout;

/* Ranks as threads of this process, host memory. The team is shared, and holds each rank's own fe_comm. */
typedef struct fe_team fe_team;
fe_status fe_team_open(int size, fe_team **team);
void fe_team_close(fe_team *team);
fe_comm *fe_comm_team(fe_team *team, int rank);
/* Waits some seconds at most for all ranks to arrive here; after that none reads another's memory. Call it
 * before devices are closed. */
void fe_team_leave(fe_team *team);
/* FE_OK until a rank fails; then what it told the others: its status, and "rank R: why". message: NULL where
 * size is 0. */
fe_status fe_team_failure(fe_team *team, size_t size, char *message);

/* Ranks as processes: those that mpirun or srun started. fe_mpi_open joins them where there are any (and this
 * build has MPI); sizes are 0 otherwise. local: among the ranks of this host; cores: this rank's own, with
 * its part of those that others may use, too. FE_BAD_INPUT where several were started that MPI does not join,
 * unless `ranks`, those asked for (0: none), is 1. */
typedef struct fe_mpi {
    int rank, size, local_rank, local_size, cores;
} fe_mpi;
fe_status fe_mpi_open(int ranks, fe_mpi *mpi);
/* The refusal alone; joins: whether MPI could join the processes of this program. */
fe_status fe_mpi_refuse(int ranks, int joins);
/* Called at the end of a program, before it prints an error: after a failure it tells the other ranks and
 * gives them some seconds to arrive here, too. Returns 1 if this rank should print: rank 0 prints for all
 * that arrived. */
int fe_mpi_meet(fe_status status);
/* Leaves MPI. Ranks that did not arrive at fe_mpi_meet are ended; after a failure it may not return. */
void fe_mpi_close(int exit_code);
fe_status fe_comm_mpi(const fe_mpi *mpi, fe_comm **comm);
/* Whether a wait was abandoned: MPI may still read and write its memory, which must not be freed. */
int fe_mpi_stranded(void);

/* Only in a build with NCCL.
 *
 * NCCL for device memory, and `base`, which it closes with itself, for everything else. Each rank has its own
 * GPU. */
fe_status fe_comm_nccl(fe_comm *base, fe_device *d, fe_comm **comm);
/* GPUs of one process that write into each other's memory for exchanges and sums; `nccl` does everything
 * else. Call fe_team_leave before it is closed. */
fe_status fe_comm_peer(fe_comm *nccl, fe_device *d, fe_comm **comm);
/* Whether each of the first `size` GPUs reaches the memory of the others, with atomics, too: that is taken as
 * a sign of NVLink. By PCIe they may reach it, but how fast was never measured. No where CUDA does not say.
 */
int fe_comm_peer_suits(int size);

static inline int fe_comm_close(fe_comm *c) { return c ? c->ops->close(c) : 0; }
/* A rank that has failed tells the others why. */
static inline void fe_comm_abort(fe_comm *c, fe_status status) { c->ops->abort(c, status, fe_message()); }

/* Bytes that an exchange sends on this rank, in doubles. */
static inline size_t fe_halo_bytes_sent(const fe_halo *h)
{
    return 3 * sizeof(double) * (size_t)h->send_first[h->n_neighbor];
}
/* Counts an exchange of numbers of so many bytes; a single rank has none. */
static inline void fe_comm_count_exchange(fe_comm *c, int which, size_t number)
{
    if (c->size == 1) return;
    c->traffic.bytes += (int64_t)(fe_halo_bytes_sent(c->halo[which]) / sizeof(double) * number);
    c->traffic.exchanges++;
}

/* Time counts for `phase` from now on, an exchange or a sum; but what a single rank does there is nothing,
 * and takes no time. */
static inline fe_status fe_comm_phase(const fe_comm *c, fe_device *d, int phase)
{
    return c->size > 1 ? d->ops->phase(d, phase) : FE_OK;
}

static inline fe_status fe_comm_sum(fe_comm *c, fe_device *d, int n, double *x)
{
    c->traffic.sums += c->size > 1;
    return c->ops->reduce(c, d, FE_REDUCE_SUM, n, x);
}
static inline fe_status fe_comm_largest(fe_comm *c, fe_device *d, int n, double *x)
{
    c->traffic.sums += c->size > 1;
    return c->ops->reduce(c, d, FE_REDUCE_LARGEST, n, x);
}

/* Begins to refresh x's ghosts; fe_comm_exchange_end ends it. */
static inline fe_status fe_comm_exchange_begin(fe_comm *c, int which, double *x)
{
    fe_comm_count_exchange(c, which, sizeof *x);
    return c->ops->exchange_begin(c, which, x);
}
static inline fe_status fe_comm_exchange_end(fe_comm *c, int which, double *x)
{
    return c->ops->exchange_end(c, which, x);
}

/* Refreshes x's ghosts with nothing in between. */
static inline fe_status fe_comm_exchange(fe_comm *c, int which, double *x)
{
    fe_comm_count_exchange(c, which, sizeof *x);
    if (c->ops->exchange) return c->ops->exchange(c, which, x);
    FE_TRY(c->ops->exchange_begin(c, which, x));
    return c->ops->exchange_end(c, which, x);
}

/* For communicators: adds one more rank's value to a sum or maximum; the failure of a rank because another
 * rank failed; the failure of a rank that has waited too long for `rank` (negative: no rank is silent). */
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
