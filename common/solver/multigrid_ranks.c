#include "common/solver/multigrid_ranks.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 20 };

fe_status fe_multigrid_sum(fe_device *d, fe_comm *comm, size_t n, double *x)
{
    double *all = NULL;
    if (comm->size == 1 || n == 0) return FE_OK;
    const size_t chunk = n < CHUNK ? n : CHUNK;
    FE_TRY(fe_device_allocate(d, chunk, sizeof *all, "multigrid set-up", (void **)&all));
    fe_status status = FE_OK;
    for (size_t first = 0; first < n && status == FE_OK; first += chunk) {
        const size_t count = n - first < chunk ? n - first : chunk, bytes = count * sizeof *x;
        status = d->ops->memory.upload(d, bytes, x + first, all);
        if (status == FE_OK) status = fe_comm_sum(comm, d, (int)count, all);
        if (status == FE_OK) status = d->ops->memory.download(d, bytes, all, x + first);
    }
    d->ops->memory.release(d, all);
    return status;
}

/* x [n_own][width] of each rank becomes [n][width] of all, this rank's from `offset` on. */
static fe_status gather_rows(const fe_multigrid_share *s, size_t n_own, size_t n, size_t offset, size_t width,
                             double **x)
{
    double *all = NULL;
    FE_ALLOCATE(all, n * width + 1, "multigrid set-up");
    if (n_own > 0) memcpy(all + offset * width, *x, n_own * width * sizeof *all);
    free(*x);
    *x = all;
    return fe_multigrid_sum(s->d, s->comm, n * width, all);
}

static fe_status gather_bytes(const fe_multigrid_share *s, size_t n_own, size_t n, size_t offset,
                              size_t width, uint8_t **x)
{
    double *numbers = NULL;
    FE_ALLOCATE(numbers, n_own * width + 1, "multigrid set-up");
    for (size_t i = 0; i < n_own * width; i++) numbers[i] = (*x)[i];
    free(*x), *x = NULL;
    fe_status status = gather_rows(s, n_own, n, offset, width, &numbers);
    if (status == FE_OK) status = fe_allocate(n * width + 1, 1, "multigrid set-up", (void **)x);
    for (size_t i = 0; i < n * width && status == FE_OK; i++) (*x)[i] = numbers[i] != 0.0;
    free(numbers);
    return status;
}

/* Counts of all ranks, and those of the ranks before this one. */
static fe_status count_through(const fe_multigrid_share *s, size_t n_own, size_t *n, size_t *offset)
{
    double *counts = NULL;
    FE_ALLOCATE(counts, s->comm->size, "multigrid set-up");
    counts[s->comm->rank] = (double)n_own;
    const fe_status status = fe_multigrid_sum(s->d, s->comm, (size_t)s->comm->size, counts);
    *n = *offset = 0;
    for (int r = 0; r < s->comm->size; r++) {
        if (r < s->comm->rank) *offset += (size_t)counts[r];
        *n += (size_t)counts[r];
    }
    free(counts);
    return status;
}

/* Ghosts' rows of a vector in host memory [n_local][3]. */
static fe_status refresh(const fe_multigrid_share *s, double *vector, double *host)
{
    const size_t bytes = 3 * (size_t)s->view->n_local * sizeof *host;
    FE_TRY(s->d->ops->memory.upload(s->d, bytes, host, vector));
    FE_TRY(fe_comm_exchange(s->comm, vector));
    return s->d->ops->memory.download(s->d, bytes, vector, host);
}

/* Aggregate and supports of ghosts. */
static fe_status tell_ghosts(const fe_multigrid_share *s, fe_multigrid_aggregates *a)
{
    const int n_owned = s->view->n_owned, n_local = s->view->n_local;
    double *vector = NULL, *host = NULL;
    FE_ALLOCATE(host, 3 * (size_t)n_local + 1, "multigrid set-up");
    fe_status status = fe_device_vector(s->d, n_local, "multigrid set-up", &vector);
    for (size_t i = 0; i < (size_t)n_owned; i++) {
        host[3 * i] = a->of[i];
        host[3 * i + 1] = a->fixed[3 * i] + 2 * a->fixed[3 * i + 1] + 4 * a->fixed[3 * i + 2];
    }
    if (status == FE_OK) status = refresh(s, vector, host);
    for (size_t i = (size_t)n_owned; i < (size_t)n_local && status == FE_OK; i++) {
        a->of[i] = (int)host[3 * i];
        for (int c = 0; c < 3; c++) a->fixed[3 * i + (size_t)c] = (int)host[3 * i + 1] >> c & 1;
    }
    if (vector) s->d->ops->memory.release(s->d, vector);
    free(host);
    return status;
}

fe_status fe_multigrid_number(const fe_multigrid_share *s, fe_multigrid_aggregates *a)
{
    size_t n, offset;
    const size_t n_own = (size_t)a->n;
    FE_TRY(count_through(s, n_own, &n, &offset));
    if (n > INT32_MAX) return fe_fail(FE_BAD_INPUT, "multigrid: %zu aggregates are too many", n);
    a->n = (int)n;
    for (int i = 0; i < s->view->n_owned; i++)
        if (a->of[i] >= 0) a->of[i] += (int)offset;
    FE_TRY(tell_ghosts(s, a));
    FE_TRY(gather_rows(s, n_own, n, offset, 3, &a->x));
    FE_TRY(gather_rows(s, n_own, n, offset, 1, &a->size));
    return gather_bytes(s, n_own, n, offset, 6, &a->absent);
}

/* Numbers that a row of P is sent as: its count, then column and 18 values for each block. */
enum { PER_BLOCK = 19 };

static double number_of(const fe_sparse *P, int row, int k)
{
    const int count = P->first[row + 1] - P->first[row];
    if (k == 0) return count;
    const int block = (k - 1) / PER_BLOCK, c = (k - 1) % PER_BLOCK, place = P->first[row] + block;
    if (block >= count) return 0.0;
    return c == 0 ? P->column[place] : fe_sparse_block(P, place)[c - 1];
}

/* Rows [n_ghost][width] of the ghosts from their owners, three numbers at a time. */
static fe_status exchange_rows(const fe_multigrid_share *s, const fe_sparse *P, int width, double *rows)
{
    const int n_owned = s->view->n_owned, n_local = s->view->n_local;
    double *vector = NULL, *host = NULL;
    FE_ALLOCATE(host, 3 * (size_t)n_local, "multigrid set-up");
    fe_status status = fe_device_vector(s->d, n_local, "multigrid set-up", &vector);
    for (int k = 0; k < width && status == FE_OK; k += 3) {
        for (int i = 0; i < n_owned; i++)
            for (int c = 0; c < 3; c++)
                host[3 * (size_t)i + (size_t)c] = k + c < width ? number_of(P, i, k + c) : 0.0;
        status = refresh(s, vector, host);
        for (int i = n_owned; i < n_local && status == FE_OK; i++)
            for (int c = 0; c < 3 && k + c < width; c++)
                rows[(size_t)(i - n_owned) * (size_t)width + (size_t)(k + c)] =
                    host[3 * (size_t)i + (size_t)c];
    }
    if (vector) s->d->ops->memory.release(s->d, vector);
    free(host);
    return status;
}

/* The largest count of a row of P on any rank. */
static fe_status longest_row(const fe_multigrid_share *s, const fe_sparse *P, int *longest)
{
    double most = 0.0, *scalar = NULL;
    for (int i = 0; i < P->n_row; i++) most = fmax(most, P->first[i + 1] - P->first[i]);
    FE_TRY(fe_device_upload(s->d, 1, sizeof most, &most, "multigrid set-up", (void **)&scalar));
    fe_status status = fe_comm_largest(s->comm, s->d, 1, scalar);
    if (status == FE_OK) status = s->d->ops->memory.download(s->d, sizeof most, scalar, &most);
    s->d->ops->memory.release(s->d, scalar);
    *longest = (int)most;
    return status;
}

/* P with the rows of ghosts behind its own. */
static fe_status extend(const fe_multigrid_share *s, const fe_sparse *P, fe_sparse *all)
{
    const int n_owned = s->view->n_owned, n_ghost = s->view->n_local - n_owned;
    int longest = 0;
    double *rows = NULL;
    FE_TRY(longest_row(s, P, &longest));
    const int width = 1 + PER_BLOCK * longest;
    FE_ALLOCATE(rows, (size_t)n_ghost * (size_t)width + 1, "multigrid set-up");
    fe_status status = exchange_rows(s, P, width, rows);
    *all = (fe_sparse){.n_row = s->view->n_local, .n_column = P->n_column, .rows = 3, .columns = 6};
    if (status == FE_OK)
        status =
            fe_allocate((size_t)all->n_row + 1, sizeof *all->first, "multigrid matrix", (void **)&all->first);
    for (int i = 0; i < all->n_row && status == FE_OK; i++)
        all->first[i + 1] =
            i < n_owned ? P->first[i + 1] - P->first[i] : (int)rows[(size_t)(i - n_owned) * (size_t)width];
    if (status == FE_OK) status = fe_sparse_open(all, s->threads);
    const size_t own = status == FE_OK ? (size_t)P->first[n_owned] : 0;
    if (status == FE_OK) memcpy(all->column, P->column, own * sizeof *P->column);
    if (status == FE_OK) memcpy(all->value, P->value, own * 18 * sizeof *P->value);
    for (int i = n_owned; i < all->n_row && status == FE_OK; i++)
        for (int k = all->first[i]; k < all->first[i + 1]; k++) {
            const double *from = rows + (size_t)(i - n_owned) * (size_t)width + 1 +
                                 (size_t)PER_BLOCK * (size_t)(k - all->first[i]);
            all->column[k] = (int)from[0];
            memcpy(fe_sparse_block(all, k), from + 1, 18 * sizeof *from);
        }
    free(rows);
    return status;
}

/* The rows that ranks hold parts of, one rank's behind the other's. */
typedef struct parts {
    size_t n, offset; /* blocks of all ranks; where this rank's begin */
    double *count;    /* [rank][n_row] blocks of a row */
    double *column;   /* [n] */
    double *value;    /* [n][36] */
} parts;

static fe_status gather_parts(const fe_multigrid_share *s, const fe_sparse *own, parts *all)
{
    const size_t n_own = (size_t)own->first[own->n_row], n_row = (size_t)own->n_row,
                 rank = (size_t)s->comm->rank;
    FE_TRY(count_through(s, n_own, &all->n, &all->offset));
    FE_ALLOCATE(all->count, n_row, "multigrid set-up");
    FE_ALLOCATE(all->column, n_own + 1, "multigrid set-up");
    FE_ALLOCATE(all->value, 36 * n_own + 1, "multigrid set-up");
    for (size_t i = 0; i < n_row; i++) all->count[i] = own->first[i + 1] - own->first[i];
    for (size_t k = 0; k < n_own; k++) all->column[k] = own->column[k];
    memcpy(all->value, own->value, 36 * n_own * sizeof *own->value);
    FE_TRY(gather_rows(s, n_row, n_row * (size_t)s->comm->size, n_row * rank, 1, &all->count));
    FE_TRY(gather_rows(s, n_own, all->n, all->offset, 1, &all->column));
    return gather_rows(s, n_own, all->n, all->offset, 36, &all->value);
}

/* Blocks of one row, with its column and where they stand among the parts. */
typedef struct entry {
    int column;
    size_t part;
} entry;

static int by_column(const void *p, const void *q)
{
    const entry *a = p, *b = q;
    return a->column != b->column ? (a->column > b->column) - (a->column < b->column)
                                  : (a->part > b->part) - (a->part < b->part);
}

/* Sums of the parts: rank by rank in every block. next [rank] moves through each rank's blocks. */
static fe_status merge(const fe_multigrid_share *s, const parts *all, size_t *next, entry *list, int fill,
                       fe_sparse *A)
{
    size_t at = 0;
    for (int r = 0; r < s->comm->size; r++) {
        next[r] = at;
        for (int i = 0; i < A->n_row; i++) at += (size_t)all->count[(size_t)r * (size_t)A->n_row + (size_t)i];
    }
    for (int i = 0; i < A->n_row; i++) {
        size_t n = 0;
        for (int r = 0; r < s->comm->size; r++)
            for (size_t k = (size_t)all->count[(size_t)r * (size_t)A->n_row + (size_t)i]; k > 0;
                 k--, next[r]++)
                list[n++] = (entry){(int)all->column[next[r]], next[r]};
        qsort(list, n, sizeof *list, by_column);
        int place = fill ? A->first[i] - 1 : -1;
        for (size_t k = 0; k < n; k++) {
            if (k == 0 || list[k].column != list[k - 1].column) place++;
            if (!fill) continue;
            A->column[place] = list[k].column;
            for (int c = 0; c < 36; c++)
                fe_sparse_block(A, place)[c] += all->value[36 * list[k].part + (size_t)c];
        }
        if (!fill) A->first[i + 1] = place + 1;
    }
    return FE_OK;
}

static fe_status sum_parts(const fe_multigrid_share *s, const fe_sparse *own, fe_sparse *A)
{
    parts all = {0};
    size_t *next = NULL;
    entry *list = NULL;
    *A = (fe_sparse){.n_row = own->n_row, .n_column = own->n_column, .rows = 6, .columns = 6};
    fe_status status = gather_parts(s, own, &all);
    if (status == FE_OK)
        status = fe_allocate((size_t)A->n_row + 1, sizeof(int), "multigrid matrix", (void **)&A->first);
    if (status == FE_OK)
        status = fe_allocate((size_t)s->comm->size, sizeof *next, "multigrid set-up", (void **)&next);
    if (status == FE_OK) status = fe_allocate(all.n + 1, sizeof *list, "multigrid set-up", (void **)&list);
    if (status == FE_OK) status = merge(s, &all, next, list, 0, A);
    if (status == FE_OK) status = fe_sparse_open(A, s->threads);
    if (status == FE_OK) status = merge(s, &all, next, list, 1, A);
    free(all.count), free(all.column), free(all.value), free(next), free(list);
    return status;
}

fe_status fe_multigrid_galerkin(const fe_multigrid_share *s, const fe_sparse *A, const fe_sparse *P,
                                const fe_sparse *R, fe_sparse *next)
{
    fe_sparse whole = {0}, AP = {0}, own = {0};
    fe_status status = extend(s, P, &whole);
    if (status == FE_OK) status = fe_sparse_product(A, &whole, s->threads, &AP);
    if (status == FE_OK) status = fe_sparse_product(R, &AP, s->threads, &own);
    if (status == FE_OK) status = sum_parts(s, &own, next);
    fe_sparse_close(&whole), fe_sparse_close(&AP), fe_sparse_close(&own);
    return status;
}
