/* Random small problems: the same as a case that the solver takes, and as plain numbers for plain.h. */
#ifndef RANDOM_PROBLEM_H
#define RANDOM_PROBLEM_H

#include "common/problem/case.h"
#include "tests/plain.h"

enum { MOST_MATERIALS = 3, MOST_SUPPORTS = 5, MOST_LOADS = 2, MOST_STEPS = 5, N_PATHS = 2 };

/* What is prescribed on a group: components and, for each, the plane value = a + b x + c y + d z. */
typedef struct random_support {
    int group, is_given[3], path;
    double plane[3][4];
    char text[3][160];
} random_support;

typedef struct random_load {
    int group, is_pressure, path;
    double pressure, traction[3];
} random_load;

typedef struct random_problem {
    uint64_t seed;
    fe_mesh mesh;
    int n_material, n_support, n_load, n_step;
    oracle_material material[MOST_MATERIALS];
    int *elem_material; /* [n_elem] */
    random_support support[MOST_SUPPORTS];
    random_load load[MOST_LOADS];
    double factor[N_PATHS][MOST_STEPS];
    char said[256]; /* in words, for messages */
    /* the same for the solver, and for plain.h */
    fe_case c;
    fe_support c_support[MOST_SUPPORTS];
    fe_load c_load[MOST_LOADS];
    fe_path c_path[N_PATHS];
    fe_material c_material[MOST_MATERIALS];
    char *c_volume[MOST_MATERIALS]; /* names of groups of the mesh */
    unsigned char *is_fixed;        /* [n_node][3] */
    double *value;                  /* [n_node][3] at factor 1 */
    int *value_path;                /* [n_node][3] */
    double *force[N_PATHS];         /* [n_node][3] at factor 1 */
} random_problem;

/* The problem of a seed. */
void random_problem_open(random_problem *p, uint64_t seed);
void random_problem_close(random_problem *p);
/* One of its materials does. */
int hardens_by_voce(const random_problem *p);
/* Displacements and loads [n_node][3] at the end of a step. */
void random_problem_at(const random_problem *p, int step, double *value, double *load);

/* Keeps the elements that are marked, with the nodes and facets of groups that they have. */
void thin_out(fe_mesh *mesh, const unsigned char *is_kept);

#endif
