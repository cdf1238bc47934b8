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
    s->at = close + 1;
    return fe_scan_end(s, TEXT);
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

static fe_status read_version(fe_scan *s, fe_gmsh *m)
{
    const fe_word word = fe_scan_word(s);
    double version;
    FE_TRY(fe_scan_real(s, "the version", &version));
    if (version == 2.2 || version == 4.1) {
        m->version = version == 2.2 ? 22 : 41;
        return FE_OK;
    }
    return fe_scan_refuse(s, s->at, "MSH version %s is not supported, only 2.2 and 4.1 (gmsh -format msh41)",
                          version == 4.0 ? "4.0" : word.text);
}

static fe_status read_format(fe_scan *s, fe_gmsh *m)
{
    int64_t binary, size;
    fe_scan_begin(s, TEXT);
    FE_TRY(read_version(s, m));
    FE_TRY(fe_scan_int(s, TEXT, 0, 1, "the binary mark", &binary));
    FE_TRY(fe_scan_int(s, TEXT, 0, INT_MAX, "the size of a number", &size));
    if (size != 8)
        return fe_scan_refuse(s, s->at, "numbers of %lld bytes are not supported, only 8", (long long)size);
    FE_TRY(fe_scan_end(s, TEXT));
    s->binary = (int)binary;
    if (!binary) return FE_OK;
    int64_t one;
    FE_TRY(fe_scan_int(s, 4, INT_MIN, INT_MAX, "the byte order mark", &one));
    if (one == 0x01000000) return fe_scan_refuse(s, s->at, "written on a machine of the other byte order");
    if (one != 1) return fe_scan_refuse(s, s->at, "the byte order mark is %lld, not 1", (long long)one);
    return FE_OK;
}

/* Skips a section that is not read: moves past "$End" + name. */
static fe_status skip_section(fe_scan *s, const char *name)
{
    char marker[80];
    const int n = snprintf(marker, sizeof marker, "$End%s", name);
    const char *found = memmem(s->at, (size_t)(s->end - s->at), marker, (size_t)n);
    if (!found) return fe_scan_refuse(s, s->at, "the section has no %s", marker);
    s->at = found;
    return FE_OK;
}

static fe_status once(const fe_scan *s, int *seen)
{
    if (*seen) return fe_scan_refuse(s, s->at, "a second section of this name");
    *seen = 1;
    return FE_OK;
}

static fe_status read_body(fe_scan *s, fe_gmsh *m, const char *name)
{
    const int is_41 = m->version == 41;
    if (!strcmp(name, "PhysicalNames")) return read_names(s, m);
    if (!strcmp(name, "Entities") && is_41) return read_entities(s, m, 0);
    if (!strcmp(name, "PartitionedEntities") && is_41) return read_entities(s, m, 1);
    if (!strcmp(name, "Nodes")) {
        FE_TRY(once(s, &m->has_nodes));
        return fe_gmsh_nodes(s, m);
    }
    if (!strcmp(name, "Elements")) {
        FE_TRY(once(s, &m->has_elements));
        return fe_gmsh_elements(s, m);
    }
    return skip_section(s, name);
}

static fe_status read_section(fe_scan *s, fe_gmsh *m)
{
    const char *const start = s->at;
    const fe_word word = fe_scan_word(s);
    const char *const name = word.text + 1;
    const int is_format = !strcmp(name, "MeshFormat");
    s->section = word.text;
    if (!is_format && !m->version && (!strcmp(name, "Nodes") || !strcmp(name, "Elements")))
        return fe_scan_refuse(s, start, "the section comes before $MeshFormat");
    if (!strncmp(name, "End", 3)) return fe_scan_refuse(s, start, "the end of a section that did not begin");
    s->at += strlen(word.text);
    FE_TRY(fe_scan_end(s, TEXT));
    if (is_format && m->version) return fe_scan_refuse(s, start, "a second section of this name");
    FE_TRY(is_format ? read_format(s, m) : read_body(s, m, name));
    fe_scan_begin(s, TEXT);
    const fe_word end = fe_scan_word(s);
    if (strncmp(end.text, "$End", 4) != 0 || strcmp(end.text + 4, name) != 0)
        return fe_scan_refuse(s, s->at,
                              "\"%s\" where $End%s should be: more entries than announced, or a cut file",
                              end.text, name);
    s->at += strlen(end.text);
    return fe_scan_end(s, TEXT);
}

static fe_status read_sections(fe_scan *s, fe_gmsh *m)
{
    for (fe_scan_begin(s, TEXT); s->at < s->end; fe_scan_begin(s, TEXT)) {
        s->section = "between sections";
        if (*s->at == '$') {
            FE_TRY(read_section(s, m));
        } else if (!m->version) {
            return fe_fail(FE_BAD_INPUT, "%s: not a Gmsh mesh: it starts with \"%s\", not with $MeshFormat",
                           s->path, fe_scan_word(s).text);
        } else { /* text between sections is a comment, as for Gmsh */
            const char *newline = memchr(s->at, '\n', (size_t)(s->end - s->at));
            s->at = newline ? newline : s->end;
        }
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

fe_status fe_mesh_read(const char *path, int notes, fe_mesh *mesh)
{
    fe_scan scan;
    fe_gmsh file = {.path = path, .kind = -1, .facet.width = 4};
    *mesh = (fe_mesh){0};
    fe_status status = fe_scan_open(&scan, path);
    if (status == FE_OK) status = read_sections(&scan, &file);
    fe_scan_close(&scan);
    if (status == FE_OK) status = fe_gmsh_build(&file, notes, mesh);
    if (status == FE_OK) status = fe_mesh_check(mesh);
    close_gmsh(&file);
    if (status != FE_OK) fe_mesh_close(mesh);
    return status;
}
