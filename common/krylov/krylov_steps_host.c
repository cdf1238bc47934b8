/* Krylov solvers' own operations on the host: BLAS in blocks of fixed size, so that the order of sums does
 * not depend on the number of threads; and the small matrices. */
#include "common/backend/host_device.h"
#include "common/krylov/conjugate.h"
#include "common/krylov/hessenberg.h"
#include "common/krylov/krylov_steps.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

/* --- columns, a block of rows at a time -------------------------------------------------------------- */

static double *doubles(fe_columns V, size_t first) { return (double *)V.memory + first; }
static float *floats(fe_columns V, int j, size_t first) { return (float *)V.memory + j * V.ld + first; }

static double dot_single(int rows, const float *v, const double *w)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < rows; i++) sum += (double)v[i] * w[i];
    return sum;
}

/* out[j] = V_j · w over a block's rows */
static void block_dots(int rows, int k, fe_columns V, size_t first, const double *w, double *out)
{
    for (int j = 0; j < k && V.single; j++) out[j] = dot_single(rows, floats(V, j, first), w);
    if (V.single || k == 0) return;
    if (k == 1)
        *out = cblas_ddot(rows, doubles(V, first), 1, w, 1);
    else
        cblas_dgemv(CblasColMajor, CblasTrans, rows, k, 1.0, doubles(V, first), (int)V.ld, w, 1, 0.0, out, 1);
}

/* y += sign V h over a block's rows */
static void block_combine(int rows, int k, double sign, fe_columns V, size_t first, const double *h,
                          double *y)
{
    for (int j = 0; j < k && V.single; j++) {
        const float *v = floats(V, j, first);
        const double factor = sign * h[j];
        for (int i = 0; i < rows; i++) y[i] += factor * (double)v[i];
    }
    if (V.single || k == 0) return;
    if (k == 1)
        cblas_daxpy(rows, sign * *h, doubles(V, first), 1, y, 1);
    else
        cblas_dgemv(CblasColMajor, CblasNoTrans, rows, k, sign, doubles(V, first), (int)V.ld, h, 1, 1.0, y,
                    1);
}

/* x as the numbers of V's first column */
static void block_store(size_t rows, fe_columns V, size_t first, const double *x)
{
    if (V.single)
        for (size_t i = 0; i < rows; i++) floats(V, 0, first)[i] = (float)x[i];
    else if (doubles(V, first) != x)
        memcpy(doubles(V, first), x, rows * sizeof *x);
}

static void block_load(size_t rows, fe_columns V, size_t first, double *x)
{
    if (V.single)
        for (size_t i = 0; i < rows; i++) x[i] = (double)floats(V, 0, first)[i];
    else if (doubles(V, first) != x)
        memcpy(x, doubles(V, first), rows * sizeof *x);
}

/* --- sums -------------------------------------------------------------------------------------------- */

static fe_status dots(fe_device *d, size_t n, int k, fe_columns V, const double *w, double *out)
{
    FE_TRY(fe_host_reserve_partial(self(d), n_block(n) * (size_t)k));
    double *partial = self(d)->partial;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t b = 0; b < n_block(n); b++)
        block_dots((int)block_rows(n, b), k, V, b * BLOCK, w + b * BLOCK, partial + b * (size_t)k);
    fe_host_add_blocks(self(d), n, (size_t)k, out);
    return FE_OK;
}

/* A block of V fits a cache, so w finds it there; dgemm with both copies it first and took twice as long. */
static fe_status dots_pair(fe_device *d, size_t n, int k, fe_columns V, const double *u, const double *w,
                           double *out)
{
    const size_t width = 2 * ((size_t)k + 2);
    const double *both[2] = {u, w};
    FE_TRY(fe_host_reserve_partial(self(d), n_block(n) * width));
    double *partial = self(d)->partial;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t b = 0; b < n_block(n); b++) {
        const int rows = (int)block_rows(n, b);
        const size_t first = b * BLOCK;
        for (int c = 0; c < 2; c++) {
            double *sums = partial + b * width + (size_t)(c * (k + 2));
            block_dots(rows, k, V, first, both[c] + first, sums);
            for (int e = 0; e < 2; e++)
                sums[k + e] = cblas_ddot(rows, both[e] + first, 1, both[c] + first, 1);
        }
    }
    fe_host_add_blocks(self(d), n, width, out);
    return FE_OK;
}

/* --- vectors from columns, and columns from vectors -------------------------------------------------- */

static fe_status combine(fe_device *d, size_t n, int k, double sign, fe_columns V, const double *h, double *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t b = 0; b < n_block(n); b++)
        block_combine((int)block_rows(n, b), k, sign, V, b * BLOCK, h, y + b * BLOCK);
    return FE_OK;
}

static fe_status store(fe_device *d, size_t n, const double *x, const double *a, fe_columns V, double *v)
{
    const double factor = *a != 0.0 ? 1.0 / *a : 0.0;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t b = 0; b < n_block(n); b++) {
        const size_t first = b * BLOCK, rows = block_rows(n, b);
        for (size_t i = first; i < first + rows; i++) v[i] = factor * x[i];
        block_store(rows, V, first, v + first);
        block_load(rows, V, first, v + first);
    }
    return FE_OK;
}

static fe_status load(fe_device *d, size_t n, fe_columns V, double *v)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t b = 0; b < n_block(n); b++) block_load(block_rows(n, b), V, b * BLOCK, v + b * BLOCK);
    return FE_OK;
}

/* --- GMRES's small matrices -------------------------------------------------------------------------- */

static fe_status hessenberg_column(fe_device *d, int j, int restart, double *workspace)
{
    (void)d;
    fe_hessenberg_column(workspace, restart, j);
    return FE_OK;
}

static fe_status hessenberg_solve(fe_device *d, int k, int restart, double *workspace, double *y)
{
    (void)d;
    fe_hessenberg_solve(workspace, restart, k, y);
    return FE_OK;
}

/* Column j of V and w become (V_0 … V_{j-1}, u, w) c with c [2][j + 2]. */
static void combine_pair(int threads, size_t n, int j, fe_columns V, const double *u, double *w,
                         const double *c)
{
    const double *e = c + j + 2;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t b = 0; b < n_block(n); b++) {
        const size_t first = b * BLOCK, rows = block_rows(n, b);
        double q[BLOCK];
        for (size_t i = 0; i < rows; i++) {
            const double ui = u[first + i], wi = w[first + i];
            q[i] = c[j] * ui + c[j + 1] * wi;
            w[first + i] = e[j] * ui + e[j + 1] * wi;
        }
        block_combine((int)rows, j, 1.0, V, first, c, q);
        block_combine((int)rows, j, 1.0, V, first, e, w + first);
        block_store(rows, fe_columns_from(V, (size_t)j), first, q);
    }
}

static fe_status delayed_column(fe_device *d, size_t n, int j, int restart, double *workspace, fe_columns V,
                                const double *u, double *w, const double *pair)
{
    const int k = j + 2;
    const fe_delayed delayed = fe_delayed_of(j, pair);
    double *factors = NULL; /* [2][k] */
    FE_ALLOCATE(factors, 2 * (size_t)k, "Hessenberg column");
    for (int i = 0; i < k; i++) fe_delayed_factors(j, pair, &delayed, i, factors + i, factors + k + i);
    combine_pair(d->threads, n, j, V, u, w, factors);
    free(factors);
    fe_delayed_column(workspace, restart, j, pair, &delayed, 0, 1);
    return FE_OK;
}

static fe_status delayed_finish(fe_device *d, int j, int restart, double *workspace, const double *s)
{
    (void)d;
    fe_delayed_finish(workspace, restart, j, s, fe_delayed_alpha(j, s), 0, 1);
    return FE_OK;
}

/* --- conjugate gradients ----------------------------------------------------------------------------- */

static fe_status cg_sums(fe_device *d, const fe_cg_vectors *v, double *from)
{
    const size_t n = v->n;
    const double *r = v->r, *u = v->u, *w = v->w;
    FE_TRY(fe_host_reserve_partial(self(d), 2 * n_block(n)));
    double *partial = self(d)->partial;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t b = 0; b < n_block(n); b++) {
        const int rows = (int)block_rows(n, b);
        partial[2 * b] = cblas_ddot(rows, r + b * BLOCK, 1, u + b * BLOCK, 1);
        partial[2 * b + 1] = cblas_ddot(rows, w + b * BLOCK, 1, u + b * BLOCK, 1);
    }
    fe_host_add_blocks(self(d), n, 2, from + FE_CG_GAMMA);
    return FE_OK;
}

/* out[0] = a·b and out[1] = c·b of a block's rows */
static void float_sums(size_t rows, const float *a, const float *b, const float *c, double out[2])
{
    double first = 0.0, second = 0.0;
#pragma omp simd reduction(+ : first, second)
    for (size_t i = 0; i < rows; i++) {
        first += (double)a[i] * (double)b[i];
        second += (double)c[i] * (double)b[i];
    }
    out[0] = first, out[1] = second;
}

static fe_status lanczos_sums(fe_device *d, size_t n, const float *r, const float *u, const float *w,
                              double *out)
{
    FE_TRY(fe_host_reserve_partial(self(d), 2 * n_block(n)));
    double *partial = self(d)->partial;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t b = 0; b < n_block(n); b++)
        float_sums(block_rows(n, b), r + b * BLOCK, u + b * BLOCK, w + b * BLOCK, partial + 2 * b);
    fe_host_add_blocks(self(d), n, 2, out);
    return FE_OK;
}

/* Scalars of the next iteration but r·r, for which partial sums are reserved. */
static fe_status begin_update(fe_device *d, size_t n, const double *from, fe_cg_step *step, double *to)
{
    *step = fe_cg_step_of(from);
    FE_TRY(fe_host_reserve_partial(self(d), n_block(n)));
    fe_cg_pass(from, step, to);
    to[FE_CG_SQUARE] = step->end ? step->square : 0.0;
    return FE_OK;
}

static fe_status lanczos_update(fe_device *d, size_t n, const double *from, float *w, int clear, float *s,
                                float *r, double *to)
{
    fe_cg_step step;
    FE_TRY(begin_update(d, n, from, &step, to));
    if (step.end) return FE_OK;
    const float alpha = (float)step.alpha, beta = (float)step.beta;
    double *partial = self(d)->partial;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t b = 0; b < n_block(n); b++) {
        const size_t first = b * BLOCK, end = first + block_rows(n, b);
        double sum = 0.0;
        for (size_t i = first; i < end; i++) {
            s[i] = beta != 0.0f ? w[i] + beta * s[i] : w[i];
            r[i] -= alpha * s[i];
            if (clear) w[i] = 0.0f;
        }
#pragma omp simd reduction(+ : sum)
        for (size_t i = first; i < end; i++) sum += (double)r[i] * (double)r[i];
        partial[b] = sum;
    }
    fe_host_add_blocks(self(d), n, 1, to + FE_CG_SQUARE);
    return FE_OK;
}

static void start_nodes(int threads, const fe_fine_start *start, const double *r)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < start->n; i++) fe_fine_start_node(start, i, r + 3 * (size_t)i);
}

static fe_status cg_begin(fe_device *d, const fe_cg_vectors *v, const double *b, double share,
                          double *scalars)
{
    FE_TRY(d->ops->vector.copy(d, v->n, b, v->r));
    FE_TRY(d->ops->memory.zero(d, v->n * sizeof *v->x, v->x));
    FE_TRY(d->ops->memory.zero(d, v->n * sizeof *v->w, v->w));
    if (v->start) start_nodes(d->threads, v->start, v->r);
    fe_cg_begin(share, scalars);
    return d->ops->vector.dot(d, v->n, v->r, v->r, scalars + FE_CG_SQUARE);
}

static fe_status cg_update(fe_device *d, const fe_cg_vectors *v, const double *from, double *to)
{
    const size_t n = v->n;
    const uint8_t *const held = v->held;
    const double *const u = v->u;
    double *const w = v->w, *const p = v->p, *const s = v->s, *const x = v->x, *const r = v->r;
    const int clear = v->clear;
    fe_cg_step step;
    FE_TRY(begin_update(d, n, from, &step, to));
    if (step.end) return FE_OK;
    const double alpha = step.alpha, beta = step.beta;
    double *partial = self(d)->partial;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t b = 0; b < n_block(n); b++) {
        const size_t first = b * BLOCK, end = first + block_rows(n, b);
        for (size_t i = first; i < end; i++) {
            const double wi = held && held[i] ? 0.0 : w[i];
            s[i] = beta != 0.0 ? wi + beta * s[i] : wi;
            r[i] -= alpha * s[i];
            if (clear) w[i] = 0.0;
        }
        for (size_t i = first; i < end; i++) {
            p[i] = beta != 0.0 ? u[i] + beta * p[i] : u[i];
            x[i] += alpha * p[i];
        }
        partial[b] = cblas_ddot((int)(end - first), r + first, 1, r + first, 1);
    }
    fe_host_add_blocks(self(d), n, 1, to + FE_CG_SQUARE);
    if (v->start) start_nodes(d->threads, v->start, r);
    return FE_OK;
}

static fe_status cg_step(fe_device *d, const fe_cg_vectors *v, double *from, double *to)
{
    FE_TRY(cg_sums(d, v, from));
    return cg_update(d, v, from, to);
}

const fe_krylov_steps fe_krylov_steps_host = {
    .dots = dots,
    .dots_pair = dots_pair,
    .combine = combine,
    .store = store,
    .load = load,
    .hessenberg_column = hessenberg_column,
    .hessenberg_solve = hessenberg_solve,
    .delayed_column = delayed_column,
    .delayed_finish = delayed_finish,
    .cg_begin = cg_begin,
    .cg_sums = cg_sums,
    .cg_update = cg_update,
    .cg_step = cg_step,
    .lanczos_sums = lanczos_sums,
    .lanczos_update = lanczos_update,
};
