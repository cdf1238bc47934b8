/* Contact on the host: loops over the nodes of a list. */
#include "common/contact/contact.h"

/* The body for each node i. Few nodes are not worth the threads. */
enum { WORTH_THREADS = 2048 };
#define EACH_NODE(d, l, ...)                                                                                 \
    do {                                                                                                     \
        const int n = (l)->n, threads = n > WORTH_THREADS ? (d)->threads : 1;                                \
        _Pragma("omp parallel for schedule(static) num_threads(threads)") for (int i = 0; i < n; i++)        \
            __VA_ARGS__;                                                                                     \
        return FE_OK;                                                                                        \
    } while (0)

static fe_status forces(fe_device *d, const fe_contact_list *l, const double *displacement, double *f)
{
    EACH_NODE(d, l, {
        double own[3];
        fe_contact_force(l, i, displacement, own);
        fe_contact_add3(l, i, own, f);
    });
}

static fe_status linearize(fe_device *d, const fe_contact_list *l, const double *displacement,
                           const uint8_t *held)
{
    EACH_NODE(d, l, fe_contact_linearize_at(l, i, displacement, held));
}

static fe_status product(fe_device *d, const fe_contact_list *l, const double *v, double *y)
{
    EACH_NODE(d, l, {
        double own[3];
        fe_contact_product(l, i, v, own);
        fe_contact_add3(l, i, own, y);
    });
}

static fe_status diagonal(fe_device *d, const fe_contact_list *l, double *D)
{
    EACH_NODE(d, l, {
        for (int k = 0; k < 9; k++) D[9 * (size_t)l->node[i] + k] += fe_contact_block_entry(l, i, k);
    });
}

static fe_status before(fe_device *d, const fe_contact_list *l, double *r)
{
    EACH_NODE(d, l, fe_contact_before(l, i, r));
}

static fe_status after(fe_device *d, const fe_contact_list *l, double *z)
{
    EACH_NODE(d, l, fe_contact_after(l, i, z));
}

static fe_status augment(fe_device *d, const fe_contact_list *l, const double *displacement)
{
    EACH_NODE(d, l, fe_contact_augment_at(l, i, displacement));
}

static fe_status measure(fe_device *d, const fe_contact_list *l, const double *displacement)
{
    EACH_NODE(d, l, fe_contact_measure_at(l, i, displacement));
}

const fe_contact_operations fe_contact_host = {forces, linearize, product, diagonal,
                                               before, after,     augment, measure};
