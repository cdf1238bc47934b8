/* The assembled tangent K in 3×3 blocks, for assembled_bsr, assembled_cusparse and assembled_csr: its layout,
 * and operations on it.
 *
 * Block rows are owned nodes; columns are the nodes of their elements, ascending, including ghosts. Rows are
 * stored in slices, one row per lane. A `place` of a slice holds one block of each of its rows. A row that is
 * shorter than its slice ends in blocks of zeros at its own column; so that few are, rows are sorted by
 * length, the longest first, within windows of BSR_WINDOW rows (SELL-C-sigma: Kreutzer et al., SIAM J. Sci.
 * Comput. 36, 2014, C401-C423). Slices of one row are plain BSR, whose rows are not sorted. With BSR_CSR the
 * three rows of scalars of a block row stand one after the other, as CSR stores them. */
#ifndef ASSEMBLED_BSR_MATRIX_H
#define ASSEMBLED_BSR_MATRIX_H

#include "common/physics/stiffness.h"
#include "common/variant.h"

/* Slices of a warp, of a cache line of the host (8 doubles, 16 floats), or of one row; or of one row, in
 * CSR's order. UPPER: of a row's blocks only those whose column is not an owned node before it; the others
 * are the transposed ones of those rows. */
typedef enum bsr_form {
    BSR_WARP,
    BSR_LINE,
    BSR_PLAIN,
    BSR_CSR,
    BSR_UPPER_WARP,
    BSR_UPPER_LINE,
    BSR_N_FORM
} bsr_form;
/* Rows of a host's slice: as many numbers as a cache line has. */
enum { BSR_LINE_ROWS = 64 / sizeof(fe_scalar) };

/* Rows that are sorted together: neighbours in the mesh stay close together in memory. */
enum { BSR_WINDOW = 1024 };

/* The rows of a part. */
typedef struct bsr_rows {
    int row, n_row;  /* owned nodes [row, row + n_row) */
    const int *node; /* [n_row] node of each row; NULL: row + i */
    const int *at;   /* [n_row] row of node row + i, on the host; NULL: i */
    int shift;       /* slices of 1 << shift rows */
    int upper;       /* BSR_UPPER_* */
    int scalar;      /* BSR_CSR */
    int by_columns;  /* entries of a block are stored column by column */
    int n_column;    /* local nodes */
    int n_place;
    const int *first;    /* [n_slice + 1] places of each slice; with slices of one row, BSR's row offsets */
    const int *column;   /* [n_place][1 << shift] local nodes */
    const int *diagonal; /* [n_row] which block of its row is the diagonal one */
    fe_scalar *value;    /* [n_place][9][1 << shift] blocks by rows; BSR_CSR: bsr_entry */
} bsr_rows;

/* First member of the work of these strategies. */
typedef struct bsr_matrix {
    bsr_rows part[2];
    size_t value_bytes;        /* of a number */
    const fe_assembly *forces; /* patch_ordered, whose residual they use */
    void *forces_work;
} bsr_matrix;

#ifdef __cplusplus
extern "C" {
#endif
/* The structure from the view's elements, with zero values; sets up patch_ordered, too. FE_BAD_INPUT beyond
 * INT32_MAX places; BSR_CSR: FE_OUT_OF_MEMORY beyond INT32_MAX values, so that `kernels` times the others.
 * Values are doubles in double precision, otherwise floats. */
fe_status bsr_open(fe_problem *p, bsr_form form, int precision, bsr_matrix *matrix);
/* For a table of single precision that serves elastic products alone: the structure of the matrix in double
 * precision, with values of its own. bsr_elastic_* computes them. */
fe_status bsr_open_elastic(fe_problem *p, bsr_form form, const bsr_matrix *in_double, bsr_matrix *matrix);
fe_status FE_PRECISE(bsr_elastic_host)(const fe_problem *p, const bsr_matrix *matrix);
fe_status FE_PRECISE(bsr_elastic_cuda)(const fe_problem *p, const bsr_matrix *matrix);
/* Both set-ups of a table whose work is a bsr_matrix alone; `elastic` is bsr_elastic_host or
 * bsr_elastic_cuda. */
fe_status bsr_set_up(fe_problem *p, bsr_form form, int precision, void **work);
fe_status bsr_set_up_from(fe_problem *p, bsr_form form, const void *in_double,
                          fe_status (*elastic)(const fe_problem *p, const bsr_matrix *matrix), void **work);
/* The problem in a precision, as if no element had yielded. Its flags, which are those of both states, are to
 * be released. */
fe_status bsr_without_plasticity(const fe_problem *p, int precision, fe_problem *elastic);

/* Operations of these strategies; work begins with a bsr_matrix. `material` is the common update followed by
 * the assembly, `residual` that of patch_ordered, and the diagonal is read from the matrix. */
double bsr_matrix_bytes(const void *work);
fe_status bsr_residual(const fe_problem *p, void *work, fe_part part, const void *displacement, void *r);
fe_status FE_PRECISE(bsr_material_host)(fe_problem *p, void *work, fe_linearization mode,
                                        const double *displacement);
fe_status FE_PRECISE(bsr_diagonal_host)(const fe_problem *p, void *work, void *d);
fe_status FE_PRECISE(bsr_material_cuda)(fe_problem *p, void *work, fe_linearization mode,
                                        const double *displacement);
fe_status FE_PRECISE(bsr_diagonal_cuda)(const fe_problem *p, void *work, void *d);
#ifdef __cplusplus
}
#endif

/* Node of row i of the part; the row of a node, on the host. */
FE_BOTH int bsr_node(const bsr_rows *r, int i) { return r->node ? r->node[i] : r->row + i; }
static inline int bsr_row_of(const bsr_rows *r, int node)
{
    return r->at ? r->at[node - r->row] : node - r->row;
}
#ifndef __CUDACC__
/* Nodes of rows from `first` on, the last one repeated. */
FE_BODY fe_index bsr_nodes_from(const bsr_rows *r, int first)
{
    fe_index nodes;
    for (int l = 0; l < FE_LANES; l++)
        nodes.lane[l] = r->node[first + l < r->n_row ? first + l : r->n_row - 1];
    return nodes;
}
#endif
/* Slice of row i, and its lane there. */
FE_BOTH int bsr_slice(const bsr_rows *r, int i) { return i >> r->shift; }
FE_BOTH int bsr_lane(const bsr_rows *r, int i) { return i & ((1 << r->shift) - 1); }
/* Index of the column of a place, and of entry c of its block. */
FE_BOTH size_t bsr_column_at(const bsr_rows *r, int place, int lane)
{
    return ((size_t)place << r->shift) + (size_t)lane;
}
FE_BOTH size_t bsr_value_at(const bsr_rows *r, int place, int c, int lane)
{
    return ((9 * (size_t)place + (size_t)c) << r->shift) + (size_t)lane;
}
/* Index of entry c of block k of row i. */
FE_BOTH size_t bsr_entry(const bsr_rows *r, int i, int k, int c)
{
    const int first = r->first[bsr_slice(r, i)];
    if (!r->scalar) return bsr_value_at(r, first + k, r->by_columns ? c % 3 * 3 + c / 3 : c, bsr_lane(r, i));
    const size_t n = r->first[i + 1] - first;
    return 9 * (size_t)first + c / 3 * 3 * n + 3 * (size_t)k + c % 3;
}

#endif
