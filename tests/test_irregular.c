/* Meshes of elements in irregular numbers at their nodes, refined meshes, and the orders that suit
 * strategies. */
#include "common/mesh/bisect.h"
#include "common/mesh/mesh.h"
#include "common/problem/share.h"
#include "common/solver/run.h"
#include "tests/common.h"

#include <stdlib.h>
#include <string.h>

static fe_quality checked_quality(const fe_mesh *mesh)
{
    must(fe_mesh_check(mesh)); /* positive Jacobians at all points, no element twice */
    const fe_quality q = quality_of(mesh);
    assert_true(q.min_jacobian > 0); /* and at all corners */
    return q;
}

/* ∮ x · n dA / 3 over the groups of faces: the volume, where they are closed and point outwards. */
static double enclosed_volume(const fe_mesh *mesh)
{
    double sum = 0;
    for (int g = 0; g < mesh->n_group; ++g)
        for (int f = 0; mesh->group[g].dim == 2 && f < mesh->group[g].n_facet; ++f) {
            const int *node = mesh->group[g].facet + 4 * (size_t)f;
            for (int t = 1; t < 3 && node[t + 1] >= 0; ++t) {
                const double *p = mesh->x + 3 * (size_t)node[0], *q = mesh->x + 3 * (size_t)node[t],
                             *r = mesh->x + 3 * (size_t)node[t + 1];
                sum += p[0] * (q[1] * r[2] - q[2] * r[1]) + p[1] * (q[2] * r[0] - q[0] * r[2]) +
                       p[2] * (q[0] * r[1] - q[1] * r[0]);
            }
        }
    return sum / 6;
}

/* Numbers of nodes by how many elements they have, those on the sides of the unit cube apart. */
static void count_valences(const fe_mesh *mesh, int inside[64], int on_side[64])
{
    int *first, *elem;
    must(fe_mesh_node_elements(mesh, &first, &elem));
    memset(inside, 0, 64 * sizeof *inside), memset(on_side, 0, 64 * sizeof *on_side);
    for (int n = 0; n < mesh->n_node; ++n) {
        int side = 0;
        for (int i = 0; i < 3; ++i)
            side |= mesh->x[3 * (size_t)n + i] < 1e-12 || mesh->x[3 * (size_t)n + i] > 1 - 1e-12;
        assert_in_range(first[n + 1] - first[n], 1, 63);
        ++(side ? on_side : inside)[first[n + 1] - first[n]];
    }
    free(first), free(elem);
}

static void range_of(const int count[64], int *low, int *high, int *different)
{
    *low = *high = *different = 0;
    for (int k = 0; k < 64; ++k)
        if (count[k]) {
            if (!*low) *low = k;
            *high = k, ++*different;
        }
}

static void irregular_meshes_are_irregular(void **state)
{
    (void)state;
    static const int sizes[] = {1, 300, 3000, 60000};
    for (int kind = FE_TET4; kind <= FE_HEX8; kind += FE_HEX8)
        for (int k = 0; k < 4; ++k)
            for (uint64_t seed = 0; seed < 2; ++seed) {
                fe_mesh mesh, again;
                int nodes, elements, inside[64], on_side[64], low, high, different;
                must(fe_mesh_irregular(kind, sizes[k], seed, &mesh));
                must(fe_mesh_irregular_size(kind, sizes[k], seed, &nodes, &elements));
                assert_int_equal(mesh.n_node, nodes);
                assert_int_equal(mesh.n_elem, elements);
                if (sizes[k] >= 3000) assert_in_range(nodes, sizes[k] / 1.35, 1.35 * sizes[k]);
                const fe_quality q = checked_quality(&mesh);
                assert_true(fabs(q.volume - 1) < 1e-11 && fabs(enclosed_volume(&mesh) - 1) < 1e-11);
                assert_int_equal(fe_mesh_group(&mesh, "body")->n_facet, mesh.n_elem);
                count_valences(&mesh, inside, on_side);
                range_of(inside, &low, &high, &different);
                assert_in_range(low, kind == FE_TET4 ? 10 : 4, 12);
                assert_in_range(high, low, kind == FE_TET4 ? 46 : 12);
                if (sizes[k] == 60000) {
                    assert_in_range(high, kind == FE_TET4 ? 38 : 12, 46);
                    assert_true(different >= (kind == FE_TET4 ? 14 : 5));
                    for (int v = 0; v < 64; ++v) /* none is the rule: Kuhn's have 24, cells 8 */
                        assert_true(inside[v] < (kind == FE_TET4 ? 0.25 : 0.65) * mesh.n_node);
                    /* graded: cells are four times as long at the far end, on three axes */
                    assert_true(q.max_jacobian > 30 * q.min_jacobian);
                }
                range_of(on_side, &low, &high, &different);
                assert_in_range(low, 1, kind == FE_TET4 ? 6 : 1);
                must(fe_mesh_irregular(kind, sizes[k], seed, &again));
                assert_memory_equal(mesh.x, again.x, 3 * sizeof(double) * (size_t)nodes);
                assert_memory_equal(mesh.conn, again.conn,
                                    sizeof(int) * (size_t)fe_corners(kind) * (size_t)elements);
                fe_mesh_close(&again);
                if (seed) {
                    must(fe_mesh_irregular(kind, sizes[k], 0, &again));
                    if (sizes[k] > 1)
                        assert_true(again.n_elem != elements ||
                                    memcmp(mesh.conn, again.conn,
                                           sizeof(int) * (size_t)fe_corners(kind) * (size_t)elements));
                    fe_mesh_close(&again);
                }
                fe_mesh_close(&mesh);
            }
    fe_mesh mesh;
    assert_int_equal(fe_mesh_irregular(17, 100, 0, &mesh), FE_BAD_INPUT);
}

/* Inside faces belong to two elements, those of the groups to one. */
static void require_conforming(const fe_mesh *mesh)
{
    static const int tet[4][4] = {{0, 1, 2, -1}, {0, 1, 3, -1}, {0, 2, 3, -1}, {1, 2, 3, -1}},
                     hex[6][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 1, 5, 4},
                                  {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};
    const int nc = fe_corners(mesh->kind), n_face = nc == 4 ? 4 : 6;
    uint64_t sum = 0, sides = 0;
    for (int e = 0; e < mesh->n_elem; ++e)
        for (int f = 0; f < n_face; ++f) {
            uint64_t face = 0;
            for (int a = 0; a < (nc == 4 ? 3 : 4); ++a)
                face += fe_mix((uint64_t)mesh->conn[(size_t)e * nc + (nc == 4 ? tet : hex)[f][a]]);
            sum ^= fe_mix(face); /* what occurs twice cancels */
        }
    for (int g = 0; g < mesh->n_group; ++g)
        for (int f = 0; mesh->group[g].dim == 2 && f < mesh->group[g].n_facet; ++f) {
            uint64_t face = 0;
            for (int a = 0; a < 4 && mesh->group[g].facet[4 * (size_t)f + a] >= 0; ++a)
                face += fe_mix((uint64_t)mesh->group[g].facet[4 * (size_t)f + a]);
            sides ^= fe_mix(face);
        }
    assert_true(sum == sides);
}

static void refined_meshes_fit_together(void **state)
{
    (void)state;
    for (int kind = FE_TET4; kind <= FE_HEX8; kind += FE_HEX8)
        for (uint64_t seed = 0; seed < 2; ++seed) {
            fe_mesh mesh = small_box(kind, 3, 4, 2, 0.2);
            const fe_quality coarse = checked_quality(&mesh);
            const int n_elem = mesh.n_elem;
            require_conforming(&mesh);
            for (int level = 1; level <= 2; ++level) {
                must(fe_mesh_refine(&mesh, seed));
                const fe_quality q = checked_quality(&mesh);
                require_conforming(&mesh);
                assert_int_equal(mesh.n_elem, level == 1 ? 8 * n_elem : 64 * n_elem);
                assert_int_equal(mesh.n_node, ((3 << level) + 1) * ((4 << level) + 1) * ((2 << level) + 1));
                assert_true(fabs(q.volume / coarse.volume - 1) < 1e-12);
                assert_true(fabs(enclosed_volume(&mesh) / coarse.volume - 1) < 1e-12);
                /* Children of a Tet4 have exactly an eighth; those of a Hex8 share its map. */
                if (kind == FE_TET4)
                    assert_true(fabs(q.min_jacobian * (level == 1 ? 8 : 64) / coarse.min_jacobian - 1) <
                                1e-10);
            }
            fe_mesh_close(&mesh);
        }
    fe_mesh mesh;
    must(fe_mesh_irregular(FE_TET4, 300, 0, &mesh));
    require_conforming(&mesh);
    mesh.group[0].facet[0] = mesh.group[0].facet[4] == mesh.n_node - 1 ? 0 : mesh.n_node - 1;
    assert_int_equal(fe_mesh_refine(&mesh, 0), FE_BAD_INPUT);
    assert_non_null(strstr(fe_message(), "is no side of an element"));
    fe_mesh_close(&mesh);
}

static double cost_of(const fe_mesh *mesh, const fe_arrangement *a)
{
    double cost;
    must(fe_order_cost(mesh, a, &cost));
    return cost;
}

/* What auto gives is, by its cost, never clearly worse than any order that can be asked for; a mesh in a good
 * order keeps it. */
static void auto_is_never_clearly_worse(void **state)
{
    (void)state;
    for (int kind = FE_TET4; kind <= FE_HEX8; kind += FE_HEX8)
        for (int k = 0; k < 3; ++k) {
            fe_mesh mesh;
            fe_arrangement own;
            if (k == 2)
                must(fe_mesh_irregular(kind, 20000, 1, &mesh));
            else
                mesh = make_box(kind, (const int[]){31, 23, 27}, (const double[]){3.1, 2.3, 2.7}, 0.2, 3);
            if (k == 1) must(fe_mesh_reorder(&mesh, FE_ORDER_RANDOM, 5));
            must(fe_mesh_arrange_for(&mesh, 0, &own));
            require_permutation(own.node, mesh.n_node);
            require_permutation(own.elem, mesh.n_elem);
            assert_int_equal(own.in_pieces, 0);
            if (k == 0) assert_string_equal(own.name, "as-is");
            if (k == 1) assert_string_not_equal(own.name, "as-is");
            for (int order = 0; order < FE_N_ORDER; ++order) {
                fe_arrangement other;
                must(fe_mesh_arrange(&mesh, (fe_order)order, 1, &other));
                assert_true(cost_of(&mesh, &own) < 1.12 * cost_of(&mesh, &other));
                fe_arrangement_close(&other);
            }
            fe_arrangement_close(&own);
            fe_mesh_close(&mesh);
        }
}

/* Mean number of nodes of as many interior elements of a share as make a piece. */
static double mean_nodes(const fe_mesh *mesh, const fe_share *s)
{
    const int nc = fe_corners(mesh->kind), most = fe_piece_elements(mesh->kind),
              n_piece = s->n_elem_interior / most;
    int n = 0, *seen = calloc((size_t)s->n_local, sizeof *seen);
    assert_non_null(seen);
    for (int k = 0; k < n_piece * most; ++k)
        for (int c = 0; c < nc; ++c) {
            int *mark = &seen[s->local[mesh->conn[(size_t)s->elem[k] * nc + c]]];
            n += *mark != k / most + 1;
            *mark = k / most + 1;
        }
    free(seen);
    return (double)n / n_piece;
}

/* Mean distance of the lowest and the highest interior node of interior elements, over their number. */
static double mean_distance(const fe_mesh *mesh, const fe_share *s)
{
    const int nc = fe_corners(mesh->kind);
    double sum = 0;
    for (int k = 0; k < s->n_elem_interior; ++k) {
        int low = s->n_node_interior, high = 0;
        for (int c = 0; c < nc; ++c) {
            const int node = s->local[mesh->conn[(size_t)s->elem[k] * nc + c]];
            if (node < low) low = node;
            if (node < s->n_node_interior && node > high) high = node;
        }
        if (high > low) sum += high - low;
    }
    return sum / s->n_elem_interior / s->n_node_interior;
}

/* For strategies that want pieces, the elements of a share are pieces and its nodes follow them, whatever
 * order the mesh is in; the mesh keeps its numbers. */
static void auto_makes_pieces(void **state)
{
    (void)state;
    static const double best[] = {225,
                                  120}; /* nodes of a piece of a box: 4 × 4 × 8 cells; 60 cells of Tet4 */
    for (int k = 0; k < 4; ++k) {
        const int kind = k % 2 ? FE_TET4 : FE_HEX8;
        fe_mesh mesh = make_box(kind, (const int[]){29, 17, 23}, (const double[]){2.9, 1.7, 2.3}, 0.2, 3);
        fe_arrangement a;
        if (k > 1) must(fe_mesh_reorder(&mesh, FE_ORDER_RANDOM, 5));
        must(fe_mesh_arrange_for(&mesh, 1, &a));
        assert_string_equal(a.name, k > 1 ? "morton+bisection" : "bisection");
        require_permutation(a.node, mesh.n_node);
        require_permutation(a.elem, mesh.n_elem);
        for (int n_rank = 1; n_rank <= 2; ++n_rank) {
            fe_partition p;
            must(fe_partition_mesh(&mesh, n_rank, FE_PARTITION_BISECTION, &p));
            for (int rank = 0; rank < n_rank; ++rank) {
                fe_share s, own;
                must(fe_share_build(&mesh, &p, &a, rank, &s));
                must(fe_share_build(&mesh, &p, NULL, rank, &own));
                assert_int_equal(s.n_elem_interior, own.n_elem_interior);
                assert_int_equal(s.n_local, own.n_local);
                const double nodes = mean_nodes(&mesh, &s);
                if (!(nodes < 1.4 * best[k % 2]))
                    fail_msg("a piece has %g nodes, at best %g", nodes, best[k % 2]);
                assert_true(mean_distance(&mesh, &s) < 0.2);
                if (k > 1) assert_true(mean_distance(&mesh, &own) > 0.5);
                for (int i = own.n_owned; i < own.n_local; ++i)
                    assert_int_equal(s.node[i], own.node[i]); /* ghosts */
                fe_share_close(&s), fe_share_close(&own);
            }
            fe_partition_close(&p);
        }
        fe_arrangement_close(&a);
        fe_mesh_close(&mesh);
    }
}

/* --- whole solves ----------------------------------------------------------------------------------------
 */

typedef struct answer {
    size_t n;
    double *u;
} answer;

static fe_status keep_answer(void *context, const fe_step_result *step, const fe_fields *fields)
{
    answer *a = context;
    if (step) memcpy(a->u, fields->displacement, a->n * sizeof *a->u);
    return FE_OK;
}

/* Two load steps of the bracket: displacements in the mesh's own numbers. */
static void solve_bracket(const fe_case *c, const fe_mesh *mesh, const fe_boundary *b, const char *variant,
                          int ranks, fe_order order, const char *expected, answer *a)
{
    fe_options o = fe_default_options();
    fe_result result = {0};
    const fe_observer observer = {a, FE_FIELDS_DISPLACEMENT, keep_answer};
    a->n = 3 * (size_t)mesh->n_node;
    a->u = calloc(a->n, sizeof *a->u);
    assert_non_null(a->u);
    assert_int_equal(o.order, FE_ORDER_AUTO);
    o.variant = variant, o.ranks = ranks, o.threads = 1, o.order = order;
    must(fe_run_case(c, mesh, b, &o, &observer, &result));
    assert_string_equal(result.order, expected);
    fe_result_close(&result);
}

static void auto_leaves_the_answer(void **state)
{
    (void)state;
    fe_case c;
    fe_mesh mesh;
    fe_boundary b = {0};
    answer first = {0};
    must(fe_case_read("meshgen/bracket/bracket_coarse.json", &c));
    c.n_step = 2;
    must(fe_mesh_read("meshgen/bracket/bracket_hex8_coarse.msh", 0, &mesh));
    must(fe_boundary_apply(&c, &mesh, &b));
    double largest = 0;
    static const struct {
        const char *variant, *order;
        int ranks;
    } ways[] = {{"element_atomic", NULL, 1},
                {"patch", "morton+bisection", 1},
                {"patch", "morton+bisection", 3},
                {"patch_ordered", "morton+bisection", 1},
                {"element_atomic", "rcm", 2}};
    for (size_t k = 0; k < sizeof ways / sizeof *ways; ++k) {
        answer a;
        solve_bracket(&c, &mesh, &b, ways[k].variant, ways[k].ranks,
                      ways[k].order ? FE_ORDER_AUTO : FE_ORDER_AS_IS, ways[k].order ? ways[k].order : "as-is",
                      &a);
        if (!first.u) {
            first = a;
            for (size_t i = 0; i < a.n; ++i) largest = fmax(largest, fabs(a.u[i]));
            assert_true(largest > 0.1); /* mm */
            continue;
        }
        for (size_t i = 0; i < a.n; ++i) assert_true(fabs(a.u[i] - first.u[i]) < 1e-6 * largest);
        free(a.u);
    }
    free(first.u);
    fe_boundary_close(&b);
    fe_mesh_close(&mesh);
    fe_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(irregular_meshes_are_irregular), cmocka_unit_test(refined_meshes_fit_together),
        cmocka_unit_test(auto_is_never_clearly_worse),    cmocka_unit_test(auto_makes_pieces),
        cmocka_unit_test(auto_leaves_the_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
