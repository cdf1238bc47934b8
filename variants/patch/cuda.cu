/* patch on the device. A block computes a few patches: while one is computed, the next one's record and
 * values and the nodes of the one after that are on their way to shared memory. */
#include "common/problem/kernels.h"
#include "variants/patch/stage.h"

enum { PATCH_DIAGONAL = FE_N_FORCES, PATCH_N_OPERATION };
#define LEAST_BLOCKS(kind, op) ((op) == PATCH_DIAGONAL ? 1 : PATCH_BLOCKS(kind, sizeof(fe_scalar)))

/* Patches of n that a block computes before it ends, where the device holds so many blocks. Measured on H100,
 * 6.4 M DoF: jacvec_elastic of Hex8 is then 1.10 times as fast as with persistent blocks (4 patches: 1.04),
 * that of Tet4 1.02 times (2: 0.99). 0.3 M DoF: Hex8 with one patch 1.09 times, Tet4 0.98. */
static int patch_rounds(int kind, int n, int blocks)
{
    return fe_corners(kind) != 8 ? 4 : n < 4 * blocks ? 1 : 2;
}

/* --- elements ---------------------------------------------------------------------------------------------
 */

/* Nodes of a slot in the patch. */
FE_BODY void patch_slot_nodes(const char *conn, int slot, fe_index node[8])
{
    const int fours = PATCH_WIDTH / 4;
    FE_UNROLL_FOR (int i = 0; i < fours; i++) {
        const uint2 four = ((const uint2 *)conn)[fours * slot + i];
        node[4 * i] = four.x & 0xffff, node[4 * i + 1] = four.x >> 16;
        node[4 * i + 2] = four.y & 0xffff, node[4 * i + 3] = four.y >> 16;
    }
}

/* Full tangents of a Tet4. Its 21 numbers have no room in shared memory, and elements of a fan are scattered
 * in memory. So threads take elements twice: by fans, strains and then forces, and in between in the order of
 * their numbers, where neighbouring threads read neighbouring numbers: strains become stresses. Both stand in
 * the fan's own places. */
FE_BODY int patch_transposes(int kind, int op) { return op == FE_JACVEC_FULL && kind == FE_TET4; }

/* w |J| strain of a slot's elements. */
FE_BODY void patch_fan_strains(int kind, const patch_plan *plan, const patch_here *p, int slot)
{
    const int row = patch_form_of(kind).row;
    fe_index node[8];
    fe_real x[8][3], u[8][3];
    patch_slot_nodes(p->rest + plan->conn, slot, node);
    FE_UNROLL_FOR (int b = 0; b < 3; b++) {
        fe_read3((const fe_scalar *)(p->rest + plan->x), node[patch_corner(kind, 0, b)], x[b]);
        patch_read_value(p, node[patch_corner(kind, 0, b)], u[b]);
    }
    FE_UNROLL_FOR (int i = 0; i < PATCH_FAN; i++) {
        fe_real J[3][3], G[3][3], A[3][3], strain[6];
        fe_read3((const fe_scalar *)(p->rest + plan->x), node[i + 1], x[3]);
        patch_read_value(p, node[i + 1], u[3]);
        fe_gradient_at(kind, x, NULL, 0, 0, J);
        fe_gradient_at(kind, u, NULL, 0, 0, G);
        const fe_real scale = fe_weight(kind) * fe_reciprocal(fe_cofactor(J, A));
        fe_symmetric_gradient(G, A, strain);
        fe_scalar *to = patch_fan_place(kind, p, slot, i);
        FE_UNROLL_FOR (int c = 0; c < 6; c++) to[c * row] = scale * strain[c];
        FE_UNROLL_FOR (int c = 0; c < 3; c++) x[2][c] = x[3][c], u[2][c] = u[3][c];
        if (i + 1 == PATCH_FAN || p->elem[PATCH_FAN * slot + i + 1] == -1) break;
    }
}

/* Stresses of the patch's elements from strains. */
FE_BODY void patch_full_stresses(int kind, const fe_view *m, const patch_here *p)
{
    const int row = patch_form_of(kind).row;
    FE_UNROLL_FOR (int i = 0; i < PATCH_FAN; i++) {
        const int entry = patch_entry(kind, p, i);
        if (entry < 0) break;
        const fe_element e = fe_element_open(m, p->elem[entry], 0);
        const fe_constants material = fe_material_at(0, m, e.e);
        fe_scalar *at = patch_fan_place(kind, p, entry / PATCH_FAN, entry % PATCH_FAN);
        fe_real strain[6], stress[6];
        FE_UNROLL_FOR (int c = 0; c < 6; c++) strain[c] = at[c * row];
        fe_point_full_stress(kind, m, &material, fe_has_bit(e.trial, FE_SOFTENED), e, 0, 1.0f, strain,
                             stress);
        FE_UNROLL_FOR (int c = 0; c < 6; c++) at[c * row] = stress[c];
    }
}

/* Forces on the corners of element i of a fan. */
FE_BODY void patch_tet4_forces(int kind, int op, const fe_view *m, const patch_here *p, int slot, int i,
                               fe_real x[8][3], fe_real u[8][3], fe_real y[8][3])
{
    if (!patch_fetches(kind, op) && !patch_transposes(kind, op)) {
        fe_element_forces(kind, op, m, fe_element_open(m, p->elem[PATCH_FAN * slot + i], 0), x, u, y);
        return;
    }
    fe_real J[3][3], G[3][3], A[3][3], P[3][3], stress[6];
    FE_UNROLL_FOR (int b = 0; b < 4; b++)
        FE_UNROLL_FOR (int c = 0; c < 3; c++) y[b][c] = FE_EMPTY;
    fe_gradient_at(kind, x, NULL, 0, 0, J);
    const fe_scalar *at = patch_fan_place(kind, p, slot, i);
    if (patch_transposes(kind, op)) {
        fe_cofactor(J, A);
        FE_UNROLL_FOR (int c = 0; c < 6; c++) stress[c] = at[c * patch_form_of(kind).row];
    } else {
        fe_gradient_at(kind, u, NULL, 0, 0, G);
        patch_point_stress(kind, op, fe_weight(kind), m, p->elem[PATCH_FAN * slot + i], at, J, G, A, stress);
    }
    fe_point_force_start(P);
    fe_point_force(stress, A, P);
    fe_gradient_close(kind, P, 0, 0, NULL, y);
}

FE_BODY void patch_keep_force(int kind, const patch_here *p, int slot, int node, const fe_real y[3])
{
    const int row = patch_form_of(kind).row;
    FE_UNROLL_FOR (int c = 0; c < 3; c++) p->force[(3 * node + c) * row + slot] = y[c];
}

/* Forces on the nodes of a fan. Its elements follow each other around the edge of corners 0 and 1. After each
 * element the force on one node is complete. */
FE_BODY void patch_fan_forces(int kind, int op, const fe_view *m, const patch_plan *plan, const patch_here *p,
                              int slot)
{
    fe_index node[8];
    fe_real x[8][3], u[8][3], y[4][3], f[8][3];
    patch_slot_nodes(p->rest + plan->conn, slot, node);
    FE_UNROLL_FOR (int b = 0; b < 3; b++) {
        fe_read3((const fe_scalar *)(p->rest + plan->x), node[patch_corner(kind, 0, b)], x[b]);
        patch_read_value(p, node[patch_corner(kind, 0, b)], u[b]);
        FE_UNROLL_FOR (int c = 0; c < 3; c++) y[b][c] = 0.0f;
    }
    FE_UNROLL_FOR (int i = 0; i < PATCH_FAN; i++) {
        fe_read3((const fe_scalar *)(p->rest + plan->x), node[i + 1], x[3]);
        patch_read_value(p, node[i + 1], u[3]);
        patch_tet4_forces(kind, op, m, p, slot, i, x, u, f);
        FE_UNROLL_FOR (int c = 0; c < 3; c++) {
            y[0][c] += f[0][c], y[1][c] += f[1][c], y[2][c] += f[2][c], y[3][c] = f[3][c];
        }
        patch_keep_force(kind, p, slot, i, y[2]);
        FE_UNROLL_FOR (int c = 0; c < 3; c++) x[2][c] = x[3][c], u[2][c] = u[3][c], y[2][c] = y[3][c];
        if (i + 1 == PATCH_FAN || p->elem[PATCH_FAN * slot + i + 1] == -1) {
            patch_keep_force(kind, p, slot, i + 1, y[2]);
            break;
        }
    }
    patch_keep_force(kind, p, slot, patch_corner(kind, 0, 0), y[0]);
    patch_keep_force(kind, p, slot, patch_corner(kind, 0, 1), y[1]);
}

/* Forces on corners 4k … 4k + 3 of the Hex8 of a slot in y[0 … 3]: two neighbouring threads compute the
 * points of plane k = 0 and 1. Both read the same corners at the same time; the position of the plane is a
 * variable. */
FE_BODY void patch_plane_forces(int op, const fe_view *m, const patch_here *p, int slot, int round, int k,
                                fe_real x[8][3], fe_real u[8][3], fe_real y[8][3])
{
    const int fetched = patch_fetches(FE_HEX8, op), rounds = 2 * PATCH_ELEMENTS(FE_HEX8) / PATCH_BLOCK_SIZE;
    fe_scalar *at[2] = {patch_plane_place(FE_HEX8, p)};
    at[1] = at[0] + FE_N_NUMBER * patch_form_of(FE_HEX8).row;
    const fe_element e = fe_element_open(m, p->elem[slot], 0);
    fe_plane gx[3], gu[3], t[3];
    const fe_scalar s = fe_gauss(k);
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        const fe_real xc[8] = {x[0][c], x[1][c], x[2][c], x[3][c], x[4][c], x[5][c], x[6][c], x[7][c]},
                      uc[8] = {u[0][c], u[1][c], u[2][c], u[3][c], u[4][c], u[5][c], u[6][c], u[7][c]};
        fe_plane_gradient(xc, s, &gx[c]);
        fe_plane_gradient(uc, s, &gu[c]);
    }
    fe_gradient_start(FE_HEX8, t);
    FE_UNROLL_FOR (int q = 0; q < 4; q++) {
        fe_real J[3][3], G[3][3], A[3][3], P[3][3], stress[6];
        fe_gradient_at(FE_HEX8, x, gx, 0, q, J);
        fe_gradient_at(FE_HEX8, u, gu, 0, q, G);
        if (!fetched) {
            fe_point_stress(FE_HEX8, op, 1.0f, m, e, q + 4 * k, J, G, A, stress);
        } else {
            __pipeline_wait_prior(round == 0 && q < 2 ? 2 : 1); /* later copies may still be on their way */
            patch_point_stress(FE_HEX8, op, 1.0f, m, patch_material_of(op, p->elem[slot]), at[q & 1], J, G, A,
                               stress);
            const int more = q < 2 ? slot : slot + PATCH_BLOCK_SIZE / 2, there = q < 2 || round + 1 < rounds;
            patch_fetch_point(FE_HEX8, op, m, there ? p->elem[more] : -1, (q + 2) % 4 + 4 * k, at[q & 1]);
        }
        fe_gradient_open(FE_HEX8, t, q, P);
        fe_point_force(stress, A, P);
        fe_gradient_close(FE_HEX8, P, 0, q, t, y);
    }
    const fe_scalar weight = fe_weight(FE_HEX8);
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        fe_real here[4], rise[4], modes[4], corner[4];
        fe_plane_modes(&t[c], here, rise);
        FE_UNROLL_FOR (int i = 0; i < 4; i++) {
            const fe_scalar both = 0.5f * weight * fe_mode_scale(i, 0),
                            up = 0.25f * weight * fe_mode_scale(i, 1);
            fe_real mine = (k ? up : -up) * rise[i], theirs = -mine;
            if (i) mine += FE_NEAR * both * here[i], theirs = both * here[i] - mine;
            modes[i] = mine + __shfl_xor_sync(0xffffffffu, theirs, 1);
        }
        fe_face_of_modes(modes, corner);
        FE_UNROLL_FOR (int b = 0; b < 4; b++) y[b][c] = corner[b];
    }
}

/* Corner forces of all elements of the patch. */
FE_BODY void patch_elements_forces(int kind, int op, const fe_view *m, const patch_plan *plan,
                                   const patch_here *p)
{
    const patch_form form = patch_form_of(kind);
    const int team = patch_team(kind), held = form.nodes / team;
    FE_UNROLL_FOR (int t = threadIdx.x, r = 0; r < form.slots * team; r += PATCH_BLOCK_SIZE) {
        const int slot = (t + r) / team, k = (t + r) % team;
        if (team == 1 && slot >= p->head->n_slot) break;
        if (patch_fanned(kind)) {
            patch_fan_forces(kind, op, m, plan, p, slot);
            continue;
        }
        fe_index node[8];
        fe_real x[8][3], u[8][3], y[8][3];
        patch_slot_nodes(p->rest + plan->conn, slot, node);
        FE_UNROLL_FOR (int b = 0; b < form.nodes; b++) {
            fe_read3((const fe_scalar *)(p->rest + plan->x), node[b], x[b]);
            patch_read_value(p, node[b], u[b]);
        }
        if (team == 2)
            patch_plane_forces(op, m, p, slot, r / PATCH_BLOCK_SIZE, k, x, u, y);
        else
            fe_element_forces(kind, op, m, fe_element_open(m, p->elem[slot], 0), x, u, y);
        FE_UNROLL_FOR (int b = 0; b < held; b++) patch_keep_force(kind, p, slot, b + held * k, y[b]);
    }
}

/* Three entries of an element's diagonal blocks at its corners: xx yy zz, or xy yz xz. */
FE_BODY void patch_blocks(int kind, int half, const fe_view *m, int elem, fe_real x[8][3], fe_real d[8][3])
{
    FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++) {
        fe_real block[6];
        fe_element_diagonal(kind, m, fe_element_open(m, elem, 0), x, b, block);
        FE_UNROLL_FOR (int c = 0; c < 3; c++) d[b][c] = half ? block[3 + c] : block[c];
    }
}
FE_BODY void patch_elements_blocks(int kind, int half, const fe_view *m, const patch_plan *plan,
                                   const patch_here *p)
{
    const patch_form form = patch_form_of(kind);
    for (int slot = threadIdx.x; slot < form.slots; slot += PATCH_BLOCK_SIZE) {
        fe_index node[8];
        fe_real x[8][3], sum[8][3], corner[8][3], d[8][3];
        patch_slot_nodes(p->rest + plan->conn, slot, node);
        FE_UNROLL_FOR (int b = 0; b < form.nodes; b++) {
            fe_read3((const fe_scalar *)(p->rest + plan->x), node[b], x[b]);
            FE_UNROLL_FOR (int c = 0; c < 3; c++) sum[b][c] = 0.0f;
        }
        FE_UNROLL_FOR (int i = 0; i < form.together; i++) {
            const int elem = p->elem[form.together * slot + i];
            if (elem < 0) break;
            FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++)
                FE_UNROLL_FOR (int c = 0; c < 3; c++) corner[b][c] = x[patch_corner(kind, i, b)][c];
            patch_blocks(kind, half, m, elem, corner, d);
            FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++)
                FE_UNROLL_FOR (int c = 0; c < 3; c++) sum[patch_corner(kind, i, b)][c] += d[b][c];
        }
        FE_UNROLL_FOR (int b = 0; b < form.nodes; b++) patch_keep_force(kind, p, slot, b, sum[b]);
    }
}

FE_BODY void patch_put(int alone, fe_number *to, fe_number sum)
{
    if (alone)
        *to = sum;
    else
        atomicAdd(to, sum);
}

/* Writes component c of a sum to its place in a row: of a vector, or of a symmetric block, whose off-diagonal
 * entries have two places each. */
FE_BODY void patch_put_row(int op, int half, int alone, int c, fe_number sum, fe_number *to)
{
    if (op != PATCH_DIAGONAL) {
        patch_put(alone, to + c, sum);
    } else if (!half) {
        patch_put(alone, to + 4 * c, sum);
    } else { /* xy yz xz */
        patch_put(alone, to + (c == 0 ? 1 : c == 1 ? 5 : 2), sum);
        patch_put(alone, to + (c == 0 ? 3 : c == 1 ? 7 : 6), sum);
    }
}

/* Sums the corners of each node: one node per thread or, where that is faster, one component per thread: on
 * Tet4, except for the residual, which needs many registers (H100, 6.4 M DoF, one component per thread:
 * jacvec_elastic 3 % more, jacvec 4 %, residual 7 % less). */
FE_BODY int patch_sum_lanes(int kind, int op) { return patch_fanned(kind) && !fe_is_residual(op) ? 3 : 1; }
FE_BODY void patch_sum(int kind, int op, int half, const patch_plan *plan, const patch_here *p, fe_number *y)
{
    const int row = patch_form_of(kind).row, lanes = patch_sum_lanes(kind, op);
    const uint16_t *first = (const uint16_t *)(p->rest + plan->first),
                   *corner = (const uint16_t *)(p->rest + plan->corner);
    const int width = op == PATCH_DIAGONAL ? 9 : 3;
    for (int t = threadIdx.x; t < lanes * p->head->n_node; t += PATCH_BLOCK_SIZE) {
        const int i = t / lanes, from = t % lanes, end = first[i + 1];
        fe_scalar sum[3] = {0.0f, 0.0f, 0.0f};
        uint2 next = *(const uint2 *)(corner + first[i]);
        for (int k = first[i]; k < end; k += PATCH_TOGETHER) {
            const uint2 four = next;
            next = *(const uint2 *)(corner + k + PATCH_TOGETHER); /* there is one entry after the last */
            FE_UNROLL_FOR (int c = 0; c < 3 / lanes; c++) {
                const fe_scalar *force = p->force + (from + c) * row;
                sum[c] += force[four.x & 0xffff] + force[four.x >> 16] +
                          (force[four.y & 0xffff] + force[four.y >> 16]);
            }
        }
        fe_number *to = patch_row(plan, p->head, p->node, i, width, y);
        if (p->node[i] >= 0 || i >= p->head->n_added) {
            FE_UNROLL_FOR (int c = 0; c < 3 / lanes; c++) patch_put_row(op, half, 1, from + c, sum[c], to);
        } else if (FE_PRECISION == FE_SINGLE && lanes == 1 && op != PATCH_DIAGONAL) {
            fe_atomic_add3(to, sum);
        } else {
            FE_UNROLL_FOR (int c = 0; c < 3 / lanes; c++) patch_put_row(op, half, 0, from + c, sum[c], to);
        }
    }
}

/* The patches of a block: a few of [first, last), `step` apart. Blocks end early, and the next block starts
 * on whichever multiprocessor is free first. So no block waits for a multiprocessor that is slow or was busy
 * at the start, and the border part, in a stream of higher priority, gets in between. */
typedef struct patch_span {
    int first, last, step, rounds;
} patch_span;
FE_BODY patch_span patch_span_of(int block, patch_span all)
{
    const int group = all.step * all.rounds, start = all.first + block / all.step * group;
    const patch_span own = {start + block % all.step, min(start + group, all.last), all.step, all.rounds};
    return own;
}

FE_BODY void patch_body(int kind, int op, const fe_view *m, const patch_plan *plan, patch_span span,
                        const fe_number *displacement, fe_number *y)
{
    const patch_memory s = patch_memory_open(kind, plan);
    const int halves = op == PATCH_DIAGONAL ? 2 : 1, fetched = patch_fetches(kind, op);
    const int step = span.step, last = span.last;
    int ahead[PATCH_FAN], patch = span.first;
    fe_number first[3];                     /* mixed precision: the input at the first node of the patch */
    if (plan->ordered) fe_let_next_start(); /* the second pass, which waits */
    patch_clear_padding(kind, &s);
    patch_fetch_head(&s, plan, 0, patch, last);
    __pipeline_commit();
    patch_fetch_head(&s, plan, 1, patch + step, last);
    patch_fetch_rest(&s, plan, 0, patch, last);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    if (op != PATCH_DIAGONAL) patch_fetch_values(&s, plan, 0, patch, last, displacement, first);
    __pipeline_commit();
    patch_here here = patch_open(&s, plan, 0);
    if (fetched && patch < last) patch_look_ahead(kind, op, m, &here, ahead);
    for (int i = 0; patch < last; i++, patch += step) {
        __pipeline_wait_prior(0);
        if (FE_PRECISION == FE_MIXED && op != PATCH_DIAGONAL) patch_round_values(&s, plan, i, first);
        __syncthreads();
        here = patch_open(&s, plan, i);
        if (fetched) patch_fetch_start(kind, op, m, &here, ahead);
        if (op != PATCH_DIAGONAL)
            patch_fetch_values(&s, plan, i + 1, patch + step, last, displacement, first);
        patch_fetch_rest(&s, plan, i + 1, patch + step, last);
        patch_fetch_head(&s, plan, i + 2, patch + 2 * step, last);
        __pipeline_commit();
        if (fetched && patch_fanned(kind)) { /* the point data of all threads */
            __pipeline_wait_prior(1);
            __syncthreads();
        }
        if (patch_transposes(kind, op)) {
            if (threadIdx.x < here.head->n_slot) patch_fan_strains(kind, plan, &here, threadIdx.x);
            __syncthreads();
            patch_full_stresses(kind, m, &here);
            __syncthreads();
        }
        for (int half = 0; half < halves; half++) {
            if (half) __syncthreads();
            if (op == PATCH_DIAGONAL)
                patch_elements_blocks(kind, half, m, plan, &here);
            else
                patch_elements_forces(kind, op, m, plan, &here);
            __syncthreads();
            const patch_here there = patch_open(&s, plan, i + 1);
            if (fetched && patch + step < last) patch_look_ahead(kind, op, m, &there, ahead);
            if (patch == span.first) fe_wait_for_earlier(); /* the output is cleared */
            patch_sum(kind, op, half, plan, &here, y);
        }
    }
}

#define BODY(KIND, OP, kernel)                                                                               \
    __global__ void __launch_bounds__(PATCH_BLOCK_SIZE, LEAST_BLOCKS(KIND, OP))                              \
        kernel(fe_view m, patch_plan plan, patch_span span, const fe_number *displacement, fe_number *y)     \
    {                                                                                                        \
        patch_body(KIND, OP, &m, &plan, patch_span_of(blockIdx.x, span), displacement, y);                   \
    }
#define OPERATION(KIND, name, OP, operation) BODY(KIND, OP, patch_##operation##_##name)
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(OPERATION, KIND, name)                                                                 \
    BODY(KIND, PATCH_DIAGONAL, patch_diagonal_##name)
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef OPERATION
#undef BODY

typedef void patch_kernel(fe_view, patch_plan, patch_span, const fe_number *, fe_number *);
typedef struct patch_work {
    patch_plan plan;
    patch_kernel *kernel[PATCH_N_OPERATION];
    int blocks[PATCH_N_OPERATION]; /* that the device holds at a time */
    size_t shared;
} patch_work;

static void choose_kernels(int kind, patch_work *w)
{
#define CASE(KIND, name)                                                                                     \
    case KIND:                                                                                               \
        FE_EACH_OPERATION(TAKE, KIND, name)                                                                  \
        w->kernel[PATCH_DIAGONAL] = patch_diagonal_##name;                                                   \
        break;
#define TAKE(KIND, name, OP, operation) w->kernel[OP] = patch_##operation##_##name;
    switch (kind) {
        FE_EACH_KIND(CASE)
    }
#undef TAKE
#undef CASE
}

/* Kernels, and how many of their blocks the device holds. */
static fe_status fit_kernels(const fe_problem *p, patch_work *w)
{
    choose_kernels(p->kind, w);
    w->shared = (size_t)patch_shared_bytes(p->kind, &w->plan, (int)sizeof(fe_scalar), (int)sizeof(fe_number));
    int device = 0, processors = 0, most = 0;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    CUDA_TRY(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    if (w->shared > (size_t)most)
        return fe_fail(FE_FAILED, "patch: %zu bytes of shared memory per block are needed, the device has %d",
                       w->shared, most);
    for (int i = 0; i < PATCH_N_OPERATION; i++) {
        if (!w->kernel[i]) continue; /* the kind has no kernel of Voce's law */
        int blocks = 0;              /* the limit is set per kernel, for all plans */
        CUDA_TRY(cudaFuncSetAttribute(w->kernel[i], cudaFuncAttributeMaxDynamicSharedMemorySize, most));
        CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, w->kernel[i], PATCH_BLOCK_SIZE,
                                                               w->shared));
        w->blocks[i] = blocks * processors;
    }
    return FE_OK;
}

static fe_status open_patches(fe_problem *p, int ordered, void **work)
{
    int device = 0;
    FE_TRY(fe_device_keep(p->device, sizeof(patch_work), "patches", work));
    patch_work *w = (patch_work *)*work;
    patch_processor *s = &w->plan.processor;
    w->plan.ordered = ordered, w->plan.x_row = 3, w->plan.group = 1;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&s->shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
    CUDA_TRY(cudaDeviceGetAttribute(&s->reserved, cudaDevAttrReservedSharedMemoryPerBlock, device));
    FE_TRY(patch_plan_open(p, FE_PRECISION, &w->plan));
    return fit_kernels(p, w);
}

static __global__ void patch_narrow(int kind, patch_plan from, patch_plan to)
{
    patch_narrow_record(kind, &from, &to, blockIdx.x, threadIdx.x, blockDim.x);
}

static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    const patch_plan *from = &((const patch_work *)in_double)->plan;
    FE_TRY(fe_device_keep(p->device, sizeof(patch_work), "patches", work));
    patch_work *w = (patch_work *)*work;
    w->plan.x_row = 3, w->plan.group = 1;
    FE_TRY(patch_plan_narrow(p, from, &w->plan));
    FE_LAUNCH(p->device, (size_t)PATCH_BLOCK_SIZE * w->plan.n_patch, PATCH_BLOCK_SIZE, patch_narrow, p->kind,
              *from, w->plan);
    return fit_kernels(p, w);
}

static fe_status launch(const fe_problem *p, const patch_work *w, int operation, int first, int last,
                        const fe_number *displacement, fe_number *y)
{
    const int n = last - first, step = n < w->blocks[operation] ? n : w->blocks[operation];
    if (n == 0) return FE_OK;
    const patch_span span = {first, last, step, patch_rounds(p->kind, n, step)};
    const int group = step * span.rounds, rest = n % group;
    const int blocks = n / group * step + (rest < step ? rest : step);
    const cudaLaunchConfig_t config = fe_cuda_early(p->device, blocks, PATCH_BLOCK_SIZE, w->shared);
    CUDA_TRY(cudaLaunchKernelEx(&config, w->kernel[operation], p->view, w->plan, span, displacement, y));
    return FE_OK;
}

/* The second pass: one number of a border row per thread. Few nodes have more than four rows. */
static __global__ void __launch_bounds__(PATCH_BLOCK_SIZE)
    patch_add_partial_sums(patch_plan plan, int width, fe_number *y)
{
    const int i = (blockIdx.x * blockDim.x + threadIdx.x) / width,
              c = (blockIdx.x * blockDim.x + threadIdx.x) % width, few = 4;
    if (i >= plan.n_border) return;
    const int first = plan.partial_first[i], last = plan.partial_first[i + 1];
    fe_number *to = y + (size_t)width * plan.border[i] + c, part[few];
    int row[few];
    FE_UNROLL_FOR (int k = 0; k < few; k++) row[k] = first + k < last ? plan.partial_row[first + k] : 0;
    fe_wait_for_earlier();
    fe_number sum = *to;
    FE_UNROLL_FOR (int k = 0; k < few; k++)
        if (first + k < last) part[k] = plan.partial_sums[(size_t)width * row[k] + c];
    FE_UNROLL_FOR (int k = 0; k < few; k++)
        if (first + k < last) sum += part[k];
    for (int k = first + few; k < last; k++)
        sum += plan.partial_sums[(size_t)width * plan.partial_row[k] + c];
    *to = sum;
}
static fe_status add_partial_sums(const fe_problem *p, const patch_plan *plan, int width, fe_number *y)
{
    p->device->overlaps = 1; /* with the last patches */
    FE_LAUNCH_EARLY(p->device, (size_t)width * plan->n_border, PATCH_BLOCK_SIZE, patch_add_partial_sums,
                    *plan, width, y);
    return FE_OK;
}

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const patch_work *w = (const patch_work *)work;
    const patch_plan *plan = &w->plan;
    int first, last;
    patch_range(plan, part, &first, &last);
    FE_TRY(launch(p, w, op, first, last, displacement, y));
    return patch_adds_rows(plan, first, last) ? add_partial_sums(p, plan, 3, y) : FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *blocks)
{
    fe_number *d = (fe_number *)blocks;
    const patch_work *w = (const patch_work *)work;
    FE_TRY(launch(p, w, PATCH_DIAGONAL, 0, w->plan.n_patch, NULL, d));
    return w->plan.ordered ? add_partial_sums(p, &w->plan, 9, d) : FE_OK;
}

static fe_status setup(fe_problem *p, void **work) { return open_patches(p, 0, work); }
static fe_status setup_ordered(fe_problem *p, void **work) { return open_patches(p, 1, work); }
FE_TABLE(patch_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from), .residual = residual,
         .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal,
         .traits = FE_INDEPENDENT | FE_PIECES)
FE_TABLE(patch_ordered_cuda, .setup = setup_ordered, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = residual, .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal,
         .traits = FE_PIECES)
