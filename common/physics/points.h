/* One element of the view: its corners' nodes, and the numbers of its points.
 *
 * An element may be `turned`: corner b is then its corner b ^ turn, so that a gather by node sees each
 * element with the node as corner 0. For Tet4 the four turns are rotations; for Hex8 they are reflections,
 * which flip the Jacobian's sign. Quadratic elements are never turned: a gather passes the corner instead
 * (fe_own_gradient). */
#ifndef FE_POINTS_H
#define FE_POINTS_H

#include "common/physics/view.h"

typedef struct fe_element {
    fe_index e, turn;
    fe_index committed, trial; /* flags of the two states */
} fe_element;

#ifdef __CUDACC__
FE_BODY fe_index fe_no_turn(void) { return 0; }
FE_BODY fe_index fe_same_index(int a) { return a; }
FE_BODY fe_index fe_times3(fe_index a, int plus) { return 3 * a + plus; }
FE_BODY fe_index fe_corner_place(int b, fe_index turn, int ld, fe_index e) { return (b ^ turn) * ld + e; }
FE_BODY fe_scalar fe_turn_sign(int kind, fe_index turn)
{
    return fe_corners(kind) == 8 && (__popc(turn) & 1) ? -1.0f : 1.0f;
}
FE_BODY fe_index fe_flags_of(fe_mask yielded, fe_mask softened)
{
    return (yielded ? FE_YIELDED : 0) | (softened ? FE_SOFTENED : 0);
}
#else
FE_BODY fe_index fe_no_turn(void) { return (fe_index){{0}}; }
/* The same number in all lanes. */
FE_BODY fe_index fe_same_index(int a)
{
    fe_index same;
    for (int l = 0; l < FE_LANES; l++) same.lane[l] = a;
    return same;
}
FE_BODY fe_index fe_times3(fe_index a, int plus)
{
    for (int l = 0; l < FE_LANES; l++) a.lane[l] = 3 * a.lane[l] + plus;
    return a;
}
FE_BODY fe_index fe_flags_of(fe_mask yielded, fe_mask softened)
{
    fe_index flags;
    for (int l = 0; l < FE_LANES; l++)
        flags.lane[l] = (yielded[l] ? FE_YIELDED : 0) | (softened[l] ? FE_SOFTENED : 0);
    return flags;
}
FE_BODY fe_index fe_corner_place(int b, fe_index turn, int ld, fe_index e)
{
    fe_index place;
    for (int l = 0; l < FE_LANES; l++) place.lane[l] = (b ^ turn.lane[l]) * ld + e.lane[l];
    return place;
}
FE_BODY fe_real fe_turn_sign(int kind, fe_index turn)
{
    if (fe_corners(kind) != 8) return fe_splat(1.0f);
#define SIGN(l) (__builtin_parity((unsigned)turn.lane[l]) ? -1.0f : 1.0f)
    return FE_FROM_LANES(SIGN);
#undef SIGN
}
#endif

FE_BODY fe_element fe_element_open(const fe_view *m, fe_index e, fe_index turn)
{
    const fe_element element = {e, turn, fe_read_byte(m->committed.flags, e),
                                fe_read_byte(m->trial.flags, e)};
    return element;
}

/* Local nodes of the corners, and a field's values there. In mixed precision they are its differences from
 * the value at corner 0: gradients are the same, and no digits are lost where the field is far from zero. */
FE_BODY void fe_element_nodes(int kind, const fe_view *m, fe_element e, fe_index node[])
{
    FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++)
        node[b] = fe_read_index(m->conn, fe_corner_place(b, e.turn, m->ld, e.e), 0);
}
FE_BODY void fe_element_read(int kind, const fe_index node[], const fe_number *field, fe_real f[][3])
{
    FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++) {
        if (FE_PRECISION == FE_MIXED)
            fe_read3_from(field, node[b], node[0], f[b]);
        else
            fe_read3(field, node[b], f[b]);
    }
}

/* Opens elements and reads their corners' nodes and coordinates. */
FE_BODY fe_element fe_element_load(int kind, const fe_view *m, fe_index e, fe_index turn, fe_index node[],
                                   fe_real x[][3])
{
    const fe_element element = fe_element_open(m, e, turn);
    fe_element_nodes(kind, m, element, node);
    fe_element_read(kind, node, fe_coordinates(m), x);
    return element;
}

/* The components of point q in a point array. Points of several turn as the corners do. */
#ifdef __CUDACC__
FE_BODY size_t fe_point_place(int n, int kind, fe_element e, int q, int c)
{
    return fe_stored_index(n, kind, c, fe_points(kind) == 1 ? q : q ^ e.turn, e.e);
}
/* fe_WHAT_read and fe_WHAT_write of arrays of n components: of states, tangents, full tangents. */
#define FE_POINT_ACCESS(what, number, n)                                                                     \
    FE_BODY void fe_##what##_read(int kind, const number *__restrict__ array, fe_element e, int q,           \
                                  fe_real value[n])                                                          \
    {                                                                                                        \
        FE_UNROLL_FOR (int c = 0; c < n; c++) value[c] = (fe_real)array[fe_point_place(n, kind, e, q, c)];   \
    }                                                                                                        \
    FE_BODY void fe_##what##_write(int kind, number *array, fe_element e, int q, fe_mask where,              \
                                   const fe_real value[n])                                                   \
    {                                                                                                        \
        FE_UNROLL_FOR (int c = 0; c < n; c++)                                                                \
            if (where) array[fe_point_place(n, kind, e, q, c)] = (number)value[c];                           \
    }
#else
/* Elements are passed by address: a copy of lanes that were just written one by one would wait for all of
 * them. */
FE_BODY size_t fe_point_place(int n, int kind, const fe_element *e, int l, int q, int c)
{
    return fe_stored_index(n, kind, c, fe_points(kind) == 1 ? q : q ^ e->turn.lane[l], e->e.lane[l]);
}
/* Lanes stand side by side in the array. */
FE_BODY int fe_point_wide(const fe_element *e)
{
    int wide = FE_STORAGE != FE_STORAGE_RECORDS && e->e.lane[0] % FE_GROUP + FE_LANES <= FE_GROUP;
    for (int l = 1; l < FE_LANES; l++)
        wide &= e->e.lane[l] == e->e.lane[0] + l && e->turn.lane[l] == e->turn.lane[0];
    return wide;
}
#define FE_POINT_LANE(l) (fe_scalar) from[l][c * fe_point_stride(kind)]
#define FE_POINT_ACCESS(what, number, n)                                                                     \
    FE_BODY void fe_##what##_read(int kind, const number *array, fe_element e, int q, fe_real value[n])      \
    {                                                                                                        \
        if (fe_point_wide(&e)) {                                                                             \
            const number *from = array + fe_point_place(n, kind, &e, 0, q, 0);                               \
            for (int c = 0; c < n; c++) value[c] = fe_load(from + c * fe_point_stride(kind));                \
        } else {                                                                                             \
            const number *from[FE_LANES];                                                                    \
            for (int l = 0; l < FE_LANES; l++) from[l] = array + fe_point_place(n, kind, &e, l, q, 0);       \
            for (int c = 0; c < n; c++) value[c] = FE_FROM_LANES(FE_POINT_LANE);                             \
        }                                                                                                    \
    }                                                                                                        \
    FE_BODY void fe_##what##_write(int kind, number *array, fe_element e, int q, fe_mask where,              \
                                   const fe_real value[n])                                                   \
    {                                                                                                        \
        if (fe_point_wide(&e) && fe_all(where)) {                                                            \
            number *to = array + fe_point_place(n, kind, &e, 0, q, 0);                                       \
            for (int c = 0; c < n; c++) fe_store(to + c * fe_point_stride(kind), value[c]);                  \
        } else {                                                                                             \
            for (int c = 0; c < n; c++) {                                                                    \
                const fe_scalar *lane = (const fe_scalar *)&value[c];                                        \
                for (int l = 0; l < FE_LANES; l++)                                                           \
                    if (where[l]) array[fe_point_place(n, kind, &e, l, q, c)] = (number)lane[l];             \
            }                                                                                                \
        }                                                                                                    \
    }
#endif
FE_POINT_ACCESS(state, double, FE_N_STATE)
FE_POINT_ACCESS(tangent, fe_tangent_number, FE_N_TANGENT)
FE_POINT_ACCESS(full, double, FE_N_FULL)
#undef FE_POINT_ACCESS
#undef FE_POINT_LANE

/* State of a point; zero where the element has not yielded. */
FE_BODY void fe_point_state(int kind, const fe_state *s, fe_index flags, fe_element e, int q,
                            fe_real state[FE_N_STATE])
{
    FE_UNROLL_FOR (int c = 0; c < FE_N_STATE; c++) state[c] = fe_splat(0.0f);
    const fe_mask stored = fe_has_bit(flags, FE_YIELDED);
    if (fe_any(stored)) {
        fe_real read[FE_N_STATE];
        fe_state_read(kind, s->point, e, q, read);
        FE_UNROLL_FOR (int c = 0; c < FE_N_STATE; c++) state[c] = fe_select(stored, read[c], state[c]);
    }
}

/* Tangent of a point; elastic in lanes whose element is not softened. */
FE_BODY void fe_point_tangent(int kind, const fe_view *m, fe_mask softened, fe_element e, int q,
                              fe_real tangent[FE_N_TANGENT])
{
    fe_real read[FE_N_TANGENT];
    fe_tangent_read(kind, fe_tangents(m), e, q, read);
    FE_UNROLL_FOR (int c = 0; c < FE_N_TANGENT; c++)
        tangent[c] = fe_select(softened, read[c], fe_splat(c ? 0.0f : 1.0f));
}

/* scale × C:strain of a point from its full tangent; elastic in lanes whose element is not softened. */
FE_BODY void fe_point_full_stress(int kind, const fe_view *m, const fe_constants *material, fe_mask softened,
                                  fe_element e, int q, fe_real scale, const fe_real strain[6],
                                  fe_real stress[6])
{
    fe_real full[FE_N_FULL], product[6];
    fe_full_read(kind, m->full, e, q, full);
    fe_full_stress(scale, full, strain, product);
    fe_elastic_stress(material, scale, strain, stress);
    FE_UNROLL_FOR (int i = 0; i < 6; i++) stress[i] = fe_select(softened, product[i], stress[i]);
}

#endif
