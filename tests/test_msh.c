/* Mesh files that are read: every validation mesh in its four formats, round trips, and spellings that do no
 * harm. */
#include "tests/common.h"
#include "tests/mesh_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double length[3] = {1.5, 2, 0.7};

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
        assert_memory_equal(p->facet, q->facet,
                            (size_t)p->n_facet * (size_t)(p->dim == 3 ? 1 : fe_facet_width(a->kind)) *
                                sizeof(int));
    }
}

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
    static const char *const name[] = {"meshes/cube_tet",         "meshes/cylinder_hex",
                                       "meshes/patch_tet",        "meshes/strip_hex",
                                       "second_order/tube_tet10", "second_order/tube_hex27"};
    for (int i = 0; i < 6; ++i)
        for (int binary = 0; binary < 2; ++binary) {
            char path[128];
            fe_mesh mesh, copy;
            snprintf(path, sizeof path, "tests/validation/%s.msh", name[i]);
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

/* The text with `from` replaced by `to` in the bodies of sections of numbers, except the last one in each. */
static char *respell(const char *text, char from, char to)
{
    static const char *const section[] = {"$Entities\n", "$Nodes\n", "$Elements\n"};
    char *copy = strdup(text);
    for (int i = 0; i < 3; ++i) {
        char *at = strstr(copy, section[i]);
        if (!at) continue; /* 2.2 has no entities */
        at += strlen(section[i]);
        for (char *end = strstr(at, "\n$End"); at < end; ++at)
            if (*at == from) *at = to;
    }
    return copy;
}

/* Gmsh reads words: it does not care for lines within a section (Neper writes entities over several). */
static void lines_do_not_matter(void **state)
{
    (void)state;
    static const char *const good[] = {good_41, good_22};
    for (int i = 0; i < 2; ++i) {
        fe_mesh mesh, other;
        read_text(good[i], &mesh);
        char *const spelling[] = {respell(good[i], ' ', '\n'), respell(good[i], '\n', ' ')};
        for (int k = 0; k < 2; ++k) {
            assert_true(strcmp(spelling[k], good[i]) != 0);
            read_text(spelling[k], &other);
            require_same(&mesh, &other, 0);
            fe_mesh_close(&other);
            free(spelling[k]);
        }
        fe_mesh_close(&mesh);
    }
}

/* What Gmsh appends to a mesh: views with a header of their own, of another version and text or binary. */
static void appended_views_are_skipped(void **state)
{
    (void)state;
    static const char view[] =
        "$InterpolationScheme\n\"s\"\n0\n$EndInterpolationScheme\n"
        "$NodeData\n1\n\"T\"\n1\n0\n3\n0\n1\n1\n1 5\n$EndNodeData\n"
        "$ElementNodeData\n1\n\"$Nodes\"\n$EndElementNodeData\n$ElementData\n$EndElementData\n";
    static const char *const header[] = {"", "2.2 0 8\n", "4.1 0 8\n", "2 0 8\n", "2.2 1 8\n"};
    static const char *const good[] = {good_41, good_22};
    const int one = 1;
    for (int i = 0; i < 2; ++i)
        for (int h = 0; h < 5; ++h) {
            char text[4096], *at = text;
            at += sprintf(at, "%s", good[i]);
            for (int repeat = 0; repeat < 2; ++repeat) {
                if (h > 0) at += sprintf(at, "$MeshFormat\n%s", header[h]);
                if (h == 4) memcpy(at, &one, sizeof one), at += sizeof one;
                if (h > 0) at += sprintf(at, "%s$EndMeshFormat\n", h == 4 ? "\n" : "");
                at += sprintf(at, "%s", view);
                if (h == 4) /* data of a binary view need not begin or end with a line */
                    at += sprintf(at, "$ElementData\n1\n\"\"\n1\n0\n0\n%c%c$End%c$EndElementData\n", 1, '\n',
                                  2);
            }
            fe_mesh mesh, plain;
            write_bytes(scratch, (size_t)(at - text), text);
            must(fe_mesh_read(scratch, 0, &mesh));
            read_text(good[i], &plain);
            require_same(&plain, &mesh, 0);
            fe_mesh_close(&plain);
            fe_mesh_close(&mesh);
        }
    size_t n; /* behind a binary mesh, without a header and with one */
    for (int h = 0; h < 3; ++h) {
        char *longer = read_file(MESHES "patch_hex.bin.msh", &n);
        longer = realloc(longer, n + sizeof view + 64);
        assert_non_null(longer);
        const int n_more = h ? sprintf(longer + n, "$MeshFormat\n%s$EndMeshFormat\n%s", header[h], view)
                             : sprintf(longer + n, "%s", view);
        write_bytes(scratch, n + (size_t)n_more, longer);
        free(longer);
        fe_mesh mesh;
        must(fe_mesh_read(scratch, 0, &mesh));
        assert_int_equal(mesh.n_elem, 512);
        fe_mesh_close(&mesh);
    }
}

/* MSH 2.2 with parametric nodes: on a point, a curve, a surface and in a volume. Text or binary; returns
 * bytes. */
static size_t parametric_text(char *text, int binary)
{
    static const struct {
        int tag;
        double x[3];
        int dim, entity;
        double u[2];
    } node[] = {{1, {0, 0, 0}, 0, 1, {0}},
                {2, {1, 0, 0}, 1, 2, {0.25}},
                {3, {0, 1, 0}, 2, 3, {0.5, 7}},
                {4, {0, 0, 1}, 3, 4, {0}}};
    const int one = 1, element[] = {4, 1, 2, 1, 1, 1, 1, 2, 3, 4};
    char *at = text + sprintf(text, "$MeshFormat\n2.2 %d 8\n", binary);
    if (binary) memcpy(at, &one, sizeof one), at += sizeof one, *at++ = '\n';
    at += sprintf(at, "$EndMeshFormat\n$ParametricNodes\n4\n");
    for (int i = 0; i < 4; ++i) {
        const int n_parameter = node[i].dim % 3;
        if (!binary) {
            at += sprintf(at, "%d %g %g %g %d %d", node[i].tag, node[i].x[0], node[i].x[1], node[i].x[2],
                          node[i].dim, node[i].entity);
            for (int k = 0; k < n_parameter; ++k) at += sprintf(at, " %g", node[i].u[k]);
            *at++ = '\n';
            continue;
        }
        memcpy(at, &node[i].tag, 4), at += 4;
        memcpy(at, node[i].x, 24), at += 24;
        memcpy(at, &node[i].dim, 4), at += 4;
        memcpy(at, &node[i].entity, 4), at += 4;
        memcpy(at, node[i].u, 8 * (size_t)n_parameter), at += 8 * n_parameter;
    }
    at += sprintf(at, "%s$EndParametricNodes\n$Elements\n1\n", binary ? "\n" : "");
    if (binary)
        memcpy(at, element, sizeof element), at += sizeof element;
    else
        at += sprintf(at, "1 4 2 1 1 1 2 3 4");
    return (size_t)(at + sprintf(at, "\n$EndElements\n") - text);
}

static void parametric_nodes_are_read(void **state)
{
    (void)state;
    static const double x[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int binary = 0; binary < 2; ++binary) {
        char text[1024];
        fe_mesh mesh;
        const size_t n = parametric_text(text, binary);
        write_bytes(scratch, n, text);
        must(fe_mesh_read(scratch, 0, &mesh));
        assert_int_equal(mesh.n_node, 4);
        assert_memory_equal(mesh.x, x, sizeof x);
        fe_mesh_close(&mesh);
        for (size_t cut = 0; cut + 1 < n; ++cut) {
            write_bytes(scratch, cut, text);
            assert_int_equal(fe_mesh_read(scratch, 0, &mesh), FE_BAD_INPUT);
        }
    }
}

static void harmless_spellings_are_read(void **state)
{
    (void)state;
    const size_t n = strlen(good_22);
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
        {"$EndNodes", "\n",
         "\n$A name of words\n$EndA name\n see $EndA name of words\n$EndA name of words \n"},
        {"", "$MeshFormat\n2.2 0 8\n", "\xef\xbb\xbf$MeshFormat\n2.2 0 8\n"},
        {"", "$MeshFormat\n2.2 0 8\n", "made by hand\n$MeshFormat\n2.2 0 8 and more\n"},
        {"$PhysicalNames", "2 1 \"left\"", "2\n1 \"left\" // side"},
    };
    for (size_t i = 0; i < sizeof change / sizeof *change; ++i) {
        char *text = edit(good_22, change[i][0], change[i][1], change[i][2]);
        read_text(text, &mesh);
        assert_int_equal(mesh.n_node, 12);
        fe_mesh_close(&mesh);
        free(text);
    }
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
        cmocka_unit_test(lines_do_not_matter),
        cmocka_unit_test(appended_views_are_skipped),
        cmocka_unit_test(parametric_nodes_are_read),
    };
    return cmocka_run_group_tests(tests, open_scratch, folder_close);
}
