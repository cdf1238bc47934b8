/* The limit of a patch's nodes on the device. All blocks have the shared memory of the largest patch: one
 * patch among thousands, on the edge of a rank's share or around a node of many elements, can let a
 * multiprocessor hold fewer blocks, and all patches wait longer. Where at most one patch in FEW is of that
 * size, these are cut. So the limit is never below the nodes of most patches, and an element by itself is
 * within it. */
#include "variants/patch/plan.h"

enum { FEW = 32, UNIT = 256 }; /* UNIT: shared memory is given to blocks in units of 128 or 256 bytes */

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

static int count_larger(const patch_draft *k, int nodes)
{
    int n = 0;
    for (int i = 0; i < k->n_piece[0] + k->n_piece[1]; i++)
        for (const patch_cut *s = k->piece[i]; s; s = s->next) n += s->n_node > nodes;
    return n;
}

void patch_lower_limit(patch_draft *k)
{
    const patch_plan *plan = k->plan;
    if (!plan->processor.shared || k->scalar != sizeof(double)) return; /* floats: HISTORY.md */
    for (int blocks = PATCH_BLOCKS(k->kind, sizeof(double)); blocks > 1; blocks--) {
        int nodes = plan->most_nodes;
        while (nodes > 0 && !fits(k, blocks, nodes)) nodes--;
        if (nodes < plan->most_nodes && count_larger(k, nodes) > plan->n_patch / FEW) continue;
        k->most_nodes = nodes;
        return;
    }
}
