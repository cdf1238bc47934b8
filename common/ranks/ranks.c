/* Starts ranks and collects their failures. */
#include "common/ranks/ranks.h"
#include "common/base/cores.h"
#include "common/ranks/abandon.h"
#include "have/nccl.h"

#include <limits.h>
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const fe_transport_names[FE_N_TRANSPORT] = {"auto", "nccl", "peer"};

typedef struct running_rank {
    fe_ranks run; /* a copy: the caller goes on where this rank is abandoned */
    fe_team *team;
    fe_rank_body body;
    void *context;
    int rank, stranded; /* stranded: MPI may still use its memory */
    fe_status status;
    char message[FE_MESSAGE_LENGTH];
    atomic_int has_message; /* status and message are those of its end */
} running_rank;

static int on_gpu(const fe_ranks *l) { return l->backend->on_gpu; }
/* Ranks of this process. */
static int n_own(const fe_ranks *l) { return l->mpi.size ? 1 : l->n_rank; }

int fe_ranks_transport(const fe_ranks *l)
{
    if (l->transport != FE_TRANSPORT_AUTO) return l->transport;
#if FE_HAVE_NCCL
    if (on_gpu(l) && l->n_rank > 1 && !l->mpi.size && fe_comm_peer_suits(l->n_rank)) return FE_TRANSPORT_PEER;
#endif
    return FE_TRANSPORT_NCCL;
}

fe_status fe_ranks_check(const fe_ranks *l)
{
    if (l->transport == FE_TRANSPORT_PEER && (!on_gpu(l) || l->mpi.size))
        return fe_fail(FE_BAD_INPUT, "--transport peer: needs several GPUs of one process (--backend cuda "
                                     "--ranks N)");
    if (!on_gpu(l) || l->n_rank == 1) return FE_OK;
    if (!FE_HAVE_NCCL)
        return fe_fail(
            FE_BAD_INPUT,
            "--ranks %d: this build has no NCCL (nccl.h was not found by make), which several GPUs "
            "need",
            l->n_rank);
    const int here = l->mpi.size ? l->mpi.local_size : l->n_rank, devices = fe_cuda_devices();
    /* A launcher may show each process its own device only. */
    if (here > devices && !(l->mpi.size && devices == 1))
        return fe_fail(
            FE_BAD_INPUT,
            "--ranks %d: %d ranks on this host, but %d CUDA devices were found; each rank needs its "
            "own",
            l->n_rank, here, devices);
    return FE_OK;
}

/* A launcher may have bound each process to cores of its own; quotas are of all processes of a machine. */
int fe_ranks_threads(const fe_ranks *l)
{
    if (l->threads > 0) return l->threads;
    if (!l->mpi.size) return fe_threads_of(fe_host_cores() / l->n_rank);
    const int here = fe_cores_here(INT_MAX) / l->mpi.local_size;
    return fe_threads_of(fe_cores_of_task(here < l->mpi.cores ? here : l->mpi.cores));
}

/* *comm is always the communicator to abort and to close, even after a failure. */
static fe_status open_rank(const running_rank *r, fe_comm **comm, fe_device **device)
{
    const fe_ranks *l = &r->run;
    const int place = l->mpi.size ? l->mpi.local_rank : r->rank;
    omp_set_num_threads(fe_ranks_threads(l)); /* of this thread's loops, on whichever backend */
    if (l->mpi.size)
        FE_TRY(fe_comm_mpi(&l->mpi, comm));
    else
        *comm = fe_comm_team(r->team, r->rank);
    FE_TRY(l->backend->open(on_gpu(l) && fe_cuda_devices() == 1 ? 0 : place, fe_ranks_threads(l), device));
#if FE_HAVE_NCCL
    if (on_gpu(l) && l->n_rank > 1) FE_TRY(fe_comm_nccl(*comm, *device, comm));
    if (on_gpu(l) && l->n_rank > 1 && l->transport == FE_TRANSPORT_PEER)
        FE_TRY(fe_comm_peer(*comm, *device, comm));
#endif
    return FE_OK;
}

static void *rank_main(void *argument)
{
    running_rank *r = argument;
    fe_comm *comm = NULL;
    fe_device *device = NULL;
    r->status = open_rank(r, &comm, &device);
    if (r->status == FE_OK) r->status = r->body(r->context, comm, device);
    if (r->status != FE_OK) {
        snprintf(r->message, sizeof r->message, "%s", fe_message());
        atomic_store(&r->has_message, 1);
        if (comm) fe_comm_abort(comm, r->status);
        r->stranded = (comm && comm->stranded) || fe_mpi_stranded();
    }
    if (r->stranded) return NULL; /* the process ends soon */
    if (r->team) fe_team_leave(r->team);
    r->stranded = fe_comm_close(comm);
    if (device && !r->stranded) device->ops->close(device);
    return NULL;
}

fe_status fe_ranks_first(fe_comm *comm, void *(*body)(void *), void *argument)
{
    const int first = comm->rank == 0;
    const double often = fe_comm_timeout < 4.0 ? 0.25 * fe_comm_timeout : 1.0;
    int busy = 1;
    fe_status status = FE_OK;
    pthread_t thread;
    if (comm->size == 1) return body(argument), FE_OK;
    if (first && pthread_create(&thread, NULL, body, argument))
        return fe_fail(FE_FAILED, "no thread for the work of rank 0");
    while (busy && status == FE_OK) {
        if (first) busy = !fe_join_within(thread, often);
        status = comm->ops->broadcast(comm, sizeof busy, &busy);
    }
    if (first && busy) pthread_join(thread, NULL);
    return status;
}

/* Seconds that ranks have to end in after one has failed, or --timeout: a device may hold a rank in a call of
 * CUDA for ever, when its kernel waits for a rank that is gone. */
#define LAST_SECONDS fmin(12.0, fe_comm_timeout)

/* Waits for the thread of a rank, or leaves it. Returns whether it ended; *failed: when the first rank
 * failed, or 0. */
static int join(pthread_t thread, fe_team *team, double *failed)
{
    while (!fe_join_within(thread, 0.1)) {
        if (*failed == 0.0 && fe_team_failure(team, 0, NULL) != FE_OK) *failed = fe_seconds();
        if (*failed != 0.0 && fe_seconds() - *failed > LAST_SECONDS) {
            pthread_detach(thread);
            return 0;
        }
    }
    return 1;
}

/* Runs the ranks of a team. What they share is not freed if a thread hangs. */
static void run_team(fe_ranks *l, fe_team *team, running_rank *ranks, pthread_t *thread)
{
    int started = 0;
    double failed = 0.0;
    while (started < l->n_rank && !pthread_create(&thread[started], NULL, rank_main, &ranks[started]))
        started++;
    if (started < l->n_rank) {
        running_rank *missing = &ranks[started];
        missing->status = FE_FAILED, missing->has_message = 1;
        snprintf(missing->message, sizeof missing->message, "--ranks %d: only %d threads could be started",
                 l->n_rank, started);
        fe_comm *comm = fe_comm_team(team, started);
        comm->ops->abort(comm, FE_FAILED, missing->message);
    }
    for (int i = 0; i < started; i++) l->abandoned |= !join(thread[i], team, &failed) || ranks[i].stranded;
}

/* Whether all ranks ended themselves for this reason. Ranks that have not said why may still write it down.
 */
static int all_say(int n, running_rank *ranks, const char *why)
{
    for (int i = 0; i < n; i++)
        if (!atomic_load(&ranks[i].has_message) || strcmp(ranks[i].message, why)) return 0;
    return 1;
}

/* Reports the first cause, not the ranks that failed because of it; what all ranks found is not reported as
 * that of one. */
static fe_status conclude_team(int n, fe_team *team, running_rank *ranks)
{
    char message[FE_MESSAGE_LENGTH];
    const fe_status status = fe_team_failure(team, sizeof message, message);
    if (status == FE_OK) return FE_OK;
    const char *why = strstr(message, ": ") + 2;
    return fe_fail(status, "%s", all_say(n, ranks, why) ? why : message);
}
static fe_status conclude_rank(const running_rank *rank)
{
    if (rank->status == FE_OK) return FE_OK;
    const char *cause = fe_comm_cause(rank->message); /* of another process's rank */
    return fe_fail(rank->status, "%s", cause ? cause : rank->message);
}

fe_status fe_ranks_run(fe_ranks *l, fe_rank_body body, void *context)
{
    const int n = n_own(l);
    fe_team *team = NULL;
    running_rank *ranks = NULL;
    pthread_t *thread = NULL;
    l->abandoned = 0;
    FE_TRY(fe_ranks_check(l));
    fe_status status = l->mpi.size ? FE_OK : fe_team_open(n, &team);
    if (status == FE_OK) status = fe_allocate((size_t)n, sizeof *ranks, "ranks", (void **)&ranks);
    if (status == FE_OK) status = fe_allocate((size_t)n, sizeof *thread, "ranks", (void **)&thread);
    fe_ranks run = *l;
    run.transport = fe_ranks_transport(l); /* chosen once: all ranks have to agree */
    for (int i = 0; i < n && status == FE_OK; i++)
        ranks[i] = (running_rank){
            .run = run, .team = team, .body = body, .context = context, .rank = l->mpi.rank + i};
    if (status == FE_OK) {
        if (n == 1) {
            rank_main(&ranks[0]);
            l->abandoned = ranks[0].stranded;
            status = conclude_rank(&ranks[0]);
        } else {
            run_team(l, team, ranks, thread);
            status = conclude_team(n, team, ranks);
        }
        if (l->abandoned) fe_abandon(ranks);
    }
    free(thread);
    if (l->abandoned) return status;
    free(ranks);
    fe_team_close(team);
    return status;
}
