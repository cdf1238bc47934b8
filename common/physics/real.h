/* fe_real: the number that element and material bodies compute with.
 *
 * On the device it is a double and a thread handles one item. On the host it is a short vector, one item
 * (element, node or point) per lane, as wide as the machine's registers. The functions here hide the
 * difference, so a body is written once. fe_index is one integer per lane. */
#ifndef FE_REAL_H
#define FE_REAL_H

#include "common/base/fe.h"

#ifdef __CUDACC__

#define FE_LANES 1
#define FE_UNROLL_FOR(...) _Pragma("unroll") for (__VA_ARGS__)
#define FE_UNROLL_LARGE_FOR(...) FE_UNROLL_FOR (__VA_ARGS__)
typedef double fe_real;
typedef int fe_index;
typedef bool fe_mask;

FE_BODY fe_real fe_splat(double a) { return a; }
FE_BODY fe_real fe_select(fe_mask m, fe_real a, fe_real b) { return m ? a : b; }
FE_BODY fe_real fe_sqrt(fe_real a) { return sqrt(a); }
/* 1 / a to within 1 ulp, for a normal number whose reciprocal is normal. It has no branch for other numbers,
 * which would stop the compiler from scheduling instructions across it. Newton's method doubles the 20
 * correct bits of the start twice. */
FE_BODY fe_real fe_reciprocal(fe_real a)
{
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(a));
    r = fma(r, fma(-a, r, 1.0), r);
    return fma(r, fma(-a, r, 1.0), r);
}
FE_BODY bool fe_any(fe_mask m) { return m; }
FE_BODY fe_real fe_max(fe_real a, fe_real b) { return a > b ? a : b; }
FE_BODY fe_index fe_lanes_from(int first) { return first; }
/* p[i], and three neighbours p[3i], p[3i+1], p[3i+2]. */
FE_BODY fe_real fe_read(const double *__restrict__ p, fe_index i, size_t offset) { return p[offset + i]; }
FE_BODY fe_index fe_read_index(const int *__restrict__ p, fe_index i, size_t offset) { return p[offset + i]; }
FE_BODY fe_index fe_read_byte(const uint8_t *__restrict__ p, fe_index i) { return p[i]; }
FE_BODY fe_mask fe_has_bit(fe_index a, int bit) { return (a & bit) != 0; }
FE_BODY void fe_read3(const double *__restrict__ p, fe_index i, fe_real out[3])
{
    const double *q = p + 3 * (size_t)i;
    out[0] = q[0], out[1] = q[1], out[2] = q[2];
}
FE_BODY void fe_write(double *p, fe_index i, size_t offset, fe_mask m, fe_real a)
{
    if (m) p[offset + i] = a;
}
/* y[3i..] += f for the first `active` lanes; `contended` where other threads may add to the same node. */
FE_BODY void fe_add3(double *y, fe_index i, int active, int contended, const fe_real f[3])
{
    (void)active;
    double *p = y + 3 * (size_t)i;
    for (int c = 0; c < 3; c++) {
        if (contended)
            atomicAdd(p + c, f[c]);
        else
            p[c] += f[c];
    }
}

#else

#include <string.h>

#ifdef __AVX512F__
#define FE_LANES 8
#else
#define FE_LANES 4
#endif
#define FE_UNROLL_FOR(...) _Pragma("GCC unroll 8") for (__VA_ARGS__)
/* Loops that a device needs unrolled because of its registers, and a host does not, because of its cache of
 * decoded instructions. */
#define FE_UNROLL_LARGE_FOR(...) _Pragma("GCC unroll 1") for (__VA_ARGS__)
typedef double fe_real __attribute__((vector_size(8 * FE_LANES)));
typedef int64_t fe_mask __attribute__((vector_size(8 * FE_LANES)));
typedef struct fe_index {
    int lane[FE_LANES];
} fe_index;

/* A vector with M(lane) in each lane; setting one lane after the other costs much more. */
#if FE_LANES == 8
#define FE_FROM_LANES(M) ((fe_real){M(0), M(1), M(2), M(3), M(4), M(5), M(6), M(7)})
#else
#define FE_FROM_LANES(M) ((fe_real){M(0), M(1), M(2), M(3)})
#endif
FE_BODY fe_real fe_splat(double a) { return a - (fe_real){0}; }
FE_BODY fe_real fe_select(fe_mask m, fe_real a, fe_real b)
{
    return (fe_real)((m & (fe_mask)a) | (~m & (fe_mask)b));
}
FE_BODY fe_real fe_sqrt(fe_real a)
{
    for (int l = 0; l < FE_LANES; l++) a[l] = sqrt(a[l]);
    return a;
}
FE_BODY fe_real fe_reciprocal(fe_real a) { return 1.0 / a; }
FE_BODY int fe_any(fe_mask m)
{
    int64_t any = 0;
    for (int l = 0; l < FE_LANES; l++) any |= m[l];
    return any != 0;
}
FE_BODY fe_real fe_max(fe_real a, fe_real b) { return fe_select(a > b, a, b); }
FE_BODY fe_index fe_lanes_from(int first)
{
    fe_index i;
    for (int l = 0; l < FE_LANES; l++) i.lane[l] = first + l;
    return i;
}
/* Neighbours in memory, one per lane, of either precision. */
FE_BODY fe_real fe_load_double(const double *p)
{
    fe_real a;
    memcpy(&a, p, sizeof a);
    return a;
}
FE_BODY void fe_store_double(double *p, fe_real a) { memcpy(p, &a, sizeof a); }
typedef float fe_single __attribute__((vector_size(4 * FE_LANES)));
FE_BODY fe_real fe_load_float(const float *p)
{
    fe_single a;
    memcpy(&a, p, sizeof a);
    return __builtin_convertvector(a, fe_real);
}
FE_BODY void fe_store_float(float *p, fe_real a)
{
    const fe_single b = __builtin_convertvector(a, fe_single);
    memcpy(p, &b, sizeof b);
}
#define fe_load(p) _Generic((p), const double * : fe_load_double, const float * : fe_load_float)(p)
#define fe_store(p, a) _Generic((p), double * : fe_store_double, float * : fe_store_float)(p, a)
/* The elements of one call are usually neighbours: then one wide load, otherwise one load per lane. */
FE_BODY int fe_consecutive(fe_index i)
{
    int same = 1;
    for (int l = 1; l < FE_LANES; l++) same &= i.lane[l] == i.lane[0] + l;
    return same;
}
FE_BODY fe_real fe_read(const double *p, fe_index i, size_t offset)
{
    fe_real a;
    if (__builtin_constant_p(fe_consecutive(i)) && fe_consecutive(i)) {
        a = fe_load_double(p + offset + i.lane[0]);
    } else {
        for (int l = 0; l < FE_LANES; l++) a[l] = p[offset + (size_t)i.lane[l]];
    }
    return a;
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
typedef double fe_four __attribute__((vector_size(32)));
/* The lanes of a and b, which count on from those of a, that are named. gcc has clang's function since 12. */
#if defined __clang__ || __GNUC__ >= 12
#define FE_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define FE_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (fe_mask){__VA_ARGS__})
#endif
/* Of each four lanes of a and b: the even ones, the odd ones, the lower two, the upper two, in turn. */
#if FE_LANES == 8
#define FE_MIX(a, b, i, j, k, l) FE_SHUFFLE(a, b, i, j, k, l, (i) + 4, (j) + 4, (k) + 4, (l) + 4)
#else
#define FE_MIX(a, b, i, j, k, l) FE_SHUFFLE(a, b, i, j, k, l)
#endif
FE_BODY fe_real fe_evens(fe_real a, fe_real b) { return FE_MIX(a, b, 0, FE_LANES, 2, FE_LANES + 2); }
FE_BODY fe_real fe_odds(fe_real a, fe_real b) { return FE_MIX(a, b, 1, FE_LANES + 1, 3, FE_LANES + 3); }
FE_BODY fe_real fe_lower(fe_real a, fe_real b) { return FE_MIX(a, b, 0, 1, FE_LANES, FE_LANES + 1); }
FE_BODY fe_real fe_upper(fe_real a, fe_real b) { return FE_MIX(a, b, 2, 3, FE_LANES + 2, FE_LANES + 3); }
#undef FE_MIX

FE_BODY fe_four fe_load_four(const double *p)
{
    fe_four a;
    memcpy(&a, p, sizeof a);
    return a;
}
FE_BODY void fe_store_four(double *p, fe_four a) { memcpy(p, &a, sizeof a); }
FE_BODY void fe_add_four(double *p, fe_four a) { fe_store_four(p, a + fe_load_four(p)); }
#if FE_LANES == 8
/* Two halves, and one of them. */
FE_BODY fe_real fe_join(fe_four low, fe_four high)
{
#if defined __clang__ || __GNUC__ >= 12
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
#else
    fe_real a;
    memcpy(&a, &low, sizeof low), memcpy((char *)&a + sizeof low, &high, sizeof high);
    return a;
#endif
}
FE_BODY fe_four fe_half(fe_real a, int upper)
{
#if defined __clang__ || __GNUC__ >= 12
    return upper ? __builtin_shufflevector(a, a, 4, 5, 6, 7) : __builtin_shufflevector(a, a, 0, 1, 2, 3);
#else
    fe_four half;
    memcpy(&half, (const char *)&a + (upper ? sizeof half : 0), sizeof half);
    return half;
#endif
}
#endif
/* Rows of lane k, and of lane k + 4 where there is one. */
FE_BODY fe_real fe_load_rows(const double *p, int row, fe_index i, int k)
{
    const fe_four low = fe_load_four(p + row * (size_t)i.lane[k]);
#if FE_LANES == 8
    return fe_join(low, fe_load_four(p + row * (size_t)i.lane[k + 4]));
#else
    return low;
#endif
}
FE_BODY void fe_add_rows(double *p, fe_index i, int k, fe_real a)
{
#if FE_LANES == 8
    fe_add_four(p + i.lane[k], fe_half(a, 0));
    fe_add_four(p + i.lane[k + 4], fe_half(a, 1));
#else
    fe_add_four(p + i.lane[k], a);
#endif
}
/* The first three of a row, `row` doubles apart: rows are loaded whole, four doubles each, and transposed in
 * registers. So one double after the last row is read if rows have three. */
FE_BODY void fe_read_rows(const double *p, int row, fe_index i, fe_real out[3])
{
    const fe_real a = fe_load_rows(p, row, i, 0), b = fe_load_rows(p, row, i, 1),
                  c = fe_load_rows(p, row, i, 2), d = fe_load_rows(p, row, i, 3);
    const fe_real even[2] = {fe_evens(a, b), fe_evens(c, d)}, odd[2] = {fe_odds(a, b), fe_odds(c, d)};
    out[0] = fe_lower(even[0], even[1]), out[1] = fe_lower(odd[0], odd[1]),
    out[2] = fe_upper(even[0], even[1]);
}
FE_BODY void fe_read3(const double *p, fe_index i, fe_real out[3]) { fe_read_rows(p, 3, i, out); }
/* y[i..i+2] += f, of all lanes; 0 is added to y[i+3]. */
FE_BODY void fe_add4(double *y, fe_index i, const fe_real f[3])
{
    const fe_real none = {0}, even[2] = {fe_evens(f[0], f[1]), fe_evens(f[2], none)},
                  odd[2] = {fe_odds(f[0], f[1]), fe_odds(f[2], none)};
    fe_add_rows(y, i, 0, fe_lower(even[0], even[1]));
    fe_add_rows(y, i, 1, fe_lower(odd[0], odd[1]));
    fe_add_rows(y, i, 2, fe_upper(even[0], even[1]));
    fe_add_rows(y, i, 3, fe_upper(odd[0], odd[1]));
}
FE_BODY int fe_all(fe_mask m)
{
    int64_t all = -1;
    for (int l = 0; l < FE_LANES; l++) all &= m[l];
    return all != 0;
}
FE_BODY void fe_write(double *p, fe_index i, size_t offset, fe_mask m, fe_real a)
{
    if (__builtin_constant_p(fe_consecutive(i)) && fe_consecutive(i) && fe_all(m)) {
        fe_store_double(p + offset + i.lane[0], a);
        return;
    }
    for (int l = 0; l < FE_LANES; l++)
        if (m[l]) p[offset + (size_t)i.lane[l]] = a[l];
}
/* Lanes below `active`. */
FE_BODY fe_mask fe_first_lanes(int active)
{
    fe_mask m;
    for (int l = 0; l < FE_LANES; l++) m[l] = l < active ? -1 : 0;
    return m;
}
FE_BODY void fe_add3(double *y, fe_index i, int active, int contended, const fe_real f[3])
{
    for (int l = 0; l < FE_LANES && l < active; l++) {
        double *p = y + 3 * (size_t)i.lane[l];
        for (int c = 0; c < 3; c++) {
            if (contended) {
                _Pragma("omp atomic") p[c] += f[c][l];
            } else {
                p[c] += f[c][l];
            }
        }
    }
}

#endif
#endif
