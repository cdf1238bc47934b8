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
        status = d->ops->upload(d, bytes, x + first, all);
        if (status == FE_OK) status = comm->sum(comm, d, (int)count, all);
        if (status == FE_OK) status = d->ops->download(d, bytes, all, x + first);
    }
    d->ops->release(d, all);
    return status;
}

/* x [n_own][width] of each rank becomes [n][width] of all, this rank's from `offset` on. */
static fe_status gather_rows(const fe_multigrid_share *s, int n_own, int n, int offset, int width, double **x)
{
    double *all = NULL;
    FE_ALLOCATE(all, (size_t)n * (size_t)width, "multigrid set-up");
    memcpy(all + (size_t)offset * (size_t)width, *x, (size_t)n_own * (size_t)width * sizeof *all);
    free(*x);
    *x = all;
    return fe_multigrid_sum(s->d, s->comm, (size_t)n * (size_t)width, all);
}

static fe_status gather_bytes(const fe_multigrid_share *s, int n_own, int n, int offset, int width,
                              uint8_t **x)
{
    const size_t own = (size_t)n_own * (size_t)width, whole = (size_t)n * (size_t)width;
    double *numbers = NULL;
    FE_ALLOCATE(numbers, own + 1, "multigrid set-up");
    for (size_t i = 0; i < own; i++) numbers[i] = (*x)[i];
    free(*x), *x = NULL;
    fe_status status = gather_rows(s, n_own, n, offset, width, &numbers);
    if (status == FE_OK) status = fe_allocate(whole + 1, 1, "multigrid set-up", (void **)x);
    for (size_t i = 0; i < whole && status == FE_OK; i++) (*x)[i] = numbers[i] != 0.0;
    free(numbers);
    return status;
}

/* Aggregates of all ranks, and those of the ranks before this one. */
static fe_status count_aggregates(const fe_multigrid_share *s, int n_own, int *n, int *offset)
{
    double *counts = NULL;
    FE_ALLOCATE(counts, s->comm->size, "multigrid set-up");
    counts[s->comm->rank] = n_own;
    const fe_status status = fe_multigrid_sum(s->d, s->comm, (size_t)s->comm->size, counts);
    *n = *offset = 0;
    for (int r = 0; r < s->comm->size; r++) {
        if (r < s->comm->rank) *offset += (int)counts[r];
        *n += (int)counts[r];
    }
    free(counts);
    return status;
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
static fe_status exchange_rows(const fe_multigrid_share *s, int width, double *rows)
{
    const int n_owned = s->view->n_owned, n_local = s->view->n_local;
    double *vector = NULL, *host = NULL;
    FE_ALLOCATE(host, 3 * (size_t)n_local, "multigrid set-up");
    fe_status status = fe_device_vector(s->d, n_local, "multigrid set-up", &vector);
    const size_t bytes = 3 * (size_t)n_local * sizeof *host;
    for (int k = 0; k < width && status == FE_OK; k += 3) {
        for (int i = 0; i < n_owned; i++)
            for (int c = 0; c < 3; c++)
                host[3 * (size_t)i + (size_t)c] = k + c < width ? number_of(s->P, i, k + c) : 0.0;
        status = s->d->ops->upload(s->d, bytes, host, vector);
        if (status == FE_OK) status = fe_comm_exchange(s->comm, vector);
        if (status == FE_OK) status = s->d->ops->download(s->d, bytes, vector, host);
        for (int i = n_owned; i < n_local && status == FE_OK; i++)
            for (int c = 0; c < 3 && k + c < width; c++)
                rows[(size_t)(i - n_owned) * (size_t)width + (size_t)(k + c)] =
                    host[3 * (size_t)i + (size_t)c];
    }
    if (vector) s->d->ops->release(s->d, vector);
    free(host);
    return status;
}

/* The largest count of a row of P on any rank. */
static fe_status longest_row(const fe_multigrid_share *s, int *longest)
{
    double most = 0.0, *scalar = NULL;
    for (int i = 0; i < s->P->n_row; i++) most = fmax(most, s->P->first[i + 1] - s->P->first[i]);
    FE_TRY(fe_device_upload(s->d, 1, sizeof most, &most, "multigrid set-up", (void **)&scalar));
    fe_status status = s->comm->largest(s->comm, s->d, 1, scalar);
    if (status == FE_OK) status = s->d->ops->download(s->d, sizeof most, scalar, &most);
    s->d->ops->release(s->d, scalar);
    *longest = (int)most;
    return status;
}

/* P with the rows of ghosts behind its own. */
static fe_status extend(const fe_multigrid_share *s, fe_sparse *all)
{
    const fe_sparse *P = s->P;
    const int n_owned = s->view->n_owned, n_ghost = s->view->n_local - n_owned;
    int longest = 0;
    double *rows = NULL;
    FE_TRY(longest_row(s, &longest));
    const int width = 1 + PER_BLOCK * longest;
    FE_ALLOCATE(rows, (size_t)n_ghost * (size_t)width + 1, "multigrid set-up");
    fe_status status = exchange_rows(s, width, rows);
    *all = (fe_sparse){.n_row = s->view->n_local, .n_column = P->n_column, .rows = 3, .columns = 6};
    if (status == FE_OK)
        status =
            fe_allocate((size_t)all->n_row + 1, sizeof *all->first, "multigrid matrix", (void **)&all->first);
    for (int i = 0; i < all->n_row && status == FE_OK; i++)
        all->first[i + 1] =
            i < n_owned ? P->first[i + 1] - P->first[i] : (int)rows[(size_t)(i - n_owned) * (size_t)width];
    if (status == FE_OK) status = fe_sparse_open(all);
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

/* All rows on all ranks from those of each. */
static fe_status gather_matrix(const fe_multigrid_share *s, const fe_sparse *own, int offset, fe_sparse *all)
{
    const int n = own->n_column;
    double *numbers = NULL;
    *all = (fe_sparse){.n_row = n, .n_column = n, .rows = 6, .columns = 6};
    FE_ALLOCATE(all->first, (size_t)n + 1, "multigrid matrix");
    FE_ALLOCATE(numbers, n, "multigrid set-up");
    for (int i = 0; i < own->n_row; i++) numbers[offset + i] = own->first[i + 1] - own->first[i];
    fe_status status = fe_multigrid_sum(s->d, s->comm, (size_t)n, numbers);
    for (int i = 0; i < n && status == FE_OK; i++) all->first[i + 1] = (int)numbers[i];
    free(numbers), numbers = NULL;
    if (status == FE_OK) status = fe_sparse_open(all);
    const size_t count = status == FE_OK ? (size_t)all->first[n] : 0,
                 start = status == FE_OK ? (size_t)all->first[offset] : 0,
                 mine = (size_t)own->first[own->n_row];
    if (status == FE_OK)
        status = fe_allocate(count + 1, sizeof *numbers, "multigrid set-up", (void **)&numbers);
    for (size_t k = 0; k < mine && status == FE_OK; k++) numbers[start + k] = own->column[k];
    if (status == FE_OK) status = fe_multigrid_sum(s->d, s->comm, count, numbers);
    for (size_t k = 0; k < count && status == FE_OK; k++) all->column[k] = (int)numbers[k];
    free(numbers);
    if (status == FE_OK) memcpy(all->value + 36 * start, own->value, 36 * mine * sizeof *own->value);
    return status == FE_OK ? fe_multigrid_sum(s->d, s->comm, 36 * count, all->value) : status;
}

fe_status fe_multigrid_gather(const fe_multigrid_share *s, double **x, double **size, uint8_t **absent,
                              int *offset, fe_sparse *next)
{
    const int n_own = s->P->n_column;
    int n = 0;
    fe_sparse P = {0}, AP = {0}, own = {0};
    FE_TRY(count_aggregates(s, n_own, &n, offset));
    for (int k = 0; k < s->P->first[s->P->n_row]; k++) s->P->column[k] += *offset;
    s->P->n_column = n;
    FE_TRY(gather_rows(s, n_own, n, *offset, 3, x));
    FE_TRY(gather_rows(s, n_own, n, *offset, 1, size));
    FE_TRY(gather_bytes(s, n_own, n, *offset, 6, absent));
    fe_status status = extend(s, &P);
    if (status == FE_OK) status = fe_sparse_product(s->A, &P, s->threads, &AP);
    if (status == FE_OK) status = fe_sparse_product(s->R, &AP, s->threads, &own);
    if (status == FE_OK) status = gather_matrix(s, &own, *offset, next);
    fe_sparse_close(&P), fe_sparse_close(&AP), fe_sparse_close(&own);
    return status;
}
