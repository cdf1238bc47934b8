/* What `solve` leaves for its user besides the result: reactions, fields of elements and nodes, the curve,
 * and what it prints at the end. */
#include "common/solver/run.h"
#include "tests/child.h"
#include "tests/common.h"
#include "tests/draft.h"
#include "tests/fields.h"
#include "tests/result.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- reactions and fields --------------------------------------------------------------------------------
 */

/* A plastic block on two supports that share an edge, loaded on a side that meets a support, too. */
typedef struct block {
    draft draft;
    fe_mesh mesh;
    fe_boundary boundary;
    fe_result result;
    fe_fields fields; /* of the last step; the arrays are memory [n] */
    double *memory[11];
} block;

static const double *keep(block *b, int k, size_t n, const double *values)
{
    free(b->memory[k]);
    b->memory[k] = malloc(n * sizeof *values);
    assert_non_null(b->memory[k]);
    return memcpy(b->memory[k], values, n * sizeof *values);
}

static fe_status keep_fields(void *context, const fe_step_result *step, const fe_fields *f)
{
    block *b = context;
    const size_t n = (size_t)b->mesh.n_node, e = (size_t)b->mesh.n_elem;
    if (!step) return FE_OK;
    b->fields = (fe_fields){.n_point = f->n_point,
                            .displacement = keep(b, 0, 3 * n, f->displacement),
                            .reaction_force = keep(b, 1, 3 * n, f->reaction_force),
                            .nodal_stress = keep(b, 2, 6 * n, f->nodal_stress),
                            .stress = keep(b, 3, 6 * e, f->stress),
                            .plastic_strain = keep(b, 4, 6 * e, f->plastic_strain),
                            .strain = keep(b, 5, 6 * e, f->strain),
                            .von_mises = keep(b, 6, e, f->von_mises),
                            .von_mises_max = keep(b, 7, e, f->von_mises_max),
                            .peeq = keep(b, 8, e, f->peeq),
                            .peeq_max = keep(b, 9, e, f->peeq_max),
                            .point_stress = keep(b, 10, 6 * (size_t)f->n_point * e, f->point_stress)};
    return FE_OK;
}

static void solve_observed(int kind, int ranks, const fe_observer *observer, block *b)
{
    fe_options o = fe_default_options();
    static double factors[] = {0.5, 1};
    o.ranks = ranks, o.threads = 1;
    *b = (block){0};
    b->mesh = make_box(kind, (const int[]){4, 3, 3}, (const double[]){2, 1, 1}, 0.2, 5);
    open_draft(&b->draft);
    *b->draft.c.material = (fe_material){.E = 200000, .nu = 0.3, .sigma_y = 250, .H = 20000};
    b->draft.path[0].factor = b->draft.path[1].factor = factors;
    add_support(&b->draft, "x0", "0", "0", "0", 0);
    add_support(&b->draft, "z0", NULL, NULL, "1e-4*x", 0);
    add_traction(&b->draft, "x1", 60, 0, 90, 0);
    add_pressure(&b->draft, "y1", 150);
    must(fe_boundary_apply(&b->draft.c, &b->mesh, &b->boundary));
    must(fe_run_case(&b->draft.c, &b->mesh, &b->boundary, &o, observer, &b->result));
    assert_true(b->result.step[1].plastic_gp > 0);
}

static void solve_block(int kind, int ranks, block *b)
{
    const fe_observer observer = {
        .context = b, .wants_fields = FE_FIELDS_ALL, .step = keep_fields, .stress = FE_STRESS_OF_POINTS};
    solve_observed(kind, ranks, &observer, b);
}

static void close_block(block *b)
{
    for (int k = 0; k < 11; k++) free(b->memory[k]);
    fe_result_close(&b->result);
    fe_boundary_close(&b->boundary);
    fe_mesh_close(&b->mesh);
}

static void each_block(void (*check)(const block *b))
{
    for (int k = 0; k < 4; k++) {
        block b;
        solve_block(k % 2 ? FE_TET4 : FE_HEX8, k < 2 ? 1 : 3, &b);
        check(&b);
        close_block(&b);
    }
}

static fe_status keep_displacement(void *context, const fe_step_result *step, const fe_fields *f)
{
    block *b = context;
    if (!step) return FE_OK;
    assert_null(f->reaction_force), assert_null(f->stress), assert_null(f->peeq), assert_null(f->rank);
    b->fields.displacement = keep(b, 0, 3 * (size_t)b->mesh.n_node, f->displacement);
    return FE_OK;
}

/* Who asks for displacements alone gets them, the same ones. */
static void displacements_come_alone(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 3; ranks += 2) {
        block all, alone;
        const fe_observer observer = {
            .context = &alone, .wants_fields = FE_FIELDS_DISPLACEMENT, .step = keep_displacement};
        solve_block(FE_TET4, ranks, &all);
        solve_observed(FE_TET4, ranks, &observer, &alone);
        assert_memory_equal(alone.fields.displacement, all.fields.displacement,
                            3 * (size_t)all.mesh.n_node * sizeof(double));
        close_block(&all), close_block(&alone);
    }
}

/* Forces of supports stand at supports only, carry what is applied, on loaded supports too, and are what the
 * sums over groups are made of. Bound: Newton's tolerance, times the root of the number of components. */
static void check_reactions(const block *b)
{
    const fe_step_result *step = &b->result.step[1];
    const double *force = b->fields.reaction_force, *load = b->boundary.load[0], factor = step->factor[0];
    double sum[3] = {0}, applied[3], size = 0, on_supports = 0;
    for (int i = 0, f = 0; i < 3 * b->mesh.n_node; i++) {
        const int fixed = f < b->boundary.n_fixed && b->boundary.fixed[f] == i;
        f += fixed;
        if (!fixed && force[i] != 0)
            fail_msg("component %d has no support, but a reaction of %g", i, force[i]);
        if (fixed) on_supports += fabs(load[i]);
        sum[i % 3] += force[i];
        size += force[i] * force[i] + factor * factor * load[i] * load[i];
    }
    assert_true(on_supports > 1);
    fe_result_applied(&b->result, step, applied);
    const double bound = 1e-9 * sqrt(size * 3 * b->mesh.n_node);
    for (int i = 0; i < 3; i++) {
        result_near("sum of reactions and loads", sum[i] + applied[i], 0, bound);
        result_near("sum of reactions", step->total_reaction[i], sum[i], 1e-12 * sqrt(size));
    }
    result_near("load in y", applied[1], -150 * 2 * factor, 1); /* the side is 2 × 1, distorted inside only */
    for (int k = 0; k < b->boundary.n_reaction; k++) {
        const fe_reaction *r = &b->boundary.reaction[k];
        double of_group = 0;
        for (int n = 0; n < r->n; n++) of_group += force[3 * r->node[n] + r->component];
        result_near("reaction of a group", step->reaction[k], of_group, 1e-12 * sqrt(size));
    }
}

static void reactions_are_forces_of_supports(void **state)
{
    (void)state;
    each_block(check_reactions);
}

static double mises_of(const double *s)
{
    const double a = s[0] - s[1], b = s[1] - s[2], c = s[2] - s[0];
    return sqrt(0.5 * (a * a + b * b + c * c) + 3 * (s[3] * s[3] + s[4] * s[4] + s[5] * s[5]));
}

/* Hooke's law joins stress, strain and plastic strain; means and maxima are those of the points. */
static void check_elements(const block *b)
{
    const fe_material *m = b->draft.c.material;
    const double shear = m->E / (2 * (1 + m->nu)), lame = 2 * shear * m->nu / (1 - 2 * m->nu);
    const fe_fields *f = &b->fields;
    double largest = 0, apart = 0;
    for (int e = 0; e < b->mesh.n_elem; e++) {
        double mean[6] = {0}, most = 0;
        const double *strain = f->strain + 6 * e, trace = strain[0] + strain[1] + strain[2];
        for (int q = 0; q < f->n_point; q++) {
            const double *stress = f->point_stress + 6 * (e * f->n_point + q);
            for (int i = 0; i < 6; i++) mean[i] += stress[i] / f->n_point;
            most = fmax(most, mises_of(stress));
        }
        for (int i = 0; i < 6; i++) {
            const double elastic = strain[i] - f->plastic_strain[6 * e + i];
            result_near("stress by Hooke's law", f->stress[6 * e + i],
                        2 * shear * elastic + (i < 3 ? lame * trace : 0), 1e-10 * m->sigma_y);
            result_near("mean of the points' stresses", f->stress[6 * e + i], mean[i], 1e-10 * m->sigma_y);
        }
        result_near("von_mises", f->von_mises[e], mises_of(f->stress + 6 * e), 1e-10 * m->sigma_y);
        result_near("von_mises_max", f->von_mises_max[e], most, 1e-10 * m->sigma_y);
        largest = fmax(largest, f->von_mises_max[e]);
        apart = fmax(apart, 1 - f->von_mises[e] / most);
    }
    result_near("largest von_mises_max", largest, b->result.step[1].max_mises, 0);
    assert_true(apart > 0.01 || b->mesh.kind == FE_TET4); /* the mean hides something */
}

static void element_fields_are_those_of_points(void **state)
{
    (void)state;
    each_block(check_elements);
}

/* Corner of a Hex8 in the mesh's order, of number k in binary order; Tet4 keeps its own. */
static int corner_of(int kind, int k) { return kind == FE_TET4 ? k : (int[]){0, 1, 3, 2, 4, 5, 7, 6}[k]; }

/* Shape function of corner a (binary order) at point q, and its derivatives on [-1, 1]³; a Tet4's on [0, 1].
 */
static double shape_at(int kind, int a, int q, double gradient[3])
{
    double value = 1, factor[3];
    if (kind == FE_TET4) {
        for (int j = 0; j < 3; j++) gradient[j] = a == 0 ? -1 : a == j + 1;
        return 0.25;
    }
    for (int i = 0; i < 3; i++) {
        const double s = (q >> i & 1 ? 1 : -1) / sqrt(3), side = a >> i & 1 ? 1 : -1;
        value *= factor[i] = 0.5 * (1 + side * s);
        gradient[i] = 0.5 * side;
    }
    for (int i = 0; i < 3; i++) gradient[i] *= value / factor[i];
    return value;
}

static double volume_at(const fe_mesh *mesh, int e, int q)
{
    const int nc = fe_corners(mesh->kind);
    double J[3][3] = {{0}};
    for (int a = 0; a < nc; a++) {
        double g[3];
        shape_at(mesh->kind, a, q, g);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                J[i][j] += g[j] * mesh->x[3 * mesh->conn[e * nc + corner_of(mesh->kind, a)] + i];
    }
    return J[0][0] * (J[1][1] * J[2][2] - J[1][2] * J[2][1]) -
           J[0][1] * (J[1][0] * J[2][2] - J[1][2] * J[2][0]) +
           J[0][2] * (J[1][0] * J[2][1] - J[1][1] * J[2][0]);
}

/* ∫ N_a stress dV / ∫ N_a dV over all elements at a node. */
static void check_nodes(const block *b)
{
    const fe_mesh *mesh = &b->mesh;
    const int nc = fe_corners(mesh->kind);
    double(*sum)[7] = calloc((size_t)mesh->n_node, sizeof *sum);
    assert_non_null(sum);
    for (int e = 0; e < mesh->n_elem; e++)
        for (int q = 0; q < b->fields.n_point; q++)
            for (int a = 0; a < nc; a++) {
                double g[3], *to = sum[mesh->conn[e * nc + corner_of(mesh->kind, a)]];
                const double weight = shape_at(mesh->kind, a, q, g) * volume_at(mesh, e, q);
                for (int i = 0; i < 6; i++)
                    to[i] += weight * b->fields.point_stress[6 * (e * b->fields.n_point + q) + i];
                to[6] += weight;
            }
    for (int n = 0; n < mesh->n_node; n++)
        for (int i = 0; i < 6; i++)
            result_near("nodal_stress", b->fields.nodal_stress[6 * n + i], sum[n][i] / sum[n][6],
                        1e-10 * b->draft.c.material->sigma_y);
    free(sum);
}

static void nodal_stress_is_a_mean_of_points(void **state)
{
    (void)state;
    each_block(check_nodes);
}

/* --- fields in files -------------------------------------------------------------------------------------
 */

/* Rows of fields are the mesh file's, whatever order the solver computes in, and whoever owns the nodes. */
static void fields_keep_the_order_of_the_file(void **state)
{
    (void)state;
    static const char *const flags[] = {"--order as-is",  "--order lexicographic",   "--order rcm",
                                        "--order morton", "--order bisection",       "--order random",
                                        "--ranks 3",      "--order random --ranks 2"};
    assert_int_equal(child_run("meshgen box -c 3 -d 0.2 -r random -o random.msh"), 0);
    child_must(0, "solve p.json --mesh random.msh --threads 1 --output auto --output-points");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (child_run("solve p.json --mesh random.msh --threads 1 --output way --output-points %s", flags[i]))
            fail_msg("%s: %s", flags[i], child_said);
        compare_fields("way", "auto", "cube", 1e-6);
    }
    child_must(2, "solve p.json --output-points");
    child_assert_said("--output-points", "solve", PARTS("--output-points: needs --output"));
}

/* --- the curve -------------------------------------------------------------------------------------------
 */

#define CURVE "solve c.json --threads 1 --curve c.csv --result c.r.json"

/* Stops behind two elastic steps, whose linear problem one iteration solves; the third is plastic. */
#define TWO_STEPS " --newton-iterations 1 --krylov-tolerance 1e-12"

static char script[FOLDER_LENGTH]; /* tests run in the repository's root until the folder is there */

/* Names that CSV has to quote. */
static int open_curves(void **state)
{
    if (!getcwd(script, sizeof script - 32) || child_open(state)) return -1;
    strcat(script, "/tests/check_curve.py");
    write_file(
        "c.json",
        "{\"name\": \"c\", \"meshes\": [\"box.msh\"], \"material\": {\"E\": 200000, \"nu\": 0.3, "
        "\"sigma_y\": 250, \"H\": 2000}, \"dirichlet\": [{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, "
        "\"z\": 0}}, {\"group\": \"y0\", \"u\": {\"y\": 0}}], \"neumann\": [{\"group\": \"x1\", "
        "\"traction\": [60, 0, 40], \"path\": \"pull, \\\"hard\\\"\"}, {\"group\": \"z1\", \"pressure\": 9, "
        "\"path\": \"hold\"}], \"paths\": {\"pull, \\\"hard\\\"\": [0.5, 1, 2.2, -2.2, 0.5], "
        "\"hold\": [0.5, 1, 1, 1, 2]}, \"probes\": {\"x0\": [1, 1, 1], \"the\\nend\": [1, 0, 0]}}");
    return 0;
}

static void check_curve(const char *curve, const char *result, int first)
{
    const char *pythons[] = {getenv("PYTHON"), "python3", "/usr/bin/python3"};
    int code = 127;
    char log[1024];
    for (int i = 0; i < 3 && (code == 127 || code == 77); i++) {
        char command[1024];
        if (!pythons[i]) continue;
        snprintf(command, sizeof command, "'%s' '%s' %s %s %d 2>log", pythons[i], script, curve, result,
                 first);
        const int status = system(command);
        code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    read_into("log", sizeof log, log);
    if (code == 127) skip_if("no python3", curve);
    if (code == 77) print_message("%s: read by Python's csv module; not by pandas (python3-pandas)\n", curve);
    if (code && code != 77) fail_msg("%s", log);
}

static void curve_has_the_numbers_of_the_result(void **state)
{
    (void)state;
    child_must(0, CURVE);
    check_curve("c.csv", "c.r.json", 0);
    child_must(0, CURVE " --ranks 2"); /* replaces it */
    check_curve("c.csv", "c.r.json", 0);
}

static void shell(const char *command) { assert_int_equal(system(command), 0); }

static void stop_early(void)
{
    shell("rm -f c.csv c.r.json c.r.json.state");
    child_must(1, CURVE TWO_STEPS);
    json_decref(result_load_checked("c.r.json", "not_converged", 2));
}
#define GO_ON "solve c.json --threads 1 --resume c.r.json --curve "

static void curve_goes_on(void **state)
{
    (void)state;
    stop_early();
    check_curve("c.csv", "c.r.json", 0);
    /* a kill between curve and state leaves a row that the state does not know, or a part of a line */
    shell("tail -n 1 c.csv | sed 's/^2,/3,/' >more && cat more >>c.csv && printf 4,1.5 >>c.csv");
    child_must(0, GO_ON "c.csv");
    check_curve("c.csv", "c.r.json", 0);
    stop_early();
    child_must(0, GO_ON "new.csv"); /* from there on */
    check_curve("new.csv", "c.r.json", 3);
}

/* Ends a run by a signal once it has shown a load step, and removes what a kill leaves. */
static void end_after(const char *command, int signal_number, size_t step)
{
    int status;
    unlink("out");
    const pid_t child = child_start(command);
    for (int i = 0; i < PATIENCE * 12000 && (access("out", R_OK) || child_steps_shown() < step); i++)
        usleep(5000);
    kill(child, signal_number);
    assert_int_equal(waitpid(child, &status, 0), child);
    shell("rm -f long.*.tmp");
}

static void curve_survives_signals(void **state)
{
    (void)state;
    child_write_long_problem("long.json", NULL);
    end_after("solve long.json --threads 1 --result long.r.json --curve long.csv", SIGINT, 3);
    check_curve("long.csv", "long.r.json", 0);
    const size_t n = result_steps("long.r.json");
    end_after("solve long.json --threads 1 --resume long.r.json --curve long.csv", SIGKILL, n + 3);
    end_after("solve long.json --threads 1 --resume long.r.json --curve long.csv", SIGTERM, n + 6);
    assert_true(result_steps("long.r.json") >= n + 6);
    check_curve("long.csv", "long.r.json", 0);
}

static void curve_does_not_go_on_from_another(void **state)
{
    (void)state;
    static const struct {
        const char *edit, *said;
    } others[] = {{"sed '1s/factor_hold/factor_held/' c.csv >other.csv", "has other columns than this run"},
                  {"sed '$d' c.csv >other.csv", "has no row of load step 2, after which the run goes on"},
                  {": >other.csv", "has other columns than this run"}};
    stop_early();
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        shell(others[i].edit);
        shell("cp other.csv kept");
        child_must(2, GO_ON "other.csv");
        child_assert_said(others[i].edit, "solve", PARTS("--curve other.csv: ", others[i].said));
        shell("cmp other.csv kept");
    }
    child_must(0, GO_ON "c.csv"); /* nothing was lost */
    check_curve("c.csv", "c.r.json", 0);
}

static void curve_replaces_nothing_else(void **state)
{
    (void)state;
    static const char *const commands[][2] = {
        {"solve c.json --curve c.json", "--curve c.json: is the same file as c.json, which is read"},
        {"solve c.json --curve ./box.msh", "--curve ./box.msh: is the same file as "},
        {"solve c.json --curve a --result a", "--curve a: --result writes the same file"},
        {"solve c.json --curve .//a --result $PWD/a", "--curve .//a: --result writes the same file"},
        {"solve c.json --curve here/a --result a", "--curve here/a: --result writes the same file"},
        {"solve c.json --curve new/../a --result ./new/../a",
         "--curve new/../a: --result writes the same file"},
        {"solve c.json --curve a.state --result a",
         "--curve a.state: files with the ending .state are a run's own"},
        {"solve c.json --curve ./a.lock --result a",
         "--curve ./a.lock: files with the ending .lock are a run's own"},
        {"solve c.json --result a.state", "--result a.state: files with the ending .state are a run's own"},
        {"solve c.json --curve new/c.pvd --output new",
         "--curve new/c.pvd: --output new writes the same file"},
        {"solve c.json --result new/./c_0001.vtu --output here/new",
         "--result new/./c_0001.vtu: --output here/new writes the same file"}};
    shell("ln -sfn . here");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        child_must(2, commands[i][0]);
        child_assert_said(commands[i][0], "solve", PARTS(commands[i][1]));
    }
    assert_true(access("a", F_OK) && access("a.state", F_OK) && access("new", F_OK));
    child_must(0, CURVE); /* both are what they were */
}

/* Rows that were written stay. */
static void curve_on_a_full_disk(void **state)
{
    (void)state;
    char text[64];
    child_must(1, "solve c.json --threads 1 --curve /dev/full");
    child_assert_said("/dev/full", "solve", PARTS("/dev/full: cannot be written: No space left on device"));
    shell("rm -f c.csv");
    child_must(1, "sh -c 'ulimit -f 2; trap \"\" XFSZ; exec solve c.json --threads 1 --curve c.csv'");
    child_assert_said("ulimit", "solve", PARTS("c.csv: cannot be written: File too large"));
    shell("tail -n 1 c.csv | cut -d , -f 1 >row");
    read_into("row", sizeof text, text);
    assert_true(text[0] == '0' || text[0] == '1');
}

/* --- the end of a run ------------------------------------------------------------------------------------
 */

static void end_tells_what_was_asked_for(void **state)
{
    (void)state;
    static char text[1 << 16];
    child_must(0, "solve p.json --threads 1 --result p.r.json");
    read_into("out", sizeof text, text);
    json_t *root = result_load("p.r.json"), *step = result_step(root, 2),
           *reaction = result_at(result_at(step, "reactions"), "x0");
    char line[256];
    const char *axes[] = {"x", "y", "z"};
    double v[3];
    for (size_t i = 0; i < 3; i++) v[i] = result_probe(step, i);
    snprintf(line, sizeof line, "  %-33s %14.6e %14.6e %14.6e\n", "u of corner", v[0], v[1], v[2]);
    assert_holds(text, line);
    for (size_t i = 0; i < 3; i++) v[i] = result_number(reaction, axes[i]);
    snprintf(line, sizeof line, "  %-33s %14.6e %14.6e %14.6e\n", "reaction of x0", v[0], v[1], v[2]);
    assert_holds(text, line);
    snprintf(line, sizeof line, "  %-33s %14.6e\n", "largest von Mises stress",
             result_number(step, "max_mises"));
    assert_holds(text, line);
    assert_holds(text, "after load step 3 of 3 (load 2.2), units mm, N, MPa:\n");
    assert_holds(text, "  all loads ");
    assert_holds(text, "\nconverged on ");
    assert_null(strstr(text, " MB "));
    json_decref(root);
    child_must(0, "solve p.json --threads 1 --verbose");
    read_into("out", sizeof text, text);
    assert_holds(text, " MB to the device, ");
    child_must(1, "solve c.json --threads 1" TWO_STEPS); /* the last accepted step's */
    read_into("out", sizeof text, text);
    assert_holds(text, "after load step 2 of 5 (pull, \"hard\" 1, hold 1):\n");
    assert_holds(text, "  u of the?end ");
    assert_holds(text, "\nnot_converged on ");
}

/* An argument selects tests by name ("curve*"). */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(displacements_come_alone),
        cmocka_unit_test(reactions_are_forces_of_supports),
        cmocka_unit_test(element_fields_are_those_of_points),
        cmocka_unit_test(nodal_stress_is_a_mean_of_points),
        cmocka_unit_test(fields_keep_the_order_of_the_file),
        cmocka_unit_test(curve_has_the_numbers_of_the_result),
        cmocka_unit_test(curve_goes_on),
        cmocka_unit_test(curve_survives_signals),
        cmocka_unit_test(curve_does_not_go_on_from_another),
        cmocka_unit_test(curve_replaces_nothing_else),
        cmocka_unit_test(curve_on_a_full_disk),
        cmocka_unit_test(end_tells_what_was_asked_for),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_curves, child_close);
}
