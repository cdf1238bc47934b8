/* From the tags of an MSH file to a mesh: indices, merged repeats, groups, and no node without an element. */
#include "common/base/sort.h"
#include "common/mesh/gmsh.h"
#include "common/mesh/lookup.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* What is needed while a mesh is made. */
typedef struct builder {
    fe_gmsh *file;
    fe_mesh *mesh;
    int n_record;      /* elements before repeats are merged */
    int *element;      /* [n_record] element of each record */
    int *record_owner; /* [n_record], the file's */
    int *facet;        /* [n_facet][width] node indices, -1 behind the last */
    int n_facet, width;
    const int *owned; /* physical groups of one owner, and their number; cached for runs of one owner */
    int n_owned, owned_dim, owned_by, owned_number;
    int dropped_facets;
} builder;

static fe_status refuse(const builder *b, const char *format, long long a, long long c)
{
    char text[256];
    snprintf(text, sizeof text, format, a, c);
    return fe_fail(FE_BAD_INPUT, "%s: %s", b->file->path, text);
}

/* --- nodes and elements ----------------------------------------------------------------------------------
 */

/* Node indices of all rows; out [n][width], where rows may be wider but hold no more. */
static fe_status find_nodes(const builder *b, const fe_tag_map *map, const fe_gmsh_rows *rows, int width,
                            int *out)
{
    for (size_t r = 0; r < rows->n; ++r)
        for (int a = 0; a < width; ++a) {
            const int64_t tag = rows->node[r * (size_t)rows->width + (size_t)a];
            const int node = tag < 0 ? -1 : fe_tag_find(map, tag);
            out[r * (size_t)width + (size_t)a] = node;
            if (node < 0 && tag >= 0)
                return refuse(b, "$Elements: element %lld names node %lld, which $Nodes does not hold",
                              rows->tag[r], tag);
        }
    return FE_OK;
}

static fe_status resolve_nodes(builder *b)
{
    fe_gmsh *m = b->file;
    fe_tag_map map;
    int repeated;
    FE_ALLOCATE(b->mesh->conn, m->volume.n * (size_t)m->volume.width, "elements");
    FE_ALLOCATE(b->facet, m->facet.n * (size_t)b->width, "facets");
    fe_status status = fe_tag_map_open(&map, m->node_tag, (int)m->n_node, &repeated);
    if (status == FE_OK && repeated >= 0)
        status = refuse(b, "$Nodes: node tag %lld occurs twice", m->node_tag[repeated], 0);
    if (status == FE_OK) status = find_nodes(b, &map, &m->volume, m->volume.width, b->mesh->conn);
    if (status == FE_OK) status = find_nodes(b, &map, &m->facet, b->width, b->facet);
    fe_tag_map_close(&map);
    fe_gmsh_rows *const rows[2] = {&m->volume, &m->facet};
    for (int i = 0; i < 2; ++i) { /* nobody reads the tags again, and they are much */
        free(rows[i]->node);
        rows[i]->node = NULL;
    }
    return status;
}

static int has_one_owner(const fe_gmsh_rows *rows)
{
    for (size_t r = 1; r < rows->n; ++r)
        if (rows->owner[r] != rows->owner[0]) return 0;
    return 1;
}

/* MSH 2.2 repeats an element once for each of its groups. Maps each record to its element and closes the
 * gaps; the same element twice in one group is an error, which fe_mesh_check or this reports. */
static fe_status merge_repeats(builder *b)
{
    const fe_gmsh_rows *rows = &b->file->volume;
    const int width = rows->width, n = b->n_record;
    int *const conn = b->mesh->conn, *const element = b->element;
    for (int r = 0; r < n; ++r) element[r] = r;
    b->mesh->n_elem = n;
    if (b->file->version != 22 || has_one_owner(rows)) return FE_OK;
    FE_TRY(fe_first_rows(conn, width, n, element));
    int kept = 0;
    for (int r = 0; r < n; ++r) {
        const int first = element[r];
        if (first < r && rows->owner[r] == rows->owner[first])
            return refuse(b, "$Elements: element %lld repeats element %lld in the same group", rows->tag[r],
                          rows->tag[first]);
        if (first < r) {
            element[r] = element[first];
            continue;
        }
        rows->tag[kept] = rows->tag[r];
        memmove(conn + (size_t)kept * width, conn + (size_t)r * width, (size_t)width * sizeof *conn);
        element[r] = kept++;
    }
    b->mesh->n_elem = kept;
    return FE_OK;
}

static fe_status make_elements(builder *b)
{
    fe_mesh *mesh = b->mesh;
    const fe_gmsh_rows *rows = &b->file->volume;
    FE_ALLOCATE(b->element, b->n_record, "elements");
    FE_TRY(merge_repeats(b));
    FE_ALLOCATE(mesh->elem_tag, mesh->n_elem, "element tags");
    FE_ALLOCATE(mesh->elem_group, mesh->n_elem, "element groups");
    memcpy(mesh->elem_tag, rows->tag, (size_t)mesh->n_elem * sizeof *mesh->elem_tag);
    fe_tag_map map;
    int repeated;
    FE_TRY(fe_tag_map_open(&map, mesh->elem_tag, mesh->n_elem, &repeated));
    fe_tag_map_close(&map);
    if (repeated >= 0)
        return refuse(b, "$Elements: element tag %lld occurs twice", mesh->elem_tag[repeated], 0);
    return FE_OK;
}

/* Numbers the nodes that elements use, in the file's order, and moves them together; new_index [n_node] is
 * -1 for the others. */
static fe_status drop_orphans(builder *b, int *new_index)
{
    fe_gmsh *m = b->file;
    fe_mesh *mesh = b->mesh;
    const size_t n_corner = (size_t)mesh->n_elem * (size_t)m->volume.width;
    for (size_t i = 0; i < m->n_node; ++i) new_index[i] = -1;
    for (size_t k = 0; k < n_corner; ++k) new_index[mesh->conn[k]] = 0;
    long long first_orphan = 0;
    int n = 0;
    for (size_t i = 0; i < m->n_node; ++i) {
        if (new_index[i] < 0) {
            if ((int)i == n) first_orphan = (long long)m->node_tag[i];
            continue;
        }
        m->node_tag[n] = m->node_tag[i];
        memmove(m->x + 3 * (size_t)n, m->x + 3 * i, 3 * sizeof *m->x);
        new_index[i] = n++;
    }
    for (size_t k = 0; k < n_corner; ++k) mesh->conn[k] = new_index[mesh->conn[k]];
    for (size_t k = 0; k < (size_t)b->width * (size_t)b->n_facet; ++k)
        if (b->facet[k] >= 0) b->facet[k] = new_index[b->facet[k]] < 0 ? -2 : new_index[b->facet[k]];
    if (b->file->notes && n < (int)m->n_node)
        fe_note("%s: %d nodes that no volume element uses are dropped (the first has tag %lld)", m->path,
                (int)m->n_node - n, first_orphan);
    mesh->n_node = n;
    FE_ALLOCATE(mesh->x, 3 * (size_t)n, "coordinates");
    FE_ALLOCATE(mesh->node_tag, n, "node tags");
    memcpy(mesh->x, m->x, 3 * (size_t)n * sizeof *mesh->x);
    memcpy(mesh->node_tag, m->node_tag, (size_t)n * sizeof *mesh->node_tag);
    return FE_OK;
}

/* --- groups ----------------------------------------------------------------------------------------------
 */

static int compare_entities(const void *p, const void *q)
{
    const fe_gmsh_entity *a = p, *b = q;
    return a->dim != b->dim ? (a->dim > b->dim) - (a->dim < b->dim) : (a->tag > b->tag) - (a->tag < b->tag);
}

/* Physical groups of an owner: *n numbers, valid until the next call. */
static const int *groups_of(builder *b, int dim, int owner, int *n)
{
    if (b->owned && b->owned_dim == dim && b->owned_by == owner) {
        *n = b->n_owned;
        return b->owned;
    }
    b->owned_dim = dim;
    b->owned_by = owner;
    b->owned_number = owner;
    b->owned = &b->owned_number;
    b->n_owned = owner != 0;
    if (b->file->version == 41) {
        const fe_gmsh_entity key = {.dim = dim, .tag = owner};
        const fe_gmsh_entity *found = b->file->n_entity ? bsearch(&key, b->file->entity, b->file->n_entity,
                                                                  sizeof key, compare_entities)
                                                        : NULL;
        b->n_owned = found ? found->n_physical : 0;
        if (b->n_owned > 0) b->owned = b->file->physical + found->first_physical;
    }
    *n = b->n_owned;
    return b->owned;
}

/* Dimension of a facet from its number of nodes: -1 stands behind the last, -2 for one that is dropped. */
static int facet_dim(const builder *b, const int *node)
{
    const int on_line = fe_is_quadratic(b->mesh->kind) ? 3 : 2;
    return node[1] == -1 ? 0 : node[on_line] == -1 ? 1 : 2;
}

static int has_dropped(const builder *b, const int *node)
{
    int dropped = 0;
    for (int a = 0; a < b->width; ++a) dropped |= node[a] == -2;
    return dropped;
}

/* An element counts once for each of its groups, and a short file can put many elements into many groups:
 * what that takes has to be in proportion to the file. */
static fe_status check_members(builder *b)
{
    const fe_gmsh *m = b->file;
    const int64_t most = m->n_byte / 4 < INT_MAX - 65536 ? (int64_t)(65536 + m->n_byte / 4) : INT_MAX;
    int64_t n_member = 0;
    int n;
    for (size_t r = 0; r < m->facet.n; ++r, n_member += n)
        groups_of(b, facet_dim(b, b->facet + r * (size_t)b->width), m->facet.owner[r], &n);
    for (int r = 0; r < b->n_record; ++r, n_member += n) groups_of(b, 3, m->volume.owner[r], &n);
    if (n_member <= most) return FE_OK;
    return refuse(
        b,
        "its groups have %lld members, an element counted once for each of its groups; a file of this size "
        "may have %lld",
        n_member, most);
}

/* One group as a sortable number: dimension, then physical number. */
static int64_t key_of(int dim, int number) { return (int64_t)dim << 32 | number; }

static int compare_keys(const void *p, const void *q)
{
    const int64_t a = *(const int64_t *)p, b = *(const int64_t *)q;
    return (a > b) - (a < b);
}

typedef struct key_list {
    size_t n, capacity;
    int64_t *key;
} key_list;

/* Appends unless the same key is among the last few: neighbours share their groups. */
static fe_status add_key(key_list *list, int64_t key)
{
    for (size_t i = list->n; i > 0 && i + 8 > list->n; --i)
        if (list->key[i - 1] == key) return FE_OK;
    if (list->n == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 64;
        int64_t *bigger = realloc(list->key, capacity * sizeof *bigger);
        if (!bigger) return fe_fail(FE_OUT_OF_MEMORY, "no host memory for %zu groups", capacity);
        list->key = bigger;
        list->capacity = capacity;
    }
    list->key[list->n++] = key;
    return FE_OK;
}

/* Keys of all groups, named or used, ascending and each once. */
static fe_status collect_keys(builder *b, key_list *list)
{
    const fe_gmsh *m = b->file;
    int n;
    for (size_t i = 0; i < m->n_name; ++i) FE_TRY(add_key(list, key_of(m->name[i].dim, m->name[i].number)));
    for (size_t r = 0; r < m->facet.n; ++r) {
        const int dim = facet_dim(b, b->facet + r * (size_t)b->width);
        const int *number = groups_of(b, dim, m->facet.owner[r], &n);
        for (int i = 0; i < n; ++i) FE_TRY(add_key(list, key_of(dim, number[i])));
    }
    for (int r = 0; r < b->n_record; ++r) {
        const int *number = groups_of(b, 3, m->volume.owner[r], &n);
        for (int i = 0; i < n; ++i) FE_TRY(add_key(list, key_of(3, number[i])));
    }
    if (list->n > 0) qsort(list->key, list->n, sizeof *list->key, compare_keys);
    size_t kept = 0;
    for (size_t i = 0; i < list->n; ++i)
        if (kept == 0 || list->key[kept - 1] != list->key[i]) list->key[kept++] = list->key[i];
    list->n = kept;
    return FE_OK;
}

static int group_index(const fe_mesh *mesh, int dim, int number)
{
    int low = 0, high = mesh->n_group - 1;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const fe_group *g = &mesh->group[middle];
        if (key_of(g->dim, g->number) < key_of(dim, number))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static fe_status name_groups(builder *b, const key_list *keys)
{
    fe_mesh *mesh = b->mesh;
    FE_ALLOCATE(mesh->group, keys->n, "groups");
    mesh->n_group = (int)keys->n;
    for (int g = 0; g < mesh->n_group; ++g) {
        mesh->group[g].dim = (int)(keys->key[g] >> 32);
        mesh->group[g].number = (int)(keys->key[g] & 0xffffffff);
    }
    for (size_t i = 0; i < b->file->n_name; ++i) {
        fe_gmsh_name *entry = &b->file->name[i];
        fe_group *g = &mesh->group[group_index(mesh, entry->dim, entry->number)];
        if (g->name)
            return refuse(b, "$PhysicalNames: group %lld:%lld is named twice", entry->dim, entry->number);
        g->name = entry->name;
        entry->name = NULL;
    }
    for (int g = 0; g < mesh->n_group; ++g) {
        if (mesh->group[g].name) continue;
        FE_ALLOCATE(mesh->group[g].name, 32, "group names");
        snprintf(mesh->group[g].name, 32, "%d:%d", mesh->group[g].dim, mesh->group[g].number);
    }
    return FE_OK;
}

/* Counts the members of all groups, or stores them. A facet with nodes that were dropped (-2) is
 * no side of any element and is left out. */
static void visit_members(builder *b, int store)
{
    fe_mesh *mesh = b->mesh;
    const fe_gmsh *m = b->file;
    const size_t width = (size_t)b->width;
    int n;
    b->dropped_facets = 0;
    for (int g = 0; g < mesh->n_group; ++g) mesh->group[g].n_facet = 0;
    for (size_t r = 0; r < m->facet.n; ++r) {
        const int *node = b->facet + r * (size_t)b->width;
        const int dim = facet_dim(b, node);
        const int *number = groups_of(b, dim, m->facet.owner[r], &n);
        const int dropped = has_dropped(b, node);
        if (n > 0) b->dropped_facets += dropped;
        for (int i = 0; i < n && !dropped; ++i) {
            fe_group *g = &mesh->group[group_index(mesh, dim, number[i])];
            if (store) memcpy(g->facet + width * (size_t)g->n_facet, node, width * sizeof *node);
            ++g->n_facet;
        }
    }
    for (int r = 0; r < b->n_record; ++r) {
        const int *number = groups_of(b, 3, m->volume.owner[r], &n);
        for (int i = 0; i < n; ++i) {
            fe_group *g = &mesh->group[group_index(mesh, 3, number[i])];
            if (store) g->facet[g->n_facet] = b->element[r];
            ++g->n_facet;
        }
    }
}

/* Keeps each member of a group once: facets in the file's order, elements ascending. */
static fe_status unique_members(fe_group *g, int width)
{
    int kept = 0;
    if (g->dim == 3) {
        if (g->n_facet > 0) qsort(g->facet, (size_t)g->n_facet, sizeof *g->facet, fe_compare_ints);
        for (int f = 0; f < g->n_facet; ++f)
            if (kept == 0 || g->facet[kept - 1] != g->facet[f]) g->facet[kept++] = g->facet[f];
        g->n_facet = kept;
        return FE_OK;
    }
    int *first = NULL;
    FE_ALLOCATE(first, g->n_facet, "table of facets");
    const fe_status status = fe_first_rows(g->facet, width, g->n_facet, first);
    for (int f = 0; status == FE_OK && f < g->n_facet; ++f)
        if (first[f] == f)
            memmove(g->facet + (size_t)width * (size_t)kept++, g->facet + (size_t)width * (size_t)f,
                    (size_t)width * sizeof *first);
    g->n_facet = kept;
    free(first);
    return status;
}

static fe_status check_facets(const builder *b)
{
    for (int f = 0; f < b->n_facet; ++f) {
        const int *node = b->facet + (size_t)b->width * (size_t)f;
        for (int a = 0; a < b->width; ++a)
            for (int c = 0; c < a; ++c)
                if (node[a] >= 0 && node[a] == node[c])
                    return refuse(b, "$Elements: element %lld repeats node %lld", b->file->facet.tag[f],
                                  b->mesh->node_tag[node[a]]);
    }
    return FE_OK;
}

static fe_status make_groups(builder *b)
{
    fe_mesh *mesh = b->mesh;
    key_list keys = {0};
    FE_TRY(check_members(b));
    fe_status status = collect_keys(b, &keys);
    if (status == FE_OK) status = name_groups(b, &keys);
    free(keys.key);
    FE_TRY(status);
    visit_members(b, 0);
    for (int g = 0; g < mesh->n_group; ++g) {
        fe_group *group = &mesh->group[g];
        FE_ALLOCATE(group->facet, (size_t)group->n_facet * (size_t)(group->dim == 3 ? 1 : b->width),
                    "facets");
    }
    visit_members(b, 1);
    for (int g = 0; g < mesh->n_group; ++g) FE_TRY(unique_members(&mesh->group[g], b->width));
    for (int g = mesh->n_group - 1; g >= 0 && mesh->group[g].dim == 3; --g) /* the lowest number stays */
        for (int f = 0; f < mesh->group[g].n_facet; ++f)
            mesh->elem_group[mesh->group[g].facet[f]] = mesh->group[g].number;
    if (b->file->notes && b->dropped_facets > 0)
        fe_note("%s: %d elements of groups are dropped: no volume element has their nodes", b->file->path,
                b->dropped_facets);
    return FE_OK;
}

static fe_status build(builder *b)
{
    fe_gmsh *m = b->file;
    if (m->kind < 0 || m->volume.n == 0)
        return refuse(b, "no volume elements: did you define a physical volume?", 0, 0);
    if (m->n_node > INT_MAX || m->volume.n > INT_MAX || m->facet.n > INT_MAX)
        return refuse(b, "%lld nodes and %lld elements are more than an index of 32 bits holds",
                      (long long)m->n_node, (long long)(m->volume.n + m->facet.n));
    b->n_record = (int)m->volume.n;
    b->n_facet = (int)m->facet.n;
    b->mesh->kind = m->kind;
    b->width = fe_facet_width(m->kind);
    b->mesh->path = strdup(m->path);
    if (!b->mesh->path) return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory", m->path);
    if (m->n_entity > 0) qsort(m->entity, m->n_entity, sizeof *m->entity, compare_entities);
    FE_TRY(resolve_nodes(b));
    FE_TRY(make_elements(b));
    int *new_index = NULL;
    FE_ALLOCATE(new_index, m->n_node, "node numbers");
    const fe_status status = drop_orphans(b, new_index);
    free(new_index);
    FE_TRY(status);
    FE_TRY(check_facets(b));
    return make_groups(b);
}

fe_status fe_gmsh_build(fe_gmsh *file, fe_mesh *mesh)
{
    builder b = {.file = file, .mesh = mesh};
    const fe_status status = build(&b);
    free(b.element);
    free(b.facet);
    return status;
}
