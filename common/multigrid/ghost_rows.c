#include "common/multigrid/ghost_rows.h"
#include "common/multigrid/rank_steps.h"
#include "common/multigrid/rank_sums.h"

#include <stdlib.h>
#include <string.h>

static fe_status open_halo(fe_ghosts *g, const fe_halo *of, int size)
{
    fe_halo *h = &g->halo;
    const int n = of->n_neighbor;
    h->n_neighbor = n;
    FE_ALLOCATE(h->neighbor, size, "halo");
    FE_ALLOCATE(h->ghost_first, size + 1, "halo");
    FE_ALLOCATE(h->send_first, size + 1, "halo");
    FE_ALLOCATE(h->send_node, (size_t)FE_GHOST_NODES * (size_t)g->n_send + 1, "halo");
    memcpy(h->neighbor, of->neighbor, (size_t)n * sizeof *h->neighbor);
    for (int i = 0; i <= n; i++) {
        h->send_first[i] = FE_GHOST_NODES * of->send_first[i];
        h->ghost_first[i] = FE_GHOST_NODES * (g->n_send + of->ghost_first[i] - of->ghost_first[0]);
    }
    for (int i = 0; i < FE_GHOST_NODES * g->n_send; i++) h->send_node[i] = i;
    return FE_OK;
}

/* The exchange's memory; that of a larger level serves again. */
static fe_status open_memory(fe_setup *k, size_t n_send, size_t n_ghost)
{
    fe_ghosts *g = &k->ghosts;
    const size_t numbers = (n_send + n_ghost) * FE_GHOST_WIDTH * sizeof *g->numbers,
                 bytes = numbers + n_send * sizeof *g->send_there;
    if (bytes > k->ghost_bytes) {
        if (k->ghost_memory) k->d->ops->memory.release(k->d, k->ghost_memory);
        k->ghost_memory = NULL, k->ghost_bytes = 0;
        FE_TRY(fe_device_reserve(k->d, bytes, 1, "multigrid set-up", &k->ghost_memory));
        k->ghost_bytes = bytes;
    }
    g->numbers = k->ghost_memory, g->send_there = (int *)((char *)k->ghost_memory + numbers);
    return FE_OK;
}

static fe_status open_ghosts(fe_setup *k, const fe_halo *of)
{
    fe_ghosts *g = &k->ghosts;
    const size_t n = (size_t)of->send_first[of->n_neighbor];
    g->n_send = (int)n, g->send = of->send_node;
    g->n_ghost = of->ghost_first[of->n_neighbor] - of->ghost_first[0];
    if (n + (size_t)g->n_ghost > INT32_MAX / FE_GHOST_WIDTH)
        return fe_fail(FE_BAD_INPUT, "multigrid: %d ghosts on one rank are too many", g->n_ghost);
    FE_TRY(open_halo(g, of, k->m->comm->size));
    FE_TRY(open_memory(k, n, (size_t)g->n_ghost));
    return k->d->ops->memory.upload(k->d, n * sizeof *g->send, g->send, g->send_there);
}

fe_status fe_ghosts_open(fe_setup *k)
{
    fe_comm *comm = k->m->comm;
    double n = k->n;
    k->n_all = k->n;
    if (!k->shared) return FE_OK;
    const int which = k->level == 0 ? k->m->problem->halo : FE_HALO_LEVEL + k->level - 1;
    FE_TRY(fe_setup_agree(k, open_ghosts(k, comm->halo[which]), NULL));
    FE_TRY(fe_setup_failure(comm->ops->attach(comm, k->d, FE_HALO_SETUP, &k->ghosts.halo)));
    FE_TRY(fe_multigrid_sum(k, 1, &n));
    k->n_all = (int)n;
    return FE_OK;
}

void fe_ghosts_close(fe_setup *k)
{
    fe_ghosts *g = &k->ghosts;
    free(g->halo.neighbor), free(g->halo.ghost_first), free(g->halo.send_first), free(g->halo.send_node);
    *g = (fe_ghosts){0};
    free(k->starts);
    k->starts = NULL;
}

/* One exchange: what the item says of the nodes that are sent becomes that of the ghosts. */
static fe_status tell(fe_setup *k, const fe_ghost_item *item)
{
    FE_TRY(fe_setup_failure(k->steps->ranks->pack(k, item)));
    FE_TRY(fe_comm_exchange(k->m->comm, FE_HALO_SETUP, k->ghosts.numbers));
    return fe_setup_failure(k->steps->ranks->unpack(k, item));
}

fe_status fe_ghost_counts(fe_setup *k, fe_sparse *C)
{
    const fe_ghost_item item = {.what = FE_GHOST_COUNT, .C = *C};
    if (!k->shared) return FE_OK;
    FE_TRY(fe_setup_agree(k, FE_OK, NULL));
    FE_TRY(tell(k, &item));
    C->n_row += k->ghosts.n_ghost;
    return FE_OK;
}

/* The most blocks in a row of a ghost on any rank. */
static fe_status longest_row(fe_setup *k, const fe_sparse *C, int *longest)
{
    const int n = k->ghosts.n_ghost;
    int *first = NULL;
    *longest = 0;
    FE_ALLOCATE(first, n + 1, "multigrid set-up");
    fe_status status =
        k->steps->ranks->fetch(k, ((size_t)n + 1) * sizeof *first, C->first + C->n_row - n, first);
    for (int i = 0; i < n && status == FE_OK; i++)
        if (first[i + 1] - first[i] > *longest) *longest = first[i + 1] - first[i];
    free(first);
    return fe_setup_agree(k, status, longest);
}

fe_status fe_ghost_rows(fe_setup *k, fe_sparse *C)
{
    int longest;
    if (!k->shared) return FE_OK;
    FE_TRY(longest_row(k, C, &longest));
    const int width = longest * (1 + C->rows * C->columns);
    for (int begin = 0; begin < width; begin += FE_GHOST_WIDTH) {
        const fe_ghost_item item = {FE_GHOST_BLOCKS, begin, k->numbering, *C};
        FE_TRY(tell(k, &item));
    }
    return FE_OK;
}
