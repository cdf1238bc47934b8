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

KERNEL(contact_linearize, fe_contact_linearize_at(&l, i, displacement, held), const double *displacement,
       const uint8_t *held)
KERNEL(contact_before, fe_contact_before(&l, i, r), double *r)
KERNEL(contact_after, fe_contact_after(&l, i, z), double *z)
KERNEL(contact_augment, fe_contact_augment_at(&l, i, displacement), const double *displacement)
KERNEL(contact_measure, fe_contact_measure_at(&l, i, displacement), const double *displacement)

/* The same behind a strategy's operation, whose last kernel may still run: all that is read but the sums is
 * older. It computes what each node adds, waits, and adds it. H100, 3 M degrees of freedom: 2 to 3 µs instead
 * of 4 to 5 where 1 % of the nodes are in contact (HISTORY.md). */
#define ADDING_KERNEL(name, body)                                                                            \
    __global__ void __launch_bounds__(BLOCK_SIZE) name(fe_contact_list l, const double *from, double *to)    \
    {                                                                                                        \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                                 \
        double own[3], *row = to;                                                                            \
        if (i < l.n) body(&l, i, from, own), row += 3 * (size_t)l.node[i];                                   \
        fe_wait_for_earlier();                                                                               \
        for (int c = 0; c < 3 && i < l.n; c++) row[c] += own[c];                                             \
    }
ADDING_KERNEL(contact_forces, fe_contact_force)
ADDING_KERNEL(contact_product, fe_contact_product)

/* A thread for each entry, so that neighbours write neighbours. */
__global__ void __launch_bounds__(BLOCK_SIZE) contact_diagonal(fe_contact_list l, double *D)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x, i = at / 9, k = at % 9;
    double own = 0.0, *entry = D;
    if (i < l.n) own = fe_contact_block_entry(&l, i, k), entry += 9 * (size_t)l.node[i] + k;
    fe_wait_for_earlier();
    if (i < l.n) *entry += own;
}

static fe_status forces(fe_device *d, const fe_contact_list *l, const double *displacement, double *f)
{
    d->overlaps = 1;
    FE_LAUNCH_EARLY(d, l->n, BLOCK_SIZE, contact_forces, *l, displacement, f);
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
    d->overlaps = 1;
    FE_LAUNCH_EARLY(d, l->n, BLOCK_SIZE, contact_product, *l, v, y);
    return FE_OK;
}

static fe_status diagonal(fe_device *d, const fe_contact_list *l, double *D)
{
    d->overlaps = 1;
    FE_LAUNCH_EARLY(d, 9 * (size_t)l->n, BLOCK_SIZE, contact_diagonal, *l, D);
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
