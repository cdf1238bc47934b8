/* The last level with sweeps and the dense one below it, in fewer steps than a cycle has.
 *
 * With S the level's sweeps, A its matrix, P what leads to the dense level, whose inverse is M, and b the
 * right-hand side, a cycle makes
 *
 *     x = S' b + Q M Q^T b      Q = (I - S A) P      S' = 2 S - S A S
 *
 * where S' is the sweeps before and behind, one after another. Q^T b and M Q^T b need no sweep, so they are
 * made beside the second and the third one, and the last one adds Q times that: 2 degree - 1 steps after the
 * restriction instead of 2 degree + 3. Steps wait for each other, and on a device each lasts 2 to 3 us, of
 * which little is work.
 *
 * Blocks of Q are rounded to 16 bits like those of all matrices, and are the same numbers in both products:
 * the cycle is as symmetric and positive as before, whatever rounding does to Q. But no sweep follows to
 * remove the rough share that rounding gives a soft mode. Its energy is the square of the rounding times the
 * condition number of A, so where M has to be in double precision the cycle keeps all its steps. */
#ifndef FE_LAST_LEVELS_H
#define FE_LAST_LEVELS_H

#include "common/multigrid/block_matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of blocks, each with room for a whole one: those of row i from i × room on, count [i]. */
typedef struct fe_roomy_matrix {
    int room, *count;
    fe_block_matrix M; /* without `first` */
} fe_roomy_matrix;

typedef struct fe_last_levels {
    int n, m;             /* aggregates of both; n 0: the cycle has all its steps */
    fe_roomy_matrix Q, R; /* R: Q^T */
    int parts;            /* of Q^T b */
    float *part, *y;      /* [parts][m][6] of Q^T b, zero where there is none; [m][6] M Q^T b */
} fe_last_levels;

/* Larger ones would read too much. */
static inline int fe_last_levels_suit(int n, int m) { return n < 2048 && m <= 256 && n * m <= 100000; }

/* What is made beside a sweep. */
enum { FE_BESIDE_RESTRICTION, FE_BESIDE_SOLUTION, FE_BESIDE_CORRECTION };

#ifdef __cplusplus
}
#endif
#endif
