/* node_csr on the device: one corner of an element per thread, then one entry of a row. */
#include "common/problem/kernels.h"
#include "common/problem/visits.h"
#include "variants/node_csr/assembly.h"

#include <cstdlib>

enum { BLOCK_SIZE = 128, MOST = 1024 };
/* Blocks of a Tet4 kernel that a multiprocessor should hold: a thread may have 128 registers. Without
 * this bound the compiler saves registers and moves loads behind arithmetic. */
enum { RESIDENT = 4 };

FE_BODY void hold(fe_number *force, int place, const fe_real f[3])
{
    for (int c = 0; c < 3; c++) force[fe_visit_place(place) + c] = (fe_number)f[c];
}

/* A part of a block's corners. */
typedef struct share {
    const int *corner;
    const uint16_t *place;
    int n;
} share;

template <int PIPE>
static __device__ __forceinline__ void share_forces(int kind, int op, const fe_view *m, const share *s,
                                                    const fe_number *displacement, fe_number *force)
{
    int next = 0, to = 0;
    if (PIPE && (int)threadIdx.x < s->n) next = s->corner[threadIdx.x], to = s->place[threadIdx.x];
#pragma unroll 1
    for (int i = threadIdx.x; i < s->n; i += BLOCK_SIZE) {
        fe_real f[3];
        if (!PIPE) next = s->corner[i], to = s->place[i];
        const int now = next, at = to;
        if (PIPE && i + BLOCK_SIZE < s->n) next = s->corner[i + BLOCK_SIZE], to = s->place[i + BLOCK_SIZE];
        node_csr_corner(kind, op, m, now >> 3, now & 7, displacement, f);
        hold(force, at, f);
    }
}

/* The same where the nodes of the next element arrive meanwhile. */
FE_BODY void share_forces_nodes(int kind, int op, const fe_view *m, const share *s,
                                const fe_number *displacement, fe_number *force)
{
    fe_index node[8], ahead[8];
    int next = 0, to = 0;
    if ((int)threadIdx.x < s->n) next = s->corner[threadIdx.x], to = s->place[threadIdx.x];
    fe_element e = fe_element_open(m, next >> 3, next & 7);
    fe_element_nodes(kind, m, e, ahead);
#pragma unroll 1
    for (int i = threadIdx.x; i < s->n; i += BLOCK_SIZE) {
        fe_real x[8][3], f[8][3], own[3];
        const fe_element now = e;
        const int at = to;
        FE_UNROLL_FOR (int b = 0; b < 8; b++) node[b] = ahead[b];
        fe_element_read(kind, node, fe_coordinates(m), x);
        fe_element_read(kind, node, displacement, f);
        if (i + BLOCK_SIZE < s->n) next = s->corner[i + BLOCK_SIZE], to = s->place[i + BLOCK_SIZE];
        e = fe_element_open(m, next >> 3, next & 7);
        fe_element_nodes(kind, m, e, ahead);
        fe_corner_force(kind, op, m, now, x, f, own);
        hold(force, at, own);
    }
}

/* A Tet4's corner, read ahead of the arithmetic. */
typedef struct visit {
    int corner, place, node[4], flags;
} visit;

FE_BODY void visit_open(const share *s, int i, visit *v)
{
    const bool in = i < s->n;
    v->corner = in ? __ldcs(s->corner + i) : 0, v->place = in ? __ldcs(s->place + i) : 0;
}
FE_BODY void visit_look(int op, const fe_view *m, visit *v)
{
    const int e = v->corner >> 3, turn = v->corner & 7;
    FE_UNROLL_FOR (int b = 0; b < 4; b++) v->node[b] = m->conn[(size_t)(b ^ turn) * m->ld + e];
    v->flags =
        fe_is_elastic(op) ? 0 : fe_read_byte(fe_is_residual(op) ? m->committed.flags : m->trial.flags, e);
}

/* Force on corner 0 of a turned Tet4. All loads come first. */
template <int COMP>
static __device__ __forceinline__ void visit_force(int op, const fe_view *m, const node_csr *w,
                                                   const visit *at, const fe_number *displacement,
                                                   fe_real force[3])
{
    const fe_element e = {at->corner >> 3, at->corner & 7, at->flags, at->flags};
    const bool numbers = fe_is_residual(op) || (fe_is_tangent(op) && FE_STORAGE != FE_STORAGE_FULL);
    const bool from = FE_PRECISION == FE_MIXED;
    fe_real x[8][3], u[8][3], number[FE_N_NUMBER], J[3][3], G[3][3], A[3][3], g[3], stress[6];
    if (COMP) {
        FE_UNROLL_FOR (int c = 0; c < 3; c++) {
            const fe_number *px = w->x + c * w->n, *pu = w->displacement + c * w->n;
            FE_UNROLL_FOR (int b = 0; b < 4; b++) {
                x[b][c] = from ? (fe_real)(px[at->node[b]] - px[at->node[0]]) : fe_read(px, at->node[b], 0);
                u[b][c] = from ? (fe_real)(pu[at->node[b]] - pu[at->node[0]]) : fe_read(pu, at->node[b], 0);
            }
        }
    } else {
        fe_element_read(FE_TET4, at->node, fe_coordinates(m), x);
        fe_element_read(FE_TET4, at->node, displacement, u);
    }
    if (numbers) fe_point_numbers(FE_TET4, op, m, e, 0, number);
    fe_gradient_at(FE_TET4, x, NULL, 0, 0, J);
    fe_gradient_at(FE_TET4, u, NULL, 0, 0, G);
    if (numbers)
        fe_point_stress_of(FE_TET4, op, fe_weight(FE_TET4), m, e.e, number, J, G, A, stress);
    else
        fe_point_stress(FE_TET4, op, fe_weight(FE_TET4), m, e, 0, J, G, A, stress);
    fe_corner_gradient(FE_TET4, A, 0, 0, g);
    for (int c = 0; c < 3; c++) force[c] = 0.0f;
    fe_add_product(stress, g, force);
}

/* While an element is computed, nodes and flags of the next one arrive, and the corner after that. */
template <int COMP>
static __device__ __forceinline__ void tet_forces(int op, const fe_view *m, const node_csr *w, const share *s,
                                                  const fe_number *displacement, fe_number *force)
{
    visit here, next;
    visit_open(s, threadIdx.x, &here);
    visit_open(s, threadIdx.x + BLOCK_SIZE, &next);
    visit_look(op, m, &here);
#pragma unroll 2
    for (int i = threadIdx.x; i < s->n; i += BLOCK_SIZE) {
        const visit now = here;
        fe_real f[3];
        here = next;
        visit_look(op, m, &here);
        visit_open(s, i + 2 * BLOCK_SIZE, &next);
        visit_force<COMP>(op, m, w, &now, displacement, f);
        hold(force, now.place, f);
    }
}

template <int WAY>
static __device__ __forceinline__ void group_forces(int kind, int op, const fe_view *m, const node_csr *w,
                                                    int group, const fe_number *displacement, fe_number *y)
{
    __shared__ fe_number force[FE_VISIT_PLACES(MOST)];
    const fe_visits *v = &w->visits;
    const int row = v->first[group], last = v->first[group + 1];
    const int start = m->corner_first[row], n = m->corner_first[last] - start;
    for (int from = 0; from < n; from += MOST) {
        const share s = {v->corner + start + from, v->place + start + from,
                         n - from < MOST ? n - from : MOST};
        if (kind == FE_TET4 && WAY < 2)
            tet_forces<WAY>(op, m, w, &s, displacement, force);
        else if (WAY == 2)
            share_forces_nodes(kind, op, m, &s, displacement, force);
        else
            share_forces<WAY == 1>(kind, op, m, &s, displacement, force);
        __syncthreads();
        fe_sum_visits(m, row, last, from, MOST, force, y);
        if (n > MOST) __syncthreads();
    }
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

#define RESIDENT_OF(KIND) (KIND == FE_TET4 ? RESIDENT : 1)
#define FORCES_OF(WAY, KIND, name, OP, operation)                                                            \
    __global__ void __launch_bounds__(BLOCK_SIZE, RESIDENT_OF(KIND)) node_csr##WAY##_##operation##_##name(   \
        fe_view m, node_csr w, int first, const fe_number *displacement, fe_number *y)                       \
    {                                                                                                        \
        group_forces<WAY>(KIND, OP, &m, &w, first + blockIdx.x, displacement, y);                            \
    }
#define FORCES(KIND, name, OP, operation)                                                                    \
    FORCES_OF(0, KIND, name, OP, operation)                                                                  \
    FORCES_OF(1, KIND, name, OP, operation) FORCES_OF(2, KIND, name, OP, operation)
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

/* w.displacement = displacement by component at the owned nodes. */
static __global__ void __launch_bounds__(BLOCK_SIZE)
    node_csr_split(node_csr w, int n_owned, const fe_number *displacement)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 3 * n_owned) w.displacement[i % 3 * w.n + i / 3] = displacement[i];
}

/* Rows of the interior see owned nodes only. The border part does not read by component, so it may run at the
 * same time. */
static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const node_csr *w = (const node_csr *)work;
    const fe_view *m = &p->view;
    int first, last;
    fe_part_groups(&w->visits, part, &first, &last);
    const size_t n = (size_t)BLOCK_SIZE * (last - first);
    int way = getenv("NODE_CSR_WAY") ? atoi(getenv("NODE_CSR_WAY")) : 1;
    if (p->kind == FE_TET4 && part == FE_BORDER && way == 1) way = 0;
    if (p->kind == FE_TET4 && way == 1)
        FE_LAUNCH(p->device, 3 * (size_t)m->n_owned, BLOCK_SIZE, node_csr_split, *w, m->n_owned,
                  displacement);
    if (way == 0)
        FE_LAUNCH_OPERATION(p, op, n, BLOCK_SIZE, node_csr0, *m, *w, first, displacement, y);
    else if (way == 1)
        FE_LAUNCH_OPERATION(p, op, n, BLOCK_SIZE, node_csr1, *m, *w, first, displacement, y);
    else
        FE_LAUNCH_OPERATION(p, op, n, BLOCK_SIZE, node_csr2, *m, *w, first, displacement, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    (void)work;
    FE_LAUNCH_KIND(p, p->view.n_owned, BLOCK_SIZE, node_csr_diagonal, p->view, (fe_number *)d);
    return FE_OK;
}

static fe_status setup(fe_problem *p, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(node_csr), "node_csr", work));
    node_csr *w = (node_csr *)*work;
    if (p->kind == FE_TET4) FE_TRY(node_csr_open_fields(p, FE_PRECISION, w));
    return fe_visits_open(p, MOST, &w->visits);
}

/* The same lists, and the problem's coordinates in floats by component. */
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(node_csr), "node_csr", work));
    node_csr *w = (node_csr *)*work;
    *w = *(const node_csr *)in_double;
    if (p->kind != FE_TET4) return FE_OK;
    if (!w->n) return node_csr_open_fields(p, FE_PRECISION, w);
    FE_TRY(
        fe_device_allocate(p->device, 3 * w->n, sizeof(fe_number), "node_csr: coordinates", (void **)&w->x));
    FE_TRY(fe_device_allocate(p->device, 3 * w->n, sizeof(fe_number), "node_csr: input by component",
                              (void **)&w->displacement));
    node_csr split = *w;
    split.displacement = (fe_number *)w->x;
    FE_LAUNCH(p->device, 3 * (size_t)p->view.n_owned, BLOCK_SIZE, node_csr_split, split, p->view.n_owned,
              (const fe_number *)(const void *)p->floats.x);
    return FE_OK;
}

FE_TABLE(node_csr_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from), .residual = residual,
         .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal,
         .traits = FE_STORES | FE_INDEPENDENT)
