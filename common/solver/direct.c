/* The matrix comes to rank 0 row by row, in the numbers of the mesh; vectors go there and back in each
 * application. */
#include "common/solver/direct.h"
#include "common/multigrid/multigrid.h"
#include "common/ranks/ranks.h"
#include "common/solver/solver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks are processes, which share no memory. */
static int are_processes(const fe_solver *s) { return s->options->mpi.size > 0; }

/* What the ranks of a process share is allocated by one of them; the others wait for it. */
static fe_status open_shared(fe_solver *s, size_t n, const char *what, double **x)
{
    if (are_processes(s) || s->comm->rank == 0) FE_TRY(fe_allocate(n, sizeof **x, what, (void **)x));
    return s->comm->ops->barrier(s->comm);
}

/* What rank 0 has in x, on all. */
static fe_status share_out(fe_solver *s, size_t n, double *x)
{
    return are_processes(s) ? s->comm->ops->broadcast(s->comm, n * sizeof *x, x)
                            : s->comm->ops->barrier(s->comm);
}

static const char what[] = "sparse direct solver";

/* count [n_node + 1]: where each node's row begins. */
static fe_status gather_rows(fe_solver *s, const fe_sparse *A)
{
    fe_direct *const direct = s->preconditioner.direct;
    const size_t n = (size_t)s->mesh_nodes + 1;
    FE_TRY(open_shared(s, n, what, &direct->count));
    for (int i = 0; i < A->n_row; i++) direct->count[s->share->node[i] + 1] = A->first[i + 1] - A->first[i];
    FE_TRY(s->comm->ops->collect(s->comm, n, direct->count));
    for (size_t i = 1; i < n && s->comm->rank == 0; i++) direct->count[i] += direct->count[i - 1];
    return share_out(s, n, direct->count);
}

/* The blocks of the rank's rows. */
static fe_status gather_blocks(fe_solver *s, const fe_sparse *A)
{
    fe_direct *const direct = s->preconditioner.direct;
    const size_t n_block = (size_t)direct->count[s->mesh_nodes];
    FE_TRY(open_shared(s, n_block, what, &direct->column));
    FE_TRY(open_shared(s, 9 * n_block, what, &direct->value));
    for (int i = 0; i < A->n_row; i++) {
        const size_t to = (size_t)direct->count[s->share->node[i]];
        const int n = A->first[i + 1] - A->first[i];
        for (int k = 0; k < n; k++)
            direct->column[to + (size_t)k] = s->share->node[A->column[A->first[i] + k]];
        memcpy(direct->value + 9 * to, fe_sparse_block(A, A->first[i]), 9 * (size_t)n * sizeof *A->value);
    }
    FE_TRY(s->comm->ops->collect(s->comm, n_block, direct->column));
    return s->comm->ops->collect(s->comm, 9 * n_block, direct->value);
}

/* Insertion sort of a row's blocks by their columns. */
static void sort_row(int n, int *column, double *value)
{
    for (int k = 1; k < n; k++) {
        double block[9];
        const int own = column[k];
        int at = k;
        memcpy(block, value + 9 * (size_t)k, sizeof block);
        for (; at > 0 && column[at - 1] > own; at--) {
            column[at] = column[at - 1];
            memcpy(value + 9 * (size_t)at, value + 9 * (size_t)(at - 1), sizeof block);
        }
        column[at] = own;
        memcpy(value + 9 * (size_t)at, block, sizeof block);
    }
}

/* The whole matrix from what was gathered, whose values it takes over. */
static fe_status open_matrix(fe_solver *s, fe_sparse *A)
{
    fe_direct *const direct = s->preconditioner.direct;
    const double n_block = direct->count[s->mesh_nodes];
    *A = (fe_sparse){.n_row = s->mesh_nodes, .n_column = s->mesh_nodes, .rows = 3, .columns = 3};
    if (n_block > 0x1p31 / 9.0)
        return fe_fail(FE_FAILED, "%s: %.0f entries, SuperLU numbers 2^31 of them", what, 9.0 * n_block);
    A->n_block = (int)n_block;
    FE_ALLOCATE(A->first, (size_t)A->n_row + 1, what);
    FE_ALLOCATE(A->column, A->n_block, what);
    for (int i = 0; i <= A->n_row; i++) A->first[i] = (int)direct->count[i];
    for (int k = 0; k < A->n_block; k++) A->column[k] = (int)direct->column[k];
    A->value = direct->value, direct->value = NULL;
    for (int i = 0; i < A->n_row; i++)
        sort_row(A->first[i + 1] - A->first[i], A->column + A->first[i], fe_sparse_block(A, A->first[i]));
    return FE_OK;
}

static fe_status factorise(fe_solver *s)
{
    fe_sparse A;
    uint8_t *fixed = NULL;
    fe_status status = open_matrix(s, &A);
    if (status == FE_OK) status = fe_allocate(3 * (size_t)s->mesh_nodes, 1, what, (void **)&fixed);
    for (int k = 0; k < s->boundary->n_fixed && status == FE_OK; k++) fixed[s->boundary->fixed[k]] = 1;
    if (status == FE_OK)
        status = fe_lu_open(&A, fixed, &s->preconditioner.direct->size, &s->preconditioner.direct->lu);
    fe_sparse_close(&A);
    free(fixed);
    return status;
}

/* Rank 0's part, which may last minutes. */
typedef struct work {
    fe_solver *s;
    fe_status status;
    char message[FE_MESSAGE_LENGTH];
} work;
static void *run(void *argument)
{
    work *w = argument;
    w->status = factorise(w->s);
    if (w->status != FE_OK) snprintf(w->message, sizeof w->message, "%s", fe_message());
    return NULL;
}

/* Rank 0 says how it went. */
static int report(const fe_solver *s, const work *w)
{
    const fe_lu_size *size = &s->preconditioner.direct->size;
    if (w->status != FE_OK)
        fprintf(stderr, "solve: %s\n", w->message);
    else if (!s->preconditioner.direct->lu)
        fprintf(stderr, "solve: %s: the factors would take %.1f GB and %.1e operations: too much here\n",
                what, 1e-9 * size->bytes, size->flops);
    else
        fprintf(stderr, "solve: %s (SuperLU): %d nodes, %.3f GB of factors in %.3f s\n", what, s->mesh_nodes,
                1e-9 * size->bytes, s->preconditioner.direct->seconds);
    return s->preconditioner.direct->lu != NULL;
}

static void close_gathered(fe_solver *s)
{
    fe_direct *const direct = s->preconditioner.direct;
    if (!are_processes(s) && s->comm->rank) return;
    free(direct->count), free(direct->column), free(direct->value);
    direct->count = direct->column = direct->value = NULL;
}

fe_status fe_direct_open(fe_solver *s, int *fits)
{
    fe_direct *const direct = s->preconditioner.direct;
    const int threads = s->device->threads > 0 ? s->device->threads : 1;
    const double start = fe_seconds();
    fe_elastic_rows e = {0};
    work w = {.s = s};
    fe_status status = fe_elastic_rows_open(&s->problem, s->supports.n, s->supports.at, threads, &e);
    if (status == FE_OK) status = gather_rows(s, &e.A);
    if (status == FE_OK) status = gather_blocks(s, &e.A);
    fe_elastic_rows_close(&e);
    FE_TRY(status);
    FE_TRY(fe_ranks_first(s->comm, run, &w));
    if (s->comm->rank == 0) {
        direct->seconds = fe_seconds() - start;
        *fits = report(s, &w);
    }
    FE_TRY(s->comm->ops->broadcast(s->comm, sizeof *fits, fits));
    close_gathered(s);
    if (!*fits) return FE_OK;
    FE_TRY(open_shared(s, 3 * (size_t)s->mesh_nodes, what, &direct->x));
    FE_TRY(fe_allocate(s->n, sizeof *s->preconditioner.landing, what, (void **)&s->preconditioner.landing));
    return FE_OK;
}

fe_status fe_direct_apply(void *context, double *r, double *z)
{
    fe_solver *s = context;
    fe_device *d = s->device;
    double *const x = s->preconditioner.direct->x;
    const size_t three = 3 * sizeof *x, all = 3 * (size_t)s->mesh_nodes;
    const int *node = s->share->node, n = s->share->n_owned;
    FE_TRY(d->ops->memory.download(d, s->n * sizeof *r, r, s->preconditioner.landing));
    if (are_processes(s)) memset(x, 0, all * sizeof *x);
    for (int i = 0; i < n; i++)
        memcpy(x + 3 * (size_t)node[i], s->preconditioner.landing + 3 * (size_t)i, three);
    FE_TRY(s->comm->ops->collect(s->comm, all, x));
    if (s->comm->rank == 0) FE_TRY(fe_lu_solve(s->preconditioner.direct->lu, x));
    FE_TRY(share_out(s, all, x));
    for (int i = 0; i < n; i++)
        memcpy(s->preconditioner.landing + 3 * (size_t)i, x + 3 * (size_t)node[i], three);
    FE_TRY(s->comm->ops->barrier(s->comm)); /* x is free for the next right-hand side */
    return d->ops->memory.upload(d, s->n * sizeof *z, s->preconditioner.landing, z);
}

void fe_direct_close(fe_direct *direct)
{
    fe_lu_close(direct->lu);
    free(direct->x), free(direct->count), free(direct->column), free(direct->value);
    *direct = (fe_direct){0};
}
