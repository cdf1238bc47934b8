/* Compares results on a case with the oracle and with each other; see verify.h. */
#include "bench/verify.h"
#include "bench/sample.h"
#include "common/backend/device.h"
#include "common/problem/state.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Not a number counts as infinite. */
static double worse(double error, double difference, double scale)
{
    const double e = difference == 0.0 ? 0.0 : fabs(difference) / scale;
    return e <= error ? error : isnan(e) ? INFINITY : e;
}

double bench_tolerance(const bench_workload *c)
{
    if (c->box.precision == FE_MIXED) return 2e-5;
    if (c->box.precision == FE_SINGLE) return 5e-5 * fmax(1.0, c->across / 100.0);
    return FE_STORAGE == FE_STORAGE_FLOATS ? 1e-6 : 1e-12;
}

/* Numbers of the result, n of them. */
static fe_status download_result(const bench_workload *c, size_t n, double *result)
{
    float *single = NULL;
    if (c->box.precision != FE_SINGLE)
        return c->device->ops->memory.download(c->device, n * sizeof *result, c->out, result);
    FE_ALLOCATE(single, n, "result");
    const fe_status status =
        c->device->ops->memory.download(c->device, n * sizeof *single, c->floats.out, single);
    for (size_t i = 0; i < n && status == FE_OK; i++) result[i] = single[i];
    free(single);
    return status;
}

/* The sampled rows beside the oracle's. *largest: the largest sum of the absolute values of a row's terms. */
static double compare_sample(const bench_workload *c, bench_operation op, const double *result,
                             double *largest)
{
    const bench_oracle *o = c->oracle;
    const size_t width = op == BENCH_DIAGONAL ? 9 : 3;
    double error = 0.0;
    *largest = DBL_MIN;
    for (size_t k = 0; k < (size_t)o->n_sample; k++)
        for (size_t i = 0; i < width; i++) {
            const double value = result[width * (size_t)o->node[k] + i],
                         slack = op == BENCH_RESIDUAL && o->slack ? o->slack[width * k + i] : 0.0,
                         scale = o->scale[op][width * k + i] + slack / bench_tolerance(c);
            error = worse(error, value - o->result[op][width * k + i], scale + DBL_MIN);
            if (scale > *largest) *largest = scale;
        }
    return error;
}

static double compare_rows(size_t n, const double *result, const double *first, double largest)
{
    double error = 0.0;
#pragma omp parallel for reduction(max : error)
    for (size_t i = 0; i < n; i++) error = worse(error, result[i] - first[i], largest);
    return error;
}

/* The first result that agrees with the oracle stays; the others land in memory that stays, too. */
static fe_status check_rows(const bench_workload *c, bench_operation op, double *error)
{
    bench_oracle *o = c->oracle;
    const int is_first = !o->first[op];
    const size_t n = bench_entries(op, c->share.n_owned),
                 most = bench_entries(BENCH_DIAGONAL, c->share.n_owned);
    double **result = is_first ? &o->first[op] : &o->landing, largest;
    if (!*result) FE_ALLOCATE(*result, is_first ? n : most, "result");
    const fe_status status = download_result(c, n, *result);
    if (status == FE_OK) *error = compare_sample(c, op, *result, &largest);
    if (status == FE_OK && !is_first) *error = fmax(*error, compare_rows(n, *result, o->first[op], largest));
    if (is_first && (status != FE_OK || !(*error <= bench_tolerance(c)))) free(*result), *result = NULL;
    return status;
}

/* Flags of an element as the oracle sees them. */
static int expected_flags(const bench_oracle *o, int k)
{
    int flags = 0;
    for (int q = 0; q < o->mesh.n_point; q++) {
        const double before = o->committed[k * o->mesh.n_point + q].alpha,
                     now = o->trial[k * o->mesh.n_point + q].alpha;
        flags |= (now > 0.0 ? FE_YIELDED : 0) | (now > before ? FE_SOFTENED : 0);
    }
    return flags;
}

static fe_status check_material(const bench_workload *c, double *error)
{
    static const int component[5] = {0, 1, 3, 4, 5}; /* fe_state's plastic strain in the oracle's order */
    const bench_oracle *o = c->oracle;
    fe_device *d = c->device;
    const int n_point = o->mesh.n_point, n = o->mesh.n_elem * o->width;
    double *value = NULL, largest = DBL_MIN;
    int n_softened;
    FE_ALLOCATE(value, n, "history");
    fe_status status = d->ops->vector.take(d, n, o->place, c->problem.view.trial.point, o->taken);
    if (status == FE_OK) status = d->ops->memory.download(d, (size_t)n * sizeof *value, o->taken, value);
    if (status == FE_OK) status = bench_count_flags(c, c->problem.view.trial.flags, FE_SOFTENED, &n_softened);
    for (int p = 0; p < o->mesh.n_elem * n_point; p++)
        if (o->trial[p].alpha > largest) largest = o->trial[p].alpha;
    for (int k = 0; k < o->mesh.n_elem && status == FE_OK; k++) {
        if (o->flags[o->elem[k]] != expected_flags(o, k)) *error = INFINITY;
        for (int i = 0; i < o->width; i++) {
            const oracle_state *s = &o->trial[k * n_point + i % n_point];
            const double expected = i / n_point < 5 ? s->eps_p[component[i / n_point]] : s->alpha;
            *error = worse(*error, value[(size_t)k * o->width + i] - expected, largest);
        }
    }
    free(value);
    return status;
}

static size_t point_entries(const bench_workload *c)
{
    return (size_t)fe_points(c->box.kind) * (size_t)c->problem.view.ld;
}

/* What material() writes. */
static fe_status clear_trial(bench_workload *c)
{
    const fe_view *m = &c->problem.view;
    fe_device *d = c->device;
    const size_t points = point_entries(c) * sizeof(double);
    FE_TRY(d->ops->memory.zero(d, FE_N_STATE * points, m->trial.point));
    FE_TRY(d->ops->memory.zero(d, (size_t)m->ld, m->trial.flags));
    if (c->full) FE_TRY(d->ops->memory.zero(d, FE_N_FULL * points, c->full));
    return d->ops->memory.zero(d, FE_N_TANGENT * point_entries(c) * sizeof *m->tangent, m->tangent);
}

fe_status bench_verify_result(bench_workload *c, bench_operation op, double *error)
{
    *error = 0.0;
    FE_TRY(c->device->ops->wait(c->device));
    return op == BENCH_MATERIAL ? check_material(c, error) : check_rows(c, op, error);
}

fe_status bench_verify(bench_workload *c, const fe_assembly *a, void *work, bench_operation op, double *error)
{
    FE_TRY(clear_trial(c));
    FE_TRY(c->device->ops->memory.zero(
        c->device, bench_entries(BENCH_DIAGONAL, c->share.n_local) * sizeof(double), c->out));
    if (c->floats.out)
        FE_TRY(c->device->ops->memory.zero(
            c->device, bench_entries(BENCH_DIAGONAL, c->share.n_local) * sizeof(float), c->floats.out));
    FE_TRY(bench_prepare(c, a, work, op));
    FE_TRY(bench_apply(c, a, work, op));
    return bench_verify_result(c, op, error);
}

/* Hash of what the operation wrote. */
static fe_status fingerprint(const bench_workload *c, bench_operation op, uint64_t *hash)
{
    const fe_view *m = &c->problem.view;
    fe_device *d = c->device;
    uint64_t *sum = c->oracle->hash;
    FE_TRY(d->ops->memory.zero(d, sizeof *sum, sum));
    if (op == BENCH_MATERIAL) {
        FE_TRY(d->ops->memory.fingerprint(d, FE_N_STATE * point_entries(c), m->trial.point, sum));
        FE_TRY(d->ops->memory.fingerprint(d, (size_t)m->ld / sizeof *sum, m->trial.flags, sum));
        FE_TRY(d->ops->memory.fingerprint(
            d, FE_N_TANGENT * point_entries(c) * sizeof *m->tangent / sizeof *sum, m->tangent, sum));
    } else {
        const size_t n = bench_entries(op, c->share.n_owned);
        if (c->floats.out)
            FE_TRY(d->ops->memory.fingerprint(d, n / 2, c->floats.out, sum)); /* words of two numbers */
        else
            FE_TRY(d->ops->memory.fingerprint(d, n, c->out, sum));
    }
    return d->ops->memory.download(d, sizeof *hash, sum, hash);
}

fe_status bench_repeat(bench_workload *c, const fe_assembly *a, void *work, bench_operation op, int runs,
                       int *other)
{
    uint64_t first, now;
    *other = 0;
    FE_TRY(fingerprint(c, op, &first));
    for (int run = 1; run <= runs && !*other; run++) {
        if (op == BENCH_MATERIAL) FE_TRY(clear_trial(c));
        FE_TRY(bench_apply(c, a, work, op));
        FE_TRY(fingerprint(c, op, &now));
        if (now != first) *other = run;
    }
    return FE_OK;
}
