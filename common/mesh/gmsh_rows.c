/* Nodes and elements of MSH 2.2 and 4.1, text and binary, and what the sections share. */
#include "common/mesh/gmsh.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

fe_status fe_gmsh_resize(void **array, size_t count, size_t size, const char *what)
{
    void *bigger = count <= SIZE_MAX / size ? realloc(*array, count * size) : NULL;
    if (!bigger)
        return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for %zu x %zu bytes", what, count, size);
    *array = bigger;
    return FE_OK;
}

size_t fe_gmsh_capacity(size_t capacity, size_t wanted)
{
    const size_t doubled = capacity ? 2 * capacity : 64;
    return wanted > doubled ? wanted : doubled;
}

fe_status fe_gmsh_physical(fe_scan *s, int bytes, int *number)
{
    int64_t v;
    FE_TRY(fe_scan_int(s, bytes, -INT_MAX, INT_MAX, "a physical group's number", &v));
    *number = (int)(v < 0 ? -v : v);
    return FE_OK;
}

typedef struct element_type {
    int dim, n_node;
    int order; /* 0: of a point */
} element_type;

/* The types that are read, by Gmsh's number. */
static element_type type_of(int64_t type)
{
    switch (type) {
    case 15: return (element_type){0, 1, 0};
    case 1: return (element_type){1, 2, 1};
    case 2: return (element_type){2, 3, 1};
    case 3: return (element_type){2, 4, 1};
    case 4: return (element_type){3, 4, 1};
    case 5: return (element_type){3, 8, 1};
    case 8: return (element_type){1, 3, 2};
    case 9: return (element_type){2, 6, 2};
    case 10: return (element_type){2, 9, 2};
    case 11: return (element_type){3, 10, 2};
    case 12: return (element_type){3, 27, 2};
    default: return (element_type){-1, 0, 0};
    }
}

/* Gmsh's elements by its number; NULL: an unknown one. */
static const char *type_name(int64_t type)
{
    static const char *const name[] = {
        NULL,
        "2-node line",
        "3-node triangle",
        "4-node quadrangle",
        "4-node tetrahedron",
        "8-node hexahedron",
        "6-node prism (wedge)",
        "5-node pyramid",
        "3-node line of second order",
        "6-node triangle of second order",
        "9-node quadrangle of second order",
        "10-node tetrahedron of second order",
        "27-node hexahedron of second order",
        "18-node prism (wedge) of second order",
        "14-node pyramid of second order",
        "point",
        "8-node quadrangle of second order",
        "20-node hexahedron of second order",
        "15-node prism (wedge) of second order",
        "13-node pyramid of second order",
        "9-node triangle of third order",
        "10-node triangle of third order",
        "12-node triangle of fourth order",
        "15-node triangle of fourth order",
        "15-node triangle of fifth order",
        "21-node triangle of fifth order",
        "4-node line of third order",
        "5-node line of fourth order",
        "6-node line of fifth order",
        "20-node tetrahedron of third order",
        "35-node tetrahedron of fourth order",
        "56-node tetrahedron of fifth order",
    };
    return type > 0 && type < (int64_t)(sizeof name / sizeof *name) ? name[type] : NULL;
}

static fe_status refuse_type(const fe_scan *s, int64_t type, int64_t tag)
{
    const char *const name = type_name(type);
    if (!name)
        return fe_scan_refuse(
            s, s->at,
            "element %lld is of Gmsh's type %lld; only tetrahedra (4, of second order 11) and hexahedra (5, "
            "of second order 12) are read",
            (long long)tag, (long long)type);
    const int is_incomplete = type == 16 || type == 17;
    const char *what_to_do =
        is_incomplete ? "it lacks the nodes of faces and centres: mesh with Mesh.SecondOrderIncomplete = 0"
        : strstr(name, "pyramid")
            ? "pyramids join hexahedra and tetrahedra: mesh all volumes with one of these"
        : strstr(name, "prism") ? "mesh with hexahedra alone, Mesh.RecombineAll = 1, or with tetrahedra alone"
                                : "mesh with elements of first or second order, Mesh.ElementOrder = 1 or 2";
    return fe_scan_refuse(
        s, s->at,
        "element %lld is a %s, Gmsh's type %lld; only tetrahedra of 4 or 10 nodes and hexahedra of 8 or 27 "
        "are read: %s",
        (long long)tag, name, (long long)type, what_to_do);
}

static fe_status reserve_nodes(fe_gmsh *m, size_t extra)
{
    if (m->n_node + extra <= m->node_capacity) return FE_OK;
    const size_t capacity = fe_gmsh_capacity(m->node_capacity, m->n_node + extra);
    RESIZE(m->node_tag, capacity, "node tags");
    RESIZE(m->x, 3 * capacity, "coordinates");
    m->node_capacity = capacity;
    return FE_OK;
}

static fe_status reserve_rows(fe_gmsh_rows *rows, size_t extra)
{
    if (rows->n + extra <= rows->capacity) return FE_OK;
    const size_t capacity = fe_gmsh_capacity(rows->capacity, rows->n + extra);
    RESIZE(rows->tag, capacity, "element tags");
    RESIZE(rows->node, capacity * (size_t)rows->width, "elements");
    RESIZE(rows->owner, capacity, "element owners");
    rows->capacity = capacity;
    return FE_OK;
}

static int kind_of(int64_t type)
{
    return type == 4 ? FE_TET4 : type == 5 ? FE_HEX8 : type == 11 ? FE_TET10 : FE_HEX27;
}

/* Sides have as many nodes as the faces of their elements: all elements are of one order. */
static fe_status check_order(const fe_scan *s, fe_gmsh *m, int order, int64_t type, int64_t tag)
{
    if (!order) return FE_OK;
    const int64_t *other = m->first[2 - order];
    if (!m->first[order - 1][0]) m->first[order - 1][0] = type, m->first[order - 1][1] = tag;
    if (!other[0]) return FE_OK;
    return fe_scan_refuse(
        s, s->at,
        "mixed orders: element %lld is a %s, element %lld a %s; all elements, sides too, need "
        "one order: mesh all with Mesh.ElementOrder = 1, or all with 2",
        (long long)other[1], type_name(other[0]), (long long)tag, type_name(type));
}

/* Rows that take elements of a type, which must be one that is read. */
static fe_status rows_for(const fe_scan *s, fe_gmsh *m, int64_t type, int64_t tag, fe_gmsh_rows **rows)
{
    const element_type t = type_of(type);
    if (t.dim < 0) return refuse_type(s, type, tag);
    FE_TRY(check_order(s, m, t.order, type, tag));
    *rows = t.dim == 3 ? &m->volume : &m->facet;
    if (t.dim < 3) return FE_OK;
    const int kind = kind_of(type);
    if (m->kind < 0) {
        m->kind = kind;
        m->volume.width = t.n_node;
    }
    if (m->kind != kind)
        return fe_scan_refuse(s, s->at,
                              "mixed elements: element %lld is a %s, element %lld a %s; one kind is needed: "
                              "mesh all volumes with "
                              "tetrahedra, or all with hexahedra",
                              (long long)m->volume.tag[0], fe_kind_name(m->kind), (long long)tag,
                              fe_kind_name(kind));
    return FE_OK;
}

/* The nodes of one element, `bytes` each, appended to rows that have room. */
static fe_status read_row(fe_scan *s, int bytes, int n_node, int64_t tag, int owner, fe_gmsh_rows *rows)
{
    int64_t *node = rows->node + rows->n * (size_t)rows->width;
    for (int a = 0; a < n_node; ++a)
        FE_TRY(fe_scan_int(s, bytes, 0, INT64_MAX, "a node of an element", &node[a]));
    for (int a = n_node; a < rows->width; ++a) node[a] = -1;
    rows->tag[rows->n] = tag;
    rows->owner[rows->n] = owner;
    ++rows->n;
    return FE_OK;
}

static fe_status read_point(fe_scan *s, int64_t tag, double x[3])
{
    static const char *const what[3] = {"coordinate x", "coordinate y", "coordinate z"};
    for (int i = 0; i < 3; ++i) {
        const char *const start = s->at;
        FE_TRY(fe_scan_real(s, what[i], &x[i]));
        if (!isfinite(x[i]))
            return fe_scan_refuse(s, start, "%s of node %lld is %g", what[i], (long long)tag, x[i]);
    }
    return FE_OK;
}

/* --- $Nodes and $Elements, 4.1 ---------------------------------------------------------------------------
 */

/* "blocks entries lowest-tag highest-tag" */
static fe_status read_totals(fe_scan *s, int block_bytes, int entry_bytes, const char *what, int64_t *n_block,
                             int64_t *total)
{
    int64_t unused;
    fe_scan_begin(s, 8);
    FE_TRY(fe_scan_int(s, 8, 0, INT64_MAX, "the number of blocks", n_block));
    FE_TRY(fe_scan_int(s, 8, 0, INT64_MAX, "the number of entries", total));
    FE_TRY(fe_scan_int(s, 8, 0, INT64_MAX, "the lowest tag", &unused));
    FE_TRY(fe_scan_int(s, 8, 0, INT64_MAX, "the highest tag", &unused));
    FE_TRY(fe_scan_end(s, 8));
    FE_TRY(fe_scan_fits(s, *n_block, s->binary ? block_bytes : 8, "blocks"));
    FE_TRY(fe_scan_fits(s, *total, s->binary ? entry_bytes : 4, what));
    if (*total > INT_MAX)
        return fe_scan_refuse(s, s->at, "%lld %s, at most %d are supported", (long long)*total, what,
                              INT_MAX);
    return FE_OK;
}

/* "dim tag third n", where the third is `parametric` or the element type */
static fe_status read_block(fe_scan *s, const char *third, int64_t room, const char *what, int64_t block[4])
{
    fe_scan_begin(s, 4);
    FE_TRY(fe_scan_int(s, 4, 0, 3, "a block's dimension", &block[0]));
    FE_TRY(fe_scan_int(s, 4, INT_MIN, INT_MAX, "a block's entity", &block[1]));
    FE_TRY(fe_scan_int(s, 4, INT_MIN, INT_MAX, third, &block[2]));
    FE_TRY(fe_scan_int(s, 8, 0, INT64_MAX, "the number of entries", &block[3]));
    if (block[3] > room)
        return fe_scan_refuse(s, s->at,
                              "the blocks hold more %s than announced (this one %lld, %lld are left)", what,
                              (long long)block[3], (long long)room);
    return fe_scan_end(s, 4);
}

static fe_status read_nodes_41(fe_scan *s, fe_gmsh *m)
{
    int64_t n_block, total, block[4];
    FE_TRY(read_totals(s, 20, 32, "nodes", &n_block, &total));
    for (int64_t b = 0; b < n_block; ++b) {
        FE_TRY(read_block(s, "the mark of parametric nodes", total - (int64_t)m->n_node, "nodes", block));
        const int n_parameter = block[2] ? (int)block[0] : 0;
        FE_TRY(fe_scan_fits(s, block[3], s->binary ? 32 : 8, "nodes"));
        FE_TRY(reserve_nodes(m, (size_t)block[3]));
        for (int64_t i = 0; i < block[3]; ++i) {
            fe_scan_begin(s, 8);
            FE_TRY(fe_scan_int(s, 8, 0, INT64_MAX, "a node's tag", &m->node_tag[m->n_node + (size_t)i]));
        }
        for (int64_t i = 0; i < block[3]; ++i, ++m->n_node) {
            fe_scan_begin(s, 8);
            FE_TRY(read_point(s, m->node_tag[m->n_node], m->x + 3 * m->n_node));
            FE_TRY(fe_scan_skip_reals(s, n_parameter, "a parametric coordinate"));
            FE_TRY(fe_scan_end(s, 8));
        }
    }
    if ((int64_t)m->n_node != total)
        return fe_scan_refuse(s, s->at, "%lld nodes are announced, the blocks hold %zu", (long long)total,
                              m->n_node);
    return FE_OK;
}

static fe_status read_elements_block(fe_scan *s, fe_gmsh *m, const int64_t block[4])
{
    const int64_t type = block[2], n = block[3];
    if (n == 0) return FE_OK;
    const element_type t = type_of(type);
    fe_gmsh_rows *rows = NULL;
    const int64_t entry = s->binary ? 8 * (1 + t.n_node) : 2 * (1 + t.n_node);
    FE_TRY(fe_scan_fits(s, n, entry, "elements"));
    for (int64_t i = 0; i < n; ++i) {
        int64_t tag;
        fe_scan_begin(s, 8);
        FE_TRY(fe_scan_int(s, 8, 0, INT64_MAX, "an element's tag", &tag));
        if (i == 0) {
            FE_TRY(rows_for(s, m, type, tag, &rows));
            if (t.dim != block[0])
                return fe_scan_refuse(s, s->at, "element %lld, a %s, is in a block of dimension %lld",
                                      (long long)tag, type_name(type), (long long)block[0]);
            FE_TRY(reserve_rows(rows, (size_t)n));
        }
        FE_TRY(read_row(s, 8, t.n_node, tag, (int)block[1], rows));
        FE_TRY(fe_scan_end(s, 8));
    }
    return FE_OK;
}

static fe_status read_elements_41(fe_scan *s, fe_gmsh *m)
{
    int64_t n_block, total, block[4], done = 0;
    FE_TRY(read_totals(s, 20, 16, "elements", &n_block, &total));
    for (int64_t b = 0; b < n_block; ++b) {
        FE_TRY(read_block(s, "a block's element type", total - done, "elements", block));
        FE_TRY(read_elements_block(s, m, block));
        done += block[3];
    }
    if (done != total)
        return fe_scan_refuse(s, s->at, "%lld elements are announced, the blocks hold %lld", (long long)total,
                              (long long)done);
    return FE_OK;
}

/* --- $Nodes and $Elements, 2.2 ---------------------------------------------------------------------------
 */

/* The line "count", text also in binary files. */
static fe_status read_count(fe_scan *s, int text_bytes, int binary_bytes, const char *what, int64_t *n)
{
    fe_scan_begin(s, TEXT);
    FE_TRY(fe_scan_int(s, TEXT, 0, INT_MAX, "the number of entries", n));
    FE_TRY(fe_scan_end(s, TEXT));
    return fe_scan_fits(s, *n, s->binary ? binary_bytes : text_bytes, what);
}

/* "dim entity", and the node's parameters on a curve or a surface. */
static fe_status skip_parameters(fe_scan *s)
{
    int64_t dim, unused;
    FE_TRY(fe_scan_int(s, 4, 0, 3, "the dimension of a node's entity", &dim));
    FE_TRY(fe_scan_int(s, 4, INT_MIN, INT_MAX, "a node's entity", &unused));
    return fe_scan_skip_reals(s, dim == 3 ? 0 : (int)dim, "a parametric coordinate");
}

static fe_status read_nodes_22(fe_scan *s, fe_gmsh *m)
{
    int64_t n;
    FE_TRY(read_count(s, 8, 28, "nodes", &n));
    FE_TRY(reserve_nodes(m, (size_t)n));
    for (int64_t i = 0; i < n; ++i, ++m->n_node) {
        int64_t *tag = &m->node_tag[m->n_node];
        fe_scan_begin(s, 4);
        FE_TRY(fe_scan_int(s, 4, 0, INT64_MAX, "a node's tag", tag));
        FE_TRY(read_point(s, *tag, m->x + 3 * m->n_node));
        if (m->parametric) FE_TRY(skip_parameters(s));
        FE_TRY(fe_scan_end(s, 4));
    }
    return FE_OK;
}

/* The tags of one element: the first is its physical group, the others (entity, partitions) are not used. */
static fe_status read_tags(fe_scan *s, int64_t n_tag, int *physical)
{
    int64_t unused;
    *physical = 0;
    if (n_tag > 0) FE_TRY(fe_gmsh_physical(s, 4, physical));
    for (int64_t i = 1; i < n_tag; ++i)
        FE_TRY(fe_scan_int(s, 4, INT_MIN, INT_MAX, "an element's label", &unused));
    return FE_OK;
}

/* One run of elements with a common header "type n tags"; in a text each element is its own run. */
static fe_status read_run(fe_scan *s, fe_gmsh *m, int64_t type, int64_t n, int64_t n_tag, int64_t text_tag)
{
    const element_type t = type_of(type);
    fe_gmsh_rows *rows = NULL;
    if (s->binary) FE_TRY(fe_scan_fits(s, n, 4 * (1 + n_tag + t.n_node), "elements"));
    for (int64_t i = 0; i < n; ++i) {
        int64_t tag = text_tag;
        int physical;
        if (s->binary) FE_TRY(fe_scan_int(s, 4, 0, INT_MAX, "an element's tag", &tag));
        if (i == 0) {
            FE_TRY(rows_for(s, m, type, tag, &rows));
            FE_TRY(reserve_rows(rows, (size_t)n));
        }
        FE_TRY(read_tags(s, n_tag, &physical));
        FE_TRY(read_row(s, 4, t.n_node, tag, physical, rows));
    }
    return FE_OK;
}

static fe_status read_elements_22(fe_scan *s, fe_gmsh *m)
{
    int64_t total, type, n = 1, n_tag, tag = 0;
    FE_TRY(read_count(s, 8, 8, "elements", &total));
    for (int64_t done = 0; done < total; done += n) {
        fe_scan_begin(s, 4);
        if (!s->binary) FE_TRY(fe_scan_int(s, 4, 0, INT64_MAX, "an element's tag", &tag));
        FE_TRY(fe_scan_int(s, 4, INT_MIN, INT_MAX, "an element's type", &type));
        if (s->binary) FE_TRY(fe_scan_int(s, 4, 0, total - done, "the number of elements in a run", &n));
        FE_TRY(fe_scan_int(s, 4, 0, INT_MAX, "an element's number of labels", &n_tag));
        FE_TRY(read_run(s, m, type, n, n_tag, tag));
        FE_TRY(fe_scan_end(s, 4));
    }
    return FE_OK;
}

fe_status fe_gmsh_nodes(fe_scan *s, fe_gmsh *m)
{
    return m->version == 41 ? read_nodes_41(s, m) : read_nodes_22(s, m);
}

fe_status fe_gmsh_elements(fe_scan *s, fe_gmsh *m)
{
    return m->version == 41 ? read_elements_41(s, m) : read_elements_22(s, m);
}
