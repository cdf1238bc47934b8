/* Steps of the set-up for several ranks in host memory. */
#include "common/multigrid/rank_steps.h"
#include "common/multigrid/rank_sums.h"

#include <stdlib.h>
#include <string.h>

static fe_status take(fe_setup *k, size_t bytes, void **memory)
{
    return fe_allocate_large(bytes, 1, k->threads, "multigrid set-up", memory);
}

static fe_status put(fe_setup *k, size_t bytes, const void *host, void *memory)
{
    (void)k;
    memcpy(memory, host, bytes);
    return FE_OK;
}

static fe_status fetch(fe_setup *k, size_t bytes, const void *memory, void *host)
{
    return put(k, bytes, memory, host);
}

/* The numbers are on the device, which need not be the host. */
static fe_status pack(fe_setup *k, const fe_ghost_item *item)
{
    const fe_ghosts *g = &k->ghosts;
    const size_t n = (size_t)g->n_send * FE_GHOST_WIDTH;
    double *numbers = NULL;
    FE_ALLOCATE(numbers, n + 1, "multigrid set-up");
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < g->n_send; i++)
        for (int w = 0; w < FE_GHOST_WIDTH; w++)
            numbers[(size_t)i * FE_GHOST_WIDTH + (size_t)w] = fe_ghost_number(item, g->send[i], w);
    const fe_status status = k->d->ops->memory.upload(k->d, n * sizeof *numbers, numbers, g->numbers);
    free(numbers);
    return status;
}

static fe_status unpack(fe_setup *k, const fe_ghost_item *item)
{
    const fe_ghosts *g = &k->ghosts;
    const size_t n = (size_t)g->n_ghost * FE_GHOST_WIDTH;
    double *numbers = NULL;
    FE_ALLOCATE(numbers, n + 1, "multigrid set-up");
    const fe_status status = k->d->ops->memory.download(
        k->d, n * sizeof *numbers, g->numbers + (size_t)g->n_send * FE_GHOST_WIDTH, numbers);
    const int count = status == FE_OK ? g->n_ghost : 0;
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < count; i++)
        for (int w = 0; w < FE_GHOST_WIDTH; w++)
            fe_ghost_accept(item, k->n + i, w, numbers[(size_t)i * FE_GHOST_WIDTH + (size_t)w]);
    free(numbers);
    return status;
}

static fe_status mark(fe_setup *k, int n, const int *column, uint8_t *marks)
{
    (void)k;
    for (int i = 0; i < n; i++) marks[column[i]] = 1;
    return FE_OK;
}

static fe_status renumber(fe_setup *k, int n, const int *map, int *column)
{
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < n; i++) column[i] = map[column[i]];
    return FE_OK;
}

static fe_status place(fe_setup *k, const fe_sparse *own, const fe_sparse *whole, double *number)
{
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < own->n_row; i++)
        for (int b = own->first[i]; b < own->first[i + 1]; b++) {
            const int to = fe_whole_place(k->numbering, own, whole, i, b - own->first[i]);
            number[to] = fe_global_number(k->numbering, own->column[b]);
            memcpy(fe_sparse_block(whole, to), fe_sparse_block(own, b), 36 * sizeof *own->value);
        }
    return FE_OK;
}

static fe_status sum(fe_setup *k, size_t n, double *x) { return fe_multigrid_sum(k, n, x); }

static fe_status to_columns(fe_setup *k, int n, const double *number, int *column)
{
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < n; i++) column[i] = (int)number[i];
    return FE_OK;
}

const fe_rank_steps fe_rank_steps_host = {
    .take = take,
    .give = free,
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
