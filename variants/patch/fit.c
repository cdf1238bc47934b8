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

/* Whether as many blocks fit as there are registers for, with numbers of these bytes. */
static int fits(const patch_draft *k, int nodes, int corners, size_t scalar, size_t number)
{
    const patch_processor *p = &k->plan->processor;
    patch_plan plan = *k->plan;
    plan.most_nodes = nodes, plan.most_corners = corners;
    patch_lay_out(&plan, k->kind, scalar);
    return (patch_shared_bytes(k->kind, &plan, (int)scalar, (int)number) + p->kept) *
               PATCH_BLOCKS(k->kind, scalar) <=
           p->shared;
}

/* Trades nodes for corners: the pair of limits above which there are the fewest patches. */
static void lower(patch_draft *k, const tally *t, size_t scalar, size_t number)
{
    int nodes = k->plan->most_nodes < k->most_nodes ? k->plan->most_nodes : k->most_nodes;
    int corners = k->plan->most_corners < k->most_corners ? k->plan->most_corners : k->most_corners;
    const int most = nodes;
    int least = k->plan->n_patch / FEW + 1;
    if (fits(k, nodes, corners, scalar, number)) return;
    for (int c = corners; c > 0; c -= PATCH_TOGETHER) {
        while (nodes > 0 && !fits(k, nodes, c, scalar, number)) nodes--;
        while (nodes < most && fits(k, nodes + 1, c, scalar, number)) nodes++;
        const int larger = t->nodes[nodes] + t->corners[c / PATCH_TOGETHER];
        if (larger < least) least = larger, k->most_nodes = nodes, k->most_corners = c;
        if (nodes == most) break;
    }
}

fe_status patch_lower_limits(patch_draft *k)
{
    tally t = {0};
    if (!k->plan->processor.shared || k->plan->n_patch == 0) return FE_OK;
    const fe_status status = count_patches(k, &t);
    if (status == FE_OK) {
        lower(k, &t, k->scalar, k->number);
        lower(k, &t, sizeof(float), sizeof(float)); /* patch_plan_narrow: the same patches */
    }
    free(t.nodes), free(t.corners);
    return status;
}
