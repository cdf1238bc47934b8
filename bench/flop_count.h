/* Flop of one element, counted: the element bodies of common/physics run once on a number that counts its own
 * additions, subtractions, multiplications, divisions, square roots and maxima, one each (a fused
 * multiply-add is two; the first term of a sum is not an addition). So the count follows the physics and
 * needs no table.
 *
 * C++. It replaces common/physics/real.h: include it before any header of febench. */
#ifndef BENCH_FLOP_COUNT_H
#define BENCH_FLOP_COUNT_H

#ifdef FE_REAL_H
#error "flop_count.h takes the place of common/physics/real.h: include it first"
#endif
#define FE_REAL_H
#include "common/base/fe.h"

#include <cmath>
#include <cstring>
#include <vector>

#define FE_LANES 1
#define FE_EMPTY (-0.0f)
#define FE_FROM_LANES(M) fe_real(M(0))
#define FE_UNROLL_FOR(...) for (__VA_ARGS__)
#define FE_UNROLL_LARGE_FOR(...) for (__VA_ARGS__)

namespace flop_count
{
inline int64_t operations = 0;

struct number {
    double value = 0.0;
    bool empty = false; /* FE_EMPTY, the start of a sum: the first addition to it is not counted */
    number() = default;
    number(double a) : value(a) {}
    number &operator[](int) { return *this; }
    number &operator+=(number b)
    {
        operations += !empty && !b.empty;
        value += b.value, empty = empty && b.empty;
        return *this;
    }
    number &operator-=(number b) { return operations++, value -= b.value, *this; }
    number &operator*=(number b) { return operations++, value *= b.value, *this; }
    number &operator/=(number b) { return operations++, value /= b.value, *this; }
    friend number operator+(number a, number b) { return a += b; }
    friend number operator-(number a, number b) { return a -= b; }
    friend number operator*(number a, number b) { return a *= b; }
    friend number operator/(number a, number b) { return a /= b; }
    friend number operator-(number a) { return number(-a.value); }
};

struct mask {
    bool value = false;
    bool &operator[](int) { return value; }
    const bool &operator[](int) const { return value; }
    friend mask operator|(mask a, mask b) { return {a.value || b.value}; }
    friend mask operator&(mask a, mask b) { return {a.value && b.value}; }
    friend mask operator~(mask a) { return {!a.value}; }
};
inline mask operator>(number a, number b) { return {a.value > b.value}; }
} // namespace flop_count

typedef flop_count::number fe_real;
typedef flop_count::mask fe_mask;
typedef struct fe_index {
    int lane[FE_LANES];
} fe_index;

FE_BODY fe_real fe_splat(double a)
{
    fe_real number(a);
    number.empty = a == 0.0 && std::signbit(a);
    return number;
}
/* What is computed of numbers of the material alone is not counted. */
typedef double fe_constant;
FE_BODY fe_constant fe_alike(double a) { return a; }
FE_BODY fe_constant fe_pick(const double *table, int row, fe_index i) { return table[row * i.lane[0]]; }
FE_BODY fe_real fe_select(fe_mask m, fe_real a, fe_real b) { return m.value ? a : b; }
template <typename T> fe_real fe_load(const T *p) { return fe_real((double)*p); }
template <typename T> void fe_store(T *p, fe_real a) { *p = (T)a.value; }
/* An operation on bits, which is not counted. */
FE_BODY fe_real fe_two_to(fe_real shifted) { return std::ldexp(1.0, (int)(shifted.value - 0x1.8p52)); }
FE_BODY fe_real fe_reciprocal(fe_real a) { return 1.0 / a; }
FE_BODY fe_real fe_sqrt(fe_real a) { return flop_count::operations++, fe_real(sqrt(a.value)); }
FE_BODY fe_real fe_max(fe_real a, fe_real b) { return flop_count::operations++, a.value > b.value ? a : b; }
FE_BODY bool fe_any(fe_mask m) { return m.value; }
FE_BODY bool fe_all(fe_mask m) { return m.value; }
FE_BODY fe_real fe_read(const double *p, fe_index i, size_t offset)
{
    return fe_real(p[offset + (size_t)i.lane[0]]);
}
FE_BODY fe_index fe_read_index(const int *p, fe_index i, size_t offset)
{
    return fe_index{{p[offset + (size_t)i.lane[0]]}};
}
FE_BODY fe_index fe_read_byte(const uint8_t *p, fe_index i) { return fe_index{{p[i.lane[0]]}}; }
FE_BODY fe_mask fe_has_bit(fe_index a, int bit) { return fe_mask{(a.lane[0] & bit) != 0}; }
FE_BODY void fe_read3(const double *p, fe_index i, fe_real out[3])
{
    for (int c = 0; c < 3; c++) out[c] = fe_real(p[3 * (size_t)i.lane[0] + (size_t)c]);
}
/* The difference is part of reading, and is not counted. */
FE_BODY void fe_read3_from(const double *p, fe_index i, fe_index from, fe_real out[3])
{
    for (int c = 0; c < 3; c++) out[c] = fe_real(p[3 * i.lane[0] + c] - p[3 * from.lane[0] + c]);
}
FE_BODY void fe_write(double *p, fe_index i, size_t offset, fe_mask m, fe_real a)
{
    if (m.value) p[offset + (size_t)i.lane[0]] = a.value;
}

#include "bench/workload_fields.h"
#include "common/physics/element.h"

namespace flop_count
{

/* Of corner a of an element over [0, 1]. */
inline double coordinate(int kind, int a, int axis)
{
    int end[2] = {a, a};
    if (kind == FE_HEX27) return (axis == 0 ? a % 3 : axis == 1 ? a / 3 % 3 : a / 9) / 2.0;
    if (!fe_is_tet(kind)) return a >> axis & 1;
    if (kind == FE_TET10) fe_tet10_ends(a, end);
    return ((end[0] == axis + 1) + (end[1] == axis + 1)) / 2.0;
}

/* Flop of an operation on one element that is plastic (committed and trial) or elastic. Each element is
 * computed once and its corner values are added to the nodes once: what a strategy computes more than that
 * counts as time, not as work. A plastic one is sheared to four times the yield strain, as the elements of a
 * case are (workload_fields.h): iterations by Voce's law depend on it. */
inline int64_t of_element(int kind, bench_operation op, int hardening, bool plastic)
{
    const fe_material material = bench_material(hardening);
    const double yield = 2.0 * (1.0 + material.nu) * material.sigma_y / std::sqrt(3.0) / material.E;
    const int n_corner = fe_corners(kind);
    const size_t n = FE_MOST_POINTS * (size_t)FE_GROUP;
    double x[FE_MOST_CORNERS * 3], u[FE_MOST_CORNERS * 3];
    std::vector<double> state(FE_N_STATE * n), trial(FE_N_STATE * n), full(FE_N_FULL * n, 0.5);
    std::vector<fe_tangent_number> tangent(FE_N_TANGENT * n, 0.5);
    int conn[FE_MOST_CORNERS];
    uint8_t committed = plastic ? FE_YIELDED : 0, now = plastic ? FE_YIELDED | FE_SOFTENED : 0;
    for (int a = 0; a < n_corner; a++) {
        conn[a] = a;
        for (int i = 0; i < 3; i++) x[3 * a + i] = coordinate(kind, a, i);
        for (int i = 0; i < 3; i++)
            u[3 * a + i] = (i == 0 ? (plastic ? 4.0 : 0.1) * yield * x[3 * a + 2] : 0.0);
    }
    fe_view m = {};
    m.n_owned = m.n_local = m.n_node_interior = n_corner;
    m.n_elem = m.n_elem_interior = m.ld = 1;
    m.x = x, m.conn = conn, m.material = fe_j2_of(&material);
    m.committed = fe_state{state.data(), &committed}, m.trial = fe_state{trial.data(), &now};
    m.tangent = tangent.data(), m.full = full.data();

    fe_index node[FE_MOST_CORNERS];
    fe_real at[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3], result[FE_MOST_CORNERS][3], block[6];
    const fe_element e = fe_element_open(&m, fe_index{{0}}, fe_no_turn());
    fe_element_nodes(kind, &m, e, node);
    fe_element_read(kind, node, x, at);
    fe_element_read(kind, node, u, f);
    const fe_constants constants = fe_constants_of(&m.material);
    operations = 0;
    switch (op) {
    case BENCH_RESIDUAL: fe_element_forces(kind, FE_RESIDUAL, &m, e, at, f, result); break;
    case BENCH_MATERIAL:
        fe_element_material(kind, hardening, FE_LINEARIZATION_CONSISTENT, &m, &constants, e, fe_mask{true},
                            at, f);
        return operations;
    case BENCH_DIAGONAL:
        for (int b = 0; b < n_corner; b++) fe_element_diagonal(kind, &m, e, at, b, block);
        return operations + 9 * n_corner;
    case BENCH_JACVEC_FULL: fe_element_forces(kind, FE_JACVEC_FULL, &m, e, at, f, result); break;
    default: fe_element_forces(kind, FE_JACVEC, &m, e, at, f, result);
    }
    return operations + 3 * n_corner;
}

} // namespace flop_count
#endif
