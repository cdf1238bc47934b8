/* The host backend: OpenMP loops. */
#include "common/algebra/blocks.h"
#include "common/backend/host_device.h"

#include <cblas.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    d->base.threads = threads > 0 ? threads : fe_host_threads();
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
    allocation *a;
    FE_TRY(fe_reserve(bytes + sizeof *a, 1, "device memory", (void **)&a));
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

static void copy(fe_device *d, size_t bytes, const void *from, void *to)
{
#pragma omp parallel for schedule(static) num_threads(d->threads) if (bytes > 64 * BLOCK)
    for (size_t b = 0; b < n_block(bytes); b++)
        memcpy((char *)to + b * BLOCK, (const char *)from + b * BLOCK, block_rows(bytes, b));
}

static fe_status host_upload(fe_device *d, size_t bytes, const void *host, void *memory)
{
    d->bytes_to_device += (int64_t)bytes;
    copy(d, bytes, host, memory);
    return FE_OK;
}

static fe_status host_download(fe_device *d, size_t bytes, const void *memory, void *host)
{
    d->bytes_from_device += (int64_t)bytes;
    copy(d, bytes, memory, host);
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

fe_status fe_host_reserve_partial(host_device *d, size_t n)
{
    if (n <= d->n_partial) return FE_OK;
    free(d->partial);
    d->n_partial = 0, d->partial = NULL;
    FE_ALLOCATE(d->partial, n, "partial sums");
    d->n_partial = n;
    return FE_OK;
}

void fe_host_add_blocks(const host_device *d, size_t n, size_t width, double *out)
{
    for (size_t j = 0; j < width; j++) out[j] = 0.0;
    for (size_t b = 0; b < n_block(n); b++)
        for (size_t j = 0; j < width; j++) out[j] += d->partial[b * width + j];
}

static fe_status host_dot(fe_device *d, size_t n, const double *x, const double *y, double *out)
{
    FE_TRY(fe_host_reserve_partial(self(d), n_block(n)));
    double *partial = self(d)->partial;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t b = 0; b < n_block(n); b++)
        partial[b] = cblas_ddot((int)block_rows(n, b), x + b * BLOCK, 1, y + b * BLOCK, 1);
    fe_host_add_blocks(self(d), n, 1, out);
    return FE_OK;
}

static double dot_at(const fe_scalar_product *p)
{
    double sum = 0.0;
    for (size_t i = 0; i < p->n; i++) sum += p->x[p->at[i]] * p->y[p->at[i]];
    return sum;
}

static fe_status host_dots(fe_device *d, int n, const fe_scalar_product *product, double *out)
{
    for (int i = 0; i < n; i++) {
        const fe_scalar_product *p = &product[i];
        if (p->at)
            out[i] = dot_at(p);
        else
            FE_TRY(host_dot(d, p->n, p->x, p->y, out + i));
    }
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

static fe_status host_round_nodes(fe_device *d, int n, int origin, const double *x, float *out)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++)
            out[3 * (size_t)i + c] = (float)(x[3 * (size_t)i + c] - x[3 * (size_t)origin + c]);
    return FE_OK;
}

static fe_status host_take_sums(fe_device *d, const fe_groups *groups, const double *x, const double *y,
                                double *out)
{
    (void)d;
    for (int g = 0; g < groups->n; g++) {
        double sum = 0.0;
        for (int k = groups->first[g]; k < groups->first[g + 1]; k++)
            sum += y ? x[groups->at[k]] - y[groups->at[k]] : x[groups->at[k]];
        out[g] = sum;
    }
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

static fe_status host_block_apply_absolute(fe_device *d, int n_node, const double *D, const double *x,
                                           double *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < n_node; i++)
        fe_block_apply_absolute(D + 9 * (size_t)i, x + 3 * (size_t)i, y + 3 * (size_t)i);
    return FE_OK;
}

static fe_status host_square_root(fe_device *d, double *a)
{
    (void)d;
    *a = sqrt(*a);
    return FE_OK;
}

static fe_status host_widen(fe_device *d, size_t n, const float *x, double *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t i = 0; i < n; i++) y[i] = (double)x[i];
    return FE_OK;
}

static fe_status host_narrow(fe_device *d, size_t n, const double *x, float *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t i = 0; i < n; i++) y[i] = (float)x[i];
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
               .reserve = host_allocate,
               .release = host_release,
               .zero = host_zero,
               .clear = host_zero,
               .upload = host_upload,
               .download = host_download,
               .fingerprint = host_fingerprint},
    .vector = {.copy = host_copy,
               .axpy = host_axpy,
               .scale = host_scale,
               .add = host_add,
               .dot = host_dot,
               .dots = host_dots,
               .largest = host_largest,
               .put = host_put,
               .take = host_take,
               .take_sums = host_take_sums,
               .take_nodes = host_take_nodes,
               .round_nodes = host_round_nodes,
               .square_root = host_square_root,
               .widen = host_widen,
               .narrow = host_narrow},
    .block = {.constrain = host_block_constrain,
              .invert = host_block_invert,
              .apply = host_block_apply,
              .apply_absolute = host_block_apply_absolute},
};
