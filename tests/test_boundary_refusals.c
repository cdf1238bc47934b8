/* Supports and loads that a mesh cannot hold, or that leave a body free to move: each is refused by its text.
 */
#include "tests/common.h"
#include "tests/draft.h"

#include <stdlib.h>
#include <string.h>

static const double length_123[3] = {1, 2, 3};

static void assert_refused(const draft *d, const fe_mesh *mesh, const char *message)
{
    fe_boundary b;
    assert_int_equal(fe_boundary_apply(&d->c, mesh, &b), FE_BAD_INPUT);
    assert_message("draft.json: ");
    assert_message(message);
    fe_boundary_close(&b);
}

static void refuses_what_the_mesh_cannot_hold(void **state)
{
    (void)state;
    draft d;
    fe_mesh mesh = tagged_box(FE_HEX8, (const int[]){2, 1, 1}, length_123, 0);
    open_draft(&d);
    assert_refused(&d, &mesh, "key \"dirichlet\": there is no support at all");
    add_support(&d, "X0", "0", "0", "0", 0);
    assert_refused(&d, &mesh, "key \"dirichlet[0].group\": \"X0\" is not in ");
    assert_message("its groups are: x0, x1, y0, y1, z0, z1, body");

    d.support[0].group = (char *)"x0";
    add_traction(&d, "nowhere", 1, 0, 0, 0);
    assert_refused(&d, &mesh, "key \"neumann[0].group\": \"nowhere\" is not in ");
    d.load[0].group = (char *)"body";
    assert_refused(&d, &mesh, "key \"neumann[0].group\": \"body\" has no faces (its dimension is 3)");

    fe_group *empty = (fe_group *)fe_mesh_group(&mesh, "y1"); /* named in the file, and nothing is in it */
    const int n_facet = empty->n_facet;
    empty->n_facet = 0;
    d.load[0].group = (char *)"y1";
    assert_refused(&d, &mesh, "key \"neumann[0].group\": \"y1\" is empty: no face of box is in it");
    d.support[0].group = (char *)"y1";
    for (empty->dim = 0; empty->dim < 4; empty->dim++)
        assert_refused(&d, &mesh, "key \"dirichlet[0].group\": \"y1\" is empty: no part of box is in it");
    empty->n_facet = n_facet;
    empty->dim = 2;
    d.support[0].group = (char *)"x0";
    d.load[0].group = (char *)"x1";

    fe_group *side = (fe_group *)fe_mesh_group(&mesh, "x1");
    const int inner[4] = {1, 4, 10, 7}; /* between the two cells: nodes with x = 0.5 */
    memcpy(side->facet, inner, sizeof inner);
    assert_refused(&d, &mesh, "\"x1\": the face with nodes 102, 108, 120, 114 belongs to 2 volume elements");
    side->facet[2] = 0; /* no face of any cell */
    assert_refused(&d, &mesh, "belongs to 0 volume elements, a loaded face must belong to one");
    fe_mesh_close(&mesh);
}

static void refuses_bad_expressions(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"1e-3*(x", "key \"dirichlet[1].u.y\", group \"y1\": \"1e-3*(x\": Missing parenthesis"},
        {"a*x", "\"a*x\": Unexpected token \"a\" found at position 0."},
        {"sqrt(x-1)", "nan at node 106 (0, 2, 0)"},
        {"1/(x-0.5)", "\"1/(x-0.5)\" is inf at node 108 (0.5, 2, 0)"},
        {"x, y", "\"x, y\" has 2 values, not one"},
        {"x = 7", "\"x = 7\" assigns to a coordinate"},
        {"foo(x)", "Unexpected"},
        {"x x", "Unexpected"},
        {" ", "\" \": "},
        {"\"text\"", "\"\"text\"\": "},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        draft d;
        fe_mesh mesh = tagged_box(FE_HEX8, (const int[]){2, 1, 1}, length_123, 0);
        open_draft(&d);
        add_support(&d, "x0", "0", NULL, NULL, 0);
        add_support(&d, "y1", NULL, bad[i][0], NULL, 0);
        assert_refused(&d, &mesh, bad[i][1]);
        fe_mesh_close(&mesh);
    }
}

/* Two boxes that do not touch; the group holds one of them. */
static void refuses_a_part_without_support(void **state)
{
    (void)state;
    draft d;
    double x[24], pair[48];
    int facet[4] = {0, 1, 2, 3}, conn[16], elem_group[2] = {0};
    int64_t tag[16];
    fe_mesh mesh;
    fe_group group[2];
    fe_boundary b;
    for (int a = 0; a < 8; a++)
        for (int i = 0; i < 3; i++) x[3 * a + i] = i == 2 ? a / 4 : i == 1 ? a / 2 % 2 : (a + 1) / 2 % 2;
    for (int i = 0; i < 48; i++) pair[i] = x[i % 24] + (i < 24 ? 0 : 10);
    for (int n = 0; n < 16; n++) {
        conn[n] = n;
        tag[n] = 200 + n;
    }
    one_element(FE_HEX8, pair, facet, &mesh, group);
    mesh.n_node = 16;
    mesh.n_elem = 2;
    mesh.conn = conn;
    mesh.node_tag = mesh.elem_tag = tag;
    mesh.elem_group = elem_group;
    open_draft(&d);
    add_support(&d, "top", "0", "0", "0", 0);
    assert_refused(&d, &mesh, "part 2 of 2 of the mesh (8 nodes, among them 208) has no support");
    int both[2] = {0, 1};
    group[1].n_facet = 2;
    group[1].facet = both;
    d.support[0].group = (char *)"all";
    must(fe_boundary_apply(&d.c, &mesh, &b));
    assert_int_equal(b.n_fixed, 48);
    fe_boundary_close(&b);
}

/* Two cubes that share the edge of nodes 106 and 107, or one node of it. Support at the first one's far side.
 */
static void refuses_hinges(void **state)
{
    (void)state;
    static const double x[16][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1},
                                    {1, 1, 1}, {0, 1, 1}, {2, 1, 0}, {2, 2, 0}, {1, 2, 0}, {2, 1, 1},
                                    {2, 2, 1}, {1, 2, 1}, {1, 1, 0}, {0, 0, 0}};
    int conn[16] = {0, 1, 2, 3, 4, 5, 6, 7, 2, 8, 9, 10, 6, 11, 12, 13}, facet[4] = {0, 3, 7, 4};
    int elem_group[2] = {0};
    int64_t tag[16];
    fe_mesh mesh;
    fe_group group[2];
    draft d;
    for (int n = 0; n < 16; n++) tag[n] = 100 + n;
    one_element(FE_HEX8, (double *)x, facet, &mesh, group);
    mesh.n_node = 14, mesh.n_elem = 2, mesh.conn = conn;
    mesh.node_tag = mesh.elem_tag = tag, mesh.elem_group = elem_group;
    open_draft(&d);
    add_support(&d, "top", "0", "0", "0", 0);
    assert_refused(
        &d, &mesh,
        "key \"dirichlet\": the body of element 101 of the mesh (1 element) is held by nodes 102, 106 "
        "alone: it can rotate about the axis through (1, 1, 0.5) along (0, 0, 1)");
    conn[8] = 14, mesh.n_node = 15; /* its own node at the place of node 102 */
    assert_refused(
        &d, &mesh,
        "is held by node 106 alone: it can rotate about the axis through (1, 1, 1) along (1, 0, 0) (3 "
        "of its 6 rigid motions are free)");
    fe_boundary b;
    int both[2] = {0, 1}; /* each with supports of its own */
    group[1].n_facet = 2, group[1].facet = both;
    d.support[0].group = (char *)"all";
    must(fe_boundary_apply(&d.c, &mesh, &b));
    fe_boundary_close(&b);
}

/* What three sides of a box at most leave free, each worked out by hand. Held components are letters: "xz"
 * are u_x and u_z. `said` NULL: all motions are held. */
static void rigid_motions_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *support[3][2], *said;
    } scene[] = {
        {{{"x0", "xyz"}}, NULL},
        {{{"x0", "x"}, {"y0", "y"}, {"z0", "z"}}, NULL},
        {{{"x0", "xz"}, {"x1", "y"}}, NULL},
        {{{"x0", "x"}}, "it can move along (0, 1, 0) (3 of its 6 rigid motions are free)"},
        {{{"x0", "x"}, {"y0", "y"}}, "is not held by its supports: it can move along (0, 0, 1)"},
        {{{"x0", "xy"}}, "it can move along (0, 0, 1)"},
        /* a line along z at (2, 0) as hinge */
        {{{"edge", "xyz"}}, "it can rotate about the axis through (2, 0, 2) along (0, 0, 1)"},
        {{{"edge", "xy"}}, "it can move along (0, 0, 1) (2 of its 6 rigid motions are free)"},
        {{{"edge", "xyz"}, {"y1", "y"}}, NULL},
        /* a point at the origin, alone and with guides */
        {{{"corner", "xyz"}},
         "it can rotate about the axis through (0, 0, 0) along (1, 0, 0) (3 of its 6 rigid"},
        {{{"corner", "xyz"}, {"edge", "z"}},
         "it can rotate about the axis through (1.667, 0, 0) along (1, 0, 0) (2 of"},
        {{{"corner", "xyz"}, {"edge", "y"}},
         "it can rotate about the axis through (0, 0, 0) along (0, 1, 0)"},
        {{{"corner", "xyz"}, {"edge", "yz"}}, NULL},
        {{{"all", "x"}}, "it can move along (0, 1, 0) (3 of its 6 rigid motions are free)"},
    };
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < sizeof scene / sizeof *scene; i++) {
            /* [0, 2] x [0, 3] x [0, 4], far from the origin in the second round */
            fe_mesh mesh = tagged_box(FE_HEX8, (const int[]){2, 3, 4}, (const double[]){2, 3, 4}, 0);
            int edge[4 * 5], corner[4] = {0, -1, -1, -1}, *facet[2] = {edge, corner}, n_edge = 0;
            for (int n = 0; n < mesh.n_node; n++)
                if (mesh.x[3 * n] == 2 && mesh.x[3 * n + 1] == 0)
                    memcpy(edge + 4 * n_edge++, (const int[]){n, -1, -1, -1}, 4 * sizeof *edge);
            assert_int_equal(n_edge, 5);
            for (int k = 0; k < 2; k++) { /* groups "x0" to "z1" stay, "y0" and "z1" are not needed twice */
                fe_group *g = (fe_group *)fe_mesh_group(&mesh, k ? "z1" : "body");
                free(g->facet);
                strcpy(g->name, k ? "c" : "edge");
                g->dim = 0, g->number = 90 + k, g->n_facet = k ? 1 : n_edge;
                must(fe_allocate((size_t)g->n_facet * 4, sizeof(int), "facets", (void **)&g->facet));
                memcpy(g->facet, facet[k], (size_t)g->n_facet * 4 * sizeof(int));
            }
            for (int k = 0; turn && k < mesh.n_node; k++) mesh.x[3 * k + 2] += 1e5;
            draft d;
            open_draft(&d);
            for (int k = 0; k < 3 && scene[i].support[k][0]; k++) {
                const char *group = scene[i].support[k][0], *axes = scene[i].support[k][1];
                if (!strcmp(group, "all")) /* sides that together hold every line of nodes */
                    add_support(&d, "x1", "0", NULL, NULL, 0), group = "x0";
                if (!strcmp(group, "corner")) group = "c";
                add_support(&d, group, strchr(axes, 'x') ? "0" : NULL, strchr(axes, 'y') ? "0" : NULL,
                            strchr(axes, 'z') ? "0" : NULL, 0);
            }
            fe_boundary b;
            const fe_status status = fe_boundary_apply(&d.c, &mesh, &b);
            if (status != (scene[i].said ? FE_BAD_INPUT : FE_OK)) fail_msg("scene %zu: %s", i, fe_message());
            if (scene[i].said && !turn) assert_message(scene[i].said);
            if (scene[i].said)
                assert_message("draft.json: key \"dirichlet\": part 1 of 1 of the mesh (60 nodes");
            fe_boundary_close(&b);
            fe_mesh_close(&mesh);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_the_mesh_cannot_hold), cmocka_unit_test(refuses_bad_expressions),
        cmocka_unit_test(refuses_a_part_without_support),    cmocka_unit_test(refuses_hinges),
        cmocka_unit_test(rigid_motions_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
