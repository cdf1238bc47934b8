/* The two structs that a strategy is made of, and the registry.
 *
 * A variant sums element contributions its own way; everything else is the same object code for all. It sees
 * flat arrays (fe_view, common/physics/view.h) and two parts of the work. It does not see files, ranks,
 * boundary conditions or clocks. */
#ifndef FE_VARIANT_H
#define FE_VARIANT_H

#include "common/physics/view.h"

struct fe_device;
/* The same coordinates and tangent in floats, on the device, for tables of mixed and single precision. NULL
 * where there is none. Coordinates are relative to one node of the rank. */
typedef struct fe_floats {
    float *x;       /* [n_local][3] */
    float *tangent; /* point array, which material() brings up to date */
} fe_floats;
/* What a variant is given: the element kind, the view, and the device that memory and launches come from. */
typedef struct fe_problem {
    int kind;
    fe_view view;
    struct fe_device *device;
    fe_floats floats;
    int has_voce;    /* a material hardens by Voce's law */
    fe_j2 *material; /* [FE_MOST_MATERIALS] the materials, in host memory */
    double stiffest; /* largest ratio of bulk to shear modulus of a material */
    int in_pieces;   /* elements of each part are in compact pieces (fe_bisect), as strategies with FE_PIECES
                        want */
    struct fe_kept_mesh *kept; /* what fe_problem_host_mesh reads on a GPU */
    int halo; /* of its nodes: FE_HALO_NODES, or FE_HALO_VERTICES of the linear elements that multigrid
                 makes of quadratic ones (common/ranks/comm.h) */
} fe_problem;

/* FE_STORES: overwrites every owned row, so the caller need not zero the output. FE_INDEPENDENT: the parts
 * may run in any order, and at the same time. FE_ASSEMBLED: jacvec reads a matrix that material() made, so it
 * is elastic only where the trial is. FE_PIECES: wants elements in compact pieces (the order bisection),
 * FE_PIECES_OF_SEVERAL: those of several points (fe_wants_pieces); without it neighbouring elements should
 * share nodes. Both are what the order `auto` gives (fe_mesh_arrange_for). */
enum { FE_STORES = 1, FE_INDEPENDENT = 2, FE_ASSEMBLED = 4, FE_PIECES = 8, FE_PIECES_OF_SEVERAL = 16 };

/* One strategy on one backend, in one precision. Calls only enqueue work: no allocation, no wait, no copy to
 * the host. The caller zeroes outputs, except those of residual and jacvec where FE_STORES is set. The
 * interior part runs first, then the border part, unless FE_INDEPENDENT is set; both parts together are the
 * whole. setup and material are given the problem itself, the others fe_problem_in of it. Vectors of the
 * others hold the fe_number of the table's precision: floats in single precision, otherwise doubles. */
typedef struct fe_assembly {
    /* set by FE_TABLE */
    int precision;                    /* FE_DOUBLE, FE_MIXED or FE_SINGLE */
    int quadratic;                    /* it computes Tet10 and Hex27 */
    const struct fe_assembly *single; /* the same strategy and backend in single precision */
    /* Called once; timed separately. Memory comes from fe_device_allocate. NULL where there is nothing to set
     * up. */
    fe_status (*setup)(fe_problem *p, void **work);
    /* A table in single precision, which then serves elastic products alone (fe_multigrid): setup without the
     * searching and sorting, from the work that the same strategy's table in double precision has found and
     * keeps. NULL: setup is called. Either gets a problem that ends with the call and has no tangent in
     * floats; its kind may be another one with the same nodes (fe_plain_kind). */
    fe_status (*setup_from)(fe_problem *p, void *in_double, void **work);
    /* r += f_int(displacement), from the committed state, without side effect. */
    fe_status (*residual)(const fe_problem *p, void *work, fe_part part, const void *displacement, void *r);
    /* Trial state and tangent at the displacement; sets view.elastic. */
    fe_status (*material)(fe_problem *p, void *work, fe_linearization mode, const double *displacement);
    /* y += K(trial) direction */
    fe_status (*jacvec)(const fe_problem *p, void *work, fe_part part, const void *direction, void *y);
    /* d [n_owned][3][3] += diagonal blocks of K(trial); ghost rows [n_local] are scratch. */
    fe_status (*diagonal)(const fe_problem *p, void *work, void *d);
    /* FE_ASSEMBLED: bytes of the matrix that jacvec reads, values and structure. */
    double (*matrix_bytes)(const void *work);
    int traits; /* of residual and jacvec: FE_STORES | FE_INDEPENDENT | FE_ASSEMBLED | FE_PIECES or
                   FE_PIECES_OF_SEVERAL */
    /* One line about what setup decided, for the user. NULL where it decides nothing. */
    const char *(*note)(const void *work);
} fe_assembly;

/* Whether a table wants elements of this kind in compact pieces. */
static inline int fe_wants_pieces(const fe_assembly *a, int kind)
{
    return (a->traits & FE_PIECES) != 0 || ((a->traits & FE_PIECES_OF_SEVERAL) != 0 && fe_points(kind) > 1);
}

typedef struct fe_variant {
    const char *name, *summary;
    int deterministic;              /* the same bits on every run, which a test checks */
    const fe_assembly *host, *cuda; /* in double precision */
    /* NULL where the strategy does not compute in that precision */
    const fe_assembly *host_mixed, *host_single, *cuda_mixed, *cuda_single;
} fe_variant;

/* The table's residual and jacvec from one forces(p, work, op, part, displacement, y); the direction of
 * jacvec is passed as the displacement. */
#define FE_FORCE_OPERATIONS(forces)                                                                          \
    static fe_status residual(const fe_problem *p, void *work, fe_part part, const void *displacement,       \
                              void *r)                                                                       \
    {                                                                                                        \
        if (p->has_voce && FE_PRECISION != FE_DOUBLE)                                                        \
            return fe_fail(FE_BAD_INPUT, "Voce's law of hardening is computed in double precision alone");   \
        return forces(p, work, fe_residual_of(&p->view), part, (const fe_number *)displacement,              \
                      (fe_number *)r);                                                                       \
    }                                                                                                        \
    static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)   \
    {                                                                                                        \
        return forces(p, work, fe_jacvec_of(&p->view), part, (const fe_number *)direction, (fe_number *)y);  \
    }
/* .setup_from = FE_SETUP_FROM(mine): in the table of single precision alone. */
#define FE_SETUP_FROM(function) (FE_PRECISION == FE_SINGLE ? (function) : NULL)
/* The table itself, NAME_host or NAME_cuda: FE_TABLE(mine_host, .residual = residual, ...). A file with one
 * is compiled for each precision. */
#ifdef __cplusplus
#define FE_TABLE(name, ...)                                                                                  \
    extern "C" {                                                                                             \
    extern const fe_assembly FE_PRECISE(name), name##_single;                                                \
    const fe_assembly FE_PRECISE(name) = {                                                                   \
        .precision = FE_PRECISION, .quadratic = FE_QUADRATIC, .single = &name##_single, __VA_ARGS__};        \
    }
#else
#define FE_TABLE(name, ...)                                                                                  \
    extern const fe_assembly FE_PRECISE(name), name##_single;                                                \
    const fe_assembly FE_PRECISE(name) = {                                                                   \
        .precision = FE_PRECISION, .quadratic = FE_QUADRATIC, .single = &name##_single, __VA_ARGS__};
#endif

#ifdef __cplusplus
extern "C" {
#endif
/* The registry, in variants.def's order. */
int fe_variant_count(void);
const fe_variant *fe_variant_at(int i);
/* NULL where there is no such variant. */
const fe_variant *fe_variant_find(const char *name);

/* The table of a precision; NULL where there is none. */
const fe_assembly *fe_variant_table(const fe_variant *variant, int cuda, int precision);

/* Makes the floats that a precision needs, unless they are there; or the coordinates alone. */
fe_status fe_problem_open_floats(fe_problem *p, int precision);
fe_status fe_problem_open_coordinates(fe_problem *p);
/* The problem as operations of a precision see it: its view has coordinates and tangents in that precision's
 * numbers (fe_coordinates, fe_tangents). */
fe_problem fe_problem_in(const fe_problem *p, int precision);

/* A view's mesh in host memory. */
typedef struct fe_host_mesh {
    const double *x;         /* [n_local][3] */
    const int *conn;         /* [n_corner][ld] */
    const int *corner_first; /* [n_owned + 1] */
    const int *corner;
} fe_host_mesh;
/* For set-ups; valid until fe_problem_forget_mesh. On a GPU the arrays that the view was made of, which a
 * problem keeps until then, and later what is read back. */
fe_status fe_problem_host_mesh(const fe_problem *p, fe_host_mesh *mesh);
/* When all set-ups are done. */
void fe_problem_forget_mesh(fe_problem *p);
/* Elements at each local node, [n_local] in host memory, for set-ups: of owned nodes the lengths of the
 * view's rows, of ghosts counted among the border's elements. */
fe_status fe_problem_valence(const fe_problem *p, const fe_host_mesh *mesh, int threads, int **valence);

/* Makes the floats of the table's precision and calls setup where there is one; *work is NULL otherwise.
 * FE_BAD_INPUT where the precision does not have the element kind. */
fe_status fe_assembly_set_up(const fe_assembly *a, fe_problem *p, void **work);
/* The same of a table in single precision for elastic products alone, which it has of quadratic elements,
 * too: without a tangent in floats. in_double: the work of the strategy's table in double precision. */
fe_status fe_assembly_set_up_elastic(const fe_assembly *single, fe_problem *p, void *in_double, void **work);

#ifdef __cplusplus
}
#endif
#endif
