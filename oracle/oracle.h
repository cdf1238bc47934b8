/* Textbook finite elements to check febench against: dense B and C matrices, one loop, in long double inside.
 *
 * Independent on purpose: it shares no type and no line with common/. Components are Voigt's in the order
 * xx yy zz xy yz xz; strains that multiply C are engineering strains (gamma_xy = 2 eps_xy), plastic strains
 * are stored as tensor components. */
#ifndef ORACLE_H
#define ORACLE_H

enum { ORACLE_CORNERS = 27, ORACLE_COLUMNS = 81 }; /* of an element at most, and of its matrix */

typedef struct oracle_mesh {
    int n_corner, n_point; /* 4 and 1, 4 and 4 (four-point rule), 8 and 8 (2x2x2 Gauss); quadratic: 10 and 4
                              (four-point rule), 27 and 27 (3x3x3 Gauss) */
    int n_node, n_elem;
    const double *x;               /* [n_node][3] */
    const int *conn;               /* [n_elem][n_corner] nodes, corners in Gmsh's order */
    const unsigned char *material; /* [n_elem] which of the materials an element has; NULL: the first */
} oracle_mesh;

/* Yield stress sigma_y + H alpha + (sigma_inf - sigma_y) (1 - exp(-delta alpha)), the last term (Voce's) only
 * where delta > 0. sigma_y infinite: elastic. */
typedef struct oracle_material {
    double E, nu, sigma_y, H, sigma_inf, delta;
} oracle_material;

/* History of one quadrature point; arrays of it are [n_elem][n_point]. Hex8's point q = i + 2j + 4k has bit
 * i, j, k (0: -1/sqrt 3, 1: +1/sqrt 3) along xi, eta, zeta; the four-point rule's point q lies at corner q;
 * Hex27's point q = i + 3j + 9k has i, j, k = 0, 1, 2 at -sqrt(3/5), 0, sqrt(3/5). */
typedef struct oracle_state {
    double eps_p[6], alpha;
} oracle_state;

/* D [6][6]: isotropic elasticity, stress = D × engineering strain. */
void oracle_elasticity(const oracle_material *material, double D[6][6]);

/* Radial return at one point (Simo & Hughes, Computational Inelasticity, box 3.2; with Voce's law the
 * consistency condition is solved by bisection): engineering strain eps and committed state give stress, the
 * new state and the consistent tangent C = d sigma / d eps. */
void oracle_return(const oracle_material *material, const double eps[6], const oracle_state *state,
                   double sigma[6], oracle_state *new_state, double C[6][6]);

/* Shape function gradients dN [n_corner][3] at point q of element e; returns weight × det J. */
double oracle_gradients(const oracle_mesh *mesh, int e, int q, double dN[ORACLE_CORNERS][3]);

/* Volume: sum of weight × det J. */
double oracle_volume(const oracle_mesh *mesh);

/* K [3 n_corner][3 n_corner] = sum over q of w det J  B^T C B, in the upper left of the array. */
void oracle_stiffness(const oracle_mesh *mesh, int e, double (*C)[6][6],
                      double K[ORACLE_COLUMNS][ORACLE_COLUMNS]);

/* Materials of these two are an array, see oracle_mesh.
 *
 * r [n_node][3] = sum over elements of sum over q of w det J  B^T sigma, with sigma returned from the
 * committed state at the strain of u. scale [n_node][3], where not NULL, is the sum of the
 * absolute values of all terms w det J B sigma, which may cancel, within an element, too: rounding errors are
 * measured against it. */
void oracle_residual(const oracle_mesh *mesh, const oracle_material *material, const oracle_state *committed,
                     const double *u, double *r, double *scale);

/* Trial state and consistent tangent C [n_elem][n_point][6][6] at u. */
void oracle_update(const oracle_mesh *mesh, const oracle_material *material, const oracle_state *committed,
                   const double *u, oracle_state *trial, double (*C)[6][6]);

/* y [n_node][3] = K v with K assembled from C; scale: the sum over elements of |K| |v|. */
void oracle_jacvec(const oracle_mesh *mesh, double (*C)[6][6], const double *v, double *y, double *scale);

/* d [n_node][3][3]: diagonal blocks of K; scale: the sum over elements of their absolute values. */
void oracle_diagonal(const oracle_mesh *mesh, double (*C)[6][6], double (*d)[3][3], double (*scale)[3][3]);

#endif
