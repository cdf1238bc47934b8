/* Rank of the supports against the six rigid motions of each connected part.
 *
 * A prescribed component i at x is the row (e_i, (x - c) × e_i / L) of a matrix with six columns, one for
 * each rigid motion about the centre c of the part's supports, with L their size. Rows are taken one after
 * another, always the one that is farthest from those before (Gram-Schmidt with pivoting), until what is left
 * of all is rounding. So the rank depends on where supports are, and not on how many nodes they have. */
#include "common/problem/mechanism.h"

#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

/* A lever of a millionth of the size of the supports holds nothing. */
#define TOLERANCE 1e-6

enum { N_MOTION = 6 };

typedef struct body {
    int n_node, n_fixed, example, rank;
    double centre[3], size;
    double basis[N_MOTION][N_MOTION]; /* [rank] orthonormal rows */
    double best[N_MOTION], length;    /* the row that is taken next, and how long it is */
} body;

/* The row of component i at x, less what the basis spans. */
static double remainder_of(const body *b, const double *x, int i, double row[N_MOTION])
{
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    for (int c = 0; c < N_MOTION; c++) row[c] = 0;
    row[i] = 1;
    row[3 + j] = (x[k] - b->centre[k]) / b->size;
    row[3 + k] = -(x[j] - b->centre[j]) / b->size;
    double square = 0;
    for (int pass = 0; pass < 2; pass++) /* once more: the first leaves rounding */
        for (int r = 0; r < b->rank; r++) {
            double dot = 0;
            for (int c = 0; c < N_MOTION; c++) dot += b->basis[r][c] * row[c];
            for (int c = 0; c < N_MOTION; c++) row[c] -= dot * b->basis[r][c];
        }
    for (int c = 0; c < N_MOTION; c++) square += row[c] * row[c];
    return sqrt(square);
}

/* Centres and sizes of the supports of each part. */
static void measure(const fe_mesh *mesh, const int *part, const unsigned char *is_fixed, int n_part,
                    body *all)
{
    for (int n = mesh->n_node - 1; n >= 0; n--) {
        body *b = &all[part[n]];
        const unsigned char *fixed = is_fixed + 3 * (size_t)n;
        b->n_node++, b->example = n;
        if (!fixed[0] && !fixed[1] && !fixed[2]) continue;
        b->n_fixed++;
        for (int i = 0; i < 3; i++) b->centre[i] += mesh->x[3 * (size_t)n + i];
    }
    for (int p = 0; p < n_part; p++)
        for (int i = 0; i < 3 && all[p].n_fixed; i++) all[p].centre[i] /= all[p].n_fixed;
    for (int n = 0; n < mesh->n_node; n++) {
        body *b = &all[part[n]];
        const unsigned char *fixed = is_fixed + 3 * (size_t)n;
        double square = 0;
        for (int i = 0; i < 3; i++) square += pow(mesh->x[3 * (size_t)n + i] - b->centre[i], 2);
        if ((fixed[0] || fixed[1] || fixed[2]) && sqrt(square) > b->size) b->size = sqrt(square);
    }
    for (int p = 0; p < n_part; p++)
        if (all[p].size == 0) all[p].size = 1; /* one node: no lever at all */
}

/* Takes the farthest row of each part into its basis. Returns how many parts got one. */
static int take_rows(const fe_mesh *mesh, const int *part, const unsigned char *is_fixed, int n_part,
                     body *all)
{
    int taken = 0;
    for (int p = 0; p < n_part; p++) all[p].length = 0;
    for (int n = 0; n < mesh->n_node; n++)
        for (int i = 0; i < 3; i++) {
            body *b = &all[part[n]];
            double row[N_MOTION];
            if (!is_fixed[3 * (size_t)n + i] || b->rank == N_MOTION) continue;
            const double length = remainder_of(b, mesh->x + 3 * (size_t)n, i, row);
            if (length <= b->length) continue;
            b->length = length;
            memcpy(b->best, row, sizeof row);
        }
    for (int p = 0; p < n_part; p++) {
        body *b = &all[p];
        if (b->length <= TOLERANCE) continue;
        for (int c = 0; c < N_MOTION; c++) b->basis[b->rank][c] = b->best[c] / b->length;
        b->rank++, taken++;
    }
    return taken;
}

/* P = I - BᵀB, the projector on the motions that are free. */
static void projector(const body *b, double P[N_MOTION][N_MOTION])
{
    for (int i = 0; i < N_MOTION; i++)
        for (int j = 0; j < N_MOTION; j++) {
            P[i][j] = i == j;
            for (int r = 0; r < b->rank; r++) P[i][j] -= b->basis[r][i] * b->basis[r][j];
        }
}

/* Eigenvalues, ascending, and orthonormal eigenvectors of the 3 x 3 block of P at (first, first). 0: LAPACK
 * failed. */
static int block_modes(double P[N_MOTION][N_MOTION], int first, double value[3], double vector[3][3])
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
        for (int j = 0; j < 3 && square > 1 - TOLERANCE; j++) chosen[j] = i == j;
    }
    return 1;
}

/* A translation t with P (t, 0) = (t, 0). 0: there is none. */
static int free_translation(double P[N_MOTION][N_MOTION], double t[3])
{
    double value[3], vector[3][3];
    return block_modes(P, 0, value, vector) && choose(value, vector, 1 - TOLERANCE, t);
}

/* Unit length, first component positive, and no digits of rounding. */
static void tidy(double axis[3])
{
    double sign = 0, square = 0;
    for (int i = 0; i < 3; i++) square += axis[i] * axis[i];
    for (int i = 0; i < 3; i++) {
        axis[i] /= sqrt(square);
        if (fabs(axis[i]) < TOLERANCE) axis[i] = 0;
        if (sign == 0) sign = (axis[i] > 0) - (axis[i] < 0);
    }
    for (int i = 0; i < 3; i++) axis[i] = axis[i] * sign + 0.0;
}

/* A rotation. The free motion with w is P (0, y), where R y = w with the block R of P for rotations; u = t +
 * w × (x - c) turns about the axis through c + w × t / |w|² along w. */
static void free_rotation(const body *b, double P[N_MOTION][N_MOTION], fe_mechanism *m)
{
    double value[3], vector[3][3], w[3] = {0, 0, 1}, y[3] = {0}, t[3] = {0}, along = 0, square = 0;
    if (block_modes(P, 3, value, vector)) choose(value, vector, TOLERANCE * TOLERANCE, w);
    for (int k = 0; k < 3; k++) {
        double dot = 0;
        for (int i = 0; i < 3; i++) dot += vector[k][i] * w[i];
        for (int i = 0; i < 3 && value[k] > TOLERANCE * TOLERANCE; i++) y[i] += dot / value[k] * vector[k][i];
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) t[i] += P[i][3 + j] * y[j];
    for (int i = 0; i < 3; i++) w[i] /= b->size;
    for (int i = 0; i < 3; i++) square += w[i] * w[i], along += w[i] * t[i];
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        m->point[i] = b->centre[i] + (w[j] * t[k] - w[k] * t[j]) / square;
        if (fabs(m->point[i]) < TOLERANCE * b->size) m->point[i] = 0;
    }
    m->pitch = fabs(along / square) < TOLERANCE * b->size ? 0 : along / square;
    memcpy(m->axis, w, sizeof w);
}

static void describe(const body *b, fe_mechanism *m)
{
    double P[N_MOTION][N_MOTION];
    projector(b, P);
    m->n_node = b->n_node, m->example = b->example;
    m->n_free = N_MOTION - b->rank;
    m->rotates = !free_translation(P, m->axis);
    if (m->rotates) free_rotation(b, P, m);
    tidy(m->axis);
}

fe_status fe_mechanism_find(const fe_mesh *mesh, const unsigned char *is_fixed, fe_mechanism *m)
{
    int *part = NULL;
    body *all = NULL;
    *m = (fe_mechanism){0};
    FE_TRY(fe_mesh_components(mesh, &m->n_part, &part));
    const fe_status status = fe_allocate((size_t)m->n_part, sizeof *all, "parts of the mesh", (void **)&all);
    if (status == FE_OK) {
        measure(mesh, part, is_fixed, m->n_part, all);
        for (int r = 0; r < N_MOTION && take_rows(mesh, part, is_fixed, m->n_part, all); r++) {}
        while (m->part < m->n_part && all[m->part].rank == N_MOTION) m->part++;
        if (m->part < m->n_part) describe(&all[m->part], m);
    }
    free(all);
    free(part);
    return status;
}
