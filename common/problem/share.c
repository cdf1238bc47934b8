/* One rank's share: its nodes, ghosts and elements in local numbers, and its halo. */
#include "common/problem/share.h"
#include "common/base/chunk.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { FAR, AT_BORDER, INSIDE };             /* elements with no, some, and all corners owned by a rank */
enum { ELSEWHERE, GHOST, BORDER, INTERIOR }; /* nodes */
enum { N_PLACE = 4, MOST_CHUNKS = 256 };

/* *to: the items order [n] (NULL: 0, 1, ...) that have a place, those of the highest first, each in their
 * order. count: how many have each place. */
static fe_status sort_by_place(int n, const int *order, const uint8_t *place, const char *what,
                               int count[N_PLACE], int **to)
{
    const int threads = omp_get_max_threads(), chunks = threads < MOST_CHUNKS ? threads : MOST_CHUNKS;
    int at[MOST_CHUNKS][N_PLACE], n_placed = 0;
#pragma omp parallel for schedule(static, 1) num_threads(chunks)
    for (int t = 0; t < chunks; t++) {
        int here[N_PLACE] = {0};
        for (int k = fe_chunk(n, t, chunks); k < fe_chunk(n, t + 1, chunks); k++)
            here[place[order ? order[k] : k]]++;
        memcpy(at[t], here, sizeof here);
    }
    for (int p = N_PLACE - 1; p > 0; p--) {
        const int before = n_placed;
        for (int t = 0; t < chunks; t++) {
            const int here = at[t][p];
            at[t][p] = n_placed;
            n_placed += here;
        }
        count[p] = n_placed - before;
    }
    count[0] = n - n_placed;
    FE_TRY(fe_reserve((size_t)n_placed, sizeof **to, what, (void **)to));
#pragma omp parallel for schedule(static, 1) num_threads(chunks)
    for (int t = 0; t < chunks; t++) {
        int here[N_PLACE]; /* a copy: threads would write to one cache line */
        memcpy(here, at[t], sizeof here);
        for (int k = fe_chunk(n, t, chunks); k < fe_chunk(n, t + 1, chunks); k++) {
            const int i = order ? order[k] : k;
            if (place[i]) (*to)[here[place[i]]++] = i;
        }
    }
    return FE_OK;
}

static int place_of(const fe_mesh *mesh, const fe_partition *p, int rank, int e)
{
    const int n_corner = fe_corners(mesh->kind), *node = mesh->conn + (size_t)e * n_corner;
    int owned = 0;
    for (int c = 0; c < n_corner; c++) owned += p->owner[node[c]] == rank;
    return owned == 0 ? FAR : owned < n_corner ? AT_BORDER : INSIDE;
}

static int lowest_owner(const fe_mesh *mesh, const fe_partition *p, int e)
{
    const int n_corner = fe_corners(mesh->kind), *node = mesh->conn + (size_t)e * n_corner;
    int lowest = p->n_rank;
    for (int c = 0; c < n_corner; c++)
        if (p->owner[node[c]] < lowest) lowest = p->owner[node[c]];
    return lowest;
}

/* Whether pieces are cut anew from the elements of each part. Those of an arrangement are of all elements. */
static int has_own_pieces(const fe_partition *p, const fe_arrangement *a, const fe_share *s)
{
    return s->in_pieces && (!a || p->n_rank > 1);
}

/* Elements with an owned corner: interior ones (all corners owned) first; in the order asked for. place
 * [n_elem] is scratch. */
static fe_status find_elements(const fe_mesh *mesh, const fe_partition *p, const fe_arrangement *a,
                               uint8_t *place, fe_share *s)
{
    int count[N_PLACE];
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads())
    for (int e = 0; e < mesh->n_elem; e++) place[e] = (uint8_t)place_of(mesh, p, s->rank, e);
    FE_TRY(sort_by_place(mesh->n_elem, a ? a->elem : NULL, place, "elements of a rank", count, &s->elem));
    s->n_elem_interior = count[INSIDE], s->n_elem = count[INSIDE] + count[AT_BORDER];
    return FE_OK;
}

static fe_status take_elements(const fe_mesh *mesh, const fe_partition *p, const fe_arrangement *a,
                               fe_share *s)
{
    uint8_t *place = NULL;
    FE_RESERVE(place, mesh->n_elem, "elements of a rank");
    const fe_status status = find_elements(mesh, p, a, place, s);
    free(place);
    FE_TRY(status);
    s->in_pieces = a ? a->in_pieces : mesh->in_pieces;
    if (has_own_pieces(p, a, s)) {
        FE_TRY(fe_mesh_sort_pieces(mesh, s->n_elem_interior, s->elem));
        FE_TRY(fe_mesh_sort_pieces(mesh, s->n_elem - s->n_elem_interior, s->elem + s->n_elem_interior));
    }
    FE_RESERVE(s->counted, s->n_elem, "elements of a rank");
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads())
    for (int k = 0; k < s->n_elem; k++) s->counted[k] = lowest_owner(mesh, p, s->elem[k]) == s->rank;
    return FE_OK;
}

/* The order of halos: by owner, then by the tags of nodes, which are the same on all ranks. */
typedef struct halo_order {
    const int *owner, *node; /* node: of a local number, or NULL where the mesh's own are sorted */
    const int64_t *tag;
} halo_order;

static int in_halo_order(const void *left, const void *right, void *context)
{
    const halo_order *o = context;
    const int i = *(const int *)left, j = *(const int *)right;
    const int a = o->node ? o->node[i] : i, b = o->node ? o->node[j] : j;
    return o->owner[a] != o->owner[b] ? (o->owner[a] > o->owner[b]) - (o->owner[a] < o->owner[b])
                                      : (o->tag[a] > o->tag[b]) - (o->tag[a] < o->tag[b]);
}

/* Owned nodes and ghosts, by place. place [n_node] is scratch. */
static fe_status find_nodes(const fe_mesh *mesh, const fe_partition *p, const fe_arrangement *a,
                            uint8_t *place, fe_share *s)
{
    const int n_corner = fe_corners(mesh->kind);
    int count[N_PLACE];
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads())
    for (int i = 0; i < mesh->n_node; i++) place[i] = p->owner[i] == s->rank ? INTERIOR : ELSEWHERE;
    for (int k = s->n_elem_interior; k < s->n_elem; k++)
        for (int c = 0; c < n_corner; c++) {
            const int i = mesh->conn[(size_t)s->elem[k] * n_corner + c];
            place[i] = p->owner[i] == s->rank ? BORDER : GHOST;
        }
    FE_TRY(sort_by_place(mesh->n_node, a ? a->node : NULL, place, "nodes of a rank", count, &s->node));
    s->n_node_interior = count[INTERIOR];
    s->n_owned = count[INTERIOR] + count[BORDER];
    s->n_local = s->n_owned + count[GHOST];
    return FE_OK;
}

static fe_status take_nodes(const fe_mesh *mesh, const fe_partition *p, const fe_arrangement *a, fe_share *s)
{
    const int threads = omp_get_max_threads();
    uint8_t *place = NULL;
    FE_RESERVE(s->local, mesh->n_node, "nodes of a rank");
    FE_RESERVE(place, mesh->n_node, "nodes of a rank");
    const fe_status status = find_nodes(mesh, p, a, place, s);
    free(place);
    FE_TRY(status);
    if (has_own_pieces(p, a, s)) { /* a patch finds its nodes side by side */
        const int interior = s->n_node_interior, from = s->n_elem_interior;
        FE_TRY(fe_mesh_sort_nodes(mesh, from, s->elem, interior, s->node));
        FE_TRY(fe_mesh_sort_nodes(mesh, s->n_elem - from, s->elem + from, s->n_owned - interior,
                                  s->node + interior));
    }
    halo_order order = {p->owner, NULL, mesh->node_tag};
    qsort_r(s->node + s->n_owned, (size_t)(s->n_local - s->n_owned), sizeof *s->node, in_halo_order, &order);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < mesh->n_node; i++) s->local[i] = -1;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < s->n_local; i++) s->local[s->node[i]] = i;
    return FE_OK;
}

static fe_status build_receive(const fe_partition *p, fe_share *s)
{
    fe_halo *h = &s->halo;
    FE_ALLOCATE(h->neighbor, p->n_rank, "halo");
    FE_ALLOCATE(h->ghost_first, p->n_rank + 1, "halo");
    h->ghost_first[0] = s->n_owned;
    for (int g = s->n_owned; g < s->n_local; g++) {
        const int owner = p->owner[s->node[g]];
        if (!h->n_neighbor || h->neighbor[h->n_neighbor - 1] != owner) h->neighbor[h->n_neighbor++] = owner;
        h->ghost_first[h->n_neighbor] = g + 1;
    }
    return FE_OK;
}

/* An owned node is sent to each rank that owns another corner of one of its elements; there it is a ghost.
 * Neighbours are mutual. */
static fe_status build_send(const fe_mesh *mesh, const fe_partition *p, fe_share *s, int *mark)
{
    const int n_corner = fe_corners(mesh->kind);
    fe_halo *h = &s->halo;
    halo_order order = {p->owner, s->node, mesh->node_tag};
    FE_ALLOCATE(h->send_first, p->n_rank + 1, "halo");
    for (int fill = 0; fill < 2; fill++) {
        int n = 0;
        for (int i = 0; i < h->n_neighbor; i++) {
            const int peer = h->neighbor[i], tag = fill * h->n_neighbor + i + 1;
            const int start = n;
            h->send_first[i] = n;
            for (int k = s->n_elem_interior; k < s->n_elem; k++) {
                const int *node = mesh->conn + (size_t)s->elem[k] * n_corner;
                int shared = 0;
                for (int c = 0; c < n_corner; c++) shared |= p->owner[node[c]] == peer;
                for (int c = 0; c < n_corner && shared; c++) {
                    const int local = s->local[node[c]];
                    if (local >= s->n_owned || mark[local] == tag) continue;
                    mark[local] = tag;
                    if (fill) h->send_node[n] = local;
                    n++;
                }
            }
            if (fill)
                qsort_r(h->send_node + start, (size_t)(n - start), sizeof *h->send_node, in_halo_order,
                        &order);
        }
        h->send_first[h->n_neighbor] = n;
        if (!fill) FE_ALLOCATE(h->send_node, n, "halo");
    }
    return FE_OK;
}

fe_status fe_share_build(const fe_mesh *mesh, const fe_partition *p, const fe_arrangement *a, int rank,
                         fe_share *s)
{
    int *mark = NULL;
    *s = (fe_share){.rank = rank};
    FE_TRY(take_elements(mesh, p, a, s));
    FE_TRY(take_nodes(mesh, p, a, s));
    FE_TRY(build_receive(p, s));
    FE_ALLOCATE(mark, s->n_owned, "share of a rank");
    const fe_status status = build_send(mesh, p, s, mark);
    free(mark);
    return status;
}

void fe_share_close(fe_share *s)
{
    fe_halo *h = &s->halo;
    free(s->node), free(s->local), free(s->elem), free(s->counted);
    free(h->neighbor), free(h->ghost_first), free(h->send_first), free(h->send_node);
    *s = (fe_share){0};
}

fe_status fe_share_quality(const fe_share *s, fe_comm *comm, fe_device *d, fe_partition_quality *quality)
{
    enum { ELEMENTS, COUNTED, OWNED, GHOSTS, N_SUM, NEIGHBORS = N_SUM, MOST_ELEMENTS, N };
    double host[N] = {[ELEMENTS] = s->n_elem,
                      [OWNED] = s->n_owned,
                      [GHOSTS] = s->n_local - s->n_owned,
                      [NEIGHBORS] = s->halo.n_neighbor,
                      [MOST_ELEMENTS] = s->n_elem};
    double *all = NULL;
    for (int e = 0; e < s->n_elem; e++) host[COUNTED] += s->counted[e];
    FE_TRY(fe_device_upload(d, N, sizeof *host, host, "quality of a partition", (void **)&all));
    FE_TRY(fe_comm_sum(comm, d, N_SUM, all));
    FE_TRY(fe_comm_largest(comm, d, N - N_SUM, all + N_SUM));
    FE_TRY(d->ops->memory.download(d, sizeof host, all, host));
    d->ops->memory.release(d, all);
    *quality = (fe_partition_quality){.imbalance = host[MOST_ELEMENTS] * comm->size / host[ELEMENTS],
                                      .ghosts = host[GHOSTS] / host[OWNED],
                                      .duplicates = host[ELEMENTS] / host[COUNTED] - 1.0,
                                      .most_neighbors = (int)host[NEIGHBORS]};
    return FE_OK;
}
