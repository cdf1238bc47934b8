/* Lists of contact nodes on a device. */
#include "common/contact/contact.h"

#include <stdlib.h>

static fe_status upload(fe_device *d, int n, const double *host, const double **memory)
{
    return fe_device_upload(d, (size_t)n, sizeof *host, host, "contact", (void **)memory);
}

/* penalty = stiffness E / sqrt(area) */
static fe_status upload_stiffness(fe_device *d, const fe_contact_nodes *nodes, double stiffness, double *room,
                                  fe_contact_list *l)
{
    for (int i = 0; i < nodes->n; i++) room[i] = stiffness * nodes->young[i] / sqrt(nodes->area[i]);
    FE_TRY(upload(d, nodes->n, room, &l->penalty));
    for (int i = 0; i < nodes->n; i++) room[i] = FE_CONTACT_STIFFEST * nodes->young[i];
    FE_TRY(upload(d, nodes->n, room, &l->most));
    return d->ops->wait(d);
}

fe_status fe_contact_list_open(fe_device *d, const fe_contact_nodes *nodes, const double *x, double stiffness,
                               fe_contact_list *l)
{
    *l = (fe_contact_list){.n = nodes->n, .x = x, .stiffness = stiffness};
    const struct {
        double **memory;
        size_t width;
    } array[] = {{&l->multiplier, 1}, {&l->accepted, 1}, {&l->block, 6}, {&l->closed, 1},
                 {&l->changed, 1},    {&l->normal, 3},   {&l->along, 1}, {&l->out, FE_N_CONTACT_OUT}};
    for (size_t i = 0; i < sizeof array / sizeof *array; i++)
        FE_TRY(fe_device_allocate(d, array[i].width * (size_t)nodes->n, sizeof(double), "contact",
                                  (void **)array[i].memory));
    FE_TRY(fe_device_upload(d, (size_t)nodes->n, sizeof *nodes->node, nodes->node, "contact",
                            (void **)&l->node));
    FE_TRY(upload(d, nodes->n, nodes->area, &l->area));
    double *room = NULL;
    FE_ALLOCATE(room, nodes->n, "contact");
    const fe_status status = upload_stiffness(d, nodes, stiffness, room, l);
    free(room);
    return status;
}

const fe_contact_operations *fe_contact_operations_of(const fe_device *d)
{
#if FE_HAVE_CUDA
    if (d->ops->on_gpu) return &fe_contact_cuda;
#endif
    (void)d;
    return &fe_contact_host;
}
