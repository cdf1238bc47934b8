/* Contact in a benchmark workload; see contact.h. */
#include "bench/contact.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Numbers in host memory. */
typedef struct draft {
    double *x, *z, *one;
    int *node;
    int n;
    double top;
} draft;

/* The nodes above the height that so many have. */
static fe_status choose(const bench_workload *c, draft *k)
{
    const int n = c->share.n_owned, wanted = (int)(c->box.contact * n);
    FE_ALLOCATE(k->x, 3 * (size_t)c->share.n_local, "contact");
    FE_ALLOCATE(k->z, n, "contact");
    FE_ALLOCATE(k->one, n, "contact");
    FE_ALLOCATE(k->node, n, "contact");
    FE_TRY(c->device->ops->memory.download(c->device, 3 * (size_t)n * sizeof *k->x, c->problem.view.x, k->x));
    for (int i = 0; i < n; i++) k->z[i] = k->x[3 * (size_t)i + 2], k->one[i] = 1.0;
    qsort(k->z, (size_t)n, sizeof *k->z, ascending);
    k->top = k->z[n - 1];
    const double above = wanted < n ? k->z[n - 1 - wanted] : -INFINITY;
    for (int i = 0; i < n && k->n < wanted; i++)
        if (k->x[3 * (size_t)i + 2] >= above) k->node[k->n++] = i;
    return FE_OK;
}

/* A plane above them, which all are behind. */
static fe_status open_list(bench_workload *c, draft *k)
{
    uint8_t *held;
    FE_TRY(choose(c, k));
    const fe_contact_nodes nodes = {k->n, k->node, k->one, k->one};
    FE_TRY(fe_device_keep(c->device, sizeof *c->contact, "contact", (void **)&c->contact));
    FE_TRY(fe_contact_list_open(c->device, &nodes, c->problem.view.x, 100.0, c->contact));
    c->contact->obstacle =
        (fe_obstacle){.kind = FE_PLANE, .at = {0.0, 0.0, 2.0 * fabs(k->top) + 1.0}, .axis = {0.0, 0.0, 1.0}};
    FE_TRY(fe_device_allocate(c->device, 3 * (size_t)c->share.n_owned, 1, "contact", (void **)&held));
    return fe_contact_operations_of(c->device)->linearize(c->device, c->contact, c->displacement, held);
}

fe_status bench_contact_open(bench_workload *c)
{
    draft k = {0};
    if (!(c->box.contact > 0.0)) return FE_OK;
    const fe_status status = open_list(c, &k);
    free(k.x), free(k.z), free(k.one), free(k.node);
    return status;
}

fe_status bench_contact_apply(bench_workload *c, bench_operation op)
{
    const fe_contact_operations *ops = fe_contact_operations_of(c->device);
    if (!c->contact || op == BENCH_MATERIAL) return FE_OK;
    if (op == BENCH_RESIDUAL) return ops->forces(c->device, c->contact, c->displacement, c->out);
    if (op == BENCH_DIAGONAL) return ops->diagonal(c->device, c->contact, c->out);
    return ops->product(c->device, c->contact, c->direction, c->out);
}
