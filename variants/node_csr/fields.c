/* Fields by component. */
#include "common/backend/device.h"
#include "variants/node_csr/assembly.h"

#include <stdlib.h>

typedef struct coordinates {
    double *x; /* [n_local][3] */
    double *component;
    float *rounded; /* of component, in single precision */
} coordinates;

/* In single precision those from the first node. */
static fe_status upload(coordinates *k, fe_device *d, int precision, node_csr *w)
{
    const size_t n = 3 * w->n;
    if (precision != FE_SINGLE)
        return fe_device_upload(d, n, sizeof *k->component, k->component, "node_csr: coordinates",
                                (void **)&w->x);
    FE_ALLOCATE(k->rounded, n, "node_csr: coordinates");
    for (size_t i = 0; i < n; i++) k->rounded[i] = (float)(k->component[i] - k->component[i / w->n * w->n]);
    return fe_device_upload(d, n, sizeof *k->rounded, k->rounded, "node_csr: coordinates", (void **)&w->x);
}

static fe_status build(coordinates *k, fe_problem *p, int precision, node_csr *w)
{
    const size_t n = (size_t)p->view.n_local;
    fe_device *d = p->device;
    w->n = (n + 15) / 16 * 16;
    FE_RESERVE(k->x, 3 * n, "node_csr: coordinates");
    FE_TRY(d->ops->memory.download(d, 3 * n * sizeof *k->x, p->view.x, k->x));
    FE_ALLOCATE(k->component, 3 * w->n, "node_csr: coordinates");
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) k->component[c * w->n + i] = k->x[3 * i + c];
    FE_TRY(upload(k, d, precision, w));
    FE_TRY(fe_device_allocate(d, 3 * w->n, precision == FE_SINGLE ? sizeof(float) : sizeof(double),
                              "node_csr: input by component", (void **)&w->displacement));
    return d->ops->wait(d);
}

fe_status node_csr_open_fields(fe_problem *p, int precision, node_csr *w)
{
    coordinates k = {0};
    const fe_status status = build(&k, p, precision, w);
    free(k.x), free(k.component), free(k.rounded);
    return status;
}
