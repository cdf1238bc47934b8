/* Steps of the set-up in host memory. */
#include "common/base/chunk.h"
#include "common/multigrid/aggregate.h"
#include "common/multigrid/dense_inverse.h"
#include "common/multigrid/elastic_rows.h"
#include "common/multigrid/ghost_rows.h"
#include "common/multigrid/rank_steps.h"
#include "common/multigrid/rigid_modes.h"
#include "common/multigrid/shared_level.h"

#include <stdlib.h>
#include <string.h>

static size_t block_square(const fe_setup *k) { return (size_t)(k->block * k->block); }

static fe_status open_host(fe_setup *k)
{
    (void)k;
    return FE_OK;
}

static void close_step(fe_setup *k)
{
    fe_sparse_close(&k->P), fe_sparse_close(&k->R);
    free(k->of), free(k->inverse), free(k->next_x), free(k->next_size), free(k->next_absent);
    k->of = NULL, k->inverse = NULL, k->next_x = k->next_size = NULL, k->next_absent = NULL;
}

static void close_level(fe_setup *k)
{
    free(k->x), free(k->size), free(k->absent);
    fe_sparse_close(&k->A);
    k->x = k->size = NULL, k->absent = NULL;
}

static void close_host(fe_setup *k)
{
    close_step(k);
    close_level(k);
}

static void descend(fe_setup *k, const fe_sparse *next)
{
    close_level(k);
    k->x = k->next_x, k->size = k->next_size, k->absent = k->next_absent, k->A = *next;
    k->next_x = k->next_size = NULL, k->next_absent = NULL;
    k->n = k->n_next, k->block = 6, k->shared = k->next_shared;
    close_step(k);
}

/* --- the level at hand ------------------------------------------------------------------------------- */

/* Threads look at the nodes; one of them sums, in a fixed order. */
static fe_sample take_sample(const fe_elastic_rows *e, int kind, int threads)
{
    const int step = 1 + e->view.n_owned / FE_SAMPLE, n = (e->view.n_owned + step - 1) / step;
    fe_sample sample = {.n = n};
    struct {
        int surface;
        double stretch;
    } found[FE_SAMPLE + 1];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int k = 0; k < n; k++) {
        found[k].surface = fe_on_surface(&e->view, kind, k * step);
        found[k].stretch = fe_stretch(&e->A, e->view.x, k * step);
    }
    for (int k = 0; k < n; k++) sample.surface += found[k].surface, sample.stretch += found[k].stretch;
    return sample;
}

static fe_status finest(fe_setup *k, int n_fixed, const int *at, fe_sample *sample)
{
    const fe_problem *p = k->m->problem;
    fe_elastic_rows e = {0};
    const fe_status status = fe_elastic_rows_open(p, n_fixed, at, k->threads, &e);
    if (status == FE_OK) *sample = take_sample(&e, p->kind, k->threads);
    k->n = p->view.n_owned;
    k->x = (double *)e.view.x, k->absent = e.fixed, k->A = e.A;
    e.view.x = NULL, e.fixed = NULL, e.A = (fe_sparse){0};
    fe_elastic_rows_close(&e);
    return status;
}

static fe_status invert_diagonal(fe_setup *k)
{
    FE_ALLOCATE(k->inverse, (size_t)k->n * block_square(k), "multigrid level");
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < k->n; i++) {
        double *D = k->inverse + (size_t)i * block_square(k);
        memcpy(D, fe_sparse_block(&k->A, fe_sparse_find(&k->A, i, i)), block_square(k) * sizeof *D);
        if (k->block == 3) /* a constant, so that loops are unrolled */
            fe_small_invert(3, D);
        else
            fe_small_invert(6, D);
    }
    return FE_OK;
}

/* --- aggregates -------------------------------------------------------------------------------------- */

/* Nodes that supports hold, or that no element uses, are in no aggregate. */
static int is_free(const fe_setup *k, int i)
{
    const double *D = k->inverse + (size_t)i * block_square(k);
    for (int c = 0; c < k->block; c++)
        if (!k->absent[(size_t)i * (size_t)k->block + (size_t)c] && D[c * (k->block + 1)] > 0.0) return 1;
    return 0;
}

static fe_status aggregate(fe_setup *k, fe_cut cut)
{
    fe_graph g = {.n = k->n, .first = k->A.first, .column = k->A.column, .x = k->x};
    uint8_t *left_out = NULL;
    double *softness = NULL;
    fe_sparse own = {0}; /* without ghosts */
    fe_status status = FE_OK;
    FE_ALLOCATE(k->of, k->n, "aggregates");
    FE_ALLOCATE(left_out, k->n, "aggregates");
    for (int i = 0; i < k->n; i++) left_out[i] = !is_free(k, i);
    g.left_out = left_out;
    if (k->m->problem->view.materials) {
        FE_ALLOCATE(softness, k->n, "aggregates");
        for (int i = 0; i < k->n; i++) softness[i] = fe_softness(k->block, k->inverse, i);
        g.softness = softness;
    }
    if (k->A.n_column > k->n) {
        status = fe_sparse_left(&k->A, k->n, &own);
        g.first = own.first, g.column = own.column;
    }
    if (status == FE_OK)
        status = fe_aggregate(&g, cut.most, cut.least, cut.flat, k->threads, k->of, &k->n_own);
    free(left_out), free(softness);
    fe_sparse_close(&own);
    return status;
}

/* Centres and sizes of this rank's aggregates: mean position, and root of the mean square distance from it.
 */
static fe_status measure_aggregates(fe_setup *k)
{
    int *count = NULL;
    FE_ALLOCATE(k->next_x, 3 * (size_t)k->n_own, "aggregates");
    FE_ALLOCATE(k->next_size, k->n_own, "aggregates");
    FE_ALLOCATE(count, k->n_own, "aggregates");
    for (int i = 0; i < k->n; i++)
        for (int c = 0; c < 3 && k->of[i] >= 0; c++) {
            k->next_x[3 * (size_t)k->of[i] + (size_t)c] += k->x[3 * (size_t)i + (size_t)c];
            count[k->of[i]] += c == 0;
        }
    for (int a = 0; a < k->n_own; a++)
        for (int c = 0; c < 3; c++) k->next_x[3 * (size_t)a + (size_t)c] /= count[a];
    for (int i = 0; i < k->n; i++)
        for (int c = 0; c < 3 && k->of[i] >= 0; c++) {
            const double r = k->x[3 * (size_t)i + (size_t)c] - k->next_x[3 * (size_t)k->of[i] + (size_t)c];
            k->next_size[k->of[i]] += r * r;
        }
    for (int a = 0; a < k->n_own; a++) {
        k->next_size[a] = sqrt(k->next_size[a] / count[a]);
        if (!(k->next_size[a] > 0.0)) k->next_size[a] = 1.0; /* one node */
        if (a == 0 || count[a] < k->smallest) k->smallest = count[a];
        if (a == 0 || count[a] > k->largest) k->largest = count[a];
    }
    free(count);
    return FE_OK;
}

/* Block [block][6] of the tentative prolongator at node i, before modes that its aggregate lacks are left
 * out. */
static void tentative(const fe_setup *k, int i, double *T)
{
    const size_t a = (size_t)k->of[i], n = (size_t)i;
    fe_rigid_modes(k->block, k->x + 3 * n, k->size ? k->size[i] : 0.0, k->absent + n * (size_t)k->block,
                   k->next_x + 3 * a, k->next_size[a], T);
}

/* G[a] += T_i^T T_i of each node i of aggregate a, for first <= a < last. */
static void add_gram(const fe_setup *k, int first, int last, double (*G)[6][6])
{
    for (int i = 0; i < k->n; i++) {
        const int a = k->of[i];
        double t[36];
        if (a < first || a >= last) continue;
        tentative(k, i, t);
        for (int l = 0; l < k->block; l++)
            for (int r = 0; r < 6; r++)
                for (int c = 0; c <= r; c++) G[a][r][c] += t[6 * l + r] * t[6 * l + c];
    }
    for (int a = first; a < last; a++)
        for (int i = 0; i < 36; i++)
            if (i % 6 > i / 6) G[a][i / 6][i % 6] = G[a][i % 6][i / 6];
}

/* The modes that this rank's aggregates do not have. */
static fe_status find_absent(fe_setup *k)
{
    double(*G)[6][6] = NULL;
    FE_ALLOCATE(k->next_absent, 6 * (size_t)k->n_own, "aggregates");
    FE_ALLOCATE(G, k->n_own, "aggregates");
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int t = 0; t < k->threads; t++) {
        const int first = fe_chunk(k->n_own, t, k->threads), last = fe_chunk(k->n_own, t + 1, k->threads);
        add_gram(k, first, last, G);
        for (int a = first; a < last; a++) fe_rigid_absent(G[a], k->next_absent + 6 * (size_t)a);
    }
    free(G);
    return FE_OK;
}

static fe_status measure(fe_setup *k)
{
    FE_TRY(measure_aggregates(k));
    return find_absent(k);
}

/* --- the next level ---------------------------------------------------------------------------------- */

/* T: one block for each node that has an aggregate, ghosts too. */
static fe_status build_tentative(fe_setup *k, fe_sparse *T)
{
    const int width = 6 * k->block;
    *T = (fe_sparse){.n_row = k->n, .n_column = k->numbering.total, .rows = k->block, .columns = 6};
    FE_ALLOCATE(T->first, (size_t)k->A.n_column + 1, "multigrid matrix");
    for (int i = 0; i < k->n; i++) T->first[i + 1] = k->of[i] >= 0;
    FE_TRY(fe_ghost_counts(k, T));
    FE_TRY(fe_sparse_open(T));
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < k->n; i++) {
        if (k->of[i] < 0) continue;
        double *t = fe_sparse_block(T, T->first[i]);
        T->column[T->first[i]] = k->of[i];
        tentative(k, i, t);
        for (int c = 0; c < width; c++)
            if (k->next_absent[6 * (size_t)k->of[i] + (size_t)(c % 6)]) t[c] = 0.0;
    }
    return fe_ghost_rows(k, T);
}

static inline __attribute__((always_inline)) void smooth_row(int block, fe_setup *k, const fe_sparse *T,
                                                             int i)
{
    const double *D = k->inverse + (size_t)i * (size_t)(block * block);
    for (int l = k->P.first[i]; l < k->P.first[i + 1]; l++) {
        const double *own = k->P.column[l] == k->of[i] ? fe_sparse_block(T, T->first[i]) : NULL;
        double *P = fe_sparse_block(&k->P, l), AT[6]; /* of A T until now */
        for (int c = 0; c < 6; c++) {
            for (int j = 0; j < block; j++) AT[j] = P[6 * j + c];
            fe_smooth_column(block, D, k->lambda, AT, own, c, 6, P + c);
        }
    }
}

/* C = A B of the level's A, whose rows of ghosts have room but no values yet. */
static fe_status multiply_level(fe_setup *k, const fe_sparse *B, fe_sparse *C)
{
    FE_TRY(fe_sparse_count(&k->A, B, k->threads, k->A.n_column, C));
    FE_TRY(fe_ghost_counts(k, C));
    FE_TRY(fe_sparse_open(C));
    return fe_sparse_fill(&k->A, B, k->threads, C);
}

static fe_status build_prolongator(fe_setup *k)
{
    fe_sparse T = {0};
    fe_status status = build_tentative(k, &T);
    if (status == FE_OK) status = multiply_level(k, &T, &k->P);
    const int n = status == FE_OK ? k->n : 0;
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < n; i++) {
        if (k->block == 3)
            smooth_row(3, k, &T, i);
        else
            smooth_row(6, k, &T, i);
    }
    fe_sparse_close(&T);
    return status == FE_OK ? fe_ghost_rows(k, &k->P) : status;
}

static void complete_diagonal(const uint8_t *absent, fe_sparse *A)
{
    for (int i = 0; i < A->n_row; i++)
        fe_complete_diagonal(absent + 6 * (size_t)i, fe_sparse_block(A, fe_sparse_find(A, i, i)));
}

static fe_status galerkin(fe_setup *k, fe_sparse *next)
{
    fe_sparse AP = {0};
    fe_status status = multiply_level(k, &k->P, &AP);
    if (status == FE_OK) status = fe_ghost_rows(k, &AP);
    if (status == FE_OK) status = fe_sparse_symmetric_product(&k->R, &AP, k->threads, next);
    fe_sparse_close(&AP);
    return status;
}

static fe_status coarsen(fe_setup *k, fe_sparse *next)
{
    FE_TRY(build_prolongator(k));
    FE_TRY(fe_sparse_transpose(&k->P, k->threads, &k->R));
    k->R.n_row = k->n_own; /* its own aggregates, of the nodes of all ranks */
    k->R.n_block = k->R.first[k->n_own];
    FE_TRY(galerkin(k, next));
    complete_diagonal(k->next_absent, next);
    FE_TRY(fe_share_or_gather(k, next));
    if (!k->shared || k->next_shared) return FE_OK;
    fe_sparse_close(&k->R); /* all aggregates, of its own nodes */
    return fe_sparse_transpose(&k->P, k->threads, &k->R);
}

/* --- what stays -------------------------------------------------------------------------------------- */

/* n items that stay on the device as `kept` are set at `here`: there at once if that is this host, else sent
 * by close_kept. */
static fe_status open_here(const fe_setup *k, size_t n, size_t size, const char *what, void *kept,
                           void **here)
{
    *here = kept;
    return k->d->ops->on_gpu ? fe_allocate_large(n, size, k->threads, what, here) : FE_OK;
}
static fe_status close_kept(const fe_setup *k, size_t n, size_t size, void *kept, void *here)
{
    if (here == kept) return FE_OK;
    const fe_status status = k->d->ops->memory.upload(k->d, n * size, here, kept);
    free(here);
    return status;
}

static fe_status send_floats(const fe_setup *k, size_t n, const double *x, const char *what, float *kept)
{
    float *here;
    FE_TRY(open_here(k, n, sizeof *here, what, kept, (void **)&here));
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (size_t i = 0; i < n; i++) here[i] = (float)x[i];
    return close_kept(k, n, sizeof *here, kept, here);
}

static fe_status keep_floats(const fe_setup *k, size_t n, const double *x, const char *what, float **kept)
{
    FE_TRY(fe_device_allocate(k->d, n, sizeof **kept, what, (void **)kept));
    return send_floats(k, n, x, what, *kept);
}

static fe_status keep(const fe_setup *k, const fe_sparse *A, fe_block_matrix *B)
{
    fe_device *d = k->d;
    const int size = A->rows * A->columns;
    const size_t stride = (size_t)FE_BLOCK_STRIDE(size), n = stride * (size_t)A->n_block;
    int16_t *value;
    FE_TRY(fe_block_matrix_open(d, A->n_row, A->rows, A->columns, A->n_block, B));
    FE_TRY(d->ops->memory.upload(d, ((size_t)A->n_row + 1) * sizeof *A->first, A->first, (void *)B->first));
    FE_TRY(d->ops->memory.upload(d, (size_t)A->n_block * sizeof *A->column, A->column, (void *)B->column));
    FE_TRY(open_here(k, n, sizeof *value, "multigrid matrix", (void *)B->value, (void **)&value));
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < A->n_block; i++)
        if (size == 18) /* constants make better code */
            fe_round_block(18, fe_sparse_block(A, i), value + stride * (size_t)i);
        else
            fe_round_block(36, fe_sparse_block(A, i), value + stride * (size_t)i);
    return close_kept(k, n, sizeof *value, (void *)B->value, value);
}

static fe_status keep_matrix(fe_setup *k, fe_block_matrix *A) { return keep(k, &k->A, A); }

static fe_status keep_transfers(fe_setup *k, fe_block_matrix *P, fe_block_matrix *R)
{
    FE_TRY(keep(k, &k->P, P));
    return keep(k, &k->R, R);
}

static fe_status keep_inverse(fe_setup *k, float **kept)
{
    return keep_floats(k, (size_t)k->n * block_square(k), k->inverse, "multigrid level", kept);
}

/* xx yy zz xy yz xz of the diagonal blocks' inverses. */
static fe_status keep_six(fe_setup *k, float **kept, double *beyond)
{
    double *six = NULL;
    *beyond = 0.0;
    FE_ALLOCATE(six, 6 * (size_t)k->n, "multigrid level");
    for (int i = 0; i < k->n; i++)
        for (int c = 0; c < 6; c++) {
            const double value = k->inverse[9 * (size_t)i + (size_t)fe_six_place(c)];
            six[6 * (size_t)i + (size_t)c] = value;
            if (c < 3 && !fe_fits_single(value)) *beyond = value;
        }
    const fe_status status = keep_floats(k, 6 * (size_t)k->n, six, "multigrid level", kept);
    free(six);
    return status;
}

/* Sends M [n][n], or its numbers rounded. */
static fe_status send_dense(const fe_setup *k, const double *M, fe_dense *kept)
{
    const size_t square = (size_t)kept->n * (size_t)kept->n;
    return kept->exact ? k->d->ops->memory.upload(k->d, square * sizeof *M, M, kept->exact)
                       : send_floats(k, square, M, "coarsest matrix", kept->single);
}

static fe_status keep_dense(fe_setup *k, fe_dense *kept, double *condition, int *singular)
{
    const size_t n = 6 * (size_t)k->n;
    double *M = NULL;
    FE_ALLOCATE(M, n * n + 1, "coarsest matrix");
    for (int i = 0; i < k->n; i++)
        for (int p = k->A.first[i]; p < k->A.first[i + 1]; p++)
            for (int c = 0; c < 36; c++)
                M[(6 * (size_t)i + (size_t)(c / 6)) * n + 6 * (size_t)k->A.column[p] + (size_t)(c % 6)] =
                    fe_sparse_block(&k->A, p)[c];
    fe_status status = fe_dense_invert((int)n, k->absent, M, condition, singular);
    if (status == FE_OK) status = fe_dense_open(k->d, (int)n, *condition, kept);
    if (status == FE_OK) status = send_dense(k, M, kept);
    free(M);
    return status;
}

const fe_setup_steps fe_setup_host = {
    .open = open_host,
    .close = close_host,
    .finest = finest,
    .invert_diagonal = invert_diagonal,
    .aggregate = aggregate,
    .measure = measure,
    .coarsen = coarsen,
    .descend = descend,
    .keep_matrix = keep_matrix,
    .keep_transfers = keep_transfers,
    .keep_inverse = keep_inverse,
    .keep_six = keep_six,
    .keep_dense = keep_dense,
    .ranks = &fe_rank_steps_host,
};
