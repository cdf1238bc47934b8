/* The oracle's results for a benchmark workload: the elements at some of its nodes are a mesh of their own.
 */
#ifndef BENCH_SAMPLE_H
#define BENCH_SAMPLE_H

#include "bench/workload.h"
#include "oracle/oracle.h"

/* The sampled nodes, the elements at them as a mesh of their own, and the oracle's results there. */
typedef struct bench_oracle {
    oracle_mesh mesh;
    int n_sample, width; /* width: history values of an element, points × FE_N_STATE */
    int *node, *elem;    /* [mesh.n_node], [mesh.n_elem] local numbers; sampled nodes come first */
    uint8_t *material;   /* [mesh.n_elem] their layers */
    double *x;
    int *conn;
    double *u[2], *v; /* [n_node][3]: committed, trial, direction */
    oracle_state *committed, *trial;
    double (*tangent)[6][6], (*elastic)[6][6];
    double *result[BENCH_N_OPERATION], *scale[BENCH_N_OPERATION]; /* [n_node][3 or 9]; none for material */
    double *slack; /* [n_node][3] what the residual of a part may lose besides; otherwise NULL */
    double *first[BENCH_N_OPERATION]; /* the first strategy's result, all rows */
    double *landing;                  /* that of another one, [n_owned][9]; NULL: none yet */
    int *place;                       /* device: entries of trial.point of the sampled elements */
    double *taken;                    /* device */
    uint64_t *hash;                   /* device */
    uint8_t *flags;                   /* [n_elem of the share] */
} bench_oracle;

/* Samples owned nodes of the workload, half of them on its border; the oracle computes every operation there.
 * mesh: the piece that the workload was made of. */
fe_status bench_oracle_open(bench_workload *c, const fe_mesh *mesh);
void bench_oracle_close(bench_oracle *o);

/* How many elements of the workload have a flag set; the flags stay in oracle->flags. */
fe_status bench_count_flags(const bench_workload *c, const uint8_t *flags, int flag, int *count);

#endif
