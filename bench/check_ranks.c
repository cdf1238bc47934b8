/* Checks of what ranks do together; see check_ranks.h. */
#include "bench/check_ranks.h"
#include "common/backend/device.h"

#include <math.h>
#include <stdlib.h>

static fe_status exchange_coordinates(const bench_workload *c, double *x, double *known, double *arrived,
                                      double *error)
{
    fe_device *d = c->device;
    const size_t n = 3 * (size_t)c->share.n_owned, length = 3 * (size_t)c->share.n_local;
    FE_TRY(d->ops->memory.download(d, length * sizeof *x, c->problem.view.x, known));
    for (size_t i = 0; i < length; i++) arrived[i] = i < n ? known[i] : NAN;
    FE_TRY(d->ops->memory.upload(d, length * sizeof *x, arrived, x));
    FE_TRY(fe_comm_exchange(c->comm, FE_HALO_NODES, x));
    FE_TRY(d->ops->memory.download(d, length * sizeof *x, x, arrived));
    for (size_t i = n; i < length; i++)
        if (arrived[i] != known[i]) *error = INFINITY;
    return FE_OK;
}

fe_status bench_check_exchange(const bench_workload *c, double *x, double *error)
{
    const size_t length = 3 * (size_t)c->share.n_local;
    double *both = NULL;
    *error = 0.0;
    FE_ALLOCATE(both, 2 * length, "coordinates");
    const fe_status status = exchange_coordinates(c, x, both, both + length, error);
    free(both);
    return status;
}

/* Rank r gives (r + 1) (i + 1) as number i. */
fe_status bench_check_sum(fe_comm *comm, fe_device *d, int n, double *scalar, double *error)
{
    double x[BENCH_LONGEST_SUM];
    *error = 0.0;
    for (int i = 0; i < n; i++) x[i] = (comm->rank + 1.0) * (i + 1.0);
    FE_TRY(d->ops->memory.upload(d, (size_t)n * sizeof *x, x, scalar));
    FE_TRY(fe_comm_sum(comm, d, n, scalar));
    FE_TRY(d->ops->memory.download(d, (size_t)n * sizeof *x, scalar, x));
    for (int i = 0; i < n; i++) {
        const double sum = 0.5 * comm->size * (comm->size + 1.0) * (i + 1.0);
        *error = fmax(*error, isnan(x[i]) ? INFINITY : fabs(x[i] - sum) / sum);
    }
    return FE_OK;
}

fe_status bench_distance(fe_comm *comm, fe_device *d, size_t n, const double *a, const double *b,
                         double *scalar, double *norm)
{
    double *host = NULL, sum = 0.0;
    FE_ALLOCATE(host, 2 * n, "vectors");
    fe_status status = d->ops->memory.download(d, n * sizeof *host, a, host);
    if (status == FE_OK) status = d->ops->memory.download(d, n * sizeof *host, b, host + n);
    for (size_t i = 0; i < n && status == FE_OK; i++)
        sum += (host[i] - host[n + i]) * (host[i] - host[n + i]);
    free(host);
    FE_TRY(status);
    FE_TRY(d->ops->memory.upload(d, sizeof sum, &sum, scalar));
    FE_TRY(fe_comm_sum(comm, d, 1, scalar));
    FE_TRY(d->ops->memory.download(d, sizeof sum, scalar, &sum));
    *norm = sqrt(sum);
    return FE_OK;
}
