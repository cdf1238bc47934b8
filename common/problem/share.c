/* One rank's share: its nodes, ghosts and elements in local numbers, and its halo. */
#include "common/problem/share.h"

#include <stdlib.h>
#include <string.h>

/* Elements with an owned corner: interior ones (all corners owned) first. */
static fe_status take_elements(const fe_mesh *mesh, const fe_partition *p, fe_share *s)
{
    const int n_corner = fe_corners(mesh->kind);
    for (int fill = 0; fill < 2; fill++) {
        int interior = 0, border = s->n_elem_interior;
        for (int e = 0; e < mesh->n_elem; e++) {
            const int *node = mesh->conn + (size_t)e * n_corner;
            int owned = 0, lowest = p->n_rank;
            for (int c = 0; c < n_corner; c++) {
                const int owner = p->owner[node[c]];
                owned += owner == s->rank;
                if (owner < lowest) lowest = owner;
            }
            if (!owned) continue;
            int *at = owned == n_corner ? &interior : &border;
            if (fill) s->elem[*at] = e, s->counted[*at] = lowest == s->rank;
            (*at)++;
        }
        if (fill) break;
        s->n_elem_interior = interior;
        s->n_elem = interior + border;
        FE_ALLOCATE(s->elem, s->n_elem, "elements of a rank");
        FE_ALLOCATE(s->counted, s->n_elem, "elements of a rank");
    }
    return FE_OK;
}

static int by_owner(const void *left, const void *right, void *context)
{
    const fe_partition *p = context;
    const int a = *(const int *)left, b = *(const int *)right;
    if (p->owner[a] != p->owner[b]) return p->owner[a] < p->owner[b] ? -1 : 1;
    return (p->local[a] > p->local[b]) - (p->local[a] < p->local[b]);
}

/* Owned nodes by their numbers, then ghosts sorted by owner and number. */
static fe_status take_nodes(const fe_mesh *mesh, const fe_partition *p, fe_share *s, int *mark)
{
    const int n_corner = fe_corners(mesh->kind);
    int n_ghost = 0;
    s->n_owned = p->n_owned[s->rank], s->n_node_interior = p->n_interior[s->rank];
    for (int fill = 0; fill < 2; fill++) {
        n_ghost = 0;
        for (int k = s->n_elem_interior; k < s->n_elem; k++)
            for (int c = 0; c < n_corner; c++) {
                const int i = mesh->conn[(size_t)s->elem[k] * n_corner + c];
                if (p->owner[i] == s->rank || mark[i] == fill + 1) continue;
                mark[i] = fill + 1;
                if (fill) s->node[s->n_owned + n_ghost] = i;
                n_ghost++;
            }
        if (!fill) FE_ALLOCATE(s->node, s->n_owned + n_ghost, "nodes of a rank");
    }
    s->n_local = s->n_owned + n_ghost;
    for (int i = 0; i < mesh->n_node; i++)
        if (p->owner[i] == s->rank) s->node[p->local[i]] = i;
    qsort_r(s->node + s->n_owned, (size_t)n_ghost, sizeof *s->node, by_owner, (void *)p);
    return FE_OK;
}

static fe_status build_receive(const fe_partition *p, fe_share *s)
{
    fe_halo *h = &s->halo;
    const int n_ghost = s->n_local - s->n_owned;
    FE_ALLOCATE(h->neighbor, p->n_rank, "halo");
    FE_ALLOCATE(h->ghost_first, p->n_rank + 1, "halo");
    FE_ALLOCATE(h->source, n_ghost, "halo");
    h->ghost_first[0] = s->n_owned;
    for (int g = 0; g < n_ghost; g++) {
        const int node = s->node[s->n_owned + g], owner = p->owner[node];
        if (!h->n_neighbor || h->neighbor[h->n_neighbor - 1] != owner) h->neighbor[h->n_neighbor++] = owner;
        h->ghost_first[h->n_neighbor] = s->n_owned + g + 1;
        h->source[g] = p->local[node];
    }
    return FE_OK;
}

/* An owned node goes to each rank that owns another corner of an element at it: the mirror of the peer's
 * ghosts, in ascending order of our number as the peer sorts them. Neighbours are mutual. */
static fe_status build_send(const fe_mesh *mesh, const fe_partition *p, fe_share *s, int *mark)
{
    const int n_corner = fe_corners(mesh->kind);
    fe_halo *h = &s->halo;
    FE_ALLOCATE(h->send_first, p->n_rank + 1, "halo");
    for (int fill = 0; fill < 2; fill++) {
        int n = 0;
        for (int i = 0; i < h->n_neighbor; i++) {
            const int peer = h->neighbor[i], tag = 2 + fill * h->n_neighbor + i + 1;
            const int start = n;
            h->send_first[i] = n;
            for (int k = s->n_elem_interior; k < s->n_elem; k++) {
                const int *node = mesh->conn + (size_t)s->elem[k] * n_corner;
                int shared = 0;
                for (int c = 0; c < n_corner; c++) shared |= p->owner[node[c]] == peer;
                for (int c = 0; c < n_corner && shared; c++) {
                    if (p->owner[node[c]] != s->rank || mark[node[c]] == tag) continue;
                    mark[node[c]] = tag;
                    if (fill) h->send_node[n] = node[c];
                    n++;
                }
            }
            if (fill) {
                qsort_r(h->send_node + start, (size_t)(n - start), sizeof *h->send_node, by_owner, (void *)p);
                for (int k = start; k < n; k++) h->send_node[k] = p->local[h->send_node[k]];
            }
        }
        h->send_first[h->n_neighbor] = n;
        if (!fill) FE_ALLOCATE(h->send_node, n, "halo");
    }
    return FE_OK;
}

fe_status fe_share_build(const fe_mesh *mesh, const fe_partition *p, int rank, fe_share *s)
{
    int *mark = NULL;
    *s = (fe_share){.rank = rank};
    FE_TRY(take_elements(mesh, p, s));
    FE_ALLOCATE(mark, mesh->n_node, "share of a rank");
    fe_status status = take_nodes(mesh, p, s, mark);
    if (status == FE_OK) status = build_receive(p, s);
    if (status == FE_OK) status = build_send(mesh, p, s, mark);
    free(mark);
    return status;
}

void fe_share_close(fe_share *s)
{
    fe_halo *h = &s->halo;
    free(s->node), free(s->elem), free(s->counted);
    free(h->neighbor), free(h->ghost_first), free(h->source), free(h->send_first), free(h->send_node);
    *s = (fe_share){0};
}
