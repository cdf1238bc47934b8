/* Every variant, element kind, operation and backend against the oracle, in interface's norm: an entry may be
 * off by 1e-12 of the sum of the absolute element contributions to it.
 *
 * The states are random: a good share of points is plastic, some elements have never yielded, and every point
 * stays 1e-3 away from f = 0, where the tangent jumps. What must not be read (ghosts by the interior part,
 * states of elements without FE_YIELDED, tangents before `material`) holds NaN. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/device.h"
#include "common/mesh/lookup.h"
#include "common/problem/parts.h"
#include "common/problem/share.h"
#include "have/cuda.h"
#include "have/metis.h"
#include "tests/oracle.h"

#define TOLERANCE 1e-12 /* rounding of some hundred operations */
#define MARGIN 1e-3     /* |f| over the yield stress */
enum { THREADS = 4 };   /* of the host backend */

/* --- the scenes ------------------------------------------------------------------------------------ */

enum { SHAPE_LEXICOGRAPHIC, SHAPE_RANDOM, SHAPE_BRACKET, N_SHAPE };

/* A mesh with a random committed state and displacement, and what the oracle says about them. */
typedef struct scene {
    char name[64];
    int kind;
    fe_mesh mesh;
    oracle_mesh oracle;
    oracle_material material;
    oracle_state *committed, *trial;                 /* [n_elem][n_point] */
    double (*C)[6][6], (*C_elastic)[6][6];           /* [n_elem][n_point] */
    double *u, *v, *w;                               /* [n_node][3] */
    double *r, *r_scale, *y, *y_scale, *l, *l_scale; /* residual, K v, elastic K v */
    double *d, *d_scale;                             /* [n_node][3][3] */
} scene;

static scene scenes[N_SHAPE][FE_N_KIND];

static uint64_t random_state = 1;
static double uniform(void) /* in [-1, 1) */
{
    random_state = fe_mix(random_state);
    return 0x1p-52 * (double)(random_state >> 11) - 1.0;
}

static void must(fe_status status)
{
    if (status != FE_OK) fail_msg("%s", fe_message());
}

static void *zeros(size_t count, size_t size)
{
    void *memory = calloc(count + 8, size);
    assert_non_null(memory);
    return memory;
}

static double mises(const double s[6])
{
    return sqrt(0.5 * (pow(s[0] - s[1], 2) + pow(s[1] - s[2], 2) + pow(s[2] - s[0], 2)) +
                3 * (s[3] * s[3] + s[4] * s[4] + s[5] * s[5]));
}

/* Engineering strain of u at a point. */
static void strain_at(const scene *s, int e, int q, const double *u, double eps[6])
{
    double dN[8][3];
    oracle_gradients(&s->oracle, e, q, dN);
    memset(eps, 0, 6 * sizeof *eps);
    for (int a = 0; a < s->oracle.n_corner; a++) {
        const double *at = u + 3 * (size_t)s->oracle.conn[e * s->oracle.n_corner + a];
        for (int i = 0; i < 3; i++) eps[i] += dN[a][i] * at[i];
        eps[3] += dN[a][1] * at[0] + dN[a][0] * at[1];
        eps[4] += dN[a][2] * at[1] + dN[a][1] * at[2];
        eps[5] += dN[a][2] * at[0] + dN[a][0] * at[2];
    }
}

/* Stress of the elastic part of u's strain. */
static void elastic_stress(const scene *s, int e, int q, const double *u, const oracle_state *state,
                           double stress[6])
{
    double eps[6], D[6][6];
    strain_at(s, e, q, u, eps);
    oracle_elasticity(&s->material, D);
    for (int i = 0; i < 6; i++) eps[i] -= (i < 3 ? 1 : 2) * state->eps_p[i];
    for (int i = 0; i < 6; i++) {
        stress[i] = 0;
        for (int j = 0; j < 6; j++) stress[i] += D[i][j] * eps[j];
    }
}

/* f of the trial stress over the yield stress. */
static double yield_excess(const scene *s, int e, int q)
{
    const oracle_state *state = &s->committed[e * s->oracle.n_point + q];
    const double yield = s->material.sigma_y + s->material.H * state->alpha;
    double stress[6];
    elastic_stress(s, e, q, s->u, state, stress);
    return mises(stress) / yield - 1;
}

static void draw_state(oracle_state *state)
{
    for (int i = 0; i < 6; i++) state->eps_p[i] = 3e-4 * uniform();
    state->eps_p[2] = -(state->eps_p[0] + state->eps_p[1]);
    state->alpha = 1e-3 * (1 + uniform());
}

/* Random committed states; an element that comes too close to f = 0 is drawn anew. Returns the share of
 * points that go plastic. */
static double draw_states(scene *s)
{
    const int n_point = s->oracle.n_point;
    int plastic = 0;
    for (int e = 0; e < s->mesh.n_elem; e++) {
        oracle_state *state = s->committed + e * n_point;
        int close = 1, n = 0;
        for (int attempt = 0; close; attempt++) {
            assert_true(attempt < 100);
            const int virgin = attempt == 0 && uniform() < -0.4;
            memset(state, 0, (size_t)n_point * sizeof *state);
            close = n = 0;
            for (int q = 0; q < n_point; q++) {
                if (!virgin) draw_state(&state[q]);
                const double f = yield_excess(s, e, q);
                close |= fabs(f) < MARGIN;
                n += f > 0;
            }
        }
        plastic += n;
    }
    return (double)plastic / ((double)s->mesh.n_elem * n_point);
}

/* Displacement that makes about half of the points plastic. */
static void draw_fields(scene *s)
{
    const size_t n = 3 * (size_t)s->mesh.n_node;
    const double h = cbrt(oracle_volume(&s->oracle) / s->mesh.n_elem);
    double share = 0, size = 1e-3 * h;
    for (int attempt = 0; share < 0.3 || share > 0.8; attempt++) {
        assert_true(attempt < 40);
        if (attempt) size *= share < 0.3 ? 1.3 : 0.7;
        for (size_t i = 0; i < n; i++) s->u[i] = size * uniform();
        share = draw_states(s);
    }
    for (size_t i = 0; i < n; i++) s->v[i] = uniform(), s->w[i] = uniform();
}

static void ask_oracle(scene *s)
{
    const oracle_mesh *m = &s->oracle;
    for (int p = 0; p < m->n_elem * m->n_point; p++) oracle_elasticity(&s->material, s->C_elastic[p]);
    oracle_residual(m, &s->material, s->committed, s->u, s->r, s->r_scale);
    oracle_update(m, &s->material, s->committed, s->u, s->trial, s->C);
    oracle_jacvec(m, s->C, s->v, s->y, s->y_scale);
    oracle_jacvec(m, s->C_elastic, s->v, s->l, s->l_scale);
    oracle_diagonal(m, s->C, (double(*)[3][3])s->d, (double(*)[3][3])s->d_scale);
    /* K_ij of a node may cancel within an element; it is bounded by sqrt(K_ii K_jj). */
    for (int n = 0; n < m->n_node; n++) {
        double *scale = s->d_scale + 9 * (size_t)n;
        for (int k = 0; k < 9; k++)
            if (k % 4) scale[k] = sqrt(scale[4 * (k / 3)] * scale[4 * (k % 3)]);
    }
}

static void scene_mesh(scene *s, int shape)
{
    const int mesh_kind = fe_corners(s->kind) == 8 ? FE_HEX8 : FE_TET4;
    if (shape == SHAPE_BRACKET) {
        must(fe_mesh_read(mesh_kind == FE_HEX8 ? "meshgen/bracket/bracket_hex8_coarse.msh"
                                               : "meshgen/bracket/bracket_tet4_coarse.msh",
                          0, &s->mesh));
        return;
    }
    const fe_box box = {
        .kind = mesh_kind, .cells = {5, 4, 3}, .length = {1.2, 1, 0.8}, .distort = 0.2, .seed = 3};
    must(fe_mesh_box(&box, &s->mesh));
    if (shape == SHAPE_RANDOM) must(fe_mesh_reorder(&s->mesh, FE_ORDER_RANDOM, 5));
}

static void scene_open(scene *s, int shape, int kind)
{
    static const char *const shapes[] = {"box", "box in random order", "bracket"};
    *s = (scene){.kind = kind, .material = {.E = 200000, .nu = 0.3, .sigma_y = 250, .H = 2000}};
    snprintf(s->name, sizeof s->name, "%s %s", fe_kind_name(kind), shapes[shape]);
    random_state = (uint64_t)(100 * shape + kind + 1);
    scene_mesh(s, shape);
    s->oracle = (oracle_mesh){.n_corner = fe_corners(kind),
                              .n_point = fe_points(kind),
                              .n_node = s->mesh.n_node,
                              .n_elem = s->mesh.n_elem,
                              .x = s->mesh.x,
                              .conn = s->mesh.conn};
    const size_t n_node = (size_t)s->mesh.n_node, n_point = (size_t)s->mesh.n_elem * s->oracle.n_point;
    double **vectors[] = {&s->u, &s->v, &s->w, &s->r, &s->r_scale, &s->y, &s->l, &s->l_scale, &s->y_scale};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = zeros(3 * n_node, sizeof(double));
    s->d = zeros(9 * n_node, sizeof *s->d), s->d_scale = zeros(9 * n_node, sizeof *s->d);
    s->committed = zeros(n_point, sizeof *s->committed), s->trial = zeros(n_point, sizeof *s->trial);
    s->C = zeros(n_point, sizeof *s->C), s->C_elastic = zeros(n_point, sizeof *s->C);
    draw_fields(s);
    ask_oracle(s);
}

static void scene_close(scene *s)
{
    free(s->u), free(s->v), free(s->w), free(s->r), free(s->r_scale), free(s->y), free(s->y_scale);
    free(s->l), free(s->l_scale), free(s->d), free(s->d_scale);
    free(s->committed), free(s->trial), free(s->C), free(s->C_elastic);
    fe_mesh_close(&s->mesh);
}

/* --- one rank's problem ---------------------------------------------------------------------------- */

typedef struct bench {
    const scene *scene;
    const fe_assembly *assembly;
    fe_device *device;
    fe_partition partition;
    fe_share share;
    fe_problem problem;
    void *work;
    double *in, *out, *landing; /* in and out on the device, landing on the host: [n_local][9] */
} bench;

static size_t state_length(const bench *b)
{
    return (size_t)FE_STATE * fe_points(b->problem.kind) * b->problem.view.ld;
}

/* The committed state of the share's elements, NaN where it must not be read, and NaN tangents. */
static void upload_state(bench *b)
{
    const fe_view *v = &b->problem.view;
    const size_t n = state_length(b);
    const int n_point = fe_points(b->problem.kind);
    double *point = zeros(n, sizeof *point);
    uint8_t *flags = zeros((size_t)v->ld, 1);
    for (int e = 0; e < v->n_elem; e++) {
        const oracle_state *state = b->scene->committed + b->share.elem[e] * n_point;
        for (int q = 0; q < n_point; q++) flags[e] |= state[q].alpha > 0 ? FE_YIELDED : 0;
        for (int q = 0; q < n_point; q++) {
            const double *p = state[q].eps_p;
            const double stored[FE_STATE] = {p[0], p[1], p[3], p[4], p[5], state[q].alpha};
            for (int c = 0; c < FE_STATE; c++)
                point[fe_point_index(b->problem.kind, c, q, e)] = flags[e] ? stored[c] : NAN;
        }
    }
    must(b->device->ops->memory.upload(b->device, n * sizeof *point, point, v->committed.point));
    must(b->device->ops->memory.upload(b->device, (size_t)v->ld, flags, v->committed.flags));
    for (size_t i = 0; i < n; i++) point[i] = NAN;
    must(b->device->ops->memory.upload(b->device, n * sizeof *point, point, v->tangent));
    must(b->device->ops->wait(b->device));
    free(point), free(flags);
}

static bench bench_open(const scene *s, const fe_assembly *assembly, const char *backend, int threads,
                        int n_rank, int rank, int method)
{
    bench b = {.scene = s, .assembly = assembly};
    const fe_backend *ops;
    const oracle_material *m = &s->material;
    must(fe_backend_find(backend, &ops));
    must(ops->open(0, threads, &b.device));
    must(fe_partition_mesh(&s->mesh, n_rank, method, &b.partition));
    must(fe_share_build(&s->mesh, &b.partition, rank, &b.share));
    must(fe_problem_open(&s->mesh, &b.share, s->kind, fe_j2_of(m->E, m->nu, m->sigma_y, m->H), b.device,
                         &b.problem));
    upload_state(&b);
    must(fe_assembly_set_up(assembly, &b.problem, &b.work));
    must(fe_device_vector(b.device, 3 * b.share.n_local, "test", &b.in));
    must(fe_device_vector(b.device, 3 * b.share.n_local, "test", &b.out));
    b.landing = zeros(9 * (size_t)b.share.n_local, sizeof *b.landing);
    return b;
}

/* The whole mesh on one rank. */
static bench bench_whole(const scene *s, const fe_assembly *assembly, const char *backend, int threads)
{
    return bench_open(s, assembly, backend, threads, 1, 0, FE_PARTITION_CONTIGUOUS);
}

static void bench_close(bench *b)
{
    free(b->landing);
    fe_share_close(&b->share);
    fe_partition_close(&b->partition);
    b->device->ops->close(b->device);
}

/* in = the mesh's vector x at the local nodes; ghosts NaN unless wanted. */
static void give(bench *b, const double *x, int with_ghosts)
{
    const int n_local = b->share.n_local;
    for (int i = 0; i < n_local; i++)
        for (int c = 0; c < 3; c++)
            b->landing[3 * (size_t)i + c] =
                i < b->share.n_owned || with_ghosts ? x[3 * (size_t)b->share.node[i] + c] : NAN;
    must(b->device->ops->memory.upload(b->device, 3 * (size_t)n_local * sizeof *x, b->landing, b->in));
    must(b->device->ops->wait(b->device));
}

/* Zeroes the output, or fills it with NaN where the strategy says that it stores every row. */
static void clear(bench *b, int stores)
{
    const size_t n = 9 * (size_t)b->share.n_local;
    must(b->device->ops->memory.zero(b->device, n * sizeof(double), b->out));
    if (!stores) return;
    for (size_t i = 0; i < n; i++) b->landing[i] = NAN;
    must(b->device->ops->memory.upload(b->device, n * sizeof(double), b->landing, b->out));
    must(b->device->ops->wait(b->device));
}

/* Owned rows of the device's out become rows of the mesh's vector y. */
static void take(bench *b, int width, double *y)
{
    const size_t row = (size_t)width * sizeof *y;
    must(b->device->ops->memory.download(b->device, (size_t)b->share.n_owned * row, b->out, b->landing));
    for (int i = 0; i < b->share.n_owned; i++)
        memcpy(y + (size_t)width * b->share.node[i], b->landing + (size_t)width * i, row);
}

/* y = forces(x), owned rows: the border with all ghosts, the interior with none, which comes last where the
 * strategy says that it may. */
static void apply(bench *b, fe_forces forces, const double *x, double *y)
{
    const int last = b->assembly->traits & FE_INDEPENDENT ? FE_INTERIOR : FE_BORDER;
    clear(b, b->assembly->traits & FE_STORES);
    for (int turn = 0; turn < 2; turn++) {
        const fe_part part = turn == 0 ? (fe_part)!last : (fe_part)last;
        give(b, x, part == FE_BORDER);
        must(forces(&b->problem, b->work, part, b->in, b->out));
        must(b->device->ops->wait(b->device));
    }
    take(b, 3, y);
}

static void material(bench *b, fe_tangent mode, const double *u)
{
    give(b, u, 1);
    must(b->assembly->material(&b->problem, b->work, mode, b->in));
    must(b->device->ops->wait(b->device));
}

static void diagonal(bench *b, double *d)
{
    clear(b, 0);
    must(b->assembly->diagonal(&b->problem, b->work, b->out));
    take(b, 9, d);
}

/* --- comparisons ----------------------------------------------------------------------------------- */

/* Entries with |a - b| > tolerance × scale, the worst of them printed. NaN counts. */
static int compare(const char *what, const scene *s, size_t n, const double *a, const double *b,
                   const double *scale, double tolerance)
{
    int bad = 0;
    size_t worst = 0;
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        const double error = fabs(a[i] - b[i]);
        if (error <= tolerance * scale[i]) continue;
        const double relative = isnan(error) ? INFINITY : error / scale[i];
        if (relative > largest || !bad) largest = relative, worst = i;
        bad++;
    }
    if (bad)
        print_error(
            "%s: %s: %d of %zu entries are off, entry %zu most: %.17g, not %.17g, off by %.2e > %.0e\n",
            s->name, what, bad, n, worst, a[worst], b[worst], largest, tolerance);
    return bad;
}

static double *new_vector(const scene *s, int width)
{
    const size_t n = (size_t)width * s->mesh.n_node;
    double *x = zeros(n, sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = NAN; /* rows that nobody writes are found */
    return x;
}

typedef struct setting {
    const fe_variant *variant;
    const fe_assembly *assembly;
    const char *backend, *why; /* why: set where the test cannot take place */
    int kind;
    int (*check)(const struct setting *t, const scene *s); /* returns the number of failures */
    char name[128];
} setting;

/* --- operations against the oracle ----------------------------------------------------------------- */

static int check_residual(const setting *t, const scene *s)
{
    bench b = bench_whole(s, t->assembly, t->backend, THREADS);
    double *r = new_vector(s, 3);
    apply(&b, t->assembly->residual, s->u, r);
    const int bad = compare("residual", s, 3 * (size_t)s->mesh.n_node, r, s->r, s->r_scale, TOLERANCE);
    free(r);
    bench_close(&b);
    return bad;
}

static int check_jacvec(const setting *t, const scene *s)
{
    bench b = bench_whole(s, t->assembly, t->backend, THREADS);
    double *y = new_vector(s, 3);
    material(&b, FE_TANGENT_CONSISTENT, s->u);
    apply(&b, t->assembly->jacvec, s->v, y);
    const int bad = compare("jacvec", s, 3 * (size_t)s->mesh.n_node, y, s->y, s->y_scale, TOLERANCE);
    free(y);
    bench_close(&b);
    return bad;
}

static int check_elastic(const setting *t, const scene *s)
{
    bench b = bench_whole(s, t->assembly, t->backend, THREADS);
    double *y = new_vector(s, 3);
    material(&b, FE_TANGENT_CONSISTENT, s->u); /* what it leaves must not be used */
    material(&b, FE_TANGENT_ELASTIC, s->u);
    apply(&b, t->assembly->jacvec, s->v, y);
    const int bad = compare("elastic jacvec", s, 3 * (size_t)s->mesh.n_node, y, s->l, s->l_scale, TOLERANCE);
    free(y);
    bench_close(&b);
    return bad;
}

static int check_diagonal(const setting *t, const scene *s)
{
    bench b = bench_whole(s, t->assembly, t->backend, THREADS);
    double *d = new_vector(s, 9);
    material(&b, FE_TANGENT_CONSISTENT, s->u);
    diagonal(&b, d);
    const int bad = compare("diagonal", s, 9 * (size_t)s->mesh.n_node, d, s->d, s->d_scale, TOLERANCE);
    free(d);
    bench_close(&b);
    return bad;
}

/* The state that `material` left, on the host. */
typedef struct snapshot {
    double *committed, *trial, *tangent;
    uint8_t *committed_flags, *trial_flags;
    size_t n, ld;
} snapshot;

static snapshot snapshot_take(const bench *b)
{
    const fe_view *v = &b->problem.view;
    snapshot k = {.n = state_length(b), .ld = (size_t)v->ld};
    double **arrays[] = {&k.committed, &k.trial, &k.tangent};
    const double *sources[] = {v->committed.point, v->trial.point, v->tangent};
    for (int i = 0; i < 3; i++) {
        *arrays[i] = zeros(k.n, sizeof(double));
        must(b->device->ops->memory.download(b->device, k.n * sizeof(double), sources[i], *arrays[i]));
    }
    k.committed_flags = zeros(k.ld, 1), k.trial_flags = zeros(k.ld, 1);
    must(b->device->ops->memory.download(b->device, k.ld, v->committed.flags, k.committed_flags));
    must(b->device->ops->memory.download(b->device, k.ld, v->trial.flags, k.trial_flags));
    return k;
}

static void snapshot_close(snapshot *k)
{
    free(k->committed), free(k->trial), free(k->tangent), free(k->committed_flags), free(k->trial_flags);
}

/* Arrays that differ in a bit: 1 the committed state, 2 the trial state, 4 the tangent. */
static int snapshot_differs(const snapshot *a, const snapshot *b)
{
    const size_t bytes = a->n * sizeof(double);
    return (memcmp(a->committed, b->committed, bytes) ||
            memcmp(a->committed_flags, b->committed_flags, a->ld)) +
           2 * (memcmp(a->trial, b->trial, bytes) || memcmp(a->trial_flags, b->trial_flags, a->ld)) +
           4 * (memcmp(a->tangent, b->tangent, bytes) != 0);
}

/* C = K I×I + 2 mu theta I_dev - m×m of the six stored numbers; elastic for NULL. */
static void expand_tangent(const fe_j2 *material_of, const double *stored, double C[6][6])
{
    const double theta = stored ? stored[0] : 1.0;
    double m[6] = {0};
    if (stored) {
        m[0] = stored[1], m[1] = stored[2], m[2] = -(stored[1] + stored[2]);
        m[3] = stored[3], m[4] = stored[4], m[5] = stored[5];
    }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            const double identity = i == j ? (i < 3 ? 1.0 : 0.5) : 0.0, both = i < 3 && j < 3 ? 1.0 : 0.0;
            C[i][j] = material_of->bulk * both + 2 * material_of->shear * theta * (identity - both / 3) -
                      m[i] * m[j];
        }
}

/* Trial state, flags and tangent of one element; returns the number of failures. */
static int compare_element(const bench *b, const snapshot *k, int e, fe_tangent mode)
{
    const scene *s = b->scene;
    const fe_view *v = &b->problem.view;
    const int n_point = s->oracle.n_point, first = b->share.elem[e] * n_point;
    int bad = 0, yielded = 0, softened = 0;
    for (int q = 0; q < n_point; q++) {
        yielded |= s->trial[first + q].alpha > 0;
        softened |= s->trial[first + q].alpha > s->committed[first + q].alpha;
    }
    if (mode == FE_TANGENT_ELASTIC) softened = 0;
    const int flags = (yielded ? FE_YIELDED : 0) | (softened ? FE_SOFTENED : 0);
    bad += k->trial_flags[e] != flags;
    for (int q = 0; q < n_point; q++) {
        double trial[FE_STATE] = {0}, tangent[FE_TANGENT], C[6][6], state_scale = 1e-6, scale = 0;
        for (int c = 0; c < 6; c++) {
            const size_t at = fe_point_index(b->problem.kind, c, q, e);
            if (k->trial_flags[e] & FE_YIELDED) trial[c] = k->trial[at];
            tangent[c] = k->tangent[at];
        }
        const oracle_state *wanted = &s->trial[first + q];
        double(*C_wanted)[6] = mode == FE_TANGENT_ELASTIC ? s->C_elastic[first + q] : s->C[first + q];
        static const int place[5] = {0, 1, 3, 4, 5};
        double eps[6];
        strain_at(s, b->share.elem[e], q, s->u, eps);
        for (int i = 0; i < 6; i++) {
            state_scale = fmax(state_scale, fmax(fabs(wanted->eps_p[i]), fabs(eps[i])));
            for (int j = 0; j < 6; j++) scale = fmax(scale, fabs(C_wanted[i][j]));
        }
        for (int c = 0; c < 5; c++)
            bad += !(fabs(trial[c] - wanted->eps_p[place[c]]) <= TOLERANCE * state_scale);
        bad += !(fabs(trial[5] - wanted->alpha) <= TOLERANCE * state_scale);
        expand_tangent(&v->material, k->trial_flags[e] & FE_SOFTENED ? tangent : NULL, C);
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) bad += !(fabs(C[i][j] - C_wanted[i][j]) <= TOLERANCE * scale);
    }
    return bad;
}

static int check_material_mode(const setting *t, const scene *s, fe_tangent mode)
{
    bench b = bench_whole(s, t->assembly, t->backend, THREADS);
    snapshot before = snapshot_take(&b);
    material(&b, mode, s->u);
    snapshot after = snapshot_take(&b);
    int bad = snapshot_differs(&before, &after) & 1, elements = 0;
    if (bad) print_error("%s: material touches the committed state\n", s->name);
    for (int e = 0; e < b.problem.view.n_elem; e++) {
        const int of_element = compare_element(&b, &after, e, mode);
        if (of_element && !elements++)
            print_error("%s: material, mode %d: element %d has %d wrong numbers\n", s->name, (int)mode,
                        b.share.elem[e], of_element);
    }
    snapshot_close(&before), snapshot_close(&after);
    bench_close(&b);
    return bad + elements;
}

static int check_material(const setting *t, const scene *s)
{
    return check_material_mode(t, s, FE_TANGENT_CONSISTENT) + check_material_mode(t, s, FE_TANGENT_ELASTIC);
}

/* --- ranks, bits, side effects ---------------------------------------------------------------------- */

/* The rows that ranks own are those of the whole mesh. */
static int check_partition(const setting *t, const scene *s, int n_rank, int method)
{
    double *r = new_vector(s, 3), *y = new_vector(s, 3), *d = new_vector(s, 9);
    const size_t n = 3 * (size_t)s->mesh.n_node;
    int bad = 0;
    for (int rank = 0; rank < n_rank; rank++) {
        bench b = bench_open(s, t->assembly, t->backend, 1, n_rank, rank, method);
        apply(&b, t->assembly->residual, s->u, r);
        material(&b, FE_TANGENT_CONSISTENT, s->u);
        apply(&b, t->assembly->jacvec, s->v, y);
        diagonal(&b, d);
        if (b.share.n_elem_interior == b.share.n_elem) {
            print_error("%s: %d ranks, rank %d has no border\n", s->name, n_rank, rank);
            bad++;
        }
        bench_close(&b);
    }
    char what[64];
    snprintf(what, sizeof what, "residual of %d ranks (partition %d)", n_rank, method);
    bad += compare(what, s, n, r, s->r, s->r_scale, TOLERANCE);
    snprintf(what, sizeof what, "jacvec of %d ranks (partition %d)", n_rank, method);
    bad += compare(what, s, n, y, s->y, s->y_scale, TOLERANCE);
    snprintf(what, sizeof what, "diagonal of %d ranks (partition %d)", n_rank, method);
    bad += compare(what, s, 3 * n, d, s->d, s->d_scale, TOLERANCE);
    free(r), free(y), free(d);
    return bad;
}

static int check_ranks(const setting *t, const scene *s)
{
    static const int counts[] = {2, 3, 4, 7};
    int bad = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        bad += check_partition(t, s, counts[i], FE_PARTITION_CONTIGUOUS);
        if (FE_HAVE_METIS) bad += check_partition(t, s, counts[i], FE_PARTITION_METIS);
    }
    return bad;
}

/* residual, K v and the diagonal, one after the other: [15] numbers a node. */
static double *all_outputs(const setting *t, const scene *s, int threads)
{
    bench b = bench_open(s, t->assembly, t->backend, threads, 1, 0, FE_PARTITION_CONTIGUOUS);
    const size_t n = 3 * (size_t)s->mesh.n_node;
    double *all = new_vector(s, 15);
    apply(&b, t->assembly->residual, s->u, all);
    material(&b, FE_TANGENT_CONSISTENT, s->u);
    apply(&b, t->assembly->jacvec, s->v, all + n);
    diagonal(&b, all + 2 * n);
    bench_close(&b);
    return all;
}

/* What promises to be deterministic gives the same bits again, and with any number of threads. */
static int check_bits(const setting *t, const scene *s)
{
    if (!t->variant->deterministic) return 0;
    static const int threads[] = {1, 2, THREADS};
    const size_t bytes = 15 * (size_t)s->mesh.n_node * sizeof(double);
    double *first = all_outputs(t, s, 1);
    int bad = 0;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        double *again = all_outputs(t, s, threads[i]);
        if (memcmp(first, again, bytes)) {
            print_error("%s: %d threads give other bits than 1\n", s->name, threads[i]);
            bad++;
        }
        free(again);
    }
    free(first);
    return bad;
}

/* Agreement with the registry's first variant on the host. */
static int check_agreement(const setting *t, const scene *s)
{
    const setting first = {.assembly = fe_variant_at(0)->host, .backend = "host"};
    if (!first.assembly) return 0;
    const size_t n = 3 * (size_t)s->mesh.n_node;
    double *a = all_outputs(&first, s, 1), *b = all_outputs(t, s, 1);
    const int bad = compare("residual beside the first variant", s, n, b, a, s->r_scale, 1e-10) +
                    compare("jacvec beside the first variant", s, n, b + n, a + n, s->y_scale, 1e-10);
    free(a), free(b);
    return bad;
}

/* residual, jacvec and diagonal leave the states and the tangent alone. */
static int check_effects(const setting *t, const scene *s)
{
    bench b = bench_whole(s, t->assembly, t->backend, 1);
    double *out = new_vector(s, 9);
    int bad = 0;
    material(&b, FE_TANGENT_CONSISTENT, s->u);
    snapshot before = snapshot_take(&b);
    for (int operation = 0; operation < 3; operation++) {
        if (operation == 0) apply(&b, t->assembly->residual, s->v, out);
        if (operation == 1) apply(&b, t->assembly->jacvec, s->v, out);
        if (operation == 2) diagonal(&b, out);
        snapshot after = snapshot_take(&b);
        const int differs = snapshot_differs(&before, &after);
        if (differs) print_error("%s: operation %d touches arrays %d\n", s->name, operation, differs), bad++;
        snapshot_close(&after);
    }
    snapshot_close(&before);
    free(out);
    bench_close(&b);
    return bad;
}

/* --- mechanics -------------------------------------------------------------------------------------- */

/* sum over elements of sum over columns of |K_ij| |x_j|: what a row without force is measured against. */
static void stiffness_scale(const scene *s, const double *x, double *scale)
{
    const int n = 3 * s->oracle.n_corner;
    memset(scale, 0, 3 * (size_t)s->mesh.n_node * sizeof *scale);
    for (int e = 0; e < s->mesh.n_elem; e++) {
        double K[24][24];
        const int *corner = s->oracle.conn + (size_t)e * s->oracle.n_corner;
        oracle_stiffness(&s->oracle, e, s->C_elastic, K);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                scale[3 * corner[i / 3] + i % 3] += fabs(K[i][j] * x[3 * corner[j / 3] + j % 3]);
    }
}

/* A translation and an infinitesimal rotation give no K x, at any state. */
static int check_rigid(const setting *t, const scene *s)
{
    bench b = bench_whole(s, t->assembly, t->backend, 1);
    double *x = new_vector(s, 3), *y = new_vector(s, 3), *zero = zeros(3 * (size_t)s->mesh.n_node, 8),
           *scale = new_vector(s, 3);
    int bad = 0;
    material(&b, FE_TANGENT_CONSISTENT, s->u);
    for (int motion = 0; motion < 2; motion++) {
        for (int n = 0; n < s->mesh.n_node; n++) {
            const double *at = s->mesh.x + 3 * (size_t)n, axis[3] = {0.3, -0.5, 0.8};
            for (int i = 0; i < 3; i++) {
                const int j = (i + 1) % 3, k = (i + 2) % 3;
                x[3 * (size_t)n + i] = motion == 0 ? axis[i] : axis[j] * at[k] - axis[k] * at[j];
            }
        }
        stiffness_scale(s, x, scale);
        apply(&b, t->assembly->jacvec, x, y);
        bad += compare(motion ? "force of a rotation" : "force of a translation", s,
                       3 * (size_t)s->mesh.n_node, y, zero, scale, TOLERANCE);
    }
    free(x), free(y), free(zero), free(scale);
    bench_close(&b);
    return bad;
}

/* w · K v = v · K w */
static int check_symmetry(const setting *t, const scene *s)
{
    bench b = bench_whole(s, t->assembly, t->backend, 1);
    double *Kv = new_vector(s, 3), *Kw = new_vector(s, 3), wKv = 0, vKw = 0, scale = 0;
    material(&b, FE_TANGENT_CONSISTENT, s->u);
    apply(&b, t->assembly->jacvec, s->v, Kv);
    apply(&b, t->assembly->jacvec, s->w, Kw);
    for (size_t i = 0; i < 3 * (size_t)s->mesh.n_node; i++) {
        wKv += s->w[i] * Kv[i], vKw += s->v[i] * Kw[i];
        scale += fabs(s->w[i]) * s->y_scale[i];
    }
    free(Kv), free(Kw);
    bench_close(&b);
    if (fabs(wKv - vKw) <= TOLERANCE * scale) return 0;
    print_error("%s: w·Kv = %.17g, v·Kw = %.17g\n", s->name, wKv, vKw);
    return 1;
}

/* K v against (R(u + h v) - R(u - h v)) / 2h: h² and rounding over h leave 1e-7, far points do not switch. */
static int check_difference(const setting *t, const scene *s)
{
    const size_t n = 3 * (size_t)s->mesh.n_node;
    bench b = bench_whole(s, t->assembly, t->backend, 1);
    double *plus = new_vector(s, 3), *minus = new_vector(s, 3), *x = new_vector(s, 3), size = 0;
    for (size_t i = 0; i < n; i++) size = fmax(size, fabs(s->u[i]));
    const double h = 1e-5 * size;
    for (size_t i = 0; i < n; i++) x[i] = s->u[i] + h * s->v[i];
    apply(&b, t->assembly->residual, x, plus);
    for (size_t i = 0; i < n; i++) x[i] = s->u[i] - h * s->v[i];
    apply(&b, t->assembly->residual, x, minus);
    material(&b, FE_TANGENT_CONSISTENT, s->u);
    apply(&b, t->assembly->jacvec, s->v, x);
    for (size_t i = 0; i < n; i++) plus[i] = (plus[i] - minus[i]) / (2 * h);
    const int bad = compare("jacvec beside differences", s, n, x, plus, s->y_scale, 1e-7);
    free(plus), free(minus), free(x);
    bench_close(&b);
    return bad;
}

/* Plastic points end on q(D (eps - eps_p)) = sigma_y + H alpha, elastic ones below; alpha never falls. */
static int check_surface(const setting *t, const scene *s)
{
    bench b = bench_whole(s, t->assembly, t->backend, 1);
    const fe_view *v = &b.problem.view;
    const int n_point = s->oracle.n_point;
    int bad = 0;
    material(&b, FE_TANGENT_CONSISTENT, s->u);
    snapshot k = snapshot_take(&b);
    for (int e = 0; e < v->n_elem; e++) {
        for (int q = 0; q < n_point; q++) {
            const oracle_state *old = &s->committed[b.share.elem[e] * n_point + q];
            double stored[FE_STATE] = {0}, stress[6], start[6];
            for (int c = 0; c < FE_STATE && k.trial_flags[e] & FE_YIELDED; c++)
                stored[c] = k.trial[fe_point_index(s->kind, c, q, e)];
            const oracle_state state = {
                {stored[0], stored[1], -stored[0] - stored[1], stored[2], stored[3], stored[4]}, stored[5]};
            elastic_stress(s, b.share.elem[e], q, s->u, old, start);
            elastic_stress(s, b.share.elem[e], q, s->u, &state, stress);
            const double f = mises(stress) - s->material.sigma_y - s->material.H * state.alpha;
            const int plastic = state.alpha > old->alpha;
            if (state.alpha >= old->alpha && (plastic ? fabs(f) : f) <= TOLERANCE * mises(start)) continue;
            if (!bad++) print_error("%s: element %d, point %d: f = %.3e\n", s->name, b.share.elem[e], q, f);
        }
    }
    snapshot_close(&k);
    bench_close(&b);
    return bad;
}

/* A linear displacement from a virgin state strains all points alike, far into plasticity: no force at
 * inner nodes of a distorted mesh. */
static int check_patch(const setting *t, const scene *s)
{
    static const double gradient[3][3] = {{4, 1.6, -1.2}, {0.8, -2, 1}, {0.4, 1.4, 2.4}}; /* 1e-3 */
    scene patch = *s; /* shares the mesh and the oracle's arrays; the state is its own */
    patch.committed = zeros((size_t)s->mesh.n_elem * s->oracle.n_point, sizeof *patch.committed);
    const size_t n = 3 * (size_t)s->mesh.n_node;
    double *u = new_vector(s, 3), *r = new_vector(s, 3), *expected = new_vector(s, 3),
           *scale = new_vector(s, 3);
    for (int i = 0; i < s->mesh.n_node; i++)
        for (int c = 0; c < 3; c++) {
            const double *g = gradient[c], *x = s->mesh.x + 3 * (size_t)i;
            u[3 * (size_t)i + c] = 1e-3 * (g[0] * x[0] + g[1] * x[1] + g[2] * x[2]);
        }
    oracle_residual(&patch.oracle, &patch.material, patch.committed, u, expected, scale);
    /* inner nodes are on no face of a side group */
    for (size_t i = 0; i < n; i++) expected[i] = 0;
    for (int g = 0; g < s->mesh.n_group; g++) {
        const fe_group *group = &s->mesh.group[g];
        for (int f = 0; group->dim == 2 && f < 4 * group->n_facet; f++)
            for (int c = 0; group->facet[f] >= 0 && c < 3; c++)
                scale[3 * (size_t)group->facet[f] + c] = INFINITY;
    }
    bench b = bench_whole(&patch, t->assembly, t->backend, 1);
    apply(&b, t->assembly->residual, u, r);
    const int bad = compare("patch test", s, n, r, expected, scale, TOLERANCE);
    bench_close(&b);
    free(u), free(r), free(expected), free(scale), free(patch.committed);
    return bad;
}

/* The sides of the bracket are not all in groups: its patch test is left out. */
static int check_mechanics(const setting *t, const scene *s)
{
    return check_rigid(t, s) + check_symmetry(t, s) + check_difference(t, s) + check_surface(t, s) +
           (s->mesh.path && strstr(s->mesh.path, "bracket") ? 0 : check_patch(t, s));
}

/* --- the registry ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*check)(const setting *, const scene *);
} operations[] = {{"residual", check_residual},
                  {"material", check_material},
                  {"jacvec", check_jacvec},
                  {"jacvec_elastic", check_elastic},
                  {"diagonal", check_diagonal},
                  {"ranks", check_ranks},
                  {"bits", check_bits},
                  {"agreement", check_agreement},
                  {"side_effects", check_effects},
                  {"mechanics", check_mechanics}};
enum { N_OPERATION = sizeof operations / sizeof *operations };

static void test_setting(void **state)
{
    const setting *t = *state;
    if (t->why) {
        print_message("skipped: %s: %s\n", t->name, t->why);
        skip();
    }
    int bad = 0;
    for (int shape = 0; shape < N_SHAPE; shape++) bad += t->check(t, &scenes[shape][t->kind]);
    assert_int_equal(bad, 0);
}

/* Plastic, elastic and virgin elements are all there; the margin holds. */
static void test_scenes(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPE * FE_N_KIND; i++) {
        const scene *s = &scenes[i / FE_N_KIND][i % FE_N_KIND];
        const int n = s->mesh.n_elem * s->oracle.n_point;
        int plastic = 0, virgin = 0, close = 0;
        for (int p = 0; p < n; p++) {
            plastic += s->trial[p].alpha > s->committed[p].alpha;
            virgin += s->committed[p].alpha == 0;
            close += fabs(yield_excess(s, p / s->oracle.n_point, p % s->oracle.n_point)) < MARGIN;
        }
        assert_true(plastic > 0.2 * n && plastic < 0.9 * n);
        assert_true(virgin > 0.05 * n && virgin < 0.7 * n);
        assert_int_equal(close, 0);
    }
}

static int scenes_open(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPE * FE_N_KIND; i++)
        scene_open(&scenes[i / FE_N_KIND][i % FE_N_KIND], i / FE_N_KIND, i % FE_N_KIND);
    return 0;
}

static int scenes_close(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPE * FE_N_KIND; i++) scene_close(&scenes[i / FE_N_KIND][i % FE_N_KIND]);
    return 0;
}

/* Adds the tests of one variant on one backend, or one that only says why there are none. */
static int add_settings(setting *t, const fe_variant *variant, const char *backend,
                        const fe_assembly *assembly, const char *why)
{
    if (why) {
        *t = (setting){.variant = variant, .backend = backend, .why = why};
        snprintf(t->name, sizeof t->name, "%s * %s", variant->name, backend);
        return 1;
    }
    for (int i = 0; i < FE_N_KIND * N_OPERATION; i++) {
        t[i] = (setting){.variant = variant,
                         .assembly = assembly,
                         .backend = backend,
                         .kind = i / N_OPERATION,
                         .check = operations[i % N_OPERATION].check};
        snprintf(t[i].name, sizeof t[i].name, "%s %s %s %s", variant->name, fe_kind_name(t[i].kind),
                 operations[i % N_OPERATION].name, backend);
    }
    return FE_N_KIND * N_OPERATION;
}

int main(int argc, char **argv)
{
    const int n_variant = fe_variant_count();
    const size_t most = (size_t)n_variant * 2 * FE_N_KIND * N_OPERATION + 1;
    setting *settings = calloc(most, sizeof *settings);
    struct CMUnitTest *tests = calloc(most, sizeof *tests);
    if (!settings || !tests) return 1;
    int n = 0;
    for (int i = 0; i < n_variant; i++) {
        const fe_variant *v = fe_variant_at(i);
        const char *no_cuda = !FE_HAVE_CUDA            ? "built without CUDA"
                              : !v->cuda               ? "it has no CUDA twin"
                              : fe_cuda_devices() <= 0 ? "no CUDA device found"
                                                       : NULL;
        n += add_settings(settings + n, v, "host", v->host, v->host ? NULL : "it has no host twin");
        n += add_settings(settings + n, v, "cuda", v->cuda, no_cuda);
    }
    tests[0] = (struct CMUnitTest){.name = "scenes", .test_func = test_scenes};
    for (int i = 0; i < n; i++)
        tests[i + 1] = (struct CMUnitTest){
            .name = settings[i].name, .test_func = test_setting, .initial_state = &settings[i]};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const int failed = _cmocka_run_group_tests("assembly", tests, (size_t)n + 1, scenes_open, scenes_close);
    free(tests);
    free(settings);
    return failed ? 1 : 0;
}
