/* Opens a benchmark case and checks results on it; see case_box.h. */
#include "bench/case_box.h"
#include "common/backend/device.h"
#include "common/mesh/lookup.h"
#include "common/problem/parts.h"
#include "common/problem/state.h"
#include "have/cuda.h"
#include "tests/oracle.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

const char *const bench_operation_names[BENCH_N_OPERATION] = {"residual", "material", "jacvec_elastic",
                                                              "jacvec", "diagonal"};

static const oracle_material steel = {.E = 200e3, .nu = 0.3, .sigma_y = 250.0, .H = 2000.0};

enum { N_SAMPLE = 256 }; /* nodes whose rows are compared with the oracle */

/* The sampled nodes, the elements at them as a mesh of their own, and the oracle's results there. */
typedef struct bench_oracle {
    oracle_mesh mesh;
    int n_sample, width; /* width: history values of an element, points × FE_STATE */
    int *node, *elem;    /* [mesh.n_node], [mesh.n_elem] local numbers; sampled nodes come first */
    int64_t *elem_tag;   /* [mesh.n_elem] */
    double *x;
    int *conn;
    double *u[2], *v; /* [n_node][3]: committed, trial, direction */
    oracle_state *committed, *trial;
    double (*tangent)[6][6], (*elastic)[6][6];
    double *result[BENCH_N_OPERATION], *scale[BENCH_N_OPERATION]; /* [n_node][3 or 9]; none for material */
    double *first[BENCH_N_OPERATION];                             /* the first strategy's result, all rows */
    int *place;     /* device: entries of trial.point of the sampled elements */
    double *taken;  /* device */
    uint64_t *hash; /* device */
    uint8_t *flags; /* [n_elem of the share] */
} bench_oracle;

int bench_box_cells(int n_dof)
{
    const int cells = (int)lround(cbrt(n_dof / 3.0)) - 1;
    return cells < 2 ? 2 : cells;
}

int64_t bench_box_dofs(int cells) { return 3 * (int64_t)(cells + 1) * (cells + 1) * (cells + 1); }

/* --- fields ------------------------------------------------------------------------------------------ */

/* Three numbers in [-1, 1] that belong to a tag and a seed, on whatever rank. */
static void random_vector(int64_t node, uint64_t seed, double out[3])
{
    uint64_t state = fe_mix(seed) ^ fe_mix((uint64_t)node + 1);
    for (int i = 0; i < 3; i++) {
        state = fe_mix(state);
        out[i] = 0x1p-52 * (double)(state >> 11) - 1.0;
    }
}

static double yield_strain(void) /* engineering strain, in shear */
{
    return steel.sigma_y * 2.0 * (1.0 + steel.nu) / steel.E / sqrt(3.0);
}

/* Displacement of step 0 (committed) or 1: the slab z < plastic sheared, and a random part. */
static void displacement(const bench_box *box, int cells, int step, int64_t node, const double x[3],
                         double u[3])
{
    static const double direction[3] = {1.0, 0.5, 0.25};
    const double yield = yield_strain();
    const double height = box->plastic * (box->weak ? box->grid[2] : 1);
    const double slab = !box->scatter && x[2] < height ? height - x[2] : 0.0;
    random_vector(node, 1 + (uint64_t)step, u);
    for (int i = 0; i < 3; i++)
        u[i] = yield * (0.1 / cells * u[i] + (step ? 4.0 : 2.0) * direction[i] * slab);
}

/* Scattered: committed state of point q of the element with tag e, as fe_state stores it; 0 where it was not
 * chosen.
 */
static void scattered_state(const bench_box *box, int64_t e, int q, double state[FE_STATE])
{
    memset(state, 0, FE_STATE * sizeof *state);
    if (0x1p-53 * (double)(fe_mix(fe_mix(4) ^ fe_mix((uint64_t)e + 1)) >> 11) >= box->plastic) return;
    const double amount = -3.0 * yield_strain();
    double normal[3], shear[3];
    random_vector(e, 5 + (uint64_t)q, normal);
    random_vector(e, 13 + (uint64_t)q, shear);
    state[0] = amount * 0.05 * normal[0], state[1] = amount * 0.05 * normal[1]; /* xx yy */
    state[2] = amount * 0.05 * shear[0];                                        /* xy */
    state[3] = amount * (0.25 + 0.05 * shear[1]);                               /* yz */
    state[4] = amount * (0.50 + 0.05 * shear[2]);                               /* xz */
    state[5] = -amount / sqrt(3.0);
}

/* Brings it into the case, some groups of elements at a time. */
static fe_status upload_scattered(bench_case *c, const fe_mesh *mesh)
{
    enum { CHUNK = FE_GROUP < 1024 ? 1024 * FE_GROUP : FE_GROUP };
    const fe_view *v = &c->problem.view;
    const fe_backend *ops = c->device->ops;
    const int kind = c->box.kind, n_point = fe_points(kind);
    const size_t width = (size_t)FE_POINT * n_point;
    double *point = NULL;
    uint8_t *flags = NULL;
    fe_status status = FE_OK;
    FE_ALLOCATE(point, CHUNK * width, "scattered state");
    FE_ALLOCATE(flags, v->ld, "scattered state");
    for (int first = 0; first < v->ld && status == FE_OK; first += CHUNK) {
        const int n = v->ld - first < CHUNK ? v->ld - first : CHUNK;
        for (int e = first; e < first + n && e < v->n_elem; e++)
            for (int q = 0; q < n_point; q++) {
                double state[FE_STATE];
                scattered_state(&c->box, mesh->elem_tag[c->share.elem[e]], q, state);
                for (int i = 0; i < FE_STATE; i++) point[fe_point_index(kind, i, q, e - first)] = state[i];
                flags[e] = state[FE_STATE - 1] > 0.0 ? FE_YIELDED : 0;
            }
        status = ops->memory.upload(c->device, (size_t)n * width * sizeof *point, point,
                             v->committed.point + (size_t)first * width);
        if (status == FE_OK) status = ops->wait(c->device);
    }
    if (status == FE_OK) status = ops->memory.upload(c->device, (size_t)v->ld, flags, v->committed.flags);
    if (status == FE_OK) status = ops->wait(c->device);
    free(point), free(flags);
    return status;
}

/* State at u, as every strategy has to compute it. */
static fe_status common_material(bench_case *c)
{
#if FE_HAVE_CUDA
    if (c->device->ops == &fe_backend_cuda)
        return fe_material_cuda(&c->problem, NULL, FE_TANGENT_CONSISTENT, c->u);
#endif
    return fe_material_host(&c->problem, NULL, FE_TANGENT_CONSISTENT, c->u);
}

/* Ghosts of fields come from their owners. */
static fe_status refresh(bench_case *c, double *x) { return c->comm ? fe_comm_exchange(c->comm, x) : FE_OK; }

static fe_status upload_fields(bench_case *c, const fe_mesh *mesh)
{
    fe_device *d = c->device;
    const fe_share *s = &c->share;
    const size_t bytes = 3 * (size_t)s->n_local * sizeof(double);
    double *field = NULL;
    fe_status status = FE_OK;
    FE_ALLOCATE(field, 3 * (size_t)s->n_local, "fields");
    for (size_t i = 3 * (size_t)s->n_owned; i < 3 * (size_t)s->n_local; i++) field[i] = NAN;
    for (int pass = 0; pass < 3 && status == FE_OK; pass++) {
        double *x = pass < 2 ? c->u : c->v;
        for (int i = 0; i < s->n_owned; i++) {
            const int node = s->node[i];
            if (pass < 2)
                displacement(&c->box, c->cells, pass, mesh->node_tag[node], mesh->x + 3 * (size_t)node,
                             field + 3 * (size_t)i);
            else
                random_vector(mesh->node_tag[node], 3, field + 3 * (size_t)i);
        }
        status = d->ops->memory.upload(d, bytes, field, x);
        if (status == FE_OK) status = refresh(c, x);
        if (status != FE_OK || pass == 2) continue;
        if (pass == 0 && c->box.scatter) {
            status = upload_scattered(c, mesh);
            continue;
        }
        status = common_material(c);
        if (status == FE_OK && pass == 0) fe_problem_accept(&c->problem);
    }
    free(field);
    return status;
}

/* --- the sample -------------------------------------------------------------------------------------- */

/* Elements of the mesh, all of them held by the rank, become local numbers. */
static fe_status local_elements(const fe_mesh *mesh, const fe_share *s, int n, int *elem)
{
    int *local = NULL;
    FE_ALLOCATE(local, mesh->n_elem, "sampled elements");
    for (int k = 0; k < s->n_elem; k++) local[s->elem[k]] = k;
    for (int k = 0; k < n; k++) elem[k] = local[elem[k]];
    free(local);
    return FE_OK;
}

/* Numbers the sampled nodes, which are owned, first, then the other corners of the elements at them, in
 * number [n_node]. */
static fe_status sample_elements(bench_oracle *o, const fe_mesh *mesh, const fe_share *s, int *number)
{
    const int n_corner = fe_corners(mesh->kind);
    int n_node = 0;
    for (int i = 0; i < mesh->n_node; i++) number[i] = -1;
    for (int i = 0; i < N_SAMPLE && n_node < mesh->n_node; i++) {
        const int n_border = s->n_owned - s->n_node_interior;
        const int first = i % 2 && n_border ? s->n_node_interior : 0; /* half of them read ghosts */
        const uint64_t pick = fe_mix((uint64_t)i + 17) % (uint64_t)(s->n_owned - first);
        const int node = s->node[i == 0 ? 0 : i == 1 ? s->n_owned - 1 : first + (int)pick];
        if (number[node] < 0) number[node] = n_node++;
    }
    o->n_sample = n_node;
    for (int fill = 0; fill < 2; fill++) {
        int n = 0;
        for (int e = 0; e < mesh->n_elem; e++) {
            const int *node = mesh->conn + (size_t)e * n_corner;
            int touches = 0;
            for (int a = 0; a < n_corner; a++)
                touches |= number[node[a]] >= 0 && number[node[a]] < o->n_sample;
            if (!touches) continue;
            if (fill) o->elem[n] = e; /* of the mesh, until local numbers take their place */
            n++;
        }
        o->mesh.n_elem = n;
        if (!fill) FE_ALLOCATE(o->elem, n, "sampled elements");
    }
    FE_ALLOCATE(o->conn, (size_t)o->mesh.n_elem * n_corner, "sampled elements");
    for (int k = 0; k < o->mesh.n_elem; k++)
        for (int a = 0; a < n_corner; a++) {
            const int node = mesh->conn[(size_t)o->elem[k] * n_corner + a];
            if (number[node] < 0) number[node] = n_node++;
            o->conn[(size_t)k * n_corner + a] = number[node];
        }
    o->mesh.n_node = n_node;
    FE_ALLOCATE(o->elem_tag, o->mesh.n_elem, "sampled elements");
    for (int k = 0; k < o->mesh.n_elem; k++) o->elem_tag[k] = mesh->elem_tag[o->elem[k]];
    return local_elements(mesh, s, o->mesh.n_elem, o->elem);
}

static fe_status sample_fields(bench_oracle *o, const bench_case *c, const fe_mesh *mesh, const int *number)
{
    const size_t n = (size_t)o->mesh.n_node;
    FE_ALLOCATE(o->node, n, "sampled nodes");
    FE_ALLOCATE(o->x, 3 * n, "sampled nodes");
    FE_ALLOCATE(o->u[0], 3 * n, "sampled nodes");
    FE_ALLOCATE(o->u[1], 3 * n, "sampled nodes");
    FE_ALLOCATE(o->v, 3 * n, "sampled nodes");
    for (int i = 0; i < mesh->n_node; i++) {
        const int k = number[i];
        if (k < 0) continue;
        o->node[k] = c->share.local[i];
        memcpy(o->x + 3 * (size_t)k, mesh->x + 3 * (size_t)i, 3 * sizeof *o->x);
        random_vector(mesh->node_tag[i], 3, o->v + 3 * (size_t)k);
        for (int step = 0; step < 2; step++)
            displacement(&c->box, c->cells, step, mesh->node_tag[i], o->x + 3 * (size_t)k,
                         o->u[step] + 3 * (size_t)k);
    }
    o->mesh.x = o->x, o->mesh.conn = o->conn;
    o->mesh.n_corner = fe_corners(c->box.kind), o->mesh.n_point = fe_points(c->box.kind);
    return FE_OK;
}

/* The committed state of the sampled elements in the oracle's form. */
static void sample_committed(bench_oracle *o, const bench_box *box)
{
    const int n_point = o->mesh.n_point;
    if (!box->scatter) {
        memset(o->trial, 0, (size_t)o->mesh.n_elem * n_point * sizeof *o->trial);
        oracle_update(&o->mesh, &steel, o->trial, o->u[0], o->committed, o->tangent);
        return;
    }
    for (int p = 0; p < o->mesh.n_elem * n_point; p++) {
        double s[FE_STATE];
        scattered_state(box, o->elem_tag[p / n_point], p % n_point, s);
        o->committed[p] = (oracle_state){{s[0], s[1], -s[0] - s[1], s[2], s[3], s[4]}, s[5]};
    }
}

static fe_status sample_results(bench_oracle *o, const bench_box *box)
{
    const size_t points = (size_t)o->mesh.n_elem * o->mesh.n_point;
    const oracle_material elastic = {steel.E, steel.nu, INFINITY, 0.0};
    for (int op = 0; op < BENCH_N_OPERATION; op++) {
        const size_t n = (size_t)o->mesh.n_node * (op == BENCH_DIAGONAL ? 9 : 3);
        FE_ALLOCATE(o->result[op], n, "oracle");
        FE_ALLOCATE(o->scale[op], n, "oracle");
    }
    FE_ALLOCATE(o->committed, points, "oracle");
    FE_ALLOCATE(o->trial, points, "oracle");
    FE_ALLOCATE(o->tangent, points, "oracle");
    FE_ALLOCATE(o->elastic, points, "oracle");
    oracle_update(&o->mesh, &elastic, o->committed, o->u[0], o->trial, o->elastic);
    sample_committed(o, box);
    oracle_update(&o->mesh, &steel, o->committed, o->u[1], o->trial, o->tangent);
    oracle_residual(&o->mesh, &steel, o->committed, o->u[1], o->result[BENCH_RESIDUAL],
                    o->scale[BENCH_RESIDUAL]);
    oracle_jacvec(&o->mesh, o->elastic, o->v, o->result[BENCH_JACVEC_ELASTIC],
                  o->scale[BENCH_JACVEC_ELASTIC]);
    oracle_jacvec(&o->mesh, o->tangent, o->v, o->result[BENCH_JACVEC], o->scale[BENCH_JACVEC]);
    oracle_diagonal(&o->mesh, o->tangent, (double(*)[3][3])o->result[BENCH_DIAGONAL],
                    (double(*)[3][3])o->scale[BENCH_DIAGONAL]);
    /* K_ij of a node may cancel within an element; it is bounded by sqrt(K_ii K_jj). */
    for (int n = 0; n < o->mesh.n_node; n++) {
        double *scale = o->scale[BENCH_DIAGONAL] + 9 * (size_t)n;
        for (int k = 0; k < 9; k++)
            if (k % 4) scale[k] = sqrt(scale[4 * (k / 3)] * scale[4 * (k % 3)]);
    }
    return FE_OK;
}

/* Places of the sampled elements' history in trial.point, as fe_state lays it out. */
static fe_status sample_places(bench_oracle *o, const bench_case *c)
{
    const int ld = c->problem.view.ld, width = FE_STATE * o->mesh.n_point;
    const size_t n = (size_t)o->mesh.n_elem * width;
    int *place = NULL;
    if ((int64_t)width * ld > INT32_MAX)
        return fe_fail(FE_BAD_INPUT, "%d elements are too many for one benchmark case",
                       c->problem.view.n_elem);
    FE_ALLOCATE(place, n, "sampled points");
    for (int k = 0; k < o->mesh.n_elem; k++)
        for (int i = 0; i < width; i++)
            place[(size_t)k * width + i] =
                (int)fe_point_index(c->box.kind, i / o->mesh.n_point, i % o->mesh.n_point, o->elem[k]);
    o->width = width;
    fe_status status =
        fe_device_upload(c->device, n, sizeof *place, place, "sampled points", (void **)&o->place);
    free(place);
    if (status == FE_OK)
        status = fe_device_allocate(c->device, n, sizeof(double), "sampled points", (void **)&o->taken);
    if (status == FE_OK)
        status = fe_device_allocate(c->device, 1, sizeof(uint64_t), "fingerprint", (void **)&o->hash);
    return status;
}

static fe_status open_oracle(bench_case *c, const fe_mesh *mesh)
{
    int *number = NULL;
    FE_ALLOCATE(c->oracle, 1, "oracle");
    FE_ALLOCATE(c->oracle->flags, c->share.n_elem, "flags");
    FE_ALLOCATE(number, mesh->n_node, "oracle");
    fe_status status = sample_elements(c->oracle, mesh, &c->share, number);
    if (status == FE_OK) status = sample_fields(c->oracle, c, mesh, number);
    free(number);
    FE_TRY(status);
    FE_TRY(sample_results(c->oracle, &c->box));
    return sample_places(c->oracle, c);
}

static void close_oracle(bench_oracle *o)
{
    if (!o) return;
    free(o->node), free(o->elem), free(o->elem_tag), free(o->x), free(o->conn), free(o->u[0]), free(o->u[1]),
        free(o->v);
    free(o->committed), free(o->trial), free(o->tangent), free(o->elastic), free(o->flags);
    for (int op = 0; op < BENCH_N_OPERATION; op++)
        free(o->result[op]), free(o->scale[op]), free(o->first[op]);
    free(o);
}

/* --- the case ---------------------------------------------------------------------------------------- */

static fe_status open_problem(bench_case *c, const fe_mesh *mesh)
{
    const fe_j2 material = fe_j2_of(steel.E, steel.nu, steel.sigma_y, steel.H);
    const int n_local = c->share.n_local;
    const size_t before = c->device->bytes_resident;
    FE_TRY(fe_problem_open(mesh, &c->share, c->box.kind, material, c->device, &c->problem));
    c->bytes = c->device->bytes_resident - before;
    FE_TRY(fe_device_vector(c->device, n_local, "displacement", &c->u));
    FE_TRY(fe_device_vector(c->device, n_local, "direction", &c->v));
    FE_TRY(
        fe_device_allocate(c->device, 9 * (size_t)n_local + 8, sizeof(double), "output", (void **)&c->out));
    return upload_fields(c, mesh);
}

/* How many elements have a flag set. */
static fe_status count_flags(const bench_case *c, const uint8_t *flags, int flag, int *count)
{
    uint8_t *host = c->oracle->flags;
    const int n = c->problem.view.n_elem;
    FE_TRY(c->device->ops->memory.download(c->device, (size_t)n, flags, host));
    *count = 0;
    for (int e = 0; e < n; e++) *count += (host[e] & flag) != 0;
    return FE_OK;
}

void bench_box_shape(const bench_box *box, int cells[3], int64_t *n_dof)
{
    *n_dof = 3;
    for (int i = 0; i < 3; i++) {
        cells[i] = bench_box_cells(box->n_dof) * (box->weak ? box->grid[i] : 1);
        *n_dof *= cells[i] + 1;
    }
}

/* The first of n nodes of an axis that rank r of g owns: node i belongs to rank i g / n. */
static int first_owned(int64_t r, int64_t g, int64_t n) { return (int)((r * n + g - 1) / g); }

/* The piece of the box around this rank's nodes, and the owners of all its nodes. */
static fe_status make_piece(const bench_case *c, fe_mesh *mesh, fe_partition *p)
{
    const bench_box *b = &c->box;
    fe_box box = {.kind = fe_corners(b->kind) == 4 ? FE_TET4 : FE_HEX8, .distort = 0.2, .seed = 1};
    int first[3], last[3], rank = c->comm ? c->comm->rank : 0;
    int64_t n_dof;
    bench_box_shape(b, box.cells, &n_dof);
    p->n_rank = 1;
    for (int i = 0; i < 3; i++) {
        const int g = b->grid[i], n = box.cells[i] + 1, place = rank % g;
        const int low = first_owned(place, g, n), high = first_owned(place + 1, g, n);
        first[i] = low > 0 ? low - 1 : 0, last[i] = high < n ? high : n - 1;
        box.length[i] = (double)box.cells[i] / c->cells;
        rank /= g, p->n_rank *= g;
    }
    FE_TRY(fe_mesh_box_piece(&box, first, last, mesh));
    if (b->order != FE_ORDER_LEXICOGRAPHIC) FE_TRY(fe_mesh_reorder(mesh, b->order, 1)); /* is so */
    FE_ALLOCATE(p->owner, mesh->n_node, "owners");
    for (int k = 0; k < mesh->n_node; k++) {
        int64_t number = mesh->node_tag[k] - 1;
        for (int i = 0, stride = 1; i < 3; i++) {
            const int n = box.cells[i] + 1;
            p->owner[k] += stride * (int)(number % n * b->grid[i] / n);
            number /= n, stride *= b->grid[i];
        }
    }
    return FE_OK;
}

static fe_status open_on_device(bench_case *c, fe_mesh *mesh, fe_partition *p)
{
    FE_TRY(make_piece(c, mesh, p));
    FE_TRY(fe_share_build(mesh, p, c->comm ? c->comm->rank : 0, &c->share));
    if (c->comm) FE_TRY(c->comm->ops->attach(c->comm, c->device, &c->share.halo));
    FE_TRY(open_problem(c, mesh));
    FE_TRY(open_oracle(c, mesh));
    FE_TRY(count_flags(c, c->problem.view.committed.flags, FE_YIELDED, &c->n_yielded));
    return count_flags(c, c->problem.view.trial.flags, FE_SOFTENED, &c->n_softened);
}

static fe_status open_case(bench_case *c)
{
    fe_mesh mesh = {0};
    fe_partition p = {0};
    for (int i = 0; i < 3; i++)
        if (c->box.grid[i] == 0) c->box.grid[i] = 1;
    c->cells = bench_box_cells(c->box.n_dof);
    const fe_status status = open_on_device(c, &mesh, &p);
    fe_partition_close(&p);
    fe_mesh_close(&mesh);
    return status;
}

fe_status bench_case_open(const bench_box *box, bench_case *c)
{
    *c = (bench_case){.box = *box, .owns_device = 1};
    FE_TRY(box->backend->open(0, box->threads, &c->device));
    return open_case(c);
}

fe_status bench_case_open_rank(const bench_box *box, fe_comm *comm, fe_device *device, bench_case *c)
{
    *c = (bench_case){.box = *box, .comm = comm, .device = device};
    return open_case(c);
}

void bench_case_close(bench_case *c)
{
    if (c->owns_device && c->device) c->device->ops->close(c->device);
    close_oracle(c->oracle);
    fe_share_close(&c->share);
    *c = (bench_case){0};
}

fe_status bench_prepare(bench_case *c, const fe_assembly *a, void *work, bench_operation op)
{
    if (op == BENCH_RESIDUAL || op == BENCH_MATERIAL) return FE_OK;
    return a->material(&c->problem, work,
                       op == BENCH_JACVEC_ELASTIC ? FE_TANGENT_ELASTIC : FE_TANGENT_CONSISTENT, c->u);
}

/* Numbers in the result of an operation: rows of owned nodes, or with ghosts. */
static size_t entries(bench_operation op, int n_node)
{
    return (size_t)(op == BENCH_DIAGONAL ? 9 : 3) * (size_t)n_node;
}

fe_status bench_forces(bench_case *c, const fe_assembly *a, void *work, bench_operation op, double *x,
                       double *y)
{
    return fe_both_parts(&c->problem, a, work, c->comm, op == BENCH_RESIDUAL ? a->residual : a->jacvec,
                         FE_N_PHASE, x, y);
}

fe_status bench_apply(bench_case *c, const fe_assembly *a, void *work, bench_operation op)
{
    if (op == BENCH_MATERIAL) return a->material(&c->problem, work, FE_TANGENT_CONSISTENT, c->u);
    if (op != BENCH_DIAGONAL) return bench_forces(c, a, work, op, op == BENCH_RESIDUAL ? c->u : c->v, c->out);
    FE_TRY(c->device->ops->memory.zero(c->device, entries(op, c->share.n_local) * sizeof(double), c->out));
    return a->diagonal(&c->problem, work, c->out);
}

/* --- checks ------------------------------------------------------------------------------------------ */

/* Not a number counts as infinite. */
static double worse(double error, double difference, double scale)
{
    const double e = difference == 0.0 ? 0.0 : fabs(difference) / scale;
    return e <= error ? error : isnan(e) ? INFINITY : e;
}

static fe_status check_rows(const bench_case *c, bench_operation op, double *error)
{
    bench_oracle *o = c->oracle;
    const size_t n = entries(op, c->share.n_owned), width = op == BENCH_DIAGONAL ? 9 : 3;
    double *result = NULL, largest = DBL_MIN;
    FE_ALLOCATE(result, n, "result");
    const fe_status status = c->device->ops->memory.download(c->device, n * sizeof *result, c->out, result);
    for (size_t k = 0; k < (size_t)o->n_sample && status == FE_OK; k++)
        for (size_t i = 0; i < width; i++) {
            const double value = result[width * (size_t)o->node[k] + i], scale = o->scale[op][width * k + i];
            *error = worse(*error, value - o->result[op][width * k + i], scale + DBL_MIN);
            if (scale > largest) largest = scale;
        }
    if (status == FE_OK && !o->first[op] && *error <= BENCH_TOLERANCE) {
        o->first[op] = result;
        return FE_OK;
    }
    for (size_t i = 0; i < n && status == FE_OK && o->first[op]; i++)
        *error = worse(*error, result[i] - o->first[op][i], largest);
    free(result);
    return status;
}

/* Flags of an element as the oracle sees them. */
static int expected_flags(const bench_oracle *o, int k)
{
    int flags = 0;
    for (int q = 0; q < o->mesh.n_point; q++) {
        const double before = o->committed[k * o->mesh.n_point + q].alpha,
                     now = o->trial[k * o->mesh.n_point + q].alpha;
        flags |= (now > 0.0 ? FE_YIELDED : 0) | (now > before ? FE_SOFTENED : 0);
    }
    return flags;
}

static fe_status check_material(const bench_case *c, double *error)
{
    static const int component[5] = {0, 1, 3, 4, 5}; /* fe_state's plastic strain in the oracle's order */
    const bench_oracle *o = c->oracle;
    fe_device *d = c->device;
    const int n_point = o->mesh.n_point, n = o->mesh.n_elem * o->width;
    double *value = NULL, largest = DBL_MIN;
    int n_softened;
    FE_ALLOCATE(value, n, "history");
    fe_status status = d->ops->vector.take(d, n, o->place, c->problem.view.trial.point, o->taken);
    if (status == FE_OK) status = d->ops->memory.download(d, (size_t)n * sizeof *value, o->taken, value);
    if (status == FE_OK) status = count_flags(c, c->problem.view.trial.flags, FE_SOFTENED, &n_softened);
    for (int p = 0; p < o->mesh.n_elem * n_point; p++)
        if (o->trial[p].alpha > largest) largest = o->trial[p].alpha;
    for (int k = 0; k < o->mesh.n_elem && status == FE_OK; k++) {
        if (o->flags[o->elem[k]] != expected_flags(o, k)) *error = INFINITY;
        for (int i = 0; i < o->width; i++) {
            const oracle_state *s = &o->trial[k * n_point + i % n_point];
            const double expected = i / n_point < 5 ? s->eps_p[component[i / n_point]] : s->alpha;
            *error = worse(*error, value[(size_t)k * o->width + i] - expected, largest);
        }
    }
    free(value);
    return status;
}

static size_t point_entries(const bench_case *c)
{
    return (size_t)fe_points(c->box.kind) * (size_t)c->problem.view.ld;
}

/* What material() writes. */
static fe_status clear_trial(bench_case *c)
{
    const fe_view *v = &c->problem.view;
    fe_device *d = c->device;
    const size_t points = point_entries(c) * sizeof(double);
    FE_TRY(d->ops->memory.zero(d, FE_STATE * points, v->trial.point));
    FE_TRY(d->ops->memory.zero(d, (size_t)v->ld, v->trial.flags));
    if (v->full) FE_TRY(d->ops->memory.zero(d, FE_FULL * points, v->full));
    return d->ops->memory.zero(d, FE_TANGENT * point_entries(c) * sizeof *v->tangent, v->tangent);
}

fe_status bench_verify(bench_case *c, const fe_assembly *a, void *work, bench_operation op, double *error)
{
    *error = 0.0;
    FE_TRY(clear_trial(c));
    FE_TRY(
        c->device->ops->memory.zero(c->device, entries(BENCH_DIAGONAL, c->share.n_local) * sizeof(double), c->out));
    FE_TRY(bench_prepare(c, a, work, op));
    FE_TRY(bench_apply(c, a, work, op));
    FE_TRY(c->device->ops->wait(c->device));
    return op == BENCH_MATERIAL ? check_material(c, error) : check_rows(c, op, error);
}

/* Hash of what the operation wrote. */
static fe_status fingerprint(const bench_case *c, bench_operation op, uint64_t *hash)
{
    const fe_view *v = &c->problem.view;
    fe_device *d = c->device;
    uint64_t *sum = c->oracle->hash;
    FE_TRY(d->ops->memory.zero(d, sizeof *sum, sum));
    if (op == BENCH_MATERIAL) {
        FE_TRY(d->ops->memory.fingerprint(d, FE_STATE * point_entries(c), v->trial.point, sum));
        FE_TRY(d->ops->memory.fingerprint(d, (size_t)v->ld / sizeof *sum, v->trial.flags, sum));
        FE_TRY(d->ops->memory.fingerprint(d, FE_TANGENT * point_entries(c) * sizeof *v->tangent / sizeof *sum,
                                   v->tangent, sum));
    } else {
        FE_TRY(d->ops->memory.fingerprint(d, entries(op, c->share.n_owned), c->out, sum));
    }
    return d->ops->memory.download(d, sizeof *hash, sum, hash);
}

fe_status bench_repeat(bench_case *c, const fe_assembly *a, void *work, bench_operation op, int runs,
                       int *other)
{
    uint64_t first, now;
    *other = 0;
    FE_TRY(fingerprint(c, op, &first));
    for (int run = 1; run <= runs && !*other; run++) {
        if (op == BENCH_MATERIAL) FE_TRY(clear_trial(c));
        FE_TRY(bench_apply(c, a, work, op));
        FE_TRY(fingerprint(c, op, &now));
        if (now != first) *other = run;
    }
    return FE_OK;
}
