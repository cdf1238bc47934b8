/* Reader of Gmsh's MSH 2.2 and 4.1, text and binary (Gmsh reference manual, "File formats").
 *
 * The file is held in memory and read once, section by section, in any order; unknown sections are skipped.
 * gmsh_rows.c reads nodes and elements; gmsh_build.c makes a mesh of what was read. */
#include "common/mesh/gmsh.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* --- $PhysicalNames: text in every format ------------------------------------------------------------- */

static fe_status read_name(fe_scan *s, fe_gmsh_name *entry)
{
    int64_t dim;
    fe_scan_begin(s, TEXT);
    FE_TRY(fe_scan_int(s, TEXT, 0, 3, "a physical group's dimension", &dim));
    FE_TRY(fe_gmsh_physical(s, TEXT, &entry->number));
    entry->dim = (int)dim;
    const char *newline = memchr(s->at, '\n', (size_t)(s->end - s->at));
    if (!newline) newline = s->end;
    const char *open = memchr(s->at, '"', (size_t)(newline - s->at));
    const char *close = open ? memrchr(open + 1, '"', (size_t)(newline - open - 1)) : NULL;
    if (!close)
        return fe_scan_refuse(s, s->at, "physical group %d:%d has no name in quotes", (int)dim,
                              entry->number);
    entry->name = strndup(open + 1, (size_t)(close - open - 1));
    if (!entry->name) return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for names", s->path);
    s->at = newline; /* Gmsh skips what stands behind the name, too */
    return FE_OK;
}

static fe_status read_names(fe_scan *s, fe_gmsh *m)
{
    int64_t n;
    fe_scan_begin(s, TEXT);
    FE_TRY(fe_scan_int(s, TEXT, 0, INT_MAX, "the number of names", &n));
    FE_TRY(fe_scan_end(s, TEXT));
    FE_TRY(fe_scan_fits(s, n, 6, "names"));
    for (int64_t i = 0; i < n; ++i) {
        if (m->n_name == m->name_capacity) {
            const size_t capacity = fe_gmsh_capacity(m->name_capacity, m->n_name + 1);
            RESIZE(m->name, capacity, "names");
            m->name_capacity = capacity;
        }
        m->name[m->n_name] = (fe_gmsh_name){0};
        FE_TRY(read_name(s, &m->name[m->n_name++]));
    }
    return FE_OK;
}

/* --- $Entities and $PartitionedEntities, 4.1 ------------------------------------------------------------ */

static fe_status skip_ints(fe_scan *s, const char *count, const char *what)
{
    int64_t n, unused;
    FE_TRY(fe_scan_int(s, 8, 0, INT64_MAX, count, &n));
    for (int64_t i = 0; i < n; ++i) FE_TRY(fe_scan_int(s, 4, INT_MIN, INT_MAX, what, &unused));
    return FE_OK;
}

static fe_status read_entity_physicals(fe_scan *s, fe_gmsh *m, int dim, int tag)
{
    int64_t n;
    FE_TRY(fe_scan_int(s, 8, 0, INT_MAX, "the number of physical groups", &n));
    FE_TRY(fe_scan_fits(s, n, s->binary ? 4 : 2, "physical groups"));
    if (m->n_entity == m->entity_capacity) {
        const size_t capacity = fe_gmsh_capacity(m->entity_capacity, m->n_entity + 1);
        RESIZE(m->entity, capacity, "entities");
        m->entity_capacity = capacity;
    }
    if (m->n_physical + (size_t)n > m->physical_capacity) {
        const size_t capacity = fe_gmsh_capacity(m->physical_capacity, m->n_physical + (size_t)n);
        RESIZE(m->physical, capacity, "physical groups of entities");
        m->physical_capacity = capacity;
    }
    m->entity[m->n_entity++] = (fe_gmsh_entity){dim, tag, (int)n, m->n_physical};
    for (int64_t i = 0; i < n; ++i) FE_TRY(fe_gmsh_physical(s, 4, &m->physical[m->n_physical++]));
    return FE_OK;
}

/* Where a mesh was cut into partitions, Gmsh makes surfaces inside volumes (and so on) with physical numbers
 * of its own, which may be those of real groups: they are left out. */
static fe_status read_entity(fe_scan *s, fe_gmsh *m, int dim, int partitioned)
{
    int64_t tag, parent_dim = dim, unused;
    fe_scan_begin(s, 4);
    FE_TRY(fe_scan_int(s, 4, INT_MIN, INT_MAX, "an entity's tag", &tag));
    if (partitioned) {
        FE_TRY(fe_scan_int(s, 4, INT_MIN, INT_MAX, "a parent's dimension", &parent_dim));
        FE_TRY(fe_scan_int(s, 4, INT_MIN, INT_MAX, "a parent's tag", &unused));
        FE_TRY(skip_ints(s, "the number of partitions", "a partition"));
    }
    FE_TRY(fe_scan_skip_reals(s, dim == 0 ? 3 : 6, "an entity's bounds"));
    FE_TRY(read_entity_physicals(s, m, dim, (int)tag));
    if (parent_dim != dim) m->entity[m->n_entity - 1].n_physical = 0;
    if (dim > 0) FE_TRY(skip_ints(s, "the number of bounding entities", "a bounding entity"));
    return fe_scan_end(s, 4);
}

static fe_status read_entities(fe_scan *s, fe_gmsh *m, int partitioned)
{
    int64_t count[4], n_ghost, unused;
    if (partitioned) {
        fe_scan_begin(s, 8);
        FE_TRY(fe_scan_int(s, 8, 0, INT64_MAX, "the number of partitions", &unused));
        FE_TRY(fe_scan_end(s, 8));
        fe_scan_begin(s, 8);
        FE_TRY(fe_scan_int(s, 8, 0, INT64_MAX, "the number of ghost entities", &n_ghost));
        FE_TRY(fe_scan_fits(s, n_ghost, s->binary ? 8 : 4, "ghost entities"));
        for (int64_t i = 0; i < 2 * n_ghost; ++i) {
            fe_scan_begin(s, 4);
            FE_TRY(fe_scan_int(s, 4, INT_MIN, INT_MAX, "a ghost entity", &unused));
        }
        FE_TRY(fe_scan_end(s, 4));
    }
    fe_scan_begin(s, 8);
    for (int dim = 0; dim < 4; ++dim)
        FE_TRY(fe_scan_int(s, 8, 0, INT64_MAX, "the number of entities", &count[dim]));
    FE_TRY(fe_scan_end(s, 8));
    for (int dim = 0; dim < 4; ++dim) {
        FE_TRY(fe_scan_fits(s, count[dim], 8, "entities"));
        for (int64_t i = 0; i < count[dim]; ++i) FE_TRY(read_entity(s, m, dim, partitioned));
    }
    return FE_OK;
}

/* --- sections --------------------------------------------------------------------------------------------
 */

#define CONVERT "save it as 2.2 or 4.1 (gmsh OLD.msh -save -format msh41 -o NEW.msh)"

static int is_whole(const fe_gmsh *m) { return m->has_nodes && m->has_elements; }

/* Gmsh puts a header of its own before a view that it appends to a mesh, of any version. */
static fe_status read_version(fe_scan *s, fe_gmsh *m)
{
    const char *const start = s->at;
    const fe_word word = fe_scan_word(s);
    double number;
    FE_TRY(fe_scan_real(s, "the version", &number));
    const int version = number == 2.2 ? 22 : number == 4.1 ? 41 : 0;
    if (is_whole(m)) return FE_OK;
    if (!version)
        return fe_scan_refuse(s, start, "MSH version %s is not read; " CONVERT,
                              number == 4.0 ? "4.0" : word.text);
    if (m->version && m->version != version)
        return fe_scan_refuse(s, start, "a second header of another version, %s, before the mesh is whole",
                              word.text);
    m->version = version;
    return FE_OK;
}

static fe_status read_format(fe_scan *s, fe_gmsh *m)
{
    int64_t binary, size;
    s->binary = 0; /* as the one before may have said */
    fe_scan_begin(s, TEXT);
    FE_TRY(read_version(s, m));
    FE_TRY(fe_scan_int(s, TEXT, 0, 1, "the binary mark", &binary));
    FE_TRY(fe_scan_int(s, TEXT, 0, INT_MAX, "the size of a number", &size));
    if (size != 8)
        return fe_scan_refuse(s, s->at, "numbers of %lld bytes are not supported, only 8", (long long)size);
    fe_scan_line(s);
    s->binary = (int)binary;
    if (!binary) return FE_OK;
    int64_t one;
    FE_TRY(fe_scan_int(s, 4, INT_MIN, INT_MAX, "the byte order mark", &one));
    if (one == 0x01000000) return fe_scan_refuse(s, s->at, "written on a machine of the other byte order");
    if (one != 1) return fe_scan_refuse(s, s->at, "the byte order mark is %lld, not 1", (long long)one);
    return FE_OK;
}

/* A section: "$" and a name of n bytes, which is all of the line, and a line with "$End" and the name. */
typedef struct section {
    const char *name; /* in the file */
    size_t n;
    fe_word word; /* the line, as a message shows it */
} section;

static int is_named(const section *t, const char *name)
{
    return t->n == strlen(name) && !memcmp(t->name, name, t->n);
}

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Whether "$End" and the name stand at p, and nothing else on the line; binary data may stand before. */
static int is_end(const fe_scan *s, const char *p, const section *t)
{
    if ((size_t)(s->end - p) < t->n + 4 || memcmp(p, "$End", 4) || memcmp(p + 4, t->name, t->n)) return 0;
    const char *after = p + 4 + t->n;
    while (after < s->end && is_blank(*after)) ++after;
    while (p > s->begin && is_blank(p[-1])) --p;
    return (after == s->end || *after == '\n') && (s->binary || p == s->begin || p[-1] == '\n');
}

/* Goes to the end of a section that is not read. */
static fe_status skip_section(fe_scan *s, const section *t)
{
    const char *found = s->at;
    while (found && !is_end(s, found, t))
        found = found < s->end ? memchr(found + 1, '$', (size_t)(s->end - found - 1)) : NULL;
    if (!found) return fe_scan_refuse(s, s->at, "the section has no $End%s", t->word.text + 1);
    s->at = found;
    return FE_OK;
}

static fe_status once(const fe_scan *s, int *seen)
{
    if (*seen) return fe_scan_refuse(s, s->at, "a second section of this name");
    *seen = 1;
    return FE_OK;
}

static fe_status read_body(fe_scan *s, fe_gmsh *m, const section *t)
{
    const int is_41 = m->version == 41;
    if (is_named(t, "MeshFormat")) return read_format(s, m);
    if (is_named(t, "PhysicalNames")) return read_names(s, m);
    if (is_named(t, "Entities") && is_41) return read_entities(s, m, 0);
    if (is_named(t, "PartitionedEntities") && is_41) return read_entities(s, m, 1);
    m->parametric = is_named(t, "ParametricNodes") && !is_41;
    if (is_named(t, "Nodes") || m->parametric) {
        FE_TRY(once(s, &m->has_nodes));
        return fe_gmsh_nodes(s, m);
    }
    if (is_named(t, "Elements")) {
        FE_TRY(once(s, &m->has_elements));
        return fe_gmsh_elements(s, m);
    }
    if (is_named(t, "Periodic") && m->notes)
        fe_note("%s: $Periodic is not read: its periodic sides are not tied to each other", s->path);
    return skip_section(s, t);
}

/* Sections that cannot be read without a header, among them those of MSH 1, which has none. */
static fe_status check_header(const fe_scan *s, const fe_gmsh *m, const section *t)
{
    if (m->version) return FE_OK;
    if (is_named(t, "NOD") || is_named(t, "NOE") || is_named(t, "ELM"))
        return fe_fail(FE_BAD_INPUT, "%s: MSH version 1 is not read; " CONVERT, s->path);
    if (is_named(t, "Nodes") || is_named(t, "ParametricNodes") || is_named(t, "Elements"))
        return fe_scan_refuse(s, s->at, "the section comes before $MeshFormat");
    return FE_OK;
}

static fe_status read_section(fe_scan *s, fe_gmsh *m)
{
    size_t n_rest;
    section t = {.name = s->at + 1};
    t.word = fe_scan_rest(s, &t.n);
    --t.n;
    s->section = t.word.text;
    s->odd = NULL;
    FE_TRY(check_header(s, m, &t));
    if (!strncmp(t.word.text, "$End", 4))
        return fe_scan_refuse(s, s->at, "the end of a section that did not begin");
    fe_scan_line(s);
    FE_TRY(read_body(s, m, &t));
    fe_scan_begin(s, TEXT);
    if (!is_end(s, s->at, &t))
        return fe_scan_refuse(s, s->at,
                              "\"%s\" where $End%s should be: more entries than announced, or a cut file",
                              fe_scan_rest(s, &n_rest).text, t.word.text + 1);
    fe_scan_line(s);
    return FE_OK;
}

/* Text between sections is a comment, as for Gmsh; so is what precedes the header, if there is one. */
static fe_status skip_comment(fe_scan *s, const fe_gmsh *m)
{
    static const char header[] = "\n$MeshFormat";
    if (m->version) return fe_scan_line(s), FE_OK;
    const char *found = memmem(s->at, (size_t)(s->end - s->at), header, sizeof header - 1);
    if (!found)
        return fe_fail(FE_BAD_INPUT, "%s: not a Gmsh mesh: it starts with \"%s\", not with $MeshFormat",
                       s->path, fe_scan_word(s).text);
    s->at = found;
    return FE_OK;
}

static fe_status read_sections(fe_scan *s, fe_gmsh *m)
{
    for (fe_scan_begin(s, TEXT); s->at < s->end; fe_scan_begin(s, TEXT)) {
        s->section = "between sections";
        FE_TRY(*s->at == '$' ? read_section(s, m) : skip_comment(s, m));
    }
    if (!m->version) return fe_fail(FE_BAD_INPUT, "%s: not a Gmsh mesh: no $MeshFormat", s->path);
    if (!m->has_nodes) return fe_fail(FE_BAD_INPUT, "%s: no $Nodes section", s->path);
    if (!m->has_elements) return fe_fail(FE_BAD_INPUT, "%s: no $Elements section", s->path);
    return FE_OK;
}

static void close_gmsh(fe_gmsh *m)
{
    fe_gmsh_rows *const rows[2] = {&m->volume, &m->facet};
    for (int i = 0; i < 2; ++i) {
        free(rows[i]->tag);
        free(rows[i]->node);
        free(rows[i]->owner);
    }
    for (size_t i = 0; i < m->n_name; ++i) free(m->name[i].name);
    free(m->name);
    free(m->node_tag);
    free(m->x);
    free(m->entity);
    free(m->physical);
}

/* Parts that were to hold together, and do not. */
static fe_status tell_coincident(const fe_mesh *mesh)
{
    fe_coincidence found;
    FE_TRY(fe_mesh_coincident(mesh, &found));
    if (!found.n_node) return FE_OK;
    const int a = found.example[0], b = found.example[1];
    fe_note("%s: its %d parts share no nodes, but %d nodes lie on nodes of another part (%lld on %lld): the "
            "parts are not joined there; Coherence Mesh in Gmsh merges such nodes",
            mesh->path, found.n_part, found.n_node, (long long)mesh->node_tag[b],
            (long long)mesh->node_tag[a]);
    return FE_OK;
}

/* Without a check. */
static fe_status read_mesh(const char *path, int notes, fe_mesh *mesh)
{
    fe_scan scan;
    fe_gmsh file = {.path = path, .notes = notes, .kind = -1, .facet.width = FE_MOST_FACE};
    *mesh = (fe_mesh){0};
    fe_status status = fe_scan_open(&scan, path);
    file.n_byte = status == FE_OK ? (size_t)(scan.end - scan.begin) : 0;
    if (status == FE_OK) status = read_sections(&scan, &file);
    fe_scan_close(&scan);
    if (status == FE_OK) status = fe_gmsh_build(&file, mesh);
    close_gmsh(&file);
    return status;
}

fe_status fe_mesh_read(const char *path, int notes, fe_mesh *mesh)
{
    fe_status status = read_mesh(path, notes, mesh);
    if (status == FE_OK) status = fe_mesh_check(mesh);
    if (status == FE_OK && notes) status = tell_coincident(mesh);
    if (status != FE_OK) fe_mesh_close(mesh);
    return status;
}

fe_status fe_mesh_read_turned(const char *path, int notes, int *n_turned, fe_mesh *mesh)
{
    fe_status status = read_mesh(path, notes, mesh);
    if (status == FE_OK) status = fe_mesh_turn(mesh, n_turned);
    if (status == FE_OK) status = fe_mesh_check(mesh);
    if (status != FE_OK) fe_mesh_close(mesh);
    return status;
}
