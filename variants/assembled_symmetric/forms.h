/* How the transposed products get to their rows: a constant of the build (make FORM=...).
 *   ATOMICS  added atomically, on the host to sums of each thread: the default
 *   GATHER   two passes: the first one stores them, the second one adds those of each row in a fixed order
 *   COLORS   rows of one colour add to no common row: plain additions, one launch per colour
 * The set-ups of the last two are in every build, because tests call them. */
#ifndef ASSEMBLED_SYMMETRIC_FORMS_H
#define ASSEMBLED_SYMMETRIC_FORMS_H

#include "variants/assembled_bsr/matrix.h"

#define SYMMETRIC_ATOMICS 0
#define SYMMETRIC_GATHER 1
#define SYMMETRIC_COLORS 2
#ifndef SYMMETRIC_FORM
#define SYMMETRIC_FORM SYMMETRIC_ATOMICS
#endif

/* The rows of a part as they gather: in slices as wide as those of the matrix, in an order of their own, the
 * rows with the most products first within BSR_WINDOW rows. Row i adds the products of its lane, i % slice,
 * in places [first[i / slice], first[i / slice + 1]), which come from ascending nodes. Lanes read neighbours,
 * and this pass needs no list. What is left of a lane's places is zero. */
typedef struct symmetric_list {
    const int *to; /* [n_place][1 << shift] of the matrix: where the transposed product of a block is stored,
                      place × slice + lane; -1: nowhere, as on the diagonal and in a ghost's column */
    const int *node;  /* [n_row] */
    const int *first; /* [n_slice + 1] */
} symmetric_list;
typedef struct symmetric_gather {
    symmetric_list part[2];
    int n_place;   /* of both parts */
    void *product; /* [n_place][1 << shift][3] of fe_scalar */
    double bytes;  /* that a product reads and writes of these arrays */
} symmetric_gather;

/* Rows [first[c], first[c + 1]) of a part have colour c. No two rows of one colour have an owned column in
 * common; the diagonal is a column, too. */
enum { SYMMETRIC_MOST_COLORS = 256 };
typedef struct symmetric_colors {
    int n[2];
    int *first[2]; /* [n + 1], in host memory that lives as long as the device */
} symmetric_colors;

/* The work of GATHER and COLORS. */
typedef struct symmetric_forms {
    bsr_matrix matrix; /* first: operations of assembled_bsr take it for their work */
    symmetric_gather gather;
    symmetric_colors colors;
} symmetric_forms;

#ifdef __cplusplus
extern "C" {
#endif
/* Of a matrix of the upper half that is open. Products are zero. */
fe_status symmetric_open_gather(const fe_problem *p, const bsr_matrix *matrix, symmetric_gather *gather);
/* Greedily, in the order of nodes. Sets matrix->window, so that bsr_open sorts rows by colour. FE_BAD_INPUT
 * where SYMMETRIC_MOST_COLORS are too few. */
fe_status symmetric_open_colors(const fe_problem *p, symmetric_colors *colors, bsr_matrix *matrix);
/* Set-up of either form, and in single precision from the work in double precision. */
fe_status symmetric_forms_set_up(fe_problem *p, bsr_form form, int precision, void **work);
fe_status symmetric_forms_set_up_from(fe_problem *p, bsr_form form, const void *in_double, void **work);
/* Bytes that a product reads and writes besides vectors. */
double symmetric_forms_bytes(const void *work);
#ifdef __cplusplus
}
#endif

#endif
