/* What a thread block of `patch` copies to shared memory, and how it is laid out there: records and input
 * values of the next patches, point data, and forces on corners. */
#ifndef PATCH_STAGE_H
#define PATCH_STAGE_H

#include "common/problem/state.h"
#include "variants/patch/assembly.h"

#include <cuda_pipeline.h>

/* Threads of a block; of Tet10 one for each element of a patch. */
enum { PATCH_BLOCK_SIZE = 128 };
#define PATCH_THREADS(kind) ((kind) == FE_TET10 ? PATCH_ELEMENTS(FE_TET10) : PATCH_BLOCK_SIZE)

typedef struct patch_memory {
    fe_scalar *force;
    fe_number *value;
    char *head, *rest;
} patch_memory;
FE_BOTH int patch_values(const patch_plan *plan) { return patch_value_numbers(plan, (int)sizeof(fe_number)); }
FE_BODY patch_memory patch_memory_open(int kind, const patch_plan *plan)
{
    extern __shared__ double2 shared[]; /* aligned to 16 bytes */
    patch_memory s;
    s.force = (fe_scalar *)shared;
    s.value = (fe_number *)(s.force + patch_force_numbers(kind, (int)sizeof(fe_scalar)));
    s.head = (char *)(s.value + 2 * patch_values(plan));
    s.rest = s.head + 3 * plan->x;
    return s;
}

/* Zeros behind each row of corner forces: what lists of corners are filled up with. */
FE_BODY void patch_clear_padding(int kind, const patch_memory *s)
{
    const patch_form form = patch_form_of(kind);
    for (int i = threadIdx.x; i < 3 * form.nodes; i += PATCH_THREADS(kind))
        s->force[i * form.row + form.slots] = 0.0f;
}

/* A patch in shared memory. */
typedef struct patch_here {
    const patch_head *head;
    const int *node;
    int *elem;
    const uint16_t *ascending;
    const char *rest; /* x and what follows, minus its offset in the record */
    const fe_number *value;
    fe_scalar *force;
} patch_here;

/* Copies of patch number i of a block: where they go, and functions that start them. */
FE_BODY char *patch_head_place(const patch_memory *s, const patch_plan *plan, int i)
{
    return s->head + i % 3 * plan->x;
}
FE_BODY char *patch_rest_place(const patch_memory *s, const patch_plan *plan, int i)
{
    return s->rest + (i & 1) * (plan->stride - plan->x);
}
FE_BODY fe_number *patch_value_place(const patch_memory *s, const patch_plan *plan, int i)
{
    return s->value + (i & 1) * patch_values(plan);
}
FE_BODY void patch_copy(const char *from, int bytes, char *to)
{
    for (int i = 16 * threadIdx.x; i < bytes; i += 16 * blockDim.x)
        __pipeline_memcpy_async(to + i, from + i, 16);
}
FE_BODY void patch_fetch_head(const patch_memory *s, const patch_plan *plan, int i, int patch, int last)
{
    if (patch < last)
        patch_copy(plan->record + (size_t)patch * plan->stride, plan->x, patch_head_place(s, plan, i));
}
FE_BODY void patch_fetch_rest(const patch_memory *s, const patch_plan *plan, int i, int patch, int last)
{
    if (patch < last)
        patch_copy(plan->record + (size_t)patch * plan->stride + plan->x, plan->stride - plan->x,
                   patch_rest_place(s, plan, i));
}
/* In mixed precision `first` becomes the value at the first node of the patch, for patch_round_values. */
FE_BODY void patch_fetch_values(const patch_memory *s, const patch_plan *plan, int i, int patch, int last,
                                const fe_number *displacement, fe_number first[3])
{
    if (patch >= last) return;
    const char *head = patch_head_place(s, plan, i);
    const int n = ((const patch_head *)head)->n_node, *node = (const int *)(head + plan->node);
    const uint16_t *place = (const uint16_t *)(head + plan->place);
    fe_number *to = patch_value_place(s, plan, i);
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        const fe_number *from = displacement + 3 * (size_t)patch_node(node[k]);
        for (int c = 0; c < 3; c++)
            __pipeline_memcpy_async(to + 3 * place[k] + c, from + c, sizeof(fe_number));
    }
    if (FE_PRECISION == FE_MIXED)
        for (int c = 0; c < 3; c++) first[c] = displacement[3 * (size_t)patch_node(node[0]) + c];
}
/* Mixed precision: rows of values that this thread copied become floats, differences from the first node's,
 * at the start of their places. */
FE_BODY void patch_round_values(const patch_memory *s, const patch_plan *plan, int i,
                                const fe_number first[3])
{
    const char *head = patch_head_place(s, plan, i);
    const int n = ((const patch_head *)head)->n_node;
    const uint16_t *place = (const uint16_t *)(head + plan->place);
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        fe_number *value = patch_value_place(s, plan, i) + 3 * place[k];
        float rounded[3];
        for (int c = 0; c < 3; c++) rounded[c] = (float)(value[c] - first[c]);
        for (int c = 0; c < 3; c++) ((float *)value)[c] = rounded[c];
    }
}
FE_BODY patch_here patch_open(const patch_memory *s, const patch_plan *plan, int i)
{
    char *head = patch_head_place(s, plan, i);
    patch_here here;
    here.head = (const patch_head *)head;
    here.node = (const int *)(head + plan->node);
    here.elem = (int *)(head + plan->elem);
    here.ascending = (const uint16_t *)(head + plan->ascending);
    here.rest = patch_rest_place(s, plan, i) - plan->x;
    here.value = patch_value_place(s, plan, i);
    here.force = s->force;
    return here;
}

/* The value at a node of the patch. */
FE_BODY void patch_read_value(const patch_here *p, int node, fe_real value[3])
{
    if (FE_PRECISION == FE_MIXED)
        fe_read3((const float *)p->value, 2 * node, value);
    else
        fe_read3(p->value, node, value);
}

/* --- point data: states or tangents ----------------------------------------------------------------
 *
 * They are copied to shared memory before they are needed. They need no room of their own, because they stand
 * where corner forces are stored later.
 *
 * Hex8: while a thread computes one point, the numbers of its next two points arrive. They stand where the
 * thread stores the forces of its last slot, and are private to the thread.
 *
 * Tet4: the numbers of the whole patch arrive at once, in the order of its elements' numbers, because the
 * elements of a fan are scattered in memory. They stand in the fan's own places. An element has read its
 * numbers before forces are stored over them.
 *
 * Tet10: those of its four points, private to the thread, in the element's own places.
 *
 * Whether an element has numbers is known one patch ahead. In mixed and single precision the states, which
 * are doubles, have no room where forces are floats: the residual reads them when it needs them. */
static_assert(PATCH_FAN * FE_N_NUMBER <= 3 * PATCH_FAN_NODES,
              "a fan's numbers have room where its forces are laid");
static_assert(4 * FE_N_NUMBER <= 3 * FE_CORNERS(FE_TET10), "and so have those of a Tet10's points");
static_assert((int)PATCH_MOST_SLOTS <= (int)PATCH_BLOCK_SIZE, "a thread has one fan at most");
static_assert(PATCH_MOST_ELEMENTS <= PATCH_FAN * PATCH_BLOCK_SIZE,
              "threads look after all elements of a patch");
/* In the place of an element that has none: this number, or for an operation on several materials this number
 * minus the element's. */
enum { PATCH_ELASTIC = -2 };
FE_BODY int patch_without_numbers(int op, int e)
{
    return fe_is_several(op) ? PATCH_ELASTIC - e : PATCH_ELASTIC;
}
FE_BODY int patch_is_elastic(int op, int e)
{
    return fe_is_several(op) ? e <= PATCH_ELASTIC : e == PATCH_ELASTIC;
}
/* The element whose material a Hex8 has. */
FE_BODY int patch_material_of(int op, int e)
{
    return fe_is_several(op) && e <= PATCH_ELASTIC ? PATCH_ELASTIC - e : e;
}
FE_BODY int patch_fetches(int kind, int op)
{
    return (kind == FE_HEX8 || kind == FE_TET4 || kind == FE_TET10) &&
           ((fe_is_residual(op) && FE_PRECISION == FE_DOUBLE) || fe_is_tangent(op));
}

/* The entry of elem whose point data a thread fetches, or -1. Tet10: that of its own slot. Tet4: that of
 * element number threadIdx + i PATCH_BLOCK_SIZE of the patch. Hex8: two neighbouring threads have two slots;
 * each thread takes one of them. */
FE_BODY int patch_entry(int kind, const patch_here *p, int i)
{
    if (kind == FE_TET10) return (int)threadIdx.x < p->head->n_slot ? (int)threadIdx.x : -1;
    if (!patch_fanned(kind)) return threadIdx.x / 2 + threadIdx.x % 2 * (PATCH_BLOCK_SIZE / 2);
    const int k = threadIdx.x + i * PATCH_BLOCK_SIZE;
    return k < p->head->n_elem ? p->ascending[k] : -1;
}
FE_BODY void patch_look_ahead(int kind, int op, const fe_view *m, const patch_here *p, int ahead[PATCH_FAN])
{
    const uint8_t *flags = fe_is_residual(op) ? m->committed.flags : m->trial.flags;
    FE_UNROLL_FOR (int i = 0; i < patch_form_of(kind).together; i++) {
        const int entry = patch_entry(kind, p, i);
        ahead[i] = entry < 0 ? -1 : p->elem[entry];
        if (ahead[i] >= 0 && !(flags[ahead[i]] & (fe_is_residual(op) ? FE_YIELDED : FE_SOFTENED)))
            ahead[i] = patch_without_numbers(op, ahead[i]);
    }
}

/* Where the point data of element i of a fan go, or those of point i of a Tet10; and those of a thread's next
 * two points of a Hex8. */
FE_BODY fe_scalar *patch_own_place(int kind, const patch_here *p, int slot, int i)
{
    return p->force + FE_N_NUMBER * patch_form_of(kind).row * i + slot;
}
FE_BODY fe_scalar *patch_plane_place(int kind, const patch_here *p)
{
    const patch_form form = patch_form_of(kind);
    const int team = patch_team(kind), last = form.slots * team - PATCH_BLOCK_SIZE + threadIdx.x;
    return p->force + 3 * (form.nodes / team) * (last % team) * form.row + last / team;
}
FE_BODY int patch_number_bytes(int op)
{
    return fe_is_residual(op) ? sizeof(double) : sizeof(fe_tangent_number);
}
/* An asynchronous copy of 4 or 8 bytes; of 8, the level-2 cache gives the line away first. */
FE_BODY void patch_copy_once(fe_scalar *to, const char *from, int bytes)
{
#if __CUDA_ARCH__ >= 800
    if (bytes == 8) {
        const unsigned place = (unsigned)__cvta_generic_to_shared(to);
        uint64_t policy;
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
        asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 8, %2;" ::"r"(place), "l"(from),
                     "l"(policy)
                     : "memory");
        return;
    }
#endif
    __pipeline_memcpy_async(to, from, bytes);
}

FE_BODY void patch_fetch_point(int kind, int op, const fe_view *m, int e, int q, fe_scalar *to)
{
    const int row = patch_form_of(kind).row, bytes = patch_number_bytes(op);
    if (e >= 0) {
        const char *from =
            fe_is_residual(op) ? (const char *)m->committed.point : (const char *)fe_tangents(m);
        from += bytes * fe_point_index(kind, 0, q, e);
        FE_UNROLL_FOR (int c = 0; c < FE_N_NUMBER; c++)
            patch_copy_once(to + c * row, from + (size_t)c * bytes * fe_point_stride(kind), bytes);
    } else if (patch_is_elastic(op, e)) {
        FE_UNROLL_FOR (int c = 0; c < FE_N_NUMBER; c++) {
            const int one = !fe_is_residual(op) && c == 0;
            if (bytes == sizeof(float))
                *(float *)(to + c * row) = one;
            else
                to[c * row] = one;
        }
    }
    __pipeline_commit();
}

/* The first points of a patch: all of its tetrahedra, or the first two of the thread's Hex8 plane. */
FE_BODY void patch_fetch_start(int kind, int op, const fe_view *m, const patch_here *p,
                               const int ahead[PATCH_FAN])
{
    if (patch_fanned(kind)) {
        FE_UNROLL_FOR (int i = 0; i < PATCH_FAN; i++) {
            const int entry = patch_entry(kind, p, i);
            patch_fetch_point(kind, op, m, ahead[i], 0,
                              patch_own_place(kind, p, entry / PATCH_FAN, entry % PATCH_FAN));
        }
        return;
    }
    if (kind == FE_TET10) {
        FE_UNROLL_FOR (int q = 0; q < 4; q++)
            patch_fetch_point(kind, op, m, ahead[0], q, patch_own_place(kind, p, threadIdx.x, q));
        return;
    }
    const int row = patch_form_of(kind).row, slot = threadIdx.x / patch_team(kind);
    fe_scalar *to = patch_plane_place(kind, p);
    p->elem[patch_entry(kind, p, 0)] = ahead[0];
    __syncwarp();
    FE_UNROLL_FOR (int i = 0; i < 2; i++)
        patch_fetch_point(kind, op, m, slot < p->head->n_slot ? p->elem[slot] : -1, 4 * (threadIdx.x % 2) + i,
                          to + FE_N_NUMBER * row * i);
}

/* fe_point_stress of a point whose numbers are in shared memory, at `at`; those of an elastic one are there
 * too. */
FE_BODY void patch_point_stress(int kind, int op, fe_scalar weight, const fe_view *m, int e,
                                const fe_scalar *at, fe_real J[3][3], fe_real G[3][3], fe_real A[3][3],
                                fe_real stress[6])
{
    const int row = patch_form_of(kind).row;
    fe_real strain[6], number[FE_N_NUMBER];
    const fe_constants material = fe_material_at(fe_is_several(op), m, e);
    const fe_real inverse = fe_reciprocal(fe_cofactor(J, A));
    fe_symmetric_gradient(G, A, strain);
    if (fe_is_residual(op)) {
        fe_strain(inverse, strain);
        FE_UNROLL_FOR (int c = 0; c < FE_N_STATE; c++) number[c] = at[c * row];
        fe_return_stress(fe_hardening_in(kind, op, m, &material), &material, weight, strain, number, stress);
    } else {
        const fe_tangent_number *tangent = (const fe_tangent_number *)at;
        const int apart = row * (int)(sizeof *at / sizeof *tangent);
        FE_UNROLL_FOR (int c = 0; c < FE_N_TANGENT; c++) number[c] = tangent[c * apart];
        fe_tangent_stress(&material, weight * inverse, number, strain, stress);
    }
}

/* Nodes of a slot in the patch. */
FE_BODY void patch_slot_nodes(int kind, const char *conn, int slot, fe_index node[])
{
    const int fours = patch_form_of(kind).width / 4;
    FE_UNROLL_FOR (int i = 0; i < fours; i++) {
        const uint2 four = ((const uint2 *)conn)[fours * slot + i];
        node[4 * i] = four.x & 0xffff, node[4 * i + 1] = four.x >> 16;
        node[4 * i + 2] = four.y & 0xffff, node[4 * i + 3] = four.y >> 16;
    }
}

/* Coordinates and value at a node of the patch. */
FE_BODY void patch_read_node(const patch_plan *plan, const patch_here *p, int node, fe_real x[3],
                             fe_real u[3])
{
    fe_read3((const fe_scalar *)(p->rest + plan->x), node, x);
    patch_read_value(p, node, u);
}

/* Component by component: the force of a slot's elements on its node number `node`. */
FE_BODY void patch_keep_force(int kind, const patch_here *p, int slot, int node, const fe_real y[3])
{
    const int row = patch_form_of(kind).row;
    FE_UNROLL_FOR (int c = 0; c < 3; c++) p->force[(3 * node + c) * row + slot] = y[c];
}

#endif
