/* The host backend: OpenMP loops, BLAS in blocks of fixed size, so that the order of sums does not depend on
 * the number of threads. */
#include "common/algebra/blocks.h"
#include "common/algebra/conjugate.h"
#include "common/algebra/hessenberg.h"
#include "common/backend/device.h"

#include <cblas.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096 }; /* rows of one partial sum: 32 KB of each vector */

typedef struct allocation {
    struct allocation *next;
    size_t bytes;
    char pad[48]; /* keeps the memory after it 64-byte aligned */
} allocation;

typedef struct host_device {
    fe_device base;
    allocation *memory;
    double *partial; /* [n_partial] sums of blocks */
    size_t n_partial;
    int phase;
    double since, seconds[FE_N_PHASE];
} host_device;

static host_device *self(fe_device *d) { return (host_device *)d; }
static size_t n_block(size_t n) { return (n + BLOCK - 1) / BLOCK; }
static size_t block_rows(size_t n, size_t b) { return n - b * BLOCK < BLOCK ? n - b * BLOCK : BLOCK; }

static void processor_name(char *name, size_t size)
{
    snprintf(name, size, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "model name", 10)) {
            char *value = strchr(line, ':');
            if (value) snprintf(name, size, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
            break;
        }
    if (file) fclose(file);
}

static fe_status host_open(int ordinal, int threads, fe_device **out)
{
    (void)ordinal;
    host_device *d = NULL;
    *out = NULL;
    FE_ALLOCATE(d, 1, "device");
    d->base.ops = &fe_backend_host;
    d->base.threads = threads > 0 ? threads : fe_host_threads() ? fe_host_threads() : fe_host_cores();
    processor_name(d->base.name, sizeof d->base.name);
    d->phase = FE_PHASE_OTHER, d->since = fe_seconds();
    openblas_set_num_threads(1); /* blocks are shared among OpenMP threads here */
    omp_set_num_threads(d->base.threads);
    *out = &d->base;
    return FE_OK;
}

static void host_close(fe_device *d)
{
    if (!d) return;
    fe_device_release_kept(d);
    for (allocation *a = self(d)->memory, *next; a; a = next) next = a->next, free(a);
    free(self(d)->partial);
    free(d);
}

static fe_status host_allocate(fe_device *d, size_t bytes, void **memory)
{
    allocation *a = aligned_alloc(64, bytes + sizeof *a);
    if (!a) return FE_OUT_OF_MEMORY;
    a->next = self(d)->memory, a->bytes = bytes;
    self(d)->memory = a;
    *memory = a + 1;
    char *byte = *memory;
    /* Each thread touches the pages it will work on. */
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t i = 0; i < bytes; i += 64) memset(byte + i, 0, bytes - i < 64 ? bytes - i : 64);
    return FE_OK;
}

static void host_release(fe_device *d, void *memory)
{
    for (allocation **a = &self(d)->memory; *a; a = &(*a)->next)
        if (*a + 1 == (allocation *)memory) {
            allocation *found = *a;
            d->bytes_resident -= found->bytes;
            *a = found->next;
            free(found);
            return;
        }
}

static fe_status host_zero(fe_device *d, size_t bytes, void *memory)
{
    char *byte = memory;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t b = 0; b < n_block(bytes); b++) memset(byte + b * BLOCK, 0, block_rows(bytes, b));
    return FE_OK;
}

static fe_status host_upload(fe_device *d, size_t bytes, const void *host, void *memory)
{
    (void)d;
    memcpy(memory, host, bytes);
    return FE_OK;
}

static fe_status host_download(fe_device *d, size_t bytes, const void *memory, void *host)
{
    (void)d;
    memcpy(host, memory, bytes);
    return FE_OK;
}

static fe_status host_wait(fe_device *d)
{
    (void)d;
    return FE_OK;
}

static fe_status host_copy(fe_device *d, size_t n, const double *x, double *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t i = 0; i < n; i++) y[i] = x[i];
    return FE_OK;
}

static fe_status host_axpy(fe_device *d, size_t n, double a, const double *x, double *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t b = 0; b < n_block(n); b++)
        cblas_daxpy((int)block_rows(n, b), a, x + b * BLOCK, 1, y + b * BLOCK, 1);
    return FE_OK;
}

static fe_status host_scale(fe_device *d, size_t n, double a, double *x)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t i = 0; i < n; i++) x[i] *= a;
    return FE_OK;
}

static fe_status host_add(fe_device *d, size_t n, const double *x, double a, const double *y, double *out)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t i = 0; i < n; i++) out[i] = x[i] + a * y[i];
    return FE_OK;
}

static fe_status host_axpy_scalar(fe_device *d, size_t n, double sign, const double *a, const double *x,
                                  double *y)
{
    return host_axpy(d, n, sign * *a, x, y);
}

static fe_status host_xpay_scalar(fe_device *d, size_t n, const double *x, const double *a, double *y)
{
    const double factor = *a;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t i = 0; i < n; i++) y[i] = x[i] + factor * y[i];
    return FE_OK;
}

static fe_status host_divide(fe_device *d, size_t n, const double *x, const double *a, double *y)
{
    const double factor = *a != 0.0 ? 1.0 / *a : 0.0;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t i = 0; i < n; i++) y[i] = factor * x[i];
    return FE_OK;
}

static fe_status reserve_partial(host_device *d, size_t n)
{
    if (n <= d->n_partial) return FE_OK;
    free(d->partial);
    d->n_partial = 0, d->partial = NULL;
    FE_ALLOCATE(d->partial, n, "partial sums");
    d->n_partial = n;
    return FE_OK;
}

/* V's k columns times each of W's. A block of V fits a cache, so the second column finds it there; dgemm
 * copies it first and took twice as long. */
static fe_status block_dots(fe_device *d, size_t n, int k, const double *V, size_t ld, int columns,
                            const double *W, double *out)
{
    const size_t width = (size_t)columns * k;
    FE_TRY(reserve_partial(self(d), n_block(n) * width));
    double *partial = self(d)->partial;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t b = 0; b < n_block(n); b++) {
        const int rows = (int)block_rows(n, b);
        for (int c = 0; c < columns; c++) {
            const double *w = W + c * ld + b * BLOCK;
            double *sums = partial + b * width + (size_t)c * k;
            if (k == 1)
                *sums = cblas_ddot(rows, V + b * BLOCK, 1, w, 1);
            else
                cblas_dgemv(CblasColMajor, CblasTrans, rows, k, 1.0, V + b * BLOCK, (int)ld, w, 1, 0.0, sums,
                            1);
        }
    }
    for (size_t j = 0; j < width; j++) out[j] = 0.0;
    for (size_t b = 0; b < n_block(n); b++)
        for (size_t j = 0; j < width; j++) out[j] += partial[b * width + j];
    return FE_OK;
}

static fe_status host_dots(fe_device *d, size_t n, int k, const double *V, size_t ld, const double *w,
                           double *out)
{
    return block_dots(d, n, k, V, ld, 1, w, out);
}

static fe_status host_dots_pair(fe_device *d, size_t n, int k, const double *V, size_t ld, double *out)
{
    return block_dots(d, n, k, V, ld, 2, V + (size_t)(k - 2) * ld, out);
}

static fe_status host_combine(fe_device *d, size_t n, int k, double sign, const double *V, size_t ld,
                              const double *h, double *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t b = 0; b < n_block(n); b++)
        cblas_dgemv(CblasColMajor, CblasNoTrans, (int)block_rows(n, b), k, sign, V + b * BLOCK, (int)ld, h, 1,
                    1.0, y + b * BLOCK, 1);
    return FE_OK;
}

static fe_status host_put(fe_device *d, int n, const int *at, double a, const double *values, double *x)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < n; i++) x[at[i]] = values ? a * values[i] : 0.0;
    return FE_OK;
}

static fe_status host_take(fe_device *d, int n, const int *at, const double *x, double *out)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < n; i++) out[i] = x[at[i]];
    return FE_OK;
}

static fe_status host_take_nodes(fe_device *d, int n, const int *node, const double *x, double *out)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < n; i++) memcpy(out + 3 * (size_t)i, x + 3 * (size_t)node[i], 3 * sizeof *out);
    return FE_OK;
}

static fe_status host_take_sum(fe_device *d, int n, const int *at, const double *x, double *out)
{
    (void)d;
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += x[at[i]];
    *out = sum;
    return FE_OK;
}

static fe_status host_largest(fe_device *d, size_t n, const double *x, double *out)
{
    double largest = 0.0;
#pragma omp parallel for schedule(static) num_threads(d->threads) reduction(max : largest)
    for (size_t i = 0; i < n; i++)
        if (fabs(x[i]) > largest) largest = fabs(x[i]);
    *out = largest;
    return FE_OK;
}

static fe_status host_fingerprint(fe_device *d, size_t n, const void *memory, uint64_t *out)
{
    const char *byte = memory;
    uint64_t sum = 0;
#pragma omp parallel for schedule(static) num_threads(d->threads) reduction(+ : sum)
    for (size_t i = 0; i < n; i++) {
        uint64_t word;
        memcpy(&word, byte + i * sizeof word, sizeof word);
        sum += fe_mix(word + FE_WORD_STEP * i);
    }
    *out += sum;
    return FE_OK;
}

static fe_status host_block_constrain(fe_device *d, int n, const int *at, double *D)
{
    (void)d;
    for (int i = 0; i < n; i++) fe_block_constrain(D + 9 * (size_t)(at[i] / 3), at[i] % 3);
    return FE_OK;
}

static fe_status host_block_invert(fe_device *d, int n_node, const double *D, const double *scale,
                                   float *inverse)
{
    const double factor = *scale;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < n_node; i++) fe_block_invert(D + 9 * (size_t)i, factor, inverse + 6 * (size_t)i);
    return FE_OK;
}

static fe_status host_block_apply(fe_device *d, int n_node, const float *inverse, const double *x, double *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < n_node; i++)
        fe_block_apply(inverse + 6 * (size_t)i, x + 3 * (size_t)i, y + 3 * (size_t)i);
    return FE_OK;
}

static fe_status host_ratio(fe_device *d, const double *a, const double *b, double *out)
{
    (void)d;
    *out = *b != 0.0 ? *a / *b : 0.0;
    return FE_OK;
}

static fe_status host_square_root(fe_device *d, double *a)
{
    (void)d;
    *a = sqrt(*a);
    return FE_OK;
}

static fe_status host_hessenberg_column(fe_device *d, int j, int restart, double *workspace)
{
    (void)d;
    fe_hessenberg_column(workspace, restart, j);
    return FE_OK;
}

static fe_status host_hessenberg_solve(fe_device *d, int k, int restart, double *workspace, double *y)
{
    (void)d;
    fe_hessenberg_solve(workspace, restart, k, y);
    return FE_OK;
}

/* (u, w), the last two of k columns, become V c with c [2][k]. */
static void combine_pair(int threads, size_t n, int k, double *V, size_t ld, const double *c)
{
    double *u = V + (size_t)(k - 2) * ld, *w = u + ld;
    const double *e = c + k;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t b = 0; b < n_block(n); b++) {
        const size_t first = b * BLOCK, rows = block_rows(n, b);
        for (size_t i = first; i < first + rows; i++) {
            const double ui = u[i], wi = w[i];
            u[i] = c[k - 2] * ui + c[k - 1] * wi;
            w[i] = e[k - 2] * ui + e[k - 1] * wi;
        }
        for (int j = 0; j < 2; j++)
            cblas_dgemv(CblasColMajor, CblasNoTrans, (int)rows, k - 2, 1.0, V + first, (int)ld, c + j * k, 1,
                        1.0, u + j * ld + first, 1);
    }
}

static fe_status host_delayed_column(fe_device *d, size_t n, int j, int restart, double *workspace, double *V,
                                     size_t ld, const double *pair)
{
    const int k = j + 2;
    const fe_delayed delayed = fe_delayed_of(j, pair);
    double *factors = NULL; /* [2][k] */
    FE_ALLOCATE(factors, 2 * (size_t)k, "Hessenberg column");
    for (int i = 0; i < k; i++) fe_delayed_factors(j, pair, &delayed, i, factors + i, factors + k + i);
    combine_pair(d->threads, n, k, V, ld, factors);
    free(factors);
    fe_delayed_column(workspace, restart, j, pair, &delayed, 0, 1);
    return FE_OK;
}

static fe_status host_delayed_finish(fe_device *d, int j, int restart, double *workspace, const double *s)
{
    (void)d;
    fe_delayed_finish(workspace, restart, j, s, fe_delayed_alpha(j, s), 0, 1);
    return FE_OK;
}

static fe_status host_cg_sums(fe_device *d, size_t n, const double *r, const double *u, const double *w,
                              double *out)
{
    FE_TRY(reserve_partial(self(d), 2 * n_block(n)));
    double *partial = self(d)->partial;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t b = 0; b < n_block(n); b++) {
        const int rows = (int)block_rows(n, b);
        partial[2 * b] = cblas_ddot(rows, r + b * BLOCK, 1, u + b * BLOCK, 1);
        partial[2 * b + 1] = cblas_ddot(rows, w + b * BLOCK, 1, u + b * BLOCK, 1);
    }
    out[0] = out[1] = 0.0;
    for (size_t b = 0; b < n_block(n); b++) out[0] += partial[2 * b], out[1] += partial[2 * b + 1];
    return FE_OK;
}

static fe_status host_cg_update(fe_device *d, size_t n, const double *from, const double *u, const double *w,
                                double *p, double *s, double *x, double *r, double *to)
{
    const fe_cg_step step = fe_cg_step_of(from);
    const double alpha = step.alpha, beta = step.beta;
    FE_TRY(reserve_partial(self(d), n_block(n)));
    double *partial = self(d)->partial;
    fe_cg_pass(from, &step, to);
    to[FE_CG_SQUARE] = step.end ? step.square : 0.0;
    if (step.end) return FE_OK;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t b = 0; b < n_block(n); b++) {
        const size_t first = b * BLOCK, end = first + block_rows(n, b);
        for (size_t i = first; i < end; i++) {
            p[i] = beta != 0.0 ? u[i] + beta * p[i] : u[i];
            s[i] = beta != 0.0 ? w[i] + beta * s[i] : w[i];
            x[i] += alpha * p[i];
            r[i] -= alpha * s[i];
        }
        partial[b] = cblas_ddot((int)(end - first), r + first, 1, r + first, 1);
    }
    for (size_t b = 0; b < n_block(n); b++) to[FE_CG_SQUARE] += partial[b];
    return FE_OK;
}

static fe_status host_phase(fe_device *d, int phase)
{
    const double now = fe_seconds();
    self(d)->seconds[self(d)->phase] += now - self(d)->since;
    self(d)->phase = phase, self(d)->since = now;
    return FE_OK;
}

static fe_status host_seconds(fe_device *d, double seconds[FE_N_PHASE])
{
    FE_TRY(host_phase(d, self(d)->phase));
    memcpy(seconds, self(d)->seconds, sizeof self(d)->seconds);
    memset(self(d)->seconds, 0, sizeof self(d)->seconds);
    return FE_OK;
}

const fe_backend fe_backend_host = {
    .name = "host",
    .open = host_open,
    .close = host_close,
    .wait = host_wait,
    .phase = host_phase,
    .seconds = host_seconds,
    .memory = {.allocate = host_allocate,
               .release = host_release,
               .zero = host_zero,
               .upload = host_upload,
               .download = host_download,
               .fingerprint = host_fingerprint},
    .vector = {.copy = host_copy,
               .axpy = host_axpy,
               .scale = host_scale,
               .add = host_add,
               .axpy_scalar = host_axpy_scalar,
               .xpay_scalar = host_xpay_scalar,
               .divide = host_divide,
               .largest = host_largest,
               .put = host_put,
               .take = host_take,
               .take_sum = host_take_sum,
               .take_nodes = host_take_nodes,
               .ratio = host_ratio,
               .square_root = host_square_root},
    .column = {.dots = host_dots,
               .dots_pair = host_dots_pair,
               .combine = host_combine,
               .hessenberg_column = host_hessenberg_column,
               .hessenberg_solve = host_hessenberg_solve,
               .delayed_column = host_delayed_column,
               .delayed_finish = host_delayed_finish,
               .cg_sums = host_cg_sums,
               .cg_update = host_cg_update},
    .block = {.constrain = host_block_constrain, .invert = host_block_invert, .apply = host_block_apply},
};
