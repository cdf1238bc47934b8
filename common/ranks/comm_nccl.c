/* NCCL transfers device memory between GPUs, one per rank; a communicator of threads or processes does
 * everything else.
 *
 * An exchange packs on the device's stream, then sends and receives on a second one, so that interior work
 * runs at the same time. The ghosts of a neighbour are contiguous and are received in place. */
#include "common/ranks/abandon.h"
#include "common/ranks/comm.h"
#include "have/nccl.h"

#if FE_HAVE_NCCL
#include "common/backend/cuda.h"

#include <nccl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PATIENCE 3.0 /* seconds for what ends at once unless something hangs */

/* NCCL reports "unhandled cuda error" for a full device, too. */
static fe_status nccl_failed(ncclResult_t result, int line)
{
    size_t left = 0, all = 0;
    const int known = result == ncclUnhandledCudaError && cudaMemGetInfo(&left, &all) == cudaSuccess;
    return known
               ? fe_fail(FE_FAILED, "%s:%d: NCCL: %s; %.3f GB of %.3f GB of the device's memory are free",
                         __FILE__, line, ncclGetErrorString(result), 1e-9 * (double)left, 1e-9 * (double)all)
               : fe_fail(FE_FAILED, "%s:%d: NCCL: %s", __FILE__, line, ncclGetErrorString(result));
}
#define NCCL_TRY(call)                                                                                       \
    do {                                                                                                     \
        const ncclResult_t nccl_try_result = (call);                                                         \
        if (nccl_try_result != ncclSuccess) return nccl_failed(nccl_try_result, __LINE__);                   \
    } while (0)

typedef struct comm_nccl {
    fe_comm base;
    fe_comm *host; /* threads or MPI */
    fe_device *device;
    ncclComm_t nccl;
    cudaStream_t stream;           /* of exchanges */
    cudaEvent_t packed, refreshed; /* x may be sent; its ghosts are there */
    struct {
        int *send_node;
        double *pack;
    } halo[FE_MOST_HALOS];
    int attached;  /* the last halo */
    double *trial; /* of its first exchange */
    ncclUniqueId id;
    pthread_t aborter; /* ends the communicator of a failed rank, if is_aborting */
    int is_aborting;
} comm_nccl;

static comm_nccl *self(fe_comm *c) { return (comm_nccl *)c; }

static fe_status enqueue_transfers(comm_nccl *n, int which, double *x)
{
    const fe_halo *h = n->base.halo[which];
    double *const pack = n->halo[which].pack;
    for (int i = 0; i < h->n_neighbor; i++) {
        const size_t sent = 3 * (size_t)(h->send_first[i + 1] - h->send_first[i]),
                     received = 3 * (size_t)(h->ghost_first[i + 1] - h->ghost_first[i]);
        NCCL_TRY(ncclSend(pack + 3 * (size_t)h->send_first[i], sent, ncclDouble, h->neighbor[i], n->nccl,
                          n->stream));
        NCCL_TRY(ncclRecv(x + 3 * (size_t)h->ghost_first[i], received, ncclDouble, h->neighbor[i], n->nccl,
                          n->stream));
    }
    return FE_OK;
}

static fe_status exchange_begin(fe_comm *c, int which, double *x)
{
    comm_nccl *n = self(c);
    const fe_halo *h = c->halo[which];
    double *const pack = n->halo[which].pack;
    cudaStream_t stream = fe_cuda_stream(n->device);
    FE_TRY(n->device->ops->vector.take_nodes(n->device, h->send_first[h->n_neighbor],
                                             n->halo[which].send_node, x, pack));
    CUDA_TRY(cudaEventRecord(n->packed, stream));
    CUDA_TRY(cudaStreamWaitEvent(n->stream, n->packed, 0));
    NCCL_TRY(ncclGroupStart());
    const fe_status status = enqueue_transfers(n, which, x);
    const ncclResult_t ended = ncclGroupEnd();
    FE_TRY(status);
    NCCL_TRY(ended);
    CUDA_TRY(cudaEventRecord(n->refreshed, n->stream));
    return FE_OK;
}

static fe_status exchange_end(fe_comm *c, int which, double *x)
{
    (void)which, (void)x;
    CUDA_TRY(cudaStreamWaitEvent(fe_cuda_stream(self(c)->device), self(c)->refreshed, 0));
    return FE_OK;
}

static fe_status reduce(fe_comm *c, fe_device *d, fe_reduction reduction, int count, double *x)
{
    const ncclRedOp_t operation = reduction == FE_REDUCE_SUM ? ncclSum : ncclMax;
    NCCL_TRY(ncclAllReduce(x, x, (size_t)count, ncclDouble, operation, self(c)->nccl, fe_cuda_stream(d)));
    return FE_OK;
}

static fe_status check(fe_comm *c, double since)
{
    comm_nccl *n = self(c);
    ncclResult_t error = ncclSuccess;
    FE_TRY(n->host->ops->check(n->host, since));
    NCCL_TRY(ncclCommGetAsyncError(n->nccl, &error));
    NCCL_TRY(error);
    return FE_OK;
}

static fe_status watch(void *comm, double since) { return check((fe_comm *)comm, since); }

/* Runs a call of NCCL that waits for other ranks, and never returns if one is stopped. It runs in a thread;
 * if a rank fails meanwhile, the thread and all that it uses are abandoned. */
typedef struct job {
    comm_nccl *comm;
    fe_status (*body)(comm_nccl *n);
    int device;
    fe_status status;
    char message[512];
    atomic_int done;
} job;

static void *run_job(void *argument)
{
    job *j = argument;
    cudaSetDevice(j->device);
    j->status = j->body(j->comm);
    snprintf(j->message, sizeof j->message, "%s", fe_message());
    atomic_store(&j->done, 1);
    return NULL;
}

static fe_status beside(comm_nccl *n, fe_status (*body)(comm_nccl *n))
{
    job *j = NULL;
    pthread_t thread;
    const double since = fe_seconds();
    FE_ALLOCATE(j, 1, "thread of NCCL");
    j->comm = n, j->body = body;
    if (cudaGetDevice(&j->device) != cudaSuccess || pthread_create(&thread, NULL, run_job, j)) {
        free(j);
        return fe_fail(FE_FAILED, "no thread for NCCL");
    }
    while (!atomic_load(&j->done)) {
        const fe_status status = n->host->ops->check(n->host, since);
        if (status != FE_OK) {
            pthread_detach(thread);
            n->base.stranded = 1;
            return status;
        }
        usleep(200);
    }
    pthread_join(thread, NULL);
    const fe_status status = j->status == FE_OK ? FE_OK : fe_fail(j->status, "%s", j->message);
    free(j);
    return status;
}

/* NCCL connects to the neighbours of a halo in its first exchange, and to all ranks in the first sum. */
static fe_status meet(comm_nccl *n)
{
    FE_TRY(exchange_begin(&n->base, n->attached, n->trial));
    CUDA_TRY(cudaStreamSynchronize(n->stream));
    FE_TRY(reduce(&n->base, n->device, FE_REDUCE_SUM, 1, n->trial));
    CUDA_TRY(cudaStreamSynchronize(fe_cuda_stream(n->device)));
    return FE_OK;
}

static fe_status barrier(fe_comm *c)
{
    FE_TRY(self(c)->device->ops->wait(self(c)->device));
    return self(c)->host->ops->barrier(self(c)->host);
}

static fe_status attach(fe_comm *c, fe_device *d, int which, const fe_halo *halo)
{
    comm_nccl *n = self(c);
    const size_t count = (size_t)halo->send_first[halo->n_neighbor];
    if (c->halo[which]) {
        FE_TRY(d->ops->wait(d)); /* its exchanges have ended */
        d->ops->memory.release(d, n->halo[which].send_node);
        d->ops->memory.release(d, n->halo[which].pack);
    }
    c->halo[which] = NULL;
    FE_TRY(
        fe_device_upload(d, count, sizeof(int), halo->send_node, "halo", (void **)&n->halo[which].send_node));
    FE_TRY(fe_device_allocate(d, 3 * count, sizeof(double), "halo", (void **)&n->halo[which].pack));
    FE_TRY(fe_device_vector(d, halo->ghost_first[halo->n_neighbor], "first exchange", &n->trial));
    FE_TRY(barrier(c)); /* no rank allocates while another one's device waits for it */
    c->halo[which] = halo, n->attached = which;
    FE_TRY(beside(n, meet));
    d->ops->memory.release(d, n->trial);
    return FE_OK;
}

static fe_status broadcast(fe_comm *c, size_t bytes, void *host)
{
    return self(c)->host->ops->broadcast(self(c)->host, bytes, host);
}

static fe_status collect(fe_comm *c, size_t n, double *x)
{
    return self(c)->host->ops->collect(self(c)->host, n, x);
}

static void *run_abort(void *nccl)
{
    ncclCommAbort((ncclComm_t)nccl);
    return NULL;
}

/* Waits for what was enqueued, but not for ever. */
static void let_end(cudaStream_t stream)
{
    const double since = fe_seconds();
    while (cudaStreamQuery(stream) == cudaErrorNotReady && fe_seconds() - since < PATIENCE) usleep(200);
}

/* Aborting NCCL's communicator ends kernels that wait for a peer. It returns only when all recordings with
 * its kernels have been destroyed, and those of which one still runs may never be: so it has a thread, and
 * the caller destroys recordings after this. An abandoned thread still reads the communicator where
 * ncclCommInitRank was told to put it. */
static void abort_nccl(fe_comm *c, fe_status status, const char *message)
{
    comm_nccl *n = self(c);
    n->host->ops->abort(n->host, status, message);
    if (n->base.stranded || !n->nccl) return;
    n->is_aborting = pthread_create(&n->aborter, NULL, run_abort, n->nccl) == 0;
    n->base.stranded = !n->is_aborting;
    n->nccl = NULL;
    if (!n->is_aborting) return;
    let_end(n->stream);
    let_end(fe_cuda_stream(n->device));
}

/* The device may still have to wait; then without a watcher. */
static int close_nccl(fe_comm *c)
{
    comm_nccl *n = self(c);
    n->device->watch = NULL;
    if (n->is_aborting && !fe_join_within(n->aborter, PATIENCE)) n->base.stranded = 1;
    if (n->base.stranded) return 1; /* the program ends soon */
    if (n->nccl) {
        cudaStreamSynchronize(n->stream);
        ncclCommDestroy(n->nccl);
    }
    fe_cuda_side_stream_close(&n->stream, &n->packed, &n->refreshed);
    const int stranded = n->host->ops->close(n->host);
    free(n);
    return stranded;
}

static fe_status start(comm_nccl *n)
{
    NCCL_TRY(ncclCommInitRank(&n->nccl, n->base.size, n->id, n->base.rank));
    return FE_OK;
}

static fe_status open_nccl(comm_nccl *n)
{
    FE_TRY(fe_cuda_side_stream(&n->stream, &n->packed, &n->refreshed));
    if (n->base.rank == 0) NCCL_TRY(ncclGetUniqueId(&n->id));
    FE_TRY(n->host->ops->broadcast(n->host, sizeof n->id, &n->id));
    FE_TRY(n->host->ops->barrier(n->host)); /* all have a device */
    FE_TRY(beside(n, start));
    n->device->watch = watch, n->device->watcher = n;
    return FE_OK;
}

static const fe_comm_operations operations = {
    .name = "nccl",
    .attach = attach,
    .exchange_begin = exchange_begin,
    .exchange_end = exchange_end,
    .reduce = reduce,
    .barrier = barrier,
    .broadcast = broadcast,
    .collect = collect,
    .check = check,
    .abort = abort_nccl,
    .close = close_nccl,
};

fe_status fe_comm_nccl(fe_comm *host, fe_device *d, fe_comm **out)
{
    comm_nccl *n = NULL;
    *out = host; /* the one to close and to abort until the new one exists */
    FE_ALLOCATE(n, 1, "communicator");
    n->base = (fe_comm){.ops = &operations, .rank = host->rank, .size = host->size};
    n->host = host, n->device = d;
    *out = &n->base;
    return open_nccl(n);
}
#endif
