/* Any bytes as a mesh file. */
#include "common/base/fe.h"
#include "common/mesh/mesh.h"
#include "tests/fuzz/target.h"

#include <math.h>
#include <string.h>

static void check_group(const fe_mesh *m, const fe_group *g)
{
    CHECK(g->name && g->dim >= 0 && g->dim <= 3 && g->number >= 0 && g->n_facet >= 0);
    for (int f = 0; f < g->n_facet; f++) {
        if (g->dim == 3) {
            CHECK(g->facet[f] >= 0 && g->facet[f] < m->n_elem);
            CHECK(f == 0 || g->facet[f - 1] < g->facet[f]);
            continue;
        }
        const int width = fe_facet_width(m->kind), *facet = g->facet + width * f;
        const int n = fe_facet_nodes(m->kind, facet), n_vertex = fe_facet_vertices(m->kind, facet);
        for (int a = 0; a < width; a++) CHECK(a < n ? facet[a] < m->n_node : facet[a] == -1);
        CHECK(n_vertex == g->dim + 1 || (g->dim == 2 && n_vertex == 4));
        if (fe_is_quadratic(m->kind)) CHECK(n == 1 || n == 3 || n == 6 || n == 9);
    }
}

/* What mesh.h promises of a mesh that was read. */
static void check_mesh(const fe_mesh *m)
{
    const int nc = fe_corners(m->kind);
    CHECK(m->kind == FE_TET4 || m->kind == FE_HEX8 || fe_is_quadratic(m->kind));
    CHECK(m->n_node >= nc && m->n_elem >= 1);
    char *used = calloc((size_t)m->n_node, 1);
    CHECK(used);
    for (int k = 0; k < m->n_elem * nc; k++) {
        CHECK(m->conn[k] >= 0 && m->conn[k] < m->n_node);
        used[m->conn[k]] = 1;
    }
    for (int n = 0; n < m->n_node; n++) {
        CHECK(used[n]);
        for (int i = 0; i < 3; i++) CHECK(isfinite(m->x[3 * n + i]));
    }
    free(used);
    CHECK(fe_mesh_check(m) == FE_OK);
    for (int g = 0; g < m->n_group; g++) check_group(m, &m->group[g]);
    fe_quality q;
    CHECK(fe_mesh_quality(m, &q) == FE_OK);
    CHECK(q.volume > 0 || m->kind == FE_TET10); /* its points of the volume are others */
}

static int corners; /* of the rows that are compared */
static int compare_rows(const void *a, const void *b) { return memcmp(a, b, (size_t)corners * sizeof(int)); }

/* A file has elements by volume group, and so their order stays only where each such group has all of them.
 */
static void check_same_elements(const fe_mesh *a, const fe_mesh *b)
{
    const size_t n = (size_t)a->n_elem, row = (size_t)fe_corners(a->kind) * sizeof *a->conn;
    int sorted = 0;
    for (int g = 0; g < a->n_group; g++) sorted |= a->group[g].dim == 3 && a->group[g].n_facet < a->n_elem;
    int *of_a = malloc(n * row), *of_b = malloc(n * row);
    CHECK(of_a && of_b);
    memcpy(of_a, a->conn, n * row);
    memcpy(of_b, b->conn, n * row);
    corners = fe_corners(a->kind);
    if (sorted) qsort(of_a, n, row, compare_rows), qsort(of_b, n, row, compare_rows);
    CHECK(!memcmp(of_a, of_b, n * row));
    free(of_a), free(of_b);
}

static void check_same(const fe_mesh *a, const fe_mesh *b)
{
    CHECK(a->kind == b->kind && a->n_node == b->n_node && a->n_elem == b->n_elem);
    CHECK(!memcmp(a->node_tag, b->node_tag, (size_t)a->n_node * sizeof *a->node_tag));
    check_same_elements(a, b);
    for (int k = 0; k < 3 * a->n_node; k++) CHECK(a->x[k] == b->x[k]);
}

/* A mesh that is refused may be one that is numbered inside out. */
static void check_turned(const char *path)
{
    fe_mesh mesh;
    int n_turned;
    const fe_status status = fe_mesh_read_turned(path, 0, &n_turned, &mesh);
    CHECK(status == FE_OK ? n_turned > 0 : status == FE_BAD_INPUT && !mesh.x && !mesh.group);
    if (status != FE_OK) fuzz_check_message();
    if (status == FE_OK) check_mesh(&mesh);
    fe_mesh_close(&mesh);
}

static void check_coincident(const fe_mesh *m)
{
    fe_coincidence found;
    CHECK(fe_mesh_coincident(m, &found) == FE_OK);
    CHECK(found.n_part >= 1 && found.n_node >= 0 && found.n_node < m->n_node);
    CHECK(found.n_part > 1 || !found.n_node);
    CHECK(!found.n_node || found.example[0] < found.example[1]);
}

/* A facet may be no side of any element. The quadrature points of Hex27 are nearer to the vertices than those
 * of Hex8, and those of Tet10 differ by rounding: Jacobians may not be positive there. */
static void check_elevated(fe_mesh *m)
{
    const int n_elem = m->n_elem, is_linear = !fe_is_quadratic(m->kind);
    const fe_status status = fe_mesh_elevate(m);
    CHECK(status == FE_OK ? is_linear && m->n_elem == n_elem : status == FE_BAD_INPUT && !m->x);
    if (status != FE_OK) fuzz_check_message();
    if (status != FE_OK) return;
    if (fe_mesh_check(m) == FE_OK)
        check_mesh(m);
    else
        CHECK(strstr(fe_message(), "has Jacobian"));
}

void fuzz_mesh(const uint8_t *bytes, size_t n)
{
    char path[256], copy[256];
    fe_mesh mesh, again;
    fuzz_path("mesh.msh", path);
    fuzz_path("copy.msh", copy);
    fuzz_write(path, n, bytes);
    fuzz_memory_begin();
    const fe_status status = fe_mesh_read(path, 0, &mesh);
    fuzz_memory_end(n);
    if (status != FE_OK) {
        CHECK(status == FE_BAD_INPUT && !mesh.x && !mesh.group);
        fuzz_check_message();
        check_turned(path);
        return;
    }
    check_mesh(&mesh);
    check_coincident(&mesh);
    for (int binary = 0; binary < 2; binary++) {
        if (fe_mesh_write(&mesh, copy, binary) != FE_OK) { /* names that no file can hold */
            fuzz_check_message();
            continue;
        }
        if (fe_mesh_read(copy, 0, &again) != FE_OK) {
            fprintf(stderr, "%s\n", fe_message());
            CHECK(!"what was written is read");
        }
        check_mesh(&again);
        check_same(&mesh, &again);
        fe_mesh_close(&again);
    }
    for (int order = 0; order < FE_N_ORDER; order++) {
        CHECK(fe_mesh_reorder(&mesh, (fe_order)order, 3) == FE_OK);
        check_mesh(&mesh);
    }
    check_elevated(&mesh);
    fe_mesh_close(&mesh);
}
