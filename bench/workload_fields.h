/* Displacements and committed states of a benchmark workload.
 *
 * Nodes move at random by a tenth of the yield strain times the length of a cell, or in meshes that are no
 * boxes times the least height of the elements at a node. Smooth operands move them by a wave as long as the
 * body instead, which strains it by a tenth of the yield strain, as in a solve. A share `plastic` of the
 * elements is plastic: clustered  a displacement shears the elements below a height in z, to twice the yield
 * strain (committed) and then to four times (trial) scattered  each element is chosen with probability
 * `plastic`, and holds a committed plastic strain of three times the yield strain, as if such a shear had
 * left it behind. The stress of this strain takes the element, and none of its neighbours, beyond yield zones
 * the same of the elements where a smooth function of the place is lowest: a few connected zones, as in a
 * part under load. In each case the plastic elements have a committed state and a softened tangent, and the
 * others have neither. The state of a part (part.h) has its own displacements and committed state instead.
 * The direction vectors of jacvec are random, or such a wave. */
#ifndef BENCH_WORKLOAD_FIELDS_H
#define BENCH_WORKLOAD_FIELDS_H

#include "bench/layers.h"
#include "bench/workload.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a field what its precision can hold. */
void bench_round(int precision, size_t n, double *x);

/* Three numbers in [-1, 1] for a tag and a seed, the same on every rank. */
void bench_random_vector(int64_t node, uint64_t seed, double out[3]);

/* What the fields of a workload depend on, besides nodes and elements. */
typedef struct bench_deformation {
    double height;          /* clustered: the slab is below */
    double cell;            /* of a box */
    double *size;           /* [n_node] of another mesh; NULL: a box */
    uint8_t *chosen;        /* [n_elem] of the mesh, scattered and zones; else NULL */
    const bench_part *part; /* otherwise NULL */
    bench_operand operand;
    double low[3], length; /* smooth: where the mesh begins, and its longest side */
} bench_deformation;
/* Yields c->deformation. */
fe_status bench_deformation_open(bench_workload *c, const fe_mesh *mesh);
void bench_deformation_close(bench_workload *c);

/* Displacement of a node of the mesh in step 0 (committed) or 1. */
void bench_displacement(const bench_deformation *deformation, const fe_mesh *mesh, int step, int node,
                        double u[3]);
/* What jacvec is applied to, at a node. */
void bench_direction(const bench_deformation *deformation, const fe_mesh *mesh, int node, double v[3]);
/* Whether the committed state is given, and does not follow from the displacement of step 0. */
static inline int bench_has_committed(const bench_deformation *deformation)
{
    return deformation->chosen || deformation->part;
}
/* That of point q of an element of the mesh, as fe_state stores it. */
void bench_committed_state(const bench_deformation *deformation, const fe_mesh *mesh, int elem, int q,
                           double state[FE_N_STATE]);

/* Fills u, v and both states of the workload. mesh: the piece that the workload was made of. */
fe_status bench_upload_fields(bench_workload *c, const fe_mesh *mesh);

#ifdef __cplusplus
}
#endif

#endif
