/* node_csr on the device: one owned node per thread; on Tet4 a team of threads, on irregular meshes of Hex8
 * one corner of an element per thread. Of quadratic elements neighbouring threads take a corner together,
 * four of a Tet10 and a warp of a Hex27. */
#include "common/physics/spread.h"
#include "common/problem/kernels.h"
#include "common/problem/visits.h"
#include "variants/node_csr/assembly.h"

enum { BLOCK_SIZE = 128 };
/* Blocks of a kernel with lists that a multiprocessor should hold: a thread may have 128 registers. Without
 * this bound the compiler saves registers and moves loads behind arithmetic. */
enum { RESIDENT = 4 };

FE_BODY void add_corner(int kind, int op, const fe_view *m, int corner, const fe_number *displacement,
                        fe_number sum[3])
{
    fe_real force[3];
    node_csr_corner(kind, op, m, corner >> 3, corner & 7, displacement, force);
    for (int c = 0; c < 3; c++) sum[c] += force[c];
}

FE_BODY void row_forces(int kind, int op, const fe_view *m, int row, const fe_number *displacement,
                        fe_number *y)
{
    fe_number sum[3] = {0.0f, 0.0f, 0.0f};
    const int first = m->corner_first[row], end = m->corner_first[row + 1];
#pragma unroll 1
    for (int k = first; k < end; k++) add_corner(kind, op, m, m->corner[k], displacement, sum);
    for (int c = 0; c < 3; c++) y[3 * (size_t)row + c] = sum[c];
}

FE_BODY void row_diagonal(int kind, const fe_view *m, int row, fe_number *d)
{
    fe_real sum[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    for (int k = m->corner_first[row]; k < m->corner_first[row + 1]; k++) {
        const int corner = m->corner[k];
        fe_real block[6];
        node_csr_block(kind, m, corner >> 3, corner & 7, block);
        for (int i = 0; i < 6; i++) sum[i] += block[i];
    }
    fe_real rows[3][3];
    fe_block_rows(sum, rows);
    for (int i = 0; i < 9; i++) d[9 * (size_t)row + i] = rows[i / 3][i % 3];
}

/* The same of quadratic elements: rows that the lanes of a warp take together. */
FE_BODY void spread_forces(int kind, int op, const fe_view *m, int at, int last,
                           const fe_number *displacement, fe_number *y)
{
    const fe_spread s = fe_spread_open(kind);
    const fe_spread_row r = fe_spread_row_open(m, at, last);
    fe_real sum[3] = {0.0f, 0.0f, 0.0f};
#pragma unroll 1
    for (int k = 0; k < r.longest; k++) {
        const int corner = fe_spread_row_corner(m, &r, k);
        fe_real force[3] = {0.0f, 0.0f, 0.0f};
        fe_spread_add_force(kind, op, m, &s, fe_code_element(kind, corner), fe_code_corner(kind, corner),
                            displacement, force);
        for (int c = 0; c < 3; c++) sum[c] += k < r.n ? force[c] : 0.0f;
    }
    for (int c = 0; c < 3; c++) {
        const fe_real all = fe_spread_sum(kind, sum[c]);
        if (r.active && s.own == c) y[3 * (size_t)r.row + c] = all;
    }
}
FE_BODY void spread_diagonal(int kind, const fe_view *m, int at, fe_number *d)
{
    const fe_spread s = fe_spread_open(kind);
    const fe_spread_row r = fe_spread_row_open(m, at, m->n_owned);
    fe_real sum[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}, rows[3][3];
#pragma unroll 1
    for (int k = 0; k < r.longest; k++) {
        const int corner = fe_spread_row_corner(m, &r, k);
        fe_real block[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        fe_spread_add_block(kind, m, &s, fe_code_element(kind, corner), fe_code_corner(kind, corner), block);
        for (int c = 0; c < 6; c++) sum[c] += k < r.n ? block[c] : 0.0f;
    }
    for (int c = 0; c < 6; c++) sum[c] = fe_spread_sum(kind, sum[c]);
    fe_block_rows(sum, rows);
    for (int i = 0; i < 9; i++)
        if (r.active && s.own == i % fe_spread_lanes(kind)) d[9 * (size_t)r.row + i] = rows[i / 3][i % 3];
}

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) node_csr_##operation##_##name(                             \
        fe_view m, int first, int last, const fe_number *displacement, fe_number *y)                         \
    {                                                                                                        \
        const int row = first + fe_spread_item(KIND, BLOCK_SIZE);                                            \
        if (fe_is_quadratic(KIND))                                                                           \
            spread_forces(KIND, OP, &m, row, last, displacement, y);                                         \
        else if (row < last)                                                                                 \
            row_forces(KIND, OP, &m, row, displacement, y);                                                  \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) node_csr_diagonal_##name(fe_view m, fe_number *d)          \
    {                                                                                                        \
        const int row = fe_spread_item(KIND, BLOCK_SIZE);                                                    \
        if (fe_is_quadratic(KIND))                                                                           \
            spread_diagonal(KIND, &m, row, d);                                                               \
        else if (row < m.n_owned)                                                                            \
            row_diagonal(KIND, &m, row, d);                                                                  \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

/* --- Tet4 ------------------------------------------------------------------------------------------------
 */

/* An entry of a list and the flags of its element, read ahead of the arithmetic. */
typedef struct visit {
    int4 entry; /* node_csr_entry */
    int flags;
} visit;

/* Entry k of a list of n. Beyond the end: element 0, which is read, never added. */
FE_BODY int4 list_entry(const int4 *list, int k, int n)
{
    return k < n ? __ldcs(list + NODE_CSR_WARP * k) : make_int4(0, 0, 0, 0);
}
FE_BODY int list_flags(int op, const fe_view *m, int4 entry)
{
    if (fe_is_elastic(op)) return 0;
    return fe_read_byte(fe_is_residual(op) ? m->committed.flags : m->trial.flags, entry.w >> 3);
}

/* fe_point_stress of a point with a full tangent whose numbers were read before. */
FE_BODY void list_full_stress(const fe_view *m, fe_element e, const fe_real full[FE_N_FULL], fe_real J[3][3],
                              fe_real G[3][3], fe_real A[3][3], fe_real stress[6])
{
    fe_real strain[6], product[6];
    const fe_constants material = fe_constants_of(&m->material);
    const fe_real scale = fe_weight(FE_TET4) * fe_reciprocal(fe_cofactor(J, A));
    fe_symmetric_gradient(G, A, strain);
    fe_full_stress(scale, full, strain, product);
    fe_elastic_stress(&material, scale, strain, stress);
    FE_UNROLL_FOR (int i = 0; i < 6; i++)
        stress[i] = fe_select(fe_has_bit(e.trial, FE_SOFTENED), product[i], stress[i]);
}

/* sum += force on corner 0 of one turned Tet4. own: coordinates and displacement of the node, which in mixed
 * precision are subtracted before rounding. All loads come first. */
FE_BODY void list_corner(int op, const fe_view *m, const node_csr_lists *w, const visit *at,
                         const fe_number own[2][3], fe_number sum[3])
{
    const fe_element e = {at->entry.w >> 3, at->entry.w & 7, at->flags, at->flags};
    const int node[3] = {at->entry.x, at->entry.y, at->entry.z};
    const bool numbers = fe_is_residual(op) || fe_is_tangent(op);
    const bool from = FE_PRECISION == FE_MIXED;
    fe_real x[8][3], u[8][3], number[FE_N_FULL], J[3][3], G[3][3], A[3][3], g[3], stress[6], force[3];
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        x[0][c] = from ? 0.0f : (fe_real)own[0][c], u[0][c] = from ? 0.0f : (fe_real)own[1][c];
        FE_UNROLL_FOR (int b = 1; b < 4; b++) {
            const int at_b = node[b - 1];
            x[b][c] = from ? (fe_real)(w->x[c * w->n + at_b] - own[0][c]) : fe_read(w->x, at_b, c * w->n);
            u[b][c] = from ? (fe_real)(w->displacement[c * w->n + at_b] - own[1][c])
                           : fe_read(w->displacement, at_b, c * w->n);
        }
    }
    if (numbers) fe_point_numbers(FE_TET4, op, m, e, 0, number);
    if (op == FE_JACVEC_FULL) fe_full_read(FE_TET4, m->full, e, 0, number);
    fe_gradient_at(FE_TET4, x, NULL, 0, 0, J);
    fe_gradient_at(FE_TET4, u, NULL, 0, 0, G);
    if (numbers)
        fe_point_stress_of(FE_TET4, op, fe_weight(FE_TET4), m, e.e, number, J, G, A, stress);
    else if (op == FE_JACVEC_FULL)
        list_full_stress(m, e, number, J, G, A, stress);
    else
        fe_point_stress(FE_TET4, op, fe_weight(FE_TET4), m, e, 0, J, G, A, stress);
    fe_corner_gradient(FE_TET4, A, 0, 0, g);
    for (int c = 0; c < 3; c++) force[c] = from ? 0.0f : (fe_real)sum[c];
    fe_add_product(stress, g, force);
    for (int c = 0; c < 3; c++) sum[c] = from ? sum[c] + force[c] : (fe_number)force[c];
}

/* sum over the threads of a team, in a fixed order; all threads of the warp take part. */
template <int TEAM> static __device__ __forceinline__ void sum_team(fe_number sum[3])
{
    FE_UNROLL_FOR (int mask = 1; mask < TEAM; mask *= 2)
        FE_UNROLL_FOR (int c = 0; c < 3; c++) sum[c] += __shfl_xor_sync(0xffffffffu, sum[c], mask);
}

/* While an element is computed, the flags of the next one and the entry after that arrive. Two elements are
 * in flight: elastic jacvec 1.26 times as fast as with one, jacvec 1.04 times (H100, HISTORY.md); one where
 * it has 21 numbers. */
template <int TEAM, int FLIGHT>
static __device__ __forceinline__ void list_forces(int op, const fe_view *m, const node_csr_lists *w,
                                                   int thread, int n_row, fe_number *y)
{
    const node_csr_list *l = TEAM == 1 ? &w->single : &w->team;
    fe_number sum[3] = {0.0f, 0.0f, 0.0f}, own[2][3];
    const int at = thread / TEAM, part = thread % TEAM;
    const bool active = at < n_row;
    if (TEAM == 1 && !active) return;
    const int team = active ? at : n_row - 1, row = TEAM == 1 ? team : l->row[team];
    const int length = m->corner_first[row + 1] - m->corner_first[row];
    const int n = TEAM == 1 ? length : active ? (length - part + TEAM - 1) / TEAM : 0;
    const int4 *list =
        (const int4 *)l->entry + (active ? l->slice[thread / NODE_CSR_WARP] : 0) + thread % NODE_CSR_WARP;
    for (int c = 0; c < 3; c++) own[0][c] = w->x[c * w->n + row], own[1][c] = w->displacement[c * w->n + row];
    visit here = {list_entry(list, 0, n), 0};
    int4 next = list_entry(list, 1, n);
    here.flags = list_flags(op, m, here.entry);
#pragma unroll FLIGHT
    for (int k = 0; k < n; k++) {
        const visit now = here;
        here.entry = next, here.flags = list_flags(op, m, next);
        next = list_entry(list, k + 2, n);
        list_corner(op, m, w, &now, own, sum);
    }
    sum_team<TEAM>(sum);
    FE_UNROLL_FOR (int c = 0; c < 3; c++)
        if (active && c % TEAM == part) y[3 * (size_t)row + c] = sum[c];
}

#define TEAM_OF(OP) (OP == FE_JACVEC_ELASTIC || OP == FE_JACVEC_ELASTIC_SEVERAL ? 1 : NODE_CSR_TEAM)
#define LISTS(KIND, name, OP, operation)                                                                     \
    static __global__ void __launch_bounds__(BLOCK_SIZE, RESIDENT)                                           \
        node_csr_##operation##_lists(fe_view m, node_csr_lists w, int n_row, fe_number *y)                   \
    {                                                                                                        \
        list_forces<TEAM_OF(OP), OP == FE_JACVEC_FULL ? 1 : 2>(                                              \
            OP, &m, &w, blockIdx.x * blockDim.x + threadIdx.x, n_row, y);                                    \
    }
FE_EACH_OPERATION(LISTS, FE_TET4, tet4)
#undef LISTS

/* w->displacement = displacement by component at the owned nodes. */
static __global__ void __launch_bounds__(BLOCK_SIZE)
    node_csr_split(node_csr_lists w, int n_owned, const fe_number *displacement)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 3 * n_owned) w.displacement[i % 3 * w.n + i / 3] = displacement[i];
}

/* Rows of the interior, which see owned nodes only. */
static fe_status forces_by_lists(const fe_problem *p, const node_csr_lists *w, int op,
                                 const fe_number *displacement, fe_number *y)
{
    const fe_view *m = &p->view;
    const int last = m->n_node_interior;
    FE_LAUNCH(p->device, 3 * (size_t)m->n_owned, BLOCK_SIZE, node_csr_split, *w, m->n_owned, displacement);
    switch (op) {
#define LAUNCH(KIND, name, OP, operation)                                                                    \
    case OP:                                                                                                 \
        FE_LAUNCH(p->device, TEAM_OF(OP) * (size_t)last, BLOCK_SIZE, node_csr_##operation##_lists, *m, *w,   \
                  last, y);                                                                                  \
        break;
        FE_EACH_OPERATION(LAUNCH, FE_TET4, tet4)
#undef LAUNCH
    }
    return FE_OK;
}

/* --- Hex8, irregular, and Tet10 ---------------------------------------------------------------------------
 */

/* Rows of a group. The next corner arrives while one is computed. */
FE_BODY void group_forces(int op, const fe_view *m, const fe_visits *v, int group,
                          const fe_number *displacement, fe_number *force, fe_number *y)
{
    const int row = v->first[group], last = v->first[group + 1];
    const int start = m->corner_first[row], n = m->corner_first[last] - start;
    for (int from = 0; from < n; from += NODE_CSR_MOST) {
        const int part = n - from < NODE_CSR_MOST ? n - from : NODE_CSR_MOST;
        const int *corner = v->corner + start + from;
        const uint16_t *place = v->place + start + from;
        int next = 0, to = 0;
        if ((int)threadIdx.x < part) next = corner[threadIdx.x], to = place[threadIdx.x];
#pragma unroll 1
        for (int i = threadIdx.x; i < part; i += BLOCK_SIZE) {
            const int now = next, at = fe_visit_place(to);
            fe_real own[3];
            if (i + BLOCK_SIZE < part) next = corner[i + BLOCK_SIZE], to = place[i + BLOCK_SIZE];
            node_csr_corner(FE_HEX8, op, m, now >> 3, now & 7, displacement, own);
            for (int c = 0; c < 3; c++) force[at + c] = (fe_number)own[c];
        }
        __syncthreads();
        fe_sum_visits(m, row, last, from, NODE_CSR_MOST, force, y);
        if (n > NODE_CSR_MOST) __syncthreads();
    }
}

/* The same of Tet10: four threads take a corner together. All threads of a warp take part as often. */
FE_BODY void spread_group_forces(int kind, int op, const fe_view *m, const fe_visits *v, int group,
                                 const fe_number *displacement, fe_number *force, fe_number *y)
{
    const fe_spread s = fe_spread_open(kind);
    const int row = v->first[group], last = v->first[group + 1], at_once = BLOCK_SIZE / fe_spread_lanes(kind);
    const int start = m->corner_first[row], n = m->corner_first[last] - start;
    for (int from = 0; from < n; from += NODE_CSR_MOST) {
        const int part = n - from < NODE_CSR_MOST ? n - from : NODE_CSR_MOST;
#pragma unroll 1
        for (int i = threadIdx.x / fe_spread_lanes(kind), round = 0; round < part; round += at_once) {
            const int at = start + from + min(i + round, part - 1), corner = v->corner[at];
            const int place = fe_visit_place(v->place[at]);
            fe_real own[3] = {0.0f, 0.0f, 0.0f};
            fe_spread_add_force(kind, op, m, &s, fe_code_element(kind, corner), fe_code_corner(kind, corner),
                                displacement, own);
            for (int c = 0; c < 3; c++) own[c] = fe_spread_sum(kind, own[c]);
            if (i + round < part && s.own < 3)
                force[place + s.own] = (fe_number)(s.own == 0 ? own[0] : s.own == 1 ? own[1] : own[2]);
        }
        __syncthreads();
        fe_sum_visits(m, row, last, from, NODE_CSR_MOST, force, y);
        if (n > NODE_CSR_MOST) __syncthreads();
    }
}

#define BY_ELEMENT(KIND, name, OP, operation)                                                                \
    static __global__ void __launch_bounds__(BLOCK_SIZE) node_csr_##operation##_by_element_##name(           \
        fe_view m, fe_visits v, int first, const fe_number *displacement, fe_number *y)                      \
    {                                                                                                        \
        __shared__ fe_number force[FE_VISIT_PLACES(NODE_CSR_MOST)];                                          \
        if (fe_is_quadratic(KIND))                                                                           \
            spread_group_forces(KIND, OP, &m, &v, first + blockIdx.x, displacement, force, y);               \
        else                                                                                                 \
            group_forces(OP, &m, &v, first + blockIdx.x, displacement, force, y);                            \
    }
/* X(KIND, name, OP, operation) for the kinds whose threads take corners. */
#if FE_QUADRATIC
#define EACH_BY_ELEMENT(X) FE_EACH_OPERATION(X, FE_HEX8, hex8) FE_EACH_OPERATION(X, FE_TET10, tet10)
#else
#define EACH_BY_ELEMENT(X) FE_EACH_OPERATION(X, FE_HEX8, hex8)
#endif
EACH_BY_ELEMENT(BY_ELEMENT)
#undef BY_ELEMENT

static fe_status forces_by_element(const fe_problem *p, const fe_visits *v, int op, fe_part part,
                                   const fe_number *displacement, fe_number *y)
{
    int first, last;
    fe_part_groups(v, part, &first, &last);
    const size_t n = (size_t)BLOCK_SIZE * (last - first);
    switch (p->kind * FE_N_FORCES + op) {
#define LAUNCH(KIND, name, OP, operation)                                                                    \
    case KIND *FE_N_FORCES + OP:                                                                             \
        FE_LAUNCH(p->device, n, BLOCK_SIZE, node_csr_##operation##_by_element_##name, p->view, *v, first,    \
                  displacement, y);                                                                          \
        break;
        EACH_BY_ELEMENT(LAUNCH)
#undef LAUNCH
    }
    return FE_OK;
}

/* Without work, which no operation needs, each row has its threads. The border part of Tet4 uses no lists, so
 * it may run at the same time. */
static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    if (work && p->kind != FE_TET4)
        return forces_by_element(p, (const fe_visits *)work, op, part, displacement, y);
    if (work && part == FE_INTERIOR)
        return forces_by_lists(p, (const node_csr_lists *)work, op, displacement, y);
    int first, last;
    fe_part_nodes(&p->view, part, &first, &last);
    const size_t n = (size_t)(last - first) * fe_spread_lanes(p->kind);
    FE_LAUNCH_OPERATION(p, op, n, BLOCK_SIZE, node_csr, p->view, first, last, displacement, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    (void)work;
    const size_t n = (size_t)p->view.n_owned * fe_spread_lanes(p->kind);
    FE_LAUNCH_KIND(p, n, BLOCK_SIZE, node_csr_diagonal, p->view, (fe_number *)d);
    return FE_OK;
}

/* The same lists, on Tet4 with the problem's coordinates in floats by component. */
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    const node_csr_lists *from = (const node_csr_lists *)in_double;
    *work = in_double;
    if (!from || p->kind != FE_TET4) return FE_OK;
    FE_TRY(fe_device_keep(p->device, sizeof *from, "node_csr", work));
    node_csr_lists *w = (node_csr_lists *)*work;
    *w = *from;
    FE_TRY(
        fe_device_allocate(p->device, 3 * w->n, sizeof(fe_number), "node_csr: coordinates", (void **)&w->x));
    FE_TRY(fe_device_allocate(p->device, 3 * w->n, sizeof(fe_number), "node_csr: input by component",
                              (void **)&w->displacement));
    node_csr_lists split = *w;
    split.displacement = (fe_number *)w->x;
    FE_LAUNCH(p->device, 3 * (size_t)p->view.n_owned, BLOCK_SIZE, node_csr_split, split, p->view.n_owned,
              (const fe_number *)(const void *)p->floats.x);
    return FE_OK;
}
static fe_status setup(fe_problem *p, void **work) { return node_csr_open(p, FE_PRECISION, work); }
FE_TABLE(node_csr_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from), .residual = residual,
         .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal,
         .traits = FE_STORES | FE_INDEPENDENT)
