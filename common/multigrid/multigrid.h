/* Multigrid preconditioner: smoothed aggregation with six rigid-body modes (Vaněk, Mandel, Brezina, Computing
 * 56, 1996) for the elastic operator, frozen there: it reads no tangent.
 *
 * The finest level has the nodes and the strategy's own elastic product, in single precision; the coarser
 * ones have aggregates of six unknowns each, in assembled matrices; the coarsest is solved by its dense
 * inverse. One application is a V-cycle with as many Chebyshev sweeps on block-Jacobi before as behind: a
 * symmetric positive operator. With several ranks aggregates stay within a rank. Ranks share large levels:
 * each has its nodes of them and ghosts, which are exchanged. All ranks have the whole of the levels below,
 * whose right-hand side is one sum.
 *
 * Of quadratic elements the finest level has all nodes; the next one is the finest of a hierarchy of the
 * linear elements on the vertices, which are a problem of their own (orders.h).
 *
 * A mode of an aggregate is u = t + omega × (x - centre) / size: t and omega are its unknowns. */
#ifndef FE_MULTIGRID_H
#define FE_MULTIGRID_H

#include "common/multigrid/block_matrix.h"
#include "common/multigrid/elastic_rows.h"
#include "common/multigrid/last_levels.h"
#include "common/ranks/comm.h"
#include "common/variant.h"

enum { FE_MOST_LEVELS = 12, FE_MOST_SWEEPS = 8 };

/* A coarser level. */
typedef struct fe_coarse_level {
    int n;       /* aggregates, of this rank if they are shared */
    int n_local; /* and ghosts */
    int halo; /* FE_HALO_LEVEL and on, whose ghosts x, y and r have, too; 0: every rank has the whole level */
    fe_block_matrix A;                /* [n] rows */
    fe_block_matrix P;                /* from here to the finer level's nodes on this rank */
    fe_block_matrix R;                /* its transpose: of the ghosts, too, if the level is shared */
    float *inverse;                   /* [n][6][6] of diagonal blocks */
    fe_sweep sweep[FE_MOST_SWEEPS];   /* [degree] */
    float *b, *x, *y, *r, *direction; /* [n][6]; y: sweeps go from x to y and back */
    fe_dense dense;                   /* [6 n][6 n] inverse, coarsest level only */
    fe_last_levels last;              /* of the level above that one, on a device */
    double *gathered;                 /* [n][6] of a whole level below a shared one: its b, to sum up */
} fe_coarse_level;

/* Vectors of a level in double precision (block_exact.h), for the cycle in that. */
typedef struct fe_exact_vectors {
    double *b, *x, *r, *y, *direction;
} fe_exact_vectors;

/* What set-up found, for users and tests. */
typedef struct fe_multigrid_report {
    int n_level, n[FE_MOST_LEVELS]; /* levels with the finest, unknown nodes of each */
    int orders;                     /* 1: level 1 has the vertices of quadratic elements */
    int most, degree;               /* nodes of a piece on the finest level; sweeps before and behind */
    int smallest, largest;          /* aggregates of the finest level */
    double lambda[FE_MOST_LEVELS];  /* bounds of the spectrum of D^-1 A */
    double complexity;              /* entries of all matrices over those of the finest linear one */
    size_t bytes;                   /* resident */
    double seconds;                 /* of set-up without the product's, from where all ranks begin */
    int singular;                   /* the coarsest matrix has a null space: a part is free to move */
    double condition;               /* of the coarsest matrix, 1-norm; 0: there is no coarser level */
} fe_multigrid_report;

typedef struct fe_multigrid {
    const fe_problem *problem; /* the caller's, whose states may change */
    const fe_assembly *assembly;
    void *work;
    const fe_assembly *single; /* the same strategy in single precision, which the cycle uses */
    void *single_work;
    fe_floats floats; /* coordinates alone */
    fe_comm *comm;
    fe_device *device;
    struct fe_orders *orders; /* the hierarchy of the vertices, of quadratic elements; else NULL */
    int below;                /* 1: it is that hierarchy, and its time counts as a coarser level's */
    int degree, n_coarse;     /* degree: two at least */
    int tells_levels; /* time counts for transfers and each level, not for all coarser levels together */
    float *inverse;   /* [n_owned][6] of diagonal blocks, finest level; zero at supports */
    float *b, *x;     /* [n_local][3] */
    float *direction; /* [n_local][3]; also the residual that goes to the next level */
    float *product;   /* [n_local][3], owned rows zero between products if the strategy adds to them */
    fe_sweep sweep[FE_MOST_SWEEPS];
    fe_coarse_level coarse[FE_MOST_LEVELS];
    fe_exact_vectors
        exact[FE_MOST_LEVELS + 1]; /* from the finest level on; NULL until fe_multigrid_open_exact */
    fe_multigrid_report report;
} fe_multigrid;

/* Where this is not NULL, set-up waits at the end of each of its parts and tells the seconds that it took. */
typedef void (*fe_multigrid_part)(int rank, int level, const char *name, double seconds);
extern fe_multigrid_part fe_multigrid_tell_part;

/* Ranks share coarser levels of more aggregates than this; negative: a number that suits the backend. */
extern int fe_multigrid_whole;

/* Builds the hierarchy. at [n_fixed]: constrained components on the device, ascending. Memory goes with the
 * device. m: zeroed, or opened before for the same problem and strategy: then its product is used again and
 * the rest is released. The cycle's products are those of the strategy in single precision. coarser 0: the
 * finest level alone, four Chebyshev sweeps. */
fe_status fe_multigrid_open(const fe_problem *problem, const fe_assembly *assembly, void *work, fe_comm *comm,
                            int n_fixed, const int *at, int coarser, fe_multigrid *m);
/* z = M r, both [n_local][3]; zero at supports. An fe_operator's apply with an fe_multigrid as context. z's
 * ghosts are overwritten: ghosts of the cycle's own vectors are exchanged there. Only enqueues. */
fe_status fe_multigrid_apply(void *context, double *r, double *z);
/* Its first step by itself, and the rest, which does not read r. */
fe_fine_start fe_multigrid_start(const fe_multigrid *m);
fe_status fe_multigrid_rest(void *context, double *r, double *z);
/* The cycle in double precision, with the same hierarchy: for systems where rounding makes the other one lose
 * its positivity. It takes longer. */
fe_status fe_multigrid_open_exact(fe_multigrid *m);
fe_status fe_multigrid_apply_exact(void *context, double *r, double *z);
/* y = A x and y = D^-1 x of level 0, the finest, or a coarser one, as the cycle has them. y of the finest
 * level's product is zero before; x's ghosts are refreshed. exchanged [n_local][3]: scratch for that on the
 * finest level, where there are several ranks. */
fe_status fe_multigrid_level_product(fe_multigrid *m, int level, float *x, float *y, double *exchanged);
fe_status fe_multigrid_level_inverse(fe_multigrid *m, int level, const float *x, float *y);

/* The problem as the table m->single and its work see it. */
fe_problem fe_multigrid_single(const fe_multigrid *m);

/* Factors of `degree` Chebyshev sweeps on [lambda / ratio, lambda]. */
void fe_chebyshev_sweeps(double lambda, double ratio, int degree, fe_sweep *sweep);

#endif
