/* The six rigid-body modes of an aggregate, in one body for both backends. A mode is
 *
 *     u = t + omega × (x - centre) / size
 *
 * whose unknowns t and omega are those of the aggregate as a node of the next level. */
#ifndef FE_RIGID_MODES_H
#define FE_RIGID_MODES_H

#include "common/base/fe.h"

/* Block T [block][6] of the tentative prolongator at a node at x of an aggregate with this centre and size. A
 * node of the finest level has block 3; one of a coarser level has block 6, and own_size is the unit of its
 * rotations. Rows of unknowns that are absent [block] are zero. */
FE_BOTH void fe_rigid_modes(int block, const double *x, double own_size, const uint8_t *absent,
                            const double *centre, double size, double *T)
{
    for (int i = 0; i < 6 * block; i++) T[i] = 0.0;
    for (int c = 0; c < 3; c++) {
        const int p = (c + 1) % 3, q = (c + 2) % 3; /* omega × r: omega_p r_q - omega_q r_p */
        T[6 * c + c] = 1.0;
        T[6 * c + 3 + p] = (x[q] - centre[q]) / size;
        T[6 * c + 3 + q] = -(x[p] - centre[p]) / size;
        if (block == 6) T[6 * (3 + c) + 3 + c] = own_size / size;
    }
    for (int i = 0; i < 6 * block; i++)
        if (absent[i / 6]) T[i] = 0.0;
}

/* G: sum of T^T T over the nodes of an aggregate; it is overwritten. absent [6]: modes that those before them
 * can express, as far as supports leave them. */
FE_BOTH void fe_rigid_absent(double G[6][6], uint8_t absent[6])
{
    double largest = 0.0;
    for (int c = 0; c < 6; c++) largest = G[c][c] > largest ? G[c][c] : largest;
    for (int p = 0; p < 6; p++) {
        absent[p] = !(G[p][p] > 1e-8 * largest);
        for (int i = p + 1; i < 6 && !absent[p]; i++)
            for (int j = 5; j >= p; j--) G[i][j] -= G[i][p] / G[p][p] * G[p][j];
    }
}

/* Unknowns that a node does not have get the largest number on the diagonal block D [6][6] of those that it
 * has, one if it has none: a block is rounded against its largest entry. */
FE_BOTH void fe_complete_diagonal(const uint8_t absent[6], double *D)
{
    double largest = 0.0;
    for (int c = 0; c < 6; c++) largest = !absent[c] && D[7 * c] > largest ? D[7 * c] : largest;
    for (int c = 0; c < 6; c++)
        if (absent[c]) D[7 * c] = largest > 0.0 ? largest : 1.0;
}

/* Column c of one block of a row of P = (I - 3 / (2 lambda) D^-1 A) T: D^-1 [block][block] of the row's node,
 * AT [block] the column of A T, and T the node's own block where this column is its aggregate, else NULL.
 * P [block]: its numbers are `step` apart. The factor 3 / 2: measured, HISTORY.md. */
FE_BOTH void fe_smooth_column(int block, const double *inverse, double lambda, const double *AT,
                              const double *T, int c, int step, double *P)
{
    const double factor = -1.5 / lambda;
    for (int r = 0; r < block; r++) {
        double sum = 0.0;
        for (int j = 0; j < block; j++) sum += inverse[r * block + j] * AT[j];
        P[step * r] = factor * sum + (T ? T[6 * r + c] : 0.0);
    }
}

/* Inverse of a symmetric n × n matrix, n at most 6, in place, by Gauss-Jordan without exchanges: the pivots
 * of a positive matrix are positive. Rows and columns that are zero stay so. */
FE_BOTH void fe_small_invert(int n, double *A)
{
    double largest = 0.0;
    for (int i = 0; i < n; i++) largest = A[i * n + i] > largest ? A[i * n + i] : largest;
    for (int p = 0; p < n; p++) {
        const double pivot = A[p * n + p];
        const int empty = !(pivot > 1e-13 * largest);
        for (int i = 0; i < n; i++) {
            if (i == p) continue;
            const double factor = empty ? 0.0 : A[i * n + p] / pivot;
            for (int j = 0; j < n; j++)
                if (j != p) A[i * n + j] -= factor * A[p * n + j];
            A[i * n + p] = -factor;
        }
        for (int j = 0; j < n; j++)
            if (j != p) A[p * n + j] = empty ? 0.0 : A[p * n + j] / pivot;
        A[p * n + p] = empty ? 0.0 : 1.0 / pivot;
    }
}

#endif
