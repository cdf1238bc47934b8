/* Set-up: blocks in the order of their colours, on the device. */
#include "common/backend/device.h"
#include "variants/element_color/draft.h"

#include <stdlib.h>

/* Marks the nodes of the blocks to which no block before them adds. */
static fe_status mark_first(element_color_draft *k, const int *order)
{
    char *seen = NULL;
    FE_ALLOCATE(seen, k->p->view.n_local, "colours");
    for (int i = 0; i < k->n_block; i++) {
        const element_color_block *b = &k->block[order[i]];
        for (int *node = k->node + b->first_node, *end = node + b->n_node; node < end; node++) {
            const int first = !seen[*node];
            seen[*node] = 1;
            if (first) *node = ~*node;
        }
    }
    free(seen);
    return FE_OK;
}

static fe_status upload(const element_color_draft *k, const int *sorted, element_color_order *order)
{
    const size_t places = (size_t)k->n_block * k->elements;
    element_color_block *block = NULL;
    fe_device *d = k->p->device;
    FE_RESERVE(block, k->n_block, "colours");
    for (int i = 0; i < k->n_block; i++) block[i] = k->block[sorted[i]];
    const fe_status status = fe_device_upload(d, (size_t)k->n_block, sizeof *block, block, "blocks by colour",
                                              (void **)&order->block);
    free(block);
    FE_TRY(status);
    FE_TRY(
        fe_device_upload(d, places, sizeof *k->elem, k->elem, "elements of blocks", (void **)&order->elem));
    FE_TRY(
        fe_device_upload(d, places, sizeof *k->color, k->color, "colours in blocks", (void **)&order->color));
    FE_TRY(fe_device_upload(d, places * k->n_corner, sizeof *k->corner, k->corner, "corners in blocks",
                            (void **)&order->corner));
    return fe_device_upload(d, (size_t)k->n_node, sizeof *k->node, k->node, "nodes of blocks",
                            (void **)&order->node);
}

static fe_status build(element_color_draft *k, int **sorted, element_color_order *order)
{
    FE_TRY(fe_problem_host_mesh(k->p, &k->mesh));
    FE_TRY(element_color_cut(k));
    FE_RESERVE(*sorted, k->n_block, "colours");
    const int first[3] = {0, k->n_interior, k->n_block};
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        FE_TRY(element_color_blocks(k, first[part], first[part + 1], *sorted, &order->n_color[part],
                                    &order->first[part]));
    FE_TRY(mark_first(k, *sorted));
    return upload(k, *sorted, order);
}

fe_status element_color_open(fe_problem *p, int elements, int nodes, int by_color, void **work)
{
    element_color_draft k = {.p = p,
                             .n_corner = fe_corners(p->kind),
                             .elements = elements,
                             .nodes = nodes,
                             .by_color = by_color,
                             .threads = fe_device_host_threads(p->device),
                             .ld = (size_t)p->view.ld};
    int *sorted = NULL;
    FE_TRY(fe_device_keep(p->device, sizeof(element_color_order), "element_color", work));
    const fe_status status = build(&k, &sorted, *work);
    free(k.block), free(k.elem), free(k.corner), free(k.color), free(k.node), free(sorted);
    return status;
}
