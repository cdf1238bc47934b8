/* fe_real: the number that element and material bodies compute with.
 *
 * On the device it is a fe_scalar, a double or a float (common/base/precision.h), and a thread handles one
 * item. On the host it is a short vector of them, one item (element, node or point) per lane, as wide as the
 * machine's registers. The functions here hide the difference, so a body is written once. fe_index is one
 * integer per lane. Functions that read or write arrays take doubles and floats. fe_constant is a number of
 * the material of each lane's element: fe_alike in all lanes, or a lane's row of a table (fe_pick).
 *
 * Constants in bodies are floats where they are exact (0.5f), otherwise fe_scalar: a double among floats
 * would be computed with in double precision. */
#ifndef FE_REAL_H
#define FE_REAL_H

#include "common/base/fe.h"

/* Where sums start: x + -0.0 has the same bits as x, so the compiler drops the first addition; x + 0.0 may
 * not. */
#define FE_EMPTY (-0.0f)

#ifdef __CUDACC__

#define FE_LANES 1
#define FE_UNROLL_FOR(...) _Pragma("unroll") for (__VA_ARGS__)
#define FE_UNROLL_LARGE_FOR(...) FE_UNROLL_FOR (__VA_ARGS__)
typedef fe_scalar fe_real, fe_constant;
typedef int fe_index;
typedef bool fe_mask;

FE_BODY fe_real fe_splat(fe_scalar a) { return a; }
FE_BODY fe_constant fe_alike(double a) { return (fe_scalar)a; }
FE_BODY fe_constant fe_pick(const double *__restrict__ table, int row, fe_index i)
{
    return (fe_scalar)table[row * i];
}
FE_BODY fe_real fe_select(fe_mask m, fe_real a, fe_real b) { return m ? a : b; }
FE_BODY fe_real fe_sqrt(fe_real a) { return sqrt(a); }
/* 1 / a to within 1 ulp, for a normal number whose reciprocal is normal. It has no branch for other numbers,
 * which would stop the compiler from scheduling instructions across it. In double precision Newton's method
 * doubles the 20 correct bits of the start twice. */
FE_BODY double fe_reciprocal(double a)
{
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(a));
    r = fma(r, fma(-a, r, 1.0), r);
    return fma(r, fma(-a, r, 1.0), r);
}
FE_BODY float fe_reciprocal(float a)
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
/* In double precision: 2^n of an integer n, given as n + 1.5 × 2^52, so that n stands in the lowest bits; 2^n
 * is normal. */
FE_BODY double fe_two_to(double shifted)
{
    return __hiloint2double((__double2loint(shifted) + 1023) << 20, 0);
}
FE_BODY bool fe_any(fe_mask m) { return m; }
FE_BODY fe_real fe_max(fe_real a, fe_real b) { return a > b ? a : b; }
FE_BODY fe_index fe_lanes_from(int first) { return first; }
FE_BODY fe_index fe_read_index(const int *__restrict__ p, fe_index i, size_t offset) { return p[offset + i]; }
FE_BODY fe_index fe_read_byte(const uint8_t *__restrict__ p, fe_index i) { return p[i]; }
FE_BODY fe_mask fe_has_bit(fe_index a, int bit) { return (a & bit) != 0; }

/* y += f of one row, at once by many threads. Hopper adds two neighbours in one operation where they are
 * aligned: the first two of rows with an even number, the last two of the others. */
FE_BODY void fe_atomic_add3(double *p, const fe_real f[3])
{
    for (int c = 0; c < 3; c++) atomicAdd(p + c, (double)f[c]);
}
FE_BODY void fe_atomic_add3(float *p, const fe_real f[3])
{
#if __CUDA_ARCH__ >= 900
    const bool even = (size_t)p % 8 == 0;
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(even ? p : p + 1)),
                 "f"((float)(even ? f[0] : f[1])), "f"((float)(even ? f[1] : f[2]))
                 : "memory");
    atomicAdd(even ? p + 2 : p, (float)(even ? f[2] : f[0]));
#else
    for (int c = 0; c < 3; c++) atomicAdd(p + c, (float)f[c]);
#endif
}

/* Of arrays of doubles and of floats: p[i]; three neighbours p[3i], p[3i+1], p[3i+2]; the same minus those of
 * another row, a difference that is taken before it is rounded to fe_real; and additions y[3i..] += f for the
 * first `active` lanes, `contended` where other threads may add to the same node. */
#define FE_ARRAY_ACCESS(number)                                                                              \
    FE_BODY fe_real fe_read(const number *__restrict__ p, fe_index i, size_t offset)                         \
    {                                                                                                        \
        return (fe_real)p[offset + i];                                                                       \
    }                                                                                                        \
    FE_BODY void fe_read3(const number *__restrict__ p, fe_index i, fe_real out[3])                          \
    {                                                                                                        \
        const number *q = p + 3 * (size_t)i;                                                                 \
        out[0] = (fe_real)q[0], out[1] = (fe_real)q[1], out[2] = (fe_real)q[2];                              \
    }                                                                                                        \
    FE_BODY void fe_read3_from(const number *__restrict__ p, fe_index i, fe_index from, fe_real out[3])      \
    {                                                                                                        \
        const number *q = p + 3 * (size_t)i, *r = p + 3 * (size_t)from;                                      \
        for (int c = 0; c < 3; c++) out[c] = (fe_real)(q[c] - r[c]);                                         \
    }                                                                                                        \
    FE_BODY void fe_write(number *p, fe_index i, size_t offset, fe_mask m, fe_real a)                        \
    {                                                                                                        \
        if (m) p[offset + i] = (number)a;                                                                    \
    }                                                                                                        \
    FE_BODY void fe_add3(number *y, fe_index i, int active, int contended, const fe_real f[3])               \
    {                                                                                                        \
        (void)active;                                                                                        \
        number *p = y + 3 * (size_t)i;                                                                       \
        if (contended)                                                                                       \
            fe_atomic_add3(p, f);                                                                            \
        else                                                                                                 \
            for (int c = 0; c < 3; c++) p[c] += (number)f[c];                                                \
    }
FE_ARRAY_ACCESS(double)
FE_ARRAY_ACCESS(float)
#undef FE_ARRAY_ACCESS

#else

#include <string.h>

/* Bytes of a register, if the build does not say. */
#ifdef FE_REGISTER
#elif defined __AVX512F__
#define FE_REGISTER 64
#else
#define FE_REGISTER 32
#endif
#if FE_PRECISION == FE_DOUBLE
#define FE_LANES (FE_REGISTER / 8)
typedef int64_t fe_lane_mask;
#else
#define FE_LANES (FE_REGISTER / 4)
typedef int32_t fe_lane_mask;
#endif
#define FE_UNROLL_FOR(...) _Pragma("GCC unroll 8") for (__VA_ARGS__)
/* Loops that a device needs unrolled because of its registers, and a host does not, because of its cache of
 * decoded instructions. */
#define FE_UNROLL_LARGE_FOR(...) _Pragma("GCC unroll 1") for (__VA_ARGS__)
typedef fe_scalar fe_real __attribute__((vector_size(FE_REGISTER)));
typedef fe_lane_mask fe_mask __attribute__((vector_size(FE_REGISTER)));
typedef struct fe_index {
    int lane[FE_LANES];
} fe_index;

/* A vector with M(lane) in each lane; setting one lane after the other costs much more. */
#if FE_LANES == 16
#define FE_FROM_LANES(M)                                                                                     \
    ((fe_real){M(0), M(1), M(2), M(3), M(4), M(5), M(6), M(7), M(8), M(9), M(10), M(11), M(12), M(13),       \
               M(14), M(15)})
#elif FE_LANES == 8
#define FE_FROM_LANES(M) ((fe_real){M(0), M(1), M(2), M(3), M(4), M(5), M(6), M(7)})
#else
#define FE_FROM_LANES(M) ((fe_real){M(0), M(1), M(2), M(3)})
#endif
FE_BODY fe_real fe_splat(fe_scalar a) { return a - (fe_real){0}; }
typedef fe_real fe_constant;
FE_BODY fe_constant fe_alike(double a) { return fe_splat((fe_scalar)a); }
FE_BODY fe_constant fe_pick(const double *table, int row, fe_index i)
{
#define PICK(l) (fe_scalar) table[row * i.lane[l]]
    return FE_FROM_LANES(PICK);
#undef PICK
}
FE_BODY fe_real fe_select(fe_mask m, fe_real a, fe_real b)
{
    return (fe_real)((m & (fe_mask)a) | (~m & (fe_mask)b));
}
FE_BODY fe_real fe_sqrt(fe_real a)
{
    for (int l = 0; l < FE_LANES; l++) a[l] = (fe_scalar)sqrt(a[l]);
    return a;
}
FE_BODY fe_real fe_reciprocal(fe_real a) { return 1.0f / a; }
FE_BODY fe_real fe_two_to(fe_real shifted) /* doubles only; for floats it is compiled and never called */
{
    return (fe_real)(((fe_mask)shifted + 1023) << (8 * sizeof(fe_scalar) - 12));
}
FE_BODY int fe_any(fe_mask m)
{
    fe_lane_mask any = 0;
    for (int l = 0; l < FE_LANES; l++) any |= m[l];
    return any != 0;
}
FE_BODY int fe_all(fe_mask m)
{
    fe_lane_mask all = -1;
    for (int l = 0; l < FE_LANES; l++) all &= m[l];
    return all != 0;
}
FE_BODY fe_real fe_max(fe_real a, fe_real b) { return fe_select(a > b, a, b); }
FE_BODY fe_index fe_lanes_from(int first)
{
    fe_index i;
    for (int l = 0; l < FE_LANES; l++) i.lane[l] = first + l;
    return i;
}
/* Lanes below `active`. */
FE_BODY fe_mask fe_first_lanes(int active)
{
    fe_mask m;
    for (int l = 0; l < FE_LANES; l++) m[l] = l < active ? -1 : 0;
    return m;
}
/* The elements of one call are usually neighbours: then one wide load, otherwise one load per lane. */
FE_BODY int fe_consecutive(fe_index i)
{
    int same = 1;
    for (int l = 1; l < FE_LANES; l++) same &= i.lane[l] == i.lane[0] + l;
    return same;
}
FE_BODY fe_index fe_read_index(const int *p, fe_index i, size_t offset)
{
    fe_index a;
    for (int l = 0; l < FE_LANES; l++) a.lane[l] = p[offset + (size_t)i.lane[l]];
    return a;
}
FE_BODY fe_index fe_read_byte(const uint8_t *p, fe_index i)
{
    fe_index a;
    for (int l = 0; l < FE_LANES; l++) a.lane[l] = p[i.lane[l]];
    return a;
}
FE_BODY fe_mask fe_has_bit(fe_index a, int bit)
{
    fe_mask m;
    for (int l = 0; l < FE_LANES; l++) m[l] = a.lane[l] & bit ? -1 : 0;
    return m;
}

/* --- rows of four in registers ----------------------------------------------------------------------- */

enum { FE_FOURS = FE_LANES / 4 };
/* Loops over rows stay loops in floats, which are compiled with -O2, unless a file defines FE_UNROLL_ROWS:
 * gcc needs twice the time for a strategy then, and only `patch` gains (1.2 times, AVX-512, Hex8 and Tet4 of
 * the bracket). */
#ifdef FE_UNROLL_ROWS
#define FE_ROWS_FOR(...) FE_UNROLL_FOR (__VA_ARGS__)
#else
#define FE_ROWS_FOR(...) for (__VA_ARGS__)
#endif
typedef fe_scalar fe_four __attribute__((vector_size(4 * sizeof(fe_scalar))));
/* The lanes of a and b, which count on from those of a, that are named. gcc has clang's function since 12. */
#if defined __clang__ || __GNUC__ >= 12
#define FE_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define FE_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (fe_mask){__VA_ARGS__})
#endif
/* Of each four lanes of a and b: the even ones, the odd ones, the lower two, the upper two, in turn. */
#define FE_NEXT_FOUR(n, i, j, k, l) (i) + (n), (j) + (n), (k) + (n), (l) + (n)
#if FE_LANES == 16
#define FE_MIX(a, b, i, j, k, l)                                                                             \
    FE_SHUFFLE(a, b, i, j, k, l, FE_NEXT_FOUR(4, i, j, k, l), FE_NEXT_FOUR(8, i, j, k, l),                   \
               FE_NEXT_FOUR(12, i, j, k, l))
#elif FE_LANES == 8
#define FE_MIX(a, b, i, j, k, l) FE_SHUFFLE(a, b, i, j, k, l, FE_NEXT_FOUR(4, i, j, k, l))
#else
#define FE_MIX(a, b, i, j, k, l) FE_SHUFFLE(a, b, i, j, k, l)
#endif
FE_BODY fe_real fe_evens(fe_real a, fe_real b) { return FE_MIX(a, b, 0, FE_LANES, 2, FE_LANES + 2); }
FE_BODY fe_real fe_odds(fe_real a, fe_real b) { return FE_MIX(a, b, 1, FE_LANES + 1, 3, FE_LANES + 3); }
FE_BODY fe_real fe_lower(fe_real a, fe_real b) { return FE_MIX(a, b, 0, 1, FE_LANES, FE_LANES + 1); }
FE_BODY fe_real fe_upper(fe_real a, fe_real b) { return FE_MIX(a, b, 2, 3, FE_LANES + 2, FE_LANES + 3); }
#undef FE_MIX

/* A register of fours, and one of them. By way of memory a wide load would wait for the narrow stores ahead.
 */
#if FE_LANES == 4 || !(defined __clang__ || __GNUC__ >= 12)
FE_BODY fe_real fe_join(const fe_four four[FE_FOURS])
{
    fe_real a;
    memcpy(&a, four, sizeof a);
    return a;
}
FE_BODY fe_four fe_part_four(fe_real a, int k)
{
    fe_four four;
    memcpy(&four, (const char *)&a + k * sizeof four, sizeof four);
    return four;
}
#elif FE_LANES == 8
FE_BODY fe_real fe_join(const fe_four four[2])
{
    return __builtin_shufflevector(four[0], four[1], 0, 1, 2, 3, 4, 5, 6, 7);
}
FE_BODY fe_four fe_part_four(fe_real a, int k)
{
    return k ? __builtin_shufflevector(a, a, 4, 5, 6, 7) : __builtin_shufflevector(a, a, 0, 1, 2, 3);
}
#else
typedef fe_scalar fe_eight __attribute__((vector_size(8 * sizeof(fe_scalar))));
FE_BODY fe_real fe_join(const fe_four four[4])
{
    const fe_eight low = __builtin_shufflevector(four[0], four[1], 0, 1, 2, 3, 4, 5, 6, 7),
                   high = __builtin_shufflevector(four[2], four[3], 0, 1, 2, 3, 4, 5, 6, 7);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
FE_BODY fe_four fe_part_four(fe_real a, int k)
{
    return k == 0   ? __builtin_shufflevector(a, a, 0, 1, 2, 3)
           : k == 1 ? __builtin_shufflevector(a, a, 4, 5, 6, 7)
           : k == 2 ? __builtin_shufflevector(a, a, 8, 9, 10, 11)
                    : __builtin_shufflevector(a, a, 12, 13, 14, 15);
}
#endif

/* The first three numbers of each lane's row, from the rows themselves: row k + 4 i is in four i of rows[k].
 */
FE_BODY void fe_transpose_rows(const fe_real rows[4], fe_real out[3])
{
    const fe_real even[2] = {fe_evens(rows[0], rows[1]), fe_evens(rows[2], rows[3])},
                  odd[2] = {fe_odds(rows[0], rows[1]), fe_odds(rows[2], rows[3])};
    out[0] = fe_lower(even[0], even[1]), out[1] = fe_lower(odd[0], odd[1]),
    out[2] = fe_upper(even[0], even[1]);
}

/* --- arrays of doubles and of floats -------------------------------------------------------------------
 *
 * fe_load, fe_store: neighbours in memory, one per lane. fe_read3: three neighbours p[3i], p[3i+1], p[3i+2].
 * fe_read3_from: the same minus those of another row, a difference that is taken before it is rounded to
 * fe_real. fe_read_rows: the first three of a row, `row` numbers apart: rows are loaded whole, four numbers
 * each, and transposed in registers. So one number after the last row is read if rows have three. fe_add3:
 * y[3i..] += f for the first `active` lanes, `contended` where other threads may add to the same node. */
typedef double fe_lanes_double __attribute__((vector_size(8 * FE_LANES)));
typedef float fe_lanes_float __attribute__((vector_size(4 * FE_LANES)));
typedef double fe_four_double __attribute__((vector_size(32)));
typedef float fe_four_float __attribute__((vector_size(16)));

#define FE_ARRAY_ACCESS(number)                                                                              \
    FE_BODY fe_real fe_load_##number(const number *p)                                                        \
    {                                                                                                        \
        fe_lanes_##number a;                                                                                 \
        memcpy(&a, p, sizeof a);                                                                             \
        return __builtin_convertvector(a, fe_real);                                                          \
    }                                                                                                        \
    FE_BODY void fe_store_##number(number *p, fe_real a)                                                     \
    {                                                                                                        \
        const fe_lanes_##number b = __builtin_convertvector(a, fe_lanes_##number);                           \
        memcpy(p, &b, sizeof b);                                                                             \
    }                                                                                                        \
    FE_BODY fe_real fe_read_##number(const number *p, fe_index i, size_t offset)                             \
    {                                                                                                        \
        fe_real a;                                                                                           \
        if (__builtin_constant_p(fe_consecutive(i)) && fe_consecutive(i)) {                                  \
            a = fe_load_##number(p + offset + i.lane[0]);                                                    \
        } else {                                                                                             \
            for (int l = 0; l < FE_LANES; l++) a[l] = (fe_scalar)p[offset + (size_t)i.lane[l]];              \
        }                                                                                                    \
        return a;                                                                                            \
    }                                                                                                        \
    FE_BODY fe_four_##number fe_raw_four_##number(const number *p)                                           \
    {                                                                                                        \
        fe_four_##number a;                                                                                  \
        memcpy(&a, p, sizeof a);                                                                             \
        return a;                                                                                            \
    }                                                                                                        \
    FE_BODY fe_four fe_load_four_##number(const number *p)                                                   \
    {                                                                                                        \
        return __builtin_convertvector(fe_raw_four_##number(p), fe_four);                                    \
    }                                                                                                        \
    FE_BODY fe_four fe_load_four_from_##number(const number *p, const number *from)                          \
    {                                                                                                        \
        return __builtin_convertvector(fe_raw_four_##number(p) - fe_raw_four_##number(from), fe_four);       \
    }                                                                                                        \
    FE_BODY void fe_read_rows_##number(const number *p, int row, fe_index i, fe_real out[3])                 \
    {                                                                                                        \
        fe_real rows[4];                                                                                     \
        FE_ROWS_FOR (int k = 0; k < 4; k++) {                                                                \
            fe_four four[FE_FOURS];                                                                          \
            FE_UNROLL_FOR (int n = 0; n < FE_FOURS; n++)                                                     \
                four[n] = fe_load_four_##number(p + row * (size_t)i.lane[k + 4 * n]);                        \
            rows[k] = fe_join(four);                                                                         \
        }                                                                                                    \
        fe_transpose_rows(rows, out);                                                                        \
    }                                                                                                        \
    FE_BODY void fe_read3_##number(const number *p, fe_index i, fe_real out[3])                              \
    {                                                                                                        \
        fe_read_rows_##number(p, 3, i, out);                                                                 \
    }                                                                                                        \
    FE_BODY void fe_read3_from_##number(const number *p, fe_index i, fe_index from, fe_real out[3])          \
    {                                                                                                        \
        fe_real rows[4];                                                                                     \
        FE_ROWS_FOR (int k = 0; k < 4; k++) {                                                                \
            fe_four four[FE_FOURS];                                                                          \
            FE_UNROLL_FOR (int n = 0; n < FE_FOURS; n++)                                                     \
                four[n] = fe_load_four_from_##number(p + 3 * (size_t)i.lane[k + 4 * n],                      \
                                                     p + 3 * (size_t)from.lane[k + 4 * n]);                  \
            rows[k] = fe_join(four);                                                                         \
        }                                                                                                    \
        fe_transpose_rows(rows, out);                                                                        \
    }                                                                                                        \
    FE_BODY void fe_write_##number(number *p, fe_index i, size_t offset, fe_mask m, fe_real a)               \
    {                                                                                                        \
        if (__builtin_constant_p(fe_consecutive(i)) && fe_consecutive(i) && fe_all(m)) {                     \
            fe_store_##number(p + offset + i.lane[0], a);                                                    \
            return;                                                                                          \
        }                                                                                                    \
        for (int l = 0; l < FE_LANES; l++)                                                                   \
            if (m[l]) p[offset + (size_t)i.lane[l]] = a[l];                                                  \
    }                                                                                                        \
    FE_BODY void fe_add3_##number(number *y, fe_index i, int active, int contended, const fe_real f[3])      \
    {                                                                                                        \
        for (int l = 0; l < FE_LANES && l < active; l++) {                                                   \
            number *p = y + 3 * (size_t)i.lane[l];                                                           \
            for (int c = 0; c < 3; c++) {                                                                    \
                if (contended) {                                                                             \
                    _Pragma("omp atomic") p[c] += f[c][l];                                                   \
                } else {                                                                                     \
                    p[c] += f[c][l];                                                                         \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }
FE_ARRAY_ACCESS(double)
FE_ARRAY_ACCESS(float)
#undef FE_ARRAY_ACCESS
#define FE_OF_NUMBER(function, p)                                                                            \
    _Generic((p), const double *                                                                             \
             : function##_double, double *                                                                   \
             : function##_double, const float *                                                              \
             : function##_float, float *                                                                     \
             : function##_float)
#define fe_load(p) FE_OF_NUMBER(fe_load, p)(p)
#define fe_store(p, a) FE_OF_NUMBER(fe_store, p)(p, a)
#define fe_load_four(p) FE_OF_NUMBER(fe_load_four, p)(p)
#define fe_load_four_from(p, from) FE_OF_NUMBER(fe_load_four_from, p)(p, from)
#define fe_read(p, i, offset) FE_OF_NUMBER(fe_read, p)(p, i, offset)
#define fe_read_rows(p, row, i, out) FE_OF_NUMBER(fe_read_rows, p)(p, row, i, out)
#define fe_read3(p, i, out) FE_OF_NUMBER(fe_read3, p)(p, i, out)
#define fe_read3_from(p, i, from, out) FE_OF_NUMBER(fe_read3_from, p)(p, i, from, out)
#define fe_write(p, i, offset, mask, a) FE_OF_NUMBER(fe_write, p)(p, i, offset, mask, a)
#define fe_add3(y, i, active, contended, f) FE_OF_NUMBER(fe_add3, y)(y, i, active, contended, f)

FE_BODY void fe_store_four(fe_scalar *p, fe_four a) { memcpy(p, &a, sizeof a); }
/* y[i..i+2] += f, of all lanes; 0 is added to y[i+3]. */
FE_BODY void fe_add4(fe_scalar *y, fe_index i, const fe_real f[3])
{
    const fe_real none = {0}, even[2] = {fe_evens(f[0], f[1]), fe_evens(f[2], none)},
                  odd[2] = {fe_odds(f[0], f[1]), fe_odds(f[2], none)};
    const fe_real rows[4] = {fe_lower(even[0], even[1]), fe_lower(odd[0], odd[1]), fe_upper(even[0], even[1]),
                             fe_upper(odd[0], odd[1])};
    FE_ROWS_FOR (int k = 0; k < 4; k++)
        FE_UNROLL_FOR (int n = 0; n < FE_FOURS; n++) {
            fe_scalar *to = y + i.lane[k + 4 * n];
            fe_store_four(to, fe_part_four(rows[k], n) + fe_load_four(to));
        }
}

#endif
#endif
