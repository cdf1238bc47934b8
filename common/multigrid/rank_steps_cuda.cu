/* Steps of the set-up for several ranks on the device: the twin of rank_steps_host.c. */
#include "common/multigrid/rank_steps.h"
#include "common/multigrid/setup_cuda.h"

enum { THREADS = 128, WARP = 32 };

static fe_status take(fe_setup *k, size_t bytes, void **memory)
{
    FE_TRY(fe_scratch_bytes((fe_scratch *)k->own, bytes + 1, memory));
    return k->d->ops->memory.zero(k->d, bytes, *memory);
}

static void give(void *memory) { (void)memory; } /* all of it goes at once */

static fe_status put(fe_setup *k, size_t bytes, const void *host, void *memory)
{
    return k->d->ops->memory.upload(k->d, bytes, host, memory);
}

static fe_status fetch(fe_setup *k, size_t bytes, const void *memory, void *host)
{
    return k->d->ops->memory.download(k->d, bytes, memory, host);
}

/* A thread per number. */
__global__ void pack_numbers(int n, const int *send, fe_ghost_item item, double *numbers)
{
    const size_t t = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (t < (size_t)n * FE_GHOST_WIDTH)
        numbers[t] = fe_ghost_number(&item, send[t / FE_GHOST_WIDTH], (int)(t % FE_GHOST_WIDTH));
}

__global__ void unpack_numbers(int n, int first, fe_ghost_item item, const double *numbers)
{
    const size_t t = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (t < (size_t)n * FE_GHOST_WIDTH)
        fe_ghost_accept(&item, first + (int)(t / FE_GHOST_WIDTH), (int)(t % FE_GHOST_WIDTH), numbers[t]);
}

static fe_status pack(fe_setup *k, const fe_ghost_item *item)
{
    const fe_ghosts *g = &k->ghosts;
    FE_LAUNCH(k->d, (size_t)g->n_send * FE_GHOST_WIDTH, THREADS, pack_numbers, g->n_send, g->send_there,
              *item, g->numbers);
    return FE_OK;
}

static fe_status unpack(fe_setup *k, const fe_ghost_item *item)
{
    const fe_ghosts *g = &k->ghosts;
    FE_LAUNCH(k->d, (size_t)g->n_ghost * FE_GHOST_WIDTH, THREADS, unpack_numbers, g->n_ghost, k->n, *item,
              g->numbers + (size_t)g->n_send * FE_GHOST_WIDTH);
    return FE_OK;
}

__global__ void mark_columns(int n, const int *column, uint8_t *marks)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) marks[column[i]] = 1;
}

static fe_status mark(fe_setup *k, int n, const int *column, uint8_t *marks)
{
    FE_LAUNCH(k->d, n, THREADS, mark_columns, n, column, marks);
    return FE_OK;
}

__global__ void renumber_columns(int n, const int *map, int *column)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) column[i] = map[column[i]];
}

static fe_status renumber(fe_setup *k, int n, const int *map, int *column)
{
    FE_LAUNCH(k->d, n, THREADS, renumber_columns, n, map, column);
    return FE_OK;
}

/* A warp per row, a lane per number. */
__global__ void place_rows(fe_numbering numbering, fe_sparse own, fe_sparse whole, double *number)
{
    const int i = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP);
    if (i >= own.n_row) return;
    const int first = own.first[i], count = own.first[i + 1] - first;
    for (int t = threadIdx.x % WARP; t < 36 * count; t += WARP) {
        const int to = fe_whole_place(numbering, &own, &whole, i, t / 36);
        if (t % 36 == 0) number[to] = fe_global_number(numbering, own.column[first + t / 36]);
        whole.value[36 * (size_t)to + t % 36] = own.value[36 * (size_t)first + t];
    }
}

static fe_status place(fe_setup *k, const fe_sparse *own, const fe_sparse *whole, double *number)
{
    FE_LAUNCH(k->d, (size_t)own->n_row * WARP, THREADS, place_rows, k->numbering, *own, *whole, number);
    return FE_OK;
}

static fe_status sum(fe_setup *k, size_t n, double *x)
{
    const size_t most = (size_t)1 << 28;
    for (size_t first = 0; first < n; first += most)
        FE_TRY(fe_comm_sum(k->m->comm, k->d, (int)(n - first < most ? n - first : most), x + first));
    return FE_OK;
}

__global__ void columns_of_numbers(int n, const double *number, int *column)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) column[i] = (int)number[i];
}

static fe_status to_columns(fe_setup *k, int n, const double *number, int *column)
{
    FE_LAUNCH(k->d, n, THREADS, columns_of_numbers, n, number, column);
    return FE_OK;
}

extern "C" const fe_rank_steps fe_rank_steps_cuda = {
    .take = take,
    .give = give,
    .put = put,
    .fetch = fetch,
    .pack = pack,
    .unpack = unpack,
    .mark = mark,
    .renumber = renumber,
    .place = place,
    .sum = sum,
    .to_columns = to_columns,
};
