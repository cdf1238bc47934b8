/* GMRES's small problem: Givens rotations on the Hessenberg matrix, one body for both backends.
 *
 * The workspace holds, for a restart length m: H [m][m+1] by columns, cosines [m], sines [m], the rotated
 * right-hand side g [m+1]. |g[j+1]| is the residual norm after column j. Saad, Iterative Methods, 6.5.3. */
#ifndef FE_HESSENBERG_H
#define FE_HESSENBERG_H

#include "common/fe.h"

FE_BOTH size_t fe_hessenberg_size(int m) { return (size_t)m * (m + 1) + 2 * (size_t)m + m + 1; }
FE_BOTH double *fe_hessenberg_h(double *w, int m, int j) { return w + (size_t)j * (m + 1); }
FE_BOTH double *fe_hessenberg_g(double *w, int m) { return w + (size_t)m * (m + 1) + 2 * (size_t)m; }

/* Rotates column j (entries 0..j+1 set) and the right-hand side. */
FE_BOTH void fe_hessenberg_column(double *w, int m, int j)
{
    double *h = fe_hessenberg_h(w, m, j), *cosine = w + (size_t)m * (m + 1), *sine = cosine + m,
           *g = sine + m;
    for (int i = 0; i < j; i++) {
        const double upper = h[i], lower = h[i + 1];
        h[i] = cosine[i] * upper + sine[i] * lower;
        h[i + 1] = cosine[i] * lower - sine[i] * upper;
    }
    const double length = sqrt(h[j] * h[j] + h[j + 1] * h[j + 1]);
    cosine[j] = length > 0.0 ? h[j] / length : 1.0;
    sine[j] = length > 0.0 ? h[j + 1] / length : 0.0;
    h[j] = length, h[j + 1] = 0.0;
    g[j + 1] = -sine[j] * g[j];
    g[j] *= cosine[j];
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

#endif
