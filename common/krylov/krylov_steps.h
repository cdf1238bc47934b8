/* The steps that Krylov methods are made of, as a table for each backend: sums and combinations with the
 * columns of a basis, the small matrices of GMRES, iterations of conjugate gradients. */
#ifndef FE_KRYLOV_STEPS_H
#define FE_KRYLOV_STEPS_H

#include "common/algebra/chebyshev.h"
#include "common/backend/device.h"
#include "have/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Columns of n numbers in backend memory, ld apart, in double or in single precision. Every sum and product
 * with them is in double precision. */
typedef struct fe_columns {
    void *memory; /* double or float */
    size_t ld;
    int single;
} fe_columns;
static inline fe_columns fe_columns_of(double *memory, size_t ld)
{
    const fe_columns V = {memory, ld, 0};
    return V;
}
/* Those from j on. */
static inline fe_columns fe_columns_from(fe_columns V, size_t j)
{
    V.memory = (char *)V.memory + j * V.ld * (V.single ? sizeof(float) : sizeof(double));
    return V;
}

/* What an iteration of conjugate gradients has (conjugate.h): vectors [n], and what is done in passing. */
typedef struct fe_cg_vectors {
    size_t n;
    const double *u;
    double *w, *p, *s, *x, *r;
    int clear;           /* w becomes zero, unless the iterations have ended */
    const uint8_t *held; /* where held [n] is 1, w is any finite number and counts as zero; NULL: nowhere */
    /* a preconditioner's first step (common/algebra/chebyshev.h), which follows from the new r, unless the
     * iterations have ended; NULL: none */
    const fe_fine_start *start;
    double *landing; /* [2] r·r goes there in turn, too: a device's landing (device.h); NULL: nowhere */
} fe_cg_vectors;

/* What an iteration of Lanczos' method has, of nodes with so many numbers: D^-1 is [n / 3][6] or
 * [n / 6][6][6]. */
typedef struct fe_lanczos_vectors {
    size_t n;
    int block;
    const float *inverse;
    float *r, *z, *w, *s;
    int clear;
} fe_lanczos_vectors;

/* Operations with k columns V of a Krylov basis; and the small matrices of GMRES. Sums have a fixed order. */
typedef struct fe_krylov_steps {
    /* out[j] = V_j · w */
    fe_status (*dots)(fe_device *d, size_t n, int k, fe_columns V, const double *w, double *out);
    /* With u and w as the two columns behind V, which are read in the same pass: out[0][j] = V_j · u,
     * out[1][j] = V_j · w, for k + 2 columns */
    fe_status (*dots_pair)(fe_device *d, size_t n, int k, fe_columns V, const double *u, const double *w,
                           double *out);
    /* y += sign V h */
    fe_status (*combine)(fe_device *d, size_t n, int k, double sign, fe_columns V, const double *h,
                         double *y);
    /* The first column of V = x / *a, 0 where *a is 0; and v = that column as it was stored. x, v and, of
     * doubles, the column may be the same. */
    fe_status (*store)(fe_device *d, size_t n, const double *x, const double *a, fe_columns V, double *v);
    /* v = the first column of V */
    fe_status (*load)(fe_device *d, size_t n, fe_columns V, double *v);
    /* column j of GMRES's Hessenberg matrix (fe_hessenberg_column), and its triangular solve */
    fe_status (*hessenberg_column)(fe_device *d, int j, int restart, double *workspace);
    fe_status (*hessenberg_solve)(fe_device *d, int k, int restart, double *workspace, double *y);
    /* Column j with delayed normalization (hessenberg.h), from dots_pair with the j columns
     * before it: V_j = the normalized u, and w becomes the next u. u may be V_j. And only the end of column
     * j - 1 */
    fe_status (*delayed_column)(fe_device *d, size_t n, int j, int restart, double *workspace, fe_columns V,
                                const double *u, double *w, const double *pair);
    fe_status (*delayed_finish)(fe_device *d, int j, int restart, double *workspace, const double *s);
    /* Begins conjugate gradients: x and w are zero, r = b, with its preconditioner's first step; `scalars`
     * are those of the first iteration, r·r of this rank among them. */
    fe_status (*cg_begin)(fe_device *d, const fe_cg_vectors *v, const double *b, double share,
                          double *scalars);
    /* One iteration of conjugate gradients: gamma = r·u and delta = w·u of the scalars `from` in one pass;
     * and the update of p, s, x and r with these scalars, which leaves those of the next iteration, r·r of
     * this rank among them, in `to`. u is zero where w is held. */
    fe_status (*cg_sums)(fe_device *d, const fe_cg_vectors *v, double *from);
    fe_status (*cg_update)(fe_device *d, const fe_cg_vectors *v, const double *from, double *to);
    /* Both, where no other rank adds to the sums. `to` may be `from`. */
    fe_status (*cg_step)(fe_device *d, const fe_cg_vectors *v, double *from, double *to);
    /* The same of vectors of floats, for Lanczos' method, where only the scalars count: without p and x. In
     * one step also z = D^-1 r of the next one; NULL: the backend gains nothing by it. */
    fe_status (*lanczos_step)(fe_device *d, const fe_lanczos_vectors *l, double *from, double *to);
    fe_status (*lanczos_sums)(fe_device *d, size_t n, const float *r, const float *u, const float *w,
                              double *out);
    fe_status (*lanczos_update)(fe_device *d, size_t n, const double *from, float *w, int clear, float *s,
                                float *r, double *to);
} fe_krylov_steps;

extern const fe_krylov_steps fe_krylov_steps_host;
#if FE_HAVE_CUDA
extern const fe_krylov_steps fe_krylov_steps_cuda;
#endif

static inline const fe_krylov_steps *fe_krylov_steps_of(const fe_device *d)
{
#if FE_HAVE_CUDA
    if (d->ops->on_gpu) return &fe_krylov_steps_cuda;
#endif
    (void)d;
    return &fe_krylov_steps_host;
}

#ifdef __cplusplus
}
#endif
#endif
