/* Limits of patches on the device. All blocks have the shared memory of the largest patch: one patch among
 * thousands, on the edge of a rank's share or around a node of many elements, can let a multiprocessor hold
 * fewer blocks, and all patches wait longer. Where there are few of that size, they are cut. */
#include "variants/patch/plan.h"

#include <stdlib.h>

enum { FEW = 32 }; /* one patch in so many may be cut for the sake of the others */

/* Numbers of patches that are larger than so many nodes, and than so many steps of corners. */
typedef struct tally {
    int *nodes, *corners;
} tally;

static void count_larger(int n, int *larger)
{
    for (int i = n, sum = 0; i >= 0; i--) {
        const int here = larger[i];
        larger[i] = sum, sum += here;
    }
}

static fe_status count_patches(const patch_draft *k, tally *t)
{
    const patch_plan *plan = k->plan;
    const int steps = plan->most_corners / PATCH_TOGETHER;
    FE_ALLOCATE(t->nodes, plan->most_nodes + 1, "patches");
    FE_ALLOCATE(t->corners, steps + 1, "patches");
    for (int i = 0; i < k->n_piece[0] + k->n_piece[1]; i++)
        for (const patch_cut *s = k->piece[i]; s; s = s->next)
            t->nodes[s->n_node]++, t->corners[s->n_corner / PATCH_TOGETHER]++;
    count_larger(plan->most_nodes, t->nodes);
    count_larger(steps, t->corners);
    return FE_OK;
}

/* Whether as many blocks fit as there are registers for. */
static int fits(const patch_draft *k, int nodes, int corners)
{
    const patch_processor *p = &k->plan->processor;
    patch_plan plan = *k->plan;
    plan.most_nodes = nodes, plan.most_corners = corners;
    patch_lay_out(&plan, k->kind, k->scalar);
    const int bytes = patch_shared_bytes(k->kind, &plan, (int)k->scalar, (int)k->number);
    return PATCH_BLOCKS(k->kind, k->scalar) * (bytes + p->kept) <= p->shared;
}

/* Trades nodes for corners: the pair of limits above which there are the fewest patches. */
static void lower(patch_draft *k, const tally *t)
{
    const patch_plan *plan = k->plan;
    int nodes = plan->most_nodes, least = plan->n_patch / FEW + 1;
    for (int corners = plan->most_corners; corners > 0; corners -= PATCH_TOGETHER) {
        while (nodes > 0 && !fits(k, nodes, corners)) nodes--;
        while (nodes < plan->most_nodes && fits(k, nodes + 1, corners)) nodes++;
        const int larger = t->nodes[nodes] + t->corners[corners / PATCH_TOGETHER];
        if (larger < least) least = larger, k->most_nodes = nodes, k->most_corners = corners;
        if (nodes == plan->most_nodes) return;
    }
}

fe_status patch_lower_limits(patch_draft *k)
{
    tally t = {0};
    if (!k->plan->processor.shared || k->plan->n_patch == 0) return FE_OK;
    const fe_status status = count_patches(k, &t);
    if (status == FE_OK) lower(k, &t);
    free(t.nodes), free(t.corners);
    return status;
}
