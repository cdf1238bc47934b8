/* Nodes of different parts at one place: what is left where the parts of an assembly were meshed one by one
 * and not merged. */
#include "common/mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

/* Nodes by the cells of a grid, in a hash table that is at most half full. Cells are a little longer than the
 * shortest edge, so that few nodes share one, and much longer than the distance that is looked for, so that
 * the neighbours of a cell are seldom asked. */
typedef struct grid {
    const double *x; /* [n][3] */
    double cell, distance;
    uint32_t mask;
    int *slot; /* [mask + 1] last node of a cell + 1, 0 where free */
    int *next; /* [n] the node before it in its cell, -1 at the end */
} grid;

typedef struct place {
    double at[3]; /* whole numbers; doubles, because they may be large */
} place;

/* The shift keeps the sides of cells away from the planes of nodes of regular meshes. */
static place cell_of(const grid *g, const double x[3], double shift)
{
    place c;
    for (int i = 0; i < 3; ++i) c.at[i] = floor((x[i] + shift) / g->cell + 0.382) + 0.0; /* no -0 */
    return c;
}

static int same_place(const place *a, const place *b)
{
    return a->at[0] == b->at[0] && a->at[1] == b->at[1] && a->at[2] == b->at[2];
}

/* The slot of a cell, or the free one where it would be. */
static uint32_t find_cell(const grid *g, const place *c)
{
    uint64_t hash = 0, word;
    for (int i = 0; i < 3; ++i) {
        memcpy(&word, &c->at[i], sizeof word);
        hash = fe_mix(hash ^ word);
    }
    for (uint32_t s = (uint32_t)hash & g->mask;; s = (s + 1) & g->mask) {
        if (!g->slot[s]) return s;
        const place mine = cell_of(g, g->x + 3 * (size_t)(g->slot[s] - 1), 0);
        if (same_place(&mine, c)) return s;
    }
}

/* A node of this cell and another part that is near enough; -1: no node is. */
static int twin_in(const grid *g, const int *part, int node, const place *c)
{
    enum { MOST = 256 }; /* nodes that are asked: a mesh made for it may have all in one cell */
    const double *x = g->x + 3 * (size_t)node;
    int other = g->slot[find_cell(g, c)] - 1;
    for (int n = 0; other >= 0 && n < MOST; other = g->next[other], ++n) {
        const double *y = g->x + 3 * (size_t)other;
        const double d[3] = {x[0] - y[0], x[1] - y[1], x[2] - y[2]};
        if (part[other] != part[node] && sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) <= g->distance)
            return other;
    }
    return -1;
}

static int find_twin(const grid *g, const int *part, int node)
{
    const double *x = g->x + 3 * (size_t)node;
    const place low = cell_of(g, x, -g->distance), high = cell_of(g, x, g->distance);
    int twin = -1;
    for (int k = 0; k < 8 && twin < 0; ++k) { /* cells of the corners of a box around the node, each once */
        place c;
        int repeated = 0;
        for (int i = 0; i < 3; ++i) {
            c.at[i] = k >> i & 1 ? high.at[i] : low.at[i];
            repeated |= (k >> i & 1) && high.at[i] == low.at[i];
        }
        if (!repeated) twin = twin_in(g, part, node, &c);
    }
    return twin;
}

/* Of the three edges at each element's first corner: a measure of the elements' size, soon found. */
static double shortest_edge(const fe_mesh *mesh)
{
    static const int tet4[3] = {1, 2, 3}, hex8[3] = {1, 3, 4};
    const int n_corner = fe_corners(mesh->kind), *neighbour = fe_is_tet(mesh->kind) ? tet4 : hex8;
    double shortest = INFINITY;
#pragma omp parallel for reduction(min : shortest)
    for (int e = 0; e < mesh->n_elem; ++e) {
        const int *corner = mesh->conn + (size_t)e * n_corner;
        const double *p = mesh->x + 3 * (size_t)corner[0];
        for (int k = 0; k < 3; ++k) {
            const double *q = mesh->x + 3 * (size_t)corner[neighbour[k]];
            const double d[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]};
            shortest = fmin(shortest, d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        }
    }
    return sqrt(shortest);
}

typedef struct box {
    double low[3], high[3];
} box;

/* Boxes around the parts, wider by the distance; NULL where there are many: then each node is looked for. */
static fe_status enclose(const fe_mesh *mesh, const int *part, int n_part, double distance, box **boxes)
{
    enum { MANY = 16 };
    *boxes = NULL;
    if (n_part > MANY) return FE_OK;
    FE_ALLOCATE(*boxes, n_part, "boxes around parts");
    for (int p = 0; p < n_part; ++p)
        for (int i = 0; i < 3; ++i) (*boxes)[p].low[i] = INFINITY, (*boxes)[p].high[i] = -INFINITY;
    for (int node = 0; node < mesh->n_node; ++node)
        for (int i = 0; i < 3; ++i) {
            box *b = &(*boxes)[part[node]];
            b->low[i] = fmin(b->low[i], mesh->x[3 * (size_t)node + i] - distance);
            b->high[i] = fmax(b->high[i], mesh->x[3 * (size_t)node + i] + distance);
        }
    return FE_OK;
}

/* Whether a node lies in the box of another part. */
static int may_coincide(const box *boxes, int n_part, const int *part, const double *x, int node)
{
    for (int p = 0; p < n_part && boxes; ++p) {
        const double *low = boxes[p].low, *high = boxes[p].high;
        if (p != part[node] && x[0] >= low[0] && x[0] <= high[0] && x[1] >= low[1] && x[1] <= high[1] &&
            x[2] >= low[2] && x[2] <= high[2])
            return 1;
    }
    return !boxes;
}

/* Each node looks for those before it, then joins them. */
static void find_twins(grid *g, const fe_mesh *mesh, const box *boxes, const int *part, fe_coincidence *found)
{
    for (int node = 0; node < mesh->n_node; ++node) {
        const double *x = mesh->x + 3 * (size_t)node;
        if (!may_coincide(boxes, found->n_part, part, x, node)) continue;
        const int twin = find_twin(g, part, node);
        if (twin >= 0 && found->n_node++ == 0) {
            found->example[0] = twin;
            found->example[1] = node;
        }
        const place c = cell_of(g, x, 0);
        const uint32_t s = find_cell(g, &c);
        g->next[node] = g->slot[s] - 1;
        g->slot[s] = node + 1;
    }
}

static fe_status search(const fe_mesh *mesh, const int *part, fe_coincidence *found)
{
    const double edge = shortest_edge(mesh);
    if (!(edge > 0) || !isfinite(edge)) return FE_OK; /* beyond what squares of doubles hold */
    grid g = {.x = mesh->x, .cell = 1.3 * edge, .distance = FE_COINCIDENT * edge, .mask = 15};
    while (g.mask < 2 * (uint32_t)mesh->n_node - 1 && g.mask < 0x7fffffff) g.mask = 2 * g.mask + 1;
    FE_ALLOCATE(g.slot, (size_t)g.mask + 1, "table of nodes");
    box *boxes = NULL;
    fe_status status = fe_reserve((size_t)mesh->n_node, sizeof *g.next, "table of nodes", (void **)&g.next);
    if (status == FE_OK) status = enclose(mesh, part, found->n_part, g.distance, &boxes);
    if (status == FE_OK) find_twins(&g, mesh, boxes, part, found);
    free(boxes);
    free(g.slot);
    free(g.next);
    return status;
}

fe_status fe_mesh_coincident(const fe_mesh *mesh, fe_coincidence *found)
{
    int *part;
    *found = (fe_coincidence){0};
    FE_TRY(fe_mesh_components(mesh, &found->n_part, &part));
    const fe_status status = found->n_part > 1 ? search(mesh, part, found) : FE_OK;
    free(part);
    return status;
}
