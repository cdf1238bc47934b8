/* node_csr on the device: one owned node per thread. */
#include "common/problem/kernels.h"
#include "common/problem/visits.h"
#include "variants/node_csr/assembly.h"

#include <cstring>

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

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) node_csr_##operation##_##name(                             \
        fe_view m, int first, int last, const fe_number *displacement, fe_number *y)                         \
    {                                                                                                        \
        const int row = first + blockIdx.x * blockDim.x + threadIdx.x;                                       \
        if (row < last) row_forces(KIND, OP, &m, row, displacement, y);                                      \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) node_csr_diagonal_##name(fe_view m, fe_number *d)          \
    {                                                                                                        \
        const int row = blockIdx.x * blockDim.x + threadIdx.x;                                               \
        if (row < m.n_owned) row_diagonal(KIND, &m, row, d);                                                 \
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

/* sum += force on corner 0 of one turned Tet4. own: coordinates and displacement of the node, which in mixed
 * precision are subtracted before rounding. All loads come first. */
FE_BODY void list_corner(int op, const fe_view *m, const node_csr_lists *w, const visit *at,
                         const fe_number own[2][3], fe_number sum[3])
{
    const fe_element e = {at->entry.w >> 3, at->entry.w & 7, at->flags, at->flags};
    const int node[3] = {at->entry.x, at->entry.y, at->entry.z};
    const bool numbers = fe_is_residual(op) || (fe_is_tangent(op) && FE_STORAGE != FE_STORAGE_FULL);
    const bool from = FE_PRECISION == FE_MIXED;
    fe_real x[8][3], u[8][3], number[FE_N_NUMBER], J[3][3], G[3][3], A[3][3], g[3], stress[6], force[3];
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        x[0][c] = from ? 0.0f : (fe_real)own[0][c], u[0][c] = from ? 0.0f : (fe_real)own[1][c];
        FE_UNROLL_FOR (int b = 1; b < 4; b++) {
            const int at_b = node[b - 1];
            x[b][c] = from ? (fe_real)(w->by.x[c * w->by.n + at_b] - own[0][c])
                           : fe_read(w->by.x, at_b, c * w->by.n);
            u[b][c] = from ? (fe_real)(w->by.displacement[c * w->by.n + at_b] - own[1][c])
                           : fe_read(w->by.displacement, at_b, c * w->by.n);
        }
    }
    if (numbers) fe_point_numbers(FE_TET4, op, m, e, 0, number);
    fe_gradient_at(FE_TET4, x, NULL, 0, 0, J);
    fe_gradient_at(FE_TET4, u, NULL, 0, 0, G);
    if (numbers)
        fe_point_stress_of(FE_TET4, op, fe_weight(FE_TET4), m, e.e, number, J, G, A, stress);
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
 * in flight: elastic jacvec 1.26 times as fast as with one, jacvec 1.04 times (H100, HISTORY.md). */
template <int TEAM>
static __device__ __forceinline__ void list_forces(int op, const fe_view *m, const node_csr_lists *w,
                                                   int thread, int n_row, fe_number *y)
{
    fe_number sum[3] = {0.0f, 0.0f, 0.0f}, own[2][3];
    const int at = thread / TEAM, part = thread % TEAM;
    const bool active = at < n_row;
    const int row = w->row[active ? at : n_row - 1],
              last = active ? m->corner_first[row + 1] : m->corner_first[row];
    const int n = (last - m->corner_first[row] - part + TEAM - 1) / TEAM;
    const int4 *list =
        (const int4 *)w->entry + (active ? w->slice[thread / NODE_CSR_WARP] : 0) + thread % NODE_CSR_WARP;
    for (int c = 0; c < 3; c++)
        own[0][c] = w->by.x[c * w->by.n + row], own[1][c] = w->by.displacement[c * w->by.n + row];
    visit here = {list_entry(list, 0, n), 0};
    int4 next = list_entry(list, 1, n);
    here.flags = list_flags(op, m, here.entry);
#pragma unroll 2
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

#define LISTS(KIND, name, OP, operation)                                                                     \
    template <int TEAM>                                                                                      \
    static __global__ void __launch_bounds__(BLOCK_SIZE, RESIDENT)                                           \
        node_csr_##operation##_lists(fe_view m, node_csr_lists w, int n_row, fe_number *y)                   \
    {                                                                                                        \
        list_forces<TEAM>(OP, &m, &w, blockIdx.x * blockDim.x + threadIdx.x, n_row, y);                      \
    }
FE_EACH_OPERATION(LISTS, FE_TET4, tet4)
#undef LISTS

/* w.displacement = displacement by component at the owned nodes. */
static __global__ void __launch_bounds__(BLOCK_SIZE)
    node_csr_split(node_csr_fields w, int n_owned, const fe_number *displacement)
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
    FE_LAUNCH(p->device, 3 * (size_t)m->n_owned, BLOCK_SIZE, node_csr_split, w->by, m->n_owned, displacement);
    switch (op) {
#define LAUNCH(KIND, name, OP, operation)                                                                    \
    case OP:                                                                                                 \
        if (w->team == 1)                                                                                    \
            FE_LAUNCH(p->device, last, BLOCK_SIZE, node_csr_##operation##_lists<1>, *m, *w, last, y);        \
        else if (w->team == 2)                                                                               \
            FE_LAUNCH(p->device, 2 * (size_t)last, BLOCK_SIZE, node_csr_##operation##_lists<2>, *m, *w,      \
                      last, y);                                                                              \
        else if (w->team == 4)                                                                               \
            FE_LAUNCH(p->device, 4 * (size_t)last, BLOCK_SIZE, node_csr_##operation##_lists<4>, *m, *w,      \
                      last, y);                                                                              \
        else                                                                                                 \
            FE_LAUNCH(p->device, 8 * (size_t)last, BLOCK_SIZE, node_csr_##operation##_lists<8>, *m, *w,      \
                      last, y);                                                                              \
        break;
        FE_EACH_OPERATION(LAUNCH, FE_TET4, tet4)
#undef LAUNCH
    }
    return FE_OK;
}

/* --- Hex8 ------------------------------------------------------------------------------------------------
 */

/* Warps of a block; places for the forces on a warp's corners, of which every eighth stays empty, so that
 * rows of eight are read from different banks. */
enum { N_WARP = BLOCK_SIZE / NODE_CSR_WARP };
template <int UNIT> struct places {
    enum { N = 8 * UNIT + UNIT };
};

FE_BODY void corner_by_component(int op, const fe_view *m, const node_csr_fields *by, int corner,
                                 fe_real force[3])
{
    const bool from = FE_PRECISION == FE_MIXED;
    fe_index node[8];
    fe_real x[8][3], u[8][3];
    const fe_element element = fe_element_open(m, corner >> 3, corner & 7);
    fe_element_nodes(FE_HEX8, m, element, node);
    FE_UNROLL_FOR (int b = 0; b < 8; b++)
        FE_UNROLL_FOR (int c = 0; c < 3; c++) {
            const fe_number *px = by->x + c * by->n, *pu = by->displacement + c * by->n;
            x[b][c] = from ? (fe_real)(px[node[b]] - px[node[0]]) : fe_read(px, node[b], 0);
            u[b][c] = from ? (fe_real)(pu[node[b]] - pu[node[0]]) : fe_read(pu, node[b], 0);
        }
    fe_corner_force(FE_HEX8, op, m, element, x, u, force);
}

template <int UNIT, int COMP>
static __device__ __forceinline__ void visit_forces(int op, const fe_view *m, const node_csr_visits *w,
                                                    int warp, fe_number (*force)[places<UNIT>::N],
                                                    const fe_number *displacement, fe_number *y)
{
    const int lane = threadIdx.x % UNIT, row = w->first[warp] + lane, last = w->first[warp + 1];
    const int start = m->corner_first[w->first[warp]], n = m->corner_first[last] - start;
#pragma unroll 1
    for (int i = lane; i < n; i += UNIT) {
        const int corner = w->corner[start + i], own = w->own[start + i];
        fe_real f[3];
        if (COMP)
            corner_by_component(op, m, &w->by, corner, f);
        else
            node_csr_corner(FE_HEX8, op, m, corner >> 3, corner & 7, displacement, f);
        for (int c = 0; c < 3; c++) force[c][own + own / 8] = (fe_number)f[c];
    }
    if (UNIT == 32)
        __syncwarp();
    else
        __syncthreads();
    if (row >= last) return;
    fe_number sum[3] = {0.0f, 0.0f, 0.0f};
    for (int i = m->corner_first[row] - start; i < m->corner_first[row + 1] - start; i++)
        for (int c = 0; c < 3; c++) sum[c] += force[c][i + i / 8];
    for (int c = 0; c < 3; c++) y[3 * (size_t)row + c] = sum[c];
}

#define VISITS(KIND, name, OP, operation)                                                                    \
    template <int UNIT, int COMP>                                                                            \
    static __global__ void __launch_bounds__(BLOCK_SIZE) node_csr_##operation##_visits(                      \
        fe_view m, node_csr_visits w, int first, int last, const fe_number *displacement, fe_number *y)      \
    {                                                                                                        \
        __shared__ fe_number force[BLOCK_SIZE / UNIT][3][places<UNIT>::N];                                   \
        const int own = threadIdx.x / UNIT, warp = first + blockIdx.x * (BLOCK_SIZE / UNIT) + own;           \
        if (warp < last) visit_forces<UNIT, COMP>(OP, &m, &w, warp, force[own], displacement, y);            \
    }
FE_EACH_OPERATION(VISITS, FE_HEX8, hex8)
#undef VISITS

static fe_status forces_by_visits(const fe_problem *p, const node_csr_visits *w, int op, fe_part part,
                                  const fe_number *displacement, fe_number *y)
{
    const int first = part == FE_INTERIOR ? 0 : w->n_interior,
              last = part == FE_INTERIOR ? w->n_interior : w->n_warp;
    const size_t n = (size_t)(last - first) * w->unit;
    const int comp = w->comp && part == FE_INTERIOR;
    if (comp)
        FE_LAUNCH(p->device, 3 * (size_t)p->view.n_owned, BLOCK_SIZE, node_csr_split, w->by, p->view.n_owned,
                  displacement);
    if (n > 0) switch (op) {
#define LAUNCH(KIND, name, OP, operation)                                                                    \
    case OP:                                                                                                 \
        if (w->unit == 32 && !comp)                                                                          \
            (node_csr_##operation##_visits<32, 0><<<fe_grid(n, 128), 128, 0, fe_cuda_stream(p->device)>>>(   \
                p->view, *w, first, last, displacement, y));                                                 \
        else if (w->unit == 32)                                                                              \
            (node_csr_##operation##_visits<32, 1><<<fe_grid(n, 128), 128, 0, fe_cuda_stream(p->device)>>>(   \
                p->view, *w, first, last, displacement, y));                                                 \
        else if (!comp)                                                                                      \
            (node_csr_##operation##_visits<128, 0><<<fe_grid(n, 128), 128, 0, fe_cuda_stream(p->device)>>>(  \
                p->view, *w, first, last, displacement, y));                                                 \
        else                                                                                                 \
            (node_csr_##operation##_visits<128, 1><<<fe_grid(n, 128), 128, 0, fe_cuda_stream(p->device)>>>(  \
                p->view, *w, first, last, displacement, y));                                                 \
        break;
            FE_EACH_OPERATION(LAUNCH, FE_HEX8, hex8)
#undef LAUNCH
        }
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

/* Tet4 by element */
typedef struct tet_visit {
    int corner, own, node[4], flags;
} tet_visit;
FE_BODY void tet_open(const node_csr_visits *w, int at, bool in, tet_visit *v)
{
    v->corner = in ? __ldcs(w->corner + at) : 0;
    v->own = in ? __ldcs(w->own + at) : 0;
}
FE_BODY void tet_look(int op, const fe_view *m, tet_visit *v)
{
    const int e = v->corner >> 3, turn = v->corner & 7;
    FE_UNROLL_FOR (int b = 0; b < 4; b++) v->node[b] = m->conn[(size_t)(b ^ turn) * m->ld + e];
    v->flags =
        fe_is_elastic(op) ? 0 : fe_read_byte(fe_is_residual(op) ? m->committed.flags : m->trial.flags, e);
}
FE_BODY void tet_force(int op, const fe_view *m, const node_csr_fields *by, const tet_visit *at,
                       fe_real force[3])
{
    const fe_element e = {at->corner >> 3, at->corner & 7, at->flags, at->flags};
    const bool numbers = fe_is_residual(op) || (fe_is_tangent(op) && FE_STORAGE != FE_STORAGE_FULL);
    const bool from = FE_PRECISION == FE_MIXED;
    fe_real x[8][3], u[8][3], number[FE_N_NUMBER], J[3][3], G[3][3], A[3][3], g[3], stress[6];
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        const fe_number *px = by->x + c * by->n, *pu = by->displacement + c * by->n;
        FE_UNROLL_FOR (int b = 0; b < 4; b++) {
            x[b][c] = from ? (fe_real)(px[at->node[b]] - px[at->node[0]]) : fe_read(px, at->node[b], 0);
            u[b][c] = from ? (fe_real)(pu[at->node[b]] - pu[at->node[0]]) : fe_read(pu, at->node[b], 0);
        }
    }
    if (numbers) fe_point_numbers(FE_TET4, op, m, e, 0, number);
    fe_gradient_at(FE_TET4, x, NULL, 0, 0, J);
    fe_gradient_at(FE_TET4, u, NULL, 0, 0, G);
    if (numbers)
        fe_point_stress_of(FE_TET4, op, fe_weight(FE_TET4) * fe_turn_sign(FE_TET4, e.turn), m, e.e, number, J,
                           G, A, stress);
    else
        fe_point_stress(FE_TET4, op, fe_weight(FE_TET4), m, e, 0, J, G, A, stress);
    fe_corner_gradient(FE_TET4, A, 0, 0, g);
    for (int c = 0; c < 3; c++) force[c] = 0.0f;
    fe_add_product(stress, g, force);
}
template <int CAP> struct tet_places {
    enum { N = CAP + CAP / 8 };
};
template <int CAP>
static __device__ __forceinline__ void tet_forces(int op, const fe_view *m, const node_csr_visits *w,
                                                  int warp, fe_number (*force)[tet_places<CAP>::N],
                                                  fe_number *y)
{
    const int lane = threadIdx.x % 32, row = w->first[warp], last = w->first[warp + 1];
    const int start = m->corner_first[row], n = m->corner_first[last] - start;
    tet_visit here, next;
    tet_open(w, start + lane, lane < n, &here);
    tet_open(w, start + lane + 32, lane + 32 < n, &next);
    tet_look(op, m, &here);
#pragma unroll 2
    for (int i = lane; i < n; i += 32) {
        const tet_visit now = here;
        here = next;
        tet_look(op, m, &here);
        tet_open(w, start + i + 64, i + 64 < n, &next);
        fe_real f[3];
        tet_force(op, m, &w->by, &now, f);
        for (int c = 0; c < 3; c++) force[c][now.own + now.own / 8] = (fe_number)f[c];
    }
    __syncwarp();
    for (int i = lane; i < 3 * (last - row); i += 32) {
        const int r = row + i / 3, c = i % 3;
        fe_number sum = 0.0f;
        for (int k = m->corner_first[r] - start; k < m->corner_first[r + 1] - start; k++)
            sum += force[c][k + k / 8];
        y[3 * (size_t)row + i] = sum;
    }
}
#define VISITS(KIND, name, OP, operation)                                                                    \
    template <int CAP>                                                                                       \
    static __global__ void __launch_bounds__(BLOCK_SIZE, RESIDENT)                                           \
        node_csr_##operation##_tets(fe_view m, node_csr_visits w, int first, int last, fe_number *y)         \
    {                                                                                                        \
        __shared__ fe_number force[BLOCK_SIZE / 32][3][tet_places<CAP>::N];                                  \
        const int own = threadIdx.x / 32, warp = first + blockIdx.x * (BLOCK_SIZE / 32) + own;               \
        if (warp < last) tet_forces<CAP>(OP, &m, &w, warp, force[own], y);                                   \
    }
FE_EACH_OPERATION(VISITS, FE_TET4, tet4)
#undef VISITS
static fe_status forces_by_tets(const fe_problem *p, const node_csr_visits *w, int op,
                                const fe_number *displacement, fe_number *y)
{
    const int first = 0, last = w->n_interior;
    const size_t n = (size_t)(last - first) * 32;
    FE_LAUNCH(p->device, 3 * (size_t)p->view.n_owned, BLOCK_SIZE, node_csr_split, w->by, p->view.n_owned,
              displacement);
    switch (op) {
#define LAUNCH(KIND, name, OP, operation)                                                                    \
    case OP:                                                                                                 \
        if (w->cap <= 192)                                                                                   \
            FE_LAUNCH(p->device, n, BLOCK_SIZE, node_csr_##operation##_tets<192>, p->view, *w, first, last,  \
                      y);                                                                                    \
        else                                                                                                 \
            FE_LAUNCH(p->device, n, BLOCK_SIZE, node_csr_##operation##_tets<288>, p->view, *w, first, last,  \
                      y);                                                                                    \
        break;
        FE_EACH_OPERATION(LAUNCH, FE_TET4, tet4)
#undef LAUNCH
    }
    return FE_OK;
}

/* simple: all kinds by visits */
enum { GROUP_HEX8 = 256, GROUP_TET4 = 288 };
FE_BOTH int group_of(int kind) { return fe_corners(kind) == 8 ? GROUP_HEX8 : GROUP_TET4; }
template <int MOST> struct group_places {
    enum { N = 3 * MOST + 3 * MOST / 24 };
};
template <int MOST>
static __device__ __forceinline__ void group_forces(int kind, int op, const fe_view *m, const fe_visits *v,
                                                    int group, fe_number *force,
                                                    const fe_number *displacement, fe_number *y)
{
    const int lane = threadIdx.x % 32, row = v->first[group], last = v->first[group + 1];
    const int start = m->corner_first[row], n = m->corner_first[last] - start;
    for (int at = 0; at < n; at += MOST) {
        const int part = n - at < MOST ? n - at : MOST;
#pragma unroll 1
        for (int i = lane; i < part; i += 32) {
            const int corner = v->corner[start + at + i], to = 3 * v->place[start + at + i];
            fe_real f[3];
            node_csr_corner(kind, op, m, corner >> 3, corner & 7, displacement, f);
            for (int c = 0; c < 3; c++) force[to + to / 24 + c] = (fe_number)f[c];
        }
        __syncwarp();
        for (int i = lane; i < 3 * (last - row); i += 32) {
            const int r = row + i / 3, first = m->corner_first[r] - start - at,
                      end = m->corner_first[r + 1] - start - at;
            fe_number sum = at > 0 ? y[3 * (size_t)row + i] : 0.0f;
            for (int k = first > 0 ? first : 0; k < end && k < MOST; k++) sum += force[3 * k + k / 8 + i % 3];
            y[3 * (size_t)row + i] = sum;
        }
        __syncwarp();
    }
}
#define FORCES(KIND, name, OP, operation)                                                                    \
    static __global__ void __launch_bounds__(BLOCK_SIZE) node_csrv_##operation##_##name(                     \
        fe_view m, fe_visits v, int first, int last, const fe_number *displacement, fe_number *y)            \
    {                                                                                                        \
        enum { MOST = KIND == FE_HEX8 || KIND == FE_HEX8_NAIVE ? GROUP_HEX8 : GROUP_TET4 };                  \
        __shared__ fe_number force[BLOCK_SIZE / 32][group_places<MOST>::N];                                  \
        const int own = threadIdx.x / 32, group = first + blockIdx.x * (BLOCK_SIZE / 32) + own;              \
        if (group < last) group_forces<MOST>(KIND, OP, &m, &v, group, force[own], displacement, y);          \
    }
#define KERNEL(KIND, name) FE_EACH_OPERATION(FORCES, KIND, name)
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

/* The border part of Tet4 uses no lists, so it may run at the same time. */
static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    if (getenv("NODE_CSR_SIMPLE")) {
        const fe_visits *v = (const fe_visits *)work;
        int first, last;
        fe_part_groups(v, part, &first, &last);
        FE_LAUNCH_OPERATION(p, op, (size_t)32 * (last - first), BLOCK_SIZE, node_csrv, p->view, *v, first,
                            last, displacement, y);
        return FE_OK;
    }
    if (work && p->kind == FE_HEX8)
        return forces_by_visits(p, (const node_csr_visits *)work, op, part, displacement, y);
    if (work && part == FE_INTERIOR && getenv("NODE_CSR_CAP"))
        return forces_by_tets(p, (const node_csr_visits *)work, op, displacement, y);
    if (work && part == FE_INTERIOR)
        return forces_by_lists(p, (const node_csr_lists *)work, op, displacement, y);
    int first, last;
    fe_part_nodes(&p->view, part, &first, &last);
    FE_LAUNCH_OPERATION(p, op, last - first, BLOCK_SIZE, node_csr, p->view, first, last, displacement, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    (void)work;
    FE_LAUNCH_KIND(p, p->view.n_owned, BLOCK_SIZE, node_csr_diagonal, p->view, (fe_number *)d);
    return FE_OK;
}

/* The same lists, and the problem's coordinates in floats by component. */
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    const size_t size = p->kind == FE_TET4 ? sizeof(node_csr_lists) : sizeof(node_csr_visits);
    if (!in_double) return FE_OK;
    FE_TRY(fe_device_keep(p->device, size, "node_csr", work));
    memcpy(*work, in_double, size);
    node_csr_fields *by = (node_csr_fields *)*work; /* the first of either */
    FE_TRY(fe_device_allocate(p->device, 3 * by->n, sizeof(fe_number), "node_csr: coordinates",
                              (void **)&by->x));
    FE_TRY(fe_device_allocate(p->device, 3 * by->n, sizeof(fe_number), "node_csr: input by component",
                              (void **)&by->displacement));
    node_csr_fields x = *by;
    x.displacement = (fe_number *)by->x;
    FE_LAUNCH(p->device, by->n ? 3 * (size_t)p->view.n_owned : 0, BLOCK_SIZE, node_csr_split, x,
              p->view.n_owned, (const fe_number *)(const void *)p->floats.x);
    return FE_OK;
}
static fe_status setup(fe_problem *p, void **work)
{
    if (getenv("NODE_CSR_SIMPLE")) {
        FE_TRY(fe_device_keep(p->device, sizeof(fe_visits), "node_csr", work));
        return fe_visits_open(p, group_of(p->kind), (fe_visits *)*work);
    }
    return node_csr_open(p, FE_PRECISION, work);
}
FE_TABLE(node_csr_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from), .residual = residual,
         .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal,
         .traits = FE_STORES | FE_INDEPENDENT)
