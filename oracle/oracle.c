/* Textbook finite elements to check febench against; see oracle.h. Slow and plain. */
#include "oracle/oracle.h"

#include <math.h>
#include <string.h>

/* Everything is computed in long double, so differences from the oracle are rounding of the tested code, even
 * where strains are small differences of large displacements. */
typedef long double real;

static void round_to(int n, const real *exact, double *rounded)
{
    for (int i = 0; i < n; i++) rounded[i] = (double)exact[i];
}

/* --- one point of the material --------------------------------------------------------------------- */

static void elasticity(const oracle_material *material, real D[6][6])
{
    const real lambda = material->E * material->nu / ((1 + material->nu) * (1 - 2 * material->nu));
    const real mu = material->E / (2 * (1 + material->nu));
    memset(D, 0, 36 * sizeof(real));
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) D[i][j] = lambda;
        D[i][i] = lambda + 2 * mu;
        D[i + 3][i + 3] = mu;
    }
}

/* C = kappa 1x1 + 2 mu theta (I - 1/3 1x1) - 2 mu theta_bar n x n. On engineering strains the symmetric
 * identity I is diag(1, 1, 1, 1/2, 1/2, 1/2). */
static void consistent_tangent(real kappa, real mu, real theta, real theta_bar, const real n[6], real C[6][6])
{
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 6; j++) {
            const real one = i < 3 && j < 3 ? 1 : 0, identity = i != j ? 0 : i < 3 ? 1 : 0.5L;
            C[i][j] = kappa * one + 2 * mu * theta * (identity - one / 3) - 2 * mu * theta_bar * n[i] * n[j];
        }
    }
}

/* Yield stress at alpha, and its derivative. */
static real yield_stress(const oracle_material *m, real alpha)
{
    const real voce = m->delta > 0 ? (m->sigma_inf - (real)m->sigma_y) * -expm1l(-m->delta * alpha) : 0;
    return m->sigma_y + m->H * alpha + voce;
}
static real yield_slope(const oracle_material *m, real alpha)
{
    return m->H + (m->delta > 0 ? (m->sigma_inf - (real)m->sigma_y) * m->delta * expl(-m->delta * alpha) : 0);
}

/* Length gamma of the plastic strain's increment: |s| - 2 mu gamma = sqrt(2/3) yield stress. With linear
 * hardening that is f / (2 mu + 2/3 H), otherwise less, and bisection halves [0, that] to the last bit. */
static real plastic_length(const oracle_material *m, real mu, real norm, real alpha, real f)
{
    const real root = sqrtl(2.0L / 3);
    real low = 0, high = f / (2 * mu * (1 + m->H / (3 * mu)));
    if (!(m->delta > 0)) return high;
    for (;;) {
        const real middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) return middle;
        if (norm - 2 * mu * middle > root * yield_stress(m, alpha + root * middle))
            low = middle;
        else
            high = middle;
    }
}

static void return_map(const oracle_material *material, const real eps[6], const oracle_state *state,
                       real sigma[6], oracle_state *new_state, real C[6][6])
{
    const real mu = material->E / (2 * (1 + material->nu)),
               kappa = material->E / (3 * (1 - 2 * material->nu));
    real D[6][6], s[6], n[6], norm = 0;
    elasticity(material, D);
    for (int i = 0; i < 6; i++) {
        sigma[i] = 0;
        for (int j = 0; j < 6; j++) sigma[i] += D[i][j] * (eps[j] - (j < 3 ? 1 : 2) * state->eps_p[j]);
    }
    const real pressure = (sigma[0] + sigma[1] + sigma[2]) / 3;
    for (int i = 0; i < 6; i++) {
        s[i] = sigma[i] - (i < 3 ? pressure : 0);
        norm += (i < 3 ? 1 : 2) * s[i] * s[i];
    }
    norm = sqrtl(norm);
    *new_state = *state;
    memcpy(C, D, sizeof D);
    const real f = norm - sqrtl(2.0L / 3) * yield_stress(material, state->alpha);
    if (f <= 0) return;
    const real gamma = plastic_length(material, mu, norm, state->alpha, f);
    const real slope = yield_slope(material, state->alpha + sqrtl(2.0L / 3) * gamma);
    for (int i = 0; i < 6; i++) {
        n[i] = s[i] / norm;
        sigma[i] -= 2 * mu * gamma * n[i];
        new_state->eps_p[i] += (double)(gamma * n[i]);
    }
    new_state->alpha += (double)(sqrtl(2.0L / 3) * gamma);
    const real theta = 1 - 2 * mu * gamma / norm;
    consistent_tangent(kappa, mu, theta, 1 / (1 + slope / (3 * mu)) - (1 - theta), n, C);
}

void oracle_elasticity(const oracle_material *material, double D[6][6])
{
    real exact[6][6];
    elasticity(material, exact);
    round_to(36, exact[0], D[0]);
}

void oracle_return(const oracle_material *material, const double eps[6], const oracle_state *state,
                   double sigma[6], oracle_state *new_state, double C[6][6])
{
    real strain[6], stress[6], tangent[6][6];
    for (int i = 0; i < 6; i++) strain[i] = eps[i];
    return_map(material, strain, state, stress, new_state, tangent);
    round_to(6, stress, sigma);
    round_to(36, tangent[0], C[0]);
}

/* --- one point of an element ----------------------------------------------------------------------- */

/* Natural coordinates of Hex8's corners. */
static const real hex8[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1},
                                {-1, -1, 1},  {1, -1, 1},  {1, 1, 1},  {-1, 1, 1}};

/* Gradients g in natural coordinates and the weight of point q: N_a = 1/8 (1 + xi xi_a)(1 + eta eta_a)
 * (1 + zeta zeta_a). */
static real natural_gradients_hex8(int q, real g[ORACLE_CORNERS][3])
{
    const real h = 1 / sqrtl(3.0L);
    const real xi[3] = {q & 1 ? h : -h, q & 2 ? h : -h, q & 4 ? h : -h};
    for (int a = 0; a < 8; a++) {
        for (int i = 0; i < 3; i++) {
            const int j = (i + 1) % 3, k = (i + 2) % 3;
            g[a][i] = hex8[a][i] * (1 + xi[j] * hex8[a][j]) * (1 + xi[k] * hex8[a][k]) / 8;
        }
    }
    return 1;
}

/* The same for N = 1 - xi - eta - zeta, xi, eta, zeta: constant. */
static real natural_gradients_tet4(int n_point, real g[ORACLE_CORNERS][3])
{
    static const real constant[4][3] = {{-1, -1, -1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    memcpy(g, constant, sizeof constant);
    return 1.0L / 6 / n_point;
}

/* Places of a quadratic hexahedron's corners in Gmsh's order, 0, 1, 2 along each axis: vertices, edges,
 * faces, centre. */
static const int hex27[27][3] = {{0, 0, 0}, {2, 0, 0}, {2, 2, 0}, {0, 2, 0}, {0, 0, 2}, {2, 0, 2}, {2, 2, 2},
                                 {0, 2, 2}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {2, 1, 0}, {2, 0, 1}, {1, 2, 0},
                                 {2, 2, 1}, {0, 2, 1}, {1, 0, 2}, {0, 1, 2}, {2, 1, 2}, {1, 2, 2}, {1, 1, 0},
                                 {1, 0, 1}, {0, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {1, 1, 1}};

/* Lagrange's polynomial of the node in one of three places on [-1, 1], and its derivative. */
static real lagrange(int place, real xi)
{
    return place == 0 ? xi * (xi - 1) / 2 : place == 1 ? (1 - xi) * (1 + xi) : xi * (xi + 1) / 2;
}
static real lagrange_slope(int place, real xi)
{
    return place == 0 ? xi - 1 / 2.0L : place == 1 ? -2 * xi : xi + 1 / 2.0L;
}

static real natural_gradients_hex27(int q, real g[ORACLE_CORNERS][3])
{
    const real h = sqrtl(3 / 5.0L), position[3] = {-h, 0, h}, weight[3] = {5 / 9.0L, 8 / 9.0L, 5 / 9.0L};
    const int at[3] = {q % 3, q / 3 % 3, q / 9};
    for (int a = 0; a < 27; a++)
        for (int i = 0; i < 3; i++) {
            const int j = (i + 1) % 3, k = (i + 2) % 3;
            g[a][i] = lagrange_slope(hex27[a][i], position[at[i]]) * lagrange(hex27[a][j], position[at[j]]) *
                      lagrange(hex27[a][k], position[at[k]]);
        }
    return weight[at[0]] * weight[at[1]] * weight[at[2]];
}

/* Vertices L (2 L - 1) and edges 4 L L' of the barycentric coordinates L; the four points of the rule of
 * degree 2, point q next to vertex q. */
static real natural_gradients_tet10(int q, real g[ORACLE_CORNERS][3])
{
    static const int edge[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {2, 3}, {1, 3}};
    static const real slope[4][3] = {{-1, -1, -1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    real L[4];
    for (int v = 0; v < 4; v++) L[v] = v == q ? (5 + 3 * sqrtl(5.0L)) / 20 : (5 - sqrtl(5.0L)) / 20;
    for (int i = 0; i < 3; i++) {
        for (int v = 0; v < 4; v++) g[v][i] = (4 * L[v] - 1) * slope[v][i];
        for (int k = 0; k < 6; k++) {
            const int v = edge[k][0], w = edge[k][1];
            g[4 + k][i] = 4 * (L[v] * slope[w][i] + L[w] * slope[v][i]);
        }
    }
    return 1 / 24.0L;
}

static real natural_gradients(const oracle_mesh *mesh, int q, real g[ORACLE_CORNERS][3])
{
    switch (mesh->n_corner) {
    case 8: return natural_gradients_hex8(q, g);
    case 10: return natural_gradients_tet10(q, g);
    case 27: return natural_gradients_hex27(q, g);
    default: return natural_gradients_tet4(mesh->n_point, g);
    }
}

/* Cofactors of J and its determinant, which is returned. */
static real cofactors(real J[3][3], real A[3][3])
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            A[i][j] = J[i1][j1] * J[i2][j2] - J[i1][j2] * J[i2][j1];
        }
    }
    return J[0][0] * A[0][0] + J[0][1] * A[0][1] + J[0][2] * A[0][2];
}

static real gradients(const oracle_mesh *mesh, int e, int q, real dN[ORACLE_CORNERS][3])
{
    real g[ORACLE_CORNERS][3], J[3][3] = {{0}}, A[3][3];
    const real weight = natural_gradients(mesh, q, g);
    for (int a = 0; a < mesh->n_corner; a++) {
        const double *x = mesh->x + 3 * mesh->conn[e * mesh->n_corner + a];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) J[i][j] += x[i] * g[a][j]; /* d x_i / d xi_j */
    }
    const real det = cofactors(J, A);
    for (int a = 0; a < mesh->n_corner; a++) /* J^-T g, with J^-T = A / det */
        for (int i = 0; i < 3; i++)
            dN[a][i] = (A[i][0] * g[a][0] + A[i][1] * g[a][1] + A[i][2] * g[a][2]) / det;
    return weight * det;
}

double oracle_gradients(const oracle_mesh *mesh, int e, int q, double dN[ORACLE_CORNERS][3])
{
    real exact[ORACLE_CORNERS][3];
    const real volume = gradients(mesh, e, q, exact);
    round_to(3 * mesh->n_corner, exact[0], dN[0]);
    return (double)volume;
}

/* B: engineering strain of the element's displacements, three columns a corner. Returns w det J. */
static real strain_matrix(const oracle_mesh *mesh, int e, int q, real B[6][ORACLE_COLUMNS])
{
    real dN[ORACLE_CORNERS][3];
    const real volume = gradients(mesh, e, q, dN);
    memset(B, 0, 6 * ORACLE_COLUMNS * sizeof(real));
    for (int a = 0; a < mesh->n_corner; a++) {
        const int x = 3 * a, y = x + 1, z = x + 2;
        B[0][x] = B[3][y] = B[5][z] = dN[a][0];
        B[1][y] = B[3][x] = B[4][z] = dN[a][1];
        B[2][z] = B[4][y] = B[5][x] = dN[a][2];
    }
    return volume;
}

/* --- one element ----------------------------------------------------------------------------------- */

/* eps = B u_e. */
static void element_strain(const oracle_mesh *mesh, int e, real B[6][ORACLE_COLUMNS], const double *u,
                           real eps[6])
{
    for (int i = 0; i < 6; i++) {
        eps[i] = 0;
        for (int c = 0; c < 3 * mesh->n_corner; c++)
            eps[i] += B[i][c] * u[3 * mesh->conn[e * mesh->n_corner + c / 3] + c % 3];
    }
}

/* An element's vector [3 n_corner], and the sizes of what it is a sum of. */
typedef struct element_vector {
    real f[ORACLE_COLUMNS], size[ORACLE_COLUMNS];
} element_vector;

/* Elements that all threads compute together. They are added one after the other, so that results have the
 * same bits with any number of threads. A Tet4 takes less time than threads need to begin. */
enum { BLOCK = 64 };

static int block_length(const oracle_mesh *mesh, int first)
{
    return mesh->n_elem - first < BLOCK ? mesh->n_elem - first : BLOCK;
}

/* scale: NULL or of the sizes. */
static void add_vector(const oracle_mesh *mesh, int e, const element_vector *v, double *r, double *scale)
{
    for (int c = 0; c < 3 * mesh->n_corner; c++) {
        const int row = 3 * mesh->conn[e * mesh->n_corner + c / 3] + c % 3;
        r[row] += (double)v->f[c];
        if (scale) scale[row] += (double)v->size[c];
    }
}

/* Rows of B in which a column of x, y or z has an entry. */
static const int strain_row[3][3] = {{0, 3, 5}, {1, 3, 4}, {2, 4, 5}};

static void stiffness(const oracle_mesh *mesh, int e, double (*C)[6][6],
                      real K[ORACLE_COLUMNS][ORACLE_COLUMNS])
{
    const int n = 3 * mesh->n_corner;
    memset(K, 0, ORACLE_COLUMNS * ORACLE_COLUMNS * sizeof(real));
    for (int q = 0; q < mesh->n_point; q++) {
        real B[6][ORACLE_COLUMNS], CB[6][ORACLE_COLUMNS] = {{0}};
        const real volume = strain_matrix(mesh, e, q, B);
        for (int i = 0; i < 6; i++)
            for (int c = 0; c < n; c++)
                for (int k = 0; k < 3; k++) {
                    const int j = strain_row[c % 3][k];
                    CB[i][c] += C[e * mesh->n_point + q][i][j] * B[j][c];
                }
        for (int b = 0; b < n; b++)
            for (int c = 0; c < n; c++)
                for (int k = 0; k < 3; k++) {
                    const int i = strain_row[b % 3][k];
                    K[b][c] += volume * B[i][b] * CB[i][c];
                }
    }
}

void oracle_stiffness(const oracle_mesh *mesh, int e, double (*C)[6][6],
                      double K[ORACLE_COLUMNS][ORACLE_COLUMNS])
{
    real exact[ORACLE_COLUMNS][ORACLE_COLUMNS];
    stiffness(mesh, e, C, exact);
    round_to(ORACLE_COLUMNS * ORACLE_COLUMNS, exact[0], K[0]);
}

/* --- the mesh -------------------------------------------------------------------------------------- */

double oracle_volume(const oracle_mesh *mesh)
{
    real volume = 0, dN[ORACLE_CORNERS][3];
    for (int e = 0; e < mesh->n_elem; e++)
        for (int q = 0; q < mesh->n_point; q++) volume += gradients(mesh, e, q, dN);
    return (double)volume;
}

static const oracle_material *material_of(const oracle_mesh *mesh, const oracle_material *material, int e)
{
    return material + (mesh->material ? mesh->material[e] : 0);
}

static void element_residual(const oracle_mesh *mesh, const oracle_material *material,
                             const oracle_state *committed, const double *u, int e, element_vector *v)
{
    *v = (element_vector){{0}, {0}};
    for (int q = 0; q < mesh->n_point; q++) {
        real B[6][ORACLE_COLUMNS], eps[6], sigma[6], C[6][6];
        oracle_state unused;
        const real volume = strain_matrix(mesh, e, q, B);
        element_strain(mesh, e, B, u, eps);
        return_map(material_of(mesh, material, e), eps, &committed[e * mesh->n_point + q], sigma, &unused, C);
        for (int c = 0; c < 3 * mesh->n_corner; c++)
            for (int i = 0; i < 6; i++) {
                const real term = volume * B[i][c] * sigma[i];
                v->f[c] += term, v->size[c] += fabsl(term);
            }
    }
}

void oracle_residual(const oracle_mesh *mesh, const oracle_material *material, const oracle_state *committed,
                     const double *u, double *r, double *scale)
{
    const size_t bytes = 3 * (size_t)mesh->n_node * sizeof(double);
    memset(r, 0, bytes);
    if (scale) memset(scale, 0, bytes);
    for (int first = 0; first < mesh->n_elem; first += BLOCK) {
        element_vector of[BLOCK];
        const int n = block_length(mesh, first);
#pragma omp parallel for schedule(dynamic) if (mesh->n_corner > 4)
        for (int k = 0; k < n; k++) element_residual(mesh, material, committed, u, first + k, &of[k]);
        for (int k = 0; k < n; k++) add_vector(mesh, first + k, &of[k], r, scale);
    }
}

void oracle_update(const oracle_mesh *mesh, const oracle_material *material, const oracle_state *committed,
                   const double *u, oracle_state *trial, double (*C)[6][6])
{
#pragma omp parallel for schedule(dynamic) if (mesh->n_corner > 4)
    for (int e = 0; e < mesh->n_elem; e++) {
        for (int q = 0; q < mesh->n_point; q++) {
            const int p = e * mesh->n_point + q;
            real B[6][ORACLE_COLUMNS], eps[6], sigma[6], tangent[6][6];
            strain_matrix(mesh, e, q, B);
            element_strain(mesh, e, B, u, eps);
            return_map(material_of(mesh, material, e), eps, &committed[p], sigma, &trial[p], tangent);
            round_to(36, tangent[0], C[p][0]);
        }
    }
}

static void element_product(const oracle_mesh *mesh, double (*C)[6][6], const double *v, int e,
                            element_vector *y)
{
    real K[ORACLE_COLUMNS][ORACLE_COLUMNS];
    *y = (element_vector){{0}, {0}};
    stiffness(mesh, e, C, K);
    for (int b = 0; b < 3 * mesh->n_corner; b++)
        for (int c = 0; c < 3 * mesh->n_corner; c++) {
            const real term = K[b][c] * v[3 * mesh->conn[e * mesh->n_corner + c / 3] + c % 3];
            y->f[b] += term, y->size[b] += fabsl(term);
        }
}

void oracle_jacvec(const oracle_mesh *mesh, double (*C)[6][6], const double *v, double *y, double *scale)
{
    const size_t bytes = 3 * (size_t)mesh->n_node * sizeof(double);
    memset(y, 0, bytes);
    if (scale) memset(scale, 0, bytes);
    for (int first = 0; first < mesh->n_elem; first += BLOCK) {
        element_vector of[BLOCK];
        const int n = block_length(mesh, first);
#pragma omp parallel for schedule(dynamic) if (mesh->n_corner > 4)
        for (int k = 0; k < n; k++) element_product(mesh, C, v, first + k, &of[k]);
        for (int k = 0; k < n; k++) add_vector(mesh, first + k, &of[k], y, scale);
    }
}

/* The blocks of an element's matrix on its diagonal. */
static void element_blocks(const oracle_mesh *mesh, double (*C)[6][6], int e, double d[ORACLE_CORNERS][3][3])
{
    real K[ORACLE_COLUMNS][ORACLE_COLUMNS];
    stiffness(mesh, e, C, K);
    for (int a = 0; a < mesh->n_corner; a++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) d[a][i][j] = (double)K[3 * a + i][3 * a + j];
}

void oracle_diagonal(const oracle_mesh *mesh, double (*C)[6][6], double (*d)[3][3], double (*scale)[3][3])
{
    memset(d, 0, (size_t)mesh->n_node * sizeof *d);
    if (scale) memset(scale, 0, (size_t)mesh->n_node * sizeof *scale);
    for (int first = 0; first < mesh->n_elem; first += BLOCK) {
        double of[BLOCK][ORACLE_CORNERS][3][3];
        const int n = block_length(mesh, first);
#pragma omp parallel for schedule(dynamic) if (mesh->n_corner > 4)
        for (int k = 0; k < n; k++) element_blocks(mesh, C, first + k, of[k]);
        for (int k = 0; k < n; k++)
            for (int a = 0; a < mesh->n_corner; a++) {
                const int node = mesh->conn[(first + k) * mesh->n_corner + a];
                for (int i = 0; i < 9; i++) {
                    const double value = of[k][a][i / 3][i % 3];
                    d[node][i / 3][i % 3] += value;
                    if (scale) scale[node][i / 3][i % 3] += fabs(value);
                }
            }
    }
}
