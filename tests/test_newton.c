/* Newton's method takes no direction along which the energy rises, whatever a linear solve says: strategies
 * whose consistent tangent is wrong are found out, and the elastic Jacobian leads to the answer of the right
 * one. */
#include "common/solver/newton.h"
#include "tests/common.h"
#include "tests/draft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A strategy of the registry whose consistent products are multiplied by `factor`. */
static const fe_assembly *honest;
static double factor;

static fe_status wrong_jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    FE_TRY(honest->jacvec(p, work, part, direction, y));
    return part == FE_INTERIOR && !p->view.elastic
               ? p->device->ops->vector.scale(p->device, 3 * (size_t)p->view.n_owned, factor, y)
               : FE_OK;
}

/* One rank's solver of a clamped cube under shear, by GMRES with block-Jacobi: it finds the solution of
 * indefinite systems, too. */
typedef struct bench {
    draft draft;
    fe_mesh mesh;
    fe_boundary boundary;
    fe_options options;
    fe_assembly wrong;
    fe_partition partition;
    fe_share share;
    fe_team *team;
    fe_direct direct;
    fe_solver s;
} bench;

static bench *bench_open(void)
{
    bench *t = calloc(1, sizeof *t);
    assert_non_null(t);
    fe_solver *s = &t->s;
    t->mesh = make_box(FE_HEX8, (const int[]){2, 2, 2}, (const double[]){1, 1, 1}, 0.1, 3);
    open_draft(&t->draft);
    t->draft.material = (fe_material){.E = 200000, .nu = 0.3, .sigma_y = 250, .H = 100000};
    add_support(&t->draft, "x0", "0", "0", "0", 0);
    add_traction(&t->draft, "x1", 60, 0, 90, 0);
    must(fe_boundary_apply(&t->draft.c, &t->mesh, &t->boundary));
    t->options = fe_default_options();
    t->options.precondition = FE_PRECONDITION_BLOCK_JACOBI;
    must(fe_partition_mesh(&t->mesh, 1, FE_PARTITION_CONTIGUOUS, &t->partition));
    must(fe_share_build(&t->mesh, &t->partition, NULL, 0, &t->share));
    must(fe_team_open(1, &t->team));
    *s = (fe_solver){.options = &t->options,
                     .problem_file = &t->draft.c,
                     .boundary = &t->boundary,
                     .share = &t->share,
                     .preconditioner.direct = &t->direct,
                     .mesh_nodes = t->mesh.n_node,
                     .n = 3 * (size_t)t->share.n_owned,
                     .n_all = 3 * (size_t)t->share.n_local,
                     .progress.load_step = 1,
                     .progress.interval = INFINITY};
    must(fe_backend_host.open(0, 1, &s->device));
    s->comm = fe_comm_team(t->team, 0);
    must(s->comm->ops->attach(s->comm, s->device, FE_HALO_NODES, &t->share.halo));
    honest = fe_variant_find("corner_gather")->host;
    t->wrong = *honest;
    t->wrong.jacvec = wrong_jacvec;
    s->assembly = &t->wrong;
    must(fe_problem_open(&t->mesh, &t->share, FE_HEX8, &t->draft.material, s->device, &s->problem));
    must(fe_assembly_set_up(s->assembly, &s->problem, &s->work));
    must(fe_solver_open_vectors(s));
    must(fe_solver_boundary(s));
    must(fe_solver_open_preconditioner(s));
    must(fe_krylov_open(s->device, s->comm, s->n, s->n_all, 30, FE_ORTHOGONALIZATION_MGS, FE_BASIS_DOUBLE,
                        &s->krylov));
    return t;
}

static void bench_close(bench *t)
{
    fe_solver *s = &t->s;
    fe_krylov_close(&s->krylov);
    free(s->supports.by_path), free(s->supports.moving), free(s->accepted.factor), free(s->accepted.change);
    free(s->load), free(s->preconditioner.landing);
    fe_direct_close(&t->direct);
    fe_comm_close(s->comm);
    fe_team_close(t->team);
    s->device->ops->close(s->device);
    fe_share_close(&t->share);
    fe_partition_close(&t->partition);
    fe_boundary_close(&t->boundary);
    fe_mesh_close(&t->mesh);
    free(t);
}

/* The step, and the beginning of what it says. */
static fe_status listen(fe_solver *s, const double *to, fe_step_result *record, fe_ending *ending,
                        char said[512])
{
    FILE *heard = tmpfile();
    const int kept = dup(STDERR_FILENO);
    assert_true(heard && kept >= 0 && dup2(fileno(heard), STDERR_FILENO) >= 0);
    const fe_status status = fe_newton_step(s, to, record, ending);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(heard);
    said[fread(said, 1, 511, heard)] = 0;
    fclose(heard);
    return status;
}

/* One plastic increment; u [n] becomes its displacement. */
static fe_status solve(double with, double *u, fe_ending *ending, int *iterations, char said[512])
{
    bench *t = bench_open();
    fe_solver *s = &t->s;
    fe_step_result record = {.step = 1};
    const double to[2] = {2.2, 0};
    factor = with;
    const fe_status status = listen(s, to, &record, ending, said);
    must(s->device->ops->memory.download(s->device, s->n * sizeof *u, s->displacement, u));
    *iterations = record.newton_iterations;
    free(record.residual), free(record.taken);
    bench_close(t);
    return status;
}

enum { N = 81 }; /* 27 nodes */

/* -1: each solution is an ascent of the energy. The residual is left below 1e-9 of the force, and
 * displacements then agree to a few times that (H / E = 0.5); 1e-7 is granted. */
static void test_ascent(void **state)
{
    (void)state;
    double right[N], found[N], largest = 0;
    fe_ending ending;
    int few, many;
    char said[512];
    must(solve(1, right, &ending, &few, said));
    assert_string_equal(said, "");
    assert_int_equal(ending, FE_ENDING_NONE);
    assert_true(few >= 4); /* plastic */
    must(solve(-1, found, &ending, &many, said));
    assert_non_null(strstr(said, "the energy does not fall along the direction"));
    assert_non_null(strstr(said, "again with multigrid\n"));
    assert_int_equal(ending, FE_ENDING_NONE);
    assert_true(many > few);
    for (int i = 0; i < N; i++) largest = fmax(largest, fabs(right[i]));
    for (int i = 0; i < N; i++) assert_true(fabs(found[i] - right[i]) <= 1e-7 * largest);
}

/* A tangent that gives no number ends the linear solve at once; the elastic one goes on. */
static void test_not_finite(void **state)
{
    (void)state;
    double right[N], found[N], largest = 0;
    fe_ending ending;
    int iterations;
    char said[512];
    must(solve(1, right, &ending, &iterations, said));
    must(solve(NAN, found, &ending, &iterations, said));
    assert_non_null(strstr(said, "a number is not finite"));
    for (int i = 0; i < N; i++) largest = fmax(largest, fabs(right[i]));
    for (int i = 0; i < N; i++) assert_true(fabs(found[i] - right[i]) <= 1e-7 * largest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ascent), cmocka_unit_test(test_not_finite)};
    return cmocka_run_group_tests_name("newton", tests, NULL, NULL);
}
