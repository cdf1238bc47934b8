/* Steps of the multigrid's set-up. They are a table, for the host and for CUDA: the matrices, lists and
 * vectors of a table's steps lie in its memory. */
#ifndef FE_MULTIGRID_SETUP_H
#define FE_MULTIGRID_SETUP_H

#include "common/multigrid/multigrid.h"
#include "common/multigrid/sparse.h"
#include "have/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fe_setup_steps fe_setup_steps;
typedef struct fe_rank_steps fe_rank_steps;

/* Aggregates of all ranks, and of those before this one. */
typedef struct fe_numbering {
    int total, offset;
} fe_numbering;

/* How a shared level's rows get to the ranks that have its nodes as ghosts: as numbers, so many of each row
 * at a time. */
enum { FE_GHOST_NODES = 16, FE_GHOST_WIDTH = 3 * FE_GHOST_NODES };
typedef struct fe_ghosts {
    int n_send, n_ghost;
    const int *send; /* [n_send] nodes, in host memory */
    int *send_there; /* the same on the device */
    double *numbers; /* on the device: [n_send][FE_GHOST_WIDTH], then [n_ghost][FE_GHOST_WIDTH] */
    fe_halo halo;    /* FE_GHOST_NODES nodes for each of these */
} fe_ghosts;

/* The level at hand, and what leads to the next. A level is shared by the ranks, which have their own nodes
 * of it and ghosts, or every rank has the whole. */
typedef struct fe_setup {
    fe_multigrid *m;
    const fe_setup_steps *steps;
    fe_device *d;
    void *own; /* of the table */
    int threads, level, n, block;
    int shared, next_shared;
    int n_all; /* nodes of all ranks */
    fe_ghosts ghosts;
    fe_sparse A;     /* columns of ghosts, too */
    double *x;       /* [n][3] */
    double *size;    /* [n] of the rotations' unit; NULL on the finest level */
    uint8_t *absent; /* [n][block]: unknowns that do not exist, their rows of P are zero */
    double *inverse; /* [n][block][block] of the diagonal blocks */
    double lambda;
    int *of, n_own;         /* aggregate of a node, -1: none; this rank's aggregates */
    int smallest, largest;  /* of them, in nodes, on the finest level */
    fe_numbering numbering; /* of the aggregates */
    int *starts;            /* [ranks + 1] numbers of each rank's first, host memory; where shared */
    fe_sparse P, R;         /* [n][n_next], and of ghosts; the transpose */
    int n_next;
    double *next_x, *next_size; /* centres of the aggregates; root of the mean square distance from it */
    uint8_t *next_absent;       /* [n_next][6] */
    int agreed;                 /* the ranks know that one of them has too little memory */
    double *sums;               /* on the device: what the ranks sum or agree on (rank_sums.h) */
    void *ghost_memory;         /* on the device: that of `ghosts`, of the largest level until now */
    size_t ghost_bytes;
    double *lanczos;   /* [fe_lanczos_numbers of the finest level] on the device */
    double part_began; /* fe_setup_part */
} fe_setup;

/* The end of a part of set-up, for fe_multigrid_tell_part; name NULL: the first part begins. */
void fe_setup_part(fe_setup *k, const char *name);

/* How pieces are cut: at most `most` nodes, at least `least`; `flat`: none on a line. */
typedef struct fe_cut {
    int most, least, flat;
} fe_cut;

/* What the finest level looks like: numbers of nodes in a sample of this rank's (every so manieth), of those
 * that are on the surface, and the sum of the nodes' stretch, longest over shortest distance to a neighbour.
 */
enum { FE_SAMPLE = 4000 };
typedef struct fe_sample {
    double n, surface, stretch;
} fe_sample;

/* How far node i gives way to a force: the mean over the axes, from the inverse of its diagonal block. */
FE_BOTH double fe_softness(int block, const double *inverse, int i)
{
    const double *D = inverse + (size_t)i * block * block;
    return (D[0] + D[block + 1] + D[2 * (block + 1)]) / 3.0;
}

/* Longest over shortest distance from node i to those of its row of a matrix. */
FE_BOTH double fe_stretch(const fe_sparse *A, const double *x, int i)
{
    double least = INFINITY, most = 0.0;
    for (int k = A->first[i]; k < A->first[i + 1]; k++) {
        double square = 0.0;
        for (int c = 0; c < 3; c++) {
            const double r = x[3 * (size_t)A->column[k] + (size_t)c] - x[3 * (size_t)i + (size_t)c];
            square += r * r;
        }
        if (square > most) most = square;
        if (square > 0.0 && square < least) least = square;
    }
    return most > 0.0 ? sqrt(most / least) : 1.0;
}
/* Stiffnesses, and what a cycle makes of residuals 1e-10 times as large, have to fit into single precision.
 */
FE_BOTH int fe_fits_single(double inverse) { return inverse == 0.0 || (inverse > 1e-25 && inverse < 1e25); }
/* Places in a 3 × 3 block of xx yy zz xy yz xz. */
FE_BOTH int fe_six_place(int c) { return c < 3 ? 4 * c : c == 3 ? 1 : c == 4 ? 5 : 2; }

struct fe_setup_steps {
    fe_status (*open)(fe_setup *k);
    void (*close)(fe_setup *k); /* frees all of the level at hand, too; accepts what is half opened */
    /* A, x, absent of the finest level, and its sample. at [n_fixed]: constrained components, on the device.
     */
    fe_status (*finest)(fe_setup *k, int n_fixed, const int *at, fe_sample *sample);
    fe_status (*invert_diagonal)(fe_setup *k);       /* inverse */
    fe_status (*aggregate)(fe_setup *k, fe_cut cut); /* of, n_own */
    fe_status (*measure)(fe_setup *k);               /* next_x, next_size, next_absent, smallest, largest */
    /* P, R; next = R A P: this rank's rows if the next level is shared. After fe_number_aggregates. A may be
     * gone afterwards. */
    fe_status (*coarsen)(fe_setup *k, fe_sparse *next);
    void (*descend)(fe_setup *k, const fe_sparse *next); /* the next level takes the place of this one */
    /* Copies that stay: A, and P with R, in blocks of 16-bit numbers; in single precision D^-1, and the
     * finest level's D^-1 in six numbers. beyond: a number on the diagonal of D^-1 that single precision
     * cannot hold with residuals 1e-10 times as large, or 0 */
    fe_status (*keep_matrix)(fe_setup *k, fe_block_matrix *A);
    fe_status (*keep_transfers)(fe_setup *k, fe_block_matrix *P, fe_block_matrix *R);
    fe_status (*keep_inverse)(fe_setup *k, float **kept);
    fe_status (*keep_six)(fe_setup *k, float **kept, double *beyond);
    /* Inverse of A, [6 n][6 n], and A's condition number; in double precision where single would spoil it.
     * Where A has a null space, of a part that nothing holds, `singular` becomes 1 and both are those of its
     * range. */
    fe_status (*keep_dense)(fe_setup *k, fe_dense *kept, double *condition, int *singular);
    /* Q of the dense level and the one above (last_levels.h); NULL: the cycle has all its steps */
    fe_status (*keep_last)(fe_setup *k, const fe_coarse_level *l, fe_last_levels *last);
    const fe_rank_steps *ranks; /* rank_steps.h */
};

extern const fe_setup_steps fe_setup_host;
#if FE_HAVE_CUDA
extern const fe_setup_steps fe_setup_cuda;
#endif

/* k->lambda: upper bound of the largest eigenvalue of the level's D^-1 A as the cycle has it, 1.05 times that
 * of 12 Lanczos steps from a fixed start. They need what the cycle has of the level, whose vectors are
 * scratch, and so many doubles of memory on the device. */
size_t fe_lanczos_numbers(const fe_setup *k);
fe_status fe_lanczos_bound(fe_setup *k, double *memory);

#ifdef __cplusplus
}
#endif
#endif
