/* What `solve` and `meshgen` say: one line for bad input, which leaves older results alone, and what --help,
 * --version and info print. */
#include "have/cuda.h"
#include "tests/child.h"
#include "tests/common.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

/* One hexahedron, element 42. Groups "empty" and "nail" are named and have no member. */
static void write_mesh(const char *path, const char *node_7, const char *element)
{
    write_file(
        path,
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n5\n2 1 \"x0\"\n2 2 \"x1\"\n2 3 \"empty\"\n"
        "0 4 \"nail\"\n3 5 \"body\"\n$EndPhysicalNames\n$Nodes\n8\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n"
        "5 0 0 1\n6 1 0 1\n%s\n8 0 1 1\n$EndNodes\n$Elements\n3\n1 3 2 1 1 1 4 8 5\n2 3 2 2 2 2 3 7 6\n%s\n"
        "$EndElements\n",
        node_7, element);
}

/* Nothing is solved, nothing printed, and an older result stays. */
static void refused(const char *arguments, const char *const part[3])
{
    char command[512], text[64];
    snprintf(command, sizeof command, "solve --result keep.json %s", arguments);
    write_file("keep.json", "older\n");
    child_must(2, command);
    child_assert_said(command, "solve", part);
    read_into("keep.json", sizeof text, text);
    if (strcmp(text, "older\n")) fail_msg("%s: the older result was replaced", command);
    read_into("out", sizeof text, text);
    if (*text) fail_msg("%s printed %s", command, text);
}

static void bad_problems(void **state)
{
    (void)state;
    static const struct {
        problem p;
        const char *part[3];
    } bad[] = {
        {{.material = "\"E\": 0, \"nu\": 0.3, \"sigma_y\": 1, \"H\": 0"},
         {"\"material.E\": 0 is not above 0"}},
        {{.material = "\"E\": -7, \"nu\": 0.3, \"sigma_y\": 1, \"H\": 0"},
         {"\"material.E\": -7 is not above 0"}},
        {{.material = "\"E\": 1, \"nu\": 0.5, \"sigma_y\": 1, \"H\": 0"},
         {"\"material.nu\": 0.5 is not below 0.5"}},
        {{.material = "\"E\": 1, \"nu\": 0.3, \"sigma_y\": 1, \"H\": 0, \"G\": 1"},
         {"unknown key \"material.G\""}},
        {{.supports = "{\"group\": \"left\", \"u\": {\"x\": 0}}"},
         {"\"dirichlet[0].group\": \"left\" is not in ./box.msh",
          "groups are: x0, x1, y0, y1, z0, z1, body"}},
        {{.loads = "{\"group\": \"right\", \"pressure\": 1}"},
         {"\"neumann[0].group\": \"right\" is not in ./box.msh"}},
        {{.loads = "{\"group\": \"body\", \"pressure\": 1}"},
         {"\"neumann[0].group\": \"body\" has no faces"}},
        {{.supports = ""}, {"\"dirichlet\": there is no support at all"}},
        {{.factors = ""}, {"\"paths.load\": has no load step"}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        child_write_problem("bad.json", bad[i].p);
        refused("bad.json", PARTS("bad.json: ", bad[i].part[0], bad[i].part[1]));
    }
    write_file("bad.json", "{\"name\": \"a\",\n \"elastic\": true,\n \"units\" \"mm\"}\n");
    refused("bad.json", PARTS("bad.json:3:", "':' expected near '\"mm\"'"));
    write_file("bad.json", "{\"supports\": []}\n");
    refused("bad.json", PARTS("bad.json: unknown key \"supports\"; known here: name, "));
    refused("missing.json", PARTS("missing.json: No such file or directory"));
    refused(".", PARTS(".: Is a directory"));
    refused("", PARTS("no problem file; usage: solve PROBLEM.json"));
}

/* solve and meshgen info refuse the same meshes with the same words. */
static void bad_meshes(void **state)
{
    (void)state;
    static const char hex[] = "42 5 2 5 5 1 2 3 4 5 6 7 8";
    static const struct {
        const char *node_7, *element, *part[3];
    } bad[] = {
        {"7 1 1 1",
         "42 6 2 5 5 1 2 3 4 5 6",
         {"m.msh: $Elements, line ", "element 42 is a 6-node prism (wedge)"}},
        {"7 1 1 1", "42 5 2 5 5 5 6 7 8 1 2 3 4", {"m.msh: element 42 has Jacobian -0.125", "inverted"}},
        {"7 nan 1 1", hex, {"m.msh: $Nodes, line 20: ", "nan"}},
        {"7 1 1 1", "42 5 2 5 5 1 2 3 4 5 6 7 9", {"m.msh: $Elements: element 42 names node 9"}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_mesh("m.msh", bad[i].node_7, bad[i].element);
        refused("p.json --mesh m.msh", bad[i].part);
        child_must(2, "meshgen info m.msh");
        child_assert_said("info", "meshgen", bad[i].part);
    }
    child_must(0, "meshgen box -c 2 -b -o m.msh");
    assert_int_equal(truncate("m.msh", 1000), 0);
    refused("p.json --mesh m.msh", PARTS("m.msh: $", ", byte "));
    child_must(2, "meshgen info m.msh");
    refused("p.json --mesh missing.msh", PARTS("missing.msh: No such file or directory"));

    write_mesh("m.msh", "7 1 1 1", hex); /* a good one, but for groups that nothing is in */
    child_must(0, "meshgen info m.msh");
    child_must(0, "solve p.json --mesh m.msh --threads 1");
    child_write_problem("bad.json", (problem){.supports = "{\"group\": \"empty\", \"u\": {\"x\": 0}}"});
    refused("bad.json --mesh m.msh",
            PARTS("bad.json: key \"dirichlet[0].group\": \"empty\" is empty", "m.msh"));
    child_write_problem("bad.json", (problem){.supports = "{\"group\": \"nail\", \"u\": {\"x\": 0}}"});
    refused("bad.json --mesh m.msh",
            PARTS("bad.json: key \"dirichlet[0].group\": \"nail\" is empty", "m.msh"));
    child_write_problem("bad.json", (problem){.loads = "{\"group\": \"empty\", \"pressure\": 1}"});
    refused("bad.json --mesh m.msh",
            PARTS("bad.json: key \"neumann[0].group\": \"empty\" is empty", "m.msh"));
}

static void bad_flags(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"--variant fast", "--variant fast: there is no such variant; solve --list prints all"},
        {"--backend gpu", "--backend gpu: is neither host nor cuda"},
        {"--backend cuda",
         FE_HAVE_CUDA ? "--backend cuda: no CUDA device was found" : "this build has no CUDA"},
        {"--fast", "--fast: is not an option"},
        {"-xr", "-x: is not an option"},
        {"--ranks", "--ranks: needs a value"},
        {"--ranks 0", "--ranks 0: is not a whole number from 1"},
        {"--ranks 28", "--ranks 28: ./box.msh has 27 nodes"},
        {"--ranks 4097", "--ranks 4097: is not a whole number from 1 to 4096"},
        {"--threads 4097", "--threads 4097: is not a whole number from 1 to 4096"},
        {"--restart 1001", "--restart 1001: is not a whole number from 1 to 1000"},
        {"--newton-iterations 100001", "--newton-iterations 100001: is not a whole number from 1 to 100000"},
        {"--krylov-iterations 100000001",
         "--krylov-iterations 100000001: is not a whole number from 1 to 100000000"},
        {"--timeout 1000001", "--timeout 1000001: is not a whole number from 1 to 1000000"},
        {"--threads 1.5", "--threads 1.5: is not a whole number"},
        {"--partition grid", "--partition grid: is none of auto, contiguous, metis, bisection"},
        {"--order sorted", "--order sorted: is none of as-is, "},
        {"--tet-points 2", "--tet-points 2: is neither 1 nor 4"},
        {"--jacobian exact", "--jacobian exact: is none of tangent, difference, elastic"},
        {"--krylov lu", "--krylov lu: is none of auto, gmres, cg"},
        {"--restart 0", "--restart 0: is not a whole number"},
        {"--orthogonalization qr", "--orthogonalization qr: is none of mgs, cgs2, dcgs2"},
        {"--precondition ilu",
         "--precondition ilu: is none of auto, none, block-jacobi, chebyshev, multigrid"},
        {"--krylov-tolerance 1", "--krylov-tolerance 1: is not a number between 0 and 1"},
        {"--krylov-iterations x", "--krylov-iterations x: is not a whole number"},
        {"--tolerance nan", "--tolerance nan: is not a number between 0 and 1"},
        {"--newton-iterations -1", "--newton-iterations -1: is not a whole number"},
        {"--anderson 17", "--anderson 17: is not a whole number from 0 to 16"},
        {"--output box.msh", "box.msh: is not a folder"},
        {"--output ''", "--output: its value is empty"},
        {"--result none/r.json", "none/r.json: cannot be written: No such file or directory"},
        {"--result .", ".: cannot be written: Is a directory"},
        {"second.json", "second.json: a second problem file"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char arguments[128];
        snprintf(arguments, sizeof arguments, "p.json --threads 1 %s", bad[i][0]);
        refused(arguments, PARTS(bad[i][1]));
    }
}

/* --- what the programs say of themselves ------------------------------------------------------------- */

/* Word by word: "--krylov" is not found in "--krylov-tolerance". */
static int names(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *found = text; (found = strstr(found, word)); found += n)
        if (!isalnum(found[n]) && found[n] != '-') return 1;
    return 0;
}

static void programs_explain_themselves(void **state)
{
    (void)state;
    static const char *const of_solve[] = {"--mesh",
                                           "--variant",
                                           "--list",
                                           "--backend",
                                           "host",
                                           "cuda",
                                           "--ranks",
                                           "--threads",
                                           "--partition",
                                           "--transport",
                                           "--timeout",
                                           "contiguous",
                                           "metis",
                                           "--order",
                                           "as-is",
                                           "rcm",
                                           "morton",
                                           "random",
                                           "--tet-points",
                                           "--jacobian",
                                           "tangent",
                                           "difference",
                                           "elastic",
                                           "--krylov",
                                           "gmres",
                                           "cg",
                                           "--restart",
                                           "--orthogonalization",
                                           "mgs",
                                           "cgs2",
                                           "dcgs2",
                                           "--precondition",
                                           "none",
                                           "block-jacobi",
                                           "--krylov-tolerance",
                                           "auto",
                                           "--krylov-iterations",
                                           "--tolerance",
                                           "1e-9",
                                           "--newton-iterations",
                                           "--no-line-search",
                                           "--anderson",
                                           "--substep",
                                           "--result",
                                           "--output",
                                           "--verbose",
                                           "--help",
                                           "--version",
                                           NULL},
                             *const of_meshgen[] = {"box",       "info",     "--element", "hex8",
                                                    "tet4",      "hex27",    "tet10",     "quadratic",
                                                    "--cells",   "--length", "--distort", "--seed",
                                                    "--order",   "--binary", "--output",  "--help",
                                                    "--version", NULL},
                             *const of_version[] = {"febench", "compiler", "CUDA", "NCCL",
                                                    "MPI",     "SIMD",     NULL};
    const struct {
        const char *command, *const *word;
    } all[] = {{"solve --help", of_solve},
               {"meshgen --help", of_meshgen},
               {"solve --version", of_version},
               {"meshgen --version", of_version}};
    char text[8192];
    for (int i = 0; i < 4; i++) {
        child_must(0, all[i].command);
        assert_string_equal(child_said, "");
        read_into("out", sizeof text, text);
        for (const char *const *word = all[i].word; *word; word++)
            if (!names(text, *word)) fail_msg("%s: %s is not in it", all[i].command, *word);
    }
}

static void meshgen_box_and_info(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "a command is needed, box, tube, irregular, refine, quadratic, turn, info or parts"},
        {"cube", "\"cube\" is not a command, box, tube, irregular, refine, quadratic, turn, info or parts"},
        {"box -o x.msh", "--cells is missing"},
        {"box -c 2", "--output is missing"},
        {"box -c 2,0,2 -o x.msh", "--cells 2,0,2: one or three counts of at least 1"},
        {"box -c 2,2 -o x.msh", "--cells 2,2: one or three counts"},
        {"box -c 2000 -o x.msh", "2000,2000,2000 cells make 8012006001 nodes"},
        {"box -c 2 -e wedge6 -o x.msh", "--element wedge6: hex8, tet4, hex27 or tet10 is needed"},
        {"box -c 2 -l 1,-1,1 -o x.msh", "--length 1,-1,1: one or three positive lengths"},
        {"box -c 2 -l 1e200 -o x.msh", "make cells of volume inf"},
        {"box -c 2 -d 0.5 -o x.msh", "--distort 0.5: a number from 0 to below 0.5"},
        {"box -c 2 -r sorted -o x.msh", "--order sorted: "},
        {"box -c 2 -s -1 -o x.msh", "--seed -1: a whole number from 0"},
        {"box -c 2 -o x.msh -z", "-z: no such flag"},
        {"box -c 2 -o x.msh --fast", "--fast: no such flag"},
        {"box -c 2 -o", "-o: a value is needed"},
        {"box -c 2 -o ''", "--output : the name of a file is needed"},
        {"box -c 2 -o none/x.msh", "none/x.msh: cannot be written: No such file or directory"},
        {"box -c 2 -n 2 -o x.msh", "--ranks is a flag of parts"},
        {"parts -c 2", "--ranks is missing"},
        {"parts -n 2", "a mesh file or --cells is needed"},
        {"parts -c 2 -n 0", "--ranks 0: numbers from 1 to 4096"},
        {"parts -c 2 -n 2 -p grid", "--partition grid: auto, contiguous, metis or bisection is needed"},
        {"parts -c 2 -n 28", "--ranks 28: box has 27 nodes"},
        {"tube -e tet4 -o x.msh", "--cells is missing"},
        {"tube -c 2", "--output is missing"},
        {"tube -c 2 -l 1 -o x.msh", "--length is a flag of box"},
        {"tube -c 2 -N 300 -o x.msh", "--nodes is a flag of irregular"},
        {"tube p.json -c 2 -o x.msh", "\"p.json\" is not a flag"},
        {"irregular -e tet4 -o x.msh", "--nodes is missing"},
        {"irregular -N 0 -o x.msh", "--nodes 0: a whole number from 1"},
        {"irregular -N 300", "--output is missing"},
        {"irregular -N 300 -c 2 -o x.msh", "--cells is a flag of box"},
        {"irregular p.json -N 300 -o x.msh", "\"p.json\" is not a flag"},
        {"refine -o x.msh", "a mesh file is needed"},
        {"refine p.json -o x.msh", "p.json: not a Gmsh mesh"},
        {"quadratic -o x.msh", "a mesh file is needed"},
        {"quadratic box.msh", "--output is missing"},
        {"quadratic box.msh -L 1 -o x.msh", "--levels is a flag of refine"},
        {"quadratic box.msh -c 2 -o x.msh", "--cells is a flag of box"},
        {"refine mine.msh -o ./mine.msh", "refine: --output ./mine.msh is the mesh that is read"},
        {"turn link.msh -o mine.msh", "turn: --output mine.msh is the mesh that is read"},
        {"quadratic mine.msh -o link.msh", "quadratic: --output link.msh is the mesh that is read"},
        {"refine p.json -L 11 -o x.msh", "--levels 11: a whole number from 1 to 10"},
        {"box -c 2 -L 1 -o x.msh", "--levels is a flag of refine"},
        {"info", "info: one mesh file is needed"},
        {"info x.msh", "x.msh: No such file or directory"},
        {"info p.json", "p.json: not a Gmsh mesh"},
    };
    char command[128], text[2048];
    child_must(0, "meshgen box -c 2 -o mine.msh");
    if (access("link.msh", F_OK)) assert_int_equal(symlink("mine.msh", "link.msh"), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(command, sizeof command, "meshgen %s", bad[i][0]);
        child_must(2, command);
        child_assert_said(command, "meshgen", PARTS(bad[i][1]));
        assert_int_not_equal(access("x.msh", F_OK), 0);
    }
    /* 2 x 1 x 3 cells of 1/2 x 1 x 1: the Jacobian of a cell is an eighth of its volume. */
    static const char *const facts[] = {
        "element           hex8\n",          "nodes             24\n", "elements          6\n",
        "\"x1\": 3 faces, 8 nodes\n",        "components        1\n",  "\"body\": 6 elements, 24 nodes\n",
        "jacobian          0.0625 to 0.062", "volume            3\n",  "aspect ratio      2 (largest)\n",
        "bandwidth         10 (mean over",   "scaled jacobian   1 (",  "valence           1 to 4 ("};
    child_must(0, "meshgen box -c 2,1,3 -l 1,1,3 -b -o y.msh");
    child_must(0, "meshgen info y.msh");
    assert_string_equal(child_said, "");
    read_into("out", sizeof text, text);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (!strstr(text, facts[i])) fail_msg("\"%s\" is not in %s", facts[i], text);
    /* Hex27 of them: a grid twice as fine, whose cells are on [-1, 1]³ as those of Hex8 are. */
    static const char *const quadratic[] = {
        "element           hex27\n",         "nodes             105\n", "elements          6\n",
        "\"x1\": 3 faces, 21 nodes\n",       "components        1\n",   "\"body\": 6 elements, 105 nodes\n",
        "jacobian          0.0625 to 0.062", "volume            3\n",   "aspect ratio      2 (largest)\n"};
    child_must(0, "meshgen quadratic y.msh -o z.msh");
    child_must(0, "meshgen info z.msh");
    read_into("out", sizeof text, text);
    for (size_t i = 0; i < sizeof quadratic / sizeof *quadratic; i++)
        if (!strstr(text, quadratic[i])) fail_msg("\"%s\" is not in %s", quadratic[i], text);
    child_must(2, "meshgen quadratic z.msh -o x.msh");
    child_assert_said("meshgen quadratic", "meshgen", PARTS("z.msh: its elements are hex27 already"));
    child_must(2, "meshgen refine z.msh -o x.msh");
    child_assert_said("meshgen refine", "meshgen", PARTS("z.msh: hex27 elements are not refined"));
    assert_int_not_equal(access("x.msh", F_OK), 0);
    /* Of 3 x 2 x 2 nodes of 2 cells, two ranks own half each: both compute both cells. */
    child_must(0, "meshgen parts -c 2,1,1 -r lexicographic -n 1,2");
    read_into("out", sizeof text, text);
    static const char *const costs[] = {"1.0000      0.000%       0.000%         0\n",
                                        "1.0000    100.000%     100.000%         1\n"};
    for (size_t i = 0; i < 2; i++)
        if (!strstr(text, costs[i])) fail_msg("\"%s\" is not in %s", costs[i], text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_problems),
        cmocka_unit_test(bad_meshes),
        cmocka_unit_test(bad_flags),
        cmocka_unit_test(programs_explain_themselves),
        cmocka_unit_test(meshgen_box_and_info),
    };
    return cmocka_run_group_tests(tests, child_open, child_close);
}
