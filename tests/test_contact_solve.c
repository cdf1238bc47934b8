/* Contact in whole solves: a block on a plane, whose answer is known; the same answer from any number of
 * ranks, strategy and preconditioner; indentation and release; runs that go on; and what is refused. */
#include "have/superlu.h"
#include "tests/child.h"
#include "tests/common.h"
#include "tests/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ELASTIC "\"E\": 1000, \"nu\": 0.3"
#define HELD_ABOVE                                                                                           \
    "{\"group\": \"x0\", \"u\": {\"x\": 0}}, {\"group\": \"y0\", \"u\": {\"y\": 0}}, "                       \
    "{\"group\": \"z1\", \"u\": {\"z\": 0}}"
#define FLOOR "{\"plane\": {\"point\": [0, 0, 0], \"normal\": [0, 0, 2]}}"
#define CLAMPED "{\"group\": \"z0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}"
#define BALL "{\"sphere\": {\"center\": [0.5, 0.5, 2.001], \"radius\": 1}}"

static void write_problem(const char *path, const char *supports, const char *contact, const char *factors)
{
    write_file(path,
               "{\"meshes\": [\"box.msh\"], \"material\": {" ELASTIC
               "}, \"elastic\": true, \"dirichlet\": [%s], "
               "\"contact\": [%s], \"paths\": {\"load\": [%s]}}",
               supports, contact, factors);
}

/* A box whose nodes are shifted at random inside, and within its sides; corners and edges stay. */
static void write_shifted_box(int kind, const char *path)
{
    const int cells[3] = {4, 4, 4};
    const double length[3] = {1, 1, 1};
    fe_mesh mesh = make_box(kind, cells, length, 0.0, 1);
    random_state = 9;
    for (int n = 0; n < mesh.n_node; n++) {
        double *x = mesh.x + 3 * (size_t)n;
        int sides = 0;
        for (int c = 0; c < 3; c++) sides += x[c] < 1e-9 || x[c] > 1 - 1e-9;
        for (int c = 0; c < 3 && sides < 2; c++)
            if (x[c] > 1e-9 && x[c] < 1 - 1e-9) x[c] += 0.06 * uniform();
    }
    must(fe_mesh_check(&mesh));
    must(fe_mesh_write(&mesh, path, 0));
    fe_mesh_close(&mesh);
}

static json_t *contact_of(const json_t *root, size_t step, size_t entry)
{
    json_t *contact = json_array_get(result_at(result_step(root, step), "contact"), entry);
    assert_non_null(contact);
    return contact;
}
static double force_of(const json_t *contact, size_t axis)
{
    return json_number_value(json_array_get(result_at(contact, "force"), axis));
}

/* Uniaxial stress: pressure E × 0.01 everywhere. */
static void check_block(const char *what, double pressure, double tolerance)
{
    json_t *root = result_load_checked("r.json", "converged", 2);
    for (size_t step = 0; step < 2; step++) {
        const json_t *c = contact_of(root, step, 0);
        const double expected = pressure * (step ? 1.0 : 0.5);
        result_near(what, result_number(c, "area"), 1.0, 1e-12);
        result_near(what, force_of(c, 2), expected, tolerance * expected);
        result_near(what, force_of(c, 0), 0.0, tolerance * expected);
        /* the largest is the mean: all are alike */
        result_near(what, result_number(c, "max_pressure"), expected, 20 * tolerance * expected);
        result_near(what, result_number(result_step(root, step), "max_mises"), expected,
                    20 * tolerance * expected);
        const json_t *total = result_at(result_step(root, step), "total_reaction");
        result_near(what, json_number_value(json_array_get(total, 2)), -expected, tolerance * expected);
    }
    json_decref(root);
}

static void block_on_a_plane_has_uniform_pressure(void **state)
{
    (void)state;
    static const char *const flags[] = {"",
                                        "--precondition multigrid",
                                        "--precondition direct",
                                        "--precondition none",
                                        "--precondition chebyshev",
                                        "--ranks 3",
                                        "--krylov gmres",
                                        "--jacobian difference --tolerance 1e-8",
                                        "--jacobian elastic",
                                        "--variant node_csr",
                                        "--variant assembled_bsr",
                                        "--no-line-search",
                                        "--predictor elastic"};
    write_problem("p.json", HELD_ABOVE, "{\"group\": \"z0\", \"obstacle\": " FLOOR ", \"u\": {\"z\": 0.01}}",
                  "0.5, 1");
    for (int kind = 0; kind < 2; kind++) {
        write_shifted_box(kind ? FE_HEX8 : FE_TET4, "box.msh");
        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
            const int direct = strstr(flags[i], "direct") != NULL;
            const int code = child_run("solve p.json --threads 1 --result r.json %s", flags[i]);
            if (direct && !FE_HAVE_SUPERLU) { /* it is refused, by name */
                if (code != 2 || !strstr(child_said, "SuperLU"))
                    fail_msg("%s: %d %s", flags[i], code, child_said);
                continue;
            }
            if (code) fail_msg("%s: %s", flags[i], child_said);
            check_block(flags[i], 10.0, 1e-7);
        }
    }
}

/* The same with quadratic elements: nodes of contact are those of the rule over a side, all of a Hex27's and
 * those in the middle of a Tet10's edges, of which 4 x 4 squares with a diagonal have 2 x 20 + 16. */
static void quadratic_sides_have_uniform_pressure(void **state)
{
    (void)state;
    static const char *const flags[] = {"", "--precondition multigrid", "--ranks 3",
                                        "--variant patch_ordered"};
    write_problem("p.json", HELD_ABOVE, "{\"group\": \"z0\", \"obstacle\": " FLOOR ", \"u\": {\"z\": 0.01}}",
                  "0.5, 1");
    for (int kind = 0; kind < 2; kind++) {
        write_shifted_box(kind ? FE_HEX8 : FE_TET4, "linear.msh");
        child_must(0, "meshgen quadratic linear.msh -o box.msh");
        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
            if (child_run("solve p.json --threads 1 --result r.json %s", flags[i]))
                fail_msg("%s", child_said);
            check_block(flags[i], 10.0, 1e-7);
            json_t *root = result_load_checked("r.json", "converged", 2);
            result_near("nodes", result_number(contact_of(root, 1, 0), "nodes"), kind ? 81 : 56, 0.0);
            json_decref(root);
        }
    }
}

/* A ball that is pressed into a box: forces as with Hex8 on twice as many nodes along each axis, 33.93. */
static void quadratic_sides_meet_a_ball(void **state)
{
    (void)state;
    write_problem("p.json", CLAMPED, "{\"group\": \"z1\", \"obstacle\": " BALL ", \"u\": {\"z\": -0.08}}",
                  "0.5, 1");
    for (int kind = 0; kind < 2; kind++) {
        write_shifted_box(kind ? FE_HEX8 : FE_TET4, "few.msh");
        child_must(0, "meshgen quadratic few.msh -o box.msh");
        child_must(0, "solve p.json --threads 2 --result r.json --precondition multigrid");
        json_t *root = result_load_checked("r.json", "converged", 2);
        const json_t *c = contact_of(root, 1, 0);
        result_near("force", force_of(c, 2), -33.93, 0.02 * 33.93);
        if (!(result_number(c, "max_overlap") < 1e-6))
            fail_msg("overlap %g", result_number(c, "max_overlap"));
        json_decref(root);
    }
}

/* The penalty alone lets nodes in: the block is the spring behind that of the penalty, whose stiffness for a
 * node is E / sqrt(area) times its number. On a regular mesh all inner nodes have the same area. */
static void penalty_alone_overlaps(void **state)
{
    (void)state;
    double before = 0.0;
    write_shifted_box(FE_HEX8, "box.msh");
    for (int i = 0; i < 2; i++) {
        char contact[300];
        snprintf(contact, sizeof contact,
                 "{\"group\": \"z0\", \"obstacle\": " FLOOR
                 ", \"u\": {\"z\": 0.01}, \"method\": \"penalty\", "
                 "\"penalty\": %d}",
                 i ? 1000 : 100);
        write_problem("p.json", HELD_ABOVE, contact, "1");
        child_must(0, "solve p.json --result r.json");
        json_t *root = result_load_checked("r.json", "converged", 1);
        const json_t *c = contact_of(root, 0, 0);
        const double overlap = result_number(c, "max_overlap");
        assert_int_equal(result_number(result_at(result_step(root, 0), "newton"), "augmentations"), 0);
        if (!(overlap > 1e-6 && overlap < 1e-3)) fail_msg("the overlap is %g", overlap);
        if (!(force_of(c, 2) < 10.0 - 100 * overlap)) fail_msg("force %g", force_of(c, 2));
        if (i) result_near("ten times as stiff", 10 * overlap, before, 0.05 * before);
        before = overlap;
        json_decref(root);
    }
}

/* Two obstacles, one that is no plane, on one surface: half of the force each, and edges that share nodes. */
static void obstacles_share_a_surface(void **state)
{
    (void)state;
    write_shifted_box(FE_HEX8, "box.msh");
    write_problem("p.json", HELD_ABOVE,
                  "{\"group\": \"z0\", \"obstacle\": " FLOOR ", \"u\": {\"z\": 0.01}},"
                  "{\"group\": \"z0\", \"obstacle\": " FLOOR ", \"u\": {\"z\": 0.01}}",
                  "0.5, 1");
    child_must(0, "solve p.json --result r.json --precondition multigrid");
    json_t *root = result_load_checked("r.json", "converged", 2);
    const double sum = force_of(contact_of(root, 1, 0), 2) + force_of(contact_of(root, 1, 1), 2);
    result_near("the sum", sum, 10.0, 1e-6);
    json_decref(root);
    write_problem(
        "p.json", CLAMPED,
        "{\"group\": \"z1\", \"u\": {\"z\": -0.05}, \"obstacle\": {\"cylinder\": {\"point\": [0.5, 9, "
        "1.5], \"axis\": [0, 3, 0], \"radius\": 0.5}}}",
        "1");
    child_must(0, "solve p.json --result r.json");
    root = result_load_checked("r.json", "converged", 1);
    const json_t *c = contact_of(root, 0, 0);
    if (!(force_of(c, 2) < -1.0)) fail_msg("force %g", force_of(c, 2));
    if (!(result_number(c, "area") >= 0.2 && result_number(c, "area") < 0.9))
        fail_msg("area of the cylinder");
    json_decref(root);
}

/* --- indentation and release ------------------------------------------------------------------------- */

#define UP_AND_DOWN "0.2, 0.4, 0.6, 0.8, 1, 0.8, 0.6, 0.4, 0.2, 0"
enum { N_STEP = 10, HALF = 5 };

static void write_indentation(const char *factors)
{
    write_shifted_box(FE_HEX8, "few.msh");
    child_must(0, "meshgen refine few.msh --levels 1 -o box.msh");
    write_problem("p.json", CLAMPED, "{\"group\": \"z1\", \"obstacle\": " BALL ", \"u\": {\"z\": -0.08}}",
                  factors);
}

/* The last iterations of a step change nothing: the set of nodes that are closed was found. */
static void check_history(const char *what, const json_t *step)
{
    const json_t *newton = result_at(step, "newton"), *changes = result_at(newton, "contact_changes");
    const size_t n = json_array_size(changes);
    if (result_number(newton, "iterations") > 30) fail_msg("%s: %g iterations", what, (double)n);
    if (n > 1 && json_integer_value(json_array_get(changes, n - 1)))
        fail_msg("%s: chatters to the end", what);
}

/* Where the obstacle turns back nodes follow it: few open that close again. */
static void check_turn(const char *what, const json_t *root)
{
    const json_t *changes = result_at(result_at(result_step(root, HALF), "newton"), "contact_changes");
    const double before = result_number(contact_of(root, HALF - 1, 0), "nodes"),
                 after = result_number(contact_of(root, HALF, 0), "nodes");
    double n = 0.0;
    for (size_t i = 0; i < json_array_size(changes); i++)
        n += (double)json_integer_value(json_array_get(changes, i));
    if (!(n >= before - after && n < before)) fail_msg("%s: %g of %g nodes change", what, n, before);
}

static void indentation_comes_back(void **state)
{
    (void)state;
    static const char *const flags[] = {"", "--no-line-search", "--predictor elastic",
                                        "--precondition multigrid"};
    write_indentation(UP_AND_DOWN);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (child_run("solve p.json --threads 1 --result r.json %s", flags[i])) fail_msg("%s", child_said);
        json_t *root = result_load_checked("r.json", "converged", N_STEP);
        for (size_t k = 0; k < N_STEP; k++) check_history(flags[i], result_step(root, k));
        check_turn(flags[i], root);
        for (size_t k = 0; k + 1 < HALF; k++) {
            const json_t *in = contact_of(root, k, 0), *out = contact_of(root, N_STEP - 2 - k, 0);
            if (!(force_of(in, 2) < 0.0)) fail_msg("%s: step %zu is not in contact", flags[i], k + 1);
            result_near(flags[i], force_of(out, 2), force_of(in, 2), 1e-6 * fabs(force_of(in, 2)));
            result_near(flags[i], result_number(out, "nodes"), result_number(in, "nodes"), 0.0);
        }
        result_near(flags[i], result_number(contact_of(root, N_STEP - 1, 0), "nodes"), 0.0, 0.0);
        json_decref(root);
    }
}

static void ranks_agree(void **state)
{
    (void)state;
    write_indentation("0.3, 1, 0.5"); /* at 0 all forces are rounding */
    child_must(0, "solve p.json --threads 1 --result one.json --tolerance 1e-11");
    json_t *one = result_load_checked("one.json", "converged", 3);
    for (int ranks = 2; ranks <= 4; ranks++) {
        if (child_run("solve p.json --threads 1 --ranks %d --result r.json --tolerance 1e-11", ranks))
            fail_msg("%s", child_said);
        json_t *root = result_load_checked("r.json", "converged", 3);
        result_assert_close("ranks", root, one, 1e-8);
        for (size_t k = 0; k < 3; k++) {
            const json_t *a = contact_of(root, k, 0), *b = contact_of(one, k, 0);
            result_near("nodes", result_number(a, "nodes"), result_number(b, "nodes"), 0.0);
            result_near("area", result_number(a, "area"), result_number(b, "area"), 1e-12);
            result_near("force", force_of(a, 2), force_of(b, 2), 1e-8 * fabs(force_of(b, 2)) + 1e-12);
            result_near("pressure", result_number(a, "max_pressure"), result_number(b, "max_pressure"),
                        1e-8 * result_number(b, "max_pressure") + 1e-12);
        }
        json_decref(root);
    }
    json_decref(one);
}

static int iterations_of(const json_t *root, int step)
{
    return (int)result_number(result_at(result_step(root, (size_t)step), "newton"), "iterations");
}

/* A run that gives up at the step that takes most iterations goes on with the same bits as one that was not
 * stopped, because the state has the multipliers. */
static void stopped_run_goes_on(void **state)
{
    (void)state;
    write_indentation(UP_AND_DOWN);
    child_must(0, "solve p.json --threads 1 --result whole.json");
    json_t *whole = result_load_checked("whole.json", "converged", N_STEP);
    int most = 0, stop = 0;
    for (int k = 0; k < N_STEP; k++)
        if (iterations_of(whole, k) > iterations_of(whole, stop)) stop = k;
    for (int k = 0; k < stop; k++)
        if (iterations_of(whole, k) > most) most = iterations_of(whole, k);
    if (stop == 0) fail_msg("no step takes more iterations than those before");
    assert_int_equal(child_run("solve p.json --threads 1 --result k.json --newton-iterations %d", most), 1);
    child_must(0, "solve p.json --threads 1 --resume k.json");
    json_t *rest = result_load_checked("k.json", "converged", N_STEP);
    assert_int_equal(result_number(result_at(rest, "run"), "resumed_after"), stop);
    result_assert_same(rest, whole);
    for (size_t k = 0; k < N_STEP; k++)
        assert_true(force_of(contact_of(rest, k, 0), 2) == force_of(contact_of(whole, k, 0), 2));
    json_decref(whole), json_decref(rest);
}

/* The supports carry the body to where it just touches: forces are rounding, which is a balance. Then they
 * press it on, and take it back. */
static void touching_is_a_balance(void **state)
{
    (void)state;
    write_shifted_box(FE_HEX8, "box.msh");
    write_problem(
        "p.json", "{\"group\": \"z1\", \"u\": {\"x\": 0, \"y\": 0, \"z\": -0.004}}",
        "{\"group\": \"z0\", \"obstacle\": {\"sphere\": {\"center\": [0.5, 0.5, -2.001], \"radius\": 2}}}",
        "0.25, 0.5, 1, 0.25, 0");
    child_must(0, "solve p.json --result r.json");
    json_t *root = result_load_checked("r.json", "converged", 5);
    for (size_t step = 0; step < 5; step += 3)
        if (!(fabs(force_of(contact_of(root, step, 0), 2)) < 1e-9))
            fail_msg("step %zu has a force", step + 1);
    if (!(force_of(contact_of(root, 2, 0), 2) > force_of(contact_of(root, 1, 0), 2))) fail_msg("forces");
    if (!(force_of(contact_of(root, 1, 0), 2) > 0.01))
        fail_msg("force %g", force_of(contact_of(root, 1, 0), 2));
    json_decref(root);
}

/* --- what is shown and refused ------------------------------------------------------------------------ */

static void fields_are_written(void **state)
{
    (void)state;
    write_indentation(UP_AND_DOWN);
    child_must(0, "solve p.json --output fields");
    char *text = read_file("fields/p_0005.vtu", NULL);
    assert_holds(text, "Name=\"contact_gap\""), assert_holds(text, "Name=\"contact_pressure\"");
    assert_holds(text, "Name=\"contact_status\"");
    free(text);
}

static void bad_contact_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *supports, *contact;
        const char *part[3];
    } bad[] = {
        {HELD_ABOVE,
         "{\"group\": \"bottom\", \"obstacle\": " FLOOR "}",
         {"key \"contact[0].group\": \"bottom\" is not in ./box.msh", "groups are: x0, x1, y0, y1, z0, z1"}},
        {HELD_ABOVE,
         "{\"group\": \"body\", \"obstacle\": " FLOOR "}",
         {"key \"contact[0].group\": \"body\" has no faces"}},
        {HELD_ABOVE, "{\"obstacle\": " FLOOR "}", {"key \"contact[0].group\": is missing"}},
        {HELD_ABOVE, "{\"group\": \"z0\"}", {"key \"contact[0].obstacle\": is missing"}},
        {HELD_ABOVE,
         "{\"group\": \"z0\", \"obstacle\": {}}",
         {"key \"contact[0].obstacle\": {} is not one obstacle"}},
        {HELD_ABOVE,
         "{\"group\": \"z0\", \"obstacle\": {\"cone\": {}}}",
         {"unknown key \"contact[0].obstacle.cone\"", "plane, sphere, cylinder"}},
        {HELD_ABOVE,
         "{\"group\": \"z0\", \"obstacle\": {\"plane\": {\"point\": [0, 0, 0]}}}",
         {"key \"contact[0].obstacle.plane.normal\": is missing"}},
        {HELD_ABOVE,
         "{\"group\": \"z0\", \"obstacle\": {\"plane\": {\"point\": [0, 0, 0], \"normal\": [0, 0, 0]}}}",
         {"key \"contact[0].obstacle.plane.normal\": [0,0,0] has no direction"}},
        {HELD_ABOVE,
         "{\"group\": \"z0\", \"obstacle\": {\"sphere\": {\"center\": [0, 0, -1], \"radius\": -1}}}",
         {"key \"contact[0].obstacle.sphere.radius\": -1 is not above 0"}},
        {HELD_ABOVE,
         "{\"group\": \"z0\", \"obstacle\": " FLOOR ", \"method\": \"mortar\"}",
         {"key \"contact[0].method\": \"mortar\" is neither"}},
        {HELD_ABOVE,
         "{\"group\": \"z0\", \"obstacle\": " FLOOR ", \"penalty\": 0}",
         {"key \"contact[0].penalty\": 0 is not above 0"}},
        {HELD_ABOVE,
         "{\"group\": \"z0\", \"obstacle\": " FLOOR ", \"u\": {\"z\": 1}, \"path\": \"press\"}",
         {"key \"contact[0].path\": \"press\" is not a path"}},
        {HELD_ABOVE,
         "{\"group\": \"z0\", \"obstacle\": " FLOOR ", \"u\": {\"w\": 1}}",
         {"unknown key \"contact[0].u.w\""}},
        /* supported in that direction */
        {HELD_ABOVE,
         "{\"group\": \"z1\", \"obstacle\": {\"plane\": {\"point\": [0, 0, 1], \"normal\": [0, 0, -1]}}}",
         {"key \"contact[0].group\": \"z1\": the face at node ", "is supported in the direction of contact"}},
        /* inside, and behind */
        {HELD_ABOVE,
         "{\"group\": \"z0\", \"obstacle\": {\"plane\": {\"point\": [0, 0, 0.1], \"normal\": [0, 0, 1]}}}",
         {"key \"contact[0].obstacle\": node ", "of \"z0\" begins 0.1 inside it"}},
        {HELD_ABOVE,
         "{\"group\": \"z0\", \"obstacle\": {\"plane\": {\"point\": [0, 0, 0], \"normal\": [0, 0, -1]}}}",
         {"key \"contact[0].obstacle\": lies behind the surface \"z0\""}},
        {HELD_ABOVE,
         "{\"group\": \"z0\", \"obstacle\": {\"sphere\": {\"center\": [0.5, 0.5, 0.3], \"radius\": 0.2}}}",
         {"key \"contact[0].obstacle\": lies behind the surface \"z0\""}},
        /* nothing but contact holds it */
        {"{\"group\": \"x0\", \"u\": {\"x\": 0}}, {\"group\": \"y0\", \"u\": {\"y\": 0}}",
         "{\"group\": \"z0\", \"obstacle\": " FLOOR "}",
         {"key \"dirichlet\": ", "can move", "contact does not hold it"}},
        {"",
         "{\"group\": \"z0\", \"obstacle\": " FLOOR "}",
         {"key \"dirichlet\": there is no support at all; a group in contact does not "
          "count as one"}},
    };
    write_shifted_box(FE_HEX8, "box.msh");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_problem("p.json", bad[i].supports, bad[i].contact, "1");
        child_must(2, "solve p.json");
        child_assert_said(bad[i].contact, "solve", bad[i].part);
    }
}

/* Nodes of the surface at the edge of a support are left out, which is said. */
static void nodes_of_supports_are_left_out(void **state)
{
    (void)state;
    write_shifted_box(FE_HEX8, "box.msh");
    write_problem("p.json", "{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}",
                  "{\"group\": \"z0\", \"obstacle\": " FLOOR ", \"u\": {\"z\": 0.01}}", "1");
    child_must(0, "solve p.json --result r.json");
    assert_holds(child_said, "\"contact\": 5 nodes at the edge of a support are left out");
    json_t *root = result_load_checked("r.json", "converged", 1);
    if (!(force_of(contact_of(root, 0, 0), 2) > 0.1)) fail_msg("no force");
    json_decref(root);
}

/* What is accepted and may be wrong is said, once: a ball that passes nodes within a step, and nodes that
 * supports hold inside an obstacle though the surface's normal is another one. The ball in two steps is
 * believed. */
static void doubtful_contact_is_said(void **state)
{
    (void)state;
    static const char ball[] =
        "{\"group\": \"x1\", \"obstacle\": {\"sphere\": {\"center\": [1.02, 0.5, 0.5], "
        "\"radius\": 0.02}}, \"u\": {\"x\": -0.03}}",
                      rising[] = "{\"group\": \"x1\", \"obstacle\": " FLOOR ", \"u\": {\"z\": 0.05}}";
    static const struct {
        const char *contact, *factors, *said;
    } runs[] = {
        {ball, "1", "note: load step 1: the obstacle of \"contact[0]\" moves by 0.03 at once"},
        {ball, "0.3, 0.6", NULL},
        {rising, "1, 0.5", "note: load step 1: nodes of \"x1\" stay inside the obstacle of \"contact[0]\""}};
    child_must(0, "meshgen box -e hex8 -c 2 -o box.msh");
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        write_problem("p.json",
                      runs[k].contact == ball ? "{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}"
                                              : ROLLERS,
                      runs[k].contact, runs[k].factors);
        child_must(0, "solve p.json --threads 1");
        const char *note = strstr(child_said, "note: load step");
        assert_int_equal(note != NULL, runs[k].said != NULL);
        if (!note) continue;
        assert_holds(child_said, runs[k].said);
        assert_null(strstr(note + 1, "note: load step"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(block_on_a_plane_has_uniform_pressure),
                                       cmocka_unit_test(quadratic_sides_have_uniform_pressure),
                                       cmocka_unit_test(quadratic_sides_meet_a_ball),
                                       cmocka_unit_test(penalty_alone_overlaps),
                                       cmocka_unit_test(obstacles_share_a_surface),
                                       cmocka_unit_test(indentation_comes_back),
                                       cmocka_unit_test(ranks_agree),
                                       cmocka_unit_test(stopped_run_goes_on),
                                       cmocka_unit_test(touching_is_a_balance),
                                       cmocka_unit_test(fields_are_written),
                                       cmocka_unit_test(bad_contact_is_refused),
                                       cmocka_unit_test(nodes_of_supports_are_left_out),
                                       cmocka_unit_test(doubtful_contact_is_said)};
    return cmocka_run_group_tests(tests, child_open, child_close);
}
