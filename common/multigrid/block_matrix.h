/* Sparse matrices of dense blocks of 16-bit numbers, in backend memory, and the operations on them that a
 * cycle of the multigrid preconditioner is made of.
 *
 * A cycle waits for the memory that its matrices are read from. So a block is stored as whole numbers of 16
 * bits and one float, its scale: fe_round_block. An entry is off by at most 1/65534 of the largest of its
 * block, and sums are in single precision. A matrix that is symmetric stays so, and P stays the transpose of
 * R, so the cycle is as symmetric and positive as with the entries that were given (docs/preconditioner.md).
 *
 * The finest level is not stored: its vectors are [n][3] floats, its products come from a strategy in single
 * precision. Coarser levels have 6 unknowns a node. A smoothing sweep is
 *
 *     direction = old direction + new D^-1 (b - A x)      x += direction
 *
 * with numbers `old` and `new` of the Chebyshev recurrence, and D the diagonal blocks. Sums have a fixed
 * order. Calls only enqueue. On the device some steps are chained (cuda.h): sweeps with an x, residuals,
 * restrictions and added products of coarser levels, dense products, and the finest level's prolongation.
 * They may read their matrix and D^-1 before the kernels ahead have ended, so both are complete before the
 * last kernel ahead that is not chained. */
#ifndef FE_BLOCK_MATRIX_H
#define FE_BLOCK_MATRIX_H

#include "common/algebra/chebyshev.h"
#include "common/backend/device.h"
#include "have/cuda.h"

#include <math.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fe_block_matrix {
    int n_row;            /* in blocks */
    int rows, columns;    /* of a block: 3 × 6, 6 × 3 or 6 × 6 */
    const int *first;     /* [n_row + 1] */
    const int *column;    /* [first[n_row]] */
    const int16_t *value; /* [first[n_row]][FE_BLOCK_STRIDE]: numbers of a block by rows, then its scale */
} fe_block_matrix;

/* A dense symmetric matrix M [n][n]: in single precision, or in double where rounding to single precision
 * would make an inverse that is not positive (FE_SINGLE_CONDITION). The other pointer is NULL. */
typedef struct fe_dense {
    int n;
    float *single;
    double *exact;
} fe_dense;

/* An inverse is stored in single precision where the condition number of its matrix (1-norm) is at most this.
 * Rounding n² numbers shifts eigenvalues by about 6e-8 / sqrt(n) of the largest, and the smallest one has to
 * stay positive. Measured: bars of 100 : 1, with 8e8, still converge in floats, those of 150 : 1, with 3e9,
 * do not. */
#define FE_SINGLE_CONDITION 1e7

/* Numbers of 16 bits from one block of n = 18 or 36 entries to the next, so that a device reads blocks by
 * pieces of 8 and 16 bytes. */
#define FE_BLOCK_STRIDE(n) ((n) == 18 ? 20 : 40)

/* Where the first sweep of a coarser level goes: direction = x = new D^-1 b, D^-1 [n][6][6]. */
typedef struct fe_first_sweep {
    const float *inverse;
    fe_sweep sweep;
    float *direction, *x;
} fe_first_sweep;

struct fe_last_levels;
typedef struct fe_block_ops {
    /* Finest level. The first sweep is also a part of conjugate gradients (cg_update). */
    fe_status (*fine_start)(fe_device *d, const fe_fine_start *start, const double *exact_b);
    /* clear [n][3], which may be Ax, or NULL: set to zero for the next product. out: NULL, or becomes the new
     * x as doubles; then direction and x are undefined afterwards. */
    fe_status (*fine_sweep)(fe_device *d, int n, const float *inverse, fe_sweep sweep, const float *b,
                            const float *Ax, float *direction, float *x, float *clear, double *out);
    fe_status (*fine_inverse)(fe_device *d, int n, const float *inverse, const float *x,
                              float *y); /* D^-1 x */
    fe_status (*fine_residual)(fe_device *d, int n, const float *b, const float *Ax,
                               float *r); /* r = b - A x of n nodes */
    /* coarse = R (r - Ax), where Ax may be NULL: zero; then, unless `first` is NULL, the sweep with coarse as
     * b */
    fe_status (*fine_restrict)(fe_device *d, const fe_block_matrix *R, const float *r, const float *Ax,
                               const fe_first_sweep *first, float *coarse);
    fe_status (*fine_prolong)(fe_device *d, const fe_block_matrix *P, const float *coarse, float *x,
                              float *clear); /* x += P coarse */
    /* Coarser levels: D^-1 is [n][6][6]; x NULL: zero. `out` must not be x. */
    fe_status (*sweep)(fe_device *d, const fe_block_matrix *A, const float *inverse, fe_sweep sweep,
                       const float *b, const float *x, float *direction, float *out);
    fe_status (*residual)(fe_device *d, const fe_block_matrix *A, const float *b, const float *x,
                          float *r); /* r = b - A x */
    /* coarse = R r; then, unless `first` is NULL, the sweep with coarse as b */
    fe_status (*coarse_restrict)(fe_device *d, const fe_block_matrix *R, const float *r,
                                 const fe_first_sweep *first, float *coarse);
    fe_status (*product)(fe_device *d, const fe_block_matrix *M, const float *x, float *y);     /* y = M x */
    fe_status (*add_product)(fe_device *d, const fe_block_matrix *M, const float *x, float *y); /* y += M x */
    fe_status (*dense)(fe_device *d, const fe_dense *M, const float *x, float *y);              /* y = M x */
    /* A sweep, and beside it a part of the correction by a dense level: last_levels.h. NULL: the cycle has
     * all its steps */
    fe_status (*last_sweep)(fe_device *d, const fe_block_matrix *A, const float *inverse, fe_sweep sweep,
                            const float *b, const float *x, float *direction, float *out,
                            const struct fe_last_levels *w, const float *M, int beside);
    /* with vectors in double precision: block_exact.h */
    fe_status (*exact_product)(fe_device *d, const fe_block_matrix *M, int n_x, const double *x, int n_y,
                               double *y);
    fe_status (*exact_inverse)(fe_device *d, int size, int rows, const float *inverse, int n, const double *x,
                               double *y);
    fe_status (*exact_dense)(fe_device *d, const fe_dense *M, int n, const double *x, double *y);
    /* x_i = fe_noise(i), rounded */
    fe_status (*noise)(fe_device *d, size_t n, float *x);
} fe_block_ops;

extern const fe_block_ops fe_block_ops_host;
#if FE_HAVE_CUDA
extern const fe_block_ops fe_block_ops_cuda;
#endif

static inline const fe_block_ops *fe_block_ops_of(const fe_device *d)
{
#if FE_HAVE_CUDA
    if (d->ops->on_gpu) return &fe_block_ops_cuda;
#endif
    (void)d;
    return &fe_block_ops_host;
}

/* Room for pattern and blocks, not set. */
fe_status fe_block_matrix_open(fe_device *d, int n_row, int rows, int columns, int n_block,
                               fe_block_matrix *M);

/* The same number in [-1, 1) for the same i, without any pattern. */
FE_BOTH double fe_noise(uint64_t i) { return 0x1p-52 * (double)(fe_mix(i) >> 11) - 1.0; }

/* To find the largest absolute value in a block: `largest` is that of the entries before this one. A NaN
 * stays. Then the scale of the block, and the number that stands for an entry. An entry that is not finite
 * makes the scale, and so every product with the block, not finite. */
FE_BOTH double fe_block_largest(double largest, double entry)
{
    return fabs(entry) > largest || isnan(entry) ? fabs(entry) : largest;
}
FE_BOTH float fe_block_scale(double largest) { return (float)(largest / 32767.0); }
FE_BOTH int fe_block_rounded(double number)
{
    const double most = 32767.0, whole = rint(number);
    return (int)(whole < -most ? -most : whole > most ? most : whole);
}
FE_BOTH int16_t fe_block_number(double entry, float scale)
{
    return (int16_t)(scale > 0.0f && scale < INFINITY ? fe_block_rounded(entry / scale) : 0);
}

/* A block of n entries as it is stored. The bits of numbers without their signs are in the order of the
 * numbers, with NaN above all; maxima of integers and a loop without branches are what compilers make vectors
 * of. */
static inline __attribute__((always_inline)) void fe_round_block(int n, const double *entry, int16_t *value)
{
    uint64_t most = 0;
    double largest;
    for (int i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, entry + i, sizeof bits);
        bits &= UINT64_MAX >> 1;
        most = bits > most ? bits : most;
    }
    memcpy(&largest, &most, sizeof largest);
    const float scale = fe_block_scale(largest);
    if (scale > 0.0f && scale < INFINITY)
        for (int i = 0; i < n; i++) value[i] = (int16_t)fe_block_rounded(entry[i] / scale);
    else
        memset(value, 0, (size_t)n * sizeof *value);
    memcpy(value + n, &scale, sizeof scale);
}

#ifdef __cplusplus
}
#endif
#endif
