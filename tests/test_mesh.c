/* Meshes: reading every validation mesh in its four spellings, round trips, boxes, orders, and a corpus of
 * damaged files, each of which must be refused with a message that names the damage. */
#include "common/mesh/bisect.h"
#include "common/mesh/jacobian.h"
#include "common/mesh/mesh.h"
#include "variants/patch/assembly.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MESHES "tests/validation/meshes/"

/* --- helpers ----------------------------------------------------------------------------------------------
 */

static char folder[64], scratch[96]; /* of this run, and a file in it */

static void require_ok(fe_status status)
{
    if (status != FE_OK) fail_msg("%s", fe_message());
}

static void store(const char *text, size_t n)
{
    FILE *file = fopen(scratch, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static char *load(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s cannot be opened: run from the root of the repository", path);
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(1, *n + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, *n, file), *n);
    fclose(file);
    return text;
}

static void read_text(const char *text, fe_mesh *mesh)
{
    store(text, strlen(text));
    require_ok(fe_mesh_read(scratch, 0, mesh));
}

/* The text must be refused as bad input, with a message that holds `what`. */
static void refuse_bytes(const char *text, size_t n, const char *what)
{
    fe_mesh mesh;
    store(text, n);
    const fe_status status = fe_mesh_read(scratch, 0, &mesh);
    if (status != FE_BAD_INPUT || !strstr(fe_message(), what) || strchr(fe_message(), '\n'))
        fail_msg("status %d, \"%s\" should hold \"%s\"", status, status ? fe_message() : "", what);
    assert_null(mesh.x);
}

static void refuse(const char *text, const char *what) { refuse_bytes(text, strlen(text), what); }

/* A copy of text in which the first `old` after `after` is `new`. */
static char *edit(const char *text, const char *after, const char *old, const char *new)
{
    const char *at = strstr(text, after);
    at = at ? strstr(at + strlen(after), old) : NULL;
    if (!at) fail_msg("no \"%s\" after \"%s\"", old, after);
    char *result = NULL;
    assert_true(asprintf(&result, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old)) > 0);
    return result;
}

static void refuse_edit(const char *text, const char *after, const char *old, const char *new,
                        const char *what)
{
    char *damaged = edit(text, after, old, new);
    refuse(damaged, what);
    free(damaged);
}

/* Coordinates may differ by `tolerance` times their size: Gmsh writes 16 digits, one short of all bits. */
static void require_same(const fe_mesh *a, const fe_mesh *b, double tolerance)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->n_node, b->n_node);
    assert_int_equal(a->n_elem, b->n_elem);
    assert_int_equal(a->n_group, b->n_group);
    const size_t n = (size_t)a->n_node, m = (size_t)a->n_elem;
    for (size_t k = 0; k < 3 * n; ++k) assert_true(fabs(a->x[k] - b->x[k]) <= tolerance * fabs(a->x[k]));
    assert_memory_equal(a->node_tag, b->node_tag, n * sizeof *a->node_tag);
    assert_memory_equal(a->conn, b->conn, m * (size_t)fe_corners(a->kind) * sizeof *a->conn);
    assert_memory_equal(a->elem_group, b->elem_group, m * sizeof *a->elem_group);
    for (int g = 0; g < a->n_group; ++g) {
        const fe_group *p = &a->group[g], *q = &b->group[g];
        assert_string_equal(p->name, q->name);
        assert_int_equal(p->dim, q->dim);
        assert_int_equal(p->number, q->number);
        assert_int_equal(p->n_facet, q->n_facet);
        assert_memory_equal(p->facet, q->facet, (size_t)p->n_facet * (p->dim == 3 ? 1 : 4) * sizeof(int));
    }
}

static fe_mesh make_box(int kind, int nx, int ny, int nz, double distort)
{
    const fe_box box = {kind, {nx, ny, nz}, {1.5, 2, 0.7}, distort, 3};
    fe_mesh mesh;
    require_ok(fe_mesh_box(&box, &mesh));
    require_ok(fe_mesh_check(&mesh));
    return mesh;
}

static fe_quality quality_of(const fe_mesh *mesh)
{
    fe_quality q;
    require_ok(fe_mesh_quality(mesh, &q));
    return q;
}

/* ∮ x · n dA / 3 over the boundary groups, which is the volume where they are closed and turn outwards. */
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

/* --- validation meshes -------------------------------------------------------------------------------------
 */

static void validation_meshes_are_read_alike(void **state)
{
    (void)state;
    /* counts and volumes of tests/validation/reference, nodes and faces of one group */
    static const struct {
        const char *name;
        int n_node, n_elem;
        double volume;
        const char *group;
        int n_facet, n_group_node;
    } fact[] = {
        {"cube_hex", 729, 512, 1000.0, "x1", 64, 81},
        {"cube_tet", 683, 2526, 999.9999999999999, "x0", 164, 99},
        {"cylinder_hex", 2100, 1440, 470902.5304570323, "inner", 72, 100},
        {"cylinder_tet", 1454, 4904, 471234.7503154834, "outer", 250, 169},
        {"patch_hex", 729, 512, 999.9999999999982, "boundary", 384, 386},
        {"patch_tet", 729, 3072, 1000.0000000000041, "boundary", 768, 386},
        {"strip_hex", 1515, 912, 160.37906123095485, "hole", 48, 75},
        {"strip_tet", 1160, 3586, 160.38033100185623, "side", 85, 66},
    };
    static const char *const spelling[] = {"", ".v22", ".bin", ".v22.bin"};
    for (size_t i = 0; i < sizeof fact / sizeof *fact; ++i) {
        fe_mesh first = {0};
        for (int s = 0; s < 4; ++s) {
            char path[128];
            snprintf(path, sizeof path, MESHES "%s%s.msh", fact[i].name, spelling[s]);
            if (access(path, F_OK) != 0 && s >= 2) continue; /* only the patch meshes exist in binary */
            fe_mesh mesh;
            require_ok(fe_mesh_read(path, 0, &mesh));
            assert_int_equal(mesh.n_node, fact[i].n_node);
            assert_int_equal(mesh.n_elem, fact[i].n_elem);
            assert_true(fabs(quality_of(&mesh).volume / fact[i].volume - 1) < 1e-13);
            const fe_group *group = fe_mesh_group(&mesh, fact[i].group);
            assert_non_null(group);
            int n, *node;
            require_ok(fe_group_nodes(&mesh, group, &n, &node));
            for (int k = 1; k < n; ++k) assert_true(node[k - 1] < node[k]);
            free(node);
            assert_int_equal(group->n_facet, fact[i].n_facet);
            assert_int_equal(n, fact[i].n_group_node);
            assert_null(fe_mesh_group(&mesh, "absent"));
            if (s == 0) {
                first = mesh;
                continue;
            }
            require_same(&first, &mesh, 1e-15);
            fe_mesh_close(&mesh);
        }
        fe_mesh_close(&first);
    }
}

static void round_trips_keep_everything(void **state)
{
    (void)state;
    static const char *const name[] = {"cube_tet", "cylinder_hex", "patch_tet", "strip_hex"};
    for (int i = 0; i < 4; ++i)
        for (int binary = 0; binary < 2; ++binary) {
            char path[128];
            fe_mesh mesh, copy;
            snprintf(path, sizeof path, MESHES "%s.msh", name[i]);
            require_ok(fe_mesh_read(path, 0, &mesh));
            require_ok(fe_mesh_write(&mesh, scratch, binary));
            require_ok(fe_mesh_read(scratch, 0, &copy));
            require_same(&mesh, &copy, 0);
            assert_memory_equal(mesh.elem_tag, copy.elem_tag, (size_t)mesh.n_elem * sizeof *mesh.elem_tag);
            fe_mesh_close(&mesh);
            fe_mesh_close(&copy);
        }
}

static void unwritable_files_are_named(void **state)
{
    (void)state;
    fe_mesh mesh = make_box(FE_HEX8, 20, 20, 20, 0);
    assert_int_equal(fe_mesh_write(&mesh, "/absent/folder/box.msh", 0), FE_BAD_INPUT);
    assert_non_null(strstr(fe_message(), "/absent/folder/box.msh"));
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(fe_mesh_write(&mesh, "/dev/full", 1), FE_FAILED);
        assert_non_null(strstr(fe_message(), "/dev/full"));
    }
    fe_mesh_close(&mesh);
}

/* --- boxes -------------------------------------------------------------------------------------------------
 */

static void boxes_have_volume_and_sides(void **state)
{
    (void)state;
    static const int cells[][3] = {{1, 1, 1}, {3, 4, 5}, {7, 1, 2}, {6, 6, 6}};
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k < 4; ++k) {
            const int kind = k % 2 ? FE_TET4 : FE_HEX8, *c = cells[i];
            fe_mesh mesh = make_box(kind, c[0], c[1], c[2], k < 2 ? 0 : 0.2);
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
                require_ok(fe_group_nodes(&mesh, fe_mesh_group(&mesh, name), &n, &node));
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
    fe_mesh mesh = make_box(FE_TET4, 3, 2, 4, 0.2);
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
        {{FE_HEX8_NAIVE, {2, 2, 2}, {1, 1, 1}, 0, 0}, "neither hex8 nor tet4"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        fe_mesh mesh;
        assert_int_equal(fe_mesh_box(&bad[i].box, &mesh), FE_BAD_INPUT);
        if (!strstr(fe_message(), bad[i].what)) fail_msg("\"%s\" lacks \"%s\"", fe_message(), bad[i].what);
        assert_null(mesh.x);
    }
}

/* --- orders, adjacency, parts ------------------------------------------------------------------------------
 */

static int is_permutation(const int64_t *tag, int n)
{
    char *seen = calloc((size_t)n + 1, 1);
    int fine = 1;
    for (int i = 0; i < n; ++i) fine &= tag[i] >= 1 && tag[i] <= n && !seen[tag[i]]++;
    free(seen);
    return fine;
}

/* Sorting the tags of a reordered box must give the box back: coordinates, corners and groups by tag. */
static void require_reordered(const fe_mesh *box, const fe_mesh *mesh)
{
    const int nc = fe_corners(box->kind);
    assert_true(is_permutation(mesh->node_tag, mesh->n_node));
    assert_true(is_permutation(mesh->elem_tag, mesh->n_elem));
    for (int n = 0; n < mesh->n_node; ++n)
        assert_memory_equal(mesh->x + 3 * (size_t)n, box->x + 3 * (size_t)(mesh->node_tag[n] - 1),
                            3 * sizeof(double));
    for (int e = 0; e < mesh->n_elem; ++e)
        for (int a = 0; a < nc; ++a)
            assert_int_equal(mesh->node_tag[mesh->conn[(size_t)e * nc + a]] - 1,
                             box->conn[(size_t)(mesh->elem_tag[e] - 1) * nc + a]);
    for (int g = 0; g < 6; ++g)
        for (size_t k = 0; k < 4 * (size_t)mesh->group[g].n_facet; ++k) {
            const int mine = mesh->group[g].facet[k], old = box->group[g].facet[k];
            assert_int_equal(mine < 0 ? mine : mesh->node_tag[mine] - 1, old);
        }
    for (int f = 0; f < mesh->n_elem; ++f) assert_int_equal(mesh->group[6].facet[f], f);
}

/* 16³ Hex8 in pieces of 4 × 4 × 8 cells: 225 nodes each, whatever the order before. */
static void bisection_makes_compact_pieces(void **state)
{
    (void)state;
    fe_mesh mesh = make_box(FE_HEX8, 16, 16, 16, 0);
    const int most = fe_piece_elements(FE_HEX8);
    require_ok(fe_mesh_reorder(&mesh, FE_ORDER_RANDOM, 4));
    require_ok(fe_mesh_reorder(&mesh, FE_ORDER_BISECTION, 0));
    int *seen = calloc((size_t)mesh.n_node, sizeof *seen), highest = -1;
    assert_non_null(seen);
    for (int first = 0; first < mesh.n_elem; first += most) {
        int n = 0, before = highest;
        for (int k = 8 * first; k < 8 * (first + most); ++k) {
            const int node = mesh.conn[k];
            n += seen[node] != first + 1;
            seen[node] = first + 1;
            if (node > highest) highest = node;
        }
        assert_int_equal(n, 225);
        for (int node = before + 1; node <= highest; ++node) assert_int_equal(seen[node], first + 1);
    }
    assert_int_equal(highest, mesh.n_node - 1);
    free(seen);
    fe_mesh_close(&mesh);
}

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

/* Compact pieces of tetrahedra fall into fans of three, but for a few in a hundred. */
static void tetrahedra_are_covered_by_fans(void **state)
{
    (void)state;
    static const char *meshes[] = {MESHES "cylinder_tet.msh", MESHES "cube_tet.msh", NULL};
    for (int k = 0; k < 3; ++k) {
        fe_mesh mesh = {0};
        if (meshes[k])
            require_ok(fe_mesh_read(meshes[k], 0, &mesh));
        else
            mesh = make_box(FE_TET4, 13, 11, 12, 0.2);
        require_ok(fe_mesh_reorder(&mesh, FE_ORDER_BISECTION, 0));
        const int most = fe_piece_elements(FE_TET4);
        int n_fan = 0;
        for (int first = 0; first < mesh.n_elem; first += most)
            n_fan += check_fans(&mesh, first + most < mesh.n_elem ? most : mesh.n_elem - first,
                                mesh.conn + 4 * (size_t)first);
        assert_in_range(n_fan, (mesh.n_elem + 2) / 3, (int)(1.05 * mesh.n_elem / 3));
        fe_mesh_close(&mesh);
    }
    /* One element, two at a face, and what a damaged mesh may hold: one three times, a third at a face. */
    fe_mesh mesh = make_box(FE_TET4, 1, 1, 1, 0);
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

static void orders_only_renumber(void **state)
{
    (void)state;
    for (int kind = 0; kind <= FE_HEX8; kind += FE_HEX8)
        for (int order = 0; order < FE_N_ORDER; ++order) {
            fe_mesh box = make_box(kind, 7, 5, 6, 0), mesh = make_box(kind, 7, 5, 6, 0);
            require_ok(fe_mesh_reorder(&mesh, FE_ORDER_RANDOM, 11));
            require_reordered(&box, &mesh);
            const fe_quality before = quality_of(&mesh);
            require_ok(fe_mesh_reorder(&mesh, (fe_order)order, 12));
            require_reordered(&box, &mesh);
            const fe_quality after = quality_of(&mesh);
            assert_int_equal(after.max_valence, before.max_valence);
            if (order == FE_ORDER_RCM) assert_true(after.bandwidth < before.bandwidth / 2);
            if (order == FE_ORDER_MORTON) assert_true(after.mean_bandwidth < before.mean_bandwidth / 2);
            if (order == FE_ORDER_LEXICOGRAPHIC)
                assert_memory_equal(mesh.x, box.x, 3 * (size_t)box.n_node * sizeof *box.x);
            fe_mesh_close(&box);
            fe_mesh_close(&mesh);
        }
    fe_mesh mesh = make_box(FE_HEX8, 1, 1, 1, 0);
    assert_int_equal(fe_mesh_reorder(&mesh, (fe_order)17, 0), FE_BAD_INPUT);
    fe_mesh_close(&mesh);
}

static void node_elements_are_the_transpose(void **state)
{
    (void)state;
    fe_mesh mesh = make_box(FE_TET4, 3, 4, 2, 0);
    int *first, *elem, n_pair = 0;
    require_ok(fe_mesh_node_elements(&mesh, &first, &elem));
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

/* Removing the middle layer of elements of 1 x 1 x 5 cells leaves two parts (and its nodes stay with them).
 */
static void parts_are_found(void **state)
{
    (void)state;
    fe_mesh mesh = make_box(FE_HEX8, 1, 1, 5, 0);
    int n_part, *part;
    require_ok(fe_mesh_parts(&mesh, &n_part, &part));
    assert_int_equal(n_part, 1);
    free(part);
    memmove(mesh.conn + 16, mesh.conn + 24, 16 * sizeof *mesh.conn);
    mesh.n_elem = 4;
    require_ok(fe_mesh_reorder(&mesh, FE_ORDER_RANDOM, 5));
    require_ok(fe_mesh_parts(&mesh, &n_part, &part));
    assert_int_equal(n_part, 2);
    for (int n = 0; n < mesh.n_node; ++n)
        assert_int_equal(part[n] == part[0], (mesh.x[3 * (size_t)n + 2] > 0.35) == (mesh.x[2] > 0.35));
    free(part);
    require_ok(fe_mesh_reorder(&mesh, FE_ORDER_RCM, 0));
    assert_true(is_permutation(mesh.node_tag, mesh.n_node));
    mesh.group[6].n_facet = 4;
    fe_mesh_close(&mesh);
}

/* A unit cube and a regular tetrahedron have the figures that define the scale. */
static void quality_of_ideal_elements(void **state)
{
    (void)state;
    fe_mesh mesh = make_box(FE_HEX8, 1, 1, 1, 0);
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
    require_ok(fe_mesh_check(&tet));
    q = quality_of(&tet);
    assert_true(fabs(q.min_scaled - 1) < 1e-14 && fabs(q.max_aspect - 1) < 1e-14);
    assert_true(fabs(q.volume - 8.0 / 3) < 1e-14);
}

/* --- files -------------------------------------------------------------------------------------------------
 */

/* Two unit cubes; the second node block is empty, the third parametric; "left" is overlapped by "both". */
static const char good_41[] =
    "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Comments\nnothing 1 2 3\n$EndComments\n"
    "$PhysicalNames\n4\n2 1 \"left\"\n2 9 \"both sides\"\n3 1 \"left\"\n0 4 \"corner\"\n$EndPhysicalNames\n"
    "$Entities\n1 0 2 1\n5 0 0 0 1 4\n"
    "7 0 0 0 0 1 1 2 1 -9 0\n8 2 0 0 2 1 1 1 9 0\n3 0 0 0 2 1 1 1 -1 2 7 8\n$EndEntities\n"
    "$Nodes\n3 12 1 1000000000000\n2 7 0 4\n1000000000000\n20\n30\n4\n0 0 0\n0 1 0\n0 1 1\n0 0 1\n1 1 0 0\n"
    "3 3 1 8\n5\n6\n7\n8\n9\n10\n11\n12\n1 0 0 .5 .5 .5\n1 1 0 0 0 0\n1 1 1 nan 0 0\n1 0 1 0 0 0\n"
    "2 0 0 0 0 0\n2 1 0 0 0 0\n2 1 1 0 0 0\n2.0e0 0 1 0 0 0\n$EndNodes\n"
    "$Elements\n4 5 1 5\n0 5 15 1\n1 4\n2 7 3 1\n2 1000000000000 4 30 20\n2 8 3 1\n3 9 10 11 12\n"
    "3 3 5 2\n4 1000000000000 5 6 20 4 8 7 30\n5 5 9 10 6 8 12 11 7\n$EndElements\n";

/* The same in 2.2: the element of two groups is there once for each; tags after the first are ignored. */
static const char good_22[] =
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
    "$Nodes\n13\n1 0 0 0\n2 0 1 0\n3 0 1 1\n4 0 0 1\n5 1 0 0\n6 1 1 0\n7 1 1 1\n8 1 0 1\n9 2 0 0\n10 2 1 0\n"
    "11 2 1 1\n12 2 0 1\n13 7 7 7\n$EndNodes\n"
    "$Elements\n8\n1 15 0 13\n2 3 2 1 7 1 4 3 2\n3 3 4 9 7 1 -2 1 4 3 2\n4 3 2 9 8 9 10 11 12\n"
    "5 5 2 1 3 1 5 6 2 4 8 7 3\n6 5 2 1 3 5 9 10 6 8 12 11 7\n7 5 2 2 3 5 9 10 6 8 12 11 7\n8 2 2 5 5 1 2 "
    "13\n"
    "$EndElements\n$PhysicalNames\n2\n2 1 \"left\"\n2 9 \"both sides\"\n$EndPhysicalNames\n";

static void groups_overlap_and_merge(void **state)
{
    (void)state;
    fe_mesh mesh;
    read_text(good_41, &mesh);
    assert_int_equal(mesh.n_node, 12);
    assert_int_equal(mesh.n_group, 4);
    const fe_group *left = fe_mesh_group(&mesh, "left");
    assert_true(left->dim == 2 && left->n_facet == 1); /* not the volume of that name */
    assert_int_equal(fe_mesh_group(&mesh, "both sides")->n_facet, 2);
    assert_int_equal(fe_mesh_group(&mesh, "corner")->dim, 0);
    assert_int_equal(mesh.elem_group[0], 1);
    assert_true(mesh.node_tag[0] == 1000000000000);
    fe_mesh copy;
    require_ok(fe_mesh_write(&mesh, scratch, 1));
    require_ok(fe_mesh_read(scratch, 0, &copy));
    require_same(&mesh, &copy, 0);
    fe_mesh_close(&mesh);
    fe_mesh_close(&copy);

    read_text(good_22, &mesh);
    assert_int_equal(mesh.n_node, 12); /* 13 is dropped */
    assert_int_equal(mesh.n_elem, 2);  /* 7 is 6 */
    assert_int_equal(fe_mesh_group(&mesh, "left")->n_facet, 1);
    assert_int_equal(fe_mesh_group(&mesh, "both sides")->n_facet, 2);
    assert_int_equal(fe_mesh_group(&mesh, "3:1")->n_facet, 2);
    assert_int_equal(fe_mesh_group(&mesh, "3:2")->n_facet, 1);
    assert_int_equal(fe_mesh_group(&mesh, "3:2")->facet[0], 1);
    assert_int_equal(fe_mesh_group(&mesh, "2:5")->n_facet, 0); /* its facet hangs on node 13 */
    fe_mesh_close(&mesh);
}

/* A cut surface inside the volume carries the number of a real group, as Gmsh writes it. */
static void partition_cuts_join_no_group(void **state)
{
    (void)state;
    static const char partitioned[] = "$EndEntities\n$PartitionedEntities\n2\n1\n4 1\n0 0 2 1\n"
                                      "7 2 7 1 1 0 0 0 0 1 1 2 1 9 0\n8 3 3 2 1 2 2 0 0 2 1 1 1 1 0\n"
                                      "3 3 3 1 1 0 0 0 2 1 1 1 1 2 7 8\n$EndPartitionedEntities\n";
    char *text = edit(good_41, "", "$Entities\n1 0 2 1", "$Entities\n1 0 0 0"), *whole;
    char *from = strstr(text, "7 0 0 0 0 1 1"), *to = strstr(text, "$EndEntities");
    memmove(from, to, strlen(to) + 1);
    whole = edit(text, "", "$EndEntities\n", partitioned);
    fe_mesh mesh;
    read_text(whole, &mesh);
    assert_int_equal(fe_mesh_group(&mesh, "left")->n_facet, 1);
    assert_int_equal(fe_mesh_group(&mesh, "both sides")->n_facet, 1);
    fe_mesh_close(&mesh);
    free(text);
    free(whole);
}

static void harmless_spellings_are_read(void **state)
{
    (void)state;
    const size_t n = sizeof good_22 - 1;
    char *crlf = calloc(2, n + 1), *to = crlf;
    for (const char *from = good_22; *from; *to++ = *from++)
        if (*from == '\n') *to++ = '\r';
    to[-2] = 0; /* no final newline */
    fe_mesh mesh;
    read_text(crlf, &mesh);
    fe_mesh_close(&mesh);
    free(crlf);
    static const char *const change[][3] = {
        {"$Nodes", "1 0 0 0", "1\t0 +0.0\t -0.0E+5  "},
        {"$Nodes", "9 2 0 0", "9 2.00000000000000000000 0 0"},
        {"$EndNodes", "\n", "\n\n  \n"},
        {"$EndNodes", "\n", "\nremark\n$Odd\n1 nan\n$EndOdd\n"},
    };
    for (size_t i = 0; i < sizeof change / sizeof *change; ++i) {
        char *text = edit(good_22, change[i][0], change[i][1], change[i][2]);
        read_text(text, &mesh);
        assert_int_equal(mesh.n_node, 12);
        fe_mesh_close(&mesh);
        free(text);
    }
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *after, *old, *new, *what;
    } bad[] = {
        {good_41, "", "4.1 0 8", "4 0 8", "MSH version 4.0"},
        {good_41, "", "4.1 0 8", "4.0 0 8", "MSH version 4.0"},
        {good_41, "", "4.1 0 8", "3.7 0 8", "3.7"},
        {good_41, "", "4.1 0 8", "4.1 0 4", "4 bytes"},
        {good_41, "", "$MeshFormat", "solid part", "\"solid\""},
        {good_41, "", "$EndComments", "$EndRemarks", "$EndComments"},
        {good_41, "$Nodes", "1 0 0 .5", "nan 0 0 .5", "line 42: \"nan\""},
        {good_22, "$Nodes", "4 0 0 1", "4 0 0 -inf", "\"-inf\""},
        {good_22, "$Nodes", "4 0 0 1", "4 0 1e999 1", "\"1e999\""},
        {good_22, "$Nodes", "4 0 0 1", "4 0,5 0 1", "$Nodes, line 9: \"0,5\""},
        {good_22, "$Nodes", "4 0 0 1", "4 0 0 1d5", "\"1d5\""},
        {good_22, "$Nodes", "4 0 0 1", "4 0 0 0x1", "\"0x1\""},
        {good_22, "$Nodes", "4 0 0 1", "4 0 0", "line 9: the line ends where coordinate z"},
        {good_22, "$Nodes", "4 0 0 1", "4 0 0 1 1", "\"1\" where the line should end"},
        {good_22, "$Nodes", "4 0 0 1", "4.5 0 0 1", "\"4.5\""},
        {good_22, "$Nodes", "4 0 0 1", "99999999999999999999 0 0 1", "\"99999999999999999999\""},
        {good_22, "$Nodes", "4 0 0 1", "3 0 0 1", "node tag 3 occurs twice"},
        {good_22, "$Nodes", "13\n", "12\n", "$EndNodes"},
        {good_22, "$Nodes", "13\n", "14\n", "fewer entries"},
        {good_22, "$Nodes", "13\n", "2000000000\n", "2000000000 nodes are announced"},
        {good_22, "$Nodes", "13\n", "-13\n", "-13"},
        {good_22, "", "$EndNodes", "$EndElements", "$EndElements"},
        {good_22, "$Elements", "8\n", "7\n", "$EndElements should be"},
        {good_22, "$Elements", "8\n", "9\n", "fewer entries"},
        {good_22, "$Elements", "5 5 2 1", "5 5 2000000000 1", "element"},
        {good_22, "$Elements", "5 5 2 1", "5 6 2 1", "element 5 is of type 6 (Prism6)"},
        {good_22, "$Elements", "5 5 2 1", "5 11 2 1", "Tet10"},
        {good_22, "$Elements", "5 5 2 1", "5 -3 2 1", "type -3"},
        {good_22, "$Elements", "5 5 2 1 3 1 5", "5 5 2 1 3 5 5", "element 5 repeats node 5"},
        {good_22, "$Elements", "5 5 2 1 3 1 5 6 2 4 8 7 3", "5 5 2 1 3 4 8 7 3 1 5 6 2",
         "element 5 has Jacobian -"},
        {good_22, "$Elements", "5 5 2 1 3 1", "5 5 2 1 3 77", "element 5 names node 77"},
        {good_22, "$Elements", "2 3 2 1 7 1", "2 3 2 1 7 78", "element 2 names node 78"},
        {good_22, "$Elements", "2 3 2 1 7 1 4", "2 3 2 1 7 4 4", "element 2 repeats node 4"},
        {good_22, "$Elements", "7 5 2 2", "7 5 2 1", "element 7 has the same nodes as element 6"},
        {good_22, "$Elements", "6 5 2 1", "6 5 2 2", "element 7 repeats element 6"},
        {good_22, "$Elements", "6 5 2 1 3 5", "5 5 2 1 3 5", "element tag 5 occurs twice"},
        {good_22, "$Elements", "5 5 2 1 3 1 5 6 2 4 8 7 3", "5 4 2 1 3 1 5 6 2", "mixed elements"},
        {good_41, "$Elements", "5 5 9 10 6 8 12 11 7", "5 1000000000000 5 6 20 4 8 7 30", "the same nodes"},
        {good_41, "$Elements", "3 3 5 2", "3 3 17 2", "element 4 is of type 17 (Hex20)"},
        {good_41, "$Elements", "3 3 5 2", "2 3 5 2", "block of dimension 2"},
        {good_41, "$Elements", "3 3 5 2", "3 3 5 3", "more elements than announced"},
        {good_41, "$Elements", "4 5 1 5", "4 6 1 5", "announced"},
        {good_41, "$Elements", "4 5 1 5", "9223372036854775807 5 1 5", "9223372036854775807 blocks"},
        {good_41, "$Elements", "4 5 1 5", "4 9223372036854775807 1 5", "9223372036854775807 elements"},
        {good_41, "$Nodes", "3 12 1", "3 13 1", "announced"},
        {good_41, "$Nodes", "3 3 1 8", "3 3 1 9", "more nodes than announced"},
        {good_41, "$Nodes", "3 3 1 8", "3 3 0 8", "where the line should end"},
        {good_41, "$Nodes", "20\n", "30\n", "node tag 30 occurs twice"},
        {good_41, "$Entities", "1 0 2 1", "1 0 900000000 1", "900000000 entities"},
        {good_41, "$Entities", "1 1 2 1 -9", "1 1 99999999 1 -9", "99999999 physical groups"},
        {good_41, "$PhysicalNames", "2 1 \"left\"", "2 1 left", "2:1 has no name in quotes"},
        {good_41, "$PhysicalNames", "2 9", "2 1", "2:1 is named twice"},
        {good_41, "$PhysicalNames", "2 9", "5 9", "dimension is 5"},
        {good_41, "$EndEntities\n", "$Nodes", "$Odes", "$EndOdes"},
        {good_41, "$EndNodes\n", "$Elements\n4 5 1 5", "$Nodes\n4 5 1 5", "second section"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
        refuse_edit(bad[i].text, bad[i].after, bad[i].old, bad[i].new, bad[i].what);
    refuse("", "empty");
    refuse("\n \n", "no $MeshFormat");
    refuse("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n", "no $Nodes section");
    refuse("$Nodes\n0\n$EndNodes\n", "before $MeshFormat");
    refuse("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n1\n1 0 0 0\n$EndNodes\n$Elements\n1\n1 15 2 1 1 "
           "1\n$EndElements\n",
           "no volume elements: did you define a physical volume?");
    fe_mesh mesh;
    assert_int_equal(fe_mesh_read("absent.msh", 0, &mesh), FE_BAD_INPUT);
    assert_non_null(strstr(fe_message(), "absent.msh: No such file"));
    assert_int_equal(fe_mesh_read(".", 0, &mesh), FE_BAD_INPUT);
}

static void binary_damage_is_refused(void **state)
{
    (void)state;
    size_t n;
    char *text = load(MESHES "patch_hex.bin.msh", &n);
    char *mark = strstr(text, "\n4.1 1 8\n") + 9;
    memcpy(mark, "\0\0\0\1", 4);
    refuse_bytes(text, n, "byte order");
    memcpy(mark, "\7\0\0\0", 4);
    refuse_bytes(text, n, "byte order mark is 7");
    memcpy(mark, "\1\0\0\0", 4);
    const double nan_value = NAN;
    char *nodes = memmem(text, n, "$Nodes\n", 7) + 7;
    /* behind the totals and the block's header: a tag, then its coordinates, as the first block is a point */
    const int64_t absurd = INT64_MAX / 4;
    char keep[8];
    memcpy(nodes + 32 + 20 + 8, &nan_value, 8);
    refuse_bytes(text, n, "coordinate x of node 1 is");
    memset(nodes + 32 + 20 + 8, 0, 8);
    memcpy(keep, nodes + 8, 8);
    memcpy(nodes + 8, &absurd, 8);
    refuse_bytes(text, n, "nodes are announced");
    memcpy(nodes + 8, keep, 8);
    memcpy(nodes + 32 + 12, &absurd, 8);
    refuse_bytes(text, n, "more nodes than announced");
    free(text);
}

/* --- damage at every byte ----------------------------------------------------------------------------------
 */

static void read_damaged(const char *text, size_t n, int must_fail)
{
    fe_mesh mesh;
    store(text, n);
    const fe_status status = fe_mesh_read(scratch, 0, &mesh);
    if (status != FE_OK && status != FE_BAD_INPUT) fail_msg("status %d: %s", status, fe_message());
    if (must_fail && status == FE_OK) fail_msg("cut at byte %zu, and read", n);
    fe_mesh_close(&mesh);
}

/* A box small enough for thousands of readings, or good_22. */
static char *small_file(int which, size_t *n)
{
    if (which == 2) {
        *n = sizeof good_22 - 1;
        return strdup(good_22);
    }
    fe_mesh mesh = make_box(which ? FE_TET4 : FE_HEX8, 2, 1, 1, 0);
    require_ok(fe_mesh_write(&mesh, scratch, which == 0));
    fe_mesh_close(&mesh);
    return load(scratch, n);
}

static void cut_files_are_refused(void **state)
{
    (void)state;
    for (int which = 0; which < 3; ++which) {
        size_t n;
        char *text = small_file(which, &n);
        /* the final newline may go, and good_22 ends in a section that may be missing */
        const char *const last = which == 2 ? strstr(text, "$PhysicalNames") : text + n;
        for (size_t cut = 0; cut < n - 1; ++cut) {
            const int may_end = which == 2 && (text + cut == last || text + cut == last - 1);
            read_damaged(text, cut, !may_end);
        }
        free(text);
    }
    size_t n;
    char *text = load(MESHES "patch_hex.v22.bin.msh", &n);
    for (size_t cut = 0; cut < n - 1; cut += cut < n - 200 ? 97 : 1) read_damaged(text, cut, 1);
    free(text);
}

static void flipped_bytes_do_no_harm(void **state)
{
    (void)state;
    uint64_t random = 20240607;
    for (int which = 0; which < 3; ++which) {
        size_t n;
        char *text = small_file(which, &n), *copy = malloc(n);
        for (int round = 0; round < 2500; ++round) {
            memcpy(copy, text, n);
            for (int flips = 1 + round % 4; flips > 0; --flips) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                const size_t at = (size_t)(random >> 24) % n;
                /* digits for digits keep most texts readable; any byte for the others */
                copy[at] = round % 2 && copy[at] >= '0' && copy[at] <= '9' ? (char)('0' + (random >> 8) % 10)
                                                                           : (char)(random >> 16);
            }
            read_damaged(copy, n, 0);
        }
        free(text);
        free(copy);
    }
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/febench-test-mesh-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    snprintf(scratch, sizeof scratch, "%s/mesh.msh", folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(validation_meshes_are_read_alike),
        cmocka_unit_test(round_trips_keep_everything),
        cmocka_unit_test(unwritable_files_are_named),
        cmocka_unit_test(boxes_have_volume_and_sides),
        cmocka_unit_test(tetrahedra_fit_together),
        cmocka_unit_test(bad_boxes_are_refused),
        cmocka_unit_test(orders_only_renumber),
        cmocka_unit_test(bisection_makes_compact_pieces),
        cmocka_unit_test(tetrahedra_are_covered_by_fans),
        cmocka_unit_test(node_elements_are_the_transpose),
        cmocka_unit_test(parts_are_found),
        cmocka_unit_test(quality_of_ideal_elements),
        cmocka_unit_test(groups_overlap_and_merge),
        cmocka_unit_test(partition_cuts_join_no_group),
        cmocka_unit_test(harmless_spellings_are_read),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(binary_damage_is_refused),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(flipped_bytes_do_no_harm),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(scratch);
    rmdir(folder);
    return failed;
}
