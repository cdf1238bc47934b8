/* Linear solvers: restarted GMRES and conjugate gradients. They know vectors, a backend and a table of
 * functions. They do not know what the operator is, or about ranks. */
#ifndef FE_KRYLOV_H
#define FE_KRYLOV_H

#include "common/krylov/krylov_steps.h"
#include "common/ranks/comm.h"

struct fe_krylov_result;
/* y = A x. x and y have the length of the caller's vectors; the operator may overwrite x's ghosts. */
typedef struct fe_operator {
    fe_status (*apply)(void *context, double *x, double *y);
    void *context;
    /* The same for a y whose owned entries are zero, which spares apply to clear it. May be NULL. Where an
     * entry of held [n] is 1, on the device, the result counts as zero whatever `add` leaves there, which
     * spares a pass to set it; x is zero there. held NULL: nowhere. */
    fe_status (*add)(void *context, double *x, double *y);
    const uint8_t *held;
    /* Of a preconditioner: its first step (common/algebra/chebyshev.h), which conjugate gradients make where
     * they have x at hand, and all others. start NULL: it cannot be told apart. */
    const fe_fine_start *start;
    fe_status (*rest)(void *context, double *x, double *y);
    /* 1 to FE_MOST_VERSIONS: apply only enqueues, and always the same for the same vectors and version, so
     * that it may be recorded. 0: it may not. */
    int version;
    /* Asked once an iteration, with what is known of the solve; a failure ends it. May be NULL. */
    fe_status (*poll)(void *context, const struct fe_krylov_result *so_far);
} fe_operator;
enum { FE_MOST_VERSIONS = 4 };

/* How GMRES makes its basis orthogonal, with the number of reductions of iteration j = 0, 1, …: modified
 * Gram-Schmidt (j + 2), classical Gram-Schmidt twice (3), and the latter with the second projection and the
 * norm delayed (1). */
enum {
    FE_ORTHOGONALIZATION_MGS,
    FE_ORTHOGONALIZATION_CGS2,
    FE_ORTHOGONALIZATION_DCGS2,
    FE_N_ORTHOGONALIZATION
};
extern const char *const fe_orthogonalization_names[FE_N_ORTHOGONALIZATION]; /* "mgs", "cgs2", "dcgs2" */

/* What GMRES's basis is stored in. All arithmetic is in double precision. A basis of floats takes half the
 * memory and its traffic; a cycle then ends where it has reduced the residual by 5e-7, and the next one
 * starts from the true residual (compressed basis: Aliaga et al., Int. J. High Perform. Comput. Appl. 37,
 * 2023). */
enum { FE_BASIS_DOUBLE, FE_BASIS_SINGLE, FE_N_BASIS };
extern const char *const fe_basis_names[FE_N_BASIS]; /* "double", "single" */

typedef struct fe_krylov {
    fe_device *device;
    fe_comm *comm;
    size_t n;      /* owned entries: sums run over them */
    size_t stride; /* from one vector to the next: its entries, ghosts included, and padding */
    int restart;   /* GMRES's basis length; 0 in a CG workspace */
    int orthogonalization;
    int measures;                     /* GMRES: loss of orthogonality, at the end of each cycle */
    fe_columns basis;                 /* GMRES [restart + 1], CG's four vectors; ld is stride */
    double *pair;                     /* [2][stride] with a basis of floats: vectors to be stored in it */
    double *z;                        /* [stride] */
    double *small;                    /* Hessenberg workspace, or CG's scalars */
    double *h;                        /* [restart + 1], dcgs2 twice as many */
    struct fe_recordings *recordings; /* NULL: nothing is recorded */
} fe_krylov;

/* Allocates the work vectors of n owned of n_all entries on the device; released with it. restart 0: for CG,
 * to which orthogonalization and basis are nothing. */
fe_status fe_krylov_open(fe_device *device, fe_comm *comm, size_t n, size_t n_all, int restart,
                         int orthogonalization, int basis, fe_krylov *k);

/* From now on an iteration is recorded the second time that it is enqueued, and replayed later (CUDA graphs),
 * where backend and operator can. Otherwise nothing changes. Earlier recordings are released; with `on` 0,
 * only that is done. */
fe_status fe_krylov_record(fe_krylov *k, int on);
/* Releases recordings. Call it before the communicator that they use is closed. */
void fe_krylov_close(fe_krylov *k);

typedef struct fe_krylov_result {
    int iterations;
    double first, last; /* residual norms */
    int converged;
    int breakdown;  /* a direction without positive curvature (CG): x is what was found before it */
    int stagnated;  /* the residual no longer falls */
    int not_finite; /* operator or preconditioner gave a number that is not finite; x is from before it */
    /* Where GMRES measures it: the largest loss of orthogonality of a cycle, |I - V^T V| (Frobenius norm) of
     * the columns that its solution is made of, as in Paige, Rozloznik and Strakos, SIAM J. Matrix Anal. 28,
     * 2006. NaN: not measured. */
    double loss;
} fe_krylov_result;
/* Why it ended, for messages: "converged", "stagnated", … */
const char *fe_krylov_reason(const fe_krylov_result *result);

/* Solve A x = b from x = 0 until |b - A x| <= tolerance |b|, max_iterations, or until it ends for another
 * reason in the result. `precondition` may be NULL; GMRES applies it from the right (Saad, Iterative Methods,
 * algorithm 9.5), CG as usual (common/krylov/conjugate.h). b is kept. */
fe_status fe_gmres(fe_krylov *k, const fe_operator *A, const fe_operator *precondition, double *b, double *x,
                   double tolerance, int max_iterations, fe_krylov_result *result);
fe_status fe_cg(fe_krylov *k, const fe_operator *A, const fe_operator *precondition, double *b, double *x,
                double tolerance, int max_iterations, fe_krylov_result *result);

#endif
