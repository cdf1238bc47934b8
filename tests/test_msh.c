/* Mesh files: reading every validation mesh in its four formats, round trips, and a collection of damaged
 * files, each of which must be refused with a message that names the damage. */
#include "common/mesh/mesh.h"
#include "tests/common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESHES "tests/validation/meshes/"

static char scratch[FOLDER_LENGTH + 16]; /* a file in the folder of this run */
static const double length[3] = {1.5, 2, 0.7};

static void read_text(const char *text, fe_mesh *mesh)
{
    write_bytes(scratch, strlen(text), text);
    must(fe_mesh_read(scratch, 0, mesh));
}

/* The text must be refused as bad input, with a message that holds `what`. */
static void refuse_bytes(const char *text, size_t n, const char *what)
{
    fe_mesh mesh;
    write_bytes(scratch, n, text);
    const fe_status status = fe_mesh_read(scratch, 0, &mesh);
    if (status != FE_BAD_INPUT || !strstr(fe_message(), what) || strchr(fe_message(), '\n'))
        fail_msg("status %d, \"%s\" should hold \"%s\"", status, status ? fe_message() : "", what);
    assert_null(mesh.x);
}

static void refuse(const char *text, const char *what) { refuse_bytes(text, strlen(text), what); }

/* A copy of text in which the first `old` after `after` is `new`. */
static char *edit(const char *text, const char *after, const char *old, const char *new)
{
    const char *at = strstr(text, after);
    at = at ? strstr(at + strlen(after), old) : NULL;
    if (!at) fail_msg("no \"%s\" after \"%s\"", old, after);
    char *result = NULL;
    assert_true(asprintf(&result, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old)) > 0);
    return result;
}

static void refuse_edit(const char *text, const char *after, const char *old, const char *new,
                        const char *what)
{
    char *damaged = edit(text, after, old, new);
    refuse(damaged, what);
    free(damaged);
}

/* Coordinates may differ by `tolerance` times their size: Gmsh writes 16 digits, one short of all bits. */
static void require_same(const fe_mesh *a, const fe_mesh *b, double tolerance)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->n_node, b->n_node);
    assert_int_equal(a->n_elem, b->n_elem);
    assert_int_equal(a->n_group, b->n_group);
    const size_t n = (size_t)a->n_node, m = (size_t)a->n_elem;
    for (size_t k = 0; k < 3 * n; ++k) assert_true(fabs(a->x[k] - b->x[k]) <= tolerance * fabs(a->x[k]));
    assert_memory_equal(a->node_tag, b->node_tag, n * sizeof *a->node_tag);
    assert_memory_equal(a->conn, b->conn, m * (size_t)fe_corners(a->kind) * sizeof *a->conn);
    assert_memory_equal(a->elem_group, b->elem_group, m * sizeof *a->elem_group);
    for (int g = 0; g < a->n_group; ++g) {
        const fe_group *p = &a->group[g], *q = &b->group[g];
        assert_string_equal(p->name, q->name);
        assert_int_equal(p->dim, q->dim);
        assert_int_equal(p->number, q->number);
        assert_int_equal(p->n_facet, q->n_facet);
        assert_memory_equal(p->facet, q->facet, (size_t)p->n_facet * (p->dim == 3 ? 1 : 4) * sizeof(int));
    }
}

/* --- validation meshes --------------------------------------------------------------------------- */

static void validation_meshes_are_read_alike(void **state)
{
    (void)state;
    /* counts and volumes of tests/validation/reference, nodes and faces of one group */
    static const struct {
        const char *name;
        int n_node, n_elem;
        double volume;
        const char *group;
        int n_facet, n_group_node;
    } fact[] = {
        {"cube_hex", 729, 512, 1000.0, "x1", 64, 81},
        {"cube_tet", 683, 2526, 999.9999999999999, "x0", 164, 99},
        {"cylinder_hex", 2100, 1440, 470902.5304570323, "inner", 72, 100},
        {"cylinder_tet", 1454, 4904, 471234.7503154834, "outer", 250, 169},
        {"patch_hex", 729, 512, 999.9999999999982, "boundary", 384, 386},
        {"patch_tet", 729, 3072, 1000.0000000000041, "boundary", 768, 386},
        {"strip_hex", 1515, 912, 160.37906123095485, "hole", 48, 75},
        {"strip_tet", 1160, 3586, 160.38033100185623, "side", 85, 66},
    };
    static const char *const spelling[] = {"", ".v22", ".bin", ".v22.bin"};
    for (size_t i = 0; i < sizeof fact / sizeof *fact; ++i) {
        fe_mesh first = {0};
        for (int s = 0; s < 4; ++s) {
            char path[128];
            snprintf(path, sizeof path, MESHES "%s%s.msh", fact[i].name, spelling[s]);
            if (access(path, F_OK) != 0 && s >= 2) continue; /* only the patch meshes exist in binary */
            fe_mesh mesh;
            must(fe_mesh_read(path, 0, &mesh));
            assert_int_equal(mesh.n_node, fact[i].n_node);
            assert_int_equal(mesh.n_elem, fact[i].n_elem);
            fe_quality quality;
            must(fe_mesh_quality(&mesh, &quality));
            assert_true(fabs(quality.volume / fact[i].volume - 1) < 1e-13);
            const fe_group *group = fe_mesh_group(&mesh, fact[i].group);
            assert_non_null(group);
            int n, *node;
            must(fe_group_nodes(&mesh, group, &n, &node));
            for (int k = 1; k < n; ++k) assert_true(node[k - 1] < node[k]);
            free(node);
            assert_int_equal(group->n_facet, fact[i].n_facet);
            assert_int_equal(n, fact[i].n_group_node);
            assert_null(fe_mesh_group(&mesh, "absent"));
            if (s == 0) {
                first = mesh;
                continue;
            }
            require_same(&first, &mesh, 1e-15);
            fe_mesh_close(&mesh);
        }
        fe_mesh_close(&first);
    }
}

static void round_trips_keep_everything(void **state)
{
    (void)state;
    static const char *const name[] = {"cube_tet", "cylinder_hex", "patch_tet", "strip_hex"};
    for (int i = 0; i < 4; ++i)
        for (int binary = 0; binary < 2; ++binary) {
            char path[128];
            fe_mesh mesh, copy;
            snprintf(path, sizeof path, MESHES "%s.msh", name[i]);
            must(fe_mesh_read(path, 0, &mesh));
            must(fe_mesh_write(&mesh, scratch, binary));
            must(fe_mesh_read(scratch, 0, &copy));
            require_same(&mesh, &copy, 0);
            assert_memory_equal(mesh.elem_tag, copy.elem_tag, (size_t)mesh.n_elem * sizeof *mesh.elem_tag);
            fe_mesh_close(&mesh);
            fe_mesh_close(&copy);
        }
}

static void unwritable_files_are_named(void **state)
{
    (void)state;
    fe_mesh mesh = make_box(FE_HEX8, (const int[]){20, 20, 20}, length, 0, 3);
    assert_int_equal(fe_mesh_write(&mesh, "/absent/folder/box.msh", 0), FE_BAD_INPUT);
    assert_message("/absent/folder/box.msh");
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(fe_mesh_write(&mesh, "/dev/full", 1), FE_FAILED);
        assert_message("/dev/full");
    }
    fe_mesh_close(&mesh);
}

/* --- files --------------------------------------------------------------------------------------- */

/* Two unit cubes; the second node block is empty, the third parametric; "left" is overlapped by "both". */
static const char good_41[] =
    "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Comments\nnothing 1 2 3\n$EndComments\n"
    "$PhysicalNames\n4\n2 1 \"left\"\n2 9 \"both sides\"\n3 1 \"left\"\n0 4 \"corner\"\n$EndPhysicalNames\n"
    "$Entities\n1 0 2 1\n5 0 0 0 1 4\n"
    "7 0 0 0 0 1 1 2 1 -9 0\n8 2 0 0 2 1 1 1 9 0\n3 0 0 0 2 1 1 1 -1 2 7 8\n$EndEntities\n"
    "$Nodes\n3 12 1 1000000000000\n2 7 0 4\n1000000000000\n20\n30\n4\n0 0 0\n0 1 0\n0 1 1\n0 0 1\n1 1 0 0\n"
    "3 3 1 8\n5\n6\n7\n8\n9\n10\n11\n12\n1 0 0 .5 .5 .5\n1 1 0 0 0 0\n1 1 1 nan 0 0\n1 0 1 0 0 0\n"
    "2 0 0 0 0 0\n2 1 0 0 0 0\n2 1 1 0 0 0\n2.0e0 0 1 0 0 0\n$EndNodes\n"
    "$Elements\n4 5 1 5\n0 5 15 1\n1 4\n2 7 3 1\n2 1000000000000 4 30 20\n2 8 3 1\n3 9 10 11 12\n"
    "3 3 5 2\n4 1000000000000 5 6 20 4 8 7 30\n5 5 9 10 6 8 12 11 7\n$EndElements\n";

/* The same in 2.2: the element of two groups is there once for each; tags after the first are ignored. */
static const char good_22[] =
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
    "$Nodes\n13\n1 0 0 0\n2 0 1 0\n3 0 1 1\n4 0 0 1\n5 1 0 0\n6 1 1 0\n7 1 1 1\n8 1 0 1\n9 2 0 0\n10 2 1 0\n"
    "11 2 1 1\n12 2 0 1\n13 7 7 7\n$EndNodes\n"
    "$Elements\n8\n1 15 0 13\n2 3 2 1 7 1 4 3 2\n3 3 4 9 7 1 -2 1 4 3 2\n4 3 2 9 8 9 10 11 12\n"
    "5 5 2 1 3 1 5 6 2 4 8 7 3\n6 5 2 1 3 5 9 10 6 8 12 11 7\n7 5 2 2 3 5 9 10 6 8 12 11 7\n8 2 2 5 5 1 2 "
    "13\n"
    "$EndElements\n$PhysicalNames\n2\n2 1 \"left\"\n2 9 \"both sides\"\n$EndPhysicalNames\n";

static void groups_overlap_and_merge(void **state)
{
    (void)state;
    fe_mesh mesh;
    read_text(good_41, &mesh);
    assert_int_equal(mesh.n_node, 12);
    assert_int_equal(mesh.n_group, 4);
    const fe_group *left = fe_mesh_group(&mesh, "left");
    assert_true(left->dim == 2 && left->n_facet == 1); /* not the volume of that name */
    assert_int_equal(fe_mesh_group(&mesh, "both sides")->n_facet, 2);
    assert_int_equal(fe_mesh_group(&mesh, "corner")->dim, 0);
    assert_int_equal(mesh.elem_group[0], 1);
    assert_true(mesh.node_tag[0] == 1000000000000);
    fe_mesh copy;
    must(fe_mesh_write(&mesh, scratch, 1));
    must(fe_mesh_read(scratch, 0, &copy));
    require_same(&mesh, &copy, 0);
    fe_mesh_close(&mesh);
    fe_mesh_close(&copy);

    read_text(good_22, &mesh);
    assert_int_equal(mesh.n_node, 12); /* 13 is dropped */
    assert_int_equal(mesh.n_elem, 2);  /* 7 is 6 */
    assert_int_equal(fe_mesh_group(&mesh, "left")->n_facet, 1);
    assert_int_equal(fe_mesh_group(&mesh, "both sides")->n_facet, 2);
    assert_int_equal(fe_mesh_group(&mesh, "3:1")->n_facet, 2);
    assert_int_equal(fe_mesh_group(&mesh, "3:2")->n_facet, 1);
    assert_int_equal(fe_mesh_group(&mesh, "3:2")->facet[0], 1);
    assert_int_equal(fe_mesh_group(&mesh, "2:5")->n_facet, 0); /* its facet hangs on node 13 */
    fe_mesh_close(&mesh);
}

/* A cut surface inside the volume carries the number of a real group, as Gmsh writes it. */
static void partition_cuts_join_no_group(void **state)
{
    (void)state;
    static const char partitioned[] = "$EndEntities\n$PartitionedEntities\n2\n1\n4 1\n0 0 2 1\n"
                                      "7 2 7 1 1 0 0 0 0 1 1 2 1 9 0\n8 3 3 2 1 2 2 0 0 2 1 1 1 1 0\n"
                                      "3 3 3 1 1 0 0 0 2 1 1 1 1 2 7 8\n$EndPartitionedEntities\n";
    char *text = edit(good_41, "", "$Entities\n1 0 2 1", "$Entities\n1 0 0 0"), *whole;
    char *from = strstr(text, "7 0 0 0 0 1 1"), *to = strstr(text, "$EndEntities");
    memmove(from, to, strlen(to) + 1);
    whole = edit(text, "", "$EndEntities\n", partitioned);
    fe_mesh mesh;
    read_text(whole, &mesh);
    assert_int_equal(fe_mesh_group(&mesh, "left")->n_facet, 1);
    assert_int_equal(fe_mesh_group(&mesh, "both sides")->n_facet, 1);
    fe_mesh_close(&mesh);
    free(text);
    free(whole);
}

static void harmless_spellings_are_read(void **state)
{
    (void)state;
    const size_t n = sizeof good_22 - 1;
    char *crlf = calloc(2, n + 1), *to = crlf;
    for (const char *from = good_22; *from; *to++ = *from++)
        if (*from == '\n') *to++ = '\r';
    to[-2] = 0; /* no final newline */
    fe_mesh mesh;
    read_text(crlf, &mesh);
    fe_mesh_close(&mesh);
    free(crlf);
    static const char *const change[][3] = {
        {"$Nodes", "1 0 0 0", "1\t0 +0.0\t -0.0E+5  "},
        {"$Nodes", "9 2 0 0", "9 2.00000000000000000000 0 0"},
        {"$EndNodes", "\n", "\n\n  \n"},
        {"$EndNodes", "\n", "\nremark\n$Odd\n1 nan\n$EndOdd\n"},
    };
    for (size_t i = 0; i < sizeof change / sizeof *change; ++i) {
        char *text = edit(good_22, change[i][0], change[i][1], change[i][2]);
        read_text(text, &mesh);
        assert_int_equal(mesh.n_node, 12);
        fe_mesh_close(&mesh);
        free(text);
    }
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *after, *old, *new, *what;
    } bad[] = {
        {good_41, "", "4.1 0 8", "4 0 8", "MSH version 4.0"},
        {good_41, "", "4.1 0 8", "4.0 0 8", "MSH version 4.0"},
        {good_41, "", "4.1 0 8", "3.7 0 8", "3.7"},
        {good_41, "", "4.1 0 8", "4.1 0 4", "4 bytes"},
        {good_41, "", "$MeshFormat", "solid part", "\"solid\""},
        {good_41, "", "$EndComments", "$EndRemarks", "$EndComments"},
        {good_41, "$Nodes", "1 0 0 .5", "nan 0 0 .5", "line 42: \"nan\""},
        {good_22, "$Nodes", "4 0 0 1", "4 0 0 -inf", "\"-inf\""},
        {good_22, "$Nodes", "4 0 0 1", "4 0 1e999 1", "\"1e999\""},
        {good_22, "$Nodes", "4 0 0 1", "4 0,5 0 1", "$Nodes, line 9: \"0,5\""},
        {good_22, "$Nodes", "4 0 0 1", "4 0 0 1d5", "\"1d5\""},
        {good_22, "$Nodes", "4 0 0 1", "4 0 0 0x1", "\"0x1\""},
        {good_22, "$Nodes", "4 0 0 1", "4 0 0", "line 9: the line ends where coordinate z"},
        {good_22, "$Nodes", "4 0 0 1", "4 0 0 1 1", "\"1\" where the line should end"},
        {good_22, "$Nodes", "4 0 0 1", "4.5 0 0 1", "\"4.5\""},
        {good_22, "$Nodes", "4 0 0 1", "99999999999999999999 0 0 1", "\"99999999999999999999\""},
        {good_22, "$Nodes", "4 0 0 1", "3 0 0 1", "node tag 3 occurs twice"},
        {good_22, "$Nodes", "13\n", "12\n", "$EndNodes"},
        {good_22, "$Nodes", "13\n", "14\n", "fewer entries"},
        {good_22, "$Nodes", "13\n", "2000000000\n", "2000000000 nodes are announced"},
        {good_22, "$Nodes", "13\n", "-13\n", "-13"},
        {good_22, "", "$EndNodes", "$EndElements", "$EndElements"},
        {good_22, "$Elements", "8\n", "7\n", "$EndElements should be"},
        {good_22, "$Elements", "8\n", "9\n", "fewer entries"},
        {good_22, "$Elements", "5 5 2 1", "5 5 2000000000 1", "element"},
        {good_22, "$Elements", "5 5 2 1", "5 6 2 1", "element 5 is of type 6 (Prism6)"},
        {good_22, "$Elements", "5 5 2 1", "5 11 2 1", "Tet10"},
        {good_22, "$Elements", "5 5 2 1", "5 -3 2 1", "type -3"},
        {good_22, "$Elements", "5 5 2 1 3 1 5", "5 5 2 1 3 5 5", "element 5 repeats node 5"},
        {good_22, "$Elements", "5 5 2 1 3 1 5 6 2 4 8 7 3", "5 5 2 1 3 4 8 7 3 1 5 6 2",
         "element 5 has Jacobian -"},
        {good_22, "$Elements", "5 5 2 1 3 1", "5 5 2 1 3 77", "element 5 names node 77"},
        {good_22, "$Elements", "2 3 2 1 7 1", "2 3 2 1 7 78", "element 2 names node 78"},
        {good_22, "$Elements", "2 3 2 1 7 1 4", "2 3 2 1 7 4 4", "element 2 repeats node 4"},
        {good_22, "$Elements", "7 5 2 2", "7 5 2 1", "element 7 has the same nodes as element 6"},
        {good_22, "$Elements", "6 5 2 1", "6 5 2 2", "element 7 repeats element 6"},
        {good_22, "$Elements", "6 5 2 1 3 5", "5 5 2 1 3 5", "element tag 5 occurs twice"},
        {good_22, "$Elements", "5 5 2 1 3 1 5 6 2 4 8 7 3", "5 4 2 1 3 1 5 6 2", "mixed elements"},
        {good_41, "$Elements", "5 5 9 10 6 8 12 11 7", "5 1000000000000 5 6 20 4 8 7 30", "the same nodes"},
        {good_41, "$Elements", "3 3 5 2", "3 3 17 2", "element 4 is of type 17 (Hex20)"},
        {good_41, "$Elements", "3 3 5 2", "2 3 5 2", "block of dimension 2"},
        {good_41, "$Elements", "3 3 5 2", "3 3 5 3", "more elements than announced"},
        {good_41, "$Elements", "4 5 1 5", "4 6 1 5", "announced"},
        {good_41, "$Elements", "4 5 1 5", "9223372036854775807 5 1 5", "9223372036854775807 blocks"},
        {good_41, "$Elements", "4 5 1 5", "4 9223372036854775807 1 5", "9223372036854775807 elements"},
        {good_41, "$Nodes", "3 12 1", "3 13 1", "announced"},
        {good_41, "$Nodes", "3 3 1 8", "3 3 1 9", "more nodes than announced"},
        {good_41, "$Nodes", "3 3 1 8", "3 3 0 8", "where the line should end"},
        {good_41, "$Nodes", "20\n", "30\n", "node tag 30 occurs twice"},
        {good_41, "$Entities", "1 0 2 1", "1 0 900000000 1", "900000000 entities"},
        {good_41, "$Entities", "1 1 2 1 -9", "1 1 99999999 1 -9", "99999999 physical groups"},
        {good_41, "$PhysicalNames", "2 1 \"left\"", "2 1 left", "2:1 has no name in quotes"},
        {good_41, "$PhysicalNames", "2 9", "2 1", "2:1 is named twice"},
        {good_41, "$PhysicalNames", "2 9", "5 9", "dimension is 5"},
        {good_41, "$EndEntities\n", "$Nodes", "$Odes", "$EndOdes"},
        {good_41, "$EndNodes\n", "$Elements\n4 5 1 5", "$Nodes\n4 5 1 5", "second section"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
        refuse_edit(bad[i].text, bad[i].after, bad[i].old, bad[i].new, bad[i].what);
    refuse("", "empty");
    refuse("\n \n", "no $MeshFormat");
    refuse("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n", "no $Nodes section");
    refuse("$Nodes\n0\n$EndNodes\n", "before $MeshFormat");
    refuse("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n1\n1 0 0 0\n$EndNodes\n$Elements\n1\n1 15 2 1 1 "
           "1\n$EndElements\n",
           "no volume elements: did you define a physical volume?");
    fe_mesh mesh;
    assert_int_equal(fe_mesh_read("absent.msh", 0, &mesh), FE_BAD_INPUT);
    assert_message("absent.msh: No such file");
    assert_int_equal(fe_mesh_read(".", 0, &mesh), FE_BAD_INPUT);
}

static void binary_damage_is_refused(void **state)
{
    (void)state;
    size_t n;
    char *text = read_file(MESHES "patch_hex.bin.msh", &n);
    char *mark = strstr(text, "\n4.1 1 8\n") + 9;
    memcpy(mark, "\0\0\0\1", 4);
    refuse_bytes(text, n, "byte order");
    memcpy(mark, "\7\0\0\0", 4);
    refuse_bytes(text, n, "byte order mark is 7");
    memcpy(mark, "\1\0\0\0", 4);
    const double nan_value = NAN;
    char *nodes = memmem(text, n, "$Nodes\n", 7) + 7;
    /* behind the totals and the block's header: a tag, then its coordinates, as the first block is a point */
    const int64_t absurd = INT64_MAX / 4;
    char keep[8];
    memcpy(nodes + 32 + 20 + 8, &nan_value, 8);
    refuse_bytes(text, n, "coordinate x of node 1 is");
    memset(nodes + 32 + 20 + 8, 0, 8);
    memcpy(keep, nodes + 8, 8);
    memcpy(nodes + 8, &absurd, 8);
    refuse_bytes(text, n, "nodes are announced");
    memcpy(nodes + 8, keep, 8);
    memcpy(nodes + 32 + 12, &absurd, 8);
    refuse_bytes(text, n, "more nodes than announced");
    free(text);
}

/* --- damage at every byte ------------------------------------------------------------------------ */

static void read_damaged(const char *text, size_t n, int must_fail)
{
    fe_mesh mesh;
    write_bytes(scratch, n, text);
    const fe_status status = fe_mesh_read(scratch, 0, &mesh);
    if (status != FE_OK && status != FE_BAD_INPUT) fail_msg("status %d: %s", status, fe_message());
    if (must_fail && status == FE_OK) fail_msg("cut at byte %zu, and read", n);
    fe_mesh_close(&mesh);
}

/* A box small enough for thousands of readings, or good_22. */
static char *small_file(int which, size_t *n)
{
    if (which == 2) {
        *n = sizeof good_22 - 1;
        return strdup(good_22);
    }
    fe_mesh mesh = make_box(which ? FE_TET4 : FE_HEX8, (const int[]){2, 1, 1}, length, 0, 3);
    must(fe_mesh_write(&mesh, scratch, which == 0));
    fe_mesh_close(&mesh);
    return read_file(scratch, n);
}

static void cut_files_are_refused(void **state)
{
    (void)state;
    for (int which = 0; which < 3; ++which) {
        size_t n;
        char *text = small_file(which, &n);
        /* the final newline may go, and good_22 ends in a section that may be missing */
        const char *const last = which == 2 ? strstr(text, "$PhysicalNames") : text + n;
        for (size_t cut = 0; cut < n - 1; ++cut) {
            const int may_end = which == 2 && (text + cut == last || text + cut == last - 1);
            read_damaged(text, cut, !may_end);
        }
        free(text);
    }
    size_t n;
    char *text = read_file(MESHES "patch_hex.v22.bin.msh", &n);
    for (size_t cut = 0; cut < n - 1; cut += cut < n - 200 ? 97 : 1) read_damaged(text, cut, 1);
    free(text);
}

static void flipped_bytes_do_no_harm(void **state)
{
    (void)state;
    uint64_t random = 20240607;
    for (int which = 0; which < 3; ++which) {
        size_t n;
        char *text = small_file(which, &n), *copy = malloc(n);
        for (int round = 0; round < 2500; ++round) {
            memcpy(copy, text, n);
            for (int flips = 1 + round % 4; flips > 0; --flips) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                const size_t at = (size_t)(random >> 24) % n;
                /* digits for digits keep most texts readable; any byte for the others */
                copy[at] = round % 2 && copy[at] >= '0' && copy[at] <= '9' ? (char)('0' + (random >> 8) % 10)
                                                                           : (char)(random >> 16);
            }
            read_damaged(copy, n, 0);
        }
        free(text);
        free(copy);
    }
}

static int open_scratch(void **state)
{
    const int code = folder_open(state);
    snprintf(scratch, sizeof scratch, "%s/mesh.msh", test_folder);
    return code;
}

/* --- files made to harm ------------------------------------------------------------------------- */

static const char one_hexahedron[] =
    "$Nodes\n8\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n5 0 0 1\n6 1 0 1\n7 1 1 1\n8 0 1 1\n$EndNodes\n"
    "$Elements\n1\n1 5 2 1 1 1 2 3 4 5 6 7 8\n$EndElements\n";

/* Names longer than what a message shows: 47 characters with the $. */
static void long_section_names_are_skipped(void **state)
{
    (void)state;
    for (int n = 40; n < 64; ++n) {
        char text[1024], name[64] = {0};
        fe_mesh mesh;
        memset(name, 'a', (size_t)n);
        snprintf(text, sizeof text, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$%s\n$End%.*s\nx\n$End%s\n%s",
                 name, n - 1, name, name, one_hexahedron);
        if (n == 40) assert_non_null(strstr(text, "$Nodes"));
        read_text(text, &mesh);
        assert_int_equal(mesh.n_elem, 1);
        fe_mesh_close(&mesh);
        snprintf(text, sizeof text, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$%s",
                 name); /* ends with the name */
        refuse(text, "the section has no $Enda");
    }
}

/* 2^62 + 1 ghost entities: twice as many overflow 64 bits. */
static void counts_that_overflow_are_refused(void **state)
{
    (void)state;
    char text[256];
    const int one = 1;
    const uint64_t counts[2] = {1, ((uint64_t)1 << 62) + 1};
    size_t n = (size_t)sprintf(text, "$MeshFormat\n4.1 1 8\n");
    memcpy(text + n, &one, sizeof one), n += sizeof one;
    n += (size_t)sprintf(text + n, "\n$EndMeshFormat\n$PartitionedEntities\n");
    memcpy(text + n, counts, sizeof counts), n += sizeof counts;
    memset(text + n, 0, 64), n += 64;
    refuse_bytes(text, n, "4611686018427387905 ghost entities are announced, but only 64 bytes follow");
}

/* 20 000 triangles in 1000 groups are 20 million members in 230 kB. */
static void members_are_in_proportion(void **state)
{
    (void)state;
    enum { N_GROUP = 1000, N_FACET = 20000 };
    char *text = malloc(400000), *at = text;
    assert_non_null(text);
    at += sprintf(at, "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 0 1 1\n1 0 0 0 1 1 0 %d", N_GROUP);
    for (int g = 1; g <= N_GROUP; ++g) at += sprintf(at, " %d", g);
    at += sprintf(at,
                  " 0\n1 0 0 0 1 1 1 1 5 0\n$EndEntities\n$Nodes\n1 8 1 8\n3 1 0 8\n1\n2\n3\n4\n5\n6\n7\n8\n"
                  "0 0 0\n1 0 0\n1 1 0\n0 1 0\n0 0 1\n1 0 1\n1 1 1\n0 1 1\n$EndNodes\n$Elements\n2 %d 1 %d\n"
                  "2 1 2 %d\n",
                  N_FACET + 1, N_FACET + 1, N_FACET);
    for (int f = 0; f < N_FACET; ++f) at += sprintf(at, "%d 1 2 3\n", f + 2);
    sprintf(at, "3 1 5 1\n1 1 2 3 4 5 6 7 8\n$EndElements\n");
    refuse(text, "its groups have 20000001 members");
    free(text);
}

/* The inverse of fe_mix. */
static uint64_t unmixed(uint64_t z)
{
    z ^= z >> 31 ^ z >> 62;
    z *= 0x319642b2d24d8ec3u;
    z ^= z >> 27 ^ z >> 54;
    z *= 0x96de1b173f119089u;
    z ^= z >> 30 ^ z >> 60;
    return z - 0x9e3779b97f4a7c15u;
}

/* Seconds to read a mesh with 30 000 more nodes, whose tags are fe_mix⁻¹ of multiples of 2^shift, if
 * positive. */
static double seconds_to_read(int shift)
{
    enum { N_NODE = 30000 };
    char *text = malloc(1200000), *at = text;
    fe_mesh mesh;
    assert_non_null(text);
    at += sprintf(at, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n%d\n", N_NODE + 8);
    at += sprintf(at, "%s", "1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n5 0 0 1\n6 1 0 1\n7 1 1 1\n8 0 1 1\n");
    int n = 0;
    for (uint64_t k = 1; n < N_NODE; ++k) {
        const uint64_t tag = unmixed(k << shift);
        assert_true(fe_mix(tag) == k << shift);
        if (tag >> 63 || tag < 9) continue;
        at += sprintf(at, "%llu 0 0 0\n", (unsigned long long)tag);
        ++n;
    }
    sprintf(at, "$EndNodes\n%s", strstr(one_hexahedron, "$Elements"));
    const double begin = fe_seconds();
    read_text(text, &mesh);
    const double seconds = fe_seconds() - begin;
    assert_int_equal(mesh.n_node, 8);
    fe_mesh_close(&mesh);
    free(text);
    return seconds;
}

/* Tags whose unseeded hashes share their low 20 bits are found as fast as others: within 20 times, for a busy
 * machine; without a seed it takes 80 times as long. */
static void no_tags_collide_by_design(void **state)
{
    (void)state;
    double usual = INFINITY, designed = INFINITY;
    for (int i = 0; i < 3; ++i) {
        usual = fmin(usual, seconds_to_read(0));
        designed = fmin(designed, seconds_to_read(20));
    }
    if (!(designed < 20 * usual)) fail_msg("%g s, usually %g s", designed, usual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(validation_meshes_are_read_alike),
        cmocka_unit_test(round_trips_keep_everything),
        cmocka_unit_test(unwritable_files_are_named),
        cmocka_unit_test(groups_overlap_and_merge),
        cmocka_unit_test(partition_cuts_join_no_group),
        cmocka_unit_test(harmless_spellings_are_read),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(binary_damage_is_refused),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(flipped_bytes_do_no_harm),
        cmocka_unit_test(long_section_names_are_skipped),
        cmocka_unit_test(counts_that_overflow_are_refused),
        cmocka_unit_test(members_are_in_proportion),
        cmocka_unit_test(no_tags_collide_by_design),
    };
    return cmocka_run_group_tests(tests, open_scratch, folder_close);
}
