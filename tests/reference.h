/* Reference results of tests/validation, and how far a run is from them in the norms of acceptance.
 *
 * A history keeps the fields of every step of a run; reference_compare reads it beside the run's fe_result.
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "common/mesh/lookup.h"
#include "common/solver/run.h"

#define VALIDATION_FOLDER "tests/validation" /* seen from the repository's root, where tests run */

/* A problem of the folder on one of its meshes. */
typedef struct validation {
    fe_case problem;
    fe_mesh mesh;
    fe_boundary boundary;
} validation;

/* Opens a problem and a mesh by their names, e.g. strip and strip_hex.msh. */
fe_status validation_open(const char *problem, const char *mesh, validation *v);
void validation_close(validation *v);

struct json_t;

typedef struct reference_displacement {
    int step; /* 1-based */
    int64_t tag;
    double u[3];
} reference_displacement;

/* Last step: mean stress over the element's points (xx yy zz xy yz xz), mean and largest peeq. */
typedef struct reference_element {
    int64_t tag;
    double stress[6], peeq, peeq_max;
} reference_element;

typedef struct reference {
    struct json_t *root; /* NAME.MESH.json */
    int n_step;
    int n_displacement, n_element; /* 0 where there is no such file */
    reference_displacement *displacement;
    reference_element *element;
} reference;

/* Reads the reference of problem `name` on `mesh`, e.g. strip and strip_hex.msh. FE_BAD_INPUT names the file
 * and the line. */
fe_status reference_open(const char *name, const char *mesh, reference *ref);
void reference_close(reference *ref);

/* Fields of one step, in the mesh's order. */
typedef struct history_step {
    double *displacement;    /* [n_node][3] */
    double *reaction_force;  /* [n_node][3] */
    double *stress;          /* [n_elem][6] */
    double *peeq, *peeq_max; /* [n_elem] */
} history_step;

typedef struct history {
    const fe_mesh *mesh;
    fe_tag_map node, elem; /* tag → index */
    int n_step;            /* steps kept after step 0 */
    int n_call;            /* observer calls, step 0 included */
    history_step *step;    /* [n_step] */
} history;

fe_status history_open(const fe_mesh *mesh, history *h);
void history_close(history *h);
/* An observer that fills the history. */
fe_observer history_observer(history *h);

/* Largest errors over all steps that both have. A NaN counts as infinite, as does a probe, reaction, node or
 * element that one side lacks.
 *   displacement  max |du| / max |u| of the step, components, over the probes and all nodes for which the
 *                 file or a closed form gives a value; accepted to 1e-6
 *   reaction      |dR| / largest reaction or applied force of the run, or |dR| in N where that is below
 *                 1e-6 N; accepted to 1e-6
 *                 (references are sums of internal forces: what is applied to the same nodes is added to
 * ours) balance       |sum of reactions and loads| and |sum of their moments| / radius, over the nodes,
 * against sqrt(components) × the largest norm of reactions and loads of a step: at most the tolerance.
 *                 Infinite where a component without a support has a reaction
 *   peeq          |da| / (a + 1e-5) of max_peeq: at most 1e-5 where |da| <= 1e-5 a + 1e-10; accepted to 1e-5
 *   mises, elastic_energy, plastic_work, int_peeq, norm_u   error / largest of the run
 *   stress        mean stress of elements, error / largest component of the step
 *   element_peeq  mean and largest peeq of elements, as peeq
 *   volume        relative
 *   plastic_gp    largest difference of the counts */
typedef struct reference_errors {
    double displacement, reaction, balance, peeq, mises, elastic_energy, plastic_work, int_peeq, norm_u;
    double stress, element_peeq, volume;
    int64_t plastic_gp;
} reference_errors;
reference_errors reference_compare(const reference *ref, const fe_result *result, const history *h);

#endif
