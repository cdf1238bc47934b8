/* The hierarchy, built on the host in double precision and stored in single precision on the device. */
#include "common/solver/multigrid_setup.h"
#include "common/solver/aggregate.h"
#include "common/solver/multigrid_ranks.h"

#include <cblas.h>
#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

/* Pieces of the finest level: 27 nodes, and 12 where bodies are thin, cells long or the material nearly
 * incompressible; pieces of coarser levels. The dense level has so many aggregates at most: coarsening past
 * the thickness of a part ruins a cycle. Measured on bending boxes, brackets, plates: tests/test_multigrid.c
 */
enum { PIECE = 27, SMALL_PIECE = 12, COARSE_PIECE = 10, MOST_DENSE = 256, LEAST = 4 };
/* Sweeps damp the spectrum from lambda over this number on; without coarser levels they have to reach deeper.
 */
enum { COARSER_RATIO = 8, ALONE_RATIO = 30 };

/* The level at hand, and what leads to the next. Nodes are this rank's on the finest level, else all. */
typedef struct draft {
    fe_multigrid *m;
    fe_device *d, *host; /* host: a device for Lanczos' method on coarser levels */
    int coarser, threads, n, block;
    fe_sparse A;     /* columns of ghosts, too, on the finest level */
    double *x;       /* [n][3] */
    double *size;    /* [n] of the rotations' unit; NULL on the finest level */
    uint8_t *absent; /* [n][block] and of ghosts: unknowns that do not exist, their rows of P are zero */
    double *inverse; /* [n][block][block] */
    double lambda;
    int *of, n_own; /* aggregate of a node, ghosts too, -1: none; this rank's aggregates */
    fe_sparse P, R; /* [n][n_next]; the transpose */
    int n_next;
    double *next_x, *next_size;
    uint8_t *next_absent;
} draft;

static size_t block_square(const draft *k) { return (size_t)(k->block * k->block); }

/* --- the level at hand ------------------------------------------------------------------------------- */

static fe_status invert_diagonal(draft *k)
{
    FE_ALLOCATE(k->inverse, (size_t)k->n * block_square(k), "multigrid level");
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < k->n; i++) {
        double *D = k->inverse + (size_t)i * block_square(k);
        memcpy(D, fe_sparse_block(&k->A, fe_sparse_find(&k->A, i, i)), block_square(k) * sizeof *D);
        fe_small_invert(k->block, D);
    }
    return FE_OK;
}

static fe_status apply_matrix(void *context, double *x, double *y)
{
    const draft *k = context;
    fe_sparse_apply(&k->A, k->threads, x, y);
    return FE_OK;
}

static fe_status apply_inverse(void *context, double *x, double *y)
{
    const draft *k = context;
    const int b = k->block;
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < k->n; i++)
        for (int r = 0; r < b; r++) {
            const double *row = k->inverse + (size_t)i * block_square(k) + (size_t)(r * b),
                         *xi = x + (size_t)i * b;
            double sum = 0.0;
            for (int c = 0; c < b; c++) sum += row[c] * xi[c];
            y[(size_t)i * b + (size_t)r] = sum;
        }
    return FE_OK;
}

static fe_status apply_fine(void *context, double *x, double *y)
{
    return fe_multigrid_product(context, x, y);
}

static fe_status apply_fine_inverse(void *context, double *x, double *y)
{
    fe_multigrid *m = context;
    return fe_block_ops_of(m->device)->fine_sweep(m->device, m->problem->view.n_owned, m->inverse,
                                                  (fe_sweep){0.0f, 1.0f}, x, NULL, m->direction, y);
}

static fe_status bound_spectrum(draft *k, int level)
{
    fe_multigrid *m = k->m;
    const fe_operator coarse = {.apply = apply_matrix, .context = k},
                      coarse_inverse = {.apply = apply_inverse, .context = k},
                      fine = {.apply = apply_fine, .context = m},
                      fine_inverse = {.apply = apply_fine_inverse, .context = m};
    const size_t n = (size_t)k->n * (size_t)k->block;
    if (level == 0)
        FE_TRY(fe_lanczos_bound(k->d, m->comm, n, 3 * (size_t)m->problem->view.n_local, &fine, &fine_inverse,
                                &k->lambda));
    else
        FE_TRY(fe_lanczos_bound(k->host, NULL, n, n, &coarse, &coarse_inverse, &k->lambda));
    m->report.lambda[level] = k->lambda;
    fe_chebyshev_sweeps(k->lambda, k->coarser ? COARSER_RATIO : ALONE_RATIO, m->degree,
                        level == 0 ? m->sweep : m->coarse[level - 1].sweep);
    return FE_OK;
}

/* --- the prolongator --------------------------------------------------------------------------------- */

/* Centres and sizes of this rank's aggregates: mean position, and root of the mean square distance from it.
 */
static fe_status measure_aggregates(draft *k)
{
    int *count = NULL;
    FE_ALLOCATE(k->next_x, 3 * (size_t)k->n_own, "aggregates");
    FE_ALLOCATE(k->next_size, k->n_own, "aggregates");
    FE_ALLOCATE(count, k->n_own, "aggregates");
    fe_multigrid_report *report = &k->m->report;
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
        if (report->n_level > 1) continue;
        if (a == 0 || count[a] < report->smallest) report->smallest = count[a];
        if (count[a] > report->largest) report->largest = count[a];
    }
    free(count);
    return FE_OK;
}

/* Block [block][6] of the tentative prolongator at node i. */
static void tentative(const draft *k, int i, double *T)
{
    const int a = k->of[i], b = k->block;
    const double unit = k->next_size[a], *x = k->x + 3 * (size_t)i, *centre = k->next_x + 3 * (size_t)a;
    memset(T, 0, (size_t)(6 * b) * sizeof *T);
    for (int c = 0; c < 3; c++) {
        const int p = (c + 1) % 3, q = (c + 2) % 3; /* omega × r: omega_p r_q - omega_q r_p */
        T[6 * c + c] = 1.0;
        T[6 * c + 3 + p] = (x[q] - centre[q]) / unit;
        T[6 * c + 3 + q] = -(x[p] - centre[p]) / unit;
        if (b == 6) T[6 * (3 + c) + 3 + c] = k->size[i] / unit;
    }
    for (int r = 0; r < b; r++)
        for (int c = 0; c < 6 && k->absent[(size_t)i * (size_t)b + (size_t)r]; c++) T[6 * r + c] = 0.0;
}

/* Modes that the ones before them can express, as far as supports leave them: they are left out. */
static void eliminate(double G[6][6], uint8_t absent[6])
{
    double largest = 0.0;
    for (int c = 0; c < 6; c++) largest = fmax(largest, G[c][c]);
    for (int p = 0; p < 6; p++) {
        absent[p] = !(G[p][p] > 1e-8 * largest);
        for (int i = p + 1; i < 6 && !absent[p]; i++)
            for (int j = 5; j >= p; j--) G[i][j] -= G[i][p] / G[p][p] * G[p][j];
    }
}

/* The modes that this rank's aggregates do not have. */
static fe_status find_absent(draft *k)
{
    double(*G)[6][6] = NULL;
    FE_ALLOCATE(k->next_absent, 6 * (size_t)k->n_own, "aggregates");
    FE_ALLOCATE(G, k->n_own, "aggregates");
    for (int i = 0; i < k->n; i++) {
        double t[36];
        if (k->of[i] < 0) continue;
        tentative(k, i, t);
        for (int r = 0; r < k->block; r++)
            for (int c = 0; c < 36; c++) G[k->of[i]][c / 6][c % 6] += t[6 * r + c / 6] * t[6 * r + c % 6];
    }
    for (int a = 0; a < k->n_own; a++) eliminate(G[a], k->next_absent + 6 * (size_t)a);
    free(G);
    return FE_OK;
}

/* T: one block for each node that has an aggregate, ghosts too. */
static fe_status build_tentative(const draft *k, fe_sparse *T)
{
    const int n = k->A.n_column, width = 6 * k->block;
    *T = (fe_sparse){.n_row = n, .n_column = k->n_next, .rows = k->block, .columns = 6};
    FE_ALLOCATE(T->first, (size_t)n + 1, "multigrid matrix");
    for (int i = 0; i < n; i++) T->first[i + 1] = k->of[i] >= 0;
    FE_TRY(fe_sparse_open(T, k->threads));
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < n; i++) {
        if (k->of[i] < 0) continue;
        double *t = fe_sparse_block(T, T->first[i]);
        T->column[T->first[i]] = k->of[i];
        tentative(k, i, t);
        for (int c = 0; c < width; c++)
            if (k->next_absent[6 * (size_t)k->of[i] + (size_t)(c % 6)]) t[c] = 0.0;
    }
    return FE_OK;
}

/* Row i of P = (I - 4 / (3 lambda) D^-1 A) T, from A T in its place. */
static void smooth_row(draft *k, const fe_sparse *T, int i)
{
    const int b = k->block;
    const double *D = k->inverse + (size_t)i * block_square(k), factor = -4.0 / (3.0 * k->lambda);
    for (int l = k->P.first[i]; l < k->P.first[i + 1]; l++) {
        double *P = fe_sparse_block(&k->P, l), AT[36];
        memcpy(AT, P, (size_t)(6 * b) * sizeof *AT);
        for (int r = 0; r < b; r++)
            for (int c = 0; c < 6; c++) {
                double sum = 0.0;
                for (int j = 0; j < b; j++) sum += D[r * b + j] * AT[6 * j + c];
                P[6 * r + c] = factor * sum;
            }
        if (k->P.column[l] != k->of[i]) continue;
        const double *t = fe_sparse_block(T, T->first[i]);
        for (int c = 0; c < 6 * b; c++) P[c] += t[c];
    }
}

static fe_status build_prolongator(draft *k)
{
    fe_sparse T = {0};
    fe_status status = build_tentative(k, &T);
    if (status == FE_OK) status = fe_sparse_product(&k->A, &T, k->threads, &k->P);
    const int n = status == FE_OK ? k->n : 0;
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < n; i++) smooth_row(k, &T, i);
    fe_sparse_close(&T);
    return status;
}

/* Nodes that supports hold, or that no element uses, are in no aggregate. */
static int is_free(const draft *k, int i)
{
    const double *D = k->inverse + (size_t)i * block_square(k);
    for (int c = 0; c < k->block; c++)
        if (!k->absent[(size_t)i * (size_t)k->block + (size_t)c] && D[c * (k->block + 1)] > 0.0) return 1;
    return 0;
}

static fe_status aggregate(draft *k, int level)
{
    fe_graph g = {.n = k->n, .first = k->A.first, .column = k->A.column, .x = k->x};
    uint8_t *left_out = NULL;
    fe_sparse own = {0}; /* without ghosts */
    fe_status status = FE_OK;
    FE_ALLOCATE(k->of, k->A.n_column, "aggregates");
    FE_ALLOCATE(left_out, k->n, "aggregates");
    for (int i = 0; i < k->n; i++) left_out[i] = !is_free(k, i);
    g.left_out = left_out;
    if (k->A.n_column > k->n) {
        status = fe_sparse_left(&k->A, k->n, k->threads, &own);
        g.first = own.first, g.column = own.column;
    }
    if (status == FE_OK)
        status = fe_aggregate(&g, level == 0 ? k->m->report.most : COARSE_PIECE, level == 0 ? LEAST : 2,
                              level == 0, k->threads, k->of, &k->n_own);
    free(left_out);
    fe_sparse_close(&own);
    return status;
}

/* --- the next level ---------------------------------------------------------------------------------- */

/* Unknowns that do not exist get a one on the diagonal. */
static void complete_diagonal(const uint8_t *absent, fe_sparse *A)
{
    for (int i = 0; i < A->n_row; i++) {
        double *D = fe_sparse_block(A, fe_sparse_find(A, i, i));
        for (int c = 0; c < 6; c++)
            if (absent[6 * (size_t)i + (size_t)c]) D[7 * c] = 1.0;
    }
}

static fe_status upload_floats(const draft *k, size_t n, const double *x, const char *what, float **out)
{
    float *single = NULL;
    FE_TRY(fe_allocate_large(n, sizeof *single, k->threads, what, (void **)&single));
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (size_t i = 0; i < n; i++) single[i] = (float)x[i];
    const fe_status status = fe_device_upload(k->d, n, sizeof *single, single, what, (void **)out);
    free(single);
    return status;
}

static fe_status upload_matrix(const draft *k, const fe_sparse *A, fe_block_matrix *B)
{
    fe_device *d = k->d;
    const size_t n = (size_t)A->first[A->n_row];
    *B = (fe_block_matrix){.n_row = A->n_row, .rows = A->rows, .columns = A->columns};
    FE_TRY(fe_device_upload(d, (size_t)A->n_row + 1, sizeof(int), A->first, "multigrid matrix",
                            (void **)&B->first));
    FE_TRY(fe_device_upload(d, n, sizeof(int), A->column, "multigrid matrix", (void **)&B->column));
    return upload_floats(k, n * (size_t)(A->rows * A->columns), A->value, "multigrid matrix",
                         (float **)&B->value);
}

static fe_status level_vectors(fe_device *d, fe_coarse_level *l)
{
    float **vectors[] = {&l->b, &l->x, &l->y, &l->r, &l->direction};
    for (int i = 0; i < 5; i++)
        FE_TRY(
            fe_device_allocate(d, 6 * (size_t)l->n, sizeof(float), "multigrid vector", (void **)vectors[i]));
    return FE_OK;
}

static fe_status galerkin(draft *k, fe_sparse *next)
{
    fe_sparse AP = {0};
    fe_status status = fe_sparse_product(&k->A, &k->P, k->threads, &AP);
    if (status == FE_OK) status = fe_sparse_product(&k->R, &AP, k->threads, next);
    fe_sparse_close(&AP);
    return status;
}

static void close_step(draft *k)
{
    fe_sparse_close(&k->P), fe_sparse_close(&k->R);
    free(k->of), free(k->inverse), free(k->next_x), free(k->next_size), free(k->next_absent);
    k->of = NULL, k->inverse = NULL, k->next_x = k->next_size = NULL, k->next_absent = NULL;
}

/* The next level takes the place of the one at hand. */
static void descend(draft *k, fe_sparse *next)
{
    free(k->x), free(k->size), free(k->absent);
    fe_sparse_close(&k->A);
    k->x = k->next_x, k->size = k->next_size, k->absent = k->next_absent, k->A = *next;
    k->next_x = k->next_size = NULL, k->next_absent = NULL;
    k->n = k->n_next, k->block = 6;
    close_step(k);
}

/* Inverse of the coarsest matrix. Where it has a null space, of a part that nothing holds: that of its range,
 * by eigenvectors. */
static fe_status invert_dense(draft *k, double *M)
{
    const int n = 6 * k->n;
    double *vectors = NULL, *values = NULL, largest = 0.0;
    const size_t square = (size_t)n * (size_t)n;
    FE_ALLOCATE(vectors, 2 * square + 1, "coarsest matrix");
    memcpy(vectors, M, square * sizeof *M);
    for (int i = 0; i < n; i++) largest = fmax(largest, M[(size_t)i * (size_t)(n + 1)]);
    int info = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, M, n);
    for (int i = 0; i < n && info == 0; i++) { /* pivots; those of an absent unknown are one */
        const double pivot = M[(size_t)i * (size_t)(n + 1)];
        const int absent = k->absent[i];
        if (!absent && !(pivot * pivot > 1e-12 * vectors[(size_t)i * (size_t)(n + 1)])) info = 1;
    }
    if (info == 0) info = LAPACKE_dpotri(LAPACK_COL_MAJOR, 'L', n, M, n);
    if (info != 0) {
        k->m->report.singular = 1;
        if (fe_allocate((size_t)n, sizeof *values, "coarsest matrix", (void **)&values) != FE_OK) {
            free(vectors);
            return FE_OUT_OF_MEMORY;
        }
        info = LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', n, vectors, n, values);
        double *scaled = vectors + square;
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                const size_t at = (size_t)j * (size_t)n + (size_t)i;
                scaled[at] = values[j] > 1e-10 * largest ? vectors[at] / values[j] : 0.0;
            }
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, n, n, 1.0, scaled, n, vectors, n, 0.0, M, n);
        free(values);
    }
    free(vectors);
    for (int j = 0; j < n; j++) /* the upper half as the lower one */
        for (int i = j + 1; i < n; i++)
            M[(size_t)i * (size_t)n + (size_t)j] = M[(size_t)j * (size_t)n + (size_t)i];
    return info == 0 ? FE_OK : fe_fail(FE_FAILED, "LAPACK returned %d on the coarsest matrix", info);
}

static fe_status build_dense(draft *k, fe_coarse_level *l)
{
    const size_t n = 6 * (size_t)k->n;
    double *M = NULL;
    FE_ALLOCATE(M, n * n + 1, "coarsest matrix");
    for (int i = 0; i < k->n; i++)
        for (int p = k->A.first[i]; p < k->A.first[i + 1]; p++)
            for (int c = 0; c < 36; c++)
                M[(6 * (size_t)i + (size_t)(c / 6)) * n + 6 * (size_t)k->A.column[p] + (size_t)(c % 6)] =
                    fe_sparse_block(&k->A, p)[c];
    fe_status status = invert_dense(k, M);
    if (status == FE_OK) status = upload_floats(k, n * n, M, "coarsest matrix", &l->dense);
    free(M);
    return status;
}

/* P, R and the vectors of the next level, and its matrix, which becomes the one at hand. */
static fe_status step_down(draft *k, int level)
{
    fe_multigrid *m = k->m;
    fe_coarse_level *l = &m->coarse[level];
    fe_sparse next = {0};
    FE_TRY(measure_aggregates(k));
    FE_TRY(find_absent(k));
    k->n_next = k->n_own;
    fe_multigrid_share share = {k->d, m->comm, &m->problem->view, k->threads};
    const int ranks = level == 0 && m->comm->size > 1;
    if (ranks) {
        fe_multigrid_aggregates all = {k->n_own, k->of, k->absent, k->next_absent, k->next_x, k->next_size};
        const fe_status status = fe_multigrid_number(&share, &all);
        k->n_next = all.n, k->next_absent = all.absent, k->next_x = all.x, k->next_size = all.size;
        FE_TRY(status);
    }
    FE_TRY(build_prolongator(k));
    FE_TRY(fe_sparse_transpose(&k->P, k->threads, &k->R));
    FE_TRY(ranks ? fe_multigrid_galerkin(&share, &k->A, &k->P, &k->R, &next) : galerkin(k, &next));
    l->n = k->n_next;
    FE_TRY(upload_matrix(k, &k->P, &l->P));
    FE_TRY(upload_matrix(k, &k->R, &l->R));
    FE_TRY(level_vectors(k->d, l));
    complete_diagonal(k->next_absent, &next);
    m->report.n[level + 1] = l->n, m->report.n_level = level + 2;
    m->n_coarse = level + 1;
    descend(k, &next);
    return FE_OK;
}

/* Entries of the matrices; the finest one counts too. */
static double entries(const draft *k) { return (double)k->A.first[k->A.n_row] * (double)block_square(k); }

/* A coarse level that is not the coarsest: its matrix and smoother. */
static fe_status finish_level(draft *k, int level)
{
    fe_coarse_level *l = &k->m->coarse[level - 1];
    FE_TRY(invert_diagonal(k));
    FE_TRY(bound_spectrum(k, level));
    FE_TRY(upload_matrix(k, &k->A, &l->A));
    return upload_floats(k, (size_t)k->n * block_square(k), k->inverse, "multigrid level", &l->inverse);
}

/* Longest over shortest distance from a node to a neighbour: 1.7 in a cube's corner, 4 with cells of 3 : 1
 * : 1. */
static double stretch_at(const fe_elastic_rows *e, int i)
{
    const fe_view *v = &e->view;
    double least = INFINITY, most = 0.0;
    for (int k = e->A.first[i]; k < e->A.first[i + 1]; k++) {
        double square = 0.0;
        for (int c = 0; c < 3; c++) {
            const double r = v->x[3 * (size_t)e->A.column[k] + (size_t)c] - v->x[3 * (size_t)i + (size_t)c];
            square += r * r;
        }
        if (square > most) most = square;
        if (square > 0.0 && square < least) least = square;
    }
    return most > 0.0 ? sqrt(most / least) : 1.0;
}

/* Sizes of pieces and number of sweeps, alike on all ranks. */
static fe_status choose(draft *k, const fe_elastic_rows *e)
{
    fe_multigrid *m = k->m;
    const fe_j2 *material = &e->view.material;
    enum { SAMPLE = 997 };
    const int n = e->view.n_owned;
    double sums[4] = {n}; /* nodes, those on the surface, those of a sample, their stretch */
    for (int i = 0; i < n; i++) sums[1] += e->surface[i];
    for (int i = 0; i < n; i += 1 + n / SAMPLE) sums[2] += 1.0, sums[3] += stretch_at(e, i);
    FE_TRY(fe_multigrid_sum(k->d, m->comm, 4, sums));
    const int thin = sums[1] > 0.5 * sums[0], stretched = sums[3] > 5.0 * sums[2];
    const int stiff = material->bulk > 10.0 * material->shear; /* Poisson's ratio above 0.45 */
    m->report.most = thin || stretched || stiff ? SMALL_PIECE : PIECE;
    m->degree = m->report.degree = stiff || stretched || !k->coarser ? 4 : 2;
    m->report.n[0] = (int)sums[0], m->report.n_level = 1;
    return FE_OK;
}

/* xx yy zz xy yz xz of the diagonal blocks' inverses. */
static fe_status upload_fine_inverse(draft *k)
{
    static const int place[6] = {0, 4, 8, 1, 5, 2};
    double *six = NULL;
    FE_ALLOCATE(six, 6 * (size_t)k->n, "multigrid level");
    for (int i = 0; i < k->n; i++)
        for (int c = 0; c < 6; c++)
            six[6 * (size_t)i + (size_t)c] = k->inverse[9 * (size_t)i + (size_t)place[c]];
    const fe_status status = upload_floats(k, 6 * (size_t)k->n, six, "multigrid level", &k->m->inverse);
    free(six);
    return status;
}

/* Stiffnesses, and what a cycle makes of residuals 1e-10 times as large, have to fit into single precision.
 */
static fe_status check_range(const draft *k)
{
    const double least = 1e-25, most = 1e25;
    for (size_t i = 0; i < (size_t)k->n; i++)
        for (size_t c = 0; c < 3; c++) {
            const double D = k->inverse[9 * i + 4 * c];
            if (D != 0.0 && !(D > least && D < most))
                return fe_fail(
                    FE_FAILED,
                    "multigrid: a stiffness of %.1e is beyond single precision; use other units or "
                    "--precondition block-jacobi",
                    1.0 / D);
        }
    return FE_OK;
}

static fe_status open_finest(draft *k, int n_fixed, const int *at)
{
    fe_multigrid *m = k->m;
    const fe_view *v = &m->problem->view;
    fe_elastic_rows e = {0};
    fe_status status = fe_elastic_rows_open(m->problem, n_fixed, at, k->threads, &e);
    if (status == FE_OK) status = choose(k, &e);
    k->n = v->n_owned, k->block = 3;
    k->x = (double *)e.view.x, k->absent = e.fixed, k->A = e.A;
    e.view.x = NULL, e.fixed = NULL, e.A = (fe_sparse){0};
    fe_elastic_rows_close(&e);
    FE_TRY(status);
    FE_TRY(invert_diagonal(k));
    FE_TRY(check_range(k));
    FE_TRY(upload_fine_inverse(k));
    FE_TRY(fe_device_allocate(k->d, 3 * (size_t)v->n_owned, sizeof(float), "multigrid vector",
                              (void **)&m->direction));
    FE_TRY(fe_device_vector(k->d, v->n_local, "multigrid vector", &m->product));
    return bound_spectrum(k, 0);
}

static fe_status build(draft *k, int n_fixed, const int *at)
{
    fe_multigrid *m = k->m;
    FE_TRY(open_finest(k, n_fixed, at));
    const double finest = entries(k);
    double all = finest;
    for (int level = 0; k->coarser && level + 1 < FE_MOST_LEVELS; level++) {
        FE_TRY(aggregate(k, level));
        double total = k->n_own;
        if (level == 0) FE_TRY(fe_multigrid_sum(k->d, m->comm, 1, &total));
        if (total < 1.0 || (level > 0 && total > 0.7 * k->n)) break; /* it would not get coarser */
        FE_TRY(step_down(k, level));
        all += entries(k);
        if (k->n <= MOST_DENSE) {
            FE_TRY(build_dense(k, &m->coarse[level]));
            break;
        }
        FE_TRY(finish_level(k, level + 1));
    }
    m->report.complexity = all / finest;
    if (m->comm->size > 1 && m->n_coarse > 0)
        FE_TRY(fe_device_allocate(k->d, 6 * (size_t)m->coarse[0].n, sizeof(double), "multigrid vector",
                                  (void **)&m->gathered));
    return FE_OK;
}

/* What keeps its tangent in a matrix has no elastic product while that is of another state. */
static fe_status choose_product(fe_multigrid *m)
{
    if (!(m->assembly->traits & FE_ASSEMBLED)) return FE_OK;
    const fe_variant *rows = fe_variant_find("node_csr");
    if (!rows) return fe_fail(FE_FAILED, "multigrid: node_csr is not in this build");
    m->assembly = m->device->ops == &fe_backend_host ? rows->host : rows->cuda;
    m->work = NULL; /* it has no set-up */
    return FE_OK;
}

fe_status fe_multigrid_open(const fe_problem *problem, const fe_assembly *assembly, void *work, fe_comm *comm,
                            int n_fixed, const int *at, int coarser, fe_multigrid *m)
{
    const double start = fe_seconds();
    const size_t before = problem->device->bytes_resident;
    *m = (fe_multigrid){
        .problem = problem, .assembly = assembly, .work = work, .comm = comm, .device = problem->device};
    draft k = {.coarser = coarser,
               .m = m,
               .d = problem->device,
               .threads = problem->device->threads > 0 ? problem->device->threads : 1};
    FE_TRY(choose_product(m));
    FE_TRY(fe_backend_host.open(0, k.threads, &k.host));
    const fe_status status = build(&k, n_fixed, at);
    close_step(&k);
    free(k.x), free(k.size), free(k.absent);
    fe_sparse_close(&k.A);
    k.host->ops->close(k.host);
    m->report.bytes = problem->device->bytes_resident - before;
    m->report.seconds = fe_seconds() - start;
    return status;
}
