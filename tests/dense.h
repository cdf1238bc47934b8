/* Small dense systems for tests of Krylov methods, on any backend.
 *
 * The operator's context holds a matrix on the host; it copies vectors to the host and back, so that the same
 * tests run on every backend. Systems have condition numbers below 100, so a relative residual of 1e-13
 * leaves an error below 1e-10. */
#ifndef DENSE_H
#define DENSE_H

#include "common/backend/device.h"
#include "common/krylov/krylov.h"
#include "tests/common.h"

enum {
    MOST = 48,
    GHOSTS = 5
}; /* vectors are longer than the range of sums: the rest belongs to the operator */

/* A dense matrix as an operator; its device is the solver's. */
typedef struct dense {
    int n, calls;
    fe_device *device;
    double A[MOST][MOST]; /* row by row */
} dense;

/* The product, as an fe_operator's apply with a dense as its context. */
fe_status dense_apply(void *context, double *x, double *y);

enum { KINDS = FE_N_ORTHOGONALIZATION };

/* A communicator that counts the reductions made through it. */
typedef struct counting {
    fe_comm base;
    fe_comm_operations operations;
    fe_comm *inner;
    int sums;
} counting;

typedef struct dense_run {
    fe_device *device;
    fe_team *team;
    counting comm;
    fe_krylov krylov;
    dense A, P;
    fe_operator other; /* used instead of A if it has an apply */
    double *b, *x;     /* on the device */
    double right[MOST], exact[MOST], found[MOST];
    fe_krylov_result result;
} dense_run;

/* A random system on a backend. restart 0: CG, on a symmetric matrix. */
dense_run *dense_open(const char *backend, int n, int restart, int orthogonalization);
/* The same with a basis in floats. */
dense_run *dense_open_single(const char *backend, int n, int restart, int orthogonalization);
void dense_close(dense_run *t);
/* Solves A x = right; found and result are set. x starts with arbitrary values; b must not change. */
void dense_solve(dense_run *t, int preconditioned, double tolerance, int most);

/* x = A⁻¹ b by LAPACK. */
void dense_exact(const dense *m, const double *b, double *x);
double dense_norm(int n, const double *x);
double dense_error(const dense_run *t);    /* |found - exact| / |exact| */
double dense_residual(const dense_run *t); /* |right - A found| */

/* A = Q diag(eigenvalue) Q^T with a random orthogonal Q. */
void draw_spectrum(dense_run *t, const double *eigenvalue);
/* Upper triangular, with a diagonal from 1 down to 1 / condition. */
void draw_ill_conditioned(dense_run *t, double condition);
/* Close to the identity: after a projection, few digits of A v remain. */
void draw_near_identity(dense_run *t, double rest);

/* The backend of a test; skips the test where it is not available. */
const char *dense_backend(void **state);
typedef struct subject {
    const char *name;
    CMUnitTestFunction test;
} subject;
/* Runs n subjects on each backend, after `first` where it is not NULL. argv [1] selects by name. Returns the
 * exit code of the program. */
int dense_main(const char *group, const struct CMUnitTest *first, int n, const subject *subjects, int argc,
               char **argv);

#endif
