/* Scenes for tests of strategies: meshes with random states, and what the oracle says about them.
 *
 * A good share of points is plastic, some elements have never yielded, and every point stays 1e-3 away from
 * f = 0, where the tangent jumps. */
#ifndef SCENE_H
#define SCENE_H

#include "common/mesh/mesh.h"
#include "common/physics/material.h"
#include "oracle/oracle.h"

#define TOLERANCE 1e-12 /* rounding of some hundred operations */
#define MARGIN 1e-3     /* |f| over the yield stress */

/* SHAPE_BRACKET is a part of linear elements; of quadratic ones it is a box with curved sides inside. The
 * material of SHAPE_VOCE, a box, hardens by Voce's law; the others linearly. SHAPE_SEVERAL, a box, has
 * MATERIALS of them at random; SHAPE_LAWS has the same, one of them of Voce's law. */
enum { SHAPE_LEXICOGRAPHIC, SHAPE_RANDOM, SHAPE_BRACKET, SHAPE_VOCE, SHAPE_SEVERAL, SHAPE_LAWS, N_SHAPE };
/* For test_visits alone: an octahedron around one node, which has CENTRE_ELEMENTS elements, and a larger box.
 */
enum { SHAPE_OCTAHEDRON = N_SHAPE, SHAPE_REGULAR, OCTAHEDRON_CELLS = 12, CENTRE_ELEMENTS = 8 * 12 * 12 };
enum { MATERIALS = 3 };
/* Lengths of boxes. */
#define BOX_X 1.2
#define BOX_Y 1.0
#define BOX_Z 0.8

/* A mesh with a random committed state and displacement, and what the oracle says about them. */
typedef struct scene {
    char name[64];
    int kind, is_curved;
    fe_mesh mesh;
    oracle_mesh oracle;
    int n_material;
    oracle_material material[MATERIALS];
    unsigned char *of;                               /* [n_elem] material of each element */
    oracle_state *committed, *trial;                 /* [n_elem][n_point] */
    double (*C)[6][6], (*C_elastic)[6][6];           /* [n_elem][n_point] */
    double *u, *v, *w;                               /* [n_node][3] */
    double *r, *r_scale, *y, *y_scale, *l, *l_scale; /* residual, K v, elastic K v */
    double *d, *d_scale;                             /* [n_node][3][3] */
    double *rigid[2], *rigid_scale[2];               /* of prepare_mechanics, or NULL */
} scene;

void scene_open(scene *s, int shape, int kind);
void scene_close(scene *s);

/* The materials as the tested code sees them, in memory of `material`. */
fe_materials materials_of(const scene *s, fe_material material[MATERIALS]);
const oracle_material *material_at(const scene *s, int e);
/* Yield stress of an element's material at a state. */
double yield_at(const scene *s, int e, const oracle_state *state);
/* C = K I×I + 2 mu theta I_dev - m×m of the six stored numbers; elastic for NULL. */
void expand_tangent(double bulk, double shear, const double *stored, double C[6][6]);
/* Von Mises stress. */
double mises(const double s[6]);
/* Engineering strain of u at a point. */
void strain_at(const scene *s, int e, int q, const double *u, double eps[6]);
/* Stress of the elastic part of u's strain. */
void elastic_stress(const scene *s, int e, int q, const double *u, const oracle_state *state,
                    double stress[6]);
/* f of the trial stress over the yield stress. */
double yield_excess(const scene *s, int e, int q);

/* Zeroed memory, a little more than requested. */
void *zeros(size_t count, size_t size);
/* [n_node][width] of NaN, so that rows that are not written are found. */
double *new_vector(const scene *s, int width);
/* Number of entries with |a - b| > tolerance × scale, the worst of them printed. NaN counts. */
int compare(const char *what, const scene *s, size_t n, const double *a, const double *b, const double *scale,
            double tolerance);

#endif
