/* Which elements of a benchmark workload are plastic, and how far its nodes move; see workload_fields.h. */
#include "bench/timed_mesh.h"
#include "bench/workload_fields.h"
#include "common/mesh/jacobian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- which elements ---------------------------------------------------------------------------------- */

typedef struct extent {
    double low[3], size; /* size: the longest side */
} extent;
static extent extent_of(const fe_mesh *mesh)
{
    extent x = {{INFINITY, INFINITY, INFINITY}, 0.0};
    for (int i = 0; i < 3; i++) {
        double high = -INFINITY;
        for (int n = 0; n < mesh->n_node; n++) {
            x.low[i] = fmin(x.low[i], mesh->x[3 * (size_t)n + i]);
            high = fmax(high, mesh->x[3 * (size_t)n + i]);
        }
        x.size = fmax(x.size, high - x.low[i]);
    }
    return x;
}

/* At the centre of an element: its z, or a smooth function of the place with a few valleys. */
static double level_of(const fe_mesh *mesh, const extent *at, bench_pattern pattern, int e)
{
    static const double wave[3][4] = {{1.3, 0.7, 0.4, 0.1}, {-0.6, 1.1, 0.9, 0.4}, {0.5, -0.8, 1.6, 0.7}};
    const int nc = fe_corners(mesh->kind), *node = mesh->conn + (size_t)e * nc;
    double x[3] = {0}, sum = 0.0;
    for (int c = 0; c < nc; c++)
        for (int i = 0; i < 3; i++) x[i] += mesh->x[3 * (size_t)node[c] + i] / nc;
    if (pattern == BENCH_CLUSTERED) return x[2];
    for (int i = 0; i < 3; i++) x[i] = (x[i] - at->low[i]) / at->size;
    for (int k = 0; k < 3; k++)
        sum += sin(2.0 * M_PI * (wave[k][0] * x[0] + wave[k][1] * x[1] + wave[k][2] * x[2] + wave[k][3]));
    return sum;
}

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* A level below which this share of the elements is, as far as a sample of them can tell. */
static fe_status level_below(const fe_mesh *mesh, const extent *at, bench_pattern pattern, double share,
                             double *level)
{
    enum { MOST = 1 << 17 };
    const int n = mesh->n_elem < MOST ? mesh->n_elem : MOST, under = (int)lround(share * n);
    double *sample = NULL;
    *level = under ? INFINITY : -INFINITY;
    if (under == 0 || under == n) return FE_OK;
    FE_ALLOCATE(sample, n, "levels of elements");
    for (int k = 0; k < n; k++) sample[k] = level_of(mesh, at, pattern, (int)((int64_t)k * mesh->n_elem / n));
    qsort(sample, (size_t)n, sizeof *sample, ascending);
    *level = 0.5 * (sample[under - 1] + sample[under]);
    free(sample);
    return FE_OK;
}

static fe_status choose_elements(const bench_box *box, const fe_mesh *mesh, const extent *at,
                                 bench_deformation *deformation)
{
    double level = 0.0;
    FE_ALLOCATE(deformation->chosen, mesh->n_elem, "plastic elements");
    if (box->pattern == BENCH_ZONES) FE_TRY(level_below(mesh, at, BENCH_ZONES, box->plastic, &level));
    for (int e = 0; e < mesh->n_elem; e++) {
        const uint64_t random = fe_mix(fe_mix(4) ^ fe_mix((uint64_t)mesh->elem_tag[e] + 1));
        deformation->chosen[e] = box->pattern == BENCH_ZONES
                                     ? level_of(mesh, at, BENCH_ZONES, e) < level
                                     : 0x1p-53 * (double)(random >> 11) < box->plastic;
    }
    return FE_OK;
}

/* --- how far nodes move ------------------------------------------------------------------------------ */

static void edge_from(const fe_mesh *mesh, int from, int to, double edge[3])
{
    for (int i = 0; i < 3; i++) edge[i] = mesh->x[3 * (size_t)to + i] - mesh->x[3 * (size_t)from + i];
}

static double area(const double a[3], const double b[3])
{
    const double n[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    return sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
}

/* Least height of the tetrahedra that vertices and the three edges at them span. */
static double least_height(const fe_mesh *mesh, const int *node)
{
    static const signed char hex_edge[8][3] = {{1, 3, 4}, {2, 0, 5}, {3, 1, 6}, {0, 2, 7},
                                               {7, 5, 0}, {4, 6, 1}, {5, 7, 2}, {6, 4, 3}},
                             tet_edge[4][3] = {{1, 2, 3}, {2, 0, 3}, {0, 1, 3}, {1, 0, 2}};
    double least = INFINITY;
    for (int a = 0; a < fe_vertices(mesh->kind); a++) {
        const signed char *to = fe_is_tet(mesh->kind) ? tet_edge[a] : hex_edge[a];
        double edge[3][3], most = 0.0;
        for (int k = 0; k < 3; k++) edge_from(mesh, node[a], node[to[k]], edge[k]);
        for (int k = 0; k < 3; k++) most = fmax(most, area(edge[k], edge[(k + 1) % 3]));
        const double height = fabs(fe_determinant(edge[0], edge[1], edge[2])) / most;
        if (height > 0.0 && height < least) least = height; /* a corner may be flat */
    }
    return least;
}

/* And yields the least of all sizes. */
static fe_status measure_sizes(const fe_mesh *mesh, bench_deformation *deformation, double *least)
{
    const int nc = fe_corners(mesh->kind);
    FE_ALLOCATE(deformation->size, mesh->n_node, "sizes of elements");
    for (int i = 0; i < mesh->n_node; i++) deformation->size[i] = INFINITY;
    for (int e = 0; e < mesh->n_elem; e++) {
        const int *node = mesh->conn + (size_t)e * nc;
        const double height = least_height(mesh, node) / bench_steps(mesh->kind);
        for (int c = 0; c < nc; c++) deformation->size[node[c]] = fmin(deformation->size[node[c]], height);
    }
    *least = INFINITY;
    for (int i = 0; i < mesh->n_node; i++) {
        *least = fmin(*least, deformation->size[i]);
        if (isinf(deformation->size[i])) deformation->size[i] = 0.0; /* flat, or without elements */
    }
    return FE_OK;
}

fe_status bench_deformation_open(bench_workload *c, const fe_mesh *mesh)
{
    const bench_box *box = &c->box;
    const extent at = extent_of(mesh);
    FE_ALLOCATE(c->deformation, 1, "fields");
    bench_deformation *deformation = c->deformation;
    deformation->operand = box->operand, deformation->length = at.size;
    memcpy(deformation->low, at.low, sizeof deformation->low);
    deformation->part = box->part;
    if (box->pattern == BENCH_SCATTERED || box->pattern == BENCH_ZONES)
        FE_TRY(choose_elements(box, mesh, &at, deformation));
    if (!box->mesh) {
        int cells[3];
        bench_box_cells(box, cells);
        deformation->cell = bench_box_cell(box) / bench_steps(box->kind);
        deformation->height = box->plastic * cells[2] * bench_box_cell(box);
        c->across = at.size / deformation->cell;
        return FE_OK;
    }
    double least;
    FE_TRY(measure_sizes(mesh, deformation, &least));
    c->across = at.size / least;
    if (deformation->chosen || deformation->part) return FE_OK;
    FE_TRY(level_below(mesh, &at, BENCH_CLUSTERED, box->plastic, &deformation->height));
    if (isinf(deformation->height))
        deformation->height = deformation->height > 0.0 ? at.low[2] + at.size : at.low[2];
    return FE_OK;
}

void bench_deformation_close(bench_workload *c)
{
    if (!c->deformation) return;
    free(c->deformation->size), free(c->deformation->chosen), free(c->deformation);
    c->deformation = NULL;
}
