/* Nodes and shape functions of Tet10 and Hex27. */
#include "common/mesh/quadratic.h"
#include "common/mesh/jacobian.h"

#include <pthread.h>
#include <string.h>

/* Vertices of the edges, in the order of their nodes, which follow the vertices. */
static const signed char tet_edge[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {2, 3}, {1, 3}};
static const signed char hex_edge[12][2] = {{0, 1}, {0, 3}, {0, 4}, {1, 2}, {1, 5}, {2, 3},
                                            {2, 6}, {3, 7}, {4, 5}, {4, 7}, {5, 6}, {6, 7}};
/* Vertices of the faces, whose nodes follow those of the edges; the centre is last. */
static const signed char hex_face[6][4] = {{0, 3, 2, 1}, {0, 1, 5, 4}, {0, 4, 7, 3},
                                           {1, 2, 6, 5}, {2, 3, 7, 6}, {4, 5, 6, 7}};

int fe_edge_node(int kind, int p, int q)
{
    const int n_edge = kind == FE_TET10 ? 6 : 12;
    for (int k = 0; k < n_edge; ++k) {
        const signed char *v = kind == FE_TET10 ? tet_edge[k] : hex_edge[k];
        if ((v[0] == p && v[1] == q) || (v[0] == q && v[1] == p)) return fe_vertices(kind) + k;
    }
    return -1;
}

int fe_node_vertices(int kind, int a, int vertex[8])
{
    const int n_vertex = fe_vertices(kind), k = a - n_vertex, n_edge = kind == FE_TET10 ? 6 : 12;
    const signed char *of = kind == FE_TET10 ? tet_edge[k < 0 ? 0 : k] : NULL;
    int n = k < 0 ? 1 : k < n_edge ? 2 : a < 26 ? 4 : 8;
    if (kind != FE_TET10 && k >= 0 && n < 8) of = k < n_edge ? hex_edge[k] : hex_face[k - n_edge];
    for (int i = 0; i < n; ++i) vertex[i] = n == 1 ? a : n == 8 ? i : of[i];
    return n;
}

void fe_quadratic_place(int kind, int a, double at[3])
{
    static const signed char tet_vertex[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    int vertex[8];
    const int n = fe_node_vertices(kind, a, vertex);
    for (int i = 0; i < 3; ++i) {
        double sum = 0;
        for (int v = 0; v < n; ++v)
            sum += kind == FE_TET10 ? tet_vertex[vertex[v]][i] : fe_hex8_sign[vertex[v]][i];
        at[i] = sum / n;
    }
}

/* The three quadratic polynomials that are 1 at -1, 0 or 1, and 0 at the other two. */
static double line_shape(double node, double s) { return node == 0 ? 1 - s * s : 0.5 * s * (s + node); }

static double line_slope(double node, double s) { return node == 0 ? -2 * s : s + 0.5 * node; }

void fe_quadratic_shapes(int kind, const double at[3], double *shape)
{
    const double b[4] = {1 - at[0] - at[1] - at[2], at[0], at[1], at[2]};
    if (kind == FE_TET10) {
        for (int a = 0; a < 4; ++a) shape[a] = b[a] * (2 * b[a] - 1);
        for (int k = 0; k < 6; ++k) shape[4 + k] = 4 * b[tet_edge[k][0]] * b[tet_edge[k][1]];
        return;
    }
    for (int a = 0; a < 27; ++a) {
        double p[3];
        fe_quadratic_place(kind, a, p);
        shape[a] = line_shape(p[0], at[0]) * line_shape(p[1], at[1]) * line_shape(p[2], at[2]);
    }
}

void fe_quadratic_gradients(int kind, const double at[3], double (*gradient)[3])
{
    static const signed char d[4][3] = {{-1, -1, -1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const double b[4] = {1 - at[0] - at[1] - at[2], at[0], at[1], at[2]};
    if (kind == FE_TET10) {
        for (int i = 0; i < 3; ++i) {
            for (int a = 0; a < 4; ++a) gradient[a][i] = (4 * b[a] - 1) * d[a][i];
            for (int k = 0; k < 6; ++k) {
                const int p = tet_edge[k][0], q = tet_edge[k][1];
                gradient[4 + k][i] = 4 * (b[p] * d[q][i] + b[q] * d[p][i]);
            }
        }
        return;
    }
    for (int a = 0; a < 27; ++a) {
        double p[3], shape[3];
        fe_quadratic_place(kind, a, p);
        for (int i = 0; i < 3; ++i) shape[i] = line_shape(p[i], at[i]);
        for (int i = 0; i < 3; ++i)
            gradient[a][i] = line_slope(p[i], at[i]) * shape[(i + 1) % 3] * shape[(i + 2) % 3];
    }
}

static fe_quadratic table[2]; /* Tet10, Hex27 */

static void fill_tet10(fe_quadratic *t)
{
    const double far = 0.25 + 0.15 * sqrt(5.0), near = 0.25 - 0.05 * sqrt(5.0); /* 0.5854, 0.1382 */
    *t = (fe_quadratic){.n_node = 10, .n_point = 4, .n_volume = 5};
    for (int q = 0; q < 5; ++q) {
        double rule[3], keast[3];
        for (int i = 0; i < 3; ++i) {
            rule[i] = q == i + 1 ? far : near;
            keast[i] = q == i + 1 ? 0.5 : q == 4 ? 0.25 : 1.0 / 6;
        }
        if (q < 4) fe_quadratic_gradients(FE_TET10, rule, t->at_point[q]);
        fe_quadratic_gradients(FE_TET10, keast, t->in_volume[q]);
        t->weight[q] = q < 4 ? 0.075 : -2.0 / 15;
    }
}

static void fill_hex27(fe_quadratic *t)
{
    static const double weight[3] = {5.0 / 9, 8.0 / 9, 5.0 / 9};
    *t = (fe_quadratic){.n_node = 27, .n_point = 27, .n_volume = 27};
    for (int q = 0; q < 27; ++q) {
        const int k[3] = {q % 3, q / 3 % 3, q / 9};
        double at[3];
        for (int i = 0; i < 3; ++i) at[i] = (k[i] - 1) * sqrt(0.6);
        fe_quadratic_gradients(FE_HEX27, at, t->at_point[q]);
        t->weight[q] = weight[k[0]] * weight[k[1]] * weight[k[2]];
    }
    memcpy(t->in_volume, t->at_point, sizeof t->in_volume);
}

static void fill_table(void)
{
    fill_tet10(&table[0]);
    fill_hex27(&table[1]);
    for (int k = 0; k < 2; ++k)
        for (int a = 0; a < table[k].n_node; ++a) {
            double at[3];
            fe_quadratic_place(k ? FE_HEX27 : FE_TET10, a, at);
            fe_quadratic_gradients(k ? FE_HEX27 : FE_TET10, at, table[k].at_node[a]);
        }
}

const fe_quadratic *fe_quadratic_of(int kind)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_table);
    return &table[kind == FE_HEX27];
}

double fe_quadratic_jacobian(int n_node, const double (*x)[3], const double (*gradient)[3])
{
    double row[3][3] = {{0}}; /* row[k] = Σ_a x_a ∂N_a/∂ξ_k */
    for (int a = 0; a < n_node; ++a)
        for (int k = 0; k < 3; ++k)
            for (int i = 0; i < 3; ++i) row[k][i] += gradient[a][k] * x[a][i];
    return fe_determinant(row[0], row[1], row[2]);
}

/* Gauss's points and weights on [-1, 1], by Newton's iteration on Legendre's polynomial. */
static void gauss_rule(int n, double *at, double *weight)
{
    for (int k = 0; k < n; ++k) {
        double s = cos(M_PI * (k + 0.75) / (n + 0.5)), slope = 1;
        for (int pass = 0; pass < 8; ++pass) {
            double before = 1, value = s;
            for (int i = 2; i <= n; ++i) {
                const double next = ((2 * i - 1) * s * value - (i - 1) * before) / i;
                before = value, value = next;
            }
            slope = n * (before - s * value) / (1 - s * s);
            s -= value / slope;
        }
        at[k] = s, weight[k] = 2 / ((1 - s * s) * slope * slope);
    }
}

/* A point of the square or cube [-1, 1] to the triangle or tetrahedron; *weight follows. */
static void collapse(int dim, double at[3], double *weight)
{
    const double u = 0.5 * (1 + at[0]), v = 0.5 * (1 + at[1]), t = dim == 3 ? 0.5 * (1 + at[2]) : 0;
    *weight *= (dim == 3 ? 0.125 * (1 - t) * (1 - t) : 0.25) * (1 - v);
    at[0] = u * (1 - v) * (1 - t), at[1] = v * (1 - t), at[2] = t;
}

/* Nodes of the elements of which lines and sides are edge 01 and face 012 or 0123. */
static int parent_node(int n_node, int a)
{
    static const signed char line[3] = {0, 1, 8}, triangle[6] = {0, 1, 2, 4, 5, 6},
                             quadrangle[9] = {0, 1, 2, 3, 8, 11, 13, 9, 20};
    return n_node == 3 ? line[a] : n_node == 6 ? triangle[a] : n_node == 9 ? quadrangle[a] : a;
}

void fe_side_rule_make(int n_node, int side, fe_side_rule *r)
{
    const int dim = n_node == 3   ? 1
                    : n_node < 10 ? 2
                                  : 3,
              kind = n_node == 6 || n_node == 10 ? FE_TET10 : FE_HEX27;
    double place[FE_MOST_SIDE], weight[FE_MOST_SIDE];
    gauss_rule(side, place, weight);
    r->n_node = n_node, r->side = side, r->n_point = 1;
    for (int i = 0; i < dim; ++i) r->n_point *= side;
    for (int q = 0; q < r->n_point; ++q) {
        double at[3] = {-1, -1, -1}, shape[27], gradient[27][3];
        r->weight[q] = 1;
        for (int i = 0, rest = q; i < dim; ++i, rest /= side)
            at[i] = place[rest % side], r->weight[q] *= weight[rest % side];
        if (kind == FE_TET10) collapse(dim, at, &r->weight[q]);
        fe_quadratic_shapes(kind, at, shape);
        fe_quadratic_gradients(kind, at, gradient);
        for (int a = 0; a < n_node; ++a) {
            r->shape[q][a] = shape[parent_node(n_node, a)];
            memcpy(r->gradient[q][a], gradient[parent_node(n_node, a)], sizeof gradient[0]);
        }
    }
}

void fe_side_nodes_make(int n_node, fe_side_rule *r)
{
    static const double triangle[2] = {0, 1. / 6}, quadrangle[3] = {1. / 9, 4. / 9, 16. / 9};
    const fe_quadratic *parent = fe_quadratic_of(n_node == 6 ? FE_TET10 : FE_HEX27);
    *r = (fe_side_rule){.n_node = n_node, .n_point = n_node};
    for (int q = 0; q < n_node; ++q) {
        r->weight[q] = n_node == 6 ? triangle[q >= 3] : quadrangle[(q >= 4) + (q >= 8)];
        r->shape[q][q] = 1;
        for (int a = 0; a < n_node; ++a)
            memcpy(r->gradient[q][a], parent->at_node[parent_node(n_node, q)][parent_node(n_node, a)],
                   sizeof r->gradient[q][a]);
    }
}
