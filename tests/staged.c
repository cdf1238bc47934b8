#include "tests/staged.h"

#include <stdlib.h>

typedef struct comm_staged {
    fe_comm base;
    fe_comm *host;
    fe_device *host_device, *device;
    double *vector[FE_MOST_HALOS]; /* [n_local][3] in host memory */
} comm_staged;

static comm_staged *self(fe_comm *c) { return (comm_staged *)c; }

static fe_status attach(fe_comm *c, fe_device *d, int which, const fe_halo *halo)
{
    comm_staged *s = self(c);
    if (d != s->device) return fe_fail(FE_FAILED, "another device");
    free(s->vector[which]), s->vector[which] = NULL;
    FE_ALLOCATE(s->vector[which], 3 * (size_t)halo->ghost_first[halo->n_neighbor] + 1, "halo");
    c->halo[which] = halo;
    return s->host->ops->attach(s->host, s->host_device, which, halo);
}

static fe_status exchange_begin(fe_comm *c, int which, double *x)
{
    const fe_halo *h = c->halo[which];
    const size_t n = 3 * (size_t)h->ghost_first[h->n_neighbor];
    return self(c)->device->ops->memory.download(self(c)->device, n * sizeof *x, x, self(c)->vector[which]);
}

static fe_status exchange_end(fe_comm *c, int which, double *x)
{
    const fe_halo *h = c->halo[which];
    const size_t first = 3 * (size_t)h->ghost_first[0], end = 3 * (size_t)h->ghost_first[h->n_neighbor];
    double *const vector = self(c)->vector[which];
    FE_TRY(fe_comm_exchange(self(c)->host, which, vector));
    return self(c)->device->ops->memory.upload(self(c)->device, (end - first) * sizeof *x, vector + first,
                                               x + first);
}

static fe_status reduce(fe_comm *c, fe_device *d, fe_reduction reduction, int n, double *x)
{
    const size_t bytes = (size_t)n * sizeof *x;
    double *host = NULL;
    FE_ALLOCATE(host, n + 1, "reduction");
    fe_status status = d->ops->memory.download(d, bytes, x, host);
    if (status == FE_OK)
        status = self(c)->host->ops->reduce(self(c)->host, self(c)->host_device, reduction, n, host);
    if (status == FE_OK) status = d->ops->memory.upload(d, bytes, host, x);
    free(host);
    return status;
}

static fe_status barrier(fe_comm *c)
{
    FE_TRY(self(c)->device->ops->wait(self(c)->device));
    return self(c)->host->ops->barrier(self(c)->host);
}

static fe_status broadcast(fe_comm *c, size_t bytes, void *host)
{
    return self(c)->host->ops->broadcast(self(c)->host, bytes, host);
}

static fe_status collect(fe_comm *c, size_t n, double *x)
{
    return self(c)->host->ops->collect(self(c)->host, n, x);
}

static fe_status check(fe_comm *c, double since) { return self(c)->host->ops->check(self(c)->host, since); }

static void abort_staged(fe_comm *c, fe_status status, const char *message)
{
    self(c)->host->ops->abort(self(c)->host, status, message);
}

static int close_staged(fe_comm *c)
{
    for (int i = 0; i < FE_MOST_HALOS; i++) free(self(c)->vector[i]);
    fe_backend_host.close(self(c)->host_device);
    free(c);
    return 0;
}

static const fe_comm_operations operations = {
    .name = "staged",
    .attach = attach,
    .exchange_begin = exchange_begin,
    .exchange_end = exchange_end,
    .reduce = reduce,
    .barrier = barrier,
    .broadcast = broadcast,
    .collect = collect,
    .check = check,
    .abort = abort_staged,
    .close = close_staged,
};

fe_status staged_comm(fe_comm *host, fe_device *device, fe_comm **comm)
{
    comm_staged *s = NULL;
    FE_ALLOCATE(s, 1, "communicator");
    s->base = (fe_comm){.ops = &operations, .rank = host->rank, .size = host->size};
    s->host = host, s->device = device;
    *comm = &s->base;
    return fe_backend_host.open(0, 1, &s->host_device);
}
