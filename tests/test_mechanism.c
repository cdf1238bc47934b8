/* Bodies that share edges and nodes only: what fe_mechanism_find says of them against the null space of the
 * elastic stiffness, and against linkages that are known. */
#include "common/mesh/bodies.h"
#include "common/problem/mechanism.h"
#include "tests/common.h"
#include "tests/random_problem.h"
#include "tests/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- meshes ------------------------------------------------------------------------------------------ */

/* Cells of a unit grid whose three numbers have an odd sum: they share edges only. Numbers of cells that are
 * odd leave no cell in a corner of a sheet, where it would have one neighbour. */
static fe_mesh checkerboard(const int cells[3])
{
    fe_mesh mesh = make_box(FE_HEX8, cells, (const double[]){cells[0], cells[1], cells[2]}, 0, 1);
    unsigned char *is_kept = zeros((size_t)mesh.n_elem, 1);
    for (int e = 0; e < mesh.n_elem; e++) {
        const double *x = mesh.x + 3 * (size_t)mesh.conn[8 * (size_t)e];
        is_kept[e] = ((int)(x[0] + 0.5) + (int)(x[1] + 0.5) + (int)(x[2] + 0.5)) % 2;
    }
    thin_out(&mesh, is_kept);
    free(is_kept);
    return mesh;
}

static fe_mechanism find(const fe_mesh *mesh, const unsigned char *is_fixed)
{
    fe_mechanism m;
    must(fe_mechanism_find(mesh, is_fixed, &m));
    return m;
}

/* One body in any order of the elements, and one for each cell that shares no face. */
static void bodies_do_not_depend_on_the_order(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        int n_body, *body;
        fe_mesh mesh =
            make_box(t % 2 ? FE_HEX8 : FE_TET4, (const int[]){4, 5, 6}, (const double[]){1, 1, 1}, 0, 1);
        if (t / 2) must(fe_mesh_reorder(&mesh, FE_ORDER_RANDOM, 5));
        must(fe_mesh_bodies(&mesh, &n_body, &body));
        assert_int_equal(n_body, 1);
        for (int e = 0; e < mesh.n_elem; e++) assert_int_equal(body[e], 0);
        free(body);
        fe_mesh_close(&mesh);
        mesh = checkerboard((const int[]){3, 3, 3});
        if (t / 2) must(fe_mesh_reorder(&mesh, FE_ORDER_RANDOM, 5));
        must(fe_mesh_bodies(&mesh, &n_body, &body));
        assert_int_equal(n_body, 13);
        for (int e = 0; e < mesh.n_elem; e++) assert_int_equal(body[e], e);
        free(body);
        fe_mesh_close(&mesh);
    }
}

/* --- against the null space -------------------------------------------------------------------------- */

/* Eigenvalues of the elastic stiffness without its fixed rows that are 0. Those of these small meshes that
 * are not are far from it. */
static int count_zeros(const fe_mesh *mesh, const unsigned char *is_fixed)
{
    const oracle_material material = {1, 0.3, INFINITY, 0, 0, 0};
    plain p;
    double least;
    plain_open(&p, mesh, fe_points(mesh->kind), 1, &material, NULL, is_fixed);
    const int n_zero = plain_zeros(&p, &least);
    plain_close(&p);
    assert_true(least > 1e-8);
    return n_zero;
}

/* A body that is said to turn alone does so without a gap: what turns is 0 where it meets others or is held.
 */
static void assert_turns(const fe_mesh *mesh, const fe_mechanism *m)
{
    for (int k = 0; k < m->n_shared && k < FE_NAMED_NODES; k++) {
        const double *x = mesh->x + 3 * (size_t)m->shared[k], *w = m->motion.axis, *p = m->motion.point;
        for (int i = 0; i < 3; i++) {
            const int a = (i + 1) % 3, b = (i + 2) % 3;
            const double u = m->motion.rotates ? w[a] * (x[b] - p[b]) - w[b] * (x[a] - p[a]) : w[i];
            assert_true(fabs(u + m->motion.pitch * w[i]) < 1e-9);
        }
    }
}

/* Boxes of some 20 elements, of which a random share is left, on a few random supports. */
static void random_meshes_move_as_their_stiffness_says(void **state)
{
    (void)state;
    enum { ROUNDS = 300 };
    int seen[5] = {0}; /* held, and kinds of hinge from the whole part on */
    random_state = 11;
    for (int t = 0; t < ROUNDS; t++) {
        const int kind = t % 2 ? FE_HEX8 : FE_TET4, n = kind == FE_HEX8 ? 3 : 2;
        fe_mesh mesh = make_box(kind, (const int[]){n, n, t / 2 % 3 ? n : 1}, (const double[]){n, n, n},
                                t % 5 ? 0.2 : 0, (uint64_t)t + 1);
        unsigned char *is_kept = zeros((size_t)mesh.n_elem, 1);
        const double share = 0.4 + 0.3 * uniform();
        for (int e = 0; e < mesh.n_elem; e++) is_kept[e] = 0.5 + 0.5 * uniform() < share;
        is_kept[0] = 1;
        thin_out(&mesh, is_kept);
        unsigned char *is_fixed = zeros(3 * (size_t)mesh.n_node, 1);
        const double density = t % 3 ? 0.25 + 0.25 * uniform() : 0.1;
        for (int i = 0; i < 3 * mesh.n_node; i++) is_fixed[i] = 0.5 + 0.5 * uniform() < density;
        const fe_mechanism m = find(&mesh, is_fixed);
        const int n_zero = count_zeros(&mesh, is_fixed);
        if (m.moves != (n_zero > 0))
            fail_msg("mesh %d: %d zero eigenvalues, but %s", t, n_zero, m.moves ? "it moves" : "it is held");
        if (m.moves) assert_turns(&mesh, &m);
        seen[m.moves ? 1 + m.hinge : 0]++;
        free(is_kept), free(is_fixed);
        fe_mesh_close(&mesh);
    }
    for (int k = 0; k < 4; k++) assert_true(seen[k] > 0);
}

/* Quadratic elements share faces where their linear ones do, and turn about the same hinges. */
static void quadratic_bodies_move_as_linear_ones(void **state)
{
    (void)state;
    int n_held = 0, n_part = 0, n_hinge = 0;
    random_state = 23;
    for (int t = 0; t < 300; t++) {
        const int kind = t % 2 ? FE_HEX8 : FE_TET4, n = kind == FE_HEX8 ? 3 : 2;
        fe_mesh mesh = make_box(kind, (const int[]){n, n, t / 2 % 3 ? n : 1}, (const double[]){n, n, n},
                                t % 5 ? 0.2 : 0, (uint64_t)t + 1);
        unsigned char *is_kept = zeros((size_t)mesh.n_elem, 1);
        const double share = 0.4 + 0.3 * uniform(), density = t % 3 ? 0.25 + 0.25 * uniform() : 0.1;
        for (int e = 0; e < mesh.n_elem; e++) is_kept[e] = 0.5 + 0.5 * uniform() < share;
        is_kept[0] = 1;
        thin_out(&mesh, is_kept);
        unsigned char *is_fixed = zeros(3 * 8 * (size_t)mesh.n_node, 1); /* of vertices only */
        for (int i = 0; i < 3 * mesh.n_node; i++) is_fixed[i] = 0.5 + 0.5 * uniform() < density;
        const fe_mechanism linear = find(&mesh, is_fixed);
        const int n_vertex = mesh.n_node;
        must(fe_mesh_elevate(&mesh));
        assert_true(mesh.n_node < 8 * n_vertex);
        const fe_mechanism quadratic = find(&mesh, is_fixed);
        assert_int_equal(linear.moves, quadratic.moves);
        assert_int_equal(linear.n_part, quadratic.n_part);
        if (quadratic.moves) assert_turns(&mesh, &quadratic);
        n_held += !linear.moves;
        n_part += linear.moves && !linear.hinge;
        n_hinge += linear.moves && linear.hinge;
        free(is_kept), free(is_fixed);
        fe_mesh_close(&mesh);
    }
    if (n_held < 10 || n_part < 10 || n_hinge < 10)
        fail_msg("%d held, %d parts, %d hinges", n_held, n_part, n_hinge);
}

/* --- known linkages ---------------------------------------------------------------------------------- */

enum { HELD = -1 };

/* Fixes the components `axes` of all nodes at `at` along an axis. */
static void fix_side(const fe_mesh *mesh, int axis, double at, const char *axes, unsigned char *is_fixed)
{
    for (int n = 0; n < mesh->n_node; n++)
        for (int i = 0; i < 3 && mesh->x[3 * (size_t)n + axis] == at; i++)
            if (strchr(axes, "xyz"[i])) is_fixed[3 * (size_t)n + i] = 1;
}

/* A side, by its axis and place, and the components that are fixed there. */
typedef struct side {
    int axis;
    double at;
    const char *axes;
} side;

static fe_mechanism find_in_checkerboard(const int cells[3], const side *sides)
{
    fe_mesh mesh = checkerboard(cells);
    unsigned char *is_fixed = zeros(3 * (size_t)mesh.n_node, 1);
    for (int s = 0; sides[s].axes; s++) fix_side(&mesh, sides[s].axis, sides[s].at, sides[s].axes, is_fixed);
    const fe_mechanism m = find(&mesh, is_fixed);
    if (m.moves && m.hinge != FE_HINGE_NONE) assert_turns(&mesh, &m);
    free(is_fixed);
    fe_mesh_close(&mesh);
    return m;
}

/* Squares that are joined at their corners turn against each other, all at once, unless a whole side of one
 * is held. In three dimensions each cube has neighbours in all directions, which hold it. */
static void checkerboards_turn_or_are_held(void **state)
{
    (void)state;
    static const struct {
        int cells[3];
        side sides[4];
        int hinge;
    } board[] = {
        {{9, 9, 1}, {{0, 0, "x"}, {1, 0, "y"}, {2, 0, "z"}}, HELD}, /* sides of squares lie on guides */
        {{9, 9, 1}, {{0, 0, "xyz"}}, HELD},
        {{5, 5, 1}, {{2, 0, "z"}, {1, 0, "y"}}, FE_HINGE_NONE}, /* all of it can move along x */
        {{4, 4, 1}, {{0, 0, "xyz"}}, FE_HINGE_BODY},            /* the cell in a corner has one neighbour */
        {{9, 9, 9}, {{0, 0, "x"}, {1, 0, "y"}, {2, 0, "z"}}, HELD},
        {{9, 9, 9}, {{0, 0, "x"}, {1, 0, "y"}}, FE_HINGE_NONE},
        {{41, 41, 1}, {{0, 0, "x"}, {1, 0, "y"}, {2, 0, "z"}}, HELD},
    };
    for (size_t k = 0; k < sizeof board / sizeof *board; k++) {
        const fe_mechanism m = find_in_checkerboard(board[k].cells, board[k].sides);
        if ((m.moves ? (int)m.hinge : HELD) != board[k].hinge || m.n_unknown)
            fail_msg("board %zu: %d, hinge %d", k, m.moves, m.hinge);
    }
}

/* Three nodes hold a sheet of squares as a whole, and not one against another. All turns are about z. */
static void sheets_of_squares_are_linkages(void **state)
{
    (void)state;
    static const int cells[][3] = {{5, 5, 1}, {9, 9, 1}, {31, 41, 1}};
    for (int k = 0; k < 3; k++) {
        fe_mesh mesh = checkerboard(cells[k]);
        unsigned char *is_fixed = zeros(3 * (size_t)mesh.n_node, 1);
        for (int n = 0; n < mesh.n_node; n++) {
            const double *x = mesh.x + 3 * (size_t)n;
            is_fixed[3 * (size_t)n + 2] = x[2] == 0;
            if (x[0] == 2 && x[1] == 2) memset(is_fixed + 3 * (size_t)n, 1, 3);
            if (x[0] == 3 && x[1] == 3) is_fixed[3 * (size_t)n] = 1;
        }
        const fe_mechanism m = find(&mesh, is_fixed);
        assert_true(m.moves && m.hinge >= FE_HINGE_LINKAGE);
        assert_int_equal(m.n_shared, 2);
        assert_true(m.motion.axis[2] == 1);
        assert_turns(&mesh, &m);
        char text[FE_MESSAGE_LENGTH];
        fe_mechanism_say(&mesh, &m, text, sizeof text);
        assert_holds(text, " alone, in a linkage: ");
        assert_holds(text, " can rotate about the axis through (");
        assert_holds(text, ") along (0, 0, 1)");
        if (k == 0) assert_int_equal(count_zeros(&mesh, is_fixed), 1);
        free(is_fixed);
        fe_mesh_close(&mesh);
    }
}

/* Four squares around a hole, one of them held: a linkage of four bars. */
static void rings_of_four_are_linkages(void **state)
{
    (void)state;
    const fe_mechanism m = find_in_checkerboard((const int[]){3, 3, 1}, (const side[]){{0, 0, "xyz"}, {0}});
    assert_true(m.moves && m.hinge >= FE_HINGE_LINKAGE);
    assert_true(m.motion.axis[2] == 1);
    const fe_mechanism held = find_in_checkerboard(
        (const int[]){3, 3, 1},
        (const side[]){{0, 0, "xyz"}, {0, 3, "y"}, {0}}); /* the square opposite would move along y */
    assert_false(held.moves);
}

/* A network that is too large for the band is left alone, and that is said. */
static void huge_networks_are_not_examined(void **state)
{
    (void)state;
    const fe_mechanism m = find_in_checkerboard((const int[]){33, 33, 33},
                                                (const side[]){{0, 0, "x"}, {1, 0, "y"}, {2, 0, "z"}, {0}});
    assert_false(m.moves);
    assert_true(m.n_unknown > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_do_not_depend_on_the_order),
        cmocka_unit_test(random_meshes_move_as_their_stiffness_says),
        cmocka_unit_test(quadratic_bodies_move_as_linear_ones),
        cmocka_unit_test(checkerboards_turn_or_are_held),
        cmocka_unit_test(sheets_of_squares_are_linkages),
        cmocka_unit_test(rings_of_four_are_linkages),
        cmocka_unit_test(huge_networks_are_not_examined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
