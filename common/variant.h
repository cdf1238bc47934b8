/* The two structs that a strategy is made of, the view it works on, and the registry.
 *
 * A variant sums element contributions its own way; everything else is the same object code for all. It sees
 * flat arrays and two parts of the work, and nothing of files, ranks, boundary conditions or clocks. */
#ifndef FE_VARIANT_H
#define FE_VARIANT_H

#include "common/fe.h"
#include "common/physics/j2.h"

/* What is stored of points, and where: a constant of the build (make STORAGE=...), to compare with
 *   GROUPS   six doubles of state and of tangent, in groups of 32 elements: what all results are of
 *   FLOATS   tangents in single precision
 *   FULL     jacvec reads the 21 numbers of the symmetric tangent (but for element_color)
 *   RECORDS  the six numbers of a point side by side
 *   ARRAYS   one array a component, of 65536 elements; then the next */
#define FE_STORAGE_GROUPS 0
#define FE_STORAGE_FLOATS 1
#define FE_STORAGE_FULL 2
#define FE_STORAGE_RECORDS 3
#define FE_STORAGE_ARRAYS 4
#ifndef FE_STORAGE
#define FE_STORAGE FE_STORAGE_GROUPS
#endif
#if FE_STORAGE == FE_STORAGE_FLOATS
typedef float fe_tangent_number;
#else
typedef double fe_tangent_number;
#endif

/* Material state of one instant. Point arrays have n = FE_POINT components a point and stand as
 * [e / 32][component][point][e % 32]: 32 elements side by side, and all of an element within one short
 * stretch of memory. Points of an element without FE_YIELDED are not stored (zero), tangents of an element
 * without FE_SOFTENED are elastic. */
enum { FE_YIELDED = 1, FE_SOFTENED = 2 };
enum { FE_POINT = 6, FE_GROUP = FE_STORAGE == FE_STORAGE_ARRAYS ? 1 << 16 : 32 };
FE_BOTH size_t fe_stored_index(int n, int kind, int c, int q, int e)
{
    const size_t group = (unsigned)e / FE_GROUP;
    if (FE_STORAGE == FE_STORAGE_RECORDS) return ((size_t)e * fe_points(kind) + q) * n + c;
    return (group * (n * fe_points(kind)) + c * fe_points(kind) + q) * FE_GROUP + (unsigned)e % FE_GROUP;
}
FE_BOTH size_t fe_point_index(int kind, int c, int q, int e)
{
    return fe_stored_index(FE_POINT, kind, c, q, e);
}
/* From one component of a point to the next. */
FE_BOTH int fe_point_stride(int kind)
{
    return FE_STORAGE == FE_STORAGE_RECORDS ? 1 : fe_points(kind) * FE_GROUP;
}

typedef struct fe_state {
    double *point;  /* point array of FE_STATE components */
    uint8_t *flags; /* [ld] */
} fe_state;

/* One rank's share of the mesh and the state, in the memory of its backend. Vectors are [n_local][3], owned
 * nodes first, then ghosts; each is padded by 8 doubles. Hexahedra have their corners in binary order
 * (corner k at (k & 1, k >> 1 & 1, k >> 2 & 1)), so that corner b of an element turned by a is b ^ a. */
typedef struct fe_view {
    int n_owned, n_local;
    int n_node_interior; /* owned nodes [0, n_node_interior) touch interior elements only */
    int n_elem;
    int n_elem_interior;     /* elements [0, n_elem_interior) have no ghost corner */
    int ld;                  /* leading dimension of element arrays, >= n_elem + FE_LANES, whole groups */
    const double *x;         /* [n_local][3] */
    const int *conn;         /* [n_corner][ld] local node of each corner */
    const int *corner_first; /* [n_owned + 1] rows of: */
    const int *corner;       /* 8 × element + corner, ascending in each row */
    fe_j2 material;
    fe_state committed;         /* at the end of the last accepted load step */
    fe_state trial;             /* at the displacement last given to material() */
    fe_tangent_number *tangent; /* point array of FE_TANGENT components, of trial */
    double *full;               /* FE_STORAGE_FULL: the same of FE_FULL components; else NULL */
    int elastic;                /* trial comes from material() in elastic mode: no element is softened */
} fe_view;

typedef enum fe_part { FE_INTERIOR, FE_BORDER } fe_part;
typedef enum fe_tangent { FE_TANGENT_CONSISTENT, FE_TANGENT_ELASTIC } fe_tangent;

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

/* What a body of forces computes, a constant in each kernel; see fe_point_stress. */
enum { FE_RESIDUAL, FE_JACVEC, FE_JACVEC_ELASTIC };

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

/* Host loops over work items, shared among the rank's threads in equal, fixed ranges. */
#define FE_PARALLEL_FOR(i, first, last, step, threads)                                                       \
    _Pragma("omp parallel for schedule(static) num_threads(threads)") for (int i = first; i < last; i += step)

/* statement(KIND), or statement(KIND, OPERATION), with constants in place of the run's kind and operation:
 * bodies are compiled for each. A statement may be a parallel loop. */
#define FE_FOR_KIND(kind, statement)                                                                         \
    switch (kind) {                                                                                          \
        FE_EACH_KIND(FE_KIND_CASE, statement)                                                                \
    }
#define FE_KIND_CASE(KIND, name, statement)                                                                  \
    case KIND:                                                                                               \
        statement(KIND);                                                                                     \
        break;
#define FE_FOR_OPERATION(kind, op, statement)                                                                \
    switch (kind) {                                                                                          \
        FE_EACH_KIND(FE_OPERATION_CASE, op, statement)                                                       \
    }
#define FE_OPERATION_CASE(KIND, name, op, statement)                                                         \
    case KIND:                                                                                               \
        if (op == FE_RESIDUAL)                                                                               \
            statement(KIND, FE_RESIDUAL);                                                                    \
        else if (op == FE_JACVEC)                                                                            \
            statement(KIND, FE_JACVEC);                                                                      \
        else                                                                                                 \
            statement(KIND, FE_JACVEC_ELASTIC);                                                              \
        break;

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

/* First and one past last element or owned node of a part. */
static inline void fe_part_elements(const fe_view *v, fe_part part, int *first, int *last)
{
    *first = part == FE_INTERIOR ? 0 : v->n_elem_interior;
    *last = part == FE_INTERIOR ? v->n_elem_interior : v->n_elem;
}
static inline void fe_part_nodes(const fe_view *v, fe_part part, int *first, int *last)
{
    *first = part == FE_INTERIOR ? 0 : v->n_node_interior;
    *last = part == FE_INTERIOR ? v->n_node_interior : v->n_owned;
}
#ifdef __cplusplus
}
#endif
#endif
