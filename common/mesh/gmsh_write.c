/* Writer of Gmsh's MSH 4.1, text and binary.
 *
 * MSH 4.1 knows physical groups only through entities. Members that lie in the same groups form one entity
 * here, so that overlapping groups keep their members without repeating them. */
#include "common/base/file.h"
#include "common/mesh/lookup.h"
#include "common/mesh/mesh.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Members (facets or elements) of one dimension and the entity of each. Entity c lies in group[c] and in
 * those of entity parent[c]; entity 0 lies in none. */
typedef struct layer {
    int dim;
    int n_member;
    int width;    /* of a facet */
    int *node;    /* [n_member][width], facets; NULL for elements */
    int *entity;  /* [n_member] */
    int n_entity; /* with entity 0 */
    int *parent, *group;
    int *n_in; /* members of each entity */
} layer;

typedef struct writer {
    const fe_mesh *mesh;
    FILE *file;
    int binary;
    layer layer[4];
    int64_t tag; /* of the last facet written */
} writer;

/* --- entities ---------------------------------------------------------------------------------------------
 */

/* Members of a dimension, each once; *member [sum of n_facet] tells which each group's facets are, group by
 * group. */
static fe_status collect_facets(const fe_mesh *mesh, layer *l, int **member)
{
    const size_t width = (size_t)l->width;
    size_t total = 0, at = 0;
    for (int g = 0; g < mesh->n_group; ++g)
        if (mesh->group[g].dim == l->dim) total += (size_t)mesh->group[g].n_facet;
    if (total > INT_MAX)
        return fe_fail(FE_BAD_INPUT, "%zu facets are more than an index of 32 bits holds", total);
    FE_ALLOCATE(*member, total, "facets");
    FE_ALLOCATE(l->node, total * width, "facets");
    for (int g = 0; g < mesh->n_group; ++g) {
        const fe_group *group = &mesh->group[g];
        if (group->dim != l->dim) continue;
        memcpy(l->node + width * at, group->facet, (size_t)group->n_facet * width * sizeof *l->node);
        at += (size_t)group->n_facet;
    }
    FE_TRY(fe_first_rows(l->node, l->width, (int)total, *member));
    for (int f = 0; f < (int)total; ++f) {
        const int first = (*member)[f];
        (*member)[f] = first == f ? l->n_member++ : (*member)[first];
        if (first == f)
            memmove(l->node + width * (size_t)(*member)[f], l->node + width * (size_t)f,
                    width * sizeof *l->node);
    }
    return FE_OK;
}

static fe_status grow_entities(layer *l, int capacity)
{
    int *parent = realloc(l->parent, (size_t)capacity * sizeof *parent);
    if (parent) l->parent = parent;
    int *group = realloc(l->group, (size_t)capacity * sizeof *group);
    if (group) l->group = group;
    return parent && group ? FE_OK : fe_fail(FE_OUT_OF_MEMORY, "no host memory for %d entities", capacity);
}

/* Splits the entities by membership in one group: its members move to new entities, one for each entity they
 * come from. moved_to [n_entity before] is scratch. */
static fe_status split_entities(layer *l, int group, const int *member, int n)
{
    const int before = l->n_entity;
    int *moved_to = NULL;
    FE_ALLOCATE(moved_to, before, "entities");
    fe_status status = grow_entities(l, 2 * before);
    for (int i = 0; status == FE_OK && i < n; ++i) {
        int *entity = &l->entity[member[i]];
        if (*entity >= before) continue; /* the group names it twice */
        if (!moved_to[*entity]) {
            moved_to[*entity] = l->n_entity;
            l->parent[l->n_entity] = *entity;
            l->group[l->n_entity++] = group;
        }
        *entity = moved_to[*entity];
    }
    free(moved_to);
    return status;
}

/* An entity that has lost all its members is kept as a parent, but not written. */
static fe_status count_members(layer *l)
{
    FE_ALLOCATE(l->n_in, l->n_entity, "entities");
    for (int i = 0; i < l->n_member; ++i) ++l->n_in[l->entity[i]];
    return FE_OK;
}

static fe_status make_entities(const fe_mesh *mesh, layer *l, const int *member)
{
    FE_ALLOCATE(l->entity, l->n_member, "entities of members");
    FE_TRY(grow_entities(l, 1));
    l->n_entity = 1;
    for (int g = 0; g < mesh->n_group; ++g) {
        const fe_group *group = &mesh->group[g];
        if (group->dim != l->dim || group->n_facet == 0) continue;
        FE_TRY(split_entities(l, g, l->dim == 3 ? group->facet : member, group->n_facet));
        if (l->dim < 3) member += group->n_facet;
    }
    return count_members(l);
}

static fe_status make_layer(const fe_mesh *mesh, int dim, layer *l)
{
    l->dim = dim;
    l->width = fe_facet_width(mesh->kind);
    if (dim == 3) {
        l->n_member = mesh->n_elem;
        return make_entities(mesh, l, NULL);
    }
    int *member = NULL;
    fe_status status = collect_facets(mesh, l, &member);
    if (status == FE_OK) status = make_entities(mesh, l, member);
    free(member);
    return status;
}

static int used_entities(const layer *l)
{
    int n = 0;
    for (int c = 0; c < l->n_entity; ++c) n += l->n_in[c] > 0;
    return n;
}

/* --- numbers ----------------------------------------------------------------------------------------------
 */

/* Whole numbers of 4 or 8 bytes, ended by a space or, in a text, by `end`. Errors are seen at the end. */
static void put(const writer *w, int bytes, int64_t value, char end)
{
    const int32_t small = (int32_t)value;
    if (!w->binary)
        fprintf(w->file, "%lld%c", (long long)value, end);
    else if (bytes == 4)
        fwrite(&small, sizeof small, 1, w->file);
    else
        fwrite(&value, sizeof value, 1, w->file);
}

static void put_reals(const writer *w, const double *x, int n, char end)
{
    if (w->binary) fwrite(x, sizeof *x, (size_t)n, w->file);
    for (int i = 0; !w->binary && i < n; ++i) fprintf(w->file, "%.17g%c", x[i], i < n - 1 ? ' ' : end);
}

static void end_section(const writer *w, const char *name)
{
    fprintf(w->file, "%s$End%s\n", w->binary ? "\n" : "", name);
}

/* --- sections ---------------------------------------------------------------------------------------------
 */

static void write_format(const writer *w)
{
    const int32_t one = 1;
    fprintf(w->file, "$MeshFormat\n4.1 %d 8\n", w->binary);
    if (w->binary) fwrite(&one, sizeof one, 1, w->file);
    end_section(w, "MeshFormat");
}

/* A group without a name of its own was called "dim:number" when it was read. */
static int has_name(const fe_group *g)
{
    char made[32];
    snprintf(made, sizeof made, "%d:%d", g->dim, g->number);
    return strcmp(made, g->name) != 0;
}

static void write_names(const writer *w)
{
    int n = 0;
    for (int g = 0; g < w->mesh->n_group; ++g) n += has_name(&w->mesh->group[g]);
    fprintf(w->file, "$PhysicalNames\n%d\n", n);
    for (int g = 0; g < w->mesh->n_group; ++g) {
        const fe_group *group = &w->mesh->group[g];
        if (has_name(group)) fprintf(w->file, "%d %d \"%s\"\n", group->dim, group->number, group->name);
    }
    fprintf(w->file, "$EndPhysicalNames\n");
}

static void write_entity(const writer *w, const layer *l, int c, const double bounds[6])
{
    int n = 0;
    for (int p = c; p > 0; p = l->parent[p]) ++n;
    put(w, 4, c + 1, ' ');
    put_reals(w, bounds, l->dim == 0 ? 3 : 6, ' ');
    put(w, 8, n, ' ');
    for (int p = c; p > 0; p = l->parent[p]) put(w, 4, w->mesh->group[l->group[p]].number, ' ');
    if (l->dim > 0) put(w, 8, 0, ' ');
    if (!w->binary) fputc('\n', w->file);
}

static void write_entities(const writer *w)
{
    double bounds[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (int n = 0; n < w->mesh->n_node; ++n)
        for (int i = 0; i < 3; ++i) {
            bounds[i] = fmin(bounds[i], w->mesh->x[3 * (size_t)n + i]);
            bounds[3 + i] = fmax(bounds[3 + i], w->mesh->x[3 * (size_t)n + i]);
        }
    fprintf(w->file, "$Entities\n");
    for (int dim = 0; dim < 4; ++dim) put(w, 8, used_entities(&w->layer[dim]), dim < 3 ? ' ' : '\n');
    for (int dim = 0; dim < 4; ++dim)
        for (int c = 0; c < w->layer[dim].n_entity; ++c)
            if (w->layer[dim].n_in[c] > 0) write_entity(w, &w->layer[dim], c, bounds);
    end_section(w, "Entities");
}

static void tag_range(const int64_t *tag, int n, int64_t *low, int64_t *high)
{
    *low = n > 0 ? tag[0] : 0;
    *high = *low;
    for (int i = 0; i < n; ++i) {
        if (tag[i] < *low) *low = tag[i];
        if (tag[i] > *high) *high = tag[i];
    }
}

/* All nodes belong to the first volume entity: one block. */
static void write_nodes(const writer *w)
{
    const fe_mesh *mesh = w->mesh;
    int64_t low, high;
    int volume = 0;
    while (w->layer[3].n_in[volume] == 0) ++volume;
    tag_range(mesh->node_tag, mesh->n_node, &low, &high);
    fprintf(w->file, "$Nodes\n");
    put(w, 8, 1, ' ');
    put(w, 8, mesh->n_node, ' ');
    put(w, 8, low, ' ');
    put(w, 8, high, '\n');
    put(w, 4, 3, ' ');
    put(w, 4, volume + 1, ' ');
    put(w, 4, 0, ' ');
    put(w, 8, mesh->n_node, '\n');
    for (int n = 0; n < mesh->n_node; ++n) put(w, 8, mesh->node_tag[n], '\n');
    for (int n = 0; n < mesh->n_node; ++n) put_reals(w, mesh->x + 3 * (size_t)n, 3, '\n');
    end_section(w, "Nodes");
}

static void write_row(const writer *w, int64_t tag, const int *node, int n)
{
    put(w, 8, tag, ' ');
    for (int a = 0; a < n; ++a) put(w, 8, w->mesh->node_tag[node[a]], a < n - 1 ? ' ' : '\n');
}

static int member_nodes(const writer *w, const layer *l, int i)
{
    return fe_facet_nodes(w->mesh->kind, l->node + (size_t)l->width * (size_t)i);
}

/* Members of an entity by number of corners: sizes [FE_MOST_CORNERS + 1]. */
static void member_sizes(const writer *w, const layer *l, int c, int *sizes)
{
    memset(sizes, 0, (FE_MOST_CORNERS + 1) * sizeof *sizes);
    if (l->dim == 3) sizes[fe_corners(w->mesh->kind)] = l->n_in[c];
    for (int f = 0; l->dim < 3 && f < l->n_member; ++f)
        if (l->entity[f] == c) ++sizes[member_nodes(w, l, f)];
}

/* Gmsh's element type by number of corners; a row of four is a quadrangle on a surface, one of three a line
 * of second order where the elements are. */
static int type_of(int kind, int dim, int n_corner)
{
    static const int linear[5] = {0, 15, 1, 2, 3}, quadratic[10] = {[1] = 15, [3] = 8, [6] = 9, [9] = 10};
    if (dim < 3) return fe_is_quadratic(kind) ? quadratic[n_corner] : linear[n_corner];
    return n_corner == 4 ? 4 : n_corner == 8 ? 5 : n_corner == 10 ? 11 : 12;
}

static void write_block(writer *w, const layer *l, int c, int n_corner, int n)
{
    put(w, 4, l->dim, ' ');
    put(w, 4, c + 1, ' ');
    put(w, 4, type_of(w->mesh->kind, l->dim, n_corner), ' ');
    put(w, 8, n, '\n');
    for (int i = 0; i < l->n_member; ++i) {
        if (l->entity[i] != c) continue;
        if (l->dim == 3) {
            write_row(w, w->mesh->elem_tag[i], w->mesh->conn + (size_t)i * n_corner, n_corner);
        } else if (member_nodes(w, l, i) == n_corner) {
            write_row(w, ++w->tag, l->node + (size_t)l->width * (size_t)i, n_corner);
        }
    }
}

/* Blocks of all entities, or only their number where `store` is 0. */
static int write_blocks(writer *w, int store)
{
    int n_block = 0, sizes[FE_MOST_CORNERS + 1];
    for (int dim = 0; dim < 4; ++dim) {
        const layer *l = &w->layer[dim];
        for (int c = 0; c < l->n_entity; ++c) {
            if (l->n_in[c] == 0) continue;
            member_sizes(w, l, c, sizes);
            for (int n_corner = 1; n_corner <= FE_MOST_CORNERS; ++n_corner) {
                n_block += sizes[n_corner] > 0;
                if (store && sizes[n_corner] > 0) write_block(w, l, c, n_corner, sizes[n_corner]);
            }
        }
    }
    return n_block;
}

static void write_elements(writer *w)
{
    int64_t low, high, n_facet = 0;
    tag_range(w->mesh->elem_tag, w->mesh->n_elem, &low, &high);
    for (int dim = 0; dim < 3; ++dim) n_facet += w->layer[dim].n_member;
    w->tag = high;
    fprintf(w->file, "$Elements\n");
    put(w, 8, write_blocks(w, 0), ' ');
    put(w, 8, n_facet + w->mesh->n_elem, ' ');
    put(w, 8, low, ' ');
    put(w, 8, high + n_facet, '\n');
    write_blocks(w, 1);
    end_section(w, "Elements");
}

/* --- the file ----------------------------------------------------------------------------------------------
 */

static fe_status write_file(writer *w, const char *path)
{
    fe_file file;
    fe_file_sweep(path);
    FE_TRY(fe_file_open(&file, path));
    w->file = file.stream;
    write_format(w);
    write_names(w);
    write_entities(w);
    write_nodes(w);
    write_elements(w);
    return fe_file_commit(&file);
}

fe_status fe_mesh_write(const fe_mesh *mesh, const char *path, int binary)
{
    writer w = {.mesh = mesh, .binary = binary != 0};
    fe_status status = mesh->n_elem > 0 ? FE_OK : fe_fail(FE_BAD_INPUT, "%s: a mesh without elements", path);
    for (int dim = 0; status == FE_OK && dim < 4; ++dim) status = make_layer(mesh, dim, &w.layer[dim]);
    if (status == FE_OK) status = write_file(&w, path);
    for (int dim = 0; dim < 4; ++dim) {
        layer *l = &w.layer[dim];
        free(l->node);
        free(l->entity);
        free(l->parent);
        free(l->group);
        free(l->n_in);
    }
    return status;
}
