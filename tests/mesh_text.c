/* MSH files as text, and their damage. */
#include "tests/mesh_text.h"
#include "tests/common.h"

#include <stdlib.h>
#include <string.h>

char scratch[FOLDER_LENGTH + 16];

const char good_41[] =
    "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Comments\nnothing 1 2 3\n$EndComments\n"
    "$PhysicalNames\n4\n2 1 \"left\"\n2 9 \"both sides\"\n3 1 \"left\"\n0 4 \"corner\"\n$EndPhysicalNames\n"
    "$Entities\n1 0 2 1\n5 0 0 0 1 4\n"
    "7 0 0 0 0 1 1 2 1 -9 0\n8 2 0 0 2 1 1 1 9 0\n3 0 0 0 2 1 1 1 -1 2 7 8\n$EndEntities\n"
    "$Nodes\n3 12 1 1000000000000\n2 7 0 4\n1000000000000\n20\n30\n4\n0 0 0\n0 1 0\n0 1 1\n0 0 1\n1 1 0 0\n"
    "3 3 1 8\n5\n6\n7\n8\n9\n10\n11\n12\n1 0 0 .5 .5 .5\n1 1 0 0 0 0\n1 1 1 nan 0 0\n1 0 1 0 0 0\n"
    "2 0 0 0 0 0\n2 1 0 0 0 0\n2 1 1 0 0 0\n2.0e0 0 1 0 0 0\n$EndNodes\n"
    "$Elements\n4 5 1 5\n0 5 15 1\n1 4\n2 7 3 1\n2 1000000000000 4 30 20\n2 8 3 1\n3 9 10 11 12\n"
    "3 3 5 2\n4 1000000000000 5 6 20 4 8 7 30\n5 5 9 10 6 8 12 11 7\n$EndElements\n";

const char good_22[] =
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
    "$Nodes\n13\n1 0 0 0\n2 0 1 0\n3 0 1 1\n4 0 0 1\n5 1 0 0\n6 1 1 0\n7 1 1 1\n8 1 0 1\n9 2 0 0\n10 2 1 0\n"
    "11 2 1 1\n12 2 0 1\n13 7 7 7\n$EndNodes\n"
    "$Elements\n8\n1 15 0 13\n2 3 2 1 7 1 4 3 2\n3 3 4 9 7 1 -2 1 4 3 2\n4 3 2 9 8 9 10 11 12\n"
    "5 5 2 1 3 1 5 6 2 4 8 7 3\n6 5 2 1 3 5 9 10 6 8 12 11 7\n7 5 2 2 3 5 9 10 6 8 12 11 7\n8 2 2 5 5 1 2 "
    "13\n"
    "$EndElements\n$PhysicalNames\n2\n2 1 \"left\"\n2 9 \"both sides\"\n$EndPhysicalNames\n";

const char one_hexahedron[] =
    "$Nodes\n8\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n5 0 0 1\n6 1 0 1\n7 1 1 1\n8 0 1 1\n$EndNodes\n"
    "$Elements\n1\n1 5 2 1 1 1 2 3 4 5 6 7 8\n$EndElements\n";

int open_scratch(void **state)
{
    const int code = folder_open(state);
    snprintf(scratch, sizeof scratch, "%s/mesh.msh", test_folder);
    return code;
}

void read_text(const char *text, fe_mesh *mesh)
{
    write_bytes(scratch, strlen(text), text);
    must(fe_mesh_read(scratch, 0, mesh));
}

void refuse_bytes(const char *text, size_t n, const char *what)
{
    fe_mesh mesh;
    write_bytes(scratch, n, text);
    const fe_status status = fe_mesh_read(scratch, 0, &mesh);
    if (status != FE_BAD_INPUT || !strstr(fe_message(), what) || strchr(fe_message(), '\n'))
        fail_msg("status %d, \"%s\" should hold \"%s\"", status, status ? fe_message() : "", what);
    assert_null(mesh.x);
}

void refuse(const char *text, const char *what) { refuse_bytes(text, strlen(text), what); }

char *edit(const char *text, const char *after, const char *old, const char *new)
{
    const char *at = strstr(text, after);
    at = at ? strstr(at + strlen(after), old) : NULL;
    if (!at) fail_msg("no \"%s\" after \"%s\"", old, after);
    char *result = NULL;
    assert_true(asprintf(&result, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old)) > 0);
    return result;
}

void refuse_edit(const char *text, const char *after, const char *old, const char *new, const char *what)
{
    char *damaged = edit(text, after, old, new);
    refuse(damaged, what);
    free(damaged);
}
