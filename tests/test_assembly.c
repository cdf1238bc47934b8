/* Every variant, element kind, operation, backend and precision against the oracle, which is in double
 * precision: the error of an entry may be 1e-12 of the sum of the absolute values of its terms, 2e-5
 * in mixed and 5e-5 in single precision. */
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/device.h"
#include "common/problem/apply.h"
#include "have/metis.h"
#include "tests/common.h"
#include "tests/rig.h"

static scene scenes[N_SHAPE][FE_N_KIND];

/* Floats are rounded by 6e-8. On distorted elements det J loses a digit, and a plastic tangent, the small
 * difference of two large terms, another one. In single precision coordinates and input
 * are rounded, too. */
static double tolerance_of(const setting *t)
{
    const int precision = t->assembly->precision;
    return precision == FE_DOUBLE ? TOLERANCE : precision == FE_MIXED ? 2e-5 : 5e-5;
}

/* --- operations against the oracle ----------------------------------------------------------------- */

static int check_residual(const setting *t, const scene *s)
{
    rig b = rig_whole(s, t->assembly, t->backend, THREADS);
    double *r = new_vector(s, 3);
    rig_apply(&b, t->assembly->residual, s->u, r);
    const int bad = compare("residual", s, 3 * (size_t)s->mesh.n_node, r, s->r, s->r_scale, tolerance_of(t));
    free(r);
    rig_close(&b);
    return bad;
}

/* K v after the given modes of material, one after the other. */
static int check_product(const setting *t, const scene *s, int n_mode, const char *what,
                         const double *expected, const double *scale)
{
    static const fe_linearization modes[] = {FE_LINEARIZATION_CONSISTENT, FE_LINEARIZATION_ELASTIC};
    rig b = rig_whole(s, t->assembly, t->backend, THREADS);
    double *y = new_vector(s, 3);
    for (int i = 0; i < n_mode; i++) rig_material(&b, modes[i], s->u);
    rig_apply(&b, t->assembly->jacvec, s->v, y);
    const int bad = compare(what, s, 3 * (size_t)s->mesh.n_node, y, expected, scale, tolerance_of(t));
    free(y);
    rig_close(&b);
    return bad;
}

static int check_jacvec(const setting *t, const scene *s)
{
    return check_product(t, s, 1, "jacvec", s->y, s->y_scale);
}

/* What the consistent mode leaves must not be used. */
static int check_elastic(const setting *t, const scene *s)
{
    return check_product(t, s, 2, "elastic jacvec", s->l, s->l_scale);
}

/* K v from 21 numbers a point. */
static int check_full(const setting *t, const scene *s)
{
    if (s->n_material > 1) return 0; /* kernels refuses it */
    rig b = rig_whole(s, t->assembly, t->backend, THREADS);
    double *y = new_vector(s, 3);
    const size_t n = FE_N_FULL * (size_t)fe_points(t->kind) * (size_t)b.problem.view.ld;
    assert_int_equal(
        fe_device_allocate(b.device, n, sizeof(double), "full tangents", (void **)&b.problem.view.full),
        FE_OK);
    rig_material(&b, FE_LINEARIZATION_CONSISTENT, s->u);
    rig_apply(&b, t->assembly->jacvec, s->v, y);
    const int bad =
        compare("full jacvec", s, 3 * (size_t)s->mesh.n_node, y, s->y, s->y_scale, tolerance_of(t));
    free(y);
    rig_close(&b);
    return bad;
}

static int check_diagonal(const setting *t, const scene *s)
{
    rig b = rig_whole(s, t->assembly, t->backend, THREADS);
    double *d = new_vector(s, 9);
    rig_material(&b, FE_LINEARIZATION_CONSISTENT, s->u);
    rig_diagonal(&b, d);
    const int bad = compare("diagonal", s, 9 * (size_t)s->mesh.n_node, d, s->d, s->d_scale, tolerance_of(t));
    free(d);
    rig_close(&b);
    return bad;
}

/* Trial state, flags and tangent of one element; returns the number of failures. */
static int compare_element(const rig *b, const snapshot *k, int e, fe_linearization mode)
{
    const scene *s = b->scene;
    const oracle_material *m = material_at(s, b->share.elem[e]);
    const int n_point = s->oracle.n_point, first = b->share.elem[e] * n_point;
    int bad = 0, yielded = 0, softened = 0;
    for (int q = 0; q < n_point; q++) {
        yielded |= s->trial[first + q].alpha > 0;
        softened |= s->trial[first + q].alpha > s->committed[first + q].alpha;
    }
    if (mode == FE_LINEARIZATION_ELASTIC) softened = 0;
    const int flags = (yielded ? FE_YIELDED : 0) | (softened ? FE_SOFTENED : 0);
    bad += k->trial_flags[e] != flags;
    for (int q = 0; q < n_point; q++) {
        double trial[FE_N_STATE] = {0}, tangent[FE_N_TANGENT], C[6][6], state_scale = 1e-6, scale = 0;
        for (int c = 0; c < 6; c++) {
            const size_t at = fe_point_index(b->problem.kind, c, q, e);
            if (k->trial_flags[e] & FE_YIELDED) trial[c] = k->trial[at];
            tangent[c] = k->tangent[at];
        }
        const oracle_state *wanted = &s->trial[first + q];
        double(*C_wanted)[6] = mode == FE_LINEARIZATION_ELASTIC ? s->C_elastic[first + q] : s->C[first + q];
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
        expand_tangent(m->E / (3 * (1 - 2 * m->nu)), m->E / (2 * (1 + m->nu)),
                       k->trial_flags[e] & FE_SOFTENED ? tangent : NULL, C);
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) bad += !(fabs(C[i][j] - C_wanted[i][j]) <= TOLERANCE * scale);
    }
    return bad;
}

static int check_material_mode(const setting *t, const scene *s, fe_linearization mode)
{
    rig b = rig_whole(s, t->assembly, t->backend, THREADS);
    snapshot before = snapshot_take(&b);
    rig_material(&b, mode, s->u);
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
    rig_close(&b);
    return bad + elements;
}

static int check_material(const setting *t, const scene *s)
{
    return check_material_mode(t, s, FE_LINEARIZATION_CONSISTENT) +
           check_material_mode(t, s, FE_LINEARIZATION_ELASTIC);
}

/* --- ranks, bits, side effects ---------------------------------------------------------------------- */

/* The rows that ranks own are those of the whole mesh. */
static int check_partition(const setting *t, const scene *s, int n_rank, int method)
{
    double *r = new_vector(s, 3), *y = new_vector(s, 3), *d = new_vector(s, 9);
    const size_t n = 3 * (size_t)s->mesh.n_node;
    int bad = 0;
    for (int rank = 0; rank < n_rank; rank++) {
        rig b = rig_open(s, t->assembly, t->backend, 1, n_rank, rank, method);
        rig_apply(&b, t->assembly->residual, s->u, r);
        rig_material(&b, FE_LINEARIZATION_CONSISTENT, s->u);
        rig_apply(&b, t->assembly->jacvec, s->v, y);
        rig_diagonal(&b, d);
        if (b.share.n_elem_interior == b.share.n_elem) {
            print_error("%s: %d ranks, rank %d has no border\n", s->name, n_rank, rank);
            bad++;
        }
        rig_close(&b);
    }
    char what[64];
    snprintf(what, sizeof what, "residual of %d ranks (partition %d)", n_rank, method);
    bad += compare(what, s, n, r, s->r, s->r_scale, tolerance_of(t));
    snprintf(what, sizeof what, "jacvec of %d ranks (partition %d)", n_rank, method);
    bad += compare(what, s, n, y, s->y, s->y_scale, tolerance_of(t));
    snprintf(what, sizeof what, "diagonal of %d ranks (partition %d)", n_rank, method);
    bad += compare(what, s, 3 * n, d, s->d, s->d_scale, tolerance_of(t));
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
    rig b = rig_open(s, t->assembly, t->backend, threads, 1, 0, FE_PARTITION_CONTIGUOUS);
    const size_t n = 3 * (size_t)s->mesh.n_node;
    double *all = new_vector(s, 15);
    rig_apply(&b, t->assembly->residual, s->u, all);
    rig_material(&b, FE_LINEARIZATION_CONSISTENT, s->u);
    rig_apply(&b, t->assembly->jacvec, s->v, all + n);
    rig_diagonal(&b, all + 2 * n);
    rig_close(&b);
    return all;
}

/* A strategy that promises to be deterministic gives the same bits in every run and with any number of
 * threads. */
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
    const setting first = {.assembly = fe_variant_at(0)->host, .backend = "host", .kind = t->kind};
    if (!first.assembly) return 0;
    const size_t n = 3 * (size_t)s->mesh.n_node;
    double *a = all_outputs(&first, s, 1), *b = all_outputs(t, s, 1);
    const double tolerance = fmax(1e-10, tolerance_of(t));
    const int bad = compare("residual beside the first variant", s, n, b, a, s->r_scale, tolerance) +
                    compare("jacvec beside the first variant", s, n, b + n, a + n, s->y_scale, tolerance);
    free(a), free(b);
    return bad;
}

/* residual, jacvec and diagonal leave the states and the tangent alone. */
static int check_effects(const setting *t, const scene *s)
{
    rig b = rig_whole(s, t->assembly, t->backend, 1);
    double *out = new_vector(s, 9);
    int bad = 0;
    rig_material(&b, FE_LINEARIZATION_CONSISTENT, s->u);
    snapshot before = snapshot_take(&b);
    for (int operation = 0; operation < 3; operation++) {
        if (operation == 0) rig_apply(&b, t->assembly->residual, s->v, out);
        if (operation == 1) rig_apply(&b, t->assembly->jacvec, s->v, out);
        if (operation == 2) rig_diagonal(&b, out);
        snapshot after = snapshot_take(&b);
        const int differs = snapshot_differs(&before, &after);
        if (differs) print_error("%s: operation %d touches arrays %d\n", s->name, operation, differs), bad++;
        snapshot_close(&after);
    }
    snapshot_close(&before);
    free(out);
    rig_close(&b);
    return bad;
}

/* --- mixed and single precision -------------------------------------------------------------------- */

/* K v of a mesh far from the origin: its elements are the same. In mixed precision v may be far from zero,
 * too. */
static int check_far(const setting *t, const scene *s)
{
    const size_t n = 3 * (size_t)s->mesh.n_node;
    double *x = new_vector(s, 3), *v = new_vector(s, 3), *y = new_vector(s, 3);
    const double far = 1e4, shift = t->assembly->precision == FE_MIXED ? 1e4 : 0.0;
    for (size_t i = 0; i < n; i++) x[i] = s->mesh.x[i] + far, v[i] = s->v[i] + shift;
    scene there = *s;
    there.mesh.x = x;
    rig b = rig_whole(&there, t->assembly, t->backend, THREADS);
    rig_material(&b, FE_LINEARIZATION_CONSISTENT, s->u);
    rig_apply(&b, t->assembly->jacvec, v, y);
    const int bad = compare("jacvec far from the origin", s, n, y, s->y, s->y_scale, tolerance_of(t));
    rig_close(&b);
    free(x), free(v), free(y);
    return bad;
}

/* K v from the table in single precision as multigrid sets it up, which quadratic elements have alone. */
static int check_elastic_alone(const setting *t, const scene *s)
{
    const int cuda = !strcmp(t->backend, "cuda");
    rig b = rig_whole(s, fe_variant_table(t->variant, cuda, FE_DOUBLE), t->backend, THREADS);
    double *y = new_vector(s, 3);
    rig_material(&b, FE_LINEARIZATION_ELASTIC, s->u);
    void *in_double = b.work;
    b.assembly = t->assembly;
    must(fe_assembly_set_up_elastic(t->assembly, &b.problem, in_double, &b.work));
    rig_apply(&b, t->assembly->jacvec, s->v, y);
    const int bad =
        compare("elastic jacvec alone", s, 3 * (size_t)s->mesh.n_node, y, s->l, s->l_scale, tolerance_of(t));
    free(y);
    rig_close(&b);
    return bad;
}

/* A problem without states and set-up, if it is not refused. */
static fe_status open_problem(const setting *t, const scene *s, rig *b)
{
    fe_material material[MATERIALS];
    const fe_materials materials = materials_of(s, material);
    const fe_backend *ops;
    *b = (rig){0};
    must(fe_backend_find(t->backend, &ops));
    must(ops->open(0, 1, &b->device));
    must(fe_partition_mesh(&s->mesh, 1, FE_PARTITION_CONTIGUOUS, &b->partition));
    must(fe_share_build(&s->mesh, &b->partition, NULL, 0, &b->share));
    return fe_problem_open_materials(&s->mesh, &b->share, s->kind, &materials, b->device, &b->problem);
}

/* An element kind without this precision is refused, and a quadratic one by strategies of linear ones. */
static int check_refusal(const setting *t, const scene *s)
{
    rig b;
    must(open_problem(t, s, &b));
    const fe_status status = fe_assembly_set_up(t->assembly, &b.problem, &b.work);
    const int bad =
        status != FE_BAD_INPUT || !strstr(fe_message(), fe_precision_has(t->assembly->precision, t->kind)
                                                            ? "does not compute quadratic elements"
                                                            : "only of tet4 and hex8");
    if (bad) print_error("%s: set-up is not refused: %s\n", s->name, fe_message());
    rig_close(&b);
    return bad;
}

/* Kinds without several materials refuse the problem. */
static int check_several_refused(const setting *t, const scene *s)
{
    rig b;
    const fe_status status = open_problem(t, s, &b);
    const int bad =
        status != FE_BAD_INPUT ||
        !strstr(fe_message(), s->material[1].delta > 0 ? "Voce's law" : "several materials: not of");
    if (bad) print_error("%s: several materials are not refused: %s\n", s->name, fe_message());
    rig_close(&b);
    return bad;
}

/* Kinds without Voce's law refuse the problem, floats the residual. */
static int check_law_refused(const setting *t, const scene *s)
{
    rig b;
    fe_status status = open_problem(t, s, &b);
    if (status == FE_OK) {
        must(fe_assembly_set_up(t->assembly, &b.problem, &b.work));
        must(fe_device_vector(b.device, 3 * b.share.n_local, "test", &b.in));
        must(fe_device_vector(b.device, 3 * b.share.n_local, "test", &b.out));
        status = t->assembly->residual(&b.problem, b.work, FE_INTERIOR, b.in, b.out);
    }
    const int bad = status != FE_BAD_INPUT || !strstr(fe_message(), "Voce's law");
    if (bad) print_error("%s: Voce's law is not refused: %s\n", s->name, fe_message());
    rig_close(&b);
    return bad;
}

/* --- the registry ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*check)(const setting *, const scene *);
} operations[] = {{"residual", check_residual},   {"material", check_material},
                  {"jacvec", check_jacvec},       {"jacvec_elastic", check_elastic},
                  {"jacvec_full", check_full},    {"diagonal", check_diagonal},
                  {"ranks", check_ranks},         {"bits", check_bits},
                  {"agreement", check_agreement}, {"side_effects", check_effects},
                  {"mechanics", check_mechanics}};
enum { N_OPERATION = sizeof operations / sizeof *operations };
/* Of mixed and single precision; the material update is that of double precision. */
static const struct {
    const char *name;
    int (*check)(const setting *, const scene *);
} rounded[] = {
    {"residual", check_residual}, {"jacvec", check_jacvec},        {"jacvec_elastic", check_elastic},
    {"diagonal", check_diagonal}, {"ranks", check_ranks},          {"bits", check_bits},
    {"far", check_far},           {"side_effects", check_effects}, {"elastic_alone", check_elastic_alone}};
enum { N_ROUNDED = sizeof rounded / sizeof *rounded };

/* Products and diagonals in floats read the tangents of Voce's law as all others. */
static int reads_tangents(const setting *t)
{
    return fe_voce_has(FE_DOUBLE, t->kind) &&
           (t->check == check_jacvec || t->check == check_elastic || t->check == check_elastic_alone ||
            t->check == check_full || t->check == check_diagonal);
}

static void test_setting(void **state)
{
    const setting *t = *state;
    skip_if(t->why, t->name);
    int bad = 0;
    for (int shape = 0; shape < N_SHAPE; shape++) {
        const scene *s = &scenes[shape][t->kind];
        if (s->n_material > 1 && !fe_several_has(t->kind)) {
            if (t->check == check_residual) bad += check_several_refused(t, s);
            continue;
        }
        const int linear = shape != SHAPE_VOCE && shape != SHAPE_LAWS;
        if (linear || fe_voce_has(t->assembly->precision, t->kind) || reads_tangents(t))
            bad += t->check(t, s);
        else if (t->check == check_residual)
            bad += check_law_refused(t, s);
    }
    assert_int_equal(bad, 0);
}

/* There are plastic, elastic and virgin elements; the margin is kept. */
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
    for (int i = 0; i < N_SHAPE * FE_N_KIND; i++) {
        scene *s = &scenes[i / FE_N_KIND][i % FE_N_KIND];
        scene_open(s, i / FE_N_KIND, i % FE_N_KIND);
        prepare_mechanics(s);
    }
    return 0;
}

static int scenes_close(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPE * FE_N_KIND; i++) scene_close(&scenes[i / FE_N_KIND][i % FE_N_KIND]);
    return 0;
}

/* Whether the table computes a kind. */
static int computes(const fe_assembly *a, int kind)
{
    return fe_precision_has(a->precision, kind) && (a->quadratic || !fe_is_quadratic(kind));
}
/* Whether it has elastic products that fe_assembly_set_up_elastic makes ready. */
static int has_elastic(const fe_assembly *a, int kind)
{
    return a->precision == FE_SINGLE && (fe_is_quadratic(kind) ? a->quadratic : computes(a, kind));
}

/* Adds the tests of one variant on one backend, or one test that only says why there are none. */
static int add_settings(setting *t, const fe_variant *variant, const char *backend,
                        const fe_assembly *assembly, const char *why)
{
    if (why) {
        *t = (setting){.variant = variant, .backend = backend, .why = why};
        snprintf(t->name, sizeof t->name, "%s * %s", variant->name, backend);
        return 1;
    }
    int n = 0;
    for (int i = 0; i < FE_N_KIND * N_OPERATION; i++) {
        const int kind = i / N_OPERATION, has = computes(assembly, kind);
        if (operations[i % N_OPERATION].check == check_full && !fe_full_has(FE_DOUBLE, kind)) continue;
        if (!has && i % N_OPERATION) continue;
        t[n] = (setting){.variant = variant,
                         .assembly = assembly,
                         .backend = backend,
                         .kind = kind,
                         .check = has ? operations[i % N_OPERATION].check : check_refusal};
        snprintf(t[n].name, sizeof t[n].name, "%s %s %s %s", variant->name, fe_kind_name(kind),
                 has ? operations[i % N_OPERATION].name : "is_refused", backend);
        n++;
    }
    return n;
}

/* The same of its table in mixed or single precision, if there is one. */
static int add_rounded(setting *t, const fe_variant *variant, const char *backend, int precision)
{
    const fe_assembly *assembly = fe_variant_table(variant, !strcmp(backend, "cuda"), precision);
    int n = 0;
    if (!assembly || variant_missing(variant, backend)) return 0;
    for (int kind = 0; kind < FE_N_KIND; kind++)
        for (int i = 0; i < N_ROUNDED; i++) {
            /* by the set-up of all operations, or of elastic products */
            const int alone = rounded[i].check == check_elastic_alone,
                      has = alone ? has_elastic(assembly, kind) : computes(assembly, kind);
            if (!has && i) continue;
            t[n] = (setting){.variant = variant,
                             .assembly = assembly,
                             .backend = backend,
                             .kind = kind,
                             .check = has ? rounded[i].check : check_refusal};
            snprintf(t[n].name, sizeof t[n].name, "%s %s %s %s %s", variant->name, fe_kind_name(kind),
                     fe_precision_name(precision), has ? rounded[i].name : "is_refused", backend);
            n++;
        }
    return n;
}

int main(int argc, char **argv)
{
    const int n_variant = fe_variant_count();
    const size_t most = (size_t)n_variant * 2 * FE_N_KIND * (N_OPERATION + 2 * N_ROUNDED) + 1;
    setting *settings = calloc(most, sizeof *settings);
    struct CMUnitTest *tests = calloc(most, sizeof *tests);
    if (!settings || !tests) return 1;
    int n = 0;
    for (int i = 0; i < n_variant; i++) {
        const fe_variant *v = fe_variant_at(i);
        n += add_settings(settings + n, v, "host", v->host, variant_missing(v, "host"));
        n += add_settings(settings + n, v, "cuda", v->cuda, variant_missing(v, "cuda"));
        for (int precision = FE_MIXED; precision < FE_N_PRECISION; precision++) {
            n += add_rounded(settings + n, v, "host", precision);
            n += add_rounded(settings + n, v, "cuda", precision);
        }
    }
    tests[0] = (struct CMUnitTest){.name = "scenes", .test_func = test_scenes};
    for (int i = 0; i < n; i++)
        tests[i + 1] = (struct CMUnitTest){
            .name = settings[i].name, .test_func = test_setting, .initial_state = &settings[i]};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    int i = 0; /* cmocka passes where a filter matches nothing */
    while (argc > 1 && i <= n && fnmatch(argv[1], tests[i].name, 0)) i++;
    if (i > n) {
        fprintf(stderr, "test_assembly: no test matches \"%s\"\n", argv[1]);
        return 2;
    }
    const int failed = _cmocka_run_group_tests("assembly", tests, (size_t)n + 1, scenes_open, scenes_close);
    free(tests);
    free(settings);
    return failed ? 1 : 0;
}
