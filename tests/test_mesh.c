/* Meshes in memory: boxes, adjacency, parts, the figures of quality. */
#include "common/mesh/bisect.h"
#include "common/mesh/incidence.h"
#include "common/mesh/jacobian.h"
#include "common/mesh/mesh.h"
#include "tests/common.h"
#include "tests/scene.h"
#include "variants/patch/assembly.h"

#include <stdlib.h>
#include <string.h>

#define MESHES "tests/validation/meshes/"

/* ∮ x · n dA / 3 over the boundary groups, which is the volume where they are closed and point outwards. */
static double enclosed_volume(const fe_mesh *mesh)
{
    double sum = 0;
    for (int g = 0; g < mesh->n_group; ++g) {
        const fe_group *group = &mesh->group[g];
        for (int f = 0; group->dim == 2 && f < group->n_facet; ++f) {
            const int *node = group->facet + 4 * (size_t)f;
            for (int t = 1; t < 3 && node[t + 1] >= 0; ++t) {
                const double *p = mesh->x + 3 * (size_t)node[0], *q = mesh->x + 3 * (size_t)node[t],
                             *r = mesh->x + 3 * (size_t)node[t + 1];
                sum += p[0] * (q[1] * r[2] - q[2] * r[1]) + p[1] * (q[2] * r[0] - q[0] * r[2]) +
                       p[2] * (q[0] * r[1] - q[1] * r[0]);
            }
        }
    }
    return sum / 6;
}

/* --- boxes --------------------------------------------------------------------------------------- */

static void boxes_have_volume_and_sides(void **state)
{
    (void)state;
    static const int cells[][3] = {{1, 1, 1}, {3, 4, 5}, {7, 1, 2}, {6, 6, 6}};
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k < 4; ++k) {
            const int kind = k % 2 ? FE_TET4 : FE_HEX8, *c = cells[i];
            fe_mesh mesh = small_box(kind, c[0], c[1], c[2], k < 2 ? 0 : 0.2);
            const fe_quality q = quality_of(&mesh);
            assert_int_equal(mesh.n_node, (c[0] + 1) * (c[1] + 1) * (c[2] + 1));
            assert_int_equal(mesh.n_elem, c[0] * c[1] * c[2] * (kind == FE_TET4 ? 6 : 1));
            assert_true(q.min_jacobian > 0);
            assert_true(fabs(q.volume / 2.1 - 1) < 1e-13); /* rounding of a few hundred sums */
            assert_true(fabs(enclosed_volume(&mesh) / 2.1 - 1) < 1e-13);
            for (int side = 0; side < 6; ++side) {
                const char name[3] = {"xyz"[side / 2], side % 2 ? '1' : '0', 0};
                const int u = (side / 2 + 1) % 3, v = (side / 2 + 2) % 3;
                int n, *node;
                must(fe_group_nodes(&mesh, fe_mesh_group(&mesh, name), &n, &node));
                assert_int_equal(n, (c[u] + 1) * (c[v] + 1));
                const double at = side % 2 ? (const double[]){1.5, 2, 0.7}[side / 2] : 0;
                for (int a = 0; a < n; ++a) assert_true(mesh.x[3 * (size_t)node[a] + side / 2] == at);
                free(node);
            }
            assert_int_equal(fe_mesh_group(&mesh, "body")->n_facet, mesh.n_elem);
            fe_mesh_close(&mesh);
        }
}

/* Each face of a conforming mesh belongs to two elements, or to one and to the boundary. */
static void tetrahedra_fit_together(void **state)
{
    (void)state;
    fe_mesh mesh = small_box(FE_TET4, 3, 2, 4, 0.2);
    static const int face[4][3] = {{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, 3}};
    const int n_face = 4 * mesh.n_elem;
    int(*sorted)[3] = calloc((size_t)n_face, sizeof *sorted);
    for (int f = 0; f < n_face; ++f) {
        int v[3];
        for (int a = 0; a < 3; ++a) v[a] = mesh.conn[4 * (f / 4) + face[f % 4][a]];
        for (int a = 0; a < 3; ++a) {
            const int rank = (v[a] > v[(a + 1) % 3]) + (v[a] > v[(a + 2) % 3]);
            sorted[f][rank] = v[a];
        }
    }
    int n_single = 0, n_boundary = 0;
    for (int f = 0; f < n_face; ++f) {
        int n = 0;
        for (int g = 0; g < n_face; ++g) n += !memcmp(sorted[f], sorted[g], sizeof sorted[f]);
        assert_in_range(n, 1, 2);
        n_single += n == 1;
    }
    for (int g = 0; g < 6; ++g) n_boundary += mesh.group[g].n_facet;
    assert_int_equal(n_single, n_boundary);
    free(sorted);
    fe_mesh_close(&mesh);
}

static void bad_boxes_are_refused(void **state)
{
    (void)state;
    static const struct {
        fe_box box;
        const char *what;
    } bad[] = {
        {{FE_HEX8, {0, 1, 1}, {1, 1, 1}, 0, 0}, "0 cells in x"},
        {{FE_HEX8, {1, 1, 1}, {1, -2, 1}, 0, 0}, "length -2 in y"},
        {{FE_HEX8, {1, 1, 1}, {1, 1, NAN}, 0, 0}, "in z"},
        {{FE_HEX8, {2000, 2000, 2000}, {1, 1, 1}, 0, 0}, "2000,2000,2000"},
        {{FE_TET4, {800, 800, 800}, {1, 1, 1}, 0, 0}, "800,800,800"},
        {{FE_HEX8, {2147483647, 2147483647, 2147483647}, {1, 1, 1}, 0, 0}, "2147483647,"},
        {{FE_HEX8, {2, 2, 2}, {1, 1, 1}, 0.7, 0}, "distort 0.7"},
        {{FE_TET4, {12, 12, 12}, {1, 1, 1}, 0.49, 0}, "distort 0.49"},
        {{FE_HEX8_NAIVE, {2, 2, 2}, {1, 1, 1}, 0, 0}, "neither hex8 nor tet4, tet10 or hex27"},
        {{FE_HEX27, {1000, 1000, 1000}, {1, 1, 1}, 0, 0}, "1000,1000,1000"},
        {{FE_TET10, {12, 12, 12}, {1, 1, 1}, 0.49, 0}, "distort 0.49"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        fe_mesh mesh;
        assert_int_equal(fe_mesh_box(&bad[i].box, &mesh), FE_BAD_INPUT);
        if (!strstr(fe_message(), bad[i].what)) fail_msg("\"%s\" lacks \"%s\"", fe_message(), bad[i].what);
        assert_null(mesh.x);
    }
}

/* --- adjacency, parts -------------------------------------------------------------------- */

/* Six times the volume of element i of a fan; node [..] are the piece's nodes in the mesh. */
static double fan_volume(const fe_mesh *mesh, const int *node, const patch_fan *fan, int i)
{
    double x[4][3];
    for (int b = 0; b < 4; ++b)
        memcpy(x[b], mesh->x + 3 * (size_t)node[fan->node[patch_corner(FE_TET4, i, b)]], sizeof x[b]);
    return fe_tet4_jacobian((const double(*)[3])x);
}

/* Fans of a piece of n elements, conn [n][4]: each element in one of them, with its own nodes and
 * orientation. Returns how many there are. */
static int check_fans(const fe_mesh *mesh, int n, const int *conn)
{
    static uint16_t in_piece[PATCH_MOST_ELEMENTS][8];
    static int node[4 * PATCH_MOST_ELEMENTS];
    static patch_fan fan[PATCH_MOST_ELEMENTS];
    int n_node = 0, longest = PATCH_FAN, seen[PATCH_MOST_ELEMENTS] = {0};
    for (int k = 0; k < 4 * n; ++k) {
        int at = 0;
        while (at < n_node && node[at] != conn[k]) ++at;
        if (at == n_node) node[n_node++] = conn[k];
        in_piece[k / 4][k % 4] = (uint16_t)at;
    }
    const int n_fan = patch_fans((const uint16_t(*)[8])in_piece, n, fan);
    for (int k = 0; k < n_fan; ++k) {
        int size = 0;
        while (size < PATCH_FAN && fan[k].elem[size] >= 0) ++size;
        assert_in_range(size, 1, longest);
        longest = size;
        for (int i = 0; i < PATCH_FAN; ++i) {
            const double volume = fan_volume(mesh, node, &fan[k], i);
            assert_true(volume != 0.0);
            assert_int_equal(fan[k].elem[i] < 0, i >= size);
            if (i >= size) continue;
            const uint16_t *corner = in_piece[fan[k].elem[i]];
            assert_true(volume > 0.0);
            ++seen[fan[k].elem[i]];
            for (int b = 0; b < 4; ++b) {
                const int mine = fan[k].node[patch_corner(FE_TET4, i, b)];
                assert_true(mine == corner[0] || mine == corner[1] || mine == corner[2] || mine == corner[3]);
            }
        }
    }
    for (int k = 0; k < n; ++k) assert_int_equal(seen[k], 1);
    return n_fan;
}

/* Compact pieces of tetrahedra consist of fans of three, except for a few per cent. */
static void tetrahedra_are_covered_by_fans(void **state)
{
    (void)state;
    static const char *meshes[] = {MESHES "cylinder_tet.msh", MESHES "cube_tet.msh", NULL};
    for (int k = 0; k < 3; ++k) {
        fe_mesh mesh = {0};
        if (meshes[k])
            must(fe_mesh_read(meshes[k], 0, &mesh));
        else
            mesh = small_box(FE_TET4, 13, 11, 12, 0.2);
        must(fe_mesh_reorder(&mesh, FE_ORDER_BISECTION, 0));
        const int most = fe_piece_elements(FE_TET4);
        int n_fan = 0;
        for (int first = 0; first < mesh.n_elem; first += most)
            n_fan += check_fans(&mesh, first + most < mesh.n_elem ? most : mesh.n_elem - first,
                                mesh.conn + 4 * (size_t)first);
        assert_in_range(n_fan, (mesh.n_elem + 2) / 3, (int)(1.05 * mesh.n_elem / 3));
        fe_mesh_close(&mesh);
    }
    /* One element, two at a face, and what a damaged mesh may hold: one three times, a third at a face. */
    fe_mesh mesh = small_box(FE_TET4, 1, 1, 1, 0);
    assert_int_equal(check_fans(&mesh, 1, mesh.conn), 1);
    int elem[12], other = 0;
    for (int k = 0; k < 12; ++k) elem[k] = mesh.conn[k % 4];
    assert_int_equal(check_fans(&mesh, 3, elem), 3);
    do {
        memcpy(elem + 4, mesh.conn + 4 * ++other, 4 * sizeof *elem);
    } while (check_fans(&mesh, 2, elem) == 2);
    memcpy(elem + 8, elem + 4, 4 * sizeof *elem);
    assert_int_equal(check_fans(&mesh, 3, elem), 2);
    fe_mesh_close(&mesh);
}

static void node_elements_are_the_transpose(void **state)
{
    (void)state;
    fe_mesh mesh = small_box(FE_TET4, 3, 4, 2, 0);
    int *first, *elem, n_pair = 0;
    must(fe_mesh_node_elements(&mesh, &first, &elem));
    assert_int_equal(first[mesh.n_node], 4 * mesh.n_elem);
    for (int n = 0; n < mesh.n_node; ++n)
        for (int k = first[n]; k < first[n + 1]; ++k) {
            const int *c = mesh.conn + 4 * (size_t)elem[k];
            assert_true(c[0] == n || c[1] == n || c[2] == n || c[3] == n);
            if (k > first[n]) assert_true(elem[k - 1] < elem[k]);
            ++n_pair;
        }
    assert_int_equal(n_pair, 4 * mesh.n_elem);
    free(first);
    free(elem);
    fe_mesh_close(&mesh);
}

/* Lists as two loops write them, from rows of elements and from rows of corners, by any number of threads: of
 * a mesh that several chunks share, in its own order and in a random one. */
static void corners_are_listed_by_any_number_of_threads(void **state)
{
    (void)state;
    for (int random = 0; random < 2; ++random) {
        fe_mesh mesh = small_box(FE_TET4, 20, 19, 21, 0);
        if (random) must(fe_mesh_reorder(&mesh, FE_ORDER_RANDOM, 3));
        const int n = 4 * mesh.n_elem;
        assert_true(n > 2 << 16);
        int *start = zeros((size_t)mesh.n_node + 1, sizeof *start), *at = zeros(mesh.n_node, sizeof *at),
            *code = zeros(n, sizeof *code), *turned = zeros(n, sizeof *turned);
        for (int k = 0; k < n; ++k)
            ++start[mesh.conn[k] + 1], turned[k % 4 * mesh.n_elem + k / 4] = mesh.conn[k];
        for (int i = 0; i < mesh.n_node; ++i) start[i + 1] += start[i], at[i] = start[i];
        for (int k = 0; k < n; ++k) code[at[mesh.conn[k]]++] = (k / 4 << 3) + k % 4;
        for (int threads = 1; threads < 20; threads += 5)
            for (int by_corner = 0; by_corner < 2; ++by_corner) {
                const size_t many = (size_t)mesh.n_elem;
                const fe_corners_of of = {by_corner ? turned : mesh.conn,
                                          mesh.n_node,
                                          mesh.n_elem,
                                          4,
                                          by_corner ? 1 : 4,
                                          by_corner ? many : 1,
                                          3};
                int *first, *entry;
                must(fe_list_corners(&of, threads, "test", &first, &entry));
                assert_memory_equal(first, start, ((size_t)mesh.n_node + 1) * sizeof *first);
                assert_memory_equal(entry, code, (size_t)n * sizeof *entry);
                free(first), free(entry);
            }
        free(start), free(at), free(code), free(turned);
        fe_mesh_close(&mesh);
    }
}

/* Also what threads clear together, in memory that was written before. */
static void large_arrays_are_cleared(void **state)
{
    (void)state;
    for (size_t n = ((size_t)7 << 20) + 1; n < (size_t)20 << 20; n += ((size_t)3 << 20) + 13) {
        char *bytes;
        must(fe_reserve(n, 1, "test", (void **)&bytes));
        memset(bytes, 1, n);
        free(bytes);
        must(fe_allocate(n, 1, "test", (void **)&bytes));
        assert_int_equal((uintptr_t)bytes % 64, 0);
        for (size_t i = 0; i < n; ++i)
            if (bytes[i]) fail_msg("byte %zu of %zu", i, n);
        free(bytes);
    }
}

/* Removing the middle layer of elements of 1 x 1 x 5 cells leaves two parts (and its nodes stay with them).
 */
static void parts_are_found(void **state)
{
    (void)state;
    fe_mesh mesh = small_box(FE_HEX8, 1, 1, 5, 0);
    int n_part, *part;
    must(fe_mesh_components(&mesh, &n_part, &part));
    assert_int_equal(n_part, 1);
    free(part);
    memmove(mesh.conn + 16, mesh.conn + 24, 16 * sizeof *mesh.conn);
    mesh.n_elem = mesh.group[6].n_facet = 4;
    must(fe_mesh_reorder(&mesh, FE_ORDER_RANDOM, 5));
    must(fe_mesh_components(&mesh, &n_part, &part));
    assert_int_equal(n_part, 2);
    for (int n = 0; n < mesh.n_node; ++n)
        assert_int_equal(part[n] == part[0], (mesh.x[3 * (size_t)n + 2] > 0.35) == (mesh.x[2] > 0.35));
    free(part);
    fe_mesh_close(&mesh);
}

/* A unit cube and a regular tetrahedron have the figures that define the scale. */
static void quality_of_ideal_elements(void **state)
{
    (void)state;
    fe_mesh mesh = small_box(FE_HEX8, 1, 1, 1, 0);
    fe_quality q = quality_of(&mesh);
    assert_true(fabs(q.min_scaled - 1) < 1e-14 && fabs(q.max_jacobian - 2.1 / 8) < 1e-14);
    assert_true(fabs(q.max_aspect - 2 / 0.7) < 1e-14 && q.bandwidth == 7 && q.max_valence == 1);
    fe_mesh_close(&mesh);
    double x[12] = {1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1, 1};
    int conn[4] = {0, 2, 1, 3};
    int64_t tag[4] = {1, 2, 3, 4};
    const fe_mesh tet = {
        .kind = FE_TET4, .n_node = 4, .n_elem = 1, .x = x, .node_tag = tag, .conn = conn, .elem_tag = tag};
    if (fe_mesh_check(&tet) != FE_OK) { conn[1] = 1, conn[2] = 2; }
    must(fe_mesh_check(&tet));
    q = quality_of(&tet);
    assert_true(fabs(q.min_scaled - 1) < 1e-14 && fabs(q.max_aspect - 1) < 1e-14);
    assert_true(fabs(q.volume - 8.0 / 3) < 1e-14);
}

/* A mirrored mesh becomes right again, and so does one in which some elements are numbered inside out. */
static void inverted_elements_are_turned(void **state)
{
    (void)state;
    for (int kind = FE_TET4; kind <= FE_HEX8; kind += FE_HEX8 - FE_TET4)
        for (int every = 1; every < 4; every += 2) {
            fe_mesh mesh = small_box(kind, 3, 2, 4, 0.2);
            const fe_quality before = quality_of(&mesh);
            const int nc = fe_corners(kind);
            int n = 0, n_turned;
            for (int k = 0; every == 1 && k < mesh.n_node; ++k) mesh.x[3 * k] *= -1;
            for (int e = 0; e < mesh.n_elem; e += every) {
                int *corner = mesh.conn + (size_t)e * nc, old[8];
                memcpy(old, corner, (size_t)nc * sizeof *old);
                for (int a = 0; every > 1 && a < nc; ++a) /* mirrored in x, and in two corners of a Tet4 */
                    corner[a] = old[nc == 8 ? a ^ 1 : a < 2 ? 1 - a : a];
                ++n;
            }
            assert_int_equal(fe_mesh_check(&mesh), FE_BAD_INPUT);
            must(fe_mesh_turn(&mesh, &n_turned));
            assert_int_equal(n_turned, n);
            must(fe_mesh_check(&mesh));
            const fe_quality after = quality_of(&mesh);
            assert_true(fabs(after.volume - before.volume) < 1e-14 * before.volume);
            assert_true(fabs(after.min_scaled - before.min_scaled) < 1e-12);
            must(fe_mesh_turn(&mesh, &n_turned));
            assert_int_equal(n_turned, 0);
            fe_mesh_close(&mesh);
        }
}

/* Two tetrahedra on one side of a face have positive volumes, one of them after it was turned. */
static void folded_meshes_are_not_turned(void **state)
{
    (void)state;
    double x[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0.2, 0.2, 0.5};
    int conn[8] = {0, 1, 2, 3, 0, 2, 1, 4}, n_turned;
    int64_t tag[5] = {11, 12, 13, 14, 15};
    fe_mesh mesh = {
        .kind = FE_TET4, .n_node = 5, .n_elem = 2, .x = x, .node_tag = tag, .conn = conn, .elem_tag = tag};
    assert_int_equal(fe_mesh_turn(&mesh, &n_turned), FE_BAD_INPUT);
    assert_message("elements 11 and 12 lie on the same side of a common face");
    x[14] = -0.5; /* on the other side all is well */
    memcpy(conn + 4, (const int[]){0, 1, 2, 4}, 4 * sizeof *conn);
    must(fe_mesh_turn(&mesh, &n_turned));
    assert_int_equal(n_turned, 1);
    must(fe_mesh_check(&mesh));
}

/* A box whose right half has nodes of its own in the middle, a little off. */
static fe_mesh split_box(int kind, double off)
{
    fe_mesh mesh = small_box(kind, 4, 3, 2, 0.2);
    const int nc = fe_corners(kind), n = mesh.n_node;
    int *twin = calloc((size_t)n, sizeof *twin);
    mesh.x = realloc(mesh.x, 6 * (size_t)n * sizeof *mesh.x);
    mesh.node_tag = realloc(mesh.node_tag, 2 * (size_t)n * sizeof *mesh.node_tag);
    assert_true(twin && mesh.x && mesh.node_tag);
    for (int k = 2; k < n; k += 5) twin[k] = mesh.n_node++; /* five nodes along x, the third is the middle */
    for (int k = 0; k < n; ++k)
        if (twin[k]) {
            for (int i = 0; i < 3; ++i) mesh.x[3 * twin[k] + i] = mesh.x[3 * k + i] + (i == 1 ? off : 0);
            mesh.node_tag[twin[k]] = 1000 + k;
        }
    for (int e = 0; e < mesh.n_elem; ++e) {
        int *corner = mesh.conn + (size_t)e * nc;
        int right = 0;
        for (int a = 0; a < nc; ++a) right |= corner[a] % 5 > 2;
        for (int a = 0; a < nc && right; ++a)
            if (twin[corner[a]]) corner[a] = twin[corner[a]];
    }
    free(twin);
    return mesh;
}

static void nodes_of_parts_that_coincide_are_found(void **state)
{
    (void)state;
    enum { N_MIDDLE = 4 * 3 };
    for (int kind = FE_TET4; kind <= FE_HEX8; kind += FE_HEX8 - FE_TET4)
        for (int turn = 0; turn < 2; ++turn) {
            fe_coincidence found;
            fe_mesh mesh = small_box(kind, 4, 3, 2, 0.2);
            must(fe_mesh_coincident(&mesh, &found));
            assert_true(found.n_part == 1 && found.n_node == 0);
            fe_mesh_close(&mesh);
            const double off[] = {0, 1e-7, 1e-2};
            for (int k = 0; k < 3; ++k) {
                mesh = split_box(kind, off[k]);
                for (int i = 0; turn && i < 3 * mesh.n_node; ++i) mesh.x[i] = -(mesh.x[i] + 1000);
                must(fe_mesh_reorder(&mesh, turn ? FE_ORDER_RANDOM : FE_ORDER_AS_IS, 7));
                must(fe_mesh_coincident(&mesh, &found));
                assert_int_equal(found.n_part, 2);
                assert_int_equal(found.n_node, k < 2 ? N_MIDDLE : 0);
                const double *p = mesh.x + 3 * found.example[0], *q = mesh.x + 3 * found.example[1];
                for (int i = 0; i < 3; ++i) assert_true(fabs(p[i] - q[i]) < 2e-7);
                assert_true(k == 2 ||
                            llabs(mesh.node_tag[found.example[0]] - mesh.node_tag[found.example[1]]) > 900);
                fe_mesh_close(&mesh);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_have_volume_and_sides),
        cmocka_unit_test(tetrahedra_fit_together),
        cmocka_unit_test(bad_boxes_are_refused),
        cmocka_unit_test(tetrahedra_are_covered_by_fans),
        cmocka_unit_test(node_elements_are_the_transpose),
        cmocka_unit_test(corners_are_listed_by_any_number_of_threads),
        cmocka_unit_test(large_arrays_are_cleared),
        cmocka_unit_test(parts_are_found),
        cmocka_unit_test(quality_of_ideal_elements),
        cmocka_unit_test(inverted_elements_are_turned),
        cmocka_unit_test(folded_meshes_are_not_turned),
        cmocka_unit_test(nodes_of_parts_that_coincide_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
