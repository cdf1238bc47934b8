/* Other forms of assembled_symmetric, to compare with: how the transposed products get to their rows. Each is
 * the same strategy in a program of its own, forms/GATHER/kernels and forms/COLORS/kernels (make forms),
 * whose tables take the place of those in variants/assembled_symmetric.
 *
 * - ATOMICS, the strategy itself: added atomically, on the host to sums of each thread
 * - GATHER: two passes; the first one stores them, the second one adds those of each row in a fixed order
 * - COLORS: rows of one colour add to no common row; plain additions, one launch per colour */
#ifndef BENCH_FORMS_H
#define BENCH_FORMS_H

#include "variants/assembled_bsr/matrix.h"

/* A part of the matrix in host memory. */
typedef struct form_rows {
    const bsr_rows *r;
    int slice, n_slice;
    int *node, *first, *column; /* see bsr_rows */
    int *at;                    /* [n_row] row of node r->row + i */
} form_rows;

/* The rows of a part as they gather: in slices as wide as those of the matrix, in an order of their own, the
 * rows with the most products first within BSR_WINDOW rows. Row i adds the products of its lane, i % slice,
 * in places [first[i / slice], first[i / slice + 1]), which come from ascending nodes. Lanes read neighbours,
 * and this pass needs no list. What is left of a lane's places is zero. */
typedef struct form_list {
    const int *to; /* [n_place][1 << shift] of the matrix: where the transposed product of a block is stored,
                      place × slice + lane; -1: nowhere, as on the diagonal and in a ghost's column */
    const int *node;  /* [n_row] */
    const int *first; /* [n_slice + 1] */
} form_list;
typedef struct form_gather {
    bsr_matrix matrix; /* first: operations of assembled_bsr take it for their work */
    form_list part[2];
    int n_place;   /* of both parts */
    void *product; /* [n_place][1 << shift][3] of fe_scalar */
    double bytes;  /* that a product reads and writes of these arrays */
} form_gather;

/* Rows [first[c], first[c + 1]) of a part have colour c. No two rows of one colour have an owned column in
 * common; the diagonal is a column, too. */
enum { FORM_MOST_COLORS = 256 };
typedef struct form_colors {
    bsr_matrix matrix; /* first */
    int n[2];
    int *first[2]; /* [n + 1], in host memory that lives as long as the device */
} form_colors;

#ifdef __cplusplus
extern "C" {
#endif
fe_status form_rows_read(const fe_problem *p, const bsr_rows *r, form_rows *rows);
void form_rows_close(form_rows *rows);

/* Of the form's matrix, one of the upper half that is open. Products are zero. */
fe_status form_open_gather(const fe_problem *p, form_gather *form);
/* Greedily, in the order of nodes, and sorts the rows by colour. FE_BAD_INPUT where FORM_MOST_COLORS are too
 * few. */
fe_status form_open_colors(const fe_problem *p, form_colors *form);

/* Set-ups of the tables, and in single precision from the work in double precision. */
fe_status form_gather_set_up(fe_problem *p, bsr_form form, int precision, void **work);
fe_status form_gather_set_up_from(fe_problem *p, bsr_form form, const void *in_double, void **work);
double form_gather_bytes(const void *work);
fe_status form_colors_set_up(fe_problem *p, bsr_form form, int precision, void **work);
fe_status form_colors_set_up_from(fe_problem *p, bsr_form form, const void *in_double, void **work);
#ifdef __cplusplus
}
#endif

/* Whether the product of a block of row i, whose column is j, goes to another row. Those of ghosts are
 * another rank's, which has their blocks. */
static inline int form_gives(const form_rows *s, int n_owned, int i, int j)
{
    return j != s->node[i] && j < n_owned;
}

#endif
