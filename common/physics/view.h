/* What element bodies read and write: one rank's share of the mesh with its states, as flat arrays. */
#ifndef FE_VIEW_H
#define FE_VIEW_H

#include "common/physics/j2.h"

/* What is stored of points, and where: a constant of the build (make STORAGE=...).
 *   GROUPS   six doubles of state and of tangent, in groups of 32 elements: the default
 *   FLOATS   tangents in single precision
 *   RECORDS  the six numbers of a point next to each other
 *   ARRAYS   one array per component for each 65536 elements */
#define FE_STORAGE_GROUPS 0
#define FE_STORAGE_FLOATS 1
#define FE_STORAGE_RECORDS 3
#define FE_STORAGE_ARRAYS 4
#ifndef FE_STORAGE
#define FE_STORAGE FE_STORAGE_GROUPS
#endif
#if FE_STORAGE == FE_STORAGE_FLOATS
typedef float fe_stored_number; /* of the tangent that material() writes */
#else
typedef double fe_stored_number;
#endif
#if FE_PRECISION == FE_DOUBLE
typedef fe_stored_number fe_tangent_number; /* of the tangent that operations of this file's precision read */
#else
typedef float fe_tangent_number;
#endif

/* Material state of one instant. Point arrays have n = FE_N_NUMBER components per point, stored as
 * [e / 32][component][point][e % 32]: 32 elements next to each other, and all numbers of an element close
 * together in memory. Points of an element without FE_YIELDED are not stored (zero), tangents of an element
 * without FE_SOFTENED are elastic. */
enum { FE_YIELDED = 1, FE_SOFTENED = 2 };
enum { FE_N_NUMBER = 6, FE_GROUP = FE_STORAGE == FE_STORAGE_ARRAYS ? 1 << 16 : 32 };
FE_BOTH size_t fe_stored_index(int n, int kind, int c, int q, int e)
{
    const size_t group = (unsigned)e / FE_GROUP;
    if (FE_STORAGE == FE_STORAGE_RECORDS) return ((size_t)e * fe_points(kind) + q) * n + c;
    return (group * (n * fe_points(kind)) + c * fe_points(kind) + q) * FE_GROUP + (unsigned)e % FE_GROUP;
}
FE_BOTH size_t fe_point_index(int kind, int c, int q, int e)
{
    return fe_stored_index(FE_N_NUMBER, kind, c, q, e);
}
/* From one component of a point to the next. */
FE_BOTH int fe_point_stride(int kind)
{
    return FE_STORAGE == FE_STORAGE_RECORDS ? 1 : fe_points(kind) * FE_GROUP;
}

typedef struct fe_state {
    double *point;  /* point array of FE_N_STATE components */
    uint8_t *flags; /* [ld] */
} fe_state;

/* One rank's share of the mesh and the state, in the memory of its backend. Vectors are [n_local][3], owned
 * nodes first, then ghosts; each is padded by 8 doubles. Hexahedra have their corners in binary order
 * (corner k at (k & 1, k >> 1 & 1, k >> 2 & 1)), so that corner b of an element turned by a is b ^ a; those
 * of Hex27 are in ternary order (corner i + 3 j + 9 k at (i, j, k) / 2). */
typedef struct fe_view {
    int n_owned, n_local;
    int n_node_interior; /* owned nodes [0, n_node_interior) touch interior elements only */
    int n_elem;
    int n_elem_interior;        /* elements [0, n_elem_interior) have no ghost corner */
    int ld;                     /* leading dimension of element arrays, >= n_elem + 16 lanes, whole groups */
    const double *x;            /* [n_local][3]; bodies take fe_coordinates */
    const int *conn;            /* [n_corner][ld] local node of each corner */
    const int *corner_first;    /* [n_owned + 1] rows of: */
    const int *corner;          /* fe_corner_code of element and corner, ascending in each row */
    fe_j2 material;             /* of all elements, where there are not several: */
    const fe_j2 *materials;     /* [FE_MOST_MATERIALS], or NULL */
    const uint8_t *material_of; /* [ld] which of them an element has */
    fe_state committed;         /* at the end of the last accepted load step */
    fe_state trial;             /* at the displacement last given to material() */
    fe_stored_number *tangent;  /* point array of FE_N_TANGENT components, of trial; fe_tangents */
    double *full;               /* the same of FE_N_FULL components, for FE_JACVEC_FULL; else NULL */
    int elastic;                /* trial comes from material() in elastic mode: no element is softened */
} fe_view;

/* An element and one of its corners in one number. */
FE_BOTH int fe_corner_bits(int kind) { return kind == FE_HEX27 ? 5 : kind == FE_TET10 ? 4 : 3; }
FE_BOTH int fe_corner_code(int kind, int e, int c) { return (e << fe_corner_bits(kind)) + c; }
FE_BOTH int fe_code_element(int kind, int code) { return code >> fe_corner_bits(kind); }
FE_BOTH int fe_code_corner(int kind, int code) { return code & ((1 << fe_corner_bits(kind)) - 1); }

/* Coordinates and tangents in this file's precision: fe_problem_in gives views where x and tangent point to
 * floats. */
FE_BOTH const fe_number *fe_coordinates(const fe_view *m) { return (const fe_number *)m->x; }
FE_BOTH fe_tangent_number *fe_tangents(const fe_view *m) { return (fe_tangent_number *)m->tangent; }

typedef enum fe_part { FE_INTERIOR, FE_BORDER } fe_part;
typedef enum fe_linearization { FE_LINEARIZATION_CONSISTENT, FE_LINEARIZATION_ELASTIC } fe_linearization;

/* What a body of forces computes, a constant in each kernel; see fe_point_stress. On the device the residual
 * with Voce's law is an operation of its own, because code for both laws would take registers from linear
 * hardening; on the host FE_RESIDUAL has both. Operations for several materials look up that of each element,
 * and know both laws. */
enum {
    FE_RESIDUAL,
    FE_JACVEC,
    FE_JACVEC_ELASTIC,
    FE_RESIDUAL_VOCE,
    FE_RESIDUAL_SEVERAL,
    FE_JACVEC_SEVERAL,
    FE_JACVEC_ELASTIC_SEVERAL,
    FE_JACVEC_FULL, /* reads the 21 numbers of a symmetric tangent, as any material has them */
    FE_N_FORCES
};
/* Kinds and precision that have FE_JACVEC_FULL, which is only compared with. FE_FULL_NAME(X, ...): X(...) for
 * these, otherwise nothing. */
FE_BOTH int fe_full_has(int precision, int kind)
{
    return precision == FE_DOUBLE && kind != FE_TET4_P4 && kind != FE_HEX8_NAIVE;
}
#if FE_PRECISION == FE_DOUBLE
#define FE_FULL_tet4(X, ...) X(__VA_ARGS__)
#else
#define FE_FULL_tet4(X, ...)
#endif
#define FE_FULL_hex8 FE_FULL_tet4
#define FE_FULL_tet10 FE_FULL_tet4
#define FE_FULL_hex27 FE_FULL_tet4
#define FE_FULL_tet4_p4(X, ...)
#define FE_FULL_hex8_naive(X, ...)
#define FE_FULL_tet4_mixed(X, ...)
#define FE_FULL_hex8_mixed(X, ...)
#define FE_FULL_tet4_single(X, ...)
#define FE_FULL_hex8_single(X, ...)
#define FE_FULL_tet10_single(X, ...)
#define FE_FULL_hex27_single(X, ...)
/* Kinds that have bodies with plasticity, residual and tangent products. FE_PLASTIC_NAME(X, ...): X(...) for
 * these, otherwise nothing. */
#define FE_PLASTIC_tet4(X, ...) X(__VA_ARGS__)
#if FE_PRECISION == FE_SINGLE
#define FE_PLASTIC_tet10(X, ...)
#else
#define FE_PLASTIC_tet10 FE_PLASTIC_tet4
#endif
#define FE_PLASTIC_tet4_p4 FE_PLASTIC_tet4
#define FE_PLASTIC_hex8 FE_PLASTIC_tet4
#define FE_PLASTIC_hex8_naive FE_PLASTIC_tet4
#define FE_PLASTIC_hex27 FE_PLASTIC_tet10
#define FE_PLASTIC_tet4_mixed FE_PLASTIC_tet4
#define FE_PLASTIC_hex8_mixed FE_PLASTIC_tet4
#define FE_PLASTIC_tet4_single FE_PLASTIC_tet4
#define FE_PLASTIC_hex8_single FE_PLASTIC_tet4
#define FE_PLASTIC_tet10_single FE_PLASTIC_tet10
#define FE_PLASTIC_hex27_single FE_PLASTIC_tet10
/* To keep the build short hex8_naive, which is only compared with, has none of these. FE_SEVERAL_NAME(X,
 * ...): X(...) for the kinds that have them, otherwise nothing. */
FE_BOTH int fe_several_has(int kind) { return kind != FE_HEX8_NAIVE; }
#define FE_SEVERAL_tet4(X, ...) X(__VA_ARGS__)
#define FE_SEVERAL_tet4_p4 FE_SEVERAL_tet4
#define FE_SEVERAL_hex8 FE_SEVERAL_tet4
#define FE_SEVERAL_hex8_naive(X, ...)
#define FE_SEVERAL_tet4_mixed FE_SEVERAL_tet4
#define FE_SEVERAL_hex8_mixed FE_SEVERAL_tet4
#define FE_SEVERAL_tet4_single FE_SEVERAL_tet4
#define FE_SEVERAL_hex8_single FE_SEVERAL_tet4
#define FE_SEVERAL_tet10 FE_SEVERAL_tet4
#define FE_SEVERAL_hex27 FE_SEVERAL_tet4
#define FE_SEVERAL_tet10_single FE_SEVERAL_tet4
#define FE_SEVERAL_hex27_single FE_SEVERAL_tet4
FE_BOTH int fe_is_several(int op) { return op >= FE_RESIDUAL_SEVERAL && op <= FE_JACVEC_ELASTIC_SEVERAL; }
FE_BOTH int fe_is_residual(int op)
{
    return op == FE_RESIDUAL || op == FE_RESIDUAL_VOCE || op == FE_RESIDUAL_SEVERAL;
}
FE_BOTH int fe_is_elastic(int op) { return op == FE_JACVEC_ELASTIC || op == FE_JACVEC_ELASTIC_SEVERAL; }
/* jacvec that reads tangents of FE_N_TANGENT numbers */
FE_BOTH int fe_is_tangent(int op) { return op == FE_JACVEC || op == FE_JACVEC_SEVERAL; }

/* The operations of a view, which are known before the launch. */
FE_BOTH int fe_residual_of(const fe_view *m)
{
    if (m->materials) return FE_RESIDUAL_SEVERAL;
    return FE_ON_DEVICE && fe_hardening_of(&m->material) == FE_VOCE ? FE_RESIDUAL_VOCE : FE_RESIDUAL;
}
FE_BOTH int fe_jacvec_of(const fe_view *m)
{
    if (m->materials) return m->elastic ? FE_JACVEC_ELASTIC_SEVERAL : FE_JACVEC_SEVERAL;
    return m->elastic ? FE_JACVEC_ELASTIC : m->full ? FE_JACVEC_FULL : FE_JACVEC;
}

/* The material of elements e. `several` is a constant, or m->materials where time does not matter. */
FE_BODY fe_constants fe_material_at(int several, const fe_view *m, fe_index e)
{
    return several ? fe_constants_in(m->materials, fe_read_byte(m->material_of, e))
                   : fe_constants_of(&m->material);
}

/* The law of hardening to compute with, in bodies of a kind that knows more than one: Voce's if any lane's
 * element has it. */
FE_BODY int fe_hardening_at(int several, int kind, const fe_view *m, const fe_constants *material)
{
    if (!fe_voce_has(FE_PRECISION, kind)) return FE_LINEAR;
    if (!several) return fe_hardening_of(&m->material);
    return fe_any(material->rate > fe_splat(0.0f)) ? FE_VOCE : FE_LINEAR;
}
/* The same in a body of forces. On the device the operation says it of one material. */
FE_BODY int fe_hardening_in(int kind, int op, const fe_view *m, const fe_constants *material)
{
    if (FE_ON_DEVICE && !fe_is_several(op)) return op == FE_RESIDUAL_VOCE ? FE_VOCE : FE_LINEAR;
    return fe_hardening_at(fe_is_several(op), kind, m, material);
}

/* First and one past last element or owned node of a part. */
static inline void fe_part_elements(const fe_view *m, fe_part part, int *first, int *last)
{
    *first = part == FE_INTERIOR ? 0 : m->n_elem_interior;
    *last = part == FE_INTERIOR ? m->n_elem_interior : m->n_elem;
}
static inline int fe_has_border(const fe_view *m)
{
    return m->n_elem > m->n_elem_interior || m->n_owned > m->n_node_interior;
}
static inline void fe_part_nodes(const fe_view *m, fe_part part, int *first, int *last)
{
    *first = part == FE_INTERIOR ? 0 : m->n_node_interior;
    *last = part == FE_INTERIOR ? m->n_node_interior : m->n_owned;
}

#endif
