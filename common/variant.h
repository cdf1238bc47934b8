/* The two structs that a strategy is made of, and the registry.
 *
 * A variant sums element contributions its own way; everything else is the same object code for all. It sees
 * flat arrays (fe_view, common/physics/view.h) and two parts of the work. It does not see files, ranks,
 * boundary conditions or clocks. */
#ifndef FE_VARIANT_H
#define FE_VARIANT_H

#include "common/physics/view.h"
#include "have/cuda.h"

struct fe_device;
/* What a variant is given: the element kind, the view, and the device that memory and launches come from. */
typedef struct fe_problem {
    int kind;
    fe_view view;
    struct fe_device *device;
} fe_problem;

/* FE_STORES: overwrites every owned row, so the caller need not zero the output. FE_INDEPENDENT: the parts
 * may run in any order, and at the same time. FE_ASSEMBLED: jacvec reads a matrix that material() made, so it
 * is elastic only where the trial is. FE_PIECES: wants elements in compact pieces (the order bisection);
 * without it neighbouring elements should share nodes. Both are what the order `auto` gives
 * (fe_mesh_arrange_for). */
enum { FE_STORES = 1, FE_INDEPENDENT = 2, FE_ASSEMBLED = 4, FE_PIECES = 8 };

/* One strategy on one backend. Calls only enqueue work: no allocation, no wait, no copy to the host. The
 * caller zeroes outputs, except those of residual and jacvec where FE_STORES is set. The interior part runs
 * first, then the border part, unless FE_INDEPENDENT is set; both parts together are the whole. */
typedef struct fe_assembly {
    /* Called once; timed separately. Memory comes from fe_device_allocate. NULL where there is nothing to set
     * up. */
    fe_status (*setup)(fe_problem *p, void **work);
    /* r += f_int(displacement), from the committed state, without side effect. */
    fe_status (*residual)(const fe_problem *p, void *work, fe_part part, const double *displacement,
                          double *r);
    /* Trial state and tangent at the displacement; sets view.elastic. */
    fe_status (*material)(fe_problem *p, void *work, fe_linearization mode, const double *displacement);
    /* y += K(trial) direction */
    fe_status (*jacvec)(const fe_problem *p, void *work, fe_part part, const double *direction, double *y);
    /* d [n_owned][3][3] += diagonal blocks of K(trial); ghost rows [n_local] are scratch. */
    fe_status (*diagonal)(const fe_problem *p, void *work, double *d);
    int traits; /* of residual and jacvec: FE_STORES | FE_INDEPENDENT | FE_ASSEMBLED | FE_PIECES */
    /* One line about what setup decided, for the user. NULL where it decides nothing. */
    const char *(*note)(const void *work);
} fe_assembly;

typedef struct fe_variant {
    const char *name, *summary;
    int deterministic; /* the same bits on every run, which a test checks */
    const fe_assembly *host, *cuda;
} fe_variant;

/* The table's residual and jacvec from one forces(p, work, op, part, displacement, y); the direction of
 * jacvec is passed as the displacement. */
#define FE_FORCE_OPERATIONS(forces)                                                                          \
    static fe_status residual(const fe_problem *p, void *work, fe_part part, const double *displacement,     \
                              double *r)                                                                     \
    {                                                                                                        \
        return forces(p, work, FE_RESIDUAL, part, displacement, r);                                          \
    }                                                                                                        \
    static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const double *direction,          \
                            double *y)                                                                       \
    {                                                                                                        \
        return forces(p, work, p->view.elastic ? FE_JACVEC_ELASTIC : FE_JACVEC, part, direction, y);         \
    }

#if FE_HAVE_CUDA
#define FE_CUDA_TABLE(table) &(table)
#else
#define FE_CUDA_TABLE(table) NULL
#endif

#ifdef __cplusplus
extern "C" {
#endif
/* The registry, in variants.def's order. */
int fe_variant_count(void);
const fe_variant *fe_variant_at(int i);
/* NULL where there is no such variant. */
const fe_variant *fe_variant_find(const char *name);

/* Calls setup where there is one; *work is NULL otherwise. */
static inline fe_status fe_assembly_set_up(const fe_assembly *a, fe_problem *p, void **work)
{
    *work = NULL;
    return a->setup ? a->setup(p, work) : FE_OK;
}

#ifdef __cplusplus
}
#endif
#endif
