/* Steps of the multigrid's set-up, for its own files. */
#ifndef FE_MULTIGRID_SETUP_H
#define FE_MULTIGRID_SETUP_H

#include "common/solver/krylov.h"
#include "common/solver/multigrid.h"
#include "common/solver/sparse.h"

/* What the finest level looks like, on the host: coordinates and elements of the view, and its matrix. */
typedef struct fe_elastic_rows {
    fe_view view;     /* host memory; all states are elastic */
    fe_sparse A;      /* [n_owned] rows, columns up to n_local; rows and columns of supports are zero */
    uint8_t *fixed;   /* [n_local][3], ghosts' not set */
    uint8_t *surface; /* [n_owned] nodes on the surface of the body */
} fe_elastic_rows;

/* Copies the view to the host and assembles the elastic matrix there. Close it also after a failure. */
fe_status fe_elastic_rows_open(const fe_problem *p, int n_fixed, const int *at, int threads,
                               fe_elastic_rows *e);
void fe_elastic_rows_close(fe_elastic_rows *e);

/* Upper bound of the largest eigenvalue of D^-1 A: 1.05 times that of 15 Lanczos steps from a fixed start.
 * Vectors of n numbers (with ghosts: length) on the device; comm NULL: on this rank alone. */
fe_status fe_lanczos_bound(fe_device *d, fe_comm *comm, size_t n, size_t length, const fe_operator *A,
                           const fe_operator *inverse, double *lambda);

#endif
