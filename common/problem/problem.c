/* Uploads a share: builds its local arrays on the host, copies them to the device, and frees them. */
#include "common/mesh/corners.h"
#include "common/mesh/incidence.h"
#include "common/problem/share.h"
#include "common/problem/state.h"
#include "have/cuda.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* A view's arrays in host memory; NULL where they are forgotten. */
typedef struct fe_kept_mesh {
    double *x;
    int *conn, *first, *corner;
} fe_kept_mesh;

static void forget(void *kept)
{
    fe_kept_mesh *a = kept;
    free(a->x), free(a->conn), free(a->first), free(a->corner);
    *a = (fe_kept_mesh){0};
}

fe_status fe_problem_keep_mesh(fe_problem *p)
{
    return fe_device_keep_open(p->device, sizeof *p->kept, "mesh", forget, (void **)&p->kept);
}

void fe_problem_forget_mesh(fe_problem *p) { forget(p->kept); }

static fe_status read_array(const fe_problem *p, size_t count, size_t size, const void *memory, void **host)
{
    FE_TRY(fe_reserve(count, size, "mesh", host));
    return p->device->ops->memory.download(p->device, count * size, memory, *host);
}

static fe_status read_back(const fe_problem *p, fe_kept_mesh *a)
{
    const fe_view *m = &p->view;
    FE_TRY(read_array(p, 3 * (size_t)m->n_local, sizeof *a->x, m->x, (void **)&a->x));
    FE_TRY(read_array(p, (size_t)fe_corners(p->kind) * m->ld, sizeof *a->conn, m->conn, (void **)&a->conn));
    FE_TRY(read_array(p, (size_t)m->n_owned + 1, sizeof *a->first, m->corner_first, (void **)&a->first));
    return read_array(p, (size_t)a->first[m->n_owned], sizeof *a->corner, m->corner, (void **)&a->corner);
}

fe_status fe_problem_host_mesh(const fe_problem *p, fe_host_mesh *mesh)
{
    const fe_view *m = &p->view;
    fe_kept_mesh *a = p->kept;
    if (!p->device->ops->on_gpu) {
        *mesh = (fe_host_mesh){m->x, m->conn, m->corner_first, m->corner};
        return FE_OK;
    }
    const fe_status status = a->corner ? FE_OK : read_back(p, a);
    if (status != FE_OK) forget(a);
    *mesh = (fe_host_mesh){a->x, a->conn, a->first, a->corner};
    return status;
}

const char *const fe_hardening_names[FE_N_HARDENING] = {"linear", "voce"};

fe_j2 fe_j2_of(const fe_material *material)
{
    const double nu = material->nu, bulk = material->E / (3.0 * (1.0 - 2.0 * nu)),
                 shear = material->E / (2.0 * (1.0 + nu));
    const int voce = material->delta > 0.0 && material->sigma_inf > material->sigma_y;
    return (fe_j2){.bulk = bulk,
                   .shear = shear,
                   .sigma_y = material->sigma_y,
                   .hardening = material->H,
                   .lame = bulk - 2.0 / 3.0 * shear,
                   .saturation = voce ? material->sigma_inf - material->sigma_y : 0.0,
                   .rate = voce ? material->delta : 0.0};
}

static fe_status local_mesh(const fe_mesh *mesh, const fe_share *s, int ld, fe_kept_mesh *a)
{
    const int n_corner = fe_corners(mesh->kind), threads = omp_get_max_threads();
    FE_RESERVE(a->x, 3 * (size_t)s->n_local, "local coordinates");
    FE_RESERVE(a->conn, (size_t)n_corner * ld, "local elements");
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < s->n_local; i++)
        memcpy(a->x + 3 * (size_t)i, mesh->x + 3 * (size_t)s->node[i], 3 * sizeof *a->x);
    for (int c = 0; c < n_corner; c++) {
        const int corner = fe_mesh_corner(mesh->kind, c);
        /* Lanes beyond the end repeat the last element: they are read, never added. */
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int e = 0; e < ld; e++) {
            const int elem = s->elem[e < s->n_elem ? e : s->n_elem - 1];
            a->conn[(size_t)c * ld + e] = s->local[mesh->conn[(size_t)elem * n_corner + corner]];
        }
    }
    return FE_OK;
}

static fe_status corner_rows(const fe_share *s, int kind, int ld, fe_kept_mesh *a)
{
    const fe_corners_of of = {a->conn, s->n_local, s->n_elem,           fe_corners(kind),
                              1,       (size_t)ld, fe_corner_bits(kind)};
    return fe_list_corners(&of, omp_get_max_threads(), "node rows", &a->first, &a->corner);
}

static fe_status upload(const fe_share *s, int kind, const fe_kept_mesh *a, fe_device *d, fe_view *m)
{
    const size_t points = (size_t)fe_points(kind) * m->ld;
    FE_TRY(fe_device_upload(d, 3 * (size_t)s->n_local, sizeof(double), a->x, "coordinates", (void **)&m->x));
    FE_TRY(fe_device_upload(d, (size_t)fe_corners(kind) * m->ld, sizeof(int), a->conn, "elements",
                            (void **)&m->conn));
    FE_TRY(fe_device_upload(d, (size_t)s->n_owned + 1, sizeof(int), a->first, "node rows",
                            (void **)&m->corner_first));
    FE_TRY(fe_device_upload(d, (size_t)a->first[s->n_owned], sizeof(int), a->corner, "node rows",
                            (void **)&m->corner));
    fe_state *states[2] = {&m->committed, &m->trial};
    for (int i = 0; i < 2; i++) {
        FE_TRY(fe_device_allocate(d, FE_N_STATE * points, sizeof(double), "material state",
                                  (void **)&states[i]->point));
        FE_TRY(fe_device_allocate(d, (size_t)m->ld, 1, "material state", (void **)&states[i]->flags));
    }
    return fe_device_allocate(d, FE_N_TANGENT * points, sizeof *m->tangent, "tangent", (void **)&m->tangent);
}

/* The table of materials, and which of them each element of the share has; lanes beyond the end repeat the
 * last element. */
static fe_status upload_materials(const fe_share *s, const fe_materials *materials, fe_problem *p)
{
    fe_device *d = p->device;
    fe_view *m = &p->view;
    uint8_t *of = NULL;
    if (materials->n == 1) return FE_OK;
    FE_TRY(fe_device_upload(d, FE_MOST_MATERIALS, sizeof *p->material, p->material, "materials",
                            (void **)&m->materials));
    FE_ALLOCATE(of, m->ld, "materials");
    for (int e = 0; e < m->ld; e++) of[e] = materials->of[s->elem[e < s->n_elem ? e : s->n_elem - 1]];
    const fe_status status =
        fe_device_upload(d, (size_t)m->ld, 1, of, "materials of elements", (void **)&m->material_of);
    free(of);
    return status;
}

fe_status fe_problem_harden(fe_problem *p, double share)
{
    fe_j2 table[FE_MOST_MATERIALS];
    for (int i = 0; i < FE_MOST_MATERIALS; i++) {
        table[i] = p->material[i];
        table[i].hardening += share * table[i].shear;
    }
    p->view.material = table[0];
    if (!p->view.materials) return FE_OK;
    FE_TRY(p->device->ops->memory.upload(p->device, sizeof table, table, (void *)p->view.materials));
    return p->device->ops->wait(p->device);
}

/* What is known of all materials before any launch. */
static fe_status look_at_materials(const fe_materials *materials, fe_problem *p)
{
    FE_TRY(fe_device_keep(p->device, FE_MOST_MATERIALS * sizeof *p->material, "materials",
                          (void **)&p->material));
    for (int i = 0; i < materials->n; i++) {
        const fe_j2 m = fe_j2_of(&materials->material[i]);
        p->material[i] = m;
        p->has_voce |= fe_hardening_of(&m) == FE_VOCE;
        p->stiffest = fmax(p->stiffest, m.bulk / m.shear);
    }
    return FE_OK;
}

fe_status fe_problem_open(const fe_mesh *mesh, const fe_share *s, int kind, const fe_material *material,
                          fe_device *d, fe_problem *p)
{
    const fe_materials one = {1, material, NULL};
    return fe_problem_open_materials(mesh, s, kind, &one, d, p);
}

fe_status fe_problem_open_materials(const fe_mesh *mesh, const fe_share *s, int kind,
                                    const fe_materials *materials, fe_device *d, fe_problem *p)
{
    *p = (fe_problem){.kind = kind, .device = d, .in_pieces = s->in_pieces};
    FE_TRY(look_at_materials(materials, p));
    if (p->has_voce && !fe_voce_has(FE_DOUBLE, kind))
        return fe_fail(FE_BAD_INPUT,
                       "Voce's law of hardening: not of %s, only of tet4, hex8, tet10 and hex27",
                       fe_kind_name(kind));
    if (materials->n > 1 && !fe_several_has(kind))
        return fe_fail(FE_BAD_INPUT, "several materials: not of %s", fe_kind_name(kind));
    const int most = (INT32_MAX - 64) >> fe_corner_bits(kind);
    if (s->n_elem > most)
        return fe_fail(FE_BAD_INPUT, "%s: %d elements on one rank are more than %d; use more ranks",
                       mesh->path, s->n_elem, most);
    p->view = (fe_view){.n_owned = s->n_owned,
                        .n_local = s->n_local,
                        .n_node_interior = s->n_node_interior,
                        .n_elem = s->n_elem,
                        .n_elem_interior = s->n_elem_interior,
                        .ld = (s->n_elem + 16 + FE_GROUP - 1) / FE_GROUP * FE_GROUP,
                        .material = p->material[0]};
    FE_TRY(fe_problem_keep_mesh(p));
    FE_TRY(local_mesh(mesh, s, p->view.ld, p->kept));
    FE_TRY(corner_rows(s, kind, p->view.ld, p->kept));
    FE_TRY(upload(s, kind, p->kept, d, &p->view));
    if (!d->ops->on_gpu) fe_problem_forget_mesh(p);
    return upload_materials(s, materials, p);
}

fe_status fe_problem_valence(const fe_problem *p, const fe_host_mesh *mesh, int threads, int **valence)
{
    const fe_view *m = &p->view;
    FE_ALLOCATE(*valence, m->n_local, "elements at nodes");
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < m->n_owned; i++) (*valence)[i] = mesh->corner_first[i + 1] - mesh->corner_first[i];
    for (int a = 0; a < fe_corners(p->kind); a++)
        for (int e = m->n_elem_interior; e < m->n_elem; e++) {
            const int node = mesh->conn[(size_t)a * m->ld + e];
            (*valence)[node] += node >= m->n_owned;
        }
    return FE_OK;
}

void fe_problem_accept(fe_problem *p)
{
    const fe_state swap = p->view.committed;
    p->view.committed = p->view.trial;
    p->view.trial = swap;
    p->view.elastic = 0; /* trial is an older state now */
}

fe_status fe_summary(const fe_problem *p, const double *displacement, const uint8_t *counted, double *partial,
                     double *totals, double *out, double *points)
{
#if FE_HAVE_CUDA
    if (p->device->ops->on_gpu)
        return fe_summary_cuda(p, displacement, counted, partial, totals, out, points);
#endif
    return fe_summary_host(p, displacement, counted, partial, totals, out, points);
}

fe_status fe_flow(const fe_problem *p, const double *displacement, const double *before,
                  const uint8_t *counted, double *partial, double *totals)
{
#if FE_HAVE_CUDA
    if (p->device->ops->on_gpu) return fe_flow_cuda(p, displacement, before, counted, partial, totals);
#endif
    return fe_flow_host(p, displacement, before, counted, partial, totals);
}

fe_status fe_node_stress(const fe_problem *p, const double *points, double *stress)
{
#if FE_HAVE_CUDA
    if (p->device->ops->on_gpu) return fe_node_stress_cuda(p, points, stress);
#endif
    return fe_node_stress_host(p, points, stress);
}

fe_status fe_problem_reset(fe_problem *p)
{
    const fe_memory_operations *memory = &p->device->ops->memory;
    const fe_state *states[2] = {&p->view.committed, &p->view.trial};
    const size_t points = (size_t)fe_points(p->kind) * p->view.ld;
    for (int i = 0; i < 2; i++) {
        FE_TRY(memory->zero(p->device, FE_N_STATE * points * sizeof(double), states[i]->point));
        FE_TRY(memory->zero(p->device, (size_t)p->view.ld, states[i]->flags));
    }
    return FE_OK;
}
