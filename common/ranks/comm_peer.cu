/* GPUs of one process that write into each other's memory. An exchange writes node values directly into
 * landing buffers of the neighbours; a short sum writes into slots of all ranks. Kernels set flags in device
 * memory and wait for them. So data arrive while the interior is computed, without a kernel at the receiver
 * that would compete with it, and without the host. NCCL does the rest.
 *
 * There are two landing buffers and two sets of slots, used in alternate turns. A rank that announces turn
 * e - 1 has finished turn e - 2 and has read its data. So whoever has waited for turn e - 1 may overwrite the
 * buffers of turn e - 2 in turn e. */
#include "common/ranks/comm.h"
#include "have/nccl.h"

#if FE_HAVE_NCCL
#include "common/backend/cuda.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCK_SIZE = 256, SLOT = 256 };

/* What a rank shares with the others, in device memory. Flags [size] hold the turn that each rank has
 * announced. */
typedef struct mailbox {
    unsigned *sum_flag;
    double *slot; /* [2][size][SLOT] */
    struct {
        unsigned *flag;
        double *landing[2]; /* [n_ghost][3] */
        size_t *offset;     /* host, [size]: where the nodes of each rank begin in a landing buffer */
    } halo[FE_MOST_HALOS];
} mailbox;

/* A neighbour as kernels see it. */
typedef struct peer {
    unsigned *flag;            /* at the neighbour: our announcements */
    const unsigned *announced; /* on this rank: the neighbour's announcements */
    double *landing[2];        /* at the neighbour, from our first node on */
    int first;                 /* first of the nodes that we send to it */
} peer;

typedef struct comm_peer {
    fe_comm base;
    fe_comm *nccl;
    fe_device *device;
    mailbox *all, *own; /* [size], shared by all ranks; that of this rank */
    struct {
        int n_ghost, n_send, n_neighbor, first_ghost;
        peer *peers;               /* device, [n_neighbor] */
        int *sent_to, *comes_from; /* device, [n_send], [n_ghost]: neighbours */
        int *send_node;            /* device */
        unsigned *turn;            /* device */
    } halo[FE_MOST_HALOS];
    unsigned *sum_turn, *finished; /* device */
    unsigned **sum_flags;          /* device, [size]: our flag at each rank */
    double **slots;                /* device, [size]: each rank's slots */
    volatile int *stop;            /* pinned: 1 tells kernels to give up */
} comm_peer;

static comm_peer *self(fe_comm *c) { return (comm_peer *)c; }

/* What cuda::atomic_ref compiles to; its header takes three times as long to compile as this file. */
__device__ static void announce(unsigned *flag, unsigned turn)
{
    asm volatile("st.release.sys.b32 [%0], %1;" ::"l"(flag), "r"(turn) : "memory");
}

__device__ static unsigned announced(const unsigned *flag)
{
    unsigned turn;
    asm volatile("ld.acquire.sys.b32 %0, [%1];" : "=r"(turn) : "l"(flag) : "memory");
    return turn;
}

/* False where the host has given up. */
__device__ static bool await(const unsigned *flag, unsigned turn, const volatile int *stop)
{
    for (unsigned i = 1; (int)(announced(flag) - turn) < 0; i++)
        if (i % 1024 == 0 && *stop) return false;
    return true;
}

/* Writes node values to the neighbours for the next turn; the thread block that ends last announces the
 * turn. */
__global__ void send(int n, const int *node, const int *sent_to, const double *x, unsigned *turn,
                     unsigned *finished, int n_neighbor, const peer *peers)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned now = *turn + 1;
    if (i < 3 * n) {
        const peer *to = &peers[sent_to[i / 3]];
        to->landing[now % 2][i - 3 * to->first] = x[3 * (size_t)node[i / 3] + i % 3];
    }
    __threadfence_system();
    __syncthreads();
    __shared__ bool last;
    if (threadIdx.x == 0) last = atomicAdd(finished, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    if (threadIdx.x == 0) *finished = 0, *turn = now;
    for (int k = threadIdx.x; k < n_neighbor; k += blockDim.x) announce(peers[k].flag, now);
}

/* Waits for the turn that was sent last, then copies the landing buffer to the ghosts. */
__global__ void land(int n_ghost, const int *comes_from, const peer *peers, const unsigned *turn,
                     const volatile int *stop, const double *landing0, const double *landing1, double *ghosts)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 3 * n_ghost) return;
    const unsigned now = *turn;
    if (!await(peers[comes_from[i / 3]].announced, now, stop)) return;
    ghosts[i] = __ldcv((now % 2 ? landing1 : landing0) + i);
}

/* x [n] becomes the sum over ranks, in their order: one block. */
__global__ void sum_all(int n, int rank, int size, double *x, double **slots, unsigned **flags,
                        const unsigned *own_flag, unsigned *turn, const volatile int *stop)
{
    const unsigned now = *turn + 1;
    const size_t half = (size_t)(now % 2) * size * SLOT;
    for (int k = threadIdx.x; k < n * size; k += blockDim.x)
        slots[k / n][half + (size_t)rank * SLOT + k % n] = x[k % n];
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) *turn = now;
    if (threadIdx.x < size) {
        announce(flags[threadIdx.x], now);
        await(own_flag + threadIdx.x, now, stop);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        double sum = 0.0;
        for (int r = 0; r < size; r++) sum += __ldcv(slots[rank] + half + (size_t)r * SLOT + i);
        x[i] = sum;
    }
}

static fe_status exchange_begin(fe_comm *c, int which, double *x)
{
    comm_peer *p = self(c);
    const auto *h = &p->halo[which];
    const int n = h->n_send > 0 ? 3 * h->n_send : 1;
    FE_LAUNCH(p->device, n, BLOCK_SIZE, send, h->n_send, h->send_node, h->sent_to, x, h->turn, p->finished,
              h->n_neighbor, h->peers);
    return FE_OK;
}

static fe_status exchange_end(fe_comm *c, int which, double *x)
{
    comm_peer *p = self(c);
    const auto *h = &p->halo[which];
    FE_LAUNCH(p->device, 3 * h->n_ghost, BLOCK_SIZE, land, h->n_ghost, h->comes_from, h->peers, h->turn,
              p->stop, p->own->halo[which].landing[0], p->own->halo[which].landing[1],
              x + 3 * (size_t)h->first_ghost);
    return FE_OK;
}

static fe_status reduce(fe_comm *c, fe_device *d, fe_reduction reduction, int n, double *x)
{
    comm_peer *p = self(c);
    if (reduction != FE_REDUCE_SUM || n > SLOT) return p->nccl->ops->reduce(p->nccl, d, reduction, n, x);
    FE_LAUNCH(d, BLOCK_SIZE, BLOCK_SIZE, sum_all, n, c->rank, c->size, x, p->slots, p->sum_flags,
              p->own->sum_flag, p->sum_turn, p->stop);
    return FE_OK;
}

/* Uploads the neighbour of each node of a list in which the nodes of neighbour i begin at first[i], first
 * [n + 1]. */
static fe_status upload_neighbors(fe_device *d, int n, const int *first, int **neighbors)
{
    int *of = NULL;
    const int count = first[n] - first[0];
    FE_TRY(fe_allocate((size_t)count, sizeof *of, "halo", (void **)&of));
    for (int i = 0; i < n; i++)
        for (int k = first[i]; k < first[i + 1]; k++) of[k - first[0]] = i;
    const fe_status status = fe_device_upload(d, (size_t)count, sizeof *of, of, "halo", (void **)neighbors);
    free(of);
    return status;
}

static fe_status barrier(fe_comm *c) { return self(c)->nccl->ops->barrier(self(c)->nccl); }

static void release_halo(comm_peer *p, int which)
{
    fe_device *d = p->device;
    auto *h = &p->halo[which];
    void *const memory[] = {h->peers,
                            h->sent_to,
                            h->comes_from,
                            h->send_node,
                            p->own->halo[which].landing[0],
                            p->own->halo[which].landing[1]};
    for (int i = 0; i < 6; i++) d->ops->memory.release(d, memory[i]);
}

/* Publishes the landing buffers, waits for those of the others, and finds the place of this rank in each
 * neighbour's buffers. No rank allocates or releases while another one's device waits for it. */
static fe_status attach(fe_comm *c, fe_device *d, int which, const fe_halo *halo)
{
    comm_peer *p = self(c);
    auto *h = &p->halo[which];
    auto *own = &p->own->halo[which];
    const int n = halo->n_neighbor;
    peer *peers = NULL;
    if (c->halo[which]) {
        FE_TRY(barrier(c)); /* the exchanges of the earlier halo have ended */
        release_halo(p, which);
    }
    c->halo[which] = NULL;
    h->n_neighbor = n, h->n_send = halo->send_first[n];
    h->first_ghost = halo->ghost_first[0], h->n_ghost = halo->ghost_first[n] - h->first_ghost;
    FE_TRY(
        fe_device_upload(d, (size_t)h->n_send, sizeof(int), halo->send_node, "halo", (void **)&h->send_node));
    FE_TRY(upload_neighbors(d, n, halo->send_first, &h->sent_to));
    FE_TRY(upload_neighbors(d, n, halo->ghost_first, &h->comes_from));
    for (int i = 0; i < 2; i++)
        FE_TRY(
            fe_device_allocate(d, 3 * (size_t)h->n_ghost, sizeof(double), "halo", (void **)&own->landing[i]));
    if (!own->offset)
        FE_TRY(fe_allocate((size_t)c->size, sizeof *own->offset, "halo", (void **)&own->offset));
    for (int i = 0; i < n; i++)
        own->offset[halo->neighbor[i]] = 3 * (size_t)(halo->ghost_first[i] - h->first_ghost);
    FE_TRY(barrier(c)); /* memory is zeroed */
    FE_TRY(fe_allocate((size_t)n, sizeof *peers, "halo", (void **)&peers));
    for (int i = 0; i < n; i++) {
        const auto *there = &p->all[halo->neighbor[i]].halo[which];
        peers[i].flag = there->flag + c->rank;
        peers[i].announced = own->flag + halo->neighbor[i];
        peers[i].first = halo->send_first[i];
        for (int k = 0; k < 2; k++) peers[i].landing[k] = there->landing[k] + there->offset[c->rank];
    }
    const fe_status status = fe_device_upload(d, (size_t)n, sizeof *peers, peers, "halo", (void **)&h->peers);
    free(peers);
    FE_TRY(status);
    c->halo[which] = halo;
    return barrier(c);
}

static fe_status broadcast(fe_comm *c, size_t bytes, void *host)
{
    return self(c)->nccl->ops->broadcast(self(c)->nccl, bytes, host);
}
static fe_status collect(fe_comm *c, size_t n, double *x)
{
    return self(c)->nccl->ops->collect(self(c)->nccl, n, x);
}
static fe_status check(fe_comm *c, double since) { return self(c)->nccl->ops->check(self(c)->nccl, since); }

static void abort_peer(fe_comm *c, fe_status status, const char *message)
{
    if (self(c)->stop) *self(c)->stop = 1;
    self(c)->nccl->ops->abort(self(c)->nccl, status, message);
    c->stranded = self(c)->nccl->stranded;
}

static int close_peer(fe_comm *c)
{
    comm_peer *p = self(c);
    if (p->nccl->ops->close(p->nccl)) return 1;
    if (p->stop) cudaFreeHost((void *)p->stop);
    for (int i = 0; p->own && i < FE_MOST_HALOS; i++) free(p->own->halo[i].offset);
    if (p->base.rank == 0) free(p->all); /* all ranks have closed their communicator */
    free(p);
    return 0;
}

static fe_status enable_peers(comm_peer *p)
{
    int own;
    CUDA_TRY(cudaGetDevice(&own));
    for (int r = 0; r < p->base.size; r++) {
        int can = 0;
        if (r == own) continue; /* rank r of a process has GPU r */
        CUDA_TRY(cudaDeviceCanAccessPeer(&can, own, r));
        if (!can)
            return fe_fail(FE_BAD_INPUT, "--transport peer: GPU %d cannot reach the memory of GPU %d", own,
                           r);
        const cudaError_t error = cudaDeviceEnablePeerAccess(r, 0);
        if (error != cudaErrorPeerAccessAlreadyEnabled) CUDA_TRY(error);
        cudaGetLastError();
    }
    return FE_OK;
}

/* Allocates flags, slots and turns, and finds those of the other ranks. */
static fe_status open_mailbox(comm_peer *p)
{
    fe_device *d = p->device;
    const int size = p->base.size, rank = p->base.rank;
    unsigned *flags[16];
    double *slots[16];
    mailbox m = {0};
    if (size > 16) return fe_fail(FE_BAD_INPUT, "--transport peer: %d ranks are more than %d", size, 16);
    FE_TRY(enable_peers(p));
    CUDA_TRY(cudaHostAlloc((void **)&p->stop, sizeof *p->stop, cudaHostAllocDefault));
    *p->stop = 0;
    unsigned *all_flags, *turns;
    FE_TRY(fe_device_allocate(d, (size_t)size * FE_MOST_HALOS, sizeof(unsigned), "mailbox",
                              (void **)&all_flags));
    FE_TRY(fe_device_allocate(d, FE_MOST_HALOS, sizeof(unsigned), "mailbox", (void **)&turns));
    for (int i = 0; i < FE_MOST_HALOS; i++)
        m.halo[i].flag = all_flags + i * size, p->halo[i].turn = turns + i;
    FE_TRY(fe_device_allocate(d, (size_t)size, sizeof(unsigned), "mailbox", (void **)&m.sum_flag));
    FE_TRY(fe_device_allocate(d, 2 * (size_t)size * SLOT, sizeof(double), "mailbox", (void **)&m.slot));
    FE_TRY(fe_device_allocate(d, 1, sizeof(unsigned), "mailbox", (void **)&p->sum_turn));
    FE_TRY(fe_device_allocate(d, 1, sizeof(unsigned), "mailbox", (void **)&p->finished));
    *p->own = m;
    FE_TRY(d->ops->wait(d)); /* memory is zeroed */
    FE_TRY(p->nccl->ops->barrier(p->nccl));
    for (int r = 0; r < size; r++) flags[r] = p->all[r].sum_flag + rank, slots[r] = p->all[r].slot;
    FE_TRY(fe_device_upload(d, (size_t)size, sizeof *flags, flags, "mailbox", (void **)&p->sum_flags));
    return fe_device_upload(d, (size_t)size, sizeof *slots, slots, "mailbox", (void **)&p->slots);
}

static const fe_comm_operations operations = {
    .name = "peer",
    .attach = attach,
    .exchange_begin = exchange_begin,
    .exchange_end = exchange_end,
    .reduce = reduce,
    .barrier = barrier,
    .broadcast = broadcast,
    .collect = collect,
    .check = check,
    .abort = abort_peer,
    .close = close_peer,
};

fe_status fe_comm_peer(fe_comm *nccl, fe_device *d, fe_comm **out)
{
    comm_peer *p = NULL;
    mailbox *all = NULL;
    *out = nccl; /* the one to close and to abort until the new one exists */
    FE_TRY(fe_allocate(1, sizeof *p, "communicator", (void **)&p));
    p->base.ops = &operations, p->base.rank = nccl->rank, p->base.size = nccl->size;
    p->nccl = nccl, p->device = d;
    *out = &p->base;
    if (nccl->rank == 0) FE_TRY(fe_allocate((size_t)nccl->size, sizeof *all, "mailboxes", (void **)&all));
    const fe_status status = nccl->ops->broadcast(nccl, sizeof all, &all);
    p->all = all, p->own = all ? all + nccl->rank : NULL;
    return status == FE_OK ? open_mailbox(p) : status;
}
#endif
