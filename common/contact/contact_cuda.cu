/* Contact on the device: a thread per node of a list. The twin of contact_host.c. */
#include "common/backend/cuda.h"
#include "common/contact/contact.h"

enum { BLOCK_SIZE = 128 };

/* The kernel NAME(list, ...) that calls body for its node i. */
#define KERNEL(name, body, ...)                                                                              \
    __global__ void __launch_bounds__(BLOCK_SIZE) name(fe_contact_list l, __VA_ARGS__)                       \
    {                                                                                                        \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                                 \
        if (i < l.n) body;                                                                                   \
    }

KERNEL(contact_forces, fe_contact_add_force(&l, i, displacement, f), const double *displacement, double *f)
KERNEL(contact_linearize, fe_contact_linearize_at(&l, i, displacement, held), const double *displacement,
       const uint8_t *held)
KERNEL(contact_product, fe_contact_add_product(&l, i, v, y), const double *v, double *y)
KERNEL(contact_diagonal, fe_contact_add_block(&l, i, D), double *D)
KERNEL(contact_before, fe_contact_before(&l, i, r), double *r)
KERNEL(contact_after, fe_contact_after(&l, i, z), double *z)
KERNEL(contact_augment, fe_contact_augment_at(&l, i, displacement), const double *displacement)
KERNEL(contact_measure, fe_contact_measure_at(&l, i, displacement), const double *displacement)

static fe_status forces(fe_device *d, const fe_contact_list *l, const double *displacement, double *f)
{
    FE_LAUNCH(d, l->n, BLOCK_SIZE, contact_forces, *l, displacement, f);
    return FE_OK;
}

static fe_status linearize(fe_device *d, const fe_contact_list *l, const double *displacement,
                           const uint8_t *held)
{
    FE_LAUNCH(d, l->n, BLOCK_SIZE, contact_linearize, *l, displacement, held);
    return FE_OK;
}

static fe_status product(fe_device *d, const fe_contact_list *l, const double *v, double *y)
{
    FE_LAUNCH(d, l->n, BLOCK_SIZE, contact_product, *l, v, y);
    return FE_OK;
}

static fe_status diagonal(fe_device *d, const fe_contact_list *l, double *D)
{
    FE_LAUNCH(d, l->n, BLOCK_SIZE, contact_diagonal, *l, D);
    return FE_OK;
}

static fe_status before(fe_device *d, const fe_contact_list *l, double *r)
{
    FE_LAUNCH(d, l->n, BLOCK_SIZE, contact_before, *l, r);
    return FE_OK;
}

static fe_status after(fe_device *d, const fe_contact_list *l, double *z)
{
    FE_LAUNCH(d, l->n, BLOCK_SIZE, contact_after, *l, z);
    return FE_OK;
}

static fe_status augment(fe_device *d, const fe_contact_list *l, const double *displacement)
{
    FE_LAUNCH(d, l->n, BLOCK_SIZE, contact_augment, *l, displacement);
    return FE_OK;
}

static fe_status measure(fe_device *d, const fe_contact_list *l, const double *displacement)
{
    FE_LAUNCH(d, l->n, BLOCK_SIZE, contact_measure, *l, displacement);
    return FE_OK;
}

extern "C" {
extern const fe_contact_operations fe_contact_cuda = {forces, linearize, product, diagonal,
                                                      before, after,     augment, measure};
}
