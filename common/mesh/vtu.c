/* VTU and PVD files, as VTK's XML formats document describes them.
 *
 * Each array stands in its element, as base64 of [n_block, block, last block, compressed sizes ...] (UInt64)
 * followed by base64 of the zlib blocks. base64 costs a third over raw bytes and keeps the file well-formed
 * XML. One appended section would be an alternative, but VTK 9.1 as Ubuntu has it, with a newer expat, reads
 * none above 4 KB, not even its own. */
#include "common/mesh/vtu.h"
#include "common/base/file.h"
#include "common/mesh/quadratic.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Bytes of an array that are compressed together: large enough for zlib's 32 KiB window, small enough that
 * the threads share an array. */
enum { BLOCK = 1 << 18 };

typedef struct base64 {
    char *text;
    size_t n, capacity;
} base64;

/* A DataArray: its attributes and where its numbers are. */
typedef struct array {
    const char *name, *type;
    int n_component;
    size_t item; /* bytes of one number */
    const void *data;
} array;

static fe_status reserve(base64 *a, size_t more)
{
    if (a->capacity - a->n >= more) return FE_OK;
    const size_t capacity = a->n + more > 2 * a->capacity ? a->n + more : 2 * a->capacity;
    char *text = realloc(a->text, capacity);
    if (!text) return fe_fail(FE_OUT_OF_MEMORY, "VTU: no host memory for %zu bytes", capacity);
    a->text = text;
    a->capacity = capacity;
    return FE_OK;
}

static fe_status append_base64(base64 *a, const unsigned char *byte, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    FE_TRY(reserve(a, (n + 2) / 3 * 4));
    char *out = a->text + a->n;
    for (size_t i = 0; i < n; i += 3) {
        const int left = n - i < 3 ? (int)(n - i) : 3;
        const unsigned bits = (unsigned)byte[i] << 16 | (left > 1 ? (unsigned)byte[i + 1] << 8 : 0) |
                              (left > 2 ? (unsigned)byte[i + 2] : 0);
        *out++ = digit[bits >> 18];
        *out++ = digit[bits >> 12 & 63];
        *out++ = left > 1 ? digit[bits >> 6 & 63] : '=';
        *out++ = left > 2 ? digit[bits & 63] : '=';
    }
    a->n += (n + 2) / 3 * 4;
    return FE_OK;
}

/* Compresses n_block blocks of `data` into packed [n_block][bound] side by side; size [n_block]. */
static int compress_blocks(const unsigned char *data, size_t bytes, int64_t n_block, size_t bound,
                           unsigned char *packed, uint64_t *size)
{
    int failed = 0;
#pragma omp parallel for reduction(| : failed)
    for (int64_t b = 0; b < n_block; b++) {
        const size_t start = (size_t)b * BLOCK, length = bytes - start < BLOCK ? bytes - start : BLOCK;
        uLongf packed_length = bound;
        failed |=
            compress2(packed + (size_t)b * bound, &packed_length, data + start, length, Z_BEST_SPEED) != Z_OK;
        size[b] = packed_length;
    }
    return failed;
}

/* A DataArray of n tuples; `a` is scratch. Errors of the stream are found by fe_file_commit. */
static fe_status write_array(FILE *xml, base64 *a, const array *d, size_t n_tuple)
{
    const size_t bytes = n_tuple * (size_t)d->n_component * d->item;
    const size_t n_block = (bytes + BLOCK - 1) / BLOCK, bound = compressBound(BLOCK);
    uint64_t *header = NULL;
    unsigned char *packed = NULL;
    a->n = 0;
    FE_ALLOCATE(header, n_block + 3, "VTU header");
    fe_status status = fe_allocate(n_block, bound, "VTU blocks", (void **)&packed);
    if (status == FE_OK) {
        header[0] = n_block;
        header[1] = BLOCK;
        header[2] = bytes % BLOCK;
        if (compress_blocks(d->data, bytes, (int64_t)n_block, bound, packed, header + 3))
            status = fe_fail(FE_FAILED, "VTU: zlib cannot compress %zu bytes", bytes);
    }
    size_t n = 0;
    for (size_t b = 0; status == FE_OK && b < n_block; b++) {
        memmove(packed + n, packed + b * bound, header[3 + b]);
        n += header[3 + b];
    }
    if (status == FE_OK) status = append_base64(a, (unsigned char *)header, (n_block + 3) * sizeof *header);
    if (status == FE_OK) status = append_base64(a, packed, n);
    free(header);
    free(packed);
    if (status == FE_OK) {
        fprintf(xml, "<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" format=\"binary\">\n",
                d->type, d->name, d->n_component);
        fwrite(a->text, 1, a->n, xml);
        fprintf(xml, "\n</DataArray>\n");
    }
    return status;
}

/* A single NaN breaks ParaView's colour maps: a field that holds one is refused by name and tag. */
static fe_status check_finite(const array *d, size_t n, const int64_t *tag)
{
    if (strcmp(d->type, "Float64") != 0) return FE_OK;
    const double *value = d->data;
    for (size_t i = 0; i < n * (size_t)d->n_component; i++)
        if (!isfinite(value[i]))
            return fe_fail(FE_FAILED, "VTU: %s is %g at tag %lld", d->name, value[i],
                           (long long)tag[i / (size_t)d->n_component]);
    return FE_OK;
}

/* The DataArray elements of one section. Arrays without data are left out. */
static fe_status write_section(FILE *xml, base64 *a, const char *section, int n_array, const array *d,
                               size_t n, const int64_t *tag)
{
    fprintf(xml, "<%s>\n", section);
    for (int k = 0; k < n_array; k++) {
        if (!d[k].data) continue;
        FE_TRY(check_finite(&d[k], n, tag));
        FE_TRY(write_array(xml, a, &d[k], n));
    }
    fprintf(xml, "</%s>\n", section);
    return FE_OK;
}

/* VTK_TETRA, VTK_HEXAHEDRON, VTK_QUADRATIC_TETRA, VTK_TRIQUADRATIC_HEXAHEDRON */
static unsigned char cell_type(int kind)
{
    return kind == FE_TET10 ? 24 : kind == FE_HEX27 ? 29 : fe_is_tet(kind) ? 10 : 12;
}

/* The element's node, in Gmsh's order, of each of VTK's: the middles of edges and faces come in another order
 * (vtkQuadraticTetra.h, vtkTriQuadraticHexahedron.h). */
static void vtk_order(int kind, int *place)
{
    static const signed char tet_edge[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}},
                             hex_edge[12][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6},
                                                {6, 7}, {7, 4}, {0, 4}, {1, 5}, {2, 6}, {3, 7}},
                             hex_face[6] = {22, 23, 21, 24, 20, 25}; /* x0 x1 y0 y1 z0 z1 */
    const int n_vertex = fe_vertices(kind), n = fe_corners(kind), n_edge = kind == FE_TET10 ? 6 : 12;
    for (int a = 0; a < n; a++) place[a] = a;
    if (!fe_is_quadratic(kind)) return;
    for (int k = 0; k < n_edge; k++) {
        const signed char *edge = kind == FE_TET10 ? tet_edge[k] : hex_edge[k];
        place[n_vertex + k] = fe_edge_node(kind, edge[0], edge[1]);
    }
    for (int k = 0; kind == FE_HEX27 && k < 6; k++) place[20 + k] = hex_face[k];
}

/* Connectivity [n_elem][n_corner] as VTK has it: the mesh's own, or allocated where that differs. */
static fe_status vtk_nodes(const fe_mesh *mesh, int **conn)
{
    const int n_corner = fe_corners(mesh->kind);
    int place[FE_MOST_CORNERS];
    *conn = mesh->conn;
    if (!fe_is_quadratic(mesh->kind)) return FE_OK;
    vtk_order(mesh->kind, place);
    FE_TRY(fe_reserve((size_t)mesh->n_elem * (size_t)n_corner, sizeof **conn, "VTU cells", (void **)conn));
    for (size_t e = 0; e < (size_t)mesh->n_elem; e++)
        for (int a = 0; a < n_corner; a++)
            (*conn)[e * (size_t)n_corner + (size_t)a] = mesh->conn[e * (size_t)n_corner + (size_t)place[a]];
    return FE_OK;
}

/* Connectivity, end offsets and VTK's cell types. */
static fe_status write_cells(FILE *xml, base64 *a, const fe_mesh *mesh)
{
    const size_t n = (size_t)mesh->n_elem;
    const int n_corner = fe_corners(mesh->kind);
    int64_t *end = NULL;
    unsigned char *type = NULL;
    int *conn = NULL;
    FE_ALLOCATE(end, n, "VTU cells");
    fe_status status = fe_allocate(n, 1, "VTU cells", (void **)&type);
    if (status == FE_OK) status = vtk_nodes(mesh, &conn);
    for (size_t e = 0; status == FE_OK && e < n; e++) {
        end[e] = ((int64_t)e + 1) * n_corner;
        type[e] = cell_type(mesh->kind);
    }
    const array connectivity = {"connectivity", "Int32", 1, sizeof(int), conn},
                offsets = {"offsets", "Int64", 1, sizeof *end, end}, types = {"types", "UInt8", 1, 1, type};
    fprintf(xml, "<Cells>\n");
    if (status == FE_OK) status = write_array(xml, a, &connectivity, n * (size_t)n_corner);
    if (status == FE_OK) status = write_array(xml, a, &offsets, n);
    if (status == FE_OK) status = write_array(xml, a, &types, n);
    fprintf(xml, "</Cells>\n");
    free(end);
    free(type);
    if (conn != mesh->conn) free(conn);
    return status;
}

static fe_status write_piece(FILE *xml, base64 *a, const fe_mesh *mesh, const fe_fields *f)
{
    const array node[] = {
        {"displacement", "Float64", 3, sizeof(double), f->displacement},
        {"reaction_force", "Float64", 3, sizeof(double), f->reaction_force},
        {"nodal_stress", "Float64", 6, sizeof(double), f->nodal_stress},
        {"contact_gap", "Float64", 1, sizeof(double), f->contact[0]},
        {"contact_pressure", "Float64", 1, sizeof(double), f->contact[1]},
        {"contact_status", "Float64", 1, sizeof(double), f->contact[2]},
        {"node_tag", "Int64", 1, sizeof(int64_t), mesh->node_tag},
    };
    const array elem[] = {
        {"stress", "Float64", 6, sizeof(double), f->stress},
        {"plastic_strain", "Float64", 6, sizeof(double), f->plastic_strain},
        {"strain", "Float64", 6, sizeof(double), f->strain},
        {"point_stress", "Float64", 6 * f->n_point, sizeof(double), f->point_stress},
        {"von_mises", "Float64", 1, sizeof(double), f->von_mises},
        {"von_mises_max", "Float64", 1, sizeof(double), f->von_mises_max},
        {"peeq", "Float64", 1, sizeof(double), f->peeq},
        {"peeq_max", "Float64", 1, sizeof(double), f->peeq_max},
        {"material", "UInt8", 1, 1, f->material},
        {"physical_group", "Int32", 1, sizeof(int), mesh->elem_group},
        {"element_tag", "Int64", 1, sizeof(int64_t), mesh->elem_tag},
        {"rank", "Int32", 1, sizeof(int), f->rank},
    };
    const array point = {"Points", "Float64", 3, sizeof(double), mesh->x};
    const size_t n_node = (size_t)mesh->n_node, n_elem = (size_t)mesh->n_elem;
    fprintf(xml, "<Piece NumberOfPoints=\"%zu\" NumberOfCells=\"%zu\">\n", n_node, n_elem);
    FE_TRY(
        write_section(xml, a, "PointData", (int)(sizeof node / sizeof *node), node, n_node, mesh->node_tag));
    FE_TRY(
        write_section(xml, a, "CellData", (int)(sizeof elem / sizeof *elem), elem, n_elem, mesh->elem_tag));
    FE_TRY(write_section(xml, a, "Points", 1, &point, n_node, mesh->node_tag));
    FE_TRY(write_cells(xml, a, mesh));
    fprintf(xml, "</Piece>\n");
    return FE_OK;
}

/* DIRECTORY/NAME and the formatted rest, to be freed. */
static fe_status file_name(const char *directory, const char *name, const char *format, int step, char **path)
{
    char rest[32];
    snprintf(rest, sizeof rest, format, step);
    if (asprintf(path, "%s/%s%s", directory, name, rest) >= 0) return FE_OK;
    *path = NULL;
    return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for a path", directory);
}
static const char STEP_FILE[] = "_%04d.vtu", LIST_FILE[] = ".pvd";

static fe_status write_step(const fe_series *s, int step, const fe_mesh *mesh, const fe_fields *f)
{
    fe_file file;
    char *path;
    FE_TRY(file_name(s->directory, s->name, STEP_FILE, step, &path));
    fe_status status = fe_file_open(&file, path);
    free(path);
    FE_TRY(status);
    base64 a = {0};
    fprintf(file.stream,
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" "
            "byte_order=\"LittleEndian\" "
            "header_type=\"UInt64\" compressor=\"vtkZLibDataCompressor\">\n<UnstructuredGrid>\n");
    status = write_piece(file.stream, &a, mesh, f);
    if (status == FE_OK) {
        fprintf(file.stream, "</UnstructuredGrid>\n</VTKFile>\n");
        status = fe_file_commit(&file);
    }
    fe_file_close(&file);
    free(a.text);
    return status;
}

static const char LIST_END[] = "</Collection>\n</VTKFile>\n";

/* The list's second line tells which run it is of. */
static const char RUN_LINE[] = "<!-- run %016" PRIx64 " -->\n";

fe_status fe_series_belongs(const fe_series *s, uint64_t run)
{
    char line[64];
    uint64_t there = 0;
    FILE *list = fopen(s->list.path, "re");
    for (int i = 0; list && i < 2 && fgets(line, sizeof line, list); i++)
        if (sscanf(line, "<!-- run %" SCNx64, &there) == 1) break;
    if (list) fclose(list);
    return !there || there == run
               ? FE_OK
               : fe_fail(FE_BAD_INPUT,
                         "%s: is the series of another run (with another result file, or of another problem "
                         "or mesh): name another folder, or remove it",
                         s->list.name);
}

/* The list's entry of a step, behind its head where it is the first, to be freed. */
static fe_status entry_of(const fe_series *s, int step, double time, char **entry)
{
    char head[256] = "<?xml version=\"1.0\"?>\n";
    const size_t n = strlen(head);
    if (s->run) snprintf(head + n, sizeof head - n, RUN_LINE, s->run);
    strcat(head, "<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"LittleEndian\">\n<Collection>\n");
    if (asprintf(entry, "%s<DataSet timestep=\"%.17g\" part=\"0\" file=\"%s_%04d.vtu\"/>\n",
                 s->list.n_body ? "" : head, time, s->name, step) >= 0)
        return FE_OK;
    *entry = NULL;
    return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for a step", s->directory);
}

/* Adds step s->n to the list. */
static fe_status write_collection(fe_series *s, double time)
{
    char *entry;
    FE_TRY(entry_of(s, s->n, time, &entry));
    const fe_status status = fe_growing_write(&s->list, strlen(entry), entry, sizeof LIST_END - 1, LIST_END);
    free(entry);
    return status;
}

/* A step that is there already. */
static fe_status take_over(fe_series *s, int step)
{
    char *path, *entry = NULL;
    FE_TRY(file_name(s->directory, s->name, STEP_FILE, step, &path));
    fe_status status =
        access(path, R_OK) == 0
            ? entry_of(s, step, step, &entry)
            : fe_fail(FE_BAD_INPUT, "%s: %s: the series cannot go on without it", path, strerror(errno));
    if (status == FE_OK) status = fe_growing_resume(&s->list, strlen(entry), entry);
    free(path), free(entry);
    return status;
}

fe_status fe_series_resume(fe_series *s, int first, int last)
{
    for (int step = first; step >= 0 && step <= last; step++) FE_TRY(take_over(s, step));
    s->n = last + 1, s->time = last;
    return first < 0 ? FE_OK : fe_growing_write(&s->list, 0, "", sizeof LIST_END - 1, LIST_END);
}

/* Makes the folders of which `path` names the last, and leaves it as it was. */
static fe_status make_directories(char *path)
{
    const size_t length = strlen(path);
    for (size_t i = 1; i <= length; i++) {
        const char was = path[i];
        if (was != '/' && was) continue;
        path[i] = 0;
        if (mkdir(path, 0777) && errno != EEXIST)
            return fe_fail(FE_BAD_INPUT, "%s: cannot be made: %s", path, strerror(errno));
        path[i] = was;
    }
    struct stat status;
    if (stat(path, &status) || !S_ISDIR(status.st_mode))
        return fe_fail(FE_BAD_INPUT, "%s: is not a folder", path);
    return FE_OK;
}

/* The name without what would need quoting in XML or in a shell, to be freed. */
static char *plain_name(const char *name)
{
    char *plain = strdup(name);
    for (char *p = plain; p && *p; p++)
        if (strchr(" /\\:*?\"'<>|&", *p) || (*p > 0 && *p < ' ')) *p = '_';
    return plain;
}

static fe_status open_series(fe_series *s)
{
    char *path;
    if (!s->directory || !s->name) return fe_fail(FE_OUT_OF_MEMORY, "VTU: no host memory for a path");
    FE_TRY(make_directories(s->directory));
    FE_TRY(file_name(s->directory, s->name, "_", 0, &path));
    fe_file_sweep(path);
    free(path);
    FE_TRY(file_name(s->directory, s->name, LIST_FILE, 0, &path));
    const fe_status status = fe_growing_open(&s->list, path);
    free(path);
    return status;
}

fe_status fe_series_open(fe_series *s, const char *directory, const char *name)
{
    *s = (fe_series){0};
    if (!*directory || !*name)
        return fe_fail(FE_BAD_INPUT, "VTU: folder \"%s\", name \"%s\"", directory, name);
    s->directory = strdup(directory);
    s->name = plain_name(name);
    const fe_status status = open_series(s);
    if (status != FE_OK) fe_series_close(s);
    return status;
}

fe_status fe_series_spares(const char *directory, const char *name, int n_step, const char *input)
{
    char *plain = plain_name(name);
    fe_status status = plain ? FE_OK : fe_fail(FE_OUT_OF_MEMORY, "VTU: no host memory for a path");
    for (int step = -1; step <= n_step && status == FE_OK; step++) {
        char *path;
        status = file_name(directory, plain, step < 0 ? LIST_FILE : STEP_FILE, step, &path);
        if (status == FE_OK && fe_file_same(path, input))
            status = fe_fail(FE_BAD_INPUT, "--output %s: its file %s is the same as %s, which is read",
                             directory, path, input);
        free(path);
    }
    free(plain);
    return status;
}

fe_status fe_series_write(fe_series *s, const fe_mesh *mesh, const fe_fields *f)
{
    if (!isfinite(f->time) || (s->n && !(f->time > s->time)))
        return fe_fail(FE_FAILED, "%s/%s.pvd: time %g does not follow %g", s->directory, s->name, f->time,
                       s->n ? s->time : 0);
    FE_TRY(write_step(s, s->n, mesh, f));
    FE_TRY(write_collection(s, f->time));
    s->time = f->time;
    s->n++;
    return FE_OK;
}

void fe_series_close(fe_series *s)
{
    fe_growing_close(&s->list);
    free(s->directory);
    free(s->name);
    *s = (fe_series){0};
}
