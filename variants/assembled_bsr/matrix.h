/* The assembled tangent K in 3×3 blocks, for assembled_bsr and assembled_cusparse: its layout, and the body
 * that computes blocks.
 *
 * Block rows are owned nodes; columns are the nodes of their elements, ascending, ghosts among them. Rows are
 * stored in slices, one row per lane. A `place` of a slice holds one block of each of its rows. Slices of one
 * row are plain BSR. A row that is shorter than its slice ends in blocks of zeros at its own column. */
#ifndef ASSEMBLED_BSR_MATRIX_H
#define ASSEMBLED_BSR_MATRIX_H

#include "common/physics/element.h"
#include "common/variant.h"

/* The rows of a part. */
typedef struct bsr_rows {
    int row, n_row; /* owned nodes [row, row + n_row) */
    int shift;      /* slices of 1 << shift rows */
    int n_place;
    const int *first;    /* [n_slice + 1] places of each slice; with slices of one row, BSR's row offsets */
    const int *column;   /* [n_place][1 << shift] local nodes */
    const int *diagonal; /* [n_row] which block of its row is the diagonal one */
    double *value;       /* [n_place][9][1 << shift] blocks by rows */
} bsr_rows;

/* First member of the work of both strategies. */
typedef struct bsr_matrix {
    bsr_rows part[2];
} bsr_matrix;

#ifdef __cplusplus
extern "C" {
#endif
/* The structure from the view's elements, with zero values. FE_BAD_INPUT beyond INT32_MAX places. */
fe_status bsr_open(const fe_problem *p, int shift, bsr_matrix *matrix);

/* Operations of both strategies; work begins with a bsr_matrix. `material` is the common update followed by
 * the assembly, `residual` that of node_csr, and the diagonal is read from the matrix. */
fe_status bsr_residual_host(const fe_problem *p, void *work, fe_part part, const double *displacement,
                            double *r);
fe_status bsr_material_host(fe_problem *p, void *work, fe_linearization mode, const double *displacement);
fe_status bsr_diagonal_host(const fe_problem *p, void *work, double *d);
fe_status bsr_residual_cuda(const fe_problem *p, void *work, fe_part part, const double *displacement,
                            double *r);
fe_status bsr_material_cuda(fe_problem *p, void *work, fe_linearization mode, const double *displacement);
fe_status bsr_diagonal_cuda(const fe_problem *p, void *work, double *d);
#ifdef __cplusplus
}
#endif

/* Slice of row i of the part, and its lane there. */
FE_BOTH int bsr_slice(const bsr_rows *r, int i) { return i >> r->shift; }
FE_BOTH int bsr_lane(const bsr_rows *r, int i) { return i & ((1 << r->shift) - 1); }
/* Where the column of a place and entry c of its block stand. */
FE_BOTH size_t bsr_column_at(const bsr_rows *r, int place, int lane)
{
    return ((size_t)place << r->shift) + (size_t)lane;
}
FE_BOTH size_t bsr_value_at(const bsr_rows *r, int place, int c, int lane)
{
    return ((9 * (size_t)place + (size_t)c) << r->shift) + (size_t)lane;
}

/* K[b] += what point q adds to the block of corner 0 and corner first + b, for n of them. With g = det J grad
 * N_0, h the same of the other corner and scale = w / |J|: scale ((K - 2/3 mu theta) g h^T + mu theta (g·h I
 * + h g^T) - (m g)(m h)^T) */
FE_BODY void bsr_add_point(int kind, const fe_view *m, fe_element e, int q, fe_real A[3][3], fe_real scale,
                           int first, int n, fe_real K[8][9])
{
    fe_real theta, t[6], g[3], mg[3], bulk_g[3], shear_g[3];
    const int softened = fe_point_softening(kind, m, e, q, &theta, t);
    const fe_real shear = scale * m->material.shear * theta;
    const fe_real bulk = scale * m->material.bulk - 2.0 / 3.0 * shear;
    fe_corner_gradient(kind, A, 0, q, g);
    fe_product(t, g, mg);
    FE_UNROLL_FOR (int i = 0; i < 3; i++) bulk_g[i] = bulk * g[i], shear_g[i] = shear * g[i], mg[i] *= scale;
    FE_UNROLL_FOR (int b = 0; b < n; b++) {
        fe_real h[3], mh[3];
        fe_corner_gradient(kind, A, first + b, q, h);
        const fe_real both = shear_g[0] * h[0] + shear_g[1] * h[1] + shear_g[2] * h[2];
        FE_UNROLL_FOR (int i = 0; i < 3; i++)
            FE_UNROLL_FOR (int j = 0; j < 3; j++) K[b][3 * i + j] += bulk_g[i] * h[j] + h[i] * shear_g[j];
        FE_UNROLL_FOR (int i = 0; i < 3; i++) K[b][4 * i] += both;
        if (softened) {
            fe_product(t, h, mh);
            FE_UNROLL_FOR (int i = 0; i < 3; i++)
                FE_UNROLL_FOR (int j = 0; j < 3; j++) K[b][3 * i + j] -= mg[i] * mh[j];
        }
    }
}

/* K[b] += what the points of plane k of the turned elements, whose corners stand at x, add to the blocks of
 * corner 0 and corners first + b. */
FE_BODY void bsr_add_plane(int kind, const fe_view *m, fe_element e, int k, fe_real x[8][3], int first, int n,
                           fe_real K[8][9])
{
    fe_plane gx[3];
    fe_gradient_plane(kind, x, k, gx);
    FE_UNROLL_FOR (int p = 0; p < fe_plane_points(kind); p++) {
        fe_real J[3][3], A[3][3];
        fe_gradient_at(kind, x, gx, k, p, J);
        const fe_real scale = fe_weight(kind) * fe_turn_sign(kind, e.turn) / fe_cofactor(J, A);
        bsr_add_point(kind, m, e, p + 4 * k, A, scale, first, n, K);
    }
}

#endif
