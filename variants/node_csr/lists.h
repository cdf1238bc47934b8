/* Lists of the Tet4 at each node, for gathers on the device: node_csr and dof_csr. They hold what a gather
 * would otherwise look up corner by corner. */
#ifndef NODE_CSR_LISTS_H
#define NODE_CSR_LISTS_H

#include "common/physics/element.h"
#include "common/variant.h"

/* Rows form slices of 32; entry k of row n is at slice[n / 32] + 32 k + n % 32, so that a warp reads
 * neighbouring entries. Fields are stored by component, because neighbouring rows read neighbouring nodes:
 * this touches a third of the cache lines that rows of three would. */
enum { NODE_CSR_SLICE = 32 };
typedef struct node_csr_entry {
    int node[3]; /* corners 1 2 3 of the turned element */
    int corner;  /* 8 × element + corner */
} node_csr_entry;
typedef struct node_csr_lists {
    const int *slice;
    const node_csr_entry *entry;
    const double *x;      /* [3][n] */
    double *displacement; /* [3][n] */
    size_t n;
} node_csr_lists;

#ifdef __cplusplus
extern "C" {
#endif
/* *work: node_csr_lists, or NULL where the kind does not need them. */
fe_status node_csr_setup(fe_problem *p, void **work);
/* w->displacement = displacement by component at the owned nodes, which is all that interior rows see. */
fe_status node_csr_split_input(const fe_problem *p, const node_csr_lists *w, const double *displacement);
#ifdef __cplusplus
}
#endif

#ifdef __CUDACC__
/* Blocks of 128 threads that a multiprocessor should hold: a thread may have 128 registers. Without this
 * bound the compiler saves registers and moves loads behind arithmetic. */
enum { NODE_CSR_RESIDENT = 4 };

/* An entry of a list and the flags of its element. */
typedef struct node_csr_visit {
    int4 entry; /* node_csr_entry */
    int flags;
} node_csr_visit;

/* Entry k of a list of n. Beyond the end: element 0, which is read, never added. */
FE_BODY int4 node_csr_entry_at(const int4 *list, int k, int n)
{
    return k < n ? __ldcs(list + NODE_CSR_SLICE * k) : make_int4(0, 0, 0, 0);
}
FE_BODY int node_csr_flags(int op, const fe_view *m, int4 entry)
{
    if (op == FE_JACVEC_ELASTIC) return 0;
    return fe_read_byte(op == FE_RESIDUAL ? m->committed.flags : m->trial.flags, entry.w >> 3);
}

/* w |J| sigma of a turned Tet4, and g = det J grad N_0. own: coordinates and displacement of corner 0. All
 * loads come first. */
FE_BODY void node_csr_stress(int op, const fe_view *m, const node_csr_lists *w, const node_csr_visit *at,
                             const double own[2][3], double stress[6], double g[3])
{
    const fe_element e = {at->entry.w >> 3, at->entry.w & 7, at->flags, at->flags};
    const int node[3] = {at->entry.x, at->entry.y, at->entry.z};
    const bool numbers = op == FE_RESIDUAL || (op == FE_JACVEC && FE_STORAGE != FE_STORAGE_FULL);
    double x[8][3], u[8][3], number[FE_N_NUMBER], J[3][3], G[3][3], A[3][3];
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        x[0][c] = own[0][c], u[0][c] = own[1][c];
        FE_UNROLL_FOR (int b = 1; b < 4; b++) {
            x[b][c] = fe_read(w->x, node[b - 1], c * w->n);
            u[b][c] = fe_read(w->displacement, node[b - 1], c * w->n);
        }
    }
    if (numbers) fe_point_numbers(FE_TET4, op, m, e, 0, number);
    fe_gradient_at(FE_TET4, x, NULL, 0, 0, J);
    fe_gradient_at(FE_TET4, u, NULL, 0, 0, G);
    if (numbers)
        fe_point_stress_of(op, fe_weight(FE_TET4), &m->material, number, J, G, A, stress);
    else
        fe_point_stress(FE_TET4, op, fe_weight(FE_TET4), m, e, 0, J, G, A, stress);
    fe_corner_gradient(FE_TET4, A, 0, 0, g);
}

/* Calls add(stress, g) for each element at the node of a row, in the CSR's order. While an element is
 * computed, the flags of the next one and the entry after that arrive. */
template <typename Add>
FE_BODY void node_csr_visit_row(int op, const fe_view *m, const node_csr_lists *w, int row, Add add)
{
    double own[2][3];
    const int n = m->corner_first[row + 1] - m->corner_first[row];
    const int4 *list = (const int4 *)w->entry + w->slice[row / NODE_CSR_SLICE] + row % NODE_CSR_SLICE;
    for (int c = 0; c < 3; c++) own[0][c] = w->x[c * w->n + row], own[1][c] = w->displacement[c * w->n + row];
    node_csr_visit here = {node_csr_entry_at(list, 0, n), 0};
    int4 next = node_csr_entry_at(list, 1, n);
    here.flags = node_csr_flags(op, m, here.entry);
#pragma unroll 1
    for (int k = 0; k < n; k++) {
        const node_csr_visit now = here;
        double stress[6], g[3];
        here.entry = next, here.flags = node_csr_flags(op, m, next);
        next = node_csr_entry_at(list, k + 2, n);
        node_csr_stress(op, m, w, &now, own, stress, g);
        add(stress, g);
    }
}
#endif

#endif
