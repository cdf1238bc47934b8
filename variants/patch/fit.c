/* The limit of a patch's nodes on the device. All blocks have the shared memory of the largest patch: one
 * patch among thousands, on the edge of a rank's share or around a node of many elements, can let a
 * multiprocessor hold fewer blocks, and all patches wait longer. Where at most one patch in FEW is of that
 * size, these are cut. So the limit is never below the nodes of most patches, and an element by itself is
 * within it. */
#include "variants/patch/plan.h"

#include <stdlib.h>

enum { FEW = 32, UNIT = 256 }; /* UNIT: shared memory is given to blocks in units of 128 or 256 bytes */

/* larger [most_nodes + 1]: patches with more than i nodes. */
static void count_larger(const patch_draft *k, int *larger)
{
    for (int i = 0; i < k->n_piece[0] + k->n_piece[1]; i++)
        for (const patch_cut *s = k->piece[i]; s; s = s->next) larger[s->n_node]++;
    for (int i = k->plan->most_nodes, sum = 0; i >= 0; i--) {
        const int here = larger[i];
        larger[i] = sum, sum += here;
    }
}

/* Whether a multiprocessor holds so many blocks of patches of so many nodes. */
static int fits(const patch_draft *k, int blocks, int nodes)
{
    const patch_processor *p = &k->plan->processor;
    patch_plan plan = *k->plan;
    plan.most_nodes = nodes;
    patch_lay_out(&plan, k->kind, k->scalar);
    const int bytes = patch_shared_bytes(k->kind, &plan, (int)k->scalar, (int)k->number) + p->reserved;
    return blocks * ((bytes + UNIT - 1) / UNIT * UNIT) <= p->shared;
}

fe_status patch_lower_limit(patch_draft *k)
{
    const patch_plan *plan = k->plan;
    int *larger;
    if (!plan->processor.shared || k->scalar != sizeof(double)) return FE_OK; /* floats: HISTORY.md */
    FE_ALLOCATE(larger, plan->most_nodes + 1, "patches");
    count_larger(k, larger);
    for (int blocks = PATCH_BLOCKS(k->kind, sizeof(double)); blocks > 1; blocks--) {
        int nodes = plan->most_nodes;
        while (nodes > 0 && !fits(k, blocks, nodes)) nodes--;
        if (larger[nodes] > plan->n_patch / FEW) continue;
        k->most_nodes = nodes;
        break;
    }
    free(larger);
    return FE_OK;
}
