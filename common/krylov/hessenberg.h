/* GMRES's small problem: Givens rotations on the Hessenberg matrix, one body for both backends.
 *
 * The workspace holds, for a restart length m: H [m][m+1] by columns, cosines [m], sines [m], the rotated
 * right-hand side g [m+1], residual norms [m]. |g[j+1]| is the residual norm after column j. It is kept as
 * norm j, because later columns change g. Saad, Iterative Methods, 6.5.3. */
#ifndef FE_HESSENBERG_H
#define FE_HESSENBERG_H

#include "common/base/fe.h"

FE_BOTH size_t fe_hessenberg_size(int m) { return (size_t)m * (m + 1) + 3 * (size_t)m + m + 1; }
FE_BOTH double *fe_hessenberg_h(double *w, int m, int j) { return w + (size_t)j * (m + 1); }
FE_BOTH double *fe_hessenberg_g(double *w, int m) { return w + (size_t)m * (m + 1) + 2 * (size_t)m; }

FE_BOTH double *fe_hessenberg_cosines(double *w, int m) { return w + (size_t)m * (m + 1); }
FE_BOTH double *fe_hessenberg_norms(double *w, int m) { return fe_hessenberg_g(w, m) + m + 1; }

/* Rotates column j (entries 0..j+1 set) and the right-hand side. */
FE_BOTH void fe_hessenberg_rotate(double *w, int m, int j)
{
    double *h = fe_hessenberg_h(w, m, j), *cosine = fe_hessenberg_cosines(w, m), *sine = cosine + m,
           *g = sine + m;
    double upper = h[0];
    for (int i = 0; i < j; i++) {
        const double lower = h[i + 1];
        h[i] = cosine[i] * upper + sine[i] * lower;
        upper = cosine[i] * lower - sine[i] * upper;
    }
    const double lower = h[j + 1], length = sqrt(upper * upper + lower * lower);
    cosine[j] = length != 0.0 ? upper / length : 1.0; /* NaN goes on */
    sine[j] = length != 0.0 ? lower / length : 0.0;
    h[j] = length, h[j + 1] = 0.0;
    g[j + 1] = -sine[j] * g[j];
    g[j] *= cosine[j];
}
FE_BOTH void fe_hessenberg_column(double *w, int m, int j)
{
    fe_hessenberg_rotate(w, m, j);
    fe_hessenberg_norms(w, m)[j] = fabs(fe_hessenberg_g(w, m)[j + 1]);
}

/* y [k] of the triangular system R y = g. */
FE_BOTH void fe_hessenberg_solve(double *w, int m, int k, double *y)
{
    const double *g = fe_hessenberg_g(w, m);
    for (int i = k - 1; i >= 0; i--) {
        double sum = g[i];
        for (int j = i + 1; j < k; j++) sum -= fe_hessenberg_h(w, m, j)[i] * y[j];
        const double pivot = fe_hessenberg_h(w, m, i)[i];
        y[i] = pivot != 0.0 ? sum / pivot : 0.0;
    }
}

/* --- delayed normalization (dcgs2) --------------------------------------------------------------------
 *
 * Column j of the basis holds u: A q_{j-1} made orthogonal to Q = (q_0 … q_{j-1}) once and not normalized, or
 * for j = 0 the start. w = A u is in the next column. One reduction gives s = Qᵀu, t = Qᵀw, u·u, u·w and w·w,
 * and then
 *
 *     α² = u·u - s·s       q_j = (u - Q s) / α       H(0:j, j-1) += s, H(j, j-1) = α
 *     c = q_j·w = (u·w - s·t) / α                    H(0:j, j) = ((t, c) - H(0:j, 0:j-1) s) / α
 *     next u = (w - Q t - c q_j) / α = (w - c/α u - Q (t - c/α s)) / α
 *
 * since A q_j = (w - A Q s) / α and A Q = (Q, q_j) H. Świrydowicz et al., Numer. Linear Algebra Appl. 28,
 * 2021; Bielich et al., Parallel Computing 112, 2022. |next u| is known only after the next reduction; until
 * then column j is rotated with an estimate.
 *
 * After GMRES's workspace come H before the rotations [m][m+1], and g[j] before the rotation of column j. */
FE_BOTH size_t fe_delayed_size(int m) { return fe_hessenberg_size(m) + (size_t)m * (m + 1) + 1; }
FE_BOTH double *fe_delayed_h(double *w, int m, int j)
{
    return w + fe_hessenberg_size(m) + (size_t)j * (m + 1);
}
FE_BOTH double *fe_delayed_g(double *w, int m) { return fe_delayed_h(w, m, m); }

/* A length is computed from a difference of squares if that keeps half of the digits: more than 2^-26 of the
 * first square. */
#define FE_DELAYED_TRUST 0x1p-26

/* α, or 0 where u lies in the span of Q to rounding, so that the basis is complete; 1 / α; c; and α |next u|
 * = |w - Q t - c q_j| by Pythagoras. Where digits cancel, the last is an upper bound: the residual norm then
 * looks larger than it is until the next reduction. */
typedef struct fe_delayed {
    double alpha, inverse, c, next;
} fe_delayed;

FE_BOTH double fe_delayed_alpha(int j, const double *s)
{
    double square = s[j];
    for (int i = 0; i < j; i++) square -= s[i] * s[i];
    return square > FE_DELAYED_TRUST * s[j] ? sqrt(square) : 0.0;
}

/* `pair` [2][j + 2]: the dots of (Q, u, w) with u and with w. */
FE_BOTH fe_delayed fe_delayed_of(int j, const double *pair)
{
    const double *s = pair, *t = pair + j + 2;
    fe_delayed d = {fe_delayed_alpha(j, s), 0.0, t[j], t[j + 1]};
    const double least = FE_DELAYED_TRUST * d.next;
    d.inverse = d.alpha > 0.0 ? 1.0 / d.alpha : 0.0;
    for (int i = 0; i < j; i++) d.c -= s[i] * t[i], d.next -= t[i] * t[i];
    d.c *= d.inverse, d.next -= d.c * d.c;
    d.next = sqrt(d.next > least ? d.next : least);
    return d;
}

/* Factors of column i of (Q, u, w) in q_j and in the next u. */
FE_BOTH void fe_delayed_factors(int j, const double *pair, const fe_delayed *d, int i, double *q, double *u)
{
    const double s = i < j ? pair[i] : i == j ? -1.0 : 0.0, t = i < j ? pair[j + 2 + i] : i == j ? 0.0 : -1.0;
    *q = -d->inverse * s;
    *u = -d->inverse * (t - d->c * d->inverse * s);
}

/* After it, what the threads of a block have written is visible to all of them. */
#ifdef __CUDA_ARCH__
#define FE_DELAYED_MEET() __syncthreads()
#else
#define FE_DELAYED_MEET() ((void)0)
#endif

/* Ends column j - 1 with the second projections s, by `threads` threads together. */
FE_BOTH void fe_delayed_finish(double *w, int m, int j, const double *s, double alpha, int thread,
                               int threads)
{
    if (j == 0) return;
    double *h = fe_delayed_h(w, m, j - 1), *rotated = fe_hessenberg_h(w, m, j - 1);
    for (int i = thread; i < j; i += threads) rotated[i] = h[i] += s[i];
    if (thread == 0) rotated[j] = h[j] = alpha, fe_hessenberg_g(w, m)[j - 1] = *fe_delayed_g(w, m);
    FE_DELAYED_MEET();
    if (thread == 0) fe_hessenberg_rotate(w, m, j - 1);
}

/* Entry i <= j + 1 of column j: ((t, c, α |next u|) - H s) / α. */
FE_BOTH double fe_delayed_entry(double *w, int m, int j, int i, const double *pair, const fe_delayed *d)
{
    double sum = i < j ? pair[j + 2 + i] : i == j ? d->c : d->next;
    for (int l = i > 0 ? i - 1 : 0; l < j; l++) sum -= fe_delayed_h(w, m, l)[i] * pair[l];
    return d->inverse * sum;
}

/* Ends column j - 1 and makes column j, by `threads` threads together. */
FE_BOTH void fe_delayed_column(double *w, int m, int j, const double *pair, const fe_delayed *d, int thread,
                               int threads)
{
    fe_delayed_finish(w, m, j, pair, d->alpha, thread, threads);
    for (int i = thread; i <= j + 1; i += threads)
        fe_delayed_h(w, m, j)[i] = fe_hessenberg_h(w, m, j)[i] = fe_delayed_entry(w, m, j, i, pair, d);
    FE_DELAYED_MEET();
    if (thread > 0) return;
    *fe_delayed_g(w, m) = fe_hessenberg_g(w, m)[j];
    fe_hessenberg_column(w, m, j);
}

#endif
