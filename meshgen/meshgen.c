/* Makes meshes of boxes, tubes and unstructured ones, refines, turns, describes them, gives them quadratic
 * elements, and prints what partitions cost: `meshgen box ...`, `tube ...`, `irregular ...`, `refine ...`,
 * `quadratic ...`, `turn ...`, `info FILE`, `meshgen parts ...`. */
#include "common/base/file.h"
#include "common/mesh/bodies.h"
#include "common/mesh/mesh.h"
#include "common/problem/share.h"
#include "common/ranks/ranks.h"
#include "common/report/version.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: meshgen box --element KIND --cells NX,NY,NZ -o FILE.msh [options]\n"
    "       meshgen tube --element KIND --cells NR,NA,NZ -o FILE.msh [options]\n"
    "       meshgen irregular --element KIND --nodes N -o FILE.msh [options]\n"
    "       meshgen refine FILE.msh --levels N -o FILE.msh [options]\n"
    "       meshgen quadratic FILE.msh -o FILE.msh [options]\n"
    "       meshgen turn FILE.msh -o FILE.msh [--binary]\n"
    "       meshgen info FILE.msh\n"
    "       meshgen parts --ranks LIST [--partition METHOD] (FILE.msh | box's options)\n"
    "\n"
    "box: a box with the corner at 0, groups x0 x1 y0 y1 z0 z1 on its sides and \"body\" inside\n"
    "  -e, --element KIND        hex8, or tet4: six tetrahedra per cell; quadratic: hex27, tet10 (hex8)\n"
    "  -c, --cells NX,NY,NZ      cells along the axes; one number for a cube\n"
    "  -l, --length LX,LY,LZ     lengths of the sides (1,1,1); one number for a cube\n"
    "  -d, --distort D           moves inner nodes at random by up to D cells (0); where elements are "
    "quadratic\n"
    "                            by half as much, and sides become curved\n"
    "  -s, --seed N              seed of the random numbers (0)\n"
    "  -r, --order ORDER         lexicographic, rcm, morton, bisection, random (lexicographic)\n"
    "  -b, --binary              binary MSH 4.1 instead of text\n"
    "  -o, --output FILE.msh\n"
    "tube: a quarter of a tube with radii 1 and 2 and height 1/2 about the z axis, with box's options -e -d "
    "-s -r "
    "-b -o.\n"
    "  All nodes lie on the true cylinders, so that sides of quadratic elements are curved. Groups: inner, "
    "outer, "
    "x0 and\n"
    "  y0 where it is cut, z0, z1, \"body\"\n"
    "  -c, --cells NR,NA,NZ      cells through the wall, along the arc and along the axis\n"
    "irregular: an unstructured mesh of the unit cube, with the groups of a box and box's options -e -s -r "
    "-b "
    "-o.\n"
    "  Cells grow to 4 times their length along each axis. A node inside has 12 to about 40 Tet4 or 4 to 12 "
    "Hex8, "
    "on\n"
    "  the surface down to 3 and 1. Positive Jacobians by construction; the same file for the same "
    "options.\n"
    "  Quadratic elements: as many nodes, an eighth of the elements, straight sides\n"
    "  -N, --nodes N             about so many nodes\n"
    "  -r, --order ORDER         also as-is, the default: bricks of cells in random order, nodes of the "
    "coarse\n"
    "                            grid first, as generators for parts leave them\n"
    "refine: makes eight elements of each; new nodes lie in the middle of edges, faces and Hex8, also where "
    "the\n"
    "  side is curved. The octahedron in a Tet4 is cut along its shortest diagonal. Groups follow\n"
    "  -L, --levels N            so many times (1)\n"
    "quadratic: makes Tet10 of Tet4, Hex27 of Hex8: new nodes in the middle of edges, faces and Hex8; sides "
    "stay\n"
    "  straight. Groups follow. For curved sides, let gmsh mesh with Mesh.ElementOrder = 2\n"
    "turn: renumbers the corners of elements that are inverted, as all are in a mirrored mesh; a mesh that "
    "is\n"
    "  folded is refused\n"
    "parts: what a partition costs: time, balance, ghosts, elements computed by several ranks\n"
    "  -n, --ranks LIST          numbers of ranks between commas\n"
    "  -p, --partition METHOD    auto, contiguous (in the mesh's node order), metis, bisection (auto)\n"
    "info: counts, groups and quality; exit code 2 where the mesh would be refused\n"
    "\n"
    "  -h, --help   -V, --version\n"
    "exit codes: 0 done, 1 failed (disk full, out of memory), 2 bad input or usage\n";

typedef struct box_options {
    fe_box box;
    fe_order order;
    int binary;
    const char *output;
    int nodes;                         /* irregular */
    int levels;                        /* refine */
    int n_ranks, ranks[32], partition; /* parts */
    const char *file;
} box_options;

/* --- values of options ------------------------------------------------------------------------------------
 */

static fe_status bad_value(const char *flag, const char *value, const char *wanted)
{
    return fe_fail(FE_BAD_INPUT, "--%s %s: %s; see meshgen --help", flag, value, wanted);
}

/* One number, or three separated by commas; `after` must follow the last. */
static fe_status read_lengths(const char *text, double length[3])
{
    static const char wanted[] = "one or three positive lengths, separated by commas, are needed";
    const char *at = text;
    int n = 0;
    do {
        char *after;
        if (strspn(at, "+.0123456789") == 0) return bad_value("length", text, wanted);
        length[n++] = strtod(at, &after);
        if (after == at || !(length[n - 1] > 0) || !isfinite(length[n - 1]) || (*after && *after != ','))
            return bad_value("length", text, wanted);
        at = after + 1;
    } while (at[-1] == ',' && n < 3);
    if (at[-1] || n == 2) return bad_value("length", text, wanted);
    if (n == 1) length[1] = length[2] = length[0];
    return FE_OK;
}

static fe_status read_cells(const char *text, int cells[3])
{
    static const char wanted[] = "one or three counts of at least 1, separated by commas, are needed";
    const char *at = text;
    int n = 0;
    do {
        char *after;
        errno = 0;
        const long long v = strtoll(at, &after, 10);
        if (after == at || errno || v < 1 || v > INT_MAX || (*after && *after != ','))
            return bad_value("cells", text, wanted);
        cells[n++] = (int)v;
        at = after + 1;
    } while (at[-1] == ',' && n < 3);
    if (at[-1] || n == 2) return bad_value("cells", text, wanted);
    if (n == 1) cells[1] = cells[2] = cells[0];
    return FE_OK;
}

static fe_status read_distort(const char *text, double *value)
{
    char *after;
    *value = strtod(text, &after);
    if (after == text || *after || !(*value >= 0 && *value < 0.5))
        return bad_value("distort", text, "a number from 0 to below 0.5 is needed");
    return FE_OK;
}

static fe_status read_seed(const char *text, uint64_t *value)
{
    char *after;
    errno = 0;
    *value = strtoull(text, &after, 10);
    if (after == text || *after || errno || strchr(text, '-'))
        return bad_value("seed", text, "a whole number from 0 is needed");
    return FE_OK;
}

static fe_status read_element(const char *text, int *kind)
{
    static const int kinds[] = {FE_HEX8, FE_TET4, FE_HEX27, FE_TET10};
    for (int k = 0; k < 4; ++k)
        if (!strcmp(text, fe_kind_name(kinds[k]))) return *kind = kinds[k], FE_OK;
    return bad_value("element", text, "hex8, tet4, hex27 or tet10 is needed");
}

static fe_status read_order(const char *text, fe_order *order)
{
    for (int k = 0; k < FE_N_ORDER; ++k)
        if (!strcmp(text, fe_order_names[k])) {
            *order = (fe_order)k;
            return FE_OK;
        }
    return bad_value("order", text, "as-is, lexicographic, rcm, morton, bisection or random is needed");
}

static fe_status read_count(const char *flag, const char *text, int most, int *value)
{
    char *after;
    errno = 0;
    const long v = strtol(text, &after, 10);
    if (after == text || *after || errno || v < 1 || v > most)
        return fe_fail(FE_BAD_INPUT, "--%s %s: a whole number from 1 to %d is needed; see meshgen --help",
                       flag, text, most);
    *value = (int)v;
    return FE_OK;
}

static fe_status read_ranks(const char *text, box_options *o)
{
    const char *at = text;
    do {
        char *after;
        errno = 0;
        const long v = strtol(at, &after, 10);
        if (after == at || errno || v < 1 || v > 4096 || (*after && *after != ',') || o->n_ranks == 32)
            return bad_value("ranks", text,
                             "numbers from 1 to 4096, at most 32, separated by commas, are needed");
        o->ranks[o->n_ranks++] = (int)v;
        at = after + 1;
    } while (at[-1] == ',');
    return FE_OK;
}

static fe_status read_partition(const char *text, int *partition)
{
    for (*partition = 0; *partition < FE_N_PARTITION; ++*partition)
        if (!strcmp(text, fe_partition_names[*partition])) return FE_OK;
    return bad_value("partition", text, "auto, contiguous, metis or bisection is needed");
}

static fe_status read_option(int option, const char *value, box_options *o)
{
    switch (option) {
    case 'e': return read_element(value, &o->box.kind);
    case 'c': return read_cells(value, o->box.cells);
    case 'l': return read_lengths(value, o->box.length);
    case 'd': return read_distort(value, &o->box.distort);
    case 's': return read_seed(value, &o->box.seed);
    case 'r': return read_order(value, &o->order);
    case 'b': o->binary = 1; return FE_OK;
    case 'n': return read_ranks(value, o);
    case 'N': return read_count("nodes", value, 100000000, &o->nodes);
    case 'L': return read_count("levels", value, 10, &o->levels);
    case 'p': return read_partition(value, &o->partition);
    default:
        o->output = value;
        return *value ? FE_OK : bad_value("output", value, "the name of a file is needed");
    }
}

/* getopt returns ':' for a flag without its value, '?' for an unknown one. */
static fe_status bad_flag(int option, char **argument)
{
    const char *word = argument[optind - 1];
    if (option == ':') return fe_fail(FE_BAD_INPUT, "%s: a value is needed; see meshgen --help", word);
    if (optopt && strncmp(word, "--", 2) != 0)
        return fe_fail(FE_BAD_INPUT, "-%c: no such flag; see meshgen --help", optopt);
    return fe_fail(FE_BAD_INPUT, "%s: no such flag, or a value that it does not take; see meshgen --help",
                   word);
}

static fe_status read_box_options(int n, char **argument, box_options *o)
{
    static const struct option flags[] = {{"element", required_argument, NULL, 'e'},
                                          {"cells", required_argument, NULL, 'c'},
                                          {"length", required_argument, NULL, 'l'},
                                          {"distort", required_argument, NULL, 'd'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"order", required_argument, NULL, 'r'},
                                          {"binary", no_argument, NULL, 'b'},
                                          {"output", required_argument, NULL, 'o'},
                                          {"nodes", required_argument, NULL, 'N'},
                                          {"levels", required_argument, NULL, 'L'},
                                          {"ranks", required_argument, NULL, 'n'},
                                          {"partition", required_argument, NULL, 'p'},
                                          {0}};
    int option;
    opterr = 0;
    while ((option = getopt_long(n, argument, ":e:c:l:d:s:r:bo:n:N:L:p:", flags, NULL)) != -1) {
        if (option == ':' || option == '?') return bad_flag(option, argument);
        FE_TRY(read_option(option, optarg, o));
    }
    if (optind < n) o->file = argument[optind++];
    return optind < n ? fe_fail(FE_BAD_INPUT, "\"%s\" is not a flag; see meshgen --help", argument[optind])
                      : FE_OK;
}

/* --- commands ---------------------------------------------------------------------------------------------
 */

/* A box is made in lexicographic order; sorting by coordinates would follow the distortion instead. */
static fe_status ordered_box(const box_options *o, fe_mesh *mesh)
{
    FE_TRY(fe_mesh_box(&o->box, mesh));
    const fe_status status =
        o->order == FE_ORDER_LEXICOGRAPHIC ? FE_OK : fe_mesh_reorder(mesh, o->order, o->box.seed);
    if (status != FE_OK) fe_mesh_close(mesh);
    return status;
}

/* Options of another command, or a file where none is read, are refused. */
static fe_status check_options(const char *command, const box_options *o)
{
    const int box = !strcmp(command, "box"), tube = !strcmp(command, "tube"),
              irregular = !strcmp(command, "irregular"), refine = !strcmp(command, "refine"),
              parts = !strcmp(command, "parts"), turn = !strcmp(command, "turn"),
              quadratic = !strcmp(command, "quadratic");
    const char *wrong = o->n_ranks && !parts     ? "--ranks is a flag of parts"
                        : o->nodes && !irregular ? "--nodes is a flag of irregular"
                        : o->levels && !refine   ? "--levels is a flag of refine"
                        : o->output && parts     ? "--output is a flag of box"
                        : o->box.cells[0] && (irregular | refine | turn | quadratic)
                            ? "--cells is a flag of box"
                        : o->order != FE_ORDER_AS_IS && turn      ? "--order is a flag of refine"
                        : tube && o->box.length[0] > 0            ? "--length is a flag of box"
                        : (box | tube) && !o->box.cells[0]        ? "--cells is missing"
                        : irregular && !o->nodes                  ? "--nodes is missing"
                        : parts && !o->n_ranks                    ? "--ranks is missing"
                        : (refine | turn | quadratic) && !o->file ? "a mesh file is needed"
                        : !parts && !o->output                    ? "--output is missing"
                                                                  : NULL;
    if (o->file && (box | tube | irregular))
        return fe_fail(FE_BAD_INPUT, "%s: \"%s\" is not a flag; see meshgen --help", command, o->file);
    if (!wrong && o->file && o->output && fe_file_same(o->file, o->output))
        return fe_fail(FE_BAD_INPUT,
                       "%s: --output %s is the mesh that is read, which stays as it is; give another name",
                       command, o->output);
    return wrong ? fe_fail(FE_BAD_INPUT, "%s: %s; see meshgen --help", command, wrong) : FE_OK;
}

static fe_status write_and_close(const box_options *o, fe_mesh *mesh)
{
    const fe_status status = fe_mesh_write(mesh, o->output, o->binary);
    fe_mesh_close(mesh);
    return status;
}

/* The same in the order that was asked for, after what made or changed the mesh; the mesh is closed in any
 * case. */
static fe_status order_and_write(fe_status status, const box_options *o, fe_mesh *mesh)
{
    if (status == FE_OK) status = fe_mesh_reorder(mesh, o->order, o->box.seed);
    if (status == FE_OK) return write_and_close(o, mesh);
    fe_mesh_close(mesh);
    return status;
}

static fe_status make_box(int n, char **argument)
{
    box_options o = {.box = {.kind = FE_HEX8, .length = {1, 1, 1}}, .order = FE_ORDER_LEXICOGRAPHIC};
    fe_mesh mesh;
    FE_TRY(read_box_options(n, argument, &o));
    FE_TRY(check_options("box", &o));
    FE_TRY(ordered_box(&o, &mesh));
    return write_and_close(&o, &mesh);
}

/* Bends a box of 1 × 1 × height: x goes through the wall from radius 1 to 2, y along a quarter of the arc. */
static void bend(fe_mesh *mesh)
{
    for (int n = 0; n < mesh->n_node; ++n) {
        double *x = mesh->x + 3 * (size_t)n;
        const double r = 1 + x[0], angle = 0.5 * acos(-1.0) * x[1];
        const int starts = x[1] == 0, ends = x[1] == 1; /* on the planes that cut it, to the last bit */
        x[0] = ends ? 0 : r * cos(angle), x[1] = starts ? 0 : r * sin(angle);
    }
}

static fe_status rename_group(fe_group *group, const char *name)
{
    free(group->name);
    FE_ALLOCATE(group->name, strlen(name) + 1, "group name");
    strcpy(group->name, name);
    return FE_OK;
}

static fe_status make_tube(int n, char **argument)
{
    static const char *const sides[6] = {"inner", "outer", "y0", "x0", "z0", "z1"};
    box_options o = {.box = {.kind = FE_HEX8}, .order = FE_ORDER_LEXICOGRAPHIC};
    fe_mesh mesh;
    FE_TRY(read_box_options(n, argument, &o));
    FE_TRY(check_options("tube", &o));
    o.box.length[0] = o.box.length[1] = 1, o.box.length[2] = 0.5;
    FE_TRY(ordered_box(&o, &mesh));
    bend(&mesh);
    fe_status status = FE_OK;
    for (int side = 0; side < 6 && status == FE_OK; ++side)
        status = rename_group(&mesh.group[side], sides[side]);
    if (status == FE_OK) status = fe_mesh_check(&mesh); /* few cells along the arc may fold */
    if (status == FE_OK) return write_and_close(&o, &mesh);
    fe_mesh_close(&mesh);
    return status;
}

static fe_status make_irregular(int n, char **argument)
{
    box_options o = {.box = {.kind = FE_HEX8}, .order = FE_ORDER_AS_IS};
    fe_mesh mesh;
    FE_TRY(read_box_options(n, argument, &o));
    FE_TRY(check_options("irregular", &o));
    FE_TRY(fe_mesh_irregular(o.box.kind, o.nodes, o.box.seed, &mesh));
    return order_and_write(FE_OK, &o, &mesh);
}

static fe_status make_finer(int n, char **argument)
{
    box_options o = {.order = FE_ORDER_AS_IS};
    fe_mesh mesh;
    FE_TRY(read_box_options(n, argument, &o));
    FE_TRY(check_options("refine", &o));
    FE_TRY(fe_mesh_read(o.file, 1, &mesh));
    fe_status status = FE_OK;
    for (int level = 0; level < (o.levels ? o.levels : 1) && status == FE_OK; ++level)
        status = fe_mesh_refine(&mesh, 0);
    return order_and_write(status, &o, &mesh);
}

static fe_status make_quadratic(int n, char **argument)
{
    box_options o = {.order = FE_ORDER_AS_IS};
    fe_mesh mesh;
    FE_TRY(read_box_options(n, argument, &o));
    FE_TRY(check_options("quadratic", &o));
    FE_TRY(fe_mesh_read(o.file, 1, &mesh));
    fe_status status = fe_mesh_elevate(&mesh);
    if (status == FE_OK) status = fe_mesh_check(&mesh);
    return order_and_write(status, &o, &mesh);
}

static fe_status make_turned(int n, char **argument)
{
    box_options o = {.order = FE_ORDER_AS_IS};
    fe_mesh mesh;
    int n_turned;
    FE_TRY(read_box_options(n, argument, &o));
    FE_TRY(check_options("turn", &o));
    FE_TRY(fe_mesh_read_turned(o.file, 1, &n_turned, &mesh));
    const fe_status status = fe_mesh_write(&mesh, o.output, o.binary);
    if (status == FE_OK)
        printf("%s: %d of %d elements are turned\n", fe_printable(mesh.path), n_turned, mesh.n_elem);
    fe_mesh_close(&mesh);
    return status;
}

static fe_status print_groups(const fe_mesh *mesh)
{
    for (int g = 0; g < mesh->n_group; ++g) {
        const fe_group *group = &mesh->group[g];
        static const char *const what[4] = {"points", "lines", "faces", "elements"};
        int n, *node;
        FE_TRY(fe_group_nodes(mesh, group, &n, &node));
        free(node);
        printf("group             %d:%d \"%s\": %d %s, %d nodes\n", group->dim, group->number, group->name,
               group->n_facet, what[group->dim], n);
    }
    return FE_OK;
}

static fe_status print_info(fe_mesh *mesh)
{
    fe_quality q;
    int n_part, *part, n_body, *body;
    fe_printable(mesh->path);
    for (int g = 0; g < mesh->n_group; ++g) fe_printable(mesh->group[g].name);
    FE_TRY(fe_mesh_quality(mesh, &q));
    FE_TRY(fe_mesh_components(mesh, &n_part, &part));
    free(part);
    FE_TRY(fe_mesh_bodies(mesh, &n_body, &body));
    free(body);
    printf("mesh              %s\n", mesh->path);
    printf("element           %s\n", fe_kind_name(mesh->kind));
    printf("nodes             %d\n", mesh->n_node);
    printf("elements          %d\n", mesh->n_elem);
    FE_TRY(print_groups(mesh));
    printf("components        %d\n", n_part);
    if (n_body > n_part) printf("bodies            %d (some share edges or nodes, but no face)\n", n_body);
    printf("volume            %.16g\n", q.volume);
    printf("jacobian          %.6g to %.6g\n", q.min_jacobian, q.max_jacobian);
    printf("scaled jacobian   %.6g (smallest; 1 is best)\n", q.min_scaled);
    printf("aspect ratio      %.6g (largest)\n", q.max_aspect);
    printf("bandwidth         %d (mean over elements %.1f)\n", q.bandwidth, q.mean_bandwidth);
    printf("valence           %d to %d (elements at a node)\n", q.min_valence, q.max_valence);
    return fflush(stdout) ? fe_fail(FE_FAILED, "standard output: %s", strerror(errno)) : FE_OK;
}

static fe_status show_info(int n, char **argument)
{
    if (n != 2) return fe_fail(FE_BAD_INPUT, "info: one mesh file is needed; see meshgen --help");
    fe_mesh mesh;
    FE_TRY(fe_mesh_read(argument[1], 1, &mesh));
    const fe_status status = print_info(&mesh);
    fe_mesh_close(&mesh);
    return status;
}

typedef struct parts {
    const fe_mesh *mesh;
    fe_partition partition;
    fe_partition_quality quality;
} parts;

static fe_status build_part(void *context, fe_comm *comm, fe_device *device)
{
    parts *p = context;
    fe_share share = {0};
    fe_partition_quality quality;
    fe_status status = fe_share_build(p->mesh, &p->partition, NULL, comm->rank, &share);
    if (status == FE_OK) status = fe_share_quality(&share, comm, device, &quality);
    if (status == FE_OK && comm->rank == 0) p->quality = quality;
    fe_share_close(&share);
    return status;
}

static fe_status print_parts(const box_options *o, fe_mesh *mesh)
{
    fe_printable(mesh->path);
    printf("%s: %d nodes, %d %s elements\n%6s  %-10s  %10s  %10s  %10s  %10s  %11s  %8s\n", mesh->path,
           mesh->n_node, mesh->n_elem, fe_kind_name(mesh->kind), "ranks", "partition", "owners s", "shares s",
           "imbalance", "ghosts", "duplicates", "neighbors");
    for (int i = 0; i < o->n_ranks; i++) {
        fe_ranks ranks = {.backend = &fe_backend_host, .n_rank = o->ranks[i], .threads = 1};
        parts p = {.mesh = mesh};
        const double start = fe_seconds();
        fe_status status = fe_partition_mesh(mesh, ranks.n_rank, o->partition, &p.partition);
        const double parted = fe_seconds();
        if (status == FE_OK) status = fe_ranks_run(&ranks, build_part, &p);
        if (status == FE_OK)
            printf("%6d  %-10s  %10.2f  %10.2f  %10.4f  %9.3f%%  %10.3f%%  %8d\n", ranks.n_rank,
                   fe_partition_names[p.partition.method], parted - start, fe_seconds() - parted,
                   p.quality.imbalance, 100.0 * p.quality.ghosts, 100.0 * p.quality.duplicates,
                   p.quality.most_neighbors);
        fflush(stdout);
        if (ranks.abandoned)
            fe_ranks_leave(fe_exit_code(status, "meshgen")); /* with what it was given here */
        fe_partition_close(&p.partition);
        FE_TRY(status);
    }
    return FE_OK;
}

static fe_status show_parts(int n, char **argument)
{
    box_options o = {.box = {.kind = FE_HEX8, .length = {1, 1, 1}}, .order = FE_ORDER_LEXICOGRAPHIC};
    fe_mesh mesh;
    FE_TRY(read_box_options(n, argument, &o));
    FE_TRY(check_options("parts", &o));
    if (!o.file == !o.box.cells[0])
        return fe_fail(FE_BAD_INPUT, "parts: a mesh file or --cells is needed; see meshgen --help");
    FE_TRY(o.file ? fe_mesh_read(o.file, 1, &mesh) : ordered_box(&o, &mesh));
    const fe_status status = print_parts(&o, &mesh);
    fe_mesh_close(&mesh);
    return status;
}

static int is_flag(const char *word, const char *brief, const char *full)
{
    return !strcmp(word, brief) || !strcmp(word, full);
}

static fe_status run(int n, char **argument)
{
    for (int i = 1; i < n; ++i) {
        if (is_flag(argument[i], "-h", "--help")) return printf("%s", usage), FE_OK;
        if (is_flag(argument[i], "-V", "--version")) return printf("%s", fe_version_text()), FE_OK;
    }
    if (n < 2)
        return fe_fail(FE_BAD_INPUT,
                       "a command is needed, box, tube, irregular, refine, quadratic, turn, info or "
                       "parts; see meshgen --help");
    if (!strcmp(argument[1], "box")) return make_box(n - 1, argument + 1);
    if (!strcmp(argument[1], "tube")) return make_tube(n - 1, argument + 1);
    if (!strcmp(argument[1], "irregular")) return make_irregular(n - 1, argument + 1);
    if (!strcmp(argument[1], "refine")) return make_finer(n - 1, argument + 1);
    if (!strcmp(argument[1], "quadratic")) return make_quadratic(n - 1, argument + 1);
    if (!strcmp(argument[1], "turn")) return make_turned(n - 1, argument + 1);
    if (!strcmp(argument[1], "parts")) return show_parts(n - 1, argument + 1);
    if (!strcmp(argument[1], "info")) return show_info(n - 1, argument + 1);
    return fe_fail(FE_BAD_INPUT,
                   "\"%s\" is not a command, box, tube, irregular, refine, quadratic, turn, info or parts; "
                   "see meshgen --help",
                   argument[1]);
}

int main(int n, char **argument)
{
    fe_program_begin();
    return fe_exit_code(run(n, argument), "meshgen");
}
