/* See plain.h. */
#include "tests/plain.h"
#include "tests/scene.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- problem ----------------------------------------------------------------------------------------- */

static void open_part(plain_part *part, const fe_mesh *mesh, int n_point, const oracle_material *material,
                      int index, const int *elem_material)
{
    const int nc = fe_corners(mesh->kind);
    *part = (plain_part){.material = *material, .conn = zeros((size_t)mesh->n_elem * nc, sizeof(int))};
    part->mesh = (oracle_mesh){.n_corner = nc, .n_point = n_point, .n_node = mesh->n_node, .x = mesh->x};
    for (int e = 0; e < mesh->n_elem; e++)
        if (!elem_material || elem_material[e] == index)
            memcpy(part->conn + part->mesh.n_elem++ * nc, mesh->conn + (size_t)e * nc,
                   (size_t)nc * sizeof(int));
    part->mesh.conn = part->conn;
    const size_t n = (size_t)part->mesh.n_elem * n_point;
    part->committed = zeros(n, sizeof *part->committed);
    part->trial = zeros(n, sizeof *part->trial);
    part->C = zeros(n, sizeof *part->C);
}

void plain_open(plain *p, const fe_mesh *mesh, int n_point, int n_material, const oracle_material *material,
                const int *elem_material, const unsigned char *is_fixed)
{
    *p = (plain){.n = 3 * mesh->n_node, .n_part = n_material};
    p->part = zeros((size_t)n_material, sizeof *p->part);
    for (int m = 0; m < n_material; m++)
        open_part(&p->part[m], mesh, n_point, &material[m], m, elem_material);
    p->row = zeros((size_t)p->n, sizeof *p->row);
    for (int i = 0; i < p->n; i++) p->row[i] = is_fixed[i] ? -1 : p->n_free++;
    p->u = zeros((size_t)p->n, sizeof(double));
    p->trial = zeros((size_t)p->n, sizeof(double));
    p->force = zeros((size_t)p->n, sizeof(double));
    p->g = zeros((size_t)p->n_free, sizeof(double));
    p->d = zeros((size_t)p->n_free, sizeof(double));
    p->A = zeros((size_t)p->n_free * p->n_free, sizeof(double));
}

void plain_close(plain *p)
{
    for (int m = 0; m < p->n_part; m++)
        free(p->part[m].conn), free(p->part[m].committed), free(p->part[m].trial), free(p->part[m].C);
    free(p->part), free(p->row), free(p->u), free(p->trial), free(p->force), free(p->g), free(p->d),
        free(p->A);
    *p = (plain){0};
}

/* --- matrix and forces ------------------------------------------------------------------------------- */

/* A += weight × the stiffness of free components, and g -= weight × K times the prescribed change [n] of the
 * fixed ones. */
static void add_stiffness(plain *p, int elastic, double weight, const double *change)
{
    for (int m = 0; m < p->n_part; m++) {
        const plain_part *part = &p->part[m];
        const int nc = part->mesh.n_corner;
        double D[ORACLE_CORNERS][6][6], K[ORACLE_COLUMNS][ORACLE_COLUMNS], (*C)[6][6] = part->C;
        for (int q = 0; q < ORACLE_CORNERS; q++) oracle_elasticity(&part->material, D[q]);
        for (int e = 0; e < part->mesh.n_elem; e++) {
            oracle_mesh one = part->mesh;
            one.conn += e * nc, one.n_elem = 1;
            oracle_stiffness(&one, 0, elastic ? D : C + (size_t)e * one.n_point, K);
            for (int i = 0; i < 3 * nc; i++)
                for (int j = 0; j < 3 * nc; j++) {
                    const int r = 3 * one.conn[i / 3] + i % 3, c = 3 * one.conn[j / 3] + j % 3;
                    if (p->row[r] < 0) continue;
                    if (p->row[c] >= 0)
                        p->A[(size_t)p->row[c] * p->n_free + p->row[r]] += weight * K[i][j];
                    else if (change)
                        p->g[p->row[r]] -= weight * K[i][j] * change[c];
                }
        }
    }
}

static double norm(int n, const double *x)
{
    double square = 0;
    for (int i = 0; i < n; i++) square += x[i] * x[i];
    return sqrt(square);
}

/* Forces that the displacement `trial` would need, were it not for its rigid part: what rounding is of. */
static double stiff_forces(plain *p)
{
    double square = 0;
    for (int m = 0; m < p->n_part; m++) {
        double D[ORACLE_CORNERS][6][6], K[ORACLE_COLUMNS][ORACLE_COLUMNS];
        const int nc = p->part[m].mesh.n_corner;
        for (int q = 0; q < ORACLE_CORNERS; q++) oracle_elasticity(&p->part[m].material, D[q]);
        for (int e = 0; e < p->part[m].mesh.n_elem; e++) {
            oracle_mesh one = p->part[m].mesh;
            one.conn += e * nc, one.n_elem = 1;
            oracle_stiffness(&one, 0, D, K);
            for (int i = 0; i < 3 * nc; i++)
                for (int j = 0; j < 3 * nc; j++)
                    square += pow(K[i][j] * p->trial[3 * one.conn[j / 3] + j % 3], 2);
        }
    }
    return sqrt(square);
}

/* g = load - internal forces at `trial`, of free components. Returns |g|. *reach: the size of all forces. */
static double evaluate(plain *p, const double *load, double *reach)
{
    double *f = zeros((size_t)p->n, sizeof *f);
    memset(p->force, 0, (size_t)p->n * sizeof(double));
    for (int m = 0; m < p->n_part; m++) {
        oracle_residual(&p->part[m].mesh, &p->part[m].material, p->part[m].committed, p->trial, f, NULL);
        for (int i = 0; i < p->n; i++) p->force[i] += f[i];
    }
    for (int i = 0; i < p->n; i++)
        if (p->row[i] >= 0) p->g[p->row[i]] = load[i] - p->force[i];
    *reach = fmax(norm(p->n, p->force), norm(p->n, load));
    free(f);
    return norm(p->n_free, p->g);
}

static void update(plain *p)
{
    for (int m = 0; m < p->n_part; m++)
        oracle_update(&p->part[m].mesh, &p->part[m].material, p->part[m].committed, p->trial,
                      p->part[m].trial, p->part[m].C);
}

/* --- Newton ------------------------------------------------------------------------------------------ */

/* d = A⁻¹ g. 0: A is not positive. */
static int solve(plain *p)
{
    memcpy(p->d, p->g, (size_t)p->n_free * sizeof(double));
    return !p->n_free ||
           !LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', p->n_free, 1, p->A, p->n_free, p->d, p->n_free);
}

static void clear(plain *p) { memset(p->A, 0, (size_t)p->n_free * p->n_free * sizeof(double)); }

/* With the consistent tangent; where that is not positive, a little of the elastic one is added. */
static void find_direction(plain *p)
{
    update(p);
    for (double little = 0; little < 2; little = little ? 100 * little : 1e-10) {
        clear(p);
        add_stiffness(p, 0, 1, NULL);
        if (little) add_stiffness(p, 1, little, NULL);
        if (solve(p)) return;
    }
}

static double slope(const plain *p)
{
    double sum = 0;
    for (int i = 0; i < p->n_free; i++) sum += p->g[i] * p->d[i];
    return sum;
}

static void move_to(plain *p, const double *from, double length)
{
    for (int i = 0; i < p->n; i++) p->trial[i] = from[i] + (p->row[i] < 0 ? 0 : length * p->d[p->row[i]]);
}

/* The energy is convex along d: its slope is brought to less than half of its first size between two ends. */
static double search(plain *p, const double *load, double *reach)
{
    double *from = zeros((size_t)p->n, sizeof *from);
    memcpy(from, p->trial, (size_t)p->n * sizeof(double));
    const double begin = slope(p);
    double low = 0, high = INFINITY, length = 1, left = 0;
    for (int k = 0; k < 60; k++) {
        move_to(p, from, length);
        left = evaluate(p, load, reach);
        const double now = slope(p);
        if (fabs(now) <= 0.5 * fabs(begin)) break;
        if (now > 0)
            low = length;
        else
            high = length;
        length = isinf(high) ? 2 * length : 0.5 * (low + high);
    }
    free(from);
    return left;
}

static void predict(plain *p, const double *value, const double *load, double *reach)
{
    double *change = zeros((size_t)p->n, sizeof *change);
    memcpy(p->trial, p->u, (size_t)p->n * sizeof(double));
    evaluate(p, load, reach);
    for (int i = 0; i < p->n; i++) change[i] = p->row[i] < 0 ? value[i] - p->u[i] : 0;
    clear(p);
    add_stiffness(p, 1, 1, change);
    solve(p);
    for (int i = 0; i < p->n; i++) p->trial[i] = p->row[i] < 0 ? value[i] : p->u[i] + p->d[p->row[i]];
    free(change);
}

plain_ending plain_step(plain *p, const double *value, const double *load)
{
    enum { MOST = 200 };
    double reach, way = 0;
    predict(p, value, load, &reach);
    const double least = 1e-15 * stiff_forces(p);
    for (int i = 0; i < p->n; i++) way = fmax(way, fabs(p->trial[i])); /* the elastic displacement's size */
    double left = evaluate(p, load, &reach);
    for (int k = 0; k < MOST; k++) {
        const double scale = fmax(p->reach, reach);
        if (left <= fmax(1e-12 * scale, least)) {
            update(p);
            for (int m = 0; m < p->n_part; m++)
                memcpy(p->part[m].committed, p->part[m].trial,
                       (size_t)p->part[m].mesh.n_elem * p->part[m].mesh.n_point * sizeof(oracle_state));
            memcpy(p->u, p->trial, (size_t)p->n * sizeof(double));
            p->reach = scale;
            return PLAIN_CONVERGED;
        }
        find_direction(p);
        left = search(p, load, &reach);
    }
    double most = 0;
    for (int i = 0; i < p->n; i++) most = fmax(most, fabs(p->trial[i] - p->u[i]));
    int is_perfect = 0; /* what hardens has no limit */
    for (int m = 0; m < p->n_part; m++) is_perfect |= p->part[m].material.H == 0;
    return is_perfect && most > 1e3 * way ? PLAIN_LIMIT : PLAIN_LOST;
}

int plain_zeros(const plain *p, double *least)
{
    plain q = *p; /* a matrix of its own */
    int n_zero = 0;
    *least = 1;
    if (!p->n_free) return 0;
    q.A = zeros((size_t)p->n_free * p->n_free, sizeof(double));
    double *value = zeros((size_t)p->n_free, sizeof(double));
    add_stiffness(&q, 1, 1, NULL);
    LAPACKE_dsyev(LAPACK_COL_MAJOR, 'N', 'L', p->n_free, q.A, p->n_free, value);
    while (n_zero < p->n_free && value[n_zero] < 1e-12 * value[p->n_free - 1]) n_zero++;
    if (n_zero < p->n_free) *least = value[n_zero] / value[p->n_free - 1];
    free(q.A), free(value);
    return n_zero;
}
