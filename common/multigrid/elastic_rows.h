/* The elastic matrix of a rank's nodes. */
#ifndef FE_ELASTIC_ROWS_H
#define FE_ELASTIC_ROWS_H

#include "common/multigrid/sparse.h"
#include "common/variant.h"

/* A copy of the view in host memory with all states elastic, the matrix, and the supports. */
typedef struct fe_elastic_rows {
    fe_view view;
    fe_sparse A;    /* [n_owned] rows, columns up to n_local; rows and columns of supports are zero */
    uint8_t *fixed; /* [n_local][3], ghosts' not set */
} fe_elastic_rows;

/* Copies the view to the host and assembles the matrix there. Close it also after a failure. */
fe_status fe_elastic_rows_open(const fe_problem *p, int n_fixed, const int *at, int threads,
                               fe_elastic_rows *e);
void fe_elastic_rows_close(fe_elastic_rows *e);

/* Whether node i is on the surface: w |J| grad N summed over a node's elements vanishes inside a body. */
int fe_on_surface(const fe_view *host, int kind, int i);

#endif
