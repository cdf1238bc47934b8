/* Whole problems by the plainest means, to check the solver against: the oracle's elements, dense matrices,
 * LAPACK, Newton's method on a convex energy. It shares no line with the solver; of common/ it takes the
 * arrays of a mesh. */
#ifndef PLAIN_H
#define PLAIN_H

#include "common/mesh/mesh.h"
#include "oracle/oracle.h"

/* Elements of one material. */
typedef struct plain_part {
    oracle_mesh mesh;
    oracle_material material;
    int *conn;
    oracle_state *committed, *trial; /* [n_elem][n_point] */
    double (*C)[6][6];               /* [n_elem][n_point] tangent */
} plain_part;

typedef struct plain {
    int n, n_free, n_part; /* components of all nodes, those that are free, materials */
    plain_part *part;      /* [n_part] */
    int *row;              /* [n] number among those that are free, -1: fixed */
    double *u, *A, *g, *d; /* accepted displacement [n]; matrix, right-hand side and direction of a solve */
    double *trial, *force; /* [n] displacement and internal forces of an iteration */
    double reach;          /* largest force so far */
} plain;

typedef enum plain_ending { PLAIN_CONVERGED, PLAIN_LIMIT, PLAIN_LOST } plain_ending;

/* n_point: of an element. elem_material [n_elem] names one of the materials; NULL: all are the first.
 * is_fixed [n_node][3]. */
void plain_open(plain *p, const fe_mesh *mesh, int n_point, int n_material, const oracle_material *material,
                const int *elem_material, const unsigned char *is_fixed);
void plain_close(plain *p);

/* Eigenvalues of the elastic stiffness of free components that are 0: below 1e-12 of the largest. *least: the
 * smallest of the others, over the largest. */
int plain_zeros(const plain *p, double *least);

/* One backward-Euler increment to displacements `value` of fixed components and the loads, both [n].
 * PLAIN_LIMIT: displacements grow and grow; PLAIN_LOST: no end was found. Accepted where it converged. */
plain_ending plain_step(plain *p, const double *value, const double *load);

#endif
