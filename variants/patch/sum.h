/* patch on the device: sums over the corners at each node of a patch, and where they go. */
#ifndef PATCH_SUM_H
#define PATCH_SUM_H

#include "variants/patch/stage.h"

/* Operations: those of forces, and the diagonal blocks. */
enum { PATCH_DIAGONAL = FE_N_FORCES, PATCH_N_OPERATION };

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
    for (int t = threadIdx.x; t < lanes * p->head->n_node; t += PATCH_THREADS(kind)) {
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

#endif
