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
    const fe_status status = fe_multigrid_sum(k, (size_t)size, counts);
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
    FE_TRY(fe_multigrid_sum(k, size * size, w->asked));
    for (size_t r = 0; r < size; r++)
        for (size_t owner = 0; owner < size; owner++) {
            const size_t n = (size_t)w->asked[r * size + owner];
            all += n;
            before += r < (size_t)comm->rank ? n : 0;
        }
    FE_ALLOCATE(w->lists, all + 1, "halo");
    for (int i = 0; i < w->n; i++) w->lists[before + (size_t)i] = w->ghost[i];
    return fe_multigrid_sum(k, all, w->lists);
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

static fe_status open_halo(fe_setup *k, wanted *w)
{
    fe_halo *halo = NULL;
    FE_TRY(tell_wanted(k, w));
    FE_TRY(build_halo(k, w, &halo));
    return k->m->comm->ops->attach(k->m->comm, k->d, FE_HALO_LEVEL + k->level, halo);
}

/* Marks of columns [total] become local numbers: own ones as they are, then ghosts; and the list of these. */
static void number_ghosts(const fe_setup *k, const uint8_t *marks, int *map, wanted *w)
{
    for (int c = 0; c < k->numbering.total; c++) {
        map[c] = c < k->n_own ? c : k->n_own + w->n;
        if (c >= k->n_own && marks[c]) w->ghost[w->n++] = fe_global_number(k->numbering, c);
    }
}

/* Marks of all columns, and the local number of each: the table's, and in host memory. */
typedef struct columns {
    uint8_t *marks_there, *marks;
    int *map_there, *map;
} columns;

static fe_status find_ghosts(fe_setup *k, fe_sparse *next, wanted *w, columns *c)
{
    const fe_rank_steps *ranks = k->steps->ranks;
    const size_t n = (size_t)k->numbering.total;
    FE_TRY(ranks->take(k, n, (void **)&c->marks_there));
    FE_TRY(ranks->mark(k, next->n_block, next->column, c->marks_there));
    FE_TRY(ranks->mark(k, k->P.n_block, k->P.column, c->marks_there));
    FE_ALLOCATE(c->marks, n, "halo");
    FE_ALLOCATE(c->map, n, "halo");
    FE_ALLOCATE(w->ghost, n, "halo");
    FE_TRY(ranks->fetch(k, n, c->marks_there, c->marks));
    number_ghosts(k, c->marks, c->map, w);
    next->n_column = k->P.n_column = k->n_own + w->n;
    FE_TRY(ranks->take(k, n * sizeof *c->map, (void **)&c->map_there));
    FE_TRY(ranks->put(k, n * sizeof *c->map, c->map, c->map_there));
    FE_TRY(ranks->renumber(k, next->n_block, c->map_there, next->column));
    return ranks->renumber(k, k->P.n_block, c->map_there, k->P.column);
}

static fe_status share_with(fe_setup *k, fe_sparse *next, wanted *w, columns *c)
{
    const fe_status status = find_ghosts(k, next, w, c);
    k->steps->ranks->give(c->marks_there), k->steps->ranks->give(c->map_there);
    free(c->marks), free(c->map);
    FE_TRY(fe_setup_agree(k, status, NULL));
    return fe_setup_failure(open_halo(k, w));
}

static fe_status share_next(fe_setup *k, fe_sparse *next)
{
    wanted w = {0};
    columns c = {0};
    const fe_status status = share_with(k, next, &w, &c);
    free(w.ghost), free(w.asked), free(w.lists);
    k->n_next = k->n_own;
    return status;
}

/* --- a level that every rank has --------------------------------------------------------------------- */

/* Rows of all ranks while they are gathered: as numbers, as a table's step has them, and in its memory. */
typedef struct gathered {
    double *numbers;
    void *host, *there;
} gathered;

/* This rank's part of [total][width], of `size` bytes each; the rest is zero. */
static fe_status own_numbers(fe_setup *k, size_t width, size_t size, const void *memory, gathered *g)
{
    const fe_rank_steps *ranks = k->steps->ranks;
    const size_t own = (size_t)k->n_own * width, n = (size_t)k->numbering.total * width,
                 first = (size_t)k->numbering.offset * width;
    FE_ALLOCATE(g->numbers, n + 1, "multigrid set-up");
    FE_TRY(fe_allocate(n * size + 1, 1, "multigrid set-up", &g->host));
    FE_TRY(ranks->take(k, n * size + 1, &g->there));
    FE_TRY(ranks->fetch(k, own * size, memory, g->host));
    for (size_t i = 0; i < own; i++)
        g->numbers[first + i] = size == 1 ? ((const uint8_t *)g->host)[i] : ((const double *)g->host)[i];
    return FE_OK;
}

static fe_status all_numbers(fe_setup *k, size_t width, size_t size, gathered *g)
{
    const size_t n = (size_t)k->numbering.total * width;
    FE_TRY(fe_multigrid_sum(k, n, g->numbers));
    for (size_t i = 0; i < n && size == 1; i++) ((uint8_t *)g->host)[i] = g->numbers[i] != 0.0;
    return k->steps->ranks->put(k, n * size, size == 1 ? g->host : g->numbers, g->there);
}

static fe_status gather_with(fe_setup *k, size_t width, size_t size, const void *memory, gathered *g)
{
    FE_TRY(fe_setup_agree(k, own_numbers(k, width, size, memory, g), NULL));
    return all_numbers(k, width, size, g);
}

/* What this rank has at *memory, [n_own][width], becomes the rows of all ranks. */
static fe_status gather_numbers(fe_setup *k, size_t width, size_t size, void **memory)
{
    gathered g = {0};
    const fe_status status = gather_with(k, width, size, *memory, &g);
    k->steps->ranks->give(status == FE_OK ? *memory : g.there);
    if (status == FE_OK) *memory = g.there;
    free(g.numbers), free(g.host);
    return status;
}

/* Counts of this rank's rows among those of all. first: scratch. */
static fe_status own_counts(fe_setup *k, const fe_sparse *own, fe_sparse *whole, double *counts, int *first)
{
    const fe_rank_steps *ranks = k->steps->ranks;
    const size_t bytes = ((size_t)k->numbering.total + 1) * sizeof *first;
    FE_TRY(ranks->take(k, bytes, (void **)&whole->first));
    FE_TRY(ranks->fetch(k, ((size_t)k->n_own + 1) * sizeof *first, own->first, first));
    for (int i = 0; i < k->n_own; i++) counts[k->numbering.offset + i] = first[i + 1] - first[i];
    return FE_OK;
}

static fe_status all_starts(fe_setup *k, fe_sparse *whole, double *counts, int *first)
{
    const size_t n = (size_t)k->numbering.total;
    double all = 0.0;
    FE_TRY(fe_multigrid_sum(k, n, counts));
    first[0] = 0;
    for (size_t i = 0; i < n; i++) {
        all += counts[i];
        if (all > INT32_MAX)
            return fe_fail(FE_BAD_INPUT, "multigrid: more than %d blocks on one rank", INT32_MAX);
        first[i + 1] = (int)all;
    }
    whole->n_block = (int)all;
    return k->steps->ranks->put(k, (n + 1) * sizeof *first, first, whole->first);
}

static fe_status starts_with(fe_setup *k, const fe_sparse *own, fe_sparse *whole, double **counts,
                             int **first)
{
    const size_t n = (size_t)k->numbering.total + 1;
    FE_ALLOCATE(*counts, n, "multigrid set-up");
    FE_ALLOCATE(*first, n, "multigrid set-up");
    FE_TRY(fe_setup_agree(k, own_counts(k, own, whole, *counts, *first), NULL));
    return all_starts(k, whole, *counts, *first);
}

/* Where rows of all ranks begin, from this rank's. */
static fe_status gather_starts(fe_setup *k, const fe_sparse *own, fe_sparse *whole)
{
    double *counts = NULL;
    int *first = NULL;
    const fe_status status = starts_with(k, own, whole, &counts, &first);
    free(counts), free(first);
    return status;
}

static void give_matrix(fe_setup *k, fe_sparse *A)
{
    k->steps->ranks->give(A->first), k->steps->ranks->give(A->column), k->steps->ranks->give(A->value);
    *A = (fe_sparse){0};
}

/* This rank's rows at their places among those of all. */
static fe_status place_rows(fe_setup *k, const fe_sparse *own, fe_sparse *whole, double **number)
{
    const fe_rank_steps *ranks = k->steps->ranks;
    const size_t n = (size_t)whole->n_block;
    FE_TRY(ranks->take(k, n * sizeof *whole->column, (void **)&whole->column));
    FE_TRY(ranks->take(k, 36 * n * sizeof *whole->value, (void **)&whole->value));
    FE_TRY(ranks->take(k, n * sizeof **number, (void **)number));
    return ranks->place(k, own, whole, *number);
}

static fe_status rows_with(fe_setup *k, const fe_sparse *own, fe_sparse *whole, double **number)
{
    const fe_rank_steps *ranks = k->steps->ranks;
    FE_TRY(gather_starts(k, own, whole));
    FE_TRY(fe_setup_agree(k, place_rows(k, own, whole, number), NULL));
    FE_TRY(ranks->sum(k, 36 * (size_t)whole->n_block, whole->value));
    FE_TRY(ranks->sum(k, (size_t)whole->n_block, *number));
    return ranks->to_columns(k, whole->n_block, *number, whole->column);
}

static fe_status gather_rows(fe_setup *k, const fe_sparse *own, fe_sparse *whole)
{
    const int n = k->numbering.total;
    double *number = NULL;
    *whole = (fe_sparse){.n_row = n, .n_column = n, .rows = 6, .columns = 6};
    const fe_status status = rows_with(k, own, whole, &number);
    k->steps->ranks->give(number);
    return status;
}

static fe_status renumber_with(fe_setup *k, int **map, int **there)
{
    const fe_rank_steps *ranks = k->steps->ranks;
    const size_t n = (size_t)k->numbering.total, bytes = n * sizeof **map;
    FE_ALLOCATE(*map, n + 1, "multigrid set-up");
    for (size_t c = 0; c < n; c++) (*map)[c] = fe_global_number(k->numbering, (int)c);
    FE_TRY(ranks->take(k, bytes, (void **)there));
    FE_TRY(ranks->put(k, bytes, *map, *there));
    return ranks->renumber(k, k->P.n_block, *there, k->P.column);
}

/* P's columns become numbers of all ranks. */
static fe_status number_globally(fe_setup *k)
{
    int *map = NULL, *there = NULL;
    const fe_status status = renumber_with(k, &map, &there);
    k->steps->ranks->give(there);
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
