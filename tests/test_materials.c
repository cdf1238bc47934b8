/* Several materials, by physical volume: closed forms, strategies, ranks, precisions, what is refused and
 * what is told. (Operations are compared with the oracle in test_assembly, by scenes of several materials.)
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/device.h"
#include "common/problem/share.h"
#include "common/variant.h"
#include "tests/child.h"
#include "tests/common.h"
#include "tests/result.h"

/* A bar of length 2 along x; the volumes "soft" (x < 1) and "hard" take the place of the box's body. */
static void write_bar(const char *path, int kind, const int cells[3])
{
    fe_mesh mesh = make_box(kind, cells, (const double[]){2, 1, 1}, 0, 3);
    const int nc = fe_corners(kind), n = mesh.n_elem;
    int count[2] = {0};
    fe_group volume[2];
    must(fe_group_open(&volume[0], "soft", kind, 3, 71, (size_t)n));
    must(fe_group_open(&volume[1], "hard", kind, 3, 72, (size_t)n));
    for (int e = 0; e < n; e++) {
        double x = 0;
        for (int a = 0; a < nc; a++) x += mesh.x[3 * (size_t)mesh.conn[e * nc + a]] / nc;
        const int side = x > 1;
        volume[side].facet[count[side]++] = e;
        mesh.elem_group[e] = volume[side].number;
    }
    for (int i = 0; i < 2; i++) volume[i].n_facet = count[i];
    mesh.group = realloc(mesh.group, ((size_t)mesh.n_group + 1) * sizeof *mesh.group);
    assert_non_null(mesh.group);
    fe_group *body = (fe_group *)fe_mesh_group(&mesh, "body");
    free(body->name), free(body->facet);
    *body = volume[0], mesh.group[mesh.n_group++] = volume[1];
    must(fe_mesh_write(&mesh, path, 0));
    fe_mesh_close(&mesh);
}

typedef struct law {
    double E, nu, sigma_y, H;
} law;
static const law soft = {70000, 0.2, 90, 500}, hard = {200000, 0.3, 250, 2000};
#define SOFT "{\"E\": 70000, \"nu\": 0.2, \"sigma_y\": 90, \"H\": 500}"
#define HARD "{\"E\": 200000, \"nu\": 0.3, \"sigma_y\": 250, \"H\": 2000}"
#define BOTH "\"materials\": {\"hard\": " HARD ", \"soft\": " SOFT "}"

/* Confined: no displacement across, so that every element of a part has the same strain along x. */
static void write_problem(const char *path, const char *materials)
{
    write_file(path,
               "{\"name\": \"bar\", \"meshes\": [\"bar_hex.msh\"], %s,\n"
               " \"dirichlet\": [{\"group\": \"x0\", \"u\": {\"x\": 0}},\n"
               "  {\"group\": \"soft\", \"u\": {\"y\": 0, \"z\": 0}}, {\"group\": \"hard\", \"u\": {\"y\": "
               "0, \"z\": 0}}],\n"
               " \"neumann\": [{\"group\": \"x1\", \"traction\": [1, 0, 0]}],\n"
               " \"paths\": {\"load\": [80, 200, 700]},\n"
               " \"probes\": {\"corner\": [2, 1, 1], \"middle\": [1, 0, 0]}}\n",
               materials);
}

/* Strain of a confined bar under a stress along it, after monotonic loading: the deviator keeps its
 * direction, so increments are exact. Elastic: stress = (K + 4/3 mu) strain, q = 2 mu strain. Beyond yield
 * stress = K strain + 2/3 q and q = sigma_y + H (2 mu strain - sigma_y) / (3 mu + H). */
static double strain_of(const law *m, double stress)
{
    const double K = m->E / (3 * (1 - 2 * m->nu)), mu = m->E / (2 * (1 + m->nu));
    const double elastic = stress / (K + 4 * mu / 3), ratio = m->H / (3 * mu + m->H);
    if (2 * mu * elastic <= m->sigma_y) return elastic;
    return (stress - 2. / 3 * m->sigma_y * (1 - ratio)) / (K + 4. / 3 * mu * ratio);
}

/* Both parts are elastic, then the soft one yields, then both. */
static void assert_bar(const char *what, double tolerance)
{
    static const double stress[3] = {80, 200, 700};
    json_t *root = result_load_checked("bar.r.json", "converged", 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *step = result_step(root, i);
        const double middle = strain_of(&soft, stress[i]), end = middle + strain_of(&hard, stress[i]);
        const json_t *probe = result_at(result_at(step, "probes"), "middle");
        result_near(what, json_number_value(json_array_get(probe, 0)), middle, tolerance * end);
        result_near(what, result_probe(step, 0), end, tolerance * end);
        result_near(what, result_number(result_at(result_at(step, "reactions"), "x0"), "x"), -stress[i],
                    1e-5 * stress[i]);
    }
    assert_true(result_number(result_step(root, 0), "plastic_gp") == 0);
    assert_true(result_number(result_step(root, 1), "plastic_gp") > 0);
    assert_true(result_number(result_step(root, 2), "plastic_gp") >
                1.5 * result_number(result_step(root, 1), "plastic_gp"));
    json_decref(root);
}

static void a_bar_of_two(void **state)
{
    (void)state;
    static const char *const meshes[] = {"bar_hex.msh", "bar_tet.msh"};
    write_problem("bar.json", BOTH);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < fe_variant_count(); i++) {
            const char *name = fe_variant_at(i)->name;
            if (variant_missing(fe_variant_at(i), "host")) continue;
            assert_int_equal(
                child_run("solve bar.json --mesh %s --variant %s --threads 1 --result bar.r.json", meshes[k],
                          name),
                0);
            assert_bar(name, 1e-7);
        }
}

static void settings_of_a_bar(void **state)
{
    (void)state;
    static const char *const settings[] = {"--ranks 2",          "--ranks 3 --partition contiguous",
                                           "--tet-points 4",     "--precondition multigrid",
                                           "--order random",     "--jacobian difference",
                                           "--jacobian elastic", "--precondition chebyshev"};
    write_problem("bar.json", BOTH);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (child_run("solve bar.json --mesh bar_tet.msh %s --threads 1 --result bar.r.json", settings[i]))
            fail_msg("%s: %s", settings[i], child_said);
        assert_bar(settings[i], 1e-6);
    }
}

/* Voce's law in one of them, and linear hardening in the other: the soft bar's answer where the hard one has
 * a law that gains nothing before it yields. */
static void laws_mix(void **state)
{
    (void)state;
    write_problem("bar.json", "\"materials\": {\"soft\": " SOFT ", \"hard\": {\"E\": 200000, \"nu\": 0.3, "
                              "\"sigma_y\": 1e6, \"H\": 2000, \"sigma_inf\": 2e6, \"delta\": 5}}");
    child_must(0, "solve bar.json --threads 1 --result bar.r.json");
    json_t *root = result_load_checked("bar.r.json", "converged", 3);
    const law strong = {200000, 0.3, 1e6, 0};
    const double end = strain_of(&soft, 700) + strain_of(&strong, 700);
    result_near("end", result_probe(result_step(root, 2), 0), end, 1e-7 * end);
    json_t *materials = result_at(root, "materials");
    assert_string_equal(json_string_value(result_at(result_at(materials, "hard"), "hardening")), "voce");
    assert_string_equal(json_string_value(result_at(result_at(materials, "soft"), "hardening")), "linear");
    assert_null(json_object_get(root, "material"));
    json_decref(root);
    child_must(2, "solve bar.json --mesh bar_tet.msh --tet-points 4 --threads 1");
    child_assert_said("four points", "solve", PARTS("Voce's law of hardening", NULL, NULL));
}

/* Two equal materials are one: the same numbers to rounding, from operations of their own. */
static void two_equal_materials_are_one(void **state)
{
    (void)state;
    write_problem("two.json", "\"materials\": {\"soft\": " SOFT ", \"hard\": " SOFT "}");
    write_problem("one.json", "\"material\": " SOFT);
    child_must(0, "solve two.json --threads 1 --tolerance 1e-12 --result two.r.json");
    child_must(0, "solve one.json --threads 1 --tolerance 1e-12 --result one.r.json");
    json_t *two = result_load_checked("two.r.json", "converged", 3),
           *one = result_load_checked("one.r.json", "converged", 3);
    assert_null(json_object_get(one, "materials"));
    result_assert_close("two equal materials", two, one, 1e-9);
    json_decref(one), json_decref(two);
}

/* A problem with one material and a mesh of two volumes is solved with it, and told so once. */
static void one_material_is_told(void **state)
{
    (void)state;
    write_problem("one.json", "\"material\": " SOFT);
    for (int ranks = 1; ranks < 3; ranks++) {
        assert_int_equal(child_run("solve one.json --threads 1 --ranks %d --result one.r.json", ranks), 0);
        const char *first = strstr(child_said, "note: one.json: all 2 physical volumes of ");
        assert_non_null(first);
        assert_holds(first, "get the one \"material\": soft, hard;");
        assert_null(strstr(first + 1, "note: one.json"));
    }
    write_problem("bar.json", BOTH);
    child_must(0, "solve bar.json --threads 1 --result bar.r.json");
    assert_null(strstr(child_said, "note: bar.json"));
}

static void refuses(const char *materials, const char *message)
{
    write_problem("bad.json", materials);
    child_must(2, "solve bad.json --threads 1");
    child_assert_said(materials, "solve", PARTS("bad.json: key \"materials", message, NULL));
}

static void wrong_materials_are_refused(void **state)
{
    (void)state;
    refuses("\"materials\": {\"soft\": " SOFT ", \"bone\": " HARD "}",
            "materials.bone\": \"bone\" is not in ./bar_hex.msh; its groups are: ");
    refuses("\"materials\": {\"soft\": " SOFT ", \"x1\": " HARD "}",
            "materials.x1\": \"x1\" has no volume elements (its dimension is 2)");
    refuses("\"materials\": {\"soft\": " SOFT "}",
            "of ./bar_hex.msh is in none of the volumes that it names (16 of 32 elements)");
    refuses("\"material\": " SOFT ", " BOTH, "excludes \"material\"");
    refuses("\"materials\": {}", "names no physical volume");
    refuses("\"materials\": []", "[] is not an object");
    refuses("\"materials\": {\"soft\": " SOFT
            ", \"hard\": {\"E\": 1, \"nu\": 0.5, \"sigma_y\": 1, \"H\": 0}}",
            "materials.hard.nu\": 0.5 is not below 0.5");
    refuses("\"materials\": {\"soft\": " SOFT ", \"hard\": 7}", "materials.hard\": 7 is not an object");
}

/* One volume overlaps the other by one element. */
static void an_element_of_two_volumes(void **state)
{
    (void)state;
    fe_mesh mesh;
    must(fe_mesh_read("bar_hex.msh", 0, &mesh));
    fe_group *first = (fe_group *)fe_mesh_group(&mesh, "soft");
    const fe_group *second = fe_mesh_group(&mesh, "hard");
    const long long tag = mesh.elem_tag[second->facet[3]];
    first->facet = realloc(first->facet, ((size_t)first->n_facet + 1) * sizeof(int));
    first->facet[first->n_facet++] = second->facet[3];
    must(fe_mesh_write(&mesh, "overlap.msh", 0));
    fe_mesh_close(&mesh);
    char message[128];
    snprintf(message, sizeof message, "element %lld of ", tag);
    write_problem("bad.json", BOTH);
    child_must(2, "solve bad.json --mesh overlap.msh --threads 1");
    child_assert_said("overlap", "solve", PARTS("whose materials differ", message, "\"hard\""));
    write_problem("same.json", "\"materials\": {\"soft\": " SOFT ", \"hard\": " SOFT "}");
    child_must(0, "solve same.json --mesh overlap.msh --threads 1");
}

static void write_bent(const char *materials)
{
    write_file("bent.json",
               "{\"name\": \"bent\", \"meshes\": [\"bar_hex.msh\"], %s,\n"
               " \"dirichlet\": [{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}],\n"
               " \"neumann\": [{\"group\": \"x1\", \"traction\": [1, 0, 0.2]}],\n"
               " \"paths\": {\"load\": [30, -45, -70, 85]}, \"probes\": {\"corner\": [2, 1, 1]}}\n",
               materials);
}

/* A run that ends in its third step, after the second one yielded, and is resumed is the run in one. With
 * other materials it is refused. */
static void runs_resume(void **state)
{
    (void)state;
    write_bent(BOTH);
    child_must(0, "solve bent.json --threads 1 --result whole.json");
    child_must(1, "solve bent.json --threads 1 --newton-iterations 4 --result part.json");
    json_decref(result_load_checked("part.json", "not_converged", 2));
    write_bent("\"materials\": {\"hard\": " SOFT ", \"soft\": " HARD "}");
    child_must(2, "solve bent.json --threads 1 --resume part.json");
    write_bent(BOTH);
    child_must(0, "solve bent.json --threads 1 --resume part.json");
    json_t *part = result_load_checked("part.json", "converged", 4),
           *whole = result_load_checked("whole.json", "converged", 4);
    result_assert_same(part, whole);
    json_decref(part), json_decref(whole);
}

/* Several ranks give the numbers of one. */
static void ranks_agree(void **state)
{
    (void)state;
    static const char *const meshes[] = {"bar_hex.msh", "bar_tet.msh"};
    write_bent(BOTH);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(
            child_run("solve bent.json --mesh %s --threads 1 --tolerance 1e-12 --result one.json", meshes[k]),
            0);
        json_t *one = result_load_checked("one.json", "converged", 4);
        for (int ranks = 2; ranks < 4; ranks++) {
            assert_int_equal(child_run("solve bent.json --mesh %s --threads 1 --ranks %d --tolerance 1e-12 "
                                       "--result some.json",
                                       meshes[k], ranks),
                             0);
            json_t *some = result_load_checked("some.json", "converged", 4);
            result_assert_close("ranks", some, one, 1e-9);
            json_decref(some);
        }
        json_decref(one);
    }
}

/* The numbers of the file's materials stand in the fields, those of one material do not. */
static void fields_have_the_material(void **state)
{
    (void)state;
    write_problem("bar.json", BOTH);
    child_must(0, "solve bar.json --threads 1 --output fields");
    free(read_success("grep -q 'Name=\"material\"' fields/bar_0003.vtu"));
    write_problem("one.json", "\"material\": " SOFT);
    child_must(0, "solve one.json --threads 1 --output others");
    free(read_success("! grep -q 'Name=\"material\"' others/bar_0003.vtu"));
}

/* Iterations of one elastic step with multigrid. */
static double iterations_of(const char *mesh, double contrast)
{
    write_file("contrast.json",
               "{\"name\": \"contrast\", \"elastic\": true,\n"
               " \"materials\": {\"soft\": {\"E\": 1, \"nu\": 0.3}, \"hard\": {\"E\": %g, \"nu\": 0.3}},\n"
               " \"dirichlet\": [{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}],\n"
               " \"neumann\": [{\"group\": \"x1\", \"traction\": [0, 0, 1e-3]}],\n"
               " \"paths\": {\"load\": [1]}}\n",
               contrast);
    if (child_run(
            "solve contrast.json --mesh %s --precondition multigrid --tolerance 1e-6 --threads 1 --result "
            "contrast.r.json",
            mesh))
        fail_msg("%s, contrast %g: %s", mesh, contrast, child_said);
    json_t *root = result_load_checked("contrast.r.json", "converged", 1);
    const double n = result_number(result_at(result_step(root, 0), "newton"), "krylov_iterations");
    json_decref(root);
    return n;
}

/* A contrast of a million between two halves, either way: at most twice the iterations of one material. */
static void multigrid_bears_contrast(void **state)
{
    (void)state;
    static const char *const meshes[] = {"fine_hex.msh", "fine_tet.msh"};
    for (int k = 0; k < 2; k++) {
        write_bar(meshes[k], k ? FE_TET4 : FE_HEX8, (const int[]){24, 12, 12});
        const double alike = iterations_of(meshes[k], 1);
        for (int i = 0; i < 2; i++) {
            const double n = iterations_of(meshes[k], i ? 1e-6 : 1e6);
            if (n > 2 * alike) fail_msg("%s: %g iterations, %g with one material", meshes[k], n, alike);
        }
    }
}

/* fe_problem_harden adds to all materials, and 0 takes it back to the bit. */
static void all_materials_harden(void **state)
{
    (void)state;
    static const fe_material material[2] = {{.E = 70000, .nu = 0.2, .sigma_y = 90, .H = 1. / 3},
                                            {.E = 200000, .nu = 0.3, .sigma_y = 250}};
    unsigned char of[8] = {0, 1, 1, 0, 1, 0, 0, 1};
    fe_mesh mesh = make_box(FE_HEX8, (const int[]){2, 2, 2}, (const double[]){1, 1, 1}, 0, 3);
    for (int n = 1; n <= 2; n++) {
        const fe_materials materials = {n, material, of};
        fe_device *d;
        fe_partition partition;
        fe_share share;
        fe_problem p;
        must(fe_backend_host.open(0, 1, &d));
        must(fe_partition_mesh(&mesh, 1, FE_PARTITION_CONTIGUOUS, &partition));
        must(fe_share_build(&mesh, &partition, NULL, 0, &share));
        must(fe_problem_open_materials(&mesh, &share, FE_HEX8, &materials, d, &p));
        for (int turn = 0; turn < 2; turn++) {
            const double share_of_shear = turn ? 0 : 1e-3;
            must(fe_problem_harden(&p, share_of_shear));
            for (int i = 0; i < n; i++) {
                const fe_j2 *now = n == 1 ? &p.view.material : &p.view.materials[i],
                            was = fe_j2_of(&material[i]);
                const double wanted = was.hardening + share_of_shear * was.shear;
                assert_true(fabs(now->hardening - wanted) <= (turn ? 0 : 1e-12 * wanted));
                assert_true(now->shear == was.shear && now->bulk == was.bulk);
            }
        }
        fe_share_close(&share);
        fe_partition_close(&partition);
        d->ops->close(d);
    }
    fe_mesh_close(&mesh);
}

static int open_bars(void **state)
{
    if (child_open(state)) return -1;
    write_bar("bar_hex.msh", FE_HEX8, (const int[]){8, 2, 2});
    write_bar("bar_tet.msh", FE_TET4, (const int[]){8, 2, 2});
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bar_of_two),
        cmocka_unit_test(settings_of_a_bar),
        cmocka_unit_test(laws_mix),
        cmocka_unit_test(two_equal_materials_are_one),
        cmocka_unit_test(one_material_is_told),
        cmocka_unit_test(wrong_materials_are_refused),
        cmocka_unit_test(an_element_of_two_volumes),
        cmocka_unit_test(runs_resume),
        cmocka_unit_test(ranks_agree),
        cmocka_unit_test(fields_have_the_material),
        cmocka_unit_test(multigrid_bears_contrast),
        cmocka_unit_test(all_materials_harden),
    };
    return cmocka_run_group_tests(tests, open_bars, child_close);
}
