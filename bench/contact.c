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
static fe_status choose(const bench_workload *c, double share, draft *k)
{
    const int n = c->share.n_owned, wanted = (int)(share * n);
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
static fe_status open_list(bench_workload *c, int which, draft *k)
{
    fe_contact_list *l;
    uint8_t *held;
    FE_TRY(choose(c, c->box.contact[which], k));
    const fe_contact_nodes nodes = {k->n, k->node, k->one, k->one};
    FE_TRY(fe_device_keep(c->device, sizeof *l, "contact", (void **)&l));
    FE_TRY(fe_contact_list_open(c->device, &nodes, c->problem.view.x, 100.0, l));
    c->contact[which] = l;
    l->obstacle =
        (fe_obstacle){.kind = FE_PLANE, .at = {0.0, 0.0, 2.0 * fabs(k->top) + 1.0}, .axis = {0.0, 0.0, 1.0}};
    FE_TRY(fe_device_allocate(c->device, 3 * (size_t)c->share.n_owned, 1, "contact", (void **)&held));
    return fe_contact_operations_of(c->device)->linearize(c->device, l, c->displacement, held);
}

fe_status bench_contact_open(bench_workload *c)
{
    for (int i = 0; i < c->box.n_contact; i++) {
        draft k = {0};
        const fe_status status = c->box.contact[i] > 0.0 ? open_list(c, i, &k) : FE_OK;
        free(k.x), free(k.z), free(k.one), free(k.node);
        FE_TRY(status);
    }
    return FE_OK;
}

fe_status bench_contact_apply(bench_workload *c, int which, bench_operation op)
{
    const fe_contact_operations *ops = fe_contact_operations_of(c->device);
    const fe_contact_list *l = c->contact[which];
    if (!l || op == BENCH_MATERIAL) return FE_OK;
    if (op == BENCH_RESIDUAL) return ops->forces(c->device, l, c->displacement, c->out);
    if (op == BENCH_DIAGONAL) return ops->diagonal(c->device, l, c->out);
    return ops->product(c->device, l, c->direction, c->out);
}
