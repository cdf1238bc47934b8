/* Unstructured meshes in any size: a grid of cells, cut in irregular ways, then refined, or made quadratic.
 */
#include "common/mesh/mesh.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { BRICK = 4, MOST_DIAGONALS = 7, MOST_SPLIT = 2 };
/* Largest displacement of a node of the grid, in cells. */
static const double distort[2] = {0.15, 0.1}; /* tetrahedra, hexahedra */

/* The grid of n × n × n cells in [0, 1]³. Vertices are (i, j, k) with 0 ≤ i, j, k ≤ n; the cell of a vertex
 * is the one of which it is the lowest. */
typedef struct grid {
    int kind, n; /* of linear elements */
    uint64_t seed;
    int n_vertex;   /* (n + 1)³ */
    int stride[3];  /* between vertices */
    int *visit;     /* [n_vertex] vertices, brick after brick */
    char *diagonal; /* [3][n_vertex] Tet4: which diagonal cuts the face across an axis at its lowest vertex */
    char *split;    /* [n_vertex] Hex8: the cell holds a smaller one */
    char *taken;    /* [n_vertex] diagonals, or split cells, at a vertex */
    int n_split;
    int *vertex_node; /* [n_vertex] its node */
    int *inner_node;  /* [n_vertex] the first node inside its cell, -1: none */
} grid;

static void close_grid(grid *g)
{
    free(g->visit), free(g->diagonal), free(g->split), free(g->taken), free(g->vertex_node),
        free(g->inner_node);
}

static uint64_t random_of(const grid *g, uint64_t a, uint64_t b)
{
    return fe_mix(fe_mix(g->seed ^ a * FE_WORD_STEP) ^ b);
}

static void place_of(const grid *g, int vertex, int at[3])
{
    for (int i = 0; i < 3; ++i) at[i] = vertex / g->stride[i] % (g->n + 1);
}

static int is_cell(const grid *g, int vertex)
{
    int at[3];
    place_of(g, vertex, at);
    return at[0] < g->n && at[1] < g->n && at[2] < g->n;
}

/* Nodes with n cells an axis; of Hex8 with about a fifth of the cells split. */
static double nodes_of(int kind, double n)
{
    const double faces = 3.0 * (n + 1) * n * n;
    if (kind == FE_TET4)
        return pow(n + 1, 3) + n * n * n + 3.0 * n * (n + 1) * (n + 1) + faces + 8.0 * n * n * n;
    return pow(2 * n + 1, 3) + 52.0 * 0.19 * n * n * n;
}

/* --- choices ---------------------------------------------------------------------------------------------
 */

/* Bricks in random order, vertices within a brick by z, y, x. */
static fe_status visit_bricks(grid *g)
{
    const int side = g->n / BRICK + 1, n_brick = side * side * side;
    int *brick = NULL, n = 0;
    FE_ALLOCATE(g->visit, g->n_vertex, "irregular mesh");
    FE_ALLOCATE(brick, n_brick, "irregular mesh");
    for (int b = 0; b < n_brick; ++b) brick[b] = b;
    for (int b = n_brick - 1; b > 0; --b) { /* Fisher-Yates */
        const int other = (int)(random_of(g, 1, (uint64_t)b) % (uint64_t)(b + 1)), t = brick[b];
        brick[b] = brick[other], brick[other] = t;
    }
    for (int b = 0; b < n_brick; ++b) {
        const int low[3] = {BRICK * (brick[b] % side), BRICK * (brick[b] / side % side),
                            BRICK * (brick[b] / side / side)};
        for (int k = low[2]; k < low[2] + BRICK && k <= g->n; ++k)
            for (int j = low[1]; j < low[1] + BRICK && j <= g->n; ++j)
                for (int i = low[0]; i < low[0] + BRICK && i <= g->n; ++i)
                    g->visit[n++] = i + g->stride[1] * j + g->stride[2] * k;
    }
    free(brick);
    return FE_OK;
}

/* Ends of diagonal d of the face across `axis`. */
static void diagonal_ends(const grid *g, int axis, int vertex, int d, int end[2])
{
    const int u = g->stride[(axis + 1) % 3], v = g->stride[(axis + 2) % 3];
    end[0] = d ? vertex + u : vertex, end[1] = d ? vertex + v : vertex + u + v;
}

/* A random diagonal for each face; the other one where a vertex would have more than MOST_DIAGONALS. */
static fe_status choose_diagonals(grid *g)
{
    FE_ALLOCATE(g->diagonal, 3 * (size_t)g->n_vertex, "irregular mesh");
    FE_ALLOCATE(g->taken, g->n_vertex, "irregular mesh");
    for (int axis = 0; axis < 3; ++axis)
        for (int vertex = 0; vertex < g->n_vertex; ++vertex) {
            int at[3], end[2];
            place_of(g, vertex, at);
            if (at[(axis + 1) % 3] == g->n || at[(axis + 2) % 3] == g->n) continue;
            int d = (int)(random_of(g, 2 + (uint64_t)axis, (uint64_t)vertex) & 1);
            diagonal_ends(g, axis, vertex, d, end);
            d ^= g->taken[end[0]] >= MOST_DIAGONALS || g->taken[end[1]] >= MOST_DIAGONALS;
            diagonal_ends(g, axis, vertex, d, end);
            g->taken[end[0]]++, g->taken[end[1]]++;
            g->diagonal[(size_t)axis * g->n_vertex + vertex] = (char)d;
        }
    return FE_OK;
}

static void cell_vertices(const grid *g, int vertex, int corner[8])
{
    for (int b = 0; b < 8; ++b)
        corner[b] = vertex + (b & 1) * g->stride[0] + (b >> 1 & 1) * g->stride[1] + (b >> 2) * g->stride[2];
}

/* Every other cell, unless one of its corners is already that of MOST_SPLIT split cells. */
static fe_status choose_splits(grid *g)
{
    FE_ALLOCATE(g->split, g->n_vertex, "irregular mesh");
    FE_ALLOCATE(g->taken, g->n_vertex, "irregular mesh");
    for (int i = 0; i < g->n_vertex; ++i) {
        const int vertex = g->visit[i];
        int corner[8], full = 0;
        if (!is_cell(g, vertex) || random_of(g, 5, (uint64_t)vertex) & 1) continue;
        cell_vertices(g, vertex, corner);
        for (int b = 0; b < 8; ++b) full |= g->taken[corner[b]] == MOST_SPLIT;
        if (full) continue;
        for (int b = 0; b < 8; ++b) ++g->taken[corner[b]];
        g->split[vertex] = 1, ++g->n_split;
    }
    return FE_OK;
}

static fe_status open_grid(int kind, int n_node, uint64_t seed, grid *g)
{
    *g = (grid){.kind = kind, .n = 1, .seed = seed};
    if (kind != FE_TET4 && kind != FE_HEX8)
        return fe_fail(FE_BAD_INPUT, "irregular: element %d is neither hex8 nor tet4, tet10 or hex27", kind);
    while (nodes_of(kind, g->n + 0.5) < n_node) ++g->n;
    if (g->n > 600) return fe_fail(FE_BAD_INPUT, "irregular: %d nodes are too many", n_node);
    g->n_vertex = (g->n + 1) * (g->n + 1) * (g->n + 1);
    g->stride[0] = 1, g->stride[1] = g->n + 1, g->stride[2] = (g->n + 1) * (g->n + 1);
    FE_TRY(visit_bricks(g));
    return kind == FE_TET4 ? choose_diagonals(g) : choose_splits(g);
}

/* --- nodes -----------------------------------------------------------------------------------------------
 */

/* From cells to [0, 1], with cells that grow along the axis. */
static double graded(double cells, int n) { return (pow(FE_GRADING, cells / n) - 1) / (FE_GRADING - 1); }

/* Adds a random vector of at most `distort` cells. */
static void move(const grid *g, uint64_t node, double x[3])
{
    double r[3];
    uint64_t state = random_of(g, 6, node);
    do {
        for (int i = 0; i < 3; ++i) {
            state = fe_mix(state);
            r[i] = 0x1p-52 * (double)(state >> 11) - 1.0;
        }
    } while (r[0] * r[0] + r[1] * r[1] + r[2] * r[2] > 1.0);
    for (int i = 0; i < 3; ++i) x[i] += distort[g->kind == FE_HEX8] * r[i];
}

/* In units of cells. Nodes of the surface stay where they are. */
static void vertex_position(const grid *g, int vertex, double x[3])
{
    int at[3], inside = 1;
    place_of(g, vertex, at);
    for (int i = 0; i < 3; ++i) x[i] = at[i], inside &= at[i] > 0 && at[i] < g->n;
    if (inside) move(g, (uint64_t)vertex, x);
}

static void put_node(const grid *g, fe_mesh *mesh, const double x[3])
{
    for (int i = 0; i < 3; ++i) mesh->x[3 * (size_t)mesh->n_node + i] = graded(x[i], g->n);
    mesh->node_tag[mesh->n_node] = mesh->n_node + 1;
    ++mesh->n_node;
}

/* Nodes inside the cell of a vertex: one in the middle (Tet4), or the corners of a cell of half its size. */
static void put_inner_nodes(grid *g, fe_mesh *mesh, int vertex)
{
    double x[8][3], centre[3] = {0};
    int corner[8];
    if (!is_cell(g, vertex) || (g->kind == FE_HEX8 && !g->split[vertex])) return;
    g->inner_node[vertex] = mesh->n_node;
    cell_vertices(g, vertex, corner);
    for (int b = 0; b < 8; ++b) {
        vertex_position(g, corner[b], x[b]);
        for (int i = 0; i < 3; ++i) centre[i] += x[b][i] / 8;
    }
    if (g->kind == FE_TET4) {
        move(g, (uint64_t)g->n_vertex + (uint64_t)vertex, centre);
        put_node(g, mesh, centre);
        return;
    }
    for (int b = 0; b < 8; ++b) {
        for (int i = 0; i < 3; ++i) x[b][i] = 0.5 * (x[b][i] + centre[i]);
        put_node(g, mesh, x[b]);
    }
}

static fe_status make_nodes(grid *g, fe_mesh *mesh)
{
    const size_t n = g->kind == FE_TET4 ? (size_t)g->n_vertex + (size_t)g->n * g->n * g->n
                                        : (size_t)g->n_vertex + 8 * (size_t)g->n_split;
    FE_ALLOCATE(mesh->x, 3 * n, "coordinates");
    FE_ALLOCATE(mesh->node_tag, n, "node tags");
    FE_ALLOCATE(g->vertex_node, g->n_vertex, "irregular mesh");
    FE_ALLOCATE(g->inner_node, g->n_vertex, "irregular mesh");
    for (int i = 0; i < g->n_vertex; ++i) {
        const int vertex = g->visit[i];
        double x[3];
        g->vertex_node[vertex] = mesh->n_node;
        vertex_position(g, vertex, x);
        put_node(g, mesh, x);
        put_inner_nodes(g, mesh, vertex);
    }
    return FE_OK;
}

/* --- elements and sides ----------------------------------------------------------------------------------
 */

/* The two triangles of the face across `axis` at its lowest vertex, as vertices; their normals point along
 * the axis, or against it. */
static void face_triangles(const grid *g, int axis, int vertex, int against, int triangle[2][3])
{
    const int u = g->stride[(axis + 1) % 3], v = g->stride[(axis + 2) % 3];
    const int quad[4] = {vertex, vertex + (against ? v : u), vertex + u + v, vertex + (against ? u : v)};
    const int d = g->diagonal[(size_t)axis * g->n_vertex + vertex];
    for (int t = 0; t < 2; ++t)
        for (int a = 0; a < 3; ++a) triangle[t][a] = quad[(d + 2 * t + a) % 4];
}

static int *put_tets(const grid *g, int vertex, int *corner)
{
    for (int side = 0; side < 6; ++side) {
        const int axis = side / 2, end = side % 2;
        int triangle[2][3];
        face_triangles(g, axis, vertex + end * g->stride[axis], !end, triangle);
        for (int t = 0; t < 2; ++t) {
            *corner++ = g->vertex_node[triangle[t][0]], *corner++ = g->vertex_node[triangle[t][2]];
            *corner++ = g->vertex_node[triangle[t][1]], *corner++ = g->inner_node[vertex];
        }
    }
    return corner;
}

/* Binary corners of a cell in Gmsh's order. */
static const int gmsh_corner[8] = {0, 1, 3, 2, 4, 5, 7, 6};

static int *put_hexes(const grid *g, int vertex, int *conn)
{
    int outer[8];
    cell_vertices(g, vertex, outer);
    for (int b = 0; b < 8; ++b) outer[b] = g->vertex_node[outer[b]];
    const int inner = g->inner_node[vertex];
    if (!g->split[vertex]) {
        for (int a = 0; a < 8; ++a) *conn++ = outer[gmsh_corner[a]];
        return conn;
    }
    for (int a = 0; a < 8; ++a) *conn++ = inner + gmsh_corner[a];
    for (int side = 0; side < 6;
         ++side) { /* corner b of the other side lies where corner b ^ (1 << axis) is */
        const int axis = side / 2, end = side % 2;
        for (int a = 0; a < 8; ++a) {
            const int b = gmsh_corner[a], here = (b >> axis & 1) == end, on_side = here ? b : b ^ 1 << axis;
            *conn++ = here ? outer[on_side] : inner + on_side;
        }
    }
    return conn;
}

static fe_status make_elements(const grid *g, fe_mesh *mesh)
{
    const int nc = fe_corners(g->kind), n_cell = g->n * g->n * g->n;
    mesh->n_elem = g->kind == FE_TET4 ? 12 * n_cell : n_cell + 6 * g->n_split;
    FE_ALLOCATE(mesh->conn, (size_t)mesh->n_elem * nc, "elements");
    FE_ALLOCATE(mesh->elem_tag, mesh->n_elem, "element tags");
    FE_ALLOCATE(mesh->elem_group, mesh->n_elem, "element groups");
    int *corner = mesh->conn;
    for (int i = 0; i < g->n_vertex; ++i)
        if (is_cell(g, g->visit[i]))
            corner = nc == 4 ? put_tets(g, g->visit[i], corner) : put_hexes(g, g->visit[i], corner);
    for (int e = 0; e < mesh->n_elem; ++e) mesh->elem_tag[e] = e + 1, mesh->elem_group[e] = 7;
    return FE_OK;
}

static fe_status make_side(const grid *g, int side, fe_group *group)
{
    const int axis = side / 2, end = side % 2, n_facet = g->n * g->n * (g->kind == FE_TET4 ? 2 : 1);
    const char name[3] = {"xyz"[axis], end ? '1' : '0', 0};
    const int u = g->stride[(axis + 1) % 3], v = g->stride[(axis + 2) % 3];
    FE_TRY(fe_group_open(group, name, g->kind, 2, side + 1, (size_t)n_facet));
    int *facet = group->facet;
    for (int j = 0; j < g->n; ++j)
        for (int i = 0; i < g->n; ++i) {
            const int low = end * g->n * g->stride[axis] + i * u + j * v;
            const int quad[4] = {low, low + (end ? u : v), low + u + v, low + (end ? v : u)};
            int triangle[2][3];
            if (g->kind == FE_HEX8) {
                for (int a = 0; a < 4; ++a) *facet++ = g->vertex_node[quad[a]];
                continue;
            }
            face_triangles(g, axis, low, !end, triangle);
            for (int t = 0; t < 2; ++t) {
                for (int a = 0; a < 3; ++a) *facet++ = g->vertex_node[triangle[t][a]];
                *facet++ = -1;
            }
        }
    return FE_OK;
}

static fe_status make_groups(const grid *g, fe_mesh *mesh)
{
    FE_ALLOCATE(mesh->group, 7, "groups");
    mesh->n_group = 7;
    for (int side = 0; side < 6; ++side) FE_TRY(make_side(g, side, &mesh->group[side]));
    FE_TRY(fe_group_open(&mesh->group[6], "body", g->kind, 3, 7, (size_t)mesh->n_elem));
    for (int e = 0; e < mesh->n_elem; ++e) mesh->group[6].facet[e] = e;
    return FE_OK;
}

static fe_status make_mesh(grid *g, fe_mesh *mesh)
{
    mesh->kind = g->kind;
    FE_ALLOCATE(mesh->path, sizeof "irregular", "name");
    strcpy(mesh->path, "irregular");
    FE_TRY(make_nodes(g, mesh));
    FE_TRY(make_elements(g, mesh));
    return make_groups(g, mesh);
}

fe_status fe_mesh_irregular(int kind, int n_node, uint64_t seed, fe_mesh *mesh)
{
    grid g;
    *mesh = (fe_mesh){0};
    fe_status status = open_grid(fe_linear_kind(kind), n_node, seed, &g);
    if (status == FE_OK) status = make_mesh(&g, mesh);
    close_grid(&g);
    if (status == FE_OK && fe_is_quadratic(kind)) return fe_mesh_elevate(mesh);
    if (status == FE_OK) return fe_mesh_refine(mesh, fe_mix(seed) | 1);
    fe_mesh_close(mesh);
    return status;
}

fe_status fe_mesh_irregular_size(int kind, int n_node, uint64_t seed, int *nodes, int *elements)
{
    grid g;
    const fe_status status = open_grid(fe_linear_kind(kind), n_node, seed, &g);
    const int n = g.n, n_cell = n * n * n;
    *elements = (fe_is_quadratic(kind) ? 1 : 8) * (fe_is_tet(kind) ? 12 * n_cell : n_cell + 6 * g.n_split);
    *nodes = fe_is_tet(kind) ? (int)nodes_of(FE_TET4, n)
                             : (2 * n + 1) * (2 * n + 1) * (2 * n + 1) + 52 * g.n_split;
    close_grid(&g);
    return status;
}
