/* Meshes of Tet10 and Hex27: boxes, elevated meshes, faces, figures of quality. */
#include "common/mesh/bisect.h"
#include "common/mesh/jacobian.h"
#include "common/mesh/mesh.h"
#include "common/mesh/quadratic.h"
#include "tests/common.h"

#include <stdlib.h>
#include <string.h>

static const int quadratic[2] = {FE_TET10, FE_HEX27};

/* x moved by a polynomial of degree 2 of the whole coordinates, which isoparametric elements of a box map
 * exactly. */
static void bend(const double p[3], double x[3])
{
    x[0] = p[0] + 0.1 * p[1] * p[1];
    x[1] = p[1] + 0.05 * p[2] * p[0];
    x[2] = p[2] - 0.08 * p[0] * p[0];
}

/* ∮ x · n dA / 3 with the shape functions of the facets' own sides, by a rule that is exact for them: x ·
 * (∂x/∂s × ∂x/∂t) has degree 5 on Tri6 and at most 5 in each variable on Quad9. */
static double enclosed_by_curved_sides(const fe_mesh *mesh)
{
    static const double gauss[3] = {-0.774596669241483377, 0, 0.774596669241483377},
                        weight[3] = {5.0 / 9, 8.0 / 9, 5.0 / 9};
    const int width = fe_facet_width(mesh->kind), is_tet = fe_is_tet(mesh->kind);
    double sum = 0;
    for (int g = 0; g < mesh->n_group; ++g)
        for (int f = 0; mesh->group[g].dim == 2 && f < mesh->group[g].n_facet; ++f)
            for (int q = 0; q < (is_tet ? 36 : 9); ++q) {
                const int *node = mesh->group[g].facet + (size_t)f * width;
                double x[3][3] = {{0}}, N[9], D[9][2];
                double w;
                if (is_tet) { /* Gauss's rule of a square, collapsed */
                    static const double s6[6] = {-0.932469514203152, -0.661209386466265, -0.238619186083197,
                                                 0.238619186083197,  0.661209386466265,  0.932469514203152},
                                        w6[6] = {0.171324492379170, 0.360761573048139, 0.467913934572691,
                                                 0.467913934572691, 0.360761573048139, 0.171324492379170};
                    const double u = 0.5 * (1 + s6[q % 6]), v = 0.5 * (1 + s6[q / 6]);
                    const double b[3] = {1 - u, u * (1 - v), u * v};
                    static const int d[3][2] = {{-1, -1}, {1, 0}, {0, 1}};
                    w = 0.25 * w6[q % 6] * w6[q / 6] * u;
                    for (int a = 0; a < 3; ++a) {
                        const int c = (a + 1) % 3;
                        N[a] = b[a] * (2 * b[a] - 1), N[3 + a] = 4 * b[a] * b[c];
                        for (int i = 0; i < 2; ++i) {
                            D[a][i] = (4 * b[a] - 1) * d[a][i];
                            D[3 + a][i] = 4 * (b[a] * d[c][i] + b[c] * d[a][i]);
                        }
                    }
                } else {
                    static const int at[9][2] = {{-1, -1}, {1, -1}, {1, 1},  {-1, 1}, {0, -1},
                                                 {1, 0},   {0, 1},  {-1, 0}, {0, 0}};
                    const double s[2] = {gauss[q % 3], gauss[q / 3]};
                    w = weight[q % 3] * weight[q / 3];
                    for (int a = 0; a < 9; ++a) {
                        double l[2], m[2];
                        for (int i = 0; i < 2; ++i) {
                            l[i] = at[a][i] ? 0.5 * s[i] * (s[i] + at[a][i]) : 1 - s[i] * s[i];
                            m[i] = at[a][i] ? s[i] + 0.5 * at[a][i] : -2 * s[i];
                        }
                        N[a] = l[0] * l[1], D[a][0] = m[0] * l[1], D[a][1] = l[0] * m[1];
                    }
                }
                for (int a = 0; a < (is_tet ? 6 : 9); ++a)
                    for (int i = 0; i < 3; ++i) {
                        const double value = mesh->x[3 * (size_t)node[a] + i];
                        x[0][i] += N[a] * value, x[1][i] += D[a][0] * value, x[2][i] += D[a][1] * value;
                    }
                sum += w * fe_determinant(x[0], x[1], x[2]) / 3;
            }
    return sum;
}

static void quadratic_boxes_are_the_same_body(void **state)
{
    (void)state;
    static const int cells[][3] = {{1, 1, 1}, {3, 2, 4}, {5, 5, 5}};
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 6; ++k) {
            const int kind = quadratic[k % 2], *c = cells[i];
            fe_mesh mesh = small_box(kind, c[0], c[1], c[2], k < 2 ? 0 : 0.2);
            must(fe_mesh_check(&mesh));
            double volume = 2.1;
            if (k >= 4) {
                for (int n = 0; n < mesh.n_node; ++n) {
                    double p[3];
                    memcpy(p, mesh.x + 3 * (size_t)n, sizeof p);
                    bend(p, mesh.x + 3 * (size_t)n);
                }
                volume = enclosed_by_curved_sides(&mesh);
                assert_true(fabs(volume / 2.1 - 1) > 1e-6);
            }
            const fe_quality q = quality_of(&mesh);
            assert_int_equal(mesh.n_node, (2 * c[0] + 1) * (2 * c[1] + 1) * (2 * c[2] + 1));
            assert_int_equal(mesh.n_elem, c[0] * c[1] * c[2] * (kind == FE_TET10 ? 6 : 1));
            assert_true(fabs(q.volume / volume - 1) < 1e-13);
            assert_true(fabs(enclosed_by_curved_sides(&mesh) / volume - 1) < 1e-12);
            for (int side = 0; side < 6 && k < 4; ++side) {
                const char name[3] = {"xyz"[side / 2], side % 2 ? '1' : '0', 0};
                const int u = (side / 2 + 1) % 3, v = (side / 2 + 2) % 3;
                int n, *node;
                must(fe_group_nodes(&mesh, fe_mesh_group(&mesh, name), &n, &node));
                assert_int_equal(n, (2 * c[u] + 1) * (2 * c[v] + 1));
                const double at = side % 2 ? (const double[]){1.5, 2, 0.7}[side / 2] : 0;
                for (int a = 0; a < n; ++a) assert_true(mesh.x[3 * (size_t)node[a] + side / 2] == at);
                free(node);
            }
            fe_mesh_close(&mesh);
        }
}

/* Sums of shape functions are 1, of gradients 0; each is 1 at its node and 0 at the others; a node lies in
 * the middle of its vertices; differences agree with gradients. */
static void shape_functions_interpolate(void **state)
{
    (void)state;
    for (int k = 0; k < 2; ++k) {
        const int kind = quadratic[k], n = fe_corners(kind);
        double shape[27], other[27], gradient[27][3];
        for (int a = 0; a < n; ++a) {
            double at[3];
            fe_quadratic_place(kind, a, at);
            fe_quadratic_shapes(kind, at, shape);
            for (int b = 0; b < n; ++b) assert_true(fabs(shape[b] - (a == b)) < 1e-15);
        }
        const double at[3] = {0.21, 0.13, 0.37}, h = 1e-5;
        fe_quadratic_gradients(kind, at, gradient);
        for (int i = 0; i < 3; ++i) {
            double p[3] = {at[0], at[1], at[2]}, sum = 0;
            p[i] += h, fe_quadratic_shapes(kind, p, shape);
            p[i] -= 2 * h, fe_quadratic_shapes(kind, p, other);
            for (int a = 0; a < n; ++a) {
                assert_true(fabs((shape[a] - other[a]) / (2 * h) - gradient[a][i]) < 1e-9);
                sum += gradient[a][i];
            }
            assert_true(fabs(sum) < 1e-14);
        }
    }
}

/* Of straight boxes the elevated mesh and the quadratic box are the same but for the order of nodes. */
static void elevated_boxes_are_quadratic_boxes(void **state)
{
    (void)state;
    for (int k = 0; k < 2; ++k) {
        fe_mesh box = small_box(quadratic[k], 3, 2, 4, 0),
                mesh = small_box(fe_linear_kind(quadratic[k]), 3, 2, 4, 0);
        const int n_old = mesh.n_node, nc = fe_corners(quadratic[k]), width = fe_facet_width(quadratic[k]);
        must(fe_mesh_elevate(&mesh));
        must(fe_mesh_check(&mesh));
        assert_int_equal(mesh.kind, box.kind);
        assert_int_equal(mesh.n_node, box.n_node);
        assert_int_equal(mesh.n_elem, box.n_elem);
        for (size_t i = 0; i < (size_t)mesh.n_elem * nc; ++i)
            for (int j = 0; j < 3; ++j)
                assert_true(fabs(mesh.x[3 * (size_t)mesh.conn[i] + j] - box.x[3 * (size_t)box.conn[i] + j]) <
                            1e-15);
        for (int g = 0; g < 6; ++g) {
            assert_int_equal(mesh.group[g].n_facet, box.group[g].n_facet);
            for (int i = 0; i < width * box.group[g].n_facet; ++i)
                for (int j = 0; j < 3 && box.group[g].facet[i] >= 0; ++j)
                    assert_true(fabs(mesh.x[3 * (size_t)mesh.group[g].facet[i] + j] -
                                     box.x[3 * (size_t)box.group[g].facet[i] + j]) < 1e-15);
        }
        for (int n = 0; n < mesh.n_node; ++n) assert_true(mesh.node_tag[n] == n + 1);
        assert_true(n_old == (3 + 1) * (2 + 1) * (4 + 1));
        fe_mesh_close(&box), fe_mesh_close(&mesh);
    }
    fe_mesh mesh = small_box(FE_HEX27, 1, 1, 1, 0);
    assert_int_equal(fe_mesh_elevate(&mesh), FE_BAD_INPUT);
    assert_non_null(strstr(fe_message(), "hex27 already"));
    assert_null(mesh.x);
    mesh = small_box(FE_TET10, 1, 1, 1, 0);
    assert_int_equal(fe_mesh_refine(&mesh, 0), FE_BAD_INPUT);
    assert_non_null(strstr(fe_message(), "tet10 elements are not refined"));
    fe_mesh_close(&mesh);
}

/* Each face of an element is a side of the box or the face of one other, which sees it the other way round.
 */
static void faces_of_quadratic_elements_fit(void **state)
{
    (void)state;
    for (int k = 0; k < 2; ++k) {
        fe_mesh mesh = small_box(quadratic[k], 2, 3, 2, 0.1);
        const int n_face = fe_faces(mesh.kind), n = n_face * mesh.n_elem;
        int(*face)[FE_MOST_FACE] = calloc((size_t)n, sizeof *face), n_single = 0, n_side = 0;
        for (int f = 0; f < n; ++f)
            assert_int_equal(fe_element_face(&mesh, f / n_face, f % n_face, face[f]),
                             mesh.kind == FE_TET10 ? 6 : 9);
        for (int f = 0; f < n; ++f) {
            int n_twin = 0;
            const int nv = fe_facet_vertices(mesh.kind, face[f]);
            for (int g = 0; g < n; ++g) {
                int start = 0;
                while (start < nv && face[g][start] != face[f][0]) ++start;
                if (f == g || start == nv) continue;
                int fits = nv < 4 || face[g][8] == face[f][8];
                for (int a = 0; a < nv;
                     ++a) { /* reversed: side a of f is that before vertex start - a of g */
                    fits &= face[g][(start + nv - a) % nv] == face[f][a];
                    fits &= face[g][nv + (start + 2 * nv - 1 - a) % nv] == face[f][nv + a];
                }
                n_twin += fits;
            }
            assert_in_range(n_twin, 0, 1);
            n_single += n_twin == 0;
        }
        for (int g = 0; g < 6; ++g) n_side += mesh.group[g].n_facet;
        assert_int_equal(n_single, n_side);
        free(face);
        fe_mesh_close(&mesh);
    }
}

static void mirrored_quadratic_elements_are_turned(void **state)
{
    (void)state;
    for (int k = 0; k < 2; ++k) {
        fe_mesh mesh = small_box(quadratic[k], 2, 1, 2, 0.2);
        const fe_quality before = quality_of(&mesh);
        for (int n = 0; n < mesh.n_node; ++n) mesh.x[3 * (size_t)n] *= -1;
        assert_int_equal(fe_mesh_check(&mesh), FE_BAD_INPUT);
        assert_non_null(strstr(fe_message(), "meshgen turn"));
        int n_turned;
        must(fe_mesh_turn(&mesh, &n_turned));
        assert_int_equal(n_turned, mesh.n_elem);
        must(fe_mesh_check(&mesh));
        const fe_quality after = quality_of(&mesh);
        assert_true(fabs(after.volume / before.volume - 1) < 1e-14);
        assert_true(fabs(after.min_jacobian / before.min_jacobian - 1) < 1e-13);
        assert_true(fabs(after.min_scaled / before.min_scaled - 1) < 1e-13);
        fe_mesh_close(&mesh);
    }
}

/* A middle node that is pulled through its element. */
static void bent_sides_are_refused(void **state)
{
    (void)state;
    for (int k = 0; k < 2; ++k) {
        fe_mesh mesh = small_box(quadratic[k], 2, 2, 2, 0);
        const int side = fe_edge_node(mesh.kind, 0, 1), *node = mesh.conn;
        for (int i = 0; i < 3; ++i)
            mesh.x[3 * (size_t)node[side] + i] =
                -0.5 * mesh.x[3 * (size_t)node[0] + i] + 1.5 * mesh.x[3 * (size_t)node[1] + i];
        assert_int_equal(fe_mesh_check(&mesh), FE_BAD_INPUT);
        assert_non_null(strstr(fe_message(), "middle nodes lie too far from the middle"));
        fe_mesh_close(&mesh);
        mesh =
            small_box(quadratic[k], 2, 2, 2, 0); /* in VTK's order: the two last edges, or the same turned */
        for (int e = 0; e < mesh.n_elem; ++e) {
            int *conn = mesh.conn + e * fe_corners(mesh.kind);
            const int a = mesh.kind == FE_TET10 ? 8 : 9, b = mesh.kind == FE_TET10 ? 9 : 11, old = conn[a];
            conn[a] = conn[b], conn[b] = old;
        }
        assert_int_equal(fe_mesh_check(&mesh), FE_BAD_INPUT);
        assert_non_null(strstr(fe_message(), "or are not in Gmsh's order"));
        fe_mesh_close(&mesh);
    }
}

static void quality_of_regular_quadratic_elements(void **state)
{
    (void)state;
    fe_mesh mesh = make_box(FE_HEX27, (const int[]){2, 2, 2}, (const double[]){1, 1, 1}, 0, 0);
    fe_quality q = quality_of(&mesh);
    assert_true(fabs(q.min_scaled - 1) < 1e-14 && fabs(q.max_aspect - 1) < 1e-14);
    assert_true(fabs(q.min_jacobian - 1.0 / 64) < 1e-16 && fabs(q.max_jacobian - 1.0 / 64) < 1e-16);
    assert_int_equal(q.max_valence, 8);
    assert_int_equal(q.min_valence, 1);
    fe_mesh_close(&mesh);
    fe_mesh linear = small_box(FE_TET4, 3, 2, 1, 0.2);
    mesh = small_box(FE_TET4, 3, 2, 1, 0.2);
    must(fe_mesh_elevate(&mesh));
    const fe_quality p = quality_of(&linear);
    q = quality_of(&mesh);
    assert_true(fabs(q.min_scaled / p.min_scaled - 1) < 1e-13 &&
                fabs(q.max_aspect / p.max_aspect - 1) < 1e-13);
    assert_true(fabs(q.min_jacobian / p.min_jacobian - 1) < 1e-13);
    fe_mesh_close(&mesh), fe_mesh_close(&linear);
}

/* Of the nodes' coordinates, in any order. */
static uint64_t hash_of_places(const fe_mesh *mesh)
{
    uint64_t sum = 0;
    for (int n = 0; n < mesh->n_node; ++n) {
        uint64_t word[3];
        memcpy(word, mesh->x + 3 * (size_t)n, sizeof word);
        sum += fe_mix(fe_mix(fe_mix(word[0]) ^ word[1]) ^ word[2]);
    }
    return sum;
}

/* As many nodes, at the same places, as the refined linear mesh has, an eighth of its elements, the same
 * sides. */
static void irregular_meshes_have_the_nodes_of_refined_ones(void **state)
{
    (void)state;
    for (int k = 0; k < 2; ++k)
        for (int n = 1; n < 5000; n = 30 * n + 300) {
            fe_mesh mesh, linear;
            int n_node, n_elem;
            must(fe_mesh_irregular(quadratic[k], n, 5, &mesh));
            must(fe_mesh_irregular(fe_linear_kind(quadratic[k]), n, 5, &linear));
            must(fe_mesh_irregular_size(quadratic[k], n, 5, &n_node, &n_elem));
            must(fe_mesh_check(&mesh));
            assert_int_equal(mesh.n_node, n_node);
            assert_int_equal(mesh.n_elem, n_elem);
            assert_int_equal(linear.n_node, n_node);
            assert_int_equal(linear.n_elem, 8 * n_elem);
            assert_true(hash_of_places(&mesh) == hash_of_places(&linear));
            assert_true(fabs(quality_of(&mesh).volume - 1) < 1e-12);
            assert_true(fabs(enclosed_by_curved_sides(&mesh) - 1) < 1e-12);
            fe_mesh_close(&mesh), fe_mesh_close(&linear);
        }
}

/* Of the bracket, whose sides are not aligned: errors of linear and quadratic elements are compared there. */
static void elevated_brackets_have_the_nodes_of_refined_ones(void **state)
{
    (void)state;
    static const char *const coarse[2] = {"meshgen/bracket/bracket_tet4_coarse.msh",
                                          "meshgen/bracket/bracket_hex8_coarse.msh"};
    for (int k = 0; k < 2; ++k)
        for (int levels = 1; levels < 3; ++levels) {
            fe_mesh linear, mesh;
            must(fe_mesh_read(coarse[k], 0, &linear));
            must(fe_mesh_read(coarse[k], 0, &mesh));
            for (int i = 0; i < levels; ++i) must(fe_mesh_refine(&linear, 0));
            for (int i = 1; i < levels; ++i) must(fe_mesh_refine(&mesh, 0));
            must(fe_mesh_elevate(&mesh));
            assert_int_equal(mesh.kind, quadratic[k]);
            assert_int_equal(mesh.n_node, linear.n_node);
            assert_int_equal(8 * mesh.n_elem, linear.n_elem);
            assert_true(hash_of_places(&mesh) == hash_of_places(&linear));
            assert_true(fabs(quality_of(&mesh).volume / quality_of(&linear).volume - 1) < 1e-12);
            for (int g = 0; g < mesh.n_group; ++g) /* four sides of each, eight elements */
                assert_int_equal((1 << mesh.group[g].dim) * mesh.group[g].n_facet, linear.group[g].n_facet);
            fe_mesh_close(&mesh), fe_mesh_close(&linear);
        }
}

/* Orders that suit strategies, of a box and of an irregular mesh whose own order is bad. */
static void quadratic_meshes_are_arranged(void **state)
{
    (void)state;
    for (int k = 0; k < 8; ++k) {
        const int kind = quadratic[k % 2], pieces = k / 2 % 2;
        fe_mesh mesh;
        fe_arrangement own, random;
        double cost[2];
        if (k < 4)
            mesh = small_box(kind, 6, 7, 8, 0.1);
        else
            must(fe_mesh_irregular(kind, 8000, 1, &mesh));
        must(fe_mesh_arrange_for(&mesh, pieces, &own));
        must(fe_mesh_arrange(&mesh, FE_ORDER_RANDOM, 1, &random));
        require_permutation(own.node, mesh.n_node);
        require_permutation(own.elem, mesh.n_elem);
        assert_int_equal(own.in_pieces, pieces);
        must(fe_order_cost(&mesh, &own, &cost[0]));
        must(fe_order_cost(&mesh, &random, &cost[1]));
        /* 32 sectors and lines at most for each of a warp's nodes */
        assert_true(cost[0] > 0 && cost[0] < 0.8 * cost[1]);
        fe_arrangement_close(&own), fe_arrangement_close(&random);
        fe_mesh_close(&mesh);
    }
}

/* 8³ Hex27 in pieces of 2 × 2 × 4: 225 nodes each, as pieces of Hex8 have. */
static void pieces_are_compact(void **state)
{
    (void)state;
    const int most = fe_piece_elements(FE_HEX27);
    fe_mesh mesh = make_box(FE_HEX27, (const int[]){8, 8, 8}, (const double[]){1, 1, 1}, 0, 0);
    must(fe_mesh_reorder(&mesh, FE_ORDER_RANDOM, 4));
    must(fe_mesh_reorder(&mesh, FE_ORDER_BISECTION, 0));
    int *seen = calloc((size_t)mesh.n_node, sizeof *seen);
    assert_non_null(seen);
    for (int first = 0; first < mesh.n_elem; first += most) {
        int n = 0;
        for (int k = 27 * first; k < 27 * (first + most); ++k) {
            n += seen[mesh.conn[k]] != first + 1;
            seen[mesh.conn[k]] = first + 1;
        }
        assert_int_equal(n, 225);
    }
    free(seen);
    fe_mesh_close(&mesh);
}

/* A piece of a box has the box's tags and places, also of middle nodes. */
static void box_pieces_are_those_of_the_box(void **state)
{
    (void)state;
    for (int k = 0; k < 2; ++k) {
        const fe_box box = {quadratic[k], {4, 3, 5}, {1.5, 2, 0.7}, 0.15, 9};
        fe_mesh whole, piece;
        must(fe_mesh_box(&box, &whole));
        must(fe_mesh_box_piece(&box, (const int[]){1, 0, 2}, (const int[]){3, 2, 5}, &piece));
        assert_int_equal(piece.n_node, 5 * 5 * 7);
        for (int n = 0; n < piece.n_node; ++n)
            assert_memory_equal(piece.x + 3 * (size_t)n, whole.x + 3 * (size_t)(piece.node_tag[n] - 1),
                                3 * sizeof(double));
        const int nc = fe_corners(quadratic[k]);
        for (int e = 0; e < piece.n_elem; ++e)
            for (int a = 0; a < nc; ++a)
                assert_int_equal(piece.node_tag[piece.conn[e * nc + a]] - 1,
                                 whole.conn[(piece.elem_tag[e] - 1) * nc + a]);
        fe_mesh_close(&whole), fe_mesh_close(&piece);
    }
}

/* Two parts side by side whose common nodes are there twice: vertices and middles are found. */
static void nodes_at_one_place_are_found(void **state)
{
    (void)state;
    for (int k = 0; k < 2; ++k) {
        fe_mesh mesh = make_box(quadratic[k], (const int[]){2, 2, 2}, (const double[]){1, 1, 1}, 0, 0);
        int *moved = calloc((size_t)mesh.n_node, sizeof *moved), n = mesh.n_node;
        const int nc = fe_corners(mesh.kind);
        mesh.x = realloc(mesh.x, 6 * (size_t)n * sizeof *mesh.x);
        mesh.node_tag = realloc(mesh.node_tag, 2 * (size_t)n * sizeof *mesh.node_tag);
        assert_true(moved && mesh.x && mesh.node_tag);
        for (int e = 0; e < mesh.n_elem;
             ++e) { /* the second half's elements get copies of the middle plane */
            double centre = 0;
            for (int a = 0; a < nc; ++a) centre += mesh.x[3 * (size_t)mesh.conn[e * nc + a]] / nc;
            for (int a = 0; a < nc && centre > 0.5; ++a) {
                int *node = &mesh.conn[e * nc + a];
                if (mesh.x[3 * (size_t)*node] != 0.5) continue;
                if (!moved[*node]) {
                    memcpy(mesh.x + 3 * (size_t)n, mesh.x + 3 * (size_t)*node, 3 * sizeof *mesh.x);
                    mesh.node_tag[n] = n + 1;
                    moved[*node] = n++;
                }
                *node = moved[*node];
            }
        }
        mesh.n_node = n;
        fe_coincidence found;
        must(fe_mesh_coincident(&mesh, &found));
        assert_int_equal(found.n_part, 2);
        assert_int_equal(found.n_node, 25);
        free(moved);
        fe_mesh_close(&mesh);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quadratic_boxes_are_the_same_body),
        cmocka_unit_test(shape_functions_interpolate),
        cmocka_unit_test(elevated_boxes_are_quadratic_boxes),
        cmocka_unit_test(faces_of_quadratic_elements_fit),
        cmocka_unit_test(mirrored_quadratic_elements_are_turned),
        cmocka_unit_test(bent_sides_are_refused),
        cmocka_unit_test(quality_of_regular_quadratic_elements),
        cmocka_unit_test(irregular_meshes_have_the_nodes_of_refined_ones),
        cmocka_unit_test(elevated_brackets_have_the_nodes_of_refined_ones),
        cmocka_unit_test(quadratic_meshes_are_arranged),
        cmocka_unit_test(pieces_are_compact),
        cmocka_unit_test(box_pieces_are_those_of_the_box),
        cmocka_unit_test(nodes_at_one_place_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
