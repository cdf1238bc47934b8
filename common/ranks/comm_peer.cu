/* GPUs of one process that write into each other's memory: node values for ghosts into landing buffers of the
 * neighbours, terms of sums into slots of all ranks. NCCL does the rest.
 *
 * A number travels beside the number of the turn, a double in two halves: so whoever waits for it reads it,
 * with no flag that must be set after it, no fence, and no help of the host. (NCCL's protocol LL does the
 * same.) Each 8 bytes are written as a whole. Floats and doubles may take turns in a buffer: the turn is in
 * every second four bytes.
 *
 * There are two landing buffers and two sets of slots, used in alternate turns. Each rank that we write to
 * also writes to us in every turn: one word that means nothing, if nothing else. When we write in turn e, we
 * have read all words of turn e - 1. So all these ranks had begun turn e - 1, had ended turn e - 2 before,
 * and no longer read what we overwrite. This holds because a rank begins an exchange of a halo, and a sum,
 * when the one before has ended. */
#include "common/ranks/comm.h"
#include "have/nccl.h"

#if FE_HAVE_NCCL
#include "common/backend/cuda.h"

#include <stdio.h>
#include <stdlib.h>

/* Longer sums go by NCCL; that of multigrid's right-hand side has 6 terms for each of 8192 aggregates. */
enum { BLOCK_SIZE = 256, SLOT = 6 * 8192, MOST_RANKS = 16 };

/* How a number of a turn travels. */
template <typename T> struct carrier;
template <> struct carrier<double> {
    typedef uint4 word; /* low half, turn, high half, turn */
};
template <> struct carrier<float> {
    typedef uint2 word; /* the number, turn */
};
template <typename T> using word_of = typename carrier<T>::word;
typedef word_of<double> word;

/* What a rank shares with the others, in device memory. */
typedef struct mailbox {
    word *slot; /* [2][size][SLOT] */
    struct {
        word *landing[2]; /* [n_ghost][3], then [n_neighbor] without meaning; or as many words of floats */
        size_t *offset;   /* host, [size][2]: where the nodes of each rank begin in it, and its signal */
    } halo[FE_MOST_HALOS];
} mailbox;

/* A neighbour as kernels see it. */
typedef struct peer {
    word *landing[2];  /* at the neighbour */
    size_t at, signal; /* there, words before our first node's, and before the one without meaning */
    int first;         /* first of the nodes that we send to it */
} peer;

/* A halo as kernels see it. */
typedef struct halo_view {
    int n_send, n_ghost, n_neighbor;
    const int *send_node, *sent_to; /* [n_send] our nodes, and the neighbour that each goes to */
    const peer *peers;              /* [n_neighbor] */
    const word *landing[2];         /* on this rank */
    unsigned *turn;                 /* the last one that was sent */
    unsigned *begun;                /* thread blocks that have read the turn */
} halo_view;

typedef struct comm_peer {
    fe_comm base;
    fe_comm *nccl;
    fe_device *device;
    mailbox *all, *own; /* [size], shared by all ranks; that of this rank */
    halo_view halo[FE_MOST_HALOS];
    int first_ghost[FE_MOST_HALOS];
    unsigned *sum_turn; /* device: the last one, and the thread blocks that have read it */
    word **slots;       /* device, [size]: each rank's slots */
    int most_blocks;    /* that are on the device at a time */
    volatile int *stop; /* pinned: 1 tells kernels to give up */
} comm_peer;

static comm_peer *self(fe_comm *c) { return (comm_peer *)c; }

__device__ static void write_word(uint4 *to, double value, unsigned turn)
{
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %2};" ::"l"(to), "r"(__double2loint(value)),
                 "r"(turn), "r"(__double2hiint(value))
                 : "memory");
}
__device__ static void write_word(uint2 *to, float value, unsigned turn)
{
    asm volatile("st.volatile.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(__float_as_uint(value)), "r"(turn)
                 : "memory");
}

/* A word as it is now; whether it is of this turn. */
__device__ static bool look(const uint4 *from, unsigned turn, double *value)
{
    uint4 w;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w)
                 : "l"(from)
                 : "memory");
    *value = __hiloint2double((int)w.z, (int)w.x);
    return w.y == turn && w.w == turn;
}
__device__ static bool look(const uint2 *from, unsigned turn, float *value)
{
    uint2 w;
    asm volatile("ld.volatile.global.v2.u32 {%0, %1}, [%2];" : "=r"(w.x), "=r"(w.y) : "l"(from) : "memory");
    *value = __uint_as_float(w.x);
    return w.y == turn;
}

/* Waits for a word of this turn. Anything where the host has given up. */
template <typename T>
__device__ static T read_word(const word_of<T> *from, unsigned turn, const volatile int *stop)
{
    T value;
    for (unsigned i = 1; !look(from, turn, &value); i++)
        if (i % 1024 == 0 && *stop) break;
    return value;
}

/* The next turn, in all threads of a block. The block that reads it last stores it for the next kernel. */
__device__ static unsigned next_turn(unsigned *turn, unsigned *begun)
{
    __shared__ unsigned now;
    if (threadIdx.x == 0) {
        now = *(volatile unsigned *)turn + 1;
        __threadfence();
        if (atomicAdd(begun, 1u) == gridDim.x - 1) *begun = 0, *turn = now;
    }
    __syncthreads();
    return now;
}

/* Node values to the neighbours. */
template <typename T> __device__ static void send_all(const halo_view &h, const T *x, unsigned now)
{
    const int step = gridDim.x * BLOCK_SIZE, at = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    for (int i = at; i < 3 * h.n_send; i += step) {
        const peer *to = &h.peers[h.sent_to[i / 3]];
        write_word((word_of<T> *)to->landing[now % 2] + to->at + (i - 3 * to->first),
                   x[3 * (size_t)h.send_node[i / 3] + i % 3], now);
    }
    for (int i = at; i < h.n_neighbor; i += step)
        write_word((word_of<T> *)h.peers[i].landing[now % 2] + h.peers[i].signal, (T)0, now);
}

/* Waits for those of the neighbours. */
template <typename T>
__device__ static void land_all(const halo_view &h, unsigned now, const volatile int *stop, T *ghosts)
{
    const int step = gridDim.x * BLOCK_SIZE, n = 3 * h.n_ghost;
    const word_of<T> *const landing = (const word_of<T> *)(now % 2 ? h.landing[1] : h.landing[0]);
    for (int i = blockIdx.x * BLOCK_SIZE + threadIdx.x; i < n + h.n_neighbor; i += step) {
        const T value = read_word<T>(landing + i, now, stop);
        if (i < n) ghosts[i] = value;
    }
}

__global__ void __launch_bounds__(BLOCK_SIZE) send(halo_view h, const double *x)
{
    send_all(h, x, next_turn(h.turn, h.begun));
}

/* What was sent in the turn that this rank has sent last. */
__global__ void __launch_bounds__(BLOCK_SIZE) land(halo_view h, const volatile int *stop, double *ghosts)
{
    land_all(h, *h.turn, stop, ghosts);
}

/* Both, where nothing comes in between; on multigrid's levels a part of the cycle's chain. All blocks are on
 * the device at a time: each has sent before it waits. */
template <typename T>
__global__ void __launch_bounds__(BLOCK_SIZE)
    send_and_land(halo_view h, const T *x, const volatile int *stop, T *ghosts)
{
    fe_let_next_start();
    fe_wait_for_earlier();
    const unsigned now = next_turn(h.turn, h.begun);
    send_all(h, x, now);
    land_all(h, now, stop, ghosts);
}

/* x [n] becomes the sum over ranks, in their order. All blocks are on the device at a time. */
__global__ void __launch_bounds__(BLOCK_SIZE)
    sum_all(int n, int rank, int size, double *x, word *const *slots, unsigned *turn,
            const volatile int *stop)
{
    const unsigned now = next_turn(turn, turn + 1);
    const size_t half = (size_t)(now % 2) * size * SLOT;
    const int step = gridDim.x * BLOCK_SIZE, at = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    for (int i = at; i < n; i += step) {
        const double own = x[i];
        for (int r = 0; r < size; r++) write_word(slots[r] + half + (size_t)rank * SLOT + i, own, now);
    }
    for (int i = at; i < n; i += step) {
        double sum = 0.0;
        for (int r = 0; r < size; r++)
            sum += read_word<double>(slots[rank] + half + (size_t)r * SLOT + i, now, stop);
        x[i] = sum;
    }
}

/* Items for which as many blocks are started as the device holds, or fewer. */
static size_t items(const comm_peer *p, int n)
{
    const size_t most = (size_t)p->most_blocks * BLOCK_SIZE;
    return n < 1 ? 1 : (size_t)n < most ? (size_t)n : most;
}
static int words_to_send(const halo_view *h)
{
    return 3 * h->n_send > h->n_neighbor ? 3 * h->n_send : h->n_neighbor;
}
static int words_to_land(const halo_view *h) { return 3 * h->n_ghost + h->n_neighbor; }

static fe_status exchange_begin(fe_comm *c, int which, double *x)
{
    comm_peer *p = self(c);
    const halo_view *h = &p->halo[which];
    FE_LAUNCH(p->device, items(p, words_to_send(h)), BLOCK_SIZE, send, *h, x);
    return FE_OK;
}

static fe_status exchange_end(fe_comm *c, int which, double *x)
{
    comm_peer *p = self(c);
    const halo_view *h = &p->halo[which];
    FE_LAUNCH(p->device, items(p, words_to_land(h)), BLOCK_SIZE, land, *h, p->stop,
              x + 3 * (size_t)p->first_ghost[which]);
    return FE_OK;
}

template <typename T> static fe_status exchange_of(fe_comm *c, int which, T *x)
{
    comm_peer *p = self(c);
    const halo_view *h = &p->halo[which];
    const int n = words_to_send(h) > words_to_land(h) ? words_to_send(h) : words_to_land(h);
    FE_LAUNCH_CHAINED(p->device, which >= FE_HALO_LEVEL, items(p, n), BLOCK_SIZE, send_and_land<T>, *h, x,
                      p->stop, x + 3 * (size_t)p->first_ghost[which]);
    return FE_OK;
}
static fe_status exchange(fe_comm *c, int which, double *x) { return exchange_of(c, which, x); }
static fe_status exchange_single(fe_comm *c, int which, float *x) { return exchange_of(c, which, x); }

static fe_status reduce(fe_comm *c, fe_device *d, fe_reduction reduction, int n, double *x)
{
    comm_peer *p = self(c);
    if (n < 1) return FE_OK; /* a turn without words would not hold others back */
    if (reduction != FE_REDUCE_SUM || n > SLOT) return p->nccl->ops->reduce(p->nccl, d, reduction, n, x);
    FE_LAUNCH(d, items(p, n), BLOCK_SIZE, sum_all, n, c->rank, c->size, x, p->slots, p->sum_turn, p->stop);
    return FE_OK;
}

/* The nodes that are sent, and behind them the neighbour that each goes to. */
static fe_status upload_sent(fe_device *d, const fe_halo *halo, int n_send, int *there)
{
    int *list = NULL;
    FE_TRY(fe_allocate(2 * (size_t)n_send + 1, sizeof *list, "halo", (void **)&list));
    for (int i = 0; i < halo->n_neighbor; i++)
        for (int k = halo->send_first[i]; k < halo->send_first[i + 1]; k++)
            list[k] = halo->send_node[k], list[n_send + k] = i;
    const fe_status status = d->ops->memory.upload(d, 2 * (size_t)n_send * sizeof *list, list, there);
    free(list);
    return status;
}

static fe_status barrier(fe_comm *c) { return self(c)->nccl->ops->barrier(self(c)->nccl); }

/* Landing buffers, neighbours and lists of a halo: one piece of memory, which begins with the first buffer.
 */
static fe_status open_halo(comm_peer *p, fe_device *d, int which, const fe_halo *halo)
{
    halo_view *h = &p->halo[which];
    auto *own = &p->own->halo[which];
    const size_t n_word = (size_t)words_to_land(h), n_send = (size_t)h->n_send,
                 bytes = 2 * n_word * sizeof(word) + (size_t)h->n_neighbor * sizeof(peer) +
                         2 * n_send * sizeof(int);
    char *memory;
    FE_TRY(fe_device_allocate(d, bytes, 1, "halo", (void **)&memory));
    for (int i = 0; i < 2; i++) h->landing[i] = own->landing[i] = (word *)memory + (size_t)i * n_word;
    h->peers = (peer *)(own->landing[1] + n_word);
    int *const lists = (int *)(h->peers + h->n_neighbor);
    h->send_node = lists, h->sent_to = lists + n_send;
    FE_TRY(upload_sent(d, halo, h->n_send, lists));
    return d->ops->wait(d); /* memory is zeroed */
}

/* Publishes the landing buffers, waits for those of the others, and finds the place of this rank in each
 * neighbour's buffers. No rank allocates or releases while another one's device waits for it. */
static fe_status attach(fe_comm *c, fe_device *d, int which, const fe_halo *halo)
{
    comm_peer *p = self(c);
    halo_view *h = &p->halo[which];
    auto *own = &p->own->halo[which];
    const int n = halo->n_neighbor;
    peer *peers = NULL;
    if (c->halo[which]) {
        FE_TRY(barrier(c)); /* the exchanges of the earlier halo have ended */
        d->ops->memory.release(d, (void *)h->landing[0]);
    }
    c->halo[which] = NULL;
    h->n_neighbor = n, h->n_send = halo->send_first[n];
    p->first_ghost[which] = halo->ghost_first[0], h->n_ghost = halo->ghost_first[n] - halo->ghost_first[0];
    FE_TRY(open_halo(p, d, which, halo));
    if (!own->offset)
        FE_TRY(fe_allocate(2 * (size_t)c->size, sizeof *own->offset, "halo", (void **)&own->offset));
    for (int i = 0; i < n; i++) {
        size_t *offset = own->offset + 2 * (size_t)halo->neighbor[i];
        offset[0] = 3 * (size_t)(halo->ghost_first[i] - halo->ghost_first[0]);
        offset[1] = 3 * (size_t)h->n_ghost + (size_t)i;
    }
    FE_TRY(barrier(c));
    FE_TRY(fe_allocate((size_t)n, sizeof *peers, "halo", (void **)&peers));
    for (int i = 0; i < n; i++) {
        const auto *there = &p->all[halo->neighbor[i]].halo[which];
        const size_t *offset = there->offset + 2 * (size_t)c->rank;
        peers[i] = {{there->landing[0], there->landing[1]}, offset[0], offset[1], halo->send_first[i]};
    }
    const fe_status status = d->ops->memory.upload(d, (size_t)n * sizeof *peers, peers, (void *)h->peers);
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

static int has(cudaDeviceP2PAttr attribute, int from, int to)
{
    int value = 0;
    if (cudaDeviceGetP2PAttribute(&value, attribute, from, to) == cudaSuccess) return value;
    cudaGetLastError();
    return 0;
}

extern "C" int fe_comm_peer_suits(int size)
{
    if (size > MOST_RANKS || size > fe_cuda_devices()) return 0;
    for (int from = 0; from < size; from++)
        for (int to = 0; to < size; to++)
            if (from != to && !(has(cudaDevP2PAttrAccessSupported, from, to) &&
                                has(cudaDevP2PAttrNativeAtomicSupported, from, to)))
                return 0;
    return 1;
}

/* Allocates turns and slots, and finds the slots of the other ranks. */
static fe_status open_mailbox(comm_peer *p)
{
    fe_device *d = p->device;
    const int size = p->base.size;
    int own, together, processors;
    unsigned *turns;
    word *slots[MOST_RANKS];
    if (size > MOST_RANKS)
        return fe_fail(FE_BAD_INPUT, "--transport peer: %d ranks are more than %d", size, MOST_RANKS);
    FE_TRY(enable_peers(p));
    CUDA_TRY(cudaGetDevice(&own));
    CUDA_TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, own));
    const void *const kernels[] = {(const void *)send_and_land<double>, (const void *)send_and_land<float>,
                                   (const void *)sum_all};
    for (int i = 0; i < 3; i++) {
        CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&together, kernels[i], BLOCK_SIZE, 0));
        if (i == 0 || together * processors < p->most_blocks) p->most_blocks = together * processors;
    }
    CUDA_TRY(cudaHostAlloc((void **)&p->stop, sizeof *p->stop, cudaHostAllocDefault));
    *p->stop = 0;
    FE_TRY(fe_device_allocate(d, 2 * (FE_MOST_HALOS + 1), sizeof *turns, "mailbox", (void **)&turns));
    for (int i = 0; i < FE_MOST_HALOS; i++)
        p->halo[i].turn = turns + 2 * i, p->halo[i].begun = turns + 2 * i + 1;
    p->sum_turn = turns + 2 * FE_MOST_HALOS;
    FE_TRY(fe_device_allocate(d, 2 * (size_t)size * SLOT, sizeof(word), "mailbox", (void **)&p->own->slot));
    FE_TRY(d->ops->wait(d)); /* memory is zeroed */
    FE_TRY(barrier(&p->base));
    for (int r = 0; r < size; r++) slots[r] = p->all[r].slot;
    return fe_device_upload(d, (size_t)size, sizeof *slots, slots, "mailbox", (void **)&p->slots);
}

static const fe_comm_operations operations = {
    .name = "peer",
    .attach = attach,
    .exchange_begin = exchange_begin,
    .exchange_end = exchange_end,
    .exchange = exchange,
    .exchange_single = exchange_single,
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
