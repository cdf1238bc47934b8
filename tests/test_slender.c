/* Slender bodies, whose stiffness is badly conditioned: what multigrid solves, what the sparse direct solver
 * takes over, and that solver by itself. A length of 150 cells made the cycle lose its positivity in single
 * precision. */
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/multigrid/elastic_rows.h"
#include "common/solver/sparse_lu.h"
#include "common/variant.h"
#include "tests/hierarchy.h"
#include "tests/result.h"

static void skip_without_solver(void)
{
    if (FE_HAVE_SUPERLU) return;
    print_message("skipped: sparse direct solver: built without SuperLU\n");
    skip();
}

/* --- the factors ------------------------------------------------------------------------------------- */

/* The matrix of a box clamped at x0, against LAPACK's solution of the same system; zeros at supports. */
static void factors_solve(int kind, double nu)
{
    const scene s = {.nu = nu};
    fe_mesh mesh = box(kind, 4, 3, 2, 4.0, 3.0, 2.0, 0.1);
    bench *t = bench_open_bare(&mesh, &s, "x0");
    fe_elastic_rows e = {0};
    fe_lu_size size;
    fe_lu *lu, *none;
    must(fe_elastic_rows_open(&t->problem, t->n_fixed, t->fixed, 1, &e));
    const int n = 3 * e.A.n_row;
    double *M = calloc((size_t)n * (size_t)n, sizeof *M), *b = calloc((size_t)n, sizeof *b),
           *x = calloc((size_t)n, sizeof *x), largest = 0.0;
    int *pivot = calloc((size_t)n, sizeof *pivot);
    assert_true(M && b && x && pivot);
    for (int i = 0; i < e.A.n_row; i++)
        for (int k = e.A.first[i]; k < e.A.first[i + 1]; k++)
            for (int c = 0; c < 9; c++)
                M[(size_t)(3 * i + c / 3) * (size_t)n + (size_t)(3 * e.A.column[k] + c % 3)] =
                    fe_sparse_block(&e.A, k)[c];
    for (int i = 0; i < n; i++) {
        if (e.fixed[i]) M[(size_t)i * (size_t)(n + 1)] = 1.0;
        x[i] = random_number((uint64_t)i);
        b[i] = e.fixed[i] ? 0.0 : x[i];
    }
    assert_int_equal(LAPACKE_dgesv(LAPACK_ROW_MAJOR, n, 1, M, n, pivot, b, 1), 0);
    must(fe_lu_open(&e.A, e.fixed, &size, &lu));
    assert_non_null(lu);
    assert_true(size.entries >= 2.0 * n && size.entries <= (double)n * n + n);
    must(fe_lu_solve(lu, x));
    fe_lu_most_flops = 0.99 * size.flops; /* too large now */
    must(fe_lu_open(&e.A, e.fixed, &size, &none));
    fe_lu_most_flops = 1e12;
    assert_null(none);
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(b[i]));
    for (int i = 0; i < n; i++) {
        if (e.fixed[i]) assert_true(x[i] == 0.0);
        if (!(fabs(x[i] - b[i]) <= 1e-10 * largest))
            fail_msg("unknown %d: %.12g, LAPACK %.12g", i, x[i], b[i]);
    }
    fe_lu_close(lu);
    fe_elastic_rows_close(&e);
    free(M), free(b), free(x), free(pivot);
    bench_close(t);
    fe_mesh_close(&mesh);
}

static void factors(void **state)
{
    (void)state;
    skip_without_solver();
    factors_solve(FE_HEX8, 0.3);
    factors_solve(FE_TET4, 0.49);
}

/* --- whole solves ------------------------------------------------------------------------------------ */

static const char problem[] =
    "{\"meshes\": [\"b.msh\"], \"elastic\": true, \"material\": {\"E\": 200000, \"nu\": 0.3},\n"
    " \"dirichlet\": [{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}],\n"
    " \"neumann\": [{\"group\": \"x1\", \"traction\": [0, 0, -1e-3]}], \"paths\": {\"load\": [1]}}\n";

/* The result of `solve` on a box, and what it said. */
static json_t *solve_box(const char *text, const char *box_options, const char *flags, char **said)
{
    char path[FOLDER_LENGTH + 16];
    snprintf(path, sizeof path, "%s/b.json", test_folder);
    write_file(path, "%s", text);
    free(read_success("%s/meshgen box %s -o %s/b.msh", build_folder(), box_options, test_folder));
    *said = read_success("%s/solve %s --result %s/r.json --threads 1 %s 2>&1", build_folder(), path,
                         test_folder, flags);
    snprintf(path, sizeof path, "%s/r.json", test_folder);
    return result_load_checked(path, "converged", 1);
}

static const char plate[] =
    "{\"meshes\": [\"b.msh\"], \"elastic\": true, \"material\": {\"E\": 200000, \"nu\": 0.3},\n"
    " \"dirichlet\": [{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}],\n"
    " \"neumann\": [{\"group\": \"z1\", \"traction\": [0, 0, -1e-6]}], \"paths\": {\"load\": [1]}}\n";

/* Runs `solve` on a bar; returns the largest displacement, *iterations of Krylov's method and what it said.
 */
static double run(const char *box_options, const char *flags, double *iterations, char **said)
{
    json_t *root = solve_box(problem, box_options, flags, said), *step = result_step(root, 0);
    const double u = result_number(step, "max_abs_u");
    *iterations = result_number(result_at(step, "newton"), "krylov_iterations");
    json_decref(root);
    return u;
}

/* Bars of cubes: with multigrid as many iterations as a short bar takes, on one rank and on several, and the
 * answer of the direct solver. */
static void bars(void **state)
{
    (void)state;
    skip_without("solve", "slender bars");
    const struct {
        const char *box;
        double length; /* over the thickness */
    } bar[] = {{"-e hex8 -c 150,1,1 -l 150,1,1", 150},
               {"-e hex8 -c 300,1,1 -l 300,1,1", 300},
               {"-e hex8 -c 300,2,2 -l 150,1,1", 150},
               {"-e tet4 -c 300,1,1 -l 300,1,1", 300}};
    for (size_t k = 0; k < sizeof bar / sizeof *bar; k++)
        for (int ranks = 1; ranks <= 4; ranks += 3) {
            char flags[64], *said, *direct;
            double iterations, few, exact = NAN;
            snprintf(flags, sizeof flags, "--precondition multigrid --ranks %d", ranks);
            const double u = run(bar[k].box, flags, &iterations, &said);
            if (iterations > 60 || strstr(said, "again with"))
                fail_msg("%s, %d ranks: %g iterations:\n%s", bar[k].box, ranks, iterations, said);
            if (FE_HAVE_SUPERLU) {
                snprintf(flags, sizeof flags, "--precondition direct --ranks %d", ranks);
                exact = run(bar[k].box, flags, &few, &direct);
                assert_true(few <= 10);
                free(direct);
                if (!(fabs(u - exact) <= 1e-6 * exact))
                    fail_msg("%s, %d ranks: %.9e, directly %.9e", bar[k].box, ranks, u, exact);
            }
            free(said);
        }
}

/* Whatever is solved with products in floats has the answer of doubles: a short bar with them to the end, the
 * plate after doubles took over, which is said, and bars in between as rounding will have it. */
static void floats_give_the_answer_of_doubles(void **state)
{
    (void)state;
    skip_without("solve", "products in floats");
    const struct {
        const char *text, *box, *flags, *products;
    } body[] = {{problem, "-e hex8 -c 8,8,8 -l 1,1,1", "", "mixed"},
                {problem, "-e tet4 -c 8,8,8 -l 1,1,1", "--ranks 3 --variant assembled_symmetric", "mixed"},
                {problem, "-e hex8 -c 300,2,2 -l 150,1,1", "", NULL},
                {problem, "-e hex8 -c 300,2,2 -l 150,1,1", "--ranks 3", NULL},
                {problem, "-e tet4 -c 150,1,1 -l 150,1,1", "--variant assembled_bsr", NULL},
                {plate, "-e hex8 -c 20,20,3 -l 1000,1000,1", "", "double"}};
    for (size_t k = 0; k < sizeof body / sizeof *body; k++) {
        char flags[96], *said[2];
        double u[2];
        const char *used = NULL;
        for (int mixed = 0; mixed < 2; mixed++) {
            snprintf(flags, sizeof flags, "--precondition multigrid --products %s %s",
                     mixed ? "mixed" : "double", body[k].flags);
            json_t *root = solve_box(body[k].text, body[k].box, flags, &said[mixed]);
            u[mixed] = result_number(result_step(root, 0), "max_abs_u");
            const char *now = json_string_value(result_at(result_at(root, "run"), "products"));
            used = !strcmp(now, "mixed") ? "mixed" : "double";
            json_decref(root);
        }
        result_near(body[k].box, u[1], u[0], 1e-6 * u[0]);
        if (body[k].products) assert_string_equal(used, body[k].products);
        assert_null(strstr(said[0], "make no progress"));
        assert_int_equal(strstr(said[1], "make no progress") != NULL, !strcmp(used, "double"));
        free(said[0]), free(said[1]);
    }
}

/* What has no products in floats is refused. */
static void floats_are_refused(void **state)
{
    (void)state;
    skip_without("solve", "products in floats");
    const struct {
        const char *flags, *said;
    } refused[] = {{"--variant assembled_csr", "--products mixed: the strategy assembled_csr"},
                   {"--jacobian difference", "--products mixed: --jacobian difference"},
                   {"--tet-points 4", "there is no mixed precision"}};
    char path[FOLDER_LENGTH + 16];
    snprintf(path, sizeof path, "%s/b.json", test_folder);
    write_file(path, "%s", problem);
    free(read_success("%s/meshgen box -e tet4 -c 2,1,1 -l 2,1,1 -o %s/b.msh", build_folder(), test_folder));
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        int code;
        char *said = read_command(&code, "%s/solve %s --threads 1 --products mixed %s 2>&1", build_folder(),
                                  path, refused[k].flags);
        assert_int_equal(code, 2);
        assert_holds(said, refused[k].said);
        free(said);
    }
}

/* A plate of 1000 : 1, of cells of 150 : 1: the cycle in floats is not positive, which is noticed. The one in
 * doubles takes over, or, where it is allowed too few iterations, the direct solver; and they say so. The
 * value: CalculiX 2.20 and a sparse direct solver of another code, -0.0077973. */
static void a_plate_is_solved(void **state)
{
    (void)state;
    skip_without("solve", "a thin plate");
    const struct {
        const char *flags, *said, *precondition;
    } way[] = {{"--precondition multigrid", "again with multigrid in double precision", "multigrid"},
               {"--precondition multigrid --ranks 3 --krylov-iterations 300",
                "again with a sparse direct solver", "direct"},
               {"--precondition none --krylov-iterations 20", "again with a sparse direct solver", "direct"},
               {"--precondition direct --krylov gmres", "SuperLU", "direct"}};
    for (int k = 0; k < (FE_HAVE_SUPERLU ? 4 : 1); k++) {
        char *said;
        json_t *root = solve_box(plate, "-c 20,20,3 -l 1000,1000,1", way[k].flags, &said);
        const double u = result_number(result_step(root, 0), "max_abs_u");
        const char *last = json_string_value(result_at(result_at(root, "run"), "precondition"));
        assert_string_equal(last, way[k].precondition);
        result_near("plate", u, 0.0077973, 2e-7);
        assert_holds(said, way[k].said);
        json_decref(root);
        free(said);
    }
    if (!FE_HAVE_SUPERLU) skip_without_solver();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(factors), cmocka_unit_test(bars),
                                       cmocka_unit_test(floats_give_the_answer_of_doubles),
                                       cmocka_unit_test(floats_are_refused),
                                       cmocka_unit_test(a_plate_is_solved)};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("slender", tests, folder_open, folder_close);
}
