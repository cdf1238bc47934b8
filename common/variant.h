/* The two structs that a strategy is made of, and the registry.
 *
 * A variant sums element contributions its own way; everything else is the same object code for all. It sees
 * flat arrays (fe_view, common/physics/view.h) and two parts of the work, and nothing of files, ranks,
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

/* Nothing of an output is read: it need not be zero. Parts may run in any order, and at the same time. jacvec
 * reads a matrix that material() made: it is elastic only where the trial is. */
enum { FE_STORES = 1, FE_INDEPENDENT = 2, FE_ASSEMBLED = 4 };

/* One strategy on one backend. Calls only enqueue work: no allocation, no wait, no copy to the host. The
 * caller zeroes outputs, but those of residual and jacvec where the strategy stores every owned row itself;
 * interior and border part, in this order unless they are independent, together are the whole. */
typedef struct fe_assembly {
    /* Once, timed apart; memory from fe_device_allocate. NULL where there is nothing to set up. */
    fe_status (*setup)(fe_problem *p, void **work);
    /* r += f_int(u), from the committed state, without side effect. */
    fe_status (*residual)(const fe_problem *p, void *work, fe_part part, const double *u, double *r);
    /* Trial state and tangent at u; sets view.elastic. */
    fe_status (*material)(fe_problem *p, void *work, fe_tangent mode, const double *u);
    /* y += K(trial) v */
    fe_status (*jacvec)(const fe_problem *p, void *work, fe_part part, const double *v, double *y);
    /* d [n_owned][3][3] += diagonal blocks of K(trial); ghost rows [n_local] are scratch. */
    fe_status (*diagonal)(const fe_problem *p, void *work, double *d);
    int traits; /* of residual and jacvec: FE_STORES | FE_INDEPENDENT | FE_ASSEMBLED */
    /* One line about what setup decided, for the user. NULL where it decides nothing. */
    const char *(*note)(const void *work);
} fe_assembly;

typedef struct fe_variant {
    const char *name, *summary;
    int deterministic; /* the same bits on every run: a test holds it */
    const fe_assembly *host, *cuda;
} fe_variant;

/* The table's residual and jacvec from one forces(p, work, op, part, v, y). */
#define FE_FORCE_OPERATIONS(forces)                                                                          \
    static fe_status residual(const fe_problem *p, void *work, fe_part part, const double *u, double *r)     \
    {                                                                                                        \
        return forces(p, work, FE_RESIDUAL, part, u, r);                                                     \
    }                                                                                                        \
    static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const double *v, double *y)       \
    {                                                                                                        \
        return forces(p, work, p->view.elastic ? FE_JACVEC_ELASTIC : FE_JACVEC, part, v, y);                 \
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
