/* Material update and step summary on the device: one element per thread. A warp updates a Hex27, a point per
 * lane. */
#include "common/physics/lanes.h"
#include "common/problem/kernels.h"
#include "common/problem/summary.h"

enum { BLOCK_SIZE = 128, WIDTH = FE_N_SUM + FE_N_MAX };

FE_BODY void material_body(int kind, int op, fe_linearization mode, const fe_view *m, int e,
                           const double *displacement)
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3];
    const fe_element element = fe_element_open(m, e, fe_no_turn());
    fe_element_nodes(kind, m, element, node);
    fe_element_read(kind, node, m->x, x);
    fe_element_read(kind, node, displacement, f);
    const fe_constants material = fe_material_at(fe_is_several(op), m, e);
    m->trial.flags[e] = (uint8_t)fe_element_material(kind, fe_hardening_in(kind, op, m, &material), mode, m,
                                                     &material, element, true, x, f);
}

FE_BODY void material_hex27(int op, fe_linearization mode, const fe_view *m, int e,
                            const double *displacement)
{
    const int q = fe_hex27_lane(), node = m->conn[(size_t)q * m->ld + e];
    const fe_triple t[3] = {fe_triple_open(q, 1), fe_triple_open(q, 3), fe_triple_open(q, 9)};
    const fe_element element = fe_element_open(m, e, fe_no_turn());
    const fe_constants material = fe_material_at(fe_is_several(op), m, e);
    const int hardening = fe_hardening_in(FE_HEX27, op, m, &material);
    fe_real x[3], u[3], J[3][3], G[3][3], strain[6], stress[6], state[FE_N_STATE], next[FE_N_STATE],
        tangent[FE_N_TANGENT];
    fe_return mapped;
    fe_read3(m->x, node, x);
    fe_read3(displacement, node, u);
    fe_hex27_warp_gradient(t, x, J);
    fe_hex27_warp_gradient(t, u, G);
    fe_point_strain(FE_HEX27, q, J, G, strain);
    fe_point_state(FE_HEX27, &m->committed, element.committed, element, q, state);
    fe_return_map(hardening, &material, strain, state, stress, &mapped);
    fe_update_state(&mapped, state, next);
    fe_consistent_tangent(hardening, &material, &mapped, next[5], tangent);
    const bool softened = __any_sync(0xffffffffu, mapped.plastic),
               yielded = softened || fe_has_bit(element.committed, FE_YIELDED),
               consistent = mode == FE_LINEARIZATION_CONSISTENT, writes = fe_lane() < FE_HEX27_LANES;
    fe_state_write(FE_HEX27, m->trial.point, element, q, writes && yielded, next);
    fe_tangent_write(FE_HEX27, fe_tangents(m), element, q, writes && softened && consistent, tangent);
    if (fe_lane() == 0) m->trial.flags[e] = (uint8_t)fe_flags_of(yielded, softened && consistent);
}

/* Threads of an element. */
FE_BOTH int material_lanes(int kind) { return kind == FE_HEX27 ? FE_WARP : 1; }

#define MATERIAL(KIND, name, OP, material)                                                                   \
    __global__ void __launch_bounds__(BLOCK_SIZE)                                                            \
        material##_##name(fe_view m, int elastic, const double *displacement)                                \
    {                                                                                                        \
        const int e = KIND == FE_HEX27 ? fe_warp_first(1) : blockIdx.x * blockDim.x + threadIdx.x;           \
        const fe_linearization mode = elastic ? FE_LINEARIZATION_ELASTIC : FE_LINEARIZATION_CONSISTENT;      \
        if (e >= m.n_elem) return;                                                                           \
        if (KIND == FE_HEX27)                                                                                \
            material_hex27(OP, mode, &m, e, displacement);                                                   \
        else                                                                                                 \
            material_body(KIND, OP, mode, &m, e, displacement);                                              \
    }
#define KERNEL(KIND, name)                                                                                   \
    MATERIAL(KIND, name, FE_RESIDUAL, material)                                                              \
    FE_SEVERAL_##name(MATERIAL, KIND, name, FE_RESIDUAL_SEVERAL, material_several)                           \
        FE_VOCE_##name(MATERIAL, KIND, name, FE_RESIDUAL_VOCE, material_voce)
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef MATERIAL

__global__ void __launch_bounds__(BLOCK_SIZE)
    round_tangent(size_t n, const fe_stored_number *tangent, float *rounded)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) rounded[i] = (float)tangent[i];
}

#define EXPAND(KIND, name, ...)                                                                              \
    __global__ void __launch_bounds__(BLOCK_SIZE) expand_##name(fe_view m)                                   \
    {                                                                                                        \
        const int e = blockIdx.x * blockDim.x + threadIdx.x;                                                 \
        if (e < m.n_elem) fe_element_expand(KIND, &m, fe_element_open(&m, e, fe_no_turn()), true);           \
    }
#define KERNEL(KIND, name) FE_FULL_##name(EXPAND, KIND, name)
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef EXPAND

extern "C" fe_status fe_material_cuda(fe_problem *p, void *work, fe_linearization mode,
                                      const double *displacement)
{
    (void)work;
    p->view.elastic = mode == FE_LINEARIZATION_ELASTIC;
    const int elastic = mode == FE_LINEARIZATION_ELASTIC;
    const int op = fe_residual_of(&p->view);
    const size_t lanes = (size_t)p->view.n_elem * material_lanes(p->kind);
    if (op == FE_RESIDUAL_SEVERAL)
        FE_LAUNCH_SEVERAL(p, lanes, BLOCK_SIZE, material_several, p->view, elastic, displacement);
    else if (op == FE_RESIDUAL_VOCE)
        FE_LAUNCH_VOCE(p, lanes, BLOCK_SIZE, material_voce, p->view, elastic, displacement);
    else
        FE_LAUNCH_KIND(p, lanes, BLOCK_SIZE, material, p->view, elastic, displacement);
    if (p->view.full && !elastic) FE_LAUNCH_FULL(p, p->view.n_elem, BLOCK_SIZE, expand, p->view);
    const size_t n = (size_t)FE_N_TANGENT * fe_points(p->kind) * p->view.ld;
    if (p->floats.tangent && !elastic)
        FE_LAUNCH(p->device, n, BLOCK_SIZE, round_tangent, n, p->view.tangent, p->floats.tangent);
    return FE_OK;
}

/* Block reduction of n_sum sums and the extremes after them, `width` in all, by a tree in shared memory: the
 * order is fixed. */
template <int n_sum, int width> FE_BODY void reduce(const double value[width], double *out)
{
    __shared__ double shared[width][BLOCK_SIZE];
    for (int i = 0; i < width; i++) shared[i][threadIdx.x] = value[i];
    for (int half = BLOCK_SIZE / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            for (int i = 0; i < width; i++) {
                const double a = shared[i][threadIdx.x], b = shared[i][threadIdx.x + half];
                shared[i][threadIdx.x] = i < n_sum ? a + b : fmax(a, b);
            }
    }
    __syncthreads();
    if (threadIdx.x < width) out[threadIdx.x] = shared[threadIdx.x][0];
}

FE_BODY void summary_body(int kind, const fe_view *m, int e, const double *displacement,
                          const uint8_t *counted, double *partial, double *out, double *points)
{
    double total[WIDTH] = {0};
    if (e < m->n_elem) {
        fe_index node[FE_MOST_CORNERS];
        fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3], sum[FE_N_SUM], largest[FE_N_MAX],
            fields[FE_N_OUT];
        const fe_element element = fe_element_open(m, e, fe_no_turn());
        fe_element_nodes(kind, m, element, node);
        fe_element_read(kind, node, m->x, x);
        fe_element_read(kind, node, displacement, f);
        fe_element_summary(kind, m, element, x, f, sum, largest, fields, points);
        if (out)
            for (int c = 0; c < FE_N_OUT; c++) out[(size_t)c * m->ld + e] = fields[c];
        if (counted[e]) {
            for (int i = 0; i < FE_N_SUM; i++) total[i] = sum[i];
            for (int i = 0; i < FE_N_MAX; i++) total[FE_N_SUM + i] = largest[i];
        }
    }
    reduce<FE_N_SUM, WIDTH>(total, partial + (size_t)blockIdx.x * WIDTH);
}

FE_BODY void flow_body(int kind, const fe_view *m, int e, const double *displacement, const double *before,
                       const uint8_t *counted, double *partial)
{
    double total[FE_N_FLOW] = {0};
    if (e < m->n_elem && counted[e]) {
        fe_index node[FE_MOST_CORNERS];
        fe_real x[FE_MOST_CORNERS][3], u[FE_MOST_CORNERS][3], b[FE_MOST_CORNERS][3];
        const fe_element element = fe_element_open(m, e, fe_no_turn());
        fe_element_nodes(kind, m, element, node);
        fe_element_read(kind, node, m->x, x);
        fe_element_read(kind, node, displacement, u);
        fe_element_read(kind, node, before, b);
        fe_element_flow(kind, m, element, x, u, b, total);
    }
    reduce<FE_N_FLOW, FE_N_FLOW>(total, partial + (size_t)blockIdx.x * FE_N_FLOW);
}

#define KERNEL(KIND, name)                                                                                   \
    __global__ void __launch_bounds__(BLOCK_SIZE)                                                            \
        summary_##name(fe_view m, const double *displacement, const uint8_t *counted, double *partial,       \
                       double *out, double *points)                                                          \
    {                                                                                                        \
        summary_body(KIND, &m, blockIdx.x *blockDim.x + threadIdx.x, displacement, counted, partial, out,    \
                     points);                                                                                \
    }                                                                                                        \
    __global__ void __launch_bounds__(BLOCK_SIZE)                                                            \
        flow_##name(fe_view m, const double *displacement, const double *before, const uint8_t *counted,     \
                    double *partial)                                                                         \
    {                                                                                                        \
        flow_body(KIND, &m, blockIdx.x *blockDim.x + threadIdx.x, displacement, before, counted, partial);   \
    }                                                                                                        \
    __global__ void __launch_bounds__(BLOCK_SIZE)                                                            \
        node_stress_##name(fe_view m, const double *points, double *stress)                                  \
    {                                                                                                        \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                                 \
        if (i < m.n_owned) fe_node_stress_of(KIND, &m, i, points, stress + 6 * (size_t)i);                   \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL

template <int n_sum, int width>
__global__ void __launch_bounds__(BLOCK_SIZE) total_of_blocks(int n, const double *partial, double *totals)
{
    double total[width] = {0};
    for (int b = threadIdx.x; b < n; b += BLOCK_SIZE)
        for (int i = 0; i < width; i++) {
            const double value = partial[(size_t)b * width + i];
            total[i] = i < n_sum ? total[i] + value : fmax(total[i], value);
        }
    reduce<n_sum, width>(total, totals);
}

extern "C" fe_status fe_summary_cuda(const fe_problem *p, const double *displacement, const uint8_t *counted,
                                     double *partial, double *totals, double *out, double *points)
{
    const int n = p->view.n_elem;
    FE_LAUNCH_KIND(p, n, BLOCK_SIZE, summary, p->view, displacement, counted, partial, out, points);
    FE_LAUNCH(p->device, BLOCK_SIZE, BLOCK_SIZE, (total_of_blocks<FE_N_SUM, WIDTH>),
              (int)fe_grid(n, BLOCK_SIZE), partial, totals);
    return FE_OK;
}

extern "C" fe_status fe_flow_cuda(const fe_problem *p, const double *displacement, const double *before,
                                  const uint8_t *counted, double *partial, double *totals)
{
    const int n = p->view.n_elem;
    FE_LAUNCH_KIND(p, n, BLOCK_SIZE, flow, p->view, displacement, before, counted, partial);
    FE_LAUNCH(p->device, BLOCK_SIZE, BLOCK_SIZE, (total_of_blocks<FE_N_FLOW, FE_N_FLOW>),
              (int)fe_grid(n, BLOCK_SIZE), partial, totals);
    return FE_OK;
}

extern "C" fe_status fe_node_stress_cuda(const fe_problem *p, const double *points, double *stress)
{
    FE_LAUNCH_KIND(p, p->view.n_owned, BLOCK_SIZE, node_stress, p->view, points, stress);
    return FE_OK;
}
