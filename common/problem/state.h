/* Work on elements that no strategy changes: the material update and a step's integrals and fields. */
#ifndef FE_PROBLEM_STATE_H
#define FE_PROBLEM_STATE_H

#include "common/variant.h"

/* Integrals of an element, and extremes over its points (fe_element_summary). */
enum {
    FE_SUM_VOLUME,
    FE_SUM_ELASTIC_ENERGY,
    FE_SUM_PLASTIC_WORK, /* of this step: yield stress × (alpha - alpha committed) */
    FE_SUM_PEEQ,
    FE_SUM_PLASTIC_POINTS,
    FE_N_SUM
};
/* Integrals of what an increment adds: alpha - alpha committed, and the estimated error of its plastic strain
 * (fe_flow_error). */
enum { FE_FLOW, FE_FLOW_ERROR, FE_N_FLOW };
enum { FE_MAX_PEEQ, FE_MAX_MISES, FE_MAX_GRADIENT, FE_N_MAX };
/* Fields of an element: mean stress, plastic strain and strain [6] of its points, von Mises stress of the
 * mean stress and the largest of a point, mean and largest equivalent plastic strain. */
enum {
    FE_OUT_STRESS = 0,
    FE_OUT_PLASTIC_STRAIN = 6,
    FE_OUT_STRAIN = 12,
    FE_OUT_MISES = 18,
    FE_OUT_MISES_MAX = 19,
    FE_OUT_PEEQ = 20,
    FE_OUT_PEEQ_MAX = 21,
    FE_N_OUT = 22
};
/* What is kept of each point for output: its stress [6] and its volume. */
enum { FE_N_OUT_POINT = 7 };
FE_BOTH size_t fe_out_point_index(int kind, int ld, int c, int q, int e)
{
    return ((size_t)c * fe_points(kind) + q) * ld + e;
}

#ifdef __cplusplus
extern "C" {
#endif

/* Trial state and tangent of all local elements at a displacement: the `material` of every strategy that
 * computes points where they are needed. No work memory is used. Where the problem has a tangent in floats
 * (fe_problem_open_floats), that is written, too. */
fe_status fe_material_host(fe_problem *p, void *work, fe_linearization mode, const double *displacement);

/* Sums and extremes over elements with counted[e] set, from the displacement and the trial state, in a fixed
 * order: totals [FE_N_SUM + FE_N_MAX]. out [FE_N_OUT][ld] and points [FE_N_OUT_POINT][point][ld] where not
 * NULL. partial: scratch of fe_summary_scratch(n_elem) doubles. All in backend memory. */
size_t fe_summary_scratch(int n_elem);
fe_status fe_summary_host(const fe_problem *p, const double *displacement, const uint8_t *counted,
                          double *partial, double *totals, double *out, double *points);
/* Likewise totals [FE_N_FLOW] of the increment that began at the displacement `before`. */
fe_status fe_flow_host(const fe_problem *p, const double *displacement, const double *before,
                       const uint8_t *counted, double *partial, double *totals);
/* Stress [n_owned][6] at owned nodes, from such points: sum of N_a V stress over sum of N_a V, over all
 * points of all elements at the node, whose shape function in an element is N_a and V the volume of a point.
 * It is bounded by the points' own stresses. */
fe_status fe_node_stress_host(const fe_problem *p, const double *points, double *stress);
/* On the device; only in a build with CUDA. */
fe_status fe_material_cuda(fe_problem *p, void *work, fe_linearization mode, const double *displacement);
fe_status fe_summary_cuda(const fe_problem *p, const double *displacement, const uint8_t *counted,
                          double *partial, double *totals, double *out, double *points);
fe_status fe_flow_cuda(const fe_problem *p, const double *displacement, const double *before,
                       const uint8_t *counted, double *partial, double *totals);
fe_status fe_node_stress_cuda(const fe_problem *p, const double *points, double *stress);

#ifdef __cplusplus
}
#endif
#endif
