/* Ranks as processes of MPI, host memory. All waits poll, so that a failure elsewhere, or a rank that no
 * longer answers, ends them. Small control messages on a separate communicator report this. */
#include "common/base/cores.h"
#include "common/ranks/abandon.h"
#include "common/ranks/comm.h"
#include "common/ranks/launch.h"
#include "have/mpi.h"

#include <stdio.h>
#include <stdlib.h>

/* Whether this process was refused as one of several that MPI does not join: the first of them says so. */
static int refused;
static int speaks(void) { return !refused || fe_launch_rank() == 0; }

fe_status fe_mpi_refuse(int ranks, int joins)
{
    const fe_status status =
        fe_launch_refuse(ranks,
                         !joins         ? "this program is one"
                         : !FE_HAVE_MPI ? "this build has no MPI (mpicc was not found by make)"
                                        : "MPI does not join them",
                         joins && FE_HAVE_MPI);
    refused = status != FE_OK;
    return status;
}

#if FE_HAVE_MPI
#include <mpi.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#define MPI_TRY(call)                                                                                        \
    do {                                                                                                     \
        const int mpi_try_error = (call);                                                                    \
        if (mpi_try_error != MPI_SUCCESS) return mpi_failure(mpi_try_error, __LINE__);                       \
    } while (0)

static fe_status mpi_failure(int error, int line)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(error, text, &length);
    return fe_fail(FE_FAILED, "%s:%d: MPI: %s", __FILE__, line, text);
}

enum { TAG_ABORT, TAG_ASK, TAG_ANSWER, TAG_EXCHANGE };
/* Seconds that failed ranks wait for each other, and that a rank has for an answer. */
static const double patience = 4.0;
/* Seconds that a wait spins before it sleeps between its looks. Ranks that only yield keep a shared core
 * busy, which the awaited rank needs: rank 0 then took seconds to write a file (Linux 6.18). */
static const double spin = 2e-4;

typedef struct notice {
    int status;
    char message[512];
} notice;

/* The process's place among the others; there is one per process. */
static struct {
    int open, rank, size;
    MPI_Comm data, control;
    notice abort;   /* that has been sent or received; status 0: none */
    int stranded;   /* 1: a request was abandoned, MPI cannot be finalized; 2: a rank no longer answers */
    int leaving;    /* whether any rank is stranded; an abandoned request may still write it */
    double asked;   /* when all ranks were asked for an answer; 0: not now */
    char *answered; /* [size] */
} world;

typedef struct comm_mpi {
    fe_comm base;
    fe_device *device;
    struct {
        int *send_node;
        double *pack;
    } halo[FE_MOST_HALOS];
    MPI_Request *request; /* [2 (size - 1)] */
    int n_request;
    double *gathered; /* [n_gathered][size] of reductions */
    int n_gathered;
} comm_mpi;

static comm_mpi *self(fe_comm *c) { return (comm_mpi *)c; }

/* Sends a notice to all other ranks. It is small enough for MPI to send at once, so no one waits for it. */
static void tell(int tag, const void *data, int bytes)
{
    for (int r = 0; r < world.size; r++) {
        MPI_Request request;
        if (r != world.rank &&
            MPI_Isend(data, bytes, MPI_BYTE, r, tag, world.control, &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
    }
}

/* Reads the notices of other ranks. */
static fe_status listen(void)
{
    MPI_Status from;
    int there = 1;
    while (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world.control, &there, &from) == MPI_SUCCESS && there) {
        notice heard = {0};
        MPI_TRY(MPI_Recv(&heard, sizeof heard, MPI_BYTE, from.MPI_SOURCE, from.MPI_TAG, world.control,
                         MPI_STATUS_IGNORE));
        if (from.MPI_TAG == TAG_ANSWER) world.answered[from.MPI_SOURCE] = 1;
        if (from.MPI_TAG == TAG_ASK)
            MPI_TRY(MPI_Send(NULL, 0, MPI_BYTE, from.MPI_SOURCE, TAG_ANSWER, world.control));
        if (from.MPI_TAG == TAG_ABORT && !world.abort.status) world.abort = heard;
    }
    return FE_OK;
}

static fe_status hear(void)
{
    FE_TRY(listen());
    return world.abort.status ? fe_comm_relay((fe_status)world.abort.status, world.abort.message) : FE_OK;
}

/* A rank that waits answers. One that does not answer is stopped, dead or in an endless loop. */
static fe_status overdue(void)
{
    if (world.asked == 0.0) {
        memset(world.answered, 0, (size_t)world.size);
        world.answered[world.rank] = 1;
        world.asked = fe_seconds();
        tell(TAG_ASK, NULL, 0);
    }
    if (fe_seconds() - world.asked < 0.5 * patience) return FE_OK;
    for (int r = 0; r < world.size; r++)
        if (!world.answered[r]) return fe_comm_overdue(r);
    return fe_comm_overdue(-1);
}

static fe_status check(fe_comm *c, double since)
{
    (void)c;
    FE_TRY(hear());
    if (fe_seconds() - since > fe_comm_timeout) return overdue();
    world.asked = 0.0;
    return FE_OK;
}

static fe_status await(fe_comm *c, int n, MPI_Request *request)
{
    const double since = fe_seconds();
    for (int turn = 1;; turn++) {
        int done = 0;
        MPI_TRY(MPI_Testall(n, request, &done, MPI_STATUSES_IGNORE));
        if (done) return FE_OK;
        if (turn % 64) continue;
        const fe_status status = check(c, since);
        if (status != FE_OK) {
            world.stranded = 1;
            return status;
        }
        if (fe_seconds() - since > spin)
            usleep(20);
        else
            sched_yield();
    }
}

int fe_mpi_stranded(void) { return world.stranded != 0; }

static fe_status barrier(fe_comm *c)
{
    MPI_Request request;
    MPI_TRY(MPI_Ibarrier(world.data, &request));
    return await(c, 1, &request);
}

static void abort_all(fe_comm *c, fe_status status, const char *message)
{
    (void)c;
    if (world.abort.status) return;
    world.abort.status = status;
    snprintf(world.abort.message, sizeof world.abort.message, "rank %d: %.480s", world.rank, message);
    tell(TAG_ABORT, &world.abort, sizeof world.abort);
}

static fe_status attach(fe_comm *c, fe_device *d, int which, const fe_halo *halo)
{
    comm_mpi *m = self(c);
    const size_t n = (size_t)halo->send_first[halo->n_neighbor];
    m->device = d;
    if (!m->request) FE_ALLOCATE(m->request, 2 * (size_t)world.size, "halo");
    if (c->halo[which]) {
        d->ops->memory.release(d, m->halo[which].send_node);
        d->ops->memory.release(d, m->halo[which].pack);
    }
    c->halo[which] = NULL;
    FE_TRY(fe_device_upload(d, n, sizeof(int), halo->send_node, "halo", (void **)&m->halo[which].send_node));
    FE_TRY(fe_device_allocate(d, 3 * n, sizeof(double), "halo", (void **)&m->halo[which].pack));
    c->halo[which] = halo;
    return FE_OK;
}

static fe_status exchange_begin(fe_comm *c, int which, double *x)
{
    comm_mpi *m = self(c);
    const fe_halo *h = c->halo[which];
    double *const pack = m->halo[which].pack;
    m->n_request = 0;
    for (int i = 0; i < h->n_neighbor; i++)
        MPI_TRY(MPI_Irecv(x + 3 * (size_t)h->ghost_first[i], 3 * (h->ghost_first[i + 1] - h->ghost_first[i]),
                          MPI_DOUBLE, h->neighbor[i], TAG_EXCHANGE, world.data, &m->request[m->n_request++]));
    FE_TRY(m->device->ops->vector.take_nodes(m->device, h->send_first[h->n_neighbor],
                                             m->halo[which].send_node, x, pack));
    for (int i = 0; i < h->n_neighbor; i++)
        MPI_TRY(MPI_Isend(pack + 3 * (size_t)h->send_first[i], 3 * (h->send_first[i + 1] - h->send_first[i]),
                          MPI_DOUBLE, h->neighbor[i], TAG_EXCHANGE, world.data, &m->request[m->n_request++]));
    return FE_OK;
}

static fe_status exchange_end(fe_comm *c, int which, double *x)
{
    (void)which, (void)x;
    return await(c, self(c)->n_request, self(c)->request);
}

/* MPI may change the order of a sum from call to call; here it is the order of ranks. */
static fe_status reduce(fe_comm *c, fe_device *d, fe_reduction reduction, int n, double *x)
{
    (void)d;
    comm_mpi *m = self(c);
    MPI_Request request;
    if (world.size == 1) return FE_OK; /* x may be a device's, which MPI cannot read */
    if (n > m->n_gathered) {
        free(m->gathered);
        m->gathered = NULL, m->n_gathered = 0;
        FE_ALLOCATE(m->gathered, (size_t)n * (size_t)world.size, "reduction");
        m->n_gathered = n;
    }
    MPI_TRY(MPI_Iallgather(x, n, MPI_DOUBLE, m->gathered, n, MPI_DOUBLE, world.data, &request));
    FE_TRY(await(c, 1, &request));
    for (int i = 0; i < n; i++) {
        x[i] = m->gathered[i];
        for (int r = 1; r < world.size; r++)
            x[i] = fe_comm_combine(reduction, x[i], m->gathered[(size_t)r * (size_t)n + (size_t)i]);
    }
    return FE_OK;
}

static fe_status broadcast(fe_comm *c, size_t bytes, void *host)
{
    MPI_Request request;
    MPI_TRY(MPI_Ibcast(host, (int)bytes, MPI_BYTE, 0, world.data, &request));
    return await(c, 1, &request);
}

static fe_status collect(fe_comm *c, size_t n, double *x)
{
    enum { CHUNK = 1 << 24 }; /* MPI counts with int */
    for (size_t first = 0; first < n; first += CHUNK) {
        MPI_Request request;
        const int most = (int)(n - first < CHUNK ? n - first : CHUNK);
        MPI_TRY(MPI_Ireduce(c->rank ? x + first : MPI_IN_PLACE, c->rank ? NULL : x + first, most, MPI_DOUBLE,
                            MPI_SUM, 0, world.data, &request));
        FE_TRY(await(c, 1, &request));
    }
    return FE_OK;
}

static int close_mpi(fe_comm *c)
{
    free(self(c)->request);
    free(self(c)->gathered);
    free(c);
    return 0;
}

static const fe_comm_operations operations = {
    .name = "mpi",
    .attach = attach,
    .exchange_begin = exchange_begin,
    .exchange_end = exchange_end,
    .reduce = reduce,
    .barrier = barrier,
    .broadcast = broadcast,
    .collect = collect,
    .check = check,
    .abort = abort_all,
    .close = close_mpi,
};

fe_status fe_comm_mpi(const fe_mpi *mpi, fe_comm **out)
{
    comm_mpi *c = NULL;
    *out = NULL;
    FE_ALLOCATE(c, 1, "communicator");
    c->base = (fe_comm){.ops = &operations, .rank = mpi->rank, .size = mpi->size};
    *out = &c->base;
    return FE_OK;
}

/* Cores of this rank, as far as OpenMP does not ask for less. */
static fe_status share_cores(MPI_Comm host, fe_mpi *mpi)
{
    cpu_set_t own, *set = NULL;
    FE_ALLOCATE(set, mpi->local_size, "cores of ranks");
    int known = fe_cores_set(&own);
    const int error = MPI_Allgather(&own, sizeof own, MPI_BYTE, set, sizeof own, MPI_BYTE, host);
    mpi->cores =
        known ? fe_cores_shared(mpi->local_size, set, mpi->local_rank) : fe_cores() / mpi->local_size;
    free(set);
    MPI_TRY(error);
    return FE_OK;
}

fe_status fe_mpi_open(int ranks, fe_mpi *mpi)
{
    int provided;
    MPI_Comm host;
    *mpi = (fe_mpi){0};
    if (!fe_launch_joins()) return fe_mpi_refuse(ranks, 1);
    MPI_TRY(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided));
    MPI_TRY(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI_TRY(MPI_Comm_dup(MPI_COMM_WORLD, &world.data));
    MPI_TRY(MPI_Comm_dup(MPI_COMM_WORLD, &world.control));
    MPI_TRY(MPI_Comm_rank(world.data, &mpi->rank));
    MPI_TRY(MPI_Comm_size(world.data, &mpi->size));
    MPI_TRY(MPI_Comm_split_type(world.data, MPI_COMM_TYPE_SHARED, mpi->rank, MPI_INFO_NULL, &host));
    MPI_TRY(MPI_Comm_rank(host, &mpi->local_rank));
    MPI_TRY(MPI_Comm_size(host, &mpi->local_size));
    FE_TRY(share_cores(host, mpi));
    MPI_TRY(MPI_Comm_free(&host));
    world.rank = mpi->rank, world.size = mpi->size, world.open = 1;
    FE_ALLOCATE(world.answered, world.size, "ranks");
    return mpi->size == 1 ? fe_mpi_refuse(ranks, 1) : FE_OK;
}

int fe_mpi_meet(fe_status status)
{
    MPI_Request request;
    int met = 0;
    if (!world.open || refused) return speaks();
    if (status != FE_OK) abort_all(NULL, status, fe_message());
    world.leaving = world.stranded || fe_ranks_stranded();
    if (MPI_Iallreduce(MPI_IN_PLACE, &world.leaving, 1, MPI_INT, MPI_MAX, world.control, &request) !=
        MPI_SUCCESS)
        return 1;
    /* After a success there is no limit: rank 0 may need long to write. */
    for (double failed = 0.0; !met && (failed == 0.0 || fe_seconds() - failed < patience); usleep(1000)) {
        if (MPI_Test(&request, &met, MPI_STATUS_IGNORE) != MPI_SUCCESS) return 1;
        if (listen() != FE_OK) return 1;
        if (world.abort.status && failed == 0.0) failed = fe_seconds();
    }
    world.stranded |= met ? world.leaving : 2;
    return !met || world.rank == 0;
}

/* The launcher ends all processes when one leaves without MPI_Finalize: rank 0 shall have printed by then. */
static void await_print(void)
{
    MPI_Request request;
    const double since = fe_seconds();
    int done = 0;
    if (MPI_Ibarrier(world.control, &request) != MPI_SUCCESS) return;
    while (!done && fe_seconds() - since < 1.0 && MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS)
        usleep(1000);
}

void fe_mpi_close(int exit_code)
{
    if (!world.open) return;
    fflush(NULL);
    if (world.stranded & 2) MPI_Abort(MPI_COMM_WORLD, exit_code); /* a rank no longer answers */
    if (world.stranded) { /* all leave alike: Open MPI has trouble where some finalize and some do not */
        await_print();
        _exit(exit_code);
    }
    MPI_Comm_free(&world.data);
    MPI_Comm_free(&world.control);
    MPI_Finalize();
    free(world.answered);
}

#else
fe_status fe_mpi_open(int ranks, fe_mpi *mpi)
{
    *mpi = (fe_mpi){0};
    return fe_mpi_refuse(ranks, 1);
}

int fe_mpi_meet(fe_status status)
{
    (void)status;
    return speaks();
}

void fe_mpi_close(int exit_code) { (void)exit_code; }

int fe_mpi_stranded(void) { return 0; }

fe_status fe_comm_mpi(const fe_mpi *mpi, fe_comm **comm)
{
    (void)mpi, *comm = NULL;
    return fe_fail(FE_BAD_INPUT, "this build has no MPI");
}
#endif
