/* A problem with its multigrid preconditioner, on one rank or one of several, for tests of it. */
#ifndef TESTS_HIERARCHY_H
#define TESTS_HIERARCHY_H

#include "common/krylov/krylov.h"
#include "common/multigrid/multigrid.h"
#include "common/problem/share.h"
#include "common/ranks/ranks.h"
#include "tests/common.h"

typedef struct scene {
    const char *backend, *variant;
    double nu;
    int threads, ranks, loose; /* loose: no supports */
    const char *partition;
} scene;

typedef struct bench {
    fe_device *device;
    fe_comm *comm;
    fe_team *team;
    fe_partition partition;
    fe_share share;
    fe_problem problem;
    const fe_assembly *assembly;
    void *work;
    int n_fixed, *fixed;
    fe_multigrid m;
    fe_krylov krylov;
    size_t n;
    double *b, *x, *y;
} bench;

double random_number(uint64_t i); /* in [-1, 1) */

/* Everything but the preconditioner, clamped at the group, or at the least x where that is NULL. Loads point
 * in z, at nodes beyond the middle in x. */
fe_status bench_open_rank(const fe_mesh *mesh, const scene *s, const char *group, const fe_partition *p,
                          fe_comm *comm, fe_device *d, bench *t);
/* The preconditioner. */
fe_status bench_precondition(bench *t);
/* Both, on one rank; bench_open_bare: without the preconditioner. */
bench *bench_open(const fe_mesh *mesh, const scene *s, const char *group);
bench *bench_open_bare(const fe_mesh *mesh, const scene *s, const char *group);
void bench_close(bench *t);

/* y = K x in double precision of the elastic operator that is frozen in the preconditioner, without supports.
 */
fe_status elastic_product(bench *t, double *x, double *y);
/* The same with its supports, an fe_operator's apply with a bench as context. */
fe_status apply_elastic(void *context, double *x, double *y);
/* Conjugate gradients to the tolerance; t->x becomes the solution. */
fe_krylov_result solve(bench *t, double tolerance);
double dot(bench *t, const double *x, const double *y);
/* Random, zero at supports. */
void fill(bench *t, uint64_t seed, double *x);

fe_mesh box(int kind, int nx, int ny, int nz, double lx, double ly, double lz, double distort);
fe_mesh cube(int kind, int cells);

#endif
