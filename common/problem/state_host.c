/* Material update and step summary on the host: one element per SIMD lane. */
#include "common/problem/loops.h"
#include "common/problem/summary.h"

FE_BODY void material_body(int kind, int several, fe_linearization mode, const fe_view *m, int e, int n,
                           const double *displacement)
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3];
    const fe_element element = fe_element_open(m, fe_lanes_from(e), fe_no_turn());
    fe_element_nodes(kind, m, element, node);
    fe_element_read(kind, node, m->x, x);
    fe_element_read(kind, node, displacement, f);
    const fe_constants material = fe_material_at(several, m, element.e);
    const fe_index flags = fe_element_material(kind, fe_hardening_at(several, kind, m, &material), mode, m,
                                               &material, element, fe_first_lanes(n - e), x, f);
    for (int l = 0; l < FE_LANES && e + l < n; l++) m->trial.flags[e + l] = (uint8_t)flags.lane[l];
}

static void round_tangent(const fe_problem *p)
{
    const fe_view *m = &p->view;
    const int n = FE_N_TANGENT * fe_points(p->kind), threads = p->device->threads;
    FE_PARALLEL_FOR (e, 0, m->ld, FE_GROUP, threads)
        for (size_t i = (size_t)e * n; i < (size_t)(e + FE_GROUP) * n; i++)
            p->floats.tangent[i] = (float)m->tangent[i];
}

FE_BODY void expand_body(int kind, const fe_view *m, int e, int n)
{
    fe_element_expand(kind, m, fe_element_open(m, fe_lanes_from(e), fe_no_turn()), fe_first_lanes(n - e));
}

fe_status fe_material_host(fe_problem *p, void *work, fe_linearization mode, const double *displacement)
{
    (void)work;
    p->view.elastic = mode == FE_LINEARIZATION_ELASTIC;
    const fe_view *m = &p->view;
    const int n = m->n_elem, threads = p->device->threads;
#define MATERIAL(KIND)                                                                                       \
    FE_PARALLEL_FOR (e, 0, n, FE_LANES, threads)                                                             \
    material_body(KIND, m->materials != NULL, mode, m, e, n, displacement)
    FE_FOR_KIND(p->kind, MATERIAL);
#undef MATERIAL
    if (p->floats.tangent && mode == FE_LINEARIZATION_CONSISTENT) round_tangent(p);
#define EXPAND(KIND)                                                                                         \
    FE_PARALLEL_FOR (e, 0, n, FE_LANES, threads) expand_body(KIND, m, e, n)
    if (m->full && mode == FE_LINEARIZATION_CONSISTENT) FE_FOR_KIND(p->kind, EXPAND);
#undef EXPAND
    return FE_OK;
}

enum { BLOCK = 512 }; /* elements of one partial sum */

size_t fe_summary_scratch(int n_elem) { return ((size_t)n_elem / 128 + 1) * (FE_N_SUM + FE_N_MAX); }

/* Elements [e, e + BLOCK) of n into partial. */
FE_BODY void summary_body(int kind, const fe_view *m, int first, int n, const double *displacement,
                          const uint8_t *counted, double *partial, double *out, double *points)
{
    double totals[FE_N_SUM + FE_N_MAX] = {0};
    for (int e = first; e < n && e < first + BLOCK; e += FE_LANES) {
        fe_index node[FE_MOST_CORNERS];
        fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3], sum[FE_N_SUM], largest[FE_N_MAX],
            fields[FE_N_OUT];
        const fe_element element = fe_element_open(m, fe_lanes_from(e), fe_no_turn());
        fe_element_nodes(kind, m, element, node);
        fe_element_read(kind, node, m->x, x);
        fe_element_read(kind, node, displacement, f);
        fe_element_summary(kind, m, element, x, f, sum, largest, fields, points);
        for (int l = 0; l < FE_LANES && e + l < n; l++) {
            if (out)
                for (int c = 0; c < FE_N_OUT; c++) out[(size_t)c * m->ld + e + l] = fields[c][l];
            if (!counted[e + l]) continue;
            for (int i = 0; i < FE_N_SUM; i++) totals[i] += sum[i][l];
            for (int i = 0; i < FE_N_MAX; i++)
                if (largest[i][l] > totals[FE_N_SUM + i]) totals[FE_N_SUM + i] = largest[i][l];
        }
    }
    for (int i = 0; i < FE_N_SUM + FE_N_MAX; i++) partial[i] = totals[i];
}

FE_BODY void flow_body(int kind, const fe_view *m, int first, int n, const double *displacement,
                       const double *before, const uint8_t *counted, double *partial)
{
    for (int i = 0; i < FE_N_FLOW; i++) partial[i] = 0.0;
    for (int e = first; e < n && e < first + BLOCK; e += FE_LANES) {
        fe_index node[FE_MOST_CORNERS];
        fe_real x[FE_MOST_CORNERS][3], u[FE_MOST_CORNERS][3], b[FE_MOST_CORNERS][3], sum[FE_N_FLOW];
        const fe_element element = fe_element_open(m, fe_lanes_from(e), fe_no_turn());
        fe_element_nodes(kind, m, element, node);
        fe_element_read(kind, node, m->x, x);
        fe_element_read(kind, node, displacement, u);
        fe_element_read(kind, node, before, b);
        fe_element_flow(kind, m, element, x, u, b, sum);
        for (int l = 0; l < FE_LANES && e + l < n; l++)
            for (int i = 0; counted[e + l] && i < FE_N_FLOW; i++) partial[i] += sum[i][l];
    }
}

/* Sums, and after them extremes, of the blocks. */
static void total_of_blocks(int n_elem, int n_sum, int width, const double *partial, double *totals)
{
    for (int i = 0; i < width; i++) totals[i] = 0.0;
    for (int b = 0; b < (n_elem + BLOCK - 1) / BLOCK; b++)
        for (int i = 0; i < width; i++) {
            const double value = partial[(size_t)b * width + i];
            if (i < n_sum)
                totals[i] += value;
            else if (value > totals[i])
                totals[i] = value;
        }
}

fe_status fe_summary_host(const fe_problem *p, const double *displacement, const uint8_t *counted,
                          double *partial, double *totals, double *out, double *points)
{
    const fe_view *m = &p->view;
    const int n = m->n_elem, threads = p->device->threads, width = FE_N_SUM + FE_N_MAX;
#define SUMMARY(KIND)                                                                                        \
    FE_PARALLEL_FOR (e, 0, n, BLOCK, threads)                                                                \
    summary_body(KIND, m, e, n, displacement, counted, partial + (size_t)(e / BLOCK) * width, out, points)
    FE_FOR_KIND(p->kind, SUMMARY);
#undef SUMMARY
    total_of_blocks(n, FE_N_SUM, width, partial, totals);
    return FE_OK;
}

fe_status fe_flow_host(const fe_problem *p, const double *displacement, const double *before,
                       const uint8_t *counted, double *partial, double *totals)
{
    const fe_view *m = &p->view;
    const int n = m->n_elem, threads = p->device->threads;
#define FLOW(KIND)                                                                                           \
    FE_PARALLEL_FOR (e, 0, n, BLOCK, threads)                                                                \
    flow_body(KIND, m, e, n, displacement, before, counted, partial + (size_t)(e / BLOCK) * FE_N_FLOW)
    FE_FOR_KIND(p->kind, FLOW);
#undef FLOW
    total_of_blocks(n, FE_N_FLOW, FE_N_FLOW, partial, totals);
    return FE_OK;
}

fe_status fe_node_stress_host(const fe_problem *p, const double *points, double *stress)
{
    const fe_view *m = &p->view;
    const int n = m->n_owned, threads = p->device->threads;
#define NODE_STRESS(KIND)                                                                                    \
    FE_PARALLEL_FOR (i, 0, n, 1, threads) fe_node_stress_of(KIND, m, i, points, stress + 6 * (size_t)i)
    FE_FOR_KIND(p->kind, NODE_STRESS);
#undef NODE_STRESS
    return FE_OK;
}
