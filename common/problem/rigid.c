/* Rank of held components against the six rigid motions of a body.
 *
 * A held component i at x is the row (e_i, (x - c) × e_i / L) of a matrix with six columns, one for each
 * rigid motion about the centre c of the held nodes, with L their size. Rows are taken one after another,
 * always the one that is farthest from those before (Gram-Schmidt with pivoting), until what is left of all
 * is rounding. */
#include "common/problem/rigid.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

void fe_rigid_row(const fe_rigid *r, const double x[3], int i, double row[FE_N_MOTION])
{
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    for (int c = 0; c < FE_N_MOTION; c++) row[c] = 0;
    row[i] = 1;
    row[3 + j] = (x[k] - r->centre[k]) / r->size;
    row[3 + k] = -(x[j] - r->centre[j]) / r->size;
}

/* The row of component i at x, less what the basis spans. Returns its length. */
static double remainder_of(const fe_rigid *r, const double x[3], int i, double row[FE_N_MOTION])
{
    fe_rigid_row(r, x, i, row);
    double square = 0;
    for (int pass = 0; pass < 2; pass++) /* once more: the first leaves rounding */
        for (int b = 0; b < r->rank; b++) {
            double dot = 0;
            for (int c = 0; c < FE_N_MOTION; c++) dot += r->basis[b][c] * row[c];
            for (int c = 0; c < FE_N_MOTION; c++) row[c] -= dot * r->basis[b][c];
        }
    for (int c = 0; c < FE_N_MOTION; c++) square += row[c] * row[c];
    return sqrt(square);
}

static void measure(const double *x, int n, const fe_hold *hold, fe_rigid *r)
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 3; i++) r->centre[i] += x[3 * (size_t)hold[k].node + i] / n;
    for (int k = 0; k < n; k++) {
        double square = 0;
        for (int i = 0; i < 3; i++) square += pow(x[3 * (size_t)hold[k].node + i] - r->centre[i], 2);
        r->size = fmax(r->size, sqrt(square));
    }
    if (r->size == 0) r->size = 1; /* one node: no lever at all */
}

void fe_rigid_hold(const double *x, int n, const fe_hold *hold, fe_rigid *r)
{
    *r = (fe_rigid){.rank = 0};
    measure(x, n, hold, r);
    while (r->rank < FE_N_MOTION) {
        double row[FE_N_MOTION], *best = r->basis[r->rank], longest = 0;
        for (int k = 0; k < n; k++)
            for (int i = 0; i < 3; i++) {
                if (!(hold[k].axes >> i & 1)) continue;
                const double length = remainder_of(r, x + 3 * (size_t)hold[k].node, i, row);
                if (length <= longest) continue;
                longest = length;
                memcpy(best, row, sizeof row);
            }
        if (longest <= fe_rigid_tolerance) return;
        for (int c = 0; c < FE_N_MOTION; c++) best[c] /= longest;
        r->rank++;
    }
}

/* P = I - BᵀB, the projector on the motions that are free. */
static void projector(const fe_rigid *b, double P[FE_N_MOTION][FE_N_MOTION])
{
    for (int i = 0; i < FE_N_MOTION; i++)
        for (int j = 0; j < FE_N_MOTION; j++) {
            P[i][j] = i == j;
            for (int r = 0; r < b->rank; r++) P[i][j] -= b->basis[r][i] * b->basis[r][j];
        }
}

/* Eigenvalues, ascending, and orthonormal eigenvectors of the 3 x 3 block of P at (first, first). 0: LAPACK
 * failed. */
static int block_modes(double P[FE_N_MOTION][FE_N_MOTION], int first, double value[3], double vector[3][3])
{
    double work[16];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) vector[i][j] = P[first + i][first + j];
    return !LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', 3, vector[0], 3, value, work, 16);
}

/* A vector of the span of the modes with values above `least`: along an axis where that is one. 0: there is
 * none. */
static int choose(const double value[3], double vector[3][3], double least, double chosen[3])
{
    if (!(value[2] > least)) return 0;
    memcpy(chosen, vector[2], 3 * sizeof *chosen);
    for (int i = 2; i >= 0; i--) {
        double square = 0; /* of the i-th unit vector in the span */
        for (int m = 0; m < 3; m++) square += value[m] > least ? vector[m][i] * vector[m][i] : 0;
        for (int j = 0; j < 3 && square > 1 - fe_rigid_tolerance; j++) chosen[j] = i == j;
    }
    return 1;
}

/* A translation t with P (t, 0) = (t, 0). 0: there is none. */
static int free_translation(double P[FE_N_MOTION][FE_N_MOTION], double t[3])
{
    double value[3], vector[3][3];
    return block_modes(P, 0, value, vector) && choose(value, vector, 1 - fe_rigid_tolerance, t);
}

void fe_rigid_tidy(double axis[3])
{
    double sign = 0, square = 0;
    for (int i = 0; i < 3; i++) square += axis[i] * axis[i];
    for (int i = 0; i < 3; i++) {
        axis[i] /= sqrt(square);
        if (fabs(axis[i]) < fe_rigid_tolerance) axis[i] = 0;
        if (sign == 0) sign = (axis[i] > 0) - (axis[i] < 0);
    }
    for (int i = 0; i < 3; i++) axis[i] = axis[i] * sign + 0.0;
}

/* A rotation. The free motion with w is P (0, y), where R y = w with the block R of P for rotations; u = t +
 * w × (x - c) turns about the axis through c + w × t / |w|² along w. */
static void free_rotation(const fe_rigid *b, double P[FE_N_MOTION][FE_N_MOTION], fe_motion *m)
{
    double value[3], vector[3][3], w[3] = {0, 0, 1}, y[3] = {0}, t[3] = {0}, along = 0, square = 0;
    if (block_modes(P, 3, value, vector)) choose(value, vector, fe_rigid_tolerance * fe_rigid_tolerance, w);
    for (int k = 0; k < 3; k++) {
        double dot = 0;
        for (int i = 0; i < 3; i++) dot += vector[k][i] * w[i];
        for (int i = 0; i < 3 && value[k] > fe_rigid_tolerance * fe_rigid_tolerance; i++)
            y[i] += dot / value[k] * vector[k][i];
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) t[i] += P[i][3 + j] * y[j];
    for (int i = 0; i < 3; i++) w[i] /= b->size;
    for (int i = 0; i < 3; i++) square += w[i] * w[i], along += w[i] * t[i];
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        m->point[i] = b->centre[i] + (w[j] * t[k] - w[k] * t[j]) / square;
        if (fabs(m->point[i]) < fe_rigid_tolerance * b->size) m->point[i] = 0;
    }
    m->pitch = fabs(along / square) < fe_rigid_tolerance * b->size ? 0 : along / square;
    memcpy(m->axis, w, sizeof w);
}

void fe_rigid_describe(const fe_rigid *r, fe_motion *m)
{
    double P[FE_N_MOTION][FE_N_MOTION];
    projector(r, P);
    *m = (fe_motion){.n_free = FE_N_MOTION - r->rank};
    m->rotates = !free_translation(P, m->axis);
    if (m->rotates) free_rotation(r, P, m);
    fe_rigid_tidy(m->axis);
}
