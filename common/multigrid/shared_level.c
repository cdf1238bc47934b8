#include "common/multigrid/shared_level.h"
#include "common/multigrid/rank_steps.h"
#include "common/multigrid/rank_sums.h"

#include <stdlib.h>

/* On four H200 8192 is faster than 16384 (HISTORY.md); ranks on a host share its memory, which sweeps over
 * many aggregates occupy. */
enum { WHOLE_ON_DEVICE = 8192, WHOLE_ON_HOST = 1024 };
int fe_multigrid_whole = -1;

fe_status fe_number_aggregates(fe_setup *k)
{
    const int size = k->m->comm->size, rank = k->m->comm->rank;
    double *counts = NULL, total = 0.0;
    k->numbering = (fe_numbering){k->n_own, 0};
    if (!k->shared) return FE_OK;
    FE_TRY(fe_setup_agree(k, FE_OK, NULL));
    free(k->starts), k->starts = NULL;
    FE_ALLOCATE(k->starts, size + 1, "multigrid set-up");
    FE_ALLOCATE(counts, size, "multigrid set-up");
    counts[rank] = k->n_own;
    const fe_status status = fe_multigrid_sum(k->d, k->m->comm, (size_t)size, counts);
    for (int r = 0; r < size; r++) {
        k->starts[r] = total < INT32_MAX ? (int)total : 0;
        total += counts[r];
    }
    free(counts);
    FE_TRY(status);
    if (total > INT32_MAX / 2) return fe_fail(FE_BAD_INPUT, "multigrid: %.0f aggregates are too many", total);
    k->starts[size] = (int)total;
    k->numbering = (fe_numbering){(int)total, k->starts[rank]};
    return FE_OK;
}

/* --- a level that the ranks share -------------------------------------------------------------------- */

/* The next level's ghosts: n numbers [n] of all ranks' aggregates, by owners from the next rank on, of which
 * asked [rank][owner] of each rank. */
typedef struct wanted {
    int n, *ghost;
    double *asked; /* [size][size] */
    double *lists; /* those of all ranks, one behind the other */
} wanted;

/* Owner number `step` after rank r, all ranks in a circle. */
static int after(const fe_comm *comm, int r, int step) { return (r + step) % comm->size; }

static double asked_by(const fe_comm *comm, const wanted *w, int r, int owner)
{
    return w->asked[(size_t)r * (size_t)comm->size + (size_t)owner];
}

/* All ranks' lists on each. */
static fe_status tell_wanted(fe_setup *k, wanted *w)
{
    const fe_comm *comm = k->m->comm;
    const size_t size = (size_t)comm->size;
    size_t before = 0, all = 0;
    FE_ALLOCATE(w->asked, size * size, "halo");
    for (int i = 0; i < w->n; i++) {
        int owner = 0;
        while (w->ghost[i] >= k->starts[owner + 1]) owner++;
        w->asked[(size_t)comm->rank * size + (size_t)owner] += 1.0;
    }
    FE_TRY(fe_multigrid_sum(k->d, k->m->comm, size * size, w->asked));
    for (size_t r = 0; r < size; r++)
        for (size_t owner = 0; owner < size; owner++) {
            const size_t n = (size_t)w->asked[r * size + owner];
            all += n;
            before += r < (size_t)comm->rank ? n : 0;
        }
    FE_ALLOCATE(w->lists, all + 1, "halo");
    for (int i = 0; i < w->n; i++) w->lists[before + (size_t)i] = w->ghost[i];
    return fe_multigrid_sum(k->d, k->m->comm, all, w->lists);
}

/* Where rank r's list of this rank's aggregates begins. */
static const double *list_of(const fe_comm *comm, const wanted *w, int r)
{
    size_t at = 0;
    for (int q = 0; q < r; q++)
        for (int owner = 0; owner < comm->size; owner++) at += (size_t)asked_by(comm, w, q, owner);
    for (int step = 1; after(comm, r, step) != comm->rank; step++)
        at += (size_t)asked_by(comm, w, r, after(comm, r, step));
    return w->lists + at;
}

/* Memory that stays as long as the device: of a halo with so many nodes to send. */
static fe_status keep_halo(fe_device *d, int size, size_t n_send, fe_halo **out)
{
    int *memory = NULL;
    FE_TRY(fe_device_keep(d, sizeof **out, "halo", (void **)out));
    FE_TRY(fe_device_keep(d, (3 * (size_t)size + 2 + n_send) * sizeof *memory, "halo", (void **)&memory));
    fe_halo *h = *out;
    h->neighbor = memory, h->ghost_first = memory + size, h->send_first = h->ghost_first + size + 1;
    h->send_node = h->send_first + size + 1;
    return FE_OK;
}

static fe_status build_halo(fe_setup *k, const wanted *w, fe_halo **out)
{
    const fe_comm *comm = k->m->comm;
    size_t n_send = 0;
    for (int r = 0; r < comm->size; r++) n_send += (size_t)asked_by(comm, w, r, comm->rank);
    FE_TRY(keep_halo(k->d, comm->size, n_send, out));
    fe_halo *h = *out;
    h->ghost_first[0] = k->n_own;
    for (int step = 1; step < comm->size; step++) {
        const int r = after(comm, comm->rank, step), i = h->n_neighbor,
                  theirs = (int)asked_by(comm, w, comm->rank, r),
                  ours = (int)asked_by(comm, w, r, comm->rank);
        if (theirs + ours == 0) continue;
        const double *list = list_of(comm, w, r);
        for (int s = 0; s < ours; s++)
            h->send_node[h->send_first[i] + s] = (int)list[s] - k->starts[comm->rank];
        h->neighbor[i] = r;
        h->ghost_first[i + 1] = h->ghost_first[i] + theirs, h->send_first[i + 1] = h->send_first[i] + ours;
        h->n_neighbor++;
    }
    return FE_OK;
}

static fe_status attach_level(fe_setup *k, wanted *w)
{
    fe_comm *comm = k->m->comm;
    fe_halo *halo = NULL;
    fe_status status = fe_setup_failure(tell_wanted(k, w));
    if (status == FE_OK) status = fe_setup_failure(build_halo(k, w, &halo));
    if (status == FE_OK)
        status = fe_setup_failure(comm->ops->attach(comm, k->d, FE_HALO_LEVEL + k->level, halo));
    free(w->asked), free(w->lists);
    return status;
}

/* Marks of columns [total] become local numbers: own ones as they are, then ghosts; and the list of these. */
static void number_ghosts(const fe_setup *k, const uint8_t *marks, int *map, wanted *w)
{
    for (int c = 0; c < k->numbering.total; c++) {
        map[c] = c < k->n_own ? c : k->n_own + w->n;
        if (c >= k->n_own && marks[c]) w->ghost[w->n++] = fe_global_number(k->numbering, c);
    }
}

static fe_status find_ghosts(fe_setup *k, fe_sparse *next, wanted *w)
{
    const fe_rank_steps *ranks = k->steps->ranks;
    const size_t n = (size_t)k->numbering.total;
    uint8_t *there = NULL, *marks = NULL;
    int *map = NULL, *map_there = NULL;
    FE_TRY(ranks->take(k, n, (void **)&there));
    fe_status status = ranks->mark(k, next->n_block, next->column, there);
    if (status == FE_OK) status = ranks->mark(k, k->P.n_block, k->P.column, there);
    if (status == FE_OK) status = fe_allocate(n, sizeof *marks, "halo", (void **)&marks);
    if (status == FE_OK) status = fe_allocate(n, sizeof *map, "halo", (void **)&map);
    if (status == FE_OK) status = fe_allocate(n, sizeof *w->ghost, "halo", (void **)&w->ghost);
    if (status == FE_OK) status = ranks->fetch(k, n, there, marks);
    if (status == FE_OK) number_ghosts(k, marks, map, w);
    if (status == FE_OK) status = ranks->take(k, n * sizeof *map, (void **)&map_there);
    if (status == FE_OK) status = ranks->put(k, n * sizeof *map, map, map_there);
    if (status == FE_OK) status = ranks->renumber(k, next->n_block, map_there, next->column);
    if (status == FE_OK) status = ranks->renumber(k, k->P.n_block, map_there, k->P.column);
    ranks->give(there), ranks->give(map_there);
    free(marks), free(map);
    next->n_column = k->P.n_column = k->n_own + w->n;
    return status;
}

static fe_status share_next(fe_setup *k, fe_sparse *next)
{
    wanted w = {0};
    fe_status status = fe_setup_agree(k, find_ghosts(k, next, &w), NULL);
    if (status == FE_OK) status = attach_level(k, &w);
    free(w.ghost);
    k->n_next = k->n_own;
    return status;
}

/* --- a level that every rank has --------------------------------------------------------------------- */

/* host [n_own][width], of which memory is the table's copy, becomes the rows of all ranks. */
static fe_status gather_numbers(fe_setup *k, size_t width, size_t size, void **memory)
{
    const fe_rank_steps *ranks = k->steps->ranks;
    const size_t own = (size_t)k->n_own * width, n = (size_t)k->numbering.total * width,
                 first = (size_t)k->numbering.offset * width;
    double *numbers = NULL;
    uint8_t *host = NULL;
    void *all = NULL;
    FE_ALLOCATE(numbers, n + 1, "multigrid set-up");
    fe_status status = fe_allocate(n * size + 1, 1, "multigrid set-up", (void **)&host);
    if (status == FE_OK) status = ranks->take(k, n * size + 1, &all);
    if (status == FE_OK) status = ranks->fetch(k, own * size, *memory, host);
    for (size_t i = 0; i < own && status == FE_OK; i++)
        numbers[first + i] = size == 1 ? host[i] : ((const double *)host)[i];
    status = fe_setup_agree(k, status, NULL);
    if (status == FE_OK) status = fe_multigrid_sum(k->d, k->m->comm, n, numbers);
    for (size_t i = 0; i < n && size == 1 && status == FE_OK; i++) host[i] = numbers[i] != 0.0;
    if (status == FE_OK) status = ranks->put(k, n * size, size == 1 ? (void *)host : numbers, all);
    if (status == FE_OK) {
        ranks->give(*memory);
        *memory = all;
    }
    free(numbers), free(host);
    return status;
}

/* Where rows of all ranks begin, from this rank's. */
static fe_status gather_starts(fe_setup *k, const fe_sparse *own, fe_sparse *whole)
{
    const fe_rank_steps *ranks = k->steps->ranks;
    const size_t n = (size_t)k->numbering.total, bytes = (n + 1) * sizeof *whole->first;
    double *counts = NULL, all = 0.0;
    int *first = NULL;
    FE_ALLOCATE(counts, n + 1, "multigrid set-up");
    fe_status status = fe_allocate(n + 1, sizeof *first, "multigrid set-up", (void **)&first);
    if (status == FE_OK) status = ranks->take(k, bytes, (void **)&whole->first);
    if (status == FE_OK) status = ranks->fetch(k, ((size_t)k->n_own + 1) * sizeof *first, own->first, first);
    for (int i = 0; i < k->n_own && status == FE_OK; i++)
        counts[k->numbering.offset + i] = first[i + 1] - first[i];
    status = fe_setup_agree(k, status, NULL);
    if (status == FE_OK) status = fe_multigrid_sum(k->d, k->m->comm, n, counts);
    if (status == FE_OK) first[0] = 0;
    for (size_t i = 0; i < n && status == FE_OK; i++) {
        all += counts[i];
        if (all > INT32_MAX)
            status = fe_fail(FE_BAD_INPUT, "multigrid: more than %d blocks on one rank", INT32_MAX);
        else
            first[i + 1] = (int)all;
    }
    if (status == FE_OK) status = ranks->put(k, bytes, first, whole->first);
    whole->n_block = (int)all;
    free(counts), free(first);
    return status;
}

static void give_matrix(fe_setup *k, fe_sparse *A)
{
    k->steps->ranks->give(A->first), k->steps->ranks->give(A->column), k->steps->ranks->give(A->value);
    *A = (fe_sparse){0};
}

static fe_status gather_rows(fe_setup *k, const fe_sparse *own, fe_sparse *whole)
{
    const fe_rank_steps *ranks = k->steps->ranks;
    double *number = NULL;
    *whole =
        (fe_sparse){.n_row = k->numbering.total, .n_column = k->numbering.total, .rows = 6, .columns = 6};
    FE_TRY(gather_starts(k, own, whole));
    const size_t n = (size_t)whole->n_block;
    fe_status status = ranks->take(k, n * sizeof *whole->column, (void **)&whole->column);
    if (status == FE_OK) status = ranks->take(k, 36 * n * sizeof *whole->value, (void **)&whole->value);
    if (status == FE_OK) status = ranks->take(k, n * sizeof *number, (void **)&number);
    if (status == FE_OK) status = ranks->place(k, own, whole, number);
    status = fe_setup_agree(k, status, NULL);
    if (status == FE_OK) status = ranks->sum(k, 36 * n, whole->value);
    if (status == FE_OK) status = ranks->sum(k, n, number);
    if (status == FE_OK) status = ranks->to_columns(k, whole->n_block, number, whole->column);
    ranks->give(number);
    return status;
}

/* P's columns become numbers of all ranks. */
static fe_status number_globally(fe_setup *k)
{
    const fe_rank_steps *ranks = k->steps->ranks;
    const size_t n = (size_t)k->numbering.total, bytes = n * sizeof(int);
    int *map = NULL, *there = NULL;
    FE_ALLOCATE(map, n + 1, "multigrid set-up");
    for (size_t c = 0; c < n; c++) map[c] = fe_global_number(k->numbering, (int)c);
    fe_status status = ranks->take(k, bytes, (void **)&there);
    if (status == FE_OK) status = ranks->put(k, bytes, map, there);
    if (status == FE_OK) status = ranks->renumber(k, k->P.n_block, there, k->P.column);
    ranks->give(there);
    free(map);
    return status;
}

static fe_status gather_next(fe_setup *k, fe_sparse *next)
{
    fe_sparse whole = {0};
    const fe_status status = gather_rows(k, next, &whole);
    give_matrix(k, next);
    *next = whole;
    FE_TRY(status);
    FE_TRY(gather_numbers(k, 3, sizeof(double), (void **)&k->next_x));
    FE_TRY(gather_numbers(k, 1, sizeof(double), (void **)&k->next_size));
    FE_TRY(gather_numbers(k, 6, 1, (void **)&k->next_absent));
    k->n_next = k->numbering.total;
    return number_globally(k);
}

static int most_whole(const fe_setup *k)
{
    if (fe_multigrid_whole >= 0) return fe_multigrid_whole;
    return k->d->ops->on_gpu ? WHOLE_ON_DEVICE : WHOLE_ON_HOST;
}

fe_status fe_share_or_gather(fe_setup *k, fe_sparse *next)
{
    k->n_next = k->n_own, k->next_shared = 0;
    if (!k->shared) return FE_OK;
    k->P.n_row = k->n;
    FE_TRY(k->steps->ranks->fetch(k, sizeof(int), k->P.first + k->n, &k->P.n_block));
    k->next_shared = k->numbering.total > most_whole(k);
    return k->next_shared ? share_next(k, next) : gather_next(k, next);
}
